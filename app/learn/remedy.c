/* remedy.c - looking things up in the table of remedy_table.c, and what is said where it has nothing. */
#include "app/learn/remedy.h"
#include "app/tui/surface.h"

enum { OF_THE_FAILED = 5 /* of a verdict's fixes, at most, where another stack reported it */, WIDTH_LEAST = 40,
       NARROWEST = 24, NARROW_INDENT = 2 };

/* ------------------------------------------------------------------ what cannot be */

#define EACH(cause) REMEDY_OF(CAUSE_##cause)

/* A framework sends requests and keeps texts: what needs a device, an allocator or a pool is the server's. */
#define ON_A_DEVICE                                                                           \
    (EACH(ACTIVATIONS) | EACH(STATIC_BATCH) | EACH(FRAGMENTATION) | EACH(OTHER_PROCESS) | EACH(ALLOCATOR))

static const char not_there[] = "it sends requests: device memory is that of the server behind it";
static const char not_own[] = "its RAM is that of the Python process that it runs in";
static const char not_shown[] = "its interface does not show the server's memory: see the server's log";
static const char not_seen[] = "it sees bytes or a process, not what they are for: see the program's own stack";

static const struct {
    enum stack stack;
    uint32_t causes;
    const char *why;
} cannot[] = {
    {STACK_LANGCHAIN, ON_A_DEVICE & ~EACH(ACTIVATIONS), not_there}, /* it embeds documents in its own process */
    {STACK_LANGGRAPH, ON_A_DEVICE, not_there},
    {STACK_LANGGRAPH, EACH(WEIGHTS), "it has no model of its own: that is LangChain's chat model"},
    {STACK_AUTOGEN, ON_A_DEVICE, not_there},
    {STACK_CREWAI, ON_A_DEVICE, not_there},
    {STACK_LITELLM, ON_A_DEVICE | EACH(WEIGHTS), not_there},
    {STACK_LITELLM, EACH(HOST) | EACH(LEAK), not_own},
    {STACK_OPENAI, ON_A_DEVICE | EACH(WEIGHTS) | EACH(HOST) | EACH(LEAK), not_shown},
    {STACK_CUDA, EACH(WEIGHTS) | EACH(ACTIVATIONS) | EACH(KV) | EACH(STATIC_BATCH) | EACH(CONCURRENCY), not_seen},
    {STACK_CUDA, EACH(GROWTH) | EACH(LEAK) | EACH(CONTEXT), not_seen},
    {STACK_CUDA, EACH(FRAGMENTATION), "the driver maps pages: pieces are made by the allocator above it"},
    {STACK_LINUX, EACH(WEIGHTS) | EACH(ACTIVATIONS) | EACH(KV) | EACH(STATIC_BATCH) | EACH(CONCURRENCY), not_seen},
    {STACK_LINUX, EACH(GROWTH) | EACH(CONTEXT), not_seen},
    {STACK_LINUX, EACH(FRAGMENTATION), "a process's memory is mapped in pages"},
    {STACK_KUBERNETES, EACH(WEIGHTS) | EACH(ACTIVATIONS) | EACH(KV) | EACH(STATIC_BATCH), not_seen},
    {STACK_KUBERNETES, EACH(GROWTH) | EACH(CONTEXT) | EACH(FRAGMENTATION), not_seen},
    {STACK_PYTHON, EACH(WEIGHTS) | EACH(KV) | EACH(STATIC_BATCH) | EACH(CONTEXT), "the language has none of its own"},
    {STACK_PYTHON, EACH(FRAGMENTATION) | EACH(OTHER_PROCESS), "a process's memory is mapped in pages, its own"},
    {STACK_PYTORCH, EACH(CONTEXT), "a tensor has a shape, not a context: see what made it"},
    {STACK_PLIMSOLL, EACH(ALLOCATOR), "all is taken at start: a refusal there names its own limit"},
    {STACK_OLLAMA, EACH(FRAGMENTATION), "its server takes the model's memory in few large pieces, once"},
    {STACK_OLLAMA, EACH(ALLOCATOR), "it is llama.cpp's: see there"},
    {STACK_LLAMA_CPP, EACH(FRAGMENTATION), "its buffers are few, large and taken when a model is loaded"},
};

