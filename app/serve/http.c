/* http.c - see http.h.
 *
 * A connection that waits is suspended, so that the library does not ask again and again; it then looks at it no more,
 * and whether its client is still there is seen here, by poll(); as of one whose request is still coming, since the
 * library may miss an end that comes together with bytes. */
#include "app/serve/http.h"
#include "app/serve/mhd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEADER_BYTES = 32 << 10, BLOCK = 16 << 10, METHOD = 12, PATH = 320, WASTE = 4, HOST = 64, OTHER_FILES = 64 };

enum part { READING, WAITING, ANSWERED, STREAMING };

/* Of a client, while it is connected. */
struct peer {
    struct peer *prev, *next;
    int fd;
    double since;           /* it connected, or its last answer was out */
    struct http_call *call; /* NULL: none whose headers are there */
};

struct http_call {
    struct http *h;
    struct peer *peer;
    struct MHD_Connection *conn;
    struct http_call *prev, *next;
    int status;
    enum part part;
    bool suspended, has_left;
    enum http_trouble trouble;
    char method[METHOD], path[PATH], id[HTTP_ID];
    struct buf body;
    size_t limit;  /* bytes of it */
    size_t wasted; /* bytes of the body that were not kept */
    struct MHD_Response *response; /* that waits to be queued */
    void *own;
};

struct http {
    struct http_config cfg;
    const struct mhd *lib;
    struct MHD_Daemon *daemon;
    int listener, epoll, port, n_calls, n_connections;
    bool local, woken; /* woken: a connection goes on, which nothing but the next run of the library shows */
    char host[HOST];
    size_t held;
    struct http_call *calls;
    struct peer *peers;
    double swept;                /* when it was last looked for those whose time is over */
    struct pollfd *fds;          /* connections + 2 */
    struct http_call **watched;  /* whose they are */
};

/* ---------------------------------------------------------------- a call's beginning and end */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* They are counted here: asked for their number the library first frees those that have ended, and inside of a call it
 * is going over them. */
static void on_connection(void *self, struct MHD_Connection *conn, void **own, enum MHD_ConnectionNotificationCode how)
{
    struct http *h = self;
    struct peer *p = *own;
    h->n_connections += how == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1;
    if (how == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = h->lib->get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
        *own = p = info ? calloc(1, sizeof *p) : NULL;
        if (!p) return; /* its requests are not served */
        *p = (struct peer){.fd = info->connect_fd, .since = seconds(), .next = h->peers};
        if (h->peers) h->peers->prev = p;
        h->peers = p;
        return;
    }
    if (!p) return;
    if (p->prev) p->prev->next = p->next;
    else h->peers = p->next;
    if (p->next) p->next->prev = p->prev;
    free(p);
    *own = NULL;
}

/* Of "http://host/path", as who speaks to a proxy has it, the path. */
static const char *path_of(const char *uri)
{
    if (strncasecmp(uri, "http://", 7) != 0) return uri;
    const char *slash = strchr(uri + 7, '/');
    return slash ? slash : "/";
}

static struct http_call *begin(struct http *h, struct MHD_Connection *conn, const char *uri, const char *method)
{
    const union MHD_ConnectionInfo *info = h->lib->get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct peer *peer = info ? info->socket_context : NULL;
    struct http_call *c = peer ? calloc(1, sizeof *c) : NULL;
    const char *path = path_of(uri);
    if (!c) return NULL;
    c->h = h;
    c->conn = conn;
    c->peer = peer;
    peer->call = c;
    snprintf(c->method, sizeof c->method, "%s", method);
    snprintf(c->path, sizeof c->path, "%s", strlen(path) < sizeof c->path ? path : "");
    c->next = h->calls;
    if (h->calls) h->calls->prev = c;
    h->calls = c;
    h->n_calls++;
    return c;
}

void http_forget_body(struct http_call *c)
{
    c->h->held -= c->body.len;
    buf_free(&c->body);
}

static void on_completed(void *self, struct MHD_Connection *conn, void **own, enum MHD_RequestTerminationCode how)
{
    struct http *h = self;
    struct http_call *c = *own;
    (void)conn;
    if (!c) return;
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !c->has_left) {
        c->has_left = true;
        h->cfg.ops->left(h->cfg.self, c);
    }
    h->cfg.ops->gone(h->cfg.self, c);
    if (c->response) h->lib->destroy_response(c->response);
    http_forget_body(c);
    if (c->prev) c->prev->next = c->next;
    else h->calls = c->next;
    if (c->next) c->next->prev = c->prev;
    h->n_calls--;
    c->peer->call = NULL;
    c->peer->since = seconds();
    *own = NULL;
    free(c);
}

