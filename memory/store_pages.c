/* store_pages.c - a file of LMDB's, walked page by page without LMDB, which believes whatever a page says.
 *
 * The layout (data version 1 of LMDB 0.9, 64 bits, little-endian): pages 0 and 1 are meta pages, of which the one with
 * the larger transaction number counts; each names the root pages of two trees: of free pages, and of the records.
 *
 *     a page     its own number:8  spare:2  flags:2  lower:2 upper:2 (on overflow pages: how many they are, 4 bytes)
 *                offsets of its nodes:2 each, up to lower; the nodes, from upper on
 *     a node     data's length:4  flags:2  key's length:2  key  data, or (flag 1) the number of an overflow page
 *                on a branch the first six bytes are a child's page number; its first key counts for nothing
 *     a meta     (at byte 16) magic:4 version:4 address:8 map:8  free tree:48  tree:48  last page:8  transaction:8
 *     a tree     page size or 0:4  flags:2  depth:2  branch, leaf, overflow pages and entries: 8 each  root:8
 *
 * Every page that the trees reach is looked at: its number, its bounds, the order of keys in and between pages, that no
 * page is in two places, that free pages and used ones are together all of them, and the counts in the meta page. */
#include "memory/store_impl.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(size_t) == 8, "the walk knows the layout of 64 bits only");

enum { BRANCH = 1, LEAF = 2, OVERFLOW = 4, META = 8, BIG = 1, PAGE_HEAD = 16, NODE_HEAD = 8, DEPTH_MAX = 32 };
enum { PAGE_MAX = 1 << 16, KEY_MAX = 511, META_BYTES = 136, TREE_BYTES = 48 };
enum { TAKEN = 64 /* pages, then it is told */ };
#define NO_PAGE UINT64_MAX

struct tree {
    uint32_t pad;
    unsigned flags, depth;
    uint64_t branches, leaves, overflows, entries, root;
};

struct walk {
    int fd, faults;
    bool ended;
    const struct pages_visit *v;
    uint64_t n_pages; /* in the file */
    size_t page_size;
    uint64_t last_page, txnid;
    struct tree tree[2]; /* 0: of free pages, 1: of records */
    uint8_t *seen;       /* a bit for each page of 0..last_page */
    uint64_t taken;      /* bits that are set */
    /* the tree that is walked */
    bool is_free;
    struct tree count;
    uint8_t key[KEY_MAX]; /* the last one met, or the lower bound of the next */
    size_t key_len;
    bool has_key, is_bound;
    struct buf big; /* a value on overflow pages */
};

__attribute__((format(printf, 2, 3))) static void fault(struct walk *w, const char *fmt, ...)
{
    char line[240];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    w->faults++;
    if (w->v->damaged) w->v->damaged(w->v->user, line);
}

static bool read_at(const struct walk *w, void *to, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(w->fd, (char *)to + done, n - done, (off_t)(at + done));
        if (got <= 0 && !(got < 0 && errno == EINTR)) return false;
        if (got > 0) done += (size_t)got;
    }
    return true;
}

/* This page, once: it is in the file, below the last one, and nowhere else. */
static bool take_page(struct walk *w, uint64_t number)
{
    if (number < 2 || number > w->last_page) {
        fault(w, "page %llu is named and is none of the file's", (unsigned long long)number);
        return false;
    }
    if (w->seen[number / 8] & 1 << number % 8) {
        fault(w, "page %llu is in two places", (unsigned long long)number);
        return false;
    }
    w->seen[number / 8] |= (uint8_t)(1 << number % 8);
    if (++w->taken % TAKEN == 0 && w->v->taken) w->v->taken(w->v->user, w->taken, w->last_page + 1);
    return true;
}

/* ------------------------------------------------------------------ keys and records */

static int compare(const struct walk *w, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    if (w->is_free) {
        uint64_t x = get_le(a, 8), y = get_le(b, 8);
        return x < y ? -1 : x > y;
    }
    int c = memcmp(a, b, MIN(a_len, b_len));
    return c ? c : a_len < b_len ? -1 : a_len > b_len;
}

/* Keys and bounds must rise on the way through the tree; a key may be equal to the bound before it. */
static bool in_order(struct walk *w, const uint8_t *key, size_t n, bool is_bound)
{
    if (n > KEY_MAX || n == 0 || (w->is_free && n != 8)) return false;
    if (w->has_key) {
        int c = compare(w, w->key, w->key_len, key, n);
        if (c > 0 || (c == 0 && !(w->is_bound && !is_bound))) return false;
    }
    memcpy(w->key, key, n);
    w->key_len = n;
    w->has_key = true;
    w->is_bound = is_bound;
    return true;
}

