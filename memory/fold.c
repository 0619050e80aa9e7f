/* fold.c - characters to words, pairs and joined words. */
#include "memory/fold.h"
#include <utf8proc.h>

enum {
    FORMS = 32,                   /* code points that one decomposes to; Unicode's longest is 18 */
    UNIT_MAX = FOLD_TERM_MAX / 2  /* bytes of one character of a pair */
};

struct run { /* folded bytes and where they stood */
    uint8_t bytes[FOLD_TERM_MAX];
    size_t n, at, end;
    bool open, cut;
};

struct folder {
    fold_sink *sink;
    void *self;
    struct run word;         /* of a script with blanks */
    struct run joined;       /* the words so far and what joined them */
    int parts;               /* in joined */
    char joint;              /* stood behind the last of them; 0: nothing yet */
    struct run unit, before; /* a character of the other scripts with its marks, and the one before it */
};

static void emit(struct folder *f, const struct run *r, size_t n)
{
    const struct fold_term t = {r->bytes, n, r->at, r->end - r->at};
    f->sink(f->self, &t);
}

static void run_begin(struct run *r, size_t at)
{
    r->open = true;
    r->cut = false;
    r->n = 0;
    r->at = r->end = at;
}

/* Once it is cut nothing more is taken: a term has no gaps. */
static void run_put(struct run *r, const uint8_t *bytes, size_t n, size_t most, size_t end)
{
    r->end = end;
    if (r->cut || n > most - r->n) {
        r->cut = true;
        return;
    }
    memcpy(r->bytes + r->n, bytes, n);
    r->n += n;
}

/* ------------------------------------------------------------------ words */

static bool ends(const struct run *r, const char *tail)
{
    size_t n = strlen(tail);
    return r->n > n && memcmp(r->bytes + r->n - n, tail, n) == 0;
}

/* Bytes of the word without its plural; "ies" becomes "y". */
static size_t stem(struct run *r)
{
    if (r->n < 4 || r->cut || r->bytes[r->n - 1] != 's') return r->n;
    for (size_t i = 0; i < r->n; i++)
        if (r->bytes[i] < 'a' || r->bytes[i] > 'z') return r->n;
    if (ends(r, "ies")) {
        if (ends(r, "eies") || ends(r, "aies")) return r->n;
        r->bytes[r->n - 3] = 'y';
        return r->n - 2;
    }
    if (ends(r, "es")) return ends(r, "aes") || ends(r, "ees") || ends(r, "oes") ? r->n : r->n - 1;
    return ends(r, "us") || ends(r, "ss") ? r->n : r->n - 1;
}

static void end_word(struct folder *f)
{
    if (!f->word.open) return;
    f->parts++;
    f->joined.end = f->word.end;
    emit(f, &f->word, stem(&f->word));
    f->word.open = false;
}

static void end_joined(struct folder *f)
{
    end_word(f);
    if (f->parts > 1 && !f->joined.cut) emit(f, &f->joined, f->joined.n);
    f->joined.open = false;
    f->parts = 0;
    f->joint = 0;
}

static void put_letter(struct folder *f, const uint8_t *bytes, size_t n, size_t at, size_t end)
{
    if (!f->word.open) {
        run_begin(&f->word, at);
        if (!f->joined.open) run_begin(&f->joined, at);
        if (f->joint) run_put(&f->joined, (const uint8_t *)&f->joint, 1, FOLD_TERM_MAX, at);
        f->joint = 0;
    }
    run_put(&f->word, bytes, n, FOLD_TERM_MAX, end);
    run_put(&f->joined, bytes, n, FOLD_TERM_MAX, end);
}

static void put_joint(struct folder *f, char c)
{
    if (f->word.open) {
        end_word(f);
        f->joint = c;
    } else {
        end_joined(f);
    }
}

/* ------------------------------------------------------------------ pairs */

/* The unit is whole: a pair with the one before it. */
static void end_unit(struct folder *f)
{
    struct run pair = f->before;
    if (!f->unit.open) return;
    if (pair.open) {
        memcpy(pair.bytes + pair.n, f->unit.bytes, f->unit.n);
        pair.end = f->unit.end;
        emit(f, &pair, pair.n + f->unit.n);
    }
    f->before = f->unit;
    f->unit.open = false;
}

static void end_pairs(struct folder *f)
{
    bool alone = f->unit.open && !f->before.open;
    if (alone) emit(f, &f->unit, f->unit.n);
    else end_unit(f);
    f->unit.open = f->before.open = false;
}

