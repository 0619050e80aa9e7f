#!/usr/bin/env python3
"""make_fixtures.py - the tiny models of tests/fixtures and what two judges say about them.

    python3 -m venv DIR && DIR/bin/pip install -r tests/judges/requirements.txt
    DIR/bin/python tests/judges/make_fixtures.py            all fixtures, and the table in their README
    DIR/bin/python tests/judges/make_fixtures.py NAME ...   these only; the README stays

For each Spec: write NAME.gguf, let HF transformers and llama.cpp read it, compare all logits of all sequences, and only
if they agree write NAME.ref (format: tests/fixtures/README.md).  A fixture is refused, and nothing of it kept, when
  - a pair of judges differs by more than the tolerance: then the file is wrong, or a judge is;
  - a likely mistake (mistakes() below) would not move the logits by 20 tolerances: then it judges nothing;
  - no prompts are found whose greedy continuations have margins of 20 tolerances at each step, and of a mixture whose
    rows choose their experts by as wide a margin as CHOICE says: an engine that rounds must choose the same ones.
All is a function of the seeds: a second run writes the same bytes, but for the last digits that another CPU may round
otherwise."""
import argparse
import math
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import judges
import tiny
from specs import SPECS

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
MARK = "<!-- Below: written by tests/judges/make_fixtures.py -->\n"
TOL_F32, TOL_F16 = 1e-3, 5e-3   # K/V in F32, in F16
MARGIN = 20 * TOL_F32
CHOICE = 5 * TOL_F32            # of experts, if more than what rounding takes: choice_of()
GELU = "exact GELU"             # the one mistake that moves logits by little: Spec.exact is there for it
LENGTHS = {1: [0], 17: [15, 16], 40: [31, 39], 70: [16, 63, 64, 69]}  # sequence -> rows whose logits are kept
GREEDY = (17, 40)               # these are also continued greedily
SEEDS, TRIES = 8, 6000          # models; prompts a model and length
LAST = 5                        # tokens of a mixture's prompt that are drawn anew for the next one


class Refused(Exception):
    pass


# --------------------------------------------------------------------- what a mistaken engine would compute

def by_head(a, order, dim, axis=0):
    """a with its heads along the axis in another order."""
    return np.concatenate([np.take(a, range(h * dim, (h + 1) * dim), axis) for h in order], axis)


def wrong_head_map(s, weights):
    """Head h reading KV head h % kv_heads: the same as reading h / group with the heads reordered."""
    order = [h for g in range(s.kv_heads) for h in range(s.heads) if h % s.kv_heads == g]
    out = dict(weights)
    for k, v in weights.items():
        if ".q_proj." in k:
            out[k] = by_head(v, order, 2 * s.head_dim if s.state else s.head_dim)
        elif k.endswith((".o_proj.weight", "self_attn.out_proj.weight")):
            out[k] = by_head(v, order, s.head_dim, axis=1)
    return out


def wrong_rotation(s, weights):
    """Rotating halves where neighbours belong together, or the other way round."""
    heads = {".q_proj.": s.heads, ".k_proj.": s.kv_heads}
    if s.state:  # q and its gate are in one; a part of a head rotates
        mixed = [*range(0, s.turning, 2), *range(1, s.turning, 2), *range(s.turning, s.head_dim)]
        weights = moved_by(weights, ".k_proj.", lambda v: v.reshape(s.kv_heads, s.head_dim, -1)[:, mixed].reshape(v.shape))
        return head_rows(s, weights, ".q_proj.", lambda q, g: (q[:, mixed], g))
    out = dict(weights)
    for k, v in weights.items():
        for part, n in heads.items():
            if part in k:
                out[k] = tiny.permute(v, n)
    return out


def zeroed(weights, part):
    """All weights whose name has this part, zero."""
    return {k: np.zeros_like(v) if part in k else v for k, v in weights.items()}


def ones(s, weights, part):
    """Norms of this name that only normalise."""
    return {k: np.full_like(v, 1 - s.shift) if part in k else v for k, v in weights.items()}


def swapped(weights, a, b):
    """Weights whose names differ in these parts alone, exchanged."""
    return {k: weights[k.replace(a, b) if a in k else k.replace(b, a)] for k in weights}


