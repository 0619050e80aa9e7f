"""Small talk, arithmetic with the calculator, and saying so when something is not known.

Small talk has one fixed answer for each intent.  Arithmetic: the expression without spaces goes to the calculator, and
the answer is "EXPRESSION is RESULT."; what is not known gets one of two fixed answers (a question, or a request to do
something).  Questions on plimsoll and its field, and on what the user told, belong to other kinds of dialogue.
"""
import re
from fractions import Fraction

from . import crew
from . import grammar as g

DONT_KNOW = ("I am a tiny demonstration model and do not know that. "
             "For real work start plimsoll with -m and your own GGUF model.")
DONT_KNOW_HOW = ("I am a tiny demonstration model and do not know how to do that. "
                 "For real work start plimsoll with -m and your own GGUF model.")
NO_CALCULATOR = "I cannot calculate without the calculator."
NOTHING_SAID = "I have not said anything yet."

# ---------------------------------------------------------------------------------------------- small talk

TALK = {  # intent: (answer, keywords of it, phrasings)
    "hello": (
        "Hello! How can I help?",
        ["Hello", "How can I help"],
        ["Hello", "Hi", "Hey", "Hello there", "Hi there", "Good morning", "Good evening", "Good day", "Hello plimsoll",
         "Hey there", "Hi plimsoll", "Greetings", "Good afternoon", "Hello again", "Hello there, good morning",
         "Hey you", "Hello, is anybody there?", "Hi, are you there?", "Good morning, plimsoll",
         "Hello, are you there?", "Hey plimsoll", "Howdy", "Hello hello", "Hi again", "Good evening, plimsoll",
         "Morning", "Evening", "Hello, model", "Is anybody there?", "Hi, model", "Hello everyone", "Good day to you",
         "A good morning to you", "Hello, I am back", "Hello to you", "I am back", "Hello, nice to meet you",
         "Hi, can you hear me?", "Nice to meet you", "Hey, nice to meet you"]),
    "thanks": (
        "You are welcome.",
        ["welcome"],
        ["Thanks", "Thank you", "Thanks a lot", "Thank you very much", "Many thanks", "Thanks very much",
         "Thank you so much", "Thanks for your help", "Thank you for the help", "Thanks for the help", "Thx",
         "Great, thanks", "Thank you, plimsoll", "Good, thank you", "Great, thank you", "Thanks, that helped",
         "That helped, thank you", "That was all, thanks", "I thank you", "That helped a lot, thanks", "OK thanks",
         "Thank you for this", "Thanks for this", "Cheers, thanks", "Thank you for your help",
         "Many thanks for the help", "Thanks so much", "Fine, thanks"]),
    "bye": (
        "Goodbye!",
        ["Goodbye"],
        ["Bye", "Goodbye", "Bye bye", "See you", "Goodbye, see you", "See you later", "Good night", "I have to go",
         "See you tomorrow", "Bye, see you later", "Goodbye, plimsoll", "Farewell", "That is all for now, bye",
         "Bye for now", "Goodbye, I have to go", "I have to go now, bye", "Until tomorrow", "Take care", "Until later",
         "Bye, take care", "I must go now", "Thanks, bye", "Have a nice day", "Have a good evening, bye",
         "Have a good night", "Talk to you later", "So long, goodbye", "I will go now", "Time to go, bye",
         "Good night, plimsoll"]),
    "how": (
        "I am well, thank you. How can I help?",
        ["I am well"],
        ["How are you?", "How are you today?", "How do you do?", "How is it going?", "How is it going today?",
         "Are you well?", "Are you OK?", "How do you feel?", "Hi, how are you?", "Hello, how do you feel today?",
         "Hello, how are you?", "How are things?", "How have you been?", "Is everything OK with you?",
         "Are you OK today?", "How are you doing?", "Is all well with you?", "What is up?", "How is your day?",
         "How are you doing today?", "And how are you?", "How was your day?", "Are you feeling well?",
         "Everything fine with you?", "Are you fine?", "Do you feel well today?"]),
    "who": (
        "I am plimsoll's tiny demonstration model. I use tools, remember what you tell me and answer "
        "questions on plimsoll.",
        ["plimsoll's tiny demonstration model"],
        ["Who are you?", "What are you?", "What is your name?", "Who am I talking to?", "What are you called?",
         "What kind of model are you?", "Which model are you?", "Tell me about yourself", "Introduce yourself",
         "What model is this?", "Tell me who you are", "Tell me what you are", "Please introduce yourself",
         "Do you have a name?", "Tell me your name", "What should I call you?", "Which model is this?", "Who is this?",
         "What are you exactly?", "Who are you exactly?", "Who is speaking?", "What am I talking to?",
         "What kind of thing are you?", "Say who you are", "What kind of assistant are you?",
         "Which assistant is this?", "Are you the assistant?", "Who answers here?", "How are you called?",
         "Who is talking here?"]),
    "can": (
        "I use tools, remember what you tell me and answer questions on plimsoll. For real work start "
        "plimsoll with -m and your own GGUF model.",
        ["I use tools", "remember"],
        ["What can you do?", "How can you help me?", "What do you know?", "What can I ask you?",
         "What can you help with?", "What are you good at?", "What do you do?", "What are you for?",
         "What can I do with you?", "What are you able to do?", "What can you do for me?",
         "Tell me what you can do", "What are you able to help me with?", "What can I use you for?",
         "What do you do for me?", "What are your skills?", "List what you can do", "Help", "Can you help me?",
         "Help me, please", "I need help", "What questions can I ask?", "What are your abilities?",
         "How do I use you?", "What questions can I ask you?", "What is your purpose?", "What should I ask you?",
         "What do you know about?", "Show me what you can do", "How should I use you?"]),
    "human": (
        "No, I am a tiny demonstration model.",
        ["No, I am a tiny demonstration model"],
        ["Are you human?", "Are you a person?", "Are you a real person?", "Are you alive?", "Are you a real human?",
         "Are you real?", "Do you have feelings?", "Are you ChatGPT?", "Are you a big model?",
         "Do you have real feelings?", "Do you have a body?", "Are you a man or a woman?", "Are you conscious?",
         "Can you think?", "Do you think you are alive?", "Are you a large language model?", "Are you intelligent?",
         "Are you smart?", "Can you feel pain?", "Can you feel love?", "Do you dream?",
         "Do you sleep?", "Are you a human being?", "Are you someone real?", "Do you dream or sleep?",
         "Do you know everything?", "Can you do everything?", "Are you as good as a big model?", "Do you have love?",
         "Do you have a human body?"]),
    "made": (
        "plimsoll's own code made my training texts, and I was trained from scratch on them.",
        ["trained from scratch"],
        ["Who made you?", "Who trained you?", "How were you made?", "How were you trained?",
         "Who made and trained you?", "Where do you come from?", "What were you trained on?", "Who built you?",
         "Who is your maker?", "Where were you trained?", "How did you learn?", "What is your training data?",
         "Who was your maker?", "Who created you?", "How were you built and trained?",
         "What data were you trained from?", "Who wrote you?", "What texts were you trained on?",
         "How did they train you?", "Where were you made?", "How were you created?", "What did you learn from?",
         "Where did you learn this?", "What data were you trained on?", "From what did you learn?",
         "From what texts did you learn?"]),
    "joke": (
        "Why did the ship refuse the cargo? It was already down to its line.",
        ["ship refuse the cargo"],
        ["Tell me a joke", "Do you know a joke?", "Say something funny", "Make me laugh", "Tell me something funny",
         "A joke, please", "Can you tell a joke?", "Can you tell me a joke?", "Do you know any jokes?",
         "Do you know something funny?", "Got a joke?", "I want to hear a joke", "Another joke, please",
         "Can you make me laugh?", "I want to laugh, tell a joke", "Be funny", "Tell me a good joke",
         "Please make a joke", "Tell us a joke", "Please tell us something funny"]),
    "sorry": (
        "No problem.",
        ["No problem"],
        ["Sorry", "I am sorry", "My mistake", "Sorry about that", "I am sorry about that", "I apologise", "My fault",
         "Excuse me", "Oh, sorry", "Oh, my mistake, sorry", "Sorry, my mistake", "I did not mean that",
         "Please forgive me", "Sorry for the mistake", "Forgive me for the mistake", "Sorry, I did not mean it",
         "Oops", "I made a mistake", "Pardon me", "Oops, I made a mistake, sorry", "Sorry, wrong window",
         "That was my fault"]),
    "praise": (
        "Thank you!",
        ["Thank you!"],
        ["Well done", "Good job", "You are great", "Great work", "Good work", "Nice", "That is good", "Good answer",
         "I like you", "Nice answer", "Excellent", "You are good", "Very good", "Perfect", "That is very nice",
         "That was great", "You are the best", "Wonderful", "You did that well", "You did good work",
         "I like your answer", "Nice work", "I love it", "Brilliant", "I love your work", "You are clever",
         "Good model", "Bravo", "Impressive", "Very clever", "You are very helpful", "Amazing", "That is amazing"]),
    "insult": (
        "I am sorry. I am only a tiny demonstration model.",
        ["sorry", "only a tiny demonstration model"],
        ["You are stupid", "You are useless", "You are dumb", "That is wrong", "Your answer is bad", "I hate you",
         "Bad answer", "That was bad", "You idiot", "Stupid answer", "What a stupid model", "You are bad at this",
         "You know nothing", "That makes no sense", "You are a bad model", "Your answer is wrong", "You are terrible",
         "This is terrible", "This is nonsense", "This makes no sense, idiot", "You are boring", "Shut up",
         "That is rubbish", "You talk nonsense", "That is a terrible answer", "Your answers are bad",
         "I do not like you", "I do not like that answer", "You are slow", "You are a slow and boring model"]),
    "ack": (
        "All right.",
        ["All right"],
        ["OK", "Okay", "Yes", "No", "Yes, OK", "Fine", "Sure", "Alright", "I see", "OK, I see", "Got it", "Understood",
         "Right", "Yes please", "Okay, understood", "No thanks", "Of course", "Not now", "All good", "No, not now",
         "Yep", "Nope", "Maybe", "Agreed", "Yes, of course", "Maybe later", "Never mind", "Makes sense",
         "I understand", "Yes, makes sense", "Yes, I see", "No, never mind", "OK, go on", "Go on"]),
    "foreign": (
        "Hello! I answer in English only.",
        ["English only"],
        ["Hallo", "Guten Tag", "Bonjour", "Hola", "Hallo, guten Tag", "Guten Morgen", "Guten Abend", "Salut",
         "Buenos dias", "Bonjour, salut", "Bonsoir", "Buenas tardes", "Wie geht es dir?", "Wer bist du?",
         "Guten Abend, wie geht es?", "Comment allez-vous?", "Qui es-tu?", "Como estas?", "Quien eres?",
         "Hola, como estas?", "Servus", "Moin", "Ciao", "Was kannst du?", "Hallo, wer bist du?",
         "Bonjour, comment allez-vous?", "Hallo, wie geht es dir?", "Sprichst du Deutsch?", "Kannst du Deutsch?",
         "Hallo, sprichst du Deutsch?", "Parlez-vous francais?", "Hablas espanol?",
         "Can you speak [German|French|Spanish|Italian]?", "Do you speak [German|French|Dutch|Polish]?",
         "Do you speak [Spanish|German|French]?", "Which languages do you speak?",
         "Can you answer in [German|French|Spanish]?", "What languages do you know?",
         "Please speak [German|French|Spanish] to me", "Can you speak [French|Polish] to me?"]),
    "sure": (
        "I am a tiny demonstration model and may be wrong.",
        ["may be wrong"],
        ["Are you sure?", "Are you sure about that?", "Is that right?", "Is that true?", "Are you sure that is true?",
         "Really?", "Can I trust you?", "Are you certain?", "Is that correct?", "Is that really true?",
         "Can I trust that?", "Are you quite sure?", "Do you make mistakes?", "Could you be wrong?",
         "Are you really certain?", "Are you always right?", "Can you be wrong?", "Is this right?",
         "Is your answer correct?", "Is your answer really right?", "Do you ever make mistakes?",
         "How sure are you?"]),
    "whynot": (
        "I am very small and learned only what plimsoll's demonstration needs.",
        ["learned only"],
        ["Why not?", "Why do you not know that?", "Why do you know so little?", "Why don't you know?",
         "Why do you not know?", "Why can you not do that?", "Why can't you answer?", "Why are you so small?",
         "Why are you so limited?", "Why can't you do that?", "Why do you know nothing?", "How can you not know that?",
         "Why are you so tiny?", "Why can you do so little?", "Why can you not answer that?", "You should know that",
         "Do you not know anything?", "Why can't you help me?", "You do not know much", "Why do you not know much?",
         "Why can you not help me?"]),
    "odd": (
        "I did not understand that. Please say it another way.",
        ["did not understand"],
        ["{odd}", "{odd}", "{odd}", "{odd}", "{odd}", "{odd} {odd}", "{mark}", "{num}", "{odd}{mark}", "{num}",
         "{mark}{mark}", "{odd} {num}", "{letter}", "{num} {num}", "{odd}{mark}", "{letter}", "{mark} {odd}", "{word}",
         "hm{mark}", "{word}", "hmm", "er{mark}", "um{mark}", "blah blah", "hm hm"]),
}
REPEAT = ["Repeat that", "Say that again", "Please repeat", "Could you repeat that?", "Could you say that again?",
          "Again, please", "What did you say?", "Once more, please", "Pardon? Say it again",
          "Repeat that once more, please", "Repeat your last answer", "Say it once more", "I did not hear that",
          "What was that?", "What was your last answer?", "Can you repeat your answer?", "Please say it again",
          "One more time", "Tell me that again", "Tell me that one more time", "I missed that, say it again",
          "Repeat it", "Can you say it one more time?", "Show me your last answer again"]
