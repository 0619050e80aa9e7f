/* judge.c - see judge.h. */
#include "tests/judge.h"

struct span {
    const char *at;
    size_t n;
};

/* ---------------------------------------------------------------- bytes */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static char folded(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool is_alnum(char c)
{
    char f = folded(c);
    return (f >= 'a' && f <= 'z') || (f >= '0' && f <= '9');
}

static struct span trimmed(struct span s)
{
    while (s.n > 0 && is_space(s.at[0])) s.at++, s.n--;
    while (s.n > 0 && is_space(s.at[s.n - 1])) s.n--;
    return s;
}

static struct span of_json(const json_t *s)
{
    return (struct span){json_string_value(s), json_string_length(s)};
}

static bool same(struct span a, struct span b) { return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0); }

/* The text of an item is compared without the white space around it. */
static bool says(struct span s, const json_t *want) { return same(trimmed(s), trimmed(of_json(want))); }
static bool is(struct span s, const char *want) { return same(s, (struct span){want, strlen(want)}); }

/* Take `front` off s. */
static bool take(struct span *s, const char *front)
{
    size_t n = strlen(front);
    if (s->n < n || memcmp(s->at, front, n) != 0) return false;
    s->at += n;
    s->n -= n;
    return true;
}

/* The next line of *rest, without white space at its end.  False: there is none. */
static bool next_line(struct span *rest, struct span *line)
{
    if (rest->n == 0) return false;
    const char *end = memchr(rest->at, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->at) : rest->n, step = end ? n + 1 : n;
    *line = (struct span){rest->at, n};
    while (line->n > 0 && is_space(line->at[line->n - 1])) line->n--;
    rest->at += step;
    rest->n -= step;
    return true;
}

/* "- text": the text. */
static bool item(struct span line, struct span *text)
{
    if (!take(&line, "- ")) return false;
    *text = trimmed(line);
    return text->n > 0;
}

static bool finds(struct span text, struct span word)
{
    if (word.n == 0) return false;
    bool left = is_alnum(word.at[0]), right = is_alnum(word.at[word.n - 1]);
    char first = folded(word.at[0]);
    for (size_t i = 0; i + word.n <= text.n; i++) {
        size_t k = 1, end = i + word.n;
        if (folded(text.at[i]) != first) continue;
        while (k < word.n && folded(text.at[i + k]) == folded(word.at[k])) k++;
        if (k < word.n || (left && i > 0 && is_alnum(text.at[i - 1]))) continue;
        if (right && end < text.n && is_alnum(text.at[end])) continue;
        return true;
    }
    return false;
}

bool judge_finds(const char *text, size_t len, const char *word, size_t n)
{
    return finds((struct span){text, len}, (struct span){word, n});
}

bool judge_utf8(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    for (size_t i = 0; i < len;) {
        unsigned c = s[i++];
        size_t more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        if (c < 0x80) continue;
        if (c < 0xc2 || c > 0xf4 || more > len - i) return false;
        unsigned least = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80; /* no longer form than needed */
        unsigned most = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;  /* no surrogate, nothing past U+10FFFF */
        if (s[i] < least || s[i] > most) return false;
        for (size_t k = 1; k < more; k++)
            if ((s[i + k] & 0xc0) != 0x80) return false;
        i += more;
    }
    return true;
}

bool judge_loops(const int32_t *id, int n)
{
    enum { GRAM = 8, TIMES = 3 };
    int run = 0; /* tokens in a row that are what was GRAM before them */
    for (int i = GRAM; i < n; i++) {
        run = id[i] == id[i - GRAM] ? run + 1 : 0;
        if (run == GRAM * (TIMES - 1)) return true;
    }
    return false;
}

/* ---------------------------------------------------------------- verdicts */

/* Keeps the first complaint. */
__attribute__((format(printf, 2, 3))) static void amiss(struct judgement *j, const char *fmt, ...)
{
    va_list ap;
    if (!j->ok) return;
    j->ok = false;
    va_start(ap, fmt);
    vsnprintf(j->why, sizeof j->why, fmt, ap);
    va_end(ap);
}

