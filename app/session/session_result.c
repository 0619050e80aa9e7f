/* session_result.c - the boundary that every result of a tool passes: clipped to what a call can carry, the whole kept as
 * an artifact; then it enters with its call. */
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/session_result.h"
#include "memory/forms.h"
#include "tools/clip.h"
#include <inttypes.h>

enum { COUNTED = 1 << 20, RESULT_LEAST = 32,
       SEAMS = 16 /* tokens that two texts may have more when they are put together */ };

/* ---------------------------------------------------------------- tokens */

struct result_scale result_scale(struct session *s)
{
    return (struct result_scale){s->a->ops, s->a->engine, turn_calls(s->a), false, false};
}

static bool count_one(struct result_scale *sc, const struct msg *m, struct engine_count *out)
{
    int rc = sc->aside ? sc->ops->count_aside(sc->engine, m, 1, out, NULL)
                       : sc->ops->count_tokens(sc->engine, m, 1, out, NULL);
    sc->no_memory |= rc == ENGINE_NO_MEMORY;
    return rc == 0;
}

size_t result_weigh(struct result_scale *sc, const char *text, size_t n)
{
    struct engine_count empty = {0}, whole = {0};
    struct buf json = {0};
    if (sc->calls == FORM_CALLS_MISTRAL3) forms_mistral_result((struct form_text){text, n}, "", &json);
    if (sc->calls == FORM_CALLS_HARMONY) forms_harmony_result((struct form_text){text, n}, &json);
    const bool wrapped = json.len > 0;
    const struct msg none = {.role = ROLE_TOOL, .text = "", .len = 0};
    const struct msg m = {.role = ROLE_TOOL, .text = wrapped ? json.data : text, .len = wrapped ? json.len : n};
    bool failed = json.failed || !count_one(sc, &none, &empty) || !count_one(sc, &m, &whole);
    sc->no_memory |= json.failed;
    buf_free(&json);
    return failed ? SIZE_MAX : (size_t)MAX(0, whole.tokens - empty.tokens);
}

size_t session_tokens(struct session *s, const char *text, size_t n)
{
    struct result_scale sc = result_scale(s);
    return result_weigh(&sc, text, n);
}

size_t result_count(void *self, const char *text, size_t n) { return session_tokens(self, text, n); }

/* Of a large text two figures are exact, from its first MiB. */
int64_t result_about(const struct clip_counter *by, const char *text, size_t len)
{
    size_t counted = MIN(len, (size_t)COUNTED), n = by->count(by->self, text ? text : "", counted);
    if (counted == len || n == SIZE_MAX) return (int64_t)MIN(n, (size_t)INT64_MAX);
    double all = (double)n * ((double)len / (double)counted), unit = 1;
    while (all / unit >= 100) unit *= 10;
    return (int64_t)((double)(int64_t)(all / unit) * unit);
}

int64_t result_tokens_about(struct session *s, const struct buf *b)
{
    return result_about(&(struct clip_counter){result_count, s}, b->data, b->len);
}

/* A share of the room beside the front, so that a result never drives the conversation out. */
size_t session_room(struct session *s)
{
    struct window_figures f;
    window_figures(s->w, &f);
    int64_t front = f.part[WINDOW_SYSTEM] + f.part[WINDOW_TOOLS] + f.part[WINDOW_PINNED];
    if (s->a->o->off.clip) return CLIP_HOLD_MAX;
    int64_t share = (f.limit - front) * opts_quota(s->a->o->result_share, QUOTA_RESULT_SHARE) / 100;
    return (size_t)MAX(RESULT_LEAST, MIN(opts_quota(s->a->o->result_tokens, QUOTA_RESULT_TOKENS), share));
}

/* ---------------------------------------------------------------- the boundary */

void result_fail(struct result *r, const struct err *err)
{
    r->failed = true;
    r->text.len = 0;
    buf_printf(&r->text, "error: %s", err->text);
}

static void name_artifact(uint64_t id, char name[24]) { snprintf(name, 24, "a%" PRIu64, id); }

static void put_notice(uint64_t id, const struct clip_figures *f, int64_t total, const struct buf *shown,
                       struct result *r)
{
    char name[24];
    name_artifact(id, name);
    const struct form_rest rest = {.id = form_text(name), .shown = (int64_t)f->tokens, .total = total,
                                   .offset = (int64_t)f->next};
    forms_result((struct form_text){shown->data ? shown->data : "", shown->len}, &rest, &r->text);
}

/* No form says this: the embedded model knows them by heart as they are, and none is added. */
static void put_loss(const struct clip_figures *f, int64_t total, const struct buf *shown, struct result *r)
{
    buf_put(&r->text, shown->data ? shown->data : "", shown->len);
    if (shown->len > 0 && shown->data[shown->len - 1] != '\n') buf_puts(&r->text, "\n");
    buf_printf(&r->text, "[clipped: %zu of %" PRId64 " tokens shown; the other %" PRIu64 " bytes are not kept]",
               f->tokens, total, f->left_bytes);
}

/* The whole as an artifact, which a message names, so that copies of the session have it too; the model is told how to
 * read on. */
