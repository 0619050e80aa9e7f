/* serve_impl.h - what the files of `plimsoll serve` share. */
#ifndef SERVE_IMPL_H
#define SERVE_IMPL_H
#include "app/serve/api.h"
#include "app/serve/http.h"
#include "app/serve/serve.h"
#include "engine/siphash.h"

enum {
    SERVE_ANSWER = 1024,      /* tokens of an answer whose request does not say how many */
    SERVE_ROOM = 64,          /* the least that a context has to leave for one that wants more than it leaves */
    SERVE_CONNECTIONS = 960,
    SERVE_SILENT = 15,        /* seconds that a connection may neither say nor take anything */
    SERVE_PATIENCE = 60,      /* seconds that a request may take to come */
    SERVE_ALIVE = 10,         /* seconds without a word after which a stream says that it lives */
    SERVE_BODY_LEAST = 1 << 20, SERVE_BODY_TOKEN = 32, /* bytes of a body: at least, and for each token of a context */
    SERVE_BODY_TEXTS = 8 << 20, /* of one with texts for vectors, at least */
    SERVE_BODIES = 4,         /* times the longest, of all bodies together */
    SERVE_ECHO = 32 << 10,    /* bytes that a response repeats of its request, at most: they are held till then */
    SERVE_PIECE = 4096,       /* bytes of an answer's text in one event */
    SERVE_TOGETHER = 16,      /* of the many that one request may ask for the engine has so many at once, at most */
    SERVE_KEPT = 256, SERVE_KEPT_TEXT = 4096 /* calls, and bytes of one at most */
};

/* Seconds in steps, as Prometheus has a histogram. */
enum { SERVE_STEPS = 12, SERVE_MODEL = 128 };
extern const double serve_step[SERVE_STEPS];
struct serve_times {
    uint64_t in[SERVE_STEPS + 1]; /* the last: above all steps */
    double sum;
};

struct serve_counts {
    uint64_t requests, ended[END_OOM + 1], refused_busy, refused_context, refused_memory, refused_input, refused_key,
             failed, prompt_tokens, cached_tokens, generated_tokens, calls;
    struct serve_times first_token, whole;
};

struct serve_kept {
    char id[API_CALL_ID];
    char *text;
    size_t n;
    json_t *calls; /* [name, arguments] of each */
};

struct job;
struct serve_voice;
struct serve_vectors;
struct serve {
    struct app *a;
    struct http *http;
    struct api_model model;
    char model_id[SERVE_MODEL];
    struct buf key;          /* empty: everybody may ask */
    struct sip128 secret;    /* ids are made from it */
    uint64_t made, drawn;    /* ids, and seeds, so far */
    size_t body_limit;       /* bytes of a body, but for texts */
    int64_t opened;          /* when, in seconds of the calendar */
    struct job *jobs;
    int active;              /* that the engine has */
    uint8_t agent[ENGINE_AGENTS]; /* jobs under that number */
    struct serve_counts counts;
    struct serve_kept kept[SERVE_KEPT];
    size_t kept_next;
    int faults;              /* passes in a row that failed */
    double passed;           /* when the last one ended, or nothing was to be done */
    struct serve_file {
        json_t *keys;        /* of its header, but for arrays and the template */
        json_t *template;    /* a text */
        uint64_t bytes;
        int64_t written;     /* when, in seconds of the calendar */
        const char *quant;   /* "Q4_K_M", ...; "unknown" */
    } file;
};

/* One answer that the engine is asked for (or some, for a batch of vectors).  Where a request wants several, the first
 * is the lead of the others: what its client is told goes through the lead, and what all of them share lies there. */
