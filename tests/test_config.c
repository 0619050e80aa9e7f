/* test_config.c - the configuration file: its lines, its place in the order of who wins, and files not to be
 * believed. */
#include "app/config.h"
#include "tests/check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct opts o;
static struct err err;
static char path[300];

/* The environment of the tests: NULL ends it. */
static const char *variables[5][2];

static const char *fake_env(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(variables) && variables[i][0]; i++)
        if (strcmp(variables[i][0], name) == 0) return variables[i][1];
    return NULL;
}

static void write_bytes(const char *text, size_t n, mode_t mode)
{
    snprintf(path, sizeof path, "%s/config", check_tmpdir());
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, n), (ssize_t)n);
    CHECK_EQ(fchmod(fd, mode), 0);
    close(fd);
}

static int parse_args(const char *const *args, int n)
{
    char *argv[20] = {(char[]){"plimsoll"}};
    for (int i = 0; i < n; i++) argv[i + 1] = (char *)(uintptr_t)args[i];
    err = (struct err){0};
    opts_free(&o);
    return opts_parse(&o, n + 1, argv, fake_env, &err);
}

/* A file of this text, read beside these flags. */
static int parse_with(const char *text, const char *const *args, int n)
{
    write_bytes(text, strlen(text), 0600);
    variables[0][0] = "PLIMSOLL_CONFIG", variables[0][1] = path;
    int rc = parse_args(args, n);
    variables[0][0] = NULL;
    return rc;
}

#define ARGS(...) (const char *const[]){__VA_ARGS__}, (int)COUNT_OF(((const char *const[]){__VA_ARGS__}))
#define FILE_SAYS(text) parse_with(text, NULL, 0)

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

/* Refused as a file, in one line that begins with FILE:LINE and has this part. */
static void refused(const char *text, int line, const char *part)
{
    char where[340];
    CHECK_EQ(FILE_SAYS(text), OPTS_BAD_FILE);
    snprintf(where, sizeof where, "%s:%d: ", path, line);
    if (strncmp(err.text, where, strlen(where))) CHECK_STR(err.text, where);
    check_has(err.text, part);
    CHECK(!strchr(err.text, '\n'));
}

/* ---------------------------------------------------------------- lines */

TEST(config_takes_values_of_every_kind)
{
    CHECK_EQ(FILE_SAYS("# comment\n\n  temp=0.5\n\tctx =  64 \t# behind\nmodel = a b#c.gguf\r\nfit = on\nvram = 60%\n"
                       "isa = avx2\nstop = END\nstop = \"# \\x41\\n\\\"\\\\\\t\"  # two\nlogit-bias = 5=1.5\n"
                       "json=off"), 0);
    CHECK_NEAR(o.temp, 0.5, 0);
    CHECK_EQ(o.ctx, 64);
    CHECK_STR(o.model, "a b#c.gguf");
    CHECK(o.fit && !o.json);
    CHECK_NEAR(o.vram, -60, 0);
    CHECK_STR(o.isa, "avx2");
    CHECK_EQ(o.n_stop, 2);
    CHECK_STR(o.stop[0], "END");
    CHECK_STR(o.stop[1], "# A\n\"\\\t");
    CHECK_EQ(o.n_bias, 1);
    CHECK_EQ(o.bias[0].id, 5);
    CHECK_EQ(FILE_SAYS("system = \"\""), 0);
    CHECK(o.system && !*o.system && o.own_system);
    CHECK_EQ(FILE_SAYS(""), 0);
    CHECK_STR(o.file, path);
}

TEST(config_names_the_line_of_what_it_does_not_know)
{
    refused("temp = 1\ntmp = 1\n", 2, "no such name: tmp; did you mean temp?");
    refused("\n\n--temp = 1\n", 3, "no such name: --temp; did you mean temp?");
    refused("\xef\xbb\xbftmp = 1\n", 1, "no such name: tmp; did you mean temp?"); /* without its mark */
    refused("frobnicate = 1", 1, "no such name: frobnicate (plimsoll config lists all)");
    refused("temp = hot", 1, "temp: \"hot\" is not a number");
    refused("fit = maybe", 1, "fit: \"maybe\" is neither on nor off");
    refused("isa = avx", 1, "isa: \"avx\" is not one of auto|portable");
    refused("vram = much", 1, "vram: \"much\" is not a size");
    refused("stop = \"\\xff\"", 1, "stop: ");
}

