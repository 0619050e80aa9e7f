/* table.c - marks beside targets, and what failed. */
#include "tests/eval/eval.h"
#include <errno.h>
#include <limits.h>

enum measure { RIGHT, KEPT, CLEAN, ENDS, UTF8, NO_LOOP };

/* What the model is to reach, in percent.  row NULL: over all answers. */
static const struct target {
    const char *row;
    enum measure measure;
    int percent;
} target[] = {
    {"field.facts", RIGHT, 90},
    {"tools.call", RIGHT, 95},
    {"tools.none", RIGHT, 95},
    {"tools.result", RIGHT, 90},
    {"tools.clipped", RIGHT, 90},
    {"tools.artifact", RIGHT, 80},
    {"recall.said", RIGHT, 90},
    {"summary.record", KEPT, 85},
    {"summary.record", CLEAN, 95},
    {"summary.goes_on", RIGHT, 85},
    {"roles.form", RIGHT, 95},
    {"roles.handover", RIGHT, 95},
    {"talk.greeting", RIGHT, 80},
    {"talk.arithmetic", RIGHT, 80},
    {"talk.unknown", RIGHT, 80},
    {NULL, ENDS, 99},
    {NULL, UTF8, 100},
    {NULL, NO_LOOP, 99},
};

/* A row that is also shown by how far back the answer lies: by the tokens of the prompt. */
static const char far_row[] = "recall.said";
static const int far_most[] = {300, 700, 1100, INT_MAX};

struct figure {
    char name[100];
    int cases, target; /* target -1: none */
    long long hits, of;
    bool part; /* of the figure above it */
};

struct figures {
    struct figure *at;
    int n;
};

/* ---------------------------------------------------------------- counting */

static const char *const measure_words[] = {
    [RIGHT] = "", [KEPT] = ": planted lines kept", [CLEAN] = ": nothing invented",
    [ENDS] = ": turn ended", [UTF8] = ": valid UTF-8", [NO_LOOP] = ": no 8 tokens three times in a row",
};

static void count(struct figure *f, const struct eval_case *c, enum measure m)
{
    bool per_answer = m == ENDS || m == UTF8 || m == NO_LOOP;
    if (per_answer && c->refused) return;
    f->cases++;
    f->of += m == KEPT ? c->judged.lines : 1;
    switch (m) {
    case RIGHT: f->hits += c->judged.ok; break;
    case KEPT: f->hits += c->judged.kept; break;
    case CLEAN: f->hits += !c->judged.invented; break;
    case ENDS: f->hits += c->end == END_STOP; break;
    case UTF8: f->hits += c->utf8; break;
    case NO_LOOP: f->hits += !c->loops; break;
    }
}

static void add_row(struct figures *fs, const struct cases *c, const char *row, enum measure m, int percent)
{
    struct figure *f = &fs->at[fs->n++];
    *f = (struct figure){.target = percent};
    snprintf(f->name, sizeof f->name, "%.48s%s", row ? row : "all answers", measure_words[m]);
    for (int i = 0; i < c->n; i++)
        if (!row || strcmp(c->at[i].row, row) == 0) count(f, &c->at[i], m);
}

static void add_distances(struct figures *fs, const struct cases *c)
{
    for (size_t d = 0; d < COUNT_OF(far_most); d++) {
        int least = d ? far_most[d - 1] : 0;
        struct figure *f = &fs->at[fs->n++];
        *f = (struct figure){.target = -1, .part = true};
        if (far_most[d] < INT_MAX) snprintf(f->name, sizeof f->name, "  prompt < %d tokens", far_most[d]);
        else snprintf(f->name, sizeof f->name, "  longer");
        for (int i = 0; i < c->n; i++) {
            const struct eval_case *k = &c->at[i];
            bool here = !k->refused && k->n_prompt >= least && k->n_prompt < far_most[d];
            if (here && strcmp(k->row, far_row) == 0) count(f, k, RIGHT);
        }
    }
}

static bool has_target(const char *row)
{
    for (size_t t = 0; t < COUNT_OF(target); t++)
        if (target[t].row && strcmp(target[t].row, row) == 0) return true;
    return false;
}

/* Is case i the first of its row? */
static bool is_first(const struct cases *c, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(c->at[k].row, c->at[i].row) == 0) return false;
    return true;
}

/* Rows with targets (there or not), then others, then the figures over all. */
static struct figures figures_of(const struct cases *c)
{
    size_t others = 0;
    for (int i = 0; i < c->n; i++) others += !has_target(c->at[i].row) && is_first(c, i);
    struct figures fs = {.at = calloc(COUNT_OF(target) + COUNT_OF(far_most) + others, sizeof *fs.at)};
    if (!fs.at) return fs;
    for (size_t t = 0; t < COUNT_OF(target); t++) {
        if (!target[t].row) continue;
        add_row(&fs, c, target[t].row, target[t].measure, target[t].percent);
        if (strcmp(target[t].row, far_row) == 0) add_distances(&fs, c);
    }
    for (int i = 0; i < c->n; i++)
        if (!has_target(c->at[i].row) && is_first(c, i)) add_row(&fs, c, c->at[i].row, RIGHT, -1);
    for (size_t t = 0; t < COUNT_OF(target); t++)
        if (!target[t].row) add_row(&fs, c, NULL, target[t].measure, target[t].percent);
    return fs;
}

/* ---------------------------------------------------------------- the table */

