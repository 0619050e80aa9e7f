/* grammar_regex.c - a regular expression written out as nodes.
 *
 *     pattern -> [parse] -> pieces, a tree -> [write, from the back] -> nodes
 *
 * Of ECMA-262's words, which JSON Schema has too, those that an automaton can say: letters, `.`, classes, groups,
 * | * + ? {m,n}, and ^ and $ at the ends of the whole or of one of its alternatives.  Sets are of ASCII, and of all
 * characters beyond it or none: so [^"] has an e with an accent, and [à-é] is not known. */
#include "engine/grammar_nodes.h"

enum { MOST = 1024, GROUPS = 32 }; /* bytes of a pattern and repetitions; groups inside each other */

/* Trees, by number.  SET: those of ASCII, and perhaps all others. */
enum piece_kind { P_EMPTY, P_SET, P_LETTER, P_BOTH, P_EITHER, P_REPEAT };
struct piece {
    uint8_t kind;
    bool wide;
    uint32_t letter;  /* beyond ASCII */
    uint64_t set[2];
    int a, b;
    int least, most;  /* most -1: any number */
};

struct parser {
    const unsigned char *at, *end;
    struct piece *all;
    int n, room, depth;
    bool search;
    const char *why;
};

static int refuse(struct parser *p, const char *why)
{
    if (!p->why) p->why = why;
    return -1;
}

static int make(struct parser *p, struct piece piece)
{
    if (p->why) return -1;
    if (p->n == p->room) return refuse(p, "it is too long");
    p->all[p->n] = piece;
    return p->n++;
}

static int both(struct parser *p, int a, int b)
{
    return a < 0 || b < 0 ? -1 : make(p, (struct piece){.kind = P_BOTH, .a = a, .b = b});
}

/* ------------------------------------------------------------------ sets */

static void put(struct piece *s, unsigned from, unsigned to)
{
    for (unsigned c = from; c <= to && c < 128; c++) s->set[c / 64] |= UINT64_C(1) << c % 64;
}

static bool has(const struct piece *s, unsigned c) { return s->set[c / 64] >> c % 64 & 1; }

static void turn_round(struct piece *s)
{
    s->set[0] = ~s->set[0];
    s->set[1] = ~s->set[1];
    s->wide = !s->wide;
}

static void join(struct piece *s, const struct piece *other)
{
    s->set[0] |= other->set[0];
    s->set[1] |= other->set[1];
    s->wide |= other->wide;
}

/* \d and its like; false: it is none. */
static bool known_set(unsigned char c, struct piece *out)
{
    *out = (struct piece){.kind = P_SET};
    switch (c | 0x20) {
    case 'd': put(out, '0', '9'); break;
    case 'w': put(out, '0', '9'), put(out, 'a', 'z'), put(out, 'A', 'Z'), put(out, '_', '_'); break;
    case 's': put(out, '\t', '\r'), put(out, ' ', ' '); break;
    default: return false;
    }
    if (c < 'a') turn_round(out);
    return true;
}

/* ------------------------------------------------------------------ letters */

static int hex(struct parser *p, int digits)
{
    int value = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        const int c = p->at < p->end ? *p->at : 0, low = c | 0x20;
        const bool letter = low >= 'a' && low <= 'f';
        if (!letter && (c < '0' || c > '9')) return refuse(p, "an escape lacks its digits");
        value = value * 16 + (letter ? low - 'a' + 10 : c - '0');
    }
    return value;
}

/* The pattern is UTF-8, being a text of JSON. */
static int next_letter(struct parser *p)
{
    int c = *p->at++;
    if (c < 0x80) return c;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    c &= 0x3f >> more;
    for (; more > 0 && p->at < p->end; more--) c = c << 6 | (*p->at++ & 0x3f);
    return c;
}

/* Behind a backslash. */
static int escaped(struct parser *p, bool in_class)
{
    static const char names[] = "tnrfv", means[] = "\t\n\r\f\v";
    if (p->at == p->end) return refuse(p, "it ends in a backslash");
    const unsigned char c = *p->at++;
    const char *name = strchr(names, c);
    if (c && name) return means[name - names];
    if (c == 'x') return hex(p, 2);
    if (c == 'u') return hex(p, 4);
    if (c == 'b' && in_class) return '\b';
    if (c == 'b' || c == 'B') return refuse(p, "\\b (the edge of a word) is not known");
    if (c >= '0' && c <= '9') return refuse(p, "\\1 (what a group had) is not known");
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') return refuse(p, "an escape of this letter is not known");
    p->at--;
    return next_letter(p);
}

