/* plan.c - before Enter: what the turn that is typed will carry, whether it fits, and what would be summed up. */
#include "app/tui/ui_impl.h"

enum { FRAME = 8, /* tokens that a template writes around a message, about: where the host cannot tell */
       LINE = 64  /* of the line that stands for what leaves, at most about */ };

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

/* The turn that is typed, of an agent. */
struct plan {
    int64_t prompt, reserve, ctx, frees, most;
    bool exact;
    enum { FITS, SUMS_UP, LEAVE, MAY_NOT, TOO_LONG } how;
};

/* As the window reckons (memory/window.h): what is carried holds the opening of an answer.  What leaves stands as a
 * line, which the turn must have room beside. */
static struct plan plan_for(const struct state_agent *a, const struct ui *ui)
{
    const int64_t frame = ui->typed.frame < 0 ? FRAME : ui->typed.frame, message = ui->typed.tokens + frame;
    const int64_t front = (int64_t)(a->gauge.part[CONTEXT_SYSTEM] + a->gauge.part[CONTEXT_PINNED]);
    const int64_t room = a->ctx - a->reserve;
    struct plan p = {.prompt = a->carried + message, .reserve = a->reserve, .ctx = a->ctx, .frees = a->frees,
                     .most = MAX(room - front - frame, 0), .how = FITS,
                     .exact = ui->typed.exact && ui->typed.frame >= 0 && !*ui->typed.files};
    if (message > room - front) p.how = TOO_LONG;
    else if (p.prompt > room && message > room - front - LINE) p.how = MAY_NOT;
    else if (p.prompt > a->high && a->frees > 0) p.how = SUMS_UP;
    else if (p.prompt > room) p.how = LEAVE;
    return p;
}

/* All of it in words; or in fewer; or how it comes out, with a figure or without. */
enum form { IN_WORDS, IN_BRIEF, VERDICT, BARE, FORMS };

static void put_verdict(struct buf *out, const struct plan *p, enum form form)
{
    static const char *const bare[][5] = {
        {"fits", "sums up first", "the oldest leave first", "may not fit", "does not fit"},
        {"seems to fit", "sums up first", "the oldest leave first", "may not fit", "seems not to fit"}};
    const char *const about = p->exact && p->how == TOO_LONG ? "" : "about ";
    char x[FIGURE];
    if (form != IN_WORDS || p->how == FITS) buf_puts(out, bare[!p->exact][p->how]);
    else if (p->how == LEAVE) buf_puts(out, "the oldest leave the context first");
    else if (p->how == SUMS_UP)
        buf_printf(out, "the oldest are summed up first, which frees about %s", figure(x, (uint64_t)p->frees));
    else
        buf_printf(out, "%s: a turn may have %s%s here", bare[!p->exact][p->how], about, figure(x, (uint64_t)p->most));
    if (form != IN_BRIEF && form != VERDICT) return;
    if (p->how == SUMS_UP) buf_printf(out, " (frees %s)", figure(x, (uint64_t)p->frees));
    if (p->how >= MAY_NOT) buf_printf(out, " (at most %s%s)", about, figure(x, (uint64_t)p->most));
}

static void put_plan(struct buf *out, const struct plan *p, enum form form)
{
    const char *const about = p->exact ? "" : "about ";
    char x[FIGURE], y[FIGURE], z[FIGURE], c[FIGURE];
    figure(x, (uint64_t)p->prompt);
    figure(y, (uint64_t)p->reserve);
    figure(z, (uint64_t)(p->prompt + p->reserve));
    figure(c, (uint64_t)p->ctx);
    buf_puts(out, " - ");
    if (form == IN_WORDS) buf_printf(out, "this turn carries %s%s + up to %s = %s of %s - ", about, x, y, z, c);
    put_verdict(out, p, form);
    if (form == IN_BRIEF) buf_printf(out, " - carries %s%s + %s of %s", about, x, y, c);
}

enum { TOKEN_BYTES = 4 }; /* of a file, about: it is not read before it is sent */

static void put_file(struct buf *out, const struct complete_mention *m)
{
    char size[FIGURE], tokens[FIGURE];
    const uint64_t bytes = (uint64_t)m->bytes;
    buf_printf(out, "%s%s (%s %s, about %s tokens)", out->len > 0 ? ", " : "", m->path,
               figure(size, bytes < 10240 ? bytes : bytes / 1024), bytes < 10240 ? "bytes" : "KiB",
               figure(tokens, bytes / TOKEN_BYTES));
}

/* The one file, or of several how many and all they weigh.  What is too much of one is clipped. */
void ui_name_files(struct ui *ui, const char *text, size_t n)
{
    ui->typed.frame = n > 0 && ui->host.frame ? ui->host.frame(ui->host.self, text, n) : -1;
    struct complete_mentions m = {0};
    struct buf words = {0};
    uint64_t files = 0, tokens = 0;
    char x[FIGURE], y[FIGURE];
    const struct complete_source *source = ui->host.source ? ui->host.source(ui->host.self) : NULL;
    *ui->typed.files = '\0';
    if (!source || !source->files || is_command(text, n) || n == 0 || !memchr(text, '@', n)) return;
    if (complete_attachments(source, text, n, &m)) return;
    for (size_t i = 0; i < m.n; i++) {
        if (m.mention[i].bytes < 0) continue;
        if (files++ == 0) put_file(&words, &m.mention[i]);
        tokens += (uint64_t)m.mention[i].bytes / TOKEN_BYTES;
    }
    if (files > 1) {
        words.len = 0;
        buf_printf(&words, "%s files (about %s tokens)", figure(x, files), figure(y, tokens));
    }
    if (words.len > 0 && !words.failed)
        state_text(ui->typed.files, sizeof ui->typed.files, (struct event_str){words.data, words.len});
    buf_free(&words);
    complete_mentions_free(&m);
}

void ui_plan(const struct ui *ui, int columns, struct buf *out, bool *bad)
{
    size_t n, typed;
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
    if (*ui->typed.files) buf_printf(out, " + %s", ui->typed.files);
    if (!a || a->ctx <= 0) return;
    const struct plan p = plan_for(a, ui);
    *bad = p.how >= MAY_NOT;
    typed = out->len;
    for (int form = IN_WORDS; form < FORMS; form++) {
        out->len = typed;
        put_plan(out, &p, (enum form)form);
        if (out->failed || surface_columns(out->data, out->len) <= columns) return;
    }
}
