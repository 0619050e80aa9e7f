/* test_history.c - the input's history: what was typed comes back as it was, two programs at once lose nothing, and a
 * file that cannot be trusted is left alone. */
#include "app/tui/history.h"
#include "tests/check.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *state_home, *home_dir;

static const char *fake_env(const char *name)
{
    if (strcmp(name, "XDG_STATE_HOME") == 0) return state_home;
    return strcmp(name, "HOME") == 0 ? home_dir : NULL;
}

/* A history in a folder of its own that is not there yet. */
static struct history fresh(void)
{
    static int number;
    static char dir[300];
    struct history h;
    snprintf(dir, sizeof dir, "%s/%d/state", check_tmpdir(), number++);
    state_home = dir;
    CHECK_EQ(history_open(&h, fake_env, true, NULL), 0);
    return h;
}

static void add(const struct history *h, const char *text)
{
    struct err err = {0};
    CHECK_EQ(history_add(h, text, strlen(text), &err), 0);
    CHECK_STR(err.text, "");
}

static struct edit *load(const struct history *h)
{
    struct err err = {0};
    struct edit *e = edit_open(&err);
    CHECK(e != NULL);
    CHECK_EQ(history_load(h, e, &err), 0);
    CHECK_STR(err.text, "");
    return e;
}

static void check_text(const struct edit *e, size_t i, const char *text, size_t len)
{
    size_t n;
    const char *got = edit_history_text(e, i, &n);
    CHECK_EQ(n, len);
    CHECK_MEM(got, text, len);
}

static void write_file(const struct history *h, const char *bytes, size_t n, mode_t mode)
{
    int fd = open(h->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && fchmod(fd, mode) == 0 && close(fd) == 0);
}

static void read_file(const struct history *h, struct buf *out)
{
    char part[4096];
    int fd = open(h->path, O_RDONLY);
    CHECK(fd >= 0);
    for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;) buf_put(out, part, (size_t)n);
    close(fd);
}

/* Neither read nor written, and both say why. */
static void check_refused(const struct history *h, const char *why)
{
    struct err err = {0};
    struct edit *e = edit_open(NULL);
    CHECK_EQ(history_load(h, e, &err), -1);
    CHECK(strstr(err.text, why) != NULL);
    CHECK(strstr(err.text, h->path) != NULL);
    CHECK_EQ(edit_history(e), 0);
    err = (struct err){0};
    CHECK_EQ(history_add(h, "x", 1, &err), -1);
    CHECK(strstr(err.text, why) != NULL);
    edit_close(e);
}

/* ------------------------------------------------------------------ what was typed */

TEST(history_texts_come_back_as_they_were_oldest_first)
{
    static const struct { const char *text; size_t n; } texts[] = {
        {"what is a cache?", 16},       {"two\nlines\n", 10},     {"\n", 1},
        {"back\\slash \\n \\x41", 18},  {"tab\t esc\x1b[31m", 13}, {"NUL\0 inside", 11},
        {"not \xff\xfe UTF-8 \xc3", 14}, {"gr\xc3\xbc\xc3\x9f", 6}, {"\x7f\r\n\x18", 4},
        {"ends in \\", 9},              {" blanks ", 8},
    };
    struct history h = fresh();
    for (size_t i = 0; i < COUNT_OF(texts); i++) CHECK_EQ(history_add(&h, texts[i].text, texts[i].n, NULL), 0);
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), COUNT_OF(texts));
    for (size_t i = 0; i < COUNT_OF(texts); i++) check_text(e, i, texts[i].text, texts[i].n);
    edit_close(e);
    history_close(&h);
}

TEST(history_file_can_be_shown_at_a_terminal_and_is_its_owners_alone)
{
    struct history h = fresh();
    struct buf file = {0};
    struct stat st;
    mode_t mask = umask(0);
    add(&h, "a\x1b]0;title\a\nb\x7f");
    umask(mask);
    read_file(&h, &file);
    CHECK_STR(file.data, "a\\x1b]0;title\\x07\\nb\\x7f\n");
    CHECK(stat(h.path, &st) == 0);
    CHECK_EQ(st.st_mode & 07777, 0600);
    *strrchr(h.path, '/') = '\0';
    CHECK(stat(h.path, &st) == 0);
    CHECK_EQ(st.st_mode & 07777, 0700);
    buf_free(&file);
    history_close(&h);
}

