/* explain_server.c - verdicts on texts in which nothing ran out, and a server, or who asked it, says something that
 * leads to memory all the same. */
#include "app/learn/explain_say.h"

/* ------------------------------------------------------------------ an engine that is dead */

void say_dead(const struct findings *f, const char *text, size_t n, struct verdict *v)
{
    *v = (struct verdict){.cause = CAUSE_UNKNOWN, .sure = SURE_CERTAIN, .line = (int64_t)f->before + f->dead->line};
    say_stacks(f, NULL, v);
    if (v->stack == STACK_OPENAI || v->stack == STACK_LITELLM) v->wrapped_by = v->stack, v->stack = STACK_VLLM;
    run_quote(text, n, f->dead->line, v->what, sizeof v->what);
    verdict_evidence(v, "line %u only passes on that the server's engine is dead; each request behind it is told the "
                     "same.  Why it died stands in the server's log, once", f->before + f->dead->line);
    verdict_next(v, "Look into the log of the vLLM server above the first EngineDeadError, at what (EngineCore ...) "
                 "and (Worker ...) wrote: explain that one.");
    verdict_next(v, "docker logs NAME 2>&1 | plimsoll explain; kubectl logs POD --previous | plimsoll explain; "
                 "journalctl -u UNIT | plimsoll explain");
    verdict_next(v, "grep -nE 'EngineCore (encountered a fatal|failed)|OutOfMemoryError|CUDA error|died unexpectedly' "
                 "LOG says in which line it begins.");
    verdict_next(v, "Nothing is there before it ended?  Then it was killed: dmesg --ctime | grep -i oom, or kubectl "
                 "describe pod POD (Last State).");
}
