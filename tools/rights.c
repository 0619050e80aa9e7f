/* rights.c - who may do what. */
#include "tools/rights.h"
#include "tools/describe.h"
#include "tools/escape.h"
#include "tools/path.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

enum { NAME_SHOWN = 60 };

struct rights {
    bool on[TOOLS_MAX], granted[TOOLS_MAX]; /* of each row; granted: by --allow or for this session; not shell */
    char program[RIGHTS_PROGRAMS][RIGHTS_PROGRAM_MAX]; /* the same for shell */
    int n_programs;
    bool person, git; /* git: .git may be written */
    char workspace[PATH_MAX];
    int folder;
    struct stat was; /* the folder */
    struct rights_denial denial[RIGHTS_DENIALS];
    int n_denials;
    uint64_t more;
};

struct tool_ticket {
    struct rights *rights;
    int tool; /* its place in the table */
    bool good;
    json_t *arguments; /* nobody else's */
    char program[RIGHTS_PROGRAM_MAX]; /* of shell: what a grant for the session would name; "": none may be given */
    struct buf scope;
};

/* ------------------------------------------------------------------ commands */

static bool listed(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

/* Programs, and words of the shell, that run what their arguments say. */
static bool runs_any(const char *name)
{
    static const char *const list[] = {
        "sh", "ash", "bash", "dash", "rbash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "busybox", "toybox",
        "env", "xargs", "parallel", "nohup", "timeout", "nice", "ionice", "chrt", "taskset", "setsid", "stdbuf",
        "setarch", "unshare", "nsenter", "chroot", "su", "sudo", "doas", "script", "watch", "time", "strace", "gdb",
        "flock", "setpriv", "prlimit", "runuser", "sg", "capsh", "choom", "numactl", "fakeroot", "bwrap", "firejail",
        "systemd-run", "run-parts", "expect", "unbuffer", "rlwrap", "ltrace", "valgrind", "perf", "yash", "pwsh",
        ".", "source", "eval", "exec", "command", "builtin", "trap", "alias", "coproc", "function", "set", "enable",
        "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select", "in",
    };
    return listed(list, COUNT_OF(list), name);
}

static bool is_program(const char *s, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-";
    char name[RIGHTS_PROGRAM_MAX];
    if (n == 0 || n >= sizeof name || *s == '-' || *s == '+') return false;
    memcpy(name, s, n);
    name[n] = '\0';
    return strspn(name, plain) == n && !runs_any(name);
}

/* Between quotes a shell takes all but these as it is. */
static const char *quoted_end(const char *s, char quote)
{
    for (; *s && *s != quote; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f || (quote == '"' && strchr("$`\\!", *s))) return NULL;
    return *s ? s : NULL;
}

bool rights_program(const char *command, char name[RIGHTS_PROGRAM_MAX])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-/:=,@% ";
    const char *s = command + strspn(command, " ");
    size_t n = strcspn(s, " ");
    if (!is_program(s, n)) return false;
    memcpy(name, s, n);
    name[n] = '\0';
    for (s += n; *s; s++) {
        if (*s == '\'' || *s == '"') s = quoted_end(s + 1, *s);
        else if (!strchr(plain, *s)) s = NULL;
        if (!s) return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the command line */

static int index_of(const char *name)
{
    int i = 0;
    while (i < tools_count() && strcmp(tool_at(i)->name, name) != 0) i++;
    return i < tools_count() ? i : -1;
}

static int no_tool(const char *flag, const char *name, struct err *err)
{
    struct buf shown = {0}, names = {0};
    escape_start(name, strlen(name), NAME_SHOWN, &shown);
    for (int i = 0; i < tools_count(); i++) buf_printf(&names, "%s%s", i ? ", " : "", tool_at(i)->name);
    int rc = err_set(err, -1, "%sno tool \"%s\"; there are %s", flag, shown.data ? shown.data : "",
                     names.data ? names.data : "");
    buf_free(&shown);
    buf_free(&names);
    return rc;
}

static bool add_program(struct rights *r, const char *name)
{
    for (int i = 0; i < r->n_programs; i++)
        if (strcmp(r->program[i], name) == 0) return true;
    if (r->n_programs == RIGHTS_PROGRAMS) return false;
    snprintf(r->program[r->n_programs++], RIGHTS_PROGRAM_MAX, "%s", name);
    return true;
}

static int turn_on(struct rights *r, const char *name, struct err *err)
{
    if (strcmp(name, "all") == 0) {
        for (int i = 0; i < tools_count(); i++) r->on[i] = true;
        return 0;
    }
    int i = index_of(name);
    if (i < 0) return no_tool("--tools: ", name, err);
    r->on[i] = true;
    return 0;
}

static int allow_program(struct rights *r, const char *name, struct err *err)
{
    struct path_shown x = path_shown(name);
    if (!is_program(name, strlen(name)))
        return err_set(err, -1, "--allow: shell:%s is no program's plain name, or one that runs any other", x.text);
    if (!add_program(r, name)) return err_set(err, -1, "--allow: more than %d programs", RIGHTS_PROGRAMS);
    return 0;
}

/* SERVER__*: all that it has; false: it is no such word, or there is no such server. */
static bool allow_server(struct rights *r, const char *name)
{
    const size_t n = strlen(name);
    bool any = false;
    if (n < 4 || strcmp(name + n - 3, "__*") != 0) return false;
    for (int i = 0; i < tools_count(); i++) {
        if (tool_at(i)->place != TOOL_SERVER || strncmp(tool_at(i)->name, name, n - 1) != 0) continue;
        any = r->granted[i] = true;
    }
    return any;
}

static int allow(struct rights *r, const char *name, struct err *err)
{
    bool program = strncmp(name, "shell:", 6) == 0;
    if (strcmp(name, ".git") == 0) {
        r->git = true;
        return 0;
    }
    if (allow_server(r, name)) return 0;
    int i = index_of(program ? "shell" : name);
    if (strcmp(name, "all") == 0)
        return err_set(err, -1, "--allow: all is not a right, since shell is never allowed as a whole; name the tools");
    if (strcmp(name, "shell") == 0)
        return err_set(err, -1, "--allow: shell is never allowed as a whole; name programs: shell:git,shell:make");
    if (i < 0) return no_tool("--allow: ", name, err);
    if (!r->on[i]) return err_set(err, -1, "--allow: %s is not among --tools", tool_at(i)->name);
    if (program) return allow_program(r, name + 6, err);
    r->granted[i] = true;
    return 0;
}

static int each(struct rights *r, const char *flag, const char *list,
                int (*one)(struct rights *r, const char *name, struct err *err), struct err *err)
{
    char *copy = strdup(list), *at = copy, *name;
    int rc = copy ? 0 : err_set(err, -1, "out of memory");
    while (rc == 0 && (name = strsep(&at, ",")))
        rc = *name ? one(r, name, err) : err_set(err, -1, "%s: a name is missing between commas", flag);
    free(copy);
    return rc;
}

/* named NULL: the current folder, which may be gone. */
static int open_workspace(struct rights *r, const char *named, struct err *err)
{
    const char *name = named ? named : ".";
    if (realpath(name, r->workspace)) r->folder = open(r->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (r->folder >= 0 && fstat(r->folder, &r->was) == 0) return 0;
    int why = errno;
    if (named) return err_set(err, -1, "--workspace: %s: %s", path_shown(name).text, strerror(why));
    return err_set(err, -1, "the folder that this was started in cannot be opened: %s; start it in another, or name "
                   "one with --workspace", strerror(why));
}

struct rights *rights_open(const struct rights_config *cfg, struct err *err)
{
    struct rights *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(err, -1, "out of memory");
        return NULL;
    }
    r->folder = -1;
    r->person = cfg->person;
    if (open_workspace(r, cfg->workspace, err) ||
        (cfg->tools && each(r, "--tools", cfg->tools, turn_on, err)) ||
        (cfg->allow && each(r, "--allow", cfg->allow, allow, err))) {
        rights_close(r);
        return NULL;
    }
    return r;
}

void rights_close(struct rights *r)
{
    if (!r) return;
    if (r->folder >= 0) close(r->folder);
    free(r);
}

bool rights_on(const struct rights *r, const char *tool)
{
    int i = index_of(tool);
    return i >= 0 && r->on[i];
}

const char *rights_workspace(const struct rights *r) { return r->workspace; }

int rights_drop(struct rights *r, const char *tool, struct err *err)
{
    int i = index_of(tool);
    if (i < 0) return no_tool("", tool, err);
    r->on[i] = false;
    return 0;
}

/* ------------------------------------------------------------------ denials */

static void count_denial(struct rights *r, const char *tool, const json_t *arguments)
{
    struct buf shown = {0};
    char *text = json_dumps(arguments, JSON_COMPACT);
    if (text) escape_start(text, strlen(text), RIGHTS_SHOWN, &shown);
    const char *s = shown.data ? shown.data : "";
    int i = 0;
    while (i < r->n_denials && (r->denial[i].tool != tool || strcmp(r->denial[i].shown, s) != 0)) i++;
    if (i == RIGHTS_DENIALS) {
        r->more++;
    } else {
        struct rights_denial *d = &r->denial[i];
        if (i == r->n_denials) r->n_denials++;
        d->tool = tool;
        snprintf(d->shown, sizeof d->shown, "%s", s);
        d->times++;
    }
    buf_free(&shown);
    free(text);
}

int rights_denied(const struct rights *r, const struct rights_denial **list, uint64_t *more)
{
    *list = r->denial;
    *more = r->more;
    return r->n_denials;
}

/* ------------------------------------------------------------------ judging */

/* A copy of its own, read strictly: no key twice, no NUL. */
static json_t *read_arguments(const char *text, struct err *err)
{
    json_error_t why;
    if (strlen(text) > RIGHTS_CALL_MAX) {
        err_set(err, -1, "the arguments are longer than %d bytes", RIGHTS_CALL_MAX);
        return NULL;
    }
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(v)) return v;
    if (v) err_set(err, -1, "the arguments are not a JSON object");
    else err_set(err, -1, "the arguments are not JSON: %s", path_shown(why.text).text);
    json_decref(v);
    return NULL;
}

static enum rights_verdict judge(const struct tool_ticket *t)
{
    const struct rights *r = t->rights;
    const struct tool *tool = tool_at(t->tool);
    if (!r->on[t->tool]) return RIGHTS_DENIED;
    if (!(tool->effect & (TOOL_WRITES | TOOL_RUNS)) || r->granted[t->tool]) return RIGHTS_ALLOWED;
    for (int i = 0; i < r->n_programs; i++)
        if (*t->program && strcmp(t->program, r->program[i]) == 0) return RIGHTS_ALLOWED;
    return r->person ? RIGHTS_ASK : RIGHTS_DENIED;
}

static void why_denied(const struct tool_ticket *t, struct err *err)
{
    const struct tool *tool = tool_at(t->tool);
    if (!rights_on(t->rights, tool->name))
        err_set(err, -1, "%s is off; --tools on the command line turns it on", tool->name);
    else if (*t->program)
        err_set(err, -1, "denied: nobody can be asked, and --allow does not list shell:%s", t->program);
    else if (tool->effect & TOOL_RUNS)
        err_set(err, -1, "denied: nobody can be asked, and --allow allows single, simple commands of named programs");
    else
        err_set(err, -1, "denied: nobody can be asked, and --allow does not list %s", tool->name);
}

/* What a grant for the session would bind. */
static void set_scope(struct tool_ticket *t)
{
    const struct tool *tool = tool_at(t->tool);
    const json_t *command = json_object_get(t->arguments, "command");
    bool runs = tool->effect & TOOL_RUNS;
    if (runs && !(json_is_string(command) && rights_program(json_string_value(command), t->program))) {
        t->program[0] = '\0';
        return;
    }
    if (tool->place == TOOL_SERVER) {
        buf_puts(&t->scope, tool->name);
        return;
    }
    if (runs) buf_printf(&t->scope, "%s by ", t->program);
    buf_printf(&t->scope, "%s, in ", tool->name);
    escape_text(t->rights->workspace, strlen(t->rights->workspace), &t->scope);
}

enum rights_verdict rights_check(struct rights *r, const char *tool, const char *arguments,
                                 struct tool_ticket **ticket, struct err *err)
{
    *ticket = NULL;
    int i = index_of(tool);
    json_t *copy = i < 0 ? NULL : read_arguments(arguments, err);
    if (i < 0) no_tool("", tool, err);
    if (!copy) return RIGHTS_INVALID;
    struct tool_ticket *t = calloc(1, sizeof *t);
    if (t) {
        *t = (struct tool_ticket){.rights = r, .tool = i, .arguments = copy};
        set_scope(t);
    }
    if (!t || t->scope.failed) {
        err_set(err, -1, "out of memory");
        if (t) ticket_free(t);
        else json_decref(copy);
        return RIGHTS_INVALID;
    }
    enum rights_verdict v = judge(t);
    t->good = v == RIGHTS_ALLOWED;
    if (v == RIGHTS_DENIED) {
        why_denied(t, err);
        count_denial(r, tool_at(i)->name, copy);
        ticket_free(t);
    } else {
        *ticket = t;
    }
    return v;
}

/* ------------------------------------------------------------------ asking */

int rights_show(const struct tool_ticket *t, int64_t tokens, struct buf *out, struct err *err)
{
    struct tool_context c = {.workspace = t->rights->folder, .limits = TOOL_LIMITS, .git = t->rights->git};
    size_t was = out->len;
    if (tool_describe(&c, tool_at(t->tool)->name, t->arguments, SIZE_MAX, out, err)) return -1;
    const bool server = tool_at(t->tool)->place == TOOL_SERVER;
    buf_puts(out, server ? "by its server, which no jail holds" : "in ");
    if (!server) escape_text(t->rights->workspace, strlen(t->rights->workspace), out);
    if (tokens > 0) buf_printf(out, "; its result may take %lld tokens of the context", (long long)tokens);
    buf_puts(out, "\n");
    if (!out->failed) return 0;
    if (out->data) out->data[out->len = was] = '\0';
    return err_set(err, -1, "out of memory");
}

const char *rights_scope(const struct tool_ticket *t) { return t->scope.data; }

int rights_grant(struct tool_ticket *t, bool session, struct err *err)
{
    struct rights *r = t->rights;
    const struct tool *tool = tool_at(t->tool);
    if (!r->person) return err_set(err, -1, "nobody is there who could allow it");
    if (!rights_on(r, tool->name)) return err_set(err, -1, "%s is off", tool->name);
    if (session && !t->scope.data) return err_set(err, -1, "this command can be allowed once, and not for the session");
    if (session && *t->program && !add_program(r, t->program))
        return err_set(err, -1, "more than %d programs are allowed already", RIGHTS_PROGRAMS);
    if (session && !*t->program) r->granted[t->tool] = true;
    t->good = true;
    return 0;
}

void rights_deny(struct tool_ticket *t, struct err *err)
{
    count_denial(t->rights, tool_at(t->tool)->name, t->arguments);
    err_set(err, -1, "denied by the user");
    ticket_free(t);
}

/* ------------------------------------------------------------------ tickets */

const struct tool *ticket_tool(const struct tool_ticket *t) { return tool_at(t->tool); }
const json_t *ticket_arguments(const struct tool_ticket *t) { return t->arguments; }
const char *ticket_workspace(const struct tool_ticket *t) { return t->rights->workspace; }
bool ticket_git(const struct tool_ticket *t) { return t->rights->git; }
int ticket_folder(const struct tool_ticket *t) { return t->rights->folder; }

int ticket_check(const struct tool_ticket *t, struct err *err)
{
    const struct rights *r = t->rights;
    const char *name = tool_at(t->tool)->name;
    struct stat now;
    if (!rights_on(r, name)) return err_set(err, -1, "%s is off", name);
    if (!t->good && judge(t) != RIGHTS_ALLOWED) return err_set(err, -1, "%s was not allowed", name);
    if (stat(r->workspace, &now) || now.st_dev != r->was.st_dev || now.st_ino != r->was.st_ino)
        return err_set(err, -1, "the workspace is not the folder that it was: %s", path_shown(r->workspace).text);
    return 0;
}

void ticket_free(struct tool_ticket *t)
{
    if (!t) return;
    json_decref(t->arguments);
    buf_free(&t->scope);
    free(t);
}
