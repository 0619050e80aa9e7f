/* limits.c - see limits.h.  Arithmetic loops use registers only; reading loops only load. */
#include "tests/bench/limits.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { INNER = 20000, MOST = PROBE_THREADS };
static const size_t buffer_bytes = (size_t)512 << 20;
static const size_t huge = (size_t)2 << 20;
static const double read_s = 0.05, int8_s = 0.01;

/* One instruction set's loops.  read: all of p[0 .. n), n a multiple of 512, p aligned to 64, fetching lines in pairs,
 * each, each and those 4 KiB further on to the second cache, or none: which is fastest, by up to a half, is the
 * processor's affair (Zen 5; Zen 4; Emerald Rapids; Zen 3).  int8: returns how many operations it did. */
enum { PAIRS, EACH, BOTH, NONE, WAYS };
struct loops {
    const char *name;
    uint64_t (*read[WAYS])(const char *p, size_t n);
    double (*int8)(void);
};

static atomic_uint_fast64_t sink; /* results go here, so that no loop can be left out */

/* ----------------------------------------------------------------- plain C */

static uint64_t read_plain(const char *p, size_t n)
{
    const uint64_t *q = (const uint64_t *)(const void *)p;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 8 <= n / 8; i += 8) {
        a ^= q[i] ^ q[i + 4];
        b ^= q[i + 1] ^ q[i + 5];
        c ^= q[i + 2] ^ q[i + 6];
        d ^= q[i + 3] ^ q[i + 7];
    }
    return a ^ b ^ c ^ d;
}

/* The widest that C says by itself: 16-bit lanes whose sums wrap.  Where the silicon has better, it is not the peak. */
static double int8_plain(void)
{
    typedef int16_t lanes __attribute__((vector_size(16)));
    static const volatile int16_t some = 3; /* volatile: nothing is known of it, so nothing is computed beforehand */
    lanes zero = {0}, one = zero + 1, x = one, y = zero + some, z = y + some, a = zero, b = zero, c = zero, d = zero;
    for (int i = 0; i < INNER; i++) {
        a += x * y;
        b += x * z;
        x += one;
        c += x * y;
        d += x * z;
    }
    a ^= b ^ c ^ d;
    atomic_fetch_add(&sink, (uint64_t)(a[0] + a[7]));
    return 2.0 * 8 * 4 * INNER;
}

static const struct loops plain = {"plain C", {read_plain, read_plain, read_plain, read_plain}, int8_plain};

/* -------------------------------------------------------------------- x86 */

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* Independent chains hide the latency of an operation that starts twice a cycle: eight that of a load, twelve that of a
 * product with its sum (eight reach nine tenths of the peak).  The empty asm keeps them apart. */
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TWELVE(X) EIGHT(X) X(8) X(9) X(10) X(11)
#define KEEP(C) __asm__ volatile("" : C(a0), C(a1), C(a2), C(a3), C(a4), C(a5), C(a6), C(a7))
#define KEEP_MORE(C) __asm__ volatile("" : C(a8), C(a9), C(a10), C(a11))
#define IN_V(a) "+v"(a)
#define IN_X(a) "+x"(a)

/* The lines of n bytes, one of so many bytes (0: none); further: as far on they are fetched to the second cache;
 * 0: they are not. */
__attribute__((always_inline)) static inline void fetch(const char *p, const int n, const int every, const int further)
{
#pragma GCC unroll 8
    for (int i = 0; every && i < n; i += every) {
        __builtin_prefetch(p + i);
        if (further) __builtin_prefetch(p + further + i, 0, 2);
    }
}

__attribute__((target("avx512f"), always_inline)) static inline
uint64_t stream_avx512(const char *p, size_t n, const int ahead, const int every, const int further)
{
    __m512i a0, a1, a2, a3, a4, a5, a6, a7;
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 512) {
        const char *q = p + i;
        fetch(q + ahead, 512, every, further);
#define LOAD(k) a##k = _mm512_xor_si512(a##k, _mm512_load_si512((const void *)(q + 64 * k)));
        EIGHT(LOAD)
#undef LOAD
    }
    KEEP(IN_V);
    a0 = _mm512_xor_si512(_mm512_xor_si512(_mm512_xor_si512(a0, a1), _mm512_xor_si512(a2, a3)),
                          _mm512_xor_si512(_mm512_xor_si512(a4, a5), _mm512_xor_si512(a6, a7)));
    return (uint64_t)_mm512_reduce_add_epi64(a0);
}

