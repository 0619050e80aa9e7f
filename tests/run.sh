#!/usr/bin/env bash
# run.sh - runs test programs, a line each, and ends with "N passed, N failed, N skipped".
#
#   bash tests/run.sh KIND:PROGRAM...
#
# KIND says how: release, asan (ASan and UBSan), tsan, replay (a fuzz target over its corpus, under ASan; one test) or
# script (a check; one test, unless it counts for itself).  A program that crashes, hangs (TEST_TIMEOUT seconds, 300),
# leaks, races or says nothing counts as one failed test more.  Whole logs are in build/logs.  Exit: 0 all well,
# 1 something failed or nothing ran.
#
# Two programs run at once (TEST_LANES, 2; with one core 1), each in a lane; what tests/waiting names has a lane of its
# own beside them, and what tests/alone names runs after all, one at a time.  Lines come in the order of the arguments,
# those that ran alone last.
# PLIMSOLL_BIN tells a test the program of its own variant, where there is one.
set -eu
set -m          # each lane, and each test in one, is a process group of its own: Ctrl-C ends this and the tests at once

build=${BUILD:-build}
logs=$build/logs
limit=${TEST_TIMEOUT:-300}
cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
lanes=${TEST_LANES:-$((cores < 2 ? 1 : 2))}
# A size from a hostile file may ask malloc for anything: NULL is the answer that the code has to live with.
asan=detect_stack_use_after_return=1:strict_string_checks=1:handle_abort=1:handle_sigill=1:allocator_may_return_null=1
passed=0 failed=0 skipped=0 ran=0 unshuffled=
mkdir -p "$logs"
scratch=$(mktemp -d)
chmod 711 "$scratch" # some tests work as another user, in folders of their own
lane_jobs=
trap 'rm -rf "$scratch"' EXIT
trap '[ -z "$lane_jobs" ] || { kill $lane_jobs; wait; } 2>/dev/null; exit 130' INT TERM

# TSan of some compilers does not know the address layout of newer kernels unless it is fixed.
if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then unshuffled='setarch -R'; fi

# ------------------------------------------------------------------------------------------------------- one program

# Becomes "$@", with a new folder for temporary files.  What the caller has in *_OPTIONS comes last and wins.
launch() {
    export TMPDIR=$own/tmp
    rm -rf "$TMPDIR"
    mkdir "$TMPDIR"
    leaks=1
    [ ! -e "$scratch/no-leaks" ] || leaks=0
    uar= # the shim's fibres each have a stack, and with a false one beside it they take minutes
    case $1 in */test_cuda_*|*/test_gpu_*) uar=detect_stack_use_after_return=0 ;; esac
    # It takes a sixth of a test's time, of which CI has little; parsers under their corpora are few, and keep it.
    case ${CI:-}:$kind in true:asan) uar=detect_stack_use_after_return=0 ;; esac
    export ASAN_OPTIONS="detect_leaks=$leaks:$asan:$uar:${ASAN_OPTIONS:-}"
    export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
    export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS:-}"
    unset PLIMSOLL_BIN
    [ ! -x "$home/plimsoll" ] || export PLIMSOLL_BIN=$home/plimsoll
    wrapper=
    [ "$kind" != tsan ] || wrapper=$unshuffled
    exec timeout -k 10 "$limit" $wrapper "$@"
}

# Runs "$@" as $kind into $log; its exit status is then in $status.
attempt() {
    status=0
    launch "$@" >"$log" 2>&1 </dev/null &
    job=$!
    wait "$job" 2>/dev/null || status=$?
    job=
}

run() {
    attempt "$@"
    if [ $status != 0 ] && [ ! -e "$scratch/no-leaks" ] &&
        grep -q 'LeakSanitizer has encountered a fatal error' "$log"; then
        echo "        leak detection does not work here (it needs ptrace): going on without it"
        : >"$scratch/no-leaks"
        attempt "$@"
    fi
}

why() {
    case $status in
    124|137) echo "stopped after $limit s" ;;
    126|127) echo "could not be started" ;;
    *)  if grep -q 'ERROR: LeakSanitizer' "$log"; then echo "leaks memory"
        elif grep -q 'WARNING: ThreadSanitizer' "$log"; then echo "a race, or a misuse of threads"
        elif grep -Eq 'ERROR: (Address|Thread)Sanitizer|runtime error:' "$log"; then echo "a sanitizer's finding"
        elif [ $status -gt 128 ]; then echo "died of signal $((status - 128))"
        elif [ $status = 0 ]; then echo "said nothing of its tests"
        else echo "exit status $status"
        fi ;;
    esac
}

# The counts that tests/check.c prints last; without them the tests that were seen to end well, and a failure.
count() {
    line=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
    problem=
    if [ "$kind" = replay ] || { [ "$kind" = script ] && [ -z "$line" ]; }; then
        p=1 f=0 s=0
        [ $status = 0 ] || { p=0 f=1; problem=" ($(why))"; }
    elif [ -z "$line" ]; then
        p=$(grep -c '^\[       OK \]' "$log" || true) f=1 s=0
        problem=" ($(why))"
    else
        # Three words, split on purpose.
        set -- $line
        p=$1 f=$2 s=$3
        if [ $status != 0 ] && [ "$f" = 0 ]; then
            f=1
            problem=" ($(why), after its tests)"
        fi
    fi
}

