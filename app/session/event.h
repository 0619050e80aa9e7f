/* event.h - the one list of things that happen in a session.
 *
 * EVENT_TABLE below makes the enum, a struct for each kind, the JSON Lines that --json and --trace write, the reader
 * that checks them, and the text of --help-events.  Faces only consume events; a new one is a list of fields and a
 * line in the table.
 *
 *     {"schema_version":1,"seq":7,"time":0.512,"event":"turn_end","turn":1,"end":"stop",...}
 *
 * Class: DURABLE is worth keeping for ever, a dozen a turn; LIVE may be joined for a slow reader; SAMPLE is a figure
 * at a moment, at most ten a second.  VOLATILE marks fields that two runs of the same session may differ in (times,
 * rates, what a device takes); so are `time` everywhere and whether and when a SAMPLE comes.
 *
 * Who: in a session of several agents every event says which of them it is about ("agent"); where there is one, or it
 * is about the program, the field is not there.  Of a map each copy has a name of its own: NAME/ASK.
 *
 * Strings are bytes with a length.  Written, what is not UTF-8 becomes U+FFFD; NUL and controls are escaped.
 * Owner: an event to be written borrows its strings; one that was read owns them until event_free(). */
#ifndef EVENT_H
#define EVENT_H
#include "plimsoll.h"

enum { EVENT_SCHEMA = 1, EVENT_MAX_LINE = 128 << 20 };

struct event_str {
    const char *data;
    size_t len;
};

/* So many bytes of it at most, and not through a character: for "%.*s". */
static inline int event_part(struct event_str s, size_t most)
{
    size_t n = MIN(s.len, most), back = 0;
    while (back < 4 && back < n && n < s.len && ((unsigned char)s.data[n - back] & 0xc0) == 0x80) back++;
    return (int)(back < 4 ? n - back : n); /* four in a row are no character's */
}

static inline struct event_str event_str(const char *s) { return (struct event_str){s, strlen(s)}; }

/* NEWER: the same as VOLATILE, and streams from before it was in the table are read without it. */
enum { STABLE, VOLATILE, NEWER = 3 };

/* ---------------------------------------------------------------- fields: F(S, type, name, mark, "what it says") */

#define EVENT_SESSION_OPEN(F, S)                                                                          \
    F(S, STR, version, STABLE, "of plimsoll")                                                             \
    F(S, STR, engine, STABLE, "local or scripted")                                                        \
    F(S, STR, file, STABLE, "the model file as it was given")                                             \
    F(S, STR, model, STABLE, "the name inside the file")                                                  \
    F(S, STR, arch, STABLE, "architecture")                                                               \
    F(S, STR, types, STABLE, "tensor types and how many of each")                                         \
    F(S, STR, template, STABLE, "how turns are written")                                                  \
    F(S, INT, parameters, STABLE, "of the model")                                                         \
    F(S, INT, vocab, STABLE, "tokens in the vocabulary")                                                  \
    F(S, INT, ctx, STABLE, "tokens that the conversation may hold")                                       \
    F(S, INT, seed, STABLE, "of sampling; turn t uses seed + t - 1")                                      \
    F(S, REAL, temperature, STABLE, "0: always the likeliest token")                                      \
    F(S, STR, backend, VOLATILE, "the device in words")                                                   \
    F(S, STR, kernels, VOLATILE, "what multiplies which tensor type")                                     \
    F(S, STR, mode, NEWER, "exact: an answer has the same bits in any company; fast: it may not")

#define EVENT_TURN_USER(F, S)                                                                             \
    F(S, INT, turn, STABLE, "1, 2, ...")                                                                  \
    F(S, STR, text, STABLE, "what the user said")

#define EVENT_TURN_START(F, S)                                                                            \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, INT, call, STABLE, "of the model in this turn: 1, and more where it used tools")                 \
    F(S, INT, prompt_tokens, STABLE, "the conversation so far with this turn")                            \
    F(S, INT, shared_tokens, STABLE, "of them, those that need no pre-fill")                              \
    F(S, INT, max_tokens, STABLE, "most tokens of the answer")                                            \
    F(S, INT, reserved_tokens, STABLE, "prompt_tokens + max_tokens: what this turn may hold at most")

