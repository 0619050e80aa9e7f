/* store_cmd.c - `plimsoll store`: sessions on disk looked at, checked, salvaged, written out, made small.
 *
 * No verb makes a store where none is. */
#include "app/store_cmd.h"
#include "app/faces.h"
#include "app/say.h"
#include <unistd.h>

struct verb {
    const char *name, *operand; /* operand: what may stand behind it; NULL: nothing */
    int (*run)(const struct store_args *a);
    const char *help[3];
};

static const struct verb verbs[] = {
    {"stat", NULL, store_stat_run, {"sizes, records by kind, and a line for each session"}},
    {"check", NULL, store_check_run,
     {"a child process reads every page and record; status 1 when",
      "something is damaged; else sessions without a head are",
      "named; no file is changed"}},
    {"salvage", NULL, store_salvage_run,
     {"what can still be read is copied to a new store, what is", "missing is listed; the damaged one stays as it is"}},
    {"dump", "SESSION", store_dump_run,
     {"the journal's records, or those of the session whose id",
      "begins so: a JSON object a line; damaged ones are named"}},
    {"compact", NULL, store_compact_run,
     {"the files written anew without what was deleted, the cache",
      "emptied, halves of copies removed, lost heads made anew;",
      "nobody else may have the store open"}},
};

enum flag_kind { FLAG_ON, FLAG_TEXT };

static const struct flag {
    const char *name, *arg;
    enum flag_kind kind;
    size_t at;        /* where in struct store_args */
    const char *verb; /* the one that it goes with; NULL: all */
    const char *help;
} flags[] = {
    {"--store", "DIR", FLAG_TEXT, offsetof(struct store_args, dir), NULL,
     "the store's folder (~/.local/share/plimsoll) [PLIMSOLL_STORE]"},
    {"--json", NULL, FLAG_ON, offsetof(struct store_args, json), "stat", "one JSON object"},
    {"--to", "DIR", FLAG_TEXT, offsetof(struct store_args, to), "salvage", "the new store; empty or not there"},
    {"--artifacts", NULL, FLAG_ON, offsetof(struct store_args, artifacts), "dump",
     "also the bytes of artifacts, unpacked, in pieces"},
    {"--cache", NULL, FLAG_ON, offsetof(struct store_args, cache), "dump", "also the records of the cache"},
    {"--help", NULL, FLAG_ON, offsetof(struct store_args, help), NULL, "this text"},
};

/* ------------------------------------------------------------------ words for all verbs */

struct store_hex store_cmd_hex(const uint8_t *bytes, size_t n)
{
    struct store_hex hex = {""};
    for (size_t i = 0; i < MIN(n, (size_t)STORE_KEY_MAX); i++) snprintf(hex.text + 2 * i, 3, "%02x", bytes[i]);
    return hex;
}

struct store_size store_cmd_size(uint64_t bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct store_size s;
    double shown = (double)bytes / 1024;
    size_t i = 0;
    for (; shown >= 1023.95 && i < COUNT_OF(unit) - 1; i++) shown /= 1024;
    if (bytes < 1024) snprintf(s.text, sizeof s.text, "%d B", (int)bytes);
    else snprintf(s.text, sizeof s.text, "%.1f %s", shown, unit[i]);
    return s;
}

/* "DIR: processes 12 and others have this store open": who is in the way. */
static void say_who(const char *dir)
{
    long pid[8];
    struct buf who = {0};
    int n = store_users(dir, pid, COUNT_OF(pid)), named = 0;
    for (int i = 0; i < n; i++)
        if (pid[i] > 0) buf_printf(&who, "%s %ld", named++ ? "," : "", pid[i]);
    if (!named) say_error("%s: another process has this store open; end it first", dir);
    else say_error("%s: open in process%s%s; end %s first", dir, named > 1 ? "es" : "", who.failed ? "" : who.data,
                   named > 1 ? "them" : "it");
    buf_free(&who);
}

int store_cmd_error(const char *dir, int error, const struct err *err)
{
    if (error == STORE_BUSY) say_who(dir);
    else say_error("%s", err->text);
    return error == STORE_FOREIGN ? EXIT_USAGE : EXIT_INTERNAL;
}

int store_cmd_folder(struct buf *out, struct err *err)
{
    struct opts o;
    int rc = opts_parse(&o, 0, NULL, NULL, err) ? STORE_FOREIGN : 0;
    if (!rc && o.store) buf_puts(out, o.store);
    else if (!rc) rc = store_default_dir(opts_getenv, out, err);
    opts_free(&o);
    return out->failed ? err_set(err, STORE_NO_MEMORY, "no memory") : rc;
}

