/* vocab_file.h - vocabularies of vocab_make.h as files of a test's own. */
#ifndef VOCAB_FILE_H
#define VOCAB_FILE_H
#include "tests/gguf_make.h"
#include "tests/vocab_make.h"

/* The path lives until the next one is made, and not only as long as gguf_make_write()'s: it is opened again and again,
 * while other files are written. */
static inline const char *vocab_file(struct vocab_make *m, const char *name)
{
    static char path[512];
    struct buf file = vocab_make_bytes(m);
    snprintf(path, sizeof path, "%s", gguf_make_write(name, file.data, file.len));
    buf_free(&file);
    return path;
}

/* A byte a token, with the marks of gpt-oss and a template that asks for them. */
static inline const char *vocab_file_harmony(void)
{
    static const char *const mark[] = {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>",
                                       "<|call|>", "<|return|>"};
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-4o");
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++) m.eos = vocab_make_add(&m, mark[i], VOCAB_CONTROL, 0);
    m.chat = "<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>";
    return vocab_file(&m, "harmony.gguf");
}

/* A byte a token, with the marks of Mistral's models of v11 (ids: a call has one) or v13. */
static inline const char *vocab_file_mistral(bool ids)
{
    static const char *const mark[] = {"<s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
                                       "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]",
                                       "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]", "[ARGS]", "[CALL_ID]", "[THINK]",
                                       "[/THINK]", "</s>"};
    struct vocab_make m;
    vocab_make_bpe(&m, "tekken");
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++) m.eos = vocab_make_add(&m, mark[i], VOCAB_CONTROL, 0);
    m.chat = ids ? "{{ '[INST]' }}{{ '[TOOL_CALLS]' + name + '[CALL_ID]' + id + '[ARGS]' }}"
                 : "{{ '[INST]' }}{{ '[TOOL_CALLS]' + name + '[ARGS]' }}";
    return vocab_file(&m, "mistral.gguf");
}

/* A byte a token, with ChatML's marks and a template that thinks: it begins a turn so; or only where it is asked
 * to, with an empty pair of tags where not. */
static inline const char *vocab_file_thinks(bool asked)
{
#define VOCAB_FILE_TURN "{{ m.content }}<|im_end|>{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    struct vocab_make m;
    vocab_make_bpe(&m, "qwen2");
    vocab_make_add(&m, "<|im_start|>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "<|im_end|>", VOCAB_CONTROL, 0);
    m.chat = asked ? VOCAB_FILE_TURN "{% if enable_thinking is true %}{{ '<think>\\n' }}{% else %}"
                                     "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}"
                   : VOCAB_FILE_TURN "{% if enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% else %}"
                                     "{{ '<think>\\n' }}{% endif %}{% endif %}";
    return vocab_file(&m, "thinks.gguf");
}

/* A byte a token, with ChatML's marks and a template that begins a turn with the tag alone, as OLMo 3's. */
static inline const char *vocab_file_thinks_bare(void)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "qwen2");
    vocab_make_add(&m, "<|im_start|>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "<|im_end|>", VOCAB_CONTROL, 0);
    m.chat = "{{ m.content }}<|im_end|>{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>' }}";
    return vocab_file(&m, "bare.gguf");
}

/* A byte a token, with ChatML's marks and a template that writes calls in tags: Qwen3-Coder's, or Qwen 3.5's. */
static inline const char *vocab_file_tags(bool coder)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "qwen2");
    vocab_make_add(&m, "<|im_start|>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "<|im_end|>", VOCAB_CONTROL, 0);
    m.chat = coder ? "<|im_start|>{{ '<name>' }}{{ '<function=' }}{{ '<parameter=' }}<|im_end|>"
                   : "<|im_start|>{{ tool | tojson }}{{ '<function=' }}{{ '<parameter=' }}{{ '</think>' }}<|im_end|>";
    return vocab_file(&m, "tags.gguf");
}

/* A byte a token, with the marks of LFM2 and its template, or LFM2.5's. */
static inline const char *vocab_file_lfm(bool newer)
{
    static const char *const mark[] = {"<|startoftext|>", "<|im_start|>", "<|tool_list_start|>", "<|tool_list_end|>",
                                       "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_response_start|>",
                                       "<|tool_response_end|>", "<|im_end|>"};
    struct vocab_make m;
    vocab_make_bpe(&m, "lfm2");
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++) m.eos = vocab_make_add(&m, mark[i], VOCAB_CONTROL, 0);
    m.chat = newer ? "{{ bos_token }}<|im_start|>{{ 'List of tools: ' + tools }}{{ '</think>' }}<|im_end|>"
                   : "{{ bos_token }}<|im_start|>{{ 'List of tools: <|tool_list_start|>[' }}<|im_end|>";
    return vocab_file(&m, "lfm.gguf");
}
#endif
