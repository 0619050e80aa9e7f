/* desk_attach.c - files that a message names with an @: they enter the conversation before it. */
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/desk_impl.h"
#include "tools/escape.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void desk_files_open(struct desk_files *f, const struct app *a)
{
    size_t n = 0;
    for (int i = 0; i < a->crew.n_agents && n < COUNT_OF(f->agent); i++) f->agent[n++].name = a->crew.agent[i].name;
    f->root = open(rights_workspace(a->toolbox.rights), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->files = complete_workspace(&f->root);
    f->source = (struct complete_source){.files = &f->files, .names[COMMAND_AGENT] = {f->agent, n}};
}

void desk_files_close(struct desk_files *f)
{
    if (f->root >= 0) close(f->root);
}

/* Names are the workspace's; the program may have begun in another folder. */
static void full_name(const struct desk_files *f, const struct app *a, const char *name, struct buf *out)
{
    struct stat here, root;
    const bool same = stat(".", &here) == 0 && fstat(f->root, &root) == 0 && here.st_dev == root.st_dev &&
                      here.st_ino == root.st_ino;
    if (!same) buf_printf(out, "%s/", rights_workspace(a->toolbox.rights));
    buf_puts(out, name);
}

static void attach_one(const struct desk_files *f, struct session *s, const char *name)
{
    struct buf path = {0};
    struct err err = {0};
    full_name(f, s->a, name, &path);
    if (path.failed) err_set(&err, -1, "no memory to attach a file");
    else session_attach_file(s, path.data, &err);
    if (*err.text) say_error("%s", err.text);
    buf_free(&path);
}

enum { NAMED = 3 /* that are not there, in the line that says so */, SHOWN = 60 /* bytes of a name */ };

static bool is_agent(const struct complete_names *all, const char *name)
{
    size_t i = 0;
    while (i < all->n && strcmp(all->name[i].name, name) != 0) i++;
    return i < all->n;
}

/* Words with an @ are also names of people and of code; one with a dot, a slash or quotes was meant as a file. */
static bool is_path(const struct complete_source *s, const char *text, const struct complete_mention *m)
{
    if (m->bytes >= 0 || is_agent(&s->names[COMMAND_AGENT], m->path)) return false;
    return text[m->at + 1] == '"' || (strpbrk(m->path, "./") && !strpbrk(m->path, "()"));
}

/* It is a file, but none below the workspace. */
static bool is_elsewhere(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The message is sent as it stands; the person knows that nothing stands beside it. */
static void say_missing(const struct desk_files *f, const char *text, const struct complete_mentions *m)
{
    struct buf line = {0};
    bool elsewhere = false;
    int n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!is_path(&f->source, text, &m->mention[i])) continue;
        if (n < NAMED) buf_puts(&line, n > 0 ? ", " : "no file ");
        if (n < NAMED) escape_start(m->mention[i].path, strlen(m->mention[i].path), SHOWN, &line);
        elsewhere = elsewhere || is_elsewhere(m->mention[i].path);
        n++;
    }
    if (n > NAMED) buf_printf(&line, " and %d more", n - NAMED);
    const char *instead = elsewhere ? " (an @ names files below the workspace; /attach FILE takes any)" : "";
    if (n > 0 && !line.failed) say("%s: sent as it is%s", line.data, instead);
    buf_free(&line);
}

void desk_attach(const struct desk_files *f, struct session *s, const char *text, size_t n)
{
    struct complete_mentions m;
    struct voice *before = s->a->trace.voice;
    if (f->root < 0 || complete_attachments(&f->source, text, n, &m)) return;
    s->a->trace.voice = &s->voice;
    for (size_t i = 0; i < m.n && !session_cancelled(s); i++)
        if (m.mention[i].bytes >= 0) attach_one(f, s, m.mention[i].path);
    say_missing(f, text, &m);
    s->a->trace.voice = before;
    complete_mentions_free(&m);
}
