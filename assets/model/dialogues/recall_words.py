"""What facts are told and asked with (recall.py): patterns, phrasings for any attribute, values, subjects."""
import re

from .grammar import COLOURS, DRINKS, FOODS, HOBBIES, JOBS, LANGUAGES, MONTHS, WEEKDAYS, is_held

UNSAID = "You have not told me."
PER_CHAR, PER_TURN = 0.34, 4          # a rough count of tokens: of a text's characters, and of a turn's frame

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


def covered(items, more=()):
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

SAY_WORDS = set().union(*map(_words, SAY + LEAD_SAY + TAIL_SAY))
ASK_WORDS = set().union(*map(_words, ASK + LEAD_ASK + TAIL_ASK))
G_SAY, G_ASK, G_UPDATE = Phrases(SAY), Phrases(ASK), Phrases(UPDATE, SAY_WORDS)
G_LEAD_SAY, G_TAIL_SAY = Phrases(LEAD_SAY, SAY_WORDS), Phrases(TAIL_SAY, SAY_WORDS)
G_LEAD_ASK, G_TAIL_ASK = Phrases(LEAD_ASK, ASK_WORDS), Phrases(TAIL_ASK, ASK_WORDS)
G_TWO, G_WHO = Phrases(ASK_TWO, ASK_WORDS), Phrases(ASK_WHO, ASK_WORDS)

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


ABC = "ABCDEFGHJKLMNPRSTUVWXYZ"
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
ROOM = opened(lambda r: r.choice(ABC[:8]) + str(r.randint(1, 420)))
SEAT = opened(lambda r: str(r.randint(1, 60)) + r.choice("ABCDEF"))
FLIGHT = opened(lambda r: r.choice(ABC) + r.choice(ABC) + str(r.randint(10, 9999)))
PLATE = opened(lambda r: r.choice(ABC) + r.choice(ABC) + "-" + _digits(r, 3))
SHELF = opened(lambda r: f"{r.choice(ABC)}{r.randint(1, 99)}")
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
