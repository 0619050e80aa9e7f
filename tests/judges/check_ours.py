#!/usr/bin/env python3
"""check_ours.py - the program itself beside llama.cpp, live, on any GGUF files.  By hand; `make test` does not need it.

    DIR/bin/python tests/judges/check_ours.py build/plimsoll [FILE.gguf ...] [--text FILE]

(DIR: the virtual environment of requirements.txt.)  Without files: the models of tests/fixtures, and those of the test
vectors (environment PLIMSOLL_VECTORS, default ../shared/vectors) where they are.  Both read the same file and the same
text and tokenise it themselves; compared is the mean negative log-likelihood that `plimsoll -m FILE --nll TEXT` prints.
Types that the program refuses by name are counted as refused, not as wrong."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf

import judges

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = ("The cat and the dog sat on the mat, and then it rained.  \"Who is there?\" asked the old man; "
        "nobody answered him.\n\n"
        "In the morning they were gone: 3 coins, 1 caf\u00e9 and a letter that began with \u201cDear all\u201d.\n")
EXACT = ("F32", "F16")
TOLERANCE = {True: 0.002, False: 0.02}  # mean NLL of trained models, as the vectors' README says: exact types, others
RANDOM = 5                              # the random models' logits are several times as wide


def weight_types(path):
    return sorted({t.tensor_type.name for t in gguf.GGUFReader(path).tensors if len(t.shape) == 2})


def theirs(path, text):
    """(mean NLL, tokens) by llama.cpp, F16 K/V as the program's default."""
    llama = judges.Llama(path, "F16")
    try:
        ids = llama.tokens(text)
        return -float(judges.next_logprobs(llama.logits(ids), ids).mean()), len(ids)
    finally:
        llama.close()


def ours(program, path, text_file):
    """Mean NLL, or None and what the program said."""
    run = subprocess.run([program, "-m", str(path), "--nll", text_file], stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, timeout=600)
    numbers = re.findall(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?", run.stdout)
    if run.returncode or not numbers:
        return None, "exit %d: %s" % (run.returncode, (run.stderr.strip().splitlines() or [run.stdout.strip()])[-1])
    return float(numbers[-1]), ""


def main():
    p = argparse.ArgumentParser(description="Compare the program's mean negative log-likelihood with llama.cpp's.")
    p.add_argument("program")
    p.add_argument("model", nargs="*", type=Path)
    p.add_argument("--text", type=Path, help="another text, at most 500 tokens")
    a = p.parse_args()
    models = a.model
    if not models:
        vectors = Path(os.environ.get("PLIMSOLL_VECTORS", ROOT / ".." / "shared" / "vectors"))
        models = sorted((ROOT / "tests" / "fixtures").glob("*.gguf")) + sorted(vectors.glob("models/*/*.gguf"))
    text = a.text.read_bytes() if a.text else TEXT.encode()
    wrong = refused = 0
    with tempfile.NamedTemporaryFile(suffix=".txt") as f:
        f.write(text)
        f.flush()
        for path in models:
            types = weight_types(path)
            want, n = theirs(path, text)
            got, said = ours(a.program, path, f.name)
            if got is None:
                refused += 1
                print("%-36s refused: %s" % (path.name, said))
                continue
            tol = TOLERANCE[all(t in EXACT for t in types)] * (RANDOM if path.parent.name == "fixtures" else 1)
            bad = not abs(got - want) <= tol
            wrong += bad
            print("%-36s %-16s %3d tokens  ours %.6f  llama.cpp %.6f  off %+.1e of %.0e%s" % (
                path.name, " ".join(types), n, got, want, got - want, tol, "  WRONG" if bad else ""))
    print("%d compared, %d wrong, %d refused" % (len(models) - refused, wrong, refused))
    return 1 if wrong or refused == len(models) else 0


if __name__ == "__main__":
    sys.exit(main())