int store_cmd_print(struct buf *text)
{
    struct out out;
    int status = text->failed ? EXIT_INTERNAL : EXIT_DONE;
    out_init(&out, STDOUT_FILENO);
    if (text->failed) say_error("out of memory");
    else out_put(&out, text->data, text->len);
    out_end(&out);
    buf_free(text);
    return face_finish(&out, status);
}

int store_cmd_exists(const char *dir)
{
    struct err err = {0};
    int rc = store_exists(dir, &err);
    if (rc == STORE_NOT_FOUND) say_error("%s; --store DIR names another folder", err.text);
    else if (rc) return store_cmd_error(dir, rc, &err);
    return rc ? EXIT_USAGE : EXIT_DONE;
}

static void on_check(void *self, enum store_part part, uint64_t done, uint64_t all)
{
    struct store_watch *w = self;
    if (w->part != (int)part) {
        progress_end(&w->bar);
        progress_start(&w->bar, w->what[part], say_on_terminal(), progress_clock());
        w->part = (int)part;
    }
    progress_update(&w->bar, done, all, progress_clock());
}

void store_watch_begin(struct store_watch *w, struct store_options *o)
{
    static const char *const what[STORE_PARTS] = {"not closed well: checking the journal",
                                                  "not closed well: checking the cache"};
    *w = (struct store_watch){.part = -1, .what = what};
    o->checking = on_check;
    o->self = w;
}

void store_watch_report(struct store_watch *w, bool salvage, struct store_report *report)
{
    static const char *const what[2][STORE_PARTS] = {{"checking the journal", "checking the cache"},
                                                     {"reading the journal", ""}};
    *w = (struct store_watch){.part = -1, .what = what[salvage]};
    if (!say_on_terminal()) return;
    report->checking = on_check;
    report->self = w;
}

void store_watch_end(struct store_watch *w) { progress_end(&w->bar); }

int store_cmd_open(struct store **out, const char *dir, bool read_only)
{
    struct store_options options = {.read_only = read_only};
    struct store_watch watch;
    struct err err = {0};
    int status = store_cmd_exists(dir);
    store_watch_begin(&watch, &options);
    int rc = status == EXIT_DONE ? store_open(out, dir, &options, &err) : 0;
    store_watch_end(&watch);
    return rc ? store_cmd_error(dir, rc, &err) : status;
}

/* ------------------------------------------------------------------ the command line */

/* The one of these that is nearest to what was typed, or NULL: none is near. */
static const char *nearest(const char *typed, const char *(*name)(size_t), size_t n)
{
    const char *best = NULL;
    int best_edits = 0, len = (int)strlen(typed);
    for (size_t i = 0; len < OPTS_NAME_MAX && i < n; i++) {
        int edits = opts_edits(typed, name(i));
        if (!best || edits < best_edits) best = name(i), best_edits = edits;
    }
    return best && best_edits <= 1 + len / 3 ? best : NULL;
}

static const char *verb_name(size_t i) { return verbs[i].name; }
static const char *flag_name(size_t i) { return flags[i].name; }

static int unknown(const char *what, const char *typed, const char *near, struct err *err)
{
    if (near) return err_set(err, -1, "no such %s: %.60s; did you mean %s? (plimsoll store --help)", what, typed, near);
    return err_set(err, -1, "no such %s: %.60s (plimsoll store --help)", what, typed);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    return NULL;
}

/* The flag that argv[*i] is, with its value ("--to=x", or the next argument); *i is then the last that was used. */
static int take_flag(int argc, char *const *argv, int *i, struct store_args *out, const struct flag **found,
                     struct err *err)
{
    const char *arg = strcmp(argv[*i], "-h") == 0 ? "--help" : argv[*i], *value = NULL;
    const struct flag *f = NULL;
    for (size_t k = 0; k < COUNT_OF(flags) && !f; k++) {
        size_t n = strlen(flags[k].name);
        if (strncmp(arg, flags[k].name, n) != 0 || (arg[n] && arg[n] != '=')) continue;
        f = &flags[k];
        if (arg[n]) value = arg + n + 1;
    }
    *found = f;
    if (!f) return unknown("flag", arg, nearest(arg, flag_name, COUNT_OF(flags)), err);
    if (f->kind == FLAG_ON) {
        if (value) return err_set(err, -1, "%s takes no value", f->name);
        *(bool *)((char *)out + f->at) = true;
        return 0;
    }
    if (!value) {
        if (*i + 1 == argc) return err_set(err, -1, "%s needs a value (%s)", f->name, f->arg);
        value = argv[++*i];
    }
    if (!*value) return err_set(err, -1, "%s needs a folder, not an empty name", f->name);
    memcpy((char *)out + f->at, &value, sizeof value);
    return 0;
}

