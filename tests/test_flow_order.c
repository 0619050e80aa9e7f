/* Random crews and random answers: a flow ends within its steps, asks the same in whatever order answers come and
 * however many asks are out, and gives its memory back, also where there is none. */
#include "tests/flow_rig.h"
#include "tests/interpose.h"

static uint64_t seed;

static int upto(int n) /* 0 .. n - 1 */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)((seed >> 11) % (uint64_t)n);
}

/* ------------------------------------------------------------------ a random crew */

enum { TASKS = 5, STEPS = 40 };

struct any {
    struct crew crew;
    struct crew_task task[TASKS];
    struct crew_edge edge[2 * TASKS];
    char input[64];
};

static void any_tasks(struct any *a)
{
    static const char *const name[TASKS] = {"t0", "t1", "t2", "t3", "t4"};
    static const char *const text[] = {"Do it.", "{input}", "Use {t0} and {t3} for {input}.", "{t1} {t9} {", ""};
    static const char *const word[] = {"a", "word", "STOP"};
    a->crew.n_tasks = 1 + upto(TASKS);
    for (int i = 0; i < a->crew.n_tasks; i++) {
        struct crew_task *t = &a->task[i];
        t->name = (char *)name[i];
        t->agent = upto(NAMES);
        t->text = (char *)text[upto((int)COUNT_OF(text))];
        int before = a->crew.flow == FLOW_GRAPH ? a->crew.n_tasks : i;
        for (int n = 0; n < before; n++) {
            if (upto(2)) t->needs[t->n_needs++] = n;
        }
    }
    a->crew.n_edges = upto(2 * TASKS + 1);
    for (int i = 0; i < a->crew.n_edges; i++) {
        int to = upto(a->crew.n_tasks + 1) - 1;
        a->edge[i] = (struct crew_edge){upto(a->crew.n_tasks), to, (enum crew_when)upto(WHEN_FAILED + 1),
                                        (char *)word[upto((int)COUNT_OF(word))]};
    }
    a->crew.task = a->task;
    a->crew.edge = a->edge;
}

static void any_crew(struct any *a)
{
    static const char *const prompt[] = {NULL, "Answer {input}.", "Speak."};
    static const char *const input[] = {"x", "one\ntwo\n\nthree\nfour", "\n\n", "",
                                        "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl"};
    enum flow_kind kind = (enum flow_kind)upto(FLOW_KINDS);
    *a = (struct any){.crew = crew_of(kind, 1 + upto(4))};
    for (int i = 0; i < a->crew.n_members; i++) a->crew.members[i] = upto(NAMES);
    bool must = kind == FLOW_SUPERVISOR || kind == FLOW_DEBATE;
    a->crew.lead = must || upto(2) ? upto(NAMES) : -1;
    a->crew.steps = 1 + upto(STEPS);
    a->crew.rounds = upto(4);
    a->crew.retries = upto(3);
    a->crew.parallel = upto(4);
    a->crew.split = upto(2) ? SPLIT_LINES : SPLIT_PARAGRAPHS;
    a->crew.stop = upto(2) ? "STOP" : NULL;
    a->crew.stop_on_accept = upto(2);
    a->crew.prompt = (char *)prompt[upto((int)COUNT_OF(prompt))];
    a->crew.reduce = upto(2) ? "Reduce {input}." : NULL;
    snprintf(a->input, sizeof a->input, "%s", input[upto((int)COUNT_OF(input))]);
    any_tasks(a);
}