TEST(config_refuses_lines_of_another_form)
{
    static const char *const bad[] = {"temp", "temp 0.5", "= 1", "[section]", "\"temp\" = 1", "te mp = 1",
                                      "temp # = 1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) refused(bad[i], 1, "not of the form name = value");
    refused("temp = # 1", 1, "no value behind =");
    refused("temp =\n", 1, "no value behind =");
    refused("system = \"a", 1, "a quote is not closed");
    refused("system = \"a\\\"\nb\"", 1, "a quote is not closed");
    refused("system = \"\\q\"", 1, "a backslash stands before");
    refused("system = \"\\x0\"", 1, "a backslash stands before");
    refused("system = \"\\x00\"", 1, "a backslash stands before");
    refused("system = \"\\", 1, "a backslash stands before");
    refused("system = \"a\" b", 1, "may follow a value in quotes");
    refused("system = \"a\"# b", 1, "may follow a value in quotes");
    refused("system = a\033[2J", 1, "a control character");
    refused("system = \"a\rb\"", 1, "a control character");
}

TEST(config_a_name_stands_once_unless_it_collects)
{
    refused("temp = 1\n# x\ntemp = 1\n", 3, "temp was already set in line 1");
    refused("fit = on\nfit = off\n", 2, "fit was already set in line 1");
    char many[400] = "";
    for (int i = 0; i <= ENGINE_STOPS; i++) strcat(many, "stop = x\n");
    refused(many, ENGINE_STOPS + 1, "at most 8");
}

TEST(config_what_a_person_must_ask_for_is_refused_by_the_name_of_its_flag)
{
    static const char *const names[] = {"prompt", "resume", "help", "version", "help-events", "dump-tokens",
                                        "dump-logprobs", "nll", "config", "no-config"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char text[64], flag[64];
        snprintf(text, sizeof text, "%s = 1\n", names[i]);
        snprintf(flag, sizeof flag, "--%s is for the command line", names[i]);
        refused(text, 1, flag);
    }
}

/* ---------------------------------------------------------------- who wins */

TEST(config_wins_over_defaults_and_loses_to_variables_and_flags)
{
    CHECK_EQ(FILE_SAYS("top-k = 7\ntemp = 0.5\n"), 0);
    CHECK_EQ(o.top_k, 7);
    CHECK_NEAR(o.top_p, 0.95, 0);
    variables[1][0] = "PLIMSOLL_TEMP", variables[1][1] = "0.25";
    CHECK_EQ(FILE_SAYS("top-k = 7\ntemp = 0.5\n"), 0);
    CHECK_NEAR(o.temp, 0.25, 0);
    CHECK_EQ(parse_with("top-k = 7\ntemp = 0.5\n", ARGS("--temp", "0.125", "--top-k=0")), 0);
    CHECK_NEAR(o.temp, 0.125, 0);
    CHECK_EQ(o.top_k, 0);
    variables[1][0] = NULL;
    CHECK_EQ(parse_with("fit = on\n", ARGS("--fit=off")), 0);
    CHECK(!o.fit);
    variables[1][0] = "PLIMSOLL_OVERCOMMIT", variables[1][1] = "off";
    CHECK_EQ(FILE_SAYS("overcommit = on\n"), 0);
    CHECK(!o.overcommit);
    variables[1][0] = NULL;
}

TEST(config_what_collects_is_replaced_as_a_whole_by_flags)
{
    CHECK_EQ(parse_with("stop = A\nstop = B\nlogit-bias = 1=1\n", ARGS("--stop", "C")), 0);
    CHECK_EQ(o.n_stop, 1);
    CHECK_STR(o.stop[0], "C");
    CHECK_EQ(o.n_bias, 1);
    CHECK_EQ(parse_with("stop = A\nlogit-bias = 1=1\n", ARGS("--logit-bias", "2=1", "--logit-bias", "3=1")), 0);
    CHECK_EQ(o.n_stop, 1);
    CHECK_EQ(o.n_bias, 2);
    CHECK_EQ(o.bias[1].id, 3);
}

TEST(config_its_settings_must_go_together_with_the_flags)
{
    CHECK_EQ(parse_with("no-save = on\n", ARGS("--resume", "last")), OPTS_BAD);
    check_has(err.text, "--resume and --no-save do not go together");
    check_has(err.text, ":1 has it; --no-save=off undoes it)");
    CHECK_EQ(parse_with("no-save = on\n", ARGS("--resume", "last", "--no-save=off")), 0);
    CHECK_EQ(parse_with("exact = on\nfast = on\n", ARGS("-p", "x")), OPTS_BAD);
}

/* Flags win over variables, and these over the file, also where two do not go together. */
TEST(config_a_setting_gives_way_to_a_flag_that_it_does_not_go_with)
{
    CHECK_EQ(parse_with("fast = on\n", ARGS("--exact")), 0);
    CHECK(o.exact && !o.fast);
    CHECK_EQ(parse_with("no-thinking = on\n", ARGS("--thinking", "9")), 0);
    CHECK(o.thinking == 9 && !o.no_thinking);
    CHECK_EQ(parse_with("pool = 4096\n", ARGS("--fit")), 0);
    CHECK(o.fit && o.pool == 0);
    CHECK_EQ(parse_with("fit = on\n", ARGS("--pool", "4096")), 0);
    CHECK(!o.fit && o.pool == 4096);
    CHECK_EQ(parse_with("fit = on\novercommit = on\n", ARGS("--naive", "reserve")), 0);
    CHECK(!o.fit && !o.overcommit);
    CHECK_STR(o.naive, "reserve");
    CHECK_EQ(parse_with("naive = reserve\n", ARGS("--overcommit")), 0);
    CHECK(o.overcommit);
    CHECK_STR(o.naive, "none");
    CHECK_EQ(parse_with("json = on\ncrew = debate\n", ARGS("--dump-tokens")), 0);
    CHECK(!o.json && !o.crew);
    variables[1][0] = "PLIMSOLL_EXACT", variables[1][1] = "on";
    CHECK_EQ(FILE_SAYS("fast = on\n"), 0);
    CHECK(o.exact && !o.fast);
    variables[1][0] = NULL;
    struct buf shown = {0};
    CHECK_EQ(parse_with("fast = on\n", ARGS("--exact")), 0);
    opts_show(&o, &shown);
    check_has(shown.data, "\nfast = off                        # default\n");
    buf_free(&shown);
}

/* ---------------------------------------------------------------- which file */

static void write_text(const char *text)
{
    write_bytes(text, strlen(text), 0600);
}

TEST(config_the_file_is_named_by_flag_variable_or_home)
{
    char home[320], folder[340];
    write_text("top-k = 9\n");
    CHECK_EQ(parse_args(ARGS("--config", path)), 0);
    CHECK_EQ(o.top_k, 9);
    variables[0][0] = "PLIMSOLL_CONFIG", variables[0][1] = "/nowhere/config";
    CHECK_EQ(parse_args(NULL, 0), OPTS_BAD_FILE);
    check_has(err.text, "/nowhere/config: No such file");
    CHECK_EQ(parse_args(ARGS("--config", path)), 0);
    CHECK_EQ(parse_args(ARGS("--no-config")), 0);
    CHECK(!o.file && o.top_k == 40);
    CHECK_EQ(parse_args(ARGS("--no-config", "--config", path)), OPTS_BAD);
    CHECK_EQ(parse_args(ARGS("--help")), 0); /* help is there, whatever the file is */
    variables[0][0] = "PLIMSOLL_NO_CONFIG", variables[0][1] = "1";
    CHECK_EQ(parse_args(ARGS("--config", path)), 0);
    CHECK_EQ(o.top_k, 9);
    snprintf(home, sizeof home, "%s/home", check_tmpdir());
    snprintf(folder, sizeof folder, "%s/plimsoll", home);
    CHECK(mkdir(home, 0700) == 0 && mkdir(folder, 0700) == 0);
    variables[1][0] = "XDG_CONFIG_HOME", variables[1][1] = home;
    CHECK_EQ(parse_args(NULL, 0), 0);
    CHECK_EQ(o.top_k, 40);
    variables[0][0] = "UNUSED";
    CHECK_EQ(parse_args(NULL, 0), 0); /* none there */
    CHECK(!o.file);
    strcat(folder, "/config");
    CHECK_EQ(rename(path, folder), 0);
    CHECK_EQ(parse_args(NULL, 0), 0);
    CHECK_STR(o.file, folder);
    CHECK_EQ(o.top_k, 9);
    variables[0][0] = NULL;
}

TEST(config_without_a_folder_of_settings_home_has_them)
{
    struct buf b = {0};
    variables[0][0] = "HOME", variables[0][1] = "/home/ada";
    variables[1][0] = "XDG_CONFIG_HOME", variables[1][1] = "relative";
    CHECK_EQ(config_default_path(fake_env, &b), 0);
    CHECK_STR(b.data, "/home/ada/.config/plimsoll/config");
    buf_free(&b);
    variables[0][1] = "ada";
    CHECK_EQ(config_default_path(fake_env, &b), -1);
    CHECK(!b.data);
    variables[0][0] = NULL;
}

TEST(config_others_may_not_write_to_it)
{
    static const mode_t bad[] = {0620, 0602, 0666, 0422};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        write_bytes("temp = 1\n", 9, bad[i]);
        CHECK_EQ(parse_args(ARGS("--config", path)), OPTS_BAD_FILE);
        check_has(err.text, "others may write to it, so it is not read; chmod go-w");
    }
    write_bytes("temp = 1\n", 9, 0644);
    CHECK_EQ(parse_args(ARGS("--config", path)), 0);
    if (geteuid() != 0) SKIP("only root can give a file away");
    CHECK_EQ(chown(path, 12345, 0), 0);
    CHECK_EQ(parse_args(ARGS("--config", path)), OPTS_BAD_FILE);
    check_has(err.text, "belongs to another user");
}

