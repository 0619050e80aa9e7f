/* edit_text.c - see edit.h: changes of the text, each a step that can be undone. */
#include "app/tui/edit_impl.h"

static void drop_oldest(struct steps *s)
{
    s->bytes -= s->step[0].n;
    free(s->step[0].text);
    s->n--;
    memmove(s->step, s->step + 1, (size_t)s->n * sizeof *s->step);
}

static void push(struct steps *s, struct step step)
{
    if (s->n == EDIT_UNDO) drop_oldest(s);
    s->step[s->n++] = step;
    s->bytes += step.n;
    while (s->bytes > EDIT_UNDO_BYTES && s->n > 1) drop_oldest(s);
}

void edit_forget_steps(struct steps *s)
{
    while (s->n > 0) drop_oldest(s);
}

static int make_room(struct buf *b, size_t len)
{
    if (len + 1 <= b->cap) return 0;
    size_t cap = MAX(2 * b->cap, len + 1);
    char *data = realloc(b->data, cap);
    if (!data) return -1;
    b->data = data;
    b->cap = cap;
    return 0;
}

/* The change itself; *back is the step that takes it back.  `at` and `cut` are within the text. */
static int swap(struct edit *e, size_t at, size_t cut, const char *text, size_t n, struct step *back)
{
    struct buf *b = &e->text;
    if (n > EDIT_LIMIT || b->len - cut + n > EDIT_LIMIT) return -1;
    char *old = malloc(cut + 1);
    if (!old || make_room(b, b->len - cut + n)) {
        free(old);
        return -1;
    }
    memcpy(old, b->data + at, cut);
    *back = (struct step){.at = at, .cut = n, .n = cut, .cursor = e->cursor, .text = old};
    memmove(b->data + at + n, b->data + at + cut, b->len - at - cut + 1);
    if (n > 0) memcpy(b->data + at, text, n);
    b->len = b->len - cut + n;
    return 0;
}

static void put_cursor(struct edit *e, size_t at)
{
    struct page p = edit_page(e);
    e->cursor = edit_snap(&p, at);
    e->goal = -1;
}

int edit_change(struct edit *e, size_t at, size_t cut, const char *text, size_t n)
{
    struct step back, *last = e->undo.n > 0 ? &e->undo.step[e->undo.n - 1] : NULL;
    at = MIN(at, e->text.len);
    cut = MIN(cut, e->text.len - at);
    if (swap(e, at, cut, text, n, &back)) return -1;
    if (e->typing && cut == 0 && last && last->n == 0 && last->at + last->cut == at) {
        last->cut += n;
        free(back.text);
    } else {
        push(&e->undo, back);
    }
    edit_forget_steps(&e->redo);
    put_cursor(e, at + n);
    return 0;
}

int edit_step_back(struct edit *e, struct steps *from, struct steps *to)
{
    if (from->n == 0) return 1;
    struct step s = from->step[from->n - 1], back;
    if (swap(e, s.at, s.cut, s.text, s.n, &back)) return -1;
    from->n--;
    from->bytes -= s.n;
    free(s.text);
    push(to, back);
    put_cursor(e, s.cursor);
    return 0;
}
