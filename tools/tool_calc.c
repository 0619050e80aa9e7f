/* tool_calc.c - exact arithmetic on whole numbers and decimals, by GMP's fractions.
 *
 *     sum      = product { (+ | -) product }
 *     product  = sign { (* | / | %) sign }
 *     sign     = (- | +) sign | power
 *     power    = atom [ ** sign ]          so 2**3**2 is 512 and -2**2 is -4
 *     atom     = 12 | 3.5 | .5 | ( sum )
 *
 * a % b has the sign of b: a - b * floor(a / b).  An exponent is a whole number; 0**0 is 1.  Nothing is rounded on the
 * way.  The result is given as it is if it has at most CALC_EXACT decimals; else it is rounded half to even at its
 * CALC_DECIMALS-th decimal (1/3 is 0.333333), or, if that would leave nothing of it, six figures further on.  Roots are
 * not exact and are not here.
 *
 * Bounded: CALC_TEXT bytes, CALC_DEPTH brackets and signs deep, and no value of more than CALC_DIGITS digits, which is
 * foreseen before a power is computed.  Memory is GMP's, some 100 KiB at most, whose allocator ends the program where
 * there is none. */
#include "tools/escape.h"
#include "tools/tool.h"
#include <gmp.h>

enum { CALC_TEXT = 4096, CALC_DEPTH = 100, CALC_DIGITS = 4000, CALC_EXACT = 40, CALC_DECIMALS = 6 };
enum { CALC_BITS = CALC_DIGITS * 10 / 3 }; /* more than those digits for certain */

struct calc {
    const char *s, *at;
    int depth;
    struct err *err;
};

static int sum(struct calc *c, mpq_t out);
static int sign(struct calc *c, mpq_t out);

static int too_large(struct calc *c) { return err_set(c->err, -1, "a value has more than %d digits", CALC_DIGITS); }

/* GMP foresees a number's digits, and may say one too many. */
static bool is_long(const mpz_t v)
{
    const size_t n = mpz_sizeinbase(v, 10);
    if (n != CALC_DIGITS + 1) return n > CALC_DIGITS;
    mpz_t least;
    mpz_init(least);
    mpz_ui_pow_ui(least, 10, CALC_DIGITS);
    const bool more = mpz_cmpabs(v, least) >= 0;
    mpz_clear(least);
    return more;
}

static int fits(struct calc *c, mpq_t v)
{
    return is_long(mpq_numref(v)) || is_long(mpq_denref(v)) ? too_large(c) : 0;
}

static bool take(struct calc *c, const char *token)
{
    size_t n = strlen(token);
    c->at += strspn(c->at, " \t\r\n");
    if (strncmp(c->at, token, n) != 0 || (n == 1 && *token == '*' && c->at[1] == '*')) return false;
    c->at += n;
    return true;
}

static int unclear(struct calc *c)
{
    struct buf shown = {0};
    c->at += strspn(c->at, " \t\r\n");
    escape_start(c->at, strlen(c->at), 20, &shown);
    int rc = *c->at ? err_set(c->err, -1, "not arithmetic, at its byte %zu: %s%s", (size_t)(c->at - c->s),
                              shown.data ? shown.data : "", *c->at == '^' ? " (a power is **)" : "")
                    : err_set(c->err, -1, "the expression is not complete");
    buf_free(&shown);
    return rc;
}

/* ------------------------------------------------------------------ values */

static int number(struct calc *c, mpq_t out)
{
    char digits[CALC_TEXT + 1];
    size_t n = 0, decimals = 0;
    bool point = false;
    for (; (*c->at >= '0' && *c->at <= '9') || (*c->at == '.' && !point); c->at++) {
        if (*c->at == '.') {
            point = true;
        } else {
            digits[n++] = *c->at;
            decimals += point;
        }
    }
    digits[n] = '\0';
    if (n == 0) return unclear(c);
    mpz_set_str(mpq_numref(out), digits, 10);
    mpz_ui_pow_ui(mpq_denref(out), 10, decimals);
    mpq_canonicalize(out);
    return fits(c, out);
}

