/* Finding model files where people have them, and what is said of them: the right names, what does not belong there,
 * files that wish us harm, limits, and that what is said to fit is what the engine takes. */
#include "app/doctor.h"
#include "app/models.h"
#include "app/progress.h"
#include "engine/engine.h"
#include "tests/models_rig.h"

static struct models m;

static void begin(void)
{
    new_home();
    own_folders = cache = hub = NULL;
    memset(&m, 0, sizeof m);
}

static void look_for(double seconds, uint64_t within)
{
    const struct models_ask ask = {.env = env, .within = within, .end = progress_clock() + seconds};
    memset(&m, 0, sizeof m);
    models_find(&ask, &m);
    models_read(&ask, &m);
}

/* The row of this name, or NULL. */
static const struct models_row *row(const char *name)
{
    for (int i = 0; i < m.n; i++)
        if (strcmp(m.row[i].name, name) == 0) return &m.row[i];
    return NULL;
}

static const char *verdict(const struct models_row *r)
{
    static char text[400];
    models_verdict(r, m.within, text, sizeof text);
    return text;
}

static const char *command_of(const struct models_row *r)
{
    static char text[2000];
    struct buf b = {0};
    models_command(r, m.within, &b);
    snprintf(text, sizeof text, "%s", b.data ? b.data : "");
    buf_free(&b);
    return text;
}

/* ---------------------------------------------------------------- finding */

TEST(models_are_found_where_each_program_leaves_them)
{
    static const struct { const char *name, *place, *arch, *types; } want[] = {
        {"own", "PLIMSOLL_MODELS", "qwen2", "Q8_0"}, {"hf.co/bob/other:Q8_0", "Ollama", "qwen2", "Q8_0"},
        {"tiny:3b", "Ollama", "llama", "F32"},       {"tiny-f32", "LM Studio", "llama", "F32"},
        {"ann_tiny", "llama.cpp", "llama", "F32"},   {"hub", "hub cache", "llama", "F32"},
    };
    begin();
    fill_home();
    own_folders = mine();
    look_for(60, 1 << 30);
    CHECK_STR(m.stopped, "");
    CHECK_EQ(m.n, COUNT_OF(want));
    CHECK_EQ(m.n_read, m.n);
    CHECK_EQ(m.n_judged, m.n);
    CHECK_EQ(m.n_again, 1); /* the other snapshot's link */
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const struct models_row *r = row(want[i].name);
        struct stat st;
        if (!r) CHECK_STR("not found", want[i].name);
        CHECK_STR(m.place[r->place].what, want[i].place);
        CHECK_STR(r->arch, want[i].arch);
        CHECK_STR(r->types, want[i].types);
        CHECK_EQ(r->state, MODEL_FITS);
        CHECK_EQ(r->ctx_trained, 512);
        CHECK_EQ(stat(r->path, &st), 0);
        CHECK_EQ(st.st_size, r->bytes);
    }
}

TEST(models_variables_name_other_folders_and_several)
{
    char both[1400];
    struct tiny t = TINY_LLAMA;
    begin();
    put_model("a/one.gguf", &t);
    put_model("b/x/two.gguf", &t);
    put_model("xdg/llama.cpp/three.gguf", &t);
    put_model("hubs/models--a--b/snapshots/1/four.gguf", &t);
    snprintf(both, sizeof both, ":%s/a/::%s/b:/no/such:", home, home);
    own_folders = both;
    cache = at_home("xdg"); /* no other path is asked for meanwhile */
    hub = at_home("hubs");
    look_for(60, 1 << 30);
    CHECK_EQ(m.n, 4);
    CHECK(row("one") && row("two") && row("three") && row("four"));
}

TEST(models_of_this_folder_are_those_in_it_and_not_below)
{
    struct tiny t = TINY_LLAMA;
    begin();
    CHECK_EQ(chdir(home), 0);
    put_model("near.gguf", &t);
    put_model("below/far.gguf", &t);
    look_for(60, 1 << 30);
    CHECK_EQ(m.n, 1);
    CHECK_STR(m.row[0].path, "./near.gguf");
}

