/* grammar_number.c - numbers of a schema, and what minimum, maximum and their exclusive kin leave of them.
 *
 *     -12.5 .. 3   is  "-" and a magnitude from 0 to 12.5,  or a magnitude from 0 to 3
 *
 * A magnitude is written digit by digit, beside those of the two edges: as long as all are an edge's own, that says
 * what may be next (`at` below); a digit further from it, and any may follow.  Between bounds a number has no exponent.
 *
 * Of a multiple of 7 it is known how many digits are to come, k, and what those before them leave of 7, times 10^k:
 * that says which may follow, and beginnings of which it says the same go on as one.  (Of 5 the last digit counts.)
 */
#include "engine/grammar_nodes.h"
#include <math.h>

enum { INTEGER_DIGITS = 18, WHOLE_DIGITS = 15, FRACTION_DIGITS = 16, EDGE_DIGITS = 10, STEP = 1000, NONE = INT32_MIN };

/* ------------------------------------------------------------------ without bounds */

static int32_t up_to_digits(struct reader *r, int n, int32_t next)
{
    int32_t more = next;
    for (int i = 0; i < n; i++) more = split(r, range(r, '0', '9', more), next);
    return more;
}

static int32_t whole(struct reader *r, int digits, int32_t next)
{
    int32_t some = range(r, '1', '9', up_to_digits(r, digits - 1, next));
    int32_t start = split(r, some, byte(r, '0', next));
    return split(r, byte(r, '-', start), start);
}

/* Up to so many digits behind a point, or none and no point. */
static int32_t any_fraction(struct reader *r, int digits, int32_t next)
{
    if (digits == 0) return next;
    return split(r, byte(r, '.', range(r, '0', '9', up_to_digits(r, digits - 1, next))), next);
}

static int32_t any_number(struct reader *r, int32_t next)
{
    int32_t power = range(r, '0', '9', up_to_digits(r, 1, next));
    int32_t sign = split(r, split(r, byte(r, '+', power), byte(r, '-', power)), power);
    int32_t tail = split(r, split(r, byte(r, 'e', sign), byte(r, 'E', sign)), next);
    return whole(r, WHOLE_DIGITS, any_fraction(r, FRACTION_DIGITS + 1, tail));
}

/* ------------------------------------------------------------------ between two magnitudes */

/* What numbers have. */
struct digits {
    int whole, fraction; /* before the point, and behind it: the most */
    bool integer;
    int step;            /* they are multiples of it; but for 1 none has a fraction */
    int32_t *tail;       /* (whole + 1, step) what was made by tail() below; step 1: NULL */
};

struct edge {
    uint64_t whole;
    char part[FRACTION_DIGITS + 1]; /* digits behind the point, zeros at their end */
    bool open;                      /* itself is none */
};

/* Magnitudes with `digits` before the point. */
struct walk {
    struct reader *r;
    char lo[INTEGER_DIGITS + FRACTION_DIGITS + 1], hi[INTEGER_DIGITS + FRACTION_DIGITS + 1];
    bool lo_open, hi_open;
    int digits, fraction; /* of these at most */
    int step;
    int32_t *tail;
    int32_t known[INTEGER_DIGITS + FRACTION_DIGITS + 1][2][2], next;
};

static int32_t or_else(struct reader *r, int32_t a, int32_t b)
{
    return a == NONE ? b : b == NONE ? a : split(r, a, b);
}

static bool zeros(const char *digits) { return digits[strspn(digits, "0")] == '\0'; }

static int power(int k, int step)
{
    int p = 1 % step;
    while (k-- > 0) p = p * 10 % step;
    return p;
}

/* So many digits more, whichever make a multiple of step where `left` is what those before them leave of it, times
 * 10^more.  NONE: none do. */
static int32_t tail(const struct walk *w, int more, int left)
{
    int32_t *known = &w->tail[more * w->step + left], all = NONE, last = NONE;
    if (more == 0) return left == 0 ? w->next : NONE;
    if (*known) return *known;
    const int one = power(more - 1, w->step);
    for (int to = 9, from = 9; to >= 0; to = from - 1) { /* those that go on as one are a range */
        last = tail(w, more - 1, (left + to * one) % w->step);
        for (from = to; from > 0 && tail(w, more - 1, (left + (from - 1) * one) % w->step) == last;) from--;
        if (last != NONE) all = or_else(w->r, range(w->r, '0' + from, '0' + to, last), all);
    }
    return *known = all;
}

/* Where so many digits are written, all of them those of lo, and of hi; left: what they leave of step.  NONE: nothing
 * may follow. */
