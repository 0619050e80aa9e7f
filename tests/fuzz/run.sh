#!/bin/sh
# run.sh - one libFuzzer target for some seconds.
#
#   sh tests/fuzz/run.sh PROGRAM NAME SECONDS FOLDER
#
# Starts from tests/fuzz/corpus/TARGET and what earlier runs found new (FOLDER/corpus/TARGET, where new inputs go too;
# the committed corpus is not written).  A finding lies in FOLDER/finds, its report at the end of FOLDER/NAME.log.
set -eu

program=$1
name=$2
seconds=$3
folder=$4
target=${name#fuzz_}
seeds=tests/fuzz/corpus/$target
grown=$folder/corpus/$target
log=$folder/$name.log

mkdir -p "$grown" "$folder/finds"
[ -d "$seeds" ] || { echo "$name: no seed corpus, $seeds is missing" >&2; exit 1; }
set -- -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2560 -print_final_stats=1 \
    -artifact_prefix="$folder/finds/$target-" "$grown" "$seeds"
[ ! -f "tests/fuzz/$target.dict" ] || set -- -dict="tests/fuzz/$target.dict" "$@"

echo "  FUZZ $name for $seconds s (log: $log)"
if "$program" "$@" >"$log" 2>&1; then
    done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    echo "  ok   $name: no finding in $seconds s, ${done:-?} inputs, ${cover:-?} edges covered"
else
    echo "  FAIL $name: see $folder/finds; the report:"
    tail -n 60 "$log" | sed 's/^/        | /'
    exit 1
fi
