#!/usr/bin/env bash
# check.sh - the CUDA kernels checked on a device, one part of all checks, into a result file (tests/gpu/README.md).
#
#   bash tests/gpu/check.sh PACK K/N RESULTS MAKE...      (from the repository's root; make gpu-check)
#
# MAKE... is what makes PACK; it is run when PACK is of other sources than this tree.  Exit: 0 all passed, 1 something
# failed, 2 there is no pack, or an argument is wrong, 3 there is no device, 4 some could not be run.
set -u

# A check a row, the most valuable first: its name, the seconds that it may take at most, and its command, run in the
# pack; SANITIZER is compute-sanitizer, where there is one; BLAS: only where cuBLASLt is.
plan='
steps           60  check/steps
mix             20  check/mix
sample          40  check/sample
answers         40  check/answers
memory          50  check/memory
fast            40  BLAS check/fast
ids            170  check/ids
program         40  sh check/program.sh ./plimsoll
memcheck       200  SANITIZER --tool memcheck check/steps
memcheck-whole  60  SANITIZER --tool memcheck check/answers the_greedy
speed          180  check/speed
racecheck      240  SANITIZER --tool racecheck check/steps agrees_with
initcheck      190  SANITIZER --tool initcheck check/steps agrees_with
'
room=${GPU_SECONDS:-470} # of one of three parts or more, the pack's making included
nodes=${GPU_NODES:-/dev/nvidia[0-9]* /dev/dxg} # where a driver shows its devices

usage() {
    echo "gpu-check: $1" >&2
    exit 2
}

[ $# -ge 4 ] || usage "it is make gpu-check that calls this"
pack=$1 part=$2 results=$3
shift 3
case $part in
[1-9]/[1-9]|[1-9]/[1-9][0-9]|[1-9][0-9]/[1-9][0-9]) ;;
*) usage "PART=$part is not k/n" ;;
esac
k=${part%/*} n=${part#*/}
[ "$k" -le "$n" ] || usage "PART=$part: there is no part $k of $n"
[ "$n" -ge 3 ] || room=86400
start=$SECONDS
mkdir -p "$results" || exit 2
results=$(cd "$results" && pwd)
stem=$results/$(date -u +%Y-%m-%d-%H%M%S)-part-$k-of-$n
file=$stem.txt log=$stem.log

write() {
    printf '%s\n' "$*" >>"$file"
}

# One line for the terminal, and the file's last.
finish() {
    write "verdict: $1"
    echo "gpu-check: $1 ($file)"
    exit "$2"
}

no_device() {
    write "device: none: $1"
    write "verdict: no device: nothing was checked"
    rm -f "$log"
    echo "gpu-check: no CUDA device: $1" >&2
    exit 3
}

# ----------------------------------------------------------------------------------------------- the pack, the device

fresh() {
    [ -f "$pack/made" ] && grep -qx "sources: $(sh tests/gpu/sources.sh)" "$pack/made"
}

write "plimsoll gpu-check, part $k of $n"
write "date: $(date -u '+%Y-%m-%d %H:%M') UTC"
if ! fresh; then
    ls $nodes >/dev/null 2>&1 || no_device "the machine has none of $nodes" # a pattern: split on purpose
    "$@" >>"$log" 2>&1
    if ! fresh; then
        tail -n 5 "$log" >&2
        write "verdict: no pack: nothing was checked"
        usage "there is no pack of these sources in $pack, and it cannot be made here"
    fi
fi
cat "$pack/made" >>"$file"
pack=$(cd "$pack" && pwd)
for z in "$pack"/*.gz "$pack"/check/*.gz "$pack"/lib/*.gz; do
    [ ! -f "$z" ] || gunzip -f "$z" || usage "$z cannot be unpacked"
done

# For what is in the pack alone: its libraries first, and cuBLAS's folder last where the loader does not know it.
libs=LD_LIBRARY_PATH=$pack/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cuda=$(sed -n 's/^built: .*nvcc \([0-9]*\)\..*/\1/p' "$pack/made")
blas=$(ldconfig -p 2>/dev/null | grep "libcublasLt.so.$cuda")
if [ -z "$blas" ]; then
    blas=$(timeout 20 find /usr/local /usr/lib /opt -name "libcublasLt.so.${cuda:-[0-9]*}" 2>/dev/null | head -n 1)
    [ -z "$blas" ] || libs=$libs:$(dirname "$blas")
fi
if device=$(env "$libs" "$pack/check/device" 2>"$log"); then
    write "$device"
else
    status=$?
    [ $status = 3 ] && no_device "$(head -n 1 "$log")"
    write "verdict: the pack does not run here: $(head -n 1 "$log")"
    usage "the pack does not run here: $(head -n 1 "$log")"
