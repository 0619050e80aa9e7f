/* template.c - see template.h.
 *
 * A prompt is a list of runs: special ids, and between two of them one run of plain text.  What a template writes
 * beside a special token ("user\n") and what the message says are encoded in one run, because a model's own tokenizer
 * saw them so: merges cross that border. */
#include "engine/template.h"

#include <inttypes.h>

#include "engine/vocab_impl.h" /* vocab_fail(), vocab_encode_to() and the scratch's place for a run */

/* ---------------------------------------------------------------- names */

static const char *const role_names[ROLE_COUNT] = {"system", "user", "assistant", "tool"};
static const char *const template_names[TEMPLATE_KINDS] = {"raw", "chatml", "llama3", "mistral-v3", "mistral-v7"};
static const char *const segment_names[SEGMENTS] = {"system", "summary", "history", "tool", "answer"};

const char *role_name(enum role r)
{
    assert(r >= 0 && r < ROLE_COUNT);
    return role_names[r];
}

const char *template_name(enum template_kind k)
{
    assert(k >= 0 && k < TEMPLATE_KINDS);
    return template_names[k];
}

const char *segment_name(enum segment s)
{
    assert(s >= 0 && s < SEGMENTS);
    return segment_names[s];
}

int template_by_name(const char *name, enum template_kind *out)
{
    for (int k = 0; k < TEMPLATE_KINDS; k++) {
        if (strcmp(name, template_names[k]) != 0) continue;
        *out = (enum template_kind)k;
        return 0;
    }
    return -1;
}

/* ---------------------------------------------------------------- recognising a file's template */

/* A family is told by the marks that its template writes; the first whose marks are all there.  The order matters: phi4
 * also has ChatML's first mark, and the models that DeepSeek distilled keep Qwen's and Llama's vocabularies. */
static const struct family {
    const char *name;
    int kind; /* enum template_kind; -1: recognised only to be refused by name */
    const char *mark[2];
} family[] = {
    {"deepseek", -1, {"<\xef\xbd\x9cUser\xef\xbd\x9c>"}}, /* with U+FF5C for a bar */
    {"deepseek", -1, {"<\xef\xbd\x9c" "Assistant\xef\xbd\x9c>"}},
    {"harmony (gpt-oss)", -1, {"<|start|>", "<|message|>"}},
    {"phi4", -1, {"<|im_start|>", "<|im_sep|>"}},
    {"chatml", TEMPLATE_CHATML, {"<|im_start|>", "<|im_end|>"}},
    {"llama3", TEMPLATE_LLAMA3, {"<|start_header_id|>", "<|end_header_id|>"}},
    {"llama4", -1, {"<|header_start|>"}},
    {"gemma", -1, {"<start_of_turn>"}},
    {"command-r", -1, {"<|START_OF_TURN_TOKEN|>"}},
    {"granite", -1, {"<|start_of_role|>"}},
    {"llama2", -1, {"[INST]", "<<SYS>>"}},
    {"mistral v11", -1, {"[INST]", "[ARGS]"}}, /* calls as no other writes them */
    {"mistral-v7", TEMPLATE_MISTRAL7, {"[INST]", "[SYSTEM_PROMPT]"}},
    {"mistral-v3", TEMPLATE_MISTRAL3, {"[INST]"}},
    {"phi3", -1, {"<|assistant|>", "<|end|>"}},
    {"zephyr", -1, {"<|user|>", "<|assistant|>"}},
};

static bool holds(struct gguf_str s, const char *mark)
{
    return memmem(s.data, s.len, mark, strlen(mark)) != NULL;
}

static const struct family *family_of(struct gguf_str s)
{
    for (size_t i = 0; i < COUNT_OF(family); i++) {
        const struct family *f = &family[i];
        if (holds(s, f->mark[0]) && (!f->mark[1] || holds(s, f->mark[1]))) return f;
    }
    return NULL;
}

/* What a family needs in the vocabulary. */
#define MISTRAL_TOKENS "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", \
                       "[TOOL_RESULTS]", "[/TOOL_RESULTS]"
static const char *const needs[TEMPLATE_KINDS][12] = {
    [TEMPLATE_CHATML] = {"<|im_start|>", "<|im_end|>"},
    [TEMPLATE_LLAMA3] = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
    [TEMPLATE_MISTRAL3] = {MISTRAL_TOKENS},
    [TEMPLATE_MISTRAL7] = {MISTRAL_TOKENS, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"},
};

int template_check(enum template_kind k, const struct vocab *v, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(needs[k]) && needs[k][i]; i++) {
        if (vocab_find(v, needs[k][i], strlen(needs[k][i])) < 0)
            return err_set(err, -1, "the %s template needs the token %s, which the vocabulary does not have",
                           template_name(k), needs[k][i]);
    }
    return 0;
}

