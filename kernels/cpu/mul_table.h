/* mul_table.h - the functions of mul.h by type and tokens, for an isa_*.c's table.  It has said before:
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
    [KT_F16][T] = mul_F16_##T, [KT_BF16][T] = mul_BF16_##T

/* isa->in_order: n tokens of weights that need not be taken apart, else one. */
#define IN_ORDER(n)                                                                                                    \
    [KT_Q8_0] = n, [KT_F32] = n, [KT_F16] = n, [KT_BF16] = n, [KT_Q4_0] = 1, [KT_Q4_1] = 1, [KT_Q5_0] = 1,             \
    [KT_Q5_1] = 1, [KT_Q4_K] = 1, [KT_Q6_K] = K6_IN_ORDER

/* The same with opened weights, for the T that one of three tiles and more may have; and what opens them. */
#define MUL_OPENED(T)                                                                                                  \
    MUL_OPEN(Q4_0, 18, T)                                                                                              \
    MUL_OPEN(Q4_1, 20, T)                                                                                              \
    MUL_OPEN(Q5_0, 22, T)                                                                                              \
    MUL_OPEN(Q5_1, 24, T)                                                                                              \
    MUL_OPEN(Q4_K, 144, T)                                                                                             \
    MUL_OPEN(Q5_K, 176, T)                                                                                             \
    MUL_OPEN(Q6_K, 210, T)

#define OPENED_ROW(T)                                                                                                  \
    [KT_Q4_0][T] = mul_open_Q4_0_##T, [KT_Q4_1][T] = mul_open_Q4_1_##T, [KT_Q5_0][T] = mul_open_Q5_0_##T,              \
    [KT_Q5_1][T] = mul_open_Q5_1_##T, [KT_Q4_K][T] = mul_open_Q4_K_##T, [KT_Q5_K][T] = mul_open_Q5_K_##T,              \
    [KT_Q6_K][T] = mul_open_Q6_K_##T

#define OPEN(type, bytes, runs)                                                                                        \
    static void open_##type(const uint8_t *w, int n, uint8_t *to)                                                      \
    {                                                                                                                  \
        for (; n > 0; n--, w += ISA_GROUP * (bytes), to += (runs) * RUN) open_block(KT_##type, w, to);                 \
    }
#define OPEN_ALL                                                                                                       \
    OPEN(Q4_0, 18, 1)                                                                                                  \
    OPEN(Q4_1, 20, 1)                                                                                                  \
    OPEN(Q5_0, 22, 1)                                                                                                  \
    OPEN(Q5_1, 24, 1)                                                                                                  \
    OPEN(Q4_K, 144, 8)                                                                                                 \
    OPEN(Q5_K, 176, 8)                                                                                                 \
    OPEN(Q6_K, 210, 8)
#define OPEN_ROW                                                                                                       \
    [KT_Q4_0] = open_Q4_0, [KT_Q4_1] = open_Q4_1, [KT_Q5_0] = open_Q5_0, [KT_Q5_1] = open_Q5_1,                        \
    [KT_Q4_K] = open_Q4_K, [KT_Q5_K] = open_Q5_K, [KT_Q6_K] = open_Q6_K
