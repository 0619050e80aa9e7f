/* postmortem_words.c - a post-mortem in words, as a text and as JSON. */
#include "app/learn/postmortem.h"
#include "app/json_text.h"
#include "app/tui/table.h"
#include <inttypes.h>

enum { SCHEMA = 1, SHOWN_SAMPLES = 10, SHOWN_OWNERS = 8 };

/* ------------------------------------------------------------------ in words */

struct postmortem_pool postmortem_pool(const struct flight_sample *s)
{
    struct postmortem_pool p = {.all = s->pool};
    int64_t left = p.all;
    left -= p.filled = MIN(s->filled, left);
    left -= p.reserved = MIN(MAX(s->reserved - p.filled, 0), left);
    left -= p.cached = MIN(s->cached, left);
    p.free = left;
    return p;
}

/* A reason that is a word already, or unknown, stands as it was saved. */
static const char *end_in_words(const char *reason)
{
    static const struct { const char *reason, *words; } known[] = {
        {"refused_weights", "the model did not fit"},
        {"refused_kv", "a call did not fit its context or the KV pool"},
        {"refused_host", "host memory was short"},
        {"refused_store", "the store had no room"},
        {"input_error", "it was asked what it cannot do"},
        {"internal", "a fault of the program's own"},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(reason, known[i].reason) == 0) return known[i].words;
    return reason;
}

void postmortem_end(const struct doc_flight *d, char out[240])
{
    char age[FIGURE];
    table_age(age, d->now_ms, d->updated_ms);
    switch (d->end) {
    case FLIGHT_DIED:
        snprintf(out, 240, "It died: its program ended without closing it. Saved last %s, after turn %u.", age,
                 (unsigned)d->turns);
        return;
    case FLIGHT_ENDED:
        snprintf(out, 240, "It ended properly (%s)%s. Saved last %s, after turn %u.", end_in_words(d->end_reason),
                 d->judged ? ", but its last turn had failed" : "", age, (unsigned)d->turns);
        return;
    case FLIGHT_OPEN_HERE:
        snprintf(out, 240, "It lives: it is open here. Saved last %s, after turn %u.", age, (unsigned)d->turns);
        return;
    case FLIGHT_OPEN_ELSEWHERE:
        snprintf(out, 240, "It lives: %s.", d->where);
        return;
    case FLIGHT_UNKNOWN:
        snprintf(out, 240, "Nothing was asked in it since it was copied or imported. Saved last %s, after turn %u.",
                 age, (unsigned)d->turns);
        return;
    }
}

static void put_holder(const struct doc_flight *d, const struct flight_sample *s, struct buf *out)
{
    char f[FIGURE], g[FIGURE];
    if (d->owners == 0 || d->owner[0].tokens == 0) return;
    const char *who = *d->owner[0].name ? d->owner[0].name : "The only agent";
    buf_printf(out, " %s held %s%s of %s tokens.", who, d->owners > 1 ? "the most, " : "",
               figure(f, (uint64_t)d->owner[0].tokens), figure(g, (uint64_t)s->pool));
}

void postmortem_words(const struct doc_flight *d, struct buf *out)
{
    char f[FIGURE], g[FIGURE];
    if (d->samples == 0) {
        buf_puts(out, "Nothing is known of its memory: no figure was saved with it.");
        return;
    }
    const struct flight_sample *s = &d->sample[d->samples - 1];
    const struct postmortem_pool p = postmortem_pool(s);
    const bool full = s->pool > 0 && p.free + p.cached <= s->pool / 50;
    if (s->waiting > 0) {
        buf_printf(out, "%s: %s request%s waited", full ? "The KV pool was full" : "The engine was busy",
                   figure(f, (uint64_t)s->waiting), plural(s->waiting));
        if (d->queue_pages > 0)
            buf_printf(out, "; the first%s%s%s needed %s page%s", *d->queue_first ? ", of " : "", d->queue_first,
                       *d->queue_first ? "," : "", figure(g, (uint64_t)d->queue_pages), plural(d->queue_pages));
        buf_puts(out, ".");
    } else if (s->ceiling > 0 && s->taken > s->ceiling - s->ceiling / 50) {
        buf_printf(out, "Memory was full: %s of", table_bytes(f, (uint64_t)s->taken));
        buf_printf(out, " %s that it may take.", table_bytes(g, (uint64_t)s->ceiling));
    } else if (full && s->running > 0) {
        buf_puts(out, "The KV pool was full, and nobody waited.");
    } else if (s->running > 0) {
        buf_printf(out, "%s request%s ran, and the KV pool had room.", figure(f, (uint64_t)s->running),
                   plural(s->running));
    } else {
        buf_puts(out, "Nothing ran, and the KV pool had room.");
    }
    if (s->parked > 0)
        buf_printf(out, " %s request%s parked: others needed %s pages.", figure(f, (uint64_t)s->parked),
                   s->parked == 1 ? " was" : "s were", s->parked == 1 ? "its" : "their");
    put_holder(d, s, out);
}

