/* stream.c - see stream.h. */
#include "app/stream.h"
#include "app/app.h"
#include "app/say.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { TOLD = 20 };

int stream_open(struct stream *s, const char *path, struct err *err)
{
    bool is_stdin = !path || strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *s = (struct stream){.line = 0};
    if (fd < 0) return err_set(err, -1, "%.300s could not be read: %s", path, strerror(errno));
    input_open(&s->in, fd);
    s->in.limit = EVENT_MAX_LINE;
    if (!is_stdin) s->in.what = path;
    return 0;
}

void stream_wrong(struct stream *s, const char *why)
{
    if (s->wrong++ >= TOLD) return;
    if (s->line == 0) say_error("%.300s: %s", s->in.what, why);
    else say_error("%.300s: line %lld: %s", s->in.what, (long long)s->line, why);
}

bool stream_next(struct stream *s)
{
    event_free(&s->event);
    for (;;) {
        struct err err = {0};
        enum input_result r = input_line(&s->in, &s->text, &s->n, &err);
        if (r == INPUT_FAILED) {
            s->line++;
            stream_wrong(s, err.text);
        }
        if (r != INPUT_OK) return false;
        s->line++;
        if (event_read(s->text, s->n, &s->event, &err) == 0) return true;
        stream_wrong(s, err.text);
    }
}

int stream_close(struct stream *s)
{
    event_free(&s->event);
    if (s->wrong > TOLD) say_error("%.300s: %lld line%s more %s wrong", s->in.what, (long long)(s->wrong - TOLD),
                                    plural(s->wrong - TOLD), s->wrong - TOLD == 1 ? "is" : "are");
    input_close(&s->in);
    if (s->in.fd != STDIN_FILENO) close(s->in.fd);
    return s->wrong ? EXIT_USAGE : EXIT_DONE;
}

/* ------------------------------------------------------------------ the command line */

static int unknown(const char *command, const char *arg, const struct stream_flag *flags, size_t n, struct err *err)
{
    const char *near = NULL;
    int least = 0, len = (int)strlen(arg);
    for (size_t i = 0; len < OPTS_NAME_MAX && i < n; i++) {
        int edits = opts_edits(arg, flags[i].name);
        if (!near || edits < least) near = flags[i].name, least = edits;
    }
    bool is_near = near && least <= 1 + len / 3;
    return err_set(err, -1, "no such flag: %.60s%s%s%s (plimsoll %s --help)", arg, is_near ? "; did you mean " : "",
                   is_near ? near : "", is_near ? "?" : "", command);
}

int stream_parse(int argc, char *const *argv, const struct stream_flag *flags, size_t n, const char **file, bool *help,
                 struct err *err)
{
    *file = NULL;
    *help = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        size_t k = 0;
        while (k < n && strcmp(arg, flags[k].name) != 0) k++;
        if (k < n) *flags[k].on = true;
        else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) *help = true;
        else if (arg[0] == '-' && arg[1]) return unknown(argv[0], arg, flags, n, err);
        else if (*file) return err_set(err, -1, "%s takes one FILE, not also \"%.60s\"", argv[0], arg);
        else if (!*arg) return err_set(err, -1, "%s needs a FILE, not an empty name", argv[0]);
        else *file = arg;
    }
    if (*help || *file || !isatty(STDIN_FILENO)) return 0;
    return err_set(err, -1, "%s needs a FILE, or a stream on stdin (plimsoll %s --help)", argv[0], argv[0]);
}
