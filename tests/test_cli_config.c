/* test_cli_config.c - `plimsoll config` and `plimsoll doctor` as a person types them. */
#include "tests/cli_store_rig.h"

static int run_words(const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS] = {NULL};
    memcpy(all, args, n * sizeof *args);
    child_free(&c);
    return child_run(&c, all, "", 0);
}

#define RUN(...) run_words((const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))

static const char *write_config(const char *text)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/some-config", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, 0600) == 0);
    return path;
}

/* A shell script with the program as $P, a file of settings as $C and an empty folder as $HOME; "set -e" is on. */
static void shell(const char *script)
{
    char command[4000];
    setenv("P", child_program(), 1);
    snprintf(command, sizeof command,
             "set -e; HOME='%s'; export HOME; mkdir \"$HOME\"\n"
             "unset XDG_CONFIG_HOME XDG_DATA_HOME PLIMSOLL_CONFIG PLIMSOLL_NO_CONFIG PLIMSOLL_STORE PLIMSOLL_CTX\n%s",
             fresh_dir(), script);
    CHECK_EQ(system(command), 0);
}

/* ---------------------------------------------------------------- config */

TEST(cli_config_shows_each_value_with_its_origin)
{
    char line[400];
    const char *path = write_config("# mine\ntemp = 0.5\nstop = END\n");
    CHECK_EQ(RUN("config", "--config", path, "--ctx", "256", "--stop", "a # b"), 0);
    CHECK_STR(complained(), "");
    snprintf(line, sizeof line, "# settings, with the file %s\n", path);
    CHECK(strncmp(said(), line, strlen(line)) == 0);
    snprintf(line, sizeof line, "\ntemp = 0.5                        # %s:2\n", path);
    check_has(said(), line);
    check_has(said(), "\nctx = 256                         # --ctx\n");
    check_has(said(), "\ntop-k = 40                        # default\n");
    check_has(said(), "\n# seed =                          # default: not given\n");
    check_has(said(), "\nstop = \"a # b\"                    # --stop\n");
    CHECK(!strstr(said(), "END") && !strstr(said(), "prompt"));
}

TEST(cli_config_without_a_file_says_where_it_would_be)
{
    CHECK_EQ(RUN("config"), 0);
    check_has(said(), "# settings, without a file: there is none at /");
    check_has(said(), "/config/plimsoll/config\n");
    CHECK_EQ(RUN("config", "--no-config"), 0);
    check_has(said(), "# settings, without a file as was asked\n");
    CHECK_EQ(RUN("config", "--help"), 0);
    check_has(said(), "plimsoll config [FLAGS]");
}

TEST(cli_config_each_bad_line_is_one_line_and_status_2)
{
    const char *path = write_config("temp = 0.5\ntmep = 1\n");
    CHECK_EQ(RUN("config", "--config", path), 2);
    check_complaint("some-config:2: no such name: tmep; did you mean temp?");
    CHECK_EQ(RUN("--config", path, "-p", "x"), 2);
    check_complaint("some-config:2: no such name");
    CHECK_EQ(RUN("config", "--resume", "last"), 2);
    check_complaint("plimsoll config takes no --resume");
    CHECK_EQ(RUN("config", "--version"), 2);
    check_complaint("takes no --version");
    CHECK_EQ(RUN("config", "--tmp=1"), 2);
    check_complaint("no such flag");
    CHECK_EQ(RUN("--help", "--config", path), 0);
    CHECK_EQ(RUN("--version"), 0);
}

