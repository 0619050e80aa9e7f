/* manual.c - `plimsoll manual`: the manual page, in roff, made from the tables of flags, subcommands and commands. */
#include "app/app.h"
#include "app/command_row.h"
#include "app/faces.h"
#include "app/opts_table.h"
#include "app/say.h"
#include "app/subcommands.h"
#include "version.h"

/* ---------------------------------------------------------------- roff */

/* Text as roff shows it: no line of it is a request, and a hyphen is the one that can be copied into a shell. */
static void put(struct buf *out, const char *text)
{
    bool begins = out->len == 0 || out->data[out->len - 1] == '\n';
    for (const char *p = text; *p; p++) {
        if (begins && (*p == '.' || *p == '\'')) buf_puts(out, "\\&");
        if (*p == '\\') buf_puts(out, "\\e");
        else if (*p == '-') buf_puts(out, "\\-");
        else if (*p == '\'') buf_puts(out, "\\(aq");
        else if (*p == '^') buf_puts(out, "\\(ha");
        else if (*p == '~') buf_puts(out, "\\(ti");
        else if (*p == '`') buf_puts(out, "\\(ga");
        else buf_put(out, p, 1);
        begins = *p == '\n';
    }
}

static void put_line(struct buf *out, const char *text)
{
    put(out, text);
    buf_puts(out, "\n");
}

static void put_bold(struct buf *out, const char *text)
{
    buf_puts(out, "\\fB");
    put(out, text);
    buf_puts(out, "\\fR");
}

/* What a person fills in. */
static void put_taken(struct buf *out, const char *text)
{
    buf_puts(out, "\\fI");
    put(out, text);
    buf_puts(out, "\\fR");
}

static void put_section(struct buf *out, const char *name) { buf_printf(out, ".SH %s\n", name); }

/* A name and what it takes as a head, and words below it. */
static void put_entry(struct buf *out, const char *name, const char *takes, const char *help)
{
    buf_puts(out, ".TP\n");
    put_bold(out, name);
    if (takes) buf_puts(out, " ");
    if (takes) put_taken(out, takes);
    buf_puts(out, "\n");
    put_line(out, help);
}

/* Rows of two words or texts, for sections that no table of the program holds. */
struct pair { const char *name, *text; };

static void put_pairs(struct buf *out, const struct pair *p, size_t n)
{
    for (size_t i = 0; i < n; i++) put_entry(out, p[i].name, NULL, p[i].text);
}

/* ---------------------------------------------------------------- from the tables */

static void put_flag(struct buf *out, const struct opt *o)
{
    buf_puts(out, ".TP\n");
    if (o->letter) put_bold(out, o->letter);
    if (o->letter) buf_puts(out, ", ");
    put_bold(out, o->name);
    if (o->arg) buf_puts(out, " ");
    if (o->arg) put_taken(out, o->arg);
    buf_puts(out, "\n");
    put(out, o->help);
    if (o->choices) buf_puts(out, ": ");
    for (const char *p = o->choices; p && *p; p++) put(out, *p == '|' ? ", " : (const char[]){*p, '\0'});
    if (o->initial) buf_puts(out, " (");
    if (o->initial) put(out, o->initial);
    buf_puts(out, o->initial ? ")\n" : "\n");
    if (!o->env) return;
    buf_puts(out, ".br\nVariable: ");
    put_bold(out, o->env);
    buf_puts(out, "\n");
}

static void put_flags(struct buf *out)
{
    put_section(out, "OPTIONS");
    put_line(out, "Defaults are in brackets.  A value is given as \"--temp 0.5\" or \"--temp=0.5\"; what takes none is "
                  "undone by \"--fit=off\".  Flags win over variables, these over the file of settings, that over the "
                  "defaults; \"plimsoll config\" shows every value in force and where it comes from.");
    for (size_t i = 0; i < opts_rows; i++) put_flag(out, &opts_table[i]);
}

static void put_subcommands(struct buf *out)
{
    put_section(out, "SUBCOMMANDS");
    put_line(out, "They stand in place of the first flag; most have a --help of their own.");
    for (const struct subcommand *s = subcommand_table; s < subcommand_table + subcommands; s++)
        put_entry(out, s->name, s->takes, s->help);
}

static void put_commands(struct buf *out)
{
    put_section(out, "COMMANDS");
    put_line(out, "Lines of a chat or of a script that begin with a slash.");
    for (const struct command_row *r = command_table; r < command_table + command_rows; r++)
        put_entry(out, r->name, r->takes, r->help);
}

static void put_environment(struct buf *out)
{
    static const struct pair others[] = {
        {"HOME, XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME", "Where the files above are."},
        {"NO_COLOR, TERM", "No colours are used where NO_COLOR says anything or the terminal is a dumb one."},
    };
    put_section(out, "ENVIRONMENT");
    put_pairs(out, others, COUNT_OF(others));
    for (const struct opt *o = opts_table; o < opts_table + opts_rows; o++) {
        if (!o->env) continue;
        buf_puts(out, ".TP\n");
        put_bold(out, o->env);
        buf_puts(out, "\nAs ");
        put_bold(out, o->name);
        buf_puts(out, ".\n");
    }
}

