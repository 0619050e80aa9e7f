/* web.c - see web.h. */
#include "engine/remote/web.h"
#include "engine/engine.h"
#include "engine/remote/curl.h"
#include <fcntl.h>
#include <time.h>

enum {
    CONNECT_S = 10,
    SILENT_S = 300, /* a long prompt on a busy server may take minutes before the first token */
    RETRY_MOST_S = 60,
    URL_MOST = 1000
};

struct web {
    const struct curl_calls *curl;
    CURLM *multi;
    struct buf at;
    struct curl_slist *headers;
    struct web_call *calls;
};

struct web_call {
    struct web *web;
    struct web_call *next;
    CURL *easy;
    const struct web_ops *ops;
    void *self;
    char why[CURL_ERROR_SIZE];
    bool full; /* ops->bytes() wants no more */
    bool over; /* ops->done() was called */
};

/* ---------------------------------------------------------------- opening */

/* "8000" in "host:8000/v1" or "[::1]:8000"; none there, or a number that ports have. */
static bool good_port(const char *host)
{
    const char *end = host + strcspn(host, "/"), *close = memchr(host, ']', (size_t)(end - host));
    const char *colon = memchr(close ? close : host, ':', (size_t)(end - (close ? close : host)));
    if (!colon) return true;
    const size_t n = strspn(colon + 1, "0123456789");
    return colon + 1 + n == end && n >= 1 && n <= 5 && atoi(colon + 1) >= 1 && atoi(colon + 1) <= UINT16_MAX;
}

/* Letters, digits and signs without blanks, behind a scheme; no user and no query: both would be lost in what is put
 * behind it, and a password has no place on a command line. */
static int check_address(const char *at, struct err *err)
{
    const size_t scheme = strncmp(at, "http://", 7) == 0 ? 7 : strncmp(at, "https://", 8) == 0 ? 8 : 0;
    bool plain = true;
    size_t n = strnlen(at, URL_MOST + 1);
    for (size_t i = 0; i < n; i++) plain &= at[i] > ' ' && at[i] < 0x7f;
    if (scheme == 0 || at[scheme] == '\0' || at[scheme] == '/' || n > URL_MOST || !plain)
        return err_set(err, ENGINE_BAD_REQUEST, "\"%.100s\" is no address of a server: http://HOST:PORT or "
                       "https://HOST", plain && n <= URL_MOST ? at : "...");
    if (strpbrk(at, "@?#"))
        return err_set(err, ENGINE_BAD_REQUEST, "an address without user, question mark and # is wanted; a "
                       "key comes from --remote-key-file");
    if (!good_port(at + scheme))
        return err_set(err, ENGINE_BAD_REQUEST, "\"%.100s\" has no port from 1 to 65535 behind its ':'", at);
    return 0;
}

static bool add_header(struct web *w, const char *line)
{
    struct curl_slist *more = w->curl->slist_append(w->headers, line);
    if (more) w->headers = more;
    return more != NULL;
}

static bool add_headers(struct web *w, const char *key)
{
    struct buf line = {0};
    bool ok = add_header(w, "Content-Type: application/json") && add_header(w, "Expect:");
    if (ok && key) {
        buf_printf(&line, "Authorization: Bearer %s", key);
        ok = !line.failed && add_header(w, line.data);
    }
    if (line.data) memset(line.data, 0, line.len);
    buf_free(&line);
    return ok;
}

struct web *web_open(const char *at, const char *key, struct err *err)
{
    if (check_address(at, err)) return NULL;
    const struct curl_calls *curl = curl_open(err);
    struct web *w = curl ? calloc(1, sizeof *w) : NULL;
    if (!w) {
        if (curl) err_set(err, -1, "no memory to reach a server");
        return NULL;
    }
    size_t n = strlen(at);
    while (n > 0 && at[n - 1] == '/') n--;
    if (n > 3 && memcmp(at + n - 3, "/v1", 3) == 0 && at[n - 4] != '/') n -= 3; /* and no host of that name */
    while (n > 0 && at[n - 1] == '/') n--;
    w->curl = curl;
    buf_put(&w->at, at, n);
    w->multi = curl->multi_init();
    if (w->multi && !w->at.failed && add_headers(w, key)) return w;
    err_set(err, -1, "no memory to reach a server");
    web_close(w);
    return NULL;
}

