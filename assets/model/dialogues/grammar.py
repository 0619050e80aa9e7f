"""The composing grammar: how a seed becomes phrasings and slot values, and what is held out.

A World is a stream of choices.  It lives on one of two sides:

    side "train"   what the model learns from
    side "held"    what it is judged on: phrasings and slot values that no training dialogue contains

`pattern(list)` draws a phrasing: every fifth item of the list (index 4, 9, ...) belongs to the held side and the rest
to training.  `slot(list)` and the makers of open values (names, places, numbers, files, words) split by a hash of the
value.  `free(list)` does not split: use it for what the model writes, and for filler that no judgement rests on.

    w = World(seed, "train")
    w.say(w.pattern(ASK), name=w.person())     # "[Could|Can] you greet {name}?" -> "Can you greet Marta?"

In a phrasing `[a|b|]` is one of its choices (nesting is allowed, an empty choice too) and `{x}` a value.
Nothing here is copied from anywhere: names are built from syllables, texts are phrasings of this project.
"""
import random
import re
import zlib


_SLICE = re.compile(r'\w+(\["\w+"\])?\[-?\d*:\d*\]')


def left_over(text):
    """Does it have a choice or a slot that nobody filled in?  A slice in Python, messages[-8:], is none."""
    rest = _SLICE.sub("", text)
    return "{" in rest or "[" in rest


def is_held(value):
    """Is this open value on the held side?  About one in six is."""
    return zlib.crc32(("plimsoll:" + str(value).lower()).encode()) % 6 == 0


_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")

_ON = "b br c cl d dr f fl g gr h j k kl l m n p pr r s sh sk st t th tr v w y z".split()
_VOWEL = "a e i o u a e i o ai ea ei ie ou".split()
_OFF = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "sh", "x", "th"]
_PERSON_END = "a a e i o an en in on us is as ek el er im or ya ie ette ine".split()
_PLACE_END = "burg ford haven holm mouth port stad ton vik wick field dale by bridge ness mere".split()
_CODE = "abcdefghijklmnopqrstuvwxyz"

COMMON_NAMES = ("Anna Ben Carla David Elena Felix Greta Hugo Ines Jonas Klara Lena Marco Nina Oscar Paula Rosa Simon "
                "Tara Viktor Wanda Yusuf Zoe Amir Bea Chen Dina Emil Fatima Goran Hana Ivan Julia Kofi Leo Mina Noor "
                "Omar Priya Ravi Sara Tom Uma Vera Will Maria Peter Alice Bob Eve Max Sam Kate Luis Mei Olga Paul Ruth "
                "Ida").split()
COLOURS = ("red blue green yellow purple orange brown grey teal crimson violet amber indigo maroon olive turquoise "
           "scarlet ivory lilac beige navy copper golden silver pink").split()
FOODS = ("pizza soup rice pasta bread cheese salad noodles curry beans lentils mushrooms apples pears plums cherries "
         "pancakes dumplings waffles olives tomatoes potatoes spinach honey yoghurt figs walnuts").split()
DRINKS = "tea coffee water cocoa lemonade juice milk cider soda mate espresso".split()
ANIMALS = ("cat dog horse rabbit parrot goat hamster turtle ferret donkey hedgehog lizard canary pony goldfish "
           "spaniel owl gecko").split()
HOBBIES = ("chess sailing running climbing painting gardening cycling fishing knitting skating rowing baking dancing "
           "singing hiking archery pottery juggling surfing fencing birdwatching drumming").split()
JOBS = ("teacher baker nurse carpenter plumber pilot farmer librarian welder gardener chemist driver tailor painter "
        "mechanic surveyor printer diver potter judge").split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
LANGUAGES = "C Python Rust Go Java Ruby Lua Perl Haskell Kotlin Swift Zig Fortran Julia Erlang Scala".split()
FILE_ENDS = "txt md log c h py json csv yaml cfg html sh ini toml".split()
FILE_STEMS = ("notes report main config data readme build parser table index draft summary budget invoice server "
              "client cache kernel engine window session agent tokens memory script result input output journal "
              "list").split()
FOLDERS = ("src docs tests build logs data tools app engine lib include assets scripts old tmp work reports archive "
           "notes samples").split()
# Words of which some value or phrasing is held out.  Training has them in longer names ("tests4", "film_dro"): their
# tokens must have been copied at times, though the values themselves stay unseen.
COMMON_WORDS = sorted(set(COLOURS + FOODS + DRINKS + ANIMALS + HOBBIES + JOBS + FILE_STEMS + FOLDERS + FILE_ENDS + """
about account again alarm annual answer arm attic audio auction backup badge band banner barrel basket battery bell big
bicycle board boat boiler book boss bottle box branch break bridge broken bucket budget bus business cable calendar
camera canary candle card careful cargo carpet cellar chair channel chapter chat city clean clock cold column common
company copied core corner cost cousin crew cupboard curtain customer damaged dark daughter day deadline delay dentist
desk diary dinner disk doctor dog door down drawer driver drop drum dry dusty early editor elder empty event exam exit
expired failed far fast fault fence ferry festival field film filter finished first flag flat floor flushed folder
forest format friend front full game garden gate goat good great group guest hall hamster harbour hat heater heavy help
hill home horse host hotel hour house hung index inspected item job kettle key kilo kitchen ladder lamp large late
launch leak letter level library lift light limit line list local lock logo loud lunch machine mail manager map market
match mean measured meeting member message metal milk minute mirror missing mode module month morning mother mouth much
museum name narrow navy neighbour new newsletter night node noon note number nurse office old open option orange order
other outer oven over own owner page painted paper parcel parrot part party pass path pattern person photo piano picnic
picture pillow pipe place plan platform pocket polished pony pool port press price print prize project pump query queue
quick quiet rabbit rack radio rain range ready record red release rename repair request review river road roof room
rope route sail sale same saved screw season seat sensor serial server set shed shelf ship shoe shop short signal sister
size skipped slow small song sorted source spare spec sport spring stage stamp star station stem step stone stopped
store stove street strange studio summer survey switch table tank task teacher team temperature test thing ticket time
timer tired tool torch total tour tower train translated tree trip turn type under user value verdict vice video village
visitor voltage wall warm wash water weather week wet wheel white wide wind window winter wood word worker wrong yellow
zone""".split()))