# Runs item $1 in its folder $own: what is to be shown is printed, the three counts go to a file.
one() {
    kind=${1%%:*}
    path=${1#*:}
    name=$(basename "$path" .sh)
    home=$(cd "$(dirname "$path")/.." 2>/dev/null && pwd) || home=
    log=$logs/$kind-$name.log
    start=$(date +%s)
    case $kind in
    replay) run "$path" "tests/fuzz/corpus/${name#fuzz_}" ;;
    script) run sh "$path" ;;
    *)      run "$path" ;;
    esac
    count
    mark=ok
    [ "$f" = 0 ] || mark=FAIL
    printf '  %-4s  %-8s %-28s %d passed, %d failed, %d skipped  %d s%s\n' \
        $mark "$kind" "$name" "$p" "$f" "$s" $(($(date +%s) - start)) "$problem"
    if [ "$f" != 0 ]; then
        tail -n 80 "$log" | sed 's/^/        | /'
        echo "        (the whole log: $log)"
    elif [ "$s" != 0 ]; then
        sed -n 's/^skipped: /        skipped: /p' "$log" | sort -u
    fi
    rm -rf "$own/tmp"
    echo "$p $f $s" >"$own/counts"
}

# --------------------------------------------------------------------------------------------------------- the lanes

# Runs of the items with the numbers "$@" those that no other lane has taken, and says the number of each that is done.
lane() {
    set -m
    job=
    trap '[ -z "$job" ] || kill -- "-$job" 2>/dev/null; exit 130' INT TERM
    for i in "$@"; do
        own=$scratch/$i
        mkdir "$own" 2>/dev/null || continue
        one "${items[i]}" >"$own/shown"
        echo "$i"
    done
}

# Shows what item $1 said and adds up; a lane that was killed leaves no counts.
show() {
    [ ! -f "$scratch/$1/shown" ] || cat "$scratch/$1/shown"
    if [ -f "$scratch/$1/counts" ]; then
        read -r p f s <"$scratch/$1/counts"
    else
        p=0 f=1 s=0
        echo "  FAIL  ${items[$1]} was not run to its end"
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    case ${items[$1]} in script:*) ;; *) ran=$((ran + 1)) ;; esac
}

# Runs the items with the numbers that follow, in $1 lanes, and one more for those of the list $2 as long as they last.
# The pipe ends when the last lane does.
run_all() {
    n=$1 slow=$2
    shift 2
    rm -f "$scratch/done"
    mkfifo "$scratch/done"
    exec 3<>"$scratch/done" 4<"$scratch/done" 5>"$scratch/done" 3>&-
    for i in $(seq "$((n + (${#slow} > 0)))"); do
        if [ "$i" -le "$n" ]; then lane "$@" 4<&- >&5 5>&- &
        else lane $slow 4<&- >&5 5>&- & # numbers, split on purpose
        fi
        lane_jobs="$lane_jobs $!"
    done
    exec 5>&-
    while read -r i <&4; do
        done_items[i]=1
        while [ $# != 0 ] && [ -n "${done_items[$1]:-}" ]; do
            show "$1"
            shift
        done
    done
    exec 4<&-
    wait $lane_jobs 2>/dev/null || true
    lane_jobs=
    for i in "$@"; do show "$i"; done
}

# The first word of each line of a file that is not a comment: a test, or kind:test.
names_in() {
    names=" $(sed -e '/^#/d' -e 's/ .*//' "$1" | tr '\n' ' ')"
    for name in $names; do
        name=${name#*:}
        [ ! -f "tests/$name.c" ] && [ ! -f "tests/$name.sh" ] || continue
        echo "run.sh: $1: no test is named $name" >&2
        exit 2
    done
}
names_in tests/waiting
waits=$names
names_in tests/alone

items=("$@") done_items=() shared="" alone="" waiting=""
for i in "${!items[@]}"; do
    case ${items[i]} in
    release:*|asan:*|tsan:*|replay:*|script:*) ;;
    *) echo "run.sh: no kind \"${items[i]%%:*}\"" >&2; exit 2 ;;
    esac
    name=$(basename "${items[i]}" .sh)
    case $names in
    *" $name "*|*" ${items[i]%%:*}:$name "*) alone="$alone $i" ;;
    *)                                       shared="$shared $i" ;;
    esac
    case $waits in *" $name "*|*" ${items[i]%%:*}:$name "*) waiting="$waiting $i" ;; esac
done
# Numbers, split on purpose.
run_all "$lanes" "$waiting" $shared
run_all 1 "" $alone

[ $ran != 0 ] || echo "no test ran"
echo "$passed passed, $failed failed, $skipped skipped" | tee "$logs/summary"
[ $failed = 0 ] && [ $ran != 0 ] && [ $passed != 0 ]
