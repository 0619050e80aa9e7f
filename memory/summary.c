/* summary.c - candidates for a record, each once, and as many of them as fit. */
#include "memory/summary.h"
#include "memory/forms_impl.h"

enum {
    RANK_FACT = 0, /* to RANK_FACT + 15: facts by what they look like */
    RANK_OLD_FACT = 6,
    RANK_DECISION = 100,
    RANK_DONE = 200,
    RANK_MUST = 1000,
    LINES_EACH = 8,      /* of one message, beside its first sentence */
    LOOK_BYTES = 1 << 16 /* of one message */
};

struct item {
    struct form_text text;
    size_t order; /* age: the oldest is 0 */
    int section, rank;
    bool out;
};

struct items {
    struct item *v;
    size_t n, dropped;
    bool too_many;
};

static void add(struct items *it, int section, struct form_text t, int rank)
{
    while (t.len > 0 && (unsigned char)t.text[0] <= ' ') {
        t.text++;
        t.len--;
    }
    while (t.len > 0 && (unsigned char)t.text[t.len - 1] <= ' ') t.len--;
    if (t.len == 0) return;
    if (it->n == SUMMARY_ITEMS) {
        it->too_many = true;
        return;
    }
    it->v[it->n] = (struct item){.text = t, .order = it->n, .section = section, .rank = rank};
    it->n++;
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

/* ------------------------------------------------------------------ each once */

/* Done and open are one group: a task is either. */
static int group(const struct item *i) { return MIN(i->section, RECORD_DONE); }

static int compare_text(struct form_text a, struct form_text b)
{
    size_t n = MIN(a.len, b.len);
    int c = n > 0 ? memcmp(a.text, b.text, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int by_text(const void *pa, const void *pb)
{
    const struct item *a = *(struct item *const *)pa, *b = *(struct item *const *)pb;
    if (group(a) != group(b)) return group(a) - group(b);
    int c = compare_text(a->text, b->text);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

static int by_rank(const void *pa, const void *pb)
{
    const struct item *a = *(struct item *const *)pa, *b = *(struct item *const *)pb;
    return a->rank != b->rank ? a->rank - b->rank : (a->order > b->order) - (a->order < b->order);
}

/* Of equal ones the last stays: what was said again is not old. */
static void each_once(struct items *it, struct item **sorted)
{
    for (size_t i = 0; i < it->n; i++) sorted[i] = &it->v[i];
    qsort(sorted, it->n, sizeof(struct item *), by_text);
    for (size_t i = 1; i < it->n; i++)
        if (group(sorted[i - 1]) == group(sorted[i]) && compare_text(sorted[i - 1]->text, sorted[i]->text) == 0)
            sorted[i - 1]->out = true;
    size_t n = 0;
    for (size_t i = 0; i < it->n; i++)
        if (!it->v[i].out) it->v[n++] = it->v[i];
    it->n = n;
}

/* ------------------------------------------------------------------ what fits */

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

static int finish(struct items *it, bool marked, const struct summary_limit *limit, struct buf *out,
                  struct summary_result *result, struct err *err)
{
    struct buf text = {0};
    struct fitting f = {.it = it, .marked = marked};
    if (it->too_many) return err_set(err, SUMMARY_TOO_MANY, "a summary of more than %d items", SUMMARY_ITEMS);
    f.rank = malloc((it->n + 1) * sizeof(struct item *));
    f.text = malloc((it->n + 1) * sizeof *f.text);
    int rc = f.rank && f.text ? 0 : err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    if (rc == 0) {
        each_once(it, f.rank);
        for (size_t i = 0; i < it->n; i++)
            if (it->v[i].rank < RANK_MUST) f.rank[f.n_rank++] = &it->v[i];
        qsort(f.rank, f.n_rank, sizeof(struct item *), by_rank);
        rc = fit(&f, limit, &text, result, err);
    }
    if (rc == 0) rc = count_items(&text, marked, result, err);
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
        if (!is_mark(list.item[i])) add(it, section, list.item[i], rank);
}

/* Open before done: of a record that has a task in both, done is what counts. */
static void add_tasks(struct items *it, struct form_list done, struct form_list open)
{
    add_list(it, RECORD_OPEN, open, RANK_MUST);
    add_list(it, RECORD_DONE, done, RANK_DONE);
}

static void add_record(struct items *it, const struct form_record *r, int rank_of_facts, bool tasks)
{
    if (!r) return;
    add_list(it, RECORD_FACTS, r->section[RECORD_FACTS], rank_of_facts);
    add_list(it, RECORD_DECISIONS, r->section[RECORD_DECISIONS], RANK_DECISION);
    if (tasks) add_tasks(it, r->section[RECORD_DONE], r->section[RECORD_OPEN]);
}

static int take_items(struct items *it, struct err *err)
{
    it->v = malloc(SUMMARY_ITEMS * sizeof *it->v);
    return it->v ? 0 : err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
}

static bool says_nothing(const struct form_record *r)
{
    for (int s = 0; s < RECORD_SECTIONS; s++)
        if (r->section[s].n > 0) return false;
    return true;
}

int summary_merge(const struct form_record *before, const struct form_record *now, const struct summary_tasks *tasks,
                  const struct summary_limit *limit, struct buf *out, struct summary_result *result, struct err *err)
{
    struct items it = {0};
    *result = (struct summary_result){0};
    if (says_nothing(now)) return err_set(err, SUMMARY_EMPTY, "the model's summary is empty");
    int rc = take_items(&it, err);
    if (rc) return rc;
    add_record(&it, before, RANK_FACT, !tasks);
    add_record(&it, now, RANK_FACT, !tasks);
    if (tasks) add_tasks(&it, tasks->done, tasks->open);
    rc = finish(&it, false, limit, out, result, err);
    free(it.v);
    return rc;
}

/* ------------------------------------------------------------------ extract */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_word(char c) { return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80; }

/* How much a line looks like a fact: 0 to 6. */
static int looks_like_fact(struct form_text t)
{
    bool digit = false, name = false, path = false, assigned = false;
    for (size_t i = 0; i < t.len; i++) {
        char c = t.text[i], before = i > 0 ? t.text[i - 1] : ' ', after = i + 1 < t.len ? t.text[i + 1] : ' ';
        digit |= is_digit(c);
        name |= is_upper(c) && i > 0 && !is_upper(before);
        path |= (c == '/' || c == '_' || c == '.' || c == '@') && is_word(before) && is_word(after);
        assigned |= (c == '=' || c == ':') && is_word(before);
    }
    return 2 * digit + name + 2 * path + assigned;
}

static bool ends_sentence(struct form_text t, size_t i)
{
    char c = t.text[i];
    return (c == '.' || c == '!' || c == '?') && (i + 1 == t.len || (unsigned char)t.text[i + 1] <= ' ');
}

static struct form_text first_sentence(struct form_text line)
{
    for (size_t i = 0; i < line.len; i++)
        if (ends_sentence(line, i)) return (struct form_text){line.text, i + 1};
    return line;
}

/* The whole line, or its beginning with "..." behind it, copied into cut. */
static struct form_text short_line(struct form_text t, struct buf *cut, size_t *at)
{
    if (t.len <= SUMMARY_LINE_BYTES) return t;
    size_t n = SUMMARY_LINE_BYTES - 3;
    while (n > 0 && ((unsigned char)t.text[n] & 0xc0) == 0x80) n--;
    char *to = cut->data + *at;
    memcpy(to, t.text, n);
    memcpy(to + n, "...", 3);
    *at += n + 3;
    return (struct form_text){to, n + 3};
}

static bool next_line(struct form_text *rest, struct form_text *line)
{
    if (rest->len == 0) return false;
    const char *end = memchr(rest->text, '\n', rest->len);
    size_t n = end ? (size_t)(end - rest->text) : rest->len, used = n + (end != NULL);
    *line = (struct form_text){rest->text, n};
    *rest = (struct form_text){rest->text + used, rest->len - used};
    return true;
}

static bool is_blank_line(struct form_text t)
{
    for (size_t i = 0; i < t.len; i++)
        if ((unsigned char)t.text[i] > ' ') return false;
    return true;
}

/* A first sentence counts two more, a person's word two more. */
static void add_message(struct items *it, const struct summary_source *m, int lines, struct buf *cut, size_t *at)
{
    struct form_text rest = {m->text.text, MIN(m->text.len, (size_t)LOOK_BYTES)}, line;
    bool first = true;
    while (lines >= 0 && next_line(&rest, &line)) {
        if (is_blank_line(line)) continue;
        int facts = looks_like_fact(line);
        if (!first && facts < 2) continue;
        if (first && facts < 2) line = first_sentence(line);
        add(it, RECORD_FACTS, short_line(line, cut, at), RANK_FACT + facts + 2 * first + 2 * m->user);
        first = false;
        lines--;
    }
}

int summary_extract(const struct form_record *before, const struct summary_source *said, size_t n,
                    const struct summary_tasks *tasks, const struct summary_limit *limit, struct buf *out,
                    struct summary_result *result, struct err *err)
{
    struct items it = {0};
    struct buf cut = {0};
    size_t at = 0, most = SUMMARY_ITEMS / 2, from = n > most ? n - most : 0;
    int lines = (int)MIN((size_t)LINES_EACH, most / MAX(n - from, (size_t)1) - 1);
    *result = (struct summary_result){0};
    int rc = take_items(&it, err);
    if (rc) return rc;
    cut.data = malloc(most * SUMMARY_LINE_BYTES); /* (lines + 1) of each message are at most `most` */
    if (!cut.data) rc = err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    if (rc == 0) {
        add_record(&it, before, RANK_OLD_FACT, !tasks);
        if (tasks) add_tasks(&it, tasks->done, tasks->open);
        for (size_t i = from; i < n; i++) add_message(&it, &said[i], lines, &cut, &at);
        it.dropped = from;
        rc = finish(&it, true, limit, out, result, err);
    }
    free(cut.data);
    free(it.v);
    return rc;
}
