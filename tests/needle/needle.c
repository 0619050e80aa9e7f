/* needle.c - a fact said 200 turns ago: is it still there, by summaries alone, by recall alone, by both?
 *
 *     needle MODEL.gguf [DIALOGUES [TURNS [CTX [summary|lines|recall|both]]]]   (make eval-needle; 200, 200, 2048, all)
 *
 * Each dialogue plants one fact in its first turn, then talks of other things, other facts among them, and asks in its
 * last (tests/needle_talk.h).  Only the turns in the middle are canned, questions and answers; they pass through the
 * same session, window, store and index as any.  The model writes every summary and the last answer.
 *
 * Lines: by summaries alone too, but those lines of the summary that belong to the question stand beside it once more
 * (--recall summary; what a session does by itself that is not saved and has nothing else left).
 *
 *     delivered   the value is in what the model is asked last: what memory does, whatever the model makes of it
 *     right       it is in the answer
 *
 * Extracts, which no model wrote, are counted apart too.
 *
 * The seed is fixed.  NEEDLE_SHOW=1 prints each last prompt and its answer. */
#include "app/session/session.h"
#include "engine/hostmem.h"
#include "tests/needle_talk.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MOST = 128 };

/* ---------------------------------------------------------------- an engine whose turns in the middle are canned */

static struct engine *real;
static const char *canned; /* the answer to the next turn; NULL: the model's */
static const char *value;  /* looked for in what the model is asked last */
static bool delivered;     /* it is there */
static struct buf prompt;  /* what the model was asked last, with NEEDLE_SHOW */
static struct answer told;
static struct engine_token token[1];

/* Only what memory brought can have the value: the question does not. */
static void look_at(const struct request *r)
{
    delivered = false;
    prompt.len = 0;
    for (int i = 0; i < r->n_msgs; i++) {
        const struct msg *m = &r->msgs[i];
        delivered |= memmem(m->text, m->len, value, strlen(value)) != NULL;
        if (getenv("NEEDLE_SHOW")) buf_printf(&prompt, "  %s: %.*s\n", role_name(m->role), (int)m->len, m->text);
    }
}

static int submit(struct engine *e, const struct request *r, int *id, struct err *err)
{
    bool summary = r->n_msgs > 0 && r->msgs[r->n_msgs - 1].len > 30 &&
                   strncmp(r->msgs[r->n_msgs - 1].text, "Write the summary record", 24) == 0;
    if (!canned && !summary) look_at(r);
    if (!canned || summary) return engine_local.submit(e, r, id, err);
    told = (struct answer){.id = -1, .text = canned, .token = token, .max_tokens = r->max_tokens,
                           .text_len = strlen(canned), .end = END_STOP};
    *id = -1;
    return 0;
}

static const struct answer *answer(struct engine *e, int id) { return id == -1 ? &told : engine_local.answer(e, id); }
static int cancel(struct engine *e, int id) { return id == -1 ? -1 : engine_local.cancel(e, id); }

static void drop(struct engine *e, int id)
{
    if (id != -1) engine_local.drop(e, id);
}

/* ---------------------------------------------------------------- one dialogue */

struct score { int asked, delivered, right; };

enum { BY_MODEL, BY_EXTRACT, MAKERS }; /* of the summary that is in force when the fact is asked for */

struct way {
    const char *name, *summary, *recall;
    int target;
    struct score score[MAKERS];
    int last; /* who made the newest summary; MAKERS: there is none */
    int summaries, extracts, recalled;
};

static int say(struct session *s, const char *text, const char *reply)
{
    struct err err = {0};
    canned = reply;
    int status = session_ask(s, text, strlen(text), &err);
    if (status != EXIT_DONE) fprintf(stderr, "needle: status %d: %s\n", status, err.text);
    return status;
}

static void on_event(void *self, struct event *e)
{
    struct way *w = self;
    if (e->kind == EV_SUMMARY && strcmp(e->summary.by.data, "model") == 0) w->last = BY_MODEL, w->summaries++;
    if (e->kind == EV_SUMMARY && strcmp(e->summary.by.data, "extract") == 0) w->last = BY_EXTRACT, w->extracts++;
    if (e->kind == EV_TOOL) w->recalled++;
}

static int one_dialogue(struct app *a, struct way *w, int turns)
{
    struct session s;
    struct err err = {0};
    struct needle_dialogue d;
    if (session_new(&s, a, a->o->system, &err) != EXIT_DONE) {
        fprintf(stderr, "needle: %s\n", err.text);
        return -1;
    }
    a->trace.voice->note = on_event; /* events are counted, not kept */
    a->trace.voice->self = w;
    w->last = MAKERS;
    needle_begin(&d);
    int rc = say(&s, d.said, d.noted);
    for (int turn = 2; turn < turns && rc == EXIT_DONE; turn++) {
        needle_next(&d, turn);
        rc = say(&s, d.said, d.noted);
    }
    value = d.needle.value;
    delivered = false;
    if (rc == EXIT_DONE) rc = say(&s, d.needle.asked, NULL);
    uint64_t id = s.keep.head.next;
    const struct text_entry *e = NULL;
    while (rc == EXIT_DONE && id-- > 1 && (!e || e->kind != JOURNAL_ANSWER)) e = session_text(&s, id, NULL);
    struct score *score = &w->score[w->last == BY_EXTRACT ? BY_EXTRACT : BY_MODEL];
    bool right = rc == EXIT_DONE && e && memmem(e->text, e->len, value, strlen(value));
    score->asked++;
    score->right += right;
    score->delivered += delivered;
    if (getenv("NEEDLE_SHOW") && e)
        printf("%s\n%-7s delivered %d right %d  %s | %s | %.*s\n\n", prompt.data ? prompt.data : "", w->name,
               delivered, right, d.needle.said, d.needle.asked, (int)e->len, e->text);
    session_close(&s);
    return rc == EXIT_DONE ? 0 : -1;
}

