/* play_text.c - what is said at each stage of a lesson. */
#include "app/learn/play.h"
#include "app/learn/remedy.h"
#include <math.h>

enum { REMEDIES = 2, WIDTH = 76 };

/* What an answer is, and how far off is right still. */
static void put_tolerance(const struct lesson_ask *q, struct buf *out)
{
    bool bytes = strcmp(q->unit, "bytes") == 0;
    buf_printf(out, "   (%s%s; ", q->unit, bytes ? ", such as 3M" : "");
    if (q->within <= 0) buf_puts(out, "exactly");
    else if (q->within_share) buf_printf(out, "give or take %.0f %%", 100 * q->within);
    else buf_puts(out, "give or take "), figure_show(q->within, bytes ? UNIT_BYTES : UNIT_COUNT, false, out);
    buf_puts(out, ")\n");
}

static void put_asks(const struct play *p, struct buf *out)
{
    const struct lesson *l = p->lesson;
    for (int i = 0; i < l->asks; i++) {
        const struct lesson_ask *q = &l->ask[i];
        buf_printf(out, "%s%d. %s\n", i ? "\n" : "", i + 1, q->text);
        if (!q->is_choice) put_tolerance(q, out);
        for (int k = 0; k < q->choices; k++) buf_printf(out, "   %c) %s\n", 'a' + k, q->choice[k]);
    }
}

static void put_command(const struct play *p, int which, struct buf *out)
{
    const struct play_run *r = &p->run[which];
    if (*r->command) buf_printf(out, "    %s\n", r->command);
}

static void put_filled(const struct play *p, const char *text, struct buf *out)
{
    struct figures f[RUNS];
    for (int k = 0; k < RUNS; k++) f[k] = p->run[k].figures;
    figures_fill(text, f, out);
    buf_puts(out, "\n");
}

static void put_verdict(const struct play *p, struct buf *out)
{
    struct verdict v;
    if (p->report.len > 0) {
        buf_put(out, p->report.data, p->report.len);
        buf_puts(out, "\n");
    } else if (play_verdict(p, &v)) {
        verdict_text(&v, WIDTH, out);
        buf_puts(out, "\n");
    }
    put_filled(p, p->lesson->verdict, out);
}

static void put_or_dash(double value, enum figure_unit unit, struct buf *out)
{
    if (isnan(value)) buf_puts(out, "-");
    else figure_show(value, unit, false, out);
}

static void put_compared(const struct play *p, struct buf *out)
{
    static const enum figure shown[] = {FIGURE_END, FIGURE_TURNS, FIGURE_LOST, FIGURE_PROMPT_MOST, FIGURE_PEAK,
                                        FIGURE_FILLED, FIGURE_RUNNING, FIGURE_WAITING, FIGURE_OOM_WANTED,
                                        FIGURE_OOM_FREE};
    static const char *const words[] = {"ended", "turns answered", "turns lost", "longest prompt, tokens",
                                        "promised at most, tokens", "filled at most, tokens", "at once",
                                        "waiting at most", "wanted then", "free then"};
    const double *a = p->run[RUN_BROKEN].figures.value, *b = p->run[RUN_FIXED].figures.value;
    buf_printf(out, "%-26s %12s %12s\n", "", "broken", "fixed");
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        struct buf left = {0}, right = {0};
        if (isnan(a[shown[i]]) && isnan(b[shown[i]])) continue;
        put_or_dash(a[shown[i]], figure_unit(shown[i]), &left);
        put_or_dash(b[shown[i]], figure_unit(shown[i]), &right);
        buf_printf(out, "%-26s %12s %12s\n", words[i], left.data ? left.data : "", right.data ? right.data : "");
        buf_free(&left);
        buf_free(&right);
    }
    buf_puts(out, "\n");
    put_filled(p, p->lesson->compare, out);
}

/* A paragraph's words in lines of at most WIDTH bytes, set in by so many blanks. */
static void put_reflowed(const char *text, size_t n, int indent, struct buf *out)
{
    size_t column = 0, len;
    for (size_t at = 0; at < n; at += len) {
        at += strspn(text + at, " \n");
        len = MIN(strcspn(text + at, " \n"), n - MIN(at, n));
        if (len == 0) break;
        const bool breaks = column > 0 && column + 1 + len > WIDTH;
        if (column == 0 || breaks) buf_printf(out, "%s%*s", breaks ? "\n" : "", indent, "");
        else buf_puts(out, " ");
        buf_put(out, text + at, len);
        column = (breaks || column == 0 ? (size_t)indent : column + 1) + len;
    }
    if (n > 0 && text[n - 1] == '\n') buf_puts(out, "\n");
}

/* Figures make it longer than it was written. */
static void put_why(const struct play *p, const char *why, struct buf *out)
{
    struct buf text = {0};
    put_filled(p, why, &text);
    if (text.data) put_reflowed(text.data, text.len, 3, out);
    out->failed |= text.failed;
    buf_free(&text);
}

static void put_grade(const struct play *p, struct buf *out)
{
    const struct lesson *l = p->lesson;
    for (int i = 0; i < l->asks; i++) {
        const struct play_answer *a = &p->answer[i];
        buf_printf(out, "%d. %s", i + 1, play_is_right(p, i) ? "right: " : a->given ? "not so: " : "not answered: ");
        if (a->given) buf_printf(out, "you said %s; ", a->text);
        buf_puts(out, "it is ");
        play_right(p, i, out);
        buf_puts(out, "\n");
        if (*l->ask[i].why) put_why(p, l->ask[i].why, out);
    }
    buf_printf(out, "%d of %d right\n", play_score(p), l->asks);
}

static void put_frameworks(const struct play *p, struct buf *out)
{
    remedy_text(p->lesson->cause, REMEDIES, WIDTH, out);
    if (!*p->lesson->frameworks) return;
    buf_puts(out, "\n");
    put_filled(p, p->lesson->frameworks, out);
}

/* The lines from `text` on that are one paragraph: of words, none of them set in.  *longest: of them, in bytes. */
static size_t paragraph(const char *text, size_t *longest)
{
    size_t at = 0, n;
    *longest = 0;
    while (text[at] > ' ' && (n = strcspn(text + at, "\n")) > 0) {
        *longest = MAX(*longest, n);
        at += n + (text[at + n] == '\n');
    }
    return at;
}

static void put_stage(const struct play *p, struct buf *out)
{
    switch (p->stage) {
    case PLAY_SEE: buf_printf(out, "%s\n", p->lesson->see); return;
    case PLAY_ASK: put_asks(p, out); return;
    case PLAY_BROKEN: put_command(p, RUN_BROKEN, out); return;
    case PLAY_VERDICT: put_verdict(p, out); return;
    case PLAY_FIXED: put_command(p, RUN_FIXED, out); return;
    case PLAY_COMPARE: put_compared(p, out); return;
    case PLAY_FRAMEWORKS: put_frameworks(p, out); return;
    case PLAY_SEED: put_filled(p, p->lesson->seed, out); return;
    case PLAY_GRADE: put_grade(p, out); return;
    default: return;
    }
}

/* Figures and numbers make lines longer than they were written: paragraphs in which one is too long are made anew. */
void play_text(const struct play *p, struct buf *out)
{
    struct buf text = {0};
    size_t longest, n;
    put_stage(p, &text);
    for (const char *at = text.data ? text.data : ""; *at; at += n) {
        n = paragraph(at, &longest);
        const bool anew = longest > WIDTH;
        if (n == 0) n = strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
        if (anew) put_reflowed(at, n, 0, out);
        else buf_put(out, at, n);
    }
    out->failed |= text.failed;
    buf_free(&text);
}
