/* What a server answers, and what is made of it: streams cut anywhere, whole answers, thinking and calls that the
 * server has taken out of the text, errors in every form, and what is not to be believed. */
#include "engine/remote/hear.h"
#include "tests/check.h"
#include "tests/quoted.h"

/* All of it in pieces of so many bytes; the text, good until the next call. */
static const char *heard(struct hear *h, const char *bytes, size_t n, size_t piece)
{
    static struct buf text;
    *h = (struct hear){0};
    text.len = 0;
    buf_puts(&text, " "); /* so that there is a text */
    for (size_t at = 0; at < n; at += piece) hear_bytes(h, bytes + at, MIN(piece, n - at), &text);
    hear_over(h, &text);
    return text.data + 1;
}

/* The same text and end, however it is cut. */
static void check_hears(const char *stream, const char *text, enum hear_end end, const char *trouble)
{
    static const size_t pieces[] = {1, 2, 3, 7, 64, 100000};
    const char *q = quoted(stream);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        struct hear h;
        CHECK_STR(heard(&h, q, strlen(q), pieces[i]), text);
        CHECK_EQ(h.end, end);
        if (trouble && (!h.trouble.data || !strstr(h.trouble.data, trouble)))
            check_fail(__FILE__, __LINE__, "trouble is \"%s\"", h.trouble.data ? h.trouble.data : "");
        if (!trouble) CHECK_EQ(h.trouble.len, 0);
        hear_free(&h);
    }
}

#define SAYS(text) "data: {'choices':[{'index':0,'delta':{'content':'" text "'}}]}\n\n"
#define ENDS(why) "data: {'choices':[{'delta':{},'finish_reason':'" why "'}]}\n\n"
#define DONE "data: [DONE]\n\n"

TEST(a_stream_is_its_text_however_it_is_cut)
{
    check_hears("data: {'choices':[{'delta':{'role':'assistant','content':''}}]}\n\n" SAYS("Hello")
                SAYS(", w\\u00f6rld") ENDS("stop") DONE, "Hello, w\xc3\xb6rld", HEAR_STOP, NULL);
    check_hears(SAYS("a") ENDS("length") DONE, "a", HEAR_LENGTH, NULL);
    check_hears(ENDS("stop") DONE, "", HEAR_STOP, NULL);
    /* without [DONE], with the end in the last piece of text, with a null for a text */
    check_hears("data: {'choices':[{'delta':{'content':'all'},'finish_reason':'eos_token'}]}\n\n", "all",
                HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'content':null},'finish_reason':null}]}\n\n" SAYS("x") ENDS("stop"), "x",
                HEAR_STOP, NULL);
}

TEST(lines_of_a_stream_are_read_as_the_standard_has_them)
{
    check_hears(": a comment\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\ndata: {'choices':[{'delta':{'content':\r\n"
                "data:  'two lines'}}]}\r\n\r\n: ping\r\n\r\ndata:{'choices':[{'finish_reason':'stop'}]}\r\n\r\n",
                "two lines", HEAR_STOP, NULL);
    check_hears("\n\n \n" SAYS("late") ENDS("stop"), "late", HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'content':'cr'}}]}\r\rdata: {'choices':[{'finish_reason':'stop'}]}\r\r",
                "cr", HEAR_STOP, NULL);
    /* the last event lacks its blank line; what comes behind [DONE] is nothing */
    check_hears(SAYS("x") "data: {'choices':[{'finish_reason':'stop'}]}", "x", HEAR_STOP, NULL);
    check_hears(SAYS("x") ENDS("stop") DONE SAYS("y"), "x", HEAR_STOP, NULL);
    /* [DONE] alone is an end, an empty reason is none */
    check_hears(SAYS("all") DONE, "all", HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'content':'a '},'finish_reason':''}]}\n\n" SAYS("b")
                ENDS("stop") DONE, "a b", HEAR_STOP, NULL);
    /* a byte order mark is nothing, and other choices than the first are not this answer's */
    check_hears("\xef\xbb\xbf" SAYS("first") "data: {'choices':[{'index':1,'delta':{'content':'other'}}]}\n\n"
                ENDS("stop"), "first", HEAR_STOP, NULL);
    check_hears("\xef\xbb\xbf{'choices':[{'message':{'content':'all'},'finish_reason':'stop'}]}", "all", HEAR_STOP,
                NULL);
    /* nor is text behind the end */
    check_hears(SAYS("x") ENDS("stop") SAYS("y") DONE, "x", HEAR_STOP, NULL);
}

