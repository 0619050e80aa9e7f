/* ui_keys.c - the one table of keys: what is obeyed, the footer and the help are made from it. */
#include "app/tui/ui_impl.h"

enum where { EVERYWHERE, IN_CHAT, IN_VIEWS };

struct bind {
    enum where where;
    enum key_name name;
    unsigned mods;
    uint32_t rune;
    const char *keys, *help; /* keys NULL: another key for the row above */
    const char *footer;      /* a word for the footer; NULL: it is not in it */
    void (*run)(struct ui *ui);
};

/* ------------------------------------------------------------------ what keys do */

static void go_chat(struct ui *ui) { ui_go(ui, VIEW_CHAT); }
static void go_map(struct ui *ui) { ui_go(ui, VIEW_MAP); }
static void go_inspect(struct ui *ui) { ui_go(ui, VIEW_INSPECT); }
static void go_agents(struct ui *ui) { ui_go(ui, VIEW_AGENTS); }
static void go_timeline(struct ui *ui) { ui_go(ui, VIEW_TIMELINE); }
static void go_sessions(struct ui *ui) { ui_go(ui, VIEW_SESSIONS); }
static void go_artifacts(struct ui *ui) { ui_go(ui, VIEW_ARTIFACTS); }
static void go_log(struct ui *ui) { ui_go(ui, VIEW_LOG); }
static void go_models(struct ui *ui) { ui_go(ui, VIEW_MODELS); }
static void go_flight(struct ui *ui) { ui_go(ui, VIEW_FLIGHT); }
static void why(struct ui *ui) { ui_card_why(ui); }
static void go_lessons(struct ui *ui) { ui_go(ui, VIEW_LESSONS); }
static void go_help(struct ui *ui) { ui_go(ui, VIEW_HELP); }

static void suspend(struct ui *ui)
{
    if (ui->host.suspend) ui->host.suspend(ui->host.self);
}

static void redraw(struct ui *ui)
{
    if (ui->host.redraw) ui->host.redraw(ui->host.self);
}

static void leave(struct ui *ui)
{
    if (ui->host.leave) ui->host.leave(ui->host.self);
}

static void cancel(struct ui *ui)
{
    ui_notice(ui, UI_CANCELLING);
    if (ui->host.cancel) ui->host.cancel(ui->host.self, "");
}

static void interrupt(struct ui *ui)
{
    size_t n;
    edit_text(ui->edit, &n);
    if (ui->busy) {
        cancel(ui);
    } else if (ui->waiting > 0 && ui_take_back(ui)) { /* it was sent, and had not begun */
        ui_notice(ui, "taken back: it had not begun");
    } else if (ui->asked_leave) {
        leave(ui);
    } else {
        ui->asked_leave = true;
        ui_notice(ui, n > 0 ? "Ctrl-C again leaves; what is typed here is not sent" : "Ctrl-C again leaves");
    }
}

static void end_of_input(struct ui *ui)
{
    size_t n;
    edit_text(ui->edit, &n);
    if (edit_searching(ui->edit)) edit_key(ui->edit, EDIT_DELETE); /* what is typed stands in the search */
    else if (n == 0 && !ui->busy && ui->waiting == 0) leave(ui);
    else if (n == 0) ui_notice(ui, "a turn is running: %s cancels it", ui->question ? "Ctrl-C" : "Esc");
    else edit_key(ui->edit, EDIT_DELETE);
}

/* While the sessions are closed nothing else is obeyed; where that hangs, there is a way out. */
static void leaving_key(struct ui *ui, bool interrupts)
{
    enum { LAST = 3 };
    if (!interrupts) return;
    if (++ui->forced < LAST)
        ui_notice(ui, "Ctrl-C %s ends it at once: what is not saved yet is lost",
                  ui->forced == 1 ? "twice more" : "again");
    else if (ui->host.end) ui->host.end(ui->host.self);
}

static void escape(struct ui *ui)
{
    if (ui->view != VIEW_CHAT) ui_go(ui, VIEW_CHAT);
    else if (ui->busy) cancel(ui);
    else if (*ui->progress && ui->host.cancel) ui->host.cancel(ui->host.self, "");
}

/* ------------------------------------------------------------------ the table */

