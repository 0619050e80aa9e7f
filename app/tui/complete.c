/* complete.c - see complete.h: what can complete the word at the cursor. */
#include "app/tui/complete.h"
#include "app/file_words.h"
#include "app/tui/complete_impl.h"
#include "engine/text.h"
#include "tools/escape.h"

static bool is_blank(char c) { return (unsigned char)c <= ' ' || c == 0x7f; }

/* ------------------------------------------------------------------ choices */

/* How a choice is written where the cursor stands. */
struct maker {
    struct complete *out;
    bool mention, quoted; /* as @name */
    bool word;            /* one of several names: file_words.h */
    bool blank;           /* more may follow: a blank behind a choice that is whole */
    size_t typed;         /* bytes of a key that are there already */
    struct buf key;       /* the first one, */
    size_t common;        /* and what of it all begin with */
    bool any, cut_short, failed; /* cut_short: there are names that were not looked at */
};

struct key { /* what is chosen, by its bytes */
    const char *text;
    size_t n, shown_from; /* a list shows what is behind this */
    bool open;            /* a folder: the name goes on */
    const char *takes, *about;
};

static void share(struct maker *m, const struct key *k)
{
    size_t n = 0;
    if (!m->any) buf_put(&m->key, k->text, k->n);
    while (m->any && n < MIN(m->common, k->n) && m->key.data[n] == k->text[n]) n++;
    m->common = m->any ? n : m->key.len;
    m->any = true;
}

static void offer(struct maker *m, const struct key *k)
{
    struct complete *out = m->out;
    struct buf text = {0}, shown = {0};
    share(m, k);
    if (out->n == COMPLETE_CHOICES) out->more = true;
    if (out->n == COMPLETE_CHOICES || m->failed) return;
    if (!out->choice) out->choice = calloc(COMPLETE_CHOICES, sizeof *out->choice);
    if (m->mention) mention_put(&text, k->text, k->n, m->quoted, k->open);
    else if (m->word) file_word_put(&text, k->text, k->n, m->quoted, k->open);
    else buf_put(&text, k->text, k->n);
    if (m->blank && !k->open) buf_puts(&text, " ");
    escape_text(k->text + k->shown_from, k->n - k->shown_from, &shown);
    m->failed = m->key.failed || text.failed || shown.failed || !out->choice || !text.data || !shown.data;
    if (m->failed) {
        buf_free(&text);
        buf_free(&shown);
        return;
    }
    out->choice[out->n++] = (struct complete_choice){text.data, shown.data, k->takes, k->about};
}

/* The one choice, or the beginning of all of them, where that is more than stands at the place: `now`. */
static void find_common(struct maker *m, const char *now)
{
    struct complete *out = m->out;
    struct buf all = {0};
    size_t n = m->common;
    /* Not through a character. */
    while (n > m->typed && n < m->key.len && ((unsigned char)m->key.data[n] & 0xc0) == 0x80) n--;
    bool longer = out->n > 1 && !m->cut_short && n > m->typed;
    if (out->n == 1 && !m->cut_short) buf_puts(&all, out->choice[0].text);
    else if (longer && m->mention) mention_put(&all, m->key.data, n, m->quoted, true);
    else if (longer && m->word) file_word_put(&all, m->key.data, n, m->quoted, true);
    else if (longer) buf_put(&all, m->key.data, n);
    m->failed |= all.failed;
    if (all.len == 0 || m->failed || (all.len == out->cut && memcmp(all.data, now, all.len) == 0)) buf_free(&all);
    out->common = all.data;
}

/* ------------------------------------------------------------------ files */

/* What a name cannot be said in: a line that a command takes as it is.  blanks: it may have some. */
static bool cannot_stand(const char *name, bool blanks)
{
    size_t n = strlen(name);
    bool bad = n == 0 || text_valid_utf8(name, n) != n || name[0] == ' ' || name[n - 1] == ' ';
    for (size_t i = 0; i < n; i++) bad |= is_blank(name[i]) && (name[i] != ' ' || !blanks);
    return bad;
}

