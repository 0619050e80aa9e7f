/* The way of a model's bytes into memory: on any number of threads, in pieces and runs, the same weights and the same
 * digest; and what is said when the file or the backend gives out in the middle. */
#include "engine/model.h"
#include "kernels/cpu/pack.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct load {
    const struct kern *k;
    struct gguf *g;
    struct kdev *d;
    struct model m;
    void *slab;
};

static void plan(struct load *l, const char *path, const struct kern *k, int threads)
{
    struct err err = {0};
    *l = (struct load){.k = k, .g = gguf_open(path, &err)};
    CHECK_STR(err.text, "");
    CHECK_EQ(model_plan(&l->m, l->g, TINY_VOCAB, k, &err), 0);
    l->d = k->open(&(struct kern_config){.threads = threads}, &err);
    CHECK_STR(err.text, "");
}

static int load(struct load *l, void (*progress)(void *, uint64_t, uint64_t), void *self, struct err *err)
{
    l->slab = l->k->take(l->d, l->m.bytes, err);
    CHECK(l->slab != NULL);
    return model_load(&l->m, l->g, l->k, l->d, l->slab, progress, self, err);
}

static void unload(struct load *l)
{
    l->k->give(l->d, l->slab, l->m.bytes);
    l->k->close(l->d);
    model_free(&l->m);
    gguf_close(l->g);
}

/* Every row of a matrix is the file's. */
static void check_mat(const struct load *l, const char *name, const struct kmat *m)
{
    const struct gguf_tensor *t = gguf_tensor(l->g, name);
    const struct ktype_info *type = ktype_info(t->type);
    const size_t row = (size_t)(m->cols / type->block) * (size_t)type->bytes;
    const size_t group = pack_group_bytes(m->type, m->cols);
    uint8_t *bytes = malloc(row);
    float *want = malloc((size_t)m->cols * sizeof *want), *have = malloc((size_t)m->cols * sizeof *have);
    for (int r = 0; r < m->rows; r++) {
        CHECK_EQ(gguf_read(l->g, t, (uint64_t)r * row, bytes, row, NULL), 0);
        quant_decode(t->type, bytes, want, m->cols);
        const uint8_t *there = (const uint8_t *)m->dev_data + (size_t)(r / 32) * group;
        if (l->k == kern_cpu()) pack_row(m->type, m->cols, there, r % 32, have);
        else quant_decode(m->type, there + (size_t)(r % 32) * (group / 32), have, m->cols);
        CHECK_MEM(have, want, (size_t)m->cols * sizeof *want);
    }
    free(bytes);
    free(want);
    free(have);
}

static void check_weights(const struct load *l)
{
    check_mat(l, "token_embd.weight", &l->m.embed);
    check_mat(l, l->m.tied ? "token_embd.weight" : "output.weight", &l->m.output);
    for (int i = 0; i < l->m.layers; i++) {
        const struct model_layer *y = &l->m.layer[i];
        const struct { const char *name; const struct kmat *mat; } all[] = {
            {"attn_q", &y->attn.q}, {"attn_k", &y->attn.k}, {"attn_v", &y->attn.v}, {"attn_output", &y->wo},
            {"ffn_gate", &y->gate}, {"ffn_up", &y->up}, {"ffn_down", &y->down}};
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s.weight", i, all[k].name);
            check_mat(l, name, all[k].mat);
        }
    }
}

/* Matrices of several runs and pieces, the last of them no whole group; and more matrices than are cut at once. */
static const struct tiny large = {.arch = "llama", .layers = 1, .embd = 256, .heads = 4, .kv_heads = 2, .ff = 4112,
                                  .type = KT_F32, .seed = 3};
static const struct tiny many = {.arch = "llama", .layers = 12, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                 .type = KT_Q8_0, .tied = true, .seed = 4};

TEST(weights_and_digest_are_the_files_on_any_number_of_threads)
{
    const struct tiny *const shape[] = {&large, &many};
    for (size_t s = 0; s < COUNT_OF(shape); s++) {
        const char *path = tiny_file(shape[s], NULL, "load.gguf");
        struct sip128 first = {0};
        for (int threads = 0; threads < 5; threads++) { /* 0: the reference backend */
            struct load l;
            struct err err = {0};
            plan(&l, path, threads ? kern_cpu() : kern_ref(), threads);
            if (threads == 4) model_widen(&l.m, l.k);
            CHECK_EQ(load(&l, NULL, NULL, &err), 0);
            CHECK_STR(err.text, "");
            if (!CHECK_TSAN || threads == 4) check_weights(&l); /* it is one thread's, and takes most of the time */
            if (threads == 0) first = l.m.digest;
            CHECK(l.m.digest.a == first.a && l.m.digest.b == first.b);
            unload(&l);
        }
    }
}

