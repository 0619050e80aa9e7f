/* vocab.h - the tokenizer that a GGUF file describes: text to token ids and back.
 *
 * Two kinds: SPM ("llama": scores, byte tokens, U+2581 for space) and byte-level BPE ("gpt2": ranked merges after a
 * pre-tokenizer's cut).  The pre-tokenizer families are a table of PCRE2 patterns; a `tokenizer.ggml.pre` that is not
 * in it is an error, since a guess would cut text slightly wrong, for ever and silently.
 *
 * Special tokens are parsed only where the caller says so (VOCAB_SPECIAL): in text that a template made, never in what
 * a user, a tool or a file said: there `<|im_end|>` is ten plain characters.
 *
 * Owner: the handle copies what it needs; the gguf may be closed after.  Threads: encode and piece are pure; any number
 * at once, each with a scratch of its own. */
#ifndef VOCAB_H
#define VOCAB_H
#include "engine/gguf.h"
#include "plimsoll.h"

struct vocab;

enum vocab_kind { VOCAB_SPM, VOCAB_BPE };
enum vocab_attr {
    VOCAB_NORMAL = 1, VOCAB_UNKNOWN = 2, VOCAB_CONTROL = 3, VOCAB_USER_DEFINED = 4, VOCAB_UNUSED = 5, VOCAB_BYTE = 6
};

/* NULL: err names the key (tokenizer.ggml.model, .pre, .tokens, ...), what was found and what is known. */
struct vocab *vocab_open(const struct gguf *g, struct err *err);
void vocab_close(struct vocab *v);

enum vocab_kind vocab_kind(const struct vocab *v);
const char *vocab_pre(const struct vocab *v); /* "llama-bpe", ...; "" for SPM */
int vocab_size(const struct vocab *v);        /* ids are 0 .. size - 1 */
int32_t vocab_bos(const struct vocab *v);     /* -1: none */
int32_t vocab_eos(const struct vocab *v);
/* whether a text starts with bos (the file's word, else the kind's custom) */
bool vocab_adds_bos(const struct vocab *v);
bool vocab_adds_eos(const struct vocab *v); /* whether a whole text ends with eos: models that make vectors of texts */
enum vocab_attr vocab_attr(const struct vocab *v, int32_t id);
bool vocab_is_end(const struct vocab *v, int32_t id); /* eos, eot, eom and what the known families end a turn with */
/* the token of exactly this spelling; -1: none */
int32_t vocab_find(const struct vocab *v, const char *text, size_t n);

/* What encoding returns beside 0; err's code is the same.  (-1 is what files are refused with.) */
enum vocab_error {
    VOCAB_OK = 0,
    VOCAB_NO_MEMORY = -2,    /* the system refused memory: only without scratch, or for a list that grows */
    VOCAB_TOO_LONG = -3,     /* more bytes than the scratch was made for, or than can be encoded at once (256 MiB) */
    VOCAB_FULL = -4,         /* a fixed list has no room for all ids: the text has more tokens than that */
    VOCAB_PATTERN_LIMIT = -5 /* a pre-tokenizer's pattern met its limit of steps or memory */
};

enum { VOCAB_TEXT_MAX = 256 << 20 }; /* bytes of a text that can be encoded at once; positions have 32 bits */

/* Memory to encode in, taken beforehand by the caller: with it vocab_encode() and template_render() allocate and free
 * nothing.  One thread at a time may use one scratch, for the vocabulary that it was made for; it keeps nothing between
 * calls and needs no closing: its memory is the caller's, in whole. */
struct vocab_scratch;

/* How many bytes hold a scratch in which any text of at most text_bytes bytes can be encoded, from any address on; more
 * for each byte more.  For a text byte: 11.3 bytes (BPE), 7.3 (SPM); at most 42 KiB beside that.  SIZE_MAX: a text of
 * more than VOCAB_TEXT_MAX. */
size_t vocab_scratch_bytes(const struct vocab *v, size_t text_bytes);
/* NULL: bytes are not even enough for an empty text (err says so).  It is made for the longest text that fits. */
struct vocab_scratch *vocab_scratch_open(const struct vocab *v, void *mem, size_t bytes, struct err *err);

/* Append the ids of text to out.  Neither bos nor eos is added.  Any bytes are allowed, invalid UTF-8 and NUL too.
 * VOCAB_SPECIAL: control and user-defined tokens' spellings become their ids (longest first); else only user-defined
 * ones of kinds whose reference tokenizer always parses them.  VOCAB_NO_PREFIX (SPM): no space is put before the text
 * (the continuation of a text).  scratch NULL: as much as n bytes need is taken from the heap and given back.
 * 0, or one of enum vocab_error; out then holds what it held before. */
enum { VOCAB_SPECIAL = 1, VOCAB_NO_PREFIX = 2 };
int vocab_encode(const struct vocab *v, struct vocab_scratch *scratch, const char *text, size_t n, unsigned flags,
                 struct ids *out, struct err *err);

/* The bytes that token id stands for in a text (SPM's U+2581 is a space, a byte token one byte); control and unknown
 * tokens are empty.  May be a part of a UTF-8 character.  Valid as long as v.  id outside the vocabulary: empty. */
size_t vocab_piece(const struct vocab *v, int32_t id, const char **bytes);
/* The token's spelling as the file has it ("<|im_end|>", U+2581 kept), for dumps. */
size_t vocab_spelling(const struct vocab *v, int32_t id, const char **bytes);
size_t vocab_bytes(const struct vocab *v); /* host memory that it holds */
size_t vocab_max_piece(const struct vocab *v); /* longest piece, bytes: what a request's text ring is sized by */
#endif
