/* test_cli_tags.c - the program with vocabularies of Qwen 3.5's and Qwen3-Coder's templates, and a script that calls
 * tools in tags: what a person sees, and what a client of the server gets. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define SAYS(text) "{'answer': '" text "'}\n"
#define P(key, value) "<parameter=" key ">\\n" value "\\n</parameter>\\n"
#define CALLS(name, parameters) "<tool_call>\\n<function=" name ">\\n" parameters "</function>\\n</tool_call>"

static struct child c;
static int run(bool coder, const char *answers, const char *in, const char *const *more)
{
    const char *args[CHILD_ARGS] = {"-m", vocab_file_tags(coder), "--engine", "scripted", "--script-file",
                                    serve_file("answers", quoted(answers)), "--no-save", "--ctx", "4096"};
    size_t n = 9;
    for (size_t i = 0; more[i]; i++) args[n++] = more[i];
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}
#define RUN(coder, answers, in, ...) run(coder, answers, in, (const char *const[]){__VA_ARGS__, NULL})

static void check_out(const char *want) { CHECK_STR(c.out_text.data ? c.out_text.data : "", want); }

TEST(cli_tags_call_a_tool_and_go_on)
{
    static const char script[] = SAYS("<think>\\nSix.\\n</think>\\n\\nI reckon.\\n\\n" CALLS("calculator",
                                      P("expression", "6*7")) "\\n")
                                 SAYS("It is 42.");
    for (int coder = 0; coder < 2; coder++) {
        CHECK_EQ(RUN(coder, script, "why\n", "--tools", "calculator"), 0);
        check_out("<think>\nSix.\n</think>\n\nI reckon.\n\nIt is 42.\n");
        CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
    }
    CHECK_EQ(RUN(false, script, "why\n", "--tools", "calculator", "--json"), 0);
    CHECK(strstr(c.out_text.data, "\"event\":\"call\"") && strstr(c.out_text.data, "\"event\":\"tool\""));
}

/* What only begins like one is an answer, and is all shown. */
TEST(cli_tags_that_are_no_call_are_shown)
{
    static const char cut[] = SAYS("So: <tool_call>\\n<function=calculator>\\n<parameter=expression>\\n6*7\\n</function>");
    CHECK_EQ(RUN(false, cut, "why\n", "--tools", "calculator"), 0);
    check_out("So: <tool_call>\n<function=calculator>\n<parameter=expression>\n6*7\n</function>\n");
    CHECK_EQ(RUN(false, SAYS("a <tool_"), "why\n", "--tools", "calculator"), 0);
    check_out("a <tool_\n");
}

TEST(cli_tags_with_strict_tools_are_none)
{
    CHECK_EQ(RUN(false, SAYS("<tool_call>{\\'name\\':\\'calculator\\',\\'arguments\\':{\\'expression\\':\\'6*7\\'}}"
                             "</tool_call>") SAYS("It is 42."), "why\n", "--tools", "calculator", "--strict-tools"), 0);
    check_out("It is 42.\n");
}

CHECK_MAIN
