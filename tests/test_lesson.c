/* Lessons as files: what is taken, what is refused, and the figures in their texts. */
#include "app/learn/lesson.h"
#include "tests/check.h"

#define HEAD                                                                                                   \
    "plimsoll lesson 1\n"                                                                                      \
    "name: a-lesson\n"                                                                                         \
    "title: What it is\n"                                                                                      \
    "covers: A1\n"                                                                                             \
    "cause: kv\n"                                                                                              \
    "fails: turn 2 oom\n"
#define RUN "run: stress --agents 2 --turns 1\nflags: --ctx 512 --vram 40M\nbroken: --naive reserve\nfixed:\n"
#define SEE "\n== see\n\nFirst line.\n  second\n\n"
#define ASK "== ask tokens\nHow many?\nAt most?\nanswer: broken.pool / 2\nwithin: 10%\nwhy: it has {broken.pool}\n"
#define REST "== verdict\nSo it is: {broken.oom.wanted}.\n== compare\nAnd so.\n== expect\nbroken.end = oom\n"
#define WHOLE HEAD RUN SEE ASK REST

static struct lesson l;
static struct err err;

static int read_it(const char *text)
{
    lesson_free(&l);
    err = (struct err){0};
    return lesson_read(text, strlen(text), "x.lesson", &l, &err);
}

static void refused(const char *text, const char *words)
{
    CHECK(read_it(text) != 0);
    CHECK(!l.mem);
    if (!strstr(err.text, words)) CHECK_STR(err.text, words);
    CHECK(strncmp(err.text, "x.lesson: ", 10) == 0 && !strchr(err.text, '\n'));
}

TEST(a_lesson_is_read)
{
    CHECK_EQ(read_it(WHOLE "== seed\nno\n== frameworks\nyes"), 0);
    CHECK_STR(l.name, "a-lesson");
    CHECK_STR(l.title, "What it is");
    CHECK_EQ(l.cause, CAUSE_KV);
    CHECK_EQ(l.run.n, 5);
    CHECK_STR(l.run.word[4], "1");
    CHECK_EQ(l.flags.n, 4);
    CHECK_EQ(l.own[RUN_BROKEN].n, 2);
    CHECK_EQ(l.own[RUN_FIXED].n, 0);
    CHECK_EQ(l.fails, RUN_OOM);
    CHECK_EQ(l.fails_turn, 2);
    CHECK_STR(l.see, "First line.\n  second");
    CHECK_EQ(l.asks, 1);
    CHECK_STR(l.ask[0].text, "How many?\nAt most?");
    CHECK_STR(l.ask[0].unit, "tokens");
    CHECK(l.ask[0].within_share && l.ask[0].within > 0.099 && l.ask[0].within < 0.101);
    CHECK_STR(l.ask[0].why, "it has {broken.pool}");
    CHECK_STR(l.seed, "no");
    CHECK_STR(l.frameworks, "yes");
    CHECK_EQ(l.expects, 1);
    CHECK_STR(l.expect[0].op, "=");
    lesson_free(&l);
}

TEST(lines_may_end_as_on_other_systems)
{
    CHECK_EQ(read_it("plimsoll lesson 1\r\nname: b\r\ntitle: t\r\ncovers: A1\r\ncause: kv\r\nfails: refused\r\n"
                     "run: stress\r\n\r\n== see\r\nSee.\r\n\r\n== ask choice\r\nWhich?\r\na) this\r\nb) that\r\n"
                     "answer: b\r\n== verdict\r\nv\r\n== compare\r\nc\r\n== expect\r\nfixed.lost < 1K\r\n"), 0);
    CHECK_STR(l.name, "b");
    CHECK_EQ(l.ask[0].letter, 'b');
    CHECK_STR(l.ask[0].choice[1], "that");
    CHECK_EQ(l.fails_turn, 0);
    lesson_free(&l);
}

