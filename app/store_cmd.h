/* store_cmd.h - what the verbs of `plimsoll store` share. */
#ifndef STORE_CMD_H
#define STORE_CMD_H
#include "app/app.h"
#include "app/progress.h"
#include "memory/store.h"

struct store_args {
    const char *dir;     /* the store's folder */
    const char *to;      /* salvage: the new one's */
    const char *session; /* dump: how the session's id begins, in hex; NULL: every record */
    bool json, artifacts, cache, help;
};

/* Each returns the program's exit status and has said what went wrong. */
int store_stat_run(const struct store_args *a);    /* store_show.c */
int store_dump_run(const struct store_args *a);    /* store_dump.c */
int store_check_run(const struct store_args *a);   /* store_mend.c */
int store_salvage_run(const struct store_args *a); /* store_mend.c */
int store_compact_run(const struct store_args *a); /* store_mend.c */

/* EXIT_DONE: there is a store; else the exit status, and it was said why. */
int store_cmd_exists(const char *dir);

/* Opens what is there and makes nothing.  EXIT_DONE, or the exit status and it was said why. */
int store_cmd_open(struct store **out, const char *dir, bool read_only);

/* While a store is opened that was not closed well: what is looked through, and how far it is.  Before signals_open(),
 * so that Ctrl-C ends it. */
struct store_watch {
    struct progress bar;
    int part; /* that the bar is of; -1: none yet */
    const char *const *what; /* (STORE_PARTS) that it says */
};
void store_watch_begin(struct store_watch *w, struct store_options *o);
/* The same of a check or a salvage; only on a terminal. */
void store_watch_report(struct store_watch *w, bool salvage, struct store_report *report);
void store_watch_end(struct store_watch *w);

/* Says what went wrong with the folder (an error of the store's), and who is in the way if somebody is; its exit
 * status.  The store is not open any more. */
int store_cmd_error(const char *dir, int error, const struct err *err);

/* The store's folder when no flag names it: the variable's, the configuration file's, or the user's data folder.  0, or
 * an error of the store's and err: STORE_FOREIGN when a variable or the file is wrong. */
int store_cmd_folder(struct buf *out, struct err *err);

/* A text for stdout; it is freed.  The exit status. */
int store_cmd_print(struct buf *text);

struct store_hex {
    char text[2 * STORE_KEY_MAX + 1];
};
struct store_hex store_cmd_hex(const uint8_t *bytes, size_t n); /* of the first STORE_KEY_MAX bytes */
struct store_size {
    char text[16];
};
struct store_size store_cmd_size(uint64_t bytes); /* "1.5 MiB" */
#endif