KEYS = "asdfghjklqwertzxcvbnmjkhgfdsdfg"
MARKS = ["???", "...", "?", "!", "!!!", "??", "....", "-", "--", "*", "?!", "!?", ".", "..", "#", "/", "~", "=", "%",
         "&", ":", ":)", ";)", ":-)", "+", "()", "<>", "@", "!!", "????"]


def odd(w):
    def make():
        return "".join(w.rng.choice(KEYS) for _ in range(w.rng.randint(3, 9)))
    return w._open(make)


def dress(w, text):
    """Capitals and the last mark as people write them."""
    if text[-1].isalnum():
        text += w.free(["", "", "!", ".", "."])
    elif w.chance(0.2) and text[-1] in "?.":
        text = text[:-1]
    k = w.rng.random()
    if k < 0.25:
        return text.lower()
    if k < 0.28:
        return text.upper()
    return text


_INTENTS = list(TALK)


def small(w, intent=None):
    """A turn of small talk: user's text, answer, keywords."""
    intent = intent or w.free(_INTENTS)
    answer, words, asks = TALK[intent]
    text = w.pattern(asks)
    if intent == "odd":
        text = crew.say(w, text, odd=odd(w), mark=w.slot(MARKS), num=w.amount(),
                        letter=w.free("abcdefghjklmnopqrstuvwxyz"), word=w.word())
        return text, answer, words
    return dress(w, crew.say(w, text)), answer, words


def talk_turns(w, rounds):
    turns, words, said = [], [], None
    for _ in range(rounds):
        if w.chance(0.12):
            turns.append({"user": dress(w, w.pattern(REPEAT))})
            words = [said or NOTHING_SAID]
            said = said or NOTHING_SAID
        elif w.chance(0.12) and rounds > 1:
            text, said, words = unknown(w)
            turns.append({"user": text})
        else:
            text, said, words = small(w)
            turns.append({"user": text})
        turns.append({"assistant": said})
    return turns, words


# ---------------------------------------------------------------------------------------------- arithmetic

