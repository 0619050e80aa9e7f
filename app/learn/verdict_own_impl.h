/* verdict_own_impl.h - what a judge remembers of a stream; for the files that fold it and those that make the words. */
#ifndef VERDICT_OWN_IMPL_H
#define VERDICT_OWN_IMPL_H
#include "app/learn/verdict_own.h"

enum { ANSWER_LEAST = 16 }; /* tokens that are an answer at all */
#define JUDGE_FIGURE ((int64_t)1 << 50) /* the most that a figure is believed */

struct judge_point { /* a call of the model */
    int32_t turn, call;
    int64_t prompt;
};

struct judge_agent {
    char name[JUDGE_NAME];
    bool runs;                 /* between turn_start and turn_end */
    struct judge_point point[JUDGE_POINTS]; /* the newest last */
    int points;
    int64_t max_tokens;        /* of its last call */
    int64_t tool_tokens, frees_tokens; /* of the last carries event */
    int64_t ctx, reserve, refused; /* refused: tokens that the window said a call would have; 0: it did not */
};

struct judge {
    struct judge_agent agent[JUDGE_AGENTS];
    int agents;
    int together;              /* most agents that ever ran at once, and ended well */
    struct event_memory memory; /* the last; all 0: none yet */
    struct event_memory fullest; /* of the last seconds: what had ended is out of the last one */
    double fullest_at;
    int64_t token_bytes, page_tokens, host_total, host_free; /* of the last machine event */
    struct event_shortage shortage;
    char reason[24];           /* of it; "": none since the last refusal */
    int failures;
    bool failing;
    struct verdict first, last;
};

/* Of this failure, for whom it was. */
void judge_oom(const struct judge *j, const struct judge_agent *a, const struct event_oom *o, struct verdict *v);
void judge_refusal(const struct judge *j, const struct judge_agent *a, const struct event_refusal *r,
                   struct verdict *v);

bool judge_growth_of(const struct judge_agent *a, struct judge_growth *out);
int judge_running(const struct judge *j);

/* Sentences that several verdicts have. */
int64_t judge_prompt(const struct judge_agent *a); /* of its last call */
void judge_where(const struct judge_agent *a, int64_t turn, const char *policy, struct verdict *v);
void judge_say_growth(const struct judge_agent *a, struct verdict *v);
/* Nothing where they grew, or where the last one did and that is too little for a line. */
void judge_not_growth(const struct judge_agent *a, struct verdict *v);
void judge_fix_history(const struct judge *j, const struct judge_agent *a, struct verdict *v);
uint64_t judge_tokens_bytes(const struct judge *j, int64_t tokens);
#endif
