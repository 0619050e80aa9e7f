/* console.c - a person at a terminal, line by line.
 *
 * The terminal itself edits the line (its canonical mode), so it hands over at most 4095 bytes of one; a longer one
 * would come cut, and is refused instead.  Ctrl-C ends an answer; at the prompt a second one leaves.  Prompt and
 * figures go to stderr. */
#include "app/commands.h"
#include "app/say.h"
#include "app/signals.h"
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

enum { TTY_LINE = 4095, NAME_MOST = 47 };

/* ---------------------------------------------------------------- turns */

static void say_figures(struct console *c)
{
    const struct turn_result *t = &c->s->last;
    struct buf b = {0};
    int used = t->n_prompt + t->n_tokens, ctx = c->a->info->ctx;
    buf_printf(&b, "[%d token%s, context %d of %d", t->n_tokens, plural(t->n_tokens), used, ctx);
    if (isfinite(t->prefill_rate)) buf_printf(&b, ", read %.0f/s", t->prefill_rate);
    if (isfinite(t->decode_rate)) buf_printf(&b, ", wrote %.1f/s", t->decode_rate);
    if (t->end == END_CANCELLED && isfinite(t->cancel_s))
        buf_printf(&b, "; interrupted, its memory was free after %.0f ms", 1e3 * t->cancel_s);
    else if (t->end == END_CANCELLED) buf_puts(&b, "; interrupted");
    int turn = forecast_turn(&c->s->growth); /* the oldest leaves when the prompt passes the mark */
    if (turn != FORECAST_UNKNOWN && turn <= 5)
        buf_printf(&b, "; at this growth the oldest leaves in %d turn%s", turn, turn == 1 ? "" : "s");
    buf_puts(&b, "]");
    if (!b.failed) say_dim("%s", b.data);
    buf_free(&b);
}

/* What tools did is not undone with the words. */
static void say_withdrawn(int calls)
{
    if (calls == 0) say("nothing was said yet: your turn was withdrawn");
    else say("there was no answer yet: your turn was withdrawn, with its %d call%s of tools; what they did stays done",
             calls, calls == 1 ? "" : "s");
}

/* agent: of the team; -1: whom lines are for now.  An exit status, told. */
static int ask_one(struct console *c, int agent, const char *text, size_t n)
{
    struct err err = {0};
    uint32_t before = c->s->keep.head.turns;
    int status = agent < 0 ? team_ask(&c->team, text, n, &err) : team_ask_agent(&c->team, agent, text, n, &err);
    if (!c->team.crew && (status == EXIT_DONE || status == 128 + SIGINT)) {
        if (status == EXIT_DONE || c->s->keep.head.turns > before) say_figures(c);
    }
    if (c->script) { /* /retry, /edit: what comes of it is what would come of a line of the script's */
        session_settle(c->s);
        face_complain(c->a, status, &err);
        if (status != EXIT_DONE && status < 128) say("stopped at line %lld of the script", (long long)c->line);
        c->status = status;
        return status;
    }
    if (status == 128 + SIGINT) {
        if (!c->team.crew && c->s->keep.head.turns == before) say_withdrawn(c->s->outcome.calls);
        signals_forget_interrupt();
        return status;
    }
    face_complain(c->a, status, &err);
    if (status == EXIT_REFUSED) say("the conversation is as before; /clear begins a new one");
    if (status > 128) {
        c->status = status;
        c->quit = true;
    }
    return status;
}

int console_ask(struct console *c, const char *text, size_t n) { return ask_one(c, -1, text, n); }

int console_addressed(const struct console *c, const char *text, size_t n, size_t *rest)
{
    size_t name = 1;
    if (!c->team.crew || n < 2 || text[0] != '@') return -1;
    while (name < n && text[name] != ' ' && text[name] != '\n') name++;
    for (*rest = name; *rest < n && (text[*rest] == ' ' || text[*rest] == '\n'); ++*rest) {
    }
    return *rest < n ? team_find(&c->team, text + 1, name - 1) : -1;
}

bool console_names_nobody(const struct console *c, const char *text, size_t n)
{
    char name[NAME_MOST + 1];
    struct buf names = {0};
    size_t len = 1;
    if (!c->team.crew || n < 2 || text[0] != '@') return false;
    while (len < n && (isalnum((unsigned char)text[len]) || text[len] == '_' || text[len] == '-')) len++;
    if (len == 1 || len > sizeof name || (len < n && text[len] != ' ' && text[len] != '\n')) return false;
    snprintf(name, sizeof name, "%.*s", (int)len - 1, text + 1);
    if (team_find(&c->team, name, len - 1) >= 0 || access(name, F_OK) == 0) return false;
    team_names(&c->team, &names);
    say_error("there is no agent %s (%s), nor a file: nobody was asked", name, names.data ? names.data : "");
    buf_free(&names);
    return true;
}

