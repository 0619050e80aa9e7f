/* clip_json.c - a JSON text read byte by byte as it flows past.
 *
 * Every byte gets a rank: from which level on it is shown.
 *
 *     {"items": [{"id": 1}, {"id": 2}, ...], "note": "a long string ..."}
 *      0  1      1 2  3      3  4      ^higher        1 ^higher
 *
 * A container's children rank DEPTH above it, and higher the further back they stand, so that a level shows the first
 * few of each container, and fewer the deeper it lies; the parts of a long string rank higher one by one.  Bytes next
 * to each other of one rank are an atom.  When the atoms' store is full the highest rank is given up, again and again:
 * what is left is a matter of the text alone.
 *
 * This decides what is shown, not what JSON is: it accepts all that is JSON with strings in UTF-8, nesting below
 * JSON_DEPTH and blanks and numbers that are not absurdly long, and somewhat more. */
#include "tools/clip_impl.h"

enum {
    VALUE, FIRST_ITEM, FIRST_KEY, KEY, COLON, AFTER, STRING, ESCAPE, HEX, WORD, DONE,
    DEPTH = 1, MEMBERS = 4, PART = 16, NUMBER = 64
};

/* ------------------------------------------------------------------ ranks */

/* Of the i-th: 0, 1, 2, 3, and then four to each doubling. */
static int cost(uint64_t i)
{
    if (i < 4) return (int)i;
    int bits = 64 - __builtin_clzll(i);
    return 4 * (bits - 2) + (int)(i >> (bits - 3) & 3);
}

/* The first i that costs v or more. */
static uint64_t cheapest(int v) { return v < 4 ? (uint64_t)MAX(v, 0) : (4 + (uint64_t)v % 4) << (v / 4 - 1); }

/* A member costs less than an item: keys are structure. */
static int child_cost(bool object, uint64_t i) { return cost(object ? i / MEMBERS : i); }

static uint64_t children_shown(const struct json_atom *close, uint64_t level)
{
    int left = (int)level - close->base;
    if (left < 0) return 0;
    uint64_t n = cheapest(left + 1);
    return MIN(close->items, close->place == PLACE_OBJECT ? MEMBERS * n : n);
}

/* ------------------------------------------------------------------ atoms */

static void give_up_a_rank(struct clip_json *j)
{
    int highest = -1, n = 0;
    uint32_t text = 0;
    for (int i = 0; i < j->n_atoms; i++) highest = MAX(highest, j->atom[i].rank);
    j->max_rank = highest - 1;
    for (int i = 0; i < j->n_atoms; i++) {
        struct json_atom a = j->atom[i];
        if (a.rank > j->max_rank) continue;
        memmove(j->text + text, j->text + a.text, a.len);
        a.text = text;
        text += a.len;
        j->atom[n++] = a;
    }
    j->n_atoms = n;
    j->n_text = text;
}

/* A byte of a rank at an offset.  A new atom where it is not the last one's next, or a place is given. */
static void put(struct clip_json *j, char c, uint64_t at, uint64_t newlines, int rank, int place)
{
    struct json_atom *last = j->n_atoms ? &j->atom[j->n_atoms - 1] : NULL;
    bool next = place < 0 && last && last->rank == rank && last->at + last->len == at;
    while (rank <= j->max_rank && (j->n_text == JSON_TEXT || (!next && j->n_atoms == JSON_ATOMS))) {
        give_up_a_rank(j); /* it may be the last atom's, and that is this one's then too */
    }
    if (rank > j->max_rank) return;
    if (!next)
        j->atom[j->n_atoms++] = (struct json_atom){.at = at, .newlines = newlines, .text = j->n_text,
                                                   .rank = (int16_t)rank, .place = (uint8_t)MAX(place, 0)};
    j->atom[j->n_atoms - 1].len++;
    j->text[j->n_text++] = c;
}

/* A token's byte, and before its first the blanks that it stands behind. */
static void put_token(struct clip_json *j, char c, int rank, int place)
{
    for (int i = 0; i < j->n_blanks; i++) {
        put(j, j->blanks[i], j->blanks_at + (uint64_t)i, j->blanks_newlines, rank, place);
        j->blanks_newlines += j->blanks[i] == '\n';
        place = -1;
    }
    j->n_blanks = 0;
    put(j, c, j->at, j->newlines, rank, place);
}

