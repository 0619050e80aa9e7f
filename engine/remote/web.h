/* web.h - HTTP to one server, by libcurl: many calls at once on one thread, none of which waits for another.
 *
 *     struct web *w = web_open("http://127.0.0.1:8000", key, &err);
 *     struct web_call *c = web_begin(w, "/v1/chat/completions", &body, &ops, self, &err);
 *     while (...) web_pump(w, 50);     // ops->bytes() as they come, ops->done() once at the end
 *     web_end(c);                      // at any time but in its own ops; before done() it takes the call back
 *
 * Redirects are not followed and no proxy is used, so the key goes to the server that was named and no other;
 * certificates are checked: by those that SSL_CERT_FILE names (of an own authority, or the server's own), as OpenSSL's
 * and Python's clients do it, else by the system's.
 * Threads: one at a time. */
#ifndef REMOTE_WEB_H
#define REMOTE_WEB_H
#include "plimsoll.h"

struct web;
struct web_call;

struct web_ops {
    /* n > 0 bytes of the body came; status is known.  false: no more of it is wanted, done() follows. */
    bool (*bytes)(void *self, long status, const char *bytes, size_t n);
    /* The call is over.  status 0: there was no whole answer, and why says it ("connection refused").  retry_s: what
     * the server asks to wait before another try; of status 0: 0 where nobody can have answered, so that another try
     * does no harm; -1: nothing of it. */
    void (*done)(void *self, long status, int retry_s, const char *why);
};

/* at: http://HOST[:PORT][/PATH] or https, a /v1 at its end is not part of what calls are put behind.  key: what goes
 * into Authorization, or NULL; both are copied.  NULL: err
 * says what is wrong with it (ENGINE_BAD_REQUEST), or that there is no libcurl or no memory. */
struct web *web_open(const char *at, const char *key, struct err *err);
void web_close(struct web *w); /* calls that are under way are taken back */
const char *web_at(const struct web *w); /* the address as it is used */

/* body NULL: GET, else POST of JSON; it is copied.  self is the caller's until done() or web_end().  NULL: no
 * memory. */
struct web_call *web_begin(struct web *w, const char *path, const struct buf *body, const struct web_ops *ops,
                           void *self, struct err *err);
void web_end(struct web_call *c);

/* What can be done now is, and with wait_ms > 0 it waits so long at most for something to happen first. */
void web_pump(struct web *w, int wait_ms);
bool web_idle(const struct web *w); /* no call is under way */

double web_clock(void); /* seconds, of a clock that only goes on */

/* One call from start to end, for opening: 0 and the status, the body in out (limit bytes at most), or -1 and err. */
int web_fetch(struct web *w, const char *path, const struct buf *body, int seconds, size_t limit, struct buf *out,
              long *status, struct err *err);
#endif
