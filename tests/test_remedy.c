/* The table of remedies is whole: every cause has one in every stack where it can happen, and says why where it cannot;
 * no name has two spellings, our own exist, texts fit a verdict; and what is put into a verdict is ranked by it. */
#include "app/command_row.h"
#include "app/learn/remedy.h"
#include "app/opts.h"
#include "app/subcommands.h"
#include "app/tui/surface.h"
#include "tests/check.h"

#include <ctype.h>

static const char *about(enum cause c, enum stack s)
{
    static char text[128];
    snprintf(text, sizeof text, "%s in %s", cause_name(c), stack_name(s));
    return text;
}

TEST(every_cause_has_a_remedy_where_it_can_happen_and_a_reason_where_it_cannot)
{
    const struct remedy *r[REMEDY_MOST];
    int found = 0, reasons = 0;
    for (int c = 0; c < CAUSES; c++)
        for (int s = 0; s < STACKS; s++) {
            const char *why = remedy_cannot((enum cause)c, (enum stack)s);
            const int n = remedy_find((enum cause)c, (enum stack)s, r, REMEDY_MOST);
            if (why ? n != 0 : n < 1 || n > REMEDY_MOST)
                check_fail(__FILE__, __LINE__, "%s: %d rows", about((enum cause)c, (enum stack)s), n);
            found += n > 0;
            reasons += why != NULL;
        }
    CHECK_EQ(found + reasons, CAUSES * STACKS);
    CHECK(found > reasons);
}

TEST(no_row_is_for_a_cause_that_cannot_be_and_each_row_fits)
{
    for (size_t i = 0; i < remedy_rows; i++) {
        const struct remedy *r = &remedy_table[i];
        CHECK(r->causes != 0 && (r->causes >> CAUSES) == 0);
        for (int c = 0; c < CAUSES; c++)
            if ((r->causes & REMEDY_OF(c)) && remedy_cannot((enum cause)c, r->stack))
                check_fail(__FILE__, __LINE__, "%s: has a row: %s", about((enum cause)c, r->stack), r->what);
        size_t n = strlen(r->how) + (r->since ? strlen(r->since) + 9 : 0) + (r->mind ? strlen(r->mind) + 10 : 0);
        if (n >= VERDICT_TEXT) check_fail(__FILE__, __LINE__, "%d bytes: %s", (int)n, r->how);
        CHECK(*r->what && strlen(r->what) < VERDICT_TEXT);
        CHECK((*r->how == '\0') == (r->stack == STACK_UNKNOWN));
        CHECK(!strchr(r->what, '\n') && !strchr(r->how, '\n'));
        for (size_t k = 0; k < i; k++)
            CHECK(remedy_table[k].stack != r->stack || strcmp(remedy_table[k].how, r->how) || !*r->how);
    }
}

/* ------------------------------------------------------------------ names */

/* The next --flag or VARIABLE of text into name; where it ends, or NULL. */
static const char *next_name(const char *text, char *name, size_t cap)
{
    for (const char *p = text; *p; p++) {
        if (p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '-' || p[-1] == '.')) continue;
        const bool flag = p[0] == '-' && p[1] == '-' && isalpha((unsigned char)p[2]);
        size_t n = flag ? 2 : 0;
        while (flag ? isalnum((unsigned char)p[n]) || p[n] == '-' || p[n] == '_'
                    : isupper((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || p[n] == '_') n++;
        if (n >= cap || (!flag && (n < 6 || !memchr(p, '_', n) || isalnum((unsigned char)p[n])))) continue;
        memcpy(name, p, n);
        name[n] = '\0';
        return p + n;
    }
    return NULL;
}

static const char *bare(const char *name)
{
    return name + (strncmp(name, "--no-", 5) == 0 ? 5 : strncmp(name, "--", 2) == 0 ? 2 : 0);
}

/* One name but for its case and what stands between its words. */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '-' || *a == '_') a++;
        while (*b == '-' || *b == '_') b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

