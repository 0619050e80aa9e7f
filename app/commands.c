/* commands.c - the line chat's commands, in one table. */
#include "app/console.h"
#include "app/say.h"
#include "app/sessions.h"
#include "app/signals.h"
#include <errno.h>
#include <inttypes.h>
#include <time.h>

typedef void command(struct console *c, const char *arg, size_t n);

static void complain(const struct err *err) { say_error("%s", err->text); }

/* A number that is all of arg. */
static bool number(const char *arg, size_t n, uint64_t most, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (arg[i] < '0' || arg[i] > '9' || *out > most / 10) return false;
        *out = *out * 10 + (uint64_t)(arg[i] - '0');
    }
    return n > 0 && *out <= most;
}

/* A text of others, line by line, between two lines of ours. */
static void say_text(const char *head, const char *text, size_t n)
{
    say_dim("%s", head);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        for (size_t part = 0; part == 0 || part < len; part += 1500) /* a line of say() has an end */
            say("  %.*s", (int)MIN(len - part, (size_t)1500), text + at + part);
        at += len + 1;
    }
}

/* ---------------------------------------------------------------- figures */

static void say_engine(struct console *c)
{
    const struct engine_info *i = c->a->info;
    struct engine_snapshot s;
    struct engine_memory m;
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
    if (c->a->o->overcommit)
        say("parked   %lld now, %llu times in all; %llu tokens computed again; %.1f of %.1f MiB for their pages",
            (long long)s.parked, (unsigned long long)s.parkings, (unsigned long long)s.recomputed,
            (double)s.park_used / 0x1p20, (double)s.park_bytes / 0x1p20);
    say("since    start: %llu tokens read, %llu more were in memory already, %llu written, %llu passes",
        (unsigned long long)s.prefilled, (unsigned long long)s.reused, (unsigned long long)s.generated,
        (unsigned long long)s.passes);
    buf_free(&words);
}

static void say_saved(struct console *c)
{
    const struct session *s = &c->s;
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(s->keep.head.id, id);
    if (!s->keep.keeper) say("session  not saved");
    else if (s->keep.head.next == s->acknowledged + 1) say("session  %.8s, saved: %u turns", id, s->keep.head.turns);
    else say("session  %.8s, %u turns; %d wait to be saved", id, s->keep.head.turns, s->keep.n_unsaved);
}

static void do_stats(struct console *c, const char *arg, size_t n)
{
    const struct turn_result *t = &c->s.last;
    char line[200];
    (void)arg, (void)n;
    say_engine(c);
    if (c->s.any) say("context  %d of %d tokens after the last turn", t->n_prompt + t->n_tokens, c->a->info->ctx);
    else say("context  0 of %d tokens", c->a->info->ctx);
    forecast_agent_words(&c->growth, "at this growth", line, sizeof line);
    if (c->s.any) say("ahead    %s", line);
    say_saved(c);
}

static void do_context(struct console *c, const char *arg, size_t n)
{
    struct window_figures f;
    char name[48];
    (void)arg, (void)n;
    window_figures(c->s.w, &f);
    say("a call   %lld of %lld tokens; context %d, of which %lld are for the answer or a summary", (long long)f.used,
        (long long)f.limit, c->a->info->ctx, (long long)f.reserve);
    for (enum window_part p = WINDOW_SYSTEM; p < WINDOW_REQUEST; p++)
        if (f.part[p] > 0)
            say("  %-13s %6lld tokens in %lld", window_part_name(p), (long long)f.part[p], (long long)f.count[p]);
    say("marks    summed up above %lld, down to %lld; /compact would free %lld now", (long long)f.high,
        (long long)f.low, (long long)f.by_compact);
    window_ref_name(&f.summed, name);
    if (f.summary) say("summary  of %lld messages: %s%s", (long long)f.summed.messages, name,
                       f.extractive ? ", an extract" : "");
    window_ref_name(&f.cut, name);
    if (f.cut.messages > 0) say("left     %lld messages without a summary: %s", (long long)f.cut.messages, name);
    say("so far   %llu calls of %llu tokens, %llu of them as in the call before (%llu calls began anew), %llu summaries",
        (unsigned long long)f.calls, (unsigned long long)f.sent_tokens, (unsigned long long)f.kept_tokens,
        (unsigned long long)f.breaks, (unsigned long long)f.compactions);
}

/* ---------------------------------------------------------------- the conversation */

