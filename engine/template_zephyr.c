/* template_zephyr.c - the form of Zephyr, as TinyLlama's chats have it too.
 *
 *     <|system|>\nS</s>\n<|user|>\nHello</s>\n<|assistant|>\nanswer</s>\n
 *
 * The marks are text and the end of a message is the vocabulary's end, whatever its name.  The newline behind that is
 * written with what follows.  Results of tools stand in a person's turn, as ChatML's do, and neighbours share it. */
#include "engine/template_impl.h"

static const char *const head[ROLE_COUNT] = {"<|system|>", "<|user|>", "<|assistant|>", "<|user|>"};
static const struct prompt_bent marks[] = {
    {"<|system|>", "(|system|)"}, {"<|user|>", "(|user|)"}, {"<|assistant|>", "(|assistant|)"}, {NULL, NULL}};

static void put(struct prompt *p, const char *text) { prompt_put(p, text, strlen(text)); }

static void put_head(struct prompt *p, enum role role, bool first)
{
    if (!first) put(p, "\n");
    prompt_mark(p, head[role]);
    put(p, "\n");
}

static void put_said(struct prompt *p, const struct msg *m)
{
    p->text_at = p->run;
    prompt_unmarked(p, marks, m->text, m->len);
}

static void put_result(struct prompt *p, const struct msg *m)
{
    prompt_mark(p, "<tool_response>");
    put(p, "\n");
    put_said(p, m);
    put(p, "\n");
    prompt_mark(p, "</tool_response>");
}

void zephyr_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    if (vocab_adds_bos(p->v)) prompt_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i];
        const bool tool = m->role == ROLE_TOOL, goes_on = tool && i > 0 && m[-1].role == ROLE_TOOL;
        if (goes_on) {
            put(p, "\n");
        } else {
            prompt_begin(p, m);
            put_head(p, m->role, i == 0);
        }
        if (tool) put_result(p, m);
        else put_said(p, m);
        if (!m->begun && (!tool || i + 1 == n || m[1].role != ROLE_TOOL)) prompt_id(p, vocab_eos(p->v));
    }
    prompt_begin(p, NULL);
    if (open) put_head(p, ROLE_ASSISTANT, n == 0);
}
