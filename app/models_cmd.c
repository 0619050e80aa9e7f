/* models_cmd.c - `plimsoll models`: the model files that are on this machine already. */
#include "app/faces.h"
#include "app/models.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/store_cmd.h"
#include "app/term_filter.h"
#include "app/tui/bar.h"
#include <math.h>
#include <unistd.h>

static const char help[] =
    "plimsoll models - GGUF files that are on this machine already, and what fits\n"
    "\n"
    "  plimsoll models [--json] [--within SIZE] [--time SECONDS]\n"
    "\n"
    "  --json          a JSON object a line: first where was looked, then a file each\n"
    "  --within SIZE   as if so much memory were free (default: what is free now)\n"
    "  --time SECONDS  stop looking after so many seconds, and say so (default: 5)\n"
    "\n"
    "It looks for those that Ollama, LM Studio, llama.cpp and the hub's tools have downloaded, where\n"
    "OLLAMA_MODELS, LLAMA_CACHE, HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME say, or else below the home\n"
    "folder; in the folders of PLIMSOLL_MODELS (with ':' between them) and those in them; and in this\n"
    "folder.  Only headers are read, and nothing is changed or downloaded.\n"
    "\n"
    "\"fits\" is a session with one conversation, by the same sum that refuses it when it starts.  A\n"
    "session takes half of the memory that is free, unless --vram says otherwise.\n"
    "\n"
    "Exit status: 0, also when there is none; 1 stdout could not be written, or it was not possible to\n"
    "look; 2 a flag is wrong.\n";

struct args {
    bool json, help;
    double within, seconds; /* 0: not given */
};

/* ---------------------------------------------------------------- a table */

enum { SIZE_COLUMN = 9, NAME_LEAST = 4, NAME_MOST = 44 };

static int columns_of(const char *text) { return surface_columns(text, strlen(text)); }

/* Names are of others, and may be wide. */
static struct buf clean(const char *text)
{
    struct buf b = {0};
    term_filter_text(text, strlen(text), true, &b);
    return b;
}

static void put_padded(struct buf *out, const char *text, int columns)
{
    buf_printf(out, "%s%*s", text, MAX(columns - columns_of(text), 0), "");
}

static int name_columns(const struct models *m)
{
    int most = NAME_LEAST;
    for (int i = 0; i < m->n; i++) {
        struct buf name = clean(m->row[i].name);
        most = MAX(most, name.data ? MIN(columns_of(name.data), NAME_MOST) : 0);
        buf_free(&name);
    }
    return most;
}

static void put_row(const struct models *m, const struct models_row *r, int columns, struct buf *out)
{
    char count[MODELS_COUNT], number[FIGURE], verdict[400];
    struct buf name = clean(r->name), more = {0};
    models_verdict(r, m->within, verdict, sizeof verdict);
    put_padded(out, name.data ? name.data : "", columns);
    buf_printf(out, "  %*s", SIZE_COLUMN, r->bytes ? store_cmd_size(r->bytes).text : "");
    buf_printf(out, "  %-12s  %10s  %-12s  %9s  ", r->arch, models_count(r->parameters, count), r->types,
               r->ctx_trained ? figure(number, (uint64_t)r->ctx_trained) : "");
    struct buf said = clean(verdict);
    models_command(r, m->within, &more);
    if (more.len == 0) buf_puts(&more, r->path);
    struct buf line = clean(more.data ? more.data : "");
    buf_printf(out, "%s\n    %s: %s\n", said.data ? said.data : "", m->place[r->place].what,
               line.data ? line.data : "");
    out->failed = out->failed || name.failed || said.failed || more.failed || line.failed;
    buf_free(&name);
    buf_free(&said);
    buf_free(&more);
    buf_free(&line);
}

/* All, or those of which something is not in the table. */
static void put_places(const struct models *m, bool lacking, struct buf *out)
{
    for (int i = 0; i < m->n_places; i++) {
        const struct models_place *p = &m->place[i];
        char words[MODELS_WORDS];
        if (lacking && p->looked < MODELS_CLOSED && p->left_out == 0) continue;
        struct buf path = clean(p->path);
        buf_printf(out, "  %-15s  %-15s  %s\n", p->what, models_place_words(p, words), path.data ? path.data : "");
        buf_free(&path);
    }
}

static void put_table(const struct models *m, struct buf *out)
{
    int columns = name_columns(m);
    struct buf head = {0};
    models_summary(m, &head);
    if (m->n > 0) {
        put_padded(out, "name", columns);
        buf_printf(out, "  %*s  %-12s  %10s  %-12s  %9s  fits?\n", SIZE_COLUMN, "size", "architecture",
                   "parameters", "types", "context");
    }
    for (int i = 0; i < m->n; i++) put_row(m, &m->row[i], columns, out);
    buf_printf(out, "%s%s.\n", m->n ? "\n" : "", head.data ? head.data : "");
    if (m->n == 0) buf_puts(out, "Looked for in:\n");
    put_places(m, m->n > 0, out);
    if (m->n == 0) buf_puts(out, "PLIMSOLL_MODELS=FOLDER looks in others too, and plimsoll -m FILE takes any file.\n");
    if (*m->stopped) buf_printf(out, "This is not all: %s.\n", m->stopped);
    buf_free(&head);
}

static int show(const struct args *a)
{
    struct err err = {0};
    struct buf text = {0};
    const struct models_ask ask = {.env = opts_getenv, .within = (uint64_t)a->within,
                                   .end = progress_clock() + (a->seconds > 0 ? a->seconds : MODELS_SECONDS)};
    struct models *m = models_look(&ask, &err);
    if (!m) {
        say_error("%s", err.text);
        return EXIT_INTERNAL;
    }
    (a->json ? models_put_json : put_table)(m, &text);
    models_free(m);
    return store_cmd_print(&text);
}

/* ---------------------------------------------------------------- the command line */

static int take_value(struct args *a, const char *name, const char *value)
{
    char *end = NULL;
    if (strcmp(name, "--within") == 0 && opts_size(value, &a->within) && a->within > 0) return 0;
    if (strcmp(name, "--time") == 0) {
        a->seconds = strtod(value, &end);
        if (end != value && !*end && a->seconds > 0 && a->seconds <= 3600) return 0;
        say_error("plimsoll models: --time: \"%.60s\" is not a number of seconds, up to 3600", value);
    } else {
        say_error("plimsoll models: --within: \"%.60s\" is not a size: 512M, 1.5G, a number of bytes", value);
    }
    return -1;
}

static int parse(struct args *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *equals = strchr(arg, '=');
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - arg : (ptrdiff_t)strlen(arg)), arg);
        if (strcmp(arg, "--json") == 0) {
            a->json = true;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            a->help = true;
        } else if (strcmp(name, "--within") == 0 || strcmp(name, "--time") == 0) {
            const char *value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : "";
            if (take_value(a, name, value)) return -1;
        } else {
            say_error("plimsoll models: unexpected \"%.100s\" (--help lists all)", arg);
            return -1;
        }
    }
    return 0;
}

static void put_help(struct buf *out) { buf_puts(out, help); }

int models_run(int argc, char **argv)
{
    struct args a = {0};
    if (parse(&a, argc, argv)) return EXIT_USAGE;
    return a.help ? face_print(put_help) : show(&a);
}
