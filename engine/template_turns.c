/* template_turns.c - families in which a person and the model have turns, in alternation: the originals refuse all else.
 * So neighbours on one side share a turn, as the originals have the system text with the first question.  Texts of a
 * turn are one run, with what the template writes between them. */
#include "engine/template_impl.h"

static bool is_model(const struct msg *m) { return m->role == ROLE_ASSISTANT; }

/* ---------------------------------------------------------------- a message in its turn */

/* What stands around a message, in pieces up to a NULL, and what is written of its text. */
struct frame {
    const char *before[6], *after[4];
    struct msg said;
};

static void add(const char **list, const char *piece)
{
    while (*list) list++;
    *list = piece;
}

static size_t length(const char *const *list)
{
    size_t n = 0;
    for (; *list; list++) n += strlen(*list);
    return n;
}

/* The marks of a result are plain text always: with tokens for them the turn would be more than one run. */
static void add_result(struct frame *f)
{
    add(f->before, "<tool_response>\n");
    add(f->after, "\n</tool_response>");
}

/* Between two messages of a turn. */
static const char *gap(const struct msg *m, const struct msg *next)
{
    return m->role == ROLE_TOOL && next->role == ROLE_TOOL ? "\n" : "\n\n";
}

/* ---------------------------------------------------------------- Gemma 2 and 3
 *
 *     <bos><start_of_turn>user\nsystem\n\nHello<end_of_turn>\n<start_of_turn>model\nanswer<end_of_turn>\n
 *
 * Texts are stripped but for the system's. */

static struct frame gemma_frame(const struct prompt *p, const struct msg *m)
{
    struct frame f = {.said = m->role == ROLE_SYSTEM ? *m : prompt_stripped(*m)};
    if (m->role == ROLE_TOOL) add_result(&f);
    if (m != p->last) add(f.after, gap(m, m + 1));
    return f;
}

/* ---------------------------------------------------------------- writing */

struct part turns_part(const struct prompt *p, const struct msg *m)
{
    const struct frame f = gemma_frame(p, m);
    return (struct part){length(f.before), f.said.len, length(f.after)};
}

static void put_all(struct prompt *p, const char *const *list)
{
    for (; *list; list++) prompt_put(p, *list, strlen(*list));
}

/* The run's messages. */
static void put_shared(struct prompt *p, const struct msg *first, const struct msg *last)
{
    prompt_share(p, first, last, p->run);
    for (const struct msg *m = first; m <= last; m++) {
        const struct frame f = gemma_frame(p, m);
        put_all(p, f.before);
        prompt_put(p, f.said.text, f.said.len);
        put_all(p, f.after);
    }
    prompt_begin(p, last);
}

static void gemma_head(struct prompt *p, bool model)
{
    prompt_mark(p, "<start_of_turn>");
    prompt_put(p, model ? "model\n" : "user\n", model ? 6 : 5);
}

static void gemma_turn(struct prompt *p, const struct msg *first, const struct msg *last)
{
    prompt_begin(p, first);
    gemma_head(p, is_model(first));
    put_shared(p, first, last);
    prompt_mark(p, "<end_of_turn>");
    prompt_put(p, "\n", 1);
}

void turns_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    prompt_mark(p, "<bos>");
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_model(&msgs[end]) == is_model(&msgs[i]);) end++;
        gemma_turn(p, &msgs[i], &msgs[end - 1]);
    }
    prompt_begin(p, NULL);
    if (open) gemma_head(p, true);
}
