/* commands_show.c - figures, and texts wherever they are. */
#include "app/commands.h"
#include "app/file_words.h"
#include "app/say.h"
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

/* ---------------------------------------------------------------- figures */

static void say_engine(struct console *c)
{
    const struct engine_info *i = c->a->info;
    struct engine_snapshot s;
    struct buf words = {0};
    c->a->ops->snapshot(c->a->engine, &s);
    command_say_model(i);
    say("turns    written as %s; seed %llu", i->template, (unsigned long long)c->a->sampling.seed);
    say("engine   %s; %s; %s", i->maker, i->backend, i->kernels);
    ledger_words(&i->ledger, &words);
    say("memory   %.1f of %.1f MiB allowed: %s", (double)ledger_under(&i->ledger) / 0x1p20,
        (double)i->ledger.ceiling / 0x1p20, words.failed ? "" : words.data);
    command_say_machine(c);
    say("kv pool  %llu tokens: %llu reserved, %llu filled, %llu kept for prompts that begin alike",
        (unsigned long long)s.pool_tokens, (unsigned long long)s.reserved_tokens, (unsigned long long)s.filled_tokens,
        (unsigned long long)s.cached_tokens);
    command_say_local(i);
    if (c->a->o->overcommit)
        say("parked   %lld now, %llu times in all; %llu tokens computed again; %.1f of %.1f MiB for their pages",
            (long long)s.parked, (unsigned long long)s.parkings, (unsigned long long)s.recomputed,
            (double)s.park_used / 0x1p20, (double)s.park_bytes / 0x1p20);
    say("since    start: %llu tokens read, %llu more were in memory already, %llu written with ends and summaries, "
        "%llu pass%s",
        (unsigned long long)s.prefilled, (unsigned long long)s.reused, (unsigned long long)s.generated,
        (unsigned long long)s.passes, s.passes == 1 ? "" : "es");
    if (i->drafts > 0)
        say("drafts   up to %d token%s beside the next one: %llu tried, %llu right", i->drafts, plural(i->drafts),
            (unsigned long long)s.drafted, (unsigned long long)s.drafts_right);
    buf_free(&words);
}

/* What the conversation takes beside the engine's ledger; fixed but for the texts that a call carries. */
static void say_beside(const struct session *s)
{
    size_t recall = s->keep.keeper ? recall_room() : 0, texts = texts_bytes(&s->texts), window = window_bytes(s->w);
    say("beside   %.1f MiB: recall's workspace %.1f, texts in the context %.1f, the window %.1f",
        (double)(recall + texts + window) / 0x1p20, (double)recall / 0x1p20, (double)texts / 0x1p20,
        (double)window / 0x1p20);
    const struct texts *t = &s->texts;
    if (!s->keep.keeper)
        say("unsaved  at most %.1f MiB of what has left the context; %llu message%s, %.1f MiB, gone",
            (double)t->spare / 0x1p20, (unsigned long long)t->gone.n, plural((int64_t)t->gone.n),
            (double)t->gone.bytes / 0x1p20);
}

static void say_saved(struct console *c)
{
    const struct session *s = c->s;
    const unsigned turns = s->keep.head.turns;
    const char *many = turns == 1 ? "" : "s";
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(s->keep.head.id, id);
    if (!s->keep.keeper) say("session  not saved");
    else if (s->acknowledged == 0 && s->keep.n_unsaved == 0) say("session  %.8s, saved with its first turn", id);
    else if (s->keep.head.next == s->acknowledged + 1) say("session  %.8s, saved: %u turn%s", id, turns, many);
    else say("session  %.8s, %u turn%s; %d wait to be saved", id, turns, many, s->keep.n_unsaved);
}

void command_stats(struct console *c, const char *arg, size_t n)
{
    struct window_figures f;
    char line[200];
    (void)arg, (void)n;
    session_figures(c->s, &f);
    say_engine(c);
    say("context  %lld of %d tokens are what the next call carries", (long long)f.used, c->s->role.ctx);
    forecast_agent_words(&c->s->growth, "at this growth", line, sizeof line);
    if (c->s->any) say("ahead    %s", line);
    say_beside(c->s);
    say_saved(c);
}

static void say_marks(const struct console *c, const struct window_figures *f)
{
    if (f->compaction > 0)
        say("marks    summed up above %lld, down to %lld; /compact would free %lld now", (long long)f->high,
            (long long)f->low, (long long)f->by_compact);
    else if (guards_no_window(&c->a->o->off)) say("marks    none: %s", session_no_summaries(c->s));
    else say("marks    %s: the oldest leave at %lld tokens", session_no_summaries(c->s), (long long)f->limit);
}

