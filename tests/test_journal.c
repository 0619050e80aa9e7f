/* A session in the store: what goes in comes out, what is damaged is named, and a commit that failed leaves nothing
 * behind. */
#include "tests/journal_rig.h"
#include <signal.h>
#include <sys/resource.h>

static uint64_t seed = 88172645463325252u;
static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- records */

static void check_equal(const struct journal_message *a, const struct journal_message *b)
{
    CHECK(a->kind == b->kind && a->flags == b->flags && a->turn == b->turn && a->time_ms == b->time_ms);
    CHECK(a->first == b->first && a->last == b->last && a->artifact == b->artifact && a->results == b->results);
    CHECK_EQ(a->len, b->len);
    CHECK_MEM(a->text, b->text, a->len);
}

TEST(each_kind_comes_back_as_it_was_written)
{
    struct store *s = open_at(fresh_dir());
    struct journal_batch b = batch_of(ada);
    struct journal_message m[JOURNAL_KINDS], got;
    uint64_t bytes = 0;
    for (enum journal_kind k = JOURNAL_SYSTEM; k < JOURNAL_KINDS; k++) {
        m[k] = (struct journal_message){.kind = k, .flags = k % (JOURNAL_FLAGS + 1), .turn = UINT32_MAX - k,
                                        .time_ms = INT64_MIN + k, .text = "a\0\xff\nb", .len = 5};
        if (journal_has_artifact(k)) m[k].artifact = UINT64_MAX;
        if (k == JOURNAL_CALL || k == JOURNAL_SUMMARY) m[k].results = UINT32_MAX;
        if (k == JOURNAL_MARK) m[k].results = JOURNAL_UNCOMPACTED;
        if (k == JOURNAL_SUMMARY || k == JOURNAL_MARK) m[k].first = 1, m[k].last = 99;
        journal_add(&b, 100 + k, &m[k]);
        CHECK(strlen(journal_kind_name(k)) > 2);
    }
    m[0] = message(JOURNAL_ANSWER, 0, "");
    journal_add(&b, 200, &m[0]);
    journal_add_event(&b, 201, "{}", 2);
    CHECK_EQ(b.n_records, JOURNAL_KINDS + 1);
    OK(journal_write(s, &b, &bytes, &err));
    CHECK_EQ(bytes, (JOURNAL_KINDS - 1) * (48 + 5) + 48 + 2);
    journal_batch_free(&b);
    for (enum journal_kind k = JOURNAL_SYSTEM; k < JOURNAL_KINDS; k++) {
        struct buf text = {0};
        buf_puts(&text, "before");
        OK(journal_get(s, ada, 100 + k, &got, &text, &err));
        check_equal(&got, &m[k]);
        CHECK_MEM(text.data, "before", 6);
        buf_free(&text);
    }
    struct buf text = {0};
    OK(journal_get(s, ada, 200, &got, &text, &err));
    CHECK_EQ(got.len, 0);
    size_t was = text.len;
    CHECK_EQ(journal_get(s, ada, 201, &got, &text, &err), STORE_NOT_FOUND);
    CHECK_STR(err.text, "m201 is no message: it is an event");
    CHECK_EQ(text.len, was);
    CHECK_EQ(journal_get(s, ada, 202, &got, &text, &err), STORE_NOT_FOUND);
    CHECK_EQ(text.len, was);
    buf_free(&text);
    store_close(s);
}