static void check_words(struct judgement *j, const json_t *check, struct span text)
{
    size_t i, k;
    json_t *group, *word;
    json_array_foreach(json_object_get(check, "all"), i, group) {
        bool found = false;
        json_array_foreach(group, k, word) found = found || finds(text, of_json(word));
        if (!found)
            amiss(j, "lacks \"%.80s\"%s", json_string_value(json_array_get(group, 0)),
                  json_array_size(group) > 1 ? " and what may stand for it" : "");
    }
    json_array_foreach(json_object_get(check, "none"), i, word)
        if (finds(text, of_json(word))) amiss(j, "has \"%.80s\"", json_string_value(word));
}

static void check_no_call(struct judgement *j, struct span text)
{
    static const char mark[] = "<tool_call>";
    if (text.n > 0 && memmem(text.at, text.n, mark, sizeof mark - 1)) amiss(j, "is or has a tool call");
}

/* ---------------------------------------------------------------- a call */

static void check_call(struct judgement *j, const json_t *check, struct span text)
{
    static const char close[] = "</tool_call>";
    size_t n_close = sizeof close - 1;
    json_error_t why;
    if (!take(&text, "<tool_call>")) {
        amiss(j, "is no tool call");
        return;
    }
    if (text.n < n_close || memcmp(text.at + text.n - n_close, close, n_close) != 0) {
        amiss(j, "the call is not closed, or something follows it");
        return;
    }
    json_t *o = json_loadb(text.at, text.n - n_close, JSON_REJECT_DUPLICATES, &why);
    const json_t *name = json_object_get(o, "name"), *arguments = json_object_get(o, "arguments");
    if (!o) amiss(j, "the call's JSON: %.120s", why.text);
    else if (!json_is_string(name) || !json_is_object(arguments) || json_object_size(o) != 2)
        amiss(j, "the call has not just a name and arguments");
    else if (!json_equal(name, json_object_get(check, "name"))) amiss(j, "calls %.80s", json_string_value(name));
    else if (!json_equal(arguments, json_object_get(check, "arguments"))) amiss(j, "other arguments");
    json_decref(o);
}

/* ---------------------------------------------------------------- a summary record */

enum { SECTIONS = 4 };
static const char *const section_key[SECTIONS] = {"facts", "decisions", "done", "open"};
static const char *const section_head[SECTIONS] = {"Facts:", "Decisions:", "Done:", "Open:"};

static bool planted(const json_t *lines, struct span text)
{
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) if (says(text, line)) return true;
    return false;
}

/* Without `want`: is the form right, and, in *other, is there an item that record has not?
 * With `want`, of a text whose form is right: is it an item of the section `which`? */
static bool walk_record(struct span text, const json_t *record, int which, const json_t *want, bool *other)
{
    struct span line, said;
    int section = -1, items = 0; /* of this section; -1: "none" was said */
    bool found = false;
    while (next_line(&text, &line)) {
        bool may_go_on = section < 0 || (items != 0 && section + 1 < SECTIONS);
        if (may_go_on && is(line, section_head[section + 1])) {
            section++;
            items = 0;
        } else if (section >= 0 && items == 0 && is(line, "none")) {
            items = -1;
        } else if (section >= 0 && items >= 0 && item(line, &said)) {
            items++;
            if (want) found = found || (section == which && says(said, want));
            else if (!planted(json_object_get(record, section_key[section]), said)) *other = true;
        } else {
            return false;
        }
    }
    return want ? found : section == SECTIONS - 1 && items != 0;
}

static void check_record(struct judgement *j, const json_t *record, struct span text)
{
    bool form = walk_record(text, record, 0, NULL, &j->invented);
    for (int s = 0; s < SECTIONS; s++) {
        size_t i;
        json_t *want;
        json_array_foreach(json_object_get(record, section_key[s]), i, want) {
            j->lines++;
            if (!form) continue;
            if (walk_record(text, record, s, want, NULL)) j->kept++;
            else amiss(j, "lacks \"%.120s\" under %s", json_string_value(want), section_head[s]);
        }
    }
    if (!form) {
        j->invented = true;
        amiss(j, "is no record");
    }
    if (j->invented) amiss(j, "has a line that nobody planted");
}

/* ---------------------------------------------------------------- the crew's forms */

/* "a12, a13", or "none" where the list is empty. */
static bool lists(struct span text, const json_t *list)
{
    size_t i, n = json_array_size(list);
    if (n == 0) return is(text, "none");
    for (i = 0; i < n; i++) {
        const char *comma = text.n ? memchr(text.at, ',', text.n) : NULL;
        size_t len = comma ? (size_t)(comma - text.at) : text.n;
        if (!comma != (i + 1 == n) || !says((struct span){text.at, len}, json_array_get(list, i))) return false;
        text.at += len + (comma != NULL);
        text.n -= len + (comma != NULL);
    }
    return true;
}

