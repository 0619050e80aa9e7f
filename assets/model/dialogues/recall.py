"""Facts that the user says and asks for later.

A fact has a type (an attribute with its phrasings), a subject and a value.  The model acknowledges it ("Noted: Marta's
dog is called Rufo.") and answers a question with the same sentence.  What lies between is other facts of the same
kinds, small talk, pasted filler and questions on earlier facts.  The latest word on a fact counts; a fact never said
gets "You have not told me."

Rules for what the model writes: one fact or a few in a message are echoed after "Noted: ", joined by "; "; a pasted
note or list gets "Noted."; two facts asked for at once are answered by two sentences in the order of asking.
"""
import re

from .grammar import (ANIMALS, COLOURS, DRINKS, FOODS, HOBBIES, JOBS, LANGUAGES, MONTHS, WEEKDAYS, World, is_held)

UNSAID = "You have not told me."
PER_CHAR, PER_TURN = 0.27, 4          # a rough count of tokens: of a text's characters, and of a turn's frame

# ---------------------------------------------------------------- patterns, compiled once


def _tree(text):
    """'a [b|c] d' as ('a ', [('b',), ('c',)], ' d')."""
    def parse(i, inside):
        options, parts, run = [], [], ""
        while i < len(text):
            c = text[i]
            if c == "[":
                if run:
                    parts.append(run)
                    run = ""
                alts, i = parse(i + 1, True)
                parts.append(alts)
            elif inside and c in "|]":
                if run:
                    parts.append(run)
                options.append(tuple(parts))
                parts, run = [], ""
                if c == "]":
                    return options, i + 1
                i += 1
            else:
                run += c
                i += 1
        assert not inside, text
        if run:
            parts.append(run)
        return tuple(parts), i
    return parse(0, False)[0]


def _grow(rng, parts):
    return "".join([p if type(p) is str else _grow(rng, rng.choice(p)) for p in parts])


_WORDS = re.compile(r"[A-Za-z]+")
_HOLE = re.compile(r"\{\w+\}")


def _words(text):
    return set(_WORDS.findall(_HOLE.sub(" ", text).lower()))


def _arrange(items, more=(), read=lambda t: t):
    """Order a list so that the held items (index 4, 9, ..) use only words that training items or `more` have.
    read(item) is the text whose words count."""
    items = list(dict.fromkeys(items))
    want, base, held = len(items) // 5, set(more), []
    rest = list(items)
    for _ in range(want):
        counts = {}
        for t in rest:
            for x in _words(read(t)):
                counts[x] = counts.get(x, 0) + 1
        locked = set().union(*[_words(read(t)) for t in held]) if held else set()
        for k in range(len(rest)):
            t = rest[(k * 3 + 3 * len(held) + 2) % len(rest)] if len(rest) % 3 else rest[k]
            if all(x in base or counts[x] > 1 for x in _words(read(t))):
                if all(x in base or counts.get(x, 0) - (x in _words(read(t))) > 0 for x in locked):
                    held.append(t)
                    rest.remove(t)
                    break
        else:
            break
    if len(held) < want:              # not enough covered ones: the first ones left are held as they are
        while len(held) < want:
            held.append(rest.pop(0))
    out = []
    for i in range(len(items)):
        out.append(held.pop(0) if i % 5 == 4 else rest.pop(0))
    return out


def _covered(items, more=()):
    """The words of held items that no training item and not `more` has."""
    train = set(more).union(*[_words(t) for i, t in enumerate(items) if i % 5 != 4])
    return set().union(*[_words(t) for i, t in enumerate(items) if i % 5 == 4]) - train


_GAPS = re.compile(r" +( |[.,?])")


class Phrases:
    """A list of phrasings, split as World.pattern splits it, compiled."""

    all = []

    def __init__(self, items, more=(), arrange=True, split=True):
        assert len(items) >= 5, items
        self.items = _arrange(items, more) if arrange else list(items)
        self.more = more
        trees = [_tree(t) for t in self.items]
        self.train = [t for i, t in enumerate(trees) if i % 5 != 4]
        self.held = [t for i, t in enumerate(trees) if i % 5 == 4]
        if split:
            Phrases.all.append(self)
        else:                         # filler: the same on both sides
            self.train = self.held = trees

    def pick(self, w):
        text = _grow(w.rng, w.rng.choice(self.held if w.side == "held" else self.train))
        if "  " in text or text[0] == " " or text[-1] == " " or " ." in text or " ?" in text or " ," in text:
            text = _GAPS.sub(r"\1", text.strip())
        return text


# ---------------------------------------------------------------- verbs: I live, you live, Marta lives

_ODD = {"be": ("am", "are", "is"), "have": ("have", "have", "has"), "do": ("do", "do", "does"),
        "go": ("go", "go", "goes"), "watch": ("watch", "watch", "watches"), "carry": ("carry", "carry", "carries"),
        "was": ("was", "were", "was"), "teach": ("teach", "teach", "teaches")}
_VERB = re.compile(r"<(\w+)>")


_OWN = re.compile(r"\{s\}([^.{]*)\{p\}")


def _inflect(text, view):
    if view == 2 and _OWN.search(text):
        text = _OWN.sub(r"{s}\1their", text)              # Marta calls their dog Rufo

    def put(m):
        v = m.group(1)
        if v in _ODD:
            return _ODD[v][view]
        return v + "s" if view == 2 else v
    return _VERB.sub(put, text)


# ---------------------------------------------------------------- generic phrasings, for every attribute

SAY = """{np} is {v}.
{np} is {v}, [please remember that|please remember it|remember that|don't forget it|keep that in mind].
[note|remember|please note|please remember|keep in mind|don't forget] that {np} is {v}.
by the way, {np} is {v}.
{np}: {v}
{np} = {v}
I [want|would like] you to [know|remember] that {np} is {v}.
[note|remember|keep|save|store] this: {np} is {v}.
[for later|for the record|for your notes|for your information|fyi]: {np} is {v}.
{np} should be {v}.
{v} is {np}.
[as|for] {np}, it is {v}.
[also|and], {np} is {v}.
you should know that {np} is {v}.
let me tell you {np}: {v}.
let me tell you that {np} is {v}.
here is {np}: {v}.
this is {np}: {v}
I [just|] [learned|heard|found out|read] that {np} is {v}.
[please|] [note|write] down {np}: {v}.
[please|] [remember|note|save|store|keep] {np}: {v}.
[please|] remember {v} as {np}.
[it turns out|it seems|I think|I believe|they say|they told me] that {np} is {v}.
I [can|may] tell you that {np} is {v}.
if [someone|anyone] asks, {np} is {v}.
[one more thing|another thing|one thing|a fact|another fact]: {np} is {v}.
[hi|hello|hey]! {np} is {v}.
[ok|okay|well|so], {np} is {v}.
just so you know, {np} is {v}.
I will need this later: {np} is {v}.
I will ask you later: {np} is {v}.
the [value|answer|entry] for {np} is {v}.
{np} [happens|turns out] to be {v}.
{np}? [it is|that is|that's|it's] {v}.
we have {v} as {np}.
[we|I] have {np} now: it is {v}.
make a note: {np} is {v}.
[add|add this|put this] to your notes: {np} is {v}.
I said it to [someone|others] already, but you should know it too: {np} is {v}.
today I [heard|learned] that {np} is {v}.
don't forget {np}: {v}.
don't forget: {np} is {v}.
{np}, [by the way|as you should know|just so you know|for later], is {v}.
my notes say that {np} is {v}.
in my notes {np} is {v}.
in case you need it: {np} is {v}.""".split("\n")

ASK = """what is {np}?
what's {np}?
what was {np}?
what was {np} again?
[can|could|will] you tell me {np}?
[please|] tell me {np} [again|].
[please|] remind me of {np}.
[can|could] you remind me [of|about] {np}?
remind me: what is {np}?
do you [still|] remember {np}?
do you [still|] know {np}?
do you remember what {np} [is|was]?
do you know what {np} is?
what did I say {np} [is|was]?
what did I tell you about {np}?
what did I say about {np}?
{np}?
and {np}?
I forgot {np}.
I forgot {np}, what [is|was] it?
I [cannot|can't] remember {np}.
I need {np} [now|again|].
[please|] give me {np} [again|].
[please|] repeat {np}.
which [value|answer] did I give [you|] for {np}?
so what is {np}?
[ok|okay|well|now|and], what is {np}?
[ok|okay|well|now], tell me {np}.
I told you {np}. what [is|was] it?
I [told|gave] you {np} [before|earlier]. [can you repeat it|what was it]?
[earlier|before] I told you {np}, what was it?
quick question: what is {np}?
[one more question|another question|one question|a question]: what is {np}?
what do you have [for|as|under] {np}?
what have you noted [for|as|about] {np}?
what do your notes say about {np}?
look in your notes: what is {np}?
look up {np} [please|for me|].
how about {np}?
what about {np}?
say {np} [again|for me|], please.
I would like to [know|hear] {np} [again|].
I want to know {np}.
what do you know about {np}?
[can|could] I have {np} [again|], please?
let me hear {np} [again|].
let me know {np}, please.
I am looking for {np}.
someone asked me about {np}. what [is|was] it?
someone wants to know {np}. what should I say?
did I tell you {np}? what is it?
have I told you {np}? what is it?
you should know {np}. what is it?
what [is|was] {np}, do you remember?
{np} is what?
what should I [write|say|answer] for {np}?
[hey|hi|hello], what is {np}?""".split("\n")

UPDATE = """actually, {np} is {v} now.
actually {np} is {v}.
[correction|update|change]: {np} is {v}.
[correction|update|change]: {np} is now {v}.
[sorry|no|no wait|wait], {np} is {v}, not {old}.
[sorry|no|no wait|wait], {np} is {v}.
{np} has changed to {v}.
{np} has changed: it is {v} now.
[please|] change {np} to {v}.
[please|] change {np} from {old} to {v}.
I was wrong: {np} is {v}.
I was wrong about {np}: it is {v}.
I made a mistake, {np} is {v}, not {old}.
{np} is {v} now.
{np} is now {v} instead of {old}.
forget {old}, {np} is {v} now.
forget what I said about {np}: it is {v}.
{np} is no longer {old}, it is {v} now.
{np} is not {old} [any more|anymore|now] but {v}.
from now on {np} is {v}.
[please|] set {np} to {v}.
[please|] set {np} to {v} from now on.
I have to correct myself: {np} is {v}.
let me correct that: {np} is {v}, not {old}.
things have changed: {np} is now {v}.
it was {old}, but now {np} is {v}.
{np} was {old}, but now it is {v}.
I said {old}, but {np} is {v}.
I said {old}, I meant {v}: {np} is {v}.
there was a change: {np} is {v} now.
{np} [turns out|turned out] to be {v}, not {old}.
new {v}, old {old}: {np} has changed.
the new value for {np} is {v}.
{np} is {v} and no longer {old}.
[please|] correct {np}: it is {v}.
[please|] update {np} to {v}.
[please|] update {np}: {v} instead of {old}.""".split("\n")

LEAD_SAY = """by the way,
[note|remember|please note|please remember]:
[note|remember|keep|save] this:
[for later|for the record|for your notes|fyi]:
just so you know,
[also|and|so|well|ok|okay],
[hi|hello|hey]!
one more thing:
you should know that
please remember that
keep in mind that
I want you to know that
don't forget that
I [heard|learned] that
another thing:""".split("\n")

TAIL_SAY = """please remember that.
remember that, please.
keep that in mind.
don't forget it.
please don't forget that.
please keep it in mind.
I will ask you later.
note that down, please.
please note that.
I will need that later.""".split("\n")