void console_turn(struct console *c, const char *text, size_t n)
{
    size_t rest = 0;
    if (console_names_nobody(c, text, n)) return;
    int agent = console_addressed(c, text, n, &rest);
    if (agent < 0) rest = 0;
    ask_one(c, agent, text + rest, n - rest);
}

/* ---------------------------------------------------------------- the prompt */

/* A line, or not: then c->quit may be set. */
static bool get_line(struct console *c, const char *prompt, const char **line, size_t *n)
{
    struct err err = {0};
    say_bytes(prompt, strlen(prompt));
    enum input_result r = input_line(&c->in, line, n, &err);
    if (r == INPUT_OK && *n >= TTY_LINE) {
        say_error("a terminal hands over at most %d bytes a line, so this one may have come cut: use several lines "
                  "between \"\"\", or stdin", TTY_LINE);
        return false;
    }
    if (r == INPUT_OK) return true;
    if (r == INPUT_FAILED) {
        app_error(c->a, "input", err.text);
        c->status = EXIT_USAGE;
    }
    say_bytes("\n", 1);
    c->quit = true;
    if (r == INPUT_SIGNAL) {
        c->status = 128 + signals_pending();
        if (signals_pending() != SIGINT) return false;
        signals_forget_interrupt();
        c->quit = c->warned;
        if (!c->quit) {
            c->status = EXIT_DONE;
            say_dim("Ctrl-C again leaves, and so does Ctrl-D");
        }
        c->warned = true;
    }
    return false;
}

/* The rest of a turn that began with three quotes; first is what followed them.  false: it was given up. */
static bool get_block(struct console *c, const char *first, size_t n, struct buf *block)
{
    const char *line = first;
    for (;;) {
        bool last = n >= 3 && memcmp(line + n - 3, "\"\"\"", 3) == 0;
        buf_put(block, line, last ? n - 3 : n);
        if (last) return !block->failed;
        if (block->len > 0) buf_puts(block, "\n");
        if (block->len > INPUT_LIMIT || block->failed) {
            say_error("a turn may have at most %d MiB", INPUT_LIMIT >> 20);
            return false;
        }
        if (!get_line(c, ". ", &line, &n)) return false;
    }
}

/* The line is copied: what is asked meanwhile reads another one into its place. */
static void one_turn(struct console *c)
{
    const char *line;
    size_t n;
    struct buf text = {0};
    if (!get_line(c, "> ", &line, &n)) return;
    c->warned = false;
    if (n == 0) return;
    if (n >= 3 && memcmp(line, "\"\"\"", 3) == 0) {
        if (get_block(c, line + 3, n - 3, &text) && text.len > 0) console_turn(c, text.data, text.len);
    } else {
        buf_put(&text, line, n);
        if (text.failed) say_error("no memory for a turn");
        else if (text.data[0] == '/') console_command(c, text.data, text.len);
        else console_turn(c, text.data, text.len);
    }
    buf_free(&text);
}

static void greet(struct console *c)
{
    struct app *a = c->a;
    char id[2 * STORE_SESSION_ID + 1];
    say_dim("%s (%s), context %d tokens, %s", *a->info->name ? a->info->name : a->o->model, a->info->arch,
            a->info->ctx, a->info->backend);
    if (a->o->embedded) {
        say_dim("This is a tiny demonstration model: it knows plimsoll and little else.");
        say_dim("For real work point at a model of your own: plimsoll -m model.gguf");
    }
    if (strcmp(a->info->template, "raw") == 0) say_dim("a model without a chat form: it continues the text");
    journal_id_text(c->s->keep.head.id, id);
    if (c->s->keep.head.turns > 0 && !c->team.crew) /* of a run it was said */
        say_dim("session %.8s goes on after %u turn%s: %s", id, c->s->keep.head.turns,
                c->s->keep.head.turns == 1 ? "" : "s", c->s->keep.head.title);
    say_dim("/help lists the commands; Ctrl-C interrupts an answer, Ctrl-D leaves");
}

/* ---------------------------------------------------------------- what a tool asks of the person */