TEST(scripts_and_files)
{
    static const char text[] = HEAD SEE ASK REST
        "== file notes.txt x3\nabc\n\n== script broken\nplimsoll 1\nHello.\n/attach notes.txt\n"
        "== script fixed\nHello.\n/compact\n";
    CHECK_EQ(read_it(text), 0);
    CHECK_STR(l.script[RUN_BROKEN], "plimsoll 1\nHello.\n/attach notes.txt");
    CHECK_STR(l.script[RUN_FIXED], "Hello.\n/compact");
    CHECK_EQ(l.files, 1);
    CHECK_STR(l.file[0].name, "notes.txt");
    CHECK_STR(l.file[0].text, "abc");
    CHECK_EQ(l.file[0].times, 3);
    CHECK_EQ(read_it(HEAD "kill: turn 4\n" SEE ASK REST "== script\nHello.\n"), 0);
    CHECK_EQ(l.kill_turn, 4);
    CHECK(l.script[0] == l.script[1]);
    lesson_free(&l);
}

TEST(a_line_that_is_none_is_named)
{
    refused("", "begins with");
    refused("plimsoll lesson 2\n", "begins with");
    refused(HEAD "colour: red\n" RUN SEE ASK REST, "line 7: \"colour: red\"");
    refused("plimsoll lesson 1\nname: No Way\n", "line 2: name:");
    refused("plimsoll lesson 1\ncause: magic\n", "line 2: cause: \"magic\"");
    refused("plimsoll lesson 1\nfails: turn 0 oom\n", "line 2: fails:");
    refused("plimsoll lesson 1\nfails: turn 3\n", "line 2: fails:");
    refused("plimsoll lesson 1\nkill: 3\n", "line 2: kill:");
    refused("plimsoll lesson 1\nbroken: -\rx\n", "line 2: a lesson may not give \"- x\"");
    refused(WHOLE "== seed\n{broken\nturn}\n", "\"broken\" is no figure");
    refused(WHOLE "== colours\nred\n", "== colours is no section");
    refused(WHOLE "== see\nagain\n", "a second section");
    refused(WHOLE "== verdict of mine\nx\n", "takes nothing behind it");
    refused(WHOLE "\x1b[31m", "without controls");
    refused(WHOLE "\xff", "UTF-8");
}

TEST(what_a_lesson_must_have)
{
    refused(HEAD RUN ASK REST, "needs == see");
    refused(HEAD RUN SEE REST, "needs == ask");
    refused(HEAD RUN SEE ASK "== compare\nc\n== expect\nbroken.end = oom\n", "needs == verdict");
    refused(HEAD RUN SEE ASK "== verdict\nv\n== expect\nbroken.end = oom\n", "needs == compare");
    refused(HEAD RUN SEE ASK "== verdict\nv\n== compare\nc\n", "needs == expect");
    refused(HEAD SEE ASK REST, "either run: or a script");
    refused(WHOLE "== script\nHello.\n", "either run: or a script");
    refused(HEAD SEE ASK REST "== script broken\nHello.\n", "either run: or a script");
    refused(HEAD SEE ASK REST "== script\nHello.\n== script fixed\nHello.\n", "a second script");
    refused(HEAD SEE ASK REST "== script\n# nothing\n", "has turns");
}

TEST(questions_have_an_answer_that_can_be_known)
{
    refused(HEAD RUN SEE "== ask miles\nFar?\nanswer: 3\n" REST, "== ask needs");
    refused(HEAD RUN SEE "== ask tokens\nanswer: 3\n" REST, "a question has a text");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\n" REST, "a question has a text");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\nanswer: broken.colour\n" REST, "\"broken.colour\" is no figure");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\nanswer: 3 + 4 + 5\n" REST, "two terms");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\nanswer: 3\nwithin: much\n" REST, "within:");
    refused(HEAD RUN SEE "== ask choice\nWhich?\na) x\nanswer: b\n" REST, "choices that have it");
    refused(HEAD RUN SEE "== ask choice\nWhich?\nb) x\nanswer: a\n" REST, "choices go from a)");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\na) x\nanswer: 3\n" REST, "a question has a text");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\nanswer: 3\nwhy: {broken\n" REST, "a { without its }");
    refused(HEAD RUN SEE "== ask tokens\nHow many?\nanswer: 3\nbecause\n" REST, "behind the text of a question");
    refused(WHOLE ASK ASK ASK ASK ASK ASK ASK ASK, "more than 8 questions");
}