TEST(no_name_of_a_stack_is_spelled_in_two_ways)
{
    static struct { enum stack stack; char name[64]; } seen[512];
    size_t names = 0;
    for (size_t i = 0; i < remedy_rows; i++) {
        char name[64];
        for (const char *p = remedy_table[i].how; (p = next_name(p, name, sizeof name)) != NULL;) {
            for (size_t k = 0; k < names; k++)
                if (seen[k].stack == remedy_table[i].stack && same_letters(bare(seen[k].name), bare(name)) &&
                    strcmp(bare(seen[k].name), bare(name)))
                    check_fail(__FILE__, __LINE__, "%s and %s", seen[k].name, name);
            CHECK(names < COUNT_OF(seen));
            seen[names].stack = remedy_table[i].stack;
            snprintf(seen[names++].name, sizeof seen->name, "%s", name);
        }
    }
    CHECK(names > 100); /* else the reader above finds nothing */
}

TEST(flags_are_written_out_in_full)
{
    for (size_t i = 0; i < remedy_rows; i++) {
        if (remedy_table[i].stack == STACK_LINUX || remedy_table[i].stack == STACK_PYTHON ||
            remedy_table[i].stack == STACK_CUDA || strstr(remedy_table[i].how, "ulimit -")) continue; /* ps, ulimit */
        const char *p = remedy_table[i].how;
        while ((p = strstr(p, " -")) != NULL) {
            if (isalpha((unsigned char)p[2])) check_fail(__FILE__, __LINE__, "short: %s", remedy_table[i].how);
            p += 2;
        }
    }
}

static bool is_own_flag(const char *name, const char *help)
{
    const size_t n = strlen(name);
    for (const char *p = help; (p = strstr(p, name)) != NULL; p += n)
        if ((p[n] == ' ' || p[n] == '\n') && p > help && p[-1] == ' ') return true;
    for (size_t i = 0; i < subcommands; i++) /* "--within=SIZE --json" */
        for (const char *p = subcommand_table[i].flags; p && (p = strstr(p, name)) != NULL; p += n)
            if (strchr("= ", p[n])) return true;
    return false;
}

TEST(our_own_flags_and_commands_exist)
{
    struct buf help = {0};
    int flags = 0, slashes = 0;
    opts_help(&help);
    for (size_t i = 0; i < remedy_rows; i++) {
        char name[64];
        const struct remedy *r = &remedy_table[i];
        if (r->stack != STACK_PLIMSOLL) continue;
        for (const char *p = r->how; (p = next_name(p, name, sizeof name)) != NULL; flags++)
            if (!is_own_flag(name, help.data)) check_fail(__FILE__, __LINE__, "no flag of ours: %s", name);
        if (*r->how != '/') continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(r->how, " ,"), r->how);
        bool there = false;
        for (size_t k = 0; k < command_rows; k++) there |= strcmp(command_table[k].name, name) == 0;
        if (!there) check_fail(__FILE__, __LINE__, "no command of ours: %s", name);
        slashes++;
    }
    CHECK(flags > 10 && slashes > 1);
    buf_free(&help);
}

/* What is said to be stale is nowhere advised in the same stack. */
TEST(what_is_stale_is_not_advised)
{
    static const struct { enum stack stack; const char *name; } gone[] = {
        {STACK_VLLM, "--swap-space"}, {STACK_LLAMA_CPP, "--mlock"}, {STACK_LLAMA_CPP, "--no-mmap"},
        {STACK_LLAMA_CPP, "--defrag-thold"}, {STACK_TRANSFORMERS, "torch_dtype"},
        {STACK_LANGGRAPH, "langgraph.prebuilt"}, {STACK_SGLANG, "--cuda-graph-max-bs:"},
        {STACK_LANGCHAIN, "AgentExecutor"}, {STACK_PYTORCH, "empty_cache"}, {STACK_OLLAMA, "OLLAMA_MAX_VRAM"}};
    int told = 0;
    for (size_t g = 0; g < COUNT_OF(gone); g++)
        for (size_t i = 0; i < remedy_rows; i++) {
            if (remedy_table[i].stack != gone[g].stack) continue;
            CHECK(!strstr(remedy_table[i].how, gone[g].name));
            told += remedy_table[i].mind && strstr(remedy_table[i].mind, gone[g].name);
        }
    CHECK_EQ(told, 8);
}

