/* commands_team.c - who there is, what each may do, and what is in force.  What widens rights is refused where nobody
 * is at a terminal, by an error that names what does widen them. */
#include "app/commands.h"
#include "app/say.h"
#include "app/session/agent.h"
#include "memory/forms.h"
#include <inttypes.h>

enum { NAME_MOST = 64, NUMBER_MOST = 1000000 };

/* The first word of arg; *rest is what follows it. */
static size_t word_of(const char *arg, size_t n, size_t *rest)
{
    size_t len = 0;
    while (len < n && arg[len] != ' ' && arg[len] != '\t') len++;
    for (*rest = len; *rest < n && (arg[*rest] == ' ' || arg[*rest] == '\t'); ++*rest) {
    }
    return len;
}

static bool is(const char *arg, size_t n, const char *word) { return strlen(word) == n && memcmp(arg, word, n) == 0; }

/* ---------------------------------------------------------------- agents */

/* -1, and it was said. */
static int agent_of(struct console *c, const char *arg, size_t n)
{
    struct buf names = {0};
    int i = n > 0 ? team_find_shown(&c->team, arg, n) : c->team.current;
    if (i >= 0) return i;
    team_names(&c->team, &names);
    say_error("there is no agent %.*s (%s)", (int)MIN(n, (size_t)NAME_MOST), arg,
              c->team.crew && names.data ? names.data : "there is one, " TEAM_ALONE "; --crew gives several");
    buf_free(&names);
    return -1;
}

static void say_agent(const struct console *c, int i)
{
    struct session *s = &c->team.member[i].s;
    struct window_figures f;
    struct buf tools = {0};
    session_figures(s, &f);
    for (int k = 0; k < s->role.n_tools; k++) buf_printf(&tools, "%s%s", k ? ", " : "; tools ", s->role.tools[k]);
    say("%c %-12s %u turn%s, context %lld of %d tokens%s", i == c->team.current ? '*' : ' ',
        *s->role.name ? s->role.name : TEAM_ALONE, s->keep.head.turns, s->keep.head.turns == 1 ? "" : "s",
        (long long)f.used, s->role.ctx, tools.data ? tools.data : "");
    buf_free(&tools);
}

void command_agents(struct console *c, const char *arg, size_t n)
{
    const struct crew *crew = c->team.crew;
    (void)arg, (void)n;
    for (int i = 0; i < c->team.n; i++) say_agent(c, i);
    if (!crew) return;
    say("flow     %s, at most %d asks; the last had %d", flow_kind_name(crew->flow), crew->steps, c->team.steps);
    if (crew->lead >= 0) say("led by   %s", team_name(&c->team, crew->lead));
}

void command_use(struct console *c, const char *arg, size_t n)
{
    if (n == 0 && c->team.crew) {
        team_use(&c->team, -1);
        say_dim("lines go to the crew again");
    } else if (n == 0) {
        say_error("/use AGENT: commands and lines are for this one then; /agents lists them");
    } else if (agent_of(c, arg, n) >= 0 && console_use(c, arg, n)) {
        say_dim("commands and lines are for %.*s now%s", (int)n, arg, c->team.crew ? "; /use alone: for the crew" : "");
    }
}

/* Whom lines and commands are for stays as it is. */
void command_for(struct console *c, const char *arg, size_t n)
{
    size_t rest, name = word_of(arg, n, &rest);
    const int before = c->team.current, i = name > 0 ? agent_of(c, arg, name) : -1;
    struct voice *voice = c->a->trace.voice;
    size_t end;
    const size_t word = word_of(arg + rest, n - rest, &end);
    const bool obeys = i >= 0 && word > 0 && arg[rest] == '/' && !is(arg + rest, word, "/use");
    if (!obeys && (i >= 0 || name == 0)) say_error("/for AGENT /COMMAND, as /for ann /compact");
    if (!obeys) return;
    c->team.current = i;
    c->s = team_session(&c->team);
    c->a->trace.voice = &c->s->voice;
    console_command(c, arg + rest, n - rest);
    c->team.current = before;
    c->s = team_session(&c->team);
    c->a->trace.voice = voice;
}

