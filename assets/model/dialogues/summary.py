"""Summaries: writing the record of a conversation, merging it into an earlier one, and going on from one.

A conversation plants items (facts, decisions, tasks done, tasks open) among small talk and tool calls.  Each item has
one canonical line that follows from the user's words:

    fact      "Take 8080 as the port."             the port is 8080
              "My dog goes by the name Rufo."      user's dog is called Rufo
    decision  "Let's go with Lua for the parser."  use Lua for the parser
    done      "The invoice has been paid."         paid the invoice
    open      "Don't forget to call Viktor."       call Viktor

The model answers each item with its line, in the order of the items: "Noted: your dog is called Rufo.", "Decided:
use Lua for the parser.", "Done: paid the invoice.", "Open: call Viktor.", several as "Noted: a; b. Open: c.".  So the
record has only to copy such lines, in the order in which they were last said.
"""
import re

from . import grammar as g
from .summary_values import (ANIMALS, CALLED, COMPOUNDS, PERSONAL, QUESTION, SPECIAL, TASKS_TO, THINGS, TOPICS, VERBS,
                             WHEN, half, make_object, value)
from .summary_words import (ASK_CALLED, ASK_DECISION, ASK_DECISIONS, ASK_DONE, ASK_EDIT, ASK_FACT, ASK_LIST, ASK_NAME,
                            ASK_OPEN, ASK_READ, ASK_SUM, ASK_TASK, ASK_USE, ASK_WRITE, DECIDE, DECIDE_NOT, DECIDE_USE,
                            DONE, DONE_FINISH, FACT, FACT_CALLED, FACT_NAME, FACT_THING, LEAD, OPEN, OPEN_NOT_YET,
                            OPEN_OBJECT, PAD, UPDATE, _CHAT_BAG)

# ---------------------------------------------------------------------------------------------------- items

def cap(s):
    return s[:1].upper() + s[1:]


class Fact:
    __slots__ = ("own", "k", "kind", "v", "key")

    def __init__(self, own, k, kind, v):
        self.own, self.k, self.kind, self.v = own, k, kind, v
        self.key = k if own is None else (own + "'s " + k)

    def line(self):
        return ("the " + self.k if self.own is None else self.key) + self.verb() + self.v

    def verb(self):
        return " is called " if self.kind == "called" else " is "

    def noted(self):
        who = "the " + self.k if self.own is None else "your " + self.k if self.own == "user" else self.key
        return "Noted: " + who + self.verb() + self.v + "."

    def subject(self):
        return "the " + self.k if self.own is None else "my " + self.k if self.own == "user" else self.key

    def answer(self):
        who = "The " + self.k if self.own is None else "Your " + self.k if self.own == "user" else self.key
        return who + self.verb() + self.v + "."

    def words(self):
        me, s = self.own == "user", self.subject()
        return dict(s=s, S=cap(s), k=self.k, v=self.v,
                    ak=("an " if self.k[0] in "aeiou" else "a ") + self.k,
                    o="I" if me else self.own, m="me" if me else self.own,
                    be="am" if me else "is", have="have" if me else "has", do="do" if me else "does",
                    e="" if me else "s", es="" if me else "es", was="was")


def make_fact(w, used):
    for _ in range(40):
        r = w.rng.random()
        if r < 0.06:
            own, k, kind, v = "user", "name", "name", w.person()
        elif r < 0.24:
            own = "user" if w.chance(0.5) else w.person()
            k, kind, v = w.free(CALLED), "called", w.person()
        elif r < 0.46:
            own = "user" if w.chance(0.5) else w.person()
            k, kind = w.free(PERSONAL)
            v = value(w, kind)
        elif r < 0.80:
            own, (k, kind) = None, w.free(THINGS)
            v = value(w, kind)
        else:
            own, (k, kind) = None, half(w, COMPOUNDS)
            v = value(w, kind)
        f = Fact(own, k, kind, v)
        if not {f.key, f.v, own if own != "user" and own else f.key} & used:
            used.update((f.key, f.v))
            return f
    raise AssertionError("no fact left")


