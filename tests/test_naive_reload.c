/* The policy RELOAD: a request's weights come from the file, as it lies there when the request is admitted; a file that
 * is gone or changed ends that request with words, and the sound policy serves the next. */
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/kern_shim.h"
#include "tests/tiny_model.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { PROMPT = 40, NEW = 8, SLABS = 3 }; /* slabs: weights, workspace, pages */

static const struct engine_ops *const ops = &engine_local;
static char path[4096];

static const char *write_model(struct tiny t, const char *name)
{
    snprintf(path, sizeof path, "%s", tiny_file(&t, NULL, name));
    return path;
}

/* Its bytes become another model's; it stays the file that it is, which a new one of its name need not be. */
static void write_over(struct tiny t)
{
    char was[sizeof path];
    struct buf bytes = {0};
    snprintf(was, sizeof was, "%s", path);
    int fd = open(write_model(t, "over.gguf"), O_RDONLY | O_CLOEXEC);
    char some[4096];
    ssize_t n;
    while ((n = read(fd, some, sizeof some)) > 0) buf_put(&bytes, some, (size_t)n);
    close(fd);
    snprintf(path, sizeof path, "%s", was);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    CHECK(fd >= 0 && n == 0 && !bytes.failed && write(fd, bytes.data, bytes.len) == (ssize_t)bytes.len);
    close(fd);
    buf_free(&bytes);
}

static struct engine_config config(enum naive_policy policy)
{
    return (struct engine_config){.model = path, .kernels = shim_kern(kern_cpu()), .kern = {.threads = 1}, .ctx = 64,
                                  .kv_type = KT_F16, .max_seqs = 3, .max_rows = 24, .template = -1, .vram = 64 << 20,
                                  .naive = policy};
}

