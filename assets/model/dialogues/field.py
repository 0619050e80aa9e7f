"""What plimsoll is about, as question and answer: its flags, its words, and every cause of out-of-memory.

The topics are data (field_facts.py); here are the phrasings.  A topic's answer is always the same text, so that a tiny
model can learn it by heart; what varies is how people ask.  A cause has two sentences, why and fix: a symptom gets
both, a question only what it asks for, and a follow-up the other.
"""
from dialogues.field_facts import CAUSES, DEEDS, EXITS, QUESTIONS, THINGS

# ---------------------------------------------------------------- phrasings; each fifth one is held out

# {x} is a thing; {is} and {does} agree with it.
WHAT_IS = [
    "What {is} {x}?", "[Tell me|Explain to me] what {x} {is}.", "Can you [explain|tell me] what {x} {is}?",
    "What [exactly|] {is} {x}[, please|]?", "[Please|] tell me what {x} {is}.",
    "Explain {x}[, please|].", "[I keep hearing|I hear] about {x}. What is it?", "What do you mean by {x}?",
    "What is meant by {x}?", "I [keep hearing|have heard] about {x}, what do you mean by it?",
    "Someone mentioned {x}. What {is} {x}?", "I do not know what {x} {is}.", "I have never heard of {x}.",
    "[What|So what] {is} {x}, in [short|a sentence|one sentence]?", "Explain in [short|one sentence] what {x} {is}.",
    "{x}?", "{x}, what is [that|it]?", "Could you explain {x} [to me|]?", "Define {x}.", "What is it, {x}?",
    "[Give me|I need] a short explanation of {x}.", "What should I know about {x}?", "Tell me [something|] about {x}.",
    "Do you know what {x} {is}?", "Do you know [something|] about {x}?",
    "I read about {x}. What [is|does] that [mean|]?", "What does it mean, {x}?", "Can you define {x}?",
    "I am not sure what {x} {is}.", "I am not sure what you mean by {x}.",
    "Help me understand {x}.", "I want to understand {x}.", "I would like to know what {x} {is}.",
    "What can you tell me about {x}?", "I would like to understand what {x} {is}.",
    "[In one sentence|In short]: {x}?", "[A short|One] sentence about {x}, please.", "What {is} {x} about?",
    "Someone asked me what {x} {is}.", "Someone asked me to explain {x}.",
    "What {is} {x} again?", "I forgot what {x} {is}.", "My colleague talks about {x}. What is it?",
    "[How would you|Would you] explain {x}?", "I forgot about {x}, what is it again?",
]
# {x} is a flag, a key or a command.
WHAT_DOES = [
    "What does {x} do?", "What is {x} for?", "[Can you|Please] explain {x}.", "Explain {x}[, please|].",
    "[Can you|Please] tell me what {x} does and when I use it.",
    "What is the meaning of {x}?", "What is the use of {x}?", "When and how do I use {x}?", "How do I use {x}?",
    "What is the meaning and use of {x}?",
    "What does {x} mean?", "Tell me [about|what] {x} [does|is for].", "I saw {x}. What does it do?", "{x}?",
    "I saw {x} in a script. What is it for?",
    "What is {x} good for?", "I do not know {x}.", "What does {x} do in plimsoll?", "Why would I use {x}?",
    "Why do I need {x}?",
    "Do I need {x}?", "Describe {x}.", "What would {x} do?", "{x}, what does it do?", "{x}, what is it for?",
    "What about {x}?", "I found {x} in a script. What does it mean?", "What is {x}?", "I do not know what {x} does.",
    "I found {x}. What does it do in plimsoll?",
]
# {a} is what one wants to do; the second list only where a flag does it.
HOW = [
    "How do I {a}?", "How can I {a}?", "I want to {a}.", "How [would|could] I {a}?", "How [can|do] you {a}?",
    "What do I type to {a}?", "Is there a way to {a}?", "I would like to {a}.", "What is the way to {a}?",
    "What would I type to {a}?",
    "I need to {a}. How?", "Can I {a}?", "Tell me how to {a}.", "[Show|Explain to] me how to {a}.",
    "Can you tell me how to {a}?",
    "How does one {a}?", "Please explain how to {a}.", "What must I do to {a}?", "I am trying to {a}.",
    "I am trying to {a}, what must I type?",
    "How to {a}?", "What should I do to {a}?", "In plimsoll, how do I {a}?", "Is it possible to {a}?",
    "Is it possible to {a} in plimsoll?",
    "I do not know how to {a}.", "Do you know how to {a}?", "Could you show me how to {a}?", "Help me {a}.",
    "Could you help me {a}?",
]
WHICH_FLAG = [
    "Which flag do I need to {a}?", "What flag lets me {a}?", "Is there a flag to {a}?", "Which option lets me {a}?",
    "Which flag lets me {a}?",
    "What is the flag to {a}?", "Is there an option to {a}?", "What option do I need to {a}?",
    "Which flag should I use to {a}?", "Which option do I use to {a}?",
    "What flag is it to {a}?", "[Name|Tell me] the flag to {a}.", "I need the flag to {a}.",
    "Which option must I give to {a}?", "Tell me which flag I must give to {a}.",
]
# {n} is the number of an exit code.
EXIT_MEANS = [
    "What does exit code {n} mean?", "What is exit code {n}?",
    "plimsoll [exits|exited|ended] with {n}. [Why|What is that]?",
    "Exit [code|status] {n}?", "What does exit status {n} mean?",
    "Why does plimsoll exit with [code|] {n}?", "What does it mean when plimsoll exits with {n}?",
    "I got exit [code|status] {n} [from plimsoll|].", "My script got status {n} from plimsoll.",
    "My script got exit code {n}. Why?",
    "Explain exit [code|status] {n}.", "What does the status {n} tell me?", "It ended with [status|exit code] {n}.",
    "plimsoll returned {n}, why?", "plimsoll returned exit code {n}, what does it tell me?",
    "What does return code {n} mean?", "echo $? says {n}. What is that?", "[The|My] return code is {n}.",
    "Why [do I get|is there an] exit code {n}?", "Why is my return code {n}?",
]
# {s} is a situation.
EXIT_WHICH = [
    "Which exit code means {s}?", "What is the exit code for {s}?", "Which exit status stands for {s}?",
    "What exit code does plimsoll give for {s}?", "What exit code means {s}?",
    "[Tell me|I need] the exit code for {s}.", "How does my script see {s}?", "Which status means {s}?",
    "Which number stands for {s}?", "Which status does plimsoll give for {s}?",
]
# {x} is a cause.
WHY = [
    "Why does {x} [cause|lead to] OOM?", "Why is {x} a problem?", "What is wrong with {x}?",
    "What does {x} do to memory?",
    "Why is {x} wrong?",
    "Why is {x} bad for memory?", "How does {x} lead to OOM?", "Can {x} cause OOM?", "What is the problem with {x}?",
    "How does {x} cause OOM?",
    "What happens to memory with {x}?", "Why should I worry about {x}?", "Explain why {x} is a problem.",
    "Is {x} a problem?", "Explain what {x} does to memory.",
    "Is {x} bad?", "Why does memory run out with {x}?", "Tell me why {x} is bad.", "How bad is {x}?",
    "Tell me why {x} is bad for memory.",
]
FIX = [
    "How do I fix {x}?", "How can I [fix|avoid] {x}?", "What can I do about {x}?", "What helps against {x}?",
    "How do I avoid {x}?",
    "How do I get rid of {x}?", "What is the fix for {x}?", "I have {x}. How do I fix it?", "What do I do against {x}?",
    "What is the remedy for {x}?",
    "Is there a [fix|remedy] for {x}?", "How should I deal with {x}?", "What should I do about {x}?",
    "Tell me how to fix {x}.", "Tell me what to do about {x}.",
    "How to avoid {x}?", "I get {x}, what can I do?", "What is the best fix for {x}?", "Help me fix {x}.",
    "I get {x}, how can I avoid it?",
    "How do I solve {x}?", "Can I prevent {x}?", "How do I prevent {x}?", "What is the cure for {x}?",
    "How can I solve {x}?",
]
# {x} is an error message.
MEANS = [
    "Why do I get {x}?", "What causes {x}?", "What is the cause of {x}?", "What does {x} mean?",
    "What does {x} tell me?",
    "I get {x}. Why?", "The [log says|logs say] {x}.", "What is the meaning of {x}?",
    "My log [shows|says] {x}, what does it mean?",
    "Why does the log say {x}?",
    "I see {x} in the log.", "Explain {x}.", "How does {x} come about?", "Where does {x} come from?",
    "Where does {x} in the log come from?",
    "What happened if I see {x}?", "I do not understand {x}.", "Tell me the cause of {x}.", "What leads to {x}?",
    "Tell me what leads to {x}.",
]
# {s} a subject, {f} how it fails, {b} the same after "does", {c} the symptom.
SYMPTOM = [
    "{s} {f} {c}, why?", "Why does {s} {b} {c}?", "{s} {f} {c}.", "{s} {f} {c}. [What is wrong|How do I fix it]?",
    "{s} {f} {c}. Why does it?",
    "{s} {f} {c}, what can I do?", "What can I do if {s} {f} {c}?", "Why [would|could|should] {s} {b} {c}?",
    "Help me, {s} {f} {c}.", "Help me, {s} {f} {c}, what is wrong?",
    "[Can you|Please] explain why {s} {f} {c}.", "{s} {f} {c}. What is the cause?", "What is wrong if {s} {f} {c}?",
    "I see that {s} {f} {c}.", "What is the cause if {s} {f} {c}?",
    "I do not understand why {s} {f} {c}.", "Tell me what it means when {s} {f} {c}.",
    "{s} {f} {c}, [any idea|do you know] why?",
    "How do I fix it when {s} {f} {c}?", "Do you know what it means when {s} {f} {c}?",
    "What causes it that {s} {f} {c}?", "{s} always {f} {c}.", "What could be wrong when {s} {f} {c}?",
    "[Again|Today] {s} {f} {c}. What should I do?", "What should I do when {s} {f} {c}?",
]
SUBJECT = ["my agent", "my app", "our service", "the server", "my program", "the worker", "my script", "our bot",
           "the process", "my pipeline", "my chatbot", "it"]
