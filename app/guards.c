/* guards.c - the names of --unguarded. */
#include "app/guards.h"

static const struct { const char *name; size_t at; } guard[] = {
    {"window", offsetof(struct guards, window)}, {"clip", offsetof(struct guards, clip)},
    {"loop", offsetof(struct guards, loop)},     {"docs", offsetof(struct guards, docs)},
    {"share", offsetof(struct guards, share)},   {"silent", offsetof(struct guards, silent)},
    {"slice", offsetof(struct guards, slice)},   {"traces", offsetof(struct guards, traces)},
    {"summary", offsetof(struct guards, summary)},
};

static bool *field(struct guards *g, size_t i) { return (bool *)((char *)g + guard[i].at); }

static bool is_off(const struct guards *g, size_t i) { return *(const bool *)((const char *)g + guard[i].at); }

static int check_together(const struct guards *off, struct err *err)
{
    if (off->silent && off->slice)
        return err_set(err, -1, "--unguarded silent, slice: both say what is sent, so one at a time");
    if (off->loop && !off->window)
        return err_set(err, -1, "--unguarded loop needs window: a loop under a window never meets its end");
    return 0;
}

int guards_read(struct guards *off, const char *list, struct err *err)
{
    *off = (struct guards){0};
    for (const char *at = list;; at++) {
        if (at > list) at += strspn(at, " ");
        size_t n = strcspn(at, ","), i = 0;
        while (i < COUNT_OF(guard) && (strlen(guard[i].name) != n || memcmp(guard[i].name, at, n) != 0)) i++;
        if (i == COUNT_OF(guard))
            return err_set(err, -1, "--unguarded: no such guard: \"%.*s\" (window, clip, loop, docs, share, silent, "
                           "slice, traces, summary)", (int)MIN(n, (size_t)40), at);
        if (is_off(off, i)) return err_set(err, -1, "--unguarded: %s is there twice", guard[i].name);
        *field(off, i) = true;
        at += n;
        if (!*at) return check_together(off, err);
    }
}

bool guards_any(const struct guards *off)
{
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(guard); i++) any |= is_off(off, i);
    return any;
}

void guards_words(const struct guards *off, struct buf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < COUNT_OF(guard); i++) {
        if (!is_off(off, i)) continue;
        buf_printf(out, "%s%s", comma, guard[i].name);
        comma = ", ";
    }
}

bool guards_put_back(struct guards *off, int nth, struct guards *back)
{
    *back = (struct guards){0};
    for (size_t i = 0; i < COUNT_OF(guard); i++) {
        if (!is_off(off, i) || nth-- > 0) continue;
        *field(off, i) = false;
        *field(back, i) = true;
        if (back->window && off->loop) off->loop = false, back->loop = true;
        return true;
    }
    return false;
}
