/* ui_card.c - the verdict card over the conversation: when it comes, what its keys do, and logs that are pasted. */
#include "app/tui/ui_impl.h"

enum { PASTED_LEAST = 40 /* bytes that may be a report */ };

static bool is_memory(const struct verdict *v)
{
    return v->cause != CAUSE_UNKNOWN && v->cause != CAUSE_NOT_MEMORY;
}

/* ------------------------------------------------------------------ when it comes */

/* Over the conversation, unless the person is in the middle of something: then a line says how to see it. */
static void show(struct ui *ui, const struct verdict *v, const char *agent)
{
    size_t typed;
    edit_text(ui->edit, &typed);
    card_show(&ui->card, v, true);
    ui->card_since = -1;
    ui->card_late = false;
    snprintf(ui->card_agent, sizeof ui->card_agent, "%s", agent);
    ui->card.on = typed == 0 && ui->view == VIEW_CHAT && ui->mode == MODE_TYPE && ui->waiting == 0;
    if (!ui->card.on) ui_notice(ui, "F11 says why, and what helps: %s", cause_words(v->cause));
}

/* The fixes are for the turn that failed last, and for no other. */
static void too_late(struct ui *ui)
{
    if (!ui->setup.live) return;
    ui->card.on = false;
    ui->card_late = true;
}

void ui_card_event(struct ui *ui, const struct event *e)
{
    struct verdict v;
    char agent[STATE_NAME];
    const int before = ui->judge ? judge_failures(ui->judge) : 0;
    if (e->kind == EV_UNDONE || e->kind == EV_RESUMED) too_late(ui); /* that turn is gone, or out of sight */
    if (!ui->judge) return;
    judge_feed(ui->judge, e);
    if (judge_failures(ui->judge) == before || !ui->setup.live) return;
    if (!judge_verdict(ui->judge, JUDGE_LAST, &v) || !is_memory(&v)) return;
    snprintf(agent, sizeof agent, "%.*s", event_part(e->agent, sizeof agent - 1), e->agent.data ? e->agent.data : "");
    show(ui, &v, agent);
}

void ui_card_asked(struct ui *ui, const char *text, size_t n)
{
    ui->asked.len = 0;
    ui->card.on = false; /* it was about the turn before */
    ui->card_late = true;
    buf_put(&ui->asked, text, n);
    if (ui->asked.failed) buf_free(&ui->asked);
}

static bool explain(const char *text, size_t n, struct verdict *v)
{
    return n >= PASTED_LEAST && explain_text(text, n, v, 1) > 0 && is_memory(v);
}

/* What the text says, with what is known beside it. */
static void show_explained(struct ui *ui, const struct verdict *v, const struct explain_answers *known)
{
    card_show(&ui->card, v, false);
    ui->card.known = *known;
    ui->card.question = explain_next_question(v, known);
}

static void answer(struct ui *ui, int choice)
{
    size_t n;
    const char *typed = edit_text(ui->edit, &n);
    struct explain_answers known = ui->card.known;
    struct verdict v;
    known.of[ui->card.question] = choice + 1;
    if (explain_with(typed, n, &known, &v, 1) > 0) show_explained(ui, &v, &known);
}

void ui_card_pasted(struct ui *ui, const char *text, size_t n)
{
    struct verdict v;
    if (!explain(text, n, &v)) return;
    ui_notice(ui, "F11 explains this log, Enter sends it: memory ran out there (%s)", cause_words(v.cause));
}

/* F11: on the log that is typed or pasted, or else on the last turn that had no memory. */
void ui_card_why(struct ui *ui)
{
    size_t n;
    const char *typed = edit_text(ui->edit, &n);
    struct verdict v;
    if (ui->card.on) {
        ui->card.on = false;
        return;
    }
    const bool pasted = explain(typed, n, &v);
    const bool own = !pasted && ui->judge && judge_verdict(ui->judge, JUDGE_LAST, &v);
    if (!pasted && !own) {
        ui_notice(ui, n > 0 ? "nothing in this text says why memory ran out"
                            : "no turn lacked memory; F11 explains a log that is pasted here");
        return;
    }
    ui_go(ui, VIEW_CHAT);
    if (pasted) show_explained(ui, &v, &(struct explain_answers){{0}});
    else card_show(&ui->card, &v, ui->setup.live && !ui->card_late);
    ui->card_since = ui->now - UI_PAUSE; /* it was asked for */
}

