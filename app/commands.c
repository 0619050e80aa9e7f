/* commands.c - the line chat's commands, in one table. */
#include "app/commands.h"
#include "app/say.h"
#include <inttypes.h>
#include <signal.h>

void command_complain(const struct err *err) { say_error("%s", err->text); }

/* A number that is all of arg. */
bool command_number(const char *arg, size_t n, uint64_t most, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (arg[i] < '0' || arg[i] > '9' || *out > most / 10) return false;
        *out = *out * 10 + (uint64_t)(arg[i] - '0');
    }
    return n > 0 && *out <= most;
}

/* A line of say() has an end: a longer one is told in parts, between characters. */
static void say_line(const char *text, size_t n)
{
    size_t part, at = 0;
    do {
        part = MIN(n - at, (size_t)COMMAND_LINE);
        for (int i = 0; i < 3 && at + part < n && ((unsigned char)text[at + part] & 0xc0) == 0x80; i++) part--;
        say("  %.*s", (int)part, text + at);
        at += part;
    } while (at < n);
}

void command_text(const char *head, const char *text, size_t n)
{
    say_dim("%s", head);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        say_line(text + at, len);
        at += len + 1;
    }
}

/* ---------------------------------------------------------------- the conversation */

/* Would the store take a new session?  The one that is open here is closed for it. */
static bool can_begin(struct console *c, struct err *err)
{
    struct keep probe;
    struct keeper *keeper = c->s->keep.keeper;
    if (!keeper) return true;
    if (keep_new(&probe, keeper, "", err)) return false;
    keep_close(&probe);
    return true;
}

static void do_clear(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf system = {0};
    const struct text_entry *e = session_system_text(c->s);
    (void)arg, (void)n;
    if (!console_may_leave(c, false)) return;
    if (!can_begin(c, &err)) {
        command_complain(&err);
        return;
    }
    if (e) buf_put(&system, e->text, e->len);
    struct session_role role = c->s->role;
    console_leave(c);
    if (session_new_as(c->s, c->a, &role, system.data, &err) != EXIT_DONE) {
        app_error(c->a, "open", err.text);
        c->status = EXIT_INTERNAL;
        c->quit = true;
    } else {
        say_dim("a new conversation%s", system.len ? "; the system message stays" : "");
    }
    buf_free(&system);
}

static void do_system(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    const struct text_entry *e = session_system_text(c->s);
    if (n == 0 && e) say("%.*s", (int)MIN(e->len, (size_t)1000), e->text);
    else if (n == 0) say("there is no system message; /system TEXT sets one");
    else if (session_system(c->s, arg, n, &err)) command_complain(&err);
    else say_dim("the system message is set; the conversation goes on under it");
}

static void do_summary(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf diff = {0};
    (void)arg, (void)n;
    const struct text_entry *e = session_summary(c->s, &diff, &err);
    if (!e) command_complain(&err);
    else command_text("the summary in force:", e->text, e->len);
    if (e && diff.len > 0) command_text("since the one before:", diff.data, diff.len);
    buf_free(&diff);
}

static void do_compact(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    (void)arg, (void)n;
    if (session_compact(c->s, &err)) command_complain(&err);
    else if (session_save(c->s, &err)) command_complain(&err);
}

/* Right after an interrupted /edit or /retry it is that which is taken back. */
static bool undo_again(struct console *c)
{
    struct err err = {0};
    const struct session_place *p = &c->replaced;
    if (p->window.len == 0 || memcmp(p->session, c->s->keep.head.id, sizeof p->session) != 0 ||
        p->turns != c->s->keep.head.turns || session_last_user(c->s) != c->replaced_by)
        return false;
    if (session_return(c->s, p, &err)) command_complain(&err);
    else say_dim("turn %u is as it was before it was asked again", (unsigned)p->turns);
    session_place_free(&c->replaced);
    return true;
}

static void do_undo(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    bool summary = n == 7 && memcmp(arg, "summary", 7) == 0;
    if (n > 0 && !summary) {
        say_error("/undo takes back the last turn, /undo summary the last summary");
        return;
    }
    if (!summary && undo_again(c)) return;
    if (summary ? session_undo_summary(c->s, &err) : session_undo(c->s, NULL, &err)) command_complain(&err);
    else if (summary) say_dim("the summary is out; what it summed up is in the context again");
    else say_dim("the last turn is taken back: %u are left", c->s->keep.head.turns);
}

