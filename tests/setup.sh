#!/bin/sh
# setup.sh - finds what a build needs, installs what is missing where that is apt's to do, and writes down for make
# how to compile against it.
#
#   sh tests/setup.sh STAGE FILE.mk    STAGE: build | test (cmocka, jq, tmux, g++) | clang (cmocka) | fuzz (clang, libFuzzer)
#
# FILE.mk is the mark that this was done: make calls again only when it, or a header named in it, is gone or newer.
# On Debian and its children apt-get installs, as root or through sudo; elsewhere this names the packages and stops.
set -eu

stage=$1
out=$2
cc=${CC:-gcc}

# A row: the need, then its package for apt, dnf, pacman, zypper, apk, brew ("-": nothing to install there).
table='
libc        libc6-dev       glibc-devel        glibc    glibc-devel        musl-dev     -
g++         g++             gcc-c++            gcc      gcc-c++            g++          -
pkg-config  pkg-config      pkgconf-pkg-config pkgconf  pkg-config         pkgconf      pkgconf
libpcre2-8  libpcre2-dev    pcre2-devel        pcre2    pcre2-devel        pcre2-dev    pcre2
jansson     libjansson-dev  jansson-devel      jansson  libjansson-devel   jansson-dev  jansson
lmdb        liblmdb-dev     lmdb-devel         lmdb     lmdb-devel         lmdb-dev     lmdb
libzstd     libzstd-dev     libzstd-devel      zstd     libzstd-devel      zstd-dev     zstd
libutf8proc libutf8proc-dev utf8proc-devel     libutf8proc utf8proc-devel  utf8proc-dev utf8proc
gmp         libgmp-dev      gmp-devel          gmp      gmp-devel          gmp-dev      gmp
libseccomp  libseccomp-dev  libseccomp-devel   libseccomp libseccomp-devel libseccomp-dev -
yaml-0.1    libyaml-dev     libyaml-devel      libyaml  libyaml-devel      yaml-dev     libyaml
libmicrohttpd libmicrohttpd-dev libmicrohttpd-devel libmicrohttpd libmicrohttpd-devel libmicrohttpd-dev libmicrohttpd
libcurl     libcurl4-openssl-dev libcurl-devel curl    libcurl-devel      curl-dev     curl
jq          jq              jq                 jq       jq                 jq           jq
ncursesw    libncurses-dev  ncurses-devel      ncurses  ncurses-devel      ncurses-dev  ncurses
cmocka      libcmocka-dev   libcmocka-devel    cmocka   libcmocka-devel    cmocka-dev   cmocka
tmux        tmux            tmux               tmux     tmux               tmux         tmux
clang       clang           clang              clang    clang              clang        llvm
torch       python3-torch   -                  -        -                  -            -
numpy       python3-numpy   -                  -        -                  -            -
libfuzzer   libclang-rt-dev compiler-rt        -        -                  compiler-rt  -
'
libraries='libpcre2-8 jansson lmdb libzstd libutf8proc gmp libseccomp yaml-0.1 ncursesw'
opened='libmicrohttpd libcurl' # at run time, by who serves and who asks a server
needs="libc pkg-config $libraries $opened"
case $stage in
build) ;;
test)  needs="$needs cmocka jq tmux g++" ;;
clang) needs="$needs cmocka clang g++" ;;
fuzz)  needs="$needs clang libfuzzer" ;;
*)     echo "setup.sh: no stage \"$stage\"" >&2; exit 2 ;;
esac
# What tests/train.sh needs is large, and without it that test says that it is skipped: only CI gets it unasked.
if [ "$stage" = test ] && [ "${CI:-}" = true ] && command -v apt-get >/dev/null; then needs="$needs torch numpy"; fi
case "$cc: $needs " in
*:*" clang "*) ;;
*clang:*)      needs="$needs clang" ;;
esac

