"""Clipped tool results: answering from the part that is shown, or reading on where it was cut.

The user asks for one thing out of a long text.  If its line is in what is shown, the model answers in one canonical
sentence; if not and the text is clipped, it calls artifact with the id and the offset of the last notice; if not and
there is no more, it says "It is not in there."  A researcher gives the same sentence as a finding, with its source.

An Item is one line of a text that can be asked for.  Its marks are the words that tell it from all other lines: no
other line of a text has all of them, so whether the answer is shown can be seen from the marks alone.
"""
import re

from .grammar import FILE_STEMS, WEEKDAYS, World, is_held

NOT_THERE = "It is not in there."
NO_MORE = "There is no more of it."
MORE = "There is more of it."
THE_END = "That was the end of it."
TOOLS = "read write edit list search shell calculator recall artifact ask".split()

_TOKEN = re.compile(r"\{\w+\}|[A-Za-z']+")


def _words(line):
    return {t.lower() for t in _TOKEN.findall(line) if not t.startswith("{")}


def arrange(text):
    """The lines of a text as a list for World.pattern, so that the words of its held lines occur in training lines."""
    rest = [x.strip() for x in text.strip().splitlines() if x.strip()]
    assert len(rest) >= 5 and len(set(rest)) == len(rest), rest[0]
    n, held = len(rest), []
    for line in [x for step in range(3) for x in rest[step::3]]:
        if len(held) == n // 5:
            break
        others = set().union(*(_words(x) for x in rest if x != line))
        if all(_words(x) <= others for x in held + [line]):
            held.append(line)
            rest.remove(line)
    while len(held) < n // 5:
        held.append(rest.pop())
    return [held.pop(0) if i % 5 == 4 else rest.pop(0) for i in range(n)]


class Pool:
    """A closed list of words, split once: asked() keeps to the side, other() is for lines nobody asks for."""

    def __init__(self, items):
        items = items.split() if isinstance(items, str) else list(items)
        assert len(set(items)) == len(items), sorted(x for x in items if items.count(x) > 1)
        self.all = items
        self.train = [x for x in items if not is_held(x)]
        self.held = [x for x in items if is_held(x)]
        self.held = self.held or self.all

    def pick(self, w, asked):
        if w.side == "train":
            return w.free(self.train)
        return w.free(self.held if asked else self.all)


# ---------------------------------------------------------------------------------------------------- how to ask

