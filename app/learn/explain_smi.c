/* explain_smi.c - see explain_smi.h. */
#include "app/learn/explain_smi.h"
#include <ctype.h>
#include <math.h>
#include <strings.h>

enum { CELLS_MOST = 48, ROWS_APART = 8 /* lines of others between a header and its rows, or two rows */ };
#define FULL 0.87 /* of a device: as good as full, a server that takes 9 tenths of what CUDA sees among it */

/* ------------------------------------------------------------------ what is told */

void smi_device(struct smi *s, double used, double total)
{
    if (total <= 0 || used < 0 || used > total) return;
    if (s->total > 0 && used / total <= s->used / s->total) return;
    s->used = used;
    s->total = total;
}

void smi_process(struct smi *s, double pid, double held, uint32_t line)
{
    if (held < 0) return;
    bool seen = s->processes == SMI_PROCESSES_MOST;
    for (int i = 0; !seen && i < s->processes; i++) seen = pid >= 0 && s->pid[i] == pid;
    if (!seen) s->pid[s->processes++] = pid;
    if (held <= s->biggest) return;
    s->biggest = held;
    s->biggest_line = line;
}

/* ------------------------------------------------------------------ rows of a device, behind each other */

static void add_row(struct smi_series *s, double used, double total)
{
    if (s->rows == 0) s->first = s->least = s->most = used;
    s->rows += s->rows < INT32_MAX;
    s->last = used;
    if (used >= s->level * 1.01) s->level = used, s->rose = s->rows;
    s->least = MIN(s->least, used);
    s->most = MAX(s->most, used);
    s->fall = MAX(s->fall, s->most - used);
    s->total = MAX(s->total, total);
}

static void add_to_series(struct smi *s, uint32_t key, double used, double total)
{
    if (used < 0 || (total > 0 && used > total)) return;
    int k = 0;
    if (s->firsts < SMI_TURNS_ROWS) s->first[s->firsts++] = used;
    while (k < s->devices && s->of[k].key != key) k++;
    add_row(&s->all, used, total);
    if (k == SMI_DEVICES_MOST) return;
    if (k == s->devices) s->of[s->devices++] = (struct smi_series){.key = key};
    add_row(&s->of[k], used, total);
}

static enum smi_shape shape_of(const struct smi_series *s)
{
    const double range = s->most - s->least, full = s->total > 0 ? s->total : s->most;
    if (s->rows < SMI_ROWS_LEAST || full <= 0) return SMI_SHAPELESS;
    if (range <= full * 0.02) return s->least >= full * 0.5 ? SMI_FLAT : SMI_SHAPELESS;
    const bool to_the_end = s->rose >= s->rows / 4 * 3; /* a model that was loaded rose too, and then no more */
    const bool ends = to_the_end && s->first <= s->least + range * 0.2 && s->last >= s->most - range * 0.2;
    if (range >= full * 0.05 && ends && s->fall <= range * 0.2) return SMI_CLIMBS;
    return range >= full * 0.1 && s->fall >= range * 0.5 ? SMI_SPIKES : SMI_SHAPELESS;
}

enum smi_shape smi_shape(const struct smi *s, const struct smi_series **of)
{
    const bool apart = s->named || s->turns || s->headers >= SMI_ROWS_LEAST;
    const struct smi_series *best = apart && s->devices ? &s->of[0] : &s->all;
    for (int k = 1; apart && k < s->devices; k++) {
        const enum smi_shape a = shape_of(&s->of[k]), b = shape_of(best);
        const bool wider = s->of[k].most - s->of[k].least > best->most - best->least;
        if (a != SMI_SHAPELESS && (b == SMI_SHAPELESS || a < b || (a == b && wider))) best = &s->of[k];
    }
    if (of) *of = best;
    return shape_of(best);
}

bool smi_is_full(const struct smi *s) { return s->processes && s->total > 0 && s->used >= s->total * FULL; }

/* ------------------------------------------------------------------ a line as cells */

struct cell { const char *s; size_t n; };
struct cells { struct cell of[CELLS_MOST]; int n; };

static struct cell trimmed(const char *s, size_t n)
{
    while (n && (unsigned char)*s <= ' ') s++, n--;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ') n = i; /* a colour's end, a carriage return */
    while (n && s[n - 1] == ' ') n--;
    return (struct cell){s, n};
}

static void split(const char *s, size_t n, struct cells *out)
{
    out->n = 0;
    for (size_t at = 0; at <= n && out->n < CELLS_MOST;) {
        const char *end = at < n ? memchr(s + at, ',', n - at) : NULL;
        size_t len = end ? (size_t)(end - s) - at : n - at;
        out->of[out->n++] = trimmed(s + at, len);
        at += len + 1;
    }
}

