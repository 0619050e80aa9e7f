/* figures.c - see figures.h. */
#include "app/learn/figures.h"
#include <ctype.h>
#include <math.h>

/* ---------------------------------------------------------------- names */

#define FIGURE_ROW_(id, name, unit, doc) {name, doc, UNIT_##unit},
static const struct {
    const char *name, *doc;
    enum figure_unit unit;
} rows[FIGURES] = {FIGURE_TABLE(FIGURE_ROW_)};

static const char *const ends[RUN_ENDS] = {"unknown", "done", "oom", "refused", "host", "stopped", "wrong", "killed",
                                           "failed"};
static const char *const runs[RUNS] = {"broken", "fixed"};

const char *run_end_name(enum run_end e)
{
    assert((size_t)e < RUN_ENDS);
    return ends[e];
}

int run_end_find(const char *name)
{
    for (int i = 0; i < RUN_ENDS; i++)
        if (strcmp(ends[i], name) == 0) return i;
    return -1;
}

enum figure_unit figure_unit(enum figure f) { return rows[f].unit; }

void figures_doc(struct buf *out)
{
    for (int i = 0; i < FIGURES; i++) buf_printf(out, "  %-15s %s\n", rows[i].name, rows[i].doc);
}

/* ---------------------------------------------------------------- folding */

void figures_init(struct figures *f)
{
    *f = (struct figures){.prompts = 0};
    for (int i = 0; i < FIGURES; i++) f->value[i] = (double)NAN;
    f->value[FIGURE_END] = RUN_UNKNOWN;
}

static void set(struct figures *f, enum figure at, int64_t value) { f->value[at] = (double)value; }

static void add(struct figures *f, enum figure at, int64_t value)
{
    f->value[at] = (isnan(f->value[at]) ? 0 : f->value[at]) + (double)value;
}

static void most(struct figures *f, enum figure at, double value)
{
    if (isnan(f->value[at]) || f->value[at] < value) f->value[at] = value;
}

static bool has_end(const struct figures *f) { return f->value[FIGURE_END] > RUN_UNKNOWN; }

/* The first that goes wrong is how the run ended. */
static void ends_badly(struct figures *f, enum run_end how, int64_t turn)
{
    if (has_end(f)) return;
    set(f, FIGURE_END, how);
    if (turn > 0) set(f, FIGURE_TURN, turn);
}

static void see_agent(struct figures *f, struct event_str name)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < name.len; i++) h = (h ^ (unsigned char)name.data[i]) * 1099511628211u;
    for (int i = 0; i < f->agents; i++)
        if (f->agent[i] == h) return;
    if (f->agents < (int)COUNT_OF(f->agent)) f->agent[f->agents++] = h;
    set(f, FIGURE_AGENTS, f->agents);
}

static void add_start(struct figures *f, const struct event_turn_start *e)
{
    double n = (double)e->prompt_tokens;
    if (e->call == 1) add(f, FIGURE_ASKED, 1);
    if (isnan(f->value[FIGURE_PROMPT_FIRST])) f->value[FIGURE_PROMPT_FIRST] = n;
    else if (e->call == 1) f->prompts++;
    f->value[FIGURE_PROMPT_LAST] = n;
    if (f->prompts > 0) f->value[FIGURE_GROWTH] = (n - f->value[FIGURE_PROMPT_FIRST]) / f->prompts;
    most(f, FIGURE_PROMPT_MOST, n);
    most(f, FIGURE_PROMISED, (double)e->reserved_tokens);
    add(f, FIGURE_READ, e->prompt_tokens - e->shared_tokens);
}

static void add_oom(struct figures *f, const struct event_oom *e)
{
    add(f, FIGURE_LOST, 1);
    if (has_end(f)) return; /* the first one is what the lesson is about */
    ends_badly(f, RUN_OOM, e->turn);
    set(f, FIGURE_OOM_WANTED, e->wanted_bytes);
    set(f, FIGURE_OOM_FREE, e->free_bytes);
    set(f, FIGURE_OOM_HOLE, e->hole_bytes);
    set(f, FIGURE_OOM_SIZE, e->size_bytes);
    set(f, FIGURE_OOM_HELD, e->size_bytes - e->free_bytes);
    set(f, FIGURE_OOM_LARGEST, e->largest_bytes);
    set(f, FIGURE_OOM_OWNERS, e->owners);
    set(f, FIGURE_OOM_REQUEST, e->request);
    set(f, FIGURE_OOM_PAGE, e->page);
    f->value[FIGURE_OOM_FILLED] = 100 * f->filled_now / f->value[FIGURE_POOL];
    if (e->free_bytes > 0)
        most(f, FIGURE_HOLES, 100 * (1 - (double)e->hole_bytes / (double)e->free_bytes));
}

