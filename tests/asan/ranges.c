/* ranges.c - two functions of ASan's library anew; a program's own come before the library's.  It is not instrumented
 * itself. */
#include "tests/asan/ranges.h"

#if RANGES
#include <sanitizer/asan_interface.h>
#include <string.h>

/* Where the shadow of address 0 would be: the same number is in all code that gcc instruments here.  A byte of shadow
 * says of 8 bytes which may be touched; 0 is all (LLVM's AddressSanitizerAlgorithm, gcc's asan.cc). */
#define SHADOW 0x7fff8000u

void __asan_report_load_n(uintptr_t p, size_t n);
void __asan_report_store_n(uintptr_t p, size_t n);

static inline __attribute__((always_inline)) bool clean(uintptr_t p, size_t n)
{
    if (n - 1 >= RANGES_MAX) return false;
    uint64_t eight;
    memcpy(&eight, (const void *)((p >> 3) + SHADOW), sizeof eight);
    return (eight | *(const uint8_t *)(((p + n - 1) >> 3) + SHADOW)) == 0;
}

bool ranges_clean(uintptr_t p, size_t n) { return clean(p, n); }

static inline bool touchable(uintptr_t p, size_t n)
{
    return clean(p, n) || n == 0 || !__asan_region_is_poisoned((void *)p, n);
}

void ranges_load(uintptr_t p, size_t n)
{
    if (!touchable(p, n)) __asan_report_load_n(p, n);
}

void ranges_store(uintptr_t p, size_t n)
{
    if (!touchable(p, n)) __asan_report_store_n(p, n);
}
#endif
