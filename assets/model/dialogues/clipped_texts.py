"""The kinds of long texts that clipped.py asks about: each with its lines, items and questions."""
import re

from .clipped_words import (ATTRIBUTES, DOCUMENTS, DONE, EVENTS, FILLER, FINE, HAPPENED, Item, KINDS, MODULES,
                            OBJECTS, PAIRS, PLURALS, PORT_LIKE, STATES, THINGS, VERBS, _cap, _quoted, _value, arrange)
from .grammar import WEEKDAYS

# ---------------------------------------------------------------------------------------------------- kinds of text
# A kind has the phrasings of its question (q), indirect question (i) and noun phrase (n), the endings of its files,
# and style(w) -> state and item(w, state, asked) -> Item.


class Settings:
    q = arrange("""
        what is the {k}
        what's the {k}
        which {k} is set
        what {k} is given
        what is the {k} set to
        what {k} is set
        which {k} is given
        what value does the {k} have
        what is given as the {k}
        what value is given for the {k}
    """)
    i = arrange("""
        what the {k} is
        which {k} is set
        what {k} is given
        what the {k} is set to
        what {k} is set
        what value the {k} has
        which value is given for the {k}
    """)
    n = arrange("""
        the {k}
        the value of the {k}
        the {k} that is set
        the value for the {k}
        the {k} that is given
        the {k} value
    """)
    own = arrange("""
        What {k} does {p} give?
        Which {k} does {p} give?
        What {k} does {p} have?
        Which {k} does {p} set?
        What {k} does the file {p} set?
        What {k} does {p} set?
        Which {k} does the file {p} have?
        Which {k} is given by {p}?
        What {k} is given by the file {p}?
        What is {p} saying about the {k}?
        What is the file {p} saying about the {k}?
    """)
    ends = "ini cfg json yaml toml txt md csv".split()
    forms = ["{k} = {v}", "{k}={v}", "{k}: {v}", "{k} {v}", "set {k} {v}", "- {k}: {v}", "| {k} | {v} |", "{k},{v}",
             '  "{k}": {v},', '  "{k}": {v},', "The {k} is {v}.", "The {k} was set to {v}.", "{k} -> {v}",
             "{v} is the {k}.", "{k} ... {v}"]

    def style(self, w):
        form = w.free(self.forms)
        return form, w.free(["_", "-", " "]) if not form.endswith(".") else " "

    def head(self, w, state):
        return "{" if '"' in state[0] else w.free(["# {} settings", "; {}", "{}", "# {}"]).format(w.word())

    def item(self, w, state, asked):
        form, joint = state
        r = w.rng.random()
        key = w.word() if r < 0.2 else PAIRS.pick(w, asked) if r < 0.4 else PORT_LIKE.pick(w, asked)
        v = _value(w)
        shown = _quoted(v) if '"' in form else v
        line = form.replace("{k}", key.replace(" ", joint)).replace("{v}", shown)
        said = key.replace(" ", joint) if w.chance(0.4) else key
        return Item(line, (key,), f"The {said} is {v}.", v, said, k=said)


