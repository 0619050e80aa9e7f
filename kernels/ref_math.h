/* ref_math.h - what the steps of the reference backend (ref.c) are put together from: norms, products, rotations, in
 * double; and the steps that are not in ref.c itself.  Only ref*.c include it. */
#ifndef REF_MATH_H
#define REF_MATH_H
#include "kernels/kernels.h"

/* What a step with matrices needs of dev_work; attn keeps its scores there instead, and sample its scratch. */
struct ref_work {
    float *norm;    /* (cols) */
    double *act;    /* (cols) activations as one matrix sees them */
    float *weights; /* (cols) one row of a matrix, decoded */
    double *out;    /* (out) all rows of one matrix, where a step needs them together */
    float *mid;     /* (out) one row between two matrices */
    double *sum;    /* (out) what a mixture's experts come to */
    float *logits;  /* (KERN_EXPERTS) its router's */
};

/* Cut dev_work (NULL: for its size alone) for a step whose matrices have at most cols columns and out rows; returns the
 * bytes of it. */
size_t ref_work_cut(struct ref_work *w, void *dev_work, int cols, int out);

bool ref_is_integer(enum ktype type);
size_t ref_row_bytes(enum ktype type, int cols);
const void *ref_mat_row(const struct kmat *m, int row);

void ref_rms_norm(const float *x, const float *weight, int n, float eps, float *y);
/* The same in place on what is still in double: one head of q or k, a row that is to be added. */
void ref_norm_in_place(double *x, const float *weight, int n, float eps);

/* A row of activations as a matrix of this type sees it; rounded: integer types see integers. */
void ref_activations(bool rounded, enum ktype type, const float *x, int n, double *y);
/* One row of a matrix times activations; weights: room for its columns. */
double ref_dot(const struct kmat *m, int row, const double *act, float *weights);
/* w->out = m x + bias, which may be NULL. */
void ref_matmul(bool rounded, const struct kmat *m, const float *bias, const float *x, struct ref_work *w);

/* Each pair of one head is a complex number, turned by its angle. */
void ref_rope_turn(const struct kern_rope *rope, int pos, double *x);
double ref_softcapped(double x, float cap);
/* What the gate's product and the other's come to.  GELU in its usual tanh form, the one that models which name it were
 * trained with. */
double ref_gated(enum kern_act act, double gate, double up);
/* v[n] becomes its softmax; sink: one more that takes part, or NULL. */
void ref_softmax(double *v, int n, const float *sink);

/* ref_delta.c: the steps gate, delta and conv of kernels.h. */
void ref_gate_rows(bool rounded, int rows, const struct kern_gate *g, const float *x, float *att, void *dev_work);
void ref_delta_rows(bool rounded, const struct kern_batch *b, const struct kern_delta *w, const struct kern_group *g,
                    int group, int layer, const float *x, float *att, void *dev_work);
void ref_conv_rows(bool rounded, const struct kern_batch *b, const struct kern_conv *w, const struct kern_group *g,
                   int group, int layer, const float *x, float *att, void *dev_work);
#endif
