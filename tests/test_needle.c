/* The needle in little, without a model: what was said first is looked for 60 turns later by one who can only copy from
 * what it is given.  So this is what memory delivers, by extracts alone, by recall alone, by both; make eval-needle
 * asks the embedded model, 200 turns later. */
#include "app/session/session.h"
#include "tests/check.h"
#include "tests/fake_engine.h"
#include "tests/needle_talk.h"
#include "tests/store_rig.h"

enum { CTX = 3072, DIALOGUES = 10, TURNS = 60 }; /* a token is a byte here */

static struct opts opts;
static struct app app;
static struct session s;
static const char *canned; /* the answer to this turn; NULL: copied from the prompt */
static const char *asked;
static const char *record; /* what the model says when it is to sum up; NULL: something that never comes to its end */
static int recalls, asides;
static size_t recalled_most; /* bytes that one of them brought */
static char recalled[1000];  /* the last */

static void on_event(void *self, struct event *e)
{
    (void)self;
    if (e->kind != EV_TOOL) return;
    recalls++;
    recalled_most = MAX(recalled_most, e->tool.text.len);
    snprintf(recalled, sizeof recalled, "%.*s", (int)e->tool.text.len, e->tool.text.data);
}

/* "What is the port of the wifi?": the last place of "he port of the wifi is ", up to the blank or mark behind it. */
static const char *copied(const char *heard)
{
    static char text[200];
    char key[100];
    const char *found = NULL;
    snprintf(key, sizeof key, "%.*s is ", (int)strlen(asked + 9) - 1, asked + 9);
    for (const char *p = heard; (p = strstr(p, key)) != NULL; p += strlen(key)) found = p + strlen(key);
    if (!found) return "You have not told me.";
    snprintf(text, sizeof text, "It is %.*s.", (int)strcspn(found, " .,|\n"), found);
    return text;
}

/* A summary never comes to its end. */
static const char *reply(const char *heard)
{
    if (fake.asides > asides) {
        asides = fake.asides;
        return record ? record : "Facts:\n- again\n- again\n- again";
    }
    return canned ? canned : copied(heard);
}

static void say(const char *text, const char *answer)
{
    canned = answer;
    err = (struct err){0};
    if (session_ask(&s, text, strlen(text), &err)) check_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
}

static bool is_found(void)
{
    struct needle_dialogue d;
    CHECK_EQ(session_new(&s, &app, "Be kind.", &err), 0);
    app.trace.voice->note = on_event;
    needle_begin(&d);
    asked = d.needle.asked;
    say(d.said, d.noted);
    for (int turn = 2; turn < TURNS; turn++) {
        needle_next(&d, turn);
        say(d.said, d.noted);
    }
    say(asked, NULL);
    bool found = strstr(fake.says, d.needle.value) != NULL;
    struct buf diff = {0};
    const struct text_entry *e = session_summary(&s, &diff, &err);
    CHECK((e != NULL) == (fake.asides > 0));
    if (e) CHECK(!strstr(e->text, "- user: ") && !strstr(e->text, "- assistant: ")); /* quotations are no sources */
    buf_free(&diff);
    session_close(&s);
    return found;
}

static void begin(const char *summary, const char *recall)
{
    struct store *st = open_at(fresh_dir());
    const struct engine_info *info = fake_begin(NULL, CTX);
    fake.reply = reply;
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 128, .summary = summary,
                         .recall = recall};
    app = (struct app){.o = &opts, .ops = &fake_ops, .engine = &fake, .info = info};
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    OK(keeper_open(&app.keeper, st, &err));
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
    needle_seed = 20261122;
    recalls = asides = 0;
    record = NULL;
    recalled_most = 0;
}

static void end(void)
{
    keeper_close(app.keeper);
    close(app.answers.fd);
    buf_free(&fake.heard);
}

static int find(const char *summary, const char *recall)
{
    int found = 0;
    begin(summary, recall);
    for (int i = 0; i < DIALOGUES; i++) found += is_found();
    end();
    return found;
}

TEST(needle_by_extracts_alone)
{
    CHECK_EQ(find("model", "off"), DIALOGUES); /* six facts have room */
    CHECK(fake.asides >= 2 * DIALOGUES);       /* the model was asked, and failed */
    CHECK_EQ(recalls, 0);
}

TEST(needle_by_recall_alone_which_brings_little_and_seldom)
{
    CHECK(find("off", "auto") >= DIALOGUES * 9 / 10);
    CHECK_EQ(fake.asides, 0);
    CHECK(recalls >= DIALOGUES && recalls < DIALOGUES * TURNS / 4);
    CHECK(recalled_most < 200);
}

TEST(needle_by_both)
{
    CHECK_EQ(find("model", "auto"), DIALOGUES);
    CHECK(recalls >= DIALOGUES);
}

/* Without either it is gone, so it is not found by chance. */
TEST(needle_is_lost_without_either)
{
    CHECK_EQ(find("off", "off"), 0);
}

/* ---------------------------------------------------------------- what is taken of a model's summary */

static char reason[200], by[20]; /* of the last summary */

