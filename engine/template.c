/* template.c - see template.h.
 *
 * A prompt is a list of runs: special ids, and between two of them one run of plain text.  What a template writes
 * beside a special token ("user\n") and what the message says are encoded in one run, because a model's own tokenizer
 * saw them so: merges cross that border. */
#include "engine/template_impl.h"

#include <inttypes.h>

#include "engine/template_marks.h"
#include "engine/text.h"

/* ---------------------------------------------------------------- writing runs */

/* The most that a template writes around a message in one run with it, but for a role, or what is around a turn: a
 * tool's, where the marks are no tokens.  (The blank line beside it in a turn is a byte more, which the message of
 * another role behind that line spares.) */
enum { AROUND = sizeof "\n<tool_response>\n\n</tool_response>" - 1 };

void prompt_put(struct prompt *p, const char *text, size_t n)
{
    if (p->rc || n == 0) return;
    if (p->counter) {
        p->rc = counter_feed(p->counter, text, n, p->err);
        return;
    }
    if (n > p->s->text_bytes - p->run) {
        p->rc = err_set(p->err, VOCAB_TOO_LONG, "a prompt has a run of text of more than %zu bytes, which is too long",
                        p->s->text_bytes);
        return;
    }
    memcpy(p->s->run + p->run, text, n);
    p->run += n;
}

static void end_run(struct prompt *p)
{
    if (p->rc == 0 && p->counter)
        p->rc = counter_end_run(p->counter, p->err);
    else if (p->rc == 0 && p->run > 0)
        p->rc = vocab_encode_to(p->v, p->s, p->s->run, p->run, 0, p->out, p->err);
    p->run = 0;
}

void prompt_id(struct prompt *p, int32_t id)
{
    end_run(p);
    p->text_at = SIZE_MAX; /* the id is no part of the message's text */
    if (p->rc == 0) sink_put(p->out, id, 0);
}

void prompt_mark(struct prompt *p, const char *mark)
{
    int32_t id = vocab_find(p->v, mark, strlen(mark));
    enum vocab_attr attr = vocab_attr(p->v, id);
    if (attr == VOCAB_CONTROL || attr == VOCAB_USER_DEFINED) prompt_id(p, id);
    else prompt_put(p, mark, strlen(mark));
}

/* ---------------------------------------------------------------- whose a token is */

void prompt_begin(struct prompt *p, const struct msg *m)
{
    end_run(p);
    p->msg = p->first = p->last = m;
}

void prompt_text(struct prompt *p, const struct msg *m)
{
    p->text_at = p->run;
    prompt_put(p, m->text, m->len);
}

void prompt_unmarked(struct prompt *p, const struct prompt_bent *marks, const char *text, size_t n)
{
    size_t from = 0;
    if (n == 0) return; /* an empty text may be NULL */
    for (size_t i = 0; i < n;) {
        size_t len = 0;
        for (const struct prompt_bent *b = marks; b->mark && len == 0 && (text[i] == '[' || text[i] == '<'); b++) {
            const size_t bytes = strlen(b->mark);
            if (n - i < bytes || memcmp(text + i, b->mark, bytes) != 0) continue;
            len = bytes;
            prompt_put(p, text + from, i - from);
            prompt_put(p, b->other, len);
            from = i + len;
        }
        i += MAX(len, 1);
    }
    prompt_put(p, text + from, n - from);
}

static struct part part_of(const struct prompt *p)
{
    const bool gap = p->kind == TEMPLATE_MISTRAL3 && p->msg != p->last;
    if (turns_has(p->kind)) return turns_part(p, p->msg);
    if (p->kind == TEMPLATE_HARMONY) return harmony_part(p, p->msg);
    if (p->kind == TEMPLATE_LFM25) return lfm_part(p, p->msg);
    return (struct part){0, p->msg->len, gap ? 2 : 0};
}

static void place(struct prompt *p, const struct msg *m, size_t at)
{
    p->msg = m;
    const struct part part = part_of(p);
    p->text_at = at + part.before;
    p->part_end = p->text_at + part.text + part.after;
}

void prompt_share(struct prompt *p, const struct msg *first, const struct msg *last, size_t at)
{
    p->first = first;
    p->last = last;
    place(p, first, at);
}