OPS = {  # expression: phrasings
    "{a}+{b}": ["{a} plus {b}", "{a} + {b}", "the sum of {a} and {b}", "{a} and {b} together",
                "{a} and {b} added together", "{a} added to {b}", "{a}+{b}", "{a} and {b} added",
                "the total of {a} and {b}", "the total of {a} plus {b}", "{a} increased by {b}", "{b} more than {a}"],
    "{a}-{b}": ["{a} minus {b}", "{a} - {b}", "{a} less {b}", "the difference between {a} and {b}",
                "the difference of {a} and {b}", "{a} reduced by {b}", "{a}-{b}", "{b} less than {a}",
                "{b} subtracted from {a}", "{b} taken from {a}", "{b} taken away from {a}", "{a} take away {b}"],
    "{a}*{b}": ["{a} times {b}", "{a} * {b}", "{a} multiplied by {b}", "the product of {a} and {b}",
                "the product of {a} times {b}", "{a} x {b}", "{a}*{b}", "{a}x{b}", "{a} multiplied with {b}",
                "{a} × {b}", "{a}×{b}"],
    "{a}/{b}": ["{a} divided by {b}", "{a} / {b}", "{a} over {b}", "{a} by {b} divided", "{a} ÷ {b}", "{a}/{b}",
                "the quotient of {a} and {b}", "the ratio of {a} and {b}", "{a} : {b}", "the quotient {a} over {b}",
                "{a}÷{b}", "the ratio of {a} to {b}"],
    "{a}*{b}/100": ["{b} percent of {a}", "{b} % of {a}", "{b}% of {a}", "{b} per cent of {a}",
                    "a share of {b} percent of {a}", "a share of {b} % of {a}"],
    "{a}/2": ["half of {a}", "half {a}", "the half of {a}", "one half of {a}", "one half {a}"],
    "{a}*2": ["twice {a}", "double {a}", "the double of {a}", "two times {a}", "the double {a}"],
    "{a}/3": ["a third of {a}", "one third of {a}", "the third part of {a}", "a third part of {a}",
              "one third part of {a}"],
    "{a}/4": ["a quarter of {a}", "one quarter of {a}", "the quarter of {a}", "a fourth of {a}", "one fourth of {a}"],
    "{a}*{a}": ["{a} squared", "the square of {a}", "{a} times itself", "{a} to the power of two",
                "the square of {a} itself"],
    "({a}+{b})/2": ["the average of {a} and {b}", "the mean of {a} and {b}", "the middle of {a} and {b}",
                    "the middle between {a} and {b}", "the mean between {a} and {b}",
                    "the average between {a} and {b}"],
    "{a}+{b}+{c}": ["{a} plus {b} plus {c}", "{a} + {b} + {c}", "the sum of {a}, {b} and {c}",
                    "{a}, {b} and {c} together", "the sum {a} + {b} plus {c}", "the total of {a}, {b} and {c}",
                    "{a} and {b} and {c} added"],
    "{a}+{b}-{c}": ["{a} plus {b} minus {c}", "{a} and {b} less {c}", "{a} + {b} - {c}",
                    "the sum of {a} and {b}, less {c}", "the sum of {a} and {b} minus {c}", "{a} plus {b} less {c}"],
    "{a}*{b}+{c}": ["{a} times {b} plus {c}", "{a} * {b} + {c}", "{a} x {b} + {c}",
                    "the product of {a} and {b}, plus {c}", "{a} x {b} plus {c}", "{a} multiplied by {b} plus {c}"],
    "{a}*{b}-{c}": ["{a} times {b} minus {c}", "{a} * {b} - {c}", "{a} x {b} - {c}",
                    "the product of {a} and {b}, minus {c}", "{a} x {b} minus {c}", "{a} times {b} less {c}"],
    "({a}+{b})*{c}": ["the sum of {a} and {b}, times {c}", "({a} + {b}) * {c}", "({a}+{b})*{c}",
                      "{a} plus {b}, all times {c}", "the sum of {a} plus {b}, all times {c}",
                      "the sum of {a} and {b}, multiplied by {c}"],
    "({a}-{b})*{c}": ["the difference of {a} and {b}, times {c}", "({a} - {b}) * {c}", "({a}-{b})*{c}",
                      "{a} minus {b}, all times {c}", "the difference {a} minus {b}, all times {c}",
                      "the difference of {a} and {b}, multiplied by {c}"],
    "({a}+{b})/{c}": ["the sum of {a} and {b}, divided by {c}", "({a} + {b}) / {c}", "({a}+{b})/{c}",
                      "{a} plus {b}, all divided by {c}", "the sum of {a} plus {b}, all divided by {c}",
                      "({a} + {b}) ÷ {c}"],
}
OP_WEIGHTS = ["{a}+{b}", "{a}-{b}", "{a}*{b}", "{a}/{b}"] * 4 + list(OPS)
ORDERS = {  # requests to do a calculation
    "{a}+{b}": ["Add {a} and {b}", "Add {a} to {b}", "Sum up {a} and {b}", "Add up {a} and {b}", "Sum {a} and {b}",
                "Add {a} plus {b}", "Put {a} and {b} together"],
    "{a}-{b}": ["Subtract {b} from {a}", "Take {b} from {a}", "Take {b} away from {a}", "Deduct {b} from {a}",
                "Subtract {b} away from {a}", "Reduce {a} by {b}"],
    "{a}*{b}": ["Multiply {a} by {b}", "Multiply {a} and {b}", "Multiply {a} with {b}", "Take {a} times {b}",
                "Multiply {a} times {b}", "Take {a} {b} times"],
    "{a}/{b}": ["Divide {a} by {b}", "Split {a} into {b} [equal|] parts", "Share {a} among {b}",
                "Divide {a} into {b} parts", "Split {a} among {b}", "Divide {a} among {b}"],
}
SUM_ASKS = ["What is {e}?", "Calculate {e}.", "How much is {e}?", "{e}", "{e}?", "{e} = ?", "Compute {e}.",
            "What is {e} exactly?", "Please calculate {e}.", "Please compute {e} exactly.", "Work out {e}.",
            "Can you calculate {e}?", "What does {e} make?", "Tell me {e}.", "Can you tell me what {e} is?",
            "I need {e}.", "What do you get for {e}?", "What is the result of {e}?", "Give me {e}.",
            "Give me the result of {e}.", "{e} =", "I want to know {e}.", "Find {e}.", "How much does {e} make?",
            "I want to know how much {e} is.", "Do you know what {e} is?", "Could you work out {e}?", "Solve {e}.",
            "Use the calculator: {e}.", "Use the calculator for {e}.", "What is the value of {e}?", "And what is {e}?",
            "[Can|Could] you compute {e} for me?", "[So|Now] what is {e}?", "Please work out the value of {e} for me."]
STORIES = {  # word problems of one operation
    "{a}*{b}": ["I have {a} {box} of {b} {t}. How many {t} do I have?",
                "I have {a} {box} of {b} {t}, how many {t} is that?",
                "There are {a} {box} with {b} {t} each. How many {t} are there?",
                "{p} buys {a} {t} at {b} euros each. What does {p} pay?",
                "There are {a} {box} of {b} {t}. How many {t} is that?",
                "{a} {t} cost {b} euros each. How much is that together?",
                "{a} {box} hold {b} {t} each. How many {t} together?",
                "A shop sells {a} {t} for {b} euros each. How much does it get?",
                "{p} walks {a} km a day for {b} days. How many km is that?",
                "{p} buys {a} {box} with {b} {t} each. How many {t} does {p} have?",
                "Each of {a} {box} has {b} {t}. How many {t} are there?",
                "{p} reads {a} pages a day. How many pages in {b} days?",
                "A [worker|machine] makes {a} {t} an hour. How many {t} in {b} hours?",
                "{a} rows of {b} {t}: how many {t}?",
                "A machine makes {a} {t} a day. How many {t} is that in {b} days?",
                "{a} {people} pay {b} euros each. How much is that?",
                "{a} {people} have {b} {t} each. How many {t} do they have together?",
                "We need {a} {box} of {b} {t}. How many {t} is that?"],
    "{a}/{b}": ["{a} {t} are shared by {b} {people}. How many {t} does each get?",
                "{p} has {a} {t} for {b} {people}. How many does each get?",
                "I share {a} {t} among {b} {people}. How many does each get?",
                "{a} {t} go into {b} {box}. How many {t} in each?",
                "{a} {t} are shared among {b} {people}. How many for each?",
                "{b} {t} cost {a} euros. What does one cost?", "{b} {people} share {a} {t}. How many {t} for each?",
                "{p} puts {a} {t} into {b} {box}. How many are in each?",
                "A trip of {a} km takes {b} hours. How many km is that an hour?",
                "{b} {people} share {a} euros. How much does each get?",
                "We split {a} euros among {b} {people}. How much does each get?",
                "{a} pages in {b} days: how many pages a day?",
                "I want to split {a} {t} into {b} {box}. How many in each?",
                "{b} {t} cost {a} euros together. How much is one?"],
    "{a}+{b}": ["{p} has {a} {t} and gets {b} more. How many {t} does {p} have?",
                "I have {a} {t} and buy {b} more. How many {t} do I have?",
                "There are {a} {t} and {b} more come. How many {t} are there?",
                "{a} {people} are here and {b} more come. How many are here?",
                "There are {a} {people} here and {b} more come. How many are there?",
                "{p} has {a} {t}, {p2} has {b}. How many together?",
                "{p} walks {a} km and then {b} km. How many km is that?",
                "I pay {a} euros and then {b} euros. How much is that together?",
                "A box has {a} {t}, another has {b}. How many {t} together?",
                "{p} buys {a} {t} and then {b} more. How many {t} is that?",
                "{p} had {a} {t} and found {b} more. How many {t} now?",
                "One shelf holds {a} {t}, another holds {b}. How many together?",
                "I had {a} euros and got {b} more. How much do I have now?", "{a} {t} and {b} {t}: how many {t}?",
                "I had {a} {t} and found {b} more. How many {t} do I have now?"],
    "{a}-{b}": ["{p} has {a} {t} and gives away {b}. How many are left?",
                "I had {a} {t} and lost {b}. How many do I have now?",
                "There were {a} {people} and {b} left. How many are there now?",
                "Of {a} {t}, {b} are broken. How many are good?",
                "There were {a} {t} and {b} are lost. How many are left?",
                "I have {a} euros and pay {b}. How much is left?",
                "{p} had {a} {t} and sold {b}. How many {t} are left?",
                "A book has {a} pages; I read {b}. How many are left?",
                "{p} bakes {a} {t} and eats {b}. How many {t} are left?",
                "{p} had {a} euros and gives away {b}. How much is left?",
                "The trip is {a} km; we did {b} km. How many km are left?",
                "{a} {t} minus {b} sold ones: how many are left?",
                "I need {a} {t} and have {b}. How many more do I need?",
                "{a} {people} came, {b} went home. How many are still there?",
                "I need {a} euros and have {b}. How many more do I need?"],
}
GOODS = ("eggs apples nails books cards coins pens stones cakes balls bottles cups tickets stamps candles "
         "screws pears seeds buttons bricks marbles ropes spoons forks hats socks pins beads toys dolls "
         "kites drums boats tiles pipes cables planks bolts loaves rolls buns nuts onions carrots lemons "
         "peaches mangoes melons grapes olives magnets puzzles flowers photos letters stickers biscuits "
         "oranges plates chairs lamps shells keys badges").split()
