/* eval.h - the embedded model's marks: the words that the files of `make eval-model` share.
 *
 *     cases.jsonl -> cases.c -> ask.c (asks the engine, greedily, several at once) -> tests/judge.c -> table.c
 *
 * A case is one JSON object a line:
 *
 *     {"row": "tools.call", "messages": [{"role": "user", "content": "..."}, ...], "expected": "the right last answer",
 *      "check": {...}, "turn": {...}}          check and turn: tests/judge.h
 *
 * messages are as the model sees them, without the last answer.  More fields are allowed and not looked at. */
#ifndef EVAL_H
#define EVAL_H
#include "engine/engine.h"
#include "tests/judge.h"

enum { EVAL_SEQS = 64, EVAL_FEW = 200 }; /* a row of fewer cases than EVAL_FEW proves little and is marked */

struct eval_case {
    json_t *json; /* owned; what follows points into it */
    const char *row;
    json_t *messages, *expected, *check, *turn;
    const char *file;
    int line;

    /* What came of it. */
    bool refused; /* the prompt leaves no room in the context: there is no answer */
    int n_prompt, n_tokens;
    enum engine_end end;
    bool utf8, loops; /* of the tokens' own bytes: the engine's text is always UTF-8.  Cut in a character: not UTF-8 */
    struct buf answer;
    struct judgement judged;
};

struct cases {
    struct eval_case *at;
    int n, cap;
};

/* Append the cases of a file.  0, or -1: err names file, line and field. */
int cases_read(struct cases *c, const char *path, struct err *err);
/* Judge each case's own expected answer; those that fail are named on stderr (the first ones).  How many failed. */
int cases_prove(const struct cases *c);
void cases_free(struct cases *c);

struct asking {
    int seqs, max_tokens;
    double seconds; /* what all took; filled by ask_all(), as the rest */
    uint64_t passes, drafted, right; /* drafts: tried, and right */
};
/* Put each case to the engine and judge the answers.  0, or -1: the engine failed, err says how. */
int ask_all(const struct engine_ops *ops, struct engine *e, struct cases *c, struct asking *a, struct err *err);

/* The table, aligned or as Markdown. */
void table_print(const struct cases *c, const struct asking *a, const char *model, bool markdown, FILE *out);
/* Up to `show` cases of each row that failed: the prompt's end, what was expected, what came. */
void table_failures(const struct cases *c, int show, FILE *out);
/* One JSON object a case.  0 or -1. */
int table_answers(const struct cases *c, const char *path, struct err *err);
#endif
