/* opts.h - what the command line, the environment and the configuration file ask for.
 *
 * One table in opts_table.c holds every flag, its variable, range, default and help; parsing (opts.c), checking
 * (opts_value.c) and printing follow it.
 * Nothing else in the project calls getenv().
 *
 *     struct opts o;
 *     if (opts_parse(&o, argc, argv, NULL, &err)) ...      // one clear line, exit 2
 *
 * A flag wins over its variable, that over the configuration file (config.h), that over the default.  Within one of
 * these the last counts (in the file a name stands once), but --stop and --logit-bias collect.
 * Strings point into argv, the environment and the text of the file, which struct opts owns until opts_free().
 * Threads: before any other starts. */
#ifndef OPTS_H
#define OPTS_H
#include "app/guards.h"
#include "engine/engine.h"
#include "plimsoll.h"

/* Where a value came from; a later one wins. */
enum opts_from { OPTS_DEFAULT, OPTS_FILE, OPTS_VARIABLE, OPTS_FLAG };

struct opt;
struct opts_said {
    const struct opt *row;
    enum opts_from from;
    int line;         /* OPTS_FILE: of the file, from 1 */
    const char *text; /* NULL: a flag that takes no value */
};
enum { OPTS_SAID = 192 };

struct opts {
    const char *model, *prompt, *system, *template_name, *reasoning; /* NULL: not given */
    const char *engine, *script_file, *backend, *isa, *kv_type;
    const char *nll, *trace, *naive;
    const char *remote, *remote_model, *remote_key_file; /* another server computes; NULL: not given */
    int64_t max_tokens; /* 0: not given */
    int64_t thinking;   /* 0: as long as an answer may be */
    int64_t draft;      /* 0: by backend */
    int64_t ctx;        /* 0: the model's own, at most 4096 */
    int64_t pool;       /* tokens; 0: not given */
    int64_t threads;    /* 0: one a core */
    int64_t device;     /* CUDA: which one; -1: the one with most memory free */
    double vram;        /* bytes; under 0: percent of what is free; 0: not given */
    int64_t top_k, top_logprobs; /* -1: --dump-logprobs was not given */
    int64_t seed;                /* -1: a random one */
    double temp;                 /* -1: the model's own, see TEMPERATURE */
    double top_p, min_p, repeat, frequency, presence;
    const char *stop[ENGINE_STOPS];
    struct kern_bias bias[ENGINE_MAX_BIAS];
    int n_stop, n_bias;
    double park;                 /* bytes; 0: not given */
    double snapshots;            /* bytes, of all sessions */
    double snapshots_session;    /* of one; under 0: percent of the former */
    double recall_index, recall_index_session; /* the same of the recall index; recall_index 0: there is none */
    const char *store, *resume, *recall, *summary;  /* NULL: not given */
    int64_t high_mark, low_mark; /* percent; like the next four, 0 is QUOTA_... */
    int64_t summary_tokens, result_share, result_tokens;
    int64_t handover;            /* 0: as much as a result may have */
    double keep_unsaved;         /* bytes */
    const char *crew;            /* NULL: not given */
    int64_t parallel;            /* 0: as the crew needs, and as its memory allows */
    const char *theme, *glyphs;
    bool no_tui, no_pin, no_thinking, no_draft, exact, fast, dump_tokens, json, fit, overcommit, no_save, script;
    bool lockstep;
    bool strict_tools;
    bool all_samples;
    const char *unguarded; /* NULL: not given */
    struct guards off;     /* what it says */
    int64_t answers;       /* tokens that every answer has; 0: as many as the model likes */
    const char *mcp; /* NULL: not given; a file of servers, as tools/mcp.h reads it */
    const char *workspace, *tools, *allow; /* NULL: not given; tools/rights.h reads them, and gives their errors */
    bool version, help, help_events, help_crew;
    bool own_system; /* the system message was given by a person */
    bool embedded; /* no -m: model names the embedded one; main.c sets it */
    bool embedded_vocab; /* --remote without -m: model names the embedded one, whose vocabulary counts alone */
    const char *config; /* the file that was asked for */
    bool no_config;
    char *file, *file_text; /* the file that was read, and what strings point into; owned; NULL: none */
    struct opts_said said[OPTS_SAID]; /* what is in force and is no default */
    int n_said;
    int agents, turns; /* of `plimsoll stress`; 0: another face */
    bool serve;        /* `plimsoll serve`, and what its own flags say */
    const char *serve_host, *serve_key_file, *serve_alias; /* key file, alias NULL: none */
    int serve_port;
    int argc;
    char *const *argv; /* as they were given */
    bool plain; /* no colour: NO_COLOR is set, or the terminal is a dumb one */
};

