/* test_asan_ranges.c - vectors that reach where they must not are found by ASan, though it looks at them quickly. */
#include "tests/asan/ranges.h"
#include "tests/check.h"
#include "plimsoll.h"
#include "tests/rig.h"

#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__) && RANGES
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 512, AROUND = 128 };

static uint8_t place[ROOM] __attribute__((aligned(64)));

TEST(asan_ranges_what_is_called_clean_is_so_and_what_lies_alone_is_called_clean)
{
    struct dice dice = {1};
    for (int round = 0; round < 3000; round++) {
        for (int i = 0; i < 3; i++) {
            uint8_t *at = place + 8 * dice_below(&dice, (ROOM - 64) / 8);
            __asan_poison_memory_region(at, (size_t)(1 + dice_below(&dice, i ? 8 : 64)));
        }
        for (size_t p = 0; p + AROUND < ROOM; p++) {
            size_t size = (size_t)(1 + dice_below(&dice, RANGES_MAX + 8));
            bool poisoned = __asan_region_is_poisoned(place + p, size) != NULL;
            if (poisoned) CHECK(!ranges_clean((uintptr_t)place + p, size));
            if (__asan_region_is_poisoned(place + p / 8 * 8, 72)) continue;
            CHECK_EQ(ranges_clean((uintptr_t)place + p, size), size <= RANGES_MAX);
        }
        __asan_unpoison_memory_region(place, sizeof place);
    }
    CHECK(!ranges_clean((uintptr_t)place, 0) && !ranges_clean((uintptr_t)place, SIZE_MAX));
}

/* What ASan says in a child that would touch so many bytes at p; "" if it does not mind and the child goes on. */
static const char *said(void (*touch)(uintptr_t p, size_t n), const uint8_t *p, size_t n)
{
    static char text[16384];
    static char name[64]; /* any: the tables of names are read here once, else by every child that reports */
    int fds[2], status;
    if (!name[0]) __sanitizer_symbolize_pc(__builtin_return_address(0), "%f", name, sizeof name);
    fflush(NULL);
    CHECK_EQ(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 2);
        touch((uintptr_t)p, n);
        _exit(0);
    }
    close(fds[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(fds[0], text + len, sizeof text - 1 - len)) > 0;) len += (size_t)got;
    text[len] = 0;
    close(fds[0]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(WIFEXITED(status) && WEXITSTATUS(status) == 0, len == 0);
    return text;
}

TEST(asan_ranges_what_reaches_out_of_a_block_is_reported)
{
    static const struct { void (*touch)(uintptr_t p, size_t n); const char *word; } kind[] = {
        {ranges_load, "READ"}, {ranges_store, "WRITE"}};
    static const size_t vector[] = {12, 32, 64, 100};
    for (size_t size = 100; size < 400; size += 67) {
        uint8_t *block = malloc(size);
        for (size_t i = 0; i < COUNT_OF(kind) * COUNT_OF(vector); i++) {
            size_t n = vector[i / 2];
            char words[64];
            snprintf(words, sizeof words, "%s of size %zu at %p", kind[i % 2].word, n, (void *)(block + size - n + 1));
            CHECK_STR(said(kind[i % 2].touch, block, n), "");
            CHECK_STR(said(kind[i % 2].touch, block + size - n, n), "");
            CHECK(strstr(said(kind[i % 2].touch, block + size - n + 1, n), words));
            CHECK(strstr(said(kind[i % 2].touch, block + size, n), "heap-buffer-overflow"));
            CHECK(strstr(said(kind[i % 2].touch, block - 1, n), "heap-buffer-overflow"));
        }
        free(block);
    }
}
#else
TEST(asan_ranges_what_reaches_out_of_a_block_is_reported) { SKIP("no AddressSanitizer of gcc in this build"); }
#endif

CHECK_MAIN