static int keep_whole(struct session *s, const char *name, const char *text, size_t n, uint64_t *id, struct err *err)
{
    struct buf whole = {0};
    const struct journal_message m = {.kind = JOURNAL_DOCUMENT, .turn = s->keep.head.turns, .text = name,
                                      .len = strlen(name), .artifact = s->keep.head.artifacts};
    buf_put(&whole, text, n);
    s->batch.failed |= whole.failed;
    journal_add_artifact(&s->batch, m.artifact, &whole);
    buf_free(&whole);
    if (session_note(s, &m, err) == 0) return -1;
    *id = s->keep.head.artifacts++;
    return session_offer_tools(s, err);
}

/* A cut of what is no tool's result; artifact 0: the rest is not kept. */
static void tell_cut(struct session *s, const char *of, uint64_t artifact, const struct clip_figures *f)
{
    char name[24] = "", rest[100];
    if (artifact) name_artifact(artifact, name);
    struct event e = {.kind = EV_CONTEXT, .context = {
        .turn = s->voice.turns + 1, .change = event_str("clipped"), .what = event_str(name), .messages = 1,
        .tokens = (int64_t)f->tokens, .times = 1}};
    struct voice *speaks = s->a->trace.voice;
    s->a->trace.voice = &s->voice;
    trace_put(&s->a->trace, &e);
    s->a->trace.voice = speaks;
    if (artifact) snprintf(rest, sizeof rest, "the whole is artifact %s", name);
    else snprintf(rest, sizeof rest, "the other %" PRIu64 " are not kept: this session is not saved", f->left_bytes);
    say_dim("[%s: clipped, %" PRIu64 " of %" PRIu64 " bytes shown; %s]", of, f->shown_bytes, f->bytes, rest);
}

int session_hand_over(struct session *s, const char *text, size_t n, size_t tokens, struct buf *out,
                      uint64_t *artifact, struct err *err)
{
    struct clip_config cfg = {.counter = {result_count, s}, .max_tokens = tokens};
    struct clip_figures f;
    *artifact = 0;
    if (clip_whole(&cfg, text, n, out, &f, err)) return -1;
    if (f.whole) return 0;
    if (session_saves(s) && keep_whole(s, "hand-over", text, n, artifact, err)) return -1;
    tell_cut(s, "what was handed over", *artifact, &f);
    return 0;
}

/* Tokens that a message may have beside what the window carries. */
static size_t room_left(struct session *s)
{
    struct window_figures f;
    window_figures(s->w, &f);
    return (size_t)MAX(0, f.limit - f.used);
}

/* What is shown, and what became of the rest. */
static void put_rest(struct session *s, const struct clip_figures *f, int64_t total, const struct buf *shown,
                     struct result *r)
{
    if (f->whole) buf_put(&r->text, shown->data ? shown->data : "", shown->len);
    else if (session_saves(s)) put_notice(r->artifact, f, total, shown, r);
    else put_loss(f, total, shown, r);
}

/* Of the longest notice that there may be about these bytes. */
static size_t notice_tokens(struct session *s, size_t n)
{
    struct result r = {.artifact = s->keep.head.artifacts};
    const struct buf none = {0};
    const struct clip_figures f = {.tokens = n, .next = n, .left_bytes = n};
    put_rest(s, &f, (int64_t)MIN(n, (size_t)INT64_MAX), &none, &r);
    size_t tokens = session_tokens(s, r.text.data ? r.text.data : "", r.text.len);
    buf_free(&r.text);
    return tokens;
}

/* What is shown of it; and of what is not shown whole, the tokens of all. */
static int clip_text(struct session *s, const struct result_clipping *what, struct buf *shown, struct clip_figures *f,
                     int64_t *total, struct err *err)
{
    struct clip_config cfg = {.counter = {result_count, s}, .max_tokens = what->tokens, .kind = what->kind};
    *total = 0;
    if (what->n > RESULT_BIG) return result_clip_big(s, what, shown, f, total, err);
    if (clip_whole(&cfg, what->text, what->n, shown, f, err)) return -1;
    if (!f->whole) *total = result_about(&cfg.counter, what->text, what->n);
    return 0;
}

/* What of the data has room behind the prompt, which is in out already. */
static int put_clipped(struct session *s, const char *data, size_t n, struct buf *out, struct err *err)
{
    struct result r = {0};
    struct clip_figures f;
    struct buf shown = {0};
    int64_t total;
    bool saves = session_saves(s);
    int rc = saves ? keep_whole(s, "stdin", data, n, &r.artifact, err) : 0;
    size_t own = session_tokens(s, out->data, out->len), notice = notice_tokens(s, n), room = room_left(s);
    size_t most = room > own + notice + SEAMS ? room - own - notice - SEAMS : 0;
    if (saves) most = MIN(most, room / 2); /* the rest is for reading on */
    if (rc == 0) rc = clip_text(s, &(struct result_clipping){data, n, most, CLIP_AUTO, false}, &shown, &f, &total, err);
    if (rc == 0) put_rest(s, &f, total, &shown, &r);
    if (rc == 0) buf_put(out, r.text.data ? r.text.data : "", r.text.len);
    if (rc == 0 && !f.whole) tell_cut(s, "the data on stdin", r.artifact, &f);
    buf_free(&r.text);
    buf_free(&shown);
    return rc;
}

