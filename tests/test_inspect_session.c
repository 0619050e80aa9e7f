/* The inspector tells the truth: over random sessions on the scripted engine, what it lists just before a request is
 * made is what the engine then gets, id by id; and looking changes nothing. */
#include "app/commands.h"
#include "app/console.h"
#include "app/session/session_result.h"
#include "app/signals.h"
#include "app/tui/doc.h"
#include "app/tui/view_inspect.h"
#include "app/tui/view_map.h"
#include "tests/store_rig.h"
#include "tests/tiny_model.h"
#include "tests/vocab_file.h"
#include <inttypes.h>
#include <signal.h>

enum { CTX = 3000 };

static struct opts opts;
static struct app app;
static struct console con;
static struct engine_ops watched;
static FILE *told;
static uint64_t seed;
static int compared, rounds, weighed;
static const struct vocab *vocabulary;
static bool exact_texts; /* a token a byte: each row's tokens have its text */
static bool exact_front; /* those before the first question have it */

static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- what a doc must be */

static struct doc look(int agent)
{
    struct doc d = {.ask = {.kind = DOC_INSPECT, .agent = agent}};
    doc_inspect(&con, &d);
    if (!d.data) check_fail(__FILE__, __LINE__, "%s", d.error);
    return d;
}

static bool has(const struct inspect *x, const struct inspect_row *r)
{
    struct buf b = {0};
    const char *bytes;
    for (size_t i = 0; i < r->n_ids; i++) {
        size_t n = vocab_piece(vocabulary, x->ids.id[r->id + i], &bytes);
        if (vocab_attr(vocabulary, x->ids.id[r->id + i]) != VOCAB_CONTROL) buf_put(&b, bytes, n);
    }
    bool found = r->len == 0 || (b.data && memmem(b.data, b.len, x->texts.data + r->text, r->len));
    buf_free(&b);
    return found;
}

static bool named_by_calls; /* every result's tool is known, by its call */

/* The rows cut ids and texts without a gap. */
static void check_rows(const struct inspect *x)
{
    size_t id = 0, text = 0;
    bool front = exact_front;
    for (int i = 0; i < x->rows; i++) {
        const struct inspect_row *r = &x->row[i];
        front = front && strcmp(r->kind, "question") != 0 && r->part != CONTEXT_TOOL;
        CHECK_EQ(r->id, id);
        CHECK_EQ(r->text, text);
        id += r->n_ids;
        text += r->len;
        if ((exact_texts || front) && !has(x, r))
            check_fail(__FILE__, __LINE__, "the tokens of %s %s lack its text", r->kind, r->name);
        if (r->can & INSPECT_DROP) CHECK(r->frees > 0);
        if (strcmp(r->kind, "tool result") == 0 && !r->line && named_by_calls) CHECK(strcmp(r->who, "plimsoll") != 0);
    }
    CHECK_EQ(id, x->ids.n);
    CHECK_EQ(text, x->texts.len);
    CHECK_STR(x->row[x->rows - 1].kind, "opening");
    CHECK((int64_t)x->ids.n <= x->limit);
    CHECK_EQ(x->limit + x->reserve, x->ctx);
    for (size_t i = 0; i < x->ids.n; i++) CHECK(x->spell[i] < x->spell[i + 1]);
}

/* The figures of commands and gauges are those of the rows, but above the mark, which the plan is measured by. */
static void check_figures(const struct inspect *x, int agent)
{
    struct session *s = &con.team.member[agent].s;
    struct window_figures plan, f;
    int64_t all = 0, rows[WINDOW_PARTS] = {0};
    window_figures(s->w, &plan);
    session_figures(s, &f);
    for (int i = 0; i < WINDOW_PARTS; i++) all += f.part[i];
    CHECK_EQ(all, f.used);
    if (plan.compaction > 0 && plan.used > plan.high) return;
    CHECK_EQ(f.used, x->ids.n);
    for (int i = 0; i < x->rows; i++)
        if (strcmp(x->row[i].kind, "left out") == 0) rows[WINDOW_REFERENCE] += (int64_t)x->row[i].n_ids;
        else if (x->row[i].part == CONTEXT_SUMMARY) rows[WINDOW_SUMMARY] += (int64_t)x->row[i].n_ids;
    CHECK_EQ(f.part[WINDOW_REFERENCE], rows[WINDOW_REFERENCE]);
    CHECK_EQ(f.part[WINDOW_SUMMARY], rows[WINDOW_SUMMARY]);
    weighed++;
}

