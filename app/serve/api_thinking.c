/* api_thinking.c - what a chat completion says of thinking: reasoning_effort (OpenAI), thinking_token_budget and
 * chat_template_kwargs (vLLM), enable_thinking and thinking_budget (Qwen's own API). */
#include "app/serve/api.h"

/* Of the families here harmony alone is told how much; others can be kept from it. */
static int read_effort(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    static const char key[] = "reasoning_effort";
    const json_t *v = json_object_get(a->root, key);
    const char *text = api_text_in(a->root, key);
    const bool harmony = m->calls == FORM_CALLS_HARMONY;
    a->effort = m->effort;
    if (!api_is_given(v)) return 0;
    if (!harmony && strcmp(text, "none") == 0) {
        a->thinking = THINKING_OFF;
        return 0;
    }
    if (!harmony)
        return api_fail(e, 400, "unsupported_value", key, "%s: this model is not told how much to think; leave it "
                        "out%s", key, a->kind == API_CHAT || a->kind == API_RESPONSES ? ", or say \"none\"" : "");
    if (effort_by_name(text, &a->effort) == 0) return 0;
    return api_fail(e, 400, "invalid_value", key, "%s is to be low, medium or high", key);
}

static int read_budget(struct api_ask *a, const char *key, struct api_error *e)
{
    const json_t *v = json_object_get(a->root, key);
    const json_int_t n = json_integer_value(v);
    if (!api_is_given(v)) return 0;
    if (!json_is_integer(v) || n < 0 || n > 1 << 27)
        return api_fail(e, 400, "invalid_value", key, "%s is to be a whole number from 0 to %d", key, 1 << 27);
    a->thinking = n == 0 ? THINKING_OFF : (int)n;
    return 0;
}

/* In the request, or in what vLLM hands to a template. */
static int read_switch(struct api_ask *a, const json_t *in, const char *name, const char *where,
                       const struct api_model *m, struct api_error *e)
{
    const json_t *v = json_object_get(in, name);
    if (!api_is_given(v)) return 0;
    if (!json_is_boolean(v)) return api_fail(e, 400, "invalid_type", where, "%s is to be true or false", where);
    if (json_is_true(v) && !m->thinks)
        return api_fail(e, 400, "unsupported_value", where, "%s: \"%.100s\" does not support thinking; leave it out",
                        where, m->id);
    if (json_is_false(v)) a->thinking = THINKING_OFF;
    else if (a->thinking == THINKING_FREE) a->thinking = THINKING_ON; /* a budget has said it otherwise */
    return 0;
}

static int read_kwargs(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    static const char key[] = "chat_template_kwargs";
    const json_t *o = json_object_get(a->root, key);
    if (!api_is_given(o)) return 0;
    if (!json_is_object(o)) return api_fail(e, 400, "invalid_type", key, "%s is to be an object", key);
    return api_check_keys(o, "enable_thinking", "thinking", false, key, e) ||
           read_switch(a, o, "enable_thinking", "chat_template_kwargs.enable_thinking", m, e) ||
           read_switch(a, o, "thinking", "chat_template_kwargs.thinking", m, e);
}

int api_read_thinking(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    a->thinking = THINKING_FREE;
    if (read_budget(a, "thinking_budget", e) || read_budget(a, "thinking_token_budget", e) || read_effort(a, m, e) ||
        read_switch(a, a->root, "enable_thinking", "enable_thinking", m, e) || read_kwargs(a, m, e))
        return -1;
    if (a->thinking == THINKING_FREE) a->thinking = m->thinking;
    if (a->thinking == THINKING_OFF && m->calls == FORM_CALLS_HARMONY)
        return api_fail(e, 400, "unsupported_value", "thinking_token_budget", "thinking_token_budget: this model "
                        "cannot be kept from thinking; reasoning_effort says how much, and a budget of 1 ends it at "
                        "once");
    if (a->thinking == THINKING_ON && m->thinking > 0) a->thinking = m->thinking; /* the server's bound holds */
    if (a->thinking == THINKING_OFF && !m->thinks) a->thinking = THINKING_FREE; /* it does not */
    return 0;
}
