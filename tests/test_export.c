/* A session as a text and back: what is in it, what is left out, and that nothing changes on the way. */
#include "app/sessions.h"
#include "tests/export_rig.h"
#include <malloc.h>

/* ---------------------------------------------------------------- what an export is */

TEST(export_is_the_lines_that_its_header_draws)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s);
    struct buf out = {0};
    export_to(s, &h, EXPORT_JSONL, true, &out);
    check_has(&out, "{\"plimsoll_session\":1,\"id\":\"6164612773207365737369");
    check_has(&out, "\"title\":\"Ships\",\"model\":\"tiny\",\"created\":1000,\"updated\":2000,\"turns\":2,"
                    "\"parent\":\"626f");
    check_has(&out, "\"parent_turn\":1}\n{\"number\":0,\"kind\":\"event\",\"event\":{\"event\":\"session_open\","
                    "\"temperature\":0.7}}\n");
    check_has(&out, "{\"number\":4,\"kind\":\"result\",\"turn\":1,\"time\":1004,\"artifact\":1,\"text\":");
    check_has(&out, "{\"number\":8,\"kind\":\"mark\",\"turn\":1,\"time\":1008,\"first\":6,\"last\":7,\"results\":1,"
                    "\"text\":\"\"}\n");
    check_has(&out, "\"flags\":2,\"first\":2,\"last\":5,\"results\":4,\"text\":\"it was read\"}\n");
    check_has(&out, "\"kind\":\"pin\",\"turn\":1,\"time\":1010,\"base64\":\"/w==\"}\n");
    check_has(&out, "{\"artifact\":1,\"offset\":0,\"bytes\":35000,\"text\":\"na\xc3\xafve ");
    check_has(&out, "{\"artifact\":1,\"offset\":16000,");
    check_hasnt(&out, "\"offset\":32000,\"bytes\":35000,\"base64\"");
    check_has(&out, "\n{\"end\":{\"records\":12,\"artifacts\":1}}\n");
    CHECK_EQ(lost.len, 0);
    buf_free(&out);
    store_close(s);
}

static struct journal_head in_run(struct store *s, const char *id, const char *agent)
{
    uint8_t of[STORE_SESSION_ID] = {0};
    memcpy(of, id, strlen(id));
    struct journal_head h = head_of(of, 2, 1);
    struct journal_batch b = {0};
    memcpy(h.run.id, "the run", 7);
    snprintf(h.run.crew, sizeof h.run.crew, "notes `1`");
    snprintf(h.run.agent, sizeof h.run.agent, "%s", agent);
    h.updated_ms += *agent;
    add(&b, 1, (struct journal_message){.kind = JOURNAL_USER, .turn = 1}, "hello");
    write_all(s, &b, &h);
    return h;
}

#define ANN "616e6e00000000000000000000000000"
#define BOB "626f6200000000000000000000000000"
#define RUN "7468652072756e000000000000000000"

/* Of which run it is, of which crew, and who else is; a copy in another store, or in this, is of none. */
TEST(export_of_a_run_s_session_names_the_run_and_its_members)
{
    struct store *s = open_at(fresh_dir());
    const struct journal_head heads[] = {in_run(s, "ann", "ann"), in_run(s, "bob", "bob/3"), in_run(s, "the run", "")};
    static const char *const says[] = {"of ` ann ` in run " RUN " of the crew `` notes `1` ``; its members: "
                                       "` bob/3 ` (" BOB "), ` ann ` (" ANN ")\n\n",
                                       "of ` bob/3 ` in run " RUN " of", "the record of run " RUN " of the crew "};
    struct buf out = {0};
    struct journal_head copy, h;
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        char want[300];
        export_to(s, &heads[i], EXPORT_MARKDOWN, false, &out);
        check_has(&out, says[i]);
        export_to(s, &heads[i], EXPORT_JSONL, false, &out);
        snprintf(want, sizeof want, "\"run\":{\"crew\":\"notes `1`\",\"agent\":\"%s\",\"id\":\"" RUN "\",\"members\":["
                 "{\"agent\":\"bob/3\",\"session\":\"" BOB "\"},{\"agent\":\"ann\",\"session\":\"" ANN "\"}]}}\n",
                 heads[i].run.agent);
        check_has(&out, want);
        OK(import(s, out.data, out.len, 100, &copy));
        CHECK_STR(copy.run.agent, heads[i].run.agent);
        CHECK_STR(copy.run.crew, "notes `1`");
        OK(journal_head(s, copy.id, &h, &err));
        CHECK(!journal_in_run(&h) && !*h.run.crew && !*h.run.agent);
    }
    h = small(s);
    export_to(s, &h, EXPORT_JSONL, false, &out);
    check_hasnt(&out, "\"run\"");
    buf_free(&out);
    store_close(s);
}

