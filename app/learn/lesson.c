/* lesson.c - see lesson.h. */
#include "app/learn/lesson.h"
#include "app/opts.h"
#include "engine/text.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const char header[] = "plimsoll lesson 1";

/* A file in the making, line by line. */
struct reader {
    const char *file;
    char *at;  /* the next line */
    int line;  /* that was read last */
    struct lesson *l;
    bool has[RUNS]; /* scripts */
    struct err *err;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *fmt, ...)
{
    char why[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return err_set(r->err, -1, "%.80s: line %d: %s", r->file, r->line, why);
}

static int told(struct reader *r, const struct err *why) { return wrong(r, "%s", why->text); }

/* ---------------------------------------------------------------- lines */

/* The next line, NUL-terminated in place; NULL: there is none. */
static char *next_line(struct reader *r)
{
    char *line = r->at, *end = line ? strchr(line, '\n') : NULL;
    if (!line || !*line) return NULL;
    r->line++;
    r->at = end ? end + 1 : line + strlen(line);
    if (end) *end = '\0';
    if (end && end > line && end[-1] == '\r') end[-1] = '\0';
    return line;
}

static char *trim(char *s)
{
    while (*s == ' ' || *s == '\t') s++;
    for (char *end = s + strlen(s); end > s && (end[-1] == ' ' || end[-1] == '\t'); end--) end[-1] = '\0';
    return s;
}

static bool is_section(const char *line) { return strncmp(line, "== ", 3) == 0; }

/* "key: value" with this key; the value, or NULL. */
static char *value_of(char *line, const char *key)
{
    size_t n = strlen(key);
    return strncmp(line, key, n) == 0 && line[n] == ':' ? trim(line + n + 1) : NULL;
}

/* All lines up to the next section, as they stand, without the blank ones around them. */
static char *take_text(struct reader *r)
{
    static char nothing[1];
    char *begin = NULL, *end = NULL;
    while (*r->at && !is_section(r->at)) {
        size_t n = strcspn(r->at, "\n");
        bool blank = strspn(r->at, " \t\r") >= n;
        if (!blank && !begin) begin = r->at;
        if (!blank) end = r->at + n;
        r->at += n + (r->at[n] == '\n');
        r->line++;
    }
    if (!begin) return nothing;
    if (end == r->at) return begin; /* the file ends with it */
    *end = '\0';
    return begin;
}

static int words(struct reader *r, char *value, struct lesson_words *out)
{
    char *save = NULL;
    *out = (struct lesson_words){.n = 0};
    for (char *w = strtok_r(value, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        if (out->n == LESSON_WORDS) return wrong(r, "more than %d words", LESSON_WORDS);
        out->word[out->n++] = w;
    }
    return 0;
}

static bool is_word(const char *s, size_t most)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n < most && s[n] == '\0' && s[0] != '-';
}

static bool read_count(const char *s, int most, int *out)
{
    char *end;
    long n = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : 0;
    if (n < 1 || n > most || *end) return false;
    *out = (int)n;
    return true;
}

/* ---------------------------------------------------------------- the head */

/* "turn 9 oom" or "oom". */
static int read_fails(struct reader *r, char *v, struct lesson *l)
{
    struct lesson_words w;
    if (words(r, v, &w)) return -1;
    bool has_turn = w.n == 3 && strcmp(w.word[0], "turn") == 0 && read_count(w.word[1], 9999, &l->fails_turn);
    int how = has_turn || w.n == 1 ? run_end_find(w.word[w.n - 1]) : -1;
    if (how <= RUN_UNKNOWN) return wrong(r, "fails: needs \"turn N END\" or \"END\": oom, refused, host, stopped, "
                                         "wrong, killed or done");
    l->fails = (enum run_end)how;
    return 0;
}

static int read_kill(struct reader *r, char *v, struct lesson *l)
{
    struct lesson_words w;
    if (words(r, v, &w)) return -1;
    bool ok = w.n == 2 && strcmp(w.word[0], "turn") == 0 && read_count(w.word[1], 9999, &l->kill_turn);
    return ok ? 0 : wrong(r, "kill: needs \"turn N\"");
}

static int read_cause(struct reader *r, const char *v, struct lesson *l)
{
    int c = cause_find(v);
    if (c < 0) return wrong(r, "cause: \"%.40s\" is none of verdict.h", v);
    l->cause = (enum cause)c;
    return 0;
}

static int take_words(struct reader *r, char *v, bool is_run, struct lesson_words *out)
{
    struct err why = {0};
    if (words(r, v, out)) return -1;
    return lesson_check_words(out, is_run, &why) ? told(r, &why) : 0;
}

static int head_line(struct reader *r, char *line)
{
    struct lesson *l = r->l;
    char *v;
    if ((v = value_of(line, "name"))) {
        l->name = v;
        return is_word(v, LESSON_NAME) ? 0 : wrong(r, "name: letters, digits and -, at most %d", LESSON_NAME - 1);
    }
    if ((v = value_of(line, "title"))) return l->title = v, 0;
    if ((v = value_of(line, "covers"))) return l->covers = v, 0;
    if ((v = value_of(line, "cause"))) return read_cause(r, v, l);
    if ((v = value_of(line, "run"))) return take_words(r, v, true, &l->run);
    if ((v = value_of(line, "flags"))) return take_words(r, v, false, &l->flags);
    if ((v = value_of(line, "broken"))) return take_words(r, v, false, &l->own[RUN_BROKEN]);
    if ((v = value_of(line, "fixed"))) return take_words(r, v, false, &l->own[RUN_FIXED]);
    if ((v = value_of(line, "fails"))) return read_fails(r, v, l);
    if ((v = value_of(line, "kill"))) return read_kill(r, v, l);
    return *trim(line) ? wrong(r, "\"%.40s\" is no line of a lesson's head", line) : 0;
}

/* ---------------------------------------------------------------- sections */

static int read_answer(struct reader *r, const char *v, struct lesson_ask *a)
{
    struct err why = {0};
    if (!a->is_choice) return figure_read(v, strlen(v), &a->answer, &why) ? told(r, &why) : 0;
    a->letter = v[0];
    return v[0] >= 'a' && v[0] < 'a' + LESSON_CHOICES && !v[1] ? 0 : wrong(r, "answer: the letter of a choice");
}

static int read_within(struct reader *r, char *v, struct lesson_ask *a)
{
    size_t n = strlen(v);
    a->within_share = n > 0 && v[n - 1] == '%';
    if (a->within_share) v[n - 1] = '\0';
    if (!opts_size(v, &a->within) || a->within < 0) return wrong(r, "within: a number, or a share such as 10%%");
    if (a->within_share) a->within /= 100;
    return 0;
}

static int choice_line(struct reader *r, char *line, struct lesson_ask *a)
{
    if (a->choices == LESSON_CHOICES || line[0] != 'a' + a->choices)
        return wrong(r, "choices go from a) on, %d at most", LESSON_CHOICES);
    a->choice[a->choices++] = trim(line + 2);
    return 0;
}

static bool is_choice(const char *line) { return line[0] >= 'a' && line[0] <= 'z' && line[1] == ')'; }

/* Behind the text, which ends at the first of these lines. */
static int ask_line(struct reader *r, char *line, struct lesson_ask *a)
{
    struct err why = {0};
    char *v;
    if ((v = value_of(line, "answer"))) return read_answer(r, v, a);
    if ((v = value_of(line, "within"))) return read_within(r, v, a);
    if (is_choice(line)) return choice_line(r, line, a);
    if ((v = value_of(line, "why"))) {
        a->why = v;
        return figures_check(v, &why) ? told(r, &why) : 0;
    }
    return *trim(line) ? wrong(r, "behind the text of a question: answer:, within:, why:, a) ...") : 0;
}

static bool begins_ask(const char *line)
{
    return strncmp(line, "answer:", 7) == 0 || is_choice(line);
}

/* Its text, up to the first of the lines that follow it. */
static char *ask_text(struct reader *r)
{
    char *text = r->at + strspn(r->at, "\n"), *end = text;
    while (*r->at && !is_section(r->at) && !begins_ask(r->at)) {
        size_t n = strcspn(r->at, "\n");
        if (strspn(r->at, " \t\r") < n) end = r->at + n;
        r->at += n + (r->at[n] == '\n');
        r->line++;
    }
    if (end == text || end == r->at) return NULL; /* nothing, or the file ends with it */
    *end = '\0';
    return text;
}

static int read_ask(struct reader *r, const char *unit)
{
    static const char *const units[] = {"turns", "bytes", "tokens", "percent", "requests", "choice"};
    struct lesson *l = r->l;
    size_t k = 0;
    bool answered = false;
    while (k < COUNT_OF(units) && strcmp(unit, units[k]) != 0) k++;
    if (k == COUNT_OF(units)) return wrong(r, "== ask needs turns, bytes, tokens, percent, requests or choice");
    if (l->asks == LESSON_ASKS) return wrong(r, "more than %d questions", LESSON_ASKS);
    struct lesson_ask *a = &l->ask[l->asks++];
    *a = (struct lesson_ask){.unit = units[k], .is_choice = strcmp(unit, "choice") == 0, .why = ""};
    a->text = ask_text(r);
    while (a->text && *r->at && !is_section(r->at)) {
        char *line = next_line(r);
        answered |= strncmp(line, "answer:", 7) == 0;
        if (ask_line(r, line, a)) return -1;
    }
    bool chooses = a->is_choice ? a->letter - 'a' < a->choices : a->choices == 0;
    return a->text && answered && chooses ? 0 : wrong(r, "a question has a text, an answer: and, where it is one of "
                                                      "choice, choices that have it");
}

static int read_script(struct reader *r, const char *whose)
{
    bool both = !*whose;
    int only = strcmp(whose, "broken") == 0 ? RUN_BROKEN : strcmp(whose, "fixed") == 0 ? RUN_FIXED : -1;
    if (!both && only < 0) return wrong(r, "== script, == script broken or == script fixed");
    const char *text = take_text(r);
    for (int k = 0; k < RUNS; k++) {
        if (!both && only != k) continue;
        if (r->has[k]) return wrong(r, "a second script for the same run");
        r->has[k] = true;
        r->l->script[k] = text;
    }
    return 0;
}

static int read_file(struct reader *r, char *args)
{
    struct lesson *l = r->l;
    struct lesson_words w;
    struct lesson_file f = {.times = 1};
    if (words(r, args, &w)) return -1;
    if (l->files == LESSON_FILES) return wrong(r, "more than %d files", LESSON_FILES);
    bool named = w.n > 0 && strspn(w.word[0], "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(w.word[0]) &&
                 w.word[0][0] != '.' && strlen(w.word[0]) < LESSON_NAME;
    if (!named || w.n > 2 || (w.n == 2 && (w.word[1][0] != 'x' || !read_count(w.word[1] + 1, 1 << 20, &f.times))))
        return wrong(r, "== file needs a plain name, and xN where it is so many times the text");
    f.name = w.word[0];
    for (int i = 0; i < l->files; i++)
        if (strcmp(l->file[i].name, f.name) == 0) return wrong(r, "a second file %s", f.name);
    f.text = take_text(r);
    uint64_t bytes;
    if (size_mul(strlen(f.text) + 1, (uint64_t)f.times, &bytes) || bytes > LESSON_FILE_MOST)
        return wrong(r, "%s: more than %d MiB", f.name, LESSON_FILE_MOST >> 20);
    l->file[l->files++] = f;
    return 0;
}

static int expect_line(struct reader *r, char *line)
{
    static const char *const ops[] = {"<=", ">=", "!=", "=", "<", ">"};
    struct lesson *l = r->l;
    struct err why = {0};
    char *text = trim(line), *at = text + strcspn(text, "<>=!");
    if (!*text) return 0;
    if (l->expects == LESSON_EXPECTS) return wrong(r, "more than %d expectations", LESSON_EXPECTS);
    struct lesson_expect *e = &l->expect[l->expects++];
    *e = (struct lesson_expect){.text = text};
    for (size_t k = 0; k < COUNT_OF(ops) && !*e->op; k++)
        if (strncmp(at, ops[k], strlen(ops[k])) == 0) snprintf(e->op, sizeof e->op, "%s", ops[k]);
    if (!*e->op) return wrong(r, "an expectation is SUM OP SUM: OP is = != < <= > >=");
    const char *right = at + strlen(e->op);
    int bad = figure_read(text, (size_t)(at - text), &e->left, &why);
    if (!bad) bad = figure_read(right, strlen(right), &e->right, &why);
    return bad ? told(r, &why) : 0;
}

static int read_expects(struct reader *r)
{
    while (*r->at && !is_section(r->at))
        if (expect_line(r, next_line(r))) return -1;
    return 0;
}

static int read_plain(struct reader *r, const char **out)
{
    if (**out) return wrong(r, "a second section of this kind");
    *out = take_text(r);
    return 0;
}

/* A text with figures. */
static int read_figured(struct reader *r, const char **out)
{
    struct err why = {0};
    if (read_plain(r, out)) return -1;
    return figures_check(*out, &why) ? told(r, &why) : 0;
}

static int read_section(struct reader *r, char *line)
{
    struct lesson *l = r->l;
    char *name = trim(line + 3), *args = name + strcspn(name, " \t");
    if (*args) *args++ = '\0';
    args = trim(args);
    if (strcmp(name, "ask") == 0) return read_ask(r, args);
    if (strcmp(name, "script") == 0) return read_script(r, args);
    if (strcmp(name, "file") == 0) return read_file(r, args);
    if (*args) return wrong(r, "== %.20s takes nothing behind it", name);
    if (strcmp(name, "see") == 0) return read_plain(r, &l->see);
    if (strcmp(name, "verdict") == 0) return read_figured(r, &l->verdict);
    if (strcmp(name, "compare") == 0) return read_figured(r, &l->compare);
    if (strcmp(name, "frameworks") == 0) return read_figured(r, &l->frameworks);
    if (strcmp(name, "seed") == 0) return read_figured(r, &l->seed);
    if (strcmp(name, "expect") == 0) return read_expects(r);
    return wrong(r, "== %.40s is no section of a lesson", name);
}

/* ---------------------------------------------------------------- the whole */

static int check_whole(struct reader *r)
{
    struct lesson *l = r->l;
    struct err why = {0};
    const char *lacks = !l->name ? "name:" : !l->title ? "title:" : !l->covers ? "covers:" : !*l->see ? "== see"
                        : l->asks == 0 ? "== ask" : !*l->verdict ? "== verdict"
                        : !*l->compare ? "== compare" : l->fails == RUN_UNKNOWN ? "fails:"
                        : l->cause == CAUSE_UNKNOWN ? "cause:" : l->expects == 0 ? "== expect" : NULL;
    if (lacks) return err_set(r->err, -1, "%.80s: a lesson needs %s", r->file, lacks);
    bool scripted = r->has[RUN_BROKEN] || r->has[RUN_FIXED];
    if ((l->run.n > 0) == scripted || (scripted && !(r->has[RUN_BROKEN] && r->has[RUN_FIXED])))
        return err_set(r->err, -1, "%.80s: a lesson has either run: or a script for each run", r->file);
    for (int k = 0; k < RUNS && scripted; k++)
        if (lesson_check_script(l, l->script[k], &why)) return err_set(r->err, -1, "%.80s: %s", r->file, why.text);
    return 0;
}

static int read_all(struct reader *r)
{
    char *line = next_line(r);
    if (!line || strcmp(trim(line), header) != 0) return wrong(r, "a lesson begins with \"%s\"", header);
    while (*r->at && !is_section(r->at))
        if (head_line(r, next_line(r))) return -1;
    while ((line = next_line(r)))
        if (read_section(r, line)) return -1;
    return check_whole(r);
}

/* UTF-8 without what a terminal would obey. */
static bool is_text(const char *text, size_t n)
{
    if (text_valid_utf8(text, n) != n) return false;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < ' ' && !memchr("\n\t\r", text[i], 3)) || text[i] == 0x7f) return false;
    return true;
}

