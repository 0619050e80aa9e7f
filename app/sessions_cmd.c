/* sessions_cmd.c - `plimsoll sessions ...`: saved sessions from outside a chat.  No model is needed. */
#include "app/faces.h"
#include "app/input.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/sessions.h"
#include "app/signals.h"
#include "app/store_cmd.h"
#include "memory/import.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum { LISTED = 1 << 20, SCHEMA = 1, READ = 1 << 16 };

enum { JSON = 1, ALL = 2, FORMAT = 4, OUTPUT = 8, FORCE = 16, YES = 32, STORE = 64, HELP = 128 };

struct args {
    unsigned given; /* of these bits */
    const char *store, *format, *file;
    const char *word[3]; /* what to do, and with what */
    int n_words;
};

static const char help[] =
    "plimsoll sessions - the conversations that were saved\n"
    "\n"
    "  plimsoll sessions [list] [--json]              the newest first, a crew's run in one piece; --json: an object\n"
    "                                                 a line, which names the run, its crew and its agent\n"
    "  plimsoll sessions show SESSION [--all]         what was said\n"
    "  plimsoll sessions export SESSION [--format jsonl|md] [-o FILE] [--force] [--all]\n"
    "                                                 JSON Lines, which import reads, or Markdown; to stdout or FILE\n"
    "  plimsoll sessions import FILE                  what export wrote, also compressed with zstd; - is stdin.  It\n"
    "                                                 gets a new id, which stdout tells; nothing in it is run again;\n"
    "                                                 of a crew's run it is none here\n"
    "  plimsoll sessions rename SESSION TITLE\n"
    "  plimsoll sessions delete SESSION [--yes]       for good: nothing of it is left in the store's files;\n"
    "                                                 of a crew's run, with the sessions of its agents\n"
    "\n"
    "SESSION is the first letters of its id, or last.\n"
    "\n"
    "  --all        what was taken back too\n"
    "  --force      write over a file that is there, unasked\n"
    "  --yes        delete unasked\n"
    "  --store DIR  where they are ($XDG_DATA_HOME/plimsoll, else ~/.local/share/plimsoll) [PLIMSOLL_STORE]\n"
    "\n"
    "Limits of import: 16 MiB a line, 2 GiB in all (export tells where it wrote more); compressed, 200 times its\n"
    "bytes and 8 MiB of window.\n";

static void put_help(struct buf *out) { buf_puts(out, help); }

/* An exit status for what went wrong, told. */
static int complain(int rc, const struct err *err)
{
    bool usage = rc == STORE_NOT_FOUND || rc == STORE_BUSY || rc == STORE_FOREIGN || rc == IMPORT_BAD ||
                 rc == SESSIONS_EXISTS;
    if (signals_pending()) return 128 + signals_pending();
    say_error("%s", err->text);
    return usage ? EXIT_USAGE : EXIT_INTERNAL;
}

/* ---------------------------------------------------------------- list */

static void short_id(const uint8_t id[STORE_SESSION_ID], char text[2 * STORE_SESSION_ID + 1])
{
    journal_id_text(id, text);
    text[8] = '\0';
}

static bool is_copy(const struct journal_head *h)
{
    static const uint8_t none[STORE_SESSION_ID];
    return memcmp(h->parent, none, sizeof none) != 0;
}

