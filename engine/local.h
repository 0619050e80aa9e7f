/* local.h - what engine_local's open() would take, known from a model file's header: the same code, up to where it
 * would take the first byte.
 *
 *     local_plan(&config, 24ull << 30, 0, look, &mine, &err)   // as if 24 GiB were free where weights and pages go
 *
 * Threads: any. */
#ifndef LOCAL_H
#define LOCAL_H
#include "engine/engine.h"
#include "engine/fit.h"

/* The figures, while they last: what info() would say but identity, page_bytes, kernels and the device's words; fit, to
 * ask for other sizes; have: bytes that may be taken.  The ledger may be over its ceiling (info->ledger.ceiling): that
 * is open()'s to refuse.  What it returns is local_plan()'s result. */
typedef int local_planned(void *self, const struct engine_info *info, const struct fit *fit, uint64_t have,
                          struct err *err);

/* have 0: what is free here; a device that is asked for that is opened, and closed again.  So is one that auto chose,
 * since the CPU is planned where none can serve.  Else context is what opening such a device would have taken; of the
 * CPU nothing.  No weights are read, and cfg->fits and cfg->progress are not used.  0, or an enum engine_error: what
 * open() would refuse but for want of memory. */
int local_plan(const struct engine_config *cfg, uint64_t have, uint64_t context, local_planned *then, void *self,
               struct err *err);
#endif
