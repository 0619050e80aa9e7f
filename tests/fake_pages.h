/* fake_pages.h - a runner for the scheduler that computes no model, but whose pages remember what was written to them.
 *
 *     page 7   [ token 68, pos 0, hash ][ token 70, pos 1, hash ] ...
 *
 * The hash of a position is that of all tokens up to it, made from the entry before: as with attention, a row's result
 * depends on the whole front.  Every pass looks through all earlier positions of each row's sequence, so a page that is
 * lost, swapped, written twice or not brought back is seen; and what is chosen depends on the hash, so the answer shows
 * it too.  Of a group with a window (2 at least) it looks through the window.  Whatever is wrong fails the test
 * (CHECK). */
#ifndef FAKE_PAGES_H
#define FAKE_PAGES_H
#include "engine/sched.h"

struct fake_page {
    struct fake_entry { int32_t token, pos; uint64_t hash; } at[KERN_PAGE]; /* pos -1: nothing is there */
};

struct fake_pool { /* a group */
    struct kv_group is;
    int there; /* pages backed by memory so far */
    struct fake_page *page;
    int32_t *writer; /* (pages) which sequence writes it in this pass; -1: none */
};

struct fake {
    struct sched *s; /* set by the caller when it is open */
    int groups;
    struct fake_pool group[KERN_GROUPS];
    int32_t end_id;
    int fail_run, fail_save, fail_load; /* one in so many fails; 0: none */
    uint32_t seed;                      /* of the failures */
    void (*started)(void *self, int id); /* a request was admitted; may be NULL */
    void *started_self;
    int half_rows, next_part; /* of the pass that is half done; 0: none was */
    uint64_t half_is;         /* its rows and their pages */
    int64_t halves, left;     /* parts that were not the last of theirs; passes given up half done */
    int64_t rows, chosen, failed_runs, failed_saves, failed_loads, saved, loaded;
};

void fake_open(struct fake *f, const struct kv_group *group, int groups, int32_t end_id, uint32_t seed);
void fake_close(struct fake *f);
/* parks: with save_page and load_page; limited: `there` pages of a group can be used, one more when it has to be waited
 * for */
struct runner fake_runner(struct fake *f, bool parks, bool limited);

/* What a request's answer has to be. */
struct fake_ask {
    const int32_t *ids;
    int n, max_tokens;
    uint64_t seed;         /* of sampling */
    const uint32_t *allowed;
    const char *stop;      /* NULL: none */
    bool ignore_end;
};
enum { FAKE_MOST = 512 };
struct fake_answer {
    int32_t token[FAKE_MOST];
    char text[FAKE_MOST + 1]; /* of ended: a stop string is left out */
    int n;
    enum engine_end end;
};
void fake_expect(const struct fake *f, const struct fake_ask *a, struct fake_answer *out);

uint64_t fake_hash(uint64_t before, int32_t token); /* the chain begins with 0 */
float fake_logprob(uint64_t hash, int32_t token);   /* of `token` after what hash stands for */
#endif
