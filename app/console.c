/* console.c - a person at a terminal, line by line.
 *
 * The terminal itself edits the line (its canonical mode), so it hands over at most 4095 bytes of one; a longer one
 * would come cut, and is refused instead.  Ctrl-C ends an answer; at the prompt a second one leaves.  Prompt and
 * figures go to stderr. */
#include "app/chat.h"
#include "app/faces.h"
#include "app/input.h"
#include "app/say.h"
#include "app/signals.h"
#include "engine/forecast.h"
#include <math.h>
#include <signal.h>
#include <unistd.h>

enum { TTY_LINE = 4095 };

struct console {
    struct app *a;
    struct chat chat;
    struct input in;
    struct forecast_agent growth; /* of the conversation, turn by turn */
    int most_asked;               /* tokens of its longest question */
    bool warned; /* the last thing that happened was a first Ctrl-C at the prompt */
    bool quit;
    int status;
};

/* ---------------------------------------------------------------- commands */

static void say_stats(struct console *c)
{
    const struct engine_info *i = c->a->info;
    const struct turn_result *t = &c->chat.last;
    struct engine_snapshot s;
    struct engine_memory m;
    char line[200];
    struct buf words = {0};
    c->a->ops->snapshot(c->a->engine, &s);
    say("model    %s, %s, %.1f M parameters, %s", *i->name ? i->name : "(no name)", i->arch,
        (double)i->parameters / 1e6, i->types);
    say("turns    written as %s; seed %llu", i->template, (unsigned long long)c->a->sampling.seed);
    say("engine   %s; %s; %s", i->maker, i->backend, i->kernels);
    ledger_words(&i->ledger, &words);
    say("memory   %.1f of %.1f MiB allowed: %s", (double)ledger_total(&i->ledger) / 0x1p20,
        (double)i->ledger.ceiling / 0x1p20, words.failed ? "" : words.data);
    c->a->ops->memory(c->a->engine, &m);
    if (m.total)
        say("machine  %.1f MiB: %.1f ours, %.1f others, %.1f free", (double)m.total / 0x1p20, (double)m.ours / 0x1p20,
            (double)m.outside / 0x1p20, (double)m.free / 0x1p20);
    say("kv pool  %llu tokens: %llu reserved, %llu filled, %llu kept for prompts that begin alike",
        (unsigned long long)s.pool_tokens, (unsigned long long)s.reserved_tokens, (unsigned long long)s.filled_tokens,
        (unsigned long long)s.cached_tokens);
    buf_free(&words);
    if (c->chat.any) say("context  %d of %d tokens after the last turn", t->n_prompt + t->n_tokens, i->ctx);
    else say("context  0 of %d tokens", i->ctx);
    forecast_agent_words(&c->growth, "at this growth", line, sizeof line);
    if (c->chat.any) say("ahead    %s", line);
    if (c->a->o->overcommit)
        say("parked   %lld now, %llu times in all; %llu tokens computed again; %.1f of %.1f MiB for their pages",
            (long long)s.parked, (unsigned long long)s.parkings, (unsigned long long)s.recomputed,
            (double)s.park_used / 0x1p20, (double)s.park_bytes / 0x1p20);
    say("since    start: %llu tokens read, %llu more were in memory already, %llu written, %llu passes",
        (unsigned long long)s.prefilled, (unsigned long long)s.reused, (unsigned long long)s.generated,
        (unsigned long long)s.passes);
}

static void do_help(struct console *c, const char *arg, size_t n);

static void do_clear(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    chat_clear(&c->chat);
    c->growth = (struct forecast_agent){0};
    c->most_asked = 0;
    say_dim("a new conversation%s", chat_has_system(&c->chat) ? "; the system message stays" : "");
}

static void do_system(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    if (n == 0 && chat_has_system(&c->chat)) say("%.*s", (int)MIN(c->chat.msgs[0].len, 1000), c->chat.msgs[0].text);
    else if (n == 0) say("there is no system message; /system TEXT sets one");
    else if (chat_system(&c->chat, arg, n, &err)) say_error("%s", err.text);
    else say_dim("the system message is set; the conversation goes on under it");
}

static void do_stats(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    say_stats(c);
}

static void do_quit(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    c->quit = true;
}

static const struct command {
    const char *name, *help;
    void (*run)(struct console *c, const char *arg, size_t n);
} commands[] = {
    {"/help", "this list", do_help},
    {"/clear", "forget the conversation", do_clear},
    {"/system", "TEXT: set the system message; alone: show it", do_system},
    {"/stats", "model, memory, context", do_stats},
    {"/quit", "leave (so does Ctrl-D)", do_quit},
};

static void do_help(struct console *c, const char *arg, size_t n)
{
    (void)c, (void)arg, (void)n;
    for (size_t i = 0; i < COUNT_OF(commands); i++) say("  %-9s %s", commands[i].name, commands[i].help);
    say("  \"\"\"       begins and ends a turn of several lines");
    say("  Ctrl-C    interrupts the answer; what was said stays in the conversation");
}