/* below: of a run of a crew, whose record is the row before. */
static void put_row(struct out *out, const struct journal_head *h, bool below)
{
    char id[2 * STORE_SESSION_ID + 1], when[32] = "?";
    time_t t = (time_t)(h->updated_ms / 1000);
    struct tm tm;
    struct buf line = {0};
    short_id(h->id, id);
    if (localtime_r(&t, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    buf_printf(&line, "%s  %s  %4u %s%-1s  %s%s", id, when, (unsigned)h->turns, journal_is_run(h) ? "line" : "turn",
               plural(h->turns), below ? "  " : "", *h->title ? h->title : "(no title)");
    if (*h->model) buf_printf(&line, "  [%s]", h->model);
    short_id(h->parent, id);
    if (is_copy(h)) buf_printf(&line, "  copy of %s after turn %u", id, (unsigned)h->parent_turn);
    buf_puts(&line, "\n");
    out_put(out, line.data, line.failed ? 0 : line.len);
    buf_free(&line);
}

static void put_object(struct out *out, const struct journal_head *h)
{
    char id[2 * STORE_SESSION_ID + 1], parent[2 * STORE_SESSION_ID + 1];
    journal_id_text(h->id, id);
    journal_id_text(h->parent, parent);
    json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I}", "schema_version", SCHEMA, "session", id, "title",
                          h->title, "model", h->model, "created", (json_int_t)h->created_ms, "updated",
                          (json_int_t)h->updated_ms, "turns", (json_int_t)h->turns);
    if (o && is_copy(h)) json_object_set_new(o, "parent", json_string(parent));
    if (o && is_copy(h)) json_object_set_new(o, "parent_turn", json_integer((json_int_t)h->parent_turn));
    journal_id_text(h->run.id, parent);
    if (o && journal_in_run(h)) json_object_set_new(o, "run", json_string(parent));
    if (o && journal_in_run(h)) json_object_set_new(o, "crew", json_string(h->run.crew));
    if (o && journal_in_run(h)) json_object_set_new(o, "agent", json_string(h->run.agent));
    char *line = o ? json_dumps(o, JSON_COMPACT) : NULL;
    out_put(out, line, line ? strlen(line) : 0);
    out_put(out, "\n", 1);
    free(line);
    json_decref(o);
}

static void say_damaged(void *self, const char *line)
{
    *(int *)self = EXIT_INTERNAL;
    say_error("%s", line);
}

/* JSON has them the newest first, with the run that each is of. */
static bool put_list(struct out *out, const struct journal_head *head, size_t n, bool json)
{
    size_t *order = calloc(n + 1, sizeof *order);
    bool *below = calloc(n + 1, sizeof *below), ok = order && below && journal_group(head, n, order, below) == 0;
    for (size_t i = 0; i < n && !out->failed && ok; i++)
        if (json) put_object(out, &head[i]);
        else put_row(out, &head[order[i]], below[i]);
    free(order);
    free(below);
    return ok;
}

static int list(const struct args *a, struct store *s)
{
    struct err err = {0};
    struct out out;
    struct journal_head *head = NULL;
    size_t n = 0;
    int status = EXIT_DONE;
    const struct store_report report = {.line = say_damaged, .user = &status};
    int rc = s ? journal_heads(s, LISTED, &head, &n, &report, &err) : 0;
    if (rc) return complain(rc, &err);
    out_init(&out, STDOUT_FILENO);
    if (!put_list(&out, head, n, a->given & JSON))
        status = complain(STORE_NO_MEMORY, &(struct err){.text = "no memory for a list of sessions"});
    if (n == 0 && !(a->given & JSON)) say_dim("no session is saved yet");
    free(head);
    return face_finish(&out, status);
}

/* ---------------------------------------------------------------- show and export */

struct showing {
    struct out out;
    int status;
    uint64_t bytes;
};

static bool put(void *self, const char *bytes, size_t n)
{
    struct showing *w = self;
    out_put(&w->out, bytes, n);
    w->bytes += n;
    return !w->out.failed && !signals_pending();
}

static void miss(void *self, const char *line) { say_damaged(&((struct showing *)self)->status, line); }

static int print(const struct journal_head *h, struct store *s, const struct export_options *o)
{
    struct showing w = {.status = EXIT_DONE};
    const struct export_sink sink = {put, miss, &w};
    struct err err = {0};
    out_init(&w.out, STDOUT_FILENO);
    int rc = export_session(s, h, o, &sink, &err);
    if (rc || signals_pending()) return complain(rc, &err);
    sessions_tell_size(o, w.bytes);
    return face_finish(&w.out, w.status);
}

static int show(const struct args *a, struct store *s)
{
    struct err err = {0};
    struct journal_head h;
    int rc = journal_find(s, a->word[1], &h, &err);
    if (rc) return complain(rc, &err);
    return print(&h, s, &(struct export_options){EXPORT_TEXT, a->given & ALL});
}

