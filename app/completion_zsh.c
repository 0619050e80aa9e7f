/* completion_zsh.c - the tables of flags and subcommands as a function of zsh's completion system. */
#include "app/completion.h"

/* Words within '...[WORDS]...' of an _arguments specification. */
static void put_quoted(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'') buf_puts(out, "'\\'");
        if (strchr("[]:\\", *p)) buf_puts(out, "\\");
        buf_put(out, p, 1);
    }
}

/* ":WHAT:ACTION" */
static void put_value(struct buf *out, const struct completion_value *v, const char *what)
{
    if (v->kind == VALUE_NONE) return;
    buf_puts(out, ":");
    put_quoted(out, what);
    buf_puts(out, ":");
    switch (v->kind) {
    case VALUE_NONE: case VALUE_ANY: break;
    case VALUE_WORDS: buf_printf(out, "(%s)", v->words); break;
    case VALUE_LIST: buf_printf(out, "_values -s , name %s", v->words); break;
    case VALUE_FILES: /* the blank: _arguments adds no options of its own */
        if (*v->words) buf_printf(out, " _alternative \"names\\:name\\:(%s)\" \"files\\:file\\:_files\"", v->words);
        else buf_puts(out, "_files");
        break;
    case VALUE_FOLDERS: buf_puts(out, "_files -/"); break;
    case VALUE_SESSIONS: buf_puts(out, "_plimsoll_sessions"); break;
    }
}

static void put_flag(struct buf *out, const struct opt *o)
{
    struct completion_value v;
    completion_of_flag(o, &v);
    const char *equals = v.kind == VALUE_NONE ? "" : "=";
    if (o->letter)
        buf_printf(out, "        '(%s %s)'{%s,%s%s}'[", o->letter, o->name, o->letter, o->name, equals);
    else buf_printf(out, "        '%s%s%s[", opts_collects(o) ? "*" : "", o->name, equals);
    put_quoted(out, o->help);
    buf_puts(out, "]");
    put_value(out, &v, o->arg ? o->arg : "");
    buf_puts(out, "'\n");
    buf_free(&v.mem);
}

/* Its own flags, as specifications with blanks between them. */
static void put_own(struct buf *out, const char *items)
{
    struct completion_item i;
    for (const char *at = items; at && completion_item(&at, &i); buf_free(&i.value.mem)) {
        buf_printf(out, " '%s%s", i.name, i.value.kind != VALUE_NONE && i.name[1] == '-' ? "=" : "");
        put_value(out, &i.value, i.what);
        buf_puts(out, "'");
    }
}

/* What follows one of the words. */
static void put_operands(struct buf *out, const char *items)
{
    struct completion_item i;
    buf_puts(out, "        case $line[1] in\n");
    for (const char *at = items; at && completion_item(&at, &i); buf_free(&i.value.mem)) {
        if (i.value.kind == VALUE_FILES) buf_printf(out, "        %s) _files ;;\n", i.name);
        if (i.value.kind == VALUE_SESSIONS) buf_printf(out, "        %s) _plimsoll_sessions ;;\n", i.name);
    }
    buf_puts(out, "        esac ;;\n");
}

static void put_subcommand(struct buf *out, const struct subcommand *s)
{
    struct completion_value operand;
    bool has_operand = completion_operand(s, &operand);
    buf_printf(out, "    %s)\n        _arguments", s->name);
    if (s->all_flags) buf_puts(out, " $flags");
    put_own(out, s->flags);
    if (has_operand) {
        buf_puts(out, " '1");
        put_value(out, &operand, s->words);
        buf_puts(out, "'");
    }
    buf_free(&operand.mem);
    if (!s->words || has_operand) {
        buf_puts(out, " ;;\n");
        return;
    }
    struct completion_item i;
    buf_puts(out, " '1:what:(");
    int n = 0;
    for (const char *at = s->words; completion_item(&at, &i); buf_free(&i.value.mem))
        buf_printf(out, "%s%s", n++ ? " " : "", i.name);
    buf_puts(out, completion_items_take(s->words) ? ")' '2: :->operand' && return\n" : ")' ;;\n");
    if (completion_items_take(s->words)) put_operands(out, s->words);
}

void completion_zsh(struct buf *out)
{
    buf_puts(out,
             "#compdef plimsoll\n"
             "# Completion of plimsoll for zsh, made from its tables by `plimsoll completion zsh`.\n"
             "\n"
             "_plimsoll_sessions() {\n"
             "    local -a ids\n"
             "    ids=(last ${(f)\"$(_call_program sessions plimsoll sessions 2>/dev/null | "
             "grep -oE '^[0-9a-f]{8}')\"})\n"
             "    compadd -a ids\n"
             "}\n"
             "\n"
             "_plimsoll() {\n"
             "    local context state state_descr line\n"
             "    typeset -A opt_args\n"
             "    local -a flags commands\n"
             "    flags=(\n");
    for (size_t i = 0; i < opts_rows; i++) put_flag(out, &opts_table[i]);
    buf_puts(out, "    )\n    commands=(\n");
    for (const struct subcommand *s = subcommand_table; s < subcommand_table + subcommands; s++) {
        buf_printf(out, "        '%s:", s->name);
        put_quoted(out, s->help);
        buf_puts(out, "'\n");
    }
    buf_puts(out, "    )\n"
                  "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                  "        _describe -t commands subcommand commands\n"
                  "        return\n"
                  "    fi\n"
                  "    local first=$words[2]\n"
                  "    if (( ${+commands[(r)${first}:*]} )) && (( CURRENT > 2 )); then\n"
                  "        shift words\n"
                  "        (( CURRENT-- ))\n"
                  "    fi\n"
                  "    case $first in\n");
    for (size_t i = 0; i < subcommands; i++) put_subcommand(out, &subcommand_table[i]);
    buf_puts(out, "    *) _arguments $flags ;;\n    esac\n}\n\n_plimsoll \"$@\"\n");
}
