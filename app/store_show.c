/* store_show.c - `plimsoll store stat`: the figures of a store, for a person or as one JSON object. */
#include "app/say.h"
#include "app/store_cmd.h"
#include "app/term_filter.h"
#include "memory/recall.h"
#include "memory/snapshot.h"
#include <jansson.h>

enum { SCHEMA_VERSION = 1, PREFIX = 8 /* digits of an id that are shown, and more where two begin alike */ };

static const struct kind {
    enum store_part part;
    char byte; /* as struct store_stat counts them */
    const char *word, *label;
} kinds[] = {
    {STORE_JOURNAL, 'S', "session", "sessions"},
    {STORE_JOURNAL, 'M', "message", "messages, events"},
    {STORE_JOURNAL, 'P', "piece", "pieces"},
    {STORE_JOURNAL, 'a', "artifact", "artifacts"},
    {STORE_JOURNAL, 'c', "chunk", "artifacts' chunks"},
    {STORE_JOURNAL, 'W', "wipe", "a wipe to be done"},
    {STORE_CACHE, 'k', "kv", "KV pages"},
    {STORE_CACHE, 's', "kv_list", "lists of KV pages"},
    {STORE_CACHE, 'R', "recall", "recall index"},
};

static const char *const part_name[STORE_PARTS] = {"journal", "cache"};

struct figures {
    const char *dir; /* may be shown */
    struct store_stat part[STORE_PARTS];
    struct store_session_stat *session;
    size_t n;
    struct made { /* what can be made again */
        uint64_t used, most, most_one; /* of all sessions; and the quotas */
    } pages, index;
    bool quotas; /* they are known */
    struct snap_session *of_pages; /* in the order of their ids, as the others */
    struct recall_size *of_index;
    size_t n_pages, n_index;
};

static const struct kind *find_kind(enum store_part part, int byte)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].part == part && (uint8_t)kinds[i].byte == byte) return &kinds[i];
    return NULL;
}

/* In hexadecimal, the 4 bits number i of an id. */
static int digit(const struct store_session_stat *s, int i) { return s->session[i / 2] >> (i % 2 ? 0 : 4) & 15; }

static int same_digits(const struct store_session_stat *a, const struct store_session_stat *b)
{
    int n = 0;
    while (n < 2 * STORE_SESSION_ID && digit(a, n) == digit(b, n)) n++;
    return n;
}

/* How many digits of its id tell a session from the others; they are in order. */
static int prefix_of(const struct figures *f, size_t i)
{
    int before = i > 0 ? same_digits(&f->session[i], &f->session[i - 1]) : 0;
    int after = i + 1 < f->n ? same_digits(&f->session[i], &f->session[i + 1]) : 0;
    return MIN(MAX(MAX(before, after) + 1, PREFIX), 2 * STORE_SESSION_ID);
}

/* ------------------------------------------------------------------ for a person */

static void put_parts(const struct figures *f, struct buf *out)
{
    buf_printf(out, "%s\n%-9s%12s%12s%12s%12s%10s\n", f->dir, "", "file", "used", "map", "limit", "readers");
    for (int p = 0; p < STORE_PARTS; p++) {
        const struct store_stat *st = &f->part[p];
        buf_printf(out, "%-9s%12s%12s%12s%12s%10u\n", part_name[p], store_cmd_size(st->file_bytes).text,
                   store_cmd_size(st->used_bytes).text, store_cmd_size(st->map_bytes).text,
                   store_cmd_size(st->map_limit).text, st->readers);
    }
}

static void put_sum(const struct store_sum *sum, const char *part, const char *label, struct buf *out)
{
    buf_printf(out, "%-9s%-20s%16llu%12s\n", part, label, (unsigned long long)sum->records,
               store_cmd_size(sum->bytes).text);
}

/* Those that are known in their order, then the others. */
static void put_kinds(const struct figures *f, enum store_part part, struct buf *out)
{
    const struct store_sum *sum = f->part[part].kind;
    const char *name = part_name[part];
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].part != part || sum[(uint8_t)kinds[i].byte].records == 0) continue;
        put_sum(&sum[(uint8_t)kinds[i].byte], name, kinds[i].label, out);
        name = "";
    }
    for (int byte = 0; byte < 256; byte++) {
        char label[24];
        if (sum[byte].records == 0 || find_kind(part, byte)) continue;
        if (byte > 0x20 && byte < 0x7f) snprintf(label, sizeof label, "others, '%c'", byte);
        else snprintf(label, sizeof label, "others, 0x%02x", (unsigned)byte);
        put_sum(&sum[byte], name, label, out);
        name = "";
    }
    if (*name) buf_printf(out, "%-9s%s\n", name, "empty");
}

