/* plan.c - the words of --tests. */
#include "tests/bench/bench.h"

const int bench_sweep[BENCH_SWEEP] = {1, 2, 4, 8, 16};

enum { STEPS = 1 << 20, SEQS = 64, THREADS = 64, NUMBERS = 3 };

/* A test's name, '#' being a number, and where its numbers go: n, s(equences), d(epth), t(hreads). */
static const struct form {
    const char *pattern, *fields;
    bool prefill;
} form[] = {
    {"pp#", "n", true},     {"pp#t#", "nt", true},   {"tg#", "n", false},   {"tg#t#", "nt", false},
    {"b#x#", "sn", false},  {"b#x#t#", "snt", false}, {"d#tg#", "dn", false},
};

static int bad(struct err *err, const char *what, const char *value)
{
    return err_set(err, -1, "%s \"%s\": see --help", what, value);
}

/* Is name what the pattern says?  Its numbers, of one to seven digits, into v. */
static bool matches(const char *name, const char *pattern, int *v)
{
    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (*name++ != *pattern) return false;
            continue;
        }
        size_t digits = strspn(name, "0123456789");
        if (digits < 1 || digits > 7) return false;
        *v++ = atoi(name);
        name += digits;
    }
    return *name == '\0';
}

bool test_multiplies(const struct test *t) { return t->prefill || t->seqs > 8; }

static bool in(int v, int least, int most) { return v >= least && v <= most; }

static int fill(struct test *t, const struct form *f, const int *v)
{
    t->seqs = 1;
    t->prefill = f->prefill;
    for (int i = 0; f->fields[i]; i++) {
        int most = f->fields[i] == 's' ? SEQS : f->fields[i] == 't' ? THREADS : STEPS;
        int *field = f->fields[i] == 's' ? &t->seqs : f->fields[i] == 't' ? &t->threads
                     : f->fields[i] == 'd' ? &t->depth : &t->n;
        if (!in(v[i], f->fields[i] == 'd' ? 2 * BENCH_PROMPT : 1, most)) return -1;
        *field = v[i];
    }
    return 0;
}

/* Append a test of speed, once; swept: for the sweep's table. */
static int add_test(struct plan *p, const char *name, bool swept, struct err *err)
{
    struct test t = {.swept = swept};
    int v[NUMBERS];
    size_t f = 0;
    for (int i = 0; i < p->tests; i++) {
        if (strcmp(p->test[i].name, name)) continue;
        p->test[i].swept &= swept;
        return 0;
    }
    if (p->tests == BENCH_TESTS) return err_set(err, -1, "more than %d tests", BENCH_TESTS);
    while (f < COUNT_OF(form) && !matches(name, form[f].pattern, v)) f++;
    if (f == COUNT_OF(form) || strlen(name) >= sizeof t.name) return bad(err, "no such test", name);
    if (fill(&t, &form[f], v)) return bad(err, "out of range (at most 64 sequences, and threads)", name);
    snprintf(t.name, sizeof t.name, "%.*s", (int)sizeof t.name - 1, name);
    p->test[p->tests++] = t;
    return 0;
}

static int add_sweep(struct plan *p, int n, const char *said, struct err *err)
{
    char name[24];
    if (!in(n, 1, STEPS) || (p->sweep && p->sweep != n)) return bad(err, "out of range, or the second sweep:", said);
    p->sweep = n;
    for (int i = 0; i < BENCH_SWEEP; i++) {
        snprintf(name, sizeof name, "b%dx%d", bench_sweep[i], n);
        if (add_test(p, name, true, err)) return -1;
    }
    return 0;
}

static int add_weighing(struct plan *p, int seqs, int ctx, const char *said, struct err *err)
{
    if (!in(seqs, 1, SEQS) || !in(ctx, 64, STEPS))
        return bad(err, "from 1 to 64 sequences of 64 tokens or more, not", said);
    p->weigh_seqs = seqs;
    p->weigh_ctx = ctx;
    return 0;
}

static int add_number(int *into, int n, int most, const char *said, struct err *err)
{
    if (!in(n, 1, most)) return bad(err, "out of range:", said);
    *into = n;
    return 0;
}

static int read_word(struct plan *p, const char *word, struct err *err)
{
    int v[NUMBERS];
    if (strcmp(word, "sweep") == 0) return add_sweep(p, 32, word, err);
    if (strcmp(word, "ledger") == 0) return add_weighing(p, 8, 1024, word, err);
    if (matches(word, "sweep#", v)) return add_sweep(p, v[0], word, err);
    if (matches(word, "ledger#x#", v)) return add_weighing(p, v[0], v[1], word, err);
    if (matches(word, "watch#", v)) return add_number(&p->watch, v[0], STEPS, word, err);
    if (matches(word, "draft#", v)) return add_number(&p->draft, v[0], STEPS, word, err);
    if (matches(word, "busy#", v)) return add_number(&p->busy, v[0], STEPS, word, err);
    if (matches(word, "agents#", v)) return add_number(&p->agents, v[0], SEQS, word, err);
    if (strcmp(word, "resume") && strcmp(word, "load")) return add_test(p, word, false, err);
    p->resume |= *word == 'r';
    p->load |= *word == 'l';
    return 0;
}

int plan_read(struct plan *p, const char *list, struct err *err)
{
    char word[32];
    *p = (struct plan){0};
    for (const char *at = list; at;) {
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof word) return bad(err, "--tests", list);
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        if (read_word(p, word, err)) return -1;
        at = at[n] ? at + n + 1 : NULL;
    }
    return 0;
}
