/* mhd.h - libmicrohttpd's functions, found in the library when it is opened (see http.h for why it is not linked). */
#ifndef MHD_H
#define MHD_H
#include "plimsoll.h"
#include <microhttpd.h>

#define MHD_CALLS(X)                                                                                                  \
    X(start_daemon) X(stop_daemon) X(run) X(get_daemon_info) X(get_timeout) X(queue_response)                          \
    X(create_response_from_buffer) X(create_response_from_callback) X(destroy_response) X(add_response_header)         \
    X(lookup_connection_value) X(get_connection_values) X(suspend_connection) X(resume_connection)                     \
    X(get_connection_info)

#define MHD_FIELD(name) __typeof__(&MHD_##name) name;
struct mhd {
    MHD_CALLS(MHD_FIELD)
};

/* NULL: err names the package.  It is opened once, and stays until the program ends. */
const struct mhd *mhd_open(struct err *err);
#endif
