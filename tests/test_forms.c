/* test_forms.c - the texts that the program and its model share, to the letter: forms, dialogues, `plimsoll forms`.
 * (test_forms_read.c: what models write, read back.) */
#include "memory/forms.h"
#include "memory/forms_dialogue.h"

#include "tests/check.h"
#include "tests/child.h"
#include "tests/forms_words.h"

#include <dirent.h>

/* ---------------------------------------------------------------- the files */

TEST(forms_hash_is_the_one_that_the_shipped_model_learned)
{
    static const char learned[] = "dd43d0883dfcf996";
    char hash[17];
    forms_hash(hash);
    if (strcmp(hash, learned) != 0)
        check_fail(__FILE__, __LINE__, "the forms changed: train the model again (assets/model/README.md) or take the "
                   "change back (the hash is %s, was %s)", hash, learned);
}

TEST(forms_compiled_in_are_the_files_that_lie_there)
{
    for (int f = 0; f < FORM_COUNT; f++) {
        char path[200], bytes[8192];
        struct form_text s = form_source((enum form)f);
        snprintf(path, sizeof path, "assets/forms/%s", form_file((enum form)f));
        FILE *file = fopen(path, "rb");
        if (!file) check_fail(__FILE__, __LINE__, "%s is not there", path);
        size_t n = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        CHECK(n < sizeof bytes && n > 0 && bytes[n - 1] == '\n');
        if (n != s.len + 1 || memcmp(bytes, s.text, s.len) != 0)
            check_fail(__FILE__, __LINE__, "%s changed after memory/forms.c was compiled", path);
    }
}

TEST(forms_every_file_in_the_folder_is_in_the_list_once)
{
    int files = 0;
    DIR *d = opendir("assets/forms");
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d));) {
        int found = 0;
        if (e->d_name[0] == '.') continue;
        for (int f = 0; f < FORM_COUNT; f++) found += strcmp(form_file((enum form)f), e->d_name) == 0;
        if (found != 1) check_fail(__FILE__, __LINE__, "%s is listed %d times", e->d_name, found);
        files++;
    }
    closedir(d);
    CHECK_EQ(files, FORM_COUNT);
}

/* ---------------------------------------------------------------- any form */

static int render_clip(int n)
{
    static const struct form_value v[] = {{"id", {"a1", 2}}, {"offset", {"7", 1}}, {"total", {"9", 1}},
                                          {"shown", {"5", 1}}, {"extra", {"x", 1}}};
    return form_render(FORM_CLIP, v, n, &out, &err);
}

TEST(form_render_takes_values_in_any_order)
{
    buf_puts(fresh(), "> ");
    CHECK_EQ(render_clip(4), 0);
    check_out("> [clipped: 5 of 9 tokens shown; the rest is artifact a1 from offset 7]");
}

TEST(form_render_a_value_that_lacks_is_named)
{
    buf_puts(fresh(), "before");
    CHECK_EQ(render_clip(3), -1);
    check_err("form clip.txt: no value for {shown}");
    check_out("before");
    struct form_value null = {"id", {NULL, 0}};
    CHECK_EQ(form_render(FORM_END, &null, 1, fresh(), &err), -1);
    check_err("form end.txt: no value for {id}");
}

TEST(form_render_a_value_without_a_place_is_named)
{
    buf_puts(fresh(), "before");
    CHECK_EQ(render_clip(5), -1);
    check_err("form clip.txt: no place {extra}");
    check_out("before");
}

TEST(form_render_braces_that_are_no_place_stand)
{
    struct form_value v = {"tools", T("x")};
    CHECK_EQ(form_render(FORM_TOOLS, &v, 1, fresh(), &err), 0);
    check_out("Tools. To use one, answer only <tool_call>{\"name\":NAME,\"arguments\":{...}}</tool_call> and "
              "wait for its "
              "result.\nx");
    CHECK_EQ(form_render(FORM_TOOL_LIST, NULL, 0, fresh(), &err), 0);
    CHECK(strncmp(out.data, "[\n {\"name\": \"read\", ", 20) == 0);
}

TEST(form_render_values_are_not_looked_at_again)
{
    struct form_value v[] = {{"name", T("{arguments}")}, {"arguments", T("{name}{name")}};
    CHECK_EQ(form_render(FORM_CALL, v, 2, fresh(), &err), 0);
    check_out("<tool_call>{\"name\":{arguments},\"arguments\":{name}{name}</tool_call>");
}

