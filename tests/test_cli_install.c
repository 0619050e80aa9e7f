/* test_cli_install.c - what `make install` puts where, the manual page, and completion as shells do it: each flag,
 * subcommand and command of the tables is there. */
#include "app/command_row.h"
#include "app/completion.h"
#include "tests/child.h"
#include "tests/check.h"
#include <sys/stat.h>

static struct child c;

static const char *run(const char *const *args, int status)
{
    child_free(&c);
    CHECK_EQ(child_run(&c, args, "", 0), status);
    return c.out_text.data ? c.out_text.data : "";
}

#define RUN(status, ...) run((const char *const[]){__VA_ARGS__, NULL}, status)

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

static bool is_there(const char *program)
{
    char command[100];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* A bash script with the program as $P and an empty folder as $D; "set -e" is on. */
static void bash(const char *script)
{
    static char text[8000];
    char *program = realpath(child_program(), NULL);
    CHECK(program != NULL);
    setenv("P", program, 1);
    setenv("D", check_tmpdir(), 1);
    snprintf(text, sizeof text,
             "set -eu\nunset PLIMSOLL_STORE PLIMSOLL_CONFIG\n"
             "export HOME=$D XDG_DATA_HOME=$D/data XDG_CONFIG_HOME=$D/config\n%s", script);
    setenv("SCRIPT", text, 1);
    free(program);
    CHECK_EQ(system("bash -c \"$SCRIPT\""), 0);
}

/* ---------------------------------------------------------------- make install */

static const char install_script[] =
    "unset MAKEFLAGS MFLAGS MAKELEVEL; umask 077\n"
    "at=\"$D/some root\"; mkdir \"$D/built\"; cp \"$P\" \"$D/built/plimsoll\"; P=\"$D/built/plimsoll\"\n"
    "make -s install PROGRAM=\"$P\" DESTDIR=\"$at\" PREFIX=/opt/x >/dev/null\n"
    "cd \"$at/opt/x\"\n"
    "[ \"$(find . -type f | sort | tr '\\n' ' ')\" = './bin/plimsoll "
    "./share/bash-completion/completions/plimsoll "
    "./share/man/man1/plimsoll.1 ./share/zsh/site-functions/_plimsoll ' ]\n"
    "[ \"$(stat -c %a bin/plimsoll)\" = 755 ]\n"
    "for f in $(find share -type f); do [ \"$(stat -c %a $f)\" = 644 ]; done\n"
    "[ \"$(stat -c %a share/man/man1)\" = 755 ]\n"
    "cmp bin/plimsoll \"$P\"\n"
    "bin/plimsoll manual | cmp - share/man/man1/plimsoll.1\n"
    "bin/plimsoll completion bash | cmp - share/bash-completion/completions/plimsoll\n"
    "bin/plimsoll completion zsh | cmp - share/zsh/site-functions/_plimsoll\n"
    "cd - >/dev/null\n"
    "echo kernels >\"$D/built/plimsoll-cuda.so\"\n" /* where nvcc is, make puts them beside the program */
    "make -s install PROGRAM=\"$P\" DESTDIR=\"$at\" PREFIX=/opt/x >/dev/null\n"
    "cmp \"$at/opt/x/lib/plimsoll/plimsoll-cuda.so\" \"$D/built/plimsoll-cuda.so\"\n"
    "[ \"$(stat -c %a \"$at/opt/x/lib/plimsoll\")\" = 755 ]\n"
    "touch \"$at/opt/x/bin/other\"\n"
    "make -s uninstall DESTDIR=\"$at\" PREFIX=/opt/x >/dev/null\n"
    "[ \"$(find \"$at\" -type f)\" = \"$at/opt/x/bin/other\" ]\n";

TEST(install_puts_four_files_and_cuda_kernels_if_there_are_below_destdir_and_uninstall_takes_those_away)
{
    if (!is_there("bash") || !is_there("make")) SKIP("needs bash and make");
    bash(install_script);
}

TEST(install_of_a_program_that_cannot_run_puts_nothing_anywhere)
{
    if (!is_there("bash") || !is_there("make")) SKIP("needs bash and make");
    bash("unset MAKEFLAGS MFLAGS MAKELEVEL\n"
         "! make -s install PROGRAM=/bin/false DESTDIR=\"$D/root\" >/dev/null 2>&1\n"
         "[ ! -e \"$D/root\" ]\n");
}

/* ---------------------------------------------------------------- the manual page */

/* As the page writes it: each hyphen as one that can be copied. */
static const char *roff(const char *text)
{
    static char out[200];
    size_t n = 0;
    for (; *text; text++) n += (size_t)snprintf(out + n, sizeof out - n, "%s%c", *text == '-' ? "\\" : "", *text);
    return out;
}

static void check_entry(const char *page, const char *name)
{
    char head[300];
    snprintf(head, sizeof head, "\\fB%s\\fR", roff(name));
    check_has(page, head);
}

TEST(manual_has_every_flag_variable_subcommand_and_command)
{
    const char *page = RUN(0, "manual");
    static const char *const sections[] = {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SUBCOMMANDS", "COMMANDS",
                                           "EXIT STATUS", "FILES", "ENVIRONMENT", "EXAMPLES"};
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        char head[60];
        snprintf(head, sizeof head, "\n.SH %s\n", sections[i]);
        check_has(page, head);
    }
    for (size_t i = 0; i < opts_rows; i++) {
        check_entry(page, opts_table[i].name);
        if (opts_table[i].letter) check_entry(page, opts_table[i].letter);
        if (opts_table[i].env) check_entry(page, opts_table[i].env);
    }
    for (size_t i = 0; i < subcommands; i++) check_entry(page, subcommand_table[i].name);
    for (size_t i = 0; i < command_rows; i++) check_entry(page, command_table[i].name);
    for (const char *p = page; *p; p++) CHECK(*p == '\n' || (*p >= ' ' && *p <= '~'));
}

