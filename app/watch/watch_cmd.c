/* watch_cmd.c - `plimsoll watch`: how it is with the memory of servers that others run. */
#include "app/faces.h"
#include "app/key_file.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/store_cmd.h"
#include "app/tui/watch_screen.h"
#include <time.h>
#include <unistd.h>

static const char help[] =
    "plimsoll watch - how full the KV memory of other servers is, who waits for it, and what helps\n"
    "\n"
    "  plimsoll watch [--once] [--json] [--every SECONDS] [--count N] URL...\n"
    "\n"
    "  URL              http://HOST:PORT or https; 32 at most\n"
    "  --once           a table, when each was asked twice\n"
    "  --json           a JSON object a line for each server, again and again\n"
    "  --every SECONDS  how often each is asked (default: 1; 0.2 to 3600)\n"
    "  --count N        so many tables, or rounds of --json\n"
    "  --remote-key-file FILE   the key that one server wants, on the first line of a file\n"
    "\n"
    "In a terminal, and without these, it is the full screen: a row a server, and below it the past\n"
    "minutes of the selected one.  Elsewhere it is a table every so many seconds.\n"
    "\n"
    "It asks for /metrics, by the names that vLLM, SGLang, TGI, llama-server (begun with --metrics) and\n"
    "plimsoll serve have there, and Ollama for /api/ps.  It sends nothing else, and changes nothing.\n"
    "\n"
    "in/s and out/s: tokens of prompts and of answers.  first: seconds to the first token, hit: part of\n"
    "the prompts that was known, both of the last minute.  lost: requests whose KV pages were taken away\n"
    "since the server began.\n"
    "\n"
    "Exit status: 0; 1 stdout could not be written; 2 a flag or an address is wrong; 4 after --once or\n"
    "--count, if a server does not answer at the end.\n";

struct args {
    bool once, json, help;
    double every;
    long count; /* 0: for ever */
    const char *key_file;
    char *url[WATCH_SERVERS];
    int n;
};

/* ---------------------------------------------------------------- tables and lines */

static bool all_asked(const struct watch *w, uint64_t rounds)
{
    for (int i = 0; i < w->n; i++)
        if (w->server[i].rounds < rounds) return false;
    return true;
}

static bool one_is_down(const struct watch *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->server[i].state == WATCH_DOWN) return true;
    return false;
}

static int print(const struct args *a, const struct watch *w)
{
    struct buf text = {0};
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (a->json) watch_put_json(w, progress_clock(), (double)t.tv_sec + 1e-9 * (double)t.tv_nsec, &text);
    else watch_put_table(w, progress_clock(), &text);
    return store_cmd_print(&text);
}

/* Rates want two samples: a table comes when each was asked once more than there are tables. */
static int run_lines(const struct args *a, struct watch *w)
{
    static const struct timespec tick = {.tv_nsec = 20000000};
    const long most = a->once ? 1 : a->count;
    int status = EXIT_DONE;
    for (long done = 0; status == EXIT_DONE && (most == 0 || done < most);) {
        watch_step(w, progress_clock());
        if (signals_pending()) return 128 + signals_pending();
        if (!all_asked(w, (uint64_t)done + 2)) {
            nanosleep(&tick, NULL);
            continue;
        }
        status = print(a, w);
        done++;
    }
    return status == EXIT_DONE && one_is_down(w) ? EXIT_ENGINE : status;
}

/* ---------------------------------------------------------------- the command line */

static int take_value(struct args *a, const char *name, const char *value)
{
    char *end = NULL;
    if (strcmp(name, "--remote-key-file") == 0) {
        a->key_file = value;
        return 0;
    }
    const double n = strtod(value, &end);
    const bool number = end != value && !*end, every = strcmp(name, "--every") == 0;
    if (every && number && n >= 0.2 && n <= 3600) a->every = n;
    else if (every) say_error("plimsoll watch: --every: \"%.60s\" is not a number of seconds, 0.2 to 3600", value);
    else if (number && n >= 1 && n <= 1e9 && n == (double)(long)n) a->count = (long)n;
    else say_error("plimsoll watch: --count: \"%.60s\" is not a whole number from 1 on", value);
    return (every ? a->every : (double)a->count) > 0 ? 0 : -1;
}

static bool is_valued(const char *name)
{
    return strcmp(name, "--every") == 0 || strcmp(name, "--count") == 0 || strcmp(name, "--remote-key-file") == 0;
}

static int parse(struct args *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        const char *equals = strchr(arg, '=');
        char name[24];
        snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - arg : (ptrdiff_t)strlen(arg)), arg);
        if (strcmp(arg, "--once") == 0) a->once = true;
        else if (strcmp(arg, "--json") == 0) a->json = true;
        else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) a->help = true;
        else if (is_valued(name)) {
            if (take_value(a, name, equals ? equals + 1 : i + 1 < argc ? argv[++i] : "")) return -1;
        } else if (arg[0] == '-') {
            say_error("plimsoll watch: unexpected \"%.100s\" (--help lists all)", arg);
            return -1;
        } else if (a->n == WATCH_SERVERS) {
            say_error("plimsoll watch: at most %d servers at once", WATCH_SERVERS);
            return -1;
        } else {
            a->url[a->n++] = arg;
        }
    }
    if (a->help) return 0;
    if (a->n == 0) say_error("plimsoll watch: which server? http://HOST:PORT (--help lists all)");
    else if (a->key_file && a->n > 1)
        say_error("plimsoll watch: --remote-key-file is for one server: others are not to be told its key");
    else return 0;
    return -1;
}

static void put_help(struct buf *out) { buf_puts(out, help); }

static int run(const struct args *a)
{
    struct err err = {0};
    struct buf key = {0};
    struct watch w = {0};
    const bool screen = !a->once && !a->json && a->count == 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    int status = a->key_file ? key_file_read("--remote-key-file", a->key_file, &key, &err) : EXIT_DONE;
    if (status == EXIT_DONE && watch_open(&w, a->url, a->n, key.data, a->every > 0 ? a->every : 1, &err))
        status = EXIT_USAGE;
    if (status == EXIT_DONE && !screen && signals_open(&err)) status = EXIT_INTERNAL;
    if (status != EXIT_DONE) say_error("plimsoll watch: %s", err.text);
    else status = screen ? watch_screen(&w) : run_lines(a, &w);
    watch_close(&w);
    if (key.data) memset(key.data, 0, key.len);
    buf_free(&key);
    return status;
}

int watch_run(int argc, char **argv)
{
    struct args a = {0};
    if (parse(&a, argc, argv)) return EXIT_USAGE;
    return a.help ? face_print(put_help) : run(&a);
}
