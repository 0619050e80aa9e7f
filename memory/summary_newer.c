/* summary_newer.c - of two lines that state the value of the same thing the newer stays: where that is certain.
 *
 *     the port of the lift is [now] 9090        "the", "my", "your", "our" or a name's; one "is"; one word behind it,
 *     └────── key ───────┘          value       which has a figure, or is a path, or begins in upper case
 */
#include "memory/summary_impl.h"

enum { NAMED_LEAST = 3 }; /* words of a key whose value is a name: there may be two of "the user" */

enum kind { KIND_NONE, KIND_FIGURE, KIND_PATH, KIND_NAME };

static bool is_word(struct form_text word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.text, text, word.len) == 0;
}

static bool is_certain(struct form_text first)
{
    static const char *const one[] = {"the", "my", "your", "our"};
    for (size_t i = 0; i < COUNT_OF(one); i++)
        if (is_word(first, one[i])) return true;
    return first.len > 2 && memcmp(first.text + first.len - 2, "'s", 2) == 0;
}

static enum kind kind_of(struct form_text value, const struct item *item, size_t key_words)
{
    if (memchr(value.text, '?', value.len)) return KIND_NONE;
    for (size_t i = 0; i < value.len; i++)
        if (value.text[i] >= '0' && value.text[i] <= '9') return KIND_FIGURE;
    if (memchr(value.text, '/', value.len) || memchr(value.text, '@', value.len)) return KIND_PATH;
    struct form_text t = item->text; /* words are in lower case */
    while (t.len > 0 && t.text[t.len - 1] != ' ') t.len--;
    bool name = t.len < item->text.len && item->text.text[t.len] >= 'A' && item->text.text[t.len] <= 'Z';
    return name && key_words >= NAMED_LEAST ? KIND_NAME : KIND_NONE;
}

static void read_stated(struct summary_line *l)
{
    struct form_text rest = l->words, word, first = {"", 0};
    size_t words = 0;
    l->kind = KIND_NONE;
    if (l->item->out || l->item->section != RECORD_FACTS) return;
    while (summary_next_word(&rest, &word) && !is_word(word, "is"))
        if (words++ == 0) first = word;
    if (words < 2 || !is_certain(first)) return;
    l->key = (size_t)(rest.text - l->words.text);
    bool value = summary_next_word(&rest, &word);
    if (value && is_word(word, "now")) value = summary_next_word(&rest, &word);
    if (value && rest.len == 0) l->kind = (int)kind_of(word, l->item, words);
}

static int compare(const struct summary_line *a, const struct summary_line *b)
{
    if (a->kind != b->kind) return a->kind - b->kind;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return memcmp(a->words.text, b->words.text, a->key);
}

static int by_key(const void *pa, const void *pb)
{
    const struct summary_line *a = *(struct summary_line *const *)pa, *b = *(struct summary_line *const *)pb;
    int c = compare(a, b);
    return c ? c : (a->item->said > b->item->said) - (a->item->said < b->item->said);
}

struct form_text summary_key(struct form_text line, char *room)
{
    struct item item = {.text = line, .section = RECORD_FACTS};
    struct summary_line l = {.item = &item, .words = {room, summary_words(line, room)}};
    read_stated(&l);
    return (struct form_text){room, l.kind == KIND_NONE ? 0 : l.key};
}

/* Lines of one key, the oldest first.  Only a person's word takes the place of another line, and of one that is older
 * for certain: of the record before, or of a person.  What a model has stays beside it.  One that a record has goes
 * where it takes the place of nothing: what was 1, is 2 and is 1 again needs its last word, what is 1 does not. */
static void drop_group(struct summary_line **line, size_t n)
{
    struct item *newest = NULL;
    bool replaces = false;
    for (size_t i = 0; i < n; i++)
        if (line[i]->item->from == ITEM_SAID) newest = line[i]->item;
    for (size_t i = 0; newest && i < n; i++) {
        if (line[i]->item->from == ITEM_MODEL || line[i]->item == newest) continue;
        line[i]->item->out = true;
        replaces |= !line[i]->item->had;
    }
    if (newest && newest->had && !replaces) newest->out = true;
}

void summary_drop_older(struct summary_line **sorted, struct summary_line *line, size_t n)
{
    size_t stated = 0;
    for (size_t i = 0; i < n; i++) {
        read_stated(&line[i]);
        if (line[i].kind != KIND_NONE) sorted[stated++] = &line[i];
        else if (line[i].item->had) line[i].item->out = true;
    }
    qsort(sorted, stated, sizeof *sorted, by_key);
    for (size_t i = 0, end; i < stated; i = end) {
        for (end = i + 1; end < stated && compare(sorted[i], sorted[end]) == 0;) end++;
        drop_group(sorted + i, end - i);
    }
}
