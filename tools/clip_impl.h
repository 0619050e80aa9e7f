/* clip_impl.h - what the files of clip share: units of filtered text, the writer, and what each kind remembers. */
#ifndef CLIP_IMPL_H
#define CLIP_IMPL_H
#include "tools/clip.h"

/* ------------------------------------------------------------------ units (clip_unit.c)
 * A unit is what is filtered at once: a character, a bad part of one, CR LF, an escape sequence.  A unit that reaches
 * over its first byte begins with a byte that can only begin one, so that CLIP_UNIT bytes before a place decide whether
 * it is a border.  `end`: the original ends with s[n - 1]; else more may follow. */

size_t clip_unit(const char *s, size_t n, bool end);
bool clip_border(const char *s, size_t n, bool end, size_t p);
size_t clip_border_before(const char *s, size_t n, bool end, size_t p); /* the last border <= p */
size_t clip_border_after(const char *s, size_t n, bool end, size_t p);  /* the first border >= p, or n */
void clip_filter(const char *s, size_t n, struct buf *out);             /* whole units */
uint64_t clip_newlines(const char *s, size_t n);

/* The last border <= want, behind a newline if that loses less than half. */
size_t clip_cut_end(const char *s, size_t n, bool end, size_t want);
/* The first border >= from, behind a newline if that loses less than half of what follows. */
size_t clip_cut_start(const char *s, size_t n, bool end, size_t from);

/* ------------------------------------------------------------------ the writer (clip_write.c) */

enum clip_place { PLACE_LINES, PLACE_ROWS, PLACE_ARRAY, PLACE_OBJECT, PLACE_STRING };

struct clip_run { /* a run of the original that is to be shown */
    uint64_t at, newlines; /* offset; newlines before it */
    const char *bytes;
    size_t len;
    bool fresh;            /* it begins a line */
    enum clip_place place; /* what the gap before it, if there is one, lies in */
    uint64_t items;        /* left out in that gap (not PLACE_LINES and PLACE_STRING) */
};

struct clip_writer {
    struct buf *out;
    struct clip_figures *f;
    size_t from;               /* out->len at the beginning */
    uint64_t pos, newlines;    /* of the original: everything before pos is decided */
    char last;                 /* the byte before pos, if a run ended there */
    bool brief;                /* marks are [...] */
    bool inner;                /* marks only between runs */
    bool full;                 /* more than CLIP_RANGES: not to be used */
};

void clip_put(struct clip_writer *w, struct clip_run run); /* by offset; what was shown already is passed over */
/* Ends the text of an original of so many bytes and newlines; `ends` is its last byte, items are left out last. */
void clip_put_end(struct clip_writer *w, uint64_t bytes, uint64_t newlines, char ends, enum clip_place place,
                  uint64_t items);

/* Bytes to keep, from what the caller wants. */
size_t clip_hold(const struct clip_config *cfg);

/* The best text: about the highest level of 0..max that fits.  draw() puts runs; a level always gives the same text. */
struct clip_drawing {
    void (*draw)(void *self, uint64_t level, struct clip_writer *w);
    void *self;
    uint64_t max;
    bool inner;
};
/* True: out and f hold it.  False: not even level 0 fits (or out failed); out is as it was. */
bool clip_best(const struct clip_config *cfg, const struct clip_drawing *d, bool brief, struct buf *out,
               struct clip_figures *f);

/* ------------------------------------------------------------------ what a kind remembers */

enum { CLIP_LINE = 256, CLIP_FIRST = 64, CLIP_LAST = 64 };

struct clip_line {
    uint64_t at, newlines;
    uint32_t len;
    bool bad, cut; /* looks like an error; the line is longer */
    char bytes[CLIP_LINE];
};

struct clip_log {
    uint64_t at, newlines, errors;
    struct clip_line line[2]; /* the current one and the one before */
    int now;
    bool before_kept, in_line, after; /* keep the line after an error too */
    uint64_t n; /* lines kept, those thrown out again included */
    struct clip_line first[CLIP_FIRST], last[CLIP_LAST];
};

enum { JSON_DEPTH = 128, JSON_ATOMS = 3072, JSON_TEXT = 64 << 10, JSON_BLANKS = 256, JSON_RANKS = 200 };

struct json_atom { /* contiguous bytes that are shown from the same level on */
    uint64_t at, newlines, items;
    uint32_t text, len;
    int16_t rank, base; /* base: of the children of the container that this closes */
    uint8_t place;
};

struct json_level { uint64_t n; int rank; bool object; };

struct clip_json {
    uint64_t at, newlines, string_at, members;
    int state, depth, rank, chunk_rank, max_rank, n_atoms, n_blanks, n_word, n_hex, n_tail;
    unsigned code;
    bool is_key, high, bad;
    uint64_t blanks_at, blanks_newlines;
    uint32_t n_text;
    char blanks[JSON_BLANKS], word[8];
    struct json_level open[JSON_DEPTH];
    struct json_atom atom[JSON_ATOMS];
    char text[JSON_TEXT];
};

struct clip_csv {
    char delimiter;
    bool quoted, in_row, field_start;
    uint64_t rows;
};

struct clip {
    struct clip_config cfg;
    uint64_t bytes, newlines;
    char ends;              /* the last byte */
    bool looked, finished;
    enum clip_kind kind;
    size_t head, ring;      /* the two parts of store: the first bytes, the last bytes */
    union {
        struct clip_log log;
        struct clip_json json;
        struct clip_csv csv;
    };
    char store[];
};

/* After the ring was turned: two parts of the original.  Everything kept: the tail is empty. */
struct clip_part { uint64_t at, newlines; const char *bytes; size_t len; bool end; };
struct clip_part clip_head(const struct clip *c);
struct clip_part clip_tail(const struct clip *c);
/* The first `head` and the last `tail` bytes, cut well.  Runs between them may be put between the two calls. */
void clip_put_head(const struct clip *c, uint64_t len, struct clip_writer *w);
struct clip_run clip_tail_run(const struct clip *c, uint64_t len);

enum clip_kind clip_look(struct clip *c, const char *s, size_t n, bool end);

void clip_log_feed(struct clip_log *l, const char *s, size_t n);
void clip_log_end(struct clip_log *l);
bool clip_log_bad(const char *s, size_t n);
void clip_log_draw(void *self, uint64_t level, struct clip_writer *w);

void clip_json_begin(struct clip_json *j);
void clip_json_feed(struct clip_json *j, const char *s, size_t n);
bool clip_json_end(struct clip_json *j); /* true: it was JSON */
void clip_json_draw(void *self, uint64_t level, struct clip_writer *w);

void clip_csv_begin(struct clip_csv *v, char delimiter);
/* Feeds bytes; returns where the last row that ended in them ended (0: none did). */
size_t clip_csv_feed(struct clip_csv *v, const char *s, size_t n);
char clip_csv_delimiter(const char *s, size_t n, bool end); /* 0: this is no table */
void clip_csv_draw(void *self, uint64_t level, struct clip_writer *w);
#endif
