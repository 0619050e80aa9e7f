/* load.h - what a server tells of its own load, by the names that each of them has for it: vLLM, SGLang, llama-server
 * (with --metrics), TGI and plimsoll serve in Prometheus' text form, Ollama in /api/ps.
 *
 * Of several engines or workers in one text requests, tokens and bytes are added up; of shares the largest counts.
 * Threads: pure. */
#ifndef REMOTE_LOAD_H
#define REMOTE_LOAD_H
#include "engine/ledger.h"
#include "engine/remote/server.h"

/* Counters since the server's start; seconds for LOAD_FIRST_S. */
enum load_count {
    LOAD_LOST,      /* requests that lost their KV pages, to make room: preempted, retracted, parked */
    LOAD_PROMPT,    /* tokens of prompts */
    LOAD_GENERATED, /* tokens of answers */
    LOAD_ASKED,     /* tokens of prompts that were looked up in the prefix cache ... */
    LOAD_HITS,      /* ... and were in it */
    LOAD_FIRST_S,   /* to first tokens, of all requests together ... */
    LOAD_FIRST_N,   /* ... of which there were so many */
    LOAD_COUNTS
};
enum load_tokens { LOAD_POOL, LOAD_RESERVED, LOAD_FILLED, LOAD_CACHED, LOAD_TOKENS };

/* What it does not tell is -1, or "". */
struct load {
    enum server_kind kind; /* SERVER_OTHER: no name in it is known */
    char model[160];
    int64_t kv_permille, running, waiting;
    double count[LOAD_COUNTS];
    int64_t tokens[LOAD_TOKENS];    /* of its KV pool (plimsoll serve; SGLang's LOAD_POOL) */
    int64_t bytes[LEDGER_CLASSES];  /* by what they are for (plimsoll serve) */
    int64_t ceiling;                /* that their sum cannot pass */
    int64_t model_bytes, model_device_bytes; /* Ollama: of the models it has loaded, and on devices of these */
};

void load_read(const char *text, size_t n, struct load *out);
/* Of Ollama's /api/ps.  0; -1: it is no such list, and out is as of a text without a known name. */
int load_read_ollama(const char *json, size_t n, struct load *out);
#endif
