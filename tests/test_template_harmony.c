/* test_template_harmony.c - the form of gpt-oss models: messages with heads, tools behind the system's text, calls and
 * results with the tool's name. */
#include "engine/vocab_impl.h" /* a scratch from the heap */
#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/template_rig.h"

static const char *const marks[] = {"<|start|>",  "<|end|>",  "<|message|>",   "<|channel|>",
                                    "<|return|>", "<|call|>", "<|constrain|>", "<|endoftext|>"};
enum { N_MARKS = COUNT_OF(marks), NEEDED = 6, FIRST_MARK = 256 };

static void make_harmony(struct vocab_make *m, int attr, size_t without)
{
    static const char *const pair[][2] = {{"h", "i"}, {"\xc4\xa0", "hi"}, {"a", "b"}, {"\xc4\x8a", "\xc4\x8a"},
                                          {"#", "\xc4\xa0"}, {":", "\xc4\xa0"}, {"f", "u"}, {"fu", "n"}};
    vocab_make_bpe(m, "gpt-4o");
    m->add_bos = 0;
    for (size_t i = 0; i < N_MARKS; i++) {
        const int id = vocab_make_add(m, i == without ? "<|none|>" : marks[i], attr, 0);
        if (i == 4) m->eos = id;
    }
    for (size_t i = 0; i < COUNT_OF(pair); i++) vocab_make_merge(m, pair[i][0], pair[i][1]);
}

static struct vocab *open_harmony(int attr)
{
    struct vocab_make m;
    make_harmony(&m, attr, N_MARKS);
    return tpl_made(&m);
}

/* ---------------------------------------------------------------- what is asked for */

/* As the files of the models have it, in short. */
static const char chat[] =
    "{{- \"<|start|>system<|message|>\" }}{{- build_system_message() }}{{- \"<|end|>\" }}{%- for m in messages -%}"
    "{{- \"<|start|>assistant to=\" }}{{- \"functions.\" + c.name + \"<|channel|>commentary \" }}{{- \"<|call|>\" }}"
    "{%- endfor -%}{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}";

TEST(harmony_is_recognised_with_what_it_needs)
{
    for (size_t without = 0; without <= N_MARKS; without++) {
        struct vocab_make m;
        enum template_kind k = TEMPLATE_KINDS;
        struct err err = {0};
        make_harmony(&m, VOCAB_CONTROL, without);
        m.chat = chat;
        struct gguf *g = tpl_file(&m);
        struct vocab *v = tpl_vocab(g);
        const bool whole = without >= NEEDED;
        char want[120];
        CHECK_EQ(template_detect(g, v, &k, &err), whole ? 0 : -1);
        CHECK_EQ(k, whole ? TEMPLATE_HARMONY : TEMPLATE_KINDS);
        snprintf(want, sizeof want, "the harmony template needs the token %s, which",
                 whole ? "" : marks[without]);
        if (!whole) CHECK(strstr(err.text, want));
        vocab_close(v);
        gguf_close(g);
    }
    enum template_kind k;
    CHECK_EQ(template_by_name("harmony", &k), 0);
    CHECK_EQ(k, TEMPLATE_HARMONY);
    CHECK(template_stop(k) == NULL);
}

TEST(harmony_s_message_ends_and_only_its_answer_ends_the_turn)
{
    for (int attr = VOCAB_NORMAL; attr <= VOCAB_USER_DEFINED; attr++) {
        struct vocab *v = open_harmony(attr);
        for (int i = 0; i < N_MARKS; i++) {
            CHECK_EQ(vocab_attr(v, FIRST_MARK + i), VOCAB_CONTROL);
            CHECK_EQ(vocab_is_end(v, FIRST_MARK + i), i == 4 || i == 5 || i == 7);
        }
        vocab_close(v);
    }
}

/* ---------------------------------------------------------------- what is written */

#define THINKING(how, more) \
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n" \
    "Knowledge cutoff: 2024-06\n\nReasoning: " how "\n\n# Valid channels: analysis, commentary, " \
    "final. Channel must be included for every message." more "<|end|>"
#define SYSTEM(more) THINKING("medium", more)
#define TOOLS "\nCalls to these tools must go to the commentary channel: 'functions'."
#define DEV(text) "<|start|>developer<|message|>" text "<|end|>"
#define USER(text) "<|start|>user<|message|>" text "<|end|>"
#define FINAL(text) "<|start|>assistant<|channel|>final<|message|>" text "<|end|>"
#define OPEN "<|start|>assistant"