/* A list of free pages: how many, then their numbers, falling. */
static void free_list(struct walk *w, const uint8_t *key, const uint8_t *data, size_t n)
{
    uint64_t txnid = get_le(key, 8), count = n >= 8 ? get_le(data, 8) : 0, before = NO_PAGE;
    if (n < 8 || count > n / 8 - 1 || txnid > w->txnid) {
        fault(w, "the free pages of transaction %llu are no list", (unsigned long long)txnid);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t page = get_le(data + 8 + 8 * i, 8);
        if (page >= before) fault(w, "the free pages of transaction %llu are in no order", (unsigned long long)txnid);
        take_page(w, page);
        before = page;
    }
}

static void give(struct walk *w, const uint8_t *key, size_t key_len, const uint8_t *data, size_t n)
{
    if (w->is_free)
        free_list(w, key, data, n);
    else if (w->v->record && !w->v->record(w->v->user, key, key_len, data, n))
        w->ended = true;
}

/* n bytes on overflow pages from this one on. */
static void give_big(struct walk *w, const uint8_t *key, size_t key_len, uint64_t page, uint64_t n)
{
    uint8_t head[PAGE_HEAD];
    char name[160];
    store_key_text(key, w->is_free ? 0 : key_len, name);
    uint64_t pages = (PAGE_HEAD + n + w->page_size - 1) / w->page_size;
    if (page < 2 || page >= w->n_pages || pages > w->n_pages - page ||
        !read_at(w, head, sizeof head, page * w->page_size)) {
        fault(w, "%s is damaged: its pages are not in the file", name);
        return;
    }
    if (get_le(head, 8) != page || get_le(head + 10, 2) != OVERFLOW || get_le(head + 12, 4) < pages ||
        get_le(head + 12, 4) > w->n_pages - page) {
        fault(w, "%s is damaged: page %llu is not what it should be", name, (unsigned long long)page);
        return;
    }
    pages = get_le(head + 12, 4);
    for (uint64_t i = 0; i < pages; i++)
        if (!take_page(w, page + i)) return;
    w->count.overflows += pages;
    w->big.len = 0;
    for (uint64_t at = 0; at < n;) { /* what is there is bounded by the file, not by what a node says */
        char part[4096];
        size_t take = (size_t)MIN(n - at, sizeof part);
        if (!read_at(w, part, take, page * w->page_size + PAGE_HEAD + at)) {
            fault(w, "%s is damaged: it cannot be read", name);
            return;
        }
        buf_put(&w->big, part, take);
        at += take;
    }
    if (w->big.failed)
        fault(w, "%s cannot be read: no memory", name);
    else
        give(w, key, key_len, (uint8_t *)w->big.data, w->big.len);
}

/* ------------------------------------------------------------------ pages */

/* Node i of a page: where it is and how much of the page is behind it.  NULL: nowhere. */
static const uint8_t *node_at(const struct walk *w, const uint8_t *page, size_t i, size_t *room)
{
    size_t at = get_le(page + PAGE_HEAD + 2 * i, 2), upper = get_le(page + 14, 2);
    if (at < upper || at > w->page_size - NODE_HEAD) return NULL;
    const uint8_t *node = page + at;
    *room = w->page_size - at - NODE_HEAD;
    if (get_le(node + 6, 2) > *room) return NULL;
    *room -= get_le(node + 6, 2);
    return node;
}

static void leaf_node(struct walk *w, uint64_t number, const uint8_t *node, size_t room)
{
    size_t key_len = get_le(node + 6, 2);
    unsigned flags = (unsigned)get_le(node + 4, 2);
    const uint8_t *key = node + NODE_HEAD, *data = key + key_len;
    uint64_t n = get_le(node, 4);
    if (flags & ~(unsigned)BIG || (flags ? 8 : n) > room) {
        fault(w, "page %llu: a record reaches out of it", (unsigned long long)number);
        return;
    }
    if (!in_order(w, key, key_len, false)) {
        fault(w, "page %llu: a key is out of order", (unsigned long long)number);
        return;
    }
    w->count.entries++;
    if (flags & BIG)
        give_big(w, key, key_len, get_le(data, 8), n);
    else
        give(w, key, key_len, data, (size_t)n);
}

static void walk_page(struct walk *w, uint64_t number, unsigned depth);