static int watched_submit(struct engine *e, const struct request *r, int *id, struct err *error)
{
    const struct msg *last = &r->msgs[r->n_msgs - 1];
    const bool aside = last->len > 24 && memcmp(last->text, "Write the summary record", 24) == 0;
    struct doc d = {0};
    if (!aside) d = look(r->agent);
    int rc = engine_scripted.submit(e, r, id, error);
    if (rc == 0 && !aside) {
        const struct answer *a = engine_scripted.answer(e, *id);
        const struct inspect *x = d.data;
        CHECK_EQ(x->ids.n, a->n_prompt);
        CHECK_MEM(x->ids.id, a->prompt, x->ids.n * sizeof *a->prompt);
        check_rows(x);
        check_figures(x, r->agent);
        compared++;
        const size_t opening = x->row[x->rows - 1].n_ids; /* the head of the answer and nothing more */
        const char *form = app.info->template;
        const bool none = !strcmp(form, "raw") || !strcmp(form, "llama2") || strncmp(form, "mistral", 7) == 0;
        CHECK(none ? opening == 0 : opening > 0 && opening < 16);
        rounds += last->role == ROLE_TOOL;
    }
    doc_free(&d);
    return rc;
}

/* ---------------------------------------------------------------- the map, in the middle of a turn */

static int maps;         /* that were looked at while a request ran */
static bool look_at_map; /* after each pass */

static void check_map(int cells)
{
    struct engine_snapshot snap;
    struct doc d = {.ask = {.kind = DOC_MAP, .cells = cells}};
    doc_map(&con, &d);
    if (!d.data) check_fail(__FILE__, __LINE__, "%s", d.error);
    const struct map *m = d.data;
    uint64_t pages = 0, own = 0;
    engine_scripted.snapshot(app.engine, &snap);
    for (int i = 0; i < PAGE_STATES; i++) pages += m->state[i];
    for (int i = 0; i < MAP_AGENTS; i++) own += m->own[i];
    CHECK_EQ(pages, m->pages);
    CHECK_EQ(m->pages * m->page_tokens, snap.pool_tokens);
    CHECK_EQ(own, m->state[PAGE_HELD]);
    CHECK_EQ(m->cells, MIN((uint64_t)cells, m->pages));
    const uint64_t taken = m->state[PAGE_HELD] + m->state[PAGE_SHARED];
    CHECK(taken * m->page_tokens >= snap.filled_tokens);
    CHECK(snap.filled_tokens > 0 || taken == 0);
    CHECK(m->promised <= m->state[PAGE_FREE] + m->state[PAGE_CACHED]);
    if (snap.running > 0) CHECK_EQ((taken + m->promised) * m->page_tokens, snap.reserved_tokens);
    struct engine_cell *cell = calloc((size_t)m->cells, sizeof *cell);
    engine_scripted.page_map(app.engine, cell, m->cells);
    for (int i = 0; i < m->cells; i++) {
        static const int state[] = {[CELL_FREE] = PAGE_FREE, [CELL_CACHED] = PAGE_CACHED, [CELL_HELD] = PAGE_HELD,
                                    [CELL_SHARED] = PAGE_SHARED};
        CHECK_EQ(m->cell[i].state, state[cell[i].state]);
        CHECK(m->cell[i].agent == cell[i].agent && m->segment[i] == cell[i].segment);
        own -= (uint64_t)m->cells == m->pages && cell[i].state == CELL_HELD;
    }
    free(cell);
    if ((uint64_t)m->cells == m->pages) CHECK_EQ(own, 0);
    maps += snap.running > 0 && taken > 0;
    doc_free(&d);
}

static int watched_step(struct engine *e, struct engine_event *ev, int cap, struct err *error)
{
    int n = engine_scripted.step(e, ev, cap, error);
    if (look_at_map) check_map(maps % 2 ? 100000 : 77);
    return n;
}