/* Of what is allowed for a session nothing may be left out. */
static void say_choices(const char *scope)
{
    const size_t n = scope ? strlen(scope) : 0;
    if (!scope) say("  o once, anything else: no");
    else if (n <= COMMAND_LINE) say("  o once, s for this session (%s), anything else: no", scope);
    else command_text("o once, s for this session, anything else: no; s is for", scope, n);
}

/* A line behind the question: one that was typed or pasted before it was there is a turn, whatever it says.  false:
 * none came.  input_put_back() is due. */
static bool get_answer(struct console *c, const char **line, size_t *len)
{
    struct err err = {0};
    if (c->in.aside.len > 0) say_dim("what was typed before this was asked does not answer it: it follows behind");
    say_bytes("? ", 2);
    if (input_line(&c->in, line, len, &err) == INPUT_OK) return true;
    if (*err.text) say_error("%s", err.text);
    return false;
}

static bool nothing_ahead(struct console *c)
{
    struct err err = {0};
    const bool ok = input_put_aside(&c->in, &err) == INPUT_OK;
    if (*err.text) say_error("%s", err.text);
    return ok;
}

static enum toolbox_choice approve(void *self, const char *shown, size_t n, const char *scope)
{
    struct console *c = self;
    enum toolbox_choice choice = TOOLBOX_DENY;
    const char *line, *who = c->a->trace.voice->name;
    char head[80];
    size_t len;
    if (!nothing_ahead(c)) return TOOLBOX_DENY;
    snprintf(head, sizeof head, "%.40s wants this to be done:", *who ? who : "the model");
    command_text(head, shown, n);
    say_choices(scope);
    if (get_answer(c, &line, &len) && len == 1)
        choice = *line == 'o' ? TOOLBOX_ONCE : *line == 's' && scope ? TOOLBOX_SESSION : TOOLBOX_DENY;
    input_put_back(&c->in);
    return choice;
}

static bool ask(void *self, const char *question, size_t n, struct buf *answer)
{
    struct console *c = self;
    const char *line, *who = c->a->trace.voice->name;
    char head[80];
    size_t len;
    if (!nothing_ahead(c)) return false;
    snprintf(head, sizeof head, "%.40s asks you:", *who ? who : "the model");
    command_text(head, question, n);
    const bool is = get_answer(c, &line, &len);
    if (is) buf_put(answer, line, len);
    input_put_back(&c->in);
    return is && !answer->failed;
}

/* ---------------------------------------------------------------- open and close */

int console_open(struct console *c, struct app *a)
{
    struct err err = {0};
    *c = (struct console){.a = a};
    c->status = team_open(&c->team, a, &err);
    if (c->status != EXIT_DONE) app_error(a, "open", err.text);
    else c->s = team_session(&c->team);
    return c->status;
}

static void say_lost(struct app *a, int lost)
{
    char line[80];
    if (lost == 1) snprintf(line, sizeof line, "the last turn is not saved");
    else snprintf(line, sizeof line, "the last %d turns are not saved", lost);
    if (lost > 0) app_error(a, "store", line);
}

bool console_may_leave(struct console *c, bool all)
{
    int n = 0;
    for (int i = 0; i < c->team.n; i++) {
        struct session *s = &c->team.member[i].s;
        if (!all && s != c->s) continue;
        if (s->keep.n_unsaved > 0) keep_again(&s->keep);
        n += s->keep.n_unsaved;
    }
    if (n == 0) return true;
    say_error("%d turn%s not saved yet, and would be lost: what is open stays open; /save tries again, /quit leaves "
              "all the same", n, n == 1 ? " is" : "s are");
    return false;
}

void console_leave(struct console *c) { say_lost(c->a, session_close(c->s)); }

int console_close(struct console *c)
{
    int lost = team_close(&c->team);
    session_place_free(&c->replaced);
    say_lost(c->a, lost);
    return lost > 0 && c->status == EXIT_DONE ? EXIT_INTERNAL : c->status;
}

bool console_use(struct console *c, const char *agent, size_t n)
{
    int i = team_find_shown(&c->team, agent, n);
    if (i < 0) return false;
    team_use(&c->team, i);
    c->s = team_session(&c->team);
    return true;
}

int console_run(struct app *a)
{
    struct console c;
    int status = console_open(&c, a);
    input_open(&c.in, STDIN_FILENO);
    a->toolbox.approve = approve;
    a->toolbox.ask = ask;
    a->toolbox.self = &c;
    if (status == EXIT_DONE) greet(&c);
    c.quit = status != EXIT_DONE;
    while (!c.quit && !a->answers.failed) {
        session_poll(c.s);
        one_turn(&c);
    }
    input_close(&c.in);
    return console_close(&c);
}