LEAD_ASK = """[ok|okay|so|well|now|and],
tell me:
remind me:
please tell me:
quick question:
[one|another] question:
by the way,
[hi|hello|hey],
thanks.
thank you.
I forgot:
I need to know:
do you remember:
do you still know:
one more question:""".split("\n")

TAIL_ASK = """I forgot.
I told you [before|earlier].
I said it [before|earlier].
do you remember?
please tell me.
do you still know?
please remind me.
can you remind me?
you should know it.
I need it now.""".split("\n")

ASK_TWO = """what are {a} and {b}?
what is {a}, and what is {b}?
what is {a} and what is {b}?
tell me {a} and {b}.
[please|] remind me of {a} and {b}.
[please|] give me {a} and {b}.
do you remember {a} and {b}?
do you [still|] know {a} and {b}?
I need {a} and {b}.
I need [two things|both]: {a} and {b}.
[can|could] you tell me {a} and also {b}?
two questions: what is {a}, and what is {b}?
I forgot {a} and {b}.
what did I say about {a} and {b}?
{a} and {b}?
what were {a} and {b} [again|]?
what is {a}? and {b}?
[can|could] you remind me of both {a} and {b}?
tell me two things: {a} and {b}.
[please|] repeat {a} and {b}.""".split("\n")

ASK_WHO = """whose {attr} is {v}?
who has {v} as {attr}?
for whom is {v} the {attr}?
do you remember whose {attr} is {v}?
tell me whose {attr} is {v}.
I forgot whose {attr} is {v}.
whose {attr} did I say is {v}?
who has the {attr} {v}?
do you remember who has {v} as {attr}?
tell me who has {v} as {attr}.""".split("\n")

_SAY_WORDS = set().union(*map(_words, SAY + LEAD_SAY + TAIL_SAY))
_ASK_WORDS = set().union(*map(_words, ASK + LEAD_ASK + TAIL_ASK))
G_SAY, G_ASK, G_UPDATE = Phrases(SAY), Phrases(ASK), Phrases(UPDATE, _SAY_WORDS)
G_LEAD_SAY, G_TAIL_SAY = Phrases(LEAD_SAY, _SAY_WORDS), Phrases(TAIL_SAY, _SAY_WORDS)
G_LEAD_ASK, G_TAIL_ASK = Phrases(LEAD_ASK, _ASK_WORDS), Phrases(TAIL_ASK, _ASK_WORDS)
G_TWO, G_WHO = Phrases(ASK_TWO, _ASK_WORDS), Phrases(ASK_WHO, _ASK_WORDS)

# ---------------------------------------------------------------- values


def closed(items):
    """Values of a closed list; what is asked for keeps to its side, a distractor of a case may be any."""
    items = list(items)
    train = [x for x in items if not is_held(x)] or items
    held = [x for x in items if is_held(x)] or items

    def make(w, target):
        if w.side == "train":
            return w.rng.choice(train)
        return w.rng.choice(held if target else items)
    return make


def number(lo, hi, unit=""):
    unit = " " + unit if unit else ""
    return lambda w, target: f"{w.number(lo, hi)}{unit}"


def opened(make):
    """make(rng) gives a string; it is drawn again until it is of the World's side."""
    return lambda w, target: w._open(lambda: make(w.rng))


def method(name, *arguments):
    return lambda w, target: getattr(w, name)(*arguments)


def _digits(rng, n):
    return "".join(rng.choice("0123456789") for _ in range(n))


_ABC = "ABCDEFGHJKLMNPRSTUVWXYZ"
MORE_HOBBIES = ("weaving carving origami judo yoga golf darts bowling rafting kayaking camping astronomy beekeeping "
                "quilting calligraphy snorkelling").split()
MORE_LANGUAGES = "Ada Lisp Pascal Prolog Nim Dart Elixir Scheme Forth Cobol Basic Crystal Racket Elm Groovy Tcl".split()
COLOUR, FOOD, DRINK, HOBBY = closed(COLOURS), closed(FOODS), closed(DRINKS), closed(HOBBIES + MORE_HOBBIES)
JOB, DAY, MONTH, LANGUAGE = closed(JOBS), closed(WEEKDAYS), closed(MONTHS), closed(LANGUAGES + MORE_LANGUAGES)
INSTRUMENT = closed("violin piano guitar flute drums cello trumpet harp oboe banjo clarinet organ".split())
FRUIT = closed("apple pear plum cherry banana grape melon peach lemon mango fig apricot orange kiwi "
               "pomegranate currant coconut nectarine quince pineapple papaya raspberry blueberry "
               "grapefruit lime tangerine".split())
TREE = closed("oak pine birch maple willow elm ash beech cedar larch poplar spruce "
              "hazel walnut chestnut alder rowan yew juniper hawthorn linden acacia fir cypress".split())
SPORT = closed("football tennis hockey rugby volleyball basketball cricket handball judo badminton "
               "baseball squash lacrosse wrestling boxing curling bobsleigh biathlon".split())
SUBJECT_SCHOOL = closed("history physics music maths biology geography chemistry art latin sport".split())
SYSTEM = closed("Linux Windows Debian FreeBSD Ubuntu Fedora OpenBSD Alpine Solaris Arch NetBSD".split())
PERSON, PLACE, PROJECT, WORD = method("person"), method("place"), method("project"), method("word")
CODE, TIME, DATE = method("code"), method("time"), method("date")


def AMOUNT(w, target):
    return str(w.amount())


PIN = opened(lambda r: _digits(r, 4))
LONG_NUMBER = opened(lambda r: str(r.randint(1, 9)) + _digits(r, r.randint(4, 7)))
EXTENSION = opened(lambda r: str(r.randint(1, 9)) + _digits(r, r.randint(2, 4)))
PORT = opened(lambda r: r.choice(("80", "443", "8080", "3000", "5432")) if r.random() < .1 else
              str(r.randint(1024, 65000)))
ADDRESS = opened(lambda r: f"10.{r.randint(0, 255)}.{r.randint(0, 255)}.{r.randint(1, 254)}")
VERSION = opened(lambda r: f"{r.randint(0, 12)}.{r.randint(0, 30)}" +
                 (f".{r.randint(0, 20)}" if r.random() < .6 else ""))
ROOM = opened(lambda r: r.choice(_ABC[:8]) + str(r.randint(1, 420)))
SEAT = opened(lambda r: str(r.randint(1, 60)) + r.choice("ABCDEF"))
FLIGHT = opened(lambda r: r.choice(_ABC) + r.choice(_ABC) + str(r.randint(10, 9999)))
PLATE = opened(lambda r: r.choice(_ABC) + r.choice(_ABC) + "-" + _digits(r, 3))
SHELF = opened(lambda r: f"{r.choice(_ABC)}{r.randint(1, 99)}")
BRANCH = opened(lambda r: r.choice(("fix-", "new-", "dev-", "test-", "")) + r.choice(COLOURS + HOBBIES + FOODS) +
                r.choice(("", "-" + str(r.randint(1, 99)))))
SPOT_ADJ = "top bottom left right old new big small blue red green grey white wooden metal second third open".split()
SPOT_NOUN = ("drawer cupboard box shelf bag kitchen garage cellar basket locker desk cabinet suitcase office hall "
             "tent shed attic jar tray closet workshop").split()
SPOT = opened(lambda r: r.choice(("in", "in", "on", "under", "behind", "next to", "near")) + " the " +
              (r.choice(SPOT_ADJ) + " " if r.random() < .7 else "") + r.choice(SPOT_NOUN))

# ---------------------------------------------------------------- subjects: (view, user's s, p; model's s, p)

RELATIONS = ("sister brother mother father aunt uncle cousin boss neighbour friend wife husband daughter son "
             "grandmother grandfather colleague teacher landlord flatmate niece nephew doctor assistant").split()


def person_subject(w):
    x = w.rng.random()
    if x < .62:
        n = w.person()
        return (2, n, n + "'s", n, n + "'s")
    if x < .82:
        return (0, "I", "my", "you", "your")
    r = w.rng.choice(RELATIONS)
    return (2, "my " + r, "my " + r + "'s", "your " + r, "your " + r + "'s")


def named(*frames):
    """Things with a name: 'project Dralo', 'the Dralo server'; the name is also returned as a thing of its own."""
    def make(w):
        f = w.rng.choice(frames)
        n = w.project()
        s = f.replace("*", n)
        return (2, s, s + "'s", s, s + "'s")
    return make


SERVER = named("*", "server *", "the * server", "machine *")
PROJ = named("*", "project *", "the * project", "project *")
SHIP = named("the ship *", "the boat *", "the *")
FIRM = named("the firm *", "the company *", "*")
EVENT = named("the * festival", "the * conference", "the * workshop", "the * party")
HOTEL = named("hotel *", "the hotel *", "the * inn")
COURSE = named("the * course", "course *", "the class *")
NOBODY = None

# ---------------------------------------------------------------- types of facts


_PLAIN = ("what is {np}?", "what's {np}?", "what was {np}?", "{np} is {v}.", "{np}: {v}", "{v} is {np}.", "{np}?",
          "tell me {np}.", "remind me of {np}.", "what did I say {np} is?")


def _alike(text):
    return text.lower().rstrip(".?")


class Type:
    def __init__(self, name, group, subject, value, canon, nps, says=(), asks=(), attr=None, updates=None, weight=1.0):
        self.name, self.group, self.subject, self.value = name, group, subject, value
        self.attr, self.weight = attr, weight
        self.canon = [_inflect(canon, 1), None, _inflect(canon, 2)]
        self.nps = nps
        own = set().union(*map(_words, list(nps) + [canon]))
        views = (0, 2) if subject is person_subject else (2,)
        self.says = self.asks = None
        if says:
            says, asks = [x for x in says if not self.generic(x)], [x for x in asks if not self.generic(x)]
            says = _arrange(says, _SAY_WORDS | own, lambda x: _inflect(x, 2))
            asks = _arrange(asks, _ASK_WORDS | own, lambda x: _inflect(x, 2))
            self.says = [Phrases([_inflect(x, v) for x in says], _SAY_WORDS | own, False) if v in views else None
                         for v in range(3)]
            self.asks = [Phrases([_inflect(x, v) for x in asks], _ASK_WORDS | own, False) if v in views else None
                         for v in range(3)]
        self.updates = Phrases(updates, _SAY_WORDS | own) if updates else None

    def generic(self, text):
        """Is this phrasing the same as a generic one with the attribute put in?"""
        return any(_alike(text) == _alike(g.replace("{np}", np)) for np in self.nps for g in _PLAIN)


TYPES = []


def add(*a, **k):
    TYPES.append(Type(*a, **k))


def lines(text):
    return [x.strip() for x in text.strip().split("\n")]


# --- favourites
FAV_SAY = lines("""{s} <like> {v} [best|most].
    the {k} {s} <like> [best|most] is {v}.
    {v} is {p} favourite {k}.
    {v} is the {k} {s} <like> [best|most].
    of all {ks}, {s} <like> {v} best.
    {s} <love> {v} more than any other {k}.
    {v} is the {k} {s} <love> most.
    {s} <prefer> {v} to any other {k}.
    the {k} that {s} <love> is {v}.
    {s} <say> that {v} is the best {k}.
    {p} favorite {k} is {v}.
    the best {k} for {s} is {v}.
    among all {ks} {s} <like> {v} most.
    if {s} <have> to choose a {k}, it is {v}.
    {p} preferred {k} is {v}.
    no {k} is better than {v}, {s} <say>.""")
