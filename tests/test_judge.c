/* test_judge.c - the judging of the embedded model's answers: right, nearly right, wrong, hostile. */
#include "tests/check.h"
#include "tests/judge.h"

/* ---------------------------------------------------------------- helpers */

static json_t *parse(const char *text)
{
    json_error_t why;
    json_t *o = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (!o) check_fail(__FILE__, __LINE__, "%s: %s", text, why.text);
    return o;
}

/* The bytes in a block of their own size, so that ASan sees a step beyond. */
static struct judgement judge_n(const char *check, const char *turn, const char *text, size_t len)
{
    struct err err = {0};
    json_t *c = parse(check), *t = parse(turn);
    if (judge_check(c, t, &err)) check_fail(__FILE__, __LINE__, "%s: %s", check, err.text);
    char *copy = len ? malloc(len) : NULL;
    CHECK(copy || len == 0);
    if (copy) memcpy(copy, text, len);
    struct judgement j = judge_answer(c, t, copy, len);
    CHECK_EQ(j.ok, j.why[0] == '\0');
    free(copy);
    json_decref(c);
    json_decref(t);
    return j;
}

static struct judgement judge(const char *check, const char *turn, const char *text)
{
    return judge_n(check, turn, text, strlen(text));
}

struct answer_case {
    const char *text;
    bool ok;
};

static void check_answers(const char *check, const char *turn, const struct answer_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct judgement j = judge(check, turn, c[i].text);
        if (j.ok != c[i].ok)
            check_fail(__FILE__, __LINE__, "%s\nof \"%s\": %s", check, c[i].text, j.ok ? "passed" : j.why);
    }
}
#define CHECK_ANSWERS(check, turn, list) check_answers(check, turn, list, COUNT_OF(list))

static bool can_judge(const char *check, const char *turn)
{
    struct err err = {0};
    json_t *c = parse(check), *t = parse(turn);
    bool can = judge_check(c, t, &err) == 0;
    CHECK_EQ(can, err.text[0] == '\0');
    json_decref(c);
    json_decref(t);
    return can;
}

/* ---------------------------------------------------------------- words */

TEST(a_word_is_found_whatever_its_case_and_only_as_a_whole)
{
    static const struct { const char *text, *word; bool found; } c[] = {
        {"It is 12.", "12", true}, {"1234", "12", false}, {"412", "12", false}, {"a12", "12", false},
        {"Ann", "Ann", true}, {"Anna", "Ann", false}, {"Joann", "Ann", false}, {"ANN's", "ann", true},
        {"Anna and Ann", "Ann", true}, {"Annann ann", "ann", true}, {"ann_x", "ann", true}, {"(ann)", "Ann", true},
        {"src/main.c:40", "main.c", true}, {"src/main.cc", "main.c", false}, {"xmain.c", "main.c", false},
        {"x(y)z", "(y)", true},  /* a mark at an end asks nothing of its neighbour */
        {"x(y)z", "(y", true}, {"x(yz", "(y", false}, {"-5", "-5", true}, {"3-5", "-5", true}, {"-51", "-5", false},
        {"two  words", "two words", false}, {"two words", "Two Words", true},
        {"\xc3\x89mile", "\xc3\x89mile", true}, {"\xc3\xa9mile", "\xc3\x89mile", false}, /* as they are */
        {"12\xe2\x82\xac", "12", true}, {"Ann\xe2\x80\x99s", "Ann", true},
        {"", "x", false}, {"x", "", false}, {"", "", false}, {"x", "xx", false}, {"[{`@", "K{`@", false},
        {"aaab", "aab", false}, {"a-aab", "aab", true}, {"a", "A", true}, {"@", "`", false}, {"[", "{", false},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++)
        if (judge_finds(c[i].text, strlen(c[i].text), c[i].word, strlen(c[i].word)) != c[i].found)
            check_fail(__FILE__, __LINE__, "\"%s\" in \"%s\"", c[i].word, c[i].text);
}

