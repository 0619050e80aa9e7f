/* The keeper's thread: jobs run one after another in their order, come back once, and none is lost at the end. */
#include "memory/keeper.h"
#include "tests/store_rig.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

enum { MANY = 20000 };

static struct keeper *k;
static int order[MANY], n_order; /* of jobs, as they ran; the keeper's thread writes, ours reads when they are done */
static sem_t gate;

struct job {
    struct keeper_job base;
    int number;
    struct store *seen;
};

static struct job jobs[MANY];

static int note_it(struct keeper_job *base, struct store *s, struct err *e)
{
    struct job *j = (struct job *)base;
    order[n_order++] = j->number;
    j->seen = s;
    return j->number % 7 == 3 ? err_set(e, -j->number, "job %d is unlucky", j->number) : 0;
}

static int at_the_gate(struct keeper_job *base, struct store *s, struct err *e)
{
    while (sem_wait(&gate)) {}
    return note_it(base, s, e);
}

static struct store *begin(void)
{
    struct store *s = open_at(fresh_dir());
    CHECK_EQ(sem_init(&gate, 0, 0), 0);
    n_order = 0;
    memset(jobs, 0, sizeof jobs);
    OK(keeper_open(&k, s, &err));
    return s;
}

static void end(void)
{
    keeper_close(k);
    sem_destroy(&gate);
}

static int submit(int number, int (*run)(struct keeper_job *, struct store *, struct err *))
{
    jobs[number] = (struct job){.base = {.run = run, .owner = &jobs[number]}, .number = number};
    return keeper_submit(k, &jobs[number].base, &err);
}

static bool readable(void)
{
    struct pollfd p = {.fd = keeper_fd(k), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void check_taken(struct keeper_job *job, int number)
{
    CHECK(job == &jobs[number].base && job->owner == job);
    CHECK_EQ(job->code, number % 7 == 3 ? -number : 0);
    if (job->code) CHECK(strstr(job->err.text, "is unlucky"));
    else CHECK_STR(job->err.text, "");
}

TEST(jobs_run_in_their_order_and_come_back_in_it_with_what_they_returned)
{
    struct store *s = begin();
    for (int i = 0; i < 40; i++) OK(submit(i, note_it));
    for (int i = 0; i < 40; i++) {
        check_taken(keeper_wait(k, NULL, NULL), i);
        CHECK(jobs[i].seen == s);
        CHECK_EQ(keeper_pending(k), 39 - i);
    }
    CHECK(!keeper_done(k));
    CHECK(!keeper_wait(k, NULL, NULL)); /* there is nothing to wait for */
    CHECK_EQ(n_order, 40);
    for (int i = 0; i < 40; i++) CHECK_EQ(order[i], i);
    end();
}

TEST(a_full_queue_refuses_until_one_is_taken_back)
{
    begin();
    for (int i = 0; i < KEEPER_JOBS; i++) OK(submit(i, at_the_gate));
    CHECK_EQ(submit(KEEPER_JOBS, at_the_gate), KEEPER_FULL);
    check_err(KEEPER_FULL, "64 jobs wait");
    CHECK_EQ(keeper_pending(k), KEEPER_JOBS);
    for (int i = 0; i < KEEPER_JOBS; i++) sem_post(&gate);
    while (!readable()) usleep(1000);
    CHECK_EQ(submit(KEEPER_JOBS, note_it), KEEPER_FULL); /* done is not taken back */
    check_taken(keeper_done(k), 0);
    OK(submit(KEEPER_JOBS, note_it));
    for (int i = 1; i <= KEEPER_JOBS; i++) check_taken(keeper_wait(k, NULL, NULL), i);
    end();
}

static bool soon(void *self) { return ++*(int *)self > 2; }

TEST(a_wait_can_be_given_up_and_taken_up_again)
{
    int asked = 0;
    begin();
    OK(submit(1, at_the_gate));
    CHECK(!keeper_wait(k, soon, &asked));
    CHECK_EQ(asked, 3);
    CHECK_EQ(keeper_pending(k), 1);
    sem_post(&gate);
    asked = -1000000;
    check_taken(keeper_wait(k, soon, &asked), 1);
    end();
}

TEST(the_descriptor_is_readable_exactly_while_one_is_done)
{
    begin();
    CHECK(!readable());
    for (int i = 0; i < 5; i++) OK(submit(i, at_the_gate));
    CHECK(!readable());
    for (int i = 0; i < 5; i++) sem_post(&gate);
    for (int i = 0; i < 5; i++) {
        struct pollfd p = {.fd = keeper_fd(k), .events = POLLIN};
        CHECK_EQ(poll(&p, 1, 20000), 1);
        check_taken(keeper_done(k), i);
    }
    CHECK(!readable());
    CHECK(!keeper_done(k));
    CHECK(!readable());
    end();
}

TEST(close_runs_what_was_submitted_and_gives_it_back)
{
    begin();
    for (int i = 0; i < 20; i++) OK(submit(i, i ? note_it : at_the_gate));
    sem_post(&gate);
    end();
    CHECK_EQ(n_order, 20);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(order[i], i);
        check_taken(&jobs[i].base, i);
    }
    keeper_close(NULL);
}

TEST(a_job_that_takes_long_is_stuck_where_somebody_is_impatient_and_a_sessions_lock_does_not_wait_for_it)
{
    struct store_lock lock = {0};
    begin();
    OK(submit(1, at_the_gate));
    usleep(30000);
    CHECK(!keeper_stuck(k)); /* nobody is impatient */
    keeper_patience(k, 20);
    CHECK(keeper_stuck(k));
    OK(keeper_lock_session(k, ada, &lock, &err));
    CHECK_EQ(keeper_lock_session(k, ada, &(struct store_lock){0}, &err), STORE_BUSY);
    store_unlock_session(&lock);
    sem_post(&gate);
    check_taken(keeper_wait(k, NULL, NULL), 1);
    CHECK(!keeper_stuck(k));
    keeper_patience(k, 100000);
    OK(submit(2, at_the_gate));
    usleep(30000);
    CHECK(!keeper_stuck(k));
    sem_post(&gate);
    check_taken(keeper_wait(k, NULL, NULL), 2);
    end();
}

static int look_at_signals(struct keeper_job *base, struct store *s, struct err *e)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    (void)base, (void)s, (void)e;
    return sigismember(&now, SIGINT) && sigismember(&now, SIGTERM) && sigismember(&now, SIGHUP) ? 0 : 1;
}