/* The file counts in a session, below variables and flags; its output is a file again. */
TEST(cli_config_is_read_from_home_and_obeyed)
{
    shell("mkdir -p \"$HOME/.config/plimsoll\"; C=\"$HOME/.config/plimsoll/config\"\n"
          "umask 022; printf 'max-tokens = 3\\njson = on\\nno-save = on\\n' > \"$C\"\n"
          "$P -p hello | grep -q '\"max_tokens\":3[,}]'\n"
          "test \"$($P --json=off -p hello | grep -c '\"schema')\" = 0\n"
          "$P -n 2 -p hello | grep -q '\"max_tokens\":2[,}]'\n"
          "PLIMSOLL_CTX=128 $P config | grep -q '^ctx = 128  *# PLIMSOLL_CTX$'\n"
          "$P config --top-k 3 > \"$HOME/again\"\n"
          "$P config --config \"$HOME/again\" | sed 's/ *#.*//' | grep . > \"$HOME/b\"\n"
          "sed 's/ *#.*//' \"$HOME/again\" | grep . > \"$HOME/a\"\n"
          "cmp \"$HOME/a\" \"$HOME/b\"; grep -q '^top-k = 3$' \"$HOME/b\"\n"
          "chmod g+w \"$C\"; $P -p hello 2>\"$HOME/e\" && exit 1 || test $? = 2\n"
          "grep -q 'others may write to it' \"$HOME/e\"; test \"$(wc -l < \"$HOME/e\")\" = 1\n"
          "$P --no-config config 2>/dev/null && exit 1; $P config --no-config >/dev/null\n");
}

TEST(cli_config_takes_the_file_that_the_README_shows)
{
    struct buf readme = contents("README.md"), text = {0};
    const char *at = strstr(readme.data, "    # the names of the flags");
    CHECK(at);
    for (; strncmp(at, "    ", 4) == 0; at = strchr(at, '\n') + 1) buf_put(&text, at, strcspn(at, "\n") + 1);
    CHECK_EQ(RUN("config", "--config", write_config(text.data)), 0);
    check_has(said(), "\nmodel = /srv/models/some.gguf ");
    check_has(said(), "\nfit = on ");
    check_has(said(), "\nsystem = \"Be brief.\\nSay so when you do not know.\"");
    buf_free(&readme);
    buf_free(&text);
}

/* A store that the file names is the one that all commands look at. */
TEST(cli_config_names_the_store_of_each_command)
{
    setenv("D", a_store(), 1);
    shell("mkdir -p \"$HOME/.config/plimsoll\"; C=\"$HOME/.config/plimsoll/config\"\n"
          "umask 022; echo \"store = $D\" > \"$C\"\n"
          "$P store stat | grep -q '^2 sessions'\n"
          "$P sessions list 2>&1 | grep -q 'session 61646127'\n"
          "$P doctor | grep -q \"^ok    store           $D: 1 session, \"\n"
          "PLIMSOLL_STORE=/nowhere $P store stat 2>&1 | grep -q '/nowhere: there is no store'\n"
          "echo 'stoer = /' > \"$C\"\n"
          "$P sessions list 2>\"$HOME/e\" && exit 1 || test $? = 2\n"
          "grep -q 'config:1: no such name: stoer; did you mean store?' \"$HOME/e\"\n"
          "$P store stat 2>\"$HOME/e\" && exit 1 || test $? = 2\n"
          "$P store stat --store \"$D\" >/dev/null\n"
          "echo 'json = on' > \"$C\"\n" /* where it is in the way, it is said where it stands */
          "$P serve 2>\"$HOME/e\" && exit 1 || test $? = 2\n"
          "grep -q 'config/plimsoll/config:1 has it; --json=off undoes it)' \"$HOME/e\"\n");
}

/* ---------------------------------------------------------------- doctor */

static const char *const checks[] = {
    "backend", "kernels", "instructions", "GPU driver", "cores", "bandwidth", "memory", "model", "embedded model",
    "session", "locale", "colours", "terminal", "Landlock", "seccomp", "control groups", "libraries", "store", "disk",
    "open files", "locked memory", "address space", "core file", "configuration", "tool servers"};