static void blank(struct clip_json *j, char c)
{
    bool bare_cr = j->n_blanks > 0 && j->blanks[j->n_blanks - 1] == '\r' && c != '\n';
    if (bare_cr || j->n_blanks == JSON_BLANKS) {
        j->bad = true; /* a filter would not leave a bare CR a blank; and who pads so much? */
        return;
    }
    if (j->n_blanks == 0) {
        j->blanks_at = j->at;
        j->blanks_newlines = j->newlines;
    }
    j->blanks[j->n_blanks++] = c;
    j->newlines += c == '\n';
}

/* ------------------------------------------------------------------ structure */

static void open_container(struct clip_json *j, bool object)
{
    if (j->depth == JSON_DEPTH) {
        j->bad = true;
        return;
    }
    put_token(j, object ? '{' : '[', j->rank, -1);
    j->open[j->depth++] = (struct json_level){0, j->rank, object};
    j->rank = MIN(j->rank + DEPTH, JSON_RANKS + 1);
    j->state = object ? FIRST_KEY : FIRST_ITEM;
}

static void close_container(struct clip_json *j, char c)
{
    struct json_level *o = j->depth ? &j->open[j->depth - 1] : NULL;
    if (!o || o->object != (c == '}')) {
        j->bad = true;
        return;
    }
    uint64_t items = o->n + (j->state == AFTER);
    put_token(j, c, o->rank, o->object ? PLACE_OBJECT : PLACE_ARRAY);
    struct json_atom *a = j->n_atoms ? &j->atom[j->n_atoms - 1] : NULL;
    if (a && a->at + a->len == j->at + 1) {
        a->items = items;
        a->base = (int16_t)(o->rank + DEPTH);
    }
    if (--j->depth == 0) j->members = items;
    j->rank = o->rank;
    j->state = j->depth ? AFTER : DONE;
}

static void comma(struct clip_json *j)
{
    struct json_level *o = &j->open[j->depth - 1];
    o->n++;
    j->rank = MIN(o->rank + DEPTH + child_cost(o->object, o->n), JSON_RANKS + 1);
    put_token(j, ',', j->rank, -1);
    j->state = o->object ? KEY : VALUE;
}

static void after_value(struct clip_json *j) { j->state = j->depth ? AFTER : DONE; }

static void begin_string(struct clip_json *j, bool key)
{
    put_token(j, '"', j->rank, -1);
    j->is_key = key;
    j->string_at = j->at;
    j->chunk_rank = j->rank;
    j->n_tail = 0;
    j->high = false;
    j->state = STRING;
}

static void begin_value(struct clip_json *j, char c)
{
    if (c == '"') {
        begin_string(j, false);
    } else if (c == '{' || c == '[') {
        open_container(j, c == '{');
    } else if (c && strchr("-0123456789tfn", c)) {
        put_token(j, c, j->rank, -1);
        j->word[0] = c;
        j->n_word = 1;
        j->state = WORD;
    } else {
        j->bad = true;
    }
}

static void structure(struct clip_json *j, char c)
{
    bool closes = c == ']' || c == '}';
    switch (j->state) {
    case VALUE: begin_value(j, c); return;
    case FIRST_ITEM: closes ? close_container(j, c) : begin_value(j, c); return;
    case FIRST_KEY:
    case KEY:
        if (closes && j->state == FIRST_KEY) {
            close_container(j, c);
        } else if (c == '"') {
            begin_string(j, true);
        } else {
            j->bad = true;
        }
        return;
    case COLON:
        if (c == ':') put_token(j, c, j->rank, -1);
        j->bad = c != ':';
        j->state = VALUE;
        return;
    case AFTER:
        if (closes)
            close_container(j, c);
        else if (c == ',')
            comma(j);
        else
            j->bad = true;
        return;
    default: j->bad = true; /* something after the end */
    }
}

/* ------------------------------------------------------------------ strings and words */