TEST(contains_asks_for_one_of_each_group_and_none_of_the_others)
{
    static const struct answer_case c[] = {
        {"Your cat Ann is 12.", true}, {"The CAT is twelve.", true}, {"Your kitten: 12", true},
        {"Your cat is 121.", false}, {"It is 12.", false}, {"Your cat is 12, your dog 13.", false},
        {"Your cat is 12, your dog 130.", true}, {"", false}, {"cat 12 <tool_call>", false},
        {"<tool_call>{\"name\":\"recall\",\"arguments\":{\"query\":\"cat 12\"}}</tool_call>", false},
    };
    CHECK_ANSWERS("{\"kind\":\"contains\",\"all\":[[\"cat\",\"kitten\"],[\"12\",\"twelve\"]],\"none\":[\"13\"]}",
                  "{\"assistant\":\"x\"}", c);
    CHECK_STR(judge("{\"kind\":\"contains\",\"all\":[[\"cat\"],[\"12\",\"twelve\"]]}", "{}", "A cat.").why,
              "lacks \"12\" and what may stand for it");
    CHECK_STR(judge("{\"kind\":\"contains\",\"none\":[\"cat\"]}", "{}", "A cat.").why, "has \"cat\"");
    CHECK(judge("{\"kind\":\"contains\",\"none\":[\"cat\"]}", "{}", "").ok);
}

/* ---------------------------------------------------------------- calls */

TEST(a_call_is_right_to_the_last_argument_and_nothing_stands_beside_it)
{
    static const char check[] =
        "{\"kind\":\"call\",\"name\":\"read\",\"arguments\":{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}}";
#define READ(args) "<tool_call>{\"name\":\"read\",\"arguments\":" args "}</tool_call>"
    static const struct answer_case c[] = {
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}"), true},
        {" \n" READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}") "\n", true},
        {READ("{\"to\":7, \"from\":3, \"path\":\"a \\u0022b\\u0022.txt\"}"), true}, /* the same JSON */
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3}"), false},
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":8}"), false},
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":\"3\",\"to\":7}"), false},
        {READ("{\"path\":\"A \\\"b\\\".txt\",\"from\":3,\"to\":7}"), false},
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7,\"x\":1}"), false},
        {READ("{\"path\":\"y\",\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}"), false},
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7},\"id\":1"), false},
        {READ("[1]"), false}, {READ("null"), false},
        {"I read it. " READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}"), false},
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}") " Done.", false},
        {READ("{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}") READ("{}"), false},
        {"<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}}", false},
        {"{\"name\":\"read\",\"arguments\":{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}}", false},
        {"<tool_call>{\"name\":\"list\",\"arguments\":{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}}</tool_call>",
         false},
        {"<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a \\\"b\\\".txt\",\"from\":3,\"to\":7}}</tool_cell>",
         false},
        {"<tool_call></tool_call>", false}, {"<tool_call>", false}, {"<tool_call>\"x\"</tool_call>", false},
        {"<tool_call>[]</tool_call>", false}, {"</tool_call>", false}, {"", false},
    };
#undef READ
    CHECK_ANSWERS(check, "{}", c);
}

TEST(no_call_is_any_other_answer)
{
    static const struct answer_case c[] = {
        {"I cannot read that.", true}, {"", true}, {"tool_call", true},
        {"<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>", false}, {"Well <tool_call>", false},
    };
    static const struct answer_case words[] = {
        {"I have no tool.", true}, {"Yes.", false}, {"No tool, I read it.", false},
    };
    CHECK_ANSWERS("{\"kind\":\"no_call\"}", "{}", c);
    CHECK_ANSWERS("{\"kind\":\"no_call\",\"all\":[[\"no\",\"not\"]],\"none\":[\"read\"]}", "{}", words);
}

/* ---------------------------------------------------------------- records */

static const char record_turn[] = "{\"record\":{\"facts\":[\"The cat is Mia.\",\"The code is 4711.\"],"
                                  "\"decisions\":[],\"done\":[\"Read a.txt.\"],\"open\":[\"Call Ben.\"]}}";

