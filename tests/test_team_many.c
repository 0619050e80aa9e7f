/* Many agents at once on little memory: all of them finish, no promise is beyond the pool, nobody is left behind, and a
 * second run tells the same. */
#include "app/stable.h"
#include "tests/team_rig.h"
#include "tests/tiny_model.h"

/* ---------------------------------------------------------------- the scripted engine, watched */

static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

static struct engine_ops watched;
static uint64_t most_reserved;
static int64_t most_running, most_waiting;

static int watched_step(struct engine *e, struct engine_event *ev, int cap, struct err *error)
{
    struct engine_snapshot s;
    int n = engine_scripted.step(e, ev, cap, error);
    engine_scripted.snapshot(e, &s);
    CHECK(s.filled_tokens <= s.reserved_tokens && s.reserved_tokens <= s.pool_tokens);
    most_reserved = MAX(most_reserved, s.reserved_tokens);
    most_running = MAX(most_running, s.running);
    most_waiting = MAX(most_waiting, s.waiting);
    return n;
}

static void no_reply(const char *heard, char *out) { (void)heard, (void)out; }

/* answers: of the engine's script. */
static void open_scripted(const char *yaml, const char *answers, struct engine_config cfg)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, CHATML);
    cfg.model = gguf_make_file(&m, "vocab.gguf");
    cfg.script = tiny_text_file("answers.jsonl", answers);
    cfg.template = -1;
    open_app(yaml, no_reply, 1000, 1, NULL);
    watched = engine_scripted;
    watched.step = watched_step;
    most_reserved = 0;
    most_running = most_waiting = 0;
    app.ops = &watched;
    app.engine = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    app.info = engine_scripted.info(app.engine);
    OK(team_open(&team, &app, &err));
}

static void close_scripted(void)
{
    struct engine *e = app.engine;
    CHECK_EQ(team_close(&team), 0);
    close_app();
    engine_scripted.close(e);
}

/* ---------------------------------------------------------------- thirty-two agents */

enum { AGENTS = 32, CTX = 1536 };

static const char CREW[] =
    "crew: test\nagents:\n  - name: ann\n    system: You count.\n    tools: [calculator]\n    answer: 96\n"
    "  - name: lea\n    system: You sum up.\n    answer: 96\n"
    "flow:\n  kind: map\n  members: [ann]\n  lead: lea\n  handover: 64\n";

static const char CALL[] = "{\"answer\": \"<tool_call>{\\\"name\\\":\\\"calculator\\\",\\\"arguments\\\":"
                           "{\\\"expression\\\":\\\"6*7\\\"}}</tool_call>\"}\n";
static const char ANSWER[] = "{\"answer\": \"It is 42.\"}\n";

/* As three at once are admitted: three first calls of the model, which want the tool, then three second ones. */
static const char *script_of_threes(void)
{
    static struct buf b;
    b.len = 0;
    for (int left = AGENTS; left > 0; left -= 3) {
        for (int i = 0; i < MIN(left, 3); i++) buf_puts(&b, CALL);
        for (int i = 0; i < MIN(left, 3); i++) buf_puts(&b, ANSWER);
    }
    for (int i = 0; i < 8; i++) buf_puts(&b, "{\"answer\": \"summed up\"}\n"); /* lea, four groups and one */
    return b.data;
}

static const char *lines_of(int n)
{
    static struct buf b;
    b.len = 0;
    for (int i = 1; i <= n; i++) buf_printf(&b, "line %d\n", i);
    return b.data;
}

struct ends { int ask[AGENTS], n; };

static void see_end(void *self, const json_t *e)
{
    struct ends *ends = self;
    if (!is_event(e, "turn_end") || strncmp(field(e, "agent"), "ann/", 4) != 0 || number(e, "call") != 2) return;
    CHECK(ends->n < AGENTS);
    CHECK_STR(field(e, "text"), "It is 42.");
    ends->ask[ends->n++] = atoi(field(e, "agent") + 4);
}

/* Of the asks, in the order in which they were made: how many that were made later were answered before. */
static int most_overtaken(const struct ends *ends)
{
    int most = 0;
    for (int i = 0; i < ends->n; i++) {
        int before = 0;
        for (int k = 0; k < i; k++) before += ends->ask[k] > ends->ask[i];
        most = MAX(most, before);
    }
    return most;
}

static void see_tool(void *self, const json_t *e)
{
    if (!is_event(e, "tool")) return;
    CHECK_STR(field(e, "text"), "42");
    CHECK(!json_is_true(json_object_get(e, "failed")));
    ++*(int *)self;
}