READ = arrange("""
    {Q} in {p}?
    {Q} in the file {p}?
    In {p}, {q}?
    In the file {p}, {q}?
    {p}: {q}?
    Look in {p}: {q}?
    Look into {p} and tell me {i}.
    Look at {p} and tell me {i}.
    [Please read|Read] {p} and tell me {i}[, please|].
    Read {p}: {q}?
    [Please open|Open] {p} and find {n}.
    Open {p}: {q}?
    [Please find|Find] {n} in {p}.
    Get {n} from {p}.
    Get me {n} out of {p}[, please|].
    Give me {n} from {p}.
    I need {n} from {p}.
    I need to know {i}, it [is|should be] in {p}.
    I want to know {i}. [Look|See] in {p}.
    I would like to know {i}, see {p}.
    Tell me {i}, see {p}.
    Tell me {n} in {p}.
    [Please tell|Tell] me {i} according to {p}.
    [Can|Could] you tell me {i} in {p}?
    [Can|Could] you find {n} in {p}?
    [Can|Could] you read {p} and tell me {i}?
    [Can|Could] you look in {p} and say {i}?
    Could you get me {n} from {p}?
    According to {p}, {q}?
    {Q} according to {p}?
    {Q}? [It is|It should be|That is] in {p}.
    {Q}? Look in {p}.
    {Q}? [Please read|Read] {p}.
    {Q}? See {p}.
    {Q}? The file is {p}.
    The file {p}: {q}?
    What does {p} say: {q}?
    What does {p} say about {n}?
    What does the file {p} tell us about {n}?
    Check {p}: {q}?
    Check {p} and tell me {i}.
    [Please check|Check] {n} in {p}.
    Use {p}: {q}?
    Say {i}, [look in|read] {p}.
    Can you see in {p} {i}?
    Let me know {i}, the file is {p}.
    Let me know {n} from {p}.
    Please find out {i} from {p}.
    Find out {i} in {p}.
    [Please look|Look] up {n} in {p}.
    Please look up {i}, it is in {p}.
    My question about {p}: {q}?
    A question about the file {p}: {q}?
    I have a question about {p}: {q}?
    Show me {n} from {p}.
    Show me {n} in the file {p}[, please|].
    Quick question: {q} in {p}?
    {N} in {p}, please.
    {N} from {p}?
    Have a look at {p}: {q}?
    Go through {p} and find out {i}.
    Please go through {p}: {q}?
""")
SHELL = arrange("""
    Run `{p}` and tell me {i}.
    Run `{p}`: {q}?
    [Please run|Run] `{p}` and find {n}.
    {Q}? Run `{p}`.
    {Q}? Use `{p}`.
    Use `{p}` and tell me {i}.
    Use `{p}`: {q}?
    `{p}`: {q}?
    What does `{p}` say: {q}?
    What does `{p}` say about {n}?
    Find {n} with `{p}`.
    Find out {i} with `{p}`.
    Please find out with `{p}` {i}.
    Tell me {i}, use `{p}`.
    Get {n} with `{p}`[, please|].
    I need {n}, run `{p}`.
    I want to know {i}, use `{p}`.
    [Can|Could] you run `{p}` and tell me {i}?
    [Can|Could] you find out {i} with `{p}`?
    [Please tell|Tell] me {n} from `{p}`.
    Give me {n} from `{p}`.
    With `{p}`, {q}?
    In the output of `{p}`, {q}?
    {Q} in the output of `{p}`?
    Look at the output of `{p}` and tell me {i}.
    Check with `{p}` {i}.
    Run the command `{p}` and tell me {i}.
    The command is `{p}`: {q}?
    {Q}? The command is `{p}`.
    Please get me {n} from the output of `{p}`.
""")
LIST = arrange("""
    List {p} and tell me {i}.
    List {p}: {q}?
    {Q}? List {p}.
    {Q}? List the folder {p}[, please|].
    List the folder {p} and find {n}.
    [Please list|List] the folder {p}: {q}?
    [Can|Could] you list {p} and tell me {i}?
    In the folder {p}, {q}?
    {Q} in the folder {p}?
    Tell me {n} in the folder {p}.
    Look in the folder {p}: {q}?
    Look in the folder {p} and tell me {i}.
    Find {n} in the folder {p}.
    I need {n}, it is in the folder {p}.
    I want to know {i}, please list {p}.
""")
SEARCH = arrange("""
    Search for "{s}" in {p} and tell me {i}.
    Search for "{s}" in {p}: {q}?
    Search {p} for "{s}": {q}?
    Search {p} for "{s}" and tell me {i}.
    {Q}? Search for "{s}" in {p}.
    {Q}? Search {p} for "{s}".
    [Please search|Search] {p} for "{s}" and find {n}.
    Find {n}, search for "{s}" in {p}.
    Find "{s}" in {p} and tell me {i}.
    Find the lines with "{s}" in {p}: {q}?
    {Q}? Find the lines with "{s}" in {p}.
    Look for "{s}" in {p} and tell me {i}.
    Look for "{s}" in {p}: {q}?
    Please look for the lines with "{s}" in {p}: {q}?
    [Can|Could] you search {p} for "{s}" and tell me {i}?
    [Can|Could] you look for "{s}" in {p} and find {n}?
    I need {n}, look for "{s}" in {p}.
    Tell me {n}, search {p} for "{s}".
    Tell me {i}, look for the lines with "{s}" in {p}.
    I want to know {i}, search for "{s}" in {p}.
""")
AGAIN = arrange("""
    And {q}?
    {Q}?
    {Q} in it?
    And {n}?
    {N}?
    {N}, please.
    What about {n}?
    And what about {n}?
    Now {q}?
    Now {n}, please.
    Now tell me {i}.
    And tell me {i}[, please|].
    Does it [also say|say] {i}?
    Can you also tell me {i}?
    Can you tell me {n}?
    I also need {n}.
    I need {n} too.
    Also, {q}?
    And {q} in the same file?
    In the same file, {q}?
    Tell me {n} too.
    [Please tell|Tell] me also {i}.
    Good. {Q}?
    Good, and {n}?
    Thanks. And {q}?
    Thanks, now {q}?
    Next: {q}?
    Next question: {q}?
    Another question: {q}?
    I have another question: {q}?
    Also find {n} in it.
    Find {n} too, please.
    Then {q}?
    And I want to know {i}.
    I want to know {i} too.
""")
ON = arrange("""
    [Please read|Read] on.
    Read on, please.
    Read on in {a}.
    Go on reading.
    Go on reading {a}.
    [Please go|Go] on.
    Go on with {a}, please.
    Show me more of it.
    Show me more of {a}[, please|].
    Show me more.
    [Please show|Show] me the rest.
    Show the rest of it.
    Read the rest of {a}.
    [Please read|Read] the rest of it.
    Read more of it.
    Read more of {a}.
    I want to see more of it.
    I want to see the rest of {a}.
    I want more of {a}.
    [Can|Could] you read on?
    [Can|Could] you go on reading?
    [Can|Could] you show me more of it?
    [Can|Could] you show me the rest of {a}?
    [Please continue|Continue] reading.
    Continue with {a}.
    Continue reading {a}[, please|].
    Please continue.
    What comes next?
    What comes next in {a}?
    What comes then in it?
    And then? Read on.
    And the rest of it?
    More of it, please.
    More of {a}, please.
    Next part of {a}, please.
    The next part, please.
    Show me the next part of it.
    [Please get|Get] the next part.
    Get the next part of {a}.
    Get me more of {a}.
    Get me the rest.
""")
ON_NAMED = {side: [x for i, x in enumerate(ON) if (i % 5 == 4) == (side == "held") and "{a}" in x]
            for side in ("train", "held")}