void web_close(struct web *w)
{
    if (!w) return;
    while (w->calls) web_end(w->calls);
    if (w->multi) w->curl->multi_cleanup(w->multi);
    w->curl->slist_free_all(w->headers);
    buf_free(&w->at);
    free(w);
}

const char *web_at(const struct web *w) { return w->at.data; }

/* ---------------------------------------------------------------- calls */

static size_t take_bytes(char *bytes, size_t one, size_t n, void *self)
{
    struct web_call *c = self;
    long status = 0;
    c->web->curl->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (n * one > 0 && !c->full) c->full = !c->ops->bytes(c->self, status, bytes, n * one);
    return c->full ? 0 : n * one; /* another number than it was given ends the transfer */
}

/* A tool that is started meanwhile does not get it. */
static int close_on_exec(void *self, curl_socket_t fd, curlsocktype type)
{
    (void)self;
    (void)type;
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

/* Whom to believe.  NULL: the system's. */
static const char *trusted(void)
{
    const char *file = getenv("SSL_CERT_FILE");
    return file && *file ? file : NULL;
}

static bool set_trust(struct web_call *c)
{
    return !trusted() || c->web->curl->easy_setopt(c->easy, CURLOPT_CAINFO, trusted()) == CURLE_OK;
}

static bool set_call(struct web_call *c, const char *url, const struct buf *body)
{
    const struct curl_calls *curl = c->web->curl;
    CURL *e = c->easy;
    bool ok = curl->easy_setopt(e, CURLOPT_URL, url) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_HTTPHEADER, c->web->headers) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_USERAGENT, "plimsoll") == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)SILENT_S) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, close_on_exec) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_ERRORBUFFER, c->why) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_WRITEFUNCTION, take_bytes) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_WRITEDATA, c) == CURLE_OK &&
              curl->easy_setopt(e, CURLOPT_PRIVATE, c) == CURLE_OK && set_trust(c);
    if (!ok || !body) return ok;
    return curl->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len) == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_COPYPOSTFIELDS, body->data ? body->data : "") == CURLE_OK;
}

struct web_call *web_begin(struct web *w, const char *path, const struct buf *body, const struct web_ops *ops,
                           void *self, struct err *err)
{
    struct web_call *c = calloc(1, sizeof *c);
    struct buf url = {0};
    if (c) *c = (struct web_call){.web = w, .next = w->calls, .easy = w->curl->easy_init(), .ops = ops, .self = self};
    if (c) w->calls = c;
    buf_printf(&url, "%s%s", web_at(w), path);
    const bool ok = c && c->easy && !url.failed && set_call(c, url.data, body) &&
                    w->curl->multi_add_handle(w->multi, c->easy) == CURLM_OK;
    buf_free(&url);
    if (ok) return c;
    if (c) web_end(c);
    err_set(err, -1, "no memory for a call of %.200s", web_at(w));
    return NULL;
}

void web_end(struct web_call *c)
{
    struct web *w = c->web;
    struct web_call **at = &w->calls;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    if (c->easy) {
        w->curl->multi_remove_handle(w->multi, c->easy);
        w->curl->easy_cleanup(c->easy);
    }
    free(c);
}

/* Nobody was there, or went away before a byte of an answer. */
static bool unanswered(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT || code == CURLE_GOT_NOTHING ||
           code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR;
}

/* What to do about a file that is none of certificates (it may be set by others: conda, Nix), or about a certificate
 * that nobody vouches for: OpenSSL's 18 to 21, self-signed ones among them. */
