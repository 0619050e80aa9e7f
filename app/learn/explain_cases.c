/* explain_cases.c - see explain_cases.h. */
#include "app/learn/explain_cases.h"
#include <math.h>

enum {
    SAME_LINES = 12,     /* failures this near are one, if they can be */
    SAME_CHARS = 60,
    REPEAT_LINES = 30,   /* the same again in other words */
    STAGE_LINES = 80,    /* a stage before a failure; a traceback is long */
    BEHIND_LINES = 10,   /* what a message still says behind its first words */
    BEFORE_LINES = 200,  /* what a log said before */
    WIDE_LINES = 600,    /* what a person says */
    ADVICE_CHARS = 28,   /* "if you run out of memory" */
    WORD_REST = 8,       /* of a word whose beginning is a phrase: "oom kill" of "OOMKilled" */
    BEHIND_COSTS = 4,    /* a line behind a failure is as far as so many before it */
    LOOK_BACK = 400      /* hits that are looked at for a stage */
};

static const struct word *word_of(const struct hit *h) { return word_at(h->word); }

/* ------------------------------------------------------------------ which failures are meant */

/* Advice, an except clause, an import: the words stand there and nothing happened. */
static bool only_advice(const struct hits *h, size_t i)
{
    const struct hit *me = &h->hit[i];
    for (size_t k = i; k-- > 0 && h->hit[k].at + 2 * ADVICE_CHARS > me->at;) {
        const struct hit *a = &h->hit[k];
        if (word_of(a)->kind != WORD_NOTE || word_of(a)->of != NOTE_ADVICE) continue;
        if (a->end <= me->end && (a->end + ADVICE_CHARS > me->at) && a->line + 1 >= me->line) return true;
    }
    return false;
}

/* "out of memory" within "CUDA out of memory" says nothing of its own. */
static bool inside_another(const struct hits *h, size_t i)
{
    const struct hit *me = &h->hit[i];
    for (size_t k = i; k-- > 0 && h->hit[k].at + 2 * MATCH_GAP > me->at;)
        if (word_of(&h->hit[k])->kind == WORD_FAIL && h->hit[k].end >= me->end &&
            word_of(&h->hit[k])->of != FAMILY_OTHER)
            return true;
    for (size_t k = i + 1; k < h->n && h->hit[k].at < me->end; k++)
        if (word_of(&h->hit[k])->kind == WORD_FAIL && word_of(&h->hit[k])->of != FAMILY_OTHER &&
            h->hit[k].end >= me->end && h->hit[k].at <= me->at &&
            (h->hit[k].end > me->end || word_of(&h->hit[k])->of != FAMILY_ANY))
            return true;
    return false;
}

/* "OOMKilled": false */
static bool denied(const struct run *r, const struct hit *me)
{
    size_t at = me->end;
    while (at < r->n && at < me->end + WORD_REST && !r->mark[at]) at++; /* to the end of its last word */
    return r->n - at >= 5 && memcmp(r->c + at, "false", 5) == 0 && r->mark[at] && r->mark[at + 5];
}

static bool is_failure(const struct run *r, const struct hits *h, size_t i)
{
    const struct word *w = word_of(&h->hit[i]);
    if (w->kind != WORD_FAIL || w->of == FAMILY_OTHER) return false;
    if (denied(r, &h->hit[i])) return false;
    if (h->hit[i].numbers == 2 && h->hit[i].number[0].is_bytes && h->hit[i].number[1].is_bytes &&
        h->hit[i].number[0].value <= h->hit[i].number[1].value)
        return false; /* "needs 3 GiB, 20 GiB available": it fits */
    if (w->of == FAMILY_ANY && inside_another(h, i)) return false;
    return !only_advice(h, i);
}

/* ------------------------------------------------------------------ to which case one belongs */

static uint32_t apart(const struct hits *h, const struct fail_case *c, const struct hit *me)
{
    const struct hit *last = &h->hit[c->fail[c->fails - 1]];
    return me->line > last->line ? me->line - last->line : last->line - me->line;
}

/* What a message says that it tried to get; -1: nothing. */
static double tried_behind(const struct hits *h, size_t fail)
{
    for (size_t k = fail; k < h->n && h->hit[k].at < h->hit[fail].end + SAME_CHARS; k++)
        if (word_of(&h->hit[k])->kind == WORD_FIGURE && word_of(&h->hit[k])->of == FIG_TRIED)
            return h->hit[k].number[0].value;
    return -1;
}