/* Without --temp: the embedded model says what it learned, others are left some freedom. */
#define TEMPERATURE(o) ((o)->temp >= 0 ? (o)->temp : (o)->embedded ? 0 : 0.7)

/* What a context is shared out by when no flag says otherwise: percent, tokens.  Who made its struct opts by hand, and
 * left a field 0, gets them too. */
#define QUOTA_HIGH 85
#define QUOTA_LOW 40
#define QUOTA_RESULT_SHARE 25
#define QUOTA_RESULT_TOKENS 2048
#define QUOTA_SUMMARY 512
#define QUOTA_APART 10 /* percent, at least, between the marks: else a compaction frees nothing to speak of */
static inline int64_t opts_quota(int64_t given, int64_t usual) { return given > 0 ? given : usual; }

/* In bytes, of --snapshots-session; whether anything is recalled at all; and whether only a summary's lines are. */
static inline double opts_snapshots_session(const struct opts *o)
{
    return o->snapshots_session < 0 ? -o->snapshots_session / 100 * o->snapshots : o->snapshots_session;
}
static inline bool opts_recalls_summary(const struct opts *o)
{
    return o->recall && strcmp(o->recall, "summary") == 0;
}
static inline bool opts_recalls(const struct opts *o)
{
    return opts_recalls_summary(o) || (o->recall_index > 0 && (!o->recall || strcmp(o->recall, "off") != 0));
}

/* How a variable is looked up; NULL in opts_parse() is getenv(). */
typedef const char *opts_env(const char *name);

const char *opts_getenv(const char *name); /* getenv(): the one place that calls it */

/* 0, or one line in err that names the flag, the variable or the file's line, what was found and what is allowed:
 * OPTS_BAD_FILE: the configuration file cannot be read, is not believed or has a bad line, and o is as if there
 * were none; OPTS_BAD: all else.
 * opts_free() is due in each case. */
enum { OPTS_BAD = -1, OPTS_BAD_FILE = -2 };
int opts_parse(struct opts *o, int argc, char *const *argv, opts_env *env, struct err *err);
void opts_free(struct opts *o);

/* The command line less these flags and their values, n of them, into out, which has room for argc.  How many. */
int opts_without(int argc, char *const *argv, const char *const *flag, int n, char **out);
/* The first of these flags that the command line has, or NULL. */
const char *opts_by_flag(const struct opts *o, const char *const *names, size_t n);
/* A setting that does not go with what the command line asks for gives way: unless a flag says it, it is as by default
 * again.  Whether it is. */
bool opts_yields(struct opts *o, const char *name);
/* Where a flag's value comes from, if the command line does not say it, and what undoes it: " (FILE:3 has it;
 * --json=off undoes it)", appended. */
void opts_whence(const struct opts *o, const char *name, struct buf *out);
const char *opts_variable(const char *flag); /* the environment's name for it; NULL: it has none */

void opts_help(struct buf *out); /* the flags in the text of --help, from the same table */

/* The name of a flag that was given and asks for one thing once (--prompt, --resume, --version ...): no setting, so
 * commands that only look at settings refuse it.  but: one that may be given all the same, or NULL.  NULL: none. */
const char *opts_asks_once(const struct opts *o, const char *but);

/* Every value in force and where it came from, in the form of a configuration file. */
void opts_show(const struct opts *o, struct buf *out);

/* "512M", "1.5G", "4096K", "100000" (bytes), "60%": bytes, or less than 0 for percent. */
bool opts_size(const char *s, double *out);

/* The edits (one character put in, left out or changed) from a to b, both shorter than OPTS_NAME_MAX. */
enum { OPTS_NAME_MAX = 40 };
int opts_edits(const char *a, const char *b);
#endif
