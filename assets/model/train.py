"""Train the embedded model.

    python3 train.py --work DIR --program build/plimsoll [--minutes 70] [--dialogues 120000] [--seed 1]

Makes the training set in DIR if it is not there, trains until the time is used up (the learning rate follows the
clock, so that a slow machine ends with a finished, if weaker, model), writes DIR/checkpoint.pt every five minutes and
goes on from it when started again, and ends with DIR/model.gguf, DIR/loss.csv and DIR/loss.svg.
"""
import argparse
import itertools
import json
import math
import os
import subprocess
import time

import numpy as np
import torch
import torch.nn.functional as F

import curve
import data
import drills
import export
import render
import transformer
from dialogues import mixer
from dialogues.grammar import World
from tokenizer import Tokenizer, learn
from transformer import Shape, Transformer

LENGTHS = [64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1280, 1536, 2048, 3072]
SAMPLE = 12000  # dialogues that the tokenizer is learned from


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--work", required=True, help="folder of this run: training set, checkpoint, results")
    p.add_argument("--program", required=True, help="the built plimsoll, which renders the forms")
    p.add_argument("--minutes", type=float, default=70, help="time for the training steps")
    p.add_argument("--dialogues", type=int, default=120000)
    p.add_argument("--drills", type=float, default=0.14, help="drills for each dialogue; 0.14 is a fifth of all tokens")
    p.add_argument("--share", action="append", default=[], metavar="KIND=N",
                   help="another share of dialogues for a kind, field=120 say (dialogues/mixer.py)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--ffn", type=int, default=640)
    p.add_argument("--rows", type=int, default=8192, help="tokens in a step, padding included")
    p.add_argument("--muon-rate", type=float, default=0.02)
    p.add_argument("--adam-rate", type=float, default=0.004)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--type", default="auto", choices=["auto", "bfloat16", "float32"],
                   help="what it multiplies in; auto: what is faster here")
    p.add_argument("--compile", action="store_true", help="torch.compile (needs a C++ compiler on the CPU)")
    p.add_argument("--init", help="the model.gguf of an earlier run, to start from its weights and its tokenizer")
    return p.parse_args()


def prepare(o, tok):
    """The tokenizer (tok, where one is given) and the training set of this run, made once."""
    tok_path, set_path = f"{o.work}/tokenizer.json", f"{o.work}/train.npz"
    if tok:
        tok.save(tok_path)
    if not os.path.exists(tok_path):
        r = render.Renderer(o.program)
        messages = (m for group in render.batches_of(mixer.stream(f"{o.seed}/tokenizer", min(SAMPLE, o.dialogues)), 200)
                    for m in r.render(group))
        learn(text for m in messages for _, text in m).save(tok_path)
        r.close()
    tok = Tokenizer.load(tok_path)
    for kind, share in (s.split("=") for s in o.share):
        mixer.share(kind, float(share))
    if not os.path.exists(set_path):
        t = time.time()
        dialogues = data.encode(tok, mixer.stream(o.seed, o.dialogues), o.program)
        drilled = (drills.drill(World(f"{o.seed}/drill/{i}"), tok) for i in range(round(o.dialogues * o.drills)))
        n, tokens, left = data.write_set(set_path, itertools.chain(dialogues, drilled), LENGTHS[-1])
        print(f"set: {n} dialogues and drills, {tokens} tokens, {left} too long, {time.time() - t:.0f} s", flush=True)
    return tok, np.load(set_path)


