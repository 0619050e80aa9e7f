/* attend_tile.h - attention of a tile of rows: chunk after chunk, span after span.  Source, not interface: an isa_*.c
 * includes it after attend.h, which has one chunk's scores, weights and values, and says what is summed in which order. */

/* ------------------------------------------------------------------------ chunks */

/* Where part i of n queries ends. */
INLINE int part_end(int n, int parts, int i)
{
    return parts == 2 && n <= WIDE + APART && i == 0 ? n - APART : (i + 1) * n / parts;
}

/* Queries first .. end - 1 at once, or in parts of up to PART or LEAN.  Each brings its share of the next chunk's pages:
 * the memory is then busy all the time. */
static void in_parts(attend_part *const *part, const struct isa_attend *a, const struct chunk *c, struct queries *st,
                     int first, int end, struct seen seen)
{
    const int n = end - first, most = n <= WIDE ? WIDE : a->lean ? MAX(PART, LEAN) : PART;
    const int parts = (n + most - 1) / most;
    struct chunk now;
    if (seen.lo >= seen.hi) return;
    memcpy(now.page, c->page, sizeof now.page);
    for (int i = 0, at = 0; i < parts; i++) {
        const int to = part_end(n, parts, i);
        for (int p = 0; p < PAGES; p++) now.next[p] = p * parts / PAGES == i ? c->next[p] : c->page[p];
        part[a->lean && to - at == LEAN ? WIDE + 1 : to - at](a, &now, st, first + at, seen);
        at = to;
    }
}

/* Rows first .. end - 1, of which each sees something.  Tokens that all of them see they take together; before that
 * come each row's own at the window's end, after it each row's own at the diagonal. */
static void add_values(const struct isa_attend *a, const struct chunk *c, const struct seen *seen, struct queries *st,
                       int first, int end)
{
    attend_part *const *part = value_parts[a->kv];
    struct seen all = {seen[end - 1].lo, seen[first].hi};
    if (all.lo >= all.hi) all = (struct seen){0, 0};
    for (int r = first; r < end; r++)
        in_parts(part, a, c, st, r * a->heads, (r + 1) * a->heads, (struct seen){seen[r].lo, MIN(seen[r].hi, all.lo)});
    in_parts(part, a, c, st, first * a->heads, end * a->heads, all);
    for (int r = first; r < end; r++)
        in_parts(part, a, c, st, r * a->heads, (r + 1) * a->heads, (struct seen){MAX(seen[r].lo, all.hi), seen[r].hi});
}

static int first_seen(const struct isa_attend *a, int pos)
{
    return a->window > 0 ? MAX(0, pos - a->window + 1) : 0;
}

static void attend_chunk(const struct isa_attend *a, const struct chunk *c, int start, struct queries *st)
{
    struct seen seen[QUERIES];
    int first = 0, end = a->rows;
    for (int r = 0; r < a->rows; r++)
        seen[r] = (struct seen){MAX(first_seen(a, a->pos + r) - start, 0), MIN(a->pos + r + 1 - start, ISA_CHUNK)};
    while (seen[first].hi <= 0) first++;
    while (seen[end - 1].lo >= ISA_CHUNK) end--;
    in_parts(score_parts[a->kv], a, c, st, first * a->heads, end * a->heads, (struct seen){0, ISA_CHUNK});
    soften(a, c, seen, st, first * a->heads, end * a->heads);
    fade_values(a, st, first * a->heads, end * a->heads);
    add_values(a, c, seen, st, first, end);
}

static const uint8_t *page_at(const struct isa_attend *a, int page)
{
    /* pages before a window may be gone */
    page = MIN(MAX(page, first_seen(a, a->pos) / KERN_PAGE), (a->pos + a->rows - 1) / KERN_PAGE);
    return isa_kv_page(&a->at, a->table[page]);
}

/* The first and the last chunk that some row sees, of those that are wanted. */
static int first_chunk(const struct isa_attend *a)
{
    int first = first_seen(a, a->pos) / ISA_CHUNK;
    return a->part ? MAX(first, a->span * SPAN_CHUNKS) : first;
}

static int last_chunk(const struct isa_attend *a)
{
    int last = (a->pos + a->rows - 1) / ISA_CHUNK;
    return a->part ? MIN(last, a->span * SPAN_CHUNKS + SPAN_CHUNKS - 1) : last;
}

/* The pages of chunk i, and after the last that is wanted those that are wanted next, if anything is. */
static void pages_of(const struct isa_attend *a, int i, const uint8_t **page)
{
    const struct isa_attend *b = a->then;
    const int last = last_chunk(a), over = i > last && b ? first_chunk(b) + i - last - 1 : -1;
    for (int p = 0; p < PAGES; p++)
        page[p] = over < 0 ? page_at(a, i * PAGES + p) : page_at(b, over * PAGES + p);
}

/* ------------------------------------------------------------------------ spans */