/* Between two failures that are near: is the second about the first (one wraps the other, one line after the other), or
 * does something new begin?  A message that has figures of its own is new unless they are the same. */
static bool goes_on(const struct run *r, const struct hits *h, size_t last, size_t i)
{
    const struct hit *a = &h->hit[last], *b = &h->hit[i];
    bool chained = false;
    for (size_t k = last; k < i && i - last < LOOK_BACK; k++)
        chained = chained || (word_of(&h->hit[k])->kind == WORD_NOTE && word_of(&h->hit[k])->of == NOTE_CHAIN);
    if (chained) return true;
    if (run_blank_between(r, a->at, b->at)) return false;
    double one = tried_behind(h, last), other = tried_behind(h, i);
    return one < 0 || other < 0 || fabs(one - other) <= one * 0.001 || a->line == b->line;
}

static bool joins(const struct run *r, const struct hits *h, const struct fail_case *c, size_t i)
{
    const struct hit *me = &h->hit[i];
    const struct word *w = word_of(me);
    uint32_t lines = apart(h, c, me);
    if (w->of == FAMILY_ANY) return lines <= REPEAT_LINES && goes_on(r, h, c->fail[c->fails - 1], i);
    if (c->family == FAMILY_ANY) return lines <= SAME_LINES || w->of == FAMILY_DEVICE;
    if ((int)c->family != w->of) return false;
    if (lines <= 1 && me->at < h->hit[c->fail[c->fails - 1]].end + SAME_CHARS) return true;
    if (w->cause == c->said && w->cause != CAUSE_UNKNOWN) return true;
    if (w->cause != CAUSE_UNKNOWN && c->said != CAUSE_UNKNOWN) return false;
    return lines <= SAME_LINES && goes_on(r, h, c->fail[c->fails - 1], i);
}

static void add_failure(const struct run *r, struct findings *f, const struct hits *h, size_t i, int8_t *owner)
{
    const struct hit *me = &h->hit[i];
    const struct word *w = word_of(me);
    struct fail_case *c = NULL;
    for (int k = f->n - 1; !c && k >= 0; k--)
        if (joins(r, h, &f->one[k], i)) c = &f->one[k];
    if (!c) {
        if (f->n == CASES_MOST) return;
        c = &f->one[f->n++];
        *c = (struct fail_case){.family = (enum word_family)w->of, .line = me->line, .ended = true};
    }
    c->ended = c->ended && word_ended(w);
    if (c->family == FAMILY_ANY) c->family = (enum word_family)w->of;
    if (w->cause != CAUSE_UNKNOWN) {
        c->said_by++;
        if (w->points > c->said_points) c->said = w->cause;
        c->said_points = MAX(c->said_points, w->points);
    }
    enum { HALF = REPEATS / 2 };
    if (c->fails == REPEATS) memmove(c->fail + HALF, c->fail + HALF + 1, (HALF - 1) * sizeof *c->fail);
    else c->fails++;
    c->fail[c->fails - 1] = i;
    c->last_line = me->line;
    owner[i] = (int8_t)(c - f->one);
}

/* ------------------------------------------------------------------ what belongs to a case */

static uint32_t distance(const struct hits *h, const struct fail_case *c, const struct hit *me, uint32_t *chars)
{
    uint32_t best = UINT32_MAX;
    for (int i = 0; i < c->fails; i++) {
        const struct hit *fail = &h->hit[c->fail[i]];
        uint32_t d = me->line <= fail->line ? fail->line - me->line : (me->line - fail->line) * BEHIND_COSTS;
        if (d >= best) continue;
        best = d;
        *chars = me->at > fail->at ? me->at - fail->at : fail->at - me->at;
    }
    return best;
}

/* A figure of a message: which failure it stands behind, or else before. */
static struct fail_case *message_of(struct findings *f, const struct hits *h, const struct hit *me, uint32_t *lines,
                                    uint32_t *chars)
{
    struct fail_case *best = NULL;
    for (int k = 0; k < f->n; k++)
        for (int i = 0; i < f->one[k].fails; i++) {
            const struct hit *fail = &h->hit[f->one[k].fail[i]];
            uint32_t far = me->at >= fail->at ? me->at - fail->at : 2 * (fail->at - me->at);
            if (best && far >= *chars) continue;
            best = &f->one[k];
            *chars = far;
            *lines = me->line > fail->line ? me->line - fail->line : fail->line - me->line;
        }
    return best;
}

