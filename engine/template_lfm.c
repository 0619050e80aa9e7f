/* template_lfm.c - the forms of Liquid AI's LFM2 and LFM2.5: ChatML's turns behind <|startoftext|>.
 *
 *     LFM2     <|im_start|>system\nsystem\nList of tools: <|tool_list_start|>[...]<|tool_list_end|><|im_end|>\n
 *              <|im_start|>assistant\n<|tool_call_start|>[name(key="value")]<|tool_call_end|><|im_end|>\n
 *              <|im_start|>tool\n<|tool_response_start|>result<|tool_response_end|><|im_end|>\n
 *     LFM2.5   the same without the marks of lists and results
 *
 * The list of tools is a message of its own, which stands in the system text's turn.  Only what the model said may have
 * the marks of a call: in any other text they are its letters (vocab.c guards them).  LFM2.5's larger files write the
 * day's date before the list, so that the same messages would be another prompt each day; here nobody does. */
#include "engine/template_impl.h"

static const char call_open[] = "<|tool_call_start|>", call_close[] = "<|tool_call_end|>";
static const char before_list[] = "\nList of tools: ";

/* A list behind the system's text. */
bool lfm_joins(const struct msg *m, const struct msg *next)
{
    return m->role == ROLE_SYSTEM && !m->tools && next->role == ROLE_SYSTEM && next->tools;
}

static void put(struct prompt *p, const char *text) { prompt_put(p, text, strlen(text)); }

/* No line is to end where there is none. */
static const char *list_head(const struct msg *system) { return before_list + (!system || system->len == 0); }

struct part lfm_part(const struct prompt *p, const struct msg *m)
{
    return (struct part){0, m->len, m != p->last ? strlen(list_head(m)) : 0};
}

static void lfm_head(struct prompt *p, enum role role)
{
    prompt_mark(p, "<|im_start|>");
    put(p, role_name(role));
    put(p, "\n");
}

static void between(struct prompt *p, const struct msg *m, const char *open, const char *close)
{
    if (p->kind == TEMPLATE_LFM2) prompt_mark(p, open);
    prompt_text(p, m);
    if (p->kind == TEMPLATE_LFM2) prompt_mark(p, close);
}

static void put_list(struct prompt *p, const struct msg *m)
{
    between(p, m, "<|tool_list_start|>", "<|tool_list_end|>");
}

/* Both texts are one run, unless a mark lies between them. */
static void with_list(struct prompt *p, const struct msg *system, const struct msg *list)
{
    prompt_text(p, system);
    put(p, list_head(system));
    if (p->kind == TEMPLATE_LFM2) {
        prompt_begin(p, list);
        put_list(p, list);
        return;
    }
    prompt_put(p, list->text, list->len);
    prompt_share(p, system, list, p->text_at);
    prompt_begin(p, list);
}

/* What the model said, with its marks as it wrote them. */
static void put_said(struct prompt *p, const char *text, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        const char *at = memchr(text + i, '<', n - i), *mark = NULL;
        if (!at) break;
        i = (size_t)(at - text);
        if (n - i >= sizeof call_open - 1 && memcmp(at, call_open, sizeof call_open - 1) == 0) mark = call_open;
        if (n - i >= sizeof call_close - 1 && memcmp(at, call_close, sizeof call_close - 1) == 0) mark = call_close;
        if (!mark) {
            i++;
            continue;
        }
        prompt_put(p, text + from, i - from);
        prompt_mark(p, mark);
        from = i += strlen(mark);
    }
    if (n > from) prompt_put(p, text + from, n - from);
}

static void put_message(struct prompt *p, const struct msg *m)
{
    if (m->role == ROLE_TOOL) {
        between(p, m, "<|tool_response_start|>", "<|tool_response_end|>");
    } else if (m->role == ROLE_ASSISTANT) {
        put_said(p, m->text, m->len);
    } else if (m->tools) {
        put(p, list_head(NULL));
        put_list(p, m);
    } else {
        prompt_text(p, m);
    }
}

void lfm_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    prompt_mark(p, "<|startoftext|>");
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i];
        const bool listed = i + 1 < n && lfm_joins(m, m + 1);
        prompt_begin(p, m);
        lfm_head(p, m->role);
        if (listed) with_list(p, m, &msgs[++i]);
        else put_message(p, m);
        if (m->begun) break;
        prompt_mark(p, "<|im_end|>");
        put(p, "\n");
    }
    prompt_begin(p, NULL);
    if (open) lfm_head(p, ROLE_ASSISTANT);
}