class Table:
    q = arrange("""
        what is the {k} of {r}
        what {k} does {r} have
        which {k} does {r} have
        what {k} has {r}
        what {k} is given for {r}
        what is the {k} for {r}
        which {k} is given for {r}
        what's the {k} of {r}
        which is the {k} of {r}
    """)
    i = arrange("""
        what the {k} of {r} is
        what {k} {r} has
        which {k} {r} has
        what the {k} for {r} is
        which {k} is given for {r}
        what {k} is given for {r}
    """)
    n = arrange("""
        the {k} of {r}
        the {k} for {r}
        the {k} that {r} has
        the {k} given for {r}
        the {k} that is given for {r}
    """)
    ends = "csv txt md json log".split()
    forms = ["{x}: {k} {v}", "{x}, {k} {v}", "{x},{v}", "{x},{v}", "| {x} | {v} |", "{x} {v}", "The {k} of {x} is {v}.",
             "{x} has the {k} {v}.", "{x} - {k}: {v}", "{x}: {k} {v}, {o} {u}", "{x},{v},{u}", "{x}: {o} {u}, {k} {v}",
             '{{"name": "{x}", "{k}": "{v}"}},']

    def style(self, w, attribute=None, rows=None):
        k = attribute or ATTRIBUTES.pick(w, True)
        o = ATTRIBUTES.pick(w, False)
        while o == k:
            o = ATTRIBUTES.pick(w, False)
        return w.free(self.forms), k, o, rows or w.free(["thing", "thing", "person", "person", "name", "file"])

    def head(self, w, state):
        form, k, o, rows = state
        name = w.free(["name", rows])
        if form == "{x},{v},{u}":
            return f"{name},{k},{o}"
        if form == "| {x} | {v} |":
            return f"| {name} | {k} |"
        if "{k}" not in form:
            return f"{name},{k}" if "," in form else f"{name} {k}"
        return w.free(["List of {}", "# {}", "{}"]).format(w.word())

    def item(self, w, state, asked):
        form, k, o, rows = state
        if rows == "thing":
            x = THINGS.pick(w, asked)
        elif rows == "person":
            x = w.person()
        else:
            x = w.word().capitalize() if rows == "name" else w.filename()
        v = str(w.number(10, 9999)) if w.chance(0.6) else _value(w)
        r = "the " + x if rows == "thing" and not (asked and w.chance(0.2)) else x
        full = "the " + x if rows == "thing" else x
        prose = full if form.endswith(".") else x
        u = w.number(10, 999) if "{u}" in form else ""
        line = form.format(x=prose, k=k, v=v, o=o, u=u)
        if form.endswith(".") and rows == "thing":
            line = _cap(line)
        return Item(line, (x,), f"The {k} of {full} is {v}.", v, x, k=k, r=r)


class Log:
    q = arrange("""
        when did {s} {d}
        at what time did {s} {d}
        what time did {s} {d}
        at which time did {s} {d}
        when was it that {s} {e}
        when exactly did {s} {d}
        what was the time when {s} {e}
    """)
    i = arrange("""
        when {s} {e}
        at what time {s} {e}
        at which time {s} {e}
        what time it was when {s} {e}
        when exactly {s} {e}
        what the time was when {s} {e}
    """)
    n = arrange("""
        the time when {s} {e}
        the time at which {s} {e}
        the exact time when {s} {e}
        the time that {s} {e}
        the exact time that {s} {e}
    """)
    ends = "log log log txt".split()
    forms = ["{t} {x} {e}", "{t} INFO {x} {e}", "[{t}] {x} {e}", "{t} {x}: {e}", "At {t} {y} {e}.", "{y} {e} at {t}.",
             "{t} - {x} {e}", "{t} [{x}] {e}"]

    def style(self, w):
        return (w.free(self.forms),)

    def head(self, w, state):
        return w.free(["log of {}", "# {}", "{} log", "begin {}"]).format(w.word())

    def item(self, w, state, asked):
        x = MODULES.pick(w, asked) if w.chance(0.5) else w.word()
        y = "the " + x if x in MODULES.all else x
        d, e = w.free(VERBS)
        t = w._open(lambda: f"{w.between(0, 23):02}:{w.between(0, 59):02}")
        form = state[0]
        line = form.format(t=t, x=x, y=_cap(y) if form[1] == "y" else y, e=e)
        return Item(line, (x, e), f"{_cap(y)} {e} at {t}.", t, x, s=y, d=d, e=e)


