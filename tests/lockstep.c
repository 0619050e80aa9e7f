/* lockstep.c - two backends, step by step. */
#include "tests/lockstep.h"
#include "tests/check.h"
#include <math.h>

/* All floats of a result that must be finite and near. */
static void compare(const char *what, enum rig_step step, const float *ref, const float *got, size_t n, double tol)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)ref[i] * ref[i];
    double rms = sqrt(sum / (double)n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - ref[i]) <= tol * (rms + fabs((double)ref[i]))))
            check_fail(__FILE__, __LINE__, "%s, step %d, value %zu of %zu: %.9g is not near %.9g (rms %.3g, %.1e)",
                       what, (int)step, i, n, (double)got[i], (double)ref[i], rms, tol);
}

/* Rows that continue some of the sequences, whose lengths are in len. */
static struct rig_rows draw_rows(struct dice *dice, const struct rig *r, int most, int *len)
{
    struct rig_rows rows = {0};
    for (int s = 0; s < r->seqs; s++) {
        int room = MIN(most - rows.n, (r->stride - 1) * KERN_PAGE - len[s]);
        for (int n = dice_below(dice, MAX(room, 0) + 1); n > 0; n--, rows.n++) {
            rows.token[rows.n] = dice_below(dice, r->model->s.vocab);
            rows.pos[rows.n] = len[s]++;
            rows.seq[rows.n] = s;
            rows.out[rows.n] = rows.n;
        }
    }
    return rows;
}

void lockstep(struct dice *dice, const struct rig_shape *s, const struct kern *k, const struct kern_config *cfg,
              bool rounded, int batches, double tol)
{
    enum { ROWS = 40, SEQS = 3, CTX = 150 };
    const struct kern_config judge = {.round_activations = rounded};
    struct rig_model *m = rig_model(dice, s);
    struct dice same = *dice;
    struct rig *a = rig_open(dice, m, kern_ref(), &judge, ROWS, SEQS, CTX);
    struct rig *b = rig_open(&same, m, k, cfg, ROWS, SEQS, CTX);
    char what[180];
    int len[SEQS] = {0};
    /* A value between the matrices that lies at the edge of two integers may be rounded to either. */
    const bool edges = ktype_info(s->down)->block > 1 || ktype_info(s->shared_down)->block > 1;
    const double ffn_tol = edges ? MAX(tol, 0.01) : tol;
    snprintf(what, sizeof what,
             "%s, %d of %d experts, shared %d, table %s q %s k %s v %s o %s gate %s up %s down %s kv %s",
             cfg && cfg->isa ? cfg->isa : k->name, s->used, s->experts, s->shared,
             ktype_info(s->table)->name, ktype_info(s->q)->name, ktype_info(s->k)->name, ktype_info(s->v)->name,
             ktype_info(s->o)->name, ktype_info(s->gate)->name, ktype_info(s->up)->name, ktype_info(s->down)->name,
             ktype_info(s->kv)->name);

    for (int i = 0; i < batches; i++) {
        struct rig_rows rows = draw_rows(dice, a, i ? ROWS : 1 + dice_below(dice, 2), len);
        if (!rows.n) continue;
        struct kern_batch ba = rig_batch(a, &rows), bb = rig_batch(b, &rows);
        enum { STEPS = STEP_OUTPUT - STEP_ATTN_IN }; /* of a layer */
        for (int at = -1; at < s->layers * STEPS + 1; at++) {
            enum rig_step step = at < 0 ? STEP_EMBED : STEP_OUTPUT;
            if (at >= 0 && at < s->layers * STEPS) step = (enum rig_step)(STEP_ATTN_IN + at % STEPS);
            size_t n;
            rig_do(a, step, MAX(at, 0) / STEPS, &ba);
            rig_do(b, step, MAX(at, 0) / STEPS, &bb);
            float *right = rig_result(a, step, rows.n, &n), *got = rig_result(b, step, rows.n, &n);
            double attn_tol = MAX(tol, s->kv == KT_Q8_0 ? 0.06 : s->kv == KT_F16 ? 1e-3 : 1e-4);
            compare(what, step, right, got, n, step == STEP_ATTN ? attn_tol : step == STEP_FFN ? ffn_tol : tol);
            memcpy(got, right, n * sizeof *got);
        }
    }
    rig_close(a), rig_close(b);
    rig_model_free(m);
}