/* The segment of byte `at` of the run.  Asked in rising order. */
static enum segment segment_at(struct prompt *p, size_t at)
{
    static const enum segment of[ROLE_COUNT] = {
        [ROLE_SYSTEM] = SEGMENT_SYSTEM,
        [ROLE_USER] = SEGMENT_HISTORY,
        [ROLE_ASSISTANT] = SEGMENT_HISTORY,
        [ROLE_TOOL] = SEGMENT_TOOL,
    };
    while (p->msg != p->last && at >= p->part_end) place(p, p->msg + 1, p->part_end);
    const struct msg *m = p->msg;
    if (!m) return SEGMENT_HISTORY;
    bool text = at >= p->text_at && at - p->text_at < m->len;
    bool summary = m->role == ROLE_SYSTEM && text && m->len - (at - p->text_at) <= m->summary;
    return summary ? SEGMENT_SUMMARY : of[m->role];
}

static void began(void *self, size_t at)
{
    struct prompt *p = self;
    if (p->used < p->n_segment) p->segment[p->used] = (uint8_t)segment_at(p, at);
    p->used++;
}

/* ---------------------------------------------------------------- ChatML
 *
 *     <|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n
 *
 * Tool results as Qwen and Hermes were trained: neighbours share one user turn, in which Qwen3-Coder has a newline
 * behind the last.  OLMo 3 has each in a turn of the environment's. */

void prompt_response(struct prompt *p, const struct msg *m)
{
    prompt_mark(p, "<tool_response>");
    prompt_put(p, "\n", 1);
    prompt_text(p, m);
    prompt_put(p, "\n", 1);
    prompt_mark(p, "</tool_response>");
}

static void chatml_tool(struct prompt *p, const struct msg *m, bool first, bool last)
{
    if (first) {
        prompt_begin(p, m);
        prompt_mark(p, "<|im_start|>");
        prompt_put(p, "user", 4);
    }
    prompt_put(p, "\n", 1);
    prompt_response(p, m);
    if (!last) return;
    if (p->kind == TEMPLATE_QWEN3_CODER) prompt_put(p, "\n", 1);
    prompt_mark(p, "<|im_end|>");
    prompt_put(p, "\n", 1);
}

static void chatml_head(struct prompt *p, enum role role)
{
    const char *name = role == ROLE_TOOL ? "environment" : role_name(role);
    prompt_mark(p, "<|im_start|>");
    prompt_put(p, name, strlen(name));
    prompt_put(p, "\n", 1);
}

static void chatml(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    if (vocab_adds_bos(p->v)) prompt_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) {
        if (msgs[i].role == ROLE_TOOL && p->kind != TEMPLATE_OLMO3) {
            chatml_tool(p, &msgs[i], i == 0 || msgs[i - 1].role != ROLE_TOOL,
                        i + 1 == n || msgs[i + 1].role != ROLE_TOOL);
            continue;
        }
        prompt_begin(p, &msgs[i]);
        chatml_head(p, msgs[i].role);
        prompt_text(p, &msgs[i]);
        if (msgs[i].begun) break;
        prompt_mark(p, "<|im_end|>");
        prompt_put(p, "\n", 1);
    }
    if (!open) return;
    prompt_begin(p, NULL);
    chatml_head(p, ROLE_ASSISTANT);
}

/* ---------------------------------------------------------------- Llama 3
 *
 *     <|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>
 *
 * The text is stripped as the original's `trim` does it: of all that Unicode, and so Python, calls white space. */

struct msg prompt_stripped(struct msg m)
{
    const size_t end = text_strip(&m.text, &m.len);
    m.summary -= MIN(m.summary, end);
    return m;
}

static void llama3_head(struct prompt *p, const char *role)
{
    prompt_mark(p, "<|start_header_id|>");
    prompt_put(p, role, strlen(role));
    prompt_mark(p, "<|end_header_id|>");
    prompt_put(p, "\n\n", 2);
}

static void llama3(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    prompt_mark(p, "<|begin_of_text|>");
    for (int i = 0; i < n; i++) {
        struct msg m = prompt_stripped(msgs[i]);
        prompt_begin(p, &m);
        llama3_head(p, m.role == ROLE_TOOL ? "ipython" : role_name(m.role));
        prompt_text(p, &m);
        if (!m.begun) prompt_mark(p, "<|eot_id|>");
    }
    prompt_begin(p, NULL); /* m is gone */
    if (open) llama3_head(p, role_name(ROLE_ASSISTANT));
}