def gemma_mistakes(s, weights):
    after = "post_attention_layernorm", "post_feedforward_layernorm"
    other = [not w for w in s.windowed]
    out = [("embeddings not scaled", weights, {"scale": 1.0}),
           ("no norm after attention", weights, {"post": (False, True)}),
           ("no norm after the ffn", weights, {"post": (True, False)}),
           ("the norms before and after the ffn swapped",
            swapped(weights, "pre_feedforward_layernorm", "post_feedforward_layernorm"), {}),
           ("1 added to norms again", {k: v + 1 if k.endswith("norm.weight") else v for k, v in weights.items()}, {}),
           ("the window on the other layers", weights, {"windowed": other})]
    out += [("plain %s" % n, ones(s, weights, n), {}) for n in after]
    if s.exact < TOL_F32:
        out.append((GELU, weights, {"gelu": "exact"}))
    if s.query != s.head_dim:
        out.append(("attention scaled by the size of a head", weights, {"query": s.head_dim}))
    if s.caps:
        out += [("no cap of attention", weights, {"caps": (None, s.caps[1])}),
                ("no final cap", weights, {"caps": (s.caps[0], None)}),
                ("a window everywhere", weights, {"windowed": [True] * s.layers})]
    else:
        out.append(("the full layers' base everywhere", weights, {"local": s.base}))
    if s.local:
        out.append(("base 10000 in layers with a window", weights, {"local": 10000.0}))
    if s.linear:
        out += [("no linear factor", weights, {"linear": 0}),
                ("the linear factor everywhere", weights, {"local_linear": s.linear})]
    return out


def over_all(torch, logits, weights, experts):
    return torch.softmax(logits, dim=-1).gather(1, experts), experts


def to_one(torch, logits, weights, experts):
    return weights / weights.sum(dim=-1, keepdim=True), experts


def equally(torch, logits, weights, experts):
    return torch.full_like(weights, 1 / weights.shape[1]), experts


def without_last(torch, logits, weights, experts):
    weights = weights.clone()
    weights[:, -1] = 0
    return weights / weights.sum(dim=-1, keepdim=True), experts


def smallest(torch, logits, weights, experts):
    few = torch.topk(-logits, experts.shape[1], dim=-1).indices
    return torch.softmax(logits.gather(1, few), dim=-1), few


def by_number(torch, logits, weights, experts):
    return weights, experts.sort(dim=-1).values


def rolled(weights, part):
    """Experts' matrices of this name each taken for the next one's."""
    return {k: np.roll(v, 1, axis=0) if ".experts." + part in k else v for k, v in weights.items()}


def mixture_mistakes(s, weights):
    other = ("weights that sum to 1", weights, {"mix": to_one}) if s.of_all else \
            ("weights by the softmax over all experts", weights, {"mix": over_all})
    return [other,
            ("experts weighed alike", weights, {"mix": equally}),
            ("an expert too few", weights, {"mix": without_last}),
            ("the smallest logits' experts", weights, {"mix": smallest}),
            ("weights by size for experts by number", weights, {"mix": by_number}),
            ("another expert's down", rolled(weights, "down_proj"), {}),
            ("another expert's gate", rolled(weights, "gate_proj"), {}),
            ("gate and up swapped", swapped(weights, ".experts.gate_proj.", ".experts.up_proj."), {})]


def shared_mistakes(s, weights):
    gate, expert = ".shared_expert_gate.", ".shared_expert."
    out = [("no shared expert", zeroed(weights, expert + "down_proj"), {}),
           ("half of the shared expert", zeroed(weights, gate), {}),
           ("all of the shared expert", weights, {"let": "all"}),
           ("the shared expert let through as it is, not by its sigmoid", weights, {"let": "plain"}),
           ("the shared expert's gate and up swapped",
            swapped(weights, expert + "gate_proj.", expert + "up_proj."), {})]
    return out


def moved_by(weights, part, change):
    return {k: change(v) if part in k else v for k, v in weights.items()}


