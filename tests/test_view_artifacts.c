/* What a session keeps whole: the list, texts read in parts and searched, and what is collected of a real store. */
#include "app/console.h"
#include "app/tui/view_artifacts.h"
#include "app/session/session_result.h"
#include "tests/session_rig.h"
#include "tests/stored_rig.h"

/* ---------------------------------------------------------------- a list, made up */

static struct artifacts_row rows[] = {
    {.id = 12, .tool = "search", .about = "pattern=alloc|OOM path=build/night.log", .bytes = 2900000, .tokens = 318,
     .turn = 14},
    {.id = 9, .tool = "shell", .about = "command=make -j2 test 2>&1 | tail -2000", .bytes = 181000, .tokens = 512,
     .turn = 11},
    {.id = 7, .tool = "document", .about = "notes/architecture of the scheduler, a draft.md", .bytes = 12345,
     .tokens = -1, .turn = 0},
    {.id = 3, .tool = "read", .about = "path=build/night.log from=1 to=2000", .damaged = true, .tokens = 2048,
     .turn = 2},
};
static struct doc_artifacts list;
static struct doc doc;

static void begin_list(void)
{
    static const int64_t age[] = {60000, 4000000, 100000000, 800000000};
    for (size_t i = 0; i < COUNT_OF(rows); i++) rows[i].time_ms = 1790000000000 - age[i];
    list = (struct doc_artifacts){.row = rows, .rows = COUNT_OF(rows), .agent = "researcher", .now_ms = 1790000000000};
    doc = (struct doc){.ask = {.kind = DOC_ARTIFACTS}, .data = &list};
    open_view(&view_artifacts, &doc);
    in.agent = 1;
}

TEST(artifacts_look)
{
    begin_list();
    check_goldens("artifacts");
    close_view();
}

TEST(artifacts_figures_are_the_docs)
{
    begin_list();
    size(120, 36);
    CHECK(shows("Artifacts  4, 3.0 MiB  of researcher  "));
    CHECK(shows(" 2.8 MiB    318 tokens    14  1 minute ago"));
    CHECK(shows("  12 KiB       nothing        yesterday"));
    CHECK(shows(" damaged  2,048 tokens     2"));
    list.left_out = 3000;
    CHECK(shows("3,000 older ones are not listed"));
    close_view();
}

TEST(artifacts_without_any_say_what_comes_here)
{
    const struct doc failed = {.ask = {.kind = DOC_ARTIFACTS}, .error = "this session is not saved"};
    begin_list();
    list.rows = 0;
    CHECK(shows("none yet"));
    CHECK(!press(KEY_ENTER));
    CHECK(!type("/"));
    in.doc = NULL;
    CHECK(shows("reading the store"));
    in.doc = &failed;
    CHECK(shows("this session is not saved"));
    close_view();
}

/* ---------------------------------------------------------------- reading */

static struct doc_text part;
static struct doc text;

/* What the sessions' thread would give for what was asked. */
static void give(const char *bytes, uint64_t from, uint64_t next, uint64_t all)
{
    buf_free(&part.text);
    part = (struct doc_text){.from = from, .next = next, .bytes = all};
    buf_puts(&part.text, bytes);
    snprintf(part.title, sizeof part.title, "a12");
    text = (struct doc){.ask = got.ask, .data = &part};
    in.doc = &text;
}

static void check_asked(const char *what, uint64_t from)
{
    CHECK_EQ(got.ask.kind, DOC_TEXT);
    CHECK_STR(got.ask.what, what);
    CHECK_EQ(got.ask.from, from);
    CHECK_EQ(got.ask.agent, 1);
    struct doc_ask again = {0}; /* and so it will be, when it is asked for again */
    ops->ask(viewed, surface_all(&screen), &in, &again);
    CHECK_EQ(again.kind, DOC_TEXT);
    CHECK_STR(again.what, what);
    CHECK_EQ(again.from, from);
}

static const char *many_lines(int first, int n)
{
    static char lines[100000];
    size_t at = 0;
    for (int i = first; i < first + n; i++) at += (size_t)snprintf(lines + at, sizeof lines - at, "line %d.\n", i);
    return lines;
}

