/* test_explain_mutants.c - the corpus said otherwise: wrapped, prefixed, interleaved, with other figures and units, two
 * at a time.  At least KEPT per cent of each kind of mutant must keep its cause, and those of form alone all. */
#include "tests/explain_rig.h"
#include <ctype.h>

enum { KEPT = 95, ALL = 100 };

static struct corpus corpus;

/* Prints what was lost and checks the share. */
static void judge(const char *kind, void (*mutate)(const struct sample *s, struct buf *out), int least)
{
    int kept = 0, all = 0;
    corpus_read(&corpus);
    for (int i = 0; i < corpus.n; i++) {
        struct buf text = {0};
        mutate(&corpus.one[i], &text);
        CHECK(!text.failed);
        enum cause got = first_cause(&text);
        kept += (int)got == corpus.one[i].cause;
        all++;
        if ((int)got != corpus.one[i].cause)
            printf("  %s: %s is %s, judged %s\n", kind, corpus.one[i].name, cause_name((enum cause)corpus.one[i].cause),
                   cause_name(got));
        buf_free(&text);
    }
    corpus_free(&corpus);
    printf("  %s: %d of %d keep their cause\n", kind, kept, all);
    CHECK(kept * 100 >= all * least);
}

/* ------------------------------------------------------------------ form */

static void wrap(const struct sample *s, struct buf *out, size_t columns, bool at_words)
{
    size_t at = 0;
    for (size_t i = 0; i < s->text.len; i++) {
        const char *p = s->text.data + i;
        bool breaks = at_words ? *p == ' ' && at + 1 + strcspn(p + 1, " \n") > columns : at >= columns;
        at = *p == '\n' ? 0 : at + 1;
        if (breaks && *p != '\n') {
            buf_puts(out, "\n");
            at = at_words ? 0 : 1;
            if (at_words) continue;
        }
        buf_put(out, p, 1);
    }
}

static void wrap_60(const struct sample *s, struct buf *out) { wrap(s, out, 60, false); }
static void wrap_80(const struct sample *s, struct buf *out) { wrap(s, out, 80, false); }
static void wrap_120(const struct sample *s, struct buf *out) { wrap(s, out, 120, false); }
static void wrap_words_60(const struct sample *s, struct buf *out) { wrap(s, out, 60, true); }
static void wrap_words_80(const struct sample *s, struct buf *out) { wrap(s, out, 80, true); }

TEST(wrapped_at_60_80_and_120_columns)
{
    judge("wrapped at 60", wrap_60, KEPT);
    judge("wrapped at 80", wrap_80, KEPT);
    judge("wrapped at 120", wrap_120, KEPT);
    judge("wrapped at words, 60", wrap_words_60, KEPT);
    judge("wrapped at words, 80", wrap_words_80, KEPT);
}

static void each_line(const struct sample *s, struct buf *out, const char *before, const char *behind)
{
    int64_t n = 0;
    for (const char *p = s->text.data, *end = p + s->text.len; p < end; n++) {
        size_t len = strcspn(p, "\n");
        char stamp[200];
        snprintf(stamp, sizeof stamp, before, (int)(n / 60 % 60), (int)(n % 60));
        buf_puts(out, stamp);
        buf_put(out, p, len);
        buf_puts(out, behind);
        p += len + 1;
    }
}

static void with_iso_times(const struct sample *s, struct buf *out)
{
    each_line(s, out, "2026-03-04T11:%02d:%02d.123Z ", "\n");
}
static void with_levels(const struct sample *s, struct buf *out)
{
    each_line(s, out, "(EngineCore_DP0 pid=%d) ERROR 03-04 11:12:%02d [core.py:708] ", "\n");
}
static void with_journal(const struct sample *s, struct buf *out)
{
    each_line(s, out, "Mar 04 11:%02d:%02d box serve[4711]: ", "\n");
}
static void with_compose(const struct sample *s, struct buf *out) { each_line(s, out, "api-%d  | %02d ", "\n"); }
static void with_cr(const struct sample *s, struct buf *out) { each_line(s, out, "\033[3%dm\033[%dm", "\033[0m\r\n"); }

