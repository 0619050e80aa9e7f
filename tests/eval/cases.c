/* cases.c - reading and proving the cases. */
#include "tests/eval/eval.h"
#include <errno.h>

enum { MAX_LINE = 16 << 20, NAMED = 5 };

static bool is_message(const json_t *m)
{
    const char *role = json_string_value(json_object_get(m, "role"));
    bool known = false;
    for (int r = 0; role && r < ROLE_COUNT; r++) known = known || strcmp(role, role_name((enum role)r)) == 0;
    return known && json_is_string(json_object_get(m, "content"));
}

static int fill(struct eval_case *c, json_t *o, struct err *err)
{
    size_t i;
    json_t *m;
    c->json = o;
    c->row = json_string_value(json_object_get(o, "row"));
    c->messages = json_object_get(o, "messages");
    c->expected = json_object_get(o, "expected");
    c->check = json_object_get(o, "check");
    c->turn = json_object_get(o, "turn");
    if (!c->row || !*c->row) return err_set(err, -1, "\"row\" must be a text");
    if (!json_is_string(c->expected)) return err_set(err, -1, "\"expected\" must be a text");
    if (json_array_size(c->messages) == 0) return err_set(err, -1, "\"messages\" must be a list of messages");
    json_array_foreach(c->messages, i, m)
        if (!is_message(m)) return err_set(err, -1, "message %zu needs a role that is known and a content", i + 1);
    return judge_check(c->check, c->turn, err);
}

static int add(struct cases *c, const char *text, size_t len, const char *path, int line, struct err *err)
{
    json_error_t why;
    struct err what = {0};
    if (text[strspn(text, " \t\r\n")] == '\0') return 0;
    json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!o) return err_set(err, -1, "%s:%d: column %d: %s", path, line, why.column, why.text);
    if (c->n == c->cap) {
        int cap = MAX(64, 2 * c->cap);
        struct eval_case *at = realloc(c->at, (size_t)cap * sizeof *at);
        if (!at) {
            json_decref(o);
            return err_set(err, -1, "%s:%d: no memory for more cases", path, line);
        }
        c->at = at;
        c->cap = cap;
    }
    struct eval_case *new = &c->at[c->n++];
    *new = (struct eval_case){.file = path, .line = line};
    if (fill(new, o, &what)) return err_set(err, -1, "%s:%d: %s", path, line, what.text);
    return 0;
}

int cases_read(struct cases *c, const char *path, struct err *err)
{
    FILE *in = fopen(path, "r");
    if (!in) return err_set(err, -1, "%s: %s", path, strerror(errno));
    char *text = NULL;
    size_t cap = 0;
    ssize_t len;
    int rc = 0;
    for (int line = 1; rc == 0 && (len = getline(&text, &cap, in)) > 0; line++)
        rc = len > MAX_LINE ? err_set(err, -1, "%s:%d: longer than 16 MiB", path, line)
                            : add(c, text, (size_t)len, path, line, err);
    if (rc == 0 && ferror(in)) rc = err_set(err, -1, "%s: %s", path, strerror(errno));
    free(text);
    fclose(in);
    return rc;
}

int cases_prove(const struct cases *c)
{
    int failed = 0;
    for (int i = 0; i < c->n; i++) {
        const struct eval_case *k = &c->at[i];
        const char *text = json_string_value(k->expected);
        struct judgement j = judge_answer(k->check, k->turn, text, json_string_length(k->expected));
        if (j.ok) continue;
        if (failed++ < NAMED)
            fprintf(stderr, "eval: %s:%d (%s): its own expected answer %s\n", k->file, k->line, k->row, j.why);
    }
    if (failed > NAMED) fprintf(stderr, "eval: ... and %d more like that\n", failed - NAMED);
    return failed;
}

void cases_free(struct cases *c)
{
    for (int i = 0; i < c->n; i++) {
        json_decref(c->at[i].json);
        buf_free(&c->at[i].answer);
    }
    free(c->at);
    *c = (struct cases){0};
}
