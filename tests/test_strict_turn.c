/* A turn passes its grammar on, and the bound of its thinking, behind which the grammar holds. */
#include "app/turn.h"
#include "tests/strict_rig.h"
#include <fcntl.h>
#include <unistd.h>

static struct opts opts;

/* How a turn of this script ends; its text goes to out. */
static enum engine_end run_turn(const char *script, const struct turn_ask *ask, struct buf *out)
{
    struct app app = {.o = &opts, .ops = &engine_scripted, .sampling = SAMPLING_GREEDY};
    struct turn_result result;
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 200, .strict_tools = true};
    app.engine = open_script(script, (struct engine_config){.ctx = 4096, .max_seqs = 1, .grammars = 1});
    app.info = engine_scripted.info(app.engine);
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
    CHECK_EQ(turn_run(&app, ask, &result, &err), 0);
    trace_close(&app.trace);
    close(app.answers.fd);
    engine_scripted.close(app.engine);
    *out = result.text;
    return result.end;
}

TEST(strict_turn_passes_the_grammar_and_the_bound_of_thinking)
{
    static const char loose[] = "{\"answer\":\"<tool_call>no\"}\n";
    static const char thinks[] = "{\"answer\":\"<think>for<tool_call>no\"}\n";
    struct talk t;
    struct buf text;
    talk_begin(&t, (const char *const[]){"read"}, 1, "?");
    struct turn_ask ask = {.msgs = t.msgs, .n_msgs = 2, .silent = true};
    CHECK_EQ(run_turn(loose, &ask, &text), END_STOP);
    CHECK_STR(text.data, "<tool_call>no");
    buf_free(&text);
    ask.grammar = &t.grammar;
    CHECK_EQ(run_turn(loose, &ask, &text), END_NO_TOKEN);
    CHECK_STR(text.data, "<tool_call>");
    buf_free(&text);
    CHECK_EQ(run_turn(thinks, &ask, &text), END_STOP);
    CHECK_STR(text.data, "<think>for<tool_call>no"); /* as long as it likes */
    buf_free(&text);
    ask.thinking = 10;
    CHECK_EQ(run_turn(thinks, &ask, &text), END_NO_TOKEN);
    CHECK_STR(text.data, "<think>for\n</think>\n\n<tool_call>");
    buf_free(&text);
    talk_end(&t);
}

CHECK_MAIN