static void say_trust(struct web_call *c, CURLcode code)
{
    long verified = 0;
    const size_t used = strlen(c->why);
    const char *more = "";
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        c->web->curl->easy_getinfo(c->easy, CURLINFO_SSL_VERIFYRESULT, &verified);
    if (verified >= 18 && verified <= 21) more = "; if it is to be trusted, put its file into SSL_CERT_FILE";
    if (code == CURLE_SSL_CACERT_BADFILE)
        more = trusted() ? "; SSL_CERT_FILE names it: a file of certificates in PEM, or unset it"
                         : "; SSL_CERT_FILE may name another, of certificates in PEM";
    if (used > 0) snprintf(c->why + used, sizeof c->why - used, "%s", more);
}

static void finish(struct web_call *c, CURLcode code)
{
    const struct curl_calls *curl = c->web->curl;
    long status = 0;
    curl_off_t retry = 0;
    curl->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    curl->easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry);
    const bool whole = code == CURLE_OK || c->full;
    const int asked = retry > 0 ? (int)MIN(retry, RETRY_MOST_S) : -1;
    c->over = true;
    say_trust(c, code);
    c->ops->done(c->self, whole ? status : 0, whole ? asked : unanswered(code) ? 0 : -1,
                 *c->why ? c->why : curl->easy_strerror(code));
}

void web_pump(struct web *w, int wait_ms)
{
    int running, left;
    const struct timespec whole = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
    if (wait_ms > 0 && web_idle(w)) nanosleep(&whole, NULL); /* libcurl would return at once */
    else if (wait_ms > 0) w->curl->multi_poll(w->multi, NULL, 0, wait_ms, NULL);
    w->curl->multi_perform(w->multi, &running);
    for (CURLMsg *m; (m = w->curl->multi_info_read(w->multi, &left)) != NULL;) {
        char *self = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        w->curl->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &self);
        struct web_call *c = (struct web_call *)(void *)self;
        if (!c->over) finish(c, m->data.result);
    }
}

bool web_idle(const struct web *w)
{
    const struct web_call *c = w->calls;
    while (c && c->over) c = c->next;
    return c == NULL;
}

/* ---------------------------------------------------------------- one call */

struct fetch {
    struct buf *out;
    size_t limit;
    bool over, too_long;
    long status;
    char why[CURL_ERROR_SIZE];
};

static bool fetch_bytes(void *self, long status, const char *bytes, size_t n)
{
    struct fetch *f = self;
    (void)status;
    f->too_long = n > f->limit - f->out->len;
    if (!f->too_long) buf_put(f->out, bytes, n);
    return !f->too_long && !f->out->failed;
}

static void fetch_done(void *self, long status, int retry_s, const char *why)
{
    struct fetch *f = self;
    (void)retry_s;
    f->over = true;
    f->status = status;
    snprintf(f->why, sizeof f->why, "%s", why);
}

double web_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int web_fetch(struct web *w, const char *path, const struct buf *body, int seconds, size_t limit, struct buf *out,
              long *status, struct err *err)
{
    static const struct web_ops ops = {fetch_bytes, fetch_done};
    struct fetch f = {.out = out, .limit = limit};
    const double until = web_clock() + seconds;
    out->len = 0;
    struct web_call *c = web_begin(w, path, body, &ops, &f, err);
    if (!c) return -1;
    while (!f.over && web_clock() < until) web_pump(w, 100);
    web_end(c);
    if (!f.over) return err_set(err, -1, "%s%s: no answer in %d seconds", web_at(w), path, seconds);
    if (f.status == 0) return err_set(err, -1, "%s%s: %s", web_at(w), path, f.why);
    if (f.too_long) return err_set(err, -1, "%s%s: an answer of more than %zu KiB", web_at(w), path, limit >> 10);
    if (out->failed) return err_set(err, -1, "no memory for an answer of %s", web_at(w));
    *status = f.status;
    return 0;
}
