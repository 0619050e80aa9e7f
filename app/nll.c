/* nll.c - the mean negative log-likelihood of a text: bos (if the vocabulary adds one) and the text's tokens; every
 * token but the first is scored.
 *
 *     nll 1.427238 tokens 512          mean over tokens 1 .. 511
 *
 * A text longer than the context is scored in windows one after another, each with a bos of its own in front and
 * without knowledge of those before; the mean is over all tokens that were scored, and stderr says how many windows
 * there were. */
#include "app/faces.h"
#include "app/input.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { FILE_LIMIT = 256 << 20, EVENTS = 64 };

struct nll {
    struct app *a;
    struct progress bar;
    struct ids text;  /* without bos */
    int32_t bos;      /* -1: none */
    size_t done;      /* of text */
    double sum;       /* of negative log-probabilities */
    uint64_t scored;
    int windows;
};

static int read_text(struct nll *s, struct err *err)
{
    const char *path = s->a->o->nll;
    struct buf text = {0};
    char what[300];
    snprintf(what, sizeof what, "--nll %.280s", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_set(err, EXIT_USAGE, "%s could not be opened: %s", what, strerror(errno));
    enum input_result r = input_all(fd, FILE_LIMIT, what, false, &text, err);
    close(fd);
    int status = r == INPUT_OK ? EXIT_DONE : r == INPUT_SIGNAL ? 128 + signals_pending() : EXIT_USAGE;
    const char *bytes = text.data ? text.data : "";
    const struct vocab *v = s->a->ops->vocab(s->a->engine);
    if (status == EXIT_DONE && vocab_encode(v, NULL, bytes, text.len, 0, &s->text, err)) status = EXIT_ENGINE;
    buf_free(&text);
    return status;
}

static void add_scores(struct nll *s, const struct answer *ans)
{
    for (int i = 1; i < ans->n_prompt; i++) s->sum -= (double)ans->prompt_logprob[i];
    s->scored += (uint64_t)ans->n_prompt - 1;
    s->windows++;
}

static int step_to_end(struct nll *s, int id, const struct answer *ans, struct err *err)
{
    struct app *a = s->a;
    struct engine_event ev[EVENTS];
    while (atomic_load(&ans->end) == END_NONE) {
        if (signals_pending()) return 128 + signals_pending();
        int n = a->ops->step(a->engine, ev, EVENTS, err);
        if (n < 0) return EXIT_ENGINE;
        if (n == 0 && atomic_load(&ans->end) == END_NONE)
            return err_set(err, EXIT_ENGINE, "the engine stopped without ending the request");
        for (int i = 0; i < n; i++)
            if (ev[i].kind == ENGINE_PREFILL && ev[i].id == id)
                progress_update(&s->bar, s->done + (uint64_t)ev[i].n, s->text.n, progress_clock());
    }
    if (atomic_load(&ans->end) == END_FAULT) return err_set(err, EXIT_ENGINE, "%s", ans->fault);
    return EXIT_DONE;
}

static int score_window(struct nll *s, const int32_t *ids, int n, struct err *err)
{
    struct app *a = s->a;
    struct request q = {.ids = ids, .n_ids = n, .score = true, .sampling = SAMPLING_GREEDY};
    int id, code = a->ops->submit(a->engine, &q, &id, err);
    if (code) return app_exit(code);
    const struct answer *ans = a->ops->answer(a->engine, id);
    int status = step_to_end(s, id, ans, err);
    if (status == EXIT_DONE) add_scores(s, ans);
    a->ops->drop(a->engine, id);
    return status;
}

static int score(struct nll *s, struct err *err)
{
    int ctx = s->a->info->ctx, front = s->bos >= 0;
    if (ctx < 2) return err_set(err, EXIT_USAGE, "--nll needs a context of 2 tokens or more");
    if (s->text.n + (size_t)front < 2) return err_set(err, EXIT_USAGE, "--nll: the text has no token to score");
    int32_t *window = malloc((size_t)ctx * sizeof *window);
    if (!window) return err_set(err, EXIT_INTERNAL, "no memory for a window of %d tokens", ctx);
    if (front) window[0] = s->bos;
    int status = EXIT_DONE;
    while (status == EXIT_DONE && s->done < s->text.n) {
        int n = (int)MIN((size_t)(ctx - front), s->text.n - s->done);
        memcpy(window + front, s->text.id + s->done, (size_t)n * sizeof *window);
        if (n + front > 1) status = score_window(s, window, n + front, err); /* one token alone scores nothing */
        s->done += (size_t)n;
    }
    free(window);
    return status;
}

int nll_run(struct app *a)
{
    const struct vocab *v = a->ops->vocab(a->engine);
    struct nll s = {.a = a, .bos = vocab_adds_bos(v) ? vocab_bos(v) : -1};
    struct err err = {0};
    char line[96];
    progress_start(&s.bar, "scoring", say_on_terminal(), progress_clock());
    int status = read_text(&s, &err);
    if (status == EXIT_DONE) status = score(&s, &err);
    progress_end(&s.bar);
    if (status == EXIT_DONE) {
        if (s.windows > 1)
            say("scored in %d windows of %d tokens, each from its own beginning", s.windows, a->info->ctx);
        int n = snprintf(line, sizeof line, "nll %.6f tokens %zu\n", s.sum / (double)s.scored, s.text.n + (s.bos >= 0));
        out_put(&a->answers, line, (size_t)n);
    } else if (status < 128) {
        app_error(a, "turn", err.text);
    }
    ids_free(&s.text);
    return status;
}