TEST(history_that_others_may_read_is_made_private_by_the_next_text)
{
    struct history h = fresh();
    struct stat st;
    add(&h, "one");
    CHECK(chmod(h.path, 0644) == 0);
    add(&h, "two");
    CHECK(stat(h.path, &st) == 0);
    CHECK_EQ(st.st_mode & 07777, 0600);
    history_close(&h);
}

TEST(history_keeps_nothing_of_an_empty_or_a_long_text_or_with_no_save)
{
    struct history h = fresh();
    char *text = take_touched(HISTORY_TEXT + 1);
    memset(text, 'a', HISTORY_TEXT + 1);
    CHECK_EQ(history_add(&h, "", 0, NULL), 0);
    CHECK_EQ(history_add(&h, text, HISTORY_TEXT + 1, NULL), 0);
    h.saves = false;
    CHECK_EQ(history_add(&h, "x", 1, NULL), 0);
    CHECK(access(h.path, F_OK) != 0);
    h.saves = true;
    CHECK_EQ(history_add(&h, text, HISTORY_TEXT, NULL), 0);
    h.saves = false; /* what is there is read all the same */
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), 1);
    check_text(e, 0, text, HISTORY_TEXT);
    edit_close(e);
    free(text);
    history_close(&h);
}

TEST(history_lies_where_xdg_says_and_only_at_absolute_paths)
{
    struct history h;
    struct err err = {0};
    state_home = "/some/state", home_dir = "/home/me";
    CHECK_EQ(history_open(&h, fake_env, true, NULL), 0);
    CHECK_STR(h.path, "/some/state/plimsoll/history");
    history_close(&h);
    state_home = "relative";
    CHECK_EQ(history_open(&h, fake_env, true, NULL), 0);
    CHECK_STR(h.path, "/home/me/.local/state/plimsoll/history");
    history_close(&h);
    state_home = home_dir = NULL;
    CHECK_EQ(history_open(&h, fake_env, true, &err), -1);
    CHECK(strstr(err.text, "XDG_STATE_HOME") != NULL);
    struct edit *e = load(&h); /* nothing happens */
    add(&h, "x");
    CHECK_EQ(edit_history(e), 0);
    edit_close(e);
    history_close(&h);
}

TEST(history_loads_the_newest_that_an_editor_keeps)
{
    struct history h = fresh();
    struct buf file = {0};
    add(&h, "first");
    for (int i = 0; i < EDIT_HISTORY + 50; i++) buf_printf(&file, "text %d\n", i);
    write_file(&h, file.data, file.len, 0600);
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), EDIT_HISTORY);
    check_text(e, 0, "text 50", 7);
    check_text(e, EDIT_HISTORY - 1, "text 1049", 9);
    edit_close(e);
    buf_free(&file);
    history_close(&h);
}

/* ------------------------------------------------------------------ damage */

TEST(history_passes_over_lines_that_are_no_records)
{
    static const char bytes[] = "good\n\nbad \\q\nends in \\\n\\x4\n\\xZZ\nraw \x1b[2J\nNUL \0\ncr\r\n"
                                "also good\nnever ended";
    struct history h = fresh();
    add(&h, "x");
    write_file(&h, bytes, sizeof bytes - 1, 0600);
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), 2);
    check_text(e, 0, "good", 4);
    check_text(e, 1, "also good", 9);
    edit_close(e);
    add(&h, "new"); /* and the one that was never ended is none, ever */
    e = load(&h);
    CHECK_EQ(edit_history(e), 3);
    check_text(e, 2, "new", 3);
    edit_close(e);
    history_close(&h);
}

