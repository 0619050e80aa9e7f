/* summary.c - candidates for a record, and as many of them as fit. */
#include "memory/forms_impl.h"
#include "memory/summary_impl.h"

enum { RANK_DECISION = 100, RANK_DONE = 200, RANK_MUST = 1000 }; /* below them facts */

static struct form_text trim(struct form_text t)
{
    while (t.len > 0 && (unsigned char)t.text[0] <= ' ') {
        t.text++;
        t.len--;
    }
    while (t.len > 0 && (unsigned char)t.text[t.len - 1] <= ' ') t.len--;
    return t;
}

static void add(struct items *it, int section, struct form_text t, int looks, int rank)
{
    t = trim(t);
    if (t.len == 0) return;
    if (it->n == SUMMARY_ITEMS) {
        it->too_many = true;
        return;
    }
    it->v[it->n] = (struct item){.text = t, .from = it->from, .said = it->n, .order = it->n, .section = section,
                                 .looks = looks, .rank = rank};
    it->n++;
}

void summary_add_fact(struct items *it, struct form_text t, bool user)
{
    int looks = summary_looks(t);
    add(it, RECORD_FACTS, t, looks, 2 * looks + user);
}

void summary_add_stated(struct items *it, struct form_text t, bool had)
{
    size_t before = it->n;
    summary_add_fact(it, t, false);
    if (it->n == before) return;
    it->v[before].left = !had;
    it->v[before].had = had;
}

static bool is_mark(struct form_text t)
{
    return t.len == strlen(SUMMARY_MARK) && memcmp(t.text, SUMMARY_MARK, t.len) == 0;
}

bool summary_is_extract(const struct form_record *r)
{
    const struct form_list *f = &r->section[RECORD_FACTS];
    return f->n > 0 && is_mark(f->item[0]);
}

/* ------------------------------------------------------------------ what fits */

static int by_rank(const void *pa, const void *pb)
{
    const struct item *a = *(struct item *const *)pa, *b = *(struct item *const *)pb;
    return a->rank != b->rank ? a->rank - b->rank : (a->order > b->order) - (a->order < b->order);
}

static void render(const struct items *it, bool marked, struct form_text *text, struct buf *out)
{
    struct form_record r = {0};
    size_t n = 0;
    for (int s = 0; s < RECORD_SECTIONS; s++) {
        size_t begin = n;
        if (s == RECORD_FACTS && marked) text[n++] = form_text(SUMMARY_MARK);
        for (size_t i = 0; i < it->n; i++)
            if (it->v[i].section == s && !it->v[i].out) text[n++] = it->v[i].text;
        r.section[s] = (struct form_list){text + begin, n - begin};
    }
    forms_record(&r, out);
}

struct fitting { /* room for what is tried */
    struct items *it;
    struct item **rank;     /* those that may go, the first to go first */
    struct form_text *text;
    size_t n_rank;
    bool marked;
};

/* The text without the first `drop` of those that may go, and its tokens. */
static int attempt(struct fitting *f, size_t drop, const struct summary_limit *limit, struct buf *out, int64_t *tokens,
                   struct err *err)
{
    for (size_t i = 0; i < f->n_rank; i++) f->rank[i]->out = i < drop;
    out->len = 0;
    render(f->it, f->marked, f->text, out);
    if (out->failed) return err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    if (limit->tokens(limit->self, out->data, out->len, tokens) || *tokens < 0)
        return err_set(err, SUMMARY_NOT_COUNTED, "the tokens of a summary could not be counted");
    return 0;
}

/* The fewest that must go. */
static int fit(struct fitting *f, const struct summary_limit *limit, struct buf *out, struct summary_result *result,
               struct err *err)
{
    size_t low = 0, high = f->n_rank;
    int64_t tokens;
    int rc = attempt(f, high, limit, out, &tokens, err);
    if (rc) return rc;
    if (tokens > limit->most)
        return err_set(err, SUMMARY_NO_ROOM, "a summary of open tasks alone has %lld tokens, the most is %lld",
                       (long long)tokens, (long long)limit->most);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        rc = attempt(f, middle, limit, out, &tokens, err);
        if (rc) return rc;
        if (tokens <= limit->most) high = middle;
        else low = middle + 1;
    }
    rc = attempt(f, high, limit, out, &result->tokens, err);
    result->dropped = high + f->it->dropped;
    return rc;
}

