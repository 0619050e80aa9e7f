/* curl.h - libcurl's functions, found in the library when a remote engine is opened: linked, it and what it brings
 * would make every start of the program longer, for a feature that most starts do not use. */
#ifndef REMOTE_CURL_H
#define REMOTE_CURL_H
#include "plimsoll.h"
#include <curl/curl.h>

#define CURL_CALLS(X)                                                                                                 \
    X(global_init) X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(easy_strerror) X(slist_append)        \
    X(slist_free_all) X(multi_init) X(multi_cleanup) X(multi_add_handle) X(multi_remove_handle) X(multi_perform)       \
    X(multi_poll) X(multi_info_read) X(multi_setopt)

#define CURL_FIELD(name) __typeof__(&curl_##name) name;
struct curl_calls {
    CURL_CALLS(CURL_FIELD)
};

/* NULL: err names the package.  It is opened once, and stays until the program ends. */
const struct curl_calls *curl_open(struct err *err);
#endif
