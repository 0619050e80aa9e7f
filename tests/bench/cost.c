/* cost.c - what a token costs at least, by the file. */
#include "engine/gguf.h"
#include "kernels/kernels.h"
#include "tests/bench/bench.h"
#include "tests/bench/limits.h"
#include <math.h>

/* So many of how many experts a token goes through; 1 of 1: there are none.  -1: the file says otherwise. */
static int experts_of(const struct gguf *g, struct cost *c, struct err *err)
{
    struct gguf_str arch;
    char key[96];
    uint64_t all = 0, used = 0;
    if (gguf_string(g, "general.architecture", &arch, err) != GGUF_OK) return -1;
    snprintf(key, sizeof key, "%.*s.expert_count", (int)MIN(arch.len, 60), arch.data);
    if (gguf_uint(g, key, KERN_EXPERTS, &all, err) == GGUF_WRONG) return -1;
    snprintf(key, sizeof key, "%.*s.expert_used_count", (int)MIN(arch.len, 60), arch.data);
    if (gguf_uint(g, key, all, &used, err) == GGUF_WRONG) return -1;
    c->chosen = all && used ? (double)used / (double)all : 1;
    return 0;
}

int cost_read(const char *path, struct cost *c, struct err *err)
{
    struct gguf *g = gguf_open(path, err);
    if (!g) return -1;
    const char *output = gguf_tensor(g, "output.weight") ? "output.weight" : "token_embd.weight";
    *c = (struct cost){0};
    const int rc = experts_of(g, c, err);
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        bool is_output = strcmp(t->name, output) == 0;
        if (!is_output && strcmp(t->name, "token_embd.weight") == 0) continue;
        double size = (double)t->dim[0] * (double)t->dim[1] * (double)t->dim[2];
        *(t->n_dims == 3 ? &c->experts : &c->bytes) += (double)t->bytes;
        if (is_output) c->output += size;
        else if (t->n_dims > 1) c->body += size * (t->n_dims == 3 ? c->chosen : 1);
    }
    gguf_close(g);
    return rc;
}

double cost_share(const struct cost *c, const struct test *t, double seconds, const struct limits *l)
{
    double rows = (double)t->seqs * t->n, outputs = t->prefill ? 1 : rows;
    if (test_multiplies(t)) return 2 * (c->body * rows + c->output * outputs) / seconds * 1e-9 / l->int8;
    const double met = 1 - pow(1 - c->chosen, t->seqs);
    return (c->bytes + c->experts * met) * t->n / seconds * 1e-9 / l->read;
}
