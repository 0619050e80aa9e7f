/* template_zephyr.c - the form of Zephyr, as TinyLlama's chats have it too, and what Tulu, OLMo 2 and Falcon 3 have
 * otherwise.
 *
 *     Zephyr    <|system|>\nS</s>\n<|user|>\nHello</s>\n<|assistant|>\nanswer</s>\n
 *     the rest  <|system|>\nS\n<|user|>\nHello\n<|assistant|>\nanswer</s>\n           OLMo 2: bos before all of it
 *
 * The marks are text and the end of a message is the vocabulary's end, whatever its name.  The newline behind that is
 * written with what follows; one without an end before it is in one run with the text, since merges cross from one to
 * the other, and what follows begins a run of its own: a mark is no part of a word before it.
 *
 * Results of tools stand in a person's turn, as ChatML's do, and neighbours share it; in Falcon 3's own template each
 * is a turn of the assistant. */
#include "engine/template_impl.h"

static const char *const head[ROLE_COUNT] = {"<|system|>", "<|user|>", "<|assistant|>", "<|user|>"};
static const struct prompt_bent marks[] = {
    {"<|system|>", "(|system|)"}, {"<|user|>", "(|user|)"}, {"<|assistant|>", "(|assistant|)"}, {NULL, NULL}};

static void put(struct prompt *p, const char *text) { prompt_put(p, text, strlen(text)); }

/* Does an end stand behind what a role says? */
static bool ends(const struct prompt *p, enum role role)
{
    return p->kind == TEMPLATE_ZEPHYR || role == ROLE_ASSISTANT;
}

static void put_head(struct prompt *p, enum role role, const struct msg *before)
{
    const bool falcon = p->kind == TEMPLATE_FALCON3 && role == ROLE_TOOL;
    if (before && ends(p, before->role)) put(p, "\n");
    prompt_mark(p, head[falcon ? ROLE_ASSISTANT : role]);
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

static void put_end(struct prompt *p, enum role role)
{
    if (ends(p, role)) prompt_id(p, vocab_eos(p->v));
    else put(p, "\n");
}

void zephyr_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    if (vocab_adds_bos(p->v) || p->kind == TEMPLATE_OLMO2) prompt_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i], *before = i > 0 ? m - 1 : NULL;
        if (before && template_joins(p->kind, before, m)) {
            put(p, "\n");
        } else {
            prompt_begin(p, m);
            put_head(p, m->role, before);
        }
        if (m->role == ROLE_TOOL) put_result(p, m);
        else put_said(p, m);
        if (!m->begun && (i + 1 == n || !template_joins(p->kind, m, m + 1))) put_end(p, m->role);
    }
    prompt_begin(p, NULL);
    if (open) put_head(p, ROLE_ASSISTANT, n > 0 ? &msgs[n - 1] : NULL);
}
