/* serve_file.c - what clients ask of a model's file, and of the server itself: Ollama's GET /api/tags, /api/ps,
 * /api/version and /, POST /api/show, and which of Ollama's paths are not served; vLLM's GET /tokenizer_info.
 *
 * The file's header is read once, before anybody can ask.  A template is told as it stands in the file: prompts are
 * written by what was recognised in it (template.h), and it is never executed. */
#include "app/say.h"
#include "app/serve/serve_impl.h"
#include "engine/gguf.h"
#include "version.h"
#include <time.h>

/* The Ollama whose API this is, for clients that want one at least so new. */
#define OLLAMA_VERSION "0.12.11"
static const char template_key[] = "tokenizer.chat_template";

/* ---------------------------------------------------------------- the file */

static json_t *value_of(const struct gguf *g, const struct gguf_key *k)
{
    struct gguf_str text;
    uint64_t whole;
    double real;
    bool yes;
    switch (k->type) {
    case GGUF_ARRAY: return json_null(); /* as Ollama does: they are long */
    case GGUF_STR:
        return gguf_string(g, k->name, &text, NULL) == GGUF_OK ? api_text(text.data, text.len) : json_null();
    case GGUF_BOOL: return gguf_bool(g, k->name, &yes, NULL) == GGUF_OK ? json_boolean(yes) : json_null();
    case GGUF_F32:
    case GGUF_F64: return gguf_float(g, k->name, &real, NULL) == GGUF_OK ? json_real(real) : json_null();
    default:
        return gguf_uint(g, k->name, INT64_MAX, &whole, NULL) == GGUF_OK ? json_integer((json_int_t)whole)
                                                                       : json_null();
    }
}

/* By the numbers of general.file_type. */
static const char *quant_of(const struct gguf *g)
{
    static const char *const names[] = {
        [0] = "F32", [1] = "F16", [2] = "Q4_0", [3] = "Q4_1", [7] = "Q8_0", [8] = "Q5_0", [9] = "Q5_1", [10] = "Q2_K",
        [11] = "Q3_K_S", [12] = "Q3_K_M", [13] = "Q3_K_L", [14] = "Q4_K_S", [15] = "Q4_K_M", [16] = "Q5_K_S",
        [17] = "Q5_K_M", [18] = "Q6_K", [25] = "IQ4_NL", [30] = "IQ4_XS", [32] = "BF16", [38] = "MXFP4",
    };
    uint64_t type = 0;
    if (gguf_uint(g, "general.file_type", COUNT_OF(names) - 1, &type, NULL) != GGUF_OK || !names[type])
        return "unknown";
    return names[type];
}

void serve_file_look(struct serve *s)
{
    struct serve_file *f = &s->file;
    struct err err = {0};
    struct gguf *g = gguf_open(s->a->o->model, &err);
    struct gguf_str template = {"", 0};
    f->quant = "unknown";
    f->keys = json_object();
    if (g) {
        f->bytes = gguf_file_bytes(g);
        f->written = (int64_t)gguf_stamp(g).mtime.tv_sec;
        f->quant = quant_of(g);
        for (uint64_t i = 0; i < gguf_n_keys(g); i++) {
            const struct gguf_key k = gguf_key_at(g, i);
            if (strcmp(k.name, template_key) != 0) json_object_set_new(f->keys, k.name, value_of(g, &k));
        }
        gguf_string(g, template_key, &template, NULL);
    } else {
        say_error("what /api/show tells of the model's file: %s", err.text);
    }
    f->template = api_text(template.data, template.len);
    gguf_close(g);
    json_object_set_new(f->keys, "general.parameter_count", json_integer((json_int_t)s->a->info->parameters));
}

void serve_file_free(struct serve *s)
{
    json_decref(s->file.keys);
    json_decref(s->file.template);
}

/* ---------------------------------------------------------------- the model */

/* "7.6B" */
static void put_count(uint64_t n, char *out, size_t size)
{
    if (n >= 1000000000) snprintf(out, size, "%.1fB", (double)n / 1e9);
    else if (n >= 1000000) snprintf(out, size, "%.2fM", (double)n / 1e6);
    else snprintf(out, size, "%.2fK", (double)n / 1e3);
}

static json_t *details_of(const struct serve *s)
{
    char count[24];
    const char *family = s->a->info->arch;
    put_count(s->a->info->parameters, count, sizeof count);
    return json_pack("{s:s, s:s, s:s, s:[s], s:s, s:s}", "parent_model", "", "format", "gguf", "family", family,
                     "families", family, "parameter_size", count, "quantization_level", s->file.quant);
}

json_t *serve_day(int64_t seconds)
{
    const time_t at = (time_t)seconds;
    struct tm day;
    char text[32] = "";
    if (gmtime_r(&at, &day)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &day);
    return json_string(text);
}

/* What tags and ps both say of it.  Its name has a tag, as clients look for.  The digest is of what its pages depend
 * on: the weights, and how they are computed; twice, as Ollama's has 64 digits. */
