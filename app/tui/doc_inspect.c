/* doc_inspect.c - collects what the inspector shows: see view_inspect.h. */
#include "app/console.h"
#include "app/session/session_carries.h"
#include "app/session/session_impl.h"
#include "engine/thinking.h"
#include "app/tui/doc.h"
#include "app/tui/view_inspect.h"
#include "tools/escape.h"
#include <inttypes.h>

static void inspect_free(void *data)
{
    struct inspect *x = data;
    free(x->row);
    free(x->spell);
    buf_free(&x->texts);
    buf_free(&x->diff);
    buf_free(&x->spelled);
    ids_free(&x->ids);
    free(x);
}

/* ---------------------------------------------------------------- a row */

static enum context_part part_of(const struct carried *p)
{
    static const enum context_part part[WINDOW_PARTS] = {
        [WINDOW_SYSTEM] = CONTEXT_SYSTEM, [WINDOW_TOOLS] = CONTEXT_SYSTEM, [WINDOW_PINNED] = CONTEXT_PINNED,
        [WINDOW_TASK] = CONTEXT_PINNED, [WINDOW_SUMMARY] = CONTEXT_SUMMARY, [WINDOW_REFERENCE] = CONTEXT_HISTORY,
        [WINDOW_HISTORY] = CONTEXT_HISTORY, [WINDOW_RESULTS] = CONTEXT_TOOL, [WINDOW_REQUEST] = CONTEXT_HISTORY};
    return p->opening ? CONTEXT_HISTORY : part[p->item.part];
}

static const char *kind_of(const struct carried *p)
{
    if (p->opening) return "opening";
    switch (p->item.part) {
    case WINDOW_SYSTEM: return "system";
    case WINDOW_TOOLS: return "tools";
    case WINDOW_PINNED: return "pinned";
    case WINDOW_TASK: return "tasks";
    case WINDOW_SUMMARY: return "summary";
    case WINDOW_REFERENCE: return "left out";
    case WINDOW_HISTORY: return p->kind == JOURNAL_USER ? "question" : "answer";
    default: return p->kind == JOURNAL_CALL ? "tool call" : "tool result";
    }
}

/* A result is its tool's, as the call before says. */
static void name_tool(const struct session_carries *c, size_t i, char who[INSPECT_WHO])
{
    struct form_call call;
    while (i > 0 && c->part[i].kind == JOURNAL_RESULT) i--;
    const struct carried *p = &c->part[i];
    if (p->kind != JOURNAL_CALL) return;
    const char *text = c->texts.data + p->text;
    const size_t at = thinking_end(text, p->len); /* while its turn goes on */
    if (forms_read_call_as(FORM_CALLS_ANY, text + at, p->len - at, &call, NULL)) return;
    snprintf(who, INSPECT_WHO, "%s", call.name);
    forms_call_free(&call);
}

/* Who handed over what is in a message, in their order: "ann, bob".  Nothing: nobody, the person said it. */
static void name_givers(const char *text, size_t n, char who[INSPECT_WHO])
{
    static const char before[] = "Hand-over from ", behind[] = " to ";
    size_t used = 0;
    for (const char *at = text, *end = text + n; (at = memmem(at, (size_t)(end - at), before, sizeof before - 1));) {
        const bool begins = at == text || at[-1] == '\n';
        at += sizeof before - 1;
        const char *line = memchr(at, '\n', (size_t)(end - at)), *stop = line ? line : end;
        const char *to = memmem(at, (size_t)(stop - at), behind, sizeof behind - 1);
        if (!begins || !to || used >= INSPECT_WHO - 1) continue;
        int put = snprintf(who + used, INSPECT_WHO - used, "%s%.*s", used ? ", " : "", (int)MIN(to - at, 40), at);
        used += (size_t)MAX(put, 0);
    }
}

/* A system message is the person's, the crew file's, or what the program says where nobody says another. */
static const char *author_of(const struct session *s, const char *text, size_t n)
{
    const struct opts *o = s->a->o;
    if (*s->role.name) return "the crew file";
    const bool usual = !o->own_system && o->system && strlen(o->system) == n && memcmp(o->system, text, n) == 0;
    return usual ? "plimsoll" : "user";
}

static void name_who(const struct session *s, const struct session_carries *c, size_t i, char who[INSPECT_WHO])
{
    const struct carried *p = &c->part[i];
    const enum journal_kind k = p->kind;
    const char *text = c->texts.data ? c->texts.data + p->text : "";
    const bool person = k == JOURNAL_USER || k == JOURNAL_PIN || k == JOURNAL_NOTE;
    const char *usual = person ? "user" : k == JOURNAL_ANSWER || k == JOURNAL_CALL ? "model" : "plimsoll";
    if (k == JOURNAL_SYSTEM) usual = author_of(s, text, p->len);
    snprintf(who, INSPECT_WHO, "%s", usual);
    if (k == JOURNAL_RESULT) name_tool(c, i, who);
    if (k == JOURNAL_USER && *s->role.name) name_givers(text, p->len, who);
}

