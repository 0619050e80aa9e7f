"""Phrasings and closed lists of clipped.py, and how lists are split."""
import re

from .grammar import is_held

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