def new_value(w, f, used):
    """Another value for a fact."""
    for _ in range(40):
        v = w.person() if f.kind in ("name", "called") else value(w, f.kind)
        if v not in used:
            used.add(v)
            return v
    return None


class Act:
    """Something to do: base, past, participle and -ing with the object, for open and done lines."""
    __slots__ = ("verb", "obj", "many", "when")

    def __init__(self, verb, obj, many):
        self.verb, self.obj, self.many, self.when = verb, obj, many, ""

    def open_line(self):
        return self.verb[0] + " " + self.obj + self.when

    def done_line(self):
        return self.verb[1] + " " + self.obj

    def words(self, when=True):
        b, p, pp, ing, _ = self.verb
        o, many, t = self.obj, self.many, self.when if when else ""
        # a file's name keeps its case where a sentence begins
        big = o if self.verb[4] == "file" else cap(o)
        return dict(base=f"{b} {o}{t}", past=f"{p} {o}", pp=f"{pp} {o}", ing=f"{ing} {o}", o=o, O=big, v3=pp, when=t,
                    **{"is": "are" if many else "is", "has": "have" if many else "has",
                       "was": "were" if many else "was",
                       "needs": "need" if many else "needs", "Is": "Are" if many else "Is",
                       "Has": "Have" if many else "Has", "Does": "Do" if many else "Does"})


def make_act(w, used):
    while True:
        verb = w.free(VERBS)
        obj, many = make_object(w, verb[4])
        if obj not in used:
            used.add(obj)
            return Act(verb, obj, many)


def make_when(w):
    return w.say(w.free(WHEN), d=w.free(g.WEEKDAYS), date=w.date(), time=w.time())


class Decision:
    __slots__ = ("text", "topic", "x")

    def __init__(self, text, topic, x):
        self.text, self.topic, self.x = text, topic, x


def make_decision(w, used, use=0.3):
    """text is the bare action; x is set for "use x for y"."""
    y = half(w, TOPICS)
    while y in used:
        y = half(w, TOPICS) + " of " + w.project()
    used.add(y)
    if w.chance(use):
        x = w.free([w.project, w.project, w.filename, w.word, lambda: half(w, g.LANGUAGES),
                    lambda: half(w, g.LANGUAGES), lambda: half(w, g.COLOURS)])()
        return Decision(f"use {x} for {y}", y, x)
    form = w.pattern(TASKS_TO)
    slot = [m for m in g._SLOT.findall(form) if m != "y"]
    values = {s: w.project() if s == "x" else w.person() if s == "P" else value(w, s) for s in slot}
    return Decision(w.say(form, y=y, **values), y, None)


# ---------------------------------------------------------------------------------------------------- conversations

SILENT = "The summary says nothing of that."
UNSAID = "You have not told me."
NOTHING = dict(decisions="Nothing is decided.", done="Nothing is done yet.", open="Nothing is open.")
ALL_TOOLS = "read write edit list search shell calculator recall artifact ask".split()


def echoes(answers):
    """Answers in their order; one that starts like that before it is joined to it: "Noted: a; b. Open: c."."""
    out, head = "", None
    for answer in answers:
        mine, line = answer.split(": ", 1)
        out = out[:-1] + "; " + line if mine == head else out + (" " if out else "") + answer
        head = mine
    return out


def lower_start(form):
    """A phrasing as it goes on after a comma."""
    if form.startswith("{S}"):
        return "{s}" + form[3:]
    if form.startswith("{O}"):
        return "{o}" + form[3:]
    if form.startswith("["):
        head, tail = form.split("]", 1)
        return "[" + "|".join(lower_start(x) if x else x for x in head[1:].split("|")) + "]" + tail
    if form[:2] in ("I ", "I'") or not form[0].isalpha():
        return form
    return form[0].lower() + form[1:]


