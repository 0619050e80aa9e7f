/* opts.c - the command line, the environment and the configuration file, read by the table. */
#include "app/config.h"
#include "app/opts_table.h"
#include <inttypes.h>

/* ---------------------------------------------------------------- layers */

/* What lower layers said of this row no longer counts; nor does what its own said, unless it collects. */
static void forget(struct opts *out, const struct opt *row, enum opts_from from)
{
    bool collects = opts_collects(row);
    int kept = 0;
    for (int i = 0; i < out->n_said; i++) {
        const struct opts_said *s = &out->said[i];
        if (s->row != row || (collects && s->from == from)) out->said[kept++] = *s;
    }
    if (kept < out->n_said && opts_kind(row) == STOP) out->n_stop = 0;
    if (kept < out->n_said && opts_kind(row) == BIAS) out->n_bias = 0;
    out->n_said = kept;
}

static int take(struct opts *out, struct opts_said said, const char *who, struct err *err)
{
    forget(out, said.row, said.from);
    if (opts_set(said.row, out, who, said.text, err)) return -1;
    assert(out->n_said < OPTS_SAID); /* a row each, or as many as it may collect */
    out->said[out->n_said++] = said;
    return 0;
}

static const struct opts_said *said_of(const struct opts *o, size_t at, enum opts_kind kind)
{
    for (int i = 0; i < o->n_said; i++)
        if (o->said[i].row->at == at && opts_kind(o->said[i].row) == kind) return &o->said[i];
    return NULL;
}

static const struct opts_said *said_as(const struct opts *o, const char *name)
{
    for (int i = 0; i < o->n_said; i++)
        if (strcmp(o->said[i].row->name, name) == 0) return &o->said[i];
    return NULL;
}

/* ---------------------------------------------------------------- settings that give way */

/* As if nobody had said it. */
static void unset(struct opts *o, const struct opt *row)
{
    char *at = (char *)o + row->at;
    assert(!opts_collects(row) && opts_kind(row) != SIZE && opts_kind(row) != REAL);
    forget(o, row, OPTS_DEFAULT);
    if (opts_kind(row) == ON) *(bool *)at = false;
    else if (opts_kind(row) == INT) memset(at, 0, sizeof(int64_t));
    else *(const char **)at = row->initial;
}

bool opts_yields(struct opts *o, const char *name)
{
    const struct opts_said *said = said_as(o, name);
    if (said && said->from == OPTS_FLAG) return false;
    if (said) unset(o, said->row);
    return true;
}

/* Of two that do not go together that of the nearer layer is in force, and the other gives way; -1: both are of one. */
static int choose(struct opts *o, const char *a, const char *b)
{
    const struct opts_said *x = said_as(o, a), *y = said_as(o, b);
    if (!x || !y || x->from == y->from) return -1;
    unset(o, x->from < y->from ? x->row : y->row);
    return 0;
}

