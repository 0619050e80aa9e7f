/* faces.h - the ways to use an open engine.  Each returns the program's exit status and has said on stderr what went
 * wrong. */
#ifndef FACES_H
#define FACES_H
#include "app/app.h"
#include "app/session/session.h"

int console_run(struct app *a);       /* console.c: a person types lines at a terminal */
int lines_run(struct app *a);         /* lines.c: each line of stdin is a turn */
int oneshot_run(struct app *a);       /* oneshot.c: -p, with data from stdin */
int dump_tokens_run(struct app *a);   /* dump.c: --dump-tokens */
int dump_logprobs_run(struct app *a); /* dump.c: --dump-logprobs */
int nll_run(struct app *a);           /* nll.c: --nll */
int stress_run(struct app *a);        /* stress_cmd.c: `plimsoll stress`, whose options stress_opts() reads */
void stress_help(struct buf *out);    /* ... and what its --help says */
int forms_run(int argc, char **argv); /* forms.c: `plimsoll forms ...`, argv[0] being "forms"; needs no engine */
int store_run(int argc, char **argv); /* store_cmd.c: `plimsoll store ...`, likewise */
int postmortem_run(int argc, char **argv); /* learn/postmortem_cmd.c: `plimsoll post-mortem ...`, likewise */
int sessions_run(int argc, char **argv); /* sessions_cmd.c: `plimsoll sessions ...`, likewise */
int events_run(int argc, char **argv); /* events_cmd.c: `plimsoll events ...`, likewise */
int replay_run(int argc, char **argv); /* replay_cmd.c: `plimsoll replay ...`, likewise */
int config_run(int argc, char **argv);   /* config_cmd.c: `plimsoll config ...`, likewise */
int models_run(int argc, char **argv);   /* models_cmd.c: `plimsoll models ...`, likewise */
int plan_run(int argc, char **argv);     /* learn/plan_cmd.c: `plimsoll plan ...`, likewise */
int explain_run(int argc, char **argv);  /* learn/explain_cmd.c: `plimsoll explain ...`, likewise */
int doctor_run(int argc, char **argv);   /* doctor.c: `plimsoll doctor ...`, likewise */
int learn_run(int argc, char **argv);    /* learn/learn_cmd.c: `plimsoll learn ...`, likewise */
int watch_run(int argc, char **argv);    /* watch/watch_cmd.c: `plimsoll watch ...`, likewise */
int completion_run(int argc, char **argv); /* completion.c: `plimsoll completion ...`, likewise */
int manual_run(int argc, char **argv);   /* manual.c: `plimsoll manual`, likewise */

/* The command line of `plimsoll stress ...`, argv[1] being "stress": as opts_parse(). */
int stress_opts(struct opts *o, int argc, char *const *argv, struct err *err);

/* The prompt of -p with stdin's data (if stdin is no terminal) after a blank line; without -p the data alone.  An
 * exit status. */
int oneshot_prompt(struct app *a, struct buf *prompt);

/* The messages of one call: the system message, if there is one, and the prompt.  How many. */
enum { ONESHOT_MESSAGES = 2 };
int oneshot_messages(const struct app *a, const struct buf *prompt, struct msg msgs[ONESHOT_MESSAGES]);

/* A text for stdout, and the exit status that this gives. */
int face_print(void (*write_to)(struct buf *));

/* The exit status when nothing more goes to stdout: `status`, or what a stream that failed makes of EXIT_DONE. */
int face_finish(const struct out *out, int status);

/* Say what went wrong in a turn that ended with this status, if anything did. */
void face_complain(struct app *a, int status, const struct err *err);
#endif