/* Looking leaves the window, the numbers and the events as they are. */
static void look_without_a_trace(int agent)
{
    struct session *s = &con.team.member[agent].s;
    struct buf before = {0}, after = {0};
    session_settle(s); /* what is saved meanwhile is told meanwhile */
    const off_t bytes = lseek(fileno(told), 0, SEEK_END);
    const uint64_t next = s->keep.head.next;
    const struct prompt prompt = s->prompt; /* of a call that may wait to be submitted: it points in here */
    const uint32_t text = crc32c(0, prompt.front.data ? prompt.front.data : "", prompt.front.len);
    const uint32_t msgs = prompt.msgs ? crc32c(0, prompt.msgs, (size_t)prompt.n * sizeof *prompt.msgs) : 0;
    window_save(s->w, s->vocabulary, &before);
    struct doc d = look(agent);
    check_rows(d.data);
    doc_free(&d);
    window_save(s->w, s->vocabulary, &after);
    CHECK_EQ(before.len, after.len);
    CHECK_MEM(before.data, after.data, before.len);
    CHECK_EQ(s->keep.head.next, next);
    CHECK_EQ(lseek(fileno(told), 0, SEEK_END), bytes);
    CHECK_MEM(&prompt, &s->prompt, sizeof prompt);
    CHECK_EQ(crc32c(0, prompt.front.data ? prompt.front.data : "", prompt.front.len), text);
    if (prompt.msgs) CHECK_EQ(crc32c(0, prompt.msgs, (size_t)prompt.n * sizeof *prompt.msgs), msgs);
    buf_free(&before);
    buf_free(&after);
}

/* ---------------------------------------------------------------- the program around it */

static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

static const char ANSWERS[] =
    "{\"answer\": \"It is so.\"}\n"
    "{\"answer\": \"Nine piers, as far as I can see from here, and each of them has a number painted on it.\"}\n"
    "{\"answer\": \"<tool_call>{\\\"name\\\":\\\"calculator\\\",\\\"arguments\\\":{\\\"expression\\\":\\\"6*7\\\"}}"
    "</tool_call>\"}\n"
    "{\"answer\": \"Forty-two.\"}\n"
    "{\"answer\": \"Facts:\\n- the harbour has nine piers\\nDecisions:\\nnone\\nDone:\\nnone\\nOpen:\\n- count\"}\n"
    "{\"answer\": \"I don't know, \\u00e9t\\u00e9 \\ud83d\\udea2.\"}\n";

/* The same in harmony's channels. */
static const char CHANNELS[] =
    "{\"marks\": true, \"answer\": \"<|channel|>final<|message|>It is so.<|return|>\"}\n"
    "{\"marks\": true, \"answer\": \"<|channel|>analysis<|message|>Count.<|end|><|start|>assistant<|channel|>final"
    "<|message|>Nine piers, as far as I can see from here, and each of them has a number.<|return|>\"}\n"
    "{\"marks\": true, \"answer\": \"<|channel|>commentary<|message|>I reckon.<|end|><|start|>assistant<|channel|>"
    "commentary to=functions.calculator <|constrain|>json<|message|>{\\\"expression\\\":\\\"6*7\\\"}<|call|>\"}\n"
    "{\"answer\": \"Forty-two.\"}\n"
    "{\"answer\": \"Facts:\\n- the harbour has nine piers\\nDecisions:\\nnone\\nDone:\\nnone\\nOpen:\\n- count\"}\n"
    "{\"answer\": \"I don't know, \\u00e9t\\u00e9 \\ud83d\\udea2.\"}\n";

static bool speaks_in_channels;

/* model: a file with the vocabulary; NULL: a token a byte, with or without a form of chat. */
static void open_all(const char *model, const char *form, const char *crew)
{
    static struct out json;
    struct engine_config cfg = {.model = model, .ctx = CTX, .max_seqs = 4, .pool_tokens = 4 * CTX, .template = -1};
    struct gguf_make m;
    if (!model) {
        gguf_make_begin(&m);
        gguf_make_str(&m, "general.architecture", "llama");
        tiny_vocab(&m, form);
        cfg.model = gguf_make_file(&m, "vocab.gguf");
    }
    cfg.script = tiny_text_file("answers.jsonl", speaks_in_channels ? CHANNELS : ANSWERS);
    err = (struct err){0};
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 200, .json = true,
                         .tools = "calculator", .crew = crew ? "t.yaml" : NULL,
                         .system = "You help in a harbour."};
    watched = engine_scripted;
    watched.submit = watched_submit;
    watched.step = watched_step;
    app = (struct app){.o = &opts, .ops = &watched, .sampling = {.temp = 1, .top_p = 1, .repeat = 1, .seed = 7},
                       .lockstep = true};
    app.engine = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    app.info = engine_scripted.info(app.engine);
    vocabulary = engine_scripted.vocab(app.engine);
    exact_texts = !model;
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    told = tmpfile();
    CHECK(told != NULL);
    out_init(&json, fileno(told));
    OK(trace_open(&app.trace, &json, NULL, NULL, 0, &err));
    if (crew) OK(crew_read(crew, strlen(crew), "t.yaml", &app.crew, &err));
    OK(toolbox_open(&app.toolbox, &app, false, &err));
    signal(SIGINT, SIG_DFL);
    OK(signals_open(&err));
    OK(keeper_open(&app.keeper, open_at(fresh_dir()), &err));
    CHECK_EQ(console_open(&con, &app), EXIT_DONE);
}

