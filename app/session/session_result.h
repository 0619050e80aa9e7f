/* session_result.h - what a tool gave, on its way into a conversation: shared by the files that make results. */
#ifndef SESSION_RESULT_H
#define SESSION_RESULT_H
#include "app/session/session_impl.h"
#include <jansson.h>

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
/* A call and its result enter together; ours: as the model would have written it. */
int result_append(struct session *s, const char *call, size_t n_call, const struct result *r, struct err *err);
int result_append_ours(struct session *s, const char *arguments, const struct result *r, struct err *err);

size_t result_count(void *session, const char *text, size_t n); /* for struct clip_counter */
int64_t result_tokens_about(struct session *s, const struct buf *b); /* of a large text two figures are exact */

/* session_memory.c: the tools that a conversation's own memory is read with. */
int session_tool_artifact(struct session *s, const json_t *args, struct result *r, struct err *err);
int session_tool_recall(struct session *s, const json_t *args, struct result *r, struct err *err);
#endif
