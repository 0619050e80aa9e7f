/* session.h - a conversation whose context is bounded by construction and whose words are kept: a window (window.h)
 * over texts that the store has (journal.h).
 *
 *     refused or failed                  the conversation is as before; the store has what was said, marked as undone
 *     cancelled before any text          as before: the user's turn is withdrawn
 *     cancelled in the middle            the part that was said stays, as said
 *     ended                              the user's turn and the answer stay, and are saved
 *
 * Before every call of the model the prompt is counted as a whole.  Above the high mark the oldest is summed up first;
 * where that is of no use, it leaves for one line that says where it is.  What happened is an event and a line for the
 * person.  A turn that is too large by itself is refused with the figures; nothing of it is cut.
 *
 * A session is saved when app->keeper is there; it begins to be with its first turn.  Threads: the app's. */
#ifndef SESSION_H
#define SESSION_H
#include "app/session/keep.h"
#include "app/session/prompt.h"
#include "app/session/texts.h"
#include "app/turn.h"
#include "engine/forecast.h"
#include "memory/forms.h"
#include "memory/remember.h"
#include "memory/snapshot.h"
#include "memory/window.h"
#include "tools/clip.h"

enum { FLIGHT_LINES = 36, FLIGHT_LINE = 700 };

/* What an agent has of its own. */
struct session_role {
    const char *name;         /* among several; "": the only one.  It must outlive the session, and so must the tools */
    int agent;                /* its number, for the engine's figures */
    int ctx;                  /* tokens of its context, at most the engine's */
    int answer;               /* tokens of an answer; 0: what the context leaves */
    int rounds;               /* calls of tools in a turn */
    int repeats;              /* times that the same call is made in a turn */
    struct sampling sampling; /* the seed of the first turn in it */
    const char *const *tools; /* of assets/forms/tools.json, beside those of its own memory */
    int n_tools;
    bool unsaved;             /* it is not saved, whatever the program does */
};
struct session_role session_alone(const struct app *a); /* as the program's options say */

struct session {
    struct app *a;
    struct session_role role;
    struct voice voice;          /* of its events */
    struct window *w;
    struct texts texts;
    struct prompt prompt;
    struct keep keep;            /* keep.keeper NULL: not saved; its head holds the figures all the same */
    struct journal_batch batch;  /* of what happened since the last save */
    uint64_t acknowledged;       /* numbers up to here are durable */
    uint64_t system;             /* the number of the system message; 0: none */
    uint64_t tools;              /* the number of the text that tells of tools; 0: none is offered */
    uint64_t note;               /* the number of the task state, as session_tasks() found it; 0: none */
    uint64_t vocabulary;         /* tells tokenizer and template from others */
    struct journal_spans undone; /* what was taken back: from undone_from on all of it, see session_find_undone() */
    uint64_t undone_from;        /* of a session that was resumed where it ended then, until more is asked for */
    struct buf past[JOURNAL_SLOTS]; /* the window after turn t, in slot t mod 16; empty: not known */
    uint32_t past_turn[JOURNAL_SLOTS];
    struct turn_result last;     /* of the last turn that was admitted; its text is empty */
    struct buf answer;           /* of the last turn that stayed, less what was thought; of an agent that was stopped a
                                  * line that says so: its last call is in the journal, and is an answer to nobody */
    struct buf schema;           /* of the calls that may come (--strict-tools) */
    struct request_grammar grammar;
    bool silent;                 /* answers do not go to stdout as they grow */
    bool in_one_piece;           /* but when they have ended: the flow puts them there */
    bool any;                    /* there was one since this session was opened */
    struct session_outcome {     /* of the last session_ask(), whatever came of it */
        enum engine_end end;     /* of the model's last call; END_NONE: it was refused, or not made */
        int64_t prompt;          /* tokens of its first prompt; 0: none could be made */
        int64_t reserved;        /* of the pool, the most that was promised to a call; 0: refused */
        int calls;               /* of tools */
        const char *stopped;     /* NULL; why the agent was stopped: "rounds", "repeats", ... */
    } outcome;
    struct flight { char line[FLIGHT_LINE]; } flight[FLIGHT_LINES]; /* the last figures, for who looks after a crash */
    struct session_pages {       /* KV pages on disk */
        struct snap snap;        /* the store's thread's */
        bool open;
        struct engine_name *name; /* of the pages handed over, from the first of the text on */
        int n, tasks;
        struct ids last;         /* prompt and answer of the last turn */
        bool wanted;             /* before the next call those of its front are brought back */
    } pages;
    struct recall *recall;       /* the store's thread's; NULL: not open yet */
    struct session_indexing {    /* it is brought up to the journal, slice by slice */
        bool busy;               /* a slice is in the store's hands */
        bool told;               /* how far it is was told */
        bool full_told, over_told; /* that the index of all is full; that of this one */
        struct remember_at at;
        struct remember_others others; /* the store's thread's */
    } index;
    bool recalls;                /* what was said long ago is brought in unasked */
    uint64_t calls;              /* of tools, by the model, since this session was opened */
    struct event_carries carried; /* as the last event said */
    struct window_figures planned, weighed; /* session_figures(): by the first, which the window gave, the second */
    struct forecast_agent growth; /* of what a call carries, turn by turn; ctx: where the oldest leaves */
    size_t n_flight;             /* noted so far; the newest is at (n_flight - 1) % FLIGHT_LINES */
    bool unsaved_told;           /* that saving fails was said */
    bool flown;                  /* the figures were saved since it was opened: so will be that it ended */
    struct session_loose {       /* without some of the guards: session_unguarded.c */
        struct trace_kept *traces;
        uint64_t traced;         /* bytes of them */
        struct buf docs;         /* attached files, for every turn */
        size_t before;           /* bytes that stand before the person's own words in the present turn */
    } loose;
    struct farewell {            /* what the store's thread does for it last: session_leave() */
        struct keep_task task;
        struct session *s;
        struct buf flight;       /* empty: it has none, or what was said is not saved */
        bool said, done;
    } farewell;
};

