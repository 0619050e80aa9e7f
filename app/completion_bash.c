/* completion_bash.c - the tables of flags and subcommands as a function of bash. */
#include "app/completion.h"

/* Words are ours: letters, digits and what else a shell leaves alone (the tests look). */
static const char head[] =
    "# Completion of plimsoll for bash, made from its tables by `plimsoll completion bash`.\n"
    "\n"
    "_plimsoll_add()\n"
    "{\n"
    "    local line\n"
    "    while IFS= read -r line; do COMPREPLY+=(\"$line\"); done\n"
    "}\n"
    "_plimsoll_words() { _plimsoll_add < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_plimsoll_files()\n"
    "{\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    _plimsoll_add < <(compgen \"$1\" -- \"$cur\")\n"
    "}\n"
    "# Names with commas between them: the last is completed.\n"
    "_plimsoll_list()\n"
    "{\n"
    "    local before=\n"
    "    case $cur in *,*) before=${cur%,*}, ;; esac\n"
    "    compopt -o nospace 2>/dev/null\n"
    "    _plimsoll_add < <(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\")\n"
    "}\n"
    "_plimsoll_sessions()\n"
    "{\n"
    "    local ids\n"
    "    ids=$(\"${COMP_WORDS[0]}\" sessions 2>/dev/null </dev/null | grep -oE '^[0-9a-f]{8}' | tr '\\n' ' ')\n"
    "    _plimsoll_words \"last $ids\"\n"
    "}\n"
    "\n";

static const char begin[] =
    "_plimsoll()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} own= assigned=\n"
    "    COMPREPLY=()\n"
    "    # --flag=value comes as three words.\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur= assigned=1\n"
    "    elif [[ $prev == = && COMP_CWORD -gt 2 ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]} assigned=1\n"
    "    fi\n";

static const char end[] =
    "    if [[ $assigned ]]; then\n"
    "        _plimsoll_switch \"$prev\"\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _plimsoll_words \"$_plimsoll_flags $own\"\n"
    "    fi\n"
    "}\n"
    "complete -F _plimsoll plimsoll\n";

/* What offers the value, as a command. */
static void put_offer(struct buf *out, const struct completion_value *v)
{
    switch (v->kind) {
    case VALUE_NONE: case VALUE_ANY: buf_puts(out, ":"); break;
    case VALUE_WORDS: buf_printf(out, "_plimsoll_words '%s'", v->words); break;
    case VALUE_LIST: buf_printf(out, "_plimsoll_list '%s'", v->words); break;
    case VALUE_FILES:
        if (*v->words) buf_printf(out, "_plimsoll_words '%s'; ", v->words);
        buf_puts(out, "_plimsoll_files -f");
        break;
    case VALUE_FOLDERS: buf_puts(out, "_plimsoll_files -d"); break;
    case VALUE_SESSIONS: buf_puts(out, "_plimsoll_sessions"); break;
    }
}

/* The flags whose values are of this kind, as a pattern of `case`. */
static void put_pattern(struct buf *out, enum completion_kind kind)
{
    int n = 0;
    for (const struct opt *o = opts_table; o < opts_table + opts_rows; o++) {
        struct completion_value v;
        completion_of_flag(o, &v);
        if (v.kind == kind) buf_printf(out, "%s%s%s%s", n++ ? "|" : "", o->letter ? o->letter : "",
                                       o->letter ? "|" : "", o->name);
        buf_free(&v.mem);
    }
}

static void put_flags(struct buf *out)
{
    buf_puts(out, "_plimsoll_flags='");
    for (const struct opt *o = opts_table; o < opts_table + opts_rows; o++)
        buf_printf(out, "%s%s%s%s", o > opts_table ? " " : "", o->letter ? o->letter : "", o->letter ? " " : "",
                   o->name);
    buf_puts(out, "'\n\n# The value of a flag; 1: it takes none.\n_plimsoll_value()\n{\n    case $1 in\n");
    for (const struct opt *o = opts_table; o < opts_table + opts_rows; o++) {
        struct completion_value v;
        completion_of_flag(o, &v);
        if (v.kind > VALUE_ANY) {
            buf_printf(out, "    %s%s%s) ", o->letter ? o->letter : "", o->letter ? "|" : "", o->name);
            put_offer(out, &v);
            buf_puts(out, " ;;\n");
        }
        buf_free(&v.mem);
    }
    buf_puts(out, "    ");
    put_pattern(out, VALUE_ANY);
    buf_puts(out, ") ;;\n    *) return 1 ;;\n    esac\n}\n\n# --fit=off\n_plimsoll_switch()\n{\n    case $1 in\n    ");
    put_pattern(out, VALUE_NONE);
    buf_puts(out, ") _plimsoll_words 'on off' ;;\n    esac\n}\n\n");
}

/* The items' names, with blanks between them. */
static void put_names(struct buf *out, const char *items)
{
    struct completion_item i;
    int n = 0;
    for (const char *at = items; at && completion_item(&at, &i); buf_free(&i.value.mem))
        buf_printf(out, "%s%s", n++ ? " " : "", i.name);
}

/* A case of what follows one of the items, if anything does. */
static void put_values(struct buf *out, const char *indent, const char *word, const char *items)
{
    struct completion_item i;
    if (!completion_items_take(items)) return;
    buf_printf(out, "%scase %s in\n", indent, word);
    for (const char *at = items; completion_item(&at, &i); buf_free(&i.value.mem)) {
        if (i.value.kind == VALUE_NONE) continue;
        buf_printf(out, "%s%s) ", indent, i.name);
        put_offer(out, &i.value);
        buf_puts(out, "; return ;;\n");
    }
    buf_printf(out, "%sesac\n", indent);
}

static void put_subcommand(struct buf *out, const struct subcommand *s)
{
    struct completion_value operand;
    bool list = !completion_operand(s, &operand) && s->words;
    buf_printf(out, "    %s)\n", s->name);
    put_values(out, "        ", "$prev", s->flags);
    if (s->all_flags) {
        buf_puts(out, "        own='");
        put_names(out, s->flags);
        buf_puts(out, "' ;;\n");
        return;
    }
    buf_puts(out, "        if [[ $cur == -* ]]; then _plimsoll_words '");
    put_names(out, s->flags);
    buf_puts(out, "'\n");
    if (operand.kind > VALUE_ANY) {
        buf_puts(out, "        else ");
        put_offer(out, &operand);
        buf_puts(out, "\n");
    }
    if (list) {
        buf_puts(out, "        elif (( COMP_CWORD == 2 )); then _plimsoll_words '");
        put_names(out, s->words);
        buf_puts(out, completion_items_take(s->words) ? "'\n        else\n" : "'\n");
        put_values(out, "            ", "${COMP_WORDS[2]}", s->words);
    }
    buf_puts(out, "        fi\n        return ;;\n");
    buf_free(&operand.mem);
}

void completion_bash(struct buf *out)
{
    buf_puts(out, head);
    put_flags(out);
    buf_puts(out, begin);
    buf_puts(out, "    if (( COMP_CWORD == 1 )) && [[ $cur != -* ]]; then\n        _plimsoll_words '");
    for (size_t i = 0; i < subcommands; i++) buf_printf(out, "%s%s", i ? " " : "", subcommand_table[i].name);
    buf_puts(out, "'\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < subcommands; i++) put_subcommand(out, &subcommand_table[i]);
    buf_puts(out, "    esac\n    _plimsoll_value \"$prev\" && return\n");
    buf_puts(out, end);
}
