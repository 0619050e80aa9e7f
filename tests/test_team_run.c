/* The run of a crew in the store: its record, and all of it gone on with as a whole. */
#include "app/say.h"
#include "tests/team_rig.h"

#define TWO \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n"
#define CREW TWO "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n"
#define CHANGED \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann, still\n  - name: cyd\n    system: I am cyd\n" \
    "flow:\n  kind: round_robin\n  members: [ann, cyd]\n  rounds: 1\n"
#define OTHERS \
    "crew: another\nagents:\n  - name: ann\n    system: I am ann\nflow:\n  kind: single\n"

/* Each agent says who it is, and how many user's messages it heard. */
static void by_name(const char *heard, char *out)
{
    int n = 0;
    for (const char *at = heard; (at = strstr(at, "user:")) != NULL; at++) n++;
    const char *name = hears(heard, "I am ann, still") ? "ann, still," : hears(heard, "I am ann") ? "ann"
                       : hears(heard, "I am bob") ? "bob" : "cyd";
    snprintf(out, MANY_TEXT, "%s says %d", name, n);
}

static struct buf said; /* lines for the person, of the last go_on() */

static void on_line(void *self, enum say_kind kind, const char *text, size_t n)
{
    (void)kind;
    buf_put(self, text, n);
    buf_puts(self, "\n");
}

static bool was_said(const char *part) { return said.data && hears(said.data, part); }

/* An exit status; end_team() is due. */
static int go_on(const char *yaml, const char *folder, const char *name)
{
    open_app(yaml, by_name, 4000, 8, folder);
    opts.resume = name;
    buf_free(&said);
    say_divert(on_line, &said);
    int status = team_open(&team, &app, &err);
    say_divert(NULL, NULL);
    return status;
}

static const char *id_of(int agent)
{
    static char id[4][2 * STORE_SESSION_ID + 1];
    static int at;
    at = (at + 1) % 4;
    journal_id_text(agent < 0 ? team.run.keep.head.id : team.member[agent].s.keep.head.id, id[at]);
    return id[at];
}

static char ann[40], bobs[40], run_id[40], folder[256];

/* A run of two lines, which has ended. */
static void one_run(void)
{
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(CREW, by_name, folder);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_EQ(line("And now?"), EXIT_DONE);
    CHECK_STR(result(), "bob says 2");
    snprintf(ann, sizeof ann, "%s", id_of(0));
    snprintf(bobs, sizeof bobs, "%s", id_of(1));
    snprintf(run_id, sizeof run_id, "%s", id_of(-1));
    end_team();
}

static void check_it_went_on(void)
{
    CHECK_STR(id_of(-1), run_id);
    CHECK_STR(id_of(0), ann);
    CHECK_STR(id_of(1), bobs);
    CHECK_EQ(count_events("resumed", NULL, NULL), 2);
    CHECK_EQ(team.member[0].s.keep.head.turns, team.run.keep.head.turns);
}

TEST(run_goes_on_as_a_whole_by_any_name_of_it)
{
    one_run();
    const char *const names[] = {"last", run_id, ann, bobs};
    for (int i = 0; i < (int)COUNT_OF(names); i++) {
        char want[40];
        OK(go_on(CREW, folder, names[i]));
        check_it_went_on();
        CHECK_EQ(line("Once more."), EXIT_DONE);
        snprintf(want, sizeof want, "bob says %d", 3 + i);
        CHECK_STR(result(), want);
        end_team();
    }
}

TEST(run_that_is_last_is_this_crews)
{
    one_run();
    open_app(OTHERS, by_name, 4000, 8, folder);
    OK(team_open(&team, &app, &err));
    CHECK_EQ(line("Hello."), EXIT_DONE);
    end_team();
    OK(go_on(CREW, folder, "last"));
    check_it_went_on();
    end_team();
    CHECK_EQ(go_on(OTHERS, folder, ann), EXIT_USAGE);
    check_err(STORE_NOT_FOUND, "is of the crew test, and this is another");
    end_team();
}