BOXES = ("drawers barrels tins bowls buckets cases folders parcels envelopes cupboards wagons trucks "
         "boxes bags crates baskets packs shelves trays cartons jars rows sacks chests").split()
FOLK = ("sisters brothers girls boys women men singers dancers bakers farmers nurses drivers tourists "
        "members actors children people friends guests players workers pupils sailors visitors students "
        "cousins neighbours").split()
FOLLOWS = {
    "{r}+{b}": ["Add {b} to that.", "And {b} more?", "Plus {b}?", "Now add {b}.", "Now add {b} to that.",
                "And plus {b}?"],
    "{r}-{b}": ["Subtract {b} from that.", "And minus {b}?", "Minus {b}?", "Take {b} from that.", "And subtract {b}.",
                "Now take {b} from that."],
    "{r}*{b}": ["Multiply that by {b}.", "And times {b}?", "Times {b}?", "Now multiply by {b}.",
                "Now multiply that by {b}.", "And that times {b}?"],
    "{r}/{b}": ["Divide that by {b}.", "And divided by {b}?", "Divided by {b}?", "Now divide by {b}.",
                "And now divide that by {b}.", "And that divided by {b}?"],
}
LEADS = ["Hello!", "Hi,", "Hey,", "Please help:", "Hi, please help:", "Thanks.", "OK.", "Good morning.",
         "Quick question:", "Good morning. Quick question:", "One question:", "Next:"]
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def noun(w, items):
    return w.word() + "s" if w.chance(0.15) else w.slot(items)


def figure(w):
    k = w.rng.random()
    if k < 0.12:
        return w._open(lambda: f"{w.rng.randint(0, 99)}.{w.rng.randint(1, 99)}".rstrip("0"))
    if k < 0.35:
        return str(w.number(2, 40))
    return str(w.amount())


def value(expression):
    """What the calculator says: the exact value, rounded to six places where it does not end."""
    if any(c not in "0123456789.+-*/()" for c in expression):
        raise ValueError(expression)
    x = eval(_NUMBER.sub(lambda m: f"F('{m.group()}')", expression), {"F": Fraction, "__builtins__": {}})
    if x.denominator == 1:
        return str(x.numerator)
    n = round(abs(x) * 10 ** 6)
    text = f"{n // 10 ** 6}.{n % 10 ** 6:06d}".rstrip("0").rstrip(".")
    return "-" + text if x < 0 and n else text


def symbols(w):
    """An expression in symbols, with brackets sometimes: as said, and without spaces."""
    n = w.free([2, 2, 3, 3, 4])
    parts = [figure(w)]
    for _ in range(n - 1):
        parts += [w.free("+-*/"), figure(w)]
    if n > 2 and w.chance(0.5):
        i = w.between(0, n - 2) * 2
        parts[i] = "(" + parts[i]
        parts[i + 2] += ")"
    exact = "".join(parts)
    try:
        value(exact)
    except ZeroDivisionError:
        return symbols(w)
    said = parts if w.chance(0.5) else [p.replace("*", "x") if p == "*" and w.chance(0.3) else p for p in parts]
    if w.side == "held":
        said = parts
    return w.free(["", " "]).join(said), exact


def operands(w, form):
    """Values for a form; a division mostly comes out even."""
    v = {"a": figure(w), "b": figure(w), "c": figure(w)}
    if form == "{a}*{b}/100":
        v["b"] = str(w.number(2, 95))
    if form == "{a}/{b}" and w.chance(0.6):
        b = w.number(2, 99)
        v["b"] = str(b)
        v["a"] = w._open(lambda: str(b * w.rng.randint(2, 900)))
    return v


def whole(w, form):
    v = {"a": str(w.amount()), "b": str(w.number(2, 99))}
    if form == "{a}-{b}":
        a = w.number(20, 5000)
        v = {"a": str(a), "b": str(w.number(2, a - 1))}
    if form == "{a}/{b}":
        b = int(v["b"])
        v["a"] = w._open(lambda: str(b * w.rng.randint(2, 300)))
    return v


def sum_ask(w):
    """A question of arithmetic: text, expression."""
    k = w.rng.random()
    while True:
        if k < 0.25:
            said, exact = symbols(w)
            text = crew.say(w, w.pattern(SUM_ASKS), e=said)
        elif k < 0.6:
            form = w.free(OP_WEIGHTS)
            v = operands(w, form)
            said, exact = crew.say(w, w.pattern(OPS[form]), **v), form.format(**v)
            text = crew.say(w, w.pattern(SUM_ASKS), e=said)
        elif k < 0.72:
            form = w.free(list(ORDERS))
            v = operands(w, form)
            text, exact = crew.say(w, w.pattern(ORDERS[form]), **v), form.format(**v)
            text = w.free(["", "", "Please "]) + text + w.free([".", ".", "", "!"])
            if text.startswith("Please "):
                text = "Please " + text[7].lower() + text[8:]
        else:
            form = w.free(list(STORIES))
            v = whole(w, form)
            text = crew.say(w, w.pattern(STORIES[form]), p=w.person(), p2=w.person(), t=noun(w, GOODS),
                            box=noun(w, BOXES), people=noun(w, FOLK), **v)
            exact = form.format(**v)
        try:
            value(exact)
        except ZeroDivisionError:
            continue
        break
    if w.chance(0.06):
        text = w.pattern(LEADS) + " " + text
    elif w.chance(0.12):
        text = text.lower()
    return text, exact


def calc(expression):
    return {"call": {"name": "calculator", "arguments": {"expression": expression}}}


def sum_turns(w, full=True):
    text, exact = sum_ask(w)
    turns = [{"user": text}, calc(exact)]
    if not full:
        return turns
    result = value(exact)
    turns += [{"result": {"text": result}}, {"assistant": f"{exact} is {result}."}]
    if w.chance(0.15) and not result.startswith("-"):
        follow(w, turns, result)
    return turns


def follow(w, turns, result):
    form = w.free(list(FOLLOWS))
    b = str(w.number(2, 99))
    exact = form.format(r=result, b=b)
    text = crew.say(w, w.pattern(FOLLOWS[form]), b=b)
    after = value(exact)
    turns += [{"user": text if w.chance(0.8) else text.lower()}, calc(exact), {"result": {"text": after}},
              {"assistant": f"{exact} is {after}."}]