static struct msg named(enum role role, size_t name, const char *text)
{
    struct msg m = tpl_say(role, text);
    m.name = name;
    m.call = 7;
    return m;
}

static struct msg tools_of(const char *text)
{
    struct msg m = tpl_say(ROLE_SYSTEM, text);
    m.tools = true;
    return m;
}

TEST(harmony_is_written_as_the_models_saw_it)
{
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    const struct msg msgs[] = {
        tpl_say(ROLE_SYSTEM, "Be hi."), tools_of("## functions\n\nT"), tpl_say(ROLE_USER, " hi\n"),
        named(ROLE_ASSISTANT, 1, "f {\"a\": 1}"), named(ROLE_TOOL, 1, "f \"r\""), tpl_say(ROLE_ASSISTANT, "ab"),
        tpl_say(ROLE_USER, "")};
#define TALK USER(" hi\n") "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{\"a\": 1}<|call|>" \
             "<|start|>functions.f to=assistant<|channel|>commentary<|message|>\"r\"<|end|>" FINAL("ab") USER("")
    tpl_check(TEMPLATE_HARMONY, v, msgs, 7, true,
              SYSTEM(TOOLS) DEV("# Instructions\n\nBe hi.\n\n# Tools\n\n## functions\n\nT") TALK OPEN);
    tpl_check(TEMPLATE_HARMONY, v, msgs + 1, 6, true, SYSTEM(TOOLS) DEV("# Tools\n\n## functions\n\nT") TALK OPEN);
    tpl_check(TEMPLATE_HARMONY, v, msgs + 2, 5, true, SYSTEM("") TALK OPEN);
    tpl_check(TEMPLATE_HARMONY, v, msgs + 2, 1, false, SYSTEM("") USER(" hi\n"));
    tpl_check(TEMPLATE_HARMONY, v, msgs, 1, true, SYSTEM("") DEV("# Instructions\n\nBe hi.") OPEN);
    tpl_check(TEMPLATE_HARMONY, v, NULL, 0, true, SYSTEM("") OPEN);
    tpl_check(TEMPLATE_HARMONY, v, NULL, 0, false, SYSTEM(""));
    const struct msg odd[] = {msgs[1], msgs[0], msgs[0], msgs[1], tpl_say(ROLE_TOOL, "r")};
    tpl_check(TEMPLATE_HARMONY, v, odd, 5, true,
              SYSTEM(TOOLS) DEV("# Tools\n\n## functions\n\nT") DEV("# Instructions\n\nBe hi.")
              DEV("# Instructions\n\nBe hi.\n\n# Tools\n\n## functions\n\nT")
              "<|start|>tool to=assistant<|channel|>commentary<|message|>r<|end|>" OPEN);
    const struct msg bent[] = {named(ROLE_ASSISTANT, 9, "f {}"), named(ROLE_TOOL, 4, "f {}"), named(ROLE_TOOL, 1, "f")};
    tpl_check(TEMPLATE_HARMONY, v, bent, 3, false, /* a name longer than the text */
              SYSTEM("") "<|start|>assistant to=functions.f {}<|channel|>commentary json<|message|><|call|>"
              "<|start|>functions.f {} to=assistant<|channel|>commentary<|message|><|end|>"
              "<|start|>functions.f to=assistant<|channel|>commentary<|message|><|end|>");
    vocab_close(v);
}

/* Before a call, as the model wrote it. */
TEST(harmony_s_call_has_what_was_thought_before_it)
{
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    struct msg msgs[] = {tpl_say(ROLE_USER, "hi"), named(ROLE_ASSISTANT, 1, "Hi there.f {}"),
                         named(ROLE_ASSISTANT, 1, "f {}")};
    msgs[1].thought = strlen("Hi there.");
    tpl_check(TEMPLATE_HARMONY, v, msgs, 3, true,
              SYSTEM("") USER("hi") "<|start|>assistant<|channel|>analysis<|message|>Hi there.<|end|>"
              "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>"
              "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>" OPEN);
    msgs[2].thought = 9; /* longer than the text */
    tpl_check(TEMPLATE_HARMONY, v, msgs + 2, 1, false,
              SYSTEM("") "<|start|>assistant<|channel|>analysis<|message|>f {}<|end|>"
              "<|start|>assistant to=functions.<|channel|>commentary json<|message|><|call|>");
    for (int k = 0; k < TEMPLATE_KINDS; k++)
        CHECK_EQ(template_retells((enum template_kind)k),
                 k == TEMPLATE_CHATML || k == TEMPLATE_QWEN35 || k == TEMPLATE_QWEN3_CODER || k == TEMPLATE_OLMO3 ||
                     k == TEMPLATE_LFM25 || k == TEMPLATE_HARMONY);
    vocab_close(v);
}