struct msg prompt_answer(struct msg m)
{
    const size_t blank = m.len > 0 && *m.text == ' ';
    m.text += blank;
    m.len -= blank;
    return m;
}

/* ---------------------------------------------------------------- Mistral
 *
 *     v3    <s>[AVAILABLE_TOOLS][...][/AVAILABLE_TOOLS][INST]system\n\nuser[/INST]
 *     v7    <s>[SYSTEM_PROMPT]system[/SYSTEM_PROMPT][AVAILABLE_TOOLS][...][/AVAILABLE_TOOLS][INST]user[/INST]
 *
 *     [TOOL_CALLS][{...}]</s>      [TOOL_RESULTS]{...}[/TOOL_RESULTS]                            answer</s>
 *                                  v7: [TOOL_RESULTS]000000012[TOOL_CONTENT]...[/TOOL_RESULTS]
 *     v11 as v7, with calls        [TOOL_CALLS]name[CALL_ID]000000012[ARGS]{...}[TOOL_CALLS]name...</s>
 *     v13 the same without ids     [TOOL_CALLS]name[ARGS]{...}</s>  [TOOL_RESULTS]...[/TOOL_RESULTS]
 *
 * In an SPM vocabulary each text has a space before it, which encoding puts there; tekken has none.  System and tools
 * stand in front, where the originals move them along to the last question: so the pages of a prompt's front stay. */

void template_call_name(uint64_t call, char name[TEMPLATE_CALL])
{
    snprintf(name, TEMPLATE_CALL, "%09" PRIu64, call % UINT64_C(1000000000));
}

struct mistral {
    struct prompt *p;
    enum template_kind kind;
    bool v7, inside; /* or later; v3's [INST] with the system's text is open */
};

static void mistral_between(struct mistral *t, const struct msg *m, const char *before, const char *after)
{
    if (*before) prompt_mark(t->p, before);
    prompt_text(t->p, m);
    if (!m->begun) prompt_mark(t->p, after);
}

static void mistral_inst(struct mistral *t, bool open)
{
    if (t->inside == open) return;
    prompt_mark(t->p, open ? "[INST]" : "[/INST]");
    t->inside = open;
}

static void mistral_system(struct mistral *t, const struct msg *m)
{
    if (m->tools) {
        mistral_between(t, m, "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]");
    } else if (t->v7) {
        mistral_between(t, m, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]");
    } else {
        mistral_inst(t, true);
        prompt_text(t->p, m);
        prompt_put(t->p, "\n\n", 2);
    }
}

static void mistral_result(struct mistral *t, const struct msg *m)
{
    char name[TEMPLATE_CALL];
    prompt_mark(t->p, "[TOOL_RESULTS]");
    if (t->v7 && t->kind != TEMPLATE_MISTRAL13) {
        template_call_name(m->call, name);
        prompt_put(t->p, name, strlen(name));
        prompt_mark(t->p, "[TOOL_CONTENT]");
    }
    prompt_text(t->p, m);
    prompt_mark(t->p, "[/TOOL_RESULTS]");
}

/* v3: a question behind the system's text, in one run with it. */
static void mistral_joined(struct mistral *t, const struct msg *m)
{
    prompt_put(t->p, m->text, m->len);
    prompt_share(t->p, m - 1, m, t->p->text_at);
    prompt_begin(t->p, m);
    mistral_inst(t, false);
}

static void mistral_answer(struct mistral *t, const struct msg *m)
{
    const struct msg said = t->p->v->space_prefix ? prompt_answer(*m) : *m;
    mistral_between(t, &said, m->call > 0 ? "[TOOL_CALLS]" : "", "</s>");
}

/* next: NULL, or the message behind it, which may be a call of the same turn. */
static void mistral_call(struct mistral *t, const struct msg *m, const struct msg *next)
{
    char id[TEMPLATE_CALL];
    const size_t named = MIN(m->name, m->len), rest = MIN(named + (named > 0), m->len);
    prompt_mark(t->p, "[TOOL_CALLS]");
    prompt_put(t->p, m->text, named);
    if (t->kind == TEMPLATE_MISTRAL11) {
        template_call_name(m->call, id);
        prompt_mark(t->p, "[CALL_ID]");
        prompt_put(t->p, id, strlen(id));
    }
    prompt_mark(t->p, "[ARGS]");
    if (rest < m->len) prompt_put(t->p, m->text + rest, m->len - rest);
    if (!next || next->role != ROLE_ASSISTANT || next->call == 0) prompt_mark(t->p, "</s>");
}