static int atom(struct calc *c, mpq_t out)
{
    if (!take(c, "(")) return number(c, out);
    if (sum(c, out)) return -1;
    if (take(c, ")")) return 0;
    return *c->at ? unclear(c) : err_set(c->err, -1, "a ) is missing");
}

static int raise(struct calc *c, mpq_t base, const mpq_t exponent)
{
    if (mpz_cmp_ui(mpq_denref(exponent), 1) != 0) return err_set(c->err, -1, "an exponent is a whole number");
    bool unit = mpz_cmp_ui(mpq_denref(base), 1) == 0 && mpz_cmpabs_ui(mpq_numref(base), 1) <= 0;
    if (mpq_sgn(base) == 0 && mpq_sgn(exponent) < 0) return err_set(c->err, -1, "division by zero");
    if (unit) { /* 0, 1 and -1 are raised to anything */
        if (mpq_sgn(exponent) == 0 || (mpq_sgn(base) < 0 && mpz_even_p(mpq_numref(exponent)))) mpq_set_ui(base, 1, 1);
        return 0;
    }
    /* A base of n bits is at least 2^(n - 1): an exponent beyond CALC_BITS / (n - 1) is too large for certain. */
    size_t bits = MAX(mpz_sizeinbase(mpq_numref(base), 2), mpz_sizeinbase(mpq_denref(base), 2)) - 1;
    if (mpz_cmpabs_ui(mpq_numref(exponent), CALC_BITS / bits) > 0) return too_large(c);
    if (mpq_sgn(exponent) < 0) mpq_inv(base, base);
    unsigned long e = mpz_get_ui(mpq_numref(exponent)); /* of its absolute value */
    mpz_pow_ui(mpq_numref(base), mpq_numref(base), e);
    mpz_pow_ui(mpq_denref(base), mpq_denref(base), e);
    return fits(c, base);
}

static int power(struct calc *c, mpq_t out)
{
    if (atom(c, out)) return -1;
    if (!take(c, "**")) return 0;
    mpq_t e;
    mpq_init(e);
    int rc = sign(c, e) || raise(c, out, e) ? -1 : 0;
    mpq_clear(e);
    return rc;
}

static int sign(struct calc *c, mpq_t out)
{
    if (c->depth == CALC_DEPTH) return err_set(c->err, -1, "the expression is more than %d deep", CALC_DEPTH);
    c->depth++;
    bool minus = take(c, "-");
    int rc = minus || take(c, "+") ? sign(c, out) : power(c, out);
    if (minus) mpq_neg(out, out);
    c->depth--;
    return rc;
}

static void modulo(mpq_t a, const mpq_t b)
{
    mpq_t q;
    mpq_init(q);
    mpq_div(q, a, b);
    mpz_fdiv_q(mpq_numref(q), mpq_numref(q), mpq_denref(q));
    mpz_set_ui(mpq_denref(q), 1);
    mpq_mul(q, q, b);
    mpq_sub(a, a, q);
    mpq_clear(q);
}

static int product(struct calc *c, mpq_t out)
{
    mpq_t b;
    mpq_init(b);
    int rc = sign(c, out);
    while (rc == 0) {
        char op = take(c, "*") ? '*' : take(c, "/") ? '/' : take(c, "%") ? '%' : 0;
        if (!op) break;
        rc = sign(c, b);
        if (rc == 0 && op != '*' && mpq_sgn(b) == 0) rc = err_set(c->err, -1, "division by zero");
        if (rc) break;
        if (op == '*') mpq_mul(out, out, b);
        else if (op == '/') mpq_div(out, out, b);
        else modulo(out, b);
        rc = fits(c, out);
    }
    mpq_clear(b);
    return rc;
}

