/* harmony.c - see harmony.h. */
#include "engine/harmony.h"

/* ---------------------------------------------------------------- marks */

static const char *const spelled[HARMONY_MARKS] = {
    "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>",
    "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]"};

static bool has(const struct vocab *v, enum harmony_mark m)
{
    return vocab_find(v, spelled[m], strlen(spelled[m])) >= 0;
}

enum harmony_mark harmony_mark(const struct vocab *v, int32_t id)
{
    const char *s;
    const enum vocab_attr attr = vocab_attr(v, id); /* files differ in what they call them */
    const size_t n = attr == VOCAB_CONTROL || attr == VOCAB_USER_DEFINED ? vocab_spelling(v, id, &s) : 0;
    int m = n > 0 ? 0 : HARMONY_MARKS;
    while (m < HARMONY_MARKS && (strlen(spelled[m]) != n || memcmp(spelled[m], s, n) != 0)) m++;
    return (enum harmony_mark)m;
}

bool harmony_speaks(const struct vocab *v)
{
    bool all = true;
    for (enum harmony_mark m = MARK_START; m <= MARK_CALL; m++) all = all && (m == MARK_CONSTRAIN || has(v, m));
    return all;
}

bool harmony_speaks_mistral(const struct vocab *v) { return has(v, MARK_TOOL_CALLS) && has(v, MARK_ARGS); }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* ---------------------------------------------------------------- telling */

static void tell(const struct harmony_out *out, const char *ours) { out->tell(out->self, ours, strlen(ours), true); }

static void close_thoughts(struct harmony *h, const struct harmony_out *out)
{
    if (!h->thinks) return;
    tell(out, "\n</think>\n\n");
    h->thinks = h->said = false;
}

/* A name is one word of letters, digits, _, - and . */
static void tell_name(const struct harmony *h, const struct harmony_out *out)
{
    char name[HARMONY_HEAD];
    for (int i = 0; i < h->n_name; i++) {
        const char c = h->head[h->name + i];
        const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[i] = good || c == '-' || c == '.' ? c : '_';
    }
    if (h->n_name > 0) out->tell(out->self, name, (size_t)h->n_name, true);
}

/* What stands before a body's first byte. */
static void tell_opening(struct harmony *h, const struct harmony_out *out)
{
    if (h->begun) return;
    if (h->said) tell(out, "\n\n");
    if (h->kind == HARMONY_THOUGHTS && !h->thinks) {
        tell(out, "<think>\n");
        h->thinks = true;
    }
    if (h->kind == HARMONY_CALL) {
        tell(out, "<tool_call>{\"name\":\"");
        tell_name(h, out);
        tell(out, "\",\"arguments\":");
    }
    h->begun = h->said = true;
}

static const char *forbidden(const struct harmony *h)
{
    return h->kind == HARMONY_THOUGHTS ? "</think>" : "<tool_call>";
}

/* What is held of a tag, which it is not. */
static void tell_held(struct harmony *h, const struct harmony_out *out)
{
    if (h->same > 0) out->tell(out->self, forbidden(h), h->same, false);
    h->same = 0;
}

static void tell_bent(const char *tag, const struct harmony_out *out)
{
    const size_t n = strlen(tag);
    out->tell(out->self, "(", 1, false);
    out->tell(out->self, tag + 1, n - 2, false);
    out->tell(out->self, ")", 1, false);
}

/* A tag's first byte comes nowhere else in it: what differs from it can only begin it anew. */
static void tell_words(struct harmony *h, const char *bytes, size_t n, const struct harmony_out *out)
{
    const char *tag = forbidden(h);
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        if (h->same > 0 && bytes[i] != tag[h->same]) {
            tell_held(h, out);
            from = i;
        }
        if (bytes[i] != tag[h->same]) continue;
        if (h->same == 0 && i > from) out->tell(out->self, bytes + from, i - from, false);
        from = i + 1;
        if (tag[++h->same]) continue;
        tell_bent(tag, out);
        h->same = 0;
    }
    if (n > from) out->tell(out->self, bytes + from, n - from, false);
}

static void tell_body(struct harmony *h, const char *bytes, size_t n, const struct harmony_out *out)
{
    if (n == 0) return;
    tell_opening(h, out);
    if (h->kind != HARMONY_CALL) {
        tell_words(h, bytes, n, out);
        return;
    }
    for (size_t i = 0; i < n && !h->argued; i++) h->argued = !is_blank(bytes[i]);
    out->tell(out->self, bytes, n, true);
}