static struct fail_case *nearest(struct findings *f, const struct hits *h, const struct hit *me, uint32_t *lines,
                                 uint32_t *chars)
{
    struct fail_case *best = NULL;
    *lines = UINT32_MAX;
    for (int k = 0; k < f->n; k++) {
        uint32_t at = 0, d = distance(h, &f->one[k], me, &at);
        if (best && (d > *lines || (d == *lines && at >= *chars))) continue;
        best = &f->one[k];
        *lines = d;
        *chars = at;
    }
    return best;
}

static void add_value(struct series *s, double value, uint32_t end)
{
    if (s->n && s->end == end) return;
    s->end = end;
    if (s->n == 0) s->first = value;
    else s->rises += value > s->last;
    s->last = value;
    s->n++;
}

static void add_to_set(struct series_set *s, double value, const struct hit *me)
{
    int k = 0;
    while (k < s->words && s->word[k] != me->word) k++;
    add_value(&s->all, value, me->end);
    if (k == SERIES_WORDS) return;
    if (k == s->words) s->word[s->words++] = me->word;
    add_value(&s->of[k], value, me->end);
}

static bool rises(const struct series *s, int least, double times)
{
    return s->n >= least && s->rises * 5 >= (s->n - 1) * 4 && s->last >= s->first * times && s->first > 0;
}

const struct series *series_rising(const struct series_set *s, int least, double times)
{
    const struct series *best = NULL;
    if (rises(&s->all, least, times)) return &s->all;
    for (int k = 0; k < s->words; k++)
        if (rises(&s->of[k], least, times) && (!best || s->of[k].last - s->of[k].first > best->last - best->first))
            best = &s->of[k];
    return best;
}

static void add_series(struct fail_case *c, const struct hit *me, int figure)
{
    double last = me->number[me->numbers - 1].value;
    if (figure == FIG_TURN_TOKENS) add_to_set(&c->turn_tokens, last, me);
    if (figure == FIG_TOKENS_SENT) add_to_set(&c->tokens_sent, last, me);
    if (figure == FIG_MESSAGES) add_to_set(&c->messages, last, me);
    if (figure == FIG_TURN_BYTES) add_to_set(&c->turn_bytes, last, me);
    if (figure == FIG_BYTES_NOW) add_to_set(&c->bytes_now, last, me);
    if (figure == FIG_MIB_NOW) add_to_set(&c->bytes_now, last * 0x1p20, me);
}

static void add_figure(struct fail_case *c, const struct hit *me, uint32_t chars)
{
    int figure = word_of(me)->of;
    add_series(c, me, figure);
    if (figure == FIG_PROCESS && me->numbers == 2 && c->processes < PROCESSES_MOST) {
        for (int i = 0; i < c->processes; i++)
            if (fabs(c->process[i] - me->number[1].value) < 0.5) return;
        c->process[c->processes++] = me->number[1].value;
        return;
    }
    if (c->has[figure] && chars >= c->near[figure]) return;
    bool two = figure == FIG_START_FREE || figure == FIG_DESIRED || figure == FIG_WEIGHTS ||
               figure == FIG_TOKENS_ASKED || figure == FIG_TOKENS_MOST || figure == FIG_ANSWER;
    c->has[figure] = true;
    c->near[figure] = chars;
    c->fig[figure] = me->number[two ? me->numbers - 1 : 0].value;
    if (figure == FIG_START_FREE && me->numbers == 2) { /* "(19.77/22.05 GiB)": the unit is behind the second */
        double total = me->number[1].value, scale = total >= 0x1p30 ? 0x1p30 : 0x1p20;
        c->fig[figure] = me->number[0].is_bytes ? me->number[0].value : me->number[0].value * scale;
        c->has[FIG_TOTAL] = true;
        c->fig[FIG_TOTAL] = total;
        c->near[FIG_TOTAL] = chars;
    }
}

static void add_hint(struct fail_case *c, const struct word *w)
{
    c->hint[w->cause] += w->points;
    if (w->points <= c->hint_best[w->cause]) return;
    c->hint_best[w->cause] = w->points;
    c->hint_word[w->cause] = w->phrase;
}

static bool message_figure(int figure) { return figure <= FIG_BESIDE; }

