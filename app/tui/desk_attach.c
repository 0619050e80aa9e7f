/* desk_attach.c - files that a message names with an @: they enter the conversation before it. */
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/desk_impl.h"
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

void desk_attach(const struct desk_files *f, struct session *s, const char *text, size_t n)
{
    struct complete_mentions m;
    struct voice *before = s->a->trace.voice;
    if (f->root < 0 || complete_attachments(&f->source, text, n, &m)) return;
    s->a->trace.voice = &s->voice;
    for (size_t i = 0; i < m.n && !session_cancelled(s); i++)
        if (m.mention[i].bytes >= 0) attach_one(f, s, m.mention[i].path);
    s->a->trace.voice = before;
    complete_mentions_free(&m);
}