TEST(a_record_is_judged_line_by_line_in_its_section)
{
    static const struct { const char *text; int kept; bool invented; } c[] = {
        {"Facts:\n- The cat is Mia.\n- The code is 4711.\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n"
         "- Call Ben.", 4, false},
        {"\nFacts:  \n-  The code is 4711. \n- The cat is Mia.\nDecisions:\nnone\nDone:\n- Read a.txt.\r\nOpen:\n"
         "- Call Ben.\n\n", 4, false},
        {"Facts:\n- The cat is Mia.\nDecisions:\nnone\nDone:\nnone\nOpen:\n- Call Ben.", 2, false},
        {"Facts:\n- The cat is Mia.\n- The cat is Mia.\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone", 1, false},
        {"Facts:\n- The cat is Mia.\n- The code is 4712.\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone", 1, true},
        {"Facts:\n- the cat is Mia.\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone", 0, true},
        {"Facts:\nnone\nDecisions:\n- The cat is Mia.\nDone:\nnone\nOpen:\nnone", 0, true}, /* another section */
        {"Facts:\nnone\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone", 0, false},
    };
    static const char *const broken[] = {
        "", "Facts:", "none", "I do not know.",
        "Facts:\n- The cat is Mia.\n- The code is 4711.\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:",
        "Facts:\n- The cat is Mia.\n- The code is 4711.\nDecisions:\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\n\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\nnone\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\nDecisions:\nnone\n- The cat is Mia.\nDone:\nnone\nOpen:\n- Call Ben.",
        "Facts:\nThe cat is Mia.\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\nDone:\n- Read a.txt.\nDecisions:\nnone\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\nDecisions:\nnone\n- A\n- B\nDone:\nnone\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\nDecisions:\nnone\nDone:\n- Read a.txt.",
        "Facts:\n-\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.",
        "Here it is:\nFacts:\n- The cat is Mia.\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.",
        "Facts:\n- The cat is Mia.\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.\nFacts:\n- x",
        "Facts:\n- The cat is Mia.\nDecisions:\nnone\nDone:\n- Read a.txt.\nOpen:\n- Call Ben.\nBye.",
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct judgement j = judge("{\"kind\":\"record\"}", record_turn, c[i].text);
        CHECK_EQ(j.lines, 4);
        CHECK_EQ(j.kept, c[i].kept);
        CHECK_EQ(j.invented, c[i].invented);
        CHECK_EQ(j.ok, c[i].kept == 4 && !c[i].invented);
    }
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct judgement j = judge("{\"kind\":\"record\"}", record_turn, broken[i]);
        if (j.kept || !j.invented || j.ok || j.lines != 4)
            check_fail(__FILE__, __LINE__, "\"%s\" was taken for a record", broken[i]);
    }
}

TEST(an_empty_record_is_four_times_none)
{
    struct judgement j = judge("{\"kind\":\"record\"}", "{\"record\":{}}",
                               "Facts:\nnone\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone");
    CHECK(j.ok);
    CHECK_EQ(j.lines, 0);
    CHECK(!judge("{\"kind\":\"record\"}", "{\"record\":{}}", "").ok);
}

/* ---------------------------------------------------------------- the crew */

TEST(a_hand_over_names_both_the_task_and_the_artifacts)
{
    static const char turn[] = "{\"handover\":{\"from\":\"planner\",\"to\":\"critic\",\"task\":\"Check the plan.\","
                               "\"result\":\"Two steps.\",\"artifacts\":[\"a12\",\"a7\"]}}";
#define HAND(from, to, task, result, artifacts) \
    "Hand-over from " from " to " to "\nTask: " task "\nResult: " result "\nArtifacts: " artifacts
    static const struct answer_case c[] = {
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "a12, a7"), true},
        {HAND("planner", "critic", "Check the plan. ", "Something else.", "a12,a7\n"), true},
        {HAND("planner", "writer", "Check the plan.", "Two steps.", "a12, a7"), false},
        {HAND("critic", "critic", "Check the plan.", "Two steps.", "a12, a7"), false},
        {HAND("planner", "critics", "Check the plan.", "Two steps.", "a12, a7"), false},
        {HAND("planners", "critic", "Check the plan.", "Two steps.", "a12, a7"), false},
        {HAND("plan", "critic", "Check the plan.", "Two steps.", "a12, a7"), false},
        {HAND("planner", "critic", "Check the plans.", "Two steps.", "a12, a7"), false},
        {HAND("planner", "critic", "Check the plan.", "", "a12, a7"), false},
        {HAND("planner", "critic", "Check the plan.", " ", "a12, a7"), false},
        {HAND("planner", "critic", "Check the plan.", "One.\nTwo.", "a12, a7"), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "a12"), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "a7, a12"), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "a12, a7, a8"), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "a12, a7,"), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "none"), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", ""), false},
        {HAND("planner", "critic", "Check the plan.", "Two steps.", "a12, a7\nThanks."), false},
        {"Hand-over from planner to critic\nTask: Check the plan.\nArtifacts: a12, a7\nResult: x", false},
        {"Hand-over from planner to critic", false}, {"", false},
    };
    static const struct answer_case none[] = {{HAND("a", "b", "t", "r", "none"), true},
                                              {HAND("a", "b", "t", "r", "a1"), false},
                                              {HAND("a", "b", "t", "r", ""), false}};