def oss_mistakes(s, weights):
    off, up = (lambda v: np.full_like(v, -1e4)), "experts.up_proj.bias"
    out = [("no sinks", moved_by(weights, ".sinks", off), {}), ("sinks of 0", zeroed(weights, ".sinks"), {}),
           ("another head's sink", moved_by(weights, ".sinks", lambda v: np.roll(v, 1)), {}),
           ("nothing added to up", moved_by(weights, up, lambda v: v - 1), {}),
           ("SiLU's slope", weights, {"alpha": 1.0}),
           ("no bias of the router", zeroed(weights, "router.bias"), {}),
           ("the window on the other layers", weights, {"windowed": [not w for w in s.windowed]}),
           ("a window everywhere", weights, {"windowed": [True] * s.layers})]
    for part in "gate", "up", "down":
        name = ".experts.%s_proj.bias" % part
        out += [("no bias of %s" % part, zeroed(weights, name), {}),
                ("another expert's bias of %s" % part, moved_by(weights, name, lambda v: np.roll(v, 1, axis=0)), {})]
    if s.feed > 2:
        out.append(("nothing clamped", weights, {"limit": 1e6}))
    if s.yarn:
        out.append(("YaRN's ramp from pair to pair", weights, {"ramp": "pairs"}))
    return out


def head_rows(s, weights, part, change):
    """change(rows of q, rows of the gate) of each head of what has both in one."""
    def one(v):
        cut = v.reshape(s.heads, 2, s.head_dim, *v.shape[1:])
        return np.ascontiguousarray(np.stack(change(cut[:, 0], cut[:, 1]), axis=1).reshape(v.shape))

    return {k: one(v) if part in k else v for k, v in weights.items()}


def beta_for_alpha(s, weights):
    if not s.by_key:
        return swapped(weights, ".in_proj_a.", ".in_proj_b.")
    each = s.state[1] // s.state[0]
    turn = lambda v: v.reshape(s.state[0], 2, each, -1)[:, ::-1].reshape(v.shape)  # noqa: E731
    return moved_by(weights, ".in_proj_ba.", turn)