/* Two rows, and two runs of a matrix, that change places are another model. */
TEST(digest_sees_where_bytes_are)
{
    const char *path = tiny_file(&large, NULL, "places.gguf");
    struct sip128 seen[3];
    const size_t row = 256 * sizeof(float), apart[] = {0, row, 2 << 20};
    for (int i = 0; i < 3; i++) {
        struct load l;
        uint8_t a[256 * sizeof(float)], b[256 * sizeof(float)];
        plan(&l, path, kern_cpu(), 2);
        const struct gguf_tensor *t = gguf_tensor(l.g, "blk.0.ffn_gate.weight");
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0 && pread(fd, a, row, (off_t)t->offset) == (ssize_t)row);
        CHECK_EQ(pread(fd, b, row, (off_t)(t->offset + apart[i])), (ssize_t)row);
        CHECK_EQ(pwrite(fd, b, row, (off_t)t->offset), (ssize_t)row);
        CHECK_EQ(pwrite(fd, a, row, (off_t)(t->offset + apart[i])), (ssize_t)row);
        gguf_close(l.g);
        l.g = gguf_open(path, NULL);
        model_free(&l.m);
        CHECK_EQ(model_plan(&l.m, l.g, TINY_VOCAB, l.k, NULL), 0);
        CHECK_EQ(load(&l, NULL, NULL, NULL), 0);
        if (!CHECK_TSAN) check_weights(&l);
        seen[i] = l.m.digest;
        for (int k = 0; k < i; k++) CHECK(seen[k].a != seen[i].a || seen[k].b != seen[i].b);
        unload(&l);
        close(fd);
    }
}

/* --------------------------------------------------------------- progress */

struct told {
    pthread_t caller;
    uint64_t done, all;
    int calls;
};

static void hear(void *self, uint64_t done, uint64_t all)
{
    struct told *t = self;
    CHECK(pthread_equal(t->caller, pthread_self()));
    CHECK(done >= t->done && done <= all && (t->all == all || t->calls == 0));
    t->done = done;
    t->all = all;
    t->calls++;
}

TEST(progress_comes_from_the_caller_rises_and_ends_with_all)
{
    const char *path = tiny_file(&large, NULL, "progress.gguf");
    for (int threads = 1; threads < 4; threads++) {
        struct load l;
        struct told told = {.caller = pthread_self()};
        struct err err = {0};
        plan(&l, path, kern_cpu(), threads);
        CHECK_EQ(load(&l, hear, &told, &err), 0);
        CHECK(told.done == told.all && told.calls > 0 && told.all > 12 << 20);
        if (threads == 1) CHECK(told.calls > 40); /* pieces of 256 KiB */
        unload(&l);
    }
}

/* ------------------------------------------------------------ what gives out */

static struct {
    atomic_int calls;
    int fail_at, cut_at;
    const char *path;
} break_off;

static int breaking_load(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err)
{
    int call = atomic_fetch_add(&break_off.calls, 1) + 1;
    if (call == break_off.cut_at) CHECK_EQ(truncate(break_off.path, 1 << 20), 0);
    if (call >= break_off.fail_at) return err_set(err, -1, "call %d was told to fail", call);
    return kern_cpu()->mat_load(d, m, row0, n, src, err);
}

TEST(loading_that_breaks_off_says_why_once)
{
    static struct kern breaking;
    breaking = *kern_cpu();
    breaking.mat_load = breaking_load;
    for (int threads = 1 + CHECK_TSAN; threads < 5; threads++)
        for (int cut = 0; cut < 2; cut++) {
            struct load l;
            struct err err = {0};
            const char *path = tiny_file(&large, NULL, "broken.gguf");
            plan(&l, path, &breaking, threads);
            break_off.path = path;
            atomic_store(&break_off.calls, 0);
            break_off.fail_at = cut ? INT32_MAX : 9;
            break_off.cut_at = cut ? 9 : 0;
            CHECK_EQ(load(&l, NULL, NULL, &err), -1);
            CHECK(strstr(err.text, cut ? "the file now ends" : "was told to fail") != NULL);
            CHECK(cut || atomic_load(&break_off.calls) < 9 + threads); /* nobody goes on */
            unload(&l);
        }
}

/* ----------------------------------------------------------------- sharing */

struct tally {
    pthread_t caller;
    atomic_int of[1000], by_caller;
};

static void count_up(void *job, int first, int end, int who)
{
    struct tally *t = job;
    CHECK((who == 0) == (pthread_equal(t->caller, pthread_self()) != 0));
    for (int i = first; i < end; i++) atomic_fetch_add(&t->of[i], 1);
}

TEST(a_shared_loop_does_everything_once)
{
    const struct kern *const all[] = {kern_ref(), kern_cpu()};
    for (size_t b = 0; b < COUNT_OF(all); b++)
        for (int n = 0; n <= 1000; n = 3 * n + 1) {
            struct tally t = {.caller = pthread_self()};
            struct kdev *d = all[b]->open(&(struct kern_config){.threads = 3}, NULL);
            all[b]->share(d, n, count_up, &t);
            for (int i = 0; i < 1000; i++) CHECK_EQ(atomic_load(&t.of[i]), i < n);
            all[b]->close(d);
        }
}

CHECK_MAIN
