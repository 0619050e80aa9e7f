/* lesson.h - a lesson: a file in sections that says what is run twice, broken and fixed, and what is to be learned.
 *
 *     plimsoll lesson 1
 *     name: static-batch                 letters, digits and '-'; what `plimsoll learn NAME` plays
 *     title: Reserved in full            for a person
 *     covers: E2 A5                      ids of facts, for the list of what is taught
 *     cause: static-batch                cause_name() of verdict.h: what the broken run is judged to be
 *     run: stress --agents 8 --turns 2   what is run; without this line a session whose stdin is the script
 *     flags: --ctx 512 --vram 40M        flags of both runs
 *     broken: --naive reserve            flags of the broken run alone
 *     fixed:                             flags of the fixed run alone
 *     fails: turn 1 oom                  how the broken run must end (enum run_end), and in which turn; or only `oom`
 *     kill: turn 5                       the broken run is killed (SIGKILL) when that turn begins, and the fixed one
 *                                        goes on with what is saved: in a store of the lesson's own
 *
 *     == see                             what you will see
 *     == ask tokens                      a question; turns|bytes|tokens|percent|requests|choice.  Then its text, and
 *     answer: broken.oom.wanted          a sum of figures.h; or, of a choice, its letter
 *     within: 10%                        what still is right, in percent or in the unit; without it: exactly that
 *     a) ...                             the choices, to f
 *     why: ...                           said with the grade; figures in braces
 *     == script                          stdin of both runs; "== script broken" and "== script fixed" where they differ
 *     == file notes.txt x200             a file in the folder of the runs, this text so often: for /attach, /ingest
 *     == verdict                         what happened, with {figures} of the broken run
 *     == compare                         what the fix changed, with {figures} of both
 *     == frameworks                      what is to be said of frameworks beside remedy.h
 *     == seed                            what the advice that this lesson is about got wrong
 *     == expect                          a line each: SUM OP SUM; OP is = != < <= > >=
 *     broken.end = oom
 *
 * A question stands before the runs and is graded behind them.  A section begins with "== " and ends where the next
 * begins, so no line of a script may begin so; blank lines around a text are left out.
 *
 * A lesson is not trusted: it runs this program with flags.  Those it may give are listed in lesson_flags.c, each with
 * the values that it may have; no other is taken, from whoever the file is: none that names a file, a folder, a model,
 * a store or a configuration, none that lets a tool write or run.  Of tools it may turn on those that only reckon, and
 * those that read in the folder of its own files.  Its script may have turns and a list of commands (lesson_flags.c),
 * and name no file but its own.  Sizes are limited: --vram 1G, 64 agents, 1000 turns.
 *
 * A lesson of the program lies in assets/lessons/NN-NAME.lesson; the Makefile finds it there, NN is its number (L11).
 *
 * Errors are one line with the line's number.  Owner: a lesson owns its strings until lesson_free().  Threads: any. */
#ifndef LESSON_H
#define LESSON_H
#include "app/learn/figures.h"
#include "app/learn/verdict.h"

enum { LESSON_FILE = 64 << 10, LESSON_WORDS = 64, LESSON_ASKS = 8, LESSON_CHOICES = 6, LESSON_EXPECTS = 24,
       LESSON_FILES = 4, LESSON_FILE_MOST = 16 << 20, LESSON_NAME = 40 };

struct lesson_words { /* of a command line */
    const char *word[LESSON_WORDS];
    int n;
};

struct lesson_ask {
    const char *text, *why; /* why: "" if nothing */
    const char *unit;       /* as it stands behind "ask" */
    bool is_choice;
    struct figure_sum answer; /* of a number */
    char letter;              /* of a choice, from 'a' on */
    double within;            /* in the unit, or a share of the answer */
    bool within_share;
    const char *choice[LESSON_CHOICES];
    int choices;
};

struct lesson_file {
    const char *name, *text;
    int times;
};

struct lesson_expect {
    const char *text; /* the line */
    struct figure_sum left, right;
    char op[3];
};

struct lesson {
    char *mem; /* owner of the strings */
    const char *name, *title, *covers;
    enum cause cause;
    struct lesson_words run, flags, own[RUNS]; /* run.n 0: a session */
    enum run_end fails;
    int fails_turn, kill_turn; /* 0: not said */
    const char *see, *script[RUNS], *verdict, *compare, *frameworks, *seed; /* "" if there is none */
    struct lesson_ask ask[LESSON_ASKS];
    struct lesson_file file[LESSON_FILES];
    struct lesson_expect expect[LESSON_EXPECTS];
    int asks, files, expects;
};

/* n bytes of a file called `file` in messages.  0, or -1 with *out empty. */
int lesson_read(const char *text, size_t n, const char *file, struct lesson *out, struct err *err);
void lesson_free(struct lesson *l);

/* A file of somebody's; whoever calls has asked whether it is trusted. */
int lesson_load(const char *path, struct lesson *out, struct err *err);

/* Those that are part of the program, in their order. */
int lesson_count(void);
const char *lesson_text(int i, size_t *n);
int lesson_builtin(int i, struct lesson *out, struct err *err); /* -1: no memory; the tests know that they are right */
int lesson_number(int i);          /* 11 of L11 */
int lesson_find(const char *name); /* static-batch, L11 or 11; -1: there is none */

/* ---------------------------------------------------------------- lesson_flags.c */

/* May a lesson's child be given these?  0, or -1. */
int lesson_check_words(const struct lesson_words *w, bool is_run, struct err *err);
int lesson_check_script(const struct lesson *l, const char *script, struct err *err);
void lesson_allowed(struct buf *out); /* the list, for a person */
#endif