static bool same(const char *s, size_t n, const char *word) { return n == strlen(word) && !strncasecmp(s, word, n); }

/* ------------------------------------------------------------------ the header */

enum column { COL_TOTAL, COL_USED, COL_FREE, COL_PID, COL_HELD, COL_NAME, COL_DEVICE, COLUMNS };

struct header {
    int cells;              /* how many; 0: there is none */
    int at[COLUMNS];        /* -1: it has none */
    double unit[COLUMNS];   /* bytes of a number without a unit; 0: that would be a guess */
    bool stamped;           /* its rows begin with a time, which is not a logger's */
    uint32_t rows;          /* of devices, under it */
};

static int column_of(const char *s, size_t n)
{
    static const struct { const char *name; enum column of; } row[] = {
        {"memory.total", COL_TOTAL},   {"memory.used", COL_USED},  {"memory.free", COL_FREE},
        {"pid", COL_PID},              {"used_memory", COL_HELD},  {"used_gpu_memory", COL_HELD},
        {"process_name", COL_NAME},    {"name", COL_NAME},         {"gpu_name", COL_NAME},
        {"index", COL_DEVICE},         {"uuid", COL_DEVICE},       {"gpu_uuid", COL_DEVICE},
        {"pci.bus_id", COL_DEVICE},    {"gpu_bus_id", COL_DEVICE}};
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (same(s, n, row[i].name)) return (int)row[i].of;
    return -1;
}

/* "memory.total [MiB]": its name without the unit; of the first cell what stands behind a prefix. */
static struct cell name_of(struct cell c, bool first, struct cell *unit)
{
    const char *open = memchr(c.s, '[', c.n);
    *unit = (struct cell){0};
    if (open && c.s[c.n - 1] == ']') *unit = trimmed(open + 1, (size_t)(c.s + c.n - 1 - (open + 1)));
    c = trimmed(c.s, open ? (size_t)(open - c.s) : c.n);
    for (size_t i = c.n; first && i > 0; i--)
        if (c.s[i - 1] == ' ') return (struct cell){c.s + i, c.n - i};
    return c;
}

static double bytes_of(struct cell unit)
{
    char one[16];
    struct match_number n;
    snprintf(one, sizeof one, "1 %.*s", (int)MIN(unit.n, 12), unit.s);
    return unit.n && match_whole(one, strlen(one), &n) && n.is_bytes ? n.value : 0;
}

/* Whether the cells name columns that say something; unit: of those that name none. */
static bool is_header(const struct cells *cells, double unit, struct header *h)
{
    struct header new = {.cells = cells->n};
    for (int k = 0; k < COLUMNS; k++) new.at[k] = -1;
    for (int i = 0; i < cells->n; i++) {
        struct cell of, name = name_of(cells->of[i], i == 0, &of);
        int col = column_of(name.s, name.n);
        if (i == 0) new.stamped = same(name.s, name.n, "timestamp");
        if (col < 0) continue;
        new.at[col] = i;
        new.unit[col] = of.n ? bytes_of(of) : unit;
    }
    bool device = new.at[COL_USED] >= 0 || (new.at[COL_TOTAL] >= 0 && new.at[COL_FREE] >= 0);
    if (!device && new.at[COL_HELD] < 0) return false;
    *h = new;
    return true;
}

/* "nvidia-smi --query-gpu=index,memory.total,memory.used --format=csv,noheader,nounits": its memory is in MiB. */
static bool is_query(const char *s, size_t n, struct header *h)
{
    static const char *const query[] = {"--query-gpu=", "--query-compute-apps="};
    struct cells cells;
    for (size_t i = 0; i + 2 < n; i++) {
        if (s[i] != '-' || s[i + 1] != '-') continue;
        for (size_t k = 0; k < COUNT_OF(query); k++) {
            size_t len = strlen(query[k]), from = i + len, end = from;
            if (n - i < len || strncasecmp(s + i, query[k], len) != 0) continue;
            while (end < n && (unsigned char)s[end] > ' ' && !strchr("\"'`", s[end])) end++;
            split(s + from, end - from, &cells);
            return is_header(&cells, 0x1p20, h);
        }
    }
    return false;
}

/* ------------------------------------------------------------------ its rows */

/* A comma in a process's name makes cells that no column has: they are the name's. */
static bool align(const struct header *h, struct cells *c)
{
    int more = c->n - h->cells, name = h->at[COL_NAME];
    if (more <= 0 || name < 0) return more == 0;
    for (int i = name + 1; i + more < c->n; i++) c->of[i] = c->of[i + more];
    c->n -= more;
    return true;
}