/* ---------------------------------------------------------------- all of them */

static void remove_all(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char path[700];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path)) remove_all(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

static int run_way(struct app *a, struct opts *o, struct way *w, int dialogues, int turns)
{
    char dir[] = "/tmp/needle-XXXXXX";
    struct store *st;
    struct err err = {0};
    if (!mkdtemp(dir) || store_open(&st, dir, NULL, &err) || keeper_open(&a->keeper, st, &err)) {
        fprintf(stderr, "needle: %s\n", err.text);
        return -1;
    }
    o->summary = w->summary;
    o->recall = w->recall;
    int rc = 0;
    for (int i = 0; i < dialogues && rc == 0; i++) rc = one_dialogue(a, w, turns);
    keeper_close(a->keeper);
    a->keeper = NULL;
    remove_all(dir);
    return rc;
}

static int open_model(struct app *a, const char *model, int ctx)
{
    struct err err = {0};
    struct engine_config cfg = {.model = model, .ctx = ctx, .max_seqs = 1, .template = -1, .kv_type = KT_F16,
                                .kern = {.pin = true}};
    real = engine_local.open(&cfg, &err);
    if (!real) {
        fprintf(stderr, "needle: %s\n", err.text);
        return -1;
    }
    a->engine = real;
    a->info = engine_local.info(real);
    return 0;
}

static double percent(int n, int of) { return of ? 100.0 * n / of : 0; }

static void print_score(const char *name, const struct score *s)
{
    printf("| %s | %d | %.1f | %.1f |", name, s->asked, percent(s->delivered, s->asked), percent(s->right, s->asked));
}

/* Where summaries are made, once more by who made the one that was in force at the end. */
static void print_way(const struct way *w)
{
    static const char *const by[] = {"- a model's summary", "- an extract"};
    struct score all = {0};
    for (int i = 0; i < MAKERS; i++) {
        all.asked += w->score[i].asked;
        all.delivered += w->score[i].delivered;
        all.right += w->score[i].right;
    }
    if (all.asked == 0) return;
    print_score(w->name, &all);
    printf(" %d | %d | %d | %d |\n", w->target, w->summaries + w->extracts, w->extracts, w->recalled);
    for (int i = 0; i < MAKERS && strcmp(w->summary, "off") != 0; i++) {
        print_score(by[i], &w->score[i]);
        printf(" | | | |\n");
    }
}

int main(int argc, char **argv)
{
    static struct engine_ops ops;
    static struct buf role;
    struct opts o = {.max_tokens = ANSWER_MOST, .recall_index = 1e9, .recall_index_session = 1e8};
    struct app a = {.o = &o, .ops = &ops, .sampling = SAMPLING_GREEDY};
    struct way ways[] = {{.name = "summary", .summary = "model", .recall = "off", .target = 60},
                         {.name = "lines", .summary = "model", .recall = "summary", .target = 60},
                         {.name = "recall", .summary = "off", .recall = "auto", .target = 85},
                         {.name = "both", .summary = "model", .recall = "auto", .target = 85}};
    int dialogues = argc > 2 ? atoi(argv[2]) : 200, turns = argc > 3 ? atoi(argv[3]) : 200;
    if (argc < 2 || dialogues < 1 || turns < 3) {
        fprintf(stderr, "usage: needle MODEL.gguf [DIALOGUES [TURNS [CTX [summary|lines|recall|both]]]]\n");
        return EXIT_USAGE;
    }
    hostmem_return_large();
    if (forms_system(&(struct form_system){.role = "assistant"}, &role, NULL)) return EXIT_INTERNAL;
    o.system = role.data;
    if (open_model(&a, argv[1], argc > 4 ? atoi(argv[4]) : 2048)) return EXIT_ENGINE;
    ops = engine_local;
    ops.submit = submit;
    ops.answer = answer;
    ops.cancel = cancel;
    ops.drop = drop;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), rc = 0, keep = dup(STDERR_FILENO);
    out_init(&a.answers, null);
    o.json = true; /* nothing of the answers to stdout */
    if (!getenv("NEEDLE_SHOW")) dup2(null, STDERR_FILENO);
    for (size_t i = 0; i < COUNT_OF(ways) && rc == 0; i++) {
        if (argc > 5 && strcmp(argv[5], ways[i].name) != 0) continue;
        needle_seed = 20261122; /* the same dialogues each way */
        rc = run_way(&a, &o, &ways[i], dialogues, turns);
    }
    dup2(keep, STDERR_FILENO);
    engine_local.close(real);
    printf("| way | dialogues | delivered, %% | right, %% | target, %% | summaries | of them extracts "
           "| results of recall |\n"
           "|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < COUNT_OF(ways); i++) print_way(&ways[i]);
    printf("%d turns each, context %d tokens\n", turns, argc > 4 ? atoi(argv[4]) : 2048);
    return rc ? EXIT_INTERNAL : EXIT_DONE;
}