TEST(prefixed_by_loggers_and_coloured)
{
    judge("ISO times", with_iso_times, KEPT);
    judge("levels", with_levels, KEPT);
    judge("journal", with_journal, KEPT);
    judge("compose", with_compose, KEPT);
    judge("colours and CR", with_cr, KEPT);
}

static void quoted(const struct sample *s, struct buf *out)
{
    buf_puts(out, "{\"error\": {\"message\": \"");
    for (size_t i = 0; i < s->text.len; i++) {
        char c = s->text.data[i];
        if (c == '\n') buf_puts(out, "\\n");
        else if (c == '"' || c == '\\') buf_printf(out, "\\%c", c);
        else buf_put(out, &c, 1);
    }
    buf_puts(out, "\"}}\n");
}

TEST(as_a_string_in_json) { judge("JSON string", quoted, KEPT); }

static void shouted(const struct sample *s, struct buf *out)
{
    for (size_t i = 0; i < s->text.len; i++) {
        char c = (char)toupper((unsigned char)s->text.data[i]);
        buf_put(out, &c, 1);
    }
}

TEST(in_capitals) { judge("capitals", shouted, ALL); }

/* ------------------------------------------------------------------ interleaved */

static void interleave(const struct sample *s, struct buf *out, int every)
{
    static const char *const line[] = {
        "INFO:     10.1.2.3:50612 - \"GET /health HTTP/1.1\" 200 OK\n",
        "2026-03-04 11:12:13 INFO metrics scrape took 3.1 ms\n",
        "DEBUG tokenizer loaded, vocabulary of 128256 entries\n",
        "INFO worker heartbeat ok, 17 threads\n"};
    int n = 0;
    for (const char *p = s->text.data, *end = p + s->text.len; p < end; n++) {
        size_t len = strcspn(p, "\n");
        buf_put(out, p, len);
        buf_puts(out, "\n");
        if (n % every == 0) buf_puts(out, line[n / every % (int)COUNT_OF(line)]);
        p += len + 1;
    }
}

static void interleave_1(const struct sample *s, struct buf *out) { interleave(s, out, 1); }
static void interleave_3(const struct sample *s, struct buf *out) { interleave(s, out, 3); }

static void in_a_long_log(const struct sample *s, struct buf *out)
{
    for (int i = 0; i < 2000; i++) buf_printf(out, "INFO 03-04 11:12:13 request %d answered in %d ms\n", i, i % 97);
    buf_put(out, s->text.data, s->text.len);
    for (int i = 0; i < 500; i++) buf_printf(out, "INFO 03-04 12:12:13 shutting down part %d\n", i);
}

TEST(interleaved_with_lines_of_others)
{
    judge("interleaved each line", interleave_1, KEPT);
    if (!CHECK_SANITIZED) judge("interleaved each third", interleave_3, KEPT);
    judge("in a long log", in_a_long_log, KEPT);
}

/* ------------------------------------------------------------------ figures and units */

/* Numbers with a unit of bytes, in another unit; to: 'b' bytes, 'm' MiB, 'g' GB as these programs write it. */
static size_t other_unit(const char *p, char to, struct buf *out)
{
    char *end;
    double x = strtod(p, &end);
    const char *unit = end + (*end == ' ');
    double by = strncmp(unit, "GiB", 3) == 0 ? 0x1p30 : strncmp(unit, "MiB", 3) == 0 ? 0x1p20 : 0;
    if (end == p || by == 0) return 0;
    if (to == 'b') buf_printf(out, "%.0f bytes", x * by);
    else if (to == 'm') buf_printf(out, "%.2f MiB", x * by / 0x1p20);
    else buf_printf(out, "%.4f GB", x * by / 0x1p30);
    return (size_t)(unit + 3 - p);
}

static void units(const struct sample *s, struct buf *out, char to)
{
    for (size_t i = 0; i < s->text.len;) {
        const char *p = s->text.data + i;
        bool begins = isdigit((unsigned char)*p) && (i == 0 || !strchr("0123456789./-", p[-1]));
        size_t n = begins ? other_unit(p, to, out) : 0;
        if (!n) buf_put(out, p, 1);
        i += n ? n : 1;
    }
}