static int32_t at(struct walk *w, int i, bool as_lo, bool as_hi, int left)
{
    int32_t *known = &w->known[i][as_lo][as_hi];
    const int more = w->digits - i;
    if (w->step > 1 && i > 0 && !as_lo && !as_hi) return tail(w, more, left * power(more, w->step) % w->step);
    if (*known) return *known;
    struct reader *r = w->r;
    const char first = as_lo ? w->lo[i] : i == 0 && w->digits > 1 ? '1' : '0', last = as_hi ? w->hi[i] : '9';
    int32_t all = NONE;
    for (char from = first, to; i < w->digits + w->fraction && from <= last; from = (char)(to + 1)) {
        const bool low = as_lo && from == first, high = as_hi && from == last;
        to = low || high || w->step > 1 ? from : as_hi ? (char)(last - 1) : last;
        const int32_t rest = at(w, i + 1, low, high, (left * 10 + from - '0') % w->step);
        if (rest != NONE) all = or_else(r, range(r, from, to, rest), all);
    }
    if (i == w->digits && all != NONE) all = byte(r, '.', all);
    const bool large_enough = !as_lo || (zeros(w->lo + i) && !w->lo_open);
    const bool small_enough = !as_hi || !zeros(w->hi + i) || !w->hi_open;
    if (i >= w->digits && large_enough && small_enough && left == 0) all = or_else(r, w->next, all);
    return *known = all; /* 0, where a grammar ends, is not remembered: there it was the end alone */
}

static void set_digits(char *to, const struct edge *e, int digits, int fraction)
{
    const int n = snprintf(to, INTEGER_DIGITS + 1, "%0*llu", digits, (unsigned long long)e->whole);
    memset(to + n, '0', (size_t)fraction);
    memcpy(to + n, e->part, MIN(strlen(e->part), (size_t)fraction));
    to[n + fraction] = '\0';
}

/* With so many digits before the point; lo, hi: the edges that have as many, else NULL. */
static int32_t of_digits(struct reader *r, const struct edge *lo, const struct edge *hi, int digits, int fraction,
                         const struct digits *most, int32_t next)
{
    struct walk w = {.r = r, .digits = digits, .fraction = fraction, .step = most->step, .tail = most->tail,
                     .next = next};
    if (lo) set_digits(w.lo, lo, digits, fraction), w.lo_open = lo->open;
    if (hi) set_digits(w.hi, hi, digits, fraction), w.hi_open = hi->open;
    return at(&w, 0, lo != NULL, hi != NULL, 0);
}

/* How many digits there may be behind the point beside an edge: fifteen in all are as far as a client's double tells
 * numbers apart, and one closer to an edge than that would be read as the edge, open or not. */
static int told_apart(const struct edge *lo, const struct edge *hi, bool near, int digits, int fraction)
{
    const size_t part = MAX(lo ? strlen(lo->part) : 0, hi ? strlen(hi->part) : 0);
    const bool counts = near || (lo && lo->whole > 0) || (hi && hi->whole > 0); /* zeros in front are none of them */
    return counts ? MIN(fraction, MAX(WHOLE_DIGITS - digits, (int)part)) : fraction;
}

static bool has_digits(const struct edge *e, uint64_t first)
{
    return e && e->whole / (first ? first : 1) < 10 && e->whole >= first;
}

/* From lo to hi (NULL: any larger).  NONE: there is none. */
static int32_t magnitudes(struct reader *r, const struct edge *lo, const struct edge *hi, const struct digits *most,
                          int32_t next)
{
    int32_t all = NONE;
    int shortest = 0, longest = 0; /* of those as long as no edge */
    uint64_t first = 0;
    for (int digits = 1; digits <= most->whole; digits++, first = first ? first * 10 : 10) {
        const bool low = has_digits(lo, first), high = has_digits(hi, first);
        if ((!low && lo->whole >= first) || (hi && !high && hi->whole < first)) continue;
        const bool near = hi && hi->whole == (first ? first * 10 : 10); /* it is next to the longest of these */
        if (low || high || near || most->step > 1) {
            const struct edge *from = low ? lo : NULL, *to = high ? hi : NULL;
            const int fraction = told_apart(from, to, near, digits, most->fraction);
            all = or_else(r, of_digits(r, from, to, digits, fraction, most, next), all);
            continue;
        }
        if (!shortest) shortest = digits;
        longest = digits;
    }
    if (!shortest) return all;
    int32_t these = up_to_digits(r, longest - shortest, any_fraction(r, most->fraction, next));
    for (int i = 1; i < shortest; i++) these = range(r, '0', '9', these);
    return or_else(r, range(r, '1', '9', these), all);
}

/* ------------------------------------------------------------------ a schema's bounds */

struct bound {
    bool given, negative;
    struct edge e;
};

/* The next integer within. */
static void round_inwards(struct bound *b, bool lower)
{
    if (!*b->e.part) return;
    if (lower != b->negative) b->e.whole++;
    *b->e.part = '\0';
    b->e.open = false;
}

