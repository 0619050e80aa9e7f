/* A copy of a session has what was there after its turn and nothing else, whatever was taken back and pinned before. */
#include "memory/journal_impl.h"
#include "tests/journal_rig.h"

static uint64_t seed = 362436069;
static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* A session of this file's own making, and what must be in it after each turn. */
enum { NUMBERS = 600, TURNS = 60 };
struct state {
    uint8_t is[NUMBERS]; /* 0: none, 1: said, 2: said, and taken out of the front since */
};
static struct past {
    struct state now, after[TURNS + 1]; /* [t]: when turn t + 1 began */
    uint64_t next;
    uint32_t turns;
    int window_of[TURNS + 1]; /* what was saved last for this turn */
    int windows;
    struct journal_batch b;
} past;

static void said(enum journal_kind kind, uint32_t turn, uint64_t artifact, uint32_t results)
{
    char text[32];
    snprintf(text, sizeof text, "text %" PRIu64, past.next);
    struct journal_message m = message(kind, turn, text);
    m.artifact = artifact;
    m.results = results;
    past.now.is[past.next] = 1;
    journal_add(&past.b, past.next++, &m);
}

static void marked(enum journal_mark what, uint64_t first, uint64_t last)
{
    struct journal_message m = {.kind = JOURNAL_MARK, .turn = past.turns, .results = what, .first = first,
                                .last = last};
    past.now.is[past.next] = 1;
    journal_add(&past.b, past.next++, &m);
}

static void event(void) { journal_add_event(&past.b, past.next++, "{}", 2); }

static void window_saved(struct store *s)
{
    char text[16];
    past.window_of[past.turns] = ++past.windows;
    int n = snprintf(text, sizeof text, "w%d", past.windows);
    journal_add_window(&past.b, past.turns, text, (size_t)n);
    OK(journal_write(s, &past.b, NULL, &err));
    journal_batch_free(&past.b);
    memcpy(past.b.session, ada, sizeof past.b.session);
}

static void a_turn(void)
{
    struct state before = past.now;
    uint64_t first = past.next;
    bool stays = draw(4) > 0;
    said(JOURNAL_USER, past.turns + 1, 0, 0);
    event();
    if (draw(4) == 0) {
        said(JOURNAL_CALL, past.turns + 1, 0, 1);
        said(JOURNAL_RESULT, past.turns + 1, 1 + draw(3), 0);
    }
    if (stays || draw(2)) said(JOURNAL_ANSWER, past.turns + 1, 0, 0);
    if (!stays) {
        uint64_t last = past.next - 1;
        past.now = before;
        marked(JOURNAL_UNDONE, first, last);
        return;
    }
    past.after[past.turns++] = before;
}

static void an_undo(void)
{
    if (past.turns == 0) return;
    uint64_t first = 1, last = past.next - 1;
    while (past.after[past.turns - 1].is[first] || !past.now.is[first]) first++; /* the first that came since */
    for (uint64_t i = first; i < past.next; i++) CHECK(!past.after[past.turns - 1].is[i]);
    past.now = past.after[--past.turns];
    marked(JOURNAL_UNDONE, first, last);
}

static void a_pin(void) { said(draw(2) ? JOURNAL_PIN : JOURNAL_SYSTEM, past.turns, 0, 0); }

static void an_unpin(void)
{
    for (uint64_t i = 1 + draw(past.next); i < past.next; i++)
        if (past.now.is[i] == 1) {
            marked(draw(2) ? JOURNAL_UNPINNED : JOURNAL_UNCOMPACTED, i, i);
            past.now.is[i] = 2;
            return;
        }
}

struct seen {
    const struct state *expected;
    struct journal_spans gone, out;
    uint64_t upto;
};

static bool look(void *self, uint64_t number, const struct journal_message *m)
{
    struct seen *v = self;
    char text[32];
    uint8_t is = journal_span_has(&v->gone, number) ? 0 : journal_span_has(&v->out, number) ? 2 : 1;
    (void)m;
    if (is != v->expected->is[number])
        check_fail(__FILE__, __LINE__, "number %" PRIu64 " is %d, not %d", number, is, v->expected->is[number]);
    snprintf(text, sizeof text, "text %" PRIu64, number);
    if (m->kind != JOURNAL_MARK) CHECK(m->len == strlen(text) && memcmp(m->text, text, m->len) == 0);
    v->upto = number;
    return true;
}