TEST(form_render_values_may_have_any_bytes)
{
    struct form_value v = {"text", T("a\0\xff\n}")};
    CHECK_EQ(form_render(FORM_ITEM, &v, 1, fresh(), &err), 0);
    CHECK_EQ(out.len, 7);
    CHECK_MEM(out.data, "- a\0\xff\n}", 7);
}

/* ---------------------------------------------------------------- the system message */

#define ROLE(name) (forms_system(&(struct form_system){.role = name}, fresh(), &err))

TEST(forms_system_roles)
{
    CHECK_EQ(ROLE("assistant"), 0);
    check_out("You are plimsoll's assistant, a tiny demonstration model. Answer briefly. Say so when you do not know.");
    CHECK_EQ(ROLE("planner"), 0);
    check_out("You are the planner of a crew. Answer with a plan: two to four numbered steps.");
    CHECK_EQ(ROLE("researcher"), 0);
    check_out("You are the researcher of a crew. Answer with findings: one line each, its source in brackets.");
    CHECK_EQ(ROLE("critic"), 0);
    check_out("You are the critic of a crew. Answer with a verdict, accept or revise, and your "
              "reasons, one line each.");
    CHECK_EQ(ROLE("writer"), 0);
    check_out("You are the writer of a crew. Answer with a draft: one short paragraph of what you were given, adding "
              "nothing.");
    CHECK_EQ(ROLE("cook"), -1);
    check_err("no role \"cook\"");
    check_out("");
}

#define TOOLS_HEAD \
    "Tools. To use one, answer only <tool_call>{\"name\":NAME,\"arguments\":{...}}</tool_call> and " \
    "wait for its result.\n"
#define PLANNER "You are the planner of a crew. Answer with a plan: two to four numbered steps."
#define SUMMARY                                                                                                  \
    "Summary of what was said before; the whole is artifact a12:\nFacts:\n- the ship is Ada\n- it rains\nDecisions:\n" \
    "- sail\nDone:\nnone\nOpen:\n- who cooks"

TEST(forms_system_parts_that_are_absent_leave_no_blank_lines)
{
    static const char *const tools[] = {"read", "ask"};
    static const char lines[] = "read(path, from:int?, to:int?): a file, or its lines from-to\n"
                                "ask(question): ask the user";
    struct form_record r = {{LIST(T("the ship is Ada"), T("it rains")), LIST(T("sail")), EMPTY, LIST(T("who cooks"))},
                            NULL};
    for (int parts = 0; parts < 8; parts++) {
        struct form_system s = {0};
        struct buf want = {0};
        if (parts & 1) {
            s.role = "planner";
            buf_puts(&want, PLANNER);
        }
        if (parts & 2) {
            s.tools = tools;
            s.n_tools = 2;
            buf_printf(&want, "%s" TOOLS_HEAD "%s", want.len ? "\n\n" : "", lines);
        }
        if (parts & 4) {
            s.summary = &r;
            s.artifact = T("a12");
            buf_printf(&want, "%s" SUMMARY, want.len ? "\n\n" : "");
        }
        CHECK_EQ(forms_system(&s, fresh(), &err), 0);
        check_out(want.data ? want.data : "");
        buf_free(&want);
    }
}

TEST(forms_tools_are_lines_of_the_file)
{
    static const char *const all[] = {"read", "write", "edit", "list", "search", "shell", "calculator", "recall",
                                      "artifact", "ask"};
    CHECK_EQ(forms_tool_lines(all, COUNT_OF(all), true, fresh(), &err), 0);
    check_out("read(path, from:int?, to:int?): a file, or its lines from-to\n"
              "write(path, text): write a whole file\n"
              "edit(path, old, new): replace text in a file\n"
              "list(path): what a folder holds\n"
              "search(pattern, path): lines that match, with their file\n"
              "shell(command): run a command\n"
              "calculator(expression): exact arithmetic\n"
              "recall(query): find what was said long ago\n"
              "artifact(id, offset:int): read on in a clipped result\n"
              "ask(question): ask the user");
    static const char *const some[] = {"read", "artifact"}; /* to a model that learned no line */
    CHECK_EQ(forms_tool_lines(some, 2, false, fresh(), &err), 0);
    check_out("read(path, from:int?, to:int?): a file, or its lines from-to\n"
              "artifact(id, offset:int?, from:int?, to:int?, pattern?): read on in a clipped result");
    static const char *const bad[] = {"read", "fly"};
    CHECK_EQ(forms_tool_lines(bad, 2, true, fresh(), &err), -1);
    check_err("no tool \"fly\"");
    check_out("");
}

