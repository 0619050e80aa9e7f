/* embedded.h - the model that is part of the program: assets/plimsoll-tiny.gguf, for a machine that has no other.
 *
 * It is a tiny demonstration model, trained by assets/model/; the program says so wherever it is used. */
#ifndef EMBEDDED_H
#define EMBEDDED_H
#include "plimsoll.h"

extern const unsigned char embedded_model[], embedded_model_end[]; /* the bytes of the file */

/* A name under which the loader can open those bytes while *fd stays open (an unnamed file in memory; Linux).  The
 * caller closes *fd.  NULL: err says why. */
const char *embedded_open(int *fd, struct err *err);
#endif