/* ---------------------------------------------------------------- the rest */

static void put_head(struct buf *out)
{
    buf_puts(out, ".TH PLIMSOLL 1 \"\" \"plimsoll ");
    put(out, PLIMSOLL_VERSION);
    buf_puts(out, "\" \"User Commands\"\n");
    put_section(out, "NAME");
    buf_puts(out, "plimsoll \\- talk with a language model in a GGUF file\n");
    put_section(out, "SYNOPSIS");
    static const char *const forms[] = {"[OPTIONS]", "[OPTIONS] -p PROMPT", "[OPTIONS] < FILE",
                                        "SUBCOMMAND [OPTIONS]"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        put_bold(out, "plimsoll");
        buf_puts(out, " ");
        put_line(out, forms[i]);
        if (i + 1 < COUNT_OF(forms)) buf_puts(out, ".br\n");
    }
    put_section(out, "DESCRIPTION");
    put_line(out, "plimsoll runs language models from GGUF files on this machine, alone or as several agents over one "
                  "engine, and shows where every token and every byte is.  At a terminal it is a chat; with -p it "
                  "answers once; other lines on stdin are turns of one conversation, or a script where the first line "
                  "is \"plimsoll 1\".  Without -m a tiny model that is part of the program answers.");
    buf_puts(out, ".PP\n");
    put_line(out, "What one call of the model carries is built to fit its context, and a request is admitted only when "
                  "the memory that it can need is promised to it.  Conversations are saved turn by turn and can be "
                  "resumed, forked and taken back.");
    buf_puts(out, ".PP\n");
    put_line(out, "Answers go to stdout, all else to stderr.  Text for a terminal is cleared of control characters; to "
                  "a pipe it goes as it is.");
}

static void put_statuses(struct buf *out)
{
    static const struct { int status; const char *text; } statuses[] = {
        {EXIT_DONE, "Done."},
        {EXIT_INTERNAL, "Internal, or the output could not be written."},
        {EXIT_USAGE, "Usage or input."},
        {EXIT_REFUSED, "Refused: it would not fit."},
        {EXIT_ENGINE, "The engine failed: the model file, or memory at the start."},
        {EXIT_DENIED, "A call of a tool was denied, and nobody was there to be asked."},
        {EXIT_UNMET, "What a script expects (/expect, /assert) did not hold."},
        {130, "Interrupted."}, {141, "The reader of stdout left."}, {143, "Terminated."},
    };
    put_section(out, "EXIT STATUS");
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", statuses[i].status);
        put_entry(out, number, NULL, statuses[i].text);
    }
}

static void put_files(struct buf *out)
{
    static const struct pair files[] = {
        {"$XDG_CONFIG_HOME/plimsoll/config, else ~/.config/plimsoll/config",
         "Settings: names of flags without \"--\", as in \"temp = 0.5\".  One that others may write is refused."},
        {"$XDG_DATA_HOME/plimsoll, else ~/.local/share/plimsoll", "Saved sessions (--store names another folder)."},
        {"$XDG_STATE_HOME/plimsoll/history, else ~/.local/state/plimsoll/history",
         "What was typed at the full screen; nothing is added with --no-save.  Deleting a session leaves it: delete "
         "this file to forget it."},
    };
    put_section(out, "FILES");
    put_pairs(out, files, COUNT_OF(files));
}

static void put_examples(struct buf *out)
{
    static const struct pair examples[] = {
        {"plimsoll -m model.gguf", "A chat."},
        {"plimsoll -m model.gguf -p \"why is the sky blue\"", "One answer."},
        {"git diff | plimsoll -p \"review this\"", "One answer; stdin is appended after a blank line."},
        {"plimsoll --vram 60% --fit -m model.gguf",
         "Under 60 percent of what memory is free, with the largest context that fits."},
        {"plimsoll --crew debate --seed 1 < questions.txt", "Several agents, the same text each time."},
        {"plimsoll --resume last", "Go on with the newest saved session."},
        {"plimsoll doctor", "Is this machine fit for it?"},
    };
    put_section(out, "EXAMPLES");
    put_pairs(out, examples, COUNT_OF(examples));
}

static void put_page(struct buf *out)
{
    put_head(out);
    put_flags(out);
    put_subcommands(out);
    put_commands(out);
    put_statuses(out);
    put_files(out);
    put_environment(out);
    put_examples(out);
}

static void put_help(struct buf *out)
{
    buf_puts(out, "plimsoll manual - the manual page on stdout, in roff\n\n"
                  "  plimsoll manual | man -l -\n\n"
                  "make install puts it in its place, for man plimsoll.\n");
}

int manual_run(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) return face_print(put_help);
    if (argc == 1) return face_print(put_page);
    say_error("plimsoll manual takes nothing: it writes the manual page to stdout");
    return EXIT_USAGE;
}