static void add_memory(struct figures *f, const struct event_memory *e)
{
    set(f, FIGURE_POOL, e->pool_tokens);
    set(f, FIGURE_WEIGHTS, e->weight_bytes);
    set(f, FIGURE_KV, e->kv_bytes);
    set(f, FIGURE_WORK, e->work_bytes);
    set(f, FIGURE_CEILING, e->ceiling_bytes);
    f->filled_now = (double)e->filled_tokens;
    most(f, FIGURE_PEAK, (double)e->reserved_tokens);
    most(f, FIGURE_FILLED, (double)e->filled_tokens);
    most(f, FIGURE_RUNNING, (double)e->running);
    most(f, FIGURE_WAITING, (double)e->waiting);
}

static void add_refusal(struct figures *f, const struct event_refusal *e)
{
    struct event_str r = e->termination_reason;
    bool host = r.len == 12 && memcmp(r.data, "refused_host", 12) == 0;
    add(f, FIGURE_LOST, 1);
    ends_badly(f, host ? RUN_HOST : RUN_REFUSED, e->turn);
}

static void add_tool(struct figures *f, const struct event_tool *e)
{
    add(f, FIGURE_CALLS, 1);
    if (!isnan(f->value[FIGURE_RESULT_BYTES]) && (double)e->bytes < f->value[FIGURE_RESULT_BYTES]) return;
    set(f, FIGURE_RESULT_BYTES, e->bytes);
    set(f, FIGURE_RESULT_TOKENS, e->tokens);
}

static void add_turn_end(struct figures *f, const struct event_turn_end *e)
{
    static const char completed[] = "completed";
    struct event_str r = e->termination_reason;
    set(f, FIGURE_ANSWER, e->tokens);
    add(f, FIGURE_WRITTEN, e->tokens);
    if (r.len == sizeof completed - 1 && memcmp(r.data, completed, r.len) == 0 && e->call == 1) add(f, FIGURE_TURNS, 1);
}

void figures_add(struct figures *f, const struct event *e)
{
    if (e->kind == EV_TURN_START || e->kind == EV_TURN_END || e->kind == EV_REFUSAL) see_agent(f, e->agent);
    switch (e->kind) {
    case EV_SESSION_OPEN:
        set(f, FIGURE_CTX, e->session_open.ctx);
        set(f, FIGURE_PARAMETERS, e->session_open.parameters);
        return;
    case EV_TURN_START: add_start(f, &e->turn_start); return;
    case EV_TURN_END: add_turn_end(f, &e->turn_end); return;
    case EV_OOM: add_oom(f, &e->oom); return;
    case EV_REFUSAL: add_refusal(f, &e->refusal); return;
    case EV_MEMORY: add_memory(f, &e->memory); return;
    case EV_MACHINE: set(f, FIGURE_TOKEN_BYTES, e->machine.token_bytes); return;
    case EV_NAIVE: most(f, FIGURE_TAKEN, (double)e->naive.taken_bytes); return;
    case EV_UNGUARDED:
        most(f, FIGURE_HOST, (double)e->unguarded.host_bytes);
        set(f, FIGURE_HOST_LIMIT, e->unguarded.host_limit_bytes);
        return;
    case EV_TOOL: add_tool(f, &e->tool); return;
    case EV_STOPPED:
        add(f, FIGURE_STOPS, 1);
        ends_badly(f, RUN_STOPPED, e->stopped.turn);
        return;
    case EV_CONTEXT:
        if (e->context.change.len == 4 && memcmp(e->context.change.data, "left", 4) == 0)
            add(f, FIGURE_LEFT, e->context.messages);
        return;
    case EV_SUMMARY:
        add(f, FIGURE_SUMMARIES, 1);
        set(f, FIGURE_SUMMARY_TOKENS, e->summary.tokens);
        return;
    case EV_SAVED: add(f, FIGURE_SAVED, 1); return;
    case EV_RESUMED: set(f, FIGURE_RESUMED, e->resumed.turns); return;
    default: return;
    }
}

