/* talk.c - see talk.h. */
#include "engine/remote/talk.h"
#include "engine/remote/ask.h"

enum {
    ERROR_BODY = 64 << 10,
    WAIT_MOST_S = 60,
    LINGER_S = 2,    /* behind an answer's end the server may say what it counted; it has so long */
    SILENT_S = 300,  /* ... and so long for the first word, or the next: pings are none */
    BYTES_FIRST = 1 << 20, BYTES_TOKEN = 8 << 10 /* of an answer, with all that stands around its words */
};

static void end_badly(struct talk *t, int code, const char *why)
{
    char line[1024];
    if (t->end != END_NONE) return;
    t->end = END_FAULT;
    t->why.code = code;
    snprintf(line, sizeof line, "%.80s: %.900s", web_at(t->web), why);
    hear_line(line, strlen(line), t->why.text, sizeof t->why.text);
}

static void fail(struct talk *t, const char *why) { end_badly(t, ENGINE_FAULT, why); }

/* It says that its model's context cannot hold this: what to do stands before its own words, which may be long. */
static void never_fits(struct talk *t, const char *said)
{
    char why[512];
    snprintf(why, sizeof why, "the context there cannot hold the request: shorten the conversation or ask for a "
             "shorter answer (-n); it says: %.300s", said);
    end_badly(t, ENGINE_NEVER_FITS, why);
}

/* New text becomes ids.  More of them than were asked for are not wanted. */
static bool take_said(struct talk *t)
{
    struct err why = {0};
    if (t->said.len > 0) t->moved = web_clock();
    if (t->said.len > 0 && vocab_encode(t->vocab, NULL, t->said.data, t->said.len, VOCAB_NO_PREFIX, &t->ids, &why))
        fail(t, why.text);
    if (t->said.failed || t->ids.failed) fail(t, "no memory for what it says");
    t->said.len = 0;
    if (t->end == END_NONE && t->ids.n > (size_t)t->max_tokens) t->end = END_LENGTH;
    return t->end == END_NONE;
}

/* Nothing more of the answer is to come. */
static void finish(struct talk *t)
{
    if (!take_said(t)) return;
    if (t->hear.end == HEAR_FAILED) {
        const char *trouble = t->hear.trouble.data ? t->hear.trouble.data : "the answer failed";
        if (hear_is_overflow(trouble)) never_fits(t, trouble);
        else fail(t, trouble);
    }
    if (t->end == END_NONE) t->end = t->hear.end == HEAR_LENGTH ? END_LENGTH : END_STOP;
}

static bool on_bytes(void *self, long status, const char *bytes, size_t n)
{
    struct talk *t = self;
    if (status != 200) {
        buf_put(&t->refusal, bytes, MIN(n, ERROR_BODY - t->refusal.len));
        return t->refusal.len < ERROR_BODY && !t->refusal.failed;
    }
    hear_bytes(&t->hear, bytes, n, &t->said);
    t->bytes += n;
    if (t->bytes > BYTES_FIRST + (uint64_t)t->max_tokens * BYTES_TOKEN) fail(t, "it sends far more than an answer");
    if (t->hear.end != HEAR_OPEN && t->ended_at == 0) t->ended_at = web_clock();
    if (t->hear.end == HEAR_FAILED || (t->hear.end != HEAR_OPEN && t->hear.said_done)) finish(t);
    else take_said(t);
    return t->end == END_NONE || t->end == END_STOP; /* a connection that the server ends too can be used again */
}

/* Another try, unless there were enough. */
static bool again(struct talk *t, int retry_s)
{
    if (t->tries >= TALK_TRIES || t->hear.begun) return false;
    t->again_at = web_clock() + (retry_s >= 0 ? MIN(retry_s, WAIT_MOST_S) : 1 << (t->tries - 1));
    buf_free(&t->refusal);
    return true;
}

static void refused(struct talk *t, long status, int retry_s)
{
    char said[180], why[230];
    const char *body = t->refusal.data ? t->refusal.data : "";
    const bool busy = status == 429 || status == 502 || status == 503 || status == 504;
    const bool too_long = !busy && hear_refuses_length(body, t->refusal.len);
    hear_error(body, t->refusal.len, said, sizeof said);
    if (busy && again(t, retry_s)) return;
    if (!busy && !*t->no_system && hear_wants_no_system(body) && remote_fold_system(&t->body) && again(t, 0)) {
        *t->no_system = true;
        return;
    }
    if (too_long) {
        never_fits(t, said);
        return;
    }
    snprintf(why, sizeof why, "%s (HTTP %ld): %s", busy ? "it is busy" : "it refused the request", status, said);
    fail(t, why);
}

static void on_done(void *self, long status, int retry_s, const char *why)
{
    struct talk *t = self;
    t->over = true;
    if (t->end != END_NONE) return;
    const bool ended = t->hear.end == HEAR_STOP || t->hear.end == HEAR_LENGTH; /* and then the connection broke */
    if (status == 0 && ended) finish(t);
    else if (status == 0 && (retry_s < 0 || !again(t, -1))) fail(t, why);
    if (status != 0 && status != 200) refused(t, status, retry_s);
    if (status != 200) return;
    hear_over(&t->hear, &t->said);
    finish(t);
}

static void try(struct talk *t)
{
    static const struct web_ops ops = {on_bytes, on_done};
    struct err why = {0};
    t->tries++;
    t->again_at = 0;
    t->moved = web_clock();
    t->over = false;
    t->call = web_begin(t->web, "/v1/chat/completions", &t->body, &ops, t, &why);
    if (!t->call) fail(t, why.text);
}

struct talk *talk_begin(struct web *w, const struct vocab *v, struct buf *body, int max_tokens, bool *no_system)
{
    struct talk *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (struct talk){.web = w, .vocab = v, .body = *body, .max_tokens = max_tokens, .no_system = no_system};
    *body = (struct buf){0};
    if (*no_system) remote_fold_system(&t->body);
    try(t);
    return t;
}

void talk_end(struct talk *t)
{
    if (!t) return;
    if (t->call) web_end(t->call);
    hear_free(&t->hear);
    buf_free(&t->body);
    buf_free(&t->said);
    buf_free(&t->refusal);
    ids_free(&t->ids);
    free(t);
}

void talk_look(struct talk *t)
{
    if (t->call && t->over) {
        web_end(t->call);
        t->call = NULL;
    }
    if (t->end == END_NONE && t->ended_at > 0 && web_clock() - t->ended_at > LINGER_S) finish(t);
    if (t->end == END_NONE && t->call && web_clock() - t->moved > SILENT_S) {
        char why[80];
        snprintf(why, sizeof why, "no word of the answer came in %d seconds", SILENT_S);
        fail(t, why);
    }
    if (!t->call && t->again_at > 0 && web_clock() >= t->again_at) try(t);
}

bool talk_next(struct talk *t, int32_t *id)
{
    if (!talk_has_next(t)) return false;
    *id = t->ids.id[t->next++];
    return true;
}
