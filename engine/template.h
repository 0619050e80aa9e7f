/* template.h - from a list of messages to the token ids that a model was trained to see.
 *
 * Families known: ChatML (and Qwen 3.5's, Qwen3-Coder's, OLMo 3's), Llama 2, Llama 3, Mistral (v1; v3, v7, with an SPM
 * vocabulary or tekken; v11, v13), DeepSeek R1, Gemma (2 and 3), Phi (3 and 4-mini; 4), Zephyr (and TinyLlama), Tulu,
 * OLMo 2, Falcon 3, Granite (3.0; 3.1 to 3.3; 4), LFM2 and LFM2.5, and harmony (gpt-oss).  A file's
 * tokenizer.chat_template is recognised by the marks it uses; it is never executed.  A family that is not known is
 * refused by name.  A file without one is a plain text model: messages are joined as they stand (RAW).
 *
 * What the template itself writes is encoded with special tokens; what a message says is encoded without, so a pasted
 * `<|im_end|>` stays plain text.  Where a template's marks are themselves plain text (Llama 2, Mistral v1, Zephyr and
 * its kin) a message that says one is written with other brackets: `[INST]` as `(INST)`.  Threads: pure. */
#ifndef TEMPLATE_H
#define TEMPLATE_H
#include "engine/vocab.h"
#include "plimsoll.h"

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_COUNT };
const char *role_name(enum role r); /* "system", "user", "assistant", "tool" */

/* How much a model is to think before it answers, where its family is told so (harmony).  USUAL is medium there. */
enum effort { EFFORT_USUAL, EFFORT_LOW, EFFORT_MEDIUM, EFFORT_HIGH, EFFORTS };
const char *effort_name(enum effort e);                /* "low", "medium", "high"; of USUAL NULL */
int effort_by_name(const char *name, enum effort *out); /* 0, or -1 */

struct msg {
    enum role role;
    const char *text; /* any bytes; not NUL-terminated */
    size_t len;
    size_t summary; /* of a system message: how many of its last bytes are a summary; more than len means len */
    /* Where a family has marks of its own for them (Mistral, harmony); others write the text as any of its role: */
    bool tools;     /* a system message is the list of tools: v3 has it before the system text, others behind it, and
                       LFM's in its turn */
    uint64_t call;  /* this assistant's message is a call of a tool, and its number; of a result, its call's; 0: none */
    enum effort effort; /* of the first message of all: what is asked of the model */
    size_t name;    /* of harmony's calls and results, and Mistral's calls of v11 and later: the tool's is so long, and
                       stands before the rest and a blank */
    bool begun;     /* of the last, an assistant's: its turn is not over, and the model goes on with the text */
    size_t thought; /* of harmony's calls: so many bytes before the name are what was thought before it */
};

/* What a token of a sequence belongs to: what was said and by whom, or what the model says now (never by render). */
enum segment { SEGMENT_SYSTEM, SEGMENT_SUMMARY, SEGMENT_HISTORY, SEGMENT_TOOL, SEGMENT_ANSWER, SEGMENTS };
const char *segment_name(enum segment s); /* "system", "summary", "history", "tool", "answer" */

enum template_kind {
    TEMPLATE_RAW, TEMPLATE_CHATML, TEMPLATE_LLAMA2, TEMPLATE_LLAMA3, TEMPLATE_MISTRAL1, TEMPLATE_MISTRAL3,
    TEMPLATE_MISTRAL7, TEMPLATE_DEEPSEEK, TEMPLATE_GEMMA, TEMPLATE_PHI3, TEMPLATE_PHI4, TEMPLATE_HARMONY,
    TEMPLATE_MISTRAL11, TEMPLATE_MISTRAL13, /* v7, with tokens around a call's name, arguments and (v11) id */
    TEMPLATE_ZEPHYR,
    TEMPLATE_QWEN35, TEMPLATE_QWEN3_CODER, /* ChatML, with calls of tools in tags (memory/forms.h) */
    TEMPLATE_GRANITE30, TEMPLATE_GRANITE3, TEMPLATE_GRANITE4, /* 3.0; 3.1 to 3.3; 4 */
    TEMPLATE_LFM2, TEMPLATE_LFM25, /* ChatML, with calls as Python writes them (memory/forms.h) */
    TEMPLATE_TULU, TEMPLATE_OLMO2, TEMPLATE_FALCON3, /* Zephyr's marks, with an end behind answers alone */
    TEMPLATE_OLMO3, /* ChatML, with turns of the environment for results */
    TEMPLATE_KINDS
};
const char *template_name(enum template_kind k); /* "raw", "chatml", "llama2", "mistral-v1", ... */
int template_by_name(const char *name, enum template_kind *out); /* 0, or -1 */

