/* clip.h - a tool's result, of any size and any bytes, becomes a text of at most N tokens for the model.
 *
 *     bytes as they arrive -> clip_feed() -> [ head | ... | tail ] + what its kind remembers -> clip_finish() -> text
 *
 * The text is runs of the original in their order.  Where something lies between two runs a mark says so:
 *
 *     [... 120 lines, 4096 bytes from offset 5000 left out ...]        or, where N is small, [...]
 *     [... 12 items ...]                                               in JSON, where little is left out
 *
 * By kind, told or found by a look at the first CLIP_LOOK bytes:
 *     text   the head and the tail
 *     log    first lines, last lines, and lines that look like errors with a line before and after them
 *     JSON   outer structure first: the first items of each container, the start of each long string; where the
 *            original was valid the text is valid too (marks are strings).  Not JSON after all: text
 *     CSV    (also with tabs or semicolons) header, first rows, how many rows.  A quote that never ends: text
 *
 * Always: tokens(text) <= N as the counter counts, down to N = 0; the same bytes give the same text however they were
 * cut into feeds; what fits whole is given whole, if it is not longer than `hold`.
 *
 * What is shown is filtered, character by character.  A colour or cursor sequence (ESC [ ... of at most CLIP_UNIT
 * bytes) goes, and so does the CR of a CR LF.  Other control characters are shown as their pictures (NUL as U+2400, ESC
 * as U+241B, a lone CR as U+240D, DEL as U+2421); tab and newline stay.  U+FFFD stands for bytes that are no UTF-8
 * (one for a maximal part), U+0080 to U+009F, the marks that turn the direction of writing, and the invisible tag
 * characters.  No cut goes through a character or one of these sequences.  Figures count bytes of the original: what
 * was filtered out of a shown run counts as shown.
 *
 * Memory: exactly clip_room() bytes, taken at open; feeding takes none.  The out buffer grows to at most 3 * hold and
 * the marks.  The notice round a clipped result (assets/forms/clip.txt) is the caller's, who counts its tokens too.
 * Threads: one clip, one thread at a time. */
#ifndef CLIP_H
#define CLIP_H
#include "plimsoll.h"

enum { CLIP_LOOK = 4096, CLIP_UNIT = 32, CLIP_RANGES = 256, CLIP_HOLD_MIN = 16 << 10, CLIP_HOLD_MAX = 16 << 20 };

enum clip_kind { CLIP_AUTO, CLIP_TEXT, CLIP_LOG, CLIP_JSON, CLIP_CSV };

/* Tokens of a text, or an upper bound: the same for the same text, and about the more the longer.  It is called about
 * log2(hold) times for a result, each time with at most 3 * hold bytes. */
struct clip_counter {
    size_t (*count)(void *self, const char *text, size_t n);
    void *self;
};

struct clip_config {
    struct clip_counter counter;
    size_t max_tokens;
    enum clip_kind kind; /* a shell's output is best told to be a log */
    size_t hold;         /* bytes of the original that are kept, half of them its end; 0: 16 for each token.  It is
                            brought between CLIP_HOLD_MIN and CLIP_HOLD_MAX */
};

struct clip_range { /* one run that is shown */
    uint64_t at, len;    /* in the original */
    size_t out, out_len; /* its filtered text: from where this call began to append */
};

struct clip_figures {
    enum clip_kind kind;                         /* by which it was clipped in the end */
    bool whole;                                  /* nothing is left out */
    uint64_t bytes, shown_bytes, left_bytes;     /* bytes = shown + left */
    uint64_t lines, shown_lines, left_lines;     /* a line of which one byte is shown is shown */
    uint64_t count, shown_count;                 /* log: lines like errors (shown: of the up to 128 lines that are
                                                    remembered); CSV: rows with the header; JSON: members of the
                                                    outermost value; a pattern: matches; else 0 */
    uint64_t next;                               /* where to read on: the first byte that is left out; else bytes */
    size_t tokens;                               /* of the text, marks included */
    int n_ranges;
    struct clip_range range[CLIP_RANGES];        /* by offset; between two of them there is a gap */
};

struct clip;

size_t clip_room(const struct clip_config *cfg);                            /* bytes */
struct clip *clip_open(const struct clip_config *cfg, struct err *err);     /* NULL: out of memory */
void clip_feed(struct clip *c, const void *bytes, size_t n);                /* not after finish */
void clip_close(struct clip *c);                                            /* NULL is fine */

/* Appends the text to out; once for a clip.  0, or -1: out of memory (out->failed). */
int clip_finish(struct clip *c, struct buf *out, struct clip_figures *f, struct err *err);

/* Open, feed, finish, close. */
int clip_whole(const struct clip_config *cfg, const void *bytes, size_t n, struct buf *out, struct clip_figures *f,
               struct err *err);

/* ------------------------------------------------------------------ reading on in a whole that is stored */

struct clip_source { /* the whole, in parts */
    int (*get)(void *self, uint64_t at, char *out, size_t n, struct err *err); /* exactly n bytes; 0, or -1 */
    void *self;
    uint64_t bytes;
};

enum clip_by {
    CLIP_BY_OFFSET, /* bytes from `from` to before `to` (0: the end); the first whole character at or after `from` */
    CLIP_BY_LINES,  /* lines `from` (1: the first) to and with `to` (0: the last) */
    CLIP_BY_TEXT,   /* lines, at or after the offset `from`, in which the pattern's bytes occur */
    CLIP_BY_REGEX   /* or a PCRE2 pattern matches, which never sees a newline.  In a line longer than CLIP_READ a match
                       longer than a quarter of that may be missed, and so may what looks behind further */
};

enum { CLIP_PATTERN = 1024, CLIP_READ = 16 << 10, CLIP_EXCERPT = 512, CLIP_MATCHES = 128 };

struct clip_request {
    enum clip_by by;
    uint64_t from, to;
    const char *pattern; /* not NUL-terminated, 1 to CLIP_PATTERN bytes */
    size_t pattern_len;
};

/* As much of what is asked for as max_tokens allow, from its beginning, filtered in the same way.  A pattern shows each
 * line that matches, or of a long one CLIP_EXCERPT bytes around the match; at most CLIP_MATCHES at a time, counted are
 * all.  The text has marks only between matches: of what lies before and behind the figures tell.  Line figures are 0,
 * kind is CLIP_TEXT.  figures.next is behind what is shown (read on there, by offset or with the same pattern), `bytes`
 * when no match is left, and where it would have begun if nothing fits.
 * Memory: hold, or for a pattern CLIP_READ and a little more than CLIP_MATCHES * CLIP_EXCERPT bytes and PCRE2's own (1
 * MiB at most for a match).  Time: lines are read from the start, a pattern reads all from its offset on, in at most as
 * many steps as pattern.h allows for that.
 * 0, or -1 (out is unchanged): err says that the request is wrong (the range, the pattern), that it took too much work
 * to match, or what get said. */
int clip_read(const struct clip_config *cfg, const struct clip_source *s, const struct clip_request *r,
              struct buf *out, struct clip_figures *f, struct err *err);
#endif
