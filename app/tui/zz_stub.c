#include "app/tui/view.h"
#include "app/console.h"
void doc_artifacts(struct console *c, struct doc *d) { (void)c; snprintf(d->error, 200, "none"); }
void doc_text(struct console *c, struct doc *d) { (void)c; snprintf(d->error, 200, "none"); }
const struct view_ops view_timeline, view_artifacts;
