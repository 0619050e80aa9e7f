/* ui_chat.c - keys of the chat: the input, its completion, the search, the marked row, questions of agents. */
#include "app/session/toolbox.h"
#include "app/tui/ui_impl.h"

/* ------------------------------------------------------------------ sending */

void ui_order(struct ui *ui, const char *text, size_t n)
{
    if (!ui->host.order) return;
    if (!ui->host.order(ui->host.self, text, n)) {
        ui_notice(ui, "%d lines wait already: this one was not sent", BRIDGE_ORDERS);
        return;
    }
    ui->waiting++;
    transcript_end(ui->transcript);
}

bool ui_cancels(struct ui *ui, const char *text, size_t n)
{
    static const char word[] = "/cancel";
    const size_t len = sizeof word - 1;
    if (n < len || memcmp(text, word, len) != 0 || (n > len && text[len] != ' ')) return false;
    char name[STATE_NAME] = "";
    if (n > len + 1) snprintf(name, sizeof name, "%.*s", (int)MIN(n - len - 1, sizeof name - 1), text + len + 1);
    if (*name && state_agent(&ui->state, name, strlen(name)) < 0) ui_notice(ui, "there is no agent %s", name);
    else if (!ui->busy) ui_notice(ui, "nothing is running");
    else if (ui->host.cancel) ui->host.cancel(ui->host.self, name);
    return true;
}

/* Alone it is about what the screen has seen: F11. */
static bool explains(struct ui *ui, const char *text, size_t n)
{
    static const char word[] = "/explain";
    if (n != sizeof word - 1 || memcmp(text, word, n) != 0) return false;
    ui_card_why(ui);
    return true;
}

void ui_send(struct ui *ui)
{
    struct buf text = {0};
    if (edit_take(ui->edit, &text)) {
        ui_notice(ui, "no memory to send this");
        buf_free(&text);
        return;
    }
    if (ui->host.remember) ui->host.remember(ui->host.self, text.data, text.len);
    if (!ui_cancels(ui, text.data, text.len) && !explains(ui, text.data, text.len)) {
        const int before = ui->waiting;
        ui_order(ui, text.data, text.len);
        if (ui->waiting == before) edit_paste(ui->edit, text.data, text.len); /* it stays typed */
    }
    buf_free(&text);
}

bool ui_take_back(struct ui *ui)
{
    struct buf text = {0};
    const bool is = ui->host.take_back && ui->host.take_back(ui->host.self, &text);
    if (is) {
        ui->waiting = MAX(ui->waiting - 1, 0);
        edit_paste(ui->edit, text.data, text.len);
    }
    buf_free(&text);
    return is;
}

static void use_editor(struct ui *ui)
{
    size_t n;
    const char *typed = edit_text(ui->edit, &n);
    struct buf text = {0};
    if (!ui->host.editor) return;
    buf_put(&text, typed, n);
    if (!text.failed) ui->host.editor(ui->host.self, &text);
    if (!text.failed) edit_replace(ui->edit, 0, n, text.data ? text.data : "", text.len);
    buf_free(&text);
}

/* ------------------------------------------------------------------ how much is typed */

