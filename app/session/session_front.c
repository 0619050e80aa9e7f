/* session_front.c - the texts that stand before a conversation in every call: the system message and pins. */
#include "app/session/session_impl.h"

int session_add_front(struct session *s, enum window_part part, enum journal_kind kind, const char *text, size_t n,
                      uint64_t *id, struct err *err)
{
    struct journal_message m = {.kind = kind, .turn = s->keep.head.turns, .text = text, .len = n};
    *id = session_note(s, &m, err);
    if (*id == 0) return -1;
    int rc = window_add(s->w, part, *id, err);
    if (rc) texts_cut(&s->texts, *id);
    if (rc) session_mark(s, JOURNAL_UNPINNED, *id, *id);
    return rc ? -1 : 0;
}

int session_system(struct session *s, const char *text, size_t n, struct err *err)
{
    uint64_t id = 0;
    if (n > 0 && session_add_front(s, WINDOW_SYSTEM, JOURNAL_SYSTEM, text, n, &id, err)) return -1;
    if (s->system) {
        window_remove(s->w, WINDOW_SYSTEM, s->system, NULL);
        session_mark(s, JOURNAL_UNPINNED, s->system, s->system);
    }
    s->system = id;
    session_tell(s);
    if (session_begun(s)) return session_save(s, err);
    session_remember(s); /* a session begins to be saved with its first turn */
    return 0;
}

const struct text_entry *session_system_text(struct session *s)
{
    return s->system ? texts_get(&s->texts, s->system, NULL) : NULL;
}

int session_pin(struct session *s, const char *text, size_t n, uint64_t *id, struct err *err)
{
    if (session_add_front(s, WINDOW_PINNED, JOURNAL_PIN, text, n, id, err)) return -1;
    session_tell(s);
    return session_save(s, err);
}

int session_unpin(struct session *s, uint64_t id, struct err *err)
{
    if (window_remove(s->w, WINDOW_PINNED, id, NULL))
        return err_set(err, -1, "%llu is no pin; /context lists them", (unsigned long long)id);
    session_mark(s, JOURNAL_UNPINNED, id, id);
    session_tell(s);
    return session_save(s, err);
}