FAV_ASK = lines("""which {k} <do> {s} like [best|most]?
    what {k} <do> {s} like [best|most]?
    which {k} is {p} favourite?
    what is the {k} {s} <like> [best|most]?
    of all {ks}, which <do> {s} like best?
    which {k} <do> {s} prefer?
    what {k} <do> {s} love most?
    what is {p} favorite {k}?
    which is the {k} that {s} <love>?
    what is {p} preferred {k}?
    which {k} <do> {s} love more than any other?
    what did I say is the {k} {s} <like> [best|most]?
    which {k} did I say {s} <like> [best|most]?
    what is the best {k} for {s}?
    what {k} would {s} choose?
    if {s} had to choose a {k}, which would it be?""")
for _k, _ks, _v in (("colour", "colours", COLOUR), ("food", "foods", FOOD), ("drink", "drinks", DRINK),
                    ("hobby", "hobbies", HOBBY), ("programming language", "programming languages", LANGUAGE),
                    ("animal", "animals", closed(["the " + x for x in ANIMALS])),
                    ("weekday", "weekdays", DAY), ("month", "months", MONTH),
                    ("city", "cities", PLACE), ("fruit", "fruits", FRUIT), ("tree", "trees", TREE),
                    ("sport", "sports", SPORT), ("team", "teams", PROJECT), ("song", "songs", PROJECT),
                    ("book", "books", PROJECT), ("game", "games", PROJECT), ("number", "numbers", number(1, 999)),
                    ("school subject", "school subjects", SUBJECT_SCHOOL)):
    def _fill(items, k=_k, ks=_ks):
        return [x.replace("{ks}", ks).replace("{k}", k) for x in items]
    add("fav " + _k, "fav", person_subject, _v, "{p} favourite " + _k + " is {v}.", ["{p} favourite " + _k],
        _fill(FAV_SAY), _fill(FAV_ASK), attr="favourite " + _k,
        weight=2.0 if _k in ("colour", "food", "hobby") else 1.0)

# --- names of pets and people
PET_SAY = lines("""{p} {k} is called {v}.
    {p} {k}'s name is {v}.
    the name of {p} {k} is {v}.
    {s} <have> a {k} called {v}.
    {s} <have> a {k} named {v}.
    {p} {k} is named {v}.
    {s} <have> a {k}. its name is {v}.
    {s} <have> a {k} and it is called {v}.
    {v} is {p} {k}.
    {v} is the name of {p} {k}.
    {s} <own> a {k} called {v}.
    {s} <own> a {k}, its name is {v}.
    {s} <call> {p} {k} {v}.
    {p} {k} has the name {v}.
    {s} named {p} {k} {v}.""")
PET_ASK = lines("""what is {p} {k} called?
    what is {p} {k}'s name?
    what's the name of {p} {k}?
    what is the name of {p} {k}?
    what name does {p} {k} have?
    which name does {p} {k} have?
    how is {p} {k} called?
    what is {p} {k} named?
    {s} <have> a {k}. what is it called?
    {s} <have> a {k}. what is its name?
    what <do> {s} call {p} {k}?
    do you remember what {p} {k} is called?
    what did I say {p} {k} is called?
    tell me what {p} {k} is called.
    tell me the name of {p} {k}.
    remind me how {p} {k} is called.""")
KIN_SAY = [x for x in PET_SAY if not any(y in x for y in (" it", "own", "{s} named"))] + lines("""{s} <have> a {k}, {v}.
    {p} {k} is {v}.
    {v} is {p} {k}'s name.
    I met {p} {k} {v}.""")
KIN_ASK = [x for x in PET_ASK if "it " not in x and "its" not in x] + lines("""who is {p} {k}?
    who was {p} {k}?
    do you know who {p} {k} is?
    tell me who {p} {k} is.""")
for _k in ("dog", "cat", "horse", "parrot", "rabbit", "goat", "turtle", "pony", "boat", "hamster"):
    add("pet " + _k, "name", person_subject, PERSON if _k != "boat" else PROJECT, "{p} " + _k + " is called {v}.",
        ["{p} " + _k + "'s name", "the name of {p} " + _k], [x.replace("{k}", _k) for x in PET_SAY],
        [x.replace("{k}", _k) for x in PET_ASK], weight=2.0 if _k in ("dog", "cat") else .7)
for _k in ("sister", "brother", "wife", "husband", "daughter", "son", "boss", "manager", "neighbour", "teacher",
           "doctor", "best friend", "landlord", "dentist"):
    add("kin " + _k, "name", person_subject, PERSON, "{p} " + _k + " is called {v}.",
        ["{p} " + _k + "'s name", "the name of {p} " + _k], [x.replace("{k}", _k) for x in KIN_SAY],
        [x.replace("{k}", _k) for x in KIN_ASK], weight=.8)