static void mistral_message(struct mistral *t, const struct msg *m, const struct msg *next)
{
    if (t->inside && m->role == ROLE_USER) {
        mistral_joined(t, m);
        return;
    }
    mistral_inst(t, false);
    prompt_begin(t->p, m);
    switch (m->role) {
    case ROLE_SYSTEM: mistral_system(t, m); break;
    case ROLE_USER: mistral_between(t, m, "[INST]", "[/INST]"); break;
    case ROLE_TOOL: mistral_result(t, m); break;
    case ROLE_ASSISTANT:
        if (m->call > 0 && template_marks_calls(t->kind)) mistral_call(t, m, next);
        else mistral_answer(t, m);
        break;
    case ROLE_COUNT: assert(m->role < ROLE_COUNT); break;
    }
}

static void mistral(struct prompt *p, const struct msg *msgs, int n)
{
    struct mistral t = {.p = p, .kind = p->kind, .v7 = p->kind != TEMPLATE_MISTRAL3};
    prompt_mark(p, "<s>");
    for (int i = 0; i < n; i++) mistral_message(&t, &msgs[i], i + 1 < n ? &msgs[i + 1] : NULL);
    mistral_inst(&t, false);
}

/* ---------------------------------------------------------------- DeepSeek R1, and what it was distilled into
 *
 *     BEGIN system USER Hello ASSISTANT answer END USER ...        the marks in capitals: template_marks.h
 *
 * Results of tools stand in a user's turn, as ChatML's do, and neighbours share it: the distilled models' vocabularies
 * have no tokens for results, and calls are written as plimsoll asks for them.  A later version of the original opens
 * <think> behind the last mark: see template_thoughts(). */

static void deepseek(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    prompt_mark(p, TEMPLATE_DEEPSEEK_BEGIN);
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i];
        const bool more = m->role == ROLE_TOOL && i > 0 && msgs[i - 1].role == ROLE_TOOL;
        if (more) prompt_put(p, "\n", 1);
        else prompt_begin(p, m);
        if (m->role == ROLE_ASSISTANT) prompt_mark(p, TEMPLATE_DEEPSEEK_ASSISTANT);
        else if (m->role != ROLE_SYSTEM && !more) prompt_mark(p, TEMPLATE_DEEPSEEK_USER);
        if (m->role == ROLE_TOOL) prompt_response(p, m);
        else prompt_text(p, m);
        if (m->role == ROLE_ASSISTANT && !m->begun) prompt_mark(p, TEMPLATE_DEEPSEEK_END);
    }
    prompt_begin(p, NULL);
    if (open) prompt_mark(p, TEMPLATE_DEEPSEEK_ASSISTANT);
}

/* ---------------------------------------------------------------- raw, and the whole */

static void raw(struct prompt *p, const struct msg *msgs, int n)
{
    if (vocab_adds_bos(p->v)) prompt_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) prompt_put(p, msgs[i].text, msgs[i].len);
    if (n > 0) prompt_share(p, &msgs[0], &msgs[n - 1], 0);
}

bool template_joins(enum template_kind k, const struct msg *m, const struct msg *next)
{
    if (turns_has(k)) return turns_joins(k, m, next);
    if (k == TEMPLATE_HARMONY) return harmony_joins(m, next);
    if (k == TEMPLATE_GRANITE30 || k == TEMPLATE_GRANITE3 || k == TEMPLATE_GRANITE4) return granite_joins(k, m, next);
    if (k == TEMPLATE_LFM2 || k == TEMPLATE_LFM25) return lfm_joins(m, next);
    if (k == TEMPLATE_FALCON3 || k == TEMPLATE_OLMO3) return false;
    if (k == TEMPLATE_MISTRAL3 && m->role == ROLE_SYSTEM && !m->tools && next->role == ROLE_USER) return true;
    return k == TEMPLATE_RAW || (m->role == ROLE_TOOL && next->role == ROLE_TOOL);
}

size_t template_text_bytes(size_t text_bytes, int n)
{
    uint64_t bytes;
    bool over = size_add(text_bytes, AROUND * ((uint64_t)MAX(n, 0) + 1), &bytes); /* and one for role or turn */
    return over || bytes > SIZE_MAX ? SIZE_MAX : MAX((size_t)bytes, (size_t)HARMONY_SYSTEM);
}