FAILS = [("runs out of memory", "run out of memory"), ("dies with OOM", "die with OOM"), ("goes OOM", "go OOM"),
         ("crashes with OOM", "crash with OOM"), ("fails with an out-of-memory error",
          "fail with an out-of-memory error"),
         ("dies", "die"), ("fails", "fail"), ("crashes", "crash"), ("gets an OOM error", "get an OOM error"),
         ("hits OOM", "hit OOM")]
THEN_FIX = [
    "[And|] how do I fix [it|that]?", "What can I do about [it|that]?", "[And|] what helps against [it|that]?",
    "How [can|do] I avoid that?", "And how can I fix that?",
    "[And|] what is the fix?", "What should I do [then|]?", "[OK, and|And] the remedy?", "How do I prevent [it|that]?",
    "And what should I do about it?",
    "How do I solve [it|that]?", "Is there a fix?", "[So|And] what do I do?", "And how do I [get rid of|avoid] it?",
    "So how do I prevent that?",
]
THEN_WHY = [
    "Why?", "[And|] why does [it|that] happen?", "Why is that?", "[And|] what is the cause?", "And why is that?",
    "What causes [it|that]?", "Why does that help?", "How does it come to that?", "[But|] why is it a problem?",
    "But why does that happen?",
    "What is the reason?", "Can you explain why?", "Explain why.", "What is behind [it|that]?",
    "But what is the reason?",
]
OPEN = ["", "", "", "", "", "", "", "", "Hi, ", "Hello, ", "Hey, ", "Quick question: ", "A question: ", "Sorry, ",
        "One more thing: ", "OK, ", "Another question: ", "Good morning. ", "Please help: ", "So, ", "Hi there. ",
        "Well, "]