#undef HAND
    CHECK_ANSWERS("{\"kind\":\"handover\"}", turn, c);
    CHECK_ANSWERS("{\"kind\":\"handover\"}",
                  "{\"handover\":{\"from\":\"a\",\"to\":\"b\",\"task\":\"t\",\"result\":\"r\","
                  "\"artifacts\":[]}}", none);
}

TEST(a_plan_is_two_to_four_numbered_steps)
{
    static const struct answer_case c[] = {
        {"Plan:\n1. Read.\n2. Write.", true}, {" Plan:\n1. A\n2. B\n3. C\n4. D\n", true}, {"Plan:\n1. Read.", false},
        {"Plan:\n1. A\n2. B\n3. C\n4. D\n5. E", false}, {"Plan:\n1. A\n3. B", false}, {"Plan:\n1. A\n1. B", false},
        {"Plan:\n1.\n2. B", false}, {"Plan:\n1. A\n2. \n", false}, {"Plan:\n1.A\n2.B", false},
        {"Plan:\n- A\n- B", false}, {"Plan:", false},
        {"1. A\n2. B", false}, {"Plan:\n1. A\n\n2. B", false}, {"Plan:\n1. A\n2. B\nGood?", false},
        {"A plan:\n1. A\n2. B", false}, {"Plan: 1. A\n2. B", false}, {"Plan:\n1. A\n2. <tool_call>", false},
        {"", false},
    };
    static const struct answer_case words[] = {{"Plan:\n1. Read a.txt.\n2. Write b.txt.", true},
                                               {"Plan:\n1. Read.\n2. Write b.txt.", false}};
    CHECK_ANSWERS("{\"kind\":\"plan\"}", "{\"plan\":[\"A\",\"B\"]}", c);
    CHECK_ANSWERS("{\"kind\":\"plan\",\"all\":[[\"a.txt\"]]}", "{}", words);
}

TEST(a_finding_has_its_source_in_brackets)
{
    static const struct answer_case c[] = {
        {"Findings:\n- The log is full. [a12]", true}, {"Findings:\n- A [x] b [a.txt]\n- C [a 12]\n", true},
        {"Findings:\n- The log is full.", false}, {"Findings:\n- The log [a12] is full.", false},
        {"Findings:\n- [a12]", false}, {"Findings:\n-  [a12]", false}, {"Findings:\n- A []", false},
        {"Findings:\n- A[a12]", false}, {"Findings:\n- A a12]", false}, {"Findings:\n- ]", false},
        {"Findings:\n- A [a1]\n- B", false}, {"Findings:\nnone", false}, {"Findings:", false}, {"- A [a1]", false},
        {"Findings:\n- A [a1]\n\n- B [a2]", false}, {"", false},
    };
    static const struct answer_case none[] = {{"Findings:\nnone", true}, {"Findings:", false}, {"none", false}};
    CHECK_ANSWERS("{\"kind\":\"findings\"}", "{\"findings\":[{\"text\":\"A\",\"source\":\"a1\"}]}", c);
    CHECK_ANSWERS("{\"kind\":\"findings\"}", "{\"findings\":[]}", none);
}