# --- other things about a person
PEOPLE = (
    ("home", PLACE, "{s} <live> in {v}.", "home town",
     """{s} <live> in {v}.
     {s} <have> a [house|flat|home] in {v}.
     {p} [house|flat|home] is in {v}.
     the town {s} <live> in is {v}.
     {v} is where {s} <live>.
     {s} moved to {v} and <live> there [now|].
     the place where {s} <live> is {v}.
     {s} <live> in a town called {v}.""",
     """where <do> {s} live?
     in which [town|place|city] <do> {s} live?
     which [town|place|city] <do> {s} live in?
     where is {p} [house|flat|home]?
     what is the [town|place] where {s} <live>?
     what is the name of the town {s} <live> in?
     do you [know|remember] where {s} <live>?
     tell me where {s} <live>.
     where did I say {s} <live>?"""),
    ("origin", PLACE, "{s} <was> born in {v}.", "birthplace",
     """{s} <was> born in {v}.
     {v} is where {s} <was> born.
     {s} <come> from {v}.
     the town {s} <come> from is {v}.
     {s} <was> born in a town called {v}.
     the place where {s} <was> born is {v}.
     {s} <come> from a place called {v}.
     {v} is the town {s} <come> from.""",
     """where <was> {s} born?
     in which [town|place|city] <was> {s} born?
     where <do> {s} come from?
     which [town|place|city] <do> {s} come from?
     from which town <do> {s} come?
     do you [know|remember] where {s} <was> born?
     do you [know|remember] where {s} <come> from?
     tell me where {s} <was> born.
     where did I say {s} <come> from?"""),
    ("age", number(5, 99), "{p} age is {v}.", "age",
     """{s} <be> {v} years old.
     {s} <be> {v}.
     {s} <be> {v} years of age.
     {s} turned {v} [this year|last week|today].
     at the age of {v}, {s} <be> [still|] doing well.
     {s} <have> the age of {v}.
     {s} just turned {v} years old.
     {v} years old, that is how old {s} <be>.""",
     """how old <be> {s}?
     what age <be> {s}?
     how many years old <be> {s}?
     do you [know|remember] how old {s} <be>?
     tell me how old {s} <be>.
     how old did I say {s} <be>?
     of what age <be> {s}?
     what did I say, how old <be> {s}?
     remind me how old {s} <be>."""),
    ("birthday", DATE, "{p} birthday is {v}.", "birthday",
     """{s} <have> {p} birthday on {v}.
     {p} birthday is on {v}.
     {s} <was> born on {v}.
     {s} <celebrate> {p} birthday on {v}.
     on {v} {s} <have> a birthday.
     on {v} {s} <celebrate> a birthday.
     {v} is the day {s} <was> born.
     the birthday of {s} falls on {v}.
     {p} birthday falls on {v}.""",
     """when is {p} birthday?
     on which [day|date] is {p} birthday?
     when <do> {s} have {p} birthday?
     when <do> {s} celebrate {p} birthday?
     when <was> {s} born?
     on [what|which] day <was> {s} born?
     what [day|date] is {p} birthday?
     do you [know|remember] when {p} birthday is?
     tell me when {p} birthday is.
     on what date <do> {s} celebrate?"""),
    ("job", JOB, "{s} <work> as a {v}.", "job",
     """{s} <work> as a {v}.
     {s} <be> a {v}.
     {s} <have> a job as a {v}.
     {s} <make> a living as a {v}.
     {s} <work> as a {v} now.
     by profession {s} <be> a {v}.
     {p} profession is {v}.
     {s} <have> the job of a {v}.
     {s} became a {v}.""",
     """what <do> {s} do for a living?
     what <do> {s} work as?
     what kind of job <do> {s} have?
     which job <do> {s} have?
     what is {p} profession?
     what profession <do> {s} have?
     what job <do> {s} do?
     do you [know|remember] what {s} <do> for a living?
     tell me what {s} <do> for a living.
     what kind of work <do> {s} do?"""),
    ("extension", EXTENSION, "{p} phone extension is {v}.", "phone extension",
     """{s} can be reached at extension {v}.
     {s} <have> extension {v}.
     {s} <have> the phone extension {v}.
     extension {v} is {p} phone.
     to reach {s}, call extension {v}.
     call {v} to reach {s} by phone.
     {p} phone has the extension {v}.
     {p} extension is {v}.
     the phone extension to reach {s} is {v}.""",
     """which extension <do> {s} have?
     what extension <do> {s} have?
     what is {p} extension?
     at which extension can {s} be reached?
     which extension do I call to reach {s}?
     what phone extension <do> {s} have?
     what extension does {p} phone have?
     which phone extension is {p}?
     how can {s} be reached by phone?
     what do I call to reach {s}?"""),
    ("desk", ROOM, "{p} office is {v}.", "office",
     """{s} <sit> in office {v}.
     {s} <sit> in room {v}.
     {s} <work> in office {v}.
     {s} <work> in room {v}.
     {s} <have> office {v}.
     {p} office is room {v}.
     office {v} belongs to {s}.
     you can find {s} in office {v}.
     {v} is the office {s} <sit> in.""",
     """where <do> {s} sit?
     in which [office|room] <do> {s} sit?
     which [office|room] <do> {s} work in?
     in which [office|room] <do> {s} work?
     what office <do> {s} have?
     where is {p} office?
     in what room is {p} office?
     where can I find {s}?
     which office belongs to {s}?"""),
    ("shoe", number(28, 49), "{p} shoe size is {v}.", "shoe size",
     """{s} <wear> shoes of size {v}.
     {s} <wear> size {v} shoes.
     {s} <have> shoe size {v}.
     {s} <need> shoes of size {v}.
     {p} shoes are size {v}.
     {s} <take> size {v} in shoes.
     {s} <need> size {v} shoes.
     {p} shoes have size {v}.""",
     """what size of shoes <do> {s} wear?
     which shoe size <do> {s} have?
     what shoe size <do> {s} wear?
     what size are {p} shoes?
     which size of shoes <do> {s} need?
     what size <do> {s} take in shoes?
     what size shoes <do> {s} wear?
     which size do {p} shoes have?
     tell me what size {p} shoes are."""),
    ("allergy", FOOD, "{s} <be> allergic to {v}.", "allergy",
     """{s} <be> allergic to {v}.
     {s} cannot eat {v}.
     {s} <have> an allergy to {v}.
     {s} <get> ill from {v}.
     {s} must not eat {v}, it is an allergy.
     {s} must not eat {v}.
     {s} <be> allergic, {s} cannot eat {v}.
     no {v} for {s}, {s} <be> allergic to it.
     eating {v} is bad for {s}: an allergy.""",
     """what <be> {s} allergic to?
     to what <be> {s} allergic?
     what can {s} not eat?
     which food <be> {s} allergic to?
     which food can {s} not eat?
     what must {s} not eat?
     which allergy <do> {s} have?
     what is the food {s} must not eat?
     what allergy <do> {s} have?"""),
    ("locker", PIN, "{p} locker code is {v}.", "locker code",
     """{s} <open> {p} locker with {v}.
     {p} locker opens with {v}.
     {p} locker opens with the code {v}.
     the code of {p} locker is {v}.
     {s} <use> the code {v} for {p} locker.
     to open {p} locker, enter {v}.
     {v} opens {p} locker.
     {v} is the code for {p} locker.""",
     """what is the code of {p} locker?
     what is the code for {p} locker?
     how do I open {p} locker?
     which code opens {p} locker?
     what opens {p} locker?
     with which code do I open {p} locker?
     which code <do> {s} use for {p} locker?
     what do I enter to open {p} locker?
     what code <do> {s} use for {p} locker?"""),
    ("car", COLOUR, "{p} car is {v}.", "car's colour",
     """{s} <have> a {v} car.
     {s} <drive> a {v} car.
     {p} car is {v}.
     {s} <own> a {v} car.
     the colour of {p} car is {v}.
     {s} bought a {v} car.
     the car that {s} <drive> is {v}.
     the car {s} <own> is {v}.
     {s} painted {p} car {v}.""",
     """what colour is {p} car?
     which colour does {p} car have?
     what colour does {p} car have?
     what is the colour of {p} car?
     what colour is the car {s} <drive>?
     which colour is the car {s} <own>?
     what colour of car <do> {s} have?
     what colour of car <do> {s} drive?
     tell me what colour {p} car is."""),
    ("instrument", INSTRUMENT, "{s} <play> the {v}.", "instrument",
     """{s} <play> the {v}.
     {s} <learn> to play the {v}.
     {s} <have> lessons on the {v}.
     {s} <play> the {v} every week.
     {s} can play the {v}.
     the instrument {s} <play> is the {v}.
     {s} <practise> the {v} every day.
     {s} <learn> the {v}.
     the instrument {s} <practise> is the {v}.""",
     """which instrument <do> {s} play?
     what instrument <do> {s} play?
     what is the instrument {s} <play>?
     which instrument can {s} play?
     what instrument <do> {s} learn?
     which instrument <do> {s} practise?
     what <do> {s} play?
     which instrument <do> {s} learn to play?
     what can {s} play?"""),
    ("day off", DAY, "{p} day off is {v}.", "day off",
     """{s} <have> {v} off.
     {s} <do> not work on {v}.
     on {v} {s} <have> a day off.
     {s} <be> free on {v}.
     on {v} {s} <be> free.
     {s} <stay> at home on {v}.
     {s} never <work> on {v}.
     the day {s} <be> free is {v}.
     the free day {s} <have> is {v}.""",
     """on which day <be> {s} free?
     which day <do> {s} have off?
     when <be> {s} free?
     what day <do> {s} have off?
     on what day <do> {s} not work?
     which day <do> {s} not work?
     when <do> {s} have a day off?
     what is the day {s} <be> free?
     on which day <do> {s} stay at home?"""),
    ("shift", TIME, "{p} shift starts at {v}.", "start of work",
     """{s} <start> work at {v}.
     {p} shift starts at {v}.
     {s} <begin> work at {v}.
     {p} shift begins at {v}.
     {s} <begin> the shift at {v}.
     at {v} {s} <start> work.
     {s} <have> a shift from {v} on.
     {s} <have> to be at work at {v}.
     {p} work begins at {v}.""",
     """when <do> {s} start work?
     when does {p} shift start?
     when <do> {s} begin work?
     when does {p} shift begin?
     at what time <do> {s} start work?
     at which time does {p} shift start?
     when <do> {s} have to be at work?
     what time does {p} shift begin?
     when does {p} work begin?"""),
    ("seat", SEAT, "{p} seat is {v}.", "seat",
     """{s} <sit> in seat {v}.
     {s} <have> seat {v}.
     seat {v} is for {s}.
     {s} got seat {v}.
     {s} <travel> in seat {v}.
     the seat of {s} is number {v}.
     {p} ticket is for seat {v}.
     {p} ticket says seat {v}.
     seat number {v} is for {s}.""",
     """which seat <do> {s} have?
     in which seat <do> {s} sit?
     what seat <do> {s} have?
     what is the number of {p} seat?
     which seat did {s} get?
     which seat is on {p} ticket?
     what seat is {p} ticket for?
     what seat did {s} get?
     which seat number <do> {s} have?"""),
    ("booking", CODE, "{p} booking code is {v}.", "booking code",
     """{s} booked with the code {v}.
     {p} booking has the code {v}.
     {s} <have> the booking code {v}.
     {p} booking is {v}.
     the code of {p} booking is {v}.
     {s} <have> a booking, code {v}.
     the code on {p} booking is {v}.
     {v} is the code of {p} booking.""",
     """what is the code of {p} booking?
     which code does {p} booking have?
     which booking code <do> {s} have?
     what code is on {p} booking?
     what booking code <do> {s} have?
     what code does {p} booking have?
     with which code <have> {s} booked?
     under which code <have> {s} booked?
     which code is {p} booking?"""),
    ("editor", PROJECT, "{p} editor is {v}.", "editor",
     """{s} <use> {v} as editor.
     {s} <write> code with {v} as editor.
     {s} <edit> files with {v}.
     {s} <work> with the editor {v}.
     the editor {s} <use> is {v}.
     {s} <use> the editor {v}.
     {s} <write> all files with {v}.
     the editor {s} <work> with is {v}.""",
     """which editor <do> {s} use?
     what editor <do> {s} use?
     with which editor <do> {s} work?
     which editor <do> {s} work with?
     what <do> {s} use as editor?
     what <do> {s} edit files with?
     with what <do> {s} edit files?
     what is the editor {s} <use>?
     what is the editor {s} <work> with?"""),
    ("member", LONG_NUMBER, "{p} member number is {v}.", "member number",
     """{s} <be> member {v}.
     {s} <be> member number {v}.
     {p} card has the number {v}.
     {p} member card has the number {v}.
     {s} <have> the member number {v}.
     the number on {p} card is {v}.
     the number on {p} member card is {v}.
     {p} card says member {v}.
     {s} <have> member card {v}.""",
     """which member number <do> {s} have?
     what number is on {p} member card?
     what number is on {p} card?
     what is the number on {p} card?
     which number does {p} card have?
     which number does {p} member card have?
     what member number <do> {s} have?
     what number does {p} card have?
     which member number is on {p} card?"""),
    ("team", PROJECT, "{s} <work> in team {v}.", "team at work",
     """{s} <work> in team {v}.
     {s} <be> in team {v}.
     {s} joined team {v}.
     {s} <belong> to team {v}.
     {s} <work> for team {v}.
     {p} team is {v}.
     {s} <be> a member of team {v}.
     the team {s} <work> in is {v}.
     {s} moved to team {v}.""",
     """in which team <do> {s} work?
     which team <do> {s} work in?
     which team <be> {s} in?
     what team <be> {s} in?
     to which team <do> {s} belong?
     which team did {s} join?
     what team <do> {s} work for?
     what is {p} team?
     of which team <be> {s} a member?"""),
    ("height", number(120, 210, "cm"), "{s} <be> {v} tall.", "height",
     """{s} <be> {v} tall.
     {s} <measure> {v}.
     {s} <have> a height of {v}.
     {s} grew to {v}.
     with {v} {s} <be> quite tall.
     {s} <be> exactly {v} tall.
     {s} <measure> exactly {v}.
     the height of {s} is {v}.""",
     """how tall <be> {s}?
     how tall did I say {s} <be>?
     what height <do> {s} have?
     which height <do> {s} have?
     how much <do> {s} measure?
     do you [know|remember] how tall {s} <be>?
     tell me how tall {s} <be>.
     remind me how tall {s} <be>.
     how tall exactly <be> {s}?"""),
)
for _n, _v, _c, _a, _s, _q in PEOPLE:
    add(_n, "person", person_subject, _v, _c, ["{p} " + _a], lines(_s), lines(_q), attr=_a,
        weight=1.5 if _n in ("home", "age", "birthday", "job", "extension") else 1.0)

# --- things with a name and what they have: the port of server Hazel
OF_SAY = lines("""the {a} for {s} is {v}.
    the {a} of {s} is {v}.
    {s} has the {a} {v}.
    {s} has {v} as {a}.
    for {s} the {a} is {v}.
    {s}: {a} {v}
    {s}: the {a} is {v}.
    {p} {a} is {v}.
    use {v} as the {a} [of|for] {s}.
    {s} gets the {a} {v}.
    {s} uses {v} as {a}.
    {v} is the {a} of {s}.
    {v} is the {a} for {s}.
    about {s}: its {a} is {v}.
    we gave {s} the {a} {v}.
    {a} of {s}: {v}""")
OF_ASK = lines("""what is the {a} for {s}?
    what is the {a} of {s}?
    which {a} does {s} have?
    what {a} does {s} have?
    what is {p} {a}?
    what {a} did I give for {s}?
    for {s}, what is the {a}?
    {s}: which {a}?
    {a} of {s}?
    which {a} did we give {s}?
    which {a} do we use for {s}?
    what does {s} use as {a}?
    about {s}: what is its {a}?
    which {a} belongs to {s}?
    what did I say is the {a} of {s}?
    tell me the {a} for {s}.
    remind me of the {a} of {s}.
    which {a} does {s} use?""")
