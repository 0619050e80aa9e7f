/* commands_explain.c - /explain: a log of another program, read to a verdict. */
#include "app/commands.h"
#include "app/input.h"
#include "app/learn/explain.h"
#include "app/say.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDTH = 100 };

static int read_log(const char *path, struct buf *out, struct err *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe that nobody writes to would hang */
    if (fd < 0) return err_set(err, -1, "%.200s: %s", path, strerror(errno));
    int rc = 0;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) rc = err_set(err, -1, "%.200s is not a file with text", path);
    else if (input_all(fd, INPUT_LIMIT, path, false, out, err) != INPUT_OK) rc = -1;
    if (rc == 0 && out->failed) rc = err_set(err, -1, "no memory for %.200s", path);
    close(fd);
    return rc;
}

static void tell(const struct buf *log)
{
    static struct verdict v[EXPLAIN_MOST]; /* the sessions' thread's alone: some 40 KiB */
    const int n = explain_text(log->data ? log->data : "", log->len, v, EXPLAIN_MOST);
    if (n == 0) say("nothing in it says why memory ran out");
    for (int i = 0; i < n; i++) {
        struct buf text = {0};
        verdict_text(&v[i], WIDTH, &text);
        if (text.failed) say_error("no memory to explain it");
        else command_text(i == 0 ? "what it says:" : "and another failure:", text.data, text.len);
        buf_free(&text);
    }
}

void command_explain(struct console *c, const char *arg, size_t n)
{
    struct buf path = {0}, log = {0};
    struct err err = {0};
    (void)c;
    if (n == 0 || memchr(arg, 0, n)) {
        say_error("/explain takes a FILE: the log or the traceback of a program that ran out of memory");
        return;
    }
    buf_put(&path, arg, n);
    if (path.failed) say_error("no memory for a name");
    else if (read_log(path.data, &log, &err)) command_complain(&err);
    else tell(&log);
    buf_free(&path);
    buf_free(&log);
}