/* A line that begins with a dot or a quote is a request to roff: the page has no others than these. */
TEST(manual_has_no_line_that_roff_would_take_for_a_request)
{
    const char *page = RUN(0, "manual");
    static const char *const requests[] = {".TH ", ".SH ", ".TP\n", ".PP\n", ".br\n"};
    for (const char *line = page; *line; line = strchr(line, '\n') + 1) {
        bool known = *line != '.' && *line != '\'';
        for (size_t i = 0; i < COUNT_OF(requests); i++)
            known |= strncmp(line, requests[i], strlen(requests[i])) == 0;
        if (!known) CHECK_STR(line, "a known request");
        CHECK(*line != '\n'); /* and no blank line, which is one too */
    }
}

TEST(manual_is_shown_without_a_warning_and_with_every_flag)
{
    if (!is_there("bash") || !is_there("groff")) SKIP("needs groff");
    bash("cd \"$D\"; \"$P\" manual >page\n"
         "groff -man -Tutf8 -ww -P-cbou page >shown 2>warnings\n"
         "[ ! -s warnings ] || { cat warnings; exit 1; }\n"
         "sed -n 's/^ *\\(-., \\)\\?\\(--[a-z-]*\\).*/\\2/p' shown | sort -u >flags\n"
         "\"$P\" --help | sed -n 's/^  \\(-., \\)\\?\\(--[a-z-]*\\) .*/\\2/p' | sort -u >wanted\n"
         "[ $(wc -l <wanted) -gt 40 ]; [ -z \"$(comm -23 wanted flags)\" ]\n"
         "grep -q 'git diff | plimsoll -p \"review this\"' shown\n");
}

/* ---------------------------------------------------------------- completion */

