/* What the screen is told of a crew's run that goes on: what the person and each agent said, in the order of time. */
#include "app/say.h"
#include "app/session/session_result.h"
#include "app/tui/desk_impl.h"
#include "tests/team_rig.h"

#define TWO \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n"
#define TALK TWO "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n"
#define MAP TWO "flow:\n  kind: map\n  members: [ann]\n  lead: bob\n"

static void wait_a_moment(void) { usleep(1500); } /* times are in milliseconds */

static void by_name(const char *heard, char *out)
{
    int n = 0;
    wait_a_moment();
    for (const char *at = heard; (at = strstr(at, "user:")) != NULL; at++) n++;
    snprintf(out, MANY_TEXT, "%s says %d", hears(heard, "I am ann") ? "ann" : "bob", n);
}

static char shown[2 * STORE_SESSION_ID + 1];
static uint32_t shown_turns;

static bool with_figures;

/* What a message alone does not say. */
static void put_figures(const struct event *e, struct buf *out)
{
    const struct event_tool *r = &e->tool;
    const struct event_stopped *s = &e->stopped;
    if (e->kind == EV_TOOL)
        buf_printf(out, "%.*s%s: %d bytes, %d tokens, %d left out, whole %.*s\n", (int)r->name.len, r->name.data,
                   r->failed ? " failed" : "", (int)r->bytes, (int)r->tokens, (int)r->left_out, (int)r->artifact.len,
                   r->artifact.data);
    if (e->kind == EV_CALL) buf_printf(out, "calls %.*s\n", (int)e->call.name.len, e->call.name.data);
    if (e->kind == EV_TURN_END) buf_printf(out, "says %.*s\n", (int)e->turn_end.text.len, e->turn_end.text.data);
    if (e->kind == EV_STOPPED)
        buf_printf(out, "stopped by %.*s after %d: %.*s %.*s, %d more\n", (int)s->reason.len, s->reason.data,
                   (int)s->calls, (int)s->name.len, s->name.data, (int)s->arguments.len, s->arguments.data,
                   (int)s->more);
}

static void put_news(const struct news *n, struct buf *out)
{
    const struct event *e = &n->event;
    if (with_figures && n->kind == NEWS_PAST) {
        put_figures(e, out);
        return;
    }
    if (n->kind == NEWS_PAST_BEGINS) buf_printf(out, "%d: %s\n", (int)n->value, n->text.data);
    if (n->kind == NEWS_LINE) buf_printf(out, "! %s\n", n->text.data);
    if (n->kind != NEWS_PAST) return;
    const struct event_str text = e->kind == EV_TURN_USER ? e->turn_user.text
                                  : e->kind == EV_TOOL    ? e->tool.name
                                                          : e->turn_end.text;
    buf_printf(out, "%.*s> %.*s\n", (int)e->agent.len, e->agent.data, (int)text.len, text.data);
}

/* What the screen is told now, a line each. */
static const char *told_now(void)
{
    static struct buf all;
    struct console c = {.a = &app, .s = &team.member[0].s, .team = team};
    struct bridge *b = bridge_open(&err);
    CHECK(b != NULL);
    all.len = 0;
    buf_puts(&all, "");
    desk_tell_past(&c, b, shown, &shown_turns);
    for (struct news *n = bridge_take(b), *next; n; n = next) {
        next = n->next;
        put_news(n, &all);
        news_free(n);
    }
    bridge_close(b);
    return all.len ? all.data : "";
}

static char folder[256];

static int person_says(const char *text)
{
    wait_a_moment();
    return line(text);
}

static void begin_run(const char *yaml)
{
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(yaml, by_name, folder);
    *shown = '\0';
    shown_turns = 0;
    with_figures = false;
    CHECK_STR(told_now(), ""); /* it is new */
}

static void go_on(const char *yaml)
{
    end_team();
    open_app(yaml, by_name, 4000, 8, folder);
    opts.resume = "last";
    OK(team_open(&team, &app, &err));
    *shown = '\0';
    shown_turns = 0;
}

