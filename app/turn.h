/* turn.h - one request from its submission to its end: text streams to stdout, events to the streams, progress to
 * stderr. A pending signal, or a reader of stdout that left, cancels it within one step of the engine. */
#ifndef TURN_H
#define TURN_H
#include "app/app.h"
#include "memory/forms.h"

struct turn_ask {
    const struct msg *msgs; /* the conversation, the user's turn last */
    int n_msgs;
    struct event_str said; /* what the user said, where something stands behind it; NULL: it is the last message */
    int top_n;   /* also keep the likeliest tokens */
    bool silent; /* the text does not go to stdout */
    int round;   /* 0: the turn's first call of the model; else it goes on after a tool's result */
    const struct request_grammar *grammar; /* of its calls; NULL: none.  Without --strict-tools one is refused */
    bool tools;  /* an answer that begins as a call of a tool does not go to stdout */
    int thinking; /* tokens, as struct request has it; THINKING_FREE: as turn_thinking() says */
    bool ids;    /* the tokens are wanted */
    /* No turn of the user's, but a question of the program's own: greedy, silent, no events, no thinking in it. */
    bool aside;
    int max_tokens; /* of the answer; 0: what -n says, or else what the context leaves */
    const struct sampling *sampling; /* NULL: as the options say */
    /* Called whenever the answer grew, and at its end.  NULL: nobody. */
    void (*grew)(void *self, const struct answer *ans);
    /* Called once when its thinking had all its tokens and was ended.  NULL: nobody. */
    void (*closed)(void *self);
    void *self;
};

struct turn_result {
    enum engine_end end;
    bool too_long; /* END_FAULT: it never fits, as a server alone could say */
    int n_prompt, n_tokens, max_tokens;
    double first_s, total_s;        /* seconds to the first token (0: there was none), and in all */
    double cancel_s;                /* from the signal until its memory was free; NaN: not cancelled by one */
    double prefill_rate, decode_rate; /* tokens a second; NaN: unknown */
    struct buf text;                /* the answer, as far as it came */
    struct ids ids;                 /* with ask->ids: prompt and answer; the caller's to free like the text */
};

/* 0: it was admitted and ended as result->end says (END_FAULT, END_OOM: err says why).  Else an enum engine_error: it
 * was refused with err filled, and nothing has changed.  result->text is the caller's to free either way. */
int turn_run(struct app *a, const struct turn_ask *ask, struct turn_result *result, struct err *err);

/* What the refusal that follows is about, where it has figures; turn is filled in. */
void turn_short(struct app *a, struct event_shortage s);

/* A refusal that comes before the engine is asked: the event and a->reason.  Returns code (an enum engine_error). */
int turn_refuse(struct app *a, int code, const char *reason, const struct err *err);

/* How this model writes calls of tools.  With --strict-tools it can do so in JSON alone, or as harmony does. */
enum form_calls turn_calls(const struct app *a);

/* Whether this model is told what it thought before a call as long as the turn goes on.  Servers are not: each has its
 * own field for it, if any. */
bool turn_retells(const struct app *a);
/* How long a model may think, as the engine's request has it; of a chat with --thinking the window has the number. */
int turn_thinking(const struct app *a);

/* The exit status that a turn stands for: code is what turn_run() returned. */
int turn_exit(int code, const struct turn_result *result);
#endif