static void do_clear(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf system = {0};
    const struct text_entry *e = session_system_text(&c->s);
    (void)arg, (void)n;
    if (e) buf_put(&system, e->text, e->len);
    face_leave(c->a, &c->s, EXIT_DONE);
    if (session_new(&c->s, c->a, system.data, &err) != EXIT_DONE) {
        app_error(c->a, "open", err.text);
        c->status = EXIT_INTERNAL;
        c->quit = true;
    }
    console_anew(c);
    say_dim("a new conversation%s", system.len ? "; the system message stays" : "");
    buf_free(&system);
}

static void do_system(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    const struct text_entry *e = session_system_text(&c->s);
    if (n == 0 && e) say("%.*s", (int)MIN(e->len, (size_t)1000), e->text);
    else if (n == 0) say("there is no system message; /system TEXT sets one");
    else if (session_system(&c->s, arg, n, &err)) complain(&err);
    else say_dim("the system message is set; the conversation goes on under it");
}

static void do_summary(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf diff = {0};
    (void)arg, (void)n;
    const struct text_entry *e = session_summary(&c->s, &diff, &err);
    if (!e) complain(&err);
    else say_text("the summary in force:", e->text, e->len);
    if (e && diff.len > 0) say_text("since the one before:", diff.data, diff.len);
    buf_free(&diff);
}

static void do_compact(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    (void)arg, (void)n;
    if (session_compact(&c->s, &err)) complain(&err);
    else if (session_save(&c->s, &err)) complain(&err);
    c->growth = (struct forecast_agent){0};
}

static void do_undo(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    bool summary = n == 7 && memcmp(arg, "summary", 7) == 0;
    if (n > 0 && !summary) {
        say_error("/undo takes back the last turn, /undo summary the last summary");
        return;
    }
    if (summary ? session_undo_summary(&c->s, &err) : session_undo(&c->s, NULL, &err)) complain(&err);
    else if (summary) say_dim("the summary is out; what it summed up is in the context again");
    else say_dim("the last turn is taken back: %u are left", c->s.keep.head.turns);
    c->growth = (struct forecast_agent){0};
}

/* The last turn again: in the same words, or in others. */
static void do_again(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf said = {0};
    if (session_undo(&c->s, &said, &err)) complain(&err);
    else if (n > 0) console_ask(c, arg, n);
    else console_ask(c, said.data ? said.data : "", said.len);
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
    if (n == 0) say_error("/pin TEXT keeps it in every call, word by word, until /unpin");
    else if (session_pin(&c->s, arg, n, &id, &err)) complain(&err);
    else say_dim("pinned as %" PRIu64 "; /unpin %" PRIu64 " takes it out", id, id);
}

static void do_unpin(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t id;
    if (!number(arg, n, UINT64_MAX / 16, &id)) say_error("/unpin NUMBER, as /pin gave it");
    else if (session_unpin(&c->s, id, &err)) complain(&err);
    else say_dim("taken out");
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
        if (session_task(&c->s, arg, n, &err)) complain(&err);
        else say_dim("noted; /task lists what is open, /done NUMBER closes one");
        return;
    }
    if (session_tasks(&c->s, &r, &any)) say_error("the list of tasks is damaged");
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
    if (!number(arg, n, 1 << 20, &which)) say_error("/done NUMBER, as /task lists it");
    else if (session_task_done(&c->s, (size_t)which, &err)) complain(&err);
    else say_dim("done");
}

enum { READ_MOST = 200 };

static void do_read(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t first, last, shown = 0;
    if (!window_ref_read(arg, n, &first, &last)) {
        say_error("/read m12 or m12-57: messages by the name that a line in the context gives them");
        return;
    }
    for (uint64_t id = first; id <= last && shown < READ_MOST && id < c->s.keep.head.next; id++) {
        const struct text_entry *e = session_text(&c->s, id, &err);
        char head[80];
        if (!e && first == last) complain(&err);
        if (!e) continue; /* an event, or a mark */
        snprintf(head, sizeof head, "m%" PRIu64 ", %s:", id, journal_kind_name(e->kind));
        say_text(head, e->text, e->len);
        shown++;
    }
    if (shown == READ_MOST) say_dim("the first %d; ask for fewer at a time", READ_MOST);
    session_poll(&c->s); /* they leave memory again */
}

static void do_attach(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char path[4096];
    if (n == 0 || n >= sizeof path || memchr(arg, 0, n)) {
        say_error("/attach FILE puts a file into the conversation, clipped; the whole is kept");
        return;
    }
    snprintf(path, sizeof path, "%.*s", (int)n, arg);
    if (session_attach_file(&c->s, path, &err)) complain(&err);
}

