/* blind_rig.h - a /proc that a tool takes from its guard: who works in a folder with a file BLIND cannot open it. */
#ifndef BLIND_RIG_H
#define BLIND_RIG_H
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLIND "blind"

/* The library's, and this program's. */
DIR *opendir(const char *name)
{
    DIR *(*next)(const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "opendir");
    if (strcmp(name, "/proc") != 0 || access(BLIND, F_OK)) return next(name);
    errno = ENOMEM;
    return NULL;
}
#endif