/* A new session.  system: NULL or its text.  An exit status, with err filled if it is not EXIT_DONE. */
int session_new(struct session *s, struct app *a, const char *system, struct err *err);
int session_new_as(struct session *s, struct app *a, const struct session_role *role, const char *system,
                   struct err *err);
/* A saved one, by the beginning of its id or "last".  system: NULL (as it was), or another. */
int session_resume(struct session *s, struct app *a, const char *name, const char *system, struct err *err);
int session_resume_as(struct session *s, struct app *a, const struct session_role *role, const char *name,
                      const char *system, struct err *err);
/* Waits for what is being saved.  Returns how many turns could not be. */
int session_close(struct session *s);
/* What closing waits for, without waiting: true: session_close() will not.  Nothing else is asked of it any more. */
bool session_leave(struct session *s);

/* A user's turn and its answer.  An exit status: EXIT_DONE also if it was cut at its length; else err says why, except
 * for a cancelled turn (128 + the signal's number). */
int session_ask(struct session *s, const char *text, size_t n, struct err *err);

void session_poll(struct session *s);   /* tells what has been saved since */
void session_settle(struct session *s); /* waits for it */
bool session_begun(const struct session *s); /* something of it is in the store, or on its way there */

int session_system(struct session *s, const char *text, size_t n, struct err *err); /* n = 0: takes it away; saved */
/* The text, or NULL: there is none. */
const struct text_entry *session_system_text(struct session *s);

/* Sums the oldest up now.  -1: err says why not.  It is saved with the next turn, or by session_save(). */
int session_compact(struct session *s, struct err *err);
const char *session_no_summaries(const struct session *s); /* why it sums up nothing, in words; NULL: it does */
/* Its KV pages leave the pool, but those of the system message; *tokens: how many they were; *kept: how many of these
 * are on disk, from which its next turn brings them back; the others that reads again.  Waits for the store.  -1: there
 * are none, or err says what else. */
int session_park(struct session *s, int64_t *tokens, int64_t *kept, struct err *err);
/* The next call as it would be if the person said no more: what the model gets, rendered by its template and escaped
 * (tools/escape.h); special tokens as \{<|im_end|>}; a line ends behind each \n, and where it would be too long.
 * Nothing changes.  0, and out->text is for buf_free() in any case; -1: err. */
struct session_view {
    struct buf text;
    int64_t tokens, answer; /* of the prompt; set aside for what is written, thinking too */
    bool due;               /* before that call the oldest would be summed up */
};
int session_view(struct session *s, struct session_view *out, struct err *err);
/* What that call weighs, part by part: window_figures() with its tokens, and what opens the answer, in place of sums
 * that plan.  The plan's where the oldest are to be summed up first, for the mark is measured by it; and where there is
 * no call that could be made now. */
void session_figures(struct session *s, struct window_figures *out);
/* From the next call on an answer may have so many tokens (1 or more).  -1: err, and it is as before. */
int session_limit_answer(struct session *s, int tokens, struct err *err);
/* Of role.tools the first n are left, and what the model is told of them is said anew.  -1: err. */
int session_set_tools(struct session *s, int n, struct err *err);

/* The window as it is after this turn is kept for going back, and everything is handed to the store. */
int session_save(struct session *s, struct err *err);
/* The last turn is taken back, and what was pinned or set since: the window is again as it was after the turn before.
 * With the first one goes the title that it gave.
 * *text (NULL: not wanted) is what the user had said in it.  -1: err says why not. */
int session_undo(struct session *s, struct buf *text, struct err *err);
/* Where the conversation stands before something that may come to nothing.  All zero: nowhere. */
struct session_place {
    uint8_t session[STORE_SESSION_ID];
    char title[JOURNAL_TITLE + 1];
    uint32_t turns;
    uint64_t user, next;         /* numbers: what the person said last; the first that was free */
    struct buf window;
    struct journal_spans undone;
    uint64_t undone_from;
};
/* 0, and out is for session_place_free(); -1: err. */
int session_hold(struct session *s, struct session_place *out, struct err *err);
/* There again: what was said since, and what was taken back since, is marked as taken back itself.  Saved.  -1: err,
 * and all stays as it is. */