/* "a3", "a3 4096", "a3 100-120", "a3 /out of memory/": from an offset, lines, lines with a pattern. */
static bool read_request(const char *arg, size_t n, uint64_t *id, struct clip_request *r)
{
    size_t name = 0;
    while (name < n && arg[name] != ' ') name++;
    if (!session_artifact_name(arg, name, id)) return false;
    while (name < n && arg[name] == ' ') name++;
    const char *rest = arg + name, *dash = memchr(rest, '-', n - name);
    size_t len = n - name;
    *r = (struct clip_request){.by = CLIP_BY_OFFSET};
    if (len == 0) return true;
    if (len > 2 && rest[0] == '/' && rest[len - 1] == '/') {
        *r = (struct clip_request){.by = CLIP_BY_REGEX, .pattern = rest + 1, .pattern_len = len - 2};
        return true;
    }
    if (!dash) return number(rest, len, INT64_MAX, &r->from);
    r->by = CLIP_BY_LINES;
    return number(rest, (size_t)(dash - rest), INT64_MAX, &r->from) &&
           number(dash + 1, len - (size_t)(dash + 1 - rest), INT64_MAX, &r->to);
}

static void do_artifact(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct clip_request r;
    struct clip_figures f;
    struct buf text = {0};
    char head[120];
    uint64_t id;
    if (!read_request(arg, n, &id, &r)) {
        say_error("/artifact a3, or a3 OFFSET, a3 FIRST-LAST (lines), a3 /PATTERN/");
        return;
    }
    if (session_read_artifact(&c->s, id, &r, &text, &f, &err)) {
        complain(&err);
    } else {
        snprintf(head, sizeof head, "artifact a%" PRIu64 ", %" PRIu64 " of %" PRIu64 " bytes:", id, f.shown_bytes,
                 f.bytes);
        say_text(head, text.data ? text.data : "", text.len);
        if (f.next < f.bytes) say_dim("read on with /artifact a%" PRIu64 " %" PRIu64, id, f.next);
    }
    buf_free(&text);
}

/* Each name is a file; blanks separate them. */
static void do_ingest(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char path[4096];
    if (n == 0) say_error("/ingest FILE...: for /recall; nothing of it enters the conversation until it is found");
    for (size_t at = 0, end; at < n; at = end) {
        while (at < n && arg[at] == ' ') at++;
        for (end = at; end < n && arg[end] != ' ';) end++;
        if (end == at || end - at >= sizeof path) break;
        snprintf(path, sizeof path, "%.*s", (int)(end - at), arg + at);
        if (session_ingest(&c->s, path, &err)) complain(&err);
        else say_dim("ingested %s as a%" PRIu64, path, c->s.keep.head.artifacts - 1);
    }
}

static void do_recall(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct remember_found found;
    bool all = n > 4 && memcmp(arg, "all ", 4) == 0;
    struct session_question q = {.text = arg + (all ? 4 : 0), .n = n - (all ? 4 : 0), .k = 8, .everywhere = all};
    if (n == 0) {
        say_error("/recall WORDS: in this session; /recall all WORDS: in all");
        return;
    }
    if (session_recall(&c->s, &q, &found, &err)) complain(&err);
    for (int i = 0; i < found.n; i++) {
        const struct remember_quote *h = &found.quote[i];
        char id[2 * STORE_SESSION_ID + 1], head[400];
        journal_id_text(h->session, id);
        snprintf(head, sizeof head, "%s%s%.8s%s%s  score %.1f: %s", h->name, all ? " of " : "", all ? id : "",
                 *h->path ? " " : "", h->path, h->score, h->why);
        say_text(head, found.text.data + h->at, h->len);
    }
    if (found.n == 0 && !err.code) say("nothing found%s", found.unknown ? ": none of these words was said" : "");
    if (*found.damage) say("the index is damaged and will be made again: %s", found.damage);
    remember_free(&found);
}

/* ---------------------------------------------------------------- sessions */

struct listing {
    struct journal_head *head;
    size_t n;
};

enum { LISTED = 30 };


static int list(struct store *s, void *arg, struct err *err)
{
    struct listing *l = arg;
    return journal_heads(s, LISTED, &l->head, &l->n, NULL, err);
}