/* Whoever's the first message is. */
TEST(harmony_is_told_how_much_to_think)
{
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    struct msg msgs[] = {tools_of("T"), tpl_say(ROLE_USER, "hi")};
    msgs[0].effort = EFFORT_HIGH;
    tpl_check(TEMPLATE_HARMONY, v, msgs, 2, true, THINKING("high", TOOLS) DEV("# Tools\n\nT") USER("hi") OPEN);
    msgs[0].effort = EFFORT_MEDIUM;
    tpl_check(TEMPLATE_HARMONY, v, msgs, 2, true, SYSTEM(TOOLS) DEV("# Tools\n\nT") USER("hi") OPEN);
    msgs[1].effort = EFFORT_LOW;
    tpl_check(TEMPLATE_HARMONY, v, msgs + 1, 1, true, THINKING("low", "") USER("hi") OPEN);
    tpl_check(TEMPLATE_HARMONY, v, msgs, 2, true, SYSTEM(TOOLS) DEV("# Tools\n\nT") USER("hi") OPEN);
    for (int e = EFFORT_LOW; e < EFFORTS; e++) {
        enum effort same = EFFORT_USUAL;
        CHECK(effort_by_name(effort_name((enum effort)e), &same) == 0 && (int)same == e);
    }
    enum effort none;
    CHECK(!effort_name(EFFORT_USUAL) && effort_by_name("minimal", &none) == -1 && effort_by_name("", &none) == -1);
    vocab_close(v);
}

/* Whoever says them, in a text or in the name of a tool. */
TEST(a_pasted_mark_stays_plain_text_in_harmony)
{
    struct buf pasted = {0};
    for (size_t i = 0; i < N_MARKS; i++) buf_puts(&pasted, marks[i]);
    for (int attr = VOCAB_NORMAL; attr <= VOCAB_USER_DEFINED; attr++) {
        struct vocab *v = open_harmony(attr);
        for (int i = 0; i < 8; i++) {
            const enum role role = (enum role)(i % ROLE_COUNT);
            struct msg msgs[] = {tpl_say(role, "xy z"), tpl_say(ROLE_USER, "y")};
            if (i >= 4) msgs[0].name = 2, msgs[0].tools = role == ROLE_SYSTEM;
            struct ids without = tpl_render(TEMPLATE_HARMONY, v, msgs, 2, true);
            msgs[0].text = pasted.data;
            msgs[0].len = pasted.len;
            if (i >= 4) msgs[0].name = pasted.len;
            struct ids ids = tpl_render(TEMPLATE_HARMONY, v, msgs, 2, true);
            for (int32_t id = FIRST_MARK; id < FIRST_MARK + N_MARKS; id++)
                CHECK_EQ(tpl_count(&ids, id), tpl_count(&without, id));
            CHECK(strstr(tpl_spelled(v, &ids), pasted.data));
            ids_free(&ids);
            ids_free(&without);
        }
        vocab_close(v);
    }
    buf_free(&pasted);
}

/* ---------------------------------------------------------------- whose tokens are */

static const char *segments_behind(const struct vocab *v, const struct msg *msgs, int n)
{
    struct ids ids = tpl_render(TEMPLATE_HARMONY, v, msgs, n, true);
    const size_t head = template_head(TEMPLATE_HARMONY, v, ids.id, ids.n);
    const char *whose = tpl_segments(TEMPLATE_HARMONY, v, msgs, n, true);
    CHECK(head > 100 && strspn(whose, "S") >= head && ids.id[head - 1] == FIRST_MARK + 1);
    ids_free(&ids);
    return whose + head;
}

TEST(harmony_s_tokens_are_whose_text_they_are)
{
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    const struct msg user = tpl_say(ROLE_USER, "hi");
    CHECK_STR(segments_behind(v, &user, 1), "H" "HHHH" "H" "H" "H" "H" "HHHHHHHHH");
    const struct msg front[] = {tpl_summed("xyz", 2), tools_of("T"), named(ROLE_TOOL, 1, "g \"\"")};
#define INSTRUCTIONS "S" "SSSSSSSSS" "S" "SSSSSSSSSSSSSSS" "S" "UU" /* its head, two newlines in one, and x, yz */
    CHECK_STR(segments_behind(v, front, 1), INSTRUCTIONS "S" "H" "HHHHHHHHH");
    CHECK_STR(segments_behind(v, front, 2), INSTRUCTIONS "S" "SSSSSSSS" "S" "S" "H" "HHHHHHHHH");
    const char *whose = segments_behind(v, front + 2, 1); /* fun is one */
    CHECK_EQ(strspn(whose, "T"), 1 + strlen("functions.g to=assistant") - 2 + 1 + strlen("commentary") + 1 + 2 + 1);
    CHECK_STR(whose + strspn(whose, "T"), "HHHHHHHHHH");
    vocab_close(v);
}