static void branch_node(struct walk *w, uint64_t number, const uint8_t *node, bool is_first, unsigned depth)
{
    uint64_t child = get_le(node, 6);
    if (!is_first && !in_order(w, node + NODE_HEAD, get_le(node + 6, 2), true)) {
        fault(w, "page %llu: a branch is out of order", (unsigned long long)number);
        return;
    }
    walk_page(w, child, depth + 1);
}

static void walk_page(struct walk *w, uint64_t number, unsigned depth)
{
    const unsigned expected = depth == w->tree[!w->is_free].depth ? LEAF : BRANCH;
    if (w->ended || depth > w->tree[!w->is_free].depth || !take_page(w, number)) return;
    uint8_t *page = malloc(w->page_size);
    if (!page || !read_at(w, page, w->page_size, number * w->page_size)) {
        fault(w, "page %llu cannot be read", (unsigned long long)number);
        free(page);
        return;
    }
    size_t lower = get_le(page + 12, 2), upper = get_le(page + 14, 2), n = (lower - PAGE_HEAD) / 2;
    if (get_le(page, 8) != number || get_le(page + 10, 2) != expected || lower < PAGE_HEAD + 2 || lower % 2 ||
        lower > upper || upper > w->page_size || (expected == BRANCH && n < 2)) {
        fault(w, "page %llu is not what it should be", (unsigned long long)number);
        free(page);
        return;
    }
    if (expected == LEAF)
        w->count.leaves++;
    else
        w->count.branches++;
    for (size_t i = 0; i < n && !w->ended; i++) {
        size_t room;
        const uint8_t *node = node_at(w, page, i, &room);
        if (!node)
            fault(w, "page %llu: a node reaches out of it", (unsigned long long)number);
        else if (expected == LEAF)
            leaf_node(w, number, node, room);
        else
            branch_node(w, number, node, i == 0, depth);
    }
    free(page);
}

static void walk_tree(struct walk *w, bool is_free)
{
    const struct tree *t = &w->tree[!is_free];
    w->is_free = is_free;
    w->has_key = false;
    w->count = (struct tree){0};
    /* Free pages are found by number, which is flag 8; beside it stands how the file was made: as one file, or not. */
    unsigned flags = is_free ? t->flags & ~(unsigned)MDB_NOSUBDIR : t->flags;
    if (t->depth > DEPTH_MAX || (t->depth == 0) != (t->root == NO_PAGE) || flags != (is_free ? 8u : 0u)) {
        fault(w, "the root of the tree is not what it should be");
        return;
    }
    if (t->depth > 0) walk_page(w, t->root, 1);
    if (!w->ended && (w->count.branches != t->branches || w->count.leaves != t->leaves ||
                      w->count.overflows != t->overflows || w->count.entries != t->entries))
        fault(w, "%llu of %llu %s can be read", (unsigned long long)w->count.entries, (unsigned long long)t->entries,
              is_free ? "lists of free pages" : "records");
}

/* ------------------------------------------------------------------ meta pages */

static struct tree read_tree(const uint8_t *at)
{
    return (struct tree){.pad = (uint32_t)get_le(at, 4), .flags = (unsigned)get_le(at + 4, 2),
                         .depth = (unsigned)get_le(at + 6, 2), .branches = get_le(at + 8, 8),
                         .leaves = get_le(at + 16, 8), .overflows = get_le(at + 24, 8), .entries = get_le(at + 32, 8),
                         .root = get_le(at + 40, 8)};
}

/* The meta page at this place of the file, if it is one. */
static bool read_meta(const struct walk *w, uint64_t at, uint8_t meta[META_BYTES], size_t *page_size)
{
    uint8_t head[PAGE_HEAD];
    if (!read_at(w, head, sizeof head, at) || !read_at(w, meta, META_BYTES, at + PAGE_HEAD)) return false;
    size_t size = get_le(meta + 24, 4);
    if (get_le(head + 10, 2) != META || get_le(meta, 4) != 0xbeefc0de || get_le(meta + 4, 4) != 1) return false;
    if (size < 512 || size > PAGE_MAX || size & (size - 1)) return false;
    *page_size = size;
    return true;
}

struct metas {
    uint8_t bytes[2][META_BYTES];
    bool is_there[2];
    size_t page_size;
};

