"""A crew at work: planner, researcher, critic, writer, and how each hands its work over.

How the answers follow from what was said:
    plan        each deed of the task has fixed steps, a deed of no known kind is one step in its own words; a plan of
                one step gets "check the result"; a deadline ("by Friday") goes to the last step
    findings    the key statement of each source, with a capital letter and without its full stop
    verdict     one reason for each requirement if all are met, else one for each that is not
    draft       the points in their order, each a sentence
    hand-over   task: the task's own words (a received hand-over's task is passed on); result: steps, findings or
                reasons joined by "; ", reasons after "accept: " or "revise: ",
                a draft as it is; artifacts: all ids so far
"""
import json
import os
import re

from . import grammar as g

NO_SOURCE = "I have no source for that."
TOOL_ORDER = "read write edit list search shell calculator recall artifact ask".split()

# ---------------------------------------------------------------------------------------------- open values

THINGS = ("pump engine bridge ferry tower harbour garden library market school theatre station warehouse "
          "kitchen workshop printer scanner server router camera bicycle tractor lamp heater boiler roof fence "
          "window door table chair parser compiler scheduler backup database website newsletter survey contract "
          "budget invoice order festival concert exhibition course meeting tour race museum canal tunnel "
          "greenhouse bakery cellar crane sail anchor clock mirror carpet blanket tent stove kettle piano "
          "violin drum").split()
ADJECTIVES = ("old new small large northern southern eastern western wooden narrow wide early late quiet broken "
              "cheap heavy light spare main second third electric solar winter summer spring autumn public private "
              "local").split()
PLURALS = ("chairs lamps tables tents ropes buckets screws boards bricks tiles pipes cables batteries notebooks "
           "pencils blankets cups plates spoons helmets gloves jackets tickets maps clocks mirrors candles "
           "shelves boxes bags").split()
UNITS = "euros dollars minutes hours days metres kilometres litres kilos tons pages watts seats".split()
WORDS = "error warning timeout failed refused missing denied overflow retry invalid".split()
COLUMNS = "name date price size age weight city length score total".split()
TEXTS = "note letter message report reply invitation notice card".split()
EVENTS = "party meeting concert lesson picnic race talk dinner workshop tour".split()
PEOPLE = "team crew board guests class neighbours visitors staff committee drivers".split()


def topic(w):
    def make():
        r = w.rng
        k = r.random()
        thing = r.choice(THINGS)
        if k < 0.3:
            return f"the {r.choice(ADJECTIVES)} {thing}"
        if k < 0.6:
            return f"the {(w._word(2, 2) + r.choice(['', 'n', 'r', 'l', 's'])).capitalize()} {thing}"
        if k < 0.8:
            return f"the {thing} in {w._word(1, 2).capitalize() + r.choice(g._PLACE_END)}"
        name = (w._word(1, 2) + r.choice(["n", "r", "l", "s", "a"])).capitalize()
        return f"the {r.choice(ADJECTIVES)} {thing} of {name}"
    return w._open(make)


def items(w):
    a = w.slot(g.COLOURS) if w.chance(0.5) else w.slot(ADJECTIVES[:2] + ADJECTIVES[8:11] + ADJECTIVES[15:19])
    return f"{w.number(2, 90)} {a} {w.slot(PLURALS)}"


def source_name(w):
    return w.artifact() if w.chance(0.5) else w.path()


MAKERS = {
    "p": lambda w: w.person(), "l": lambda w: w.place(), "j": lambda w: w.project(), "d": lambda w: w.date(),
    "h": lambda w: w.time(), "f": lambda w: w.path(), "o": lambda w: w.folder(), "s": topic, "i": items,
    "n": lambda w: w.number(2, 900), "u": lambda w: w.free(UNITS[:2]), "y": lambda w: w.free(g.WEEKDAYS),
    "c": lambda w: w.slot(g.COLOURS), "w": lambda w: w.slot(WORDS), "g": lambda w: w.slot(g.LANGUAGES),
    "k": lambda w: w.slot(COLUMNS), "x": lambda w: w.free(TEXTS), "e": lambda w: w.free(EVENTS),
    "a": lambda w: w.artifact(), "q": lambda w: w.free(PEOPLE), "b": lambda w: w.slot(g.JOBS),
    "r": lambda w: w.free(THINGS), "v": lambda w: w.slot(PLAIN_VERBS),
}
_SLOTS = re.compile(r"\{(\w+)\}")


def say(w, text, /, **values):
    """As w.say, and an empty choice leaves one space."""
    return w.say(text, **values).replace("  ", " ")


def fill(w, text, vals):
    """Say the phrasing; each slot that has no value yet gets one (its first letter says of what kind)."""
    for name in _SLOTS.findall(text):
        if name not in vals:
            vals[name] = MAKERS[name[0]](w)
    return say(w, text, **vals)


def upper(text):
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------------------------------------- tasks and plans