static int take_word(const char *word, const struct verb **verb, struct store_args *out, struct err *err)
{
    if (!*verb) {
        *verb = find_verb(word);
        return *verb ? 0 : unknown("verb", word, nearest(word, verb_name, COUNT_OF(verbs)), err);
    }
    if (!(*verb)->operand) return err_set(err, -1, "store %s takes no \"%.60s\"", (*verb)->name, word);
    if (out->session) return err_set(err, -1, "store %s takes one %s", (*verb)->name, (*verb)->operand);
    if (!*word || word[strspn(word, "0123456789abcdefABCDEF")] || strlen(word) > 2 * STORE_SESSION_ID)
        return err_set(err, -1, "\"%.60s\" is not the beginning of a session's id (plimsoll store stat lists them)",
                       word);
    out->session = word;
    return 0;
}

static int parse(int argc, char *const *argv, struct store_args *out, const struct verb **verb, struct err *err)
{
    bool given[COUNT_OF(flags)] = {0};
    *out = (struct store_args){0};
    *verb = NULL;
    for (int i = 1; i < argc; i++) {
        const struct flag *f = NULL;
        int bad = argv[i][0] == '-' ? take_flag(argc, argv, &i, out, &f, err) : take_word(argv[i], verb, out, err);
        if (bad) return bad;
        if (f) given[f - flags] = true;
    }
    if (out->help) return 0;
    if (!*verb)
        return err_set(err, -1, "store needs a verb: stat, check, salvage, dump or compact (plimsoll store --help)");
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (given[i] && flags[i].verb && strcmp(flags[i].verb, (*verb)->name) != 0)
            return err_set(err, -1, "%s goes with store %s, not with store %s", flags[i].name, flags[i].verb,
                           (*verb)->name);
    if ((*verb)->run == store_salvage_run && !out->to)
        return err_set(err, -1, "store salvage needs --to DIR, a folder for the new store");
    if (out->cache && out->session) return err_set(err, -1, "--cache does not go with a session: the cache has none");
    return 0;
}

/* ------------------------------------------------------------------ help */

static void put_help(struct buf *out)
{
    buf_puts(out, "plimsoll store - what plimsoll keeps on disk: sessions, messages, artifacts\n\n");
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        char name[40];
        snprintf(name, sizeof name, "%s%s%s%s", verbs[i].name, verbs[i].operand ? " [" : "",
                 verbs[i].operand ? verbs[i].operand : "", verbs[i].operand ? "]" : "");
        for (size_t k = 0; k < COUNT_OF(verbs[i].help) && verbs[i].help[k]; k++)
            buf_printf(out, "  %-15s %s\n", k ? "" : name, verbs[i].help[k]);
    }
    buf_puts(out, "\n");
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        char name[40];
        snprintf(name, sizeof name, "%s%s%s", flags[i].name, flags[i].arg ? " " : "", flags[i].arg ? flags[i].arg : "");
        buf_printf(out, "  %-15s %s%s%s\n", name, flags[i].verb ? flags[i].verb : "", flags[i].verb ? ": " : "",
                   flags[i].help);
    }
    buf_puts(out, "\nExit status: 0 done; 1 damaged, in use by another process, or it could not be\n"
                  "read or written; 2 usage, or no store is there; 130 interrupted; 141 the reader\n"
                  "of stdout left.\n");
}

/* As NO_COLOR and TERM have it, also where other settings are wrong. */
static void look_at_terminal(void)
{
    struct opts o;
    struct err ignored;
    (void)opts_parse(&o, 0, NULL, NULL, &ignored);
    say_plainly(o.plain);
    opts_free(&o);
}

int store_run(int argc, char **argv)
{
    const struct verb *verb;
    struct store_args args;
    struct buf dir = {0};
    struct err err = {0};
    int bad = parse(argc, argv, &args, &verb, &err);
    look_at_terminal();
    if (!bad && args.help) return face_print(put_help);
    if (!bad && !args.dir) {
        bad = store_cmd_folder(&dir, &err);
        args.dir = dir.data;
    }
    if (bad) say_error("%s", err.text);
    int status = bad ? EXIT_USAGE : verb->run(&args);
    buf_free(&dir);
    return status;
}
