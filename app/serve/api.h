/* api.h - the HTTP APIs that agent frameworks speak (OpenAI's chat completions, completions and responses; Anthropic's
 * messages; Ollama's): requests read, answers written.  Bytes and JSON alone: no socket, no engine but its types.
 *
 *     body -> api_read() -> struct api_ask -> (serve.c: an engine's request) -> api_split() -> chunks, or one object
 *
 * What is asked and not known is refused by its name: a client that asked for more than it got would never find out.
 * Fields that change nothing in an answer (user, metadata, store, ...) are passed over.
 *
 * Requests of the other APIs are read as the chat completions that say the same (api_responses.c, api_anthropic.c,
 * api_ollama.c).
 *
 * Sources: platform.openai.com/docs/api-reference (chat, completions, responses, errors, streaming);
 * docs.anthropic.com/en/api (messages, count_tokens, errors, streaming); docs.ollama.com/api; top_k, min_p and
 * repetition_penalty, reasoning_content and max_model_len as vLLM has them, repeat_last_n as llama-server does.
 * Threads: pure. */
#ifndef API_H
#define API_H
#include "engine/engine.h"
#include "memory/forms.h"
#include "plimsoll.h"
#include <jansson.h>

enum api_kind { /* COUNT: how long a request of ANTHROPIC is */
    API_CHAT, API_COMPLETION, API_RESPONSES, API_OLLAMA_CHAT, API_OLLAMA_GENERATE, API_ANTHROPIC, API_COUNT, API_KINDS
};

/* What a client acts on.  text is for a person; programs look for some of its words: those of a context that is too
 * short make them trim (LiteLLM, CrewAI), others make them wait. */
struct api_error {
    int status;          /* HTTP */
    const char *type, *code; /* "invalid_request_error", "context_length_exceeded", ... */
    char param[96];      /* "messages[2].content"; "": none */
    char text[512];
    int n_prompt, n_ctx; /* of a context that is too short; 0: not known, or it is about something else */
    int n_answer;        /* tokens that were asked for beside such a prompt */
    const char *allow;   /* of 405: the method; NULL: it is another */
};
__attribute__((format(printf, 5, 6))) int api_fail(struct api_error *e, int status, const char *code, const char *param,
                                                   const char *fmt, ...); /* -1 */
void api_put_error(const struct api_error *e, struct buf *out); /* {"error": {...}} */

/* What the requests are held against, constant while it serves. */
struct api_model {
    const char *id;
    enum form_calls calls;       /* how its family writes calls of tools */
    bool retells;                /* it is told what it thought before a call as long as the turn goes on */
    bool embedded;               /* it learned tools in the forms of assets/forms/ */
    bool thinks;                 /* its template has marks for what is thought before an answer */
    int ctx;                     /* tokens that a request may hold */
    const struct vocab *vocab;
    struct sampling sampling;    /* of a request that says nothing of it */
    enum effort effort;          /* the same */
    int thinking;                /* the same, as the engine's request has it */
    const char *const *stop;     /* ends every answer */
    int n_stop;
};

enum api_choice { API_AUTO, API_NONE, API_REQUIRED }; /* tool_choice */

enum { API_MESSAGES = 4096, API_TOOLS = 128, API_CALLS = 16, API_CALL_ID = 30, API_NAME = 64, API_CHOICES = 128 };

/* The calls that the server itself made lately, as the model wrote them: a client sends them back as JSON, and written
 * anew they might differ by a blank, so that the pages of all that follows would not be found.  calls: as the client
 * has them now, a list whose first has that id.  NULL: it is not known, or the client's are others by now. */
struct api_memory {
    const char *(*text)(void *self, const char *id, const json_t *calls, size_t *n);
    void *self;
};