static struct engine *open_with(struct engine_config cfg)
{
    struct err err = {0};
    shim = (struct shim){0};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static struct engine *open_reload(void) { return open_with(config(NAIVE_RELOAD)); }

static int submit(struct engine *e, bool no_wait)
{
    int32_t ids[PROMPT];
    struct err err = {0};
    int id;
    for (int i = 0; i < PROMPT; i++) ids[i] = TINY_BYTE0 + 7 * i % 256;
    struct request r = {.ids = ids, .n_ids = PROMPT, .max_tokens = NEW, .ignore_end = true, .no_wait = no_wait,
                        .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

/* One step; its err. */
static struct err step(struct engine *e)
{
    struct engine_event ev[32];
    struct err err = {0}, wrong = {0};
    ops->step(e, ev, 32, &err);
    if (sched_check(e->sched, &wrong)) check_fail(__FILE__, __LINE__, "%s", wrong.text);
    return err;
}

static enum engine_end end_of(struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

static void run(struct engine *e, int id)
{
    for (int steps = 0; end_of(e, id) == END_NONE; steps++) {
        CHECK(steps < 100);
        CHECK_STR(step(e).text, "");
    }
}

static struct engine_snapshot figures(struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

struct said { /* to the bit */
    struct engine_token token[NEW];
};

static struct said take(struct engine *e, int id)
{
    struct said out;
    const struct answer *a = ops->answer(e, id);
    CHECK(atomic_load(&a->end) == END_LENGTH && atomic_load(&a->n_tokens) == NEW);
    memcpy(out.token, a->token, sizeof out.token);
    return out;
}

static struct said say(struct engine *e)
{
    int id = submit(e, false);
    run(e, id);
    return take(e, id);
}

static bool same(struct said a, struct said b) { return memcmp(&a, &b, sizeof a) == 0; }

static struct said sound_says(void)
{
    struct engine *e = open_with(config(NAIVE_NONE));
    struct said s = say(e);
    ops->close(e);
    return s;
}

/* As if nobody had touched it. */
static void set_times(const struct stat *st)
{
    CHECK_EQ(utimensat(AT_FDCWD, path, (struct timespec[2]){st->st_atim, st->st_mtim}, 0), 0);
}

/* ------------------------------------------------------------------ it does read */

TEST(reload_reads_every_tensor_again_for_every_request_and_gives_all_back)
{
    write_model(TINY_LLAMA, "reload.gguf");
    struct said sound = sound_says();
    struct engine *e = open_reload();
    long loads = shim.of[SHIM_MAT_LOAD], takes = shim.of[SHIM_TAKE];
    uint64_t taken = shim.taken;
    CHECK(loads > 0 && takes == SLABS);
    for (int i = 1; i <= 3; i++) {
        CHECK(same(say(e), sound));
        CHECK(shim.of[SHIM_MAT_LOAD] == (i + 1) * loads && shim.of[SHIM_TAKE] == takes + i);
        CHECK(shim.slabs == SLABS && shim.taken == taken);
    }
    CHECK_EQ(shim.most, taken + ops->info(e)->weight_bytes);
    CHECK(figures(e).naive_policy == NAIVE_RELOAD && figures(e).naive_failures == 0);
    ops->close(e);
    CHECK_EQ(shim.taken, 0);
}

/* No copy of the engine's weights would know: the file's times say that nothing happened. */
TEST(reload_computes_with_the_bytes_that_lie_there_now)
{
    struct tiny other = TINY_LLAMA;
    struct stat st;
    write_model(TINY_LLAMA, "now.gguf");
    struct said sound = sound_says();
    struct engine *e = open_reload();
    CHECK_EQ(stat(path, &st), 0);
    other.seed = 2;
    write_over(other);
    set_times(&st);
    struct said now = say(e);
    ops->close(e);
    CHECK(!same(now, sound));
    CHECK(same(now, sound_says()));
}

/* ------------------------------------------------------------------ it cannot */

/* The next request finds no weights, ends with these words, and all others are served by the sound policy. */
static void check_lost(struct engine *e, struct said sound, const char *words)
{
    int one = submit(e, false), two = submit(e, false);
    struct err err = step(e);
    CHECK_EQ(end_of(e, one), END_FAULT);
    CHECK(strstr(ops->answer(e, one)->fault, "the weights were not loaded again: "));
    if (!strstr(ops->answer(e, one)->fault, words)) CHECK_STR(ops->answer(e, one)->fault, words);
    CHECK_EQ(err.code, ENGINE_FAULT);
    CHECK(strncmp(err.text, ops->answer(e, one)->fault, strlen(ops->answer(e, one)->fault)) == 0);
    CHECK(figures(e).naive_policy == NAIVE_NONE && figures(e).naive_failures == 0 && shim.slabs == SLABS);
    run(e, two);
    CHECK(same(take(e, two), sound) && same(say(e), sound));
    ops->close(e);
    CHECK_EQ(shim.taken, 0);
}

TEST(reload_of_a_file_that_is_gone_says_so_and_the_sound_policy_follows)
{
    write_model(TINY_LLAMA, "gone.gguf");
    struct said sound = sound_says();
    struct engine *e = open_reload();
    CHECK(same(say(e), sound));
    CHECK_EQ(unlink(path), 0);
    check_lost(e, sound, "gone.gguf: cannot be opened: No such file");
}

TEST(reload_of_a_file_that_was_written_replaced_or_cut_says_so)
{
    enum { WRITTEN, REPLACED, CUT, NO_MODEL, WAYS };
    static const char *const words[WAYS] = {"was written since", "another file", "changed.gguf: ", "is no GGUF model"};
    for (int way = 0; way < WAYS; way++) {
        char was[4096];
        struct stat st;
        write_model(TINY_LLAMA, "changed.gguf");
        struct said sound = sound_says();
        struct engine *e = open_reload();
        CHECK_EQ(stat(path, &st), 0);
        memcpy(was, path, sizeof was);
        st.st_mtim.tv_nsec ^= 1;
        if (way == WRITTEN) set_times(&st);
        if (way == REPLACED) CHECK_EQ(rename(write_model(TINY_LLAMA, "other.gguf"), was), 0);
        if (way == CUT) CHECK_EQ(truncate(path, st.st_size - 64), 0);
        if (way == NO_MODEL) tiny_text_file("changed.gguf", "It was a model once, and longer than this.");
        check_lost(e, sound, words[way]);
    }
}

/* Its tensors take as many bytes, and its times are the old ones; but its pages would be other ones. */
TEST(reload_of_a_model_of_other_sizes_is_refused)
{
    struct tiny other = TINY_LLAMA;
    struct stat st, now;
    write_model(TINY_LLAMA, "sizes.gguf");
    struct said sound = sound_says();
    struct engine *e = open_reload();
    CHECK_EQ(stat(path, &st), 0);
    other.heads = 2;
    other.kv_heads = 1;
    write_over(other);
    set_times(&st);
    CHECK_EQ(stat(path, &now), 0);
    CHECK_EQ(now.st_size, st.st_size);
    check_lost(e, sound, "a model of other sizes");
}

TEST(reload_that_the_backend_breaks_off_gives_back_what_it_took)
{
    write_model(TINY_LLAMA, "broken.gguf");
    struct said sound = sound_says();
    for (int call = 2; call < 7; call += 2) { /* the first is the slab's */
        struct engine *e = open_reload();
        shim.fail_at = shim.calls + call;
        check_lost(e, sound, "was told to fail");
    }
}

TEST(reload_that_fails_for_one_leaves_those_who_have_their_weights)
{
    write_model(TINY_LLAMA, "others.gguf");
    struct said sound = sound_says();
    struct engine *e = open_reload();
    int one = submit(e, false);
    while (atomic_load(&ops->answer(e, one)->n_prefilled) < PROMPT) step(e); /* else the next waits for its front */
    CHECK_EQ(shim.slabs, SLABS + 1);
    CHECK_EQ(unlink(path), 0);
    int two = submit(e, true), three = submit(e, false); /* one would not wait: it is looked at in submit() */
    CHECK_EQ(end_of(e, two), END_FAULT);
    CHECK(strstr(step(e).text, "No such file"));
    CHECK(figures(e).naive_policy == NAIVE_RELOAD && figures(e).waiting == 1); /* until the last of them has ended */
    run(e, three);
    CHECK(same(take(e, one), sound) && same(take(e, three), sound));
    CHECK(figures(e).naive_policy == NAIVE_NONE && shim.slabs == SLABS);
    ops->close(e);
}

/* ------------------------------------------------------------------ while it reads */

static struct {
    const struct kern *real;
    long calls, at; /* of mat_load; what happens at which */
    int64_t cut_to;
    uint64_t heap;
} meanwhile;

static uint64_t heap_now(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

static int load_meanwhile(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err)
{
    if (++meanwhile.calls == meanwhile.at) {
        meanwhile.heap = heap_now();
        if (meanwhile.cut_to) CHECK_EQ(truncate(path, meanwhile.cut_to), 0);
    }
    return meanwhile.real->mat_load(d, m, row0, n, src, err);
}

static struct engine *open_meanwhile(void)
{
    static struct kern table;
    struct engine_config cfg = config(NAIVE_RELOAD);
    meanwhile.real = cfg.kernels;
    meanwhile.calls = meanwhile.at = 0;
    table = *cfg.kernels;
    table.mat_load = load_meanwhile;
    cfg.kernels = &table;
    return open_with(cfg);
}

TEST(reload_of_a_file_that_is_cut_while_it_is_read_says_so)
{
    struct stat st;
    static const char *const words[] = {"the file now ends", "it was written while being read"};
    for (int last = 0; last < 2; last++) {
        write_model(TINY_LLAMA, "cut.gguf");
        struct said sound = sound_says();
        struct engine *e = open_meanwhile();
        CHECK_EQ(stat(path, &st), 0);
        meanwhile.at = last ? 2 * meanwhile.calls : meanwhile.calls + 2; /* at the last all has been read */
        meanwhile.cut_to = st.st_size / 2;
        check_lost(e, sound, words[last]);
    }
}

TEST(reload_takes_no_more_host_memory_than_the_ledger_says)
{
    write_model(TINY_LLAMA, "heap.gguf");
    struct engine *e = open_with(config(NAIVE_NO_LIMIT)); /* has the scheduler's tables of a policy alone */
    uint64_t tables = ops->info(e)->ledger.bytes[LEDGER_NAIVE];
    ops->close(e);
    e = open_meanwhile();
    uint64_t before = heap_now();
    if (!before) {
        ops->close(e);
        SKIP("this allocator does not say what it gave");
    }
    meanwhile.cut_to = 0;
    meanwhile.at = meanwhile.calls + 1;
    int id = submit(e, false);
    step(e);
    uint64_t peak = meanwhile.heap - before; /* the slab is none of the heap's */
    uint64_t says = ops->info(e)->ledger.bytes[LEDGER_NAIVE] - tables;
    CHECK(peak > 8 << 20 && peak <= says && says - peak < 64 << 10);
    CHECK(heap_now() > before && heap_now() - before < 64 << 10); /* the plan stays until the request ends */
    run(e, id);
    CHECK(heap_now() < before + 256); /* a thread beside us may have begun or ended, with words of malloc's own */
    ops->close(e);
}

CHECK_MAIN