int session_return(struct session *s, const struct session_place *to, struct err *err);
void session_place_free(struct session_place *p);
/* The number of what the person said in the last turn, where the context has it; 0: there is none. */
uint64_t session_last_user(struct session *s);
/* The last compaction is taken back: what it summed up is in the context again. */
int session_undo_summary(struct session *s, struct err *err);
int session_pin(struct session *s, const char *text, size_t n, uint64_t *id, struct err *err);
int session_unpin(struct session *s, uint64_t id, struct err *err);
/* From the next call on this message (a call of a tool: with its results) stands as a line that names it.  Saved;
 * undone with the last turn. */
int session_drop(struct session *s, uint64_t id, struct err *err);

/* Tasks: what is open and what is done, in every call and every summary as it is said here. */
int session_task(struct session *s, const char *text, size_t n, struct err *err);
int session_task_done(struct session *s, size_t number, struct err *err); /* of the open ones, from 1 */
/* *any: there are some, and out is for forms_record_free() (its open and done sections count).  -1: damaged. */
int session_tasks(struct session *s, struct form_record *out, bool *any);

/* Goes on in a copy of this session as it was after `turn`; this one stays as it is, saved.  -1: err says why not; if
 * then s->w is NULL, neither could be opened and the session is over. */
int session_fork(struct session *s, uint32_t turn, struct err *err);
int session_rename(struct session *s, const char *title, size_t n, struct err *err);

/* What a tool gave, of any size and any bytes: it enters with its call, clipped to what a call of the model can carry;
 * if anything was left out the whole is an artifact.  bytes is emptied.  Saved with the next turn, or by
 * session_save(). */
struct session_tool {
    const char *by, *name, *arguments; /* of the event; a tool of forms.h; a JSON object */
    enum clip_kind kind;
};
int session_result(struct session *s, const struct session_tool *t, struct buf *bytes, struct err *err);

/* What another agent said, for the message that comes next: clipped to so many tokens; if anything was left out, the
 * whole is an artifact of this session, whose number goes to *artifact (else 0). */
int session_hand_over(struct session *s, const char *text, size_t n, size_t tokens, struct buf *out,
                      uint64_t *artifact, struct err *err);
/* What this one would itself hand over to `to` of all that was said, about so many tokens of it: the model is asked in
 * the form for that (memory/forms.h), aside: nothing of it stays.  -1: it said no record, or not to its end; err. */
int session_record(struct session *s, const char *to, size_t tokens, struct buf *out, struct err *err);
/* Data from a pipe, behind what out has for the message that comes next: all of it, or as much as a call can carry and
 * a notice that says so and names the artifact with the whole (or, where nothing is saved, that it is not kept). */
int session_put_data(struct session *s, const char *data, size_t n, struct buf *out, struct err *err);
size_t session_room(struct session *s); /* tokens that a result may have */
size_t session_tokens(struct session *s, const char *text, size_t n); /* as a message; SIZE_MAX: not known */

/* A file into the conversation, as the result of reading it: clipped to what a call can carry, the whole an artifact.
 * -1: err says why not, and nothing has changed. */
int session_attach_file(struct session *s, const char *path, struct err *err);
/* A part of an artifact, at most what a result may have. */
int session_read_artifact(struct session *s, uint64_t id, const struct clip_request *ask, struct buf *out,
                          struct clip_figures *f, struct err *err);
bool session_artifact_name(const char *name, size_t n, uint64_t *id); /* "a3" */

/* A file for the recall index, kept whole as an artifact; nothing of it enters the conversation until it is found. */
int session_ingest(struct session *s, const char *path, struct err *err);
/* Where a screen is, the index is made beside all else: the next slice, if one is due.  True: there are more. */
bool session_index_on(struct session *s);
/* What is read into the index at this moment does not go in, and what of it is in leaves.  false: nothing is. */
bool session_index_stop(struct session *s);

struct session_question {
    const char *text;
    size_t n;
    int k;           /* quotations */
    bool everywhere; /* in all sessions; some of what is not in the index yet goes in first */
    bool (*wanted)(void *self, const struct recall_doc *doc); /* NULL: all; called while the caller waits */
    void *self;
};
/* out is for remember_free(), also after an error. */
int session_recall(struct session *s, const struct session_question *q, struct remember_found *out, struct err *err);

/* Any message by its number, in the context or not.  NULL: err says why. */
const struct text_entry *session_text(struct session *s, uint64_t number, struct err *err);

/* What the summary in force says (NULL: none), and what has changed since the one before, appended to diff. */
const struct text_entry *session_summary(struct session *s, struct buf *diff, struct err *err);
#endif
