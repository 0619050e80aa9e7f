/* replay_cmd.c - `plimsoll replay`: a recorded stream shown again, without a model.  It is text of others: what a
 * terminal would obey in it is made visible, and nothing in it is run. */
#include "app/app.h"
#include "app/faces.h"
#include "app/learn/verdict_own.h"
#include "app/say.h"
#include "app/stream.h"
#include "app/term_filter.h"
#include "app/tui/replay_screen.h"
#include "tools/escape.h"
#include <inttypes.h>
#include <unistd.h>

enum { SHOWN = 200 }; /* bytes of a text that stands in a line of ours */

static const char help[] =
    "plimsoll replay - a stream of --json or --trace, shown again without a model\n"
    "\n"
    "  plimsoll replay [--screen | --text | --json] FILE    - is stdin\n"
    "\n"
    "  --screen  on the full screen, as it was then; Space pauses, Left and Right go turn by turn, + and -\n"
    "            change the speed, ? lists all keys (FILE must be a file)\n"
    "  --text    what was said, and a line for what happened beside it (the default); controls that a\n"
    "            terminal would obey are made visible\n"
    "  --json    the same events\n"
    "\n"
    "Exit status: 0 done, 1 it could not be written, 2 usage, or a line is no event; each such line is\n"
    "named on stderr and passed over.\n";

static void put_help(struct buf *out) { buf_puts(out, help); }

struct player {
    struct out *out;
    struct term_filter filter; /* of the answer that grows */
    bool answering;            /* a part of an answer was shown, and not its end */
    bool in_line;              /* stdout is not at the beginning of a line */
    char agent[40];            /* of several, whose answer it is; else "" */
    struct judge *judge;       /* why memory ran out; NULL: no memory to say so */
};

/* ------------------------------------------------------------------ what was said */

static void put(struct player *p, const char *bytes, size_t n)
{
    if (n == 0) return;
    out_put(p->out, bytes, n);
    p->in_line = bytes[n - 1] != '\n';
}

static void end_line(struct player *p)
{
    struct buf rest = {0};
    if (p->answering) term_filter_end(&p->filter, &rest);
    put(p, rest.data, rest.len);
    buf_free(&rest);
    p->answering = false;
    if (p->in_line) put(p, "\n", 1);
}

/* Whose event this is: of several that answer at once each part of an answer is a line of its own. */
static void turn_to(struct player *p, struct event_str agent)
{
    char name[sizeof p->agent];
    struct buf shown = {0};
    escape_start(agent.data, agent.len, sizeof p->agent - 1, &shown);
    snprintf(name, sizeof name, "%s", shown.data ? shown.data : "");
    buf_free(&shown);
    if (strcmp(name, p->agent) == 0) return;
    end_line(p);
    memcpy(p->agent, name, sizeof name);
}

static void name_it(struct player *p)
{
    if (!*p->agent) return;
    put(p, p->agent, strlen(p->agent));
    put(p, ": ", 2);
}

/* Each line of it behind a mark. */
static void show_user(struct player *p, struct event_str text)
{
    struct buf shown = {0}, marked = {0};
    end_line(p);
    term_filter_text(text.data, text.len, false, &shown);
    buf_printf(&marked, "\n%s%s> ", *p->agent ? "to " : "", p->agent);
    for (size_t i = 0; i < shown.len; i++) {
        buf_put(&marked, shown.data + i, 1);
        if (shown.data[i] == '\n') buf_puts(&marked, "> ");
    }
    put(p, marked.data, marked.len);
    end_line(p);
    buf_free(&shown);
    buf_free(&marked);
}

static void show_text(struct player *p, struct event_str text)
{
    struct buf shown = {0};
    if (!p->answering) {
        term_filter_init(&p->filter);
        name_it(p);
    }
    p->answering = true;
    term_filter_feed(&p->filter, text.data, text.len, &shown);
    put(p, shown.data, shown.len);
    buf_free(&shown);
}

/* A stream may have the whole answer alone. */
static void show_end(struct player *p, const struct event_turn_end *e)
{
    if (!p->answering) show_text(p, e->text);
    end_line(p);
}

/* ------------------------------------------------------------------ what happened beside it */

/* A line in brackets.  The texts in it are of others: escaped. */
__attribute__((format(printf, 2, 3))) static void note(struct player *p, const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    end_line(p);
    put(p, "[", 1);
    name_it(p);
    put(p, text, strlen(text));
    put(p, "]\n", 2);
}

struct shown {
    char text[4 * SHOWN]; /* one that would be longer is cut */
};

static struct shown plain(struct event_str s)
{
    struct shown out = {""};
    struct buf b = {0};
    escape_start(s.data, s.len, SHOWN, &b);
    snprintf(out.text, sizeof out.text, "%s", b.data ? b.data : "");
    buf_free(&b);
    return out;
}

static void show_tool(struct player *p, const struct event_tool *e)
{
    char lost[64] = "";
    if (!e->artifact.len && e->left_out > 0)
        snprintf(lost, sizeof lost, ", clipped; %" PRId64 " bytes were not kept", e->left_out);
    note(p, "%s, by %s: %s: %s%" PRId64 " byte%s, %" PRId64 " token%s%s%s%s", plain(e->name).text, plain(e->by).text,
         plain(e->arguments).text, e->failed ? "failed, " : "", e->bytes, plural(e->bytes), e->tokens,
         plural(e->tokens), lost,
         e->artifact.len ? ", clipped; the whole was artifact " : "", plain(e->artifact).text);
}

static void show_context(struct player *p, const struct event_context *e)
{
    note(p, "context: %s%s%s, %" PRId64 " message%s, %" PRId64 " token%s", plain(e->change).text,
         e->what.len ? " " : "", plain(e->what).text, e->messages, plural(e->messages), e->tokens, plural(e->tokens));
}