DEEDS = [  # (phrasings, steps)
    (["find out why {f} [fails|breaks|crashes]", "find the [cause|reason] of the [failure|crash] in {f}",
      "see why {f} [does not work|stops|fails]", "find out what is wrong [with|in] {f}",
      "see what [breaks|stops] {f}", "look into the [failure|crash] of {f}", "explain why {f} [crashes|stops]"],
     ["read {f}", "find the cause"]),
    (["sum up {f}", "write a summary of {f}", "give a short summary of {f}", "[sum up|summarise] what {f} says",
      "[write|give] a short summary of what {f} says", "summarise {f}", "make {f} short",
      "tell us in short what {f} says"],
     ["read {f}", "sum it up"]),
    (["fix the bug in {f}", "repair {f}", "[find|remove] the bug in {f} and fix it", "make {f} work again",
      "repair the bug in {f}", "fix {f}", "get {f} to work again", "remove the fault in {f}"],
     ["read {f}", "fix the bug", "test {f}"]),
    (["check {f} for [errors|mistakes]", "look for [errors|mistakes] in {f}", "find all [errors|mistakes] in {f}",
      "list the [errors|mistakes] in {f}", "list all [mistakes|errors] in {f}", "go through {f} and look for errors",
      "see if {f} has [errors|mistakes]"],
     ["read {f}", "list the errors"]),
    (["count the lines with {w} in {f}", "find out how many lines of {f} [say|have|hold] {w}",
      "count how often {f} says {w}", "find out how often {w} [is|occurs] in {f}",
      "count how many lines in {f} hold {w}", "count {w} in {f}", "tell me how often {w} occurs in {f}"],
     ["read {f}", "count the lines with {w}"]),
    (["write a {x} to {p}", "write {p} a {x}", "send a {x} to {p}", "send {p} a [short|] {x}",
      "write a short {x} to {p}", "prepare a [short|] {x} for {p}", "draft a {x} for {p}", "let {p} have a {x}"],
     ["write the {x} to {p}"]),
    (["write a {x} about {s}", "draft a [short|] {x} about {s}", "prepare a {x} on {s}", "get a {x} about {s} ready",
      "prepare a short {x} about {s}", "make a [short|] {x} on {s}", "put together a {x} about {s}",
      "write a {x} on {s}"],
     ["collect facts about {s}", "write the {x}"]),
    (["compare {s} with {s2}", "compare {s} and {s2}", "[find out|see] how {s} differs from {s2}",
      "say which is better, {s} or {s2}", "see which is better, {s} or {s2}", "hold {s} against {s2}",
      "choose between {s} and {s2}", "decide between {s} and {s2}"],
     ["look up {s}", "look up {s2}", "compare both"]),
    (["find out what {s} costs", "find the price of {s}", "see what the price of {s} is", "get the price of {s}",
      "see how much {s} costs", "find out how much {s} costs", "ask what {s} costs"],
     ["look up {s}", "note the price"]),
    (["find out who runs {s}", "find the owner of {s}", "see who [owns|runs] {s}", "look up who [owns|runs] {s}",
      "find out who owns {s}", "ask who runs {s}", "get the name of the owner of {s}"],
     ["look up {s}", "note the owner"]),
    (["plan a trip from {l} to {l2}", "get from {l} to {l2}", "plan the [way|trip] from {l} to {l2}",
      "travel from {l} to {l2}", "plan a way from {l} to {l2}", "organise a trip to {l2} from {l}",
      "prepare the trip from {l} to {l2}", "take the {q} from {l} to {l2}"],
     ["look up the way from {l} to {l2}", "book the tickets"]),
    (["find a [hotel|room] in {l}", "book a [hotel|room] in {l}", "get a [room|hotel] in {l}",
      "look for a [hotel|room] in {l}", "look for a good hotel in {l}", "find us a [good|cheap] [hotel|room] in {l}",
      "find a [cheap|good] [place to stay|hotel] in {l}"],
     ["look up hotels in {l}", "book one"]),
    (["buy {i}", "order {i}", "get us {i}", "purchase {i}", "get {i}", "[get|find] an offer for {i} and order them",
      "find a [cheap|good] offer for {i}"],
     ["get offers for {i}", "order the cheapest"]),
    (["buy {i} for {p}", "order {i} for {p}", "get {p} {i}", "purchase {i} for {p}", "get {i} for {p}",
      "find {i} for {p} and buy them", "order {p} {i}"],
     ["get offers for {i}", "order the cheapest for {p}"]),
    (["write a {g} program that [reads|sorts|prints|counts] {f}",
      "write a program in {g} that [reads|sorts|prints] {f}", "make a [small|] {g} program for {f}",
      "write a [small|] {g} [tool|script] that [reads|counts|checks] {f}",
      "make a small program in {g} that [counts|checks] {f}", "build a [small|] {g} tool for {f}",
      "program a {g} [script|tool] for {f}"],
     ["write the {g} program", "test it on {f}"]),
    (["add tests for {f}", "write tests for {f}", "test {f}", "cover {f} with tests",
      "write [some|more] tests for {f}", "add [some|more] tests to {f}"],
     ["read {f}", "write the tests", "run them"]),
    (["turn {f} into {f2}", "convert {f} to {f2}", "convert {f} into {f2}", "make {f2} from {f}", "turn {f} to {f2}",
      "produce {f2} from {f}", "change {f} into {f2}"],
     ["read {f}", "write {f2}"]),
    (["sort {f} by {k}", "put {f} in order by {k}", "order {f} by {k}", "sort the rows of {f} by {k}",
      "put the rows of {f} in order by {k}", "sort {f} on {k}"],
     ["read {f}", "sort it by {k}"]),
    (["rename {f} to {f2}", "give {f} the name {f2}", "call {f} {f2} from now on", "change the name of {f} to {f2}",
      "change the name {f} to {f2}", "let {f} have the name {f2}"],
     ["rename {f} to {f2}"]),
    (["clean up the folder {o}", "tidy [up|] the folder {o}", "remove old files from {o}",
      "delete what is old in {o}", "tidy up {o}", "clean up {o}", "delete old files in {o}"],
     ["list {o}", "delete old files"]),
    (["back up {o} to {o2}", "copy {o} to {o2}", "save a copy of {o} in {o2}", "make a [backup|copy] of {o} in {o2}",
      "save a [backup|copy] of {o} to {o2}", "keep a copy of {o} in {o2}", "put a copy of {o} into {o2}"],
     ["copy {o} to {o2}", "check the copy"]),
    (["invite {p} to the {e} on {d}", "ask {p} to the {e} on {d}", "invite {p} for the {e} on {d}",
      "send {p} an invitation to the {e} on {d}", "send an invitation for the {e} on {d} to {p}",
      "get {p} to come to the {e} on {d}", "write to {p} about the {e} on {d}"],
     ["write the invitation to {p}", "name the date {d}"]),
    (["organise a {e} in {l}", "plan a {e} in {l}", "prepare a {e} in {l}", "prepare the {e} in {l}",
      "arrange the {e} in {l}", "hold a {e} in {l}", "arrange a {e} in {l}"],
     ["find a place in {l}", "invite the guests", "prepare the {e}"]),
    (["find a {b} in {l}", "look for a {b} in {l}", "hire a {b} in {l}", "get a [good|] {b} from {l}",
      "find a good {b} from {l}", "find us a {b} in {l}"],
     ["look up {b}s in {l}", "ask the best one"]),
    (["measure how fast {f} runs", "find out how fast {f} is", "time {f}", "measure the speed of {f}",
      "find out the speed of {f}", "see how fast {f} runs", "take the time of {f}"],
     ["run {f}", "note the time"]),
    (["explain {s} to {p}", "tell {p} about {s}", "teach {p} about {s}", "tell {p} what {s} is",
      "explain to {p} what {s} is", "give {p} the facts about {s}", "inform {p} about {s}"],
     ["collect facts about {s}", "explain them to {p}"]),
    (["repair {s}", "get {s} repaired", "mend {s}", "make {s} work again", "get {s} to work again", "fix {s}",
      "have {s} repaired"],
     ["find the fault in {s}", "get the parts", "repair it"]),
    (["paint {s} {c}", "give {s} a {c} coat", "make {s} {c}", "paint {s} in {c}", "give {s} a coat of {c}",
      "put a coat of {c} on {s}"],
     ["buy {c} paint", "paint {s}"]),
    (["read {f}", "look at {f}", "look through {f}", "go through {f}", "look into {f}", "have a look at {f}",
      "study {f}"],
     ["read {f}"]),
    (["read {a}", "look at {a}", "look through {a}", "go through {a}", "look into {a}", "have a look at {a}",
      "study {a}"],
     ["read {a}"]),
    (["tell {p}", "inform {p}", "let {p} know", "give {p} the news", "let {p} have the news", "report to {p}"],
     ["tell {p}"]),
    (["look up {s}", "find out about {s}", "look for facts about {s}", "find facts about {s}",
      "find out facts about {s}", "read up on {s}", "find out more about {s}"],
     ["look up {s}"]),
    (["ask {p} about {s}", "ask {p} for [news|facts] about {s}", "get [facts|news] about {s} from {p}",
      "hear from {p} about {s}", "hear what {p} says about {s}", "ask what {p} says about {s}",
      "ask {p} what {s} is like"],
     ["ask {p} about {s}"]),
]
PLAIN = ["{v} {s}", "{v} {s} for {p}", "{v} {s} in {l}", "{v} {i}", "{v} {i} in {l}", "{v} {i} for {p}",
         "{v} {s} with {p}", "{v} {i} and {s}", "{v} {i} with {p}", "{v} {i} with {p} in {l}"]