/* What is in the text by its own reader: an item may have had nothing but control characters. */
static int count_items(const struct buf *text, bool marked, struct summary_result *result, struct err *err)
{
    struct form_record r;
    int rc = forms_read_record(text->data, text->len, &r, err);
    if (rc == FORMS_NO_MEMORY) return err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    if (rc) return err_set(err, SUMMARY_NO_ROOM, "a summary of %zu bytes is too long", text->len);
    result->items = 0;
    for (int s = 0; s < RECORD_SECTIONS; s++) result->items += r.section[s].n;
    forms_record_free(&r);
    result->items -= marked;
    return result->items > 0 ? 0 : err_set(err, SUMMARY_EMPTY, "the summary says nothing");
}

int summary_finish(struct items *it, bool marked, const struct summary_limit *limit, struct buf *out,
                  struct summary_result *result, struct err *err)
{
    struct buf text = {0};
    struct fitting f = {.it = it, .marked = marked};
    if (it->too_many) return err_set(err, SUMMARY_TOO_MANY, "a summary of more than %d items", SUMMARY_ITEMS);
    f.rank = malloc((it->n + 1) * sizeof(struct item *));
    f.text = malloc((it->n + 1) * sizeof *f.text);
    int rc = f.rank && f.text ? summary_once(it, err) : err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    if (rc == 0) {
        for (size_t i = 0; i < it->n; i++)
            if (it->v[i].rank < RANK_MUST) f.rank[f.n_rank++] = &it->v[i];
        qsort(f.rank, f.n_rank, sizeof(struct item *), by_rank);
        rc = fit(&f, limit, &text, result, err);
    }
    if (rc == 0) rc = count_items(&text, marked, result, err);
    for (size_t i = 0; i < it->n; i++) result->added += it->v[i].left && !it->v[i].out;
    if (rc == 0) {
        buf_put(out, text.data, text.len);
        if (out->failed) rc = err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    }
    free(f.rank);
    free(f.text);
    buf_free(&text);
    return rc;
}

/* ------------------------------------------------------------------ merge */

static void add_list(struct items *it, int section, struct form_list list, int rank)
{
    for (size_t i = 0; i < list.n; i++)
        if (!is_mark(list.item[i])) add(it, section, list.item[i], 0, rank);
}

static void add_facts(struct items *it, struct form_list list)
{
    for (size_t i = 0; i < list.n; i++)
        if (!is_mark(list.item[i])) summary_add_fact(it, list.item[i], false);
}

/* Open before done: of a record that has a task in both, done is what counts. */
void summary_add_tasks(struct items *it, struct form_list done, struct form_list open)
{
    add_list(it, RECORD_OPEN, open, RANK_MUST);
    add_list(it, RECORD_DONE, done, RANK_DONE);
}

void summary_add_record(struct items *it, const struct form_record *r, bool tasks)
{
    if (!r) return;
    add_facts(it, r->section[RECORD_FACTS]);
    add_list(it, RECORD_DECISIONS, r->section[RECORD_DECISIONS], RANK_DECISION);
    if (tasks) summary_add_tasks(it, r->section[RECORD_DONE], r->section[RECORD_OPEN]);
}

int summary_take(struct items *it, struct err *err)
{
    it->v = malloc(SUMMARY_ITEMS * sizeof *it->v);
    it->room = malloc(SUMMARY_SAID * SUMMARY_LINE_BYTES);
    if (it->v && it->room) return 0;
    summary_give(it);
    return err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
}

void summary_give(struct items *it)
{
    free(it->v);
    free(it->room);
    *it = (struct items){0};
}

static bool says_nothing(const struct form_record *r)
{
    for (int s = 0; s < RECORD_SECTIONS; s++)
        if (r->section[s].n > 0) return false;
    return true;
}

int summary_merge(const struct form_record *before, const struct form_record *now, const struct summary_source *said,
                  size_t n, const struct summary_tasks *tasks, const struct summary_limit *limit, struct buf *out,
                  struct summary_result *result, struct err *err)
{
    struct items it = {0};
    *result = (struct summary_result){0};
    if (says_nothing(now)) return err_set(err, SUMMARY_EMPTY, "the model's summary is empty");
    int rc = summary_take(&it, err);
    if (rc) return rc;
    summary_add_record(&it, before, !tasks);
    it.from = ITEM_SAID;
    rc = summary_add_left_out(&it, before, now, said, n, err);
    it.from = ITEM_MODEL;
    summary_add_record(&it, now, !tasks);
    if (tasks) summary_add_tasks(&it, tasks->done, tasks->open);
    if (rc == 0) rc = summary_finish(&it, false, limit, out, result, err);
    summary_give(&it);
    return rc;
}
