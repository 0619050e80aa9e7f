#!/bin/sh
# arrows.sh - includes point one way: app -> engine, memory, tools; engine -> kernels; plimsoll.h below all.
#
# Siblings never include each other and nothing includes upward; what they need of each other app/ passes in.  Includes
# are written from the repository's root ("engine/gguf.h"), so that a line shows where its arrow goes.  Beside it: no
# file has what a merge leaves where it was not finished.
set -eu

# The source files of those rooms that are there (an early tree has few of them).
sources() {
    for room in "$@"; do
        [ ! -e "$room" ] || find "$room" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \)
    done
}

# The lines FILE:N:#include ... of the rooms named.
includes() {
    list=$(sources "$@")
    [ -z "$list" ] || grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' $list || true
}

bad=0
# forbid WHAT PATTERN ROOM...: no include of those rooms has a target that PATTERN (extended) fits.
forbid() {
    what=$1
    pattern=$2
    shift 2
    found=$(includes "$@" | grep -E "include[[:space:]]*[\"<]($pattern)" || true)
    [ -n "$found" ] || return 0
    echo "$what:"
    printf '%s\n' "$found" | sed 's/^/    /'
    bad=1
}

rooms='app engine kernels memory tools tests plimsoll.h'
[ -n "$(sources $rooms)" ] || { echo "arrows: no source here" >&2; exit 1; }

forbid 'engine/ includes upward or sideways'         '(app|memory|tools|tests)/'    engine
forbid 'memory/ includes upward or sideways'         '(app|tools|engine|kernels|tests)/' memory
forbid 'tools/ includes upward or sideways'          '(app|memory|engine|kernels|tests)/' tools
forbid 'app/ includes tests/'                        'tests/'                       app
forbid 'kernels/ includes upward'                    '(app|engine|memory|tools|tests)/' kernels
forbid 'an include is not written from the root'     '\.\.?/|[^">]*/\.\./'          $rooms
others=$(includes kernels | grep -E 'include[[:space:]]*"' |
    grep -vE 'include[[:space:]]*"(kernels/[^"]*|plimsoll\.h)"' || true)
if [ -n "$others" ]; then
    echo 'kernels/ includes something but kernels/ and plimsoll.h:'
    printf '%s\n' "$others" | sed 's/^/    /'
    bad=1
fi
if [ -f plimsoll.h ] && grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' plimsoll.h; then
    echo 'plimsoll.h includes a header of the project'
    bad=1
fi
list=$(sources $rooms)
if grep -nHE '^(<<<<<<<|>>>>>>>) ' $list Makefile README.md; then
    echo 'a merge was not finished there'
    bad=1
fi
[ $bad = 0 ] && echo "arrows: every include points downwards"