/* What a model may say to ask number `ask`: the same for the same one, in whatever order it comes. */
static enum flow_outcome any_answer(uint64_t from, int ask, struct buf *out)
{
    static const char *const said[] = {
        "", "done", "ann", "I ask Bob", "Verdict: accept", "Verdict: revise\nIt is long.", "STOP", "a word",
        "ann: count\nbob: sum up\nann: look\nlead: join", "cat: one thing", "- dan: a\n- eve: b\n- dan: a\n- dan: c",
    };
    uint64_t kept = seed;
    seed = from + (uint64_t)ask * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++) upto(2);
    enum flow_outcome how = upto(12) ? FLOW_SAID : FLOW_ASK_FAILED;
    out->len = 0;
    switch (upto(4)) {
    case 0:
        for (int i = upto(60); i > 0; i--) buf_put(out, &(char){(char)upto(256)}, 1);
        break;
    case 1: buf_printf(out, "words number %d", upto(1000)); break;
    default: buf_puts(out, said[upto((int)COUNT_OF(said))]);
    }
    seed = kept;
    return how;
}

/* ------------------------------------------------------------------ a run */

struct run {
    struct buf ask[STEPS + 1]; /* as text, by number */
    struct buf end;            /* and what came out */
    int steps;
};

static void run_free(struct run *r)
{
    for (int i = 0; i <= STEPS; i++) buf_free(&r->ask[i]);
    buf_free(&r->end);
}

struct out { /* what is out */
    struct flow_effect e[STEPS];
    int n;
};

static void take(const struct any *a, struct flow_effect e, const bool *settled, struct out *o, struct run *r)
{
    CHECK(e.ask >= 1 && e.ask <= a->crew.steps && r->ask[e.ask].len == 0);
    for (int i = 0; i < o->n; i++) CHECK(o->e[i].agent != e.agent || o->e[i].copy != e.copy);
    for (int i = 0; i < e.n_parts; i++) {
        const struct flow_part *p = &e.part[i];
        CHECK(p->ask >= 0 && p->ask < e.ask && (p->ask == 0) == (p->agent == -1));
        CHECK(p->ask == 0 || settled[p->ask]);
    }
    CHECK_EQ(e.text[e.n], '\0');
    CHECK(e.again <= a->crew.retries);
    show_effect(&a->crew, &e, &r->ask[e.ask]);
    o->e[o->n++] = e;
}

/* Plays it with at most `parallel` asks out; shuffled: answers come in a random order, and before more is asked. */
static bool play_any(const struct any *a, uint64_t answers, int parallel, bool shuffled, struct run *r)
{
    struct flow *f = flow_open(&a->crew, a->input, strlen(a->input), parallel, NULL);
    struct out o = {.n = 0};
    struct buf said = {0};
    bool settled[STEPS + 1] = {false};
    struct flow_effect e = {.kind = FLOW_ASK};
    *r = (struct run){.steps = 0};
    if (!f) return false;
    for (;;) {
        bool wait = shuffled && o.n > 0 && upto(3) == 0;
        if (!wait && flow_next(f, &e)) {
            if (e.kind == FLOW_OVER) break;
            take(a, e, settled, &o, r);
            CHECK(o.n <= parallel && (a->crew.parallel == 0 || o.n <= a->crew.parallel));
            continue;
        }
        CHECK(o.n > 0); /* else it would wait for nothing */
        int at = shuffled ? upto(o.n) : 0;
        enum flow_outcome how = any_answer(answers, o.e[at].ask, &said);
        CHECK_EQ(flow_answer(f, o.e[at].ask, how, said.data, said.len, NULL), 0);
        settled[o.e[at].ask] = how == FLOW_SAID;
        memmove(o.e + at, o.e + at + 1, (size_t)(--o.n - at) * sizeof *o.e);
    }
    CHECK_EQ(o.n, 0);
    size_t n;
    const char *out = flow_output(f, &n);
    CHECK_EQ(out[n], '\0');
    show_effect(&a->crew, &e, &r->end);
    buf_put(&r->end, out, n);
    r->steps = flow_steps(f);
    CHECK(r->steps <= a->crew.steps);
    buf_free(&said);
    flow_close(f);
    return true;
}

static void check_same(const struct buf *a, const struct buf *b)
{
    CHECK_EQ(a->len, b->len);
    if (a->len > 0) CHECK_MEM(a->data, b->data, a->len);
}