TEST(past_of_a_crew_is_what_all_said_in_the_order_of_time)
{
    begin_run(TALK);
    CHECK_EQ(person_says("Hello."), EXIT_DONE);
    CHECK_STR(told_now(), ""); /* the screen has seen it */
    wait_a_moment();
    CHECK_EQ(team_ask_agent(&team, 1, "You?", 4, &err), EXIT_DONE);
    CHECK_EQ(person_says("And now?"), EXIT_DONE);
    go_on(TALK);
    CHECK_STR(told_now(), "3: test: Hello.\n> Hello.\nann> ann says 1\nbob> bob says 1\n> @bob You?\nbob> bob says 2\n"
                          "> And now?\nann> ann says 2\nbob> bob says 3\n");
    CHECK_STR(told_now(), "");
    end_team();
}

TEST(past_of_a_crew_has_what_fresh_agents_said)
{
    begin_run(MAP);
    CHECK_EQ(person_says("line 1\nline 2"), EXIT_DONE);
    go_on(MAP);
    CHECK_STR(told_now(), "1: test: line 1\n> line 1\nline 2\nann> ann says 1\nann> ann says 1\nbob> bob says 1\n");
    end_team();
}

TEST(past_of_a_crew_has_its_tools_and_nothing_that_was_taken_back)
{
    struct buf bytes = {0};
    begin_run(TALK);
    CHECK_EQ(person_says("Hello."), EXIT_DONE);
    app.trace.voice = &team.member[0].s.voice;
    buf_puts(&bytes, "a line\n");
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{}", .kind = CLIP_TEXT};
    OK(session_result(&team.member[0].s, &t, &bytes, &err));
    struct result r = {.by = "model", .name = "list"}; /* called in tags */
    buf_puts(&r.text, "a.txt");
    const struct form_text call = form_text("<tool_call>\n<function=list>\n</function>\n</tool_call>");
    OK(result_append(&team.member[0].s, call, 0, &r, &err));
    buf_free(&r.text);
    OK(session_save(&team.member[0].s, &err));
    app.trace.voice = &team.member[1].s.voice;
    OK(session_undo(&team.member[1].s, NULL, &err));
    app.trace.voice = &app.trace.own;
    go_on(TALK);
    CHECK_STR(told_now(), "1: test: Hello.\n> Hello.\nann> ann says 1\nann> read\nann> list\n");
    end_team();
}

/* A result of `bytes` bytes of which the model saw fewer. */
static void put_result(struct result *r, const char *text, uint64_t bytes)
{
    buf_puts(&r->text, text);
    r->bytes = bytes;
    r->left_out = bytes - strlen(text);
    r->artifact = bytes > strlen(text) ? team.member[0].s.keep.head.artifacts++ : 0;
}

/* An event of a result stands before the call that a model made, and behind one that is ours.  One that lacks, as in an
 * import of old, is of no other result. */
TEST(past_results_have_the_figures_that_they_had)
{
    static const char list[] = "<tool_call>{\"name\":\"list\",\"arguments\":{}}</tool_call>";
    struct result made = {.by = "model", .name = "list", .failed = true}, ours = {.by = "user", .name = "read"};
    struct result lost = {.by = "model", .name = "list"};
    begin_run(TALK);
    CHECK_EQ(person_says("Hello."), EXIT_DONE);
    struct session *s = &team.member[0].s;
    app.trace.voice = &s->voice;
    put_result(&made, "a.txt", 5);
    result_tell(s, &made, "{}");
    struct buf words = {0};
    buf_printf(&words, "I look.\n%s", list);
    OK(result_append(s, (struct form_text){words.data, words.len}, 0, &made, &err));
    put_result(&ours, "half of it", 90000);
    OK(result_append_ours(s, "{}", &ours, &err));
    result_tell(s, &ours, "{}");
    put_result(&lost, "none", 7000);
    OK(result_append(s, form_text(list), 0, &lost, &err));
    OK(session_save(s, &err));
    app.trace.voice = &app.trace.own;
    go_on(TALK);
    with_figures = true;
    const char *shown_now = told_now();
    CHECK(hears(shown_now, "says I look.\n<tool_call>"));
    CHECK(hears(shown_now, "</tool_call>\ncalls list\nlist failed: 5 bytes, 5 tokens, 0 left out, whole \n"
                           "read: 90000 bytes, 10 tokens, 89990 left out, whole a1\n"
                           "list: -1 bytes, -1 tokens, 0 left out, whole a2\n"));
    with_figures = false;
    buf_free(&words);
    buf_free(&made.text);
    buf_free(&ours.text);
    buf_free(&lost.text);
    end_team();
}

