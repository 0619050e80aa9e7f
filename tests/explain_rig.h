/* explain_rig.h - the corpus of messages in tests/fixtures/oom, read: a file is a line that says what it is,
 *     # cause: kv  stack: vllm  (by: own words)
 * and then the text. */
#ifndef EXPLAIN_RIG_H
#define EXPLAIN_RIG_H
#include "app/learn/explain.h"
#include "tests/check.h"
#include <dirent.h>

enum { CORPUS_MOST = 256 };
#ifndef CORPUS
#define CORPUS "tests/fixtures/oom"
#endif

struct sample {
    char name[80], stack[32];
    int cause;
    struct buf text; /* without its first line */
};

struct corpus {
    struct sample one[CORPUS_MOST];
    int n;
};

static inline void sample_read(const char *file, struct sample *s)
{
    char path[300], cause[32] = "", line[300];
    snprintf(path, sizeof path, CORPUS "/%s", file);
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL && fgets(line, sizeof line, f) != NULL);
    if (sscanf(line, "# cause: %31[a-z-] stack: %31[a-z.]", cause, s->stack) != 2) check_fail(file, 1, "%s", line);
    s->cause = cause_find(cause);
    if (s->cause < 0) check_fail(file, 1, "no such cause: %s", cause);
    snprintf(s->name, sizeof s->name, "%.79s", file);
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, f)) > 0;) buf_put(&s->text, part, got);
    fclose(f);
    CHECK(s->text.len > 0);
}

static inline int sample_order(const void *a, const void *b)
{
    return strcmp(((const struct sample *)a)->name, ((const struct sample *)b)->name);
}

static inline void corpus_read(struct corpus *c)
{
    DIR *d = opendir(CORPUS);
    CHECK(d != NULL);
    c->n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        CHECK(c->n < CORPUS_MOST);
        c->one[c->n] = (struct sample){0};
        sample_read(e->d_name, &c->one[c->n++]);
    }
    closedir(d);
    qsort(c->one, (size_t)c->n, sizeof c->one[0], sample_order);
}

static inline void corpus_free(struct corpus *c)
{
    for (int i = 0; i < c->n; i++) buf_free(&c->one[i].text);
    c->n = 0;
}

/* The cause of the first verdict; CAUSE_UNKNOWN: there is none. */
static inline enum cause first_cause(const struct buf *text)
{
    static struct verdict v[EXPLAIN_MOST];
    return explain_text(text->data, text->len, v, EXPLAIN_MOST) ? v[0].cause : CAUSE_UNKNOWN;
}

static inline bool finds_cause(const struct buf *text, int cause)
{
    static struct verdict v[EXPLAIN_MOST];
    int n = explain_text(text->data, text->len, v, EXPLAIN_MOST);
    for (int i = 0; i < n; i++)
        if ((int)v[i].cause == cause) return true;
    return n == 0 && cause == CAUSE_UNKNOWN;
}
#endif