static void close_all(void)
{
    struct engine *e = app.engine;
    CHECK_EQ(console_close(&con), EXIT_DONE);
    keeper_close(app.keeper);
    toolbox_close(&app.toolbox);
    crew_free(&app.crew);
    close(app.answers.fd);
    fclose(told);
    engine_scripted.close(e);
    signals_forget_interrupt();
}

static void command_line(const char *text) { console_command(&con, text, strlen(text)); }

/* ---------------------------------------------------------------- random sessions */

static const char *words(size_t most)
{
    static const char *const some[] = {"the ", "harbour ", "count ", "pier 9, ", "\xc3\xa9t\xc3\xa9 ",
                                       "\xf0\x9f\x9a\xa2 ", "<|im_end|> ", "\n\n", "ship ", "  ",
                                       "x=1;\n", "why ", "don't "};
    static char text[4000];
    size_t n = 0, end = 1 + draw(most);
    text[n++] = 'w';
    while (n < end && n + 20 < sizeof text) n += (size_t)sprintf(text + n, "%s", some[draw(COUNT_OF(some))]);
    text[n] = '\0';
    return text;
}

static uint64_t any_number(enum inspect_can can)
{
    struct doc d = look(0);
    const struct inspect *x = d.data;
    uint64_t found = 1 + draw(20);
    for (int i = 0, n = 0; i < x->rows; i++)
        if ((x->row[i].can & can) && draw((uint64_t)++n) == 0) found = x->row[i].number;
    doc_free(&d);
    return found;
}

static void give_result(void)
{
    struct buf bytes = {0};
    const char *text = words(3500);
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a.log\"}",
                                   .kind = CLIP_TEXT};
    buf_puts(&bytes, text);
    (void)session_result(con.s, &t, &bytes, &err);
}

static void come_back(void)
{
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(con.s->keep.head.id, id);
    if (con.s->keep.head.turns == 0) return;
    CHECK_EQ(session_close(con.s), 0);
    struct session_role role = session_alone(&app);
    OK(session_resume_as(con.s, &app, &role, id, NULL, &err));
}

static void something(void)
{
    char line[4200];
    uint64_t pin;
    err = (struct err){0};
    switch (draw(16)) {
    case 0: (void)session_pin(con.s, "Speak of ships.", 15, &pin, &err); return;
    case 1: (void)session_unpin(con.s, any_number(INSPECT_UNPIN), &err); return;
    case 2: (void)session_task(con.s, "count the ships", 15, &err); return;
    case 3: (void)session_task_done(con.s, 1, &err); return;
    case 4: (void)session_compact(con.s, &err); return;
    case 5: (void)session_undo(con.s, NULL, &err); return;
    case 6: (void)session_undo_summary(con.s, &err); return;
    case 7: case 8: give_result(); return;
    case 9: case 10:
        snprintf(line, sizeof line, "/drop m%" PRIu64, any_number(INSPECT_DROP));
        command_line(line);
        return;
    case 11:
        snprintf(line, sizeof line, "/pin m%" PRIu64, any_number(INSPECT_PIN));
        command_line(line);
        return;
    case 12: (void)session_system(con.s, "You help less.", 14, &err); return;
    case 13: come_back(); return;
    default: look_without_a_trace(0); return;
    }
}

