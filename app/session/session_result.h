/* session_result.h - what a tool gave, on its way into a conversation: shared by the files that make results.
 *
 * Threads: the app's calls these functions.  A text of more than RESULT_BIG bytes is clipped and counted by the
 * keeper's thread, part by part, while the turn gives way (app_pause()); so agents beside it go on, and its bar is
 * drawn here.  A session that is not saved has no keeper: it does the parts itself and gives way before each.  At once
 * and here: what is handed over, which an answer's length bounds, and counts of what is shown. */
#ifndef SESSION_RESULT_H
#define SESSION_RESULT_H
#include "app/session/session_impl.h"
#include <jansson.h>

/* Bytes.  To count the tokens of 1 MiB took 70 ms when it was measured, and to look for the errors of as much of a log
 * 75 ms: with a quarter of it others may hold still, as they do in a pass of a model; and what others have for the
 * store waits for one part at most. */
enum { RESULT_BIG = 256 << 10, RESULT_PART = 1 << 20 };

struct result {
    const char *by, *name;
    struct buf text;      /* what the model sees */
    uint64_t artifact;    /* 0: all of it is in text */
    uint64_t bytes;
    uint64_t left_out;    /* bytes of it that the model does not see; without an artifact they are not kept */
    bool failed;
    bool quote;           /* words that the store has already */
    char names[120];      /* of recall: whose words, "m3, m4"; else empty */
};

/* Its text is an error's. */
void result_fail(struct result *r, const struct err *err);
/* Clips the whole, which becomes an artifact if anything is left out and the session is saved; else the model is told
 * that the rest is not kept.  bytes is emptied. */
int result_clip(struct session *s, struct buf *bytes, enum clip_kind kind, struct result *r, struct err *err);
/* The event, and the line for a person. */
void result_tell(struct session *s, const struct result *r, const char *arguments);
/* A call and its result enter together; ours: as the model would have written it.  The first `thought` bytes of call
 * are what was thought before it, which is a text of its own; it is told with the call while the turn goes on, where it
 * is no longer than a result may be. */
int result_append(struct session *s, struct form_text call, size_t thought, const struct result *r, struct err *err);
int result_append_ours(struct session *s, const char *arguments, const struct result *r, struct err *err);

/* What tokens are counted with, by value. */
struct result_scale {
    const struct engine_ops *ops;
    struct engine *engine; /* it must outlive the count */
    enum form_calls calls; /* results may stand in a form of the model's own */
    bool aside;            /* it is another thread that counts */
    bool no_memory;        /* of a count, which said SIZE_MAX then */
};
struct result_scale result_scale(struct session *s); /* for the app's thread */
size_t result_weigh(struct result_scale *sc, const char *text, size_t n); /* as session_tokens() */
int64_t result_about(const struct clip_counter *by, const char *text, size_t len); /* as result_tokens_about() */

/* session_clip.c */
struct result_clipping {
    const char *text; /* left as it is until this returns */
    size_t n, tokens; /* it may have so many in the end */
    enum clip_kind kind;
    bool may_stop;    /* what cancels the session's work ends it: -1, and nothing stays */
};
/* As clip_whole() with session_tokens(), and *total of what is not shown whole as of result_tokens_about(). */
int result_clip_big(struct session *s, const struct result_clipping *what, struct buf *shown, struct clip_figures *f,
                    int64_t *total, struct err *err);
/* fn(arg) on the keeper's thread, while the turn waits as for a job; it has returned when this does.  stop (NULL:
 * nothing stops it): true as soon as the session's work is cancelled, and what has not begun is not called then.
 * Called here, after others went on once: where nothing is saved, or the store has no room or does not answer. */
void session_aside(struct session *s, void (*fn)(void *arg), void *arg, atomic_bool *stop);

size_t result_count(void *session, const char *text, size_t n); /* for struct clip_counter */
int64_t result_tokens_about(struct session *s, const struct buf *b); /* of a large text two figures are exact */

/* session_memory.c: the tools that a conversation's own memory is read with. */
int session_tool_artifact(struct session *s, const json_t *args, struct result *r, struct err *err);
int session_tool_recall(struct session *s, const json_t *args, struct result *r, struct err *err);
#endif