TEST(cli_doctor_has_a_line_for_each_check)
{
    CHECK_EQ(RUN("doctor", "--store", a_store()), 0);
    CHECK_STR(complained(), "");
    const char *at = said();
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        char row[24];
        snprintf(row, sizeof row, "%-15s ", checks[i]);
        CHECK(strncmp(at, "ok    ", 6) == 0 || strncmp(at, "warn  ", 6) == 0);
        if (strncmp(at + 6, row, strlen(row))) CHECK_STR(at, row);
        CHECK(at[6 + strlen(row)] > ' '); /* a figure */
        bool warns = *at == 'w';
        at = strchr(at, '\n') + 1;
        CHECK(warns == (strncmp(at, "      ", 6) == 0)); /* a fix where one is due, and nowhere else */
        if (warns) at = strchr(at, '\n') + 1;
    }
    CHECK_STR(at, "");
    check_has(said(), ": 1 session, journal ");
    check_has(said(), " GB/s by ");
    check_has(said(), "colours         none: TERM=dumb\n");
    check_has(said(), "export TERM=xterm-256color");
}

TEST(cli_doctor_says_the_kernel_of_each_type_of_weights)
{
    CHECK_EQ(RUN("doctor", "--backend", "cpu", "--isa", "portable", "--threads", "1", "--store", a_store()), 0);
    check_has(said(), "ok    kernels         F32 F16 BF16 by portable fp32 (32 rows x 2 tokens); Q4_0 Q4_1 Q5_0 Q5_1 "
                      "Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 by portable int8 (32 rows x 2 tokens)\n");
    check_has(said(), "warn  backend         cpu: portable, 1 thread");
}

TEST(cli_doctor_as_json_is_an_object_a_line)
{
    size_t n = 0;
    CHECK_EQ(RUN("doctor", "--json", "--store", "/tmp\xff\033[2J/store"), 0);
    for (const char *at = said(); *at; at = strchr(at, '\n') + 1, n++) {
        json_t *line = json_loadb(at, strcspn(at, "\n"), 0, NULL);
        CHECK(line && n < COUNT_OF(checks));
        CHECK_STR(json_string_value(json_object_get(line, "check")), checks[n]);
        const char *verdict = json_string_value(json_object_get(line, "verdict"));
        CHECK(verdict && json_is_string(json_object_get(line, "figure")));
        CHECK((strcmp(verdict, "ok") != 0) == json_is_string(json_object_get(line, "fix")));
        json_decref(line);
    }
    CHECK_EQ(n, COUNT_OF(checks));
    CHECK(!strchr(said(), '\033'));
}

TEST(cli_doctor_names_what_fails_with_its_fix_and_status_1)
{
    const char *config = write_config("temp = 1\ntemp = 2\n");
    CHECK_EQ(RUN("doctor", "--config", config, "--store", a_store()), 1);
    check_has(said(), "\nFAIL  configuration   refused");
    check_has(said(), "some-config:2: temp was already set in line 1\n");
    CHECK_EQ(RUN("doctor", "-m", "/nowhere.gguf", "--no-save"), 1);
    check_has(said(), "\nFAIL  model           /nowhere.gguf cannot be used\n");
    check_has(said(), "\nFAIL  session         one with these flags would not begin\n");
    check_has(said(), "\nok    store           not used: --no-save\n");
    CHECK_EQ(RUN("doctor", "--store", "/proc/here"), 1);
    check_has(said(), "\nFAIL  disk            0 B free");
    check_has(said(), "turns cannot be saved: make room, or --store DIR on another disk\n");
    const char *dir = a_store();
    strike_pages_with(dir, "journal/data.mdb", "hello");
    CHECK_EQ(RUN("doctor", "--store", dir), 1);
    check_has(said(), "\nFAIL  store           ");
    check_has(said(), "store salvage");
}

/* What a session with these flags would be refused for, it is told before: by the sum that refuses it. */
TEST(cli_doctor_says_whether_a_session_with_these_flags_fits)
{
    shell("D=\"$P doctor --no-save --backend cpu\" S=\"$P --no-save --backend cpu -p hi\"\n"
          "for f in '--ctx 1000000 --vram 100M' '--crew debate --ctx 1000000 --vram 1G'; do\n"
          "    $S $f </dev/null >/dev/null 2>\"$HOME/e\" && exit 1 || test $? = 3\n"
          "    $D $f >\"$HOME/out\" && exit 1 || test $? = 1\n"
          "    grep -A1 '^FAIL  session         a context of ' \"$HOME/out\" | grep -q -- ' --fit takes the largest'\n"
          "done\n"
          "$D --crew debate --ctx 100000 --vram 1G >\"$HOME/out\"\n" /* who waits for his turn keeps nobody out */
          "grep -q '^ok    session         a context of 100000 tokens, 1 at once: ' \"$HOME/out\"\n"
          "$D --crew debate --ctx 1000000 --vram 100M --fit | grep -q '^ok    session         a context of '\n"
          "$D --ctx 1000000 --vram 100M --fit | grep -q '^ok    session         a context of '\n");
}

