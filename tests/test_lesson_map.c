/* assets/lessons/README.md says of every id of the articles which lesson has it, which class it is and what guards
 * against it.  Each id is there once, and all that is named exists; it and the lessons' own `covers` say the same, both
 * ways; and lessons that it names and that are not there are those that it says are not written. */
#include "app/learn/verdict.h"
#include "tests/check.h"

#include <ctype.h>
#include <glob.h>

#define MAP "assets/lessons/README.md"
enum { LESSONS = 18, IDS = 51, ERRATA = 16, TEXT = 256 << 10, CELLS = 8 };

static const struct { char letter; int last; } series[] = {{'A', 13}, {'B', 11}, {'C', 8}, {'D', 10}, {'E', 9}};

/* ------------------------------------------------------------------ reading */

/* A file's text, to be freed; NULL if there is none. */
static char *text_of(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = f ? calloc(1, TEXT) : NULL;
    if (!f) return NULL;
    CHECK(text && fread(text, 1, TEXT - 1, f) < TEXT - 1);
    fclose(f);
    return text;
}

/* 0 for A1 to 50 for E9; -1: no id. */
static int index_of(const char *id)
{
    char *end;
    int at = 0;
    for (size_t s = 0; s < COUNT_OF(series); at += series[s++].last) {
        if (id[0] != series[s].letter || !isdigit((unsigned char)id[1])) continue;
        const long n = strtol(id + 1, &end, 10);
        return n >= 1 && n <= series[s].last && *end == '\0' ? at + (int)n - 1 : -1;
    }
    return -1;
}

/* "L2 L18" as bits; 0: one of its words is no lesson. */
static uint32_t lessons_in(char *words)
{
    uint32_t bits = 0;
    char *rest = NULL;
    for (char *w = strtok_r(words, " .", &rest); w; w = strtok_r(NULL, " .", &rest)) {
        char *end = w;
        const long n = w[0] == 'L' && isdigit((unsigned char)w[1]) ? strtol(w + 1, &end, 10) : 0;
        if (n < 1 || n > LESSONS || *end != '\0') return 0;
        bits |= 1u << n;
    }
    return bits;
}

struct map {
    char *text;
    char *cell[IDS][CELLS];        /* of an id's row, the id first */
    uint32_t of[IDS];              /* its lessons, 1 << L */
    uint32_t errata[ERRATA + 1];   /* the lesson of each row of what is wrong */
    int wrong;
    uint32_t named, unwritten;
};

/* The cells of "| a | b |", in place; how many. */
static int cells_of(char *line, char **cell)
{
    int n = 0;
    for (char *p = line + 1; n < CELLS && (p = strstr(p, " ")) != NULL; n++) {
        char *end = strstr(p, " |");
        if (!end) break;
        cell[n] = p + 1;
        *end = '\0';
        p = end + 2;
        if (*p == '\0') return n + 1;
    }
    return n;
}

static void read_row(struct map *m, char *line)
{
    char *cell[CELLS] = {0};
    const int n = cells_of(line, cell);
    const int i = n == 7 ? index_of(cell[0]) : -1;
    if (i >= 0) {
        if (m->cell[i][0]) check_fail(__FILE__, __LINE__, "%s twice", cell[0]);
        memcpy(m->cell[i], cell, sizeof cell);
        m->of[i] = lessons_in(cell[1]);
        if (!m->of[i]) check_fail(__FILE__, __LINE__, "%s has no lesson", cell[0]);
        m->named |= m->of[i];
    } else if (n == 4 && cell[3][0] == 'L' && isdigit((unsigned char)cell[3][1])) {
        CHECK(m->wrong < ERRATA);
        m->named |= m->errata[m->wrong++] = lessons_in(cell[3]);
    } else if (strcmp(cell[0] ? cell[0] : "", "Id") && strcmp(cell[0] ? cell[0] : "", "Seed") && line[1] != '-')
        check_fail(__FILE__, __LINE__, "not a row: %s", cell[0] ? cell[0] : line);
}

static struct map map_open(void)
{
    struct map m = {.text = text_of(MAP)};
    static const char head[] = "Not written yet: ";
    char *rest = NULL;
    CHECK(m.text != NULL);
    for (char *line = strtok_r(m.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '|') read_row(&m, line);
        if (strncmp(line, head, strlen(head)) || strcmp(line + strlen(head), "none.") == 0) continue;
        m.unwritten = lessons_in(line + strlen(head));
        CHECK(m.unwritten != 0);
    }
    for (int i = 0; i < IDS; i++)
        if (!m.cell[i][0]) check_fail(__FILE__, __LINE__, "id %d of %d has no row", i + 1, IDS);
    return m;
}

/* ------------------------------------------------------------------ what it says */

TEST(every_id_has_its_row_and_all_that_is_wrong_has_its_lesson)
{
    struct map m = map_open();
    CHECK_EQ(m.wrong, ERRATA);
    for (int i = 0; i < m.wrong; i++) CHECK(m.errata[i] != 0);
    CHECK_EQ(m.named, (1u << (LESSONS + 1)) - 2); /* no lesson without an id or an error */
    free(m.text);
}

