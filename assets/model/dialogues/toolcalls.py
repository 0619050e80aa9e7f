"""Tool calls: which tool a request needs, its arguments copied from the words, and an answer from the result.

Rules for what the model writes.  A request that one tool serves gets that call.  A file's or an artifact's text is told
as "It says: ..." with its lines joined by "; ", a folder as "It holds a, b and c.", hits as "It is in FILE, line N",
a command's output as "It printed: ...", a failure as "That failed: ...".  A request that lacks its object is asked
back, with the ask tool where there is one.  What needs no tool gets words; what needs a tool that is not there gets
"I have no tool for that."
"""
import re
from fractions import Fraction

from . import talk
from . import toolcalls_words as words
from .grammar import COLOURS, FILE_ENDS, JOBS, World

TOOLS = "read write edit list search shell calculator recall artifact ask".split()

# ---------------------------------------------------------------- lists of phrasings

_LETTERS = re.compile(r"[a-z]+")
_HOLE = re.compile(r"\{\w+\}")


def _vocabulary(text):
    return set(_LETTERS.findall(_HOLE.sub(" ", text).lower()))


def _tight(text):
    """A choice that may be empty takes its space with it."""
    text = re.sub(r" \[([^\[\]]*)\|\](?=[.,?]|$)", lambda m: "[ " + m.group(1).replace("|", "| ") + "|]", text)
    return re.sub(r"\[([^\[\]]*)\|\] ", lambda m: "[" + m.group(1).replace("|", " |") + " |]", text)


def arrange(text):
    """The lines of a list, ordered so that each fifth one (held out) uses only words that the others have.
    A line that starts with "= " is never held out."""
    items = list(dict.fromkeys(_tight(line) for line in text.split("\n") if line))
    common = {x[2:] for x in items if x.startswith("= ")}
    items = [x[2:] if x.startswith("= ") else x for x in items]
    need = len(items) // 5
    rest, held, counts = list(items), [], {}
    for item in items:
        for x in _vocabulary(item):
            counts[x] = counts.get(x, 0) + 1
    locked = {}
    for item in items[4::5] + [x for i, x in enumerate(items) if i % 5 != 4][::-1]:
        mine = _vocabulary(item)
        if len(held) < need and item not in common and all(counts[x] - locked.get(x, 0) > 1 for x in mine):
            held.append(item)
            rest.remove(item)
            for x in mine:
                locked[x] = locked.get(x, 0) + 1
    assert len(held) == need, (len(held), need, items[:2])
    return [held.pop(0) if i % 5 == 4 else rest.pop(0) for i in range(len(items))]


P = {name: arrange(value) for name, value in vars(words).items()
     if name.isupper() and isinstance(value, str) and value.startswith("\n")}
FIXED = [(command, arrange(text)) for command, text in words.SHELL_FIXED]
UNCLEAR = [(question, tool, arrange(text)) for question, tool, text in words.UNCLEAR]
AGAIN = {k: arrange(v) for k, v in words.AGAIN.items()}

LEADS = ["Hi. ", "Hello. ", "Next: ", "OK. ", "Now: ", "Thanks. ", "Good. ", "Hey. ", "One more thing: ",
         "Another one: "]
TAILS = [" Thanks.", " Thank you.", " Please.", " Thanks!"]
RAW = re.compile(r": \{[tcq]\}$")


def put(w, items, **values):
    """A phrasing of the list with its values, written as people write: sometimes small letters or no full stop."""
    text = w.pattern(items) if isinstance(items, list) else items
    raw, bare = RAW.search(text), text[0] != "{"
    x = w.rng.random()
    if 0.16 <= x < 0.26:
        text = w.free(LEADS) + text
    elif 0.26 <= x < 0.32 and not raw:
        text += w.free(TAILS)
    if not raw and w.chance(0.12) and text[-1] in ".?":
        text = text[:-1]
    text = w.say(text, **values)
    if x < 0.16 and bare and text[1] != "'" and text[:2] != "I ":
        text = text[0].lower() + text[1:]
    return text


# ---------------------------------------------------------------- values

NAMED = ["Makefile", "README.md", "LICENSE", "Dockerfile", "CHANGES", "TODO.txt", "INSTALL", "NOTES",
         "COPYING", "VERSION"]


def path(w):
    x = w.rng.random()
    if x < 0.66:
        return w.path()
    if x < 0.80:
        return f"{w.folder()}/{w.folder()}/{w.filename()}"
    if x < 0.88:
        return (w.folder() + "/" if w.chance(0.5) else "") + w.slot(NAMED)
    if x < 0.93:
        return "./" + w.path()
    if x < 0.97:
        return f"/{w.folder()}/{w.filename()}"
    return f"../{w.filename()}"


def folder(w):
    x = w.rng.random()
    if x < 0.6:
        return w.folder()
    if x < 0.78:
        return f"{w.folder()}/{w.folder()}"
    if x < 0.88:
        return w.folder() + "/"
    if x < 0.93:
        return "./" + w.folder()
    return ("/" if w.chance(0.6) else "../") + w.folder()


def key(w):
    return w.slot(words.KEYS) if w.chance(0.8) else w.word()


def value(w):
    x = w.between(0, 8)
    if x < 3:
        return str(w.amount())
    if x == 3:
        return w.person()
    if x == 4:
        return w.word()
    if x == 5:
        return w.code()
    if x == 6:
        return w.slot(COLOURS)
    return w.place() if x == 7 else w.time()


def pairs(w, n, style=None):
    """n lines of a file that sets keys: [(key, value, line)]."""
    style = style or w.free(["{k} = {v}", "{k} = {v}", "{k}: {v}", "{k}: {v}", "{k}={v}", "The {k} is {v}.",
                             '"{k}": "{v}",'])
    out = {}
    while len(out) < n:
        k = key(w)
        out[k] = value(w)
    return [(k, v, style.format(k=k, v=v)) for k, v in out.items()]


def scrap(w):
    """A short text of one line."""
    x = w.between(0, 10)
    if x == 0:
        return f"{w.free(words.VERBS)} {w.person()}"
    if x == 1:
        return f"{w.free(words.DO)} {w.slot(words.THINGS)}"
    if x == 2:
        return f"{w.free(words.DO)} {w.slot(words.THINGS)} and {w.free(words.VERBS)} {w.person()}"
    if x == 3:
        return f"{key(w)} = {value(w)}"
    if x == 4:
        return f"The {w.slot(words.ATTRIBUTES)} is {value(w)}."
    if x == 5:
        return f"{w.person()} comes at {w.time()}"
    if x == 6:
        return f"{w.word()} {w.word()}"
    if x == 7:
        return f"{w.place()}, {w.date()}"
    if x == 8:
        return f"{w.person()} is a {w.slot(JOBS)} in {w.place()}."
    return f"{key(w)}: {value(w)}" if x == 9 else f"meet {w.person()} in {w.place()} at {w.time()}"