/* The names that begin as path, n bytes without a NUL, does. */
static void offer_files(struct maker *m, const struct complete_source *s, const char *path, size_t n)
{
    const char *slash = n > 0 ? memrchr(path, '/', n) : NULL;
    size_t above = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = strndup(path, above), *prefix = strndup(path + above, n - above);
    struct folder f = {0};
    m->typed = n;
    m->failed |= !folder || !prefix;
    if (!m->failed && s->files && s->files->list(s->files->arg, m->mention, folder, prefix, &f) == 0) {
        m->cut_short = f.more > 0;
        m->out->more |= m->cut_short;
        for (size_t i = 0; i < f.n; i++) {
            struct buf key = {0};
            if (!m->mention && cannot_stand(f.entry[i].name, true)) continue;
            buf_printf(&key, "%s%s%s", folder, f.entry[i].name, f.entry[i].folder ? "/" : "");
            if (key.failed) m->failed = true;
            else offer(m, &(struct key){key.data, key.len, above, f.entry[i].folder, NULL,
                                        f.entry[i].folder ? "folder" : NULL});
            buf_free(&key);
        }
        folder_free(&f);
    }
    free(folder);
    free(prefix);
}

/* ------------------------------------------------------------------ names */

static void offer_names(struct maker *m, const struct complete_names *names, const char *typed, size_t n)
{
    m->typed = n;
    for (size_t i = 0; i < names->n; i++) {
        const struct complete_name *a = &names->name[i];
        size_t len = strlen(a->name);
        if (strncmp(a->name, typed, n) != 0 || cannot_stand(a->name, false)) continue;
        offer(m, &(struct key){a->name, len, 0, false, NULL, a->about});
    }
}

/* The phrases of "one|and two". */
static void offer_words(struct maker *m, const char *words, const char *typed, size_t n)
{
    m->typed = n;
    for (const char *p = words, *end; *p; p = end + (*end == '|')) {
        end = p + strcspn(p, "|");
        size_t len = (size_t)(end - p);
        if (len >= n && memcmp(p, typed, n) == 0) offer(m, &(struct key){p, len, 0, false, NULL, NULL});
    }
}

/* Bytes of the phrase, and of the blanks behind it, that the argument begins with; 0: with none. */
static size_t past_words(const char *words, const char *arg, size_t n)
{
    for (const char *p = words, *end; *p; p = end + (*end == '|')) {
        end = p + strcspn(p, "|");
        size_t len = (size_t)(end - p);
        if (len >= n || memcmp(p, arg, len) != 0 || arg[len] != ' ') continue;
        while (len < n && arg[len] == ' ') len++;
        return len;
    }
    return 0;
}

/* ------------------------------------------------------------------ where the cursor is */

static void in_mention(struct maker *m, const struct complete_source *s, const char *text, size_t cursor)
{
    size_t back = MIN(cursor, (size_t)COMPLETE_WORD);
    const char *line = back > 0 ? memrchr(text + cursor - back, '\n', back) : NULL;
    struct mention found;
    for (size_t at = line ? (size_t)(line - text) + 1 : cursor - back; mention_next(text, cursor, at, &found);
         at = found.end) {
        bool here = found.end == cursor && !found.closed && !found.bad && !found.path.failed;
        m->failed |= found.path.failed;
        if (here) {
            m->mention = m->blank = true;
            m->quoted = found.quoted;
            m->out->at = found.at;
            if (found.at == 0 && !found.quoted)
                offer_names(m, &s->names[COMMAND_AGENT], found.path.data, found.path.len);
            offer_files(m, s, found.path.data, found.path.len);
        }
        buf_free(&found.path);
    }
}

/* Files for what stands behind a single quote that is not closed yet; where it is, if it is not at the cursor. */
static void in_single_quote(struct maker *m, const struct complete_source *s, const char *text, size_t at,
                            size_t cursor)
{
    if (m->failed || m->out->n > 0 || at >= cursor) return;
    m->quoted = true;
    m->out->at = at;
    offer_files(m, s, text + at + 1, cursor - at - 1);
}

/* Among names that blanks separate: in the last, or behind it.  A single quote without its like is a part of a name as
 * it stands; where no file is called so, or a blank follows, one is being typed in it. */
