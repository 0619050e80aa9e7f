/* lesson_flags.c - what a lesson may ask of its child: the list of flags with their values, and of a script's commands.
 * What is not here is refused, whoever the lesson is from. */
#include "app/file_words.h"
#include "app/learn/lesson.h"
#include "app/opts.h"
#include "app/script.h"
#include "app/session/crew.h"
#include <ctype.h>

enum { LINE = 90 }; /* columns of what help lists */

enum kind { ALONE, COUNT, REAL, SIZE, ONE_OF, LIST_OF, CREW };

#define MIB ((double)(1 << 20))

static const struct flag {
    const char *name;
    enum kind kind;
    double most;         /* COUNT, REAL, SIZE */
    const char *choices; /* ONE_OF, LIST_OF: "a|b|c" */
} flags[] = {
    {"--ctx", COUNT, 1 << 16, NULL},
    {"--pool", COUNT, 1 << 20, NULL},
    {"--vram", SIZE, 1024 * MIB, NULL},
    {"--park", SIZE, 256 * MIB, NULL},
    {"--keep-unsaved", SIZE, 256 * MIB, NULL},
    {"--parallel", COUNT, 64, NULL},
    {"--max-tokens", COUNT, 1 << 16, NULL},
    {"--answers", COUNT, 4096, NULL},
    {"--thinking", COUNT, 1 << 16, NULL},
    {"--summary-tokens", COUNT, 1 << 16, NULL},
    {"--high-mark", COUNT, 100, NULL},
    {"--low-mark", COUNT, 100, NULL},
    {"--result-share", COUNT, 100, NULL},
    {"--result-tokens", COUNT, 1 << 20, NULL},
    {"--handover", COUNT, 1 << 20, NULL},
    {"--temp", REAL, 100, NULL},
    {"--fit", ALONE, 0, NULL},
    {"--overcommit", ALONE, 0, NULL},
    {"--lockstep", ALONE, 0, NULL},
    {"--strict-tools", ALONE, 0, NULL},
    {"--naive", ONE_OF, 0, "none|reserve|no-limit|first-fit|f32|reload|whole-batch"},
    {"--kv-type", ONE_OF, 0, "f16|q8_0|f32"},
    {"--summary", ONE_OF, 0, "model|extract|off"},
    {"--recall", ONE_OF, 0, "auto|summary|ask|off"},
    {"--unguarded", LIST_OF, 0, "window|clip|loop|docs|share|silent|slice|traces|summary"},
    {"--tools", LIST_OF, 0, "calculator|recall|artifact|read|list|search"},
    {"--crew", CREW, 0, NULL},
    {"--agents", COUNT, 64, NULL},
    {"--turns", COUNT, 1000, NULL},
};

static const char commands[] = " expect assert compact context summary drop pin unpin task done undo retry edit attach "
                               "ingest artifact read recall tokens stats memory plan limit policy wait use agents view "
                               "clear save tools ";

static bool is_one(const char *word, size_t n, const char *choices)
{
    for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|')
        if (strcspn(c, "|") == n && memcmp(c, word, n) == 0) return true;
    return false;
}

static bool is_list(const char *words, const char *choices)
{
    for (;;) {
        size_t n = strcspn(words, ",");
        if (!is_one(words, n, choices)) return false;
        if (!words[n]) return true;
        words += n + 1;
    }
}

/* One of the program's own, which crew_builtin() lists, a line each. */
static bool is_crew(const char *name)
{
    struct buf list = {0};
    size_t n = strlen(name);
    bool found = false;
    crew_builtin(&list);
    for (const char *at = list.data; at && *at && !found; at += strcspn(at, "\n"), at += *at == '\n')
        found = n > 0 && strncmp(at, name, n) == 0 && at[n] == ' ';
    buf_free(&list);
    return found;
}

static bool fits(const struct flag *f, const char *value)
{
    double size;
    char *end;
    switch (f->kind) {
    case ONE_OF: return is_one(value, strlen(value), f->choices);
    case LIST_OF: return is_list(value, f->choices);
    case CREW: return is_crew(value);
    case SIZE: return opts_size(value, &size) && size >= 0 && size <= f->most;
    case COUNT: return *value && strlen(value) < 9 && !value[strspn(value, "0123456789")] && atof(value) <= f->most;
    case REAL: return isdigit((unsigned char)*value) && strtod(value, &end) <= f->most && !*end;
    default: return false;
    }
}

