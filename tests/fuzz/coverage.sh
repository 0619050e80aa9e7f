#!/bin/sh
# coverage.sh - replays the fuzz corpora through a build with --coverage and prints the line coverage of the files that
# read outside bytes.  Fails below COVER_MIN percent (90).
#
#   sh tests/fuzz/coverage.sh FOLDER TARGET...
set -eu

folder=$1
shift
least=${COVER_MIN:-90}

# The files a target answers for: named in its source (covers: engine/a.c engine/b.c), else the engine's of its name.
covered() {
    named=$(sed -n 's/.*covers: *\([a-z0-9_/. -]*\.c\).*/\1/p' "tests/fuzz/$1.c")
    echo "${named:-engine/${1#fuzz_}.c}"
}

[ $# != 0 ] || { echo "no fuzz target: tests/fuzz has no fuzz_*.c" >&2; exit 1; }
find "$folder" -name '*.gcda' -exec rm {} +
for target in "$@"; do
    "$folder/tests/$target" "tests/fuzz/corpus/${target#fuzz_}"
done

low=0
for target in "$@"; do
    for file in $(covered "$target"); do
        [ -f "$file" ] || { echo "tests/fuzz/$target.c is to cover $file, which is not there" >&2; exit 1; }
        percent=$(gcov -n -o "$folder/obj/$(dirname "$file")" "$file" 2>/dev/null |
            awk -v file="$file" -F "[:% ]+" '$0 == "File \047" file "\047" { ours = 1; next }
                ours && /^Lines executed/ { print $3, $5; exit }')
        [ -n "$percent" ] || percent='0.00 ?'
        echo "$percent" |
            awk -v f="$file" -v t="$target" '{ printf "  %6s %% of %4s lines  %-28s (%s)\n", $1, $2, f, t }'
        echo "$percent" | awk -v least="$least" '{ exit !($1 >= least) }' || low=1
    done
done
[ $low = 0 ] || { echo "below the $least % that the corpora are to reach" >&2; exit 1; }
