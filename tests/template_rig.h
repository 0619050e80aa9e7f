/* template_rig.h - vocabularies that are made up, and what a template makes of messages with them. */
#ifndef TEMPLATE_RIG_H
#define TEMPLATE_RIG_H
#include "engine/template.h"
#include "tests/vocab_make.h"

struct gguf *tpl_file(struct vocab_make *m);
struct vocab *tpl_vocab(struct gguf *g);
struct vocab *tpl_made(struct vocab_make *m);

/* template_detect() of a file with this vocabulary and chat template.  *k stays TEMPLATE_KINDS where it fails. */
int tpl_detected(struct vocab_make *m, const char *chat, enum template_kind *k, struct err *err);

uint32_t tpl_draw(uint32_t *state, uint32_t n); /* one of 0 to n - 1; a state says what is drawn from it, again and again */
/* Fewer than `most` of these parts, into out, which had another text; of none there may be no bytes at all. */
void tpl_drawn(uint32_t *state, const char *const *part, size_t parts, uint32_t most, struct buf *out);
/* A conversation of 1 to `most` messages of such texts, of any role, some with a summary: how many. */
int tpl_talk(uint32_t *state, const char *const *part, size_t parts, struct buf *text, struct msg *msgs, int most);

struct msg tpl_say(enum role role, const char *text);
struct msg tpl_summed(const char *text, size_t summary); /* a system message with so many bytes of summary at its end */

struct ids tpl_render(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open);
const char *tpl_spelled(const struct vocab *v, const struct ids *ids); /* control tokens too; until the next call */
int tpl_count(const struct ids *ids, int32_t id);

/* The prompt of msgs is `text`, and its ids are the ones that text has when it is encoded whole with special tokens. */
void tpl_check(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open, const char *text);

/* Talks whose last answer is begun have the prompt of those where it is over, but for `end`; open or not. */
void tpl_begun(enum template_kind k, const struct vocab *v, const char *end);

/* template_count() of msgs, in a scratch that most turns are longer than: exact (then *exact is one more), or a bound. */
void tpl_counted(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, int *exact);

/* A message of any role that says `pasted` has no more tokens from id `first` on than one that says "x". */
void tpl_pasted(enum template_kind k, const struct vocab *v, int32_t first, const char *pasted);

/* The segments of the prompt of msgs, a letter for each token: S system, U summary, H history, T tool. */
const char *tpl_segments(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open);
#endif
