/* needle.c - a fact said 200 turns ago: is it still there, by summaries alone, by recall alone, by both?
 *
 *     needle MODEL.gguf [DIALOGUES [TURNS [CTX]]]        (make eval-needle; 200, 200, 2048)
 *
 * Each dialogue plants one fact in its first turn, then talks of other things, other facts among them, and asks in its
 * last.  Only the turns in the middle are canned, questions and answers; they pass through the same session, window,
 * store and index as any.  The model writes every summary and the last answer.  A dialogue counts if that answer has the
 * value.  Names, things and values are drawn by chance; the seed is fixed. */
#include "app/session/session.h"
#include "engine/hostmem.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MOST = 128 };

static uint64_t seed = 20261122;

static size_t draw(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % below);
}

#define ONE_OF(list) list[draw(COUNT_OF(list))]

/* ---------------------------------------------------------------- an engine whose turns in the middle are canned */

static struct engine *real;
static const char *canned; /* the answer to the next turn; NULL: the model's */
static struct answer told;
static struct engine_token token[1];

static int submit(struct engine *e, const struct request *r, int *id, struct err *err)
{
    bool summary = r->n_msgs > 0 && r->msgs[r->n_msgs - 1].len > 30 &&
                   strncmp(r->msgs[r->n_msgs - 1].text, "Write the summary record", 24) == 0;
    if (!canned || summary) return engine_local.submit(e, r, id, err);
    told = (struct answer){.id = -1, .text = canned, .token = token, .max_tokens = r->max_tokens, .text_len = strlen(canned),
                           .end = END_STOP};
    *id = -1;
    return 0;
}

static const struct answer *answer(struct engine *e, int id) { return id == -1 ? &told : engine_local.answer(e, id); }
static int cancel(struct engine *e, int id) { return id == -1 ? -1 : engine_local.cancel(e, id); }

static void drop(struct engine *e, int id)
{
    if (id != -1) engine_local.drop(e, id);
}

/* ---------------------------------------------------------------- what is said */

static const char *const things[] = {"printer", "router", "parser", "backup job", "garage door", "bicycle lock", "wifi",
                                     "archive", "test server", "coffee machine", "greenhouse", "ferry"};
static const char *const traits[] = {"port", "code", "password", "address", "extension", "colour", "branch"};
static const char *const people[] = {"Anna", "Viktor", "Mara", "Jonas", "Priya", "Tomas", "Ines", "Olaf"};
static const char *const talk[][2] = {
    {"What is a KV cache?", "The KV cache holds the keys and values of all tokens so far; it grows with every token."},
    {"How do I bound a context?", "Give each agent a window: a limit on what one call carries."},
    {"Thank you.", "You are welcome."},
    {"What is a token?", "A token is a piece of text, often a part of a word."},
    {"What does quantizing the weights do?", "It stores the weights in fewer bits, so that the model takes less memory."},
    {"Why does a long log cause trouble?", "It fills the context; clip it at the tool boundary and keep the whole as an "
                                           "artifact."},
    {"What is pre-fill?", "Reading the prompt: all its tokens go through the model before the first new one."},
    {"Is that all?", "Yes, that is all."},
    {"What happens when memory runs out?", "The request is refused or waits; nothing is killed."},
};

struct fact {
    char said[160], noted[160], asked[120], value[24];
};

static void draw_value(char out[24])
{
    static const char letters[] = "abcdefghiklmnoprstuvz";
    size_t n = 0;
    if (draw(2)) {
        snprintf(out, 24, "%zu", 1000 + draw(90000));
        return;
    }
    for (size_t k = 5 + draw(4); n < k; n++) out[n] = letters[draw(sizeof letters - 1)];
    out[0] = (char)(out[0] - 'a' + 'A');
    out[n] = '\0';
}

/* No two facts of a dialogue are about the same: `used` has a bit for each. */
static void draw_fact(struct fact *f, bool used[COUNT_OF(things)][COUNT_OF(traits)])
{
    size_t thing, trait;
    do {
        thing = draw(COUNT_OF(things));
        trait = draw(COUNT_OF(traits));
    } while (used[thing][trait]);
    used[thing][trait] = true;
    draw_value(f->value);
    const char *t = things[thing], *k = traits[trait];
    static const char *const saying[] = {"The %s of the %s is %s.", "Note that the %s of the %s is %s.",
                                         "Remember: the %s of the %s is %s."};
    snprintf(f->said, sizeof f->said, ONE_OF(saying), k, t, f->value);
    snprintf(f->noted, sizeof f->noted, "Noted: the %s of the %s is %s.", k, t, f->value);
    snprintf(f->asked, sizeof f->asked, "What is the %s of the %s?", k, t);
}