static int write_file(const struct args *a, struct store *s, const struct journal_head *h,
                      const struct export_options *o)
{
    struct err err = {0};
    struct sessions_file f = {.options = *o, .path = a->file, .over = a->given & FORCE};
    struct input in;
    memcpy(f.session, h->id, sizeof f.session);
    if (!f.over && sessions_file_exists(a->file) && isatty(STDIN_FILENO)) {
        input_open(&in, STDIN_FILENO);
        f.over = sessions_ask(&in, "%.300s is there already; write over it?", a->file);
        input_close(&in);
    }
    int rc = sessions_write(s, &f, &err), status = rc ? complain(rc, &err) : EXIT_DONE;
    for (char *line = f.missing.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        say_error("%.*s", (int)(end - line), line);
        if (!status) status = EXIT_INTERNAL;
    }
    buf_free(&f.missing);
    if (rc == 0) sessions_tell_size(o, f.bytes);
    return status;
}

static int export(const struct args *a, struct store *s)
{
    struct err err = {0};
    struct journal_head h;
    struct export_options o = {EXPORT_JSONL, a->given & ALL};
    if (a->format && strcmp(a->format, "md") == 0) {
        o.format = EXPORT_MARKDOWN;
    } else if (a->format && strcmp(a->format, "jsonl") != 0) {
        say_error("--format: \"%.60s\" is not one of jsonl|md", a->format);
        return EXIT_USAGE;
    }
    int rc = journal_find(s, a->word[1], &h, &err);
    if (rc) return complain(rc, &err);
    return a->file && strcmp(a->file, "-") != 0 ? write_file(a, s, &h, &o) : print(&h, s, &o);
}

/* ---------------------------------------------------------------- import */

static int feed(struct import *im, int fd, const char *name, struct err *err)
{
    char bytes[READ];
    for (;;) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
        if (signals_pending()) return err_set(err, SESSIONS_STOPPED, "interrupted: nothing was imported");
        if (poll(p, 2, -1) <= 0 || !p[0].revents) continue;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) return err_set(err, SESSIONS_FILE, "%.300s could not be read: %s", name, strerror(errno));
        if (n == 0) return 0;
        int rc = import_feed(im, bytes, (size_t)n, err);
        if (rc) return rc;
    }
}

static void say_run_dropped(const struct journal_run *run)
{
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(run->id, id);
    if (*run->agent) say_dim("it was %s's in run %.8s of the crew %s; here it is of no run, and goes on alone",
                             run->agent, id, run->crew);
    else say_dim("it was the record of run %.8s of the crew %s; here it is a session like others: its members are "
                 "imported one by one, and --crew cannot go on with them", id, run->crew);
}

static int import_from(struct store *s, int fd, const char *name)
{
    struct err err = {0};
    struct import *im;
    struct journal_head h;
    int rc = import_open(&im, s, &err);
    if (rc == 0) rc = feed(im, fd, name, &err);
    if (rc == 0) rc = import_end(im, &h, &err);
    import_close(im);
    if (rc) {
        struct err named = {0};
        if (rc == IMPORT_BAD) err_set(&named, rc, "%.200s was not imported: %.260s", name, err.text);
        return complain(rc, rc == IMPORT_BAD ? &named : &err);
    }
    char id[2 * STORE_SESSION_ID + 2];
    struct out out;
    journal_id_text(h.id, id);
    say_dim("imported as %.8s, %s: %u turn%s", id, *h.title ? h.title : "(no title)", (unsigned)h.turns,
            h.turns == 1 ? "" : "s");
    if (journal_in_run(&h)) say_run_dropped(&h.run);
    out_init(&out, STDOUT_FILENO);
    out_put(&out, id, strlen(id));
    out_put(&out, "\n", 1);
    return face_finish(&out, EXIT_DONE);
}

static int import(const struct args *a, struct store *s)
{
    if (strcmp(a->word[1], "-") == 0) return import_from(s, STDIN_FILENO, "stdin");
    int fd = open(a->word[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        say_error("%.300s could not be read: %s", a->word[1], strerror(errno));
        return EXIT_USAGE;
    }
    int status = import_from(s, fd, a->word[1]);
    close(fd);
    return status;
}

/* ---------------------------------------------------------------- rename and delete */

static int retitle(struct store *s, const uint8_t id[STORE_SESSION_ID], const char *title, struct err *err)
{
    struct journal_batch b = {0};
    struct journal_head h;
    int rc = journal_head(s, id, &h, err); /* as its last writer left it */
    if (rc) return rc;
    memcpy(h.title, title, sizeof h.title);
    memcpy(b.session, id, sizeof b.session);
    journal_add_head(&b, &h);
    rc = journal_write(s, &b, NULL, err);
    journal_batch_free(&b);
    return rc;
}

static size_t lines_of(const char *text)
{
    size_t n = 1;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) n++;
    return n;
}

