/* What comes over the sockets of `plimsoll serve`: who holds its room, requests that a proxy could see otherwise, and
 * clients that stop in the middle. */
#include "app/serve/http.h"
#include "app/serve/mhd.h"
#include "tests/serve_rig.h"
#include <errno.h>
#include <time.h>

#define CHAT "/v1/chat/completions"
#define USER "'messages':[{'role':'user','content':'x'}]"
#define HEAD(path) "POST " path " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

enum { LIMIT = 1 << 20 };

static void put(int fd, const char *text) { client_put(fd, text, strlen(text)); }

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A request whose body is announced, and of which so many bytes are there. */
static int hold(const char *path, const char *headers, size_t announced, size_t sent)
{
    struct buf out = {0};
    int fd = client();
    buf_printf(&out, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: "
               "%zu\r\n\r\n", path, headers, announced);
    for (size_t i = 0; i < sent; i++) buf_puts(&out, i ? "a" : "\"");
    client_put(fd, out.data, out.len);
    buf_free(&out);
    return fd;
}

static int status_of(int fd)
{
    struct response r;
    read_response(fd, &r);
    const int status = r.status;
    response_free(&r);
    close(fd);
    return status;
}

/* ---------------------------------------------------------------- who holds its room */

/* Bodies of those without the key are not waited for, and take nothing of what others need. */
TEST(who_has_no_key_is_told_before_its_body_comes)
{
    enum { MANY = 8 };
    int fd[MANY];
    struct response r;
    SERVE("--threads", "1", "--key-file", serve_file("key", "correct-horse-1\n"));
    for (int i = 0; i < MANY; i++) fd[i] = hold(CHAT, i % 2 ? "" : "x-api-key: wrong\r\n", LIMIT, 1000);
    for (int i = 0; i < MANY; i++) CHECK_EQ(status_of(fd[i]), 401);
    for (int i = 0; i < MANY; i++) fd[i] = hold("/v1/embeddings", "x-api-key: correct-horse-1\r\n", LIMIT, 1000);
    exchange("POST", CHAT, "x-api-key: correct-horse-1\r\n", quoted("{" USER ",'max_tokens':2}"),
             strlen("{" USER ",'max_tokens':2}"), &r);
    CHECK_EQ(r.status, 200);
    response_free(&r);
    for (int i = 0; i < MANY; i++) close(fd[i]);
}

/* The bytes and the end of a client may be seen at once: what it sent is not kept for it. */
TEST(a_client_that_dies_while_it_sends_takes_its_body_along)
{
    enum { MANY = 5 };
    SERVE("--threads", "1");
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < MANY; i++) {
            const int fd = hold(CHAT, "", LIMIT, i % 2 ? LIMIT - 1 : 400);
            if (i % 3 == 0) setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
            close(fd);
        }
        json_decref(ask(CHAT, "{" USER ",'max_tokens':2}", 200));
    }
    double held = 1, there = 2;
    for (int i = 0; i < 20 && (held > 0 || there > 1); i++) {
        pause_ms(100);
        held = metric("plimsoll:http_body_bytes");
        there = metric("plimsoll:http_connections");
    }
    CHECK_NEAR(held, 0, 0);
    CHECK_NEAR(there, 1, 0); /* its own */
}

TEST(many_texts_for_vectors_may_be_longer_than_a_chat)
{
    enum { TEXTS = 1000, EACH = 1100 };
    struct buf body = {0};
    struct response r;
    SERVE("--threads", "2");
    buf_puts(&body, "{\"dimensions\":1,\"input\":[");
    for (int i = 0; i < TEXTS; i++) {
        buf_printf(&body, "%s\"%d\\u000", i ? "," : "", i); /* few tokens, of many bytes */
        buf_puts(&body, "a");
        for (int k = 0; k < EACH / 6; k++) buf_puts(&body, k % 9 ? "" : "\\u0061");
        buf_puts(&body, "\"");
        while (body.len < (size_t)(i + 1) * EACH) buf_puts(&body, " ");
    }
    buf_puts(&body, "]}");
    CHECK(body.len > LIMIT);
    exchange("POST", "/v1/embeddings", NULL, body.data, body.len, &r);
    if (r.status != 200) check_fail(__FILE__, __LINE__, "%d: %.300s", r.status, r.body.data);
    response_free(&r);
    const int fd = hold("/tokenize", "", body.len, 0); /* it is not waited for */
    read_response(fd, &r);
    close(fd);
    CHECK_EQ(r.status, 413);
    CHECK(strstr(r.body.data, "longer than 1024 KiB") && !strstr(r.body.data, "context"));
    response_free(&r);
    buf_free(&body);
}

