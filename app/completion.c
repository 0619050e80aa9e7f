/* completion.c - `plimsoll completion bash|zsh`, and what may follow a flag. */
#include "app/completion.h"
#include "app/faces.h"
#include "app/guards.h"
#include "app/learn/lesson.h"
#include "app/learn/plan_gpu.h"
#include "app/learn/plan_shape.h"
#include "app/say.h"
#include "app/session/crew.h"
#include "tools/tool.h"

/* ---------------------------------------------------------------- values */

static void put_word(struct buf *out, const char *word, size_t n)
{
    if (out->len > 0) buf_puts(out, " ");
    buf_put(out, word, n);
}

/* Names that a value may have beside what its kind says. */
static void put_crews(struct buf *out)
{
    struct buf lines = {0};
    crew_builtin(&lines); /* "debate   two sides ...\n" */
    for (const char *p = lines.data; p && *p; p = strchr(p, '\n') + 1) put_word(out, p, strcspn(p, " \n"));
    buf_free(&lines);
}

static void put_tools(struct buf *out)
{
    put_word(out, "all", 3);
    for (int i = 0; i < tools_count(); i++) put_word(out, tool_at(i)->name, strlen(tool_at(i)->name));
}

static void put_effects(struct buf *out)
{
    for (int i = 0; i < tools_count(); i++) {
        const struct tool *t = tool_at(i);
        if (t->effect & (TOOL_WRITES | TOOL_RUNS)) put_word(out, t->name, strlen(t->name));
    }
}

/* Words of a list that has something else between them. */
static void put_list(struct buf *out, const char *list, const char *between)
{
    for (const char *p = list + strspn(list, between); *p; p += strspn(p, between)) {
        size_t n = strcspn(p, between);
        put_word(out, p, n);
        p += n;
    }
}

static void put_guards(struct buf *out)
{
    const struct guards all = {true, true, true, true, true, true, true, true, true};
    struct buf words = {0};
    guards_words(&all, &words);
    put_list(out, words.data ? words.data : "", ", ");
    buf_free(&words);
}

static void put_lessons(struct buf *out)
{
    for (int i = 0; i < lesson_count(); i++) {
        struct lesson l;
        struct err err;
        if (lesson_builtin(i, &l, &err)) continue; /* a test reads them all */
        put_word(out, l.name, strlen(l.name));
        lesson_free(&l);
    }
}

static void put_gpus(struct buf *out)
{
    for (int i = 0; i < plan_gpus_n; i++) put_word(out, plan_gpus[i].name, strlen(plan_gpus[i].name));
}

static void put_shapes(struct buf *out)
{
    for (int i = 0; i < plan_shapes_n; i++)
        if (plan_shapes[i].arch) put_word(out, plan_shapes[i].name, strlen(plan_shapes[i].name));
}

static void put_types(struct buf *out) { put_list(out, PLAN_MIXES, ", "); }

static const struct { const char *flag; enum completion_kind kind; void (*put)(struct buf *out); } special[] = {
    {"--crew", VALUE_FILES, put_crews}, {"--tools", VALUE_LIST, put_tools}, {"--allow", VALUE_LIST, put_effects},
    {"--unguarded", VALUE_LIST, put_guards},
};

/* Of subcommands alone: NAME is learn's. */
static const struct { const char *what; void (*put)(struct buf *out); } named[] = {
    {"NAME", put_lessons}, {"GPU", put_gpus}, {"SHAPE", put_shapes}, {"TYPE", put_types},
};

static void have_words(struct completion_value *out, enum completion_kind kind)
{
    out->kind = kind;
    out->words = out->mem.data ? out->mem.data : "";
}

/* What is called so, as FILE, or is a choice as "a|b". */
static void of_what(const char *what, struct completion_value *out)
{
    *out = (struct completion_value){.kind = VALUE_ANY, .words = ""};
    if (strcmp(what, "FILE") == 0) out->kind = VALUE_FILES;
    if (strcmp(what, "DIR") == 0) out->kind = VALUE_FOLDERS;
    if (strcmp(what, "SESSION") == 0) out->kind = VALUE_SESSIONS;
    if (!strchr(what, '|')) return;
    put_list(&out->mem, what, "|");
    have_words(out, VALUE_WORDS);
}

/* ... and names that only subcommands have. */
static void of_item(const char *what, struct completion_value *out)
{
    of_what(what, out);
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        if (strcmp(named[i].what, what) != 0) continue;
        named[i].put(&out->mem);
        have_words(out, VALUE_WORDS);
    }
}

void completion_of_flag(const struct opt *o, struct completion_value *out)
{
    *out = (struct completion_value){.words = ""};
    if (opts_kind(o) == ON) return;
    of_what(o->choices ? o->choices : o->arg, out);
    for (size_t i = 0; i < COUNT_OF(special); i++) {
        if (strcmp(special[i].flag, o->name) != 0) continue;
        special[i].put(&out->mem);
        have_words(out, special[i].kind);
    }
}

bool completion_item(const char **at, struct completion_item *out)
{
    size_t n = strcspn(*at, " "), name = strcspn(*at, " =");
    if (n == 0) return false;
    *out = (struct completion_item){.value = {.words = ""}};
    snprintf(out->name, sizeof out->name, "%.*s", (int)name, *at);
    snprintf(out->what, sizeof out->what, "%.*s", name < n ? (int)(n - name - 1) : 0, *at + name + 1);
    if (name < n) of_item(out->what, &out->value);
    *at += n + ((*at)[n] == ' ');
    return true;
}

bool completion_items_take(const char *items) { return items && strchr(items, '='); }

bool completion_operand(const struct subcommand *s, struct completion_value *out)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    *out = (struct completion_value){.words = ""};
    if (!s->words || s->words[strspn(s->words, capitals)]) return false;
    of_item(s->words, out);
    return true;
}

/* ---------------------------------------------------------------- the command */

static void put_help(struct buf *out)
{
    buf_puts(out,
             "plimsoll completion bash|zsh - what a shell needs to complete plimsoll's flags\n\n"
             "  source <(plimsoll completion bash)     in this bash; or as a file, in\n"
             "                                         share/bash-completion/completions/plimsoll\n"
             "  plimsoll completion zsh > _plimsoll    in a folder of zsh's $fpath\n\n"
             "make install puts both in their places.\n");
}

int completion_run(int argc, char **argv)
{
    static const struct { const char *shell; void (*put)(struct buf *out); } shells[] = {
        {"bash", completion_bash}, {"zsh", completion_zsh}, {"--help", put_help}, {"-h", put_help},
    };
    for (size_t i = 0; argc == 2 && i < COUNT_OF(shells); i++)
        if (strcmp(argv[1], shells[i].shell) == 0) return face_print(shells[i].put);
    say_error("plimsoll completion bash, or zsh: the shell that it is for");
    return EXIT_USAGE;
}