TEST(forms_tools_know_their_arguments)
{
    int n;
    CHECK(forms_tools(&n) != NULL);
    CHECK_EQ(n, 10);
    const struct form_tool *t = forms_tool("read");
    CHECK_EQ(t->n_args, 3);
    CHECK_STR(t->arg[0].name, "path");
    CHECK(!t->arg[0].is_int && !t->arg[0].optional);
    CHECK_STR(t->arg[2].name, "to");
    CHECK(t->arg[2].is_int && t->arg[2].optional);
    t = forms_tool("artifact");
    CHECK_EQ(t->n_args, 5);
    CHECK(t->arg[1].is_int && t->arg[1].optional);
    CHECK_STR(t->arg[4].name, "pattern");
    CHECK(!t->arg[0].optional && t->arg[4].optional);
    CHECK(forms_tool("") == NULL);
}

/* ---------------------------------------------------------------- what the program says */

TEST(forms_result_with_and_without_a_notice)
{
    struct form_rest clip = {.id = T("a17"), .shown = 120, .total = 2310, .offset = 512};
    struct form_rest end = {.id = T("a17"), .end = true};
    forms_result(T("one\ntwo\n"), NULL, fresh());
    check_out("one\ntwo\n");
    forms_result(T("one"), &clip, fresh());
    check_out("one\n[clipped: 120 of 2310 tokens shown; the rest is artifact a17 from offset 512]");
    forms_result(T("one\n"), &clip, fresh());
    check_out("one\n[clipped: 120 of 2310 tokens shown; the rest is artifact a17 from offset 512]");
    forms_result(T("one"), &end, fresh());
    check_out("one\n[end of artifact a17]");
    forms_result(T(""), &end, fresh());
    check_out("[end of artifact a17]");
    forms_result(T("{id}"), &end, fresh());
    check_out("{id}\n[end of artifact a17]");
}

TEST(forms_requests)
{
    forms_summary_request(fresh());
    check_out("Write the summary record of this conversation: facts, decisions, done, open, one line each. "
              "Copy names and "
              "numbers exactly. Add nothing.");
    forms_handover_request(T("critic\nnow"), fresh());
    check_out("Hand over to critic now.");
}

/* ---------------------------------------------------------------- what the model says */

TEST(forms_call_is_compact_and_keeps_its_order)
{
    CHECK_EQ(forms_call("read", T(" { \"to\" : 9, \"path\": \"caf\\u00e9 / \\\"a b\\\"\\n\", \"from\": -3 }"), fresh(),
                        &err), 0);
    check_out("<tool_call>{\"name\":\"read\",\"arguments\":{\"to\":9,\"path\":\"café / \\\"a b\\\"\\n\",\"from\":-3}}"
              "</tool_call>");
    CHECK_EQ(forms_call("a\"\\\001\n", T("{}"), fresh(), &err), 0);
    check_out("<tool_call>{\"name\":\"a\\\"\\\\\\u0001\\n\",\"arguments\":{}}</tool_call>");
    CHECK_EQ(forms_call("x", T("{\"v\":[0.1,true,null,{\"{name}\":1}]}"), fresh(), &err), 0);
    check_out("<tool_call>{\"name\":\"x\",\"arguments\":{\"v\":[0.1,true,null,{\"{name}\":1}]}}</tool_call>");
}

