/* serve_rig.h - for the tests of `plimsoll serve`: the program with a port of its own, and a client over a socket. */
#ifndef SERVE_RIG_H
#define SERVE_RIG_H
#include "tests/check.h"
#include "tests/child.h"
#include "tests/quoted.h"
#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static struct child server;
static int server_port;

static inline const char *serve_file(const char *name, const char *text)
{
    static char path[4][512];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(to, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return to;
}

/* A server does not end with its input: one whose test failed would serve nobody for ever. */
static inline void serve_kill(void)
{
    if (server.pid > 0) kill(server.pid, SIGKILL);
    server.pid = 0;
}

/* `plimsoll serve --port 0` and these flags (NULL ends them), until it listens. */
static inline void serve_begin(const char *const *flags)
{
    static bool registered;
    const char *args[CHILD_ARGS] = {"serve", "--port", "0"}, *at = NULL;
    if (!registered) registered = atexit(serve_kill) == 0;
    serve_kill();
    size_t n = 3;
    for (size_t i = 0; flags && flags[i]; i++) args[n++] = flags[i];
    args[n] = NULL;
    child_free(&server);
    child_start(&server, args);
    for (int i = 0; i < 20 * CHILD_PATIENCE && !at; i++) {
        child_look(&server, 50);
        at = server.out_text.data ? strstr(server.out_text.data, "/v1\n") : NULL;
    }
    if (!at) check_fail(__FILE__, __LINE__, "it does not listen: %s", server.err_text.data ? server.err_text.data : "");
    while (at[-1] != ':') at--;
    server_port = atoi(at);
    CHECK(server_port > 0);
}
#define SERVE(...) serve_begin((const char *const[]){__VA_ARGS__, NULL})

static inline int serve_end(void)
{
    kill(server.pid, SIGINT);
    int status = child_end(&server);
    server.pid = 0;
    return status;
}

/* ---------------------------------------------------------------- a client */

static inline int client(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server_port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

static inline void client_put(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t got = send(fd, bytes, n, MSG_NOSIGNAL);
        CHECK(got > 0);
        bytes += got;
        n -= (size_t)got;
    }
}

/* Into `in` what comes until it has `text`, or until the other side closes (text NULL; false: it closed). */
static inline bool client_read(int fd, struct buf *in, const char *text)
{
    char some[4096];
    for (int quiet = 0; !text || !in->data || !strstr(in->data, text);) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        child_look(&server, 0); /* its words on stderr must not fill the pipe */
        if (poll(&p, 1, 100) == 0) {
            if (++quiet <= 10 * CHILD_PATIENCE) continue;
            check_fail(__FILE__, __LINE__, "no answer: %s", in->data ? in->data : "");
        }
        ssize_t n = recv(fd, some, sizeof some, 0);
        if (n <= 0) return false;
        buf_put(in, some, (size_t)n);
    }
    return true;
}

/* A response: its status line and headers, NUL-terminated, and the body behind them, chunks put together. */
struct response {
    struct buf all, body;
    int status;
};

static inline void response_free(struct response *r)
{
    buf_free(&r->all);
    buf_free(&r->body);
}

static inline void read_response(int fd, struct response *r)
{
    *r = (struct response){0};
    client_read(fd, &r->all, NULL);
    char *end = r->all.data ? strstr(r->all.data, "\r\n\r\n") : NULL;
    if (!end) check_fail(__FILE__, __LINE__, "no response: %s", r->all.data ? r->all.data : "");
    *end = '\0';
    const char *at = end + 4;
    r->status = atoi(r->all.data + strlen("HTTP/1.1 "));
    if (!strstr(r->all.data, "Transfer-Encoding: chunked")) {
        buf_put(&r->body, at, r->all.len - (size_t)(at - r->all.data));
    } else {
        for (size_t n; (n = strtoul(at, NULL, 16)) > 0; at += n + 2) {
            at = strstr(at, "\r\n") + 2;
            buf_put(&r->body, at, n);
        }
    }
    buf_puts(&r->body, "");
}

/* A whole exchange; headers: more lines, each with its end, or NULL. */
static inline void exchange(const char *method, const char *path, const char *headers, const char *body, size_t n,
                            struct response *r)
{
    struct buf out = {0};
    int fd = client();
    buf_printf(&out, "%s %s HTTP/1.1\r\n%s%s%sContent-Length: %zu\r\nConnection: close\r\n\r\n", method, path,
               headers && strstr(headers, "Host:") ? "" : "Host: localhost\r\n", headers ? headers : "",
               headers && strstr(headers, "Content-Type:") ? "" : "Content-Type: application/json\r\n", n);
    buf_put(&out, body, n);
    client_put(fd, out.data, out.len);
    read_response(fd, r);
    close(fd);
    buf_free(&out);
}

static inline void post(const char *path, const char *body, struct response *r)
{
    exchange("POST", path, NULL, quoted(body), strlen(body), r);
}

/* ---------------------------------------------------------------- JSON */

/* By a path as "choices.0.message.content"; NULL: not there. */
static inline const json_t *json_at(const json_t *v, const char *path)
{
    char key[64];
    for (const char *p = path; v && *p;) {
        size_t n = strcspn(p, ".");
        CHECK(n < sizeof key);
        memcpy(key, p, n);
        key[n] = '\0';
        v = json_is_array(v) ? json_array_get(v, (size_t)atoi(key)) : json_object_get(v, key);
        p += n + (p[n] == '.');
    }
    return v;
}
static inline const char *text_at(const json_t *v, const char *path) { return json_string_value(json_at(v, path)); }
static inline long long number_at(const json_t *v, const char *path)
{
    CHECK(json_is_integer(json_at(v, path)));
    return json_integer_value(json_at(v, path));
}