class Talk:
    def __init__(self, w):
        self.w = w
        self.used = set()
        self.facts, self.decisions, self.done, self.open = [], [], [], []
        self.turns, self.tools, self.old = [], set(), {}
        self.wordy = w.chance(0.12)

    def count(self):
        return len(self.facts) + len(self.decisions) + len(self.done) + len(self.open)

    def record(self):
        return dict(facts=[f.line() for f in self.facts], decisions=[t for t, _ in self.decisions],
                    done=[a.done_line() if isinstance(a, Act) else a for a in self.done],
                    open=[a.open_line() for a in self.open])

    # ---- planting: each changes the state and returns (phrasing, values, answer)
    def plant(self, kind):
        w = self.w
        if kind == "fact":
            f = make_fact(w, self.used)
            self.facts.append(f)
            values = f.words()
            if f.kind == "name":
                return w.pattern(FACT_NAME), values, f.noted()
            if f.kind == "called":
                return w.pattern(FACT_CALLED), values, f.noted()
            if f.k in SPECIAL and w.chance(0.5):
                return w.pattern(SPECIAL[f.k]), values, f.noted()
            if f.own is None and w.chance(0.25):
                return w.pattern(FACT_THING), values, f.noted()
            return w.pattern(FACT), values, f.noted()
        if kind == "decision":
            d = make_decision(w, self.used)
            if d.x is not None and w.chance(0.8):
                self.decisions.append((d.text, d))
                return w.pattern(DECIDE_USE), dict(x=d.x, y=d.topic), f"Decided: {d.text}."
            if w.chance(0.12):
                self.decisions.append(("do not " + d.text, d))
                return w.pattern(DECIDE_NOT), dict(a=d.text), f"Decided: do not {d.text}."
            self.decisions.append((d.text, d))
            return w.pattern(DECIDE), dict(a=d.text, P=w.person()), f"Decided: {d.text}."
        act = make_act(w, self.used)
        if kind == "done":
            self.done.append(act)
            return self.done_form(act), act.words(False), f"Done: {act.done_line()}."
        r = w.rng.random()
        if r < 0.12:
            form = w.pattern(OPEN_NOT_YET)
        else:
            act.when = make_when(w)
            form = w.pattern(OPEN_OBJECT if r < 0.30 else OPEN)
        self.open.append(act)
        return form, act.words(), f"Open: {act.open_line()}."

    def done_form(self, act):
        w = self.w
        return w.pattern(DONE_FINISH if act.verb[0] == "finish" and w.chance(0.7) else DONE)

    def finish(self, act=None):
        act = act or self.w.free(self.open)
        self.open.remove(act)
        self.done.append(act)
        return self.done_form(act), act.words(False), f"Done: {act.done_line()}."

    def update(self, f=None):
        w = self.w
        f = f or w.free(self.facts)
        old, v = f.v, new_value(w, f, self.used)
        if v is None:
            return None
        f.v = v
        self.old[f.key] = old
        self.facts.remove(f)
        self.facts.append(f)
        return w.pattern(UPDATE), dict(f.words(), old=old), f.noted()

    # ---- turns
    def tell(self, said):
        """One message of the user with these items, and its acknowledgement."""
        w, parts = self.w, []
        if w.chance(0.18):
            parts.append(self.chatter())
        for form, values, _ in said:
            lead = w.free(LEAD) if w.chance(0.3) else ""
            if lead.endswith(", ") or lead == "And ":
                form = lower_start(form)
            parts.append(lead + w.say(form, **values))
        if w.chance(0.15):
            parts.append(self.chatter())
        text = " ".join(parts)
        if text.endswith(".") and w.chance(0.12):
            text = text[:-1]
        self.turns += [{"user": text}, {"assistant": echoes([answer for _, _, answer in said])}]

    def chat_words(self):
        w = self.w
        return dict(P=w.person(), n=w.number(3, 60), place=w.place(), food=w.free(g.FOODS), drink=w.free(g.DRINKS),
                    animal=w.free(ANIMALS), hobby=w.free(g.HOBBIES))

    def chatter(self):
        return self.w.say(self.w.pattern(PAD), **self.chat_words())

    def small_talk(self):
        w = self.w
        reply, lines = w.free(_CHAT_BAG)
        form = w.pattern(lines)
        words = self.chat_words()
        if "{a}" in form:
            words["a"] = make_decision(w, set(self.used)).text
        text = w.say(form, **words)
        if reply == "I see." and w.chance(0.3):
            text = " ".join([text] + [self.chatter() for _ in range(w.between(1, 10 if self.wordy else 4))])
        self.turns += [{"user": text}, {"assistant": reply}]

    def tool_turn(self):
        """A tool call that leaves nothing in the record."""
        w, kind = self.w, self.w.between(0, 5)
        if kind <= 1:
            f, t = w.path(), self.scrap()
            self.call(w.say(w.pattern(ASK_READ), f=f), "read", dict(path=f), t, "It says: " + t)
        elif kind == 2:
            f, files = w.folder(), [w.filename() for _ in range(w.between(1, 4))]
            self.call(w.say(w.pattern(ASK_LIST), f=f), "list", dict(path=f), "\n".join(files),
                      "It holds " + " and ".join([", ".join(files[:-1])] * (len(files) > 1) + files[-1:]) + ".")
        elif kind <= 4:
            a, b = w.number(2, 900), w.number(2, 900)
            op = w.free("+-*")
            r = a + b if op == "+" else a - b if op == "-" else a * b
            sign = {"+": "plus", "-": "minus", "*": "times"}[op] if w.chance(0.5) else op
            said = f"{a} {sign} {b}"
            self.call(w.say(w.pattern(ASK_SUM), x=said), "calculator", dict(expression=f"{a}{op}{b}"), str(r),
                      f"{a}{op}{b} is {r}.")
        else:
            f, t = w.path(), self.scrap()
            why = w.free(["no such folder", "not allowed", "disk full", "read only"])
            self.call(w.say(w.pattern(ASK_WRITE), t=t, f=f), "write", dict(path=f, text=t), "error: " + why,
                      "That failed: " + why + ".")

    def write_turn(self):
        """A tool call that wrote or changed a file: a done line."""
        w = self.w
        f = w.path()
        while f in self.used:
            f = w.path()
        self.used.add(f)
        t = self.scrap()
        if w.chance(0.75):
            result = w.free([f"wrote {len(t)} bytes to {f}", f"wrote {f}", f"{len(t)} bytes written", "ok"])
            self.call(w.say(w.pattern(ASK_WRITE), t=t, f=f), "write", dict(path=f, text=t), result,
                      f"Done: {f} is written.")
            self.done.append(f + " is written")
        else:
            u = self.scrap()
            result = w.free([f"edited {f}", f"replaced 1 place in {f}", "1 replaced", "ok"])
            self.call(w.say(w.pattern(ASK_EDIT), t=t, u=u, f=f), "edit", dict(path=f, old=t, new=u), result,
                      f"Done: {f} is changed.")
            self.done.append(f + " is changed")

    def scrap(self):
        w = self.w
        r = w.between(0, 5)
        if r == 0:
            return half(w, g.FOODS) + " and " + half(w, g.DRINKS)
        if r == 1:
            return w.person() + " " + str(w.number(10, 9999))
        if r == 2:
            return w.word() + " = " + str(w.number(10, 9999))
        if r == 3:
            return w.word() + " " + w.word()
        if r == 4:
            return w.project() + " opens at " + w.time()
        return w.place() + ", " + w.date()

    def call(self, asked, name, arguments, result, answer):
        self.tools.add(name)
        self.turns += [{"user": asked}, {"call": {"name": name, "arguments": arguments}}, {"result": {"text": result}},
                       {"assistant": answer}]

    # ---- questions: each adds the turns and returns what is to be in the answer, and what must not be
    def ask_fact(self, f=None):
        w = self.w
        f = f or w.free(self.facts)
        self.turns += [{"user": self.fact_question(f)}, {"assistant": f.answer()}]
        answer = f.answer().lower()
        others = [x.v for x in self.facts if x is not f and len(x.v) > 2 and x.v.lower() not in answer]
        others += [v for k, v in self.old.items() if k == f.key and v.lower() not in answer]
        return [[f.v]], others[-3:]

    def fact_question(self, f):
        w = self.w
        if f.kind == "name":
            form = w.pattern(ASK_NAME)
        elif f.kind == "called":
            form = w.pattern(ASK_CALLED)
        elif f.k in QUESTION and w.chance(0.5):
            form = w.pattern(QUESTION[f.k])
        else:
            form = w.pattern(ASK_FACT)
        return w.say(form, **f.words())

    def ask_list(self, what):
        w = self.w
        lines = self.record()[what]
        head = dict(decisions="We decided: ", done="Done: ", open="Still open: ")[what]
        answer = head + "; ".join(lines) + "." if lines else NOTHING[what]
        self.turns += [{"user": w.say(w.pattern(dict(decisions=ASK_DECISIONS, done=ASK_DONE, open=ASK_OPEN)[what]))},
                       {"assistant": answer}]
        other = [x for k, v in self.record().items() if k != what for x in v if x not in answer]
        return [[x] for x in lines] or [[NOTHING[what].rstrip(".")]], other[:3]

    def ask_decision(self):
        w = self.w
        line, d = w.free(self.decisions)
        use = d.x is not None and not line.startswith("do not") and w.chance(0.4)
        form = w.pattern(ASK_USE if use else ASK_DECISION)
        answer = "We decided: " + line + "."
        self.turns += [{"user": w.say(form, y=d.topic)}, {"assistant": answer}]
        return [[line]], [t for t, _ in self.decisions if t not in answer][:3]

    def ask_task(self, act, done):
        w = self.w
        answer = ("That is done: " + act.done_line() if done else "That is still open: " + act.open_line()) + "."
        self.turns += [{"user": w.say(w.pattern(ASK_TASK), **act.words(False))}, {"assistant": answer}]
        return [["done"], [act.done_line()]] if done else [["still open"], [act.open_line()]], []

    def ask_unknown(self, reply):
        """Something that was never said; often close to what was."""
        w = self.w
        r = w.rng.random()
        if r < 0.7:
            f = None
            near = [x for x in self.facts if x.own is not None and x.kind != "name"]
            if near and w.chance(0.4):
                n = w.free(near)
                f = Fact(w.person() if w.chance(0.6) else "user", n.k, n.kind, "") if w.chance(0.5) else \
                    Fact(n.own, w.free(CALLED), "called", "") if n.kind == "called" else \
                    Fact(n.own, *(w.free(PERSONAL) + ("",)))
            if f is None or f.key in {x.key for x in self.facts}:
                f = make_fact(w, set(self.used))
            text = self.fact_question(f)
        elif r < 0.85:
            text = w.say(w.pattern(ASK_DECISION), y=make_decision(w, set(self.used)).topic)
        else:
            text = w.say(w.pattern(ASK_TASK), **make_act(w, set(self.used)).words())
        self.turns += [{"user": text}, {"assistant": reply}]
        return [[reply.rstrip(".")]], []

    # ---- whole stretches
    def plant_up_to(self, n, lean=True):
        """Plant silently, for an earlier record."""
        w = self.w
        weights = self.weights(lean)
        while self.count() < n:
            self.plant(w.free(weights))
            if w.chance(0.08):
                path = w.path()
                self.done.append(path + " is written")
                self.used.add(path)
        self.turns = []

    def weights(self, lean):
        w = self.w
        kinds = ["fact"] * 4 + ["decision"] * 2 + ["done"] * 2 + ["open"] * 3
        if lean and w.chance(0.25):
            kinds = w.free([["fact"], ["decision"], ["open"], ["done"], ["fact", "open"], ["decision", "done"],
                            ["done", "open"], ["fact", "decision"]])
        return kinds

    def converse(self, target, turns, changes=0.0, tools=True):
        """Messages until the record has target lines, spread over about so many user turns."""
        w = self.w
        kinds, steps, said, left = self.weights(True), [], [], 3
        while self.count() < target or said:
            if said and (self.count() >= target or w.chance(0.65 if target < 6 else 0.5) or len(said) == 3):
                steps.append(said)
                said = []
                continue
            r = w.rng.random()
            if left and self.open and r < changes * 0.5:
                said.append(self.finish())
                left -= 1
            elif left and self.facts and r < changes:
                item = self.update()
                left -= 1
                if item:
                    said.append(item)
            elif tools and not said and r > 0.93:
                steps.append("write")
                kept, self.turns = self.turns, []
                self.write_turn()
                steps[-1], self.turns = self.turns, kept
            else:
                said.append(self.plant(w.free(kinds)))
        fill = max(0, turns - len(steps))
        order = w.shuffle([True] * len(steps) + [False] * fill)
        for planted in order:
            if planted:
                step = steps.pop(0)
                if step and isinstance(step[0], dict):
                    self.turns += step
                else:
                    self.tell(step)
            elif tools and w.chance(0.2):
                self.tool_turn()
            else:
                self.small_talk()

    def ask_record(self):
        self.turns += [{"ask_summary": True}, {"record": self.record()}]

    def dialogue(self, summary=None, check=None):
        w = self.w
        tools = set(self.tools)
        if tools or w.chance(0.15):
            tools |= set(w.sample(ALL_TOOLS, w.between(0, 3)))
        d = dict(role="assistant" if w.chance(0.93) else None, tools=w.shuffle(t for t in ALL_TOOLS if t in tools),
                 summary=summary, turns=self.turns)
        if check:
            d["check"] = check
        return d

    def as_summary(self):
        return dict(self.record(), artifact=self.w.artifact())