static bool bytes_in(const struct header *h, const struct cells *c, enum column col, double *bytes)
{
    struct match_number n;
    if (h->at[col] < 0) return false;
    struct cell cell = c->of[h->at[col]];
    if (!match_whole(cell.s, cell.n, &n) || n.value < 0 || (!n.is_bytes && h->unit[col] <= 0)) return false;
    *bytes = n.is_bytes ? n.value : n.value * h->unit[col];
    return *bytes <= 0x1p60;
}

static double pid_in(const struct header *h, const struct cells *c)
{
    struct match_number n;
    if (h->at[COL_PID] < 0) return -1;
    struct cell cell = c->of[h->at[COL_PID]];
    size_t from = cell.n;
    while (from && isdigit((unsigned char)cell.s[from - 1])) from--;
    return from < cell.n && match_whole(cell.s + from, cell.n - from, &n) ? n.value : -1;
}

/* Whose row this is: what stands in its column, or the how manyth it is. */
static uint32_t key_of(const struct smi *s, const struct header *h, const struct cells *c)
{
    if (h->at[COL_DEVICE] < 0) return s->turns ? h->rows % (uint32_t)s->turns : h->rows;
    const struct cell *cell = &c->of[h->at[COL_DEVICE]];
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < cell->n; i++) hash = (hash ^ (unsigned char)cell->s[i]) * 16777619u;
    return hash;
}

static bool row(struct smi *s, struct header *h, struct cells *c, uint32_t line)
{
    double total, used, free, held;
    if (!align(h, c)) return false;
    if (bytes_in(h, c, COL_HELD, &held)) {
        smi_process(s, pid_in(h, c), held, line);
        return true;
    }
    const bool has_total = bytes_in(h, c, COL_TOTAL, &total), has_free = bytes_in(h, c, COL_FREE, &free);
    if (!bytes_in(h, c, COL_USED, &used)) {
        if (!has_total || !has_free) return has_total;
        used = total - free;
    }
    if (!has_total) total = has_free ? used + free : 0; /* what a driver keeps for itself is in neither */
    smi_device(s, used, total);
    add_to_series(s, key_of(s, h, c), used, total);
    s->named = s->named || h->at[COL_DEVICE] >= 0;
    h->rows++;
    return true;
}

/* ------------------------------------------------------------------ all lines */

static void read_line(struct smi *s, struct header *h, int *since, const char *p, size_t n, uint32_t line)
{
    struct header new;
    struct cells cells;
    const size_t skip = log_prefix(p, n);
    split(p + skip, n - skip, &cells);
    if (is_header(&cells, 0, &new) || is_query(p, n, &new)) {
        *h = new;
        *since = 0;
        s->headers += s->headers < INT32_MAX;
    } else if (h->cells) {
        if (h->stamped) split(p, n, &cells);
        *since = row(s, h, &cells, line) ? 0 : *since + 1;
        if (*since > ROWS_APART) h->cells = 0;
    }
}

static void read_all(struct smi *s, const char *text, size_t n)
{
    struct header h = {0};
    struct run_lines l = {.text = text, .n = n};
    int since = 0;
    while (run_next_line(&l)) read_line(s, &h, &since, l.s, l.len, l.line);
}

/* How far rows are from those so many before them, in all. */
static double unlike(const struct smi *s, int apart)
{
    double sum = 0;
    for (int i = apart; i < s->firsts; i++) sum += fabs(s->first[i] - s->first[i - apart]);
    return sum;
}

/* Of several devices "-l 1" writes a row each, again and again, under the one header: a row is then like the one so
 * many before it, and unlike the last.  0: they are one device's, or nothing shows it. */
static int takes_turns(const struct smi *s)
{
    const double last = unlike(s, 1), all = s->all.total > 0 ? s->all.total : s->all.most;
    if (s->named || s->headers != 1 || last < (s->firsts - 1) * all * 0.1) return 0; /* near enough to be one */
    int turns = 0;
    double least = last * 0.2;
    for (int k = 2; k <= SMI_DEVICES_MOST && s->firsts >= k * SMI_ROWS_LEAST; k++)
        if (unlike(s, k) < least) least = unlike(s, k), turns = k; /* twice as many are no more alike */
    return turns;
}

void smi_csv(struct smi *s, const char *text, size_t n)
{
    struct smi before = *s; /* what the table said */
    read_all(s, text, n);
    before.turns = takes_turns(s);
    if (!before.turns) return;
    *s = before;
    read_all(s, text, n);
}