static json_t *entry_of(const struct serve *s, uint64_t bytes)
{
    char name[sizeof s->model_id + 8], digest[65];
    const struct engine_name *id = &s->a->info->identity;
    snprintf(name, sizeof name, "%s%s", s->model.id, strchr(s->model.id, ':') ? "" : ":latest");
    for (size_t i = 0; i < 32; i++) snprintf(digest + 2 * i, 3, "%02x", id->byte[i % sizeof id->byte]);
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "name", name, "model", name, "size", (json_int_t)bytes, "digest",
                     digest, "details", details_of(s));
}

void serve_tags(struct serve *s, struct http_call *c)
{
    json_t *o = entry_of(s, s->file.bytes);
    json_object_set_new(o, "modified_at", serve_day(s->file.written));
    serve_answer_json(c, 200, json_pack("{s:[o]}", "models", o));
}

/* It stays loaded: it expires in no time that a client could wait for. */
void serve_running(struct serve *s, struct http_call *c)
{
    const struct engine_info *i = s->a->info;
    const uint64_t bytes = i->weight_bytes + i->kv_bytes + i->work_bytes;
    json_t *o = entry_of(s, bytes);
    json_object_set_new(o, "expires_at", json_string("9999-12-31T23:59:59Z"));
    json_object_set_new(o, "size_vram", json_integer(i->on_device ? (json_int_t)bytes : 0));
    json_object_set_new(o, "context_length", json_integer(i->ctx));
    serve_answer_json(c, 200, json_pack("{s:[o]}", "models", o));
}

void serve_show(struct serve *s, struct http_call *c)
{
    struct api_error e = {0};
    size_t n;
    const char *body = http_body(c, &n);
    int bad = api_read_show(body, n, &s->model, &e);
    http_forget_body(c);
    if (bad) {
        serve_refuse(s, c, &e);
        return;
    }
    json_t *can = json_pack("[s]", "completion");
    /* A text model without a template is told of tools in words as well, but was made for none. */
    if (strcmp(s->a->info->template, "raw") != 0) json_array_append_new(can, json_string("tools"));
    if (s->model.thinks) json_array_append_new(can, json_string("thinking"));
    char parameters[48];
    snprintf(parameters, sizeof parameters, "num_ctx %d", s->a->info->ctx);
    serve_answer_json(c, 200, json_pack("{s:s, s:s, s:s, s:O, s:o, s:O, s:o, s:o}", "license", "", "modelfile", "",
                                        "parameters", parameters, "template", s->file.template, "details",
                                        details_of(s), "model_info", s->file.keys, "capabilities", can, "modified_at",
                                        serve_day(s->file.written)));
}

/* As vLLM tells of a tokenizer, for clients that cut texts into tokens here (lm-eval's tokenizer_backend=remote). */
void serve_tokenizer(struct serve *s, struct http_call *c)
{
    const struct vocab *v = s->model.vocab;
    const int32_t id[] = {vocab_bos(v), vocab_eos(v)};
    json_t *o = json_pack("{s:s, s:b, s:i, s:O}", "tokenizer_class", vocab_kind(v) == VOCAB_SPM ? "spm" : "bpe",
                          "add_bos_token", vocab_adds_bos(v), "model_max_length", s->a->info->ctx, "chat_template",
                          s->file.template);
    for (size_t i = 0; i < COUNT_OF(id); i++) {
        const char *text = "";
        const size_t n = id[i] >= 0 ? vocab_spelling(v, id[i], &text) : 0;
        json_object_set_new(o, i ? "eos_token" : "bos_token", n > 0 ? api_text(text, n) : json_null());
    }
    serve_answer_json(c, 200, o);
}

/* ---------------------------------------------------------------- the server */

void serve_ollama_version(struct http_call *c)
{
    serve_answer_json(c, 200, json_pack("{s:s, s:s}", "version", OLLAMA_VERSION, "plimsoll", PLIMSOLL_VERSION));
}

/* Clients look for these words before they ask anything. */
void serve_ollama_here(struct http_call *c)
{
    static const char text[] = "Ollama is running";
    http_answer(c, 200, "text/plain; charset=utf-8", NULL, text, sizeof text - 1);
}

int serve_ollama_refuses(const char *path, struct api_error *e)
{
    static const char one[] = "this server has the one model that it was started with: plimsoll serve -m FILE.gguf";
    static const struct { const char *path, *why; } refused[] = {
        {"/api/pull", one}, {"/api/push", one}, {"/api/create", one}, {"/api/delete", one}, {"/api/copy", one},
        {"/api/blobs/", one},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const size_t n = strlen(refused[i].path);
        const bool folder = refused[i].path[n - 1] == '/';
        if (folder ? strncmp(path, refused[i].path, n) == 0 : strcmp(path, refused[i].path) == 0)
            return api_fail(e, 501, "not_implemented", NULL, "%.95s: %s", path, refused[i].why);
    }
    return 0;
}