static void random_session(const char *model, const char *form, uint64_t which, int steps)
{
    seed = which * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < 8; i++) draw(2);
    open_all(model, form, NULL);
    for (int i = 0; i < steps; i++) {
        const char *text = words(draw(4) ? 120 : 1500);
        struct err error = {0};
        (void)session_ask(con.s, text, strlen(text), &error);
        session_settle(con.s);
        while (draw(2)) something();
    }
    look_without_a_trace(0);
    close_all();
}

/* A vocabulary for Llama 3's form: every prompt begins with a token that a message by itself would have too. */
static const char *llama3_file(void)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "llama-bpe");
    m.bos = vocab_make_add(&m, "<|begin_of_text|>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<|start_header_id|>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<|end_header_id|>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "<|eot_id|>", VOCAB_CONTROL, 0);
    m.chat = "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>";
    return vocab_file(&m, "llama3.gguf");
}

/* And for Mistral's, in which calls, results and tools have tokens of their own. */
static const char *mistral_file(bool v7)
{
    static const char *const token[] = {"[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]",
                                        "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
                                        "[TOOL_CONTENT]"};
    struct vocab_make m;
    vocab_make_bpe(&m, "tekken");
    m.bos = vocab_make_add(&m, "<s>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "</s>", VOCAB_CONTROL, 0);
    for (size_t i = 0; i < COUNT_OF(token); i++) vocab_make_add(&m, token[i], VOCAB_CONTROL, 0);
    m.chat = v7 ? "[SYSTEM_PROMPT]{{ system }}[INST]{{ m.content }}[/INST]" : "[INST]{{ m.content }}[/INST]";
    return vocab_file(&m, "mistral.gguf");
}

/* And for Gemma's, whose turns have what several messages say: a token a byte, as in its files words are of SPM. */
static const char *gemma_file(void)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    m.add_space_prefix = 0;
    vocab_make_add(&m, "\xe2\x96\x81", VOCAB_NORMAL, -1);
    m.bos = vocab_make_add(&m, "<bos>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "<eos>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<start_of_turn>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<end_of_turn>", VOCAB_CONTROL, 0);
    m.chat = "<start_of_turn>{{ role }}\n{{ m.content | trim }}<end_of_turn>\n";
    return vocab_file(&m, "gemma.gguf");
}

/* And for Phi's, with Phi-3's vocabulary or Phi-4's. */
static const char *phi_file(bool phi4)
{
    static const char *const token[2][5] = {{"<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>"},
                                            {"<|im_start|>", "<|im_sep|>", "<|im_end|>", "<|endoftext|>"}};
    struct vocab_make m;
    if (phi4) vocab_make_bpe(&m, "dbrx");
    else vocab_make_spm(&m);
    if (!phi4) vocab_make_add(&m, "\xe2\x96\x81", VOCAB_NORMAL, -1);
    for (size_t i = 0; i < COUNT_OF(token[0]) && token[phi4][i]; i++)
        m.eos = vocab_make_add(&m, token[phi4][i], VOCAB_CONTROL, 0);
    m.chat = phi4 ? "<|im_start|>{{ role }}<|im_sep|>{{ m.content }}<|im_end|>"
                  : "<|user|>\n{{ m.content }}<|end|>\n<|assistant|>\n";
    return vocab_file(&m, "phi.gguf");
}

/* And for those whose marks are no tokens. */
static const char *plain_marks_file(bool llama)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    vocab_make_add(&m, "\xe2\x96\x81", VOCAB_NORMAL, -1);
    m.chat = llama ? "<s>[INST] <<SYS>>{{ m.content }} [/INST]" : "<s> [INST] {{ m.content }} [/INST]";
    return vocab_file(&m, "marks.gguf");
}

enum { SESSIONS = CHECK_SANITIZED ? 6 : 20, STEPS = 12 };

TEST(inspect_lists_what_the_next_request_carries_a_token_a_byte)
{
    compared = rounds = 0;
    for (uint64_t i = 1; i <= SESSIONS; i++) random_session(NULL, CHATML, i, STEPS);
    printf("# %d requests, %d of them behind a tool's result\n", compared, rounds);
    CHECK(compared > SESSIONS * STEPS / 2 && rounds > SESSIONS / 2);
}

TEST(inspect_lists_what_the_next_request_carries_with_a_real_vocabulary)
{
    compared = 0;
    for (uint64_t i = 1; i <= SESSIONS; i++) random_session("assets/plimsoll-tiny.gguf", NULL, 100 + i, STEPS);
    CHECK(compared > SESSIONS * STEPS / 2);
}

