/* models_fit.c - what a model file is, from its header, and what this machine can do with it, by the engine's own size
 * functions. */
#include "app/models.h"
#include "app/progress.h"
#include "engine/chunk.h"
#include "engine/fit.h"
#include "engine/template.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { USUAL = 4096, SHOWN = 3, OPENED = 40 };

/* As a row says it: without the name that the file was opened by. */
static void say(struct models_row *r, enum model_state state, const char *opened, const struct err *err)
{
    size_t n = strlen(opened);
    const char *text = strncmp(err->text, opened, n) == 0 && err->text[n] == ':' ? err->text + n + 1 : err->text;
    while (*text == ' ') text++;
    r->state = state;
    snprintf(r->why, sizeof r->why, "%.300s", text);
}

/* ---------------------------------------------------------------- what the file says */

/* The types that most bytes are of, those of less than a twentieth left out. */
static void name_types(const struct gguf *g, char *out, size_t n)
{
    uint64_t bytes[KT_END] = {0}, all = 0;
    size_t at = 0;
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        bytes[t->type] += t->bytes; /* they all lie in the file: no overflow */
        all += t->bytes;
    }
    *out = '\0';
    for (int shown = 0; shown < SHOWN && at < n; shown++) {
        int most = 0;
        for (int t = 0; t < KT_END; t++) most = bytes[t] > bytes[most] ? t : most;
        if (bytes[most] == 0 || bytes[most] < all / 20) return;
        at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ", " : "", ktype_info((uint32_t)most)->name);
        bytes[most] = 0;
    }
}

static uint64_t count_parameters(const struct gguf *g)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) {
        const int64_t *d = gguf_tensor_at(g, i)->dim;
        sum += (uint64_t)(d[0] * d[1] * d[2] * d[3]); /* each has its bytes in the file */
    }
    return sum;
}

