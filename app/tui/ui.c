/* ui.c - news and time: what is shown, and what is asked for. */
#include "app/say.h"
#include "app/tui/ui_impl.h"

enum { TEXTS = 8 << 20, ENTRIES = 4000 };

static const struct view_ops *const views[VIEWS] = {
    [VIEW_MAP] = &view_map, [VIEW_INSPECT] = &view_inspect, [VIEW_AGENTS] = &view_agents,
    [VIEW_TIMELINE] = &view_timeline, [VIEW_SESSIONS] = &view_sessions, [VIEW_ARTIFACTS] = &view_artifacts,
    [VIEW_FLIGHT] = &view_flight, [VIEW_MODELS] = &view_models, [VIEW_LOG] = &view_log,
    [VIEW_LESSONS] = &view_lessons,
};

const struct view_ops *ui_view(enum view_name v) { return views[v]; }

/* ------------------------------------------------------------------ open and close */

static int open_parts(struct ui *ui, struct err *err)
{
    const struct ui_setup *s = &ui->setup;
    struct transcript_limits limits = {TEXTS, ENTRIES, s->stored};
    state_open(&ui->state);
    ui->transcript = transcript_open(limits, err);
    ui->judge = judge_open();
    if (!ui->transcript || log_open(&ui->log, err) || surface_open(&ui->surface, s->columns, s->rows, err)) return -1;
    ui->edit = edit_open(err);
    return ui->edit ? 0 : -1;
}

struct ui *ui_open(const struct ui_setup *setup, const struct ui_host *host, struct err *err)
{
    struct ui *ui = calloc(1, sizeof *ui);
    if (!ui) {
        err_set(err, -1, "no memory for the screen");
        return NULL;
    }
    ui->setup = *setup;
    ui->host = *host;
    ui->glyphs = setup->utf8 ? GLYPHS_UTF8 : GLYPHS_ASCII;
    ui->marked = -1;
    ui->around = "";
    if (open_parts(ui, err)) {
        ui_close(ui);
        return NULL;
    }
    ui_relayout(ui);
    return ui;
}

void ui_close(struct ui *ui)
{
    if (!ui) return;
    for (int v = 0; v < VIEWS; v++)
        if (ui->of_view[v]) views[v]->close(ui->of_view[v]);
    for (int k = 0; k < DOC_KINDS; k++) doc_free(&ui->doc[k]);
    while (ui->question) ui_question_drop(ui, ui->question->number);
    buf_free(&ui->draft);
    buf_free(&ui->asked);
    judge_close(ui->judge);
    complete_free(&ui->candidates);
    transcript_close(ui->transcript);
    edit_close(ui->edit);
    log_close(&ui->log);
    state_close(&ui->state);
    surface_close(&ui->surface);
    free(ui);
}

struct edit *ui_edit(struct ui *ui) { return ui->edit; }
const char *ui_last_error(const struct ui *ui) { return ui->last_error; }

void ui_session(const struct ui *ui, char id[9])
{
    snprintf(id, 9, "%.8s", ui->turns > 0 && ui->state.saved_turn > 0 ? ui->session : "");
}

bool ui_busy(const struct ui *ui) { return ui->busy; }

void ui_recorded(struct ui *ui, const char *words, double part)
{
    snprintf(ui->recorded.words, sizeof ui->recorded.words, "%s", words);
    ui->recorded.part = part;
}

void ui_begin_again(struct ui *ui)
{
    state_close(&ui->state);
    state_open(&ui->state);
    transcript_forget(ui->transcript);
    judge_close(ui->judge);
    ui->judge = judge_open();
    ui->card.on = false;
}

bool ui_copy(struct ui *ui, const char *text, size_t n)
{
    const size_t copied = ui->host.copy ? ui->host.copy(ui->host.self, text, n) : 0;
    if (copied == n) return true;
    if (copied > 0) ui_notice(ui, "copied: the first %zu of %zu bytes", copied, n);
    else ui_notice(ui, "this could not be copied");
    return false;
}

void ui_notice(struct ui *ui, const char *fmt, ...)
{
    char line[2 * sizeof ui->notice];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    state_text(ui->notice, sizeof ui->notice, event_str(line));
}

void ui_leave(struct ui *ui)
{
    ui->leaving = true;
    ui_go(ui, VIEW_CHAT);
    ui_notice(ui, "leaving: what was said is being saved");
}

/* ------------------------------------------------------------------ size */

void ui_relayout(struct ui *ui)
{
    struct layout_wish w = {.columns = ui->setup.columns, .rows = ui->setup.rows,
                            .machine = ui->state.gauges.machine.there};
    edit_width(ui->edit, MAX(w.columns - ui_prompt_columns(ui) - 1, 2));
    w.input_rows = edit_rows(ui->edit, MAX(w.rows, 1));
    ui->layout = layout_for(w);
}

