/* test_kernels_delta.c - layers that keep a state, short convolutions among them, and gates of attention: the CPU's
 * kernels judged by the reference; the same bits for every cut of a prompt, in every instruction set, and from every
 * state that was put aside. */
#include "tests/delta_rig.h"

static void near_the_references(uint64_t seed, struct shape (*draw_shape)(struct dice *dice))
{
    struct dice dice = {seed};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int round = 0; rig_isa(i) && round < (CHECK_SANITIZED ? 4 : 12); round++) {
            const struct shape s = draw_shape(&dice);
            judge_shape(&dice, &s, kern_cpu(), &(struct kern_config){.isa = rig_isas[i], .threads = 1 + round % 2});
        }
}

TEST(states_and_what_comes_of_them_are_near_the_references_for_every_instruction_set)
{
    near_the_references(5, random_shape);
}

TEST(short_convolutions_are_near_the_references_for_every_instruction_set) { near_the_references(6, random_conv); }

TEST(value_heads_may_lie_by_their_key_heads)
{
    struct dice dice = {7};
    for (size_t i = 0; i < RIG_ISAS; i++)
        if (rig_isa(i)) judge_shape(&dice, &lies_by_key, kern_cpu(), &(struct kern_config){.isa = rig_isas[i]});
}

static void same_bits(uint64_t seed, struct shape (*draw_shape)(struct dice *dice))
{
    struct dice dice = {seed};
    for (int round = 0; round < (CHECK_SANITIZED ? 2 : 5); round++) {
        const struct shape s = draw_shape(&dice);
        const int end[SEQS] = {20 + dice_below(&dice, 60), 1 + dice_below(&dice, 40), 48};
        struct weights w = draw(&dice, &s);
        const size_t n = (size_t)(SEQS * CTX) * (size_t)w.rows[1];
        float *first = calloc(n, sizeof *first), *other = calloc(n, sizeof *other);
        CHECK(first && other);
        for (size_t i = 0, runs = 0; i < RIG_ISAS; i++) {
            for (int cut = 0; rig_isa(i) && cut < 2; cut++, runs++) {
                const struct kern_config cfg = {.isa = rig_isas[i], .threads = 1 + cut};
                struct world *o = open_world(&w, kern_cpu(), &cfg);
                in_passes(&dice, o, end, cut, runs ? other : first);
                if (runs) CHECK(memcmp(first, other, n * sizeof *first) == 0);
                close_world(o);
            }
        }
        free(first), free(other);
        undraw(&w);
    }
}

TEST(a_row_has_the_same_bits_in_every_cut_and_every_instruction_set) { same_bits(9, random_shape); }
TEST(a_row_of_a_short_convolution_has_the_same_bits_too) { same_bits(10, random_conv); }

TEST(a_sequence_goes_on_from_the_state_at_the_end_of_any_page)
{
    struct dice dice = {3};
    for (int round = 0; round < 6; round++) {
        const struct shape s = round % 2 ? random_conv(&dice) : random_shape(&dice);
        goes_on(&dice, &s, kern_ref());
        goes_on(&dice, &s, kern_cpu());
    }
}

TEST(a_page_of_states_goes_to_the_host_and_comes_back)
{
    struct dice dice = {8};
    const struct shape s = random_shape(&dice);
    struct weights w = draw(&dice, &s);
    struct world *o = open_world(&w, kern_cpu(), &(struct kern_config){.threads = 1});
    const int none[SEQS] = {0}, some[SEQS] = {20, 5, 3}, more[SEQS] = {30, 6, 3};
    const size_t inner = (size_t)w.rows[1], bytes = o->group.page_bytes;
    uint8_t *host = malloc(bytes);
    float *att = calloc(11 * inner, sizeof *att);
    CHECK(host && att);
    step(o, none, some, false, 0);
    const int page = o->table[1];
    CHECK_EQ(o->k->page_fetch(o->d, &o->group, page, host, NULL), 0);
    step(o, some, more, false, 0);
    memcpy(att, o->att, 10 * inner * sizeof *att);
    memset((char *)o->group.dev_slab + (size_t)page * bytes, 0xff, bytes);
    CHECK_EQ(o->k->page_upload(o->d, &o->group, page, host, NULL), 0);
    const int again[SEQS] = {30, 5, 3};
    step(o, some, again, false, 0);
    CHECK(memcmp(att, o->att, 10 * inner * sizeof *att) == 0);
    free(host), free(att);
    close_world(o);
    undraw(&w);
}

TEST(gates_let_through_what_the_references_do)
{
    struct dice dice = {4};
    for (size_t i = 0; i < RIG_ISAS; i++)
        for (int round = 0; rig_isa(i) && round < 4; round++)
            judge_gate(&dice, kern_cpu(), &(struct kern_config){.isa = rig_isas[i], .threads = 2});
}

CHECK_MAIN