int template_detect(const struct gguf *g, const struct vocab *v, enum template_kind *out, struct err *err)
{
    static const char key[] = "tokenizer.chat_template";
    struct gguf_str s;
    int rc = gguf_string(g, key, &s, err);
    if (rc == GGUF_WRONG) return -1;
    if (rc == GGUF_MISSING || s.len == 0) {
        *out = TEMPLATE_RAW;
        return 0;
    }
    const struct family *f = family_of(s);
    if (!f || f->kind < 0) /* never executed, so what it would write can only be known by name */
        return vocab_fail(g, err, "key %s asks for the family %s; known are chatml, llama3, mistral-v3 and mistral-v7",
                          key, f ? f->name : "unknown");
    if (template_check((enum template_kind)f->kind, v, err)) return -1;
    *out = (enum template_kind)f->kind;
    return 0;
}

/* ---------------------------------------------------------------- writing runs */

/* The most that a template writes around a message in one run with it, but for a role: a tool's, where the marks are no
 * tokens. */
enum { AROUND = sizeof "\n<tool_response>\n\n</tool_response>" - 1 };

struct prompt {
    const struct vocab *v;
    struct vocab_scratch *s;
    struct sink *out;
    struct counter *counter; /* NULL: ids are made; else only counted, and out is its sink */
    struct err *err;
    size_t run;             /* bytes of s->run: plain text since the last special id */
    int rc;                 /* the first failure; nothing is written after */
    uint8_t *segment;       /* NULL: not wanted */
    size_t n_segment, used; /* entries; of them written, or wanted where there are too few */
    const struct msg *msg;  /* what is being written; NULL: the opened head, or nothing yet */
    int more;               /* RAW: messages behind msg whose texts follow in the same run */
    size_t text_at;         /* where msg's text begins in the run */
    const struct msg *joined; /* MISTRAL3: what the run has from joined_at on; NULL: nothing else */
    size_t joined_at;
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
    p->joined = NULL;
}

static void put_text(struct prompt *p, const struct msg *m)
{
    p->text_at = p->run;
    put_plain(p, m->text, m->len);
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
    for (; p->more > 0 && at - p->text_at >= p->msg->len; p->more--) p->text_at += p->msg++->len;
    const struct msg *m = p->msg;
    if (p->joined && at >= p->joined_at) return of[p->joined->role];
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

static void chatml_tool(struct prompt *p, const struct msg *m, bool first, bool last)
{
    if (first) {
        begin(p, m);
        put_mark(p, "<|im_start|>");
        put_plain(p, "user", 4);
    }
    put_plain(p, "\n", 1);
    put_mark(p, "<tool_response>");
    put_plain(p, "\n", 1);
    put_text(p, m);
    put_plain(p, "\n", 1);
    put_mark(p, "</tool_response>");
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

/* Bytes of the white space that s begins with; 0: none. */
static size_t space_len(const char *s, size_t n)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
        "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
    };
    unsigned char c = (unsigned char)s[0];
    if (c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f)) return 1;
    for (size_t i = 0; i < COUNT_OF(wide) && c >= 0x80; i++) {
        size_t len = strlen(wide[i]);
        if (len <= n && memcmp(s, wide[i], len) == 0) return len;
    }
    return 0;
}

static struct msg stripped(struct msg m)
{
    for (size_t len; m.len > 0 && (len = space_len(m.text, m.len)) > 0;) {
        m.text += len;
        m.len -= len;
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t len = 1; len <= MIN(m.len, 3) && !more; len++) {
            if (space_len(m.text + m.len - len, len) != len) continue;
            m.len -= len;
            m.summary -= MIN(m.summary, len);
            more = true;
        }
    }
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
    t->p->joined = m;
    t->p->joined_at = t->p->run;
    put_plain(t->p, m->text, m->len);
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

/* ---------------------------------------------------------------- raw, and the whole */

static void raw(struct prompt *p, const struct msg *msgs, int n)
{
    if (vocab_adds_bos(p->v)) put_id(p, vocab_bos(p->v));
    p->text_at = 0;
    for (int i = 0; i < n; i++) put_plain(p, msgs[i].text, msgs[i].len);
    p->more = MAX(n, 1) - 1;
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

static void write_all(struct prompt *p, enum template_kind k, const struct msg *msgs, int n, bool open)
{
    p->msg = n > 0 ? &msgs[0] : NULL;
    switch (k) {
    case TEMPLATE_RAW: raw(p, msgs, n); break;
    case TEMPLATE_CHATML: chatml(p, msgs, n, open); break;
    case TEMPLATE_LLAMA3: llama3(p, msgs, n, open); break;
    case TEMPLATE_MISTRAL3: mistral(p, msgs, n, false); break;
    case TEMPLATE_MISTRAL7: mistral(p, msgs, n, true); break;
    case TEMPLATE_KINDS: assert(k < TEMPLATE_KINDS); break;
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
    struct prompt p = {.v = v, .s = s, .out = &sink, .err = err, .segment = segment, .n_segment = n_segment,
                       .text_at = SIZE_MAX};
    sink.self = &p;
    write_all(&p, k, msgs, n, open);
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
    struct prompt p = {.v = v, .s = scratch, .out = &counter.out, .counter = &counter, .err = err};
    write_all(&p, k, msgs, n, open);
    *tokens = counter.out.n;
    *exact = counter.exact;
    return p.rc;
}
