/* Without an index: the same hits as with one, and what a session that is not saved recalls. */
#include "memory/recall_scan.h"
#include "memory/remember.h"
#include "tests/check.h"
#include "tests/recall_rig.h"
#include "tests/session_rig.h"

/* ---------------------------------------------------------------- the search */

static void check_alike(const struct recall_result *a, const struct recall_result *b)
{
    CHECK_EQ(a->n_hits, b->n_hits);
    CHECK_EQ(a->n_terms, b->n_terms);
    CHECK_EQ(a->docs, b->docs);
    CHECK_EQ(a->unknown, b->unknown);
    CHECK_EQ(a->left_out, b->left_out);
    CHECK(a->mean == b->mean);
    CHECK_MEM(a->term, b->term, (size_t)a->n_terms * sizeof *a->term);
    for (int i = 0; i < a->n_hits; i++) {
        const struct recall_hit *x = &a->hit[i], *y = &b->hit[i];
        CHECK(x->score == y->score);
        CHECK_MEM(x->share, y->share, sizeof x->share);
        CHECK_MEM(x->tf, y->tf, sizeof x->tf);
        CHECK(x->doc.kind == y->doc.kind && x->doc.id == y->doc.id && x->doc.chunk == y->doc.chunk);
        CHECK(x->doc.at == y->doc.at && x->doc.len == y->doc.len && x->doc.when == y->doc.when);
    }
}

TEST(texts_in_memory_give_the_hits_that_their_index_gives)
{
    uint64_t lot = 4242;
    static struct recall_result scanned;
    for (int round = 0; round < 8; round++) {
        struct store *st = open_at(fresh_dir());
        struct recall *r = recall_at(st);
        struct plain *p = some_corpus(&lot, 1 + rig_draw(&lot, 500), 1 + (int)rig_draw(&lot, 80));
        feed(st, r, p, &lot, 50);
        for (int i = 0; i < 60; i++) {
            char text[PLAIN_TEXT], of_index[120], of_scan[120];
            size_t at, len, at2, len2;
            some_words(&lot, 1 + (int)rig_draw(&lot, 80), text, sizeof text);
            struct recall_scan *scan = recall_scan_open(text, strlen(text), &err);
            CHECK(scan);
            for (size_t k = 0; k < p->n; k++)
                OK(recall_scan_add(scan, &p->doc[k].doc, p->doc[k].text, p->doc[k].n, &err));
            recall_scan_end(scan, RECALL_K, &scanned);
            const struct recall_result *indexed = search(r, text, NULL);
            check_alike(&scanned, indexed);
            const struct plain_doc *d = &p->doc[rig_draw(&lot, p->n)];
            recall_window(r, indexed, d->text, d->n, 100, &at, &len);
            recall_scan_window(scan, &scanned, d->text, d->n, 100, &at2, &len2);
            snprintf(of_index, sizeof of_index, "%.*s", (int)len, d->text + at);
            snprintf(of_scan, sizeof of_scan, "%.*s", (int)len2, d->text + at2);
            CHECK_STR(of_scan, of_index);
            recall_scan_close(scan);
        }
        free(p);
        recall_close(r);
        store_close(st);
    }
}

TEST(a_chunk_may_be_as_long_as_chunks_are_and_no_longer)
{
    static char text[RECALL_CHUNK + 1];
    struct recall_doc doc = {.kind = RECALL_MESSAGE, .id = 1};
    struct recall_scan *scan = recall_scan_open("a", 1, &err);
    static struct recall_result out;
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 2 ? ' ' : 'a';
    CHECK_EQ(recall_scan_add(scan, &doc, text, RECALL_CHUNK + 1, &err), STORE_TOO_BIG);
    OK(recall_scan_add(scan, &doc, text, RECALL_CHUNK, &err));
    OK(recall_scan_add(scan, &doc, "", 0, &err));
    recall_scan_end(scan, 0, &out);
    CHECK_EQ(out.n_hits, 1); /* k is brought to 1 */
    CHECK_EQ(out.hit[0].tf[0], RECALL_CHUNK / 2);
    CHECK_EQ(out.docs, 2);
    recall_scan_close(scan);
    recall_scan_close(NULL);
}

TEST(quotations_of_a_message_are_one_and_of_a_summary_a_line_each)
{
    static char much[5000]; /* three chunks and more, in each of which it says "port" */
    struct remember_found f;
    for (size_t i = 0; i + 1 < sizeof much; i++) much[i] = "port x "[i % 7];
    const struct remember_text t[] = {
        {RECALL_SUMMARY, 9, "the port of the pump is 8080", 28},
        {RECALL_SUMMARY, 9, "the port of the lamp is 9090", 28},
        {RECALL_MESSAGE, 12, much, sizeof much - 1},
        {RECALL_MESSAGE, 14, "which port has the pump?", 24},
    };
    const struct remember_query q = {.text = "port of the pump", .n = 16, .k = 8, .session = ada};
    OK(remember_scan(t, COUNT_OF(t), &q, &f, &err));
    CHECK_EQ(f.n, 4);
    CHECK_STR(f.quote[0].name, "m9");
    CHECK_EQ(f.quote[0].kind, RECALL_SUMMARY);
    CHECK_EQ(f.quote[0].len, 28);
    CHECK_MEM(f.text.data + f.quote[0].at, "the port of the pump is 8080", 28);
    CHECK(f.quote[0].matched > 0.99);
    CHECK(f.quote[0].rarest < 0.4); /* "pump": in two of six chunks */
    CHECK(strstr(f.quote[0].why, "pump"));
    CHECK_MEM(f.quote[0].session, ada, STORE_SESSION_ID);
    remember_free(&f);
}