static void show_summary(struct player *p, const struct event_summary *e)
{
    if (e->by.len == 6 && memcmp(e->by.data, "nobody", 6) == 0) {
        note(p, "nothing was summed up: %s", e->reason.len ? plain(e->reason).text : "it was cancelled");
        return;
    }
    note(p, "summary of %s by %s: %" PRId64 " item%s, %" PRId64 " token%s%s%s", plain(e->what).text, plain(e->by).text,
         e->items, plural(e->items), e->tokens, plural(e->tokens), e->reason.len ? "; " : "", plain(e->reason).text);
}

static void show_stopped(struct player *p, const struct event_stopped *e)
{
    char more[40] = "";
    if (e->more > 0) snprintf(more, sizeof more, " and %" PRId64 " more", e->more);
    note(p, "stopped after %" PRId64 " call%s of tools (%s): %s%s", e->calls, plural(e->calls), plain(e->reason).text,
         plain(e->name).text, more);
}

static void show(struct player *p, const struct event *e)
{
    turn_to(p, e->agent);
    switch (e->kind) {
    case EV_SESSION_OPEN:
        note(p, "model %s (%s), context %" PRId64 " tokens, seed %" PRId64, plain(e->session_open.model).text,
             plain(e->session_open.arch).text, e->session_open.ctx, e->session_open.seed);
        return;
    case EV_TURN_USER: show_user(p, e->turn_user.text); return;
    case EV_TEXT: show_text(p, e->text.text); return;
    case EV_TURN_END:
        show_end(p, &e->turn_end);
        if (e->turn_end.end.len != 4 || memcmp(e->turn_end.end.data, "stop", 4) != 0)
            note(p, "the answer ended: %s", plain(e->turn_end.end).text);
        return;
    case EV_REFUSAL: note(p, "refused: %s", plain(e->refusal.text).text); return;
    case EV_CONTEXT: show_context(p, &e->context); return;
    case EV_SUMMARY: show_summary(p, &e->summary); return;
    case EV_TOOL: show_tool(p, &e->tool); return;
    case EV_STOPPED: show_stopped(p, &e->stopped); return;
    case EV_FLOW:
        if (e->flow.ask == 0)
            note(p, "%s: %s: %s", plain(e->flow.flow).text, plain(e->flow.change).text, plain(e->flow.why).text);
        return;
    case EV_RESUMED:
        note(p, "%s goes on after %" PRId64 " turn%s", plain(e->resumed.title).text, e->resumed.turns,
             plural(e->resumed.turns));
        return;
    case EV_UNDONE: note(p, "turn %" PRId64 " was taken back", e->undone.turn); return;
    case EV_UNGUARDED:
        if (e->unguarded.turn == 0 && e->unguarded.off.len > 0)
            note(p, "without these guards, for teaching: %s", plain(e->unguarded.off).text);
        return;
    case EV_ERROR: note(p, "error, %s: %s", plain(e->error.where).text, plain(e->error.text).text); return;
    case EV_SESSION_CLOSE:
        note(p, "%" PRId64 " turn%s, exit status %" PRId64 ", %s", e->session_close.turns,
             plural(e->session_close.turns), e->session_close.exit_code,
             plain(e->session_close.termination_reason).text);
        return;
    default: return; /* figures and progress */
    }
}

/* ------------------------------------------------------------------ all of it */

/* A turn that had no memory is judged as the screen judged it. */
static void show_why(struct player *p, const struct event *e)
{
    struct verdict v;
    const int before = p->judge ? judge_failures(p->judge) : 0;
    if (p->judge) judge_feed(p->judge, e);
    if (!p->judge || judge_failures(p->judge) == before || !judge_verdict(p->judge, JUDGE_LAST, &v)) return;
    if (v.cause != CAUSE_NOT_MEMORY && v.cause != CAUSE_UNKNOWN)
        note(p, "why: %s; %s", cause_words(v.cause), plain(event_str(v.evidences ? v.evidence[0] : v.what)).text);
}

static void show_all(struct stream *s, struct out *out)
{
    struct player p = {.out = out, .judge = judge_open()};
    while (!out->failed && stream_next(s)) {
        show(&p, &s->event);
        show_why(&p, &s->event);
    }
    end_line(&p);
    judge_close(p.judge);
}

static void write_all(struct stream *s, struct out *out)
{
    while (!out->failed && stream_next(s)) {
        out_put(out, s->text, s->n);
        out_put(out, "\n", 1);
    }
}

int replay_run(int argc, char **argv)
{
    bool text = false, json = false, screen = false, wants_help;
    const struct stream_flag flags[] = {{"--text", &text}, {"--json", &json}, {"--screen", &screen}};
    const char *file;
    struct stream s;
    struct out out;
    struct err err = {0};
    int bad = stream_parse(argc, argv, flags, COUNT_OF(flags), &file, &wants_help, &err);
    if (!bad && wants_help) return face_print(put_help);
    if (!bad && text + json + screen > 1) bad = err_set(&err, -1, "%s and %s: one at a time",
                                                        screen ? "--screen" : "--text", json ? "--json" : "--text");
    if (!bad && screen) return replay_screen(file);
    if (!bad) bad = stream_open(&s, file, &err);
    if (bad) {
        say_error("%s", err.text);
        return EXIT_USAGE;
    }
    out_init(&out, STDOUT_FILENO);
    if (json) write_all(&s, &out);
    else show_all(&s, &out);
    int status = stream_close(&s);
    out_end(&out);
    return face_finish(&out, status);
}