TEST(inspect_lists_what_the_next_request_carries_in_the_form_of_llama3)
{
    const char *model = llama3_file();
    compared = rounds = 0;
    for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 300 + i, STEPS);
    CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
}

TEST(inspect_lists_what_the_next_request_carries_in_the_forms_of_mistral)
{
    for (int v7 = 0; v7 < 2; v7++) {
        const char *model = mistral_file(v7);
        compared = rounds = 0;
        for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 400 + 50 * (uint64_t)v7 + i, STEPS);
        CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
    }
}

TEST(inspect_lists_what_the_next_request_carries_in_the_form_of_harmony)
{
    const char *model = vocab_file_harmony();
    compared = rounds = 0;
    exact_front = speaks_in_channels = true;
    for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 800 + i, STEPS);
    exact_front = speaks_in_channels = false;
    CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
}

TEST(inspect_lists_what_the_next_request_carries_in_the_forms_with_tags)
{
    for (int coder = 0; coder < 2; coder++) {
        const char *model = vocab_file_tags(coder);
        compared = rounds = 0;
        named_by_calls = exact_front = true; /* in whatever form calls are told, and wherever tools */
        for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 900 + 50 * (uint64_t)coder + i, STEPS);
        named_by_calls = exact_front = false;
        CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
    }
}

/* Whose tools are a message of their own in the system text's turn. */
TEST(inspect_lists_what_the_next_request_carries_in_the_forms_of_lfm)
{
    for (int newer = 0; newer < 2; newer++) {
        const char *model = vocab_file_lfm(newer);
        compared = rounds = 0;
        named_by_calls = exact_front = true;
        for (uint64_t i = 1; i <= SESSIONS / 2; i++)
            random_session(model, NULL, 1100 + 50 * (uint64_t)newer + i, STEPS);
        named_by_calls = exact_front = false;
        CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
    }
}

TEST(inspect_lists_what_the_next_request_carries_in_the_form_of_gemma)
{
    const char *model = gemma_file();
    compared = rounds = 0;
    exact_front = true;
    for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 500 + i, STEPS);
    exact_front = false;
    CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
}

TEST(inspect_lists_what_the_next_request_carries_in_the_forms_of_phi)
{
    for (int phi4 = 0; phi4 < 2; phi4++) {
        const char *model = phi_file(phi4);
        compared = rounds = 0;
        exact_front = true;
        for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 700 + 50 * (uint64_t)phi4 + i, STEPS);
        exact_front = false;
        CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
    }
}

TEST(inspect_lists_what_the_next_request_carries_in_forms_whose_marks_are_plain_text)
{
    for (int llama = 0; llama < 2; llama++) {
        const char *model = plain_marks_file(llama);
        compared = rounds = 0;
        exact_front = true;
        for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(model, NULL, 600 + 50 * (uint64_t)llama + i, STEPS);
        exact_front = false;
        CHECK(compared > SESSIONS * STEPS / 4 && rounds > SESSIONS / 4);
    }
}

TEST(inspect_lists_what_the_next_request_carries_without_a_form_of_chat)
{
    compared = weighed = 0;
    for (uint64_t i = 1; i <= SESSIONS / 2; i++) random_session(NULL, NULL, 200 + i, STEPS);
    CHECK(compared > SESSIONS * STEPS / 4);
    CHECK(weighed > SESSIONS * STEPS / 8);
}

/* ---------------------------------------------------------------- what a person can do about it */

static const struct inspect_row *row_of(const struct inspect *x, const char *kind)
{
    for (int i = 0; i < x->rows; i++)
        if (strcmp(x->row[i].kind, kind) == 0) return &x->row[i];
    check_fail(__FILE__, __LINE__, "there is no row %s", kind);
}

static void begin_harbour(const char *crew)
{
    seed = 99;
    open_all(NULL, CHATML, crew);
}

static void ask(const char *text) { CHECK_EQ(session_ask(con.s, text, strlen(text), &err), EXIT_DONE); }