/* Exit status as in the table of the README. */
void figures_end(struct figures *f, int status, int signal)
{
    static const enum run_end by_status[] = {[0] = RUN_DONE, [3] = RUN_REFUSED, [6] = RUN_WRONG};
    bool known = (size_t)status < COUNT_OF(by_status) && by_status[status] != RUN_UNKNOWN;
    set(f, FIGURE_STATUS, signal ? 128 + signal : status);
    if (signal) { /* whatever was in the stream before */
        set(f, FIGURE_END, RUN_KILLED);
        if (!isnan(f->value[FIGURE_ASKED])) f->value[FIGURE_TURN] = f->value[FIGURE_ASKED];
    }
    ends_badly(f, known ? by_status[status] : RUN_FAILED, 0);
    static const enum figure counts[] = {FIGURE_TURNS, FIGURE_ASKED, FIGURE_LOST, FIGURE_CALLS, FIGURE_LEFT,
                                         FIGURE_SUMMARIES, FIGURE_STOPS, FIGURE_SAVED};
    for (size_t i = 0; i < COUNT_OF(counts); i++) add(f, counts[i], 0);
}

/* ---------------------------------------------------------------- sums */

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '.' || c == '_'; }

static int no_figure(const char *name, size_t n, struct err *err)
{
    return err_set(err, -1, "\"%.*s\" is no figure of a run: broken. or fixed. and one of those that "
                   "plimsoll learn --figures lists", (int)MIN(n, (size_t)60), name);
}

static int read_name(const char *name, size_t n, struct figure_term *out, struct err *err)
{
    for (int r = 0; r < RUNS; r++) {
        size_t front = strlen(runs[r]);
        if (n <= front + 1 || memcmp(name, runs[r], front) != 0 || name[front] != '.') continue;
        for (int i = 0; i < FIGURES; i++) {
            if (strlen(rows[i].name) != n - front - 1 || memcmp(rows[i].name, name + front + 1, n - front - 1) != 0)
                continue;
            *out = (struct figure_term){.run = (uint8_t)r, .figure = (uint8_t)i};
            return 0;
        }
    }
    for (int i = 0; i < RUN_ENDS; i++)
        if (strlen(ends[i]) == n && memcmp(ends[i], name, n) == 0) {
            *out = (struct figure_term){.is_number = true, .number = i};
            return 0;
        }
    return no_figure(name, n, err);
}

/* Digits with one point, and K, M or G of 1024, or %, which is no more than a sign. */
static size_t read_number(const char *text, size_t n, struct figure_term *out)
{
    char digits[24];
    size_t len = 0;
    while (len < n && len < sizeof digits - 1 && (isdigit((unsigned char)text[len]) || text[len] == '.')) len++;
    memcpy(digits, text, len);
    digits[len] = '\0';
    char *end;
    double value = strtod(digits, &end);
    if (len == 0 || *end) return 0;
    static const char units[] = "KMG";
    const char *unit = len < n ? memchr(units, text[len], 3) : NULL;
    for (const char *u = units; unit && u <= unit; u++) value *= 1024;
    *out = (struct figure_term){.is_number = true, .number = value};
    return len + (unit || (len < n && text[len] == '%'));
}

static size_t skip(const char *text, size_t n, size_t at)
{
    while (at < n && (text[at] == ' ' || text[at] == '\t')) at++;
    return at;
}

/* Where the term ends; 0: err. */
static size_t read_term(const char *text, size_t n, size_t at, struct figure_term *out, struct err *err)
{
    size_t len = 0;
    if (at < n && isdigit((unsigned char)text[at])) {
        len = read_number(text + at, n - at, out);
        if (len == 0) no_figure(text + at, n - at, err);
        return len ? at + len : 0;
    }
    while (at + len < n && is_name(text[at + len])) len++;
    if (len == 0) {
        no_figure(text, n, err);
        return 0;
    }
    return read_name(text + at, len, out, err) ? 0 : at + len;
}