/* What of the kinds that can be made again is there, and what may be. */
static void put_made(const struct figures *f, const char *label, const struct made *m, struct buf *out)
{
    buf_printf(out, "%-15s%16s%15s%17s\n", label, store_cmd_size(m->used).text,
               f->quotas ? store_cmd_size(m->most).text : "?", f->quotas ? store_cmd_size(m->most_one).text : "?");
}

static void put_quotas(const struct figures *f, struct buf *out)
{
    buf_printf(out, "\n%-15s%16s%15s%17s\n", "quotas of", "used", "all sessions", "one session");
    put_made(f, "KV pages", &f->pages, out);
    put_made(f, "recall index", &f->index, out);
}

/* Their entries begin with it. */
static int by_session(const void *id, const void *entry) { return memcmp(id, entry, STORE_SESSION_ID); }

/* The quota of one session counts the pages that it alone names. */
static uint64_t pages_of(const struct figures *f, const uint8_t *session)
{
    const struct snap_session *one =
        f->n_pages ? bsearch(session, f->of_pages, f->n_pages, sizeof *f->of_pages, by_session) : NULL;
    return one ? one->own : 0;
}

static uint64_t index_of(const struct figures *f, const uint8_t *session)
{
    const struct recall_size *one =
        f->n_index ? bsearch(session, f->of_index, f->n_index, sizeof *f->of_index, by_session) : NULL;
    return one ? one->bytes : 0;
}

static void put_sessions(const struct figures *f, struct buf *out)
{
    int widest = PREFIX;
    for (size_t i = 0; i < f->n; i++) widest = MAX(widest, prefix_of(f, i));
    buf_printf(out, "\n%-*s%*s%12s%11s%11s\n", widest, "session", 45 - widest, "messages", "bytes", "KV pages",
               "index");
    for (size_t i = 0; i < f->n; i++) {
        const struct store_session_stat *one = &f->session[i];
        int n = prefix_of(f, i);
        buf_printf(out, "%.*s%*llu%12s%11s%11s%s\n", n, store_cmd_hex(one->session, STORE_SESSION_ID).text, 45 - n,
                   (unsigned long long)one->messages, store_cmd_size(one->bytes).text,
                   store_cmd_size(pages_of(f, one->session)).text, store_cmd_size(index_of(f, one->session)).text,
                   one->head ? "" : "\n  its head is missing");
    }
    buf_printf(out, "%zu session%s\n", f->n, f->n == 1 ? "" : "s");
}

static void put_text(const struct figures *f, struct buf *out)
{
    put_parts(f, out);
    buf_printf(out, "\n%-29s%16s%12s\n", "", "records", "bytes");
    for (int p = 0; p < STORE_PARTS; p++) put_kinds(f, (enum store_part)p, out);
    put_quotas(f, out);
    put_sessions(f, out);
}

/* ------------------------------------------------------------------ as JSON */

/* item is taken over; *all becomes NULL when there is no memory. */
static void append(json_t **all, json_t *item)
{
    if (json_array_append_new(*all, item) == 0) return;
    json_decref(*all);
    *all = NULL;
}

static json_t *kinds_json(const struct figures *f, enum store_part part)
{
    json_t *all = json_array();
    for (int byte = 0; byte < 256; byte++) {
        const struct store_sum *sum = &f->part[part].kind[byte];
        const struct kind *kind = find_kind(part, byte);
        char other[8];
        if (sum->records == 0) continue;
        snprintf(other, sizeof other, "0x%02x", (unsigned)byte);
        append(&all, json_pack("{s:s, s:I, s:I}", "kind", kind ? kind->word : other, "records",
                               (json_int_t)sum->records, "bytes", (json_int_t)sum->bytes));
    }
    return all;
}

