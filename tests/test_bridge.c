/* What lies between the two threads, without threads: joins, limits, orders, answers. */
#include "tests/bridge_rig.h"

TEST(news_keep_their_order_and_ring)
{
    begin();
    CHECK(!rings());
    CHECK_STR(taken(), "");
    bridge_put(b, NEWS_BEGUN, 0, "hello", 5);
    put_text("ann", 1, "one");
    bridge_line(b, 0, false, "said", 4);
    put_end("ann", "one");
    bridge_put(b, NEWS_DONE, 3, "", 0);
    CHECK(rings());
    CHECK_STR(taken(), "news 4 0 | ann says one | line said | ann ends one | news 5 3");
    CHECK(!rings());
    put_sample(1);
    CHECK(rings());
    end(); /* what was not taken is freed */
}

/* ------------------------------------------------------------------ joins */

TEST(join_pieces_of_one_answer_with_others_between)
{
    begin();
    put_text("ann", 1, "a");
    put_text("bob", 1, "B");
    put_text("ann", 1, "b");
    put_sample(1);
    bridge_line(b, 0, false, "x", 1);
    put_text("bob", 1, "C");
    put_text("ann", 1, "c");
    CHECK_STR(taken(), "ann says abc | bob says BC | memory | line x");
    put_text("ann", 1, "d"); /* what is taken is not touched any more */
    CHECK_STR(taken(), "ann says d");
    end();
}

TEST(join_not_past_something_else_of_the_same_agent)
{
    begin();
    put_text("ann", 1, "a");
    put_end("ann", "a");
    put_text("ann", 1, "b");
    put_text("ann", 2, "c"); /* of another turn */
    put_text("anna", 2, "d");
    put_text("", 2, "e");
    put_text("", 2, "f");
    CHECK_STR(taken(), "ann says a | ann ends a | ann says b | ann says c | anna says d |  says ef");
    end();
}

TEST(join_prefill_to_the_newest)
{
    begin();
    put_prefill("ann", 10);
    put_prefill("bob", 1);
    put_prefill("ann", 60);
    put_prefill("ann", 100);
    put_text("ann", 1, "x");
    put_prefill("ann", 5);
    CHECK_STR(taken(), "ann reads 100 | bob reads 1 | ann says x | ann reads 5");
    end();
}

TEST(join_only_a_short_way_back)
{
    begin();
    put_text("ann", 1, "a");
    for (int i = 0; i < 300; i++) bridge_line(b, 0, false, "x", 1);
    put_text("ann", 1, "b");
    const char *all = taken();
    CHECK(strncmp(all, "ann says a | line x", 19) == 0);
    CHECK(strcmp(all + strlen(all) - 13, " | ann says b") == 0);
    end();
}

TEST(the_past_is_not_joined_and_tokens_are_nobodys_news)
{
    begin();
    const struct event e = {.kind = EV_TEXT, .agent = event_str("ann"), .text = {1, event_str("old")}};
    bridge_event(b, NEWS_PAST, &e);
    bridge_event(b, NEWS_PAST, &e);
    bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_TOKEN});
    CHECK_STR(taken(), "news 2 0 | news 2 0");
    end();
}

TEST(strings_of_an_event_are_the_news_own)
{
    char name[] = "ann", text[] = "hello", file[] = "model.gguf";
    begin();
    bridge_event(b, NEWS_EVENT, &(struct event){.kind = EV_SESSION_OPEN, .agent = event_str(name), .session_open = {
        .version = event_str(text), .engine = event_str(text), .file = event_str(file), .model = event_str(text),
        .arch = event_str(text), .types = event_str(text), .template = event_str(text), .backend = event_str(text),
        .kernels = event_str(text)}});
    memset(name, 'x', 3);
    memset(text, 'x', 5);
    memset(file, 'x', 10);
    struct news *n = bridge_take(b);
    CHECK(n && !n->next);
    CHECK_STR(n->event.session_open.file.data, "model.gguf");
    CHECK_STR(n->event.session_open.kernels.data, "hello");
    CHECK_STR(n->event.agent.data, "ann");
    CHECK(n->event.owner == NULL);
    news_free(n);
    end();
}

TEST(samples_beyond_a_number_are_dropped_and_nothing_else)
{
    begin();
    for (int i = 0; i < BRIDGE_SAMPLES + 500; i++) put_sample(i);
    put_end("ann", "x");
    int samples = 0, ends = 0, last = -1;
    for (struct news *n = bridge_take(b), *next; n; n = next) {
        next = n->next;
        samples += n->event.kind == EV_MEMORY;
        ends += n->event.kind == EV_TURN_END;
        if (n->event.kind == EV_MEMORY) last = (int)n->event.memory.running;
        news_free(n);
    }
    CHECK_EQ(samples, BRIDGE_SAMPLES);
    CHECK_EQ(last, BRIDGE_SAMPLES - 1);
    CHECK_EQ(ends, 1);
    put_sample(7); /* they are counted anew */
    CHECK_STR(taken(), "memory");
    end();
}

/* ------------------------------------------------------------------ orders */

static void order(const char *text) { CHECK(bridge_order(b, text, strlen(text))); }

