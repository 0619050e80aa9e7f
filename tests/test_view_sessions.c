/* The list of saved sessions: what it looks like, what its keys order, and what is collected of a real store. */
#include "app/console.h"
#include "app/tui/view_sessions.h"
#include "tests/session_rig.h"
#include "tests/stored_rig.h"

/* ---------------------------------------------------------------- a list, made up */

#define MINUTE 60000ll
#define DAY (24 * 60 * MINUTE)
static const int64_t now = 1790000000000ll;

static struct sessions_row rows[] = {
    {.id = "4f2a91c0d1e2f30415263748596a7b8c", .title = "Why does the nightly job die after an hour?",
     .model = "plimsoll-tiny", .turns = 12, .bytes = 1290000, .of = -1, .open = true, .current = true},
    {.id = "77aa01be00000000000000000000aaaa", .title = "The same, but with the log of Tuesday",
     .model = "plimsoll-tiny", .turns = 9, .bytes = 402000, .parent = "aa10ffee00000000000000000000beef",
     .parent_turn = 3, .of = 3},
    {.id = "b0b0b0b000000000000000000000b0b0", .title = "", .model = "Qwen2.5 7B Instruct", .turns = 1, .bytes = 2900,
     .of = -1},
    {.id = "aa10ffee00000000000000000000beef", .title = "Read build/night.log and say what fails first",
     .model = "plimsoll-tiny", .turns = 1204, .bytes = 98000000, .of = -1},
    {.id = "c0ffee0000000000000000000000c0ff", .title = "A copy of a copy", .model = "plimsoll-tiny", .turns = 5,
     .bytes = 80000, .parent = "77aa01be00000000000000000000aaaa", .parent_turn = 2, .of = 1},
    {.id = "d00d000000000000000000000000d00d", .title = "日本語の題名 über naïveté", .model = "plimsoll-tiny",
     .turns = 40, .bytes = 640000, .parent = "aa10ffee00000000000000000000beef", .parent_turn = 1000, .of = 3},
};
static const int64_t age[] = {0, 7 * MINUTE, 3 * 60 * MINUTE, DAY, 4 * DAY, 800 * DAY};
static struct doc_sessions list;
static struct doc doc;

static void begin_list(void)
{
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i].updated_ms = now - age[i];
        rows[i].created_ms = now - age[i] - 40 * MINUTE;
    }
    list = (struct doc_sessions){.row = rows, .rows = COUNT_OF(rows), .sized = true, .now_ms = now};
    doc = (struct doc){.ask = {.kind = DOC_SESSIONS}, .data = &list};
    open_view(&view_sessions, &doc);
}

TEST(sessions_look)
{
    begin_list();
    check_goldens("sessions");
    close_view();
}

/* A run of a crew is in one piece, in both orders. */
TEST(sessions_of_a_crew_look)
{
    static struct sessions_row crew[4];
    begin_list();
    memcpy(crew, rows, sizeof crew);
    crew[1] = (struct sessions_row){.id = "5eed5eed000000000000000000005eed", .title = "debate: Is Rust or C better?",
                                    .model = "plimsoll-tiny", .turns = 2, .bytes = 1200, .of = -1, .run = true,
                                    .updated_ms = now - MINUTE, .created_ms = now - DAY};
    for (int i = 2; i < 4; i++) {
        crew[i] = (struct sessions_row){.model = "plimsoll-tiny", .turns = 4, .bytes = 9000, .of = 1, .below = true,
                                        .updated_ms = now - i * MINUTE, .created_ms = now - DAY};
        snprintf(crew[i].id, sizeof crew[i].id, "%d0ff00ff000000000000000000000000", i);
        snprintf(crew[i].title, sizeof crew[i].title, "%s", i == 2 ? "second" : "judge/5");
    }
    list = (struct doc_sessions){.row = crew, .rows = COUNT_OF(crew), .sized = true, .now_ms = now};
    press(KEY_DOWN);
    check_goldens("sessions-crew");
    size(80, 24);
    CHECK(shows("└─ second") && shows("2 lines, begun"));
    type("t");
    CHECK(shows("└─ judge/5"));
    type("/judge");
    CHECK(shows("judge/5") && !shows("└─")); /* what is found stands alone */
    close_view();
}

TEST(sessions_as_a_tree_look)
{
    begin_list();
    type("t");
    press(KEY_DOWN);
    check_goldens("sessions-tree");
    close_view();
}

TEST(sessions_that_ask_before_they_delete_look)
{
    begin_list();
    press(KEY_DOWN);
    type("x");
    check_golden("sessions-delete-80x24");
    close_view();
}

