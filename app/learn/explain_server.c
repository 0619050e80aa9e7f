/* explain_server.c - verdicts on texts in which nothing ran out, and a server, or who asked it, says something that
 * leads to memory all the same. */
#include "app/learn/explain_say.h"

#define B(x) verdict_bytes((uint64_t)(x), (char[VERDICT_BYTES]){0})

/* ------------------------------------------------------------------ an engine that is dead */

void say_dead(const struct findings *f, const char *text, size_t n, struct verdict *v)
{
    *v = (struct verdict){.cause = CAUSE_UNKNOWN, .sure = SURE_CERTAIN, .line = told_line(f, f->dead->line)};
    say_stacks(f, NULL, v);
    if (v->stack == STACK_OPENAI || v->stack == STACK_LITELLM) v->wrapped_by = v->stack, v->stack = STACK_VLLM;
    run_quote(text, n, f->dead->line, v->what, sizeof v->what);
    verdict_evidence(v, "line %u only passes on that the server's engine is dead; each request behind it is told the "
                     "same.  Why it died stands in the server's log, once", told_line(f, f->dead->line));
    verdict_next(v, "Look into the log of the vLLM server above the first EngineDeadError, at what (EngineCore ...) "
                 "and (Worker ...) wrote: explain that one.");
    verdict_next(v, "docker logs NAME 2>&1 | plimsoll explain; kubectl logs POD --previous | plimsoll explain; "
                 "journalctl -u UNIT | plimsoll explain");
    verdict_next(v, "grep -nE 'EngineCore (encountered a fatal|failed)|OutOfMemoryError|CUDA error|died unexpectedly' "
                 "LOG says in which line it begins.");
    verdict_next(v, "Nothing is there before it ended?  Then it was killed: dmesg --ctime | grep -i oom, or kubectl "
                 "describe pod POD (Last State).");
}

/* ------------------------------------------------------------------ a queue that stands still */

enum { STUCK_LEAST = 2 /* lines: on one of them they may just have come */ };

bool queue_is_stuck(const struct findings *f) { return f->stuck_lines >= STUCK_LEAST; }

void say_stuck(const struct findings *f, struct verdict *v)
{
    *v = (struct verdict){.cause = CAUSE_KV, .sure = SURE_GUESS, .line = told_line(f, f->stuck.line)};
    say_stacks(f, NULL, v);
    snprintf(v->what, sizeof v->what, "nothing failed in this text; requests wait, and none runs");
    verdict_evidence(v, "the last %d lines of the server's figures: none runs, the pool is empty, and in the last (%u) "
                     "%.0f wait", f->stuck_lines, told_line(f, f->stuck.line), f->stuck.waiting);
    verdict_evidence(v, "one that is longer than the whole pool can never begin, and where it is first in the queue "
                     "nobody behind it does");
    verdict_next(v, "How long is the first of them, with the answer that it asks for, against the pool (GPU KV cache "
                 "size in the log of the start)?  Refuse it: a smaller --max-model-len.");
    verdict_next(v, "Does the server still write other lines?  If not, its engine hangs: py-spy dump --pid PID says "
                 "where.");
}

/* ------------------------------------------------------------------ llama.cpp's --fit */

bool fit_is_told(const struct findings *f) { return f->fit.line || f->fit.layer_line; }

static void say_fit_sum(const struct fit_told *fit, struct verdict *v)
{
    if (fit->use > fit->room)
        verdict_evidence(v, "as it is set it would take %s and %s are free: %s too much", B(fit->use), B(fit->room),
                         B(fit->use - fit->room));
    else if (fit->use > 0)
        verdict_evidence(v, "as it is set it would take %s of %s that are free, and leave less than --fit-target wants",
                         B(fit->use), B(fit->room));
    if (fit->over > 0)
        verdict_evidence(v, "with the margin that --fit-target keeps free it is to become smaller by %s", B(fit->over));
}

