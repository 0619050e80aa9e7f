/* slabs.c - one slab cut into three on a device, three of them on the host. */
#include "engine/slabs.h"

static int take(struct slabs *s, int i, size_t bytes, const struct kern *k, struct kdev *d, struct err *err)
{
    s->taken[i].dev = k->take(d, bytes, err);
    s->taken[i].bytes = bytes;
    return s->taken[i].dev ? 0 : -1;
}

static int take_one(struct slabs *s, const struct kern *k, struct kdev *d, const size_t bytes[], struct err *err)
{
    uint64_t at[SLABS_PARTS], end = 0;
    for (int i = 0; i < SLABS_PARTS; i++) {
        at[i] = end;
        if (size_add(end, k->slab_bytes(bytes[i]), &end) || end > PTRDIFF_MAX)
            return err_set(err, -1, "weights, workspace and KV pages overflow; use a smaller model, context or budget");
    }
    if (take(s, 0, (size_t)end, k, d, err)) return -1;
    for (int i = 0; i < SLABS_PARTS; i++) s->dev[i] = (char *)s->taken[0].dev + at[i];
    return 0;
}

static int take_each(struct slabs *s, const struct kern *k, struct kdev *d, const size_t bytes[], struct err *err)
{
    for (int i = 0; i < SLABS_PARTS; i++) {
        if (take(s, i, bytes[i], k, d, err)) return -1;
        s->dev[i] = s->taken[i].dev;
    }
    return 0;
}

int slabs_take(struct slabs *s, const struct kern *k, struct kdev *d, const size_t bytes[SLABS_PARTS],
               struct err *err)
{
    *s = (struct slabs){0};
    if (!(k->memory ? take_one : take_each)(s, k, d, bytes, err)) return 0;
    slabs_give(s, k, d);
    return -1;
}

void slabs_give(struct slabs *s, const struct kern *k, struct kdev *d)
{
    for (int i = SLABS_PARTS - 1; i >= 0; i--)
        if (s->taken[i].dev) k->give(d, s->taken[i].dev, s->taken[i].bytes);
    *s = (struct slabs){0};
}
