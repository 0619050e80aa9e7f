/* Watched servers on the screen: rows, the selected one's past, keys; golden screens by made-up samples. */
#include "app/tui/view_watch.h"
#include "tests/stored_rig.h"

static struct view_watch v;
static struct watch w;
static struct watch_sample kept[5][WATCH_KEPT];

static void *open_it(void)
{
    v = (struct view_watch){.glyphs = GLYPHS_UTF8};
    return &v;
}
static void close_it(void *self) { (void)self, view_watch_close(&v); }
static void draw_it(void *self, struct surface *s, struct box b, const struct view_in *i)
{
    (void)self;
    (void)b;
    v.glyphs = i->glyphs;
    view_watch_draw(&v, &w, 180, s);
}
static bool key_it(void *self, const struct key *k, const struct view_in *i, struct view_out *o)
{
    (void)self;
    (void)i;
    (void)o;
    return view_watch_key(&v, &w, k);
}
static const struct view_ops as_view = {.open = open_it, .close = close_it, .draw = draw_it, .key = key_it};

static struct watched *add(const char *at, enum server_kind kind, const char *model)
{
    struct watched *s = &w.server[w.n];
    *s = (struct watched){.state = WATCH_TOLD, .kind = kind, .kept = kept[w.n++]};
    snprintf(s->at, sizeof s->at, "%s", at);
    snprintf(s->model, sizeof s->model, "%s", model);
    return s;
}

static struct load *put(struct watched *s, double time)
{
    struct watch_sample *at = &s->kept[s->n_kept++ % WATCH_KEPT];
    at->time = time;
    load_read("", 0, &at->load);
    at->load.kind = s->kind;
    return &at->load;
}

/* One that loses pages, one of our own, one that tells little, one that tells nothing, one that is gone. */
static void begin_watch(void)
{
    w = (struct watch){.every = 1};
    struct watched *vllm = add("http://gpu-1.example:8000", SERVER_VLLM, "meta-llama/Llama-3.1-8B-Instruct");
    struct watched *own = add("http://127.0.0.1:8080", SERVER_PLIMSOLL, "plimsoll-tiny");
    struct watched *llama = add("http://127.0.0.1:8081", SERVER_LLAMA, "");
    struct watched *gone = add("http://gpu-2.example:8000", SERVER_OTHER, "");
    struct watched *mute = add("http://127.0.0.1:30000", SERVER_OTHER, "");
    for (int i = 0; i < 170; i++) {
        struct load *l = put(vllm, 11 + i);
        l->kv_permille = MIN(1000, 200 + 6 * i);
        l->running = 8 + i / 10;
        l->waiting = MAX(0, i - 130) / 4;
        l->count[LOAD_LOST] = MAX(0, i - 150);
        l->count[LOAD_PROMPT] = 2000.0 * i;
        l->count[LOAD_GENERATED] = 300.0 * i + 40 * (i % 7);
        l->count[LOAD_ASKED] = l->count[LOAD_PROMPT];
        l->count[LOAD_HITS] = 640.0 * i;
        l->count[LOAD_FIRST_S] = 1.5 * i;
        l->count[LOAD_FIRST_N] = 2.0 * i;
        l = put(own, 11 + i);
        l->kv_permille = 500;
        l->running = 4;
        l->waiting = 0;
        l->count[LOAD_LOST] = 0;
        l->count[LOAD_PROMPT] = 100.0 * i;
        l->count[LOAD_GENERATED] = 120.0 * i;
        l->tokens[LOAD_POOL] = 8192;
        l->tokens[LOAD_RESERVED] = 4096;
        l->tokens[LOAD_FILLED] = 2048;
        l->tokens[LOAD_CACHED] = 1024;
        l->ceiling = 512ll << 20;
        l->bytes[LEDGER_WEIGHTS] = 12ll << 20;
        l->bytes[LEDGER_KV] = 96ll << 20;
        l->bytes[LEDGER_ACTIVATIONS] = 8ll << 20;
        l->bytes[LEDGER_TABLES] = 2ll << 20;
        l = put(llama, 11 + i);
        l->running = 1;
        l->waiting = 3;
        l->count[LOAD_GENERATED] = 9.5 * i;
    }
    gone->state = WATCH_DOWN;
    gone->since = 120;
    snprintf(gone->why, sizeof gone->why, "Could not resolve host: gpu-2.example");
    mute->state = WATCH_MUTE;
    snprintf(mute->why, sizeof mute->why, "it has no /metrics: llama-server begins with --metrics to have it, SGLang "
             "with --enable-metrics");
    open_view(&as_view, NULL);
}

