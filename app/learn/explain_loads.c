/* explain_loads.c - see explain_loads.h. */
#include "app/learn/explain_loads.h"
#include <ctype.h>
#include <strings.h>

enum { LINE_MOST = 400 /* bytes of a line that are looked at */, MODELS_MOST = 32, APART = 4, LETTERS = 128 };

/* ------------------------------------------------------------------ words of a line */

enum say { BEGINS, RETURNS, ASKS, ASKS_NTH /* a number follows */, POSTS /* a path follows */, LOADS, LOADS_NAMED };

static const struct word { const char *s; enum say of; } word_row[] = {
    {"started server process", BEGINS}, {"booting worker", BEGINS}, {"starting runner", BEGINS},
    {"starting llama server", BEGINS}, {"starting gunicorn", BEGINS}, {"serving flask app", BEGINS},
    {"api server version", BEGINS}, {"initializing a v1 llm engine", BEGINS}, {"initializing an llm engine", BEGINS},
    {"build: ", BEGINS}, {"detected changes", BEGINS}, {"reloading", BEGINS}, {"restarting", BEGINS},
    {"started container", BEGINS}, {"container started", BEGINS}, {"systemd[1]: started", BEGINS},
    {"$ python", BEGINS}, {"$ vllm", BEGINS}, {"$ ./", BEGINS}, {"$ uvicorn", BEGINS}, {"$ llama", BEGINS},
    {"unload", RETURNS}, {"freed model", RETURNS}, {"model freed", RETURNS}, {"released model", RETURNS},
    {"model released", RETURNS},
    {"received request", ASKS}, {"added request", ASKS}, {"handling request", ASKS}, {"processing request", ASKS},
    {"new request", ASKS}, {"prompt eval time", ASKS}, {"post", POSTS},
    {"request", ASKS_NTH}, {"req", ASKS_NTH}, {"turn", ASKS_NTH}, {"question", ASKS_NTH}, {"query", ASKS_NTH},
    {"prompt", ASKS_NTH}, {"iteration", ASKS_NTH}, {"job", ASKS_NTH}, {"task", ASKS_NTH}, {"run", ASKS_NTH},
    {"round", ASKS_NTH}, {"call", ASKS_NTH}, {"crew", ASKS_NTH}, {"document", ASKS_NTH},
    {"loaded meta data with", LOADS_NAMED}, {"starting to load model", LOADS_NAMED},
    {"loading checkpoint shards", LOADS}, {"safetensors checkpoint shards", LOADS},
    {"loading pipeline components", LOADS}, {"load_tensors:", LOADS}, {"loading weights took", LOADS},
    {"loading model weights took", LOADS}, {"model loading took", LOADS}};

enum { WORDS = COUNT_OF(word_row) };

struct words { int8_t first[LETTERS], next[WORDS]; }; /* by first letter; -1: no more */

struct said {
    bool begins, returns, asks;
    int load;           /* the word; -1: none */
    size_t behind_load; /* where it ends */
};

static void words_open(struct words *x)
{
    memset(x, -1, sizeof *x);
    for (int w = WORDS - 1; w >= 0; w--) {
        x->next[w] = x->first[(int)word_row[w].s[0]];
        x->first[(int)word_row[w].s[0]] = (int8_t)w;
    }
}

/* "request 7", "turn #7", "task: 7", "POST /v1", "POST   \"/v1\"": what stands in the line from `at` on. */
static bool is_followed(const char *s, size_t n, size_t at, enum say of)
{
    const char *blank = of == POSTS ? " \"" : " #:=-";
    const size_t most = of == POSTS ? n : MIN(n, at + APART);
    while (at < most && s[at] && strchr(blank, s[at])) at++;
    return at < n && (of == POSTS ? s[at] == '/' : isdigit((unsigned char)s[at]) != 0);
}

static void hear(const char *s, size_t n, size_t at, int w, struct said *out)
{
    const enum say of = word_row[w].of;
    const size_t len = strlen(word_row[w].s);
    if (n - at < len || strncasecmp(s + at, word_row[w].s, len) != 0) return;
    if (of == BEGINS) out->begins = true;
    if (of == RETURNS) out->returns = true;
    if (of == ASKS) out->asks = true;
    if (of == ASKS_NTH || of == POSTS)
        out->asks = out->asks || ((at == 0 || !isalnum((unsigned char)s[at - 1])) && is_followed(s, n, at + len, of));
    if (of < LOADS || out->load >= 0) return;
    out->load = w;
    out->behind_load = at + len;
}

static struct said listen(const struct words *x, const char *s, size_t n)
{
    struct said said = {.load = -1};
    for (size_t i = 0; i < n; i++) {
        const int c = tolower((unsigned char)s[i]);
        for (int w = c < LETTERS ? x->first[c] : -1; w >= 0; w = x->next[w]) hear(s, n, i, w, &said);
    }
    return said;
}

