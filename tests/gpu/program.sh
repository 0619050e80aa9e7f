#!/bin/sh
# program.sh - the program itself with its own object: on the device it says what it says on the CPU.
#
#   sh check/program.sh PROGRAM      (in the pack)
set -eu
program=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME="$home" XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data"
failed=0

say() {
    "$program" --backend "$1" --temp 0 -n 60 -p "$2" </dev/null
}

n=0
while read -r prompt; do
    n=$((n + 1))
    cpu=$(say cpu "$prompt" 2>&1)
    cuda=$(say cuda "$prompt" 2>&1) || echo "it ended with $?"
    if [ -n "$cpu" ] && [ "$cpu" = "$cuda" ]; then
        echo "[       OK ] the_answer_of_the_program_is_the_cpu_s_$n"
    else
        echo "tests/gpu/program.sh:$n: \"$prompt\": \"$cuda\", on the CPU \"$cpu\""
        echo "[  FAILED  ] the_answer_of_the_program_is_the_cpu_s_$n"
        failed=1
    fi
done <<'END'
What is plimsoll?
Why is my return code 137?
What happens when memory is full?
END
exit $failed