/* Why it did nothing, and what lets it. */
static void say_fit_why(const struct findings *f, struct verdict *v)
{
    static const struct { enum word_note note; const char *next; } row[] = {
        {NOTE_FIT_LAYERS, "--fit changes only what is not set, and --n-gpu-layers is: leave it out, and it finds how "
                          "many fit; or set fewer."},
        {NOTE_FIT_PLACES, "--cpu-moe, --n-cpu-moe and --override-tensor place weights by hand, and with them --fit "
                          "does nothing: leave them out, it moves experts by itself; or a smaller --ctx-size."},
        {NOTE_FIT_SPLIT, "--tensor-split, and --split-mode row or tensor, are set by hand, and with them --fit does "
                         "nothing: leave them out, or set --ctx-size and --n-gpu-layers by hand too."},
        {NOTE_FIT_CONTEXT, "--ctx-size is set, and so kept: without it --fit makes the context shorter, down to "
                           "--fit-ctx (4096)."},
        {NOTE_FIT_HOST, "It is RAM that lacks: a file of fewer bits, or a smaller --ctx-size."},
        {NOTE_FIT_TRIAL, "Its trial itself failed: the lines before it say at what, and --verbose says more."}};
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (f->note[row[i].note]) verdict_next(v, "%s", row[i].next);
}

static void say_gave_up(const struct findings *f, struct verdict *v)
{
    if (f->note[NOTE_STARTED]) {
        v->cause = CAUSE_NOT_MEMORY;
        v->sure = SURE_LIKELY;
        verdict_evidence(v, "the server came up all the same; what it was to make smaller it left as it is set, so "
                         "that memory may still run out, at a long prompt");
    } else {
        const bool untold = f->note[NOTE_FIT_TRIAL] && f->fit.use <= f->fit.room;
        v->cause = untold ? CAUSE_UNKNOWN : f->note[NOTE_FIT_HOST] ? CAUSE_HOST : CAUSE_WEIGHTS;
        v->sure = f->fit.use > f->fit.room ? SURE_LIKELY : SURE_GUESS;
        verdict_evidence(v, "it goes on all the same, with what is set: what is too much fails behind this line");
    }
    say_fit_sum(&f->fit, v);
    say_fit_why(f, v);
    verdict_next(v, "llama-fit-params --model FILE says what fits, without loading it.");
}

/* Its warning thinks of missing support; most often there was no room. */
static void say_first_layer(const struct findings *f, struct verdict *v)
{
    v->cause = CAUSE_WEIGHTS;
    verdict_evidence(v, "the first layer is on the CPU: for all of them there was no room on the device, or it was set "
                     "so; \"missing support\" is that line's guess");
    if (f->fit.layers > f->fit.on_device)
        verdict_evidence(v, "of %.0f layers %.0f are on the device", f->fit.layers, f->fit.on_device);
    verdict_next(v, "Does it go away with a smaller --ctx-size or --ubatch-size, with --cache-type-k q8_0, or without "
                 "--mmproj and a draft?  Then it was room.");
    verdict_next(v, "Is --n-gpu-layers or --n-cpu-moe set?  Then that is why, and nothing is wrong but the speed.");
}

void say_fit(const struct findings *f, const char *text, size_t n, struct verdict *v)
{
    const uint32_t line = f->fit.line ? f->fit.line : f->fit.layer_line;
    *v = (struct verdict){.line = told_line(f, line)};
    say_stacks(f, NULL, v);
    if (v->stack != STACK_OLLAMA) v->stack = STACK_LLAMA_CPP; /* nobody else writes so */
    run_quote(text, n, line, v->what, sizeof v->what);
    if (f->fit.line) say_gave_up(f, v);
    else say_first_layer(f, v);
}

void say_fit_before(const struct findings *f, const struct fail_case *c, struct verdict *v)
{
    if (!f->fit.line || f->fit.line > c->line || c->family == FAMILY_TOKENS) return;
    verdict_evidence(v, "line %u: --fit had given up, so that nothing was made smaller before it was loaded",
                     told_line(f, f->fit.line));
    say_fit_sum(&f->fit, v);
    say_fit_why(f, v);
}