def length(w):
    return w.free([3, 4, 5, 5, 6, 6, 7, 8, 9, 10, 12, 14])


def write_record(w, n=None, check=False):
    """(1) A conversation and its record; in training it may go on and be summed up again."""
    t = Talk(w)
    n = n or w.free([1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 20])
    t.converse(n, length(w) if check or w.chance(0.5) else 0, w.free([0.0, 0.0, 0.15, 0.3]))
    if not check and w.chance(0.12) and len(t.turns) > 3:
        t.turns.append({"user": t.fact_question(t.facts[0])} if t.facts else {"user": w.say(w.pattern(ASK_OPEN))})
        answer = t.facts[0].answer() if t.facts else \
            "Still open: " + "; ".join(t.record()["open"]) + "." if t.open else NOTHING["open"]
        t.turns.append({"assistant": answer})
    t.ask_record()
    if not check and w.chance(0.25):
        for _ in range(w.between(1, 2)):
            if w.chance(0.6):
                question(t, UNSAID)
            elif t.count() < 9:
                t.converse(t.count() + 1, 1, 0.2, tools=False)
        if w.chance(0.5):
            if t.count() < 9:
                t.converse(t.count() + 1, w.between(1, 2), 0.2, tools=False)
            t.ask_record()
    return t.dialogue(check=dict(kind="record") if check else None)