int lesson_read(const char *text, size_t n, const char *file, struct lesson *out, struct err *err)
{
    struct reader r = {.file = file, .l = out, .err = err};
    *out = (struct lesson){.see = "", .verdict = "", .compare = "", .frameworks = "", .seed = "", .script = {"", ""}};
    if (n > LESSON_FILE) return err_set(err, -1, "%.80s: more than %d KiB", file, LESSON_FILE >> 10);
    if (!is_text(text, n)) return err_set(err, -1, "%.80s: a lesson is UTF-8 text without controls", file);
    out->mem = malloc(n + 1);
    if (!out->mem) return err_set(err, -1, "no memory for a lesson");
    memcpy(out->mem, text, n);
    out->mem[n] = '\0';
    r.at = out->mem;
    if (read_all(&r) == 0) return 0;
    for (char *c = err ? err->text : NULL; c && *c; c++)
        if (*c > 0 && *c < ' ') *c = ' '; /* of the lesson's: an error is one line */
    lesson_free(out);
    return -1;
}

void lesson_free(struct lesson *l)
{
    free(l->mem);
    *l = (struct lesson){.mem = NULL};
}

/* A regular file; O_NONBLOCK: opening a pipe that no one writes to must not hang. */
int lesson_load(const char *path, struct lesson *out, struct err *err)
{
    struct stat st;
    struct buf text = {0};
    char part[1 << 14];
    ssize_t n = 0;
    *out = (struct lesson){.mem = NULL};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return err_set(err, -1, "%.200s: %s", path, strerror(errno));
    int rc = fstat(fd, &st) || !S_ISREG(st.st_mode) ? err_set(err, -1, "%.200s is no regular file", path) : 0;
    while (rc == 0 && text.len <= LESSON_FILE && (n = read(fd, part, sizeof part)) > 0) buf_put(&text, part, (size_t)n);
    if (rc == 0 && n < 0) rc = err_set(err, -1, "%.200s: %s", path, strerror(errno));
    if (rc == 0 && text.failed) rc = err_set(err, -1, "no memory for a lesson");
    close(fd);
    if (rc == 0) rc = lesson_read(text.data ? text.data : "", text.len, path, out, err);
    buf_free(&text);
    return rc;
}