/* Both meta pages; the second's place follows from the first's page size, or is tried. */
static struct metas read_both(const struct walk *w)
{
    struct metas m = {0};
    size_t size[2] = {0};
    m.is_there[0] = read_meta(w, 0, m.bytes[0], &size[0]);
    for (size_t guess = m.is_there[0] ? size[0] : 512; guess <= PAGE_MAX && !m.is_there[1]; guess *= 2) {
        m.is_there[1] = read_meta(w, guess, m.bytes[1], &size[1]) && size[1] == guess;
        if (m.is_there[0]) break;
    }
    m.page_size = m.is_there[0] ? size[0] : size[1];
    return m;
}

/* As they were at one moment: a writer may be about, so until two readings agree. */
static struct metas read_metas(struct walk *w)
{
    struct metas m = read_both(w);
    for (int tries = 0; tries < 1000; tries++) {
        struct metas again = read_both(w);
        if (memcmp(m.bytes, again.bytes, sizeof m.bytes) == 0) break;
        m = again;
    }
    w->page_size = m.page_size;
    return m;
}

static void judge_metas(struct walk *w, struct metas *m)
{
    uint64_t t[2];
    for (int i = 0; i < 2; i++) {
        t[i] = get_le(m->bytes[i] + 128, 8);
        if (m->is_there[i] && (t[i] & 1) != (unsigned)i && t[i] != 0) {
            fault(w, "meta page %d has a transaction number that is not its own", i);
            m->is_there[i] = false;
        } else if (!m->is_there[i]) {
            fault(w, "meta page %d is damaged", i);
        }
    }
    /* Each commit writes the other one: their numbers are neighbours (or both 0, in a new file). */
    if (m->is_there[0] && m->is_there[1] && t[0] + t[1] != 0 && t[0] != t[1] + 1 && t[1] != t[0] + 1)
        fault(w, "the meta pages do not belong to one file: transactions %llu and %llu", (unsigned long long)t[0],
              (unsigned long long)t[1]);
}

/* The meta page that counts.  0; PAGES_CHANGED; or 1: there is none. */
static int choose_meta(struct walk *w, uint64_t txnid)
{
    struct metas m = read_metas(w);
    uint64_t t[2] = {get_le(m.bytes[0] + 128, 8), get_le(m.bytes[1] + 128, 8)};
    const bool pinned = txnid != PAGES_NEWEST;
    if (pinned && m.is_there[0] && m.is_there[1] && t[0] > txnid && t[1] > txnid) return PAGES_CHANGED;
    judge_metas(w, &m);
    if (!m.is_there[0] && !m.is_there[1]) return 1;
    int chosen = m.is_there[1] && (!m.is_there[0] || t[1] > t[0]);
    for (int i = 0; i < 2 && pinned; i++)
        if (m.is_there[i] && t[i] == txnid) chosen = i;
    if (pinned && t[chosen] != txnid) fault(w, "LMDB reads another transaction than the newest that is whole");
    w->tree[0] = read_tree(m.bytes[chosen] + 24);
    w->tree[1] = read_tree(m.bytes[chosen] + 24 + TREE_BYTES);
    w->last_page = get_le(m.bytes[chosen] + 120, 8);
    w->txnid = t[chosen];
    return 0;
}

int pages_walk(int fd, uint64_t txnid, const struct pages_visit *v)
{
    struct walk w = {.fd = fd, .v = v};
    struct stat st;
    int rc = choose_meta(&w, txnid);
    if (rc == PAGES_CHANGED) return rc;
    if (rc || fstat(fd, &st)) {
        fault(&w, "the file has no meta page");
        return w.faults;
    }
    w.n_pages = (uint64_t)st.st_size / w.page_size;
    /* Pages that were free at once may never have been written: the file may be a little shorter than it says. */
    if (w.last_page < 1 || w.last_page > 2 * w.n_pages + 1024) {
        fault(&w, "the file has %llu pages and should have %llu", (unsigned long long)w.n_pages,
              (unsigned long long)w.last_page + 1);
        w.last_page = w.n_pages;
    }
    w.seen = calloc(1, w.last_page / 8 + 1);
    if (!w.seen) {
        fault(&w, "no memory to walk the file");
        return w.faults;
    }
    walk_tree(&w, false);
    if (!w.ended) walk_tree(&w, true);
    uint64_t lost = 0;
    for (uint64_t i = 2; i <= w.last_page; i++) lost += !(w.seen[i / 8] & 1 << i % 8);
    if (!w.ended && lost && !w.faults) fault(&w, "%llu pages are neither used nor free", (unsigned long long)lost);
    free(w.seen);
    buf_free(&w.big);
    return w.faults;
}
