/* git_own.c - see git_own.h. */
#include "tools/git_own.h"
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

bool git_own_name(const char *name) { return strcasecmp(name, ".git") == 0; }

void git_marks_see(struct git_marks *m, const char *name)
{
    m->head |= strcmp(name, "HEAD") == 0;
    m->objects |= strcmp(name, "objects") == 0;
    m->refs |= strcmp(name, "refs") == 0;
    m->common |= strcmp(name, "commondir") == 0;
}

bool git_marks_own(const struct git_marks *m) { return m->head && (m->common || (m->objects && m->refs)); }

bool git_own_folder(int dir)
{
    static const char *const names[] = {"HEAD", "objects", "refs", "commondir"};
    struct git_marks m = {0};
    struct stat st;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0) git_marks_see(&m, names[i]);
    return git_marks_own(&m);
}
