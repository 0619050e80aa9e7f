/* journal_rig.h - the words of the journal's tests: heads, batches and messages that are quickly made, and visitors that
 * write down what they see.  Header only, over store_rig.h. */
#ifndef JOURNAL_RIG_H
#define JOURNAL_RIG_H
#include "memory/journal.h"
#include "tests/store_rig.h"
#include <inttypes.h>

static inline struct journal_head head_of(const uint8_t *id, const char *title, int64_t updated)
{
    struct journal_head h = {.created_ms = 5, .updated_ms = updated, .next = 1000, .artifacts = 1, .turns = 3};
    memcpy(h.id, id, sizeof h.id);
    snprintf(h.title, sizeof h.title, "%s", title);
    snprintf(h.model, sizeof h.model, "a model");
    return h;
}

static inline struct journal_batch batch_of(const uint8_t *id)
{
    struct journal_batch b = {0};
    memcpy(b.session, id, sizeof b.session);
    return b;
}

static inline void write_batch(struct store *s, struct journal_batch *b)
{
    OK(journal_write(s, b, NULL, &err));
    journal_batch_free(b);
}

static inline void write_head(struct store *s, const struct journal_head *h)
{
    struct journal_batch b = batch_of(h->id);
    journal_add_head(&b, h);
    write_batch(s, &b);
}

static inline struct journal_message message(enum journal_kind kind, uint32_t turn, const char *text)
{
    return (struct journal_message){.kind = kind, .turn = turn, .text = text, .len = strlen(text)};
}

static inline bool note_message(void *self, uint64_t number, const struct journal_message *m)
{
    buf_printf(self, "%" PRIu64 ":%.*s\n", number, (int)m->len, m->text);
    return number < 90;
}

static inline bool note_event(void *self, uint64_t number, const char *json, size_t n)
{
    buf_printf(self, "%" PRIu64 " event %.*s\n", number, (int)n, json);
    return true;
}

static inline bool note_line(void *self, const char *line)
{
    buf_printf(self, "! %.30s\n", line);
    return true;
}
#endif
