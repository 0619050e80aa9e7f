/* opts.c - the one table of flags, variables and help, and what reads it. */
#include "app/opts.h"
#include "engine/text.h"
#include <errno.h>
#include <math.h>

enum kind { ON, TEXT, INT, REAL, SIZE, CHOICE, STOP, BIAS };

struct opt {
    const char *letter, *name, *env; /* "-m", "--model", "PLIMSOLL_MODEL"; NULL: has none */
    enum kind kind;
    size_t at;              /* where in struct opts */
    const char *arg;        /* what help calls its value */
    double min, max;        /* INT, REAL: range allowed; SIZE: min under 0 allows percent, max over 0 allows 0 */
    const char *choices;    /* CHOICE: "a|b|c" */
    const char *initial;    /* default, in the flag's own spelling; NULL: none */
    const char *help;
};

#define AT(field) offsetof(struct opts, field)

static const struct opt table[] = {
    {"-m", "--model", "PLIMSOLL_MODEL", TEXT, AT(model), "FILE", 0, 0, NULL, NULL,
     "the model, a GGUF file (a tiny demonstration model that is part of the program)"},
    {"-p", "--prompt", NULL, TEXT, AT(prompt), "PROMPT", 0, 0, NULL, NULL,
     "answer this once and leave; data on stdin is appended to it"},
    {"-n", "--max-tokens", NULL, INT, AT(max_tokens), "N", 1, 1e6, NULL, NULL,
     "most tokens of an answer (512, or what the context leaves; if given, it must fit)"},
    {NULL, "--thinking", "PLIMSOLL_THINKING", INT, AT(thinking), "N", 1, 1e6, NULL, NULL,
     "set N tokens more aside for <think>, in a chat; at that many it is closed (part of the answer)"},
    {NULL, "--ctx", "PLIMSOLL_CTX", INT, AT(ctx), "N", 1, 1 << 24, NULL, NULL,
     "tokens that a conversation may hold (the model's own, at most 4096)"},
    {NULL, "--vram", "PLIMSOLL_VRAM", SIZE, AT(vram), "SIZE", -100, 0, NULL, NULL,
     "ceiling for model, KV pool and workspace: 512M, 1.5G, or 60% of what is free (half of it)"},
    {NULL, "--fit", NULL, ON, AT(fit), NULL, 0, 0, NULL, NULL,
     "take the largest context, up to --ctx, that fits under the ceiling"},
    {NULL, "--overcommit", "PLIMSOLL_OVERCOMMIT", ON, AT(overcommit), NULL, 0, 0, NULL, NULL,
     "promise requests what they may be expected to need; park the last when it was too little"},
    {NULL, "--park", "PLIMSOLL_PARK", SIZE, AT(park), "SIZE", 0, 0, NULL, NULL,
     "host memory for the KV pages of the parked: 64M (none: they are computed again)"},
    {NULL, "--naive", NULL, CHOICE, AT(naive), "POLICY", 0, 0,
     "none|reserve|no-limit|first-fit|f32|reload|whole-batch", "none",
     "a memory policy that fails, for teaching; after it did, the sound one is in force"},
    {NULL, "--resume", NULL, TEXT, AT(resume), "SESSION", 0, 0, NULL, NULL,
     "go on with a saved session: the first letters of its id, or last (plimsoll sessions lists them)"},
    {NULL, "--store", "PLIMSOLL_STORE", TEXT, AT(store), "DIR", 0, 0, NULL, NULL,
     "where sessions are saved ($XDG_DATA_HOME/plimsoll, else ~/.local/share/plimsoll)"},
    {NULL, "--snapshots", "PLIMSOLL_SNAPSHOTS", SIZE, AT(snapshots), "SIZE", 0, 1, NULL, "1G",
     "room on disk for the KV pages of sessions, so that a resumed one is not read again; 0: none"},
    {NULL, "--summary", "PLIMSOLL_SUMMARY", CHOICE, AT(summary), "BY", 0, 0, "model|extract|off", "model",
     "who sums up what leaves the context: the model, lines out of it, or nobody"},
    {NULL, "--recall", "PLIMSOLL_RECALL", CHOICE, AT(recall), "WHEN", 0, 0, "auto|ask|off", "auto",
     "what has left the context and belongs to a question: brought in, only when asked for, or never"},
    {NULL, "--no-save", "PLIMSOLL_NO_SAVE", ON, AT(no_save), NULL, 0, 0, NULL, NULL,
     "do not save the session: it ends with the program"},
    {NULL, "--system", "PLIMSOLL_SYSTEM", TEXT, AT(system), "TEXT", 0, 0, NULL, NULL, "the system message"},
    {NULL, "--template", NULL, CHOICE, AT(template_name), "NAME", 0, 0, "chatml|llama3|raw", NULL,
     "write turns in this form (what the model file asks for)"},

    {NULL, "--temp", "PLIMSOLL_TEMP", REAL, AT(temp), "T", 0, 100, NULL, NULL,
     "temperature; 0 takes the likeliest token (0.7, the embedded model 0)"},
    {NULL, "--top-k", NULL, INT, AT(top_k), "K", 0, INT32_MAX, NULL, "40", "choose among the K likeliest; 0: all"},
    {NULL, "--top-p", NULL, REAL, AT(top_p), "P", 0, 1, NULL, "0.95",
     "choose among the likeliest that make up P; 1: all"},
    {NULL, "--min-p", NULL, REAL, AT(min_p), "P", 0, 1, NULL, "0.05",
     "leave out what is under P of the likeliest; 0: none"},
    {NULL, "--repeat-penalty", NULL, REAL, AT(repeat), "R", 0.01, 100, NULL, "1",
     "weigh down the last 64 tokens by this factor; 1: off"},
    {NULL, "--frequency-penalty", NULL, REAL, AT(frequency), "F", -100, 100, NULL, "0",
     "... by this much an occurrence"},
    {NULL, "--presence-penalty", NULL, REAL, AT(presence), "F", -100, 100, NULL, "0", "... by this much once"},
    {NULL, "--logit-bias", NULL, BIAS, 0, "ID=ADD", -1e4, 1e4, NULL, NULL,
     "add to a token's logit, -inf bans it (repeatable)"},
    {NULL, "--stop", NULL, STOP, 0, "TEXT", 0, 0, NULL, NULL, "end the answer before this text (repeatable)"},
    {NULL, "--seed", "PLIMSOLL_SEED", INT, AT(seed), "S", 0, 9007199254740991, NULL, NULL,
     "same seed, same text (a random one; --json and --trace name it)"},

    {NULL, "--threads", "PLIMSOLL_THREADS", INT, AT(threads), "N", 1, 1024, NULL, NULL, "CPU threads (one a core)"},
    {NULL, "--isa", "PLIMSOLL_ISA", CHOICE, AT(isa), "NAME", 0, 0, "auto|portable|avx2|avx512", "auto",
     "CPU instruction set"},
    {NULL, "--backend", "PLIMSOLL_BACKEND", CHOICE, AT(backend), "NAME", 0, 0, "cpu|ref", "cpu",
     "what computes; ref is the slow truth that judges the others"},
    {NULL, "--kv-type", "PLIMSOLL_KV_TYPE", CHOICE, AT(kv_type), "TYPE", 0, 0, "f16|q8_0|f32", "f16",
     "numbers of the attention memory; q8_0 takes half of f16, f32 twice"},
    {NULL, "--no-pin", "PLIMSOLL_NO_PIN", ON, AT(no_pin), NULL, 0, 0, NULL, NULL, "do not pin threads to cores"},
    {NULL, "--engine", NULL, CHOICE, AT(engine), "NAME", 0, 0, "local|scripted", "local",
     "scripted: answers come from a file, -m gives only the vocabulary"},
    {NULL, "--script-file", NULL, TEXT, AT(script_file), "FILE", 0, 0, NULL, NULL, "the answers of --engine scripted"},

    {NULL, "--json", NULL, ON, AT(json), NULL, 0, 0, NULL, NULL, "events on stdout, a JSON line each, instead of text"},
    {NULL, "--trace", "PLIMSOLL_TRACE", TEXT, AT(trace), "FILE", 0, 0, NULL, NULL,
     "write the same lines, and one a token, to FILE"},
    {NULL, "--dump-tokens", NULL, ON, AT(dump_tokens), NULL, 0, 0, NULL, NULL,
     "print the prompt's tokens (index, id, spelling) and leave"},
    {NULL, "--dump-logprobs", NULL, INT, AT(top_logprobs), "N", 0, KERN_TOP, NULL, NULL,
     "print each generated token as a JSON line: index, id, text, logprob, the N likeliest"},
    {NULL, "--nll", NULL, TEXT, AT(nll), "FILE", 0, 0, NULL, NULL,
     "print the mean negative log-likelihood of a text file"},
    {NULL, "--help-events", NULL, ON, AT(help_events), NULL, 0, 0, NULL, NULL,
     "explain the events of --json and --trace"},
    {NULL, "--version", NULL, ON, AT(version), NULL, 0, 0, NULL, NULL, "version, build and machine"},
    {"-h", "--help", NULL, ON, AT(help), NULL, 0, 0, NULL, NULL, "this text"},
};

