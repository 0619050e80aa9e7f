/* explain_judge.h - points for and against each cause of a case (see explain.h). */
#ifndef EXPLAIN_JUDGE_H
#define EXPLAIN_JUDGE_H
#include "app/learn/explain.h"
#include "app/learn/explain_cases.h"

/* What a message about a device says, in bytes; a figure is 0 where has_... would be false and none can be reckoned. */
struct device_sum {
    bool known;      /* free and tried at least */
    double tried, total, free, allocated, reserved, gap, outside, allowed;
    bool has_gap, has_outside, gap_reckoned;
    bool other_holds;  /* others hold what is missing */
    bool gap_suffices; /* free and gap together are enough */
};

struct judged {
    int points[CAUSES];
    enum cause cause;
    enum sure sure;
    struct device_sum sum;
};

struct device_sum device_sum(const struct fail_case *c);
enum cause stage_cause(enum word_stage s); /* what a failure at this stage speaks for */
void judge_case(const struct findings *f, const struct fail_case *c, const struct explain_answers *known,
                struct judged *j);

/* Points of an answer (0: there is none) for or against a cause. */
int judge_answered(enum explain_question q, int choice, enum cause cause);

/* Whose words a case is in; and who reported it (STACK_UNKNOWN: nobody else). */
enum stack judge_stack(const struct findings *f, const struct fail_case *c);
enum stack judge_wrapper(const struct findings *f);

/* Which of two causes is the more basic: what the machine is short of before what a program does with it. */
int cause_rank(enum cause c);

/* Frameworks whose first cause, by the seeds, is what they carry from turn to turn. */
bool prefers_growth(enum stack wrapper);
#endif
