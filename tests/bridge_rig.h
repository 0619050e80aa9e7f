/* bridge_rig.h - the words of the bridge's tests: events to put, and what was taken as a line of text.  Header only. */
#ifndef BRIDGE_RIG_H
#define BRIDGE_RIG_H
#include "app/session/toolbox.h"
#include "app/tui/bridge.h"
#include "tests/check.h"
#include <poll.h>

__attribute__((unused)) static struct bridge *b;

static inline void begin(void)
{
    struct err err = {0};
    b = bridge_open(&err);
    CHECK(b != NULL);
}
static inline void end(void) { bridge_close(b); }

static inline void put_text(const char *agent, int turn, const char *text)
{
    bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_TEXT, .agent = event_str(agent),
                                                .text = {.turn = turn, .text = event_str(text)}});
}
static inline void put_prefill(const char *agent, int done)
{
    bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_PREFILL, .agent = event_str(agent),
                                                .prefill = {.turn = 1, .done = done, .of = 100}});
}
static inline void put_end(const char *agent, const char *text)
{
    const struct event_str none = {"", 0};
    bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_TURN_END, .agent = event_str(agent), .turn_end = {
        .turn = 1, .end = none, .termination_reason = none, .text = event_str(text)}});
}
static inline void put_sample(int n)
{
    bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_MEMORY, .memory = {.running = n}});
}

static inline bool rings(void)
{
    struct pollfd p = {.fd = bridge_fd(b), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static inline void tell(const struct news *n, struct buf *out)
{
    const struct event *e = &n->event;
    if (n->kind == NEWS_LINE) buf_printf(out, "line %.20s", n->text.data ? n->text.data : "");
    else if (n->kind == NEWS_QUESTION) buf_printf(out, "%s asks %d: %s", n->who, (int)n->value, n->text.data);
    else if (n->kind != NEWS_EVENT) buf_printf(out, "news %d %d", (int)n->kind, (int)n->value);
    else if (e->kind == EV_TEXT)
        buf_printf(out, "%.*s says %.*s", (int)e->agent.len, e->agent.data, (int)e->text.text.len, e->text.text.data);
    else if (e->kind == EV_PREFILL)
        buf_printf(out, "%.*s reads %d", (int)e->agent.len, e->agent.data, (int)e->prefill.done);
    else if (e->kind == EV_TURN_END)
        buf_printf(out, "%.*s ends %.*s", (int)e->agent.len, e->agent.data, (int)e->turn_end.text.len,
                   e->turn_end.text.data);
    else buf_printf(out, "%s", event_info(e->kind)->name);
}

/* All that can be taken: "ann says hello | bob reads 3". */
static inline const char *taken(void)
{
    static struct buf out;
    out.len = 0;
    buf_puts(&out, "");
    for (struct news *n = bridge_take(b), *next; n; n = next) {
        next = n->next;
        if (out.len) buf_puts(&out, " | ");
        tell(n, &out);
        news_free(n);
    }
    return out.len ? out.data : "";
}
#endif
