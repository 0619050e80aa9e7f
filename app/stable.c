/* stable.c - see stable.h. */
#include "app/stable.h"
#include <jansson.h>

enum { JOINED = 16 << 20 }; /* bytes of text: more than an answer has, and a stream that is none is not kept whole */

static int put(const char *bytes, size_t n, void *out)
{
    buf_put(out, bytes, n);
    return ((struct buf *)out)->failed ? -1 : 0;
}

static int write_line(struct stable *s, json_t *j, struct buf *out)
{
    int bad = json_object_set_new(j, "seq", json_integer(++s->seq));
    if (!bad) bad = json_dump_callback(j, put, out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    buf_puts(out, "\n");
    return bad || out->failed ? -1 : 0;
}

/* What was kept is not joined any more. */
static int let_go(struct stable *s, struct buf *out)
{
    json_t *j = s->kept;
    if (!j) return 0;
    int bad = s->kind == EV_TEXT ? json_object_set_new(j, "text", json_stringn(s->text.data ? s->text.data : "",
                                                                              s->text.len)) : 0;
    if (s->text.failed || bad || write_line(s, j, out)) return -1;
    stable_free(s);
    return 0;
}

/* Are both of one answer?  All but what grows is the same. */
static bool goes_on(const struct stable *s, enum event_kind kind, const json_t *j)
{
    const char *key;
    json_t *value;
    const json_t *kept = s->kept;
    if (!kept || s->kind != kind || s->text.len > JOINED) return false;
    json_object_foreach((json_t *)(uintptr_t)j, key, value) {
        bool grows = strcmp(key, "seq") == 0 || strcmp(key, kind == EV_TEXT ? "text" : "done") == 0;
        if (!grows && !json_equal(value, json_object_get(kept, key))) return false;
    }
    return true;
}

static json_t *without_volatile(const struct event *e, const char *line, size_t n)
{
    const struct event_info *info = event_info(e->kind);
    json_t *j = json_loadb(line, n, JSON_ALLOW_NUL, NULL);
    json_object_del(j, "time");
    for (size_t i = 0; i < info->n_fields; i++)
        if (info->fields[i].is_volatile) json_object_del(j, info->fields[i].name);
    return j;
}

/* A prefill or a text: joined to what is kept, or kept itself. */
static int keep(struct stable *s, const struct event *e, json_t *j, struct buf *out)
{
    if (!goes_on(s, e->kind, j) && let_go(s, out)) {
        json_decref(j);
        return -1;
    }
    json_decref(s->kept);
    s->kept = j;
    s->kind = e->kind;
    if (e->kind == EV_TEXT) buf_put(&s->text, e->text.text.data, e->text.text.len);
    return s->text.failed ? -1 : 0;
}

int stable_put(struct stable *s, const struct event *e, const char *line, size_t n, struct buf *out)
{
    if (event_info(e->kind)->class == EVENT_SAMPLE || e->kind == EV_SAVED) return 0;
    json_t *j = without_volatile(e, line, n);
    if (!j) return -1;
    if (e->kind == EV_TEXT || e->kind == EV_PREFILL) return keep(s, e, j, out);
    bool among = e->kind == EV_TOKEN && s->kind == EV_TEXT;
    int bad = among ? 0 : let_go(s, out);
    if (!bad) bad = write_line(s, j, out);
    json_decref(j);
    return bad;
}

int stable_end(struct stable *s, struct buf *out)
{
    return let_go(s, out);
}

void stable_free(struct stable *s)
{
    json_decref(s->kept);
    s->kept = NULL;
    buf_free(&s->text);
}