TEST(a_verdict_is_the_right_one_and_has_reasons)
{
    static const char accept[] = "{\"verdict\":{\"accept\":true,\"reasons\":[\"It is short.\"]}}";
    static const char revise[] = "{\"verdict\":{\"accept\":false,\"reasons\":[\"It is long.\"]}}";
    static const struct answer_case a[] = {
        {"Verdict: accept\n- It is short.", true}, {"Verdict: accept\n- A\n- B\n", true},
        {"Verdict: revise\n- It is short.", false}, {"Verdict: accept", false}, {"Verdict: accept\nnone", false},
        {"Verdict: Accept\n- A", false}, {"Verdict: accepted\n- A", false}, {"Verdict: accept or revise\n- A", false},
        {"Verdict: accept\nIt is short.", false}, {"Verdict: accept\n- A\nBye", false}, {"accept\n- A", false},
        {"Verdict:\n- A", false}, {"", false},
    };
    static const struct answer_case r[] = {{"Verdict: revise\n- It is long.", true}, {"Verdict: accept\n- A", false}};
    static const struct answer_case none[] = {{"Verdict: accept", true}, {"Verdict: accept\nnone", true},
                                              {"Verdict: accept\n- A", true}, {"Verdict: revise", false}};
    CHECK_ANSWERS("{\"kind\":\"verdict\"}", accept, a);
    CHECK_ANSWERS("{\"kind\":\"verdict\"}", revise, r);
    CHECK_ANSWERS("{\"kind\":\"verdict\"}", "{\"verdict\":{\"accept\":true,\"reasons\":[]}}", none);
}

TEST(a_draft_is_one_paragraph)
{
    static const struct answer_case c[] = {
        {"Draft:\nThe cat is Mia.", true}, {"Draft:\nThe cat\nis Mia.\n\n", true}, {"Draft:\n\nThe cat is Mia.", false},
        {"Draft:\nThe cat.\n\nThe dog.", false}, {"Draft:\nThe cat.\n \nThe dog.", false}, {"Draft:", false},
        {"Draft:\n \n", false}, {"The cat is Mia.", false}, {"Draft: The cat is Mia.", false}, {"", false},
        {"Draft:\n<tool_call>{}</tool_call>", false},
    };
    static const struct answer_case words[] = {{"Draft:\nThe cat is Mia.", true}, {"Draft:\nThe cat is Bo.", false},
                                               {"Draft:\nMia is a dog.", false}};
    CHECK_ANSWERS("{\"kind\":\"draft\"}", "{\"draft\":\"The cat is Mia.\"}", c);
    CHECK_ANSWERS("{\"kind\":\"draft\",\"all\":[[\"Mia\"]],\"none\":[\"dog\"]}", "{}", words);
}

/* ---------------------------------------------------------------- any bytes */

static const struct { const char *check, *turn; bool passes_anything; } kinds[] = {
    {"{\"kind\":\"contains\",\"all\":[[\"cat\"]]}", "{}", false},
    {"{\"kind\":\"contains\",\"none\":[\"cat\"]}", "{}", true},
    {"{\"kind\":\"no_call\"}", "{}", true},
    {"{\"kind\":\"call\",\"name\":\"list\",\"arguments\":{\"path\":\"x\"}}", "{}", false},
    {"{\"kind\":\"record\"}", record_turn, false},
    {"{\"kind\":\"handover\"}", "{\"handover\":{\"from\":\"a\",\"to\":\"b\",\"task\":\"t\"}}", false},
    {"{\"kind\":\"plan\"}", "{}", false},
    {"{\"kind\":\"findings\"}", "{}", false},
    {"{\"kind\":\"verdict\"}", "{\"verdict\":{\"accept\":true}}", false},
    {"{\"kind\":\"draft\"}", "{}", false},
};

static void check_all_kinds(const char *text, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        CHECK_EQ(judge_n(kinds[i].check, kinds[i].turn, text, len).ok, kinds[i].passes_anything);
}

