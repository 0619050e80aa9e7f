/* window_save.c - the window's state as bytes, and back: to resume, to fork, and to take a turn back.
 *
 *     magic "PlsW" version:4  vocabulary:8  n_front:4 n:4
 *     last_id:8 awaited:4 flags:4  hold:8  calls:8 breaks:8 compactions:8 kept:8 sent:8
 *     task, summary: id:8 tokens:8          summed, cut: first:8 last:8 messages:8 tokens:8
 *     n_front times  part:8 id:8 tokens:8   n times  id:8 tokens:8 kind:1 stub:1 zero:6
 *
 * Version 2, of a summary that took the place of another, goes on: before:8
 * Version 3, where the last compaction can be undone, goes on further with what that would bring back:
 *     last_id:8 n:4 flags:4 before:8  task .. cut as above  n messages as above
 *
 * Numbers are little-endian. */
#include "memory/record.h"
#include "memory/window_impl.h"
#include <inttypes.h>

enum { HEAD = 24, FIGURES = 8 + 4 + 4 + 6 * 8, STATE = 2 * 16 + 2 * 32, FRONT = 24, MESSAGE = 24, BEFORE = 8, SAVED = 24 };
enum { EXTRACTIVE = 1 };
enum { PLAIN = 1, SUMMED = 2, UNDOABLE = 3 }; /* versions */

static void put(struct buf *out, uint64_t value, int bytes)
{
    uint8_t at[8];
    put_le(at, value, bytes);
    buf_put(out, at, (size_t)bytes);
}

static void put_ref(struct buf *out, const struct window_ref *r)
{
    put(out, r->first, 8);
    put(out, r->last, 8);
    put(out, (uint64_t)r->messages, 8);
    put(out, (uint64_t)r->tokens, 8);
}

static void put_state(struct buf *out, const struct window_state *s)
{
    put(out, s->task.id, 8);
    put(out, (uint64_t)s->task.tokens, 8);
    put(out, s->summary.id, 8);
    put(out, (uint64_t)s->summary.tokens, 8);
    put_ref(out, &s->summed);
    put_ref(out, &s->cut);
}

static void put_messages(struct buf *out, const struct window_state *s)
{
    for (size_t i = 0; i < s->n; i++) {
        put(out, s->msg[i].id, 8);
        put(out, (uint64_t)s->msg[i].tokens, 8);
        put(out, s->msg[i].kind | (uint64_t)s->msg[i].stub << 8, 8);
    }
}

static void put_saved(struct buf *out, const struct window_state *s)
{
    put(out, s->last_id, 8);
    put(out, s->n, 4);
    put(out, s->extractive ? EXTRACTIVE : 0, 4);
    put(out, s->before, 8);
    put_state(out, s);
    put_messages(out, s);
}

void window_save(const struct window *w, uint64_t vocabulary, struct buf *out)
{
    const struct window_state *s = &w->now;
    const uint64_t figure[] = {(uint64_t)w->hold, w->calls, w->breaks, w->compactions, w->all_kept, w->all_sent};
    const uint64_t version = w->can_undo ? UNDOABLE : s->before > 0 ? SUMMED : PLAIN;
    buf_put(out, "PlsW", 4);
    put(out, version, 4);
    put(out, vocabulary, 8);
    put(out, w->n_front, 4);
    put(out, s->n, 4);
    put(out, w->last_id, 8);
    put(out, (uint64_t)w->awaited, 4);
    put(out, s->extractive ? EXTRACTIVE : 0, 4);
    for (size_t i = 0; i < COUNT_OF(figure); i++) put(out, figure[i], 8);
    put_state(out, s);
    for (size_t i = 0; i < w->n_front; i++) {
        put(out, w->front[i].part, 8);
        put(out, w->front[i].id, 8);
        put(out, (uint64_t)w->front[i].tokens, 8);
    }
    put_messages(out, s);
    if (version > PLAIN) put(out, s->before, 8);
    if (w->can_undo) put_saved(out, &w->saved);
}

/* ------------------------------------------------------------------ back */

struct loaded {
    const uint8_t *at, *end;
    uint64_t vocabulary, version;
    size_t n_front, n, n_saved;
    struct window_item front[WINDOW_FRONT_ITEMS];
    struct window_state state, saved; /* but their messages */
    bool can_undo;
    uint64_t last_id, figure[6];
    int awaited;
};

static uint64_t get(struct loaded *l, int bytes)
{
    uint64_t value = get_le(l->at, bytes);
    l->at += bytes;
    return value;
}

static bool get_tokens(struct loaded *l, int64_t *out)
{
    uint64_t t = get(l, 8);
    *out = (int64_t)t;
    return t <= (uint64_t)WINDOW_MOST_TOKENS;
}

