/* session.c - a session: opened and closed, its window, what is saved of it, the texts of its front. */
#include "app/session/session.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/signals.h"
#include "app/term_filter.h"
#include <time.h>

enum { ANSWER = 512, ROUNDS = 4, REPEATS = 3, CLOSING = 8 };

int64_t session_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool session_cancelled(const struct session *s) { return signals_pending() || s->voice.cancelled; }

bool session_saves(const struct session *s) { return s->keep.keeper != NULL; }

bool session_begun(const struct session *s)
{
    return s->keep.head.turns > 0 || s->acknowledged > 0 || s->keep.n_unsaved > 0;
}

/* ---------------------------------------------------------------- numbers */

uint64_t session_note(struct session *s, const struct journal_message *m, struct err *err)
{
    struct journal_message stamped = *m;
    uint64_t id = s->keep.head.next;
    stamped.time_ms = session_now_ms();
    if (texts_put(&s->texts, id, m, err)) return 0;
    if (session_saves(s)) journal_add(&s->batch, id, &stamped);
    s->keep.head.next++;
    return id;
}

void session_mark(struct session *s, enum journal_mark mark, uint64_t first, uint64_t last)
{
    struct journal_message m = {.kind = JOURNAL_MARK, .results = (uint32_t)mark, .first = first, .last = last,
                                .turn = s->keep.head.turns, .time_ms = session_now_ms()};
    if (session_saves(s)) journal_add(&s->batch, s->keep.head.next, &m);
    s->keep.head.next++;
    if (mark == JOURNAL_UNDONE) journal_span_add(&s->undone, first, last);
}

/* Figures go to the flight recorder, a ring of fixed size. */
static void note_flight(struct session *s, const char *line, size_t n)
{
    struct flight *f = &s->flight[s->n_flight++ % FLIGHT_LINES];
    if (n >= sizeof f->line) s->n_flight--;
    else memcpy(f->line, line, n + 1);
}

static void flight_lines(const struct session *s, struct buf *all)
{
    for (size_t i = s->n_flight > FLIGHT_LINES ? s->n_flight - FLIGHT_LINES : 0; i < s->n_flight; i++)
        buf_puts(all, s->flight[i % FLIGHT_LINES].line);
}

static void put_flight(struct session *s)
{
    struct buf all = {0};
    flight_lines(s, &all);
    s->flown = true;
    journal_add_piece(&s->batch, "flight", all.data ? all.data : "", all.len);
    s->batch.failed |= all.failed;
    buf_free(&all);
}

/* Events that last are saved between the messages; texts that a message has are not saved twice. */
static void on_event(void *self, struct event *e)
{
    struct session *s = self;
    struct buf line = {0};
    struct event copy = *e;
    if (!session_saves(s)) return;
    if (e->kind == EV_TURN_USER) copy.turn_user.text = (struct event_str){0};
    if (e->kind == EV_TURN_END) copy.turn_end.text = (struct event_str){0};
    if (e->kind == EV_SUMMARY) copy.summary.text = (struct event_str){0};
    if (e->kind == EV_TOOL) copy.tool.text = (struct event_str){0};
    copy.seq = (int64_t)s->keep.head.next;
    if (event_write(&copy, &line)) s->batch.failed = true;
    else if (event_info(e->kind)->class == EVENT_SAMPLE) note_flight(s, line.data, line.len);
    else journal_add_event(&s->batch, s->keep.head.next++, line.data, line.len - 1);
    buf_free(&line);
}

/* ---------------------------------------------------------------- the window */

int session_count(void *self, const struct window_item *items, size_t n, int64_t *out)
{
    struct session *s = self;
    struct engine_count count = {0};
    if (prompt_make(&s->prompt, turn_calls(s->a), &s->texts, items, n, NULL)) return -1;
    int rc = s->a->ops->count_tokens(s->a->engine, s->prompt.msgs, s->prompt.n, &count, NULL);
    *out = count.tokens;
    return rc;
}

static bool is(const char *choice, const char *what) { return choice && strcmp(choice, what) == 0; }

