/* identity.c - from what an engine is to the names of its pages. */
#include "engine/identity.h"

/* "plimsoll", "kv pages" */
static const struct sip128 key = {UINT64_C(0x6c6c6f736d696c70), UINT64_C(0x736567617020766b)};

struct sip128 identity_of(const struct model *m, const struct kern_group *g, const char *numerics)
{
    char text[256];
    int n = snprintf(text, sizeof text, "pages %d, %d tokens, K/V type %s, window %d, %s, model %016llx%016llx",
                     IDENTITY_VERSION, KERN_PAGE, ktype_info(g->kv_type)->name, g->window, numerics,
                     (unsigned long long)m->digest.a, (unsigned long long)m->digest.b);
    assert(n > 0 && (size_t)n < sizeof text);
    return siphash128(key, text, (size_t)n);
}

static void put_word(uint8_t *at, uint64_t word)
{
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(word >> 8 * i);
}

struct engine_name identity_name(struct sip128 hash)
{
    struct engine_name name;
    put_word(name.byte, hash.a);
    put_word(name.byte + 8, hash.b);
    return name;
}

struct engine_name engine_page_name(struct engine_name before, const int32_t *ids)
{
    uint8_t link[sizeof before.byte + KERN_PAGE * 4];
    memcpy(link, before.byte, sizeof before.byte);
    for (int i = 0; i < KERN_PAGE; i++)
        for (int b = 0; b < 4; b++) link[16 + 4 * i + b] = (uint8_t)((uint32_t)ids[i] >> 8 * b);
    return identity_name(siphash128(key, link, sizeof link));
}