TEST(artifacts_are_read_part_by_part)
{
    begin_list();
    press(KEY_DOWN);
    press(KEY_UP);
    CHECK(press(KEY_ENTER));
    check_asked("a12", 0);
    CHECK(shows("reading..."));
    CHECK(!press(KEY_DOWN));
    give(many_lines(0, 100), 0, 300000, 2900000);
    ops->ask(viewed, surface_all(&screen), &in, &text.ask);
    CHECK(shows("bytes 0 to 300,000 of 2,900,000"));
    CHECK(shows("n reads on"));
    CHECK(shows("line 0."));
    CHECK(!shows("p the part before"));
    check_golden("artifacts-text-80x24");
    CHECK(press(KEY_END));
    CHECK(shows("line 99."));
    CHECK(press(KEY_PAGE_DOWN)); /* at the end: the next part */
    check_asked("a12", 300000);
    give(many_lines(100, 100), 300000, 600000, 2900000);
    CHECK(shows("line 100."));
    CHECK(press(KEY_DOWN));
    CHECK_EQ(got.ask.kind, DOC_NONE);
    CHECK(shows("line 101."));
    CHECK(!shows("line 100."));
    press(KEY_UP);
    CHECK(press(KEY_PAGE_UP)); /* at the top: the one before, from its end */
    check_asked("a12", 300000 - (256 << 10));
    give(many_lines(50, 50), got.ask.from, 300000, 2900000);
    CHECK(shows("line 99."));
    CHECK(!shows("line 50."));
    CHECK(type("n"));
    check_asked("a12", 300000);
    give(many_lines(0, 3), 300000, 2900000, 2900000);
    CHECK(type("n")); /* there is no more */
    CHECK_EQ(got.ask.kind, DOC_NONE);
    CHECK(type("c"));
    CHECK_STR(got.copy.data, "line 0.\nline 1.\nline 2.\n");
    CHECK(press(KEY_ESCAPE));
    CHECK_EQ(got.ask.kind, DOC_ARTIFACTS);
    CHECK(shows("reading the store"));
    in.doc = &doc;
    CHECK(shows("of researcher"));
    CHECK(!press(KEY_ESCAPE));
    close_view();
    buf_free(&part.text);
}

TEST(artifacts_text_that_is_read_again_stays_where_it_was)
{
    begin_list();
    press(KEY_ENTER);
    give(many_lines(0, 100), 0, 5000, 5000);
    for (int i = 0; i < 10; i++) press(KEY_DOWN);
    CHECK(shows("line 10."));
    CHECK(!shows("line 9."));
    struct doc_text same = part;
    text.data = &same; /* as after an order */
    CHECK(shows("line 10."));
    CHECK(!shows("line 9."));
    text.data = &part;
    close_view();
    buf_free(&part.text);
}

TEST(artifacts_are_searched_by_a_pattern)
{
    begin_list();
    CHECK(type("/out of"));
    CHECK(shows("lines with (a pattern): out of"));
    press(KEY_ENTER);
    check_asked("a12 /out of/", 0);
    give("3: out of memory\n", 0, 9000, 2900000);
    CHECK(shows("3: out of memory"));
    CHECK(type("n"));
    check_asked("a12 /out of/", 9000);
    give("77: out of luck\n", 900000, 2900000, 2900000);
    CHECK(type("p")); /* where the part before began is not known: from the start */
    check_asked("a12 /out of/", 0);
    give("77: out of luck\n", 900000, 2900000, 2900000);
    press(KEY_ESCAPE); /* the whole */
    check_asked("a12", 0);
    give("all of it", 0, 9, 9);
    CHECK(type("/b"));
    press(KEY_ESCAPE);
    CHECK(shows("all of it"));
    type("/b");
    press(KEY_ENTER);
    check_asked("a12 /b/", 0);
    struct doc failed = {.ask = got.ask, .error = "the pattern is wrong: missing )"};
    in.doc = &failed;
    CHECK(shows("the pattern is wrong"));
    type("q");
    type("q");
    CHECK_EQ(got.ask.kind, DOC_ARTIFACTS);
    close_view();
    buf_free(&part.text);
}

