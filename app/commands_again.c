/* commands_again.c - why something failed, found by doing it again: /isolate one turn, /bisect the whole script. */
#include "app/bisect.h"
#include "app/commands.h"
#include "app/say.h"
#include <inttypes.h>

/* ---------------------------------------------------------------- /isolate */

static void how_it_ended(const struct team_try *y, char out[48])
{
    const char *name = y->of.end == END_NONE ? "refused" : engine_end_name(y->of.end);
    if (y->of.stopped) snprintf(out, 48, "stopped: %s", y->of.stopped);
    else snprintf(out, 48, "%s", y->status == EXIT_DONE ? "answered" : name);
}

static void say_number(const char *what, int64_t was, int64_t now)
{
    say("  %-20s %-18" PRId64 " %" PRId64, what, was, now);
}

static const char *verdict(const struct team_try *was, const struct team_try *now)
{
    bool beside = was->running > 1 || was->waiting > 0, context = was->of.prompt != now->of.prompt;
    if (team_failed(now)) return "alone it fails too: the turn itself, not the company";
    if (was->policy != now->policy) return "alone it works: the memory policy that failed then has been replaced since";
    if (beside && context) return "alone it works: it failed for what stood beside it, or for what its context carried";
    if (beside) return "alone it works: it failed for what stood beside it";
    if (context) return "alone it works: it failed for what its context carried";
    return "alone it works, from the same prompt and with nothing beside it then either: it does not fail always";
}

void command_isolate(struct console *c, const char *arg, size_t n)
{
    const struct team_failure *f = &c->team.failure;
    struct team_try now;
    struct err err = {0};
    char was_end[48], now_end[48];
    (void)arg;
    if (n > 0) say_error("/isolate takes nothing: it is about the turn that failed last");
    else if (!f->any) say("no turn has failed");
    if (n > 0 || !f->any) return;
    if (team_isolate(&c->team, &now, &err)) {
        command_complain(&err);
        return;
    }
    const char *name = team_name(&c->team, f->agent);
    size_t len = strcspn(f->text.data ? f->text.data : "", "\n");
    how_it_ended(&f->was, was_end);
    how_it_ended(&now, now_end);
    say("the turn that failed last%s%s: %.*s", *name ? ", of " : "", name, (int)MIN(len, (size_t)100), f->text.data);
    say("  %-20s %-18s %s", "", "then", "alone");
    say("  %-20s %-18s %s", "ended", was_end, now_end);
    say_number("prompt tokens", f->was.of.prompt, now.of.prompt);
    say_number("requests running", f->was.running, now.running);
    say_number("requests waiting", f->was.waiting, now.waiting);
    say_number("pool tokens promised", f->was.reserved, now.reserved);
    say_number("calls of tools", f->was.of.calls, now.of.calls);
    if (*f->was.why) say("  then:  %s", f->was.why);
    if (*now.why) say("  alone: %s", now.why);
    say("%s", verdict(&f->was, &now));
}

/* ---------------------------------------------------------------- /bisect */

void command_bisect(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    (void)arg;
    if (n > 0) say_error("/bisect takes nothing: it runs this script again, up to here");
    else if (!c->script) say_error("/bisect runs a script again, and this is none (--script, or a first line "
                                   "\"plimsoll 1\")");
    else if (bisect_run(c->a, &c->record, c->begun, c->status, &err)) command_complain(&err);
}