static json_t *part_json(const struct figures *f, enum store_part part)
{
    const struct store_stat *st = &f->part[part];
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:i, s:o}", "file_bytes", (json_int_t)st->file_bytes, "used_bytes",
                     (json_int_t)st->used_bytes, "map_bytes", (json_int_t)st->map_bytes, "map_limit_bytes",
                     (json_int_t)st->map_limit, "records", (json_int_t)st->records, "readers", (int)st->readers,
                     "kinds", kinds_json(f, part));
}

static json_t *sessions_json(const struct figures *f)
{
    json_t *all = json_array();
    for (size_t i = 0; i < f->n; i++) {
        const struct store_session_stat *one = &f->session[i];
        struct store_hex id = store_cmd_hex(one->session, STORE_SESSION_ID);
        append(&all, json_pack("{s:s, s:s%, s:I, s:I, s:I, s:I, s:b}", "id", id.text, "prefix", id.text,
                               (size_t)prefix_of(f, i), "messages", (json_int_t)one->messages, "bytes",
                               (json_int_t)one->bytes, "kv_bytes", (json_int_t)pages_of(f, one->session),
                               "recall_bytes", (json_int_t)index_of(f, one->session), "head", (int)one->head));
    }
    return all;
}

static json_t *made_json(const struct figures *f, const struct made *m)
{
    if (!f->quotas)
        return json_pack("{s:I, s:n, s:n}", "used_bytes", (json_int_t)m->used, "all_bytes", "session_bytes");
    return json_pack("{s:I, s:I, s:I}", "used_bytes", (json_int_t)m->used, "all_bytes", (json_int_t)m->most,
                     "session_bytes", (json_int_t)m->most_one);
}

static void put_json(const struct figures *f, struct buf *out)
{
    json_t *all = json_pack("{s:i, s:s, s:{s:o, s:o}, s:{s:o, s:o}, s:o}", "schema_version", SCHEMA_VERSION, "store",
                            f->dir, "parts", "journal", part_json(f, STORE_JOURNAL), "cache",
                            part_json(f, STORE_CACHE), "quotas", "kv", made_json(f, &f->pages), "recall",
                            made_json(f, &f->index), "sessions", sessions_json(f));
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    if (text) buf_puts(out, text);
    else out->failed = true;
    buf_puts(out, "\n");
    free(text);
    json_decref(all);
}

/* ------------------------------------------------------------------ */

/* As the variables and the configuration file have them.  Where these are wrong that is said, and all else shown. */
static void read_quotas(struct figures *f)
{
    struct opts o;
    struct err err = {0};
    f->quotas = opts_parse(&o, 0, NULL, NULL, &err) == 0;
    f->pages.most = (uint64_t)o.snapshots;
    f->pages.most_one = MIN((uint64_t)opts_snapshots_session(&o), f->pages.most);
    f->index.most = (uint64_t)o.recall_index;
    f->index.most_one = MIN((uint64_t)o.recall_index_session, f->index.most);
    opts_free(&o);
    if (!f->quotas) say_error("%s", err.text);
}

static int read_figures(struct store *s, struct figures *f, struct err *err)
{
    int rc = 0;
    for (int p = 0; !rc && p < STORE_PARTS; p++) rc = store_stat(s, (enum store_part)p, &f->part[p], err);
    if (!rc) rc = store_stat_sessions(s, &f->session, &f->n, err);
    if (!rc) rc = snap_stat_sessions(s, &f->of_pages, &f->n_pages, &f->pages.used, err);
    if (!rc) rc = recall_sizes(s, &f->of_index, &f->n_index, err);
    for (size_t i = 0; i < f->n_index; i++) f->index.used += f->of_index[i].bytes;
    return rc;
}

int store_stat_run(const struct store_args *a)
{
    struct figures f = {0};
    struct store *s = NULL;
    struct buf text = {0}, dir = {0}; /* a path is any bytes */
    struct err err = {0};
    int status = store_cmd_open(&s, a->dir, true);
    if (status != EXIT_DONE) return status;
    read_quotas(&f);
    const int rc = read_figures(s, &f, &err);
    store_close(s);
    term_filter_text(a->dir, strlen(a->dir), true, &dir);
    f.dir = dir.failed ? "" : dir.data;
    if (rc) status = store_cmd_error(a->dir, rc, &err);
    else if (a->json) put_json(&f, &text);
    else put_text(&f, &text);
    free(f.session);
    free(f.of_pages);
    free(f.of_index);
    buf_free(&dir);
    return rc ? status : store_cmd_print(&text);
}