static void give_to_case(struct findings *f, const struct hits *h, size_t i, uint8_t *seen)
{
    const struct hit *me = &h->hit[i];
    const struct word *w = word_of(me);
    uint32_t lines, chars = 0;
    bool message = w->kind == WORD_FIGURE && message_figure(w->of);
    struct fail_case *c = message ? message_of(f, h, me, &lines, &chars) : nearest(f, h, me, &lines, &chars);
    if (!c) return;
    bool behind = lines > 0 && lines % BEHIND_COSTS == 0 && me->at > h->hit[c->fail[0]].at;
    bool near = behind ? lines <= BEHIND_LINES * BEHIND_COSTS : lines <= BEFORE_LINES;
    if (w->kind == WORD_FIGURE) {
        if (!message || lines <= BEHIND_LINES * BEHIND_COSTS) add_figure(c, me, chars);
    } else if (w->kind == WORD_FOR && (w->of ? lines <= WIDE_LINES : near)) {
        uint8_t bit = (uint8_t)(1u << ((c - f->one) & 7));
        if (seen[me->word] & bit) return;
        seen[me->word] |= bit;
        add_hint(c, w);
    } else if (w->kind == WORD_NOTE) {
        c->note[w->of] = true;
    }
}

/* ------------------------------------------------------------------ the stage: the innermost before a failure */

/* A server that came up after that has its weights and its pool: what fails then fails at work. */
static bool is_of_start(int stage)
{
    return stage == STAGE_LOAD || stage == STAGE_KV_INIT || stage == STAGE_PROFILE || stage == STAGE_CAPTURE;
}

static enum word_stage stage_before(const struct hits *h, size_t fail, const int8_t *owner)
{
    const struct hit *me = &h->hit[fail];
    bool up = false;
    for (size_t k = fail; k-- > 0 && k + LOOK_BACK > fail;) {
        const struct hit *s = &h->hit[k];
        if (me->line - s->line > STAGE_LINES) break;
        up = up || (word_of(s)->kind == WORD_NOTE && word_of(s)->of == NOTE_UP);
        if (word_of(s)->kind == WORD_STAGE)
            return up && is_of_start(word_of(s)->of) ? STAGE_PASS : (enum word_stage)word_of(s)->of;
        if (owner[k] >= 0 && owner[k] != owner[fail]) break;
    }
    return STAGE_NONE;
}

static enum word_stage stage_behind(const struct hits *h, size_t fail, const int8_t *owner)
{
    const struct hit *me = &h->hit[fail];
    for (size_t k = fail + 1; k < h->n && h->hit[k].line <= me->line + BEHIND_LINES / 2; k++) {
        if (word_of(&h->hit[k])->kind == WORD_NOTE && word_of(&h->hit[k])->of == NOTE_TRACE) break;
        if (owner[k] >= 0 && owner[k] != owner[fail]) break;
        if (word_of(&h->hit[k])->kind == WORD_STAGE) return (enum word_stage)word_of(&h->hit[k])->of;
    }
    return STAGE_NONE;
}

static void find_stage(const struct hits *h, struct fail_case *c, const int8_t *owner)
{
    for (int i = 0; i < c->fails && !c->stage; i++) c->stage = stage_before(h, c->fail[i], owner);
    if (!c->stage && !c->has[FIG_TOTAL]) c->stage = stage_behind(h, c->fail[0], owner);
}

/* ------------------------------------------------------------------ what belongs to all */

/* A row's place of a process may be "N/A": what follows is the next row's. */
static bool is_one_row(const struct run *r, const struct hit *me)
{
    enum { BOTH = 6 /* "n/an/a" */ };
    size_t from = me->at + BOTH;
    return !memmem(r->c + from, me->end - from, "n/a", 3);
}

static void add_smi(const struct run *r, struct findings *f, const struct hit *me)
{
    enum { UNIT = 3 /* "mib", where the phrase begins */ };
    struct match_number used;
    double last = me->number[me->numbers - 1].value;
    if (word_of(me)->of == FIG_SMI_PROCESS && !me->number[0].is_bytes && is_one_row(r, me))
        smi_process(&f->smi, me->number[0].value, last, me->line);
    else if (word_of(me)->of == FIG_SMI && match_number_before(r, me->at + UNIT, &used))
        smi_device(&f->smi, used.value, last);
}

static void add_fit(struct fit_told *fit, const struct word *w, const struct hit *me)
{
    const double last = me->numbers ? me->number[me->numbers - 1].value : 0;
    if (w->kind == WORD_NOTE && w->of == NOTE_FIT) fit->line = me->line;
    if (w->kind == WORD_NOTE && w->of == NOTE_FIRST_LAYER && !fit->layer_line) fit->layer_line = me->line;
    if (w->kind != WORD_FIGURE) return;
    if (w->of == FIG_FIT_USE) fit->use = me->number[0].value, fit->room = last;
    if (w->of == FIG_FIT_OVER) fit->over = last;
    if (w->of == FIG_LAYERS) fit->on_device = me->number[0].value, fit->layers = last;
}

