/* fake_pages.c - writing pages, looking back through them, and a rule instead of a model. */
#include "tests/fake_pages.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

/* ------------------------------------------------------------------ the rule */

uint64_t fake_hash(uint64_t before, int32_t token)
{
    uint64_t x = (before ^ (uint64_t)(uint32_t)token) + 0x9e3779b97f4a7c15u; /* splitmix64, Steele and others 2014 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

float fake_logprob(uint64_t hash, int32_t token) { return -(float)(fake_hash(hash, token) % 10007); }

/* Ends the turn soon (one in eight), or of an odd seed late (one in a hundred): over-commit must not guess right.  Else
 * one of five letters, so that stop strings are met. */
static int32_t rule(uint64_t hash, uint64_t seed, uint64_t step, int32_t end_id)
{
    uint64_t x = fake_hash(hash + seed, (int32_t)step);
    return x % (seed % 2 ? 100 : 8) == 0 ? end_id : TINY_BYTE0 + 'a' + (int32_t)(x >> 32) % 5;
}

static bool allowed(const uint32_t *set, int32_t id) { return !set || (set[id / 32] >> (id % 32) & 1); }

void fake_expect(const struct fake *f, const struct fake_ask *a, struct fake_answer *out)
{
    uint64_t hash = 0;
    size_t len = 0, stop = a->stop ? strlen(a->stop) : 0;
    for (int i = 0; i < a->n; i++) hash = fake_hash(hash, a->ids[i]);
    out->n = 0;
    out->end = END_NONE;
    while (out->end == END_NONE && a->max_tokens > 0) {
        int32_t id = rule(hash, a->seed, (uint64_t)out->n, f->end_id);
        if (!allowed(a->allowed, id)) {
            out->end = END_NO_TOKEN;
            break;
        }
        if (id == f->end_id && !a->ignore_end) {
            out->end = END_STOP;
            break;
        }
        hash = fake_hash(hash, id);
        out->token[out->n++] = id;
        if (id != f->end_id) out->text[len++] = (char)(id - TINY_BYTE0); /* a control token is no text */
        if (out->n == a->max_tokens) out->end = END_LENGTH;
        if (stop && id != f->end_id && len >= stop && memcmp(out->text + len - stop, a->stop, stop) == 0) {
            len -= stop;
            out->end = END_STOP;
        }
    }
    if (a->max_tokens == 0) out->end = END_LENGTH;
    out->text[len] = '\0';
}

/* ------------------------------------------------------------------ pages */

static int page_of(const struct fake *f, const struct kern_batch *b, int seq, int pos)
{
    CHECK(seq >= 0 && seq < b->seqs && pos >= 0 && pos / KERN_PAGE < b->stride);
    int page = b->table[0][(size_t)seq * (size_t)b->stride + (size_t)(pos / KERN_PAGE)];
    if (page < 0 || page >= f->pages) check_fail(__FILE__, __LINE__, "position %d of %d has page %d", pos, seq, page);
    return page;
}

static struct fake_entry *entry(const struct fake *f, const struct kern_batch *b, int seq, int pos)
{
    return &f->page[page_of(f, b, seq, pos)].at[pos % KERN_PAGE];
}

/* Everything before a sequence's first row of the pass is there, in its place, and of one piece. */
static void look_back(const struct fake *f, const struct kern_batch *b, int seq, int end)
{
    uint64_t hash = 0;
    for (int pos = 0; pos < end; pos++) {
        const struct fake_entry *e = entry(f, b, seq, pos);
        hash = fake_hash(hash, e->token);
        if (e->pos != pos || e->hash != hash)
            check_fail(__FILE__, __LINE__, "sequence %d: at position %d of %d is position %d, %s", seq, pos, end,
                       e->pos, e->hash == hash ? "as it should be" : "of another front");
    }
}

/* A page that is written is held by its sequence alone, and was promised to it. */
static void may_write(struct fake *f, int seq, int page)
{
    if (f->cell[page].state != CELL_HELD || (f->writer[page] >= 0 && f->writer[page] != seq))
        check_fail(__FILE__, __LINE__, "page %d is written by %d, its state is %d, its writer %d", page, seq,
                   f->cell[page].state, f->writer[page]);
    f->writer[page] = seq;
}

static void write_row(struct fake *f, const struct kern_batch *b, int row)
{
    int seq = b->seq[row], pos = b->pos[row], page = page_of(f, b, seq, pos), at = pos % KERN_PAGE;
    const struct fake_entry *before = pos ? entry(f, b, seq, pos - 1) : NULL;
    CHECK(!before || before->pos == pos - 1);
    may_write(f, seq, page);
    f->page[page].at[at] = (struct fake_entry){b->token[row], pos, fake_hash(before ? before->hash : 0, b->token[row])};
    for (int i = at + 1; i < KERN_PAGE; i++) f->page[page].at[i].pos = -1;
}

/* ------------------------------------------------------------------ the runner */

static bool fails(struct fake *f, int one_in) { return one_in > 0 && tiny_below(&f->seed, one_in) == 0; }

static void choose(struct fake *f, const struct pass *p, int out)
{
    const struct kern_batch *b = &p->batch;
    const struct kern_sample *s = &p->sample[out];
    struct kern_choice *c = &p->choice[out];
    int row = b->out_row[out];
    uint64_t hash = entry(f, b, b->seq[row], b->pos[row])->hash;
    CHECK(p->place[out] >= 0 && p->place[out] < SCHED_REQUESTS);
    CHECK(s->target >= 0 || s->n_recent == 0 || s->recent[s->n_recent - 1] == b->token[row]);
    memset(c, 0, sizeof *c);
    c->id = s->target >= 0 ? s->target : rule(hash, s->seed, s->step, f->end_id);
    if (s->target < 0 && !allowed(s->allowed, c->id)) c->id = -1;
    c->logprob = fake_logprob(hash, c->id);
    c->top_id[0] = c->id;
    f->chosen += s->target < 0;
}

static int run(void *self, const struct pass *p, struct err *err)
{
    struct fake *f = self;
    const struct kern_batch *b = &p->batch;
    sched_page_map(f->s, f->cell, f->pages);
    memset(f->writer, 0xff, (size_t)f->pages * sizeof *f->writer);
    for (int r = 0; r < b->rows; r++) {
        if (r == 0 || b->seq[r] != b->seq[r - 1]) look_back(f, b, b->seq[r], b->pos[r]);
        else CHECK_EQ(b->pos[r], b->pos[r - 1] + 1);
        write_row(f, b, r);
    }
    if (fails(f, f->fail_run)) {
        f->failed_runs++;
        return err_set(err, ENGINE_FAULT, "the pass failed");
    }
    f->rows += b->rows;
    for (int i = 0; i < b->outs; i++) choose(f, p, i);
    return 0;
}

static void start(void *self, int place, const struct answer *a)
{
    const struct fake *f = self;
    CHECK(place >= 0 && place < SCHED_REQUESTS);
    if (f->started) f->started(f->started_self, a->id);
}

static int save_page(void *self, int page, void *host, struct err *err)
{
    struct fake *f = self;
    if (fails(f, f->fail_save)) {
        f->failed_saves++;
        return err_set(err, -1, "the page could not be saved");
    }
    CHECK(page >= 0 && page < f->pages && f->page[page].at[0].pos >= 0);
    memcpy(host, &f->page[page], sizeof f->page[page]);
    f->saved++;
    return 0;
}

static int load_page(void *self, int page, const void *host, struct err *err)
{
    struct fake *f = self;
    if (fails(f, f->fail_load)) {
        f->failed_loads++;
        return err_set(err, -1, "the page could not be loaded");
    }
    CHECK(page >= 0 && page < f->pages);
    memcpy(&f->page[page], host, sizeof f->page[page]);
    f->loaded++;
    return 0;
}

static int usable_pages(void *self, bool wait, int more)
{
    struct fake *f = self;
    if (wait) f->there = MAX(f->there, more + 1);
    return f->there;
}

struct runner fake_runner(struct fake *f, bool parks, bool limited)
{
    struct runner r = {.self = f, .start = start, .run = run, .page_bytes = sizeof(struct fake_page)};
    if (parks) {
        r.save_page = save_page;
        r.load_page = load_page;
    }
    if (limited) r.usable_pages = usable_pages;
    return r;
}

void fake_open(struct fake *f, int pages, int32_t end_id, uint32_t seed)
{
    *f = (struct fake){.pages = pages, .there = pages, .end_id = end_id, .seed = seed};
    f->page = malloc((size_t)pages * sizeof *f->page);
    f->writer = malloc((size_t)pages * sizeof *f->writer);
    f->cell = malloc((size_t)pages * sizeof *f->cell);
    CHECK(f->page && f->writer && f->cell);
    memset(f->page, 0xff, (size_t)pages * sizeof *f->page);
}

void fake_close(struct fake *f)
{
    free(f->page);
    free(f->writer);
    free(f->cell);
}
