/* The list of lessons that were played: kept whole, and not believed when read. */
#include "app/learn/learned.h"
#include "tests/check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct learned l;
static struct err err;

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    return path;
}

static void put_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
}

static int parse(const char *text)
{
    err = (struct err){0};
    return learned_parse(text, strlen(text), &l, &err);
}

TEST(rows_are_read)
{
    CHECK_EQ(parse("plimsoll learned 1\nfan-out 1 2 3 1790000000\nreload 0 1 1 0\n"), 0);
    CHECK_EQ(l.n, 2);
    const struct learned_row *r = learned_of(&l, "fan-out");
    CHECK(r && r->right == 1 && r->of == 2 && r->times == 3 && r->last == 1790000000);
    CHECK(learned_of(&l, "reload") && !learned_of(&l, "fan"));
    CHECK_EQ(parse("plimsoll learned 1\n"), 0);
    CHECK_EQ(l.n, 0);
}

TEST(what_is_no_row_is_named)
{
    static const char *const bad[] = {
        "a 1 2 3", "a 1 2 3 4 5", "a 3 2 1 0", "a -1 2 3 0", "a 1 2 3 x", "A 1 2 3 0", "../a 1 2 3 0", "a 1 2 3 1e9",
        "a 1 9999 3 0", "a 1 2 3 9999999999999999", "", "a 1 1 1 0\na 1 1 1 0", "\x1b[2J 1 2 3 0",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 2 3 0",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[200];
        snprintf(text, sizeof text, "plimsoll learned 1\nok 1 1 1 0\n%s\n", bad[i]);
        CHECK(parse(text) != 0);
        CHECK(strstr(err.text, i == 11 ? "line 4" : "line 3"));
        CHECK_EQ(l.n, 0);
    }
    CHECK(parse("plimsoll learned 2\n") != 0 && strstr(err.text, "line 1"));
    CHECK(parse("") != 0);
    CHECK(learned_parse("plimsoll learned 1\0x", 20, &l, &err) != 0);
}

TEST(more_rows_than_there_is_room_for)
{
    struct buf b = {0};
    buf_puts(&b, "plimsoll learned 1\n");
    for (int i = 0; i < LEARNED_ROWS; i++) buf_printf(&b, "a%d 1 1 1 0\n", i);
    CHECK_EQ(learned_parse(b.data, b.len, &l, &err), 0);
    CHECK_EQ(l.n, LEARNED_ROWS);
    buf_puts(&b, "more 1 1 1 0\n");
    CHECK(learned_parse(b.data, b.len, &l, &err) != 0);
    buf_free(&b);
}

TEST(a_play_is_noted_and_the_best_score_stays)
{
    const char *path = path_of("data/plimsoll/learned");
    CHECK_EQ(learned_read(path, &l, &err), 0);
    CHECK_EQ(l.n, 0);
    CHECK_EQ(learned_note(path, "fan-out", 1, 2, 100, &err), 0);
    CHECK_EQ(learned_note(path, "reload", 0, 1, 150, &err), 0);
    CHECK_EQ(learned_note(path, "fan-out", 0, 2, 200, &err), 0);
    CHECK_EQ(learned_read(path, &l, &err), 0);
    CHECK_EQ(l.n, 2);
    const struct learned_row *r = learned_of(&l, "fan-out");
    CHECK(r && r->right == 1 && r->of == 2 && r->times == 2 && r->last == 200);
    CHECK_EQ(learned_note(path, "fan-out", 0, 3, 300, &err), 0); /* other questions: another score */
    CHECK_EQ(learned_read(path, &l, &err), 0);
    CHECK(learned_of(&l, "fan-out")->right == 0 && learned_of(&l, "fan-out")->of == 3);
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 077) == 0);
    CHECK(learned_note(path, "No Name", 0, 3, 300, &err) != 0);
}

TEST(a_file_that_is_not_believed_is_left_as_it_is)
{
    static const char text[] = "something else\n";
    const char *path = path_of("other");
    put_file(path, text, sizeof text - 1);
    CHECK(learned_read(path, &l, &err) != 0);
    CHECK(strstr(err.text, path) && strstr(err.text, "line 1"));
    CHECK(learned_note(path, "fan-out", 1, 1, 1, &err) != 0);
    char back[64] = "";
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(back, sizeof back, f) && fclose(f) == 0);
    CHECK_STR(back, text);
}

TEST(a_file_that_is_no_file_or_too_long)
{
    const char *path = path_of("pipe");
    CHECK(mkfifo(path, 0600) == 0);
    CHECK(learned_read(path, &l, &err) != 0);
    CHECK(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
    CHECK(learned_read(path, &l, &err) != 0);
    CHECK(unlink(path) == 0);
    char *big = calloc(1, LEARNED_FILE + 1);
    CHECK(big);
    memset(big, '\n', LEARNED_FILE + 1);
    put_file(path, big, LEARNED_FILE + 1);
    CHECK(learned_read(path, &l, &err) != 0);
    CHECK(strstr(err.text, "16 KiB"));
    free(big);
}

CHECK_MAIN
