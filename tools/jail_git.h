/* jail_git.h - what git keeps for itself in the workspace (tools/git_own.h), which a command may read and not write.
 *
 * Landlock cannot take away below a folder what it gives there, so this is done by mounts of the process's own: each
 * .git is bound to itself, read only, in a mount namespace (and a user namespace, where the process is not privileged).
 * It can be neither removed nor replaced either, being a mount; and so that no other folder can be put in the place of
 * one that it lies in, those are bound to themselves too, as they are.  (What is moved out of such a folder is copied.)
 *
 *     .git               read only
 *     lib                a mount
 *     lib/x              a mount
 *     lib/x/.git         read only: a folder, or the file of a worktree or submodule
 *     lib/x.bare         read only: it has HEAD, objects and refs
 *
 * Other mounts that show the workspace, or some of this, at another place are read only for the process.
 *
 * A folder that may be entered and not listed, or listed and not entered, is held as a whole: what is git's in it
 * cannot be found.
 *
 * Not held: a repository that the command makes itself where none was; the workspace, where that is one; what lies in
 * folders that may neither be listed nor entered.  Links are not followed.
 *
 * Threads: one, in a process of one thread, before it gives up its rights. */
#ifndef JAIL_GIT_H
#define JAIL_GIT_H
#include "plimsoll.h"

enum { JAIL_GIT_NAMES = 2 << 20, JAIL_GIT_MOST = 1000 };

/* For the process and its children.  The current folder is the workspace, and no other folder may be open: names below
 * such a one would lead past the mounts.  0 (also: there is nothing of git's); -1: err, and it is not held: there are
 * more than JAIL_GIT_NAMES names to look at, or JAIL_GIT_MOST repositories; a name is too long; the workspace may not
 * be listed; or the system will not do it. */
int jail_hold_git(struct err *err);
#endif
