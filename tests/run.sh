#!/usr/bin/env bash
# run.sh - runs test programs one after another, a line each, and ends with "N passed, N failed, N skipped".
#
#   bash tests/run.sh KIND:PROGRAM...
#
# KIND says how: release, asan (ASan and UBSan), tsan, replay (a fuzz target over its corpus, under ASan; one test) or
# script (a check; one test, unless it counts for itself).  A program that crashes, hangs (TEST_TIMEOUT seconds, 300),
# leaks, races or says nothing counts as one failed test more.  Whole logs are in build/logs.  Exit: 0 all well,
# 1 something failed or nothing ran.
# PLIMSOLL_BIN tells a test the program of its own variant, where there is one.
set -eu
set -m          # a test is a job with a process group of its own: Ctrl-C ends this at once, and the test with it

build=${BUILD:-build}
logs=$build/logs
limit=${TEST_TIMEOUT:-300}
# A size from a hostile file may ask malloc for anything: NULL is the answer that the code has to live with.
asan=detect_stack_use_after_return=1:strict_string_checks=1:handle_abort=1:allocator_may_return_null=1
passed=0 failed=0 skipped=0 ran=0 leaks=1 unshuffled=
mkdir -p "$logs"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
job=
trap '[ -z "$job" ] || kill -- "-$job" 2>/dev/null; exit 130' INT TERM

# TSan of some compilers does not know the address layout of newer kernels unless it is fixed.
if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then unshuffled='setarch -R'; fi

# Becomes "$@", with a new folder for temporary files.  What the caller has in *_OPTIONS comes last and wins.
launch() {
    export TMPDIR=$scratch/tmp
    rm -rf "$TMPDIR"
    mkdir "$TMPDIR"
    export ASAN_OPTIONS="detect_leaks=$leaks:$asan:${ASAN_OPTIONS:-}"
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
    if [ $status != 0 ] && [ $leaks = 1 ] && grep -q 'LeakSanitizer has encountered a fatal error' "$log"; then
        echo "        leak detection does not work here (it needs ptrace): going on without it"
        leaks=0
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

for item in "$@"; do
    kind=${item%%:*}
    path=${item#*:}
    name=$(basename "$path" .sh)
    home=$(cd "$(dirname "$path")/.." 2>/dev/null && pwd) || home=
    log=$logs/$kind-$name.log
    start=$(date +%s)
    case $kind in
    release|asan|tsan) run "$path"; ran=$((ran + 1)) ;;
    replay)            run "$path" "tests/fuzz/corpus/${name#fuzz_}"; ran=$((ran + 1)) ;;
    script)            run sh "$path" ;;
    *)                 echo "run.sh: no kind \"$kind\"" >&2; exit 2 ;;
    esac
    count
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
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
done

[ $ran != 0 ] || echo "no test ran"
echo "$passed passed, $failed failed, $skipped skipped" | tee "$logs/summary"
[ $failed = 0 ] && [ $ran != 0 ] && [ $passed != 0 ]
