/* test_mcp.c - servers of tools: programs of a few lines of sh, good ones and others. */
#include "tests/check.h"
#include "tools/mcp.h"
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What a server says: $n is the number of the message that it read, from 1 on, and $id the one in it. */
#define SERVER(cases)                                                                        \
    "n=0\nwhile read -r l; do n=$((n+1)); id=${l#*\\\"id\\\":}; id=${id%%,*}\ncase $n in\n" cases "\nesac\ndone\n"
#define SAYS(result) "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":'\"$id\"',\"result\":" result "}'\n"
#define HELLO "1) " SAYS("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}") ";;\n"
#define TOOL(name) "{\"name\":\"" name "\",\"description\":\"Does it.\",\"inputSchema\":{\"type\":\"object\"}}"
#define LISTS(tools) "3) " SAYS("{\"tools\":[" tools "]}") ";;\n"
#define ONE_TOOL HELLO LISTS(TOOL("do"))
#define TEXT(words) "{\"content\":[{\"type\":\"text\",\"text\":\"" words "\"}]}"

static struct mcp_config config;
static char *argv_of[4];
static struct mcp_limits limits;

static struct mcp *opened(const char *script, struct err *err)
{
    argv_of[0] = (char *)(uintptr_t) "sh", argv_of[1] = (char *)(uintptr_t) "-c";
    argv_of[2] = (char *)(uintptr_t)script;
    char **tools = config.tools;
    config = (struct mcp_config){.name = "s", .argv = argv_of, .tools = tools};
    if (limits.start_ms == 0) limits = (struct mcp_limits){10000, 10000, 1 << 20, 1 << 16};
    return mcp_open(&config, &limits, err);
}

static struct mcp *good(const char *script)
{
    struct err err = {0};
    struct mcp *m = opened(script, &err);
    if (!m) check_fail(__FILE__, __LINE__, "%s", err.text);
    return m;
}

static void bad(const char *script, const char *words)
{
    struct err err = {0};
    struct mcp *m = opened(script, &err);
    if (m || !strstr(err.text, words)) check_fail(__FILE__, __LINE__, "%s: %s", words, m ? "it opened" : err.text);
}

static void called(struct mcp *m, const char *tool, const char *arguments, bool fails, const char *expected)
{
    struct err err = {0};
    bool failed;
    json_t *a = json_loads(arguments, 0, NULL);
    struct mcp_call *c = mcp_call_start(m, tool, a, &err);
    json_decref(a);
    if (!c) check_fail(__FILE__, __LINE__, "%s", err.text);
    while (!mcp_call_step(c, 100)) {}
    const struct buf *text = mcp_call_text(c, &failed);
    if (failed != fails || strcmp(text->data ? text->data : "", expected) != 0)
        check_fail(__FILE__, __LINE__, "%s %s: %s, not %s", tool, failed ? "failed" : "went "
            "well", text->data, expected);
    mcp_call_close(c);
}

TEST(a_server_says_its_tools_and_answers_calls)
{
    int n;
    struct mcp *m = good(SERVER(HELLO LISTS(TOOL("do.it") ",{\"name\":\"b\",\"title\":\"Short.\"},{\"no\":1},7")
                                "4) printf '%s\\n' \"$l\" >&2\n" SAYS(TEXT("It is \\u00e9 done.")) ";;"));
    const struct mcp_tool *t = mcp_tools(m, &n);
    CHECK_EQ(n, 2);
    CHECK_STR(t[0].name, "s__do_it");
    CHECK_STR(t[0].theirs, "do.it");
    CHECK_STR(t[0].about, "Does it.");
    CHECK_STR(t[1].about, "Short.");
    CHECK_STR(json_string_value(json_object_get(t[1].schema, "type")), "object");
    CHECK_STR(mcp_name(m), "s");
    called(m, "do.it", "{\"a\": [1, {\"b\": null}]}", false, "It is \303\251 done.");
    mcp_close(m);
}

