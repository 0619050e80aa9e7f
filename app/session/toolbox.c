/* toolbox.c - see toolbox.h. */
#include "app/app.h"
#include "app/say.h"
#include "app/signals.h"
#include "memory/forms.h"

/* ---------------------------------------------------------------- which are on */

static bool needs_nothing(const char *name) { return strcmp(name, "calculator") == 0; }

/* What the session itself answers is there whenever there is something to be read. */
static bool is_memory(const char *name) { return strcmp(name, "recall") == 0 || strcmp(name, "artifact") == 0; }

/* What a server has is on: its file says which of it. */
static void put_servers(const struct toolbox *b, struct buf *list)
{
    for (int i = 0; i < b->n_servers; i++) {
        int n;
        const struct mcp_tool *t = mcp_tools(b->server[i], &n);
        for (int k = 0; k < n; k++) buf_printf(list, ",%s", t[k].name);
    }
}

int toolbox_open(struct toolbox *b, struct app *a, bool person, struct err *err)
{
    const struct opts *o = a->o;
    struct buf list = {0};
    int n;
    bool all = o->tools && strcmp(o->tools, "all") == 0;
    b->run = (struct tool_run_config){.home = opts_getenv("HOME"), .limits = TOOL_RUN_LIMITS};
    if (all) buf_puts(&list, "all");
    else if (o->tools && *o->tools) buf_printf(&list, "%s,calculator", o->tools);
    else buf_puts(&list, "calculator");
    put_servers(b, &list);
    if (list.failed) return err_set(err, -1, "no memory for the tools");
    const struct rights_config cfg = {.tools = list.data, .allow = o->allow, .workspace = o->workspace,
                                      .person = person};
    b->rights = rights_open(&cfg, err);
    buf_free(&list);
    if (!b->rights) return -1;
    const struct form_tool *t = forms_tools(&n);
    for (int i = 0; i < n && b->n_on < TOOLBOX_TOOLS; i++) {
        bool on = (o->tools || t[i].outside) && rights_on(b->rights, t[i].name) && !is_memory(t[i].name);
        if (strcmp(t[i].name, "ask") == 0) on = on && person;
        if (on) b->on[b->n_on++] = t[i].name;
    }
    for (int i = 0; i < b->n_on; i++) {
        enum tool_place place = tool_find(b->on[i])->place;
        b->jailed |= place == TOOL_JAILED || place == TOOL_COMMAND;
    }
    if (b->jailed && tool_run_check(&b->run, rights_workspace(b->rights), err)) return -1;
    return 0;
}

int toolbox_keep_off(const struct toolbox *b, const char *store, struct err *err)
{
    struct tool_run_config run = b->run;
    struct err why = {0};
    run.home = store;
    if (!b->jailed || tool_run_check(&run, rights_workspace(b->rights), &why) != JAIL_BAD_WORKSPACE) return 0;
    return err_set(err, -1, "the store %.200s lies where tools could read and change it (the workspace is %.200s): "
                   "name another --store or --workspace", store, rights_workspace(b->rights));
}

void toolbox_close(struct toolbox *b)
{
    rights_close(b->rights);
    for (int i = 0; i < b->n_servers; i++) mcp_close(b->server[i]);
    mcp_list_free(&b->list);
    tools_forget();
    forms_tools_forget();
    *b = (struct toolbox){0};
}

int toolbox_check(const struct toolbox *b, const char *who, const char *const *tools, int n, struct err *err)
{
    for (int i = 0; i < n; i++) {
        if (is_memory(tools[i]) || needs_nothing(tools[i]) || rights_on(b->rights, tools[i])) continue;
        if (strstr(tools[i], "__"))
            return err_set(err, -1, "the agent %s is to have the tool %s, which no server has: --mcp FILE names "
                           "servers", who, tools[i]);
        return err_set(err, -1, "the agent %s is to have the tool %s, which is not on: --tools %s turns it on", who,
                       tools[i], tools[i]);
    }
    return 0;
}

