/* opts_value.c - the text of one value: taken whole into struct opts, or refused. */
#include "app/opts_table.h"
#include "engine/text.h"
#include <errno.h>
#include <math.h>

/* Only digits, signs, point and exponent: no hexadecimal, no blanks, and neither nan nor inf. */
static bool real_parse(const char *s, double *out)
{
    char *end;
    if (!*s || s[strspn(s, "0123456789+-.eE")]) return false;
    errno = 0;
    *out = strtod(s, &end);
    return end != s && !*end && isfinite(*out);
}

static bool int_parse(const char *s, int64_t *out)
{
    char *end;
    if (!*s || s[strspn(s, "0123456789-")]) return false;
    errno = 0;
    *out = strtoll(s, &end, 10);
    return end != s && !*end && errno == 0;
}

bool opts_size(const char *s, double *out)
{
    static const char units[] = "KMGT";
    char digits[32];
    size_t n = strspn(s, "0123456789.");
    if (n == 0 || n >= sizeof digits) return false;
    memcpy(digits, s, n);
    digits[n] = '\0';
    const char *unit = s[n] ? strchr(units, s[n]) : NULL;
    if (!real_parse(digits, out) || *out <= 0) return false;
    if (strcmp(s + n, "%") == 0) {
        *out = -*out;
        return *out >= -100;
    }
    if (s[n] && !unit) return false;
    *out *= unit ? ldexp(1, 10 * (int)(unit - units + 1)) : 1;
    if (unit && s[n + 1] && strcmp(s + n + 1, "B") && strcmp(s + n + 1, "iB")) return false;
    return *out >= 1 && *out < 0x1p60;
}

static bool in_choices(const char *choices, const char *s)
{
    size_t n = strlen(s);
    for (const char *c = choices; *c;) {
        size_t len = strcspn(c, "|");
        if (n == len && memcmp(c, s, n) == 0) return true;
        c += len + (c[len] == '|');
    }
    return false;
}

static int set_number(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    double real = 0;
    int64_t whole = 0;
    bool ok = opts_kind(o) == INT ? int_parse(s, &whole) : real_parse(s, &real);
    if (opts_kind(o) == INT) real = (double)whole;
    if (!ok || real < o->min || real > o->max)
        return err_set(err, -1, "%s: \"%.60s\" is not %s from %.16g to %.16g", who, s,
                       opts_kind(o) == INT ? "a whole number" : "a number", o->min, o->max);
    if (opts_kind(o) == INT) memcpy((char *)out + o->at, &whole, sizeof whole);
    else memcpy((char *)out + o->at, &real, sizeof real);
    return 0;
}

static int add_bias(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    char id_text[24];
    int64_t id;
    double add = 0;
    const char *eq = strchr(s, '=');
    if (out->n_bias == ENGINE_MAX_BIAS) return err_set(err, -1, "%s: at most %d are allowed", who, ENGINE_MAX_BIAS);
    bool ok = eq && (size_t)(eq - s) < sizeof id_text;
    if (ok) {
        memcpy(id_text, s, (size_t)(eq - s));
        id_text[eq - s] = '\0';
        ok = int_parse(id_text, &id) && id >= 0 && id <= INT32_MAX;
    }
    if (ok && strcmp(eq + 1, "-inf") == 0) add = -INFINITY;
    else ok = ok && real_parse(eq + 1, &add) && add >= o->min && add <= o->max;
    if (!ok)
        return err_set(err, -1, "%s: \"%.60s\" is not ID=ADD, a token's id and a number from %g to %g or -inf", who, s,
                       o->min, o->max);
    out->bias[out->n_bias++] = (struct kern_bias){.id = (int32_t)id, .add = (float)add};
    return 0;
}

static int add_stop(struct opts *out, const char *who, const char *s, struct err *err)
{
    struct text t;
    struct err why = {0};
    if (out->n_stop == ENGINE_STOPS) return err_set(err, -1, "%s: at most %d are allowed", who, ENGINE_STOPS);
    out->stop[out->n_stop] = s;
    if (text_init(&t, &out->stop[out->n_stop], 1, &why)) return err_set(err, -1, "%s: %.400s", who, why.text);
    out->n_stop++;
    return 0;
}

static int set_switch(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    bool on = !s || in_choices("on|yes|true|1", s);
    if (!on && !in_choices("off|no|false|0", s))
        return err_set(err, -1, "%s: \"%.60s\" is neither on nor off", who, s);
    *((bool *)((char *)out + o->at)) = on;
    return 0;
}

int opts_set(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    double real;
    switch (opts_kind(o)) {
    case ON:
        return set_switch(o, out, who, s, err);
    case TEXT:
        if (!*s && in_choices("FILE|DIR", o->arg))
            return err_set(err, -1, "%s needs a %s, not an empty name", who, o->arg);
        memcpy((char *)out + o->at, &s, sizeof s);
        return 0;
    case CHOICE:
        if (!in_choices(o->choices, s)) return err_set(err, -1, "%s: \"%.60s\" is not one of %s", who, s, o->choices);
        memcpy((char *)out + o->at, &s, sizeof s);
        return 0;
    case INT:
    case REAL:
        return set_number(o, out, who, s, err);
    case SIZE:
        real = 0;
        if ((o->max > 0 && strcmp(s, "0") == 0) || (opts_size(s, &real) && real >= o->min)) {
            *(double *)(void *)((char *)out + o->at) = real;
            return 0;
        }
        return err_set(err, -1, "%s: \"%.60s\" is not a size: 512M, 1.5G, a number of bytes%s", who, s,
                       o->min < 0 ? ", or 60%" : "");
    case STOP:
        return add_stop(out, who, s, err);
    case BIAS:
        return add_bias(o, out, who, s, err);
    }
    return 0;
}
