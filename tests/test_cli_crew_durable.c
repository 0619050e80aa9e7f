/* A crew's run whose program is killed at random moments is gone on with as a whole: after each kill, --crew FILE
 * --resume last has every agent's every turn whose `saved` event was read, and the whole run under one id.
 * PLIMSOLL_FULL=1: many times. */
#include "app/session/event.h"
#include "memory/journal.h"
#include "tests/child.h"
#include "tests/store_rig.h"
#include <poll.h>
#include <signal.h>

enum { KILLS = 12, ALL_KILLS = 400, LINES = 40, PATIENCE_MS = 60000, AGENTS = 2 };

#define MODEL "tests/fixtures/llama-gqa.gguf"

static const char *const names[AGENTS] = {"ann", "bob"};

static uint64_t seed = 4711;
static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

static uint32_t acknowledged[AGENTS]; /* turns of each */
static uint32_t resumed[AGENTS];      /* that the program said it has, in this run of it */
static uint32_t turns[AGENTS];        /* that were there after the run before */
static uint8_t run_id[STORE_SESSION_ID];
static bool any;                      /* a run is there */
static int saved_events, resumes;

/* ---------------------------------------------------------------- one run of the program */

static const char *file_of(const char *name, const char *text)
{
    static char path[2][512];
    static int at;
    at = (at + 1) % 2;
    snprintf(path[at], sizeof path[at], "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(path[at], "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path[at];
}

static const char *crew(void)
{
    return file_of("crew.yaml", "crew: pair\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n"
                                "    system: I am bob\nflow:\n  kind: round_robin\n  members: [ann, bob]\n"
                                "  rounds: 1\n");
}

static const char *answers(void)
{
    struct buf b = {0};
    for (int i = 0; i < 97; i++) buf_printf(&b, "{\"answer\":\"%d of %d\",\"token_ms\":%d}\n", i, i * i, i % 3 == 0);
    const char *path = file_of("answers.jsonl", b.data);
    buf_free(&b);
    return path;
}

static bool has(const struct buf *b, const char *text) { return b->data && strstr(b->data, text); }

/* Reads until the program says this, or ends. */
static void read_until(struct child *c, const char *text, struct buf *out)
{
    while (!has(out, text)) {
        char part[4096];
        struct pollfd p = {c->out, POLLIN, 0};
        if (poll(&p, 1, PATIENCE_MS) != 1) check_fail(__FILE__, __LINE__, "the program says nothing");
        ssize_t n = read(c->out, part, sizeof part);
        if (n <= 0) return;
        buf_put(out, part, (size_t)n);
    }
}

static void run_and_kill(const char *dir, int round, struct buf *out)
{
    const char *args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers(), "--json", "-n", "24",
                          "--crew", crew(), "--store", dir, any ? "--resume" : NULL, "last", NULL};
    struct child c;
    child_start(&c, args);
    for (int i = 0; i < LINES; i++) {
        char line[64];
        int n = snprintf(line, sizeof line, "question %d.%d\n", round, i);
        child_type(&c, line, (size_t)n);
    }
    if (draw(5)) read_until(&c, "\"event\":\"saved\"", out); /* else: perhaps while it opens */
    usleep((useconds_t)draw(draw(2) ? 8000 : 60000));
    CHECK_EQ(kill(c.pid, SIGKILL), 0);
    int status = child_end(&c);
    if (status != 1000 + SIGKILL)
        check_fail(__FILE__, __LINE__, "it ended by itself with %d: %s", status,
                   c.err_text.data ? c.err_text.data : "");
    buf_put(out, c.out_text.data, c.out_text.len);
    child_free(&c);
}

static int agent_of(struct event_str s)
{
    for (int i = 0; i < AGENTS; i++)
        if (s.len == strlen(names[i]) && memcmp(s.data, names[i], s.len) == 0) return i;
    return -1;
}

/* Whole lines only: the last was perhaps cut. */
static void note_events(const struct buf *out)
{
    const char *at = out->data;
    for (const char *end; at && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct event e;
        if (event_read(at, (size_t)(end - at), &e, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        int who = agent_of(e.agent);
        if (e.kind == EV_RESUMED) {
            CHECK(who >= 0);
            resumed[who] = (uint32_t)e.resumed.turns;
            CHECK_EQ(resumed[who], turns[who]); /* all that the store has */
            resumes++;
        }
        if (e.kind == EV_SAVED && who >= 0) {
            acknowledged[who] = (uint32_t)e.saved.turn;
            saved_events++;
        }
        event_free(&e);
    }
}

/* ---------------------------------------------------------------- what is there */

struct look {
    uint32_t said, last; /* answers; the turn of the last */
};

static bool see(void *self, uint64_t number, const struct journal_message *m)
{
    struct look *l = self;
    (void)number;
    l->said += m->kind == JOURNAL_ANSWER;
    if (m->kind == JOURNAL_ANSWER) l->last = m->turn;
    return true;
}

static bool see_damage(void *self, const char *line)
{
    (void)self;
    check_fail(__FILE__, __LINE__, "%s", line);
}

static void look_at_member(struct store *s, const struct journal_head *h, int round)
{
    struct look l = {0};
    int who = agent_of(event_str(h->run.agent));
    CHECK(who >= 0);
    OK(journal_each(s, h->id, 0, &(struct journal_visit){see, NULL, see_damage, &l}, &err));
    if (h->turns < acknowledged[who] || l.said != h->turns || l.last != h->turns)
        check_fail(__FILE__, __LINE__, "kill %d: %s has %u turns in the head, %u answers, %u were acknowledged", round,
                   names[who], (unsigned)h->turns, (unsigned)l.said, (unsigned)acknowledged[who]);
    turns[who] = h->turns;
}

/* One run, whose record is there wherever a session of it is. */
static void look_at(const char *dir, int round)
{
    struct journal_head *list = NULL, run;
    size_t n = 0;
    struct store *s = open_at(dir);
    OK(journal_heads(s, 1000, &list, &n, NULL, &err));
    if (n > 0) {
        OK(journal_find_run(s, "last", "pair", &run, &err));
        CHECK(!any || memcmp(run.id, run_id, sizeof run_id) == 0);
        memcpy(run_id, run.id, sizeof run_id);
        any = true;
    }
    for (size_t i = 0; i < n; i++) {
        CHECK_MEM(list[i].run.id, run_id, sizeof run_id);
        if (!journal_is_run(&list[i])) look_at_member(s, &list[i], round);
    }
    CHECK(n <= 1 + AGENTS);
    free(list);
    store_close(s);
}

TEST(after_sigkill_a_crews_run_goes_on_with_every_turn_of_every_agent)
{
    char dir[256];
    int kills = getenv("PLIMSOLL_FULL") ? ALL_KILLS : KILLS;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    for (int round = 0; round < kills; round++) {
        struct buf out = {0};
        run_and_kill(dir, round, &out);
        note_events(&out);
        look_at(dir, round);
        buf_free(&out);
    }
    printf("# %u and %u turns, %d saved events, %d resumed in %d runs\n", (unsigned)turns[0], (unsigned)turns[1],
           saved_events, resumes, kills);
    CHECK(saved_events > kills / 2 && resumes > kills / 2); /* it did work between the kills */
}

CHECK_MAIN