static void check_handover(struct judgement *j, const json_t *want, struct span text)
{
    struct span head, task, result, artifacts, more, from = of_json(json_object_get(want, "from"));
    bool form = next_line(&text, &head) && take(&head, "Hand-over from ") && next_line(&text, &task) &&
                take(&task, "Task: ") && next_line(&text, &result) && take(&result, "Result: ") &&
                next_line(&text, &artifacts) && take(&artifacts, "Artifacts: ") && !next_line(&text, &more);
    if (!form) { /* an empty result is none: its line then ends at the colon */
        amiss(j, "is no hand-over");
        return;
    }
    bool is_from = head.n >= from.n && memcmp(head.at, from.at, from.n) == 0;
    if (is_from) head = (struct span){head.at + from.n, head.n - from.n};
    if (!is_from || !take(&head, " to ") || !says(head, json_object_get(want, "to"))) amiss(j, "from or to differs");
    if (!says(task, json_object_get(want, "task"))) amiss(j, "the task differs");
    if (!lists(trimmed(artifacts), json_object_get(want, "artifacts"))) amiss(j, "the artifacts differ");
}

static void check_plan(struct judgement *j, struct span text)
{
    struct span line;
    int steps = 0;
    bool form = next_line(&text, &line) && is(line, "Plan:");
    while (form && next_line(&text, &line)) {
        char number[16];
        snprintf(number, sizeof number, "%d. ", ++steps);
        form = steps <= 4 && take(&line, number);
    }
    if (!form || steps < 2) amiss(j, "is no plan of two to four steps");
}

/* "- text [source]" */
static bool is_finding(struct span line)
{
    struct span text;
    if (!item(line, &text) || text.at[text.n - 1] != ']') return false;
    const char *open = memrchr(text.at, '[', text.n);
    if (!open || open == text.at || open[-1] != ' ') return false;
    struct span source = {open + 1, text.n - (size_t)(open - text.at) - 2};
    return trimmed(source).n > 0;
}

static void check_findings(struct judgement *j, const json_t *want, struct span text)
{
    struct span line;
    int found = 0;
    bool form = next_line(&text, &line) && is(line, "Findings:");
    if (form && json_is_array(want) && json_array_size(want) == 0 && is(text, "none")) return;
    for (; form && next_line(&text, &line); found++) form = is_finding(line);
    if (!form || found == 0) amiss(j, "is no list of findings with their sources");
}

static void check_verdict(struct judgement *j, const json_t *want, struct span text)
{
    struct span line, reason;
    int reasons = 0;
    bool form = next_line(&text, &line) && take(&line, "Verdict: ");
    bool accept = form && is(line, "accept");
    form = form && (accept || is(line, "revise"));
    bool none_wanted = json_array_size(json_object_get(want, "reasons")) == 0;
    bool none = form && none_wanted && (text.n == 0 || is(text, "none"));
    for (; form && !none && next_line(&text, &line); reasons++) form = item(line, &reason);
    if (!form || (reasons == 0 && !none)) amiss(j, "is no verdict with its reasons");
    else if (accept != json_is_true(json_object_get(want, "accept"))) amiss(j, "the other verdict");
}

static void check_draft(struct judgement *j, struct span text)
{
    struct span line;
    int lines = 0;
    bool form = next_line(&text, &line) && is(line, "Draft:");
    for (; form && next_line(&text, &line); lines++) form = line.n > 0; /* an empty line parts paragraphs */
    if (!form || lines == 0) amiss(j, "is no draft of one paragraph");
}

/* ---------------------------------------------------------------- the whole */

enum kind { CONTAINS, CALL, NO_CALL, RECORD, HANDOVER, PLAN, FINDINGS, VERDICT, DRAFT, KINDS };
static const char *const kind_name[KINDS] = {"contains", "call",     "no_call", "record", "handover",
                                             "plan",     "findings", "verdict", "draft"};

static enum kind kind_of(const json_t *check)
{
    const char *name = json_string_value(json_object_get(check, "kind"));
    int k = 0;
    while (name && k < KINDS && strcmp(name, kind_name[k]) != 0) k++;
    return name ? (enum kind)k : KINDS;
}

