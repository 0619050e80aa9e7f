/* mul_table.h - the functions of mul_strip.h, mul_swap.h and mul_shared.h by type and tokens, for an isa_*.c's table.
 * It has said before:
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
    [KT_F16][T] = mul_F16_##T, [KT_BF16][T] = mul_BF16_##T, [KT_MXFP4][T] = mul_MXFP4_##T,                             \
    [KT_IQ4_NL][T] = mul_IQ4_NL_##T, [KT_IQ4_XS][T] = mul_IQ4_XS_##T, [KT_Q3_K][T] = mul_Q3_K_##T,                     \
    [KT_Q2_K][T] = mul_Q2_K_##T

/* By mul_shared.h: the function of a lone token; and one that is given T, for each of those up to a set's tile. */
#define SHARED(type, bytes)                                                                                            \
    MUL_INT(type, bytes, 1)                                                                                            \
    OPENING(type, bytes, SHARED_BYTES(KT_##type), shared_block)                                                        \
    static __attribute__((noinline)) void shared_##type(const uint8_t *w, const uint8_t *open, int n,                  \
                                                        const struct act *x, int T, float *acc,                        \
                                                        struct isa_ahead ahead)                                        \
    {                                                                                                                  \
        shared_blocks(KT_##type, open_##type, ISA_GROUP *(bytes), w, open, n, x, T, acc, ahead);                       \
    }                                                                                                                  \
    SHARED_OPEN(type, 1)
#define SHARED_OPEN(type, T)                                                                                           \
    static void mul_open_##type##_##T(const uint8_t *w, const uint8_t *open, int n, const struct act *x, float *acc,   \
                                     struct isa_ahead ahead)                                                           \
    {                                                                                                                  \
        shared_##type(w, open, n, x, T, acc, ahead);                                                                   \
    }
#define SHARED_ALL                                                                                                     \
    SHARED(IQ4_NL, 18)                                                                                                 \
    SHARED(IQ4_XS, 136)                                                                                                \
    SHARED(Q3_K, 110)                                                                                                  \
    SHARED(Q2_K, 84)
#define SHARED_TOKENS(type, T)                                                                                         \
    static void mul_##type##_##T(const uint8_t *w, int n, const void *x, size_t stride, float *acc,                    \
                                struct isa_ahead ahead)                                                                \
    {                                                                                                                  \
        (void)stride;                                                                                                  \
        shared_##type(w, NULL, n, x, T, acc, ahead);                                                                   \
    }                                                                                                                  \
    SHARED_OPEN(type, T)
#define MUL_SHARED(T)                                                                                                  \
    SHARED_TOKENS(IQ4_NL, T)                                                                                           \
    SHARED_TOKENS(IQ4_XS, T)                                                                                           \
    SHARED_TOKENS(Q3_K, T)                                                                                             \
    SHARED_TOKENS(Q2_K, T)
#define MUL_SHARED_2 MUL_SHARED(2)
#define MUL_SHARED_6 MUL_SHARED_2 MUL_SHARED(3) MUL_SHARED(4) MUL_SHARED(5) MUL_SHARED(6)
#define MUL_SHARED_8 MUL_SHARED_6 MUL_SHARED(7) MUL_SHARED(8)
#define SHARED_OPENED(T)                                                                                               \
    [KT_IQ4_NL][T] = mul_open_IQ4_NL_##T, [KT_IQ4_XS][T] = mul_open_IQ4_XS_##T, [KT_Q3_K][T] = mul_open_Q3_K_##T,      \
    [KT_Q2_K][T] = mul_open_Q2_K_##T
#define SHARED_OPENED_2 SHARED_OPENED(1), SHARED_OPENED(2)
#define SHARED_OPENED_6 SHARED_OPENED_2, SHARED_OPENED(3), SHARED_OPENED(4), SHARED_OPENED(5), SHARED_OPENED(6)
#define SHARED_OPENED_8 SHARED_OPENED_6, SHARED_OPENED(7), SHARED_OPENED(8)
#define SHARER(type) [KT_##type] = {open_##type, SHARED_BYTES(KT_##type), 2}
#define SHARERS SHARER(IQ4_NL), SHARER(IQ4_XS), SHARER(Q3_K), SHARER(Q2_K)

/* isa->in_order: n tokens of weights that need not be taken apart, else one. */
#define IN_ORDER(n)                                                                                                    \
    [KT_Q8_0] = n, [KT_F32] = n, [KT_F16] = n, [KT_BF16] = n, [KT_Q4_0] = 1, [KT_Q4_1] = 1, [KT_Q5_0] = 1,             \
    [KT_Q5_1] = 1, [KT_MXFP4] = 1, [KT_IQ4_NL] = 1, [KT_Q4_K] = 1, [KT_IQ4_XS] = 1, [KT_Q2_K] = 1,                     \
    [KT_Q6_K] = K6_IN_ORDER

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