static void draw_talk(char said[160], char noted[160])
{
    if (draw(5) == 0) {
        const char *who = ONE_OF(people);
        snprintf(said, 160, "Don't forget to call %s.", who);
        snprintf(noted, 160, "Open: call %s.", who);
        return;
    }
    size_t i = draw(COUNT_OF(talk));
    snprintf(said, 160, "%s", talk[i][0]);
    snprintf(noted, 160, "%s", talk[i][1]);
}

/* ---------------------------------------------------------------- one dialogue */

struct way {
    const char *name, *summary, *recall;
    int target;
    int right, asked, summaries, extracts, recalled, damaged;
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
    if (e->kind == EV_SUMMARY && strcmp(e->summary.by.data, "model") == 0) w->summaries++;
    if (e->kind == EV_SUMMARY && strcmp(e->summary.by.data, "extract") == 0) w->extracts++;
    if (e->kind == EV_TOOL) w->recalled++;
}

static int one_dialogue(struct app *a, struct way *w, int turns)
{
    struct session s;
    struct err err = {0};
    struct fact needle, other;
    bool used[COUNT_OF(things)][COUNT_OF(traits)] = {{false}};
    char said[160], noted[160];
    if (session_new(&s, a, a->o->system, &err) != EXIT_DONE) {
        fprintf(stderr, "needle: %s\n", err.text);
        return -1;
    }
    a->trace.note = on_event; /* events are counted, not kept */
    a->trace.note_self = w;
    draw_fact(&needle, used);
    int rc = say(&s, needle.said, needle.noted);
    for (int turn = 2; turn < turns && rc == EXIT_DONE; turn++) {
        if (turn % 10 == 0) {
            draw_fact(&other, used);
            rc = say(&s, other.said, other.noted);
        } else {
            draw_talk(said, noted);
            rc = say(&s, said, noted);
        }
    }
    if (rc == EXIT_DONE) rc = say(&s, needle.asked, NULL);
    uint64_t id = s.keep.head.next;
    const struct text_entry *e = NULL;
    while (rc == EXIT_DONE && id-- > 1 && (!e || e->kind != JOURNAL_ANSWER)) e = session_text(&s, id, NULL);
    w->asked++;
    bool right = rc == EXIT_DONE && e && memmem(e->text, e->len, needle.value, strlen(needle.value));
    w->right += right;
    if (getenv("NEEDLE_SHOW") && e) printf("%-7s %d  %s | %s | %.*s\n", w->name, right, needle.said, needle.asked, (int)e->len, e->text);
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

int main(int argc, char **argv)
{
    static struct engine_ops ops;
    static struct buf role;
    struct opts o = {.max_tokens = ANSWER_MOST, .snapshots = 0};
    struct app a = {.o = &o, .ops = &ops, .sampling = SAMPLING_GREEDY};
    struct way ways[] = {{.name = "summary", .summary = "model", .recall = "off", .target = 60},
                         {.name = "recall", .summary = "off", .recall = "auto", .target = 85},
                         {.name = "both", .summary = "model", .recall = "auto", .target = 85}};
    int dialogues = argc > 2 ? atoi(argv[2]) : 200, turns = argc > 3 ? atoi(argv[3]) : 200;
    if (argc < 2 || dialogues < 1 || turns < 3) {
        fprintf(stderr, "usage: needle MODEL.gguf [DIALOGUES [TURNS [CTX]]]\n");
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
        seed = 20261122; /* the same dialogues each way */
        rc = run_way(&a, &o, &ways[i], dialogues, turns);
    }
    dup2(keep, STDERR_FILENO);
    engine_local.close(real);
    printf("| way | dialogues | right, %% | target, %% | summaries | of them extracts | results of recall |\n|---|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        printf("| %s | %d | %.1f | %d | %d | %d | %d |\n", ways[i].name, ways[i].asked,
               ways[i].asked ? 100.0 * ways[i].right / ways[i].asked : 0, ways[i].target,
               ways[i].summaries + ways[i].extracts, ways[i].extracts, ways[i].recalled);
    printf("%d turns each, context %d tokens\n", turns, argc > 4 ? atoi(argv[4]) : 2048);
    return rc ? EXIT_INTERNAL : EXIT_DONE;
}