OBJECTS = (
    ("server", SERVER, (
        ("port", PORT, ["{s} listens on port {v}.", "{s} runs on port {v}."],
         ["which port does {s} listen on?", "on which port does {s} run?", "on what port does {s} listen?"]),
        ("address", ADDRESS, ["{s} is at {v}.", "you can reach {s} at {v}."],
         ["where can I reach {s}?", "at which address can I reach {s}?"]),
        ("operating system", SYSTEM, ["{s} runs {v}.", "we put {v} on {s}."], ["which system runs on {s}?"]),
        ("admin", PERSON, ["{v} looks after {s}.", "{v} takes care of {s}."],
         ["who looks after {s}?", "who is the admin of {s}?", "who takes care of {s}?"]),
        ("memory", number(2, 999, "GB"), ["{s} has {v} of memory."], ["how much memory does {s} have?"]),
        ("rack", SHELF, ["{s} stands in rack {v}."], ["in which rack does {s} stand?"]),
        ("root password", WORD, ["log in to {s} as root with {v}."], []),
        ("backup time", TIME, ["{s} makes its backup at {v}."], ["when does {s} make its backup?"]))),
    ("project", PROJ, (
        ("budget", number(100, 99999, "euros"), ["{s} may cost {v}.", "we have {v} for {s}."],
         ["how much may {s} cost?", "how much money do we have for {s}?"]),
        ("deadline", DATE, ["{s} must be done by {v}.", "{s} is due on {v}."],
         ["when is {s} due?", "by when must {s} be done?", "when must {s} be done?"]),
        ("lead", PERSON, ["{v} leads {s}.", "{s} is led by {v}."],
         ["who leads {s}?", "by whom is {s} led?", "who is the lead of {s}?"]),
        ("language", LANGUAGE, ["{s} is written in {v}.", "we write {s} in {v}."],
         ["in which language is {s} written?", "which language is {s} written in?"]),
        ("version", VERSION, ["{s} is at version {v}."], ["at which version is {s}?"]),
        ("branch", BRANCH, ["the work on {s} is on branch {v}."], ["on which branch is the work on {s}?"]),
        ("code name", PROJECT, [], []),
        ("client", PERSON, ["we do {s} for {v}.", "{v} pays for {s}."],
         ["for whom do we do {s}?", "who pays for {s}?"]),
        ("start date", DATE, ["{s} starts on {v}."], ["when does {s} start?"]),
        ("logo colour", COLOUR, [], []))),
    ("ship", SHIP, (
        ("captain", PERSON, ["{v} is captain on {s}."], ["who is captain on {s}?", "who is the captain of {s}?"]),
        ("home port", PLACE, ["{s} comes from {v}."], ["where does {s} come from?"]),
        ("length", number(8, 400, "metres"), ["{s} is {v} long."], ["how long is {s}?"]),
        ("cargo", FOOD, ["{s} carries {v}."], ["what does {s} carry?"]),
        ("pier", SHELF, ["{s} lies at pier {v}."], ["at which pier does {s} lie?"]))),
    ("firm", FIRM, (
        ("phone number", LONG_NUMBER, ["call {v} to reach {s}."], []),
        ("director", PERSON, ["{v} runs {s}."], ["who runs {s}?", "who is the director of {s}?"]),
        ("seat of business", PLACE, ["{s} sits in {v}."], ["where does {s} sit?"]),
        ("customer number", LONG_NUMBER, [], []),
        ("discount", number(2, 60, "percent"), ["{s} gives us {v} off."], ["how much off does {s} give us?"]))),
    ("event", EVENT, (
        ("date", DATE, ["{s} is on {v}.", "{s} takes place on {v}."],
         ["when is {s}?", "when does {s} take place?", "on which date is {s}?"]),
        ("place", PLACE, ["{s} is in {v}.", "{s} takes place in {v}."],
         ["where is {s}?", "where does {s} take place?"]),
        ("ticket price", number(3, 400, "euros"), ["a ticket for {s} costs {v}."],
         ["what does a ticket for {s} cost?", "how much is a ticket for {s}?"]),
        ("start time", TIME, ["{s} starts at {v}."], ["at what time does {s} start?"]),
        ("speaker", PERSON, ["{v} speaks at {s}."], ["who speaks at {s}?"]),
        ("number of guests", number(10, 900), ["{s} has {v} guests."], ["how many guests does {s} have?"]))),
    ("hotel", HOTEL, (
        ("room number", number(100, 999), ["we are in room {v} at {s}."], ["in which room are we at {s}?"]),
        ("price", number(30, 600, "euros"), ["a night at {s} costs {v}."], ["what does a night at {s} cost?"]),
        ("wifi code", CODE, [], []),
        ("breakfast time", TIME, ["breakfast at {s} is at {v}."], ["when is breakfast at {s}?"]))),
    ("course", COURSE, (
        ("teacher", PERSON, ["{v} teaches {s}."], ["who teaches {s}?", "who is the teacher of {s}?"]),
        ("room", ROOM, ["{s} is in room {v}."], ["in which room is {s}?"]),
        ("day", DAY, ["{s} is on {v}.", "{s} meets on {v}."], ["on which day is {s}?", "when does {s} meet?"]),
        ("fee", number(5, 900, "euros"), ["{s} costs {v}."], ["how much does {s} cost?", "what does {s} cost?"]))),
)
for _g, _f, _attrs in OBJECTS:
    for _a, _v, _s, _q in _attrs:
        _who = _v is PERSON
        _says = [x.replace("{a}", _a) for x in OF_SAY]
        _asks = [x.replace("{a}", _a) for x in OF_ASK]
        add(_g + " " + _a, _g, _f, _v, "the " + _a + " of {s} is {v}.", ["the " + _a + " of {s}", "{p} " + _a],
            _says + _s * 3, _asks + _q * 3, attr=_a, weight=.8)

# --- single things: the door code
SINGLE = (
    ("door code", PIN), ("wifi password", WORD), ("meeting room", ROOM), ("meeting time", TIME), ("port", PORT),
    ("launch date", DATE), ("invoice number", LONG_NUMBER), ("order number", LONG_NUMBER), ("gate", SHELF),
    ("flight number", FLIGHT), ("database name", WORD), ("release name", PROJECT), ("team name", PROJECT),
    ("budget", number(100, 99999, "euros")), ("deadline", DATE), ("password", WORD), ("alarm code", PIN),
    ("licence plate", PLATE), ("train platform", number(1, 40)), ("train time", TIME), ("dentist date", DATE),
    ("parcel code", CODE), ("oven temperature", number(60, 300, "degrees")),
    ("room temperature", number(12, 35, "degrees")), ("baking time", number(5, 120, "minutes")),
    ("rent", number(200, 3000, "euros")), ("safe code", PIN), ("speed limit", number(10, 130)),
    ("timeout", number(2, 900, "seconds")), ("retry limit", number(2, 99)), ("user name", WORD),
    ("group name", PROJECT), ("street", PLACE), ("house number", number(1, 300)), ("zip code", LONG_NUMBER),
    ("theme colour", COLOUR), ("wall colour", COLOUR), ("lunch time", TIME), ("dinner date", DATE),
    ("restaurant", PROJECT), ("hotel name", PROJECT), ("guide's name", PERSON), ("contact person", PERSON),
    ("treasurer", PERSON), ("goalkeeper", PERSON), ("chairman", PERSON), ("test server", PROJECT),
    ("main branch", BRANCH), ("current version", VERSION), ("server address", ADDRESS), ("case number", CODE),
    ("voucher code", CODE), ("key word", WORD), ("secret word", WORD), ("secret number", AMOUNT),
    ("magic number", AMOUNT), ("page number", number(1, 900)), ("batch size", number(2, 512)),
    ("distance", number(2, 900, "km")), ("weight", number(2, 900, "kg")), ("pressure", number(2, 90, "bar")),
    ("next stop", PLACE), ("destination", PLACE), ("meeting place", PLACE), ("cleaning day", DAY),
    ("market day", DAY), ("rubbish day", DAY), ("exam date", DATE), ("exam room", ROOM), ("shop's name", PROJECT),
    ("soup of the day", FOOD), ("main dish", FOOD), ("prize", AMOUNT), ("score", AMOUNT), ("record time", TIME),
    ("account number", LONG_NUMBER),
)
SINGLES = [(a, v) for a, v in SINGLE]
FREE_ADJ = ("old new red blue green small big second third main spare north south upper lower inner outer left right "
            "long short quick quiet winter summer morning evening").split()
FREE_NOUN = ("pump valve motor tank lamp bridge tower garden kitchen printer scanner router camera sensor boiler "
             "lift gate tunnel factory school museum library harbour station ferry bus tram truck van crane robot "
             "drone radio clock cabinet folder ticket parcel ladder cable battery roof window stove freezer "
             "greenhouse stage queue index cache parser module script table backup archive").split()
FREE_ATTR = (
    ("code", CODE), ("number", AMOUNT), ("name", PROJECT), ("password", WORD), ("size", AMOUNT), ("colour", COLOUR),
    ("owner", PERSON), ("price", number(2, 9999, "euros")), ("label", WORD), ("weight", number(2, 900, "kg")),
    ("limit", AMOUNT), ("key", CODE), ("status word", WORD), ("keeper", PERSON), ("location", PLACE),
    ("maker", PROJECT), ("opening time", TIME), ("test date", DATE), ("serial number", LONG_NUMBER),
    ("version", VERSION), ("rate", AMOUNT), ("setting", number(1, 99)), ("channel", number(1, 99)), ("room", ROOM),
    ("shelf", SHELF), ("day", DAY), ("id", CODE),
)

# --- where things are
THINGS = [(x, "is") for x in (
    "spare key,passport,umbrella,ladder,hammer,torch,camera,charger,red folder,contract,map,drill,blue notebook,"
    "first aid kit,remote control,guitar,sewing kit,thermometer,tent,bike lock,old laptop,receipt,birthday present,"
    "screwdriver,stapler,hard disk").split(",")]
THINGS += [(x, "are") for x in (
    "car keys,glasses,scissors,batteries,house keys,gloves,tickets,letters,candles,skates,matches,photos,blankets,"
    "paint brushes,spare bulbs,headphones").split(",")]
PLACE_SAY = lines("""{n} {b} {v}.
    I put {n} {v}.
    I left {n} {v}.
    I keep {n} {v}.
    you can find {n} {v}.
    {n} can be found {v}.
    {n}: {v}
    look {v} for {n}.
    I have put {n} {v}.
    I stored {n} {v}.
    {n} {b} stored {v}.
    {n} {b} kept {v}.
    we keep {n} {v}.
    {v}, that is where {n} {b}.
    {v} is where I put {n}.
    {v} is where I left {n}.
    if you look for {n}: {n} {b} {v}.
    note where {n} {b}: {v}.
    remember that {n} {b} {v}.
    remember that I put {n} {v}.""")
PLACE_ASK = lines("""where {b} {n}?
    where did I put {n}?
    where did I leave {n}?
    where can I find {n}?
    where do I keep {n}?
    where {b} {n} kept?
    where have I put {n}?
    where have I left {n}?
    where did I say {n} {b}?
    where should I look for {n}?
    do you [know|remember] where {n} {b}?
    do you [know|remember] where I put {n}?
    tell me where {n} {b}.
    tell me where I put {n}.
    tell me where I left {n}.
    I cannot find {n}. where {b} {n}?
    I am looking for {n}. where did I put {n}?
    I am looking for {n}.
    I need {n}. where should I look?
    where do we keep {n}?
    where can {n} be found?
    remind me where {n} {b}.
    remind me where I left {n}.
    I forgot where {n} {b}.
    I forgot where I put {n}.""")
PLACE_UPDATE = lines("""actually, {n} {b} {v} now.
    I moved {n}: now {n} {b} {v}.
    I have moved {n}, look {v}.
    {n} {b} no longer {old} but {v}.
    correction: {n} {b} {v}.
    sorry, {n} {b} {v}, not {old}.
    {n} {b} now {v}.
    I put {n} {v} now.
    I have put {n} {v} now.
    I was wrong: {n} {b} {v}.
    update: {n} {b} now {v}.
    {n} moved: {n} {b} {v} now.""")

# --- decisions
MATTERS = ("the parser,the roof,the logo,the front door,the new server,the newsletter,the trip,the party,"
           "the kitchen,the backup,the web site,the uniform,the demo,the report,the banner,the engine,"
           "the tests,the garden,the cover,the poster,the tool,the next release,the office,the boat,"
           "the fence,the lunch,the team shirt,the app").split(",")
CHOICES = (COLOUR, LANGUAGE, PROJECT, PROJECT, PERSON, PLACE, FOOD, DAY)
DECIDE_SAY = lines("""we decided on {v} for {x}.
    we chose {v} for {x}.
    we picked {v} for {x}.
    for {x} we will use {v}.
    we will use {v} for {x}.
    we decided to use {v} for {x}.
    we decided to take {v} for {x}.
    we agreed on {v} for {x}.
    our decision for {x} is {v}.
    the decision for {x} is {v}.
    the decision on {x}: {v}.
    decision: {v} for {x}.
    for {x} we chose {v}.
    for {x} we decided on {v}.
    for {x} we agreed on {v}.
    it was decided: {v} for {x}.
    {x}: we take {v}.
    {x}: we go with {v}.
    we go with {v} for {x}.
    about {x}: it was decided to use {v}.""")
DECIDE_ASK = lines("""what did we decide [on|] for {x}?
    what did we choose for {x}?
    what did we pick for {x}?
    which one did we choose for {x}?
    what was the decision on {x}?
    what was the decision for {x}?
    what was decided for {x}?
    what was decided about {x}?
    what did we agree on for {x}?
    what do we use for {x}?
    what will we use for {x}?
    what do we take for {x}?
    what do we go with for {x}?
    do you remember what we chose for {x}?
    do you remember what we decided for {x}?
    do you know what we agreed on for {x}?
    remind me what we chose for {x}.
    remind me of the decision on {x}.
    tell me what we decided about {x}.
    what is our decision for {x}?
    what is the decision about {x}?
    for {x}, what did we choose?
    for {x}, what was decided?
    what have we decided for {x}?
    what have we chosen for {x}?
    I forgot what we chose for {x}.""")
DECIDE_UPDATE = lines("""we changed our mind: {v} for {x}.
    we changed our mind about {x}: {v}.
    we now use {v} for {x}.
    actually, we chose {v} for {x}.
    actually, we decided on {v} for {x} now.
    new decision: {v} for {x}.
    the new decision on {x}: {v}.
    not {old} but {v} for {x}.
    we decided on {v} for {x}, not {old}.
    correction: we take {v} for {x}.
    we use {v} for {x} now, not {old}.
    our new decision for {x} is {v}.""")
