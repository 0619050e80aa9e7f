/* fuzz_remote.c - what a server may send to `plimsoll --remote`.
 *
 * covers: engine/remote/hear.c engine/remote/server.c engine/remote/metrics.c engine/remote/load.c
 *
 * An input: one letter that says what the rest is (h: the body of an answer; m: a list of models; f: figures; o:
 * Ollama's list of what it has loaded; e: the body of an error).  What must hold: an answer says and ends the same
 * however it is cut, and its text is UTF-8 without NUL; a failure has a line; what is read of a server is within its
 * bounds. */
#include "engine/remote/hear.h"
#include "engine/remote/load.h"
#include "engine/remote/metrics.h"
#include "engine/remote/server.h"
#include "engine/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static void must_be_a_line(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) must(*c >= ' ' && *c != 0x7f);
}

struct heard {
    struct hear hear;
    struct buf text;
};

static void hear_all(struct heard *h, const char *bytes, size_t n, size_t piece)
{
    *h = (struct heard){0};
    for (size_t at = 0; at < n; at += piece) hear_bytes(&h->hear, bytes + at, MIN(piece, n - at), &h->text);
    hear_over(&h->hear, &h->text);
    must(h->hear.end != HEAR_OPEN && (h->hear.end == HEAR_FAILED) == (h->hear.trouble.len > 0));
    must(text_valid_utf8(h->text.data, h->text.len) == h->text.len);
    must(h->text.len == 0 || !memchr(h->text.data, 0, h->text.len));
    if (h->hear.trouble.data) must_be_a_line(h->hear.trouble.data);
    must(h->hear.prompt_tokens >= 0 && h->hear.tokens >= 0 && h->hear.cached_tokens >= 0);
}

static void heard_free(struct heard *h)
{
    hear_free(&h->hear);
    buf_free(&h->text);
}

static void answer(const char *bytes, size_t n)
{
    static const size_t pieces[] = {1, 5, 64};
    struct heard whole, cut;
    hear_all(&whole, bytes, n, MAX(n, 1));
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        hear_all(&cut, bytes, n, pieces[i]);
        must(cut.hear.end == whole.hear.end && cut.text.len == whole.text.len);
        must(cut.text.len == 0 || memcmp(cut.text.data, whole.text.data, cut.text.len) == 0);
        must(cut.hear.counted == whole.hear.counted && cut.hear.prompt_tokens == whole.hear.prompt_tokens);
        heard_free(&cut);
    }
    heard_free(&whole);
}

static void models(const char *bytes, size_t n)
{
    struct server s = {0};
    struct err err = {0};
    if (server_read_models(bytes, n, NULL, &s, &err)) {
        must(*err.text != '\0');
        must_be_a_line(err.text);
        return;
    }
    must(*s.model && strlen(s.model) < sizeof s.model && s.ctx >= 0 && s.kind < SERVER_KINDS);
    struct server again;
    must(server_read_models(bytes, n, s.model, &again, &err) == 0 && strcmp(again.model, s.model) == 0);
}

static void loads(const struct load *l)
{
    must(l->kind < SERVER_KINDS && strlen(l->model) < sizeof l->model);
    must_be_a_line(l->model);
    must(l->kv_permille >= -1 && l->kv_permille <= 1000 && l->running >= -1 && l->waiting >= -1 && l->ceiling >= -1);
    for (int i = 0; i < LOAD_COUNTS; i++) must(l->count[i] >= -1 && l->count[i] <= 1e15);
    for (int i = 0; i < LOAD_TOKENS; i++) must(l->tokens[i] >= -1);
    for (int i = 0; i < LEDGER_CLASSES; i++) must(l->bytes[i] >= -1);
}

static void figures(const char *bytes, size_t n)
{
    struct engine_server s;
    server_read_metrics(bytes, n, &s);
    must(s.kv_permille >= -1 && s.kv_permille <= 1000 && s.running >= -1 && s.waiting >= -1 && s.preempted >= -1);
    struct load l;
    load_read(bytes, n, &l);
    loads(&l);
    struct metric m;
    char label[24];
    for (size_t at = 0; metrics_next(bytes, n, &at, &m);) {
        must(m.n_name > 0 && m.value >= 0 && at <= n && m.labels + m.n_labels <= bytes + n);
        if (metric_label(&m, "class", label, sizeof label)) must_be_a_line(label);
    }
}

static void ollama(const char *bytes, size_t n)
{
    struct load l;
    must((load_read_ollama(bytes, n, &l) == 0) == (l.kind == SERVER_OLLAMA));
    loads(&l);
}

static void error(const char *bytes, size_t n)
{
    for (size_t room = 1; room < 40; room += 13) {
        char line[64];
        hear_error(bytes, n, line, room);
        must(strlen(line) < room);
        must_be_a_line(line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 64 << 10) return 0;
    /* a copy of its own size, so that ASan sees what lies behind it */
    char *copy = malloc(MAX(size - 1, 1));
    if (!copy) return 0;
    memcpy(copy, data + 1, size - 1);
    switch (data[0]) {
    case 'h': answer(copy, size - 1); break;
    case 'm': models(copy, size - 1); break;
    case 'f': figures(copy, size - 1); break;
    case 'o': ollama(copy, size - 1); break;
    case 'e': error(copy, size - 1); break;
    default: break;
    }
    free(copy);
    return 0;
}