TEST(team_many_agents_with_a_tool_finish_on_memory_for_three)
{
    struct ends ends = {.n = 0};
    int tools = 0;
    open_scripted(CREW, script_of_threes(),
                  (struct engine_config){.ctx = CTX, .max_seqs = 8, .pool_tokens = 3 * CTX});
    CHECK_EQ(line(lines_of(AGENTS)), EXIT_DONE);
    CHECK_STR(result(), "summed up");
    each_event(see_end, &ends);
    each_event(see_tool, &tools);
    CHECK_EQ(ends.n, AGENTS);
    CHECK_EQ(tools, AGENTS);
    CHECK(most_overtaken(&ends) <= 16);
    CHECK_EQ(most_running, 3);
    CHECK(most_reserved > 0 && most_reserved <= 3 * CTX);
    CHECK_EQ(count_events("refusal", NULL, NULL), 0);
    CHECK_EQ(count_events("stopped", NULL, NULL), 0);
    close_scripted();
}

/* ---------------------------------------------------------------- more lines than strands */

static void says_line(const char *heard, char *out)
{
    const char *at = strstr(last_of(heard), "line ");
    snprintf(out, MANY_TEXT, "did %.8s", at ? at : "it");
}

TEST(team_many_lines_are_more_than_may_be_out_at_once)
{
    open_app("crew: test\nagents:\n  - name: ann\n  - name: lea\n"
             "flow:\n  kind: map\n  members: [ann]\n  lead: lea\n  steps: 300\n", says_line, 4000, 70, NULL);
    OK(team_open(&team, &app, &err));
    CHECK_EQ(line(lines_of(200)), EXIT_DONE);
    CHECK_EQ(many.most, STRANDS);
    CHECK_EQ(team.steps, 200 + 25 + 4 + 1);
    CHECK_EQ(app.turns, 230);
    end_team();
}

TEST(team_many_wait_for_room_in_the_engine)
{
    for (int memory = 0; memory < 2; memory++) {
        open_app("crew: test\nagents:\n  - name: ann\n  - name: lea\n"
                 "flow:\n  kind: map\n  members: [ann]\n  lead: lea\n  steps: 300\n", says_line, 4000, 20, NULL);
        many.room = 5; /* fewer than the flow has out */
        many.room_is_memory = memory;
        OK(team_open(&team, &app, &err));
        CHECK_EQ(line(lines_of(40)), EXIT_DONE);
        CHECK(many.refused > 0);
        CHECK_EQ(count_events("refusal", NULL, NULL), 0);
        CHECK_EQ(team.steps, 40 + 5 + 1);
        end_team();
    }
}

/* ---------------------------------------------------------------- the same again */

static void stable_of(struct buf *out)
{
    struct stable s = {0};
    for (const char *at = events(), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct event e;
        OK(event_read(at, (size_t)(end - at), &e, &err));
        OK(stable_put(&s, &e, at, (size_t)(end - at), out));
        event_free(&e);
    }
    OK(stable_end(&s, out));
    stable_free(&s);
}

TEST(team_many_tell_the_same_in_two_runs)
{
    struct buf told_then[2] = {{0}, {0}};
    for (int run = 0; run < 2; run++) {
        open_scripted(CREW, script_of_threes(),
                      (struct engine_config){.ctx = CTX, .max_seqs = 8, .pool_tokens = 3 * CTX});
        CHECK_EQ(line(lines_of(AGENTS)), EXIT_DONE);
        stable_of(&told_then[run]);
        close_scripted();
    }
    CHECK(told_then[0].len > 10000);
    CHECK_STR(told_then[0].data, told_then[1].data);
    for (int run = 0; run < 2; run++) buf_free(&told_then[run]);
}

static void plans(const char *heard, char *out)
{
    static const char call[] =
        "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"2+2\"}}</tool_call>";
    const char *last = last_of(heard);
    if (hears(heard, "I am lea"))
        says(out, hears(last, "Result:") ? "It is done." : "ann: count\nbob: sing\ncat: count");
    else
        says(out, strncmp(last, "tool:", 5) == 0 ? "counted" : hears(last, "user:count") ? call : "la la");
}

TEST(team_many_that_are_saved_tell_the_same_in_two_runs)
{
    struct buf told_then[2] = {{0}, {0}};
    for (int run = 0; run < 2; run++) {
        begin_team("crew: test\nagents:\n  - name: lea\n    system: I am lea\n"
                   "  - name: ann\n    tools: [calculator]\n    answer: 96\n"
                   "  - name: bob\n  - name: cat\n    tools: [calculator]\n    answer: 96\n"
                   "flow:\n  kind: supervisor\n  lead: lea\n  members: [ann, bob, cat]\n", plans, fresh_dir());
        CHECK_EQ(line("Hello."), EXIT_DONE);
        CHECK_EQ(line("And again."), EXIT_DONE);
        CHECK_EQ(count_events("tool", "text", "4"), 4);
        stable_of(&told_then[run]);
        end_team();
    }
    CHECK_STR(told_then[0].data, told_then[1].data);
    for (int run = 0; run < 2; run++) buf_free(&told_then[run]);
}

CHECK_MAIN