/* A program that is named within another's longer name: OpenAI in the image vllm/vllm-openai. */
static bool named_within(const struct hits *h, size_t i)
{
    const struct hit *me = &h->hit[i];
    for (size_t k = i; k-- > 0 && h->hit[k].at + MATCH_GAP > me->at;)
        if (word_of(&h->hit[k])->kind == WORD_STACK && h->hit[k].at < me->at && h->hit[k].end >= me->end &&
            word_of(&h->hit[k])->of != word_of(me)->of)
            return true;
    return false;
}

static void add_common(const struct run *r, struct findings *f, const struct hits *h, size_t i)
{
    const struct hit *me = &h->hit[i];
    const struct word *w = word_of(me);
    if (w->kind == WORD_STACK && !named_within(h, i))
        f->stack[w->of] += f->stack[w->of] < 3 * w->points ? w->points : 0;
    if (w->kind == WORD_NOTE) f->note[w->of] = true;
    if (w->kind == WORD_NOTE && w->of == NOTE_DEAD && !f->dead) f->dead = me;
    if (w->kind == WORD_FIGURE) add_smi(r, f, me);
    add_fit(&f->fit, w, me);
    if (w->kind == WORD_FAIL && w->of == FAMILY_OTHER && w->points > f->other_points && !only_advice(h, i)) {
        f->other = me;
        f->other_points = w->points;
    }
}

/* A line that says nothing of requests says nothing of them. */
static void keep_stuck(struct findings *f, const struct pool_load *now)
{
    if (now->running < 0 || now->waiting < 0) return;
    const bool stuck = now->running < 1 && now->waiting >= 1 && now->used < 0.05;
    f->stuck_lines = stuck ? f->stuck_lines + 1 : 0;
    f->stuck = *now;
}

static void keep_fullest(struct findings *f, const struct pool_load *now)
{
    keep_stuck(f, now);
    if (now->waiting >= 1 && now->used <= 1 && now->used > 0 && now->used >= f->pool.used) f->pool = *now;
}

static void find_pool(const struct hits *h, struct findings *f)
{
    struct pool_load now = {.used = -1, .running = -1, .waiting = -1};
    for (size_t i = 0; i < h->n; i++) {
        const struct hit *me = &h->hit[i];
        if (word_of(me)->kind != WORD_FIGURE) continue;
        if (me->line != now.line) {
            keep_fullest(f, &now);
            now = (struct pool_load){.line = me->line, .used = -1, .running = -1, .waiting = -1};
        }
        const double value = me->number[0].value;
        if (word_of(me)->of == FIG_POOL_PERCENT) now.used = value / 100;
        if (word_of(me)->of == FIG_POOL_SHARE) now.used = value;
        if (word_of(me)->of == FIG_RUNNING) now.running = value;
        if (word_of(me)->of == FIG_WAITING) now.waiting = value;
    }
    keep_fullest(f, &now);
}

static void find_loads(const char *text, size_t n, struct findings *f)
{
    uint32_t line[CASES_MOST];
    struct loads loads[CASES_MOST];
    for (int k = 0; k < f->n; k++) line[k] = f->one[k].line;
    loads_before(text, n, line, f->n, loads);
    for (int k = 0; k < f->n; k++) f->one[k].loads = loads[k];
}

void find_cases(const char *text, size_t n, uint32_t before, const struct run *r, const struct hits *h,
                struct findings *f)
{
    uint8_t *seen = calloc((size_t)words_all(), 1);
    int8_t *owner = malloc(h->n + 1); /* of a hit that is a failure: its case; -1: none */
    *f = (struct findings){.before = before};
    if (!seen || !owner) {
        free(seen);
        free(owner);
        return;
    }
    memset(owner, -1, h->n + 1);
    for (size_t i = 0; i < h->n; i++) {
        add_common(r, f, h, i);
        if (is_failure(r, h, i)) add_failure(r, f, h, i, owner);
    }
    for (size_t i = 0; i < h->n; i++)
        if (word_of(&h->hit[i])->kind == WORD_FIGURE || word_of(&h->hit[i])->kind == WORD_FOR ||
            word_of(&h->hit[i])->kind == WORD_NOTE)
            give_to_case(f, h, i, seen);
    for (int k = 0; k < f->n; k++) find_stage(h, &f->one[k], owner);
    find_loads(text, n, f);
    find_pool(h, f);
    smi_csv(&f->smi, text, n);
    free(seen);
    free(owner);
}
