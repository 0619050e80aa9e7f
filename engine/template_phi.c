/* template_phi.c - the forms of Phi.
 *
 *     Phi-3, Phi-4-mini    <|system|>S<|end|><|user|>Hello<|end|><|assistant|>
 *     Phi-4                <|im_start|>user<|im_sep|>Hello<|im_end|><|im_start|>assistant<|im_sep|>
 *
 * Phi-3's template has a newline behind each mark, and its tokenizer swallows the white space there: that newline, and
 * what a text begins with (all that Unicode calls white space; llama.cpp swallows ASCII's alone).  Nothing in a file
 * says so of its marks, but a vocabulary that is SPM is Phi-3's: Phi-4-mini has byte-level BPE and a template without
 * newlines, and its texts stay as they are, as Phi-4's do.  Results of tools stand in a user's turn, as ChatML's do,
 * and neighbours share it.  Templates of models that reason begin with a system text of their own; what is written here
 * is the session's. */
#include "engine/template_impl.h"
#include "engine/text.h"

static bool phi_swallows(const struct prompt *p)
{
    return p->kind == TEMPLATE_PHI3 && vocab_kind(p->v) == VOCAB_SPM;
}

static struct msg phi_said(const struct prompt *p, struct msg m)
{
    const size_t white = phi_swallows(p) ? text_white(m.text, m.len) : 0;
    if (white > 0) m.text += white; /* an empty text may be NULL */
    m.len -= white;
    return m;
}

static void phi_head(struct prompt *p, enum role role)
{
    static const char *const mark[ROLE_COUNT] = {"<|system|>", "<|user|>", "<|assistant|>", "<|user|>"};
    const char *name = role_name(role == ROLE_TOOL ? ROLE_USER : role);
    if (p->kind == TEMPLATE_PHI3) {
        prompt_mark(p, mark[role]);
        return;
    }
    prompt_mark(p, "<|im_start|>");
    prompt_put(p, name, strlen(name));
    prompt_mark(p, "<|im_sep|>");
}

static void phi_end(struct prompt *p) { prompt_mark(p, p->kind == TEMPLATE_PHI3 ? "<|end|>" : "<|im_end|>"); }

static void phi_tool(struct prompt *p, const struct msg *m, bool first, bool last)
{
    if (first) {
        prompt_begin(p, m);
        phi_head(p, ROLE_TOOL);
    } else {
        prompt_put(p, "\n", 1);
    }
    prompt_response(p, m);
    if (last) phi_end(p);
}

void phi_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    if (vocab_adds_bos(p->v)) prompt_id(p, vocab_bos(p->v));
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i], said = phi_said(p, *m);
        if (phi_swallows(p) && m->role == ROLE_SYSTEM && m->len == 0) continue; /* so does the original */
        if (m->role == ROLE_TOOL) {
            phi_tool(p, m, i == 0 || m[-1].role != ROLE_TOOL, i + 1 == n || m[1].role != ROLE_TOOL);
            continue;
        }
        prompt_begin(p, &said);
        phi_head(p, said.role);
        prompt_text(p, &said);
        if (!said.begun) phi_end(p);
    }
    prompt_begin(p, NULL); /* said is gone */
    if (open) phi_head(p, ROLE_ASSISTANT);
}
