/* remember_impl.h - what the files of remember share. */
#ifndef REMEMBER_IMPL_H
#define REMEMBER_IMPL_H
#include "memory/remember.h"

/* q->matched, and q->why: the terms that the hit has, and their shares. */
void remember_say_why(const struct recall_result *res, const struct recall_hit *h, struct remember_quote *q);
#endif
