/* The program's memory from end to end, with the embedded model: what was said long ago is found, what was read once is not
 * read again, and what was deleted is nowhere in the files. */
#include "tests/check.h"
#include "tests/child.h"
#include <dirent.h>
#include <strings.h>

enum { FILLER = CHECK_SANITIZED ? 24 : 40 }; /* turns; enough to leave a context of 1024 tokens */

static struct child c;
static char store[512];

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

#define RUN(in, ...) run(in, (const char *const[]){"--store", store, __VA_ARGS__, NULL})

static int run(const char *in, const char *const *args)
{
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}

static int sessions(const char *verb, const char *what, const char *flag)
{
    const char *const args[] = {"sessions", verb, what, "--store", store, flag, NULL};
    return run("", args);
}

static void fresh(void)
{
    static int n;
    snprintf(store, sizeof store, "%s/memory%d", check_tmpdir(), n++);
}

/* In how many files under a folder the bytes are, upper or lower case. */
static int files_with(const char *dir, const char *word)
{
    int found = 0;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[1024];
        struct buf bytes = {0};
        static char part[1 << 16];
        size_t n;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_type == DT_DIR) {
            found += files_with(path, word);
            continue;
        }
        FILE *f = fopen(path, "r");
        while (f && (n = fread(part, 1, sizeof part, f)) > 0) buf_put(&bytes, part, n);
        if (f) fclose(f);
        for (size_t i = 0; i + strlen(word) <= bytes.len; i++)
            if (strncasecmp(bytes.data + i, word, strlen(word)) == 0) {
                found++;
                break;
            }
        buf_free(&bytes);
    }
    closedir(d);
    return found;
}

static char *conversation(void)
{
    struct buf b = {0};
    buf_puts(&b, "The port of the printer is 8080.\nMy dog is called Quagmirella.\n");
    for (int i = 0; i < FILLER; i++) buf_puts(&b, i % 2 ? "What is a KV cache?\n" : "Thank you.\n");
    CHECK(!b.failed);
    return b.data;
}

TEST(memory_what_left_the_context_is_found_again)
{
    char *lines = conversation();
    fresh();
    CHECK_EQ(RUN(lines, "--ctx", "1024"), 0);
    check_has(err(), "[summing up ");
    CHECK_EQ(RUN("What is the port of the printer?\n", "--ctx", "1024", "--resume", "last"), 0);
    check_has(err(), "[recall {\"query\":\"What is the port of the printer?\"}");
    CHECK_EQ(RUN("What is the port of the printer?\n", "--ctx", "1024", "--resume", "last", "--recall", "off"), 0);
    if (strstr(err(), "[recall")) CHECK_STR(err(), "(no recall)");
    CHECK_EQ(RUN("What is the port of the printer?\n", "--ctx", "1024", "--resume", "last", "--json"), 0);
    check_has(out(), "\"by\":\"plimsoll\",\"name\":\"recall\"");
    check_has(out(), "\"text\":\"What is the port of the printer?\"}"); /* said, though what was found stands behind it */
    check_has(out(), "8080");
    free(lines);
}

/* Prompt tokens of the first call that were not read again. */
static int shared(void)
{
    static const char field[] = "\"shared_tokens\":";
    const char *start = strstr(out(), "\"turn_start\""), *value = start ? strstr(start, field) : NULL;
    CHECK(value != NULL);
    return atoi(value + strlen(field));
}

TEST(memory_a_resumed_session_is_not_read_again)
{
    char *lines = conversation();
    fresh();
    CHECK_EQ(RUN(lines, "--ctx", "4096"), 0);
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json"), 0);
    check_has(err(), "tokens of what was said before came from the store");
    CHECK(shared() > 25 * FILLER);
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json", "--kv-type", "f32"), 0); /* others */
    CHECK_EQ(shared(), 0);
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json", "--snapshots", "0"), 0);
    CHECK_EQ(shared(), 0);
    free(lines);
}

/* What is off is off without an error, and others' stay. */
TEST(memory_quotas_of_pages_and_index_are_settings)
{
    enum { FRONT = 64 }; /* tokens that the first session begins with too */
    char *lines = conversation(), text[400];
    fresh();
    CHECK_EQ(RUN("The xylofrass opens at nine.\n", "--ctx", "4096"), 0);
    CHECK_EQ(RUN(lines, "--ctx", "4096", "--snapshots-session", "0"), 0);
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json"), 0);
    CHECK(shared() <= FRONT);
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json", "--snapshots-session", "1"), 0);
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json", "--snapshots-session", "1"), 0);
    CHECK(shared() <= FRONT);
    CHECK_EQ(RUN("plimsoll 1\n/recall xylofrass\n", "--recall-index", "0"), 2);
    check_has(err(), "there is no recall index (--recall-index 0)");
    CHECK_EQ(RUN("plimsoll 1\nhello\n/recall all xylofrass\n/policy\n", "--recall-index", "2G"), 0);
    check_has(err(), "The xylofrass opens at nine.");
    check_has(err(), "index       2048.0 MiB on disk at most, of one session 256.0 MiB");
    /* others' goes, and none has room */
    CHECK_EQ(RUN("plimsoll 1\nhello\n/recall all xylofrass\n", "--recall-index", "1"), 0);
    check_has(err(), "the recall index is full (--recall-index, 0.0 MiB): what it has no room for is not found");
    check_has(err(), "[the recall index is full (--recall-index)");
    check_has(err(), "nothing found");
    const char *dir = check_tmpdir();
    snprintf(text, sizeof text, "%s/brumfondle.txt", dir);
    FILE *f = fopen(text, "w");
    CHECK(f && fputs("The brumfondle is in the shed.\n", f) >= 0 && fclose(f) == 0);
    snprintf(text, sizeof text, "plimsoll 1\nhello\n/ingest %s/brumfondle.txt\n/recall shed\n/recall hello\n", dir);
    CHECK_EQ(RUN(text, "--recall-index-session", "0"), 0); /* what is said goes in */
    check_has(err(), "brumfondle.txt is not in the index: that of this session is full (--recall-index-session, 0.0 "
                     "MiB); the whole stays as an artifact");
    check_has(err(), "nothing found");
    check_has(err(), "score");
    free(lines);
}

