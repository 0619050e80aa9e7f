/* key_file.h - a secret that stands in a file of its own, where no list of processes shows it. */
#ifndef KEY_FILE_H
#define KEY_FILE_H
#include "plimsoll.h"

/* The first line of path: 8 to 512 letters, digits and signs without blanks, appended to key.  flag: who names the
 * file, for the message.  0; EXIT_USAGE: it is not there, no file or no key; EXIT_INTERNAL: no memory; err has the
 * same code. */
int key_file_read(const char *flag, const char *path, struct buf *key, struct err *err);
#endif