static void fill_row(const struct session *s, const struct session_carries *c, size_t i, int64_t line,
                     struct inspect_row *r)
{
    const struct carried *p = &c->part[i];
    const bool message = p->item.part == WINDOW_HISTORY || p->item.part == WINDOW_RESULTS;
    const bool stands = p->item.ref.messages > 0;
    *r = (struct inspect_row){.part = (uint8_t)part_of(p), .number = p->item.id, .turn = p->turn, .text = p->text,
                              .len = p->len, .id = p->id, .n_ids = p->n_ids,
                              .line = stands && p->item.part != WINDOW_SUMMARY};
    snprintf(r->kind, sizeof r->kind, "%s", kind_of(p));
    name_who(s, c, i, r->who);
    if (stands) window_ref_name(&p->item.ref, r->name);
    else if (p->item.id) snprintf(r->name, sizeof r->name, "m%" PRIu64, p->item.id);
    if (p->artifact) snprintf(r->whole, sizeof r->whole, "a%" PRIu64, p->artifact);
    if (p->item.part == WINDOW_PINNED) r->can = INSPECT_UNPIN;
    if (!message || p->opening || stands) return;
    r->can = INSPECT_PIN;
    r->frees = p->item.tokens - line;
    for (size_t k = i + 1; p->kind == JOURNAL_CALL && c->part[k].kind == JOURNAL_RESULT; k++)
        r->frees += c->part[k].item.ref.messages > 0 ? line : c->part[k].item.tokens; /* they go with their call */
    if (r->frees > 0 && !p->opens_turn) r->can |= INSPECT_DROP;
}

/* ---------------------------------------------------------------- tokens as text */

static int spell(const struct vocab *v, struct inspect *x)
{
    x->spell = calloc(x->ids.n + 1, sizeof *x->spell);
    for (size_t i = 0; x->spell && i < x->ids.n; i++) {
        const char *bytes;
        const bool plain = vocab_attr(v, x->ids.id[i]) != VOCAB_CONTROL;
        size_t n = plain ? vocab_piece(v, x->ids.id[i], &bytes) : 0;
        if (n == 0) n = vocab_spelling(v, x->ids.id[i], &bytes);
        escape_text(bytes, n, &x->spelled);
        x->spell[i + 1] = (uint32_t)MIN(x->spelled.len, (size_t)UINT32_MAX);
    }
    return x->spell && !x->spelled.failed ? 0 : -1;
}

/* ---------------------------------------------------------------- the whole */

static int fill(struct session *s, struct session_carries *c, struct inspect *x, struct err *err)
{
    struct window_figures f;
    window_figures(s->w, &f);
    x->ctx = s->role.ctx;
    x->limit = c->call.limit;
    x->reserve = f.reserve;
    x->answer = c->call.answer + c->call.thinking;
    x->high = f.high;
    x->compact = f.by_compact;
    x->no_summaries = session_no_summaries(s);
    x->leaves = !guards_no_window(&s->a->o->off);
    x->due = window_due(s->w);
    x->row = calloc(c->n, sizeof *x->row);
    for (size_t i = 0; x->row && i < c->n; i++) fill_row(s, c, i, f.line, &x->row[i]);
    x->rows = (int)c->n;
    x->texts = c->texts;
    x->ids = c->ids;
    c->texts = (struct buf){0};
    c->ids = (struct ids){0};
    session_summary(s, &x->diff, NULL);
    if (!x->row || x->diff.failed || spell(s->a->ops->vocab(s->a->engine), x))
        return err_set(err, -1, "no memory to show the call");
    return 0;
}

void doc_inspect(struct console *c, struct doc *d)
{
    const int i = d->ask.agent;
    struct err err = {0};
    if (i < 0 || i >= c->team.n || !c->team.member[i].open || !c->team.member[i].s.w) {
        snprintf(d->error, sizeof d->error, "it answers one ask beside others, and keeps no conversation of its own");
        return;
    }
    struct session *s = &c->team.member[i].s;
    struct session_carries all;
    struct inspect *x = calloc(1, sizeof *x);
    int rc = x ? session_carries(s, &all, &err) : err_set(&err, -1, "no memory to show the call");
    if (rc == 0) rc = fill(s, &all, x, &err);
    if (x) session_carries_free(&all);
    if (rc) {
        snprintf(d->error, sizeof d->error, "%.230s", err.text);
        if (x) inspect_free(x);
        return;
    }
    snprintf(x->agent, sizeof x->agent, "%.39s", s->role.name);
    x->aside = c->team.n > 1 && c->team.current != i;
    d->data = x;
    d->free = inspect_free;
}
