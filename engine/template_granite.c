/* template_granite.c - the forms of IBM's Granite.
 *
 *     <|start_of_role|>user<|end_of_role|>Hello<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>
 *
 * A tool's result is a turn of its own, of the role `tool` (3.0: `tool_response`).  Granite 4 has it in a user's turn,
 * in ChatML's frame with a newline before each, and neighbours share the turn.  Texts stay as they are.
 *
 * Where nobody says a system text some of the originals write one: 3.1 to 3.3 with the date of the day in it, so that
 * the same messages would be another prompt each day, and the first files of 4.  What is written here is the session's,
 * as in all families but harmony: --system says what is to be said.  Documents, and the controls that 3.1 to 3.3 have
 * behind the role of the turn that is opened, have no messages here. */
#include "engine/template_impl.h"

bool granite_joins(enum template_kind k, const struct msg *m, const struct msg *next)
{
    return k == TEMPLATE_GRANITE4 && m->role == ROLE_TOOL && next->role == ROLE_TOOL;
}

static void put(struct prompt *p, const char *text) { prompt_put(p, text, strlen(text)); }

static void granite_head(struct prompt *p, enum role role)
{
    const char *name = role_name(role);
    if (role == ROLE_TOOL && p->kind == TEMPLATE_GRANITE30) name = "tool_response";
    if (role == ROLE_TOOL && p->kind == TEMPLATE_GRANITE4) name = "user";
    prompt_mark(p, "<|start_of_role|>");
    put(p, name);
    prompt_mark(p, "<|end_of_role|>");
}

static void granite_end(struct prompt *p)
{
    prompt_mark(p, "<|end_of_text|>");
    put(p, "\n");
}

void granite_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    if (vocab_adds_bos(p->v)) prompt_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i];
        const bool framed = p->kind == TEMPLATE_GRANITE4 && m->role == ROLE_TOOL;
        if (i == 0 || !granite_joins(p->kind, m - 1, m)) {
            prompt_begin(p, m);
            granite_head(p, m->role);
        }
        if (framed) {
            put(p, "\n");
            prompt_response(p, m);
        } else {
            prompt_text(p, m);
        }
        if (!m->begun && (i + 1 == n || !granite_joins(p->kind, m, m + 1))) granite_end(p);
    }
    prompt_begin(p, NULL);
    if (open) granite_head(p, ROLE_ASSISTANT);
}
