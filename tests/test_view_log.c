/* The log: its ring of lines, what it looks like, that it follows, and that what is looked for is found. */
#include "app/tui/log.h"
#include "tests/stored_rig.h"

static struct log l;

static void put(double time, enum log_kind kind, const char *text) { log_put(&l, time, kind, text, strlen(text)); }

static void begin_log(void)
{
    struct err err;
    CHECK_EQ(log_open(&l, &err), 0);
    open_view(&view_log, NULL);
    in.log = &l;
}

static void end_log(void)
{
    close_view();
    log_close(&l);
}

static void put_session(void)
{
    put(0.1, LOG_DIM, "plimsoll-tiny (llama), context 2048 tokens, CPU AVX-512 VNNI, 2 threads");
    put(0.1, LOG_DIM, "session 4f2a91c0 goes on after 12 turns: Why does the nightly job die?");
    put(3.2, LOG_PLAIN, "researcher search {\"pattern\":\"alloc|OOM\"}: 318 tokens, clipped; the whole is artifact a7");
    put(64, LOG_ERROR, "/resume 77: no session begins with 77");
    put(65, LOG_PLAIN, "the summary in force:\n  Facts:\n  - the context grows by 190 pages a turn from turn 14 on; at "
                       "turn 36 it passes the pool, and the pool's pages that were taken equal those that came back");
    put(3700, LOG_ERROR, "turn 13 is not saved yet: no space left on the device; make room, and it is tried again with "
                         "the next turn, as are the others before it");
    put(3701, LOG_PLAIN, "the session is saved again, up to turn 14");
}

/* ---------------------------------------------------------------- the ring */

TEST(log_keeps_the_newest_lines)
{
    char text[40];
    begin_log();
    CHECK(!log_at(&l, 0));
    for (int i = 0; i < LOG_LINES + 10; i++) {
        snprintf(text, sizeof text, "line %d", i);
        put(i, LOG_PLAIN, text);
    }
    CHECK_EQ(l.lines, LOG_LINES + 10);
    CHECK(!log_at(&l, 9));
    CHECK_STR(log_at(&l, 10)->text, "line 10");
    CHECK_STR(log_at(&l, LOG_LINES + 9)->text, text);
    CHECK(!log_at(&l, LOG_LINES + 10));
    end_log();
}

TEST(log_cuts_lines_between_characters_and_at_newlines)
{
    struct buf text = {0};
    begin_log();
    put(0, LOG_PLAIN, "one\n\ntwo\n");
    CHECK_EQ(l.lines, 3);
    CHECK_STR(log_at(&l, 1)->text, "");
    CHECK_STR(log_at(&l, 2)->text, "two");
    log_put(&l, 0, LOG_PLAIN, "a\0b", 3);
    CHECK_STR(log_at(&l, 3)->text, "a b");
    for (int i = 0; i < 10000; i++) buf_puts(&text, "日");
    log_put(&l, 0, LOG_PLAIN, text.data, text.len);
    CHECK_EQ(strlen(log_at(&l, 4)->text), (LOG_LINE - 1) / 3 * 3);
    log_put(&l, 0, LOG_PLAIN, text.data, 0);
    CHECK_EQ(l.lines, 5);
    buf_free(&text);
    end_log();
}

/* ---------------------------------------------------------------- how it looks */

TEST(log_looks)
{
    begin_log();
    put_session();
    check_goldens("log");
    end_log();
}

TEST(log_with_something_found_looks)
{
    begin_log();
    put_session();
    type("/turn");
    press(KEY_ENTER);
    type("n");
    check_golden("log-find-80x24");
    end_log();
}

TEST(log_without_lines_says_what_comes_here)
{
    begin_log();
    CHECK(shows("nothing was said yet"));
    CHECK(!press(KEY_UP));
    in.log = NULL;
    CHECK(shows("nothing was said yet"));
    end_log();
}

/* ---------------------------------------------------------------- following, scrolling */

static void put_many(int n)
{
    char text[40];
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "line %d.", i);
        put(i, LOG_PLAIN, text);
    }
}

TEST(log_follows_until_a_key_goes_up)
{
    begin_log();
    put_many(100);
    CHECK(shows("line 99."));
    CHECK(shows("line 77."));
    CHECK(!shows("line 76.")); /* 24 rows, one is the head */
    put(100, LOG_PLAIN, "one more");
    CHECK(shows("one more"));
    CHECK(press(KEY_UP));
    CHECK(!shows("one more"));
    CHECK(shows("1 newer below"));
    put(101, LOG_PLAIN, "another");
    CHECK(!shows("another"));
    CHECK(shows("2 newer below"));
    CHECK(press(KEY_HOME));
    CHECK(shows("line 0."));
    CHECK(shows("line 22."));
    CHECK(!shows("line 23."));
    CHECK(press(KEY_DOWN));
    CHECK(shows("line 23."));
    CHECK(!shows("line 0."));
    CHECK(type("G"));
    CHECK(shows("another"));
    put(102, LOG_PLAIN, "the last");
    CHECK(shows("the last"));
    end_log();
}