/* The session with this id is in the state. */
static void check_state(struct store *s, const uint8_t *id, const struct state *expected, uint64_t next)
{
    struct seen v = {.expected = expected};
    const struct journal_visit visit = {.message = look, .self = &v};
    OK(journal_out(s, id, 0, next, 1u << JOURNAL_UNDONE, &v.gone, &err));
    OK(journal_out(s, id, 0, next, ~0u, &v.out, &err));
    OK(journal_each(s, id, 0, &visit, &err));
    uint64_t last = next - 1;
    while (last > 0 && !expected->is[last]) last--;
    for (uint64_t i = v.upto + 1; i < NUMBERS; i++) CHECK(!expected->is[i]); /* nothing lacks */
    CHECK(v.upto >= last);
    journal_span_free(&v.gone);
    journal_span_free(&v.out);
}

static void check_windows(struct store *s, const uint8_t *id, uint32_t turn)
{
    for (uint32_t t = 0; t <= turn; t++) {
        struct buf w = {0}, was = {0};
        int rc = journal_window(s, id, t, &w, &err), before = journal_window(s, ada, t, &was, &err);
        bool kept = turn - t < JOURNAL_SLOTS && before == 0;
        CHECK_EQ(rc, kept ? 0 : STORE_NOT_FOUND);
        if (kept) CHECK(w.len == was.len && memcmp(w.data, was.data, w.len) == 0);
        buf_free(&w);
        buf_free(&was);
    }
}

static void check_forks(struct store *s)
{
    for (uint32_t turn = 0; turn <= past.turns; turn++) {
        struct journal_fork f = {.turn = turn, .time_ms = 1000 + turn};
        struct journal_head h;
        memcpy(f.from, ada, sizeof f.from);
        OK(journal_fork(s, &f, &err));
        OK(journal_head(s, f.to, &h, &err));
        CHECK(h.turns == turn && h.parent_turn == turn && memcmp(h.parent, ada, sizeof h.parent) == 0);
        CHECK(h.updated_ms == 1000 + turn && h.created_ms == 5 && strcmp(h.title, "t") == 0);
        CHECK(h.next <= past.next);
        check_state(s, f.to, turn < past.turns ? &past.after[turn] : &past.now, h.next);
        check_windows(s, f.to, turn);
        OK(journal_find(s, "last", &h, &err));
        CHECK_MEM(h.id, f.to, sizeof h.id);
    }
}

TEST(a_copy_has_what_was_there_after_its_turn_and_nothing_else)
{
    for (int round = 0; round < 6; round++) {
        struct store *s = open_at(fresh_dir());
        int steps = round < 2 ? 12 : 60;
        past = (struct past){.next = 1};
        memcpy(past.b.session, ada, sizeof past.b.session);
        event();
        for (int i = 0; i < steps; i++) {
            switch (draw(6)) {
            case 0: an_undo(); break;
            case 1: a_pin(); break;
            case 2: an_unpin(); break;
            default: a_turn(); break;
            }
            window_saved(s);
            CHECK(past.next < NUMBERS - 20 && past.turns < TURNS);
        }
        struct journal_head h = head_of(ada, "t", 900);
        h.next = past.next;
        h.turns = past.turns;
        write_head(s, &h);
        check_state(s, ada, &past.now, past.next);
        check_forks(s);
        struct journal_fork f = {.turn = past.turns + 1};
        memcpy(f.from, ada, sizeof f.from);
        CHECK_EQ(journal_fork(s, &f, &err), STORE_NOT_FOUND);
        memcpy(f.from, bob, sizeof f.from);
        CHECK_EQ(journal_fork(s, &f, &err), STORE_NOT_FOUND);
        journal_batch_free(&past.b);
        store_close(s);
    }
}

/* A mark that was taken back with its turn counts for nothing: the pin is in again. */
TEST(a_mark_that_was_undone_with_its_turn_does_not_count)
{
    struct store *s = open_at(fresh_dir());
    struct journal_batch b = batch_of(ada);
    struct journal_spans all = {0}, undone = {0}, late = {0};
    struct journal_message pin = message(JOURNAL_PIN, 0, "p"), user = message(JOURNAL_USER, 1, "u");
    struct journal_message unpin = {.kind = JOURNAL_MARK, .results = JOURNAL_UNPINNED, .first = 1, .last = 1};
    struct journal_message undo = {.kind = JOURNAL_MARK, .results = JOURNAL_UNDONE, .first = 2, .last = 3};
    journal_add(&b, 1, &pin);
    journal_add(&b, 2, &user);
    journal_add(&b, 3, &unpin);
    journal_add(&b, 4, &undo);
    write_batch(s, &b);
    OK(journal_out(s, ada, 0, 3, ~0u, &late, &err));
    CHECK(journal_span_has(&late, 1) && !journal_span_has(&late, 2));
    OK(journal_out(s, ada, 0, 9, ~0u, &all, &err));
    CHECK(!journal_span_has(&all, 1) && journal_span_has(&all, 2) && journal_span_has(&all, 3));
    OK(journal_out(s, ada, 0, 3, 1u << JOURNAL_UNDONE, &undone, &err));
    CHECK_EQ(undone.n, 0);
    journal_span_free(&all);
    journal_span_free(&undone);
    journal_span_free(&late);
    store_close(s);
}

