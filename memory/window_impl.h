/* window_impl.h - what the files of window share among themselves. */
#ifndef WINDOW_IMPL_H
#define WINDOW_IMPL_H
#include "memory/window.h"

struct window_message {
    uint64_t id;
    int64_t tokens;
    uint8_t kind;
    bool stub; /* stands as a reference line; of a CALL: its results with it, in one line */
};

struct window_state { /* what a commit changes, and window_undo() brings back */
    struct window_message *msg;
    size_t n, cap;
    struct window_item task, summary; /* id 0: none */
    struct window_ref summed, cut;
    bool extractive;
    uint64_t before;  /* the summary that the one in force took the place of; 0: none */
    uint64_t last_id; /* of a saved one: what has come since is larger */
};

/* What would be different in a list.  All but the flags are indices of messages and figures. */
struct window_plan {
    size_t leave;           /* of the messages before this one, all but the two kept ones leave; 0: none */
    size_t anchor, newest;  /* kept: what opened the turn, the newest (of a call with its results, the call) */
    int64_t over, over_kept; /* messages of more tokens stand as lines; of those kept, the same */
    bool fold_newest;       /* the newest call and its results in one line */
    bool no_summary;        /* it goes, and what it sums up is in the reference line */
    int64_t summary_tokens; /* > 0: a new summary of so many, which stands for all that left */
};

struct window_list {
    struct window_item *items; /* NULL: only sums */
    size_t n;
    int64_t sum, part[WINDOW_PARTS], count[WINDOW_PARTS];
};

struct window {
    struct window_limits l;
    struct window_count counter;
    int64_t limit, compaction, reserve;
    int64_t empty_tokens, request_tokens, line_tokens; /* of an empty prompt; the request; the longest reference line */
    struct window_item front[WINDOW_FRONT_ITEMS];
    size_t n_front;
    struct window_state now, saved;
    bool can_undo;
    uint64_t last_id;
    int awaited;  /* results of the newest call still to come */
    int64_t hold; /* no compaction is due up to so many tokens */
    struct window_item *items, *sent; /* being built; those of the last call */
    size_t cap, n_sent;               /* cap: of both */
    int64_t sent_tokens;              /* exact */
    bool thinking_closed;
    bool proposed;
    struct window_plan proposal;
    struct window_event event[WINDOW_EVENTS]; /* a ring */
    size_t first_event, n_events;
    uint64_t calls, breaks, compactions, all_kept, all_sent;
};

/* window.c */
int window_count_items(const struct window *w, const struct window_item *items, size_t n, int64_t *out,
                       struct err *err);
int window_weigh(const struct window *w, struct window_item *it, struct err *err); /* sets its tokens */
int window_room(struct window *w, struct window_state *s, size_t n_messages, struct err *err); /* s can hold so many */
void window_tell(struct window *w, struct window_event e);
void window_ref_add(struct window_ref *to, const struct window_ref *from);

/* window_call.c */
int64_t window_mark(const struct window *w, int thousandths);
struct window_plan window_plan(const struct window *w);
size_t window_unit_end(const struct window_state *s, size_t i); /* past the message at i and what leaves with it */
int64_t window_unit_sum(const struct window *w, const struct window_plan *p, size_t i, size_t end); /* as listed */
bool window_gone(const struct window *w, const struct window_plan *p, size_t i); /* i: a unit's first message */
struct window_ref window_gone_ref(const struct window *w, const struct window_plan *p);
struct window_list window_compose(const struct window *w, const struct window_plan *p, size_t upto,
                                  struct window_item *items);
/* One more of the oldest leaves, and more until the sum is at most the target.  false: none can. */
bool window_leave_more(const struct window *w, struct window_plan *p, int64_t target);
/* Down to where a list is brought when it must be cut: the low mark, or half of what is left where that is out of
 * reach. */
int64_t window_target(const struct window *w, const struct window_plan *p);
/* How many items are as in the last call, from the front; what those weigh as a prompt. */
size_t window_kept(const struct window *w, const struct window_item *items, size_t n);
int window_front_tokens(const struct window *w, const struct window_item *items, size_t kept, int64_t *out,
                        struct err *err);
void window_take_out(struct window *w, const struct window_plan *p); /* out of the state; the ranges are the caller's */

/* window_compact.c */
struct window_plan window_compaction_plan(const struct window *w, bool *any);
void window_hold(struct window *w, const struct window_ref *range); /* that was in vain */
void window_forget_undo(struct window *w);
#endif
