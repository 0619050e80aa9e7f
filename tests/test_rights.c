/* Who may do what: lists of the command line, what asks, what a grant covers, and that rights only shrink. */
#include "tests/check.h"
#include "tools/rights.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct err err;

static const char *work(void)
{
    static char path[512];
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/work", check_tmpdir());
        CHECK_EQ(mkdir(path, 0755), 0);
    }
    return path;
}

static struct rights *open_with(const char *tools, const char *allow, bool person)
{
    err = (struct err){0};
    return rights_open(&(struct rights_config){tools, allow, work(), person}, &err);
}

/* The verdict; the ticket, if there is one, goes to *keep or is freed. */
static enum rights_verdict judged(struct rights *r, const char *tool, const char *arguments, struct tool_ticket **keep)
{
    struct tool_ticket *t = NULL;
    err = (struct err){0};
    enum rights_verdict v = rights_check(r, tool, arguments, &t, &err);
    CHECK_EQ(t != NULL, v == RIGHTS_ALLOWED || v == RIGHTS_ASK);
    CHECK_EQ(err.text[0] == '\0', t != NULL);
    CHECK(!strchr(err.text, '\n'));
    if (keep) *keep = t;
    else ticket_free(t);
    return v;
}

static enum rights_verdict shell(struct rights *r, const char *command, struct tool_ticket **keep)
{
    json_t *v = json_pack("{s:s}", "command", command);
    char *text = json_dumps(v, 0);
    enum rights_verdict verdict = judged(r, "shell", text, keep);
    free(text);
    json_decref(v);
    return verdict;
}

#define WRITE "{\"path\":\"a\",\"text\":\"x\"}"
#define EDIT "{\"path\":\"a\",\"old\":\"x\",\"new\":\"y\"}"

/* ---------------------------------------------------------------- the command line */