/* Mark by mark from the last to the first, with a flag for every number. */
TEST(marks_take_out_what_a_list_of_flags_says)
{
    enum { MANY = 200 };
    for (int round = 0; round < 500; round++) {
        struct journal_seen seen[MANY];
        struct journal_spans out = {0};
        bool gone[MANY] = {0}, undone[MANY] = {0};
        size_t n = 0;
        for (uint64_t k = 2; k < MANY; k++) {
            uint64_t last = 1 + draw(k - 1), most = draw(3) ? 6 : MANY;
            uint64_t first = last - draw(MIN(last, most));
            enum journal_mark what = 1 + (enum journal_mark)draw(JOURNAL_MARKS - 1);
            if (draw(3) == 0) seen[n++] = (struct journal_seen){k, {first, last}, what};
        }
        const unsigned marks = round % 2 ? ~0u : 1u << JOURNAL_UNDONE;
        journal_span_add(&out, 7, 9); /* as if it was there before */
        for (uint64_t k = 7; k <= 9; k++) gone[k] = true;
        CHECK_EQ(journal_marks_out(seen, n, marks, &out), 0);
        for (size_t i = n; i-- > 0;) {
            for (uint64_t k = seen[i].span.first; k <= seen[i].span.last && !undone[seen[i].number]; k++)
                gone[k] |= (marks >> seen[i].what & 1) != 0;
            for (uint64_t k = seen[i].span.first; k <= seen[i].span.last && !undone[seen[i].number]; k++)
                undone[k] |= seen[i].what == JOURNAL_UNDONE;
        }
        for (uint64_t k = 0; k < MANY; k++) CHECK_EQ(journal_span_has(&out, k), gone[k]);
        for (size_t k = 1; k < out.n; k++) CHECK(out.span[k - 1].last < out.span[k].first);
        journal_span_free(&out);
    }
}

/* A file that somebody made: were each mark put into a list that is moved for it, this would take minutes. */
TEST(half_a_million_marks_about_one_number_each_are_read_at_once)
{
    enum { MARKS = 1 << 19 };
    struct journal_seen *seen = calloc(MARKS, sizeof *seen);
    struct journal_spans out = {0}, copy = {0};
    CHECK(seen);
    for (int down = 0; down < 2; down++) {
        for (uint64_t i = 0; i < MARKS; i++) {
            uint64_t about = 1 + 2 * (down ? MARKS - i : i);
            seen[i] = (struct journal_seen){4 * MARKS + i, {about, about}, JOURNAL_UNDONE};
        }
        CHECK_EQ(journal_marks_out(seen, MARKS, ~0u, &out), 0);
        CHECK_EQ(out.n, MARKS + (size_t)down); /* the one about 1 is not among the second */
    }
    CHECK(journal_span_has(&out, 1) && !journal_span_has(&out, 2) && journal_span_has(&out, 2 * MARKS + 1));
    for (size_t i = 0; i < out.n; i++) journal_span_add(&copy, out.span[i].first, out.span[i].last);
    CHECK_EQ(copy.n, out.n);
    for (uint64_t i = 0; i < MARKS; i++) /* each takes back the one before it, so that every other one stands */
        seen[i] = (struct journal_seen){2 + i, {1 + i, 1 + i}, JOURNAL_UNDONE};
    journal_span_free(&out);
    CHECK_EQ(journal_marks_out(seen, MARKS, ~0u, &out), 0);
    CHECK_EQ(out.n, MARKS / 2);
    for (uint64_t i = 0; i < MARKS; i++) /* each takes back all that came before */
        seen[i] = (struct journal_seen){2 + i, {1, 1 + i}, JOURNAL_UNDONE};
    journal_span_free(&out);
    CHECK_EQ(journal_marks_out(seen, MARKS, ~0u, &out), 0);
    CHECK_EQ(out.n, 1);
    journal_span_free(&out);
    journal_span_free(&copy);
    free(seen);
}