/* As its models were trained: a blank behind each colon and comma. */
TEST(forms_of_mistral)
{
    static const char *const names[] = {"calculator", "read"}, *const none[] = {"fly"};
    struct form_call c = {strdup("read"), strdup("{\"path\":\"a \\\"b\\\"\",\"to\":3}")};
    const struct form_tool *t = forms_tool("read"), *calculator = forms_tool("calculator");
    char want[2000];
    CHECK_EQ(forms_mistral_tools(names, 2, fresh(), &err), 0);
    snprintf(want, sizeof want,
             "[{\"type\": \"function\", \"function\": {\"name\": \"calculator\", \"description\": \"%s\", "
             "\"parameters\": {\"type\": \"object\", \"properties\": {\"expression\": {\"type\": \"string\"}}, "
             "\"required\": [\"expression\"]}}}, {\"type\": \"function\", \"function\": {\"name\": \"read\", "
             "\"description\": \"%s\", \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": "
             "\"string\"}, \"from\": {\"type\": \"integer\"}, \"to\": {\"type\": \"integer\"}",
             calculator->about, t->about);
    CHECK(out.len > strlen(want) && memcmp(out.data, want, strlen(want)) == 0);
    CHECK(strstr(out.data, "\"required\": [\"path\"]}}}]"));
    CHECK_EQ(forms_mistral_tools(none, 1, fresh(), &err), -1);
    CHECK(out.len == 0 && strstr(err.text, "no tool \"fly\""));
    forms_mistral_call(&c, "000000012", fresh());
    forms_call_free(&c);
    CHECK_EQ(forms_read_call_as(FORM_CALLS_MISTRAL7, out.data, out.len, &c, &err), 0);
    CHECK_STR(c.arguments, "{\"path\":\"a \\\"b\\\"\",\"to\":3}");
    forms_call_free(&c);
    check_out("[{\"name\": \"read\", \"arguments\": {\"path\": \"a \\\"b\\\"\", \"to\": 3}, \"id\": \"000000012\"}]");
    forms_mistral_result(form_text("a \"b\"\n[/TOOL_RESULTS]"), "000000012", fresh());
    check_out("{\"content\": \"a \\\"b\\\"\\n[/TOOL_RESULTS]\", \"call_id\": \"000000012\"}");
}

