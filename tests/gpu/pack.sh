#!/bin/sh
# pack.sh - what gpu-check runs, in one folder that needs nothing but a C library and a driver where it is carried to:
#
#   plimsoll, plimsoll-cuda.so     the program and its CUDA kernels
#   check/                         the checks, and kernels whose calls of CUDA are counted
#   lib/                           libraries of both, but the C library's and the driver's
#   assets/, tests/                models, by the paths that they have in the tree
#   made                           the commit, the sources' number and the compilers, in lines for the result file
#
# All but the models and the last is compressed; check.sh unpacks it.
#
#   sh tests/gpu/pack.sh BUILD PACK NVCC      (from the repository's root, after a build; make gpu-pack)
set -eu

build=$1 pack=$2 nvcc=$3
most=$((40 << 20)) # bytes
checks='steps mix sample answers memory fast ids speed device'
new=$pack.new

stop() {
    rm -rf "$new"
    echo "gpu-pack: $1" >&2
    exit 2
}

[ -f "$build/device/plimsoll-cuda.so" ] && [ -f "$build/device/counted/plimsoll-cuda.so" ] ||
    stop "there are no CUDA kernels to pack: nvcc builds them (NVCC=FILE names one)"

rm -rf "$new"
mkdir -p "$new/check" "$new/lib" "$new/assets" "$new/tests/fixtures"
strip -o "$new/plimsoll" "$build/plimsoll" # of what debuggers want
cp "$build/device/plimsoll-cuda.so" "$new/"
cp "$build/device/counted/plimsoll-cuda.so" "$new/check/"
for c in $checks; do strip -o "$new/check/$c" "$build/gpu/$c"; done
cp tests/gpu/program.sh "$new/check/"
cp assets/plimsoll-tiny.gguf "$new/assets/"
cp tests/fixtures/*.gguf tests/fixtures/*.ref tests/fixtures/plimsoll-tiny.json "$new/tests/fixtures/"

# What the checks want of the object beside them is in the one that they get here, and not only in the shim's.
wanted=$(nm -D --undefined-only "$new"/check/* 2>/dev/null | awk '$1 == "U" && $2 ~ /^(shim|gpu)_/ {print $2}' |
    sort -u)
there=$(nm -D --defined-only "$new/check/plimsoll-cuda.so" 2>/dev/null | awk '{print $3}')
for name in $wanted; do
    echo "$there" | grep -qx "$name" || stop "tests/gpu/counted.cu has no $name(), which a check calls"
done

# The C library is the machine's own, with all that must be of its version.
ldd "$new/plimsoll" "$new"/check/* 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u |
while read -r name file; do
    case $name in
    libc.so*|libm.so*|libpthread.so*|libdl.so*|librt.so*|libresolv.so*|ld-linux*|libcuda.so*|plimsoll-cuda.so) ;;
    *) cp -L "$file" "$new/lib/$name" ;;
    esac
done

{
    echo "commit: $(git describe --always --dirty --tags 2>/dev/null || echo unknown)"
    echo "sources: $(sh tests/gpu/sources.sh)"
    echo "built: $(head -n 1 "$build/flags" 2>/dev/null); $("${nvcc:-nvcc}" --version 2>/dev/null |
        sed -n 's/.*release \([0-9.]*\),.*/nvcc \1/p') for sm $(
        grep -o 'code=sm_[0-9a-z]*' "$build/device/nvcc-flags" 2>/dev/null | sed 's/code=sm_//' | tr '\n' ' ')"
} >"$new/made"

gzip -n "$new/plimsoll" "$new/plimsoll-cuda.so" "$new"/check/* "$new"/lib/*
bytes=$(du -sb "$new" | cut -f 1)
[ "$bytes" -le "$most" ] || stop "the pack would be $bytes bytes, and $most are the most that it may be"
rm -rf "$pack"
mv "$new" "$pack"
echo "gpu-pack: $pack: $((bytes / 1024)) KiB"
