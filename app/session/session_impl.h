/* session_impl.h - what the files of session share. */
#ifndef SESSION_IMPL_H
#define SESSION_IMPL_H
#include "app/session/session.h"

int64_t session_now_ms(void);
struct event session_opened(const struct app *a, const struct session_role *r); /* the first event of a journal */
/* The next number, for a message of this kind whose text is remembered and goes into the batch.  0: no memory. */
uint64_t session_note(struct session *s, const struct journal_message *m, struct err *err);
void session_mark(struct session *s, enum journal_mark mark, uint64_t first, uint64_t last);
void session_remember(struct session *s); /* the window after head.turns turns, for undo */
void session_tell(struct session *s);     /* the window's events, to the streams and the person */
void session_tell_refused(struct session *s); /* of a call that is not made: those alone that are true without it */
enum { SESSION_TITLE = 60 }; /* characters of the one that a first turn gives */
void session_title(const char *text, size_t n, int most, char out[JOURNAL_TITLE + 1]);
int session_count(void *self, const struct window_item *items, size_t n, int64_t *out); /* for struct window_count */
int session_window(struct session *s, struct err *err); /* an empty one; an exit status */
/* Another one under the limits that the session has now, with what its own has.  An exit status; *out NULL: none. */
int session_second_window(struct session *s, struct window **out, struct err *err);
void session_attach(struct session *s); /* it is the one that events go to */
/* A text of the front, its number in *id. */
int session_add_front(struct session *s, enum window_part part, enum journal_kind kind, const char *text, size_t n,
                      uint64_t *id, struct err *err);
void session_find_front(struct session *s); /* s->system and s->tools, as the window has them */
/* Whether the texts of the window can all be had; those of a session that is not saved may be gone. */
bool session_has_texts(struct session *s);
/* The conversation as it was, with what was said meanwhile in the store alone, marked. */
void session_withdraw(struct session *s, struct buf *before, uint64_t first);

/* session_compact.c */
/* s->undone has what was taken back from this number on.  0; else err says why that is not known. */
int session_find_undone(struct session *s, uint64_t from, struct err *err);
/* What a person, a model or a tool said: no quotation. */
bool session_is_said(struct session *s, uint64_t id, enum journal_kind kind);
/* session_tools.c */
/* The question and what was found, as a call of recall that plimsoll made. */
int session_recalled(struct session *s, const char *query, size_t n, const struct remember_found *found,
                     struct err *err);
bool session_offers_tools(const struct session *s);
int session_offer_tools(struct session *s, struct err *err); /* from the next call on */
/* After the window came from elsewhere: it tells of the tools that there are now, and of no others. */
int session_retell_tools(struct session *s, struct err *err);
const struct request_grammar *session_grammar(struct session *s); /* of its calls; NULL: they are free */
/* Those that the answer is, behind what was thought: false, there are none; else for forms_calls_free(). */
bool session_read_calls(const struct session *s, const struct buf *answer, struct form_calls_said *calls);
/* Number i of them is made: it and its result enter, as if it had been said alone; with what was thought and said
 * before it and behind the one before.  got: what the model sees of it. */
int session_make_call(struct session *s, const struct buf *answer, const struct form_calls_said *calls, size_t i,
                      struct buf *got, bool *failed, struct err *err);
/* What the answer says from number i on, i above 0, in place of the answer. */
void session_leave_calls(struct buf *answer, const struct form_calls_said *calls, size_t i);
/* session_unguarded.c: without some of the guards (app/guards.h); with all of them these do nothing. */
/* The messages in s->prompt become those that are sent; *tokens, as they were counted, is counted again. */
int session_shape(struct session *s, int64_t answer, int64_t *tokens, struct err *err);
int session_keep_document(struct session *s, const struct session_tool *t, const char *path, struct buf *bytes,
                          struct err *err);
int session_keep_trace(struct session *s, const char *text, size_t n, struct err *err);
uint64_t session_host_bytes(const struct session *s); /* texts, documents and traces */
int session_check_host(struct session *s, struct err *err); /* -1: they are more than --keep-unsaved; err */
/* Before a call with s->prompt: traces are kept, what is off is told.  -1: more is kept than may be. */
int session_check_loose(struct session *s, struct err *err);
void session_forget_loose(struct session *s);
/* session_quotes.c */
/* Of what was found those stay that say more than the question does, and of those that say the same, but for a label
 * ("Noted: ..."), one: the person's own, or else the better. */
void session_choose_quotes(struct session *s, const char *question, size_t n, struct remember_found *f);
/* "user" or "assistant" if it is all of what one of them said in this session; else NULL. */
const char *session_quote_speaker(struct session *s, const struct remember_quote *q);
/* session_recall.c */
void session_index(struct session *s);       /* in the background, what is new in the journal */
void session_close_index(struct session *s); /* on the store's thread */
bool session_has_left(const struct session *s); /* something is only in the store */
/* What was said long ago and belongs to this question enters behind it, if there is such a thing.  0, or -1. */
int session_recall_unasked(struct session *s, const char *text, size_t n, struct err *err);
/* session_scan.c */
/* The lines of the summary in force that belong to the question and, of a session that is not saved, messages that are
 * in memory.  0, or -1; out is for remember_free(). */
int session_scan(struct session *s, const struct session_question *q, bool messages, struct remember_found *out,
                 struct err *err);
bool session_has_line(struct session *s, const char *text, size_t n); /* the context says this, not only its summary */
/* session_pages.c */
bool session_keeps_pages(const struct session *s);
void session_keep_pages(struct session *s, const struct ids *ids); /* of the turn: prompt and answer */
void session_last_ids(struct session *s, struct ids *ids); /* the same; they are the session's then, {0} here */
void session_bring_pages(struct session *s); /* before a call whose messages are in s->prompt */
void session_close_snap(struct session *s);
bool session_saves(const struct session *s);
bool session_cancelled(const struct session *s);
#endif
