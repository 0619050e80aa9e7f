"""What goes into a training run: how often each kind of dialogue, and conversations that join several kinds.

    for d in stream(seed, n): ...          # n training dialogues, the same for the same seed
    for row, d in cases(seed, per_row):    # held-out cases of every row, each with its "check"
"""
import json
import zlib

from . import clipped, crew, field, recall, summary, talk, toolcalls
from .grammar import World

# Kind, and its share of dialogues.  Long kinds get fewer: what counts is tokens.
KINDS = [(field, 16), (toolcalls, 22), (clipped, 24), (recall, 24), (summary, 26), (crew, 26), (talk, 11)]
JOINED = 8  # share of conversations made of several kinds' segments
SEGMENTS = [(field, 2), (toolcalls, 3), (clipped, 1), (recall, 3), (talk, 2), (summary, 1), (crew, 1)]
TOOLS = "read write edit list search shell calculator recall artifact ask".split()


def share(kind, n):
    """From now on this kind, named as its module, has n for its share."""
    at = [m.__name__.rsplit(".", 1)[-1] for m, _ in KINDS].index(kind)
    KINDS[at] = (KINDS[at][0], n)


def _weighted(w, table):
    at = w.rng.random() * sum(share for _, share in table)
    for item, share in table:
        at -= share
        if at < 0:
            return item
    return table[-1][0]


def _joined(w):
    turns, tools = [], []
    for _ in range(w.free([2, 2, 3, 3, 4, 5])):
        module = _weighted(w, SEGMENTS)
        part = module.segment(w)
        if part is None:
            continue
        turns += part[0]
        tools += [t for t in part[1] if t not in tools]
    if not turns:
        return field.dialogue(w)
    if tools and w.chance(0.4):
        tools += [t for t in w.sample(TOOLS, w.between(1, 4)) if t not in tools]
    return {"role": "assistant", "tools": w.shuffle(tools), "turns": turns}


def dialogue(w):
    table = [(m.dialogue, share) for m, share in KINDS] + [(_joined, JOINED)]
    return _weighted(w, table)(w)


def stream(seed, n):
    """n training dialogues, no two equal among those of one call."""
    seen = set()
    at = 0
    while len(seen) < n:
        d = dialogue(World(f"{seed}/{at}", "train"))
        at += 1
        mark = zlib.crc32(json.dumps(d).encode()) | len(json.dumps(d["turns"])) << 32
        if mark not in seen:
            seen.add(mark)
            yield d


def cases(seed, per_row):
    """per_row held-out cases of each row, as (row, dialogue)."""
    for module in (field, toolcalls, clipped, recall, summary, crew, talk):
        for row, make in module.CASES.items():
            for i in range(per_row):
                yield row, make(World(f"{seed}/{row}/{i}", "held"))
