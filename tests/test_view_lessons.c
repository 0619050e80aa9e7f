/* The Lessons view: what it lists, a lesson played to its end with real runs of the program, its score kept; what is
 * shown beside the chat meanwhile; and that it stays in its box. */
#include "app/learn/lesson.h"
#include "app/learn/learned.h"
#include "app/tui/ui_impl.h"
#include "app/tui/view_lessons.h"
#include "tests/child.h"
#include "tests/ui_rig.h"
#include <limits.h>
#include <unistd.h>

#define F9 ESC "[20~"

static void open_lessons(int columns, int rows)
{
    static char program[PATH_MAX]; /* a run is in a folder of its own: the whole path */
    char data[400];
    snprintf(data, sizeof data, "%s/data", check_tmpdir());
    CHECK_EQ(setenv("XDG_DATA_HOME", data, 1), 0);
    open_live(columns, rows);
    press(F9);
    CHECK_EQ(ui->view, VIEW_LESSONS);
    CHECK(realpath(child_program(), program) != NULL);
    view_lessons_config(ui->of_view[VIEW_LESSONS], &(struct play_config){.program = program, .limit = 60});
}

static void mark(const char *name)
{
    char row[80];
    snprintf(row, sizeof row, "L%d ", lesson_number(lesson_find(name)));
    for (int i = 0; i < lesson_find(name); i++) press(DOWN);
    SHOWS(row);
}

/* Until nothing goes on. */
static void wait_for_run(void)
{
    for (int i = 0; i < 6000 && (pass(0.01), ui_goes_on(ui)); i++) usleep(10000);
    CHECK(!ui_goes_on(ui));
}

TEST(list_has_every_lesson_with_its_title)
{
    open_lessons(200, 60);
    for (int i = 0; i < lesson_count(); i++) {
        struct lesson l;
        CHECK_EQ(lesson_builtin(i, &l, NULL), 0);
        SHOWS(l.name);
        SHOWS(l.title);
        lesson_free(&l);
    }
    press(ESC);
    CHECK_EQ(ui->view, VIEW_CHAT);
    close_ui();
}

static void play_to_the_first_run(void)
{
    mark("does-it-fit");
    press("\r");
    SHOWS("1 of 9: ");
    press("\r");
    SHOWS("2 of 9: Your prediction");
}

/* Nothing but an empty answer to each question. */
static void leave_open(void)
{
    struct lesson l;
    CHECK_EQ(lesson_builtin(lesson_find("does-it-fit"), &l, NULL), 0);
    for (int i = 0; i < l.asks; i++) press("\r");
    lesson_free(&l);
    SHOWS("3 of 9: The broken run");
}

TEST(lesson_is_played_to_its_end_and_its_score_is_kept)
{
    struct buf path = {0};
    struct learned learned;
    struct err err;
    open_lessons(120, 36);
    play_to_the_first_run();
    press("perhaps");
    press("\r");
    SHOWS("your answer to 1:"); /* that is no answer */
    leave_open();
    SHOWS("broken");
    wait_for_run();
    SHOWS("broken  oom");
    SHOWS("not run yet");
    press("\r");
    SHOWS("4 of 9: ");
    SHOWS("Out of memory: the model's weights are too big");
    press("\r");
    SHOWS("5 of 9: ");
    wait_for_run();
    SHOWS("fixed  done");
    press("\r");
    SHOWS("6 of 9: ");
    for (int i = 0; i < 6 && !shows("9 of 9: "); i++) press("\r");
    SHOWS("0 of ");
    press("\r");
    SHOWS("1 of "); /* played */
    SHOWS("0/");
    close_ui();
    CHECK_EQ(learned_path(&path, &err), 0);
    CHECK_EQ(learned_read(path.data, &learned, &err), 0);
    CHECK(learned_of(&learned, "does-it-fit") && learned_of(&learned, "does-it-fit")->times == 1);
    buf_free(&path);
}

static int times_played(void)
{
    struct buf path = {0};
    struct learned learned;
    struct err err;
    CHECK_EQ(learned_path(&path, &err), 0);
    CHECK_EQ(learned_read(path.data, &learned, &err), 0);
    buf_free(&path);
    const struct learned_row *row = learned_of(&learned, "does-it-fit");
    return row ? row->times : 0;
}

