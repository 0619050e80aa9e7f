/* folder.h - the names in a folder, by their bytes. */
#ifndef FOLDER_H
#define FOLDER_H
#include "plimsoll.h"

struct folder_entry { char *name; bool folder, file; }; /* a link is neither */

struct folder {
    struct folder_entry *entry; /* sorted */
    size_t n;
    uint64_t more; /* names that were left out */
};

/* Takes fd, also on failure.  At most max names.  0, or -1 and errno. */
int folder_read(int fd, int max, struct folder *out);
void folder_free(struct folder *f);
#endif