/* ---------------------------------------------------------------- what a proxy could see otherwise */

TEST(headers_that_contradict_each_other_are_refused_and_nothing_behind_them_is_read)
{
    static const char *const bad[] = {
        "Content-Length: 2\r\nContent-Length: 40\r\n\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "Content-Length : 2\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    static const char next[] = "{}GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
    SERVE("--threads", "1");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct buf all = {0};
        const int fd = client();
        put(fd, HEAD(CHAT));
        put(fd, bad[i]);
        send(fd, next, sizeof next - 1, MSG_NOSIGNAL); /* it may be closed by then */
        client_read(fd, &all, NULL);
        if (!all.data || strncmp(all.data, "HTTP/1.1 400", 12) != 0 || !strstr(all.data, "malformed_request") ||
            !strstr(all.data, "Connection: close") || strstr(all.data, "plimsoll-tiny"))
            check_fail(__FILE__, __LINE__, "%s: %s", bad[i], all.data ? all.data : "");
        buf_free(&all);
        close(fd);
    }
}

TEST(a_request_has_a_name_and_may_say_where_it_goes_in_full)
{
    struct response r, again;
    SERVE("--threads", "1");
    exchange("GET", "http://localhost:80/v1/models", NULL, "", 0, &r);
    exchange("GET", "/v1/models?x=1", NULL, "", 0, &again);
    CHECK_EQ(r.status, 200);
    CHECK_EQ(again.status, 200);
    const char *id = strstr(r.all.data, "x-request-id: req_"), *other = strstr(again.all.data, "request-id: req_");
    CHECK(id && other && strstr(r.all.data, "\r\nrequest-id: req_"));
    CHECK(strncmp(id + 14, strstr(other, "req_"), 26) != 0);
    response_free(&r);
    response_free(&again);
    exchange("POST", CHAT, "Content-Encoding: gzip\r\n", "\x1f\x8b", 2, &r);
    CHECK_EQ(r.status, 415);
    CHECK(strstr(r.body.data, "Content-Encoding gzip") != NULL);
    response_free(&r);
    char path[400] = "/v1/models/";
    memset(path + strlen(path), 'm', 300);
    exchange("GET", path, NULL, "", 0, &r);
    CHECK_EQ(r.status, 404);
    CHECK(strstr(r.body.data, "mmmmmmmm") != NULL);
    response_free(&r);
}

/* ---------------------------------------------------------------- bytes now and then */

static size_t wants_all(void *self, struct http_call *c)
{
    (void)self;
    (void)c;
    return 1000;
}

static void ask_plain(void *self, struct http_call *c)
{
    (void)self;
    http_answer(c, 200, "text/plain", NULL, "here", 4);
}

static void was_left(void *self, struct http_call *c)
{
    (void)c;
    ++*(int *)self;
}

static void is_gone(void *self, struct http_call *c)
{
    (void)self;
    (void)c;
}

/* Whose request is not there within its time is closed, in its headers, in its body, or behind an answer, though it is
 * never silent. */