TEST(classes_are_those_that_explain_knows_and_each_is_taught)
{
    struct map m = map_open();
    uint32_t taught = 0;
    for (int i = 0; i < IDS; i++) {
        char *rest = NULL;
        for (char *w = strtok_r(m.cell[i][2], " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
            if (cause_find(w) < CAUSE_WEIGHTS) check_fail(__FILE__, __LINE__, "%s: no class: %s", m.cell[i][0], w);
            taught |= 1u << cause_find(w);
        }
    }
    /* The two that no article has: somebody else's memory, and limits of an allocator. */
    const uint32_t untaught = 1u << CAUSE_OTHER_PROCESS | 1u << CAUSE_ALLOCATOR;
    CHECK_EQ(taught | untaught, (1u << CAUSES) - (1u << CAUSE_WEIGHTS));
    free(m.text);
}

TEST(headers_are_there_and_tests_have_what_shows_it)
{
    struct map m = map_open();
    for (int i = 0; i < IDS; i++) {
        char path[128], mark[160];
        char *sep = strstr(m.cell[i][6], ": "), *header = text_of(m.cell[i][5]);
        if (!header) check_fail(__FILE__, __LINE__, "%s: no such header: %s", m.cell[i][0], m.cell[i][5]);
        free(header);
        if (!sep) check_fail(__FILE__, __LINE__, "%s: no test: %s", m.cell[i][0], m.cell[i][6]);
        snprintf(path, sizeof path, "tests/%.*s.c", (int)(sep - m.cell[i][6]), m.cell[i][6]);
        snprintf(mark, sizeof mark, "TEST(%s)", sep + 2);
        char *test = text_of(path);
        if (!test || !strstr(test, mark)) check_fail(__FILE__, __LINE__, "%s: no %s in %s", m.cell[i][0], mark, path);
        free(test);
    }
    free(m.text);
}

/* ------------------------------------------------------------------ what the lessons say */

/* The rest of the line "key: ..." in a lesson's head, to be freed. */
static char *head_line(const char *text, const char *key, const char *path)
{
    char mark[32];
    snprintf(mark, sizeof mark, "\n%s:", key);
    const char *end = strstr(text, "\n== "), *at = strstr(text, mark);
    if (!at || (end && at > end)) check_fail(__FILE__, __LINE__, "%s has no %s", path, key);
    at += strlen(mark);
    return strndup(at, strcspn(at, "\n"));
}

/* Is the class one of those of an id?  Its words stand in a cell, which is left as it is. */
static bool has_class(const struct map *m, int id, const char *class)
{
    char words[128], *rest = NULL;
    snprintf(words, sizeof words, "%s", m->cell[id][2]);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        if (strcmp(w, class) == 0) return true;
    return false;
}

/* What the broken run of a lesson is judged to be is what the list says of an id that it covers. */
static void check_cause(const struct map *m, int lesson, const char *text, const char *path)
{
    char *line = head_line(text, "cause", path), *name = line + strspn(line, " ");
    bool found = false;
    for (int i = 0; i < IDS; i++) found |= (m->of[i] >> lesson & 1) && has_class(m, i, name);
    if (cause_find(name) < 0 || !found) check_fail(__FILE__, __LINE__, "%s: not a class of its ids: %s", path, name);
    free(line);
}

static void check_covers(const struct map *m, int lesson, const char *text, const char *path)
{
    char *line = head_line(text, "covers", path), *rest = NULL;
    bool has[IDS] = {0};
    for (char *w = strtok_r(line, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        const int i = index_of(w);
        if (i < 0) check_fail(__FILE__, __LINE__, "%s: no id: %s", path, w);
        has[i] = true;
    }
    for (int i = 0; i < IDS; i++)
        if (has[i] != (m->of[i] >> lesson & 1))
            check_fail(__FILE__, __LINE__, "%s %s %s, the list says otherwise", path, has[i] ? "has" : "has not",
                       m->cell[i][0]);
    free(line);
}

TEST(lessons_cover_what_the_list_says_and_no_more)
{
    struct map m = map_open();
    glob_t g;
    uint32_t there = 0;
    const int found = glob("assets/lessons/[0-9][0-9]-*.lesson", 0, NULL, &g);
    CHECK(found == 0 || found == GLOB_NOMATCH);
    for (size_t k = 0; k < g.gl_pathc; k++) {
        char *text = text_of(g.gl_pathv[k]);
        const int n = atoi(strrchr(g.gl_pathv[k], '/') + 1);
        CHECK(text && n >= 1 && n <= LESSONS);
        if (there >> n & 1) check_fail(__FILE__, __LINE__, "L%d twice", n);
        there |= 1u << n;
        check_covers(&m, n, text, g.gl_pathv[k]);
        check_cause(&m, n, text, g.gl_pathv[k]);
        for (int i = 0; i < m.wrong; i++) /* what an article has wrong is said by the lesson that is named for it */
            if ((m.errata[i] >> n & 1) && !strstr(text, "\n== seed"))
                check_fail(__FILE__, __LINE__, "%s does not say what the article has wrong", g.gl_pathv[k]);
        free(text);
    }
    globfree(&g);
    CHECK_EQ(m.named & ~there, m.unwritten);
    free(m.text);
}

CHECK_MAIN