class States:
    q = arrange("""
        which {k} {h}
        which {k} is it that {h}
        what {k} {h}
        which of the {k}s {h}
        which one of the {k}s {h}
        what is the name of the {k} that {h}
        which is the {k} that {h}
        what's the name of the {k} that {h}
    """)
    i = arrange("""
        which {k} {h}
        what {k} {h}
        which of the {k}s {h}
        which is the {k} that {h}
        which one of the {k}s {h}
    """)
    n = arrange("""
        the {k} that {h}
        the name of the {k} that {h}
        the {z} {k}
        the one {k} that {h}
        the name of the {z} {k}
    """)
    ends = "log txt csv md".split()
    forms = ["{k} {x}: {z}", "{x}: {z}", "{x} ... {z}", "{x},{z}", "{z} {x}", "The {k} {x} {h}.", "{k} {x} {z}",
             "[{z}] {x}", "{x} - {z}", "{x} is {z}"]

    def style(self, w):
        return w.free(self.forms), KINDS.pick(w, True)

    def head(self, w, state):
        return w.free(["# {k}s of {x}", "{k}s", "List of all {k}s", "{x}: {k}s"]).format(k=state[1], x=w.word())

    def item(self, w, state, asked):
        form, k = state
        r = w.rng.random()
        if not asked and r < 0.7:
            z, h = w.free(FINE), None
        elif r > 0.8 or r < 0.1:
            z = HAPPENED.pick(w, asked)
            h = z if w.chance(0.8) else "has " + z
        else:
            z = STATES.pick(w, asked)
            h = "is " + z
        x = w.word() if w.chance(0.6) else f"{k}_{w.word()}" if w.chance(0.5) else f"{k}{w.number(10, 999)}"
        if form == "{x} is {z}":
            form = "{x} {h}"
        line = form.format(k=k, x=x, z=z, h=h or "is " + z)
        marks = (z,) if h else (x, z)
        return Item(line, marks, f"The {k} that {h or 'is ' + z} is {x}.", x, z, k=k, z=z, h=h)


class Who:
    q = arrange("""
        who {d} the {o}
        who was it that {d} the {o}
        by whom was the {o} {d}
        who is it that {d} the {o}
        who has {d} the {o}
        which person {d} the {o}
        whose name is given as the one who {d} the {o}
        which person has {d} the {o}
    """)
    i = arrange("""
        who {d} the {o}
        by whom the {o} was {d}
        who it was that {d} the {o}
        which person {d} the {o}
        who has {d} the {o}
        which person has {d} the {o}
    """)
    n = arrange("""
        the name of who {d} the {o}
        the person who {d} the {o}
        the name of the person who {d} the {o}
        the one who {d} the {o}
        the name of the one who {d} the {o}
    """)
    ends = "txt md txt html".split()
    papers = ["{D} by {p}", "{D} by {p}.", "{D}: {p}", "{d}: {p}", "{p} {d} it.",
              "It was {d} by {p}.", "{p} has {d} it."]
    forms = ["The {o} was {d} by {p}.", "{p} {d} the {o}.", "{p} has {d} the {o}.", "{o}: {d} by {p}", "{o} {d} by {p}",
             "- {p} {d} the {o}", "{d} the {o}: {p}"]

    def style(self, w):
        if w.chance(0.35):
            return w.free(self.papers), DOCUMENTS.pick(w, True)
        return w.free(self.forms), None

    def head(self, w, state):
        if state[1]:
            return _cap(state[1]) + " on " + w.word()
        return w.free(["Report on {}", "Works in {}"]).format(w.place())

    def item(self, w, state, asked):
        form, paper = state
        d = DONE.pick(w, asked and (bool(paper) or w.chance(0.5)))
        o = paper or OBJECTS.pick(w, asked)
        p = w.person()
        line = form.format(d=d, D=_cap(d), o=o, p=p)
        return Item(line, (d,) if paper else (d, o), f"The {o} was {d} by {p}.", p, d, d=d, o=o)


class Counts:
    q = arrange("""
        how many {k} are there
        how many {k} does it have
        how many {k} are listed
        how many {k} were counted
        how many {k} are given
        what is the number of {k}
        how many {k}
        how many {k} were there
        what number of {k} is given
    """)
    i = arrange("""
        how many {k} there are
        how many {k} are listed
        how many {k} were counted
        how many {k} it has
        how many {k} were there
        what the number of {k} is
        how many {k} are given
    """)
    n = arrange("""
        the number of {k}
        the count of {k}
        the total number of {k}
        the number of all {k}
        the total count of {k}
        the number given for {k}
    """)
    own = arrange("""
        How many {k} has {p}?
        How many {k} does {p} have?
        How many {k} are in {p}?
        How many {k} has the file {p}?
        How many {k} does the file {p} have?
        How many {k} does {p} list?
        How many {k} are there in {p}?
        How many {k} does the file {p} list?
        How many {k} are counted in {p}?
        How many {k} were counted in {p}?
    """)
    ends = "txt csv md log".split()
    forms = ["{v} {k}", "{k}: {v}", "There are {v} {k}.", "We counted {v} {k}.", "{v} {k} in total", "- {v} {k}",
             "{k} counted: {v}", "{k},{v}", "We have {v} {k}.", "{v} {k} were counted."]

    def style(self, w):
        return (w.free(self.forms),)

    def head(self, w, state):
        return w.free(["Count of {}", "# {}", "Report on {}", "{} in numbers"]).format(w.place())

    def item(self, w, state, asked):
        k, v = PLURALS.pick(w, asked), str(w.number(12, 9999))
        return Item(state[0].format(k=k, v=v), (k,), f"The number of {k} is {v}.", v, k, k=k)


