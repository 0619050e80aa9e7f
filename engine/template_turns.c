/* template_turns.c - families in which a person and the model have turns, in alternation: the originals refuse all
 * else.  So neighbours on one side share a turn, as the originals have the system text with the first question.  Texts
 * of a turn are one run, with what the template writes between them. */
#include "engine/template_impl.h"

static bool is_model(const struct msg *m) { return m->role == ROLE_ASSISTANT; }
static bool one_side(const struct msg *a, const struct msg *b) { return is_model(a) == is_model(b); }

bool turns_has(enum template_kind k)
{
    return k == TEMPLATE_GEMMA || k == TEMPLATE_LLAMA2 || k == TEMPLATE_MISTRAL1;
}

/* Gemma's turns are runs, and of the others a question's turn and the answer's. */
bool turns_joins(enum template_kind k, const struct msg *m, const struct msg *next)
{
    return one_side(m, next) || (k != TEMPLATE_GEMMA && is_model(next));
}

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

/* ---------------------------------------------------------------- Llama 2, Mistral v1
 *
 *     Llama 2      <s>[INST] <<SYS>>\nsystem\n<</SYS>>\n\nHello [/INST] answer </s><s>[INST] ...
 *     Mistral v1   <s> [INST] system\n\nHello [/INST] answer</s> [INST] ...
 *
 * All but <s> and </s> is text.  Llama 2's texts are stripped but for the system's; Mistral's stay as they are.
 * Templates in files of Mistral 7B v0.1, v0.2 and Mixtral 8x7B differ in blanks ("[/INST]answer</s>", "</s> "): what is
 * written is the last of them, as the models were trained.  Its blank before [INST] is the one that encoding with an
 * SPM vocabulary puts there, not a second. */

static struct msg inst_said(const struct prompt *p, const struct msg *m)
{
    struct msg said = p->kind == TEMPLATE_LLAMA2 && m->role != ROLE_SYSTEM ? prompt_stripped(*m) : *m;
    const bool behind_system = m != p->first && m[-1].role == ROLE_SYSTEM;
    if (p->kind == TEMPLATE_LLAMA2 && m->role == ROLE_USER && behind_system && said.len > 0) {
        said.len += (size_t)(said.text - m->text); /* the original strips the two together */
        said.text = m->text;
    }
    return said;
}

/* What stands before a message on its side's account: the head of a turn, or the gap to the one before. */
static const char *inst_lead(const struct prompt *p, const struct msg *m, const struct msg *said)
{
    const char *blank = p->v->space_prefix ? "" : " ";
    const bool empty = p->kind == TEMPLATE_LLAMA2 && said->len == 0 && m->role != ROLE_SYSTEM && m->role != ROLE_TOOL;
    if (m == p->first && is_model(m)) return blank;
    if (m == p->first) return p->kind == TEMPLATE_MISTRAL1 && *blank ? " [INST] " : "[INST] ";
    if (!one_side(m - 1, m)) return " ";
    return empty ? "" : gap(m - 1, m);
}

static struct frame inst_frame(const struct prompt *p, const struct msg *m)
{
    const bool last = m == p->last, llama = p->kind == TEMPLATE_LLAMA2, system = llama && m->role == ROLE_SYSTEM;
    const bool opens = m == p->first || !one_side(m - 1, m);
    struct frame f = {.said = inst_said(p, m)};
    add(f.before, inst_lead(p, m, &f.said));
    if (system && (opens || m[-1].role != ROLE_SYSTEM)) add(f.before, "<<SYS>>\n");
    if (system && (last || m[1].role != ROLE_SYSTEM)) add(f.after, "\n<</SYS>>");
    if (m->role == ROLE_TOOL) add_result(&f);
    if (!is_model(m) && (last || is_model(m + 1))) add(f.after, " [/INST]");
    if (!is_model(m)) return f;
    if (llama && last && !m->begun) add(f.after, " ");
    if (opens) f.said = prompt_answer(f.said);
    return f;
}

static const struct prompt_bent inst_marks[] = {
    {"[INST]", "(INST)"}, {"[/INST]", "(/INST)"}, {"<<SYS>>", "((SYS))"}, {"<</SYS>>", "((/SYS))"}, {NULL, NULL}};

/* ---------------------------------------------------------------- writing */

static struct frame frame_of(const struct prompt *p, const struct msg *m)
{
    return p->kind == TEMPLATE_GEMMA ? gemma_frame(p, m) : inst_frame(p, m);
}

struct part turns_part(const struct prompt *p, const struct msg *m)
{
    const struct frame f = frame_of(p, m);
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
        const struct frame f = frame_of(p, m);
        put_all(p, f.before);
        if (p->kind == TEMPLATE_GEMMA) prompt_put(p, f.said.text, f.said.len);
        else prompt_unmarked(p, inst_marks, f.said.text, f.said.len);
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
    if (last->begun) return;
    prompt_mark(p, "<end_of_turn>");
    prompt_put(p, "\n", 1);
}

/* Behind a question the answer follows, with no head. */
static void inst_turns(struct prompt *p, const struct msg *first, const struct msg *last)
{
    prompt_begin(p, first);
    if (p->kind == TEMPLATE_LLAMA2) prompt_mark(p, "<s>");
    put_shared(p, first, last);
    if (is_model(last) && !last->begun) prompt_mark(p, "</s>");
}

void turns_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    const bool gemma = p->kind == TEMPLATE_GEMMA;
    if (gemma) prompt_mark(p, "<bos>");
    if (p->kind == TEMPLATE_MISTRAL1) prompt_mark(p, "<s>");
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && turns_joins(p->kind, &msgs[end - 1], &msgs[end]);) end++;
        if (gemma) gemma_turn(p, &msgs[i], &msgs[end - 1]);
        else inst_turns(p, &msgs[i], &msgs[end - 1]);
    }
    prompt_begin(p, NULL);
    if (gemma && open) gemma_head(p, true);
}