/* ---------------------------------------------------------------- a call */

/* Asked, or denied: the ticket is good after 0, and gone after -1. */
static int approve(struct app *a, struct tool_ticket *t, int64_t tokens, struct err *err)
{
    struct toolbox *b = &a->toolbox;
    struct buf shown = {0};
    enum toolbox_choice choice = TOOLBOX_DENY;
    if (rights_show(t, tokens, &shown, err)) {
        buf_free(&shown);
        ticket_free(t);
        return -1;
    }
    if (b->approve && !shown.failed)
        choice = b->approve(b->self, shown.data ? shown.data : "", shown.len, rights_scope(t));
    buf_free(&shown);
    if (choice == TOOLBOX_DENY) {
        rights_deny(t, err);
        return -1;
    }
    if (rights_grant(t, choice == TOOLBOX_SESSION && rights_scope(t), err) == 0) return 0;
    ticket_free(t);
    return -1;
}

/* The person's answer is the result. */
static int ask_person(struct app *a, struct tool_ticket *t, struct buf *out, struct err *err)
{
    struct tool_text question;
    int rc = ticket_check(t, err);
    if (rc == 0) rc = tool_arg_text(ticket_arguments(t), "question", &question, err);
    if (rc == 0 && !a->toolbox.ask) rc = err_set(err, -1, "nobody can be asked here");
    if (rc == 0 && !a->toolbox.ask(a->toolbox.self, question.s, question.n, out))
        rc = err_set(err, -1, "the user gave no answer");
    ticket_free(t);
    return rc;
}

static int run(struct app *a, struct tool_ticket *t, struct buf *out, bool *failed, struct err *err)
{
    struct tool_run *r = tool_run_start(&a->toolbox.run, t, err);
    bool cancelled = false;
    if (!r) return -1;
    while (!tool_run_step(r, app_pause(a))) {
        if (!cancelled && (signals_pending() || a->trace.voice->cancelled)) tool_run_cancel(r);
        cancelled = signals_pending() || a->trace.voice->cancelled;
    }
    const struct tool_run_result *result = tool_run_result(r);
    *failed = result->failed;
    buf_put(out, result->text.data ? result->text.data : "", result->text.len);
    bool lost = out->failed || result->text.failed;
    tool_run_close(r);
    return lost ? err_set(err, -1, "no memory for the result") : 0;
}

int toolbox_call(struct app *a, const char *name, const char *arguments, int64_t tokens, struct buf *out,
                 bool *failed, enum clip_kind *kind, struct err *err)
{
    struct tool_ticket *t = NULL;
    *failed = false;
    *kind = strcmp(name, "shell") == 0 ? CLIP_LOG : CLIP_AUTO;
    enum rights_verdict v = rights_check(a->toolbox.rights, name, arguments, &t, err);
    if (v == RIGHTS_DENIED || v == RIGHTS_INVALID) return -1;
    if (v == RIGHTS_ASK && approve(a, t, tokens, err)) return -1;
    if (strcmp(name, "ask") == 0) return ask_person(a, t, out, err);
    if (ticket_tool(t)->place == TOOL_SERVER) return toolbox_serve(a, t, out, failed, err);
    return run(a, t, out, failed, err);
}

/* ---------------------------------------------------------------- what was denied */

int toolbox_denied(const struct toolbox *b)
{
    const struct rights_denial *list;
    uint64_t more;
    return b->rights ? rights_denied(b->rights, &list, &more) : 0;
}

void toolbox_say_denied(const struct toolbox *b)
{
    const struct rights_denial *list;
    uint64_t more = 0;
    int n = b->rights ? rights_denied(b->rights, &list, &more) : 0;
    for (int i = 0; i < n; i++)
        say("denied: %s %s%s", list[i].tool, list[i].shown, list[i].times > 1 ? " (more than once)" : "");
    if (more > 0) say("denied: %llu other call%s", (unsigned long long)more, plural((int64_t)more));
}