/* ------------------------------------------------------------------ what is made of it */

TEST(a_verdict_gets_the_remedies_of_where_it_failed_then_of_who_reported_it)
{
    struct verdict v = {.cause = CAUSE_KV, .stack = STACK_VLLM, .wrapped_by = STACK_LANGCHAIN};
    remedy_into(&v);
    CHECK_EQ(v.fixes, 7); /* five of vLLM's, two of LangChain's */
    CHECK(strstr(v.fix[0].how, "--max-model-len"));
    CHECK(strstr(v.fix[5].how, "SummarizationMiddleware"));
    bool dead = false;
    for (int i = 0; i < v.fixes; i++) {
        CHECK_EQ(v.fix[i].frees, -1);
        dead |= strstr(v.fix[i].how, "(mind: --swap-space") != NULL;
    }
    CHECK(dead);
    const int before = v.fixes = 3;
    remedy_into(&v); /* none twice */
    CHECK(v.fixes > before);
    for (int i = 0; i < v.fixes; i++)
        for (int k = 0; k < i; k++) CHECK(strcmp(v.fix[i].how, v.fix[k].how));
}

TEST(a_gap_and_what_is_outside_are_what_their_remedies_free)
{
    struct verdict v = {.cause = CAUSE_FRAGMENTATION, .stack = STACK_PYTORCH};
    verdict_figure(&v, "reserved", 78ull << 30);
    verdict_figure(&v, "allocated", 71ull << 30);
    remedy_into(&v);
    CHECK(v.fixes >= 2);
    CHECK_EQ(v.fix[0].frees, 7ll << 30);
    CHECK(strstr(v.fix[0].how, "PYTORCH_ALLOC_CONF=expandable_segments:True"));

    v = (struct verdict){.cause = CAUSE_OTHER_PROCESS, .stack = STACK_CUDA};
    verdict_figure(&v, "outside", 5ull << 30);
    remedy_into(&v);
    CHECK_EQ(v.fix[0].frees, 5ll << 30);

    v = (struct verdict){.cause = CAUSE_FRAGMENTATION, .stack = STACK_PYTORCH};
    verdict_figure(&v, "reserved", 1);
    verdict_figure(&v, "allocated", 2); /* no report means that: nothing is said */
    remedy_into(&v);
    CHECK_EQ(v.fix[0].frees, -1);
}

TEST(where_a_stack_has_none_there_are_words_and_for_what_is_no_memory_nothing)
{
    struct verdict v = {.cause = CAUSE_KV, .stack = STACK_CUDA};
    remedy_into(&v);
    CHECK(v.fixes >= 1);
    CHECK_STR(v.fix[0].how, "");
    v = (struct verdict){.cause = CAUSE_NOT_MEMORY, .stack = STACK_OPENAI, .wrapped_by = STACK_LITELLM};
    remedy_into(&v);
    CHECK_EQ(v.fixes, 0);
    v = (struct verdict){.cause = CAUSE_UNKNOWN};
    remedy_into(&v);
    CHECK_EQ(v.fixes, 0);
}

TEST(the_text_names_every_stack_that_has_one_and_keeps_its_width)
{
    static const int widths[] = {36, 56, 80, 100, 120};
    for (size_t w = 0; w < COUNT_OF(widths); w++)
        for (int c = CAUSE_WEIGHTS; c < CAUSES; c++) {
            struct buf out = {0};
            const struct remedy *r[1];
            remedy_text((enum cause)c, 2, widths[w], &out);
            for (int s = STACK_UNKNOWN + 1; s < STACKS; s++) {
                const bool there = strstr(out.data, stack_words((enum stack)s)) != NULL;
                if (remedy_find((enum cause)c, (enum stack)s, r, 1) > 0) CHECK(there);
            }
            for (const char *p = out.data; *p; p += strcspn(p, "\n") + 1)
                CHECK(surface_columns(p, strcspn(p, "\n")) <= widths[w]);
            buf_free(&out);
        }
}

CHECK_MAIN
