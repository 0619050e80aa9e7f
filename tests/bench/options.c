/* options.c - the bench's command line. */
#include "tests/bench/bench.h"
#include <getopt.h>

const int bench_sweep[BENCH_SWEEP] = {1, 2, 4, 8, 16};

static const char help[] =
    "usage: make bench ARGS=\"...\"      (or the program itself, from the repository's root)\n"
    "  --models A,B    shapes for which model files are made, or files that end in .gguf (llama3.2-1b,qwen2.5-0.5b)\n"
    "  --types A,B     weight types of the files that are made (q8_0,q4_0,q4_k)\n"
    "  --tests A,B     ppN, tgN, bBxN: pre-fill, decode, B sequences together; sweepN: b1xN to b16xN;\n"
    "                  agentsN, resume: what known pages save; watchN: what a display costs;\n"
    "                  ledgerBxN: memory, B sequences of N tokens (pp512,tg128,b8x32,sweep32,agents8,resume,\n"
    "                  watch128,ledger8x1024; sweep and ledger mean these)\n"
    "  --reps R        repetitions after one warm-up (3)\n"
    "  --threads N     pinned threads, for both sides (2)\n"
    "  --wait S        most seconds to wait for a quiet machine, per model file and side (10)\n"
    "  --quick         does all of it work?  one small model, one repetition, short tests; the figures mean little\n"
    "  --no-peer       ours only\n"
    "  --markdown      print a section for tests/bench/SPEED.md\n"
    "  --backend NAME  the engine's backend\n"
    "  --isa NAME      portable, avx2, avx512: the CPU backend's instruction set\n"
    "The peer is llama.cpp as llama-cpp-python installs it: $PLIMSOLL_PEER is a virtual environment or a\n"
    "site-packages folder that has it; without that the python3 on the path is asked.\n";

static int bad(struct err *err, const char *what, const char *value)
{
    return err_set(err, -1, "%s \"%s\": see --help", what, value);
}

/* The words of a list "a,b,c", each of at most size - 1 characters; their number, or -1. */
static int split(const char *list, char *out, size_t size, struct err *err, const char *what)
{
    int n = 0;
    for (const char *at = list; at; n++) {
        size_t len = strcspn(at, ",");
        if (n == BENCH_LIST || len == 0 || len >= size) return bad(err, what, list);
        snprintf(out + (size_t)n * size, size, "%.*s", (int)len, at);
        at = at[len] ? at + len + 1 : NULL;
    }
    return n;
}

static int number(const char *text, int most, int *out, struct err *err, const char *what)
{
    char *end;
    long v = strtol(text, &end, 10);
    if (end == text || *end || v < 1 || v > most)
        return err_set(err, -1, "%s \"%s\": a number from 1 to %d", what, text, most);
    *out = (int)v;
    return 0;
}

enum { STEPS = 1 << 20, SEQS = 64 };

/* Append a test of speed, once; swept: for the sweep's table. */
static int add_test(struct options *o, const char *name, bool swept, struct err *err)
{
    struct test t = {.seqs = 1, .swept = swept};
    int used = 0;
    for (int i = 0; i < o->tests; i++) {
        if (strcmp(o->test[i].name, name)) continue;
        o->test[i].swept &= swept;
        return 0;
    }
    if (o->tests == BENCH_TESTS) return err_set(err, -1, "more than %d tests", BENCH_TESTS);
    snprintf(t.name, sizeof t.name, "%.*s", (int)sizeof t.name - 1, name);
    if (sscanf(name, "pp%7d%n", &t.n, &used) == 1 && !name[used]) t.prefill = true;
    else if (sscanf(name, "tg%7d%n", &t.n, &used) == 1 && !name[used]) t.prefill = false;
    else if (sscanf(name, "b%3dx%7d%n", &t.seqs, &t.n, &used) == 2 && !name[used]) t.prefill = false;
    else return bad(err, "no such test", name);
    if (t.n < 1 || t.n > STEPS || t.seqs < 1 || t.seqs > SEQS)
        return bad(err, "out of range (at most 64 sequences)", name);
    o->test[o->tests++] = t;
    return 0;
}

static int add_sweep(struct options *o, int n, const char *said, struct err *err)
{
    char name[24];
    if (n < 1 || n > STEPS || (o->sweep && o->sweep != n)) return bad(err, "out of range, or the second sweep:", said);
    o->sweep = n;
    for (int i = 0; i < BENCH_SWEEP; i++) {
        snprintf(name, sizeof name, "b%dx%d", bench_sweep[i], n);
        if (add_test(o, name, true, err)) return -1;
    }
    return 0;
}