/* What a record could say that no session writes. */
TEST(a_message_whose_fields_make_no_sense_is_damaged)
{
    struct store *s = open_at(fresh_dir());
    struct { int at; uint8_t value; } bad[] = {{0, 0}, {0, JOURNAL_KINDS}, {1, JOURNAL_FLAGS + 1}, {2, 1}, {3, 1},
        {16, 9}, {44, 1}, {47, 1},
        {0, JOURNAL_CALL},     /* without results */
        {0, JOURNAL_SUMMARY},  /* of nothing */
        {0, JOURNAL_MARK}};    /* of no kind */
    struct store_key key = store_key_message(ada, 7);
    struct journal_message m;
    struct buf text = {0};
    for (size_t i = 0; i <= COUNT_OF(bad); i++) {
        uint8_t body[50] = {JOURNAL_USER};
        if (i < COUNT_OF(bad)) body[bad[i].at] = bad[i].value;
        store_begin(s, STORE_JOURNAL);
        OK(store_put(s, &key, REC_MESSAGE, body, i < COUNT_OF(bad) ? sizeof body : 47, &err));
        OK(store_commit(s, &err));
        CHECK_EQ(journal_get(s, ada, 7, &m, &text, &err), STORE_DAMAGED);
        check_err(STORE_DAMAGED, "message 7 of session");
    }
    static const struct { uint64_t first, last; } range[] = {{0, 3}, {4, 3}, {3, 7}, {3, UINT64_MAX}};
    for (size_t i = 0; i < 2 * COUNT_OF(range); i++) { /* a summary and a mark speak of what was before them */
        struct journal_batch b = batch_of(ada);
        struct journal_message r = {.kind = i % 2 ? JOURNAL_SUMMARY : JOURNAL_MARK, .results = 1,
                                    .first = range[i / 2].first, .last = range[i / 2].last};
        journal_add(&b, 7, &r);
        write_batch(s, &b);
        CHECK_EQ(journal_get(s, ada, 7, &m, &text, &err), STORE_DAMAGED);
    }
    buf_free(&text);
    store_close(s);
}

TEST(messages_and_events_come_in_order_and_damaged_ones_are_named_and_passed_over)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct journal_batch b = batch_of(ada);
    struct buf seen = {0}, bad = {0};
    const struct journal_visit all = {note_message, note_event, note_line, &seen};
    const struct journal_visit texts = {.message = note_message, .self = &seen};
    for (uint64_t i = 1; i < 6; i++) {
        struct journal_message m = message(JOURNAL_USER, 1, "text");
        if (i == 3) journal_add_event(&b, i, "{\"a\":1}", 7);
        else journal_add(&b, i, &m);
    }
    struct journal_message last = message(JOURNAL_USER, 1, "stop"), never = message(JOURNAL_USER, 1, "never");
    journal_add(&b, 90, &last);
    journal_add(&b, 91, &never);
    write_batch(s, &b);
    struct store_key two = store_key_message(ada, 2), four = store_key_message(ada, 4);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &four, REC_MESSAGE, "no head", 7, &err));
    OK(store_commit(s, &err));
    store_close(s);
    CHECK_EQ(rec_encode(REC_MESSAGE, two.byte, two.n, "whatever", 8, &bad), 0);
    bad.data[REC_HEADER] ^= 1;
    plant(dir, "journal", &two, bad.data, bad.len);
    s = open_at(dir);
    OK(journal_each(s, ada, 0, &all, &err));
    CHECK_STR(seen.data, "1:text\n! message 2 of session 616461277\n3 event {\"a\":1}\n"
                         "! message 4 of session 616461277\n5:text\n90:stop\n");
    seen.len = 0;
    OK(journal_each(s, ada, 3, &texts, &err));
    CHECK_STR(seen.data, "5:text\n90:stop\n");
    buf_free(&seen);
    buf_free(&bad);
    store_close(s);
}

/* ---------------------------------------------------------------- heads */

TEST(a_head_comes_back_with_or_without_a_parent)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = head_of(ada, "Grüße \"quoted\" \\ and more", 77), got;
    write_head(s, &h);
    OK(journal_head(s, ada, &got, &err));
    CHECK_MEM(&h, &got, sizeof h);
    memcpy(h.parent, bob, sizeof h.parent);
    h.parent_turn = 12;
    memset(h.title, 'x', JOURNAL_TITLE);
    write_head(s, &h);
    OK(journal_head(s, ada, &got, &err));
    CHECK_MEM(&h, &got, sizeof h);
    CHECK_EQ(journal_head(s, bob, &got, &err), STORE_NOT_FOUND);
    store_close(s);
}