/* What was to take the place of a turn came to nothing: that one is back.  Of what was interrupted a part is there. */
static void end_again(struct console *c, struct session_place *was, int status)
{
    struct err err = {0};
    char old[48];
    const uint32_t left = was->turns - 1;
    if (status == EXIT_DONE) return;
    if (c->s->keep.head.turns == left) {
        if (session_return(c->s, was, &err)) command_complain(&err);
        else say_dim("[turn %u is back as it was]", (unsigned)was->turns);
        return;
    }
    window_ref_name(&(struct window_ref){.first = was->user, .last = was->next - 1}, old);
    say_dim("[what was said of the new answer is turn %u now; /undo brings the old one back (%s)]",
            (unsigned)was->turns, old);
    session_place_free(&c->replaced);
    c->replaced = *was;
    c->replaced_by = session_last_user(c->s);
    *was = (struct session_place){0};
}

/* The last turn again: in the same words, or in others. */
static void do_again(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf said = {0};
    struct session_place was;
    if (session_hold(c->s, &was, &err)) {
        command_complain(&err);
        return;
    }
    int status = EXIT_INTERNAL;
    if (session_undo(c->s, &said, &err)) command_complain(&err);
    else status = console_ask(c, n > 0 ? arg : said.data ? said.data : "", n > 0 ? n : said.len);
    if (c->s->keep.head.turns != was.turns || status == 128 + SIGINT) end_again(c, &was, status);
    session_place_free(&was);
    buf_free(&said);
}

static void do_edit(struct console *c, const char *arg, size_t n)
{
    if (n == 0) say_error("/edit TEXT takes the last turn back and asks TEXT in its place");
    else do_again(c, arg, n);
}

static void do_retry(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    do_again(c, "", 0);
}

static void do_pin(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t id;
    uint64_t first, last;
    if (window_ref_read(arg, n, &first, &last)) { /* nobody wants these few letters pinned, but what they name */
        const struct text_entry *e = first == last ? session_text(c->s, first, &err) : NULL;
        if (first != last) err_set(&err, -1, "one message at a time: /pin m%" PRIu64, first);
        if (!e) command_complain(&err);
        if (!e) return;
        arg = e->text;
        n = e->len;
    }
    if (n == 0) say_error("/pin TEXT keeps it in every call, word by word, until /unpin; /pin m12 that message");
    else if (session_pin(c->s, arg, n, &id, &err)) command_complain(&err);
    else say_dim("pinned as %" PRIu64 "; /unpin %" PRIu64 " takes it out", id, id);
}

static void do_unpin(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t id;
    if (!command_number(arg, n, UINT64_MAX / 16, &id)) say_error("/unpin NUMBER, as /pin gave it");
    else if (session_unpin(c->s, id, &err)) command_complain(&err);
    else say_dim("taken out");
}

static void do_drop(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t first, last;
    if (!window_ref_read(arg, n, &first, &last) || first != last)
        say_error("/drop m12: from the next call on a line stands for that message; the whole is kept");
    else if (session_drop(c->s, first, &err)) command_complain(&err);
}

static void say_tasks(const char *head, const struct form_list *l, bool numbered)
{
    for (size_t i = 0; i < l->n; i++) {
        if (numbered) say("%s %zu  %.*s", head, i + 1, (int)MIN(l->item[i].len, (size_t)1000), l->item[i].text);
        else say("%s    %.*s", head, (int)MIN(l->item[i].len, (size_t)1000), l->item[i].text);
    }
}

static void do_task(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct form_record r;
    bool any;
    if (n > 0) {
        if (session_task(c->s, arg, n, &err)) command_complain(&err);
        else say_dim("noted; /task lists what is open, /done NUMBER closes one");
        return;
    }
    if (session_tasks(c->s, &r, &any)) say_error("the list of tasks is damaged");
    else if (!any) say("no task was noted; /task TEXT does");
    if (!any) return;
    say_tasks("done", &r.section[RECORD_DONE], false);
    say_tasks("open", &r.section[RECORD_OPEN], true);
    forms_record_free(&r);
}

static void do_done(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t which;
    if (!command_number(arg, n, 1 << 20, &which)) say_error("/done NUMBER, as /task lists it");
    else if (session_task_done(c->s, (size_t)which, &err)) command_complain(&err);
    else say_dim("done");
}

