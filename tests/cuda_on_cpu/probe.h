/* probe.h - small kernels that say whether the shim is what it says (test_cuda_shim.c). */
#ifndef CUDA_ON_CPU_PROBE_H
#define CUDA_ON_CPU_PROBE_H

/* Each: 0, or -1 if an answer was wrong. */
int probe_barrier(void);   /* 3 blocks of 100 threads sum up by halves in shared memory */
int probe_shuffle(void);   /* xor, down, from a lane, 8 bytes, half a warp */
int probe_vote(void);      /* ballot, any, all */
int probe_atomic(void);    /* blocks count together */
int probe_grid(void);      /* blocks wait for each other, twice */
int probe_order(void);     /* a kernel that misses a barrier: some order of threads gives another answer */
int probe_poison(void);    /* memory that nobody wrote is not a number, shared or the device's */
int probe_later(void);     /* launches and copies wait for their stream; pageable bytes are taken at once */
int probe_limits(void);    /* launches that no device takes are refused */

/* Each ends the program (or has a page fault). */
void probe_half_barrier(void);  /* a barrier that half of the threads reach */
void probe_lost_lane(void);     /* a shuffle with lanes that have ended */
void probe_mixed(void);         /* lanes meet at a shuffle and at a vote */
void probe_past_end(void);      /* one byte behind device memory */
void probe_past_shared(void);   /* one float behind shared memory */
void probe_from_host(void);     /* the host writes to memory that is apart, where a kernel has written */
#endif