static bool get_ref(struct loaded *l, struct window_ref *r)
{
    r->first = get(l, 8);
    r->last = get(l, 8);
    uint64_t messages = get(l, 8), tokens = get(l, 8);
    r->messages = (int64_t)messages;
    r->tokens = (int64_t)tokens;
    if (messages == 0) return r->first == 0 && r->last == 0 && tokens == 0;
    bool adds_up = messages <= INT64_MAX / 4 && tokens <= INT64_MAX / 4; /* two of them and all that may still leave */
    return adds_up && r->first > 0 && r->first <= r->last && r->last <= l->last_id;
}

static bool get_item(struct loaded *l, enum window_part part, struct window_item *it)
{
    it->part = part;
    it->id = get(l, 8);
    return get_tokens(l, &it->tokens) && (it->id > 0 || it->tokens == 0);
}

static bool get_head(struct loaded *l, size_t bytes)
{
    if (bytes < HEAD + FIGURES + STATE || memcmp(l->at, "PlsW", 4) != 0) return false;
    l->at += 4;
    l->version = get(l, 4);
    if (l->version < PLAIN || l->version > UNDOABLE) return false;
    l->vocabulary = get(l, 8);
    l->n_front = get(l, 4);
    l->n = get(l, 4);
    if (l->n_front > WINDOW_FRONT_ITEMS || l->n > WINDOW_MESSAGES) return false;
    size_t plain = HEAD + FIGURES + STATE + l->n_front * FRONT + l->n * MESSAGE;
    if (l->version == UNDOABLE) return bytes >= plain + BEFORE + SAVED + STATE;
    return bytes == plain + (l->version == SUMMED ? BEFORE : 0);
}

/* A summary is of something, and has an id; what it took the place of too.  upto: the last message then. */
static bool get_summed(struct loaded *l, struct window_state *s, uint64_t upto)
{
    bool ok = get_item(l, WINDOW_TASK, &s->task);
    ok = get_item(l, WINDOW_SUMMARY, &s->summary) && ok;
    ok = get_ref(l, &s->summed) && ok;
    ok = get_ref(l, &s->cut) && ok;
    bool summary = s->summary.id > 0;
    return ok && summary == (s->summed.messages > 0) && (summary || !s->extractive) && s->task.id <= upto &&
           s->summed.last <= upto && s->cut.last <= upto;
}

static bool get_state(struct loaded *l)
{
    l->last_id = get(l, 8);
    uint64_t awaited = get(l, 4), flags = get(l, 4);
    if (awaited > WINDOW_MESSAGES || flags > EXTRACTIVE) return false;
    l->awaited = (int)awaited;
    l->state.extractive = flags & EXTRACTIVE;
    for (size_t i = 0; i < COUNT_OF(l->figure); i++) l->figure[i] = get(l, 8);
    bool ok = get_summed(l, &l->state, l->last_id);
    for (size_t i = 0; i < l->n_front && ok; i++) {
        uint64_t part = get(l, 8);
        ok = part <= WINDOW_PINNED && get_item(l, (enum window_part)part, &l->front[i]) && l->front[i].id > 0;
        if (ok && i > 0) ok = l->front[i].part >= l->front[i - 1].part;
    }
    return ok && l->figure[0] <= (uint64_t)WINDOW_MOST_TOKENS;
}

/* Ids grow, up to one; results stand behind a call. */
static bool get_messages(struct loaded *l, struct window_message *msg, size_t n, uint64_t upto)
{
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        struct window_message *m = &msg[i];
        m->id = get(l, 8);
        bool ok = get_tokens(l, &m->tokens);
        uint64_t kind = get(l, 8);
        m->kind = (uint8_t)kind;
        m->stub = kind >> 8 & 1;
        if (!ok || (kind & 0xff) > WINDOW_NOTE || kind >> 9 || m->id <= before || m->id > upto) return false;
        bool after_call = i > 0 && (msg[i - 1].kind == WINDOW_CALL || msg[i - 1].kind == WINDOW_RESULT);
        if (m->kind == WINDOW_RESULT && !after_call) return false;
        before = m->id;
    }
    return true;
}

static bool get_now(struct loaded *l)
{
    const struct window_message *msg = l->state.msg;
    const size_t n = l->n;
    l->state.n = n;
    if (!get_messages(l, l->state.msg, n, l->last_id)) return false;
    if (l->version > PLAIN) l->state.before = get(l, 8);
    if (l->state.before > 0 && l->state.summary.id == 0) return false;
    return l->awaited == 0 || (n > 0 && (msg[n - 1].kind == WINDOW_CALL || msg[n - 1].kind == WINDOW_RESULT));
}

/* What an undo would bring back, but its messages: what has come since stands behind them. */
static bool get_saved(struct loaded *l)
{
    struct window_state *s = &l->saved;
    s->last_id = get(l, 8);
    l->n_saved = get(l, 4);
    uint64_t flags = get(l, 4);
    s->before = get(l, 8);
    s->extractive = flags & EXTRACTIVE;
    bool ok = flags <= EXTRACTIVE && s->last_id <= l->last_id && l->state.summary.id > 0 &&
              l->n_saved <= WINDOW_MESSAGES - l->n;
    return ok && get_summed(l, s, s->last_id) && (s->before == 0 || s->summary.id > 0) &&
           (size_t)(l->end - l->at) == l->n_saved * MESSAGE;
}