/* ------------------------------------------------------------------ text */

enum { LABEL = 10 };

/* What was put into line, as a paragraph; it is empty then. */
static void put_line(struct buf *line, const char *label, int width, struct buf *out)
{
    verdict_paragraph(out, width, label, LABEL, line->data ? line->data : "");
    out->failed |= line->failed;
    buf_free(line);
}

static void put_owners(const struct doc_flight *d, int width, struct buf *out)
{
    char f[FIGURE], g[FIGURE];
    struct buf line = {0};
    for (int i = 0; i < MIN(d->owners, (int)SHOWN_OWNERS); i++) {
        const struct flight_owner *o = &d->owner[i];
        buf_printf(&line, "%-24s %8s tokens %10s   %" PRId64 " ran, %" PRId64 " waited, %" PRId64 " parked",
                   *o->name ? o->name : "the only agent", figure(f, (uint64_t)o->tokens),
                   table_bytes(g, (uint64_t)o->bytes), o->running, o->waiting, o->parked);
        put_line(&line, i == 0 ? "held by" : "", width, out);
    }
    if (d->owners > SHOWN_OWNERS) buf_printf(out, "%*sand %d more\n", LABEL, "", d->owners - SHOWN_OWNERS);
}

static void put_errors(const struct doc_flight *d, int width, struct buf *out)
{
    struct buf line = {0};
    for (int i = 0; i < d->errors; i++) {
        const struct flight_error *e = &d->error[i];
        buf_puts(&line, e->what);
        if (e->turn > 0) buf_printf(&line, ", turn %" PRId64, e->turn);
        buf_printf(&line, ": %s", *e->text ? e->text : "(nothing more is said)");
        put_line(&line, i == 0 ? "errors" : "", width, out);
    }
}

/* The last ones, the newest first. */
static void put_samples(const struct doc_flight *d, struct buf *out)
{
    static const char *const head[] = {"seconds", "ran", "waited", "parked", "filled", "reserved",
                                       "room" /* free or cached: above the two are apart */};
    if (d->samples == 0) return;
    const double last = d->sample[d->samples - 1].time;
    buf_printf(out, "%-10s", "before");
    for (size_t i = 0; i < COUNT_OF(head); i++) buf_printf(out, "%9s", head[i]);
    const int first = MAX(0, d->samples - SHOWN_SAMPLES);
    bool named = false;
    for (int i = first; i < d->samples; i++) named |= *d->sample[i].most != '\0';
    buf_printf(out, "%s\n", named ? "  held most" : "");
    for (int i = d->samples - 1; i >= first; i--) {
        const struct flight_sample *s = &d->sample[i];
        const struct postmortem_pool p = postmortem_pool(s);
        const double ago = last - s->time;
        char f[5][FIGURE];
        if (ago >= 0 && ago < 1e6) buf_printf(out, "%19.1f", ago);
        else buf_printf(out, "%19s", "?");
        buf_printf(out, "%9s%9" PRId64 "%9" PRId64 "%9s%9s%9s%s%s\n", figure(f[0], (uint64_t)s->running), s->waiting,
                   s->parked, figure(f[1], (uint64_t)p.filled), figure(f[2], (uint64_t)p.reserved),
                   figure(f[3], (uint64_t)(p.free + p.cached)), *s->most ? "  " : "", s->most);
    }
}

static void put_pool(const struct doc_flight *d, int width, struct buf *out)
{
    struct buf line = {0};
    if (d->samples == 0) return;
    const struct flight_sample *s = &d->sample[d->samples - 1];
    const struct postmortem_pool p = postmortem_pool(s);
    char f[5][FIGURE];
    buf_printf(&line, "%s filled, %s reserved, %s cached, %s free of %s tokens, when it was last seen",
               figure(f[0], (uint64_t)p.filled), figure(f[1], (uint64_t)p.reserved), figure(f[2], (uint64_t)p.cached),
               figure(f[3], (uint64_t)p.free), figure(f[4], (uint64_t)p.all));
    put_line(&line, "pool", width, out);
    if (s->ceiling > 0)
        buf_printf(out, "%-10s%s taken of %s that it might take\n", "memory", table_bytes(f[0], (uint64_t)s->taken),
                   table_bytes(f[1], (uint64_t)s->ceiling));
    if (d->queue_pages > 0)
        buf_printf(out, "%-10sthe first%s%s needed %" PRId64 " page%s\n", "queue", *d->queue_first ? ", of " : "",
                   d->queue_first, d->queue_pages, plural(d->queue_pages));
}