void command_context(struct console *c, const char *arg, size_t n)
{
    struct window_figures f;
    char name[48];
    (void)arg, (void)n;
    session_figures(c->s, &f);
    say("a call   %lld of %lld tokens (%lld more are set aside for what is written)", (long long)f.used,
        (long long)f.limit, (long long)f.reserve);
    for (enum window_part p = WINDOW_SYSTEM; p < WINDOW_REQUEST; p++)
        if (f.part[p] > 0)
            say("  %-13s %6lld tokens in %lld", window_part_name(p), (long long)f.part[p], (long long)f.count[p]);
    say_marks(c, &f);
    window_ref_name(&f.summed, name);
    if (f.summary) say("summary  of %lld message%s: %s%s", (long long)f.summed.messages,
                       plural(f.summed.messages), name, f.extractive ? ", an extract" : "");
    window_ref_name(&f.cut, name);
    if (f.cut.messages > 0) say("left     %lld message%s without a summary: %s", (long long)f.cut.messages,
                                 plural(f.cut.messages), name);
    say("so far   calls %llu, tokens %llu, as in the call before %llu; begun anew %llu, summed up %llu",
        (unsigned long long)f.calls, (unsigned long long)f.sent_tokens, (unsigned long long)f.kept_tokens,
        (unsigned long long)f.breaks, (unsigned long long)f.compactions);
}

enum { READ_MOST = 200 };

static const struct text_entry *message(struct console *c, uint64_t id, struct err *err)
{
    const struct text_entry *e = session_text(c->s, id, err);
    if (!e || e->kind != JOURNAL_MARK) return e;
    err_set(err, STORE_NOT_FOUND, "m%" PRIu64 " is no message: it is a mark", id);
    return NULL;
}

/* The last number of all may be an event's. */
static void say_none(struct console *c, uint64_t first, uint64_t last)
{
    char name[48], also[48] = "";
    uint64_t id = c->s->keep.head.next, least = id > READ_MOST ? id - READ_MOST : 0;
    window_ref_name(&(struct window_ref){.first = first, .last = last}, name);
    while (id > least && (id >= c->s->keep.head.next || !message(c, id, NULL))) id--;
    if (id > least) snprintf(also, sizeof also, ": the last is m%" PRIu64, id);
    say_error("there is no message %s%s", name, first < c->s->keep.head.next ? "" : also);
}

void command_read(struct console *c, const char *arg, size_t n)
{
    uint64_t first, last, told = 0;
    if (!window_ref_read(arg, n, &first, &last)) {
        say_error("/read m12 or m12-57: messages by the name that a line in the context gives them");
        return;
    }
    for (uint64_t id = first; id <= last && told < READ_MOST && id < c->s->keep.head.next; id++) {
        struct err err = {0};
        const struct text_entry *e = message(c, id, &err);
        char head[80];
        if (!e && first < last && err.code == STORE_NOT_FOUND) continue; /* an event, or a mark */
        told++;
        if (!e) {
            command_complain(&err);
            continue;
        }
        snprintf(head, sizeof head, "m%" PRIu64 ", %s:", id, journal_kind_name(e->kind));
        command_text(head, e->text, e->len);
    }
    if (told == 0) say_none(c, first, last);
    if (told == READ_MOST) say_dim("the first %d; ask for fewer at a time", READ_MOST);
    session_poll(c->s); /* they leave memory again */
}

/* The whole line is a name, blanks and all, if there is such a file; else the one word that it is. */
static void one_name(const char *arg, size_t n, struct buf *path)
{
    struct buf word = {0};
    struct file_word w;
    buf_put(path, arg, n);
    if (path->failed || access(path->data, F_OK) == 0) return;
    const bool any = file_word_next(arg, n, 0, &w, &word);
    if (any && w.end == n && !w.open && !w.bad && word.len > 0) {
        path->len = 0;
        buf_put(path, word.data, word.len);
    }
    path->failed |= word.failed;
    buf_free(&word);
}