TEST(a_whole_answer_is_heard_too)
{
    check_hears("\n {'choices':[{'message':{'role':'assistant','content':'All at once.'},'finish_reason':'stop'}],"
                "'usage':{'prompt_tokens':12,'completion_tokens':4}}\n", "All at once.", HEAR_STOP, NULL);
    struct hear h;
    const char *q = quoted("{'choices':[{'message':{'content':'a'},'finish_reason':'length'}],"
                           "'usage':{'prompt_tokens':12,'completion_tokens':4,"
                           "'prompt_tokens_details':{'cached_tokens':8}}}");
    heard(&h, q, strlen(q), 5);
    CHECK(h.counted);
    CHECK_EQ(h.prompt_tokens, 12);
    CHECK_EQ(h.tokens, 4);
    CHECK_EQ(h.cached_tokens, 8);
    hear_free(&h);
}

TEST(usage_comes_in_a_chunk_without_choices)
{
    struct hear h;
    const char *q = quoted(SAYS("x") ENDS("stop")
                           "data: {'choices':[],'usage':{'prompt_tokens':31,'completion_tokens':1}}\n\n" DONE);
    CHECK_STR(heard(&h, q, strlen(q), 9), "x");
    CHECK(h.counted);
    CHECK_EQ(h.prompt_tokens, 31);
    hear_free(&h);
    q = quoted("data: {'usage':null,'choices':[{'delta':{'content':'x'}}]}\n\n" ENDS("stop") DONE);
    heard(&h, q, strlen(q), 9);
    CHECK(!h.counted);
    hear_free(&h);
}

TEST(thinking_that_was_taken_out_is_put_back)
{
    check_hears("data: {'choices':[{'delta':{'reasoning_content':'Let me '}}]}\n\n"
                "data: {'choices':[{'delta':{'reasoning_content':'see.'}}]}\n\n" SAYS("It is 4.") ENDS("stop") DONE,
                "<think>\nLet me see.</think>\n\nIt is 4.", HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'content':'','reasoning':'Hm'}}]}\n\n" ENDS("length") DONE,
                "<think>\nHm</think>\n\n", HEAR_LENGTH, NULL);
}

/* As Mistral's reasoning models answer; what is no text is said, and not left out. */
TEST(an_answer_in_parts_is_their_text)
{
    check_hears("data: {'choices':[{'delta':{'content':[{'type':'thinking','thinking':[{'type':'text','text':'Let me '}"
                "]}]}}]}\n\n"
                "data: {'choices':[{'delta':{'content':[{'type':'thinking','thinking':[{'type':'text','text':'see.'}]},"
                "{'type':'text','text':'It '}]}}]}\n\n" SAYS("is 4.") ENDS("stop") DONE,
                "<think>\nLet me see.</think>\n\nIt is 4.", HEAR_STOP, NULL);
    check_hears("{'choices':[{'message':{'content':[{'type':'text','text':'All.'}]},'finish_reason':'stop'}]}", "All.",
                HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'content':[]}}]}\n\n" SAYS("x") ENDS("stop"), "x", HEAR_STOP, NULL);
    check_hears(SAYS("a") "data: {'choices':[{'delta':{'content':[{'type':'image_url','image_url':'u'}]}}]}\n\n", "a",
                HEAR_FAILED, "no text: image_url");
    check_hears("data: {'choices':[{'delta':{'content':[{'type':'text','text':[]}]}}]}\n\n", "", HEAR_FAILED,
                "no text: text");
    check_hears("data: {'choices':[{'delta':{'content':7}}]}\n\n" ENDS("stop"), "", HEAR_FAILED, "is no text");
}