static void put_unit(struct folder *f, const uint8_t *bytes, size_t n, size_t at, size_t end)
{
    end_unit(f);
    run_begin(&f->unit, at);
    run_put(&f->unit, bytes, n, UNIT_MAX, end);
}

/* ------------------------------------------------------------------ characters */

/* Letters whose words are not parted by blanks, and the parts that Hangul syllables decompose to. */
static bool is_dense(int32_t c)
{
    static const struct { int32_t first, last; } ranges[] = {
        {0x0e00, 0x0eff}, {0x1000, 0x109f},   /* Thai, Lao; Burmese */
        {0x1100, 0x11ff}, {0x1780, 0x17ff},   /* Hangul; Khmer */
        {0x3005, 0x3007}, {0x3040, 0x30ff},   /* signs used among Han; kana */
        {0x31f0, 0x31ff}, {0x3400, 0x9fff},   /* kana; Han */
        {0xa960, 0xa97f}, {0xa9e0, 0xa9ff},   /* Hangul; Burmese */
        {0xaa60, 0xaa7f}, {0xac00, 0xd7ff},   /* Burmese; Hangul */
        {0xf900, 0xfaff}, {0x1aff0, 0x1b16f}, /* Han; kana */
        {0x20000, 0x3ffff}                    /* Han */
    };
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (c >= ranges[i].first && c <= ranges[i].last) return true;
    return false;
}

/* The vowel or the last consonant of a Hangul syllable: a part of the unit that its first consonant began. */
static bool is_hangul_rest(int32_t c) { return (c >= 0x1160 && c <= 0x11ff) || (c >= 0xd7b0 && c <= 0xd7ff); }

static bool is_letter(utf8proc_propval_t category)
{
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
           (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

/* Combining classes 0 and 7 to 9 (vowel signs, nukta, voicing, virama) are parts of letters; overlays, the points of
 * Hebrew and Arabic, tones and accents have others. */
static bool is_kept(const utf8proc_property_t *p)
{
    return p->category != UTF8PROC_CATEGORY_ME &&
           (p->combining_class == 0 || (p->combining_class >= 7 && p->combining_class <= 9));
}

static void border(struct folder *f)
{
    end_joined(f);
    end_pairs(f);
}

static void put_mark(struct folder *f, const utf8proc_property_t *p, const uint8_t *bytes, size_t n, size_t end)
{
    struct run *r = f->unit.open ? &f->unit : &f->word;
    if (!r->open) return; /* on nothing */
    r->end = end;
    if (!is_kept(p)) return;
    run_put(r, bytes, n, r == &f->unit ? UNIT_MAX : FOLD_TERM_MAX, end);
    if (r == &f->word) run_put(&f->joined, bytes, n, FOLD_TERM_MAX, end);
}

/* One code point of what the character at [at, end) decomposes to. */
static void put_form(struct folder *f, int32_t c, size_t at, size_t end)
{
    const utf8proc_property_t *p = utf8proc_get_property(c);
    uint8_t bytes[4];
    if (c == 0x131) c = 'i';
    size_t n = (size_t)utf8proc_encode_char(c, bytes);
    if (p->category >= UTF8PROC_CATEGORY_MN && p->category <= UTF8PROC_CATEGORY_ME) {
        put_mark(f, p, bytes, n, end);
    } else if (c > 0 && c < 0x80 && strchr("._-/\\:@", (char)c)) {
        end_pairs(f);
        put_joint(f, (char)c);
    } else if (!is_letter(p->category)) {
        border(f);
    } else if (!is_dense(c)) {
        end_pairs(f);
        put_letter(f, bytes, n, at, end);
    } else if (is_hangul_rest(c) && f->unit.open) {
        run_put(&f->unit, bytes, n, UNIT_MAX, end);
    } else {
        end_joined(f);
        put_unit(f, bytes, n, at, end);
    }
}

void fold_text(const void *text, size_t n, fold_sink *sink, void *self)
{
    const utf8proc_option_t how =
        UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    struct folder f = {.sink = sink, .self = self};
    const uint8_t *bytes = text;
    int32_t c, form[FORMS];
    for (size_t at = 0; at < n;) {
        ptrdiff_t len = utf8proc_iterate(bytes + at, (ptrdiff_t)MIN(n - at, (size_t)4), &c);
        ptrdiff_t forms = len > 0 ? utf8proc_decompose_char(c, form, FORMS, how, NULL) : -1;
        size_t end = at + (size_t)MAX(len, (ptrdiff_t)1);
        if (forms < 0 || forms > FORMS) border(&f);
        for (ptrdiff_t i = 0; forms <= FORMS && i < forms; i++) put_form(&f, form[i], at, end);
        at = end;
    }
    border(&f);
}
