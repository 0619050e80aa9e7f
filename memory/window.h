/* window.h - what one model call carries: a list of messages that fits by construction, and lines that stand for what
 * has left it.
 *
 *     system | tools | pinned | task | summary | reference | history and tool results ...      | request |
 *     └────────── front: changes only when something leaves, or when told to ────┘              └ only to compact
 *     └──────────────────────────── prompt <= limit ──────────────────────────────┘ answer + thinking ┘ = ctx
 *
 *     limit = ctx - max(answer + thinking, request + summary + WINDOW_SLACK)
 *
 * so that whatever was sent once can be sent again with the request for a summary behind it.
 *
 * How it is exact: each message is counted when it is appended, as a prompt of its own, less an empty prompt.  Parts
 * do not add up under a template and a tokenizer, so their sum only plans; the list that is to be sent is then counted
 * as a whole by the caller's function, and as long as that is over the limit, more leaves.  A list over its limit is
 * never given out (limits.unbounded, for teaching, has none).
 *
 * What leaves: the oldest first, and whole: a message that calls tools leaves with all its results.  The message that
 * opened the present turn and the newest message (with its call and the other results) go last; when even they do not
 * fit, the largest of them stand as reference lines in their own places.  Nothing is asked of the model for that, so a
 * call can always be made, unless the front alone is too large: then it is refused with the figures.
 *
 * Rarely and deeply: between two compactions the list of one call begins with the list of the call before.  Above the
 * high mark window_due() asks for a compaction, which goes down to the low mark; a caller that does not compact has
 * the oldest cut to the same low mark when the limit is met.  Marks are shares of the room beside system, tools and
 * pins.  A task note is appended like a message, for the same reason; it moves to the front, in place of the one
 * before, when something leaves.
 *
 * A compaction: window_propose() -> the caller sends the items, and gets a record -> window_commit(), or
 * window_abandon().  The exchange is the front part of the list that was sent last, and the request: most of its pages
 * are there.  window_undo() takes the last one back.
 *
 * The caller owns texts by id; here are figures alone.  Ids of messages grow.  Threads: one at a time.
 * Errors: 0, or one of enum window_error with err filled; the window is then as it was, but for an event. */
#ifndef WINDOW_H
#define WINDOW_H
#include "plimsoll.h"

enum window_error {
    WINDOW_OK = 0,
    WINDOW_BAD = -1,         /* a limit, an id, an order of messages that cannot be: err says which */
    WINDOW_NEVER_FITS = -2,  /* too large with everything out that may leave: err names the largest part and text */
    WINDOW_UNANSWERED = -3,  /* results of the newest call lack */
    WINDOW_NO_GAIN = -4,     /* nothing can leave, or the summary is empty or not smaller by the share asked for */
    WINDOW_STALE = -5,       /* no proposal, or the list has changed since */
    WINDOW_BUSY = -6,        /* a proposal is open: commit or abandon it first */
    WINDOW_COUNT_FAILED = -7, /* the caller's function failed or gave a figure that cannot be */
    WINDOW_NO_MEMORY = -8
};

enum window_part {
    WINDOW_SYSTEM, WINDOW_TOOLS, WINDOW_PINNED, /* given by window_add() */
    WINDOW_TASK, WINDOW_SUMMARY, WINDOW_REFERENCE, WINDOW_HISTORY, WINDOW_RESULTS,
    WINDOW_REQUEST, /* for a summary: the last of a compaction's list alone */
    WINDOW_PARTS
};
const char *window_part_name(enum window_part p); /* "system", "tools", ... */

enum window_kind {
    WINDOW_USER,   /* opens a turn */
    WINDOW_ANSWER,
    WINDOW_CALL,   /* of the model; its results follow at once */
    WINDOW_RESULT,
    WINDOW_NOTE    /* the whole task state, done and open, as data: takes the place of the note before */
};

enum {
    WINDOW_SLACK = 16,          /* tokens that a request may weigh more behind a prompt than alone */
    WINDOW_FRONT_ITEMS = 64,    /* of system, tools and pins together */
    WINDOW_MESSAGES = 1 << 20,  /* in the window at once */
    WINDOW_EVENTS = 32
};
#define WINDOW_MOST_TOKENS ((int64_t)1 << 40) /* of one text */

struct window_ref { /* messages that are not there; all zero: none */
    uint64_t first, last;    /* ids; between them may be some that are there still */
    int64_t messages, tokens;
};

