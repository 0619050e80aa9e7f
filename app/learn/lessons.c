/* lessons.c - the lessons that are part of the program: assets/lessons/NN-NAME.lesson, which the Makefile lists in
 * lessons.h, a LESSON(NN, "path") each. */
#include "app/learn/lesson.h"
#include <ctype.h>

/* Paths are from the repository's root, where the compiler runs. */
#define LESSON(number, path)                                                                   \
    __asm__(".pushsection .rodata\n"                                                           \
            ".global plimsoll_lesson_" #number "\n.global plimsoll_lesson_end_" #number "\n"   \
            "plimsoll_lesson_" #number ":\n.incbin \"" path "\"\n"                             \
            "plimsoll_lesson_end_" #number ":\n.byte 0\n.popsection\n");                       \
    extern const char plimsoll_lesson_##number[] __attribute__((visibility("hidden")));        \
    extern const char plimsoll_lesson_end_##number[] __attribute__((visibility("hidden")));
#include "lessons.h"
#undef LESSON

#define LESSON(number, path) {#number, path, plimsoll_lesson_##number, plimsoll_lesson_end_##number},
static const struct {
    const char *number, *path, *begin, *end;
} all[] = {
#include "lessons.h"
};

int lesson_count(void) { return COUNT_OF(all); }

int lesson_number(int i) { return atoi(all[i].number); }

const char *lesson_text(int i, size_t *n)
{
    *n = (size_t)(all[i].end - all[i].begin);
    return all[i].begin;
}

int lesson_builtin(int i, struct lesson *out, struct err *err)
{
    size_t n;
    const char *text = lesson_text(i, &n);
    return lesson_read(text, n, all[i].path, out, err);
}

/* Of the file: "assets/lessons/11-static-batch.lesson". */
static bool is_named(int i, const char *name)
{
    const char *file = strrchr(all[i].path, '/') + 1, *at = file + strcspn(file, "-") + 1;
    size_t n = strlen(name);
    return strncmp(at, name, n) == 0 && strcmp(at + n, ".lesson") == 0;
}

int lesson_find(const char *name)
{
    const char *digits = name + (*name == 'L' || *name == 'l');
    bool is_number = *digits && digits[strspn(digits, "0123456789")] == '\0' && strlen(digits) < 4;
    for (int i = 0; i < lesson_count(); i++)
        if (is_number ? atoi(digits) == lesson_number(i) : is_named(i, name)) return i;
    return -1;
}