#define EVENT_PREFILL(F, S)                                                                               \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, INT, done, STABLE, "prompt tokens that the model has read")                                      \
    F(S, INT, of, STABLE, "prompt tokens in all")

#define EVENT_TEXT(F, S)                                                                                  \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, text, STABLE, "what the answer grew by")

#define EVENT_TOKEN(F, S)                                                                                 \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, INT, index, STABLE, "0, 1, ...")                                                                 \
    F(S, INT, id, STABLE, "in the vocabulary")                                                            \
    F(S, STR, text, STABLE, "its bytes, or its spelling if it stands for no text")                        \
    F(S, REAL, logprob, STABLE, "natural logarithm of its probability, before any sampling rule")

#define EVENT_PARKED(F, S)                                                                                \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, change, STABLE, "parked: others need its pages, or /park said so; or resumed")      \
    F(S, INT, tokens, STABLE, "generated so far; behind a turn (/park): that left the pool")

#define EVENT_TURN_END(F, S)                                                                              \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, INT, call, STABLE, "as in turn_start; a tool event of this turn after it: the turn goes on")     \
    F(S, STR, end, STABLE, "stop, length, cancelled, no_token, fault or out_of_memory (--naive)")         \
    F(S, STR, termination_reason, STABLE, "completed, cancelled, input_error, out_of_memory or internal") \
    F(S, STR, text, STABLE, "the whole answer")                                                           \
    F(S, INT, prompt_tokens, STABLE, "")                                                                  \
    F(S, INT, tokens, STABLE, "generated")                                                                \
    F(S, REAL, first_token_s, VOLATILE, "seconds from the request to its first token")                    \
    F(S, REAL, total_s, VOLATILE, "seconds from the request to its end")                                  \
    F(S, REAL, prefill_rate, VOLATILE, "prompt tokens a second; null: unknown")                           \
    F(S, REAL, decode_rate, VOLATILE, "tokens a second after the first; null: unknown")                   \
    F(S, REAL, cancel_s, VOLATILE, "seconds from the signal until its memory was free; null: not cancelled")

#define EVENT_OOM(F, S)                                                                                   \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, policy, STABLE, "of memory, that failed: reserve, no-limit, first-fit, f32, reload, whole-batch") \
    F(S, STR, what, STABLE, "it was wanted for: KV pool, weights, activations")                           \
    F(S, INT, request, STABLE, "the engine's number of it: 1, 2, ...")                                    \
    F(S, INT, page, STABLE, "KV: which page of its sequence was wanted first")                            \
    F(S, INT, wanted_bytes, STABLE, "")                                                                   \
    F(S, INT, size_bytes, STABLE, "of the KV pool, or, for anything else, of all under the ceiling")      \
    F(S, INT, free_bytes, STABLE, "of that, in all")                                                      \
    F(S, INT, hole_bytes, STABLE, "of that, in one piece: the largest")                                   \
    F(S, INT, owners, STABLE, "who held the rest; of KV and of a request's own: requests")                \
    F(S, INT, largest_bytes, STABLE, "that one of them held, at most")

#define EVENT_SHORTAGE(F, S)                                                                              \
    F(S, INT, turn, STABLE, "as in the refusal")                                                          \
    F(S, STR, reason, STABLE, "what is too small: context, turn (the room for the user's words), pool, requests " \
      "(the room for their texts), queue, host, or open (the ceiling, at start)")                         \
    F(S, INT, needs_tokens, STABLE, "0, as all below: not about that")                                    \
    F(S, INT, has_tokens, STABLE, "that there is room for")                                               \
    F(S, INT, prompt_tokens, STABLE, "")                                                                  \
    F(S, INT, answer_tokens, STABLE, "that were asked for")                                               \
    F(S, INT, needs_bytes, STABLE, "")                                                                    \
    F(S, INT, has_bytes, STABLE, "")                                                                      \
    F(S, INT, weight_bytes, STABLE, "open: of needs_bytes")                                               \
    F(S, INT, kv_bytes, STABLE, "open: of needs_bytes")                                                   \
    F(S, INT, work_bytes, STABLE, "open: of needs_bytes")

