/* template_harmony.c - the form of OpenAI's gpt-oss models: messages with heads that say whose they are, on which
 * channel, and to whom.
 *
 *     <|start|>system<|message|>...<|end|>          always, and no message's: who it is and what channels there are
 *     <|start|>developer<|message|># Instructions\n\nS\n\n# Tools\n\nT<|end|>
 *     <|start|>user<|message|>Hello<|end|>
 *     <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{...}<|call|>
 *     <|start|>functions.f to=assistant<|channel|>commentary<|message|>"..."<|end|>
 *     <|start|>assistant<|channel|>final<|message|>answer<|end|>
 *
 * What the model thought before a call stands before it, as the model wrote it: an assistant's message on the channel
 * `analysis`.  (Whoever makes the messages leaves it out once the turn has its answer, as the original does.)  The
 * original also says the date: that would make another prompt of the same messages each day, and nothing of yesterday's
 * could be shared. */
#include "engine/template_impl.h"

static const char instructions[] = "# Instructions\n\n", tools[] = "# Tools\n\n";

bool harmony_joins(const struct msg *m, const struct msg *next)
{
    return m->role == ROLE_SYSTEM && !m->tools && next->role == ROLE_SYSTEM && next->tools;
}

/* Of system text and tools in one run, from the former's first byte on. */
struct part harmony_part(const struct prompt *p, const struct msg *m)
{
    return (struct part){m != p->first ? 2 + sizeof tools - 1 : 0, m->len, 0};
}

static void put(struct prompt *p, const char *text) { prompt_put(p, text, strlen(text)); }

static void head(struct prompt *p, const char *who)
{
    prompt_mark(p, "<|start|>");
    put(p, who);
}

static void put_system(struct prompt *p, bool with_tools, enum effort effort)
{
    static const char text[] = "You are ChatGPT, a large language model trained by OpenAI.\n"
                               "Knowledge cutoff: 2024-06\n\nReasoning: ";
    static const char rest[] = "\n\n# Valid channels: analysis, commentary, final. "
                               "Channel must be included for every message.";
    static const char more[] = "\nCalls to these tools must go to the commentary channel: 'functions'.";
    static const struct msg system = {.role = ROLE_SYSTEM};
    static_assert(sizeof text + sizeof "medium" + sizeof rest + sizeof more <= HARMONY_SYSTEM, "it is a run");
    prompt_begin(p, &system);
    head(p, "system");
    prompt_mark(p, "<|message|>");
    put(p, text);
    put(p, effort_name(effort == EFFORT_USUAL ? EFFORT_MEDIUM : effort));
    put(p, rest);
    if (with_tools) put(p, more);
    prompt_mark(p, "<|end|>");
}

/* m, and what shares its turn: NULL, or the tools behind it. */
static void put_developer(struct prompt *p, const struct msg *m, const struct msg *next)
{
    prompt_begin(p, m);
    head(p, "developer");
    prompt_mark(p, "<|message|>");
    put(p, m->tools ? tools : instructions);
    const size_t at = p->run;
    prompt_put(p, m->text, m->len);
    if (next) {
        put(p, "\n\n");
        put(p, tools);
        prompt_put(p, next->text, next->len);
    }
    prompt_share(p, m, next ? next : m, at);
    prompt_mark(p, "<|end|>");
}

/* The text of this much of a message. */
static void put_text(struct prompt *p, const struct msg *m, size_t from, size_t to)
{
    prompt_mark(p, "<|message|>");
    if (from < to) prompt_put(p, m->text + from, to - from);
}

/* Where the name begins; a thought that is longer than the text is all of it. */
static size_t name_at(const struct msg *m) { return MIN(m->thought, m->len); }

/* The text proper of a call or a result. */
static void put_rest(struct prompt *p, const struct msg *m)
{
    const size_t left = m->len - name_at(m), skip = m->name > 0 ? m->name + 1 : 0;
    put_text(p, m, m->len - left + MIN(skip, left), m->len);
}

static void put_name(struct prompt *p, const struct msg *m)
{
    put(p, "functions.");
    prompt_put(p, m->text + name_at(m), MIN(m->name, m->len - name_at(m)));
}

static void put_thought(struct prompt *p, const struct msg *m)
{
    head(p, "assistant");
    prompt_mark(p, "<|channel|>");
    put(p, "analysis");
    put_text(p, m, 0, name_at(m));
    prompt_mark(p, "<|end|>");
}

static void put_call(struct prompt *p, const struct msg *m)
{
    if (m->thought > 0) put_thought(p, m);
    head(p, "assistant to=");
    put_name(p, m);
    prompt_mark(p, "<|channel|>");
    put(p, "commentary json");
    put_rest(p, m);
    prompt_mark(p, "<|call|>");
}

/* One of no known call is from a tool, whatever its name. */
static void put_result(struct prompt *p, const struct msg *m)
{
    head(p, m->name > 0 ? "" : "tool");
    if (m->name > 0) put_name(p, m);
    put(p, " to=assistant");
    prompt_mark(p, "<|channel|>");
    put(p, "commentary");
    put_rest(p, m);
    prompt_mark(p, "<|end|>");
}

static void put_said(struct prompt *p, const struct msg *m)
{
    head(p, role_name(m->role));
    if (m->role == ROLE_ASSISTANT) {
        prompt_mark(p, "<|channel|>");
        put(p, "final");
    }
    put_text(p, m, 0, m->len);
    if (!m->begun) prompt_mark(p, "<|end|>");
}

void harmony_write(struct prompt *p, const struct msg *msgs, int n, bool open)
{
    bool with_tools = false;
    for (int i = 0; i < n; i++) with_tools |= msgs[i].role == ROLE_SYSTEM && msgs[i].tools;
    put_system(p, with_tools, n > 0 ? msgs[0].effort : EFFORT_USUAL);
    for (int i = 0; i < n; i++) {
        const struct msg *m = &msgs[i];
        const bool joined = i + 1 < n && harmony_joins(m, m + 1);
        if (m->role == ROLE_SYSTEM) {
            put_developer(p, m, joined ? m + 1 : NULL);
            i += joined;
            continue;
        }
        prompt_begin(p, m);
        if (m->role == ROLE_TOOL) put_result(p, m);
        else if (m->role == ROLE_ASSISTANT && m->name > 0) put_call(p, m);
        else put_said(p, m);
    }
    prompt_begin(p, NULL);
    if (open) head(p, "assistant");
}

size_t template_head(enum template_kind k, const struct vocab *v, const int32_t *ids, size_t n)
{
    const int32_t end = vocab_find(v, "<|end|>", 7);
    size_t at = 0;
    if (k != TEMPLATE_HARMONY) return 0;
    while (at < n && ids[at] != end) at++;
    return MIN(at + 1, n);
}
