/* draft.c - one backward search a token, and a mean of what came of it. */
#include "engine/draft.h"

int draft_find(const int32_t *ids, int n, int *match)
{
    int found = 0, longest = 0;
    for (int at = n - 2; at >= longest && longest < DRAFT_MATCH; at--) {
        int same = 0;
        while (same < DRAFT_MATCH && same <= at && ids[at - same] == ids[n - 1 - same]) same++;
        if (same <= longest) continue;
        longest = same;
        found = at + 1;
    }
    *match = found ? longest : 0;
    return found;
}

static int kind_of(int match) { return match < 2 ? 0 : match < 3 ? 1 : match < 6 ? 2 : 3; }

/* How often drafts are right, before any was tried: about what they are in the embedded model's talk and calls. */
static const float first_rate[DRAFT_RATES] = {0.2F, 0.4F, 0.7F, 0.9F};

void draft_begin(struct draft *d)
{
    for (int i = 0; i < DRAFT_RATES; i++) d->rate[i] = first_rate[i];
    d->kind = 0;
}

struct draft_pass draft_pass_of(int n, const float *row)
{
    struct draft_pass p = {.rows = n, .tokens = n, .cost = 1, .row = row};
    for (int i = 0; i + 1 < n; i++) p.cost += (double)row[i];
    return p;
}

bool draft_worth(struct draft *d, int match, int nth, struct draft_pass *p)
{
    const int kind = d->kind = kind_of(match);
    float *rate = &d->rate[kind];
    const double more = (double)p->row[p->rows - 1];
    double right = 1; /* that it is, and all before it are */
    for (int i = 0; i <= nth; i++) right *= (double)*rate;
    if (right * p->cost <= more * p->tokens) {
        if (nth == 0) *rate += (first_rate[kind] - *rate) / 256; /* so that it is tried again one day */
        return false;
    }
    p->tokens += right;
    p->cost += more;
    p->rows++;
    return true;
}

void draft_sure(struct draft *d, struct draft_pass *p)
{
    d->kind = DRAFT_RATES;
    p->tokens += 1;
    p->cost += (double)p->row[p->rows++ - 1];
}

void draft_learn(struct draft *d, int drafts, int right)
{
    if (d->kind == DRAFT_RATES) return;
    float *rate = &d->rate[d->kind];
    for (int i = 0; i < right; i++) *rate += (1 - *rate) / 8;
    if (right < drafts) *rate -= *rate / 8;
}