/* ---------------------------------------------------------------- runs of crews */

static struct journal_head in_run(const uint8_t *id, const uint8_t *run, const char *agent, int64_t updated)
{
    struct journal_head h = head_of(id, agent, updated);
    memcpy(h.run.id, run, sizeof h.run.id);
    snprintf(h.run.crew, sizeof h.run.crew, "notes");
    snprintf(h.run.agent, sizeof h.run.agent, "%s", agent);
    return h;
}

TEST(a_head_comes_back_with_the_run_that_it_is_of)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = in_run(ada, bob, "ann/12", 77), got;
    write_head(s, &h);
    OK(journal_head(s, ada, &got, &err));
    CHECK_MEM(&h, &got, sizeof h);
    CHECK(journal_in_run(&got) && !journal_is_run(&got));
    h = in_run(bob, bob, "", 78);
    write_head(s, &h);
    OK(journal_head(s, bob, &got, &err));
    CHECK_MEM(&h, &got, sizeof h);
    CHECK(journal_is_run(&got));
    store_close(s);
}

TEST(a_run_is_found_by_any_session_of_it_and_the_last_of_a_crew)
{
    static const uint8_t one[STORE_SESSION_ID] = "one", ann[STORE_SESSION_ID] = "ann", two[STORE_SESSION_ID] = "two",
                         lone[STORE_SESSION_ID] = "zzz";
    struct store *s = open_at(fresh_dir());
    struct journal_head h[] = {in_run(one, one, "", 10), in_run(ann, one, "ann", 90), in_run(two, two, "", 20),
                               head_of(lone, "alone", 99)}, got, *list;
    size_t n;
    for (size_t i = 0; i < COUNT_OF(h); i++) write_head(s, &h[i]);
    OK(journal_find_run(s, "616e6e", "notes", &got, &err)); /* "ann" */
    CHECK_MEM(got.id, one, sizeof one);
    OK(journal_find_run(s, "last", "notes", &got, &err));
    CHECK_MEM(got.id, two, sizeof two);
    CHECK_EQ(journal_find_run(s, "last", "verses", &got, &err), STORE_NOT_FOUND);
    CHECK_EQ(journal_find_run(s, "616e6e", "verses", &got, &err), STORE_NOT_FOUND);
    check_err(STORE_NOT_FOUND, "is of the crew notes, and this is verses");
    CHECK_EQ(journal_find_run(s, "7a7a7a", "notes", &got, &err), STORE_NOT_FOUND);
    check_err(STORE_NOT_FOUND, "is of no crew");
    OK(journal_run_heads(s, one, 10, &list, &n, &err));
    CHECK_EQ(n, 2);
    CHECK_MEM(list[0].id, ann, sizeof ann);
    free(list);
    store_close(s);
}

TEST(a_list_has_each_run_in_one_piece_with_its_record_first)
{
    enum { MOST = 60, RUNS = 5 };
    struct journal_head h[MOST];
    size_t order[MOST];
    bool below[MOST], seen[MOST];
    for (int round = 0; round < 200; round++) {
        const size_t n = (size_t)draw(MOST);
        for (size_t i = 0; i < n; i++) {
            uint8_t run[STORE_SESSION_ID] = {0}, id[STORE_SESSION_ID] = {0xee, (uint8_t)i};
            run[0] = (uint8_t)draw(RUNS); /* 0: of none */
            h[i] = in_run(id, run, "ann", 1);
        }
        for (uint8_t r = 1; r < RUNS; r++) { /* of some the record is there */
            const size_t at = (size_t)draw(MOST);
            if (at < n) memcpy(h[at].id, h[at].run.id, sizeof h[at].id);
            for (size_t i = 0; i < n; i++) /* ... once */
                if (i != at && at < n && memcmp(h[i].id, h[at].id, sizeof h[i].id) == 0) h[i].id[0] = 0xdd;
        }
        CHECK_EQ(journal_group(h, n, order, below), 0);
        memset(seen, 0, sizeof seen);
        for (size_t i = 0; i < n; i++) {
            CHECK(order[i] < n && !seen[order[i]]);
            seen[order[i]] = true;
            const struct journal_head *a = &h[order[i]], *b = i > 0 ? &h[order[i - 1]] : NULL;
            const bool same = b && journal_in_run(a) && memcmp(a->run.id, b->run.id, sizeof a->run.id) == 0;
            CHECK_EQ(below[i], same && (journal_is_run(b) || below[i - 1]) && !journal_is_run(a));
            CHECK(!same || !journal_is_run(a)); /* the record is the first of its run */
            for (size_t k = 0; k + 1 < i && !same && journal_in_run(a); k++) /* ... which is nowhere else */
                CHECK(memcmp(h[order[k]].run.id, a->run.id, sizeof a->run.id) != 0);
        }
    }
}