static const char *next_order(void)
{
    static struct buf text;
    text.len = 0;
    int got = bridge_next(b, 0, &text);
    if (got <= 0) return got == 0 ? "none" : "leave";
    return text.data;
}

TEST(orders_in_their_order_so_many_and_taken_back)
{
    struct buf text = {0};
    begin();
    CHECK_STR(next_order(), "none");
    CHECK(!bridge_drop_order(b, &text));
    order("one");
    order("two");
    order("three");
    CHECK_EQ(bridge_waiting(b), 3);
    CHECK(bridge_drop_order(b, &text));
    CHECK_STR(text.data, "three");
    order("four");
    CHECK_STR(next_order(), "one");
    CHECK_STR(next_order(), "two");
    CHECK_STR(next_order(), "four");
    CHECK_STR(next_order(), "none");
    order("alone");
    text.len = 0;
    CHECK(bridge_drop_order(b, &text));
    CHECK_STR(text.data, "alone");
    order("after it");
    CHECK_STR(next_order(), "after it");
    for (int i = 0; i < BRIDGE_ORDERS; i++) order("more");
    CHECK(!bridge_order(b, "too many", 8));
    CHECK_EQ(bridge_waiting(b), BRIDGE_ORDERS);
    CHECK_STR(next_order(), "more");
    order("there is room again");
    bridge_leave(b);
    CHECK(bridge_leaving(b));
    CHECK_STR(next_order(), "leave"); /* those that wait are not obeyed */
    buf_free(&text);
    end();
}

TEST(asks_one_of_a_kind_the_newest)
{
    struct doc_ask ask;
    begin();
    CHECK(!bridge_asked(b, &ask));
    bridge_ask(b, &(struct doc_ask){.kind = DOC_TEXT, .what = "a1"});
    bridge_ask(b, &(struct doc_ask){.kind = DOC_MAP, .cells = 40});
    bridge_ask(b, &(struct doc_ask){.kind = DOC_TEXT, .what = "a2"});
    CHECK_STR(next_order(), "none"); /* an ask wakes who waits for an order */
    CHECK(bridge_asked(b, &ask) && ask.kind == DOC_MAP && ask.cells == 40);
    CHECK(bridge_asked(b, &ask) && ask.kind == DOC_TEXT);
    CHECK_STR(ask.what, "a2");
    CHECK(!bridge_asked(b, &ask));
    end();
}

static int freed;
static void count_free(void *data) { freed += *(int *)data; }

TEST(docs_are_given_away_whole)
{
    static int one = 1;
    begin();
    freed = 0;
    struct doc d = {.ask = {.kind = DOC_MODELS}, .data = &one, .free = count_free, .error = "x"};
    bridge_doc(b, &d);
    CHECK(d.data == NULL);
    struct news *n = bridge_take(b);
    CHECK(n && n->kind == NEWS_DOC && n->doc.data == &one && n->doc.ask.kind == DOC_MODELS);
    news_free(n);
    CHECK_EQ(freed, 1);
    d = (struct doc){.data = &one, .free = count_free};
    bridge_doc(b, &d); /* not taken */
    end();
    CHECK_EQ(freed, 2);
}

/* ------------------------------------------------------------------ questions */

TEST(question_has_its_number_and_one_answer)
{
    struct buf text = {0};
    int choice = -1;
    begin();
    const int64_t first = bridge_question(b, "ann", "may I?", 6, "shell:rm", false);
    const int64_t second = bridge_question(b, "bob", "who?", 4, NULL, true);
    CHECK_EQ(first, 1);
    CHECK_EQ(second, 2);
    CHECK_STR(taken(), "ann asks 1: may I? | bob asks 2: who?");
    CHECK(!bridge_answered(b, first, 0, &choice, &text));
    bridge_answer(b, second, 1, "me", 2);
    bridge_answer(b, first, TOOLBOX_SESSION, "", 0);
    CHECK(bridge_answered(b, first, 0, &choice, &text));
    CHECK_EQ(choice, TOOLBOX_SESSION);
    CHECK(bridge_answered(b, second, 0, &choice, &text));
    CHECK_EQ(choice, 1);
    CHECK_STR(text.data, "me");
    CHECK(!bridge_answered(b, second, 0, &choice, &text)); /* it is forgotten */
    buf_free(&text);
    end();
}

/* Answers to questions that were withdrawn meanwhile are taken by nobody; they do not stand in the way of others. */
TEST(question_is_answered_though_many_answers_came_too_late)
{
    int choice = -1;
    begin();
    for (int i = 0; i < 50; i++) bridge_answer(b, bridge_question(b, "ann", "?", 1, "", false), TOOLBOX_ONCE, "", 0);
    const int64_t one = bridge_question(b, "ann", "?", 1, "", false);
    const int64_t two = bridge_question(b, "bob", "?", 1, "", false);
    bridge_answer(b, one, TOOLBOX_DENY, "", 0);
    bridge_answer(b, two, TOOLBOX_ONCE, "", 0);
    CHECK(bridge_answered(b, one, 0, &choice, NULL) && choice == TOOLBOX_DENY);
    CHECK(bridge_answered(b, two, 0, &choice, NULL) && choice == TOOLBOX_ONCE);
    end();
}

CHECK_MAIN
