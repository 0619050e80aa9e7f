"""Drills: made-up lists to look things up in, which train nothing but finding and copying.

A dialogue has one or two things to find in a long text; a drill has dozens, so a step on it says far more about
looking up.  Keys and values are what dialogues have (names, numbers, files; of the training side) or a few tokens drawn
at random, so that every token has been copied at times.  Four kinds:

    ask    a list of statements, then question after question: the statement again, word for word
    both   the same, but a key is a pair and each half stands in other pairs, too: only both together tell
    pick   a list whose lines begin with one of a few marks; asked for a mark: all its lines, in their order
    again  a text without sense, to be said again

A thing that was never said is answered by the drill's own words for "not there".
"""
import sys

from dialogues.grammar import World, is_held
from tokenizer import Tokenizer

LONGEST = 1500  # tokens


class Drill:
    def __init__(self, w, tok):
        self.w, self.tok = w, tok
        self.start, self.end = tok.id["<|im_start|>"], tok.id["<|im_end|>"]
        self.newline = tok.encode("\n")
        self.ids, self.weights = [], []
        self.copies, self.drawn = [], []  # for check()
        self.makers = w.sample([w.person, w.place, w.project, w.amount, w.code, w.word, w.filename, w.folder, w.path,
                                w.time, w.date, w.artifact], w.between(1, 4))
        self.raw = w.chance(0.4)  # tokens drawn at random rather than values
        self.plain = [i for i, t in enumerate(tok.tokens) if i not in (self.start, self.end) and not t.startswith("<|")]

    def random(self, lo, hi):
        """A few tokens of any kind that are no held-out value."""
        while True:
            ids = [self.w.free(self.plain) for _ in range(self.w.between(lo, hi))]
            if not is_held(self.tok.decode(ids).strip()):
                return ids

    def value(self):
        if self.raw or self.w.chance(0.1):
            self.drawn.append(self.random(1, 4))
            return self.drawn[-1]
        return self.tok.encode(" " + str(self.w.free(self.makers)()))

    def words(self, lo, hi):
        """Filler: the same few common words again and again."""
        return self.tok.encode("".join(" " + x for x in self.w.sample(_WORDS, self.w.between(lo, hi))))

    def unlike(self, n, make):
        """n different ones (fewer if they run out)."""
        seen, out = set(), []
        for _ in range(3 * n):
            x = make()
            if tuple(x) not in seen and len(out) < n:
                seen.add(tuple(x))
                out.append(x)
        return out

    def turn(self, role, ids, said=False):
        self.ids += [self.start] + self.tok.encode(role + "\n") + ids + [self.end] + self.newline
        self.weights += [0] * (1 + len(self.tok.encode(role + "\n"))) + [int(said)] * (len(ids) + 1) + \
            [0] * len(self.newline)

    def copy(self, part):
        """Note that the model is about to say a part of what was said, for check()."""
        self.copies.append((len(self.ids), part))
        return part

    # ---- kinds
    def any(self):
        kind = self.w.free([self.ask] * 2 + [self.both] * 3 + [self.pick] * 4 + [self.again])
        kind()

    def statements(self, keys):
        """(question, statement) of each key: one or two ways of saying, told apart by nothing but the key."""
        w = self.w
        ways = [(self.words(0, 2), self.words(0, 3), self.words(0, 2)) for _ in range(w.between(1, 3))]
        asks = [(self.words(0, 2), self.words(0, 2)) for _ in ways]
        split = w.chance(0.5)
        out = []
        for key in keys:
            i = w.between(0, len(ways) - 1)
            before, between, after = ways[i]
            if len(key) > 1:
                a, b = key
                name = a + (between if split else []) + b
                asked = b + asks[i][0] + a if w.chance(0.3) else name
            else:
                name = asked = key[0]
            said = before + name + (between or self.tok.encode(" is")) + self.value() + after
            out.append((asks[i][0] + asked + asks[i][1], said))
        return out

    def both(self):
        self.ask(pairs=True)

    def ask(self, pairs=False):
        w = self.w
        n = w.free([3, 4, 6, 8, 12, 16, 24, 32, 48])
        if pairs:
            side = max(2, round(n ** 0.5) + w.between(0, 1))
            a, b = self.unlike(side, self.value), self.unlike(side, self.value)
            keys = w.shuffle([(x, y) for x in a for y in b])
        else:
            keys = [(x,) for x in self.unlike(n + 3, self.value)]
        lost = max(1, len(keys) // 6)  # keys that are asked for and were never told
        known = self.statements(keys[lost:])
        unknown = [q for q, _ in self.statements(keys[:lost])]
        none = self.words(2, 3)
        stop = self.w.free([self.newline, self.tok.encode("."), self.tok.encode(";"), self.newline])
        text = none + self.newline
        for _, said in known:
            text = text + said + stop
            if w.chance(0.1):
                text = text + self.random(2, 12) + stop
        self.turn("user", text)
        for _ in range(w.between(4, 24)):
            there = w.chance(0.8)
            question, said = w.free(known) if there else (w.free(unknown), none)
            self.turn("user", question)
            self.turn("assistant", self.copy(said), True)
            if len(self.ids) > LONGEST - 100:
                break

    def pick(self):
        w = self.w
        marks = self.unlike(w.between(2, 5), lambda: self.value())
        lines = [(w.free(marks), self.value() + (self.words(0, 2) + self.value() if w.chance(0.7) else []))
                 for _ in range(w.between(3, 28))]
        behind = w.chance(0.3)  # the mark stands after its line
        text = []
        for mark, line in lines:
            text += (line + mark if behind else mark + line) + self.newline
        self.turn("user", text)
        none = self.tok.encode("none")
        for mark in w.shuffle(marks):
            mine = [x for m, x in lines if m == mark]
            said = []
            for x in mine:
                said += (self.newline if said else []) + self.tok.encode("-") + self.copy(x)
            self.turn("user", mark)
            self.turn("assistant", said or none, True)
            if len(self.ids) > LONGEST - 200:
                break

    def again(self):
        w = self.w
        for _ in range(w.between(1, 3)):
            text = []
            for _ in range(w.between(2, 16)):
                text += self.words(0, 3) + self.value()
            self.turn("user", text)
            self.turn("assistant", self.copy(text), True)


_WORDS = ("the of in is at on for with by from to has was an and its one file line name item set value says comes goes "
          "starts ends lives stands called kept until after before near room door user team day part").split()


def drill(w, tok):
    """(ids, weights) of one drill of up to about LONGEST tokens."""
    d = Drill(w, tok)
    d.any()
    return d.ids, d.weights


def check(tok, n):
    """What a drill has the model say was said before, and nothing drawn at random is a held-out value."""
    for i in range(n):
        d = Drill(World(f"check/{i}"), tok)
        d.any()
        assert len(d.ids) == len(d.weights) <= 2 * LONGEST and d.copies, i
        for at, part in d.copies:
            assert any(d.ids[k:k + len(part)] == part for k in range(at)), (i, tok.decode(part))
        for ids in d.drawn:
            assert not is_held(tok.decode(ids).strip()), (i, tok.decode(ids))


if __name__ == "__main__":
    check(Tokenizer.load(sys.argv[1]), 300)
    print("300 drills: what they ask for was said before")