TEST(run_whose_crew_file_has_changed_says_who_is_new_and_who_is_gone)
{
    one_run();
    OK(go_on(CHANGED, folder, "last"));
    CHECK_STR(id_of(0), ann);
    CHECK(was_said("cyd is new in this run, and begins\n"));
    CHECK(was_said("bob is not in the crew file any more: its session "));
    CHECK(was_said("ann is told what the crew file says now"));
    CHECK_EQ(team.member[1].s.keep.head.turns, 0);
    CHECK_EQ(line("Hello again."), EXIT_DONE);
    CHECK_STR(result(), "cyd says 1");
    CHECK_EQ(team_ask_agent(&team, 0, "You?", 4, &err), EXIT_DONE);
    CHECK_STR(result(), "ann, still, says 4");
    end_team();
    OK(go_on(CREW, folder, "last")); /* who was gone is back */
    CHECK_STR(id_of(1), bobs);
    CHECK(was_said("cyd is not in the crew file any more") && !was_said("bob"));
    CHECK_EQ(team.member[1].s.keep.head.turns, 2);
    end_team();
}

/* ---------------------------------------------------------------- members that cannot go on */

static void delete_session(const char *name)
{
    struct journal_head h;
    struct store *s = open_at(folder);
    OK(journal_find(s, name, &h, &err));
    OK(store_delete_session(s, h.id, &err));
    store_close(s);
}

TEST(run_whose_member_was_deleted_goes_on_with_a_new_one)
{
    one_run();
    delete_session(bobs);
    OK(go_on(CREW, folder, ann));
    CHECK_STR(id_of(0), ann);
    CHECK(strcmp(id_of(1), bobs) != 0);
    CHECK(was_said("bob begins anew: nothing of its session ") && !was_said("ann"));
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(result(), "bob says 1");
    snprintf(bobs, sizeof bobs, "%s", id_of(1));
    end_team();
    OK(go_on(CREW, folder, ann));
    CHECK_STR(id_of(1), bobs);
    end_team();
}

#define DEBATE \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n" \
    "  - name: cyd\n    system: I am cyd\n" \
    "flow:\n  kind: debate\n  members: [ann, bob]\n  lead: cyd\n  rounds: 1\n  handover: 100\n"

/* A lead is asked as a fresh one, so there never was a session of its own: nothing of it is lost.  Who spoke is
 * missed. */
TEST(run_whose_lead_is_always_a_fresh_one_misses_nobody)
{
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(DEBATE, by_name, folder);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    snprintf(bobs, sizeof bobs, "%s", id_of(1));
    end_team();
    for (int i = 0; i < 2; i++) {
        OK(go_on(DEBATE, folder, "last"));
        CHECK(!was_said("cyd") && !was_said("begins"));
        CHECK_EQ(line("Once more."), EXIT_DONE);
        CHECK_STR(id_of(1), bobs);
        end_team();
    }
    OK(go_on(CREW, folder, "last")); /* of cyd there is nothing that could stay as it is */
    CHECK(!was_said("cyd"));
    end_team();
    delete_session(bobs);
    OK(go_on(DEBATE, folder, "last"));
    CHECK(was_said("bob begins anew: nothing of its session ") && !was_said("cyd begins"));
    end_team();
}

TEST(run_whose_record_was_deleted_leaves_its_sessions_each_alone)
{
    one_run();
    delete_session(run_id);
    CHECK_EQ(go_on(CREW, folder, ann), EXIT_USAGE);
    check_err(STORE_NOT_FOUND, "the record of the run");
    end_team();
    CHECK_EQ(go_on(CREW, folder, "last"), EXIT_USAGE);
    end_team();
}

static void put_nonsense(const char *name, bool roster)
{
    struct journal_head h;
    struct store *s = open_at(folder);
    OK(journal_find(s, name, &h, &err));
    const struct store_key key = roster ? store_key_piece(h.id, "run") : store_key_session(h.id);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, roster ? REC_PIECE : REC_SESSION, "[1]", 3, &err));
    OK(store_commit(s, &err));
    store_close(s);
}