TEST(models_without_a_home_are_looked_for_all_the_same)
{
    begin();
    *home = '\0';
    look_for(60, 1 << 30);
    CHECK_EQ(m.n, 0);
    CHECK(m.n_places >= 2);
    CHECK_STR(m.place[m.n_places - 1].what, "this folder");
}

/* A file that is opened and never answers would hang the test. */
TEST(models_that_are_no_regular_files_are_not_opened)
{
    struct tiny t = TINY_LLAMA;
    char far[700];
    begin();
    own_folders = mine();
    put_model("mine/good.gguf", &t);
    snprintf(far, sizeof far, "%s/far.gguf", check_tmpdir());
    CHECK_EQ(rename(put_model("far.gguf", &t), far), 0);
    CHECK_EQ(mkfifo(make_way("mine/fifo.gguf"), 0600), 0);
    CHECK_EQ(symlink("fifo.gguf", at_home("mine/to-fifo.gguf")), 0);
    CHECK_EQ(symlink("/dev/zero", at_home("mine/to-device.gguf")), 0);
    CHECK_EQ(symlink("loop.gguf", at_home("mine/loop.gguf")), 0);
    CHECK_EQ(symlink("nothing", at_home("mine/dangling.gguf")), 0);
    CHECK_EQ(symlink(far, at_home("mine/outside.gguf")), 0);
    CHECK_EQ(symlink("..", at_home("mine/folder")), 0); /* round and round */
    CHECK_EQ(symlink(".", at_home("mine/folder.gguf")), 0);
    put_model("mine/dir.gguf/inner.gguf", &t);
    look_for(60, 1 << 30);
    CHECK_STR(m.stopped, "");
    CHECK(row("good") && row("good")->state == MODEL_FITS);
    CHECK(row("inner") && row("inner")->state == MODEL_FITS);
    CHECK(!row("fifo") && !row("to-fifo"));
    CHECK(row("outside") && strstr(verdict(row("outside")), "leads out"));
    CHECK(row("to-device") && strstr(verdict(row("to-device")), "leads out"));
    CHECK(row("dangling") && strstr(verdict(row("dangling")), "not there"));
    for (int i = 0; i < m.n; i++) CHECK((m.row[i].state == MODEL_FITS) == (*command_of(&m.row[i]) != '\0'));
}

/* What a row was found as is what is opened, or nothing is. */
TEST(models_that_are_exchanged_meanwhile_are_not_read)
{
    struct tiny t = TINY_LLAMA;
    const struct models_ask ask = {.env = env, .within = 1 << 30, .end = progress_clock() + 60};
    begin();
    own_folders = mine();
    put_model("mine/a.gguf", &t);
    put_model("mine/b.gguf", &t);
    models_find(&ask, &m);
    put_model("c", &t);
    CHECK_EQ(rename(at_home("c"), at_home("mine/a.gguf")), 0);
    CHECK_EQ(unlink(at_home("mine/b.gguf")), 0);
    CHECK_EQ(mkfifo(at_home("mine/b.gguf"), 0600), 0);
    models_read(&ask, &m);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(m.row[i].state, MODEL_BROKEN);
        CHECK(strstr(m.row[i].why, "another file"));
    }
}

