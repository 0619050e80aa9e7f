"""The types of facts that recall.py plants: each attribute with its own phrasings and values."""
from .grammar import ANIMALS
from .recall_words import (ADDRESS, AMOUNT, BRANCH, CODE, COLOUR, COURSE, DATE, DAY, DRINK, EVENT, EXTENSION, FIRM,
                           FLIGHT, FOOD, FRUIT, HOBBY, HOTEL, INSTRUMENT, JOB, LANGUAGE, LONG_NUMBER, MONTH, PERSON,
                           PIN, PLACE, PLATE, PORT, PROJ, PROJECT, Phrases, ROOM, SEAT, SERVER, SHELF, SHIP, SPORT,
                           SUBJECT_SCHOOL, SYSTEM, TIME, TREE, VERSION, WORD, ASK_WORDS, SAY_WORDS, _arrange,
                           _inflect, _words, closed, number, person_subject)

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
            says = _arrange(says, SAY_WORDS | own, lambda x: _inflect(x, 2))
            asks = _arrange(asks, ASK_WORDS | own, lambda x: _inflect(x, 2))
            self.says = [Phrases([_inflect(x, v) for x in says], SAY_WORDS | own, False) if v in views else None
                         for v in range(3)]
            self.asks = [Phrases([_inflect(x, v) for x in asks], ASK_WORDS | own, False) if v in views else None
                         for v in range(3)]
        self.updates = Phrases(updates, SAY_WORDS | own) if updates else None

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
D_SAY, D_ASK = Phrases(DECIDE_SAY), Phrases(DECIDE_ASK, ASK_WORDS)
L_SAY, L_ASK = Phrases(PLACE_SAY), Phrases(PLACE_ASK, ASK_WORDS)
D_UPDATE = Phrases(DECIDE_UPDATE, _words(" ".join(DECIDE_SAY)))
L_UPDATE = Phrases(PLACE_UPDATE, _words(" ".join(PLACE_SAY)))

TYPE_GROUPS = {}
for _t in TYPES:
    TYPE_GROUPS.setdefault(_t.group, []).append(_t)