#define EVENT_REFUSAL(F, S)                                                                               \
    F(S, INT, turn, STABLE, "the number that the turn would have had")                                    \
    F(S, STR, termination_reason, STABLE, "refused_kv, refused_host, refused_store, input_error or internal") \
    F(S, STR, text, STABLE, "the figures, in words")

#define EVENT_CONTEXT(F, S)                                                                               \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, change, STABLE,                                                                             \
      "left, stood_in, dropped, summary_left, compacted, extracted, undone, in_vain, front_changed, "     \
      "thinking_closed, refused, gone (what --keep-unsaved had no room for), or clipped (data on stdin, " \
      "or what was handed over)")                                                                         \
    F(S, STR, what, STABLE, "the messages, by the name that a reader asks for: m12 or m12-57; or nothing. " \
      "clipped: the artifact with the whole; nothing: the rest is not kept")                              \
    F(S, INT, messages, STABLE, "how many of them")                                                       \
    F(S, INT, tokens, STABLE, "that they had in the context, or that were freed")                         \
    F(S, INT, times, STABLE, "more than 1: so many of the kind in one")

#define EVENT_SUMMARY(F, S)                                                                               \
    F(S, INT, turn, STABLE, "of the user's turn that it came before")                                     \
    F(S, STR, by, STABLE, "model, extract (the model's was of no use), or nobody: nothing was summed up") \
    F(S, STR, reason, STABLE, "why it is no summary of the model's; or nothing")                          \
    F(S, STR, what, STABLE, "the messages that it stands for: m2-m41")                                    \
    F(S, INT, prompt_tokens, STABLE, "of the exchange")                                                   \
    F(S, INT, prefill_tokens, STABLE, "of them, those that were expected to need pre-fill")               \
    F(S, INT, tokens, STABLE, "of the summary")                                                           \
    F(S, INT, items, STABLE, "in it")                                                                     \
    F(S, INT, dropped, STABLE, "items of the summary before that found no room")                          \
    F(S, STR, text, STABLE, "the summary")

#define EVENT_CALL(F, S)                                                                                  \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, name, STABLE, "of the tool")                                                                \
    F(S, STR, arguments, STABLE, "a JSON object")

#define EVENT_TOOL(F, S)                                                                                  \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, by, STABLE, "model, user, or plimsoll: found unasked, by recall")                           \
    F(S, STR, name, STABLE, "of the tool")                                                                \
    F(S, STR, arguments, STABLE, "a JSON object")                                                         \
    F(S, BOOL, failed, STABLE, "the result is an error's text")                                           \
    F(S, STR, artifact, STABLE, "where the whole result is, if it was clipped: a3; or nothing")           \
    F(S, INT, bytes, STABLE, "of the whole result")                                                       \
    F(S, INT, tokens, STABLE, "of what the model sees of it")                                             \
    F(S, INT, left_out, NEWER, "bytes of it that the model does not see; without an artifact they are not kept") \
    F(S, STR, text, STABLE, "that")

#define EVENT_STOPPED(F, S)                                                                               \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, STR, reason, STABLE, "rounds, repeats, no_progress or failures: the limit that it met")           \
    F(S, INT, calls, STABLE, "of tools in this turn; the one that was wanted was not made")               \
    F(S, STR, name, STABLE, "of the tool that was wanted")                                                \
    F(S, STR, arguments, STABLE, "of that")                                                               \
    F(S, INT, more, NEWER, "calls behind it in the same answer, of which none was made")

