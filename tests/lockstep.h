/* lockstep.h - a backend judged by the reference, step by step. */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H
#include "tests/rig.h"

/* A random shape: integer types have whole blocks of cols; rows are odd. */
struct rig_shape lockstep_shape(struct dice *d, bool floats);

/* The same with a mixture of experts, of whole groups of 32 rows each. */
struct rig_shape lockstep_mix(struct dice *dice, bool floats);

/* The same with a shared expert, whose width and types are others. */
struct rig_shape lockstep_shared(struct dice *dice, bool floats);

/* One of both, often with what gpt-oss has: sinks, biases of the feed-forward, its activation, MXFP4. */
struct rig_shape lockstep_oss(struct dice *dice, bool floats);

/* Heads of Gemma's models, fewer of them, with all else that goes with them: softcapped as in the second, or normed as
 * in the third. */
enum { LOCKSTEP_GEMMAS = 4 };
struct rig_shape lockstep_gemma(int which);

/* Heads and norms as in OLMo's models and Ministral 3: no norm before products, q and k normed as whole rows, q
 * tempered; together, and each alone. */
enum { LOCKSTEP_LATES = 5 };
struct rig_shape lockstep_late(int which);

/* Passes over three sequences: the reference (rounded: with int8 activations) and k, opened with cfg, both do a step,
 * are compared, and go on from what the reference has.  tol: of the result's rms and the value; attention's is at
 * least what rounding of K and V to the pages' type may make of a last bit. */
void lockstep(struct dice *dice, const struct rig_shape *s, const struct kern *k, const struct kern_config *cfg,
              bool rounded, int batches, double tol);
#endif
