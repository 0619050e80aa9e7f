/* import_impl.h - one line of an import, checked, and what is done with it. */
#ifndef IMPORT_IMPL_H
#define IMPORT_IMPL_H
#include "memory/export_impl.h"
#include "memory/import.h"

enum import_what { IMPORT_HEAD, IMPORT_MESSAGE, IMPORT_EVENT, IMPORT_MORE, IMPORT_PIECE, IMPORT_LOST, IMPORT_END };

struct import_line {
    enum import_what what;
    struct journal_head head;   /* HEAD: all but id, next and artifacts */
    uint64_t number;            /* MESSAGE, EVENT, MORE */
    uint64_t artifact;          /* PIECE, LOST */
    struct journal_message m;   /* MESSAGE: all but its text */
    uint64_t offset;            /* MORE, PIECE */
    uint64_t bytes;             /* of all its text: MESSAGE, PIECE */
    uint64_t records, artifacts; /* END */
    struct buf text;            /* MESSAGE, MORE, PIECE; EVENT: its JSON */
};

/* Any bytes at all.  0, or IMPORT_BAD.  *out is for import_line_free() in both cases. */
int import_line_read(const char *json, size_t n, struct import_line *out, struct err *err);
void import_line_free(struct import_line *l);

/* import_write.c: lines in their order become records. */
struct import_write {
    struct store *s;
    struct journal_head head;
    struct journal_run run;        /* that it was of, where it comes from; here it is of none */
    struct journal_batch batch;    /* not yet written */
    bool begun;                    /* there was a head line */
    bool written;                  /* something of it was committed */
    bool ended;
    uint64_t next;                 /* numbers from here on may come */
    struct buf gaps;               /* numbers that the file passes over, as STORE_GAPS has them */
    uint64_t records, marks;
    struct {                       /* a text that comes in pieces; bytes 0: none */
        uint64_t number, bytes;
        struct journal_message m;
        struct buf text;
    } open;
    struct number_set named;       /* artifacts that messages name */
    uint64_t artifacts;            /* of them, those that are done */
    uint64_t next_artifact;        /* from here on may come */
    struct {                       /* one that comes in pieces; id 0: none */
        uint64_t id, bytes, have;
        uint32_t crc;
        struct buf chunk;          /* bytes that make no whole chunk yet */
    } artifact;
    bool putting;                  /* a transaction of chunks was begun */
    size_t put;                    /* bytes in it */
};

int import_write_line(struct import_write *w, const struct import_line *l, struct err *err);
int import_write_end(struct import_write *w, struct err *err);
void import_write_close(struct import_write *w, bool keep);
#endif