OPENERS = ["", "", "", "", "", "", "Hi. ", "Hello. ", "OK. ", "Please help me. ", "A question. "]

# ---------------------------------------------------------------------------------------------------- words

PORT_LIKE = Pool("""port host timeout user path mode level speed depth width height limit owner branch version target
    format encoding language region zone theme font title author editor address street city country phone email website
    currency discount balance rate budget deadline priority stage voltage pressure temperature humidity distance
    weight length volume capacity workers retries delay interval backup socket proxy gateway domain prefix suffix seed
    batch steps layers scale licence model device driver channel frequency band battery engine fuel gear brake motor
    pump valve filter sensor camera lens printer scanner monitor keyboard sound alarm lamp heater fan clock calendar
    school teacher course chapter page captain harbour ship cargo crew route platform train ticket gate seat room floor
    building entrance garage bridge river lake mountain island hotel guide tour price fee tax bonus salary bank account
    customer supplier order invoice receipt parcel warehouse shelf sample recipe flavour sugar salt oven kitchen menu
    doctor nurse clinic dose dentist judge lawyer court theatre actor singer song album radio station
    league coach goalkeeper stadium score record winner prize medal""")
FIRST = "cache log user server client backup window page file mail image audio video disk memory session test".split()
SECOND = "size path limit mode level name port host timeout colour delay format type age owner".split()
PAIRS = Pool([a + " " + b for a in FIRST for b in SECOND])
THINGS = Pool("""lamp chair table ladder hammer drill saw bucket rope tent kettle stove mirror carpet blanket pillow
    basket bottle vase candle clock radio camera printer scanner laptop tablet router projector guitar violin drum
    piano trumpet bicycle scooter tractor trailer wagon sledge boat raft anchor sail helmet jacket coat scarf glove
    boot umbrella suitcase backpack wallet map compass torch whistle key padlock passport folder stapler ruler pencil
    globe telescope microscope thermometer barometer battery charger cable adapter spanner pliers chisel anvil shovel
    rake hose wheelbarrow broom mop toolbox puzzle kite skateboard racket""".split())
MODULES = Pool("""server parser backup client scheduler importer printer scanner mailer router proxy watcher indexer
    builder crawler compiler linker loader sender receiver database cache gateway monitor timer worker checker
    updater installer cleaner archiver exporter renderer player recorder logger tracker heater pump fan elevator
    boiler alarm camera door gate""".split())
ATTRIBUTES = Pool("""price weight size age score height width length colour owner city room phone number code shelf
    team street rank speed floor seat gate desk area depth class level region""".split())
