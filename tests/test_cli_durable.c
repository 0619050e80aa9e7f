/* The program with --json is killed at random moments: after each, --resume last has every turn whose `saved` event was
 * read, with its words.  PLIMSOLL_FULL=1: a thousand times. */
#include "app/session/event.h"
#include "memory/journal.h"
#include "tests/child.h"
#include "tests/store_rig.h"
#include <poll.h>
#include <signal.h>

enum { KILLS = 25, ALL_KILLS = 1000, LINES = 60, TURNS = 100 * ALL_KILLS, PATIENCE_MS = 60000 };

#define MODEL "tests/fixtures/llama-gqa.gguf"

static uint64_t seed = 90210;
static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* What was said in a turn, as the events had it, and as the store has it. */
struct said {
    char user[64], answer[160];
};
static struct said *heard, *there; /* by turn */
static uint32_t acknowledged;      /* turns 1 to this */
static uint32_t resumed;           /* turns that the program said it has */
static uint32_t had;               /* turns that were there after the run before: one of each may not be acknowledged */
static int saved_events;

static void copy(char *to, size_t cap, const char *text, size_t n)
{
    snprintf(to, cap, "%.*s", (int)n, text);
}

/* ---------------------------------------------------------------- one run */

static const char *script(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/answers.jsonl", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int i = 0; i < 97; i++) fprintf(f, "{\"answer\":\"answer %d of %d\",\"token_ms\":%d}\n", i, i * i, i % 3 == 0);
    CHECK_EQ(fclose(f), 0);
    return path;
}

static bool has(const struct buf *b, const char *text)
{
    return b->data && strstr(b->data, text);
}

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

/* What the program wrote up to its end is appended to out. */
static void run_and_kill(const char *dir, int round, struct buf *out)
{
    const char *args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", script(), "--json", "-n", "24",
                          "--store", dir, acknowledged ? "--resume" : NULL, "last", NULL};
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
    if (status != 1000 + SIGKILL) {
        const char *why = c.err_text.data ? c.err_text.data : "";
        check_fail(__FILE__, __LINE__, "it ended by itself with %d: %s", status, why);
    }
    buf_put(out, c.out_text.data, c.out_text.len);
    child_free(&c);
}

static void note(const struct event *e)
{
    switch (e->kind) {
    case EV_RESUMED:
        resumed = (uint32_t)e->resumed.turns;
        break;
    case EV_TURN_USER:
        CHECK(e->turn_user.turn < TURNS);
        copy(heard[e->turn_user.turn].user, sizeof heard->user, e->turn_user.text.data, e->turn_user.text.len);
        break;
    case EV_TURN_END:
        copy(heard[e->turn_end.turn].answer, sizeof heard->answer, e->turn_end.text.data, e->turn_end.text.len);
        break;
    case EV_SAVED:
        CHECK_EQ(e->saved.turn, MAX(acknowledged, resumed) + 1);
        acknowledged = (uint32_t)e->saved.turn;
        saved_events++;
        break;
    default: break;
    }
}

/* Whole lines only: the last was perhaps cut. */
static void note_events(const struct buf *out)
{
    const char *at = out->data;
    for (const char *end; at && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct event e;
        if (event_read(at, (size_t)(end - at), &e, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        note(&e);
        event_free(&e);
    }
}

/* ---------------------------------------------------------------- what is there */

struct look {
    struct journal_spans out;
    uint32_t turns;
};

static bool see(void *self, uint64_t number, const struct journal_message *m)
{
    struct look *l = self;
    if (journal_span_has(&l->out, number) || m->turn == 0 || m->turn >= TURNS) return true;
    if (m->kind == JOURNAL_USER) copy(there[m->turn].user, sizeof there->user, m->text, m->len);
    if (m->kind == JOURNAL_ANSWER) copy(there[m->turn].answer, sizeof there->answer, m->text, m->len);
    l->turns = MAX(l->turns, m->turn);
    return true;
}

static bool see_damage(void *self, const char *line)
{
    (void)self;
    check_fail(__FILE__, __LINE__, "%s", line);
}

static void look_at(const char *dir, int round)
{
    struct look l = {0};
    struct store *s = open_at(dir);
    struct journal_head h;
    const struct journal_visit v = {.message = see, .damaged = see_damage, .self = &l};
    if (acknowledged == 0) {
        store_close(s);
        return;
    }
    OK(journal_find(s, "last", &h, &err));
    OK(journal_out(s, h.id, 0, h.next, 1u << JOURNAL_UNDONE, &l.out, &err));
    memset(there, 0, TURNS * sizeof *there);
    OK(journal_each(s, h.id, 0, &v, &err));
    if (h.turns < acknowledged || h.turns > MAX(acknowledged, had) + 1 || l.turns != h.turns)
        check_fail(__FILE__, __LINE__, "kill %d: %u turns in the head, %u in messages, %u were acknowledged", round,
                   (unsigned)h.turns, (unsigned)l.turns, (unsigned)acknowledged);
    for (uint32_t t = 1; t <= acknowledged; t++) {
        CHECK_STR(there[t].user, heard[t].user);
        CHECK_STR(there[t].answer, heard[t].answer);
        CHECK(*there[t].user && *there[t].answer);
    }
    had = h.turns;
    journal_span_free(&l.out);
    store_close(s);
}

TEST(after_sigkill_a_resumed_session_has_every_turn_that_was_said_to_be_saved)
{
    char dir[256];
    int kills = getenv("PLIMSOLL_FULL") ? ALL_KILLS : KILLS;
    heard = calloc(TURNS, sizeof *heard);
    there = calloc(TURNS, sizeof *there);
    CHECK(heard && there);
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    for (int round = 0; round < kills; round++) {
        struct buf out = {0};
        resumed = 0;
        run_and_kill(dir, round, &out);
        note_events(&out);
        if (resumed) CHECK_EQ(resumed, had);
        look_at(dir, round);
        buf_free(&out);
    }
    printf("# %u turns, %d saved events in %d runs\n", (unsigned)acknowledged, saved_events, kills);
    CHECK(saved_events > kills); /* it did work between the kills */
    free(heard);
    free(there);
}

CHECK_MAIN
