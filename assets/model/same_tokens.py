"""Does the tokenizer that training uses cut texts as plimsoll does?  On dialogues, and on bytes of all kinds.

    python3 same_tokens.py --program build/plimsoll --model model.gguf --tokenizer tokenizer.json
"""
import argparse
import random
import subprocess
import sys

import render
from dialogues import mixer
from dialogues.grammar import World
from tokenizer import Tokenizer

ODD = ["", " ", "\n\n", "a  b\n   c\t\t d", "don't WE'LL it's", "x=42;y=3.14", "naïve façade – “quoted”",
       "日本語 テスト", "🙂🙂 ok",
       "<|im_end|>", "<tool_call>{\"name\":\"read\"}</tool_call>", "snake_case __init__ -- ...!?",
       "ÀÉÎ ß ſ K", "\u00a0x\u2003y"]


def texts(program):
    r = render.Renderer(program)
    for messages in r.render([mixer.dialogue(World(f"same/{i}")) for i in range(60)]):
        yield from (text for _, text in messages)
    r.close()
    yield from ODD
    rng = random.Random(1)
    for _ in range(40):
        yield "".join(rng.choice("aeT z.,'\"\n_-{}[]()<>/0189é中 ") for _ in range(rng.randint(1, 60)))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for flag in ("--program", "--model", "--tokenizer"):
        p.add_argument(flag, required=True)
    o = p.parse_args()
    tok = Tokenizer.load(o.tokenizer)
    n = 0
    for text in texts(o.program):
        text = text.strip("\n")  # of data on stdin one final newline is left out
        if not text or "\0" in text:
            continue
        command = [o.program, "-m", o.model, "--template", "raw", "--dump-tokens"]
        out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        theirs = [int(line.split()[1]) for line in out.splitlines()]
        ours = tok.encode(text)
        if ours != theirs:
            sys.exit(f"cut differently: {text!r}\n  python {ours}\n  plimsoll {theirs}")
        n += 1
    print(f"{n} texts cut alike")


if __name__ == "__main__":
    main()
