/* rig.h - a tiny model with random weights on one backend, for tests of kernels: judge and judged run the same steps.
 *
 * All memory that a backend is given ends at a page that may not be touched, and starts out as 0xff bytes (a NaN as
 * float and as half), so that reading too far or reading what nobody wrote shows. */
#ifndef RIG_H
#define RIG_H
#include "kernels/kernels.h"

/* A small generator: deterministic, good enough for tests. */
struct dice {
    uint64_t state;
};
uint32_t dice_roll(struct dice *d);
int dice_below(struct dice *d, int n);            /* 0 .. n - 1 */
float dice_float(struct dice *d, float scale);    /* about normal, deviation scale; now and then 10 times that */

/* size bytes of 0xff that end at a forbidden page; aligned to 64 if size is a multiple of 64. */
void *rig_memory(size_t size);
void rig_release(void *memory, size_t size);

/* Random bytes of a matrix file of this type, with sane scales: weights of deviation about 1 / sqrt(cols). */
void rig_weights(struct dice *d, enum ktype type, int rows, int cols, uint8_t *file);
size_t rig_file_bytes(enum ktype type, int rows, int cols);

struct rig_shape {
    int embd, heads, kv_heads, head_dim, ff, vocab, layers;
    enum ktype table, q, k, v, o, gate, up, down, kv; /* table is the output matrix too */
    int rope, window;
    bool neox, bias, qk_norm, post;
    bool bare, whole; /* no norm before products; q's and k's norms are of all heads as one row */
    int temper;       /* q is tempered by so many positions (struct kern_temper); 0: it is not */
    bool sinks, ffn_bias; /* ffn_bias: the router's too */
    bool turns; /* layers by turns: every other one sees all, in a group of its own, rotated and gained otherwise */
    enum kern_act act;
    float attn_cap, out_cap, scale;
    int experts, used; /* 0: no mixture; ff is one expert's */
    enum ktype router;
    bool of_all; /* weights of its experts are by the softmax of all */
    int shared; /* width of an expert beside the mixture's, which rig_model's post lets through; 0: there is none */
    enum ktype shared_gate, shared_up, shared_down;
};

/* All types of matrices that can be multiplied. */
enum { RIG_TYPES = 16 };
extern const enum ktype rig_types[RIG_TYPES];

/* The CPU backend's instruction sets, portable first; NULL: not on this machine, or not in this program: the emulated
 * ones are alone in theirs. */
enum { RIG_ISAS = 4 };
extern const char *const rig_isas[RIG_ISAS];
const struct cpu_isa *rig_isa(size_t i);

enum { RIG_GROUPS = 2 };
enum { RIG_Q, RIG_K, RIG_V, RIG_O, RIG_GATE, RIG_UP, RIG_DOWN, RIG_TABLE, RIG_ROUTER, RIG_SHARED_GATE,
       RIG_SHARED_UP, RIG_SHARED_DOWN, RIG_MATS };

/* The model as a file has it; layers share their weights. */
struct rig_model {
    struct rig_shape s;
    uint8_t *file[RIG_MATS];
    int rows[RIG_MATS], cols[RIG_MATS];
    enum ktype type[RIG_MATS];
    float *norm, *post, *bias, *more_bias, *head_norm; /* (embd) twice, (widest matrix), two of such, (head_dim) */
    int widest; /* rows */
    double inv_freq[RIG_GROUPS][KERN_HEAD_MAX / 2], gain[RIG_GROUPS];
};
struct rig_model *rig_model(struct dice *d, const struct rig_shape *s);
void rig_model_free(struct rig_model *m);

/* Set before a rig is opened: what a backend calls device memory is out of the host's reach.  A rig of one that has
 * memory of its own then takes it there, with bytes of 0xff around that must stay, and what is below is the host's
 * copy: each step begins by copying it there and ends by copying it back. */
extern bool rig_apart;
enum { RIG_COPIES = 24 };
struct rig_copy {
    void *here, *there; /* here NULL: the host has none */
    size_t size;
    bool back; /* steps change it */
};

/* The model opened on a backend, with room for max_rows rows in pages of seqs sequences of up to ctx tokens. */
struct rig {
    const struct rig_model *model;
    const struct kern *k;
    struct kdev *d;
    struct kmat mat[RIG_MATS];
    struct kern_group group[RIG_GROUPS];
    size_t mat_bytes[RIG_MATS], slab_bytes[RIG_GROUPS], work_bytes;
    void *work, *slab[RIG_GROUPS];   /* slab: the pages (group.dev_slab, unless that is apart) */
    int max_rows, seqs, stride;
    int groups;
    int32_t *table[RIG_GROUPS];      /* (seqs, stride), pages in a random order */
    float *x, *q, *att, *logits; /* (max_rows, ...) */
    struct kern_choice *choice;
    struct rig_copy copy[RIG_COPIES];
    int copies;
};
struct rig *rig_open(struct dice *d, const struct rig_model *m, const struct kern *k, const struct kern_config *cfg,
                     int max_rows, int seqs, int ctx);
void rig_close(struct rig *r);
/* What the backend is to be given for r->x, r->work and so on: that memory, or where its copy is. */
void *rig_there(const struct rig *r, const void *here);

/* Rows of a batch: (token, pos, seq) each; all rows are out rows. */
struct rig_rows {
    int n;
    int32_t token[64], pos[64], seq[64], out[64];
};
struct kern_batch rig_batch(const struct rig *r, const struct rig_rows *rows);

/* The steps of a forward pass, one by one, so that two rigs can be compared after each. */
enum rig_step { STEP_EMBED, STEP_ATTN_IN, STEP_ATTN, STEP_O, STEP_FFN, STEP_OUTPUT };
void rig_do(struct rig *r, enum rig_step step, int layer, const struct kern_batch *b);
/* What the step has written: n floats. */
float *rig_result(struct rig *r, enum rig_step step, int rows, size_t *n);
/* embed, layers, output. */
void rig_forward(struct rig *r, const struct kern_batch *b);
#endif