static void describe(struct models_row *r, const struct gguf *g)
{
    char key[64];
    struct gguf_str arch = {"", 0};
    uint64_t ctx = 0;
    gguf_string(g, "general.architecture", &arch, NULL);
    snprintf(r->arch, sizeof r->arch, "%.*s", (int)MIN(arch.len, sizeof r->arch - 1), arch.data);
    for (char *c = r->arch; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '?';
    snprintf(key, sizeof key, "%s.context_length", r->arch);
    gguf_uint(g, key, INT32_MAX, &ctx, NULL);
    r->ctx_trained = (int64_t)ctx;
    r->parameters = count_parameters(g);
    name_types(g, r->types, sizeof r->types);
    model_types(g, r->tensors, sizeof r->tensors);
}

/* ---------------------------------------------------------------- what fits */

static uint64_t needs(const struct fit *f, int ctx)
{
    struct ledger l;
    return fit_ledger(f, f->m->bytes, ctx, 1, &l, NULL) ? UINT64_MAX : ledger_total(&l);
}

static void judge_size(struct models_row *r, const struct model *m, const struct vocab *v, uint64_t within)
{
    const struct kern *k = kern_cpu();
    const struct fit f = {.m = m, .k = k, .kv_type = KT_F16,
                          .max_rows = chunk_of(k->name, m->parameters, m->active).rows, .ceiling = within,
                          .vocab = v, .token_text = sched_token_text(v)};
    r->ctx_usual = MIN(m->ctx_trained, USUAL);
    r->needs_least = needs(&f, MIN(m->ctx_trained, KERN_PAGE));
    r->needs_usual = needs(&f, (int)r->ctx_usual);
    r->ctx_fits = fit_ctx(&f, m->bytes, 1, m->ctx_trained);
    r->state = r->ctx_fits > 0 ? MODEL_FITS : MODEL_TOO_LARGE;
}

/* ---------------------------------------------------------------- a row */

/* "NAME-00001-of-00003.gguf" */
static bool is_part(struct models_row *r)
{
    enum { TAIL = sizeof "-00001-of-00003.gguf" - 1 };
    unsigned part, of;
    int end = 0;
    size_t n = strlen(r->path);
    if (n < TAIL || sscanf(r->path + n - TAIL, "-%5u-of-%5u.gguf%n", &part, &of, &end) != 2) return false;
    if (end != TAIL || of < 2) return false;
    r->state = MODEL_SPLIT;
    snprintf(r->why, sizeof r->why, "part %u of %u; llama-gguf-split --merge FIRST OUT makes one file of them", part,
             of);
    return true;
}

/* The file that was found, and no other that lies there by now; -1: r says why not. */
static int open_again(struct models_row *r)
{
    struct stat st;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *why = fd < 0 ? strerror(errno) : fstat(fd, &st) ? strerror(errno) : NULL;
    if (!why && ((uint64_t)st.st_ino != r->inode || (uint64_t)st.st_dev != r->device || !S_ISREG(st.st_mode)))
        why = "another file lies there now";
    if (!why) return fd;
    if (fd >= 0) close(fd);
    r->state = MODEL_BROKEN;
    snprintf(r->why, sizeof r->why, "cannot be opened: %s", why);
    return -1;
}

/* Its header, open in *fd by the name in `opened`; NULL: r says why not. */
static struct gguf *open_header(struct models_row *r, int *fd, char opened[OPENED])
{
    struct err err = {0};
    *fd = open_again(r);
    if (*fd < 0 || is_part(r)) return NULL;
    snprintf(opened, OPENED, "/proc/self/fd/%d", *fd);
    struct gguf *g = gguf_open(opened, &err);
    if (!g) say(r, strstr(err.text, "is one shard of") ? MODEL_SPLIT : MODEL_BROKEN, opened, &err);
    return g;
}

/* The sizes, of which the embedding must have as many rows as the tokenizer has tokens. */
static int plan(struct model *m, const struct gguf *g, struct err *err)
{
    const struct gguf_str *token;
    uint64_t n = 0;
    *m = (struct model){0};
    if (gguf_string_array(g, "tokenizer.ggml.tokens", &token, &n, err) == GGUF_WRONG) return -1;
    return model_plan(m, g, (int)MIN(n, INT32_MAX), kern_cpu(), err);
}

void models_read_row(struct models_row *r)
{
    char opened[OPENED];
    struct err err = {0};
    struct model m = {0};
    int fd;
    struct gguf *g = open_header(r, &fd, opened);
    if (g) describe(r, g);
    if (g && plan(&m, g, &err)) say(r, MODEL_UNSUPPORTED, opened, &err);
    model_free(&m);
    gguf_close(g);
    if (fd >= 0) close(fd);
}

/* The tokenizer takes ten times as long as all else: the memory that it takes, and whether it is one that is known. */
void models_judge_row(struct models_row *r, uint64_t within)
{
    char opened[OPENED];
    struct err err = {0};
    struct model m = {0};
    struct vocab *v = NULL;
    enum template_kind kind;
    int fd;
    struct gguf *g = open_header(r, &fd, opened);
    if (g) {
        if (plan(&m, g, &err) || !(v = vocab_open(g, &err)) || template_detect(g, v, &kind, &err))
            say(r, MODEL_UNSUPPORTED, opened, &err);
        else judge_size(r, &m, v, within);
    }
    vocab_close(v);
    model_free(&m);
    gguf_close(g);
    if (fd >= 0) close(fd);
}

static bool late(const struct models_ask *ask, struct models *m, int left)
{
    if (progress_clock() < ask->end) return false;
    snprintf(m->stopped, sizeof m->stopped, "time was over, and %d of %d files were not looked into (plimsoll models "
             "--time 60 takes longer)", left, m->n);
    return true;
}

static int unread(const struct models *m, int from)
{
    int n = 0;
    for (int i = from; i < m->n; i++) n += m->row[i].state == MODEL_UNREAD;
    return n;
}

/* Rows are written whole, and counted then: this process may be ended at any moment. */
void models_read(const struct models_ask *ask, struct models *m)
{
    for (int i = m->n_read; i < m->n; i++) {
        struct models_row r = m->row[i];
        if (late(ask, m, unread(m, 0))) return;
        if (r.state == MODEL_UNREAD) models_read_row(&r);
        m->row[i] = r;
        __atomic_store_n(&m->n_read, i + 1, __ATOMIC_RELEASE);
    }
    for (int i = m->n_judged; i < m->n; i++) {
        struct models_row r = m->row[i];
        if (r.state == MODEL_UNREAD && late(ask, m, unread(m, i))) return;
        if (r.state == MODEL_UNREAD) models_judge_row(&r, m->within);
        m->row[i] = r;
        __atomic_store_n(&m->n_judged, i + 1, __ATOMIC_RELEASE);
    }
}