TEST(run_whose_member_is_damaged_is_refused_by_its_name)
{
    one_run();
    put_nonsense(bobs, false);
    CHECK_EQ(go_on(CREW, folder, ann), EXIT_INTERNAL);
    CHECK(hears(err.text, "bob cannot go on, and so the run does not: session "));
    end_team();
}

TEST(run_whose_member_is_open_elsewhere_is_refused_by_its_name)
{
    struct session alone;
    one_run();
    open_app(CREW, by_name, 4000, 8, folder);
    OK(session_resume(&alone, &app, bobs, NULL, &err)); /* as another process would have it */
    opts.resume = "last";
    CHECK_EQ(team_open(&team, &app, &err), EXIT_USAGE);
    CHECK(hears(err.text, "bob cannot go on, and so the run does not: session "));
    CHECK_EQ(team_close(&team), 0);
    session_close(&alone);
    close_app();
}

TEST(run_whose_record_is_damaged_is_refused)
{
    one_run();
    put_nonsense(run_id, true);
    CHECK_EQ(go_on(CREW, folder, ann), EXIT_INTERNAL);
    check_err(STORE_DAMAGED, "does not say whose sessions are of it");
    end_team();
}

/* The record is no conversation that one agent could go on with; its members are. */
TEST(run_is_no_session_of_one_agent_and_its_members_are)
{
    struct session alone;
    one_run();
    open_app(CREW, by_name, 4000, 8, folder);
    CHECK_EQ(session_resume(&alone, &app, run_id, NULL, &err), EXIT_USAGE);
    CHECK(hears(err.text, "--crew FILE --resume"));
    session_close(&alone);
    OK(session_resume(&alone, &app, bobs, NULL, &err));
    CHECK_EQ(alone.keep.head.turns, 2);
    session_close(&alone);
    close_app();
}

/* ---------------------------------------------------------------- what the record has */

static bool see_message(void *self, uint64_t number, const struct journal_message *m)
{
    (void)number;
    buf_printf(self, "%s %u: %.*s\n", journal_kind_name(m->kind), (unsigned)m->turn, (int)m->len, m->text);
    return true;
}

static bool see_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct event e;
    (void)number;
    OK(event_read(json, n, &e, &err));
    if (e.kind == EV_FLOW) buf_printf(self, "flow %.*s %.*s\n", (int)e.flow.change.len, e.flow.change.data,
                                      (int)e.flow.to.len, e.flow.to.data);
    event_free(&e);
    return true;
}

TEST(run_has_the_persons_lines_the_flow_and_what_came_of_it)
{
    struct buf all = {0};
    struct journal_head h;
    one_run();
    struct store *s = open_at(folder);
    OK(journal_find(s, run_id, &h, &err));
    CHECK_STR(h.title, "test: Hello.");
    OK(journal_each(s, h.id, 0, &(struct journal_visit){see_message, see_event, NULL, &all}, &err));
    CHECK_STR(all.data, "user 1: Hello.\nflow asked ann\nflow asked bob\nflow done \nanswer 1: bob says 1\n"
                        "user 2: And now?\nflow asked ann\nflow asked bob\nflow done \nanswer 2: bob says 2\n");
    buf_free(&all);
    store_close(s);
}

static int members_of(const char *part)
{
    struct journal_head *list = NULL, h;
    size_t n = 0;
    int found = 0;
    struct store *s = open_at(folder);
    OK(journal_find(s, run_id, &h, &err));
    OK(journal_run_heads(s, h.id, 1000, &list, &n, &err));
    for (size_t i = 0; i < n; i++) found += hears(list[i].run.agent, part);
    free(list);
    store_close(s);
    return found;
}