/* What the file asks for.  0; or -1: err names the family found ("llama4", "command-r", ... or "unknown") and the
 * known ones.
 * Also checked: the special tokens that the family needs are in the vocabulary.  Mistral's v1 is told from v3 by it. */
int template_detect(const struct gguf *g, const struct vocab *v, enum template_kind *out, struct err *err);
int template_check(enum template_kind k, const struct vocab *v, struct err *err); /* the vocabulary has what k needs */

/* What the file's template says of thinking before an answer: whether it has tags for that (thinking.h), and how it
 * opens a turn of the assistant.  Read from the template's text behind its last add_generation_prompt, by the statement
 * that the tag stands behind: one that names thinking holds for who asks for it, or for all if it says "undefined".  A
 * template that never says the closing tag has it too where it opens a turn so (OLMo 3). */
struct template_thoughts {
    bool tags;
    bool begun; /* with an opening tag ... */
    bool asked; /* ... where thinking is asked for */
    bool skips; /* with the empty pair where it is not */
    bool bare;  /* the opening tag has no newline behind it */
};
struct template_thoughts template_thoughts(const struct gguf *g);

/* Text with which a model would begin the next question itself, so that it ends an answer, where that is no token
 * (Llama 2, Mistral v1: "[INST]"; Zephyr and its kin: "<|user|>"); else NULL. */
const char *template_stop(enum template_kind k);

/* Mistral v11 and later: what the model writes has marks that are tokens (harmony.h). */
bool template_marks_calls(enum template_kind k);

/* Whether the family's own template has what the model thought before a call as long as the turn goes on. */
bool template_retells(enum template_kind k);

/* How many of a prompt's ids, from the first, are no message's: what harmony's template says itself. */
size_t template_head(enum template_kind k, const struct vocab *v, const int32_t *ids, size_t n);

/* The name of a call in templates whose calls have names: nine digits. */
enum { TEMPLATE_CALL = 10 };
void template_call_name(uint64_t call, char name[TEMPLATE_CALL]);

/* Append the prompt of msgs to out: bos if the vocabulary adds one (and the template does not write it), every message,
 * and with `open` the head of the assistant's turn that the model is to write (behind one that is begun: none).
 *
 * segment (NULL: not wanted; n_segment entries) gets an enum segment for each id that is appended, the first at [0]:
 * that of the text in which the token begins, so SYSTEM where it begins before a summary and ends in it.  What the
 * template writes around a message is the message's (never SUMMARY), bos the first message's, the opened head HISTORY.
 *
 * scratch: see vocab_scratch_bytes(); with it nothing is allocated.  NULL: as much as is needed, from the heap.
 *
 * 0; -1: the vocabulary lacks what k needs; or an enum vocab_error: TOO_LONG where a run of plain text is longer than
 * what the scratch was made for (template_text_bytes()), FULL also where the ids are more than n_segment.  out is
 * unchanged then, and segment's entries mean nothing. */
int template_render(enum template_kind k, const struct vocab *v, struct vocab_scratch *scratch, const struct msg *msgs,
                    int n, bool open, struct ids *out, uint8_t *segment, size_t n_segment, struct err *err);

/* How many ids template_render() would append, for messages of any length, whatever the scratch was made for; nothing
 * is allocated.  *exact false: *tokens is an upper bound, since a part of the text could not be seen whole: a word of
 * byte-level BPE that is longer than what the scratch was made for and goes on in what the template writes before or
 * behind it (a message of white space alone, say); or a token that depends on text half that far away, for which text
 * and vocabulary have to be made on purpose.
 * 0; -1: the vocabulary lacks what k needs; or VOCAB_PATTERN_LIMIT. */
int template_count(enum template_kind k, const struct vocab *v, struct vocab_scratch *scratch, const struct msg *msgs,
                   int n, bool open, uint64_t *tokens, bool *exact, struct err *err);

/* Whether neighbours in a list may share a run of text, so that a token may be of both. */
bool template_joins(enum template_kind k, const struct msg *m, const struct msg *next);

/* The text_bytes of a scratch in which any n messages of at most text_bytes bytes together can be rendered: what a
 * template writes around messages can be in one run with them.  SIZE_MAX: too many. */
size_t template_text_bytes(size_t text_bytes, int n);
#endif
