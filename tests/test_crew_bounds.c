/* test_crew_bounds.c - crew files: bounds, those in the program, files, help; any bytes at all are survived. */
#include "tests/crew_words.h"
#include <sys/stat.h>
#include <time.h>

/* ------------------------------------------------------------------ bounds */

/* "before", n times "each" with its number in it (one %d), "after". */
static const char *many(const char *before, const char *each, int n, const char *after)
{
    static struct buf b;
    b.len = 0;
    buf_puts(&b, before);
    for (int i = 0; i < n; i++) {
        char part[200];
        const char *at = strchr(each, '#');
        if (at) snprintf(part, sizeof part, "%.*s%d%s", (int)(at - each), each, i, at + 1);
        buf_puts(&b, at ? part : each);
    }
    buf_puts(&b, after);
    return b.data;
}

static void check_read(const char *text, const char *says)
{
    struct crew c;
    int rc = read_crew(text, strlen(text), &c);
    if (says ? rc == 0 || !strstr(err.text, says) : rc != 0)
        check_fail(__FILE__, __LINE__, "%s\nis not %s", rc ? err.text : "taken", says ? says : "taken");
    crew_free(&c);
}

TEST(numbers_of_everything_are_bounded)
{
    static const char single[] = "flow: {kind: single}\n", task[] = "    - {name: t#, agent: a, text: T}\n";
    const char *edge = "    - {from: t, to: u, when: contains, text: x#}\n";
    check_read(many("crew: x\nagents:\n", " - name: a#\n", CREW_AGENTS, single), NULL);
    check_read(many("crew: x\nagents:\n", " - name: a#\n", CREW_AGENTS + 1, single),
               "t.yaml:3:2: agents are 33: at most 32");
    check_read(many("crew: x\nagents:\n - {name: a, tools: [", "read, ", CREW_TOOLS + 1, "]}\nflow: {kind: single}\n"),
               "t.yaml:3:21: tools are 17: at most 16");
    check_read(many(SEQUENCE(""), task, CREW_TASKS, ""), NULL);
    check_read(many(SEQUENCE(""), task, CREW_TASKS + 1, ""), "t.yaml:6:5: tasks are 65: at most 64");
    check_read(many(GRAPH(""), edge, CREW_EDGES, ""), NULL);
    check_read(many(GRAPH(""), edge, CREW_EDGES + 1, ""), "t.yaml:9:5: edges are 129: at most 128");
    check_read(many("crew: x\n", "k#: 1\n", 64, ""), "t.yaml:65:1: more than 64 keys in one place");
    check_read(many("crew: x\nagents: [", "a, ", CREW_NODES, "]\n"), "more than 16384 keys, values and lists");
}

TEST(texts_and_files_are_bounded)
{
    static const char end[] = "}]\nflow: {kind: single}\n", head[] = "crew: x\n" THREE "flow: {kind: single}\n#";
    int rest = CREW_FILE - (int)strlen(head);
    check_read(many("crew: x\nagents: [{name: a, system: ", "s", CREW_TEXT, end), NULL);
    check_read(many("crew: x\nagents: [{name: a, system: ", "s", CREW_TEXT + 1, end),
               "t.yaml:2:28: a text of more than 64 KiB");
    check_read(many(head, "-", rest, ""), NULL);
    check_read(many(head, "-", rest + 1, ""), "t.yaml is over 1024 KiB");
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A mebibyte of what a parser may stumble over ends at once, and deep nesting does not grow the stack. */
TEST(a_file_made_to_take_long_does_not)
{
    static const char *const each[] = {"[", "{", "- ", "? ", "%TAG !a#! b\n", "&a# ", "!a# ", "*a# ", "a#: ", "[a, ",
                                       "{a#: ", "\"a\" ", "-\n", "|\n", "\n", " ", "'", "a ", "[]: ", "? a#\n", "---\n",
                                       "- a#\n", "#\n", "a#: 1\n", "- [a]\n", "\\", ",", "a\n\n"};
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        const char *text = many("crew: x\n", each[i], (int)((CREW_FILE - 100) / (strlen(each[i]) + 6)), "");
        double start = cpu_seconds();
        struct crew c;
        CHECK_EQ(read_crew(text, strlen(text), &c), -1);
        double took = cpu_seconds() - start;
        if (took > 2) check_fail(__FILE__, __LINE__, "%s: %.1f s", each[i], took);
        crew_free(&c);
    }
}

