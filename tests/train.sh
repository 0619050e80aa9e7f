#!/bin/sh
# train.sh - the one-minute version of how the embedded model is made: every step of assets/model/, on a model too small
# to be of use.  That the figures of the real one are reached is for `make eval-model`.
set -eu
build=${BUILD:-build}
program=$build/plimsoll
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One thread: a second gains a model of this size nothing, and another test runs beside this one.
export PYTHONPATH=assets/model PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1

python=
for p in "${PYTHON:-python3}" /usr/bin/python3; do
    if "$p" -c 'import torch, numpy' 2>/dev/null; then python=$p; break; fi
done
if [ -z "$python" ]; then
    [ "${CI:-}" != true ] || { echo "train.sh: no Python with torch and numpy, which CI must have" >&2; exit 1; }
    echo "skipped: train: no Python with torch and numpy (Debian: apt-get install python3-torch python3-numpy)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

fail() { echo "train.sh: $*" >&2; exit 1; }

# train_until POINTS RUN MINUTES OPTION...: trains for so long, and goes on, up to 12 times that, until the curve in
# RUN has so many points (of 20 steps each).  A slow machine needs the time that a fast one does not.
train_until() {
    points=$1 run=$2 minutes=$3
    shift 3
    for times in 1 2 3 4 6 8 12; do
        "$python" assets/model/train.py "$@" --minutes "$(awk "BEGIN { print $minutes * $times }")"
        [ "$(wc -l <"$run/loss.csv")" -le "$points" ] || return 0
    done
    fail "fewer than $points points after 12 times $minutes minutes"
}

echo "# dialogues: every module's own check"
for module in clipped crew field recall summary talk toolcalls; do
    "$python" -m dialogues.$module >"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail "dialogues.$module"; }
done

echo "# cases: each expected answer satisfies its own check"
"$python" assets/model/cases.py --program "$program" --per-row 40 >"$work/cases.jsonl"
"$build/tests/eval" --check "$work/cases.jsonl"

echo "# train, be stopped, go on, export"
small="--work $work/run --program $program --dialogues 1200 --dim 64 --layers 2 --heads 2 --ffn 128 --rows 512 --type float32 --device cpu"
"$python" assets/model/train.py $small --type auto --minutes 0.06
train_until 3 "$work/run" 0.12 $small | tee "$work/log" # whose status is tee's
[ "$(wc -l <"$work/run/loss.csv")" -gt 2 ] || fail "the second run has too few points"
grep -q '^goes on from step [1-9]' "$work/log" || fail "the second run did not go on from the first one's checkpoint"
for f in model.gguf loss.csv loss.svg run.json; do [ -s "$work/run/$f" ] || fail "no $f"; done
awk -F, 'END { exit !($4 < 6) }' "$work/run/loss.csv" || fail "the loss did not fall" # 8.3 is chance

echo "# a later run starts from its file"
"$python" assets/model/export.py "$work/run/model.gguf" "$work/again.gguf"
cmp "$work/run/model.gguf" "$work/again.gguf" || fail "a model that was read and written again has changed"
train_until 1 "$work/later" 0.05 $small --muon-rate 0.002 --adam-rate 0.0004 --share field=60 --dialogues 400 --work "$work/later" --init "$work/run/model.gguf" >"$work/log"
grep -q '^starts from ' "$work/log" || fail "--init was not used"
cmp "$work/run/tokenizer.json" "$work/later/tokenizer.json" || fail "a later run has another tokenizer"
# Its first steps are better than the first of the run that began from nothing, however few steps a slow machine made.
awk -F, 'FNR == 2 { first[++n] = $4 } END { exit !(n == 2 && first[2] < first[1]) }' "$work/run/loss.csv" "$work/later/loss.csv" ||
    fail "the later run began from nothing"

echo "# the mean of two runs lies between them, that of a run and itself is that run"
"$python" assets/model/average.py "$work/run" "$work/later" "$work/mean" --program "$program"
"$python" assets/model/average.py "$work/run" "$work/run" "$work/same" --program "$program"
cmp "$work/run/model.gguf" "$work/same/model.gguf" || fail "the mean of a run and itself is another model"
for run in run later; do
    ! cmp -s "$work/$run/model.gguf" "$work/mean/model.gguf" || fail "the mean of two runs is one of them"
done
[ "$(wc -l <"$work/mean/loss.csv")" = "$(($(wc -l <"$work/run/loss.csv") + $(wc -l <"$work/later/loss.csv") - 1))" ] ||
    fail "the mean's curve is not both runs'"

echo "# drills: what they ask for was said"
"$python" assets/model/drills.py "$work/run/tokenizer.json"

echo "# the tokenizer in Python cuts as the one in C does"
"$python" assets/model/same_tokens.py --program "$program" --model "$work/run/model.gguf" --tokenizer "$work/run/tokenizer.json"

echo "# plimsoll speaks it"
"$build/tests/eval" -m "$work/run/model.gguf" --max-tokens 16 "$work/cases.jsonl" | grep -q 'field.facts' || fail "no table"