/* The screen obeys it while something runs (tui/ui_chat.c); whoever comes here has waited for the end of that. */
static void do_cancel(struct console *c, const char *arg, size_t n)
{
    (void)c, (void)arg, (void)n;
    say_dim("nothing is running");
}

static void do_quit(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    c->quit = true;
}

/* ---------------------------------------------------------------- the table */

static command do_help;

const struct command_row command_table[] = {
    {"/help", NULL, COMMAND_NONE, NULL, do_help, "this list"},
    {"/clear", NULL, COMMAND_NONE, NULL, do_clear, "a new conversation; this one stays saved"},
    {"/system", "[TEXT]", COMMAND_TEXT, NULL, do_system, "set the system message; alone: show it"},
    {"/context", NULL, COMMAND_NONE, NULL, command_context, "what a call carries, token by token"},
    {"/compact", NULL, COMMAND_NONE, NULL, do_compact, "sum the oldest up now"},
    {"/summary", NULL, COMMAND_NONE, NULL, do_summary,
     "the summary in force, and what has changed since the one before"},
    {"/undo", "[summary]", COMMAND_NONE, "summary", do_undo, "take the last turn back, or the last summary"},
    {"/retry", NULL, COMMAND_NONE, NULL, do_retry, "take the last turn back and ask it again"},
    {"/edit", "TEXT", COMMAND_TEXT, NULL, do_edit, "take the last turn back and ask TEXT in its place"},
    {"/pin", "TEXT", COMMAND_TEXT, NULL, do_pin, "keep it in every call, word by word; m12: that message"},
    {"/drop", "m12", COMMAND_MESSAGE, NULL, do_drop,
     "from now on a line stands for that message, a tool's result say"},
    {"/unpin", "NUMBER", COMMAND_NUMBER, NULL, do_unpin, "not any more"},
    {"/task", "[TEXT]", COMMAND_TEXT, NULL, do_task, "note what is to be done; alone: the list"},
    {"/done", "NUMBER", COMMAND_NUMBER, NULL, do_done, "a task is done"},
    {"/read", "m12-57", COMMAND_MESSAGE, NULL, command_read, "messages, in the context or not"},
    {"/attach", "FILE", COMMAND_FILE, NULL, command_attach,
     "into the conversation, clipped; the whole is kept as an artifact"},
    {"/artifact", "a3 [OFFSET, FIRST-LAST or /PATTERN/]", COMMAND_ARTIFACT, NULL, command_artifact, "read one"},
    {"/recall", "[all] WORDS", COMMAND_TEXT, "all", command_recall,
     "what was said, clipped or ingested, found by its words"},
    {"/ingest", "FILE...", COMMAND_FILES, NULL, command_ingest,
     "for /recall, \"a name\" with blanks in quotes; it enters the conversation only where it is found"},
    {"/sessions", NULL, COMMAND_NONE, NULL, command_sessions, "those that are saved"},
    {"/resume", "SESSION", COMMAND_SESSION, NULL, command_resume, "go on with a saved one"},
    {"/fork", "TURN", COMMAND_NUMBER, NULL, command_fork,
     "go on in a copy of this session as it was after that turn"},
    {"/rename", "TITLE", COMMAND_TEXT, NULL, command_rename, "of this session"},
    {"/export", "FILE [md]", COMMAND_FILE, NULL, command_export, "write this session as JSON Lines; md: as Markdown"},
    {"/delete", "SESSION [now]", COMMAND_SESSION, NULL, command_delete,
     "another one than this, for good; now: unasked"},
    {"/stats", NULL, COMMAND_NONE, NULL, command_stats, "model, memory, context"},
    {"/agents", NULL, COMMAND_NONE, NULL, command_agents, "who there is, what each carries"},
    {"/use", "[AGENT]", COMMAND_AGENT, NULL, command_use,
     "commands and lines are for this one; alone: lines are for the crew"},
    {"/for", "AGENT /COMMAND", COMMAND_AGENT, NULL, command_for, "a command about another agent"},
    {"/tools", "[off TOOL]", COMMAND_TOOL, "off", command_tools, "those that are on; off: not any more"},
    {"/tokens", "[TEXT]", COMMAND_TEXT, NULL, command_tokens, "how many it has; alone: of the last turn"},
    {"/memory", NULL, COMMAND_NONE, NULL, command_memory, "the engine's memory, by owner"},
    {"/view", "[AGENT]", COMMAND_AGENT, NULL, command_view, "the exact text of its next call"},
    {"/limit", "[answer N, rounds N or repeats N]", COMMAND_NUMBER, "answer|rounds|repeats", command_limit,
     "set a limit of this agent; alone: the limits"},
    {"/policy", "[recall auto or ask]", COMMAND_NONE, "recall auto|recall ask", command_policy,
     "change it; alone: the policies in force"},
    {"/park", "[AGENT]", COMMAND_AGENT, NULL, command_park,
     "its KV pages leave the pool until its next turn, so that others have their room"},
    {"/model", NULL, COMMAND_NONE, NULL, command_model, "the model"},
    {"/plan", NULL, COMMAND_NONE, NULL, command_plan, "what the next turn may take, and whether it fits"},
    {"/save", NULL, COMMAND_NONE, NULL, command_save, "now, and wait for it"},
    {"/wait", NULL, COMMAND_NONE, NULL, command_wait, "for what goes on in the background"},
    {"/expect", "PATTERN", COMMAND_TEXT, NULL, command_expect, "the last answer has it, or a script ends here"},
    {"/assert", "FIGURE OP FIGURE", COMMAND_TEXT, NULL, command_assert,
     "it holds, or a script ends here; the second may be a number"},
    {"/explain", "[FILE]", COMMAND_FILE, NULL, command_explain,
     "what a log in FILE says of why memory ran out; alone, on the full screen: why the last turn had none"},
    {"/isolate", NULL, COMMAND_NONE, NULL, command_isolate, "the last turn that failed again, alone"},
    {"/bisect", NULL, COMMAND_NONE, NULL, command_bisect,
     "what of the policies, tools and agents at once makes this script fail"},
    {"/cancel", "[AGENT]", COMMAND_AGENT, NULL, do_cancel, "on the full screen: what runs ends; elsewhere Ctrl-C"},
    {"/quit", NULL, COMMAND_NONE, NULL, do_quit, "leave (so does Ctrl-D)"},
};
const size_t command_rows = COUNT_OF(command_table);

