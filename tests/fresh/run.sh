#!/bin/sh
# run.sh - the proof that `make run` and `make test` are enough: a bare Debian 12 made by debootstrap, with git, make
# and gcc in it and nothing else, a clean clone of HEAD, and both commands.  `make fresh` calls it; by hand, not in CI.
#
# Where Debian comes from is asked of this machine's own apt when this runs: mirror, proxy and the like.  The vectors
# are those of ../shared, where that folder is.  Needs root, a network, about 1.5 GB and some minutes.
# FRESH_DIR: where the root is made (/var/tmp).  FRESH_KEEP=1: leave it there.
set -eu

suite=bookworm
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
cd "$(dirname "$0")/../.."

die() { echo "fresh: $*" >&2; exit 1; }
say() { echo "== $*"; }

[ "$(id -u)" = 0 ] || die "needs root (debootstrap, chroot): sudo make fresh"
command -v apt-get >/dev/null || die "needs a Debian or Ubuntu, whose apt says where packages come from"
git rev-parse --verify -q HEAD >/dev/null || die "there is no commit to clone yet"
[ -z "$(git status --porcelain)" ] || say "note: what is not committed is not in the clone, and not proved"
if ! command -v debootstrap >/dev/null; then
    say "installing debootstrap"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap >/dev/null
fi

# One line a source of that Debian: URI and release (bookworm, bookworm-updates, bookworm-security).
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite=$suite '$3 == "main" && ($2 == suite || $2 == suite "-updates" || $2 == suite "-security")' | sort -u)
mirror=$(printf '%s\n' "$sources" | awk -v suite=$suite '$2 == suite { print $1; exit }')
[ -n "$mirror" ] || die "this machine's apt knows no source of Debian 12 ($suite)"

root=$(mktemp -d "${FRESH_DIR:-/var/tmp}/plimsoll-fresh-XXXXXX")
chmod 755 "$root"
trap '[ -n "${FRESH_KEEP:-}" ] || rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT TERM

# debootstrap fetches with wget, which does not read apt's configuration.
for kind in http https; do
    eval "proxy=\${${kind}_proxy:-}"
    [ -n "$proxy" ] || eval "$(apt-config shell proxy "Acquire::$kind::Proxy")"
    [ -z "$proxy" ] || [ "$proxy" = DIRECT ] || export "${kind}_proxy=$proxy"
done

say "debootstrap: a bare Debian 12"
[ ! -f $keyring ] || set -- --keyring=$keyring
debootstrap --variant=minbase --include=git,make,gcc "$@" $suite "$root" "$mirror" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log" >&2
    rm -f "$root.log"
    die "debootstrap failed"
}
rm -f "$root.log"

# The new machine reaches its packages as this one does: sources, proxies, names, certificates.
printf '%s\n' "$sources" | awk '{ print "deb", $1, $2, $3 }' >"$root/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|ForceIPv)' >"$root/etc/apt/apt.conf.d/00host" || true
for path in /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/apt/keyrings /etc/apt/trusted.gpg.d \
    /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt \
    $(apt-config dump --format '%v%n' Acquire::https::CAInfo); do
    [ -e "$path" ] || continue
    mkdir -p "$root$(dirname "$path")"
    cp -rL "$path" "$root$(dirname "$path")/"
done

say "a clean clone of $(git rev-parse --short HEAD)"
git -c safe.directory='*' clone -q --no-hardlinks . "$root/root/plimsoll"
if [ -d ../shared/vectors ]; then
    mkdir "$root/root/shared"
    cp -rL ../shared/vectors "$root/root/shared/"
fi

# The mounts are in a namespace of their own and go with it, whatever ends this.
inside() {
    ROOT=$root unshare --mount --pid --fork sh -euc '
        mount -t proc proc "$ROOT/proc"
        mount -t tmpfs tmpfs "$ROOT/dev/shm" 2>/dev/null || true
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$ROOT/dev/pts" 2>/dev/null || true
        exec chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
            ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"' sh "$@"
}

say "make run"
answer=$(echo "Hello" | inside make -C /root/plimsoll --no-print-directory run)
printf '%s\n' "$answer"
case $answer in Hello*) ;; *) die "the embedded model did not greet back" ;; esac

say "make test"
if [ -d "$root/root/shared/vectors" ]; then strict=CI=true; else strict=CI=; fi
inside $strict make -C /root/plimsoll --no-print-directory test </dev/null

say "both commands do all there is to do on a bare Debian 12"