TEST(calls_that_were_taken_out_are_put_back)
{
    check_hears("data: {'choices':[{'delta':{'tool_calls':[{'index':0,'id':'c1','type':'function','function':"
                "{'name':'read','arguments':''}}]}}]}\n\n"
                "data: {'choices':[{'delta':{'tool_calls':[{'index':0,'function':{'arguments':'{\\'path\\''}}]}}]}\n\n"
                "data: {'choices':[{'delta':{'tool_calls':[{'index':0,'function':{'arguments':':\\'a b\\'}'}}]}}]}\n\n"
                "data: {'choices':[{'delta':{'tool_calls':[{'index':1,'function':{'name':'list',"
                "'arguments':'{}'}}]}}]}\n\n" ENDS("tool_calls") DONE,
                "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\":\"a b\"}}\n</tool_call>"
                "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>", HEAR_STOP, NULL);
    /* whole, with arguments as an object (Ollama's own way) */
    check_hears("{'choices':[{'message':{'content':'Wait.','tool_calls':[{'function':{'name':'read',"
                "'arguments':{'p':1}}}]},'finish_reason':'tool_calls'}]}",
                "Wait.<tool_call>\n{\"name\": \"read\", \"arguments\": {\"p\": 1}}\n</tool_call>", HEAR_STOP, NULL);
    /* without arguments; two without an index of their own, told by their ids; blanks amid a call */
    check_hears("data: {'choices':[{'delta':{'tool_calls':[{'index':0,'function':{'name':'list',"
                "'arguments':''}}]}}]}\n\n" ENDS("tool_calls") DONE,
                "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>", HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'tool_calls':[{'id':'1','function':{'name':'a','arguments':'{'}}]}}]}\n\n"
                SAYS("\\n") "data: {'choices':[{'delta':{'tool_calls':[{'function':{'arguments':'}'}}]}}]}\n\n"
                "data: {'choices':[{'delta':{'tool_calls':[{'id':'2','function':{'name':'b','arguments':'{}'}}]}}]}\n\n"
                ENDS("tool_calls") DONE,
                "<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>"
                "<tool_call>\n{\"name\": \"b\", \"arguments\": {}}\n</tool_call>", HEAR_STOP, NULL);
    check_hears("data: {'choices':[{'delta':{'tool_calls':[{'index':3,'function':{'arguments':'{}'}}]}}]}\n\n", "",
                HEAR_FAILED, "did not begin");
}

TEST(errors_are_told_in_one_line)
{
    check_hears("data: {'error':{'message':'CUDA out\\nof memory','type':'server_error'}}\n\n", "", HEAR_FAILED,
                "CUDA out of memory");
    check_hears(SAYS("half") "data: {'error':'it broke'}\n\n" DONE, "half", HEAR_FAILED, "it broke");
    check_hears(SAYS("all") ENDS("stop") "data: {'error':{}}\n\n" DONE, "all", HEAR_FAILED, "does not say why");
    check_hears(SAYS("half") "error: {'code':500,'message':'Compute error.','type':'server_error'}\n\n", "half",
                HEAR_FAILED, "Compute error.");
    check_hears(SAYS("all") ENDS("stop") "error: it broke\n\n" DONE, "all", HEAR_FAILED, "it broke");
    check_hears(SAYS("half"), "half", HEAR_FAILED, "without saying that it is whole");
    check_hears("", "", HEAR_FAILED, "without saying that it is whole");
    check_hears(SAYS("half") ENDS("abort") DONE, "half", HEAR_FAILED, "gave the answer up");
    check_hears("<html><body>Bad gateway</body></html>", "", HEAR_FAILED, "without saying that it is whole");
    check_hears("data: {'choices':[{'delta':{'content':'a'}}\n\n", "", HEAR_FAILED, "no JSON object");
    check_hears("data: ['a']\n\n", "", HEAR_FAILED, "no JSON object");
    check_hears("{'choices':[", "", HEAR_FAILED, "no JSON object");
}