struct judgement judge_answer(const json_t *check, const json_t *turn, const char *text, size_t len)
{
    struct judgement j = {.ok = true};
    struct span whole = {len > 0 ? text : "", len}, t = trimmed(whole);
    enum kind kind = kind_of(check);
    const json_t *own = json_object_get(turn, kind_name[kind < KINDS ? kind : CONTAINS]);
    switch (kind) {
    case CONTAINS:
    case NO_CALL: break;
    case CALL: check_call(&j, check, t); return j;
    case RECORD: check_record(&j, own, t); return j;
    case HANDOVER: check_handover(&j, own, t); return j;
    case PLAN: check_plan(&j, t); break;
    case FINDINGS: check_findings(&j, own, t); break;
    case VERDICT: check_verdict(&j, own, t); break;
    case DRAFT: check_draft(&j, t); break;
    case KINDS: amiss(&j, "the check is of no kind that is known"); return j;
    }
    check_no_call(&j, whole);
    check_words(&j, check, whole);
    return j;
}

/* ---------------------------------------------------------------- cases that can be judged */

/* An array of non-empty texts; missing is fine where `may_miss`. */
static bool is_texts(const json_t *a, bool may_miss, bool may_be_empty)
{
    size_t i;
    json_t *s;
    if (!a) return may_miss;
    if (!json_is_array(a) || (!may_be_empty && json_array_size(a) == 0)) return false;
    json_array_foreach(a, i, s) if (!json_is_string(s) || json_string_length(s) == 0) return false;
    return true;
}

static bool is_text(const json_t *o, const char *key) { return json_string_length(json_object_get(o, key)) > 0; }

static int check_groups(const json_t *check, struct err *err)
{
    const json_t *all = json_object_get(check, "all");
    size_t i;
    json_t *group;
    if (all && !json_is_array(all)) return err_set(err, -1, "\"all\" must be a list of groups");
    json_array_foreach(all, i, group)
        if (!is_texts(group, false, false)) return err_set(err, -1, "\"all\": group %zu is no list of texts", i + 1);
    if (!is_texts(json_object_get(check, "none"), true, true))
        return err_set(err, -1, "\"none\" must be a list of texts");
    return 0;
}

static int check_keys(const json_t *check, enum kind kind, struct err *err)
{
    const char *key;
    json_t *value;
    bool words = kind != CALL && kind != RECORD && kind != HANDOVER;
    json_object_foreach((json_t *)check, key, value) {
        bool known = strcmp(key, "kind") == 0 || (words && (strcmp(key, "all") == 0 || strcmp(key, "none") == 0)) ||
                     (kind == CALL && (strcmp(key, "name") == 0 || strcmp(key, "arguments") == 0));
        if (!known) return err_set(err, -1, "a check of kind %s knows no \"%.60s\"", kind_name[kind], key);
    }
    return 0;
}

static int check_turn(enum kind kind, const json_t *own, struct err *err)
{
    bool ok = true;
    if (kind == RECORD) {
        ok = json_is_object(own);
        for (int s = 0; s < SECTIONS; s++) ok = ok && is_texts(json_object_get(own, section_key[s]), true, true);
    } else if (kind == HANDOVER) {
        ok = is_text(own, "from") && is_text(own, "to") && is_text(own, "task") &&
             is_texts(json_object_get(own, "artifacts"), true, true);
    } else if (kind == VERDICT) {
        ok = json_is_boolean(json_object_get(own, "accept"));
    }
    if (!ok) return err_set(err, -1, "\"turn\" has no %s to judge by", kind_name[kind]);
    return 0;
}

int judge_check(const json_t *check, const json_t *turn, struct err *err)
{
    enum kind kind = kind_of(check);
    if (kind == KINDS) return err_set(err, -1, "\"check\" has no \"kind\" that is known");
    if (check_keys(check, kind, err) || check_groups(check, err)) return -1;
    if (kind == CONTAINS && !json_array_size(json_object_get(check, "all")) &&
        !json_array_size(json_object_get(check, "none")))
        return err_set(err, -1, "a check of kind contains that asks for nothing");
    if (kind == CALL && (!is_text(check, "name") || !json_is_object(json_object_get(check, "arguments"))))
        return err_set(err, -1, "a check of kind call needs \"name\" and \"arguments\"");
    return check_turn(kind, json_object_get(turn, kind_name[kind]), err);
}