D_SAY, D_ASK = Phrases(DECIDE_SAY), Phrases(DECIDE_ASK, _ASK_WORDS)
L_SAY, L_ASK = Phrases(PLACE_SAY), Phrases(PLACE_ASK, _ASK_WORDS)
D_UPDATE = Phrases(DECIDE_UPDATE, _words(" ".join(DECIDE_SAY)))
L_UPDATE = Phrases(PLACE_UPDATE, _words(" ".join(PLACE_SAY)))

_TYPE_GROUPS = {}
for _t in TYPES:
    _TYPE_GROUPS.setdefault(_t.group, []).append(_t)

# ---------------------------------------------------------------- facts


def cap(text):
    return text[:1].upper() + text[1:]


class Fact:
    """One fact.  `make` names how a sibling (same kind, other subject) is drawn."""
    __slots__ = ("key", "attr", "value", "nps", "canon", "says", "asks", "updates", "values", "sibling", "draw",
                 "whose", "third", "subject")

    def sentence(self):
        return cap(self.canon.format_map({"v": self.value}))

    def echo(self):
        return self.canon[:-1].format_map({"v": self.value})

    def np(self, w):
        return self.nps[0] if len(self.nps) == 1 or w.rng.random() < .7 else w.rng.choice(self.nps)


def typed(w, t, target, subject=None):
    f = Fact()
    view, s, p, ms, mp = s5 = subject or t.subject(w)
    f.subject = s5
    f.key, f.attr = (t.name, s), t.attr or t.name
    f.value = t.value(w, target)
    f.nps = [x.format(s=s, p=p) for x in (t.nps if view == 2 else t.nps[:1])]
    f.canon = t.canon[2 if view == 2 else 0].replace("{s}", ms).replace("{p}", mp)
    f.values = {"s": s, "p": p}
    f.says = t.says[view] if t.says else None
    f.asks = t.asks[view] if t.asks else None
    f.updates = t.updates
    f.draw = t.value
    f.sibling = lambda w: typed(w, t, False)
    f.third = view == 2 and not s.startswith("my ")
    f.whose = t.attr if t.subject is person_subject and view == 2 and t.attr else None
    return f


def simple(key, attr, value, np, canon, draw, sibling, values=None, third=True):
    f = Fact()
    f.key, f.attr, f.value, f.nps, f.canon = key, attr, value, [np], canon
    f.values, f.says, f.asks, f.updates = values or {}, None, None, None
    f.draw, f.sibling, f.third, f.whose, f.subject = draw, sibling, third, None, None
    return f


def single(w, target):
    a, v = w.rng.choice(SINGLES)
    det = w.rng.choice(("the", "the", "the", "my", "our"))
    f = simple(("single", a), a, v(w, target), det + " " + a, ("the " if det == "the" else "your ") + a + " is {v}.", v,
               lambda w: single(w, False), third=det == "the")
    if det != "the" and w.rng.random() < .3:
        f.nps = [f.nps[0], "the " + a]
    return f


def loose(w, target):
    """An attribute made of words at hand: 'the code of the old pump'."""
    a, v = w.rng.choice(FREE_ATTR)
    x = w.rng.random()
    noun = w.rng.choice(FREE_NOUN) if x < .8 else w.word()
    if w.rng.random() < .5:
        noun = w.rng.choice(FREE_ADJ) + " " + noun
    thing = "the " + noun
    shape = w.rng.random()
    np = f"{thing}'s {a}" if shape < .35 else f"the {a} of {thing}" if shape < .8 else f"{thing} {a}"
    f = simple(("loose", a, noun.split()[-1]), a, v(w, target), np, np + " is {v}.", v, lambda w: same(w, False))

    def same(w, target):
        for _ in range(8):
            g = loose(w, target)
            if g.attr == a:
                return g
        return g
    return f


def located(w, target):
    n, b = w.rng.choice(THINGS)
    det = w.rng.choice(("the", "the", "my"))
    f = simple(("located", n), "place", SPOT(w, target), f"the place of {det} {n}",
               ("the " if det == "the" else "your ") + f"{n} {b} " + "{v}.", SPOT, lambda w: located(w, False),
               {"n": f"{det} {n}", "b": b}, det == "the")
    f.says, f.asks, f.updates = L_SAY, L_ASK, L_UPDATE
    return f


def decided(w, target):
    x = w.rng.choice(MATTERS)
    v = w.rng.choice(CHOICES)
    f = simple(("decided", x), "decision", v(w, target), "the decision " + w.rng.choice(("for ", "on ", "about ")) + x,
               "you chose {v} for " + x + ".", v, lambda w: decided(w, False), {"x": x}, False)
    f.says, f.asks, f.updates = D_SAY, D_ASK, D_UPDATE
    return f


_WEIGHTS = []
_total = 0.0
for _t in TYPES:
    _total += _t.weight
    _WEIGHTS.append(_total)


def fact(w, target=True):
    x = w.rng.random()
    if x < .60:
        return typed(w, w.rng.choices(TYPES, cum_weights=_WEIGHTS)[0], target)
    if x < .74:
        return single(w, target)
    if x < .86:
        return loose(w, target)
    if x < .93:
        return located(w, target)
    return decided(w, target)


def related(w, f):
    """Another fact that could be mixed up with f."""
    x = w.rng.random()
    if x < .6:
        return f.sibling(w)
    if x < .85 and f.subject is not None:
        group = [t for g, ts in _TYPE_GROUPS.items() for t in ts
                 if (t.subject is person_subject) == (f.key[0] in _PERSON_TYPES)]
        if f.key[0] not in _PERSON_TYPES:
            group = _TYPE_GROUPS[_GROUP_OF[f.key[0]]]
        return typed(w, w.rng.choice(group), False, f.subject)
    return fact(w, False)


_PERSON_TYPES = {t.name for t in TYPES if t.subject is person_subject}
_GROUP_OF = {t.name: t.group for t in TYPES}

# ---------------------------------------------------------------- how facts are said and asked


def finish(w, text):
    """Users are careless with capitals and full stops."""
    x = w.rng.random()
    if x < .8:
        text = cap(text)
    if text[-1] == "." and w.rng.random() < .22 and "." not in text[:-1]:
        text = text[:-1]
    elif text[-1] == "?" and w.rng.random() < .12:
        text = text[:-1]
    return text


_AFTER = re.compile(r"([.!?] )([a-z])")


def tidy(text):
    """A capital after a full stop inside."""
    return _AFTER.sub(lambda m: m.group(1) + m.group(2).upper(), text)


def say(w, f, plain=False):
    """The user's sentence that states f."""
    if f.says and (f.key[0] in ("located", "decided") or w.rng.random() < .6):
        text = f.says.pick(w).format_map({"v": f.value, **f.values})
        if not plain and ":" not in text and not text.startswith(("remember", "note")) and w.rng.random() < .3:
            text = G_LEAD_SAY.pick(w) + " " + text
    elif plain:
        text = f"{f.np(w)} is {f.value}." if w.rng.random() < .6 else f"{f.np(w)}: {f.value}"
    else:
        text = G_SAY.pick(w).format_map({"np": f.np(w), "v": f.value})
    if not plain and text[-1] == "." and w.rng.random() < .1:
        text += " " + G_TAIL_SAY.pick(w)
    return tidy(text)


def ask(w, f):
    """The user's question for f."""
    if f.asks and (f.key[0] in ("located", "decided") or w.rng.random() < .55):
        text = f.asks.pick(w).format_map(f.values)
        if text.startswith(("wh", "how", "in ", "on ", "at ")) and w.rng.random() < .25:
            text = G_LEAD_ASK.pick(w) + " " + text
    else:
        text = G_ASK.pick(w).format_map({"np": f.np(w)})
    if text[-1] == "?" and w.rng.random() < .1:
        text += " " + G_TAIL_ASK.pick(w)
    text = finish(w, tidy(text))
    return text.lower() if w.rng.random() < .03 else text


def new_value(w, f, target=True):
    for _ in range(20):
        v = f.draw(w, target)
        if v != f.value:
            return v
    return None


def correct(w, f, target=True):
    """The user's sentence that gives f a new value, or None; f is changed."""
    v = new_value(w, f, target)
    if v is None:
        return None
    p = f.updates or G_UPDATE
    text = p.pick(w).format_map({"np": f.np(w), "v": v, "old": f.value, **f.values})
    f.value = v
    return finish(w, tidy(text))


# ---------------------------------------------------------------- what lies between: small talk and filler

REMARKS = """It is [raining|snowing|sunny|windy|cold|warm] [here|outside] today.
I had a [long|short|good|busy|slow|quiet] [day|week|morning|night].
I am [a bit|very|rather] [tired|busy|happy|hungry] [today|right now|].
I [was|am] [at home|in the garden|on the train|at work|in town] [today|this morning|].
The [weather|coffee|traffic|news] is [good|bad|better|not great] today.
We had [guests|visitors|a meeting|a walk|a long call] [yesterday|last week|on the weekend].
I slept [well|badly|very little] last night.
The [neighbours|children|birds] are [loud|quiet|noisy] [today|again].
I am [drinking|making] [tea|coffee|soup] [right now|].
There is [a lot|not much] to do [today|this week].
The week [was|is] [long|short|nice|busy].
My [chair|desk|screen|phone] is [new|old|too small|broken].
I will [go out|cook|read|rest] later.
It [is|was] a [nice|strange|long|short] [evening|afternoon|trip|walk].
I [bought|lost|found] [a book|an umbrella|some flowers|a hat] [today|yesterday].""".split("\n")
THANKS = """[thanks|thank you|many thanks|thanks a lot|thank you very much][.|!]
[good|great|fine|nice|perfect], [thanks|thank you].
[thanks|thank you], that helps.
that [helps|is right|was right], [thanks|thank you].
[ok|okay], [thanks|thank you][.|!]
[great|perfect], thank you very much.
thanks a lot, that is [great|perfect|right].""".split("\n")
OKAY = """[ok|okay|fine|good|great|right|alright][.|!|]
[ok|okay], [good|fine|great].
[give me a moment|one moment|wait a moment|just a moment][.|, please.]
[I will be back|be right back|I am back][.|!]
[ok|okay], let us go on.
let us [go on|continue][.|, please.]
[good|fine], let us continue.
[ok|okay], one moment, please.""".split("\n")
T_REMARK, T_THANKS, T_OKAY = (Phrases(x, split=False) for x in (REMARKS, THANKS, OKAY))


def small_talk(w):
    x = w.rng.random()
    if x < .6:
        text = T_REMARK.pick(w)
        if w.rng.random() < .3:
            text += " " + T_REMARK.pick(w)
        return text, "I see."
    if x < .8:
        return finish(w, T_THANKS.pick(w)), "You are welcome."
    return finish(w, T_OKAY.pick(w)), "All right."


_NOUNS = ("table river letter team plan window market wall bottle paper signal engine road field stone basket "
          "kitten chapter corner ticket pocket machine mirror carpet village forest harbour hill picture summer "
          "report budget group visitor worker driver shop kettle bucket rope wheel curtain pillow lantern fence "
          "barrel").split()
_ADJS = ("small large old new quiet loud heavy light green wide narrow bright dark empty full clean dusty round "
         "flat slow fast simple strange warm cold dry wet long short careful open").split()
_SOME = [("an " if x[0] in "aeiou" else "a ") + x for x in _ADJS]
_VERBS = ("moved carried opened closed painted repaired counted checked found lost washed covered lifted replaced "
          "cleaned measured marked sorted packed tested watched").split()