void ui_resize(struct ui *ui, int columns, int rows)
{
    struct err err = {0};
    if (surface_resize(&ui->surface, columns, rows, &err)) return; /* the old size is drawn on */
    ui->setup.columns = columns;
    ui->setup.rows = rows;
    ui_relayout(ui);
}

/* ------------------------------------------------------------------ views and their docs */

struct box ui_view_box(const struct ui *ui)
{
    const struct layout *l = &ui->layout;
    const int top = l->chat.row, end = l->footer.rows > 0 ? l->footer.row : ui->setup.rows;
    return (struct box){0, top, ui->setup.columns, MAX(end - top, 0)};
}

struct view_in ui_view_in(const struct ui *ui)
{
    const struct doc *doc = &ui->doc[ui->asked_for[ui_beside(ui)]];
    return (struct view_in){.state = &ui->state, .doc = doc->ask.kind ? doc : NULL, .log = &ui->log,
                            .glyphs = ui->glyphs, .mono = ui->setup.mono, .agent = ui->agent};
}

void ui_ask(struct ui *ui, const struct doc_ask *what)
{
    ui->asked_for[ui_beside(ui)] = what->kind;
    ui->asked_at[what->kind] = ui->now;
    if (ui->host.ask) ui->host.ask(ui->host.self, what);
}

/* The chat has the inspector beside it where there is room. */
enum view_name ui_beside(const struct ui *ui)
{
    return ui->view == VIEW_CHAT && ui->layout.inspect.columns > 0 ? VIEW_INSPECT : ui->view;
}

void ui_ask_docs(struct ui *ui, bool anew)
{
    const enum view_name beside = ui_beside(ui);
    const struct view_ops *v = views[beside];
    struct doc_ask what = {.kind = DOC_NONE, .agent = ui->agent};
    if (v && !ui->of_view[beside]) ui->of_view[beside] = v->open();
    if (!v || !v->ask || !ui->of_view[beside]) return;
    const struct view_in in = ui_view_in(ui);
    v->ask(ui->of_view[beside], beside == ui->view ? ui_view_box(ui) : ui->layout.inspect, &in, &what);
    if (what.kind == DOC_NONE) return;
    const bool old = v->every > 0 && ui->now - ui->asked_at[what.kind] >= v->every;
    if (anew || old) ui_ask(ui, &what);
}

void ui_go(struct ui *ui, enum view_name v)
{
    ui->view = v;
    ui_complete_end(ui);
    if (!views[v]) return;
    if (!ui->of_view[v]) ui->of_view[v] = views[v]->open();
    if (!ui->of_view[v]) {
        ui_notice(ui, "no memory for this view");
        ui->view = VIEW_CHAT;
        return;
    }
    ui_ask_docs(ui, true);
}

bool ui_tick(struct ui *ui, double now)
{
    enum view_tick most = VIEW_RESTS;
    ui->now = now;
    ui_ask_docs(ui, false);
    for (int v = 0; v < VIEWS; v++)
        if (ui->of_view[v] && views[v]->tick) most = MAX(most, views[v]->tick(ui->of_view[v]));
    ui->goes_on = most != VIEW_RESTS;
    return ui->busy || most == VIEW_CHANGED;
}

bool ui_goes_on(const struct ui *ui) { return ui->goes_on; }

/* ------------------------------------------------------------------ news */

static void on_event(struct ui *ui, const struct event *e)
{
    state_event(&ui->state, e);
    ui_card_event(ui, e);
    if (e->kind == EV_REFUSAL) state_text(ui->refused, sizeof ui->refused, e->refusal.text);
    if (ui->setup.live && (e->kind == EV_TURN_USER || e->kind == EV_ERROR || e->kind == EV_RESUMED)) return;
    const bool says_so = ui->is_command && !ui->asks_again; /* what it is about, itself */
    if (says_so && (e->kind == EV_CONTEXT || e->kind == EV_UNDONE)) return;
    if (e->kind == EV_CONTEXT && !says_so && e->context.change.len == 13 &&
        memcmp(e->context.change.data, "front_changed", 13) == 0)
        return;
    transcript_event(ui->transcript, e);
}