TEST(run_that_fails_says_why_and_its_score_is_not_kept)
{
    open_lessons(120, 50);
    const int before = times_played();
    view_lessons_config(ui->of_view[VIEW_LESSONS], &(struct play_config){.program = "/none/plimsoll"});
    play_to_the_first_run();
    leave_open();
    SHOWS("This run could not be begun: ");
    for (int i = 0; i < 9 && shows(" of 9: "); i++) press("\r");
    SHOWS("that does-it-fit was played is not kept: ");
    CHECK_EQ(times_played(), before);
    close_ui();
}

TEST(run_goes_on_beside_the_chat_and_ends_with_the_screen)
{
    open_lessons(200, 60);
    mark("endless-chat");
    press("\r");
    press("\r");
    for (int i = 0; i < 6 && !ui_goes_on(ui); i++) press("\r");
    CHECK(ui_goes_on(ui));
    press(ESC);
    CHECK_EQ(ui->view, VIEW_CHAT);
    SHOWS("lesson endless-chat, broken");
    SHOWS("L2 endless-chat");
    press(F9);
    SHOWS("it goes on");
    press("\r"); /* not past a run that goes on */
    SHOWS("it goes on");
    press("q");
    SHOWS("Lessons");
    pass(0.1);
    CHECK(!ui_goes_on(ui));
    for (int i = 0; i < 40; i++) press(UP);
    mark("endless-chat");
    press("\r");
    for (int i = 0; i < 6 && !ui_goes_on(ui); i++) press("\r");
    CHECK(ui_goes_on(ui));
    close_ui(); /* with its child */
}

TEST(run_is_seen_on_a_small_screen)
{
    open_lessons(40, 10);
    mark("endless-chat");
    press("\r");
    for (int i = 0; i < 6 && !ui_goes_on(ui); i++) press("\r");
    CHECK(ui_goes_on(ui));
    SHOWS("3 of 9: ");
    SHOWS("  q ends it"); /* it does not run into what is left of it */
    SHOWS("broken  goes on");
    close_ui();
}

TEST(run_that_ended_is_still_seen_where_no_curve_stands_beside_the_text)
{
    open_lessons(80, 24);
    play_to_the_first_run();
    leave_open();
    wait_for_run();
    SHOWS("3 of 9: ");
    SHOWS("plimsoll "); /* its command line */
    SHOWS("broken  oom");
    press("\r");
    SHOWS("4 of 9: ");
    SHOWS_NO("broken  oom"); /* there the words have the room */
    press("\r");
    wait_for_run();
    SHOWS("5 of 9: ");
    SHOWS("fixed  done");
    close_ui();
}

TEST(answer_that_is_being_typed_is_still_there_when_the_view_comes_back)
{
    open_lessons(120, 36);
    play_to_the_first_run();
    press("1");
    press("2");
    press(ESC);
    CHECK_EQ(ui->view, VIEW_CHAT);
    press(F9);
    SHOWS("your answer to 1: 12");
    close_ui();
}

TEST(view_stays_in_its_box_at_every_stage)
{
    struct surface s;
    struct err err;
    open_lessons(120, 36);
    const struct view_in in = {.state = &ui->state, .glyphs = GLYPHS_UTF8};
    CHECK_EQ(surface_open(&s, 210, 70, &err), 0);
    for (int stage = 0; stage < 8; stage++) {
        for (int columns = 0; columns <= 200; columns += columns < 20 ? 3 : 31)
            for (int rows = 0; rows <= 60; rows += rows < 8 ? 1 : 13) {
                const struct box b = {3, 2, columns, rows};
                for (int i = 0; i < s.columns * s.rows; i++) s.cell[i] = (struct cell){.text = "@", .width = 1};
                view_lessons.draw(ui->of_view[VIEW_LESSONS], &s, b, &in);
                for (int i = 0; i < s.columns * s.rows; i++) {
                    const int x = i % s.columns - b.column, y = i / s.columns - b.row;
                    if (x < 0 || y < 0 || x >= columns || y >= rows) CHECK_STR(s.cell[i].text, "@");
                }
            }
        if (stage == 0) mark("does-it-fit");
        press("\r");
        wait_for_run();
    }
    surface_close(&s);
    close_ui();
}

CHECK_MAIN