void postmortem_text(const struct doc_flight *d, int width, struct buf *out)
{
    char end[240], f[FIGURE];
    struct buf words = {0};
    postmortem_end(d, end);
    buf_printf(&words, "Post-mortem of %.8s: %s", d->id, *d->title ? d->title : "(no title)");
    verdict_paragraph(out, width, "", 0, words.data ? words.data : "");
    words.len = 0;
    verdict_paragraph(out, width, "", 0, end);
    postmortem_words(d, &words);
    verdict_paragraph(out, width, "", 0, words.data ? words.data : "");
    out->failed |= words.failed;
    buf_free(&words);
    buf_printf(out, "Begun %s, with %s.\n\n", table_time(f, d->created_ms),
               *d->model ? d->model : "a model without a name");
    put_pool(d, width, out);
    put_owners(d, width, out);
    put_errors(d, width, out);
    put_samples(d, out);
    if (d->unread > 0) buf_printf(out, "%-10s%d line%s of its recorder %s not understood\n", "", d->unread,
                                   plural(d->unread), d->unread == 1 ? "is" : "are");
    if (!d->judged) return;
    buf_puts(out, "\n");
    verdict_text(&d->verdict, width, out);
}

/* ------------------------------------------------------------------ JSON */

static json_t *samples_of(const struct doc_flight *d)
{
    json_t *a = json_array();
    for (int i = 0; i < d->samples; i++) {
        const struct flight_sample *s = &d->sample[i];
        json_array_append_new(
            a, json_pack("{s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "time", s->time,
                         "pool_tokens", s->pool, "reserved_tokens", s->reserved, "filled_tokens", s->filled,
                         "shared_tokens", s->shared, "cached_tokens", s->cached, "running", s->running, "waiting",
                         s->waiting, "parked", s->parked, "taken_bytes", s->taken, "ceiling_bytes", s->ceiling,
                         "held_most", json_text(s->most)));
    }
    return a;
}

static json_t *owners_of(const struct doc_flight *d)
{
    json_t *a = json_array();
    for (int i = 0; i < d->owners; i++) {
        const struct flight_owner *o = &d->owner[i];
        json_array_append_new(
            a, json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "agent", json_text(o->name), "tokens", o->tokens,
                         "shared_tokens", o->shared, "bytes", o->bytes, "running", o->running, "waiting", o->waiting,
                         "parked", o->parked));
    }
    return a;
}

static json_t *errors_of(const struct doc_flight *d)
{
    json_t *a = json_array();
    for (int i = 0; i < d->errors; i++)
        json_array_append_new(a, json_pack("{s:o, s:I, s:o}", "what", json_text(d->error[i].what), "turn",
                                           d->error[i].turn, "text", json_text(d->error[i].text)));
    return a;
}

static json_t *verdict_of(const struct doc_flight *d)
{
    struct buf b = {0};
    if (!d->judged) return json_null();
    verdict_json(&d->verdict, &b);
    json_t *v = b.failed ? NULL : json_loadb(b.data, b.len, 0, NULL);
    buf_free(&b);
    return v;
}

void postmortem_json(const struct doc_flight *d, struct buf *out)
{
    static const char *const end[] = {"died", "ended", "open", "open", "unknown"};
    json_t *o = json_pack("{s:i, s:s, s:o, s:o, s:s, s:o, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o}",
                          "schema_version", SCHEMA, "session", d->id, "title", json_text(d->title), "model",
                          json_text(d->model), "end", end[d->end], "reason", json_text(d->end_reason), "turns",
                          (json_int_t)d->turns, "created_ms", d->created_ms, "updated_ms", d->updated_ms,
                          "queue_first", json_text(d->queue_first), "queue_pages", d->queue_pages, "samples",
                          samples_of(d), "owners", owners_of(d), "errors", errors_of(d), "verdict", verdict_of(d));
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    if (text) buf_puts(out, text);
    else out->failed = true;
    free(text);
    json_decref(o);
}