/* ---------------------------------------------------------------- heads */

static void open_head(struct harmony *h)
{
    h->body = false;
    h->n = h->same = 0;
    h->channel = h->type = -1;
}

struct word {
    int at, n;
};

/* The next one at or behind w->at + w->n; marks part words too. */
static bool next_word(const struct harmony *h, struct word *w)
{
    int at = w->at + w->n, end;
    while (at < h->n && is_blank(h->head[at])) at++;
    for (end = at; end < h->n && !is_blank(h->head[end]);)
        if (++end == h->channel || end == h->type) break;
    *w = (struct word){at, end - at};
    return w->n > 0;
}

static bool is(const struct harmony *h, struct word w, const char *text)
{
    return (size_t)w.n == strlen(text) && memcmp(h->head + w.at, text, (size_t)w.n) == 0;
}

static bool begins(const struct harmony *h, struct word w, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)w.n >= n && memcmp(h->head + w.at, text, n) == 0;
}

/* To a tool, with whose name the call is told; messages to people are none. */
static bool read_recipient(struct harmony *h, struct word w)
{
    static const char to[] = "to=", ours[] = "functions.";
    if (!begins(h, w, to)) return false;
    w = (struct word){w.at + (int)strlen(to), w.n - (int)strlen(to)};
    if (w.n == 0 || is(h, w, "user") || is(h, w, "assistant") || is(h, w, "all")) return false;
    const int skip = begins(h, w, ours) ? (int)strlen(ours) : 0;
    h->name = (int16_t)(w.at + skip);
    h->n_name = (int16_t)(w.n - skip);
    return true;
}

static void begin_body(struct harmony *h, const struct harmony_out *out)
{
    struct word w = {0};
    bool named = false, call = false, thoughts = false;
    while (next_word(h, &w)) {
        if (!call && read_recipient(h, w)) call = true;
        if (h->channel < 0 || w.at < h->channel || named) continue;
        named = true;
        thoughts = is(h, w, "analysis");
    }
    h->kind = call ? HARMONY_CALL : thoughts ? HARMONY_THOUGHTS : HARMONY_WORDS;
    h->body = true;
    h->begun = h->argued = false;
    if (h->kind != HARMONY_THOUGHTS) close_thoughts(h, out);
}

enum { WORDS_OF_HEADS, NAMED, CUT };

/* Whether it says nothing but what heads say.  NAMED: what follows <|channel|> and <|constrain|> may be any word; CUT:
 * the last word may go on. */
static bool is_head(const struct harmony *h, int how)
{
    static const char *const known[] = {"assistant", "analysis", "commentary", "final", "json", "code", "user"};
    struct word w = {0};
    for (int was = 0; next_word(h, &w); was = w.at + w.n) {
        const bool channel = h->channel >= was && h->channel <= w.at, type = h->type >= was && h->type <= w.at;
        bool good = begins(h, w, "to=") || (how == NAMED && (channel || type));
        for (size_t i = 0; i < COUNT_OF(known) && !good; i++) {
            const size_t n = strlen(known[i]), same = how == CUT && w.at + w.n == h->n ? MIN((size_t)w.n, n) : n;
            good = (size_t)w.n == same && memcmp(known[i], h->head + w.at, same) == 0;
        }
        if (!good) return false;
    }
    return h->marked;
}

/* It is none after all, and may go on. */
static void tell_head(struct harmony *h, const struct harmony_out *out)
{
    close_thoughts(h, out);
    h->kind = HARMONY_WORDS;
    h->body = true;
    h->begun = false;
    tell_body(h, h->head, (size_t)h->n, out);
}

static void put_head(struct harmony *h, const char *bytes, size_t n, const struct harmony_out *out)
{
    if (n > (size_t)(HARMONY_HEAD - h->n)) {
        tell_head(h, out);
        tell_body(h, bytes, n, out);
        return;
    }
    memcpy(h->head + h->n, bytes, n);
    h->n = (int16_t)(h->n + (int)n);
}

/* ---------------------------------------------------------------- the stream */

/* Whatever it was: a head is before the next. */
static void end_message(struct harmony *h, const struct harmony_out *out)
{
    if (!h->body && !is_head(h, WORDS_OF_HEADS)) tell_head(h, out);
    if (h->body && h->kind == HARMONY_CALL) {
        tell_opening(h, out);
        if (!h->argued) tell(out, "{}");
        tell(out, "}</tool_call>");
    }
    if (h->body) tell_held(h, out);
    open_head(h);
}

