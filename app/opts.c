/* opts.c - the command line and the environment, read by the table. */
#include "app/opts_table.h"

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
        for (size_t i = 0; i < opts_rows; i++) {
            int d = opts_edits(name, opts_table[i].name);
            if (!best || d < best_d) best = opts_table[i].name, best_d = d;
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
            return err_set(err, -1, "unexpected \"%.100s\": a model is given with -m, a prompt with -p", arg);
        if (!o) return unknown(arg, err);
        char who[OPTS_NAME_MAX];
        snprintf(who, sizeof who, "%.*s", (int)strcspn(arg, "="), arg);
        if (o->kind == ON && value) return err_set(err, -1, "%s takes no value", who);
        if (o->kind != ON && !value) {
            if (++i == argc) return err_set(err, -1, "%s needs a value (%s)", who, o->arg);
            value = argv[i];
        }
        if (opts_set(o, out, who, value, err)) return -1;
    }
    return 0;
}

static int parse_environment(struct opts *out, opts_env *env, struct err *err)
{
    for (size_t i = 0; i < opts_rows; i++) {
        const char *value = opts_table[i].env ? env(opts_table[i].env) : NULL;
        if (value && *value && opts_set(&opts_table[i], out, opts_table[i].env, value, err)) return -1;
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
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *row = &opts_table[i];
        if (row->initial && opts_set(row, o, row->name, row->initial, err)) return -1;
    }
    if (parse_environment(o, env ? env : opts_getenv, err)) return -1;
    if (parse_flags(o, argc, argv, err)) return -1;
    if (o->help || o->version || o->help_events) return 0;
    o->own_system = o->system != NULL;
    return check_together(o, err);
}