struct api_ask {
    json_t *root;      /* texts point into it */
    enum api_kind kind;
    bool plain;        /* prompts are texts, or ids, and no messages */
    bool made;         /* root is what was made of the client's request, in other words than the client's */
    const char *load;  /* of Ollama's: nothing is asked, but that the model be loaded: "load", or "unload"; else NULL */
    bool fills;        /* where max_tokens is 0, or more than the context leaves: all that it leaves */
    bool stream, usage; /* usage: at a stream's end */
    struct msg *msgs;
    int n_msgs;
    json_t *prompts;   /* of a completion: a list of texts, or of lists of ids; else NULL */
    int n;             /* answers to each prompt; API_CHOICES to all together, at most */
    bool goes_on;      /* the last message is an answer that the client began */
    bool repeats;      /* a completion's prompt stands before its answer ... */
    bool scores;       /* ... and nothing else is wanted: max_tokens is 0 */
    struct sampling sampling;
    bool seeded;       /* the client named the seed */
    struct kern_bias bias[ENGINE_MAX_BIAS];
    const char *stop[ENGINE_STOPS];
    int n_stop;
    int max_tokens;    /* 0: not said */
    bool logprobs;
    int top_n;
    json_t *tools;     /* (of root) NULL: none */
    enum api_choice choice;
    json_t *allowed;   /* names of the tools that may be called, and no others of those above; NULL: all */
    bool one_call;     /* parallel_tool_calls: false */
    bool strict;       /* a tool asked for it: without its grammar the request is refused */
    struct buf schema; /* of a grammar: of its calls, or of the whole answer; empty: none */
    struct buf coarse; /* instead, where that makes no grammar: without what is finer than types; empty: none */
    struct buf looser; /* instead, where no grammar can hold that: calls to the tools' names alone; empty: none */
    bool exact;        /* the schema of the answer is strict: nothing of it may be left out */
    bool either;       /* the answer is a call, or a value of response_format's schema */
    bool texts_form;   /* the schema is no JSON Schema: texts to choose from, or a pattern (struct request_grammar) */
    const char *form;  /* the field that asked for the answer's form, if any did */
    enum effort effort;
    int thinking;      /* as the engine's request has it */
    enum form_calls calls; /* of its calls: as the model's family has them; not in tags where a grammar holds */
    bool whole;        /* the schema is of the whole answer */
    struct buf texts;  /* of the messages */
    json_int_t calls_read;
    json_t *numbers;   /* of the calls so far, by id; of one that comes again the last */
    json_t *names;     /* and of their tools */
    json_t *echo;      /* of API_RESPONSES: what its answer repeats of the request; else NULL */
    size_t asked;      /* the last message of a person: the turn that goes on is behind it */
};

/* 0; -1: e says what is wrong with which field.  api_free() is due either way. */
int api_read(struct api_ask *a, enum api_kind kind, const char *body, size_t n, const struct api_model *m,
             const struct api_memory *memory, struct api_error *e);
void api_free(struct api_ask *a);

/* api_small.c.  The body of a POST /api/show: 0, or -1 and e. */
int api_read_show(const char *body, size_t n, const struct api_model *m, struct api_error *e);
/* That of /tokenize, or (back) of /detokenize.  root is due to be given back either way. */
struct api_tokens {
    json_t *root;
    const char *text; /* (of root) */
    size_t n;
    bool bos;         /* the token that begins a text is wanted too, where the vocabulary has one */
    bool special;     /* spellings of control tokens are these tokens */
    bool counted;     /* the answer has their number, and how many a request may hold */
    const json_t *ids; /* (of root) back: whole numbers that are ids */
};
int api_read_tokens(struct api_tokens *t, bool back, const char *body, size_t n, const struct api_model *m,
                    struct api_error *e);

/* api_vectors.c.  The body of a POST for vectors of texts: OpenAI's /v1/embeddings, Ollama's /api/embed, and its older
 * /api/embeddings, of one text. */
enum api_vectors_kind { VECTORS_OPENAI, VECTORS_EMBED, VECTORS_ONE };
enum { API_INPUTS = 2048 };
struct api_vectors {
    json_t *root;        /* due to be given back either way */
    enum api_vectors_kind kind;
    const json_t *input; /* (of root) a text, or a list of n of them */
    int n;
    int dimensions;      /* the first so many values of each; 0: all */
    bool base64;         /* as floats, little-endian, and not as numbers */
    bool cut;            /* Ollama's truncate, where it was asked for: the end of a text that is too long is left out */
};
/* embd: values of a vector.  0, or -1 and e. */
int api_read_vectors(struct api_vectors *v, enum api_vectors_kind kind, const char *body, size_t n, int embd,
                     const struct api_model *m, struct api_error *e);
const char *api_vectors_text(const struct api_vectors *v, int i, size_t *n);

/* api_messages.c: messages and tools into a->msgs. */
int api_read_messages(struct api_ask *a, const struct api_model *m, const struct api_memory *memory,
                      struct api_error *e);
bool api_has_marks(enum form_calls c); /* tools, calls and results are messages of their own */
/* api_tools.c */
int api_read_tools(struct api_ask *a, struct api_error *e); /* and tool_choice */
void api_put_tools(const struct api_ask *a, const struct api_model *m, struct buf *out);
const char *api_tool_name(const json_t *tool); /* of a call too; "": it has none */
bool api_is_name(const char *s);               /* of a tool */
bool api_may_call(const struct api_ask *a, const char *name);
/* api_format.c: whether the answer is to have a form, and which; behind the tools. */
bool api_wants_form(const json_t *root);
int api_read_format(struct api_ask *a, struct api_error *e);
/* api_json.c */
bool api_is_given(const json_t *v);                         /* it is there, and not null */
const char *api_text_of(const json_t *v);                   /* a string without NULs; NULL: it is none */
const char *api_text_in(const json_t *o, const char *key);  /* the same of a field; "": it is none */
int api_read_bool(const json_t *o, const char *name, bool *out, struct api_error *e); /* *out stays if none is given */
json_t *api_read_object(const char *body, size_t n, struct api_error *e); /* the caller's; NULL: it is none, and e */
/* Of the object at `where` ("": the request itself) no keys have a value but those of two lists ("a b c"); off: false
 * is as good as none. */
