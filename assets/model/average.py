"""One model of two runs, the second of which went on from the first: the mean of their weights.

    python3 average.py A B OUT --program build/plimsoll      A, B: folders of runs, with their checkpoints; OUT: a third

Near the end of a run weights still wander about what they are learning; the mean of two such places is often better
than either ("stochastic weight averaging", Izmailov et al., 2018).  Writes OUT/model.gguf, loss.csv and loss.svg of
both, one run behind the other, and run.json with the figures of each.
"""
import argparse
import json
import os
import subprocess

import torch

import curve
import export
from tokenizer import Tokenizer
from transformer import Shape


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("runs", nargs=2)
    p.add_argument("out")
    p.add_argument("--program", required=True, help="the built plimsoll, whose forms both were trained on")
    o = p.parse_args()
    os.makedirs(o.out, exist_ok=True)
    a, b = (torch.load(f"{run}/checkpoint.pt", map_location="cpu", weights_only=False) for run in o.runs)
    sizes = [{name: tuple(w.shape) for name, w in run["model"].items()} for run in (a, b)]
    if sizes[0] != sizes[1]:
        raise SystemExit("average.py: the runs are of different shapes")
    tok, other = (Tokenizer.load(f"{run}/tokenizer.json") for run in o.runs)
    if tok.tokens != other.tokens:
        raise SystemExit("average.py: the runs have different tokenizers")
    weights = {name: (a["model"][name] + b["model"][name]) / 2 for name in a["model"]}
    forms = subprocess.run([o.program, "forms", "--hash"], check=True, capture_output=True, text=True).stdout.strip()
    export.write(f"{o.out}/model.gguf", weights, Shape(**b["shape"]), tok, forms)
    later = [(steps + a["steps"], tokens + a["tokens"], round(used + a["used"], 1), loss)
             for steps, tokens, used, loss in b["curve"]]
    curve.write(f"{o.out}/loss", a["curve"] + later)
    figures = []
    for run in o.runs:
        with open(f"{run}/run.json") as f:
            figures.append(json.load(f))
    with open(f"{o.out}/run.json", "w") as f:
        json.dump(figures, f, indent=1)


if __name__ == "__main__":
    main()