def without_beta(s, weights):
    if not s.by_key:
        return zeroed(weights, ".in_proj_b.")
    part = np.repeat(np.tile([0, 1], s.state[0]), s.state[1] // s.state[0])[:, None].astype(np.float32)
    return moved_by(weights, ".in_proj_ba.", lambda v: v * part)


def state_mistakes(s, weights):
    keys, values, dim, taps = s.state
    last = lambda v: v * (np.arange(taps) == taps - 1).astype(np.float32)  # noqa: E731
    out = [("no gate of attention", head_rows(s, weights, ".q_proj.", lambda q, g: (q, np.zeros_like(g))), {}),
           ("the gate for q", head_rows(s, weights, ".q_proj.", lambda q, g: (g, q)), {}),
           ("a convolution of one token", moved_by(weights, ".conv1d.", last), {}),
           ("the convolution from its end", moved_by(weights, ".conv1d.", lambda v: v[..., ::-1]), {}),
           ("no dt", zeroed(weights, ".dt_bias"), {}), ("a decay of e^-1", zeroed(weights, ".A_log"), {}),
           ("another head's decay", moved_by(weights, ".A_log", lambda v: np.roll(v, 1)), {}),
           ("all is believed by half", without_beta(s, weights), {}),
           ("beta and alpha swapped", beta_for_alpha(s, weights), {}),
           ("plain norm of a state's heads", moved_by(weights, "linear_attn.norm.", np.ones_like), {}),
           ("1 added to that norm", moved_by(weights, "linear_attn.norm.", lambda v: v + 1), {}),
           ("another head's z", moved_by(weights, ".in_proj_z.", lambda v: np.roll(v, dim, axis=0)), {})]
    if values > keys > 1:
        order = [h for g in range(values // keys) for h in range(g, values, values // keys)]
        rows = lambda v: by_head(v[-values * dim:], order, dim)  # noqa: E731
        wrong = moved_by(weights, ".in_proj_qkv.", lambda v: np.concatenate([v[:-values * dim], rows(v)]))
        out.append(("value heads by turns of key heads", wrong, {}))
    return out


def conv_mistakes(s, weights):
    taps = s.convs[0]
    order = lambda *parts: lambda v: np.concatenate([np.split(v, 3)[i] for i in parts])  # noqa: E731
    last = lambda v: v * (np.arange(taps) == taps - 1).astype(np.float32)  # noqa: E731
    late = lambda v: np.roll(v, 1, axis=-1) * (np.arange(taps) > 0).astype(np.float32)  # noqa: E731
    return [("a convolution of one token", moved_by(weights, "conv.conv.", last), {}),
            ("the convolution from its end", moved_by(weights, "conv.conv.", lambda v: v[..., ::-1]), {}),
            ("the convolution without its first token", moved_by(weights, "conv.conv.", late), {}),
            ("c for v", moved_by(weights, "conv.in_proj.", order(0, 2, 1)), {}),
            ("b for c", moved_by(weights, "conv.in_proj.", order(1, 0, 2)), {}),
            ("another channel's c", moved_by(weights, "conv.in_proj.", lambda v: np.concatenate(
                [np.roll(p, i == 1, axis=0) for i, p in enumerate(np.split(v, 3))])), {}),
            ("no convolutions", zeroed(weights, "conv.out_proj."), {}),
            ("gate and up swapped", swapped(weights, ".w1.", ".w3."), {})]


def gained(s, weights):
    """q and k times longrope's gain where they do not rotate, as if it were the scores'."""
    gain = np.where(np.arange(s.head_dim) < s.turning, 1.0, s.longrope[1]).astype(np.float32)
    return {k: v * np.tile(gain, len(v) // s.head_dim)[:, None] if ".q_proj." in k or ".k_proj." in k else v
            for k, v in weights.items()}


def phi_mistakes(s, weights):
    out = [("gate and up swapped", swapped(weights, ".gate_proj.", ".up_proj."), {})]
    if s.kv_heads == s.heads:
        out.append(("k and v swapped", swapped(weights, ".k_proj.", ".v_proj."), {}))
    if s.longrope:
        out += [("the short factors", weights, {"factors": tiny.longrope_factors(s, short=True)}),
                ("longrope without its gain", weights, {"attention": 1.0})]
    if s.longrope and s.rotated:
        more = np.r_[tiny.longrope_factors(s), np.ones((s.head_dim - s.rotated) // 2)]
        out += [("all of a head rotates", weights, {"rotated": s.head_dim, "factors": more}),
                ("the gain of all of a head", gained(s, weights), {})]
    return out


def granite_mistakes(s, weights):
    embed, added, score, logits = s.scales
    out = [("embeddings not scaled", weights, {"scales": (1.0, added, score, logits)}),
           ("sums not scaled", weights, {"scales": (embed, 1.0, score, logits)}),
           ("what is added divided", weights, {"scales": (embed, 1 / added, score, logits)}),
           ("embeddings scaled as what is added", weights, {"scales": (embed * added, added, score, logits)}),
           ("scores by the root of a head's size", weights, {"scales": (embed, added, s.head_dim ** -0.5, logits)}),
           ("logits not scaled", weights, {"scales": (embed, added, score, 1.0)}),
           ("logits multiplied", weights, {"scales": (embed, added, score, 1 / logits)})]
    if s.eps > 1e-3:
        out.append(("eps of sums that are not scaled", weights, {"eps": s.eps * added * added}))
    return out


def tempered_mistakes(s, weights):
    import torch
    scale, original = s.temper[0], s.yarn[1]
    by = lambda steps: lambda pos, *_: (1 + scale * torch.log(1 + steps(pos)))[:, None, :, None]  # noqa: E731
    floor = lambda pos: torch.floor(pos / original)  # noqa: E731
    return [("q not tempered", weights, {"temper": by(lambda pos: 0.0 * pos)}),
            ("q tempered by half the context", weights, {"temper": by(lambda pos: floor(2 * pos))}),
            ("q tempered between its multiples too", weights, {"temper": by(lambda pos: pos / original)}),
            ("q tempered one position too early", weights, {"temper": by(lambda pos: floor(pos + 1))}),
            ("q tempered by its square", weights, {"temper": lambda *a: by(floor)(*a) ** 2})]


def olmo_mistakes(s, weights):
    after = "post_attention_layernorm", "post_feedforward_layernorm"
    out = [("q and k normed a head", weights, {"each": True}),
           ("a norm before attention", weights, {"before": "attention"}),
           ("a norm before the ffn", weights, {"before": "ffn"}),
           ("no norm after attention", weights, {"post": (False, True)}),
           ("no norm after the ffn", weights, {"post": (True, False)}),
           ("the two norms swapped", swapped(weights, *after), {})]
    out += [("plain %s" % n, ones(s, weights, n), {}) for n in after]
    if s.window:
        out += [("the window on the other layers", weights, {"windowed": [not w for w in s.windowed]}),
                ("a window everywhere", weights, {"windowed": [True] * s.layers})]
    if s.window and s.yarn:
        out.append(("YaRN in layers with a window too", weights, {"local_yarn": True}))
    return out


def mistakes(s, weights):
    """[(what the engine got wrong, weights, other settings of judges.HF)] as far as they apply to s."""
    if s.arch == "phi3":
        weights = judges.split(s, weights)
    out = [("rotation of the wrong pairs", wrong_rotation(s, weights), {}),
           ("another rope base", weights, {"base": 10000.0 if s.base != 10000 else 20000.0}),
           ("attention lost", zeroed(weights, ".v_proj."), {}),
           ("first 16 positions lost", weights, {"lost": 16})]
    if s.state or s.convs:  # what is lost there is not a mask's to lose
        out = out[:-1] + (state_mistakes if s.state else conv_mistakes)(s, weights)
    if s.kv_heads > 1 and s.group > 1:
        out.append(("KV head h % kv_heads", wrong_head_map(s, weights), {}))
    out += [("no %s bias" % b, zeroed(weights, b + "_proj.bias"), {}) for b in s.biases]
    out += [("plain %s norm" % n, ones(s, weights, "." + s.head_norm(n)), {}) for n in s.normed]
    if s.normed and not (s.late and s.group > 1):  # of one size
        out.append(("the norms of q and k swapped", swapped(weights, *("." + s.head_norm(n) for n in "qk")), {}))
    if s.llama3:
        out.append(("no rope factors", weights, {"llama3": ()}))
    if s.yarn:
        factor, original = s.yarn
        out += [("no yarn", weights, {"yarn": ()}), ("half the factor", weights, {"yarn": (factor / 2, original)}),
                ("twice the context", weights, {"yarn": (factor, 2 * original)}),
                ("yarn's gain, there or not", weights,
                 {"attention": 1 + 0.1 * math.log(factor) if s.gainless else 1.0})]
    if s.temper:
        out += tempered_mistakes(s, weights)
    if 0 < s.window < max(LENGTHS):
        out += [("a window of %d" % w, weights, {"window": w}) for w in (s.window - 1, s.window + 1)]
        out.append(("no window", weights, {"window": 0}))
    if s.gemma:
        out += gemma_mistakes(s, weights)
    if s.oss:
        out += oss_mistakes(s, weights)
    if s.arch == "phi3":
        out += phi_mistakes(s, weights)
    if s.experts:
        out += mixture_mistakes(s, weights)
    if s.shared:
        out += shared_mistakes(s, weights)
    if s.scales:
        out += granite_mistakes(s, weights)
    if s.late:
        out += olmo_mistakes(s, weights)
    if s.arch == "smollm3":
        out += [("rotation in all layers", weights, {"still": s.layers + 1}),
                ("no rotation in every third", weights, {"still": 3})]
    if s.eps > 1e-3:
        out.append(("eps of 1e-5", weights, {"eps": 1e-5}))
    return out


# ------------------------------------------------------------------------------------- prompts and greedy runs

def greedy(s, hf, ids, need):
    """(continuation, margins), or None as soon as a step's margin over max|logit| is below need, its experts are near
    to a tie, or a special token would be chosen (a program would stop there).  One that runs in a circle judges little:
    half must be different."""
    out, margins = [], []
    for _ in range(s.greedy):
        row = hf.logits(ids + out)[-1].astype(np.float64)
        second, first = np.argsort(row)[-2:]
        margins.append(float((row[first] - row[second]) / np.abs(row).max()))
        if margins[-1] < need or first >= tiny.NORMAL or len(narrow(s, hf)):
            return None
        out.append(int(first))
    if s.experts:
        hf.logits(ids + out)  # the last token is seen too, when the judges are compared
    return (out, margins) if len(set(out)) >= s.greedy // 2 and not len(narrow(s, hf)) else None


def choice_of(s):
    """How wide a row's choice of experts must be.  Inputs of a router that are off by so much move its logits so much:
    what rounding does to the rows in between is less than what it does to the last logits."""
    return max(CHOICE, s.rounded * s.choice)


def narrow(s, hf):
    """Rows of the last logits() that are near to a tie of two experts."""
    return np.flatnonzero(hf.choices() < choice_of(s)) if s.experts else ()


def prompt(s, hf, rng, length, most, before):
    """Random ids below most; of a mixture, tokens whose choice of experts is narrow are drawn anew, and only the last
    few are others than in the prompt before."""
    ids = [int(i) for i in rng.randint(0, most, length)]
    if not s.experts:
        return ids
    ids[:-LAST] = (before or ids)[:-LAST]
    while True:
        hf.logits(ids)
        rows = narrow(s, hf)
        if len(rows) == 0:
            return ids
        ids[rows[0]] = int(rng.randint(0, most))


def sequences(s, hf, seed):
    """[(ids, continuation or None, margins or None)], or None when some prompt is not found."""
    need, out = max(MARGIN, 2.5 * s.rounded), []
    for length in LENGTHS:
        ids = None
        for attempt in range(TRIES):
            rng = tiny.stream("prompt", s.name, seed, length, attempt)
            ids = prompt(s, hf, rng, length, tiny.NORMAL if length in GREEDY else tiny.VOCAB, ids)
            found = greedy(s, hf, ids, need) if length in GREEDY else (None, None)
            if found:
                out.append((ids, *found))
                break
        else:
            return None
    return out


# ---------------------------------------------------------------------------------------------- judging

def as_ggml(s, weights, seqs):
    """HF's logits with what llama.cpp has otherwise: GELU from a table, which rounds to F16; YaRN's ramp.  They are
    compared with it, but not kept."""
    hf = judges.HF(s, weights, tiny.VOCAB, tiny.CONTEXT, gelu="table", ramp="pairs")
    return [hf.logits(ids + (more or [])) for ids, more, _ in seqs]


def compare(s, path, seqs, logits):
    """The worst error of each pair of judges over all sequences, prompts continued; Refused if one is too large.
    llama.cpp knows no window in the architectures llama and phi3: there it judges the rows before the window's end."""
    rows = s.window if s.arch in ("llama", "phi3") and s.window else None
    same = not rows and not (s.oss and s.yarn)  # else its continuation may be another
    tol = {"F32": max(TOL_F32, s.rounded), "F16": max(TOL_F16, s.rounded)}
    worst = {"HF / F32": 0.0, "HF / F16": 0.0, "F32 / F16": 0.0}
    said = {}
    for kv in ("F32", "F16"):
        llama = judges.Llama(path, kv, tiny.CONTEXT)
        try:
            assert llama.n_vocab == tiny.VOCAB
            for i, (ids, more, _) in enumerate(seqs):
                said[kv, i] = llama.logits((ids + (more or []))[:rows])
                if more and same and llama.greedy(ids, len(more))[0] != more:
                    raise Refused("llama.cpp (%s K/V) continues sequence %d otherwise" % (kv, i))
        finally:
            llama.close()
    for i, want in enumerate(logits):
        want = want[:rows]
        worst["HF / F32"] = max(worst["HF / F32"], judges.error(said["F32", i], want))
        worst["HF / F16"] = max(worst["HF / F16"], judges.error(said["F16", i], want))
        worst["F32 / F16"] = max(worst["F32 / F16"], judges.error(said["F16", i], said["F32", i]))
    if worst["HF / F32"] > tol["F32"] or max(worst["HF / F16"], worst["F32 / F16"]) > tol["F16"]:
        raise Refused("the fixture is wrong: the judges differ, %s" % worst)
    return worst


def sensitivity(s, weights, seqs, logits):
    """{mistake: how far it moves the kept rows}; Refused if one moves them less than 20 tolerances of exact engines."""
    out = {}
    for what, other_weights, settings in mistakes(s, weights):
        hf = judges.HF(s, other_weights, tiny.VOCAB, tiny.CONTEXT, **settings)
        out[what] = max(judges.error(hf.logits(ids)[LENGTHS[len(ids)]], want[LENGTHS[len(ids)]])
                        for (ids, _, _), want in zip(seqs, logits))
        if out[what] < (20 * s.exact if what == GELU else max(20 * TOL_F32, 2 * s.rounded)):
            raise Refused("the mistake '%s' moves the logits by %.1e only" % (what, out[what]))
    return out


def ref_text(s, seqs, logits):
    def line(key, values, form):
        return " ".join([key, *(form % v for v in values)]) + "\n"

    out = ["# Reference for %s.gguf; the format is in README.md.\n" % s.name, "vocab %d\n" % tiny.VOCAB,
           "tolerance %g %g %g\n" % (s.exact, TOL_F16, s.rounded)]
    for (ids, more, margins), rows in zip(seqs, logits):
        n = len(ids)
        rows = rows[:n]
        out.append(line("seq %d" % n, ids, "%d"))
        if n > 1:
            lp = judges.next_logprobs(rows, ids)
            out.append("nll %.12g\n" % -lp.mean())
            out.append(line("logprob %d" % (n - 1), lp, "%.7g"))
        for row in LENGTHS[n]:
            out.append(line("logits %d" % row, rows[row], "%.7g"))
        if more:
            out.append(line("greedy %d" % len(more), more, "%d"))
            out.append(line("margin %d" % len(more), margins, "%.4g"))
    return "".join(out)


def make(s, folder):
    """Write s.name.gguf and .ref into the folder; returns its line of the README's table."""
    path = folder / (s.name + ".gguf")
    for seed in range(1, SEEDS + 1):
        tiny.write(s, seed, path)
        weights = tiny.read(s, path)
        hf = judges.HF(s, weights, tiny.VOCAB, tiny.CONTEXT)
        seqs = sequences(s, hf, seed)
        if seqs:
            break
    else:
        raise Refused("no prompts with wide enough margins in %d models" % SEEDS)
    logits = [hf.logits(ids + (more or [])) for ids, more, _ in seqs]
    for (ids, more, _), rows in zip(seqs, logits):
        if more and [int(i) for i in rows[len(ids) - 1:-1].argmax(axis=1)] != more:
            raise Refused("HF chooses otherwise when it sees the continuation whole")
    worst = compare(s, path, seqs, as_ggml(s, weights, seqs) if s.gemma or s.oss and s.yarn else logits)
    moved = sensitivity(s, weights, seqs, logits)
    ref = folder / (s.name + ".ref")
    ref.write_text(ref_text(s, seqs, logits))
    margin = min(min(m) for _, _, m in seqs if m)
    least = "%s: %.2f" % min(((k, v) for k, v in moved.items() if k != GELU), key=lambda m: m[1])
    print("%-15s %d + %d bytes; HF/F32 %.1e, HF/F16 %.1e, F32/F16 %.1e; margins from %.3f; %s" % (
        s.name, path.stat().st_size, ref.stat().st_size, *worst.values(), margin, least))
    print(*("    %s: %.1e" % m for m in moved.items()), sep="\n", flush=True)
    return "| %s | %d | %g | %.1e | %.1e | %.1e | %.3f | %s |\n" % (
        s.name, seed, s.rounded, *worst.values(), margin, least)


def measured(lines):
    """The README's measured part."""
    out = ["""
## Measured when they were made

Worst row of all sequences, continuations included; llama.cpp with F32 and with F16 K/V (llama-window, phi3-window: their first rows).

| fixture | seed | C | HF / llama F32 | HF / llama F16 | llama F32 / F16 | least margin | least visible mistake |
|---|---|---|---|---|---|---|---|
""", *lines, """
## The models

| fixture | width | heads / KV heads x size | ff | layers | what for |
|---|---|---|---|---|---|
"""]
    out += ["| %s | %d | %d / %d x %d | %d | %d | %s |\n" % (
        s.name, s.embd, s.heads, s.kv_heads, s.head_dim, s.ff, s.layers, s.why) for s in SPECS]
    out.append("\n## Made with\n\n")
    out += ["- %s: %s\n" % item for item in judges.versions().items()]
    return "".join(out)


def main():
    p = argparse.ArgumentParser(description="Make tests/fixtures: tiny models and what two judges say about them.")
    p.add_argument("name", nargs="*", help="only these: " + ", ".join(s.name for s in SPECS))
    p.add_argument("--out", type=Path, default=FIXTURES, help="another folder")
    a = p.parse_args()
    unknown = set(a.name) - {s.name for s in SPECS}
    if unknown:
        p.error("no such fixture: " + ", ".join(sorted(unknown)))
    a.out.mkdir(parents=True, exist_ok=True)
    done, refused = [], 0
    for s in SPECS:
        if a.name and s.name not in a.name:
            continue
        with tempfile.TemporaryDirectory() as d:
            try:
                done.append(make(s, Path(d)))
            except Refused as e:
                print("%-15s REFUSED: %s" % (s.name, e), flush=True)
                refused += 1
                continue
            for suffix in (".gguf", ".ref"):
                shutil.copyfile(Path(d, s.name + suffix), a.out / (s.name + suffix))
    readme = a.out / "README.md"
    if not a.name and not refused and readme.exists():
        head = readme.read_text().split(MARK)[0]
        readme.write_text(head + MARK + measured(done))
    print("%d made, %d refused" % (len(done), refused))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
