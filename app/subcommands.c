/* subcommands.c - see subcommands.h. */
#include "app/subcommands.h"
#include "app/faces.h"

const struct subcommand subcommand_table[] = {
    {"forms", "[--hash|--render]", NULL, "--hash --render --help", false, forms_run,
     "the texts it shares with its own model; --hash: one number for them all; --render: dialogues on stdin, a JSON "
     "object a line, as messages"},
    {"store", "stat|check|salvage|dump|compact", "stat check salvage dump=SESSION compact",
     "--store=DIR --json --to=DIR --artifacts --cache --help", false, store_run,
     "what it keeps on disk; plimsoll store --help explains"},
    {"sessions", "[list|show|export|...]",
     "list show=SESSION export=SESSION import=FILE rename=SESSION delete=SESSION",
     "--json --all --format=jsonl|md -o=FILE --force --yes --store=DIR --help", false, sessions_run,
     "those that were saved; its --help: show, export, import, rename, delete"},
    {"post-mortem", "[SESSION]", "SESSION", "--json --store=DIR --help", false, postmortem_run,
     "why a saved session ended: its last figures, who held what, and a verdict; --json"},
    {"events", "[--stable|--check] [FILE]", "FILE", "--stable --check --help", false, events_run,
     "a stream of --json, each line checked; --stable: comparable"},
    {"replay", "[--screen|--text|--json] FILE", "FILE", "--screen --text --json --help", false, replay_run,
     "such a stream shown again, on the full screen too; no model is needed"},
    {"config", "[FLAGS]", NULL, NULL, true, config_run, "every setting in force and where it comes from"},
    {"doctor", "[FLAGS]", NULL, NULL, true, doctor_run, "is this machine fit for it? each check with its fix; --json"},
    {"models", "[--within SIZE]", NULL, "--within=SIZE --time=SECONDS --json --help", false, models_run,
     "model files that are here already (Ollama, LM Studio, llama.cpp, hub caches), and what fits"},
    {"learn", "[NAME] [--auto]", "NAME",
     "--auto --check --figures --trust=FILE --csv=FILE --svg=FILE --backend=cpu|cuda --threads=N --help", false,
     learn_run, "lessons on running out of memory, on a real engine: broken, explained, fixed"},
    {"plan", "[--gpu NAME] [--agents N]", NULL,
     "--gpu=GPU --agents=N --kv=f16|q8_0|f32 --shape=SHAPE --type=TYPE --list", true, plan_run,
     "what a model would take and what would fit, from its header alone, or from the shape of a well-known one"},
    {"explain", "[--json|--ask] [FILE]", "FILE", "--json --ask --help", false, explain_run,
     "whose out-of-memory is it? a log or a traceback read to a verdict, with the sums; no model is needed"},
    {"watch", "[--once] URL...", "URL", "--once --json --every=SECONDS --count=N --remote-key-file=FILE --help", false,
     watch_run, "how full the KV memory of other servers is (vLLM, SGLang, TGI, llama-server, Ollama), and what helps"},
    {"stress", "--agents N --turns N", NULL, "--agents=N --turns=N", true, NULL,
     "N agents at once, and what memory they took"},
    {"serve", "[--port N] [FLAGS]", NULL, "--host=ADDRESS --port=N --key-file=FILE --alias=NAME", true, NULL,
     "OpenAI's, Anthropic's and Ollama's HTTP API over the engine: LangGraph and its like cannot run it out of memory"},
    {"completion", "bash|zsh", "bash zsh", "--help", false, completion_run,
     "so that a shell completes its flags (make install puts it in its place)"},
    {"manual", NULL, NULL, "--help", false, manual_run, "the manual page, in roff (make install puts it in its place)"},
};
const size_t subcommands = COUNT_OF(subcommand_table);

enum { HELP_COLUMN = 49, HELP_WIDTH = 118 };

/* Words wrapped behind the column in which the line stands already, `at`. */
static void put_words(struct buf *out, size_t at, const char *text)
{
    size_t column = MAX(at, (size_t)HELP_COLUMN - 1), n;
    buf_printf(out, "%*s", (int)(column - at), "");
    for (const char *p = text; *p; p += n + (p[n] == ' ')) {
        n = strcspn(p, " ");
        bool breaks = column + 1 + n > HELP_WIDTH;
        if (breaks) buf_printf(out, "\n%*s", HELP_COLUMN - 1, "");
        column = (breaks ? HELP_COLUMN - 1 : column) + 1 + n;
        buf_printf(out, " %.*s", (int)n, p);
    }
    buf_puts(out, "\n");
}

void subcommands_help(struct buf *out)
{
    buf_puts(out,
             "plimsoll - talk with a language model in a GGUF file\n"
             "\n"
             "  plimsoll -m model.gguf                         a chat on the full screen (? its keys; --no-tui: line by "
             "line)\n"
             "  plimsoll -m model.gguf -p \"why is the sky blue\" one answer\n"
             "  git diff | plimsoll -p \"review this\"           one answer; stdin is appended after a blank line\n"
             "  plimsoll < questions.txt                       each line is a turn of one conversation\n");
    for (const struct subcommand *s = subcommand_table; s < subcommand_table + subcommands; s++) {
        size_t from = out->len;
        buf_printf(out, "  plimsoll %s%s%s", s->name, s->takes ? " " : "", s->takes ? s->takes : "");
        put_words(out, out->len - from, s->help);
    }
    buf_puts(out, "\n");
    opts_help(out);
}
