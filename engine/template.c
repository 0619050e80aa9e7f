/* template.c - see template.h.
 *
 * A prompt is a list of runs: special ids, and between two of them one run of plain text.  What a template writes
 * beside a special token ("user\n") and what the message says are encoded in one run, because a model's own tokenizer
 * saw them so: merges cross that border. */
#include "engine/template.h"

#include "engine/vocab_impl.h" /* for vocab_fail() and vocab_quote() alone */

/* ---------------------------------------------------------------- names */

static const char *const role_names[ROLE_COUNT] = {"system", "user", "assistant", "tool"};
static const char *const template_names[TEMPLATE_KINDS] = {"raw", "chatml", "llama3"};

const char *segment_name(enum segment s)
{
    static const char *const name[SEGMENTS] = {"system", "summary", "history", "tool", "answer"};
    assert((size_t)s < SEGMENTS);
    return name[s];
}

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
    {"mistral", -1, {"[INST]"}},
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
static const char *const needs[TEMPLATE_KINDS][4] = {
    [TEMPLATE_CHATML] = {"<|im_start|>", "<|im_end|>"},
    [TEMPLATE_LLAMA3] = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
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
        return vocab_fail(g, err, "key %s asks for the family %s; known are chatml and llama3", key,
                          f ? f->name : "unknown");
    if (template_check((enum template_kind)f->kind, v, err)) return -1;
    *out = (enum template_kind)f->kind;
    return 0;
}

/* ---------------------------------------------------------------- writing runs */

struct prompt {
    const struct vocab *v;
    struct ids *out;
    struct err *err;
    struct buf run; /* plain text since the last special id */
    int rc;         /* the first failure; nothing is written after */
};

static void put_plain(struct prompt *p, const char *text, size_t n) { buf_put(&p->run, text, n); }

static void end_run(struct prompt *p)
{
    if (p->rc == 0 && p->run.failed) p->rc = err_set(p->err, -1, "out of memory for a prompt");
    if (p->rc == 0 && p->run.len > 0) p->rc = vocab_encode(p->v, p->run.data, p->run.len, 0, p->out, p->err);
    p->run.len = 0;
}

static void put_id(struct prompt *p, int32_t id)
{
    end_run(p);
    ids_put(p->out, id);
}

/* What the template writes itself: the token where the vocabulary has it as a special one, else its spelling. */
static void put_mark(struct prompt *p, const char *mark)
{
    int32_t id = vocab_find(p->v, mark, strlen(mark));
    enum vocab_attr attr = vocab_attr(p->v, id);
    if (attr == VOCAB_CONTROL || attr == VOCAB_USER_DEFINED) put_id(p, id);
    else put_plain(p, mark, strlen(mark));
}

/* ---------------------------------------------------------------- ChatML
 *
 *     <|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n
 *
 * Tool results as Qwen and Hermes were trained: neighbours share one user turn. */

static void chatml_tool(struct prompt *p, const struct msg *m, bool first, bool last)
{
    if (first) {
        put_mark(p, "<|im_start|>");
        put_plain(p, "user", 4);
    }
    put_plain(p, "\n", 1);
    put_mark(p, "<tool_response>");
    put_plain(p, "\n", 1);
    put_plain(p, m->text, m->len);
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
        chatml_head(p, msgs[i].role);
        put_plain(p, msgs[i].text, msgs[i].len);
        put_mark(p, "<|im_end|>");
        put_plain(p, "\n", 1);
    }
    if (open) chatml_head(p, ROLE_ASSISTANT);
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
        llama3_head(p, m.role == ROLE_TOOL ? "ipython" : role_name(m.role));
        put_plain(p, m.text, m.len);
        put_mark(p, "<|eot_id|>");
    }
    if (open) llama3_head(p, role_name(ROLE_ASSISTANT));
}

/* ---------------------------------------------------------------- the whole */

static void raw(struct prompt *p, const struct msg *msgs, int n)
{
    if (vocab_adds_bos(p->v)) put_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) put_plain(p, msgs[i].text, msgs[i].len);
}

int template_render(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open,
                    struct ids *out, struct err *err)
{
    struct prompt p = {.v = v, .out = out, .err = err};
    size_t n_before = out->n;
    if (template_check(k, v, err)) return -1;
    switch (k) {
    case TEMPLATE_RAW: raw(&p, msgs, n); break;
    case TEMPLATE_CHATML: chatml(&p, msgs, n, open); break;
    case TEMPLATE_LLAMA3: llama3(&p, msgs, n, open); break;
    case TEMPLATE_KINDS: assert(k < TEMPLATE_KINDS); break;
    }
    end_run(&p);
    buf_free(&p.run);
    if (p.rc == 0 && out->failed) p.rc = err_set(err, -1, "out of memory for a prompt's ids");
    if (p.rc) {
        out->n = n_before;
        out->failed = false;
    }
    return p.rc;
}