TEST(a_list_of_tools_may_have_pages_and_a_file_names_some)
{
    int n;
    static char *some[] = {(char *)(uintptr_t) "a", (char *)(uintptr_t) "c", NULL};
    static char *none[] = {(char *)(uintptr_t) "a", (char *)(uintptr_t) "x", NULL};
#define PAGES                                                                                          \
    SERVER(HELLO "3) " SAYS("{\"tools\":[" TOOL("a") "," TOOL("b") "],\"nextCursor\":\"p2\"}") ";;\n"   \
           "4) case $l in *'\"cursor\":\"p2\"'*) " SAYS("{\"tools\":[" TOOL("c") "]}") ";; esac;;")
    struct mcp *m = good(PAGES);
    mcp_tools(m, &n);
    CHECK_EQ(n, 3);
    mcp_close(m);
    config.tools = some;
    m = good(PAGES);
    const struct mcp_tool *t = mcp_tools(m, &n);
    CHECK_EQ(n, 2);
    CHECK_STR(t[1].name, "s__c");
    mcp_close(m);
    config.tools = none;
    bad(PAGES, "the server s has no tool x, which its file names");
    config.tools = NULL;
}

TEST(results_of_every_kind_become_a_text)
{
    struct mcp *m = good(SERVER(ONE_TOOL
        "4) " SAYS("{\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"image\",\"data\":\"QUJD\","
        "\"mimeType\":"
                   "\"image/png\"},{\"type\":\"resource_link\",\"uri\":\"file:///x\",\"name\":\"x\"},{\"type\":"
                   "\"resource\","
                   "\"resource\":{\"uri\":\"u:1\",\"text\":\"inside\"}},{\"type\":\"resource\",\"resource\":{\"uri\":"
                   "\"u:2\","
                   "\"mimeType\":\"a/b\",\"blob\":\"QQ==\"}},{\"type\":\"what\"}]}") ";;\n"
        "5) " SAYS("{\"content\":[],\"structuredContent\":{\"sum\":3}}") ";;\n"
        "6) " SAYS("{\"content\":[{\"type\":\"text\",\"text\":\"no luck\"}],\"isError\":true}") ";;\n"
        "7) printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":'\"$id\"',\"error\":{\"code\":-32602,\"message\":\"bad "
        "words\"}}';;\n"
        "8) " SAYS("{}") ";;\n9) " SAYS("{\"content\":\"x\"}") ";;"));
    called(m, "do", "{}", false, "one\n[image image/png, 4 bytes of base64, is left out]\n[x: file:///x]\n[u:"
        "1]\ninside\n"
           "[resource u:2, a/b, 4 bytes of base64, is left out]");
    called(m, "do", "{}", false, "{\"sum\": 3}");
    called(m, "do", "{}", true, "no luck");
    called(m, "do", "{}", true, "error: bad words");
    called(m, "do", "{}", false, "");
    called(m, "do", "{}", false, "");
    mcp_close(m);
}

/* Words that are no message, answers that nobody waits for, and what it asks of us. */
TEST(what_a_server_says_beside_is_passed_over_and_ping_is_answered)
{
    struct mcp *m = good(SERVER(HELLO
        "3) echo Starting up; echo '{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}'; echo '[1,{\"id\":null}]'; echo "
        "'{'; echo\n"
        "echo '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}'\n"
        "echo '{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}'\n"
        "echo '{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\"}'\n"
        SAYS("{\"tools\":[" TOOL("do") "]}") ";;\n"
        "4) p=$l;; 5) q=$l;;\n"
        "6) case $p$q in *'\"id\":\"p\"'*'\"result\":{}'*'\"id\":7'*'-32601'*) " SAYS(TEXT("both")) ";;\n"
        "*) " SAYS(TEXT("neither")) ";; esac;;"));
    called(m, "do", "{}", false, "both");
    mcp_close(m);
}

