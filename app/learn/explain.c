/* explain.c - see explain.h: the layers one after the other. */
#include "app/learn/explain.h"
#include "app/learn/explain_metrics.h"
#include "app/learn/explain_say.h"
#include "app/learn/remedy.h"

enum {
    PLAIN = 5,       /* points of a statement that stands by itself */
    WEAK = 4,        /* of one that others explain */
    AFTERMATH = 5,   /* lines behind a failure in which a kill is its consequence */
    AT_LENGTH = 16   /* ... where the server says that it ends itself, and gives advice before that */
};

const struct explain_ask explain_ask[QUESTIONS] = {
    [ASK_WHEN] = {"When does it happen: while the model loads, at the first request, after many turns, after hours?",
                  {{"l", "while the model loads"}, {"f", "at the first request"}, {"t", "after many turns"},
                   {"h", "after hours, with the same work"}, {NULL, NULL}}},
    [ASK_LOAD] = {"Does one request alone fail too, or only many at once?",
                  {{"a", "one alone fails too"}, {"m", "only many at once"}, {NULL, NULL}, {NULL, NULL}, {NULL, NULL}}},
    [ASK_LENGTH] = {"Do short prompts fail too, or only long ones?",
                    {{"s", "short ones too"}, {"l", "only long ones"}, {NULL, NULL}, {NULL, NULL}, {NULL, NULL}}},
    [ASK_DEVICE] = {"Does anybody else use the device (nvidia-smi, before it starts)?",
                    {{"n", "nobody"}, {"y", "yes"}, {NULL, NULL}, {NULL, NULL}, {NULL, NULL}}},
    [ASK_GAP] = {"What grows meanwhile (torch.cuda.memory_allocated() and memory_reserved(), every hour)?",
                 {{"a", "what is allocated rises"}, {"r", "what is reserved rises, what is allocated does not"},
                  {NULL, NULL}, {NULL, NULL}, {NULL, NULL}}},
};

bool explain_asks(const struct verdict *v, int question, const struct explain_answers *known)
{
    const bool of_device = question == ASK_DEVICE || question == ASK_LENGTH || question == ASK_GAP;
    const bool machine = v->cause == CAUSE_HOST || v->stack == STACK_LINUX || v->stack == STACK_KUBERNETES;
    if ((known && known->of[question]) || v->cause == CAUSE_CONTEXT || (machine && of_device)) return false;
    return question != ASK_GAP || (known && known->of[ASK_WHEN] == WHEN_HOURS);
}

/* Something ran out, or passed a limit. */
static bool is_failure(const struct verdict *v) { return v->cause != CAUSE_NOT_MEMORY && v->cause != CAUSE_UNKNOWN; }

/* ------------------------------------------------------------------ which cases are told */

/* A kill that only a guess connects with memory, beside a probe that failed. */
static bool killed_by_probe(const struct findings *f, const struct fail_case *c)
{
    return c->family == FAMILY_HOST && c->said == CAUSE_HOST && c->said_points <= PLAIN && f->note[NOTE_PROBE];
}

/* A bare kill right behind another failure: who failed was ended. */
static bool is_aftermath(const struct findings *f, int me)
{
    const struct fail_case *c = &f->one[me];
    const uint32_t lines = f->note[NOTE_CHILD] ? AT_LENGTH : AFTERMATH;
    for (int k = 0; k < f->n && c->family == FAMILY_HOST && c->said_points <= WEAK; k++)
        if (k != me && f->one[k].last_line <= c->line && c->line - f->one[k].last_line <= lines) return true;
    return false;
}

/* A pool that is full, told again as a context that is: by llama-server, to each of those whom it ends for it. */
static bool is_full_pool_again(const struct findings *f, int me)
{
    const struct fail_case *c = &f->one[me];
    for (int k = 0; k < f->n && c->family == FAMILY_TOKENS && !c->has[FIG_TOKENS_ASKED]; k++)
        if (f->one[k].said == CAUSE_KV && f->one[k].has[FIG_BATCH] && c->line >= f->one[k].line &&
            c->line - f->one[k].last_line <= AT_LENGTH)
            return true;
    return false;
}