void opts_whence(const struct opts *o, const char *name, struct buf *out)
{
    const struct opts_said *said = said_as(o, name);
    if (!said || said->from == OPTS_FLAG) return;
    if (said->from == OPTS_FILE) buf_printf(out, " (%.300s:%d has it", o->file, said->line);
    else buf_printf(out, " (%s has it", said->row->env);
    if (opts_kind(said->row) == ON) buf_printf(out, "; %s=off undoes it", name);
    buf_puts(out, ")");
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

const char *opts_nearest(const char *name, size_t n, size_t skip)
{
    const char *best = NULL;
    int best_d = 0;
    char word[OPTS_NAME_MAX];
    if (n >= OPTS_NAME_MAX) return NULL;
    memcpy(word, name, n);
    word[n] = '\0';
    for (size_t i = 0; i < opts_rows; i++) {
        if (skip && opts_table[i].kind & LINE_ONLY) continue; /* no name in a file */
        int d = opts_edits(word, opts_table[i].name + skip);
        if (!best || d < best_d) best = opts_table[i].name + skip, best_d = d;
    }
    return best_d <= 1 + (int)(n - strspn(word, "-")) / 3 ? best : NULL;
}

static int unknown(const char *flag, struct err *err)
{
    const char *best = opts_nearest(flag, strcspn(flag, "="), 0);
    if (best) return err_set(err, -1, "no such flag: %.60s; did you mean %s? (--help lists all)", flag, best);
    return err_set(err, -1, "no such flag: %.60s (--help lists all)", flag);
}

/* The option that arg names ("-m", "--model", "--model=x"); *value is the text after "=", or NULL. */
static const struct opt *find(const char *arg, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *o = &opts_table[i];
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
            return err_set(err, -1,
                           "unexpected \"%.100s\": a model is given with -m, a prompt with -p; --help lists the "
                           "commands", arg);
        if (!o) return unknown(arg, err);
        char who[OPTS_NAME_MAX];
        snprintf(who, sizeof who, "%.*s", (int)strcspn(arg, "="), arg);
        if (opts_kind(o) != ON && !value) {
            if (++i == argc) return err_set(err, -1, "%s needs a value (%s)", who, o->arg);
            value = argv[i];
        }
        if (take(out, (struct opts_said){.row = o, .from = OPTS_FLAG, .text = value}, who, err)) return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- variables */

static int parse_environment(struct opts *out, opts_env *env, struct err *err)
{
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *o = &opts_table[i];
        const struct opts_said said = {.row = o, .from = OPTS_VARIABLE, .text = o->env ? env(o->env) : NULL};
        if (said.text && *said.text && take(out, said, o->env, err)) return -1;
    }
    return 0;
}

static bool is_plain(opts_env *env)
{
    const char *term = env("TERM"), *no_color = env("NO_COLOR");
    return (no_color && *no_color) || !term || !*term || strcmp(term, "dumb") == 0;
}

/* ---------------------------------------------------------------- the file */

static int take_line(struct opts *out, const struct config *c, const struct config_line *line, struct err *err)
{
    char who[OPTS_NAME_MAX + 320];
    const struct opt *o = NULL;
    for (size_t i = 0; i < opts_rows && !o; i++)
        if (strcmp(opts_table[i].name + 2, line->name) == 0) o = &opts_table[i];
    snprintf(who, sizeof who, "%.300s:%d", c->path, line->number);
    const char *near = o ? NULL : opts_nearest(line->name, strlen(line->name), 2);
    if (near) return err_set(err, -1, "%s: no such name: %.60s; did you mean %s?", who, line->name, near);
    if (!o) return err_set(err, -1, "%s: no such name: %.60s (plimsoll config lists all)", who, line->name);
    if (o->kind & LINE_ONLY)
        return err_set(err, -1, "%s: %s is for the command line: a file must not set it", who, o->name);
    for (int i = 0; i < out->n_said; i++)
        if (out->said[i].row == o && !opts_collects(o))
            return err_set(err, -1, "%s: %s was already set in line %d", who, line->name, out->said[i].line);
    snprintf(who, sizeof who, "%.300s:%d: %s", c->path, line->number, line->name);
    return take(out, (struct opts_said){o, OPTS_FILE, line->number, line->value}, who, err);
}

static int parse_file(struct opts *out, struct config *c, struct err *err)
{
    struct config_line line;
    int got;
    while ((got = config_next(c, &line, err)) > 0)
        if (take_line(out, c, &line, err)) return -1;
    return got;
}

/* What is to be read, said by flags and variables: *path is a name, in `mem` if it is nobody's wish (then it need not
 * be there), or NULL. */
static int which_file(const struct opts *o, opts_env *env, struct buf *mem, const char **path, struct err *err)
{
    const struct opts_said *named = said_of(o, offsetof(struct opts, config), TEXT);
    const struct opts_said *none = o->no_config ? said_of(o, offsetof(struct opts, no_config), ON) : NULL;
    *path = NULL;
    if (named && none && named->from == none->from)
        return err_set(err, -1, "--config and --no-config do not go together");
    if (none && (!named || named->from < none->from)) return 0;
    if (named) *path = o->config;
    else if (config_default_path(env, mem) == 0) *path = mem->data;
    return 0;
}

/* ---------------------------------------------------------------- all of it */

/* What is for teaching: nothing of it may reach a saved session, nor a person who has not asked for it. */
static int check_lesson(const struct opts *o, struct err *err)
{
    const char *flag = o->unguarded ? "--unguarded" : o->answers > 0 ? "--answers" : NULL;
    bool dumps = o->nll || o->dump_tokens || o->top_logprobs >= 0;
    if (flag && (!o->no_save || dumps))
        return err_set(err, -1, "%s is for lessons: it goes with --no-save, and not with --nll or a dump", flag);
    if (o->answers > 0 && (o->max_tokens > 0 || o->thinking > 0 || o->n_stop > 0 || o->strict_tools))
        return err_set(err, -1, "--answers says how long every answer is: it does not go with --max-tokens, "
                       "--thinking, --stop or --strict-tools");
    return 0;
}

/* With a server that answers, what is about our own engine would do nothing; of settings from elsewhere, which are for
 * that, nothing is left. */
static int check_remote(struct opts *o, struct err *err)
{
    static const char *const never[] = {
        "--vram", "--fit", "--naive", "--answers", "--strict-tools", "--thinking", "--no-thinking", "--logit-bias",
        "--threads", "--isa", "--backend", "--device", "--exact", "--fast", "--draft", "--no-draft",
        "--kv-type", "--no-pin", "--engine",
        "--script-file", "--dump-tokens", "--dump-logprobs", "--nll", "--snapshots", "--snapshots-session",
        "--overcommit", "--park",
    };
    if (!o->remote && (o->remote_model || o->remote_key_file))
        return err_set(err, -1, "%s goes with --remote URL", o->remote_model ? "--remote-model" : "--remote-key-file");
    if (!o->remote) return 0;
    const char *flag = opts_by_flag(o, never, COUNT_OF(never));
    if (flag) return err_set(err, -1, "%s is about an engine of our own: with --remote a server answers", flag);
    static const char *const model[] = {"--model"}, *const form[] = {"--template"};
    if (!opts_by_flag(o, model, 1)) o->model = NULL; /* of our own engine: no word on the server's */
    if (!opts_by_flag(o, form, 1)) o->template_name = NULL;
    o->strict_tools = o->overcommit = o->no_thinking = false;
    o->thinking = 0;
    o->n_bias = 0;
    o->park = 0;
    o->naive = "none";
    return 0;
}

/* A policy that fails on purpose, and pools that somebody chose. */
static int check_policy(struct opts *o, struct err *err)
{
    const bool naive = strcmp(o->naive, "none") != 0;
    if ((naive && o->overcommit && choose(o, "--naive", "--overcommit")) ||
        (strcmp(o->naive, "none") != 0 && o->fit && choose(o, "--naive", "--fit")))
        return err_set(err, -1, "--naive %s fails on purpose: it does not go with --overcommit or --fit", o->naive);
    if (o->pool > 0 && o->fit && choose(o, "--pool", "--fit"))
        return err_set(err, -1, "--fit chooses the KV pool: --pool does not go with it");
    return 0;
}

/* --no-save of a setting stays: who wants nothing saved is not to find it saved. */
static int check_resume(const struct opts *o, struct err *err)
{
    struct buf whence = {0};
    if (!o->no_save || !o->resume) return 0;
    opts_whence(o, "--no-save", &whence);
    err_set(err, -1, "--resume and --no-save do not go together%s", whence.data ? whence.data : "");
    buf_free(&whence);
    return -1;
}

/* Flags that do not go together.  Where one of two is a setting from elsewhere, the flag is in force. */
static int check_together(struct opts *o, struct err *err)
{
    int modes = (o->nll != NULL) + o->dump_tokens + (o->top_logprobs >= 0);
    bool scripted = strcmp(o->engine, "scripted") == 0;
    if (modes > 1) return err_set(err, -1, "--dump-tokens, --dump-logprobs and --nll: one at a time");
    if (o->nll && o->prompt) return err_set(err, -1, "--nll reads its text from the file: -p does not go with it");
    if (o->script && (o->prompt || modes))
        return err_set(err, -1, "--script reads turns from stdin: -p, --nll and a dump do not go with it");
    if (modes && o->json && !opts_yields(o, "--json"))
        return err_set(err, -1, "--json does not go with --dump-tokens, --dump-logprobs or --nll");
    if (check_policy(o, err)) return -1;
    if (o->low_mark + QUOTA_APART > o->high_mark)
        return err_set(err, -1, "--low-mark %" PRId64 " must be %d or more under --high-mark %" PRId64, o->low_mark,
                       QUOTA_APART, o->high_mark);
    if (check_lesson(o, err) || check_remote(o, err)) return -1;
    if (o->thinking > 0 && o->no_thinking && choose(o, "--thinking", "--no-thinking"))
        return err_set(err, -1, "--thinking and --no-thinking do not go together");
    if (o->draft > 0 && o->no_draft && choose(o, "--draft", "--no-draft"))
        return err_set(err, -1, "--draft and --no-draft do not go together");
    if (o->exact && o->fast && choose(o, "--exact", "--fast"))
        return err_set(err, -1, "--exact and --fast do not go together");
    if (check_resume(o, err)) return -1;
    if (o->crew && modes && !opts_yields(o, "--crew"))
        return err_set(err, -1, "--crew does not go with --nll or a dump");
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

/* Layer on layer: defaults, the file (NULL: none), variables, the command line. */
static int parse_layers(struct opts *o, struct config *file, int argc, char *const *argv, opts_env *env,
                        struct err *err)
{
    *o = (struct opts){.seed = -1, .top_logprobs = -1, .temp = -1, .plain = is_plain(env),
                        .argc = argc, .argv = argv};
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *row = &opts_table[i];
        if (row->initial && opts_set(row, o, row->name, row->initial, err)) return OPTS_BAD;
    }
    if (file && parse_file(o, file, err)) return OPTS_BAD_FILE;
    return parse_environment(o, env, err) || parse_flags(o, argc, argv, err) ? OPTS_BAD : 0;
}

/* Once without a file, which tells whether there is one to read and which, and then again on top of it. */
int opts_parse(struct opts *o, int argc, char *const *argv, opts_env *env, struct err *err)
{
    struct config file = {0};
    struct buf mem = {0};
    const char *path;
    if (!env) env = opts_getenv;
    if (parse_layers(o, NULL, argc, argv, env, err)) return OPTS_BAD;
    if (o->help || o->version || o->help_events || o->help_crew) return 0;
    if (which_file(o, env, &mem, &path, err)) return OPTS_BAD;
    int bad = path && config_read(&file, path, path != mem.data, err) ? OPTS_BAD_FILE : 0;
    buf_free(&mem);
    if (!bad && file.path) bad = parse_layers(o, &file, argc, argv, env, err);
    if (bad) {
        config_free(&file);
        parse_layers(o, NULL, argc, argv, env, NULL);
        return bad;
    }
    o->file = file.path;
    o->file_text = file.text;
    o->own_system = o->system != NULL;
    if (o->unguarded && guards_read(&o->off, o->unguarded, err)) return -1;
    return check_together(o, err);
}

const char *opts_asks_once(const struct opts *o, const char *but)
{
    for (int i = 0; i < o->n_said; i++) {
        const struct opt *row = o->said[i].row;
        bool about_the_file = row->at == offsetof(struct opts, config) || row->at == offsetof(struct opts, no_config);
        if (but && strcmp(row->name, but) == 0) continue;
        if ((row->kind & LINE_ONLY) && !about_the_file && row->at != offsetof(struct opts, help)) return row->name;
    }
    return NULL;
}

void opts_free(struct opts *o)
{
    free(o->file);
    free(o->file_text);
    o->file = o->file_text = NULL;
}

int opts_without(int argc, char *const *argv, const char *const *flag, int n, char **out)
{
    int left = 0;
    for (int i = 0; i < argc; i++) {
        const char *value;
        const struct opt *o = i > 0 ? find(argv[i], &value) : NULL;
        bool with_next = o && opts_kind(o) != ON && !value && i + 1 < argc, leaves = false;
        for (int k = 0; o && k < n; k++) leaves |= strcmp(o->name, flag[k]) == 0;
        if (!leaves) out[left++] = argv[i];
        if (with_next && !leaves) out[left++] = argv[i + 1];
        i += with_next;
    }
    return left;
}

const char *opts_by_flag(const struct opts *o, const char *const *names, size_t n)
{
    for (int i = 0; i < o->n_said; i++)
        for (size_t k = 0; k < n; k++)
            if (o->said[i].from == OPTS_FLAG && strcmp(o->said[i].row->name, names[k]) == 0) return names[k];
    return NULL;
}

const char *opts_variable(const char *flag)
{
    for (size_t i = 0; i < opts_rows; i++)
        if (strcmp(opts_table[i].name, flag) == 0) return opts_table[i].env;
    return NULL;
}
