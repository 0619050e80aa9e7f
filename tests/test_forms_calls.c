/* Answers with several calls: all of them in their order, each with the bytes that say it; what is no such answer is
 * read as one call is. */
#include "memory/forms.h"
#include "tests/check.h"

#define CALL(json) "<tool_call>" json "</tool_call>"
#define READ(path) "{\"name\":\"read\",\"arguments\":{\"path\":\"" path "\"}}"
#define BARE(path) "{\"name\":\"read\",\"parameters\":{\"path\":\"" path "\"}}"
#define THOUGHT(text) "<think>\n" text "\n</think>\n\n"
#define TAGS(path) "<tool_call>\n<function=read>\n<parameter=path>\n" path "\n</parameter>\n</function>\n</tool_call>"
#define TAGS_READ(path) "<function=read>\n<parameter=path>\n" path "\n</parameter>\n</function>"

static struct err err;

/* As it stands alone, in the journal, it is that call whichever model reads it. */
static void check_alone(const struct form_call_said *c, const char *text, bool first)
{
    struct form_call again;
    size_t from = c->from;
    if (c->end == 0) return;
    while (!first && from < c->end && strchr("; \t\r\n", text[from])) from++;
    if (forms_read_call_as(FORM_CALLS_ANY, text + from, c->end - from, &again, &err))
        check_fail(__FILE__, __LINE__, "%s: %.*s", err.text, (int)(c->end - from), text + from);
    CHECK_STR(again.name, c->call.name);
    CHECK_STR(again.arguments, c->call.arguments);
    forms_call_free(&again);
}

/* The paths of the calls, with ',' between them; "": it is no call.  Their bytes go to said, with '|' between them. */
static const char *paths(enum form_calls how, const char *text, size_t n, struct buf *said)
{
    static char out[200];
    struct form_calls_said l;
    size_t at = 0, end = 0;
    *out = '\0';
    said->len = 0;
    int rc = forms_read_calls(how, text, n, &l, &err);
    CHECK((rc == 0) == (l.n > 0) && rc >= FORMS_NO_MEMORY);
    for (size_t i = 0; i < l.n; i++) {
        const struct form_call_said *c = &l.v[i];
        const char *path = strstr(c->call.arguments, "\":\"");
        CHECK_STR(c->call.name, "read");
        CHECK(c->end == 0 || (c->from == end && c->end > c->from && c->end <= n));
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s", i ? "," : "",
                               path ? (int)strcspn(path + 3, "\"") : 1, path ? path + 3 : "-");
        buf_printf(said, "%s%.*s", i ? "|" : "", (int)(c->end - c->from), text + c->from);
        check_alone(c, text, i == 0);
        end = c->end;
    }
    forms_calls_free(&l);
    CHECK(!l.v && l.n == 0);
    return out;
}

struct row { enum form_calls how; const char *text, *paths, *said; };

static void check_row(const struct row *r)
{
    struct buf said = {0};
    const char *is = paths(r->how, r->text, strlen(r->text), &said);
    if (strcmp(is, r->paths) != 0) check_fail(__FILE__, __LINE__, "%d %s: %s", (int)r->how, r->text, is);
    if (r->said && strcmp(said.data, r->said) != 0) check_fail(__FILE__, __LINE__, "%s: %s", r->text, said.data);
    buf_free(&said);
}

