/* judge.h - is this answer right?  How the embedded model's held-out cases are judged; used by tests/eval.
 *
 * A case brings "check", what is asked of the last answer, and "turn", the same answer as structure:
 *
 *     {"kind":"contains","all":[["Ann","Anna"],["12"]],"none":["13"]}   every group has one of its words in the answer
 *     {"kind":"call","name":"read","arguments":{"path":"a.txt"}}        the answer is exactly this tool call
 *     {"kind":"no_call"}                                                it is none ("all" and "none" as above)
 *     {"kind":"record"}  {"kind":"handover"}                            the form, and what turn's own holds
 *     {"kind":"plan"}  {"kind":"findings"}  {"kind":"verdict"}  {"kind":"draft"}   the form ("all", "none" as above)
 *
 * The forms are written down here once more, apart from what renders and reads them in the program: a fault there does
 * not hide itself.  White space around an answer and at the ends of its lines does not count, everything else does.
 *
 * All functions are pure; text is any bytes, NUL and what is not UTF-8 too. */
#ifndef JUDGE_H
#define JUDGE_H
#include "plimsoll.h"
#include <jansson.h>

struct judgement {
    bool ok;
    int kept, lines; /* record: lines of turn's record, and how many of them the answer has in the same section */
    bool invented;   /* record: a line that turn's record has not, or a broken form */
    char why[200];   /* not ok: what is amiss, for a person */
};

/* Can an answer be judged by these?  0, or -1: err names the field.  Unknown fields are refused too: a misspelt "none"
 * would ask for nothing. */
int judge_check(const json_t *check, const json_t *turn, struct err *err);

/* check and turn have passed judge_check(). */
struct judgement judge_answer(const json_t *check, const json_t *turn, const char *text, size_t len);

/* Is word in text?  A to Z count as a to z.  Where word begins or ends with a letter or digit (of ASCII), the text must
 * not go on with one there: "12" is not in "1234", "Ann" is not in "Anna".  The empty word is nowhere. */
bool judge_finds(const char *text, size_t len, const char *word, size_t n);

bool judge_utf8(const char *text, size_t len);

/* Do 8 tokens come three times in a row? */
bool judge_loops(const int32_t *id, int n);
#endif