/* Chunks first .. end - 1, which are of one span: st->o is parts then. */
static void attend_span(const struct isa_attend *a, int first, int end, struct queries *st)
{
    const int queries = a->rows * a->heads, wide = wide_of(a), part = isa_part(a->dim);
    for (int i = 0; i < QUERIES; i++) st->m[i] = -INFINITY, st->l[i] = st->fade[i] = 0;
    memset(st->o, 0, (size_t)(queries * part) * sizeof st->o[0]);
    struct chunk c;
    pages_of(a, first, c.next);
    pages_of(a, first + 1, c.far);
    for (int i = first; i < end; i++) {
        memcpy(c.page, c.next, sizeof c.page);
        memcpy(c.next, c.far, sizeof c.next);
        pages_of(a, i + 2, c.far);
        attend_chunk(a, &c, i * ISA_CHUNK, st);
    }
    for (int i = 0; i < queries; i++) st->o[i * part + wide] = st->l[i], st->o[i * part + wide + 1] = st->m[i];
}

/* A later span's parts of so many queries into `all`: where a query sees nothing of one of them, the other is the sum,
 * so that a row has the same bits whatever the rows of its tile see. */
static void join_parts(int queries, int dim, float *all, const float *parts)
{
    const int part = isa_part(dim), l = part - 16, m = l + 1;
    for (int i = 0; i < queries; i++, all += part, parts += part) {
        const float most = parts[m] > all[m] ? parts[m] : all[m];
        const vf old = exp_small(vf_set1(all[m] - most)), new = exp_small(vf_set1(parts[m] - most));
        if (parts[l] == 0) continue;
        if (all[l] == 0) {
            memcpy(all, parts, (size_t)part * sizeof *all);
            continue;
        }
        for (int d = 0; d < part; d += LANES)
            vf_store(all + d, vf_fma(vf_load(parts + d), new, vf_mul(vf_load(all + d), old)));
        all[m] = most;
    }
}

/* A sink joins last, as a span of one token whose value is 0: what all is faded by, and by what it is divided. */
static void join_sink(float sink, float m, float *fade, float *l)
{
    const float most = sink > m ? sink : m;
    vf e[2] = {vf_set1(m - most), vf_set1(sink - most)};
    float faded[LANES], own[LANES];
    exp_small_of(2, e);
    vf_store(faded, e[0]);
    vf_store(own, e[1]);
    *fade = faded[0];
    *l = *l * faded[0] + own[0];
}

static void put_att(const struct isa_attend *a, const float *parts)
{
    const int part = isa_part(a->dim);
    for (int i = 0; i < a->rows * a->heads; i++, parts += part) {
        float *att = a->att + (size_t)(i / a->heads) * a->stride + (size_t)(i % a->heads) * (size_t)a->dim;
        float l = parts[part - 16], fade = 1; /* times which nothing changes */
        if (a->sinks) join_sink(a->sinks[i % a->heads], parts[part - 15], &fade, &l);
        for (int d = 0; d < a->dim; d++) att[d] = parts[d] * fade / l;
    }
}

static void attend_tile(const struct isa_attend *a)
{
    const int queries = a->rows * a->heads, last = last_chunk(a);
    const size_t row = (size_t)a->heads * (size_t)a->dim, bytes = (size_t)(queries * isa_part(a->dim)) * sizeof(float);
    struct queries st;
    _Alignas(64) float own[COUNT_OF(st.o)], *all = a->part ? a->part : own;

    for (int r = 0; r < a->rows; r++)
        memcpy(st.q + (size_t)r * row, a->q + (size_t)r * a->stride, row * sizeof *a->q);
    for (int first = first_chunk(a), i = first, end; i <= last; i = end) {
        end = MIN((i / SPAN_CHUNKS + 1) * SPAN_CHUNKS, last + 1);
        attend_span(a, i, end, &st);
        if (i == first) memcpy(all, st.o, bytes);
        else join_parts(queries, a->dim, all, st.o);
    }
    if (!a->part) put_att(a, all);
}

static void row_attend(const struct isa_attend *a)
{
    struct isa_attend some = *a;
    assert(a->rows == 1 || a->rows * a->heads <= QUERIES);
    for (int h = 0; h < a->heads; h += QUERIES) {
        size_t at = (size_t)h * (size_t)a->dim;
        some.heads = MIN(QUERIES, a->heads - h);
        some.q = a->q + at;
        some.sinks = a->sinks ? a->sinks + h : NULL;
        if (a->part) some.part = a->part + h * isa_part(a->dim);
        else some.att = a->att + at;
        attend_tile(&some);
    }
}

static void row_attend_join(const struct isa_attend *a, int n)
{
    const int queries = a->rows * a->heads;
    for (int i = 1; i < n; i++)
        join_parts(queries, a->dim, a->part, a->part + (size_t)i * (size_t)(queries * isa_part(a->dim)));
    put_att(a, a->part);
}

/* All of struct cpu_isa that rows.h and this file define. */
#define ROW_FUNCTIONS                                                                                                  \
    .norm = row_norm, .quantise = row_quantise, .gate = row_gate, .softcap = row_softcap, .head = row_head,            \
    .let = row_let, .conv = row_conv, .delta = row_delta,                                                              \
    .kv_write = row_kv_write, .attend = row_attend, .attend_join = row_attend_join, .scans = SCAN_FUNCTIONS
