/* test_kernels_thread.c - the crew: every item once, more threads than cores, idle crews; and products under it. */
#include "kernels/cpu/crew.h"
#include "tests/check.h"
#include "tests/rig.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 1000 };

struct tally {
    atomic_int times[ITEMS];
    int plain[ITEMS]; /* written without locks: a race shows under TSan */
    int threads;
};

static void count_items(void *job, int first, int end, int who)
{
    struct tally *t = job;
    CHECK(who >= 0 && who < t->threads && first < end);
    for (int i = first; i < end; i++) {
        atomic_fetch_add(&t->times[i], 1);
        t->plain[i] += i;
    }
}

TEST(every_item_of_a_loop_is_done_once_and_before_the_loop_returns)
{
    static const int threads[] = {1, 2, 3, 8};
    struct dice dice = {1};
    for (size_t k = 0; k < COUNT_OF(threads); k++)
        for (int pin = 0; pin < 2; pin++) {
            struct crew *c = crew_open(threads[k], pin, NULL);
            static struct tally t;
            CHECK(c);
            CHECK_EQ(crew_threads(c), threads[k]);
            for (int round = 0; round < 300; round++) {
                int n = round % 5 ? dice_below(&dice, 20) : dice_below(&dice, ITEMS + 1);
                memset(&t, 0, sizeof t);
                t.threads = threads[k];
                crew_run(c, n, count_items, &t);
                for (int i = 0; i < ITEMS; i++) {
                    CHECK_EQ(atomic_load(&t.times[i]), i < n);
                    CHECK_EQ(t.plain[i], i < n ? i : 0);
                }
            }
            crew_close(c);
        }
}

/* One thread stays in the first items that it got until all others are done. */
struct held {
    atomic_int done;
    int n, held; /* in which item */
    bool holds, left_alone;
};

static void hold_items(void *job, int first, int end, int who)
{
    struct held *h = job;
    (void)who;
    if (first <= h->held && h->held < end) {
        const time_t late = time(NULL) + 30;
        h->holds = true;
        while (atomic_load(&h->done) < h->n - (end - first) && time(NULL) < late) sched_yield();
        h->left_alone = atomic_load(&h->done) < h->n - (end - first);
    }
    atomic_fetch_add(&h->done, end - first);
}

TEST(who_is_held_up_has_the_rest_of_its_share_done_by_others)
{
    static const int threads[] = {2, 3, 8};
    for (size_t k = 0; k < COUNT_OF(threads); k++) {
        struct crew *c = crew_open(threads[k], false, NULL);
        CHECK(c);
        for (int round = 0; round < 40; round++) {
            struct held h = {.n = 2 + 37 * (round % 8)};
            h.held = h.n * (round / 8) / 5;
            crew_run(c, h.n, hold_items, &h);
            CHECK_EQ(atomic_load(&h.done), h.n);
            CHECK(h.holds && !h.left_alone);
        }
        crew_close(c);
    }
}

/* Workers fall asleep after a while; a loop must wake them, and one that comes just then too. */
TEST(a_crew_that_slept_works_again)
{
    struct crew *c = crew_open(4, true, NULL);
    static struct tally t;
    t.threads = 4;
    for (int round = 0; round < 60; round++) {
        usleep((unsigned)(round % 20 * 7));
        crew_run(c, ITEMS, count_items, &t);
    }
    for (int i = 0; i < ITEMS; i++) CHECK_EQ(atomic_load(&t.times[i]), 60);
    crew_close(c);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor time, not the clock's: it does not depend on how busy the machine is. */
TEST(an_idle_crew_takes_no_processor_time)
{
    struct crew *c = crew_open(0, true, NULL);
    static struct tally t;
    t.threads = crew_threads(c);
    crew_run(c, ITEMS, count_items, &t);
    double before = cpu_seconds();
    usleep(400000);
    CHECK(cpu_seconds() - before < 0.02); /* each has spun for 0.05 ms; one that never slept would take 0.4 s */
    crew_close(c);
}

/* A process that computes on the i-th core that we may use, until it is killed. */
static pid_t rival_on(int i)
{
    cpu_set_t all, one;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_getaffinity(0, sizeof all, &all);
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &all) || i-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        break;
    }
    for (;;) sched_getcpu();
}

/* Its worker leaves and comes back in the middle of loops, or the caller moves: no item is lost or done twice, and the
 * crew ends while one rests. */
TEST(a_crew_beside_a_process_that_computes_does_every_item_once)
{
    for (int core = 0; core < 2; core++) {
        pid_t rival = rival_on(core);
        struct crew *c = crew_open(2, true, NULL);
        static struct tally t;
        int rounds = 0;
        CHECK(c);
        memset(&t, 0, sizeof t);
        t.threads = 2;
        for (double end = cpu_seconds() + 0.4; cpu_seconds() < end; rounds++) crew_run(c, ITEMS, count_items, &t);
        for (int i = 0; i < ITEMS; i++) CHECK_EQ(atomic_load(&t.times[i]), rounds);
        crew_close(c);
        kill(rival, SIGKILL);
        waitpid(rival, NULL, 0);
    }
}

TEST(the_calling_thread_gets_its_cores_back)
{
    cpu_set_t before, within, after;
    static struct tally t;
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    struct crew *c = crew_open(2, true, NULL);
    t.threads = 2;
    crew_run(c, ITEMS, count_items, &t);
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof within, &within), 0);
    CHECK_EQ(CPU_COUNT(&within), 1);
    crew_close(c);
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after));
}