TEST(a_server_that_does_not_start_is_said_with_its_last_words)
{
    static char *const no_such[] = {(char *)(uintptr_t) "/no/such/program", NULL};
    struct err err = {0};
    bad("echo 'cannot find its key' >&2; exit 3", "the server s ended with status 3; its last words: cannot find its "
        "key");
    bad("kill -9 $$", "the server s was ended by signal 9");
    bad("echo 'usage: s FILE'; exit 2", "its last words: usage: s FILE");
    bad(SERVER("1) echo '{\"id\":'$id',\"error\":{\"message\":\"too old\"}}';;"), "would not start: too old");
    bad(SERVER("1) printf '%s\\n' '{\"id\":'$id',\"error\":{\"message\":\"a\\nb\\u001b[2J\\u00e9\"}}';;"), "would not "
        "start: "
        "a?b?[2J??");
    bad(SERVER(HELLO LISTS(TOOL("do") "," TOOL("do"))), "has two tools named s__do");
    bad(SERVER(HELLO LISTS(TOOL("a123456789012345678901234567890123456789012345678901234567890123456789"))),
        "whose name is too long");
    limits.start_ms = 500;
    bad(SERVER(HELLO "3) echo '{\"id\":'$id',\"result\":{\"tools\":[';;"), "did not say its tools within 0.5 s");
    config = (struct mcp_config){.name = "s", .argv = (char **)(uintptr_t)no_such};
    CHECK(mcp_open(&config, &limits, &err) == NULL);
    CHECK(strstr(err.text, "the server s cannot be started: /no/such/program: No such file") != NULL);
    limits.start_ms = 0;
}

/* Its own variables count; of what it says of a tool so much is told as a list can bear. */
TEST(a_server_has_its_own_variables_and_long_words_are_cut)
{
    static char *const env[] = {(char *)(uintptr_t) "PLIMSOLL_T=own", NULL};
    struct err err = {0};
    int n;
    setenv("PLIMSOLL_T", "ours", 1);
    argv_of[2] = (char *)(uintptr_t)SERVER(HELLO
        "3) d=x; i=0; while [ $i -lt 12 ]; do i=$((i+1)); d=\"$d$d\"; done\n"
        "printf '%s\\n' '{\"id\":'$id',\"result\":{\"tools\":[{\"name\":\"do\",\"description\":"
        "\"'\"$d\"'\\u00e9\\u00e9\"}]}}';;\n"
        "4) " SAYS(TEXT("'$(tr '\\0' '\\n' </proc/$$/environ | grep -c PLIMSOLL_T)$PLIMSOLL_T'")) ";;");
    config = (struct mcp_config){.name = "s", .argv = argv_of, .env = (char **)(uintptr_t)env};
    limits = (struct mcp_limits){10000, 10000, 1 << 20, 1 << 16};
    struct mcp *m = mcp_open(&config, &limits, &err);
    if (!m) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_EQ(strlen(mcp_tools(m, &n)[0].about), MCP_ABOUT);
    called(m, "do", "{}", false, "1own");
    mcp_close(m);
}

TEST(a_schema_that_is_too_long_is_refused)
{
    bad(SERVER(HELLO "3) d=x; i=0; while [ $i -lt 17 ]; do i=$((i+1)); d=\"$d$d\"; done\n"
               "printf '%s\\n' '{\"id\":'$id',\"result\":{\"tools\":[{\"name\":\"do\",\"inputSchema\":{\"title\":"
               "\"'\"$d\"'\"}}]}}';;"),
        "says more than 65536 bytes of its tool s__do");
}

TEST(more_tools_than_there_is_room_for_are_refused)
{
    bad(SERVER(HELLO "3) t=; i=0; while [ $i -lt 65 ]; do i=$((i+1)); t=\"$t{\\\"name\\\":\\\"t$i\\\"},\"; done\n"
               "printf '%s\\n' \"{\\\"id\\\":$id,\\\"result\\\":{\\\"tools\\\":[${t}1]}}\";;"),
        "has more than 64 tools: name those that are wanted");
}