static void report_line(void *self, const char *line) { buf_printf(self, "%s\n", line); }

#define HEAD(version, title, updated, next, artifacts, turns, more)                                           \
    "{\"version\":" version ",\"title\":" title ",\"model\":\"m\",\"created\":1,\"updated\":" updated                \
    ",\"next\":" next ",\"artifacts\":" artifacts ",\"turns\":" turns more "}"

TEST(hostile_heads_are_damaged_and_the_good_one_beside_them_is_not)
{
    static const char *const bad[] = {
        "", "{", "[]", "null", "\"x\"", "{}",
        HEAD("2", "\"t\"", "1", "9", "1", "1", ""), HEAD("1", "7", "1", "9", "1", "1", ""),
        HEAD("1", "\"a\\nb\"", "1", "9", "1", "1", ""), HEAD("1", "\"a\\u0000b\"", "1", "9", "1", "1", ""),
        HEAD("1", "\"\xff\"", "1", "9", "1", "1", ""), HEAD("1", "\"t\"", "-1", "9", "1", "1", ""),
        HEAD("1", "\"t\"", "1.5", "9", "1", "1", ""), HEAD("1", "\"t\"", "1", "0", "1", "0", ""),
        HEAD("1", "\"t\"", "1", "9223372036854775807", "1", "1", ""), HEAD("1", "\"t\"", "1", "1e9", "1", "1", ""),
        HEAD("1", "\"t\"", "1", "99999999999999999999", "1", "1", ""), HEAD("1", "\"t\"", "1", "9", "0", "1", ""),
        HEAD("1", "\"t\"", "1", "9", "9223372036854775807", "1", ""), HEAD("1", "\"t\"", "1", "9", "1", "9", ""),
        HEAD("1", "\"t\"", "1", "5000000000", "1", "4294967295", ""),
        HEAD("1", "\"t\"", "1", "9", "1", "1", ",\"turns\":2"),
        HEAD("1", "\"t\"", "1", "9", "1", "1", ",\"parent\":\"00\""),
        HEAD("1", "\"t\"", "1", "9", "1", "1", ",\"parent\":\"zz000000000000000000000000000000\""),
        HEAD("1", "\"t\"", "1", "9", "1", "1", ",\"parent\":5"),
        HEAD("1", "\"t\"", "1", "9", "1", "1", ",\"parent_turn\":-1"),
        HEAD("1", "\"t\"", "1", "9", "1", "1", "") "x",
    };
    struct store *s = open_at(fresh_dir());
    struct store_key key = store_key_session(ada);
    struct journal_head h, *list;
    size_t n;
    static const char fine[] = HEAD("1", "\"t\"", "1", "9", "1", "1", "");
    char longest[400];
    snprintf(longest, sizeof longest, HEAD("1", "\"%0121d\"", "1", "9", "1", "1", ""), 0);
    for (size_t i = 0; i <= COUNT_OF(bad) + 1; i++) {
        const char *text = i < COUNT_OF(bad) ? bad[i] : i == COUNT_OF(bad) ? longest : fine;
        struct buf seen = {0};
        const struct store_report report = {.line = report_line, .user = &seen};
        store_begin(s, STORE_JOURNAL);
        OK(store_put(s, &key, REC_SESSION, text, strlen(text), &err));
        OK(store_commit(s, &err));
        bool good = i == COUNT_OF(bad) + 1;
        if (journal_head(s, ada, &h, &err) != (good ? 0 : STORE_DAMAGED)) check_fail(__FILE__, __LINE__, "%s", text);
        OK(journal_heads(s, 5, &list, &n, &report, &err));
        CHECK_EQ(n, good);
        CHECK_EQ(seen.len > 0, !good);
        CHECK_EQ(journal_find(s, "6164", &h, &err), good ? 0 : STORE_NOT_FOUND);
        free(list);
        buf_free(&seen);
    }
    store_close(s);
}