int figure_read(const char *text, size_t n, struct figure_sum *out, struct err *err)
{
    *out = (struct figure_sum){.op = 0};
    size_t at = read_term(text, n, skip(text, n, 0), &out->a, err);
    if (at == 0) return -1;
    at = skip(text, n, at);
    if (at == n) return 0;
    if (!memchr("+-*/", text[at], 4))
        return err_set(err, -1, "\"%.*s\": only one of + - * / may stand behind a figure", (int)MIN(n, (size_t)60),
                       text);
    out->op = text[at];
    at = read_term(text, n, skip(text, n, at + 1), &out->b, err);
    if (at == 0) return -1;
    if (skip(text, n, at) != n)
        return err_set(err, -1, "\"%.*s\": a sum has two terms at most", (int)MIN(n, (size_t)60), text);
    return 0;
}

static double term_value(const struct figure_term *t, const struct figures run[RUNS], enum figure_unit *unit)
{
    *unit = t->is_number ? UNIT_COUNT : rows[t->figure].unit;
    return t->is_number ? t->number : run[t->run].value[t->figure];
}

double figure_value(const struct figure_sum *s, const struct figures run[RUNS], enum figure_unit *unit)
{
    enum figure_unit ua, ub = UNIT_COUNT;
    double a = term_value(&s->a, run, &ua), b = s->op ? term_value(&s->b, run, &ub) : 0;
    if (s->op == '/') *unit = ua == ub ? UNIT_COUNT : ua;
    else *unit = ua == UNIT_COUNT || (s->op == '*' && ub == UNIT_BYTES) ? ub : ua;
    if (!s->op) *unit = ua;
    switch (s->op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return b == 0 ? (double)NAN : a / b;
    default: return a;
    }
}

/* ---------------------------------------------------------------- showing */

/* Whole where it is, else with one digit. */
static void put_number(double v, struct buf *out)
{
    if (fabs(v) < 9e15 && v == floor(v)) buf_printf(out, "%lld", (long long)v);
    else buf_printf(out, "%.1f", v);
}

static void put_bytes(double v, bool exact, struct buf *out)
{
    static const struct {
        double size;
        const char *name;
    } units[] = {{0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
    for (size_t i = 0; i < COUNT_OF(units) && !exact; i++) {
        if (fabs(v) < units[i].size) continue;
        buf_printf(out, "%.1f %s", v / units[i].size, units[i].name);
        return;
    }
    put_number(v, out);
    buf_puts(out, " bytes");
}

void figure_show(double value, enum figure_unit unit, bool exact, struct buf *out)
{
    if (isnan(value)) {
        buf_puts(out, "?");
        return;
    }
    switch (unit) {
    case UNIT_END: buf_puts(out, value >= 0 && value < RUN_ENDS ? ends[(int)value] : "?"); return;
    case UNIT_BYTES: put_bytes(value, exact, out); return;
    case UNIT_PERCENT: buf_printf(out, "%.0f %%", value); return;
    case UNIT_SECONDS: buf_printf(out, "%.1f s", value); return;
    default: put_number(value, out); return;
    }
}

/* A sum in braces, "exact" aside. */
static int read_braces(const char *at, size_t n, struct figure_sum *s, bool *exact, struct err *err)
{
    static const char behind[] = ":exact";
    size_t len = sizeof behind - 1;
    *exact = n > len && memcmp(at + n - len, behind, len) == 0;
    return figure_read(at, *exact ? n - len : n, s, err);
}

int figures_check(const char *text, struct err *err)
{
    struct figure_sum s;
    bool exact;
    for (const char *p = text; (p = strchr(p, '{')); p++) {
        const char *end = strchr(p, '}');
        if (!end) return err_set(err, -1, "a { without its }");
        if (read_braces(p + 1, (size_t)(end - p) - 1, &s, &exact, err)) return -1;
        p = end;
    }
    return 0;
}

void figures_fill(const char *text, const struct figures run[RUNS], struct buf *out)
{
    struct figure_sum s;
    bool exact;
    while (*text) {
        size_t n = strcspn(text, "{");
        buf_put(out, text, n);
        text += n;
        const char *end = *text ? strchr(text, '}') : NULL;
        if (!end) {
            buf_puts(out, text); /* the lesson was checked: there is none */
            return;
        }
        if (read_braces(text + 1, (size_t)(end - text) - 1, &s, &exact, NULL) == 0) {
            enum figure_unit unit;
            double v = figure_value(&s, run, &unit);
            figure_show(v, unit, exact, out);
        }
        text = end + 1;
    }
}