def code(w):
    """A line of a program or a script."""
    a, b, n = w.word(), identifier(w), w.amount()
    return w.free(['print("{a}")', "{b} = {a}({n})", "if {a} > {n}: {b}()", '#include "{a}.h"', 'echo "{a} {n}"',
                   "return {b}({a}, {n});", 'char *{a} = "{b}";', "{a}[{n}] = {b}", "# {a}: {n}",
                   "int {b}(void);"]).replace("{a}", a).replace("{b}", b).replace("{n}", str(n))


def scraps(w):
    return [scrap(w) for _ in range(w.free([1, 1, 1, 2, 2, 3]))]


def quoted(w, text):
    x = w.rng.random()
    return f'"{text}"' if x < 0.72 else f"'{text}'" if x < 0.9 else f"`{text}`"


def identifier(w):
    x = w.between(0, 4)
    a, b = w.slot(words.CODE_WORDS), w.slot(words.CODE_WORDS + [w.word()])
    if x == 0:
        return f"{a}_{b}"
    if x == 1:
        return f"{a}_{w.word()}"
    if x == 2:
        return f"{a.upper()}_{b.upper()}"
    return a + b.capitalize() if x == 3 else f"{w.word()}_{b}"


def wanted(w, plain=True):
    """A search pattern, and how it is said."""
    x = w.rng.random()
    if x < 0.3:
        p = identifier(w)
    elif x < 0.55:
        p = w.slot(words.SEARCH_WORDS)
    elif x < 0.65:
        p = w.word()
    elif x < 0.75:
        p = w.person()
    elif x < 0.83:
        p = f"{w.free(['error', 'port', 'line', 'version', 'ticket', 'page'])} {w.amount()}"
    elif x < 0.92:
        p = f"{w.free(words.DO)} {w.slot(words.THINGS)}"
    else:
        p = str(w.number(100, 99999))
    if " " in p or not (plain or "_" in p) or w.chance(0.5):
        return p, quoted(w, p)
    return p, p


# ---------------------------------------------------------------- exchanges

class Exchange:
    """What the user asks, the calls with their results, the answer, and what of it is judged."""

    def __init__(self, ask, calls, answer, groups, again=None):
        self.ask, self.calls, self.answer = ask, calls, answer
        self.groups = [g if isinstance(g, list) else [g] for g in groups]
        self.again = again or []          # questions that this talk has answered already: (text, answer, groups)

    @property
    def tools(self):
        return list(dict.fromkeys(name for name, _, _ in self.calls))

    def turns(self, upto=None):
        """All of it, or up to the call of that index, its result left out."""
        out = [{"user": self.ask}]
        for i, (name, arguments, result) in enumerate(self.calls):
            out.append({"call": {"name": name, "arguments": arguments}})
            if i == upto:
                return out
            out.append({"result": result if isinstance(result, dict) else {"text": result}})
        return out + [{"assistant": self.answer}]


FILE_ERRORS = ["no such file: {x}", "no such file: {x}", "error: no such file: {x}", "cannot open {x}",
               "error: cannot open {x}: no such file or directory", "permission denied: {x}",
               "error: permission denied: {x}", "error: {x} is a folder", "error: {x} is not allowed"]
FOLDER_ERRORS = ["no such folder: {x}", "error: no such folder: {x}", "error: {x} is not a folder",
                 "permission denied: {x}", "cannot open {x}", "error: {x} is not allowed"]
WRITE_ERRORS = ["error: disk full", "disk full", "permission denied: {x}", "error: {x} is read only",
                "error: {x} is not allowed", "error: no such folder: {x}", "cannot write {x}"]
COMMAND_ERRORS = ["command not found: {x}", "error: command not found: {x}", "error: timed out after {n} s",
                  "timed out after {n} s", "error: not allowed", "permission denied: {x}"]


def failed(w, errors, x):
    """A failure: result, answer, groups."""
    result = w.free(errors).format(x=x, n=w.between(2, 120))
    what = result[7:] if result.startswith("error: ") else result
    return result, f"That failed: {what}.", ["failed", what]


def told(lines):
    return "It says: " + "; ".join(lines)


def again_file(w, f, v, past):
    return put(w, AGAIN["file"], v=v, x=past, u="written" if v == "write" else past), f + ".", [f]


def again_say(w, answer, groups):
    return put(w, AGAIN["say"]), answer, groups


def outcome(w, f, lines, errors=FILE_ERRORS, p=0.12):
    """What reading f gives: result, answer, groups, worked."""
    if w.chance(p):
        return failed(w, errors, f) + (False,)
    if w.chance(0.04):
        return w.free(["", "(empty)"]), f"{f} is empty.", ["empty"], True
    return "\n".join(lines), told(lines), lines, True


def read(w, big=False):
    f = path(w)
    k = w.rng.random()
    a = w.number(1, w.free([20, 99, 400, 3000]))
    lines = scraps(w)
    span = w.free([1, 2, 5, 9, 10, 14, 19, 20, 30, 40, w.between(1, 99), w.between(1, 300)])
    if k < 0.5:
        ask, more = put(w, P["READ"], f=f), {}
    elif k < 0.72:
        if not big and w.chance(0.6):
            span = len(lines) - 1 or 1
        ask, more = put(w, P["READ_LINES"], f=f, a=a, b=a + span), {"from": a, "to": a + span}
    elif k < 0.82:
        ask, more = put(w, P["READ_LINE"], f=f, a=a), {"from": a, "to": a}
        lines = lines[:1]
    elif k < 0.91:
        ask, more = put(w, P["READ_FROM"], f=f, a=a), {"from": a}
    else:
        b = w.between(2, 40) if big or w.chance(0.4) else max(2, len(lines))
        ask, more = put(w, P["READ_FIRST"], f=f, b=b), {"from": 1, "to": b}
    result, answer, groups, worked = outcome(w, f, lines)
    again = [again_say(w, answer, groups)] if worked else []
    if worked:
        again.append(again_file(w, f, "read", "read"))
    return Exchange(ask, [("read", {"path": f, **more}, result)], answer, groups, again)


