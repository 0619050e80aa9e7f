/* The embedded model: what the file says of itself, that llama.cpp agrees on what it says, and that a conversation in
 * the forms it learned works.  How well it does what it learned is for `make eval-model`. */
#include "app/embedded.h"
#include "engine/engine.h"
#include "memory/forms.h"
#include "tests/check.h"
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "assets/plimsoll-tiny.gguf"
#define FIXTURE "tests/fixtures/plimsoll-tiny.json"
enum { TOOL_TOKENS = 40, ANSWER = 200 };

static const struct engine_ops *const ops = &engine_local;

static struct engine *open_policy(const char *path, enum naive_policy policy)
{
    struct err err = {0};
    struct engine *e = ops->open(&(struct engine_config){.model = path, .max_seqs = 1, .template = -1,
                                                         .kv_type = KT_F16, .naive = policy}, &err);
    CHECK_STR(err.text, "");
    return e;
}

static struct engine *open_model(const char *path) { return open_policy(path, NAIVE_NONE); }

/* Take the likeliest tokens until the turn ends; NULL-terminated text, the caller drops the answer. */
static const struct answer *answer_of(struct engine *e, const struct request *r, int *id)
{
    struct engine_event ev[16];
    struct err err = {0};
    CHECK_EQ(ops->submit(e, r, id, &err), 0);
    while (ops->step(e, ev, 16, &err) > 0) continue;
    CHECK_STR(err.text, "");
    return ops->answer(e, *id);
}

/* ------------------------------------------------------------------ the file */

TEST(embedded_model_learned_the_forms_of_this_program)
{
    struct err err = {0};
    struct gguf_str learned;
    struct gguf *g = gguf_open(MODEL, &err);
    char now[17];
    CHECK_STR(err.text, "");
    CHECK_EQ(gguf_string(g, "plimsoll.forms", &learned, &err), GGUF_OK);
    forms_hash(now);
    if (strcmp(learned.data, now) != 0)
        check_fail(__FILE__, __LINE__, "assets/forms changed since the embedded model was trained (it learned %s, they "
                   "are %s): train it again (assets/model/README.md) or take the change back", learned.data, now);
    gguf_close(g);
}

TEST(embedded_model_is_small_and_plain)
{
    struct stat st;
    CHECK_EQ(stat(MODEL, &st), 0);
    CHECK(st.st_size <= 25 << 20);
    struct engine *e = open_model(MODEL);
    const struct engine_info *i = ops->info(e);
    CHECK_STR(i->name, "plimsoll-tiny");
    CHECK_STR(i->arch, "qwen2");
    CHECK_STR(i->template, "chatml");
    CHECK(strstr(i->types, "Q8_0"));
    CHECK_EQ(i->ctx_trained, 4096);
    CHECK(i->vocab >= 4096 && i->vocab <= 8192);
    ops->close(e);
}

TEST(embedded_bytes_are_the_file_and_can_be_opened)
{
    struct err err = {0};
    struct stat st;
    int fd;
    size_t size = (size_t)(embedded_model_end - embedded_model);
    unsigned char *file = malloc(size);
    CHECK(file && stat(MODEL, &st) == 0 && (size_t)st.st_size == size);
    FILE *f = fopen(MODEL, "rb");
    CHECK(f && fread(file, 1, size, f) == size);
    fclose(f);
    CHECK_MEM(file, embedded_model, size);
    free(file);
    const char *name = embedded_open(&fd, &err);
    CHECK_STR(err.text, "");
    ops->close(open_model(name));
    close(fd);
}

/* A file without a name can be read again for each request too, as long as it is held open. */
TEST(embedded_model_is_loaded_again_where_the_policy_says_so)
{
    static const char hello[] = "Hello.";
    struct err err = {0};
    struct msg msg = {.role = ROLE_USER, .text = hello, .len = sizeof hello - 1};
    struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = 8, .sampling = SAMPLING_GREEDY};
    int fd, id;
    const char *name = embedded_open(&fd, &err);
    struct engine *sound = open_model(MODEL), *again = open_policy(name, NAIVE_RELOAD);
    const struct answer *said = answer_of(sound, &r, &id);
    for (int i = 0; i < 2; i++) {
        const struct answer *a = answer_of(again, &r, &id);
        CHECK_EQ(atomic_load(&a->end), atomic_load(&said->end));
        CHECK_EQ(atomic_load(&a->text_len), atomic_load(&said->text_len));
        CHECK_MEM(a->text, said->text, atomic_load(&said->text_len));
    }
    close(fd);
    CHECK_EQ(ops->submit(again, &r, &id, &err), 0);
    struct engine_event ev[16];
    ops->step(again, ev, 16, &err);
    CHECK(strstr(err.text, "the weights were not loaded again"));
    ops->close(sound);
    ops->close(again);
}

TEST(embedded_vocabulary_reaches_every_byte_and_knows_tools_briefly)
{
    struct engine *e = open_model(MODEL);
    const struct vocab *v = ops->vocab(e);
    struct err err = {0};
    int n;
    for (int b = 0; b < 256; b++) {
        struct ids ids = {0};
        struct buf back = {0};
        char byte = (char)b;
        CHECK_EQ(vocab_encode(v, NULL, &byte, 1, 0, &ids, &err), 0);
        for (size_t i = 0; i < ids.n; i++) {
            const char *piece;
            size_t len = vocab_piece(v, ids.id[i], &piece);
            buf_put(&back, piece, len);
        }
        CHECK_EQ(back.len, 1);
        CHECK_MEM(back.data, &byte, 1);
        ids_free(&ids);
        buf_free(&back);
    }
    const struct form_tool *tool = forms_tools(&n);
    CHECK(n >= 10);
    for (int i = 0; i < n; i++) {
        struct ids ids = {0};
        struct buf line = {0};
        CHECK_EQ(forms_tool_lines(&tool[i].name, 1, true, &line, &err), 0);
        CHECK_EQ(vocab_encode(v, NULL, line.data, line.len, 0, &ids, &err), 0);
        if (ids.n > TOOL_TOKENS) check_fail(__FILE__, __LINE__, "%s: %zu tokens", tool[i].name, ids.n);
        ids_free(&ids);
        buf_free(&line);
    }
    ops->close(e);
}