#define EVENT_FLOW(F, S)                                                                                  \
    F(S, STR, flow, STABLE, "the kind: single, round_robin, selector, sequential, supervisor, map, ...")  \
    F(S, STR, change, STABLE, "asked, again (after it failed); or how it ended: done, steps, no_progress, " \
      "failed, cancelled")                                                                                \
    F(S, INT, ask, STABLE, "1, 2, ... in this run of the flow; 0: it ended")                              \
    F(S, STR, to, STABLE, "the agent that is asked; of a map, whose copies answer at once, NAME/ASK")     \
    F(S, INT, parts, STABLE, "what others said, handed over with it")                                     \
    F(S, INT, tokens, STABLE, "of them")                                                                  \
    F(S, STR, why, STABLE, "it ended, in words")

#define EVENT_SAVED(F, S)                                                                                 \
    F(S, INT, turn, STABLE, "")                                                                           \
    F(S, INT, records, STABLE, "messages and events")                                                     \
    F(S, INT, bytes, VOLATILE, "of records, as stored")                                                   \
    F(S, REAL, seconds, VOLATILE, "until they were durable")

#define EVENT_RESUMED(F, S)                                                                               \
    F(S, STR, session, VOLATILE, "its id")                                                                \
    F(S, STR, title, STABLE, "")                                                                          \
    F(S, INT, turns, STABLE, "that it has")                                                               \
    F(S, INT, tokens, STABLE, "in its context")                                                           \
    F(S, STR, parent, VOLATILE, "the session that it was forked from; or nothing")

#define EVENT_UNDONE(F, S)                                                                                \
    F(S, INT, turn, STABLE, "that was taken back")                                                        \
    F(S, STR, what, STABLE, "its messages: m41-m44")

#define EVENT_CARRIES(F, S)                                                                               \
    F(S, INT, turn, STABLE, "turns so far")                                                               \
    F(S, INT, ctx, STABLE, "tokens of the agent's context")                                               \
    F(S, INT, system_tokens, STABLE, "of the next call: system message and tools")                        \
    F(S, INT, pinned_tokens, STABLE, "pins and tasks")                                                    \
    F(S, INT, summary_tokens, STABLE, "")                                                                 \
    F(S, INT, history_tokens, STABLE, "with the line for what left")                                      \
    F(S, INT, tool_tokens, STABLE, "results of tools")                                                    \
    F(S, INT, reserve_tokens, STABLE, "set aside for what is written")                                    \
    F(S, INT, high_tokens, STABLE, "of the first five together, above which the oldest are summed up")    \
    F(S, INT, frees_tokens, STABLE, "that a compaction would free now")                                   \
    F(S, INT, answer_tokens, STABLE, "that an answer may have; 0: what the context leaves")               \
    F(S, INT, rounds, STABLE, "calls of tools that a turn may have")

#define EVENT_UNGUARDED(F, S)                                                                             \
    F(S, INT, turn, STABLE, "turns so far")                                                               \
    F(S, STR, off, STABLE, "the guards that are off: window, clip, ...; or nothing")                      \
    F(S, INT, answers, STABLE, "tokens that every answer has; 0: as many as the model likes")             \
    F(S, INT, host_bytes, STABLE, "texts, documents and traces that this session keeps in memory")        \
    F(S, INT, host_limit_bytes, STABLE, "that those of slice, traces and docs may have: above, a turn is refused")

