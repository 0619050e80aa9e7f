/* models.h - GGUF files that people already have, and what this machine can do with each.
 *
 *     place            folder                                         what is in it
 *     PLIMSOLL_MODELS  folders, ':' between them                      *.gguf, also in folders below
 *     Ollama           $OLLAMA_MODELS, ~/.ollama/models,              manifests/ (JSON) that name files of blobs/
 *                      /usr/share/ollama/.ollama/models
 *     LM Studio        ~/.lmstudio/models, ~/.cache/lm-studio/models  PUBLISHER/MODEL/NAME.gguf
 *     llama.cpp        $LLAMA_CACHE, ~/.cache/llama.cpp               *.gguf, or as a hub's cache
 *     hub cache        $HF_HUB_CACHE, $HF_HOME/hub,                   snapshots of links to blobs
 *                      ~/.cache/huggingface/hub
 *     this folder      .                                              *.gguf, not below
 *
 * ~/.cache is $XDG_CACHE_HOME where that is set.
 *
 *     models_find(): places -> rows, from names alone      models_read(): each row's file -> what it is; what fits
 *
 * Names, manifests and files are of others.  Only regular files are opened; a link is followed where it leads to one
 * within a known place, and no folder is entered by a link.  Hidden folders are not looked into.  Depth, names, rows
 * and time have limits; that one of the last three was met is said, and where.  Of the rows each place gets its share:
 * none hides another.  A file that is found in two places is one row.
 *
 * Threads: one. */
#ifndef MODELS_H
#define MODELS_H
#include "app/opts.h"
#include "engine/gguf.h"

enum {
    MODELS_MAX = 500, MODELS_PLACES = 24, MODELS_PATH = 1024, MODELS_NAME = 160,
    MODELS_DEPTH = 8, MODELS_NAMES = 50000, /* in a place's folders */
    MODELS_SECONDS = 5,
    MODELS_NOWHERE = -1 /* place of a row that is being written */
};

enum model_state {
    MODEL_UNREAD,      /* nobody looked into it, or only into its header: time was over */
    MODEL_FITS,        /* plimsoll runs it, with a context of ctx_fits */
    MODEL_TOO_LARGE,   /* it would run it, with more memory */
    MODEL_UNSUPPORTED, /* GGUF, and not for plimsoll: why */
    MODEL_SPLIT,       /* a part of several: why */
    MODEL_BROKEN,      /* no GGUF, cut short, cannot be read: why */
    MODEL_STATES
};

struct models_row {
    char path[MODELS_PATH];
    char name[MODELS_NAME];
    int place;                  /* of struct models */
    enum model_state state;
    uint64_t bytes;             /* of the file */
    uint64_t device, inode;
    /* From here on 0 and "" where it is not known. */
    char arch[32];
    char types[48];             /* of most of its bytes: "Q4_K, Q6_K" */
    char tensors[96];           /* "Q4_K 120, F32 61" */
    uint64_t parameters;
    int64_t ctx_trained;
    /* FITS and TOO_LARGE: bytes of a session with one sequence. */
    int64_t ctx_fits;           /* the largest context, in tokens */
    int64_t ctx_usual;          /* that a session takes when nobody says */
    uint64_t needs_least;       /* with the smallest context */
    uint64_t needs_usual;       /* with ctx_usual */
    char why[320];              /* one line */
};

enum models_looked {
    MODELS_ABSENT, MODELS_LOOKED,
    MODELS_CLOSED,  /* may not be read */
    MODELS_IN_PART, /* a limit was met */
    MODELS_UNSEEN   /* time was over before */
};

struct models_place {
    char what[20]; /* "Ollama" */
    char path[MODELS_PATH], real[MODELS_PATH]; /* real: without links; "" where it cannot be opened */
    enum models_looked looked;
    int left_out; /* files that have no row, since all the rows were taken */
};

struct models {
    struct models_place place[MODELS_PLACES];
    int n_places;
    struct models_row row[MODELS_MAX];
    bool found;         /* all rows are there */
    int n;              /* rows; of those, */
    int n_read;         /* the first ones of which the header was read, */
    int n_judged;       /* and those of which it is known what fits */
    int n_again;        /* names that led to a file which has a row */
    uint64_t within;    /* memory by which they were judged; UINT64_MAX: the system does not say */
    char stopped[160];  /* why this is not all; "": it is */
};

struct models_ask {
    opts_env *env;
    uint64_t within;  /* bytes of memory to judge by; 0: what is free now */
    double end;       /* of progress_clock(): what is not done by then is left out */
};

/* m is all zeros before the first. */
void models_find(const struct models_ask *ask, struct models *m);
void models_read(const struct models_ask *ask, struct models *m); /* models_fit.c */

/* One row that is UNREAD: what its header says; and then what fits, where nothing is in the way. */
void models_read_row(struct models_row *r);                   /* models_fit.c */
void models_judge_row(struct models_row *r, uint64_t within); /* models_fit.c */

/* Both, in a process of its own that is ended a moment after ask->end, and when it takes too much memory, so that no
 * file and no disk can hold the caller or bring it down; a file that ends it is passed over.  The caller has one
 * thread.  For models_free(); NULL: no memory, or no process could be started. */
struct models *models_look(const struct models_ask *ask, struct err *err); /* models_look.c */
void models_free(struct models *m);                                        /* models_look.c */

/* What is said of a row in a table: "fits, context up to 16,384", "needs 5.1 GiB of 3.9", ... */
void models_verdict(const struct models_row *r, uint64_t within, char *out, size_t n);
/* The command line that starts plimsoll with it; its path is quoted for a shell.  Nothing unless it FITS. */
void models_command(const struct models_row *r, uint64_t within, struct buf *out);
void models_put_quoted(const char *path, struct buf *out); /* for a shell; as it is where that is the same */
/* "4 model files, 12.3 GiB; 3 fit in the 3.9 GiB of memory that are free" */
void models_summary(const struct models *m, struct buf *out);
enum { MODELS_COUNT = 16 };
const char *models_count(uint64_t n, char out[MODELS_COUNT]); /* "3.2 B", "135 M"; "" for 0 */
/* What came of a place that has no row, or not all of them: "not there", "12 left out", ... */
enum { MODELS_WORDS = 24 };
const char *models_place_words(const struct models_place *p, char out[MODELS_WORDS]);
const char *models_state_name(enum model_state s); /* "fits", "too_large", ... */

/* JSON Lines: where was looked, then an object a file. */
void models_put_json(const struct models *m, struct buf *out); /* models_json.c */
/* The next of these lines; m is all zeros before the first.  false: there was no first line yet. */
bool models_take_json(struct models *m, const char *line, size_t n); /* models_json.c */
#endif
