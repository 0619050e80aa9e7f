/* explain_words.h - the phrases that explain knows, and what each is worth (see explain.h, explain_match.h).
 *
 * A phrase says one of: something failed; at which stage of a program this was; in whose words; a figure; that
 * something speaks for or against a cause; a note.  Points are small integers: 6 is a plain statement of the cause, 3
 * a good sign, 1 a hint. */
#ifndef EXPLAIN_WORDS_H
#define EXPLAIN_WORDS_H
#include "app/learn/verdict.h"

enum word_kind { WORD_FAIL, WORD_STAGE, WORD_STACK, WORD_FIGURE, WORD_FOR, WORD_NOTE };

/* Who is hurt: failures of one family that stand together are one. */
enum word_family { FAMILY_ANY, FAMILY_DEVICE, FAMILY_HOST, FAMILY_TOKENS, FAMILY_OTHER, FAMILIES };

/* What the program was doing; the last of them before a failure counts. */
enum word_stage {
    STAGE_NONE, STAGE_LOAD, STAGE_KV_INIT, STAGE_KV_GROWS, STAGE_PROFILE, STAGE_CAPTURE, STAGE_PASS, STAGE_EMBED,
    STAGE_INIT, STAGES
};

enum word_figure {
    FIG_TRIED, FIG_TOTAL, FIG_FREE, FIG_ALLOCATED, FIG_RESERVED, FIG_GAP, FIG_IN_USE, FIG_PROCESS, FIG_ALLOWED,
    FIG_BESIDE, FIG_START_FREE, FIG_DESIRED, FIG_KV_NEEDED, FIG_KV_HAVE, FIG_WEIGHTS, FIG_KV_POOL, FIG_HOST_NEEDED,
    FIG_HOST_HAVE, FIG_RSS, FIG_LIMIT, FIG_TOKENS_MOST, FIG_TOKENS_ASKED, FIG_RUNNING, FIG_WAITING, FIG_SMI,
    FIG_SMI_PROCESS, FIG_TURN_TOKENS, FIG_TOKENS_SENT, FIG_MESSAGES, FIG_BYTES_NOW,
    FIG_MIB_NOW, FIG_TURN_BYTES, FIG_LONG, FIG_DEVICE, FIG_PID, FIG_ANSWER, FIG_BATCH, FIG_ROOM,
    FIG_POOL_PERCENT, FIG_POOL_SHARE, FIG_RAM_NEEDED, FIG_FIT_USE, FIG_FIT_OVER, FIG_LAYERS, FIGURES
};

enum word_note {
    NOTE_TRACE,   /* a traceback begins */
    NOTE_CHAIN,   /* the next one is about the same failure */
    NOTE_STARTED, /* a server came up, a request was answered */
    NOTE_PROBE,   /* killed because it did not answer */
    NOTE_ADVICE,  /* "if you run out of memory": nothing happened */
    NOTE_WRAPPER, /* something failed, and what is said elsewhere */
    NOTE_DEVICE,  /* a device or a model is spoken of */
    NOTE_TURN,    /* a turn, a round, a step with its number */
    NOTE_HOURS,   /* it had run for long */
    NOTE_FIRST,   /* at the first request, before any */
    NOTE_UP,      /* a server says that it has all it needs and takes requests */
    NOTE_CHILD,   /* a server says that it ends itself because a process of its own failed */
    NOTE_DEAD,    /* the engine behind a server is dead: who asked it is told so, and not why */
    NOTE_FIT,     /* llama.cpp could not make its settings fit what is free, and says why: */
    NOTE_FIT_TRIAL, NOTE_FIT_LAYERS, NOTE_FIT_PLACES, NOTE_FIT_SPLIT, NOTE_FIT_CONTEXT, NOTE_FIT_HOST,
    NOTE_FIRST_LAYER, /* its first layer is not on the device */
    NOTES
};

struct word {
    const char *phrase;
    enum word_kind kind;
    int of;           /* family, stage, stack, figure, note; WORD_FOR: 1 if it counts at any distance */
    enum cause cause; /* WORD_FAIL, WORD_FOR; CAUSE_UNKNOWN in a failure: figures and stage must tell */
    int points;
};

extern const struct word words_fail[], words_ended[], words_other[], words_hint[], words_figure[];
extern const int words_fail_n, words_ended_n, words_other_n, words_hint_n, words_figure_n;

/* All of them as one list. */
int words_all(void);
const struct word *word_at(int i);
const char *word_phrase(int i);

/* A failure that says that a process ended, and not why: an exit code, a signal. */
bool word_ended(const struct word *w);
#endif