static const struct flag *flag_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (strcmp(flags[i].name, name) == 0) return &flags[i];
    return NULL;
}

int lesson_check_words(const struct lesson_words *w, bool is_run, struct err *err)
{
    int i = 0;
    if (is_run && (w->n == 0 || strcmp(w->word[i++], "stress") != 0))
        return err_set(err, -1, "run: may be stress and its flags");
    for (; i < w->n; i++) {
        const struct flag *f = flag_of(w->word[i]);
        if (!f) return err_set(err, -1, "a lesson may not give \"%.40s\" (plimsoll learn --help lists what it may)",
                               w->word[i]);
        if (f->kind == ALONE) continue;
        const char *value = i + 1 < w->n ? w->word[++i] : "";
        if (!fits(f, value)) return err_set(err, -1, "a lesson may not give %s the value \"%.40s\"", f->name, value);
    }
    return 0;
}

/* ---------------------------------------------------------------- scripts */

static bool is_command(const char *name)
{
    char word[SCRIPT_NAME + 3];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(commands, word) != NULL;
}

/* Each word is one of the lesson's own files. */
static bool names_own(const struct lesson *l, const char *args, size_t n)
{
    struct buf name = {0};
    struct file_word w = {0};
    bool all = false, own = true;
    while (own && file_word_next(args, n, w.end, &w, &name)) {
        own = false;
        for (int i = 0; i < l->files && !w.quoted; i++)
            own |= strlen(l->file[i].name) == name.len && memcmp(l->file[i].name, name.data, name.len) == 0;
        all = own;
        name.len = 0;
    }
    buf_free(&name);
    return all;
}

static int check_command(const struct lesson *l, const struct script_item *it, struct err *err)
{
    bool reads = strcmp(it->name, "attach") == 0 || strcmp(it->name, "ingest") == 0;
    if (!is_command(it->name))
        return err_set(err, -1, "line %lld of a script: a lesson may not say /%.30s", (long long)it->line, it->name);
    if (reads && !names_own(l, it->text, it->n))
        return err_set(err, -1, "line %lld of a script: /%s takes a file of the lesson's own (== file)",
                       (long long)it->line, it->name);
    return 0;
}

int lesson_check_script(const struct lesson *l, const char *script, struct err *err)
{
    struct script s;
    struct script_item it;
    int rc = 0, turns = 0;
    enum script_result r = SCRIPT_END;
    script_open_text(&s, script, strlen(script));
    while (rc == 0 && (r = script_next(&s, &it, err)) == SCRIPT_ITEM) {
        turns += it.kind == SCRIPT_TURN;
        if (it.kind == SCRIPT_COMMAND) rc = check_command(l, &it, err);
    }
    script_close(&s);
    if (rc == 0 && r == SCRIPT_BAD) rc = -1;
    if (rc == 0 && turns == 0) rc = err_set(err, -1, "a script of a lesson has turns");
    return rc;
}

void lesson_allowed(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const struct flag *f = &flags[i];
        buf_printf(out, "    %-*s", f->kind == ALONE ? 0 : 17, f->name);
        if (f->kind == SIZE) buf_printf(out, " at most %.0fM", f->most / MIB);
        else if (f->kind == COUNT || f->kind == REAL) buf_printf(out, " at most %.0f", f->most);
        else if (f->kind == CREW) buf_puts(out, " a crew that is part of the program");
        else if (f->choices) buf_printf(out, " %s%s", f->choices, f->kind == LIST_OF ? ", several with commas" : "");
        buf_puts(out, "\n");
    }
    buf_puts(out, "and a script these commands:\n   ");
    for (const char *at = commands + 1, *end; *at; at = end + 1) {
        end = strchr(at, ' ');
        buf_printf(out, " /%.*s%s", (int)(end - at), at, end - commands > LINE && at - commands <= LINE ? "\n   " : "");
    }
    buf_puts(out, "\n");
}