static int read_test(struct options *o, const char *name, struct err *err)
{
    int n = 0, seqs = 0, used = 0;
    if (strcmp(name, "sweep") == 0) return add_sweep(o, 32, name, err);
    if (sscanf(name, "sweep%7d%n", &n, &used) == 1 && !name[used]) return add_sweep(o, n, name, err);
    if (strcmp(name, "resume") == 0) {
        o->resume = true;
    } else if (sscanf(name, "watch%7d%n", &n, &used) == 1 && !name[used]) {
        if (n < 1 || n > STEPS) return bad(err, "a number of steps from 1 on, not", name);
        o->watch = n;
    } else if (sscanf(name, "agents%3d%n", &n, &used) == 1 && !name[used]) {
        if (n < 1 || n > SEQS) return bad(err, "from 1 to 64 agents, not", name);
        o->agents = n;
    } else if (strcmp(name, "ledger") == 0) {
        o->weigh_seqs = 8;
        o->weigh_ctx = 1024;
    } else if (sscanf(name, "ledger%3dx%7d%n", &seqs, &n, &used) == 2 && !name[used]) {
        if (seqs < 1 || seqs > SEQS || n < 64 || n > STEPS)
            return bad(err, "from 1 to 64 sequences of 64 tokens or more, not", name);
        o->weigh_seqs = seqs;
        o->weigh_ctx = n;
    } else {
        return add_test(o, name, false, err);
    }
    return 0;
}

/* What was not asked for gets its default. */
static int complete(struct options *o, bool quick, const char *models, const char *types, const char *tests,
                    struct err *err)
{
    char names[BENCH_LIST][24];
    if (!models) models = quick ? "qwen2.5-0.5b" : "llama3.2-1b,qwen2.5-0.5b";
    if (!types) types = "q8_0,q4_0,q4_k";
    if (!tests)
        tests = quick ? "pp64,tg16,b8x8,sweep8,agents8,resume,watch16,ledger4x256"
                      : "pp512,tg128,b8x32,sweep,agents8,resume,watch128,ledger";
    o->models = split(models, o->model[0], sizeof o->model[0], err, "--models");
    o->types = split(types, o->type[0], sizeof o->type[0], err, "--types");
    int named = split(tests, names[0], sizeof names[0], err, "--tests");
    if (o->models < 0 || o->types < 0 || named < 0) return -1;
    for (int i = 0; i < named; i++)
        if (read_test(o, names[i], err)) return -1;
    if (o->reps == 0) o->reps = quick ? 1 : 3;
    if (o->wait_s < 0) o->wait_s = quick ? 1 : 10;
    return 0;
}

int options_read(struct options *o, int argc, char **argv, struct err *err)
{
    static const struct option list[] = {
        {"models", 1, NULL, 'm'},  {"types", 1, NULL, 'y'},   {"tests", 1, NULL, 's'}, {"reps", 1, NULL, 'r'},
        {"threads", 1, NULL, 't'}, {"wait", 1, NULL, 'w'},    {"quick", 0, NULL, 'q'}, {"no-peer", 0, NULL, 'n'},
        {"markdown", 0, NULL, 'k'}, {"backend", 1, NULL, 'b'}, {"isa", 1, NULL, 'i'},   {"help", 0, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    const char *models = NULL, *types = NULL, *tests = NULL, *build = getenv("BUILD");
    bool quick = false;
    int c, wait;
    *o = (struct options){.threads = 2, .wait_s = -1};
    if (snprintf(o->folder, sizeof o->folder, "%s/bench", build && *build ? build : "build") >= (int)sizeof o->folder)
        return err_set(err, -1, "$BUILD is too long a path: %.60s...", build);
    while ((c = getopt_long(argc, argv, "", list, NULL)) != -1) {
        switch (c) {
        case 'm': models = optarg; break;
        case 'y': types = optarg; break;
        case 's': tests = optarg; break;
        case 'r': if (number(optarg, BENCH_REPS, &o->reps, err, "--reps")) return -1; break;
        case 't': if (number(optarg, 64, &o->threads, err, "--threads")) return -1; break;
        case 'w': if (number(optarg, 3600, &wait, err, "--wait")) return -1; o->wait_s = wait; break;
        case 'q': quick = true; break;
        case 'n': o->no_peer = true; break;
        case 'k': o->markdown = true; break;
        case 'b': o->backend = optarg; break;
        case 'i': o->isa = optarg; break;
        case 'h': fputs(help, stdout); return 1;
        default: return err_set(err, -1, "see --help");
        }
    }
    if (optind < argc) return bad(err, "not an option:", argv[optind]);
    return complete(o, quick, models, types, tests, err);
}