/* The parts of a string rank higher one by one; a new one begins with a character. */
static void string_byte(struct clip_json *j, char c)
{
    unsigned char u = (unsigned char)c;
    bool tail = u >= 0x80 && u <= 0xbf;
    j->n_tail = tail ? j->n_tail + 1 : 0;
    if (u < 0x20 || j->n_tail > 3) {
        j->bad = true;
        return;
    }
    if (c == '"') {
        put(j, c, j->at, j->newlines, j->rank, PLACE_STRING);
        if (j->is_key)
            j->state = COLON;
        else
            after_value(j);
        return;
    }
    uint64_t part = (j->at - j->string_at) / PART;
    if (!tail && !j->high && part >= 4) j->chunk_rank = MIN(j->rank + cost(part), JSON_RANKS + 1);
    put(j, c, j->at, j->newlines, j->chunk_rank, -1);
    if (c == '\\')
        j->state = ESCAPE;
    else
        j->high = false;
}

static void escape_byte(struct clip_json *j, char c)
{
    put(j, c, j->at, j->newlines, j->chunk_rank, -1);
    j->n_hex = 0;
    j->code = 0;
    j->state = c == 'u' ? HEX : STRING;
    if (c != 'u') j->high = false;
    if (!c || !strchr("\"\\/bfnrtu", c)) j->bad = true;
}

/* The two halves of a surrogate pair stay together. */
static void hex_byte(struct clip_json *j, char c)
{
    unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
    put(j, c, j->at, j->newlines, j->chunk_rank, -1);
    j->bad = digit > 15;
    j->code = j->code << 4 | (digit & 15);
    if (++j->n_hex < 4) return;
    j->high = j->code >= 0xd800 && j->code <= 0xdbff;
    j->state = STRING;
}

static bool word_ends(struct clip_json *j)
{
    static const char *const words[] = {"true", "false", "null"};
    bool good = strchr("-0123456789", j->word[0]) != NULL;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        good = good || ((size_t)j->n_word == strlen(words[i]) && memcmp(j->word, words[i], strlen(words[i])) == 0);
    after_value(j);
    j->bad = !good;
    return good;
}

static void word_byte(struct clip_json *j, char c)
{
    put(j, c, j->at, j->newlines, j->rank, -1);
    if ((size_t)j->n_word < sizeof j->word) j->word[j->n_word] = c;
    if (++j->n_word > NUMBER) j->bad = true;
}

/* ------------------------------------------------------------------ the stream */

void clip_json_begin(struct clip_json *j)
{
    memset(j, 0, offsetof(struct clip_json, blanks));
    j->state = VALUE;
    j->max_rank = JSON_RANKS;
}

static void json_byte(struct clip_json *j, char c)
{
    bool of_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == 'E';
    switch (j->state) {
    case STRING: string_byte(j, c); return;
    case ESCAPE: escape_byte(j, c); return;
    case HEX: hex_byte(j, c); return;
    case WORD:
        if (of_word) {
            word_byte(j, c);
            return;
        }
        if (!word_ends(j)) return;
        break;
    default: break;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        blank(j, c);
    else if (j->n_blanks > 0 && j->blanks[j->n_blanks - 1] == '\r')
        j->bad = true;
    else
        structure(j, c);
}

void clip_json_feed(struct clip_json *j, const char *s, size_t n)
{
    for (size_t i = 0; i < n && !j->bad; i++) {
        json_byte(j, s[i]);
        j->at++;
    }
}

bool clip_json_end(struct clip_json *j)
{
    if (j->bad || (j->state == WORD && !word_ends(j)) || j->state != DONE || j->max_rank < 0) return false;
    for (int i = 0; i < j->n_blanks; i++) {
        put(j, j->blanks[i], j->blanks_at + (uint64_t)i, j->blanks_newlines, 0, -1);
        j->blanks_newlines += j->blanks[i] == '\n';
    }
    return j->max_rank >= 0;
}

void clip_json_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct clip *c = self;
    const struct clip_json *j = &c->json;
    uint64_t shown = 0;
    for (int i = 0; i < j->n_atoms; i++) {
        const struct json_atom *a = &j->atom[i];
        bool closes = a->place == PLACE_ARRAY || a->place == PLACE_OBJECT;
        if ((uint64_t)a->rank > level) continue;
        uint64_t children = closes ? children_shown(a, level) : 0;
        clip_put(w, (struct clip_run){a->at, a->newlines, j->text + a->text, a->len, false,
                                      (enum clip_place)a->place, a->items - children});
        if (closes && a->rank == 0) shown = children;
    }
    clip_put_end(w, c->bytes, c->newlines, c->ends, PLACE_LINES, 0);
    w->f->count = j->members;
    w->f->shown_count = shown;
}
