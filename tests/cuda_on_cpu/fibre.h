/* fibre.h - threads of a block as fibres: each has a stack of its own and runs until it gives up the processor itself.
 *
 * One operating system thread runs them all, one at a time.  Under AddressSanitizer each change of stack is told to
 * it.  Only x86-64: the change of stack is ten instructions of it. */
#ifndef CUDA_ON_CPU_FIBRE_H
#define CUDA_ON_CPU_FIBRE_H
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define FIBRE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBRE_ASAN 1
#endif
#endif
#ifdef FIBRE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#error "the shim's fibres change stacks by x86-64 instructions"
#endif

namespace fibres {

enum { STACK = 256 * 1024, GUARD = 4096 };

#ifdef __AVX512F__
#define FIBRE_MORE_REGISTERS                                                                                           \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",      \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define FIBRE_MORE_REGISTERS
#endif

/* Leaves the stack pointer at *from, below the way back, and goes on where `to` was left.  In place and by jumps: what
 * processors predict of calls and returns stays as the kernel's own calls have it, which are the same in all fibres. */
__attribute__((always_inline)) inline void swap(void **from, void *to)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n" /* what a function may have below its stack pointer */
                     "push %%rbp\n lea 1f(%%rip), %%rax\n push %%rax\n"
                     "mov %%rsp, (%%rdi)\n mov %%rsi, %%rsp\n"
                     "pop %%rax\n jmp *%%rax\n"
                     "1: pop %%rbp\n lea 128(%%rsp), %%rsp\n"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm12", "xmm13", "xmm14", "xmm15" FIBRE_MORE_REGISTERS);
}

struct fibre {
    void *sp = nullptr;
    char *low = nullptr;  /* of its stack, above the guard page */
    void *fake = nullptr; /* AddressSanitizer's own stack of it */
};

inline fibre *current; /* NULL: the one that runs them */
inline void *home_sp, *home_fake;
inline const void *home_low;
inline size_t home_size;

[[noreturn]] inline void die(const char *what)
{
    fprintf(stderr, "cuda_on_cpu: %s\n", what);
    abort();
}

/* From the scheduler into f; returns when f gives up or ends. */
inline void enter(fibre *f)
{
    current = f;
#ifdef FIBRE_ASAN
    __sanitizer_start_switch_fiber(&home_fake, f->low, STACK);
#endif
    swap(&home_sp, f->sp);
#ifdef FIBRE_ASAN
    __sanitizer_finish_switch_fiber(home_fake, nullptr, nullptr);
#endif
    current = nullptr;
}

/* From the current fibre back to the scheduler; last: it is never entered again. */
inline void leave(bool last)
{
    fibre *f = current;
#ifdef FIBRE_ASAN
    __sanitizer_start_switch_fiber(last ? nullptr : &f->fake, home_low, home_size);
#endif
    swap(&f->sp, home_sp);
#ifdef FIBRE_ASAN
    __sanitizer_finish_switch_fiber(f->fake, &home_low, &home_size);
#endif
    (void)last;
}

/* The first thing a fibre does: the body, then the way back for good. */
inline void (*body)();
inline void begin()
{
#ifdef FIBRE_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &home_low, &home_size);
#endif
    body();
    leave(true);
    die("a fibre went on behind its end");
}

/* Stacks that no fibre has now. */
inline std::vector<char *> stacks;
inline void give_stack(fibre *f)
{
    if (f->low) stacks.push_back(f->low);
    f->low = nullptr;
}

/* A stack for f, if it has none, on which body() begins when it is entered. */
inline void prepare(fibre *f)
{
    if (!f->low && !stacks.empty()) {
        f->low = stacks.back();
        stacks.pop_back();
    } else if (!f->low) {
        void *p = mmap(nullptr, GUARD + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED || mprotect(static_cast<char *>(p) + GUARD, STACK, PROT_READ | PROT_WRITE))
            die("no memory for the stack of a thread");
        f->low = static_cast<char *>(p) + GUARD;
    }
    /* Stacks are as far from each other as the same set of the nearest cache again: each begins a little lower. */
    const uintptr_t lower = reinterpret_cast<uintptr_t>(f->low) / (GUARD + STACK) % 32 * 128;
    void **top = reinterpret_cast<void **>(f->low + STACK - lower) - 1; /* begin() finds it 8 off a multiple of 16 */
    *top = nullptr;
    *--top = reinterpret_cast<void *>(&begin);
    f->sp = top;
    f->fake = nullptr;
}

} // namespace fibres
#endif