TEST(models_of_manifests_that_lie_are_not_followed)
{
    static const char *const bad[] = {
        "", "{", "[]", "{\"layers\": 3}", "{\"layers\": [1, null, {}]}", MANIFEST("../../../../etc/passwd"),
        MANIFEST(HEX8("a/../../")), MANIFEST(HEX8("AAAAAAAA")), MANIFEST(DIGEST_A "a"), MANIFEST(""), "\xff\xfe",
    };
    struct tiny t = TINY_LLAMA;
    struct buf large = {0};
    char name[200];
    begin();
    put_model(".ollama/models/blobs/sha256-" DIGEST_A, &t);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(name, sizeof name, ".ollama/models/manifests/registry.ollama.ai/library/bad/%zu", i);
        put_text(name, bad[i]);
    }
    for (int i = 0; i < 100000; i++) buf_puts(&large, "[[[");
    put_bytes(".ollama/models/manifests/h/n/m/deep", large.data, large.len / 2);
    put_bytes(".ollama/models/manifests/h/n/m/large", large.data, large.len);
    CHECK_EQ(mkfifo(make_way(".ollama/models/manifests/h/n/m/fifo"), 0600), 0);
    CHECK_EQ(symlink("/dev/zero", at_home(".ollama/models/manifests/h/n/m/zero")), 0);
    put_text(".ollama/models/manifests/top", MANIFEST(DIGEST_B)); /* named, and not there */
    look_for(60, 1 << 30);
    CHECK_STR(m.stopped, "");
    CHECK_EQ(m.n, 1);
    CHECK_STR(m.row[0].name, "top");
    CHECK_EQ(m.row[0].state, MODEL_BROKEN);
    buf_free(&large);
}

/* ---------------------------------------------------------------- limits */

TEST(models_beyond_a_depth_are_not_looked_for)
{
    struct tiny t = TINY_LLAMA;
    begin();
    own_folders = mine();
    put_model("mine/2/3/4/5/6/7/8/in.gguf", &t);
    put_model("mine/2/3/4/5/6/7/8/9/out.gguf", &t);
    put_model("mine/.hidden/out.gguf", &t);
    look_for(60, 1 << 30);
    CHECK_EQ(m.n, 1);
    CHECK(row("in"));
}

TEST(models_are_so_many_at_most_and_it_is_said)
{
    char name[64];
    begin();
    own_folders = mine();
    for (int i = 0; i < MODELS_MAX + 3; i++) {
        snprintf(name, sizeof name, "mine/%d.gguf", i);
        put_text(name, "");
    }
    look_for(60, 1 << 30);
    CHECK_EQ(m.n, MODELS_MAX);
    CHECK(strstr(m.stopped, "more than 500 files"));
    CHECK(strstr(m.row[0].why, "empty"));
}

/* A folder with hundreds of files is the first that is looked into, and others have their share all the same. */
TEST(models_of_one_place_hide_no_other_and_what_is_left_out_is_said_where)
{
    char name[64];
    int large = 0, hub_rows = 0;
    begin();
    own_folders = mine();
    for (int i = 0; i < MODELS_MAX + 100; i++) {
        snprintf(name, sizeof name, "mine/%d.gguf", i);
        put_text(name, "");
    }
    for (int i = 0; i < MODELS_MAX; i++) {
        snprintf(name, sizeof name, ".cache/huggingface/hub/%d.gguf", i);
        put_text(name, "");
    }
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, ".cache/llama.cpp/few-%d.gguf", i);
        put_text(name, "");
    }
    look_for(60, 1 << 30);
    CHECK_EQ(m.n, MODELS_MAX);
    for (int i = 0; i < m.n; i++) {
        const struct models_place *p = &m.place[m.row[i].place];
        large += strcmp(p->what, "PLIMSOLL_MODELS") == 0;
        hub_rows += strcmp(p->what, "hub cache") == 0;
        CHECK(strncmp(m.row[i].path, p->path, strlen(p->path)) == 0);
    }
    CHECK_EQ(large, 240);
    CHECK_EQ(hub_rows, 240);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "few-%d", i);
        CHECK(row(name));
    }
    CHECK_STR(m.stopped, "there are more than 500 files, and 620 are left out, most of PLIMSOLL_MODELS");
    for (const struct models_place *p = m.place; p < m.place + m.n_places; p++) {
        const bool own = strcmp(p->what, "PLIMSOLL_MODELS") == 0, of_hub = strcmp(p->what, "hub cache") == 0;
        CHECK_EQ(p->left_out, own ? 360 : of_hub && p->looked == MODELS_LOOKED ? 260 : 0);
    }
}

