/* check.h - the tests' few words, thin over cmocka.
 *
 *     #include "tests/check.h"
 *
 *     TEST(kv_grow_past_the_pool_leaves_the_sequence_as_it_was)
 *     {
 *         CHECK_EQ(kv_grow(kv, &s, 1), KV_FULL);
 *     }
 *
 *     CHECK_MAIN
 *
 * One file tests/test_*.c is one program.  Its TESTs register themselves and run in the order written; an argument is
 * a part of a name and runs only the tests that have it.  Other C files in tests/ (first this one's check.c) are
 * helpers and are linked to every test program.
 *
 * A failed CHECK ends its test, by a jump out of it.  In a thread or a forked child that is impossible: there it says
 * what failed and ends the process (the thread's whole program counts as failed; a child's exit code is 1).
 * A crash ends the program, so that a sanitizer or a debugger sees it: cmocka's own signal handlers are put aside. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1 under ASan or TSan, where code takes some ten times as long: a test may do fewer rounds of the same there, as long
 * as the plain build does them all. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZED 1
#endif
#ifndef CHECK_SANITIZED
#define CHECK_SANITIZED 0
#endif

/* 1 under TSan, which looks at threads alone: what has none, or has them do once more what they did, is not for it. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHECK_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define CHECK_TSAN 1
#endif
#ifndef CHECK_TSAN
#define CHECK_TSAN 0
#endif

struct check_test { const char *name; void (*run)(void); struct check_test *next; };

#define TEST(name)                                                                            \
    static void test_##name(void);                                                            \
    __attribute__((constructor)) static void check_register_##name(void)                      \
    {                                                                                         \
        static struct check_test check_self = { #name, test_##name, NULL };                   \
        check_register(&check_self);                                                          \
    }                                                                                         \
    static void test_##name(void)

#define CHECK_MAIN int main(int argc, char **argv) { return check_main(argc, argv); }

#define CHECK(...) ((__VA_ARGS__) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", "not so: " #__VA_ARGS__))

/* Integers and enums of any width; a floating number or a string here would be a mistake and does not compile. */
#define CHECK_EQ(a, b)                                                                        \
    do {                                                                                      \
        _Static_assert(CHECK_COUNTS_(a) && CHECK_COUNTS_(b), "CHECK_EQ is for integers");     \
        check_eq(__FILE__, __LINE__, #a, (intmax_t)(a), #b, (intmax_t)(b));                   \
    } while (0)

/* Two strings, either may be NULL: equal when both are. */
#define CHECK_STR(a, b) check_str(__FILE__, __LINE__, #a, (a), #b, (b))

/* |a - b| <= tol; a NaN is near nothing. */
#define CHECK_NEAR(a, b, tol) check_near(__FILE__, __LINE__, #a, (double)(a), #b, (double)(b), (double)(tol))

/* The first n bytes at a and b. */
#define CHECK_MEM(a, b, n) check_mem(__FILE__, __LINE__, #a, (a), #b, (b), (size_t)(n))

/* Ends the test as skipped; the reason, in the manner of printf, is printed. */
#define SKIP(...) check_skip(__FILE__, __LINE__, __VA_ARGS__)

/* The folder of the shared vectors: $PLIMSOLL_VECTORS, else ../shared/vectors.  NULL when absent: the test then SKIPs.
 * Where CI=true its absence is a failure, and this does not return. */
const char *check_vectors(void);

/* A new empty folder of this program's own; it is removed, with all in it, when the program exits.  The text lives
 * as long as the program. */
const char *check_tmpdir(void);

/* What the macros stand on. */
#define CHECK_COUNTS_(x) _Generic((x), float: 0, double: 0, long double: 0, char *: 0, const char *: 0, default: 1)

void check_register(struct check_test *test);
int  check_main(int argc, char **argv);
_Noreturn void check_fail(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void check_skip(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void check_eq(const char *file, int line, const char *a_text, intmax_t a, const char *b_text, intmax_t b);
void check_str(const char *file, int line, const char *a_text, const char *a, const char *b_text, const char *b);
void check_near(const char *file, int line, const char *a_text, double a, const char *b_text, double b, double tol);
void check_mem(const char *file, int line, const char *a_text, const void *a, const char *b_text, const void *b,
               size_t n);

#endif
