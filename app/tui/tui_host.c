/* tui_host.c - see tui_host.h. */
#include "app/tui/tui_host.h"
#include "app/input.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/screen.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EDITOR_LOOK_MS = 100, EDITOR_GRACE_S = 2 };
enum { EXACT = 16 << 10 }; /* bytes of a text that are counted at each key; from them a longer one is estimated */

/* This thread must not wait for itself, so a line of its own does not go over the bridge. */
static void say_here(struct tui_host *h, enum say_kind kind, const char *text)
{
    struct news n = {.kind = NEWS_LINE, .value = (int64_t)kind};
    buf_puts(&n.text, text);
    ui_news(h->ui, &n);
    buf_free(&n.text);
}

/* ------------------------------------------------------------------ orders */

static bool order(void *self, const char *text, size_t n)
{
    return bridge_order(((struct tui_host *)self)->bridge, text, n);
}

static bool take_back(void *self, struct buf *text)
{
    return bridge_drop_order(((struct tui_host *)self)->bridge, text);
}

static void cancel(void *self, const char *agent) { desk_cancel(((struct tui_host *)self)->desk, agent); }

static void ask(void *self, const struct doc_ask *what) { bridge_ask(((struct tui_host *)self)->bridge, what); }
static void leave(void *self) { ((struct tui_host *)self)->wants_leave = true; }

static void end(void *self)
{
    (void)self;
    signals_exit();
}

static void answer(void *self, int64_t question, int choice, const char *text, size_t n)
{
    bridge_answer(((struct tui_host *)self)->bridge, question, choice, text, n);
}

/* The vocabulary is constant, so this thread may use it too. */
static int64_t tokens(void *self, const char *text, size_t n, bool *exact)
{
    struct tui_host *h = self;
    const struct vocab *v = h->a->ops->vocab(h->a->engine);
    struct ids ids = {0};
    const size_t part = MIN(n, (size_t)EXACT);
    if (!v || vocab_encode(v, NULL, text, part, 0, &ids, NULL) || ids.failed) {
        ids_free(&ids);
        return -1;
    }
    const double each = (double)ids.n / (double)MAX(part, (size_t)1);
    ids_free(&ids);
    *exact = part == n && (!h->a->info->remote || h->a->info->own_vocab);
    return (int64_t)(each * (double)n + 0.5);
}

/* Of a prompt: of one message, or of none.  -1: not known. */
static int64_t prompt_tokens(const struct tui_host *h, const struct msg *msg, int n)
{
    const struct vocab *v = h->a->ops->vocab(h->a->engine);
    enum template_kind kind;
    struct ids ids = {0};
    const bool known = v && template_by_name(h->a->info->template, &kind) == 0 &&
                       template_render(kind, v, NULL, msg, n, true, &ids, NULL, 0, NULL) == 0 && !ids.failed;
    const int64_t tokens = known ? (int64_t)ids.n : -1;
    ids_free(&ids);
    return tokens;
}

/* As the session counts a message: as a prompt of its own, less an empty one. */
static int64_t frame(void *self, const char *text, size_t n)
{
    const struct msg m = {.role = ROLE_USER, .text = text, .len = MIN(n, (size_t)EXACT)};
    const int64_t none = prompt_tokens(self, NULL, 0), whole = prompt_tokens(self, &m, 1);
    bool exact;
    const int64_t own = tokens(self, text, m.len, &exact);
    return none < 0 || own < 0 ? -1 : MAX(whole - none - own, -1);
}

static const struct complete_source *source(void *self) { return &((struct tui_host *)self)->source; }

static void remember(void *self, const char *text, size_t n)
{
    struct tui_host *h = self;
    struct err err = {0};
    if (history_add(&h->history, text, n, &err) && *err.text) {
        h->history.saves = false; /* it was said once */
        say_here(h, SAY_ERROR, err.text);
    }
}

/* ------------------------------------------------------------------ the terminal */

static size_t copy(void *self, const char *text, size_t n)
{
    (void)self;
    return screen_copy(text, n);
}

static void redraw(void *self)
{
    (void)self;
    screen_forget();
}

static void suspend(void *self)
{
    (void)self;
    screen_stop();
}

static bool ending(void) { return signals_pending() == SIGTERM || signals_pending() == SIGHUP; }

/* Its status, or -1.  What is to end this program ends the editor first: it is told, and killed where it stays. */
static int wait_for_editor(pid_t pid)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}; /* -1: a look sees it */
    double told = 0;
    int status = -1;
    pid_t done;
    while ((done = waitpid(pid, &status, WNOHANG)) == 0 || (done < 0 && errno == EINTR)) {
        if (ending() && told == 0) kill(pid, signals_pending()), told = progress_clock();
        else if (ending() && progress_clock() - told > EDITOR_GRACE_S) kill(pid, SIGKILL);
        poll(&ended, 1, EDITOR_LOOK_MS);
    }
    if (ended.fd >= 0) close(ended.fd);
    return done == pid ? status : -1;
}