static const struct bind table[] = {
    {EVERYWHERE, KEY_F1, 0, 0, "F1, ?", "this help (? where nothing is typed)", NULL, go_help},
    {EVERYWHERE, KEY_F2, 0, 0, "F2", "Memory map: every KV page and whose it is", "memory", go_map},
    {EVERYWHERE, KEY_F3, 0, 0, "F3", "Context inspector: what the next call carries, token by token", "inspect",
     go_inspect},
    {EVERYWHERE, KEY_F4, 0, 0, "F4", "Agents: state, limits, totals", "agents", go_agents},
    {EVERYWHERE, KEY_F5, 0, 0, "F5", "Timeline: memory and events of the whole session", "timeline", go_timeline},
    {EVERYWHERE, KEY_F6, 0, 0, "F6", "Sessions that are saved", "sessions", go_sessions},
    {EVERYWHERE, KEY_F7, 0, 0, "F7", "Artifacts: whole results that were clipped", "artifacts", go_artifacts},
    {EVERYWHERE, KEY_F8, 0, 0, "F8", "Log: what was said beside the conversation", "log", go_log},
    {EVERYWHERE, KEY_F9, 0, 0, "F9", "Lessons: why memory runs out, on a small engine of their own", "lessons",
     go_lessons},
    {EVERYWHERE, KEY_F10, 0, 0, "F10", "Models on this machine", "models", go_models},
    {EVERYWHERE, KEY_F11, 0, 0, "F11", "Verdict: why a turn had no memory; or what a log that was pasted here says",
     NULL, why},
    {EVERYWHERE, KEY_F12, 0, 0, "F12", "Post-mortem: the last figures of a session", NULL, go_flight},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '1', "Alt-1 to Alt-9, Alt-0", "the chat, and the views above, without F keys", NULL,
     go_chat},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '2', NULL, NULL, NULL, go_map},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '3', NULL, NULL, NULL, go_inspect},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '4', NULL, NULL, NULL, go_agents},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '5', NULL, NULL, NULL, go_timeline},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '6', NULL, NULL, NULL, go_sessions},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '7', NULL, NULL, NULL, go_artifacts},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '8', NULL, NULL, NULL, go_log},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '9', NULL, NULL, NULL, go_flight},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, '0', NULL, NULL, NULL, go_models},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, 'l', "Alt-L, Alt-V", "lessons and the verdict, without F keys", NULL, go_lessons},
    {EVERYWHERE, KEY_CHAR, KEY_ALT, 'v', NULL, NULL, NULL, why},
    {EVERYWHERE, KEY_CHAR, KEY_CTRL, 'c', "Ctrl-C", "cancels what runs; else leaves, when pressed twice", NULL,
     interrupt},
    {EVERYWHERE, KEY_CHAR, KEY_CTRL, 'd', "Ctrl-D", "leaves, where nothing is typed", NULL, end_of_input},
    {EVERYWHERE, KEY_CHAR, KEY_CTRL, 'z', "Ctrl-Z", "back to the shell for a while (fg returns)", NULL, suspend},
    {EVERYWHERE, KEY_CHAR, KEY_CTRL, 'l', "Ctrl-L", "draws all anew", NULL, redraw},
    {EVERYWHERE, KEY_ESCAPE, 0, 0, "Esc", "from a view to the chat; there it cancels what runs", NULL, escape},
};

/* Keys of the chat that ui_chat.c obeys, for the help. */
static const struct { const char *keys, *help; } chat_keys[] = {
    {"Enter", "sends; Alt-Enter or Ctrl-J begins a new line"},
    {"Tab", "completes /commands, @agents and @files; again: the next"},
    {"Up, Down", "in the first and last row: what was sent before; Ctrl-R searches it"},
    {"Ctrl-A, Ctrl-E, Alt-B, Alt-F", "to the line's ends, word by word"},
    {"Ctrl-W, Ctrl-U, Ctrl-K, Ctrl-Y", "cut a word, to the line's start, to its end; put it back"},
    {"Ctrl-_, Alt-_", "undo, redo"},
    {"Ctrl-X", "the text in your editor ($VISUAL, $EDITOR)"},
    {"Alt-Up", "takes back the newest line that waits"},
    {"PgUp, PgDn, Ctrl-Home, Ctrl-End", "scroll the conversation"},
    {"Ctrl-F", "searches the conversation: Enter the next, Up the one before, Esc ends"},
    {"Ctrl-B", "marks a row of it: Enter folds and opens, c copies, Esc ends"},
    {"Ctrl-N", "looks at the next agent"},
};

int ui_key_rows(const struct ui *ui)
{
    int n = ui->setup.owns > 0 ? ui->setup.owns : (int)COUNT_OF(chat_keys);
    for (size_t i = 0; i < COUNT_OF(table); i++) n += table[i].keys != NULL;
    return n;
}

void ui_key_row(const struct ui *ui, int i, const char **keys, const char **help)
{
    for (size_t k = 0; k < COUNT_OF(table); k++) {
        if (!table[k].keys || i-- > 0) continue;
        *keys = table[k].keys;
        *help = table[k].help;
        return;
    }
    *keys = ui->setup.owns > 0 ? ui->setup.own[i].keys : chat_keys[i].keys;
    *help = ui->setup.owns > 0 ? ui->setup.own[i].help : chat_keys[i].help;
}

/* In the chat, what keys do while they are not for the input; NULL: they are.  What a call waits for has its own on the
 * card. */
static const char *mode_keys(const struct ui *ui)
{
    switch (ui->mode) {
    case MODE_SEARCH: return "Enter next  Up before  Esc ends  ";
    case MODE_BROWSE: return "Up Down move  Enter folds  c copies  Esc ends  ";
    case MODE_QUESTION: return ui->question && ui->question->asks_text ? "Enter answer  Esc none  Ctrl-C cancel  "
                                                                       : "Up Down scroll  Ctrl-C cancel  ";
    default: return edit_searching(ui->edit) ? "Enter take  Ctrl-R older  Esc ends  " : NULL;
    }
}