PLAIN_VERBS = ("clean wash water feed move open close weigh label pack carry wrap store photograph film dust polish "
               "empty stack hang dig cut return lend hide stamp light lock unlock deliver inspect draw describe "
               "present sell rent advertise redesign rebuild extend replace insure publish lift load unload heat cool "
               "dry fold").split()
SEEKING = [d for d in DEEDS if d[1][0].startswith(("read {f}", "look up"))]
SHARED = [d for d in DEEDS if len(d[1]) == 1] + [(PLAIN, None)] * 3
ALL_DEEDS = DEEDS + [(PLAIN, None)] * 6

JOINS = ["{a} and {b}", "{a} and then {b}", "{a}, then {b}", "first {a}, then {b}", "first {a} and then {b}",
         "{a}; then {b}", "{a}, and {b}", "{a} and after that {b}", "first {a}, after that {b}",
         "{a}, and after that {b}"]
JOINS3 = ["{a}, {b} and {c}", "{a}, then {b} and {c}", "first {a}, then {b} and then {c}", "{a}, {b} and then {c}",
          "first {a}, then {b} and {c}", "{a}; then {b}; then {c}"]
DEADLINES = ["by {y}", "before {y}", "by {d}", "before {d}", "by {h}"]


def deed(w, chosen):
    vals = {}
    text = fill(w, w.pattern(chosen[0]), vals)
    if chosen[1] is None:                                   # a deed that is one step, in its own words
        return text, [text], [str(v) for v in vals.values()]
    steps = [fill(w, s, vals) for s in chosen[1]]
    return text, steps, [str(v) for v in vals.values()]


def task(w, pool=None):
    """A task in the user's words, its plan, and the values that the plan copies."""
    while True:
        first = w.free(pool or ALL_DEEDS)
        chosen = [first]
        n = w.free([1, 1, 2, 2, 2, 3])
        for _ in range(n - 1):
            chosen.append(w.free(SHARED if w.chance(0.45) else DEEDS))
        if sum(len(d[1] or "1") for d in chosen) <= 4:
            break
    done = [deed(w, d) for d in chosen]
    texts = [d[0] for d in done]
    if len(texts) == 1:
        said = texts[0]
    elif len(texts) == 2:
        said = say(w, w.pattern(JOINS), a=texts[0], b=texts[1])
    else:
        said = say(w, w.pattern(JOINS3), a=texts[0], b=texts[1], c=texts[2])
    steps = [s for d in done for s in d[1]]
    if len(steps) == 1:
        steps.append("check the result")
    if w.chance(0.15):
        when = fill(w, w.pattern(DEADLINES), {})
        said += " " + when
        steps[-1] += " " + when
    whole = "\n".join(steps)
    return said, steps, [v for d in done for v in d[2] if v in whole]


PLAN_ASKS = ["Please {t}.", "{T}.", "[Can|Could] you {t}?", "We [need|have|want] to {t}.",
             "Please make a plan to {t}.", "Task: {t}.", "[Make|Write] a plan: {t}.", "I [want|need|have] to {t}.",
             "How [would|do] you {t}?", "[What are|Give me] the steps to {t}.", "Give me a [short|] plan to {t}.",
             "The crew [has|needs] to {t}.", "What are the steps to {t}?", "The [goal|task|job] is to {t}.",
             "The crew has a [new|] task: {t}.", "Your [task|job|goal] is to {t}.", "I would like you to {t}.",
             "[New|Next] [job|task]: {t}.", "Plan this: {t}.", "Please plan this [job|task]: {t}.",
             "Somebody [has|needs] to {t}.", "Help [us|me] to {t}.", "{t}", "Make a plan for the crew: {t}.",
             "[Would|Could] you please {t}?", "Which steps do we need to {t}?", "[We are|The crew is] asked to {t}.",
             "Goal: {t}.", "Break this into steps: {t}.", "Which steps do we have to take to {t}?",
             "[Hello|Hi], please {t}.", "Here is [the|a new|your] task: {t}.", "You are asked to {t}.", "Let us {t}.",
             "I need a plan: {t}.", "In which steps [can|do] we {t}?", "Tell [us|me] how to {t}.", "How can we {t}?",
             "Which steps do we take to {t}?"]
TAILS = ["See also {a}.", "The details are in {a}.", "What we know so far is {a}.", "More is in {a}.",
         "More details are in {a}.", "Older notes are {a} and {a2}.", "Start from {a}.", "Keep {a} in mind."]
MANNERS = ["Thanks!", "Thank you.", "Keep it short.", "Take your time.", "Keep it short, thanks.", "Be brief.",
           "It is urgent."]


def frame(w, asks, t, tails=0.12):
    text = say(w, w.pattern(asks), t=t, T=upper(t))
    if w.chance(tails):
        text += " " + fill(w, w.pattern(TAILS), {})
    if w.chance(0.1):
        text += " " + w.pattern(MANNERS)
    return text


# ---------------------------------------------------------------------------------------------- statements

FACTS = ["{s} costs {n} {u}", "{p} [runs|leads|owns] {s}", "{s} opens on {d}", "{s} opens at {h}",
         "{s} is open until {h}", "{s} has {n} [rooms|parts|doors|owners|seats]",
         "{s} was [built|sold|repaired|painted] on {d}", "{s} needs {n} [litres|watts|kilos] a day",
         "the file {f} has {n} lines", "{s} was built by {p}", "line {n} of {f} says {w}",
         "the file {f} stops with {w} at line {n}", "the next {e} in {l} is on {d}", "the {e} starts at {h}",
         "the {e} in {l} starts at {h}", "{p} [ordered|bought|sold] {i}", "{i} cost {n} {u}",
         "{s} [closes|opens] on {y}", "the way from {l} to {l2} takes {n} minutes",
         "the trip from {l} to {l2} takes {n} minutes", "{s} is {c}", "{p} is a {b} in {l}",
         "the best {b} in {l} is {p}", "{j} is written in {g}", "{j} was written in {g} by {p}",
         "{n} {q} came to the {e}", "{p} moved to {l} on {d}", "{s} is {n} metres long", "{s} weighs {n} kilos",
         "{s} is {n} metres wide", "the trip to {l} costs {n} {u}", "the cause is {w}", "a room in {l} costs {n} {u}",
         "the file {f} was changed on {d} by {p}", "{j} uses {n} [tables|files|servers]",
         "the password of {j} is kept by {p}", "the cause of the {w} is {f}", "the {w} comes from {f}",
         "the file {f} lacks the column {k}", "the {r} of {p} is {c}", "{j} [failed|stopped] after {n} minutes",
         "{j} failed at {h}", "{j} is open until {d}", "the file {f} is open", "the cause of it is {f}",
         "{j} needs {n} [tables|files|servers]", "{j} uses {i}", "{s} is wide", "it costs {n} {u}"]