TEST(export_leaves_out_what_was_taken_back)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s);
    struct buf out = {0};
    for (int format = EXPORT_JSONL; format <= EXPORT_TEXT; format++) {
        export_to(s, &h, (enum export_format)format, false, &out);
        check_hasnt(&out, "secret");
        check_hasnt(&out, "hidden");
        check_hasnt(&out, "mark");
        check_has(&out, "be kind");
        export_to(s, &h, (enum export_format)format, true, &out);
        check_has(&out, "secret");
        check_has(&out, "mark");
    }
    buf_free(&out);
    store_close(s);
}

/* A refused /edit gives its turn back, and /undo the pin that was unpinned in it: the mark is then out, not what it
 * spoke of. */
TEST(export_has_what_a_mark_took_back_that_was_taken_back)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = head_of(ada, 10, 2);
    struct journal_batch b = {0};
    struct buf out = {0};
    add(&b, 1, (struct journal_message){.kind = JOURNAL_USER, .turn = 1}, "where is it");
    add(&b, 2, (struct journal_message){.kind = JOURNAL_ANSWER, .turn = 1}, "on an island");
    add(&b, 3, (struct journal_message){.kind = JOURNAL_MARK, .first = 1, .last = 2, .results = JOURNAL_UNDONE}, "");
    add(&b, 4, (struct journal_message){.kind = JOURNAL_MARK, .first = 3, .last = 3, .results = JOURNAL_UNDONE}, "");
    add(&b, 5, (struct journal_message){.kind = JOURNAL_PIN, .turn = 1}, "keep this");
    add(&b, 6, (struct journal_message){.kind = JOURNAL_USER, .turn = 2}, "and now");
    add(&b, 7, (struct journal_message){.kind = JOURNAL_ANSWER, .turn = 2}, "nothing");
    add(&b, 8, (struct journal_message){.kind = JOURNAL_MARK, .first = 5, .last = 5, .results = JOURNAL_UNPINNED}, "");
    add(&b, 9, (struct journal_message){.kind = JOURNAL_MARK, .first = 6, .last = 8, .results = JOURNAL_UNDONE}, "");
    write_all(s, &b, &h);
    for (int format = EXPORT_JSONL; format <= EXPORT_TEXT; format++) {
        export_to(s, &h, (enum export_format)format, false, &out);
        check_has(&out, "where is it");
        check_has(&out, "on an island");
        check_has(&out, "keep this");
        check_hasnt(&out, "and now");
        check_hasnt(&out, "nothing");
        check_hasnt(&out, "mark");
    }
    buf_free(&out);
    store_close(s);
}

/* A session that another process goes on with is exported as its head says. */
TEST(export_ends_where_the_head_does)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s);
    struct journal_batch b = {0};
    struct buf out = {0}, later = {0};
    export_to(s, &h, EXPORT_JSONL, false, &out);
    add(&b, 12, (struct journal_message){.kind = JOURNAL_USER, .turn = 3}, "later");
    add(&b, 13, (struct journal_message){.kind = JOURNAL_MARK, .first = 2, .last = 11, .results = 1}, "");
    memcpy(b.session, h.id, sizeof b.session);
    OK(journal_write(s, &b, NULL, &err));
    journal_batch_free(&b);
    export_to(s, &h, EXPORT_JSONL, false, &later);
    CHECK_STR(out.data, later.data);
    buf_free(&out);
    buf_free(&later);
    store_close(s);
}