#define EVENT_MEMORY(F, S)                                                                                \
    F(S, INT, pool_tokens, STABLE, "tokens that the KV pool can hold")                                    \
    F(S, INT, reserved_tokens, STABLE, "promised to admitted requests")                                   \
    F(S, INT, filled_tokens, STABLE, "holding tokens")                                                    \
    F(S, INT, shared_tokens, STABLE, "in pages that two or more requests hold")                           \
    F(S, INT, cached_tokens, STABLE, "in pages that nobody holds, kept for prompts that begin so")        \
    F(S, INT, running, STABLE, "requests")                                                                \
    F(S, INT, waiting, STABLE, "requests")                                                                \
    F(S, INT, parked, STABLE, "requests whose pages others needed (--overcommit)")                        \
    F(S, INT, text_bytes, VOLATILE, "host memory for requests and their answers")                         \
    F(S, INT, text_used_bytes, VOLATILE, "of it, by requests that are not forgotten yet")                 \
    F(S, INT, weight_bytes, VOLATILE, "on the device")                                                    \
    F(S, INT, kv_bytes, VOLATILE, "on the device")                                                        \
    F(S, INT, work_bytes, VOLATILE, "on the device")                                                      \
    F(S, INT, ceiling_bytes, VOLATILE, "that all of it may take; 0: this engine takes none")

#define EVENT_HOLDING(F, S)                                                                               \
    F(S, STR, owner, STABLE, "the agent; nothing: the only one")                                          \
    F(S, INT, running, STABLE, "requests")                                                                \
    F(S, INT, waiting, STABLE, "requests")                                                                \
    F(S, INT, parked, STABLE, "requests")                                                                 \
    F(S, INT, system_tokens, STABLE, "in pages that its requests hold alone")                             \
    F(S, INT, summary_tokens, STABLE, "")                                                                 \
    F(S, INT, history_tokens, STABLE, "")                                                                 \
    F(S, INT, tool_tokens, STABLE, "")                                                                    \
    F(S, INT, answer_tokens, STABLE, "")                                                                  \
    F(S, INT, shared_tokens, STABLE, "that it reads in pages which others hold too")                      \
    F(S, INT, pages, VOLATILE, "that the first five fill, at least")                                      \
    F(S, INT, kv_bytes, VOLATILE, "of those")

#define EVENT_MACHINE(F, S)                                                                               \
    F(S, STR, backend, VOLATILE, "cpu: the ceiling is a budget within the machine's memory; else a device's own") \
    F(S, INT, page_tokens, STABLE, "tokens of a KV page")                                                 \
    F(S, INT, token_bytes, STABLE, "of the KV pool, of one token")                                        \
    F(S, INT, table_bytes, VOLATILE, "under the ceiling beside weights, KV pool and work")                \
    F(S, INT, total_bytes, VOLATILE, "that the device (or the machine) has; 0: the system does not say")  \
    F(S, INT, ours_bytes, VOLATILE, "of them")                                                            \
    F(S, INT, context_bytes, VOLATILE, "that the driver takes")                                           \
    F(S, INT, outside_bytes, VOLATILE, "of others; under 0: so much that is ours is not taken yet")       \
    F(S, INT, free_bytes, VOLATILE, "")                                                                   \
    F(S, INT, parked_bytes, VOLATILE, "of pages that were put aside")                                     \
    F(S, INT, prefilled, VOLATILE, "tokens since the engine was opened")                                  \
    F(S, INT, generated, VOLATILE, "")                                                                    \
    F(S, INT, reused, VOLATILE, "of prompts, that needed no pre-fill")                                    \
    F(S, STR, queue_first, VOLATILE, "the agent whose request waits; nothing: none, or the only agent")   \
    F(S, INT, queue_pages, VOLATILE, "that it needs")                                                     \
    F(S, INT, gpu_load, VOLATILE, "percent; -1: nobody says")                                             \
    F(S, INT, gpu_celsius, VOLATILE, "")                                                                  \
    F(S, INT, gpu_watts, VOLATILE, "")                                                                    \
    F(S, INT, resident_bytes, NEWER, "of this process, as the system counts (VmRSS); 0: it does not say") \
    F(S, INT, anonymous_bytes, NEWER, "of them, in no file (RssAnon): ledger_bytes, where touched, heap, stacks") \
    F(S, INT, peak_bytes, NEWER, "the most that were resident (VmHWM)")                                   \
    F(S, INT, ledger_bytes, NEWER, "that the ledger counts in this process: all of it, or the host's classes") \
    F(S, INT, drafted, NEWER, "tokens that were tried beside a next one (--draft)")                       \
    F(S, INT, drafts_right, NEWER, "of them those that were chosen: they needed no pass of their own")

