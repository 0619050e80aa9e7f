/* sched_impl.h - what the scheduler's files share; no one else includes it.
 *
 *     sched.c    the table of requests, the operations, a step
 *     admit.c    who is next; promises; parking and resuming
 *     batch.c    the making of a pass and what its results mean
 *     pages.c    pages that leave and come back
 *     figures.c  snapshot, waits, page map, check */
#ifndef SCHED_IMPL_H
#define SCHED_IMPL_H
#include "engine/arena.h"
#include "engine/naive_impl.h"
#include "engine/park.h"
#include "engine/request.h"
#include "engine/sched.h"

struct published; /* figures.c: the last snapshot, for readers in other threads */

struct sched {
    struct sched_config cfg;
    struct kv *kv;
    void *text_mem;
    struct arena arena; /* requests, in text_mem */
    struct park park;
    struct request_marks marks;
    struct strict *strict; /* grammars of requests; NULL: none is held */
    void *prompt_mem;
    struct vocab_scratch *scratch; /* in prompt_mem, and after it: */
    int32_t *prompt;               /* (prompt_room(ctx)) ids of the messages that are submitted */
    uint8_t *segment;              /* the same */
    struct request_live *all[SCHED_REQUESTS]; /* until dropped; NULL: free */
    int places;                               /* of these, from the first: behind them all are free */
    struct request_live **slot;               /* (max_seqs) running */
    int next_id, requests, waiting, running, parked;
    uint64_t submissions, admissions;
    bool look; /* something changed that may let someone in */
    double answer_mean; /* tokens that an answer took lately: what over-commit expects */
    uint64_t prefilled, generated, recomputed, parkings, resumes, passes, drafted, drafts_right;
    struct published *published;
    struct err trouble; /* of this step, outside its pass */
    struct naive *naive; /* a policy that fails (naive_impl.h), or NULL */

    /* The pass being made; (max_rows) and (max_outs). */
    int32_t *token, *pos, *seq, *out_row;
    int *out_place;
    struct kern_sample *sample;
    struct kern_choice *choice;
    struct request_live **out_of; /* whose choice it is */
    struct pass_pool *pool;       /* (max_seqs) */
    struct pass pass; /* part > 0: half done, and of one request alone */
};

/* sched_open.c */
/* Ids of a prompt that are counted exactly, so that a refusal has figures; of more it is known that there are more. */
size_t sched_prompt_room(int ctx);
/* A text of more bytes than this has more tokens than a context, or is too long to be encoded at once. */
size_t sched_longest_text(const struct sched_config *cfg);
size_t sched_scratch_bytes(const struct sched_config *cfg); /* of where prompts are made */

/* Events of one step. */
struct events {
    struct engine_event *ev;
    int n, cap;
};
bool sched_tell(struct events *e, enum engine_event_kind kind, const struct request_live *q);

/* Pages of a group that a request of so many tokens needs at most at once. */
int sched_need(const struct sched *s, int group, int tokens);
struct request_live *sched_find(const struct sched *s, int id); /* NULL: no such */
/* More of the pool may be backed by memory than was; wait: not before there is more, of one group. */
void sched_find_pages(struct sched *s, bool wait);
/* q has ended: its slot and pages are free from now on. */
void sched_leave(struct sched *s, struct request_live *q);

/* Are there layers that keep a state? */
static inline bool sched_has_states(const struct sched *s) { return s->cfg.group[s->cfg.groups - 1].states; }

/* Let in whom there is room for. */
void admit_all(struct sched *s, struct events *e);
/* no_wait: in at once, or false. */
bool admit_now(struct sched *s, struct request_live *q);
/* What it is let in for: its room, and what must be left. */
void admit_asks(const struct sched *s, const struct request_live *q, struct kv_ask *out);
/* Before anyone in the queue or on the slots: parked, then overtaken often, then priority, then age. */
bool admit_before(const struct request_live *a, const struct request_live *b);
/* The running request that computes pages which q begins with, or NULL. */
const struct request_live *admit_front_of(const struct sched *s, const struct request_live *q);
struct request_live *admit_first(const struct sched *s);      /* of those who want in; NULL: nobody does */
bool admit_must_go_first(const struct request_live *q);       /* parked, or overtaken as often as may be */
/* Every running request has the pages for its next rows promised: over-commit parks others for it. */
void admit_make_room(struct sched *s, struct events *e);

bool batch_generates(const struct request_live *q);
void batch_make(struct sched *s);
void batch_take_results(struct sched *s, struct events *e);
void batch_fail(struct sched *s, const struct err *why);
void batch_leave(struct sched *s, const struct request_live *q); /* q is leaving: so is a half done pass of it */

struct published *figures_open(void);
void figures_close(struct published *p);
void figures_publish(struct sched *s);
void figures_wait_words(const struct sched *s, const struct request_live *q, const struct engine_wait *w, char *out,
                        size_t n);
void figures_wait(const struct sched *s, const struct request_live *q, struct engine_wait *out);
#endif