/* A case beside others that says too little to be one of its own. */
static bool is_echo(const struct findings *f, const struct judged *j, int me)
{
    if (is_aftermath(f, me) || is_full_pool_again(f, me)) return true;
    for (int k = 0; k < f->n; k++) {
        bool same = j[k].cause == j[me].cause;
        bool stronger = j[k].points[j[k].cause] > j[me].points[j[me].cause];
        bool warns = f->one[me].said == CAUSE_ALLOCATOR && f->one[me].said_points <= PLAIN; /* mlock: it goes on */
        bool weak = warns || (j[me].sure == SURE_GUESS && !f->one[me].has[FIG_TRIED]);
        if (k == me) continue;
        if (same && (stronger || (k < me && j[k].points[j[k].cause] == j[me].points[j[me].cause]))) return true;
        if (weak && stronger && f->one[k].family == f->one[me].family) return true;
        if (f->one[me].family == FAMILY_ANY) return true;
    }
    return false;
}

static void insert(struct verdict *v, int n, const struct verdict *new)
{
    int at = n;
    while (at > 0 && cause_rank(v[at - 1].cause) > cause_rank(new->cause)) at--;
    memmove(v + at + 1, v + at, (size_t)(n - at) * sizeof *v);
    v[at] = *new;
}

static int tell_cases(const struct findings *f, const char *text, size_t n, const struct explain_answers *known,
                      struct verdict *v, int cap)
{
    struct judged j[CASES_MOST];
    struct verdict one;
    int told = 0;
    for (int k = 0; k < f->n; k++) judge_case(f, &f->one[k], known, &j[k]);
    for (int k = 0; k < f->n && told < cap; k++) {
        if (j[k].cause == CAUSE_UNKNOWN || is_echo(f, j, k)) continue;
        if (killed_by_probe(f, &f->one[k])) say_probe(f, &f->one[k], text, n, &one);
        else say_case(f, &f->one[k], &j[k], text, n, known, &one);
        insert(v, told++, &one);
    }
    return told;
}

static int tell(const struct findings *f, const char *text, size_t n, const struct explain_answers *known,
                struct verdict *v, int cap)
{
    int told = tell_cases(f, text, n, known, v, cap);
    if (told) return told;
    const enum smi_shape shape = smi_shape(&f->smi, NULL);
    if (shape == SMI_CLIMBS || shape == SMI_SPIKES) say_smi_series(f, v);
    else if (smi_is_full(&f->smi)) say_table(f, text, n, v);
    else if (shape == SMI_FLAT && !f->other) say_smi_series(f, v);
    else if (pool_is_full(f) && f->other_points < WEAK) say_pool_load(f, v);
    else if (queue_is_stuck(f) && f->other_points < WEAK) say_stuck(f, v);
    else if (f->dead && (f->other_points < WEAK || f->other->at > f->dead->at)) say_dead(f, text, n, v);
    else if (fit_is_told(f) && f->other_points < WEAK) say_fit(f, text, n, v);
    else if (f->note[NOTE_WRAPPER] && f->other_points < WEAK) return 0;
    else if (f->other || f->note[NOTE_STARTED]) say_other(f, text, n, v);
    else return 0;
    return 1;
}

/* ------------------------------------------------------------------ the layers */

struct reading {
    const struct explain_answers *known; /* beside the text; or NULL */
    const struct line_map *map;          /* the text is a part of another; or NULL */
};

/* A part of a text, behind so many lines of it. */
static int read_part(const char *text, size_t n, uint32_t before, const struct reading *how, struct verdict *v, int cap)
{
    struct run r;
    struct hits h = {0};
    int told = 0;
    if (run_read(text, n, &r)) return 0;
    struct findings *f = malloc(sizeof *f);
    if (f && !match_all(&r, word_phrase, words_all(), &h)) {
        find_cases(text, n, before, &r, &h, f);
        f->map = how->map;
        told = tell(f, text, n, how->known, v, cap);
    }
    for (int i = 0; i < told; i++) {
        if (is_failure(&v[i])) remedy_into(&v[i]);
        verdict_rank(&v[i]);
    }
    free(f);
    hits_free(&h);
    run_free(&r);
    return told;
}

/* ------------------------------------------------------------------ a text that is too long to be read at once */

enum { HALF = EXPLAIN_BYTES / 2, OVERLAP = 1 << 16 /* bytes that two parts share: a message at their border */ };

/* Something ran out in a line of the text: who only answered, or timed out, may have done that behind a failure. */
static bool names_failure(const struct verdict *v, int told) { return told > 0 && v[0].line > 0 && is_failure(&v[0]); }

