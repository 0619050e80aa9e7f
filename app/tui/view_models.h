/* view_models.h - DOC_MODELS: the data is a struct models of models.h, judged by the memory that there is when this
 * session has ended. */
#ifndef VIEW_MODELS_H
#define VIEW_MODELS_H
#include "app/models.h"
#include "app/tui/doc.h"

/* Runs `program models --json` for at most two seconds and takes what it says; within 0: as that finds.  A process of
 * its own, and not forked off this one, whose pages would be there twice for as long as it lives. */
enum { DOC_MODELS_MS = 2000 };
void doc_models_from(const char *program, uint64_t within, struct doc *d); /* doc_models.c */
/* What doc_models() starts: this program.  Tests put another in its place. */
extern const char *doc_models_program;
#endif