/* What is set aside of a context for the answer, and for summing up. */
static struct window_limits limits_of(const struct session *s)
{
    const struct app *a = s->a;
    int64_t ctx = s->role.ctx, n = s->role.answer, summary = opts_quota(a->o->summary_tokens, QUOTA_SUMMARY);
    return (struct window_limits){
        .ctx = ctx, .answer = n > 0 ? n : MAX(1, MIN(ANSWER, ctx / 4)),
        .thinking = a->o->thinking, .closing = a->o->thinking > 1 ? MIN(CLOSING, a->o->thinking - 1) : 0,
        .summary = session_no_summaries(s) ? 0 : MIN(summary, ctx / 6),
        .high = 10 * (int)opts_quota(a->o->high_mark, QUOTA_HIGH),
        .low = 10 * (int)opts_quota(a->o->low_mark, QUOTA_LOW), .gain = 200,
        .unbounded = guards_no_window(&a->o->off),
    };
}

static uint64_t vocabulary_of(const struct app *a)
{
    const struct vocab *v = a->ops->vocab(a->engine);
    uint32_t low = crc32c(0, a->info->template, strlen(a->info->template)), high = crc32c(low, "other half", 10);
    for (int32_t id = 0; v && id < vocab_size(v); id++) {
        const char *bytes;
        size_t n = vocab_spelling(v, id, &bytes);
        low = crc32c(low, bytes, n);
        high = crc32c(high ^ (uint32_t)n, bytes, n);
    }
    return (uint64_t)high << 32 | low;
}

int session_window(struct session *s, struct err *err)
{
    struct window_limits l = limits_of(s);
    struct window_count count = {session_count, s};
    int rc = window_open(&s->w, &l, count, err);
    if (rc == 0) return EXIT_DONE;
    return rc == WINDOW_NEVER_FITS || rc == WINDOW_BAD ? EXIT_REFUSED : EXIT_INTERNAL;
}

/* What the next call carries, where that has changed. */
static void tell_carries(struct session *s)
{
    struct window_figures f;
    session_figures(s, &f);
    s->growth.ctx = (int)MIN(f.compaction > 0 ? f.high : f.limit, s->role.ctx);
    forecast_follow(&s->growth, s->keep.head.turns, (int)MIN(f.used, INT_MAX));
    if (!trace_on(&s->a->trace)) return;
    struct event e = {.kind = EV_CARRIES, .carries = {
        .turn = s->keep.head.turns, .ctx = s->role.ctx,
        .system_tokens = f.part[WINDOW_SYSTEM] + f.part[WINDOW_TOOLS],
        .pinned_tokens = f.part[WINDOW_PINNED] + f.part[WINDOW_TASK],
        .summary_tokens = f.part[WINDOW_SUMMARY],
        .history_tokens = f.part[WINDOW_REFERENCE] + f.part[WINDOW_HISTORY], .tool_tokens = f.part[WINDOW_RESULTS],
        .reserve_tokens = f.reserve, .high_tokens = s->growth.ctx,
        .frees_tokens = f.by_compact,
        .answer_tokens = s->role.answer, .rounds = s->role.rounds}};
    if (memcmp(&e.carries, &s->carried, sizeof e.carries) == 0) return; /* eight-byte fields alone */
    s->carried = e.carries;
    struct voice *speaks = s->a->trace.voice;
    s->a->trace.voice = &s->voice;
    trace_put(&s->a->trace, &e);
    s->a->trace.voice = speaks;
}

/* It changes what calls carry: that is taken back with a turn that is refused. */
static bool is_change(enum window_event_kind k)
{
    return k == WINDOW_LEFT || k == WINDOW_STOOD_IN || k == WINDOW_SUMMARY_LEFT;
}

