"""Write the held-out cases that the model is judged on, as JSON Lines for `make eval-model`.

    python3 cases.py --program build/plimsoll [--per-row 300] [--seed 7] > cases.jsonl
"""
import argparse
import json

import render
from dialogues import mixer


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", required=True, help="the built plimsoll, which renders the forms")
    p.add_argument("--per-row", type=int, default=300)
    p.add_argument("--seed", default="cases")
    o = p.parse_args()
    renderer = render.Renderer(o.program)
    for group in render.batches_of(mixer.cases(o.seed, o.per_row), 100):
        for (row, d), messages in zip(group, renderer.render([d for _, d in group])):
            assert messages[-1][0] == "assistant", f"{row}: the last turn is not the model's"
            print(json.dumps({"row": row, "check": d["check"], "turn": d["turns"][-1], "expected": messages[-1][1],
                              "messages": [{"role": r, "content": c} for r, c in messages[:-1]]}))
    renderer.close()


if __name__ == "__main__":
    main()
