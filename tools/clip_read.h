/* clip_read.h - what the two files of clip_read() share. */
#ifndef CLIP_READ_H
#define CLIP_READ_H
#include "tools/clip_impl.h"

/* The best of a drawing; if nothing of it fits, nothing, with figures that say to begin at `begin`. */
void clip_read_end(const struct clip_config *cfg, const struct clip_drawing *d, const struct clip_source *s,
                   uint64_t begin, struct buf *out, struct clip_figures *f);

/* CLIP_BY_TEXT and CLIP_BY_REGEX (clip_pattern.c). */
int clip_read_pattern(const struct clip_config *cfg, const struct clip_source *s, const struct clip_request *r,
                      struct buf *out, struct clip_figures *f, struct err *err);
#endif