static void tell(struct session *s, bool refused)
{
    static const char *const name[WINDOW_EVENT_KINDS] = {"left", "stood_in", "dropped", "summary_left", "compacted",
                                                         "extracted", "undone", "in_vain", "front_changed",
                                                         "thinking_closed", "refused"};
    struct window_event w;
    while (window_next_event(s->w, &w)) {
        char what[48] = "";
        if (refused && is_change(w.kind)) continue;
        if (w.ref.messages > 0) window_ref_name(&w.ref, what);
        struct event e = {.kind = EV_CONTEXT, .context = {
            .turn = s->a->trace.voice->turns, .change = event_str(name[w.kind]), .what = event_str(what),
            .messages = w.ref.messages, .tokens = w.tokens ? w.tokens : w.ref.tokens, .times = w.times}};
        trace_put(&s->a->trace, &e);
        if (w.kind == WINDOW_LEFT)
            say_dim("[%lld message%s (%s, %lld tokens) left the context without a summary; /read %s shows %s]",
                    (long long)w.ref.messages, plural(w.ref.messages), what, (long long)w.ref.tokens, what,
                    w.ref.messages == 1 ? "it" : "them");
        if (w.kind == WINDOW_STOOD_IN)
            say_dim("[%s (%lld tokens) is too large for the context and stands as a line; /read %s shows it]", what,
                    (long long)w.ref.tokens, what);
        if (w.kind == WINDOW_DROPPED)
            say_dim("[%s (%lld tokens) stands as a line from now on, which frees %lld; /read %s shows it]", what,
                    (long long)w.ref.tokens, (long long)w.tokens, what);
        if (w.kind == WINDOW_SUMMARY_LEFT) say_dim("[the summary of %s did not fit any more and left]", what);
    }
    tell_carries(s);
}

void session_tell(struct session *s) { tell(s, false); }
void session_tell_refused(struct session *s) { tell(s, true); }

void session_remember(struct session *s)
{
    size_t slot = s->keep.head.turns % JOURNAL_SLOTS;
    s->past[slot].len = 0;
    window_save(s->w, s->vocabulary, &s->past[slot]);
    s->past_turn[slot] = s->keep.head.turns;
    if (s->past[slot].failed) buf_free(&s->past[slot]);
    tell_carries(s);
}

/* ---------------------------------------------------------------- saving */

static void on_saved(void *self, const struct keep_saved *what)
{
    struct session *s = self;
    struct voice *speaks = s->a->trace.voice; /* maybe another agent's: see keep.h */
    s->a->trace.voice = &s->voice;
    if (what->err.code == 0) {
        struct event e = {.kind = EV_SAVED, .saved = {.turn = what->turn, .records = (int64_t)what->records,
                                                      .bytes = (int64_t)what->bytes, .seconds = what->seconds}};
        s->acknowledged = MAX(s->acknowledged, what->upto);
        trace_put(&s->a->trace, &e);
        if (s->unsaved_told) say("the session is saved again, up to turn %u", (unsigned)what->turn);
        s->unsaved_told = false;
    } else if (!s->unsaved_told) {
        s->unsaved_told = true;
        app_error(s->a, "store", what->err.text);
        say("turn %u is not saved yet; it is tried again with the next", (unsigned)what->turn);
    }
    s->a->trace.voice = speaks;
}

int session_save(struct session *s, struct err *err)
{
    session_remember(s);
    if (!session_saves(s)) return 0;
    struct buf *window = &s->past[s->keep.head.turns % JOURNAL_SLOTS];
    s->keep.head.updated_ms = session_now_ms();
    put_flight(s);
    journal_add_window(&s->batch, s->keep.head.turns, window->data ? window->data : "", window->len);
    if (s->keep.head.turns == 1 && s->past[0].len > 0 && s->past_turn[0] == 0) /* so that the first can be taken back */
        journal_add_window(&s->batch, 0, s->past[0].data, s->past[0].len);
    if (s->batch.failed) {
        journal_batch_free(&s->batch);
        return err_set(err, -1, "turn %u is too large to be saved, or there is no memory for it",
                       (unsigned)s->keep.head.turns);
    }
    if (keep_is_full(&s->keep)) keep_again(&s->keep); /* there may be room by now */
    return keep_save(&s->keep, &s->batch, s->keep.head.turns, err);
}

/* Texts leave memory; those that nobody has then are told of. */
static void sweep(struct session *s)
{
    struct texts_gone *gone = &s->texts.gone, before = *gone;
    char what[48];
    texts_sweep(&s->texts, s->w, s->acknowledged);
    if (gone->n == before.n) return;
    window_ref_name(&(struct window_ref){.first = gone->first, .last = gone->last}, what);
    struct event e = {.kind = EV_CONTEXT, .context = {
        .turn = s->voice.turns, .change = event_str("gone"), .what = event_str(what),
        .messages = (int64_t)(gone->n - before.n), .times = 1}};
    struct voice *speaks = s->a->trace.voice;
    s->a->trace.voice = &s->voice;
    trace_put(&s->a->trace, &e);
    s->a->trace.voice = speaks;
    if (before.n == 0)
        say_dim("[what left the context first (%s) is gone: this session is not saved, and --keep-unsaved is %.1f MiB; "
                "/stats counts]", what, (double)s->texts.spare / 0x1p20);
}