def fact(w, vals=None, about=None):
    """A statement, lower-case and without a full stop, and its values."""
    vals = {} if vals is None else vals
    while True:
        chosen = w.pattern(FACTS)
        if about is None or "{s}" in chosen:
            break
    if about:
        vals["s"] = about
    text = fill(w, chosen, vals)
    return text, [str(v) for k, v in vals.items() if k != "u" and str(v) in text]


def facts(w, n, about=None):
    """n different statements; about: what half of them are about."""
    out, seen = [], set()
    while len(out) < n:
        f = fact(w, about=about if about and w.chance(0.6) else None)
        if f[0] not in seen:
            seen.add(f[0])
            out.append(f)
    return out


FILLERS = ["This page is old.", "Thank you for reading.", "More will follow.", "See the other pages too.",
           "See the other page.", "This note is short.", "Nothing else is known.", "Comments are welcome.",
           "More notes will follow.", "This is a short page.", "This is a copy.", "The rest is empty."]


def source_text(w, statement):
    text = upper(statement) + "."
    k = w.rng.random()
    if k < 0.15:
        return text + " " + w.pattern(FILLERS)
    if k < 0.25:
        return w.pattern(FILLERS) + " " + text
    return text


# ---------------------------------------------------------------------------------------------- hand-overs

_ID = re.compile(r"\ba[0-9]{1,4}\b")


def artifacts_of(turns):
    """All artifact ids that the conversation names, in their order."""
    seen = []
    for turn in turns:
        for found in _ID.findall(json.dumps(turn)):
            if found not in seen:
                seen.append(found)
    return seen


def hand_over(turns, role, to, t, result):
    turns.append({"ask_handover": to})
    turns.append({"handover": {"from": role, "to": to, "task": t, "result": result,
                               "artifacts": artifacts_of(turns[:-1])}})


ROLES = "planner researcher critic writer assistant".split()


def next_role(w, role):
    usual = {"planner": "researcher", "researcher": "writer", "writer": "critic", "critic": "writer",
             "assistant": "planner"}
    if w.chance(0.55):
        return usual[role]
    return w.free([r for r in ROLES if r != role])


def pass_on(w, role, t, result, artifacts=()):
    return {"receive": {"from": w.free([r for r in ROLES if r != role]), "to": role, "task": t, "result": result,
                        "artifacts": list(artifacts)}}


# ---------------------------------------------------------------------------------------------- the roles
# each gives (turns, tools, task, result, groups of values that its answer copies)

def work_planner(w):
    t, steps, values = task(w)
    if w.chance(0.2):
        idle = w.free(["not started", "no plan yet", "none", f"revise: the {w.free(KINDS)[0]} {w.amount()} is missing"])
        turn = pass_on(w, "planner", t, idle, [w.artifact()] if w.chance(0.2) else [])
    else:
        turn = {"user": frame(w, PLAN_ASKS, t)}
    return [turn, {"plan": steps}], [], t, "; ".join(steps), [[v] for v in values]


RESEARCH_TASKS = ["find out about {s}", "collect [facts|news] about {s}", "find facts about {s}",
                  "say what is known about {s}", "find out what is known about {s}",
                  "collect what is known about {s}", "see what the sources say about {s}",
                  "collect the findings on {s}", "report on {s}", "report the facts on {s}",
                  "sum up the sources on {s}", "find news [of|about] {s}", "list the facts about {s}",
                  "answer what {p} asked about {s}", "list what {p} asked about {s}", "prepare the {e} in {l}",
                  "collect facts for {p}", "help {p} with the {e}", "find what {p} needs for the {e}",
                  "find facts for the {e} in {l}", "prepare a {x} to {p}", "find out why {j} stopped",
                  "look into {j}", "look into {f} for {p}", "find out about {j} for {p}"]
RESEARCH_ASKS = ["Please {t}.", "{T}.", "[Can|Could] you {t}?", "Task: {t}.", "Your task is to {t}.",
                 "We [need|want] to {t}.", "{T}, please.", "I want to {t}.", "Please use the sources to {t}.",
                 "Could you use these sources to {t}?", "The task is to {t}.", "[Your|The] job: {t}.",
                 "You are asked to {t}.", "The crew has to {t}.", "The job is to {t}."]
SOURCES_HEAD = ["", "[The|Your] sources:", "Sources:", "[These|Here] are the sources:", "Here are your sources:",
                "[Use|Read] these:", "What we have:", "Use only these sources:", "We have:",
                "Use the sources we have:"]
SOURCE_LINES = ["{a}: {x}", "[{a}] {x}", "- {a}: {x}", "{a} says: {x}", "- {a} says: {x}", "({a}) {x}", "{a} - {x}",
                "From {a}: {x}", "Source {a}: {x}", "- source {a}: {x}", "In {a}: {x}", "{a}\n{x}", "* {a}: {x}",
                "Source: {a}. Text: {x}", "- from {a}: {x}"]
SOURCE_LINES = [s.replace("[{a}]", "({a})") if s.startswith("[") else s for s in SOURCE_LINES]
READ_ASKS = ["The source is {f}.", "Source: {f}.", "Read {f} for this.", "Use {f}.", "Use {f} as your source.",
             "It is in {f}.", "Look into {f}.", "See {f}.", "All we have is {f}.", "Read the source {f}.",
             "What we have is {f}.", "Take {f} as the source.", "Use {f} as the source."]
READ2_ASKS = ["The sources are {f} and {f2}.", "Sources: {f}, {f2}.", "Read {f} and {f2} for this.",
              "Use {f} and {f2}.", "Use {f} and {f2} as your sources.", "It is in {f} and {f2}.",
              "Look into {f} and {f2}.", "See {f} and {f2}.", "All we have is {f} and {f2}.",
              "Read the sources {f} and {f2}."]
SEARCH_ASKS = ["Search for {k} in {o}.", "Search {o} for {k}.", "Look for {k} in {o}.", "Find {k} in {o}.",
               "Look in {o} for {k}.", "Search the files in {o} for {k}.", "Source: all lines in {o} with {k}.",
               "Use the lines with {k} in {o}.", "Search all files of {o} for {k}.",
               "Search {o} for all lines with {k}."]


def more_tools(w, needed, some="read list search artifact recall ask"):
    names = set(needed)
    if w.chance(0.15):
        return list(TOOL_ORDER)
    if w.chance(0.4):
        names.update(w.sample(some.split(), w.between(1, 3)))
    return [n for n in TOOL_ORDER if n in names]


