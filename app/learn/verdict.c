/* verdict.c - names, the few helpers that fill a verdict, and its two forms: text and JSON. */
#include "app/learn/verdict.h"
#include "app/json_text.h"
#include "app/tui/surface.h"

enum { SCHEMA = 1, WIDTH_LEAST = 40, LABEL = 10 /* columns before a section's lines */ };

/* ------------------------------------------------------------------ names */

static const struct cause_row {
    const char *name, *words, *title;
} cause_row[CAUSES] = {
    [CAUSE_UNKNOWN] = {"unknown", "not told", "No cause found"},
    [CAUSE_NOT_MEMORY] = {"not-memory", "something other than memory", "Not a want of memory"},
    [CAUSE_WEIGHTS] = {"weights", "the model's weights are too big", NULL},
    [CAUSE_ACTIVATIONS] = {"activations", "the workspace of one pass", NULL},
    [CAUSE_KV] = {"kv", "keys and values of long sequences", NULL},
    [CAUSE_STATIC_BATCH] = {"static-batch", "memory reserved beforehand", NULL},
    [CAUSE_CONCURRENCY] = {"concurrency", "too many requests at once", NULL},
    [CAUSE_FRAGMENTATION] = {"fragmentation", "free memory in pieces that are too small", NULL},
    [CAUSE_GROWTH] = {"growth", "growth with turns", NULL},
    [CAUSE_LEAK] = {"leak", "memory that is not given back", NULL},
    [CAUSE_HOST] = {"host", "the machine's own memory", NULL},
    [CAUSE_OTHER_PROCESS] = {"other-process", "another process holds the device", NULL},
    [CAUSE_CONTEXT] = {"context", "more tokens than the context takes",
                       "No memory ran out: more tokens than the context takes"},
    [CAUSE_ALLOCATOR] = {"allocator", "a limit or setting of the allocator", NULL},
};

static const struct stack_row {
    const char *name, *words;
} stack_row[STACKS] = {
    [STACK_UNKNOWN] = {"unknown", "not told"},
    [STACK_PLIMSOLL] = {"plimsoll", "plimsoll"},
    [STACK_PYTORCH] = {"pytorch", "PyTorch"},
    [STACK_TRANSFORMERS] = {"transformers", "transformers"},
    [STACK_VLLM] = {"vllm", "vLLM"},
    [STACK_SGLANG] = {"sglang", "SGLang"},
    [STACK_TGI] = {"tgi", "TGI"},
    [STACK_LLAMA_CPP] = {"llama.cpp", "llama.cpp"},
    [STACK_OLLAMA] = {"ollama", "Ollama"},
    [STACK_LANGCHAIN] = {"langchain", "LangChain"},
    [STACK_LANGGRAPH] = {"langgraph", "LangGraph"},
    [STACK_AUTOGEN] = {"autogen", "AutoGen"},
    [STACK_CREWAI] = {"crewai", "CrewAI"},
    [STACK_LITELLM] = {"litellm", "LiteLLM"},
    [STACK_OPENAI] = {"openai", "an OpenAI-style server"},
    [STACK_CUDA] = {"cuda", "CUDA"},
    [STACK_LINUX] = {"linux", "Linux"},
    [STACK_KUBERNETES] = {"kubernetes", "Kubernetes"},
    [STACK_PYTHON] = {"python", "Python"},
};

static const char *const apply_word[] = {
    [APPLY_NOTHING] = "nothing", [APPLY_COMPACT] = "compact", [APPLY_DROP_RESULT] = "drop_result",
    [APPLY_MAX_TOKENS] = "max_tokens", [APPLY_SOUND_POLICY] = "sound_policy", [APPLY_UNDO] = "undo"};

static const struct cause_row *row_of(enum cause c)
{
    return &cause_row[c >= 0 && c < CAUSES ? c : CAUSE_UNKNOWN];
}

const char *cause_name(enum cause c) { return row_of(c)->name; }
const char *cause_words(enum cause c) { return row_of(c)->words; }

int cause_find(const char *name)
{
    for (int i = 0; name && i < CAUSES; i++)
        if (strcmp(cause_row[i].name, name) == 0) return i;
    return -1;
}

const char *stack_name(enum stack s) { return stack_row[s >= 0 && s < STACKS ? s : STACK_UNKNOWN].name; }
const char *stack_words(enum stack s) { return stack_row[s >= 0 && s < STACKS ? s : STACK_UNKNOWN].words; }

const char *sure_name(enum sure s)
{
    static const char *const name[] = {"guess", "likely", "certain"};
    return name[s >= 0 && s < (int)COUNT_OF(name) ? s : SURE_GUESS];
}

const char *verdict_apply_name(enum verdict_apply a)
{
    return apply_word[a >= 0 && a < (int)COUNT_OF(apply_word) ? a : APPLY_NOTHING];
}

/* ------------------------------------------------------------------ filling */

