/* play.h - a lesson that is being played: its stages, its two runs as child processes, the answers of the learner.  It
 * shows nothing: the text face (learn_cmd.c) and the screen show what is in it.
 *
 *     struct play *p = play_open(&lesson, &(struct play_config){0}, &err);
 *     for (; p->stage != PLAY_OVER; play_next(p))          // SEE, ASK, BROKEN, VERDICT, FIXED, ...
 *         while (play_runs(p)) {                           // a run goes on: BROKEN and FIXED alone
 *             poll play_fd(p) for POLLIN, at most play_wait_ms(p);
 *             play_step(p);                                // folds what came; p->run[k].curve and .figures have grown
 *         }
 *     play_close(p);                                       // at any time: ends a child that runs
 *
 * A run is this same program as a child in its own address space: on the CPU unless the config says otherwise, with no
 * file of settings, none of our variables, seed 1, a store of the lesson's own or none, in a folder of the lesson's own
 * which goes with it.  The learner's engine, session and ledger are not touched.  A run that says nothing for so long
 * (`patience`), or takes longer than `limit`, is ended, and that is how it ended (RUN_KILLED).
 *
 * Owner: play borrows the lesson until play_close().  Threads: one. */
#ifndef PLAY_H
#define PLAY_H
#include "app/learn/curve.h"
#include "app/learn/lesson.h"

enum play_stage {
    PLAY_SEE,        /* what you will see */
    PLAY_ASK,        /* the questions: play_answer() */
    PLAY_BROKEN,     /* the broken run; begun when the stage is; and the post-mortem of one that is killed */
    PLAY_VERDICT,    /* why, with evidence */
    PLAY_FIXED,      /* the same with the fix on */
    PLAY_COMPARE,    /* the two curves side by side */
    PLAY_FRAMEWORKS, /* what that fix is called elsewhere */
    PLAY_SEED,       /* what the advice got wrong; passed over where there is nothing */
    PLAY_GRADE,      /* the answers */
    PLAY_OVER
};
const char *play_stage_words(enum play_stage s); /* a title for a person */

enum { PLAY_TAIL = 2048, PLAY_LINE = 1 << 20, PLAY_REPORT = 8 << 10 };

struct judge;

struct play_run {
    struct figures figures;
    struct curve curve;
    struct judge *judge;   /* verdict_own.h: why it failed */
    bool begun, ended;
    double seconds;        /* so far, or in all */
    int events, wrong;     /* wrong: lines of the child that are no events */
    char said[PLAY_TAIL];  /* the last that it said on stderr; not filtered */
    char command[1024];    /* its command line, for a person */
};

struct play_answer {
    bool given;
    char text[40];  /* as typed */
    double value;
};

struct play_config {
    const char *program; /* its whole path; NULL: this one */
    const char *backend; /* NULL: cpu */
    int threads;         /* 0: one a core */
    double limit, patience; /* seconds; 0: 120 and 60 */
    void (*on_event)(void *self, int run, const struct event *e); /* who sees each event of a run; NULL: nobody */
    void *self;
};

struct play {
    const struct lesson *lesson;
    struct play_config config;
    enum play_stage stage;
    struct play_run run[RUNS];
    struct play_answer answer[LESSON_ASKS];
    struct play_child *child; /* NULL: none runs */
    bool reporting;           /* it is `plimsoll post-mortem` behind a run that was killed */
    struct buf report;        /* what that says, at most PLAY_REPORT bytes; not filtered */
    char folder[256];         /* of the runs; "": none yet */
    struct err err;           /* a run could not be begun */
};

/* NULL: no memory. */
struct play *play_open(const struct lesson *l, const struct play_config *cfg, struct err *err);
void play_close(struct play *p);

void play_next(struct play *p);           /* the next stage that has something; while a run goes on: it is ended */
bool play_runs(const struct play *p);
int play_fd(const struct play *p);        /* readable when there are events; -1: nothing runs */
int play_wait_ms(const struct play *p);   /* until play_step() is due at the latest */
bool play_step(struct play *p);           /* true: something came, or the run ended */
/* What was typed as the answer of a question; "" leaves it open.  0, or -1: no number, or no letter of a choice. */
int play_answer(struct play *p, int ask, const char *text, struct err *err);
void play_skip(struct play *p);           /* to PLAY_OVER; a run is ended */

/* Why the broken run failed.  false: it did not, or nothing says why. */
bool play_verdict(const struct play *p, struct verdict *out);

/* The text of its stage with the figures filled in, in the lines of the file; a paragraph whose lines they make too
 * long is in lines of its own.  Appended. */
void play_text(const struct play *p, struct buf *out);
/* The right answer of a question, after both runs. */
void play_right(const struct play *p, int ask, struct buf *out);

/* After both runs: is everything as the lesson says (fails, expect)?  0, or -1 with the first that is not. */
int play_check(const struct play *p, struct err *err);
bool play_is_right(const struct play *p, int ask);
int play_score(const struct play *p);     /* answers that are right */
#endif
