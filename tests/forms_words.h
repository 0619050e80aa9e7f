/* forms_words.h - the few words that the tests of forms share: texts and lists as values, what was written, what was
 * said of it. */
#ifndef FORMS_WORDS_H
#define FORMS_WORDS_H
#include "memory/forms.h"
#include "tests/check.h"

#define T(s) ((struct form_text){"" s, sizeof(s) - 1})
#define LIST(...)                                                                         \
    ((struct form_list){(const struct form_text[]){__VA_ARGS__},                          \
                        sizeof((const struct form_text[]){__VA_ARGS__}) / sizeof(struct form_text)})
#define EMPTY ((struct form_list){0})

#define CALL(json) "<tool_call>" json "</tool_call>"

static struct buf out;
static struct err err;

/* An empty buffer to write to; the one before is gone. */
static inline struct buf *fresh(void)
{
    buf_free(&out);
    err = (struct err){0};
    return &out;
}

static inline void check_out(const char *text)
{
    CHECK(!out.failed);
    CHECK_STR(out.data ? out.data : "", text);
    CHECK_EQ(out.len, strlen(text));
    buf_free(&out);
}

static inline void check_text(struct form_text t, const char *text)
{
    CHECK_EQ(t.len, strlen(text));
    CHECK_MEM(t.text, text, t.len);
}

static inline void check_err(const char *part)
{
    if (!strstr(err.text, part)) CHECK_STR(err.text, part);
    CHECK(!strpbrk(err.text, "\n\r\033"));
}
#endif