TEST(inspect_says_what_each_row_is_and_what_dropping_it_frees)
{
    begin_harbour(NULL);
    ask("How many piers?");
    give_result();
    ask("And ships?");
    struct doc d = look(0);
    const struct inspect *x = d.data;
    const struct inspect_row *r = row_of(x, "tool result");
    CHECK_STR(x->row[0].kind, "system");
    CHECK_STR(x->row[0].who, "plimsoll"); /* nobody set another */
    CHECK_EQ(x->row[0].can, 0);
    CHECK_STR(row_of(x, "question")->who, "user");
    CHECK_STR(row_of(x, "answer")->who, "model");
    CHECK_STR(r->who, "read"); /* its tool */
    CHECK_EQ(r->part, CONTEXT_TOOL);
    CHECK(r->can == (INSPECT_DROP | INSPECT_PIN));
    CHECK(row_of(x, "tool call")->frees > r->frees); /* they go together */
    for (int i = x->rows; i-- > 0;) /* the newest question cannot go, so that the turn can be taken back */
        if (strcmp(x->row[i].kind, "question") == 0) {
            CHECK(!(x->row[i].can & INSPECT_DROP));
            break;
        }
    const uint64_t number = r->number;
    const int64_t frees = r->frees;
    const size_t tokens = x->ids.n;
    doc_free(&d);
    int64_t freed;
    CHECK_EQ(window_drop(con.s->w, number, &freed, &err), 0);
    CHECK_EQ(freed, frees);
    d = look(0);
    x = d.data;
    CHECK(tokens - x->ids.n >= (size_t)frees); /* a line is mostly shorter than the longest */
    CHECK(row_of(x, "tool result")->line && row_of(x, "tool result")->can == 0);
    doc_free(&d);
    close_all();
}

/* What was thought before a call is of the call as long as its turn goes on. */
TEST(inspect_shows_what_was_thought_before_a_call_with_it)
{
#define HM "<think>\nHm.\n</think>\n\n"
    static const char call[] =
        HM "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"1\"}}</tool_call>";
    begin_harbour(NULL);
    ask("How many piers?");
    for (int over = 0; over < 2; over++) {
        struct result r = {.by = "model", .name = "calculator"};
        buf_puts(&r.text, "1");
        if (!over) OK(result_append(con.s, form_text(call), strlen(HM), &r, &err));
        buf_free(&r.text);
        if (over) CHECK(texts_untell(&con.s->texts) && window_recount(con.s->w, 1, &err) == 0);
        struct doc d = look(0);
        check_rows(d.data);
        const struct inspect *x = d.data;
        const struct inspect_row *row = row_of(x, "tool call");
        const size_t skip = over ? strlen(HM) : 0;
        CHECK_EQ(row->len, strlen(call) - skip);
        CHECK_MEM(x->texts.data + row->text, call + skip, row->len);
        CHECK_STR(row_of(x, "tool result")->who, "calculator");
        doc_free(&d);
    }
    close_all();
}

/* Texts of the front that say nothing make no system message. */
TEST(inspect_shows_a_call_whose_front_is_empty)
{
    uint64_t id;
    begin_harbour(NULL);
    OK(session_system(con.s, "", 0, &err));
    OK(session_add_front(con.s, WINDOW_PINNED, JOURNAL_PIN, "", 0, &id, &err));
    window_remove(con.s->w, WINDOW_TOOLS, con.s->tools, NULL);
    struct doc d = look(0);
    check_rows(d.data);
    CHECK_STR(((const struct inspect *)d.data)->row[0].kind, "pinned");
    doc_free(&d);
    ask("How many piers?");
    look_without_a_trace(0);
    close_all();
}

TEST(inspect_knows_pins_and_the_difference_between_summaries)
{
    char line[40];
    begin_harbour(NULL);
    command_line("/pin Speak of ships.");
    struct doc d = look(0);
    const struct inspect *x = d.data;
    const struct inspect_row *r = row_of(x, "pinned");
    CHECK_EQ(r->can, INSPECT_UNPIN);
    CHECK(memmem(x->texts.data + r->text, r->len, "Speak of ships.", 15));
    CHECK_EQ(x->diff.len, 0);
    CHECK(!x->aside);
    snprintf(line, sizeof line, "/unpin %" PRIu64, r->number);
    doc_free(&d);
    command_line(line);
    d = look(0);
    x = d.data;
    for (int i = 0; i < x->rows; i++) CHECK(strcmp(x->row[i].kind, "pinned") != 0);
    doc_free(&d);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++) ask(k ? "The harbour must have ten piers, and I want to count each of them."
                                          : "The ship must leave at noon, and I prefer that nobody is late.");
        CHECK_EQ(session_compact(con.s, &err), 0);
    }
    d = look(0);
    x = d.data;
    CHECK(x->diff.len > 0 && (x->diff.data[0] == '+' || x->diff.data[0] == '-'));
    CHECK_STR(row_of(x, "summary")->who, "plimsoll");
    CHECK_EQ(row_of(x, "summary")->part, CONTEXT_SUMMARY);
    doc_free(&d);
    close_all();
}