/* The row of the screen on which this text is. */
static const char *row_with(const char *text)
{
    static char row[2048];
    const char *all = shown(), *at = strstr(all, text);
    if (!at) check_fail(__FILE__, __LINE__, "%s is not shown", text);
    while (at > all && at[-1] != '\n') at--;
    snprintf(row, sizeof row, "%.*s", (int)strcspn(at, "\n"), at);
    return row;
}

TEST(sessions_figures_are_the_docs)
{
    begin_list();
    size(200, 60);
    CHECK(strstr(row_with("aa10ffee  Read"), "  1,204 "));
    CHECK(strstr(row_with("aa10ffee  Read"), " yesterday "));
    CHECK(strstr(row_with("aa10ffee  Read"), " 93 MiB "));
    CHECK(strstr(row_with("4f2a91c0  Why"), "open now"));
    CHECK(strstr(row_with("b0b0b0b0  ("), " 2.8 KiB "));
    CHECK(strstr(row_with("77aa01be  The"), "aa10ffee after turn 3"));
    CHECK(strstr(row_with("Saved sessions"), " 6 "));
    close_view();
}

/* ---------------------------------------------------------------- a tree */

static int row_number(const char *text)
{
    const char *all = shown(), *at = strstr(all, text);
    int n = 0;
    CHECK(at != NULL);
    for (const char *c = all; c < at; c++) n += *c == '\n';
    return n;
}

TEST(sessions_copies_stand_below_what_they_are_of)
{
    begin_list();
    type("t");
    const int of = row_number("aa10ffee  Read"), first = row_number("77aa01be"), second = row_number("c0ffee00");
    CHECK_EQ(first, of + 1);
    CHECK_EQ(second, of + 2);
    CHECK_EQ(row_number("d00d0000"), of + 3);
    CHECK(row_number("b0b0b0b0") < of);
    type("t");
    CHECK_EQ(row_number("77aa01be"), row_number("b0b0b0b0") - 1);
    close_view();
}

/* Every one of them stands in the list once. */
static void check_all_once(void)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char start[24];
        int n = 0;
        snprintf(start, sizeof start, " %.8s  ", rows[i].id);
        for (const char *at = shown(); (at = strstr(at, start)) != NULL; at++) n++;
        CHECK_EQ(n, 1 + (i == 0)); /* the selected one is below the list too */
    }
}

TEST(sessions_whose_parents_go_in_circles_are_shown_once_each)
{
    uint64_t chance = 5;
    struct sessions_row any[COUNT_OF(rows)];
    begin_list();
    memcpy(any, rows, sizeof rows);
    list.row = any;
    type("t");
    press(KEY_HOME);
    for (int i = 0; i < 6; i++) any[i].of = (i + 1) % 6; /* all of them one circle */
    check_all_once();
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < 6; i++) any[i].of = (int)rig_draw(&chance, 8) - 1; /* itself and beyond the list, too */
        check_all_once();
    }
    list.row = rows;
    close_view();
}

/* ---------------------------------------------------------------- keys */

TEST(sessions_keys_order_what_the_chat_knows)
{
    begin_list();
    CHECK(press(KEY_ENTER));
    CHECK_STR(ordered(), "");
    CHECK(got.leave); /* it is the one that is open */
    press(KEY_DOWN);
    CHECK(press(KEY_ENTER));
    CHECK_STR(ordered(), "/resume 77aa01be00000000000000000000aaaa");
    CHECK(got.leave);
    CHECK(type("p"));
    CHECK_EQ(got.go, VIEW_FLIGHT);
    CHECK_EQ(got.ask.kind, DOC_FLIGHT);
    CHECK_STR(got.ask.what, "77aa01be00000000000000000000aaaa");
    press(KEY_HOME);
    CHECK(type("e"));
    CHECK(shows("to the file: 4f2a91c0.md"));
    CHECK_STR(ordered(), "");
    press(KEY_ENTER);
    CHECK_STR(ordered(), "/export 4f2a91c0.md md");
    CHECK(!got.leave); /* what came of it is said here */
    type("e");
    press(KEY_BACKSPACE);
    type("mine.jsonl");
    press(KEY_ENTER);
    CHECK_STR(ordered(), "/export 4f2a91c0.mmine.jsonl");
    type("e");
    press(KEY_ESCAPE);
    CHECK_STR(ordered(), "");
    CHECK(type("f"));
    type("7");
    CHECK(press(KEY_ENTER));
    CHECK_STR(ordered(), "/fork 7");
    type("f");
    press(KEY_ENTER);
    CHECK_STR(ordered(), "/fork");
    type("f13");
    press(KEY_ENTER);
    CHECK_STR(ordered(), "");
    CHECK(shows("from 0 to 12"));
    type("r!");
    press(KEY_ENTER);
    CHECK_STR(ordered(), "/rename Why does the nightly job die after an hour?!");
    CHECK(!press(KEY_F5));
    close_view();
}