KINDS = Pool("""test file server disk door box job host pump lamp task room train ship bus line page order parcel
    window branch module ticket bridge road key tank printer camera report""".split())
STATES = Pool("""missing full empty open closed locked broken late ready slow old wrong dirty wet hot cold new lost
    damaged sold hidden loose blocked cracked leaking dark silent""".split())
HAPPENED = Pool("failed crashed stopped hung vanished stalled expired leaked".split())
FINE = "ok ok ok fine good passed done".split()
DONE = Pool("""signed checked approved tested printed edited reviewed translated corrected painted measured counted
    recorded packed opened closed repaired cleaned designed ordered delivered planned tuned inspected
    polished copied stored labelled installed""".split())
OBJECTS = Pool("""roof door window fence gate wall floor bridge engine pump boiler lift stage garden kitchen cellar
    tower boat bell clock piano organ heater oven tank pipe cable lamp sign bench table cupboard shelf
    carpet curtain statue fountain""".split())
DOCUMENTS = Pool("report letter contract plan note list survey study review protocol form order bill".split())
PLURALS = Pool("""rows columns lines words pages errors warnings tests files users people chairs tables lamps windows
    doors rooms books boxes bags bottles cups plates spoons tickets seats guests members visitors teachers pupils
    houses cars trucks buses trains ships boats bicycles horses cows sheep goats hens trees bushes apples pears plums
    nails screws bolts pipes cables batteries maps letters parcels stamps coins tools ladders ropes tents blankets
    orders invoices functions modules sensors printers cameras""".split())
EVENTS = Pool("""rehearsal meeting concert lesson lunch dinner breakfast talk workshop lecture tour race match
    interview party ceremony auction market parade film play debate dance picnic hike exam class seminar review
    training exhibition reading quiz sale inspection delivery visit festival yoga chess wedding""".split())
FILLER = arrange("""
    The rest is as before.
    Nothing else to say here.
    This part is not new.
    See the next page.
    All went well.
    Some of it comes later.
    The weather was good.
    No changes since then.
    We talked about it for a while.
    It took longer than planned.
    More will follow.
    Nobody had a question.
    This was done twice.
    There was a short break.
    The list goes on below.
""")
VERBS = [("start", "started"), ("stop", "stopped"), ("fail", "failed"), ("crash", "crashed"), ("finish", "finished"),
         ("restart", "restarted"), ("connect", "connected"), ("reload", "reloaded"), ("open", "opened"),
         ("close", "closed"), ("pause", "paused"), ("wake up", "woke up"), ("log in", "logged in")]


def _value(w):
    r = w.rng.random()
    if r < 0.45:
        digits = w.free([2, 2, 3, 3, 4, 4, 5])
        return str(w.number(10 ** (digits - 1), 10 ** digits - 1))
    if r < 0.68:
        return w.word()
    if r < 0.76:
        return w.person()
    if r < 0.83:
        return w.place()
    if r < 0.90:
        return w.code(w.between(4, 6))
    if r < 0.95:
        return w.time()
    return w._open(lambda: f"{w.between(0, 99)}.{w.between(0, 99)}")


def _quoted(v):
    return v if v.replace(".", "").isdigit() else '"' + v + '"'


def _cap(text):
    return text[:1].upper() + text[1:]


class Item:
    __slots__ = ("line", "marks", "answer", "value", "key", "slots")

    def __init__(self, line, marks, answer, value, key, **slots):
        self.line, self.marks, self.answer, self.value, self.key, self.slots = line, marks, answer, value, key, slots


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
        return Item(line, marks, f"The {z} {k} is {x}.", x, z, k=k, z=z, h=h)


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
        return Item(state[0].format(k=k, v=v), (k,), f"There are {v} {k}.", v, k, k=k)


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
    if short:
        return w.between(25, 70)
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
        self.kind, self.path, self.end, self.clipped, self.at, self.done = kind, path, end, clipped, 0, 0
        sizes = [_size(w, short or k > 0) if k == 0 or w.chance(0.3) else w.between(15, 60) for k in range(parts)]
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
    t = Talk(w, _role(w))
    if w.chance(0.33):
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
            assert "{" not in v and "[" not in v and "  " not in v, v


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