/* A size, a flag and a guard that is off are told apart. */
TEST(inspect_says_why_nothing_is_summed_up)
{
    begin_harbour(NULL);
    struct session small = *con.s;
    small.role.ctx = 1023;
    CHECK(!session_no_summaries(con.s));
    CHECK_STR(session_no_summaries(&small), "this context is too small for summaries");
    struct doc d = look(0);
    CHECK(!((const struct inspect *)d.data)->no_summaries);
    doc_free(&d);
    opts.summary = "off";
    CHECK_STR(session_no_summaries(&small), "summaries are off (--summary off)");
    d = look(0);
    CHECK_STR(((const struct inspect *)d.data)->no_summaries, "summaries are off (--summary off)");
    CHECK(((const struct inspect *)d.data)->leaves);
    doc_free(&d);
    opts.off.window = true;
    d = look(0);
    CHECK_STR(((const struct inspect *)d.data)->no_summaries, "nothing is summed up, nothing leaves");
    CHECK(!((const struct inspect *)d.data)->leaves);
    doc_free(&d);
    opts.off.window = false;
    opts.summary = NULL;
    close_all();
}

TEST(map_is_the_pool_after_every_pass)
{
    begin_harbour("crew: test\nagents:\n  - name: ann\n    system: You count.\n  - name: bob\n    system: You check.\n"
                  "flow:\n  kind: round_robin\n");
    check_map(50); /* nothing is there yet */
    look_at_map = true;
    maps = 0;
    CHECK_EQ(team_ask(&con.team, "How many piers has the harbour?", 31, &err), EXIT_DONE);
    look_at_map = false;
    CHECK(maps > 20);
    struct doc d = {.ask = {.kind = DOC_MAP, .cells = 0}}; /* of any size */
    doc_map(&con, &d);
    const struct map *m = d.data;
    CHECK(m && m->cells == 1 && m->agents == 2);
    CHECK_STR(m->name[1], "bob");
    doc_free(&d);
    d = look(1); /* who says what to bob */
    const struct inspect *x = d.data;
    CHECK_STR(row_of(x, "system")->who, "the crew file");
    CHECK_STR(row_of(x, "question")->who, "ann");
    doc_free(&d);
    d = look(0);
    CHECK_STR(row_of(d.data, "question")->who, "user"); /* ann is asked first */
    doc_free(&d);
    close_all();
}

TEST(inspect_looks_at_each_agent_and_commands_reach_it)
{
    begin_harbour("crew: test\nagents:\n  - name: ann\n    system: You count.\n  - name: bob\n    system: You check.\n"
                  "flow:\n  kind: round_robin\n");
    struct doc d = look(1), none = {.ask = {.kind = DOC_INSPECT, .agent = 2}};
    const struct inspect *x = d.data;
    CHECK_STR(x->agent, "bob");
    CHECK(x->aside);
    CHECK(memmem(x->texts.data, x->texts.len, "You check.", 10));
    doc_free(&d);
    doc_inspect(&con, &none);
    CHECK(!none.data && *none.error);
    command_line("/for bob /pin Be brief.");
    d = look(1);
    (void)row_of(d.data, "pinned");
    doc_free(&d);
    d = look(0);
    x = d.data;
    for (int i = 0; i < x->rows; i++) CHECK(strcmp(x->row[i].kind, "pinned") != 0);
    CHECK_EQ(con.team.current, 0);
    CHECK(con.s == &con.team.member[0].s && !con.team.chosen);
    doc_free(&d);
    static const char *const bad[] = {"/for bob /use bob", "/for nobody /compact", "/for ann", "/for", "/for bob pin"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) command_line(bad[i]);
    CHECK(con.team.current == 0 && con.s == &con.team.member[0].s && !con.team.chosen);
    look_without_a_trace(0);
    close_all();
}

CHECK_MAIN