def work_researcher(w):
    vals = {}
    t = fill(w, w.pattern(RESEARCH_TASKS), vals)
    about = vals.get("s")
    kind = w.rng.random()
    turns, tools, groups = [], [], []
    found = []                                              # (statement, source)
    if kind < 0.42:                                         # the sources are in the message
        n = w.free([1, 2, 2, 2, 3])
        line = w.pattern(SOURCE_LINES)
        names = []
        while len(names) < n:
            name = source_name(w)
            if name not in names:
                names.append(name)
        picked = facts(w, n, about)
        lines = [say(w, line, a=a, x=source_text(w, f[0])) for a, f in zip(names, picked)]
        head = say(w, w.pattern(SOURCES_HEAD))
        ask = say(w, w.pattern(RESEARCH_ASKS), t=t, T=upper(t))
        parts = [ask] + ([head] if head else []) + lines
        if w.chance(0.12):
            parts = ([head] if head else []) + lines + [ask]
        turns.append({"user": "\n".join(parts)})
        found = [(f[0], a, f[1]) for a, f in zip(names, picked)]
    elif kind < 0.52:                                       # a hand-over with one artifact
        picked = facts(w, w.free([1, 2]), about)
        a = w.artifact()
        turns.append(pass_on(w, "researcher", t, "; ".join(["read " + a]), [a]))
        tools = more_tools(w, ["artifact"])
        turns.append({"call": {"name": "artifact", "arguments": {"id": a, "offset": 0}}})
        turns.append({"result": {"text": " ".join(upper(f[0]) + "." for f in picked), "end": a}})
        found = [(f[0], a, f[1]) for f in picked]
    elif kind < 0.72:                                       # one or two files to read
        v = {}
        two = w.chance(0.3)
        text = say(w, w.pattern(RESEARCH_ASKS), t=t, T=upper(t))
        turns.append({"user": text + " " + fill(w, w.pattern(READ2_ASKS if two else READ_ASKS), v)})
        clip = not two and w.chance(0.3)
        tools = more_tools(w, ["read", "artifact"] if clip else ["read"])
        for f in [v["f"], v["f2"]] if two else [v["f"]]:
            picked = facts(w, 1, about)
            turns.append({"call": {"name": "read", "arguments": {"path": f}}})
            if clip:
                a, offset, total = w.artifact(), w.number(100, 900), w.number(250, 900)
                turns.append({"result": {"text": source_text(w, picked[0][0]), "shown": w.number(40, 200),
                                         "total": total, "id": a, "offset": offset}})
                found.append((picked[0][0], f, picked[0][1]))
                turns.append({"call": {"name": "artifact", "arguments": {"id": a, "offset": offset}}})
                other = facts(w, 1, about)[0]
                turns.append({"result": {"text": source_text(w, other[0]), "end": a}})
                found.append((other[0], a, other[1]))
            else:
                turns.append({"result": {"text": source_text(w, picked[0][0])}})
                found.append((picked[0][0], f, picked[0][1]))
    elif kind < 0.83:                                       # a search
        v = {"k": w.slot(WORDS) if w.chance(0.4) else w.word()}
        text = say(w, w.pattern(RESEARCH_ASKS), t=t, T=upper(t)) + " " + fill(w, w.pattern(SEARCH_ASKS), v)
        turns.append({"user": text})
        tools = more_tools(w, ["search"])
        turns.append({"call": {"name": "search", "arguments": {"pattern": v["k"], "path": v["o"]}}})
        lines = []
        for f in facts(w, w.free([1, 2, 2]), about):
            path = v["o"] + "/" + w.filename()
            statement = f[0] + " (" + v["k"] + ")"
            lines.append(f"{path}:{w.number(1, 400)}: {upper(statement)}.")
            found.append((statement, path, f[1]))
        turns.append({"result": {"text": "\n".join(lines)}})
    elif kind < 0.95:                                       # the planner's hand-over: its read and look-up steps
        t, steps, _ = task(w, SEEKING)
        turns.append(pass_on(w, "researcher", t, "; ".join(steps)))
        turns[0]["receive"]["from"] = "planner"
        turns[0]["receive"]["artifacts"] = artifacts_of([{"user": t}])
        tools = more_tools(w, ["read", "search", "artifact"])
        for step in steps:
            step = re.sub(r" (by|before) [^ ]+( [A-Z][a-z]+)?$", "", step)
            if step.startswith("read "):
                f = step[5:]
                statement, values = fact(w)
                if _ID.fullmatch(f):
                    turns.append({"call": {"name": "artifact", "arguments": {"id": f, "offset": 0}}})
                    turns.append({"result": {"text": source_text(w, statement), "end": f}})
                else:
                    turns.append({"call": {"name": "read", "arguments": {"path": f}}})
                    turns.append({"result": {"text": source_text(w, statement)}})
                found.append((statement, f, values))
            elif step.startswith("look up "):
                what = step[8:]
                statement, values = fact(w, about=what) if what.startswith("the ") else fact(w)
                path = w.path()
                turns.append({"call": {"name": "search", "arguments": {"pattern": what, "path": "."}}})
                turns.append({"result": {"text": f"{path}:{w.number(1, 400)}: {upper(statement)}."}})
                found.append((statement, path, values))
    else:                                                   # nothing to go by
        turns.append({"user": say(w, w.pattern(RESEARCH_ASKS), t=t, T=upper(t))})
        return turns + [{"assistant": NO_SOURCE}], [], t, "no source", [["no source"]]
    turns.append({"findings": [{"text": upper(s), "source": a} for s, a, _ in found]})
    groups = [[v] for s, a, values in found for v in values + [a]]
    return turns, tools, t, "; ".join(upper(s) for s, _, _ in found), groups


# kinds of values that a text must name: (kind, maker, sentences that name one)
KINDS = [
    ("date", lambda w: w.date(),
     ["We meet on {v}.", "The work starts on {v}.", "The offer ends on {v}.", "It was signed on {v}.",
      "The work ends on {v}.", "Everything is ready on {v}."]),
    ("time", lambda w: w.time(),
     ["We meet at {v}.", "The doors open at {v}.", "The talk starts at {v}.", "The bus leaves at {v}.",
      "The talk ends at {v}.", "Dinner is at {v}."]),
    ("price", lambda w: f"{w.number(3, 900)} {w.free(UNITS[:2])}",
     ["It costs {v}.", "The price is {v}.", "We paid {v}.", "A ticket is {v}.", "A ticket costs {v}.",
      "We ask for {v}."]),
    ("place", lambda w: w.place(),
     ["We meet in {v}.", "The store is in {v}.", "The bus goes to {v}.", "It will be held in {v}.",
      "The talk will be in {v}.", "Everyone travels to {v}."]),
    ("person", lambda w: w.person(),
     ["Ask {v} for help.", "{v} leads the work.", "{v} will be there.", "The idea came from {v}.",
      "The help came from {v}.", "{v} has the key."]),
    ("room", lambda w: str(w.number(2, 400)),
     ["We meet in room {v}.", "Come to room {v}.", "Room {v} is free.", "The talk is in room {v}.",
      "Come to room {v} for the talk."]),
    ("file", lambda w: w.filename(),
     ["The list is in {v}.", "Open {v} first.", "The table is {v}.", "All is written in {v}.", "The table is in {v}.",
      "See {v} for more."]),
    ("colour", lambda w: w.slot(g.COLOURS),
     ["The cover is {v}.", "We painted it {v}.", "It comes in {v}.", "The flag is {v}.", "The cover comes in {v}."]),
    ("day", lambda w: w.free(g.WEEKDAYS),
     ["We meet on {v}.", "It opens on {v}.", "The market is on {v}.", "Come on {v}.", "It starts on {v}."]),
    ("project", lambda w: w.project(),
     ["The name is {v}.", "We call it {v}.", "It belongs to {v}.", "{v} is the name.", "We call the work {v}."]),
]

