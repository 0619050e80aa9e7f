/* remember_scan.c - quotations in answer to a question, out of texts that are in memory and in no index. */
#include "memory/recall_scan.h"
#include "memory/remember_impl.h"
#include <inttypes.h>

static int add(struct recall_scan *scan, const struct remember_text *t, uint64_t order, struct err *err)
{
    struct recall_doc doc = {.kind = t->kind, .id = t->id, .when = order};
    for (size_t from = 0, next = 0; from < t->n; from += next) {
        size_t len = recall_chunk(t->text + from, t->n - from, &next);
        doc.at = from;
        doc.len = (uint32_t)len;
        int rc = recall_scan_add(scan, &doc, t->text + from, len, err);
        if (rc) return rc;
        doc.chunk++;
    }
    return 0;
}

static bool is_told(const struct remember_found *f, const struct recall_doc *d)
{
    for (int i = 0; i < f->n; i++)
        if (f->quote[i].id == d->id && f->quote[i].kind == d->kind && d->kind != RECALL_SUMMARY) return true;
    return false;
}

static void quote(struct recall_scan *scan, const struct recall_result *res, const struct recall_hit *h,
                  const struct remember_text *t, const uint8_t *session, struct remember_found *out)
{
    struct remember_quote *q = &out->quote[out->n++];
    const char *chunk = t->text + h->doc.at;
    size_t at;
    *q = (struct remember_quote){.kind = t->kind, .id = t->id, .score = h->score, .at = out->text.len};
    if (session) memcpy(q->session, session, sizeof q->session);
    snprintf(q->name, sizeof q->name, "m%" PRIu64, t->id);
    remember_say_why(res, h, q);
    recall_scan_window(scan, res, chunk, h->doc.len, REMEMBER_QUOTE, &at, &q->len);
    buf_put(&out->text, chunk + at, q->len);
}

int remember_scan(const struct remember_text *text, size_t n, const struct remember_query *q,
                  struct remember_found *out, struct err *err)
{
    struct recall_result *res = calloc(1, sizeof *res);
    struct recall_scan *scan = recall_scan_open(q->text, q->n, err);
    *out = (struct remember_found){0};
    int rc = res && scan ? 0 : err_set(err, STORE_NO_MEMORY, "no memory for a search");
    for (size_t i = 0; i < n && rc == 0; i++) rc = add(scan, &text[i], i, err);
    if (rc == 0) recall_scan_end(scan, RECALL_K, res);
    for (int i = 0; rc == 0 && i < res->n_hits && out->n < MIN(q->k, (int)RECALL_K); i++) {
        const struct recall_hit *h = &res->hit[i];
        if (!is_told(out, &h->doc) && (!q->wanted || q->wanted(q->self, &h->doc)))
            quote(scan, res, h, &text[h->doc.when], q->session, out);
    }
    if (rc == 0) out->unknown = res->unknown;
    if (rc == 0 && out->text.failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for quotations");
    if (rc) remember_free(out);
    recall_scan_close(scan);
    free(res);
    return rc;
}
