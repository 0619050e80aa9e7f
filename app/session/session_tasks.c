/* session_tasks.c - what is to be done and what is done, as data beside the prose: one note, a record without facts and
 * decisions, which every call carries and every summary takes over as it is. */
#include "app/session/session_impl.h"


static bool newest_note(void *self, uint64_t id)
{
    struct session *s = self;
    const struct text_entry *e = texts_get(&s->texts, id, NULL);
    if (e && e->kind == JOURNAL_NOTE) s->note = id;
    return true;
}

/* 0, or -1: what the note says is no record (a damaged one); none is no error. */
int session_tasks(struct session *s, struct form_record *out, bool *any)
{
    *any = false;
    s->note = 0;
    window_each(s->w, newest_note, s);
    const struct text_entry *e = s->note ? texts_get(&s->texts, s->note, NULL) : NULL;
    if (!e) return 0;
    if (forms_read_record(e->text, e->len, out, NULL)) return -1;
    *any = true;
    return 0;
}

/* The whole state as a new note, in place of the one before. */
static int put_note(struct session *s, const struct form_list *done, const struct form_list *open, struct err *err)
{
    struct form_record r = {0};
    struct buf text = {0};
    r.section[RECORD_DONE] = *done;
    r.section[RECORD_OPEN] = *open;
    forms_record(&r, &text);
    struct journal_message m = {.kind = JOURNAL_NOTE, .turn = s->keep.head.turns, .text = text.data ? text.data : "",
                                .len = text.len};
    uint64_t id = text.failed ? 0 : session_note(s, &m, err);
    if (text.failed) err_set(err, -1, "no memory for a task");
    buf_free(&text);
    if (id == 0) return -1;
    if (window_append(s->w, WINDOW_NOTE, id, 0, err)) {
        texts_cut(&s->texts, id);
        session_mark(s, JOURNAL_UNDONE, id, id);
        return -1;
    }
    return session_save(s, err);
}

/* A list with one more, or without one; for free(). */
static struct form_text *changed(const struct form_list *l, const struct form_text *more, size_t without, size_t *n)
{
    struct form_text *item = malloc((l->n + 1) * sizeof *item);
    *n = 0;
    for (size_t i = 0; item && i < l->n; i++)
        if (i != without) item[(*n)++] = l->item[i];
    if (item && more) item[(*n)++] = *more;
    return item;
}

int session_task(struct session *s, const char *text, size_t n, struct err *err)
{
    struct form_record r = {0};
    struct form_text more = {text, n};
    bool any;
    if (session_tasks(s, &r, &any)) return err_set(err, -1, "the list of tasks is damaged");
    struct form_list open;
    struct form_text *item = changed(&r.section[RECORD_OPEN], &more, SIZE_MAX, &open.n);
    open.item = item;
    int rc = !item ? err_set(err, -1, "no memory for a task") : put_note(s, &r.section[RECORD_DONE], &open, err);
    free(item);
    if (any) forms_record_free(&r);
    return rc;
}

int session_task_done(struct session *s, size_t number, struct err *err)
{
    struct form_record r = {0};
    bool any;
    if (session_tasks(s, &r, &any)) return err_set(err, -1, "the list of tasks is damaged");
    const struct form_list *was = &r.section[RECORD_OPEN];
    if (number < 1 || number > was->n) {
        size_t n = was->n;
        if (any) forms_record_free(&r);
        return n == 0 ? err_set(err, -1, "there is no task %zu: none is open", number)
                      : err_set(err, -1, "there is no task %zu: %zu %s open, /task lists them", number, n,
                                n == 1 ? "is" : "are");
    }
    struct form_list open, done;
    struct form_text *left = changed(was, NULL, number - 1, &open.n);
    struct form_text *more = changed(&r.section[RECORD_DONE], &was->item[number - 1], SIZE_MAX, &done.n);
    open.item = left;
    done.item = more;
    int rc = !left || !more ? err_set(err, -1, "no memory for a task") : put_note(s, &done, &open, err);
    free(left);
    free(more);
    if (any) forms_record_free(&r);
    return rc;
}