CRITIC_TASKS = ["check the {x} to {p}", "check the draft for {p}", "check this {x}", "look at the {x} for {p}",
                "look at the draft for {p}", "judge the {x} to {p}", "judge this draft", "check the {x} about {s}",
                "read the {x} about {s}", "judge the {x} about {s}", "review the {x} for the {q}", "review this {x}",
                "say if the {x} to {p} is good", "check the {x} for the {e}", "review the {x} to {p}",
                "see if the {x} is complete", "look over the draft about {s}", "check the {x} for mistakes",
                "check if the {x} is good", "see if the draft about {s} is complete"]
CRITIC_ASKS = ["Please {t}.", "{T}.", "[Can|Could] you {t}?", "Task: {t}.", "The task is to {t}.", "We need to {t}.",
               "{T}, please.", "Your task is to {t}.", "I want you to {t}.", "Can you please {t}?"]
NEEDS = ["It must name {r}.", "It [must|should|has to] mention {r}.", "It has to name {r}.", "Required: {r}.",
         "It should name {r}.", "The draft [must|should] [name|have|give] {r}.", "It must [have|give] {r}.",
         "It needs {r}.", "The text [must|should|has to] name {r}.", "The draft must mention {r}.",
         "Do not accept it without {r}.", "Check for {r}.", "See that it [names|has] {r}.", "Requirement: name {r}.",
         "Do not accept the draft without {r}.", "The reader needs {r}.", "Needed: {r}."]
AVOIDS = ["It must not mention {r}.", "Nothing about {r}.", "It should not name {r}.", "Leave out {r}.",
          "It should not mention {r}.", "Do not accept it with {r} in it.", "{r} must not be in it."]
FACT_HEADS = ["Fact: {r}", "The facts: {r}", "What is true: {r}", "Check it against this: {r}",
              "Check it against the facts: {r}", "Facts to check against: {r}", "We know: {r}", "True is: {r}"]
DRAFT_HEADS = ["Draft: {d}", "Draft:\n{d}", "The draft: {d}", "Text: {d}", "Text:\n{d}", "The draft is:\n{d}",
               "The text: {d}", "Here is the draft: {d}", "This is the text:\n{d}", "Here is the text: {d}",
               'It says: "{d}"', '"{d}"']
VERDICT_HEAD = {True: "accept", False: "revise"}


def listing(w, parts):
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return " and ".join(parts) if w.chance(0.8) else ", ".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def two_values(w, maker):
    a = maker(w)
    while True:
        b = maker(w)
        if a not in b and b not in a:
            return a, b


def work_critic(w):
    vals = {}
    mode = w.rng.random()
    if mode < 0.16 and w.chance(0.5):
        mode = 0.17
    accept = w.chance(0.45)
    plain = w.chance(0.05)
    reasons, groups = [], []
    draft = []
    if plain:
        accept = True
        reasons.append("no requirement is missing")
        groups.append(["no requirement is missing"])
    elif mode < 0.58:                                         # what the draft must name
        kinds = w.sample(KINDS, w.free([1, 1, 2, 2, 3]))
        missing = set() if accept else set(w.sample(range(len(kinds)), w.between(1, min(2, len(kinds)))))
        named = []
        for i, (kind, maker, sentences) in enumerate(kinds):
            v, other = two_values(w, maker)
            named.append(f"the {kind} {v}")
            if i not in missing:
                draft.append(w.pattern(sentences).replace("{v}", v))
            elif w.chance(0.3):
                draft.append(w.pattern(sentences).replace("{v}", other))
            if accept:
                reasons.append(f"the {kind} {v} is named")
            elif i in missing:
                reasons.append(f"the {kind} {v} is missing")
            if accept or i in missing:
                groups.append([f"{kind} {v}"])
        wanted = say(w, w.pattern(NEEDS), r=listing(w, named))
        wanted = upper(wanted)
    elif mode < 0.88:                                       # facts that the draft must agree with
        kinds = w.sample(KINDS, w.free([1, 1, 2]))
        wrong = set() if accept else set(w.sample(range(len(kinds)), 1))
        known = []
        for i, (kind, maker, sentences) in enumerate(kinds):
            v, other = two_values(w, maker)
            sentence = w.pattern(sentences)
            known.append(sentence.replace("{v}", v))
            draft.append(sentence.replace("{v}", other if i in wrong else v))
            if accept:
                reasons.append(f"{v} is right")
                groups.append([v])
            elif i in wrong:
                reasons.append(f"{other} should be {v}")
                groups.append([f"{other} should be {v}"])
        wanted = say(w, w.pattern(FACT_HEADS), r=" ".join(known))
    else:                                                   # what it must not mention
        kind, maker, sentences = w.free(KINDS)
        v, other = two_values(w, maker)
        wanted = upper(say(w, w.pattern(AVOIDS), r=f"the {kind} {v}"))
        if not accept:
            draft.append(w.pattern(sentences).replace("{v}", v))
        elif w.chance(0.4):
            draft.append(w.pattern(sentences).replace("{v}", other))
        reasons.append(f"the {kind} {v} is {'not ' if accept else ''}mentioned")
        groups.append([f"{kind} {v} is {'not ' if accept else ''}mentioned"])
    values = [gr[0].split()[-1] for gr in groups]
    want = 1 if len(draft) > 1 else w.between(0 if draft else 1, 2)
    while want:
        f = fact(w)[0]
        if not any(v in f for v in values):
            draft.append(upper(f) + ".")
            want -= 1
    draft = " ".join(w.shuffle(draft))
    groups = [["Verdict: " + VERDICT_HEAD[accept]]] + groups
    result = VERDICT_HEAD[accept] + ": " + "; ".join(reasons)
    verdict = {"verdict": {"accept": accept, "reasons": reasons}}
    if plain:                                               # a hand-over that requires nothing
        t = task(w)[0]
        turn = pass_on(w, "critic", t, draft)
        return [turn, verdict], [], t, result, groups
    if mode < 0.16:                                         # the writer's hand-over: the task names what is required
        x, p = w.free(TEXTS), w.person()
        t = say(w, w.pattern(HANDED_TASKS), x=x, p=p, r=listing(w, named))
        turn = pass_on(w, "critic", t, draft)
        turn["receive"]["from"] = "writer"
        return [turn, verdict], [], t, result, groups
    t = fill(w, w.pattern(CRITIC_TASKS), vals)
    ask = say(w, w.pattern(CRITIC_ASKS), t=t, T=upper(t))
    told = say(w, w.pattern(DRAFT_HEADS), d=draft)
    sep = w.free([" ", "\n"])
    order = [ask, wanted, told] if w.chance(0.75) else [ask, told, wanted]
    if w.chance(0.06):
        order.insert(1, fill(w, w.pattern(TAILS), {}))
    return [{"user": sep.join(order)}, verdict], [], t, result, groups


