#!/bin/sh
# sources.sh - one number for all that the pack is built from: a pack of other sources is none of this tree.  Without
# git, which a copy of a tree may be without.
#
#   sh tests/gpu/sources.sh      (from the repository's root)
set -eu
export LC_ALL=C
{
    echo Makefile
    find plimsoll.h app engine kernels memory tools tests assets -type f ! -path 'tests/gpu/results/*' \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name '*.gguf' -o -name '*.ref' \
        -o -path 'assets/forms/*' -o -path 'assets/crews/*' \)
} | sort | tr '\n' '\0' | xargs -0 sha1sum | sha1sum | cut -c 1-32