struct job {
    struct serve *s;
    struct http_call *call;
    struct job *prev, *next;
    struct job *lead, *peer; /* itself, where it is alone; the next of the same request, in their order */
    int index;               /* which of these it is */
    enum api_kind kind;
    const struct serve_voice *voice; /* of that kind */
    bool plain;              /* its answer is text alone: no thinking, no calls */
    bool stream, usage, tools, whole_call, either, one_call, logprobs;
    enum form_calls calls;   /* how its answer has them */
    struct buf names;        /* of its tools, each with its NUL */
    struct buf types;        /* of calls in tags: tool, NUL, parameter, NUL, types; strings are left out */
    struct buf stops;        /* texts that the client named to end the answer, each with its NUL */
    struct buf echo;         /* JSON: what a response repeats of its request */
    struct buf prompt;       /* its text, where the answer repeats it */
    size_t cut;              /* so many bytes less than its tokens': a blank that the vocabulary puts in front */
    int id, agent;           /* in the engine */
    const struct answer *ans; /* NULL: the engine has it no more */
    int n_prompt, max_tokens;
    bool filled;             /* max_tokens is what the context leaves, and less than was asked for */
    char name[48];           /* "chatcmpl-..." */
    int64_t created;
    double start, first, said; /* first: 0 until there was a token */
    double begun, ended;       /* the pass began that read of its prompt first; its end was seen */
    /* of a stream: what was written already */
    bool head, told_prompt, finished;
    size_t thinking, content;
    size_t seen;             /* of the answer's text, when the stream was woken last */
    int tokens;
    enum serve_open { OPEN_NONE, OPEN_THINKING, OPEN_CONTENT } open; /* of APIs whose answers are in blocks, or items */
    int blocks, events;      /* that were begun, that were written */
    /* of a lead */
    struct buf out;
    size_t out_at;
    struct api_ask *ask;     /* until the engine was given all of it; then NULL, as of others */
    struct job *turn;        /* of a stream: whose events come next */
    json_t *choices;         /* of an answer in one piece: a list, null where one is not there yet */
    int wanted, given, over; /* answers: of the request, that the engine was given, that are told, or given up */
    int each;                /* of them to one prompt */
    int prompt_tokens, cached_tokens; /* of those that are told; each prompt once */
    int answer_tokens, thinking_tokens; /* the same; the second are among the first */
    bool repeats;            /* prompts stand before their answers */
    struct serve_vectors *vectors; /* NULL: an answer in words is asked for; else of all above call, agent, start, head,
                                      finished and out alone are used */
};

/* serve_ask.c */
size_t serve_wants(void *self, struct http_call *c);
void serve_ask(void *self, struct http_call *c);
void serve_refuse(struct serve *s, struct http_call *c, const struct api_error *e);
void serve_id(struct serve *s, const char *front, char *out, size_t size); /* front and 22 letters and digits */

/* serve_job.c */
void serve_complete(struct serve *s, struct http_call *c, enum api_kind kind);
/* How long a prompt is, without running it.  kind: API_COUNT, or RESPONSES for its input_tokens. */
void serve_count(struct serve *s, struct http_call *c, enum api_kind kind);
void serve_left(void *self, struct http_call *c);
void serve_gone(void *self, struct http_call *c);
/* What the engine said to a request, as a client is told it: -1. */
int serve_refusal(const struct serve *s, int code, int n_prompt, int max_tokens, const struct err *err,
                  struct api_error *e);
struct job *serve_job(struct serve *s, struct http_call *c); /* of that call, until it is gone; NULL: no memory */
/* Others wait for the engine: no more of a batch goes before them. */
bool serve_gives_way(const struct serve *s, int agent);
/* Of a lead: more of its answers are given to the engine, while there is room.  After a pass. */
void serve_go_on(struct job *lead);
void serve_drop(struct job *lead);                            /* what there is of its request is not wanted any more */
void serve_fail(struct job *lead, const struct api_error *e); /* the same, and its client is told why */

/* serve_parts.c */
struct serve_parts {
    const char *text;
    size_t n;
    int tokens;
    bool ended;
    enum engine_end end;
    struct api_split split;
    struct api_call call[API_CALLS]; /* once it has ended */
    int calls;
    bool cut; /* the model wrote more of them */
    struct form_text said; /* they, as the model wrote them, and what it said behind them */
    struct buf joined;     /* text, where that comes behind the content; empty: it is the answer's */
};
bool serve_ended(const struct job *j);
void serve_look(struct job *j, struct serve_parts *p);       /* as far as it came; without calls */
void serve_read_calls(struct job *j, struct serve_parts *p); /* once it has ended; serve_free_parts() is due */
void serve_free_parts(struct serve_parts *p);
/* Once an answer: its calls get their ids, by which the client sends them back. */
void serve_name_calls(struct job *j, struct serve_parts *p);
int serve_shutting_down(struct api_error *e); /* -1 */
/* What the engine could not do; 0: it did it. */
int serve_failure(const struct job *j, const struct serve_parts *p, struct api_error *e);
/* Tokens that began before the answer did: what was thought, and its marks. */
int serve_thinking_tokens(const struct job *j, const struct serve_parts *p);
json_t *serve_part(const struct serve_parts *p, const struct api_part *part); /* the whole of one as a JSON string */
/* What is new of a part, in whole characters; NULL: nothing.  *told: how much of it was told, and then is. */
json_t *serve_piece(const struct serve_parts *p, const struct api_part *part, size_t *told);
void serve_put_json(json_t *o, struct buf *out); /* o is taken; NULL: there was no memory for it */