static void in_names(struct maker *m, const struct complete_source *s, const char *text, size_t at, size_t cursor)
{
    struct buf name = {0};
    struct file_word w = {.at = cursor, .end = at};
    size_t single = cursor;
    while (file_word_next(text, cursor, w.end, &w, &name)) {
        if (single == cursor && !w.quote && text[w.at] == '\'') single = w.at;
        if (w.end >= cursor) break;
        name.len = 0;
    }
    m->word = m->blank = true;
    m->failed |= name.failed;
    if (single < w.at) in_single_quote(m, s, text, single, cursor);
    if (m->out->n == 0) {
        const bool whole = w.quote && !w.open; /* the cursor is behind its quote */
        m->quoted = w.quoted;
        m->out->at = w.at;
        if (!m->failed && !w.bad && !whole) offer_files(m, s, name.data ? name.data : "", name.len);
        if (single == w.at) in_single_quote(m, s, text, single, cursor);
    }
    buf_free(&name);
}

static void in_argument(struct maker *m, const struct complete_source *s, const struct command_row *row,
                        const char *text, size_t at, size_t cursor)
{
    size_t past = row->words ? past_words(row->words, text + at, cursor - at) : 0;
    const char *arg = text + at + past;
    size_t n = cursor - at - past;
    const char *blank = n > 0 ? memrchr(arg, ' ', n) : NULL;
    m->out->takes = row->takes;
    m->out->at = at + past;
    if (n > 0 && memchr(arg, 0, n)) return;
    if (row->words && past == 0) {
        m->blank = row->arg != COMMAND_NONE;
        offer_words(m, row->words, arg, n);
        if (row->arg == COMMAND_TEXT && m->out->n == 0) in_mention(m, s, text, cursor);
        return;
    }
    switch (row->arg) {
    case COMMAND_TEXT: in_mention(m, s, text, cursor); break;
    case COMMAND_FILES:
        in_names(m, s, text, at + past, cursor);
        break;
    case COMMAND_FILE: offer_files(m, s, arg, n); break;
    case COMMAND_NONE: case COMMAND_NUMBER: break;
    default:
        if (!blank) offer_names(m, &s->names[row->arg], arg, n);
        break;
    }
}

static void in_command(struct maker *m, const struct complete_source *s, const char *text, size_t cursor)
{
    size_t name = 0, arg;
    while (name < cursor && text[name] != ' ') name++;
    for (arg = name; arg < cursor && text[arg] == ' '; arg++) {}
    m->typed = cursor;
    for (const struct command_row *r = s->command; r < s->command + s->commands; r++) {
        size_t len = strlen(r->name);
        if (name == cursor && len >= name && memcmp(r->name, text, name) == 0) {
            m->blank = r->takes != NULL;
            offer(m, &(struct key){r->name, len, 0, false, r->takes, r->help});
        } else if (name < cursor && len == name && memcmp(r->name, text, name) == 0) {
            in_argument(m, s, r, text, arg, cursor);
        }
    }
}

int complete(const struct complete_source *s, const char *text, size_t n, size_t cursor, struct complete *out)
{
    struct maker m = {.out = out};
    *out = (struct complete){0};
    assert(cursor <= n);
    if (cursor > 0 && text[0] == '/' && !memchr(text, '\n', cursor)) in_command(&m, s, text, cursor);
    else in_mention(&m, s, text, cursor);
    out->cut = cursor - out->at;
    /* A blank that stands behind the cursor already is not put there again. */
    for (size_t i = 0; cursor < n && is_blank(text[cursor]) && i < out->n; i++) {
        char *t = out->choice[i].text;
        if (*t && t[strlen(t) - 1] == ' ') t[strlen(t) - 1] = '\0';
    }
    find_common(&m, text + out->at);
    buf_free(&m.key);
    if (m.failed) complete_free(out);
    return m.failed ? -1 : 0;
}

void complete_free(struct complete *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->choice[i].text);
        free(c->choice[i].shown);
    }
    free(c->choice);
    free(c->common);
    *c = (struct complete){0};
}
