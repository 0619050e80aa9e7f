/* about.h - what this program is: version, compiler, libraries, machine. */
#ifndef ABOUT_H
#define ABOUT_H
#include "plimsoll.h"

void about(struct buf *out); /* the text of --version */
#endif
