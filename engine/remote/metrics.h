/* metrics.h - Prometheus' text form of a server's figures, a line at a time: `name{label="value",...} number [time]`,
 * comments passed over.  Nothing is believed: what is no such line is passed over too, and a number that is negative or
 * not finite.
 *
 *     for (size_t at = 0; metrics_next(text, n, &at, &m);) ...
 *
 * Source: prometheus.io/docs/instrumenting/exposition_formats.  Threads: pure. */
#ifndef REMOTE_METRICS_H
#define REMOTE_METRICS_H
#include "plimsoll.h"

struct metric { /* name and labels point into the text */
    const char *name, *labels;
    size_t n_name, n_labels; /* labels: what stands between the braces */
    double value;            /* >= 0 */
};

bool metrics_next(const char *text, size_t n, size_t *at, struct metric *out);
bool metric_is(const struct metric *m, const char *name);
/* The value of a label, its escapes undone, as one line without control characters, cut to `room`; false: it has no
 * such label, and out is "". */
bool metric_label(const struct metric *m, const char *label, char *out, size_t room);
#endif
