/* recall_scan.h - the search of recall.h over texts that are in memory: without an index, so without a store.
 *
 *     question ── open ──> chunk after chunk ── add ──> end ──> the hits that an index of the same chunks would give,
 *                                                               by the same terms with the same scores
 *
 * A chunk is read once, as it is added; for each that has a term of the question about 100 bytes are kept, and no text.
 * Time is that of folding all of it.  Owner: the caller; nothing that is given is kept.  Threads: any, one at a time.
 */
#ifndef RECALL_SCAN_H
#define RECALL_SCAN_H
#include "memory/recall.h"

struct recall_scan;

struct recall_scan *recall_scan_open(const void *question, size_t n, struct err *err); /* NULL: no memory */
void recall_scan_close(struct recall_scan *s);                                          /* NULL is fine */

/* At most RECALL_CHUNK bytes of text: recall_chunk().  0, or STORE_NO_MEMORY, STORE_TOO_BIG. */
int recall_scan_add(struct recall_scan *s, const struct recall_doc *doc, const void *text, size_t n, struct err *err);

/* The best k of what was added, k between 1 and RECALL_K; once.  out as by recall_search(), never damaged. */
void recall_scan_end(struct recall_scan *s, int k, struct recall_result *out);

/* As recall_window(). */
void recall_scan_window(struct recall_scan *s, const struct recall_result *res, const void *text, size_t n, size_t most,
                        size_t *at, size_t *len);
#endif