void command_park(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    const int i = agent_of(c, arg, n);
    struct voice *voice = c->a->trace.voice;
    int64_t tokens, kept;
    if (i < 0) return;
    struct session *s = &c->team.member[i].s;
    c->a->trace.voice = &s->voice;
    if (session_park(s, &tokens, &kept, &err)) command_complain(&err);
    else if (kept > 0 && kept < tokens)
        say_dim("parked: %" PRId64 " tokens left the KV pool; the next turn brings %" PRId64 " of them back from disk, "
                "and reads the others again", tokens, kept);
    else say_dim("parked: %" PRId64 " tokens left the KV pool; the next turn %s", tokens,
                 kept > 0 ? "brings them back from disk" : "reads them again");
    c->a->trace.voice = voice;
}

/* ---------------------------------------------------------------- tools */

/* With what it takes in each call: about so much, since families are told of it in different forms. */
static void say_tool(struct session *s, const char *name)
{
    static const struct { unsigned effect; const char *words; } effects[] = {
        {TOOL_READS, "reads"}, {TOOL_WRITES, "writes"}, {TOOL_RUNS, "runs programs"},
    };
    const struct tool *t = tool_find(name);
    struct buf words = {0}, line = {0};
    forms_tool_lines(&name, 1, s->a->o->embedded, &line, NULL);
    const size_t tokens = line.len > 0 ? session_tokens(s, line.data, line.len) : 0;
    if (t && t->place == TOOL_SERVER) buf_puts(&words, "a server's");
    for (size_t i = 0; t && t->place != TOOL_SERVER && i < COUNT_OF(effects); i++)
        if (t->effect & effects[i].effect) buf_printf(&words, "%s%s", words.len ? ", " : "", effects[i].words);
    say("  %-12s %-14s about %zu tokens", name, words.data ? words.data : "changes nothing", tokens);
    buf_free(&words);
    buf_free(&line);
}

static void say_tools(const struct console *c)
{
    const struct toolbox *b = &c->a->toolbox;
    const struct session_role *r = &c->s->role;
    const struct rights_denial *list;
    uint64_t more;
    if (r->n_tools == 0) say("no tool is on but those of its own memory; --tools turns some on");
    for (int i = 0; i < r->n_tools; i++) say_tool(c->s, r->tools[i]);
    say("in       %s", rights_workspace(b->rights));
    say("allowed  without being asked for: what only reads%s%s", c->a->o->allow ? ", and " : "; --allow lists more",
        c->a->o->allow ? c->a->o->allow : "");
    say("others   that write or run are %s", b->approve ? "asked for, call by call" : "denied: nobody can be asked");
    int denied = rights_denied(b->rights, &list, &more);
    if (denied == 0) say("denied   nothing so far");
    toolbox_say_denied(b);
}

static void drop_tool(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char name[NAME_MOST + 1];
    snprintf(name, sizeof name, "%.*s", (int)MIN(n, (size_t)NAME_MOST), arg);
    if (n > NAME_MOST || n == 0) say_error("/tools off NAME: one that /tools lists");
    else if (team_drop_tool(&c->team, name, &err)) command_complain(&err);
    else say_dim("%s is off, and stays off", name);
}

void command_tools(struct console *c, const char *arg, size_t n)
{
    size_t rest, len = word_of(arg, n, &rest);
    if (n == 0) say_tools(c);
    else if (is(arg, len, "off")) drop_tool(c, arg + rest, n - rest);
    else if (is(arg, len, "on")) say_error("a tool is turned on by --tools, at the start, and allowed by --allow");
    else say_error("/tools lists them, /tools off NAME turns one off");
}