static int rename_session(const struct args *a, struct store *s)
{
    struct err err = {0};
    struct journal_head h;
    struct store_lock lock = {0};
    char title[JOURNAL_TITLE + 1];
    if (strchr(a->word[2], '\n')) {
        say_error("a title is one line: this one has %zu", lines_of(a->word[2]));
        return EXIT_USAGE;
    }
    session_title(a->word[2], strlen(a->word[2]), JOURNAL_TITLE, title);
    if (!*title) {
        say_error("a title needs a letter");
        return EXIT_USAGE;
    }
    int rc = journal_find(s, a->word[1], &h, &err);
    if (rc == 0) rc = store_lock_session(s, h.id, &lock, &err);
    if (rc) return complain(rc, &err);
    rc = retitle(s, h.id, title, &err);
    store_unlock_session(&lock);
    return rc ? complain(rc, &err) : EXIT_DONE;
}

static int may_delete(const struct journal_head *h, size_t members)
{
    char what[SESSIONS_WHAT];
    struct input in;
    sessions_what(h, members, what);
    if (!isatty(STDIN_FILENO)) {
        say_error("%s: nobody can be asked; --yes deletes it unasked", what);
        return EXIT_USAGE;
    }
    input_open(&in, STDIN_FILENO);
    bool yes = sessions_ask(&in, "delete %s, for good?", what);
    input_close(&in);
    if (!yes) say_dim("it stays");
    return yes ? EXIT_DONE : signals_pending() ? 128 + signals_pending() : EXIT_USAGE;
}

static int delete(const struct args *a, struct store *s)
{
    struct err err = {0};
    struct journal_head h;
    size_t members = 0;
    bool waits = false;
    int rc = journal_find(s, a->word[1], &h, &err), status = EXIT_DONE;
    if (rc == 0) rc = sessions_members(s, &h, &members, &err);
    if (rc == 0 && !(a->given & YES)) status = may_delete(&h, members);
    if (rc == 0 && status != EXIT_DONE) return status;
    if (rc == 0) rc = sessions_delete(s, h.id, &waits, &err);
    if (rc) return complain(rc, &err);
    sessions_tell_deleted(waits);
    return EXIT_DONE;
}

/* ---------------------------------------------------------------- the command line */

static const struct command {
    const char *name, *wants; /* what follows it; NULL: nothing */
    int words;                /* with its own */
    unsigned flags;
    enum { READS, WRITES, BEGINS } store; /* BEGINS: it is made when it is not there */
    int (*run)(const struct args *a, struct store *s);
} commands[] = {
    {"list", NULL, 1, JSON, READS, list},
    {"show", "SESSION", 2, ALL, READS, show},
    {"export", "SESSION", 2, ALL | FORMAT | OUTPUT | FORCE, READS, export},
    {"import", "FILE, or - for stdin", 2, 0, BEGINS, import},
    {"rename", "SESSION and TITLE", 3, 0, WRITES, rename_session},
    {"delete", "SESSION", 2, YES, WRITES, delete},
};

static const struct { const char *name; unsigned bit; size_t at; } flags[] = { /* at 0: takes no value */
    {"--json", JSON, 0}, {"--all", ALL, 0}, {"--force", FORCE, 0}, {"--yes", YES, 0}, {"--help", HELP, 0},
    {"-h", HELP, 0},
    {"--format", FORMAT, offsetof(struct args, format)}, {"-o", OUTPUT, offsetof(struct args, file)},
    {"--store", STORE, offsetof(struct args, store)},
};

