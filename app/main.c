/* main.c - read the options, choose the face, return its status. */
#include "app/about.h"
#include "app/embedded.h"
#include "app/faces.h"
#include "app/say.h"
#include "app/serve/serve.h"
#include "app/signals.h"
#include "app/subcommands.h"
#include "app/tui/tui.h"
#include "engine/hostmem.h"
#include "memory/forms.h"
#include "tools/run.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A descriptor 0, 1 or 2 that is closed would be given to the next file opened, and answers would go into a model or
 * a trace. What is put there instead fails when used. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return; /* then nothing else will open */
    }
}

/* Without -m: the model that is part of the program, under the role that it was trained with.  *fd keeps it open. */
static int take_embedded(struct opts *o, struct buf *role, int *fd)
{
    struct err err = {0};
    o->model = embedded_open(fd, &err);
    if (!o->model) {
        say_error("%s", err.text);
        return EXIT_ENGINE;
    }
    o->embedded = !o->remote;
    o->embedded_vocab = o->remote != NULL;
    if (o->system || o->remote) return EXIT_DONE;
    if (forms_system(&(struct form_system){.role = "assistant"}, role, &err) || role->failed) {
        say_error("%s", role->failed ? "out of memory" : err.text);
        return EXIT_INTERNAL;
    }
    o->system = role->data;
    return EXIT_DONE;
}

static int run_face(struct app *a)
{
    const struct opts *o = a->o;
    if (o->serve) return serve_run(a);
    if (o->agents > 0) return stress_run(a);
    if (o->nll) return nll_run(a);
    if (o->dump_tokens) return dump_tokens_run(a);
    if (o->top_logprobs >= 0) return dump_logprobs_run(a);
    if (o->prompt) return oneshot_run(a);
    if (!isatty(STDIN_FILENO) || o->script) return lines_run(a);
    char why[120];
    if (tui_wanted(o, why)) return tui_run(a);
    if (*why) say("%s", why);
    return console_run(a);
}

static int run_engine(struct opts *o)
{
    struct app a;
    struct err err = {0};
    struct buf role = {0};
    int fd = -1, status = o->model ? EXIT_DONE : take_embedded(o, &role, &fd);
    if (status != EXIT_DONE) return status;
    status = app_open(&a, o, o->remote ? &engine_remote : strcmp(o->engine, "scripted") == 0 ? &engine_scripted
                                                                                            : &engine_local, &err);
    if (status == EXIT_DONE) status = run_face(&a);
    else app_error(&a, "open", err.text);
    for (char *line = a.advice, *rest; line && *line; line = rest) {
        rest = line + strcspn(line, "\n");
        say("%.*s", (int)(rest - line), line);
        rest += *rest == '\n';
    }
    status = app_close(&a, status);
    buf_free(&role);
    if (fd >= 0) close(fd);
    return status;
}

static void crew_doc(struct buf *out)
{
    crew_help(out);
    buf_puts(out, "\nPart of the program, for --crew NAME:\n");
    crew_builtin(out);
}

static int run_options(struct opts *o, int bad, const struct err *err)
{
    say_plainly(o->plain);
    if (bad) {
        say_error("%s", err->text);
        return EXIT_USAGE;
    }
    if (o->help) return face_print(o->serve ? serve_help : o->agents > 0 ? stress_help : subcommands_help);
    if (o->help_events) return face_print(event_doc);
    if (o->help_crew) return face_print(crew_doc);
    if (o->version) return face_print(about);
    if ((o->dump_tokens || o->top_logprobs >= 0) && !o->prompt && isatty(STDIN_FILENO)) {
        say_error("%s needs a prompt: -p, or text on stdin", o->dump_tokens ? "--dump-tokens" : "--dump-logprobs");
        return EXIT_USAGE;
    }
    if (guards_any(&o->off) && !o->prompt && !o->script && isatty(STDIN_FILENO)) {
        say_error("--unguarded is for lessons, whose turns come on stdin: at a terminal it would pass for what "
                  "plimsoll does");
        return EXIT_USAGE;
    }
    return run_engine(o);
}

/* A word in place of the first flag, that is nearly one of the commands. */
static void suggest_command(const char *word, struct err *err)
{
    const char *near = NULL;
    int least = 0, len = (int)strnlen(word, OPTS_NAME_MAX);
    for (size_t i = 0; len < OPTS_NAME_MAX && i < subcommands; i++) {
        const int edits = opts_edits(word, subcommand_table[i].name);
        if (!near || edits < least) near = subcommand_table[i].name, least = edits;
    }
    if (near && least <= 1 + len / 3)
        err_set(err, -1, "no such command: %s; did you mean %s? (--help lists all)", word, near);
}

int main(int argc, char **argv)
{
    struct opts o;
    struct err err = {0};
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(tool_run_jobs);
    fill_standard_descriptors();
    hostmem_return_large();
    signals_of_writes();
    for (const struct subcommand *s = subcommand_table; argc > 1 && s < subcommand_table + subcommands; s++)
        if (s->run && strcmp(argv[1], s->name) == 0) return s->run(argc - 1, argv + 1);
    bool stress = argc > 1 && strcmp(argv[1], "stress") == 0, serve = argc > 1 && strcmp(argv[1], "serve") == 0;
    int bad = stress ? stress_opts(&o, argc, argv, &err) : serve ? serve_opts(&o, argc, argv, &err)
              : opts_parse(&o, argc, argv, NULL, &err);
    if (bad && argc > 1 && !stress && !serve && argv[1][0] != '-') suggest_command(argv[1], &err);
    int status = run_options(&o, bad, &err);
    opts_free(&o);
    return status;
}