struct window_item { /* one text of a call */
    enum window_part part;
    uint64_t id;           /* of its text; 0: REFERENCE and REQUEST */
    struct window_ref ref; /* messages > 0: SUMMARY: what it sums up; else the line of window_reference() is the text */
    int64_t tokens;        /* by itself; of a reference line the most that one can be */
};

struct window_count { /* Exact tokens of the prompt that these items make, none too.  0, or not: it failed. */
    int (*tokens)(void *self, const struct window_item *items, size_t n, int64_t *out);
    void *self;
};

struct window_limits {
    int64_t ctx;              /* the agent's limit, > 0 */
    int64_t answer, thinking; /* reserved for what the model writes; answer > 0 */
    int64_t closing;          /* tokens of the tag that ends thinking */
    int64_t summary;          /* most tokens of a summary; 0: it never compacts, the oldest are cut */
    int high, low;            /* marks in thousandths of the room beside the front: 0 < low < high <= 1000 */
    int gain;                 /* thousandths by which a summary is smaller than what it takes the place of: 1 .. 999 */
    bool unbounded;           /* for teaching: all that was said is in every call, whatever it weighs; summary is 0 */
};

struct window; /* opaque */

int window_open(struct window **out, const struct window_limits *l, struct window_count count, struct err *err);
void window_close(struct window *w); /* NULL is fine */
size_t window_bytes(const struct window *w); /* of memory held */

/* ------------------------------------------------------------------ what is said */

/* A text of the front: SYSTEM, TOOLS or PINNED, behind those of its part.  From the next call on; the prompt changes
 * from there on, which is an event. */
int window_add(struct window *w, enum window_part part, uint64_t id, struct err *err);
int window_remove(struct window *w, enum window_part part, uint64_t id, struct err *err);

/* Ids grow.  results: of a CALL, how many follow, > 0; else 0.  Until they are there nothing else can be appended. */
int window_append(struct window *w, enum window_kind kind, uint64_t id, int results, struct err *err);

/* The texts of calls (WINDOW_CALL) from this number on are others than when they were appended: they are counted again,
 * and the next list begins with the one before up to the first that has another weight.  After an error some are. */
int window_recount(struct window *w, uint64_t from, struct err *err);

/* From the next call on this message stands as its reference line, in its own place; a CALL with its results, in one
 * line.  *freed (NULL: not wanted): tokens.  Not a note, nor what opened the present turn (WINDOW_BAD); WINDOW_NO_GAIN:
 * a line would be no smaller.  A window that is loaded under another vocabulary has the text again. */
int window_drop(struct window *w, uint64_t id, int64_t *freed, struct err *err);

/* ------------------------------------------------------------------ one call */

struct window_call {
    const struct window_item *items; /* until the next call of any function with this window that is not const */
    size_t n;
    int64_t tokens, limit;         /* exact; tokens <= limit */
    int64_t answer, thinking;      /* the most it may write: tokens + both <= ctx */
    int64_t closes;                /* tokens of thinking after which it is closed: the rest is the tag's; 0: never */
    size_t kept;                   /* items from the front as in the call before */
    int64_t kept_tokens;           /* what those weigh, counted as a prompt */
    bool broke;                    /* the call before is not all there at the front */
};

/* Before every call of the model, in tool loops too. */
int window_build(struct window *w, struct window_call *out, struct err *err);

/* Where the next call with so many tokens more would have the oldest leave, they leave now, as far as the parts tell:
 * who looks for what has left finds it before that call, not after it.  Too little is the next call's to refuse. */
void window_make_room(struct window *w, int64_t tokens);

/* In the call that was built last thinking had all its tokens, and was closed: an event, once a call. */
void window_thinking_closed(struct window *w);

/* The line that stands for what is not there; its name ("m12", "m12-57") is what a reader asks for. */
void window_reference(const struct window_ref *r, struct buf *out);
void window_ref_name(const struct window_ref *r, char name[48]);
bool window_ref_read(const char *name, size_t len, uint64_t *first, uint64_t *last);

/* ------------------------------------------------------------------ compaction */

bool window_due(const struct window *w); /* above the high mark, and the last attempt was not in vain just now */

struct window_proposal {
    struct window_ref range;  /* what would leave */
    struct window_ref cut;    /* left before without a summary: not in the list, the caller has the texts */
    uint64_t summary;         /* id of the summary in force, which is to be merged; 0: none */
    const struct window_item *items; /* the exchange, the request last; lives like those of a call */
    size_t n;                 /* 0: too large for an exchange, only an extract will do */
    int64_t tokens, prefill;  /* of the exchange; of these not in the call before */
    int64_t max_tokens;       /* that the summary may have */
    int64_t frees;            /* at least, with a summary of max_tokens; may be under 0 */
};
int window_propose(struct window *w, struct window_proposal *out, struct err *err);

