/* forms_dialogue.h - a dialogue as facts becomes one as texts: what a model is trained on.
 *
 *     {"role": "planner", "tools": ["read"], "summary": {..., "artifact": "a12"}, "turns": [{"user": "Hello."},
 *      {"call": {"name": "read", "arguments": {"path": "notes.txt"}}}, {"result": {"text": "..."}}, ...]}
 *
 *     {"messages":[{"role":"system","content":"..."},{"role":"user","content":"Hello."}, ...]}
 *
 * Top-level keys beside those four are passed over; everything else is strict: kinds of turns, keys inside them, and
 * calls, which must fit tools.json. */
#ifndef FORMS_DIALOGUE_H
#define FORMS_DIALOGUE_H
#include "plimsoll.h"

/* Append the messages as one line of JSON, without a newline.  0, or -1: err names the turn and what is wrong with it;
 * out is unchanged. */
int forms_dialogue(const char *json, size_t len, struct buf *out, struct err *err);
#endif
