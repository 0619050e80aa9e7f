"""From dialogues to token ids: the built program renders the forms, the tokenizer cuts, ChatML frames.

    write_set(path, encoded, longest)  -> <path>.npz with ids, weights of the loss, starts

A token's weight is 1 where the model speaks (its end-of-turn token included) and 0 elsewhere.
"""
import numpy as np

from render import Renderer, batches_of


def chatml(tok, messages):
    """(ids, weights) of a dialogue, framed as engine/template.c does: tool results in a user turn."""
    start, end = tok.id["<|im_start|>"], tok.id["<|im_end|>"]
    ids, weights = [], []

    def put(more, weight):
        ids.extend(more)
        weights.extend([weight] * len(more))
    newline = tok.encode("\n")
    for i, (role, text) in enumerate(messages):
        if role == "tool":
            first = i == 0 or messages[i - 1][0] != "tool"
            last = i + 1 == len(messages) or messages[i + 1][0] != "tool"
            if first:
                put([start], 0)
            put(tok.encode(("user" if first else "") + "\n<tool_response>\n" + text + "\n</tool_response>"), 0)
            if last:
                put([end] + newline, 0)
            continue
        put([start] + tok.encode(role + "\n"), 0)
        said = role == "assistant"
        put(tok.encode(text) + [end], 1 if said else 0)
        put(newline, 0)
    return ids, weights


def encode(tok, dialogues, program):
    """Yield (ids, weights) of every dialogue."""
    r = Renderer(program)
    for group in batches_of(dialogues, 200):
        for messages in r.render(group):
            yield chatml(tok, messages)
    r.close()


def write_set(path, encoded, longest):
    """Write a set of (ids, weights) without those over `longest` tokens.  Returns how many, tokens, left out."""
    ids, weights, starts, left = [], [], [0], 0
    for a, b in encoded:
        if len(a) > longest:
            left += 1
            continue
        ids.append(np.array(a, np.uint16))
        weights.append(np.array(b, np.uint8))
        starts.append(starts[-1] + len(a))
    np.savez(path, ids=np.concatenate(ids), weights=np.concatenate(weights), starts=np.array(starts, np.int64))
    return len(ids), starts[-1], left