const char *verdict_bytes(uint64_t n, char out[VERDICT_BYTES])
{
    static const char unit[] = "KMGTPE";
    int u = -1;
    double x = (double)n;
    for (; x >= 1024 && u + 1 < (int)sizeof unit - 1; u++) x /= 1024;
    if (x >= 1023.995 && u + 1 < (int)sizeof unit - 1) x /= 1024, u++; /* else it would be shown as 1024.00 */
    if (u < 0) snprintf(out, VERDICT_BYTES, "%d B", (int)n);
    else snprintf(out, VERDICT_BYTES, x == (double)(int)x ? "%.0f %ciB" : "%.2f %ciB", x, unit[u]);
    return out;
}

/* The bytes of s without the beginning of a character that was cut off at its end. */
static void whole_characters(char *s)
{
    const size_t n = strlen(s);
    size_t back = 0;
    while (back < 4 && back < n && ((unsigned char)s[n - 1 - back] & 0xc0) == 0x80) back++;
    if (back == 4 || back == n) return;
    const unsigned char first = (unsigned char)s[n - 1 - back];
    const size_t wants = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (back < wants) s[n - 1 - back] = '\0';
}

__attribute__((format(printf, 2, 0))) static void print(char out[VERDICT_TEXT], const char *fmt, va_list ap)
{
    if (vsnprintf(out, VERDICT_TEXT, fmt, ap) >= VERDICT_TEXT) whole_characters(out);
}

struct verdict_figure *verdict_figure(struct verdict *v, const char *name, uint64_t value)
{
    if (v->figures >= VERDICT_FIGURES) return NULL;
    struct verdict_figure *f = &v->figure[v->figures++];
    *f = (struct verdict_figure){.value = value};
    if (snprintf(f->name, sizeof f->name, "%s", name) >= (int)sizeof f->name) whole_characters(f->name);
    return f;
}

const struct verdict_figure *verdict_has(const struct verdict *v, const char *name)
{
    for (int i = 0; i < v->figures; i++)
        if (strcmp(v->figure[i].name, name) == 0) return &v->figure[i];
    return NULL;
}

#define PRINT_LINE(list, count, fmt)                                                          \
    do {                                                                                      \
        va_list ap;                                                                           \
        if ((count) >= VERDICT_LINES) return;                                                 \
        va_start(ap, fmt);                                                                    \
        print((list)[(count)++], fmt, ap);                                                    \
        va_end(ap);                                                                           \
    } while (0)

void verdict_evidence(struct verdict *v, const char *fmt, ...) { PRINT_LINE(v->evidence, v->evidences, fmt); }
void verdict_not(struct verdict *v, const char *fmt, ...) { PRINT_LINE(v->not_it, v->nots, fmt); }
void verdict_next(struct verdict *v, const char *fmt, ...) { PRINT_LINE(v->next, v->nexts, fmt); }

struct verdict_fix *verdict_fix(struct verdict *v, int64_t frees, const char *fmt, ...)
{
    va_list ap;
    if (v->fixes >= VERDICT_FIXES) return NULL;
    struct verdict_fix *f = &v->fix[v->fixes++];
    *f = (struct verdict_fix){.frees = frees < 0 ? -1 : frees};
    va_start(ap, fmt);
    print(f->what, fmt, ap);
    va_end(ap);
    return f;
}

void verdict_rank(struct verdict *v)
{
    for (int i = 1; i < v->fixes; i++) {
        const struct verdict_fix f = v->fix[i];
        int at = i;
        for (; at > 0 && v->fix[at - 1].frees < f.frees; at--) v->fix[at] = v->fix[at - 1];
        v->fix[at] = f;
    }
}

/* ------------------------------------------------------------------ text */

const char *verdict_title(const struct verdict *v, char out[VERDICT_TEXT])
{
    const struct cause_row *r = row_of(v->cause);
    if (r->title) snprintf(out, VERDICT_TEXT, "%s", r->title);
    else snprintf(out, VERDICT_TEXT, "Out of memory: %s", r->words);
    return out;
}

const char *verdict_about(const struct verdict *v, char out[VERDICT_TEXT])
{
    static const char *const words[] = {"a guess", "likely", "certain"};
    const bool wrapped = v->wrapped_by != STACK_UNKNOWN && v->wrapped_by != v->stack;
    int n = snprintf(out, VERDICT_TEXT, "%s", words[v->sure >= 0 && v->sure <= SURE_CERTAIN ? v->sure : SURE_GUESS]);
    if (v->stack != STACK_UNKNOWN)
        n += snprintf(out + n, VERDICT_TEXT - (size_t)n, "; in %s", stack_words(v->stack));
    if (wrapped) n += snprintf(out + n, VERDICT_TEXT - (size_t)n, ", reported by %s", stack_words(v->wrapped_by));
    if (v->line > 0) snprintf(out + n, VERDICT_TEXT - (size_t)n, ", line %lld of the text", (long long)v->line);
    return out;
}

static void blanks(struct buf *out, int n)
{
    while (n-- > 0) buf_puts(out, " ");
}

void verdict_paragraph(struct buf *out, int width, const char *label, int indent, const char *text)
{
    const char *at = text;
    size_t left = strlen(text);
    buf_puts(out, label);
    blanks(out, indent - surface_columns(label, strlen(label)));
    do {
        const size_t n = surface_break(at, left, width - indent);
        size_t shown = n;
        while (shown > 0 && (at[shown - 1] == ' ' || at[shown - 1] == '\n')) shown--;
        if (at != text) blanks(out, indent);
        buf_put(out, at, shown);
        buf_puts(out, "\n");
        at += n;
        left -= n;
    } while (left > 0);
}