TEST(expectations_are_comparisons)
{
    refused(WHOLE "broken.end\n", "SUM OP SUM");
    refused(WHOLE "broken.end = maybe\n", "\"maybe\" is no figure");
    refused(WHOLE "broken.turn ~ 3\n", "SUM OP SUM");
    CHECK_EQ(read_it(WHOLE "fixed.peak<=broken.peak - 16\nbroken.kv != fixed.kv\n"), 0);
    CHECK_EQ(l.expects, 3);
    CHECK_STR(l.expect[1].op, "<=");
    CHECK_STR(l.expect[2].op, "!=");
    lesson_free(&l);
}

TEST(a_lesson_may_not_give_every_flag)
{
    static const char *const bad[] = {
        "--allow shell", "--tools shell", "--tools write", "--tools read,shell", "--store /tmp/x", "-m /tmp/x.gguf",
        "--model x", "--config x", "--trace x", "--nll x", "--resume last", "--workspace /", "--script-file x",
        "--engine scripted", "--backend cuda", "--vram 2G", "--vram 60%", "--vram", "--ctx 70000", "--ctx -1",
        "--ctx x",
        "--crew ../x.yaml", "--crew ./debate", "--crew", "--agents 65", "--naive", "--naive magic", "--unguarded all",
        "--seed 2", "--no-save", "-p hello", "hello", "--ctx=512", "--temp 1e9", "--temp inf", "--vram -1",
    };
    char text[2048];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof text, "%sflags: %s\n%s", HEAD, bad[i], SEE ASK REST "== script\nHello.\n");
        refused(text, "line 7: a lesson may not give");
    }
    static const char *const good[] = {
        "--tools read,list,calculator", "--vram 1G", "--crew debate", "--naive no-limit", "--unguarded window,clip",
        "--temp 0.5", "--fit --lockstep", "--answers 24 --pool 4096", "",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        snprintf(text, sizeof text, "%sflags: %s\n%s", HEAD, good[i], SEE ASK REST "== script\nHello.\n");
        CHECK_EQ(read_it(text), 0);
    }
    refused(HEAD "run: shell\n" SEE ASK REST, "run: may be stress");
    refused(HEAD "run:\n" SEE ASK REST, "run: may be stress");
    refused(HEAD "run: stress --allow shell\n" SEE ASK REST, "may not give \"--allow\"");
    lesson_free(&l);
}

TEST(a_script_of_a_lesson_may_not_say_everything)
{
    static const char *const bad[] = {
        "/export x", "/delete x", "/resume last", "/fork 1", "/bisect", "/for a /export x", "/sessions", "/import x",
        "/attach /etc/passwd", "/attach ../x", "/attach", "/ingest notes.txt /etc/passwd", "/attach other.txt", "/ex",
    };
    char text[2048];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(text, sizeof text, "%s== file notes.txt\nabc\n== script\nHello.\n%s\n", HEAD SEE ASK REST, bad[i]);
        refused(text, "line 2 of a script");
    }
    snprintf(text, sizeof text, "%s== file notes.txt\nabc\n== script\nHello.\n/ingest notes.txt\n/assert turns = 1\n",
             HEAD SEE ASK REST);
    CHECK_EQ(read_it(text), 0);
    lesson_free(&l);
}