/* ---------------------------------------------------------------- reading */

static void keep(struct http_call *c, const char *bytes, size_t n)
{
    struct http *h = c->h;
    if (c->trouble == HTTP_FINE) {
        if (n > c->limit - c->body.len) c->trouble = HTTP_TOO_LONG;
        else if (n > h->cfg.bodies_limit - h->held) c->trouble = HTTP_FULL;
    }
    if (c->trouble != HTTP_FINE) {
        http_forget_body(c);
        c->wasted += n;
        return;
    }
    buf_put(&c->body, bytes, n);
    if (!c->body.failed) {
        h->held += n;
        return;
    }
    c->trouble = HTTP_FULL;
    http_forget_body(c);
}

static void suspend(struct http_call *c)
{
    c->suspended = true;
    c->h->lib->suspend_connection(c->conn);
}

void http_wake(struct http_call *c)
{
    if (!c->suspended) return;
    c->suspended = false;
    c->h->woken = true;
    c->h->lib->resume_connection(c->conn);
}

static enum MHD_Result answer(struct http_call *c)
{
    struct MHD_Response *r = c->response;
    enum MHD_Result ok = c->h->lib->queue_response(c->conn, (unsigned)c->status, r);
    c->response = NULL;
    c->h->lib->destroy_response(r); /* the connection holds it now */
    return ok;
}

struct framing {
    int lengths, codings;
    bool odd; /* a name that is none, or a coding that is not known */
};

static enum MHD_Result look_at_header(void *self, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct framing *f = self;
    (void)kind;
    f->odd |= !*name || strpbrk(name, " \t") != NULL;
    f->lengths += strcasecmp(name, "Content-Length") == 0;
    if (strcasecmp(name, "Transfer-Encoding") != 0) return MHD_YES;
    f->codings++;
    f->odd |= !value || strcasecmp(value, "chunked") != 0;
    return MHD_YES;
}

/* Where its body ends is said twice, or not by what is known here (RFC 9112, 6.3; 5.1 of blanks in names). */
static bool is_malformed(const struct http_call *c)
{
    struct framing f = {0};
    c->h->lib->get_connection_values(c->conn, MHD_HEADER_KIND, look_at_header, &f);
    return f.odd || f.lengths + f.codings > 1;
}

/* What its headers say of the body; anything but FINE: it is not read at all. */
static enum http_trouble look_at_headers(struct http_call *c)
{
    const char *length = http_header(c, "Content-Length");
    if (is_malformed(c)) return HTTP_MALFORMED;
    c->limit = c->h->cfg.ops->wants(c->h->cfg.self, c);
    return length && strtoull(length, NULL, 10) > c->limit ? HTTP_TOO_LONG : HTTP_FINE;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *conn, const char *path, const char *method,
                                  const char *version, const char *data, size_t *n, void **own)
{
    struct http *h = self;
    struct http_call *c = *own;
    (void)version;
    if (!c) {
        if (!(*own = c = begin(h, conn, path, method))) return MHD_NO;
        c->trouble = look_at_headers(c);
        if (c->trouble == HTTP_FINE && c->limit > 0) return MHD_YES;
    } else if (*n > 0) {
        keep(c, data, *n);
        *n = 0;
        return c->wasted > WASTE * c->limit ? MHD_NO : MHD_YES;
    }
    if (c->has_left) return MHD_NO;
    if (c->part == READING) {
        c->part = WAITING;
        h->cfg.ops->ask(h->cfg.self, c);
    }
    if (c->response) return answer(c);
    if (c->has_left) return MHD_NO; /* there was no memory for an answer */
    suspend(c);
    return MHD_YES;
}

/* ---------------------------------------------------------------- answering */

/* Then connections are not kept for requests to come: those who wait for one of their own would wait for idle ones. */
static bool is_crowded(const struct http *h) { return h->n_connections > h->cfg.connections / 2; }

