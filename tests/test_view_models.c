/* The view of model files: as it looks (golden screens), what its keys do, that its figures are the doc's, and that
 * nothing that files say leaves the box.  And its collector, with the program itself and with programs that misbehave.
 *
 * Golden screens lie in tests/fixtures/screens; PLIMSOLL_WRITE_SCREENS=1 writes them anew: look at each before it is
 * committed. */
#include "app/console.h"
#include "app/progress.h"
#include "app/tui/view.h"
#include "app/tui/view_models.h"
#include "tests/models_rig.h"
#include <errno.h>
#include <sys/wait.h>

/* ------------------------------------------------------------------ a machine, made up */

#define GIB (1ull << 30)
static const struct models_row rows[] = {
    {.name = "llama3.2:3b", .place = 1, .state = MODEL_FITS, .bytes = 2019377376, .arch = "llama",
     .types = "Q4_K, Q6_K", .tensors = "Q4_K 168, Q6_K 29, F32 58", .parameters = 3212749888, .ctx_trained = 131072,
     .ctx_fits = 16384, .ctx_usual = 4096, .needs_least = 2400000000, .needs_usual = 2900000000,
     .path = "/home/ann/.ollama/models/blobs/"
             "sha256-dde5aa3fc5ffc17176b5e8bdc82f587b24b2678c6c66101bf7da77af9f7ccdff"},
    {.name = "SmolLM2-135M-Instruct-Q8_0", .place = 2, .state = MODEL_FITS, .bytes = 144811456, .arch = "llama",
     .types = "Q8_0", .tensors = "Q8_0 211, F32 61", .parameters = 134515008, .ctx_trained = 8192, .ctx_fits = 8192,
     .ctx_usual = 4096, .needs_least = 180000000, .needs_usual = 290000000,
     .path = "/home/ann/.lmstudio/models/it's mine/SmolLM2-135M-Instruct-Q8_0.gguf"},
    {.name = "qwen2.5-14b-instruct-q4_k_m", .place = 3, .state = MODEL_TOO_LARGE, .bytes = 8988110272,
     .arch = "qwen2", .types = "Q4_K, Q6_K", .tensors = "Q4_K 289, Q6_K 49, F32 241", .parameters = 14770033664,
     .ctx_trained = 32768, .ctx_usual = 4096, .needs_least = 9300000000, .needs_usual = 10300000000,
     .path = "/home/ann/.cache/llama.cpp/qwen2.5-14b-instruct-q4_k_m.gguf"},
    {.name = "big-00001-of-00003", .place = 4, .state = MODEL_SPLIT, .bytes = 3 * GIB,
     .why = "part 1 of 3; llama-gguf-split --merge FIRST OUT makes one file of them",
     .path = "/hub/big-00001-of-00003.gguf"},
    {.name = "gemma-3n-E2B-it-Q4_K_M", .place = 4, .state = MODEL_UNSUPPORTED, .bytes = 806058240, .arch = "gemma3n",
     .types = "Q4_K, Q8_0", .tensors = "Q4_K 91, Q8_0 78, F32 157", .parameters = 999885952, .ctx_trained = 32768,
     .why = "architecture \"gemma3n\" is not supported; llama, qwen2, qwen3, qwen3moe, smollm3, phi3, gemma2 and "
            "gemma3 are",
     .path = "/hub/gemma-3n-E2B-it-Q4_K_M.gguf"},
    {.name = "half", .place = 0, .state = MODEL_BROKEN, .bytes = 1000000,
     .why = "is damaged or cut short; download it again", .path = "/srv/models/half.gguf"},
    {.name = "late", .place = 0, .state = MODEL_UNREAD, .bytes = GIB, .path = "/srv/models/late.gguf"},
};

static struct models found;
static void new_program_home(void)
{
    new_home();
    CHECK_EQ(setenv("HOME", home, 1), 0);
}
static struct doc doc;
static struct state state;
static struct view_in in;
static struct view_out out;
static void *self;

static void begin(void)
{
    static const char *const what[] = {"PLIMSOLL_MODELS", "Ollama", "LM Studio", "llama.cpp", "hub cache"};
    memset(&found, 0, sizeof found);
    for (; found.n_places < (int)COUNT_OF(what); found.n_places++) {
        struct models_place *p = &found.place[found.n_places];
        snprintf(p->what, sizeof p->what, "%s", what[found.n_places]);
        snprintf(p->path, sizeof p->path, "/home/ann/place-%d", found.n_places);
        p->looked = (enum models_looked)(found.n_places % 3);
    }
    for (; found.n < (int)COUNT_OF(rows); found.n++) found.row[found.n] = rows[found.n];
    found.within = 4200000000;
    doc = (struct doc){.ask = {.kind = DOC_MODELS}, .data = &found};
    in = (struct view_in){.state = &state, .doc = &doc, .glyphs = GLYPHS_UTF8};
    out = (struct view_out){.agent = -1};
    memset(state.opened.file, 0, sizeof state.opened.file);
    free(self);
    self = view_models.open();
    CHECK(self);
}