static void id_of(int i, uint8_t id[STORE_SESSION_ID])
{
    for (int k = 0; k < STORE_SESSION_ID; k++) id[k] = (uint8_t)(k == 0 ? i * 37 : k + i);
}

TEST(the_newest_heads_come_first_and_no_more_than_asked_for)
{
    enum { SESSIONS = 60 };
    struct store *s = open_at(fresh_dir());
    int64_t updated[SESSIONS];
    struct journal_head *list;
    size_t n;
    OK(journal_heads(s, 3, &list, &n, NULL, &err));
    CHECK(n == 0 && !list);
    struct journal_head h;
    CHECK_EQ(journal_find(s, "last", &h, &err), STORE_NOT_FOUND);
    for (int i = 0; i < SESSIONS; i++) {
        uint8_t id[STORE_SESSION_ID];
        id_of(i, id);
        updated[i] = (int64_t)draw(40); /* some are as new as others */
        h = head_of(id, "t", updated[i]);
        write_head(s, &h);
    }
    for (size_t most = 1; most < SESSIONS + 3; most += most < 9 ? 1 : 17) {
        OK(journal_heads(s, most, &list, &n, NULL, &err));
        CHECK_EQ(n, MIN(most, (size_t)SESSIONS));
        for (size_t i = 0; i < n; i++) {
            size_t newer = 0, there = 0;
            for (int k = 0; k < SESSIONS; k++) newer += updated[k] > list[i].updated_ms;
            for (int k = 0; k < SESSIONS; k++) there += updated[k] >= list[i].updated_ms;
            CHECK(newer <= i && i < there);
            if (i > 0) CHECK(list[i - 1].updated_ms >= list[i].updated_ms);
            for (size_t k = 0; k < i; k++) CHECK(memcmp(list[k].id, list[i].id, STORE_SESSION_ID) != 0);
        }
        OK(journal_find(s, "last", &h, &err));
        CHECK_MEM(h.id, list[0].id, STORE_SESSION_ID);
        free(list);
    }
    store_close(s);
}

TEST(a_session_is_found_by_the_beginning_of_its_id)
{
    struct store *s = open_at(fresh_dir());
    static const uint8_t ids[][STORE_SESSION_ID] = {{0xab, 0xc0, 1}, {0xab, 0xc0, 2}, {0xab, 0xd0}, {0x12}};
    char whole[2 * STORE_SESSION_ID + 1];
    struct journal_head h;
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        h = head_of(ids[i], "t", (int64_t)i);
        write_head(s, &h);
    }
    static const struct { const char *name; int code, which; } cases[] = {
        {"12", 0, 3}, {"1", 0, 3}, {"abd", 0, 2}, {"abc001", 0, 0}, {"abc002", 0, 1}, {"last", 0, 3},
        {"abc", STORE_BUSY, 0}, {"a", STORE_BUSY, 0}, {"ac", STORE_NOT_FOUND, 0}, {"", STORE_NOT_FOUND, 0},
        {"AB", STORE_NOT_FOUND, 0}, {"../x", STORE_NOT_FOUND, 0}, {"lastly", STORE_NOT_FOUND, 0},
        {"120000000000000000000000000000000", STORE_NOT_FOUND, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (journal_find(s, cases[i].name, &h, &err) != cases[i].code)
            check_fail(__FILE__, __LINE__, "%s: %s", cases[i].name, err.text);
        if (cases[i].code == 0) CHECK_MEM(h.id, ids[cases[i].which], STORE_SESSION_ID);
        else check_err(cases[i].code, "session");
    }
    CHECK_EQ(journal_find(s, "abc", &h, &err), STORE_BUSY);
    check_err(STORE_BUSY, "2 sessions begin with abc: abc001000000, abc002000000; give more");
    CHECK_EQ(journal_find(s, "a", &h, &err), STORE_BUSY);
    check_err(STORE_BUSY, ", ...; give more");
    journal_id_text(ids[1], whole);
    OK(journal_find(s, whole, &h, &err));
    CHECK_MEM(h.id, ids[1], STORE_SESSION_ID);
    store_close(s);
}

