/* --remote: the program of the one side against `plimsoll serve` of the other.  The same model answers, so the same
 * text has to come; conversations, crews, tools, scripts and the full screen are as ever. */
#include "tests/fake_server.h"
#include "tests/serve_rig.h"
#include "tests/term_rig.h"

#define MODEL "assets/plimsoll-tiny.gguf"

static struct child asks;
static char url[64];

static const char *out(void) { return asks.out_text.data ? asks.out_text.data : ""; }
static const char *err(void) { return asks.err_text.data ? asks.err_text.data : ""; }

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

static void check_hasnt(const char *text, const char *part)
{
    if (strstr(text, part)) CHECK_STR(text, part);
}

static int run_with(const char *in, const char *const *args)
{
    child_free(&asks);
    return child_run(&asks, args, in ? in : "", in ? strlen(in) : 0);
}
#define RUN(in, ...) run_with(in, (const char *const[]){"--no-config", __VA_ARGS__, NULL})
#define REMOTE(in, ...) RUN(in, "--remote", url, "--temp", "0", __VA_ARGS__)

static void serve(const char *const *flags)
{
    serve_begin(flags);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", server_port);
}
#define SERVES(...) serve((const char *const[]){__VA_ARGS__, NULL})

TEST(the_other_side_says_what_our_own_engine_says)
{
    static const char *const question[] = {"What is a KV cache?", "Hello.", "What is 3 + 4?"};
    SERVES("--parallel", "2");
    for (size_t i = 0; i < COUNT_OF(question); i++) {
        CHECK_EQ(RUN(NULL, "-p", question[i], "--system", ""), 0);
        char *own = strdup(out());
        CHECK_EQ(REMOTE(NULL, "-p", question[i]), 0);
        CHECK_STR(out(), own);
        check_has(err(), "above the server's count");
        /* its own vocabulary: nothing to say */
        CHECK_EQ(REMOTE(NULL, "-p", question[i], "-m", MODEL, "--system", ""), 0);
        CHECK_STR(out(), own);
        CHECK_STR(err(), "");
        free(own);
    }
}

TEST(a_conversation_is_bounded_and_saved_as_ever)
{
    char store[512];
    snprintf(store, sizeof store, "%s/store", check_tmpdir());
    SERVES("--ctx", "1024");
    CHECK_EQ(REMOTE("What is a token?\nAnd what is a KV cache?\n", "--store", store), 0);
    check_has(out(), "keys and values");
    CHECK_EQ(REMOTE("plimsoll 1\n/context\nWhat is a token?\n/assert context.share <= 90%\n", "--store", store,
                    "--resume", "last"), 0);
    CHECK_EQ(run_with(NULL, (const char *const[]){"sessions", "show", "last", "--store", store, NULL}), 0);
    check_has(out(), "And what is a KV cache?");
    /* 1,024 tokens there; what has left the context is summed up over there too */
    struct buf many = {0};
    for (int i = 0; i < 14; i++)
        buf_printf(&many, "Please tell me once more, for the %dth time: what is a KV cache?\n", i);
    CHECK_EQ(REMOTE(many.data, "--store", store), 0);
    buf_free(&many);
    CHECK_EQ(REMOTE(NULL, "-p", "x", "-n", "2000"), 3);
    check_has(err(), "the context holds 1024");
}

/* Each in its own words: what a server alone knows not to fit ends as what never fits. */
static const char *refusal;
static void refuses(const struct fake_call *call) { fake_status(call, "400 Bad Request", "", refusal); }

TEST(what_the_server_says_is_too_long_is_refused_as_what_never_fits)
{
    static const struct { const char *says; int status; } row[] = {
        {"{'error':{'message':'This model has a maximum context length of 10 tokens.','code':400}}", 3},
        {"{'error':{'code':400,'message':'no room','type':'exceed_context_size_error','n_ctx':10}}", 3},
        {"{'type':'error','error':{'type':'invalid_request_error','message':'prompt is too long: 20 tokens > 10'}}", 3},
        {"{'error':{'message':'prompt too long; exceeded max context length by 10 tokens'}}", 3},
        {"{'error':{'message':'The model is not known'}}", 4},
        /* FastAPI's, which repeats what was asked */
        {"{'detail':[{'type':'missing','msg':'Field required','input':{'content':'why is my prompt too long?'}}]}", 4},
        {"what begins as no JSON: the prompt is too long", 3},
    };
    snprintf(url, sizeof url, "%s",
             fake_begin("{'data':[{'id':'m','owned_by':'vllm','max_model_len':4096}]}", refuses));
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        refusal = row[i].says;
        CHECK_EQ(REMOTE(NULL, "-p", "x"), row[i].status);
        if (row[i].status == 3) check_has(err(), "the context there cannot hold the request: shorten the conversation");
        CHECK_EQ(REMOTE("x\n", "--no-save", "--json"), row[i].status);
        check_has(out(), row[i].status == 3 ? "\"end\":\"fault\",\"termination_reason\":\"refused_kv\""
                                            : "\"end\":\"fault\",\"termination_reason\":\"internal\"");
    }
    fake_end();
}