static uint64_t hash_of(const char *text, size_t n)
{
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

void ui_count_typed(struct ui *ui)
{
    size_t n;
    const char *text = edit_text(ui->edit, &n);
    const uint64_t hash = hash_of(text, n);
    if (ui->typed.n == n && ui->typed.hash == hash) return;
    ui->typed.n = n;
    ui->typed.hash = hash;
    ui->typed.exact = true;
    ui_name_files(ui, text, n);
    ui->typed.tokens = n == 0 || !ui->host.tokens ? 0 : ui->host.tokens(ui->host.self, text, n, &ui->typed.exact);
}

/* ------------------------------------------------------------------ completion */

void ui_complete_end(struct ui *ui)
{
    complete_free(&ui->candidates);
    ui->candidates = (struct complete){0};
    ui->candidate = -1;
}

static void take_candidate(struct ui *ui, int i)
{
    struct complete *c = &ui->candidates;
    const char *text = c->choice[i].text;
    edit_replace(ui->edit, c->at, c->cut, text, strlen(text));
    c->cut = strlen(text);
    ui->candidate = i;
}

/* The first Tab completes as far as all choices agree, and shows them; the next go through them. */
void ui_complete(struct ui *ui, bool back)
{
    struct complete *c = &ui->candidates;
    if (c->n > 0) {
        const int n = (int)c->n, step = back ? n - 1 : 1;
        take_candidate(ui, ui->candidate < 0 ? (back ? n - 1 : 0) : (ui->candidate + step) % n);
        return;
    }
    const struct complete_source *source = ui->host.source ? ui->host.source(ui->host.self) : NULL;
    size_t n;
    const char *text = edit_text(ui->edit, &n);
    ui_complete_end(ui);
    if (!source || complete(source, text, n, edit_cursor(ui->edit), c)) return;
    if (c->n == 1) {
        take_candidate(ui, 0);
        ui_complete_end(ui);
    } else if (c->common) {
        edit_replace(ui->edit, c->at, c->cut, c->common, strlen(c->common));
        c->cut = strlen(c->common);
    } else if (c->n == 0) {
        ui_notice(ui, c->takes ? "takes %s" : "nothing to complete here", c->takes ? c->takes : "");
        ui_complete_end(ui);
    }
}

/* ------------------------------------------------------------------ search and the marked row */

/* Behind the last one it goes on from the other end, and says so. */
static void search(struct ui *ui, bool older)
{
    const bool found = transcript_search(ui->transcript, ui->query, ui->n_query, older);
    const bool around = !found && transcript_search_around(ui->transcript, older);
    ui->not_found = ui->n_query > 0 && !found && !around;
    ui->around = !around ? "" : older ? "on from the end" : "on from the top";
}

static void end_search(struct ui *ui)
{
    transcript_search(ui->transcript, "", 0, false);
    ui->mode = MODE_TYPE;
    ui->n_query = 0;
    ui->not_found = false;
    ui->around = "";
}

/* Of a paste the first line, as far as there is room. */
static void add_to_query(struct ui *ui, const char *text, size_t n)
{
    size_t line = 0;
    while (line < n && text[line] != '\n' && text[line] != '\r') line++;
    size_t take = MIN(line, sizeof ui->query - ui->n_query);
    while (take > 0 && take < line && ((unsigned char)text[take] & 0xc0) == 0x80) take--; /* not through a character */
    memcpy(ui->query + ui->n_query, text, take);
    ui->n_query += take;
    search(ui, true);
}

static bool search_key(struct ui *ui, const struct key *k)
{
    switch (k->name) {
    case KEY_ESCAPE: end_search(ui); return true;
    case KEY_ENTER:
    case KEY_DOWN: search(ui, false); return true;
    case KEY_UP: search(ui, true); return true;
    case KEY_BACKSPACE:
        while (ui->n_query > 0 && ((unsigned char)ui->query[--ui->n_query] & 0xc0) == 0x80) {
        }
        search(ui, true);
        return true;
    case KEY_CHAR:
        if (k->mods == KEY_CTRL && k->rune == 'f') search(ui, true);
        if (k->mods & (KEY_CTRL | KEY_ALT)) return k->mods == KEY_CTRL && k->rune == 'f';
        add_to_query(ui, k->text, k->n);
        return true;
    case KEY_PASTE: add_to_query(ui, k->text, k->n); return true;
    default: return false;
    }
}

static void copy_marked(struct ui *ui)
{
    struct buf text = {0};
    const uint64_t entry = transcript_at(ui->transcript, ui->marked);
    if (!entry || transcript_text(ui->transcript, entry, &text))
        ui_notice(ui, "its text is not held here any more");
    else if (ui_copy(ui, text.data ? text.data : "", text.len))
        ui_notice(ui, "copied: %zu bytes", text.len);
    buf_free(&text);
}

static bool browse_key(struct ui *ui, const struct key *k)
{
    const int rows = ui->layout.chat.rows;
    const bool plain = k->name == KEY_CHAR && !k->mods;
    if (k->name == KEY_ESCAPE || (plain && k->rune == 'q')) {
        ui->mode = MODE_TYPE;
        ui->marked = -1;
    } else if (k->name == KEY_UP || (plain && k->rune == 'k')) {
        if (ui->marked == 0) transcript_scroll(ui->transcript, -1);
        ui->marked = MAX(ui->marked - 1, 0);
    } else if (k->name == KEY_DOWN || (plain && k->rune == 'j')) {
        if (ui->marked >= rows - 1) transcript_scroll(ui->transcript, 1);
        ui->marked = MIN(ui->marked + 1, rows - 1);
    } else if (k->name == KEY_PAGE_UP || k->name == KEY_PAGE_DOWN) {
        transcript_scroll(ui->transcript, k->name == KEY_PAGE_UP ? -rows + 1 : rows - 1);
    } else if (k->name == KEY_ENTER) {
        transcript_toggle(ui->transcript, transcript_at(ui->transcript, ui->marked));
    } else if (plain && k->rune == 'c') {
        copy_marked(ui);
    } else {
        return false;
    }
    return true;
}

static void begin_browse(struct ui *ui)
{
    ui->mode = MODE_BROWSE;
    ui->marked = MAX(ui->layout.chat.rows - 1, 0);
    while (ui->marked > 0 && transcript_at(ui->transcript, ui->marked) == 0) ui->marked--;
}

/* ------------------------------------------------------------------ questions */

static bool asks_words(const struct ui *ui)
{
    const struct question *q = ui->question;
    while (q && !q->asks_text) q = q->next;
    return q != NULL;
}

/* The card of the call says whom it waits for. */
static void tell_waits(struct ui *ui, const char *who)
{
    const struct question *q = ui->question;
    while (q && strcmp(q->who, who) != 0) q = q->next;
    transcript_waits(ui->transcript, who, q != NULL, ui->now);
}

/* An answer is typed where something else was being typed. */
static void put_draft_aside(struct ui *ui)
{
    size_t n;
    const char *text = edit_text(ui->edit, &n);
    ui->draft.len = 0;
    buf_put(&ui->draft, text, n);
    if (!ui->draft.failed) edit_replace(ui->edit, 0, n, "", 0);
}

/* What was typed for a question that was withdrawn stays behind it. */
static void take_draft_back(struct ui *ui)
{
    size_t n;
    edit_text(ui->edit, &n);
    if (ui->draft.len > 0 && n > 0) buf_puts(&ui->draft, "\n");
    if (!ui->draft.failed && ui->draft.len > 0) edit_replace(ui->edit, 0, 0, ui->draft.data, ui->draft.len);
    buf_free(&ui->draft);
}

void ui_question_put(struct ui *ui, const struct news *n)
{
    struct question *q = calloc(1, sizeof *q), **end = &ui->question;
    if (q) buf_put(&q->text, n->text.data, n->text.len);
    if (!q || q->text.failed) { /* then nobody can be asked */
        if (ui->host.answer) ui->host.answer(ui->host.self, n->value, TOOLBOX_DENY, "", 0);
        free(q);
        return;
    }
    q->number = n->value;
    q->quiet_since = -1;
    q->asks_text = n->asks_text;
    memcpy(q->who, n->who, sizeof q->who);
    memcpy(q->scope, n->scope, sizeof q->scope);
    while (*end) end = &(*end)->next;
    if (ui->mode == MODE_SEARCH) end_search(ui);
    if (q->asks_text && !asks_words(ui)) put_draft_aside(ui);
    q->unread = ui->draft.len > 0;
    *end = q;
    tell_waits(ui, q->who);
    ui->mode = MODE_QUESTION;
    if (q->asks_text) ui_go(ui, VIEW_CHAT); /* it is answered in the input */
}

void ui_question_drop(struct ui *ui, int64_t number)
{
    struct question **at = &ui->question;
    while (*at && (*at)->number != number) at = &(*at)->next;
    struct question *q = *at;
    if (!q) return;
    const bool words = q->asks_text;
    *at = q->next;
    tell_waits(ui, q->who);
    pager_close(&q->pager);
    buf_free(&q->text);
    free(q);
    if (words && !asks_words(ui)) take_draft_back(ui);
    if (!ui->question && ui->mode == MODE_QUESTION) ui->mode = MODE_TYPE;
}

static void answer(struct ui *ui, int choice, const char *text, size_t n)
{
    const int64_t number = ui->question->number;
    if (ui->host.answer) ui->host.answer(ui->host.self, number, choice, text, n);
    ui_question_drop(ui, number);
}

static bool edit_keys(struct ui *ui, const struct key *k);

/* A person who is typing when a question comes up has not read it: letters answer it after a pause. */
static bool typed_past(struct ui *ui, struct question *q)
{
    const bool early = q->quiet_since < 0 || ui->now - q->quiet_since < UI_PAUSE;
    if (early && q->quiet_since >= 0) q->quiet_since = ui->now;
    if (early) ui_notice(ui, "this was just asked: read it, then answer");
    return early;
}

/* A question for a text is answered in the input. */
static bool text_answer(struct ui *ui, struct question *q, const struct key *k)
{
    struct buf text = {0};
    const bool plain_enter = k->name == KEY_ENTER && !k->mods;
    q->unread = q->unread && typed_past(ui, q);
    if (edit_searching(ui->edit) && (plain_enter || k->name == KEY_ESCAPE)) { /* they end that, and answer nothing */
        edit_key(ui->edit, plain_enter ? EDIT_ENTER : EDIT_ESCAPE);
    } else if (k->name == KEY_ESCAPE) {
        answer(ui, 0, "", 0);
    } else if (plain_enter && !q->unread) {
        if (edit_take(ui->edit, &text) == 0) answer(ui, 1, text.data ? text.data : "", text.len);
        buf_free(&text);
    } else if (k->name != KEY_ENTER || k->mods) {
        return edit_keys(ui, k);
    }
    return true;
}

static bool question_key(struct ui *ui, const struct key *k)
{
    struct question *q = ui->question;
    const bool plain = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    if (k->name == KEY_ESCAPE && ui->view != VIEW_CHAT) return false; /* back from what was looked at: no answer */
    if (q->asks_text) return text_answer(ui, q, k);
    if (plain && typed_past(ui, q)) return true;
    if (plain && (k->rune == 'o' || k->rune == 'y')) answer(ui, TOOLBOX_ONCE, "", 0);
    else if (plain && k->rune == 's' && *q->scope) answer(ui, TOOLBOX_SESSION, "", 0);
    else if (k->name == KEY_ESCAPE || (plain && k->rune == 'n')) answer(ui, TOOLBOX_DENY, "", 0);
    else if (!pager_key(&q->pager, k, MAX(ui->layout.chat.rows - 4, 1))) {
        if (plain) q->quiet_since = ui->now; /* a word is being typed, and its next letter may be an answer */
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the input */

struct edit_bind { enum key_name name; unsigned mods; uint32_t rune; enum edit_key key; };

static const struct edit_bind edits[] = {
    {KEY_LEFT, 0, 0, EDIT_LEFT}, {KEY_RIGHT, 0, 0, EDIT_RIGHT}, {KEY_UP, 0, 0, EDIT_UP}, {KEY_DOWN, 0, 0, EDIT_DOWN},
    {KEY_HOME, 0, 0, EDIT_LINE_START}, {KEY_END, 0, 0, EDIT_LINE_END},
    {KEY_CHAR, KEY_CTRL, 'a', EDIT_LINE_START}, {KEY_CHAR, KEY_CTRL, 'e', EDIT_LINE_END},
    {KEY_LEFT, KEY_CTRL, 0, EDIT_WORD_LEFT}, {KEY_RIGHT, KEY_CTRL, 0, EDIT_WORD_RIGHT},
    {KEY_LEFT, KEY_ALT, 0, EDIT_WORD_LEFT}, {KEY_RIGHT, KEY_ALT, 0, EDIT_WORD_RIGHT},
    {KEY_CHAR, KEY_ALT, 'b', EDIT_WORD_LEFT}, {KEY_CHAR, KEY_ALT, 'f', EDIT_WORD_RIGHT},
    {KEY_CHAR, KEY_ALT, '<', EDIT_TEXT_START}, {KEY_CHAR, KEY_ALT, '>', EDIT_TEXT_END},
    {KEY_BACKSPACE, 0, 0, EDIT_BACKSPACE}, {KEY_BACKSPACE, KEY_CTRL, 0, EDIT_BACKSPACE},
    {KEY_BACKSPACE, KEY_SHIFT, 0, EDIT_BACKSPACE}, {KEY_DELETE, 0, 0, EDIT_DELETE},
    {KEY_CHAR, KEY_CTRL, 'w', EDIT_CUT_WORD_LEFT}, {KEY_BACKSPACE, KEY_ALT, 0, EDIT_CUT_WORD_LEFT},
    {KEY_CHAR, KEY_ALT, 'd', EDIT_CUT_WORD_RIGHT}, {KEY_CHAR, KEY_CTRL, 'u', EDIT_CUT_TO_START},
    {KEY_CHAR, KEY_CTRL, 'k', EDIT_CUT_TO_END}, {KEY_CHAR, KEY_CTRL, 'y', EDIT_YANK},
    {KEY_CHAR, KEY_CTRL, '_', EDIT_UNDO_KEY}, {KEY_CHAR, KEY_CTRL, '7', EDIT_UNDO_KEY},
    {KEY_CHAR, KEY_ALT, '_', EDIT_REDO_KEY}, {KEY_ENTER, KEY_ALT, 0, EDIT_NEWLINE},
    {KEY_ENTER, KEY_SHIFT, 0, EDIT_NEWLINE}, {KEY_CHAR, KEY_CTRL, 'j', EDIT_NEWLINE},
    {KEY_CHAR, KEY_CTRL, 'r', EDIT_SEARCH}, {KEY_CHAR, KEY_CTRL, 'p', EDIT_OLDER},
    {KEY_ESCAPE, 0, 0, EDIT_ESCAPE},
};

static bool edit_keys(struct ui *ui, const struct key *k)
{
    enum edit_result r = EDIT_NOTHING;
    if (k->name == KEY_PASTE) {
        r = edit_paste(ui->edit, k->text, k->n);
        ui_card_pasted(ui, k->text, k->n);
        if (k->cut) ui_notice(ui, "the paste was cut at %d MiB", KEYS_PASTE_MAX >> 20);
    } else if (k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT))) {
        r = edit_type(ui->edit, k->text, k->n);
    } else {
        size_t i = 0;
        while (i < COUNT_OF(edits) && !(edits[i].name == k->name && edits[i].mods == k->mods &&
                                        (k->name != KEY_CHAR || edits[i].rune == k->rune)))
            i++;
        if (i == COUNT_OF(edits)) return false;
        r = edit_key(ui->edit, edits[i].key);
        if (r == EDIT_NOTHING && edits[i].key == EDIT_ESCAPE) return false;
    }
    if (r == EDIT_FULL) ui_notice(ui, "there is no room for more text here");
    return true;
}

static bool scroll_key(struct ui *ui, const struct key *k)
{
    const int page = MAX(ui->layout.chat.rows - 1, 1);
    if (k->name == KEY_PAGE_UP) transcript_scroll(ui->transcript, -page);
    else if (k->name == KEY_PAGE_DOWN) transcript_scroll(ui->transcript, page);
    else if (k->name == KEY_HOME && k->mods == KEY_CTRL) transcript_scroll(ui->transcript, -INT32_MAX);
    else if (k->name == KEY_END && k->mods == KEY_CTRL) transcript_end(ui->transcript);
    else return false;
    return true;
}

static bool control_key(struct ui *ui, const struct key *k)
{
    if (k->name == KEY_UP && k->mods == KEY_ALT) {
        if (!ui_take_back(ui)) ui_notice(ui, "nothing waits to be sent");
        return true;
    }
    if (k->name != KEY_CHAR || k->mods != KEY_CTRL) return false;
    switch (k->rune) {
    case 'f': ui->mode = MODE_SEARCH; return true;
    case 'b': begin_browse(ui); return true;
    case 'x': use_editor(ui); return true;
    case 'n': ui->agent = ui->state.agents > 0 ? (ui->agent + 1) % ui->state.agents : 0; return true;
    default: return false;
    }
}

static bool type_key(struct ui *ui, const struct key *k)
{
    if (k->name == KEY_TAB) {
        ui_complete(ui, k->mods == KEY_SHIFT);
        return true;
    }
    const bool choosing = ui->candidates.n > 0;
    if (choosing && k->name == KEY_ESCAPE) {
        ui_complete_end(ui);
        return true;
    }
    if (choosing && k->name == KEY_ENTER && !k->mods && ui->candidate >= 0) { /* the choice is taken already */
        ui_complete_end(ui);
        return true;
    }
    ui_complete_end(ui);
    if (scroll_key(ui, k) || control_key(ui, k)) return true;
    if (k->name == KEY_ENTER && !k->mods) {
        if (edit_key(ui->edit, EDIT_ENTER) == EDIT_SENT) ui_send(ui);
        return true;
    }
    return edit_keys(ui, k);
}

bool ui_chat_key(struct ui *ui, const struct key *k)
{
    switch (ui->mode) {
    case MODE_SEARCH: return search_key(ui, k);
    case MODE_BROWSE: return browse_key(ui, k);
    case MODE_QUESTION: return question_key(ui, k);
    default: return type_key(ui, k);
    }
}