struct rig_shape lockstep_shape(struct dice *d, bool floats)
{
    static const int dims[] = {32, 48, 64, 20, 128, 256}, blocks[] = {KT_Q8_0, KT_Q4_0, KT_Q4_1, KT_Q5_0, KT_Q5_1},
                     ks[] = {KT_Q4_K, KT_Q5_K, KT_Q6_K}, plain[] = {KT_F32, KT_F16, KT_BF16};
    struct rig_shape s = {.layers = 1 + dice_below(d, 2), .kv_heads = 1 + dice_below(d, 3)};
    bool k = !floats && dice_below(d, 2);
    s.head_dim = k ? 128 << dice_below(d, 2) : floats ? dims[dice_below(d, 6)] : 32 << dice_below(d, 3);
    s.heads = s.kv_heads * (1 + dice_below(d, s.head_dim > 64 ? 2 : 9));
    if (k && s.heads * s.head_dim % 256) s.heads *= 2;
    s.embd = floats ? 4 + dice_below(d, 90) : k ? 256 * (1 + dice_below(d, 2)) : 32 * (1 + dice_below(d, 8));
    s.ff = floats ? 1 + dice_below(d, 90) : k ? 256 * (1 + dice_below(d, 3)) : 32 * (1 + dice_below(d, 9));
    s.vocab = 33 + dice_below(d, 300);
    enum ktype *t[] = {&s.table, &s.q, &s.k, &s.v, &s.o, &s.gate, &s.up, &s.down};
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        int pick = dice_below(d, 10);
        if (floats || pick == 0) *t[i] = (enum ktype)plain[dice_below(d, 3)];
        else if (k && pick < 7) *t[i] = (enum ktype)ks[dice_below(d, 3)];
        else *t[i] = (enum ktype)blocks[dice_below(d, 5)];
    }
    int kv = dice_below(d, 4);
    s.kv = kv > 1 && s.head_dim % 32 == 0 ? KT_Q8_0 : kv % 2 ? KT_F16 : KT_F32;
    s.rope = dice_below(d, 4) ? s.head_dim / (1 + dice_below(d, 2)) / 2 * 2 : 0;
    s.window = dice_below(d, 3) ? 0 : 1 + dice_below(d, 90);
    s.neox = dice_below(d, 2), s.bias = dice_below(d, 2), s.qk_norm = dice_below(d, 3) == 0;
    s.post = dice_below(d, 3) == 0, s.turns = s.layers > 1 && dice_below(d, 2);
    s.act = dice_below(d, 2) ? KERN_SILU : KERN_GELU;
    s.attn_cap = dice_below(d, 3) ? 0 : 5;
    s.out_cap = dice_below(d, 3) ? 0 : 3;
    s.scale = 1 / sqrtf((float)s.head_dim);
    return s;
}

struct rig_shape lockstep_mix(struct dice *d, bool floats)
{
    struct rig_shape s = lockstep_shape(d, floats);
    s.embd = (s.embd + 31) / 32 * 32;
    s.ff = (s.ff + 31) / 32 * 32;
    s.experts = 1 + dice_below(d, dice_below(d, 2) ? 9 : 70);
    const int most = dice_below(d, 4) ? 4 : KERN_USED;
    s.used = 1 + dice_below(d, MIN(s.experts, most));
    s.router = dice_below(d, 3) ? KT_F32 : s.gate;
    if (s.experts > 9 && s.ff > 256) s.ff = 256;
    return s;
}

struct rig_shape lockstep_shared(struct dice *d, bool floats)
{
    struct rig_shape s = lockstep_mix(d, floats);
    s.of_all = s.used % 2;
    s.shared_gate = s.up, s.shared_up = s.gate, s.shared_down = s.down;
    s.shared = floats ? 1 + dice_below(d, 150) : MAX(ktype_info(s.down)->block, 32) * (1 + dice_below(d, 5));
    return s;
}

struct rig_shape lockstep_oss(struct dice *d, bool floats)
{
    struct rig_shape s = dice_below(d, 3) ? lockstep_mix(d, floats) : lockstep_shape(d, floats);
    enum ktype *t[] = {&s.q, &s.k, &s.o, &s.gate, &s.up, &s.down};
    for (size_t i = 0; i < COUNT_OF(t) && !floats; i++)
        if (ktype_info(*t[i])->block == 32 && dice_below(d, 2)) *t[i] = KT_MXFP4;
    s.act = dice_below(d, 3) ? KERN_OSS : s.act;
    s.sinks = dice_below(d, 4) > 0, s.ffn_bias = dice_below(d, 4) > 0;
    return s;
}

struct rig_shape lockstep_gemma(int which)
{
    static const struct { int heads, kv_heads, dim; } of[] = {{4, 2, 256}, {4, 1, 256}, {6, 3, 128}, {10, 2, 64}};
    const bool third = which % 2;
    return (struct rig_shape){.embd = 64, .heads = of[which].heads, .kv_heads = of[which].kv_heads, .ff = 96,
                              .head_dim = of[which].dim, .vocab = 70, .layers = 2, .table = KT_Q8_0, .q = KT_Q8_0,
                              .k = KT_Q4_0, .v = KT_F16, .o = KT_Q4_0, .gate = KT_Q5_1, .up = KT_Q8_0, .down = KT_Q8_0,
                              .kv = third ? KT_F16 : KT_F32, .rope = of[which].dim, .window = 20, .neox = true,
                              .qk_norm = third, .post = true, .turns = true, .act = KERN_GELU,
                              .attn_cap = third ? 0 : 50, .out_cap = third ? 0 : 30,
                              .scale = 1 / sqrtf((float)of[which].dim)};
}

struct rig_shape lockstep_late(int which)
{
    static const struct { bool bare, whole, post, bias; int temper; } of[LOCKSTEP_LATES] = {
        {true, true, true, true, 24}, {true, true, true, false, 0}, {true, false, false, false, 0},
        {false, true, false, true, 0}, {false, false, false, false, 7}};
    const bool floats = which % 2;
    const enum ktype some = floats ? KT_F32 : KT_Q8_0, other = floats ? KT_F16 : KT_Q4_0;
    return (struct rig_shape){.embd = 96, .heads = 6, .kv_heads = 2, .ff = 64, .head_dim = 32, .vocab = 70, .layers = 2,
                              .table = some, .q = some, .k = other, .v = some, .o = other, .gate = some, .up = other,
                              .down = some, .kv = which == 4 ? KT_Q8_0 : floats ? KT_F16 : KT_F32,
                              .rope = which == 4 ? 24 : 32, .window = 20, .neox = which != 4, .turns = true,
                              .bare = of[which].bare, .whole = of[which].whole, .post = of[which].post,
                              .bias = of[which].bias, .temper = of[which].temper, .scale = 0.17f};
}