static void do_help(struct console *c, const char *arg, size_t n)
{
    (void)c, (void)arg, (void)n;
    for (const struct command_row *r = command_table; r < command_table + command_rows; r++)
        say("  %-10s %s%s%s", r->name, r->takes ? r->takes : "", r->takes ? ": " : "", r->help);
    say("  \"\"\"        begins and ends a turn of several lines");
    say("  Ctrl-C     interrupts the answer; what was said stays in the conversation");
}

static void no_such_command(const char *word, size_t n, bool in_script)
{
    char typed[OPTS_NAME_MAX];
    const char *near = NULL;
    int least = 0, len = (int)MIN(n, sizeof typed);
    snprintf(typed, sizeof typed, "%.*s", len, word);
    for (const struct command_row *r = command_table; len < OPTS_NAME_MAX && r < command_table + command_rows; r++) {
        const int edits = opts_edits(typed, r->name);
        if (!near || edits < least) near = r->name, least = edits;
    }
    const bool is_near = near && least <= 1 + (len - 1) / 3; /* without its '/' */
    say_error("no such command: %.*s%s%s%s (/help lists them; %s)", (int)MIN(n, (size_t)60), word,
              is_near ? "; did you mean " : "", is_near ? near : "", is_near ? "?" : "",
              in_script ? "\\/ begins a turn with /" : "\"\"\" sends any text");
}

void console_command(struct console *c, const char *line, size_t n)
{
    size_t name = 0, arg;
    while (name < n && line[name] != ' ' && line[name] != '\t') name++;
    for (arg = name; arg < n && (line[arg] == ' ' || line[arg] == '\t'); arg++) {
    }
    while (n > arg && (line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    for (const struct command_row *r = command_table; r < command_table + command_rows; r++) {
        if (strlen(r->name) != name || memcmp(r->name, line, name)) continue;
        r->run(c, line + arg, n - arg);
        if (!c->quit && c->team.crew) team_run_keep_up(&c->team);
        return;
    }
    no_such_command(line, name, c->script);
}