TEST(history_of_random_bytes_gives_no_text_that_is_too_long_and_takes_new_ones)
{
    struct history h = fresh();
    char *bytes = take_touched(300000);
    unsigned x = 12345;
    add(&h, "x");
    for (int i = 0; i < 300000; i++) bytes[i] = (char)((x = x * 1103515245u + 12345u) >> 16);
    memset(bytes + 100000, 'a', 150000); /* one line longer than a text may be */
    write_file(&h, bytes, 300000, 0600);
    add(&h, "after");
    struct edit *e = load(&h);
    size_t last = edit_history(e) - 1, n;
    for (size_t i = 0; i <= last; i++) CHECK(edit_history_text(e, i, &n) && n > 0 && n <= HISTORY_TEXT);
    check_text(e, last, "after", 5);
    edit_close(e);
    free(bytes);
    history_close(&h);
}

TEST(history_larger_than_it_may_be_is_read_from_the_first_whole_line_of_its_end)
{
    struct history h = fresh();
    add(&h, "x");
    h.most = 100;
    struct buf file = {0};
    for (int i = 0; i < 50; i++) buf_printf(&file, "line %03d\n", i); /* 9 bytes each */
    write_file(&h, file.data, file.len, 0600);
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), 11);
    check_text(e, 0, "line 039", 8);
    check_text(e, 10, "line 049", 8);
    edit_close(e);
    buf_free(&file);
    history_close(&h);
}

TEST(history_is_trimmed_to_its_newest_half_when_it_is_full)
{
    struct history h = fresh();
    char text[20];
    struct stat st;
    h.most = 1000;
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "text %d", i);
        add(&h, text);
        CHECK(stat(h.path, &st) == 0);
        CHECK(st.st_size <= 1000);
        CHECK_EQ(st.st_mode & 07777, 0600);
    }
    struct edit *e = load(&h);
    size_t n = edit_history(e);
    CHECK(n >= 500 / 9 && n <= 1000 / 9);
    for (size_t i = 0; i < n; i++) {
        int len = snprintf(text, sizeof text, "text %zu", 500 - n + i);
        check_text(e, i, text, (size_t)len);
    }
    edit_close(e);
    char beside[400];
    snprintf(beside, sizeof beside, "%s.new", h.path);
    CHECK(access(beside, F_OK) != 0);
    history_close(&h);
}

/* ------------------------------------------------------------------ several programs */

enum { PROGRAMS = 4, TEXTS = 60 };

static void many(const struct history *h, int me)
{
    for (int i = 0; i < TEXTS; i++) {
        char text[40];
        int n = snprintf(text, sizeof text, "program %d text %d", me, i);
        if (history_add(h, text, (size_t)n, NULL)) _exit(1);
    }
    _exit(0);
}

static void run_programs(const struct history *h)
{
    pid_t pid[PROGRAMS];
    for (int i = 0; i < PROGRAMS; i++) {
        pid[i] = fork();
        CHECK(pid[i] >= 0);
        if (pid[i] == 0) many(h, i);
    }
    for (int i = 0; i < PROGRAMS; i++) {
        int status = -1;
        CHECK(waitpid(pid[i], &status, 0) == pid[i]);
        CHECK_EQ(status, 0);
    }
}

TEST(history_of_several_programs_at_once_has_every_text_of_each_in_its_order)
{
    struct history h = fresh();
    run_programs(&h);
    struct edit *e = load(&h);
    int next[PROGRAMS] = {0}, who, which;
    CHECK_EQ(edit_history(e), PROGRAMS * TEXTS);
    for (size_t i = 0; i < edit_history(e); i++) {
        size_t n;
        CHECK_EQ(sscanf(edit_history_text(e, i, &n), "program %d text %d", &who, &which), 2);
        CHECK(who >= 0 && who < PROGRAMS);
        CHECK_EQ(which, next[who]++);
    }
    edit_close(e);
    history_close(&h);
}