/* "(EngineCore pid=77)", "box serve[77]:"; -1: the line names no process. */
static int64_t process_of(const char *s, size_t n)
{
    const size_t prefix = MIN(log_prefix(s, n), n);
    const char *pid = memmem(s, prefix, "pid=", 4);
    size_t at = pid ? (size_t)(pid - s) + 4 : 0;
    for (size_t i = 1; !at && i + 1 < prefix; i++)
        if (s[i] == '[' && isalnum((unsigned char)s[i - 1]) && isdigit((unsigned char)s[i + 1])) at = i + 1;
    int64_t number = -1;
    for (; at && at < prefix && isdigit((unsigned char)s[at]) && number < INT32_MAX; at++)
        number = MAX(number, 0) * 10 + (s[at] - '0');
    return number;
}

/* ------------------------------------------------------------------ what is loaded */

struct model { /* whose loads are counted */
    int64_t process;
    int word;          /* that told of it */
    uint32_t name;     /* a hash of it */
    int percent;       /* of a progress bar's last line */
    uint32_t requests; /* that were seen when it was last loaded */
    struct loads loads;
    int told;          /* loads that a failure was told */
};

struct story {
    struct words words;
    struct model model[MODELS_MOST];
    int models, processes, booting; /* begun side by side: at most, in the group that begins */
    bool at_work;
    uint32_t requests;
};

static bool is_named(const struct model *m) { return word_row[m->word].of == LOADS_NAMED; }

static uint32_t hash_of(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n && (unsigned char)s[i] >= ' '; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static int percent_of(const char *s, size_t n)
{
    const char *sign = memchr(s, '%', n);
    int value = 0, by = 1;
    for (const char *p = sign; p && p > s && isdigit((unsigned char)p[-1]) && by <= 100; p--, by *= 10)
        value += (p[-1] - '0') * by;
    return sign ? value : -1;
}

static struct model *model_of(struct story *t, int64_t process, int word, uint32_t name)
{
    for (int i = 0; i < t->models; i++)
        if (t->model[i].process == process && t->model[i].word == word && t->model[i].name == name)
            return &t->model[i];
    if (t->models == MODELS_MOST) return NULL;
    t->model[t->models] = (struct model){.process = process, .word = word, .name = name, .percent = -1};
    return &t->model[t->models++];
}

/* s: what stands behind the word. */
static void load(struct story *t, int64_t process, int word, const char *s, size_t n, uint32_t line)
{
    struct model *m = model_of(t, process, word, word_row[word].of == LOADS_NAMED ? hash_of(s, n) : 0);
    if (!m) return;
    const int percent = percent_of(s, n);
    const bool goes_on = percent > m->percent && m->percent >= 0;
    if (!m->loads.n || (!goes_on && m->requests != t->requests)) {
        if (m->loads.n < LOADS_LINES) m->loads.line[m->loads.n] = line;
        m->loads.n += m->loads.n < INT32_MAX;
    }
    m->percent = percent;
    m->requests = t->requests;
}

static void begin_process(struct story *t)
{
    t->booting = t->at_work ? 1 : t->booting + (t->booting < INT32_MAX);
    t->processes = MAX(t->processes, t->booting);
    t->at_work = false;
    t->models = 0;
}

static void read_line(struct story *t, const char *s, size_t n, uint32_t line)
{
    n = MIN(n, (size_t)LINE_MOST);
    const struct said said = listen(&t->words, s, n);
    if (said.begins) {
        begin_process(t);
        return;
    }
    if (said.returns) t->models = 0;
    t->requests += said.asks;
    t->at_work = t->at_work || said.asks || said.load >= 0;
    if (said.load >= 0)
        load(t, process_of(s, n), said.load, s + said.behind_load, n - said.behind_load, line);
}

/* ------------------------------------------------------------------ what was loaded again */

static bool names_models(const struct story *t, int64_t process)
{
    for (int i = 0; i < t->models; i++)
        if (t->model[i].process == process && is_named(&t->model[i])) return true;
    return false;
}

/* A failure behind another is told only what was loaded since, too: else it may be of another log. */
static struct loads again(struct story *t)
{
    struct loads best = {0};
    for (int i = 0; i < t->models; i++) {
        struct model *m = &t->model[i];
        const bool new = m->loads.n > m->told;
        const bool named = is_named(m);
        const int once = (m->process >= 0 ? 1 : MAX(t->processes, 1)) + !named; /* as many say nothing */
        m->told = m->loads.n;
        if (!new || m->loads.n <= once || m->loads.n <= best.n || (!named && names_models(t, m->process))) continue;
        best = m->loads;
    }
    return best;
}

void loads_before(const char *text, size_t n, const uint32_t *line, int lines, struct loads *out)
{
    struct story t = {0};
    struct run_lines l = {.text = text, .n = n};
    int k = 0;
    words_open(&t.words);
    while (k < lines && run_next_line(&l)) {
        for (; k < lines && line[k] <= l.line; k++) out[k] = again(&t);
        read_line(&t, l.s, l.len, l.line);
    }
    for (; k < lines; k++) out[k] = again(&t);
}