static void do_sessions(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct listing l = {0};
    (void)arg, (void)n;
    if (!c->s.keep.keeper) {
        say_error("sessions are not saved here");
        return;
    }
    session_settle(&c->s);
    if (keep_call(&c->s.keep, list, &l, &err)) complain(&err);
    for (size_t i = 0; i < l.n; i++) {
        char id[2 * STORE_SESSION_ID + 1], when[32];
        time_t t = (time_t)(l.head[i].updated_ms / 1000);
        struct tm tm;
        journal_id_text(l.head[i].id, id);
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", localtime_r(&t, &tm));
        say("%.8s  %s  %4u turns  %s%s", id, when, l.head[i].turns, l.head[i].title,
            memcmp(l.head[i].id, c->s.keep.head.id, STORE_SESSION_ID) == 0 ? "  (this one)" : "");
    }
    if (l.n == 0) say("none is saved yet");
    if (l.n == LISTED) say_dim("the newest %d; plimsoll sessions lists all", LISTED);
    free(l.head);
}

static void do_resume(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char name[64], old[2 * STORE_SESSION_ID + 1];
    if (n == 0 || n >= sizeof name) {
        say_error("/resume SESSION: the first letters of its id, or last; /sessions lists them");
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)n, arg);
    journal_id_text(c->s.keep.head.id, old);
    bool said = c->s.keep.head.turns > 0;
    face_leave(c->a, &c->s, EXIT_DONE);
    if (session_resume(&c->s, c->a, name, NULL, &err) == EXIT_DONE) {
        console_anew(c);
        say_dim("%.8s, %s: %u turns", name, c->s.keep.head.title, c->s.keep.head.turns);
        return;
    }
    complain(&err);
    session_close(&c->s);
    int status = said ? session_resume(&c->s, c->a, old, NULL, &err)
                      : session_new(&c->s, c->a, c->a->o->system, &err);
    if (status == EXIT_DONE) return;
    app_error(c->a, "open", err.text);
    c->status = status;
    c->quit = true;
}

static void do_fork(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t turn = c->s.keep.head.turns;
    if (n > 0 && !number(arg, n, UINT32_MAX, &turn)) {
        say_error("/fork TURN goes on in a copy of this session as it was after that turn (%u: now)",
                  c->s.keep.head.turns);
        return;
    }
    if (session_fork(&c->s, (uint32_t)turn, &err)) {
        complain(&err);
        c->quit = c->s.w == NULL;
        c->status = c->quit ? EXIT_INTERNAL : c->status;
        return;
    }
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(c->s.keep.head.id, id);
    console_anew(c);
    say_dim("this is a copy now, %.8s, after turn %u", id, (unsigned)turn);
}

static void do_rename(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    if (n == 0) say("%s", *c->s.keep.head.title ? c->s.keep.head.title : "it has no title yet; /rename TITLE gives one");
    else if (session_rename(&c->s, arg, n, &err)) complain(&err);
    else say_dim("it is called %s", c->s.keep.head.title);
}

/* ---------------------------------------------------------------- sessions, as a whole */

static int write_file(struct store *s, void *arg, struct err *err) { return sessions_write(s, arg, err); }

static void export_to(struct console *c, struct sessions_file *f)
{
    struct err err = {0};
    session_settle(&c->s); /* what waits is in it too */
    if (c->s.keep.n_unsaved > 0) say("%d turns could not be saved yet, and are not in it", c->s.keep.n_unsaved);
    if (c->s.acknowledged == 0) {
        say_error("nothing was said yet in this session");
        return;
    }
    if (keep_call(&c->s.keep, write_file, f, &err)) {
        complain(&err);
        if (err.code == SESSIONS_STOPPED) signals_forget_interrupt();
    } else {
        say_dim("written to %s", f->path);
    }
    if (f->missing.len > 0) say_text("not in it:", f->missing.data, f->missing.len);
    buf_free(&f->missing);
}

static void do_export(struct console *c, const char *arg, size_t n)
{
    char path[1024];
    struct sessions_file f = {.path = path};
    if (n > 3 && memcmp(arg + n - 3, " md", 3) == 0) {
        f.options.format = EXPORT_MARKDOWN;
        for (n -= 3; n > 0 && arg[n - 1] == ' '; n--) {
        }
    }
    if (n == 0 || n >= sizeof path) {
        say_error("/export FILE writes this session as JSON Lines, /export FILE md as Markdown");
        return;
    }
    if (!c->s.keep.keeper) {
        say_error("sessions are not saved here");
        return;
    }
    snprintf(path, sizeof path, "%.*s", (int)n, arg);
    memcpy(f.session, c->s.keep.head.id, sizeof f.session);
    if (sessions_file_exists(path)) {
        f.over = sessions_ask(&c->in, "%s is there already; write over it?", path);
        signals_forget_interrupt();
        if (!f.over) return;
    }
    export_to(c, &f);
}

struct deleting {
    const char *name;
    struct journal_head head;
    bool waits;
};

