/* test_cli_store_dump.c - `plimsoll store dump`: every record is a line of JSON, nothing that a record says is
 * believed, and a reader may be slow, gone or a terminal. */
#include "tests/cli_store_rig.h"

/* ---------------------------------------------------------------- lines */

static json_t *lines; /* of the last dump, as an array */

static void read_lines(void)
{
    json_decref(lines);
    lines = json_array();
    const char *all = c.out_text.data + c.out_text.len; /* strchr() would measure the rest at each line, under ASan */
    for (char *at = c.out_text.data, *end; at && at < all; at = end + 1) {
        end = memchr(at, '\n', (size_t)(all - at));
        CHECK(end);
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        if (!json_is_object(line)) check_fail(__FILE__, __LINE__, "no JSON: %.*s", (int)(end - at), at);
        json_array_append_new(lines, line);
    }
}

static const char *text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text ? text : "(none)";
}

/* The one line that has these values; what is NULL or under 0 need not fit. */
static json_t *find(const char *kind, const char *of, long long number)
{
    static const char *const numbers[] = {"number", "artifact"};
    json_t *line, *found = NULL;
    size_t i;
    json_array_foreach(lines, i, line) {
        if (strcmp(text_of(line, "kind"), kind) != 0) continue;
        if (of && strncmp(text_of(line, "session"), of, strlen(of)) != 0) continue;
        bool fits = number < 0;
        for (int k = 0; k < 2; k++) {
            json_t *value = json_object_get(line, numbers[k]);
            fits = fits || (value && json_integer_value(value) == number);
        }
        if (!fits) continue;
        CHECK(!found);
        found = line;
    }
    if (!found) check_fail(__FILE__, __LINE__, "no %s %lld of %s", kind, number, of ? of : "any");
    return found;
}

static json_int_t number_in(const json_t *line, const char *name)
{
    CHECK(json_is_integer(json_object_get(line, name)));
    return json_integer_value(json_object_get(line, name));
}

static void unbase64(const char *text, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(text);
    CHECK(n % 4 == 0);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t bits = 0;
        int pads = 0;
        for (size_t k = 0; k < 4; k++) {
            const char *digit = strchr(digits, text[i + k]);
            pads += text[i + k] == '=';
            CHECK(digit || (i + 4 == n && k >= 2 && text[i + k] == '='));
            bits = bits << 6 | (digit ? (uint32_t)(digit - digits) : 0);
        }
        const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        buf_put(out, bytes, (size_t)(3 - pads));
    }
}

TEST(cli_store_dump_has_a_line_for_each_record)
{
    static const char ada_id[] = "61646127732073657373696f6e2e2e00";
    const char *dir = a_store();
    CHECK_EQ(STORE("dump", "--store", dir), 0);
    CHECK_STR(complained(), "");
    read_lines();
    CHECK_EQ(json_array_size(lines), 23);
    json_t *hello = find("message", ada_id, 0);
    CHECK_STR(text_of(hello, "part"), "journal");
    CHECK_STR(text_of(hello, "text"), "hello");
    CHECK_EQ(number_in(hello, "length"), 5);
    CHECK_STR(text_of(find("message", ada_id, 1), "text"), HOSTILE);
    CHECK_STR(text_of(find("message", "626f62", 0), "text"), "an orphan");
    CHECK_STR(text_of(find("session", NULL, -1), "text"), "title");
    CHECK_STR(text_of(find("piece", ada_id, -1), "name"), "summary");
    CHECK_STR(text_of(find("piece", ada_id, -1), "text"), "short");
    json_t *event = find("event", ada_id, 2);
    CHECK_STR(text_of(event, "base64"), "AP+A");
    CHECK(!json_object_get(event, "text"));
    CHECK_EQ(number_in(find("artifact", ada_id, 8), "bytes"), BINARY);
    CHECK_EQ(strlen(text_of(find("artifact", ada_id, 8), "crc32c")), 8);
    for (const char *at = said(); *at; at++) CHECK(*at == '\n' || (unsigned char)*at >= 0x20);
    CHECK(!strstr(said(), "\"part\":\"cache\"") && !strstr(said(), "\"kind\":\"bytes\""));
}

TEST(cli_store_dump_of_the_cache_too)
{
    const char *dir = a_store();
    struct buf bytes = {0}, expected = {0};
    CHECK_EQ(STORE("dump", "--cache", "--store", dir), 0);
    read_lines();
    CHECK_EQ(json_array_size(lines), 25);
    json_t *index = json_array_get(lines, 23), *page = json_array_get(lines, 24);
    CHECK_STR(text_of(page, "part"), "cache");
    CHECK_STR(text_of(page, "name_base64"), "awBwYWdl");
    unbase64(text_of(page, "base64"), &bytes);
    binary(&expected);
    CHECK_EQ(bytes.len, 9000);
    CHECK_MEM(bytes.data, expected.data, 9000);
    CHECK_STR(text_of(index, "name"), "Recall");
    CHECK_STR(text_of(index, "text"), "index");
    buf_free(&bytes);
    buf_free(&expected);
}