TEST(hostile_answers_are_judged_without_harm)
{
    static const char nul[] = "\0\0cat\0", bad[] = "\xff\xfe\x80 c\xc3 t \xf0\x9f", zero[] = "Plan:\n1. \0\n2.";
    check_all_kinds("", 0);
    check_all_kinds("\n\n \t", 4);
    check_all_kinds(bad, sizeof bad - 1);
    check_all_kinds("-", 1);
    check_all_kinds("[", 1);
    check_all_kinds("]", 1);
    check_all_kinds("Hand-over from a to b", 21);
    check_all_kinds(zero, sizeof zero - 1);
    CHECK(judge_n(kinds[0].check, "{}", nul, sizeof nul - 1).ok); /* a NUL ends nothing */
    CHECK(!judge_n("{\"kind\":\"no_call\"}", "{}", "\0<tool_call>", 12).ok);
    CHECK(!judge_n("{\"kind\":\"contains\",\"all\":[[\"a\\u0000b\"]]}", "{}", "a\0c", 3).ok);
    CHECK(judge_n("{\"kind\":\"contains\",\"all\":[[\"a\\u0000b\"]]}", "{}", "xa a\0b", 6).ok);
    CHECK(!judge_n(kinds[3].check, "{}", "<tool_call>{\"name\":\"list\",\"arguments\":{\"path\":\"x\0\"}}</tool_call>",
                   62).ok);
    CHECK(!judge_n(kinds[3].check, "{}", "<tool_call>{\"name\":\"li\xffst\",\"arguments\":{}}</tool_call>", 52).ok);
}

static char *repeated(const char *unit, size_t bytes, const char *front)
{
    struct buf b = {0};
    buf_puts(&b, front);
    while (b.len + strlen(unit) <= bytes) buf_puts(&b, unit);
    CHECK(!b.failed);
    return b.data;
}

TEST(a_mebibyte_is_judged_too)
{
    static const char *const unit[] = {"a", "\n", "- x\n", "- x [y]", "c", "[", "{\"a\":", "Facts:\n- Mia.\n",
                                       "\xc3", ", "};
    static const char *const front[] = {"", "<tool_call>", "Facts:\n- x\n", "Findings:\nx", "Verdict: accept\nx",
                                        "Hand-over from a to b\nTask: t\nResult: "};
    for (size_t u = 0; u < COUNT_OF(unit); u++) {
        for (size_t f = 0; f < COUNT_OF(front); f++) {
            char *text = repeated(unit[u], 1 << 20, front[f]);
            size_t len = strlen(text);
            for (size_t i = 0; i < COUNT_OF(kinds); i++) {
                bool ok = judge_n(kinds[i].check, kinds[i].turn, text, len).ok;
                if (ok != (kinds[i].passes_anything && f != 1))
                    check_fail(__FILE__, __LINE__, "%s of \"%s\" and many \"%s\"", kinds[i].check, front[f], unit[u]);
            }
            free(text);
        }
    }
}

/* ---------------------------------------------------------------- UTF-8, loops */

TEST(utf8_is_what_the_standard_says)
{
    static const struct { const char *text; bool valid; } c[] = {
        {"", true}, {"plain\n", true}, {"\xc3\xa9", true}, {"\xe2\x82\xac", true}, {"\xf0\x9f\x98\x80", true},
        {"\xf4\x8f\xbf\xbf", true}, {"\xed\x9f\xbf", true}, {"\xee\x80\x80", true}, {"\xc2\x80", true},
        {"\xe0\xa0\x80", true}, {"\xf0\x90\x80\x80", true},
        {"\x80", false}, {"a\xbf", false}, {"\xc3", false}, {"\xc3" "a", false}, {"\xe2\x82", false},
        {"\xe2\x82" "a", false}, {"\xe2" "a\x82", false}, {"\xf0\x9f\x98", false}, {"\xf0\x9f\x98\x20", false},
        {"\xc0\x80", false}, {"\xc1\xbf", false}, {"\xe0\x9f\xbf", false}, {"\xf0\x8f\xbf\xbf", false},
        {"\xed\xa0\x80", false}, {"\xf4\x90\x80\x80", false}, {"\xf5\x80\x80\x80", false}, {"\xff", false},
        {"\xc3\xa9\xa9", false},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        size_t len = strlen(c[i].text);
        char *copy = malloc(len + 1); /* the byte behind is no part of it */
        CHECK(copy != NULL);
        memcpy(copy, c[i].text, len);
        copy[len] = (char)0x80;
        if (judge_utf8(copy, len) != c[i].valid) check_fail(__FILE__, __LINE__, "case %zu", i);
        free(copy);
    }
    CHECK(judge_utf8("a\0b", 3));
}

