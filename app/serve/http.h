/* http.h - HTTP/1.1 in, by libmicrohttpd, in the one thread that also steps the engine: nothing here waits but
 * http_wait().
 *
 *     bytes -> whole request -> ops->ask() -> http_answer(), at once or later            one body
 *                                          -> http_stream(), then ops->more() by turns   as it comes
 *     headers -> ops->wants(): how much of a body may follow
 *     client goes away -> ops->left(), once, whatever it was doing; then, as after every call, ops->gone()
 *
 * What comes is bounded before it is read: connections, header bytes of each, bytes of a body and of all bodies, the
 * seconds that a client may be silent, and those that a whole request may take to come.  A client that has closed its
 * side before its answer has left: nobody would read it.  Headers by which a proxy in front could see another request
 * than is seen here are refused, and the connection is closed.
 *
 * The library is opened when it is first needed: it brings a cryptography of its own into the process, which a program
 * started for each call of a tool has no use for.  Threads: one. */
#ifndef HTTP_H
#define HTTP_H
#include "plimsoll.h"

struct http;
struct http_call; /* one request and its answer */

enum { HTTP_END = -1, HTTP_HEADERS = 6, HTTP_ID = 40 };

struct http_ops {
    /* The headers are there: so many bytes may its body have; 0: nothing is wanted of it, and it is asked at once. */
    size_t (*wants)(void *self, struct http_call *c);
    void (*ask)(void *self, struct http_call *c);
    /* Of a stream: up to n bytes of what is new; 0: nothing yet, http_wake() says when; HTTP_END: that was all. */
    long (*more)(void *self, struct http_call *c, char *to, size_t n);
    void (*left)(void *self, struct http_call *c); /* the client has left before its end: nothing more is wanted */
    void (*gone)(void *self, struct http_call *c); /* c is no more after this */
};

struct http_config {
    const char *host; /* an address, or a name that stands for one */
    int port;         /* 0: any that is free */
    int connections; /* at most; fewer where the process may not have so many files open */
    size_t bodies_limit; /* bytes: of all bodies that are held */
    int silent_s;     /* a client that says nothing and takes nothing for so long is closed */
    int whole_s;      /* and one whose request is not there so long after it connected, or had its last answer */
    const struct http_ops *ops;
    void *self;
};

/* NULL: err says what to do about it. */
struct http *http_open(const struct http_config *cfg, struct err *err);
void http_close(struct http *h);            /* all calls are gone after it */
int http_port(const struct http *h);
const char *http_host(const struct http *h); /* the address, as numbers */
bool http_is_local(const struct http *h);   /* only this machine can reach it */
size_t http_held(const struct http *h);     /* bytes of bodies */
int http_calls(const struct http *h);       /* that are not gone */

/* Serve what is ready.  Up to ms milliseconds are waited for something to be, or for fd (-1: none) to be readable. */
void http_wait(struct http *h, int ms, int fd);

/* Of a call, until it is gone. */
const char *http_method(const struct http_call *c);
const char *http_path(const struct http_call *c); /* without the query */
const char *http_header(const struct http_call *c, const char *name); /* NULL: not there; good until ask() returns */
const char *http_body(const struct http_call *c, size_t *n);
void http_forget_body(struct http_call *c); /* its bytes are given back */
enum http_trouble { /* with what came */
    HTTP_FINE, HTTP_TOO_LONG, HTTP_FULL, HTTP_MALFORMED /* its headers contradict each other */
} http_trouble(const struct http_call *c);
size_t http_limit(const struct http_call *c); /* bytes that its body might have had */

/* What stands for it in the answer's headers (x-request-id, request-id): a word, copied. */
void http_put_id(struct http_call *c, const char *id);

void http_put_own(struct http_call *c, void *own); /* a place for who answers; NULL at first */
void *http_own(const struct http_call *c);

struct http_header {
    const char *name, *value; /* name NULL: none */
};
/* The answer; headers (HTTP_HEADERS at most, or NULL) beside Content-Type.  Once a call. */
void http_answer(struct http_call *c, int status, const char *type, const struct http_header *header, const char *body,
                 size_t n);
/* 200, and what more() has. */
void http_stream(struct http_call *c, const char *type, const struct http_header *header);
void http_wake(struct http_call *c); /* a stream has something new */
int http_status(const struct http_call *c); /* that was answered; 0: none yet */
#endif
