/* The two threads of the screen, where they could hit each other: cancels that come late, leaving at any moment, names
 * of agents that are many at once. */
#include "app/progress.h"
#include "app/tui/desk.h"
#include "tests/team_rig.h"
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the sessions' thread, and a screen that listens */

static struct bridge *b;
static struct desk *desk;
static struct buf heard; /* news, a line each */
static atomic_int asked; /* requests that the engine was given */
static int wait_us;      /* what a pass takes */
static atomic_bool held; /* passes read prompts, and nobody answers */
static int samples;      /* memory events that were heard */
static int spoken;       /* pieces of answers */

static struct engine_ops slow_ops;

static int slow_step(struct engine *e, struct engine_event *ev, int cap, struct err *why)
{
    struct many_request *r[MANY_REQUESTS];
    usleep((useconds_t)wait_us);
    if (!atomic_load(&held) || many_running(e, r) == 0 || r[0]->cancelled) return many_step(e, ev, cap, why);
    ev[0] = (struct engine_event){.kind = ENGINE_PREFILL, .id = r[0]->id, .n = 1, .of = 2};
    return 1;
}

static int slow_submit(struct engine *e, const struct request *q, int *id, struct err *why)
{
    int rc = many_submit(e, q, id, why);
    atomic_fetch_add(&asked, 1);
    return rc;
}

#define AGENTS \
    "crew: test\nagents:\n  - name: ann\n    system: I am ann\n  - name: bob\n    system: I am bob\n" \
    "  - name: lea\n    system: I am lea\n"

/* yaml: a crew; NULL: one agent.  us: what a pass takes. */
static void begin(const char *yaml, void (*reply)(const char *said, char *out), int us)
{
    open_app(yaml ? yaml : AGENTS "flow:\n  kind: round_robin\n", reply, 4000, 8, fresh_dir());
    slow_ops = many_ops;
    slow_ops.step = slow_step;
    slow_ops.submit = slow_submit;
    app.ops = &slow_ops;
    if (!yaml) opts.crew = NULL;
    opts.embedded = true;
    opts.max_tokens = 3000;
    wait_us = us;
    samples = spoken = 0;
    atomic_store(&held, false);
    atomic_store(&asked, 0);
    heard.len = 0;
    b = bridge_open(&err);
    CHECK(b != NULL);
    desk = desk_open(&app, b, &err);
    CHECK(desk != NULL);
}

static void end(void)
{
    bridge_leave(b);
    desk_close(desk);
    bridge_close(b);
    close_app();
}

static void note_event(const struct event *e)
{
    if (e->kind == EV_TURN_END)
        buf_printf(&heard, "end of %.*s: %.*s\n", (int)e->agent.len, e->agent.data, (int)e->turn_end.end.len,
                   e->turn_end.end.data);
    if (e->kind == EV_FLOW && e->flow.ask == 0)
        buf_printf(&heard, "flow %.*s\n", (int)e->flow.change.len, e->flow.change.data);
    if (e->kind == EV_TURN_USER)
        buf_printf(&heard, "%.*s hears %.*s\n", (int)e->agent.len, e->agent.data, (int)e->turn_user.text.len,
                   e->turn_user.text.data);
}

static void note_tool(const struct event *e)
{
    buf_printf(&heard, "%.*s reads %.*s\n", (int)e->agent.len, e->agent.data, (int)e->tool.text.len, e->tool.text.data);
}

static void take_news(void)
{
    for (struct news *n = bridge_take(b), *next; n; n = next) {
        const char *text = n->text.data ? n->text.data : "";
        next = n->next;
        if (n->kind == NEWS_EVENT) note_event(&n->event);
        if (n->kind == NEWS_EVENT && n->event.kind == EV_TOOL) note_tool(&n->event);
        samples += n->kind == NEWS_EVENT && n->event.kind == EV_MEMORY;
        spoken += n->kind == NEWS_EVENT && n->event.kind == EV_TEXT;
        if (n->kind == NEWS_BEGUN) buf_printf(&heard, "begun %d: %s\n", (int)n->value, text);
        if (n->kind == NEWS_DONE) buf_puts(&heard, n->value < 0 ? "last\n" : "done\n");
        if (n->kind == NEWS_LINE) buf_printf(&heard, "%s %d: %s\n", n->said ? "aside" : "line", (int)n->value, text);
        if (n->kind == NEWS_PAST_BEGINS) buf_printf(&heard, "past of %d\n", (int)n->value);
        if (n->kind == NEWS_OVER) buf_printf(&heard, "over %d\n", (int)n->value);
        news_free(n);
    }
}