/* A flag at argv[*i], and its value. */
static int take_flag(struct args *a, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
    for (size_t k = 0; k < COUNT_OF(flags); k++) {
        if (strlen(flags[k].name) != n || memcmp(flags[k].name, arg, n) != 0) continue;
        const char *value = equals ? equals + 1 : flags[k].at && *i + 1 < argc ? argv[++*i] : NULL;
        if (!flags[k].at == !value) {
            a->given |= flags[k].bit;
            if (value) memcpy((char *)a + flags[k].at, &value, sizeof value);
            return 0;
        }
        say_error("plimsoll sessions: %s %s", flags[k].name, value ? "takes no value" : "needs a value");
        return -1;
    }
    say_error("plimsoll sessions: no such flag: %.60s (--help lists all)", arg);
    return -1;
}

static int parse(struct args *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            if (take_flag(a, argc, argv, &i)) return -1;
        } else if (a->n_words == COUNT_OF(a->word)) {
            say_error("plimsoll sessions: unexpected \"%.100s\"; a title of several words needs quotes", argv[i]);
            return -1;
        } else {
            a->word[a->n_words++] = argv[i];
        }
    }
    if (a->n_words == 0) a->word[a->n_words++] = "list";
    return 0;
}

/* NULL: told. */
static const struct command *command_of(const struct args *a)
{
    const struct command *c = commands;
    while (c < commands + COUNT_OF(commands) && strcmp(c->name, a->word[0]) != 0) c++;
    if (c == commands + COUNT_OF(commands)) {
        say_error("plimsoll sessions: no such command: %.60s (--help lists all)", a->word[0]);
        return NULL;
    }
    unsigned wrong = a->given & ~(c->flags | STORE | HELP);
    for (size_t k = 0; k < COUNT_OF(flags) && wrong; k++) {
        if (!(wrong & flags[k].bit)) continue;
        say_error("plimsoll sessions %s does not take %s", c->name, flags[k].name);
        return NULL;
    }
    if (a->n_words == c->words) return c;
    if (c->wants && a->n_words > c->words)
        say_error("plimsoll sessions %s takes one %.*s, not also \"%.100s\"", c->name, (int)strcspn(c->wants, ","),
                  c->wants, a->word[c->words]);
    else if (c->wants) say_error("plimsoll sessions %s needs %s", c->name, c->wants);
    else say_error("plimsoll sessions %s takes nothing more", c->name);
    return NULL;
}

/* Who only reads makes no store, and does with one that cannot be written to.  *s is NULL when there is none yet. */
static int open_store(const struct args *a, const struct command *c, struct store **s, struct err *err)
{
    struct store_options o = {0};
    struct store_watch watch;
    struct buf dir = {0}, format = {0};
    int rc = 0;
    store_watch_begin(&watch, &o);
    if (a->store && *a->store) buf_puts(&dir, a->store);
    else rc = store_cmd_folder(&dir, err);
    buf_printf(&format, "%s/FORMAT", dir.data ? dir.data : "");
    if (rc == 0 && (dir.failed || format.failed)) rc = err_set(err, STORE_NO_MEMORY, "no memory");
    if (rc == 0) {
        o.read_only = c->store != BEGINS && access(format.data, F_OK) != 0;
        rc = store_open(s, dir.data, &o, err);
    }
    if (c->store == READS && (rc == STORE_READ_ONLY || rc == STORE_PERMISSION)) {
        o.read_only = true;
        rc = store_open(s, dir.data, &o, err);
    }
    store_watch_end(&watch);
    buf_free(&dir);
    buf_free(&format);
    return rc;
}

int sessions_run(int argc, char **argv)
{
    struct args a = {0};
    struct err err = {0};
    struct store *s = NULL;
    if (parse(&a, argc, argv)) return EXIT_USAGE;
    if (a.given & HELP) return face_print(put_help);
    const struct command *c = command_of(&a);
    if (!c) return EXIT_USAGE;
    int rc = open_store(&a, c, &s, &err); /* forks: before anything else */
    if (rc == 0 && signals_open(&err)) rc = STORE_FAILED;
    if (rc == STORE_NOT_FOUND && c->run == list) rc = 0;
    else if (rc == STORE_NOT_FOUND) err_set(&err, rc, "no session is saved yet");
    int status = rc ? complain(rc, &err) : c->run(&a, s);
    store_close(s);
    return status;
}
