/* pattern.c - matching under a count of steps and a clock. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tools/pattern.h"
#include <pcre2.h>
#include <time.h>

/* PLACE: PCRE2's steps from one place; SPAN: characters that are passed over in the time of a step; LOOK: steps from
 * one look at the clock to the next. */
enum { PLACE = 200000, SPAN = 32, LOOK = 8192 };

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    int64_t left, look; /* steps; the clock is looked at when so many are left */
    int64_t until;      /* milliseconds */
    size_t at;          /* of the last step */
};

static bool is_late(const struct pattern *p)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 > p->until;
}

static int step(pcre2_callout_block *b, void *self)
{
    struct pattern *p = self;
    p->left -= 1 + (b->current_position > p->at ? (int64_t)(b->current_position - p->at) / SPAN : 0);
    p->at = b->current_position;
    if (p->left < 0) return PCRE2_ERROR_MATCHLIMIT;
    if (p->until == 0 || p->left > p->look) return 0;
    p->look = p->left - LOOK;
    return is_late(p) ? PCRE2_ERROR_CALLOUT : 0;
}

struct pattern *pattern_open(const char *text, size_t n, struct err *err)
{
    int code;
    PCRE2_SIZE at;
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    struct pattern *p = calloc(1, sizeof *p);
    if (p && !(p->code = pcre2_compile((PCRE2_SPTR)text, n, options, &code, &at, NULL))) {
        char why[120];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        err_set(err, -1, "no pattern, at its byte %zu: %s", at, why);
        pattern_close(p);
        return NULL;
    }
    if (p) p->data = pcre2_match_data_create(1, NULL);
    if (p) p->context = pcre2_match_context_create(NULL);
    if (!p || !p->data || !p->context) {
        err_set(err, -1, "out of memory for a pattern");
        pattern_close(p);
        return NULL;
    }
    pcre2_set_match_limit(p->context, PLACE);
    pcre2_set_heap_limit(p->context, PATTERN_KIB);
    pcre2_set_callout(p->context, step, p);
    return p;
}

void pattern_close(struct pattern *p)
{
    if (!p) return;
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
}

void pattern_allow(struct pattern *p, uint64_t bytes)
{
    p->left = PATTERN_STEPS + PATTERN_BYTE * (int64_t)MIN(bytes, (uint64_t)1 << 56);
    p->look = p->left;
}

void pattern_until(struct pattern *p, int64_t ms) { p->until = ms; }

int pattern_find(struct pattern *p, const struct pattern_subject *s, size_t *at, struct err *err)
{
    const uint32_t options = (s->no_head ? PCRE2_NOTBOL : 0) | (s->no_tail ? PCRE2_NOTEOL : 0);
    p->at = s->from;
    int rc = pcre2_match(p->code, (PCRE2_SPTR)s->text, s->n, s->from, options, p->data, p->context);
    if (rc >= 0) *at = MIN(pcre2_get_ovector_pointer(p->data)[0], s->n);
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH) return rc >= 0;
    if (rc == PCRE2_ERROR_CALLOUT) return PATTERN_LATE;
    char why[120];
    pcre2_get_error_message(rc, (PCRE2_UCHAR *)why, sizeof why);
    return err_set(err, PATTERN_FAILED, "%s", why);
}
