/* template_rig.c - see template_rig.h. */
#include "tests/template_rig.h"
#include "engine/vocab_impl.h" /* a scratch from the heap */
#include "tests/check.h"
#include "tests/gguf_make.h"

struct gguf *tpl_file(struct vocab_make *m)
{
    struct err err = {0};
    struct buf file = vocab_make_bytes(m);
    struct gguf *g = gguf_open(gguf_make_write("template.gguf", file.data, file.len), &err);
    buf_free(&file);
    if (!g) check_fail(__FILE__, __LINE__, "%s", err.text);
    return g;
}

struct vocab *tpl_vocab(struct gguf *g)
{
    struct err err = {0};
    struct vocab *v = vocab_open(g, &err);
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    return v;
}

struct vocab *tpl_made(struct vocab_make *m)
{
    struct gguf *g = tpl_file(m);
    struct vocab *v = tpl_vocab(g);
    gguf_close(g);
    return v;
}

int tpl_detected(struct vocab_make *m, const char *chat, enum template_kind *k, struct err *err)
{
    *k = TEMPLATE_KINDS;
    m->chat = chat;
    struct gguf *g = tpl_file(m);
    struct vocab *v = tpl_vocab(g);
    const int rc = template_detect(g, v, k, err);
    vocab_close(v);
    gguf_close(g);
    return rc;
}