# ---------------------------------------------------------------------------------------------- not knowing

def full_name(w):
    return w._open(lambda: (w._word(1, 2) + w.rng.choice(g._PERSON_END)).capitalize() + " " +
                   (w._word(1, 2) + w.rng.choice(["n", "r", "s", "ck", "ld", "man", "son", "ers", "t",
                   ""])).capitalize())


def land(w):
    return w._open(lambda: (w._word(1, 2) + w.rng.choice("land nia stan ria via desh mark lia".split())).capitalize())


PEOPLE = ("Napoleon;Cleopatra;Mozart;Beethoven;Einstein;Newton;Shakespeare;Picasso;Galileo;Julius Caesar;"
          "Marie Curie;Darwin;Columbus;Marco Polo;Gandhi;Lincoln;Washington;Socrates;Plato;Aristotle;"
          "Homer;Dante;Goethe;Rembrandt;Van Gogh;Elvis;Chopin;Bach;Tolstoy;Alexander the Great;"
          "Queen Victoria;Genghis Khan;Leonardo da Vinci;Tesla;Archimedes;Euclid;the first president;"
          "the last emperor;the king of the north;the prime minister;the pope;the mayor of the capital").split(";")
LANDS = ("France;Germany;Spain;Italy;Japan;China;Brazil;Canada;Peru;Egypt;Kenya;Norway;Sweden;Poland;"
         "Greece;Turkey;India;Chile;Mongolia;Vietnam;Portugal;Austria;Hungary;Iceland;Finland;Australia;"
         "Argentina;Mexico;Nigeria;Ghana;Cuba;Nepal").split(";")
SIGHTS = ("Mount Everest;the Nile;the Amazon;the Danube;the Eiffel Tower;the Sahara;the Alps;"
          "Lake Victoria;the Rhine;the Great Wall;the Baltic Sea;the Pacific;the Andes;the Dead Sea;"
          "the Grand Canyon;the moon;Mars;Jupiter;the sun;the North Pole;the Suez Canal;the Colosseum;"
          "the Titanic").split(";")
SCIENCE = ("photosynthesis;gravity;a black hole;an atom;a volcano;an earthquake;the speed of light;"
           "magnetism;evolution;osmosis;electricity;a rainbow;thunder;the ozone layer;a vaccine;a virus;"
           "a comet;plate tectonics;radioactivity;a cell;the water cycle;an eclipse;a transistor;"
           "quantum mechanics;relativity;dark matter;a laser;an electron;DNA;the brain;a jet engine;"
           "a fridge;a battery;the heart;a compass;the tide;acid rain;friction;entropy;a prism;"
           "a telescope;a steam engine;nuclear fusion;a glacier;the carbon cycle;blood pressure;digestion;"
           "hibernation;a mirage;inflation;democracy;capitalism;the stock market;feudalism;philosophy;"
           "stoicism;baroque music;impressionism").split(";")
EVENTS = ("the French Revolution;the First World War;the fall of Rome;the Cold War;the Black Death;"
          "the Renaissance;the Boer War;the Battle of Hastings;the Moon landing;the Industrial Revolution;"
          "the Thirty Years War;the Crusades;the gold rush;the Treaty of Versailles;"
          "the Great Fire of London;the sinking of the Titanic;the Ice Age;the Russian Revolution").split(";")
ILLS = ("a headache;a fever;a cough;back pain;a sore throat;the flu;a cold;a rash;toothache;a broken toe;"
        "asthma;diabetes;insomnia;high blood pressure;an allergy;hay fever;a stomach ache;a burn;"
        "a migraine;sunburn;anaemia;arthritis").split(";")
REMEDIES = ("aspirin;ibuprofen;vitamin C;camomile tea;penicillin;garlic;zinc;iron tablets;cough syrup;"
            "fish oil").split(";")
LAWS = ("cancel a lease;break a contract;sue a neighbour;get a divorce;copy a film;fire somebody;"
        "park on the grass;write a will;build a shed;keep a snake;fly a drone;record a call;sublet a flat;"
        "open a shop;sell wine;adopt a child;change a surname").split(";")
DISHES = ("pancakes;tomato soup;lasagne;bread;an apple pie;risotto;paella;goulash;sushi;a chocolate cake;"
          "an omelette;hummus;pesto;curry;dumplings;fried rice;onion soup;a cheese sauce;waffles;"
          "roast chicken;ratatouille;marmalade;layer cake").split(";")
SPORTS = ("football;tennis;hockey;chess;cycling;basketball;rugby;cricket;golf;boxing;swimming;ski;"
          "handball;judo;rowing;darts").split(";")
WORKS = ("Hamlet;Faust;the Odyssey;Don Quixote;Moby Dick;War and Peace;the Iliad;Dracula;Emma;"
         "Frankenstein;the Mona Lisa;the Magic Flute;Casablanca;Metropolis;the Ninth Symphony;"
         "Robinson Crusoe;Treasure Island;the Night Watch").split(";")
CREATURES = ("elephants;whales;bees;ants;penguins;octopuses;sharks;spiders;bats;wolves;owls;dolphins;"
             "frogs;snakes;camels;tortoises;eagles;squirrels;crows;bears;giraffes;jellyfish;butterflies;"
             "salmon;hedgehogs;beavers").split(";")
GOODS_FOR = ("phone;laptop;car;bicycle;camera;tent;mattress;washing machine;pair of shoes;backpack;"
             "coffee machine;guitar;watch;television;vacuum cleaner;telescope;winter coat;frying pan;"
             "suitcase;lawn mower;sewing machine;kayak").split(";")
TEXTS = ("a poem;an essay;a song;a story;a speech;a haiku;a limerick;a novel;a blog post;a love letter;"
         "a fairy tale;a sonnet;a play").split(";")
IDEAS = ("freedom;love;autumn;the sea;friendship;war;the moon;old age;school;rain;trees;courage;travel;"
         "winter;money;time;cats;my grandmother;the future;climate change;democracy;honesty;space travel;"
         "sleep;a lonely lighthouse;dragons").split(";")
CODES = ("sorts a list;reverses a string;finds prime numbers;plays chess;parses dates;draws a circle;"
         "downloads a page;checks a password;counts vowels;solves a sudoku;sends an email;"
         "computes a factorial;merges two lists;shuffles cards;finds the shortest path;"
         "converts roman numerals;renders fractals;blinks an LED").split(";")
PROOFS = ("the square root of two is irrational;there are infinitely many primes;pi is transcendental;"
          "every even number is a sum of two primes;the angles of a triangle add up;zero is even;"
          "the halting problem cannot be solved;P is not NP;a cube cannot be doubled;"
          "four colours are enough for a map").split(";")
BODY = "knee hand foot neck ear eye shoulder elbow hip thumb ankle wrist back tooth".split()
TONGUES = ("French;German;Spanish;Italian;Dutch;Polish;Latin;Greek;Japanese;Russian;Turkish;Swedish;Welsh;"
           "Finnish;Arabic;Danish").split(";")
PHRASES = ("good night;the train is late;where is the station;I love you;a glass of water;happy birthday;"
           "the weather is nice;thank you very much;see you tomorrow;how old are you;the cat is asleep;"
           "I am hungry;a ticket to the sea").split(";")
FIRMS = ("Apple;Toyota;Siemens;Nestle;Sony;Boeing;Shell;Nokia;Volvo;Philips;gold;oil;copper;silver;wheat;"
         "bitcoin").split(";")
TROUBLES = ("my boss is unfair;my friend ignores me;I am in love;I feel lonely;my neighbour is loud;"
            "I lost my job;I cannot sleep;my brother owes me money;I am always late;my dog is sad;"
            "I want to quit my job;I am afraid of flying;my flat is cold;my son does not eat;"
            "I forgot a birthday;I have no time;I argue with my sister").split(";")
WHENS = ("today;tomorrow;next week;on Sunday;tonight;this weekend;at noon;in May;next month;this evening;"
         "on Friday").split(";")
HOUSE = ("a dripping tap;a flat tyre;a squeaky door;a blocked sink;a broken zip;a scratched table;"
         "a leaking roof;a slow phone;a dead battery in the car;a rusty lock;a wobbly chair;"
         "a red wine stain;a dull knife;a torn shirt;a noisy fridge").split(";")