/* The editor is a command line of the person's own, as git and others take it. */
static int run_editor(const char *path)
{
    const char *editor = opts_getenv("VISUAL");
    if (!editor || !*editor) editor = opts_getenv("EDITOR");
    if (!editor || !*editor) editor = "vi";
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
    struct sigaction interrupt, quit;
    struct buf line = {0};
    const bool plain = !strpbrk(editor, "=;&|<>()$`\\\"'*?[#~!\n"); /* then no shell waits behind it, and ends first */
    buf_printf(&line, "%s%s \"$1\"", plain ? "exec " : "", editor);
    if (line.failed) return -1;
    sigaction(SIGINT, &ignore, &interrupt); /* Ctrl-C there is the editor's */
    sigaction(SIGQUIT, &ignore, &quit);
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGINT, &usual, NULL);
        sigaction(SIGQUIT, &usual, NULL);
        sigaction(SIGPIPE, &usual, NULL); /* what is ignored would stay so in all that it starts */
        sigaction(SIGXFSZ, &usual, NULL);
        execl("/bin/sh", "sh", "-c", line.data, "sh", path, (char *)NULL);
        _exit(127);
    }
    const int status = pid > 0 ? wait_for_editor(pid) : -1;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    buf_free(&line);
    return status;
}

static bool write_file(int fd, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t done = write(fd, text + at, n - at);
        if (done < 0 && errno != EINTR) return false;
        if (done > 0) at += (size_t)done;
    }
    return true;
}

/* In the folder that the program was started in, under a name of its own. */
static bool save(void *self, const char *text, size_t n, char path[200])
{
    struct tm tm;
    const time_t t = time(NULL);
    (void)self;
    if (!localtime_r(&t, &tm) || !strftime(path, 200, "plimsoll-verdict-%Y%m%d-%H%M%S.txt", &tm)) return false;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write_file(fd, text, n);
    int error = errno;
    if (fd >= 0 && close(fd)) ok = false, error = errno;
    if (fd >= 0 && !ok) unlink(path); /* a part of it is worse than nothing */
    if (!ok) snprintf(path, 200, "%s", strerror(error));
    return ok;
}

/* What the file has now is the text; its last newline is the editor's. */
static bool read_file(const char *path, struct buf *text)
{
    struct err err = {0};
    struct buf now = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool whole = input_all(fd, EDIT_LIMIT, "the editor's file", false, &now, &err) == INPUT_OK && !now.failed;
    close(fd);
    if (whole) {
        text->len = 0;
        buf_put(text, now.data, now.len - (now.len > 0 && now.data[now.len - 1] == '\n'));
    }
    buf_free(&now);
    return whole;
}

static void editor(void *self, struct buf *text)
{
    struct tui_host *h = self;
    struct err err = {0};
    const char *tmp = opts_getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%.400s/plimsoll-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0 || !write_file(fd, text->data, text->len)) {
        err_set(&err, -1, "no file for the editor: %s", strerror(errno));
    } else {
        screen_suspend();
        const bool failed = run_editor(path) != 0;
        if (failed && !ending()) err_set(&err, -1, "the editor failed ($VISUAL, $EDITOR): the text is as it was");
        if (!failed && !read_file(path, text))
            err_set(&err, -1, "the editor's file cannot be read: the text is as it was");
        if (screen_resume(NULL)) h->wants_leave = true;
    }
    if (fd >= 0) close(fd);
    if (fd >= 0) unlink(path);
    if (err.code) say_here(h, SAY_ERROR, err.text);
}

/* ------------------------------------------------------------------ open and close */

static void make_source(struct tui_host *h)
{
    const struct app *a = h->a;
    int n = 0;
    for (int i = 0; i < a->crew.n_agents && n < STATE_AGENTS; i++)
        h->agent[n++] = (struct complete_name){a->crew.agent[i].name, a->crew.agent[i].role};
    for (int i = 0; i < a->toolbox.n_on; i++) h->tool[i].name = a->toolbox.on[i];
    h->root = open(rights_workspace(a->toolbox.rights), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    h->files = complete_workspace(&h->root);
    h->source = (struct complete_source){.command = command_table, .commands = command_rows, .files = &h->files};
    h->source.names[COMMAND_AGENT] = (struct complete_names){h->agent, (size_t)n};
    h->source.names[COMMAND_TOOL] = (struct complete_names){h->tool, (size_t)a->toolbox.n_on};
}

static void load_history(struct tui_host *h)
{
    struct err err = {0};
    if (history_open(&h->history, opts_getenv, !h->a->o->no_save, &err) == 0)
        history_load(&h->history, ui_edit(h->ui), &err);
    if (*err.text) say_here(h, SAY_DIM, err.text);
}

int tui_host_open(struct tui_host *h, struct app *a, const struct ui_setup *setup, struct err *err)
{
    const struct ui_host host = {.self = h, .order = order, .take_back = take_back, .cancel = cancel, .ask = ask,
                                 .answer = answer, .tokens = tokens, .frame = frame, .copy = copy, .save = save,
                                 .editor = editor, .suspend = suspend, .redraw = redraw, .leave = leave, .end = end,
                                 .remember = remember, .source = source};
    *h = (struct tui_host){.a = a, .root = -1};
    h->ui = ui_open(setup, &host, err);
    if (h->ui) h->bridge = bridge_open(err);
    if (h->bridge) {
        make_source(h);
        load_history(h);
        h->desk = desk_open(a, h->bridge, err);
    }
    if (h->desk) return 0;
    tui_host_close(h);
    return -1;
}

bool tui_host_session(const struct tui_host *h, char id[9])
{
    memcpy(id, h->session, sizeof h->session);
    return *h->session;
}

int tui_host_close(struct tui_host *h)
{
    int status = h->desk ? desk_close(h->desk) : EXIT_INTERNAL;
    if (h->ui) {
        snprintf(h->last_error, sizeof h->last_error, "%s", ui_last_error(h->ui));
        ui_session(h->ui, h->session);
    }
    bridge_close(h->bridge);
    ui_close(h->ui);
    history_close(&h->history);
    if (h->root >= 0) close(h->root);
    return status;
}