# The compiler may be several words (ccache gcc): $cc is split on purpose.
have() {
    case $1 in
    libc)             printf '#include <stdio.h>\n' | $cc -E - >/dev/null 2>&1 ;;
    torch|numpy)      /usr/bin/python3 -c "import $1" 2>/dev/null ;;
    pkg-config|clang|jq|tmux|g++) command -v "$1" >/dev/null ;;
    libfuzzer)        printf 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }\n' |
                          clang -x c -fsanitize=fuzzer,address -o "$out.probe" - >/dev/null 2>&1 ;;
    *)                command -v pkg-config >/dev/null && pkg-config --exists "$1" ;;
    esac
}

missing() {
    for need in $needs; do
        have "$need" || printf '%s ' "$need"
    done
    rm -f "$out.probe"
}

# Their names for the package manager in column $1 of the table.
packages() {
    column=$1
    shift
    for need in "$@"; do
        printf '%s\n' "$table" | awk -v need="$need" -v c="$column" '$1 == need && $c != "-" { printf "%s ", $c }'
    done
}

stop() {
    echo "plimsoll needs some packages that are not here.  Install them and run make again:" >&2
    echo "    $1" >&2
    exit 1
}

apt_install() {
    as_root=
    if [ "$(id -u)" != 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null || stop "apt-get install $*      (as root; there is no sudo here)"
        sudo -n true 2>/dev/null || [ -t 2 ] || stop "sudo apt-get install $*"
    fi
    echo "installing with apt-get: $*" >&2
    log=$out.log
    set -- -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install "$@" </dev/null >"$log" 2>&1 && return
    echo "the package lists are old or missing: apt-get update" >&2
    if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install "$@"; } \
        </dev/null >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "apt-get could not install them; the whole log is $log" >&2
        exit 1
    fi
}

mkdir -p "$(dirname "$out")"
if ! command -v "${cc%% *}" >/dev/null && [ "$cc" != clang ]; then
    echo "plimsoll needs a C compiler: there is no \"${cc%% *}\" (Debian: apt-get install gcc)" >&2
    exit 1
fi
lack=$(missing)
if [ -n "$lack" ]; then
    # $lack is a list of words, split on purpose.
    if   command -v apt-get >/dev/null; then apt_install $(packages 2 $lack)
    elif command -v dnf     >/dev/null; then stop "sudo dnf install $(packages 3 $lack)"
    elif command -v pacman  >/dev/null; then stop "sudo pacman -S $(packages 4 $lack)"
    elif command -v zypper  >/dev/null; then stop "sudo zypper install $(packages 5 $lack)"
    elif command -v apk     >/dev/null; then stop "sudo apk add $(packages 6 $lack)"
    elif command -v brew    >/dev/null; then stop "brew install $(packages 7 $lack)"
    else stop "(as Debian names them) $(packages 2 $lack)"
    fi
    lack=$(missing)
    if [ -n "$lack" ]; then
        echo "installed, but still not found: $lack(is pkg-config looking in the right place?)" >&2
        exit 1
    fi
fi

# A header of each library: where one is gone (another machine, same folder) make comes here again.
headers=
for pair in libpcre2-8/pcre2.h jansson/jansson.h lmdb/lmdb.h libzstd/zstd.h libutf8proc/utf8proc.h gmp/gmp.h \
    libseccomp/seccomp.h yaml-0.1/yaml.h ncursesw/curses.h libmicrohttpd/microhttpd.h libcurl/curl/curl.h \
    cmocka/cmocka.h; do
    case " $needs " in *" ${pair%/*} "*) ;; *) continue ;; esac
    folder=$(pkg-config --variable=includedir "${pair%/*}")
    file=${folder:-/usr/include}/${pair#*/}
    [ ! -f "$file" ] || headers="$headers $file"
done
# The Makefile says by itself which of the system's calls are declared (ncursesw would say it too, otherwise).
cflags=$(pkg-config --cflags $libraries $opened | sed -E 's/-D_(DEFAULT|XOPEN|GNU)_SOURCE[^ ]* *//g')
{
    echo "# written by tests/setup.sh"
    echo "PKG_CFLAGS := $cflags"
    echo "PKG_LIBS := $(pkg-config --libs $libraries)"
    case $needs in *cmocka*) echo "TEST_LIBS := $(pkg-config --libs cmocka)" ;; esac
    echo "SETUP_FILES :=$headers"
} >"$out.new"
mv "$out.new" "$out"