TEST(rights_lists_are_taken_whole_or_refused_by_name)
{
    static const struct { const char *tools, *allow, *part; } bad[] = {
        {"reed", NULL, "--tools: no tool \"reed\"; there are read, write, edit"},
        {"read,,list", NULL, "--tools: a name is missing"},
        {"", NULL, "--tools: a name is missing"},
        {"read, list", NULL, "--tools: no tool \" list\""},
        {"\x1b[2J", NULL, "\"\\x1b[2J\""},
        {"read", "write", "--allow: write is not among --tools"},
        {"read", "shell:git", "--allow: shell is not among --tools"},
        {"all", "all", "--allow: all is not a right"},
        {"all", "read,shell", "--allow: shell is never allowed as a whole"},
        {"all", "shell:", "--allow: shell: is no program"},
        {"all", "shell:all\n", "--allow: shell:all\\n is no program"},
        {"all", "shell:sh", "--allow: shell:sh is no program's plain name, or one that runs any other"},
        {"all", "shell:./x", "--allow: shell:./x is no program"},
        {"all", "shell:/bin/ls", "--allow: shell:/bin/ls is no program"},
        {"all", "shell:git status", "--allow: shell:git status is no program"},
        {"all", ".git,", "--allow: a name is missing"},
        {"all", ".git/hooks", "--allow: no tool \".git/hooks\""},
        {".git", NULL, "--tools: no tool \".git\""},
        {"all", "write:a", "--allow: no tool \"write:a\""},
        {"all", "write,", "--allow: a name is missing"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK(!open_with(bad[i].tools, bad[i].allow, true));
        if (!strstr(err.text, bad[i].part)) CHECK_STR(err.text, bad[i].part);
    }
    CHECK(!rights_open(&(struct rights_config){.workspace = "/nowhere/at/all"}, &err));
    CHECK_STR(err.text, "--workspace: /nowhere/at/all: No such file or directory");
    char gone[300]; /* the current one, by nobody's flag */
    const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(gone, sizeof gone, "%s/gone", check_tmpdir());
    CHECK(here >= 0 && mkdir(gone, 0700) == 0 && chdir(gone) == 0 && rmdir(gone) == 0);
    CHECK(!rights_open(&(struct rights_config){0}, &err));
    CHECK(fchdir(here) == 0 && close(here) == 0);
    CHECK_STR(err.text, "the folder that this was started in cannot be opened: No such file or directory; start it in "
                        "another, or name one with --workspace");
}

TEST(rights_take_only_so_many_programs)
{
    struct buf list = {0};
    buf_puts(&list, "shell:p0");
    for (int i = 1; i < RIGHTS_PROGRAMS; i++) buf_printf(&list, ",shell:p%d", i);
    buf_puts(&list, ",shell:p3");
    struct rights *r = open_with("shell", list.data, true);
    CHECK(r);
    struct tool_ticket *t;
    CHECK_EQ(shell(r, "p63 x", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(shell(r, "p64 x", &t), RIGHTS_ASK);
    CHECK_EQ(rights_grant(t, true, &err), -1);
    CHECK_STR(err.text, "more than 64 programs are allowed already");
    CHECK_EQ(ticket_check(t, &err), -1);
    ticket_free(t);
    rights_close(r);
    buf_puts(&list, ",shell:p64");
    CHECK(!open_with("shell", list.data, true));
    CHECK_STR(err.text, "--allow: more than 64 programs");
    buf_free(&list);
}

TEST(rights_of_nothing_given_allow_nothing)
{
    struct rights *r = open_with(NULL, NULL, true);
    for (int i = 0; i < tools_count(); i++) {
        CHECK_EQ(judged(r, tool_at(i)->name, "{}", NULL), RIGHTS_DENIED);
        CHECK(strstr(err.text, "--tools"));
        CHECK(!rights_on(r, tool_at(i)->name));
    }
    rights_close(r);
}

/* What a server has is asked for, call by call, unless it, or all of that server's, is allowed. */
TEST(rights_of_a_servers_tools)
{
    struct tool_ticket *t;
    struct buf shown = {0};
    CHECK_EQ(tool_add("read"), -1);
    CHECK_EQ(tool_add("s__a") | tool_add("s__b") | tool_add("s2__a"), 0);
    CHECK_EQ(tool_add("s__b"), -1);
    struct rights *r = open_with("s__a,s__b,s2__a,read", "s__*", true);
    CHECK_EQ(judged(r, "s__a", "{}", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(judged(r, "s__b", "{}", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(judged(r, "s2__a", "{\"q\":\"x\"}", &t), RIGHTS_ASK);
    CHECK_STR(rights_scope(t), "s2__a");
    CHECK_EQ(rights_show(t, 9, &shown, &err), 0);
    CHECK_STR(shown.data, "s2__a\n  q: x\nby its server, which no jail holds; its result may take 9 tokens of the "
        "context\n");
    CHECK_EQ(rights_grant(t, true, &err), 0);
    ticket_free(t);
    CHECK_EQ(judged(r, "s2__a", "{}", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(rights_drop(r, "s2__a", &err), 0);
    CHECK_EQ(judged(r, "s2__a", "{}", NULL), RIGHTS_DENIED);
    rights_close(r);
    CHECK(!open_with("read", "s__a", true));
    CHECK_STR(err.text, "--allow: s__a is not among --tools");
    CHECK(!open_with("read", "s9__*", true));
    CHECK(strstr(err.text, "no tool \"s9__*\"") != NULL);
    tools_forget();
    CHECK(!tool_find("s__a") && tool_find("read"));
    buf_free(&shown);
}

/* ---------------------------------------------------------------- verdicts */

TEST(rights_reading_is_allowed_and_the_rest_asks_or_is_denied)
{
    static const struct { const char *tool, *arguments; bool free; } call[] = {
        {"read", "{\"path\":\"a\"}", true}, {"list", "{\"path\":\".\"}", true},
        {"search", "{\"pattern\":\"a\",\"path\":\".\"}", true}, {"calculator", "{\"expression\":\"1\"}", true},
        {"recall", "{\"query\":\"a\"}", true}, {"artifact", "{\"id\":\"a1\",\"offset\":0}", true},
        {"ask", "{\"question\":\"a\"}", true}, {"write", WRITE, false}, {"edit", EDIT, false},
        {"shell", "{\"command\":\"ls\"}", false}, {"shell", "{\"command\":7}", false}, {"shell", "{}", false},
    };
    struct rights *asks = open_with("all", NULL, true), *alone = open_with("all", NULL, false);
    for (size_t i = 0; i < COUNT_OF(call); i++) {
        CHECK_EQ(judged(asks, call[i].tool, call[i].arguments, NULL), call[i].free ? RIGHTS_ALLOWED : RIGHTS_ASK);
        CHECK_EQ(judged(alone, call[i].tool, call[i].arguments, NULL), call[i].free ? RIGHTS_ALLOWED : RIGHTS_DENIED);
        CHECK(call[i].free || strstr(err.text, "--allow"));
    }
    rights_close(asks);
    rights_close(alone);
}

TEST(rights_allow_what_the_command_line_lists)
{
    struct rights *r = open_with("all", "write,shell:git,shell:make", false);
    CHECK_EQ(judged(r, "write", WRITE, NULL), RIGHTS_ALLOWED);
    CHECK_EQ(judged(r, "edit", EDIT, NULL), RIGHTS_DENIED);
    CHECK_EQ(shell(r, "git log -n 3", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(shell(r, "make", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(shell(r, "rm -rf .", NULL), RIGHTS_DENIED);
    CHECK_STR(err.text, "denied: nobody can be asked, and --allow does not list shell:rm");
    CHECK_EQ(shell(r, "git log; rm -rf .", NULL), RIGHTS_DENIED);
    CHECK_EQ(shell(r, "gitx", NULL), RIGHTS_DENIED);
    CHECK_EQ(shell(r, "gi", NULL), RIGHTS_DENIED);
    rights_close(r);
}

/* Whoever allows the call: a person is not asked for what would fail. */
TEST(rights_to_what_is_gits_own_are_given_on_the_command_line_alone)
{
    static const char hook[] = "{\"path\":\".git\",\"text\":\"x\"}";
    struct buf out = {0};
    struct tool_ticket *t;
    for (int listed = 0; listed < 2; listed++) {
        struct rights *r = open_with("all", listed ? "shell:git,.git" : "shell:git", true);
        CHECK_EQ(shell(r, "git log", &t), RIGHTS_ALLOWED);
        CHECK_EQ(ticket_git(t), listed);
        ticket_free(t);
        CHECK_EQ(judged(r, "write", hook, &t), RIGHTS_ASK);
        CHECK_EQ(rights_grant(t, true, &err), 0);
        CHECK_EQ(ticket_git(t), listed);
        CHECK_EQ(rights_show(t, 0, &out, &err), listed - 1);
        if (!listed) CHECK_STR(err.text, ".git is not allowed: it is git's own (--allow .git)");
        ticket_free(t);
        rights_close(r);
    }
    buf_free(&out);
}

TEST(rights_what_is_no_call_is_told_from_what_is_denied)
{
    struct rights *r = open_with("all", NULL, false);
    static const char *const bad[] = {"", "x", "[]", "\"a\"", "{", "{} {}", "{\"path\":\"a\",\"path\":\"b\"}",
                                      "{\"path\":\"a\\u0000b\"}", "{\"path\":\"\xff\"}", "{\"path\":\"a\nb\"}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) CHECK_EQ(judged(r, "read", bad[i], NULL), RIGHTS_INVALID);
    CHECK_EQ(judged(r, "rm\x1b", "{}", NULL), RIGHTS_INVALID);
    CHECK(strncmp(err.text, "no tool \"rm\\x1b\"; there are read", 31) == 0);
    struct buf deep = {0}, wide = {0};
    for (int i = 0; i < 50000; i++) buf_puts(&deep, "[");
    CHECK_EQ(judged(r, "read", deep.data, NULL), RIGHTS_INVALID);
    buf_puts(&wide, "{\"path\":\"");
    while (wide.len < RIGHTS_CALL_MAX - 2) buf_puts(&wide, "a");
    buf_puts(&wide, "\"}");
    CHECK_EQ(judged(r, "read", wide.data, NULL), RIGHTS_ALLOWED);
    buf_puts(&wide, " ");
    CHECK_EQ(judged(r, "read", wide.data, NULL), RIGHTS_INVALID);
    const struct rights_denial *list;
    uint64_t more;
    CHECK_EQ(rights_denied(r, &list, &more), 0);
    buf_free(&deep);
    buf_free(&wide);
    rights_close(r);
}

/* ---------------------------------------------------------------- commands */

TEST(rights_program_is_strict)
{
    static const char *const good[] = {"git", "git log --oneline -n 3", "  make  -j2 all ", "ls 'a b;c|d&e$f`g'",
                                       "grep -n \"a b;(c)*\" x.c", "cc -DX=1 -o a a.c", "git a''b\"c\"", "g++ @list",
                                       "grep '\xc3\xa4' f", "python3.11 x.py"};
    static const char *const bad[] = {
        "", " ", "a;b", "a&&b", "a|b", "a&", "a\nb", "a\rb", "a\tb", "a $(b)", "a `b`", "a <b", "a >b", "a $b",
        "a *", "a ?", "a [b]", "a {b,c}", "a ~", "a \\\nb", "a\\;b", "X=1 a", "X+=1 a", "a #b", "a !b", "! a", "(a)",
        "a()", "a 'b", "a \"b", "a \"$b\"", "a \"`b`\"", "a \"b\\\"c\"", "a 'b\nc'", "a \"\x1b\"", "'git' log",
        "\"git\"", "gi't' log", "./a", "/bin/git", "a/b", "-a", "+a", "sh -c a", "bash", "env git", "xargs git",
        "exec git", "eval git", "command git", ". a", "source a", "time git", "if git", "{ git", "sudo git",
        "flock f git", "setpriv git", "runuser -c git", "unbuffer git", "pwsh -c git",
        "nice git", "busybox sh", "g\xc3\xa4t", "git \xc2\xa0", "git a^b", "%1", "~/a", "$a", "a\x7f"};
    char name[RIGHTS_PROGRAM_MAX];
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!rights_program(good[i], name)) check_fail(__FILE__, __LINE__, "should be one: %s", good[i]);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (rights_program(bad[i], name)) check_fail(__FILE__, __LINE__, "should be none: %s", bad[i]);
    CHECK(rights_program("  git  log", name));
    CHECK_STR(name, "git");
    char longest[RIGHTS_PROGRAM_MAX + 1];
    memset(longest, 'a', sizeof longest);
    longest[RIGHTS_PROGRAM_MAX] = '\0';
    CHECK(!rights_program(longest, name));
    longest[RIGHTS_PROGRAM_MAX - 1] = '\0';
    CHECK(rights_program(longest, name));
}

/* What sh makes of it: PATH has one program, p, which writes its words, each in < >, and a newline. */
static void words_by_sh(const char *command, const char *log)
{
    unlink(log);
    pid_t pid = fork();
    if (pid == 0) {
        char *const env[] = {(char[]){"PATH=."}, NULL};
        CHECK_EQ(chdir(work()), 0);
        for (int fd = 0; fd < 3; fd++) CHECK(dup2(open("/dev/null", O_RDWR), fd) == fd);
        execle("/bin/sh", "sh", "-c", command, (char *)NULL, env);
        _exit(9);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
}

/* The same by hand, for a command that rights_program() has taken. */
static void words_by_hand(const char *s, struct buf *out)
{
    char quote = 0;
    bool word = false, first = true;
    for (; *s || word; s++) {
        if (!*s || (*s == ' ' && !quote)) {
            if (word && !first) buf_puts(out, ">");
            first = first && !word;
            word = false;
            if (!*s) break;
            continue;
        }
        if (!word && !first) buf_puts(out, "<");
        word = true;
        if (quote ? *s == quote : *s == '\'' || *s == '"') quote = quote ? 0 : *s;
        else if (!first) buf_put(out, s, 1);
    }
    buf_puts(out, "\n");
}

static void put_program(void)
{
    char path[600];
    static const char text[] = "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done >>log\necho >>log\n";
    snprintf(path, sizeof path, "%s/p", work());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    CHECK_EQ(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
}

/* A command that is taken runs its program once, with these very words, whatever a shell could make of the bytes. */
TEST(rights_program_means_what_a_shell_does)
{
    enum { WANTED = 150 };
    static const char *const piece[] = {
        " ", " ", "a", "p", "'", "\"", "aa", "-", "=", ";", "|", "&", "$", "`", "(", ")", "<", ">", "*", "?", "[a]",
        "{a,p}", "~", "#", "!", "\\", "\n", "\t", "%", "@", ":"};
    char log[600], name[RIGHTS_PROGRAM_MAX];
    snprintf(log, sizeof log, "%s/log", work());
    put_program();
    uint64_t x = 7;
    int taken = 0, tried = 0;
    for (; taken < WANTED && tried < 1000000; tried++) {
        char command[64] = "p ";
        for (int i = 0; i < 7; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            strcat(command, piece[(x >> 33) % COUNT_OF(piece)]);
        }
        if (!rights_program(command, name) || strcmp(name, "p") != 0) continue;
        taken++;
        struct buf by_hand = {0};
        char by_sh[256] = "";
        words_by_sh(command, log);
        words_by_hand(command, &by_hand);
        int fd = open(log, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0 && read(fd, by_sh, sizeof by_sh - 1) > 0);
        close(fd);
        if (strcmp(by_sh, by_hand.data) != 0) fprintf(stderr, "command: %s\n", command);
        CHECK_STR(by_sh, by_hand.data);
        buf_free(&by_hand);
    }
    CHECK_EQ(taken, WANTED);
    CHECK(tried > 2 * WANTED);
}

/* ---------------------------------------------------------------- grants */

TEST(rights_once_is_for_this_call_alone)
{
    struct rights *r = open_with("all", NULL, true);
    struct tool_ticket *t;
    CHECK_EQ(shell(r, "git log", &t), RIGHTS_ASK);
    CHECK_EQ(ticket_check(t, &err), -1);
    CHECK_STR(err.text, "shell was not allowed");
    CHECK_EQ(rights_grant(t, false, &err), 0);
    CHECK_EQ(ticket_check(t, &err), 0);
    ticket_free(t);
    CHECK_EQ(shell(r, "git log", NULL), RIGHTS_ASK);
    rights_close(r);
}

TEST(rights_of_a_session_bind_tool_program_and_workspace)
{
    struct rights *r = open_with("all", NULL, true), *other;
    struct tool_ticket *t, *waits, *waits_too;
    char scope[700];
    CHECK_EQ(shell(r, "git push", &waits), RIGHTS_ASK);
    CHECK_EQ(shell(r, "git push; make", &waits_too), RIGHTS_ASK);
    CHECK_EQ(shell(r, "git log", &t), RIGHTS_ASK);
    snprintf(scope, sizeof scope, "git by shell, in %s", rights_workspace(r));
    CHECK_STR(rights_scope(t), scope);
    CHECK_EQ(rights_grant(t, true, &err), 0);
    CHECK_EQ(ticket_check(waits, &err), 0);
    CHECK_EQ(ticket_check(waits_too, &err), -1);
    ticket_free(t), ticket_free(waits), ticket_free(waits_too);
    CHECK_EQ(shell(r, "git diff 'a b'", NULL), RIGHTS_ALLOWED);
    CHECK_EQ(shell(r, "git diff | sh", NULL), RIGHTS_ASK);
    CHECK_EQ(shell(r, "make", NULL), RIGHTS_ASK);
    CHECK_EQ(judged(r, "write", WRITE, &t), RIGHTS_ASK);
    CHECK_EQ(rights_grant(t, true, &err), 0);
    ticket_free(t);
    CHECK_EQ(judged(r, "write", WRITE, NULL), RIGHTS_ALLOWED);
    CHECK_EQ(judged(r, "edit", EDIT, NULL), RIGHTS_ASK);
    other = rights_open(&(struct rights_config){"all", NULL, check_tmpdir(), true}, &err);
    CHECK_EQ(shell(other, "git log", NULL), RIGHTS_ASK);
    CHECK_EQ(judged(other, "write", WRITE, NULL), RIGHTS_ASK);
    rights_close(other);
    rights_close(r);
}

TEST(rights_of_all_of_shell_are_never_offered)
{
    struct rights *r = open_with("all", NULL, true);
    static const char *const any[] = {"git log | less", "sh", "env git", "./x", "X=1 git"};
    struct tool_ticket *t;
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        CHECK_EQ(shell(r, any[i], &t), RIGHTS_ASK);
        CHECK(!rights_scope(t));
        CHECK_EQ(rights_grant(t, true, &err), -1);
        CHECK_STR(err.text, "this command can be allowed once, and not for the session");
        CHECK_EQ(ticket_check(t, &err), -1);
        CHECK_EQ(rights_grant(t, false, &err), 0);
        CHECK_EQ(ticket_check(t, &err), 0);
        ticket_free(t);
        CHECK_EQ(shell(r, any[i], NULL), RIGHTS_ASK);
    }
    rights_close(r);
}

TEST(rights_cannot_be_granted_where_nobody_is)
{
    struct rights *r = open_with("all", "shell:git", false);
    struct tool_ticket *t;
    CHECK_EQ(shell(r, "git log", &t), RIGHTS_ALLOWED);
    CHECK_EQ(rights_grant(t, true, &err), -1);
    CHECK_STR(err.text, "nobody is there who could allow it");
    ticket_free(t);
    rights_close(r);
}

TEST(rights_dropped_do_not_come_back)
{
    struct rights *r = open_with("read,write,shell", "shell:git,write", true);
    struct tool_ticket *ready, *waits;
    CHECK_EQ(shell(r, "git log", &ready), RIGHTS_ALLOWED);
    CHECK_EQ(shell(r, "make", &waits), RIGHTS_ASK);
    CHECK_EQ(rights_drop(r, "shell", &err), 0);
    CHECK_EQ(ticket_check(ready, &err), -1);
    CHECK_STR(err.text, "shell is off");
    CHECK_EQ(rights_grant(waits, false, &err), -1);
    CHECK_EQ(rights_grant(waits, true, &err), -1);
    ticket_free(ready), ticket_free(waits);
    CHECK_EQ(shell(r, "git log", NULL), RIGHTS_DENIED);
    CHECK(!rights_on(r, "shell") && rights_on(r, "write"));
    CHECK_EQ(judged(r, "write", WRITE, NULL), RIGHTS_ALLOWED);
    CHECK_EQ(rights_drop(r, "all", &err), -1);
    rights_close(r);
}

/* ---------------------------------------------------------------- what is approved is what runs */

TEST(rights_ticket_has_its_own_copy)
{
    struct rights *r = open_with("all", "write", false);
    char arguments[] = "{\"path\":\"good\",\"text\":\"x\"}";
    struct tool_ticket *t;
    CHECK_EQ(judged(r, "write", arguments, &t), RIGHTS_ALLOWED);
    memcpy(strstr(arguments, "good"), "evil", 4);
    CHECK_STR(json_string_value(json_object_get(ticket_arguments(t), "path")), "good");
    CHECK_STR(ticket_tool(t)->name, "write");
    ticket_free(t);
    rights_close(r);
}

TEST(rights_end_with_their_folder)
{
    char path[512], away[512];
    snprintf(path, sizeof path, "%s/other", check_tmpdir());
    snprintf(away, sizeof away, "%s/away", check_tmpdir());
    CHECK_EQ(mkdir(path, 0755), 0);
    struct rights *r = rights_open(&(struct rights_config){"read", NULL, path, false}, &err);
    struct tool_ticket *t;
    CHECK_EQ(judged(r, "read", "{\"path\":\"a\"}", &t), RIGHTS_ALLOWED);
    CHECK_EQ(ticket_check(t, &err), 0);
    CHECK_EQ(rename(path, away), 0);
    CHECK_EQ(ticket_check(t, &err), -1);
    CHECK_EQ(symlink("/", path), 0);
    CHECK_EQ(ticket_check(t, &err), -1);
    CHECK(strstr(err.text, "is not the folder that it was"));
    ticket_free(t);
    rights_close(r);
}

TEST(rights_show_every_byte_escaped)
{
    struct rights *r = open_with("all", NULL, true);
    struct tool_ticket *t;
    struct buf out = {0};
    char want[900];
    CHECK_EQ(shell(r, "ls\x1b[2J\xe2\x80\xae" "cod.exe\xe2\x80\x8b\nrm -rf .", &t), RIGHTS_ASK);
    CHECK_EQ(rights_show(t, 2048, &out, &err), 0);
    snprintf(want, sizeof want, "shell\n  command: ls\\x1b[2J\\u{202e}cod.exe\\u{200b}\\nrm -rf .\n"
             "in %s; its result may take 2048 tokens of the context\n", rights_workspace(r));
    CHECK_STR(out.data, want);
    ticket_free(t);
    out.len = 0;
    CHECK_EQ(judged(r, "write", WRITE, &t), RIGHTS_ASK);
    CHECK_EQ(rights_show(t, 0, &out, &err), 0);
    snprintf(want, sizeof want, "write a (a new file): 1 line, 1 byte\n  + x\n    (no newline at the end)\nin %s\n",
             rights_workspace(r));
    CHECK_STR(out.data, want);
    ticket_free(t);
    buf_free(&out);
    rights_close(r);
}

TEST(rights_show_leaves_nothing_out)
{
    struct rights *r = open_with("all", NULL, true);
    struct tool_ticket *t;
    struct buf call = {0}, out = {0};
    buf_puts(&call, "{\"path\":\"a\",\"text\":\"");
    while (call.len < RIGHTS_CALL_MAX - 20) buf_puts(&call, "a");
    buf_puts(&call, "the end\"}");
    CHECK_EQ(judged(r, "write", call.data, &t), RIGHTS_ASK);
    CHECK_EQ(rights_show(t, 0, &out, &err), 0);
    CHECK(strstr(out.data, "athe end\n") && !strstr(out.data, "not shown"));
    ticket_free(t);
    size_t was = out.len;
    CHECK_EQ(judged(r, "edit", EDIT, &t), RIGHTS_ASK); /* no such file: there is nothing to ask */
    CHECK_EQ(rights_show(t, 0, &out, &err), -1);
    CHECK_STR(err.text, "no such file: a");
    CHECK_EQ(out.len, was);
    ticket_free(t);
    buf_free(&call);
    buf_free(&out);
    rights_close(r);
}

/* ---------------------------------------------------------------- denials */

TEST(rights_denials_are_counted_and_listed)
{
    struct rights *r = open_with("all", NULL, true);
    struct tool_ticket *t;
    const struct rights_denial *list;
    uint64_t more;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(shell(r, "rm \x1b[2J", &t), RIGHTS_ASK);
        rights_deny(t, &err);
        CHECK_STR(err.text, "denied by the user");
    }
    CHECK_EQ(judged(r, "write", WRITE, &t), RIGHTS_ASK);
    rights_deny(t, &err);
    CHECK_EQ(rights_drop(r, "read", &err), 0);
    CHECK_EQ(judged(r, "read", WRITE, NULL), RIGHTS_DENIED);
    CHECK_EQ(rights_denied(r, &list, &more), 3);
    CHECK_STR(list[0].tool, "shell");
    CHECK_STR(list[0].shown, "{\"command\":\"rm \\\\u001B[2J\"}");
    CHECK_EQ(list[0].times, 3);
    CHECK_STR(list[1].tool, "write");
    CHECK_EQ(list[1].times, 1);
    CHECK_STR(list[2].tool, "read");
    CHECK_EQ(more, 0);
    rights_close(r);
}

TEST(rights_denials_are_bounded)
{
    struct rights *r = open_with("shell", NULL, false);
    const struct rights_denial *list;
    uint64_t more;
    for (int i = 0; i < RIGHTS_DENIALS + 36; i++) {
        char command[400];
        snprintf(command, sizeof command, "rm %d-%0300d", i, 0);
        CHECK_EQ(shell(r, command, NULL), RIGHTS_DENIED);
    }
    CHECK_EQ(rights_denied(r, &list, &more), RIGHTS_DENIALS);
    CHECK_EQ(more, 36);
    CHECK(strlen(list[0].shown) == RIGHTS_SHOWN + 3 && strstr(list[0].shown, "0..."));
    CHECK_EQ(shell(r, "rm 00000", NULL), RIGHTS_DENIED);
    CHECK_EQ(rights_denied(r, &list, &more), RIGHTS_DENIALS);
    CHECK_EQ(more, 37);
    rights_close(r);
}

CHECK_MAIN