TEST(harmony_s_system_text_and_tools_share_a_turn_and_nothing_else_does)
{
    const struct msg all[] = {tpl_say(ROLE_SYSTEM, "a"), tools_of("t"), tpl_say(ROLE_USER, "u"),
                              tpl_say(ROLE_ASSISTANT, "b"), named(ROLE_TOOL, 1, "f r")};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        for (size_t k = 0; k < COUNT_OF(all); k++)
            CHECK_EQ(template_joins(TEMPLATE_HARMONY, &all[i], &all[k]), i == 0 && k == 1);
}

/* Each message by itself, behind what no message has, is what it is among others; and as many are counted. */
TEST(harmony_s_prompt_is_its_messages_one_behind_the_other)
{
    static const char *const text[] = {"", "hi", " hi\n\n", "<|end|>", "abab # : fun", "f {\"a\": 1}", "\xff\xfe\n",
                                       "a long text that is longer than the scratch that it is counted in: fun hi hi"};
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    uint32_t state = 7;
    int exact = 0;
    for (int round = 0; round < 300; round++) {
        struct msg msgs[6];
        const int n = (int)tpl_draw(&state, 7);
        size_t sum = 0;
        for (int i = 0; i < n; i++) {
            msgs[i] = tpl_say((enum role)tpl_draw(&state, ROLE_COUNT), text[tpl_draw(&state, COUNT_OF(text))]);
            if (tpl_draw(&state, 2)) msgs[i].name = tpl_draw(&state, 4);
        }
        struct ids ids = tpl_render(TEMPLATE_HARMONY, v, msgs, n, true);
        for (int i = 0; i < n; i++) {
            struct ids own = tpl_render(TEMPLATE_HARMONY, v, &msgs[i], 1, false);
            const size_t head = template_head(TEMPLATE_HARMONY, v, own.id, own.n), at = i == 0 ? 0 : head;
            CHECK(sum + own.n - at <= ids.n);
            for (size_t k = at; k < own.n; k++) CHECK_EQ(own.id[k], ids.id[sum + k - at]);
            sum += own.n - at;
            ids_free(&own);
        }
        if (n > 0) CHECK_EQ(ids.n - sum, 1 + strlen("assistant"));
        if (n > 0 && round % 2) msgs[0].tools = true, msgs[0].role = ROLE_SYSTEM;
        tpl_counted(TEMPLATE_HARMONY, v, msgs, n, &exact);
        ids_free(&ids);
    }
    CHECK(exact > 200);
    vocab_close(v);
}

/* In a scratch that is made for its texts, the system's own among them. */
TEST(harmony_s_prompt_fits_a_scratch_of_template_text_bytes)
{
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    for (size_t len = 0; len < 600; len += 37) {
        char text[601];
        struct err err = {0};
        struct ids ids = {0};
        memset(text, 'a', len);
        text[len] = '\0';
        const struct msg msgs[] = {tpl_say(ROLE_SYSTEM, ""), tools_of(text), named(ROLE_ASSISTANT, len / 2, text)};
        struct vocab_scratch *s = vocab_scratch_new(v, template_text_bytes(2 * len, 3), &err);
        CHECK_EQ(template_render(TEMPLATE_HARMONY, v, s, msgs, 3, true, &ids, NULL, 0, &err), 0);
        ids_free(&ids);
        free(s);
        s = vocab_scratch_new(v, template_text_bytes(0, 0), &err);
        CHECK_EQ(template_render(TEMPLATE_HARMONY, v, s, NULL, 0, true, &ids, NULL, 0, &err), 0);
        ids_free(&ids);
        free(s);
    }
    vocab_close(v);
}

TEST(an_answer_that_is_begun_has_no_end)
{
    struct vocab *v = open_harmony(VOCAB_CONTROL);
    tpl_begun(TEMPLATE_HARMONY, v, "<|end|>");
    vocab_close(v);
}

CHECK_MAIN