TEST(files_of_a_lesson_are_plain_and_not_huge)
{
    refused(HEAD SEE ASK REST "== file ../x\nabc\n== script\nHello.\n", "a plain name");
    refused(HEAD SEE ASK REST "== file .x\nabc\n== script\nHello.\n", "a plain name");
    refused(HEAD SEE ASK REST "== file\nabc\n== script\nHello.\n", "a plain name");
    refused(HEAD SEE ASK REST "== file a\nabc\n== file a x2\nabc\n== script\nHello.\n", "a second file a");
    refused(HEAD SEE ASK REST "== file a x0\nabc\n== script\nHello.\n", "a plain name");
    refused(HEAD SEE ASK REST "== file a x1000000\n0123456789012345678\n== script\nHello.\n", "more than 16 MiB");
}

TEST(a_lesson_of_more_than_64_kib_is_refused)
{
    struct buf b = {0};
    buf_puts(&b, WHOLE);
    while (b.len <= LESSON_FILE) buf_puts(&b, "\n\n\n\n");
    CHECK(lesson_read(b.data, b.len, "x.lesson", &l, &err) != 0);
    CHECK(strstr(err.text, "64 KiB"));
    b.len = LESSON_FILE;
    CHECK_EQ(lesson_read(b.data, b.len, "x.lesson", &l, &err), 0);
    lesson_free(&l);
    buf_free(&b);
}

TEST(any_front_of_a_lesson_is_read_or_refused)
{
    for (size_t n = 0; n < sizeof WHOLE; n++) {
        int rc = lesson_read(WHOLE, n, "x.lesson", &l, &err);
        CHECK(rc == 0 ? l.mem != NULL : !l.mem && *err.text);
        lesson_free(&l);
    }
}

TEST(the_lessons_of_the_program)
{
    CHECK(lesson_count() > 0);
    for (int i = 0; i < lesson_count(); i++) {
        char number[16];
        CHECK_EQ(lesson_builtin(i, &l, &err), 0);
        snprintf(number, sizeof number, "L%d", lesson_number(i));
        CHECK_EQ(lesson_find(l.name), i);
        CHECK_EQ(lesson_find(number), i);
        CHECK_EQ(lesson_find(number + 1), i);
        CHECK(i == 0 || lesson_number(i) > lesson_number(i - 1));
        for (const char *at = l.see; *at; at += strcspn(at, "\n"), at += *at == '\n') CHECK(strcspn(at, "\n") <= 90);
        lesson_free(&l);
    }
    CHECK_EQ(lesson_find("none"), -1);
    CHECK_EQ(lesson_find(""), -1);
    CHECK_EQ(lesson_find("L"), -1);
    CHECK_EQ(lesson_find("L999"), -1);
}

/* ---------------------------------------------------------------- figures */

static struct figures run[RUNS];

static const char *filled(const char *text)
{
    static struct buf out;
    out.len = 0;
    figures_fill(text, run, &out);
    return out.data ? out.data : "";
}

TEST(figures_stand_in_texts)
{
    figures_init(&run[RUN_BROKEN]);
    figures_init(&run[RUN_FIXED]);
    run[RUN_BROKEN].value[FIGURE_TURN] = 9;
    run[RUN_BROKEN].value[FIGURE_OOM_WANTED] = 3 << 20;
    run[RUN_BROKEN].value[FIGURE_OOM_SIZE] = 9 << 20;
    run[RUN_BROKEN].value[FIGURE_POOL] = 1536;
    run[RUN_BROKEN].value[FIGURE_CTX] = 512;
    run[RUN_BROKEN].value[FIGURE_TOKEN_BYTES] = 6144;
    run[RUN_BROKEN].value[FIGURE_END] = RUN_OOM;
    run[RUN_BROKEN].value[FIGURE_HOLES] = 87.6;
    CHECK_STR(filled("no braces"), "no braces");
    CHECK_STR(filled("turn {broken.turn}, {broken.end}"), "turn 9, oom");
    CHECK_STR(filled("{broken.oom.wanted} {broken.oom.wanted:exact}"), "3.0 MiB 3145728 bytes");
    CHECK_STR(filled("{broken.pool / broken.ctx} {broken.oom.size / broken.oom.wanted}"), "3 3");
    CHECK_STR(filled("{broken.oom.size - broken.oom.wanted}"), "6.0 MiB");
    CHECK_STR(filled("{broken.ctx * broken.token.bytes}, {broken.turn+1}"), "3.0 MiB, 10");
    CHECK_STR(filled("{broken.pool / 100}, {broken.holes}"), "15.4, 88 %");
    CHECK_STR(filled("{fixed.turn} {fixed.end} {broken.turn / 0}"), "? unknown ?");
}