static int set_bound(struct reader *r, const char *key, const json_t *v, bool lower, const struct digits *most,
                     struct bound *out)
{
    char text[64];
    const double d = json_number_value(v);
    const json_int_t n = json_integer_value(v);
    const double beyond = most->integer ? 1e18 : 1e15;
    if (!json_is_number(v)) return grammar_refuse(r, GRAMMAR_REFUSED, "%s must be a number", key);
    out->negative = d < 0;
    out->given = d > -beyond && d < beyond;
    if (json_is_integer(v) && most->integer) out->given = n > -(json_int_t)1e18 && n < (json_int_t)1e18;
    if (!out->given && lower == out->negative) return 0; /* further out than any number here */
    if (!out->given) return grammar_refuse(r, GRAMMAR_REFUSED, "%s is beyond all numbers that can be written", key);
    if (json_is_integer(v)) {
        out->e.whole = (uint64_t)(n < 0 ? -n : n);
        return 0;
    }
    snprintf(text, sizeof text, "%.*f", EDGE_DIGITS, fabs(d));
    const double again = strtod(text, NULL);
    if (again < fabs(d) || again > fabs(d))
        return grammar_refuse(r, GRAMMAR_REFUSED, "%s has more than %d digits behind its point", key, EDGE_DIGITS);
    char *point = strchr(text, '.'), *end = text + strlen(text);
    while (end[-1] == '0') *--end = '\0';
    out->e.whole = strtoull(text, NULL, 10);
    snprintf(out->e.part, sizeof out->e.part, "%s", point + 1);
    if (most->fraction == 0) round_inwards(out, lower);
    if (strlen(out->e.part) <= (size_t)most->fraction) return 0;
    return grammar_refuse(r, GRAMMAR_REFUSED, "%s has more digits behind its point than multipleOf", key);
}

/* The tighter of the two. */
static int read_bound(struct reader *r, const json_t *s, bool lower, const struct digits *most, struct bound *out)
{
    const char *key = lower ? "minimum" : "maximum", *open_key = lower ? "exclusiveMinimum" : "exclusiveMaximum";
    const json_t *v = json_object_get(s, key), *open = json_object_get(s, open_key);
    *out = (struct bound){0};
    if (v && open && json_is_number(open)) {
        const double a = json_number_value(v), b = json_number_value(open);
        if (lower ? a > b : a < b) open = NULL;
    }
    if (!v && !open) return 0;
    out->e.open = open != NULL;
    return set_bound(r, open ? open_key : key, open ? open : v, lower, most, out);
}

/* What multipleOf says: the step of whole numbers, or how many digits there may be behind the point, of multiples of 1,
 * 0.1, 0.01 ... */
static int read_multiple(struct reader *r, const json_t *s, struct digits *most)
{
    static const double tens[] = {1, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001};
    const json_t *v = json_object_get(s, "multipleOf");
    most->step = 1;
    most->fraction = most->integer ? 0 : FRACTION_DIGITS;
    if (!v) return 0;
    const double d = json_number_value(v);
    most->fraction = 0;
    if (d >= 1 && d <= STEP && !(d < floor(d)) && !(d > floor(d))) {
        most->step = (int)d;
        return 0;
    }
    for (; most->fraction < (int)COUNT_OF(tens) && !most->integer; most->fraction++)
        if (!(d < tens[most->fraction]) && !(d > tens[most->fraction])) return 0;
    return grammar_refuse(r, GRAMMAR_REFUSED, "multipleOf is known for 1, 2 ... %d%s alone", STEP,
                          most->integer ? "" : " and 0.1, 0.01 ...");
}

static bool is_zero(const struct edge *e) { return e->whole == 0 && !*e->part; }

static int32_t between(struct reader *r, const struct bound *lo, const struct bound *hi, const struct digits *most,
                       int32_t next)
{
    const struct edge nothing = {0};
    int32_t below = NONE, above = NONE;
    if (!lo->given || lo->negative) {
        const struct edge *least = hi->given && (hi->negative || is_zero(&hi->e)) ? &hi->e : &nothing;
        below = magnitudes(r, least, lo->given ? &lo->e : NULL, most, next);
        if (below != NONE) below = byte(r, '-', below);
    }
    if (!hi->given || !hi->negative)
        above = magnitudes(r, lo->given && !lo->negative ? &lo->e : &nothing, hi->given ? &hi->e : NULL, most, next);
    const int32_t all = or_else(r, below, above);
    return all == NONE ? grammar_refuse(r, GRAMMAR_REFUSED, "no number is between its bounds") : all;
}

int32_t grammar_number(struct reader *r, const json_t *s, bool integer, int32_t next)
{
    struct bound lo, hi;
    struct digits most = {.whole = integer ? INTEGER_DIGITS : WHOLE_DIGITS, .integer = integer};
    if (next < 0) return next;
    if (read_multiple(r, s, &most) || read_bound(r, s, true, &most, &lo) || read_bound(r, s, false, &most, &hi))
        return GRAMMAR_REFUSED;
    const bool bounds = lo.given || hi.given;
    if (!bounds && integer && most.step == 1) return whole(r, INTEGER_DIGITS, next);
    if (!bounds && !json_object_get(s, "multipleOf")) return any_number(r, next);
    if (most.step == 1) return between(r, &lo, &hi, &most, next);
    most.tail = calloc(((size_t)most.whole + 1) * (size_t)most.step, sizeof *most.tail);
    const int32_t all = most.tail ? between(r, &lo, &hi, &most, next)
                                  : grammar_refuse(r, GRAMMAR_NO_MEMORY, "no memory for multiples");
    free(most.tail);
    return all;
}