/* The JSON of a POST's answer, which must have this status; the caller's.  What is drawn from all tokens
 * may have a U+0000. */
static inline json_t *ask(const char *path, const char *body, int status)
{
    struct response r;
    json_error_t why;
    post(path, body, &r);
    json_t *v = json_loads(r.body.data ? r.body.data : "", JSON_ALLOW_NUL, &why);
    if (r.status != status || !v)
        check_fail(__FILE__, __LINE__, "%s: %d, not %d: %s", body, r.status, status, r.body.data ? r.body.data : "");
    response_free(&r);
    return v;
}

/* A stream's events, each checked, as an array; the last is "[DONE]" and is left out. */
static inline json_t *stream_of(const char *path, const char *body)
{
    struct response r;
    json_t *list = json_array();
    bool done = false;
    post(path, body, &r);
    if (r.status != 200) check_fail(__FILE__, __LINE__, "%s: %d: %s", body, r.status, r.body.data);
    CHECK(strstr(r.all.data, "text/event-stream") != NULL);
    for (char *at = r.body.data, *end; *at; at = end + 2) {
        end = strstr(at, "\n\n");
        CHECK(end != NULL && !done);
        *end = '\0';
        if (*at == ':') continue;
        CHECK(strncmp(at, "data: ", 6) == 0);
        done = strcmp(at + 6, "[DONE]") == 0;
        json_t *v = done ? NULL : json_loads(at + 6, 0, NULL);
        if (!done && !v) check_fail(__FILE__, __LINE__, "no JSON: %s", at);
        if (v) json_array_append_new(list, v);
    }
    CHECK(done);
    response_free(&r);
    return list;
}

/* The events of a stream whose events have names, and no [DONE], as an array: each has its name as its type. */
static inline json_t *named_events(const char *path, const char *body)
{
    struct response r;
    json_t *list = json_array();
    post(path, body, &r);
    if (r.status != 200) check_fail(__FILE__, __LINE__, "%s: %d: %s", body, r.status, r.body.data);
    CHECK(strstr(r.all.data, "text/event-stream") != NULL);
    for (char *at = r.body.data, *end; *at; at = end + 2) {
        end = strstr(at, "\n\n");
        CHECK(end != NULL);
        *end = '\0';
        if (*at == ':') continue;
        char *data = strchr(at, '\n');
        CHECK(data && strncmp(at, "event: ", 7) == 0 && strncmp(data, "\ndata: ", 7) == 0);
        *data = '\0';
        json_t *v = json_loads(data + 7, 0, NULL);
        if (!v || strcmp(text_at(v, "type"), at + 7) != 0) check_fail(__FILE__, __LINE__, "%s: %s", at, data + 7);
        json_array_append_new(list, v);
    }
    response_free(&r);
    return list;
}

/* The objects of a stream that has one a line, as an array: the last is done, and no other. */
static inline json_t *lines_of(const char *path, const char *body)
{
    struct response r;
    json_t *list = json_array();
    bool done = false;
    post(path, body, &r);
    if (r.status != 200) check_fail(__FILE__, __LINE__, "%s: %d: %s", body, r.status, r.body.data);
    CHECK(strstr(r.all.data, "application/x-ndjson") != NULL);
    for (char *at = r.body.data, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        CHECK(end != NULL && !done);
        *end = '\0';
        json_t *v = json_loads(at, 0, NULL);
        if (!v) check_fail(__FILE__, __LINE__, "no JSON: %s", at);
        done = json_is_true(json_object_get(v, "done"));
        CHECK(done || json_is_false(json_object_get(v, "done")));
        json_array_append_new(list, v);
    }
    CHECK(done);
    response_free(&r);
    return list;
}

/* What the choices' deltas have under this name, put together. */
static inline void gather(const json_t *events, const char *name, struct buf *out)
{
    const json_t *e;
    size_t i;
    json_array_foreach(events, i, e) {
        const char *text = text_at(json_at(e, "choices.0"), name);
        if (text) buf_puts(out, text);
    }
    buf_puts(out, "");
}

/* A metric's value; 0 lines of that name fail. */
/* name: with the label that is wanted, if it has one: vllm:x{finished_reason="stop"}; that of the model may lack. */
static inline bool is_metric(const char *line, const char *name)
{
    const size_t n = strcspn(name, "{"), label = strlen(name) - n;
    char labels[400];
    if (strncmp(line, name, n) != 0 || (line[n] != ' ' && line[n] != '{')) return false;
    snprintf(labels, sizeof labels, "%.*s", line[n] == '{' ? (int)strcspn(line + n + 1, "}") : 0, line + n + 1);
    char want[100] = "";
    if (label > 2) snprintf(want, sizeof want, "%.*s", (int)label - 2, name + n + 1);
    return label ? strstr(labels, want) != NULL : !*labels || strncmp(labels, "model_name=", 11) == 0;
}

static inline double metric(const char *name)
{
    struct response r;
    exchange("GET", "/metrics", NULL, "", 0, &r);
    CHECK_EQ(r.status, 200);
    const char *at = r.body.data;
    while (at && !is_metric(at, name)) at = (at = strchr(at, '\n')) ? at + 1 : NULL;
    if (!at) check_fail(__FILE__, __LINE__, "no metric %s", name);
    const char *front = at + strcspn(at, "{ ");
    double value = atof(*front == '{' ? strchr(front, '}') + 1 : front);
    response_free(&r);
    return value;
}
#endif