static void thinks(const char *heard, char *out)
{
    snprintf(out, MANY_TEXT, "<think>hm</think>\n\n%s",
             hears(heard, "42") ? "It is 42." : "<tool_call>{\"name\":\"calculator\",\"arguments\":"
                                                "{\"expression\":\"6*7\"}}</tool_call>");
}

TEST(past_has_what_was_thought_where_it_was_shown)
{
    static const char calls[] = "crew: test\nagents:\n  - name: ann\n    tools: [calculator]\n    answer: 150\n"
                                "flow:\n  kind: single\n";
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(calls, thinks, folder);
    CHECK_EQ(person_says("Hello."), EXIT_DONE);
    go_on(calls);
    with_figures = true;
    const char *now = told_now();
    const char *call = strstr(now, "says <think>hm</think>\n\n<tool_call>");
    const char *result = strstr(now, "calls calculator\ncalculator: 2 bytes, 2 tokens, 0 left out, whole \n");
    CHECK(call && result && call < result && hears(result, "says <think>hm</think>\n\nIt is 42.\n"));
    with_figures = false;
    end_team();
}

static void never_stops_calling(const char *heard, char *out)
{
    (void)heard;
    snprintf(out, MANY_TEXT, "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"6*7\"}}</tool_call>");
}

TEST(past_of_a_turn_that_was_stopped_says_so)
{
    static const char calls[] = "crew: test\nagents:\n  - name: ann\n    tools: [calculator]\n    answer: 100\n"
                                "    rounds: 1\nflow:\n  kind: single\n";
    snprintf(folder, sizeof folder, "%s", fresh_dir());
    begin_team(calls, never_stops_calling, folder);
    CHECK_EQ(person_says("Hello."), EXIT_DONE);
    go_on(calls);
    with_figures = true;
    const char *now = told_now();
    CHECK(hears(now, "calculator: 2 bytes, 2 tokens, 0 left out, whole \nsays <tool_call>"));
    CHECK(hears(now, "stopped by rounds after 1: calculator {\"expression\":\"6*7\"}, 0 more\n"));
    with_figures = false;
    end_team();
}

/* The copy has all that the one that was left has. */
TEST(past_of_a_crew_says_once_what_two_copies_of_a_session_have)
{
    begin_run(TALK);
    CHECK_EQ(person_says("Hello."), EXIT_DONE);
    OK(session_fork(&team.member[1].s, 1, &err));
    team_run_keep_up(&team);
    app.trace.voice = &app.trace.own;
    go_on(TALK);
    CHECK_STR(told_now(), "1: test: Hello.\n> Hello.\nann> ann says 1\nbob> bob says 1\n");
    end_team();
}

TEST(past_of_a_crew_is_its_newest)
{
    begin_run(TALK);
    for (int i = 1; i <= PAST_MESSAGES / 3 + 10; i++) {
        char text[24];
        snprintf(text, sizeof text, "line %d", i);
        CHECK_EQ(person_says(text), EXIT_DONE);
    }
    go_on(TALK);
    const char *text = told_now();
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) lines++;
    CHECK_EQ(lines, 1 + PAST_MESSAGES);
    CHECK(!hears(text, "> line 9\n") && hears(text, "> line 11\n") && hears(text, "> line 343\n"));
    end_team();
}

CHECK_MAIN