/* Enough for msgs, or for as much of a run as can be encoded at once: what is longer is then refused. */
static struct vocab_scratch *own_scratch(const struct vocab *v, const struct msg *msgs, int n, struct err *err)
{
    uint64_t text = 0;
    for (int i = 0; i < n; i++)
        if (size_add(text, msgs[i].len, &text) || text > VOCAB_TEXT_MAX) text = VOCAB_TEXT_MAX;
    return vocab_scratch_new(v, MIN(template_text_bytes((size_t)text, n), (size_t)VOCAB_TEXT_MAX), err);
}

static void write_all(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    p->msg = p->first = p->last = n > 0 ? &msgs[0] : NULL;
    open &= n == 0 || !msgs[n - 1].begun;
    switch (p->kind) {
    case TEMPLATE_RAW: raw(p, msgs, n); break;
    case TEMPLATE_CHATML:
    case TEMPLATE_QWEN35:
    case TEMPLATE_OLMO3:
    case TEMPLATE_QWEN3_CODER: chatml(p, msgs, n, open); break;
    case TEMPLATE_LLAMA3: llama3(p, msgs, n, open); break;
    case TEMPLATE_MISTRAL3:
    case TEMPLATE_MISTRAL7:
    case TEMPLATE_MISTRAL11:
    case TEMPLATE_MISTRAL13: mistral(p, msgs, n); break;
    case TEMPLATE_DEEPSEEK: deepseek(p, msgs, n, open); break;
    case TEMPLATE_PHI3:
    case TEMPLATE_PHI4: phi_write(p, msgs, n, open); break;
    case TEMPLATE_ZEPHYR:
    case TEMPLATE_TULU:
    case TEMPLATE_OLMO2:
    case TEMPLATE_FALCON3: zephyr_write(p, msgs, n, open); break;
    case TEMPLATE_GRANITE30:
    case TEMPLATE_GRANITE3:
    case TEMPLATE_GRANITE4: granite_write(p, msgs, n, open); break;
    case TEMPLATE_LFM2:
    case TEMPLATE_LFM25: lfm_write(p, msgs, n, open); break;
    case TEMPLATE_HARMONY: harmony_write(p, msgs, n, open); break;
    case TEMPLATE_LLAMA2:
    case TEMPLATE_MISTRAL1:
    case TEMPLATE_GEMMA: turns_write(p, msgs, n, open); break;
    case TEMPLATE_KINDS: assert(p->kind < TEMPLATE_KINDS); break;
    }
    end_run(p);
}

int template_render(enum template_kind k, const struct vocab *v, struct vocab_scratch *scratch, const struct msg *msgs,
                    int n, bool open, struct ids *out, uint8_t *segment, size_t n_segment, struct err *err)
{
    size_t n_before = out->n;
    assert(!scratch || scratch->v == v);
    if (template_check(k, v, err)) return -1;
    struct vocab_scratch *s = scratch ? scratch : own_scratch(v, msgs, n, err);
    if (!s) return VOCAB_NO_MEMORY;
    struct sink sink = {.ids = out, .began = segment ? began : NULL};
    struct prompt p = {.v = v, .s = s, .out = &sink, .err = err, .kind = k, .segment = segment,
                       .n_segment = n_segment, .text_at = SIZE_MAX};
    sink.self = &p;
    write_all(&p, msgs, n, open);
    if (p.rc == 0 && out->failed) p.rc = vocab_no_room(out, err);
    if (p.rc == 0 && p.used > n_segment)
        p.rc = err_set(err, VOCAB_FULL, "a prompt of %zu tokens, and segments for %zu", p.used, n_segment);
    if (p.rc) {
        out->n = n_before;
        out->failed = false;
    }
    if (!scratch) free(s);
    return p.rc;
}

int template_count(enum template_kind k, const struct vocab *v, struct vocab_scratch *scratch, const struct msg *msgs,
                   int n, bool open, uint64_t *tokens, bool *exact, struct err *err)
{
    struct counter counter;
    assert(scratch->v == v);
    if (template_check(k, v, err)) return -1;
    counter_begin(&counter, v, scratch);
    struct prompt p = {.v = v, .s = scratch, .out = &counter.out, .counter = &counter, .err = err, .kind = k};
    write_all(&p, msgs, n, open);
    *tokens = counter.out.n;
    *exact = counter.exact;
    return p.rc;
}