TEST(log_that_shows_all_follows_whatever_key_was_pressed)
{
    begin_log();
    put_many(5);
    press(KEY_HOME);
    CHECK(shows("line 4."));
    put_many(40);
    CHECK(shows("line 39."));
    CHECK(!shows("newer below"));
    end_log();
}

TEST(log_pages_miss_no_line)
{
    char text[40];
    begin_log();
    put_many(300);
    press(KEY_HOME);
    for (int i = 0; i < 300;) {
        snprintf(text, sizeof text, "line %d.", i);
        if (shows(text)) i++;
        else if (press(KEY_PAGE_DOWN), !shows(text)) check_fail(__FILE__, __LINE__, "%s is not shown", text);
    }
    end_log();
}

TEST(log_that_runs_over_while_one_looks_at_its_beginning_shows_what_there_is)
{
    begin_log();
    put_many(LOG_LINES);
    press(KEY_HOME);
    CHECK(shows("line 0."));
    put_many(500);
    CHECK(!shows("line 0."));
    CHECK(shows("line 500."));
    end_log();
}

TEST(log_long_line_has_all_its_rows_and_may_begin_above_the_box)
{
    char text[LOG_LINE];
    begin_log();
    size(30, 6);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "begin", 5);
    memcpy(text + sizeof text - 4, "end", 3);
    put(0, LOG_PLAIN, text);
    CHECK(shows("end"));
    CHECK(!shows("begin"));
    size(110, 6);
    CHECK(shows("begin"));
    CHECK(shows("end"));
    end_log();
}

/* ---------------------------------------------------------------- looking for a text */

TEST(log_finds_upwards_then_older_and_newer)
{
    begin_log();
    put_many(200);
    type("/LINE 5"); /* 5, 50 to 59 */
    CHECK(shows("line 59."));
    CHECK_EQ(screen.cursor_row, 23);
    press(KEY_ENTER);
    CHECK(shows("in line 60"));
    CHECK(type("nnnnnnnnnn"));
    CHECK(shows("in line 6 "));
    CHECK(shows("> "));
    CHECK(type("n"));
    CHECK(shows("and in no other"));
    CHECK(type("N"));
    CHECK(shows("in line 51"));
    CHECK(press(KEY_ESCAPE));
    CHECK(!shows("Esc forgets it"));
    CHECK(!press(KEY_ESCAPE));
    type("/nowhere");
    CHECK(shows("find: nowhere"));
    press(KEY_ENTER);
    CHECK(shows("no line has \"nowhere\""));
    end_log();
}

TEST(log_marks_what_was_found_also_over_the_end_of_a_row)
{
    struct buf b = {0};
    int marked = 0;
    begin_log();
    size(24, 8); /* 22 columns of text */
    put(0, LOG_PLAIN, "aaaaaaaaaaaaaaaaaaaaNEEDLEaaaaaa");
    type("/needle");
    press(KEY_ENTER);
    paint();
    for (int i = 0; i < screen.columns * (screen.rows - 1); i++)
        if (screen.cell[i].look.attr & LOOK_REVERSE) {
            marked++;
            buf_puts(&b, screen.cell[i].text);
        }
    CHECK_EQ(marked, 6);
    CHECK_STR(b.data, "NEEDLE");
    buf_free(&b);
    end_log();
}

/* ---------------------------------------------------------------- anything */

TEST(log_of_any_bytes_stays_in_its_box)
{
    begin_log();
    for (int i = 0; i < 50; i++)
        put(i % 3 ? 1e300 : -1, (enum log_kind)(i % 3),
            "\x1b]0;x\x07\xe2\x80\xae日本語\xff\t\xf0\x9f\x91\xa8\xe2\x80\x8d end");
    check_stays_in_its_box();
    press(KEY_UP);
    type("/end");
    check_stays_in_its_box();
    end_log();
}

TEST(log_keys_of_any_kind_break_nothing)
{
    uint64_t chance = 99;
    begin_log();
    put_session();
    for (int i = 0; i < 20000; i++) {
        chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
        const char one[2] = {(char)(' ' + chance % 95), '\0'};
        if (chance % 3) type(one);
        else press((enum key_name)(KEY_ENTER + chance / 7 % (KEY_F12 - KEY_ENTER)));
        if (i % 1000 == 0) size((int)(1 + chance % 140), (int)(1 + chance / 9 % 40));
        if (i % 50 == 0) put(i, LOG_ERROR, "something failed");
    }
    end_log();
}

CHECK_MAIN
