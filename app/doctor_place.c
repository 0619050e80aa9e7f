/* doctor_place.c - `plimsoll doctor`: terminal, configuration file, store. */
#include "app/config.h"
#include "app/doctor.h"
#include "app/session/toolbox.h"
#include "app/store_cmd.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A variable's text; "" where it is not set. */
static const char *variable(const struct doctor *d, const char *name)
{
    const char *value = d->env(name);
    return value ? value : "";
}

/* ---------------------------------------------------------------- terminal */

void doctor_locale(const struct doctor *d, struct doctor_finding *f)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *name = "LANG", *value = "";
    for (size_t i = 0; i < COUNT_OF(names) && !*value; i++) value = variable(d, name = names[i]);
    locale_t l = newlocale(LC_CTYPE_MASK, *value ? value : "C", (locale_t)0);
    bool utf8 = l && strcmp(nl_langinfo_l(CODESET, l), "UTF-8") == 0;
    if (!*value) doctor_say(f, DOCTOR_WARN, "none is set, so characters are ASCII");
    else if (!l) doctor_say(f, DOCTOR_WARN, "%s=%.60s is not installed", name, value);
    else doctor_say(f, utf8 ? DOCTOR_OK : DOCTOR_WARN, "%s=%.60s: %.40s", name, value, nl_langinfo_l(CODESET, l));
    if (f->verdict != DOCTOR_OK) doctor_fix(f, "export LC_ALL=C.UTF-8, or another locale of `locale -a` in UTF-8");
    if (l) freelocale(l);
}

void doctor_colours(const struct doctor *d, struct doctor_finding *f)
{
    const char *term = variable(d, "TERM"), *depth = variable(d, "COLORTERM");
    if (*variable(d, "NO_COLOR")) {
        doctor_say(f, DOCTOR_OK, "none, as NO_COLOR asks");
    } else if (!*term || strcmp(term, "dumb") == 0) {
        doctor_say(f, DOCTOR_WARN, *term ? "none: TERM=dumb" : "none: TERM is not set");
        doctor_fix(f, "export TERM=xterm-256color, if the terminal is one like it");
    } else if (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0) {
        doctor_say(f, DOCTOR_OK, "16 million: TERM=%.60s COLORTERM=%s", term, depth);
    } else {
        doctor_say(f, DOCTOR_OK, "%s: TERM=%.60s", strstr(term, "256color") ? "256" : "8 or 16", term);
    }
}

void doctor_terminal(const struct doctor *d, struct doctor_finding *f)
{
    enum { COLUMNS = 80, ROWS = 24 };
    struct winsize w;
    (void)d;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &w)) continue;
        bool small = w.ws_col < COLUMNS || w.ws_row < ROWS;
        doctor_say(f, small ? DOCTOR_WARN : DOCTOR_OK, "%d columns, %d rows", w.ws_col, w.ws_row);
        if (small) doctor_fix(f, "make the window %d by %d or larger", COLUMNS, ROWS);
        return;
    }
    doctor_say(f, DOCTOR_OK, "none: stdin, stdout and stderr go elsewhere");
}

/* ---------------------------------------------------------------- configuration */

void doctor_config(const struct doctor *d, struct doctor_finding *f)
{
    struct buf path = {0};
    int settings = 0;
    for (int i = 0; i < d->o->n_said; i++) settings += d->o->said[i].from == OPTS_FILE;
    if (d->config) {
        doctor_say(f, DOCTOR_FAIL, "refused, so a session would not start; checked without it");
        doctor_fix(f, "%s", d->config->text);
    } else if (d->o->file) {
        doctor_say(f, DOCTOR_OK, "%.280s: %d setting%s", d->o->file, settings, settings == 1 ? "" : "s");
    } else if (d->o->no_config) {
        doctor_say(f, DOCTOR_OK, "not read: --no-config");
    } else if (config_default_path(d->env, &path) == 0) {
        doctor_say(f, DOCTOR_OK, "none at %.280s", path.data);
    } else {
        doctor_say(f, DOCTOR_OK, "no place for one: neither HOME nor XDG_CONFIG_HOME is set");
    }
    buf_free(&path);
}

/* ---------------------------------------------------------------- store */

/* The store's folder into out; 0, or -1 and f is filled: there is none to be looked at. */
static int store_folder(const struct doctor *d, struct buf *out, struct doctor_finding *f)
{
    struct err err = {0};
    if (d->o->no_save) {
        doctor_say(f, DOCTOR_OK, "not used: --no-save");
        return -1;
    }
    int rc = 0;
    if (d->o->store) buf_puts(out, d->o->store);
    else rc = store_default_dir(d->env, out, &err);
    if (rc == 0 && out->data) return 0;
    doctor_say(f, DOCTOR_FAIL, "no place");
    doctor_fix(f, "%s", rc ? err.text : "name a folder: --store DIR");
    return -1;
}

/* dir, or the next folder above it that is there; in place. */
static const char *what_is_there(char *dir)
{
    while (access(dir, F_OK) && (errno == ENOENT || errno == ENOTDIR)) {
        char *slash = strrchr(dir, '/');
        if (!slash) return ".";
        slash[slash == dir] = '\0';
        if (slash == dir) break;
    }
    return dir;
}