HANDED_TASKS = ["write a {x} to {p} and name {r}", "write {p} a {x} that names {r}",
                "write a {x} to {p} that names {r}", "send a {x} to {p} and name {r}",
                "send {p} a {x} that names {r}", "draft a {x} for {p}; it must name {r}",
                "write a {x} for {p}; it must name {r}", "write a {x} to {p}; name {r}",
                "prepare a {x} for {p} and name {r}", "prepare a {x} to {p}; it must name {r}"]

WRITER_TASKS = ["write a {x} to {p}", "write a {x} about {s}", "write a [short|] {x}", "draft a {x} for {p}",
                "draft a short {x} to {p}", "tell {p} about {s}", "write {p} a {x}", "write a text about {s}",
                "write up the findings", "write up a text for {p}", "inform the {q}", "write a {x} for the {q}",
                "put this into a {x}", "make a {x} of this", "make this into a {x} for the {q}",
                "make a paragraph of this", "write a paragraph about {s}", "draft a {x} on {s}", "report to the {q}",
                "draft a paragraph for the {q}", "write up the text for {p}", "report to {p}"]
WRITER_ASKS = ["Please {t}.", "{T}.", "[Can|Could] you {t}?", "Task: {t}.", "Your task is to {t}.", "We need to {t}.",
               "{T}, please.", "The task is to {t}.", "I want you to {t}.", "Can you please {t}?"]
POINT_HEADS = ["Points:", "The points:", "Findings:", "[The|Your] findings:", "Your points:", "Use these points:",
               "What we know:", "Say this:", "These are the facts:", "Use these findings:", "Facts:",
               "Use only this:", "The facts are:", "These are the findings:", "What we know is this:",
               "Here are your points:"]
POINT_LINES = ["- {x}", "- {x}.", "* {x}", "{i}. {x}", "{i}) {x}.", "{x}.", "- {x} (from {a})", "{i}. {x} (from {a})",
               "{i}) {x}", "* {x}."]
REVISE_TAILS = ["Revise it: {r}.", "The critic says: revise, {r}.", "Please revise: {r}.", "Revise: {r}.",
                "Please revise it: {r}.", "The critic says: {r}."]


def work_writer(w):
    vals = {}
    t = fill(w, w.pattern(WRITER_TASKS), vals)
    picked = facts(w, w.free([1, 2, 2, 3, 3]), vals.get("s"))
    texts = [upper(f[0]) for f in picked]
    k = w.rng.random()
    if k < 0.25:
        turn = pass_on(w, "writer", t, "; ".join(texts), [w.artifact() for _ in range(w.free([0, 0, 1, 2]))])
        turn["receive"]["from"] = w.free(["researcher", "researcher", "assistant"])
        if k < 0.05:                                        # a plan's steps
            t, steps, values = task(w)
            picked = [(x, [v for v in values if v in x]) for x in steps]
            texts = [upper(x) for x in steps]
            turn["receive"].update({"from": "planner", "task": t, "result": "; ".join(steps)})
    else:
        line = w.pattern(POINT_LINES)
        small = w.chance(0.3) and not line.endswith("{x}.")
        shown = [f[0] if small else upper(f[0]) for f in picked]
        ask = say(w, w.pattern(WRITER_ASKS), t=t, T=upper(t))
        if k < 0.75:
            lines = [say(w, line, x=x, i=i + 1, a=source_name(w)) for i, x in enumerate(shown)]
            head = [say(w, w.pattern(POINT_HEADS))] if w.chance(0.85) else []
            turn = {"user": "\n".join([ask] + head + lines)}
        elif k < 0.88:                                      # findings as the researcher writes them
            lines = ["- %s [%s]" % (x, source_name(w)) for x in texts]
            turn = {"user": "\n".join([ask, "Findings:"] + lines)}
        else:                                               # in one line
            joiner = w.free(["; ", " / ", "; "])
            turn = {"user": ask + " " + say(w, w.pattern(POINT_HEADS)) + " " + joiner.join(shown) + "."}
    draft = " ".join(x + "." for x in texts)
    turns = [turn, {"draft": draft}]
    groups = [[v] for f in picked for v in f[1]]
    if w.chance(0.15):                                      # the critic wants something in it
        kind, maker, _ = w.free(KINDS)
        v = maker(w)
        reason = f"the {kind} {v} is missing"
        if w.chance(0.5):
            turns.append(pass_on(w, "writer", t, "revise: " + reason))
            turns[-1]["receive"]["from"] = "critic"
        else:
            turns.append({"user": say(w, w.pattern(REVISE_TAILS), r=reason)})
        draft += f" The {kind} is {v}."
        groups.append([f"The {kind} is {v}"])
        turns.append({"draft": draft})
    return turns, [], t, draft, groups


CREW_ASKS = ["Task for the crew: {t}.", "The crew should {t}.", "This is for the crew: {t}.",
             "Give the crew this task: {t}.", "This task is for the crew: {t}.", "Let the crew {t}.",
             "A crew [must|should|has to] {t}.", "I want the crew to {t}.", "[New|Next] task for the crew: {t}.",
             "I want a crew to {t}.", "Please let the crew {t}.", "Job for the crew: {t}.", "Crew task: {t}."]


def work_assistant(w):
    t, steps, _ = task(w)
    if w.chance(0.4):                                       # the crew's work comes back
        sender = w.free(ROLES[:4])
        result = {"planner": "; ".join(steps), "critic": "accept: no requirement is missing"}.get(sender)
        if result is None:
            done = [upper(f[0]) for f in facts(w, w.between(1, 2))]
            result = "; ".join(done) if sender == "researcher" else " ".join(x + "." for x in done)
        turn = pass_on(w, "assistant", t, result, [w.artifact()] if w.chance(0.3) else [])
        turn["receive"]["from"] = sender
        return [turn, {"assistant": f"The {sender}'s result: {result}"}], [], t, result, [[result]]
    return [{"user": frame(w, CREW_ASKS, t)}, {"assistant": f"Noted for the crew: {t}."}], [], t, "not started", [[t]]


WORK = {"planner": work_planner, "researcher": work_researcher, "critic": work_critic, "writer": work_writer,
        "assistant": work_assistant}


# ---------------------------------------------------------------------------------------------- the module's face