/* The proposal's range leaves and this text takes its place, and that of the summary before; all or nothing.  items:
 * how many the parsed record has.  After a refusal the proposal stands, so that an extract may be tried. */
int window_commit(struct window *w, uint64_t id, size_t items, bool extractive, struct err *err);
void window_abandon(struct window *w); /* no more of this until the window has grown; nothing has changed */
/* The state before the last commit, and what was said since; until something is cut.  No compaction is due at once
 * again: where it is more than the limit, the next call cuts the oldest, without that summary. */
int window_undo(struct window *w, struct err *err);

/* Everything but the newest leaves, and stands as one line. */
int window_clear(struct window *w, struct err *err);

/* ------------------------------------------------------------------ as bytes */

/* The state, and what window_undo() would bring back, to be kept or gone back to.  vocabulary: a number that another tokenizer or
 * template does not have.  Failure shows in out->failed. */
void window_save(const struct window *w, uint64_t vocabulary, struct buf *out);
/* In place of what the window has, but for what it sent last.  Any bytes: WINDOW_BAD when they are not such a state.
 * Under another vocabulary each text is counted again. */
int window_load(struct window *w, const void *bytes, size_t n, uint64_t vocabulary, struct err *err);

/* An empty window begins with this summary of what was said before.  before: the summary whose place it took; 0: of
 * none that is known. */
int window_begin(struct window *w, uint64_t id, uint64_t before, const struct window_ref *summed, bool extractive,
                 struct err *err);
uint64_t window_last_id(const struct window *w); /* of the newest message that was appended; 0: none */

/* The ids of all texts that stand in the window; of those that stand as a line, none.  false: text() said so. */
bool window_each(const struct window *w, bool (*text)(void *self, uint64_t id), void *self);

/* ------------------------------------------------------------------ figures and events */

struct window_figures { /* of eight-byte fields alone, so that two can be compared as bytes */
    int64_t part[WINDOW_PARTS];  /* tokens, as counted one by one; what an empty prompt has is the system's */
    int64_t count[WINDOW_PARTS]; /* items */
    int64_t used, limit;         /* the sum of the parts */
    int64_t high, low;           /* the marks, in tokens */
    int64_t answer, thinking, compaction, reserve; /* reserve: the larger of answer + thinking and compaction */
    int64_t by_compact;          /* freed by a compaction (a summary of the largest size), by window_clear(), */
    int64_t by_clear, by_unpin;  /* by taking out all pins */
    int64_t line;                /* the most that a reference line has */
    struct window_ref summed, cut; /* what the summary stands for; what only the reference line does */
    uint64_t summary, before; /* before: the summary whose place it took; 0: none */
    uint64_t extractive, can_undo; /* 0 or 1 */
    uint64_t calls, breaks, compactions; /* so far; breaks: calls that did not begin with the one before */
    uint64_t kept_tokens, sent_tokens;   /* sums over all calls */
};
void window_figures(const struct window *w, struct window_figures *out);

enum window_event_kind {
    WINDOW_LEFT,          /* ref left for the reference line, without a summary */
    WINDOW_STOOD_IN,      /* ref stands as a line in its own place: too large */
    WINDOW_DROPPED,       /* the same, because somebody wanted it: tokens were freed */
    WINDOW_SUMMARY_LEFT,  /* the summary `id` did not fit any more */
    WINDOW_COMPACTED,     /* ref left; `id` is the summary; tokens were freed */
    WINDOW_EXTRACTED,     /* the same, with an extract */
    WINDOW_UNDONE,        /* the summary `id` of ref is out, what left for it is back: tokens are in use */
    WINDOW_IN_VAIN,       /* a compaction that was given up, or left too much: none until the window has grown */
    WINDOW_FRONT_CHANGED, /* the text `id` came or went: what stands behind it is pre-filled again */
    WINDOW_THINKING_CLOSED,
    WINDOW_REFUSED,       /* a call that cannot fit: it would have so many tokens; `id`: the front's largest text */
    WINDOW_EVENT_KINDS
};
struct window_event {
    enum window_event_kind kind;
    int64_t times;         /* > 1: so many in one, since nobody took them: ref has them all, the rest is the last's */
    struct window_ref ref; /* what, how much, and where the whole is */
    uint64_t id;
    int64_t tokens;
};
/* The oldest of those not yet taken; false: none. */
bool window_next_event(struct window *w, struct window_event *out);
#endif