static int sum(struct calc *c, mpq_t out)
{
    mpq_t b;
    mpq_init(b);
    int rc = product(c, out);
    while (rc == 0) {
        bool plus = take(c, "+");
        if (!plus && !take(c, "-")) break;
        rc = product(c, b);
        if (rc) break;
        if (plus) mpq_add(out, out, b);
        else mpq_sub(out, out, b);
        rc = fits(c, out);
    }
    mpq_clear(b);
    return rc;
}

/* ------------------------------------------------------------------ the result as decimals */

/* How many decimals it has: -1 if they do not end before CALC_EXACT. */
static int decimals_of(const mpq_t v)
{
    mpz_t rest, five;
    mpz_init_set(rest, mpq_denref(v));
    mpz_init_set_ui(five, 5);
    mp_bitcnt_t twos = mpz_scan1(rest, 0), fives = mpz_remove(rest, rest, five);
    mpz_tdiv_q_2exp(rest, rest, twos);
    bool ends = mpz_cmp_ui(rest, 1) == 0 && MAX(twos, fives) <= CALC_EXACT;
    mpz_clears(rest, five, NULL);
    return ends ? (int)MAX(twos, fives) : -1;
}

/* q = |v| * 10^decimals, rounded half to even. */
static void scaled(mpz_t q, const mpq_t v, int decimals)
{
    mpz_t r;
    mpz_init(r);
    mpz_ui_pow_ui(q, 10, (unsigned long)decimals);
    mpz_mul(q, q, mpq_numref(v));
    mpz_abs(q, q);
    mpz_tdiv_qr(q, r, q, mpq_denref(v));
    mpz_mul_2exp(r, r, 1);
    int half = mpz_cmp(r, mpq_denref(v));
    if (half > 0 || (half == 0 && mpz_odd_p(q))) mpz_add_ui(q, q, 1);
    mpz_clear(r);
}

static void print(const mpq_t v, struct buf *out)
{
    mpz_t q;
    mpz_init(q);
    int d = decimals_of(v);
    bool rounded = d < 0;
    if (rounded) scaled(q, v, d = CALC_DECIMALS);
    if (rounded && mpz_sgn(q) == 0)
        d = (int)(mpz_sizeinbase(mpq_denref(v), 10) - mpz_sizeinbase(mpq_numref(v), 10)) + CALC_DECIMALS;
    scaled(q, v, d);
    char text[3 * CALC_DIGITS];
    gmp_snprintf(text, sizeof text, "%0*Zd", d + 1, q); /* at least one digit before the point */
    size_t whole = strlen(text) - (size_t)d, end = strlen(text);
    while (rounded && end > whole && text[end - 1] == '0') end--;
    if (mpq_sgn(v) < 0) buf_puts(out, "-");
    buf_put(out, text, whole);
    if (end > whole) buf_puts(out, ".");
    buf_put(out, text + whole, end - whole);
    mpz_clear(q);
}

enum tool_verdict tool_calculator(const struct tool_context *c, const json_t *arguments)
{
    struct err err;
    struct tool_text text;
    if (tool_arg_text(arguments, "expression", &text, &err)) return tool_fail(c, &err);
    struct calc k = {.s = text.s, .at = text.s, .err = &err};
    struct buf out = {0};
    mpq_t v;
    mpq_init(v);
    int rc = text.n > CALC_TEXT ? err_set(&err, -1, "the expression is longer than %d bytes", CALC_TEXT) : sum(&k, v);
    if (rc == 0) k.at += strspn(k.at, " \t\r\n");
    if (rc == 0 && *k.at) rc = unclear(&k);
    if (rc == 0) print(v, &out);
    if (out.failed) rc = err_set(&err, -1, "out of memory");
    mpq_clear(v);
    enum tool_verdict verdict = rc ? tool_fail(c, &err) : tool_say(c, out.data, out.len);
    buf_free(&out);
    return verdict;
}
