"""The tokenizer: byte-level BPE whose merges keep names, numbers and file names in small pieces.

A model this small copies a value only if the value has the same pieces wherever it stands.  Plain BPE merges the blank
before a word first, so that " Marta" and "Marta" share nothing.  Here merges are learned in two rounds:

    1. inside words and runs of punctuation, without the character that leads them and without capitals, but for a
       few words that often begin a sentence;
    2. then a lead (a blank, a quote, a bracket) is merged with whole words that are frequent, or with one capital.

So " Marta" is " M|ar|ta" and "Marta" is "M|ar|ta".  Digits are single: the pre-tokenizer is Qwen 2's, which llama.cpp
and plimsoll know as `qwen2`.

    python3 tokenizer.py corpus.txt tokenizer.json      # learn
"""
import collections
import json
import re
import sys

from dialogues.grammar import COMMON_NAMES

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCAB = 4096
WHOLE = 1500   # merges of the second round, besides one capital each
OPENERS = 120  # words that often begin a sentence, kept whole with their capital

# Qwen 2's pre-tokenizer in Python's re: letters are [^\W\d_], which is \p{L} for all that the dialogues contain.
_PRE = re.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|(?:[^\r\n\w]|_)?[^\W\d_]+|\d| ?(?:[^\s\w]|_)+[\r\n]*"
                  r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def _byte_chars():
    """GPT-2's reversible spelling of bytes: printable Latin-1 as itself, the rest from U+0100 on."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    chars, extra = {}, 0
    for b in range(256):
        if b in plain:
            chars[b] = chr(b)
        else:
            chars[b] = chr(256 + extra)
            extra += 1
    return chars


_CHAR = _byte_chars()
_BLANK = _CHAR[32]


def words(text):
    """The pre-tokens of a text, each spelled in byte characters."""
    return ("".join(_CHAR[b] for b in piece.encode()) for piece in _PRE.findall(text))


class Tokenizer:
    """ids: special tokens last.  merges: pairs in order of rank."""

    def __init__(self, tokens, merges):
        self.tokens, self.merges = tokens, merges
        self.id = {t: i for i, t in enumerate(tokens)}
        self.rank = {tuple(m): i for i, m in enumerate(merges)}
        self.cache = {}

    @classmethod
    def load(cls, path):
        with open(path) as f:
            d = json.load(f)
        return cls(d["tokens"], [tuple(m) for m in d["merges"]])

    def save(self, path):
        with open(path, "w") as f:
            json.dump({"tokens": self.tokens, "merges": self.merges}, f, ensure_ascii=False, indent=0)

    def _merge(self, word):
        parts = list(word)
        while len(parts) > 1:
            best = min(range(len(parts) - 1), key=lambda i: self.rank.get((parts[i], parts[i + 1]), 1 << 30))
            if (parts[best], parts[best + 1]) not in self.rank:
                break
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        return [self.id[p] for p in parts]

    def encode(self, text):
        """Ids of a text in which nothing is special."""
        out = []
        for word in words(text):
            ids = self.cache.get(word)
            if ids is None:
                ids = self._merge(word)
                if len(self.cache) < 500000:
                    self.cache[word] = ids
            out += ids
        return out

    def decode(self, ids):
        back = {c: b for b, c in _CHAR.items()}
        out = bytearray()
        for i in ids:
            t = self.tokens[i]
            out += t.encode() if t in SPECIALS else bytes(back[c] for c in t)
        return out.decode(errors="replace")


def _split(word):
    """A pre-token as (lead, core): what the first round may merge is the core alone."""
    lead, core = ("", word)
    if len(word) > 1 and word[0] in _LEADS and word[1].isalpha() and word[1] != _BLANK:
        lead, core = word[0], word[1:]
    return lead, core


_LEADS = set(_BLANK + "\"'([{<>/.,:;-_=#*`$@&%+!?|~^\\")


def _mergeable(core):
    """The parts of a core that the first round looks at: nothing that holds a capital and a small letter."""
    if not core.isascii():
        return []
    if core.isalpha() and not core.isupper():
        return [p for p in re.split(r"[A-Z]+", core) if len(p) > 1]
    return [core] if len(core) > 1 else []


def _first_round(counts, n):
    """Ordinary BPE over counted strings; returns n merges."""
    parts = [(list(w), c) for w, c in counts.items()]
    pairs = collections.Counter()
    where = collections.defaultdict(set)
    for i, (p, c) in enumerate(parts):
        for a, b in zip(p, p[1:]):
            pairs[a, b] += c
            where[a, b].add(i)
    merges = []
    while len(merges) < n and pairs:
        most = max(pairs.values())
        if most < 4:
            break
        best = max(k for k, n_k in pairs.items() if n_k == most)
        merges.append(best)
        for i in list(where[best]):
            p, c = parts[i]
            for a, b in zip(p, p[1:]):
                pairs[a, b] -= c
            j, q = 0, []
            while j < len(p):
                if j + 1 < len(p) and (p[j], p[j + 1]) == best:
                    q.append(p[j] + p[j + 1])
                    j += 2
                else:
                    q.append(p[j])
                    j += 1
            parts[i] = (q, c)
            for a, b in zip(q, q[1:]):
                pairs[a, b] += c
                where[a, b].add(i)
        del pairs[best]
    return merges


def learn(texts, size=VOCAB, whole=WHOLE):
    """Learn a tokenizer of `size` tokens from an iterable of texts."""
    seen = collections.Counter()
    for t in texts:
        seen.update(words(t))
    cores = collections.Counter()
    for word, c in seen.items():
        for part in _mergeable(_split(word)[1]):
            cores[part] += c
    base = [_CHAR[b] for b in range(256)]
    capitals = [(_BLANK, chr(65 + i)) for i in range(26)]
    room = size - len(base) - len(SPECIALS) - len(capitals)
    merges = _first_round(cores, room - whole - OPENERS)
    openers = collections.Counter()
    for word, c in seen.items():
        core = _split(word)[1]
        if len(core) > 1 and core.isalpha() and core[0].isupper() and core[1:].islower() and core not in COMMON_NAMES:
            openers[core] += c
    once = Tokenizer(list(dict.fromkeys(base + [a + b for a, b in merges])), merges)
    whole_rest = [w for w, _ in sorted(openers.items(), key=lambda x: (-x[1], x[0])) if len(once._merge(w[1:])) == 1]
    merges = merges + [(w[0], w[1:]) for w in whole_rest[:OPENERS]]
    once = Tokenizer(list(dict.fromkeys(base + [a + b for a, b in merges])), merges)
    leads = collections.Counter()
    for word, c in seen.items():
        lead, core = _split(word)
        if lead and len(once._merge(core)) == 1 and not (len(core) == 1 and core.isupper()):
            leads[lead, core] += c
    known = set(once.tokens)
    second = [m for m, _ in sorted(leads.items(), key=lambda x: (-x[1], x[0])) if m[0] + m[1] not in known]
    merges = merges + capitals + second[:room - len(merges)]
    tokens = list(dict.fromkeys(base + [a + b for a, b in merges]))
    while len(tokens) < size - len(SPECIALS):
        tokens.append(f"<|unused_{len(tokens)}|>")  # a corpus too small for all merges (the one-minute run)
    return Tokenizer(tokens + SPECIALS, merges)


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        learned = learn(source)
    learned.save(sys.argv[2])
    print(f"{len(learned.tokens)} tokens, {len(learned.merges)} merges")