CLOSE = ["", "", "", "", "", "", "", "", "", "", " Thanks.", " Thank you.", " Please be brief.", " In short, please.",
         " I am new to this.", " Just curious."]
TOOLS = ["read", "write", "edit", "list", "search", "shell", "calculator", "recall", "artifact", "ask"]

# ---------------------------------------------------------------- topics, taken apart once


def _keys(text):
    groups = [group.strip().split("/") for group in text.split(" & ")]
    assert all(all(group) for group in groups), f"an empty key, which all answers have: {text}"
    return groups


def _parts(text):
    """Split at "|" outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


class Reply:
    def __init__(self, text, keys):
        self.text, self.keys = text, keys


def _names(text):
    """(name, is): a name with its verb."""
    return [(n[1:], "are") if n[0] == "*" else (n, "is") for n in text.split("|")]


_THINGS = [(i, _names(names), Reply(text, _keys(keys))) for i, names, text, keys in THINGS]
_DEEDS = [(i, [n for n in names.split("|") if n], actions.split("|"), Reply(text, _keys(keys)), i[0] == "-")
          for i, names, actions, text, keys in DEEDS]
_EXITS = [(n, Reply(text, _keys(keys) + [[f"code {n}"]]), situations.split("|")) for n, text, keys, situations in EXITS]
_QUESTIONS = [(i, Reply(text, _keys(keys)), asked) for i, text, keys, asked in QUESTIONS]
_DIAGNOSE = next(reply for i, reply, _ in _QUESTIONS if i == "diagnose")


class Cause:
    def __init__(self, name, names, why, why_keys, fix, fix_keys, symptoms):
        self.id, self.names = name, _names(names)
        self.why, self.fix = Reply(why, _keys(why_keys)), Reply(fix, _keys(fix_keys))
        self.both = Reply(why + " " + fix, self.why.keys[:1] + self.fix.keys)
        self.symptoms = _parts(symptoms) if symptoms else []


_CAUSES = [Cause(*c) for c in CAUSES]
_SYMPTOMATIC = [c for c in _CAUSES if c.symptoms]
_ERRORS = {"137", "cuda_oom", "memory_error", "too_long", "kv_failed", "gap"}
_NUMBERS = dict(few=(2, 12), n=(13, 999), big=(1000, 32000))

# ---------------------------------------------------------------- one question


def _values(w, text):
    return {k: w.number(*span) for k, span in _NUMBERS.items() if "{" + k + "}" in text}


def _capital(text):
    """Begin a sentence with a capital, where its first word is a plain one."""
    word = text.split(" ", 1)[0].strip(".,:?!")
    plain = word.isalpha() and word.islower() and word not in ("plimsoll", "lmdb", "rss", "psutil")
    return text[0].upper() + text[1:] if plain else text


def _dress(w, text):
    """Openers, closers, case and punctuation, as people type."""
    text = text.strip().replace("  ", " ")
    opener, closer = w.free(OPEN), w.free(CLOSE)
    if opener and not opener.endswith(". "):
        first = text.split(" ", 1)[0].strip(",")
        if first.isalpha() and first.istitle() and len(first) > 1 and first not in ("Ollama", "Python", "Peter"):
            text = text[0].lower() + text[1:]
    else:
        text = _capital(text)
    text = opener + text + closer
    style = w.between(0, 19)
    if style < 3 and text[-1] in ".?":
        text = text[:-1]
    elif style < 6:
        text = text.lower().rstrip(".?")
    elif style == 6:
        text = text.lower()
    elif style == 7 and text[-1] == "?":
        text += "?"
    elif style == 8 and text[-1] == ".":
        text = text[:-1] + "!"
    return text


def _named(w, patterns, names):
    x, verb = w.free(names)
    return w.say(w.pattern(patterns), x=x, **{"is": verb})


def _thing(w):
    _, names, reply = w.free(_THINGS)
    return _named(w, WHAT_IS, names), reply, None


def _deed(w):
    _, names, actions, reply, flag = w.free(_DEEDS)
    if names and w.chance(0.4):
        return w.say(w.pattern(WHAT_DOES), x=w.free(names)), reply, None
    patterns = WHICH_FLAG if flag and w.chance(0.4) else HOW
    return w.say(w.pattern(patterns), a=w.free(actions)), reply, None


def _exit(w):
    number, reply, situations = w.free(_EXITS)
    if w.chance(0.6):
        return w.say(w.pattern(EXIT_MEANS), n=number), reply, None
    return w.say(w.pattern(EXIT_WHICH), s=w.free(situations)), reply, None


def _question(w):
    _, reply, asked = w.free(_QUESTIONS)
    return w.say(w.pattern(asked)), reply, None


def _cause(w):
    """A cause by its name: what it is, why it hurts, how to fix it; and the other half for a follow-up."""
    c = w.free(_CAUSES)
    kind = w.between(0, 9)
    if kind < 3:
        return _named(w, WHAT_IS, c.names), c.why, (THEN_FIX, c.fix)
    if kind < 6:
        names = [n for n in c.names if n[1] == "is"] or c.names
        return _named(w, MEANS if c.id in _ERRORS else WHY, names), c.why, (THEN_FIX, c.fix)
    return _named(w, FIX, c.names), c.fix, (THEN_WHY, c.why)


def _symptom(w):
    if w.chance(0.06):  # nothing is said about when: then it must be found out
        f, b = w.free([pair for pair in FAILS if " " in pair[0]])
        return w.say(w.pattern(SYMPTOM).replace(" {c}", ""), s=w.free(SUBJECT), f=f, b=b), _DIAGNOSE, None
    c = w.free(_SYMPTOMATIC)
    symptom = w.pattern(c.symptoms)
    f, b = w.free(FAILS)
    text = w.pattern(SYMPTOM)
    follow = (THEN_FIX, c.fix) if w.chance(0.6) else (THEN_WHY, c.why)
    said = w.say(text.replace("{c}", symptom), s=w.free(SUBJECT), f=f, b=b, **_values(w, symptom))
    return said, c.both, follow


_KINDS = [_thing] * 30 + [_deed] * 26 + [_exit] * 5 + [_question] * 14 + [_cause] * 15 + [_symptom] * 18


def _exchange(w, most):
    """1 to `most` questions with their answers; also the last reply, for a check."""
    turns, want, reply = [], w.free([1, 1, 1, 2, 2, 3]), None
    want, said = min(want, most), set()
    while len(turns) < 2 * want:
        text, reply, follow = w.free(_KINDS)(w)
        topic = {reply.text} | ({follow[1].text} if follow else set())
        if topic & said:
            continue
        said |= topic
        turns += [{"user": _dress(w, text)}, {"assistant": reply.text}]
        if follow and len(turns) < 2 * most and w.chance(0.3):
            patterns, reply = follow
            turns += [{"user": _dress(w, w.say(w.pattern(patterns)))}, {"assistant": reply.text}]
    return turns, reply


def _dialogue(w):
    turns, reply = _exchange(w, 3)
    tools = w.sample(TOOLS, w.between(1, 6)) if w.chance(0.15) else []
    return {"role": None if w.chance(0.15) else "assistant", "tools": [t for t in TOOLS if t in tools],
            "summary": None, "turns": turns}, reply


# ---------------------------------------------------------------- the module's face


def dialogue(w):
    return _dialogue(w)[0]


def segment(w):
    return _exchange(w, 2)[0], []


def _facts(w):
    d, reply = _dialogue(w)
    d["check"] = {"kind": "contains", "all": reply.keys, "none": []}
    return d


CASES = {"field.facts": _facts}

# ---------------------------------------------------------------- its test


def _replies():
    for i, _, r in _THINGS:
        yield i, r
    for i, _, _, r, _ in _DEEDS:
        yield i, r
    for i, r, _ in _EXITS:
        yield "exit " + i, r
    for i, r, _ in _QUESTIONS:
        yield i, r
    for c in _CAUSES:
        yield c.id + ".why", c.why
        yield c.id + ".fix", c.fix
        yield c.id + ".both", c.both


def _check_facts():
    seen, texts = {}, {}
    for i, r in _replies():
        assert len(r.text.split()) <= 45, (i, len(r.text.split()))
        assert 1 <= len(r.keys) <= 3, i
        for group in r.keys:
            assert any(k.lower() in r.text.lower() for k in group), (i, group)
        assert r.text not in texts, (i, texts.get(r.text))
        texts[r.text] = i
    for i, r in _replies():  # a key set shall tell its answer from all others
        for text, j in texts.items():
            same = all(any(k.lower() in text.lower() for k in g) for g in r.keys)
            if same and i.split(".")[0] != j.split(".")[0]:
                print(f"note: the keys of {i} also pass for {j}")
    named = [(i, n) for i, names, _ in _THINGS for n, _ in names]
    named += [(i, n) for i, names, *_ in _DEEDS for n in names] + [(c.id, n) for c in _CAUSES for n, _ in c.names]
    for i, n in named:
        assert seen.setdefault(n.lower(), i) == i, f"{n}: both {seen[n.lower()]} and {i}"


def _words(text):
    return set("".join(c if c.isalnum() or c in "'_-{}" else " " for c in text.lower()).split())


def _check_patterns():
    """Every word of a held phrasing is shown in a training phrasing of the same list."""
    lists = {k: globals()[k] for k in ("WHAT_IS", "WHAT_DOES", "HOW", "WHICH_FLAG", "EXIT_MEANS", "EXIT_WHICH", "WHY",
                                       "FIX", "MEANS", "SYMPTOM", "THEN_FIX", "THEN_WHY")}
    lists.update({c.id: c.symptoms for c in _SYMPTOMATIC})
    lists.update({i: asked for i, _, asked in _QUESTIONS})
    bad = 0
    for name, items in lists.items():
        train = set().union(*(_words(x) for k, x in enumerate(items) if k % 5 != 4))
        new = set().union(*(_words(x) for k, x in enumerate(items) if k % 5 == 4)) - train
        if new:
            bad += 1
            print(f"note: {name}: held words not in training: {' '.join(sorted(new))}")
        if len(set(items)) != len(items):
            bad += 1
            print(f"note: {name}: the same phrasing twice")
    return bad


def _test():
    import time
    from dialogues.grammar import World
    _check_facts()
    assert _check_patterns() == 0
    for n in range(8):
        d = dialogue(World(n, "train"))
        print(f"--- role {d['role']}, tools {d['tools']}")
        for t in d["turns"]:
            for who, text in t.items():
                print(f"  {who:9} {text}")
    start = time.time()
    seen, total = set(), 2000
    for n in range(total):
        d = dialogue(World(n, "train"))
        assert d["role"] in ("assistant", None) and 2 <= len(d["turns"]) <= 6
        for k, t in enumerate(d["turns"]):
            (who, text), = t.items()
            assert who == ("assistant" if k % 2 else "user") and text and not set("{}[]") & set(text) - set("[]{}"), t
            if who == "user":
                assert not any(v in text for v in ("{x}", "{a}", "{n}", "{c}", "{s}", "{few}", "{big}", "{is}")), text
        seen.add(str(d["turns"]))
    took = time.time() - start
    assert len(seen) >= 0.95 * total, len(seen)
    cases = set()
    for n in range(300):
        d = _facts(World(n, "held"))
        last = d["turns"][-1]["assistant"].lower()
        assert all(any(k.lower() in last for k in g) for g in d["check"]["all"]), d
        turns, tools = segment(World(n, "train"))
        assert turns and tools == []
        cases.add(d["turns"][-2]["user"])
    train_users = {t["user"] for n in range(20000) for t in dialogue(World(n, "train"))["turns"] if "user" in t}
    both = len(cases & train_users)
    print(f"{len(_THINGS) + len(_DEEDS) + len(_EXITS) + len(_QUESTIONS) + len(_CAUSES)} topics, "
          f"{len(list(_replies()))} answers, {len(seen)} of {total} dialogues distinct, {total / took:.0f} a second, "
          f"{both} of {len(cases)} held questions also in training")


if __name__ == "__main__":
    _test()
