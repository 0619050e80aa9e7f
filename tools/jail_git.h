/* jail_git.h - the workspace's .git, which a command may read and not write.
 *
 * Landlock cannot take away below a folder what it gives there, so this is done by mounts of the process's own: .git is
 * bound to itself, read only, in a mount namespace (and a user namespace, where the process is not privileged).  It can
 * be neither removed nor replaced either, being a mount.
 *
 * Held is .git in the workspace itself, as a folder or a file.  Not held, for a command can move folders and make any
 * repository of its own in them: those of folders in it; and a .git that is a link.
 *
 * Threads: one, in a process of one thread, before it gives up its rights. */
#ifndef JAIL_GIT_H
#define JAIL_GIT_H
#include "plimsoll.h"

/* For the process and its children.  The current folder is the workspace, and no other folder may be open: names below
 * such a one would lead past the mount.  0 (also: there is no .git); -1: err, and it is not held. */
int jail_hold_git(struct err *err);
#endif