__attribute__((target("avx512f"))) static uint64_t pairs_avx512(const char *p, size_t n)
{
    return stream_avx512(p, n, 4096, 128, 0);
}

__attribute__((target("avx512f"))) static uint64_t each_avx512(const char *p, size_t n)
{
    return stream_avx512(p, n, 8192, 64, 0);
}

__attribute__((target("avx512f"))) static uint64_t both_avx512(const char *p, size_t n)
{
    return stream_avx512(p, n, 4096, 64, 4096);
}

__attribute__((target("avx512f"))) static uint64_t none_avx512(const char *p, size_t n)
{
    return stream_avx512(p, n, 0, 0, 0);
}

__attribute__((target("avx512f,avx512vnni"))) static double int8_avx512(void)
{
    __m512i x = _mm512_set1_epi8(1), a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = _mm512_setzero_si512();
    for (int i = 0; i < INNER; i++) {
#define STEP(k) a##k = _mm512_dpbusd_epi32(a##k, x, x);
        TWELVE(STEP)
#undef STEP
        KEEP(IN_V);
        KEEP_MORE(IN_V);
    }
    atomic_fetch_add(&sink, (uint64_t)_mm512_reduce_add_epi32(_mm512_add_epi32(a0, a11)));
    return 2.0 * 64 * 12 * INNER;
}

__attribute__((target("avx2"), always_inline)) static inline
uint64_t stream_avx2(const char *p, size_t n, const int ahead, const int every, const int further)
{
    __m256i a0, a1, a2, a3, a4, a5, a6, a7;
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += 256) {
        const char *q = p + i;
        fetch(q + ahead, 256, every, further);
#define LOAD(k) a##k = _mm256_xor_si256(a##k, _mm256_load_si256((const __m256i *)(const void *)(q + 32 * k)));
        EIGHT(LOAD)
#undef LOAD
    }
    KEEP(IN_X);
    a0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_xor_si256(a0, a1), _mm256_xor_si256(a2, a3)),
                          _mm256_xor_si256(_mm256_xor_si256(a4, a5), _mm256_xor_si256(a6, a7)));
    return (uint64_t)_mm256_extract_epi64(a0, 0);
}

__attribute__((target("avx2"))) static uint64_t pairs_avx2(const char *p, size_t n)
{
    return stream_avx2(p, n, 4096, 128, 0);
}

__attribute__((target("avx2"))) static uint64_t each_avx2(const char *p, size_t n)
{
    return stream_avx2(p, n, 8192, 64, 0);
}

__attribute__((target("avx2"))) static uint64_t both_avx2(const char *p, size_t n)
{
    return stream_avx2(p, n, 4096, 64, 4096);
}

__attribute__((target("avx2"))) static uint64_t none_avx2(const char *p, size_t n)
{
    return stream_avx2(p, n, 0, 0, 0);
}

__attribute__((target("avx2,avxvnni"))) static double int8_avxvnni(void)
{
    __m256i x = _mm256_set1_epi8(1), a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = _mm256_setzero_si256();
    for (int i = 0; i < INNER; i++) {
#define STEP(k) a##k = _mm256_dpbusd_avx_epi32(a##k, x, x);
        TWELVE(STEP)
#undef STEP
        KEEP(IN_X);
        KEEP_MORE(IN_X);
    }
    atomic_fetch_add(&sink, (uint64_t)_mm256_extract_epi64(_mm256_add_epi32(a0, a11), 0));
    return 2.0 * 32 * 12 * INNER;
}

/* Without VNNI a product of 32 bytes with exact sums takes three instructions. */
__attribute__((target("avx2"))) static double int8_avx2(void)
{
    __m256i x = _mm256_set1_epi8(1), one = _mm256_set1_epi16(1), a0, a1, a2, a3, a4, a5, a6, a7;
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = _mm256_setzero_si256();
    for (int i = 0; i < INNER; i++) {
        __asm__ volatile("" : "+x"(x));
#define STEP(k)                                                                               \
    {                                                                                         \
        __m256i y = x;                                                                        \
        __asm__ volatile("" : "+x"(y)); /* else the eight equal products become one */        \
        a##k = _mm256_add_epi32(a##k, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), one));    \
    }
        EIGHT(STEP)
#undef STEP
    }
    KEEP(IN_X);
    atomic_fetch_add(&sink, (uint64_t)_mm256_extract_epi64(_mm256_add_epi32(a0, a7), 0));
    return 2.0 * 32 * 8 * INNER;
}