fi
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
[ -z "$driver" ] || write "driver: $driver"

# -------------------------------------------------------------------------------------------------------- the checks

sanitizer=
for s in "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer /opt/nvidia/*/compute-sanitizer; do
    [ -z "$sanitizer" ] && [ -f "$s" ] && [ -x "$s" ] && sanitizer=$s
done

# Which part a check is in: parts are of about as many seconds, cut between checks.
mine=$(printf '%s\n' "$plan" | awk -v k="$k" -v n="$n" 'NF {
        name[++rows] = $1; at[rows] = all + $2 / 2; all += $2 }
    END { for (i = 1; i <= rows; i++) if (int(at[i] * n / all) + 1 == k) printf "%s ", name[i] }')
write "checks: $mine"
write

failed=0 left=0 job=
stopped() {
    [ -z "$job" ] || kill "$job" 2>/dev/null
    rm -f "$log.pipe"
    write "verdict: stopped in $name, $((SECONDS - start)) s after the start"
    exit 1
}
trap stopped INT TERM HUP

not_run() {
    write "not run: $name: $1"
    left=$((left + 1))
}

# What a check says, line by line as it comes: all of it into the log; into the file each test's verdict, what was
# measured, why something failed and a sanitizer's words.
digest() {
    local line words=0 seen=' '
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$log.part"
        case $line in
        '[       OK ] '*) write "  pass ${line##* }" ;;
        '[  FAILED  ] '*_*|'[  SKIPPED ] '*_*)
            case $seen in *" ${line##* } "*) continue ;; esac # told again at the end
            seen="$seen${line##* } "
            case $line in *FAILED*) write "  FAIL ${line##* }" ;; *) write "  skip ${line##* }" ;; esac ;;
        'measured: '*) write "  ${line#measured: }" ;;
        tests/*.[ch]:[0-9]*|tests/*.sh:[0-9]*) write "  | $line" ;;
        '========= '*) words=$((words + 1)); [ $words -gt 40 ] || write "  $line" ;;
        esac
    done
}

run() {
    local limit=$2 begin=$SECONDS status shown command left_s=$((room - SECONDS + start))
    command=$3 shown=$3
    case $command in
    BLAS*)
        [ -n "$blas" ] || { not_run "this machine has no libcublasLt.so.$cuda"; return; }
        shown=${command#BLAS } command=${command#BLAS } ;;
    SANITIZER*)
        [ -n "$sanitizer" ] || { not_run "this machine has no compute-sanitizer"; return; }
        shown=compute-sanitizer${command#SANITIZER}
        command="$sanitizer --error-exitcode 99 --report-api-errors no${command#SANITIZER}" ;;
    esac
    [ $left_s -gt 0 ] || { not_run "the $room s of a part are used up"; return; }
    [ $limit -le $left_s ] || limit=$left_s
    write "begin $name: $shown ($(date -u +%H:%M:%S))"
    : >"$log.part"
    rm -f "$log.pipe"
    mkfifo "$log.pipe"
    digest <"$log.pipe" &
    local reader=$!
    # Words, split on purpose; timeout ends all that the command has started.
    (cd "$pack" && exec timeout -k 5 "$limit" env "$libs" $command) </dev/null >"$log.pipe" 2>&1 &
    job=$!
    wait "$job"
    status=$?
    job=
    wait "$reader"
    { echo "==== $name: $shown"; cat "$log.part"; } >>"$log"
    case $status in
    0)       write "end $name: pass, $((SECONDS - begin)) s" ;;
    124|137) [ $limit = "$2" ] || { write "end $name: cut off"; not_run "the $room s of a part were up"; return; }
        write "end $name: FAIL: it was not done in $limit s"; failed=$((failed + 1)) ;;
    *)  if grep -q 'Device not supported' "$log.part"; then not_run "compute-sanitizer does not know this device"
        else
            grep -qE '^(\[  FAILED  \]|=========)' "$log.part" || tail -n 3 "$log.part" | sed 's/^/  > /' >>"$file"
            write "end $name: FAIL: exit status $status, $((SECONDS - begin)) s"
            failed=$((failed + 1))
        fi ;;
    esac
    echo "gpu-check: $(tail -n 1 "$file")"
    rm -f "$log.part" "$log.pipe"
}

while read -r name seconds command <&3; do
    case " $mine" in *" $name "*) [ -z "$name" ] || run "$name" "$seconds" "$command" ;; esac
done 3<<<"$plan"
write

[ $failed = 0 ] || finish "FAIL: $failed of the checks" 1
case $device in *'made up'*) finish "none: the device is made up, and shows nothing" 4 ;; esac
[ $left = 0 ] || finish "incomplete: what ran passed, $left could not be run" 4
finish pass 0