/* A mark that only heads have; one amid a body begins a head, or (<|message|>) says nothing. */
static void put_mark(struct harmony *h, enum harmony_mark m, const struct harmony_out *out)
{
    h->marked = true;
    if (m == MARK_CHANNEL && (h->body || !is_head(h, WORDS_OF_HEADS))) end_message(h, out);
    if (h->body) return;
    if (m == MARK_MESSAGE && !is_head(h, NAMED)) end_message(h, out);
    if (m == MARK_CHANNEL) h->channel = h->n;
    if (m == MARK_CONSTRAIN) h->type = h->n;
    if (m == MARK_MESSAGE) begin_body(h, out);
}

void harmony_begin(struct harmony *h, const struct vocab *v, const int32_t *ids, size_t n)
{
    enum harmony_mark last = HARMONY_MARKS;
    *h = (struct harmony){.on = true};
    while (n > 0 && last == HARMONY_MARKS) last = harmony_mark(v, ids[--n]);
    open_head(h);
    h->body = last == MARK_MESSAGE || last == HARMONY_MARKS; /* a text that has no marks */
    if (last == MARK_CHANNEL) h->channel = 0;
}

/* ---------------------------------------------------------------- Mistral's */

static void begin_words(struct harmony *h, enum harmony_body kind)
{
    h->kind = (uint8_t)kind;
    h->body = true;
    h->begun = h->argued = false;
}

/* What stands behind [TOOL_CALLS], up to [CALL_ID], is the tool's name; without one it is no call. */
static void begin_call(struct harmony *h, const struct harmony_out *out)
{
    struct word w = {0};
    const int n = h->n;
    if (h->type >= 0) h->n = h->type;
    const bool named = next_word(h, &w);
    h->n = (int16_t)n;
    if (!named) {
        tell_head(h, out);
        return;
    }
    h->name = (int16_t)w.at;
    h->n_name = (int16_t)w.n;
    close_thoughts(h, out);
    begin_words(h, HARMONY_CALL);
}

static void put_mistral(struct harmony *h, enum harmony_mark m, const struct harmony_out *out)
{
    const bool head = !h->body, thoughts = h->body && h->kind == HARMONY_THOUGHTS;
    h->marked = true;
    if (m == MARK_CALL_ID && head && h->type < 0) h->type = h->n;
    if (m == MARK_ARGS && head) begin_call(h, out);
    if (m == MARK_CALL_ID || m == MARK_ARGS || (m == MARK_END_THINK && !thoughts)) return;
    end_message(h, out);
    if (m == MARK_THINK) begin_words(h, HARMONY_THOUGHTS);
    if (m != MARK_END_THINK) return;
    close_thoughts(h, out);
    begin_words(h, HARMONY_WORDS);
}

void harmony_begin_mistral(struct harmony *h)
{
    *h = (struct harmony){.on = true, .mistral = true};
    open_head(h);
    begin_words(h, HARMONY_WORDS);
}

/* ---------------------------------------------------------------- tokens */

void harmony_token(struct harmony *h, const struct vocab *v, int32_t id, const char *bytes, size_t n,
                   const struct harmony_out *out)
{
    const enum harmony_mark found = harmony_mark(v, id);
    const enum harmony_mark m = h->mistral == (found >= MARK_TOOL_CALLS) ? found : HARMONY_MARKS;
    switch (m) {
    case HARMONY_MARKS:
        if (h->body) tell_body(h, bytes, n, out);
        else put_head(h, bytes, n, out);
        return;
    case MARK_TOOL_CALLS:
    case MARK_CALL_ID:
    case MARK_ARGS:
    case MARK_THINK:
    case MARK_END_THINK: put_mistral(h, m, out); return;
    case MARK_CHANNEL:
    case MARK_CONSTRAIN:
    case MARK_MESSAGE: put_mark(h, m, out); return;
    case MARK_START:
    case MARK_END:
    case MARK_RETURN:
    case MARK_CALL:
        end_message(h, out);
        h->marked = true;
        return;
    }
}

void harmony_end(struct harmony *h, bool whole, const struct harmony_out *out)
{
    if (whole) end_message(h, out);
    else if (!h->body && !is_head(h, CUT)) tell_head(h, out);
    if (h->body) tell_held(h, out);
    else close_thoughts(h, out);
}
