/* template_impl.h - what the template's files share.  No one else includes it.
 *
 *     messages -> [template.c: the families]  -> special ids, runs of text -> vocab_encode_to(), or a counter
 *              -> [template_turns.c: turns of more than one message]      ->
 *              [template_phi.c, template_zephyr.c, template_granite.c,     ->
 *               template_lfm.c]
 *              [template_harmony.c: messages with heads]                   ->
 *              (template_family.c: names, and which family a file asks for) */
#ifndef TEMPLATE_IMPL_H
#define TEMPLATE_IMPL_H
#include "engine/template.h"
#include "engine/vocab_impl.h" /* vocab_encode_to(), counters, and the scratch's place for a run */

struct prompt {
    const struct vocab *v;
    struct vocab_scratch *s;
    struct sink *out;
    struct counter *counter; /* NULL: ids are made; else only counted, and out is its sink */
    struct err *err;
    enum template_kind kind;
    size_t run;             /* bytes of s->run: plain text since the last special id */
    int rc;                 /* the first failure; nothing is written after */
    uint8_t *segment;       /* NULL: not wanted */
    size_t n_segment, used; /* entries; of them written, or wanted where there are too few */
    const struct msg *msg;  /* what is being written; NULL: the opened head, or nothing yet */
    const struct msg *first, *last; /* the messages that share the run, neighbours in a list; msg is one of them */
    size_t part_end;        /* where what is msg's ends in it, if msg is not the last */
    size_t text_at;         /* where msg's text begins in the run */
};

/* What the template writes itself: the token where the vocabulary has it as a special one, else its spelling. */
void prompt_mark(struct prompt *p, const char *mark);
void prompt_put(struct prompt *p, const char *text, size_t n);
void prompt_id(struct prompt *p, int32_t id);
/* A message's text; the same within the marks of a tool's result, where they are text. */
void prompt_text(struct prompt *p, const struct msg *m);
void prompt_response(struct prompt *p, const struct msg *m);
/* No message may write a mark that is plain text.  The models know the marks in this spelling alone, so others may
 * stay; what stands for one is as long, so that no byte of a text changes its place.  The list ends with a NULL; a mark
 * begins with [ or <. */
struct prompt_bent { const char *mark, *other; };
void prompt_unmarked(struct prompt *p, const struct prompt_bent *marks, const char *text, size_t n);
/* What is written from here on is m's.  (Tool messages in one turn may share a run too: they are one segment.) */
void prompt_begin(struct prompt *p, const struct msg *m);
/* The run has these messages from byte `at` on. */
void prompt_share(struct prompt *p, const struct msg *first, const struct msg *last, size_t at);

/* A message in a run that others share, in bytes: what stands before its text, the text, and what stands behind. */
struct part { size_t before, text, after; };

struct msg prompt_stripped(struct msg m);
/* An answer where a blank stands before it: its first, which the model wrote, is that one. */
struct msg prompt_answer(struct msg m);

/* template_turns.c: Llama 2, Mistral v1, Gemma */
bool turns_has(enum template_kind k);
bool turns_joins(enum template_kind k, const struct msg *m, const struct msg *next);
void turns_write(struct prompt *p, const struct msg *msgs, int n, bool open);
struct part turns_part(const struct prompt *p, const struct msg *m);

/* template_phi.c */
void phi_write(struct prompt *p, const struct msg *msgs, int n, bool open);

/* template_zephyr.c: Zephyr, Tulu, OLMo 2, Falcon 3 */
void zephyr_write(struct prompt *p, const struct msg *msgs, int n, bool open);

/* template_granite.c */
bool granite_joins(enum template_kind k, const struct msg *m, const struct msg *next);
void granite_write(struct prompt *p, const struct msg *msgs, int n, bool open);

/* template_lfm.c */
bool lfm_joins(const struct msg *m, const struct msg *next);
void lfm_write(struct prompt *p, const struct msg *msgs, int n, bool open);
struct part lfm_part(const struct prompt *p, const struct msg *m);

/* template_harmony.c.  HARMONY_SYSTEM: bytes of the longest run that is no message's. */
enum { HARMONY_SYSTEM = 320 };
bool harmony_joins(const struct msg *m, const struct msg *next);
void harmony_write(struct prompt *p, const struct msg *msgs, int n, bool open);
struct part harmony_part(const struct prompt *p, const struct msg *m);
#endif
