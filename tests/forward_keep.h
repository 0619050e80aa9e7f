/* forward_keep.h - a forward pass without a scheduler, for tests: layers with a window of their own keep every page. */
#ifndef FORWARD_KEEP_H
#define FORWARD_KEEP_H
#include "engine/forward.h"

/* After forward_plan(): so many pages in each group, so that one table does for all. */
void forward_keep_all(struct forward *f, int pages);
#endif
