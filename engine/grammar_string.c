/* grammar_string.c - a string of a schema, with what may be said of its text: pattern, format, or how long it is. */
#include "engine/grammar_nodes.h"

/* What texts of a format are like; stricter than their standards where these allow what nobody writes.  Sources: RFC
 * 3339 (dates and times, durations), RFC 5321 and 1123 (addresses and hosts, without quotes and brackets), RFC 4291
 * (IPv6), RFC 9562 (UUID). */
#define LEAP     "(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
#define MONTHS   "(0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8])"
#define DATE     "(\\d{4}-(" MONTHS ")|" LEAP "-02-29)"
#define CLOCK    "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define LASTS    "T(\\d{1,6}H(\\d{1,6}M(\\d{1,6}S)?)?|\\d{1,6}M(\\d{1,6}S)?|\\d{1,6}S)"
#define LABEL    "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define OCTET    "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define H16      "[0-9A-Fa-f]{1,4}"
#define ATOM     "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
static const struct format {
    const char *name, *pattern;
} formats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" CLOCK "$"},
    {"date-time", "^" DATE "T" CLOCK "$"},
    {"duration", "^P(\\d{1,6}W|(\\d{1,6}Y(\\d{1,6}M(\\d{1,6}D)?)?|\\d{1,6}M(\\d{1,6}D)?|\\d{1,6}D)(" LASTS ")?|" LASTS
     ")$"},
    {"email", "^" ATOM "(\\." ATOM ")*@(" LABEL "\\.)+[A-Za-z]{2,24}$"},
    {"hostname", "^" LABEL "(\\." LABEL ")*$"},
    {"ipv4", "^" OCTET "(\\." OCTET "){3}$"},
    {"ipv6", "^((" H16 ":){7}" H16 "|(" H16 ":){1,7}:|(" H16 ":){1,6}:" H16 "|(" H16 ":){1,5}(:" H16 "){1,2}|(" H16
     ":){1,4}(:" H16 "){1,3}|(" H16 ":){1,3}(:" H16 "){1,4}|(" H16 ":){1,2}(:" H16 "){1,5}|" H16 ":(:" H16
     "){1,6}|:((:" H16 "){1,7}|:))$"},
    {"uuid", "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"},
};

static const struct format *format_of(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, name) == 0) return &formats[i];
    return NULL;
}

bool grammar_knows_format(const char *name) { return format_of(name) != NULL; }

/* A bound on characters; `otherwise` where there is none. */
static int bound(struct reader *r, const json_t *s, const char *key, int otherwise)
{
    const json_t *v = json_object_get(s, key);
    if (!v) return otherwise;
    if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= GRAMMAR_ITEMS)
        return (int)json_integer_value(v);
    return grammar_refuse(r, GRAMMAR_REFUSED, "%s must be an integer of 0 to %d", key, GRAMMAR_ITEMS);
}

/* most: -1 where there is none. */
static int read_lengths(struct reader *r, const json_t *s, int *least, int *most)
{
    *least = bound(r, s, "minLength", 0);
    *most = bound(r, s, "maxLength", GRAMMAR_ITEMS + 1);
    if (*least < 0 || *most < 0) return MIN(*least, *most);
    if (*least > *most)
        return grammar_refuse(r, GRAMMAR_REFUSED, "minLength %d is more than maxLength %d", *least, *most);
    if (*most > GRAMMAR_ITEMS) *most = -1;
    return 0;
}

static int32_t of_length(struct reader *r, int least, int most, int32_t next)
{
    char pattern[40], to[16] = "";
    if (most >= 0) snprintf(to, sizeof to, "%d", most);
    const int n = snprintf(pattern, sizeof pattern, "^[\\s\\S]{%d,%s}$", least, to);
    return grammar_regex(r, pattern, (size_t)n, REGEX_QUOTED, next);
}

int32_t grammar_string(struct reader *r, const json_t *s, int32_t next)
{
    const json_t *pattern = json_object_get(s, "pattern"), *format = json_object_get(s, "format");
    const bool length = json_object_get(s, "minLength") || json_object_get(s, "maxLength");
    const struct format *f = format_of(json_string_value(format));
    const char *texts[MEET_PATTERNS];
    int n = 0, least, most;
    if (!pattern && !format && !length) return byte(r, '"', add(r, NODE_STRING, 0, 0, next, 0));
    if (pattern && !json_is_string(pattern)) return grammar_refuse(r, GRAMMAR_REFUSED, "pattern must be a text");
    if (format && !f)
        return grammar_refuse(r, GRAMMAR_REFUSED, "format is not known, but for date, time, date-time, duration, "
                              "email, hostname, ipv4, ipv6 and uuid");
    if (read_lengths(r, s, &least, &most)) return GRAMMAR_REFUSED;
    if (pattern) texts[n++] = json_string_value(pattern);
    if (f) texts[n++] = f->pattern;
    const int32_t end = byte(r, '"', next);
    if (n == 0) return byte(r, '"', of_length(r, least, most, end));
    if (n > 1 || length) return byte(r, '"', grammar_meet(r, texts, n, least, most, end));
    return byte(r, '"', grammar_regex(r, texts[0], strlen(texts[0]), REGEX_QUOTED | REGEX_SEARCH, end));
}