/* An artifact's pieces put together again; how many there were. */
static int join_pieces(long long artifact, struct buf *out, const char *name)
{
    json_t *line;
    size_t i;
    int n = 0;
    json_array_foreach(lines, i, line) {
        if (strcmp(text_of(line, "kind"), "bytes") != 0 || number_in(line, "artifact") != artifact) continue;
        size_t before = out->len;
        CHECK_EQ(number_in(line, "offset"), before);
        if (strcmp(name, "text") == 0) buf_puts(out, text_of(line, name));
        else unbase64(text_of(line, name), out);
        CHECK_EQ(number_in(line, "length"), out->len - before);
        n++;
    }
    return n;
}

TEST(cli_store_dump_gives_the_bytes_of_artifacts_when_asked)
{
    struct buf text = {0}, bytes = {0}, got = {0};
    CHECK_EQ(STORE("dump", "61", "--artifacts", "--store", a_store()), 0);
    read_lines();
    long_text(&text);
    binary(&bytes);
    CHECK_EQ(join_pieces(7, &got, "text"), 3);
    CHECK_STR(got.data, text.data);
    got.len = 0;
    CHECK_EQ(join_pieces(8, &got, "base64"), 3);
    CHECK_EQ(got.len, bytes.len);
    CHECK_MEM(got.data, bytes.data, got.len);
    buf_free(&text);
    buf_free(&bytes);
    buf_free(&got);
}

/* Each of a session's records, and no other's. */
TEST(cli_store_dump_of_one_session)
{
    const char *dir = a_store();
    json_t *line;
    size_t i;
    CHECK_EQ(STORE("dump", "6164", "--store", dir), 0);
    read_lines();
    CHECK_EQ(json_array_size(lines), 22);
    CHECK_STR(text_of(json_array_get(lines, 0), "kind"), "session");
    json_array_foreach(lines, i, line) CHECK_STR(text_of(line, "session"), "61646127732073657373696f6e2e2e00");
    CHECK_EQ(STORE("dump", "626f", "--store", dir), 0);
    read_lines();
    CHECK_EQ(json_array_size(lines), 1);
}

/* ---------------------------------------------------------------- what is damaged or lies */

TEST(cli_store_dump_says_which_records_are_damaged)
{
    const char *dir = a_store();
    struct store_key odd = {{'z', 0xff}, 2};
    plant_damaged_message(dir);
    plant(dir, "journal", &odd, "", 0);
    CHECK_EQ(STORE("dump", "--store", dir), 1);
    check_complaint("2 damaged, see the lines that say so");
    read_lines();
    CHECK_EQ(json_array_size(lines), 24);
    check_has(said(), "{\"part\":\"journal\",\"session\":\"61646127732073657373696f6e2e2e00\",\"number\":1,"
                      "\"damaged\":\"it is shorter than a header\"}\n");
    check_has(said(), "{\"part\":\"journal\",\"key_base64\":\"ev8=\",\"damaged\":\"it is shorter than a header\"}\n");
    CHECK_EQ(STORE("dump", "62", "--store", dir), 0); /* nothing of this one's is */
}

/* Records that are well as records, and whose heads lie. */
TEST(cli_store_dump_believes_no_size)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_key key;
    uint8_t head[12] = {0};
    struct buf text = {0};
    static const struct { uint64_t id, bytes; uint32_t crc; size_t n; } lies[] = {
        {1, (uint64_t)1 << 30, 0, 12}, {2, UINT64_MAX, 0, 12}, {3, 0, 77, 12}, {4, 0, 0, 12}, {5, 0, 0, 11}};
    store_begin(s, STORE_JOURNAL);
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        put_le(head, lies[i].bytes, 8);
        put_le(head + 8, lies[i].crc, 4);
        key = store_key_artifact(ada, lies[i].id);
        OK(store_put(s, &key, REC_ARTIFACT, head, lies[i].n, &err));
    }
    long_text(&text);
    OK(store_put_artifact(s, bob, 1, text.data, 60000, &err));
    put_le(head, 60000, 8); /* two pieces, and the checksum of other ones */
    put_le(head + 8, 1, 4);
    key = store_key_artifact(bob, 1);
    OK(store_put(s, &key, REC_ARTIFACT, head, sizeof head, &err));
    key = store_key_message(bob, UINT64_MAX);
    OK(store_put(s, &key, REC_MESSAGE, "the last", 8, &err));
    OK(store_commit(s, &err));
    store_close(s);
    CHECK_EQ(STORE("dump", "--artifacts", "--store", dir), 1);
    check_complaint("4 damaged");
    read_lines();
    check_has(said(), "\"artifact\":1,\"offset\":0,\"damaged\":\"artifact 1 is damaged: a chunk of it is missing\"}");
    check_has(said(), "\"artifact\":2,\"offset\":0,\"damaged\":\"artifact 2 is damaged: it claims more than 1 GiB\"}");
    check_has(said(), "\"bytes\":\"18446744073709551615\"");
    check_has(said(), "\"artifact\":3,\"offset\":0,\"damaged\":\"the checksum of all of it does not fit\"}");
    check_has(said(), "\"artifact\":1,\"offset\":60000,\"damaged\":\"the checksum of all of it does not fit\"}");
    check_has(said(), "\"number\":\"18446744073709551615\"");
    check_has(said(), "\"artifact\":5,\"length\":11,\"base64\":");
    buf_free(&text);
}