void ui_footer(const struct ui *ui, struct buf *out)
{
    const char *mode = mode_keys(ui);
    const struct view_ops *v = ui_view(ui->view);
    const bool more = ui->view == VIEW_HELP && ui->help_top < ui_help_last(ui);
    if (v) buf_printf(out, "Esc chat  ? help  %s", v->keys);
    else if (ui->view == VIEW_HELP) buf_printf(out, "Esc chat  %s", more ? "PgDn more  " : "");
    else if (mode) buf_puts(out, mode);
    else if (ui->setup.owns > 0) buf_puts(out, "? help  ");
    else buf_printf(out, "Enter send  Tab complete  %s? help  ", ui->busy ? "Esc cancel  " : "");
    for (int i = 0; i < ui->setup.owns && !v && !mode; i++)
        if (ui->setup.own[i].footer) buf_printf(out, "%s %s  ", ui->setup.own[i].keys, ui->setup.own[i].footer);
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].footer && !v) buf_printf(out, "%s %s  ", table[i].keys, table[i].footer);
}

/* ------------------------------------------------------------------ dispatch */

static const struct bind *find(const struct key *k)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct bind *b = &table[i];
        if (b->name == k->name && b->mods == k->mods && (b->name != KEY_CHAR || b->rune == k->rune)) return b;
    }
    return NULL;
}

/* A page that is scrolled: nothing in it is selected. */
static bool help_key(struct ui *ui, const struct key *k)
{
    struct list at = {.selected = ui->help_top};
    if (ui->view != VIEW_HELP) return false;
    if (!list_key(&at, k, ui_help_last(ui) + 1, MAX(ui->layout.chat.rows / 2, 1))) return false;
    ui->help_top = at.selected;
    return true;
}

/* What a view wants of the others. */
static void carry_out(struct ui *ui, struct view_out *out)
{
    if (out->agent >= 0 && out->agent < ui->state.agents) ui->agent = out->agent;
    if (out->order.len > 0 && !ui_cancels(ui, out->order.data, out->order.len)) {
        snprintf(ui->ordered, sizeof ui->ordered, "%.*s", (int)MIN(out->order.len, sizeof ui->ordered),
                 out->order.data);
        const int before = ui->waiting;
        ui_order(ui, out->order.data, out->order.len);
        if (ui->busy && ui->waiting > before) /* of the chat the row above the input says so */
            ui_notice(ui, "%s " UI_WAITS " %s", ui->ordered,
                      ui->is_command ? "the command that runs" : "the answer that is on its way");
    }
    if (out->copy.len > 0 && ui_copy(ui, out->copy.data, out->copy.len)) ui_notice(ui, "copied: %s", out->copy.data);
    if (out->leave) ui_go(ui, VIEW_CHAT);
    else if (out->go != VIEW_CHAT) ui_go(ui, out->go);
    if (out->ask.kind != DOC_NONE) {
        doc_free(&ui->doc[out->ask.kind]);
        ui_ask(ui, &out->ask);
    } else if (out->agent >= 0) {
        ui_ask_docs(ui, true);
    }
}

static bool view_key(struct ui *ui, const struct key *k)
{
    const struct view_ops *v = ui_view(ui->view);
    struct view_out out = {.agent = -1};
    if (!v) return false;
    const struct view_in in = ui_view_in(ui);
    bool taken = v->key(ui->of_view[ui->view], k, &in, &out);
    if (taken) carry_out(ui, &out);
    buf_free(&out.order);
    buf_free(&out.copy);
    return taken;
}

static bool own_key(struct ui *ui, const struct key *k)
{
    return ui->host.key && ui->mode == MODE_TYPE && ui->host.key(ui->host.self, k);
}

void ui_key(struct ui *ui, const struct key *k, double now)
{
    const struct bind *b = find(k);
    const bool interrupts = b && b->run == interrupt;
    size_t typed;
    ui->now = now;
    if (ui->leaving) {
        leaving_key(ui, interrupts);
        return;
    }
    if (!interrupts) ui->asked_leave = false;
    *ui->notice = '\0';
    edit_text(ui->edit, &typed);
    const bool asks_help = k->name == KEY_CHAR && k->rune == '?' && !k->mods && ui->mode == MODE_TYPE &&
                           (ui->view != VIEW_CHAT || (typed == 0 && !edit_searching(ui->edit)));
    if (ui->mode != MODE_TYPE && !interrupts && ui_chat_key(ui, k)) {
    } else if (!interrupts && ui_card_key(ui, k)) {
    } else if (ui->view != VIEW_CHAT && !interrupts && (view_key(ui, k) || help_key(ui, k))) {
    } else if (!b && own_key(ui, k)) {
    } else if (asks_help) {
        go_help(ui);
    } else if (ui->view == VIEW_CHAT && !b && ui_chat_key(ui, k)) {
    } else if (ui->view == VIEW_CHAT && b && b->run == escape && ui_chat_key(ui, k)) {
    } else if (b) {
        b->run(ui);
    }
    ui_relayout(ui);
}