uint32_t tpl_draw(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

void tpl_drawn(uint32_t *state, const char *const *part, size_t parts, uint32_t most, struct buf *out)
{
    out->len = 0;
    for (uint32_t n = tpl_draw(state, most); n > 0; n--) buf_puts(out, part[tpl_draw(state, (uint32_t)parts)]);
}

int tpl_talk(uint32_t *state, const char *const *part, size_t parts, struct buf *text, struct msg *msgs, int most)
{
    const int n = 1 + (int)tpl_draw(state, (uint32_t)most);
    for (int i = 0; i < n; i++) {
        tpl_drawn(state, part, parts, 8, &text[i]);
        msgs[i] = (struct msg){.role = (enum role)tpl_draw(state, ROLE_COUNT), .text = text[i].data, .len = text[i].len,
                               .summary = tpl_draw(state, 2) * text[i].len / 2};
    }
    return n;
}

struct msg tpl_say(enum role role, const char *text)
{
    return (struct msg){.role = role, .text = text, .len = strlen(text)};
}

struct ids tpl_render(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open)
{
    struct ids ids = {0};
    struct err err = {0};
    if (template_render(k, v, NULL, msgs, n, open, &ids, NULL, 0, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    return ids;
}

/* The ids spelled out, control tokens too. */
const char *tpl_spelled(const struct vocab *v, const struct ids *ids)
{
    static struct buf out;
    out.len = 0;
    for (size_t i = 0; i < ids->n; i++) {
        const char *s;
        bool control = vocab_attr(v, ids->id[i]) == VOCAB_CONTROL;
        size_t n = control ? vocab_spelling(v, ids->id[i], &s) : vocab_piece(v, ids->id[i], &s);
        buf_put(&out, s, n);
    }
    return out.len ? out.data : "";
}

int tpl_count(const struct ids *ids, int32_t id)
{
    int n = 0;
    for (size_t i = 0; i < ids->n; i++) n += ids->id[i] == id;
    return n;
}

/* The prompt of msgs is `text`, and its ids are the ones that text has when it is encoded whole with special tokens. */
void tpl_check(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open,
                        const char *text)
{
    struct ids whole = {0}, ids = tpl_render(k, v, msgs, n, open);
    struct err err = {0};
    struct vocab_scratch *s = vocab_scratch_new(v, 4096, &err);
    uint64_t tokens = 0;
    bool exact = false;
    CHECK_EQ(template_count(k, v, s, msgs, n, open, &tokens, &exact, &err), 0);
    CHECK(tokens == ids.n && exact);
    free(s);
    CHECK_STR(tpl_spelled(v, &ids), text);
    CHECK_EQ(vocab_encode(v, NULL, text, strlen(text), VOCAB_SPECIAL, &whole, &err), 0);
    CHECK_EQ(ids.n, whole.n);
    for (size_t i = 0; i < ids.n; i++) CHECK_EQ(ids.id[i], whole.id[i]);
    ids_free(&ids);
    ids_free(&whole);
}

void tpl_begun(enum template_kind k, const struct vocab *v, const char *end)
{
    static const char *const said[] = {"hi ab", "", "a", "hi\n\nhi", "ab [INST] <|im_end|> hi"};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        struct msg m[] = {tpl_say(ROLE_SYSTEM, "S"), tpl_say(ROLE_USER, "hi"), tpl_say(ROLE_ASSISTANT, "b"),
                          tpl_say(ROLE_USER, "ab"), tpl_say(ROLE_ASSISTANT, said[i])};
        char over[1000];
        for (int n = 2; n <= 5; n += 3) { /* of one question, that is the answer's beginning too */
            struct msg *last = &m[n - 1];
            const enum role was = last->role;
            last->role = ROLE_ASSISTANT;
            struct ids ids = tpl_render(k, v, m, n, false);
            const char *text = tpl_spelled(v, &ids);
            const size_t len = strlen(text), cut = strlen(end);
            CHECK(len < sizeof over && len > cut && strcmp(text + len - cut, end) == 0);
            memcpy(over, text, len - cut);
            over[len - cut] = '\0';
            ids_free(&ids);
            last->begun = true;
            for (int open = 0; open < 2; open++) {
                int exact = 0;
                ids = tpl_render(k, v, m, n, open);
                CHECK_STR(tpl_spelled(v, &ids), over);
                ids_free(&ids);
                tpl_counted(k, v, m, n, &exact);
            }
            *last = n == 2 ? tpl_say(was, "hi") : m[4];
        }
    }
}

/* The segments of the prompt of msgs, a letter for each token: S system, U summary, H history, T tool. */
void tpl_counted(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, int *exact)
{
    struct ids ids = tpl_render(k, v, msgs, n, true);
    struct err err = {0};
    uint64_t tokens = 0;
    bool sure = false;
    struct vocab_scratch *s = vocab_scratch_new(v, 24, &err);
    CHECK_EQ(template_count(k, v, s, msgs, n, true, &tokens, &sure, &err), 0);
    CHECK(sure ? tokens == ids.n : tokens >= ids.n);
    *exact += sure;
    free(s);
    ids_free(&ids);
}

const char *tpl_segments(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open)
{
    static char shown[400];
    uint8_t segment[sizeof shown];
    struct ids ids = {0};
    struct err err = {0};
    ids_put(&ids, 5); /* what was there has no entry */
    memset(segment, 0xee, sizeof segment);
    if (template_render(k, v, NULL, msgs, n, open, &ids, segment, sizeof segment, &err))
        check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_EQ(segment[ids.n - 1], 0xee);
    for (size_t i = 0; i + 1 < ids.n; i++) {
        CHECK(segment[i] < SEGMENT_ANSWER);
        shown[i] = "SUHT"[segment[i]];
    }
    shown[ids.n - 1] = '\0';
    ids_free(&ids);
    return shown;
}

struct msg tpl_summed(const char *text, size_t summary)
{
    return (struct msg){.role = ROLE_SYSTEM, .text = text, .len = strlen(text), .summary = summary};
}

void tpl_pasted(enum template_kind k, const struct vocab *v, int32_t first, const char *pasted)
{
    for (int role = 0; role < ROLE_COUNT; role++) {
        struct msg msgs[] = {tpl_say((enum role)role, "x"), tpl_say(ROLE_USER, "y")};
        struct ids without = tpl_render(k, v, msgs, 2, true);
        msgs[0] = tpl_say((enum role)role, pasted);
        struct ids ids = tpl_render(k, v, msgs, 2, true);
        for (int32_t id = first; id < vocab_size(v); id++) CHECK_EQ(tpl_count(&ids, id), tpl_count(&without, id));
        CHECK(strstr(tpl_spelled(v, &ids), pasted));
        ids_free(&ids);
        ids_free(&without);
    }
}
