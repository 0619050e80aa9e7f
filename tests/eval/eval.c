/* eval.c - `make eval-model`: what the embedded model can do, judged by plimsoll's own engine on held-out cases.
 *
 * Nothing here passes or fails by a figure: the table says which targets were reached. */
#include "tests/eval/eval.h"
#include <errno.h>
#include <getopt.h>

static const char help[] =
    "usage: eval -m MODEL.gguf CASES.jsonl...     (from the repository's root; tests/eval/eval.h has a case's form)\n"
    "  -m FILE          the model\n"
    "  --seqs N         cases asked at once (8)\n"
    "  --max-tokens N   most tokens of an answer (300)\n"
    "  --threads N      threads (0: one a core)\n"
    "  --no-draft       each token is a pass of its own\n"
    "  --show N         also print up to N cases of each row that failed\n"
    "  --out FILE       write the table to FILE too, as Markdown\n"
    "  --answers FILE   write all answers to FILE, JSON Lines\n"
    "  --check          only: can the cases be judged, and does each one's expected answer pass?\n"
    "  --script FILE    answers from FILE (engine/scripted.c) in the model's place, to try this program itself\n"
    "Exit: 0 all was asked, whatever the scores; 1 not; 2 the command line or the cases are wrong.\n";

struct options {
    const char *model, *out, *answers, *script;
    int seqs, max_tokens, threads, show;
    bool check, no_draft;
};

static int number(const char *text, int least, int most, int *out, struct err *err, const char *what)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < least || v > most)
        return err_set(err, -1, "%s \"%.40s\": a number from %d to %d", what, text, least, most);
    *out = (int)v;
    return 0;
}

/* 0, 1 (help was printed) or -1. */
static int options_read(struct options *o, int argc, char **argv, struct err *err)
{
    static const struct option list[] = {
        {"model", 1, NULL, 'm'}, {"seqs", 1, NULL, 's'},    {"max-tokens", 1, NULL, 'n'}, {"threads", 1, NULL, 't'},
        {"show", 1, NULL, 'w'},  {"out", 1, NULL, 'o'},     {"answers", 1, NULL, 'a'},    {"check", 0, NULL, 'c'},
        {"script", 1, NULL, 'r'}, {"no-draft", 0, NULL, 'd'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c, rc = 0;
    *o = (struct options){.seqs = 8, .max_tokens = 300};
    while (!rc && (c = getopt_long(argc, argv, "m:", list, NULL)) != -1) {
        switch (c) {
        case 'm': o->model = optarg; break;
        case 's': rc = number(optarg, 1, EVAL_SEQS, &o->seqs, err, "--seqs"); break;
        case 'n': rc = number(optarg, 1, 1 << 20, &o->max_tokens, err, "--max-tokens"); break;
        case 't': rc = number(optarg, 0, 1024, &o->threads, err, "--threads"); break;
        case 'w': rc = number(optarg, 0, 1 << 20, &o->show, err, "--show"); break;
        case 'o': o->out = optarg; break;
        case 'a': o->answers = optarg; break;
        case 'c': o->check = true; break;
        case 'r': o->script = optarg; break;
        case 'd': o->no_draft = true; break;
        case 'h': fputs(help, stdout); return 1;
        default: return err_set(err, -1, "see --help");
        }
    }
    if (rc) return rc;
    if (optind == argc) return err_set(err, -1, "no file of cases: see --help");
    if (!o->model && !o->check) return err_set(err, -1, "no model (-m): see --help");
    return 0;
}

static int ask_model(const struct options *o, struct cases *c, struct asking *a, struct err *err)
{
    const struct engine_ops *ops = o->script ? &engine_scripted : &engine_local;
    struct engine_config cfg = {.model = o->model, .script = o->script, .kern = {.threads = o->threads, .pin = true},
                                .max_seqs = o->seqs, .max_rows = MAX(128, 2 * o->seqs), .kv_type = KT_F16,
                                .template = -1, .drafts = o->no_draft ? DRAFTS_NONE : 0};
    struct engine *e = ops->open(&cfg, err);
    if (!e) return -1;
    int rc = ask_all(ops, e, c, a, err);
    ops->close(e);
    return rc;
}

static int write_table(const struct options *o, const struct cases *c, const struct asking *a, struct err *err)
{
    const char *slash = strrchr(o->model, '/'), *name = slash ? slash + 1 : o->model;
    table_print(c, a, name, false, stdout);
    table_failures(c, o->show, stdout);
    if (o->answers && table_answers(c, o->answers, err)) return -1;
    if (!o->out) return 0;
    FILE *out = fopen(o->out, "w");
    if (!out) return err_set(err, -1, "%s: %s", o->out, strerror(errno));
    table_print(c, a, name, true, out);
    bool failed = ferror(out);
    if (fclose(out) || failed) return err_set(err, -1, "%s could not be written", o->out);
    return 0;
}

static int fail(const struct err *err, struct cases *c, int status)
{
    fprintf(stderr, "eval: %s\n", err->text);
    cases_free(c);
    return status;
}

int main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    struct cases c = {0};
    int rc = options_read(&o, argc, argv, &err);
    if (rc > 0) return 0;
    for (int i = optind; !rc && i < argc; i++) rc = cases_read(&c, argv[i], &err);
    if (!rc && c.n == 0) rc = err_set(&err, -1, "%s: no cases in it", argv[optind]);
    if (rc) return fail(&err, &c, 2);

    int wrong = cases_prove(&c);
    if (wrong) fprintf(stderr, "eval: %d of %d cases cannot be passed by their expected answer\n", wrong, c.n);
    if (o.check) {
        if (!wrong) printf("%d cases, each passed by its own expected answer\n", c.n);
        cases_free(&c);
        return wrong ? 2 : 0;
    }
    struct asking a = {.seqs = o.seqs, .max_tokens = o.max_tokens};
    if (ask_model(&o, &c, &a, &err) || write_table(&o, &c, &a, &err)) return fail(&err, &c, 1);
    cases_free(&c);
    return 0;
}