static void give(struct http_call *c, int status, const char *type, const struct http_header *header,
                 struct MHD_Response *r)
{
    const struct mhd *lib = c->h->lib;
    assert(!c->response && !c->status);
    c->status = status;
    c->response = r;
    if (!r) { /* no memory even for that: the connection is closed */
        c->has_left = true;
        http_wake(c);
        return;
    }
    lib->add_response_header(r, "Content-Type", type);
    if (is_crowded(c->h)) lib->add_response_header(r, "Connection", "close");
    if (*c->id) lib->add_response_header(r, "x-request-id", c->id);
    if (*c->id) lib->add_response_header(r, "request-id", c->id);
    for (int i = 0; header && i < HTTP_HEADERS && header[i].name; i++)
        lib->add_response_header(r, header[i].name, header[i].value);
    http_wake(c);
}

void http_answer(struct http_call *c, int status, const char *type, const struct http_header *header, const char *body,
                 size_t n)
{
    char *bytes = (char *)(uintptr_t)body; /* which are copied */
    c->part = ANSWERED;
    give(c, status, type, header, c->h->lib->create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_COPY));
}

static ssize_t on_more(void *self, uint64_t at, char *to, size_t n)
{
    struct http_call *c = self;
    (void)at;
    if (c->has_left) return MHD_CONTENT_READER_END_WITH_ERROR;
    long got = c->h->cfg.ops->more(c->h->cfg.self, c, to, n);
    if (got == HTTP_END) return MHD_CONTENT_READER_END_OF_STREAM;
    if (got == 0) suspend(c);
    return got;
}

void http_stream(struct http_call *c, const char *type, const struct http_header *header)
{
    c->part = STREAMING;
    give(c, 200, type, header,
         c->h->lib->create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, on_more, c, NULL));
}

/* ---------------------------------------------------------------- the daemon */

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(six);
}

static int listen_at(struct http *h, const struct addrinfo *at, struct err *err)
{
    struct sockaddr_storage bound;
    socklen_t n = sizeof bound;
    char port[16];
    h->listener = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (h->listener < 0) return err_set(err, -1, "no socket: %s", strerror(errno));
    setsockopt(h->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(h->listener, at->ai_addr, at->ai_addrlen) || listen(h->listener, SOMAXCONN)) {
        int why = errno;
        const char *hint = why == EADDRINUSE ? ": another program listens there; choose another with --port (0: any)"
                           : why == EACCES ? ": ports below 1024 are for root; choose another with --port" : "";
        return err_set(err, -1, "cannot listen at %s, port %d: %s%s", h->cfg.host, h->cfg.port, strerror(why), hint);
    }
    if (getsockname(h->listener, (struct sockaddr *)&bound, &n) ||
        getnameinfo((struct sockaddr *)&bound, n, h->host, sizeof h->host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return err_set(err, -1, "the address that was bound cannot be told");
    h->port = atoi(port);
    h->local = is_loopback((struct sockaddr *)&bound);
    return 0;
}

static int open_listener(struct http *h, struct err *err)
{
    struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    char port[16];
    snprintf(port, sizeof port, "%d", h->cfg.port);
    int bad = getaddrinfo(h->cfg.host, port, &want, &found);
    if (bad) return err_set(err, -1, "--host %.100s is no address of this machine: %s", h->cfg.host, gai_strerror(bad));
    int rc = listen_at(h, found, err);
    freeaddrinfo(found);
    return rc;
}

static int start(struct http *h, struct err *err)
{
    h->daemon = h->lib->start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)h->listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)h->cfg.connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)h->cfg.silent_s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (!h->daemon) return err_set(err, -1, "libmicrohttpd could not start");
    h->listener = -1; /* its own now */
    const union MHD_DaemonInfo *info = h->lib->get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info) return err_set(err, -1, "libmicrohttpd was built without epoll");
    h->epoll = info->epoll_fd;
    return 0;
}

/* So many connections as there may be files open. */
static int connections_of(int wanted)
{
    struct rlimit files;
    const rlim_t need = (rlim_t)wanted + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files)) return wanted;
    if (files.rlim_cur < need) {
        files.rlim_cur = MIN(need, files.rlim_max);
        if (setrlimit(RLIMIT_NOFILE, &files)) getrlimit(RLIMIT_NOFILE, &files);
    }
    return files.rlim_cur >= need ? wanted : MAX(4, (int)files.rlim_cur - OTHER_FILES);
}