/* ---------------------------------------------------------------- one value */

/* Only digits, signs, point and exponent: no hexadecimal, no blanks, and neither nan nor inf. */
static bool real_parse(const char *s, double *out)
{
    char *end;
    if (!*s || s[strspn(s, "0123456789+-.eE")]) return false;
    errno = 0;
    *out = strtod(s, &end);
    return end != s && !*end && isfinite(*out);
}

static bool int_parse(const char *s, int64_t *out)
{
    char *end;
    if (!*s || s[strspn(s, "0123456789-")]) return false;
    errno = 0;
    *out = strtoll(s, &end, 10);
    return end != s && !*end && errno == 0;
}

/* "512M", "1.5G", "4096K", "100000" (bytes), "60%": bytes, or less than 0 for percent. */
static bool size_parse(const char *s, double *out)
{
    static const char units[] = "KMGT";
    char digits[32];
    size_t n = strspn(s, "0123456789.");
    if (n == 0 || n >= sizeof digits) return false;
    memcpy(digits, s, n);
    digits[n] = '\0';
    const char *unit = s[n] ? strchr(units, s[n]) : NULL;
    if (!real_parse(digits, out) || *out <= 0) return false;
    if (strcmp(s + n, "%") == 0) {
        *out = -*out;
        return *out >= -100;
    }
    if (s[n] && !unit) return false;
    *out *= unit ? ldexp(1, 10 * (int)(unit - units + 1)) : 1;
    if (unit && s[n + 1] && strcmp(s + n + 1, "B") && strcmp(s + n + 1, "iB")) return false;
    return *out >= 1 && *out < 0x1p60;
}