static const char *news(void) { return heard.len ? heard.data : ""; }

/* Till the news have this text n times. */
static void hear(const char *text, int n)
{
    for (const double end_s = progress_clock() + 60;;) {
        int times = 0;
        take_news();
        for (const char *at = news(); (at = strstr(at, text)) != NULL; at++) times++;
        if (times >= n) return;
        struct pollfd p = {.fd = bridge_fd(b), .events = POLLIN};
        if (progress_clock() > end_s) check_fail(__FILE__, __LINE__, "no \"%s\" in: %s", text, news());
        poll(&p, 1, 50);
    }
}

static void order(const char *text) { CHECK(bridge_order(b, text, strlen(text))); }

static void till_asked(int n)
{
    for (int ms = 0; atomic_load(&asked) < n; ms++) {
        CHECK(ms < 60000);
        usleep(1000);
    }
}

static void says_long(const char *said, char *out)
{
    if (hears(last_of(said), "short")) snprintf(out, MANY_TEXT, "yes");
    else memset(out, 'a', 2000), out[2000] = '\0';
}

/* ---------------------------------------------------------------- cancels */

/* The person saw the first turn run and cancels it; it has ended, and the next one goes on. */
TEST(thread_a_cancel_that_comes_late_lets_the_next_turn_be)
{
    begin(NULL, says_long, 200);
    order("short");
    hear("begun 1: short", 1);
    order("long");
    till_asked(2); /* and nothing of it was seen */
    desk_cancel(desk, "");
    hear("done\n", 3); /* the first is said when it is open */
    CHECK(strstr(news(), "end of : stop\n") && !strstr(news(), "cancelled"));
    end();
}

TEST(thread_a_cancel_of_what_is_seen_ends_it)
{
    begin(NULL, says_long, 1000);
    order("long");
    hear("begun 1: long", 1);
    till_asked(1);
    desk_cancel(desk, NULL);
    hear("done\n", 2);
    CHECK(strstr(news(), "end of : cancelled"));
    order("short"); /* and only it */
    hear("end of : stop", 1);
    end();
}

/* ---------------------------------------------------------------- leaving */

/* The screen leaves before it has heard that a line is obeyed: nobody waits for the whole answer. */
TEST(thread_what_the_screen_has_not_seen_begin_is_cancelled_when_it_leaves)
{
    begin(NULL, says_long, 1000);
    order("long");
    till_asked(1);
    bridge_leave(b);
    desk_cancel(desk, "");
    hear("over 0", 1);
    CHECK(strstr(news(), "end of : cancelled"));
    end();
}

TEST(thread_the_screen_hears_that_quit_was_the_last_order)
{
    begin(NULL, says_long, 0);
    order("/quit");
    order("short");
    hear("over 0", 1);
    CHECK(strstr(news(), "last\n") && !strstr(news(), "begun 2"));
    end();
}

/* ---------------------------------------------------------------- one of several */

#define MAP "flow:\n  kind: map\n  members: [ann]\n  lead: lea\n"

static void maps(const char *said, char *out)
{
    if (hears(said, "I am lea")) snprintf(out, MANY_TEXT, "all together");
    else if (hears(last_of(said), "long")) says_long("", out);
    else snprintf(out, MANY_TEXT, "%s", "a part");
}

/* The name is that of the copies that answer, too; and the lead gets what there is. */
TEST(thread_cancel_by_name_ends_the_copies_and_the_flow_goes_on)
{
    begin(AGENTS MAP, maps, 1000);
    order("long 1\nlong 2\nshort\n");
    till_asked(3);
    hear("end of ann/3: stop", 1);
    desk_cancel(desk, "ann");
    hear("flow done", 1);
    CHECK(strstr(news(), "end of ann/1: cancelled") && strstr(news(), "end of ann/2: cancelled"));
    CHECK(strstr(news(), "end of lea: stop"));
    CHECK(strstr(news(), "[ann was cancelled]"));
    end();
}

