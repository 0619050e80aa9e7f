/* What is collected of a crew: a session an agent, whose artifacts are whose, and what their flight recorders say. */
#include "app/console.h"
#include "app/tui/view_artifacts.h"
#include "app/tui/view_flight.h"
#include "app/tui/view_sessions.h"
#include "tests/stored_rig.h"
#include "tests/team_rig.h"

#define CREW \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n" \
    "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n"

static void fine(const char *heard, char *out)
{
    (void)heard;
    says(out, "fine");
}

/* As the program has them, while the team is in the console. */
static struct doc collected(doc_collect *collect, int agent, int asked, const char *what)
{
    struct console c = {.a = &app, .s = &team.member[agent].s, .team = team};
    const enum doc_kind kind = collect == doc_sessions ? DOC_SESSIONS : DOC_FLIGHT;
    struct doc d = {.ask = {.kind = kind, .agent = asked}};
    snprintf(d.ask.what, sizeof d.ask.what, "%s", what);
    collect(&c, &d);
    return d;
}

static void put_result(int agent, size_t lines)
{
    struct buf b = {0};
    for (size_t i = 0; i < lines; i++) buf_printf(&b, "%06zu of a log that goes on and on, day.\n", i);
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{}", .kind = CLIP_LOG};
    struct voice *speaks = app.trace.voice;
    app.trace.voice = &team.member[agent].s.voice;
    OK(session_result(&team.member[agent].s, &t, &b, &err));
    app.trace.voice = speaks;
}

TEST(stored_sessions_of_a_crew_are_all_open_and_one_is_current)
{
    begin_team(CREW, fine, fresh_dir());
    CHECK_EQ(line("Hello."), EXIT_DONE);
    struct doc d = collected(doc_sessions, 1, 0, "");
    const struct doc_sessions *l = d.data;
    CHECK(l != NULL);
    CHECK_EQ(l->rows, 3);
    CHECK_STR(l->row[0].title, "test: Hello."); /* the run, and its sessions below it */
    CHECK(l->row[0].open && l->row[0].run && !l->row[0].current);
    for (int i = 1; i < 3; i++) {
        CHECK(l->row[i].open);
        CHECK_EQ(l->row[i].current, strcmp(l->row[i].title, "bob") == 0);
        CHECK_EQ(l->row[i].of, 0);
        CHECK(l->row[i].below);
    }
    CHECK(strcmp(l->row[1].title, l->row[2].title) != 0);
    doc_free(&d);
    end_team();
}

TEST(stored_artifacts_are_the_agents_that_is_asked_about)
{
    begin_team(CREW, fine, fresh_dir());
    put_result(1, 400);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    struct doc bobs = collected(doc_artifacts, 0, 1, ""), anns = collected(doc_artifacts, 1, 0, ""),
               anybody = collected(doc_artifacts, 1, -1, "");
    CHECK_EQ(((const struct doc_artifacts *)bobs.data)->rows, 1);
    CHECK_STR(((const struct doc_artifacts *)bobs.data)->agent, "bob");
    CHECK_EQ(((const struct doc_artifacts *)anns.data)->rows, 0);
    CHECK_STR(((const struct doc_artifacts *)anybody.data)->agent, "bob"); /* whom commands are about */
    doc_free(&bobs);
    doc_free(&anns);
    doc_free(&anybody);
    struct doc text = collected(doc_text, 0, 1, "a1"), none = collected(doc_text, 0, 0, "a1");
    CHECK_EQ(((const struct doc_text *)text.data)->bytes, 400 * 42);
    CHECK(!none.data && strstr(none.error, "no such artifact"));
    doc_free(&text);
    end_team();
}

/* A figure of the engine goes to the recorder of the agent that speaks when it is taken. */
TEST(stored_flights_of_a_crew_have_the_figures_of_its_engine)
{
    int samples = 0;
    begin_team(CREW, fine, fresh_dir());
    for (int i = 0; i < 3; i++) CHECK_EQ(line("Hello."), EXIT_DONE);
    for (int who = 0; who < 2; who++) {
        char id[33];
        journal_id_text(team.member[who].s.keep.head.id, id);
        struct doc d = collected(doc_flight, 0, 0, id);
        const struct doc_flight *f = d.data;
        if (!f) check_fail(__FILE__, __LINE__, "%s", d.error);
        CHECK_EQ(f->end, FLIGHT_OPEN_HERE); /* also where it is another than the one that commands are about */
        CHECK_STR(f->title, who ? "bob" : "ann");
        CHECK_EQ(f->unread, 0);
        for (int i = 0; i < f->samples; i++) CHECK(f->sample[i].pool > 0);
        samples += f->samples;
        doc_free(&d);
    }
    CHECK(samples > 0);
    struct doc d = collected(doc_flight, 0, 0, ""); /* there is none but those that are open */
    CHECK(!d.data && *d.error);
    end_team();
}

/* ---------------------------------------------------------------- very many */

static void put_head(struct store *s, int i)
{
    struct journal_batch b = {0};
    struct journal_head h = {.next = 2, .artifacts = 1, .turns = 1, .created_ms = i, .updated_ms = 1 + i};
    for (int k = 0; k < 4; k++) h.id[k] = (uint8_t)((unsigned)i * 2654435761u >> (8 * k));
    h.id[5] = (uint8_t)i;
    h.id[6] = (uint8_t)(i >> 8);
    snprintf(h.title, sizeof h.title, "session %d", i);
    journal_add_head(&b, &h);
    const struct store_key key = store_key_session(h.id);
    OK(store_put(s, &key, REC_SESSION, b.head.data, b.head.len, &err));
    journal_batch_free(&b);
}

TEST(stored_sessions_are_listed_up_to_their_most)
{
    const char *folder = fresh_dir();
    struct store *s = open_at(folder);
    store_begin(s, STORE_JOURNAL);
    for (int i = 0; i < SESSIONS_MOST + 20; i++) put_head(s, i);
    OK(store_commit(s, &err));
    store_close(s);
    begin_team(CREW, fine, folder);
    struct doc d = collected(doc_sessions, 0, 0, "");
    const struct doc_sessions *l = d.data;
    if (!l) check_fail(__FILE__, __LINE__, "%s", d.error);
    CHECK_EQ(l->rows, SESSIONS_MOST);
    CHECK(l->more);
    char title[40];
    for (int i = 0; i < l->rows; i++) {
        snprintf(title, sizeof title, "session %d", SESSIONS_MOST + 19 - i);
        CHECK_STR(l->row[i].title, title);
        CHECK(l->row[i].bytes > 0);
    }
    open_view(&view_sessions, &d);
    CHECK(shows("the newest 5,000"));
    type("t");
    press(KEY_END);
    CHECK(shows(" session 20 "));
    type("/session 4711");
    CHECK(shows("1 of 5,000"));
    close_view();
    doc_free(&d);
    end_team();
}

CHECK_MAIN