TEST(models_are_not_looked_for_when_the_time_is_over)
{
    struct tiny t = TINY_LLAMA;
    begin();
    own_folders = mine();
    put_model("mine/a.gguf", &t);
    look_for(0, 1 << 30);
    CHECK(strstr(m.stopped, "time was over"));
    CHECK_EQ(m.place[0].looked, MODELS_UNSEEN);
    struct models_ask ask = {.env = env, .within = 1 << 30, .end = progress_clock() + 60};
    memset(&m, 0, sizeof m);
    models_find(&ask, &m);
    ask.end = 0;
    models_read(&ask, &m);
    CHECK_EQ(m.n, 1);
    CHECK_STR(m.stopped, "time was over, and 1 of 1 files were not looked into "
                         "(plimsoll models --time 60 takes longer)");
    CHECK_STR(verdict(&m.row[0]), "not looked into");
    models_read_row(&m.row[0]); /* its header alone */
    CHECK_EQ(m.row[0].state, MODEL_UNREAD);
    CHECK_STR(m.row[0].arch, "llama");
    CHECK_EQ(m.row[0].ctx_trained, 512);
    CHECK_STR(verdict(&m.row[0]), "time was over");
}

/* ---------------------------------------------------------------- what is in them */

static struct engine *open_engine(const char *path, uint64_t vram, bool fit, struct err *err)
{
    *err = (struct err){0};
    return engine_local.open(&(struct engine_config){.model = path, .kern = {.threads = 1}, .kv_type = KT_F16,
                                                     .max_seqs = 1, .template = -1, .vram = vram, .fit = fit}, err);
}