class Dates:
    q = arrange("""
        when is the {k}
        on which day is the {k}
        what is the time of the {k}
        when does the {k} take place
        when exactly is the {k}
        when will the {k} be
        when will the {k} take place
        which time is given for the {k}
        what time is given for the {k}
        on what day is the {k}
    """)
    i = arrange("""
        when the {k} is
        when the {k} takes place
        when the {k} will be
        on which day the {k} is
        when exactly the {k} is
        what time is given for the {k}
    """)
    n = arrange("""
        the time of the {k}
        the date of the {k}
        the day of the {k}
        the time for the {k}
        the date for the {k}
        the time given for the {k}
    """)
    ends = "txt md csv html".split()
    forms = ["{v} {k}", "{v}: {k}", "{k}: {v}", "{k},{v}", "{v} - {k}", "The {k} is {on} {v}.",
             "{On} {v} there is the {k}."]

    def style(self, w):
        return w.free(self.forms), w.free(["time", "time", "time", "date", "date", "day"])

    def head(self, w, state):
        return w.free(["Plan for {}", "# {}", "Programme of {}", "{}"]).format(w.place())

    def item(self, w, state, asked):
        form, sort = state
        k = EVENTS.pick(w, asked)
        on = "at" if sort == "time" else "on"
        v = w.time() if sort == "time" else w.date() if sort == "date" else w.free(WEEKDAYS)
        return Item(form.format(k=k, v=v, on=on, On=_cap(on)), (k,), f"The {k} is {on} {v}.", v, k, k=k)


class Places:
    q = arrange("""
        where is the {k}
        in which place is the {k}
        where was the {k} put
        where do I find the {k}
        where can I find the {k}
        where is the {k} kept
        in what place is the {k}
        where has the {k} been put
        in what place has the {k} been put
        where do we find the {k}
    """)
    i = arrange("""
        where the {k} is
        where the {k} was put
        where I find the {k}
        where the {k} is kept
        in which place the {k} is
        where I can find the {k}
        in which place I find the {k}
    """)
    n = arrange("""
        the place of the {k}
        the place where the {k} is
        the place where the {k} is kept
        the room or box of the {k}
        the place for the {k}
        the room or place of the {k}
        the place where the {k} was put
    """)
    ends = "txt csv md".split()
    forms = ["{k}: {v}", "{k},{v}", "{v}: {k}", "The {k} is in {v}.", "{k} - {v}", "{k} in {v}", "In {v}: {k}",
             "The {k} was put in {v}."]

    def style(self, w):
        return (w.free(self.forms),)

    def head(self, w, state):
        return w.free(["Stock of {}", "# {}", "Things in {}", "{}"]).format(w.place())

    def item(self, w, state, asked):
        k = THINGS.pick(w, asked)
        v = w.free(["room", "box", "hall", "drawer", "cellar", "rack"]) + " " + str(w.number(10, 999))
        return Item(state[0].format(k=k, v=v), (k,), f"The {k} is in {v}.", v, k, k=k)


class Matches:
    """What a search brings: the same word in many files."""
    q = arrange("""
        what is the {k} in {r}
        which {k} is set in {r}
        what {k} does {r} have
        which {k} does {r} have
        what {k} is set in {r}
        what {k} is given in {r}
        what's the {k} in {r}
        which {k} is given in {r}
    """)
    i = arrange("""
        what the {k} in {r} is
        which {k} is set in {r}
        what {k} {r} has
        which {k} {r} has
        what {k} is set in {r}
    """)
    n = arrange("""
        the {k} in {r}
        the {k} that is set in {r}
        the {k} of {r}
        the {k} that {r} has
        the {k} set in {r}
    """)
    ends = []
    forms = ["{r}:{l}: {k} = {v}", "{r}:{l}: {k}={v}", "{r}:{l}: {k}: {v}", '{r}:{l}: "{k}": {v},', "{r}:{l}: {k} {v}",
             "{r}:{l}: set {k} {v}"]

    def style(self, w):
        folder = w.folder()
        return w.free(self.forms), w.word() if w.chance(0.2) else PORT_LIKE.pick(w, True), folder, w.chance(0.6)

    def head(self, w, state):
        return None

    def item(self, w, state, asked):
        form, k, folder, inside = state
        r = w.filename()
        v = _value(w)
        where = folder + "/" + r if inside else r
        return Item(form.format(r=where, l=w.between(1, 400), k=k, v=_quoted(v) if '"' in form else v),
                    (r,), f"The {k} in {where} is {v}.", v, r, k=k, r=where)


