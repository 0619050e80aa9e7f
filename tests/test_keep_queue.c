/* What is saved while the keeper's queue is full of others' work waits outside of it, and is saved all the same. */
#include "app/session/keep.h"
#include "tests/store_rig.h"
#include <semaphore.h>

static struct keeper *keeper;
static sem_t gate;
static struct keep_task others[KEEPER_JOBS];
static int n_done;

static int wait_at_gate(struct keeper_job *job, struct store *s, struct err *e)
{
    (void)job, (void)s, (void)e;
    while (sem_wait(&gate)) {
    }
    return 0;
}

static void count(struct keep *k, struct keep_task *task)
{
    (void)k, (void)task;
    n_done++;
}

static void add_hello(struct keep *k, struct journal_batch *b)
{
    const struct journal_message m = {.kind = JOURNAL_USER, .turn = 1, .text = "hello", .len = 5};
    k->head.turns = 1;
    journal_add(b, k->head.next, &m);
    k->head.next++;
}

TEST(what_found_no_room_in_the_queue_is_saved_when_all_is_waited_for)
{
    struct keep other, k;
    struct journal_batch b = {0};
    struct journal_message m;
    struct buf text = {0};
    CHECK_EQ(sem_init(&gate, 0, 0), 0);
    OK(keeper_open(&keeper, open_at(fresh_dir()), &err));
    OK(keep_new(&other, keeper, "model", &err));
    OK(keep_new(&k, keeper, "model", &err));
    for (int i = 0; i < KEEPER_JOBS; i++) {
        others[i] = (struct keep_task){.base = {.run = wait_at_gate}, .done = count};
        OK(keep_later(&other, &others[i], &err));
    }
    add_hello(&k, &b);
    OK(keep_save(&k, &b, 1, &err));
    CHECK(k.waits && k.n_unsaved == 1);
    for (int i = 0; i < KEEPER_JOBS; i++) CHECK_EQ(sem_post(&gate), 0);
    CHECK(keep_settle(&k));
    CHECK_EQ(n_done, KEEPER_JOBS);
    CHECK_EQ(k.n_unsaved, 0);
    OK(keep_message(&k, k.head.next - 1, &m, &text, &err));
    CHECK(m.len == 5 && memcmp(m.text, "hello", 5) == 0);
    buf_free(&text);
    CHECK_EQ(keep_close(&k), 0);
    CHECK_EQ(keep_close(&other), 0);
    keeper_close(keeper);
    sem_destroy(&gate);
}

CHECK_MAIN