static struct surface draw(int columns, int n)
{
    struct surface s;
    struct err err;
    CHECK_EQ(surface_open(&s, columns, n, &err), 0);
    view_models.draw(self, &s, surface_all(&s), &in);
    return s;
}

static const char *screen(int columns, int n)
{
    static char text[1 << 20];
    struct surface s = draw(columns, n);
    struct buf b = {0};
    surface_dump(&s, &b);
    snprintf(text, sizeof text, "%s", b.data ? b.data : "");
    buf_free(&b);
    surface_close(&s);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

/* ------------------------------------------------------------------ golden screens */

static void read_file(const char *path, struct buf *to)
{
    char block[4096];
    FILE *f = fopen(path, "rb");
    if (!f) check_fail(__FILE__, __LINE__, "%s is not there", path);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(to, block, n);
    fclose(f);
}

static void check_golden(const char *what, int columns, int n)
{
    char path[200];
    struct buf want = {0}, have = {0};
    struct surface s = draw(columns, n);
    surface_dump_looks(&s, &have);
    surface_close(&s);
    snprintf(path, sizeof path, "tests/fixtures/screens/models-%s-%dx%d-%s.txt", what, columns, n,
             in.glyphs == GLYPHS_ASCII ? "ascii" : "utf8");
    if (getenv("PLIMSOLL_WRITE_SCREENS")) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(have.data, 1, have.len, f) == have.len && fclose(f) == 0);
    }
    read_file(path, &want);
    CHECK_STR(have.data, want.data);
    buf_free(&want);
    buf_free(&have);
}

static void press(enum key_name name, uint32_t rune)
{
    const struct key k = {.name = name, .rune = rune};
    out = (struct view_out){.agent = -1};
    CHECK(view_models.key(self, &k, &in, &out));
}

TEST(golden_list_at_each_size)
{
    static const int size[][2] = {{80, 24}, {120, 36}, {200, 60}, {40, 10}};
    for (size_t i = 0; i < 2 * COUNT_OF(size); i++) {
        begin();
        in.glyphs = i % 2 ? GLYPHS_ASCII : GLYPHS_UTF8;
        check_golden("list", size[i / 2][0], size[i / 2][1]);
    }
}

TEST(golden_details_and_the_rest)
{
    begin();
    press(KEY_DOWN, 0);
    snprintf(state.opened.file, sizeof state.opened.file, "%s", rows[1].path);
    check_golden("ours", 80, 24);
    press(KEY_ENTER, 0);
    check_golden("details", 80, 24);
    check_golden("details", 40, 10);
    begin();
    found.n = 0;
    check_golden("none", 80, 24);
    begin();
    snprintf(found.stopped, sizeof found.stopped, "time was over, and 1 of 7 files were not looked into");
    check_golden("stopped", 80, 16);
}

/* ------------------------------------------------------------------ what it says */

TEST(models_view_says_what_the_doc_says)
{
    begin();
    const char *text = screen(120, 36);
    has(text, "7 model files, 15.1 GiB; 2 of them fit in 3.9 GiB of memory");
    has(text, "fits, context up to 16,384");
    has(text, "needs 8.7 GiB of 3.9 GiB");
    has(text, "2.7 GiB with a context of 4,096; a new session finds 3.9 GiB");
    for (int i = 0; i < found.n; i++) {
        char digits[MODELS_COUNT];
        has(text, rows[i].name);
        if (rows[i].parameters) has(text, models_count(rows[i].parameters, digits));
    }
}

/* Sizes on the screen, added up, are the total that is shown: to what rounding leaves open. */
TEST(models_view_sizes_add_up_to_its_total)
{
    double sum = 0, total = 0, size;
    char unit[8];
    begin();
    const char *text = screen(200, 60);
    CHECK_EQ(sscanf(text, " %*d model files, %lf GiB", &total), 1);
    for (int i = 0; i < found.n; i++) {
        const char *at = strstr(strstr(text, "\n") + 1, rows[i].name);
        CHECK(at && sscanf(at + strlen(rows[i].name), " %lf %3s", &size, unit) == 2);
        sum += size * (strcmp(unit, "GiB") == 0 ? 1 : strcmp(unit, "MiB") == 0 ? 0x1p-10 : 0x1p-20);
    }
    CHECK_NEAR(sum, total, 0.05 * 8);
    CHECK(total > 14);
}

