/* view_artifacts.h - the doc of the Artifacts view: what a session keeps whole, the newest first.
 *
 * Texts are of tools and models: the surface filters them. */
#ifndef VIEW_ARTIFACTS_H
#define VIEW_ARTIFACTS_H
#include "plimsoll.h"

enum { ARTIFACTS_MOST = 1000, ARTIFACTS_TOOL = 24, ARTIFACTS_ABOUT = 200 };

struct artifacts_row {
    uint64_t id;
    char tool[ARTIFACTS_TOOL];   /* whose result it is; "document": no tool's */
    char about[ARTIFACTS_ABOUT]; /* "pattern=alloc path=build/night.log"; of a document its path */
    uint64_t bytes;
    bool damaged;                /* its size could not be read */
    int64_t tokens;              /* that the model sees of it; -1: not told */
    uint32_t turn;               /* 0: before the first */
    int64_t time_ms;             /* since 1970 */
};

struct doc_artifacts {
    struct artifacts_row *row; /* (rows) */
    int rows;
    uint64_t left_out;         /* older ones */
    char agent[40];            /* whose session it is; "": the only one */
    int64_t now_ms;
};
#endif