TEST(artifacts_of_any_texts_stay_in_their_box)
{
    static const char bad[] = "\x1b[31m\xe2\x80\xae\xf0\x9f\x91\xa8\xe2\x80\x8d\t\xff\xe6\x97\xa5\n\x9b";
    struct artifacts_row any[COUNT_OF(rows)];
    struct buf big = {0};
    begin_list();
    memcpy(any, rows, sizeof rows);
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        for (size_t k = 0; k + 1 < sizeof any[i].about; k++) any[i].about[k] = bad[k % (sizeof bad - 1)];
        memcpy(any[i].tool, any[i].about, sizeof any[i].tool - 1);
        any[i].id = UINT64_MAX - i;
        any[i].bytes = UINT64_MAX;
        any[i].tokens = INT64_MAX;
        any[i].turn = UINT32_MAX;
        any[i].time_ms = INT64_MIN;
    }
    list.row = any;
    check_stays_in_its_box();
    press(KEY_ENTER);
    for (int i = 0; i < 600; i++) buf_put(&big, bad, sizeof bad - 1);
    give(big.data, 5, UINT64_MAX - 1, UINT64_MAX);
    memset(part.title, 'x', sizeof part.title - 1);
    check_stays_in_its_box();
    list.row = rows;
    close_view();
    buf_free(&part.text);
    buf_free(&big);
}

TEST(artifacts_keys_of_any_kind_break_nothing)
{
    uint64_t chance = 31;
    begin_list();
    for (int i = 0; i < 10000; i++) {
        const char one[2] = {(char)(' ' + rig_draw(&chance, 95)), '\0'};
        if (rig_draw(&chance, 3)) type(one);
        else press((enum key_name)(KEY_ENTER + rig_draw(&chance, KEY_F12 - KEY_ENTER)));
        if (got.ask.kind == DOC_TEXT && rig_draw(&chance, 4))
            give(many_lines(i, 30), got.ask.from, got.ask.from + 9, 77);
        if (got.ask.kind == DOC_ARTIFACTS) in.doc = &doc;
        if (i % 500 == 0) size((int)(1 + rig_draw(&chance, 140)), (int)(1 + rig_draw(&chance, 40)));
        list.rows = (int)rig_draw(&chance, COUNT_OF(rows) + 1);
    }
    close_view();
    buf_free(&part.text);
}

/* ---------------------------------------------------------------- of a real store */

static struct doc collected(doc_collect *collect, const char *what, uint64_t from)
{
    struct doc d = {.ask = {.from = from}};
    snprintf(d.ask.what, sizeof d.ask.what, "%s", what);
    struct console c = {.a = &app, .s = &s};
    collect(&c, &d);
    return d;
}

/* A result of a tool that is too large for the conversation; every line is 40 bytes. */
static void put_result(const char *arguments, size_t lines)
{
    struct buf b = {0};
    for (size_t i = 0; i < lines; i++) buf_printf(&b, "%06zu of a log that goes on and on, day.\n", i);
    const struct session_tool t = {.by = "user", .name = "read", .arguments = arguments, .kind = CLIP_LOG};
    OK(session_result(&s, &t, &b, &err));
}

TEST(artifacts_of_a_session_are_collected)
{
    begin(NULL);
    put_result("{\"path\":\"build/night.log\",\"from\":7}", 9000);
    CHECK_EQ(say("one"), 0);
    put_result("{\"path\":\"b\"}", 300);
    CHECK_EQ(say("two"), 0);
    struct doc d = collected(doc_artifacts, "", 0);
    CHECK_STR(d.error, "");
    const struct doc_artifacts *l = d.data;
    CHECK_EQ(l->rows, 2);
    CHECK_EQ(l->row[0].id, 2); /* the newest first */
    CHECK_EQ(l->row[1].id, 1);
    CHECK_STR(l->row[1].tool, "read");
    CHECK_STR(l->row[1].about, "path=build/night.log from=7");
    CHECK_EQ(l->row[1].bytes, 9000 * 42);
    CHECK_EQ(l->row[1].turn, 1);
    CHECK(l->row[1].tokens > 0 && l->row[1].tokens < 4000);
    CHECK(l->row[1].time_ms > 0 && l->row[1].time_ms <= l->now_ms);
    CHECK_EQ(l->row[0].turn, 2);
    CHECK_EQ(l->left_out, 0);
    char tokens[60];
    snprintf(tokens, sizeof tokens, "\"artifact\":\"a1\",\"bytes\":%d,\"tokens\":%d,", 9000 * 42,
             (int)l->row[1].tokens);
    CHECK(strstr(events(), tokens)); /* as it was told */
    doc_free(&d);
    end();
}

