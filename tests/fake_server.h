/* fake_server.h - a server of OpenAI's chat API for the tests of engine_remote: threads of this process that answer
 * what the test wants, in pieces and with pauses if it likes. */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H
#include "plimsoll.h"
#include "tests/check.h"
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FAKE_CALLS = 64, FAKE_REQUEST = 1 << 20 };

/* A call of a client: its request whole, headers in it; nth: how many of this path came before. */
struct fake_call {
    int fd, nth;
    char path[64];
    const char *text, *body;
};

static struct {
    int listens, port;
    pthread_t thread, call[FAKE_CALLS];
    int calls;
    const char *models, *metrics;                /* bodies; NULL: 404 */
    void (*chat)(const struct fake_call *c);     /* POST /v1/chat/completions */
    void (*other)(const struct fake_call *c);    /* any other path; NULL: 404 */
    atomic_int asked, left;                      /* chats that came; that the client closed before they ended */
    char last[1 << 16], head[4096];              /* the body and the headers of the last chat; under lock */
    pthread_mutex_t lock;
} fake = {.listens = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* With ' for each ", in memory of its own: calls come in several threads. */
static inline void fake_put(int fd, const char *text)
{
    size_t n = strlen(text);
    char *made = strdup(text);
    for (size_t i = 0; i < n; i++)
        if (made[i] == '\'') made[i] = '"';
    for (size_t at = 0; at < n;) {
        ssize_t got = send(fd, made + at, n - at, MSG_NOSIGNAL);
        if (got <= 0) break;
        at += (size_t)got;
    }
    free(made);
}

static inline void fake_sleep(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* Until the client closes its side, so many ms at most. */
static inline bool fake_waits_for_leaving(int fd, int ms)
{
    char some[64];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, ms) <= 0 || recv(fd, some, sizeof some, 0) > 0) return false;
    atomic_fetch_add(&fake.left, 1);
    return true;
}

static inline void fake_status(const struct fake_call *c, const char *status, const char *headers, const char *body)
{
    char head[512];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nConnection: close\r\n%sContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n", status, headers, strlen(body));
    fake_put(c->fd, head);
    fake_put(c->fd, body);
}

static inline void fake_stream(const struct fake_call *c)
{
    fake_put(c->fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n");
}

/* A piece of text as an event; text without quotes. */
static inline void fake_says(const struct fake_call *c, const char *text)
{
    struct buf event = {0};
    buf_printf(&event, "data: {'choices':[{'delta':{'content':'%s'}}]}\n\n", text);
    fake_put(c->fd, event.data);
    buf_free(&event);
}

static inline void fake_ends(const struct fake_call *c, const char *why, int prompt_tokens)
{
    char event[256];
    snprintf(event, sizeof event, "data: {'choices':[{'delta':{},'finish_reason':'%s'}]}\n\n"
             "data: {'choices':[],'usage':{'prompt_tokens':%d,'completion_tokens':1}}\n\ndata: [DONE]\n\n", why,
             prompt_tokens);
    fake_put(c->fd, event);
}

static inline void fake_answer(struct fake_call *c)
{
    const bool chat = strcmp(c->path, "/v1/chat/completions") == 0;
    if (chat) {
        pthread_mutex_lock(&fake.lock);
        snprintf(fake.last, sizeof fake.last, "%s", c->body);
        snprintf(fake.head, sizeof fake.head, "%.*s", (int)(c->body - c->text), c->text);
        pthread_mutex_unlock(&fake.lock);
        c->nth = atomic_fetch_add(&fake.asked, 1);
        fake.chat(c);
    } else if (strcmp(c->path, "/v1/models") == 0 && fake.models) {
        fake_status(c, "200 OK", "", fake.models);
    } else if (strcmp(c->path, "/metrics") == 0 && fake.metrics) {
        fake_status(c, "200 OK", "", fake.metrics);
    } else if (fake.other) {
        fake.other(c);
    } else {
        fake_status(c, "404 Not Found", "", "{'detail':'Not Found'}");
    }
}

static inline void *fake_call_run(void *self)
{
    struct fake_call c = {.fd = (int)(intptr_t)self};
    char *text = malloc(FAKE_REQUEST), *body = NULL;
    size_t n = 0, want = SIZE_MAX;
    while (n < want && n + 1 < FAKE_REQUEST) {
        ssize_t got = recv(c.fd, text + n, FAKE_REQUEST - 1 - n, 0);
        if (got <= 0) break;
        n += (size_t)got;
        text[n] = '\0';
        body = strstr(text, "\r\n\r\n");
        const char *length = body ? strcasestr(text, "content-length:") : NULL;
        if (body) want = (size_t)(body + 4 - text) + (length && length < body ? strtoul(length + 15, NULL, 10) : 0);
    }
    if (body && sscanf(text, "%*s %63s", c.path) == 1) {
        c.text = text;
        c.body = body + 4;
        fake_answer(&c);
    }
    close(c.fd);
    free(text);
    return NULL;
}

static inline void *fake_run(void *self)
{
    (void)self;
    for (int fd; (fd = accept(fake.listens, NULL, NULL)) >= 0;) {
        if (fake.calls == FAKE_CALLS) { /* those are over by now */
            for (int i = 0; i < FAKE_CALLS; i++) pthread_join(fake.call[i], NULL);
            fake.calls = 0;
        }
        if (pthread_create(&fake.call[fake.calls], NULL, fake_call_run, (void *)(intptr_t)fd) == 0) fake.calls++;
        else close(fd);
    }
    return NULL;
}

static inline void fake_end(void)
{
    if (fake.listens < 0) return;
    shutdown(fake.listens, SHUT_RDWR);
    pthread_join(fake.thread, NULL);
    for (int i = 0; i < fake.calls; i++) pthread_join(fake.call[i], NULL);
    close(fake.listens);
    fake.listens = -1;
    fake.calls = 0;
}

/* One that has this list of models and answers chats so; its address, good until the next one begins. */
static inline const char *fake_begin(const char *models, void (*chat)(const struct fake_call *c))
{
    static char at[64];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof to;
    fake_end();
    fake.models = models;
    fake.metrics = NULL;
    fake.other = NULL;
    fake.chat = chat;
    atomic_store(&fake.asked, 0);
    atomic_store(&fake.left, 0);
    fake.listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fake.listens >= 0 && bind(fake.listens, (struct sockaddr *)&to, sizeof to) == 0);
    CHECK(listen(fake.listens, 64) == 0 && getsockname(fake.listens, (struct sockaddr *)&to, &len) == 0);
    fake.port = ntohs(to.sin_port);
    CHECK_EQ(pthread_create(&fake.thread, NULL, fake_run, NULL), 0);
    snprintf(at, sizeof at, "http://127.0.0.1:%d", fake.port);
    return at;
}
#endif
