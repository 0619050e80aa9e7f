/* gauges.h - the figures that are always on: memory, KV pool, speed, queue, and each agent's context.
 *
 *     VRAM     ▕█▓▓▓▓▓▓░░░░░░░░░░░▒▒▒··▏ 466 of 512 MiB  weights 18  KV filled 132  ...  free 46
 *     machine  ▕━╍╍╍╍╍╍╍───────────────▏ ...               (CPU backend: VRAM is then "budget", plimsoll's own)
 *     KV       ▕█████▞▞▒▒░░░···········▏ 1,412 of 4,096 pages filled  own 1,192  shared 220  ...  free 2,374
 *     ▂▃▅▇▇▅▂ pre-fill 1,140 t/s  ▅▅▆▆▇▆▆ decode 212 t/s (3 streams)  first token 84 ms  queue 1 (writer, 96 pages)
 *
 *     columns   rows     form
 *     under 60  2        device; KV
 *     under 100 2        device and KV beside each other; speed
 *     100 on    3 or 4   device; the machine, if it is there; KV; speed.  From 160 on a part's glyph is before its word
 *
 * The parts of a bar are the whole of it: no total is given, it is their sum, so bars add up by construction, and shown
 * numbers do by bar_shares().  Where not all fit, numbers of memory are joined ("other"), so that they add up still; of
 * pages, filled + reserved + free are the pool.  Other words are left out, totals last.
 *
 * Plain figures; names are of others and are filtered by the surface.  Borrowed for the call. */
#ifndef GAUGES_H
#define GAUGES_H
#include "app/tui/bar.h"

enum { GAUGES_SHORT = 60, GAUGES_FULL = 100, GAUGES_WIDE = 160 };

/* The memory that plimsoll has its own in; bytes.  All parts together are the total. */
struct gauge_device {
    const char *label; /* "VRAM"; on the CPU "budget" */
    uint64_t weights, kv_filled, kv_unfilled, work;
    uint64_t tables;   /* the rest of the ledger: requests' text, parked pages, vocabulary, grammars */
    uint64_t context;  /* what the driver takes */
    int64_t outside;   /* others; under 0: so much that is ours is not taken yet, and lies within free */
    uint64_t free;
    bool unknown;      /* the system does not say what is outside and free: only ours is shown */
};

/* The machine's memory, where the device above is a budget within it; bytes. */
struct gauge_machine {
    bool there;
    uint64_t ours, outside, free;
    uint64_t resident; /* of plimsoll's process, as the system counts; 0: it does not say */
};

struct gauge_kv { /* pages of the pool, each in one of the first five */
    uint64_t own;      /* held by one request alone */
    uint64_t shared;   /* by two or more */
    uint64_t cached;   /* by nobody, kept for a prompt that begins so */
    uint64_t reserved; /* promised and not yet filled */
    uint64_t free;
    uint64_t parked;   /* outside the pool */
    uint64_t both;     /* of the reserved: cached until they are filled */
};

struct gauge_speed { /* a rate or a time that is not known is NAN */
    double prefill, decode;              /* tokens a second, now */
    const float *prefill_past, *decode_past; /* (past) one a sample, the newest last */
    int past;
    int streams;
    double first_token;                  /* seconds */
    int queue;                           /* requests that wait */
    const char *queue_first;             /* whose is the first of them; NULL: none */
    uint64_t queue_pages;                /* that it needs; 0: it waits for something else */
    uint64_t tokens_in, tokens_out, reused; /* in total; reused: of prompts, that needed no pre-fill */
    uint64_t drafted;                       /* of tokens_out, that needed no pass of their own */
    int gpu_load, gpu_celsius, gpu_watts; /* -1: nobody says */
    struct { /* another engine, which answers (--remote), with all of its clients; -1: it does not say */
        bool there;
        int kv_permille;
        int64_t running, waiting, preempted;
    } server;
};

struct gauges {
    struct gauge_device device;
    struct gauge_machine machine;
    struct gauge_kv kv;
    struct gauge_speed speed;
};

int gauges_rows(int columns, bool machine); /* that the block takes at this width */
void gauges_draw(struct surface *s, struct box b, const struct gauges *g, enum glyphs glyphs);

/* ------------------------------------------------------------------ contexts of agents */

enum context_part {
    CONTEXT_SYSTEM, CONTEXT_PINNED, CONTEXT_SUMMARY, CONTEXT_HISTORY, CONTEXT_TOOL, CONTEXT_ANSWER, CONTEXT_RESERVED,
    CONTEXT_FREE, CONTEXT_PARTS
};
const char *context_part_name(enum context_part p); /* "system", "pinned", ... */
enum hue context_part_hue(enum context_part p);
const char *context_part_glyph(enum context_part p, enum glyphs glyphs);

enum agent_state { AGENT_IDLE, AGENT_RUNS, AGENT_TOOL, AGENT_QUEUED, AGENT_PARKED, AGENT_FAILED, AGENT_STATES };
const char *agent_state_name(enum agent_state s); /* "waits", "runs", ... */
enum hue agent_state_hue(enum agent_state s);
const char *agent_state_glyph(enum agent_state s, enum glyphs glyphs);

struct gauge_agent {
    const char *name;
    int number;             /* its hue */
    enum agent_state state;
    const char *doing;      /* "search", "31 t/s"; NULL: the state's name */
    uint64_t part[CONTEXT_PARTS]; /* tokens; all together are its context */
};

/* n agents below each other: name, state, and a bar with "612 / 2,048" (all but free and reserved of all); two rows
 * each, one (without the state's words) where the box is too low.  Those without room are counted in the last row. */
void gauges_agents(struct surface *s, struct box b, const struct gauge_agent *agent, int n, enum glyphs glyphs);

/* One agent's context as a bar of so many columns, without figures. */
void gauges_context_bar(struct surface *s, struct box b, int column, int row, int columns,
                        const struct gauge_agent *agent, enum glyphs glyphs);
/* One agent's context in one row: the bar with "612 / 2,048". */
void gauges_context_line(struct surface *s, struct box b, const struct gauge_agent *agent, enum glyphs glyphs);

/* One agent's context, a row a part: glyph, name, tokens.  Parts of 0 are left out where there is no room for all. */
void gauges_context(struct surface *s, struct box b, const struct gauge_agent *agent, enum glyphs glyphs);
#endif