TEST(what_is_no_text_is_not_believed)
{
    struct hear h;
    const char *nul = quoted("data: {'choices':[{'delta':{'content':'a\\u0000b'}}]}\n\n");
    CHECK_STR(heard(&h, nul, strlen(nul), 5), "");
    CHECK_EQ(h.end, HEAR_FAILED);
    hear_free(&h);
    const char *bytes = quoted("data: {'choices':[{'delta':{'content':'\xff'}}]}\n\n");
    heard(&h, bytes, strlen(bytes), 5);
    CHECK_EQ(h.end, HEAR_FAILED);
    hear_free(&h);
}

/* A line that never ends takes a bounded amount of memory. */
TEST(a_line_without_end_is_given_up)
{
    static char line[3 << 20];
    static const char *const begin[] = {"data: ", "{", ":"};
    for (size_t i = 0; i < COUNT_OF(begin); i++) {
        struct hear h = {0};
        struct buf text = {0};
        memset(line, 'x', sizeof line);
        hear_bytes(&h, begin[i], strlen(begin[i]), &text);
        for (size_t at = 0; at < sizeof line; at += 4096) hear_bytes(&h, line + at, 4096, &text);
        CHECK_EQ(h.end, HEAR_FAILED);
        CHECK(h.line.cap <= 4 << 20 && strstr(h.trouble.data, "1 MiB"));
        hear_free(&h);
        buf_free(&text);
    }
    /* many lines of one event: the same */
    struct hear h = {0};
    struct buf text = {0};
    memcpy(line, "data: ", 6);
    line[4095] = '\n';
    for (int i = 0; i < 600; i++) hear_bytes(&h, line, 4096, &text);
    CHECK_EQ(h.end, HEAR_FAILED);
    CHECK(h.data.cap <= 4 << 20);
    hear_free(&h);
    buf_free(&text);
}

TEST(bodies_of_errors_have_a_line)
{
    static const struct { const char *body, *line; } known[] = {
        {"{'error':{'message':'This model\\u0027s maximum context length is 8 tokens.',"
         "'code':'context_length_exceeded'}}",
         "This model's maximum context length is 8 tokens."},
        {"{'object':'error','message':'vLLM said so','code':400}", "vLLM said so"},
        {"{'error':'Model is overloaded','error_type':'overloaded'}", "Model is overloaded"},
        {"{'detail':[{'loc':['body'],'msg':'field required'}]}", "field required"},
        {"{'detail':'Not Found'}", "Not Found"},
        {"<html>\n<h1>502</h1>\n</html>", "<html> <h1>502</h1> </html>"},
        {"", ""},
        {"{'a':1}", "{\"a\":1}"},
    };
    char line[200];
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const char *q = quoted(known[i].body);
        hear_error(q, strlen(q), line, sizeof line);
        CHECK_STR(line, known[i].line);
    }
    hear_line("a\xc3\xa4\xc3\xb6", 5, line, 5); /* no half of a character */
    CHECK_STR(line, "a\xc3\xa4");
    hear_line("\x1b[31m red \x07\r\n\tend", 18, line, sizeof line);
    CHECK_STR(line, "[31m red end");
}

TEST(a_prompt_that_is_too_long_is_known_by_the_servers_words)
{
    static const char *const too_long[] = {
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "the request exceeds the available context size, try increasing it", "exceed_context_size_error",
        "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000", "context_length_exceeded",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "maximum input length is 4096 tokens", "prompt is too long: 205000 tokens > 200000 maximum",
        "You passed 9000 input tokens and requested 9 output tokens. However, the model's context length is only 8192",
        "prompt too long; exceeded max context length by 12 tokens", "the input length exceeds the context length",
        "`inputs` must have less than 4096 tokens. Given: 5000", "Context size has been exceeded.",
        "Input tokens exceed the configured limit of 272000 tokens.",
        "Prompt has 9000 tokens, but the configured context size is 8192 tokens",
    };
    static const char *const other[] = {"rate limit", "the server is busy", "model not found", "unknown field \"n\""};
    for (size_t i = 0; i < COUNT_OF(too_long); i++) CHECK(hear_is_overflow(too_long[i]));
    for (size_t i = 0; i < COUNT_OF(other); i++) CHECK(!hear_is_overflow(other[i]));
}

CHECK_MAIN