TEST(run_has_the_fresh_asks_of_a_flow_up_to_their_most)
{
    struct buf many_lines = {0};
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(TWO "flow:\n  kind: map\n  members: [ann]\n  lead: bob\n  steps: 200\n", by_name, folder);
    for (int i = 0; i < TEAM_COPIES + 6; i++) buf_printf(&many_lines, "line %d\n", i);
    CHECK_EQ(line(many_lines.data), EXIT_DONE);
    snprintf(run_id, sizeof run_id, "%s", id_of(-1));
    end_team();
    buf_free(&many_lines);
    CHECK_EQ(members_of("/"), TEAM_COPIES);
    CHECK_EQ(members_of("ann/"), TEAM_COPIES);
}

/* ---------------------------------------------------------------- in a running crew */

TEST(run_in_place_of_the_one_that_is_open)
{
    one_run();
    begin_team(CREW, by_name, folder);
    CHECK_EQ(line("A new run."), EXIT_DONE);
    CHECK_STR(result(), "bob says 1");
    CHECK_EQ(team_resume(&team, "ffffffffff", &err), -1);
    CHECK_EQ(line("It is still there."), EXIT_DONE);
    CHECK_STR(result(), "bob says 2");
    CHECK_EQ(team_resume(&team, id_of(1), &err), -1);
    CHECK(hears(err.text, "open here"));
    OK(team_resume(&team, bobs, &err));
    check_it_went_on();
    CHECK_EQ(line("Again."), EXIT_DONE);
    CHECK_STR(result(), "bob says 3");
    end_team();
}

TEST(run_that_cannot_be_opened_leaves_the_one_that_was)
{
    one_run();
    put_nonsense(bobs, false);
    begin_team(CREW, by_name, folder);
    CHECK_EQ(line("A new run."), EXIT_DONE);
    CHECK_EQ(team_resume(&team, ann, &err), -1);
    CHECK(hears(err.text, "bob cannot go on"));
    CHECK_EQ(line("Again."), EXIT_DONE);
    CHECK_STR(result(), "bob says 2");
    end_team();
}

/* What a command saved before anything was said is of the run too. */
TEST(run_keeps_up_with_what_is_pinned_and_forked)
{
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(CREW, by_name, folder);
    team_run_keep_up(&team); /* nothing is there to be kept */
    CHECK(!team.run.begun);
    app.trace.voice = &team.member[0].s.voice;
    OK(session_pin(&team.member[0].s, "a pin", 5, &(uint64_t){0}, &err));
    team_run_keep_up(&team);
    app.trace.voice = &app.trace.own;
    CHECK(team.run.begun);
    CHECK_EQ(line("Hello."), EXIT_DONE);
    OK(session_fork(&team.member[1].s, 0, &err));
    team_run_keep_up(&team);
    app.trace.voice = &app.trace.own;
    snprintf(bobs, sizeof bobs, "%s", id_of(1));
    end_team();
    OK(go_on(CREW, folder, "last"));
    CHECK_STR(id_of(1), bobs);
    CHECK_EQ(team.member[1].s.keep.head.turns, 0);
    CHECK_EQ(team.member[0].s.keep.head.turns, 1);
    end_team();
}

/* As /clear does: the new one is of the run, and the old one stays so. */
TEST(run_has_the_session_that_took_the_place_of_another)
{
    one_run();
    OK(go_on(CREW, folder, "last"));
    struct session *s = &team.member[1].s;
    struct session_role role = s->role;
    session_close(s);
    OK(session_new_as(s, &app, &role, "I am bob", &err));
    team_run_keep_up(&team);
    app.trace.voice = &app.trace.own;
    CHECK_EQ(line("Hello."), EXIT_DONE);
    CHECK_STR(result(), "bob says 1");
    snprintf(ann, sizeof ann, "%s", id_of(1));
    end_team();
    CHECK_EQ(members_of("bob"), 2);
    OK(go_on(CREW, folder, bobs)); /* by the old one's name, too */
    CHECK_STR(id_of(1), ann);
    end_team();
}

CHECK_MAIN
