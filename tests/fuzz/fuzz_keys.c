/* fuzz_keys.c - any bytes as what a terminal sends.
 *
 * covers: app/tui/keys.c
 *
 * What must hold: keys are of the kinds that the header has, texts are UTF-8 (a paste's without NUL and \r); how the
 * bytes are cut into reads makes no difference where no time passes; after silence nothing waits any more. */
#include "app/tui/keys.h"
#include "engine/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 25 };

static void must(bool holds)
{
    if (!holds) abort();
}

struct seen { size_t n, text; uint64_t hash; };

static void mix(struct seen *s, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) s->hash = (s->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
}

static void see(struct seen *s, const struct key *k)
{
    must(k->name <= KEY_PASTE && k->mods <= (KEY_SHIFT | KEY_ALT | KEY_CTRL));
    must((k->text != NULL) == (k->name == KEY_CHAR || k->name == KEY_PASTE));
    if (k->text) {
        must(k->text[k->n] == '\0' && text_valid_utf8(k->text, k->n) == k->n);
        must(strlen(k->text) == k->n && (k->name == KEY_CHAR ? k->n >= 1 && k->n <= 4 : !memchr(k->text, '\r', k->n)));
        mix(s, k->text, k->n);
    }
    must(k->name != KEY_CHAR || (k->rune >= 0x20 && k->rune != 0x7f && k->rune <= 0x10ffff));
    mix(s, &k->name, sizeof k->name);
    mix(s, &k->mods, sizeof k->mods);
    s->text += k->n;
    s->n++;
}

static struct seen decode(const uint8_t *data, size_t size, size_t piece)
{
    struct seen s = {0};
    struct keys k;
    struct key key;
    keys_open(&k, LIMIT);
    for (size_t at = 0; at < size; at += piece) {
        must(keys_feed(&k, (const char *)data + at, MIN(piece, size - at), 1000) == 0);
        while (keys_next(&k, 1000, &key)) see(&s, &key);
        must(keys_wait_ms(&k, 1000) <= KEYS_PASTE_MS);
    }
    while (keys_next(&k, 1000 + KEYS_PASTE_MS, &key)) see(&s, &key);
    must(keys_wait_ms(&k, 1000 + KEYS_PASTE_MS) == -1);
    must(s.n <= size + 1 && s.text <= 3 * size);
    keys_close(&k);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    size_t piece = 2u + data[0] % 30;
    struct seen whole = decode(data + 1, size - 1, size), single = decode(data + 1, size - 1, 1);
    struct seen pieces = decode(data + 1, size - 1, piece);
    must(whole.n == single.n && whole.hash == single.hash);
    must(whole.n == pieces.n && whole.hash == pieces.hash);
    return 0;
}