/* The first line's beginning behind `at` if it is near, else `at`. */
static size_t line_from(const char *text, size_t n, size_t at)
{
    const char *end = at ? memchr(text + at, '\n', MIN(n - at, (size_t)OVERLAP / 2)) : NULL;
    return end ? (size_t)(end - text) + 1 : at;
}

static size_t place_of_line(const char *text, size_t n, int64_t number)
{
    const char *at = text;
    for (int64_t line = 1; line < number && at < text + n; line++) {
        const char *end = memchr(at, '\n', (size_t)(text + n - at));
        at = end ? end + 1 : text + n;
    }
    return (size_t)(at - text);
}

/* What lies between the beginning and the end, the last first; a failure in it is read again with as much of the text
 * on both sides.  What failed and is no want of memory is told if nothing else is. */
static int read_between(const char *text, size_t n, const struct reading *how, struct verdict *v, int cap)
{
    struct verdict no_memory = {0};
    size_t from = run_tail(text, n);
    while (from > HALF) {
        const size_t to = MIN(from + OVERLAP, n);
        from = to > EXPLAIN_BYTES ? line_from(text, n, to - EXPLAIN_BYTES) : 0;
        const int told = read_part(text + from, to - from, run_ends(text, from), how, v, cap);
        if (names_failure(v, told)) {
            const size_t at = place_of_line(text, n, line_in_part(how->map, (uint32_t)v[0].line));
            const size_t begin = at > HALF ? line_from(text, n, at - HALF) : 0;
            return read_part(text + begin, MIN(n - begin, (size_t)EXPLAIN_BYTES), run_ends(text, begin), how, v, cap);
        }
        if (told && v[0].line && !no_memory.line) no_memory = v[0];
    }
    v[0] = no_memory;
    return no_memory.line > 0;
}

/* Its beginning and its end together; and if these say nothing of a failure, all that lies between. */
static int read_long(const char *text, size_t n, const struct reading *how, struct verdict *v, int cap)
{
    char between[VERDICT_BYTES];
    const int told = read_part(text, n, 0, how, v, cap);
    if (names_failure(v, told)) {
        verdict_bytes(run_tail(text, n) - HALF, between);
        for (int i = 0; i < told; i++)
            verdict_next(&v[i], "The text is long, and %s in its middle were not read: its beginning and its end say "
                         "this.  Cut out of it what else is to be explained.", between);
        return told;
    }
    struct verdict *found = calloc((size_t)cap, sizeof *found);
    const int n_found = found ? read_between(text, n, how, found, cap) : 0;
    const bool better = names_failure(found, n_found) || (n_found && (!told || !v[0].line));
    if (better) memcpy(v, found, (size_t)n_found * sizeof *v);
    free(found);
    return better ? n_found : told;
}

static int read_one(const char *text, size_t n, const struct reading *how, struct verdict *v, int cap)
{
    return n > EXPLAIN_BYTES ? read_long(text, n, how, v, cap) : read_part(text, n, 0, how, v, cap);
}

/* ------------------------------------------------------------------ a log of several services */

struct of_service { struct verdict v; int who; };

/* What a client of it was answered: the server's own words are better. */
static bool is_clients(const struct verdict *v)
{
    return v->wrapped_by != STACK_UNKNOWN || (v->stack >= STACK_LANGCHAIN && v->stack <= STACK_OPENAI);
}

/* Told by another service too, and better there: what its client was answered, a kill in the kernel's words. */
static bool is_told_better(const struct of_service *of, int n, int me)
{
    const struct verdict *mine = &of[me].v;
    for (int k = 0; k < n; k++) {
        const struct verdict *other = &of[k].v;
        if (of[k].who == of[me].who || !is_failure(other)) continue;
        const bool same = other->cause == mine->cause || mine->sure == SURE_GUESS;
        if (same && is_clients(mine) && !is_clients(other)) return true;
        const bool kernels = of[k].who == SERVICE_NOBODY || of[me].who == SERVICE_NOBODY;
        if (kernels && mine->cause == CAUSE_HOST && other->cause == CAUSE_HOST && mine->sure < other->sure) return true;
    }
    return false;
}