TEST(sessions_that_are_not_open_cannot_be_copied_renamed_or_exported)
{
    begin_list();
    press(KEY_DOWN);
    for (const char *k = "fre"; *k; k++) {
        const char one[2] = {*k, '\0'};
        type(one);
        CHECK_STR(ordered(), "");
        CHECK(shows("only the open session"));
        CHECK_EQ(screen.cursor_row, -1); /* nothing is typed */
    }
    close_view();
}

TEST(sessions_are_deleted_after_a_second_key_alone)
{
    begin_list();
    type("x");
    CHECK(shows("it is open here"));
    type("y");
    CHECK_STR(ordered(), "");
    press(KEY_DOWN);
    type("x");
    CHECK(shows("delete 77aa01be, 9 turns, for good?"));
    type("n");
    CHECK_STR(ordered(), "");
    CHECK(shows("it stays"));
    type("y");
    CHECK_STR(ordered(), "");
    type("x");
    type("y");
    CHECK_STR(ordered(), "/delete 77aa01be00000000000000000000aaaa now");
    close_view();
}

TEST(sessions_are_found_by_a_part_of_title_model_or_id)
{
    begin_list();
    type("/NIGHT");
    CHECK(shows("4f2a91c0  Why"));
    CHECK(shows("aa10ffee  Read"));
    CHECK(!shows("77aa01be"));
    CHECK(shows("2 of 6 with \"NIGHT\""));
    press(KEY_ENTER);
    press(KEY_DOWN);
    press(KEY_ENTER);
    CHECK_STR(ordered(), "/resume aa10ffee00000000000000000000beef");
    type("/ly"); /* it goes on from what was typed */
    CHECK(shows("1 of 6 with \"NIGHTly\""));
    press(KEY_ENTER);
    CHECK(press(KEY_ESCAPE));
    CHECK(shows("77aa01be"));
    CHECK(!press(KEY_ESCAPE)); /* now it is the screen's */
    type("/qwen");
    CHECK(shows("1 of 6"));
    press(KEY_ESCAPE);
    type("/zzz");
    CHECK(shows("none has this"));
    press(KEY_ENTER);
    CHECK(!type("x"));
    close_view();
}

TEST(sessions_selected_one_stays_when_the_list_changes)
{
    struct sessions_row fewer[COUNT_OF(rows)];
    begin_list();
    for (int i = 0; i < 3; i++) press(KEY_DOWN);
    memcpy(fewer, rows + 1, sizeof rows - sizeof *rows);
    list.row = fewer; /* another doc, in which it is one row higher */
    list.rows = COUNT_OF(rows) - 1;
    press(KEY_ENTER);
    CHECK_STR(ordered(), "/resume aa10ffee00000000000000000000beef");
    list.row = rows;
    close_view();
}

/* ---------------------------------------------------------------- nothing, and anything */

TEST(sessions_without_any_say_why)
{
    begin_list();
    list.rows = 0;
    check_golden("sessions-none-80x24");
    CHECK(!press(KEY_ENTER));
    in.doc = NULL;
    CHECK(shows("reading the store"));
    struct doc failed = {.ask = {.kind = DOC_SESSIONS}, .error = "the store is damaged: recover it with salvage"};
    in.doc = &failed;
    CHECK(shows("the store is damaged"));
    CHECK(!type("x"));
    close_view();
}

TEST(sessions_with_hostile_texts_stay_in_their_box)
{
    struct sessions_row bad[COUNT_OF(rows)];
    begin_list();
    memcpy(bad, rows, sizeof rows);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        static const char part[] = "\x1b[31m\xe2\x80\xae\xf0\x9f\x91\xa8\xe2\x80\x8d\t\xff\xe6\x97\xa5\n\x9b";
        for (size_t k = 0; k + 1 < sizeof bad[i].title; k++) bad[i].title[k] = part[k % (sizeof part - 1)];
        memcpy(bad[i].model, bad[i].title, sizeof bad[i].model);
        bad[i].bytes = UINT64_MAX;
        bad[i].turns = UINT32_MAX;
        bad[i].updated_ms = i % 2 ? INT64_MIN : INT64_MAX;
        bad[i].created_ms = INT64_MAX;
    }
    list.row = bad;
    check_stays_in_its_box();
    type("t");
    check_stays_in_its_box();
    list.row = rows;
    close_view();
}