static void print_figure(const struct figure *f, bool markdown, FILE *out)
{
    char cases[24], score[24] = "-", want[16] = "-";
    const char *reached = "-";
    bool few = !f->part && f->cases < EVAL_FEW;
    snprintf(cases, sizeof cases, "%d%s", f->cases, few ? "*" : "");
    if (f->of > 0) { /* rounded down: what is shown as 95.0 is no less */
        long long tenths = 1000 * f->hits / f->of;
        snprintf(score, sizeof score, "%lld.%lld", tenths / 10, tenths % 10);
        if (f->target >= 0) reached = 100 * f->hits >= f->target * f->of ? "yes" : "no";
    }
    if (f->target >= 0) snprintf(want, sizeof want, "%d", f->target);
    fprintf(out, markdown ? "| %s | %s | %s | %s | %s |\n" : "%-46s %7s %9s %9s  %s\n", f->name, cases, score, want,
            reached);
}

void table_print(const struct cases *c, const struct asking *a, const char *model, bool markdown, FILE *out)
{
    struct figures fs = figures_of(c);
    long long prompts = 0, tokens = 0;
    int refused = 0;
    if (!fs.at) {
        fputs("eval: no memory for a table\n", stderr);
        return;
    }
    fprintf(out, markdown ? "| %s | %s | %s | %s | %s |\n" : "%-46s %7s %9s %9s  %s\n", "row", "cases", "score, %",
            "target, %", "reached");
    if (markdown) fputs("|---|--:|--:|--:|---|\n", out);
    for (int i = 0; i < fs.n; i++) print_figure(&fs.at[i], markdown, out);
    free(fs.at);
    for (int i = 0; i < c->n; i++) {
        prompts += c->at[i].n_prompt;
        tokens += c->at[i].n_tokens;
        refused += c->at[i].refused;
    }
    fprintf(out, "\n*: fewer than %d cases; the score says little.\n", EVAL_FEW);
    if (refused) fprintf(out, "%d cases were not asked: their prompts leave no room in the context.\n", refused);
    fprintf(out, "%s: %d cases, prompts of %lld tokens, %lld tokens generated in %.1f s, %.0f tokens/s, "
            "%d at a time, at most %d an answer; %llu passes, %llu of %llu drafts right.\n", model, c->n, prompts,
            tokens, a->seconds, a->seconds > 0 ? (double)tokens / a->seconds : 0, a->seqs, a->max_tokens,
            (unsigned long long)a->passes, (unsigned long long)a->right, (unsigned long long)a->drafted);
}

/* ---------------------------------------------------------------- failures */

/* The end of a text, at most `most` bytes; what a terminal would obey is shown as \xNN. */
static void print_tail(const char *head, const char *text, size_t len, size_t most, FILE *out)
{
    size_t i = len > most ? len - most : 0;
    while (i > 0 && i < len && ((unsigned char)text[i] & 0xc0) == 0x80) i++;
    fprintf(out, "  %-10s%s", head, i ? "..." : "");
    for (; i < len; i++) {
        unsigned char b = (unsigned char)text[i];
        if (b == '\n') fputs("\n            ", out);
        else if (b < 0x20 || b == 0x7f) fprintf(out, "\\x%02x", b);
        else fputc(b, out);
    }
    fputc('\n', out);
}

static void print_failure(const struct eval_case *c, FILE *out)
{
    enum { MESSAGES = 3, TAIL = 400, ANSWER = 2000 };
    size_t n = json_array_size(c->messages);
    fprintf(out, "\n%s  %s:%d  %s  (%d tokens in the prompt, %d in the answer, end: %s)\n", c->row, c->file, c->line,
            c->judged.why, c->n_prompt, c->n_tokens, engine_end_name(c->end));
    for (size_t i = n > MESSAGES ? n - MESSAGES : 0; i < n; i++) {
        const json_t *m = json_array_get(c->messages, i), *text = json_object_get(m, "content");
        print_tail(json_string_value(json_object_get(m, "role")), json_string_value(text), json_string_length(text),
                   TAIL, out);
    }
    print_tail("expected", json_string_value(c->expected), json_string_length(c->expected), ANSWER, out);
    print_tail("got", c->answer.data, c->answer.len, ANSWER, out);
}

void table_failures(const struct cases *c, int show, FILE *out)
{
    for (int first = 0; show > 0 && first < c->n; first++) {
        if (!is_first(c, first)) continue;
        int shown = 0;
        for (int i = first; i < c->n && shown < show; i++) {
            const struct eval_case *k = &c->at[i];
            if (k->judged.ok || strcmp(k->row, c->at[first].row) != 0) continue;
            print_failure(k, out);
            shown++;
        }
    }
}

int table_answers(const struct cases *c, const char *path, struct err *err)
{
    FILE *out = fopen(path, "w");
    if (!out) return err_set(err, -1, "%s: %s", path, strerror(errno));
    int rc = 0;
    for (int i = 0; i < c->n && !rc; i++) {
        const struct eval_case *k = &c->at[i];
        json_t *o = json_pack("{s:s, s:b, s:o*, s:O, s:s, s:s, s:i, s:i, s:s, s:i}", "row", k->row, "ok", k->judged.ok,
                              "answer", json_stringn(k->answer.len ? k->answer.data : "", k->answer.len), "expected",
                              k->expected, "why", k->judged.why, "end", engine_end_name(k->end), "prompt_tokens",
                              k->n_prompt, "tokens", k->n_tokens, "file", k->file, "line", k->line);
        if (!o || json_dumpf(o, out, JSON_COMPACT) || fputc('\n', out) == EOF)
            rc = err_set(err, -1, "%s: line %d could not be written", path, i + 1);
        json_decref(o);
    }
    if (fclose(out) && !rc) rc = err_set(err, -1, "%s: %s", path, strerror(errno));
    return rc;
}
