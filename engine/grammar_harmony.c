/* grammar_harmony.c - an answer in harmony's messages, written out as nodes (grammar.h has what may come).
 *
 *     <|start|>assistant -+-> analysis: any text <|end|><|start|>assistant -+
 *                         +-------------------------------------------------+-> a call of NAME: its arguments <|call|>
 *                                                                           +-> final: a value, or any text <|return|>
 *                                                                           +-> commentary: any text <|end|> and on
 *
 * A head is held as the model's own come: the recipient before the channel or behind it, the arguments' type or none.
 */
#include "engine/grammar_nodes.h"
#include "engine/harmony.h"

/* A mark as a byte, past all that UTF-8 uses. */
enum { MARK_BYTE = 0xf8 };
_Static_assert(MARK_BYTE + MARK_CALL <= 0xff, "each of gpt-oss's marks has a byte");

static size_t word_of(const void *self, int32_t id, const char **bytes)
{
    static const unsigned char marks[] = {MARK_BYTE, MARK_BYTE + 1, MARK_BYTE + 2, MARK_BYTE + 3, MARK_BYTE + 4,
                                          MARK_BYTE + 5, MARK_BYTE + 6};
    _Static_assert(COUNT_OF(marks) == MARK_CALL + 1, "one each");
    const enum harmony_mark m = harmony_mark(self, id);
    if (m <= MARK_CALL) {
        *bytes = (const char *)&marks[m];
        return 1;
    }
    const size_t n = grammar_word_of(self, id, bytes);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)(*bytes)[i] >= MARK_BYTE) return 0; /* a token of such a byte is no mark */
    return n;
}

struct grammar_words grammar_words_harmony(const struct vocab *v)
{
    return (struct grammar_words){v, vocab_size(v), word_of};
}

/* ------------------------------------------------------------------ pieces of messages */

static int32_t mark(struct reader *r, enum harmony_mark m, int32_t next)
{
    return byte(r, MARK_BYTE + (int)m, next);
}

static int32_t text(struct reader *r, const char *s, int32_t next) { return literal(r, s, strlen(s), next); }

static int32_t maybe(struct reader *r, const char *s, int32_t next) { return split(r, text(r, s, next), next); }

/* Any bytes but marks, as many as one likes. */
static int32_t anything(struct reader *r, int32_t next)
{
    const int32_t again = add(r, NODE_SPLIT, 0, 0, next, 0), one = range(r, 0, MARK_BYTE - 1, again);
    if (one < 0) return one;
    r->make->node[again].alt = one;
    return again;
}

/* <|message|>, and before it what the content is of. */
static int32_t json_body(struct reader *r, int32_t next)
{
    const int32_t body = mark(r, MARK_MESSAGE, next), type = maybe(r, "json", body);
    const int32_t marked = mark(r, MARK_CONSTRAIN, type);
    return split(r, body, split(r, marked, text(r, " ", split(r, marked, type)))); /* a word ends before `json` */
}

static int32_t channel(struct reader *r, const char *name, int32_t next)
{
    return mark(r, MARK_CHANNEL, text(r, name, next));
}

/* A message of any text, and the head of another. */
static int32_t then_another(struct reader *r, const char *name, int32_t next)
{
    const int32_t behind = mark(r, MARK_END, mark(r, MARK_START, text(r, "assistant", next)));
    return channel(r, name, mark(r, MARK_MESSAGE, anything(r, behind)));
}

/* ------------------------------------------------------------------ calls */

/* Heads of a call that begin with its recipient, and that begin with a channel, from behind `to=functions.` on. */
struct heads {
    int32_t named, channelled; /* 0: of no call yet */
};

static int32_t one_more(struct reader *r, int32_t before, int32_t more)
{
    return before > 0 ? split(r, more, before) : more;
}