/* Its event was told before the call and the result were said. */
TEST(artifacts_of_a_call_that_the_model_made_say_what_it_sees)
{
    const struct form_text call = form_text("<tool_call>{\"name\":\"list\",\"arguments\":{}}</tool_call>");
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    struct result r = {.by = "model", .name = "list", .bytes = 7000, .left_out = 6995,
                       .artifact = s.keep.head.artifacts++};
    buf_puts(&r.text, "a.txt");
    result_tell(&s, &r, "{\"path\":\".\"}");
    OK(result_append(&s, call, 0, &r, &err));
    OK(session_save(&s, &err));
    struct doc d = collected(doc_artifacts, "", 0);
    const struct doc_artifacts *l = d.data;
    CHECK_EQ(l->rows, 1);
    CHECK_STR(l->row[0].tool, "list");
    CHECK_STR(l->row[0].about, "path=.");
    CHECK_EQ(l->row[0].tokens, 5);
    doc_free(&d);
    buf_free(&r.text);
    end();
}

TEST(artifacts_that_were_ingested_are_documents)
{
    char path[300];
    begin(NULL);
    snprintf(path, sizeof path, "%s/notes.md", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("harbour", f) >= 0 && fclose(f) == 0);
    CHECK_EQ(say("one"), 0);
    OK(session_ingest(&s, path, &err));
    struct doc d = collected(doc_artifacts, "", 0);
    const struct doc_artifacts *l = d.data;
    CHECK_EQ(l->rows, 1);
    CHECK_STR(l->row[0].tool, "document");
    CHECK_STR(l->row[0].about, path);
    CHECK_EQ(l->row[0].bytes, 7);
    CHECK_EQ(l->row[0].tokens, -1);
    doc_free(&d);
    end();
}

TEST(artifacts_text_comes_in_parts_that_join)
{
    struct buf all = {0};
    int parts = 0;
    begin(NULL);
    put_result("{\"path\":\"x\"}", 20000);
    CHECK_EQ(say("one"), 0);
    for (uint64_t from = 0, bytes = 1; from < bytes; parts++) {
        struct doc d = collected(doc_text, "a1", from);
        if (!d.data) check_fail(__FILE__, __LINE__, "%s", d.error);
        const struct doc_text *t = d.data;
        CHECK_STR(t->title, "a1");
        CHECK_EQ(t->from, from);
        CHECK_EQ(t->next - t->from, t->text.len);
        CHECK(t->text.len <= 256 << 10);
        buf_put(&all, t->text.data, t->text.len);
        from = t->next;
        bytes = t->bytes;
        doc_free(&d);
    }
    CHECK_EQ(parts, 4);
    CHECK_EQ(all.len, 20000 * 42);
    for (size_t i = 0; i < 20000; i++) CHECK_EQ(atoi(all.data + 42 * i), (int)i);
    struct doc d = collected(doc_text, "a1", UINT64_MAX); /* beyond its end */
    CHECK_EQ(((const struct doc_text *)d.data)->text.len, 0);
    doc_free(&d);
    buf_free(&all);
    end();
}

