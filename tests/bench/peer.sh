#!/bin/sh
# peer.sh - builds the driver of the peer (llama.cpp) that plimsoll's speed is compared with, when it is not there yet.
#
#   sh tests/bench/peer.sh FOLDER       prints the path of the driver, FOLDER/peer; or says why there is none, and ends with 1
#
# The peer's library and headers are those of an installed llama-cpp-python, in $PLIMSOLL_PEER (a virtual environment or a
# site-packages folder) or where the python3 on the path has it.  For figures that mean something let pip build it on
# the machine that measures (CMAKE_ARGS=-DGGML_NATIVE=ON pip install --no-binary llama-cpp-python llama-cpp-python): a prebuilt
# one may be half as fast.  The driver's source is ../shared/bin/peer/peer_bench.c; the limits.c that it includes
# is ours, tests/bench/peer/limits.c.
set -eu

out=$1
source=../shared/bin/peer

die() { echo "no peer: $*" >&2; exit 1; }

site=
if [ -n "${PLIMSOLL_PEER:-}" ]; then
    for folder in "$PLIMSOLL_PEER" "$PLIMSOLL_PEER"/lib/python3*/site-packages; do
        [ ! -d "$folder/llama_cpp/lib" ] || site=$folder
    done
    [ -n "$site" ] || die "\$PLIMSOLL_PEER ($PLIMSOLL_PEER) has no llama_cpp/lib in it"
else
    # Asked for, not imported: an import would load the library.
    site=$(python3 -c 'import importlib.util as u, os
s = u.find_spec("llama_cpp")
print(os.path.dirname(os.path.dirname(s.origin)) if s else "")' 2>/dev/null) || site=
    [ -n "$site" ] || die "python3 has no llama-cpp-python, and \$PLIMSOLL_PEER names none"
fi
libs=$(cd "$site/llama_cpp/lib" && pwd) || die "$site/llama_cpp has no lib folder"
[ -f "$source/peer_bench.c" ] || die "the driver's source, $source/peer_bench.c, is not here"
[ -f "$libs/libllama.so" ] || die "$libs has no libllama.so"
headers=
for folder in "$site/include" "$site/llama_cpp/include"; do
    [ ! -f "$folder/llama.h" ] || headers=$folder
done
[ -n "$headers" ] || die "no llama.h beside $site/llama_cpp: install it from its source package, which brings the headers"

# Built from what, so that another installation, or a newer driver, is noticed.
probe="tests/bench/peer/limits.c tests/bench/limits.c tests/bench/quiet.c"
stamp="$libs $(ls -lL --time-style=+%s "$libs/libllama.so" "$source/peer_bench.c" $probe | awk '{ print $5, $6 }' | tr '\n' ' ')"
if [ ! -x "$out/peer" ] || [ "$(cat "$out/peer.from" 2>/dev/null)" != "$stamp" ]; then
    mkdir -p "$out"
    # A library made for many machines loads its CPU part when it runs, from a folder that it must be told.
    plugins=
    for file in "$libs"/libggml-cpu-*.so; do
        [ ! -f "$file" ] || plugins=$libs
    done
    cpu=
    [ ! -f "$libs/libggml-cpu.so" ] || cpu=-lggml-cpu
    log=$out/peer.log
    cp "$source/peer_bench.c" "$out/peer_bench.c" # away from the limits.c beside it: it is to find ours
    "${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE= -O3 -march=native -pthread -I "$headers" -I. \
        -iquote tests/bench/peer -DLIBDIR="\"$plugins\"" -o "$out/peer" "$out/peer_bench.c" tests/bench/limits.c tests/bench/quiet.c \
        -L "$libs" -lllama -lggml -lggml-base $cpu "-Wl,-rpath,$libs" -lm >"$log" 2>&1 ||
        die "its driver does not compile here ($(grep -m 1 error "$log" || echo 'no reason given'); all of it in $log)"
    printf '%s\n' "$stamp" >"$out/peer.from"
fi
printf '%s\n' "$out/peer"
