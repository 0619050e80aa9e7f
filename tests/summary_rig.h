/* summary_rig.h - what the tests of summaries share: a counter of tokens, records from text, sources. */
#ifndef SUMMARY_RIG_H
#define SUMMARY_RIG_H
#include "memory/summary.h"
#include "tests/check.h"

#define NO_MORE_AT_END "Decisions:\nnone\nDone:\nnone\nOpen:\nnone"
#define NO_MORE NO_MORE_AT_END "\n"

static struct err err;

/* A token a word, and one a line. */
static inline int words(void *self, const char *text, size_t len, int64_t *out)
{
    bool in = false;
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        bool blank = text[i] == ' ' || text[i] == '\n';
        *out += (!blank && !in) + (text[i] == '\n');
        in = !blank;
    }
    return self && *(bool *)self;
}
static inline struct summary_limit most(int64_t tokens) { return (struct summary_limit){words, NULL, tokens}; }

static inline struct form_record read_record(const char *text)
{
    struct form_record r;
    if (forms_read_record(text, strlen(text), &r, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    return r;
}

static inline struct summary_source says(const char *text, bool user)
{
    return (struct summary_source){form_text(text), user};
}

#endif
