/* fuzz_lesson.c - a lesson, or the list of those that were played, from anywhere.
 *
 * covers: app/learn/lesson.c app/learn/lesson_flags.c app/learn/figures.c app/learn/learned.c
 *
 * What must hold: a refusal is one line that begins with the file's name, and leaves nothing; what is taken has all that
 * it must have, names only flags and files that it may, and its texts can be filled in with any figures. */
#include "app/learn/learned.h"
#include "app/learn/lesson.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static void must_be_one_line(const char *text)
{
    for (const char *c = text; *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void must_be_words(const struct lesson_words *w, bool is_run)
{
    must(w->n >= 0 && w->n <= LESSON_WORDS);
    must(w->n == 0 || lesson_check_words(w, is_run, NULL) == 0);
    for (int i = 0; i < w->n; i++) must(*w->word[i] && !strpbrk(w->word[i], " \t\n"));
}

static void must_be_sum(const struct figure_sum *s, const struct figures run[RUNS])
{
    struct buf out = {0};
    enum figure_unit unit;
    double v = figure_value(s, run, &unit);
    must((int)unit <= UNIT_END);
    figure_show(v, unit, false, &out);
    must(out.len > 0);
    buf_free(&out);
}

static void must_be_text(const char *text, const struct figures run[RUNS])
{
    struct buf out = {0};
    must(figures_check(text, NULL) == 0);
    figures_fill(text, run, &out);
    must(!out.failed && (out.len > 0 || !*text));
    buf_free(&out);
}

static void must_be_lesson(const struct lesson *l)
{
    struct figures run[RUNS];
    for (int k = 0; k < RUNS; k++) figures_init(&run[k]);
    for (int i = 0; i < FIGURES; i++) run[RUN_BROKEN].value[i] = i * 1e5;
    must(*l->name && strlen(l->name) < LESSON_NAME && l->title && l->covers && l->cause > CAUSE_UNKNOWN);
    must_be_words(&l->run, true);
    must_be_words(&l->flags, false);
    for (int k = 0; k < RUNS; k++) must_be_words(&l->own[k], false);
    for (int i = 0; i < l->asks; i++) {
        const struct lesson_ask *q = &l->ask[i];
        must(*q->text && q->choices <= LESSON_CHOICES);
        if (q->is_choice) must(q->letter >= 'a' && q->letter < 'a' + q->choices);
        else must_be_sum(&q->answer, run);
        must_be_text(q->why, run);
    }
    for (int i = 0; i < l->expects; i++) must_be_sum(&l->expect[i].left, run), must_be_sum(&l->expect[i].right, run);
    for (int i = 0; i < l->files; i++)
        must(!strchr(l->file[i].name, '/') && l->file[i].name[0] != '.' &&
             (strlen(l->file[i].text) + 1) * (size_t)l->file[i].times <= LESSON_FILE_MOST);
    must_be_text(l->verdict, run);
    must_be_text(l->compare, run);
    must_be_text(l->seed, run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lesson l;
    struct learned learned;
    struct err err = {0};
    if (lesson_read((const char *)data, size, "a.lesson", &l, &err) == 0) {
        must_be_lesson(&l);
        lesson_free(&l);
    } else {
        must(!l.mem && strncmp(err.text, "a.lesson: ", 10) == 0);
        must_be_one_line(err.text);
    }
    if (learned_parse((const char *)data, size, &learned, &err)) must(learned.n == 0);
    for (int i = 0; i < learned.n; i++)
        must(learned_of(&learned, learned.row[i].name) == &learned.row[i] && learned.row[i].right <= learned.row[i].of);
    return 0;
}