void session_poll(struct session *s)
{
    keep_poll(&s->keep);
    sweep(s);
}

void session_settle(struct session *s)
{
    keep_settle(&s->keep);
    sweep(s);
}

/* ---------------------------------------------------------------- open and close */

/* At most `most` characters of the first line that has any, controls as blanks. */
void session_title(const char *text, size_t n, int most, char out[JOURNAL_TITLE + 1])
{
    struct buf line = {0};
    size_t from = 0, to, used = 0;
    while (from < n && (text[from] == '\n' || text[from] == ' ' || text[from] == '\r' || text[from] == '\t')) from++;
    for (to = from; to < n && to < from + 4096 && text[to] != '\n';) to++;
    term_filter_text(text + from, to - from, true, &line);
    while (used < line.len && most > 0) { /* whole characters: the filter lets no others through */
        size_t next = used + 1;
        while (next < line.len && ((unsigned char)line.data[next] & 0xc0) == 0x80) next++;
        if (next > JOURNAL_TITLE) break;
        used = next;
        most--;
    }
    memcpy(out, line.data ? line.data : "", used);
    out[used] = '\0';
    buf_free(&line);
}

struct event session_opened(const struct app *a, const struct session_role *r)
{
    const struct engine_info *i = a->info;
    return (struct event){.kind = EV_SESSION_OPEN, .session_open = {
        .version = event_str(""), .engine = event_str(i->maker), .file = event_str(a->o->embedded ? "embedded" : ""),
        .model = event_str(i->name), .arch = event_str(i->arch), .types = event_str(i->types),
        .template = event_str(i->template), .backend = event_str(i->backend), .kernels = event_str(i->kernels),
        .mode = event_str(i->fast ? "fast" : "exact"),
        .parameters = (int64_t)i->parameters, .vocab = i->vocab, .ctx = r->ctx, .seed = (int64_t)r->sampling.seed,
        .temperature = (double)r->sampling.temp}};
}

/* The stream's own first event, which is before the session: number 0. */
static void say_where(struct session *s)
{
    struct event e = session_opened(s->a, &s->role);
    on_event(s, &e);
    if (!session_saves(s)) s->keep.head.next = 1;
}

void session_attach(struct session *s)
{
    s->vocabulary = vocabulary_of(s->a);
    s->texts.keep = &s->keep;
    s->texts.spare = (size_t)s->a->o->keep_unsaved;
    s->keep.saved = on_saved;
    s->keep.self = s;
    s->voice = (struct voice){.name = s->role.name, .agent = s->role.agent, .turns = (int)s->keep.head.turns,
                              .note = on_event, .self = s};
    s->a->trace.voice = &s->voice;
    if (!*s->role.name) s->a->turns = s->voice.turns; /* of several, the app counts all their turns */
    s->recalls = (is(s->a->o->recall, "auto") || is(s->a->o->recall, "summary")) && !is(s->a->info->template, "raw");
}

struct session_role session_alone(const struct app *a)
{
    return (struct session_role){.name = "", .ctx = a->info->ctx, .answer = (int)a->o->max_tokens, .rounds = ROUNDS,
                                 .repeats = REPEATS, .sampling = a->sampling,
                                 .tools = a->toolbox.on, .n_tools = a->toolbox.n_on};
}

int session_new(struct session *s, struct app *a, const char *system, struct err *err)
{
    struct session_role alone = session_alone(a);
    return session_new_as(s, a, &alone, system, err);
}