/* The file is replaced some forty times while others wait for its lock: none of the newest is lost with the old one. */
TEST(history_trimmed_while_several_programs_write_keeps_the_newest_of_all)
{
    struct history h = fresh();
    h.most = 600;
    run_programs(&h);
    for (int i = 0; i < 5; i++) {
        char text[20];
        snprintf(text, sizeof text, "last %d", i);
        add(&h, text);
    }
    struct edit *e = load(&h);
    size_t n = edit_history(e), len;
    int before[PROGRAMS], who, which, seen = 0;
    memset(before, -1, sizeof before);
    for (size_t i = 0; i + 5 < n; i++) {
        CHECK_EQ(sscanf(edit_history_text(e, i, &len), "program %d text %d", &who, &which), 2);
        CHECK(before[who] < 0 || which == before[who] + 1);
        before[who] = which;
        seen++;
    }
    for (int i = 0; i < PROGRAMS; i++) CHECK(before[i] < 0 || before[i] == TEXTS - 1);
    CHECK(seen >= 10);
    edit_close(e);
    history_close(&h);
}

/* Another program trims it while this one waits for the lock: the text belongs into the file that has the name now. */
TEST(history_replaced_while_its_lock_is_waited_for_gets_the_text)
{
    struct history h = fresh();
    char beside[400];
    int status = -1;
    add(&h, "old");
    snprintf(beside, sizeof beside, "%s.new", h.path);
    int fd = open(h.path, O_RDWR);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        close(fd);
        _exit(history_add(&h, "waited", 6, NULL) ? 1 : 0);
    }
    usleep(100000);
    int to = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(to >= 0 && write(to, "trimmed\n", 8) == 8 && close(to) == 0 && rename(beside, h.path) == 0);
    close(fd);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), 2);
    check_text(e, 0, "trimmed", 7);
    check_text(e, 1, "waited", 6);
    edit_close(e);
    history_close(&h);
}

TEST(history_locked_by_a_program_that_never_lets_go_is_given_up_with_a_line)
{
    struct history h = fresh();
    struct err err = {0};
    add(&h, "x");
    int fd = open(h.path, O_RDWR);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    CHECK_EQ(history_add(&h, "y", 1, &err), -1);
    CHECK(strstr(err.text, "locked") != NULL);
    close(fd);
    struct edit *e = load(&h);
    CHECK_EQ(edit_history(e), 1);
    edit_close(e);
    history_close(&h);
}

/* ------------------------------------------------------------------ files that are not trusted */

TEST(history_that_others_may_write_is_refused)
{
    struct history h = fresh();
    add(&h, "x");
    CHECK(chmod(h.path, 0620) == 0);
    check_refused(&h, "others may write to it");
    CHECK(chmod(h.path, 0602) == 0);
    check_refused(&h, "others may write to it");
    history_close(&h);
}

TEST(history_that_is_no_regular_file_is_refused_without_waiting)
{
    struct history h = fresh();
    char other[400];
    add(&h, "x");
    snprintf(other, sizeof other, "%s.other", h.path);
    CHECK(rename(h.path, other) == 0 && symlink(other, h.path) == 0);
    check_refused(&h, "not a regular file");
    CHECK(unlink(h.path) == 0 && mkfifo(h.path, 0600) == 0);
    check_refused(&h, "not a regular file");
    CHECK(unlink(h.path) == 0 && mkdir(h.path, 0700) == 0);
    struct err err = {0};
    CHECK_EQ(history_add(&h, "x", 1, &err), -1);
    CHECK(strlen(err.text) > 0);
    history_close(&h);
}

TEST(history_of_another_user_is_refused)
{
    struct history h = fresh();
    add(&h, "x");
    if (geteuid() != 0) SKIP("only root can give a file away");
    CHECK(chown(h.path, 12345, (gid_t)-1) == 0);
    check_refused(&h, "belongs to another user");
    history_close(&h);
}

TEST(history_whose_folder_cannot_be_made_is_a_line)
{
    struct history h = fresh();
    struct err err = {0};
    add(&h, "x");
    history_close(&h);
    char file[300];
    snprintf(file, sizeof file, "%s/plimsoll/history", state_home);
    state_home = file; /* a file where a folder should be */
    CHECK_EQ(history_open(&h, fake_env, true, NULL), 0);
    CHECK_EQ(history_add(&h, "x", 1, &err), -1);
    CHECK(strstr(err.text, "Not a directory") != NULL);
    struct edit *e = load(&h); /* and to read, it is as if there were none */
    CHECK_EQ(edit_history(e), 0);
    edit_close(e);
    history_close(&h);
}

CHECK_MAIN