static void in_bytes(const struct sample *s, struct buf *out) { units(s, out, 'b'); }
static void in_mib(const struct sample *s, struct buf *out) { units(s, out, 'm'); }
static void in_gb(const struct sample *s, struct buf *out) { units(s, out, 'g'); }

TEST(in_other_units)
{
    judge("bytes", in_bytes, KEPT);
    judge("MiB", in_mib, KEPT);
    judge("GB", in_gb, KEPT);
}

/* Line numbers, ids, versions and times are others (a figure with a unit must stay what it is). */
static void other_numbers(const struct sample *s, struct buf *out)
{
    static const char *const before[] = {"line ", "pid=", "pid ", "v0.", ".py:", "port "};
    for (size_t i = 0; i < s->text.len;) {
        const char *p = s->text.data + i;
        size_t n = 0;
        for (size_t k = 0; !n && k < COUNT_OF(before); k++) {
            size_t len = strlen(before[k]);
            if (i >= len && memcmp(p - len, before[k], len) == 0) n = strspn(p, "0123456789");
        }
        if (n) buf_puts(out, "31415");
        else buf_put(out, p, 1);
        i += n ? n : 1;
    }
}

TEST(with_other_numbers) { judge("other numbers", other_numbers, ALL); }

/* Other words for the same: synonyms, quotes gone, blanks doubled. */
static void reworded(const struct sample *s, struct buf *out)
{
    static const char *const word[][2] = {{"`", ""},          {" is ", "  is "},       {"Traceback", "traceback"},
                                          {"GPU 0", "GPU 7"}, {": ", " : "},           {"Error:", "Error -"},
                                          {"'", "\""},        {"allocate ", "allocate   "}};
    for (size_t i = 0; i < s->text.len;) {
        size_t n = 0;
        for (size_t k = 0; !n && k < COUNT_OF(word); k++)
            if (strncmp(s->text.data + i, word[k][0], strlen(word[k][0])) == 0) {
                n = strlen(word[k][0]);
                buf_puts(out, word[k][1]);
            }
        if (!n) buf_put(out, s->text.data + i, 1);
        i += n ? n : 1;
    }
}

TEST(reworded_a_little) { judge("reworded", reworded, KEPT); }

/* ------------------------------------------------------------------ two failures in one text */

/* Memory failed, and a line says so: a table of a full device is told where nothing failed. */
static bool is_failure(const struct sample *s)
{
    static struct verdict v[EXPLAIN_MOST];
    if (s->cause == CAUSE_NOT_MEMORY || s->cause == CAUSE_UNKNOWN) return false;
    return explain_text(s->text.data, s->text.len, v, EXPLAIN_MOST) == 0 || v[0].line > 0;
}

/* Each with seven others behind it: both causes are told; what is not memory stands back behind what is. */
TEST(two_in_one_text_are_both_told)
{
    int kept = 0, all = 0;
    corpus_read(&corpus);
    for (int i = 0; i < corpus.n; i++)
        for (int k = 1; k <= 7; k += CHECK_SANITIZED ? 3 : 1) {
            const struct sample *a = &corpus.one[i], *b = &corpus.one[(i + k * 11) % corpus.n];
            struct buf text = {0};
            if (!is_failure(a)) continue;
            buf_put(&text, a->text.data, a->text.len);
            buf_puts(&text, "\n\n---- the other machine ----\n\n");
            buf_put(&text, b->text.data, b->text.len);
            bool both = finds_cause(&text, a->cause) && (!is_failure(b) || finds_cause(&text, b->cause));
            if (!both)
                printf("  %s and %s: %s and %s are not both told\n", a->name, b->name, cause_name((enum cause)a->cause),
                       cause_name((enum cause)b->cause));
            kept += both;
            all++;
            buf_free(&text);
        }
    corpus_free(&corpus);
    printf("  two at a time: %d of %d\n", kept, all);
    CHECK(kept * 100 >= all * KEPT);
}

CHECK_MAIN
