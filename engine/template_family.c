/* template_family.c - see template.h: names, and which family a file's template is of. */
#include "engine/template.h"
#include "engine/template_marks.h"
#include "engine/vocab_impl.h" /* vocab_fail() */

/* ---------------------------------------------------------------- names */

static const char *const role_names[ROLE_COUNT] = {"system", "user", "assistant", "tool"};
static const char *const template_names[TEMPLATE_KINDS] = {
    "raw", "chatml", "llama2", "llama3", "mistral-v1", "mistral-v3", "mistral-v7", "deepseek", "gemma",
    "phi3", "phi4", "harmony", "mistral-v11", "mistral-v13", "zephyr", "qwen3.5", "qwen3-coder", "granite3.0",
    "granite3", "granite4", "lfm2", "lfm2.5", "tulu", "olmo2", "falcon3", "olmo3"};
static const char *const segment_names[SEGMENTS] = {"system", "summary", "history", "tool", "answer"};

const char *role_name(enum role r)
{
    assert(r >= 0 && r < ROLE_COUNT);
    return role_names[r];
}

static const char *const effort_names[EFFORTS] = {NULL, "low", "medium", "high"};

const char *effort_name(enum effort e)
{
    assert(e >= 0 && e < EFFORTS);
    return effort_names[e];
}

