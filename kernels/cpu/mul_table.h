/* mul_table.h - the functions of mul_strip.h and mul_swap.h by type and tokens, for an isa_*.c's table.  It has said
 * before:
 *
 *     NV_OF(type, T)          how many of 32 / LANES vectors a strip has
 *     SPLITS(type, T, bytes)  whether so many bytes are gone over block by block, NV_SPLIT vectors of each at a time,
 *                             not strip by strip */

#define MUL_INT(type, bytes, T)                                                                                        \
    static void mul_##type##_##T(const uint8_t *w, int n, const void *x, size_t stride, float *acc,                    \
                                struct isa_ahead ahead)                                                                \
    {                                                                                                                  \
        (void)stride;                                                                                                  \
        if (SPLITS(KT_##type, T, n * ISA_GROUP * (bytes))) {                                                           \
            split_int(T, NV_SPLIT, KT_##type, false, ISA_GROUP *(bytes), w, NULL, n, x, acc, ahead);                   \
            return;                                                                                                    \
        }                                                                                                              \
        for (int row = 0; row < ISA_GROUP; row += NV_OF(KT_##type, T) * LANES)                                         \
            strip_int(T, NV_OF(KT_##type, T), KT_##type, false, ISA_GROUP *(bytes), w, NULL, n, x, 4 * row, acc + row, \
                      row ? (struct isa_ahead){.at = w} : ahead);                                                      \
    }

#define MUL_OPEN(type, bytes, T)                                                                                       \
    static void mul_open_##type##_##T(const uint8_t *w, const uint8_t *open, int n, const struct act *x, float *acc,   \
                                     struct isa_ahead ahead)                                                           \
    {                                                                                                                  \
        for (int row = 0; row < ISA_GROUP; row += NV_OF(KT_##type, T) * LANES)                                         \
            strip_int(T, NV_OF(KT_##type, T), KT_##type, true, ISA_GROUP *(bytes), w, open, n, x, 4 * row, acc + row,  \
                      row ? (struct isa_ahead){.at = w} : ahead);                                                      \
    }

#define MUL_FLOAT(type, T)                                                                                             \
    static void mul_##type##_##T(const uint8_t *w, int n, const void *x, size_t stride, float *acc,                    \
                                struct isa_ahead ahead)                                                                \
    {                                                                                                                  \
        for (int row = 0; row < ISA_GROUP; row += NV_OF(KT_##type, T) * LANES)                                         \
            strip_float(T, NV_OF(KT_##type, T), KT_##type, w, n, x, stride, row, acc + row,                            \
                        row ? (struct isa_ahead){.at = w} : ahead);                                                    \
    }

/* All types for one T; an isa_*.c asks for the T that its registers hold. */
#define MUL_ALL(T)                                                                                                     \
    MUL_INT(Q8_0, 34, T)                                                                                               \
    MUL_INT(Q4_0, 18, T)                                                                                               \
    MUL_INT(Q4_1, 20, T)                                                                                               \
    MUL_INT(Q5_0, 22, T)                                                                                               \
    MUL_INT(Q5_1, 24, T)                                                                                               \
    MUL_INT(MXFP4, 17, T)                                                                                              \
    MUL_INT(Q4_K, 144, T)                                                                                              \
    MUL_INT(Q5_K, 176, T)                                                                                              \
    MUL_INT(Q6_K, 210, T)                                                                                              \
    MUL_FLOAT(F32, T)                                                                                                  \
    MUL_FLOAT(F16, T)                                                                                                  \
    MUL_FLOAT(BF16, T)

#define MUL_ROW(T)                                                                                                     \
    [KT_Q8_0][T] = mul_Q8_0_##T, [KT_Q4_0][T] = mul_Q4_0_##T, [KT_Q4_1][T] = mul_Q4_1_##T,                             \
    [KT_Q5_0][T] = mul_Q5_0_##T, [KT_Q5_1][T] = mul_Q5_1_##T, [KT_Q4_K][T] = mul_Q4_K_##T,                             \
    [KT_Q5_K][T] = mul_Q5_K_##T, [KT_Q6_K][T] = mul_Q6_K_##T, [KT_F32][T] = mul_F32_##T,                               \
    [KT_F16][T] = mul_F16_##T, [KT_BF16][T] = mul_BF16_##T, [KT_MXFP4][T] = mul_MXFP4_##T

/* isa->in_order: n tokens of weights that need not be taken apart, else one. */
#define IN_ORDER(n)                                                                                                    \
    [KT_Q8_0] = n, [KT_F32] = n, [KT_F16] = n, [KT_BF16] = n, [KT_Q4_0] = 1, [KT_Q4_1] = 1, [KT_Q5_0] = 1,             \
    [KT_Q5_1] = 1, [KT_MXFP4] = 1, [KT_Q4_K] = 1, [KT_Q6_K] = K6_IN_ORDER

/* The same with opened weights.  OPENING(type, bytes, run, opening): what opens a type, to so many bytes a run of 32,
 * by a function for a block. */
#define OPENING(type, bytes, run, opening)                                                                             \
    static void open_##type(const uint8_t *w, int n, uint8_t *to)                                                      \
    {                                                                                                                  \
        const int step = runs_of(KT_##type) * (run);                                                                   \
        for (; n > 0; n--, w += ISA_GROUP * (bytes), to += step) opening(KT_##type, w, to);                            \
    }

/* By mul_strip.h. */
#define OPENS(type, bytes) OPENING(type, bytes, OPEN_BYTES(KT_##type), open_block)
#define OPEN_ALL                                                                                                       \
    OPENS(Q4_0, 18)                                                                                                    \
    OPENS(Q4_1, 20)                                                                                                    \
    OPENS(Q5_0, 22)                                                                                                    \
    OPENS(Q5_1, 24)                                                                                                    \
    OPENS(MXFP4, 17)                                                                                                   \
    OPENS(Q4_K, 144)                                                                                                   \
    OPENS(Q5_K, 176)                                                                                                   \
    OPENS(Q6_K, 210)
#define OPENER(type, tiles) [KT_##type] = {open_##type, OPEN_BYTES(KT_##type), tiles}
/* For each T that one of so many tiles may have: of 8 at most, one of three has 5 tokens at least, and of two 4. */
#define MUL_OPENED(T)                                                                                                  \
    MUL_OPEN(Q4_0, 18, T)                                                                                              \
    MUL_OPEN(Q4_1, 20, T)                                                                                              \
    MUL_OPEN(Q5_0, 22, T)                                                                                              \
    MUL_OPEN(Q5_1, 24, T)                                                                                              \
    MUL_OPEN(MXFP4, 17, T)                                                                                             \
    MUL_OPEN(Q4_K, 144, T)                                                                                             \
    MUL_OPEN(Q5_K, 176, T)                                                                                             \
    MUL_OPEN(Q6_K, 210, T)
#define OPENED_ROW(T)                                                                                                  \
    [KT_Q4_0][T] = mul_open_Q4_0_##T, [KT_Q4_1][T] = mul_open_Q4_1_##T, [KT_Q5_0][T] = mul_open_Q5_0_##T,              \
    [KT_Q5_1][T] = mul_open_Q5_1_##T, [KT_Q4_K][T] = mul_open_Q4_K_##T, [KT_Q5_K][T] = mul_open_Q5_K_##T,              \
    [KT_Q6_K][T] = mul_open_Q6_K_##T, [KT_MXFP4][T] = mul_open_MXFP4_##T

/* By mul_swap.h, whose tokens come one by one: the same function for each T. */
#define SWAP(type, bytes)                                                                                              \
    OPENING(type, bytes, SWAP_BYTES(KT_##type), swap_block)                                                            \
    static void swap_##type(const uint8_t *w, const uint8_t *open, int n, const struct act *x, int T, float *acc,      \
                            struct isa_ahead ahead)                                                                    \
    {                                                                                                                  \
        swap_tile(KT_##type, ISA_GROUP *(bytes), w, open, n, x, T, acc, ahead);                                        \
    }
#define SWAP_ALL                                                                                                       \
    SWAP(Q4_0, 18)                                                                                                     \
    SWAP(Q5_0, 22)                                                                                                     \
    SWAP(MXFP4, 17)                                                                                                    \
    SWAP(Q4_K, 144)                                                                                                    \
    SWAP(Q5_K, 176)                                                                                                    \
    SWAP(Q6_K, 210)
#define SWAPPER(type, tiles) [KT_##type] = {open_##type, SWAP_BYTES(KT_##type), tiles}

#define SWAP_TOKENS(type, T)                                                                                           \
    static void mul_open_##type##_##T(const uint8_t *w, const uint8_t *open, int n, const struct act *x, float *acc,   \
                                     struct isa_ahead ahead)                                                           \
    {                                                                                                                  \
        swap_##type(w, open, n, x, T, acc, ahead);                                                                     \
    }
#define MUL_SWAPPED(T)                                                                                                 \
    SWAP_TOKENS(Q4_0, T)                                                                                               \
    SWAP_TOKENS(Q5_0, T)                                                                                               \
    SWAP_TOKENS(MXFP4, T)                                                                                              \
    SWAP_TOKENS(Q4_K, T)                                                                                               \
    SWAP_TOKENS(Q5_K, T)                                                                                               \
    SWAP_TOKENS(Q6_K, T)
#define SWAPPED_ROW(T)                                                                                                 \
    [KT_Q4_0][T] = mul_open_Q4_0_##T, [KT_Q5_0][T] = mul_open_Q5_0_##T, [KT_Q4_K][T] = mul_open_Q4_K_##T,              \
    [KT_Q5_K][T] = mul_open_Q5_K_##T, [KT_Q6_K][T] = mul_open_Q6_K_##T, [KT_MXFP4][T] = mul_open_MXFP4_##T