TEST(a_copy_is_made_in_parts_with_its_artifacts)
{
    enum { BIG = 9 << 20, TEXT = 300000, MESSAGES = 30 };
    struct store *s = open_at(fresh_dir());
    struct journal_batch b = batch_of(ada);
    struct buf whole = {0}, copy = {0};
    struct journal_head h = head_of(ada, "t", 1);
    char *text = malloc(TEXT);
    CHECK(text);
    for (int i = 0; i < BIG / 8; i++) {
        uint64_t r = draw(UINT64_MAX);
        buf_put(&whole, &r, sizeof r);
    }
    buf_put(&copy, whole.data, whole.len);
    journal_add_artifact(&b, 1, &copy);
    CHECK(!copy.data);
    buf_puts(&copy, "small");
    journal_add_artifact(&b, 2, &copy);
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        memset(text, 'a' + (int)(i % 26), TEXT);
        struct journal_message m = {.kind = i % 10 == 5 ? JOURNAL_RESULT : JOURNAL_USER, .turn = 1, .text = text,
                                    .len = TEXT};
        if (m.kind == JOURNAL_RESULT) m.artifact = i == 5 ? 1 : i == 15 ? 2 : 77; /* one that is lost */
        journal_add(&b, i, &m);
    }
    journal_add_head(&b, &h);
    write_batch(s, &b);
    struct journal_fork f = {.turn = 1};
    memcpy(f.from, ada, sizeof f.from);
    OK(journal_fork(s, &f, &err));
    OK(store_delete_session(s, ada, &err)); /* it stands alone */
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        struct journal_message m;
        struct buf got = {0};
        OK(journal_get(s, f.to, i, &m, &got, &err));
        CHECK(m.len == TEXT && m.text[0] == 'a' + (char)(i % 26) && m.text[TEXT - 1] == m.text[0]);
        buf_free(&got);
    }
    OK(store_read_artifact(s, f.to, 1, 0, SIZE_MAX, &copy, &err));
    CHECK(copy.len == whole.len && memcmp(copy.data, whole.data, whole.len) == 0);
    copy.len = 0;
    OK(store_read_artifact(s, f.to, 2, 0, SIZE_MAX, &copy, &err));
    CHECK(copy.len == 5 && memcmp(copy.data, "small", 5) == 0);
    CHECK_EQ(store_read_artifact(s, f.to, 77, 0, SIZE_MAX, &copy, &err), STORE_NOT_FOUND);
    buf_free(&whole);
    buf_free(&copy);
    free(text);
    store_close(s);
}

/* More of them than one part remembers. */
TEST(a_copy_has_the_artifacts_of_many_results)
{
    enum { RESULTS = 600 };
    struct store *s = open_at(fresh_dir());
    struct journal_batch b = batch_of(ada);
    struct journal_head h = head_of(ada, "t", 1);
    for (uint64_t i = 1; i <= RESULTS; i++) {
        struct journal_message m = message(JOURNAL_RESULT, 1, "result");
        m.artifact = i;
        journal_add(&b, i, &m);
        struct buf bytes = {0};
        buf_printf(&bytes, "artifact %d", (int)i);
        if (i % 100 == 57) journal_add_artifact(&b, i, &bytes);
        buf_free(&bytes);
    }
    journal_add_head(&b, &h);
    write_batch(s, &b);
    struct journal_fork f = {.turn = 1};
    memcpy(f.from, ada, sizeof f.from);
    OK(journal_fork(s, &f, &err));
    for (uint64_t i = 57; i <= RESULTS; i += 100) {
        struct buf got = {0};
        char text[32];
        snprintf(text, sizeof text, "artifact %d", (int)i);
        OK(store_read_artifact(s, f.to, i, 0, SIZE_MAX, &got, &err));
        CHECK_STR(got.data, text);
        buf_free(&got);
    }
    store_close(s);
}

TEST(what_is_damaged_is_not_in_a_copy_and_keeps_no_turn_from_being_copied)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct journal_batch b = batch_of(ada);
    struct journal_head h = head_of(ada, "t", 1);
    struct buf bad = {0}, seen = {0};
    h.turns = 2;
    for (uint64_t i = 1; i <= 4; i++) {
        struct journal_message m = message(i % 2 ? JOURNAL_USER : JOURNAL_ANSWER, (uint32_t)(i + 1) / 2, "text");
        journal_add(&b, i, &m);
    }
    journal_add_head(&b, &h);
    write_batch(s, &b);
    store_close(s);
    struct store_key four = store_key_message(ada, 4);
    CHECK_EQ(rec_encode(REC_MESSAGE, four.byte, four.n, "whatever", 8, &bad), 0);
    bad.data[REC_HEADER] ^= 1;
    plant(dir, "journal", &four, bad.data, bad.len);
    s = open_at(dir);
    for (uint32_t turn = 1; turn <= 2; turn++) {
        struct journal_fork f = {.turn = turn};
        memcpy(f.from, ada, sizeof f.from);
        OK(journal_fork(s, &f, &err));
        seen.len = 0;
        OK(journal_each(s, f.to, 0, &(struct journal_visit){note_message, note_event, note_line, &seen}, &err));
        CHECK_STR(seen.data, turn == 1 ? "1:text\n2:text\n" : "1:text\n2:text\n3:text\n");
    }
    buf_free(&seen);
    buf_free(&bad);
    store_close(s);
}

CHECK_MAIN
