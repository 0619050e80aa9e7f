"""Facts that the user says and asks for later.

A fact has a type (an attribute with its phrasings), a subject and a value.  The model acknowledges it ("Noted: Marta's
dog is called Rufo.") and answers a question with the same sentence.  What lies between is other facts of the same
kinds, small talk, pasted filler and questions on earlier facts.  The latest word on a fact counts; a fact never said
gets "You have not told me."

Rules for what the model writes: one fact or a few in a message are echoed after "Noted: ", joined by "; "; a pasted
note or list gets "Noted."; two facts asked for at once are answered by two sentences in the order of asking.
"""
import re

from .grammar import WEEKDAYS, World, left_over
from .recall_facts import (CHOICES, D_ASK, D_SAY, D_UPDATE, FREE_ADJ, FREE_ATTR, FREE_NOUN, L_ASK, L_SAY, L_UPDATE,
                           MATTERS, SINGLES, THINGS, TYPES, TYPE_GROUPS, lines)
from .recall_words import (AMOUNT, CODE, DATE, G_ASK, G_LEAD_ASK, G_LEAD_SAY, G_SAY, G_TAIL_ASK, G_TAIL_SAY, G_TWO,
                           G_UPDATE, G_WHO, LONG_NUMBER, PERSON, PER_CHAR, PER_TURN, PIN, PLACE, Phrases, ROOM, SPOT,
                           TIME, UNSAID, WORD, ABC, ASK_WORDS, covered, person_subject)

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
        group = [t for g, ts in TYPE_GROUPS.items() for t in ts
                 if (t.subject is person_subject) == (f.key[0] in _PERSON_TYPES)]
        if f.key[0] not in _PERSON_TYPES:
            group = TYPE_GROUPS[_GROUP_OF[f.key[0]]]
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
    if x < .72:
        return int(10 * 15 ** w.rng.random())              # 10 to 150
    if x < .93:
        return int(150 * 4 ** w.rng.random())              # 150 to 600
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
    asks = [(f, second) if second else (f,)] + [(g,) for g in w.sample(others, min(len(others), w.between(1, 6)))]
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
Q_LABEL, T_LIST = Phrases(LABEL_ASK, ASK_WORDS), Phrases(LEAD_LIST)


def items(w, n):
    r = w.rng
    k = r.random()
    if k < .25:
        labels = r.sample(_GREEK, n)
    else:
        make = (lambda: w.rng.choice(_NOUNS)) if k < .4 else w.word if k < .55 else w.person if k < .75 else \
            (lambda: r.choice(ABC) + str(r.randint(1, 99))) if k < .85 else (lambda: "item " + str(r.randint(1, 40)))
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
    summary = {"facts": [f.echo() for f in facts], "decisions": [], "done": [], "open": [],
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
            assert text and not left_over(text) and "<" not in text and "  " not in text, text
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
        gap = covered(p.items, p.more)
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
