/* jail_calls.h - the system calls that a jailed process may make. */
#ifndef JAIL_CALLS_H
#define JAIL_CALLS_H
#include "plimsoll.h"
#include <seccomp.h>

/* A compiled filter for seccomp_load() and seccomp_release().  landlock: its version, which decides about the calls
 * that only a later one confines.  NULL: err, its code an enum jail_error. */
scmp_filter_ctx jail_calls(int landlock, struct err *err);
#endif