/* ---------------------------------------------------------------- spans */

TEST(spans_know_what_a_plain_list_of_flags_knows)
{
    enum { NUMBERS = 300 };
    for (int round = 0; round < 200; round++) {
        struct journal_spans v = {0};
        bool out[NUMBERS] = {0};
        for (int i = 0; i < 40; i++) {
            uint64_t first = draw(NUMBERS), end = first + draw(draw(4) ? 8 : 80);
            uint64_t last = MIN(end, (uint64_t)NUMBERS - 1);
            journal_span_add(&v, first, last);
            for (uint64_t k = first; k <= last; k++) out[k] = true;
            for (uint64_t k = 0; k < NUMBERS; k++) CHECK_EQ(journal_span_has(&v, k), out[k]);
            for (size_t k = 1; k < v.n; k++) CHECK(v.span[k - 1].last < v.span[k].first);
        }
        CHECK(!journal_span_has(&v, UINT64_MAX));
        journal_span_add(&v, 0, UINT64_MAX);
        CHECK_EQ(v.n, 1);
        CHECK(journal_span_has(&v, UINT64_MAX));
        journal_span_free(&v);
    }
}

/* ---------------------------------------------------------------- windows */

TEST(a_window_is_there_until_its_slot_is_taken_by_another_turns)
{
    struct store *s = open_at(fresh_dir());
    struct buf out = {0};
    for (uint32_t turn = 0; turn < 40; turn++) {
        struct journal_batch b = batch_of(ada);
        char text[16];
        int n = snprintf(text, sizeof text, "after %u", (unsigned)turn);
        journal_add_window(&b, turn, "not this", 8);
        journal_add_window(&b, turn, text, (size_t)n);
        write_batch(s, &b);
        for (uint32_t t = 0; t < 40; t += turn % 5 ? 39 : 1) {
            out.len = 0;
            buf_puts(&out, "before ");
            int rc = journal_window(s, ada, t, &out, &err);
            bool kept = t <= turn && turn - t < JOURNAL_SLOTS;
            CHECK_EQ(rc, kept ? 0 : STORE_NOT_FOUND);
            snprintf(text, sizeof text, "after %u", (unsigned)t);
            CHECK_EQ(out.len, 7 + (kept ? strlen(text) : 0));
            CHECK_MEM(out.data + 7, text, out.len - 7);
        }
    }
    CHECK_EQ(journal_window(s, bob, 39, &out, &err), STORE_NOT_FOUND);
    struct store_key key = store_key_piece(ada, "window.7");
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_PIECE, "abc", 3, &err));
    OK(store_commit(s, &err));
    CHECK_EQ(journal_window(s, ada, 39, &out, &err), STORE_NOT_FOUND);
    buf_free(&out);
    store_close(s);
}

/* ---------------------------------------------------------------- commits that fail */

static void turn_batch(struct journal_batch *b, uint64_t number)
{
    struct journal_message m = message(JOURNAL_USER, 1, "said");
    struct journal_head h = head_of(ada, "t", (int64_t)number);
    *b = batch_of(ada);
    journal_add(b, number, &m);
    journal_add_window(b, 1, "window", 6);
    journal_add_head(b, &h);
}