int effort_by_name(const char *name, enum effort *out)
{
    for (int e = EFFORT_LOW; e < EFFORTS; e++) {
        if (strcmp(name, effort_names[e]) != 0) continue;
        *out = (enum effort)e;
        return 0;
    }
    return -1;
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

static bool is_chatml(enum template_kind k)
{
    return k == TEMPLATE_CHATML || k == TEMPLATE_QWEN35 || k == TEMPLATE_QWEN3_CODER || k == TEMPLATE_OLMO3;
}

bool template_marks_calls(enum template_kind k) { return k == TEMPLATE_MISTRAL11 || k == TEMPLATE_MISTRAL13; }

bool template_retells(enum template_kind k)
{
    return is_chatml(k) || k == TEMPLATE_LFM25 || k == TEMPLATE_HARMONY;
}

static bool is_zephyr(enum template_kind k)
{
    return k == TEMPLATE_ZEPHYR || k == TEMPLATE_TULU || k == TEMPLATE_OLMO2 || k == TEMPLATE_FALCON3;
}

const char *template_stop(enum template_kind k)
{
    return k == TEMPLATE_LLAMA2 || k == TEMPLATE_MISTRAL1 ? "[INST]" : is_zephyr(k) ? "<|user|>" : NULL;
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
    {"deepseek", TEMPLATE_DEEPSEEK, {TEMPLATE_DEEPSEEK_USER, TEMPLATE_DEEPSEEK_ASSISTANT}},
    {"another deepseek", -1, {TEMPLATE_DEEPSEEK_USER}},
    {"another deepseek", -1, {TEMPLATE_DEEPSEEK_ASSISTANT}},
    {"harmony", TEMPLATE_HARMONY, {"<|start|>", "<|message|>"}},
    {"phi4", TEMPLATE_PHI4, {"<|im_start|>", "<|im_sep|>"}},
    {"lfm2", TEMPLATE_LFM2, {"<|im_start|>", "<|tool_list_start|>"}},
    {"lfm2.5", TEMPLATE_LFM25, {"<|im_start|>", "List of tools: "}},
    {"chatml", TEMPLATE_CHATML, {"<|im_start|>", "<|im_end|>"}},
    {"llama3", TEMPLATE_LLAMA3, {"<|start_header_id|>", "<|end_header_id|>"}},
    {"llama4", -1, {"<|header_start|>"}},
    {"functiongemma", -1, {"<start_of_turn>", "<start_function_declaration>"}}, /* tools as no other has them */
    {"gemma", TEMPLATE_GEMMA, {"<start_of_turn>"}},
    {"command-r", -1, {"<|START_OF_TURN_TOKEN|>"}},
    {"granite4", TEMPLATE_GRANITE4, {"<|start_of_role|>", "<tool_call>"}},
    {"granite3.0", TEMPLATE_GRANITE30, {"<|start_of_role|>", "tool_response"}},
    {"granite3", TEMPLATE_GRANITE3, {"<|start_of_role|>", "<|end_of_role|>"}},
    {"another granite", -1, {"<|start_of_role|>"}},
    {"llama2", TEMPLATE_LLAMA2, {"[INST]", "<<SYS>>"}},
    {"mistral-v11", TEMPLATE_MISTRAL11, {"[ARGS]", "[CALL_ID]"}},
    {"mistral-v13", TEMPLATE_MISTRAL13, {"[INST]", "[ARGS]"}},
    {"mistral-v7", TEMPLATE_MISTRAL7, {"[INST]", "[SYSTEM_PROMPT]"}},
    {"mistral-v3", TEMPLATE_MISTRAL3, {"[INST]", "[AVAILABLE_TOOLS]"}},
    {"mistral-v3", TEMPLATE_MISTRAL3, {"[INST]"}}, /* v1 where that is no token: template_detect() */
    {"phi3", TEMPLATE_PHI3, {"<|assistant|>", "<|end|>"}}, /* Phi-4-mini makes the others of roles */
    {"zephyr", TEMPLATE_ZEPHYR, {"<|user|>", "<|assistant|>"}},
};

static const char chat_key[] = "tokenizer.chat_template";

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
#define GRANITE_TOKENS "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"
#define LFM_TOKENS "<|startoftext|>", "<|im_start|>", "<|im_end|>", "<|tool_call_start|>", "<|tool_call_end|>"
static const char *const needs[TEMPLATE_KINDS][15] = {
    [TEMPLATE_CHATML] = {"<|im_start|>", "<|im_end|>"},
    [TEMPLATE_LLAMA2] = {"<s>", "</s>"},
    [TEMPLATE_LLAMA3] = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
    [TEMPLATE_MISTRAL1] = {"<s>", "</s>"},
    [TEMPLATE_MISTRAL3] = {MISTRAL_TOKENS},
    [TEMPLATE_MISTRAL7] = {MISTRAL_TOKENS, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"},
    [TEMPLATE_MISTRAL11] = {MISTRAL_TOKENS, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]", "[ARGS]",
                            "[CALL_ID]"},
    [TEMPLATE_MISTRAL13] = {MISTRAL_TOKENS, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[ARGS]"},
    [TEMPLATE_DEEPSEEK] = {TEMPLATE_DEEPSEEK_BEGIN, TEMPLATE_DEEPSEEK_USER, TEMPLATE_DEEPSEEK_ASSISTANT,
                           TEMPLATE_DEEPSEEK_END},
    [TEMPLATE_GEMMA] = {"<bos>", "<start_of_turn>", "<end_of_turn>"},
    [TEMPLATE_PHI3] = {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>"},
    [TEMPLATE_PHI4] = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"},
    [TEMPLATE_HARMONY] = {"<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>"},
    [TEMPLATE_QWEN35] = {"<|im_start|>", "<|im_end|>"},
    [TEMPLATE_QWEN3_CODER] = {"<|im_start|>", "<|im_end|>"},
    [TEMPLATE_OLMO3] = {"<|im_start|>", "<|im_end|>"},
    [TEMPLATE_GRANITE30] = {GRANITE_TOKENS},
    [TEMPLATE_GRANITE3] = {GRANITE_TOKENS},
    [TEMPLATE_GRANITE4] = {GRANITE_TOKENS},
    [TEMPLATE_LFM2] = {LFM_TOKENS, "<|tool_list_start|>", "<|tool_list_end|>", "<|tool_response_start|>",
                       "<|tool_response_end|>"},
    [TEMPLATE_LFM25] = {LFM_TOKENS},
};

int template_check(enum template_kind k, const struct vocab *v, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(needs[k]) && needs[k][i]; i++) {
        if (vocab_find(v, needs[k][i], strlen(needs[k][i])) < 0)
            return err_set(err, -1, "the %s template needs the token %s, which the vocabulary does not have",
                           template_name(k), needs[k][i]);
    }
    const bool begins = k == TEMPLATE_OLMO2 && vocab_bos(v) < 0;
    if (begins || (is_zephyr(k) && vocab_eos(v) < 0))
        return err_set(err, -1, "the %s template needs %s of text, which the vocabulary does not have",
                       template_name(k), begins ? "a beginning" : "an end");
    return 0;
}

/* Never executed, so what it would write can only be known by name. */
static int refuse_family(const struct gguf *g, const char *name, struct err *err)
{
    return vocab_fail(g, err, "key %s asks for the family %s; known are chatml, qwen3.5, qwen3-coder, llama2, "
                      "llama3, mistral-v1, mistral-v3, mistral-v7, mistral-v11, mistral-v13, deepseek, gemma, phi3, "
                      "phi4, zephyr, tulu, olmo2, olmo3, falcon3, granite3.0, granite3, granite4, lfm2, lfm2.5 and "
                      "harmony (--template NAME writes one of these all the same)", chat_key, name);
}

/* Phi-3's marks with newlines behind them that stay, as StarChat and Phi-3-small have them: Phi-3's own tokenizer (SPM)
 * swallows them, and Phi-4-mini's template has none. */
static bool keeps_newlines(struct gguf_str s, const struct vocab *v)
{
    static const char *const newline[] = {"<|end|>\n", "<|end|>\\n", "<|end|>' + '\n", "<|end|>' + '\\n"};
    for (size_t i = 0; i < COUNT_OF(newline) && vocab_kind(v) == VOCAB_BPE; i++)
        if (holds(s, newline[i])) return true;
    return false;
}

/* What a mark is written with: from behind it to the end of the statement it stands in.  Of no such mark: empty. */
static struct gguf_str written_with(struct gguf_str s, const char *mark)
{
    const char *at = memmem(s.data, s.len, mark, strlen(mark));
    if (!at) return (struct gguf_str){s.data + s.len, 0};
    const char *from = at + strlen(mark);
    const size_t left = s.len - (size_t)(from - s.data);
    const char *to = memmem(from, left, "}}", 2);
    return (struct gguf_str){from, to ? (size_t)(to - from) : left};
}

/* Is a newline the last that a statement writes? */
static bool ends_in_newline(struct gguf_str said)
{
    static const char *const newline[] = {"'\n'", "'\\n'", "\"\n\"", "\"\\n\""};
    while (said.len > 0 && (said.data[said.len - 1] == ' ' || said.data[said.len - 1] == '-')) said.len--;
    for (size_t i = 0; i < COUNT_OF(newline); i++) {
        const size_t n = strlen(newline[i]);
        if (said.len >= n && memcmp(said.data + said.len - n, newline[i], n) == 0) return true;
    }
    return false;
}

static bool has_end(struct gguf_str said)
{
    return holds(said, "eos_token") || holds(said, "</s>") || holds(said, "<|endoftext|>");
}

/* Zephyr's marks, by the ends behind what is said: behind all, or behind answers, which other statements may write as
 * well, and a newline behind the rest.  -1: neither (GLM). */
static int zephyr_of(struct gguf_str s)
{
    const struct gguf_str user = written_with(s, "<|user|>");
    bool answers = false;
    if (has_end(user)) return TEMPLATE_ZEPHYR;
    if (!ends_in_newline(user) || holds(user, "trim") || holds(user, "strip")) return -1;
    for (struct gguf_str rest = s, said; (said = written_with(rest, "<|assistant|>")).len > 0 && !answers;) {
        answers = has_end(said);
        rest = (struct gguf_str){said.data, (size_t)(s.data + s.len - said.data)};
    }
    if (!answers) return -1;
    return holds(s, "<tool_response>") ? TEMPLATE_FALCON3 : holds(s, "bos_token") ? TEMPLATE_OLMO2 : TEMPLATE_TULU;
}

/* Calls in tags are told apart by the list of tools before them: Qwen3-Coder's is of tags too. */
static enum template_kind chatml_of(struct gguf_str s)
{
    if (holds(s, "<function_calls>") && holds(s, "environment")) return TEMPLATE_OLMO3;
    if (!holds(s, "<function=") || !holds(s, "<parameter=")) return TEMPLATE_CHATML;
    return holds(s, "<name>") ? TEMPLATE_QWEN3_CODER : TEMPLATE_QWEN35;
}

/* The part behind the last of these words; empty: it is not there. */
static struct gguf_str behind_last(struct gguf_str s, const char *word)
{
    struct gguf_str part = {s.data + s.len, 0};
    const size_t n = strlen(word);
    for (size_t i = s.len; i-- > 0 && part.len == 0;)
        if (s.len - i > n && memcmp(s.data + i, word, n) == 0) part = (struct gguf_str){s.data + i + n, s.len - i - n};
    return part;
}

/* Where one of these four stands, which a string ends with.  s.len: nowhere. */
static size_t find_ending(struct gguf_str s, const char *const ending[4])
{
    size_t at = s.len;
    for (size_t i = 0; i < 4; i++) {
        const char *found = memmem(s.data, s.len, ending[i], strlen(ending[i]));
        if (found) at = MIN(at, (size_t)(found - s.data));
    }
    return at;
}

/* A tag and a newline; or (bare) the tag alone, in the line behind a head: as OLMo 3's has it. */
static size_t find_opening(struct gguf_str s, bool *bare)
{
    static const char *const opening[] = {"<think>\\n'", "<think>\\n\"", "<think>\n'", "<think>\n\""};
    static const char *const tag[] = {"\\n<think>'", "\\n<think>\"", "\n<think>'", "\n<think>\""};
    const size_t at = find_ending(s, opening);
    *bare = at == s.len && find_ending(s, tag) < s.len;
    return *bare ? find_ending(s, tag) : at;
}

struct template_thoughts template_thoughts(const struct gguf *g)
{
    struct gguf_str s;
    bool bare;
    if (gguf_string(g, chat_key, &s, NULL) != GGUF_OK) return (struct template_thoughts){0};
    const bool closes = holds(s, "</think>");
    s = behind_last(s, "add_generation_prompt");
    const size_t at = find_opening(s, &bare);
    if (at == s.len || (!closes && !bare)) return (struct template_thoughts){.tags = closes};
    const struct gguf_str last = behind_last((struct gguf_str){s.data, at}, "{%");
    const bool chosen = holds(last, "thinking") && !holds(last, "undefined");
    const struct gguf_str rest = {s.data + at, s.len - at};
    const bool skips = holds(rest, "<think>\\n\\n</think>") || holds(rest, "<think>\n\n</think>");
    return (struct template_thoughts){.tags = true, .begun = !chosen, .asked = true, .skips = chosen && skips,
                                      .bare = bare};
}

int template_detect(const struct gguf *g, const struct vocab *v, enum template_kind *out, struct err *err)
{
    struct gguf_str s;
    int rc = gguf_string(g, chat_key, &s, err);
    if (rc == GGUF_WRONG) return -1;
    if (rc == GGUF_MISSING || s.len == 0) {
        *out = TEMPLATE_RAW;
        return 0;
    }
    const struct family *f = family_of(s);
    if (!f || f->kind < 0) return refuse_family(g, f ? f->name : "unknown", err);
    enum template_kind k = (enum template_kind)f->kind;
    if (k == TEMPLATE_PHI3 && keeps_newlines(s, v)) return refuse_family(g, "phi3 with newlines", err);
    if (k == TEMPLATE_ZEPHYR && zephyr_of(s) < 0) return refuse_family(g, "zephyr with other ends", err);
    if (k == TEMPLATE_ZEPHYR) k = (enum template_kind)zephyr_of(s);
    if (k == TEMPLATE_MISTRAL3 && !f->mark[1] && vocab_find(v, f->mark[0], strlen(f->mark[0])) < 0)
        k = TEMPLATE_MISTRAL1;
    if (k == TEMPLATE_CHATML) k = chatml_of(s);
    if (template_check(k, v, err)) return -1;
    *out = k;
    return 0;
}