def dialogue(w):
    role = w.free(["planner"] * 4 + ["researcher"] * 4 + ["critic"] * 5 + ["writer"] * 2 + ["assistant"])
    turns, tools, t, result, _ = WORK[role](w)
    if role != "researcher" and w.chance(0.2):              # tools that this work does not need
        tools = more_tools(w, w.sample(TOOL_ORDER, w.between(1, 3)))
    if w.chance(0.12) and role != "writer":                 # a second task; the hand-over is about the last one
        more, tools2, t, result, _ = WORK[role](w)
        turns += more
        tools = [n for n in TOOL_ORDER if n in tools or n in tools2]
    if w.chance(0.75 if role == "assistant" else 0.5):
        hand_over(turns, role, next_role(w, role), t, result)
        if w.chance(0.06):
            hand_over(turns, role, next_role(w, role), t, result)
    return {"role": role, "tools": tools, "summary": None, "turns": turns}


def segment(w):
    return None


def case_form(w):
    role = w.free(["planner", "researcher", "critic", "writer"])
    while True:
        turns, tools, _, _, groups = WORK[role](w)
        kind = next(iter(turns[-1]))
        if kind != "assistant":
            break
    groups = [x + [y + "s" for y in x if y in g.JOBS] for x in groups]  # "a teacher" -> "look up teachers"
    return {"role": role, "tools": tools, "summary": None, "turns": turns, "check": {"kind": kind, "all": groups}}


def case_handover(w):
    role = w.free(["planner", "researcher", "critic", "writer", "planner", "researcher", "critic", "writer",
                   "assistant"])
    turns, tools, t, result, _ = WORK[role](w)
    hand_over(turns, role, next_role(w, role), t, result)
    return {"role": role, "tools": tools, "summary": None, "turns": turns, "check": {"kind": "handover"}}


CASES = {"roles.form": case_form, "roles.handover": case_handover}


# ---------------------------------------------------------------------------------------------- self-check

def form(name):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "forms", name)) as f:
        return f.read().rstrip("\n")


def render(turn):
    """A turn as text, for looking at and for the checks."""
    kind = next(iter(turn))
    v = turn[kind]
    if kind in ("user", "assistant"):
        return v
    if kind == "draft":
        return form("draft.txt").replace("{text}", v)
    if kind == "plan":
        return "Plan:\n" + "\n".join(f"{i + 1}. {s}" for i, s in enumerate(v))
    if kind == "findings":
        return "Findings:\n" + "\n".join(f"- {f['text']} [{f['source']}]" for f in v)
    if kind == "verdict":
        return "Verdict: " + ("accept" if v["accept"] else "revise") + "\n" + "\n".join("- " + r for r in v["reasons"])
    if kind in ("handover", "receive"):
        return (f"Hand-over from {v['from']} to {v['to']}\nTask: {v['task']}\nResult: {v['result']}\nArtifacts: "
                + (", ".join(v["artifacts"]) or "none"))
    if kind == "ask_handover":
        return f"Hand over to {v}."
    return kind + " " + json.dumps(v)


SAYS = {"assistant", "call", "record", "handover", "plan", "findings", "verdict", "draft"}
OTHERS = {"user", "result", "ask_summary", "ask_handover", "receive"}


def verify(d):
    """Is the dialogue well formed?"""
    assert d["role"] in (None, *ROLES) and all(n in TOOL_ORDER for n in d.get("tools", []))
    turns = d["turns"]
    assert len(turns) % 2 == 0
    for i, turn in enumerate(turns):
        assert len(turn) == 1
        kind = next(iter(turn))
        assert kind in (SAYS if i % 2 else OTHERS), (kind, turns)
        assert (kind == "result") == (i > 0 and "call" in turns[i - 1]), turns
        if kind == "call":
            assert turn["call"]["name"] in d["tools"], d
        if kind == "plan":
            assert 2 <= len(turn["plan"]) <= 4
        if kind == "handover":
            assert len(turn["handover"]["result"].split()) <= 60, turn
        text = render(turn)
        assert text and "{v}" not in text and not re.search(r"\{[a-z]\d?\}|\[[^\[\]]*\|", text), text
    check = d.get("check")
    if check:
        last = render(turns[-1])
        kind = check["kind"]
        if kind == "call":
            assert turns[-1]["call"] == {"name": check["name"], "arguments": check["arguments"]}
        elif kind not in ("contains", "no_call"):
            assert kind in turns[-1]
        for group in check.get("all", []):
            assert any(x.lower() in last.lower() for x in group), (group, last)
        for x in check.get("none", []):
            assert x.lower() not in last.lower(), (x, last)


def self_check(dialogue_of, cases, n=2000, m=300, show=8):
    import time
    start = time.time()
    made = [dialogue_of(g.World(i)) for i in range(n)]
    took = time.time() - start
    for d in made:
        verify(d)
        assert "check" not in d
    for d in made[:show]:
        print(f"---- {d['role']} {' '.join(d['tools'])}")
        for i, turn in enumerate(d["turns"]):
            print(("  < " if i % 2 else "> ") + render(turn).replace("\n", "\n    "))
    distinct = len({json.dumps(d["turns"]) for d in made})
    assert distinct >= 0.95 * n, distinct
    print(f"{n} dialogues, {distinct} distinct, {n / took:.0f} a second")
    for name, make in cases.items():
        held = [make(g.World(i, "held")) for i in range(m)]
        for d in held:
            verify(d)
            assert d["check"]
        print(f"{name}: {m} cases, {len({json.dumps(d['turns']) for d in held})} distinct")


def lost_words(lists):
    """Words that only a held-out phrasing of these lists has."""
    def words(texts):
        return set(re.findall(r"[a-z']+", " ".join(re.sub(r"\{\w+\}", " ", x) for x in texts).lower()))
    train = words(x for items_ in lists for i, x in enumerate(items_) if i % 5 != 4)
    return sorted(words(x for items_ in lists for i, x in enumerate(items_) if i % 5 == 4) - train)


if __name__ == "__main__":
    self_check(dialogue, CASES)
    for lists in ([[*d[0]] for d in DEEDS] + [JOINS, JOINS3, DEADLINES], [PLAN_ASKS, TAILS, MANNERS],
                  [RESEARCH_TASKS, RESEARCH_ASKS, SOURCES_HEAD, SOURCE_LINES, READ_ASKS, READ2_ASKS, SEARCH_ASKS,
                   FILLERS],
                  [FACTS], [CRITIC_TASKS, CRITIC_ASKS, NEEDS, AVOIDS, FACT_HEADS, DRAFT_HEADS, HANDED_TASKS]
                  + [k[2] for k in KINDS], [WRITER_TASKS, WRITER_ASKS, POINT_HEADS, REVISE_TAILS], [CREW_ASKS]):
        print("words of held-out phrasings only:", lost_words(lists))
    for k, d in enumerate(DEEDS):
        if lost_words([d[0]]):
            print(d[0][0], "::", lost_words([d[0]]))
