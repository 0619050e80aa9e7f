/* tool_run_rig.h - what the tests of tools/run.h share: rights, and calls from start to end in the workspace of
 * jail_rig.h.  Header only. */
#ifndef TOOL_RUN_RIG_H
#define TOOL_RUN_RIG_H
#include "tests/jail_rig.h"
#include "tools/run.h"

#define RIG __attribute__((unused)) static

RIG struct err err;
RIG struct rights *rights; /* all tools, write and edit allowed, a person there */
RIG const char *allowed = "write,edit";
RIG struct tool_run *last; /* the run that is looked at; closed by the next */

RIG void forget(void)
{
    tool_run_close(last);
    rights_close(rights);
    last = NULL;
    rights = NULL;
}

RIG struct tool_run_config config(void) { return (struct tool_run_config){.limits = TOOL_RUN_LIMITS}; }

/* A ticket that is good; the run before it, and its rights, are gone. */
RIG struct tool_ticket *ticket(const char *tool, json_t *arguments)
{
    struct tool_ticket *t;
    char *text = json_dumps(arguments, 0);
    CHECK(text);
    forget();
    rights = rights_open(&(struct rights_config){"all", allowed, workspace(), true}, &err);
    CHECK(rights);
    enum rights_verdict v = rights_check(rights, tool, text, &t, &err);
    CHECK(v == RIGHTS_ALLOWED || v == RIGHTS_ASK);
    if (v == RIGHTS_ASK) CHECK_EQ(rights_grant(t, false, &err), 0);
    free(text);
    json_decref(arguments);
    return t;
}

RIG struct tool_run *begin(const struct tool_run_config *cfg, const char *tool, json_t *arguments)
{
    err = (struct err){0};
    struct tool_run *r = tool_run_start(cfg, ticket(tool, arguments), &err);
    CHECK_STR(err.text, "");
    CHECK(r);
    return r;
}

RIG const struct tool_run_result *end(struct tool_run *r)
{
    while (!tool_run_step(r, 1000)) {}
    last = r;
    return tool_run_result(r);
}

RIG const struct tool_run_result *call(const char *tool, json_t *arguments)
{
    need_jail();
    struct tool_run_config cfg = config();
    return end(begin(&cfg, tool, arguments));
}

RIG const struct tool_run_result *shell(const char *command, struct job_limits limits)
{
    need_jail();
    struct tool_run_config cfg = {.limits = limits};
    if (!cfg.limits.wall_ms) cfg.limits.wall_ms = 30000;
    return end(begin(&cfg, "shell", json_pack("{s:s}", "command", command)));
}

#define SAYS(result, text_, failed_)                          \
    do {                                                      \
        const struct tool_run_result *r_ = (result);          \
        CHECK_STR(r_->text.data ? r_->text.data : "", text_); \
        CHECK_EQ(r_->failed, failed_);                        \
        CHECK(!r_->text.failed);                              \
    } while (0)

RIG const char *in_workspace(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/%s", workspace(), name);
    return path;
}
#endif