int session_new_as(struct session *s, struct app *a, const struct session_role *role, const char *system,
                   struct err *err)
{
    char model[JOURNAL_TITLE + 1];
    *s = (struct session){.a = a, .role = *role, .prompt.effort = a->effort};
    if (a->o->answers > 0) s->role.answer = (int)a->o->answers;
    session_title(a->info->name, strlen(a->info->name), JOURNAL_TITLE, model);
    if (a->keeper && !role->unsaved && keep_new(&s->keep, a->keeper, model, err)) {
        s->keep = (struct keep){0};
        return EXIT_INTERNAL;
    }
    session_attach(s);
    say_where(s);
    int status = session_window(s, err);
    if (status == EXIT_DONE && system && *system && session_system(s, system, strlen(system), err))
        status = EXIT_REFUSED;
    if (status == EXIT_DONE && role->n_tools > 0 && session_offer_tools(s, err)) status = EXIT_REFUSED;
    if (status == EXIT_DONE) session_remember(s);
    return status;
}

static int write_end(struct store *st, const struct farewell *f, struct err *err)
{
    const struct store_key key = store_key_piece(f->s->keep.head.id, "flight");
    store_begin(st, STORE_JOURNAL);
    int rc = store_put(st, &key, REC_PIECE, f->flight.data, f->flight.len, err);
    if (rc == 0) rc = store_commit(st, err);
    if (rc) store_abort(st);
    return rc;
}

static int run_farewell(struct keeper_job *base, struct store *st, struct err *err)
{
    struct farewell *f = (struct farewell *)base;
    (void)err;
    if (f->flight.len > 0) write_end(st, f, NULL);
    session_close_index(f->s);
    return 0;
}

static void said_farewell(struct keep *k, struct keep_task *task)
{
    (void)k;
    ((struct farewell *)task)->done = true;
}

/* The last line of the flight recorder; a session that has figures and not this was lost.  If it cannot be written,
 * nothing else is missing: nobody is told. */
static void put_end(struct session *s, struct buf *flight)
{
    const char *reason = s->a->reason ? s->a->reason : signals_pending() ? "cancelled" : "completed";
    struct event e = {.kind = EV_SESSION_CLOSE, .seq = (int64_t)s->keep.head.next,
                      .time = progress_clock() - s->a->trace.start,
                      .agent = event_str(s->role.name), .session_close = {
                          .turns = s->keep.head.turns, .termination_reason = event_str(reason)}};
    if (!s->flown || s->keep.n_unsaved > 0) return;
    flight_lines(s, flight);
    if (event_write(&e, flight) || flight->failed) buf_free(flight);
}

static void say_farewell(struct session *s)
{
    struct farewell *f = &s->farewell;
    buf_free(&f->flight);
    *f = (struct farewell){.task = {.base = {.run = run_farewell}, .done = said_farewell}, .s = s};
    put_end(s, &f->flight);
    f->said = keep_later(&s->keep, &f->task, NULL) == 0;
}

bool session_leave(struct session *s)
{
    if (!s->a || !session_saves(s)) return true;
    if (!keep_leave(&s->keep) || s->index.busy || s->pages.tasks > 0) return false;
    if (!s->farewell.said) say_farewell(s);
    return s->farewell.done;
}

int session_close(struct session *s)
{
    if (!s->a) return 0;
    while (!session_leave(s)) keep_wait(&s->keep);
    buf_free(&s->farewell.flight);
    int lost = keep_close(&s->keep);
    if (s->a->trace.voice == &s->voice) s->a->trace.voice = &s->a->trace.own;
    window_close(s->w);
    texts_close(&s->texts);
    prompt_free(&s->prompt);
    journal_batch_free(&s->batch);
    journal_span_free(&s->undone);
    for (size_t i = 0; i < COUNT_OF(s->past); i++) buf_free(&s->past[i]);
    free(s->pages.name);
    ids_free(&s->pages.last);
    session_forget_loose(s);
    buf_free(&s->answer);
    buf_free(&s->schema);
    *s = (struct session){0};
    return lost;
}

/* ---------------------------------------------------------------- what it is asked for */

const struct text_entry *session_text(struct session *s, uint64_t number, struct err *err)
{
    return texts_get(&s->texts, number, err);
}

int session_rename(struct session *s, const char *title, size_t n, struct err *err)
{
    char now[JOURNAL_TITLE + 1];
    session_title(title, n, JOURNAL_TITLE, now);
    if (!*now) return err_set(err, -1, "a title needs a letter");
    memcpy(s->keep.head.title, now, sizeof now);
    return session_save(s, err);
}
