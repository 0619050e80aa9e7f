/* export_words.c - a transcript for people: Markdown, or plain.
 *
 * What is said cannot pass for what is ours: in Markdown it stands in a fence longer than any run of backticks in it,
 * in plain text behind two blanks. */
#include "memory/export_impl.h"
#include <inttypes.h>
#include <time.h>

static bool markdown(const struct exporter *x) { return x->o->format == EXPORT_MARKDOWN; }

static size_t longest_run(const char *text, size_t n)
{
    size_t most = 0, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        most = MAX(most, run);
    }
    return most;
}

static void put_run(struct exporter *x, size_t n)
{
    static const char ticks[] = "````````````````````````````````";
    for (; n > 0; n -= MIN(n, sizeof ticks - 1)) export_put(x, ticks, MIN(n, sizeof ticks - 1));
}

/* A name of others, within a line. */
static void put_name(struct exporter *x, const char *name)
{
    size_t n = strlen(name), ticks = longest_run(name, n) + 1;
    if (!markdown(x)) {
        export_put(x, name, n);
        return;
    }
    put_run(x, ticks);
    export_printf(x, " %s ", name);
    put_run(x, ticks);
}

static void put_fenced(struct exporter *x, const char *text, size_t n)
{
    size_t ticks = MAX(longest_run(text, n) + 1, (size_t)3);
    put_run(x, ticks);
    export_put(x, "\n", 1);
    export_put(x, text, n);
    if (n > 0 && text[n - 1] != '\n') export_put(x, "\n", 1);
    put_run(x, ticks);
    export_put(x, "\n\n", 2);
}

static void put_indented(struct exporter *x, const char *text, size_t n)
{
    for (size_t at = 0, len; at < n && export_goes_on(x); at += len + 1) {
        const char *end = memchr(text + at, '\n', n - at);
        len = end ? (size_t)(end - text) - at : n - at;
        export_put(x, "  ", 2);
        export_put(x, text + at, len);
        export_put(x, "\n", 1);
    }
    export_put(x, "\n", 1);
}

/* ------------------------------------------------------------------ one message */

struct words {
    uint32_t turn; /* whose heading was written */
};

static void put_artifact(struct exporter *x, uint64_t artifact)
{
    uint64_t bytes;
    struct err why = {0};
    if (store_artifact_size(x->s, x->h->id, artifact, &bytes, &why) == 0) {
        export_printf(x, "; the whole is artifact %" PRIu64 ", %" PRIu64 " bytes", artifact, bytes);
        return;
    }
    export_missing(x, why.text);
    export_printf(x, "; the whole, artifact %" PRIu64 ", is lost", artifact);
}

/* "answer (m4, cut)" */
static void put_label(struct exporter *x, const struct export_item *i)
{
    static const char *const done[JOURNAL_MARKS] = {"", "taken back", "taken out", "a summary taken back"};
    const struct journal_message *m = &i->m;
    const char *bold = markdown(x) ? "**" : "";
    export_printf(x, "%s%s%s", bold, journal_kind_name(m->kind), bold);
    if (m->kind == JOURNAL_SUMMARY) export_printf(x, " of m%" PRIu64 "-%" PRIu64, m->first, m->last);
    if (m->kind == JOURNAL_MARK) export_printf(x, ": m%" PRIu64 "-%" PRIu64 " %s", m->first, m->last, done[m->results]);
    if (m->kind == JOURNAL_CALL) export_printf(x, " with %" PRIu32 " result%s", m->results, plural(m->results));
    export_printf(x, " (m%" PRIu64 "%s%s%s", i->number, m->flags & JOURNAL_CUT ? ", cut" : "",
                  m->flags & JOURNAL_EXTRACT ? ", an extract" : "",
                  i->out && m->kind != JOURNAL_MARK ? ", taken back" : "");
    if (m->artifact) put_artifact(x, m->artifact);
    export_put(x, markdown(x) ? ")\n\n" : ")\n", markdown(x) ? 3 : 2);
}

static void one_message(struct exporter *x, const struct export_item *i, void *self)
{
    struct words *w = self;
    if (i->event) return;
    if (i->m.turn != w->turn) export_printf(x, markdown(x) ? "## Turn %u\n\n" : "--- turn %u\n\n", (unsigned)i->m.turn);
    w->turn = i->m.turn;
    put_label(x, i);
    if (i->m.kind == JOURNAL_MARK && i->m.len == 0) {
        if (!markdown(x)) export_put(x, "\n", 1);
    } else if (markdown(x)) {
        put_fenced(x, i->m.text, i->m.len);
    } else {
        put_indented(x, i->m.text, i->m.len);
    }
}

/* ------------------------------------------------------------------ the front */

/* "run 0af3.. of the crew notes: ann (77b0..), bob (..)" */
static void put_crew_run(struct exporter *x)
{
    char id[2 * STORE_SESSION_ID + 1];
    const struct journal_run *r = &x->h->run;
    journal_id_text(r->id, id);
    if (journal_is_run(x->h)) export_printf(x, "\n\nthe record of run %s of the crew ", id);
    else export_printf(x, "\n\nof ");
    if (!journal_is_run(x->h)) put_name(x, r->agent);
    if (!journal_is_run(x->h)) export_printf(x, " in run %s of the crew ", id);
    put_name(x, r->crew);
    for (size_t i = 0; i < x->n_members; i++) {
        export_printf(x, "%s", i ? ", " : "; its members: ");
        put_name(x, x->member[i].run.agent);
        journal_id_text(x->member[i].id, id);
        export_printf(x, " (%s)", id);
    }
}

static void put_front(struct exporter *x)
{
    static const uint8_t none[STORE_SESSION_ID];
    const struct journal_head *h = x->h;
    char id[2 * STORE_SESSION_ID + 1], when[40] = "";
    time_t t = (time_t)(h->created_ms / 1000);
    struct tm tm;
    if (gmtime_r(&t, &tm)) strftime(when, sizeof when, ", %Y-%m-%d %H:%M UTC", &tm);
    export_put(x, "# ", markdown(x) ? 2 : 0);
    put_name(x, *h->title ? h->title : "(no title)");
    journal_id_text(h->id, id);
    export_printf(x, "%ssession %s%s, %" PRIu32 " turn%s", markdown(x) ? "\n\n" : "\n", id, when, h->turns,
                  plural(h->turns));
    if (*h->model) export_put(x, ", ", 2);
    if (*h->model) put_name(x, h->model);
    if (memcmp(h->parent, none, sizeof none) != 0) {
        journal_id_text(h->parent, id);
        export_printf(x, ", a copy of %s after turn %" PRIu32, id, h->parent_turn);
    }
    if (journal_in_run(h)) put_crew_run(x);
    export_put(x, "\n\n", 2);
}

int export_words(struct exporter *x, struct err *err)
{
    struct words w = {0};
    put_front(x);
    return export_each(x, one_message, &w, err);
}