/* The second is opened while the first has its caller on one core, and ends after it. */
TEST(two_crews_of_one_thread_have_all_cores_and_give_them_back)
{
    cpu_set_t before, after;
    static struct tally t;
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    struct crew *a = crew_open(2, true, NULL);
    t.threads = 2;
    crew_run(a, ITEMS, count_items, &t);
    struct crew *b = crew_open(0, true, NULL);
    CHECK_EQ(crew_threads(b), CPU_COUNT(&before));
    t.threads = crew_threads(b);
    crew_run(b, ITEMS, count_items, &t);
    crew_close(a);
    crew_run(b, ITEMS, count_items, &t);
    crew_close(b);
    CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after));
}

TEST(a_crew_says_how_many_it_is_and_refuses_foolish_numbers)
{
    struct err err = {0};
    char text[64];
    struct crew *c = crew_open(1, true, NULL);
    crew_describe(c, text, sizeof text);
    CHECK_STR(text, "1 thread, not pinned");
    crew_close(c);
    c = crew_open(3, false, NULL);
    crew_describe(c, text, sizeof text);
    CHECK_STR(text, "3 threads, not pinned");
    crew_close(c);
    CHECK(crew_open(100000, true, &err) == NULL);
    CHECK_STR(err.text, "100000 threads were asked for: use 1 to 512, or 0 for one a core");
    crew_close(NULL);
}

/* A whole forward pass: what threads share (workspace, pages, logits) is written by one and read by others between
 * loops. */
TEST(a_forward_pass_has_the_same_bits_on_any_number_of_threads)
{
    struct dice dice = {2};
    struct rig_shape s = {.embd = 256, .heads = 6, .kv_heads = 3, .head_dim = 128, .ff = 320, .vocab = 130, .layers = 2,
                          .table = KT_Q6_K, .q = KT_Q4_K, .k = KT_Q8_0, .v = KT_F16, .o = KT_Q4_K, .gate = KT_Q5_0,
                          .up = KT_Q8_0, .down = KT_Q8_0, .kv = KT_F16, .rope = 128, .neox = true, .bias = true,
                          .scale = 0.1f};
    static const int threads[] = {1, 2, 5, 8};
    struct rig_model *m = rig_model(&dice, &s);
    struct rig_rows rows = {.n = 30};
    float *first = NULL;
    for (int i = 0; i < rows.n; i++)
        rows.token[i] = i * 4, rows.pos[i] = i % 15, rows.seq[i] = i / 15, rows.out[i] = i;
    size_t size = (size_t)(rows.n * s.vocab) * sizeof(float);
    for (size_t k = 0; k < COUNT_OF(threads); k++) {
        const struct kern_config cfg = {.threads = threads[k], .pin = k % 2};
        struct rig *r = rig_open(&dice, m, kern_cpu(), &cfg, rows.n, 2, 16);
        struct kern_batch b = rig_batch(r, &rows);
        rig_forward(r, &b);
        if (!first) {
            first = malloc(size);
            CHECK(first);
            memcpy(first, r->logits, size);
        }
        CHECK_MEM(first, r->logits, size);
        rig_close(r);
    }
    free(first);
    rig_model_free(m);
}

/* Few rows far into their sequences: spans are shared out among threads, who does a tile's last one joins them. */
static void check_shared_spans(struct dice *d, int threads, int kv, int kv_heads, int window)
{
    enum { SEQS = 3, FEW = 8, FAR = 1200 };
    static const enum ktype kvs[] = {KT_F32, KT_F16, KT_Q8_0};
    struct rig_shape s = {.embd = 32, .heads = kv_heads * (1 + dice_below(d, 9)), .kv_heads = kv_heads, .head_dim = 32,
                          .ff = 1, .vocab = 90, .layers = 1, .kv = kvs[kv], .window = window, .scale = 0.3f};
    struct rig_model *m = rig_model(d, &s);
    const struct kern_config one = {.threads = 1}, many = {.threads = threads};
    struct rig *by_one = rig_open(d, m, kern_cpu(), &one, FEW, SEQS, FAR);
    struct rig *by_many = rig_open(d, m, kern_cpu(), &many, FEW, SEQS, FAR);
    int len[SEQS] = {0};
    for (int left = SEQS * FAR; left > 0;) {
        struct rig_rows rows = {0};
        for (int most = 1 + dice_below(d, FEW); rows.n < most && left > 0;) {
            int seq = dice_below(d, SEQS);
            for (int run = 1 + dice_below(d, FEW); run > 0 && rows.n < most && len[seq] < FAR; run--, left--) {
                rows.token[rows.n] = (seq * 31 + len[seq] * 7) % s.vocab;
                rows.seq[rows.n] = seq, rows.pos[rows.n] = len[seq]++, rows.out[rows.n] = rows.n, rows.n++;
            }
        }
        struct kern_batch b1 = rig_batch(by_one, &rows), b2 = rig_batch(by_many, &rows);
        rig_forward(by_one, &b1);
        rig_forward(by_many, &b2);
        CHECK_MEM(by_one->att, by_many->att, (size_t)(rows.n * s.heads * s.head_dim) * sizeof(float));
    }
    rig_close(by_one), rig_close(by_many);
    rig_model_free(m);
}

TEST(spans_shared_out_among_threads_are_the_bits_of_one_thread)
{
    struct dice dice = {31};
    for (int round = 0; round < (CHECK_SANITIZED ? 2 : 9); round++)
        check_shared_spans(&dice, 2 + round * 3 % 7, round % 3, 1 + round % 4,
                           round % 2 ? 400 + dice_below(&dice, 500) : 0);
}

CHECK_MAIN
