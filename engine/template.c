/* template.c - see template.h.
 *
 * A prompt is a list of runs: special ids, and between two of them one run of plain text.  What a template writes
 * beside a special token ("user\n") and what the message says are encoded in one run, because a model's own tokenizer
 * saw them so: merges cross that border. */
#include "engine/template.h"

#include <inttypes.h>

#include "engine/template_marks.h"
#include "engine/text.h"
#include "engine/vocab_impl.h" /* vocab_encode_to() and the scratch's place for a run */

/* ---------------------------------------------------------------- writing runs */

/* The most that a template writes around a message in one run with it, but for a role: a tool's, where the marks are no
 * tokens.  (Gemma's blank line beside it is a byte more, which the message of another role behind that line spares.) */
enum { AROUND = sizeof "\n<tool_response>\n\n</tool_response>" - 1 };

struct prompt {
    const struct vocab *v;
    struct vocab_scratch *s;
    struct sink *out;
    struct counter *counter; /* NULL: ids are made; else only counted, and out is its sink */
    struct err *err;
    enum template_kind kind;
    size_t run;             /* bytes of s->run: plain text since the last special id */
    int rc;                 /* the first failure; nothing is written after */
    uint8_t *segment;       /* NULL: not wanted */
    size_t n_segment, used; /* entries; of them written, or wanted where there are too few */
    const struct msg *msg;  /* what is being written; NULL: the opened head, or nothing yet */
    int more;               /* messages behind msg that follow in the same run (struct part) */
    size_t part_end;        /* where what is msg's ends in it, while there are more */
    size_t text_at;         /* where msg's text begins in the run */
};

static void put_plain(struct prompt *p, const char *text, size_t n)
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

static void put_id(struct prompt *p, int32_t id)
{
    end_run(p);
    p->text_at = SIZE_MAX; /* the id is no part of the message's text */
    if (p->rc == 0) sink_put(p->out, id, 0);
}

/* What the template writes itself: the token where the vocabulary has it as a special one, else its spelling. */
static void put_mark(struct prompt *p, const char *mark)
{
    int32_t id = vocab_find(p->v, mark, strlen(mark));
    enum vocab_attr attr = vocab_attr(p->v, id);
    if (attr == VOCAB_CONTROL || attr == VOCAB_USER_DEFINED) put_id(p, id);
    else put_plain(p, mark, strlen(mark));
}

/* ---------------------------------------------------------------- whose a token is */

/* What is written from here on is m's.  (Tool messages in one turn may share a run too: they are one segment.) */
static void begin(struct prompt *p, const struct msg *m)
{
    end_run(p);
    p->msg = m;
    p->more = 0;
}

static void put_text(struct prompt *p, const struct msg *m)
{
    p->text_at = p->run;
    put_plain(p, m->text, m->len);
}

/* The bytes of a message in a run that others share: what stands before its text, the text, and what stands behind. */
struct part { size_t before, text, after; };

static struct part gemma_part(const struct msg *m, const struct msg *next);

static struct part part_of(enum template_kind k, const struct msg *m, const struct msg *next)
{
    if (k == TEMPLATE_GEMMA) return gemma_part(m, next);
    return (struct part){0, m->len, k == TEMPLATE_MISTRAL3 && next ? 2 : 0};
}

/* The run has p->msg from byte `at` on, and so many messages more behind it. */
static void share(struct prompt *p, size_t at, int more)
{
    const struct part part = part_of(p->kind, p->msg, more > 0 ? p->msg + 1 : NULL);
    p->more = more;
    p->text_at = at + part.before;
    p->part_end = p->text_at + part.text + part.after;
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
    while (p->more > 0 && at >= p->part_end) {
        p->msg++;
        share(p, p->part_end, p->more - 1);
    }
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
 * Tool results as Qwen and Hermes were trained: neighbours share one user turn. */

static void put_response(struct prompt *p, const struct msg *m)
{
    put_mark(p, "<tool_response>");
    put_plain(p, "\n", 1);
    put_text(p, m);
    put_plain(p, "\n", 1);
    put_mark(p, "</tool_response>");
}

static void chatml_tool(struct prompt *p, const struct msg *m, bool first, bool last)
{
    if (first) {
        begin(p, m);
        put_mark(p, "<|im_start|>");
        put_plain(p, "user", 4);
    }
    put_plain(p, "\n", 1);
    put_response(p, m);
    if (!last) return;
    put_mark(p, "<|im_end|>");
    put_plain(p, "\n", 1);
}

static void chatml_head(struct prompt *p, enum role role)
{
    put_mark(p, "<|im_start|>");
    put_plain(p, role_name(role), strlen(role_name(role)));
    put_plain(p, "\n", 1);
}

static void chatml(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    if (vocab_adds_bos(p->v)) put_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) {
        if (msgs[i].role == ROLE_TOOL) {
            chatml_tool(p, &msgs[i], i == 0 || msgs[i - 1].role != ROLE_TOOL,
                        i + 1 == n || msgs[i + 1].role != ROLE_TOOL);
            continue;
        }
        begin(p, &msgs[i]);
        chatml_head(p, msgs[i].role);
        put_text(p, &msgs[i]);
        put_mark(p, "<|im_end|>");
        put_plain(p, "\n", 1);
    }
    if (!open) return;
    begin(p, NULL);
    chatml_head(p, ROLE_ASSISTANT);
}