/* ---------------------------------------------------------------- who reads */

enum { MANY = 3000, FEW = 300, LONG = 10000 };

static const char *a_store_of(uint64_t messages)
{
    static char text[LONG + 1];
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    memset(text, 'l', sizeof text - 1);
    store_begin(s, STORE_JOURNAL);
    for (uint64_t i = 0; i < messages; i++) put_message(s, i % 2 ? ada : bob, i / 2, text);
    OK(store_commit(s, &err));
    store_close(s);
    return dir;
}

static const char *a_large_store(void) { return a_store_of(MANY); } /* several batches of lines */

TEST(cli_store_dump_of_many_records_has_each_once)
{
    const char *dir = a_large_store();
    json_t *line;
    size_t i;
    CHECK_EQ(STORE("dump", "--store", dir), 0);
    read_lines();
    CHECK_EQ(json_array_size(lines), MANY);
    json_array_foreach(lines, i, line) CHECK_EQ(number_in(line, "number"), i % (MANY / 2));
    CHECK_EQ(STORE("dump", "62", "--store", dir), 0);
    read_lines();
    CHECK_EQ(json_array_size(lines), MANY / 2);
}

static void start_dump(const char *dir)
{
    const char *const args[] = {"store", "dump", "--store", dir, NULL};
    child_free(&c);
    child_start(&c, args);
}

TEST(cli_store_dump_ends_quietly_when_its_reader_leaves)
{
    start_dump(a_large_store());
    child_wait_for(&c, "\"number\":3,");
    child_stop_reading(&c);
    CHECK_EQ(child_end(&c), 141);
    CHECK_STR(complained(), "");
}

/* KiB of memory that the child has of its own; files that are mapped do not count. */
static long anonymous_kib(void)
{
    char path[64], line[128];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)c.pid);
    FILE *f = fopen(path, "r");
    while (f && kib < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "RssAnon:", 8) == 0) kib = strtol(line + 8, NULL, 10);
    if (f) fclose(f);
    return kib;
}

/* What a dump has that waits for its reader; much of it is a sanitizer's, where there is one. */
static long waiting_dump_kib(const char *dir)
{
    start_dump(dir);
    child_wait_for(&c, "\"number\":3,");
    usleep(100000); /* the pipe is full */
    long kib = anonymous_kib();
    child_stop_reading(&c);
    CHECK_EQ(child_end(&c), 141);
    return kib;
}

/* While its reader sleeps no transaction is open, the lines to come are not made yet, and a signal ends the wait. */
TEST(cli_store_dump_that_waits_for_its_reader_holds_nothing_and_can_be_interrupted)
{
    long with_few = waiting_dump_kib(a_store_of(FEW));
    const char *dir = a_large_store();
    struct store *s;
    struct store_stat st;
    start_dump(dir);
    child_wait_for(&c, "\"number\":3,");
    usleep(100000); /* the pipe is full */
    CHECK(anonymous_kib() < with_few + 1024); /* of 30 MB of lines */
    s = open_at(dir);
    OK(store_stat(s, STORE_JOURNAL, &st, &err));
    CHECK_EQ(st.readers, 0);
    store_close(s);
    CHECK_EQ(kill(c.pid, SIGINT), 0);
    CHECK_EQ(waitpid(c.pid, NULL, WNOHANG), 0);
    usleep(1500000);
    CHECK_EQ(child_end(&c), 130);
    CHECK_STR(complained(), "");
}

TEST(cli_store_dump_to_a_terminal_gives_it_nothing_to_obey)
{
    const char *dir = a_store();
    const char *const args[] = {"store", "dump", "61", "--store", dir, NULL};
    child_free(&c);
    child_start_at_terminal(&c, args);
    CHECK_EQ(child_end(&c), 0);
    check_has(said(), "esc \\u001B[2J csi \xef\xbf\xbd" "31m bidi \xef\xbf\xbd quote \\\" end");
    CHECK(!strchr(said(), '\033') && !strstr(said(), "\xc2\x9b") && !strstr(said(), "\xe2\x80\xae"));
}

CHECK_MAIN
