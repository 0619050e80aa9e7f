/* `plimsoll post-mortem`: of a program that was killed in the middle of a run, of one that ended, of one that lives,
 * and of one whose memory policy failed; each with its exit status, in words and as JSON. */
#include "tests/child.h"
#include "tests/store_rig.h"
#include <jansson.h>
#include <signal.h>

#define MODEL "tests/fixtures/llama-gqa.gguf"

static struct child lives;
static const char *dir;

static const char *answers(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/answers.jsonl", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int i = 0; i < 40; i++) fprintf(f, "{\"answer\":\"answer %d, and more of it\",\"token_ms\":25}\n", i);
    CHECK_EQ(fclose(f), 0);
    return path;
}

/* A program that talks: three turns are saved, then it waits for the next line. */
static void start_talk(void)
{
    dir = fresh_dir();
    const char *args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers(), "--json", "-n", "24",
                          "--no-config", "--store", dir, NULL};
    child_start(&lives, args);
    for (int turn = 1; turn <= 3; turn++) {
        char line[64];
        const int n = snprintf(line, sizeof line, "question %d of the talk\n", turn);
        child_type(&lives, line, (size_t)n);
        child_wait_for(&lives, "\"event\":\"saved\"");
    }
}

static struct child said;

static int look(const char *first, const char *second)
{
    child_free(&said);
    const char *args[] = {"post-mortem", "--store", dir, first, second, NULL};
    return child_run(&said, args, "", 0);
}

static void check_says(const char *part)
{
    if (!said.out_text.data || !strstr(said.out_text.data, part))
        check_fail(__FILE__, __LINE__, "\"%s\" is not in\n%s%s", part, said.out_text.data ? said.out_text.data : "",
                   said.err_text.data ? said.err_text.data : "");
}

static json_t *object(void)
{
    json_t *o = json_loads(said.out_text.data, 0, NULL);
    CHECK(o);
    return o;
}

static const char *text_at(const json_t *o, const char *name) { return json_string_value(json_object_get(o, name)); }

TEST(one_that_was_killed_died_and_its_figures_say_whether_of_memory)
{
    start_talk();
    child_type(&lives, "one more\n", 9);
    child_wait_for(&lives, "\"event\":\"text\"");
    CHECK_EQ(kill(lives.pid, SIGKILL), 0);
    CHECK_EQ(child_end(&lives), 1000 + SIGKILL);
    CHECK_EQ(look(NULL, NULL), 4);
    check_says("Post-mortem of ");
    check_says("question 1 of the talk");
    check_says("It died: its program ended without closing it.");
    check_says("after turn 3.");
    check_says("Not a want of memory\n");
    check_says("nothing in its figures points to");
    CHECK_EQ(look("last", "--json"), 4);
    json_t *o = object();
    CHECK_STR(text_at(o, "end"), "died");
    CHECK_EQ(json_integer_value(json_object_get(o, "turns")), 3);
    CHECK(json_array_size(json_object_get(o, "samples")) > 0);
    CHECK_STR(text_at(json_object_get(o, "verdict"), "cause"), "not-memory");
    json_decref(o);
    child_free(&lives);
}

TEST(one_that_lives_is_not_called_dead_and_one_that_ended_is_not_judged)
{
    start_talk();
    CHECK_EQ(look(NULL, NULL), 0);
    check_says("It lives: session ");
    CHECK(!strstr(said.out_text.data, "end it there first")); /* nothing need end to be looked at */
    CHECK(!strstr(said.out_text.data, "evidence"));
    child_close_input(&lives);
    CHECK_EQ(child_end(&lives), 0);
    CHECK_EQ(look(NULL, NULL), 0);
    check_says("It ended properly (completed).");
    CHECK_EQ(look("--json", NULL), 0);
    json_t *o = object();
    CHECK_STR(text_at(o, "end"), "ended");
    CHECK(json_is_null(json_object_get(o, "verdict")));
    json_decref(o);
    child_free(&lives);
}

/* The embedded model with a pool that is smaller than its context: it grows until there is no page. */
TEST(one_whose_policy_failed_has_the_policys_verdict)
{
    static const char line[] = "tell me more about the sea, the ships and the wind and of all that they carry\n";
    struct buf in = {0};
    dir = fresh_dir();
    const char *args[] = {"--no-config", "--store", dir, "--naive", "no-limit", "--pool", "256", "--ctx", "2048",
                          "-n", "24", "--seed", "1", NULL};
    for (int i = 0; i < 30; i++) buf_puts(&in, line);
    CHECK_EQ(child_run(&lives, args, in.data, in.len), 3);
    buf_free(&in);
    CHECK_EQ(look(NULL, NULL), 3);
    check_says("but its last turn had failed. Saved last ");
    check_says("Out of memory: growth with turns\n");
    check_says("policy no-limit\n  certain; in plimsoll\n");
    CHECK(!strstr(said.out_text.data, "not understood"));
    check_says(" KiB more; of the pool of 1.50 MiB are 0 B free");
    child_free(&lives);
    const char *again[] = {"--no-config", "--store", dir, "--resume", "last", "-n", "24", "--seed", "1", NULL};
    CHECK_EQ(child_run(&lives, again, "and now?\n", 9), 0); /* it went on, and ended well */
    CHECK_EQ(look(NULL, NULL), 0);
    CHECK(!strstr(said.out_text.data, "Out of memory"));
    check_says("It ended properly (completed). Saved last ");
    child_free(&lives);
}