static int add_name(struct reader *r, const json_t *name, int32_t body, struct heads *h)
{
    const char *s = json_string_value(name);
    bool word = s && *s;
    for (const char *c = s; word && *c; c++)
        word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("_-.", *c);
    if (!word)
        return grammar_refuse(r, GRAMMAR_REFUSED, "a call's name is to be one word of letters, digits, _, - and .");
    const int32_t behind = split(r, channel(r, "commentary", body), channel(r, "analysis", body));
    h->named = one_more(r, h->named, text(r, s, behind));
    h->channelled = one_more(r, h->channelled, text(r, s, body));
    return MIN(MIN(h->named, h->channelled), 0);
}

static int add_call(struct reader *r, json_t *s, int depth, int32_t end, struct heads *h)
{
    const json_t *properties = json_object_get(s, "properties"), *name = json_object_get(properties, "name");
    json_t *arguments = json_object_get(properties, "arguments");
    const json_t *one = json_object_get(name, "const"), *many = json_object_get(name, "enum");
    if (!arguments || (!one && json_array_size(many) == 0))
        return grammar_refuse(r, GRAMMAR_REFUSED, "a call has a name, which is a const or enum, and arguments");
    const size_t before = grammar_enter(r, "properties", "arguments");
    const int32_t body = json_body(r, grammar_value(r, arguments, depth + 1, mark(r, MARK_CALL, end)));
    grammar_leave(r, before);
    int bad = MIN(body, 0);
    if (one && !bad) bad = add_name(r, one, body, h);
    for (size_t i = 0; !one && !bad && i < json_array_size(many); i++)
        bad = add_name(r, json_array_get(many, i), body, h);
    return bad;
}

static int32_t calls(struct reader *r, json_t *s, int32_t end)
{
    const json_t *list = json_object_get(s, "oneOf");
    struct heads h = {0};
    int bad = list ? 0 : add_call(r, s, 1, end, &h);
    for (size_t i = 0; !bad && i < json_array_size(list); i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        const size_t before = grammar_enter(r, "oneOf", number);
        bad = add_call(r, json_array_get(list, i), 2, end, &h);
        grammar_leave(r, before);
    }
    if (bad) return bad;
    if (h.named == 0) return grammar_refuse(r, GRAMMAR_REFUSED, "oneOf must be a list that has schemas");
    const int32_t to = text(r, " to=functions.", h.channelled);
    const int32_t behind = split(r, channel(r, "commentary", to), channel(r, "analysis", to));
    return split(r, text(r, " to=functions.", h.named), behind);
}

/* ------------------------------------------------------------------ an answer */

/* What ends the answer. */
static int32_t last_message(struct reader *r, json_t *s, unsigned parts, int32_t end)
{
    const json_t *both = parts == (GRAMMAR_CALLS | GRAMMAR_ANSWER) ? json_object_get(s, "anyOf") : NULL;
    const int32_t done = mark(r, MARK_RETURN, end);
    int32_t call = -1, final = -1;
    if (parts & GRAMMAR_CALLS) {
        call = calls(r, both ? json_array_get(both, 0) : s, end);
        if (call < 0 || parts == GRAMMAR_CALLS) return call;
    }
    if (parts & GRAMMAR_ANSWER)
        final = json_body(r, grammar_root(r, both ? json_array_get(both, 1) : s, done));
    else
        final = mark(r, MARK_MESSAGE, anything(r, done));
    final = channel(r, "final", final);
    return call < 0 ? final : split(r, call, final);
}

int32_t grammar_harmony(struct reader *r, json_t *s, unsigned parts, int32_t end)
{
    const int32_t last = last_message(r, s, parts, end);
    int32_t start;
    if (parts & GRAMMAR_TEXT) {
        start = add(r, NODE_SPLIT, 0, 0, last, 0);
        const int32_t more = split(r, then_another(r, "analysis", start), then_another(r, "commentary", start));
        if (more < 0) return more;
        r->make->node[start].alt = more;
    } else {
        start = split(r, then_another(r, "analysis", last), last);
    }
    return mark(r, MARK_START, text(r, "assistant", start));
}
