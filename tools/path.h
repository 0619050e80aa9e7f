/* path.h - names below a workspace, opened so that no link and no ".." leads out of it; files written whole or not at
 * all.
 *
 *     root (a folder's descriptor) + "src/a.c" --openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)--> descriptor
 *
 * The system resolves the name, so a second process that swaps folders for links in the meantime changes nothing.
 * Absolute names and links are refused, ".." may not climb above the root, links may lead to what lies below it.  Where
 * there is no openat2 (Linux before 5.6; the jail, whose filter cannot see what it is asked for) names are walked one
 * component at a time, none of them through a link: what a link says is put in its place, and walked the same way.
 *
 * A file with several names (hard links) that already lies in the workspace is read like any other; writing gives its
 * name a new file and never changes what other names see.
 *
 * What git keeps for itself (tools/git_own.h) is not written unless the caller says so: a name .git, and what lies in a
 * folder that its own folder calls so or that has a repository's marks, however the name that was given leads there.
 *
 * Errors: one line without "error: ", in words that the embedded model knows: "no such file: x", "no such folder: x",
 * "x is a folder", "x is not a folder", "permission denied: x", "x is not allowed", "x is read only", "disk full",
 * "cannot open x: ...".  Names in them are escaped (tools/escape.h) and cut to PATH_SHOWN bytes.
 * Threads: any. */
#ifndef PATH_H
#define PATH_H
#include "plimsoll.h"
#include <sys/stat.h>

enum { PATH_SHOWN = 160, PATH_TEXT = 4095 };

/* The descriptors are close-on-exec, for close(); -1: err says why. */
int path_open_file(int root, const char *path, struct stat *st, struct err *err); /* a regular file, to be read */
int path_open_folder(int root, const char *path, struct err *err);                /* to be listed */
bool path_sayable(const char *path); /* has no control character: one that has some is "not allowed" everywhere here */

/* The whole file of that name becomes these bytes: a temporary file beside it, fsync, rename.  The mode of one that is
 * there is kept (not set-user-id and its like, access lists or extended attributes), and its owner where that can be.
 * A link or whatever else is no file is not replaced, folders are not made.  was: what path_open_file() said, if it has
 * to be that file still, unchanged; NULL: any.  git: what is git's own may be written too.  0, or -1: the file is as it
 * was. */
int path_replace(int root, const char *path, const void *bytes, size_t n, const struct stat *was, bool git,
                 struct err *err);

/* What path_replace() would replace: 1 and *st, 0: there is none, -1: it would refuse. */
int path_look(int root, const char *path, struct stat *st, bool git, struct err *err);

/* The name for a person or a model: escaped and cut. */
struct path_shown { char text[4 * PATH_SHOWN + 8]; };
struct path_shown path_shown(const char *path);

/* The second of the two ways, for tests: a descriptor, or -1 and errno. */
int path_walk(int root, const char *path, int flags);
#endif
