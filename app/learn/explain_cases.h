/* explain_cases.h - hits gathered to failures (see explain.h).
 *
 * A case is one failure: all that says so, whoever repeated or wrapped it.  Figures, stages and words belong to the
 * case whose failure is nearest; what stands before a failure is nearer than what follows it, since a program tells
 * what it does and then that it fails. */
#ifndef EXPLAIN_CASES_H
#define EXPLAIN_CASES_H
#include "app/learn/explain_loads.h"
#include "app/learn/explain_services.h"
#include "app/learn/explain_smi.h"
#include "app/learn/explain_words.h"

enum { CASES_MOST = 16, PROCESSES_MOST = 8, REPEATS = 32 /* failures of a case that are kept */ };

struct series { /* values of one kind in their order, to see whether they rise */
    int n, rises;
    uint32_t end; /* of the last in the run: a number counts once, whatever phrases it stands in */
    double first, last;
};

enum { SERIES_WORDS = 6 };
struct series_set { /* of one kind: all of its values; and those of each phrase, since "rss_mb", "cuda_mb" take turns */
    struct series all, of[SERIES_WORDS];
    int word[SERIES_WORDS], words;
};

struct fail_case {
    enum word_family family;
    enum cause said;          /* the cause that the words state; CAUSE_UNKNOWN: figures must tell */
    int said_points, said_by; /* the best of them; how many phrases */
    size_t fail[REPEATS];     /* its failures among the hits: the first, and of the rest the last */
    int fails;
    uint32_t line, last_line; /* of the first, of the last */
    bool ended;               /* all of them say that a process ended, and none why */
    bool has[FIGURES];
    double fig[FIGURES];
    uint32_t near[FIGURES];   /* how far the figure kept is from a failure, in the run */
    double process[PROCESSES_MOST];
    int processes;
    enum word_stage stage;
    int hint[CAUSES];         /* points of words */
    const char *hint_word[CAUSES]; /* the strongest of them */
    int hint_best[CAUSES];
    bool note[NOTES];
    struct loads loads;       /* of weights that were there already */
    struct series_set turn_tokens, tokens_sent, messages, turn_bytes, bytes_now;
};

/* What a server says of its pool of keys and values on one line, now and again. */
struct pool_load {
    uint32_t line;
    double used, running, waiting; /* of 1; requests; below 0: that line does not say it */
};

/* What llama.cpp said of its --fit, which lays a model out before it loads it, and of the layers that it placed. */
struct fit_told {
    uint32_t line, layer_line; /* where it gave up; where the first layer is not on the device; 0: it is nowhere said */
    double use, room, over;    /* bytes: that it would take, that are free, by which it is too much; 0: not said */
    double on_device, layers;  /* of so many layers */
};

struct findings {
    struct fail_case one[CASES_MOST];
    int n;
    const struct hit *other; /* the failure that is not of memory; NULL: none */
    int other_points;
    const struct hit *dead;  /* the first that says that an engine is dead; NULL: none does */
    bool note[NOTES];
    int stack[STACKS];       /* points of all that names it */
    struct smi smi;
    struct fit_told fit;
    struct pool_load pool;   /* of the lines on which requests waited: the last on which it was fullest */
    struct pool_load stuck;  /* the last line, if requests wait there, none runs and the pool is empty */
    int stuck_lines;         /* so many of the last say so */
    uint32_t before;         /* lines of the whole text before the part that was read */
    const struct line_map *map; /* ... where it is one service's lines of a log: how that counts them; or NULL */
};

/* The cases in the order of their first lines; r and h are of the n bytes of text, and so are all lines in f; a person
 * is told of them as told_line() counts. */
void find_cases(const char *text, size_t n, uint32_t before, const struct run *r, const struct hits *h,
                struct findings *f);

/* Of the series with at least so many values that rise to at least so many times their first: the one that rises by
 * most, all together if they do; NULL: none does. */
const struct series *series_rising(const struct series_set *s, int least, double times);
#endif