TEST(models_view_without_a_doc_says_so)
{
    begin();
    doc.data = NULL;
    has(screen(80, 24), "Looking for model files");
    in.doc = NULL;
    has(screen(80, 24), "Looking for model files");
    in.doc = &doc;
    snprintf(doc.error, sizeof doc.error, "looking took too long");
    has(screen(80, 24), "looking took too long");
    has(screen(80, 24), "r tries again");
    press(KEY_ENTER, 0);
    press(KEY_CHAR, 'c');
    CHECK_EQ(out.copy.len, 0);
    press(KEY_DOWN, 0);
    found.n = 0;
    doc.data = &found;
    has(screen(80, 24), "No model file was found.");
    has(screen(80, 24), "may not be read");
    press(KEY_CHAR, 'c');
    CHECK_EQ(out.copy.len, 0);
}

/* ------------------------------------------------------------------ keys */

TEST(models_view_keys)
{
    begin();
    screen(80, 24);
    press(KEY_CHAR, 'c');
    has(out.copy.data, "plimsoll -m /home/ann/.ollama/models/blobs/sha256-dde5");
    has(out.copy.data, " --vram 100%"); /* more than half of what is free */
    buf_free(&out.copy);
    press(KEY_CHAR, 'j');
    press(KEY_CHAR, 'c');
    CHECK_STR(out.copy.data, "plimsoll -m '/home/ann/.lmstudio/models/it'\\''s mine/SmolLM2-135M-Instruct-Q8_0.gguf'");
    buf_free(&out.copy);
    press(KEY_DOWN, 0);
    press(KEY_CHAR, 'c'); /* too large: there is no line to copy */
    CHECK_EQ(out.copy.len, 0);
    press(KEY_CHAR, 'r');
    CHECK_EQ(out.ask.kind, DOC_MODELS);
    press(KEY_ENTER, 0);
    has(screen(80, 24), "tensors");
    CHECK(!strstr(screen(80, 24), "llama3.2"));
    press(KEY_ESCAPE, 0);
    CHECK(!out.leave);
    has(screen(80, 24), "llama3.2");
    press(KEY_ESCAPE, 0);
    CHECK(out.leave);
    press(KEY_CHAR, 'q');
    CHECK(out.leave);
    CHECK(!view_models.key(self, &(struct key){.name = KEY_F5}, &in, &out));
    CHECK(!view_models.key(self, &(struct key){.name = KEY_CHAR, .rune = 'x'}, &in, &out));
    struct doc_ask ask = {0};
    view_models.ask(self, (struct box){0, 0, 80, 24}, &in, &ask);
    CHECK_EQ(ask.kind, DOC_MODELS);
}

TEST(models_view_details_scroll_where_there_is_no_room)
{
    begin();
    screen(40, 10);
    press(KEY_ENTER, 0);
    has(screen(40, 6), "model");
    CHECK(!strstr(screen(40, 6), "found by"));
    for (int i = 0; i < 50; i++) press(KEY_DOWN, 0);
    CHECK(!strstr(screen(40, 6), "llama3.2"));
    press(KEY_END, 0);
    has(screen(40, 6), "that it has");
    press(KEY_HOME, 0);
    has(screen(40, 6), "llama3.2");
}

/* The list may be another at each look. */
TEST(models_view_keeps_a_selection_that_there_is)
{
    begin();
    screen(80, 24);
    press(KEY_END, 0);
    press(KEY_ENTER, 0);
    has(screen(80, 24), "late");
    found.n = 2;
    has(screen(80, 24), "SmolLM2");
    found.n = 0;
    has(screen(80, 24), "No model file");
    press(KEY_CHAR, 'c');
    press(KEY_ENTER, 0);
}

/* ------------------------------------------------------------------ hostile */