int api_check_keys(const json_t *o, const char *common, const char *known, bool off, const char *where,
                   struct api_error *e);
/* api_anthropic.c: the body of a POST /v1/messages (counts: of its count_tokens) as a chat completion's; the caller's.
 * NULL: e says what is wrong with which field, by the names that the client knows. */
json_t *api_from_messages(const json_t *body, bool counts, const struct api_model *m, struct api_error *e);
int api_messages_status(const struct api_error *e);                      /* HTTP */
void api_put_messages_error(const struct api_error *e, struct buf *out); /* {"type": "error", "error": {...}} */
/* api_responses.c: a->root, a request of the Responses API, becomes that of a chat, and a->echo; -1: e. */
int api_from_responses(struct api_ask *a, struct api_error *e);
/* api_ollama.c: the same of a request of Ollama's, by a->kind, and a->plain, load and fills. */
int api_from_ollama(struct api_ask *a, const struct api_model *m, struct api_error *e);
/* Its options and keep_alive, where they change nothing but what they may. */
int api_check_ollama_options(json_t *root, const struct api_model *m, struct api_error *e);
void api_put_ollama_error(const struct api_error *e, struct buf *out); /* {"error": "..."} */
/* api_read.c: whether a client's name for the model is that of this one. */
int api_check_model(const json_t *name, enum api_kind kind, const struct api_model *m, struct api_error *e);
/* The same: what is wrong with the request that was made of the client's, in the words of the client's. */
void api_own_words(const struct api_ask *a, struct api_error *e);
/* api_begun.c: whether the last message is to be gone on with (a->goes_on); once all is read, whether it can be. */
int api_read_begun(struct api_ask *a, struct api_error *e);
int api_check_begun(struct api_ask *a, const struct api_model *m, struct api_error *e);
/* api_schema.c: the schema of one call of those tools that may be called, or of response_format, into a->schema.
 * References to definitions are put in place (app/schema.h), some times inside each other where they refer to
 * themselves, and where nobody asked for strictness a form or range that no grammar can say (format, pattern, minimum,
 * ...) is left out. */
int api_schema_of_calls(struct api_ask *a, struct api_error *e);
/* Of the whole answer: schema NULL is any JSON object, not too deep.  Where tools may be called, or so. */
int api_schema_of_answer(struct api_ask *a, const json_t *schema, bool strict, struct api_error *e);
/* api_thinking.c: how much, and how long, the model is to think: a->effort and a->thinking. */
int api_read_thinking(struct api_ask *a, const struct api_model *m, struct api_error *e);
/* api_tags.c: a client's tools, and a call with its arguments as a client has them, for a model that writes calls in
 * tags. */
void api_tags_list(enum form_calls how, const json_t *tools, struct buf *out);
void api_tags_call(const char *name, struct form_text arguments, struct buf *out);
/* Which kinds of JSON a schema allows, as far as it says: bits of enum form_type.  root: what it is a part of. */
unsigned api_types_of(const json_t *schema, const json_t *root);

/* ---------------------------------------------------------------- answers */

/* Where the parts of an answer are, as far as they are certain: with more text they only grow. */
struct api_part {
    size_t at, n;
};
struct api_split {
    struct api_part thinking, content;
    struct api_part call; /* where a call may begin, to the end; n 0: none.  Content ends before it */
};
/* tools: a call may be in it; ended: no more comes. */
void api_split(const char *text, size_t n, bool tools, enum form_calls how, bool ended, struct api_split *out);

#define API_CALL_OPEN "<tool_call>"

struct api_call {
    char id[API_CALL_ID];
    json_t *name, *arguments; /* a string; a string that is a JSON object */
};
/* The calls that the text is, and nothing else but words around those in Python: how many, at most API_CALLS; 0: it is
 * none.  known: whether a tool has that name (a form without a mark of its own is a call only then); type: which kinds
 * of JSON a parameter of it may be (bits of enum form_type), which tags do not say.  Ids are left empty. */
struct api_tools {
    bool (*known)(void *self, const char *name);
    unsigned (*type)(void *self, const char *tool, const char *key);
    void *self;
};
int api_read_calls(const char *text, size_t n, enum form_calls how, const struct api_tools *tools,
                   struct api_call *out);
void api_free_calls(struct api_call *c, int n);

json_t *api_text(const char *bytes, size_t n); /* a JSON string; what is no UTF-8 is U+FFFD.  NULL: no memory */
size_t api_whole(const char *bytes, size_t n); /* how much of it is not a beginning of a character */

/* v as text, appended; flags are jansson's.  Memory that ran out shows in out->failed. */
void api_put_json(const json_t *v, size_t flags, struct buf *out);

/* As JSON, a token's: {"token", "logprob", "bytes", "top_logprobs"}; top (NULL: none): the n likeliest in its place. */
json_t *api_logprob(const struct vocab *v, int32_t id, float logprob, const struct engine_top *top, int n);
#endif
