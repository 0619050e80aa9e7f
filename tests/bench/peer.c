/* peer.c - the peer's figures: its driver is another program, whose lines are read.
 *
 *     INFO version=b1 model=x.gguf ... load_s=0.52 ...
 *     RES model=x.gguf threads=2 ... test=tg128 fa=1 median=68.2 min=67.9 max=68.8 bw=0.70 ... rd=51.2 i8=2210 ... */
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include <unistd.h>

static void keep_line(void *self, char *text)
{
    struct peer *p = self;
    snprintf(p->driver, sizeof p->driver, "%s%s", *text == '/' || *text == '.' ? "" : "./", text);
}

bool peer_find(struct peer *p, const struct options *o, struct err *err)
{
    static const char script[] = "tests/bench/peer.sh";
    *p = (struct peer){0};
    if (access(script, R_OK)) {
        err_set(err, -1, "%s is not here: start the bench from the repository's root", script);
        return false;
    }
    char *const argv[] = {"sh", (char *)script, (char *)o->folder, NULL};
    int code = child_lines(argv, keep_line, p, err);
    if (code == 0 && p->driver[0]) return true;
    if (code >= 0) err_set(err, -1, "without a peer");
    return false;
}

/* The text after " key=" up to the next blank; "" if there is none. */
static const char *word(const char *line, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    *out = '\0';
    for (const char *at = strchr(line, ' '); at; at = strchr(at, ' ')) {
        at++;
        if (strncmp(at, key, n) || at[n] != '=') continue;
        snprintf(out, size, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
        break;
    }
    return out;
}

static double value(const char *line, const char *key)
{
    char text[64];
    return strtod(word(line, key, text, sizeof text), NULL);
}

struct reader {
    struct peer *p;
    const struct options *o;
    struct subject *s;
};

static void read_figure(const struct reader *r, const char *line)
{
    char name[64];
    word(line, "test", name, sizeof name);
    for (int i = 0; i < r->o->tests; i++) {
        const struct test *t = &r->o->test[i];
        struct figure *f = &r->s->peer.figure[i];
        if (strcmp(t->name, name) || f->there) continue;
        *f = (struct figure){.there = value(line, "median") > 0,
                             .rate = {value(line, "median"), value(line, "min"), value(line, "max")},
                             .share = value(line, t->prefill ? "int8" : "bw"),
                             .limit = value(line, t->prefill ? "i8" : "rd"),
                             .noise = value(line, "noise"), .thrown = (int)value(line, "thrown")};
        if (f->there) report_progress("peer", r->s, t, f);
        return;
    }
}

static void read_line(void *self, char *text)
{
    const struct reader *r = self;
    if (strncmp(text, "RES ", 4) == 0) read_figure(r, text);
    if (strncmp(text, "INFO version=", 13) == 0) {
        r->s->peer.load_s = value(text, "load_s");
        word(text, "version", r->p->version, sizeof r->p->version);
    }
}

int peer_measure(struct peer *p, const struct options *o, struct subject *s, struct err *err)
{
    char threads[16], reps[16], wait[32], tests[BENCH_TESTS * 25] = "";
    for (int i = 0; i < o->tests; i++) {
        size_t at = strlen(tests);
        snprintf(tests + at, sizeof tests - at, "%s%s", i ? "," : "", o->test[i].name);
    }
    snprintf(threads, sizeof threads, "%d", o->threads);
    snprintf(reps, sizeof reps, "%d", o->reps);
    snprintf(wait, sizeof wait, "%g", o->wait_s);
    char *const argv[] = {p->driver, "-m", s->path, "-t", threads, "-r",     reps, "-fa",
                          "1",       "-wait", wait, "-tests", tests,  NULL};
    struct reader r = {.p = p, .o = o, .s = s};
    int code = child_lines(argv, read_line, &r, err);
    if (code > 0) err_set(err, -1, "the peer ended with %d on %s", code, s->path);
    return code ? -1 : 0;
}