/* ---------------------------------------------------------------- Llama 3
 *
 *     <|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>
 *
 * The text is stripped as the original's `trim` does it: of all that Unicode, and so Python, calls white space. */

static struct msg stripped(struct msg m)
{
    const size_t end = text_strip(&m.text, &m.len);
    m.summary -= MIN(m.summary, end);
    return m;
}

static void llama3_head(struct prompt *p, const char *role)
{
    put_mark(p, "<|start_header_id|>");
    put_plain(p, role, strlen(role));
    put_mark(p, "<|end_header_id|>");
    put_plain(p, "\n\n", 2);
}

static void llama3(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    put_mark(p, "<|begin_of_text|>");
    for (int i = 0; i < n; i++) {
        struct msg m = stripped(msgs[i]);
        begin(p, &m);
        llama3_head(p, m.role == ROLE_TOOL ? "ipython" : role_name(m.role));
        put_text(p, &m);
        put_mark(p, "<|eot_id|>");
    }
    begin(p, NULL); /* m is gone */
    if (open) llama3_head(p, role_name(ROLE_ASSISTANT));
}

/* ---------------------------------------------------------------- Mistral
 *
 *     v3    <s>[AVAILABLE_TOOLS][...][/AVAILABLE_TOOLS][INST]system\n\nuser[/INST]
 *     v7    <s>[SYSTEM_PROMPT]system[/SYSTEM_PROMPT][AVAILABLE_TOOLS][...][/AVAILABLE_TOOLS][INST]user[/INST]
 *
 *     [TOOL_CALLS][{...}]</s>      [TOOL_RESULTS]{...}[/TOOL_RESULTS]                            answer</s>
 *                                  v7: [TOOL_RESULTS]000000012[TOOL_CONTENT]...[/TOOL_RESULTS]
 *
 * In an SPM vocabulary each text has a space before it, which encoding puts there; tekken has none.  System and tools
 * stand in front, where the originals move them along to the last question: so the pages of a prompt's front stay. */

void template_call_name(uint64_t call, char name[TEMPLATE_CALL])
{
    snprintf(name, TEMPLATE_CALL, "%09" PRIu64, call % UINT64_C(1000000000));
}

struct mistral {
    struct prompt *p;
    bool v7, inside; /* inside: v3's [INST] with the system's text is open */
};

static void mistral_between(struct mistral *t, const struct msg *m, const char *before, const char *after)
{
    if (*before) put_mark(t->p, before);
    put_text(t->p, m);
    put_mark(t->p, after);
}

static void mistral_inst(struct mistral *t, bool open)
{
    if (t->inside == open) return;
    put_mark(t->p, open ? "[INST]" : "[/INST]");
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
        put_text(t->p, m);
        put_plain(t->p, "\n\n", 2);
    }
}

static void mistral_result(struct mistral *t, const struct msg *m)
{
    char name[TEMPLATE_CALL];
    put_mark(t->p, "[TOOL_RESULTS]");
    if (t->v7) {
        template_call_name(m->call, name);
        put_plain(t->p, name, strlen(name));
        put_mark(t->p, "[TOOL_CONTENT]");
    }
    put_text(t->p, m);
    put_mark(t->p, "[/TOOL_RESULTS]");
}

/* v3: a question behind the system's text, in one run with it. */
static void mistral_joined(struct mistral *t, const struct msg *m)
{
    put_plain(t->p, m->text, m->len);
    share(t->p, t->p->text_at, 1);
    begin(t->p, m);
    mistral_inst(t, false);
}

static void mistral_message(struct mistral *t, const struct msg *m)
{
    if (t->inside && m->role == ROLE_USER) {
        mistral_joined(t, m);
        return;
    }
    mistral_inst(t, false);
    begin(t->p, m);
    switch (m->role) {
    case ROLE_SYSTEM: mistral_system(t, m); break;
    case ROLE_USER: mistral_between(t, m, "[INST]", "[/INST]"); break;
    case ROLE_TOOL: mistral_result(t, m); break;
    case ROLE_ASSISTANT: mistral_between(t, m, m->call > 0 ? "[TOOL_CALLS]" : "", "</s>"); break;
    case ROLE_COUNT: assert(m->role < ROLE_COUNT); break;
    }
}

static void mistral(struct prompt *p, const struct msg *msgs, int n, bool v7)
{
    struct mistral t = {.p = p, .v7 = v7};
    put_mark(p, "<s>");
    for (int i = 0; i < n; i++) mistral_message(&t, &msgs[i]);
    mistral_inst(&t, false);
}

/* ---------------------------------------------------------------- DeepSeek R1, and what it was distilled into
 *
 *     BEGIN system USER Hello ASSISTANT answer END USER ...        the marks in capitals: template_marks.h
 *
 * Results of tools stand in a user's turn, as ChatML's do, and neighbours share it: the distilled models' vocabularies
 * have no tokens for results, and calls are written as plimsoll asks for them.  A later version of the original opens
 * <think> behind the last mark; the model does that itself. */