TEST(tools_crews_and_load_go_over_it)
{
    SERVES("--parallel", "4");
    CHECK_EQ(REMOTE("What is 17 * 23?\n", "--tools", "calculator", "--no-save"), 0);
    check_has(out(), "391");
    check_has(err(), "[calculator");
    CHECK_EQ(REMOTE("write a note about ships\n", "--crew", "debate", "--seed", "1", "--no-save"), 0);
    check_has(out(), "judge: ");
    CHECK_EQ(run_with(NULL, (const char *const[]){"stress", "--agents", "6", "--turns", "2", "--remote", url, "--temp",
                                                  "0", NULL}), 0);
    check_has(out(), "12 of 12 ended");
}

TEST(a_stream_of_events_has_the_servers_figures)
{
    SERVES("--parallel", "1");
    CHECK_EQ(REMOTE("Hello.\nWhat is a token?\n", "--json", "--no-save", "--seed", "1"), 0);
    char *first = strdup(out());
    check_has(first, "\"event\":\"session_open\"");
    check_has(first, "\"engine\":\"remote\"");
    check_has(first, url);
    CHECK_EQ(run_with(first, (const char *const[]){"events", "--check", NULL}), 0);
    free(first);
}

TEST(what_is_asked_wrongly_is_refused_in_a_line)
{
    SERVES("--parallel", "1");
    static const char *const never[][3] = {
        {"--vram", "1G", "--vram is about"}, {"--backend", "cpu", "--backend is about"},
        {"--kv-type", "f16", "--kv-type is"}, {"--threads", "1", "--threads is about"},
        {"--logit-bias", "1=1", "--logit-bias is"}, {"--thinking", "9", "--thinking is"},
        {"--dump-tokens", NULL, "--dump-tokens is about"}, {"--strict-tools", NULL, "--strict-tools is about"},
    };
    for (size_t i = 0; i < COUNT_OF(never); i++) {
        CHECK_EQ(REMOTE("x\n", "-p", "x", never[i][0], never[i][1]), 2);
        check_has(err(), never[i][2]);
    }
    CHECK_EQ(RUN("x\n", "--remote-model", "m"), 2);
    check_has(err(), "--remote-model goes with --remote URL");
    CHECK_EQ(REMOTE("x\n", "--remote-model", "nobody"), 2);
    check_has(err(), "it serves no model \"nobody\", but plimsoll-tiny");
    CHECK_EQ(RUN("x\n", "--remote", "localhost:8080"), 2);
    CHECK_EQ(run_with(NULL, (const char *const[]){"serve", "--remote", url, NULL}), 2);
    check_has(err(), "--remote does not go with it");
    CHECK_EQ(REMOTE("x\n", "--remote-key-file", "/nowhere"), 2);
    check_has(err(), "--remote-key-file /nowhere: ");
    CHECK_EQ(serve_end(), 130);
    CHECK_EQ(REMOTE("x\n", "--no-save"), 4); /* nobody is there */
    check_has(err(), "/v1/models: ");
}

/* A model and a form of turns in the settings are for our own engine: they say nothing of the server's. */
TEST(settings_of_our_own_engine_are_none_of_the_servers)
{
    const char *config = serve_file("config", "model = /nowhere.gguf\ntemplate = gemma\nstrict-tools = on\n"
                                    "thinking = 9\novercommit = on\n");
    SERVES("--parallel", "1");
    CHECK_EQ(run_with(NULL, (const char *const[]){"--config", config, "--remote", url, "--temp", "0", "-p", "Hello.",
                                                  NULL}), 0);
    check_has(err(), "above the server's count");
}

TEST(a_key_is_read_from_its_file)
{
    const char *key = serve_file("key", "sk-0123456789\n"), *other = serve_file("other", "sk-987654321\n");
    SERVES("--key-file", key);
    CHECK_EQ(REMOTE(NULL, "-p", "Hello."), 2);
    check_has(err(), "wants a key that it knows, from --remote-key-file");
    CHECK_EQ(REMOTE(NULL, "-p", "Hello.", "--remote-key-file", other), 2);
    check_hasnt(err(), "987654321");
    CHECK_EQ(REMOTE(NULL, "-p", "Hello.", "--remote-key-file", key), 0);
    CHECK(*out());
}

TEST(what_the_server_does_not_know_is_not_asked_for)
{
    /* plimsoll serve knows top_k and its like; that another does not is tested with a server of the test's own */
    SERVES("--parallel", "1");
    CHECK_EQ(REMOTE(NULL, "-p", "Hello.", "--top-k", "5", "--min-p", "0.1", "--repeat-penalty", "1.1", "--stop", "!"),
             0);
}

TEST(the_full_screen_shows_another_server)
{
    SERVES("--parallel", "1");
    const char *args[] = {"--no-config", "--remote", url, "--no-save", "--temp", "0", NULL};
    open_screen(args, &wide);
    look_for("plimsoll serve at http://127.0.0.1:");
    look_for("server KV 0 %  its run 0 wait 0"); /* it is looked at while nothing has run yet */
    press("What is a KV cache?\r");
    look_for("keys and values of all tokens");
    press("\033OQ"); /* F2 */
    look_for("Memory map");
    press("\033");
    look_until("Memory map", false);
    press("/quit\r");
    CHECK_EQ(close_screen(), 0);
}

CHECK_MAIN