/* What it holds, of a store that could be opened. */
static void say_store(struct store *s, const char *dir, struct doctor_finding *f)
{
    struct store_stat part[STORE_PARTS];
    struct err err = {0};
    bool full = false;
    for (int p = 0; p < STORE_PARTS; p++) {
        if (store_stat(s, (enum store_part)p, &part[p], &err)) {
            doctor_say(f, DOCTOR_FAIL, "%.200s cannot be read", dir);
            doctor_fix(f, "%s", err.text);
            return;
        }
        full = full || part[p].used_bytes > part[p].map_limit / 10 * 9;
    }
    const struct store_stat *j = &part[STORE_JOURNAL], *c = &part[STORE_CACHE];
    doctor_say(f, full ? DOCTOR_WARN : DOCTOR_OK, "%.160s: %llu session%s, journal %s of %s, cache %s of %s", dir,
               (unsigned long long)j->sessions, j->sessions == 1 ? "" : "s", store_cmd_size(j->used_bytes).text,
               store_cmd_size(j->map_limit).text, store_cmd_size(c->used_bytes).text,
               store_cmd_size(c->map_limit).text);
    if (full) doctor_fix(f, "delete sessions (plimsoll sessions delete), then plimsoll store compact");
}

static void say_no_store(char *dir, struct doctor_finding *f)
{
    char all[200];
    snprintf(all, sizeof all, "%s", dir);
    const char *there = what_is_there(dir);
    bool possible = access(there, W_OK | X_OK) == 0;
    doctor_say(f, possible ? DOCTOR_OK : DOCTOR_FAIL, "none yet at %s", all);
    if (!possible) doctor_fix(f, "none can be made in %.200s: name another folder, --store DIR", there);
}

void doctor_store(const struct doctor *d, struct doctor_finding *f)
{
    const struct store_options options = {.read_only = true, .check_seconds = DOCTOR_PATIENCE / 2};
    struct buf dir = {0};
    struct err err = {0};
    struct store *s = NULL;
    if (store_folder(d, &dir, f) == 0) {
        int rc = store_exists(dir.data, &err);
        if (rc == STORE_NOT_FOUND) {
            say_no_store(dir.data, f);
        } else if (rc || (rc = store_open(&s, dir.data, &options, &err))) {
            bool late = rc == STORE_LATE;
            doctor_say(f, late ? DOCTOR_WARN : DOCTOR_FAIL, late ? "%.200s is too large to be looked through here"
                                                                 : "%.200s cannot be opened", dir.data);
            if (late) doctor_fix(f, "plimsoll store check takes the time that it needs");
            else doctor_fix(f, "%s", err.text);
        } else {
            say_store(s, dir.data, f);
        }
        store_close(s);
    }
    buf_free(&dir);
}

/* Room where the store is, or will be: snapshots may take what --snapshots grants, and turns need a little. */
void doctor_disk(const struct doctor *d, struct doctor_finding *f)
{
    static const double turns = 64 * 0x1p20;
    struct buf dir = {0};
    struct statvfs v;
    if (store_folder(d, &dir, f) == 0) {
        const char *there = what_is_there(dir.data);
        if (statvfs(there, &v)) {
            doctor_say(f, DOCTOR_WARN, "%.200s: %s", there, strerror(errno));
            doctor_fix(f, "name another folder: --store DIR");
        } else {
            double room = (double)v.f_bavail * (double)v.f_frsize;
            doctor_say(f, room < turns ? DOCTOR_FAIL : room < d->o->snapshots + turns ? DOCTOR_WARN : DOCTOR_OK,
                       "%s free for the store", store_cmd_size((uint64_t)room).text);
            if (f->verdict == DOCTOR_WARN)
                doctor_fix(f, "make room, or --snapshots 64M: KV pages may take %s",
                           store_cmd_size((uint64_t)d->o->snapshots).text);
            if (f->verdict == DOCTOR_FAIL)
                doctor_fix(f, "turns cannot be saved: make room, or --store DIR on another disk");
        }
    }
    buf_free(&dir);
}

/* Those of --mcp, each started and ended again. */
void doctor_servers(const struct doctor *d, struct doctor_finding *f)
{
    struct toolbox b = {0};
    struct err err = {0};
    if (!d->o->mcp) {
        doctor_say(f, DOCTOR_OK, "none: --mcp names a file of them");
    } else if (toolbox_servers(&b, d->o, d->patience * 800, &err)) {
        doctor_say(f, DOCTOR_FAIL, "one of %.200s does not start, or says what is not known", d->o->mcp);
        doctor_fix(f, "%s", err.text);
    } else {
        int tools = 0, n;
        for (int i = 0; i < b.n_servers; i++) tools += (mcp_tools(b.server[i], &n), n);
        doctor_say(f, DOCTOR_OK, "%d, with %d tool%s", b.n_servers, tools, plural(tools));
    }
    toolbox_close(&b);
}