/* ---------------------------------------------------------------- the next call, and counts */

void command_tokens(struct console *c, const char *arg, size_t n)
{
    const struct turn_result *t = &c->s->last;
    size_t tokens = n > 0 ? session_tokens(c->s, arg, n) : 0;
    if (tokens == SIZE_MAX) say_error("this text cannot be counted");
    else if (n > 0) say("%zu token%s, %zu byte%s", tokens, plural((int64_t)tokens), n, plural((int64_t)n));
    else if (!c->s->any) say("nothing was said yet; /tokens TEXT counts a text");
    else say("the last call had %d token%s and gave %d of at most %d", t->n_prompt, plural(t->n_prompt), t->n_tokens,
             t->max_tokens);
}

void command_view(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct session_view v = {0};
    char head[200];
    int i = agent_of(c, arg, n);
    if (i < 0) return;
    if (session_view(&c->team.member[i].s, &v, &err)) {
        command_complain(&err);
    } else {
        snprintf(head, sizeof head,
                 "the next call%s%s, %" PRId64 " tokens, %" PRId64 " more set aside for the answer%s:",
                 n > 0 ? " of " : "", n > 0 ? team_name(&c->team, i) : "", v.tokens, v.answer,
                 v.due ? "; before it, the oldest is summed up" : "");
        command_text(head, v.text.data ? v.text.data : "", v.text.len);
    }
    buf_free(&v.text);
}

/* ---------------------------------------------------------------- limits */

/* A limit of the current agent; what raises it is a terminal's, or what stands in `raised`. */
static const struct limit {
    const char *name, *one, *what, *raised; /* one: where it is 1 */
    int least, most;
    size_t at; /* in struct session_role */
} limits[] = {
    {"answer", "token of an answer", "tokens of an answer", "-n, or answer: in the crew file,", 1, NUMBER_MOST,
     offsetof(struct session_role, answer)},
    {"rounds", "call of a tool in a turn", "calls of tools in a turn", "rounds: in the crew file", 0, AGENT_ROUNDS_MAX,
     offsetof(struct session_role, rounds)},
    {"repeats", "time that one call is made in a turn", "times that one call is made in a turn",
     "repeats: in the crew file", 1, AGENT_ROUNDS_MAX,
     offsetof(struct session_role, repeats)},
};

static int *value_of(const struct limit *l, struct session_role *r) { return (int *)(void *)((char *)r + l->at); }

static const char *what_of(const struct limit *l, int value) { return value == 1 ? l->one : l->what; }

static void say_limits(struct console *c)
{
    struct window_figures f;
    window_figures(c->s->w, &f);
    say("context  %d tokens, %lld of them for what is sent", c->s->role.ctx, (long long)f.limit);
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        int value = *value_of(&limits[i], &c->s->role);
        bool none = value == 0 && limits[i].least > 0; /* of an answer: -n was not given */
        if (none) value = (int)f.answer;
        say("%-8s %d %s%s", limits[i].name, value, what_of(&limits[i], value),
            none ? ", and more if the context leaves it" : "");
    }
}

static void set_limit(struct console *c, const struct limit *l, int value)
{
    struct err err = {0};
    struct session_role *own = &c->s->role, *role = &c->team.member[c->team.current].role;
    struct window_figures f;
    int now = *value_of(l, own);
    window_figures(c->s->w, &f);
    if (now == 0 && l->least > 0) now = (int)f.answer; /* -n was not given: what is set aside for one */
    if (c->script && value > now) {
        say_error("%s %d is more than %d: %s raises it, a script does not", l->name, value, now, l->raised);
        return;
    }
    if (l->at == offsetof(struct session_role, answer) && session_limit_answer(c->s, value, &err)) {
        command_complain(&err);
        return;
    }
    *value_of(l, own) = *value_of(l, role) = value; /* of the copies that a flow makes, too */
    say_dim("%s: %d %s", l->name, value, what_of(l, value));
}

