/* options.c - the bench's command line. */
#include "tests/bench/bench.h"
#include <getopt.h>

/* What is measured when nothing is said: of a shape, of the model in the program, and of both for a quick look. */
#define MODELS "llama3.2-1b,qwen2.5-0.5b,assets/" BENCH_EMBEDDED ".gguf"
#define TESTS_SHAPE                                                                                                    \
    "pp512,tg128,b8x32,b16x32,pp512t1,tg64t1,d4096tg16,d8192tg16,d32768tg16,busy64,load,sweep,agents8,resume,"         \
    "watch128,draft128,ledger"
#define TESTS_EMBEDDED                                                                                                 \
    "pp3000,tg2048,b8x1024,b16x1024,tg2048t1,busy2048,load,sweep1024,agents8,resume,watch2048,draft2048,ledger8x4096"
#define TESTS_QUICK "pp64,tg16,b8x8,tg16t1,d1024tg16,busy16,load,sweep8,agents8,resume,watch16,draft16,ledger4x256"

static const char help[] =
    "usage: make bench ARGS=\"...\"      (or the program itself, from the repository's root)\n"
    "  --models A,B    shapes for which model files are made, or files that end in .gguf\n"
    "                  (" MODELS ")\n"
    "  --types A,B     weight types of the files that are made (q8_0,q4_0,q4_k)\n"
    "  --tests A,B     ppN, tgN, bBxN: pre-fill, decode, B sequences together; with a tT behind: on T threads;\n"
    "                  dDtgN: decode after D tokens; sweepN: b1xN to b16xN; busyN: beside a process that computes;\n"
    "                  load; agentsN, resume: what known pages save; watchN: what a display costs;\n"
    "                  draftN: what drafts bring and cost;\n"
    "                  ledgerBxN: memory, B sequences of N tokens\n"
    "                  (" TESTS_SHAPE ";\n"
    "                  sweep and ledger mean sweep32 and ledger8x1024; the embedded model: more steps)\n"
    "  --reps R        repetitions after one warm-up (3)\n"
    "  --threads N     pinned threads, for both sides (2)\n"
    "  --wait S        most seconds to wait for a quiet machine, per model file and side (30)\n"
    "  --quick         does all of it work?  one small model, one repetition, short tests; the figures mean little\n"
    "  --no-peer       ours only\n"
    "  --markdown      print a section for tests/bench/SPEED.md\n"
    "  --keep          put it into that file, and a chart beside it (make bench without ARGS does)\n"
    "  --backend NAME  the engine's backend\n"
    "  --exact         a GPU's exact mode; else its fast one\n"
    "  --isa NAME      portable, avx2, avxvnni, avx512: the CPU backend's instruction set\n"
    "  --kv-type NAME  f16, q8_0, f32: the type of our keys and values (f16); the peer's driver has f16 only, so that\n"
    "                  with another one there is no peer, and --keep keeps nothing\n"
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

static int page_type(const char *name, enum ktype *out, struct err *err)
{
    static const struct {
        const char *name;
        enum ktype type;
    } row[] = {{"f16", KT_F16}, {"q8_0", KT_Q8_0}, {"f32", KT_F32}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        if (strcmp(name, row[i].name)) continue;
        *out = row[i].type;
        return 0;
    }
    return err_set(err, -1, "--kv-type \"%s\": f16, q8_0 or f32", name);
}

/* What was not asked for gets its default. */
static int complete(struct options *o, const char *models, const char *types, const char *tests, struct err *err)
{
    if (!models) models = o->quick ? "qwen2.5-0.5b" : MODELS;
    if (!types) types = o->quick ? "q8_0,q4_0" : "q8_0,q4_0,q4_k";
    o->models = split(models, o->model[0], sizeof o->model[0], err, "--models");
    o->types = split(types, o->type[0], sizeof o->type[0], err, "--types");
    if (o->models < 0 || o->types < 0) return -1;
    if (plan_read(&o->plan, tests ? tests : o->quick ? TESTS_QUICK : TESTS_SHAPE, err)) return -1;
    if (plan_read(&o->embedded, tests ? tests : o->quick ? TESTS_QUICK : TESTS_EMBEDDED, err)) return -1;
    if (o->reps == 0) o->reps = o->quick ? 1 : 3;
    if (o->wait_s < 0) o->wait_s = o->quick ? 1 : 30;
    return 0;
}

int options_read(struct options *o, int argc, char **argv, struct err *err)
{
    static const struct option list[] = {
        {"models", 1, NULL, 'm'},  {"types", 1, NULL, 'y'},   {"tests", 1, NULL, 's'}, {"reps", 1, NULL, 'r'},
        {"threads", 1, NULL, 't'}, {"wait", 1, NULL, 'w'},    {"quick", 0, NULL, 'q'}, {"no-peer", 0, NULL, 'n'},
        {"markdown", 0, NULL, 'k'}, {"keep", 0, NULL, 'p'},   {"backend", 1, NULL, 'b'}, {"isa", 1, NULL, 'i'},
        {"exact", 0, NULL, 'x'},   {"kv-type", 1, NULL, 'v'}, {"help", 0, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    const char *models = NULL, *types = NULL, *tests = NULL, *build = getenv("BUILD");
    int c, wait;
    *o = (struct options){.threads = 2, .wait_s = -1, .kv_type = KT_F16, .fast = true};
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
        case 'q': o->quick = true; break;
        case 'n': o->no_peer = true; break;
        case 'k': o->markdown = true; break;
        case 'p': o->keep = true; break;
        case 'b': o->backend = optarg; break;
        case 'i': o->isa = optarg; break;
        case 'x': o->fast = false; break;
        case 'v': if (page_type(optarg, &o->kv_type, err)) return -1; break;
        case 'h': fputs(help, stdout); return 1;
        default: return err_set(err, -1, "see --help");
        }
    }
    if (optind < argc) return bad(err, "not an option:", argv[optind]);
    return complete(o, models, types, tests, err);
}