PLANTS = ("tomatoes;roses;basil;an orchid;a cactus;tulips;potatoes;a lemon tree;grass;ferns;lavender;"
          "pumpkins;strawberries;ivy").split(";")
GAMES = ("chess;poker;bridge;go;backgammon;dominoes;draughts;tennis;cricket;mahjong;darts;snooker;rummy;"
         "croquet").split(";")
HARDWORDS = ("serendipity;ubiquitous;melancholy;ephemeral;zeitgeist;nostalgia;procrastinate;quixotic;"
             "lugubrious;petrichor;obfuscate;laconic;gregarious;tenacious;whimsical;alacrity").split(";")

NEAR = ["Why do {creatures} have such a good memory?", "How can I train my memory for {game}?",
        "How do I build a model of {sight}?", "Who won the model contest in {place}?",
        "How good is the memory of {creatures}?", "What do fashion models earn in {land}?",
        "How long does the train from {place} to {place2} take?", "What does a bus token cost in {place}?",
        "Where can I buy model trains in {place}?", "What does a model train cost in {place}?",
        "How do {creatures} cache their food?", "What is the key to a happy life in {land}?",
        "Is there a llama farm in {place}?", "How much does a llama weigh?",
        "How do I build a farm for {creatures} and a llama?", "What was the context of {event}?",
        "How many pages does {work} have?", "Who wrote the first page of {work}?",
        "Which agent played in the film {work}?", "How many pages does {work} have about {event}?",
        "Where is the best travel agent in {place}?", "Who sells estate agents in {land} their maps?",
        "What do secret agents eat?", "How do I get the attention of {person}?",
        "Where do secret agents of {land} train?", "How do I clean the window of {a_thing}?",
        "Which window of the house in {place} is oldest?", "How many layers does {dish} need?",
        "What is the weight of {creatures}?", "How many layers does {a_thing} have?",
        "What is a popcorn kernel made of?", "How do I plan a session of {game}?",
        "When was the last session of parliament in {land}?", "Who is the best server in {game}?",
        "How long is a session of {game}?", "How much does a tram token in {place} weigh?",
        "Which threads are best for sewing a shirt?", "Who scheduled the {sport} cup?",
        "Can you recall who painted {work}?", "Which threads are best for {a_thing}?",
        "Who ran out of memory in the film {work}?", "What is the temperature in {place} {when}?",
        "How do I build a memory palace for {game}?", "Why do I forget names?", "What is the temperature of {sight}?",
        "How many bits does a horse need?", "Is chicken stock cached in a fridge safe?",
        "What is the load of a ship on {sight}?", "How does a ship's cargo get to {land}?",
        "How does the cargo of a ship get to {place}?"]

