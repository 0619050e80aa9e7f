/* mhd.c - see mhd.h. */
#include "app/serve/mhd.h"
#include <dlfcn.h>

const struct mhd *mhd_open(struct err *err)
{
    static struct mhd mhd;
    static void *lib;
    static const struct { const char *name; size_t at; } call[] = {
#define MHD_ROW(name) {"MHD_" #name, offsetof(struct mhd, name)},
        MHD_CALLS(MHD_ROW)
    };
    if (lib) return &mhd;
    lib = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        err_set(err, -1, "plimsoll serve needs the library libmicrohttpd (Debian: apt-get install libmicrohttpd12): "
                "%.200s", dlerror());
        return NULL;
    }
    for (size_t i = 0; i < COUNT_OF(call); i++) {
        void *found = dlsym(lib, call[i].name);
        if (!found) {
            err_set(err, -1, "libmicrohttpd has no %s: plimsoll needs 0.9.60 or newer", call[i].name);
            dlclose(lib);
            lib = NULL;
            return NULL;
        }
        memcpy((char *)&mhd + call[i].at, &found, sizeof found);
    }
    return &mhd;
}