static int letter(struct parser *p, int c)
{
    struct piece s = {.kind = P_SET};
    if (c < 0) return -1;
    if (c == 0 || (c >= 0xd800 && c < 0xe000)) return refuse(p, "it has a letter that no text has");
    if (c >= 0x80) return make(p, (struct piece){.kind = P_LETTER, .letter = (uint32_t)c});
    put(&s, (unsigned)c, (unsigned)c);
    return make(p, s);
}

/* One end of a range in a class, or a set: then *set has it and -2 comes back. */
static int class_letter(struct parser *p, struct piece *set)
{
    if (*p->at != '\\') return next_letter(p);
    p->at++;
    if (p->at < p->end && known_set(*p->at, set)) return p->at++, -2;
    return escaped(p, true);
}

/* Behind a [. */
static int class(struct parser *p)
{
    struct piece s = {.kind = P_SET};
    int others = -1;
    const bool round = p->at < p->end && *p->at == '^';
    p->at += round;
    while (p->at < p->end && *p->at != ']') {
        struct piece set;
        const int from = class_letter(p, &set);
        if (from == -2) join(&s, &set);
        if (from == -1) return -1;
        const bool range = p->at + 1 < p->end && *p->at == '-' && p->at[1] != ']';
        if (from < 0 && range) return refuse(p, "a range has no set at its end");
        if (from < 0) continue;
        p->at += range;
        const int to = range ? class_letter(p, &set) : from;
        if (to < from) return refuse(p, "a range ends before it begins");
        if (to < 0x80) {
            put(&s, (unsigned)from, (unsigned)to);
            continue;
        }
        if (range || round) return refuse(p, "classes of letters beyond ASCII are not known, but for one by one");
        const int one = letter(p, to);
        others = others < 0 ? one : make(p, (struct piece){.kind = P_EITHER, .a = others, .b = one});
        if (others < 0) return -1;
    }
    if (p->at == p->end) return refuse(p, "a class has no ]");
    p->at++;
    if (round) turn_round(&s);
    if (!s.set[0] && !s.set[1] && !s.wide) return others >= 0 ? others : refuse(p, "a class is empty");
    const int set = make(p, s);
    return others < 0 ? set : make(p, (struct piece){.kind = P_EITHER, .a = others, .b = set});
}

/* ------------------------------------------------------------------ the tree */

static int alternatives(struct parser *p, bool top);

/* Behind a (. */
static int group(struct parser *p)
{
    if (p->at + 1 < p->end && *p->at == '?') {
        const bool python = p->at[1] == 'P', named = p->at[1 + python] == '<';
        const unsigned char *name = p->at + 2 + python;
        if (p->at[1] == ':') p->at += 2;
        else if (!named || name >= p->end || *name == '=' || *name == '!')
            return refuse(p, "what is looked for ahead or behind is not known, nor are options");
        else for (p->at = name; p->at < p->end && *p->at++ != '>';) {}
    }
    if (++p->depth > GROUPS) return refuse(p, "groups are too deep inside each other");
    const int inner = alternatives(p, false);
    if (inner < 0) return -1;
    if (p->at == p->end || *p->at != ')') return refuse(p, "a group has no )");
    p->at++;
    p->depth--;
    return inner;
}

static int atom(struct parser *p)
{
    struct piece s = {.kind = P_SET};
    switch (*p->at) {
    case '(': p->at++; return group(p);
    case '[': p->at++; return class(p);
    case '*':
    case '+':
    case '?': return refuse(p, "a repetition has nothing before it");
    case '^':
    case '$': return refuse(p, "^ and $ can only be at its ends");
    case '.':
        p->at++;
        put(&s, '\n', '\n'), put(&s, '\r', '\r');
        turn_round(&s);
        return make(p, s);
    case '\\':
        p->at++;
        if (p->at < p->end && known_set(*p->at, &s)) return p->at++, make(p, s);
        return letter(p, escaped(p, false));
    default: return letter(p, next_letter(p));
    }
}

static bool number(const unsigned char **at, const unsigned char *end, int *out)
{
    const unsigned char *from = *at;
    for (*out = 0; *at < end && **at >= '0' && **at <= '9' && *out <= MOST; ++*at) *out = *out * 10 + (**at - '0');
    return *at > from;
}

/* {m}, {m,} or {m,n}; false: the brace is a letter. */
static bool braces(struct parser *p, int *least, int *most)
{
    const unsigned char *at = p->at + 1;
    if (!number(&at, p->end, least)) return false;
    *most = *least;
    if (at < p->end && *at == ',' && (at++, !number(&at, p->end, most))) *most = -1;
    if (at == p->end || *at != '}') return false;
    p->at = at + 1;
    return true;
}

