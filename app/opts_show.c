/* opts_show.c - every value in force with its origin, so that the output is itself a configuration file. */
#include "app/config.h"
#include "app/opts_table.h"

enum { ORIGIN_COLUMN = 32 };

static void put_origin(const struct opts *o, const struct opts_said *said, size_t column, struct buf *out)
{
    buf_printf(out, "%*s  # ", column < ORIGIN_COLUMN ? (int)(ORIGIN_COLUMN - column) : 0, "");
    switch (said->from) {
    case OPTS_DEFAULT:
        buf_puts(out, said->text ? "default" : "default: not given");
        break;
    case OPTS_FILE:
        config_put(out, o->file); /* a path may have anything in it */
        buf_printf(out, ":%d", said->line);
        break;
    case OPTS_VARIABLE:
        buf_puts(out, said->row->env);
        break;
    case OPTS_FLAG:
        buf_puts(out, said->row->name);
        break;
    }
    buf_puts(out, "\n");
}

/* A line that would be no setting, since it has no value or a file must not have it, is a comment. */
static void put_line(const struct opts *o, const struct opts_said *said, struct buf *out)
{
    size_t from = out->len;
    const struct opt *row = said->row;
    const char *text = said->text;
    if (opts_kind(row) == ON) text = *((const bool *)((const char *)o + row->at)) ? "on" : "off";
    if (!text || (row->kind & LINE_ONLY)) buf_puts(out, "# ");
    buf_printf(out, "%s =", row->name + 2);
    if (text) {
        buf_puts(out, " ");
        config_put(out, text);
    }
    put_origin(o, &(struct opts_said){row, said->from, said->line, text}, out->len - from, out);
}

void opts_show(const struct opts *o, struct buf *out)
{
    for (size_t i = 0; i < opts_rows; i++) {
        const struct opt *row = &opts_table[i];
        int lines = 0;
        for (int k = 0; k < o->n_said; k++) {
            if (o->said[k].row != row) continue;
            put_line(o, &o->said[k], out);
            lines++;
        }
        if (!lines && !(row->kind & LINE_ONLY))
            put_line(o, &(struct opts_said){row, OPTS_DEFAULT, 0, row->initial}, out);
    }
}