KINDS_OF_TEXT = [(Settings(), 27), (Table(), 15), (Log(), 11), (States(), 13), (Who(), 12), (Counts(), 8), (Dates(), 6),
                 (Places(), 6), (Matches(), 6)]
_TABLE = [kind for kind, share in KINDS_OF_TEXT for _ in range(share)]
_PARSE = re.compile(r"[A-Za-z0-9.'-]+")


def _bare(line):
    return " " + " ".join(_PARSE.findall(line.replace("_", " ").replace("-", " "))).lower().replace(". ", " ") \
        .rstrip(".") + " "


def _has(bare, marks):
    return all(" " + _bare(m).strip() + " " in bare for m in marks)


class Text:
    """A made-up text in parts.  asked[i] lies in part places[i]; -1 is an item that is in no part."""

    def __init__(self, w, kind, state, sizes, places, whole):
        while not self._make(w, kind, state, sizes, places, whole):
            sizes = [max(10, n * 3 // 4) for n in sizes]

    def _make(self, w, kind, state, sizes, places, whole):
        bares, said = [], set()
        filler = 0.0 if '"' in state[0] or isinstance(kind, Matches) else 0.05
        self.asked = []
        for _ in places:
            item = kind.item(w, state, True)
            bare = _bare(item.line)
            if any(_has(b, item.marks) for b in bares) or any(_has(bare, x.marks) for x in self.asked):
                return False
            bares.append(bare)
            self.asked.append(item)
        parts = []
        for number, size in enumerate(sizes):
            lines = [(x.line, True) for x, place in zip(self.asked, places) if place == number]
            n = sum(x[0].count(" ") + 1 for x in lines)
            more = []
            tries = 0
            while n < size and tries < 150:
                tries += 1
                if w.chance(filler):
                    line = w.free(FILLER)
                else:
                    item = kind.item(w, state, False)
                    line = item.line
                    bare = _bare(line)
                    if item.marks in said or any(_has(bare, x.marks) for x in self.asked):
                        continue
                    said.add(item.marks)
                n += 2 + line.count(" ")
                more.append((line, False))
            for x in lines:
                more.insert(w.between(0, len(more)), x)
            parts.append(more)
        if not all(parts):                               # too few words of its kind for so long a text
            return False
        head = kind.head(w, state)
        if head and any(_has(_bare(head), x.marks) for x in self.asked):
            return False
        if head and (head == "{" or w.chance(0.7) or "," in head):
            parts[0].insert(0, (head, True))
        if head == "{" and whole:
            parts[-1].append(("}", True))
        joint = " " if parts[0][-1][0].endswith(".") and w.chance(0.4) else "\n"
        self.texts = [joint.join(line for line, _ in part) + "\n" for part in parts]
        for a in range(len(parts)):                      # some cuts fall inside a line that nobody asks for
            last = a + 1 == len(parts)
            if last and (whole or len(parts[a]) < 2) or not w.chance(0.25):
                continue
            line, kept = parts[a][-1] if last else parts[a + 1][0]
            at = line.find(" ", 3) if w.chance(0.6) else w.between(2, max(3, len(line) - 2))
            if kept or not 0 < at < len(line) or any(_has(_bare(half), x.marks) for half in (line[:at], line[at:])
                                                     for x in self.asked):
                continue
            if last:
                self.texts[a] = self.texts[a][:at - len(line) - 1]
            else:
                self.texts[a] += line[:at]
                self.texts[a + 1] = self.texts[a + 1][at:]
        return True