TEST(figures_are_folded_from_events)
{
    struct figures *f = &run[RUN_BROKEN];
    figures_init(f);
    for (int t = 1; t <= 3; t++) {
        figures_add(f, &(struct event){.kind = EV_TURN_START, .turn_start = {.turn = t, .call = 1,
            .prompt_tokens = 100 * t, .shared_tokens = 50, .max_tokens = 20, .reserved_tokens = 100 * t + 20}});
        figures_add(f, &(struct event){.kind = EV_MEMORY, .memory = {.pool_tokens = 400,
            .reserved_tokens = 100 * t + 20, .filled_tokens = 90 * t, .running = 1, .waiting = 3 - t}});
        if (t == 3) break;
        figures_add(f, &(struct event){.kind = EV_TURN_END, .turn_end = {.turn = t, .call = 1, .tokens = 20,
            .termination_reason = event_str("completed")}});
    }
    figures_add(f, &(struct event){.kind = EV_OOM, .oom = {.turn = 3, .wanted_bytes = 500, .size_bytes = 4000,
        .free_bytes = 400, .hole_bytes = 100, .owners = 4, .request = 7}});
    figures_add(f, &(struct event){.kind = EV_OOM, .oom = {.turn = 4, .wanted_bytes = 1}});
    figures_end(f, 3, 0);
    CHECK_STR(filled("{broken.end} {broken.turn} {broken.turns} {broken.asked} {broken.lost}"), "oom 3 2 3 2");
    CHECK_STR(filled("{broken.prompt.first} {broken.prompt.last} {broken.growth} {broken.read}"), "100 300 100 450");
    CHECK_STR(filled("{broken.peak} {broken.filled} {broken.running} {broken.waiting}"), "320 270 1 2");
    CHECK_STR(filled("{broken.oom.wanted} {broken.oom.held} {broken.oom.request} {broken.holes} {broken.oom.filled}"),
              "500 bytes 3.5 KiB 7 75 % 68 %");
    CHECK_STR(filled("{broken.written} {broken.calls} {broken.status} {broken.agents}"), "40 0 3 1");
}

TEST(how_a_run_ends_is_what_happened_first)
{
    struct figures *f = &run[RUN_BROKEN];
    static const struct { int status, signal; const char *is; } ends[] = {
        {0, 0, "done"}, {3, 0, "refused"}, {6, 0, "wrong"}, {1, 0, "failed"}, {4, 0, "failed"}, {0, 9, "killed"},
    };
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        figures_init(f);
        figures_end(f, ends[i].status, ends[i].signal);
        CHECK_STR(filled("{broken.end}"), ends[i].is);
    }
    figures_init(f);
    figures_add(f, &(struct event){.kind = EV_REFUSAL, .refusal = {.turn = 5,
        .termination_reason = event_str("refused_host")}});
    figures_add(f, &(struct event){.kind = EV_STOPPED, .stopped = {.turn = 6}});
    figures_end(f, 3, 0);
    CHECK_STR(filled("{broken.end} {broken.turn} {broken.stops}"), "host 5 1");
    figures_init(f);
    figures_add(f, &(struct event){.kind = EV_STOPPED, .stopped = {.turn = 6}});
    figures_end(f, 0, 0);
    CHECK_STR(filled("{broken.end} {broken.turn}"), "stopped 6");
}

CHECK_MAIN