int session_put_data(struct session *s, const char *data, size_t n, struct buf *out, struct err *err)
{
    size_t was = out->len;
    buf_put(out, data, n);
    if (out->failed || session_tokens(s, out->data, out->len) <= room_left(s))
        return out->failed ? err_set(err, -1, "no memory for the data") : 0;
    out->len = was;
    int rc = put_clipped(s, data, n, out, err);
    return rc == 0 && out->failed ? err_set(err, -1, "no memory for the data") : rc;
}

/* Where nothing is saved the rest is gone. */
int result_clip(struct session *s, struct buf *bytes, enum clip_kind kind, struct result *r, struct err *err)
{
    const struct result_clipping what = {bytes->data ? bytes->data : "", bytes->len, session_room(s), kind,
                                         strcmp(r->by, "user") == 0};
    struct clip_figures f;
    struct buf shown = {0};
    int64_t total;
    r->bytes = bytes->len;
    if (session_keep_trace(s, bytes->data, bytes->len, err)) return -1;
    int rc = clip_text(s, &what, &shown, &f, &total, err);
    if (rc == 0 && f.whole) {
        r->text = shown;
        buf_free(bytes);
        return 0;
    }
    if (rc == 0) {
        r->left_out = f.left_bytes;
        if (session_saves(s)) r->artifact = s->keep.head.artifacts++;
        put_rest(s, &f, total, &shown, r);
        if (r->artifact) journal_add_artifact(&s->batch, r->artifact, bytes);
    }
    buf_free(&shown);
    buf_free(bytes);
    return rc;
}

/* ---------------------------------------------------------------- into the conversation */

void result_tell(struct session *s, const struct result *r, const char *arguments)
{
    char name[24] = "";
    size_t tokens = result_count(s, r->text.data ? r->text.data : "", r->text.len);
    bool by_model = strcmp(r->by, "model") == 0; /* within the turn that was admitted last; others come before one */
    char cut[100] = "";
    if (r->artifact) name_artifact(r->artifact, name);
    if (r->artifact) snprintf(cut, sizeof cut, ", clipped; the whole is artifact %s", name);
    else if (r->left_out > 0)
        snprintf(cut, sizeof cut, ", clipped; the other %" PRIu64 " bytes are not kept: this session is not saved",
                 r->left_out);
    struct event e = {.kind = EV_TOOL, .tool = {
        .turn = s->voice.turns + !by_model, .by = event_str(r->by), .name = event_str(r->name),
        .arguments = event_str(arguments), .failed = r->failed, .artifact = event_str(name),
        .bytes = (int64_t)r->bytes, .tokens = (int64_t)tokens, .left_out = (int64_t)r->left_out,
        .text = {r->text.data ? r->text.data : "", r->text.len}}};
    trace_put(&s->a->trace, &e);
    say_dim("[%s %s: %s%zu token%s%s%s%s]", r->name, arguments, r->failed ? "failed, " : "", tokens,
            plural((int64_t)tokens), cut,
            *r->names ? " of " : "", r->names);
}

/* Its number is the one before the call's. */
static int note_thought(struct session *s, const char *text, size_t n, struct err *err)
{
    const struct journal_message m = {.kind = JOURNAL_THINKING, .turn = s->keep.head.turns + 1, .text = text, .len = n};
    if (n == 0) return 0;
    const uint64_t id = session_note(s, &m, err);
    if (id == 0) return -1;
    if (turn_retells(s->a) && session_tokens(s, text, n) <= session_room(s)) texts_tell(&s->texts, id);
    return 0;
}

int result_append(struct session *s, struct form_text call, size_t thought, const struct result *r, struct err *err)
{
    struct journal_message m = {.kind = JOURNAL_CALL, .turn = s->keep.head.turns + 1, .results = 1,
                                .text = call.text + thought, .len = call.len - thought};
    if (note_thought(s, call.text, thought, err)) return -1;
    uint64_t id = session_note(s, &m, err);
    if (id == 0 || window_append(s->w, WINDOW_CALL, id, 1, err)) return -1;
    m = (struct journal_message){.kind = JOURNAL_RESULT, .turn = s->keep.head.turns + 1, .artifact = r->artifact,
                                 .flags = r->quote ? JOURNAL_QUOTE : 0,
                                 .text = r->text.data ? r->text.data : "", .len = r->text.len};
    id = r->text.failed ? 0 : session_note(s, &m, err);
    if (id == 0) return err_set(err, -1, "no memory for a result");
    return window_append(s->w, WINDOW_RESULT, id, 0, err);
}

/* As the model would have written it. */
int result_append_ours(struct session *s, const char *arguments, const struct result *r, struct err *err)
{
    struct buf call = {0};
    int rc = forms_call(r->name, form_text(arguments), &call, err);
    if (rc == 0) rc = result_append(s, (struct form_text){call.data, call.len}, 0, r, err);
    buf_free(&call);
    return rc;
}
