/* ask.h - a request of the engine as the JSON body of OpenAI's chat API. */
#ifndef REMOTE_ASK_H
#define REMOTE_ASK_H
#include "engine/remote/server.h"

/* The body for this server.  Messages as chat templates take them, of which many refuse a list that does not alternate:
 * system messages at the front become one, a later one and a tool's result (between <tool_response> marks, as Qwen's
 * template writes it) become a user's, and neighbours of one side are one message.  Bytes that are no UTF-8, and NUL,
 * become U+FFFD.  0, or ENGINE_BAD_REQUEST: it has a field that a server cannot be asked for (err names it), or
 * ENGINE_NO_MEMORY. */
int remote_ask(const struct server *s, const struct request *r, struct buf *body, struct err *err);

/* For a model whose template has no system role (Gemma 2, the first Mistrals): the system's text goes to the front of
 * the first question.  false: the body has none, or there is no memory; it is as it was. */
bool remote_fold_system(struct buf *body);
#endif