static int patience; /* writes that a sink takes before it has enough */

static bool few(void *self, const char *bytes, size_t n)
{
    return write_buf(self, bytes, n) && --patience > 0;
}

TEST(export_of_more_than_import_takes_is_told)
{
    const struct export_options lines = {.format = EXPORT_JSONL}, words = {.format = EXPORT_MARKDOWN};
    CHECK(!sessions_too_large(&lines, IMPORT_MOST));
    CHECK(sessions_too_large(&lines, IMPORT_MOST + 1));
    CHECK(!sessions_too_large(&words, UINT64_MAX));
}

TEST(export_stops_when_the_sink_has_enough)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = head_of(ada, 100, 1);
    struct journal_batch b = {0};
    struct buf out = {0}, text = {0};
    for (int i = 0; i < 60000; i++) buf_puts(&text, "word ");
    for (uint64_t i = 1; i < 100; i++) add(&b, i, (struct journal_message){.kind = JOURNAL_USER}, text.data);
    write_all(s, &b, &h);
    patience = 3;
    const struct export_sink sink = {few, missing, &out};
    OK(export_session(s, &h, &(struct export_options){0}, &sink, &err));
    CHECK_EQ(patience, 0);
    CHECK(out.len < 1 << 19);
    buf_free(&text);
    buf_free(&out);
    store_close(s);
}

/* ---------------------------------------------------------------- words */

TEST(export_markdown_keeps_texts_within_their_fences)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = head_of(ada, 3, 1);
    struct journal_batch b = {0};
    struct buf out = {0};
    snprintf(h.title, sizeof h.title, "a `code` <b>");
    add(&b, 1, (struct journal_message){.kind = JOURNAL_USER, .turn = 1}, "x\n`````\n# mine\n```");
    add(&b, 2, (struct journal_message){.kind = JOURNAL_ANSWER, .turn = 1}, "plain");
    write_all(s, &b, &h);
    export_to(s, &h, EXPORT_MARKDOWN, false, &out);
    check_has(&out, "# `` a `code` <b> ``\n\nsession 6164");
    check_has(&out, "1970-01-01 00:00 UTC, 1 turn, ` tiny `\n\n## Turn 1\n\n**user** (m1)\n\n"
                    "``````\nx\n`````\n# mine\n```\n``````\n\n**answer** (m2)\n\n```\nplain\n```\n\n");
    buf_free(&out);
    store_close(s);
}

TEST(export_words_name_artifacts_summaries_and_pins)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s);
    struct buf out = {0};
    export_to(s, &h, EXPORT_MARKDOWN, true, &out);
    check_has(&out, "**result** (m4; the whole is artifact 1, 35000 bytes)");
    check_has(&out, "**answer** (m5, cut)");
    check_has(&out, "**user** (m6, taken back)");
    check_has(&out, "**mark**: m6-7 taken back (m8)\n\n");
    check_has(&out, "a copy of 626f6227");
    export_to(s, &h, EXPORT_TEXT, false, &out);
    check_has(&out, "Ships\nsession 6164");
    check_has(&out, "\nsystem (m1)\n  be kind\n\n--- turn 1\n\nuser (m2)\n  read it\n\ncall with 1 result (m3)\n");
    check_has(&out, "\n  line\n  ```\n  end\n");
    check_has(&out, "\nsummary of m2-5 (m9, an extract)\n  it was read\n");
    check_has(&out, "\npin (m10)\n  \xff\n");
    buf_free(&out);
    store_close(s);
}

/* ---------------------------------------------------------------- damage */

