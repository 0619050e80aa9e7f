"""Summaries: writing the record of a conversation, merging it into an earlier one, and going on from one.

A conversation plants items (facts, decisions, tasks done, tasks open) among small talk and tool calls.  Each item has
one canonical line that follows from the user's words:

    fact      "The port is 8080."                  port: 8080            "My dog is called Rufo."  user's dog: Rufo
    decision  "Let's go with Lua for the parser."  use Lua for the parser
    done      "The invoice has been paid."         paid the invoice
    open      "Don't forget to call Viktor."       call Viktor

What the model says is fixed by the kind: "Noted." to a fact or to several kinds at once, "Understood." to a decision,
"Good." to a task done, "I will remember." to a task left open.
"""
import re

from . import grammar as g

# ---------------------------------------------------------------------------------------------------- phrasings

_TOKEN = re.compile(r"\{\w+\}|[A-Za-z']+")


def _words(line):
    return {t.lower() for t in _TOKEN.findall(line) if not t.startswith("{")}


def arrange(text):
    """The lines of a text, as a list for World.pattern, set out so that each word of a held line (index 4, 9, ...)
    occurs in a line of the training side too."""
    lines = [x.strip() for x in text.strip().splitlines() if x.strip()]
    assert len(lines) >= 5 and len(set(lines)) == len(lines), lines[0]
    wanted, held, n = len(lines) // 5, [], len(lines)
    for i in [(k * 5 + 4 + step) % n for step in range(5) for k in range((n + 4) // 5)]:
        if len(held) == wanted:
            break
        rest = set().union(*(_words(x) for j, x in enumerate(lines) if j != i and j not in held))
        shown = set().union(*(_words(x) for j, x in enumerate(lines) if j not in held and j != i))
        if i not in held and _words(lines[i]) <= rest and all(_words(lines[h]) <= shown for h in held):
            held.append(i)
    assert len(held) == wanted, "words of too many lines occur only there: " + lines[0]
    train, out = [x for j, x in enumerate(lines) if j not in held], []
    held = [lines[j] for j in sorted(held)]
    while train or held:
        out.append(held.pop(0) if len(out) % 5 == 4 and held else train.pop(0))
    return out


FACT = arrange("""
    {S} is {v}.
    {S} is {v}, [please remember|remember that|note that].
    [Please note|Note|Remember]: {s} is {v}.
    Note that {s} is {v}.
    For the record, {s} is {v}.
    [Please remember|Please note] that {s} is {v}.
    {S}: {v}.
    {S} = {v}.
    {v} is {s}.
    [You should know|You need to know] that {s} is {v}.
    [I can tell you|I should tell you] that {s} is {v}.
    As for {s}, it is {v}.
    About {s}: it is {v}.
    {S} will be {v}.
    {S} [shall|should] be {v}.
    {S} has to be {v}.
    {S}, [you should know|for the record], is {v}.
    It is {v}, {s}.
    I just [learned|heard] that {s} is {v}.
    I [checked|looked it up]: {s} is {v}.
    I looked up {s}, it is {v}.
    Here is {s}: {v}.
    Here is a fact: {s} is {v}.
    Write down that {s} is {v}.
    [Please write|Write] this down: {s} is {v}.
    Keep in mind that {s} is {v}.
    Keep in mind: {s} is {v}.
    We know that {s} is {v}.
    It turns out that {s} is {v}.
    [So you know|Just so you know], {s} is {v}.
    In case you need it, {s} is {v}.
    In case you want to know, {s} is {v}.
    If anyone asks, {s} is {v}.
    If you need {s}, it is {v}.
    {S} [is {v}, as I heard|is {v}, I checked].
    It should be noted that {s} is {v}.
    One fact: {s}, {v}.
    For {s} I have {v}.
    I have {v} [down for|as] {s}.
    I have {s} here: {v}.
    """)
FACT_THING = arrange("""
    [Our|The] {k} is {v}.
    Our {k} is {v}, [please note|remember that].
    [We have|There is] {ak} of {v}.
    We set the {k} to {v}.
    I set the {k} to {v}.
    The {k} was set to {v}.
    [They gave us|I got] {v} as the {k}.
    They told us the {k}: {v}.
    They told me that the {k} is {v}.
    [With|At] {v} the {k} is set.
    {v} was given as the {k}.
    The {k} given to us is {v}.
    The {k} we got is {v}.
    The {k} they told me was {v}.
    As the {k} we have {v}.
    """)
FACT_CALLED = arrange("""
    {S} is called {v}.
    {S} is named {v}.
    {S} has the name {v}.
    {S}'s name is {v}.
    The name of {s} is {v}.
    {o} {have} a {k} called {v}.
    {o} {have} a {k} named {v}.
    {o} {have} a {k}, {v}.
    {o} {have} a {k} and the name is {v}.
    {o} {have} a {k} with the name {v}.
    {v} is the name of {s}.
    {v} is {s}.
    {v} is what {s} is called.
    {S} is {v}.
    {S}, {v}, is here [today|again].
    {S} {v} is here [today|again].
    [Today|Again] I was out with {s} {v}.
    I was out with {s}, {v}, [again|today].
    We call {s} {v}.
    They call {s} {v}.
    [Note|Remember] that {s} is called {v}.
    [Please note|Please remember]: {s} is named {v}.
    Remember the name of {s}: {v}.
    {S} goes by {v}.
    {S} goes by the name {v}.
    """)
FACT_NAME = arrange("""
    My name is {v}.
    I am {v}.
    I'm {v}.
    [Please call|Call] me {v}.
    I am called {v}.
    I'm called {v}, [by the way|hello].
    They call me {v}.
    The name is {v}.
    You can call me {v}.
    {v} is my name.
    Hello, my name is {v}.
    Hello, I am {v}.
    Hi, I'm {v}.
    Hi, {v} here.
    [Hello|Hi], this is {v}.
    This is {v} here.
    I go by {v}.
    I go by the name {v}.
    You are talking to {v}.
    Hello, you are talking to {v}.
    """)
UPDATE = arrange("""
    {S} is now {v}.
    {S} is {v} now.
    Correction: {s} is {v}.
    A correction: {s} is {v}, not {old}.
    {S} is {v}, not {old}.
    {S} is not {old} but {v}.
    {S} is no longer {old} but {v}.
    {S} is no longer {old}, it is {v} now.
    {S} has changed to {v}.
    {S} changed from {old} to {v}.
    {S} has changed: it is now {v}.
    {S} went from {old} to {v}.
    There is a change: {s} is now {v}.
    A change: {s} is {v}.
    I was wrong, {s} is {v}.
    I was wrong about {s}: it is {v}.
    Sorry, {s} is {v}, not {old}.
    Sorry, I was wrong: {s} is {v}.
    Update: {s} is now {v}.
    An update: {s} is {v} now.
    Forget {old}, {s} is {v}.
    Forget what I said about {s}: it is {v}.
    I said {s} is {old}, but it is {v}.
    I said {old}, but {s} is {v}.
    Instead of {old}, {s} is now {v}.
    {S} is {v} instead of {old}.
    It is not {old} any more, {s} is {v}.
    {S} is not {old} any more but {v}.
    Please correct {s} to {v}.
    Please change {s} to {v}.
    """)
DECIDE = arrange("""
    We decided to {a}.
    We have decided to {a}.
    I decided to {a}.
    I have decided: we {a}.
    Let's {a}.
    [Good|All right|OK], let's {a}.
    Decision: {a}.
    The decision is to {a}.
    [Final decision|The final decision]: we {a}.
    We agreed to {a}.
    We have agreed to {a}.
    We all agreed: we {a}.
    It is agreed that we {a}.
    It is decided: we {a}.
    It is decided that we {a}.
    It is settled: we {a}.
    That is settled then: we {a}.
    So it is settled, we will {a}.
    We will {a}, that is decided.
    We will {a}, that is settled.
    We will {a}, we all agreed.
    After all we decided to {a}.
    After a long talk we agreed to {a}.
    After some talk it is decided: we {a}.
    In the end we decided to {a}.
    In the end we agreed that we {a}.
    We made up our minds: we {a}.
    I made up my mind: we {a}.
    We made a decision: we {a}.
    The team decided to {a}.
    The team agreed to {a}.
    Everyone agreed to {a}.
    Everyone agreed that we should {a}.
    The vote is in: we {a}.
    We voted to {a}.
    The team voted, we will {a}.
    [OK|Good], we {a}, decided.
    Agreed, we {a}.
    Settled: we {a}.
    Decided: we {a}.
    {P} and I decided to {a}.
    {P} and I agreed to {a}.
    Together with {P} we decided to {a}.
    """)
DECIDE_NOT = arrange("""
    We decided not to {a}.
    We have decided not to {a}.
    I decided not to {a}.
    Let's not {a}.
    OK, let's not {a}.
    Decision: do not {a}.
    The decision is not to {a}.
    We agreed not to {a}.
    It is agreed that we do not {a}.
    It is decided: we do not {a}.
    It is settled: we will not {a}.
    We will not {a}, that is decided.
    In the end we decided not to {a}.
    The team decided not to {a}.
    Everyone agreed not to {a}.
    """)
DECIDE_USE = arrange("""
    Let's go with {x} for {y}.
    OK, let's go with {x} for {y}.
    Let's take {x} for {y}.
    Let's use {x} for {y}.
    We go with {x} for {y}.
    We will go with {x} for {y}.
    We decided to go with {x} for {y}.
    We decided on {x} for {y}.
    We decided: {x} for {y}.
    For {y} we decided on {x}.
    For {y} we decided to use {x}.
    For {y} we will use {x}, that is decided.
    For {y} let's use {x}.
    For {y}, let's go with {x}.
    For {y} we chose {x}.
    We chose {x} for {y}.
    We have chosen {x} for {y}.
    {x} was chosen for {y}.
    We picked {x} for {y}.
    {x} was picked for {y}.
    For {y} we picked {x}.
    We settled on {x} for {y}.
    For {y} we have settled on {x}.
    It is settled: {x} for {y}.
    It is decided: for {y} we take {x}.
    {x} it is for {y}.
    {x} it is, for {y}.
    For {y} it is {x}, decided.
    We agreed on {x} for {y}.
    For {y} we agreed on {x}.
    We all agreed to use {x} for {y}.
    The choice for {y} is {x}.
    Our choice for {y} is {x}.
    The decision for {y} is {x}.
    We made a choice: {x} for {y}.
    """)
DONE = arrange("""
    I {past}.
    I just {past}.
    I {past} [today|this morning].
    I {past} [yesterday|last night].
    I have {pp}.
    I have just {pp}.
    I have already {pp}.
    I've {pp}.
    I've already {pp}.
    We {past}.
    We {past} [yesterday|today].
    We have {pp}.
    We have now {pp}.
    We've just {pp}.
    I finished {ing}.
    I have finished {ing}.
    I just finished {ing}.
    We finished {ing} [yesterday|this morning].
    I am done with {ing}.
    I'm done {ing}.
    We are done {ing}.
    We are through with {ing}.
    I got through with {ing} [today|last night].
    Done: {past}.
    Done: I {past}.
    {O} {is} {v3}.
    {O} {is} {v3} now.
    {O} {is} already {v3}.
    {O} {is} finally {v3}.
    {O} {has} been {v3}.
    {O} {has} just been {v3}.
    {O} {has} already been {v3}.
    {O} {was} {v3} [today|yesterday].
    {O} {was} {v3} last night.
    I got {o} {v3}.
    We finally got {o} {v3}.
    I finally {past}.
    We finally {past}.
    Finally done: I {past}.
    Good news: I {past}.
    Good news, {o} {is} {v3}.
    [Good news|Done]: we {past}.
    That is done: I {past}.
    It is done, I {past}.
    It is done, {o} {is} {v3}.
    I managed to {base}.
    We managed to {base} [today|yesterday].
    """)
DONE_FINISH = arrange("""
    {O} is done.
    {O} is finished.
    {O} is ready.
    {O} is ready now.
    {O} is complete.
    {O} is now complete.
    {O} is finally done.
    {O} is finally ready.
    {O} is done and ready.
    I finished {o}.
    I have finished {o}.
    I just finished {o}.
    I am done with {o}.
    We are done with {o}.
    We finished {o}.
    We have now finished {o}.
    Good news, {o} is finished.
    Good news: {o} is complete.
    Finally we finished {o}.
    Now {o} is done.
    """)
OPEN = arrange("""
    We still need to {base}.
    I still need to {base}.
    I still have to {base}.
    We still have to {base}.
    Someone still has to {base}.
    Someone needs to {base}.
    Somebody has to {base}.
    [Please don't|Don't] forget to {base}.
    We must not forget to {base}.
    I must not forget to {base}.
    Do not forget: {base}.
    [Please remind|Remind] me to {base}.
    Remind us to {base}.
    Remind me that I have to {base}.
    I must {base}.
    I must still {base}.
    We must {base}.
    I need to {base}.
    We need to {base}.
    I have to {base}.
    We have to {base}.
    To do: {base}.
    Still to do: {base}.
    Still open: {base}.
    It is still open to {base}.
    [On my list|On the list]: {base}.
    [Please put|Put] this on the list: {base}.
    Put on my list: {base}.
    Next on the list: {base}.
    One thing is left: {base}.
    One thing is left to do: {base}.
    What is left to do: {base}.
    What is still left: {base}.
    What remains is to {base}.
    One task remains: {base}.
    One task is open: {base}.
    A task for later: {base}.
    A task for the list: {base}.
    Later I have to {base}.
    Later we must {base}.
    Next I need to {base}.
    Next we have to {base}.
    It remains to {base}.
    I should not forget to {base}.
    I have yet to {base}.
    We have yet to {base}.
    """)
OPEN_OBJECT = arrange("""
    {O} still {needs} to be {v3}{when}.
    {O} {needs} to be {v3}{when}.
    {O} must be {v3}{when}.
    {O} must still be {v3}{when}.
    {O} {has} to be {v3}{when}.
    {O} still {has} to be {v3}{when}.
    {O} {has} yet to be {v3}{when}.
    To be {v3}{when}: {o}.
    Still to be {v3}{when}: {o}.
    We still need to have {o} {v3}{when}.
    I need to get {o} {v3}{when}.
    We must get {o} {v3}{when}.
    I still have to get {o} {v3}{when}.
    We have to get {o} {v3}{when}.
    """)
OPEN_NOT_YET = arrange("""
    {O} {is} not {v3} yet.
    {O} {is} not yet {v3}.
    {O} {has} not been {v3} yet.
    {O} still {is} not {v3}.
    Nobody has {pp} yet.
    We have not {pp} yet.
    I have not {pp} yet.
    I haven't {pp} yet.
    We haven't {pp} yet.
    So far nobody has {pp}.
    So far I have not {pp}.
    So far {o} {has} not been {v3}.
    I did not get to {ing} yet.
    We did not get to {ing} so far.
    """)

ASK_FACT = arrange("""
    What is {s}?
    What was {s}?
    What was {s} again?
    What's {s}?
    What's {s} again?
    [Please tell|Tell] me {s}.
    [Can|Could] you tell me {s}?
    Do you remember {s}?
    Do you still remember {s}?
    Do you know {s}?
    Do you still know what {s} is?
    Can you remember {s}?
    [I forgot|I have forgotten] {s}.
    I forgot {s}, what was it?
    I have forgotten what {s} is.
    [Please remind|Remind] me of {s}.
    Remind me what {s} is.
    Remind me what {s} was.
    I need {s}.
    I need {s} again.
    I need to know {s}.
    I want to know {s}.
    [Please give|Give] me {s}.
    Can you give me {s} again?
    {S}, please?
    {S}?
    And {s}?
    What did I say {s} was?
    What did I say about {s}?
    What did I tell you about {s}?
    What do you know about {s}?
    What do we have for {s}?
    Which one is {s}?
    Quick question: what is {s}?
    One question: what was {s}?
    What is the value of {s}?
    Look up {s}, please.
    Please look up what {s} is.
    """)
ASK_CALLED = arrange("""
    What is {s} called?
    What is the name of {s}?
    What was the name of {s}?
    What was {s} called again?
    What's the name of {s}?
    What's {s} called?
    How is {s} called?
    What is {s}'s name?
    What was {s}'s name again?
    Do you remember the name of {s}?
    Do you know the name of {s}?
    Do you remember what {s} is called?
    Do you know what {s} is called?
    Do you still know {s}'s name?
    Do you still remember what {s} is called?
    I forgot the name of {s}.
    I forgot what {s} is called.
    I forgot {s}'s name.
    [Please tell|Tell] me the name of {s}.
    Tell me what {s} is called.
    [Can|Could] you tell me {s}'s name?
    [Please remind|Remind] me of the name of {s}.
    Remind me what {s} is called.
    The name of {s}, please?
    And {s}'s name?
    """)
ASK_NAME = arrange("""
    What is my name?
    What's my name?
    What was my name again?
    Who am I?
    Do you know who I am?
    Do you know my name?
    Do you remember my name?
    Do you still remember who I am?
    Do you still know my name?
    Can you tell me my name?
    Can you say my name?
    Say my name.
    Tell me my name.
    Please tell me who I am.
    What am I called?
    How am I called?
    What did I say my name was?
    What did I say I am called?
    """)
ASK_DECISIONS = arrange("""
    What did we decide?
    What have we decided?
    What was decided?
    What has been decided?
    What did we agree on?
    What have we agreed on?
    What was agreed?
    What did we settle on?
    What have we decided so far?
    What did we decide so far?
    Which decisions did we take?
    Which decisions have we made?
    Which decisions have been made so far?
    What are our decisions?
    What are the decisions so far?
    What is decided?
    What is settled?
    What is agreed so far?
    [Please list|List] the decisions.
    List what we decided.
    List our decisions so far.
    [Please tell|Tell] me what we decided.
    Tell me the decisions.
    Tell me what was decided.
    Remind me what we decided.
    Remind me of our decisions.
    Can you list what was decided?
    Can you tell me what we agreed on?
    Do you remember what we decided?
    Do you know what was agreed?
    And the decisions?
    And what did we decide?
    """)
ASK_DECISION = arrange("""
    What did we decide about {y}?
    What have we decided about {y}?
    What was decided about {y}?
    What has been decided about {y}?
    What did we decide for {y}?
    What was decided for {y}?
    What did we agree on for {y}?
    What was agreed about {y}?
    What have we agreed about {y}?
    What is the decision about {y}?
    What is our decision on {y}?
    What was our decision about {y}?
    What is the plan for {y}?
    What was the plan for {y} again?
    What was the decision on {y} again?
    About {y}, what did we decide?
    About {y}: what was the decision?
    And {y}? What did we decide?
    And {y}, what was agreed?
    What about {y}, what was decided?
    What about {y}, what is the plan?
    Tell me what we decided about {y}.
    Tell me the decision about {y}.
    Remind me what we decided about {y}.
    Remind me what the plan for {y} is.
    Do you remember what we decided about {y}?
    Do you remember our decision on {y}?
    Do you know what was decided about {y}?
    I forgot what we decided about {y}.
    I forgot the plan for {y}.
    """)
ASK_USE = arrange("""
    What do we use for {y}?
    What will we use for {y}?
    What are we going to use for {y}?
    What did we choose for {y}?
    What have we chosen for {y}?
    What was chosen for {y}?
    What did we pick for {y}?
    What was picked for {y}?
    What did we go with for {y}?
    What are we going with for {y}?
    What do we take for {y}?
    What did we settle on for {y}?
    What have we settled on for {y}?
    For {y}, what do we use?
    For {y}, what did we choose?
    Which one did we pick for {y}?
    Which one do we use for {y}?
    """)
ASK_OPEN = arrange("""
    What is still open?
    What's still open?
    What is open?
    What is left to do?
    What's left to do?
    What is still left?
    What is left?
    What is still to do?
    What remains to be done?
    What remains open?
    What still needs to be done?
    What do we still need to do?
    What do we still have to do?
    What do I still have to do?
    What do I need to do?
    What else do we need to do?
    What else is open?
    What have I still got to do?
    Which tasks are open?
    Which tasks are still open?
    Which tasks are left?
    Which tasks remain?
    What are the open tasks?
    What is not done yet?
    What have we not done yet?
    Is anything still open?
    Is anything left to do?
    Is there anything left?
    Is there anything open?
    [Please list|List] the open tasks.
    List what is still open.
    List what is left to do.
    [Please tell|Tell] me what is open.
    Tell me what I still need to do.
    Remind me what is left to do.
    Remind me of the open tasks.
    Do you remember what is still open?
    What is on the list?
    What is still on my list?
    What is on my list of open tasks?
    """)
ASK_DONE = arrange("""
    What is done?
    What is already done?
    What is done so far?
    What have we done?
    What have we done so far?
    What have I done already?
    What has been done?
    What has been done so far?
    What have we finished?
    What is finished?
    What did we finish?
    What did I finish so far?
    What did we get done?
    What did I already get done?
    Which tasks are done?
    Which tasks are finished?
    Which tasks have been done already?
    List what is done.
    [Please list|List] the finished tasks.
    List the tasks that are done.
    [Please tell|Tell] me what is done.
    Tell me what we have finished.
    Remind me what is already done.
    Remind me what we have done.
    Do you remember what is done?
    Can you tell me what is finished?
    """)
ASK_TASK = arrange("""
    Did I {base}?
    Did I already {base}?
    Did we {base}?
    Did we already {base}?
    Have I {pp}?
    Have I {pp} yet?
    Have I already {pp}?
    Have we {pp}?
    Have we {pp} yet?
    Have we already {pp}?
    {Is} {o} {v3}?
    {Is} {o} {v3} yet?
    {Is} {o} already {v3}?
    {Has} {o} been {v3}?
    {Has} {o} been {v3} yet?
    {Has} {o} already been {v3}?
    Do I still have to {base}?
    Do I still need to {base}?
    Do we still have to {base}?
    Do we still need to {base}?
    {Does} {o} still need to be {v3}?
    {Does} {o} still have to be {v3}?
    Do you know if I {past}?
    Do you know if we {past}?
    Do you know if {o} {is} {v3}?
    Do you remember if {o} {has} been {v3}?
    Do you remember if I {past} already?
    """)

# ---------------------------------------------------------------------------------------------------- small talk

# what the user says, and what the model answers to it
CHAT = [
    (4, "Hello! How can I help?", arrange("""
        Hello.
        Hello!
        Hi.
        Hi there.
        Hello there.
        Hi again.
        Hello again.
        Hello, me again.
        Hi, it is me again.
        Hello, it is me.
        """)),
    (4, "You are welcome.", arrange("""
        Thanks.
        Thank you.
        Thank you very much.
        Thanks a lot.
        Thanks, that helps.
        Thank you, that helps a lot.
        Many thanks.
        Great, thanks.
        Great, thank you.
        Thanks, very kind.
        Many thanks, that is very kind.
        """)),
    (3, "I am well, thank you. How can I help?", arrange("""
        How are you?
        How are you today?
        How are you doing?
        How is it going?
        How do you do?
        And how are you?
        Hey, how are you?
        Hey, how is it going today?
        How are you doing today?
        And how is it going?
        """)),
    (3, "Yes, I am here.", arrange("""
        Are you there?
        Are you still there?
        Are you here?
        Are you still with me?
        Are you listening?
        Are you still listening?
        You there?
        Can you hear me?
        Are you here with me?
        """)),
    (3, "Take your time.", arrange("""
        [Wait|Hold on] a moment.
        One moment.
        One moment, please.
        Let me think.
        Let me think about it.
        Let me see.
        Give me a moment.
        Please give me a minute.
        Just a minute.
        Just a moment, let me see.
        Hold on, I am thinking.
        I have to think about it for a moment.
        I am thinking about it.
        Wait, let me look.
        I will be back in a minute.
        I will be back in {n} minutes.
        """)),
    (22, "I see.", arrange("""
        It [is raining|rains] again in {place}.
        The weather in {place} is [nice|bad|cold] today.
        It is so [hot|cold] today.
        It is a [nice|long|hot] day.
        What a [long|nice|cold] day.
        The bus was late again.
        The train to {place} was {n} minutes late.
        The train was late and the bus too.
        I waited {n} minutes for the bus.
        I waited in the rain for {n} minutes.
        I slept [badly|well] last night.
        I slept {n} hours, that was nice.
        I am a bit tired today.
        I am so tired, I slept badly.
        My head hurts a bit.
        My coffee is cold again.
        The coffee here is [bad|nice].
        I had a nice {drink} this morning.
        There was {food} at lunch today.
        Lunch was {food} again.
        I had {food} for lunch, it was nice.
        We had {food} and {drink} last night.
        I love the smell of {food}.
        Nothing beats {food} on a cold day.
        {P} says hello.
        {P} was here and says hello.
        {P} told a joke about a {animal}, I had to laugh.
        I saw a {animal} in the street this morning.
        There was a {animal} on the street in {place}.
        A {animal} slept on the street, so nice.
        {P} is late again.
        {P} is a bit tired today.
        {P} and I talked about {hobby} for {n} minutes.
        I talked with {P} about the weather.
        {P} talked about {hobby} all day.
        I saw {P} at the bus this morning.
        I saw a film about {hobby} last night.
        The film last night was so long.
        There was a film about {place} last night.
        The neighbours are loud again.
        The street is so loud today.
        People here talk all day.
        It is loud here, people laugh all day.
        I had to laugh about a film with a {animal}.
        Time flies.
        So much to think about, time flies.
        I like mornings.
        I like the rain.
        I like how the street looks in the rain.
        {place} looks nice in the morning.
        I read about {place} this morning.
        I read {n} pages about {hobby} last night.
        {n} people were on the bus today.
        There were {n} people at lunch.
        """)),
    (8, "That is not decided yet.", arrange("""
        Maybe we could {a} one day.
        Maybe we should {a}.
        Maybe we should {a}, I am not sure.
        Perhaps we could {a}.
        Perhaps we should {a} one day.
        We could {a}, maybe.
        We could perhaps {a}.
        I wonder if we should {a}.
        I wonder whether we could {a}.
        I am not sure whether to {a}.
        I am not sure if we should {a}.
        {P} thinks we could {a}.
        {P} thinks we should {a}, but I am not sure.
        {P} would like to {a}, but nothing is decided.
        One day I would like to {a}, but nothing is decided.
        One idea would be to {a}.
        {P} has an idea: we could {a}.
        An idea: perhaps {a}?
        """)),
    (6, "That is for you to decide.", arrange("""
        Should we {a}?
        Should I {a}?
        Shall we {a}?
        What do you think, should we {a}?
        Do you think we should {a}?
        Do you think it is good to {a}?
        Is it a good idea to {a}?
        Would it be a good idea to {a}?
        Would you {a}?
        What would you say, should we {a}?
        What do you say, shall we {a}?
        Would it be good to {a}?
        """)),
]
_CHAT_BAG = [(reply, lines) for weight, reply, lines in CHAT for _ in range(weight)]
PAD = CHAT[5][2]
LEAD = ("By the way, |Also, |And |Oh, |One more thing: |OK, |Well, |So, |Right, |Next: |Now: |Another thing: |"
        "Before I forget it: |Good. |Great. |Now to something else. |Where was I? |").split("|")

ASK_WRITE = arrange("""
    [Please write|Write] "{t}" to {f}.
    Write "{t}" into {f}.
    [Please put|Put] "{t}" into {f}.
    Put "{t}" in {f}, please.
    [Please save|Save] "{t}" in {f}.
    Save "{t}" as {f}.
    Save this as {f}: {t}
    Write this to {f}: {t}
    Write a file {f} with "{t}".
    Make a file {f} with the text "{t}".
    Please make {f} with the text "{t}".
    Create {f} with "{t}" in it.
    Create a file {f} with the text "{t}".
    [Could|Can] you write "{t}" to {f}?
    Can you save "{t}" in {f}?
    Could you create {f} with "{t}"?
    I want "{t}" in a file {f}.
    I want {f} to hold "{t}".
    The file {f} shall hold "{t}", please write it.
    Please write {f}, it shall hold "{t}".
    """)
ASK_EDIT = arrange("""
    [Please replace|Replace] "{t}" with "{u}" in {f}.
    In {f}, replace "{t}" with "{u}".
    In {f}, replace "{t}" by "{u}", please.
    [Please change|Change] "{t}" to "{u}" in {f}.
    In {f}, change "{t}" to "{u}".
    In the file {f}, please change "{t}" to "{u}".
    Replace "{t}" by "{u}" in the file {f}.
    Can you replace "{t}" with "{u}" in {f}?
    Can you change "{t}" into "{u}" in {f}?
    In {f}, turn "{t}" into "{u}".
    Please turn "{t}" into "{u}" in the file {f}.
    """)
ASK_READ = arrange("""
    What does {f} say?
    What is in {f}?
    [Please read|Read] {f}.
    Read the file {f}.
    [Please show|Show] me {f}.
    Show me what is in {f}.
    Can you read {f}?
    Can you show me the file {f}?
    What does the file {f} say?
    Please read {f} to me.
    """)
ASK_LIST = arrange("""
    What is in the folder {f}?
    What files are in {f}?
    [Please list|List] the folder {f}.
    List the files in {f}.
    [Please show|Show] me the folder {f}.
    Which files are in the folder {f}?
    Which files does {f} hold?
    What does the folder {f} hold?
    Show me the files in {f}.
    Please list what {f} holds.
    What files does the folder {f} hold?
    """)
ASK_SUM = arrange("""
    What is {x}?
    What's {x}?
    How much is {x}?
    [Please compute|Compute] {x}.
    Calculate {x}.
    Please calculate {x} for me.
    Can you compute {x}?
    Can you calculate {x}, please?
    Compute {x} for me.
    How much is {x}, please?
    """)

# ---------------------------------------------------------------------------------------------------- values

UNITS = dict(money=(20, 9000, "{} euros"), mb=(16, 4000, "{} MB"), cm=(20, 400, "{} cm"), m=(13, 900, "{} m"),
             km=(13, 2000, "{} km"), kg=(13, 500, "{} kg"), sec=(5, 300, "{} seconds"), mins=(13, 240, "{} minutes"),
             deg=(13, 99, "{} degrees"), kmh=(20, 300, "{} km/h"), guests=(13, 400, "{}"), port=(80, 65000, "{}"),
             room=(13, 999, "{}"), id=(1000, 99999, "{}"), age=(14, 95, "{}"), small=(2, 60, "{}"), shoe=(30, 48, "{}"),
             percent=(13, 99, "{} percent"), phone=(10000, 999999, "{}"))
LISTS = dict(colour=g.COLOURS, food=g.FOODS, drink=g.DRINKS, animal=g.ANIMALS, hobby=g.HOBBIES, job=g.JOBS,
             language=g.LANGUAGES, weekday=g.WEEKDAYS)
_HALVES = {}


def half(w, items):
    """World.slot for long lists: the split is worked out once."""
    key = (id(items), w.side)
    if key not in _HALVES:
        held = w.side == "held"
        _HALVES[key] = [x for x in items if g.is_held(x if isinstance(x, str) else x[0]) == held] or list(items)
    return w.rng.choice(_HALVES[key])


def value(w, kind):
    if kind in UNITS:
        lo, hi, form = UNITS[kind]
        return form.format(w.number(lo, hi))
    if kind in LISTS:
        return half(w, LISTS[kind])
    if kind == "version":
        return w._open(lambda: f"{w.between(0, 12)}.{w.between(0, 30)}")
    if kind == "seat":
        return w._open(lambda: f"{w.between(1, 60)}{w.free('ABCDEF')}")
    return getattr(w, kind)()


THINGS = [tuple(x.split("/")) for x in (
    "port/port|budget/money|deadline/date|version/version|price/money|password/code|meeting time/time|"
    "meeting place/place|server name/word|room number/room|number of guests/guests|order number/id|ticket number/id|"
    "gate/room|platform/small|team lead/person|supplier/project|customer/person|memory limit/mb|cache size/mb|"
    "batch size/guests|thread count/small|error code/id|logo colour/colour|wall colour/colour|opening time/time|"
    "closing time/time|rent/money|depth/m|length/cm|width/cm|weight/kg|temperature/deg|speed/kmh|distance/km|"
    "invoice number/id|serial number/code|booking code/code|flight number/code|project name/project|ship name/project|"
    "timeout/sec|access code/code|main file/filename|log file/filename|branch/word|host/word|delivery date/date|"
    "launch date/date|start date/date|entry fee/money|discount/percent|cooking time/mins|meeting day/weekday|"
    "departure time/time|arrival time/time|contact person/person|printer name/word|output folder/folder|"
    "hotel name/project|table number/room|bus line/room|zip code/id|team size/guests|code name/project").split("|")]
_NOUNS = ("parser server kitchen workshop cache printer website shop boat lab garden warehouse concert stage "
          "bakery library cellar roof engine camera market museum bridge tower pool ferry studio tent").split()
_ATTRS = [("budget", "money"), ("deadline", "date"), ("limit", "guests"), ("timeout", "sec"), ("price", "money"),
          ("password", "code"), ("colour", "colour"), ("version", "version"), ("code", "code"), ("width", "cm"),
          ("number", "id"), ("key", "code"), ("phone number", "phone"), ("manager", "person"), ("height", "m")]
COMPOUNDS = [(n + " " + a, v) for n in _NOUNS for a, v in _ATTRS]

CALLED = ("dog cat horse rabbit parrot hamster turtle goat pony canary brother sister son daughter boss neighbour "
          "teacher doctor nephew niece cousin friend boat baby tutor").split()
PERSONAL = [("home town", "place"), ("job", "job"), ("age", "age"), ("birthday", "date"),
            ("favourite colour", "colour"),
            ("favourite food", "food"), ("favourite drink", "drink"), ("favourite animal", "animal"),
            ("hobby", "hobby"), ("phone number", "phone"), ("room number", "room"), ("desk number", "room"),
            ("shoe size", "shoe"), ("locker code", "code"), ("flight number", "code"), ("seat", "seat"),
            ("bus line", "room"), ("favourite language", "language"), ("start time", "time"), ("badge number", "id"),
            ("day off", "weekday"), ("car colour", "colour"), ("train time", "time"), ("lucky number", "small")]

SPECIAL = {k: arrange(t) for k, t in {
    "home town": """
        {o} live{e} in {v}.
        {o} now live{e} in {v}.
        {v} is where {o} live{e}.
        {o} {be} at home in {v}.
        {v} is home for {m}.
        The home of {m} is in {v}.
        The town where {o} live{e} is {v}.
        {o} {be} living in {v}.
        {o} {be} living in {v} now.
        {o} {be} now at home in {v}.""",
    "job": """
        {o} work{e} as a {v}.
        {o} {be} a {v}.
        {o} {be} a {v} by trade.
        By trade {o} {be} a {v}.
        {o} earn{e} a living as a {v}.
        {o} {have} a job as a {v}.
        {o} {be} working as a {v}.
        {o} work{e} as a {v} now.
        {o} {be} now working as a {v}.""",
    "age": """
        {o} {be} {v} years old.
        {o} {be} {v}.
        {o} {be} now {v} years old.
        {o} turned {v}.
        {o} just turned {v}.
        {o} {be} {v} years of age.
        At {v} years {o} {be} not old.
        {o} {be} aged {v}.
        {o} {be} just {v} years old.""",
    "birthday": """
        {o} {was} born on {v}.
        {o} turn{e} a year older on {v}.
        {o} {have} a birthday on {v}.
        The birthday of {m} is on {v}.
        {v} is when {o} {was} born.
        On {v} {o} {have} a birthday.
        On {v} {o} {was} born.
        On {v} {o} turn{e} a year older.
        The birthday of {m} is {v}.""",
    "hobby": """
        {o} spend{e} all free time on {v}.
        {o} do{es} {v} in the free time.
        {o} do{es} {v} as a hobby.
        {o} {have} a hobby, {v}.
        {o} {have} taken up {v}.
        {o} {have} taken up {v} as a hobby.
        All free time of {m} goes to {v}.
        In the free time {o} do{es} {v}.
        As a hobby {o} do{es} {v}.""",
    "budget": """
        We can spend {v}.
        We can spend {v} in all.
        We have {v} to spend.
        We have a budget of {v}.
        There is {v} to spend.
        We may spend {v}.
        In all we may spend {v}.
        In all there is a budget of {v}.
        We have {v} to spend in all.""",
    "deadline": """
        It must be ready by {v}.
        Everything must be ready by {v}.
        It has to be finished by {v}.
        Everything has to be finished by {v}.
        The deadline falls on {v}.
        The deadline is on {v}.
        We have a deadline on {v}.
        It is due on {v}.
        Everything is due on {v}.
        Everything has to be ready by {v}.""",
    "meeting time": """
        We meet at {v}.
        We will meet at {v}.
        The meeting is at {v}.
        The meeting starts at {v}.
        The meeting will start at {v}.
        The time of the meeting is {v}.
        The meeting will be at {v}.
        We will start the meeting at {v}.
        The start of the meeting is at {v}.""",
    "meeting place": """
        We meet in {v}.
        We will meet in {v}.
        The meeting is in {v}.
        The meeting will be in {v}.
        The meeting takes place in {v}.
        The place where we meet is {v}.
        The place of the meeting is {v}.
        The meeting will take place in {v}.
        We will have the meeting in {v}.""",
    "port": """
        The server listens on port {v}.
        The server listens on {v}.
        The server is on port {v}.
        It listens on port {v}.
        The server runs on port {v}.
        It runs on port {v}.
        The server uses port {v}.
        We use port {v} for the server.
        We run the server on port {v}.
        It uses port {v}.""",
    "price": """
        It costs {v}.
        It will cost {v}.
        The thing costs {v}.
        They ask {v} for it.
        They want {v} for it.
        They sell it for {v}.
        We have to pay {v} for it.
        We pay {v} for it.
        They want {v} for the thing.
        They ask {v} for the thing.""",
    "number of guests": """
        {v} guests will come.
        There will be {v} guests.
        We expect {v} guests.
        We have {v} guests.
        {v} guests are coming.
        We are expecting {v} guests.
        {v} guests are expected.
        There are {v} guests coming.
        We will have {v} guests.""",
    "distance": """
        It is {v} away.
        The way is {v} long.
        It is {v} from here.
        It is {v} to go.
        The road is {v} long.
        It is {v} by road.
        By road it is {v} from here.
        The way from here is {v}.
        The way is {v}.""",
    "project name": """
        The project is called {v}.
        The project is named {v}.
        We call the project {v}.
        The name of the project is {v}.
        We named the project {v}.
        The project has the name {v}.
        The project goes by the name {v}.
        We called the project {v}.
        {v} is the name of the project.""",
    "team lead": """
        {v} leads the team.
        {v} is the lead of the team.
        {v} is in charge of the team.
        The team is led by {v}.
        The team lead is {v}.
        {v} is leading the team.
        The one in charge of the team is {v}.
        The one leading the team is {v}.""",
}.items()}
QUESTION = {k: arrange(t) for k, t in {
    "home town": """
        Where {do} {o} live?
        Where {be} {o} living?
        Where {be} {o} at home?
        In which town {do} {o} live?
        Do you know where {o} live{e}?
        Tell me where {o} live{e}.
        Which town {do} {o} live in?
        Do you remember where {o} live{e}?
        Which town {be} {o} living in?
        Tell me which town {o} live{e} in.""",
    "job": """
        What {do} {o} work as?
        What {do} {o} do for a living?
        What {be} {o} by trade?
        What is the job of {m}?
        Do you know what {o} work{e} as?
        Which job {do} {o} have?
        What job {do} {o} have?
        Do you know what job {o} {have}?
        Do you know the job of {m}?""",
    "age": """
        How old {be} {o}?
        How old {be} {o} now?
        How many years old {be} {o}?
        Do you know how old {o} {be}?
        Tell me how old {o} {be}.
        What age {be} {o}?
        Which age {be} {o}?
        Do you know what age {o} {be}?""",
    "birthday": """
        When is the birthday of {m}?
        When {was} {o} born?
        On which day {was} {o} born?
        When {do} {o} have a birthday?
        Do you know when {o} {was} born?
        Do you know the birthday of {m}?
        On which day is the birthday of {m}?
        Tell me when {o} {was} born.
        Tell me the birthday of {m}.""",
    "budget": """
        How much can we spend?
        How much may we spend?
        How much money can we spend?
        How much money do we have?
        What can we spend?
        How much do we have to spend?
        What budget do we have?
        How much is the budget?
        What may we spend?""",
    "deadline": """
        When is the deadline?
        When must it be ready?
        When does it have to be ready?
        By when must it be finished?
        By when does it have to be finished?
        When is it due?
        By when is it due?
        When must it be finished?
        By when must it be ready?""",
    "meeting time": """
        When do we meet?
        At what time do we meet?
        When is the meeting?
        At what time is the meeting?
        What time is the meeting?
        What time do we meet?
        When does the meeting start?
        At what time does the meeting start?
        What time does the meeting start?""",
    "meeting place": """
        Where do we meet?
        Where is the meeting?
        Where will we meet?
        Where does the meeting take place?
        In which place do we meet?
        In which place is the meeting?
        Where will the meeting be?
        Where will the meeting take place?
        In which place will we meet?""",
    "port": """
        Which port is it?
        Which port does the server use?
        On which port does the server listen?
        What port is the server on?
        Which port do we use?
        What port do we use?
        What port does the server listen on?
        On which port is the server?
        What port is it?""",
    "number of guests": """
        How many guests will come?
        How many guests do we expect?
        How many guests are there?
        How many guests are coming?
        How many guests will there be?
        How many guests do we have?
        How many guests will we have?
        How many will come?
        How many are coming?""",
}.items()}

FILE, PERSON = "file", "person"
DOCS = ("invoice contract report letter form offer poster manual schedule survey list agenda newsletter brochure map "
        "menu certificate permit application drawing chapter speech plan review leaflet logbook catalogue "
        "proposal").split()
SYSTEMS = ("parser login page cache server search importer printer script database website test suite installer index "
           "build router scanner heater pump lamp door lift bike engine fence window sink clock radio camera "
           "projector").replace("login page", "login_page").replace("test suite", "test_suite").split()
SYSTEMS = [x.replace("_", " ") for x in SYSTEMS]
ROOMS = "kitchen garage cellar attic bathroom hall office balcony stable shed studio classroom lab workshop".split()
BILLS = ("rent|electricity bill|phone bill|water bill|deposit|fine|fee|tax|insurance|hotel bill|invoice|"
         "ticket").split("|")
ANIMALS = [x for x in g.ANIMALS if x[0] not in "aeiou"]
GOODS = ("chairs lamps bolts envelopes tables bricks plates cables batteries filters boxes bottles pencils towels "
         "tiles tickets stamps candles screws helmets").split()

# base, past, participle, -ing, what it takes
VERBS = [tuple(x.split()) for x in """
    call called called calling person
    email emailed emailed emailing person
    invite invited invited inviting person
    thank thanked thanked thanking person
    visit visited visited visiting person
    ask asked asked asking person
    meet met met meeting person
    pay paid paid paying bill
    sign signed signed signing doc
    send sent sent sending doc
    print printed printed printing doc
    check checked checked checking doc
    translate translated translated translating doc
    finish finished finished finishing doc
    copy copied copied copying doc
    scan scanned scanned scanning doc
    fix fixed fixed fixing system
    test tested tested testing system
    update updated updated updating system
    repair repaired repaired repairing system
    install installed installed installing system
    replace replaced replaced replacing system
    move moved moved moving system
    clean cleaned cleaned cleaning room
    paint painted painted painting room
    sweep swept swept sweeping room
    measure measured measured measuring room
    book booked booked booking trip
    cancel cancelled cancelled cancelling trip
    order ordered ordered ordering goods
    buy bought bought buying goods
    sell sold sold selling goods
    pack packed packed packing goods
    count counted counted counting goods
    return returned returned returning goods
    write wrote written writing file
    read read read reading file
    delete deleted deleted deleting file
    rename renamed renamed renaming file
    upload uploaded uploaded uploading file
    review reviewed reviewed reviewing file
    feed fed fed feeding animal
    wash washed washed washing animal
    build built built building made
    take took taken taking photo
""".strip().splitlines()]


def make_object(w, kind):
    """An object and whether it is plural."""
    if kind == "person":
        return w.person(), False
    if kind == "bill":
        return "the " + half(w, BILLS) + (" for " + w.free([w.place, w.project])() if w.chance(0.3) else ""), False
    if kind == "doc":
        noun = "the " + half(w, DOCS)
        return noun + (" for " + w.free([w.person, w.project])() if w.chance(0.4) else ""), False
    if kind == "system":
        return "the " + half(w, SYSTEMS) + (" in " + w.place() if w.chance(0.2) else ""), False
    if kind == "room":
        return "the " + half(w, ROOMS), False
    if kind == "trip":
        return "the " + w.free(["hotel in", "train to", "flight to", "bus to", "room in"]) + " " + w.place(), False
    if kind == "goods":
        return f"the {w.number(2, 90)} {half(w, GOODS)}", True
    if kind == "file":
        return w.path() if w.chance(0.3) else w.filename(), False
    if kind == "animal":
        return w.person() + "'s " + half(w, g.ANIMALS), False
    if kind == "made":
        return "the model of " + w.project(), False
    return "the photos of " + w.place(), True


TASKS_TO = arrange("""
    use {x} for {y}
    move {y} to {weekday}
    move {y} to {place}
    start {y} on {date}
    start with {y} at {time}
    delay {y} until {date}
    delay {y} until {weekday}
    rewrite {y} in {language}
    write {y} in {language}
    paint {y} {colour}
    make {y} {colour}
    keep {y}
    keep {y} in {place}
    drop {y}
    drop {y} from version {version}
    buy {y} from {project}
    buy {y} in {place}
    sell {y} for {money}
    sell {y} to {P}
    give {y} to {P}
    leave {y} to {P}
    split {y} into {small} parts
    call {y} {project}
    limit {y} to {mb}
    limit {y} to {money}
    hold {y} in {place}
    hold {y} at {time}
    end {y} on {date}
    end {y} at {time}
    stop {y} on {date}
    store {y} in {folder}
    keep {y} in {folder}
    build {y} with {P}
    share {y} with {P}
    hire {P} for {y}
    ask {P} about {y}
    test {y} for {small} weeks
    rent {y} for {money}
    open {y} on {weekday}
    open {y} at {time}
    close {y} on {weekday}
    close {y} at {time}
    """)
TOPICS = ["the " + s for s in (
    "meeting|parser|launch|party|kitchen|server|logo|website|trip|concert|fence|shop|boat|course|database|garden|cover|"
    "sale|workshop|cache|menu|tool|test run|main script|banner|market stall|front door|reading group|wedding|ferry|"
    "office|old printer|new engine|picnic|archive|training|survey|newsletter|log server|index|auction|exhibition|"
    "tournament|balcony|app").split("|")]
WHEN = ["", "", "", "", " on {d}", " on {d}", " by {d}", " before {d}", " by {date}", " on {date}", " tomorrow",
        " next week", " at {time}"]


# ---------------------------------------------------------------------------------------------------- items

def cap(s):
    return s[:1].upper() + s[1:]


class Fact:
    __slots__ = ("own", "k", "kind", "v", "key")

    def __init__(self, own, k, kind, v):
        self.own, self.k, self.kind, self.v = own, k, kind, v
        self.key = k if own is None else (own + "'s " + k)

    def line(self):
        return self.key + ": " + self.v

    def subject(self):
        return "the " + self.k if self.own is None else "my " + self.k if self.own == "user" else self.key

    def answer(self):
        who = "The " + self.k if self.own is None else "Your " + self.k if self.own == "user" else self.key
        return who + (" is called " if self.kind == "called" else " is ") + self.v + "."

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

ACK = dict(fact="Noted.", decision="Understood.", done="Good.", open="I will remember.", mixed="Noted.")
SILENT = "The summary says nothing of that."
UNSAID = "You have not told me."
NOTHING = dict(decisions="Nothing is decided.", done="Nothing is done yet.", open="Nothing is open.")
ALL_TOOLS = "read write edit list search shell calculator recall artifact ask".split()


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

    # ---- planting: each changes the state and returns (kind, phrasing, values)
    def plant(self, kind):
        w = self.w
        if kind == "fact":
            f = make_fact(w, self.used)
            self.facts.append(f)
            values = f.words()
            if f.kind == "name":
                return kind, w.pattern(FACT_NAME), values
            if f.kind == "called":
                return kind, w.pattern(FACT_CALLED), values
            if f.k in SPECIAL and w.chance(0.5):
                return kind, w.pattern(SPECIAL[f.k]), values
            if f.own is None and w.chance(0.25):
                return kind, w.pattern(FACT_THING), values
            return kind, w.pattern(FACT), values
        if kind == "decision":
            d = make_decision(w, self.used)
            if d.x is not None and w.chance(0.8):
                self.decisions.append((d.text, d))
                return kind, w.pattern(DECIDE_USE), dict(x=d.x, y=d.topic)
            if w.chance(0.12):
                self.decisions.append(("do not " + d.text, d))
                return kind, w.pattern(DECIDE_NOT), dict(a=d.text)
            self.decisions.append((d.text, d))
            return kind, w.pattern(DECIDE), dict(a=d.text, P=w.person())
        act = make_act(w, self.used)
        if kind == "done":
            self.done.append(act)
            return kind, self.done_form(act), act.words(False)
        r = w.rng.random()
        if r < 0.12:
            form = w.pattern(OPEN_NOT_YET)
        else:
            act.when = make_when(w)
            form = w.pattern(OPEN_OBJECT if r < 0.30 else OPEN)
        self.open.append(act)
        return kind, form, act.words()

    def done_form(self, act):
        w = self.w
        return w.pattern(DONE_FINISH if act.verb[0] == "finish" and w.chance(0.7) else DONE)

    def finish(self, act=None):
        act = act or self.w.free(self.open)
        self.open.remove(act)
        self.done.append(act)
        return "done", self.done_form(act), act.words(False)

    def update(self, f=None):
        w = self.w
        f = f or w.free(self.facts)
        old, v = f.v, new_value(w, f, self.used)
        if v is None:
            return None
        f.v = v
        self.old[f.key] = old
        return "fact", w.pattern(UPDATE), dict(f.words(), old=old)

    # ---- turns
    def tell(self, said):
        """One message of the user with these items, and its acknowledgement."""
        w, parts = self.w, []
        if w.chance(0.18):
            parts.append(self.chatter())
        for i, (_, form, values) in enumerate(said):
            lead = w.free(LEAD) if w.chance(0.3) else ""
            if lead.endswith(", ") or lead == "And ":
                form = lower_start(form)
            parts.append(lead + w.say(form, **values))
        if w.chance(0.15):
            parts.append(self.chatter())
        text = " ".join(parts)
        if text.endswith(".") and w.chance(0.12):
            text = text[:-1]
        kinds = {k for k, _, _ in said}
        self.turns += [{"user": text}, {"assistant": ACK[kinds.pop() if len(kinds) == 1 else "mixed"]}]

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
                      "It holds " + ", ".join(files) + ".")
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
            self.call(w.say(w.pattern(ASK_WRITE), t=t, f=f), "write", dict(path=f, text=t), result, f"Wrote {f}.")
            self.done.append("wrote " + f)
        else:
            u = self.scrap()
            result = w.free([f"edited {f}", f"replaced 1 place in {f}", "1 replaced", "ok"])
            self.call(w.say(w.pattern(ASK_EDIT), t=t, u=u, f=f), "edit", dict(path=f, old=t, new=u), result,
                      f"Edited {f}.")
            self.done.append("edited " + f)

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
                self.done.append("wrote " + w.path())
                self.used.add(self.done[-1][6:])
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
    n = n or w.between(1, 9)
    t.converse(n, length(w), w.free([0.0, 0.0, 0.15, 0.3]))
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
    n = n or w.between(2, 9)
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
    t.plant_up_to(w.between(1, 8))
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
    for _ in range(0 if check else w.free([0, 0, 1, 2])):
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
    return write_record(w) if r < 0.45 else merge_record(w) if r < 0.60 else goes_on(w)


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
            assert 1 <= len(lines) <= 14 and len(set(lines)) == len(lines), lines
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