_WHEN = ("in the morning", "after lunch", "before noon", "last week", "on Monday", "on Friday", "again", "twice",
         "at night", "in spring", "without delay", "by hand", "yesterday", "for an hour", "as planned", "once more")
_LEVEL = ("INFO", "INFO", "INFO", "WARN", "DEBUG", "ERROR")
_DID = ("started", "stopped", "ready", "retry", "timeout", "saved", "loaded", "closed", "opened", "flushed", "skipped",
        "done", "queued", "refused", "restarted", "checked", "expired")
_PART = ("cache", "disk", "net", "auth", "queue", "mail", "index", "sync", "core", "store", "timer", "worker", "parser")


def _sentence(r):
    c = r.choice
    x = r.random()
    if x < .35:
        return f"The {c(_ADJS)} {c(_NOUNS)} {c(_VERBS)} the {c(_NOUNS)} {c(_WHEN)}."
    if x < .55:
        return f"Someone {c(_VERBS)} {r.randint(2, 90)} {c(_NOUNS)}s {c(_WHEN)}."
    if x < .7:
        return f"There was {c(_SOME)} {c(_NOUNS)} near the {c(_ADJS)} {c(_NOUNS)}."
    if x < .85:
        return f"We {c(_VERBS)} the {c(_NOUNS)} and the {c(_ADJS)} {c(_NOUNS)}."
    return f"{cap(c(_WHEN))} the {c(_NOUNS)} looked {c(_ADJS)}."


def _log(r):
    clock = f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:{r.randint(0, 59):02d}"
    return f"{clock} {r.choice(_LEVEL)} {r.choice(_PART)} {r.choice(_DID)} {r.randint(1, 9999)}"


def _todo(r):
    return f"- {r.choice(_VERBS)} the {r.choice(_ADJS)} {r.choice(_NOUNS)}"


def _stock(r):
    return f"{r.choice(_ADJS)} {r.choice(_NOUNS)}, {r.randint(1, 999)}, {r.choice(WEEKDAYS)}"


def _code(r):
    n, m = r.choice(_NOUNS), r.choice(_PART)
    return r.choice((f"{n} = {m}({r.randint(0, 99)})", f"if {n} > {r.randint(0, 99)}: {m}({n})", f"{m}.{n} += 1",
                     f"return {n} + {r.randint(0, 9)}", f"# {m} {n}"))


LEAD_PASTE = """here are my notes:
here is a note:
this is from my notes:
[here is|this is|look at] the log:
[here is|this is] a list:
[I paste|I am pasting] this here:
for your information:
a long note for you:
I found this text:
this is what I wrote:
[read|look at] this:
[here is|this is] [a|the] text:
[here is|this is] a piece of my diary:
keep this text, please:
from my diary:""".split("\n")
T_PASTE = Phrases(LEAD_PASTE, split=False)


def filler(w, tokens, extra=()):
    """A pasted text of about so many tokens, with extra sentences somewhere inside."""
    r = w.rng
    budget = max(8, tokens) / PER_CHAR
    kind = r.random()
    make, join = ((_sentence, " ") if kind < .4 else (_log, "\n") if kind < .6 else (_todo, "\n") if kind < .75 else
                  (_stock, "\n") if kind < .88 else (_code, "\n"))
    parts, n = [], sum(len(x) + 1 for x in extra)
    while n < budget or not parts:
        x = make(r)
        parts.append(x)
        n += len(x) + 1
    for x in extra:
        if join == " " and x[-1] not in ".!?":
            x += "."
        parts.insert(r.randint(0, len(parts)), cap(x))
    body = join.join(parts)
    if join == "\n":
        return cap(T_PASTE.pick(w)) + "\n" + body
    return cap(T_PASTE.pick(w)) + " " + body if r.random() < .7 or extra else body


# ---------------------------------------------------------------- the run of a conversation


class Talk:
    def __init__(self, w):
        self.w, self.turns, self.size, self.told = w, [], 0.0, []
        self.keys, self.values = set(), set()

    def put(self, user, answer):
        self.turns.append({"user": user})
        self.turns.append({"assistant": answer})
        self.size += (len(user) + len(answer)) * PER_CHAR + 2 * PER_TURN

    def fresh(self, make, avoid=()):
        """A fact whose key is new and whose value differs from those of the avoided facts, or None."""
        for _ in range(6):
            f = make()
            if f.key not in self.keys and all(f.value.lower() != g.value.lower() for g in avoid):
                return f
        return None

    def know(self, *facts):
        for f in facts:
            self.keys.add(f.key)
            self.told.append(f)

    def state(self, facts, style=None):
        """The user states facts in one message.  style: plain, talk (with remarks around), paste."""
        w = self.w
        if style is None:
            x = w.rng.random()
            style = "plain" if x < .78 else "talk" if x < .92 else "paste"
        if style == "paste":
            self.put(filler(w, w.between(20, 120), [say(w, f, True) for f in facts]), "Noted.")
        else:
            text = join_says(w, facts)
            if style == "talk":
                if text[-1] not in ".!?":
                    text += "."
                text = cap(text)
                x = w.rng.random()
                if x < .7:
                    text = T_REMARK.pick(w) + " " + text
                if x > .35:
                    text += " " + T_REMARK.pick(w)
            self.put(text, "Noted: " + "; ".join(f.echo() for f in facts) + ".")
        self.know(*facts)

    def question(self, *facts):
        w = self.w
        if len(facts) == 2:
            a, b = facts
            if w.rng.random() < .6 or a.key[0] in ("located", "decided"):
                text = finish(w, tidy(G_TWO.pick(w).format_map({"a": a.np(w), "b": b.np(w)})))
            else:
                text = cap(ask(w, a).rstrip(".?")) + "? " + cap(ask(w, b))
        else:
            text = ask(w, facts[0])
        self.put(text, " ".join(f.sentence() for f in facts))

    def gap(self, until, target, hidden=()):
        """Other turns until the conversation has about so many tokens."""
        w = self.w
        while self.size < until - 6:
            left = until - self.size
            x = w.rng.random()
            if left < 14 or x < .14:
                self.put(*small_talk(w))
            elif x < .5:
                f = self.fresh(lambda: related(w, target) if target else fact(w, False), [target] if target else ())
                if f is not None:
                    self.state([f], "paste" if left > 150 and w.rng.random() < .15 else None)
            elif x < .66:
                others = [f for f in self.told if f not in hidden]
                if others:
                    self.question(w.rng.choice(others))
            elif x < .7 and self.told:
                others = [f for f in self.told if f is not target and f not in hidden]
                if others:
                    f = w.rng.choice(others)
                    text = correct(w, f, False)
                    if text:
                        self.put(text, "Noted: " + f.echo() + ".")
            elif left > 30:
                most = min(left, 90 if until < 300 else 380)
                self.put(filler(w, w.between(12, int(most)) * .9), "Noted.")

    def unsaid(self):
        """A question on something that was not told, or None."""
        w = self.w
        near = w.rng.choice(self.told) if self.told and w.rng.random() < .75 else None
        attrs = {f.attr for f in self.told if f.subject is None}

        def make():
            return related(w, near) if near else fact(w, False)
        for _ in range(6):
            f = make()
            if f.key in self.keys or (f.subject is None and f.attr in attrs and f.key[0] == "single"):
                continue
            if f.key[0] == "single" and any(f.attr == g.attr for g in self.told):
                continue
            self.put(ask(w, f), UNSAID)
            return f
        return None


def join_says(w, facts):
    if len(facts) == 1:
        return finish(w, say(w, facts[0]))
    parts = [say(w, f, True).rstrip(".") for f in facts]
    x = w.rng.random()
    if x < .4:
        text = ". ".join(cap(p) for p in parts) + "."
    elif x < .6:
        text = ", and ".join(parts) + "."
    elif x < .8:
        text = "; ".join(parts) + "."
    else:
        text = ", ".join(parts[:-1]) + " and " + parts[-1] + "."
    if w.rng.random() < .3:
        text = G_LEAD_SAY.pick(w) + " " + text
    return finish(w, tidy(text))


def distance(w):
    """For training: many short ones, some long."""
    x = w.rng.random()
    if x < .12:
        return 0
    if x < .62:
        return int(10 * 20 ** w.rng.random())              # 10 to 200
    if x < .86:
        return int(200 * 3 ** w.rng.random())              # 200 to 600
    return int(600 * 2.5 ** w.rng.random())                # 600 to 1500


def opening(w, t, d):
    """Some turns before the fact that counts."""
    if w.side == "train" and w.rng.random() < .05:
        t.unsaid()
    if w.rng.random() < (.5 if d < 60 else .3):
        for _ in range(w.between(1, 3)):
            if w.rng.random() < .75:
                f = t.fresh(lambda: fact(w, False))
                if f:
                    t.state([f])
            else:
                t.put(*small_talk(w))


def pasted_question(w, t):
    """Statement and question in one message."""
    f = t.fresh(lambda: fact(w))
    others = []
    for _ in range(w.between(0, 3)):
        g = t.fresh(lambda: related(w, f), [f])
        if g and all(g.key != h.key for h in others + [f]):
            others.append(g)
    group = w.shuffle([f] + others)
    q = cap(ask(w, f))
    if w.rng.random() < .5:
        body = ". ".join(cap(say(w, g, True).rstrip(".")) for g in group) + "."
        text = body + " " + q
    else:
        body = filler(w, w.between(15, 150), [say(w, g, True) for g in group])
        text = q + ("" if q[-1] in ".?" else "?") + "\n" + body if w.rng.random() < .4 else body + "\n" + q
    t.put(text, f.sentence())
    t.know(*group)
    return f


def main_talk(w, d, train):
    """(talk, the facts that the last question asks for, old values)."""
    t = Talk(w)
    opening(w, t, d)
    f = t.fresh(lambda: fact(w)) or fact(w)
    while f.key in t.keys:
        f = fact(w)
    second, old = None, []
    x = w.rng.random()
    facts = [f]
    if x < .22:
        for _ in range(w.between(1, 2)):
            g = t.fresh(lambda: related(w, f), [f])
            if g and all(g.key != h.key for h in facts):
                if w.side == "held":                       # it may be asked for: a value of this side
                    g.value = g.draw(w, True)
                if g.value != f.value:
                    facts.append(g)
    facts = w.shuffle(facts)
    y = w.rng.random()
    t.state(facts, "paste" if y < .12 else None)
    if len(facts) > 1 and w.rng.random() < .35:
        second = facts[0] if facts[0] is not f else facts[1]
    if w.rng.random() < .15:                               # said anew, later
        t.gap(t.size + w.between(0, 100), f)
        was = f.value
        text = correct(w, f)
        if text:
            t.put(text, "Noted: " + f.echo() + ".")
            old.append(was)
    if second is None and w.rng.random() < .08:
        second = t.fresh(lambda: fact(w), [f])             # another kind, said right after
        if second:
            t.state([second])
    t.gap(t.size + d, f, () if train else [f, second])
    return t, f, second, old


def finale(w, t, f, second):
    """Training: the question for f among questions for other facts."""
    others = [g for g in t.told if g is not f and g is not second]
    asks = [(f, second) if second else (f,)] + [(g,) for g in w.sample(others, min(len(others), w.between(0, 3)))]
    for q in w.shuffle(asks):
        t.question(*q)
        if w.rng.random() < .06:
            t.put(*small_talk(w))
        if w.rng.random() < .08:
            t.unsaid()
    if w.rng.random() < .08:
        t.unsaid()
    if w.rng.random() < .04:
        g = w.rng.choice(t.told)
        if g.whose and sum(1 for h in t.told if h.value == g.value) == 1:
            t.put(finish(w, G_WHO.pick(w).format_map({"attr": g.whose, "v": g.value})), g.sentence())


