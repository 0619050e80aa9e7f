/* plan.c - before Enter: what the turn that is typed will carry, whether it fits, and what would be summed up. */
#include "app/tui/ui_impl.h"

enum { FRAME = 8 }; /* tokens that a template writes around a message, about */

static bool is_command(const char *text, size_t n) { return n > 0 && text[0] == '/'; }

/* Whom the text is for: by its "@name", or the current one. */
static const struct state_agent *goes_to(const struct ui *ui, const char *text, size_t n)
{
    const struct state *s = &ui->state;
    int i = ui->current;
    if (n > 1 && text[0] == '@') {
        size_t len = 1;
        while (len < n && text[len] != ' ' && text[len] != '\n') len++;
        const int named = state_agent(s, text + 1, len - 1);
        if (named >= 0) i = named;
    }
    return i >= 0 && i < s->agents ? &s->agent[i] : NULL;
}

static void put_fit(const struct state_agent *a, int64_t typed, struct buf *out, bool *bad)
{
    char x[FIGURE], y[FIGURE], z[FIGURE];
    const int64_t prompt = a->carried + typed + FRAME, most = a->ctx - a->reserve;
    const int64_t fixed = (int64_t)(a->gauge.part[CONTEXT_SYSTEM] + a->gauge.part[CONTEXT_PINNED]);
    buf_printf(out, " - this turn carries %s + up to %s = %s of ", figure(x, (uint64_t)prompt),
               figure(y, (uint64_t)a->reserve), figure(z, (uint64_t)(prompt + a->reserve)));
    buf_printf(out, "%s - ", figure(x, (uint64_t)a->ctx));
    *bad = fixed + typed + FRAME > most;
    if (*bad)
        buf_printf(out, "does not fit: a turn may have %s here", figure(x, (uint64_t)MAX(most - fixed - FRAME, 0)));
    else if (prompt > a->high && a->frees > 0)
        buf_printf(out, "the oldest are summed up first, which frees about %s", figure(x, (uint64_t)a->frees));
    else if (prompt > most) buf_puts(out, "the oldest leave the context first");
    else buf_puts(out, "fits");
}

void ui_plan(const struct ui *ui, struct buf *out, bool *bad)
{
    size_t n;
    char x[FIGURE];
    const char *text = edit_text(ui->edit, &n);
    const struct state_agent *a = goes_to(ui, text, n);
    *bad = false;
    if (n == 0 || is_command(text, n)) return;
    if (ui->typed.tokens < 0) {
        buf_printf(out, "%zu bytes", n);
        return;
    }
    buf_printf(out, "%s%s token%s", ui->typed.exact ? "" : "about ", figure(x, (uint64_t)ui->typed.tokens),
               ui->typed.tokens == 1 ? "" : "s");
    if (a && a->ctx > 0) put_fit(a, ui->typed.tokens, out, bad);
}