TEST(flow_of_any_crew_does_not_depend_on_the_order_of_answers)
{
    struct any a;
    struct run one, other;
    int ends[FLOW_KINDS] = {0};
    for (uint64_t i = 1; i <= 4000; i++) {
        seed = i * 0x2545f4914f6cdd1du;
        any_crew(&a);
        uint64_t answers = seed;
        if (!play_any(&a, answers, 1, false, &one)) {
            CHECK_EQ(a.crew.flow, FLOW_MAP); /* whose input has no parts, or too many */
            continue;
        }
        for (int way = 0; way < 3; way++) {
            CHECK(play_any(&a, answers, 1 + upto(8), way > 0, &other));
            for (int k = 1; k <= STEPS; k++) check_same(&one.ask[k], &other.ask[k]);
            check_same(&one.end, &other.end);
            CHECK_EQ(one.steps, other.steps);
            run_free(&other);
        }
        ends[a.crew.flow]++;
        run_free(&one);
    }
    for (int k = 0; k < FLOW_KINDS; k++) CHECK(ends[k] > 100); /* all ways were tried */
}

TEST(flow_of_any_crew_can_be_left_or_cancelled_in_the_middle)
{
    struct any a;
    struct flow_effect e;
    struct buf said = {0};
    for (uint64_t i = 1; i <= 2000; i++) {
        seed = i * 0x2545f4914f6cdd1du;
        any_crew(&a);
        struct flow *f = flow_open(&a.crew, a.input, strlen(a.input), 4, NULL);
        int asks = upto(12);
        bool left = upto(2), over = false;
        while (f && !over && asks-- > 0 && flow_next(f, &e)) {
            over = e.kind == FLOW_OVER;
            bool out = !over && upto(4) > 0;
            enum flow_outcome how = any_answer(i, e.ask, &said);
            if (out) CHECK_EQ(flow_answer(f, e.ask, how, said.data, said.len, NULL), 0);
        }
        if (f && !left && !over) {
            flow_cancel(f);
            CHECK(flow_next(f, &e) && e.kind == FLOW_OVER && e.end == FLOW_CANCELLED);
            CHECK(!flow_next(f, &e));
        }
        flow_close(f);
    }
    buf_free(&said);
}

/* ------------------------------------------------------------------ without memory */

/* Plays it with what there is; nothing is taken by this itself. */
static void play_poor(const struct any *a, uint64_t answers, struct buf *said)
{
    struct err err;
    struct flow_effect e = {.kind = FLOW_ASK};
    struct flow *f = flow_open(&a->crew, a->input, strlen(a->input), 3, &err);
    while (f && flow_next(f, &e) && e.kind == FLOW_ASK) {
        enum flow_outcome how = any_answer(answers, e.ask, said);
        if (flow_answer(f, e.ask, how, said->data, said->len, &err)) break;
    }
    if (f && e.kind == FLOW_ASK) flow_next(f, &e);
    bool ended = !f || e.kind == FLOW_OVER;
    flow_close(f);
    interpose_disarm();
    CHECK(ended);
}

TEST(flow_without_memory_ends_and_gives_back_what_it_took)
{
    if (!INTERPOSE_WORKS) SKIP("a sanitizer has an allocator of its own");
    struct any a;
    struct buf said = {0};
    for (int i = 0; i < 100; i++) buf_puts(&said, "room for what is said");
    for (uint64_t i = 1; i <= 64; i++) {
        seed = i * 0x2545f4914f6cdd1du;
        any_crew(&a);
        interpose_arm(0, false);
        play_poor(&a, i, &said);
        long all = atomic_load(&interpose.takes);
        CHECK(all >= 2); /* it and its input */
        for (long n = 1; n <= 2 * all; n++) {
            interpose_arm((n + 1) / 2, n % 2);
            play_poor(&a, i, &said);
            CHECK_EQ(atomic_load(&interpose.live), 0);
        }
    }
    buf_free(&said);
}

CHECK_MAIN