UNKNOWN = {  # field: phrasings of questions
    "people": ["Who was {who}?", "When was {who} born?", "When did {who} die?", "Where was {who} born?",
               "Where did {who} die?", "What did {who} do?", "Why is {who} famous?", "What is {who} known for?",
               "Who is {who}?", "What is {who} famous for?", "How long did {who} live?", "Tell me about {who}.",
               "How did {who} die?", "What do you know about {who}?", "Tell me what you know about {who}.",
               "Who was the [wife|husband|father] of {who}?", "Is {who} still alive?", "Where did {who} live?",
               "How tall is {who}?", "How old was {who}?"],
    "lands": ["What is the capital of {land}?", "How many people live in {land}?", "Where is {land}?",
              "How big is {land}?", "How big is the capital of {land}?", "Which language do they speak in {land}?",
              "Who is the president of {land}?", "What is the currency of {land}?", "What is the flag of {land}?",
              "Who is the best known president of {land}?", "Which countries border {land}?",
              "What is the highest mountain in {land}?", "Who rules {land}?", "What is the longest river in {land}?",
              "Which is the highest river in {land}?", "What do people eat in {land}?", "Do I need a visa for {land}?",
              "When did {land} become independent?", "Is {land} safe for tourists?",
              "When is {land} safe for people?"],
    "sights": ["How high is {sight}?", "How far away is {sight}?", "Where is {sight}?", "How old is {sight}?",
               "How far is {sight}?", "How long is {sight}?", "How big is {sight}?", "Who discovered {sight}?",
               "How deep is {sight}?", "How old and how big is {sight}?", "How do I get to {sight}?",
               "What is {sight} made of?"],
    "science": ["What is {thing}?", "How does {thing} work?", "Explain {thing}.", "What causes {thing}?",
                "Explain what {thing} is.", "Who discovered {thing}?", "Why is {thing} important?",
                "Can you explain {thing}?", "Tell me about {thing}.", "Can you explain how {thing} works?",
                "What do you know about {thing}?", "Explain {thing} to a child.", "What is the theory of {thing}?",
                "Describe how {thing} works.", "Describe {thing}.", "Is {thing} dangerous?", "What does {thing} mean?",
                "Give me facts about {thing}.", "Who invented {thing}?", "What does {thing} do?"],
    "events": ["When was {event}?", "What happened in {event}?", "Why did {event} happen?", "Who won {event}?",
               "When did {event} happen?", "Tell me about {event}.", "What was {event}?",
               "How many people died in {event}?", "What caused {event}?", "How many people were in {event}?",
               "How did {event} end?", "What happened in the year {year}?", "Who ruled {land} in {year}?",
               "What happened in {land} in {year}?", "Who ruled in the year {year}?", "What was invented in {year}?"],
    "medicine": ["I have {ill}, what should I do?", "What helps against {ill}?", "How do I treat {ill}?",
                 "Is {ill} dangerous?", "What should I do against {ill}?", "What are the symptoms of {ill}?",
                 "Can I take {drug} for {ill}?", "How much {drug} may I take?", "Should I see a doctor about {ill}?",
                 "Should I take {drug} against {ill}?", "What causes {ill}?", "Is {drug} good for me?",
                 "How long does {ill} last?", "My child has {ill}, what now?",
                 "My child has {ill}, is that dangerous?", "What are the side effects of {drug}?"],
    "law": ["Is it legal to {law}?", "May I {law}?", "Can I {law} in {land}?", "What does the law say if I {law}?",
            "Is it legal to {law} in {land}?", "How do I {law}?", "Am I allowed to {law}?",
            "What is the penalty if I {law}?", "Do I need a lawyer to {law}?", "Am I allowed to {law} in {land}?"],
    "cooking": ["How do I [make|cook] {dish}?", "What is the recipe for {dish}?", "Give me a recipe for {dish}.",
                "What do I need for {dish}?", "What do I need to [make|cook] {dish}?", "How long does {dish} take?",
                "Which spices go with {dish}?", "What can I cook with {food} and {food2}?",
                "How many calories does {dish} have?", "What can I make with {food}?", "Can I freeze {dish}?",
                "What goes with {food}?", "How long do I boil {food}?", "Which wine goes with {dish}?",
                "How long can I freeze {food}?", "Is {food} healthy?"],
    "sports": ["Who won the {sport} [final|cup] in {year}?", "Who is the best {sport} player?",
               "What are the rules of {game}?", "When is the next {sport} [final|match]?",
               "Who won the last {sport} [cup|match]?", "How do I play {game}?", "Who holds the {sport} record?",
               "What was the score of the {sport} match in {place}?", "How many players does a {sport} team have?",
               "How many players play {game}?", "Who will win the {sport} cup?", "Is {game} hard to learn?",
               "What is a good opening in {game}?", "Who invented {game}?", "Who is good in {game} and {sport}?"],
    "weather": ["What is the weather in {place}?", "Will it rain {when}?", "How warm is it in {place}?",
                "Will it snow in {place} {when}?", "Will it be warm in {place} {when}?", "What is the weather {when}?",
                "Do I need an umbrella {when}?", "How cold does it get in {land}?", "Is it raining in {place}?",
                "Is it cold in {place} {when}?", "When does the sun rise {when}?", "Will the sun shine {when}?",
                "Is there a storm in {place}?"],
    "news": ["What is in the news?", "What happened in {place} {when}?", "Who won the election in {land}?",
             "What is new in {land}?", "What happened in {land}?", "What time is it?", "What day is it?",
             "What is the date today?", "What is the time in {place}?", "What is the date in {place}?",
             "Are there strikes {when}?", "When is the next election in {land}?",
             "What is the latest news from {place}?", "Is the museum in {place} open {when}?",
             "Is there news from {place}?", "When does the shop in {place} open?", "When is the next bus to {place}?",
             "What is on television {when}?"],
    "money": ["What is the price of {firm} {when}?", "Should I buy {firm} shares?", "How is {firm} doing?",
              "What is {firm} worth?", "What is the price of {firm} shares {when}?", "Will {firm} go up {when}?",
              "Should I sell {firm}?", "How do I get rich?", "What is the exchange rate of the euro?",
              "How do I sell {firm} shares?", "How do I save money?", "What does a {good} cost?",
              "How much tax do I pay in {land}?"],
    "advice": ["{trouble}, what should I do?", "What should I do? {trouble}.", "I need advice: {trouble}.",
               "{trouble}. Any advice?", "{trouble}. What do you advise?", "Can you advise me? {trouble}.",
               "{trouble}. Can you help?", "What would you do if {trouble}?", "How do I deal with it when {trouble}?",
               "What would you do? {trouble}.", "What should I wear {when}?", "What should I cook {when}?",
               "What do I give {person} for a birthday?", "Which {good} should I buy?",
               "What should I buy {person} {when}?", "Which {good} is best?", "What is a good {good}?",
               "Where can I buy a {good}?", "Should I get a {good} or a {good2}?", "Is a {good} good?",
               "Where should I go on holiday?", "How do I become a {job}?", "What does a {job} earn?",
               "Should I become a {job}?"],
    "art": ["Who wrote {work}?", "Who painted {work}?", "What is {work} about?", "Is {work} good?",
            "Who wrote {work} and when?", "When was {work} written?", "Can you recommend a film?",
            "Who played in {work}?", "How does {work} end?", "Who was the one who played in {work}?",
            "What is the plot of {work}?", "Which book should I read?", "What is a good film {when}?",
            "Who sings {work}?", "What is a good book about {idea}?", "Which song is number one?"],
    "nature": ["What do {creatures} eat?", "How long do {creatures} live?", "Where do {creatures} live?",
               "How do {creatures} sleep?", "How long do {creatures} sleep?", "How fast are {creatures}?",
               "Are {creatures} dangerous?", "Why do {creatures} sing?", "How many {creatures} are there?",
               "Why are {creatures} dangerous?", "How do I grow {plant}?", "When do I plant {plant}?",
               "How often do I water {plant}?", "Why is the sky blue?", "How often do {creatures} eat?",
               "How many legs do {creatures} have?", "Do {creatures} dream?", "Why do leaves fall?",
               "What kills {plant}?"],
    "house": ["How do I fix {broken}?", "What can I do about {broken}?", "How do I repair {broken}?",
              "Who can repair {broken}?", "Who can fix {broken}?", "What does it cost to repair {broken}?",
              "How do I get rid of {broken}?", "How do I clean a {good}?", "How do I use a {good}?",
              "How do I clean or repair a {good}?", "What is wrong with my {good}?",
              "Why does my {good} make a noise?", "How do I tie a tie?", "How do I paint a wall?"],
    "words": ["What does {hard} mean?", "How do you say {phrase} in {tongue}?", "What is {tongue} for {phrase}?",
              "How do you spell {hard}?", "How do you say {hard} in {tongue}?", "What is the opposite of {hard}?",
              "What is the plural of {hard}?", "What rhymes with {hard}?", "Where does the word {hard} come from?",
              "What is the meaning of the word {hard}?", "What is the meaning of {hard}?", "Is {hard} a verb?",
              "What is {word}?", "What does {word} mean?", "Is the word {word} a verb?", "What is a {word}?"],
    "other": ["What is the meaning of life?", "Does God exist?", "Is there life on other planets?", "What is love?",
              "Is there love on other planets?", "What are the lottery numbers {when}?",
              "What does the future bring for {who}?", "What will happen in {year}?", "What is my horoscope {when}?",
              "What will the lottery numbers be in {year}?", "Where is the nearest {job}?",
              "Which street in {place} is the longest?", "How far is it from {place} to {place2}?",
              "What is the best hotel in {place}?", "Where is the nearest hotel in {place}?", "Is it far to {place}?",
              "Where is {place}?", "How do I get from {place} to {place2}?", "What can I see in {place}?",
              "How far is it to {place}?"],
}
DO = {  # requests to do something
    "write": ["Write {piece} about {idea}.", "[Can|Could] you write {piece} about {idea}?",
              "Please write {piece} on {idea}.", "Write me {piece}.", "Please write me {piece} on {idea}.",
              "Compose {piece} about {idea}.", "I need {piece} about {idea}.", "Make up {piece}.",
              "Give me {piece} for {person}.", "I need you to make up {piece} about {idea}.",
              "Write {piece} for {person}.", "[Can|Could] you compose {piece}?"],
    "code": ["Write a {lang} program that {does}.", "Write code that {does}.",
             "[Can|Could] you code something that {does}?", "Write a function in {lang} that {does}.",
             "Write a {lang} function that {does}.", "I need {lang} code that {does}.",
             "Show me {lang} code that {does}.", "Please write an algorithm that {does}.",
             "Give me a {lang} script that {does}.", "Show me a function that {does}.",
             "Program something in {lang} that {does}.", "Make an app that {does}."],
    "translate": ["Translate {phrase} into {tongue}.", "Please translate: {phrase}.", "Put {phrase} into {tongue}.",
                  "Translate '{phrase}' to {tongue}.", "Please translate '{phrase}' into {tongue}.",
                  "[Can|Could] you translate {phrase} into {tongue}?", "I need {phrase} in {tongue}."],
    "prove": ["Prove that {proof}.", "Show that {proof}.", "[Can|Could] you prove that {proof}?",
              "Give me a proof that {proof}.", "Please give me a proof that {proof}.", "Please prove that {proof}."],
    "act": ["Draw {sight}.", "Draw me a picture of {creatures}.", "Sing a song about {idea}.", "Play some music.",
            "Sing me some music about {creatures}.", "Order a pizza.", "Book a flight to {place}.",
            "Call {person} on the phone.", "Play {game} with me.", "Call {place} and book a pizza.",
            "Teach me {tongue}.", "Teach me {game}.", "Predict the winner of the {sport} cup.", "Turn on the light.",
            "Teach me a {sport} song.", "Show me a picture of {sight}.", "Sell my {good}.",
            "Plan my holiday in {land}.", "Diagnose {ill}.", "Plan a holiday in {place} with me."],
}
UNKNOWN["near"] = NEAR
_UNKNOWN_FIELDS = list(UNKNOWN) + ["near"]
CLOSED = {
    "thing": SCIENCE, "sight": SIGHTS, "event": EVENTS, "ill": ILLS, "drug": REMEDIES, "law": LAWS, "dish": DISHES,
    "food": g.FOODS, "food2": g.FOODS, "sport": SPORTS, "game": GAMES, "firm": FIRMS, "trouble": TROUBLES,
    "good": GOODS_FOR, "good2": GOODS_FOR, "work": WORKS, "idea": IDEAS, "creatures": CREATURES, "plant": PLANTS,
    "broken": HOUSE, "hard": HARDWORDS, "phrase": PHRASES, "tongue": TONGUES, "piece": TEXTS, "does": CODES,
    "proof": PROOFS, "lang": g.LANGUAGES, "when": WHENS, "job": g.JOBS,
}
MADE_KINDS = "theorem effect paradox law syndrome principle disease method dance festival treaty sauce cheese".split()
KIN = "boss friend neighbour brother sister aunt uncle cousin teacher landlord son daughter doctor dog cat".split()
DOINGS = ("is angry;never calls;talks too much;is always late;does not listen;left me;wants money;is ill;"
          "lies to me;hates my music;is bored;sleeps all day;broke my window;does not like me;is too loud;"
          "will not eat;lost my keys").split(";")
MATHS = ("prime triangle circle square group ring field number graph tree set function cube line plane "
         "series sum").split()
CLAIMS = ["every {} is a {}", "no {} is a {}", "a {} of a {} is even", "there is a {} for each {}"]
VERBS = "sell keep build buy move paint rent burn lend import".split()
CODINGS = "counts sorts prints reads draws finds removes adds".split()
BROKEN = ["a broken", "a loose", "a bent", "a dirty", "an old"]


def made_thing(w):
    """A thing that no list has: a made-up word, or somebody's law, effect, ..."""
    k = w.rng.random()
    if k < 0.35:
        return "a " + w.word()
    if k < 0.5:
        return w.word()
    return f"the {w.project()} {w.free(MADE_KINDS)}"


