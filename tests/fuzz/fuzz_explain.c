/* fuzz_explain.c - any bytes read as a log.
 *
 * covers: app/learn/explain.c app/learn/explain_read.c app/learn/explain_prefix.c app/learn/explain_match.c
 * covers: app/learn/explain_cases.c app/learn/explain_judge.c app/learn/explain_say.c app/learn/explain_smi.c
 * covers: app/learn/explain_loads.c app/learn/explain_advice.c
 *
 * What must hold: at most EXPLAIN_MOST verdicts, each of a cause and a stack that exist, in a line of the text; what is
 * quoted is printable and ends; figures are no more than a number can be; the same text twice gives the same; and the
 * answers to the dialogue never make it say more verdicts than there can be. */
#include "app/learn/explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static void check_verdict(const struct verdict *v, int64_t lines)
{
    must(v->cause > CAUSE_UNKNOWN && v->cause < CAUSES);
    must(v->stack >= STACK_UNKNOWN && v->stack < STACKS && v->wrapped_by >= STACK_UNKNOWN && v->wrapped_by < STACKS);
    must(v->sure >= SURE_GUESS && v->sure <= SURE_CERTAIN);
    must(v->line >= 0 && v->line <= lines);
    must(memchr(v->what, '\0', sizeof v->what) != NULL);
    for (const char *p = v->what; *p; p++) must(*p >= ' ' && *p <= '~');
    must(v->figures <= VERDICT_FIGURES && v->evidences <= VERDICT_LINES && v->nots <= VERDICT_LINES);
    must(v->evidences > 0 && v->nexts <= VERDICT_LINES && v->fixes <= VERDICT_FIXES);
    for (int i = 0; i < v->figures; i++) must(v->figure[i].value <= UINT64_C(1) << 62);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct verdict v[EXPLAIN_MOST], again[EXPLAIN_MOST];
    const char *text = (const char *)data;
    struct explain_answers known = {{1, 2, 2, 1}};
    int64_t lines = 1;
    for (size_t i = 0; i < size; i++) lines += data[i] == '\n';
    int n = explain_text(text, size, v, EXPLAIN_MOST);
    must(n >= 0 && n <= EXPLAIN_MOST);
    for (int i = 0; i < n; i++) check_verdict(&v[i], lines);
    must(explain_text(text, size, again, EXPLAIN_MOST) == n);
    for (int i = 0; i < n; i++) must(memcmp(&v[i], &again[i], sizeof v[i]) == 0);
    n = explain_with(text, size, &known, v, EXPLAIN_MOST);
    must(n >= 0 && n <= EXPLAIN_MOST);
    for (int i = 0; i < n; i++) check_verdict(&v[i], lines);
    return 0;
}