class Batches:
    """Endless batches of dialogues of about one length: (ids, targets, weights), each (batch, length)."""

    def __init__(self, train, rows, seed, done):
        self.ids, self.weights, self.starts = train["ids"], train["weights"], train["starts"]
        self.rows, self.seed, self.done = rows, seed, done

    def plan(self, epoch):
        rng = np.random.default_rng([self.seed, epoch])
        n = len(self.starts) - 1
        length = np.diff(self.starts)
        bucket = np.searchsorted(LENGTHS, length)
        plan = []
        for b, size in enumerate(LENGTHS):
            members = rng.permutation(np.flatnonzero(bucket == b))
            per = max(1, self.rows // size)
            plan += [(size, members[i:i + per]) for i in range(0, len(members), per)]
        assert sum(len(m) for _, m in plan) == n
        return [plan[i] for i in rng.permutation(len(plan))]

    def __iter__(self):
        step, epoch = 0, 0
        while True:
            for size, members in self.plan(epoch):
                step += 1
                if step > self.done:
                    yield self.batch(size, members)
            epoch += 1

    def batch(self, size, members):
        shape = (max(1, self.rows // size), size)  # the same for all batches of a length: what torch.compile wants
        ids, weights = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        for row, m in enumerate(members):
            a, b = self.starts[m], self.starts[m + 1]
            ids[row, :b - a] = self.ids[a:b]
            weights[row, :b - a - 1] = self.weights[a + 1:b]  # the weight of predicting the next token
        return torch.from_numpy(ids), torch.from_numpy(weights)


def faster_type(device):
    """What this device is to multiply in: bfloat16, but some processors are twice as fast in float32."""
    if device != "cpu":
        return torch.bfloat16
    took = {}
    for dtype in (torch.bfloat16, torch.float32):
        a, b = torch.ones(512, 256, dtype=dtype), torch.ones(256, 640, dtype=dtype)
        a @ b
        begun = time.time()
        for _ in range(8):
            a @ b
        took[dtype] = time.time() - begun
    return min(took, key=took.get)


def orthogonal(g, dtype):
    """The nearest matrix with all singular values about 1, by five Newton-Schulz steps on a quintic."""
    x = g.to(dtype)
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.transpose(-1, -2)
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.transpose(-1, -2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x if wide else x.transpose(-1, -2)).float()


class Muon(torch.optim.Optimizer):
    """Momentum, then orthogonalised: for matrices inside the network (K. Jordan's optimizer of 2024)."""

    def __init__(self, params, lr, dtype, momentum=0.95, decay=0.01):
        super().__init__(params, dict(lr=lr, momentum=momentum, decay=decay))
        self.dtype = dtype

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            shapes = {}
            for p in group["params"]:
                shapes.setdefault(p.shape, []).append(p)
            for shape, params in shapes.items():  # matrices of one shape go together
                step = []
                for p in params:
                    m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                    m.lerp_(p.grad, 1 - group["momentum"])
                    step.append(p.grad.lerp(m, group["momentum"]))
                scale = group["lr"] * max(1, shape[0] / shape[1]) ** 0.5
                for p, u in zip(params, orthogonal(torch.stack(step), self.dtype)):
                    p.mul_(1 - group["lr"] * group["decay"]).add_(u, alpha=-scale)


def schedule(done):
    """Share of the learning rate at this share of the run: a short rise, level, then down to nothing."""
    return min(1.0, done / 0.02) * min(1.0, (1 - done) / 0.5) if done < 1 else 0.0


@torch.no_grad()
def part_twins(embed):
    """Draw anew the rows of tokens that an earlier run never saw: what they got there was the same push, which leaves
    them all alike, and nothing can tell or copy them."""
    rows = F.normalize(embed, dim=1)
    alike = (rows @ rows.T > 0.95).sum(1) > 20
    scale = embed[~alike].norm(dim=1).mean() / embed.shape[1] ** 0.5
    embed[alike] = torch.randn_like(embed[alike]) * scale
    return int(alike.sum())


def loss_of(model, ids, weights, device, dtype):
    """Mean loss over the tokens that the model says, and how many they are."""
    ids, weights = ids.to(device), weights.to(device)
    hidden = model.hidden(ids, dtype).flatten(0, 1)
    at = weights.flatten().nonzero().squeeze(1)
    targets = torch.roll(ids, -1, 1).flatten()[at]
    logits = model.logits(hidden[at]).float()
    return F.cross_entropy(logits, targets), len(at)


def save(path, state):
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def main():
    o = options()
    os.makedirs(o.work, exist_ok=True)
    torch.manual_seed(o.seed)
    state, shape, tok, _ = export.read(o.init) if o.init else (None, None, None, None)
    tok, train = prepare(o, tok)
    shape = shape or Shape(vocab=len(tok.tokens), dim=o.dim, layers=o.layers, heads=o.heads, kv_heads=o.heads, ffn=o.ffn)
    model = Transformer(shape).to(o.device)
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if not any(p is m for m in matrices)]
    dtype = getattr(torch, o.type) if o.type != "auto" else faster_type(o.device)
    optimizers = [Muon(matrices, o.muon_rate, dtype),
                  torch.optim.AdamW(others, o.adam_rate, betas=(0.9, 0.95), weight_decay=0)]
    steps, used, tokens, curve_points, recent = 0, 0.0, 0, [], []
    checkpoint = f"{o.work}/checkpoint.pt"
    if os.path.exists(checkpoint):
        c = torch.load(checkpoint, map_location=o.device)
        model.load_state_dict(c["model"])
        for opt, state in zip(optimizers, c["optimizers"]):
            opt.load_state_dict(state)
        steps, used, tokens, curve_points = c["steps"], c["used"], c["tokens"], c["curve"]
        recent = c.get("recent", [])  # a point of the curve is the mean of its steps, also of those before a stop
        print(f"goes on from step {steps}", flush=True)
    elif o.init:
        model.load_state_dict(state)
        print(f"starts from {o.init}, {part_twins(model.embed.weight)} rows of the embedding anew", flush=True)
    if o.compile:
        transformer.PLAIN = 1536 if dtype == torch.bfloat16 else 0
        torch._dynamo.config.cache_size_limit = 2 * len(LENGTHS)
        for block in model.blocks:  # one graph a length serves all blocks
            block.compile(dynamic=False)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {dtype}", flush=True)

    def keep():
        save(checkpoint, dict(model=model.state_dict(), optimizers=[x.state_dict() for x in optimizers], steps=steps,
                              used=used, tokens=tokens, curve=curve_points, recent=recent, shape=vars(shape)))
    begun, kept = time.time() - used, time.time()
    for ids, weights in Batches(train, o.rows, o.seed, steps):
        done = used / (60 * o.minutes)
        if done >= 1:
            break
        for opt, rate in zip(optimizers, (o.muon_rate, o.adam_rate)):
            for group in opt.param_groups:
                group["lr"] = rate * schedule(done)
        loss, n = loss_of(model, ids, weights, o.device, dtype)
        if n == 0:
            continue
        loss.backward()
        if not math.isfinite(loss.item() + torch.nn.utils.clip_grad_norm_(others, 1.0).item()):
            raise SystemExit(f"train.py: step {steps + 1}: loss or gradients are not finite, and nothing of it was "
                             "kept; some processors need to go without --compile")
        for opt in optimizers:
            opt.step()
            opt.zero_grad(set_to_none=True)
        steps, tokens = steps + 1, tokens + int(ids.numel())
        used = time.time() - begun
        recent.append(loss.item())
        if steps % 20 == 0:
            curve_points.append((steps, tokens, round(used, 1), round(float(np.mean(recent)), 4)))
            print("step %d  %.2f M tokens  %.0f s  loss %.4f" % (steps, tokens / 1e6, used, np.mean(recent)),
                  flush=True)
            recent = []
        if time.time() - kept > 300:
            keep()
            kept = time.time()
    keep()
    curve.write(f"{o.work}/loss", curve_points)
    forms = subprocess.run([o.program, "forms", "--hash"], check=True, capture_output=True, text=True).stdout.strip()
    export.write(f"{o.work}/model.gguf", model.state_dict(), shape, tok, forms)
    with open(f"{o.work}/run.json", "w") as f:
        json.dump(dict(steps=steps, tokens=tokens, seconds=round(used), dialogues=len(train["starts"]) - 1,
                       set_tokens=int(train["starts"][-1]), parameters=sum(p.numel() for p in model.parameters()),
                       shape=vars(shape), seed=o.seed, torch=torch.__version__,
                       loss=curve_points[-1][3] if curve_points else None), f, indent=1)
    print(f"wrote {o.work}/model.gguf")
    assert math.isfinite(sum(float(p.sum()) for p in model.parameters())), "weights are not finite"


if __name__ == "__main__":
    main()