static const struct loops avx512 = {"AVX-512 VNNI", {pairs_avx512, each_avx512, both_avx512, none_avx512}, int8_avx512};
static const struct loops avxvnni = {"AVX2 VNNI", {pairs_avx2, each_avx2, both_avx2, none_avx2}, int8_avxvnni};
static const struct loops avx2 = {"AVX2", {pairs_avx2, each_avx2, both_avx2, none_avx2}, int8_avx2};
#endif

#if defined(__x86_64__)
/* CPUID leaf 7.1: EAX bit 4 (clang's __builtin_cpu_supports does not know the name before version 15). */
static bool has_avxvnni(void)
{
    unsigned a = 0, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif

static const struct loops *best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni")) return &avx512;
    if (has_avxvnni()) return &avxvnni;
    if (__builtin_cpu_supports("avx2")) return &avx2;
#endif
    return &plain;
}

const char *probe_isa(void) { return best()->name; }

/* ---------------------------------------------------------------- threads */

struct probe {
    const struct loops *loops;
    char *raw, *data; /* data: raw, aligned to huge pages */
    int threads, cores, core[MOST];
};

struct job {
    struct probe *p;
    pthread_barrier_t *start;
    int who;
    uint64_t (*read)(const char *p, size_t n); /* NULL: products */
    double rate; /* bytes or operations a second */
};

static void *work(void *arg)
{
    struct job *j = arg;
    struct probe *p = j->p;
    if (p->cores) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)p->core[j->who % p->cores], &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set); /* refused: then it is not pinned */
    }
    size_t part = buffer_bytes / (size_t)p->threads / 4096 * 4096;
    const char *from = p->data + part * (size_t)j->who;
    double all = j->read ? read_s : int8_s, done = 0;
    if (!j->read) p->loops->int8(); /* wide units need a moment to wake up */
    pthread_barrier_wait(j->start);
    double begin = bench_now(), now;
    do {
        if (j->read) {
            atomic_fetch_add(&sink, j->read(from, part));
            done += (double)part;
        } else {
            done += p->loops->int8();
        }
        now = bench_now();
    } while (now - begin < all);
    j->rate = done / (now - begin);
    return NULL;
}

/* The sum of the threads' own rates: they end a little apart, so no one wall time fits all. */
static double measure(struct probe *p, uint64_t (*read)(const char *p, size_t n))
{
    pthread_t thread[MOST];
    struct job job[MOST];
    pthread_barrier_t start;
    double rate = 0;
    int started = 0;
    pthread_barrier_init(&start, NULL, (unsigned)p->threads);
    while (started < p->threads) {
        job[started] = (struct job){.p = p, .start = &start, .who = started, .read = read};
        if (pthread_create(&thread[started], NULL, work, &job[started])) {
            fprintf(stderr, "bench: thread %d of %d could not be started\n", started + 1, p->threads);
            exit(1); /* those that started wait at the barrier for good */
        }
        started++;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(thread[i], NULL);
        rate += job[i].rate;
    }
    pthread_barrier_destroy(&start);
    return rate * 1e-9;
}

struct limits probe_limits(struct probe *p)
{
    struct limits l = {0};
    for (int way = 0; way < WAYS; way++) {
        const double read = measure(p, p->loops->read[way]);
        l.read = MAX(l.read, read);
    }
    l.int8 = measure(p, NULL);
    return l;
}

struct probe *probe_open(int threads, struct err *err)
{
    struct probe *p = threads >= 1 && threads <= MOST ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        err_set(err, -1, "%d threads cannot be probed: use 1 to %d", threads, MOST);
        return NULL;
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int i = 0; i < CPU_SETSIZE && p->cores < MOST; i++)
            if (CPU_ISSET((size_t)i, &set)) p->core[p->cores++] = i;
    p->loops = best();
    p->threads = threads;
    p->raw = mmap(NULL, buffer_bytes + 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->raw == MAP_FAILED) {
        err_set(err, -1, "no memory (%zu MiB) for the probe of the read bandwidth", buffer_bytes >> 20);
        free(p);
        return NULL;
    }
    p->data = (char *)(((uintptr_t)p->raw + huge - 1) & ~(uintptr_t)(huge - 1));
    madvise(p->data, buffer_bytes + huge, MADV_HUGEPAGE);
    memset(p->data, 0x5a, buffer_bytes + huge); /* the last part's prefetches run a little past its end */
    return p;
}

void probe_close(struct probe *p)
{
    if (!p) return;
    munmap(p->raw, buffer_bytes + 2 * huge);
    free(p);
}