/* ------------------------------------------------------------------ what its keys do */

/* In a crew a command is for the agent whose turn it was. */
static void order(struct ui *ui, const char *command)
{
    struct buf line = {0};
    if (*ui->card_agent && !strchr(ui->card_agent, '/')) buf_printf(&line, "/for %s ", ui->card_agent);
    buf_puts(&line, command);
    if (!line.failed) ui_order(ui, line.data, line.len);
    buf_free(&line);
}

static void apply(struct ui *ui, const struct verdict_fix *f)
{
    char limit[60];
    ui->card.on = false;
    switch (f->apply) {
    case APPLY_COMPACT: order(ui, "/compact"); break;
    case APPLY_UNDO: order(ui, "/undo"); break;
    case APPLY_MAX_TOKENS:
        snprintf(limit, sizeof limit, "/limit answer %lld", (long long)f->value);
        order(ui, limit);
        break;
    case APPLY_DROP_RESULT: /* which one is the person's to say */
        ui_go(ui, VIEW_INSPECT);
        ui_notice(ui, "d drops what is marked: the results of tools are in this list");
        return;
    case APPLY_SOUND_POLICY: /* it is in force already */
    case APPLY_NOTHING: break;
    }
    if (ui->asked.len > 0) ui_order(ui, ui->asked.data, ui->asked.len);
}

static void to_file(struct ui *ui)
{
    struct buf text = {0};
    char path[200] = "";
    card_text(&ui->card, &text);
    const bool done = !text.failed && ui->host.save && ui->host.save(ui->host.self, text.data, text.len, path);
    if (done) ui_notice(ui, "written: %s", path);
    else ui_notice(ui, "it could not be written: %s", *path ? path : "there is no place for it");
    buf_free(&text);
}

static void copy(struct ui *ui)
{
    struct buf text = {0};
    card_text(&ui->card, &text);
    if (text.failed) ui_notice(ui, "no memory to copy this");
    else if (ui_copy(ui, text.data, text.len)) ui_notice(ui, "copied: all that the card says");
    buf_free(&text);
}

/* false: it is somebody else's key; a letter that is not the card's is the beginning of a text. */
bool ui_card_key(struct ui *ui, const struct key *k)
{
    int place = 0;
    if (!ui->card.on || ui->view != VIEW_CHAT || ui->mode != MODE_TYPE) return false;
    const enum card_wish wish = card_key(&ui->card, k, &place);
    const bool early = ui->card_since < 0 || ui->now - ui->card_since < UI_PAUSE;
    if (early && wish >= CARD_APPLY) { /* whoever types has not read it */
        ui_notice(ui, "this just came: read it, then press its key");
        return true;
    }
    switch (wish) {
    case CARD_NOT_ITS:
        if (k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT))) ui->card.on = false;
        return false;
    case CARD_NOTHING: return true;
    case CARD_CLOSE: ui->card.on = false; return true;
    case CARD_APPLY: apply(ui, &ui->card.v.fix[place]); return true;
    case CARD_ANSWER: answer(ui, place); return true;
    case CARD_FILE: to_file(ui); return true;
    case CARD_COPY: copy(ui); return true;
    }
    return false;
}

void ui_card_draw(struct ui *ui, struct surface *s)
{
    const struct layout *l = &ui->layout;
    if (!ui->card.on || ui->view != VIEW_CHAT) return;
    if (ui->card_since < 0) ui->card_since = ui->now;
    const struct box all = {0, 0, ui->setup.columns, l->input.row};
    const bool low = l->chat.rows < CARD_ROWS || l->chat.columns < CARD_COLUMNS;
    card_draw(&ui->card, s, low ? all : l->chat, ui->glyphs);
}
