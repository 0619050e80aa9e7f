/* test_cli_mcp.c - the program with servers of tools (--mcp), which are programs of a few lines of sh: what a script of
 * answers calls, what comes of it, and what a person is told. */
#include "tests/check.h"
#include "tests/child.h"
#include "tests/quoted.h"
#include "tests/vocab_file.h"
#include <signal.h>
#include <unistd.h>

#define SAYS(text) "{'answer': '" text "'}\n"
#define CALL(name, arguments) "<tool_call>{\\\"name\\\":\\\"" name "\\\",\\\"arguments\\\":" arguments "}</tool_call>"

/* Two tools: `do`, which answers with what it was given, and `big`. */
static const char server[] =
    "while read -r l; do id=${l#*\\\"id\\\":}; id=${id%%,*}\n"
    "case $l in\n"
    "*'\"initialize\"'*) echo '{\"id\":'$id',\"result\":{\"capabilities\":{\"tools\":{}}}}';;\n"
    "*tools/list*) echo '{\"id\":'$id',\"result\":{\"tools\":[{\"name\":\"do\",\"description\":\"Does it.\","
    "\"inputSchema\":"
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"of\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"string\"}}},"
    "\"required\":[\"n\"]}},{\"name\":\"big\",\"description\":\"A long text.\"}]}}';;\n"
    "*'\"name\":\"do\"'*) a=${l#*arguments}; a=$(echo \"$a\" | tr -d '\"\\\\'); echo '{\"id\":'$id',\"result\":"
    "{\"content\":[{"
    "\"type\":\"text\",\"text\":\"done with '\"$a\"'\"}]}}';;\n"
    "*'\"name\":\"big\"'*) i=0; t=; while [ $i -lt 3000 ]; do i=$((i+1)); t=\"$t line $i of it\\\\n\"; done\n"
    "printf '%s\\n' '{\"id\":'$id',\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"'\"$t\"'\"}]}}';;\n"
    "esac; done\n";

static struct child c;

static const char *file_of(const char *name, const char *text)
{
    static char path[8][600];
    static int next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(p, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return p;
}

/* A file of one server, s, that runs this. */
static const char *servers(const char *script)
{
    struct buf b = {0};
    buf_printf(&b, "{\"mcpServers\": {\"s\": {\"command\": \"sh\", \"args\": "
        "[\"%s\"]}}}", file_of("server.sh", script));
    const char *path = file_of("mcp.json", b.data);
    buf_free(&b);
    return path;
}

static const char *err_text(void) { return c.err_text.data ? c.err_text.data : ""; }
static const char *out_text(void) { return c.out_text.data ? c.out_text.data : ""; }

/* With a vocabulary of Qwen's; tags: of Qwen3-Coder's. */
static int run(bool tags, const char *answers, const char *in, const char *const *more)
{
    const char *args[CHILD_ARGS] = {"--engine", "scripted", "--script-file", file_of("answers", quoted(answers)),
                                    "--no-save", "--ctx", "4096"};
    size_t n = 7;
    if (tags) args[n++] = "-m", args[n++] = vocab_file_tags(true);
    for (size_t i = 0; more[i]; i++) args[n++] = more[i];
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}
#define RUN(tags, answers, in, ...) run(tags, answers, in, (const char *const[]){__VA_ARGS__, NULL})

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) check_fail(__FILE__, __LINE__, "no \"%s\" in: %s", part, text);
}

TEST(a_servers_tool_is_called_where_it_is_allowed)
{
    static const char script[] = SAYS(CALL("s__do", "{\\\"n\\\":7,\\\"of\\\":[\\\"a\\\"]}")) SAYS("Well.");
    const char *list = servers(server);
    CHECK_EQ(RUN(false, script, "go\n", "--mcp", list, "--allow", "s__do", "--json"), 0);
    has(out_text(), "done with :{n:7,of:[a]}");
    CHECK_EQ(RUN(false, script, "go\n", "--mcp", list, "--allow", "s__*"), 0);
    CHECK_STR(out_text(), "Well.\n");
    has(err_text(), "[s__do {\"n\":7,\"of\":[\"a\"]}: ");
    CHECK_EQ(RUN(false, script, "go\n", "--mcp", list), 5);
    has(err_text(), "denied: s__do {\"n\":7,\"of\":[\"a\"]}");
    CHECK_EQ(RUN(false, script, "go\n", "--mcp", list, "--allow", "s__no"), 2);
    has(err_text(), "--allow: no tool \"s__no\"; there are read, write");
    has(err_text(), "s__do, s__big");
    CHECK_EQ(RUN(false, SAYS(CALL("s__do", "{}")) SAYS("No."), "go\n", "--mcp", list, "--allow", "s__do", "--json"), 0);
    has(out_text(), "the argument \\\"n\\\" lacks");
}

TEST(a_servers_result_is_clipped_as_any_other)
{
    static const char script[] = SAYS(CALL("s__big", "{}")) SAYS("Long.");
    CHECK_EQ(RUN(false, script, "/tools\ngo\n", "--mcp", servers(server), "--allow", "s__big", "--script"), 0);
    has(err_text(), "s__big       a server's     about ");
    has(err_text(), "[s__big {}: ");
    has(err_text(), " tokens, clipped; the other ");
}