/* ---------------------------------------------------------------- sessions */

#define FACT "the code of the garage door is 4711"
#define QUESTION "What is the code of the garage door?"

static const char *facts(void)
{
    return "Facts:\n- " FACT "\n- the code of the shed is 1234\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone";
}

static void begin_with(const char *recall, bool unsaved, double spare)
{
    begin("be brief");
    opts.recall = recall;
    opts.keep_unsaved = spare;
    record = facts;
    CHECK_EQ(session_close(&s), 0);
    struct session_role role = session_alone(&app);
    role.unsaved = unsaved;
    OK(session_new_as(&s, &app, &role, "be brief", &err));
}

static void talk(int turns)
{
    for (int i = 0; i < turns; i++) OK(say(long_text((char)('a' + i % 26), 300)));
}

static const char *last_prompt(void) /* what the model was asked with last */
{
    return fake.heard.data;
}

TEST(a_session_that_is_not_saved_recalls_what_memory_has)
{
    struct remember_found f;
    const struct session_question q = {.text = QUESTION, .n = strlen(QUESTION), .k = 8};
    begin_with("auto", true, 1e9);
    record = good_record; /* the fact is in no summary */
    opts.summary = "off";
    OK(say(FACT));
    talk(30);
    CHECK(session_has_left(&s));
    OK(session_recall(&s, &q, &f, &err));
    CHECK(f.n >= 1);
    CHECK_MEM(f.text.data + f.quote[0].at, FACT, strlen(FACT));
    remember_free(&f);
    OK(say(QUESTION));
    CHECK(strstr(last_prompt(), "user: " FACT));
    CHECK_EQ(count(events(), "\"name\":\"recall\""), 1);
    end();
}

TEST(what_was_taken_back_is_not_recalled_of_an_unsaved_session_either)
{
    struct remember_found f;
    const struct session_question q = {.text = QUESTION, .n = strlen(QUESTION), .k = 8};
    begin_with("auto", true, 1e9);
    opts.summary = "off";
    OK(say(FACT));
    struct buf again = {0};
    OK(session_undo(&s, &again, &err));
    buf_free(&again);
    talk(30);
    OK(session_recall(&s, &q, &f, &err));
    for (int i = 0; i < f.n; i++) CHECK(!memmem(f.text.data + f.quote[i].at, f.quote[i].len, "4711", 4));
    remember_free(&f);
    end();
}

/* Where the message itself is gone for good, the summary is all that there is. */
TEST(what_is_gone_from_memory_is_recalled_by_its_line_in_the_summary)
{
    begin_with("auto", true, 0);
    OK(say(FACT));
    talk(60);
    CHECK(s.texts.gone.n > 0);
    OK(say(QUESTION));
    CHECK(strstr(last_prompt(), ": " FACT));
    CHECK(!strstr(last_prompt(), "user: " FACT));
    end();
}

TEST(by_recall_summary_only_its_lines_are_brought_in_and_a_saved_session_does_so_too)
{
    for (int unsaved = 0; unsaved < 2; unsaved++) {
        begin_with("summary", unsaved != 0, 1e9);
        OK(say(FACT));
        OK(say("the code of the shed is 1234"));
        talk(60);
        OK(say("Where is the crane?"));
        CHECK_EQ(count(events(), "\"name\":\"recall\""), 0); /* "is" and "the" are in every line */
        OK(say(QUESTION));
        CHECK_EQ(count(events(), "\"name\":\"recall\""), 1);
        CHECK(strstr(last_prompt(), ": " FACT));
        OK(say(QUESTION)); /* it stands there now */
        CHECK_EQ(count(events(), "\"name\":\"recall\""), 1);
        end();
    }
}

TEST(of_much_that_is_in_memory_the_newest_is_searched_and_the_rest_is_counted)
{
    enum { MUCH = 5 << 20 };
    struct remember_found f;
    const struct session_question q = {.text = "unicorn", .n = 7, .k = 8};
    char *text = malloc(MUCH);
    begin_with("auto", true, 1e9);
    OK(say("the unicorn is said first"));
    CHECK(text);
    memset(text, 'x', MUCH);
    for (int i = 16; i < MUCH; i += 17) text[i] = ' ';
    const struct journal_message m = {.kind = JOURNAL_NOTE, .text = text, .len = MUCH};
    OK(texts_put(&s.texts, 1000, &m, &err));
    OK(session_recall(&s, &q, &f, &err));
    CHECK_EQ(f.n, 1);
    CHECK_EQ(f.unread, 0);
    remember_free(&f);
    OK(texts_put(&s.texts, 1001, &m, &err));
    OK(session_recall(&s, &q, &f, &err));
    CHECK_EQ(f.n, 0);
    CHECK(f.unread > MUCH && f.unread < MUCH + 10000); /* the older note, and all that was said before */
    remember_free(&f);
    free(text);
    end();
}

TEST(other_sessions_cannot_be_asked_from_one_that_is_not_saved)
{
    struct remember_found f;
    const struct session_question q = {.text = QUESTION, .n = strlen(QUESTION), .k = 8, .everywhere = true};
    begin_with("auto", true, 1e9);
    OK(say(FACT));
    CHECK(session_recall(&s, &q, &f, &err) != 0);
    CHECK(strstr(err.text, "not saved"));
    remember_free(&f);
    end();
}

CHECK_MAIN
