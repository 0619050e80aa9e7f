/* fuzz_harmony.c - what a gpt-oss model may write, or one of Mistral's, marks and text in any order.
 *
 * covers: engine/harmony.c
 *
 * An input: a byte for how long tokens are, then text; 0x80 to 0x8b are the marks of both, and any other byte a byte of
 * text.  What must hold, of either: the same is told however the text is cut, and no more than the tokens allow, at the
 * end too. */
#include "engine/harmony.h"
#include "tests/vocab_make.h"
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIRST = 0x80, MARKS = 12, MARK_ID = 256 };

static void must(bool holds)
{
    if (!holds) abort();
}

static struct vocab *vocabulary(void)
{
    static const char *const mark[MARKS] = {"<|start|>",     "<|end|>",    "<|message|>", "<|channel|>",
                                            "<|constrain|>", "<|return|>", "<|call|>",    "[TOOL_CALLS]",
                                            "[CALL_ID]",     "[ARGS]",     "[THINK]",     "[/THINK]"};
    static struct vocab_make m;
    char path[64];
    struct err err;
    vocab_make_bpe(&m, "gpt-4o");
    for (int i = 0; i < MARKS; i++) vocab_make_add(&m, mark[i], VOCAB_CONTROL, 0);
    struct buf file = vocab_make_bytes(&m);
    const int fd = memfd_create("vocabulary", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, file.data, file.len) == (ssize_t)file.len);
    buf_free(&file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct gguf *g = gguf_open(path, &err);
    must(g != NULL);
    struct vocab *v = vocab_open(g, &err);
    must(v != NULL);
    gguf_close(g);
    close(fd);
    return v;
}

static void take(void *self, const char *bytes, size_t n, bool apart)
{
    (void)apart;
    must(n > 0);
    buf_put(self, bytes, n);
}

/* How many marks there were. */
static size_t tell(const struct vocab *v, bool mistral, const uint8_t *data, size_t size, size_t most, bool whole,
                   struct buf *told)
{
    const struct harmony_out out = {take, told};
    const int32_t head = MARK_ID;
    size_t marks = 0, n;
    struct harmony h;
    if (mistral) harmony_begin_mistral(&h);
    else harmony_begin(&h, v, &head, 1);
    for (size_t at = 0; at < size; at += n) {
        const bool mark = data[at] >= FIRST && data[at] < FIRST + MARKS;
        for (n = 1; !mark && n < most && at + n < size && (data[at + n] < FIRST || data[at + n] >= FIRST + MARKS);) n++;
        if (mark) harmony_token(&h, v, MARK_ID + data[at] - FIRST, "", 0, &out);
        else harmony_token(&h, v, 0, (const char *)data + at, n, &out);
        marks += mark;
    }
    const size_t before = told->len;
    harmony_end(&h, whole, &out);
    must(told->len - before <= HARMONY_HEAD + HARMONY_ADDS);
    must(!told->failed);
    return marks;
}

static void look(const struct vocab *v, bool mistral, const uint8_t *data, size_t size)
{
    struct buf one = {0}, other = {0};
    const size_t most = 1 + data[0] % 64;
    const bool whole = data[0] >= 128;
    const size_t marks = tell(v, mistral, data + 1, size - 1, most, whole, &one);
    tell(v, mistral, data + 1, size - 1, 1, whole, &other);
    must(one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0));
    must(one.len <= size - 1 + marks * HARMONY_ADDS);
    other.len = 0;
    tell(v, mistral, data + 1, (size - 1) / 2, most, false, &other);
    buf_free(&one);
    buf_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vocab *v;
    if (!v) v = vocabulary();
    if (size == 0) return 0;
    look(v, false, data, size);
    look(v, true, data, size);
    return 0;
}