TEST(tags_and_strict_tools_know_what_a_servers_tool_takes)
{
    static const char tags[] = SAYS("<tool_call>\\n<function=s__do>\\n<parameter=n>\\n7\\n</parameter>\\n<parameter=of>\\n"
                                    "[\\\"x\\\", \\\"y\\\"]\\n</parameter>\\n</function>\\n</tool_call>") SAYS("Well.");
    static const char script[] = SAYS(CALL("s__do", "{\\\"n\\\":7}")) SAYS("Well.");
    const char *list = servers(server);
    CHECK_EQ(RUN(true, tags, "go\n", "--mcp", list, "--allow", "s__do", "--json"), 0);
    has(out_text(), "\"arguments\":\"{\\\"n\\\":7,\\\"of\\\":[\\\"x\\\",\\\"y\\\"]}\"");
    CHECK_EQ(RUN(false, script, "go\n", "--mcp", list, "--allow", "s__do", "--strict-tools"), 0);
    CHECK_STR(out_text(), "Well.\n");
}

TEST(an_agent_of_a_crew_has_a_servers_tool_that_its_file_names)
{
    const char *crew = file_of("crew.yaml", "crew: one\nagents:\n  - {name: a, role: writer, tools: [s__do]}\n"
                                            "flow: {kind: single, members: [a]}\n");
    CHECK_EQ(RUN(false, SAYS("x"), "go\n", "--crew", crew), 2);
    has(err_text(), "the agent a is to have the tool s__do, which no server has: --mcp FILE names servers");
    CHECK_EQ(RUN(false, SAYS("x"), "/agents\n", "--crew", crew, "--mcp", servers(server), "--script"), 0);
    has(err_text(), "tools s__do");
}

TEST(a_server_that_fails_is_said_before_anything_starts)
{
    CHECK_EQ(RUN(false, SAYS("x"), "go\n", "--mcp", "/no/such.json"), 2);
    has(err_text(), "--mcp: /no/such.json: No such file or directory");
    CHECK_EQ(RUN(false, SAYS("x"), "go\n", "--mcp", servers("echo 'no key is set' >&2; exit 1")), 2);
    has(err_text(), "the server s ended with status 1; its last words: no key is set");
    CHECK_EQ(RUN(false, SAYS("x"), "go\n", "--mcp", file_of("bad.json", "{\"mcpServers\": {\"s\": {\"url\": \"http:"
        "//x\"}}}")), 2);
    has(err_text(), "the server s has a url");
    CHECK_EQ(RUN(false, SAYS("x"), "go\n", "--mcp", "/dev/null"), 2);
    has(err_text(), "it is no regular file");
}

/* Nobody waits a call out: Ctrl-C ends it, and the server hears of it. */
TEST(a_call_that_hangs_is_cancelled)
{
    char seen[600], hangs[2600];
    snprintf(seen, sizeof seen, "%s/seen", check_tmpdir());
    snprintf(hangs, sizeof hangs, "while read -r l; do id=${l#*\\\"id\\\":}; id=${id%%%%,*}\ncase $l in\n"
             "*'\"initialize\"'*) echo '{\"id\":'$id',\"result\":{\"capabilities\":{\"tools\":{}}}}';;\n"
             "*tools/list*) echo '{\"id\":'$id',\"result\":{\"tools\":[{\"name\":\"do\"}]}}';;\n"
             "*tools/call*) echo called >%s;;\n*notifications/cancelled*) echo cancelled >%s.2;;\nesac; "
             "done\n", seen, seen);
    const char *args[] = {"--engine", "scripted", "--script-file",
                          file_of("answers", quoted(SAYS(CALL("s__do", "{}")) SAYS("Well."))), "--no-save",
                          "--mcp", servers(hangs), "--allow", "s__do", NULL};
    child_free(&c);
    child_start(&c, args);
    child_type(&c, "go\n", 3);
    for (int i = 0; i < 600 && access(seen, R_OK); i++) child_look(&c, 50);
    CHECK_EQ(access(seen, R_OK), 0);
    CHECK_EQ(kill(c.pid, SIGINT), 0);
    strcat(seen, ".2");
    for (int i = 0; i < 600 && access(seen, R_OK); i++) child_look(&c, 50);
    CHECK_EQ(access(seen, R_OK), 0);
    child_close_input(&c);
    CHECK_EQ(child_end(&c), 130);
}

TEST(doctor_starts_servers_and_says_what_is_wrong)
{
    const char *args[] = {"doctor", "--mcp", servers(server), NULL};
    child_free(&c);
    child_run(&c, args, "", 0);
    has(out_text(), "1, with 2 tools");
    args[2] = servers("echo 'no key' >&2; exit 1");
    child_free(&c);
    CHECK(child_run(&c, args, "", 0) != 0);
    has(out_text(), "its last words: no key");
}

/* More than the context holds is refused with the figures, not sent cut. */
TEST(tools_that_fill_the_context_are_refused_with_figures)
{
    static const char fat[] =
        "while read -r l; do id=${l#*\\\"id\\\":}; id=${id%%,*}\ncase $l in\n"
        "*'\"initialize\"'*) echo '{\"id\":'$id',\"result\":{\"capabilities\":{\"tools\":{}}}}';;\n"
        "*tools/list*) d=; i=0; while [ $i -lt 200 ]; do i=$((i+1)); d=\"$d many words\"; done\n"
        "t=; i=0; while [ $i -lt 20 ]; do i=$((i+1)); t=\"$t{\\\"name\\\":\\\"t$i\\\",\\\"description\\\":\\\"$d\\\"},"
        "\"; done\n"
        "printf '%s\\n' \"{\\\"id\\\":$id,\\\"result\\\":{\\\"tools\\\":[${t}0]}}\";; esac; done\n";
    CHECK_EQ(RUN(false, SAYS("x"), "go\n", "--mcp", servers(fat)), 3);
    has(err_text(), "the largest part is tools, ");
}

CHECK_MAIN