/* Words that shells get in lists must be nothing but words to them. */
static bool is_plain(const char *words)
{
    return words[strspn(words, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:- ")] == '\0';
}

static void check_items(const char *items)
{
    struct completion_item i;
    for (const char *at = items; at && completion_item(&at, &i); buf_free(&i.value.mem))
        CHECK(*i.name && is_plain(i.name) && is_plain(i.value.words));
}

TEST(completion_gives_shells_words_that_they_leave_alone)
{
    for (size_t i = 0; i < opts_rows; i++) {
        struct completion_value v;
        completion_of_flag(&opts_table[i], &v);
        CHECK(is_plain(opts_table[i].name) && is_plain(v.words));
        CHECK((v.kind == VALUE_NONE) == (opts_table[i].arg == NULL));
        CHECK(v.kind != VALUE_WORDS || *v.words);
        buf_free(&v.mem);
    }
    for (size_t i = 0; i < subcommands; i++) {
        CHECK(is_plain(subcommand_table[i].name));
        struct completion_value v;
        CHECK(!completion_operand(&subcommand_table[i], &v) || is_plain(v.words));
        buf_free(&v.mem);
        check_items(subcommand_table[i].words);
        check_items(subcommand_table[i].flags);
    }
}

/* The flags that a subcommand's row has are those that its own help explains, and it takes them. */
TEST(completion_of_a_subcommand_has_the_flags_of_its_help)
{
    for (const struct subcommand *s = subcommand_table; s < subcommand_table + subcommands; s++) {
        struct completion_item i;
        if (s->all_flags || !s->flags || !strstr(s->flags, "--help")) continue;
        const char *help = RUN(0, s->name, "--help");
        for (const char *at = s->flags; completion_item(&at, &i); buf_free(&i.value.mem))
            if (strcmp(i.name, "--help") != 0) check_has(help, i.name);
        for (const char *at = s->words; at && completion_item(&at, &i); buf_free(&i.value.mem)) check_has(help, i.name);
        for (const char *line = strstr(help, "\n  --"); line; line = strstr(line + 1, "\n  --")) {
            char flag[OPTS_NAME_MAX];
            snprintf(flag, sizeof flag, "%.*s", (int)strspn(line + 3, "-abcdefghijklmnopqrstuvwxyz"), line + 3);
            check_has(s->flags, flag);
        }
    }
}

static const char bash_rig[] =
    "source <(\"$P\" completion bash)\n"
    "mkdir \"$D/bin\"; ln -s \"$P\" \"$D/bin/plimsoll\"; PATH=$D/bin:$PATH; cd \"$D\"\n"
    "t()\n" /* what is wanted, then the words; the last is completed */
    "{\n"
    "    local want=$1; shift\n"
    "    COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _plimsoll || true\n"
    "    local got; got=$(printf '%s\\n' \"${COMPREPLY[@]:-}\" | sort | tr '\\n' ',')\n"
    "    [ \"$got\" = \"$want,\" ] || { echo \"$* gives $got and not $want\"; exit 1; }\n"
    "}\n";

static void bash_with_rig(const char *script)
{
    struct buf all = {0};
    buf_puts(&all, bash_rig);
    buf_puts(&all, script);
    CHECK(!all.failed);
    bash(all.data);
    buf_free(&all);
}

TEST(completion_in_bash_offers_flags_their_values_and_files)
{
    if (!is_there("bash")) SKIP("needs bash");
    bash_with_rig("touch model.gguf 'mo del.gguf' other.txt; mkdir models\n"
                  "t --isa plimsoll --is\n"
                  "t auto,avx2,avx512,avxvnni plimsoll --isa a\n"
                  "t portable plimsoll --isa = p\n"
                  "t auto,avx2,avx512,avxvnni,portable plimsoll --isa =\n"
                  "t off,on plimsoll --fit =\n"
                  "t off plimsoll --fit = of\n"
                  "t read,calculator plimsoll --tools read,calc\n"
                  "t window,traces plimsoll --unguarded window,tr\n"
                  "t 'mo del.gguf,model.gguf,models' plimsoll -m mo\n"
                  "t 'mo del.gguf,model.gguf,models' plimsoll --model = mo\n"
                  "t models plimsoll --store mo\n"
                  "t debate plimsoll --crew deb\n"
                  "t other.txt plimsoll --crew oth\n"
                  "t last plimsoll --resume la\n"
                  "t '' plimsoll --ctx ''\n"
                  "t '' plimsoll -p --is\n"
                  "t --ctx plimsoll -p x --ct\n"
                  "t '' plimsoll -m x oth\n");
}

TEST(completion_in_bash_offers_subcommands_and_what_is_theirs)
{
    if (!is_there("bash")) SKIP("needs bash");
    bash_with_rig("touch stream.jsonl; mkdir new\n"
                  "t serve,sessions,store,stress plimsoll s\n"
                  "t check,compact plimsoll store c\n"
                  "t --to plimsoll store salvage --t\n"
                  "t new plimsoll store salvage --to n\n"
                  "t last plimsoll sessions show l\n"
                  "t jsonl,md plimsoll sessions export last --format ''\n"
                  "t stream.jsonl plimsoll sessions import st\n"
                  "t stream.jsonl plimsoll replay st\n"
                  "t --stable plimsoll events --s\n"
                  "t bash,zsh plimsoll completion ''\n"
                  "t fan-out,fragmentation plimsoll learn f\n"
                  "t '' plimsoll watch ''\n"
                  "t last plimsoll post-mortem ''\n"
                  "t rtx-4060,rtx-4060-ti-16gb,rtx-4060-ti-8gb plimsoll plan --agents 2 --gpu rtx-4060\n"
                  "t qwen2.5-0.5b plimsoll plan --shape = qwen2.5-0\n"
                  "t q4_k,q4_k_m plimsoll plan --type q4_k\n"
                  "t --agents plimsoll stress --ag\n"
                  "t '' plimsoll stress --agents ''\n"
                  "t avx2,avx512,avxvnni plimsoll doctor --isa av\n"
                  "t '' plimsoll store check x\n");
}

TEST(completion_in_bash_offers_every_flag_and_subcommand)
{
    if (!is_there("bash")) SKIP("needs bash");
    struct buf script = {0};
    buf_puts(&script, bash_rig);
    buf_puts(&script, "has() { COMP_WORDS=(plimsoll \"$1\"); COMP_CWORD=1; _plimsoll\n"
                      "    [[ \" ${COMPREPLY[*]} \" == *\" $1 \"* ]] || { echo \"no $1\"; exit 1; }; }\nfor i in");
    for (size_t i = 0; i < opts_rows; i++)
        buf_printf(&script, " %s %s", opts_table[i].name, opts_table[i].letter ? opts_table[i].letter : "");
    for (size_t i = 0; i < subcommands; i++) buf_printf(&script, " %s", subcommand_table[i].name);
    buf_puts(&script, "; do has $i; done\n");
    CHECK(!script.failed);
    bash(script.data);
    buf_free(&script);
}

TEST(completion_for_zsh_has_every_flag_with_its_help_and_every_subcommand)
{
    const char *text = RUN(0, "completion", "zsh");
    CHECK(strncmp(text, "#compdef plimsoll\n", 18) == 0);
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *o = &opts_table[i];
        char spec[100];
        if (o->letter) snprintf(spec, sizeof spec, "{%s,%s%s}'[", o->letter, o->name, o->arg ? "=" : "");
        else snprintf(spec, sizeof spec, "%s%s[", o->name, o->arg ? "=" : "");
        check_has(text, spec);
    }
    for (size_t i = 0; i < subcommands; i++) {
        char line[60];
        snprintf(line, sizeof line, "\n    %s)\n", subcommand_table[i].name);
        check_has(text, line);
    }
    if (is_there("zsh") && is_there("bash")) bash("\"$P\" completion zsh >\"$D/_plimsoll\"; zsh -n \"$D/_plimsoll\"\n");
}

TEST(completion_and_manual_say_what_they_take)
{
    check_has(RUN(0, "completion", "--help"), "plimsoll completion bash|zsh");
    check_has(RUN(0, "manual", "-h"), "man -l");
    CHECK_STR(RUN(2, "completion"), "");
    check_has(c.err_text.data, "plimsoll completion bash, or zsh");
    RUN(2, "completion", "fish");
    RUN(2, "completion", "bash", "zsh");
    CHECK_STR(RUN(2, "manual", "x"), "");
    check_has(c.err_text.data, "plimsoll manual takes nothing");
    const char *help = RUN(0, "--help");
    for (size_t i = 0; i < subcommands; i++) {
        char line[60];
        snprintf(line, sizeof line, "\n  plimsoll %s ", subcommand_table[i].name);
        check_has(help, line);
    }
}

CHECK_MAIN
