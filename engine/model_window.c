/* model_window.c - which layers see how far. */
#include "engine/model_impl.h"

/* Every so many-th layer sees all: a number, or a bool for each layer that tells whether it has the window, as
 * llama.cpp's converter has OLMo 3's. */
static int read_pattern(struct planner *p, const char *key, int every)
{
    const struct model *m = p->m;
    const uint8_t *each;
    uint64_t n;
    if (gguf_bool_array(p->g, key, &each, &n, NULL) != GGUF_OK)
        return model_key_int(p, "attention.sliding_window_pattern", every, every, every, &(int){0});
    if (n != (uint64_t)m->layers)
        return err_set(p->err, -1, "%s: key %s has %llu values for %d layers; one for each is needed", gguf_shown(p->g),
                       key, (unsigned long long)n, m->layers);
    for (int i = 0; i < m->layers; i++)
        if (each[i] != ((i + 1) % every > 0))
            return err_set(p->err, -1, "%s: key %s[%d] is %s: a window on all layers but every %d-th is supported",
                           gguf_shown(p->g), key, i, each[i] ? "true" : "false", every);
    return 0;
}

/* One window for all layers, or for those that the architecture says; a file that has others is another model. */
int model_window(struct planner *p)
{
    struct model *m = p->m;
    char key[96];
    const int every = p->arch->local;
    if (p->arch->delta) return model_states(p);
    if (p->arch->conv) return model_convs(p);
    if (!p->arch->window && !every) return 0;
    int *out = every ? &m->local_window : &m->window;
    if (model_key_int(p, "attention.sliding_window", p->arch->window_else, 0, MODEL_MAX_CTX, out)) return -1;
    snprintf(key, sizeof key, "%s.attention.sliding_window_pattern", m->arch);
    if (*out == 0 || !gguf_has(p->g, key)) return 0;
    if (every) return read_pattern(p, key, every);
    return err_set(p->err, -1, "%s: key %s is not supported; a window of %d for all layers is", gguf_shown(p->g), key,
                   m->window);
}
