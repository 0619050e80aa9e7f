/* explain_cmd.c - `plimsoll explain`: a log, read to a verdict. */
#include "app/faces.h"
#include "app/input.h"
#include "app/learn/explain.h"
#include "app/say.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const char help[] =
    "plimsoll explain - whose out-of-memory is it? a log or a traceback, read to a verdict\n"
    "\n"
    "  plimsoll explain [--json] [--ask] [FILE]     FILE or stdin: what was printed when it failed\n"
    "\n"
    "  --json  a JSON object a verdict, one a line; nothing if nothing was recognised\n"
    "  --ask   what the text does not say is asked, and the answers change the verdict; they are read from\n"
    "          stdin where FILE is named, else from the terminal (an empty line: not known)\n"
    "\n"
    "It knows the words of PyTorch, CUDA, transformers, vLLM, SGLang, TGI, llama.cpp, Ollama, LiteLLM and\n"
    "OpenAI-style servers, LangChain, LangGraph, AutoGen, CrewAI, Python, the kernel, systemd, Slurm and\n"
    "Kubernetes, in one log or several behind each other, and a server's /metrics.  Of two failures it tells\n"
    "the more basic first.  In what docker compose logs and kubectl logs --prefix write, each service has its\n"
    "own story.\n"
    "It does the sums (tried, free, allocated, reserved, outside) and says what they rule out.  Nothing is\n"
    "sent anywhere, and no model is needed.\n"
    "\n"
    "Exit status: 0 a cause was found, also one that is not memory; 1 none was, be it that the text only says\n"
    "where it is told, or it could not be written; 2 usage, or FILE could not be read.\n";

enum { LOG_MOST = 256 << 20, WIDTH = 100 };

static void put_help(struct buf *out) { buf_puts(out, help); }

struct args {
    bool json, ask, help;
    const char *file; /* NULL: stdin */
};

static int parse(int argc, char **argv, struct args *a, struct err *err)
{
    bool flags = true;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (flags && strcmp(word, "--") == 0) flags = false;
        else if (flags && strcmp(word, "--json") == 0) a->json = true;
        else if (flags && strcmp(word, "--ask") == 0) a->ask = true;
        else if (flags && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) a->help = true;
        else if (flags && word[0] == '-' && word[1]) return err_set(err, -1, "explain has no flag %s (--help)", word);
        else if (a->file) return err_set(err, -1, "explain reads one file: %s or %s", a->file, word);
        else a->file = word;
    }
    if (a->file && strcmp(a->file, "-") == 0) a->file = NULL;
    return 0;
}

static int read_log(const struct args *a, struct buf *text, struct err *err)
{
    int fd = a->file ? open(a->file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (fd < 0) return err_set(err, -1, "%s: %s", a->file, strerror(errno));
    enum input_result got = input_all(fd, LOG_MOST, a->file ? a->file : "stdin", !a->file, text, err);
    if (a->file) close(fd);
    if (got == INPUT_SIGNAL) return err_set(err, -1, "stopped while reading");
    return got == INPUT_FAILED ? -1 : 0;
}

/* ------------------------------------------------------------------ the dialogue */

static void put_question(const struct explain_ask *q)
{
    struct buf line = {0};
    buf_printf(&line, "%s\n", q->words);
    for (int i = 0; i < CHOICES && q->choice[i].key; i++)
        buf_printf(&line, "  %s  %s\n", q->choice[i].key, q->choice[i].words);
    buf_puts(&line, "> ");
    if (!line.failed) say_bytes(line.data, line.len);
    buf_free(&line);
}

/* Which choice a line names, by its key or by its first word; 0: not known. */
static int choice_of(const struct explain_ask *q, const char *line, size_t n)
{
    while (n && isspace((unsigned char)*line)) line++, n--;
    for (int i = 0; n && i < CHOICES && q->choice[i].key; i++)
        if (tolower((unsigned char)*line) == *q->choice[i].key) return i + 1;
    return 0;
}

/* Asks while an answer could change the first verdict. */
static int ask(const struct args *a, const struct buf *text, struct verdict *v, int n)
{
    struct explain_answers known = {0};
    bool asked[QUESTIONS] = {false};
    struct input in;
    int fd = a->file ? STDIN_FILENO : open("/dev/tty", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (n > 0 && explain_next_question(&v[0], &known) >= 0)
            say_error("no terminal to ask at: with FILE named, answers are read from stdin");
        return n;
    }
    input_open(&in, fd);
    for (int q; n > 0 && (q = explain_next_question(&v[0], &known)) >= 0;) {
        const char *line;
        size_t len;
        struct err err;
        int next = q;
        if (asked[next]) next = 0; /* it was left open */
        while (next < QUESTIONS && (asked[next] || !explain_asks(&v[0], next, &known))) next++;
        if (next == QUESTIONS) break;
        asked[next] = true;
        put_question(&explain_ask[next]);
        if (input_line(&in, &line, &len, &err) != INPUT_OK) break;
        known.of[next] = choice_of(&explain_ask[next], line, len);
        if (known.of[next]) n = explain_with(text->data, text->len, &known, v, EXPLAIN_MOST);
    }
    input_close(&in);
    if (!a->file) close(fd);
    return n;
}

/* ------------------------------------------------------------------ what is said */

static void put_verdicts(const struct args *a, const struct verdict *v, int n, struct buf *out)
{
    for (int i = 0; i < n; i++) {
        if (a->json) verdict_json(&v[i], out);
        else verdict_text(&v[i], WIDTH, out);
        if (a->json || i + 1 < n) buf_puts(out, "\n");
    }
    if (n == 0 && !a->json)
        buf_puts(out, "Nothing in this text says that memory ran out, or what else happened.\n"
                      "What helps: the whole traceback, the server's log before it, dmesg, kubectl describe pod.\n");
}

int explain_run(int argc, char **argv)
{
    static struct verdict v[EXPLAIN_MOST];
    struct args a = {0};
    struct buf text = {0}, said = {0};
    struct out out;
    struct err err = {0};
    int bad = parse(argc, argv, &a, &err);
    if (!bad && a.help) return face_print(put_help);
    if (!bad) bad = read_log(&a, &text, &err);
    if (bad) {
        say_error("%s", err.text);
        buf_free(&text);
        return EXIT_USAGE;
    }
    int n = text.data ? explain_text(text.data, text.len, v, EXPLAIN_MOST) : 0;
    if (a.ask) n = ask(&a, &text, v, n);
    put_verdicts(&a, v, n, &said);
    if (said.failed) say_error("out of memory");
    out_init(&out, STDOUT_FILENO);
    out_put(&out, said.data ? said.data : "", said.failed ? 0 : said.len);
    out_end(&out);
    bad = said.failed || n == 0 || v[0].cause == CAUSE_UNKNOWN;
    buf_free(&said);
    buf_free(&text);
    return face_finish(&out, bad ? EXIT_INTERNAL : EXIT_DONE);
}