TEST(sessions_keys_of_any_kind_break_nothing)
{
    uint64_t chance = 77;
    begin_list();
    for (int i = 0; i < 20000; i++) {
        const char one[2] = {(char)(' ' + rig_draw(&chance, 95)), '\0'};
        if (rig_draw(&chance, 3)) type(one);
        else press((enum key_name)(KEY_ENTER + rig_draw(&chance, KEY_F12 - KEY_ENTER)));
        if (i % 1000 == 0) size((int)(1 + rig_draw(&chance, 140)), (int)(1 + rig_draw(&chance, 40)));
        if (i % 300 == 0) list.rows = (int)rig_draw(&chance, COUNT_OF(rows) + 1);
    }
    close_view();
}

/* ---------------------------------------------------------------- of a real store */

static struct console c;
static struct member member;

static void in_console(void)
{
    session_settle(&s); /* nothing points to it any more: it can be moved, and moved back */
    member = (struct member){.s = s, .open = true};
    c = (struct console){.a = &app, .s = &member.s, .team = {.a = &app, .member = &member, .n = 1}};
}

static struct doc collected(void)
{
    struct doc d = {.ask = {.kind = DOC_SESSIONS}};
    in_console();
    doc_sessions(&c, &d);
    s = member.s;
    return d;
}

struct stats {
    struct store_session_stat *of;
    size_t n;
};

static int stat_store(struct store *store, void *arg, struct err *e)
{
    struct stats *all = arg;
    return store_stat_sessions(store, &all->of, &all->n, e);
}

TEST(sessions_of_a_store_are_collected)
{
    char first[SESSIONS_ID];
    begin("be brief");
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    journal_id_text(s.keep.head.id, first);
    CHECK_EQ(session_fork(&s, 1, &err), 0);
    CHECK_EQ(say("three"), 0);
    struct doc d = collected();
    CHECK_STR(d.error, "");
    const struct doc_sessions *l = d.data;
    CHECK_EQ(l->rows, 2);
    CHECK(l->sized && !l->more && l->damaged == 0);
    CHECK(l->row[0].current && !l->row[1].open);
    CHECK_STR(l->row[1].id, first);
    CHECK_STR(l->row[0].parent, first);
    CHECK_EQ(l->row[0].of, 1);
    CHECK_EQ(l->row[0].parent_turn, 1);
    CHECK_EQ(l->row[0].turns, 2);
    CHECK_STR(l->row[1].title, "one");
    CHECK(l->row[1].updated_ms <= l->now_ms && l->row[1].created_ms > 0);
    struct stats all = {0};
    OK(keep_call(&s.keep, stat_store, &all, &err));
    CHECK_EQ(all.n, 2);
    for (size_t i = 0; i < all.n; i++) { /* the store's own figures */
        char id_text[SESSIONS_ID];
        journal_id_text(all.of[i].session, id_text);
        CHECK_EQ(all.of[i].bytes, l->row[strcmp(id_text, first) == 0].bytes);
    }
    free(all.of);
    doc_free(&d);
    end();
}

TEST(sessions_are_deleted_by_what_the_view_orders)
{
    char line[80], first[SESSIONS_ID];
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    journal_id_text(s.keep.head.id, first);
    CHECK_EQ(session_fork(&s, 1, &err), 0);
    session_settle(&s);
    in_console();
    snprintf(line, sizeof line, "/delete %s now", first);
    console_command(&c, line, strlen(line));
    snprintf(line, sizeof line, "/delete last now"); /* it is open */
    console_command(&c, line, strlen(line));
    s = member.s;
    struct doc d = collected();
    const struct doc_sessions *l = d.data;
    CHECK_EQ(l->rows, 1);
    CHECK(l->row[0].current);
    CHECK_STR(l->row[0].parent, first);
    CHECK_EQ(l->row[0].of, -1);
    doc_free(&d);
    end();
}

TEST(sessions_that_are_damaged_are_counted_and_named)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    leave();
    struct store *store = open_at(folder);
    struct store_key key = store_key_session(ada);
    store_begin(store, STORE_JOURNAL);
    OK(store_put(store, &key, REC_SESSION, "{\"version\":1}", 13, &err));
    OK(store_commit(store, &err));
    store_close(store);
    come_back();
    struct doc d = collected();
    const struct doc_sessions *l = d.data;
    CHECK_EQ(l->rows, 1);
    CHECK_EQ(l->damaged, 1);
    CHECK(strstr(l->damage, "damaged"));
    open_view(&view_sessions, &d);
    CHECK(shows("1 damaged"));
    close_view();
    doc_free(&d);
    end();
}

TEST(sessions_that_are_not_saved_say_so)
{
    begin(NULL);
    struct keeper *k = s.keep.keeper;
    s.keep.keeper = NULL;
    struct doc d = collected();
    CHECK(!d.data);
    CHECK(strstr(d.error, "not saved"));
    s.keep.keeper = k;
    end();
}

CHECK_MAIN
