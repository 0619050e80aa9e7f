#!/bin/sh
# tui.sh - the full screen in a real terminal (tmux): it types, streams, resizes, cancels, suspends, resumes; and
# however the program ends, the terminal is as it was and the session is saved.
set -eu
build=${BUILD:-build}
program=$PWD/$build/plimsoll

if ! command -v tmux >/dev/null; then
    [ "${CI:-}" != true ] || { echo "tui.sh: no tmux, which CI must have" >&2; exit 1; }
    echo "skipped: tui: no tmux (Debian: apt-get install tmux)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

work=$(mktemp -d)
tm() { tmux -L "plimsoll-$$" -f /dev/null "$@"; }
# What still writes there while it dies may make a folder not empty again.
clean() {
    tm kill-server 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf "$work" 2>/dev/null && return
        sleep 0.2
    done
    return 0
}
trap clean EXIT

screen() { tm capture-pane -p -t t 2>/dev/null || true; }

fail() {
    echo "tui.sh: $*" >&2
    screen >&2
    exit 1
}

# Till the screen shows it, or does not any more: 15 seconds at most.
wait_for() {
    for _ in $(seq 150); do
        if screen | grep -qF -- "$1"; then return 0; fi
        sleep 0.1
    done
    fail "\"$1\" is not on the screen"
}
wait_gone() {
    for _ in $(seq 150); do
        if ! screen | grep -qF -- "$1"; then return 0; fi
        sleep 0.1
    done
    fail "\"$1\" is still on the screen"
}

type_text() { tm send-keys -t t -l -- "$1"; }
key() { tm send-keys -t t "$@"; }
line() { type_text "$1"; key Enter; }

# In the shell, at its prompt: a command, and its end.  The mark is not in what is typed.
count=0
shell() {
    count=$((count + 1))
    line "$1; echo mark''$count"
    wait_for "mark$count"
}

# The terminal is as the shell left it.
check_terminal() {
    shell "stty -g >$work/now; clear"
    cmp -s "$work/before" "$work/now" || fail "$1: stty -g is not as it was"
    [ "$(tm display-message -p -t t '#{alternate_on}')" = 0 ] || fail "$1: the alternate screen is still on"
    [ "$(tm display-message -p -t t '#{cursor_flag}')" = 1 ] || fail "$1: the cursor is hidden"
    [ "$(tm display-message -p -t t '#{mouse_any_flag}')" = 0 ] || fail "$1: the mouse is captured"
}

# What was said last is saved under this title, with so many turns.
check_saved() {
    HOME=$work "$program" sessions --store "$work/store" >"$work/sessions" 2>&1 || fail "$(cat "$work/sessions")"
    grep -F -- "$1" "$work/sessions" >/dev/null || { cat "$work/sessions" >&2; fail "\"$1\" is not saved"; }
}

start() {
    line "$program --no-config --store $work/store --engine scripted --script-file $work/answers.jsonl --ctx 2048 $*"
    wait_for "say something"
}

pid() { pgrep -P "$(tm display-message -p -t t '#{pane_pid}')" -x plimsoll; }
wait_gone_program() {
    for _ in $(seq 150); do
        pid >/dev/null || return 0
        sleep 0.1
    done
    fail "the program is still there"
}

cat >"$work/answers.jsonl" <<'EOF'
{"answer": "The first answer comes slowly, word by word, until it is whole.", "token_ms": 40}
{"answer": "A short one."}
{"answer": "for ever and ", "token_ms": 20, "end": false}
{"answer": "After the cancel."}
EOF

tm new-session -d -s t -x 120 -y 36 "env HOME=$work LANG=C.UTF-8 PS1='READY> ' bash --norc --noprofile"
wait_for "READY>"
shell "stty -g >$work/before; clear"

echo "# types and streams, and a line that waits its turn"
start
line "hello there"
wait_for "The first"
wait_for "type on"
type_text "the next one"
wait_for "the next one"
key Enter
wait_for "1 waiting"
wait_for "until it is whole."
wait_for "A short one."
wait_gone "waiting:"

echo "# resizes"
for size in "80 24" "40 10" "200 50" "20 5" "120 36"; do
    tm resize-window -t t -x "${size% *}" -y "${size#* }"
    sleep 0.2
done
wait_for "F3 inspect"
wait_for "A short one."

echo "# cancels"
line "and now for ever"
wait_for "for ever and for ever"
key Escape
wait_for "cancelled after"
wait_for "say something"

echo "# is suspended and comes back"
type_text "half a line"
wait_for "half a line"
key C-z
wait_for "Stopped"
check_terminal "suspended"
line "fg"
wait_for "half a line"
wait_for "cancelled after"
key C-u

echo "# resumes what was left"
line "/clear"
wait_gone "cancelled after"
line "/resume last"
wait_for "goes on after 3 turns"
wait_for "for ever and for ever"
key C-d
wait_for "is saved: plimsoll --resume"
wait_gone_program
check_terminal "left by Ctrl-D"
check_saved "hello there"

echo "# is ended amid an answer, by whatever signal"
cat >"$work/answers.jsonl" <<'EOF'
{"answer": "One answer that is whole."}
{"answer": "going on and on ", "token_ms": 20, "end": false}
EOF
for sig in TERM HUP SEGV ABRT; do
    start
    line "ended by $sig"
    wait_for "that is whole."
    wait_for " saved"
    line "go on"
    wait_for "going on and on going"
    kill -s "$sig" "$(pid)"
    wait_gone_program
    check_terminal "SIG$sig"
    check_saved "ended by $sig"
done

echo "5 passed, 0 failed, 0 skipped"
