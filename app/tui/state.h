/* state.h - what the figures on the screen are made of: the stream of events (event.h), folded.
 *
 *     event ──state_event()──> struct state ──> gauges, agents, timeline, head: `const` to all who draw
 *
 * Nothing else goes in: a recorded stream shows the same figures as the session that made it.  Numbers are those of the
 * last memory event and of the machine and holding events behind it, so they are of one moment and add up.
 *
 * Memory is fixed.  Texts of others are cut to their fields, between characters; the surface filters them.
 * Threads: one. */
#ifndef STATE_H
#define STATE_H
#include "app/session/event.h"
#include "app/tui/gauges.h"
#include "app/tui/timeline.h"
#include "engine/forecast.h"

enum { STATE_AGENTS = 64, STATE_NAME = 40, STATE_PAST = 120 /* samples of a rate */ };

struct state_agent {
    char name[STATE_NAME];   /* "": the only one */
    struct gauge_agent gauge; /* its name, state and parts; doing points to `doing` */
    char doing[STATE_NAME];  /* "31 t/s", a tool's name, "reads 512 of 2,048" */
    int64_t ctx, high, reserve, frees, answer_max, rounds; /* as carries said last; 0: not yet */
    int64_t carried;         /* tokens of its next call */
    enum { HIGH_REFUSES, HIGH_LEAVE, HIGH_SUMS_UP } at_high; /* what becomes of the oldest above `high` */
    int64_t turn, saved_turn; /* of its session: the last that was asked, the last that is durable */
    int64_t turns, calls;    /* that ended; of tools */
    int64_t tokens_in, tokens_out; /* of all its prompts (re-used ones too), and of its answers: the engine's figures
                                      have the tokens that end them, and summaries, too */
    int64_t shared;          /* tokens that it reads in pages which others hold too */
    int64_t running, waiting, parked; /* requests */
    double rate;             /* tokens a second, of the answer that grows or the last one; NAN: none yet */
    double first_token;      /* seconds, of the last answer; NAN */
    struct forecast_agent growth; /* until its next call carries more than `high` */
    bool failed;             /* its last turn */
    char end[24];            /* how its last turn ended: "stop", "cancelled", ... */

    struct {                 /* state.c's own */
        bool carries;        /* a carries event came: until then turns tell what they can */
        bool heard;          /* that it has requests, since the last memory event */
        bool put_aside;      /* by /park, until its next turn */
        int64_t answering;   /* answers that were begun and have not ended */
        int64_t prompts;     /* tokens of their prompts */
        int64_t answer;      /* that they have written */
        int64_t was_parked;  /* by the memory event before */
        double since;        /* of the tokens that a rate is made of; NAN: nothing grows */
        int64_t from;        /* how many there were then */
    } own;
};

struct state {
    struct { /* session_open */
        char version[24], engine[16], file[200], model[80], arch[32], types[96], template[16], backend[128], mode[8];
        int64_t parameters, vocab, ctx, seed;
        bool there;
    } opened;
    char session[33], title[121]; /* of the last resumed event; or nothing */
    int64_t saved_turn;           /* the last that is durable; 0: none */
    int64_t turn;                 /* the last that was asked, of the session that goes on */
    bool over;                    /* session_close came */
    double time;                  /* of the last event */

    struct gauges gauges;         /* label, pasts and queue_first point into here */
    float prefill_past[STATE_PAST], decode_past[STATE_PAST];
    char queue_first[STATE_NAME];
    int64_t page_tokens, token_bytes;
    double sampled;               /* time of the last memory event; < 0: none yet */
    struct event_memory memory;   /* the last, as it came */
    struct event_machine machine; /* the last, without its strings; page_tokens 0: none yet */
    bool has_machine, on_cpu;
    struct { double time; int64_t prefilled, generated; } rated; /* what rates are counted from; time < 0: none yet */
    struct { int64_t in, out, reused; } told; /* by turns: more than the last machine event knew, where it is old */

    struct state_agent agent[STATE_AGENTS]; /* in the order in which they were first heard of */
    int agents;
    struct timeline timeline;
};

void state_open(struct state *s); /* where there is no memory for a timeline, it stays empty */
void state_close(struct state *s);
/* Anything may be in an event: numbers under 0 count as 0, agents beyond STATE_AGENTS are left out. */
void state_event(struct state *s, const struct event *e);
/* The agents that there will be, before they are heard of: number i is the i-th. */
void state_name(struct state *s, const char *name);
/* -1: nobody of this name.  A copy, NAME/ASK, is NAME. */
int state_agent(const struct state *s, const char *name, size_t n);

bool state_saved(const struct state *s); /* each agent's last turn is durable */

/* A text into a field, cut to its size between characters. */
void state_text(char *out, size_t size, struct event_str s);

/* What will happen next, in words; nothing where nothing is to be said: "researcher fills its context in about 3 turns;
 * the oldest are summed up then, which frees 420 tokens and costs about 480 of pre-fill" (of the call behind it). */
void state_forecast(const struct state *s, int agent, char out[200]);
#endif
