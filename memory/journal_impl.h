/* journal_impl.h - what the journal's files share: the head of a message's record, marks that were read. */
#ifndef JOURNAL_IMPL_H
#define JOURNAL_IMPL_H
#include "memory/journal.h"

/*  0  kind:1 flags:1 zero:2 turn:4 time_ms:8   16  first:8 last:8   32  artifact:8 results:4 zero:4   48  the text */
enum { JOURNAL_HEAD_BYTES = 48 };

/* number: its own.  0, or -1: not such a body. */
int journal_decode(const uint8_t *body, size_t n, uint64_t number, struct journal_message *out);
int journal_read_head(const uint8_t id[STORE_SESSION_ID], const char *json, size_t n, struct journal_head *out);
bool journal_is_head(const char *json, size_t n); /* of this version: if it is refused, it can only be wrong */
enum { JOURNAL_PART = 4 << 20 }; /* bytes of a commit that copies */
/* A piece that is there from the first commit of a copy or an import to the last: without a head it is half of one. */
#define JOURNAL_UNFINISHED "unfinished"
/* A mark, its number, and what it takes out. */
struct journal_seen {
    uint64_t number;
    struct journal_span span;
    enum journal_mark what;
};
/* As journal_out(), of n marks by number.  0, or -1: no memory. */
int journal_marks_out(const struct journal_seen *seen, size_t n, unsigned marks, struct journal_spans *out);
void journal_slot(uint32_t turn, char name[16]); /* "window.7" */
#endif