def value_of(w, big=False):
    f = path(w)
    rows = pairs(w, w.free([1, 2, 3, 3, 4, 5, 6]))
    k, v, _ = w.free(rows)
    ask = put(w, P["VALUE"], f=f, k=k)
    arguments = {"path": f}
    if w.chance(0.1):
        result, answer, groups = failed(w, FILE_ERRORS, f)
        return Exchange(ask, [("read", arguments, result)], answer, groups)
    text = [line for _, _, line in rows]
    if w.chance(0.25):
        text.insert(w.between(0, len(text)), w.free(["# ", "", "- "]) + f"{w.free(words.DO)} {w.slot(words.THINGS)}")
    if len(rows) > 1 and w.chance(0.1):
        text = [line for key_, _, line in rows if key_ != k]
        return Exchange(ask, [("read", arguments, "\n".join(text))], f"The {k} is not in {f}.", ["not in " + f, k])
    again = [(put(w, P["VALUE_MORE"], k=k2), f"The {k2} is {v2}.", [v2]) for k2, v2, _ in rows if k2 != k]
    return Exchange(ask, [("read", arguments, "\n".join(text))], f"The {k} is {v}.", [v], again[:3])


def write(w, big=False):
    f = path(w)
    if w.chance(0.72):
        text = scrap(w)
        ask = put(w, P["WRITE"], f=f, t=quoted(w, text))
    else:
        lines = scraps(w) if w.chance(0.75) else [code(w) for _ in range(w.free([1, 1, 2, 3]))]
        text = "\n".join(lines)
        ask = put(w, P["WRITE_END"], f=f, t=text)
        if len(lines) > 1:
            ask = ask[:-len(text)].rstrip() + "\n" + text
    return written(w, f, text, ask)


def written(w, f, text, ask, before=()):
    arguments = {"path": f, "text": text}
    if w.chance(0.1):
        result, answer, groups = failed(w, WRITE_ERRORS, f)
        return Exchange(ask, [*before, ("write", arguments, result)], answer, groups)
    n = len(text.encode())
    result = w.free(["ok", "ok", "written", "done", f"wrote {n} bytes", f"wrote {n} bytes to {f}", f"wrote {f}",
                     f"{n} bytes written"])
    return Exchange(ask, [*before, ("write", arguments, result)], f"Done: {f} is written.", [f, "written"],
                    [again_file(w, f, "write", "wrote")])


def edit(w, big=False):
    f = path(w)
    x = w.rng.random()
    if x < 0.25:
        old, new = w.word(), w.word()
    elif x < 0.45:
        k, style = key(w), w.free(["{} = {}", "{}: {}", "{}={}"])
        old, new = style.format(k, value(w)), style.format(k, value(w))
    elif x < 0.6:
        old, new = str(w.amount()), str(w.amount())
    elif x < 0.75:
        make = w.free([w.person, w.place, w.time, w.date, w.code])
        old, new = make(), make()
    elif x < 0.85:
        old, new = (identifier(w), identifier(w)) if w.chance(0.6) else (code(w), code(w))
    else:
        old, new = scrap(w), scrap(w)
    bare = w.chance(0.3) and re.fullmatch(r"\w+", old + new)
    mark = "`" if '"' in old + new else w.free(['"', '"', '"', "'", "`"])
    o, n = (old, new) if bare else (mark + old + mark, mark + new + mark)
    if w.chance(0.2):
        new = ""
        ask = put(w, P["DELETE"], f=f, o=o)
    else:
        ask = put(w, P["EDIT"], f=f, o=o, n=n)
    return edited(w, f, old, new, ask)


def edited(w, f, old, new, ask, before=()):
    arguments = {"path": f, "old": old, "new": new}
    if w.chance(0.12):
        errors = ["not found: " + old, "error: not found: " + old, "error: the text is not in {x}", "no match in {x}"]
        result, answer, groups = failed(w, [e.replace("{x}", f).replace("{", "{{").replace("}", "}}") for e in errors] +
                                        FILE_ERRORS, f)
        return Exchange(ask, [*before, ("edit", arguments, result)], answer, groups)
    result = w.free(["ok", "ok", "changed", "done", "1 replaced", f"replaced 1 place in {f}", f"edited {f}"])
    return Exchange(ask, [*before, ("edit", arguments, result)], f"Done: {f} is changed.", [f, "changed"],
                    [again_file(w, f, "change", "changed")])


