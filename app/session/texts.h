/* texts.h - the texts that a window speaks of by number: in memory while a call may carry them, else in the store.
 *
 * Owner: the texts are copies.  Threads: the app's. */
#ifndef TEXTS_H
#define TEXTS_H
#include "app/session/keep.h"

struct text_entry {
    uint64_t id;
    enum journal_kind kind;
    uint32_t turn;
    uint64_t artifact; /* of a result or a document; 0: none */
    char *text; /* NUL-terminated */
    size_t len;
    bool used;  /* by texts_sweep() */
    bool told;  /* what was thought: by the call that follows */
};

struct texts {
    struct text_entry *entry; /* by id */
    size_t n, cap;
    struct keep *keep; /* where others are found; keep->keeper may be NULL: nowhere */
    size_t spare;      /* nowhere: bytes of texts that the window does not carry; above, the oldest are gone for good */
    struct texts_gone { uint64_t first, last, n, bytes; } gone;
};

void texts_close(struct texts *t);

/* A copy of m's text, kind and turn; one with this id is not there yet.  0, or -1: no memory. */
int texts_put(struct texts *t, uint64_t id, const struct journal_message *m, struct err *err);
void texts_cut(struct texts *t, uint64_t from); /* forgets those with ids from there on */

/* What was thought before a call is told with it as long as its turn goes on (template_retells()): the text of this
 * number, which is there, until texts_untell(). */
void texts_tell(struct texts *t, uint64_t id);
bool texts_untell(struct texts *t); /* of all; false: there was none */
/* What is told with the call of this number; NULL: nothing. */
const struct text_entry *texts_thought(const struct texts *t, uint64_t call);

/* The text, fetched if need be.  NULL: err says why; a damaged or lost one is named. */
const struct text_entry *texts_get(struct texts *t, uint64_t id, struct err *err);

/* Those that calls do not carry leave memory, if the store has them, or if they are more than t->spare. */
struct window;
void texts_sweep(struct texts *t, const struct window *w, uint64_t saved); /* ids up to `saved` are in the store */
size_t texts_bytes(const struct texts *t);
#endif