void command_limit(struct console *c, const char *arg, size_t n)
{
    size_t rest, len = word_of(arg, n, &rest);
    uint64_t value;
    if (n == 0) {
        say_limits(c);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const struct limit *l = &limits[i];
        if (!is(arg, len, l->name)) continue;
        if (command_number(arg + rest, n - rest, (uint64_t)l->most, &value) && value >= (uint64_t)l->least)
            set_limit(c, l, (int)value);
        else say_error("/limit %s N: from %d to %d %s", l->name, l->least, l->most, l->what);
        return;
    }
    say_error("/limit answer N, rounds N or repeats N; the context's is --ctx, or context: in the crew file");
}

/* ---------------------------------------------------------------- policies */

static const char *recall_of(const struct console *c)
{
    if (!opts_recalls(c->a->o)) return "off";
    if (opts_recalls_summary(c->a->o)) return "summary";
    return c->s->recalls ? "auto" : "ask";
}

static void set_recall(struct console *c, const char *arg, size_t n)
{
    bool automatic = is(arg, n, "auto");
    if (!automatic && !is(arg, n, "ask")) {
        say_error("/policy recall auto or ask%s", is(arg, n, "off") ? "; --recall off is for the start" : "");
    } else if (strcmp(recall_of(c), "off") == 0) {
        say_error("recall is off, by --recall%s: without that it may be changed",
                  c->a->o->recall_index > 0 ? " off" : "-index 0");
    } else if (opts_recalls_summary(c->a->o)) {
        say_error("recall is by the summary's lines, by --recall summary: without that it may be changed");
    } else if (automatic && strcmp(c->a->info->template, "raw") == 0) {
        say_error("this model has no chat form: nothing is brought in unasked");
    } else {
        c->s->recalls = automatic;
        say_dim("what has left the context is brought in %s", automatic ? "where it belongs to a question"
                                                                        : "when it is asked for");
    }
}

static void say_memory_policies(const struct console *c)
{
    const struct opts *o = c->a->o;
    struct engine_snapshot s;
    c->a->ops->snapshot(c->a->engine, &s);
    say("overcommit  %s", o->overcommit ? "on: requests are promised what they may be expected to need"
                                        : "off: a request is promised all that it can need");
    say("naive       %s%s", naive_name((enum naive_policy)s.naive_policy),
        s.naive_failures > 0 ? "; one that was in force has failed" : "");
    if (opts_snapshots_session(o) >= 1)
        say("snapshots   %.1f MiB on disk at most, of one session %.1f MiB", o->snapshots / 0x1p20,
            MIN(opts_snapshots_session(o), o->snapshots) / 0x1p20);
    else say("snapshots   none");
    if (o->recall_index > 0)
        say("index       %.1f MiB on disk at most, of one session %.1f MiB, then only what is said",
            o->recall_index / 0x1p20, MIN(o->recall_index_session, o->recall_index) / 0x1p20);
    else say("index       none");
}

static void say_policies(const struct console *c)
{
    const struct opts *o = c->a->o;
    say("summary     %s", o->summary);
    say("quotas      summed up above %d%%, down to %d%%, in %d tokens at most; a result has %d%%, at most %d tokens",
        (int)opts_quota(o->high_mark, QUOTA_HIGH), (int)opts_quota(o->low_mark, QUOTA_LOW),
        (int)opts_quota(o->summary_tokens, QUOTA_SUMMARY), (int)opts_quota(o->result_share, QUOTA_RESULT_SHARE),
        (int)opts_quota(o->result_tokens, QUOTA_RESULT_TOKENS));
    say("recall      %s", recall_of(c));
    if (o->no_thinking) say("thinking    none");
    if (o->thinking > 0) say("thinking    %lld tokens aside, then it is closed", (long long)o->thinking);
    else say("thinking    as long as an answer may be");
    say_memory_policies(c);
    say("lockstep    %s", c->a->lockstep ? "on: results of tools come at the next step" : "off");
    say("strict      %s", c->a->o->strict_tools ? "on: a call of a tool can only come out well-formed" : "off");
    say("store       %s", c->s->keep.keeper ? "sessions are saved" : "this session is not saved");
}

