/* git_own.h - what git keeps for itself: its hooks and settings name programs, which whoever uses git there next would
 * run outside of any jail.
 *
 *     .git           a name, in whatever case: a repository's folder, or the file of a worktree or a submodule that
 *                    says where that is
 *     HEAD, objects, refs      what a repository's folder has, whatever its own name (bare, --separate-git-dir)
 *     HEAD, commondir          and what the folder of one worktree has
 *
 * Threads: any. */
#ifndef GIT_OWN_H
#define GIT_OWN_H
#include "plimsoll.h"

bool git_own_name(const char *name);

/* The marks of a folder, as its names are seen one after another. */
struct git_marks { bool head, objects, refs, common; };
void git_marks_see(struct git_marks *m, const char *name);
bool git_marks_own(const struct git_marks *m);

bool git_own_folder(int dir); /* has it those marks? */
#endif