TEST(forms_calls_of_one_answer_are_all_of_them_in_their_order)
{
    static const struct row row[] = {
        {FORM_CALLS_OWN, CALL(READ("a")) "\n" CALL(READ("b")), "a,b", CALL(READ("a")) "|\n" CALL(READ("b"))},
        {FORM_CALLS_OWN, " " CALL("\n" READ("a") "\n") CALL(READ("b")) "\n\n" CALL(READ("c")) "\n", "a,b,c", NULL},
        {FORM_CALLS_OWN, CALL(READ("a</tool_call>")) CALL(READ("b")), "a</tool_call>,b", NULL},
        {FORM_CALLS_OWN, "I look.\n" CALL(READ("a")) CALL(READ("b")), "a,b", "I look.\n" CALL(READ("a")) "|"
         CALL(READ("b"))},
        {FORM_CALLS_OWN, "So:\n" CALL(READ("x")) "\nBut first\n\n" CALL(READ("a")) "\n" CALL(READ("b")), "a,b",
         "So:\n" CALL(READ("x")) "\nBut first\n\n" CALL(READ("a")) "|\n" CALL(READ("b"))},
        {FORM_CALLS_LLAMA3, "I look.\n" CALL(READ("a")) CALL(READ("b")), "a,b", NULL},
        {FORM_CALLS_GRANITE3, "I look.\n\n" CALL(READ("a")) CALL(READ("b")), "a,b", NULL},
        {FORM_CALLS_LLAMA3, BARE("a") "; " BARE("b"), "a,b", BARE("a") "|; " BARE("b")},
        {FORM_CALLS_LLAMA3, BARE("a") "\n" BARE("b") BARE("c"), "a,b,c", NULL},
        {FORM_CALLS_LLAMA3, CALL(READ("a")) CALL(READ("b")), "a,b", NULL},
        {FORM_CALLS_MISTRAL3, "[" READ("a") ", " READ("b") "]", "a,b", "|"},
        {FORM_CALLS_MISTRAL7, "[TOOL_CALLS] [" READ("a") ",1," READ("b") "]\n", "a,b", "|"},
        {FORM_CALLS_MISTRAL11, CALL(READ("a")) "\n\n" CALL(READ("b")), "a,b", CALL(READ("a")) "|\n\n" CALL(READ("b"))},
        {FORM_CALLS_HARMONY, "I look.\n\n" CALL(READ("a")) "\n\nThen\n\n" CALL(READ("b")), "a,b",
         "I look.\n\n" CALL(READ("a")) "|\n\nThen\n\n" CALL(READ("b"))},
        {FORM_CALLS_HARMONY, CALL(READ("a")) "\n\n" CALL("{}") "\n\n" CALL(READ("b")), "a,b", NULL},
        {FORM_CALLS_MISTRAL11, CALL(READ("a")) "\n\n" THOUGHT("Or\n\n" CALL(READ("x")) "\n\n?") CALL(READ("b")), "a,b",
         CALL(READ("a")) "|\n\n" THOUGHT("Or\n\n" CALL(READ("x")) "\n\n?") CALL(READ("b"))},
        {FORM_CALLS_QWEN35, "I look.\n\n" TAGS("a") "\n" TAGS("b"), "a,b", "I look.\n\n" TAGS("a") "|\n" TAGS("b")},
        {FORM_CALLS_QWEN3_CODER, TAGS_READ("a") "\n" TAGS_READ("b") "\n<tool_call>\n<function=", "a,b", NULL},
        {FORM_CALLS_QWEN35, CALL(READ("a")) CALL(READ("b")), "a,b", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) check_row(&row[i]);
}

TEST(forms_calls_of_one_call_are_the_whole_text)
{
    static const struct row row[] = {
        {FORM_CALLS_OWN, " " CALL(READ("a")) "\n", "a", " " CALL(READ("a")) "\n"},
        {FORM_CALLS_OWN, "x\n" CALL(READ("a")) "\n", "a", "x\n" CALL(READ("a")) "\n"},
        {FORM_CALLS_LLAMA3, BARE("a"), "a", BARE("a")},
        {FORM_CALLS_MISTRAL3, "[" READ("a") "]", "a", "[" READ("a") "]"},
        {FORM_CALLS_MISTRAL11, "x\n\n" CALL(READ("a")), "a", "x\n\n" CALL(READ("a"))},
        {FORM_CALLS_QWEN35, "x " TAGS("a") "\n", "a", "x " TAGS("a") "\n"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) check_row(&row[i]);
}

/* What is not whole, or has words where there are none to be, is no more a call than before. */
TEST(forms_calls_are_none_where_one_is_broken)
{
    static const struct row row[] = {
        {FORM_CALLS_OWN, CALL(READ("a")) "\n" CALL("{}"), "", NULL},
        {FORM_CALLS_OWN, CALL(READ("a")) " and " CALL(READ("b")), "", NULL},
        {FORM_CALLS_OWN, CALL(READ("a")) "\n<tool_call>" READ("b"), "", NULL},
        {FORM_CALLS_OWN, "I look. " CALL(READ("a")) CALL(READ("b")), "", NULL},
        {FORM_CALLS_OWN, "I look.\n" CALL(READ("a")) CALL(READ("b")) "\nSo.", "", NULL},
        {FORM_CALLS_OWN, "I look.\n" CALL(READ("a")) "\nThen\n" CALL(READ("b")) "x", "", NULL},
        {FORM_CALLS_OWN, CALL(READ("a")) "; " CALL(READ("b")), "", NULL},
        {FORM_CALLS_OWN, "", "", NULL},
        {FORM_CALLS_LLAMA3, BARE("a") "; {\"name\":\"Ann\",\"parameters\":{}}", "", NULL},
        {FORM_CALLS_LLAMA3, BARE("a") ";", "", NULL},
        {FORM_CALLS_LLAMA3, BARE("a") " and so on", "", NULL},
        {FORM_CALLS_MISTRAL3, "[{\"name\":\"Ann\",\"arguments\":{}}," READ("a") "]", "", NULL},
        {FORM_CALLS_HARMONY, CALL(READ("a")) "\n\n" CALL(READ("b")) "\n\nDone.", "", NULL},
        {FORM_CALLS_QWEN35, TAGS("a") TAGS("b") " and so on", "a,b", NULL}, /* these are; see forms.h */
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) check_row(&row[i]);
}

TEST(forms_calls_cost_no_more_than_their_bytes)
{
    struct buf many = {0}, said = {0};
    static const char *const part[] = {"\n\n" CALL(READ("a")), "\n\n" CALL(READ("a")), "\n\n<tool_call>{\"name\":[",
                                       "\n\n<think>"};
    for (int k = 0; k < (int)COUNT_OF(part); k++) { /* all good; then one that is not; then nothing but beginnings */
        many.len = 0;
        while (many.len < FORMS_READ_LIMIT / 8) buf_puts(&many, part[k]);
        if (k > 0) buf_puts(&many, "\n\n" CALL("{}"));
        for (enum form_calls how = FORM_CALLS_OWN; how < FORM_CALLS_ANY; how++) {
            struct form_calls_said l;
            int rc = forms_read_calls(how, many.data, many.len, &l, NULL);
            CHECK_EQ(l.n > 2000, k == 0 && rc == 0);
            forms_calls_free(&l);
        }
    }
    while (many.len <= FORMS_READ_LIMIT) buf_puts(&many, CALL(READ("a")));
    CHECK_STR(paths(FORM_CALLS_OWN, many.data, many.len, &said), "");
    buf_free(&many);
    buf_free(&said);
}

CHECK_MAIN