TEST(export_names_what_is_damaged_and_goes_on)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct journal_head h = small(s), copy;
    struct buf out = {0};
    struct store_key message = store_key_message(ada, 3), chunk = store_key_chunk(ada, 1, 1);
    store_begin(s, STORE_JOURNAL);
    OK(store_remove(s, &chunk, &err));
    OK(store_put(s, &message, REC_MESSAGE, "no head", 7, &err));
    message = store_key_message(ada, 0);
    OK(store_put(s, &message, REC_EVENT, "{\"a\":", 5, &err));
    OK(store_commit(s, &err));
    export_to(s, &h, EXPORT_JSONL, true, &out);
    check_has(&lost, "message 0 of session 6164");
    check_has(&lost, "its JSON is none");
    check_has(&lost, "message 3 of session 6164");
    check_has(&lost, "artifact 1 is damaged: a chunk of it is missing");
    check_has(&out, "{\"artifact\":1,\"lost\":true}\n{\"end\":{\"records\":10,\"artifacts\":1}}\n");
    check_hasnt(&out, "offset");
    OK(import(s, out.data, out.len, 1000, &copy));
    export_to(s, &h, EXPORT_MARKDOWN, true, &out);
    check_has(&out, "artifact 1, 35000 bytes");
    export_to(s, &copy, EXPORT_MARKDOWN, true, &out);
    check_has(&out, "the whole, artifact 1, is lost");
    buf_free(&out);
    store_close(s);
}

/* ---------------------------------------------------------------- there and back */

static const char *const hostile[] = {
    "", "\n", "\\", "\"", "```", "\xf0\x9f\x9a\xa2 ships", "\xe2\x80\xae right to left", "\x1b[2J", "\xc3", "\xff\xfe",
    "\xed\xa0\x80", "{\"end\":{\"records\":0,\"artifacts\":0}}\n", "</text>", "a\r\nb\rc", "\x7f", "\xc2\x9bm",
};

/* A text of about n bytes of everything, with NULs. */
static struct buf text_of(size_t n)
{
    struct buf b = {0};
    bool clean = draw(2);
    while (b.len < n) {
        const char *part = hostile[draw(COUNT_OF(hostile))];
        if (clean) part = draw(2) ? "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xa2 " : "word\t";
        buf_puts(&b, part);
        if (draw(9) == 0) buf_put(&b, "\0", 1);
        if (!clean && draw(50) == 0) buf_put(&b, (char[]){(char)draw(256)}, 1);
    }
    return b;
}

static size_t size_of(void)
{
    switch (draw(150)) {
    case 0: return 900000 + draw(400000);
    case 1: return 2 * EXPORT_PIECE + draw(9);
    case 2: return 0;
    default: return draw(300);
    }
}

static struct journal_message message_of(uint64_t number)
{
    struct journal_message m = {.kind = (enum journal_kind)(1 + draw(JOURNAL_KINDS - 1)),
                                .flags = (unsigned)draw(JOURNAL_FLAGS + 1), .turn = (uint32_t)draw(50)};
    if (m.kind == JOURNAL_SUMMARY || m.kind == JOURNAL_MARK) {
        if (number < 2) m.kind = JOURNAL_USER;
        else m.last = 1 + draw(number - 1);
        m.first = m.last > 0 ? 1 + draw(m.last) : 0;
    }
    if (m.kind == JOURNAL_SUMMARY) m.results = 1 + (uint32_t)draw(9);
    if (m.kind == JOURNAL_MARK) m.results = 1 + (uint32_t)draw(3);
    if (m.kind == JOURNAL_CALL) m.results = 1 + (uint32_t)draw(5);
    return m;
}

static struct journal_head any_session(struct store *s)
{
    struct journal_head h = head_of(ada, 0, 0);
    struct journal_batch b = {0};
    uint64_t number = 0, artifacts = 1, n = 1 + draw(600); /* of which some make more than one part */
    h.id[15] = (uint8_t)draw(256);
    for (uint64_t i = 0; i < n; i++) {
        char event[80];
        struct journal_message m = message_of(number);
        struct buf text = text_of(size_of()), whole = {0};
        int len = snprintf(event, sizeof event, "{\"event\":\"x\",\"seq\":%d,\"time\":%.15g}", (int)i,
                           (double)draw(1000000) / 777);
        if (m.kind == JOURNAL_DOCUMENT || (m.kind == JOURNAL_RESULT && draw(3) == 0)) {
            m.artifact = artifacts;
            artifacts += 1 + draw(3);
            whole = text_of(draw(4) ? draw(40000) : draw(3) * STORE_CHUNK);
            if (draw(9) == 0) whole.len = 0;
            journal_add_artifact(&b, m.artifact, &whole);
        }
        m.len = text.len;
        if (number == 0 || draw(4) == 0) journal_add_event(&b, number, event, (size_t)len);
        else journal_add(&b, number, &(struct journal_message){
            .kind = m.kind, .flags = m.flags, .turn = m.turn, .first = m.first, .last = m.last, .results = m.results,
            .artifact = m.artifact, .text = text.data ? text.data : "", .len = text.len});
        buf_free(&text);
        number += draw(9) ? 1 : 2;
    }
    h.next = number;
    h.artifacts = artifacts;
    h.turns = (uint32_t)draw(number);
    write_all(s, &b, &h);
    return h;
}