const char *remedy_cannot(enum cause c, enum stack s)
{
    if (c == CAUSE_UNKNOWN || c < 0 || c >= CAUSES) return "nobody knows what to mend yet";
    if (c == CAUSE_NOT_MEMORY) return "it is not about memory";
    for (size_t i = 0; i < COUNT_OF(cannot); i++)
        if (cannot[i].stack == s && (cannot[i].causes & REMEDY_OF(c))) return cannot[i].why;
    return NULL;
}

int remedy_find(enum cause c, enum stack s, const struct remedy **out, int cap)
{
    int n = 0;
    if (remedy_cannot(c, s)) return 0;
    for (size_t i = 0; i < remedy_rows; i++) {
        if (remedy_table[i].stack != s || !(remedy_table[i].causes & REMEDY_OF(c))) continue;
        if (n < cap) out[n] = &remedy_table[i];
        n++;
    }
    return n;
}

/* ------------------------------------------------------------------ into a verdict */

static int64_t freed(const struct verdict *v, enum remedy_frees frees)
{
    const struct verdict_figure *reserved = verdict_has(v, "reserved"), *allocated = verdict_has(v, "allocated");
    const struct verdict_figure *outside = verdict_has(v, "outside");
    uint64_t n = 0;
    if (frees == FREES_GAP && reserved && allocated && reserved->value >= allocated->value)
        n = reserved->value - allocated->value;
    else if (frees == FREES_OUTSIDE && outside) n = outside->value;
    else return -1;
    return n <= INT64_MAX ? (int64_t)n : -1;
}

static bool is_there(const struct verdict *v, const struct remedy *r)
{
    const size_t n = strlen(r->how);
    for (int i = 0; i < v->fixes; i++) {
        const char *how = v->fix[i].how; /* put_how() may have put something in parentheses behind it */
        if (n > 0 && strncmp(how, r->how, n) == 0 && (how[n] == '\0' || strncmp(how + n, " (", 2) == 0)) return true;
        if (strcmp(v->fix[i].what, r->what) == 0) return true;
    }
    return false;
}

/* `how` as a verdict has room for it: with since when it is there and what to mind, where these fit. */
static void put_how(const struct remedy *r, char out[VERDICT_TEXT])
{
    int n = snprintf(out, VERDICT_TEXT, "%s", r->how);
    const char *label[] = {"since ", "mind: "}, *text[] = {r->since, r->mind};
    for (size_t i = 0; i < COUNT_OF(text); i++)
        if (text[i] && (size_t)n + strlen(label[i]) + strlen(text[i]) + 3 < VERDICT_TEXT)
            n += snprintf(out + n, VERDICT_TEXT - (size_t)n, "%s(%s%s)", n > 0 ? " " : "", label[i], text[i]);
}

static bool exceeds(const struct verdict *v, const char *wanted, const char *there)
{
    const struct verdict_figure *a = verdict_has(v, wanted), *b = verdict_has(v, there);
    return a && b && a->value > b->value;
}

/* One request alone is too long for the whole pool: fewer of them change nothing. */
static bool one_is_too_long(const struct verdict *v)
{
    return exceeds(v, "KV needed", "KV there") || exceeds(v, "asked", "limit");
}

/* A pool that is taken whole at start was there, and full: less of it, or another place for it, makes no room.  And
 * where RAM is too small for the weights, more of them there do not help. */
static bool serves(const struct verdict *v, const struct remedy *r)
{
    const bool full = verdict_has(v, "no room for") != NULL;
    if (v->cause == CAUSE_WEIGHTS) return r->frees != FREES_DEVICE || !verdict_has(v, "RAM needed");
    if (v->cause != CAUSE_KV) return true;
    if (r->frees == FREES_SHARES) return !one_is_too_long(v);
    return r->frees == FREES_WHOLE ? !full : r->frees != FREES_FULL || full;
}

