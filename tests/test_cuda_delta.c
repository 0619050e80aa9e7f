/* test_cuda_delta.c - layers that keep a state, short convolutions among them, and gates of attention, by the CUDA
 * kernels, compiled for the host (tests/cuda_on_cpu/): judged by the reference in every order of threads; a row's bits
 * in every cut, and from every state that was put aside.  Tolerances: those of test_cuda_steps.c, ten times as wide
 * where a state has carried what was summed up otherwise through some dozen tokens. */
#include "tests/cuda_on_cpu/shim.h"
#include "tests/delta_rig.h"

enum { ROUNDS = CHECK_SANITIZED ? 2 : 6 };

static void near_the_references(uint64_t seed, struct shape (*draw_shape)(struct dice *dice))
{
    struct dice dice = {seed};
    for (int round = 0; round < ROUNDS; round++) {
        const struct shape s = draw_shape(&dice);
        shim_order(round % 3);
        judge_shape(&dice, &s, kern_cuda(), NULL);
    }
}

TEST(states_and_what_comes_of_them_are_near_the_references_in_every_order_of_threads)
{
    near_the_references(6, random_shape);
}

TEST(short_convolutions_are_near_the_references_in_every_order_of_threads) { near_the_references(8, random_conv); }

TEST(value_heads_may_lie_by_their_key_heads)
{
    struct dice dice = {7};
    judge_shape(&dice, &lies_by_key, kern_cuda(), NULL);
}

TEST(a_row_has_the_same_bits_in_every_cut)
{
    struct dice dice = {9};
    for (int round = 0; round < ROUNDS; round++) {
        const struct shape s = round % 2 ? random_conv(&dice) : random_shape(&dice);
        const int end[SEQS] = {20 + dice_below(&dice, 40), 1 + dice_below(&dice, 40), 48};
        struct weights w = draw(&dice, &s);
        const size_t n = (size_t)(SEQS * CTX) * (size_t)w.rows[1];
        float *first = calloc(n, sizeof *first), *other = calloc(n, sizeof *other);
        CHECK(first && other);
        for (int cut = 0; cut < 2; cut++) {
            struct world *o = open_world(&w, kern_cuda(), NULL);
            shim_order(cut);
            in_passes(&dice, o, end, cut, cut ? other : first);
            close_world(o);
        }
        CHECK(memcmp(first, other, n * sizeof *first) == 0);
        free(first), free(other);
        undraw(&w);
    }
}

TEST(a_sequence_goes_on_from_the_state_at_the_end_of_any_page)
{
    struct dice dice = {3};
    for (int round = 0; round < ROUNDS; round++) {
        const struct shape s = round % 2 ? random_conv(&dice) : random_shape(&dice);
        goes_on(&dice, &s, kern_cuda());
    }
}

TEST(gates_let_through_what_the_references_do)
{
    struct dice dice = {4};
    for (int round = 0; round < ROUNDS; round++) {
        shim_order(round % 3);
        judge_gate(&dice, kern_cuda(), NULL);
    }
}

CHECK_MAIN
