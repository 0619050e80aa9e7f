/* What lies between the two threads, with threads: nothing is lost or out of order, who must wait waits, nobody for
 * ever. */
#include "tests/bridge_rig.h"
#include <pthread.h>
#include <time.h>

static void nap(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static pthread_t start(void *(*run)(void *), void *arg)
{
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, run, arg), 0);
    return t;
}

static void join(pthread_t t) { CHECK_EQ(pthread_join(t, NULL), 0); }

/* ------------------------------------------------------------------ news while they are taken */

enum { PIECES = CHECK_SANITIZED ? 4000 : 40000, AGENTS = 3 };

static void *talk(void *arg)
{
    char text[16], name[2] = "a";
    (void)arg;
    for (int i = 0; i < PIECES; i++) {
        name[0] = (char)('a' + i % AGENTS);
        snprintf(text, sizeof text, "%d,", i);
        put_text(name, 1, text);
        if (i % 50 == 0) put_sample(i);
        if (i % 1000 == 999) nap(1);
    }
    bridge_put(b, NEWS_OVER, 0, "", 0);
    return NULL;
}

TEST(thread_no_piece_of_text_is_lost_or_out_of_order)
{
    struct buf said[AGENTS] = {0};
    bool over = false;
    begin();
    pthread_t t = start(talk, NULL);
    while (!over) {
        struct pollfd p = {.fd = bridge_fd(b), .events = POLLIN};
        CHECK(poll(&p, 1, 20000) == 1);
        for (struct news *n = bridge_take(b), *next; n; n = next) {
            next = n->next;
            over |= n->kind == NEWS_OVER;
            if (n->kind == NEWS_EVENT && n->event.kind == EV_TEXT)
                buf_put(&said[n->event.agent.data[0] - 'a'], n->event.text.text.data, n->event.text.text.len);
            news_free(n);
        }
    }
    join(t);
    for (int a = 0; a < AGENTS; a++) {
        char *at = said[a].data;
        for (int i = a; i < PIECES; i += AGENTS, at++) CHECK_EQ(strtol(at, &at, 10), i);
        CHECK_STR(at, "");
        buf_free(&said[a]);
    }
    end();
}

/* ------------------------------------------------------------------ a screen that is stopped */

enum { LINE = 256 << 10, LINES = 200 };
static char line[LINE];
static int lines_put;

static void *put_lines(void *arg)
{
    for (int i = 0; i < LINES; i++) {
        if (arg) bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_TURN_USER, .turn_user = {i, {line, LINE}}});
        else bridge_line(b, 0, false, line, LINE);
        __atomic_store_n(&lines_put, i + 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static int put_so_far(void) { return __atomic_load_n(&lines_put, __ATOMIC_SEQ_CST); }

/* Till no more come: who puts them waits. */
static int settled(void)
{
    int was = -1, now;
    while ((now = put_so_far()) != was || now == 0) {
        was = now;
        nap(100);
    }
    return now;
}

static int take_all(void)
{
    int n_taken = 0;
    for (struct news *n = bridge_take(b), *next; n; n = next, n_taken++) {
        next = n->next;
        news_free(n);
    }
    return n_taken;
}

static void stopped_screen(void *events)
{
    begin();
    memset(line, 'x', sizeof line);
    lines_put = 0;
    pthread_t t = start(put_lines, events);
    int there = settled(), total = 0;
    CHECK(there >= BRIDGE_BYTES / LINE - 2 && there <= BRIDGE_BYTES / LINE + 1);
    CHECK(there < LINES);
    while (total < LINES) total += take_all();
    join(t);
    CHECK_EQ(total, LINES);
    end();
}

TEST(thread_who_puts_waits_while_much_is_not_taken) { stopped_screen(NULL); }
TEST(thread_texts_of_events_weigh_too) { stopped_screen(&line); }

TEST(thread_nobody_waits_for_a_screen_that_leaves)
{
    begin();
    lines_put = 0;
    pthread_t t = start(put_lines, NULL);
    CHECK(settled() < LINES);
    bridge_leave(b);
    join(t);
    CHECK_EQ(put_so_far(), LINES);
    end();
}

/* ------------------------------------------------------------------ orders and asks wake the other */

static void *order_late(void *arg)
{
    nap(50);
    if (arg) bridge_order(b, arg, strlen(arg));
    else bridge_ask(b, &(struct doc_ask){.kind = DOC_MAP});
    return NULL;
}

static void *leave_late(void *arg)
{
    nap(50);
    bridge_leave(b);
    return arg;
}

TEST(thread_who_waits_for_an_order_is_woken)
{
    struct buf text = {0};
    struct doc_ask ask;
    begin();
    pthread_t t = start(order_late, "now");
    CHECK_EQ(bridge_next(b, 20000, &text), 1);
    CHECK_STR(text.data, "now");
    join(t);
    t = start(order_late, NULL);
    CHECK_EQ(bridge_next(b, 20000, &text), 0);
    CHECK(bridge_asked(b, &ask));
    join(t);
    CHECK_EQ(bridge_next(b, 20, &text), 0); /* in vain */
    t = start(leave_late, NULL);
    CHECK_EQ(bridge_next(b, 20000, &text), -1);
    join(t);
    buf_free(&text);
    end();
}

/* ------------------------------------------------------------------ questions of two at once */

enum { ROUNDS = 200 };

struct asker { const char *name; int wrong; };

/* Each answer is the question's own text. */
static void *ask_often(void *arg)
{
    struct asker *a = arg;
    for (int i = 0; i < ROUNDS; i++) {
        char text[40];
        struct buf answer = {0};
        int choice = -1;
        snprintf(text, sizeof text, "%s%d", a->name, i);
        int64_t q = bridge_question(b, a->name, text, strlen(text), "", true);
        while (!bridge_answered(b, q, 50, &choice, &answer)) {
        }
        a->wrong += choice != 1 || !answer.data || strcmp(answer.data, text) != 0;
        buf_free(&answer);
    }
    return NULL;
}

TEST(thread_questions_of_two_get_each_its_own_answer)
{
    struct asker ann = {"ann", 0}, bob = {"bob", 0};
    int answered = 0;
    begin();
    pthread_t first = start(ask_often, &ann), second = start(ask_often, &bob);
    while (answered < 2 * ROUNDS) {
        struct pollfd p = {.fd = bridge_fd(b), .events = POLLIN};
        CHECK(poll(&p, 1, 20000) == 1);
        for (struct news *n = bridge_take(b), *next; n; n = next, answered++) {
            next = n->next;
            bridge_answer(b, n->value, 1, n->text.data, n->text.len);
            news_free(n);
        }
    }
    join(first);
    join(second);
    CHECK_EQ(ann.wrong + bob.wrong, 0);
    end();
}

TEST(thread_who_waits_for_an_answer_is_woken_when_the_screen_leaves)
{
    int choice;
    struct timespec from, to;
    begin();
    int64_t q = bridge_question(b, "ann", "?", 1, "", false);
    pthread_t t = start(leave_late, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    CHECK_EQ(bridge_answered(b, q, 30000, &choice, NULL), 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    CHECK(to.tv_sec - from.tv_sec < 20);
    join(t);
    end();
}

CHECK_MAIN