struct http *http_open(const struct http_config *cfg, struct err *err)
{
    struct http *h = calloc(1, sizeof *h);
    if (!h) {
        err_set(err, -1, "no memory to listen");
        return NULL;
    }
    h->cfg = *cfg;
    h->cfg.connections = connections_of(cfg->connections);
    h->listener = -1;
    h->lib = mhd_open(err);
    h->fds = calloc((size_t)h->cfg.connections + 2, sizeof *h->fds);
    h->watched = calloc((size_t)h->cfg.connections + 2, sizeof *h->watched);
    int bad = !h->lib ? -1 : !h->fds || !h->watched ? err_set(err, -1, "no memory to listen") : open_listener(h, err);
    if (!bad) bad = start(h, err);
    if (!bad) return h;
    http_close(h);
    return NULL;
}

void http_close(struct http *h)
{
    if (!h) return;
    for (struct http_call *c = h->calls; c; c = c->next) {
        c->has_left = true;
        http_wake(c); /* the library wants none suspended when it stops */
    }
    if (h->daemon) h->lib->run(h->daemon);
    if (h->daemon) h->lib->stop_daemon(h->daemon);
    if (h->listener >= 0) close(h->listener);
    free(h->fds);
    free(h->watched);
    free(h);
}

/* ---------------------------------------------------------------- by turns */

/* Who waits, suspended, or sends is watched here; what else happens the library sees by its own descriptor. */
static nfds_t watch(struct http *h, int fd)
{
    nfds_t n = 0;
    h->fds[n++] = (struct pollfd){.fd = h->epoll, .events = POLLIN};
    h->fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    for (struct http_call *c = h->calls; c && n < (nfds_t)h->cfg.connections + 2; c = c->next) {
        if (c->has_left || (!c->suspended && c->part != READING)) continue;
        h->watched[n] = c;
        h->fds[n++] = (struct pollfd){.fd = c->peer->fd, .events = POLLRDHUP};
    }
    return n;
}

/* The library finds the end of it, and says so. */
static void hang_up(struct peer *p)
{
    shutdown(p->fd, SHUT_RDWR);
}

static void leave(struct http_call *c)
{
    c->has_left = true;
    c->h->cfg.ops->left(c->h->cfg.self, c);
    if (c->suspended) http_wake(c);
    else hang_up(c->peer);
}

/* Whose request takes too long to come: bytes now and then are no silence. */
static void sweep(struct http *h)
{
    const double now = seconds();
    if (now - h->swept < 1) return;
    h->swept = now;
    for (struct peer *p = h->peers; p; p = p->next) {
        if (now - p->since < h->cfg.whole_s || (p->call && (p->call->part != READING || p->call->has_left))) continue;
        if (p->call) leave(p->call);
        else hang_up(p);
    }
}

void http_wait(struct http *h, int ms, int fd)
{
    MHD_UNSIGNED_LONG_LONG due;
    nfds_t n = watch(h, fd);
    if (h->woken) ms = 0;
    else if (h->lib->get_timeout(h->daemon, &due) == MHD_YES && due < (unsigned)ms) ms = (int)due;
    if (poll(h->fds, n, ms) > 0) {
        for (nfds_t i = 2; i < n; i++) {
            if (h->fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) leave(h->watched[i]);
        }
    }
    sweep(h);
    h->woken = false;
    h->lib->run(h->daemon);
}

/* ---------------------------------------------------------------- of a call */

int http_port(const struct http *h) { return h->port; }
const char *http_host(const struct http *h) { return h->host; }
bool http_is_local(const struct http *h) { return h->local; }
size_t http_held(const struct http *h) { return h->held; }
int http_calls(const struct http *h) { return h->n_calls; }
const char *http_method(const struct http_call *c) { return c->method; }
const char *http_path(const struct http_call *c) { return c->path; }
enum http_trouble http_trouble(const struct http_call *c) { return c->trouble; }
size_t http_limit(const struct http_call *c) { return c->limit; }
int http_status(const struct http_call *c) { return c->status; }
void http_put_own(struct http_call *c, void *own) { c->own = own; }
void *http_own(const struct http_call *c) { return c->own; }
void http_put_id(struct http_call *c, const char *id) { snprintf(c->id, sizeof c->id, "%s", id); }

const char *http_header(const struct http_call *c, const char *name)
{
    return c->h->lib->lookup_connection_value(c->conn, MHD_HEADER_KIND, name);
}

const char *http_body(const struct http_call *c, size_t *n)
{
    *n = c->body.len;
    return c->body.data ? c->body.data : "";
}