TEST(a_call_has_an_end)
{
    struct err err = {0};
    limits = (struct mcp_limits){10000, 300, 4000, 100};
    struct mcp *m = good(SERVER(ONE_TOOL "4) :;; 5) case $l in *notifications/cancelled*) c=yes;; esac;;\n"
                                "6) " SAYS(TEXT("'$c'")) ";;\n"
                                "7) i=0; t=; while [ $i -lt 40 ]; do i=$((i+1)); t=\"$t \\u00e9\"; done\n"
                                "printf '%s\\n' '{\"id\":'$id',\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
                                "\"'\"$t\"'\"}]}}';;\n"
                                "8) i=0; while [ $i -lt 500 ]; do i=$((i+1)); printf 0123456789; done; echo;;\n"));
    called(m, "do", "{}", true, "error: stopped after 0.3 s");
    called(m, "do", "{}", false, "yes");
    json_t *none = json_object();
    struct mcp_call *c = mcp_call_start(m, "do", none, &err);
    bool failed;
    while (!mcp_call_step(c, 100)) {}
    const struct buf *text = mcp_call_text(c, &failed);
    CHECK(failed && text->len < 160 && strstr(text->data, "\nerror: stopped at 100 bytes of output"));
    mcp_call_close(c);
    c = mcp_call_start(m, "do", none, &err);
    while (!mcp_call_step(c, 100)) {}
    CHECK(strstr(mcp_call_text(c, &failed)->data, "error: the server s sent a message of more than 4000 bytes"));
    mcp_call_close(c);
    json_decref(none);
    mcp_close(m);
    limits.start_ms = 0;
}

/* It is there again for the next call, without a word from anybody. */
TEST(a_server_that_died_is_started_again)
{
    struct mcp *m = good(SERVER("1) [ -e $0 ] || :\n" SAYS("{\"capabilities\":{\"tools\":{}}}") ";;\n"
                                "3) case $l in *tools/list*) " SAYS("{\"tools\":[" TOOL("do") "]}") ";;\n"
                                "*) " SAYS(TEXT("again")) ";; esac;;\n"
                                "4) echo 'out of luck' >&2; exit 7;;"));
    called(m, "do", "{}", true, "error: the server s ended with status 7; its last words: out of luck");
    called(m, "do", "{}", false, "again");
    mcp_close(m);
}

TEST(calls_may_run_beside_each_other)
{
    struct err err = {0};
    bool failed;
    struct mcp *m = good(SERVER(ONE_TOOL "4) first=$id;;\n5) "
        "" SAYS(TEXT("second")) "id=$first\n" SAYS(TEXT("first")) ";;"));
    json_t *none = json_object();
    struct mcp_call *a = mcp_call_start(m, "do", none, &err), *b = mcp_call_start(m, "do", none, &err);
    while (!mcp_call_step(a, 100)) {}
    CHECK(mcp_call_step(b, 0));
    CHECK_STR(mcp_call_text(a, &failed)->data, "first");
    CHECK_STR(mcp_call_text(b, &failed)->data, "second");
    mcp_call_close(a);
    mcp_call_close(b);
    a = mcp_call_start(m, "do", none, &err);
    mcp_call_cancel(a);
    CHECK(mcp_call_step(a, 0));
    CHECK_STR(mcp_call_text(a, &failed)->data, "error: cancelled");
    mcp_call_close(a);
    json_decref(none);
    mcp_close(m);
}