static void on_summary(void *self, struct event *e)
{
    (void)self;
    if (e->kind != EV_SUMMARY) return;
    snprintf(reason, sizeof reason, "%.*s", (int)e->summary.reason.len, e->summary.reason.data);
    snprintf(by, sizeof by, "%.*s", (int)e->summary.by.len, e->summary.by.data);
}

/* A turn says that the port is 8080, then as many others as it takes; the model's record is this. */
static const char *summed_up(const char *model)
{
    static char text[2000];
    struct buf diff = {0};
    begin("model", "off");
    CHECK_EQ(session_new(&s, &app, "Be kind.", &err), 0);
    app.trace.voice->note = on_summary;
    record = model;
    for (int i = 0; fake.asides == 0; i++) say(i ? "Tell me more of it." : "The port is 8080.", "Once upon a time.");
    const struct text_entry *e = session_summary(&s, &diff, &err);
    CHECK(e != NULL);
    snprintf(text, sizeof text, "%s", e->text);
    session_close(&s);
    end();
    buf_free(&diff);
    return text;
}

static const char *sum_up(const char *head)
{
    static char endless[2000];
    snprintf(endless, sizeof endless, "%s", head);
    for (int i = 0; i < 60; i++) strcat(endless, "- call the sailor\n");
    return summed_up(endless);
}

TEST(summary_that_met_its_limit_in_its_last_section_is_taken_as_far_as_its_lines_are_whole)
{
    CHECK_STR(sum_up("Facts:\n- a story is told\nDecisions:\nnone\nDone:\nnone\nOpen:\n"),
              "Facts:\n- the port is 8080\n- a story is told\nDecisions:\nnone\nDone:\nnone\nOpen:\n- call the sailor");
}

TEST(summary_that_met_its_limit_before_its_last_section_is_not_taken)
{
    const char *text = sum_up("Facts:\n- a story is told\nDecisions:\nnone\nDone:\n");
    CHECK(strstr(text, "8080") && !strstr(text, "call the sailor") && !strstr(text, "a story is told"));
}

TEST(summary_leaves_out_what_was_not_said_and_tells_so)
{
    CHECK_STR(summed_up("Facts:\n- the port is 8081\n- a story is told\nDecisions:\nnone\nDone:\nnone\nOpen:\n"
                        "- call Mara"),
              "Facts:\n- the port is 8080\n- a story is told\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone");
    CHECK_STR(by, "model");
    CHECK_STR(reason, "2 of its lines were not said and are left out");
}

TEST(summary_that_is_all_made_up_gives_way_to_an_extract)
{
    const char *text = summed_up("Facts:\n- the port is 8081\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone");
    CHECK(strstr(text, "- the port is 8080\n") && !strstr(text, "8081"));
    CHECK_STR(by, "extract");
    CHECK_STR(reason, "what the model's summary says was not said");
}

/* ---------------------------------------------------------------- what recall brings in unasked */

/* Until all before has left the context. */
static void talk_on(void)
{
    char text[100];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "Tell me a story about sailor number %d%d, long enough to fall asleep.", i, i);
        say(text, "Once upon a time.");
    }
}

static void begin_talk(void)
{
    begin("off", "auto");
    CHECK_EQ(session_new(&s, &app, "Be kind.", &err), 0);
    app.trace.voice->note = on_event;
}

TEST(recall_brings_the_persons_own_words_once_and_nothing_much_weaker)
{
    begin_talk();
    say("Remember: the code of the cellar door is 4711.", "Noted: the code of the cellar door is 4711.");
    say("The code of the cellar lift is 1234.", "Noted: the code of the cellar lift is 1234.");
    say("The colour of the cellar door is blue.\nSo it was painted.", "I see.");
    talk_on();
    recalls = 0;
    say("What is the code of the cellar door?", "It is 4711.");
    CHECK_EQ(recalls, 1);
    CHECK_STR(recalled, "user: Remember: the code of the cellar door is 4711.");
    say("What was painted blue in the cellar?", "The door."); /* less sure: the next best too */
    CHECK_EQ(recalls, 2);
    CHECK(strstr(recalled, "user: The colour of the cellar door is blue. So it was painted.") == recalled);
    session_close(&s);
    end();
}

TEST(recall_brings_nothing_that_says_no_more_than_the_question)
{
    begin_talk();
    say("What about the bridge?", "I see.");
    say("The bridge?", "Bridge: about what?");
    say("The ferry is closed.", "Noted: the ferry is closed.");
    talk_on();
    recalls = 0;
    say("What about the bridge?", "I see.");
    CHECK_EQ(recalls, 0);
    say("What about the ferry?", "I see.");
    CHECK_EQ(recalls, 1);
    session_close(&s);
    end();
}

TEST(recall_brings_nothing_that_was_said_again_in_the_context)
{
    begin_talk();
    say("The code of the cellar door is 4711.", "Noted: the code of the cellar door is 4711.");
    talk_on();
    say("The code of the cellar door is 4711.", "I see.");
    recalls = 0;
    say("What is the code of the cellar door?", "It is 4711.");
    CHECK_EQ(recalls, 0);
    session_close(&s);
    end();
}

CHECK_MAIN