/* What a server has is told in each family's form, and gone when it is forgotten. */
TEST(forms_of_a_tool_from_outside)
{
    static const char *const names[] = {"s__do"};
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"of\":{\"type\":"
                                 "\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"n\"]}";
    struct form_call good = {strdup("s__do"), strdup("{\"n\":1,\"x\":[]}")}, less = {strdup("s__do"), strdup("{}")};
    CHECK_EQ(forms_tools_add("read", "x", "{}", &err), -1);
    CHECK(strstr(err.text, "two tools named read"));
    CHECK_EQ(forms_tools_add("s__x", "x", "[]", &err), -1);
    CHECK_EQ(forms_tools_add("s__do", "Does it.", schema, &err), 0);
    CHECK(forms_tool("s__do") && forms_tool("s__do")->outside && !forms_tool("read")->outside);
    CHECK_EQ(forms_tool_lines(names, 1, true, fresh(), &err), 0);
    check_out("s__do(n:int, of:text?): Does it.");
    CHECK_EQ(forms_tool_lines(names, 1, false, fresh(), &err), 0);
    check_out("{\"name\":\"s__do\",\"description\":\"Does it.\",\"parameters\":{\"type\":\"object\",\"properties\":{"
              "\"n\":{\"type\":\"integer\"},\"of\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":["
              "\"n\"]}}");
    CHECK_EQ(forms_mistral_tools(names, 1, fresh(), &err), 0);
    check_out("[{\"type\": \"function\", \"function\": {\"name\": \"s__do\", \"description\": \"Does it.\", "
        "\"parameters\": {"
              "\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}, \"of\": {\"type\": \"array\", "
              "\"items\": {"
              "\"type\": \"string\"}}}, \"required\": [\"n\"]}}}]");
    CHECK_EQ(forms_harmony_tools(names, 1, fresh(), &err), 0);
    check_out("## functions\n\nnamespace functions {\n\n// Does it.\ntype s__do = (_: {\nn: number,\nof?: string[],"
        "\n}) => any;"
              "\n\n} // namespace functions");
    CHECK_EQ(forms_check_call(&good, &err), 0);
    CHECK_EQ(forms_check_call(&less, &err), -1);
    CHECK_STR(err.text, "s__do: the argument \"n\" lacks");
    forms_tools_forget();
    CHECK(!forms_tool("s__do") && forms_tool("read"));
    forms_call_free(&good);
    forms_call_free(&less);
}

/* As its models were trained: a function of TypeScript each, calls behind the name, results as a JSON text. */
TEST(forms_of_harmony)
{
    static const char *const names[] = {"calculator", "read"}, *const none[] = {"fly"};
    struct form_call c = {strdup("read"), strdup("{\"path\":\"a \\\"b\\\"\",\"to\":3}")};
    char want[2000];
    CHECK_EQ(forms_harmony_tools(names, 2, fresh(), &err), 0);
    snprintf(want, sizeof want, "## functions\n\nnamespace functions {\n\n// %s\ntype calculator = (_: {\n"
             "expression: string,\n}) => any;\n\n// %s\ntype read = (_: {\npath: string,\nfrom?: number,\n"
             "to?: number,\n", forms_tool("calculator")->about, forms_tool("read")->about);
    CHECK(out.len > strlen(want) && memcmp(out.data, want, strlen(want)) == 0);
    CHECK(strstr(out.data, "}) => any;\n\n} // namespace functions"));
    CHECK_EQ(forms_harmony_tools(none, 1, fresh(), &err), -1);
    CHECK(out.len == 0 && strstr(err.text, "no tool \"fly\""));
    forms_harmony_type(form_text("f"), form_text("One.\nTwo."), form_text(""), fresh());
    check_out("// One.\n// Two.\ntype f = () => any;\n\n");
    CHECK_EQ(forms_harmony_call(&c, fresh()), 4);
    check_out("read {\"path\": \"a \\\"b\\\"\", \"to\": 3}");
    forms_call_free(&c);
    CHECK_EQ(forms_harmony_name(form_text("a b\n<|call|>\xc3\xa4.B-9"), fresh()), 18);
    check_out("a_b___call____.B-9 ");
    CHECK_EQ(forms_harmony_name(form_text(""), fresh()), 0);
    CHECK_EQ(out.len, 0);
    char longer[100];
    memset(longer, 'x', sizeof longer);
    CHECK_EQ(forms_harmony_name((struct form_text){longer, sizeof longer}, fresh()), 64);
    CHECK_EQ(out.len, 65);
    forms_harmony_result(form_text("a \"b\"\n<|end|>"), fresh());
    check_out("\"a \\\"b\\\"\\n<|end|>\"");
}

TEST(forms_call_refuses_arguments_that_are_no_object)
{
    static const char *const bad[] = {"", "[]", "3", "{", "{\"a\":1,\"a\":2}", "{}{}", "{\"a\":\"\xff\"}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(forms_call("read", form_text(bad[i]), fresh(), &err), -1);
        check_err("the arguments of read");
        check_out("");
    }
}

TEST(forms_record_with_and_without_items)
{
    struct form_record r = {{LIST(T("the ship is Ada"), T("none")), EMPTY, LIST(T("{open}")), LIST(T("a"), T("b"))},
                            NULL};
    forms_record(&r, fresh());
    check_out("Facts:\n- the ship is Ada\n- none\nDecisions:\nnone\nDone:\n- {open}\nOpen:\n- a\n- b");
    r = (struct form_record){0};
    forms_record(&r, fresh());
    check_out("Facts:\nnone\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone");
}

TEST(forms_handover_with_and_without_artifacts)
{
    struct form_handover h = {T("planner"), T("critic"), T("{result}"), T("r\r\nArtifacts: a9"), EMPTY, NULL};
    forms_handover(&h, fresh());
    check_out("Hand-over from planner to critic\nTask: {result}\nResult: r Artifacts: a9\nArtifacts: none");
    h.artifacts = LIST(T("a12"), T(" "), T("a13"));
    forms_handover(&h, fresh());
    check_out("Hand-over from planner to critic\nTask: {result}\nResult: r Artifacts: a9\nArtifacts: a12, a13");
}

TEST(forms_of_the_crew)
{
    static const struct form_finding f[] = {{T("the draught is 4.2 m"), T("a12")}, {T(""), T("a13")},
                                            {T("two\nlines"), T("a\n14")}};
    forms_plan(LIST(T("Read the log."), T(""), T("Weigh {text}.")), fresh());
    check_out("Plan:\n1. Read the log.\n2. Weigh {text}.");
    forms_plan(EMPTY, fresh());
    check_out("Plan:\nnone");
    forms_findings(f, COUNT_OF(f), fresh());
    check_out("Findings:\n- the draught is 4.2 m [a12]\n- two lines [a 14]");
    forms_findings(NULL, 0, fresh());
    check_out("Findings:\nnone");
    forms_verdict(true, LIST(T("complete"), T("short")), fresh());
    check_out("Verdict: accept\n- complete\n- short");
    forms_verdict(false, EMPTY, fresh());
    check_out("Verdict: revise\nnone");
    forms_draft(T("One.\nTwo {text}."), fresh());
    check_out("Draft:\nOne.\nTwo {text}.");
}

static const char *flattened(struct form_text t)
{
    fresh();
    forms_plan((struct form_list){&t, 1}, &out);
    return strcmp(out.data, "Plan:\nnone") == 0 ? "" : out.data + strlen("Plan:\n1. ");
}

TEST(forms_items_are_one_line_each)
{
    CHECK_STR(flattened(T("a\nb")), "a b");
    CHECK_STR(flattened(T("a \r\n\t b")), "a b");
    CHECK_STR(flattened(T("a  b   c")), "a  b   c");
    CHECK_STR(flattened(T("  a  ")), "a");
    CHECK_STR(flattened(T("\n \x01 a b\n\n")), "a b");
    CHECK_STR(flattened(T("a\0b\x1b[31mc\x7f""d")), "a b [31mc d");
    CHECK_STR(flattened(T("a\xc2\x85""b\xc2\xa0""c\xe2\x80\xa8""d\xe2\x80\xa9")), "a b\xc2\xa0""c d");
    CHECK_STR(flattened(T("\xc2")), "\xc2");
    CHECK_STR(flattened(T("\xe2\x80")), "\xe2\x80");
    CHECK_STR(flattened(T("")), "");
    CHECK_STR(flattened(T(" \n ")), "");
}

/* ---------------------------------------------------------------- dialogues */

static int dialogue(const char *json) { return forms_dialogue(json, strlen(json), fresh(), &err); }

#define SAYS(role, content) "{\"messages\":[{\"role\":\"" role "\",\"content\":\"" content "\"}]}"

TEST(forms_dialogue_every_kind_of_turn_is_somebodys_message)
{
    static const struct { const char *turn, *want; } kinds[] = {
        {"{\"user\":\"a \\\"b\\\"\\n\\u00e9\\u0001\"}", SAYS("user", "a \\\"b\\\"\\né\\u0001")},
        {"{\"assistant\":\"\"}", SAYS("assistant", "")},
        {"{\"result\":{\"text\":\"t\"}}", SAYS("tool", "t")},
        {"{\"result\":{\"text\":\"t\",\"shown\":120,\"total\":2310,\"id\":\"a17\",\"offset\":512}}",
         SAYS("tool", "t\\n[clipped: 120 of 2310 tokens shown; the rest is artifact a17 from offset 512]")},
        {"{\"result\":{\"text\":\"t\",\"end\":\"a17\"}}", SAYS("tool", "t\\n[end of artifact a17]")},
        {"{\"ask_summary\":true}",
         SAYS("user", "Write the summary record of this conversation: facts, decisions, done, open, one line each. "
                      "Copy names "
                      "and numbers exactly. Add nothing.")},
        {"{\"ask_handover\":\"critic\"}", SAYS("user", "Hand over to critic.")},
        {"{\"receive\":{\"from\":\"a\",\"to\":\"b\",\"task\":\"t\",\"result\":\"r\",\"artifacts\":[]}}",
         SAYS("user", "Hand-over from a to b\\nTask: t\\nResult: r\\nArtifacts: none")},
        {"{\"handover\":{\"from\":\"a\",\"to\":\"b\",\"task\":\"t\",\"result\":\"r\",\"artifacts\":[\"a1\",\"a2\"]}}",
         SAYS("assistant", "Hand-over from a to b\\nTask: t\\nResult: r\\nArtifacts: a1, a2")},
        {"{\"call\":{\"name\":\"read\",\"arguments\":{\"path\":\"n.txt\",\"to\":2}}}",
         SAYS("assistant", "<tool_call>{\\\"name\\\":\\\"read\\\",\\\"arguments\\\":{"
                           "\\\"path\\\":\\\"n.txt\\\",\\\"to\\\":2}}"
                           "</tool_call>")},
        {"{\"record\":{\"facts\":[\"a\"],\"decisions\":[],\"done\":[],\"open\":[\"b\",\"c\"]}}",
         SAYS("assistant", "Facts:\\n- a\\nDecisions:\\nnone\\nDone:\\nnone\\nOpen:\\n- b\\n- c")},
        {"{\"plan\":[\"a\",\"b\"]}", SAYS("assistant", "Plan:\\n1. a\\n2. b")},
        {"{\"findings\":[{\"text\":\"a\",\"source\":\"s\"}]}", SAYS("assistant", "Findings:\\n- a [s]")},
        {"{\"verdict\":{\"accept\":false,\"reasons\":[\"a\"]}}", SAYS("assistant", "Verdict: revise\\n- a")},
        {"{\"draft\":\"a\"}", SAYS("assistant", "Draft:\\na")},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        char json[400];
        snprintf(json, sizeof json, "{\"role\":null,\"tools\":[],\"summary\":null,\"check\":{\"kind\":\"x\"},"
                 "\"turns\":[%s]}",
                 kinds[i].turn);
        if (dialogue(json)) check_fail(__FILE__, __LINE__, "%s: %s", json, err.text);
        check_out(kinds[i].want);
    }
}

TEST(forms_dialogue_system_message_comes_first)
{
    CHECK_EQ(dialogue("{\"turns\":[]}"), 0);
    check_out("{\"messages\":[]}");
    CHECK_EQ(dialogue("{\"role\":\"planner\",\"turns\":[{\"user\":\"a\"},{\"assistant\":\"b\"}]}"), 0);
    check_out("{\"messages\":[{\"role\":\"system\",\"content\":\"" PLANNER "\"},{\"role\":\"user\",\"content\":\"a\"},"
              "{\"role\":\"assistant\",\"content\":\"b\"}]}");
    CHECK_EQ(dialogue("{\"tools\":[\"ask\"],\"summary\":{\"facts\":[],\"decisions\":[],\"done\":[],\"open\":[],"
                      "\"artifact\":"
                      "\"a1\"},\"turns\":[]}"), 0);
    check_out("{\"messages\":[{\"role\":\"system\",\"content\":\"Tools. To use one, answer only "
              "<tool_call>{\\\"name\\\":NAME,"
              "\\\"arguments\\\":{...}}</tool_call> and wait for its result.\\nask(question): ask the user\\n\\n"
              "Summary of what was said before; the whole is artifact a1:\\nFacts:\\nnone\\nDecisions:\\nnone\\n"
              "Done:\\nnone\\n"
              "Open:\\nnone\"}]}");
}

TEST(forms_dialogue_says_what_is_wrong)
{
    static const struct { const char *json, *says; } bad[] = {
        {"", "not JSON"},
        {"[]", "must be an object"},
        {"{}", "\"turns\" must be a list"},
        {"{\"turns\":[{\"user\":\"a\"},{\"sing\":\"b\"}]}", "turn 2: \"sing\" is no kind of turn"},
        {"{\"turns\":[{}]}", "turn 1: it must be an object with one key"},
        {"{\"turns\":[3]}", "turn 1: it must be an object with one key"},
        {"{\"turns\":[{\"user\":\"a\",\"assistant\":\"b\"}]}", "turn 1: it must be an object with one key"},
        {"{\"turns\":[{\"user\":3}]}", "turn 1, user: it must be a text"},
        {"{\"turns\":[{\"user\":\"\\u0000\"}]}", "not JSON"},
        {"{\"turns\":[{\"ask_summary\":false}]}", "turn 1, ask_summary: it must be true"},
        {"{\"turns\":[{\"result\":{\"text\":\"a\",\"shown\":1}}]}", "turn 1, result: Object item not found: total"},
        {"{\"turns\":[{\"result\":\"a\"}]}", "turn 1, result: "},
        {"{\"turns\":[{\"plan\":\"a\"}]}", "turn 1, plan: \"plan\" must be a list"},
        {"{\"turns\":[{\"plan\":[1]}]}", "turn 1, plan: \"plan\" must be a list of texts"},
        {"{\"turns\":[{\"record\":{\"facts\":[],\"decisions\":[],\"done\":[]}}]}", "turn 1, record: "},
        {"{\"turns\":[{\"record\":{\"facts\":[],\"decisions\":[],\"done\":[],\"open\":3}}]}", "\"open\" must be"},
        {"{\"turns\":[{\"findings\":[{\"text\":\"a\"}]}]}", "turn 1, findings: Object item not found: source"},
        {"{\"turns\":[{\"findings\":{}}]}", "turn 1, findings: it must be a list"},
        {"{\"turns\":[{\"verdict\":{\"accept\":\"yes\",\"reasons\":[]}}]}", "turn 1, verdict: "},
        {"{\"turns\":[{\"call\":{\"name\":\"fly\",\"arguments\":{}}}]}", "turn 1, call: no tool \"fly\""},
        {"{\"turns\":[{\"call\":{\"name\":\"ask\",\"arguments\":{}}}]}", "ask: the argument \"question\" lacks"},
        {"{\"turns\":[{\"call\":{\"name\":\"ask\",\"arguments\":[]}}]}", "\"arguments\" must be an object"},
        {"{\"role\":\"cook\",\"turns\":[]}", "no role \"cook\""},
        {"{\"role\":3,\"turns\":[]}", "\"role\" must be a text or null"},
        {"{\"tools\":[\"fly\"],\"turns\":[]}", "no tool \"fly\""},
        {"{\"tools\":[3],\"turns\":[]}", "\"tools\" must be a list of names"},
        {"{\"tools\":3,\"turns\":[]}", "\"tools\" must be a list"},
        {"{\"summary\":{\"facts\":[]},\"turns\":[]}", "summary: "},
        {"{\"summary\":3,\"turns\":[]}", "summary: "},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (dialogue(bad[i].json) != -1) check_fail(__FILE__, __LINE__, "accepted: %s", bad[i].json);
        check_err(bad[i].says);
        check_out("");
    }
}

/* ---------------------------------------------------------------- plimsoll forms */

static struct child c;

static int forms_program(const char *flag, const char *in)
{
    const char *args[] = {"forms", flag, NULL};
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}

static const char *said(const struct buf *b) { return b->data ? b->data : ""; }

TEST(forms_program_shows_every_form_and_the_hash)
{
    char hash[17];
    forms_hash(hash);
    CHECK_EQ(forms_program(NULL, ""), 0);
    for (int f = 0; f < FORM_COUNT; f++) CHECK(strstr(said(&c.out_text), form_file((enum form)f)) != NULL);
    CHECK(strstr(said(&c.out_text), hash) != NULL);
    CHECK(strstr(said(&c.out_text), "    2. Weigh the cargo.\n") != NULL);
    CHECK(strstr(said(&c.out_text), "no value for") == NULL);
    CHECK(strstr(said(&c.out_text), "no place") == NULL);
    CHECK_EQ(forms_program("--hash", ""), 0);
    CHECK_EQ(c.out_text.len, 17);
    CHECK_MEM(c.out_text.data, hash, 16);
    CHECK_EQ(forms_program("--sing", ""), 2);
    CHECK(strstr(said(&c.err_text), "plimsoll forms takes") != NULL);
    child_free(&c);
}

TEST(forms_program_renders_lines_up_to_a_bad_one)
{
    CHECK_EQ(forms_program("--render", "{\"turns\":[{\"user\":\"a\"}]}\n{\"turns\":[]}"), 0);
    CHECK_STR(said(&c.out_text), "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[]}\n");
    CHECK_STR(said(&c.err_text), "");
    CHECK_EQ(forms_program("--render", ""), 0);
    CHECK_STR(said(&c.out_text), "");
    CHECK_EQ(forms_program("--render", "{\"turns\":[]}\n{\"turns\":[{\"sing\":1}]}\n{\"turns\":[]}\n"), 2);
    CHECK_STR(said(&c.out_text), "{\"messages\":[]}\n");
    CHECK_STR(said(&c.err_text), "plimsoll: line 2 of stdin: turn 1: \"sing\" is no kind of turn\n");
    CHECK_EQ(forms_program("--render", "\n"), 2);
    child_free(&c);
}

TEST(forms_program_answers_each_line_before_the_next)
{
    static const char *const args[] = {"forms", "--render", NULL};
    static const char line[] = "{\"turns\":[]}\n";
    child_start(&c, args);
    for (int i = 0; i < 3; i++) {
        child_type(&c, line, strlen(line));
        child_wait_for(&c, "{\"messages\":[]}\n");
    }
    child_close_input(&c);
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
}

CHECK_MAIN