TEST(a_request_that_trickles_is_not_waited_for_without_end)
{
    static const struct http_ops ops = {.wants = wants_all, .ask = ask_plain, .left = was_left, .gone = is_gone};
    int left = 0, fd[3];
    const struct http_config cfg = {.host = "127.0.0.1", .connections = 16, .bodies_limit = 4000, .silent_s = 30,
                                    .whole_s = 2, .ops = &ops, .self = &left};
    struct err err = {0};
    struct buf in = {0};
    struct http *h = http_open(&cfg, &err);
    if (!h) check_fail(__FILE__, __LINE__, "%s", err.text);
    server_port = http_port(h);
    for (size_t i = 0; i < COUNT_OF(fd); i++) fd[i] = client();
    put(fd[1], HEAD("/") "Content-Length: 900\r\n\r\n");
    put(fd[2], "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    bool open[3] = {true, true, true};
    for (int k = 0; k < 60 && (open[0] || open[1] || open[2]); k++) {
        for (int i = 0; i < 3; i++) {
            char some[512];
            if (!open[i]) continue;
            send(fd[i], "a", 1, MSG_NOSIGNAL);
            const ssize_t n = recv(fd[i], some, sizeof some, MSG_DONTWAIT);
            if (n > 0 && i == 2) buf_put(&in, some, (size_t)n);
            if (n == 0 || (n < 0 && errno != EAGAIN)) open[i] = false;
        }
        for (int j = 0; j < 10; j++) http_wait(h, 10, -1);
        if (k == 8) CHECK(open[0] && open[1] && open[2]); /* it takes its time all the same */
    }
    for (int i = 0; i < 3; i++) {
        CHECK(!open[i]);
        close(fd[i]);
    }
    CHECK(in.data && strncmp(in.data, "HTTP/1.1 200", 12) == 0);
    CHECK_EQ(left, 1); /* the others had no request yet */
    CHECK_EQ(http_held(h), 0);
    http_close(h);
    buf_free(&in);
}

/* ---------------------------------------------------------------- connections, counted */

static bool in_a_call;
static __typeof__(&MHD_get_daemon_info) daemon_info;

/* The library's: it frees connections that have ended, while it goes over them. */
static const union MHD_DaemonInfo *asked_for_info(struct MHD_Daemon *d, enum MHD_DaemonInfoType what, ...)
{
    CHECK(!in_a_call);
    return daemon_info(d, what);
}

static void at_once(void *self, struct http_call *c)
{
    (void)self;
    in_a_call = true;
    http_answer(c, 200, "text/plain", NULL, "yes.", 4);
    in_a_call = false;
}

/* Whether the answer to a request on this connection says that it was the last there. */
static bool closes(struct http *h, int fd)
{
    static const char line[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char in[1024];
    size_t n = 0;
    client_put(fd, line, sizeof line - 1);
    for (int i = 0; n < 4 || memcmp(in + n - 4, "yes.", 4) != 0; i++) {
        CHECK(i < 100 * CHILD_PATIENCE && n < sizeof in - 1);
        http_wait(h, 10, -1);
        const ssize_t got = recv(fd, in + n, sizeof in - 1 - n, MSG_DONTWAIT);
        n += (size_t)MAX(got, 0);
    }
    in[n] = '\0';
    return strstr(in, "Connection: close") != NULL;
}

/* Idle clients of a server that has few places left are not kept; who has gone is counted no more.  What is asked of
 * the library for that is asked outside of its calls. */
TEST(a_crowd_is_counted_without_asking_the_library)
{
    static const struct http_ops ops = {.wants = wants_all, .ask = at_once, .left = was_left, .gone = is_gone};
    int left = 0;
    struct err err = {0};
    struct mhd *lib = (struct mhd *)(uintptr_t)mhd_open(&err);
    CHECK(lib != NULL);
    daemon_info = lib->get_daemon_info;
    lib->get_daemon_info = asked_for_info;
    struct http *h = http_open(&(struct http_config){.host = "127.0.0.1", .connections = 4, .bodies_limit = 64,
                                                     .silent_s = 60, .whole_s = 60, .ops = &ops, .self = &left}, &err);
    CHECK(h != NULL);
    server_port = http_port(h);
    int first = client(), second = client();
    CHECK(!closes(h, first) && !closes(h, second));
    int third = client();
    CHECK(closes(h, third));
    CHECK(!closes(h, second)); /* the third has gone */
    close(second);
    close(third);
    for (int i = 0; i < 3; i++) http_wait(h, 10, -1);
    CHECK(!closes(h, first));
    close(first);
    http_close(h);
    lib->get_daemon_info = daemon_info;
}

CHECK_MAIN