TEST(a_loop_is_eight_tokens_three_times_in_a_row)
{
    int32_t id[64];
    for (int i = 0; i < 64; i++) id[i] = i % 8;
    CHECK(judge_loops(id, 64));
    CHECK(judge_loops(id, 24));
    CHECK(judge_loops(id + 3, 24));
    CHECK(!judge_loops(id, 23));
    id[12] = 99;
    CHECK(!judge_loops(id, 36));
    CHECK(judge_loops(id, 37)); /* 13 .. 36 */
    for (int i = 0; i < 64; i++) id[i] = 5;
    CHECK(judge_loops(id, 24)); /* one token over and over */
    CHECK(!judge_loops(id, 23));
    for (int i = 0; i < 64; i++) id[i] = i;
    CHECK(!judge_loops(id, 64));
    CHECK(!judge_loops(id, 0));
    CHECK(!judge_loops(NULL, 0));
}

/* ---------------------------------------------------------------- cases */

TEST(a_case_that_cannot_be_judged_is_refused)
{
    static const struct { const char *check, *turn; } bad[] = {
        {"null", "{}"}, {"[]", "{}"}, {"{}", "{}"}, {"{\"kind\":3}", "{}"}, {"{\"kind\":\"\"}", "{}"},
        {"{\"kind\":\"Plan\"}", "{}"}, {"{\"kind\":\"contains\"}", "{}"}, {"{\"kind\":\"contains\",\"all\":[]}", "{}"},
        {"{\"kind\":\"contains\",\"all\":[\"x\"]}", "{}"}, {"{\"kind\":\"contains\",\"all\":[[]]}", "{}"},
        {"{\"kind\":\"contains\",\"all\":[[\"\"]]}", "{}"}, {"{\"kind\":\"contains\",\"all\":[[1]]}", "{}"},
        {"{\"kind\":\"contains\",\"all\":\"x\"}", "{}"}, {"{\"kind\":\"contains\",\"none\":\"x\"}", "{}"},
        {"{\"kind\":\"contains\",\"none\":[[\"x\"]]}", "{}"}, {"{\"kind\":\"no_call\",\"nome\":[\"x\"]}", "{}"},
        {"{\"kind\":\"record\",\"all\":[[\"x\"]]}", "{\"record\":{}}"}, {"{\"kind\":\"record\"}", "{}"},
        {"{\"kind\":\"record\"}", "null"}, {"{\"kind\":\"record\"}", "{\"record\":{\"facts\":\"x\"}}"},
        {"{\"kind\":\"record\"}", "{\"record\":{\"facts\":[\"\"]}}"},
        {"{\"kind\":\"call\",\"arguments\":{}}", "{}"}, {"{\"kind\":\"call\",\"name\":\"x\"}", "{}"},
        {"{\"kind\":\"call\",\"name\":\"x\",\"arguments\":[]}", "{}"},
        {"{\"kind\":\"handover\"}", "{\"handover\":{\"from\":\"a\",\"to\":\"b\"}}"},
        {"{\"kind\":\"verdict\"}", "{\"verdict\":{}}"}, {"{\"kind\":\"verdict\"}", "{}"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (can_judge(bad[i].check, bad[i].turn))
            check_fail(__FILE__, __LINE__, "%s with %s was taken", bad[i].check, bad[i].turn);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) CHECK(can_judge(kinds[i].check, kinds[i].turn));
    CHECK(can_judge("{\"kind\":\"plan\",\"all\":[],\"none\":[]}", "null"));
}

CHECK_MAIN