TEST(export_import_export_changes_nothing)
{
    struct store *s = open_at(fresh_dir());
    for (int i = 0; i < 12; i++) {
        struct journal_head h = any_session(s), copy;
        struct buf first = {0}, second = {0}, packed;
        bool all = i % 2;
        export_to(s, &h, EXPORT_JSONL, all, &first);
        CHECK_EQ(lost.len, 0);
        packed = pack(&first, 1 + i % 6);
        const struct buf *fed = i % 3 ? &packed : &first;
        OK(import(s, fed->data, fed->len, i == 1 ? 3 : 100000, &copy));
        CHECK(memcmp(copy.id, h.id, sizeof h.id) != 0);
        CHECK_STR(copy.title, h.title);
        CHECK_EQ(copy.turns, h.turns);
        CHECK(copy.updated_ms > h.updated_ms && copy.next <= h.next);
        struct journal_head stored;
        OK(journal_head(s, copy.id, &stored, &err));
        CHECK_EQ(stored.next, copy.next);
        export_to(s, &stored, EXPORT_JSONL, all, &second);
        check_same(&first, &second);
        buf_free(&first);
        buf_free(&second);
        buf_free(&packed);
    }
    store_close(s);
}

/* ---------------------------------------------------------------- memory */

struct counting {
    struct import *im;
    size_t most, bytes;
};

static bool count(void *self, const char *bytes, size_t n)
{
    struct counting *c = self;
    c->bytes += n;
    CHECK_EQ(import_feed(c->im, bytes, n, &err), 0);
    c->most = MAX(c->most, mallinfo2().uordblks + mallinfo2().hblkhd);
    return true;
}

/* 60 MiB of session go by in a few MiB of memory.  (A sanitizer's allocator does not tell: then 0 is compared.) */
TEST(export_and_import_are_streams)
{
    struct store *from = open_at(fresh_dir()), *to = open_at(fresh_dir());
    struct journal_head h = head_of(ada, 1, 1), copy;
    struct journal_batch b = {0};
    struct counting c = {0};
    struct buf text = text_of(50000), noise = {0};
    while (noise.len < 50000) buf_put(&noise, (char[]){(char)draw(256)}, 1); /* no compression makes it small */
    for (int part = 0; part < 10; part++) {
        for (int i = 0; i < 60; i++)
            add(&b, h.next++, (struct journal_message){.kind = JOURNAL_RESULT, .artifact = h.artifacts++}, text.data);
        for (uint64_t a = h.artifacts - 60; a < h.artifacts; a++) {
            struct buf copied = {0};
            buf_put(&copied, noise.data, noise.len);
            journal_add_artifact(&b, a, &copied);
        }
        write_all(from, &b, &h);
    }
    buf_free(&text);
    buf_free(&noise);
    const struct export_sink sink = {count, missing, &c};
    OK(import_open(&c.im, to, &err));
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    OK(export_session(from, &h, &(struct export_options){0}, &sink, &err));
    CHECK(c.bytes > 30 << 20);
    CHECK(c.most < before + (24 << 20));
    OK(import_end(c.im, &copy, &err));
    import_close(c.im);
    CHECK_EQ(records(to), records(from) + 1); /* that there is no number 0 */
    store_close(from);
    store_close(to);
}

CHECK_MAIN