TEST(config_only_a_regular_file_of_64_KiB_without_NUL_is_read)
{
    static char large[CONFIG_MAX + 1];
    memset(large, '#', sizeof large);
    write_bytes(large, CONFIG_MAX, 0600);
    CHECK_EQ(parse_args(ARGS("--config", path)), 0);
    write_bytes(large, CONFIG_MAX + 1, 0600);
    CHECK_EQ(parse_args(ARGS("--config", path)), OPTS_BAD_FILE);
    check_has(err.text, "larger than 64 KiB");
    write_bytes("temp = 1\0\n", 10, 0600);
    CHECK_EQ(parse_args(ARGS("--config", path)), OPTS_BAD_FILE);
    check_has(err.text, "has a NUL byte");
    CHECK_EQ(parse_args(ARGS("--config", check_tmpdir())), OPTS_BAD_FILE);
    check_has(err.text, "not a regular file");
    unlink(path);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(parse_args(ARGS("--config", path)), OPTS_BAD_FILE); /* and does not wait for a writer */
    unlink(path);
    if (access("/proc/kallsyms", R_OK)) SKIP("no file here that is larger than it says");
    CHECK_EQ(parse_args(ARGS("--config", "/proc/kallsyms")), OPTS_BAD_FILE);
    check_has(err.text, "larger than 64 KiB");
}