static void lines(struct buf *out, int width, const char *label, const char line[][VERDICT_TEXT], int n)
{
    for (int i = 0; i < n; i++) verdict_paragraph(out, width, i == 0 ? label : "", LABEL, line[i]);
}

const char *verdict_figure_text(const struct verdict_figure *f, char out[VERDICT_TEXT])
{
    char size[VERDICT_BYTES];
    const char *about = f->reckoned ? " (reckoned)" : "";
    if (*f->unit) snprintf(out, VERDICT_TEXT, "%s %llu %s%s", f->name, (unsigned long long)f->value, f->unit, about);
    else snprintf(out, VERDICT_TEXT, "%s %s%s", f->name, verdict_bytes(f->value, size), about);
    return out;
}

static void figures(const struct verdict *v, int width, struct buf *out)
{
    struct buf all = {0};
    char one[VERDICT_TEXT];
    for (int i = 0; i < v->figures; i++)
        buf_printf(&all, "%s%s", i > 0 ? ", " : "", verdict_figure_text(&v->figure[i], one));
    if (all.data) verdict_paragraph(out, width, "figures", LABEL, all.data);
    out->failed |= all.failed;
    buf_free(&all);
}

static void fixes(const struct verdict *v, int width, struct buf *out)
{
    for (int i = 0; i < v->fixes; i++) {
        const struct verdict_fix *f = &v->fix[i];
        char label[24], size[VERDICT_BYTES], what[VERDICT_TEXT + 48];
        snprintf(label, sizeof label, "%-*s%d", LABEL, i == 0 ? "fixes" : "", i + 1);
        snprintf(what, sizeof what, "%s", f->what);
        if (f->frees >= 0)
            snprintf(what, sizeof what, "%s (%s %s%s)", f->what, f->demand ? "asks for" : "frees",
                     verdict_bytes((uint64_t)f->frees, size), f->demand ? " less" : "");
        verdict_paragraph(out, width, label, LABEL + 3, what);
        if (*f->how) verdict_paragraph(out, width, "", LABEL + 3, f->how);
    }
}

void verdict_text(const struct verdict *v, int width, struct buf *out)
{
    char one[VERDICT_TEXT];
    width = MAX(width, WIDTH_LEAST);
    verdict_paragraph(out, width, "", 0, verdict_title(v, one));
    if (*v->what) verdict_paragraph(out, width, "", 2, v->what);
    if (*v->where) verdict_paragraph(out, width, "", 2, v->where);
    verdict_paragraph(out, width, "", 2, verdict_about(v, one));
    figures(v, width, out);
    lines(out, width, "evidence", v->evidence, v->evidences);
    lines(out, width, "not", v->not_it, v->nots);
    fixes(v, width, out);
    lines(out, width, "next", v->next, v->nexts);
}

/* ------------------------------------------------------------------ JSON */

static json_t *json_lines(const char line[][VERDICT_TEXT], int n)
{
    json_t *a = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(a, json_text(line[i]));
    return a;
}

static json_t *json_count(uint64_t n) { return json_integer((json_int_t)MIN(n, (uint64_t)INT64_MAX)); }

static json_t *json_figures(const struct verdict *v)
{
    json_t *a = json_array();
    for (int i = 0; i < v->figures; i++) {
        const struct verdict_figure *f = &v->figure[i];
        json_array_append_new(a, json_pack("{s:o, s:o, s:o, s:b}", "name", json_text(f->name), "value",
                                           json_count(f->value), "unit", json_text(*f->unit ? f->unit : "bytes"),
                                           "reckoned", (int)f->reckoned));
    }
    return a;
}

static json_t *json_fixes(const struct verdict *v)
{
    json_t *a = json_array();
    for (int i = 0; i < v->fixes; i++) {
        const struct verdict_fix *f = &v->fix[i];
        json_array_append_new(
            a, json_pack("{s:o, s:o, s:o, s:s, s:I}", "what", json_text(f->what), "how", json_text(f->how),
                         "frees_bytes", f->frees < 0 ? json_null() : json_integer(f->frees), "apply",
                         verdict_apply_name(f->apply), "value", (json_int_t)f->value));
    }
    return a;
}

void verdict_json(const struct verdict *v, struct buf *out)
{
    json_t *o = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema_version", SCHEMA, "cause",
        cause_name(v->cause), "sure", sure_name(v->sure), "stack", stack_name(v->stack), "wrapped_by",
        stack_name(v->wrapped_by), "line", (json_int_t)v->line, "what", json_text(v->what), "where",
        json_text(v->where), "figures", json_figures(v), "evidence", json_lines(v->evidence, v->evidences), "not",
        json_lines(v->not_it, v->nots), "fixes", json_fixes(v), "next", json_lines(v->next, v->nexts));
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text) buf_puts(out, text);
    else out->failed = true;
    free(text);
    json_decref(o);
}