#define EVENT_NAIVE(F, S)                                                                                 \
    F(S, STR, policy, STABLE, "of memory, in force")                                                      \
    F(S, INT, size_bytes, VOLATILE, "of the KV pool, or of all under the ceiling where it is about other memory") \
    F(S, INT, taken_bytes, VOLATILE, "of that")                                                           \
    F(S, INT, filled_bytes, VOLATILE, "of those: that hold something")                                    \
    F(S, INT, hole_bytes, VOLATILE, "the largest piece that is free")

#define EVENT_SERVER(F, S)                                                                                \
    F(S, INT, kv_permille, VOLATILE, "of its KV pool, in use; -1, here and below: it does not say")       \
    F(S, INT, running, VOLATILE, "requests, of all of its clients")                                       \
    F(S, INT, waiting, VOLATILE, "")                                                                      \
    F(S, INT, preempted, VOLATILE, "requests that it took back to make room, since it was started")

#define EVENT_ERROR(F, S)                                                                                 \
    F(S, STR, where, STABLE, "open, turn, input, output, store or trace")                                 \
    F(S, STR, text, STABLE, "one line for a person")

#define EVENT_SESSION_CLOSE(F, S)                                                                         \
    F(S, INT, turns, STABLE, "that were answered")                                                        \
    F(S, INT, exit_code, STABLE, "of the program")                                                        \
    F(S, STR, termination_reason, STABLE,                                                                 \
      "completed, cancelled, refused_weights, refused_kv, refused_host, refused_store, input_error, "     \
      "tool_error, unmet (what a script expects) or internal")

/* ---------------------------------------------------------------- kinds: E(kind, name, class, fields, "what
 * happened") */

#define EVENT_TABLE(E)                                                                                    \
    E(EV_SESSION_OPEN, session_open, DURABLE, EVENT_SESSION_OPEN, "an engine was opened")                 \
    E(EV_TURN_USER, turn_user, DURABLE, EVENT_TURN_USER, "a user's turn was admitted")                    \
    E(EV_TURN_START, turn_start, DURABLE, EVENT_TURN_START, "its answer was begun")                       \
    E(EV_PREFILL, prefill, LIVE, EVENT_PREFILL, "the model read a part of the prompt")                    \
    E(EV_TEXT, text, LIVE, EVENT_TEXT, "the answer grew")                                                 \
    E(EV_TOKEN, token, LIVE, EVENT_TOKEN, "a token was chosen (only in --trace)")                         \
    E(EV_PARKED, parked, LIVE, EVENT_PARKED, "a turn was put aside (--overcommit), or goes on; or /park") \
    E(EV_TURN_END, turn_end, DURABLE, EVENT_TURN_END, "the answer ended")                                 \
    E(EV_OOM, oom, DURABLE, EVENT_OOM, "a memory policy failed (--naive); the error and turn_end of that turn follow") \
    E(EV_SHORTAGE, shortage, DURABLE, EVENT_SHORTAGE, "what the refusal that follows is about, in figures") \
    E(EV_REFUSAL, refusal, DURABLE, EVENT_REFUSAL, "a turn was refused; the conversation is as before")   \
    E(EV_CONTEXT, context, DURABLE, EVENT_CONTEXT, "what a call carries has changed")                     \
    E(EV_SUMMARY, summary, DURABLE, EVENT_SUMMARY, "messages were summed up, or could not be")            \
    E(EV_CALL, call, LIVE, EVENT_CALL, "a tool is called")                                                \
    E(EV_TOOL, tool, DURABLE, EVENT_TOOL, "a tool gave a result")                                         \
    E(EV_STOPPED, stopped, DURABLE, EVENT_STOPPED, "an agent went in circles, and its turn was ended")    \
    E(EV_FLOW, flow, DURABLE, EVENT_FLOW, "a crew's flow asked an agent, or ended")                       \
    E(EV_SAVED, saved, LIVE, EVENT_SAVED, "a turn is durable: acknowledged by the store")                 \
    E(EV_RESUMED, resumed, DURABLE, EVENT_RESUMED, "a saved session goes on")                             \
    E(EV_UNDONE, undone, DURABLE, EVENT_UNDONE, "a turn was taken back; its messages stay in the store")  \
    E(EV_CARRIES, carries, LIVE, EVENT_CARRIES, "what an agent's next call would carry has changed")      \
    E(EV_UNGUARDED, unguarded, LIVE, EVENT_UNGUARDED, "a call is made without some guards (--unguarded, --answers)") \
    E(EV_MEMORY, memory, SAMPLE, EVENT_MEMORY, "the engine's memory at this moment, and as the program leaves") \
    E(EV_HOLDING, holding, SAMPLE, EVENT_HOLDING, "what an agent's requests hold of it, behind each memory event") \
    E(EV_MACHINE, machine, SAMPLE, EVENT_MACHINE, "the device and the engine's totals, behind each memory event") \
    E(EV_SERVER, server, SAMPLE, EVENT_SERVER, "what the server of --remote says of itself, behind each memory event") \
    E(EV_NAIVE, naive, SAMPLE, EVENT_NAIVE, "what a policy of --naive has given, behind each memory event") \
    E(EV_ERROR, error, DURABLE, EVENT_ERROR, "something failed")                                          \
    E(EV_SESSION_CLOSE, session_close, DURABLE, EVENT_SESSION_CLOSE, "the program leaves")