/* ---------------------------------------------------------------- shown */

TEST(config_what_is_shown_is_itself_a_file_with_the_same_values)
{
    static const char *const args[] = {"--system", " a\n\"b\\ # \033[2J", "--stop", "", "--stop", "# x", "--top-p=0.5",
                                       "--no-pin", "--prompt", "once", "--logit-bias", "7=-inf", "-m", "a #b"};
    struct buf first = {0}, second = {0};
    const char *given[COUNT_OF(args)];
    memcpy(given, args, sizeof args);
    given[3] = "\t";
    variables[1][0] = "PLIMSOLL_CTX", variables[1][1] = "128";
    CHECK_EQ(parse_with("top-k = 3\n", given, COUNT_OF(given)), 0);
    variables[1][0] = NULL;
    opts_show(&o, &first);
    CHECK(!first.failed && !strchr(first.data, '\033'));
    static const char *const parts[] = {"\nctx = 128 ", "# PLIMSOLL_CTX\n", "\ntop-p = 0.5 ", "# --top-p\n",
                                        "\nno-pin = on ", "\n# prompt = once ", "\n# temp = ", "# default: not given\n",
                                        "model = \"a #b\" ", "config:1\n", "\nmin-p = 0.05 ", " # default\n"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) check_has(first.data, parts[i]);
    struct opts was = o;
    o.file = o.file_text = NULL; /* was has them now */
    CHECK_EQ(FILE_SAYS(first.data), 0);
    CHECK_STR(o.system, was.system);
    CHECK_STR(o.model, was.model);
    CHECK_EQ(o.n_stop, 2);
    CHECK_STR(o.stop[0], "\t");
    CHECK_STR(o.stop[1], "# x");
    CHECK(o.top_k == 3 && o.ctx == 128 && o.no_pin && !o.prompt && isinf(o.bias[0].add));
    CHECK_NEAR(o.top_p, 0.5, 0);
    opts_show(&o, &second);
    CHECK(!strstr(second.data, "--top-p") && !strstr(second.data, "# default\n"));
    opts_free(&was);
    buf_free(&first);
    buf_free(&second);
}

/* Whatever the bytes are: values or one line that names a line, and no byte beyond the text is touched. */
TEST(config_random_bytes_are_read_or_refused)
{
    static const char pieces[][12] = {"temp", " = ", "\"", "\\", "\\x4", "#", "\n", "stop", "0.5", " ", "\t", "\r", "=",
                                      "\xff", "system", "fit", "on", "\\n", "logit-bias", "1=1"};
    uint64_t seed = 1;
    int good = 0;
    for (int round = 0; round < 4000; round++) {
        char text[256] = "";
        for (int n = round % 12; n >= 0; n--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            strcat(text, pieces[(seed >> 33) % COUNT_OF(pieces)]);
        }
        int rc = FILE_SAYS(text);
        CHECK(rc == 0 || (rc == OPTS_BAD_FILE && strstr(err.text, "/config:") && !strchr(err.text, '\n')));
        good += rc == 0;
    }
    CHECK(good > 100 && good < 3900);
    opts_free(&o);
}

CHECK_MAIN