TEST(watch_looks)
{
    begin_watch();
    check_goldens("watch");
    close_view();
}

TEST(watch_of_our_own_server_looks)
{
    begin_watch();
    press(KEY_DOWN);
    size(120, 36);
    check_golden("watch-own-120x36-utf8");
    CHECK(shows("plimsoll-tiny") && shows("118 MiB of 512 MiB") && shows("weights 12 MiB") && !shows("other"));
    kept[1][(w.server[1].n_kept - 1) % WATCH_KEPT].load.bytes[LEDGER_CONTEXT] = 64ll << 20;
    size(200, 60);
    CHECK(shows("182 MiB of 512 MiB") && shows("other 64 MiB")); /* with little room it is left out */
    close_view();
}

TEST(watch_shows_the_selected_one_and_says_what_it_is)
{
    begin_watch();
    size(80, 24);
    CHECK(shows("meta-llama/Llama-3.1-8B-Instruct") && shows("lost their KV pages"));
    press(KEY_DOWN), press(KEY_DOWN);
    CHECK(shows("3 wait until one of those that run has ended (-np)") && !shows("meta-llama"));
    press(KEY_DOWN);
    CHECK(shows("does not answer since 60.0 s: Could not resolve host"));
    press(KEY_DOWN), press(KEY_DOWN), press(KEY_DOWN);
    CHECK(shows("--enable-metrics") && v.list.selected == 4);
    CHECK(type("g") && v.list.selected == 0);
    CHECK(shows("2 in trouble") && shows("2 near it"));
    close_view();
}

TEST(watch_keys)
{
    begin_watch();
    CHECK(type("?") && shows("tokens of prompts a second") && !shows("gpu-1"));
    CHECK(press(KEY_ESCAPE) && shows("gpu-1"));
    CHECK(type("?") && type("?") && shows("gpu-1"));
    CHECK(!type("q"));
    CHECK(type("?"));
    CHECK(!type("q")); /* there too it is the loop's */
    close_view();
}

/* Nothing of it is cut: words go on in the next row, rows by the keys. */
TEST(watch_help_is_read_to_its_end_at_every_size)
{
    begin_watch();
    CHECK(type("?"));
    size(100, 24);
    CHECK(shows("to come") && shows("lost     requests") && !shows("PgDn more"));
    size(40, 10);
    CHECK(shows("KV       part of its KV pool") && shows("PgDn more") && !shows("leaves"));
    for (int i = 0; i < 4; i++) CHECK(press(KEY_PAGE_DOWN));
    CHECK(shows("q        leaves") && shows("another server") && !shows("PgDn more"));
    close_view();
}

/* More servers than rows, hostile names, every size: nothing is drawn beyond the surface, which cuts it. */
TEST(watch_is_drawn_at_every_size)
{
    begin_watch();
    while (w.n < WATCH_SERVERS) {
        struct watched *s = &w.server[w.n++];
        *s = (struct watched){.state = WATCH_DOWN, .kept = kept[0]};
        snprintf(s->at, sizeof s->at, "http://%d.\xd8\xa7\xe2\x80\xae\xe4\xb8\xad.example/%0200d", w.n, 7);
    }
    for (int columns = 1; columns <= 220; columns += 13)
        for (int rows = 1; rows <= 70; rows += 3) {
            size(columns, rows);
            for (int i = 0; i < 3; i++) press(KEY_PAGE_DOWN);
            paint();
            press(KEY_HOME);
            paint();
        }
    size(100, 12);
    press(KEY_END);
    CHECK_EQ(v.list.selected, WATCH_SERVERS - 1);
    CHECK(shows(" 32."));
    close_view();
}

CHECK_MAIN
