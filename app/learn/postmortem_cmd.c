/* postmortem_cmd.c - `plimsoll post-mortem [SESSION]`: why a saved session ended.  No model is needed. */
#include "app/faces.h"
#include "app/learn/postmortem.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/store_cmd.h"
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 100, WIDTH_LEAST = 60, DIED_OF_MEMORY = 3, DIED_OTHERWISE = 4 };

static const char help[] =
    "plimsoll post-mortem - why a saved session ended, from its flight recorder\n"
    "\n"
    "  plimsoll post-mortem [SESSION] [--json] [--store DIR]\n"
    "\n"
    "SESSION is the first letters of its id, or last.  Without it: the newest that died, or else the newest.\n"
    "\n"
    "It tells how the session ended, what memory it had when it was last seen, who held it, who waited, its last\n"
    "errors, and a verdict: what of that was why.  The figures are of the time up to its last save.\n"
    "\n"
    "  --json       one JSON object instead\n"
    "  --store DIR  where it is ($XDG_DATA_HOME/plimsoll, else ~/.local/share/plimsoll) [PLIMSOLL_STORE]\n"
    "\n"
    "Exit status: 0 it ended properly or is open, 1 the store could not be read, 2 usage or no such session,\n"
    "3 it died or failed, and its memory is why, 4 it died, and nothing in its figures points to memory.\n";

static void put_help(struct buf *out) { buf_puts(out, help); }

struct args {
    const char *what, *store;
    bool json, help;
};

static int parse(struct args *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i];
        if (strcmp(s, "--json") == 0) {
            a->json = true;
        } else if (strcmp(s, "--help") == 0 || strcmp(s, "-h") == 0) {
            a->help = true;
        } else if (strncmp(s, "--store=", 8) == 0 && s[8]) {
            a->store = s + 8;
        } else if (strcmp(s, "--store") == 0 && i + 1 < argc && *argv[i + 1]) {
            a->store = argv[++i];
        } else if (*s == '-' || !*s || a->what) {
            say_error("plimsoll post-mortem: %s \"%.100s\" (--help explains)",
                      *s == '-' ? "no such flag, or it needs a value:" : "unexpected", s);
            return -1;
        } else {
            a->what = s;
        }
    }
    return 0;
}

/* Opened to write, though nothing is: only then can it be told who has a session open.  A store that may only be read
 * will do; none is made. */
static int open_store(const struct args *a, struct store **s, struct err *err)
{
    struct store_options options = {0};
    struct store_watch watch;
    struct buf dir = {0};
    int rc = 0;
    store_watch_begin(&watch, &options);
    if (a->store) buf_puts(&dir, a->store);
    else rc = store_cmd_folder(&dir, err);
    if (rc == 0 && dir.failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a post-mortem");
    if (rc == 0) rc = store_exists(dir.data, err);
    if (rc == 0) rc = store_open(s, dir.data, &options, err);
    if (rc == STORE_READ_ONLY || rc == STORE_PERMISSION) {
        options.read_only = true;
        rc = store_open(s, dir.data, &options, err);
    }
    store_watch_end(&watch);
    buf_free(&dir);
    return rc;
}

static int complain(int rc, const struct err *err)
{
    if (signals_pending()) return 128 + signals_pending();
    say_error("%s", err->text);
    return rc == STORE_NOT_FOUND || rc == STORE_FOREIGN ? EXIT_USAGE : EXIT_INTERNAL;
}

/* Of the terminal; where it goes elsewhere, as many columns as $COLUMNS says, if it says any. */
static int width(void)
{
    struct winsize w;
    const char *said = opts_getenv("COLUMNS");
    int columns = said ? (int)MIN(strtoul(said, NULL, 10), (unsigned long)WIDTH) : 0;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) columns = w.ws_col;
    return columns > 0 ? MAX(WIDTH_LEAST, MIN(columns, WIDTH)) : WIDTH;
}

static int print(const struct args *a, const struct doc_flight *d)
{
    struct buf text = {0};
    if (a->json) {
        postmortem_json(d, &text);
        buf_puts(&text, "\n");
    } else {
        postmortem_text(d, width(), &text);
    }
    return store_cmd_print(&text);
}

static int status_of(const struct doc_flight *d)
{
    const bool memory = d->judged && d->verdict.cause != CAUSE_NOT_MEMORY && d->verdict.cause != CAUSE_UNKNOWN;
    if (d->end == FLIGHT_OPEN_ELSEWHERE) return EXIT_DONE;
    if (memory) return DIED_OF_MEMORY;
    return d->end == FLIGHT_DIED ? DIED_OTHERWISE : EXIT_DONE;
}

int postmortem_run(int argc, char **argv)
{
    struct args a = {0};
    struct err err = {0};
    struct store *s = NULL;
    struct timespec t;
    if (parse(&a, argc, argv)) return EXIT_USAGE;
    if (a.help) return face_print(put_help);
    int rc = open_store(&a, &s, &err); /* forks: before anything else */
    if (rc == STORE_NOT_FOUND) err_set(&err, rc, "no session is saved: there is none to look at");
    if (rc == 0 && signals_open(&err)) rc = STORE_FAILED;
    struct doc_flight *d = rc ? NULL : calloc(1, sizeof *d);
    if (rc == 0 && !d) rc = err_set(&err, STORE_NO_MEMORY, "no memory for a post-mortem");
    if (rc == 0) {
        clock_gettime(CLOCK_REALTIME, &t);
        d->now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
        rc = postmortem_read(s, &(struct postmortem_ask){.what = a.what ? a.what : ""}, d, &err);
    }
    int status = rc ? complain(rc, &err) : print(&a, d);
    if (status == EXIT_DONE && rc == 0) status = status_of(d);
    store_close(s);
    free(d);
    return status;
}