static void run_command(struct console *c, const char *line, size_t n)
{
    size_t name = 0, arg;
    while (name < n && line[name] != ' ' && line[name] != '\t') name++;
    for (arg = name; arg < n && (line[arg] == ' ' || line[arg] == '\t'); arg++) {
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strlen(commands[i].name) != name || memcmp(commands[i].name, line, name)) continue;
        commands[i].run(c, line + arg, n - arg);
        return;
    }
    say_error("no such command: %.*s (/help lists them; \"\"\" sends any text)", (int)MIN(name, 60), line);
}

/* ---------------------------------------------------------------- turns */

static void say_figures(struct console *c)
{
    const struct turn_result *t = &c->chat.last;
    struct buf b = {0};
    int used = t->n_prompt + t->n_tokens, ctx = c->a->info->ctx;
    buf_printf(&b, "[%d tokens, context %d of %d", t->n_tokens, used, ctx);
    if (isfinite(t->prefill_rate)) buf_printf(&b, ", read %.0f/s", t->prefill_rate);
    if (isfinite(t->decode_rate)) buf_printf(&b, ", wrote %.1f/s", t->decode_rate);
    if (t->end == END_CANCELLED && isfinite(t->cancel_s))
        buf_printf(&b, "; interrupted, its memory was free after %.0f ms", 1e3 * t->cancel_s);
    else if (t->end == END_CANCELLED) buf_puts(&b, "; interrupted");
    int turn = forecast_turn(&c->growth);
    if (turn != FORECAST_UNKNOWN && turn <= 5) buf_printf(&b, "; at this growth %d more fit", turn - 1);
    if (t->end == END_LENGTH && used >= ctx) buf_puts(&b, "; the context is full: /clear, or a larger --ctx");
    else if (t->end == END_LENGTH) buf_printf(&b, "; cut at %d tokens, -n allows more", t->max_tokens);
    buf_puts(&b, "]");
    if (!b.failed) say_dim("%s", b.data);
    buf_free(&b);
}

/* A turn needs room for a question like the longest so far, and for its answer. */
static void note_growth(struct console *c)
{
    const struct turn_result *t = &c->chat.last;
    int before = c->growth.prompt;
    c->most_asked = MAX(c->most_asked, t->n_prompt - before);
    c->growth.ctx = c->a->info->ctx;
    c->growth.max_tokens = c->most_asked + (int)MAX(c->a->o->max_tokens, 1);
    forecast_note(&c->growth, t->n_prompt + t->n_tokens);
}

static void ask(struct console *c, const char *text, size_t n)
{
    struct err err = {0};
    int before = c->chat.n, status = chat_ask(&c->chat, text, n, &err);
    if (status == EXIT_DONE || status == 128 + SIGINT) {
        note_growth(c);
        say_figures(c);
    }
    if (status == 128 + SIGINT) {
        if (c->chat.n == before) say_dim("nothing was said yet: your turn was withdrawn");
        signals_forget_interrupt();
        return;
    }
    face_complain(c->a, status, &err);
    if (status == EXIT_REFUSED) say("the conversation is as before; /clear begins a new one");
    if (status > 128) {
        c->status = status;
        c->quit = true;
    }
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

static void one_turn(struct console *c)
{
    const char *line;
    size_t n;
    if (!get_line(c, "> ", &line, &n)) return;
    c->warned = false;
    if (n == 0) return;
    if (n >= 3 && memcmp(line, "\"\"\"", 3) == 0) {
        struct buf block = {0};
        if (get_block(c, line + 3, n - 3, &block) && block.len > 0) ask(c, block.data, block.len);
        buf_free(&block);
    } else if (line[0] == '/') {
        run_command(c, line, n);
    } else {
        ask(c, line, n);
    }
}

int console_run(struct app *a)
{
    struct console c = {.a = a};
    struct err err = {0};
    if (chat_open(&c.chat, a, a->o->system, &err)) {
        app_error(a, "open", err.text);
        return EXIT_INTERNAL;
    }
    input_open(&c.in, STDIN_FILENO);
    say_dim("%s (%s), context %d tokens, %s", *a->info->name ? a->info->name : a->o->model, a->info->arch,
            a->info->ctx, a->info->backend);
    if (a->o->embedded) {
        say_dim("This is a tiny demonstration model: it knows plimsoll and little else.");
        say_dim("For real work point at a model of your own: plimsoll -m model.gguf");
    }
    if (strcmp(a->info->template, "raw") == 0) say_dim("a model without a chat form: it continues the text");
    say_dim("/help lists the commands; Ctrl-C interrupts an answer, Ctrl-D leaves");
    while (!c.quit && !a->answers.failed) one_turn(&c);
    input_close(&c.in);
    chat_close(&c.chat);
    return c.status;
}
