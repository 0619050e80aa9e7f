/* tool_rig.h - a workspace in a new folder, and calls on it as JSON text. */
#ifndef TOOL_RIG_H
#define TOOL_RIG_H
#include "tests/check.h"
#include "tools/path.h"
#include "tools/tool.h"
#include <fcntl.h>
#include <unistd.h>

struct rig {
    const char *outer;         /* the folder above: what is in it is not to be reached */
    struct tool_context c;
    struct buf out;
    size_t enough;             /* the sink says so after these bytes; 0: never */
    enum tool_verdict verdict; /* of the last call */
};

static inline int rig_put(void *self, const char *bytes, size_t n)
{
    struct rig *r = self;
    buf_put(&r->out, bytes, n);
    return r->enough && r->out.len >= r->enough;
}

static inline void rig_open(struct rig *r)
{
    char path[512];
    *r = (struct rig){.outer = check_tmpdir()};
    snprintf(path, sizeof path, "%s/work", r->outer);
    CHECK_EQ(mkdir(path, 0777), 0);
    r->c = (struct tool_context){.workspace = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), .limits = TOOL_LIMITS,
                                  .put = rig_put, .self = r};
    CHECK(r->c.workspace >= 0);
}

static inline void rig_close(struct rig *r)
{
    close(r->c.workspace);
    buf_free(&r->out);
}

/* What a call with this JSON object gives. */
static inline const char *rig_call(struct rig *r, const char *tool, json_t *arguments)
{
    buf_free(&r->out);
    buf_put(&r->out, "", 0);
    CHECK(tool_find(tool));
    CHECK(arguments);
    r->verdict = tool_find(tool)->run(&r->c, arguments);
    json_decref(arguments);
    return r->out.data ? r->out.data : "";
}

static inline void rig_file(struct rig *r, const char *name, const void *bytes, size_t n)
{
    int fd = openat(r->c.workspace, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, n), n);
    close(fd);
}

static inline void rig_text(struct rig *r, const char *name, const char *text)
{
    rig_file(r, name, text, strlen(text));
}

#define CALL_ERROR(r, text, tool, ...)                        \
    do {                                                      \
        CHECK_STR(rig_call(r, tool, json_pack(__VA_ARGS__)), text); \
        CHECK_EQ((r)->verdict, TOOL_FAILED);                  \
    } while (0)
#define CALL_SAYS(r, text, tool, ...)                         \
    do {                                                      \
        CHECK_STR(rig_call(r, tool, json_pack(__VA_ARGS__)), text); \
        CHECK_EQ((r)->verdict, TOOL_DONE);                    \
    } while (0)
#endif