/* ------------------------------------------------------------------ llama.cpp's word */

static int ids_of(const json_t *array, int32_t *out, int cap)
{
    int n = (int)json_array_size(array);
    CHECK(n <= cap);
    for (int i = 0; i < n; i++) out[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return n;
}

static int messages_of(const json_t *array, struct msg *out, int cap)
{
    int n = (int)json_array_size(array);
    CHECK(n <= cap);
    for (int i = 0; i < n; i++) {
        const json_t *m = json_array_get(array, (size_t)i), *text = json_object_get(m, "content");
        const char *role = json_string_value(json_object_get(m, "role"));
        enum role r = 0;
        while (strcmp(role_name(r), role) != 0) r++;
        out[i] = (struct msg){.role = r, .text = json_string_value(text), .len = json_string_length(text)};
    }
    return n;
}

static void one_case(struct engine *e, const json_t *c)
{
    enum { MSGS = 128, IDS = 4096 };
    static struct msg msgs[MSGS];
    static int32_t prompt[IDS], greedy[ANSWER];
    int id, safe = (int)json_integer_value(json_object_get(c, "safe"));
    int n_msgs = messages_of(json_object_get(c, "messages"), msgs, MSGS);
    int n_prompt = ids_of(json_object_get(c, "prompt"), prompt, IDS);
    ids_of(json_object_get(c, "greedy"), greedy, ANSWER);
    const struct answer *a = answer_of(
        e, &(struct request){.msgs = msgs, .n_msgs = n_msgs, .max_tokens = ANSWER, .sampling = SAMPLING_GREEDY}, &id);
    CHECK_EQ(a->n_prompt, n_prompt);
    CHECK_MEM(a->prompt, prompt, (size_t)n_prompt * sizeof *prompt);
    int n = atomic_load(&a->n_tokens);
    for (int i = 0; i < MIN(safe, n); i++) CHECK_EQ(a->token[i].id, greedy[i]);
    if (safe > n) { /* theirs counts the token that ends the turn */
        CHECK_EQ(safe, n + 1);
        CHECK(vocab_is_end(ops->vocab(e), greedy[n]));
        CHECK_EQ(atomic_load(&a->end), END_STOP);
    }
    ops->drop(e, id);
}

TEST(embedded_model_says_in_llama_cpp_what_it_says_here)
{
    json_error_t error;
    json_t *all = json_load_file(FIXTURE, 0, &error);
    CHECK_STR(all ? "" : error.text, "");
    CHECK(json_array_size(all) >= 30);
    struct engine *e = open_model(MODEL);
    size_t each = CHECK_SANITIZED ? 4 : 1; /* the same code for each */
    for (size_t i = 0; i < json_array_size(all); i += each) one_case(e, json_array_get(all, i));
    ops->close(e);
    json_decref(all);
}

/* ------------------------------------------------------------------ a conversation in its forms */

static void ask(struct engine *e, const struct form_system *system, const char *user, struct buf *out)
{
    struct buf head = {0};
    struct err err = {0};
    int id;
    CHECK_EQ(forms_system(system, &head, &err), 0);
    struct msg m[] = {{.role = ROLE_SYSTEM, .text = head.data, .len = head.len},
                      {.role = ROLE_USER, .text = user, .len = strlen(user)}};
    const struct answer *a = answer_of(
        e, &(struct request){.msgs = m, .n_msgs = 2, .max_tokens = ANSWER, .sampling = SAMPLING_GREEDY}, &id);
    CHECK_EQ(atomic_load(&a->end), END_STOP);
    buf_put(out, a->text, atomic_load(&a->text_len));
    ops->drop(e, id);
    buf_free(&head);
}

TEST(embedded_model_greets_calls_a_tool_and_writes_a_record)
{
    struct engine *e = open_model(MODEL);
    struct buf text = {0};
    struct err err = {0};
    const char *const tools[] = {"read", "calculator"};
    ask(e, &(struct form_system){.role = "assistant"}, "Hello", &text);
    CHECK(text.data && strstr(text.data, "Hello"));
    buf_free(&text);

    struct form_call call;
    ask(e, &(struct form_system){.role = "assistant", .tools = tools, .n_tools = 2}, "What is 17 times 23?", &text);
    CHECK_EQ(forms_read_call(text.data, text.len, &call, &err), 0);
    CHECK_EQ(forms_check_call(&call, &err), 0);
    CHECK_STR(call.name, "calculator");
    CHECK_STR(call.arguments, "{\"expression\":\"17*23\"}");
    forms_call_free(&call);
    buf_free(&text);

    struct form_record record;
    struct buf request = {0};
    forms_summary_request(&request);
    ask(e, &(struct form_system){.role = "assistant"}, request.data, &text);
    CHECK_EQ(forms_read_record(text.data, text.len, &record, &err), 0); /* of nothing: every section is "none" */
    for (int s = 0; s < RECORD_SECTIONS; s++) CHECK_EQ(record.section[s].n, 0);
    forms_record_free(&record);
    buf_free(&request);
    buf_free(&text);
    ops->close(e);
}

CHECK_MAIN
