/* hear.h - what a server of OpenAI's chat API answers, bytes in, text out: a stream of events (text/event-stream as the
 * WHATWG HTML standard's section 9.2 has it), or one JSON object, or an error in either.
 *
 *     struct hear h = {0};
 *     hear_bytes(&h, bytes, n, &text);         // as often as some come; text grows by what the model said
 *     hear_over(&h, &text);                    // the connection ended
 *     if (h.trouble.len > 0) ...               // it said or did something wrong: why, in one line
 *     hear_free(&h);
 *
 * What a server has taken out of the text it gets back: reasoning_content (vLLM, SGLang, llama-server) and reasoning
 * (Ollama, newer vLLM), and the parts of an answer that are thinking (Mistral), become <think> ... </think>, tool_calls
 * become <tool_call>{...}</tool_call>, which is how plimsoll's own models write them.  Nothing is believed: a line has
 * HEAR_LINE bytes at most, JSON is UTF-8 without NUL and not nested deeply, or the answer ends with trouble.
 * Threads: pure. */
#ifndef REMOTE_HEAR_H
#define REMOTE_HEAR_H
#include "plimsoll.h"

enum { HEAR_LINE = 1 << 20 };

enum hear_end {
    HEAR_OPEN,   /* not yet */
    HEAR_STOP,   /* the model ended its turn, or it calls a tool */
    HEAR_LENGTH, /* as many tokens as were asked for, or as the server allows */
    HEAR_FAILED  /* trouble */
};

struct hear {
    struct buf line;    /* of the stream, unfinished; or the whole of a JSON object */
    struct buf data;    /* the event's so far */
    struct buf trouble;
    enum hear_end end;
    bool begun, whole;  /* what comes is known to be; JSON, not a stream */
    bool cr;            /* the last byte was a carriage return: a line feed behind it is of the same line end */
    bool thinks;        /* amid what the server took for thinking */
    int call;           /* amid a call of a tool: its index, + 1; 0: none */
    char call_id[64];   /* and its id, or the front of it */
    bool call_argued;   /* something of its arguments came */
    unsigned mark;      /* how many bytes of a byte order mark came; 3: no more of it is expected */
    bool said_done;     /* [DONE] came, or the object was whole */
    int64_t prompt_tokens, tokens, cached_tokens; /* as the server counts them; -1 or 0 until `counted` */
    bool counted;
};

void hear_bytes(struct hear *h, const char *bytes, size_t n, struct buf *text);
void hear_over(struct hear *h, struct buf *text);
void hear_free(struct hear *h);

/* The line of an error's body, which is JSON of one of the forms that servers use, or any text; without control
 * characters, `room` bytes at most with the NUL. */
void hear_error(const char *body, size_t n, char *out, size_t room);
/* A text of theirs as one line: blanks and control characters are a space, and no character is cut. */
void hear_line(const char *text, size_t n, char *out, size_t room);
/* Does it say that the prompt is too long for the model's context?  As the servers named in facts say it. */
bool hear_is_overflow(const char *text);
/* ... an error's body: its words or its code, not what it repeats of the request.  body[n] is a NUL. */
bool hear_refuses_length(const char *body, size_t n);
/* ... that the model's template has no system role? */
bool hear_wants_no_system(const char *text);
#endif