/* ---------------------------------------------------------------- what the table makes */

#define EVENT_ENUM_(kind, name, class, fields, doc) kind,
enum event_kind { EVENT_TABLE(EVENT_ENUM_) EVENT_KINDS };
#undef EVENT_ENUM_

enum event_class { EVENT_DURABLE, EVENT_LIVE, EVENT_SAMPLE };
enum event_type { EVENT_INT, EVENT_REAL, EVENT_STR, EVENT_BOOL };

#define EVENT_C_INT int64_t
#define EVENT_C_REAL double /* 15 digits in JSON; not finite: null there, and NaN when read */
#define EVENT_C_STR struct event_str
#define EVENT_C_BOOL bool
#define EVENT_MEMBER_(S, type, name, mark, doc) EVENT_C_##type name;
#define EVENT_STRUCT_(kind, name, class, fields, doc) struct event_##name { fields(EVENT_MEMBER_, name) };
EVENT_TABLE(EVENT_STRUCT_)

struct event {
    enum event_kind kind;
    int64_t seq; /* of this stream: 1, 2, ... */
    double time; /* seconds since the stream began; volatile */
    struct event_str agent; /* empty: the only one, or nobody */
#define EVENT_UNION_(kind, name, class, fields, doc) struct event_##name name;
    union {
        EVENT_TABLE(EVENT_UNION_)
    };
#undef EVENT_UNION_
    void *owner; /* of the strings, for event_free(); NULL: borrowed */
};
#undef EVENT_STRUCT_
#undef EVENT_MEMBER_

struct event_field {
    const char *name, *doc;
    enum event_type type;
    bool is_volatile, is_newer;
    size_t at; /* in struct event */
};

struct event_info {
    const char *name, *doc;
    enum event_class class;
    const struct event_field *fields;
    size_t n_fields;
};
const struct event_info *event_info(enum event_kind kind);

/* Append the event as one JSON line with its newline.  0, or -1: no memory (out is as it was). */
int event_write(const struct event *e, struct buf *out);

/* One line back into an event.  Every field that is not newer must be there with its type, and none that the table
 * does not know.
 * 0, or -1: err names what is wrong, and *e owns nothing. */
int event_read(const char *line, size_t n, struct event *e, struct err *err);
void event_free(struct event *e);

void event_doc(struct buf *out); /* the text of --help-events */
#endif
