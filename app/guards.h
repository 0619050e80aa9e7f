/* guards.h - the guards of a conversation, and a run without some of them: --unguarded, for lessons.
 *
 * Each name is a guard that is always on elsewhere; without it the session does what many programs do:
 *
 *     window    the whole history is sent at every turn: nothing is summed up or put out, and there is no limit but
 *               the engine's
 *     clip      results of tools, attached files and hand-overs enter whole, up to CLIP_HOLD_MAX bytes
 *     loop      no limit of an agent's calls and repeats, nor of a crew's steps and rounds.  With window: else a loop
 *               never meets its end
 *     docs      attached files are put, all of them and whole, before the words of every turn, and stay there
 *     share     no prompt begins with pages that are known already: each call pre-fills all of its own.  Of full pages
 *               that turn out to be the same one is kept
 *     silent    a prompt that is too long is cut in front, without a word: the oldest messages first
 *     slice     only the last GUARDS_SLICE messages are sent, whatever they are; all are kept in memory
 *     traces    every prompt that is sent and every result of a tool, whole, is kept in memory to the end
 *     summary   what the model says when it is asked for a summary is one, whatever it says and wherever it ends; only
 *               that it is smaller than what it stands for is still looked at, since the call itself bounds it
 *
 * All of it is real.  What stays: the ceiling of --vram, of which every byte is taken at the start; and --keep-unsaved,
 * here the most that slice, traces and docs together may keep in memory, above which a turn is refused (refused_host).
 * Only on the command line, only with --no-save, and not for a chat at a terminal.  Threads: any; plain data. */
#ifndef GUARDS_H
#define GUARDS_H
#include "plimsoll.h"

enum { GUARDS_SLICE = 8 };

struct guards { /* true: off */
    bool window, clip, loop, docs, share, silent, slice, traces, summary;
};

/* "window,clip" or "window, clip": off they are.  0, or -1: err names what is none, is there twice, goes not alone. */
int guards_read(struct guards *off, const char *list, struct err *err);
bool guards_any(const struct guards *off);
void guards_words(const struct guards *off, struct buf *out); /* "window, clip"; nothing: all are on */
/* back = the nth (from 0) of those that are off, and what does not go without it; off = the rest.  false: there are
 * fewer. */
bool guards_put_back(struct guards *off, int nth, struct guards *back);

/* The window itself has no limit: what is sent is chosen behind it, or not at all. */
static inline bool guards_no_window(const struct guards *off) { return off->window || off->silent || off->slice; }
#endif