json_t *serve_input(const struct api_call *c);            /* its arguments as an object */
json_t *serve_logprobs(const struct job *j, int from, int to); /* of the tokens [from, to), a list */

/* The next event of a stream whose events have names; o is taken, and gets its type: the name. */
void serve_put_event(struct job *j, const char *name, json_t *o);
/* A comment among events, which clients pass over, and proxies take for life. */
void serve_put_comment(struct job *j, int read); /* tokens of the prompt so far */
#define SERVE_EVENTS "text/event-stream"

/* How answers of one API are written.  Streams are events in j->out, made in this order: begin(), more() by turns,
 * end() or failed(). */
struct serve_voice {
    const char *what;  /* "chat", for a person */
    const char *name;  /* what an answer's id begins with */
    const char *call;  /* what a call's does */
    json_t *(*whole)(struct job *j, const struct serve_parts *p); /* NULL from here: no memory */
    /* Instead of whole(), where there may be several: one of them; then, of the lead, the whole. */
    json_t *(*choice)(struct job *j, const struct serve_parts *p);
    json_t *(*all)(struct job *lead);
    void (*begin)(struct job *j, const struct serve_parts *p);    /* the head, before there may be any text */
    bool (*more)(struct job *j, const struct serve_parts *p);     /* what is new of the text; false: nothing */
    void (*end)(struct job *j, const struct serve_parts *p);      /* calls, the end */
    void (*close)(struct job *lead);                              /* behind all ends; NULL: nothing */
    void (*failed)(struct job *j, const struct api_error *e);
    const char *type;                        /* of a stream */
    void (*alive)(struct job *j, int read);  /* it goes on, though nothing is new; read: tokens of its prompt so far */
};
extern const struct serve_voice serve_chat, serve_completion; /* say_chat.c */
extern const struct serve_voice serve_messages;               /* say_messages.c */

/* say_responses.c */
extern const struct serve_voice serve_responses;
void serve_keep_echo(struct job *j, const struct api_ask *ask);

/* say_ollama.c */
extern const struct serve_voice serve_ollama_chat, serve_ollama_generate;
/* Nothing was asked, but that the model be there. */
void serve_say_loaded(struct serve *s, struct http_call *c, const struct api_ask *ask);

/* serve_say.c */
long serve_more(void *self, struct http_call *c, char *to, size_t n);
void serve_say_whole(struct job *j); /* its end has come */
void serve_forget(struct job *j);    /* the engine may forget it; counted, and told on stderr */

/* serve_figures.c */
void serve_metrics(struct serve *s, struct http_call *c);
void serve_models(struct serve *s, struct http_call *c, const char *id); /* NULL: all */
void serve_health(struct serve *s, struct http_call *c);
void serve_time(struct serve_times *t, double seconds);
void serve_answer_json(struct http_call *c, int status, json_t *o); /* o is taken */

/* serve_file.c: the model's file as clients ask for it */
void serve_file_look(struct serve *s); /* once; what cannot be read is not known then */
void serve_file_free(struct serve *s);
json_t *serve_day(int64_t seconds); /* of the calendar, as RFC 3339 has it */
void serve_tags(struct serve *s, struct http_call *c);
void serve_running(struct serve *s, struct http_call *c);
void serve_show(struct serve *s, struct http_call *c);
void serve_tokenizer(struct serve *s, struct http_call *c);
void serve_ollama_version(struct http_call *c);
void serve_ollama_here(struct http_call *c);
/* Paths of Ollama's that are not served: -1, and e says why; else 0. */
int serve_ollama_refuses(const char *path, struct api_error *e);

/* serve_tokens.c */
void serve_tokenize(struct serve *s, struct http_call *c);
void serve_detokenize(struct serve *s, struct http_call *c);

/* serve_vectors.c */
void serve_vectors(struct serve *s, struct http_call *c, enum api_vectors_kind kind);
void serve_vectors_look(struct job *j);   /* after a pass */
bool serve_vectors_work(const struct job *j); /* the engine has something of it that has not ended */
void serve_vectors_cancel(struct job *j); /* what the engine has of it */
void serve_vectors_left(struct job *j);
void serve_vectors_free(struct job *j);
long serve_vectors_more(struct job *j, char *to, size_t n);

/* serve_kept.c: calls that were written lately, as struct api_memory has them */
void serve_keep(struct serve *s, const struct api_call *calls, int n_calls, const char *text, size_t n);
const char *serve_kept(void *self, const char *id, const json_t *calls, size_t *n);
void serve_kept_free(struct serve *s);
#endif
