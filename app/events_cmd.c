/* events_cmd.c - `plimsoll events`: a recorded stream checked, and made comparable. */
#include "app/app.h"
#include "app/faces.h"
#include "app/say.h"
#include "app/stable.h"
#include "app/stream.h"
#include <inttypes.h>
#include <unistd.h>

static const char help[] =
    "plimsoll events - a stream of --json or --trace, each line checked\n"
    "\n"
    "  plimsoll events [--stable | --check] [FILE]    FILE or stdin; what is an event goes to stdout\n"
    "\n"
    "  --stable  without what two runs of one session may differ in: times, rates, samples,\n"
    "            when it was saved, where text was cut; two runs with --seed 1 are then the same byte for byte\n"
    "  --check   only the verdict; also the numbers of the lines must be without a gap\n"
    "\n"
    "plimsoll --help-events explains the events.\n"
    "\n"
    "Exit status: 0 done, 1 it could not be written, 2 usage, or a line is no event; each such\n"
    "line is named on stderr.\n";

static void put_help(struct buf *out) { buf_puts(out, help); }

struct check {
    int64_t seq, wrong; /* of the event before: its number, and the wrong lines up to it */
    int64_t events, turns;
    bool closed; /* the last was the end of a session */
};

/* Numbers go on, or begin again where another stream was put behind the first; a wrong line may have had one. */
static void check_one(struct check *c, struct stream *s)
{
    const struct event *e = &s->event;
    bool begins = e->seq == 1 && (e->kind == EV_SESSION_OPEN || c->events == 0);
    bool follows = c->seq < INT64_MAX && e->seq == c->seq + 1;
    if (!follows && !begins && c->wrong == s->wrong) {
        char why[100];
        snprintf(why, sizeof why, "its seq is %" PRId64 ", and the one before it has %" PRId64, e->seq, c->seq);
        stream_wrong(s, why);
    }
    c->seq = e->seq;
    c->wrong = s->wrong;
    c->events++;
    c->turns += e->kind == EV_TURN_USER;
    c->closed = e->kind == EV_SESSION_CLOSE;
}

static void put_verdict(const struct check *c, struct stream *s, struct out *out)
{
    struct buf text = {0};
    if (c->events == 0) stream_wrong(s, "there is no event");
    buf_printf(&text, "%" PRId64 " event%s, %" PRId64 " turn%s, %" PRId64 " line%s wrong%s\n", c->events,
               plural(c->events), c->turns, plural(c->turns), s->wrong, plural(s->wrong),
               c->closed ? "" : "; its end is missing");
    out_put(out, text.data, text.len);
    buf_free(&text);
}

static int all(struct stream *s, bool is_stable, bool only_check, struct out *out)
{
    struct check c = {0};
    struct stable stable = {0};
    struct buf lines = {0};
    int bad = 0;
    while (!bad && !out->failed && stream_next(s)) {
        lines.len = 0;
        if (only_check) {
            check_one(&c, s);
        } else if (is_stable) {
            bad = stable_put(&stable, &s->event, s->text, s->n, &lines);
        } else {
            buf_put(&lines, s->text, s->n);
            buf_puts(&lines, "\n");
        }
        out_put(out, lines.data, lines.len);
    }
    lines.len = 0;
    if (is_stable && !bad) bad = stable_end(&stable, &lines);
    out_put(out, lines.data, lines.len);
    if (only_check) put_verdict(&c, s, out);
    if (bad || lines.failed) say_error("out of memory");
    bad |= lines.failed;
    stable_free(&stable);
    buf_free(&lines);
    return bad ? EXIT_INTERNAL : EXIT_DONE;
}

int events_run(int argc, char **argv)
{
    bool is_stable = false, only_check = false, wants_help;
    const struct stream_flag flags[] = {{"--stable", &is_stable}, {"--check", &only_check}};
    const char *file;
    struct stream s;
    struct out out;
    struct err err = {0};
    int bad = stream_parse(argc, argv, flags, COUNT_OF(flags), &file, &wants_help, &err);
    if (!bad && wants_help) return face_print(put_help);
    if (!bad && is_stable && only_check) bad = err_set(&err, -1, "--stable and --check: one at a time");
    if (!bad) bad = stream_open(&s, file, &err);
    if (bad) {
        say_error("%s", err.text);
        return EXIT_USAGE;
    }
    out_init(&out, STDOUT_FILENO);
    int status = all(&s, is_stable, only_check, &out), wrong = stream_close(&s);
    out_end(&out);
    return face_finish(&out, status ? status : wrong);
}
