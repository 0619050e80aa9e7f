/* ranges.h - a quicker look for ASan at the memory that vectors touch.
 *
 * gcc's ASan calls a function before each access of 32 or 64 bytes, and the library's is made for ranges of any length:
 * two thirds of the time of tests that compute was spent in it.  ranges.c has the two such functions anew, for the asan
 * variant of gcc: what is clean at one look is so at once, of all else the library decides, and reports, as ever. */
#ifndef RANGES_H
#define RANGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__linux__)
#define RANGES 1
enum { RANGES_MAX = 64 };

/* Whether all n bytes at p may be touched.  False also for n of 0 or above RANGES_MAX, and where something that may not
 * be touched lies in the 72 bytes from p's multiple of 8 on: a look that costs more is needed then. */
bool ranges_clean(uintptr_t p, size_t n);

/* What gcc's ASan calls before n bytes at p are read, or written: they return, or the program ends with a report. */
void ranges_load(uintptr_t p, size_t n) __asm__("__asan_loadN");
void ranges_store(uintptr_t p, size_t n) __asm__("__asan_storeN");
#else
#define RANGES 0
#endif
#endif
