/* vocab.c - a vocabulary from its GGUF keys, and what may be asked of it.  encode.c has vocab_encode(). */
#include "engine/harmony.h"
#include "engine/template_marks.h"
#include "engine/text.h"
#include "engine/vocab_impl.h"

#include <sys/random.h>

/* ---------------------------------------------------------------- error lines */

const char *vocab_quote(char out[QUOTE_ROOM], const char *bytes, size_t n)
{
    size_t at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (at > QUOTE_ROOM - 10) {
            at += (size_t)snprintf(out + at, QUOTE_ROOM - at, "...");
            break;
        }
        if (c >= 0x20 && c < 0x7f) out[at++] = (char)c;
        else at += (size_t)snprintf(out + at, QUOTE_ROOM - at, "\\x%02x", c);
    }
    out[at++] = '"';
    out[at] = '\0';
    return out;
}

int vocab_fail(const struct gguf *g, struct err *err, const char *fmt, ...)
{
    char path[100], what[376]; /* together they fit into an error */
    const char *p = gguf_path(g);
    size_t n = strlen(p), skip = n < sizeof path ? 0 : n - sizeof path + 1;
    for (size_t i = skip; i <= n; i++) { /* a name may hold what a terminal obeys */
        unsigned char c = (unsigned char)p[i];
        path[i - skip] = c == '\0' || (c >= 0x20 && c < 0x7f) ? (char)c : '?';
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(err, -1, "%s: %s", path, what);
}

/* ---------------------------------------------------------------- spellings to ids */

/* Multiply, fold, and again: two rounds leave no bit of the input where it was. */
uint64_t vocab_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide p = (wide)(a ^ 0x9e3779b97f4a7c15ull) * (b | 1);
    p = (wide)((uint64_t)p ^ (uint64_t)(p >> 64) ^ b) * 0xd6e8feb86659fd93ull;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint32_t vocab_slots(uint64_t n)
{
    uint32_t slots = 16;
    while (slots < 2 * n) slots *= 2; /* n is at most GGUF_MAX_ARRAY, 2^30 */
    return slots;
}

/* Fewer than 8 bytes as a number, without a call for so few; n itself is hashed too. */
static uint64_t short_word(const char *text, size_t n)
{
    const unsigned char *at = (const unsigned char *)text;
    uint32_t low, high;
    if (n == 0) return 0;
    if (n < 4) return at[0] | (uint64_t)at[n / 2] << 8 | (uint64_t)at[n - 1] << 16;
    memcpy(&low, text, 4);
    memcpy(&high, text + n - 4, 4);
    return low | (uint64_t)high << 32;
}

static uint64_t hash_text(const struct vocab *v, const char *text, size_t n)
{
    uint64_t h = v->seed ^ n, word;
    for (; n >= 8; text += 8, n -= 8) {
        memcpy(&word, text, 8);
        h = vocab_mix(word, h);
    }
    return vocab_mix(short_word(text, n), h);
}

/* The slot of this spelling, or the free one where it would be; hash is the spelling's. */
static int32_t *slot_of(const struct vocab *v, uint32_t hash, const char *text, size_t n)
{
    for (uint32_t i = hash;; i++) {
        int32_t *slot = &v->by_text[i & v->by_text_mask];
        if (*slot < 0) return slot;
        const struct token *t = &v->token[*slot];
        if (t->n_spelling == n && memcmp(t->spelling, text, n) == 0) return slot;
    }
}

int32_t vocab_find(const struct vocab *v, const char *text, size_t n)
{
    return n == 0 || n > v->max_spelling ? -1 : *slot_of(v, (uint32_t)hash_text(v, text, n), text, n);
}

/* The token of a spelling's first slot; any where there is none. */
static const struct token *first_of(const struct vocab *v, const struct spelled *s)
{
    return &v->token[MAX(v->by_text[s->hash & v->by_text_mask], 0)];
}

/* Each step waits for memory that the one before has named: slot, token, spelling.  So a step is done for all of them,
 * and asks for what the next one needs, mostly. */
static void fetch_slots(const struct vocab *v, struct spelled *s, int n)
{
    for (int i = 0; i < n; i++) {
        s[i].hash = (uint32_t)hash_text(v, s[i].text, MIN(s[i].n, v->max_spelling));
        __builtin_prefetch(&v->by_text[s[i].hash & v->by_text_mask]);
    }
    for (int i = 0; i < n; i++) __builtin_prefetch(first_of(v, &s[i]));
    for (int i = 0; i < n; i++) __builtin_prefetch(first_of(v, &s[i])->spelling);
}

void vocab_find_many(const struct vocab *v, struct spelled *s, int n)
{
    fetch_slots(v, s, n);
    for (int i = 0; i < n; i++)
        s[i].id = s[i].n == 0 || s[i].n > v->max_spelling ? -1 : *slot_of(v, s[i].hash, s[i].text, s[i].n);
}

bool vocab_is_plain(const struct vocab *v, int32_t id)
{
    const struct token *t = &v->token[id];
    return t->attr != VOCAB_CONTROL && t->attr != VOCAB_UNKNOWN && !t->guarded &&
           (t->attr != VOCAB_BYTE || v->kind == VOCAB_BPE);
}

static int open_table(struct vocab *v, const struct gguf *g, struct err *err)
{
    uint32_t slots = vocab_slots((uint64_t)v->n);
    v->by_text = malloc((size_t)slots * sizeof *v->by_text);
    if (!v->by_text) return vocab_fail(g, err, "out of memory for a vocabulary of %d tokens", v->n);
    memset(v->by_text, 0xff, (size_t)slots * sizeof *v->by_text);
    v->by_text_mask = slots - 1;
    if (getrandom(&v->seed, sizeof v->seed, GRND_NONBLOCK) != (ssize_t)sizeof v->seed)
        v->seed = 0x2545f4914f6cdd1dull; /* early at boot; no result depends on it, only the time for a hostile file */
    for (int32_t i = 0, n; i < v->n; i += n) {
        struct spelled s[FIND_MANY];
        n = MIN(v->n - i, FIND_MANY);
        for (int k = 0; k < n; k++) s[k] = (struct spelled){v->token[i + k].spelling, v->token[i + k].n_spelling, 0, 0};
        fetch_slots(v, s, n);
        for (int k = 0; k < n; k++) {
            if (s[k].n == 0) continue; /* some files have holes: such an id is only itself */
            int32_t *slot = slot_of(v, s[k].hash, s[k].text, s[k].n);
            if (*slot < 0) *slot = i + k; /* of doubles the first counts */
        }
    }
    return 0;
}

/* ---------------------------------------------------------------- tokens and their types */

/* What lies beside a model, and is given in its place: a projector of images, an adapter, figures for a quantiser. */
static int no_vocabulary(const struct gguf *g, struct err *err)
{
    struct gguf_str type;
    char shown[QUOTE_ROOM];
    const bool named = gguf_string(g, "general.type", &type, NULL) == GGUF_OK;
    if (named && !(type.len == 5 && memcmp(type.data, "model", 5) == 0))
        return vocab_fail(g, err, "is no model: its key general.type is %s; give the file of the model that it "
                          "belongs to", vocab_quote(shown, type.data, type.len));
    return vocab_fail(g, err, "key tokenizer.ggml.model is missing: the file has no vocabulary");
}

static int open_kind(struct vocab *v, const struct gguf *g, struct err *err)
{
    struct gguf_str name;
    char shown[QUOTE_ROOM];
    int rc = gguf_string(g, "tokenizer.ggml.model", &name, err);
    if (rc == GGUF_MISSING) return no_vocabulary(g, err);
    if (rc) return -1;
    if (name.len == 5 && memcmp(name.data, "llama", 5) == 0) v->kind = VOCAB_SPM;
    else if (name.len == 4 && memcmp(name.data, "gpt2", 4) == 0) v->kind = VOCAB_BPE;
    else
        return vocab_fail(g, err,
                          "key tokenizer.ggml.model is %s; known are llama (SentencePiece) and gpt2 (byte-level BPE)",
                          vocab_quote(shown, name.data, name.len));
    return 0;
}

static int open_tokens(struct vocab *v, const struct gguf *g, struct err *err)
{
    static const char key[] = "tokenizer.ggml.tokens";
    const struct gguf_str *s;
    uint64_t n;
    size_t total = 0;
    _Static_assert(TOKEN_MAX <= UINT16_MAX, "a symbol's length has 16 bits");
    int rc = gguf_string_array(g, key, &s, &n, err);
    if (rc == GGUF_MISSING) return vocab_fail(g, err, "key %s is missing", key);
    if (rc) return -1;
    if (n == 0) return vocab_fail(g, err, "key %s is an empty array; a vocabulary has tokens", key);
    if (n > GGUF_MAX_ARRAY)
        return vocab_fail(g, err, "key %s has %llu tokens; at most %u", key, (unsigned long long)n, GGUF_MAX_ARRAY);
    for (uint64_t i = 0; i < n; i++) {
        if (s[i].len > TOKEN_MAX)
            return vocab_fail(g, err, "%s[%llu] has %zu bytes; at most %d", key, (unsigned long long)i, s[i].len,
                              TOKEN_MAX);
        total += s[i].len;
    }
    v->n = (int)n;
    v->token = calloc((size_t)n, sizeof *v->token);
    v->n_pool = 2 * total + 1; /* a piece is never longer than its spelling */
    v->pool = malloc(v->n_pool);
    if (!v->token || !v->pool) return vocab_fail(g, err, "out of memory for a vocabulary of %d tokens", v->n);
    char *at = v->pool;
    for (int i = 0; i < v->n; i++) {
        v->token[i] = (struct token){.spelling = at, .n_spelling = (uint32_t)s[i].len, .attr = VOCAB_NORMAL};
        memcpy(at, s[i].data, s[i].len);
        at += s[i].len;
        v->max_spelling = MAX(v->max_spelling, s[i].len);
    }
    return 0;
}

static int open_types(struct vocab *v, const struct gguf *g, struct err *err)
{
    static const char key[] = "tokenizer.ggml.token_type";
    const int32_t *type;
    uint64_t n;
    int rc = gguf_int_array(g, key, &type, &n, err);
    if (rc == GGUF_MISSING) return 0;
    if (rc) return -1;
    if (n != (uint64_t)v->n)
        return vocab_fail(g, err, "key %s has %llu types for %d tokens; one for each is needed", key,
                          (unsigned long long)n, v->n);
    for (int i = 0; i < v->n; i++) {
        if (type[i] < 0 || type[i] > VOCAB_BYTE)
            return vocab_fail(g, err, "%s[%d] is %d; 1 to %d are token types", key, i, type[i], VOCAB_BYTE);
        v->token[i].attr = (uint8_t)(type[i] ? type[i] : VOCAB_NORMAL); /* 0 is "undefined" */
    }
    return 0;
}

/* ---------------------------------------------------------------- tokens with a meaning */

/* What the templates of the known model families end or begin a turn with.  Many files declare some of these normal or
 * user-defined; then pasted text could end a turn.  So they are control tokens whatever the file says. */
static const char *const turn_mark[] = {
    "<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
    "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|python_tag|>", "<|user|>", "<|assistant|>",
    "<|system|>", "<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|message|>", "<|channel|>", "<|constrain|>",
    "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>",
    "<|start_of_role|>", "<|end_of_role|>", "<|startoftext|>",
    "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]",
    TEMPLATE_DEEPSEEK_BEGIN, TEMPLATE_DEEPSEEK_USER, TEMPLATE_DEEPSEEK_ASSISTANT, TEMPLATE_DEEPSEEK_END,
};
/* What a template frames outside text with, and what Phi-4-mini knows tools by, though its template here writes none of
 * it.  The model may write it, so it stays visible; outside text may not.  LFM2's marks of a call are among these,
 * since its template writes them in what the model said alone. */
static const char *const frame_mark[] = {"<tool_response>", "</tool_response>", "<|tool|>", "<|/tool|>",
                                         "<|tool_call|>", "<|/tool_call|>", "<|tool_response|>",
                                         "<|tool_list_start|>", "<|tool_list_end|>", "<|tool_call_start|>",
                                         "<|tool_call_end|>", "<|tool_response_start|>", "<|tool_response_end|>"};

/* What a model writes around a call of a tool is text that is read: some files declare it control (LFM2's, and Granite
 * 4's, of some versions), others, and Qwen's, user-defined. */
static const char *const call_mark[] = {"<tool_call>", "</tool_call>", "<|tool_call_start|>", "<|tool_call_end|>"};

static const char *const end_mark[] = {"<|im_end|>",      "<|eot_id|>",    "<|eom_id|>",
                                       "<|end_of_text|>", "<|endoftext|>", "</s>", TEMPLATE_DEEPSEEK_END,
                                       "<end_of_turn>",   "<eos>", "<|end|>", "<|return|>", "<|call|>"};

static void open_marks(struct vocab *v)
{
    for (size_t i = 0; i < COUNT_OF(turn_mark); i++) {
        int32_t id = vocab_find(v, turn_mark[i], strlen(turn_mark[i]));
        if (id >= 0) v->token[id].attr = VOCAB_CONTROL;
    }
    for (size_t i = 0; i < COUNT_OF(frame_mark); i++) {
        int32_t id = vocab_find(v, frame_mark[i], strlen(frame_mark[i]));
        if (id >= 0) v->token[id].guarded = true;
    }
    for (size_t i = 0; i < COUNT_OF(call_mark); i++) {
        int32_t id = vocab_find(v, call_mark[i], strlen(call_mark[i]));
        if (id >= 0 && v->token[id].attr == VOCAB_CONTROL) v->token[id].attr = VOCAB_USER_DEFINED;
    }
}

/* What begins and ends a text is a template's to write (Mistral's does), not that of outside text. */
static void guard(struct vocab *v, int32_t id)
{
    if (id >= 0 && v->token[id].attr == VOCAB_USER_DEFINED) v->token[id].guarded = true;
}

/* A key with a token's id.  *id stays where it is when the key is missing. */
static int open_id(const struct vocab *v, const struct gguf *g, const char *key, int32_t *id, struct err *err)
{
    uint64_t value;
    int rc = gguf_uint(g, key, (uint64_t)v->n - 1, &value, err);
    if (rc == GGUF_OK) *id = (int32_t)value;
    return rc == GGUF_WRONG ? -1 : 0;
}

static void mark_end(struct vocab *v, int32_t id)
{
    if (id >= 0) v->token[id].end = true;
}

static int open_ids(struct vocab *v, const struct gguf *g, struct err *err)
{
    int32_t eot = -1, eom = -1;
    v->bos = v->eos = v->unknown = -1;
    if (v->kind == VOCAB_SPM) { /* files of the first days name none: SentencePiece's own spellings */
        v->bos = vocab_find(v, "<s>", 3);
        v->eos = vocab_find(v, "</s>", 4);
        v->unknown = vocab_find(v, "<unk>", 5);
    }
    if (open_id(v, g, "tokenizer.ggml.bos_token_id", &v->bos, err) ||
        open_id(v, g, "tokenizer.ggml.eos_token_id", &v->eos, err) ||
        open_id(v, g, "tokenizer.ggml.unknown_token_id", &v->unknown, err) ||
        open_id(v, g, "tokenizer.ggml.eot_token_id", &eot, err) ||
        open_id(v, g, "tokenizer.ggml.eom_token_id", &eom, err))
        return -1;
    if (!gguf_has(g, "tokenizer.ggml.token_type")) {
        if (v->unknown >= 0) v->token[v->unknown].attr = VOCAB_UNKNOWN;
        if (v->bos >= 0) v->token[v->bos].attr = VOCAB_CONTROL;
        if (v->eos >= 0) v->token[v->eos].attr = VOCAB_CONTROL;
    }
    open_marks(v);
    guard(v, v->bos);
    guard(v, v->eos);
    mark_end(v, v->eos);
    mark_end(v, eot);
    mark_end(v, eom);
    for (size_t i = 0; i < COUNT_OF(end_mark); i++) {
        int32_t id = vocab_find(v, end_mark[i], strlen(end_mark[i]));
        if (id >= 0 && v->token[id].attr == VOCAB_CONTROL) mark_end(v, id);
    }
    if (harmony_speaks(v)) v->token[vocab_find(v, "<|end|>", 7)].end = false; /* there it ends a message alone */
    return 0;
}

static int open_added(struct vocab *v, const struct gguf *g, struct err *err)
{
    v->adds_bos = v->kind == VOCAB_SPM || v->family->adds_bos;
    if (gguf_bool(g, "tokenizer.ggml.add_bos_token", &v->adds_bos, err) == GGUF_WRONG) return -1;
    if (gguf_bool(g, "tokenizer.ggml.add_eos_token", &v->adds_eos, err) == GGUF_WRONG) return -1;
    v->adds_bos = v->adds_bos && v->bos >= 0;
    v->adds_eos = v->adds_eos && v->eos >= 0;
    return 0;
}

/* ---------------------------------------------------------------- pieces, and the list of special tokens */

static void open_pieces(struct vocab *v)
{
    const struct token *last = &v->token[v->n - 1];
    char *at = v->pool + (last->spelling + last->n_spelling - v->pool);
    for (int i = 0; i < v->n; i++) {
        struct token *t = &v->token[i];
        t->piece = at;
        if (t->attr == VOCAB_CONTROL || t->attr == VOCAB_UNKNOWN) continue;
        if (v->kind == VOCAB_SPM) {
            t->n_piece = (uint32_t)spm_piece(t, at);
        } else if (t->attr == VOCAB_USER_DEFINED) { /* spelled plainly */
            memcpy(at, t->spelling, t->n_spelling);
            t->n_piece = t->n_spelling;
        } else {
            t->n_piece = (uint32_t)bpe_piece(t, at);
        }
        at += t->n_piece;
        v->max_piece = MAX(v->max_piece, t->n_piece);
    }
}

static int by_spelling(const void *a, const void *b, void *arg)
{
    const struct vocab *v = arg;
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    const struct token *s = &v->token[left], *t = &v->token[right];
    int order = memcmp(s->spelling, t->spelling, MIN(s->n_spelling, t->n_spelling));
    if (order == 0) order = (s->n_spelling > t->n_spelling) - (s->n_spelling < t->n_spelling);
    return order ? order : (left > right) - (left < right);
}

static int open_special(struct vocab *v, const struct gguf *g, struct err *err)
{
    int count = 0;
    for (int i = 0; i < v->n; i++)
        if (v->token[i].attr == VOCAB_CONTROL || v->token[i].attr == VOCAB_USER_DEFINED) count++;
    v->special = malloc(((size_t)count + 1) * sizeof *v->special);
    if (!v->special) return vocab_fail(g, err, "out of memory for %d special tokens", count);
    for (int i = 0; i < v->n; i++) {
        const struct token *t = &v->token[i];
        if ((t->attr != VOCAB_CONTROL && t->attr != VOCAB_USER_DEFINED) || t->n_spelling == 0) continue;
        if (t->n_spelling > SPECIAL_MAX)
            return vocab_fail(g, err, "tokenizer.ggml.tokens[%d] has %u bytes; a special token has at most %d", i,
                              t->n_spelling, SPECIAL_MAX);
        v->special[v->n_special++] = i;
        unsigned char first = (unsigned char)t->spelling[0];
        v->special_start[1][first] = true;
        if (t->attr == VOCAB_USER_DEFINED && !t->guarded) v->special_start[0][first] = true;
    }
    qsort_r(v->special, (size_t)v->n_special, sizeof *v->special, by_spelling, v);
    return 0;
}

/* ---------------------------------------------------------------- open and close */

static int open_all(struct vocab *v, const struct gguf *g, struct err *err)
{
    memset(v->byte_id, 0xff, sizeof v->byte_id);
    if (open_kind(v, g, err) || open_tokens(v, g, err) || open_types(v, g, err) || open_table(v, g, err) ||
        open_ids(v, g, err))
        return -1;
    if (v->kind == VOCAB_SPM ? spm_open(v, g, err) : bpe_open(v, g, err)) return -1;
    open_pieces(v);
    return open_added(v, g, err) || open_special(v, g, err) ? -1 : 0;
}

struct vocab *vocab_open(const struct gguf *g, struct err *err)
{
    struct vocab *v = calloc(1, sizeof *v);
    if (!v) {
        vocab_fail(g, err, "out of memory for a vocabulary");
        return NULL;
    }
    if (open_all(v, g, err)) {
        vocab_close(v);
        return NULL;
    }
    return v;
}

void vocab_close(struct vocab *v)
{
    if (!v) return;
    pretok_close(v->pretok);
    free(v->token);
    free(v->pool);
    free(v->by_text);
    free(v->merge);
    free(v->by_pair);
    free(v->special);
    free(v);
}

/* ---------------------------------------------------------------- what may be asked */

enum vocab_kind vocab_kind(const struct vocab *v) { return v->kind; }
const char *vocab_pre(const struct vocab *v) { return v->pre; }
int vocab_size(const struct vocab *v) { return v->n; }
int32_t vocab_bos(const struct vocab *v) { return v->bos; }
int32_t vocab_eos(const struct vocab *v) { return v->eos; }
bool vocab_adds_bos(const struct vocab *v) { return v->adds_bos; }
bool vocab_adds_eos(const struct vocab *v) { return v->adds_eos; }
size_t vocab_bytes(const struct vocab *v)
{
    size_t sum = sizeof *v + (size_t)v->n * sizeof *v->token + v->n_pool + pretok_bytes(v->pretok);
    sum += ((size_t)v->by_text_mask + 1) * sizeof *v->by_text + ((size_t)v->n_special + 1) * sizeof *v->special;
    if (v->merge)
        sum += (size_t)v->n_merges * sizeof *v->merge + ((size_t)v->by_pair_mask + 1) * sizeof *v->by_pair;
    return sum;
}

size_t vocab_max_piece(const struct vocab *v) { return v->max_piece; }

static bool has(const struct vocab *v, int32_t id) { return id >= 0 && id < v->n; }

enum vocab_attr vocab_attr(const struct vocab *v, int32_t id)
{
    return has(v, id) ? (enum vocab_attr)v->token[id].attr : VOCAB_UNUSED;
}

bool vocab_is_end(const struct vocab *v, int32_t id) { return has(v, id) && v->token[id].end; }

size_t vocab_piece(const struct vocab *v, int32_t id, const char **bytes)
{
    *bytes = has(v, id) ? v->token[id].piece : "";
    return has(v, id) ? v->token[id].n_piece : 0;
}

size_t vocab_spelling(const struct vocab *v, int32_t id, const char **bytes)
{
    *bytes = has(v, id) ? v->token[id].spelling : "";
    return has(v, id) ? v->token[id].n_spelling : 0;
}
