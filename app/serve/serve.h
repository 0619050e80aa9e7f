/* serve.h - `plimsoll serve`: programs that speak OpenAI's HTTP API (openai-python, LiteLLM, and with them LangChain,
 * LangGraph, AutoGen, CrewAI), Anthropic's (anthropic-python, ChatAnthropic) or Ollama's (ollama-python,
 * ChatOllama) get a model that cannot run out of memory.
 *
 *     http.* (sockets) -> serve_ask.c (routes, refusals) -> api_* (JSON) -> the engine -> serve_say.c (answers)
 *     serve_cmd.c (flags, the loop: serve what is ready, one pass of the engine, by turns)   serve_figures.c (metrics)
 *
 * A request is admitted only if it can finish; it waits in the engine's queue; or it is refused with what its client
 * can act on: 400 and context_length_exceeded (trim), 429 and server_busy with Retry-After (wait), 400 and the field's
 * name (mend).  Nothing is cut short silently.  A client that leaves frees its memory within one step of the engine.
 *
 * One thread.  Nothing of what is asked is saved. */
#ifndef SERVE_H
#define SERVE_H
#include "app/app.h"

enum { SERVE_PORT = 8080 };

int serve_run(struct app *a); /* the exit status */
void serve_help(struct buf *out);
/* The command line of `plimsoll serve ...`, argv[1] being "serve": as opts_parse(). */
int serve_opts(struct opts *o, int argc, char *const *argv, struct err *err);
#endif
