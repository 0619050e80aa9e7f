/* config_cmd.c - `plimsoll config`: the settings in force. */
#include "app/config.h"
#include "app/faces.h"
#include "app/say.h"
#include "app/store_cmd.h"

static void put_help(struct buf *out)
{
    buf_puts(out,
             "plimsoll config [FLAGS] - every setting in force, and where it comes from\n\n"
             "A line is \"name = value  # origin\": the default, FILE:LINE, a variable or a flag; names\n"
             "are those of the flags (plimsoll --help) without \"--\".  What is printed is itself a file of\n"
             "settings.  It is read from --config FILE, else PLIMSOLL_CONFIG, else\n"
             "$XDG_CONFIG_HOME/plimsoll/config, else ~/.config/plimsoll/config; --no-config reads none.\n\n"
             "  temp = 0.5             # a comment behind a blank and #\n"
             "  system = \"a\\nb # c\"    # in quotes: \\n \\t \\\" \\\\ \\xHH\n"
             "  stop = END             # stop and logit-bias may stand several times\n"
             "  fit = on               # or off\n\n"
             "Only you and root may be able to write to the file, and it has at most 64 KiB.  A path is\n"
             "taken as it stands, without ~.  What a person must ask for each time, such as prompt or\n"
             "resume, is an error there.\n\n"
             "Exit status: 0 done; 1 stdout could not be written; 2 a flag, a variable or the file is\n"
             "wrong.\n");
}

/* The comment that the output begins with: which file was read, or would have been. */
static void put_head(const struct opts *o, struct buf *out)
{
    struct buf path = {0};
    bool place = config_default_path(opts_getenv, &path) == 0;
    if (o->file) buf_puts(out, "# settings, with the file ");
    else if (o->no_config) buf_puts(out, "# settings, without a file as was asked");
    else buf_printf(out, "# settings, without a file: %s", place ? "there is none at " : "no home is set");
    if (o->file || (place && !o->no_config)) config_put(out, o->file ? o->file : path.data);
    buf_puts(out, "\n");
    buf_free(&path);
}

int config_run(int argc, char **argv)
{
    struct opts o;
    struct buf text = {0};
    struct err err = {0};
    int bad = opts_parse(&o, argc, argv, NULL, &err), status = EXIT_USAGE;
    say_plainly(o.plain);
    const char *once = bad ? NULL : opts_asks_once(&o, NULL);
    if (once) bad = err_set(&err, OPTS_BAD, "plimsoll config takes no %s", once);
    if (bad) {
        say_error("%s", err.text);
    } else if (o.help) {
        status = face_print(put_help);
    } else {
        put_head(&o, &text);
        opts_show(&o, &text);
        status = store_cmd_print(&text);
    }
    opts_free(&o);
    return status;
}