def joined(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def entries(w, n):
    out = []
    while len(out) < n:
        x = w.filename() if w.chance(0.75) else w.slot(NAMED) if w.chance(0.4) else w.folder() + "/"
        if x not in out:
            out.append(x)
    return sorted(out) if w.chance(0.7) else out


def list_(w, big=False):
    x = w.rng.random()
    if x < 0.25:
        return has(w)
    d = folder(w)
    if x < 0.38:
        d = "."
        ask = put(w, P["LIST_HERE"])
    else:
        ask = put(w, P["LIST"], d=d)
    names = entries(w, w.free([1, 2, 2, 3, 3, 4, 5]))
    again = []
    if d != "." and w.chance(0.12):
        result, answer, groups = failed(w, FOLDER_ERRORS, d)
    elif w.chance(0.05):
        result, answer, groups = w.free(["", "(empty)"]), "It is empty.", ["empty"]
    else:
        result, answer, groups = "\n".join(names), f"It holds {joined(names)}.", names
        again = [again_say(w, answer, groups)]
    return Exchange(ask, [("list", {"path": d}, result)], answer, groups, again)


def has(w):
    d = folder(w)
    names = entries(w, w.free([1, 2, 3, 3, 4, 5]))
    f = w.filename()
    if w.chance(0.55):
        f = w.free(names).rstrip("/")
        names = [n.rstrip("/") if n.rstrip("/") == f else n for n in names]
    ask = put(w, P["HAS"], d=d, f=f)
    if w.chance(0.1):
        result, answer, groups = failed(w, FOLDER_ERRORS, d)
    elif f in names:
        result, answer, groups = "\n".join(names), f"Yes, {d} holds {f}.", ["Yes", f]
    else:
        result, answer, groups = "\n".join(names), f"No, {d} does not hold {f}.", ["No,", "not hold", f]
    return Exchange(ask, [("list", {"path": d}, result)], answer, groups)


def hit(w, f, p):
    x = w.between(0, 6)
    text = (f"{p} = {w.amount()}" if x == 0 else f"# {p}" if x == 1 else f"{w.word()} {p} {w.word()}" if x == 2 else
            f"- {p}" if x == 3 else f"{w.word()}({p})" if x == 4 else f"{w.person()}: {p}" if x == 5 else
            f"int {p};")
    n = w.number(1, w.free([30, 200, 2000]))
    return f"{f}:{n}: {text}", f"{f}, line {n}", [f, f"line {n}"]


def search(w, big=False):
    file = w.chance(0.4)
    if w.chance(0.2):
        d, file = ".", False
        p, said = wanted(w, plain=False)
        ask = put(w, P["SEARCH_ALL"], p=said)
    else:
        d = path(w) if file else folder(w)
        p, said = wanted(w)
        ask = put(w, P["SEARCH"], p=said, d=d)
    x = w.rng.random()
    again = []
    if x < 0.08 and d != ".":
        result, answer, groups = failed(w, FILE_ERRORS[:6] if file else FOLDER_ERRORS, d)
    elif x < 0.2:
        result = w.free(["", "no match", "no match", "(no match)", "nothing found", "0 hits"])
        answer, groups = f"Nothing found for {p}.", ["Nothing found", p]
    else:
        hits = []
        for _ in range(w.free([1, 1, 1, 2, 2, 3])):
            f = d if file else w.path() if d == "." else d.rstrip("/") + "/" + w.filename()
            hits.append(hit(w, f, p))
        result = "\n".join(h[0] for h in hits)
        answer = "It is in " + "; ".join(h[1] for h in hits) + "."
        groups = [g for h in hits for g in h[2]]
        again = [again_say(w, answer, groups)]
    return Exchange(ask, [("search", {"pattern": p, "path": d}, result)], answer, groups, again)


def printed(w, output):
    """The answer to a command's output, a list of lines."""
    if not output:
        return w.free(["", "(no output)", "exit 0"]), "Done: it printed nothing.", ["nothing"]
    return "\n".join(output), "It printed: " + "; ".join(output), output


def command(w):
    """A command and what it prints."""
    f, d, n = w.path(), w.folder(), w.number(1, 900)
    x = w.between(0, 25)
    if x == 0:
        return f"wc -l {f}", [f"{n} {f}"]
    if x == 1:
        return f"ls {w.free(['-l', '-a', '-la', '-t', ''])} {d}".replace("  ", " "), entries(w, w.between(1, 3))
    if x == 2:
        return f"head -n {w.between(1, 3)} {f}", scraps(w)
    if x == 3:
        return f"tail -n {w.between(1, 3)} {f}", scraps(w)
    if x == 4:
        return f"cat {f}", scraps(w)
    if x == 5:
        return f"grep -n {w.slot(words.SEARCH_WORDS)} {f}", [f"{n}: {scrap(w)}"]
    if x == 6:
        return f"du -sh {d}", [f"{n}M {d}"]
    if x == 7:
        return f"mkdir {w.free(['', '-p '])}{d}", []
    if x == 8:
        return f"rm {f}", []
    if x == 9:
        return f"cp {f} {w.path()}", []
    if x == 10:
        return f"mv {f} {d}", []
    if x == 11:
        return f"chmod +x {f}", []
    if x == 12:
        return f"touch {f}", []
    if x == 13:
        return f"python3 {f}" + w.free(["", f" {n}", f" --{w.word()}", f" {w.filename()}"]), [scrap(w)]
    if x == 14:
        return f"make {w.slot('test clean all install docs lint bench'.split() + [w.word()])}", [
            w.free([f"{n} tests passed", f"built {d}", f"{n} of {n + w.between(1, 9)} tests passed", f"{n} warnings",
                    "ok"])]
    if x == 15:
        return w.free(["git log -{n}", "git log --oneline -{n}"]).format(n=w.between(1, 9)), [
            f"{w.code(6).lower()} {w.free(words.DO)} {w.slot(words.THINGS)}"]
    if x == 16:
        return f"git {w.free(['diff', 'add', 'blame', 'show'])} {f}", [] if w.chance(0.5) else [scrap(w)]
    if x == 17:
        return f"find {d} -name '*.{w.free(FILE_ENDS)}'", [f"{d}/{w.filename()}" for _ in range(w.between(1, 3))]
    if x == 18:
        return f"./{w.word()}.sh" + w.free(["", f" {n}", f" -n {n}", f" {f}"]), [scrap(w)]
    if x == 19:
        t = scrap(w).rstrip(".")
        return f'echo "{t}"', [t]
    if x == 20:
        return f"sort {f} | uniq -c", [f"{w.between(1, 40)} {w.word()}" for _ in range(w.between(1, 3))]
    if x == 21:
        return f"cat {f} | wc -l", [str(n)]
    if x == 22:
        return w.free(["whoami", "hostname", "uname", "id -un"]), [w.word()]
    if x == 23:
        return w.free(["date", "date +%F", "pwd", "uptime", "df -h", "git status"]), [scrap(w)]
    if x == 24:
        return f"{w.word()} --{w.word()} {n}", [scrap(w)] if w.chance(0.7) else []
    return f"gcc -o {w.word()} {f}", [] if w.chance(0.6) else [f"{f}:{n}: error"]


FIXED_OUT = {
    "pwd": lambda w: [f"/{w.folder()}/{w.folder()}"],
    "whoami": lambda w: [w.word()],
    "df -h": lambda w: [f"/dev/sd{w.free('abc')}{w.between(1, 4)} {w.number(20, 900)}G {w.between(2, 99)}%"],
    "free -m": lambda w: [f"Mem: {w.number(2000, 64000)} total, {w.number(100, 9000)} free"],
    "git status": lambda w: [f"modified: {w.path()}" for _ in range(w.between(1, 2))],
    "git log": lambda w: [f"{w.code(6).lower()} {w.free(words.DO)} {w.slot(words.THINGS)}"
                          for _ in range(w.between(1, 2))],
    "make": lambda w: [w.free([f"built {w.word()}", f"{w.between(1, 40)} warnings",
                               f"{w.path()}:{w.number(1, 900)}: error"])],
    "make test": lambda w: [w.free([f"{w.number(2, 400)} tests passed", f"{w.between(1, 40)} tests failed"])],
}


def shell(w, big=False):
    x = w.rng.random()
    if x < 0.25:
        c, items = w.free(FIXED)
        ask, output = put(w, items), FIXED_OUT[c](w)
    else:
        c, output = command(w)
        if x < 0.8 and ("'" not in c and "`" not in c):
            ask = put(w, P["SHELL"], c=f"`{c}`" if w.chance(0.8) or '"' in c else f'"{c}"')
        else:
            ask = put(w, P["SHELL_END"], c=c)
    if w.chance(0.1):
        result, answer, groups = failed(w, COMMAND_ERRORS, c.split()[0])
        return Exchange(ask, [("shell", {"command": c}, result)], answer, groups)
    result, answer, groups = printed(w, output)
    again = [again_say(w, answer, groups)] if output else []
    return Exchange(ask, [("shell", {"command": c}, result)], answer, groups, again)


# ---------------------------------------------------------------- arithmetic

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
SAID = {"+": ["plus", "plus", "+", " + "], "-": ["minus", "minus", "-", " - "],
        "*": ["times", "times", "multiplied by", "*", " * ", "x"],
        "/": ["divided by", "divided by", "over", "/", " / "]}


def exact(expression):
    """The value as the calculator prints it; None where it divides by nothing."""
    try:
        x = eval(_NUMBER.sub(lambda m: f"F('{m.group()}')", expression), {"F": Fraction, "__builtins__": {}})
    except ZeroDivisionError:
        return None
    if x.denominator == 1:
        return str(x.numerator)
    millionths = round(abs(x) * 10 ** 6)
    digits = f"{millionths // 10 ** 6}.{millionths % 10 ** 6:06d}".rstrip("0").rstrip(".")
    return ("-" if x < 0 and millionths else "") + digits


def figure(w):
    x = w.rng.random()
    if x < 0.12:
        return w._open(lambda: f"{w.rng.randint(0, 99)}.{w.rng.randint(1, 9)}" + w.rng.choice(["", "5", "25"]))
    return str(w.number(2, 99)) if x < 0.5 else str(w.amount())


def sum_of(w):
    """An expression: how it is said, and as the calculator takes it."""
    x = w.rng.random()
    a, b, c = figure(w), figure(w), figure(w)
    if x < 0.08:
        b = w.number(2, 95)
        return w.say(w.free(["{b} percent of {a}", "{b}% of {a}", "{b} per cent of {a}"]), a=a, b=b), f"{a}*{b}/100"
    if x < 0.14:
        return w.say(w.free(["the square of {a}", "{a} squared", "{a} times itself"]), a=a), f"{a}*{a}"
    if x < 0.2:
        return w.free([(f"half of {a}", f"{a}/2"), (f"twice {a}", f"{a}*2"), (f"double {a}", f"{a}*2"),
                       (f"a third of {a}", f"{a}/3"), (f"a quarter of {a}", f"{a}/4")])
    if x < 0.34:
        return w.free([(f"the sum of {a} and {b}", f"{a}+{b}"), (f"the difference of {a} and {b}", f"{a}-{b}"),
                       (f"the product of {a} and {b}", f"{a}*{b}"), (f"{a} and {b} together", f"{a}+{b}"),
                       (f"the sum of {a}, {b} and {c}", f"{a}+{b}+{c}"),
                       (f"the average of {a} and {b}", f"({a}+{b})/2"),
                       (f"the sum of {a} and {b}, times {c}", f"({a}+{b})*{c}"),
                       (f"the difference of {a} and {b}, times {c}", f"({a}-{b})*{c}")])
    n = w.free([2, 2, 2, 3, 3, 4])
    symbols = x > 0.75
    said, out = [a], a
    gap = w.free(["", " "])
    brackets = w.between(0, n - 2) if symbols and n > 2 and w.chance(0.6) else -1
    parts = [a]
    for i in range(n - 1):
        op, f = w.free("++--**/"), figure(w)
        if op == "/" and "." not in parts[-1]:
            f = str(w.between(2, 25))
            if n == 2:
                a = str(int(a) * int(f))
                parts[0] = a
        parts += [op, f]
    said = list(parts)
    if brackets >= 0:
        parts[2 * brackets] = "(" + parts[2 * brackets]
        parts[2 * brackets + 2] += ")"
        said = list(parts)
    out = "".join(parts)
    if symbols:
        return gap.join(said), out
    for i in range(1, len(said), 2):
        said[i] = w.free(SAID[said[i]])
        if said[i].isalpha() or " " in said[i].strip():
            said[i] = f" {said[i]} "
    return "".join(said).replace("  ", " "), out


def good_sum(w):
    while True:
        said, e = sum_of(w)
        if len(exact(e) or "0" * 15) < 15:
            return said, e


def calculator(w, big=False):
    said, e = good_sum(w)
    ask = put(w, talk.SUM_ASKS, e=said)
    if w.chance(0.03):
        e = e.split("/")[0].replace("(", "").replace(")", "") + "/0"
        ask = put(w, talk.SUM_ASKS, e=e)
        result, answer, groups = failed(w, ["division by zero", "error: division by zero",
                                            "error: cannot divide by zero"], e)
        return Exchange(ask, [("calculator", {"expression": e}, result)], answer, groups)
    r = exact(e)
    answer = f"{e} is {r}."
    return Exchange(ask, [("calculator", {"expression": e}, r)], answer, [r],
                    [(put(w, AGAIN["calculator"]), answer, [r])])


# ---------------------------------------------------------------- memory, artifacts, questions

def remembered(w):
    """A matter, the sentence that tells it, and the model's way to say both."""
    a, v = w.slot(words.ATTRIBUTES) if w.chance(0.7) else w.word(), value(w)
    x = w.rng.random()
    if x < 0.3:
        q = f"{w.person()}'s {a}"
    elif x < 0.55:
        q = f"the {a} of {w.project()}"
    elif x < 0.7:
        q = f"the {a}"
    elif x < 0.85:
        t = w.slot(words.THINGS)
        t = t.split()[-1] if w.chance(0.6) else w.word()
        return (f"my {t}", f"My {t} is in {v}.", f"your {t}", f"Your {t} is in {v}.") if w.chance(0.4) else (
            f"my {a}", f"My {a} is {v}.", f"your {a}", f"Your {a} is {v}.")
    else:
        q = w.free([w.project, w.place])()
        s = w.free([f"{q} is {w.date()}", f"{q} belongs to {w.person()}", f"{q} costs {w.amount()}"]) + "."
        return q, s, q, s
    s = f"{q[0].upper()}{q[1:]} is {v}."
    return q, s, q, s


def recall(w, big=False):
    q, said, mine, tells = remembered(w)
    ask = put(w, P["RECALL"], q=q)
    if w.chance(0.14):
        result = w.free(["", "nothing found", "no match", "(nothing)", "nothing"])
        return Exchange(ask, [("recall", {"query": q}, result)], f"I find nothing about {mine}.",
                        ["nothing about " + mine])
    form = w.free(["{}", "{}", "user: {}", "[" + w.artifact() + "] {}", w.artifact() + ": {}"])
    lines = [form.format(said)]
    while w.chance(0.25) and len(lines) < 3:
        lines.insert(w.between(0, len(lines)), form.format(remembered(w)[1]))
    return Exchange(ask, [("recall", {"query": q}, "\n".join(lines))], tells, [tells.rstrip(".")],
                    [again_say(w, tells, [tells.rstrip(".")])])


def artifact(w, big=False):
    i = w.artifact()
    a = w.number(1, w.free([99, 900, 5000, 90000]))
    if w.chance(0.7):
        ask = put(w, P["ARTIFACT"], i=i, a=a)
    else:
        ask, a = put(w, P["ARTIFACT_START"], i=i), 0
    if w.chance(0.12):
        result, answer, groups = failed(w, ["no such artifact: {x}", "error: no such artifact: {x}",
                                            "error: the offset is past the end of {x}"], i)
        return Exchange(ask, [("artifact", {"id": i, "offset": a}, result)], answer, groups)
    lines = scraps(w)
    answer = told(lines)
    return Exchange(ask, [("artifact", {"id": i, "offset": a}, {"text": "\n".join(lines), "end": i})], answer, lines,
                    [again_say(w, answer, lines)])


def question(w):
    """A question to the user, and an answer."""
    x, t = w.between(0, 9), w.slot(words.THINGS).split()[-1]
    if x == 0:
        return f"Which colour should the {t} have?", w.slot(COLOURS)
    if x == 1:
        return f"What is the {w.slot(words.ATTRIBUTES)} of {w.project()}?", value(w)
    if x == 2:
        return f"Shall I {w.free(words.DO)} {w.path()}?", w.free(["yes", "no"])
    if x == 3:
        return f"How many {w.word()}s do you need?", str(w.amount())
    if x == 4:
        return f"When does {w.person()} come?", w.time()
    if x == 5:
        return f"Where is the {t}?", "in " + w.place()
    if x == 6:
        return f"Who is the {w.slot(JOBS)}?", w.person()
    if x == 7:
        return f"Which {key(w)} do you want?", value(w)
    if x == 8:
        return f"Do you want {w.slot(COLOURS)} or {w.slot(COLOURS)}?", w.slot(COLOURS)
    return f"What is your {key(w)}?", value(w)


def ask_(w, big=False):
    if w.chance(0.3):
        return unclear(w)
    q, a = question(w)
    text = w.pattern(P["ASK"])
    ask = put(w, text, q=q if RAW.search(text) and w.chance(0.6) else quoted(w, q))
    answer = words.SAID.format(a=a)
    return Exchange(ask, [("ask", {"question": q}, a)], answer, [a], [again_say(w, answer, [a])])


def lacking(w):
    """A request that lacks its object: text, the question back, the object, the calls after it, the answer, groups."""
    if w.chance(0.25):
        f, text = path(w), scrap(w)
        x = written(w, f, text, put(w, P["WRITE_UNCLEAR"], f=f))
        return f"What shall I write to {f}?", text, x
    q, tool, items = w.free(UNCLEAR)
    if tool == "read":
        f = path(w)
        result, answer, groups, _ = outcome(w, f, scraps(w))
        return q, f, Exchange(put(w, items), [("read", {"path": f}, result)], answer, groups)
    if tool == "list":
        d, names = folder(w), entries(w, w.between(1, 4))
        return q, d, Exchange(put(w, items), [("list", {"path": d}, "\n".join(names))],
                              f"It holds {joined(names)}.", names)
    if tool == "shell":
        c, output = command(w)
        result, answer, groups = printed(w, output)
        return q, c, Exchange(put(w, items), [("shell", {"command": c}, result)], answer, groups)
    p, _ = wanted(w)
    line, where, groups = hit(w, w.path(), p)
    return q, p, Exchange(put(w, items), [("search", {"pattern": p, "path": "."}, line)], f"It is in {where}.", groups)


def unclear(w):
    q, a, x = lacking(w)
    x.calls.insert(0, ("ask", {"question": q}, a))
    return x


# ---------------------------------------------------------------- several calls for one request

def read_edit(w):
    f = path(w)
    style = w.free(["{k} = {v}", "{k}: {v}", "{k}={v}"])
    rows = pairs(w, w.free([1, 2, 2, 3, 4]), style)
    k, _, old = w.free(rows)
    v = value(w)
    ask = put(w, P["READ_THEN_EDIT"], f=f, k=k, n=v)
    return edited(w, f, old, style.format(k=k, v=v), ask, [("read", {"path": f}, "\n".join(r[2] for r in rows))])


def list_read(w):
    d, end = folder(w), w.free(FILE_ENDS)
    names = [n for n in entries(w, w.free([1, 2, 3, 4])) if not n.endswith("." + end)]
    x = w.word() + "." + end
    names.insert(w.between(0, len(names)), x)
    f = d.rstrip("/") + "/" + x
    result, answer, groups, _ = outcome(w, f, scraps(w))
    return Exchange(put(w, P["LIST_THEN_READ"], x=end, d=d),
                    [("list", {"path": d}, "\n".join(names)), ("read", {"path": f}, result)], answer, groups)


def search_read(w):
    d = folder(w)
    p, said = wanted(w)
    f = d.rstrip("/") + "/" + w.filename()
    result, answer, groups, _ = outcome(w, f, scraps(w))
    return Exchange(put(w, P["SEARCH_THEN_READ"], p=said, d=d),
                    [("search", {"pattern": p, "path": d}, hit(w, f, p)[0]), ("read", {"path": f}, result)], answer,
                    groups)


def read_sum(w):
    f = path(w)
    numbers = [figure(w) for _ in range(w.free([2, 2, 3, 4]))]
    e = "+".join(numbers)
    r = exact(e)
    return Exchange(put(w, P["READ_THEN_SUM"], f=f),
                    [("read", {"path": f}, "\n".join(numbers)), ("calculator", {"expression": e}, r)],
                    f"{e} is {r}.", [r])


def sum_write(w):
    f = path(w)
    said, e = good_sum(w)
    r = exact(e)
    return written(w, f, r, put(w, P["SUM_THEN_WRITE"], f=f, e=said), [("calculator", {"expression": e}, r)])


def read_write(w):
    f, g = path(w), path(w)
    text = "\n".join(scraps(w))
    return written(w, g, text, put(w, P["READ_THEN_WRITE"], f=f, g=g), [("read", {"path": f}, text)])


THEN = ["{a} Then {b}", "{a} Then {b}", "{a} And then: {b}", "{a} After that: {b}", "First: {a} Then: {b}"]


def pair(w):
    """Two requests in one message: two calls, then both answers, a line each."""
    x, y = (w.free([read, value_of, list_, calculator, search, edit])(w) for _ in range(2))
    one, two = x.ask, y.ask
    if one[-1] not in ".?!":
        one += "."
    if two[0].isupper() and two[:2] not in ("I ", "I'") and w.chance(0.6):
        two = two[0].lower() + two[1:]
    return Exchange(w.free(THEN).format(a=one, b=two), x.calls + y.calls,
                    x.answer + "\n" + y.answer, x.groups + y.groups)


SINGLE = [(read, 20), (value_of, 16), (write, 12), (edit, 12), (list_, 12), (search, 13), (shell, 14), (calculator, 13),
          (recall, 11), (artifact, 5), (ask_, 9)]
SEVERAL = [(read_edit, 4), (list_read, 3), (search_read, 3), (read_sum, 3), (sum_write, 3), (read_write, 2), (pair, 6)]


def _ladder(table):
    return [make for make, share in table for _ in range(share)]


ALL_BAG = _ladder(SINGLE) + _ladder(SEVERAL)
SINGLES = {make for make, _ in SINGLE}


def exchange(w, ban=()):
    while True:
        x = w.free(ALL_BAG)(w)
        if not set(x.tools) & set(ban):
            return x


# ---------------------------------------------------------------- no call

INTENTS = ["hello", "hello", "thanks", "thanks", "bye", "ack", "ack", "how", "praise", "sorry"]


def mention(w):
    text = w.say(w.pattern(P["MENTION"]), f=path(w), d=w.folder(), p=w.person(), c=f"`{command(w)[0]}`")
    if w.chance(0.1):
        text = w.free(LEADS[:2] + ["By the way: ", "OK. "]) + text
    return text, words.KNOW, [["good to know"]]


def chat(w, turns):
    """A turn that needs no tool, added to the turns."""
    text, answer, groups = mention(w) if w.chance(0.55) else talk.small(w, w.free(INTENTS))
    turns += [{"user": text}, {"assistant": answer}]
    return [[g] if isinstance(g, str) else g for g in groups]


def again(w, turns, x):
    text, answer, groups = w.free(x.again)
    turns += [{"user": text}, {"assistant": answer}]
    return [[g] if isinstance(g, str) else g for g in groups]


def no_tool(w, turns):
    """A request for a tool that is not there: the tools that must not be."""
    make = w.free([read, read, value_of, write, edit, list_, search, search, shell, shell, artifact])
    x = make(w)
    turns += [{"user": x.ask}, {"assistant": words.NO_TOOL}]
    return [["no tool for that"]], set(x.tools) | {"shell"}


def ask_in_words(w, turns, full):
    """A request that lacks its object, and no ask tool: asked back in words."""
    if w.chance(0.25):
        q, _ = question(w)
        text = w.pattern(P["ASK"])
        while "tool" in text or "user" in text:
            text = w.pattern(P["ASK"])
        turns += [{"user": put(w, text, q=q if RAW.search(text) and w.chance(0.6) else quoted(w, q))}, {"assistant": q}]
        return [[q]], set()
    q, a, x = lacking(w)
    turns += [{"user": x.ask}, {"assistant": q}]
    if full:
        turns += [{"user": a}] + x.turns()[1:]
    return [[q]], set(x.tools)


def said_before(w, turns, tools):
    """What a file holds has been said in this talk: no need to read it."""
    f = path(w)
    rows = pairs(w, w.free([1, 2, 3]), "{k} {v}")
    for k, v, _ in rows:
        turns += [{"user": put(w, P["FILE_FACT"], k=k, f=f, v=v)}, {"assistant": f"Noted: the {k} in {f} is {v}."}]
        if w.chance(0.25):
            before(w, turns, tools, 1)
    k, v, _ = w.free(rows)
    turns += [{"user": put(w, P["VALUE_SAID"], k=k, f=f)}, {"assistant": f"The {k} in {f} is {v}."}]
    tools.append("read")
    return [[v]]


def toolbox(w, needed, ban=()):
    """The needed tools among others, in any order."""
    others = [t for t in TOOLS if t not in needed and t not in ban]
    most = len(others)
    n = w.free([0, 1, 2, 2, 3, 4, 5, most, most, w.between(0, most)])
    out = w.shuffle(list(needed) + w.sample(others, min(n, most)))
    return out or [w.free(others)]


def before(w, turns, tools, n, ban=()):
    """n earlier exchanges or chats."""
    for _ in range(n):
        x = w.rng.random()
        if x < 0.4:
            chat(w, turns)
        else:
            e = exchange(w, ban)
            turns += e.turns()
            tools += e.tools
            if e.again and w.chance(0.2):
                again(w, turns, e)


def finish(w, turns, tools, ban=(), check=None):
    d = {"role": "assistant", "tools": toolbox(w, list(dict.fromkeys(tools)), ban), "summary": None, "turns": turns}
    if check:
        d["check"] = check
    return d


def lacks_tool(x, box):
    """Is "I have no tool for that." the answer to this exchange's request?"""
    need = set(x.tools)
    return len(x.calls) == 1 and not need & {"calculator", "recall", "ask"} and not (need | {"shell"}) & set(box)


def box_dialogue(w):
    """Requests of all kinds to one small set of tools: each is served, or there is no tool for it."""
    box, turns = w.sample(TOOLS, w.between(1, 5)), []
    for _ in range(w.between(3, 6)):
        r = w.rng.random()
        if r < 0.12:
            chat(w, turns)
        elif r < 0.24 and "ask" not in box:
            ask_in_words(w, turns, False)
        else:
            lacking_one = r > 0.7
            for _ in range(12):
                x = w.free(ALL_BAG)(w)
                if lacking_one and lacks_tool(x, box):
                    turns += [{"user": x.ask}, {"assistant": words.NO_TOOL}]
                    break
                if not lacking_one and set(x.tools) <= set(box):
                    turns += x.turns()
                    if x.again and w.chance(0.3):
                        again(w, turns, x)
                    break
    if not turns:
        return none_dialogue(w)
    return {"role": "assistant", "tools": box, "summary": None, "turns": turns}


def call_dialogue(w, check=False, chat_before=0.4):
    turns, tools = [], []
    if w.chance(chat_before):
        before(w, turns, tools, w.free([1, 1, 2, 3]))
    make = w.free(ALL_BAG)
    x = make(w, True) if make in SINGLES else make(w)
    at = len(x.calls) - 1 if len(x.calls) > 1 and w.chance(0.5) else 0
    turns += x.turns(at)
    name, arguments, _ = x.calls[at]
    return finish(w, turns, tools + x.tools, (),
                  {"kind": "call", "name": name, "arguments": arguments} if check else None)


def result_dialogue(w, check=False):
    turns, tools = [], []
    if check:
        if w.chance(0.5):
            before(w, turns, tools, w.free([1, 1, 2, 3]))
        x = exchange(w)
        turns += x.turns()
        return finish(w, turns, tools + x.tools, (), {"kind": "contains", "all": x.groups})
    for i in range(w.free([1, 1, 2, 2, 3, 4])):
        if i and w.chance(0.25):
            chat(w, turns)
        x = exchange(w)
        turns += x.turns()
        tools += x.tools
        if x.again and w.chance(0.22):
            again(w, turns, x)
    return finish(w, turns, tools)


def none_dialogue(w, check=False):
    turns, tools, ban = [], [], set()
    k = w.rng.random()
    lead = w.free([1, 1, 2, 3]) if w.chance(0.5) else 0
    if k < 0.08:
        before(w, turns, tools, max(0, lead - 1))
        groups = said_before(w, turns, tools)
    elif k < 0.36:
        before(w, turns, tools, lead)
        groups = chat(w, turns)
    elif k < 0.59:
        before(w, turns, tools, max(0, lead - 1))
        while True:
            x = exchange(w)
            if x.again:
                break
        turns += x.turns()
        tools += x.tools
        groups = again(w, turns, x)
    elif k < 0.85:
        last = []
        groups, ban = no_tool(w, last)
        before(w, turns, tools, lead, ban)
        turns += last
        while not check and w.chance(0.45):
            x = exchange(w, ban)
            turns += x.turns()
            tools += x.tools
    else:
        last = []
        ban = {"ask"}
        groups, more = ask_in_words(w, last, not check and w.chance(0.6))
        before(w, turns, tools, lead, ban)
        turns += last
        tools += sorted(more)
    return finish(w, turns, tools, ban, {"kind": "no_call", "all": groups} if check else None)


# ---------------------------------------------------------------- the module's face

def dialogue(w):
    x = w.rng.random()
    return (box_dialogue(w) if x < 0.35 else call_dialogue(w) if x < 0.45 else result_dialogue(w) if x < 0.75 else
            none_dialogue(w))


def segment(w):
    turns, tools = [], []
    if w.chance(0.15):
        chat(w, turns)
        if w.chance(0.3):
            return turns, tools
    for _ in range(w.free([1, 1, 2])):
        x = exchange(w)
        turns += x.turns()
        tools += [t for t in x.tools if t not in tools]
    if x.again and w.chance(0.25):
        again(w, turns, x)
    return turns, tools


CASES = {
    "tools.call": lambda w: call_dialogue(w, True, 0.5),
    "tools.none": lambda w: none_dialogue(w, True),
    "tools.result": lambda w: result_dialogue(w, True),
}


# ---------------------------------------------------------------- a look at it, and checks

SAYS = {"assistant", "call"}
ARGUMENTS = {"read": ["path", "from", "to"], "write": ["path", "text"], "edit": ["path", "old", "new"],
             "list": ["path"], "search": ["pattern", "path"], "shell": ["command"], "calculator": ["expression"],
             "recall": ["query"],
             "artifact": ["id", "offset"], "ask": ["question"]}


def validate(d):
    turns = d["turns"]
    assert turns and d["tools"] and set(d["tools"]) <= set(TOOLS) and len(set(d["tools"])) == len(d["tools"]), d
    mine = False
    for i, t in enumerate(turns):
        kind, = t
        if i or kind != "user":
            assert (kind in SAYS) != mine, turns
        mine = kind in SAYS
        assert (kind == "result") == (i > 0 and "call" in turns[i - 1]), turns
        assert kind in ("user", "result", "assistant", "call"), kind
        if kind == "call":
            name, arguments = t["call"]["name"], t["call"]["arguments"]
            assert name in d["tools"], d
            assert list(arguments) == [a for a in ARGUMENTS[name] if a in arguments], t
            assert all(type(v) is (int if k in ("from", "to", "offset") else str) for k, v in arguments.items()), t
        elif kind != "result":
            assert t[kind].strip(), turns
            assert not re.search(r"\{[a-z]\}", t[kind]) and "|]" not in t[kind], t
    assert mine, turns
    check = d.get("check")
    if check:
        last = turns[-1]
        if check["kind"] == "call":
            assert last["call"] == {"name": check["name"], "arguments": check["arguments"]}
        else:
            said = last["assistant"].lower()
            assert all(any(x.lower() in said for x in g) for g in check["all"]), (check, said)


def main():
    import json
    for i in range(8):
        d = dialogue(World(f"look/{i}"))
        print("---", ", ".join(d["tools"]))
        for t in d["turns"]:
            (kind, said), = t.items()
            print(f"  {kind}: {said if isinstance(said, str) else json.dumps(said)}")
    seen = set()
    for i in range(2000):
        d = dialogue(World(f"test/{i}"))
        validate(d)
        seen.add(json.dumps(d))
        turns, tools = segment(World(f"segment/{i}"))
        validate({"tools": tools or ["read"], "turns": turns})
    assert len(seen) >= 1900, len(seen)
    for row, make in CASES.items():
        for i in range(300):
            validate(make(World(f"{row}/{i}", "held")))
    print("ok:", len(seen), "of 2000 distinct;", ", ".join(CASES))


if __name__ == "__main__":
    main()
