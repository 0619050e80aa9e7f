/* Boxes lie within the size, never overlap, cover all of it, and are there from the sizes on that layout.h states. */
#include "app/tui/gauges.h"
#include "app/tui/layout.h"
#include "tests/check.h"

enum { BOXES = 12 };

static void boxes_of(const struct layout *l, struct box out[BOXES])
{
    const struct box all[BOXES] = {l->head, l->gauges, l->chat, l->side, l->inspect, l->input, l->count, l->footer,
                                   l->rule[0], l->rule[1], l->divide[0], l->divide[1]};
    memcpy(out, all, sizeof all);
}

static bool there(struct box b) { return b.columns > 0 && b.rows > 0; }

static bool overlap(struct box a, struct box b)
{
    return there(a) && there(b) && a.column < b.column + b.columns && b.column < a.column + a.columns &&
           a.row < b.row + b.rows && b.row < a.row + a.rows;
}

static void check_tiles(struct layout_wish w)
{
    struct layout l = layout_for(w);
    struct box box[BOXES];
    int area = 0;
    boxes_of(&l, box);
    for (int i = 0; i < BOXES; i++) {
        CHECK(box[i].columns >= 0 && box[i].rows >= 0);
        if (!there(box[i])) continue;
        CHECK(box[i].column >= 0 && box[i].column + box[i].columns <= w.columns);
        CHECK(box[i].row >= 0 && box[i].row + box[i].rows <= w.rows);
        area += box[i].columns * box[i].rows;
        for (int k = 0; k < i; k++) CHECK(!overlap(box[i], box[k]));
    }
    CHECK_EQ(area, MAX(w.columns, 0) * MAX(w.rows, 0));
}

TEST(boxes_tile_the_terminal_at_every_size)
{
    for (int columns = -1; columns <= 320; columns += columns < 120 ? 1 : 7)
        for (int rows = -1; rows <= 120; rows++)
            check_tiles((struct layout_wish){columns, rows, (columns * 7 + rows * 3) % 40 - 3, columns % 2 == 0});
}

TEST(the_chat_keeps_its_rows_and_the_input_its_first_as_long_as_there_are_any)
{
    for (int rows = 1; rows <= 60; rows++) {
        struct layout l = layout_for((struct layout_wish){80, rows, 50, true});
        CHECK(l.input.rows >= 1);
        CHECK(l.chat.rows >= MIN(rows - 1, LAYOUT_CHAT_ROWS));
        CHECK(l.input.rows <= MAX(rows / 3, 1));
    }
}

TEST(at_40x10_all_is_there_but_rules_and_side)
{
    struct layout l = layout_for((struct layout_wish){40, 10, 1, true});
    CHECK(there(l.head) && there(l.gauges) && there(l.count) && there(l.footer) && there(l.input));
    CHECK_EQ(l.chat.rows, 4);
    CHECK(!there(l.rule[0]) && !there(l.side));
}

TEST(below_that_head_goes_first_and_gauges_last)
{
    struct layout l = layout_for((struct layout_wish){40, 8, 1, false});
    CHECK(!there(l.head) && there(l.footer) && there(l.count) && there(l.gauges));
    l = layout_for((struct layout_wish){40, 6, 1, false});
    CHECK(!there(l.footer) && !there(l.count) && there(l.gauges));
    l = layout_for((struct layout_wish){40, 5, 1, false});
    CHECK(!there(l.gauges));
}

TEST(side_inspect_and_rules_from_their_sizes_on)
{
    CHECK(!there(layout_for((struct layout_wish){99, 24, 1, false}).side));
    struct layout l = layout_for((struct layout_wish){100, 24, 1, false});
    CHECK(there(l.side) && there(l.divide[0]) && !there(l.inspect));
    CHECK_EQ(l.side.rows, l.chat.rows);
    CHECK(!there(layout_for((struct layout_wish){179, 24, 1, false}).inspect));
    l = layout_for((struct layout_wish){180, 24, 1, false});
    CHECK(there(l.inspect) && there(l.side) && l.chat.columns >= 100);
    CHECK(!there(layout_for((struct layout_wish){80, 19, 1, false}).rule[0]));
    CHECK(there(layout_for((struct layout_wish){80, 20, 1, false}).rule[0]));
}

TEST(gauges_have_the_rows_that_they_ask_for)
{
    for (int columns = 40; columns <= 300; columns++)
        for (int machine = 0; machine < 2; machine++)
            CHECK_EQ(layout_for((struct layout_wish){columns, 24, 1, machine}).gauges.rows,
                     gauges_rows(columns, machine));
}

TEST(the_input_grows_with_its_text_to_a_third)
{
    CHECK_EQ(layout_for((struct layout_wish){80, 36, 1, false}).input.rows, 1);
    CHECK_EQ(layout_for((struct layout_wish){80, 36, 5, false}).input.rows, 5);
    CHECK_EQ(layout_for((struct layout_wish){80, 36, 500, false}).input.rows, 12);
}

CHECK_MAIN