TEST(cli_doctor_warns_of_what_could_be_better)
{
    CHECK_EQ(RUN("doctor", "--threads", "500", "--isa", "portable", "--no-save"), 0);
    check_has(said(), "\nwarn  cores           500 threads on ");
    check_has(said(), "warn  backend         cpu: portable");
    CHECK_EQ(RUN("doctor", "--backend", "ref", "--no-save"), 0);
    check_has(said(), "warn  backend         ref: ");
    shell("D=\"$P doctor --no-save\"\n"
          "LC_ALL=C $D | grep -q '^warn  locale          LC_ALL=C: '\n"
          "LC_ALL=xx_YY.UTF-8 $D | grep -q '^warn  locale          LC_ALL=xx_YY.UTF-8 is not installed'\n"
          "LC_ALL=C.UTF-8 TERM=xterm-256color COLORTERM=truecolor $D > \"$HOME/out\"\n"
          "grep -q '^ok    locale          LC_ALL=C.UTF-8: UTF-8$' \"$HOME/out\"\n"
          "grep -q '^ok    colours         16 million' \"$HOME/out\"\n"
          "TERM=xterm NO_COLOR=1 $D | grep -q '^ok    colours         none, as NO_COLOR asks'\n"
          "(ulimit -n 64; $D) | grep -q '^warn  open files      64$'\n");
}

TEST(cli_doctor_makes_nothing_and_leaves_a_store_as_it_is)
{
    char dir[300];
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    const char *store = a_store();
    struct stat before, after;
    struct buf was = contents(under(store, "journal/data.mdb"));
    CHECK_EQ(stat(under(store, "journal/data.mdb"), &before), 0);
    CHECK_EQ(RUN("doctor", "--store", dir), 0);
    check_has(said(), "\nok    store           none yet at ");
    CHECK(access(dir, F_OK) != 0);
    CHECK_EQ(chmod(store, 0755), 0); /* who writes to a store closes it first */
    CHECK_EQ(RUN("doctor", "--store", store), 0);
    CHECK(stat(store, &after) == 0 && (after.st_mode & 0777) == 0755);
    struct buf is = contents(under(store, "journal/data.mdb"));
    CHECK_EQ(stat(under(store, "journal/data.mdb"), &after), 0);
    CHECK(is.len == was.len && memcmp(is.data, was.data, is.len) == 0);
    CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    pid_t other = stays_open(store);
    CHECK_EQ(RUN("doctor", "--store", store), 0);
    check_has(said(), ": 1 session, ");
    goes(other);
    buf_free(&was);
    buf_free(&is);
}

TEST(cli_doctor_each_bad_command_line_is_one_line_and_status_2)
{
    CHECK_EQ(RUN("doctor", "-p", "x"), 2);
    check_complaint("plimsoll doctor takes no --prompt");
    CHECK_EQ(RUN("doctor", "--frobnicate"), 2);
    check_complaint("no such flag");
    CHECK_EQ(RUN("doctor", "me"), 2);
    CHECK_EQ(RUN("doctor", "--help"), 0);
    check_has(said(), "plimsoll doctor [FLAGS]");
    if (access("/dev/full", W_OK)) SKIP("no /dev/full here");
    const char *const args[] = {"doctor", "--no-save", NULL};
    child_free(&c);
    child_start_into(&c, args, "/dev/full");
    CHECK_EQ(child_end(&c), 1);
    check_complaint("No space left");
}

CHECK_MAIN