/* Another's deletion takes nothing of this one's pages, nor of what is found in all sessions. */
TEST(memory_a_session_deleted_beside_it_costs_it_nothing)
{
    char *lines = conversation(), *script = NULL, id[33];
    fresh();
    CHECK_EQ(RUN("My zebra is called Quagmirella.\n", "--ctx", "4096"), 0);
    CHECK_EQ(RUN("The xylofrass opens at nine.\n", "--ctx", "4096"), 0);
    CHECK_EQ(sessions("list", "--json", NULL), 0);
    const char *at = strstr(out(), "\"session\":\"");
    CHECK(at && sscanf(at, "\"session\":\"%32[0-9a-f]", id) == 1);
    CHECK(asprintf(&script, "plimsoll 1\n%s/delete %s now\nAnd what is a token?\n/recall all zebra\n"
                   "/recall all xylofrass\n", lines, id) > 0);
    CHECK_EQ(RUN(script, "--ctx", "4096"), 0);
    check_has(err(), "is deleted");
    check_has(err(), "zebra is called");
    check_has(err(), "nothing found: none of these words was said");
    CHECK_EQ(RUN("Thank you.\n", "--ctx", "4096", "--resume", "last", "--json"), 0);
    check_has(err(), "tokens of what was said before came from the store");
    CHECK(shared() > 25 * FILLER);
    free(script);
    free(lines);
}

TEST(memory_an_imported_session_is_found_from_another)
{
    static const char chat[] = "plimsoll 1\nhello\n/recall all zebra\n/recall all xylofrass\n";
    char file[600];
    fresh();
    CHECK_EQ(RUN("My zebra is called Quagmirella.\n", "--ctx", "1024"), 0);
    snprintf(file, sizeof file, "%s.jsonl", store);
    const char *const write[] = {"sessions", "export", "last", "-o", file, "--store", store, NULL};
    CHECK_EQ(run("", write), 0);
    fresh();
    CHECK_EQ(sessions("import", file, NULL), 0);
    CHECK_EQ(RUN(chat, "--ctx", "1024"), 0);
    check_has(err(), "zebra is called");
    check_has(err(), "nothing found: none of these words was said");
}

/* The same of the call behind the last "parked" event. */
static int shared_behind_park(void)
{
    static const char field[] = "\"shared_tokens\":";
    const char *parked = strstr(out(), "\"event\":\"parked\"");
    const char *start = parked ? strstr(parked, "\"turn_start\"") : NULL;
    const char *value = start ? strstr(start, field) : NULL;
    CHECK(value != NULL);
    return atoi(value + strlen(field));
}

TEST(memory_a_parked_agent_leaves_the_pool_and_comes_back)
{
    static const char script[] = "plimsoll 1\nWhat is a KV cache?\nAnd what is a token?\n/park\nThank you.\n";
    fresh();
    CHECK_EQ(RUN(script, "--json"), 0);
    check_has(err(), "tokens left the KV pool; the next turn brings them back from disk");
    check_has(err(), "tokens of what was said before came from the store");
    const int kept = shared_behind_park();
    CHECK_EQ(RUN(script, "--json", "--no-save"), 0);
    check_has(err(), "tokens left the KV pool; the next turn reads them again");
    CHECK(shared_behind_park() < kept);
    fresh();
    CHECK_EQ(RUN(script, "--json", "--snapshots", "1K"), 0); /* no page has room there */
    check_has(err(), "tokens left the KV pool; the next turn reads them again");
    CHECK(shared_behind_park() < kept);
    CHECK_EQ(RUN("plimsoll 1\nThank you.\n/park\n/park\n", "--no-save"), 2);
    check_has(err(), "there is nothing to park");
    CHECK_EQ(RUN("plimsoll 1\n/park nobody\n", "--no-save"), 2);
    check_has(err(), "there is no agent nobody");
}

TEST(memory_what_was_deleted_is_in_no_file)
{
    char *lines = conversation();
    fresh();
    CHECK_EQ(RUN(lines, "--ctx", "1024"), 0);
    CHECK_EQ(RUN("What is my dog called?\n", "--ctx", "1024", "--resume", "last"), 0);
    CHECK(files_with(store, "Quagmirella") >= 2); /* journal and index: else the test would see nothing */
    CHECK_EQ(sessions("delete", "last", "--yes"), 0);
    CHECK_EQ(files_with(store, "Quagmirella"), 0);
    CHECK_EQ(files_with(store, "printer"), 0);
    CHECK_EQ(files_with(store, "plimsoll-tiny"), 0); /* the head, the flight recorder */
    free(lines);
}

CHECK_MAIN