/* The same judge reads a recorded stream. */
TEST(replay_says_why_a_turn_had_no_memory)
{
    char path[512];
    snprintf(path, sizeof path, "%s/run.jsonl", check_tmpdir());
    const char *args[] = {"--no-config", "--no-save", "--json", "--naive", "f32", "--vram", "32M", "--ctx", "2048",
                          "-n", "24", "--seed", "1", "-p", "hello", NULL};
    CHECK_EQ(child_run(&lives, args, "", 0), 3);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(lives.out_text.data, f) >= 0 && fclose(f) == 0);
    child_free(&lives);
    child_free(&said);
    CHECK_EQ(child_run(&said, (const char *const[]){"replay", path, NULL}, "", 0), 0);
    check_says("[why: the model's weights are too big; as floats the weights take 22 MiB; as the file has them 6 "
               "MiB]\n");
}

/* ------------------------------------------------------------------ the figures that verdicts are made of */

/* The shortage that a run with these flags is refused for, with this prompt, or (NULL) this line on stdin; the
 * caller's. */
static json_t *shortage(const char *const *flags, int n, const char *prompt, const char *line)
{
    const char *args[20] = {"--no-config", "--no-save", "--json", "--seed", "1"};
    for (int i = 0; i < n; i++) args[5 + i] = flags[i];
    if (prompt) args[5 + n] = "-p", args[6 + n] = prompt;
    child_free(&said);
    CHECK_EQ(child_run(&said, args, line, strlen(line)), 3);
    const char *at = strstr(said.out_text.data, "\"event\":\"shortage\"");
    CHECK(at);
    while (at > said.out_text.data && at[-1] != '\n') at--;
    json_t *o = json_loadb(at, strcspn(at, "\n"), 0, NULL);
    CHECK(o);
    return o;
}
#define SHORTAGE(prompt, ...) \
    shortage((const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})), prompt, "")

static int64_t number_at(const json_t *o, const char *name) { return json_integer_value(json_object_get(o, name)); }

/* As in the engine's own words. */
static void check_tokens(const json_t *o, const char *words)
{
    char want[200];
    const int64_t prompt = number_at(o, "prompt_tokens"), answer = number_at(o, "answer_tokens");
    CHECK(prompt > 100);
    CHECK_EQ(number_at(o, "needs_tokens"), prompt + answer);
    snprintf(want, sizeof want, words, (long long)(prompt + answer), (long long)prompt, (long long)answer);
    if (!strstr(said.err_text.data, want)) CHECK_STR(said.err_text.data, want);
}

TEST(refusals_have_their_figures)
{
    static const char words[] = "the sea, the ships and the wind ";
    char prompt[20 * sizeof words] = "";
    for (int i = 0; i < 19; i++) memcpy(prompt + (size_t)i * (sizeof words - 1), words, sizeof words);
    json_t *o = SHORTAGE(prompt, "--ctx", "128", "--pool", "144", "-n", "60");
    CHECK_STR(text_at(o, "reason"), "context");
    CHECK_EQ(number_at(o, "has_tokens"), 128);
    check_tokens(o, "the request needs %lld tokens (%lld in the prompt, up to %lld in the answer), the context holds "
                    "128");
    json_decref(o);
    o = SHORTAGE(prompt, "--ctx", "2048", "--pool", "128", "-n", "60");
    CHECK_STR(text_at(o, "reason"), "pool");
    CHECK_EQ(number_at(o, "has_tokens"), 128);
    CHECK(strstr(said.err_text.data, "the whole pool has 8 (128 tokens)"));
    json_decref(o);
    const char *const small[] = {"--ctx", "256", "-n", "60"}; /* in a conversation, the window says it */
    o = shortage(small, COUNT_OF(small), NULL, prompt);
    CHECK_STR(text_at(o, "reason"), "turn");
    CHECK(number_at(o, "needs_tokens") > number_at(o, "has_tokens") && number_at(o, "has_tokens") < 256 - 60);
    CHECK_EQ(number_at(o, "answer_tokens"), 60);
    json_decref(o);
    o = SHORTAGE("hi", "--vram", "10M");
    CHECK_STR(text_at(o, "reason"), "open");
    CHECK_EQ(number_at(o, "has_bytes"), 10 << 20);
    CHECK(number_at(o, "needs_bytes") > number_at(o, "weight_bytes") + number_at(o, "kv_bytes"));
    CHECK(number_at(o, "needs_bytes") - number_at(o, "kv_bytes") - number_at(o, "weight_bytes") <= 6 << 20);
    json_decref(o);
    child_free(&said);
}

