/* Looking for model files in a process of its own: it finds the same, and files that fill it, and its end by time, by a
 * signal, at any moment, cost no more than the one file that it was about. */
#include "app/models.h"
#include "app/progress.h"
#include "tests/models_rig.h"
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* In place of the C library's, so that a process can be ended between its last work and its end. */
static int at_exit;
void _exit(int status)
{
    if (at_exit) raise(at_exit);
    for (;;) syscall(SYS_exit_group, status);
}

static void begin(void)
{
    new_home();
    own_folders = cache = hub = NULL;
}

TEST(models_look_finds_the_same_sorted_by_use)
{
    struct err err = {0};
    begin();
    fill_home();
    own_folders = mine();
    put_text("mine/a-broken.gguf", "no");
    put_keys("mine/a-other.gguf", other_arch);
    const struct models_ask ask = {.env = env, .within = 1 << 30, .end = progress_clock() + 60};
    struct models *found = models_look(&ask, &err);
    CHECK(found);
    CHECK_STR(found->stopped, "");
    CHECK_EQ(found->n, 8);
    for (int i = 0; i < 6; i++) CHECK_EQ(found->row[i].state, MODEL_FITS);
    CHECK_EQ(found->row[6].state, MODEL_UNSUPPORTED);
    CHECK_EQ(found->row[7].state, MODEL_BROKEN);
    for (int i = 1; i < 6; i++) CHECK(strcasecmp(found->row[i - 1].name, found->row[i].name) < 0);
    models_free(found);
}

/* A header that says it has more strings than a list is worth: 1.5 GiB in a file that takes no room on disk. */
TEST(models_look_is_not_held_or_filled_by_a_file)
{
    struct err err = {0};
    struct gguf_make g;
    struct tiny t = TINY_LLAMA;
    begin();
    own_folders = mine();
    gguf_make_begin(&g);
    for (int i = 0; i < 2; i++) { /* a string of 0.75 GiB each, which the file's end is */
        struct buf b = {0};
        gguf_make_put64(&b, (uint64_t)768 << 20);
        gguf_make_raw_key(&g, i ? "b" : "a", 1, GGUF_STR, b.data, b.len);
        buf_free(&b);
    }
    struct buf b = gguf_make_bytes(&g);
    const char *path = put_bytes("mine/huge.gguf", b.data, b.len);
    CHECK_EQ(truncate(path, (off_t)2 << 30), 0);
    put_model("mine/good.gguf", &t);
    const struct models_ask ask = {.env = env, .within = 1 << 30, .end = progress_clock() + 30};
    struct models *found = models_look(&ask, &err);
    CHECK(found);
    CHECK_EQ(found->n, 2);
    CHECK_STR(found->stopped, "");
    CHECK_EQ(found->row[0].state, MODEL_FITS);
    CHECK_EQ(found->row[1].state, MODEL_BROKEN);
    models_free(found);
    buf_free(&b);
}

static int how; /* what the look does in place of looking on */
static const char *bad_env(const char *name)
{
    if (strcmp(name, "HF_HOME") == 0) {
        if (how) raise(how);
        else for (;;) pause();
    }
    return NULL;
}

TEST(models_look_ends_one_that_hangs_and_outlives_one_that_dies)
{
    struct err err = {0};
    begin();
    for (int i = 0; i < 2; i++) {
        how = i ? SIGKILL : 0;
        const double start = progress_clock();
        const struct models_ask ask = {.env = bad_env, .within = 1 << 30, .end = start + 0.2};
        struct models *found = models_look(&ask, &err);
        CHECK(found && progress_clock() - start < 20);
        CHECK_STR(found->stopped, i ? "it ended early, and 0 of 0 files were not looked into"
                                    : "time was over, and 0 of 0 files were not looked into");
        CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* nobody is left */
        models_free(found);
    }
}

TEST(models_look_that_dies_with_nothing_left_to_do_has_looked_into_all)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    begin();
    own_folders = mine();
    put_model("mine/good.gguf", &t);
    put_text("mine/bad.gguf", "{}");
    at_exit = SIGKILL;
    const struct models_ask ask = {.env = env, .within = 1 << 30, .end = progress_clock() + 60};
    struct models *found = models_look(&ask, &err);
    at_exit = 0;
    CHECK(found);
    CHECK_STR(found->stopped, "");
    CHECK_EQ(found->n, 2);
    CHECK_EQ(found->row[0].state, MODEL_FITS);
    CHECK_EQ(found->row[1].state, MODEL_BROKEN);
    CHECK(!strstr(found->row[1].why, "ended the process"));
    models_free(found);
}

static int after_us; /* the look is ended */
static const char *short_lived_env(const char *name)
{
    const struct itimerval t = {.it_value = {.tv_usec = after_us}};
    if (strcmp(name, "PLIMSOLL_MODELS") == 0) CHECK_EQ(setitimer(ITIMER_REAL, &t, NULL), 0);
    return env(name);
}

/* Wherever it is: rows are whole, and all but the one that it was about are looked into all the same. */
TEST(models_look_that_dies_at_any_moment_leaves_whole_rows)
{
    char name[64];
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    int whole = 0, one = 0;
    begin();
    own_folders = mine();
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "mine/%d.gguf", i);
        if (i % 5) put_model(name, &t);
        else put_text(name, "{}");
    }
    for (after_us = 500; after_us < 300000; after_us += after_us / 3) {
        const struct models_ask ask = {.env = short_lived_env, .within = 1 << 30, .end = progress_clock() + 60};
        struct models *found = models_look(&ask, &err);
        int fit = 0, blamed = 0;
        CHECK(found);
        for (int i = 0; i < found->n; i++) {
            const struct models_row *r = &found->row[i];
            const bool fits = r->state == MODEL_FITS;
            CHECK(r->bytes > 0 && *r->path);
            CHECK((r->ctx_fits == 512 && r->needs_usual > r->needs_least && r->needs_least > 0) == fits);
            CHECK((r->ctx_fits == 0 && r->needs_usual == 0 && r->needs_least == 0) == !fits);
            if (fits) CHECK(strcmp(r->arch, "llama") == 0 && r->parameters > 0 && r->ctx_trained == 512 && !*r->why);
            fit += fits;
            blamed += strstr(r->why, "ended the process") != NULL;
        }
        if (*found->stopped) CHECK(strstr(found->stopped, "it ended early") && fit == 0 && blamed == 0);
        else CHECK(found->n == 40 && fit >= 32 - blamed && blamed <= 1);
        whole += !*found->stopped && !blamed;
        one += blamed;
        models_free(found);
    }
    printf("  %d whole, %d but for one row\n", whole, one);
    CHECK(one > 0 || CHECK_SANITIZED);
}

CHECK_MAIN
