/* prompt.c - see prompt.h. */
#include "app/session/prompt.h"
#include "memory/forms.h"

static int no_memory(struct err *err) { return err_set(err, -1, "no memory for a prompt"); }

static int push(struct prompt *p, struct msg m, struct err *err)
{
    if (p->n == p->cap) {
        int cap = p->cap ? 2 * p->cap : 16;
        struct msg *q = cap > INT32_MAX / 4 ? NULL : realloc(p->msgs, (size_t)cap * sizeof *q);
        if (!q) return no_memory(err);
        p->msgs = q;
        p->cap = cap;
    }
    p->msgs[p->n++] = m;
    return 0;
}

static enum role role_of(enum journal_kind kind)
{
    if (kind == JOURNAL_ANSWER || kind == JOURNAL_CALL) return ROLE_ASSISTANT;
    return kind == JOURNAL_RESULT ? ROLE_TOOL : ROLE_USER;
}

/* ---------------------------------------------------------------- the front */

static void blank_line(struct buf *out)
{
    if (out->len > 0) buf_puts(out, "\n\n");
}

static void put_summary(const struct window_item *it, const struct text_entry *e, struct buf *out)
{
    char name[48];
    window_ref_name(&it->ref, name);
    const struct form_value v[] = {{"id", form_text(name)}, {"record", {e->text, e->len}}};
    if (form_render(FORM_SUMMARY_CONTEXT, v, 2, out, NULL)) out->failed = true; /* a test renders it */
}

/* summary: how many bytes at the end sum up what is not there. */
static int put_front(struct prompt *p, struct texts *texts, const struct window_item *it, size_t *summary,
                     struct err *err)
{
    const struct text_entry *e = it->id ? texts_get(texts, it->id, err) : NULL;
    size_t before = p->front.len;
    if (it->id && !e) return -1;
    blank_line(&p->front);
    if (it->part == WINDOW_REFERENCE) window_reference(&it->ref, &p->front);
    else if (it->part == WINDOW_SUMMARY) put_summary(it, e, &p->front);
    else buf_put(&p->front, e->text, e->len);
    if (it->part == WINDOW_REFERENCE || it->part == WINDOW_SUMMARY) *summary += p->front.len - before;
    return p->front.failed ? no_memory(err) : 0;
}

static bool is_front(const struct window_item *it)
{
    return it->part <= WINDOW_SUMMARY || it->part == WINDOW_REFERENCE;
}

/* ---------------------------------------------------------------- what follows */

/* Offsets into p->lines until all are written: the buffer moves. */
static int put_line(struct prompt *p, enum role role, const struct window_item *it, struct err *err)
{
    size_t from = p->lines.len;
    if (it->part == WINDOW_REQUEST) forms_summary_request(&p->lines);
    else window_reference(&it->ref, &p->lines);
    if (p->lines.failed) return no_memory(err);
    return push(p, (struct msg){.role = role, .text = NULL, .len = p->lines.len - from}, err);
}

static int put_item(struct prompt *p, struct texts *texts, const struct window_item *it, struct err *err)
{
    if (it->part == WINDOW_REQUEST) return put_line(p, ROLE_USER, it, err);
    if (it->part == WINDOW_REFERENCE) return put_line(p, ROLE_TOOL, it, err); /* a call and its results */
    if (it->ref.messages > 0) /* what it stands for is history of a person, or of the model, or a result */
        return put_line(p, it->part == WINDOW_RESULTS ? ROLE_TOOL : ROLE_USER, it, err);
    const struct text_entry *e = texts_get(texts, it->id, err);
    if (!e) return -1;
    return push(p, (struct msg){.role = role_of(e->kind), .text = e->text, .len = e->len}, err);
}

static void place_lines(struct prompt *p)
{
    const char *at = p->lines.data;
    for (int i = 0; i < p->n; i++) {
        if (p->msgs[i].text) continue;
        p->msgs[i].text = at;
        at += p->msgs[i].len;
    }
}

int prompt_make(struct prompt *p, struct texts *texts, const struct window_item *items, size_t n, struct err *err)
{
    size_t i = 0, summary = 0;
    p->n = 0;
    p->front.len = p->lines.len = 0;
    p->front.failed = p->lines.failed = false;
    for (; i < n && is_front(&items[i]); i++)
        if (put_front(p, texts, &items[i], &summary, err)) return -1;
    if (p->front.len > 0 &&
        push(p, (struct msg){.role = ROLE_SYSTEM, .text = p->front.data, .len = p->front.len, .summary = summary}, err))
        return -1;
    for (; i < n; i++)
        if (put_item(p, texts, &items[i], err)) return -1;
    place_lines(p);
    return 0;
}

void prompt_free(struct prompt *p)
{
    free(p->msgs);
    buf_free(&p->front);
    buf_free(&p->lines);
    *p = (struct prompt){0};
}
