/* model_impl.h - what model.c plans and model_load.c loads; for these two alone. */
#ifndef MODEL_IMPL_H
#define MODEL_IMPL_H
#include "engine/model.h"

/* One tensor of the file and where it goes: a matrix, or a vector of floats. */
struct model_part {
    const struct gguf_tensor *t;
    struct kmat *mat;      /* matrix, or NULL ... */
    const float **vec;     /* ... then this vector */
    size_t offset, bytes;  /* in the slab */
};
#endif
