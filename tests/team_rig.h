/* team_rig.h - a crew over many_engine.h: the program around it, its events, and how a flow went as a line of text.
 * Header only, like store_rig.h, which it stands on. */
#ifndef TEAM_RIG_H
#define TEAM_RIG_H
#include "app/session/session_impl.h"
#include "app/session/team.h"
#include "app/signals.h"
#include "tests/many_engine.h"
#include "tests/store_rig.h"
#include <jansson.h>

RIG struct opts opts;
RIG struct app app;
RIG struct team team;
RIG FILE *told; /* --json goes here */

/* ---------------------------------------------------------------- what agents say */

/* What was said to the model last: "user:...", "tool:..." to the end of the messages. */
static inline const char *last_of(const char *heard)
{
    const char *last = heard;
    for (const char *at = heard; (at = strchr(at, '|')) != NULL && at[1];) {
        at++;
        if (strncmp(at, "user:", 5) == 0 || strncmp(at, "tool:", 5) == 0) last = at;
    }
    return last;
}

static inline bool hears(const char *heard, const char *part) { return strstr(heard, part) != NULL; }
static inline void says(char *out, const char *text) { snprintf(out, MANY_TEXT, "%s", text); }

/* ---------------------------------------------------------------- the program around it */

/* folder: of the store, or NULL: nothing is saved. */
static inline void open_app(const char *yaml, void (*reply)(const char *heard, char *out), int ctx, int seats,
                            const char *folder)
{
    static struct out json;
    err = (struct err){0};
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 60, .json = true,
                         .crew = "test.yaml"};
    app = (struct app){.o = &opts, .ops = &many_ops, .engine = &many, .info = many_begin(reply, ctx, seats),
                       .sampling = {.temp = 1, .top_p = 1, .repeat = 1, .seed = 1000}, .lockstep = true};
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    told = tmpfile();
    CHECK(told != NULL);
    out_init(&json, fileno(told));
    OK(trace_open(&app.trace, &json, NULL, NULL, 0, &err));
    OK(crew_read(yaml, strlen(yaml), "test.yaml", &app.crew, &err));
    OK(toolbox_open(&app.toolbox, &app, false, &err));
    signal(SIGINT, SIG_DFL); /* a background job of a shell's was started with it ignored */
    OK(signals_open(&err));
    if (folder) OK(keeper_open(&app.keeper, open_at(folder), &err));
}

static inline void close_app(void)
{
    keeper_close(app.keeper);
    toolbox_close(&app.toolbox);
    crew_free(&app.crew);
    close(app.answers.fd);
    fclose(told);
    many_end();
    signals_forget_interrupt();
}

static inline void begin_team(const char *yaml, void (*reply)(const char *heard, char *out), const char *folder)
{
    open_app(yaml, reply, 4000, 8, folder);
    OK(team_open(&team, &app, &err));
}

static inline void end_team(void)
{
    CHECK_EQ(team_close(&team), 0);
    close_app();
}

static inline int line(const char *text)
{
    err = (struct err){0};
    return team_ask(&team, text, strlen(text), &err);
}

static inline const char *result(void)
{
    static char text[MANY_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)team.last.len, team.last.data ? team.last.data : "");
    return text;
}

/* ---------------------------------------------------------------- what was told */

static inline const char *events(void)
{
    static struct buf b;
    char part[4096];
    ssize_t n;
    off_t at = 0;
    b.len = 0;
    while ((n = pread(fileno(told), part, sizeof part, at)) > 0) {
        buf_put(&b, part, (size_t)n);
        at += n;
    }
    return b.len ? b.data : "";
}

/* Every event of --json so far, read back; each of them is one that the reader of events takes. */
static inline void each_event(void (*see)(void *self, const json_t *e), void *self)
{
    for (const char *at = events(), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct event e;
        OK(event_read(at, (size_t)(end - at), &e, &err));
        event_free(&e);
        json_t *j = json_loadb(at, (size_t)(end - at), 0, NULL);
        CHECK(j != NULL);
        see(self, j);
        json_decref(j);
    }
}

static inline const char *field(const json_t *e, const char *name)
{
    const char *s = json_string_value(json_object_get(e, name));
    return s ? s : "";
}
static inline int number(const json_t *e, const char *name)
{
    return (int)json_integer_value(json_object_get(e, name));
}
static inline bool is_event(const json_t *e, const char *name) { return strcmp(field(e, "event"), name) == 0; }

static inline void see_flow(void *self, const json_t *e)
{
    struct buf *out = self;
    bool asked = *field(e, "to") != '\0';
    if (is_event(e, "flow") && asked)
        buf_printf(out, "%s%d %s%s", out->len ? ", " : "", number(e, "ask"), field(e, "to"),
                   strcmp(field(e, "change"), "again") == 0 ? " again" : "");
    if (is_event(e, "flow") && asked && number(e, "parts")) buf_printf(out, " +%d", number(e, "parts"));
    if (is_event(e, "flow") && !asked) buf_printf(out, "; %s", field(e, "change"));
}

/* "1 ann, 2 bob +1; done": who was asked, with how many parts of others, and how it ended; of all flows so far. */
static inline const char *story(void)
{
    static struct buf b;
    b.len = 0;
    buf_puts(&b, "");
    each_event(see_flow, &b);
    return b.len ? b.data : "";
}

struct counted {
    const char *event, *name, *value; /* events of this kind whose field `name` is value; name NULL: all of the kind */
    int n;
};
static inline void see_count(void *self, const json_t *e)
{
    struct counted *c = self;
    c->n += is_event(e, c->event) && (!c->name || strcmp(field(e, c->name), c->value) == 0);
}
static inline int count_events(const char *event, const char *name, const char *value)
{
    struct counted c = {event, name, value, 0};
    each_event(see_count, &c);
    return c.n;
}
#endif