TEST(models_view_stays_in_its_box_whatever_files_say)
{
    static const char bad[] = "\033[2J\xe2\x80\xae\xc2\x9b\xff\xfe\t\n\r\xf0\x9f\x91\xa9\xe2\x80\x8d"
                              "\xe4\xb8\x96\xe7\x95\x8c";
    uint32_t seed = 7;
    begin();
    for (int i = 0; i < found.n; i++) {
        struct models_row *r = &found.row[i];
        struct { char *text; size_t n; } field[] = {{r->name, sizeof r->name}, {r->path, sizeof r->path},
            {r->why, sizeof r->why}, {r->arch, sizeof r->arch}, {r->types, sizeof r->types},
            {r->tensors, sizeof r->tensors}};
        for (size_t k = 0; k < COUNT_OF(field); k++)
            for (size_t at = 0; at + 1 < field[k].n; at++) field[k].text[at] = bad[(at + k) % (sizeof bad - 1)];
        r->bytes = r->parameters = r->needs_least = r->needs_usual = UINT64_MAX;
        r->ctx_fits = r->ctx_trained = r->ctx_usual = INT64_MAX;
    }
    memset(found.stopped, 0x9b, sizeof found.stopped - 1);
    for (int round = 0; round < 300; round++) {
        struct surface s;
        struct err err;
        const int columns = 1 + tiny_below(&seed, 320), n = 1 + tiny_below(&seed, 120);
        CHECK_EQ(surface_open(&s, columns + 4, n + 4, &err), 0);
        for (int i = 0; i < n + 4; i++) surface_fill(&s, surface_all(&s), 0, i, columns + 4, "#", (struct look){0});
        surface_clear(&s, (struct box){2, 2, columns, n}, (struct look){0});
        if (round % 3 == 0) press(round % 2 ? KEY_DOWN : KEY_ENTER, 0);
        view_models.draw(self, &s, (struct box){2, 2, columns, n}, &in);
        for (int i = 0; i < (columns + 4) * (n + 4); i++) {
            const int x = i % (columns + 4), y = i / (columns + 4);
            const bool inside = x >= 2 && x < columns + 2 && y >= 2 && y < n + 2;
            if (!inside) CHECK_STR(s.cell[i].text, "#");
        }
        surface_close(&s);
    }
}

/* ------------------------------------------------------------------ the collector */

TEST(models_doc_is_what_the_program_finds)
{
    begin();
    new_program_home();
    fill_home();
    struct doc d = {.ask = {.kind = DOC_MODELS}};
    doc_models_from("/proc/self/exe", GIB, &d);
    CHECK_STR(d.error, "");
    const struct models *m = d.data;
    CHECK_EQ(m->n, 5);
    CHECK_EQ(m->within, GIB);
    for (int i = 0; i < m->n; i++) CHECK_EQ(m->row[i].state, MODEL_FITS);
    in.doc = &d;
    has(screen(120, 36), "tiny:3b");
    doc_free(&d);
    CHECK(!d.data);
}

static const char *script(const char *text)
{
    const char *path = put_text("script", text);
    CHECK_EQ(chmod(path, 0700), 0);
    return path;
}

TEST(models_doc_fails_in_words_and_in_time)
{
    static const struct { const char *text, *error; } bad[] = {
        {"#!/bin/sh\nexit 1\n", "failed"},
        {"#!/bin/sh\necho nonsense; echo '{}'; echo '{\"path\":\"/x\"}'\n", "failed"},
        {"#!/bin/sh\nexec sleep 100\n", "longer than 2 s"},
        {"#!/bin/sh\nexec cat /dev/zero\n", "longer than 2 s"},
    };
    begin();
    new_program_home();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct doc d = {0};
        const double start = progress_clock();
        doc_models_from(script(bad[i].text), 0, &d);
        CHECK(!d.data);
        has(d.error, bad[i].error);
        CHECK(progress_clock() - start < 20);
        CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    }
    struct doc d = {0};
    doc_models_from("/no/such/program", 0, &d);
    CHECK(!d.data);
    has(d.error, "no process");
}

/* A session's own memory is free again when another is started. */
static void have(const struct engine *e, struct engine_memory *m)
{
    (void)e;
    *m = (struct engine_memory){.total = 8 * GIB, .free = 2 * GIB, .ours = 1 * GIB, .outside = 5 * GIB};
}

TEST(models_doc_is_judged_by_what_a_new_session_finds)
{
    static const struct engine_ops ops = {.memory = have};
    static struct app app = {.ops = &ops};
    static struct console c = {.a = &app};
    struct doc d = {0};
    begin();
    new_program_home();
    doc_models(&c, &d);
    CHECK_STR(d.error, "");
    CHECK_EQ(((const struct models *)d.data)->within, 3 * GIB);
    doc_free(&d);
}

/* The collector runs its own program as `plimsoll models`. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "models") == 0) return models_run(argc - 1, argv + 1);
    static const char *const others[] = {"OLLAMA_MODELS", "LLAMA_CACHE", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME",
                                         "PLIMSOLL_MODELS"};
    for (size_t i = 0; i < COUNT_OF(others); i++) unsetenv(others[i]);
    return check_main(argc, argv);
}