static bool follows(const struct loaded *l)
{
    size_t first = l->n;
    while (first > 0 && l->state.msg[first - 1].id > l->saved.last_id) first--;
    return first == l->n ? l->awaited == 0 : l->state.msg[first].kind != WINDOW_RESULT;
}

/* Both lists of messages; what is wrong is WINDOW_BAD without a text. */
static int get_lists(struct window *w, struct loaded *l, struct err *err)
{
    int rc = window_room(w, &l->state, l->n, err);
    if (rc) return rc;
    if (!get_now(l)) return WINDOW_BAD;
    l->can_undo = l->version == UNDOABLE;
    if (!l->can_undo) return 0;
    if (!get_saved(l)) return WINDOW_BAD;
    rc = window_room(w, &l->saved, l->n_saved, err);
    if (rc) return rc;
    l->saved.n = l->n_saved;
    return get_messages(l, l->saved.msg, l->n_saved, l->saved.last_id) && follows(l) ? 0 : WINDOW_BAD;
}

/* With another vocabulary or template every text has another size. */
static int weigh_state(struct window *w, struct window_state *s, struct err *err)
{
    int rc = s->task.id ? window_weigh(w, &s->task, err) : 0;
    s->summary.ref = s->summed;
    if (rc == 0 && s->summary.id) rc = window_weigh(w, &s->summary, err);
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        struct window_message *m = &s->msg[i];
        struct window_item it = {.part = m->kind == WINDOW_NOTE ? WINDOW_TASK : WINDOW_HISTORY, .id = m->id};
        rc = window_weigh(w, &it, err);
        m->tokens = it.tokens;
        m->stub = false; /* whether it is too large is seen anew */
    }
    return rc;
}

static int weigh_again(struct window *w, struct loaded *l, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < l->n_front && rc == 0; i++) rc = window_weigh(w, &l->front[i], err);
    if (rc == 0) rc = weigh_state(w, &l->state, err);
    return rc || !l->can_undo ? rc : weigh_state(w, &l->saved, err);
}

static void take(struct window *w, struct loaded *l)
{
    window_forget_undo(w);
    free(w->now.msg);
    w->now = l->state;
    w->saved = l->saved;
    w->can_undo = l->can_undo;
    memcpy(w->front, l->front, l->n_front * sizeof *l->front);
    w->n_front = l->n_front;
    w->last_id = l->last_id;
    w->awaited = l->awaited;
    w->hold = (int64_t)l->figure[0];
    w->calls = l->figure[1];
    w->breaks = l->figure[2];
    w->compactions = l->figure[3];
    w->all_kept = l->figure[4];
    w->all_sent = l->figure[5];
    w->proposed = w->thinking_closed = false;
}

int window_load(struct window *w, const void *bytes, size_t n, uint64_t vocabulary, struct err *err)
{
    struct loaded l = {.at = bytes, .end = (const uint8_t *)bytes + n};
    if (!get_head(&l, n) || !get_state(&l)) return err_set(err, WINDOW_BAD, "the saved window is damaged");
    int rc = get_lists(w, &l, err);
    if (rc == WINDOW_BAD) err_set(err, rc, "the saved window is damaged");
    if (rc == 0 && l.vocabulary != vocabulary) rc = weigh_again(w, &l, err);
    if (rc) {
        free(l.state.msg);
        free(l.saved.msg);
        return rc;
    }
    take(w, &l);
    return 0;
}

int window_begin(struct window *w, uint64_t id, uint64_t before, const struct window_ref *summed, bool extractive,
                 struct err *err)
{
    struct window_item it = {.part = WINDOW_SUMMARY, .id = id, .ref = *summed};
    bool is_range = summed->messages > 0 && summed->first > 0 && summed->first <= summed->last;
    if (w->now.n > 0 || w->now.summary.id || id == 0 || !is_range)
        return err_set(err, WINDOW_BAD, "summary %" PRIu64 " cannot begin this window", id);
    int rc = window_weigh(w, &it, err);
    if (rc) return rc;
    w->now.summary = it;
    w->now.summed = *summed;
    w->now.extractive = extractive;
    w->now.before = before;
    w->last_id = MAX(w->last_id, summed->last);
    return 0;
}

uint64_t window_last_id(const struct window *w) { return w->last_id; }

bool window_each(const struct window *w, bool (*text)(void *self, uint64_t id), void *self)
{
    const struct window_state *s = &w->now;
    bool go_on = true;
    for (size_t i = 0; i < w->n_front && go_on; i++) go_on = text(self, w->front[i].id);
    if (go_on && s->task.id) go_on = text(self, s->task.id);
    if (go_on && s->summary.id) go_on = text(self, s->summary.id);
    for (size_t i = 0; i < s->n && go_on; i++)
        if (!s->msg[i].stub) go_on = text(self, s->msg[i].id);
    return go_on;
}
