"""Clipped tool results: answering from the part that is shown, or reading on where it was cut.

The user asks for one thing out of a long text.  If its line is in what is shown, the model answers in one canonical
sentence; if not and the text is clipped, it calls artifact with the id and the offset of the last notice; if not and
there is no more, it says "It is not in there."  A researcher gives the same sentence as a finding, with its source.

An Item is one line of a text that can be asked for.  Its marks are the words that tell it from all other lines: no
other line of a text has all of them, so whether the answer is shown can be seen from the marks alone.
"""
from .clipped_texts import KINDS_OF_TEXT, Matches, Table, Text, _TABLE, _bare, _has
from .clipped_words import (AGAIN, LIST, MORE, NOT_THERE, NO_MORE, ON, ON_NAMED, OPENERS, READ, SEARCH, SHELL,
                            THE_END, TOOLS, _cap, _words)
from .grammar import FILE_STEMS, World, left_over

# ---------------------------------------------------------------------------------------------------- conversations

def _ask(w, wrappers, kind, item, **more):
    slots = dict(item.slots)
    wrap = w.pattern(wrappers)
    out = {}
    for name, low in (("q", "q"), ("Q", "q"), ("i", "i"), ("n", "n"), ("N", "n")):
        if "{" + name + "}" in wrap:
            text = w.say(w.pattern(getattr(kind, low)), **slots)
            out[name] = _cap(text) if name in "QN" else text
    return w.say(wrap, **out, **more)


def _loose(w, text):
    """As people type: sometimes no capital at the start, sometimes no mark at the end."""
    if w.chance(0.08):
        text = text[0].lower() + text[1:]
    if w.chance(0.08):
        text = text.rstrip("?.")
    return text


def _path(w, ends):
    name = w._open(lambda: (w.free(FILE_STEMS) if w.chance(0.5) else w._word(1, 3)) +
                   (w.free(["_", "-"]) + w._word(1, 2) if w.chance(0.2) else "") + "." + w.free(ends))
    return w.folder() + "/" + name if w.chance(0.5) else name


def _command(w, path):
    return w.say(w.free(["cat {p}", "cat {p}", "cat {p}", "tail -n {n} {p}", "head -n {n} {p}", "make {x}", "./{x}",
                         "./{x} {y}", "{x} --all", "{x} show {y}", "{x} -l {y}", "sh {x}.sh", "python3 {x}.py",
                         "git log {y}", "ls -l {y}", "./{x} list"]),
                 p=path, n=w.between(50, 900), x=w.word(), y=w.word())


def _size(w, short):
    if short or w.side == "train" and w.chance(0.5):
        return w.between(12, 70)
    r = w.rng.random()
    return w.between(40, 100) if r < 0.6 else w.between(100, 150) if r < 0.9 else w.between(150, 400)


