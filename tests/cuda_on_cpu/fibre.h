/* fibre.h - threads of a block as fibres: each has a stack of its own and runs until it gives up the processor itself.
 *
 * One operating system thread runs them all, one at a time.  Under AddressSanitizer each change of stack is told to
 * it.  Only x86-64: the change of stack is eight instructions of it. */
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

/* Puts away what a call must preserve, leaves the stack pointer at *from, and goes on where `to` was left. */
__attribute__((naked, noinline)) inline void swap(void ** /*from*/, void * /*to*/)
{
    __asm__("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
            "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
            "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
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
    void **top = reinterpret_cast<void **>(f->low + STACK) - 1; /* so that begin() finds it 8 off a multiple of 16 */
    *top = nullptr;
    *--top = reinterpret_cast<void *>(&begin);
    for (int i = 0; i < 6; i++) *--top = nullptr;
    f->sp = top;
    f->fake = nullptr;
}

} // namespace fibres
#endif
