/* api_begun.c - an answer that the client began: the last message is the assistant's, and the model goes on with it.
 *
 * Sources: continue_final_message and add_generation_prompt as vLLM has them, `prefix` in a message as Mistral's and
 * DeepSeek's APIs do.  Anthropic's and Ollama's say nothing of it: there the last message alone does, unless the answer
 * is to have a form, or to be a call.  Then what the assistant said stands, and the answer comes behind it: so
 * LangGraph asks for an agent's response_format once the agent is done. */
#include "app/serve/api.h"

static bool says_so(enum api_kind kind) { return kind <= API_RESPONSES; }

static bool is_held(const json_t *root)
{
    const json_t *choice = json_object_get(root, "tool_choice");
    return api_wants_form(root) || json_is_object(choice) || strcmp(api_text_in(root, "tool_choice"), "required") == 0;
}

int api_read_begun(struct api_ask *a, struct api_error *e)
{
    static const char key[] = "continue_final_message", other[] = "add_generation_prompt";
    const json_t *messages = json_object_get(a->root, "messages");
    const json_t *last = json_array_get(messages, MAX(json_array_size(messages), 1) - 1);
    bool opens = true, prefix = false;
    if (api_read_bool(a->root, key, &a->goes_on, e) || api_read_bool(a->root, other, &opens, e)) return -1;
    if (api_is_given(json_object_get(a->root, other)) && opens == a->goes_on)
        return api_fail(e, 400, "invalid_value", other, "%s is false where %s is true, and true where it is not; leave "
                        "it out", other, key);
    if (json_is_object(last) && api_read_bool(last, "prefix", &prefix, e)) return -1;
    a->goes_on |= prefix;
    if (!says_so(a->kind) && is_held(a->root)) a->goes_on = false;
    if (!a->goes_on || strcmp(api_text_in(last, "role"), "assistant") == 0) return 0;
    return api_fail(e, 400, "invalid_value", prefix ? "messages" : key, "the last message is to be the assistant's, if "
                    "it is to be gone on with");
}

int api_check_begun(struct api_ask *a, const struct api_model *m, struct api_error *e)
{
    if (!a->goes_on) return 0;
    if (a->whole)
        return api_fail(e, 400, "invalid_value", a->tools && a->choice >= API_REQUIRED ? "tool_choice" : a->form,
                        "an answer that is held to a form cannot be begun by the client: leave the assistant's last "
                        "message out");
    if (a->thinking > 0 && a->thinking != m->thinking)
        return api_fail(e, 400, "invalid_value", "thinking_token_budget", "thinking comes before an answer, and this "
                        "one was begun by the client: leave one of the two out");
    a->thinking = THINKING_FREE;
    return 0;
}
