"""What the items of summary.py are about: fact types, things, tasks and their verbs."""
from . import grammar as g
from .summary_words import arrange

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