/* What a server started goes with it; one that does not listen goes all the same. */
TEST(a_server_ends_with_the_program_that_started_it)
{
    char path[600];
    struct buf script = {0};
    snprintf(path, sizeof path, "%s/pid", check_tmpdir());
    buf_printf(&script, "trap '' TERM; sleep 100 & echo $! >%s\n", path);
    buf_puts(&script, SERVER(ONE_TOOL) "wait");
    struct mcp *m = good(script.data);
    const time_t began = time(NULL);
    mcp_close(m);
    CHECK(time(NULL) - began < 8);
    FILE *f = fopen(path, "r");
    int pid = 0;
    CHECK(f && fscanf(f, "%d", &pid) == 1);
    fclose(f);
    for (int i = 0; i < 100 && kill(pid, 0) == 0; i++) usleep(20000);
    CHECK(kill(pid, 0) != 0);
    buf_free(&script);
}

/* ------------------------------------------------------------------ the file */

static const char *get(const char *name) { return strcmp(name, "KEY") == 0 ? "k-1" : NULL; }

static void read_bad(const char *text, const char *words)
{
    struct mcp_list l;
    struct err err = {0};
    if (mcp_read_list(text, strlen(text), get, &l, &err) == 0 || !strstr(err.text, words))
        check_fail(__FILE__, __LINE__, "%s: %s, not %s", text, err.text, words);
}

TEST(a_file_of_servers_is_read_as_clients_write_it)
{
    struct mcp_list l;
    struct err err = {0};
    static const char text[] =
        "{\"mcpServers\": {\"git-hub\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"-y\", \"x@${V:"
        "-1}${KEY}:-}\"],"
        " \"env\": "
        "{\"TOKEN\": \"${KEY}\"}, \"cwd\": \"/tmp\", \"autoApprove\": [\"all\"], \"tools\": [\"a\", \"b\"]},"
        "\"off\": {\"command\": \"y\", \"disabled\": true}, \"b\": {\"command\": \"z\", \"tools\": [\"*\"]}}}";
    CHECK_EQ(mcp_read_list(text, strlen(text), get, &l, &err), 0);
    CHECK_EQ(l.n, 2);
    CHECK_STR(l.server[0].name, "git-hub");
    CHECK_STR(l.server[0].argv[0], "npx");
    CHECK_STR(l.server[0].argv[2], "x@1k-1:-}");
    CHECK(l.server[0].argv[3] == NULL);
    CHECK_STR(l.server[0].env[0], "TOKEN=k-1");
    CHECK_STR(l.server[0].cwd, "/tmp");
    CHECK_STR(l.server[0].tools[1], "b");
    CHECK(l.server[1].tools == NULL && l.server[1].env == NULL);
    mcp_list_free(&l);
    static const char other[] = "{\"servers\": {}}";
    CHECK_EQ(mcp_read_list(other, strlen(other), get, &l, &err), 0);
    CHECK_EQ(l.n, 0);
    read_bad("{", "line 1, column 1");
    read_bad("{\"mcpServers\": []}", "no object \"mcpServers\"");
    read_bad("{\"mcpServers\": {\"a b\": {\"command\": \"x\"}}}", "\"a b\" is no name of a server");
    read_bad("{\"mcpServers\": {\"a\\n\\u001b[2J\": {}}}", "\"a??[2J\" is no name of a server");
    read_bad("{\"mcpServers\": {\"a\": 1}}", "the server a is to be an object");
    read_bad("{\"mcpServers\": {\"a\": {}}}", "the server a: command is to be a text");
    read_bad("{\"mcpServers\": {\"a\": {\"command\": \"\"}}}", "command is empty");
    read_bad("{\"mcpServers\": {\"a\": {\"url\": \"http://x\"}}}", "the server a has a url");
    read_bad("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": \"y\"}}}", "args is to be a list of texts");
    read_bad("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [\"y\", 1]}}}", "args is to be a text");
    read_bad("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A=B\": \"c\"}}}}", "env has a name that is "
        "none");
    read_bad("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A\": 1}}}}", "env");
    read_bad("{\"mcpServers\": {\"a\": {\"command\": \"${NONE}\"}}}", "wants the variable NONE, which is not set");
}

CHECK_MAIN
