/* shape.h - model files of a real model's shape with random weights, made where they are needed: a pack has no room for
 * them. */
#ifndef GPU_SHAPE_H
#define GPU_SHAPE_H
#include "kernels/quant.h"

struct shape {
    int layers, embd, heads, kv_heads, ff, vocab;
    enum ktype type; /* of all matrices, the table that is the output's too included; a type of integers */
};
/* llama3.2-1b's, which both kinds of blocks fit; and one that a shim can compute. */
#define SHAPE_1B(t) ((struct shape){16, 2048, 32, 8, 8192, 128256, t})
#define SHAPE_SMALL(t) ((struct shape){2, 256, 4, 2, 512, 700, t})

/* The file, in the test's folder (check_tmpdir()); the path lives until seven more files were made. */
const char *shape_file(const struct shape *s, const char *name);
#endif
