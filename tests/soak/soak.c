/* soak.c - the adversarial crowd for as long as one likes: does an engine last?
 *
 *     soak SECONDS        (make soak SOAK_SECONDS=600)
 *
 * Four engines one after another, each for a quarter of the time: scripted and a tiny random model, without and with
 * over-commit.  In slices of a second stdout is read or is stopped.  Shown: every request ends once, none starves, the
 * books balance (crowd.h), all is given back at the end, memory is flat, and passes a second are the same whether
 * anyone reads.  One table; exit 1 if anything is off. */
#include "engine/hostmem.h"
#include "tests/crowd.h"
#include "tests/tiny_model.h"
#include <time.h>

enum {
    SLICE_ROUNDS = 64,   /* between two looks at the clock */
    GROWTH_KIB = 1024,   /* of RssAnon after warm-up: what malloc and the threads' stacks may still touch */
    WARM_UP = 5,         /* one in so many of the seconds */
};
/* A stall that the engine felt would stop it: half speed is far outside the noise of a shared machine. */
static const double LEAST_RATIO = 0.5;

static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
static const char *const SCRIPT = "{\"answer\": \"a few words\"}\n"
                                  "{\"answer\": \"one that goes on and on, \", \"end\": false}\n{\"answer\": \"\"}\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* KiB of memory that is nobody's file; 0: the system does not say. */
static long rss_anon(void)
{
    struct hostmem_process p;
    hostmem_process(&p);
    return (long)(p.anonymous / 1024);
}

/* What one engine came to. */
struct result {
    double seconds[2];
    uint64_t passes[2]; /* [1]: while stdout was stopped */
    long least, most;   /* RssAnon after warm-up */
    char wrong[600];
};

static void look_at_memory(struct result *r)
{
    long kib = rss_anon();
    r->least = r->least ? MIN(r->least, kib) : kib;
    r->most = MAX(r->most, kib);
}

/* One slice; false: something is wrong. */
static bool slice(struct crowd *c, double seconds, bool stalled, struct result *r)
{
    const char *wrong = NULL;
    double start = now(), end = start + seconds, t = start;
    uint64_t passes = crowd_sum(c)->passes;
    crowd_stall(c, stalled);
    for (; !wrong && t < end; t = now())
        for (int i = 0; i < SLICE_ROUNDS && !wrong; i++) wrong = crowd_round(c);
    r->seconds[stalled] += t - start;
    r->passes[stalled] += crowd_sum(c)->passes - passes;
    if (wrong) snprintf(r->wrong, sizeof r->wrong, "%s", wrong);
    return !wrong;
}

static void off(struct result *r, const char *what)
{
    if (!r->wrong[0]) snprintf(r->wrong, sizeof r->wrong, "%s", what);
}

static void soak(struct crowd *c, double seconds, struct result *r)
{
    double start = now(), each = MIN(1.0, seconds / 10);
    bool stalled = false;
    for (double t = start; t < start + seconds && slice(c, each, stalled, r); t = now()) {
        stalled = !stalled;
        if (t - start >= seconds / WARM_UP) look_at_memory(r);
    }
    const char *wrong = r->wrong[0] ? NULL : crowd_drain(c);
    if (wrong) off(r, wrong);
    if (r->most - r->least > GROWTH_KIB) off(r, "memory grew");
    double read = (double)r->passes[0] / r->seconds[0], stopped = (double)r->passes[1] / r->seconds[1];
    if (!(stopped >= LEAST_RATIO * read)) off(r, "a stopped stdout slowed the engine down");
}

static void print(const char *name, const struct crowd_sum *s, const struct result *r, uint64_t written)
{
    double read = (double)r->passes[0] / r->seconds[0], stopped = (double)r->passes[1] / r->seconds[1];
    uint64_t refused = 0;
    for (size_t i = 0; i < COUNT_OF(s->refused); i++) refused += s->refused[i];
    printf("%-22s %9llu requests: %llu finished, %llu cancelled, %llu dropped; %llu refused\n", name,
           (unsigned long long)s->submitted, (unsigned long long)s->finished, (unsigned long long)s->cancelled,
           (unsigned long long)s->dropped, (unsigned long long)refused);
    printf("%22s   bad %llu, never fits %llu, queue full %llu, no room %llu, not now %llu\n", "",
           (unsigned long long)s->refused[2], (unsigned long long)s->refused[3], (unsigned long long)s->refused[4],
           (unsigned long long)s->refused[5], (unsigned long long)s->refused[6]);
    printf("%22s   waited for %llu others (at most %d), %llu passes; %llu bytes written\n", "",
           (unsigned long long)s->most_before, CROWD_BEFORE, (unsigned long long)s->most_passes,
           (unsigned long long)written);
    printf("%22s   %.0f passes/s read, %.0f stopped: ratio %.2f; RssAnon %ld to %ld KiB\n", "", read, stopped,
           stopped / read, r->least, r->most);
    if (r->wrong[0]) printf("%22s   OFF: %s\n", "", r->wrong);
    fflush(stdout);
}

static bool soak_engine(const struct engine_ops *ops, bool overcommit, double seconds, uint32_t seed)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    struct result r = {0};
    struct engine_config cfg = {.model = tiny_file(&t, CHATML, "soak.gguf"), .kern.threads = 1, .kv_type = KT_F16,
                                .script = tiny_text_file("soak.jsonl", SCRIPT), .template = -1, .ctx = 256,
                                .max_seqs = 8, .max_rows = 64, .pool_tokens = overcommit ? 480 : 1024,
                                .overcommit = overcommit, .park_bytes = overcommit ? 512 << 10 : 0,
                                .text_bytes = 160 << 10};
    struct engine *e = ops->open(&cfg, &err);
    if (!e) {
        fprintf(stderr, "soak: %s\n", err.text);
        return false;
    }
    struct crowd_plan plan = {.ops = ops, .e = e, .vocab = ops->info(e)->vocab, .pool_tokens = cfg.pool_tokens,
                              .seed = seed, .overcommit = overcommit};
    struct crowd *c = crowd_open(&plan);
    char name[40];
    snprintf(name, sizeof name, "%s%s", ops->name, overcommit ? ", overcommit" : "");
    soak(c, seconds, &r);
    print(name, crowd_sum(c), &r, crowd_written(c));
    crowd_close(c);
    ops->close(e);
    return !r.wrong[0];
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 60;
    const char *seed = getenv("SEED");
    if (!(seconds >= 1 && seconds <= 1e6)) {
        fprintf(stderr, "soak: SECONDS is a number from 1\n");
        return 2;
    }
    bool ok = true;
    for (int i = 0; i < 4; i++)
        ok = soak_engine(i % 2 ? &engine_local : &engine_scripted, i >= 2, seconds / 4,
                         seed ? (uint32_t)strtoul(seed, NULL, 10) : (uint32_t)i + 1) && ok;
    printf("%s\n", ok ? "all is well" : "something is off");
    return ok ? 0 : 1;
}
