/* `plimsoll models` as a person runs it: the table, its command lines, JSON, flags, and a home without any. */
#include "tests/child.h"
#include "tests/models_rig.h"
#include <jansson.h>

static struct child c;

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

/* A home of its own, and none of what this machine's has. */
static void begin(void)
{
    static const char *const others[] = {"OLLAMA_MODELS", "LLAMA_CACHE", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"};
    char *program = realpath(child_program(), NULL); /* the folder changes */
    CHECK(program && setenv("PLIMSOLL_BIN", program, 1) == 0);
    free(program);
    new_home();
    for (size_t i = 0; i < COUNT_OF(others); i++) unsetenv(others[i]);
    CHECK_EQ(setenv("HOME", home, 1), 0);
}

#define MODELS(...) run((const char *const[]){"models", ##__VA_ARGS__, NULL})
static int run(const char *const *args)
{
    child_free(&c);
    return child_run(&c, args, "", 0);
}

TEST(models_without_any_says_where_it_looked)
{
    begin();
    make_way(".lmstudio/models/x");
    CHECK_EQ(MODELS(), 0);
    has(out(), "No model file was found.");
    has(out(), "  Ollama           not there        ");
    has(out(), "  LM Studio        no model in it   ");
    has(out(), home);
    has(out(), "PLIMSOLL_MODELS=FOLDER");
    CHECK_STR(err(), "");
}

TEST(models_table_has_a_row_and_a_command_line_each)
{
    begin();
    fill_home();
    put_text(".cache/llama.cpp/esc\033[2J.gguf", "{}");
    CHECK_EQ(mkfifo(at_home(".cache/llama.cpp/pipe.gguf"), 0600), 0);
    put_link(".cache/lm-studio/models", "models"); /* to itself */
    CHECK_EQ(MODELS("--within", "1G"), 0);
    CHECK_STR(err(), "");
    has(out(), "  architecture  parameters  types           context  fits?\n");
    has(out(), "\ntiny:3b ");
    has(out(), "fits, context up to 512\n    Ollama: plimsoll -m ");
    has(out(), "is JSON, not a model");
    has(out(), "\n6 model files, ");
    has(out(), "; 5 of them fit in 1.0 GiB of memory.\n  LM Studio        may not be read  ");
    CHECK(!strstr(out(), "not there"));
    CHECK(!strchr(out(), '\033'));
}

/* The columns end where their heads do. */
TEST(models_table_is_aligned)
{
    begin();
    fill_home();
    CHECK_EQ(MODELS("--within=1G"), 0);
    const char *head = out(), *fits = strstr(head, "fits?");
    CHECK(fits);
    int rows = 0;
    for (const char *at = strchr(head, '\n') + 1; *at != '\n'; at = strchr(strchr(at, '\n') + 1, '\n') + 1, rows++)
        CHECK(strncmp(at + (fits - head), "fits, ", 6) == 0);
    CHECK_EQ(rows, 5);
}

TEST(models_command_line_starts_a_session)
{
    struct tiny t = TINY_LLAMA;
    char line[3000];
    begin();
    put_model(".cache/llama.cpp/it's a model.gguf", &t);
    CHECK_EQ(MODELS(), 0);
    const char *command = strstr(out(), ": plimsoll");
    CHECK(command);
    command += strlen(": plimsoll");
    snprintf(line, sizeof line, "\"$PLIMSOLL_BIN\"%.*s --no-save --no-config --max-tokens 2 -p hi >/dev/null",
             (int)strcspn(command, "\n"), command);
    CHECK_EQ(system(line), 0);
}

TEST(models_json_is_an_object_a_line)
{
    int rows = 0;
    begin();
    fill_home();
    CHECK_EQ(MODELS("--json"), 0);
    for (const char *at = out(), *end; (end = strchr(at, '\n')) != NULL; at = end + 1, rows++) {
        json_t *o = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
        CHECK(o && json_integer_value(json_object_get(o, "schema_version")) == 1);
        if (rows == 0) {
            CHECK_EQ(json_integer_value(json_object_get(o, "files")), 5);
            CHECK(json_is_true(json_object_get(o, "whole")));
            CHECK(json_array_size(json_object_get(o, "looked")) >= 7);
        } else {
            CHECK_STR(json_string_value(json_object_get(o, "state")), "fits");
            CHECK_EQ(json_integer_value(json_object_get(o, "context_fits")), 512);
            CHECK_EQ(access(json_string_value(json_object_get(o, "path")), R_OK), 0);
            has(json_string_value(json_object_get(o, "command")), "plimsoll -m ");
        }
        json_decref(o);
    }
    CHECK_EQ(rows, 6);
    begin();
    CHECK_EQ(MODELS("--json"), 0);
    CHECK(strchr(out(), '\n') == out() + strlen(out()) - 1);
}

TEST(models_that_are_left_out_are_told_with_their_place)
{
    char name[64];
    struct tiny t = TINY_LLAMA;
    begin();
    for (int i = 0; i < 510; i++) {
        snprintf(name, sizeof name, ".lmstudio/models/%d.gguf", i);
        put_text(name, "");
    }
    put_model(".cache/llama.cpp/behind.gguf", &t);
    CHECK_EQ(MODELS("--time", "60"), 0);
    has(out(), "\nbehind ");
    has(out(), "  LM Studio        11 left out      /");
    has(out(), "This is not all: there are more than 500 files, and 11 are left out, all of LM Studio.\n");
}

TEST(models_within_less_memory_need_more)
{
    struct tiny t = TINY_LLAMA;
    begin();
    put_model(".cache/llama.cpp/a.gguf", &t);
    CHECK_EQ(MODELS("--within", "100K"), 0);
    has(out(), " of 100.0 KiB\n    llama.cpp: /");
    has(out(), "; 0 of them fit in 100.0 KiB of memory.");
    CHECK_EQ(MODELS("--time", "0.000001"), 0);
    has(out(), "This is not all: time was over");
}

TEST(models_flags_that_are_wrong_are_refused)
{
    static const char *const bad[][2] = {{"--within", "none"}, {"--within", "50%"}, {"--within", ""},
                                         {"--within", NULL},   {"--time", "0"},      {"--time", "1x"},
                                         {"--time", "1e9"},    {"--time", "nan"},    {"--jsonl", NULL},
                                         {"folder", NULL},     {"", NULL}};
    begin();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(MODELS(bad[i][0], bad[i][1]), 2);
        CHECK_STR(out(), "");
        CHECK(strncmp(err(), "plimsoll: plimsoll models: ", 27) == 0);
        CHECK(strchr(err(), '\n') == err() + strlen(err()) - 1);
    }
    CHECK_EQ(MODELS("--help"), 0);
    has(out(), "--within SIZE");
}

CHECK_MAIN