static int find_one(struct store *s, void *arg, struct err *err)
{
    struct deleting *d = arg;
    return journal_find(s, d->name, &d->head, err);
}

static int delete_one(struct store *s, void *arg, struct err *err)
{
    struct deleting *d = arg;
    return sessions_delete(s, d->head.id, &d->waits, err);
}

static void do_delete(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char name[64], id[2 * STORE_SESSION_ID + 1];
    struct deleting d = {.name = name};
    if (n == 0 || n >= sizeof name) {
        say_error("/delete SESSION: the first letters of its id, or last; /sessions lists them");
        return;
    }
    if (!c->s.keep.keeper) {
        say_error("sessions are not saved here");
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)n, arg);
    if (keep_call(&c->s.keep, find_one, &d, &err)) {
        complain(&err);
        return;
    }
    if (memcmp(d.head.id, c->s.keep.head.id, sizeof d.head.id) == 0) {
        say_error("that is the one that is open here; /clear or /resume another first");
        return;
    }
    journal_id_text(d.head.id, id);
    bool yes = sessions_ask(&c->in, "delete %.8s, %s (%u turns), for good?", id, d.head.title, d.head.turns);
    signals_forget_interrupt();
    if (!yes) say_dim("it stays");
    else if (keep_call(&c->s.keep, delete_one, &d, &err)) complain(&err);
    else if (d.waits) say("it is deleted; its bytes are wiped when the other processes that use the store have ended");
    else say_dim("%.8s is deleted", id);
}

static void do_quit(struct console *c, const char *arg, size_t n)
{
    (void)arg, (void)n;
    c->quit = true;
}

/* ---------------------------------------------------------------- the table */

static command do_help;

static const struct { const char *name, *help; command *run; } commands[] = {
    {"/help", "this list", do_help},
    {"/clear", "a new conversation; this one stays saved", do_clear},
    {"/system", "TEXT: set the system message; alone: show it", do_system},
    {"/context", "what a call carries, token by token", do_context},
    {"/compact", "sum the oldest up now", do_compact},
    {"/summary", "the summary in force, and what has changed since the one before", do_summary},
    {"/undo", "take the last turn back; /undo summary: the last summary", do_undo},
    {"/retry", "take the last turn back and ask it again", do_retry},
    {"/edit", "TEXT: take the last turn back and ask TEXT in its place", do_edit},
    {"/pin", "TEXT: keep it in every call, word by word", do_pin},
    {"/unpin", "NUMBER: not any more", do_unpin},
    {"/task", "TEXT: note what is to be done; alone: the list", do_task},
    {"/done", "NUMBER: a task is done", do_done},
    {"/read", "m12-57: messages, in the context or not", do_read},
    {"/attach", "FILE: into the conversation, clipped; the whole is kept as an artifact", do_attach},
    {"/artifact", "a3 [OFFSET, FIRST-LAST or /PATTERN/]: read one", do_artifact},
    {"/recall", "[all] WORDS: what was said, clipped or ingested, found by its words", do_recall},
    {"/ingest", "FILE...: for /recall; it enters the conversation only where it is found", do_ingest},
    {"/sessions", "those that are saved", do_sessions},
    {"/resume", "SESSION: go on with a saved one", do_resume},
    {"/fork", "TURN: go on in a copy of this session as it was after that turn", do_fork},
    {"/rename", "TITLE: of this session", do_rename},
    {"/export", "FILE: write this session as JSON Lines; FILE md: as Markdown", do_export},
    {"/delete", "SESSION: another one than this, for good", do_delete},
    {"/stats", "model, memory, context", do_stats},
    {"/quit", "leave (so does Ctrl-D)", do_quit},
};

static void do_help(struct console *c, const char *arg, size_t n)
{
    (void)c, (void)arg, (void)n;
    for (size_t i = 0; i < COUNT_OF(commands); i++) say("  %-10s %s", commands[i].name, commands[i].help);
    say("  \"\"\"        begins and ends a turn of several lines");
    say("  Ctrl-C     interrupts the answer; what was said stays in the conversation");
}

void console_command(struct console *c, const char *line, size_t n)
{
    size_t name = 0, arg;
    while (name < n && line[name] != ' ' && line[name] != '\t') name++;
    for (arg = name; arg < n && (line[arg] == ' ' || line[arg] == '\t'); arg++) {
    }
    while (n > arg && (line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strlen(commands[i].name) != name || memcmp(commands[i].name, line, name)) continue;
        commands[i].run(c, line + arg, n - arg);
        return;
    }
    say_error("no such command: %.*s (/help lists them; \"\"\" sends any text)", (int)MIN(name, (size_t)60), line);
}
