/* test_cli_crew.c - the crews that are part of the program, each with the model that is part of it: a script with the
 * crew's flow ends as it should, within its context and its pages, and twice with the same stream. */
#include "app/session/event.h"
#include "tests/check.h"
#include "tests/child.h"

static struct child c;

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }

static int run(const char *in, size_t n_in, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS];
    CHECK(n < COUNT_OF(all));
    for (size_t i = 0; i < n; i++) all[i] = args[i];
    all[n] = NULL;
    child_free(&c);
    return child_run(&c, all, in, n_in);
}

#define ARGS(...) (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))

static bool is(struct event_str s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

/* ---------------------------------------------------------------- what a crew promises */

/* The example in the head of a crew's file is its input.  first: whom it asks in any case, in this order; agents: all
 * of them, with the contexts that their file gives them. */
static const struct expected {
    const char *name, *first;
    struct { const char *name; int context; } agent[3];
} crews[] = {
    {"single", "planner ", {{"planner", 512}}},
    {"round_robin", "writer critic ", {{"writer", 768}, {"critic", 768}}},
    {"selector", "researcher ", {{"researcher", 768}, {"writer", 768}, {"critic", 768}}},
    {"sequential", "researcher writer ", {{"researcher", 768}, {"writer", 768}}},
    {"supervisor", "planner writer ", {{"planner", 1024}, {"writer", 512}, {"critic", 512}}},
    {"map", "researcher/1 researcher/2 writer ", {{"researcher", 512}, {"writer", 1024}}},
    {"debate", "first second first second judge ", {{"first", 768}, {"second", 768}, {"judge", 1024}}},
    {"graph", "writer critic ", {{"writer", 768}, {"critic", 768}}},
};

/* The lines "#     ..." of the crew's file. */
static void put_example(const char *crew, struct buf *out)
{
    char path[80], line[200];
    snprintf(path, sizeof path, "assets/crews/%s.yaml", crew);
    FILE *f = fopen(path, "r");
    size_t before = out->len;
    CHECK(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "#     ", 6) == 0) buf_puts(out, line + 6);
    fclose(f);
    CHECK(out->len > before);
}

static struct buf script_of(const struct expected *x)
{
    struct buf s = {0};
    buf_puts(&s, "plimsoll 1\n<<END\n");
    put_example(x->name, &s);
    buf_puts(&s, "END\n/expect /./\n");
    for (size_t i = 0; i < COUNT_OF(x->agent) && x->agent[i].name; i++)
        buf_printf(&s, "/assert context.tokens@%s <= %d\n", x->agent[i].name, x->agent[i].context);
    buf_puts(&s, "/assert pool.reserved = 0\n/assert steps >= 1\n");
    return s;
}

/* ---------------------------------------------------------------- what it did */

/* Calls `see` with every event on stdout. */
static void each_event(void (*see)(const struct event *e, void *self), void *self)
{
    struct err why = {0};
    struct event e;
    for (const char *at = out(), *end; (end = strchr(at, '\n')); at = end + 1) {
        if (event_read(at, (size_t)(end - at), &e, &why)) check_fail(__FILE__, __LINE__, "%s", why.text);
        see(&e, self);
        event_free(&e);
    }
}

struct seen {
    struct buf asked, end;
    int begun, ended, memories;
    int64_t pool;
};

static void see(const struct event *e, void *self)
{
    struct seen *s = self;
    s->begun += e->kind == EV_TURN_START;
    s->ended += e->kind == EV_TURN_END;
    if (e->kind == EV_FLOW && is(e->flow.change, "asked")) {
        buf_put(&s->asked, e->flow.to.data, e->flow.to.len);
        buf_puts(&s->asked, " ");
    } else if (e->kind == EV_FLOW && e->flow.ask == 0) {
        buf_put(&s->end, e->flow.change.data, e->flow.change.len);
    } else if (e->kind == EV_MEMORY) {
        s->memories++;
        CHECK(e->memory.reserved_tokens <= e->memory.pool_tokens);
        CHECK(e->memory.filled_tokens <= e->memory.pool_tokens);
    } else if (e->kind == EV_TURN_START) {
        CHECK(e->turn_start.reserved_tokens <= 1024);
    }
}

static void check_flow(const struct expected *x)
{
    struct seen s = {0};
    each_event(see, &s);
    CHECK_STR(s.end.data, "done");
    CHECK(s.asked.len > 0);
    if (strncmp(s.asked.data, x->first, strlen(x->first)) != 0) CHECK_STR(s.asked.data, x->first);
    for (size_t i = 0; i < COUNT_OF(x->agent) && x->agent[i].name; i++)
        if (!strstr(s.asked.data, x->agent[i].name))
            check_fail(__FILE__, __LINE__, "%s: %s was not asked", x->name, x->agent[i].name);
    CHECK(s.memories > 0 && s.begun > 0);
    CHECK_EQ(s.begun, s.ended);
    buf_free(&s.asked);
    buf_free(&s.end);
}