/* Those that stand from the start to the end, and what sets them. */
static const char *flag_of(const char *name, size_t n)
{
    static const struct { const char *name, *flag; } fixed[] = {
        {"summary", "--summary"}, {"thinking", "--thinking"}, {"overcommit", "--overcommit"}, {"naive", "--naive"},
        {"lockstep", "--lockstep"}, {"strict", "--strict-tools"}, {"snapshots", "--snapshots"},
        {"index", "--recall-index"},
        {"store", "--store or --no-save"},
    };
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        if (is(name, n, fixed[i].name)) return fixed[i].flag;
    return NULL;
}

void command_policy(struct console *c, const char *arg, size_t n)
{
    size_t rest, len = word_of(arg, n, &rest);
    const char *flag = flag_of(arg, len);
    if (n == 0) say_policies(c);
    else if (is(arg, len, "recall")) set_recall(c, arg + rest, n - rest);
    else if (flag) say_error("%.*s is set at the start, by %s, and stands", (int)len, arg, flag);
    else say_error("/policy lists what is in force; /policy recall auto or ask changes that one");
}

/* ---------------------------------------------------------------- the model */

void command_model(struct console *c, const char *arg, size_t n)
{
    const struct engine_info *i = c->a->info;
    (void)arg;
    if (n > 0) {
        say_error("-m names another model, at the start");
        return;
    }
    command_say_model(i);
    say("file     %s", c->a->o->embedded ? "part of the program" : c->a->o->model);
    say("context  %d tokens, trained on %d; %d layers, vocabulary %d", i->ctx, i->ctx_trained, i->layers, i->vocab);
    if (i->window > 0) say("window   a token sees itself and the %d before it", i->window - 1);
    say("turns    written as %s", i->template);
    say("runs on  %s; %s; %s", i->maker, i->backend, i->kernels);
}

/* ---------------------------------------------------------------- saving, waiting */

static bool is_saved(const struct session *s)
{
    return s->keep.n_unsaved == 0 && s->keep.head.next == s->acknowledged + 1;
}

static void save_one(struct session *s)
{
    struct err err = {0};
    const char *name = s->role.name;
    const bool begun = session_begun(s);
    session_settle(s);
    if (begun && !is_saved(s) && session_save(s, &err)) {
        command_complain(&err);
        return;
    }
    if (s->keep.n_unsaved > 0) keep_again(&s->keep);
    session_settle(s);
    if (s->keep.n_unsaved > 0)
        say_error("%s%s%d turn%s could not be saved", name, *name ? ": " : "", s->keep.n_unsaved,
                  plural(s->keep.n_unsaved));
    else say_dim("%s%s%s", name, *name ? ": " : "", begun ? "saved" : "nothing was said yet");
}

void command_save(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    if (!c->s->keep.keeper) {
        say_error("sessions are not saved here%s", c->a->o->no_save ? ": --no-save was given" : "");
        return;
    }
    for (int i = 0; i < c->team.n; i++) save_one(&c->team.member[i].s);
}

/* Saving, the recall index, pages on their way to disk: all of it is the store's. */
void command_wait(struct console *c, const char *arg, size_t n)
{
    int unsaved = 0;
    (void)arg, (void)n;
    for (int i = 0; i < c->team.n; i++) {
        session_settle(&c->team.member[i].s);
        unsaved += c->team.member[i].s.keep.n_unsaved;
    }
    if (unsaved > 0) say("nothing goes on any more; %d turn%s to be saved with the next", unsaved,
                         unsaved == 1 ? " waits" : "s wait");
    else say_dim("nothing goes on any more");
}