class World:
    def __init__(self, seed, side="train"):
        assert side in ("train", "held")
        self.rng = random.Random(f"{side}/{seed}")
        self.side = side

    # ---- choices
    def chance(self, p):
        return self.rng.random() < p

    def between(self, lo, hi):
        """A whole number from lo to hi, both included; not split."""
        return self.rng.randint(lo, hi)

    def free(self, items):
        return self.rng.choice(items)

    def sample(self, items, n):
        return self.rng.sample(list(items), n)

    def shuffle(self, items):
        items = list(items)
        self.rng.shuffle(items)
        return items

    def pattern(self, items):
        """A phrasing of this side.  At least five must be given, so that both sides have some."""
        assert len(items) >= 5, "a list of phrasings needs five, one of them held out"
        held = self.side == "held"
        return self.rng.choice([x for i, x in enumerate(items) if (i % 5 == 4) == held])

    def slot(self, items):
        """A value of a closed list, split by its hash; a list with no value on this side is used whole."""
        held = self.side == "held"
        return self.rng.choice([x for x in items if is_held(x) == held] or list(items))

    def _open(self, make):
        """Draw until the value belongs to this side."""
        held = self.side == "held"
        while True:
            value = make()
            if is_held(value) == held:
                return value

    # ---- phrasing
    def say(self, text, **values):
        """Resolve [a|b] and then {x}; values are put in last, so their brackets stay."""
        while True:
            m = _CHOICE.search(text)
            if not m:
                break
            text = text[:m.start()] + self.rng.choice(m.group(1).split("|")) + text[m.end():]
        return _SLOT.sub(lambda m: str(values[m.group(1)]), text)

    # ---- open values
    def _word(self, lo, hi):
        n = self.rng.randint(lo, hi)
        return "".join(self.rng.choice(_ON) + self.rng.choice(_VOWEL) for _ in range(n))

    def person(self):
        def make():
            if self.rng.random() < 0.3:
                return self.rng.choice(COMMON_NAMES)
            return (self._word(1, 2)[:6] + self.rng.choice(_OFF) + self.rng.choice(_PERSON_END)).capitalize()
        return self._open(make)

    def place(self):
        return self._open(lambda: (self._word(1, 2) + self.rng.choice(_OFF)[:1] +
                                   self.rng.choice(_PLACE_END)).capitalize())

    def project(self):
        """A made-up name of a project, product or ship."""
        return self._open(lambda: (self._word(2, 2) + self.rng.choice(_OFF)).capitalize())

    def number(self, lo, hi):
        """A whole number of this side (split by its value; ranges with few numbers are not split)."""
        if hi - lo < 12:
            return self.rng.randint(lo, hi)
        return self._open(lambda: self.rng.randint(lo, hi))

    def amount(self):
        """A number of any size from one to six digits, as people write sums."""
        digits = self.rng.choice([1, 2, 2, 3, 3, 3, 4, 4, 5, 6])
        return self.number(10 ** (digits - 1), 10 ** digits - 1)

    def code(self, n=None):
        """Letters and digits, as in a booking code: K7-3Q2."""
        n = n or self.rng.randint(4, 7)
        return self._open(lambda: "".join(self.rng.choice(_CODE.upper() + "0123456789" * 2) for _ in range(n)))

    def word(self):
        """A made-up lower-case word."""
        if self.side == "train" and self.rng.random() < 0.12:
            return self._open(self._common)
        return self._open(lambda: self._word(2, 3) + self.rng.choice(_OFF))

    def artifact(self):
        """An artifact's id as plimsoll writes it."""
        return self._open(lambda: "a" + str(self.rng.randint(1, 9999)))

    def filename(self):
        def make():
            stem = self.rng.choice(FILE_STEMS) if self.rng.random() < 0.6 else self._word(1, 3)
            if self.rng.random() < 0.25:
                stem = stem if self.side == "held" or self.rng.random() < 0.7 else self.rng.choice(COMMON_WORDS)
                stem += self.rng.choice("_-") + self.rng.choice([self._word(1, 2), str(self.rng.randint(1, 99))])
            return stem + "." + self.rng.choice(FILE_ENDS)
        return self._open(make)

    def folder(self):
        if self.side == "train" and self.rng.random() < 0.15:
            return self._open(self._common)
        return self._open(lambda: self.rng.choice(FOLDERS) if self.rng.random() < 0.5 else self._word(1, 3))

    def _common(self):
        return self.rng.choice(COMMON_WORDS) + self.rng.choice(
            [str(self.rng.randint(2, 99)), "_" + self._word(1, 2), str(self.rng.randint(2, 9))])

    def path(self):
        return (self.folder() + "/" if self.chance(0.5) else "") + self.filename()

    def time(self):
        return self._open(lambda: f"{self.rng.randint(6, 22)}:{self.rng.choice(['00', '15', '30', '45', '10', '50'])}")

    def date(self):
        return self._open(lambda: f"{self.rng.randint(1, 28)} {self.rng.choice(MONTHS)}")