/* Failures, the more basic first; if there are none, what else failed, one of each service, or at last what did not. */
static int pick(const struct of_service *of, int n, struct verdict *v, int cap)
{
    enum { FAILURES, OTHERS, ANY, WAYS };
    int told = 0;
    for (int way = FAILURES; way < WAYS && !told; way++)
        for (int k = 0; k < n && (way != ANY || !told); k++) {
            const struct verdict *one = &of[k].v;
            const bool surely = one->line && one->sure > SURE_GUESS && (k == 0 || of[k - 1].who != of[k].who);
            if (way == FAILURES && (!is_failure(one) || is_told_better(of, n, k))) continue;
            if (way == OTHERS && !surely) continue;
            if (told == cap && cause_rank(v[cap - 1].cause) <= cause_rank(one->cause)) continue;
            told -= told == cap;
            insert(v, told++, one);
        }
    return told;
}

static void name_service(struct verdict *v, const char *name)
{
    char where[VERDICT_TEXT];
    snprintf(where, sizeof where, "service %s%s%.100s", name, *v->where ? ", " : "", v->where);
    memcpy(v->where, where, sizeof where);
}

static int read_services(const char *text, size_t n, const struct services *s, const struct reading *how,
                         struct verdict *v, int cap)
{
    struct of_service *of = calloc((size_t)(s->n + 1) * EXPLAIN_MOST, sizeof *of);
    struct verdict *one = calloc(EXPLAIN_MOST, sizeof *one);
    int all = 0;
    for (int who = SERVICE_NOBODY; of && one && who < s->n; who++) {
        struct buf part = {0};
        struct line_map map = {0};
        const struct reading its = {how->known, &map};
        const bool good = services_lines(text, n, s, who, &part, &map) && part.data;
        const int told = good ? read_one(part.data, part.len, &its, one, EXPLAIN_MOST) : 0;
        for (int i = 0; i < told; i++, all++) {
            of[all] = (struct of_service){one[i], who};
            if (who >= 0) name_service(&of[all].v, s->name[who]);
        }
        buf_free(&part);
        free(map.of);
    }
    const int told = of && one ? pick(of, all, v, cap) : 0;
    free(one);
    free(of);
    return told;
}

static int read_all(const char *text, size_t n, const struct explain_answers *known, struct verdict *v, int cap)
{
    const struct reading how = {.known = known};
    struct services s;
    return services_find(text, n, &s) ? read_services(text, n, &s, &how, v, cap) : read_one(text, n, &how, v, cap);
}

/* ------------------------------------------------------------------ a text with a server's metrics in it */

/* A failure comes first, with what the metrics say beside it; then they do, if they say anything of memory. */
static int add_metrics(const struct metrics_told *m, struct verdict *v, int told)
{
    struct verdict of;
    if (told && is_failure(&v[0])) {
        say_metrics_beside(m, &v[0]);
        return told;
    }
    say_metrics(m, &of);
    if (told && v[0].line && !is_failure(&of)) {
        say_metrics_beside(m, &v[0]);
        return told;
    }
    v[0] = of;
    if (is_failure(&of)) remedy_into(&v[0]);
    return 1;
}

static int read_beside_metrics(const char *text, size_t n, const struct explain_answers *known, struct verdict *v,
                               int cap)
{
    struct metrics_told m;
    struct buf rest = {0};
    if (!metrics_read(text, n, &m)) return read_all(text, n, known, v, cap);
    const bool apart = metrics_leave_out(text, n, &rest);
    const int told = apart ? read_all(rest.data ? rest.data : "", rest.len, known, v, cap) : 0;
    buf_free(&rest);
    return add_metrics(&m, v, told);
}

int explain_with(const char *text, size_t n, const struct explain_answers *known, struct verdict *v, int cap)
{
    struct buf narrow = {0};
    if (cap <= 0) return 0;
    if (run_narrow(text, n, &narrow)) text = narrow.data ? narrow.data : "", n = narrow.len;
    const int told = read_beside_metrics(text, n, known, v, cap);
    buf_free(&narrow);
    return told;
}

int explain_text(const char *text, size_t n, struct verdict *v, int cap) { return explain_with(text, n, NULL, v, cap); }

int explain_next_question(const struct verdict *v, const struct explain_answers *known)
{
    if (v->sure == SURE_CERTAIN || !is_failure(v)) return -1;
    if (v->line == 0) return -1; /* of a table: the answers are about a failure */
    if (explain_asks(v, ASK_GAP, known)) return ASK_GAP; /* nothing else tells its two causes apart */
    for (int q = 0; q < QUESTIONS; q++)
        if (explain_asks(v, q, known)) return q;
    return -1;
}
