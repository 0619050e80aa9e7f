/* export.h - a session as a text: JSON Lines that import.h reads again, Markdown, or plain.
 *
 * JSON Lines, version 1.  Lines come in this order; every number of a message is greater than the one before:
 *
 *     {"plimsoll_session":1,"id":"0af3..","title":"..","model":"..","created":MS,"updated":MS,"turns":3}
 *                                                         a copy of another has "parent":"77b0..","parent_turn":2 too
 *                          one of a crew's run has "run":{"id":"c51e..","crew":"notes","agent":"ann","members":[
 *                          {"session":"0af3..","agent":"ann"},..]}; agent "": it is the run's own record
 *     {"number":0,"kind":"event","event":{..}}
 *     {"number":2,"kind":"user","turn":1,"time":MS,"text":".."}       what is not UTF-8: "base64" in its place
 *     {"number":7,"kind":"summary","turn":4,"time":MS,"flags":2,"first":2,"last":5,"results":4,"text":".."}
 *     {"number":9,"kind":"result","turn":5,"time":MS,"artifact":1,"bytes":3000000,"text":"the first MiB"}
 *     {"number":9,"offset":1048576,"text":".."}                       a long text goes on, until it has those bytes
 *     {"artifact":1,"offset":0,"bytes":40000,"text":".."}             pieces of at most 16,000 bytes
 *     {"artifact":2,"lost":true}                                      it could not be read when this was written
 *     {"end":{"records":5,"artifacts":2}}                             nothing follows: else it was cut
 *
 * MS: milliseconds since 1970.  flags, first, last, results and artifact are those of struct journal_message; where
 * they are 0 they are left out.  members: the EXPORT_MEMBERS that were used last, with this one.
 *
 * What was taken back, and the marks that say so, are left out unless all is asked for: what a resumed session would
 * have is there (a mark that was itself taken back counts for nothing).  Written as a stream: the
 * memory it takes depends on the largest message (64 MiB), not on the session.  No transaction is open while it is
 * written.  Threads: the store's. */
#ifndef EXPORT_H
#define EXPORT_H
#include "memory/journal.h"

enum {
    EXPORT_VERSION = 1,
    EXPORT_PIECE = 1 << 20,    /* bytes of a text in one line */
    EXPORT_EVENT = 4 << 20,    /* bytes of an event */
    EXPORT_MEMBERS = 256,      /* of a run */
    EXPORT_NUMBERS = 1 << 24   /* numbers of messages, and of artifacts, are below */
};

enum export_format { EXPORT_JSONL, EXPORT_MARKDOWN, EXPORT_TEXT };

struct export_options {
    enum export_format format;
    bool all; /* what was taken back too */
};

struct export_sink {
    bool (*write)(void *self, const char *bytes, size_t n); /* false: no more of it; then the rest is left out */
    void (*missing)(void *self, const char *line);          /* what is damaged, and so not in it: plain ASCII */
    void *self;
};

/* h: of a session that is in the store.  0, or an error of the store's; what is damaged is no error, and told. */
int export_session(struct store *s, const struct journal_head *h, const struct export_options *o,
                   const struct export_sink *sink, struct err *err);
#endif