TEST(signals_are_not_for_the_keepers_thread_and_still_for_ours)
{
    sigset_t now;
    begin();
    OK(submit(1, look_at_signals));
    CHECK_EQ(keeper_wait(k, NULL, NULL)->code, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    CHECK(!sigismember(&now, SIGINT));
    end();
}

static int write_it(struct keeper_job *base, struct store *s, struct err *e)
{
    int number = ((struct job *)base)->number;
    struct store_key key = store_key_message(ada, (uint64_t)number);
    order[n_order++] = number;
    store_begin(s, STORE_JOURNAL);
    int rc = store_put(s, &key, REC_MESSAGE, &number, sizeof number, e);
    return rc ? rc : store_commit(s, e);
}

/* 20,000 jobs, the last of which write, while the thread that submits takes back now and then: the ring goes round. */
TEST(many_jobs_from_a_thread_that_takes_back_now_and_then)
{
    uint64_t seed = 4711;
    int taken = 0;
    begin();
    for (int i = 0; i < MANY; i++) {
        while (submit(i, i < MANY - 50 ? note_it : write_it)) {
            struct keeper_job *job = rig_draw(&seed, 2) ? keeper_wait(k, NULL, NULL) : keeper_done(k);
            if (job) CHECK(job == &jobs[taken++].base);
        }
        for (uint64_t n = rig_draw(&seed, 3); n > 0 && taken <= i; n--) {
            struct keeper_job *job = keeper_done(k);
            if (job) CHECK(job == &jobs[taken++].base);
        }
        CHECK_EQ(keeper_pending(k), i + 1 - taken);
    }
    while (taken < MANY) CHECK(keeper_wait(k, NULL, NULL) == &jobs[taken++].base);
    for (int i = MANY - 50; i < MANY; i++) CHECK_EQ(jobs[i].base.code, 0);
    for (int i = 0; i < MANY; i++) CHECK_EQ(order[i], i);
    CHECK(!readable());
    end();
}

CHECK_MAIN
