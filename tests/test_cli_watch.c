/* `plimsoll watch` as a person types it: over a server of our own, over none, on the full screen. */
#include "tests/serve_rig.h"
#include "tests/term_rig.h"

#define ANSWER "{\"answer\":\"So.\"}\n"

static struct child said;
static int watch(const char *const *more)
{
    const char *args[CHILD_ARGS] = {"watch"};
    size_t n = 1;
    for (size_t i = 0; more[i]; i++) args[n++] = more[i];
    args[n] = NULL;
    child_free(&said);
    return child_run(&said, args, "", 0);
}
#define WATCH(...) watch((const char *const[]){__VA_ARGS__, NULL})

static void out_has(const char *part)
{
    if (!said.out_text.data || !strstr(said.out_text.data, part))
        check_fail(__FILE__, __LINE__, "no \"%s\" in %s", part, said.out_text.data ? said.out_text.data : "");
}

static void complains(const char *part)
{
    CHECK(said.out_text.len == 0);
    if (!said.err_text.data || !strstr(said.err_text.data, part))
        check_fail(__FILE__, __LINE__, "no \"%s\" in %s", part, said.err_text.data ? said.err_text.data : "");
    CHECK(strchr(said.err_text.data, '\n') == said.err_text.data + said.err_text.len - 1); /* one line */
}

static const char *address(void)
{
    static char at[64];
    snprintf(at, sizeof at, "http://127.0.0.1:%d", server_port);
    return at;
}

TEST(watch_tells_of_our_own_server)
{
    SERVE("-m", "tests/fixtures/llama-gqa.gguf", "--template", "raw", "--ctx", "256", "--threads", "1");
    json_decref(ask("/v1/completions", "{'prompt':'x','max_tokens':3}", 200));
    CHECK_EQ(WATCH("--once", "--every", "0.2", address()), 0);
    out_has("plimsoll serve");
    out_has("idle");
    CHECK_EQ(WATCH("--json", "--count", "2", "--every=0.2", address()), 0);
    const char *line = said.out_text.data;
    for (int i = 0; i < 2; i++) {
        json_t *o = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        CHECK_STR(json_string_value(json_object_get(o, "state")), "told");
        CHECK_STR(json_string_value(json_object_get(o, "model")), "llama-gqa");
        CHECK(json_integer_value(json_object_get(o, "generated_tokens")) == 3);
        CHECK(json_integer_value(json_object_get(json_object_get(o, "kv_tokens"), "pool")) > 0);
        CHECK(json_integer_value(json_object_get(json_object_get(o, "memory_bytes"), "ceiling")) > 0);
        json_decref(o);
        line = strchr(line, '\n') + 1;
    }
    CHECK(*line == '\0');
    CHECK_EQ(WATCH("--once", "--every", "0.2", address(), "http://127.0.0.1:1"), 4); /* one is gone */
    out_has("does not answer");
    out_has("idle");
    CHECK_EQ(serve_end(), 130);
}

/* Its key goes to one server, out of a file. */
TEST(watch_of_a_server_with_a_key)
{
    const char *key = serve_file("key", "sesame-open-12\n");
    SERVE("-m", "tests/fixtures/llama-gqa.gguf", "--engine", "scripted", "--script-file",
          serve_file("answers", ANSWER), "--key-file", key);
    CHECK_EQ(WATCH("--once", "--every", "0.2", address()), 0);
    out_has("it wants a key");
    CHECK_EQ(WATCH("--once", "--every", "0.2", "--remote-key-file", key, address()), 0);
    out_has("idle");
    CHECK_EQ(WATCH("--once", "--remote-key-file", key, address(), "http://127.0.0.1:1"), 2);
    complains("--remote-key-file is for one server");
    CHECK_EQ(WATCH("--once", "--remote-key-file", "/nowhere", address()), 2);
    complains("/nowhere");
    CHECK_EQ(serve_end(), 130);
}

TEST(watch_each_bad_command_line_is_one_line_and_status_2)
{
    CHECK_EQ(watch((const char *const[]){NULL}), 2);
    complains("which server?");
    CHECK_EQ(WATCH("--once", "127.0.0.1:1"), 2);
    complains("127.0.0.1:1");
    CHECK_EQ(WATCH("--often", "http://x"), 2);
    complains("unexpected \"--often\"");
    CHECK_EQ(WATCH("--every", "0.1", "http://x"), 2);
    complains("0.2 to 3600");
    CHECK_EQ(WATCH("--count=0", "http://x"), 2);
    complains("--count: \"0\" is not a whole number");
    CHECK_EQ(WATCH("--count"), 2);
    complains("--count: \"\"");
    CHECK_EQ(WATCH("--help"), 0);
    out_has("plimsoll watch [--once]");
}

TEST(watch_on_the_full_screen)
{
    SERVE("-m", "tests/fixtures/llama-gqa.gguf", "--template", "raw", "--ctx", "256", "--threads", "1");
    const char *args[] = {"watch", "--every", "0.2", address(), "http://127.0.0.1:1", NULL};
    open_screen(args, &wide);
    look_for("plimsoll serve");
    look_for("! 1 in trouble");
    look_for("memory");
    json_decref(ask("/v1/completions", "{'prompt':'x','max_tokens':3}", 200));
    press("j");
    look_for("does not answer since");
    press("?");
    look_for("tokens of prompts a second");
    press("?");
    look_until("tokens of prompts a second", false);
    press("q");
    CHECK_EQ(close_screen(), 0);
    open_screen(args, &wide);
    look_for("plimsoll serve");
    press("\003"); /* Ctrl-C */
    CHECK_EQ(close_screen(), 0);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
