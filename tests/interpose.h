/* interpose.h - every allocation of the process, libraries included, passes through here: for the few test programs
 * that count allocations or make them fail.
 *
 * It defines malloc and its family, mmap and its family, brk and sbrk: a program's own definitions go before those of
 * its libraries.  So it is included by one file of a test program (a helper in C would change every test program).
 *
 *     if (!INTERPOSE_WORKS) SKIP(...);
 *     interpose_arm(0, false);            // count; interpose_arm(7, true): the seventh fails, and all after it
 *     ...
 *     CHECK_EQ(interpose_disarm(), 0);    // calls since then, by any thread
 *
 * A sanitizer has an allocator of its own, and other C libraries than glibc give no name to call behind ours: there
 * nothing is defined, and INTERPOSE_WORKS is 0. */
#ifndef INTERPOSE_H
#define INTERPOSE_H
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define INTERPOSE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(INTERPOSE_SANITIZED) || !defined(__GLIBC__)
#define INTERPOSE_WORKS 0
#else
#define INTERPOSE_WORKS 1
#endif

static struct {
    atomic_bool armed;
    atomic_long calls;   /* while armed, freeing ones too */
    atomic_long takes;   /* of these, the allocating ones */
    atomic_long live;    /* blocks that malloc's family gave while armed, less those that were freed */
    atomic_long fail_at; /* the allocating call that fails, from 1; 0: none */
    atomic_bool stay;    /* and all after it */
    _Atomic(const char *) first; /* the first call's name ... */
    atomic_size_t first_bytes;
    _Atomic(void *) first_from;  /* ... and where it was made */
} interpose;

static inline void interpose_arm(long fail_at, bool stay)
{
    atomic_store(&interpose.calls, 0);
    atomic_store(&interpose.takes, 0);
    atomic_store(&interpose.live, 0);
    atomic_store(&interpose.first, NULL);
    atomic_store(&interpose.fail_at, fail_at);
    atomic_store(&interpose.stay, stay);
    atomic_store(&interpose.armed, true);
}

static inline long interpose_disarm(void)
{
    atomic_store(&interpose.armed, false);
    return atomic_load(&interpose.calls);
}

#if INTERPOSE_WORKS
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t each);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

/* true: this call shall fail. */
static bool interpose_see(const char *name, size_t bytes, bool takes, void *from)
{
    if (!atomic_load_explicit(&interpose.armed, memory_order_relaxed)) return false;
    if (atomic_fetch_add(&interpose.calls, 1) == 0) {
        atomic_store(&interpose.first_bytes, bytes);
        atomic_store(&interpose.first_from, from);
        atomic_store(&interpose.first, name);
    }
    if (!takes) return false;
    long n = atomic_fetch_add(&interpose.takes, 1) + 1, fail = atomic_load(&interpose.fail_at);
    if (fail == 0 || n < fail || (n > fail && !atomic_load(&interpose.stay))) return false;
    errno = ENOMEM;
    return true;
}

static void *interpose_gave(void *p)
{
    if (p && atomic_load_explicit(&interpose.armed, memory_order_relaxed)) atomic_fetch_add(&interpose.live, 1);
    return p;
}

#define INTERPOSE_SEE(name, bytes, takes) interpose_see(name, bytes, takes, __builtin_return_address(0))

void *malloc(size_t n)
{
    return INTERPOSE_SEE("malloc", n, true) ? NULL : interpose_gave(__libc_malloc(n));
}

void *calloc(size_t n, size_t each)
{
    return INTERPOSE_SEE("calloc", n * each, true) ? NULL : interpose_gave(__libc_calloc(n, each));
}

void free(void *p)
{
    if (!p) return;
    INTERPOSE_SEE("free", 0, false);
    if (atomic_load_explicit(&interpose.armed, memory_order_relaxed)) atomic_fetch_sub(&interpose.live, 1);
    __libc_free(p);
}

void *realloc(void *p, size_t n)
{
    if (INTERPOSE_SEE("realloc", n, true)) return NULL;
    void *q = __libc_realloc(p, n);
    return p ? q : interpose_gave(q);
}

void *reallocarray(void *p, size_t n, size_t each)
{
    size_t bytes;
    if (!__builtin_mul_overflow(n, each, &bytes)) return realloc(p, bytes);
    errno = ENOMEM;
    return NULL;
}

void *memalign(size_t align, size_t n)
{
    return INTERPOSE_SEE("memalign", n, true) ? NULL : interpose_gave(__libc_memalign(align, n));
}

void *aligned_alloc(size_t align, size_t n)
{
    return INTERPOSE_SEE("aligned_alloc", n, true) ? NULL : interpose_gave(__libc_memalign(align, n));
}

int posix_memalign(void **out, size_t align, size_t n)
{
    void *p = INTERPOSE_SEE("posix_memalign", n, true) ? NULL : interpose_gave(__libc_memalign(align, n));
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    if (INTERPOSE_SEE("mmap", n, true)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t offset)
{
    if (INTERPOSE_SEE("mmap64", n, true)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

void *mremap(void *at, size_t was, size_t n, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
    va_end(ap);
    if (INTERPOSE_SEE("mremap", n, true)) return MAP_FAILED;
    return (void *)syscall(SYS_mremap, at, was, n, flags, to);
}

int munmap(void *at, size_t n)
{
    INTERPOSE_SEE("munmap", n, false);
    return (int)syscall(SYS_munmap, at, n);
}

/* The library keeps the end of the heap itself, so only its own may move it. */
int brk(void *end)
{
    if (INTERPOSE_SEE("brk", 0, true)) return -1;
    int (*next)(void *);
    *(void **)&next = dlsym(RTLD_NEXT, "brk");
    return next(end);
}

void *sbrk(intptr_t by)
{
    if (INTERPOSE_SEE("sbrk", (size_t)by, true)) return (void *)-1;
    void *(*next)(intptr_t);
    *(void **)&next = dlsym(RTLD_NEXT, "sbrk");
    return next(by);
}
#endif
#endif