TEST(models_that_are_said_to_fit_do_and_no_others)
{
    struct tiny t = TINY_LLAMA;
    struct err err;
    begin();
    own_folders = mine();
    put_model("mine/a.gguf", &t);
    look_for(60, (uint64_t)1 << 30);
    const struct models_row usual = m.row[0];
    CHECK(usual.needs_least < usual.needs_usual && usual.ctx_usual == 512);
    struct engine *e = open_engine(usual.path, usual.needs_usual, false, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(engine_local.info(e)->parameters, usual.parameters);
    CHECK_STR(engine_local.info(e)->types, usual.tensors);
    engine_local.close(e);
    CHECK(!open_engine(usual.path, usual.needs_usual - 1, false, &err));
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    for (int i = 1; i < 6; i++) { /* between the two: as much as --fit takes */
        look_for(60, usual.needs_least + (usual.needs_usual - usual.needs_least) * (uint64_t)i / 6);
        e = open_engine(usual.path, m.within, true, &err);
        CHECK_STR(err.text, "");
        CHECK_EQ(m.row[0].state, MODEL_FITS);
        CHECK_EQ(m.row[0].ctx_fits, engine_local.info(e)->ctx);
        engine_local.close(e);
    }
    look_for(60, usual.needs_least - 1);
    CHECK_EQ(m.row[0].state, MODEL_TOO_LARGE);
    CHECK(!open_engine(usual.path, m.within, true, &err));
    CHECK(strncmp(verdict(&m.row[0]), "needs ", 6) == 0);
    CHECK_STR(command_of(&m.row[0]), "");
}

TEST(models_command_asks_for_the_memory_that_it_needs)
{
    struct models_row r = {.state = MODEL_FITS, .path = "/m/a.gguf", .ctx_fits = 8192, .ctx_usual = 4096,
                           .needs_usual = 500};
    m.within = 1000;
    CHECK_STR(command_of(&r), "plimsoll -m /m/a.gguf");
    m.within = 999;
    CHECK_STR(command_of(&r), "plimsoll -m /m/a.gguf --vram 100%");
    r.ctx_fits = 4095;
    CHECK_STR(command_of(&r), "plimsoll -m /m/a.gguf --fit --vram 100%");
    m.within = UINT64_MAX;
    r.ctx_fits = 4096;
    CHECK_STR(command_of(&r), "plimsoll -m /m/a.gguf");
}

TEST(models_command_is_one_word_to_a_shell)
{
    static const char *const paths[] = {"/a b/c.gguf", "it's $HOME `x`;\n\"", "", "'", "-m", "a\\b*?[~]#\xff\x1b",
                                       "!1"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct models_row r = {.state = MODEL_FITS};
        char line[400], said[200];
        snprintf(r.path, sizeof r.path, "%s", paths[i]);
        m.within = UINT64_MAX;
        snprintf(line, sizeof line, "plimsoll() { printf %%s \"$2\"; }; %s", command_of(&r));
        FILE *p = popen(line, "r");
        CHECK(p);
        said[fread(said, 1, sizeof said - 1, p)] = '\0';
        CHECK_EQ(pclose(p), 0);
        CHECK_STR(said, paths[i]);
    }
}

static void no_arch(struct gguf_make *g) { gguf_make_u32(g, "general.architecture", 3); }

static void one_shard(struct gguf_make *g)
{
    gguf_make_str(g, "general.architecture", "llama");
    gguf_make_u32(g, "split.count", 3);
}

static void strange_template(struct gguf_make *g)
{
    struct tiny t = TINY_LLAMA;
    tiny_keys(g, &t);
    tiny_vocab(g, "{{ <start_of_turn> }}");
    tiny_tensors(g, &t);
}

TEST(models_that_plimsoll_does_not_run_say_why)
{
    struct tiny t = TINY_LLAMA;
    begin();
    own_folders = mine();
    put_keys("mine/arch.gguf", other_arch);
    put_keys("mine/none.gguf", no_arch);
    put_keys("mine/shard.gguf", one_shard);
    put_keys("mine/template.gguf", strange_template);
    put_model("mine/big-00002-of-00003.gguf", &t);
    put_text("mine/text.gguf", "<html>");
    put_bytes("mine/cut.gguf", "GGUF\3\0\0\0\1", 9);
    look_for(60, 1 << 30);
    CHECK_EQ(row("arch")->state, MODEL_UNSUPPORTED);
    CHECK_STR(row("arch")->arch, "mamba?[2J");
    CHECK_STR(verdict(row("arch")), "architecture \"mamba?[2J\" is not supported; "
              "llama, qwen2, qwen2moe, qwen3, qwen3moe, qwen35, qwen35moe, qwen3next, smollm3, lfm2, phi3, gpt-oss, "
              "granite, granitemoe, mistral3, olmo2, gemma2 and gemma3 are");
    CHECK_EQ(row("none")->state, MODEL_UNSUPPORTED);
    CHECK_EQ(row("shard")->state, MODEL_SPLIT);
    CHECK(strstr(verdict(row("shard")), "one shard of 3"));
    CHECK_EQ(row("template")->state, MODEL_UNSUPPORTED);
    CHECK_EQ(row("template")->ctx_trained, 512);
    CHECK_EQ(row("big-00002-of-00003")->state, MODEL_SPLIT);
    CHECK(strstr(verdict(row("big-00002-of-00003")), "part 2 of 3"));
    CHECK_EQ(row("text")->state, MODEL_BROKEN);
    CHECK(strncmp(verdict(row("text")), "is a web page", 13) == 0);
    CHECK_EQ(row("cut")->state, MODEL_BROKEN);
    for (int i = 0; i < m.n; i++) CHECK(!strstr(m.row[i].why, "/proc/self"));
}

TEST(models_count_is_three_digits_or_so)
{
    static const struct { uint64_t n; const char *text; } want[] = {
        {0, ""}, {7, "7"}, {999, "999"}, {1000, "1.0 K"}, {135000000, "135 M"}, {3212749888, "3.2 B"},
        {999499999, "999 M"}, {999500000, "1.0 B"}, {405000000000, "405 B"}, {UINT64_MAX, "18446744 T"},
    };
    char out[MODELS_COUNT];
    for (size_t i = 0; i < COUNT_OF(want); i++) CHECK_STR(models_count(want[i].n, out), want[i].text);
}

/* ---------------------------------------------------------------- as JSON, and back */

static void take_all(struct models *to, const char *text)
{
    memset(to, 0, sizeof *to);
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        models_take_json(to, text, (size_t)(end - text));
}

TEST(models_as_json_come_back_as_they_were)
{
    static struct models back;
    struct buf text = {0};
    begin();
    fill_home();
    own_folders = mine();
    put_text("mine/bad\x1b\xff\".gguf", "no");
    look_for(60, 123456789);
    snprintf(m.stopped, sizeof m.stopped, "it rained");
    m.place[1].left_out = 12;
    m.place[2].looked = MODELS_IN_PART;
    models_put_json(&m, &text);
    CHECK(!text.failed);
    take_all(&back, text.data);
    CHECK_EQ(back.n, m.n);
    CHECK_EQ(back.n_places, m.n_places);
    CHECK_EQ(back.n_again, m.n_again);
    CHECK_EQ(back.within, m.within);
    CHECK_STR(back.stopped, "it rained");
    for (int i = 0; i < m.n_places; i++) {
        CHECK_STR(back.place[i].path, m.place[i].path);
        CHECK_EQ(back.place[i].looked, m.place[i].looked);
        CHECK_EQ(back.place[i].left_out, m.place[i].left_out);
    }
    for (int i = 0; i < m.n; i++) {
        struct models_row *a = &m.row[i], *b = &back.row[i];
        CHECK_STR(m.place[a->place].what, back.place[b->place].what);
        if (!strstr(a->name, "bad")) CHECK_STR(a->path, b->path);
        a->place = b->place = 0;
        a->device = a->inode = 0;
        CHECK_MEM((char *)a + sizeof a->path + sizeof a->name * (strstr(a->name, "bad") != NULL),
                  (char *)b + sizeof a->path + sizeof a->name * (strstr(a->name, "bad") != NULL),
                  sizeof *a - sizeof a->path - sizeof a->name * (strstr(a->name, "bad") != NULL));
    }
    buf_free(&text);
}

TEST(models_json_of_others_is_not_believed)
{
    static const char *const lines =
        "\n{\n[]\nnull\n{\"path\":\"/early\"}\n{\"looked\":[1,{},{\"place\":3}],\"within\":-5,\"again\":1e300}\n"
        "{\"looked\":[{\"place\":\"twice\"}]}\n{\"path\":5}\n"
        "{\"path\":\"/p\",\"place\":\"?\",\"state\":\"x\",\"bytes\":-1,\"context_fits\":\"many\",\"name\":[]}\n";
    static struct models back;
    take_all(&back, lines);
    CHECK_EQ(back.n_places, 3);
    CHECK_EQ(back.n, 1);
    CHECK_STR(back.row[0].path, "/p");
    CHECK_STR(back.row[0].name, "");
    CHECK_EQ(back.row[0].bytes, 0);
    CHECK_EQ(back.row[0].state, MODEL_UNREAD);
    CHECK_EQ(back.within, UINT64_MAX);
}

TEST(models_are_counted_by_doctor)
{
    static const struct opts o;
    const struct doctor d = {.o = &o, .env = env, .root = ""};
    struct doctor_finding f = {0};
    begin();
    doctor_model(&d, &f);
    CHECK_STR(f.figure, "none named: the embedded one serves");
    fill_home();
    doctor_model(&d, &f);
    CHECK_STR(f.figure, "none named: the embedded one serves; 5 files were found (plimsoll models)");
    CHECK_EQ(f.verdict, DOCTOR_OK);
}

CHECK_MAIN