TEST(a_store_that_is_read_only_says_so_and_nothing_is_pending)
{
    const char *dir = fresh_dir();
    const struct store_options reading = {.read_only = true};
    struct journal_batch b;
    struct store *s = open_at(dir);
    turn_batch(&b, 1);
    OK(journal_write(s, &b, NULL, &err));
    store_close(s);
    OK(store_open(&s, dir, &reading, &err));
    for (int i = 0; i < 2; i++) { /* the second would meet what the first had left */
        CHECK_EQ(journal_write(s, &b, NULL, &err), STORE_READ_ONLY);
        check_err(STORE_READ_ONLY, "reading only");
    }
    struct journal_fork f = {.turn = 1};
    memcpy(f.from, ada, sizeof f.from);
    CHECK_EQ(journal_fork(s, &f, &err), STORE_READ_ONLY);
    CHECK_EQ(journal_write(s, &b, NULL, &err), STORE_READ_ONLY);
    journal_batch_free(&b);
    store_close(s);
}

static int fill_the_disk(const char *dir)
{
    const struct store_options small = {.map_start = {256 << 10}};
    struct rlimit all, little;
    struct journal_batch b;
    struct store *s = NULL;
    uint64_t bytes = 0, n = 1;
    struct journal_head h;
    struct buf text = {0};
    static char big[20000];
    memset(big, 'x', sizeof big - 1);
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &all)) return 1;
    little = (struct rlimit){300000, all.rlim_max};
    if (store_open(&s, dir, &small, &err) || setrlimit(RLIMIT_FSIZE, &little)) return 2;
    int rc = 0;
    for (; n < 1000; n++) {
        struct journal_message m = message(JOURNAL_ANSWER, 1, big);
        turn_batch(&b, n);
        journal_add(&b, 5000 + n, &m);
        rc = journal_write(s, &b, &bytes, &err);
        if (rc) break;
        journal_batch_free(&b);
    }
    if (rc != STORE_DISK_FULL || n == 1 || bytes < sizeof big) return 3;
    if (setrlimit(RLIMIT_FSIZE, &all)) return 4;
    struct journal_message m;
    if (journal_get(s, ada, n, &m, &text, &err) != STORE_NOT_FOUND) return 5; /* nothing of it */
    if (journal_get(s, ada, 5000 + n, &m, &text, &err) != STORE_NOT_FOUND) return 6;
    if (journal_head(s, ada, &h, &err) || h.updated_ms != (int64_t)n - 1) return 7;
    struct journal_batch other;
    turn_batch(&other, 3000);
    if (journal_write(s, &other, NULL, &err)) return 8;
    if (journal_get(s, ada, n, &m, &text, &err) != STORE_NOT_FOUND) return 9; /* it did not come along */
    if (journal_write(s, &b, NULL, &err)) return 10;                          /* and can be written again */
    if (journal_get(s, ada, 5000 + n, &m, &text, &err)) return 11;
    journal_batch_free(&b);
    journal_batch_free(&other);
    buf_free(&text);
    store_close(s);
    return 0;
}

TEST(a_full_disk_leaves_nothing_pending_and_the_same_batch_can_be_written_later)
{
    CHECK_EQ(in_child(fill_the_disk, fresh_dir()), 0);
}

TEST(a_record_that_is_too_large_fails_the_whole_batch)
{
    struct store *s = open_at(fresh_dir());
    struct journal_batch b;
    struct journal_message m;
    struct buf text = {0};
    turn_batch(&b, 1);
    journal_add_event(&b, 2, "", (size_t)REC_BODY_MAX + 1); /* it is not looked at */
    CHECK_EQ(journal_write(s, &b, NULL, &err), STORE_NO_MEMORY);
    CHECK_EQ(journal_get(s, ada, 1, &m, &text, &err), STORE_NOT_FOUND);
    journal_batch_free(&b);
    CHECK(!b.failed);
    turn_batch(&b, 1);
    write_batch(s, &b);
    OK(journal_get(s, ada, 1, &m, &text, &err));
    buf_free(&text);
    store_close(s);
}

CHECK_MAIN