TEST(thread_cancel_by_name_in_a_conversation_lets_the_others_speak)
{
    begin(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", says_long, 1000);
    order("long");
    hear("begun 1", 1);
    till_asked(1);
    desk_cancel(desk, "ann");
    hear("flow ", 1);
    CHECK(strstr(news(), "end of ann: cancelled") && strstr(news(), "end of bob: stop"));
    CHECK(strstr(news(), "flow done"));
    end();
}

/* As with a signal: what was said before is of the conversation, and the others hear it. */
TEST(thread_cancel_by_name_amid_an_answer_keeps_what_was_said)
{
    begin(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", says_long, 1000);
    order("@ann long");
    while (spoken == 0) take_news(), usleep(1000);
    desk_cancel(desk, "ann");
    hear("done\n", 2);
    CHECK(strstr(news(), "end of ann: cancelled") && !strstr(news(), "withdrawn"));
    order("/for ann /context");
    hear("done\n", 3);
    CHECK(strstr(strstr(news(), "begun 2"), " in 2\n"));
    spoken = 0;
    order("long");
    while (spoken == 0) take_news(), usleep(1000);
    desk_cancel(desk, "ann");
    hear("flow done", 1);
    CHECK(strstr(news(), "Result: a") && strstr(news(), "a [ann was cancelled]"));
    end();
}

/* ---------------------------------------------------------------- what is said */

/* No event says that the person's words are not part of the conversation. */
TEST(thread_a_turn_that_is_withdrawn_is_said_to_be)
{
    begin(NULL, says_long, 1000);
    atomic_store(&held, true);
    order("long");
    hear("begun 1: long", 1);
    till_asked(1);
    desk_cancel(desk, "");
    hear("done\n", 2);
    CHECK(strstr(news(), "line 0: nothing was said yet: your turn was withdrawn\n"));
    end();
}

/* The line that says why would go with the conversation, were that shown anew. */
TEST(thread_what_cannot_be_resumed_leaves_what_is_shown)
{
    begin(NULL, says_long, 0);
    order("/resume nosuch");
    hear("done\n", 2);
    CHECK(strstr(news(), "line 2: ") && !strstr(news(), "past of"));
    order("short");
    hear("done\n", 3);
    order("/clear");
    hear("past of 0", 1);
    end();
}

/* A screen that stands there over night fills no file. */
TEST(thread_figures_of_an_idle_program_are_for_the_screen_alone)
{
    begin(NULL, says_long, 0);
    order("short");
    hear("done\n", 2);
    const int told_before = count_events("memory", NULL, NULL), heard_before = samples;
    while (samples < heard_before + 2) take_news(), usleep(20000);
    CHECK_EQ(count_events("memory", NULL, NULL), told_before);
    end();
}

/* ---------------------------------------------------------------- files */

/* A name behind an @ is one of the workspace, wherever the program was begun, and for whom the line is. */
TEST(thread_a_file_that_is_named_enters_the_conversation_of_who_is_asked)
{
    char was[4096];
    CHECK(getcwd(was, sizeof was) && chdir(check_tmpdir()) == 0);
    FILE *f = fopen("notes.txt", "w");
    CHECK(f && fputs("the tide is out", f) >= 0 && fclose(f) == 0);
    begin(AGENTS "flow:\n  kind: round_robin\n  members: [ann, bob]\n  rounds: 1\n", says_long, 0);
    CHECK_EQ(chdir("/"), 0);
    order("@bob short of @notes.txt and @nothing.txt");
    hear("done\n", 2);
    CHECK(strstr(news(), "bob reads the tide is out\n") && strstr(news(), "bob hears short of @notes.txt"));
    CHECK(!strstr(news(), "line 2"));
    CHECK(strstr(news(), "line 0: no file nothing.txt: sent as it is"));
    order("@ann short for @bob, @everybody, @app.route('/x')"); /* of these none was meant as a file */
    hear("done\n", 3);
    CHECK(!strstr(strstr(news(), "begun 2: @ann"), "no file"));
    CHECK(!strstr(news(), "/attach FILE"));
    order("@ann short of @etc/passwd"); /* it is there, and not below the workspace */
    hear("done\n", 4);
    CHECK(strstr(news(), "line 0: no file etc/passwd: sent as it is (an @ names files below the workspace; /attach"));
    CHECK_EQ(chdir(was), 0);
    end();
}

CHECK_MAIN