static void deepseek(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    put_mark(p, TEMPLATE_DEEPSEEK_BEGIN);
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i];
        const bool more = m->role == ROLE_TOOL && i > 0 && msgs[i - 1].role == ROLE_TOOL;
        if (more) put_plain(p, "\n", 1);
        else begin(p, m);
        if (m->role == ROLE_ASSISTANT) put_mark(p, TEMPLATE_DEEPSEEK_ASSISTANT);
        else if (m->role != ROLE_SYSTEM && !more) put_mark(p, TEMPLATE_DEEPSEEK_USER);
        if (m->role == ROLE_TOOL) put_response(p, m);
        else put_text(p, m);
        if (m->role == ROLE_ASSISTANT) put_mark(p, TEMPLATE_DEEPSEEK_END);
    }
    begin(p, NULL);
    if (open) put_mark(p, TEMPLATE_DEEPSEEK_ASSISTANT);
}

/* ---------------------------------------------------------------- Gemma 2 and 3
 *
 *     <bos><start_of_turn>user\nsystem\n\nHello<end_of_turn>\n<start_of_turn>model\nanswer<end_of_turn>\n
 *
 * A person and the model have turns, in alternation: the originals refuse all else.  So neighbours on one side share a
 * turn, as the original has the system text with the first question.  Texts are stripped but for that one. */

static const char result_head[] = "<tool_response>\n", result_tail[] = "\n</tool_response>";

static bool gemma_shared(const struct msg *a, const struct msg *b)
{
    return (a->role == ROLE_ASSISTANT) == (b->role == ROLE_ASSISTANT);
}

static struct msg gemma_text(const struct msg *m) { return m->role == ROLE_SYSTEM ? *m : stripped(*m); }

/* Between two messages of a turn. */
static const char *gemma_between(const struct msg *m, const struct msg *next)
{
    if (!next) return "";
    return m->role == ROLE_TOOL && next->role == ROLE_TOOL ? "\n" : "\n\n";
}

static struct part gemma_part(const struct msg *m, const struct msg *next)
{
    const bool tool = m->role == ROLE_TOOL;
    return (struct part){tool ? strlen(result_head) : 0, gemma_text(m).len,
                         (tool ? strlen(result_tail) : 0) + strlen(gemma_between(m, next))};
}

/* The marks of a result are plain text always: with tokens for them the turn would be more than one run. */
static void gemma_message(struct prompt *p, const struct msg *m, const struct msg *next)
{
    const struct msg said = gemma_text(m);
    const char *between = gemma_between(m, next);
    if (m->role == ROLE_TOOL) put_plain(p, result_head, strlen(result_head));
    put_plain(p, said.text, said.len);
    if (m->role == ROLE_TOOL) put_plain(p, result_tail, strlen(result_tail));
    put_plain(p, between, strlen(between));
}

static void gemma_head(struct prompt *p, bool model)
{
    put_mark(p, "<start_of_turn>");
    put_plain(p, model ? "model\n" : "user\n", model ? 6 : 5);
}

static void gemma_turn(struct prompt *p, const struct msg *msgs, int n)
{
    begin(p, &msgs[0]);
    gemma_head(p, msgs[0].role == ROLE_ASSISTANT);
    const size_t from = p->run;
    for (int i = 0; i < n; i++) gemma_message(p, &msgs[i], i + 1 < n ? &msgs[i + 1] : NULL);
    share(p, from, n - 1);
    begin(p, &msgs[n - 1]);
    put_mark(p, "<end_of_turn>");
    put_plain(p, "\n", 1);
}

static void gemma(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    put_mark(p, "<bos>");
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && gemma_shared(&msgs[i], &msgs[end]);) end++;
        gemma_turn(p, msgs + i, end - i);
    }
    begin(p, NULL);
    if (open) gemma_head(p, true);
}

/* ---------------------------------------------------------------- raw, and the whole */

static void raw(struct prompt *p, const struct msg *msgs, int n)
{
    if (vocab_adds_bos(p->v)) put_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) put_plain(p, msgs[i].text, msgs[i].len);
    if (n > 0) share(p, 0, n - 1);
}

size_t template_text_bytes(size_t text_bytes, int n)
{
    uint64_t bytes;
    bool over = size_add(text_bytes, AROUND * ((uint64_t)MAX(n, 0) + 1), &bytes); /* and one for the role */
    return over || bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
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
    p->msg = n > 0 ? &msgs[0] : NULL;
    switch (p->kind) {
    case TEMPLATE_RAW: raw(p, msgs, n); break;
    case TEMPLATE_CHATML: chatml(p, msgs, n, open); break;
    case TEMPLATE_LLAMA3: llama3(p, msgs, n, open); break;
    case TEMPLATE_MISTRAL3: mistral(p, msgs, n, false); break;
    case TEMPLATE_MISTRAL7: mistral(p, msgs, n, true); break;
    case TEMPLATE_DEEPSEEK: deepseek(p, msgs, n, open); break;
    case TEMPLATE_GEMMA: gemma(p, msgs, n, open); break;
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
