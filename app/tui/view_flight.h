/* view_flight.h - the doc of the Post-mortem view is what postmortem.h reads: a struct doc_flight. */
#ifndef VIEW_FLIGHT_H
#define VIEW_FLIGHT_H
#include "app/learn/postmortem.h"
#endif