TEST(artifacts_parts_have_whole_characters)
{
    struct buf b = {0}, all = {0};
    begin(NULL);
    buf_puts(&b, "x"); /* so that no part ends between two */
    for (int i = 0; i < 200000; i++) buf_puts(&b, i % 2 ? "日" : "\xf0\x9f\x91\xa8");
    struct buf copy = {0};
    buf_put(&copy, b.data, b.len);
    const struct session_tool tool = {.by = "user", .name = "read", .arguments = "{}", .kind = CLIP_TEXT};
    OK(session_result(&s, &tool, &b, &err));
    CHECK_EQ(say("one"), 0);
    for (uint64_t from = 0; from < copy.len;) {
        struct doc d = collected(doc_text, "a1", from);
        const struct doc_text *t = d.data;
        CHECK(t != NULL);
        CHECK_EQ(text_valid_utf8(t->text.data, t->text.len), t->text.len);
        buf_put(&all, t->text.data, t->text.len);
        from = t->next;
        doc_free(&d);
    }
    CHECK_EQ(all.len, copy.len);
    CHECK_MEM(all.data, copy.data, copy.len);
    struct doc d = collected(doc_text, "a1", 3); /* within one: from the next on */
    CHECK_EQ(((const struct doc_text *)d.data)->from, 5);
    CHECK(strncmp(((const struct doc_text *)d.data)->text.data, "日", 3) == 0);
    doc_free(&d);
    buf_free(&copy);
    buf_free(&all);
    end();
}

TEST(artifacts_that_are_not_saved_yet_can_be_read)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    put_result("{\"path\":\"x\"}", 9000);
    CHECK_EQ(s.batch.n_artifacts, 1);
    struct doc d = collected(doc_text, "a1", 42);
    CHECK(d.data && strncmp(((const struct doc_text *)d.data)->text.data, "000001 of", 9) == 0);
    CHECK_EQ(((const struct doc_text *)d.data)->bytes, 9000 * 42);
    doc_free(&d);
    end();
}

TEST(artifacts_lines_with_a_pattern)
{
    begin(NULL);
    put_result("{\"path\":\"x\"}", 9000);
    CHECK_EQ(say("one"), 0);
    struct doc d = collected(doc_text, "a1 /0077[0-4] of/", 0);
    if (!d.data) check_fail(__FILE__, __LINE__, "%s", d.error);
    const struct doc_text *t = d.data;
    for (int i = 770; i < 775; i++) {
        char line[20];
        snprintf(line, sizeof line, "%06d of", i);
        CHECK(strstr(t->text.data, line));
    }
    CHECK(!strstr(t->text.data, "000775"));
    CHECK(strstr(t->title, "a1: 5 lines with /0077[0-4] of/"));
    CHECK_EQ(t->next, t->bytes);
    doc_free(&d);
    d = collected(doc_text, "a1 /(/", 0);
    CHECK(!d.data && *d.error);
    end();
}

TEST(artifacts_texts_that_are_not_there_are_said_so)
{
    static const char *const none[] = {"a9", "a", "", "a1x", "m999", "m1-2", "a1 /", "a1 //", "b7", "m0"};
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        struct doc d = collected(doc_text, none[i], 0);
        CHECK(!d.data);
        CHECK(*d.error);
    }
    struct doc d = collected(doc_text, "m1", 0);
    const struct doc_text *t = d.data;
    if (!t) check_fail(__FILE__, __LINE__, "%s", d.error);
    CHECK_STR(t->text.data, "one");
    CHECK_STR(t->title, "m1, user");
    doc_free(&d);
    end();
}

TEST(artifacts_of_a_session_that_is_not_saved)
{
    begin(NULL);
    struct keeper *k = s.keep.keeper;
    s.keep.keeper = NULL;
    struct doc d = collected(doc_artifacts, "", 0);
    CHECK(!d.data && strstr(d.error, "not saved"));
    d = collected(doc_text, "a1", 0);
    CHECK(!d.data && strstr(d.error, "not saved"));
    s.keep.keeper = k;
    end();
}

TEST(artifacts_that_are_damaged_are_listed_as_such)
{
    begin(NULL);
    put_result("{\"path\":\"x\"}", 9000);
    CHECK_EQ(say("one"), 0);
    leave();
    const struct store_key key = store_key_artifact(id, 1);
    plant(folder, "journal", &key, "nonsense", 8);
    come_back();
    struct doc d = collected(doc_artifacts, "", 0);
    const struct doc_artifacts *l = d.data;
    CHECK_EQ(l->rows, 1);
    CHECK(l->row[0].damaged);
    CHECK_STR(l->row[0].tool, "read");
    doc_free(&d);
    d = collected(doc_text, "a1", 0);
    CHECK(!d.data && strstr(d.error, "damaged"));
    end();
}

CHECK_MAIN
