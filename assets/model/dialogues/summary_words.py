"""Phrasings of summary.py: how facts, decisions, finished and open tasks are told, and small talk."""
import re

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
