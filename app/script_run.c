/* script_run.c - a script on stdin, obeyed item by item.  The first thing that fails ends it, with its line: what
 * follows was written for a session in which that did not fail.  Only /isolate and /bisect directly behind it, which
 * ask why it failed, are still obeyed, if they are there at once; what is left is not read. */
#include "app/commands.h"
#include "app/expect.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/script.h"
#include "app/signals.h"
#include <unistd.h>

static int fail_at(struct console *c, int64_t line, const char *what)
{
    char text[64];
    snprintf(text, sizeof text, "line %lld: %s", (long long)line, what);
    app_error(c->a, "input", text);
    return EXIT_USAGE;
}

static int one_turn(struct console *c, const struct script_item *it)
{
    struct err err = {0};
    int i = *it->name ? team_find(&c->team, it->name, strlen(it->name)) : -1;
    if (*it->name && i < 0) {
        struct buf names = {0};
        for (int k = 0; k < c->team.n; k++) buf_printf(&names, "%s%s", k ? ", " : "", team_name(&c->team, k));
        err_set(&err, -1, "line %lld: there is no agent %s (%s)", (long long)it->line, it->name,
                c->team.crew ? names.data : "--crew gives several");
        app_error(c->a, "input", err.text);
        buf_free(&names);
        return EXIT_USAGE;
    }
    int status = i < 0 ? team_ask(&c->team, it->text, it->n, &err)
                       : team_ask_agent(&c->team, i, it->text, it->n, &err);
    session_settle(c->s);
    face_complain(c->a, status, &err);
    if (status != EXIT_DONE && status < 128) say("stopped at line %lld of the script", (long long)it->line);
    return status;
}

/* A command that said an error could not do what it was told. */
static int one_command(struct console *c, const struct script_item *it)
{
    unsigned before = say_errors();
    struct buf line = {0};
    buf_printf(&line, "/%s", it->name);
    if (it->n > 0) buf_puts(&line, " ");
    buf_put(&line, it->text, it->n);
    c->line = it->line;
    if (line.failed) say_error("no memory for a command");
    else console_command(c, line.data, line.len);
    buf_free(&line);
    if (c->status != EXIT_DONE || say_errors() == before) return c->status;
    return fail_at(c, it->line, "the command failed, and the script with it");
}

static bool asks_why(const struct script_item *it)
{
    return it->kind == SCRIPT_COMMAND && (strcmp(it->name, "isolate") == 0 || strcmp(it->name, "bisect") == 0);
}

/* The last line of the record, which asks why, becomes a comment: a run of the record does not ask again. */
static void unrecord(struct buf *record)
{
    if (record->failed || record->len == 0) return;
    size_t at = record->len - 1;
    while (at > 0 && record->data[at - 1] != '\n') at--;
    record->len = at;
    buf_puts(record, "#\n");
}

static int one_item(struct console *c, const struct script_item *it)
{
    if (it->kind == SCRIPT_TURN) return one_turn(c, it);
    if (asks_why(it)) unrecord(&c->record);
    return one_command(c, it);
}

/* Behind what failed; the status stays. */
static void look_back(struct console *c, struct script *script)
{
    struct script_item it;
    struct err err;
    int status = c->status;
    while (!signals_pending() && !c->a->answers.failed && input_ready(script->in)) {
        if (script_next(script, &it, &err) != SCRIPT_ITEM || !asks_why(&it)) return;
        one_item(c, &it);
        c->status = signals_pending() ? 128 + signals_pending() : status;
    }
}

void script_obey(struct console *c, struct input *in)
{
    struct script script;
    struct script_item it;
    struct err err = {0};
    enum script_result r = SCRIPT_END;
    c->script = true;
    c->begun = progress_clock();
    script_open(&script, in);
    script.record = &c->record;
    while (c->status == EXIT_DONE && !c->quit && !c->a->answers.failed) {
        session_poll(c->s);
        r = script_next(&script, &it, &err);
        if (r != SCRIPT_ITEM) break;
        c->status = one_item(c, &it);
    }
    if (r == SCRIPT_ITEM && c->status != EXIT_DONE && c->status < 128) look_back(c, &script);
    if (r == SCRIPT_SIGNAL) c->status = 128 + signals_pending();
    if (r == SCRIPT_BAD) {
        app_error(c->a, "input", err.text);
        c->status = EXIT_USAGE;
    }
    script_close(&script);
    buf_free(&c->record);
}

/* ---------------------------------------------------------------- expectations */

void command_expect(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    const struct buf *last = &c->team.last;
    if (expect_answer(c->line, arg, n, last->data, last->len, &err) == EXPECT_HOLDS) return;
    say_error("%s", err.text);
    if (c->script) c->status = EXIT_UNMET;
}

void command_assert(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    const struct expect_figures f = {c, console_figure, console_figure_name};
    if (expect_figure(c->line, arg, n, &f, &err) == EXPECT_HOLDS) return;
    say_error("%s", err.text);
    if (c->script) c->status = EXIT_UNMET;
}