static bool in_choices(const char *choices, const char *s)
{
    size_t n = strlen(s);
    for (const char *c = choices; *c;) {
        size_t len = strcspn(c, "|");
        if (n == len && memcmp(c, s, n) == 0) return true;
        c += len + (c[len] == '|');
    }
    return false;
}

static int set_number(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    double real = 0;
    int64_t whole = 0;
    bool ok = o->kind == INT ? int_parse(s, &whole) : real_parse(s, &real);
    if (o->kind == INT) real = (double)whole;
    if (!ok || real < o->min || real > o->max)
        return err_set(err, -1, "%s: \"%.60s\" is not %s from %.16g to %.16g", who, s,
                       o->kind == INT ? "a whole number" : "a number", o->min, o->max);
    if (o->kind == INT) memcpy((char *)out + o->at, &whole, sizeof whole);
    else memcpy((char *)out + o->at, &real, sizeof real);
    return 0;
}

static int add_bias(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    char id_text[24];
    int64_t id;
    double add = 0;
    const char *eq = strchr(s, '=');
    if (out->n_bias == ENGINE_MAX_BIAS) return err_set(err, -1, "%s: at most %d are allowed", who, ENGINE_MAX_BIAS);
    bool ok = eq && (size_t)(eq - s) < sizeof id_text;
    if (ok) {
        memcpy(id_text, s, (size_t)(eq - s));
        id_text[eq - s] = '\0';
        ok = int_parse(id_text, &id) && id >= 0 && id <= INT32_MAX;
    }
    if (ok && strcmp(eq + 1, "-inf") == 0) add = -INFINITY;
    else ok = ok && real_parse(eq + 1, &add) && add >= o->min && add <= o->max;
    if (!ok)
        return err_set(err, -1, "%s: \"%.60s\" is not ID=ADD, a token's id and a number from %g to %g or -inf", who, s,
                       o->min, o->max);
    out->bias[out->n_bias++] = (struct kern_bias){.id = (int32_t)id, .add = (float)add};
    return 0;
}

static int add_stop(struct opts *out, const char *who, const char *s, struct err *err)
{
    struct text t;
    struct err why = {0};
    if (out->n_stop == ENGINE_STOPS) return err_set(err, -1, "%s: at most %d are allowed", who, ENGINE_STOPS);
    out->stop[out->n_stop] = s;
    if (text_init(&t, &out->stop[out->n_stop], 1, &why)) return err_set(err, -1, "%s: %.400s", who, why.text);
    out->n_stop++;
    return 0;
}