# ---- lists of labelled items

_GREEK = "alpha beta gamma delta epsilon zeta eta theta kappa lambda sigma omega rho tau phi iota".split()
LABEL_ASK = lines("""{l}?
    and {l}?
    what is {l}?
    what's {l}?
    what was {l}?
    tell me {l}.
    which one is {l}?
    what [stands|is] [at|under|behind|next to] {l}?
    [give me|show me|read me|say] {l}.
    what is the [value|entry|item] [of|for|at] {l}?
    the [value|entry|item] [of|for|at] {l}, please.
    look up {l}.
    what does {l} say?
    what does the list say [for|at|about] {l}?
    now {l}.
    next: {l}.
    what did I write [for|at|next to] {l}?
    I need {l}.
    [please|] repeat {l}.
    do you remember {l}?
    what do you have for {l}?
    in the list, what is {l}?
    which [value|item|entry] does {l} have?
    remind me of {l}.
    and what is {l}?""")
LEAD_LIST = lines("""here is a list:
    remember this list:
    please remember these:
    keep these:
    a list for you:
    [note|save|store] these items:
    here are some [items|values|entries]:
    remember these [items|values|entries], please:
    this is my list:
    here is my list, please keep it:""")
Q_LABEL, T_LIST = Phrases(LABEL_ASK, _ASK_WORDS), Phrases(LEAD_LIST)


def items(w, n):
    r = w.rng
    k = r.random()
    if k < .25:
        labels = r.sample(_GREEK, n)
    else:
        make = (lambda: w.rng.choice(_NOUNS)) if k < .4 else w.word if k < .55 else w.person if k < .75 else \
            (lambda: r.choice(_ABC) + str(r.randint(1, 99))) if k < .85 else (lambda: "item " + str(r.randint(1, 40)))
        seen = {}
        while len(seen) < n:
            seen.setdefault(make())
        labels = list(seen)
    v = r.choice((CODE, CODE, PIN, AMOUNT, WORD, PERSON, PLACE, TIME, DATE, LONG_NUMBER, ROOM))
    seen = {}
    while len(seen) < n:
        seen.setdefault(v(w, True))
    return list(zip(labels, seen))


def list_text(w, pairs):
    r = w.rng
    colon = r.choice((": ", ": ", ": ", " = ", " - ", " is "))
    x = r.random()
    if x < .6:
        body = "\n".join(("- " if x < .2 else "") + a + colon + b for a, b in pairs)
        return cap(T_LIST.pick(w)) + "\n" + body if r.random() < .7 else body
    body = (", " if x < .85 else "; ").join(a + colon + b for a, b in pairs)
    return cap(T_LIST.pick(w)) + " " + body if r.random() < .7 else body


def drill(w, d=0, train=True):
    """(talk, (label, value), all pairs)"""
    t = Talk(w)
    pairs = items(w, w.between(3, 12))
    t.put(list_text(w, pairs), "Noted.")
    if d:
        t.gap(t.size + d, None)
    asked = w.sample(pairs, min(len(pairs), w.between(2, 8) if train else w.between(1, 3)))
    for a, b in asked:
        text = finish(w, tidy(Q_LABEL.pick(w).format_map({"l": a})))
        if a[0].islower() and text.startswith(cap(a)):
            text = a + text[len(a):]
        t.put(text, f"{a} is {b}.")
    return t, asked[-1], pairs


# ---- facts that come in a result or in the summary

READ_ASK = lines("""{q} It is in {path}.
    {q} See {path}.
    {q} Read {path}.
    read {path}. {q}
    look in {path}: {q}
    {q} You can find it in {path}.
    {q} Look in {path}.
    open {path}. {q}
    it is in {path}: {q}
    see {path}: {q}""")
T_READ = Phrases(READ_ASK, {"you", "can", "find"})


def thirds(w, n):
    """Facts that need no 'my' and 'I': for files and summaries."""
    out, keys = [], set()
    first = None
    while len(out) < n:
        f = related(w, first) if first and w.rng.random() < .7 else fact(w)
        if f.third and f.key not in keys and (first is None or f.value != first.value):
            keys.add(f.key)
            out.append(f)
            first = first or f
    return out


def colon_line(f):
    n = f.values.get("n") or f.nps[0]
    return f"{cap(n)}: {f.value}"


def from_file(w):
    t = Talk(w)
    if w.rng.random() < .3:
        opening(w, t, 100)
    facts = [f for f in thirds(w, w.between(1, 5)) if f.key not in t.keys] or thirds(w, 1)
    path = w.path()
    f = w.rng.choice(facts)
    q = ask(w, f)
    q = cap(q) + ("" if q[-1] in ".?" else "?")
    texts = [colon_line(g) if w.rng.random() < .5 else say(w, g, True) for g in facts]
    if w.rng.random() < .5:
        body = "\n".join(cap(x) for x in texts)
    else:
        body = filler(w, w.between(20, 200), texts)
    t.turns += [{"user": finish(w, T_READ.pick(w).format_map({"q": q, "path": path}))},
                {"call": {"name": "read", "arguments": {"path": path}}}, {"result": {"text": body}},
                {"assistant": f.sentence()}]
    t.size += len(body) * PER_CHAR
    t.know(*facts)
    if w.rng.random() < .3:
        t.put(*small_talk(w))
    for g in w.sample(facts, min(len(facts), w.between(0, 3))):
        t.question(g)
    tools = w.sample(["write", "edit", "list", "search", "shell", "calculator"], w.between(0, 4)) + ["read"]
    return t, w.shuffle(tools)


def from_summary(w):
    t = Talk(w)
    facts = thirds(w, w.between(2, 8))
    summary = {"facts": [colon_line(f) for f in facts], "decisions": [], "done": [], "open": [],
               "artifact": w.artifact()}
    t.know(*facts)
    if w.rng.random() < .4:
        t.gap(w.between(20, 200), facts[0])
    for f in w.sample(facts, min(len(facts), w.between(1, 4))):
        t.question(f)
    if w.rng.random() < .12:
        t.unsaid()
    return t, summary


# ---------------------------------------------------------------- the module's face

ALL_TOOLS = ["read", "write", "edit", "list", "search", "shell", "calculator", "artifact", "ask"]


def wrap(w, turns, tools=(), summary=None, role=None):
    if role is None:
        role = "assistant" if w.rng.random() < .88 else ""
    return {"role": role or None, "tools": list(tools), "summary": summary, "turns": turns}


def dialogue(w):
    x = w.rng.random()
    if x < .76:
        t, f, second, _ = main_talk(w, distance(w), True)
        finale(w, t, f, second)
    elif x < .87:
        t = drill(w, distance(w) if w.rng.random() < .4 else 0)[0]
    elif x < .92:
        t = Talk(w)
        opening(w, t, 60)
        pasted_question(w, t)
        if w.rng.random() < .5:
            others = t.told
            for f in w.sample(others, min(len(others), 2)):
                t.question(f)
    elif x < .96:
        t, tools = from_file(w)
        return wrap(w, t.turns, tools, role="assistant")
    else:
        t, summary = from_summary(w)
        return wrap(w, t.turns, (), summary, "assistant")
    tools = ()
    if w.rng.random() < .08 and not any(u.get("assistant") == UNSAID for u in t.turns):
        tools = w.sample(ALL_TOOLS, w.between(1, 5))
    return wrap(w, t.turns, tools)


def segment(w):
    x = w.rng.random()
    t = Talk(w)
    if x < .12:
        pasted_question(w, t)
    else:
        f = fact(w)
        facts = [f]
        if x > .5:
            g = t.fresh(lambda: related(w, f), [f])
            if g and g.key != f.key:
                facts.append(g)
        if len(facts) == 2 and w.rng.random() < .5:
            t.state(w.shuffle(facts), "plain")
        else:
            for g in w.shuffle(facts):
                t.state([g], None)
        if w.rng.random() < .1:
            text = correct(w, f)
            if text:
                t.put(text, "Noted: " + f.echo() + ".")
        if len(t.turns) < 6:
            t.question(f)
    return t.turns, []


def _safe(values, answer):
    """The values that the answer does not contain by chance."""
    low = answer.lower()
    return sorted({v for v in values if len(v) > 1 and v.lower() not in low})


def said(w):
    d = w.between(50, 1500)
    if w.rng.random() < .1:
        t, (label, value), pairs = drill(w, d, False)
        answer = t.turns[-1]["assistant"]
        check = {"kind": "contains", "all": [[value]], "none": _safe([b for a, b in pairs if a != label], answer)}
        return dict(wrap(w, t.turns, role="assistant"), check=check)
    t, f, second, old = main_talk(w, d, False)
    if second:
        t.question(*w.shuffle([f, second]))
    else:
        t.question(f)
    answer = t.turns[-1]["assistant"]
    mine = [f] + ([second] if second else [])
    others = [g.value for g in t.told if g not in mine and g.draw is f.draw] + old
    check = {"kind": "contains", "all": [[g.value] for g in mine], "none": _safe(others, answer)}
    return dict(wrap(w, t.turns, role="assistant"), check=check)


CASES = {"recall.said": said}


# ---------------------------------------------------------------- a look and a test

def _length(d):
    n = 0
    for u in d["turns"]:
        n += PER_TURN + len(str(list(u.values())[0])) * PER_CHAR
    return n


def _show(d):
    print("--- role", d["role"], "tools", d["tools"], "summary", d["summary"], "check", d.get("check"))
    for u in d["turns"]:
        for k, v in u.items():
            print(f"  {k}: {v}")


def _test():
    import time
    for i in range(8):
        _show(dialogue(World(i, "train")) if i < 6 else said(World(i, "held")))
    others = {"user", "result"}
    known = {"read", "write", "edit", "list", "search", "shell", "calculator", "recall", "artifact", "ask"}

    def valid(d):
        assert d["role"] in ("assistant", None) and set(d["tools"]) <= known and d["turns"]
        for u in d["turns"]:
            assert len(u) == 1 and set(u) <= others | {"assistant", "call"}, u
            v = list(u.values())[0]
            text = v if isinstance(v, str) else v.get("text", "x")
            assert text and "{" not in text and "<" not in text and "[" not in text and "  " not in text, text
        assert not set(d["turns"][-1]) & others

    start, sizes, seen = time.time(), [], set()
    for i in range(2000):
        d = dialogue(World(i, "train"))
        valid(d)
        sizes.append(_length(d))
        seen.add(repr(d))
        turns, tools = segment(World(i, "train"))
        valid({"role": None, "tools": tools, "turns": turns})
        assert len(turns) <= 6
    spent = time.time() - start
    assert len(seen) >= 1900
    for name, make in CASES.items():
        for i in range(300):
            d = make(World(i, "held"))
            valid(d)
            answer = d["turns"][-1]["assistant"].lower()
            assert all(any(x.lower() in answer for x in g) for g in d["check"]["all"])
            assert not any(x.lower() in answer for x in d["check"]["none"])
    missing = 0
    for p in Phrases.all:
        gap = _covered(p.items, p.more)
        if gap and missing < 12:
            print("words only in held phrasings:", sorted(gap), [t for i, t in enumerate(p.items) if i % 5 == 4][:3])
        missing += bool(gap)
    sizes.sort()
    print(f"{len(TYPES)} types, {len(SINGLES)} single things; {2000 / spent:.0f} dialogues+segments a second; about "
          f"{sum(sizes) / len(sizes):.0f} tokens each, median {sizes[1000]:.0f}, under 300: "
          f"{sum(s < 300 for s in sizes) / 20:.0f} %, over 700: {sum(s > 700 for s in sizes) / 20:.0f} %; lists with "
          f"uncovered held words: {missing} of {len(Phrases.all)}")


if __name__ == "__main__":
    _test()