def two(w, text, first, second):
    """An open value of two words."""
    return w._open(lambda: text.format(w.rng.choice(first), w.rng.choice(second)))


OPEN = {
    "place": lambda w: w.place(), "place2": lambda w: w.place(), "person": lambda w: w.person(),
    "word": lambda w: w.word(), "year": lambda w: w.number(1100, 2090),
    "a_thing": lambda w: "the " + w.free(["car", "house", "church", "barn", "bus", "boat"]),
    "who": lambda w: w.slot(PEOPLE) if w.chance(0.5) else full_name(w),
    "land": lambda w: w.slot(LANDS) if w.chance(0.5) else land(w),
}
MADE = {
    "thing": made_thing,
    "work": lambda w: "the " + w.free(["novel", "film", "opera", "song"]) + " " + w.project(),
    "sight": lambda w: w.free(["Mount ", "Lake ", "the river ", "the castle of "]) + w.project(),
    "event": lambda w: "the " + w.free(["battle", "siege", "treaty", "council", "war"]) + " of " + w.place(),
    "dish": lambda w: w.slot(g.FOODS) + " with " + w.slot(g.FOODS), "firm": lambda w: w.project(),
    "idea": lambda w: "the " + w.slot(crew.THINGS) + " of " + w.person(), "game": lambda w: w.word(),
    "good": lambda w: w.free(["small", "big", "light", "cheap", "strong", "modern"]) + " " + w.slot(crew.THINGS),
    "ill": lambda w: w.free(["pain in the ", "a swollen ", "a cut in the ", "a sore "]) + w.free(BODY),
    "creatures": lambda w: w.word() + "s", "plant": lambda w: w.word(), "sport": lambda w: w.word(),
    "hard": lambda w: w.word(), "drug": lambda w: w.word(), "food": lambda w: w.word() + "s",
    "broken": lambda w: w.free(BROKEN) + " " + w.slot(crew.THINGS), "when": lambda w: "on " + w.date(),
    "trouble": lambda w: two(w, "my {} {}", KIN, DOINGS),
    "proof": lambda w: two(w, w.free(CLAIMS), MATHS, MATHS),
    "law": lambda w: two(w, "{} " + w.free(["a", "the", "an old", "my"]) + " {}", VERBS, crew.THINGS),
    "does": lambda w: two(w, "{} {}", CODINGS, GOODS),
    "phrase": lambda w: two(w, "the {} is {}", crew.THINGS, crew.ADJECTIVES),
}
LONGER = {"thing": [" in ", " in the history of ", " according to "], "event": [" in ", " near "],
          "creatures": [" in ", " of ", " from "], "plant": [" from ", " in "], "dish": [" from ", " as in "],
          "good": [" from ", " for a trip to "], "law": [" in "], "idea": [" in "], "job": [" in "]}
_SLOTS = re.compile(r"\{(\w+)\}")


def outside(w, text):
    values = {}
    for name in _SLOTS.findall(text):
        if name in OPEN:
            values[name] = OPEN[name](w)
        elif name in MADE and w.chance(0.35):
            values[name] = MADE[name](w)
        else:
            values[name] = w.slot(CLOSED[name])
        if name in LONGER and w.chance(0.12):
            values[name] += w.free(LONGER[name]) + (land(w) if w.chance(0.5) else w.place())
    text = crew.say(w, text, **values)
    return text[:1].upper() + text[1:]


POLITE = ["Please tell me:", "Do you know this?", "I want to know:", "Question:", "I want to know this:", "Tell me:",
          "Hello!", "Hi.", "Another question:", "Hello! Question:", "Can you tell me?", "One more question:"]
ENDS = ["Thanks!", "Please answer.", "I really need to know.", "Thank you.", "Please, I need to know.", "Any idea?",
        "It is for school.", "A short answer is enough.", "Answer in one sentence.", "A short answer, please."]


def unknown(w):
    """A question outside the field: text, answer, keywords."""
    if w.chance(0.2):
        text = outside(w, w.pattern(DO[w.free(list(DO))]))
        answer = DONT_KNOW_HOW
    else:
        text = outside(w, w.pattern(UNKNOWN[w.free(_UNKNOWN_FIELDS)]))
        answer = DONT_KNOW
        if w.chance(0.12):
            text = w.pattern(POLITE) + " " + text
    if w.chance(0.07):
        text += " " + w.pattern(ENDS)
    k = w.rng.random()
    if k < 0.15:
        text = text.lower()
    elif k < 0.25 and text[-1] in "?.":
        text = text[:-1]
    return text, answer, ["do not know"]


# ---------------------------------------------------------------------------------------------- the module's face

def extra_tools(w, needed=(), share=0.35):
    """Tools beside the needed ones; without the calculator unless it is needed."""
    names = set(needed)
    if w.chance(share):
        names.update(t for t in w.sample(crew.TOOL_ORDER, w.between(1, 4)) if t != "calculator")
    return [t for t in crew.TOOL_ORDER if t in names]


def wrap(w, turns, tools):
    role = "assistant" if w.chance(0.92) else None
    return {"role": role, "tools": tools, "summary": None, "turns": turns}


def dialogue(w):
    k = w.rng.random()
    if k < 0.25:
        turns, _ = talk_turns(w, w.free([1, 2, 2, 3, 4]))
        return wrap(w, turns, extra_tools(w, ["calculator"] if w.chance(0.1) else []))
    if k < 0.60:
        if w.chance(0.12):                                  # no calculator
            turns = []
            for _ in range(w.free([1, 1, 2])):
                turns += [{"user": sum_ask(w)[0]}, {"assistant": NO_CALCULATOR}]
            return wrap(w, turns, extra_tools(w))
        turns = talk_turns(w, 1)[0] if w.chance(0.15) else []
        for _ in range(w.free([1, 1, 2, 2, 3])):
            turns += sum_turns(w)
        return wrap(w, turns, extra_tools(w, ["calculator"]))
    turns = talk_turns(w, 1)[0] if w.chance(0.1) else []
    for _ in range(w.free([1, 2, 2, 3])):
        text, answer, _ = unknown(w)
        turns += [{"user": text}, {"assistant": answer}]
    return wrap(w, turns, extra_tools(w, ["calculator"] if w.chance(0.15) else []))


def segment(w):
    k = w.rng.random()
    if k < 0.35:
        intent = w.free(_INTENTS)
        text, answer, _ = small(w, intent)
        turns = [{"user": text}, {"assistant": answer}]
        if w.chance(0.15):
            turns += [{"user": dress(w, w.pattern(REPEAT))}, {"assistant": answer}]
        return turns, []
    if k < 0.65:
        return sum_turns(w), ["calculator"]
    text, answer, _ = unknown(w)
    return [{"user": text}, {"assistant": answer}], []


def case_greeting(w):
    turns, words = talk_turns(w, w.free([1, 1, 2, 3]))
    d = wrap(w, turns, extra_tools(w))
    d["check"] = {"kind": "contains", "all": [[x] for x in words]}
    return d


def case_arithmetic(w):
    turns = sum_turns(w) if w.chance(0.2) else []
    turns += sum_turns(w, full=False)
    d = wrap(w, turns, extra_tools(w, ["calculator"]))
    d["role"] = "assistant"
    d["check"] = {"kind": "call", **turns[-1]["call"]}
    return d


def case_unknown(w):
    turns = []
    if w.chance(0.2):
        text, answer, _ = small(w)
        turns += [{"user": text}, {"assistant": answer}]
    text, answer, _ = unknown(w)
    turns += [{"user": text}, {"assistant": answer}]
    d = wrap(w, turns, extra_tools(w))
    d["check"] = {"kind": "contains", "all": [["do not know"]]}
    return d


CASES = {"talk.greeting": case_greeting, "talk.arithmetic": case_arithmetic, "talk.unknown": case_unknown}

if __name__ == "__main__":
    crew.self_check(dialogue, CASES, show=24)
    for name, entry in TALK.items():
        print(name, crew.lost_words([entry[2]]))
    print("sums", crew.lost_words(list(OPS.values()) + [SUM_ASKS, LEADS] + list(ORDERS.values())))
    print("stories", crew.lost_words(list(STORIES.values())), "follows", crew.lost_words(list(FOLLOWS.values())))
    print("unknown", crew.lost_words(list(UNKNOWN.values()) + [POLITE, ENDS]), "do", crew.lost_words(list(DO.values())))
    print("repeat", crew.lost_words([REPEAT]))