/* who: the flag or variable, for the message. */
static int set(const struct opt *o, struct opts *out, const char *who, const char *s, struct err *err)
{
    double real;
    switch (o->kind) {
    case ON:
        *((bool *)((char *)out + o->at)) = true;
        return 0;
    case TEXT:
        memcpy((char *)out + o->at, &s, sizeof s);
        return 0;
    case CHOICE:
        if (!in_choices(o->choices, s)) return err_set(err, -1, "%s: \"%.60s\" is not one of %s", who, s, o->choices);
        memcpy((char *)out + o->at, &s, sizeof s);
        return 0;
    case INT:
    case REAL:
        return set_number(o, out, who, s, err);
    case SIZE:
        real = 0;
        if ((o->max > 0 && strcmp(s, "0") == 0) || (size_parse(s, &real) && real >= o->min)) {
            *(double *)(void *)((char *)out + o->at) = real;
            return 0;
        }
        return err_set(err, -1, "%s: \"%.60s\" is not a size: 512M, 1.5G, a number of bytes%s", who, s,
                       o->min < 0 ? ", or 60%" : "");
    case STOP:
        return add_stop(out, who, s, err);
    case BIAS:
        return add_bias(o, out, who, s, err);
    }
    return 0;
}

/* ---------------------------------------------------------------- the command line */

int opts_edits(const char *a, const char *b)
{
    int row[OPTS_NAME_MAX + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 0; a[i]; i++) {
        int corner = row[0];
        row[0] = i + 1;
        for (int j = 0; j < n; j++) {
            int change = corner + (a[i] != b[j]);
            corner = row[j + 1];
            row[j + 1] = MIN(change, MIN(row[j], row[j + 1]) + 1);
        }
    }
    return row[n];
}

static int unknown(const char *flag, struct err *err)
{
    const char *best = NULL;
    int best_d = 0, n = (int)strcspn(flag, "=");
    char name[OPTS_NAME_MAX];
    if (n < OPTS_NAME_MAX) {
        memcpy(name, flag, (size_t)n);
        name[n] = '\0';
        for (size_t i = 0; i < COUNT_OF(table); i++) {
            int d = opts_edits(name, table[i].name);
            if (!best || d < best_d) best = table[i].name, best_d = d;
        }
    }
    if (best && best_d <= 1 + n / 3)
        return err_set(err, -1, "no such flag: %.60s; did you mean %s? (--help lists all)", flag, best);
    return err_set(err, -1, "no such flag: %.60s (--help lists all)", flag);
}

/* The option that arg names ("-m", "--model", "--model=x"); *value is the text after "=", or NULL. */
static const struct opt *find(const char *arg, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct opt *o = &table[i];
        size_t n = strlen(o->name);
        if ((o->letter && strcmp(arg, o->letter) == 0) || strcmp(arg, o->name) == 0) return o;
        if (strncmp(arg, o->name, n) == 0 && arg[n] == '=') {
            *value = arg + n + 1;
            return o;
        }
    }
    return NULL;
}

static int parse_flags(struct opts *out, int argc, char *const *argv, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *value;
        const struct opt *o = find(arg, &value);
        if (!o && (arg[0] != '-' || !arg[1]))
            return err_set(err, -1, "unexpected \"%.100s\": a model is given with -m, a prompt with -p", arg);
        if (!o) return unknown(arg, err);
        char who[OPTS_NAME_MAX];
        snprintf(who, sizeof who, "%.*s", (int)strcspn(arg, "="), arg);
        if (o->kind == ON && value) return err_set(err, -1, "%s takes no value", who);
        if (o->kind != ON && !value) {
            if (++i == argc) return err_set(err, -1, "%s needs a value (%s)", who, o->arg);
            value = argv[i];
        }
        if (set(o, out, who, value, err)) return -1;
    }
    return 0;
}

static int parse_environment(struct opts *out, opts_env *env, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const char *value = table[i].env ? env(table[i].env) : NULL;
        if (value && *value && set(&table[i], out, table[i].env, value, err)) return -1;
    }
    const char *term = env("TERM"), *no_color = env("NO_COLOR");
    out->plain = (no_color && *no_color) || !term || strcmp(term, "dumb") == 0;
    return 0;
}

