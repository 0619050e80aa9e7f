/* desk_rig.h - the sessions' thread of a screen over an engine of the tests': what it tells, as lines of text, and a
 * gate where a turn stands still.  Header only; behind session_rig.h or team_rig.h. */
#ifndef DESK_RIG_H
#define DESK_RIG_H
#include "app/tui/desk.h"
#include <poll.h>
#include <semaphore.h>

enum { COMPLAINT = 2 /* SAY_ERROR of say.h, whose say() is a word of session_rig.h too */ };

RIG struct bridge *b;
RIG struct desk *d;
RIG struct buf tale;         /* what was told and not asked for yet, a line each */
RIG int64_t question;        /* the newest's number */
RIG struct { int64_t number; char text[32]; } posed[16]; /* question i at i % 16 */
RIG int answers_fd;          /* of the app before the desk had it */
RIG int status;              /* of NEWS_OVER */
RIG sem_t at_gate, open_gate;
RIG bool gated;              /* a turn stops before its answer; set while none runs */

static inline void pass_gate(void) /* the sessions' thread */
{
    if (!gated) return;
    sem_post(&at_gate);
    while (sem_wait(&open_gate)) {
    }
}

static inline void wait_till_at_gate(void)
{
    while (sem_wait(&at_gate)) {
    }
}

static inline void tell_event(const struct event *e)
{
    const char *who = e->agent.len ? e->agent.data : "model";
    switch (e->kind) {
    case EV_TURN_USER: buf_printf(&tale, "%s hears %s\n", who, e->turn_user.text.data); break;
    case EV_TURN_END: buf_printf(&tale, "%s says %s (%s)\n", who, e->turn_end.text.data, e->turn_end.end.data); break;
    case EV_SAVED: buf_printf(&tale, "saved %d\n", (int)e->saved.turn); break;
    case EV_RESUMED: buf_printf(&tale, "resumed %d\n", (int)e->resumed.turns); break;
    case EV_ERROR: buf_printf(&tale, "error %s\n", e->error.text.data); break;
    case EV_TOOL: buf_printf(&tale, "tool %s %s: %s\n", e->tool.name.data, e->tool.failed ? "failed" : "done",
                             e->tool.text.data); break;
    case EV_UNDONE: buf_printf(&tale, "turn %d is taken back\n", (int)e->undone.turn); break;
    case EV_SESSION_OPEN: buf_puts(&tale, "open\n"); break;
    default: break;
    }
}

static inline void tell_news(const struct news *n)
{
    const char *text = n->text.data ? n->text.data : "";
    switch (n->kind) {
    case NEWS_EVENT: tell_event(&n->event); break;
    case NEWS_PAST_BEGINS: buf_printf(&tale, "past of %d turns: %s\n", (int)n->value, text); break;
    case NEWS_PAST: buf_puts(&tale, "past: "), tell_event(&n->event); break;
    case NEWS_AGENT: buf_printf(&tale, "agent [%s] %d\n", text, (int)n->value); break;
    case NEWS_BEGUN: buf_printf(&tale, "begun %s\n", text); break;
    case NEWS_DONE: buf_printf(&tale, "done, %d wait\n", (int)n->value); break;
    case NEWS_LINE: buf_printf(&tale, "%s%s %s\n", n->said ? "(of a turn) " : "",
                               n->value == COMPLAINT ? "complaint" : "line", text); break;
    case NEWS_DOC: buf_printf(&tale, "doc %d\n", (int)n->doc.ask.kind); break;
    case NEWS_QUESTION: buf_printf(&tale, "%s asks %s%s\n", *n->who ? n->who : "model",
                                   n->asks_text ? "for words: " : "", text); break;
    case NEWS_WITHDRAWN: buf_printf(&tale, "withdrawn %d\n", (int)n->value); break;
    case NEWS_SESSION: buf_printf(&tale, "session of %d\n", (int)n->value); break;
    case NEWS_OVER: buf_printf(&tale, "over\n"); break;
    }
    if (n->kind == NEWS_QUESTION) {
        question = posed[n->value % 16].number = n->value;
        snprintf(posed[n->value % 16].text, sizeof posed[0].text, "%s", text);
    }
    if (n->kind == NEWS_OVER) status = (int)n->value;
}

/* Till this was told; what was told up to it is forgotten, and returned. */
static inline const char *until(const char *part)
{
    static char text[1 << 18];
    const char *at;
    while (!tale.data || !(at = strstr(tale.data, part))) {
        struct pollfd p = {.fd = bridge_fd(b), .events = POLLIN};
        if (poll(&p, 1, 10000) != 1)
            check_fail(__FILE__, __LINE__, "\"%s\" did not come:\n%s", part, tale.data ? tale.data : "");
        for (struct news *n = bridge_take(b), *next; n; n = next) {
            next = n->next;
            tell_news(n);
            news_free(n);
        }
    }
    const size_t n = (size_t)(at - tale.data) + strlen(part);
    CHECK(n < sizeof text);
    memcpy(text, tale.data, n);
    text[n] = '\0';
    memmove(tale.data, tale.data + n, tale.len - n);
    tale.len -= n;
    tale.data[tale.len] = '\0';
    return text;
}

/* The question with this text. */
static inline int64_t posed_as(const char *text)
{
    for (int i = 0; i < 16; i++)
        if (posed[i].number && strcmp(posed[i].text, text) == 0) return posed[i].number;
    check_fail(__FILE__, __LINE__, "nobody asked %s", text);
}

static inline void order(const char *text) { CHECK(bridge_order(b, text, strlen(text))); }

static inline void check_told(int line, const char *story, const char *part, bool is)
{
    if ((strstr(story, part) != NULL) != is)
        check_fail(__FILE__, line, "\"%s\" was%s told:\n%s", part, is ? " not" : "", story);
}
#define TOLD(story, part) check_told(__LINE__, story, part, true)
#define TOLD_NOT(story, part) check_told(__LINE__, story, part, false)

static inline void open_desk(void)
{
    CHECK_EQ(sem_init(&at_gate, 0, 0), 0);
    CHECK_EQ(sem_init(&open_gate, 0, 0), 0);
    gated = false;
    status = -1;
    tale.len = 0;
    if (tale.data) *tale.data = '\0';
    b = bridge_open(&err);
    CHECK(b != NULL);
    answers_fd = app.answers.fd;
    d = desk_open(&app, b, &err);
    CHECK(d != NULL);
}

/* When it was told that it is over. */
static inline int end_desk(void)
{
    const int rc = desk_close(d);
    CHECK_EQ(rc, status);
    out_init(&app.answers, answers_fd); /* the desk gave stdout back, which is the test's */
    bridge_close(b);
    buf_free(&tale);
    sem_destroy(&at_gate);
    sem_destroy(&open_gate);
    signals_forget_interrupt();
    return rc;
}

/* As the screen leaves: what runs is cancelled. */
static inline int close_desk(void)
{
    bridge_leave(b);
    desk_cancel(d, "");
    until("over\n");
    return end_desk();
}
#endif