static void on_begun(struct ui *ui, const struct news *n)
{
    const char *text = n->text.data ? n->text.data : "";
    ui->busy = true;
    ui->busy_since = ui->now;
    ui->is_command = *text == '/';
    ui->asks_again = strcmp(text, "/retry") == 0 || strncmp(text, "/edit ", 6) == 0;
    ui->for_view = ui->is_command && strncmp(text, ui->ordered, sizeof ui->ordered - 1) == 0;
    if (ui->for_view) *ui->ordered = '\0';
    if (ui->for_view && strstr(ui->notice, " " UI_WAITS " ")) *ui->notice = '\0';
    ui->waiting = MAX(ui->waiting - 1, 0);
    if (ui->is_command) transcript_command(ui->transcript, text, n->text.len);
    else transcript_said(ui->transcript, text, n->text.len);
    if (!ui->is_command) ui_card_asked(ui, text, n->text.len);
}

static void on_done(struct ui *ui, const struct news *n)
{
    ui->busy = ui->is_command = ui->for_view = false;
    *ui->progress = '\0';
    if (strcmp(ui->notice, UI_CANCELLING) == 0) *ui->notice = '\0';
    ui->typed.n = SIZE_MAX; /* what stands beside the typed text has changed */
    ui_ask_docs(ui, true);
    if (n->value < 0) ui_leave(ui);
}

static void on_line(struct ui *ui, const struct news *n)
{
    const char *text = n->text.data ? n->text.data : "";
    if (n->value == SAY_PROGRESS) {
        state_text(ui->progress, sizeof ui->progress, event_str(text));
        return;
    }
    const enum log_kind kind = n->value == SAY_ERROR ? LOG_ERROR : n->value == SAY_DIM ? LOG_DIM : LOG_PLAIN;
    if (kind == LOG_ERROR) state_text(ui->last_error, sizeof ui->last_error, event_str(text));
    log_put(&ui->log, ui->state.time, kind, text, n->text.len);
    if (ui->for_view && ui->view != VIEW_CHAT && (kind == LOG_ERROR || !*ui->notice)) ui_notice(ui, "%s", text);
    if (n->said && n->value != SAY_ERROR) return; /* about a turn: events say the same */
    if (kind == LOG_ERROR && *ui->refused && strcmp(ui->last_error, ui->refused) == 0) { /* the refusal said it */
        *ui->refused = '\0';
        return;
    }
    transcript_line(ui->transcript, n->value == SAY_ERROR, text, n->text.len);
}

static void on_session(struct ui *ui, const struct news *n)
{
    const char *text = n->text.data ? n->text.data : "", *turns = strchr(text, '\n');
    const char *title = turns ? strchr(turns + 1, '\n') : NULL;
    if (!title) return;
    snprintf(ui->session, sizeof ui->session, "%.*s", (int)(turns - text), text);
    state_text(ui->title, sizeof ui->title, event_str(title + 1));
    ui->turns = strtoll(turns + 1, NULL, 10);
    const bool followed = ui->agent == ui->current;
    ui->current = (int)n->value;
    if (followed && ui->current >= 0) ui->agent = ui->current;
}

static void on_doc(struct ui *ui, struct news *n)
{
    struct doc *d = &ui->doc[n->doc.ask.kind];
    doc_free(d);
    *d = n->doc;
    n->doc = (struct doc){0};
}

static void on_agent(struct ui *ui, const struct news *n)
{
    const char *name = n->text.data ? n->text.data : "";
    ui->crew = ui->crew || n->value > 0;
    state_name(&ui->state, name);
    transcript_name(ui->transcript, name);
}

static void on_past(struct ui *ui, const struct news *n)
{
    if (n->kind == NEWS_PAST) {
        transcript_event(ui->transcript, &n->event);
        return;
    }
    char line[200] = "a new conversation", title[121];
    state_text(title, sizeof title, event_str(n->text.data ? n->text.data : ""));
    if (n->value != 0)
        snprintf(line, sizeof line, "goes on after %lld turn%s: %s", (long long)n->value, n->value == 1 ? "" : "s",
                 title);
    transcript_forget(ui->transcript);
    transcript_line(ui->transcript, false, line, strlen(line));
}

void ui_news(struct ui *ui, struct news *n)
{
    switch (n->kind) {
    case NEWS_EVENT: on_event(ui, &n->event); break;
    case NEWS_PAST_BEGINS:
    case NEWS_PAST: on_past(ui, n); break;
    case NEWS_AGENT: on_agent(ui, n); break;
    case NEWS_BEGUN: on_begun(ui, n); break;
    case NEWS_DONE: on_done(ui, n); break;
    case NEWS_LINE: on_line(ui, n); break;
    case NEWS_DOC: on_doc(ui, n); break;
    case NEWS_QUESTION: ui_question_put(ui, n); break;
    case NEWS_WITHDRAWN: ui_question_drop(ui, n->value); break;
    case NEWS_SESSION: on_session(ui, n); break;
    case NEWS_OVER:
        ui->over = true;
        ui->status = n->value;
        break;
    }
}