void command_attach(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct buf path = {0};
    if (n == 0 || n >= PATH_MAX || memchr(arg, 0, n)) {
        say_error("/attach FILE puts a file into the conversation, clipped; the whole is kept");
        return;
    }
    one_name(arg, n, &path);
    if (path.failed) say_error("no memory for a name");
    else if (session_attach_file(c->s, path.data, &err)) command_complain(&err);
    buf_free(&path);
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
    if (!dash) return command_number(rest, len, INT64_MAX, &r->from);
    r->by = CLIP_BY_LINES;
    return command_number(rest, (size_t)(dash - rest), INT64_MAX, &r->from) &&
           command_number(dash + 1, len - (size_t)(dash + 1 - rest), INT64_MAX, &r->to);
}

void command_artifact(struct console *c, const char *arg, size_t n)
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
    if (session_read_artifact(c->s, id, &r, &text, &f, &err)) {
        command_complain(&err);
    } else if (r.by == CLIP_BY_REGEX && f.count == 0) {
        say_dim("no line of a%" PRIu64 " matches", id);
    } else {
        snprintf(head, sizeof head, "artifact a%" PRIu64 ", %" PRIu64 " of %" PRIu64 " bytes:", id, f.shown_bytes,
                 f.bytes);
        command_text(head, text.data ? text.data : "", text.len);
        if (f.next < f.bytes) say_dim("read on with /artifact a%" PRIu64 " %" PRIu64, id, f.next);
    }
    buf_free(&text);
}

static void ingest_one(struct console *c, const char *path)
{
    struct err err = {0};
    if (session_ingest(c->s, path, &err)) command_complain(&err);
    else say_dim("ingested %s as a%" PRIu64, path, c->s->keep.head.artifacts - 1);
}

void command_ingest(struct console *c, const char *arg, size_t n)
{
    struct buf path = {0};
    struct file_word w = {0};
    if (n == 0) say_error("/ingest FILE...: for /recall; nothing of it enters the conversation until it is found");
    while (file_word_next(arg, n, w.end, &w, &path)) {
        if (path.failed) say_error("no memory for a name");
        else if (w.open || w.bad)
            say_error("/ingest: %.*s is no name: quotes around it (\"my notes.txt\"), blanks between names; in quotes "
                      "\\\" is a quote", (int)MIN(n - w.at, (size_t)200), arg + w.at);
        else ingest_one(c, path.len > 0 ? path.data : "");
        if (path.failed || w.open || w.bad) break;
        path.len = 0;
    }
    buf_free(&path);
}

void command_recall(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct remember_found found;
    bool all = n > 4 && memcmp(arg, "all ", 4) == 0;
    struct session_question q = {.text = arg + (all ? 4 : 0), .n = n - (all ? 4 : 0), .k = 8, .everywhere = all};
    if (n == 0) {
        say_error("/recall WORDS: in this session; /recall all WORDS: in all");
        return;
    }
    if (session_recall(c->s, &q, &found, &err)) command_complain(&err);
    for (int i = 0; i < found.n; i++) {
        const struct remember_quote *h = &found.quote[i];
        char id[2 * STORE_SESSION_ID + 1], head[2048];
        journal_id_text(h->session, id);
        snprintf(head, sizeof head, "%s%s%.8s%s%s  score %.1f: %s", h->name, all ? " of " : "", all ? id : "",
                 *h->path ? " " : "", h->path, h->score, h->why);
        command_text(head, found.text.data + h->at, h->len);
    }
    if (c->s->index.at.more && !err.code) say_dim("[the index is being made: what is not in it yet is not found]");
    if (found.full && !err.code)
        say_dim("[the recall index is full (--recall-index): what it has no room for is not found]");
    if (found.left > 0)
        say_dim("[of %u saved session%s not all is in the index yet, and is not found%s]", found.left,
                found.left == 1 ? "" : "s", found.full ? "" : ": each /recall all puts more in");
    if (found.unread > 0)
        say_dim("[of what is in memory the oldest %.1f MiB were not searched]", (double)found.unread / 0x1p20);
    if (c->s->texts.gone.n > 0)
        say_dim("[%llu message%s of this session left memory (--keep-unsaved), and cannot be found]",
                (unsigned long long)c->s->texts.gone.n, plural((int64_t)c->s->texts.gone.n));
    const bool whole = found.left == 0 && !found.full && !c->s->index.at.more && found.unread == 0 &&
                       c->s->texts.gone.n == 0;
    if (found.n == 0 && !err.code)
        say("nothing found%s", found.unknown && whole ? ": none of these words was said" : "");
    if (*found.damage) say("the index is damaged and will be made again: %s", found.damage);
    remember_free(&found);
}