def merge_record(w, n=None, check=False):
    """(2) An earlier record and a conversation that adds to it, changes and finishes."""
    t = Talk(w)
    n = n or w.free([2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 14, 20])
    t.plant_up_to(max(1, n - w.between(1, max(1, min(5, n - 1)))))
    summary = t.as_summary()
    before, old = t.record(), list(t.open)
    if old and w.chance(0.45):
        t.tell([t.finish(w.free(old))])
    while True:
        t.converse(max(n, t.count()), 0, 0.45)
        for _ in range(w.between(0, 2)):
            item = t.finish() if t.open and w.chance(0.6) else t.update() if t.facts else None
            if item:
                t.tell([item])
        if t.record() != before or w.chance(0.05):
            break
        n = t.count() + 1
    head, t.turns = t.turns, []
    for _ in range(max(0, w.between(1, 6) - len(head) // 2)):
        t.small_talk()
    t.turns = t.turns + head if w.chance(0.5) else mix(w, head, t.turns)
    t.ask_record()
    if not check and w.chance(0.12):
        question(t, SILENT)
    return t.dialogue(summary, dict(kind="record") if check else None)


def mix(w, head, rest):
    """Two stretches, exchange by exchange, each in its order."""
    def blocks(turns):
        out = []
        for turn in turns:
            if "user" in turn:
                out.append([])
            out[-1].append(turn)
        return out
    a, b, out = blocks(head), blocks(rest), []
    while a or b:
        out += (a if not b or a and w.chance(len(a) / (len(a) + len(b))) else b).pop(0)
    return out


def question(t, silent):
    """One question whose answer the record gives, or does not; what a check needs."""
    w = t.w
    bag = []
    if t.facts:
        bag += ["fact"] * 9
    if t.decisions:
        bag += ["decision"] * 4
    acts = [a for a in t.done if isinstance(a, Act)]
    if t.open:
        bag += ["open_task"] * 2
    if acts:
        bag += ["done_task"] * 2
    bag += ["decisions"] * (2 if t.decisions else 1) + ["open"] * (3 if t.open else 1) + ["done"] * (2 if t.done else 1)
    bag += ["unknown"] * 3
    kind = w.free(bag)
    if kind == "fact":
        return t.ask_fact()
    if kind == "decision":
        return t.ask_decision()
    if kind == "open_task":
        return t.ask_task(w.free(t.open), False)
    if kind == "done_task":
        return t.ask_task(w.free(acts), True)
    if kind == "unknown":
        return t.ask_unknown(silent)
    return t.ask_list(kind)


def goes_on(w, check=False):
    """(3) Going on from a summary, with none to three recent turns."""
    t = Talk(w)
    # in training also as many as a summary has room for in a context of 2,048 tokens
    t.plant_up_to(w.between(1, 8) if check or w.chance(0.5) else w.between(9, 24))
    summary = t.as_summary()
    mode, recent = w.rng.random(), w.between(0, 3)
    fresh = None
    for i in range(recent):
        if mode < 0.3 and i == 0:
            t.tell([t.plant(w.free(["fact", "fact", "decision", "open", "done"]))])
            fresh = t.facts[-1] if t.facts else None
        elif mode < 0.42 and i == 0 and t.facts:
            fresh = w.free(t.facts)
            item = t.update(fresh)
            if item:
                t.tell([item])
        elif mode < 0.54 and i == 0 and t.open:
            t.tell([t.finish()])
        else:
            t.small_talk()
    for _ in range(0 if check else w.free([0, 1, 2, 3, 5])):
        question(t, SILENT)
    if mode < 0.42 and fresh and w.chance(0.6):
        every, none = t.ask_fact(fresh)
    elif mode > 0.92:
        r = w.rng.random()
        item = t.finish() if t.open and r < 0.4 else t.update() if t.facts and r < 0.6 else None
        t.tell([item or t.plant(w.free(["fact", "decision", "open", "done"]))])
        every, none = [[t.turns[-1]["assistant"].rstrip(".")]], []
    else:
        every, none = question(t, SILENT)
    return t.dialogue(summary, dict(kind="contains", all=every, none=none) if check else None)


def dialogue(w):
    r = w.rng.random()
    return write_record(w) if r < 0.45 else merge_record(w) if r < 0.65 else goes_on(w)


def segment(w):
    """A fact or a decision told, and asked for again at times."""
    t = Talk(w)
    kind = w.free(["fact", "fact", "decision"])
    item = t.plant(kind)
    if kind == "fact" and t.facts[0].own is not None:
        return None
    t.tell([item])
    if w.chance(0.6):
        t.ask_fact() if kind == "fact" else t.ask_decision()
    return t.turns, []


def case_record(w):
    n = w.between(1, 4) if w.chance(0.5) else w.between(5, 9)
    if w.chance(0.25):
        return merge_record(w, n, True)
    return write_record(w, n, True)


CASES = {"summary.record": case_record, "summary.goes_on": lambda w: goes_on(w, True)}


# ---------------------------------------------------------------------------------------------------- self-test

def _validate(d):
    assert set(d) <= {"role", "tools", "summary", "turns", "check"} and d["turns"]
    said = None
    for turn in d["turns"]:
        (kind, body), = turn.items()
        assert kind in ("user", "assistant", "call", "result", "ask_summary", "record"), kind
        mine = kind in ("assistant", "call", "record")
        assert mine != (said in ("assistant", "call", "record")) if said else not mine, d["turns"]
        if said == "call":
            assert kind == "result"
        if kind == "call":
            assert body["name"] in d["tools"]
        if kind == "record":
            assert said == "ask_summary" and list(body) == ["facts", "decisions", "done", "open"]
            lines = sum(body.values(), [])
            assert 1 <= len(lines) <= 30 and len(set(lines)) == len(lines), lines
        if isinstance(body, str):
            assert body and body == body.strip() and not re.search(r"[{}\[\]|]", body), body
        said = kind
    assert said in ("assistant", "record")


def _show(d):
    print("=" * 100, "\nrole:", d["role"], " tools:", " ".join(d["tools"]), " summary:", d["summary"])
    for turn in d["turns"]:
        (kind, body), = turn.items()
        print(f"  {kind:>11}  {body}")
    if "check" in d:
        print("  check:", d["check"])


def _main():
    import json
    import time
    for i in range(8):
        _show(dialogue(g.World(i)))
    n, seen, start, sizes = 2000, set(), time.time(), {}
    made = [dialogue(g.World(i)) for i in range(n)]
    speed = n / (time.time() - start)
    for d in made:
        _validate(d)
        seen.add(json.dumps(d["turns"]))
        for turn in d["turns"]:
            if "record" in turn:
                k = len(sum(turn["record"].values(), []))
                sizes[k] = sizes.get(k, 0) + 1
    assert len(seen) >= 0.95 * n
    for name, make in CASES.items():
        lines = []
        for i in range(300):
            d = make(g.World(i, "held"))
            _validate(d)
            last, c = d["turns"][-1], d["check"]
            if c["kind"] == "record":
                assert "record" in last
                lines.append(len(sum(last["record"].values(), [])))
            else:
                text = last["assistant"].lower()
                assert all(any(a.lower() in text for a in group) for group in c["all"]), (c, text)
                assert not any(x.lower() in text for x in c["none"]), (c, text)
        if lines:
            assert max(lines) <= 12
            few = sum(x <= 4 for x in lines)
            print(name, "1-4 items:", few, " 5-9:", len(lines) - few, " max:", max(lines))
    segments = [s for s in (segment(g.World(i)) for i in range(500)) if s]
    for turns, tools in segments:
        _validate(dict(role="assistant", tools=tools, summary=None, turns=turns))
    text = sorted(len(" ".join(str(v) for t in d["turns"] for v in t.values())) for d in made)
    print(f"{speed:.0f} dialogues/s, {len(seen)} of {n} distinct, characters median {text[n // 2]}, "
          f"95 % {text[n * 95 // 100]}, most {text[-1]}; record sizes {sorted(sizes.items())}")


if __name__ == "__main__":
    _main()