/* {,n} is a letter each to some, and 0 to n of them to others. */
static bool has_two_meanings(const struct parser *p)
{
    const unsigned char *at = p->at + 1;
    int n;
    return at < p->end && *at++ == ',' && number(&at, p->end, &n) && at < p->end && *at == '}';
}

static int repeated(struct parser *p, int a)
{
    int least = 1, most = 1;
    if (a < 0 || p->at == p->end) return a;
    switch (*p->at) {
    case '*': p->at++, least = 0, most = -1; break;
    case '+': p->at++, most = -1; break;
    case '?': p->at++, least = 0; break;
    case '{':
        if (braces(p, &least, &most)) break;
        return has_two_meanings(p) ? refuse(p, "{,n} has two meanings: write {0,n}") : a;
    default: return a;
    }
    if (least > MOST || most > MOST) return refuse(p, "something comes more than 1024 times");
    if (most >= 0 && most < least) return refuse(p, "a repetition has less at most than at least");
    if (p->at < p->end && *p->at == '?') p->at++; /* of which one is found makes no difference to what may be written */
    const bool brace = p->at < p->end && *p->at == '{', sign = p->at < p->end && (*p->at == '+' || *p->at == '*');
    if (sign || (brace && braces(p, &(int){0}, &(int){0}))) return refuse(p, "a repetition is repeated");
    return make(p, (struct piece){.kind = P_REPEAT, .a = a, .least = least, .most = most});
}

static int anything(struct parser *p)
{
    const int all = make(p, (struct piece){.kind = P_SET, .set = {~UINT64_C(0), ~UINT64_C(0)}, .wide = true});
    return all < 0 ? -1 : make(p, (struct piece){.kind = P_REPEAT, .a = all, .least = 0, .most = -1});
}

static bool ends_here(const struct parser *p) { return p->at == p->end || *p->at == '|' || *p->at == ')'; }

static int sequence(struct parser *p, bool top)
{
    const bool from_start = top && p->at < p->end && *p->at == '^';
    p->at += from_start;
    int all = top && p->search && !from_start ? anything(p) : make(p, (struct piece){.kind = P_EMPTY});
    while (all >= 0 && !ends_here(p)) {
        if (top && *p->at == '$' && (p->at + 1 == p->end || p->at[1] == '|')) {
            p->at++;
            return all;
        }
        all = both(p, all, repeated(p, atom(p)));
    }
    return top && p->search ? both(p, all, anything(p)) : all;
}

static int alternatives(struct parser *p, bool top)
{
    int all = sequence(p, top);
    while (all >= 0 && p->at < p->end && *p->at == '|') {
        p->at++;
        const int other = sequence(p, top);
        all = other < 0 ? -1 : make(p, (struct piece){.kind = P_EITHER, .a = all, .b = other});
    }
    return all;
}

/* The tree's root; -1: p->why.  p->all is due to be given back either way. */
static int parse(struct parser *p, const char *pattern, size_t n, bool search)
{
    *p = (struct parser){.at = (const unsigned char *)pattern, .search = search};
    p->end = p->at + n;
    if (n > MOST) return refuse(p, "it has more than 1024 bytes");
    p->room = 4 * (int)n + 16;
    p->all = malloc((size_t)p->room * sizeof *p->all);
    if (!p->all) return refuse(p, "there is no memory for it");
    const int root = alternatives(p, true);
    return root >= 0 && p->at < p->end ? refuse(p, "a ) has no group") : root;
}

/* ------------------------------------------------------------------ nodes */

struct writer {
    struct reader *r;
    const struct piece *all;
    bool quoted; /* inside a string of JSON, spelled as its values are */
};

static int32_t either(struct reader *r, int32_t a, int32_t b) { return b == 0 ? a : split(r, a, b); }

/* One character beyond ASCII. */
static int32_t wide(struct reader *r, int32_t next)
{
    const int32_t one = range(r, 0x80, 0xbf, next), two = range(r, 0x80, 0xbf, one), three = range(r, 0x80, 0xbf, two);
    int32_t all = range(r, 0xc2, 0xdf, one);
    all = split(r, byte(r, 0xe0, range(r, 0xa0, 0xbf, one)), all);
    all = split(r, split(r, range(r, 0xe1, 0xec, two), range(r, 0xee, 0xef, two)), all);
    all = split(r, byte(r, 0xed, range(r, 0x80, 0x9f, one)), all);
    all = split(r, byte(r, 0xf0, range(r, 0x90, 0xbf, two)), all);
    all = split(r, range(r, 0xf1, 0xf3, three), all);
    return split(r, byte(r, 0xf4, range(r, 0x80, 0x8f, two)), all);
}

/* How JSON spells a letter that it escapes, behind the backslash; 0: as it is.  Other control characters have no short
 * spelling, and none here. */
