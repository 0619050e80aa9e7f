/* test_readme.c - what README.md shows under "Scripts and crews" is typed into a shell as it is printed there. */
#include "tests/check.h"
#include "tests/child.h"
#include <libgen.h>

static struct buf contents(const char *path)
{
    struct buf b = {0};
    char part[4096];
    FILE *f = fopen(path, "r");
    CHECK(f);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_put(&b, part, n);
    fclose(f);
    CHECK(b.len > 0);
    return b;
}

/* The i-th indented block of a section, without its indent; empty: there are not so many. */
static struct buf block(const char *section, int i)
{
    struct buf readme = contents("README.md"), out = {0};
    const char *at = strstr(readme.data, section);
    bool inside = false;
    CHECK(at);
    for (at += strlen(section); *at && *at != '#'; at = strchr(at, '\n') + 1) {
        bool indented = strncmp(at, "    ", 4) == 0;
        if (inside && !indented && i-- == 0) break;
        inside = indented;
        if (indented && i == 0) buf_put(&out, at + 4, strcspn(at, "\n") + 1 - 4);
    }
    buf_free(&readme);
    return out;
}

/* `plimsoll` is the program under test, what it keeps is in dir. */
static void set_world(const char *dir)
{
    struct buf path = {0};
    char *program = realpath(child_program(), NULL);
    CHECK(program);
    buf_printf(&path, "%s:%s", dirname(program), getenv("PATH"));
    CHECK(!path.failed && setenv("PATH", path.data, 1) == 0);
    CHECK(setenv("XDG_DATA_HOME", dir, 1) == 0 && setenv("XDG_CONFIG_HOME", dir, 1) == 0);
    buf_free(&path);
    free(program);
}

/* Types the lines into a shell in a folder of its own; what came on stdout. */
static const char *typed(struct buf *lines)
{
    static char said[1 << 16];
    char path[600], command[700];
    const char *dir = check_tmpdir();
    set_world(dir);
    snprintf(path, sizeof path, "%s/typed", dir);
    FILE *f = fopen(path, "w");
    CHECK(f && lines->len > 0 && fwrite(lines->data, 1, lines->len, f) == lines->len && fclose(f) == 0);
    buf_free(lines);
    snprintf(command, sizeof command, "cd '%s' && sh -e ./typed 2>stderr", dir);
    FILE *p = popen(command, "r");
    CHECK(p);
    said[fread(said, 1, sizeof said - 1, p)] = '\0';
    CHECK_EQ(pclose(p), 0);
    return said;
}

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

#define SECTION "\n### Scripts and crews\n"

TEST(readme_script_of_five_lines_runs_as_printed)
{
    struct buf lines = block(SECTION, 0);
    int n = 0;
    for (const char *at = lines.data; at && (at = strchr(at, '\n')); at++) n++;
    CHECK_EQ(n, 1 + 5 + 1); /* the shell's line, the script, and its end */
    const char *said = typed(&lines);
    check_has(said, "keys and values");
    CHECK(strchr(said, '\n') != strrchr(said, '\n')); /* an answer to each turn */
}

TEST(readme_crew_runs_as_printed)
{
    struct buf lines = block(SECTION, 1);
    const char *said = typed(&lines);
    check_has(said, "writer: ");
    check_has(said, "critic: Verdict: ");
}

TEST(readme_consumer_of_events_runs_as_printed)
{
    if (system("command -v jq >/dev/null") != 0) {
        CHECK(!getenv("CI"));
        SKIP("there is no jq here");
    }
    struct buf lines = block(SECTION, 2);
    const char *said = typed(&lines);
    check_has(said, " tokens read, ");
    check_has(said, " written: A token is ");
    CHECK(strchr(said, '\n') == said + strlen(said) - 1);
}

TEST(readme_has_no_other_examples_there)
{
    struct buf none = block(SECTION, 3);
    CHECK_EQ(none.len, 0);
}

CHECK_MAIN
