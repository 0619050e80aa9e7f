/* chat.c - see chat.h. */
#include "app/chat.h"
#include "app/signals.h"

static int own(const char *text, size_t n, enum role role, struct msg *out, struct err *err)
{
    char *copy = malloc(n + 1);
    if (!copy) return err_set(err, -1, "no memory for a message of %zu bytes", n);
    if (n > 0) memcpy(copy, text, n);
    copy[n] = '\0';
    *out = (struct msg){.role = role, .text = copy, .len = n};
    return 0;
}

static void drop_last(struct chat *c)
{
    free((char *)c->msgs[--c->n].text);
}

static int push(struct chat *c, enum role role, const char *text, size_t n, struct err *err)
{
    if (c->n == c->cap) {
        int cap = c->cap ? 2 * c->cap : 16;
        struct msg *p = cap > INT32_MAX / 4 ? NULL : realloc(c->msgs, (size_t)cap * sizeof *p);
        if (!p) return err_set(err, -1, "no memory for a conversation of %d messages", cap);
        c->msgs = p;
        c->cap = cap;
    }
    if (own(text, n, role, &c->msgs[c->n], err)) return -1;
    c->n++;
    return 0;
}

int chat_open(struct chat *c, struct app *a, const char *system, struct err *err)
{
    *c = (struct chat){.a = a};
    return system && *system ? push(c, ROLE_SYSTEM, system, strlen(system), err) : 0;
}

void chat_close(struct chat *c)
{
    while (c->n > 0) drop_last(c);
    free(c->msgs);
    *c = (struct chat){0};
}

bool chat_has_system(const struct chat *c)
{
    return c->n > 0 && c->msgs[0].role == ROLE_SYSTEM;
}

void chat_clear(struct chat *c)
{
    while (c->n > (chat_has_system(c) ? 1 : 0)) drop_last(c);
    c->any = false;
}

int chat_system(struct chat *c, const char *text, size_t n, struct err *err)
{
    struct msg system;
    bool had = chat_has_system(c);
    if (n == 0 && had) {
        free((char *)c->msgs[0].text);
        memmove(c->msgs, c->msgs + 1, (size_t)--c->n * sizeof *c->msgs);
    }
    if (n == 0) return 0;
    if (!had) { /* room for one more, then everything moves up */
        if (push(c, ROLE_SYSTEM, text, n, err)) return -1;
        system = c->msgs[c->n - 1];
        memmove(c->msgs + 1, c->msgs, (size_t)(c->n - 1) * sizeof *c->msgs);
    } else {
        if (own(text, n, ROLE_SYSTEM, &system, err)) return -1;
        free((char *)c->msgs[0].text);
    }
    c->msgs[0] = system;
    return 0;
}

int chat_add_user(struct chat *c, const char *text, size_t n, struct err *err)
{
    return push(c, ROLE_USER, text, n, err);
}

/* Whether what was said stays: see the table in chat.h. */
static bool stays(const struct turn_result *r)
{
    return r->end == END_STOP || r->end == END_LENGTH || (r->end == END_CANCELLED && r->text.len > 0);
}

int chat_ask(struct chat *c, const char *text, size_t n, struct err *err)
{
    struct turn_result r = {0};
    if (push(c, ROLE_USER, text, n, err)) return EXIT_INTERNAL;
    struct turn_ask ask = {.msgs = c->msgs, .n_msgs = c->n};
    int code = turn_run(c->a, &ask, &r, err), status = turn_exit(code, &r);
    bool keep = !code && stays(&r);
    if (!keep) drop_last(c);
    if (keep && (r.text.failed || push(c, ROLE_ASSISTANT, r.text.data, r.text.len, err))) {
        drop_last(c);
        status = EXIT_INTERNAL;
        err_set(err, -1, "no memory to keep the answer: the turn was withdrawn");
    }
    if (!code && r.end == END_NO_TOKEN)
        err_set(err, -1, "the rules (--logit-bias) left no token to choose: the turn was withdrawn");
    buf_free(&r.text);
    if (!code) {
        c->last = r;
        c->any = true;
    }
    return status;
}