static int put_stack(struct verdict *v, enum stack s, int most)
{
    const struct remedy *r[REMEDY_MOST];
    const int n = MIN(remedy_find(v->cause, s, r, REMEDY_MOST), REMEDY_MOST);
    int put = 0;
    for (int i = 0; i < n && put < most; i++) {
        if (!serves(v, r[i])) continue;
        struct verdict_fix *f = is_there(v, r[i]) ? NULL : verdict_fix(v, freed(v, r[i]->frees), "%s", r[i]->what);
        if (!f) continue;
        put_how(r[i], f->how);
        put++;
    }
    return n;
}

void remedy_into(struct verdict *v)
{
    const bool wrapped = v->wrapped_by != STACK_UNKNOWN && v->wrapped_by != v->stack;
    int found = 0;
    if (v->stack != STACK_UNKNOWN) found += put_stack(v, v->stack, wrapped ? OF_THE_FAILED : REMEDY_MOST);
    if (wrapped) found += put_stack(v, v->wrapped_by, REMEDY_MOST);
    if (found == 0) put_stack(v, STACK_UNKNOWN, REMEDY_MOST);
}

/* ------------------------------------------------------------------ as a text */

/* A line's text behind `indent` blanks, wrapped; the first line behind `label` instead. */
static void paragraph(struct buf *out, int width, const char *label, int indent, const char *text)
{
    size_t left = strlen(text), n;
    for (const char *at = text; left > 0; at += n, left -= n) {
        n = surface_break(at, left, width - indent);
        size_t shown = n;
        while (shown > 0 && (at[shown - 1] == ' ' || at[shown - 1] == '\n')) shown--;
        buf_printf(out, "%-*s%.*s\n", indent, at == text ? label : "", (int)shown, at);
    }
}

static void put_remedy(const struct remedy *r, const char *label, int indent, int width, struct buf *out)
{
    struct buf line = {0};
    buf_printf(&line, "%s: %s", r->what, r->how);
    if (r->since) buf_printf(&line, " (since %s)", r->since);
    if (r->mind) buf_printf(&line, " (mind: %s)", r->mind);
    if (line.data) paragraph(out, width, label, indent, line.data);
    out->failed |= line.failed;
    buf_free(&line);
}

void remedy_text(enum cause c, int most, int width, struct buf *out)
{
    static const enum stack order[] = {
        STACK_LANGGRAPH, STACK_LANGCHAIN, STACK_AUTOGEN, STACK_CREWAI, STACK_LITELLM, STACK_OPENAI, STACK_VLLM,
        STACK_SGLANG, STACK_TGI, STACK_LLAMA_CPP, STACK_OLLAMA, STACK_TRANSFORMERS, STACK_PYTORCH, STACK_CUDA,
        STACK_LINUX, STACK_KUBERNETES, STACK_PYTHON, STACK_PLIMSOLL};
    static_assert(COUNT_OF(order) == STACKS - 1, "every stack but the unknown one");
    int indent = 0;
    for (size_t i = 0; i < COUNT_OF(order); i++) indent = MAX(indent, (int)strlen(stack_words(order[i])) + 2);
    const bool narrow = width < WIDTH_LEAST + indent; /* a stack's name has a line of its own */
    if (narrow) indent = NARROW_INDENT;
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        const struct remedy *r[REMEDY_MOST];
        const int n = MIN(remedy_find(c, order[i], r, REMEDY_MOST), most);
        if (narrow && n > 0) buf_printf(out, "%s\n", stack_words(order[i]));
        for (int k = 0; k < n; k++)
            put_remedy(r[k], k == 0 && !narrow ? stack_words(order[i]) : "", indent, MAX(width, NARROWEST), out);
    }
}
