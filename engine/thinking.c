/* thinking.c - see thinking.h. */
#include "engine/thinking.h"

static const char open_tag[] = "<think>", close_tag[] = "</think>";
enum { OPEN = sizeof open_tag - 1, CLOSE = sizeof close_tag - 1 };

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static void pass_blanks(struct thinking *t, const char *text, size_t n)
{
    while (t->at < n && blank(text[t->at])) t->at++;
}

static void look_for_open(struct thinking *t, const char *text, size_t n)
{
    pass_blanks(t, text, n);
    size_t have = MIN(n - t->at, (size_t)OPEN);
    if (memcmp(text + t->at, open_tag, have) != 0) t->part = THINKING_NONE;
    if (have < OPEN || t->part == THINKING_NONE) return;
    t->part = THINKING_INSIDE;
    t->at += OPEN;
}

static void look_for_close(struct thinking *t, const char *text, size_t n)
{
    const char *end = memmem(text + t->at, n - t->at, close_tag, CLOSE);
    if (end) t->part = THINKING_BEHIND;
    if (end) t->at = (size_t)(end - text) + CLOSE;
    else if (n - t->at >= CLOSE) t->at = n - CLOSE + 1; /* the tag may be half there */
}

size_t thinking_follow(struct thinking *t, const char *text, size_t n)
{
    if (t->part == THINKING_BEFORE) look_for_open(t, text, n);
    if (t->part == THINKING_INSIDE) look_for_close(t, text, n);
    if (t->part == THINKING_BEHIND) pass_blanks(t, text, n);
    return t->part == THINKING_BEHIND ? t->at : t->part == THINKING_INSIDE ? n : 0;
}

size_t thinking_end(const char *text, size_t n)
{
    struct thinking fresh = {0};
    return thinking_follow(&fresh, text, n);
}

size_t thinking_inner(const char *text, size_t n, size_t *at)
{
    *at = 0;
    while (n > 0 && blank(text[n - 1])) n--;
    while (*at < n && blank(text[*at])) ++*at;
    if (n - *at >= OPEN && memcmp(text + *at, open_tag, OPEN) == 0) *at += OPEN;
    if (n - *at >= CLOSE && memcmp(text + n - CLOSE, close_tag, CLOSE) == 0) n -= CLOSE;
    while (n > *at && blank(text[n - 1])) n--;
    while (*at < n && blank(text[*at])) ++*at;
    return n - *at;
}