static int escape_of(unsigned c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c > 0 ? strchr(from, (int)c) : NULL;
    return at ? to[at - from] : 0;
}

static int32_t write_set(const struct writer *w, const struct piece *s, int32_t next)
{
    int32_t all = s->wide ? wide(w->r, next) : 0, escapes = 0; /* 0: none; node 0 is the end, where nothing begins */
    for (unsigned c = w->quoted ? 0x20 : 1; c < 128 && all >= 0; c++) {
        unsigned to = c;
        const bool skip = !has(s, c) || (w->quoted && escape_of(c));
        if (skip) continue;
        while (to + 1 < 128 && has(s, to + 1) && !(w->quoted && escape_of(to + 1))) to++;
        all = either(w->r, range(w->r, (int)c, (int)to, next), all);
        c = to;
    }
    for (unsigned c = 1; c < 128 && w->quoted && escapes >= 0; c++)
        if (has(s, c) && escape_of(c)) escapes = either(w->r, byte(w->r, escape_of(c), next), escapes);
    if (all < 0 || escapes < 0) return MIN(all, escapes);
    if (escapes > 0) all = either(w->r, byte(w->r, '\\', escapes), all);
    return all ? all : grammar_refuse(w->r, GRAMMAR_REFUSED, "pattern: it has a letter that no text has");
}

static int32_t write_letter(struct reader *r, uint32_t c, int32_t next)
{
    const int tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    for (int i = 0; i < tail; i++, c >>= 6) next = byte(r, 0x80 | (int)(c & 0x3f), next);
    return byte(r, (tail == 1 ? 0xc0 : tail == 2 ? 0xe0 : 0xf0) | (int)c, next);
}

static int32_t write_piece(const struct writer *w, int i, int32_t next);

static int32_t write_repeat(const struct writer *w, const struct piece *x, int32_t next)
{
    struct reader *r = w->r;
    int32_t all = next;
    if (x->most < 0) {
        all = add(r, NODE_SPLIT, 0, 0, next, 0);
        const int32_t again = write_piece(w, x->a, all);
        if (again < 0) return again;
        r->make->node[all].alt = again;
    }
    for (int i = x->least; i < x->most && all >= 0; i++) all = split(r, write_piece(w, x->a, all), next);
    for (int i = 0; i < x->least && all >= 0; i++) {
        const int32_t before = all;
        all = write_piece(w, x->a, all);
        if (all == before) break; /* it is nothing: thousands of thousands of it are no more */
    }
    return all;
}

static int32_t write_piece(const struct writer *w, int i, int32_t next)
{
    const struct piece *x = &w->all[i];
    for (; x->kind == P_BOTH && next >= 0; x = &w->all[x->a]) next = write_piece(w, x->b, next);
    if (next < 0) return next;
    switch (x->kind) {
    case P_SET: return write_set(w, x, next);
    case P_LETTER: return write_letter(w->r, x->letter, next);
    case P_EITHER: return split(w->r, write_piece(w, x->a, next), write_piece(w, x->b, next));
    case P_REPEAT: return write_repeat(w, x, next);
    default: return next;
    }
}

int32_t grammar_regex(struct reader *r, const char *pattern, size_t n, unsigned how, int32_t next)
{
    struct parser p;
    const int root = parse(&p, pattern, n, how & REGEX_SEARCH);
    const struct writer w = {r, p.all, how & REGEX_QUOTED};
    const int32_t start = root < 0 ? grammar_refuse(r, GRAMMAR_REFUSED, "pattern: %s", p.why)
                                   : write_piece(&w, root, next);
    free(p.all);
    return start;
}

/* ------------------------------------------------------------------ beforehand */

/* About how many nodes; at most a million. */
static long size_of(const struct piece *all, int i)
{
    const struct piece *x = &all[i];
    long n = 0;
    for (; x->kind == P_BOTH; x = &all[x->a]) n += size_of(all, x->b);
    if (x->kind == P_SET) n += 8 + (x->wide ? 24 : 0);
    if (x->kind == P_LETTER) n += 4;
    if (x->kind == P_EITHER) n += 1 + size_of(all, x->a) + size_of(all, x->b);
    if (x->kind == P_REPEAT) n += (1 + size_of(all, x->a)) * MAX(MAX(x->least, x->most), 1);
    return MIN(n, 1000000);
}

long grammar_pattern_nodes(const char *pattern, size_t n, const char **why)
{
    struct parser p;
    const int root = parse(&p, pattern, n, true);
    const long nodes = root < 0 ? -1 : size_of(p.all, root);
    if (root < 0 && why) *why = p.why;
    free(p.all);
    return nodes;
}