/* stdout as `plimsoll events --stable` says it. */
static struct buf stable(void)
{
    struct buf stream = c.out_text, text;
    c.out_text = (struct buf){0};
    CHECK_EQ(run(stream.data, stream.len, ARGS("events", "--stable")), 0);
    buf_free(&stream);
    text = c.out_text;
    c.out_text = (struct buf){0};
    return text;
}

TEST(crew_of_each_kind_ends_within_its_bounds_and_twice_the_same)
{
    for (size_t i = 0; i < COUNT_OF(crews); i++) {
        struct buf script = script_of(&crews[i]), first = {0};
        for (int again = 0; again < 2; again++) {
            int status = run(script.data, script.len, ARGS("--crew", crews[i].name, "--seed", "1", "--script", "--json",
                                                          "--no-save"));
            if (status) check_fail(__FILE__, __LINE__, "%s: %d: %s", crews[i].name, status, c.err_text.data);
            check_flow(&crews[i]);
            struct buf text = stable();
            if (again) CHECK_STR(text.data, first.data);
            buf_free(&first);
            first = text;
        }
        buf_free(&first);
        buf_free(&script);
    }
}

/* The figures are those of agents: what is not so ends the script with its line. */
TEST(crew_that_is_over_its_bounds_fails_the_script)
{
    static const char script[] = "plimsoll 1\nwrite a note to Anna that names the date 3 May\n"
                                 "/assert context.tokens@critic > 30\n/assert context.tokens@critic <= 30\n";
    CHECK_EQ(run(script, sizeof script - 1, ARGS("--crew", "graph", "--seed", "1", "--script", "--no-save")), 6);
    CHECK(c.err_text.data && strstr(c.err_text.data, "line 4: "));
}

/* Of a model with a window a context takes less of the pool than it has tokens: here four do, whose contexts in full
 * would be two. */
TEST(crew_works_by_as_many_as_the_pool_is_promised_to)
{
    static const char script[] = "plimsoll 1\n<<X\none\ntwo\nthree\nfour\nX\n";
    char path[300];
    snprintf(path, sizeof path, "%s/many.yaml", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("crew: many\nagents: [{name: worker}]\n"
                     "flow: {kind: map, members: [worker]}\n", f) >= 0);
    fclose(f);
    CHECK_EQ(run(script, sizeof script - 1, ARGS("-m", "tests/fixtures/llama-window.gguf", "--crew", path, "--ctx",
                                                 "512", "--pool", "1216", "--parallel", "4", "--temp", "0", "--seed",
                                                 "1", "--no-save", "--answers", "40", "--json",
                                                 "--all-samples", "--script")), 0);
    CHECK(strstr(out(), "\"running\":4"));
}

/* ---------------------------------------------------------------- saved, and gone on with */

static void check_out(const char *part)
{
    if (!strstr(out(), part)) CHECK_STR(out(), part);
}

#define RUN(in, ...) run(in, sizeof(in) - 1, ARGS("--crew", "graph", "--seed", "1", "--store", store, __VA_ARGS__))
#define SESSIONS(...) run("", 0, ARGS("sessions", __VA_ARGS__, "--store", store))

TEST(crew_is_listed_in_one_piece_and_goes_on_as_a_whole)
{
    static const char ask[] = "plimsoll 1\nwrite a note to Anna that names the date 3 May\n/assert turns@critic >= 1\n";
    static const char more[] = "plimsoll 1\n/assert turns@critic >= 1\n/resume last\n";
    char store[300], id[9];
    snprintf(store, sizeof store, "%s/crew", check_tmpdir());
    CHECK_EQ(RUN(ask, "--script"), 0);
    CHECK_EQ(SESSIONS("list"), 0);
    snprintf(id, sizeof id, "%.8s", out()); /* the run's own record */
    check_out("1 line   graph: write a note");
    check_out("1 turn     writer");
    check_out("1 turn     critic");
    CHECK_EQ(RUN(more, "--script", "--resume", id), 2); /* that one is open here */
    CHECK(c.err_text.data && strstr(c.err_text.data, "goes on after 1 line]"));
    CHECK(strstr(c.err_text.data, "open here"));
    CHECK_EQ(SESSIONS("export", id), 0);
    check_out("\"event\":\"flow\"");
    check_out("write a note to Anna");
    CHECK_EQ(run("", 0, ARGS("--resume", id, "--store", store)), 2);
    CHECK(strstr(c.err_text.data, "--crew graph --resume"));
    CHECK_EQ(run("", 0, ARGS("--crew", "debate", "--resume", id, "--store", store)), 2);
    CHECK(strstr(c.err_text.data, "is of the crew graph"));
    CHECK_EQ(run("", 0, ARGS("--crew", "graph", "--resume", "last", "--no-save")), 2);
    CHECK_EQ(SESSIONS("delete", id), 2); /* its agents' sessions have the same texts: they go with it */
    CHECK(strstr(c.err_text.data, "1 line, and 2 sessions of its agents"));
    CHECK_EQ(SESSIONS("delete", id, "--yes"), 0);
    CHECK_EQ(SESSIONS("list"), 0);
    CHECK_STR(out(), "");
}

CHECK_MAIN