/* ------------------------------------------------------------------ those in the program, and files */

TEST(there_is_a_crew_of_each_kind_and_it_loads)
{
    struct buf list = {0};
    crew_builtin(&list);
    CHECK_EQ(crew_builtin_count(), FLOW_KINDS);
    for (int i = 0; i < crew_builtin_count(); i++) {
        struct crew c;
        char line[CREW_LINE + 40];
        if (crew_load(crew_builtin_name(i), &c, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        CHECK_EQ((int)c.flow, i);
        CHECK_STR(c.name, crew_builtin_name(i));
        CHECK_STR(c.name, flow_kind_name(c.flow));
        CHECK(c.about != NULL);
        snprintf(line, sizeof line, "%-12s %s\n", c.name, c.about);
        CHECK(strstr(list.data, line) != NULL);
        for (int a = 0; a < c.n_agents; a++) { /* what the embedded model can do with */
            CHECK(c.agent[a].role && c.agent[a].context >= 512 && c.agent[a].context <= 1024);
            CHECK(c.agent[a].answer >= 96 && c.agent[a].answer <= 160);
        }
        crew_free(&c);
    }
    buf_free(&list);
}

static const char *put_file(const char *name, const char *text)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

static void check_load(const char *path, const char *says)
{
    struct crew c;
    CHECK_EQ(crew_load(path, &c, &err), -1);
    if (!strstr(err.text, says)) check_fail(__FILE__, __LINE__, "%s\nis not %s", err.text, says);
    CHECK(!c.agent);
}

TEST(crew_load_reads_a_file_and_says_its_name)
{
    struct crew c;
    char says[600], fifo[400];
    const char *path = put_file("good.yaml", whole);
    CHECK_EQ(crew_load(path, &c, &err), 0);
    CHECK_STR(c.name, "pair-2");
    crew_free(&c);
    path = put_file("bad.yaml", "crew: x\nagents: 3\nflow: {kind: single}\n");
    snprintf(says, sizeof says, "%s:2:9: agents is a list", path);
    check_load(path, says);
    check_load(put_file("large.yaml", many("crew: x\n#", "-", CREW_FILE, "")), "is over 1024 KiB");
    check_load(put_file("empty.yaml", ""), ":1:1: there is nothing in it");
    check_load(check_tmpdir(), "is no regular file");
    check_load("/dev/zero", "is no regular file");
    snprintf(fifo, sizeof fifo, "%s/fifo", check_tmpdir());
    CHECK_EQ(mkfifo(fifo, 0600), 0);
    check_load(fifo, "is no regular file");
    check_load("./debate", "./debate: there is no such file");
    check_load("debat", "debat: no crew of the program and no file; did you mean debate?");
    check_load("", "no crew of the program and no file");
    check_load("a-crew-of-nobody", "no crew of the program and no file");
    CHECK(!strstr(err.text, "did you mean"));
}

/* ------------------------------------------------------------------ keys and help */

TEST(help_has_every_key_and_kind_in_lines_that_fit)
{
    struct buf help = {0};
    char part[40];
    crew_help(&help);
    for (int level = 0; level < CREW_LEVELS; level++) {
        int n;
        const struct crew_key *key = crew_keys((enum crew_level)level, &n);
        for (int i = 0; i < n; i++) {
            snprintf(part, sizeof part, "\n  %-15s %-5s ", key[i].name, key[i].value);
            if (!strstr(help.data, part)) check_fail(__FILE__, __LINE__, "help lacks %s", key[i].name);
        }
    }
    for (int k = 0; k < FLOW_KINDS; k++) {
        snprintf(part, sizeof part, "\n  %-15s ", flow_kind_name((enum flow_kind)k));
        CHECK(strstr(help.data, part) != NULL);
    }
    for (const char *s = help.data; *s; s += strcspn(s, "\n") + 1) CHECK(strcspn(s, "\n") <= 120);
    buf_free(&help);
}

/* The words of a key and the enum that they stand for are written in two places. */
TEST(the_words_of_kind_are_the_names_of_the_kinds)
{
    int n;
    const struct crew_key *kind = crew_keys(LEVEL_FLOW, &n);
    struct buf words = {0};
    for (int k = 0; k < FLOW_KINDS; k++) buf_printf(&words, "%s%s", k ? "|" : "", flow_kind_name((enum flow_kind)k));
    CHECK_STR(kind->name, "kind");
    CHECK_STR(kind->words, words.data);
    buf_free(&words);
}

/* ------------------------------------------------------------------ any bytes */

static uint64_t seed = 20261122;
static size_t below(size_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(seed >> 33) % n;
}

/* What must hold of anything that is taken. */
static void check_sound(const struct crew *c)
{
    CHECK(c->name && c->n_agents >= 1 && c->n_agents <= CREW_AGENTS && c->steps >= 1 && c->retries >= 0);
    CHECK(c->lead >= -1 && c->lead < c->n_agents);
    for (int i = 0; i < c->n_members; i++) CHECK(c->members[i] >= 0 && c->members[i] < c->n_agents);
    bool tasks = c->flow == FLOW_SEQUENTIAL || c->flow == FLOW_GRAPH;
    CHECK(tasks ? c->n_tasks >= 1 && c->n_members == 0 : c->n_members >= 1 && c->n_tasks == 0);
    for (int i = 0; i < c->n_tasks; i++) {
        const struct crew_task *t = &c->task[i];
        CHECK(t->name && t->text && t->agent >= 0 && t->agent < c->n_agents);
        for (int k = 0; k < t->n_needs; k++)
            CHECK(t->needs[k] >= 0 && t->needs[k] < (c->flow == FLOW_GRAPH ? c->n_tasks : i));
    }
    for (int i = 0; i < c->n_edges; i++)
        CHECK(c->edge[i].from >= 0 && c->edge[i].from < c->n_tasks && c->edge[i].to >= -1 &&
              c->edge[i].to < c->n_tasks && (c->edge[i].text != NULL) == (c->edge[i].when == WHEN_CONTAINS));
}

static bool survive(const char *text, size_t n)
{
    struct crew c;
    char *own = malloc(n + 1); /* its own block: reading past the end is seen */
    CHECK(own != NULL);
    memcpy(own, text, n);
    own = realloc(own, n ? n : 1);
    bool taken = read_crew(own, n, &c) == 0;
    if (taken) check_sound(&c);
    else CHECK(err.text[0] && !strpbrk(err.text, "\n\t\r\033") && strstr(err.text, "t.yaml"));
    crew_free(&c);
    free(own);
    return taken;
}

/* One change: a byte, a piece out, a piece of another crew in, or a piece twice. */
static size_t mutate(char *text, size_t n, size_t cap)
{
    static const char bytes[] = ":-,[]{}\"'|>#&*!%@`~? \n\t\r\\0123456789ae\001\177\300\303\377";
    size_t at = below(n + 1), piece = below(40), m;
    const char *other = crew_builtin_text((int)below((size_t)crew_builtin_count()), &m);
    switch (below(4)) {
    case 0:
        if (at < n) text[at] = bytes[below(sizeof bytes - 1)];
        return n;
    case 1:
        piece = MIN(piece, n - at);
        memmove(text + at, text + at + piece, n - at - piece);
        return n - piece;
    case 2:
        other += below(m - 40);
        piece = MIN(piece, cap - n);
        memmove(text + at + piece, text + at, n - at);
        memcpy(text + at, other, piece);
        return n + piece;
    default:
        piece = MIN(MIN(piece, n - at), cap - n);
        memmove(text + at + piece, text + at, n - at);
        return n + piece;
    }
}

TEST(crews_with_anything_changed_are_read_or_refused)
{
    enum { TRIES = 6000, ROOM = 8192 };
    static char text[ROOM];
    int taken = 0;
    for (int i = 0; i < TRIES; i++) {
        size_t n;
        const char *from = crew_builtin_text(i % crew_builtin_count(), &n);
        memcpy(text, from, n);
        for (size_t k = below(4) + 1; k > 0; k--) n = mutate(text, n, ROOM);
        taken += survive(text, n);
    }
    CHECK(taken > TRIES / 50 && taken < TRIES); /* some changes are in comments */
}

TEST(crews_cut_short_are_read_or_refused)
{
    for (int i = 0; i < crew_builtin_count(); i++) {
        size_t n;
        const char *text = crew_builtin_text(i, &n);
        for (size_t k = 0; k < n; k++) survive(text, k);
    }
    for (size_t k = 0; k < strlen(whole); k++) survive(whole, k);
}

CHECK_MAIN
