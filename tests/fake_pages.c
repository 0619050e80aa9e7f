/* fake_pages.c - writing pages, looking back through them, and a rule instead of a model. */
#include "tests/fake_pages.h"
#include "engine/sched_impl.h"
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
 * one of five letters, so that stop strings are met; of a seed above 1 mostly the same three in turn, so that drafts
 * are right. */
static int32_t rule(uint64_t hash, uint64_t seed, uint64_t step, int32_t end_id)
{
    uint64_t x = fake_hash(hash + seed, (int32_t)step);
    if (x % (seed % 2 ? 100 : 8) == 0) return end_id;
    const bool in_turn = seed > 1 && (x >> 16) % 16 > 0;
    return TINY_BYTE0 + 'a' + (in_turn ? (int32_t)(step % 3) : (int32_t)(x >> 32) % 5);
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

static int page_of(const struct fake *f, const struct kern_batch *b, int group, int seq, int pos)
{
    CHECK(seq >= 0 && seq < b->seqs && pos >= 0 && pos / KERN_PAGE < b->stride && b->groups == f->groups);
    int page = b->table[group][(size_t)seq * (size_t)b->stride + (size_t)(pos / KERN_PAGE)];
    if (page < 0 || page >= f->group[group].is.pages)
        check_fail(__FILE__, __LINE__, "group %d: position %d of %d has page %d", group, pos, seq, page);
    return page;
}

static struct fake_entry *entry(const struct fake *f, const struct kern_batch *b, int group, int seq, int pos)
{
    return &f->group[group].page[page_of(f, b, group, seq, pos)].at[pos % KERN_PAGE];
}

/* Everything that a sequence's first row of the pass sees before it is there, in its place, and of one piece. */
static void look_back(const struct fake *f, const struct kern_batch *b, int group, int seq, int end)
{
    int window = f->group[group].is.window, from = window ? MAX(0, end - window + 1) : 0;
    uint64_t hash = 0;
    for (int pos = from; pos < end; pos++) {
        const struct fake_entry *e = entry(f, b, group, seq, pos);
        hash = pos > 0 && pos == from ? e->hash : fake_hash(hash, e->token); /* where a window begins is not seen */
        if (e->pos != pos || e->hash != hash)
            check_fail(__FILE__, __LINE__, "group %d, sequence %d: at position %d of %d is position %d, %s", group, seq,
                       pos, end, e->pos, e->hash == hash ? "as it should be" : "of another front");
    }
}

/* A page that is written is held by its sequence alone, and was promised to it. */
static void may_write(struct fake *f, int group, int seq, int page)
{
    struct fake_pool *g = &f->group[group];
    int holders = kv_page_info(f->s->kv, group, page).refs;
    if (holders != 1 || (g->writer[page] >= 0 && g->writer[page] != seq))
        check_fail(__FILE__, __LINE__, "page %d is written by %d, %d hold it, its writer %d", page, seq, holders,
                   g->writer[page]);
    g->writer[page] = seq;
}

static void write_row(struct fake *f, const struct kern_batch *b, int group, int row)
{
    int seq = b->seq[row], pos = b->pos[row], page = page_of(f, b, group, seq, pos), at = pos % KERN_PAGE;
    const struct fake_entry *before = pos ? entry(f, b, group, seq, pos - 1) : NULL;
    struct fake_entry *to = f->group[group].page[page].at;
    CHECK(!before || before->pos == pos - 1);
    may_write(f, group, seq, page);
    to[at] = (struct fake_entry){b->token[row], pos, fake_hash(before ? before->hash : 0, b->token[row])};
    for (int i = at + 1; i < KERN_PAGE; i++) to[i].pos = -1;
}

/* ------------------------------------------------------------------ the runner */

static bool fails(struct fake *f, int one_in) { return one_in > 0 && tiny_below(&f->seed, one_in) == 0; }

static void choose(struct fake *f, const struct pass *p, int out)
{
    const struct kern_batch *b = &p->batch;
    const struct kern_sample *s = &p->sample[out];
    struct kern_choice *c = &p->choice[out];
    int row = b->out_row[out];
    uint64_t hash = entry(f, b, 0, b->seq[row], b->pos[row])->hash;
    for (int g = 1; g < f->groups; g++) CHECK_EQ(entry(f, b, g, b->seq[row], b->pos[row])->hash, hash);
    CHECK(p->place[out] >= 0 && p->place[out] < SCHED_REQUESTS);
    CHECK(s->target >= 0 || s->n_recent == 0 || s->recent[s->n_recent - 1] == b->token[row]);
    memset(c, 0, sizeof *c);
    c->id = s->target >= 0 ? s->target : rule(hash, s->seed, s->step, f->end_id);
    if (s->target < 0 && !allowed(s->allowed, c->id)) c->id = -1;
    c->logprob = fake_logprob(hash, c->id);
    c->top_id[0] = c->id;
    f->chosen += s->target < 0;
}

/* What part a pass is at: all are of the same rows, in the same pages, and come one after the other. */
static bool is_last_part(struct fake *f, const struct pass *p)
{
    const struct kern_batch *b = &p->batch;
    uint64_t is = 0;
    for (int r = 0; r < b->rows; r++) {
        is = fake_hash(fake_hash(fake_hash(is, b->token[r]), b->pos[r]), b->seq[r]);
        for (int g = 0; g < f->groups; g++) is = fake_hash(is, page_of(f, b, g, b->seq[r], b->pos[r]));
    }
    CHECK(p->part >= 0 && p->part < p->parts);
    CHECK(p->part == 0 || (p->part == f->next_part && is == f->half_is));
    CHECK(p->parts == 1 || b->seq[0] == b->seq[b->rows - 1]);
    bool last = p->part + 1 == p->parts;
    f->left += p->part == 0 && f->next_part > 0;
    f->halves += !last;
    f->half_is = is;
    f->half_rows = last ? 0 : b->rows;
    f->next_part = last ? 0 : p->part + 1;
    return last;
}

/* Layers that are computed before others: the row's place is taken, and nothing can be read there yet. */
static void half_write_row(struct fake *f, const struct kern_batch *b, int group, int row)
{
    int page = page_of(f, b, group, b->seq[row], b->pos[row]);
    may_write(f, group, b->seq[row], page);
    f->group[group].page[page].at[b->pos[row] % KERN_PAGE].pos = -1;
}

static int run(void *self, const struct pass *p, struct err *err)
{
    struct fake *f = self;
    const struct kern_batch *b = &p->batch;
    const bool last = is_last_part(f, p);
    for (int g = 0; g < f->groups; g++) {
        memset(f->group[g].writer, 0xff, (size_t)f->group[g].is.pages * sizeof *f->group[g].writer);
        for (int r = 0; r < b->rows; r++) {
            if (r == 0 || b->seq[r] != b->seq[r - 1]) look_back(f, b, g, b->seq[r], b->pos[r]);
            else CHECK_EQ(b->pos[r], b->pos[r - 1] + 1);
            if (last) write_row(f, b, g, r);
            else half_write_row(f, b, g, r);
        }
    }
    if (fails(f, f->fail_run)) {
        f->failed_runs++;
        f->half_rows = f->next_part = 0;
        return err_set(err, ENGINE_FAULT, "the pass failed");
    }
    if (!last) return 0;
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

static int save_page(void *self, int group, int page, void *host, struct err *err)
{
    struct fake *f = self;
    if (fails(f, f->fail_save)) {
        f->failed_saves++;
        return err_set(err, -1, "the page could not be saved");
    }
    const struct fake_pool *g = &f->group[group];
    CHECK(page >= 0 && page < g->is.pages && g->page[page].at[0].pos >= 0);
    memcpy(host, &g->page[page], sizeof g->page[page]);
    f->saved++;
    return 0;
}

static int load_page(void *self, int group, int page, const void *host, struct err *err)
{
    struct fake *f = self;
    if (fails(f, f->fail_load)) {
        f->failed_loads++;
        return err_set(err, -1, "the page could not be loaded");
    }
    const struct fake_pool *g = &f->group[group];
    CHECK(page >= 0 && page < g->is.pages);
    memcpy(&g->page[page], host, sizeof g->page[page]);
    f->loaded++;
    return 0;
}

static int usable_pages(void *self, int group, bool wait, int more)
{
    struct fake_pool *g = &((struct fake *)self)->group[group];
    if (wait) g->there = MAX(g->there, more + 1);
    return g->there;
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

void fake_open(struct fake *f, const struct kv_group *group, int groups, int32_t end_id, uint32_t seed)
{
    *f = (struct fake){.groups = groups, .end_id = end_id, .seed = seed};
    for (int k = 0; k < groups; k++) {
        struct fake_pool *g = &f->group[k];
        size_t pages = (size_t)group[k].pages;
        *g = (struct fake_pool){.is = group[k], .there = group[k].pages};
        g->page = malloc(pages * sizeof *g->page);
        g->writer = malloc(pages * sizeof *g->writer);
        CHECK(g->page && g->writer && g->is.window != 1);
        memset(g->page, 0xff, pages * sizeof *g->page);
    }
}

void fake_close(struct fake *f)
{
    for (int k = 0; k < f->groups; k++) {
        free(f->group[k].page);
        free(f->group[k].writer);
    }
}
