/* forms_impl.h - what the files of forms share among themselves. */
#ifndef FORMS_IMPL_H
#define FORMS_IMPL_H
#include "memory/forms.h"
#include <jansson.h>

/* The next place {name} in s at or after `at`: true, *name is in s, and *from and *to are where its braces begin and
 * end. */
bool form_next_place(struct form_text s, size_t at, struct form_text *name, size_t *from, size_t *to);

/* A form that the tests know to have these places. */
void form_put(enum form f, const struct form_value *values, int n, struct buf *out);

void form_flat(struct form_text t, struct buf *out);        /* for one line: see forms.h */
void form_json_string(struct form_text t, struct buf *out); /* with its quotes; t is UTF-8 */
void form_json_compact(const json_t *v, struct buf *out);
void form_json_spaced(const char *json, struct buf *out); /* forms_mistral.c: a call's, with blanks behind : and , */
void form_json_spaced_value(const json_t *v, struct buf *out); /* the same of any value */
void forms_call_json(const char *name, const json_t *arguments, struct buf *out);
int forms_check_json(const char *name, const json_t *arguments, struct err *err); /* as forms_check_call() */

/* forms_read.c: {"name":..., KEY:{...}} and nothing else.  0, FORMS_BAD or FORMS_NO_MEMORY. */
int form_take_call(json_t *root, const char *key, struct form_call *out, struct err *err);
void form_call_marks(struct form_text *open, struct form_text *close); /* what surrounds the JSON of a call */
/* forms_mistral.c */
bool form_begins_mistral(struct form_text t);
int form_read_mistral(struct form_text t, struct form_call *out, struct err *err); /* 0, FORMS_OTHER, or no memory */
/* forms_calls.c: the call is the list's, also after an error (and is empty). */
int form_calls_add(struct form_calls_said *l, struct form_call *call, size_t from, size_t end, struct err *err);
/* Appended to l: of a list of Mistral's the first, and of the others those that are calls; of tags, behind anything,
 * those in a row.  0, FORMS_OTHER (l is as it was) or no memory. */
int form_list_mistral(struct form_text t, struct form_calls_said *l, struct err *err);
int form_list_tags(struct form_text t, struct form_calls_said *l, struct err *err);

/* forms_python.c: whether it may be in a tool's name, or an argument's: letters of any script, digits, and what names
 * of tools may have. */
bool form_is_name(char c);
/* forms_python_list.c: whether a call as Python writes it comes first, before one in our form or in tags; the calls of
 * all lists, and the first.  0, or enum forms_error. */
bool form_begins_python(struct form_text t);
int form_list_python(struct form_text t, struct form_calls_said *l, struct err *err);
int form_read_python(struct form_text t, struct form_call *out, struct err *err);

/* forms_tags.c: a call in tags behind anything.  any: only in tags; else it may be in ours, with nothing behind it.  0,
 * or enum forms_error; FORMS_OTHER also where any and what comes first is no tag. */
int form_find_tags(const char *text, size_t len, bool any, struct form_call *out, struct err *err);

/* Outside text for an error message: one short line of it. */
struct form_quote { char s[84]; };
struct form_quote form_quote(const char *s);

static inline struct form_text form_text_of(const struct buf *b)
{
    return (struct form_text){b->data ? b->data : "", b->len};
}

/* What readers of calls do with the text that is left: in outside text, and so by length. */
static inline bool form_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static inline struct form_text form_from(struct form_text t, size_t n)
{
    return (struct form_text){t.text + n, t.len - n};
}

static inline struct form_text form_behind_blanks(struct form_text t)
{
    while (t.len > 0 && form_is_blank(*t.text)) t = form_from(t, 1);
    return t;
}

/* Without blanks at both ends. */
static inline struct form_text form_trim(struct form_text t)
{
    t = form_behind_blanks(t);
    while (t.len > 0 && form_is_blank(t.text[t.len - 1])) t.len--;
    return t;
}

static inline bool form_begins(struct form_text t, const char *word)
{
    const size_t n = strlen(word);
    return t.len >= n && memcmp(t.text, word, n) == 0;
}

/* Past blanks and this word. */
static inline bool form_skip(struct form_text *t, const char *word)
{
    const struct form_text at = form_behind_blanks(*t);
    if (!form_begins(at, word)) return false;
    *t = form_from(at, strlen(word));
    return true;
}
#endif