/* Flags that do not go together. */
static int check_together(const struct opts *o, struct err *err)
{
    int modes = (o->nll != NULL) + o->dump_tokens + (o->top_logprobs >= 0);
    bool scripted = strcmp(o->engine, "scripted") == 0;
    if (modes > 1) return err_set(err, -1, "--dump-tokens, --dump-logprobs and --nll: one at a time");
    if (o->nll && o->prompt) return err_set(err, -1, "--nll reads its text from the file: -p does not go with it");
    if (modes && o->json) return err_set(err, -1, "--json does not go with --dump-tokens, --dump-logprobs or --nll");
    bool naive = strcmp(o->naive, "none") != 0;
    if (naive && (o->overcommit || o->fit))
        return err_set(err, -1, "--naive %s fails on purpose: it does not go with --overcommit or --fit", o->naive);
    if (o->no_save && o->resume) return err_set(err, -1, "--resume and --no-save do not go together");
    if (o->resume && (modes || o->prompt))
        return err_set(err, -1, "--resume is for a chat or lines on stdin: it does not go with -p, --nll or a dump");
    if (o->script_file && !scripted) return err_set(err, -1, "--script-file goes with --engine scripted");
    if (scripted && !o->script_file) return err_set(err, -1, "--engine scripted needs --script-file FILE");
    return 0;
}

const char *opts_getenv(const char *name)
{
    return getenv(name);
}

int opts_parse(struct opts *o, int argc, char *const *argv, opts_env *env, struct err *err)
{
    *o = (struct opts){.seed = -1, .top_logprobs = -1, .temp = -1};
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (table[i].initial && set(&table[i], o, table[i].name, table[i].initial, err)) return -1;
    if (parse_environment(o, env ? env : opts_getenv, err)) return -1;
    if (parse_flags(o, argc, argv, err)) return -1;
    if (o->help || o->version || o->help_events) return 0;
    o->own_system = o->system != NULL;
    return check_together(o, err);
}

/* ---------------------------------------------------------------- help */

static const char help_head[] =
    "plimsoll - talk with a language model in a GGUF file\n"
    "\n"
    "  plimsoll -m model.gguf                         a chat, line by line (Ctrl-C interrupts, /help, Ctrl-D leaves)\n"
    "  plimsoll -m model.gguf -p \"why is the sky blue\" one answer\n"
    "  git diff | plimsoll -p \"review this\"           one answer; stdin is appended after a blank line\n"
    "  plimsoll < questions.txt                       each line is a turn of one conversation\n"
    "  plimsoll forms                                 the texts it shares with its own model; no model is needed\n"
    "                 --hash                          one number for all of them\n"
    "                 --render                        dialogues on stdin, a JSON object a line, as messages\n"
    "  plimsoll store stat|check|salvage|dump|compact what it keeps on disk; plimsoll store --help explains\n"
    "  plimsoll sessions                              those that were saved; its --help: show, export, import, ...\n"
    "\n"
    "Flags, their defaults in brackets, their variables in [brackets]:\n";

static const char help_tail[] =
    "\n"
    "A value is given as \"--temp 0.5\" or \"--temp=0.5\".  Answers go to stdout, all else to stderr.  Text for a\n"
    "terminal is cleared of control characters; to a pipe it goes as it is.  Of data on stdin one final newline is\n"
    "left out.  Lines on stdin stop at the first turn that is refused or fails.  Limits: 16 MiB of data or a line.\n"
    "\n"
    "Exit status: 0 done, 1 internal or the output could not be written, 2 usage or input, 3 refused (it would not\n"
    "fit), 4 the engine failed (model file, memory at start), 130 interrupted, 141 the reader of stdout left, 143\n"
    "terminated.\n";

void opts_help(struct buf *out)
{
    buf_puts(out, help_head);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct opt *o = &table[i];
        char flag[64];
        snprintf(flag, sizeof flag, "%s%s%s%s%s", o->letter ? o->letter : "", o->letter ? ", " : "", o->name,
                 o->arg ? " " : "", o->arg ? o->arg : "");
        buf_printf(out, "  %-27s %s", flag, o->help);
        if (o->choices) buf_printf(out, ": %s", o->choices);
        if (o->initial) buf_printf(out, " (%s)", o->initial);
        if (o->env) buf_printf(out, " [%s]", o->env);
        buf_puts(out, "\n");
    }
    buf_puts(out, help_tail);
}
