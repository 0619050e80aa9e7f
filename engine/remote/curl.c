/* curl.c - see curl.h. */
#include "engine/remote/curl.h"
#include <dlfcn.h>

const struct curl_calls *curl_open(struct err *err)
{
    static struct curl_calls calls;
    static void *lib;
    static const struct { const char *name; size_t at; } call[] = {
#define CURL_ROW(name) {"curl_" #name, offsetof(struct curl_calls, name)},
        CURL_CALLS(CURL_ROW)
    };
    if (lib) return &calls;
    lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!lib) lib = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        err_set(err, -1, "the library libcurl is needed (Debian: apt-get install libcurl4): %.200s", dlerror());
        return NULL;
    }
    const char *lacks = NULL;
    for (size_t i = 0; i < COUNT_OF(call) && !lacks; i++) {
        void *found = dlsym(lib, call[i].name);
        if (!found) lacks = call[i].name;
        else memcpy((char *)&calls + call[i].at, &found, sizeof found);
    }
    if (!lacks && calls.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return &calls;
    if (lacks) err_set(err, -1, "libcurl has no %s: 7.66 or newer is needed", lacks);
    else err_set(err, -1, "libcurl could not be started");
    dlclose(lib);
    lib = NULL;
    return NULL;
}
