/* session_unguarded.c - what a session does without some of its guards (app/guards.h): a prompt as a program sends it
 * that keeps no window, documents before every turn, traces that nobody clears, and what that has of the host's
 * memory. */
#include "app/say.h"
#include "app/session/session_result.h"

/* ---------------------------------------------------------------- what is sent */

static int count(struct session *s, int64_t *tokens, struct err *err)
{
    struct engine_count c = {0};
    int rc = s->a->ops->count_tokens(s->a->engine, s->prompt.msgs, s->prompt.n, &c, err);
    *tokens = c.tokens;
    return rc;
}

static void drop(struct prompt *p, int at, int n)
{
    memmove(p->msgs + at, p->msgs + at + n, (size_t)(p->n - at - n) * sizeof *p->msgs);
    p->n -= n;
}

/* The longest end of the last message with which the prompt has at most `most` tokens; no character is cut in two. */
static int cut_last(struct session *s, int64_t most, int64_t *tokens, struct err *err)
{
    struct msg *m = &s->prompt.msgs[s->prompt.n - 1];
    const struct msg whole = *m;
    size_t low = 0, high = whole.len; /* without its first `high` bytes it is as short as it gets */
    while (low < high) {
        size_t cut = low + (high - low) / 2;
        m->text = whole.text + cut;
        m->len = whole.len - cut;
        if (count(s, tokens, err)) return -1;
        if (*tokens <= most) high = cut;
        else low = cut + 1;
    }
    while (low < whole.len && ((unsigned char)whole.text[low] & 0xc0) == 0x80) low++;
    m->text = whole.text + low;
    m->len = whole.len - low;
    return count(s, tokens, err);
}

/* As some servers do: the system message stays, and nobody is told. */
static int cut_in_front(struct session *s, int64_t most, int64_t *tokens, struct err *err)
{
    struct prompt *p = &s->prompt;
    while (*tokens > most && p->n > p->front_msgs + 1) {
        drop(p, p->front_msgs, 1);
        if (count(s, tokens, err)) return -1;
    }
    return *tokens > most ? cut_last(s, most, tokens, err) : 0;
}

int session_shape(struct session *s, int64_t answer, int64_t *tokens, struct err *err)
{
    const struct guards *off = &s->a->o->off;
    struct prompt *p = &s->prompt;
    if (off->slice && p->n > GUARDS_SLICE) {
        drop(p, 0, p->n - GUARDS_SLICE);
        p->front_msgs = 0;
        return count(s, tokens, err) ? -1 : 0;
    }
    return off->silent ? cut_in_front(s, s->role.ctx - answer, tokens, err) : 0;
}

/* ---------------------------------------------------------------- documents */

int session_keep_document(struct session *s, const struct session_tool *t, const char *path, struct buf *bytes,
                          struct err *err)
{
    struct clip_config cfg = {.counter = {result_count, s}, .max_tokens = CLIP_HOLD_MAX, .hold = CLIP_HOLD_MAX};
    struct clip_figures f;
    struct result r = {.by = t->by, .name = t->name, .bytes = bytes->len};
    if (clip_whole(&cfg, bytes->data ? bytes->data : "", bytes->len, &r.text, &f, err)) return -1;
    r.left_out = f.left_bytes;
    buf_printf(&s->loose.docs, "Document %s:\n", path);
    buf_put(&s->loose.docs, r.text.data ? r.text.data : "", r.text.len);
    buf_puts(&s->loose.docs, "\n\n");
    result_tell(s, &r, t->arguments);
    buf_free(&r.text);
    return s->loose.docs.failed ? err_set(err, -1, "no memory for %.200s", path) : 0;
}

/* ---------------------------------------------------------------- the host's memory */

struct trace_kept { /* one, for ever: nobody gives it back before the session ends */
    struct trace_kept *next;
    size_t n;
    char text[];
};

int session_keep_trace(struct session *s, const char *text, size_t n, struct err *err)
{
    uint64_t size;
    if (!s->a->o->off.traces) return 0;
    struct trace_kept *t = size_add(sizeof *t, n, &size) ? NULL : malloc(size);
    if (!t) return err_set(err, -1, "no memory for a trace of %zu bytes", n);
    t->next = s->loose.traces;
    t->n = n;
    if (n > 0) memcpy(t->text, text, n);
    s->loose.traces = t;
    s->loose.traced += size;
    return 0;
}

void session_forget_loose(struct session *s)
{
    while (s->loose.traces) {
        struct trace_kept *t = s->loose.traces;
        s->loose.traces = t->next;
        free(t);
    }
    buf_free(&s->loose.docs);
}

uint64_t session_host_bytes(const struct session *s)
{
    return texts_bytes(&s->texts) + s->loose.docs.len + s->loose.traced;
}

static void tell(struct session *s)
{
    const struct opts *o = s->a->o;
    struct buf words = {0};
    guards_words(&o->off, &words);
    struct event e = {.kind = EV_UNGUARDED, .unguarded = {
        .turn = s->voice.turns, .off = {words.data ? words.data : "", words.len}, .answers = o->answers,
        .host_bytes = (int64_t)session_host_bytes(s), .host_limit_bytes = (int64_t)s->texts.spare}};
    if (!words.failed) trace_put(&s->a->trace, &e);
    buf_free(&words);
}

int session_check_host(struct session *s, struct err *err)
{
    uint64_t host = session_host_bytes(s);
    if (!guards_any(&s->a->o->off) || host <= s->texts.spare) return 0;
    return err_set(err, -1,
                   "the host's memory for this conversation is used up: %llu bytes (texts %zu, documents %zu, traces "
                   "%llu), and --keep-unsaved allows %zu", (unsigned long long)host, texts_bytes(&s->texts),
                   s->loose.docs.len, (unsigned long long)s->loose.traced, s->texts.spare);
}

/* Before a call: what it sends is kept where traces are, and what is kept is held against its limit. */
int session_check_loose(struct session *s, struct err *err)
{
    const struct guards *off = &s->a->o->off;
    if (!guards_any(off) && s->a->o->answers == 0) return 0;
    for (int i = 0; i < s->prompt.n; i++)
        if (session_keep_trace(s, s->prompt.msgs[i].text, s->prompt.msgs[i].len, err)) return -1;
    tell(s);
    return off->slice || off->traces || off->docs ? session_check_host(s, err) : 0;
}
