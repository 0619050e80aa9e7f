#!/bin/sh
# evaluate.sh - the table of `make eval-model`: cases that training has not seen, asked and judged by plimsoll itself.
#
#   sh assets/model/evaluate.sh BUILD_FOLDER [flags of the judge: --help lists them]
set -eu
build=$1
shift
cases=$build/cases.jsonl
PYTHONPATH=assets/model python3 assets/model/cases.py --program "$build/plimsoll" >"$cases.new"
mv "$cases.new" "$cases"
exec "$build/tests/eval" -m assets/plimsoll-tiny.gguf "$@" "$cases"