/* The chat's /explain, of a log of another program. */
TEST(explain_reads_a_log_in_the_chat)
{
    static const char log[] =
        "INFO start\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total "
        "capacity of 79.20 GiB of which 3.81 GiB is free. Of the allocated memory 71.45 GiB is allocated by PyTorch, "
        "and 1.67 GiB is reserved by PyTorch but unallocated.\n";
    char path[512], in[700];
    snprintf(path, sizeof path, "%s/run.log", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(log, f) >= 0 && fclose(f) == 0);
    const char *args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers(), "--no-config", "--no-save",
                          "--script", NULL};
    child_free(&said);
    int n = snprintf(in, sizeof in, "/explain %s\n", path);
    CHECK_EQ(child_run(&said, args, in, (size_t)n), 0);
    CHECK(strstr(said.err_text.data, "tried 20 GiB"));
    CHECK(strstr(said.err_text.data, "in PyTorch, line 2 of the text"));
    child_free(&said);
    static const char *const wrong[] = {"/explain\n", "/explain /nowhere/at/all\n", "/explain /\n"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CHECK(child_run(&said, args, wrong[i], strlen(wrong[i])) != 0);
        child_free(&said);
    }
}

/* The newest record is the run's, which has no figures; its sessions have. */
TEST(a_crews_run_is_judged_by_its_sessions)
{
    dir = fresh_dir();
    const char *args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers(), "--json", "-n", "24",
                          "--no-config", "--store", dir, "--crew", "debate", NULL};
    child_start(&lives, args);
    child_type(&lives, "Is a small page better?\n", 24);
    child_wait_for(&lives, "\"event\":\"saved\"");
    child_close_input(&lives);
    CHECK_EQ(child_end(&lives), 0);
    child_free(&lives);
    CHECK_EQ(look(NULL, NULL), 0);
    CHECK_EQ(look("last", NULL), 0);
    check_says("It ended properly (completed).");
    check_says("\npool ");

    child_start(&lives, args);
    child_type(&lives, "And a large one?\n", 17);
    child_wait_for(&lives, "\"event\":\"saved\"");
    CHECK_EQ(kill(lives.pid, SIGKILL), 0);
    CHECK_EQ(child_end(&lives), 1000 + SIGKILL);
    CHECK_EQ(look("last", NULL), 4);
    check_says("It died: its program ended without closing it.");
    check_says("nothing in its figures points to");
    child_free(&lives);
}

/* A copy that was left by the next /fork before anything was asked in it. */
TEST(a_copy_in_which_nothing_was_asked_did_not_die)
{
    static const char script[] = "plimsoll 1\none\n/fork\n/fork\ntwo\n";
    dir = fresh_dir();
    const char *talk[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers(), "--no-config", "--store",
                          dir, "--script", NULL};
    const char *list[] = {"sessions", "list", "--store", dir, NULL};
    child_free(&said);
    CHECK_EQ(child_run(&said, talk, script, sizeof script - 1), 0);
    child_free(&said);
    CHECK_EQ(child_run(&said, list, "", 0), 0);
    char copy[9] = "";
    for (const char *line = strtok(said.out_text.data, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, " 1 turn") && strstr(line, "copy of")) snprintf(copy, sizeof copy, "%.8s", line);
    CHECK(*copy);
    CHECK_EQ(look(copy, NULL), 0);
    check_says("Nothing was asked in it since it was copied or imported.");
    CHECK_EQ(look(copy, "--json"), 0);
    check_says("\"unknown\"");
    CHECK_EQ(look(NULL, NULL), 0);
    check_says("It ended properly");
}

TEST(what_is_not_there_or_wrong_is_said)
{
    dir = fresh_dir();
    CHECK_EQ(look(NULL, NULL), 2);
    CHECK(strstr(said.err_text.data, "no session is saved"));
    start_talk();
    child_close_input(&lives);
    CHECK_EQ(child_end(&lives), 0);
    child_free(&lives);
    CHECK_EQ(look("zz", NULL), 2);
    CHECK_EQ(look("--jso", NULL), 2);
    CHECK(strstr(said.err_text.data, "no such flag"));
    CHECK_EQ(look("last", "again"), 2);
    CHECK_EQ(look("--help", NULL), 0);
    check_says("Exit status: 0 it ended properly");
    child_free(&said);
}

CHECK_MAIN