class Talk:
    """One conversation being written."""

    def __init__(self, w, role):
        self.w, self.role, self.turns, self.tools, self.used = w, role, [], [], set()

    def need(self, tool):
        if tool not in self.tools:
            self.tools.append(tool)

    def open(self, places, parts, end, clipped=True, short=False, sizes=None):
        """Ask for the first asked item and get the first part.  places and parts are those of Text; if `end`, the last
        part is the end of the artifact."""
        w = self.w
        kind = w.free(_TABLE)
        source, wrappers = None, READ
        if isinstance(kind, Matches):
            tool = "search"
            state = kind.style(w)
            pattern, path = state[1], state[2]
            arguments = {"pattern": pattern, "path": path}
            wrappers, more = SEARCH, {"s": pattern, "p": path}
        elif isinstance(kind, Table) and self.role != "researcher" and w.chance(0.3):
            tool = "list"
            state = kind.style(w, w.free(["size", "size", "age", "owner"]), "file")
            path = w.folder() if w.chance(0.6) else w.folder() + "/" + w.folder()
            arguments, wrappers, more = {"path": path}, LIST, {"p": path}
        else:
            state = kind.style(w)
            path = w.path() if w.chance(0.25) else _path(w, kind.ends)
            if self.role != "researcher" and w.chance(0.22):
                tool, command = "shell", _command(w, path)
                arguments, wrappers, more = {"command": command}, SHELL, {"p": command}
            else:
                tool, arguments, more = "read", {"path": path}, {"p": path}
        self.state = state
        self.kind, self.path, self.end, self.clipped, self.at, self.done = kind, path, end, clipped, 0, 0
        sizes = sizes or [_size(w, short or k > 0) if k == 0 or w.chance(0.3) else w.between(15, 60)
                          for k in range(parts)]
        self.text = Text(w, kind, state, sizes, places, end or not clipped)
        self.places = places
        self.id = w.artifact()
        while self.id in self.used:
            self.id = w.artifact()
        self.used.add(self.id)
        self.known = sum(len(t) for t in self.text.texts)
        self.total = self.known // 4 + 1
        if not end:
            self.total += w.between(5, 90) if w.chance(0.4) else int(10 ** w.rng.uniform(1, 3.8))
        self.need(tool)
        item = self.text.asked[0]
        opener = "" if self.turns else w.free(OPENERS)
        if tool == "read" and hasattr(kind, "own") and w.chance(0.15):
            text = w.say(w.pattern(kind.own), **item.slots, **more)
        else:
            text = _ask(w, wrappers, kind, item, **more)
        self.turns.append({"user": _loose(w, opener + text)})
        self.turns.append({"call": {"name": tool, "arguments": arguments}})
        self.result()

    def result(self):
        text = self.text.texts[self.at]
        last = self.at == len(self.text.texts) - 1
        self.done += len(text)
        shown = max(1, len(text) // 4)
        if not self.clipped:
            self.turns.append({"result": {"text": text.rstrip("\n") if self.w.chance(0.5) else text}})
        elif last and self.end:
            self.turns.append({"result": {"text": text, "end": self.id}})
        else:
            self.turns.append({"result": {"text": text, "shown": shown, "total": max(self.total, shown + 5),
                                          "id": self.id, "offset": self.done}})

    def over(self):
        return not self.clipped or (self.end and self.at == len(self.text.texts) - 1)

    def call(self):
        self.turns.append({"call": {"name": "artifact", "arguments": {"id": self.id, "offset": self.done}}})

    def read_on(self):
        self.call()
        self.at += 1
        self.result()

    def answer(self, k):
        """Go on until the asked item k is found or the text is over, and say so."""
        place = self.places[k]
        while (place < 0 or place > self.at) and not self.over():
            self.read_on()
        item = self.text.asked[k]
        if place < 0:
            said = NOT_THERE
        else:
            said = item.answer
        if self.role == "researcher" and place >= 0:
            source = self.path if place == 0 else self.id
            if self.places and isinstance(self.kind, Matches) and place == 0:
                source = item.slots["r"]
            self.turns.append({"findings": [{"text": said.rstrip("."), "source": source}]})
        else:
            self.turns.append({"assistant": said})

    def again(self, k):
        self.turns.append({"user": _loose(self.w, _ask(self.w, AGAIN, self.kind, self.text.asked[k]))})

    def ask_more(self, named=False):
        w = self.w
        wrap = w.free(ON_NAMED[w.side]) if named else w.pattern(ON)
        self.turns.append({"user": _loose(w, w.say(wrap, a=self.id))})

    def two(self):
        """Two clipped texts, a question on each; what was first is the present one again."""
        state = "kind path end clipped at done text places id known total".split()
        self.open([0], 2, self.w.chance(0.5), short=True)
        self.answer(0)
        first = {x: getattr(self, x) for x in state}
        self.open([0], 1, False, short=True)
        self.answer(0)
        for x in state:
            setattr(self, x, first[x])

    def more(self, named=False):
        """The user wants the next part; the model gets it and says whether there is more."""
        self.ask_more(named)
        if self.over():
            self.turns.append({"assistant": NO_MORE})
            return
        self.read_on()
        self.turns.append({"assistant": THE_END if self.over() else MORE})


def _before(t):
    """Something that was said before: talk of another kind, or another file."""
    from . import field, recall
    w = t.w
    r = w.rng.random()
    if t.role != "researcher" and r < 0.65:
        part = (field if r < 0.3 else recall).segment(w)
        if part and len(part[0]) <= 6:
            t.turns += part[0]
            for x in part[1]:
                t.need(x)
            return
    _short(t, w.chance(0.5))


def _short(t, shown):
    w = t.w
    if shown:
        t.open([0], 1, False, clipped=w.chance(0.8), short=True)
    else:
        t.open([1], 2, w.chance(0.5), short=True)
    t.answer(0)


def _finish(t, check=None):
    w = t.w
    tools = list(t.tools)
    for x in ["artifact"] + (["read"] if w.chance(0.7) else []) + \
            w.sample(TOOLS, w.free([0, 0, 1, 2, 3, 4, 8])):
        if x not in tools:
            tools.append(x)
    d = {"role": t.role, "tools": w.shuffle(tools), "summary": None, "turns": t.turns}
    if check:
        d["check"] = check
    return d


def _role(w):
    r = w.rng.random()
    return "assistant" if r < 0.85 else "researcher" if r < 0.95 else None


def dialogue(w):
    if w.chance(0.65):
        return _several(w)
    t = Talk(w, _role(w))
    if w.chance(0.25):
        _before(t)
    kind = w.rng.random()
    more = w.rng.random()
    if kind < 0.40:                                       # the answer is in the shown part
        if more < 0.55:
            t.open([0], 1, False)
            t.answer(0)
        elif more < 0.75:                                 # a second question, also in it
            t.open([0, 0], 1, False)
            t.answer(0)
            t.again(1)
            t.answer(1)
        elif more < 0.92:                                 # a second question, beyond it
            t.open([0, 1], 2, w.chance(0.5), short=True)
            t.answer(0)
            t.again(1)
            t.answer(1)
        elif more < 0.97:
            t.open([0], 2, w.chance(0.5), short=True)
            t.answer(0)
            t.more()
        else:
            t.two()
            t.more(named=True)
    elif kind < 0.85:                                     # the answer lies beyond the cut
        if more < 0.50:
            t.open([1], 2, w.chance(0.5))
            t.answer(0)
        elif more < 0.64:
            t.open([2], 3, w.chance(0.5), short=True)
            t.answer(0)
        elif more < 0.74 and t.role != "researcher":      # nowhere
            parts = w.free([2, 2, 3])
            t.open([-1], parts, True, short=True)
            t.answer(0)
        elif more < 0.84:                                 # then one from what is shown
            t.open([1, w.free([0, 1])], 2, w.chance(0.5), short=True)
            t.answer(0)
            t.again(1)
            t.answer(1)
        elif more < 0.94:                                 # then one still further on
            t.open([1, 2], 3, w.chance(0.5), short=True)
            t.answer(0)
            t.again(1)
            t.answer(1)
        else:
            t.open([1], w.free([2, 3, 3]), w.chance(0.6), short=True)
            t.answer(0)
            if t.over() or len(t.text.texts) == 3:
                t.more()
    else:                                                 # not clipped
        there = t.role == "researcher" or w.chance(0.65)
        second = w.chance(0.3)
        t.open([0 if there else -1] + ([0 if there or w.chance(0.5) else -1] if second else []), 1, True, clipped=False)
        t.answer(0)
        if second:
            t.again(1)
            t.answer(1)
    return _finish(t)


def _several(w):
    """A short text and many questions on it.  Looking things up is learned by looking up, and a question costs a tenth
    of what a text does."""
    t = Talk(w, "assistant" if w.chance(0.9) else None)
    parts = w.free([1, 1, 1, 1, 2, 2, 2, 3])
    clipped = parts > 1 or w.chance(0.6)
    end = not clipped or parts > 1 and w.chance(0.5)
    n = w.between(3, 9)
    places = [w.between(0, parts - 1) for _ in range(n)]
    if parts > 1 and w.chance(0.6):
        places.sort()
    if end:
        places = [-1 if k and w.chance(0.2) else x for k, x in enumerate(places)]
    t.open(places, parts, end, clipped=clipped, sizes=[w.between(6, w.free([15, 30, 30, 60])) for _ in range(parts)])
    t.answer(0)
    for k in range(1, n):
        t.again(k)
        t.answer(k)
    if not t.over() and t.at == parts - 1 and w.chance(0.6):
        missed = _elsewhere(t)
        if missed:
            t.turns.append({"user": _loose(w, _ask(w, AGAIN, t.kind, missed))})
            t.call()
    return _finish(t)


def _elsewhere(t):
    """An item that the text so far has not: its question is answered by reading on."""
    for _ in range(8):
        item = t.kind.item(t.w, t.state, True)
        shown = [_bare(line) for text in t.text.texts for line in text.replace(". ", ".\n").split("\n")]
        if not any(_has(line, item.marks) for line in shown) and not _has(" ".join(shown), item.marks):
            return item
    return None


def segment(w):
    t = Talk(w, "assistant")
    _short(t, w.chance(0.5))
    t.need("artifact")
    return t.turns, t.tools


def _case_clipped(w):
    t = Talk(w, "assistant")
    if w.chance(0.33):
        _before(t)
    if w.chance(0.8):
        t.open([0], 1, False)
        t.answer(0)
        k = 0
    else:
        t.open([0, 0], 1, False)
        t.answer(0)
        t.again(1)
        t.answer(1)
        k = 1
    item = t.text.asked[k]
    return _finish(t, {"kind": "contains", "all": [[item.value], [item.key]], "none": []})


def _case_artifact(w):
    t = Talk(w, "assistant" if w.chance(0.9) else "researcher")
    if w.chance(0.33):
        _before(t)
    r = w.rng.random()
    if r < 0.65:
        t.open([1], 2, w.chance(0.5))
    elif r < 0.75:
        t.open([2], 3, w.chance(0.5), short=True)
        t.read_on()
    elif r < 0.90:
        t.open([0, 1], 2, w.chance(0.5), short=True)
        t.answer(0)
        t.again(1)
    elif r < 0.96:
        t.open([0], 2, w.chance(0.5), short=True)
        t.answer(0)
        t.ask_more()
    else:
        t.two()
        t.ask_more(named=True)
    t.call()
    return _finish(t, {"kind": "call", **t.turns[-1]["call"]})


CASES = {"tools.clipped": _case_clipped, "tools.artifact": _case_artifact}


# ---------------------------------------------------------------------------------------------------- test

def _valid(d):
    known = {"user", "result", "assistant", "call", "findings"}
    made = {"assistant", "call", "findings"}
    turns = d["turns"]
    assert len(d["tools"]) == len(set(d["tools"])) and set(d["tools"]) <= set(TOOLS)
    assert set(turns[-1]) <= made or "check" not in d
    notices = {}
    for k, turn in enumerate(turns):
        (who, v), = turn.items()
        assert who in known and v, turn
        assert (who in made) == (k % 2 == 1), (k, turn)
        if who == "call":
            assert v["name"] in d["tools"], d
            if v["name"] == "artifact":
                assert v["arguments"]["offset"] == notices[v["arguments"]["id"]], (v, notices)
        if who == "result":
            v["text"].encode("ascii")
            assert "{k}" not in v["text"] and "{v}" not in v["text"]
            if "id" in v:
                before = turns[k - 1]["call"]
                start = before["arguments"]["offset"] if before["name"] == "artifact" else 0
                assert v["offset"] == start + len(v["text"].encode()) and v["total"] > v["shown"] > 0
                notices[v["id"]] = v["offset"]
        if who == "user":
            assert not left_over(v) and "  " not in v, v


def _test():
    import time
    for n in range(8):
        d = dialogue(World(n, "train"))
        print(f"--- role {d['role']}, tools {' '.join(d['tools'])}")
        for turn in d["turns"]:
            for who, v in turn.items():
                print(f"  {who:9} {v}")
    start, seen, sizes, kinds = time.time(), set(), [], {}
    for n in range(2000):
        d = dialogue(World(n, "train"))
        seen.add(repr(d))
        sizes.append(sum(len(str(list(x.values())[0])) for x in d["turns"]))
    took = time.time() - start
    assert len(seen) >= 1900
    for n in range(2000):
        _valid(dialogue(World(n, "train")))
        turns, tools = segment(World(n, "train"))
        assert set(turns[-1]) <= {"assistant"}
        _valid({"turns": turns, "tools": tools})
    for name, make in CASES.items():
        for n in range(300):
            d = make(World(n, "held"))
            _valid(d)
            check, last = d["check"], d["turns"][-1]
            if check["kind"] == "call":
                assert last["call"] == {"name": "artifact", "arguments": check["arguments"]}
            else:
                said = last["assistant"].lower()
                assert all(any(x.lower() in said for x in g) for g in check["all"]), d
                shown = [x["result"]["text"] for x in d["turns"] if "result" in x][-1].lower()
                assert check["all"][0][0].lower() in shown, d
    lists = {"READ": READ, "SHELL": SHELL, "LIST": LIST, "SEARCH": SEARCH, "AGAIN": AGAIN, "ON": ON}
    for kind, _ in KINDS_OF_TEXT:
        lists.update({type(kind).__name__ + "." + x: getattr(kind, x) for x in ("q", "i", "n", "own")
                      if hasattr(kind, x)})
    for name, items in lists.items():
        train = set().union(*(_words(x) for k, x in enumerate(items) if k % 5 != 4))
        gap = set().union(*(_words(x) for k, x in enumerate(items) if k % 5 == 4)) - train
        if gap:
            print(f"note: {name}: held words not in training: {' '.join(sorted(gap))}")
    sizes.sort()
    print(f"{2000 / took:.0f} dialogues a second, {len(seen)} of 2000 distinct; characters: mean "
          f"{sum(sizes) // 2000}, median {sizes[1000]}, 95 %: {sizes[1900]}, most {sizes[-1]}")


if __name__ == "__main__":
    _test()
