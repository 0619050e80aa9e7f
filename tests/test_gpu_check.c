/* test_gpu_check.c - `make gpu-check` and `make gpu-pack` without a GPU: nothing is claimed, result files say how far
 * it came, the pack is small and whole; and the checks themselves run, by an object that they open beside them. */
#include "kernels/cuda/cuda.h"
#include "tests/child.h"
#include "tests/check.h"
#include <limits.h>
#include <unistd.h>

/* What the scripts of this file share.  $B: the folder of this build, $P its program, $D: an empty one. */
static const char rig[] =
    "set -eu\n"
    "unset MAKEFLAGS MFLAGS MAKELEVEL; export GPU_NODES=$D/nowhere\n"
    "die() { echo \"line $BASH_LINENO: $*\"; cat \"$D\"/results/*.txt 2>/dev/null || :; exit 1; }\n"
    "has() { grep -q -- \"$1\" \"$D\"/results/*.txt || die \"nothing like: $1\"; }\n"
    "hasnt() { ! grep -q -- \"$1\" \"$D\"/results/*.txt || die \"it has: $1\"; }\n"
    /* check PART WANTED-STATUS: out of the pack $D/pack, that nothing makes */
    "check() { rm -rf \"$D/results\"; local s=0\n"
    "    PATH=$D/bin:$PATH bash tests/gpu/check.sh \"$D/pack\" $1 \"$D/results\" false \\\n"
    "        >\"$D/out\" 2>\"$D/err\" || s=$?\n"
    "    [ $s = $2 ] || die \"$1 ended with $s: $(cat \"$D/err\")\"; }\n"
    "script() { mkdir -p \"$(dirname \"$1\")\"; printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\"; chmod +x \"$1\"; }\n"
    /* a pack of these sources whose checks all pass on a device, and a sanitizer that finds nothing */
    "fake() { local c; for c in steps mix sample answers memory fast ids speed; do script \"$D/pack/check/$c\" \\\n"
    "        'echo \"[       OK ] '$c'_is_right\"; echo \"measured: '$c' 7 tok/s\"'; done\n"
    "    rm -f \"$D/pack/check/memory.gz\"; gzip \"$D/pack/check/memory\"\n" /* as pack.sh leaves all of them */
    "    script \"$D/pack/check/device\" 'echo \"device: a GPU\"'\n"
    "    script \"$D/pack/plimsoll\" 'echo an answer'; cp tests/gpu/program.sh \"$D/pack/check/\"\n"
    "    script \"$D/bin/compute-sanitizer\" 'while [ \"${1#check/}\" = \"$1\" ]; do shift; done; exec \"$@\"'\n"
    "    script \"$D/bin/ldconfig\" 'echo libcublasLt.so.0'\n"
    "    echo \"sources: $(sh tests/gpu/sources.sh)\" >\"$D/pack/made\"; }\n";

static void bash(const char *script)
{
    static char text[8000], self[PATH_MAX];
    char *program = realpath(child_program(), NULL);
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(program && n > 0);
    for (int i = 0; i < 2; i++) *strrchr(self, '/') = '\0'; /* .../tests/test_gpu_check */
    setenv("P", program, 1);
    setenv("B", self, 1);
    setenv("D", check_tmpdir(), 1);
    CHECK(snprintf(text, sizeof text, "%s%s", rig, script) < (int)sizeof text);
    setenv("SCRIPT", text, 1);
    free(program);
    CHECK_EQ(system("bash -c \"$SCRIPT\""), 0);
}

/* For scripts that no program of this build takes part in: the release build runs them. */
#define SCRIPTS_ALONE() \
    do \
        if (CHECK_SANITIZED) SKIP("scripts alone, of which a sanitizer sees nothing"); \
    while (0)

/* ------------------------------------------------------------------ nothing is claimed */

TEST(a_machine_without_a_device_is_told_so_in_one_line_and_its_file_claims_nothing)
{
    bash("rm -rf \"$D/results\"\n"
         "! make -s gpu-check PACK=\"$D/none\" RESULTS=\"$D/results\" >\"$D/out\" 2>\"$D/err\" || die ended well\n"
         "[ ! -s \"$D/out\" ] && [ $(grep -cv '^make' \"$D/err\") = 1 ] || die \"$(cat \"$D/out\" \"$D/err\")\"\n"
         "grep -q '^gpu-check: no CUDA device: ' \"$D/err\" || die \"$(cat \"$D/err\")\"\n"
         "has '^device: none'; has '^verdict: no device: nothing was checked$'; hasnt pass\n"
         "fake; script \"$D/pack/check/device\" 'echo this machine has no CUDA driver >&2; exit 3'\n"
         "check 1/1 3; [ \"$(cat \"$D/err\")\" = 'gpu-check: no CUDA device: this machine has no CUDA driver' ]\n"
         "has '^verdict: no device'; hasnt '^begin'\n");
}

TEST(a_device_that_is_made_up_shows_nothing)
{
    bash("fake; script \"$D/pack/check/device\" 'echo \"device: a CPU (made up: no device)\"'\n"
         "check 1/1 4; has '  pass steps_is_right'; has '^verdict: none'; hasnt 'verdict: pass'\n");
}

TEST(a_pack_of_other_sources_is_made_again_or_refused)
{
    SCRIPTS_ALONE();
    bash("fake; echo 'sources: other' >\"$D/pack/made\"; check 1/1 3; has 'has none of'\n"
         ": >\"$D/node\"; export GPU_NODES=$D/node\n"
         "check 1/1 2; has '^verdict: no pack'; hasnt '^begin'\n"
         "rm -rf \"$D/results\"; script \"$D/make\" \"echo sources: $(sh tests/gpu/sources.sh) >'$D/pack/made'\"\n"
         "PATH=$D/bin:$PATH bash tests/gpu/check.sh \"$D/pack\" 1/1 \"$D/results\" \"$D/make\" >/dev/null\n"
         "has '^verdict: pass$'\n"
         "for part in 0/3 4/3 3 a/b ''; do check \"$part\" 2; done\n");
}

/* What shown.c says has a file of a clean commit, on a device, where the check of it passed with all of its part. */
TEST(what_is_said_to_be_shown_has_a_result_file_that_shows_it)
{
    static const struct { enum cuda_path path; const char *check; } paths[] = {{CUDA_KERNELS, "steps"},
                                                                               {CUDA_KERNELS, "ids"},
                                                                               {CUDA_BLAS, "fast"}};
    char script[600];
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        if (!cuda_shown(paths[i].path)) continue;
        snprintf(script, sizeof script,
                 "for f in tests/gpu/results/*.txt; do\n"
                 "    grep -qx 'verdict: pass' $f && grep -q '^end %s: pass' $f && grep -q '^device: ' $f &&\n"
                 "        ! grep -qE '^commit: (unknown|.*-dirty)$|made up' $f && exit 0; done\n"
                 "die 'no result file shows %s'\n", paths[i].check, paths[i].check);
        bash(script);
    }
}

/* ----------------------------------------------------------------------- result files */

/* The machine that is lent gives a command ten minutes, and all of them thirty. */
TEST(each_of_three_parts_is_done_in_eight_minutes_and_all_in_25_even_if_all_is_slow)
{
    SCRIPTS_ALONE();
    bash("fake; total=0\n"
         "for part in 1/3 2/3 3/3; do check $part 0; sum=0\n"
         "    for c in $(sed -n 's/^checks: //p' \"$D\"/results/*.txt); do\n"
         "        sum=$((sum + $(sed -n \"s/^$c  *\\([0-9][0-9]*\\)  .*/\\1/p\" tests/gpu/check.sh))); done\n"
         "    [ $sum -gt 60 ] && [ $sum -le 480 ] || die \"part $part: $sum s\"; total=$((total + sum)); done\n"
         "[ $total -le 1500 ] || die \"all: $total s\"\n");
}

TEST(all_parts_together_have_every_check_once_and_each_says_what_passed)
{
    SCRIPTS_ALONE();
    bash("fake; : >\"$D/all\"\n"
         "for part in 1/3 2/3 3/3; do check $part 0; has '^verdict: pass$'; has '^device: a GPU$'; has '^sources: '\n"
         "    sed -n 's/^end \\([a-z-]*\\): pass, .*/\\1/p' \"$D\"/results/*.txt >>\"$D/all\"; done\n"
         "all='steps mix sample answers memory fast ids program memcheck memcheck-whole speed racecheck initcheck '\n"
         "[ \"$(tr '\\n' ' ' <\"$D/all\")\" = \"$all\" ] || die \"$(cat \"$D/all\")\"\n"
         "for n in 1 2 5 12; do : >\"$D/all\"; for k in $(seq $n); do check $k/$n 0\n"
         "    sed -n 's/^checks: //p' \"$D\"/results/*.txt | tr ' ' '\\n' >>\"$D/all\"; done\n"
         "    [ \"$(grep . \"$D/all\" | tr '\\n' ' ')\" = \"$all\" ] || die \"of $n: $(cat \"$D/all\")\"; done\n"
         "check 1/3 0; has '  pass steps_is_right'; has '  ids 7 tok/s'; has 'pass the_answer_of_the_program'\n"
         "hasnt \"$PWD\"; hasnt \"$D\"\n");
}

TEST(what_fails_is_named_with_its_reason_and_the_rest_still_runs)
{
    SCRIPTS_ALONE();
    bash("fake; script \"$D/pack/check/answers\" 'echo \"[       OK ] one_is\"\n"
         "echo \"tests/test_x.c:7: not so: right\"; echo \"[  FAILED  ] other_is\"\n"
         "echo \"[  SKIPPED ] third_is\"; exit 1'\n"
         "script \"$D/pack/check/ids\" 'echo some words; exec sh -c \"kill -SEGV \\$\\$\"'\n"
         "script \"$D/bin/compute-sanitizer\" 'echo \"========= ERROR SUMMARY: 2 errors\"; exit 99'\n"
         "check 1/1 1; has '^verdict: FAIL: 6 of the checks$'\n"
         "has '  pass one_is'; has '  FAIL other_is'; has '  skip third_is'\n"
         "has '  | tests/test_x.c:7: not so: right'\n"
         "has '  > some words'; has '^end answers: FAIL: exit status 1,'; has '^end ids: FAIL: exit status'\n"
         "has '^end speed: pass'; has '^end racecheck: FAIL: exit status 99'; has 'ERROR SUMMARY: 2 errors'\n"
         "script \"$D/pack/plimsoll\" 'case $* in *cuda*) echo other;; *) echo an answer;; esac'\n"
         "check 1/3 1; has 'FAIL the_answer_of_the_program'; has '\"other\", on the CPU \"an answer\"'\n");
}

TEST(what_cannot_be_run_makes_a_part_incomplete)
{
    SCRIPTS_ALONE();
    bash("fake; script \"$D/bin/compute-sanitizer\" 'echo \"========= Error: Device not supported\"; exit 1'\n"
         "check 3/3 4; has '^not run: racecheck: '; has '^verdict: incomplete: what ran passed, 2 could not be run$'\n"
         "script \"$D/pack/check/device\" 'echo no library >&2; exit 127'\n"
         "check 3/3 2; has '^verdict: the pack does not run here: no library$'\n");
}

TEST(a_part_of_three_ends_in_its_time_also_when_the_pack_had_to_be_made)
{
    SCRIPTS_ALONE();
    bash("fake; script \"$D/pack/check/answers\" 'echo \"[       OK ] one_is\"; sleep 99'; export GPU_SECONDS=3\n"
         "check 1/3 4; has '^end steps: pass'; has '  pass one_is'; has '^end answers: cut off$'; hasnt 'FAIL'\n"
         "has '^not run: answers: the 3 s of a part were up$'\n"
         "has '^not run: program: the 3 s of a part are used up$'\n"
         "has '^verdict: incomplete: what ran passed, 5 could not be run$'\n"
         "fake; check 1/2 0\n");
}

TEST(a_part_that_is_stopped_half_way_says_how_far_it_came)
{
    SCRIPTS_ALONE();
    bash("fake; script \"$D/pack/check/answers\" 'echo \"[       OK ] first_is\"; sleep 99 & echo $! >sleeper; wait'\n"
         "for signal in TERM KILL; do\n"
         "    rm -rf \"$D/results\"\n"
         "    bash tests/gpu/check.sh \"$D/pack\" 1/1 \"$D/results\" false >/dev/null 2>&1 & job=$!\n"
         "    for i in $(seq 300); do grep -qs 'pass first_is' \"$D\"/results/*.txt && break; sleep 0.1; done\n"
         "    has 'pass first_is'; kill -$signal $job; ! wait $job 2>/dev/null || die ended well\n"
         "    has '^end steps: pass'; has '^begin answers: '; hasnt '^end answers'; hasnt 'verdict: pass'\n"
         "    case $signal in\n"
         "    TERM) has '^verdict: stopped in answers, '\n"
         "          for i in $(seq 50); do kill -0 $(cat \"$D/pack/sleeper\") 2>/dev/null || break; sleep 0.1; done\n"
         "          ! kill -0 $(cat \"$D/pack/sleeper\") 2>/dev/null || die 'the check still runs' ;;\n"
         "    KILL) hasnt '^verdict'; kill $(cat \"$D/pack/sleeper\") ;;\n"
         "    esac\n"
         "done\n");
}

/* --------------------------------------------------------------------------- the pack */

/* A build whose objects for devices are the shim's: what they are in the pack is looked at by names only.  Without what
 * debuggers want, which nvcc's have not either, they are of a device's size. */
static const char built[] =
    "mkdir -p \"$D/built/device/counted\"; cp -r \"$B/gpu\" \"$D/built/gpu\"; cp \"$P\" \"$D/built/plimsoll\"\n"
    "for f in '' counted/; do strip -o \"$D/built/device/${f}plimsoll-cuda.so\" \"$B/gpu/plimsoll-cuda.so\"; done\n"
    "pack() { local s=0; sh tests/gpu/pack.sh \"$D/built\" \"$D/pack\" '' >\"$D/out\" 2>&1 || s=$?\n"
    "    [ $s = $1 ] && grep -q -- \"$2\" \"$D/out\" || die \"pack ended with $s: $(cat \"$D/out\")\"; }\n";

static void bash_built(const char *script)
{
    static char text[8000];
    snprintf(text, sizeof text, "%s%s", built, script);
    bash(text);
}

TEST(the_pack_has_all_that_its_programs_need_but_the_c_library)
{
    if (CHECK_SANITIZED) SKIP("a sanitizer's programs are no pack's");
    bash_built("pack 0 'KiB$'\n"
               "[ $(du -sb \"$D/pack\" | cut -f 1) -le $((40 << 20)) ]\n"
               "for f in plimsoll.gz plimsoll-cuda.so.gz made check/steps.gz check/plimsoll-cuda.so.gz \\\n"
               "    lib/libcmocka.so.0.gz assets/plimsoll-tiny.gguf tests/fixtures/llama-gqa.gguf \\\n"
               "    tests/fixtures/llama-gqa.ref; do\n"
               "    [ -f \"$D/pack/$f\" ] || die \"no $f\"; done\n"
               "! ls \"$D/pack/lib\" | grep -E '^(libc\\.|libm\\.|ld-linux|libcuda)' || die 'of the C library'\n"
               "grep -q '^commit: .' \"$D/pack/made\"\n"
               "grep -qx \"sources: $(sh tests/gpu/sources.sh)\" \"$D/pack/made\"\n"
               "export LD_LIBRARY_PATH=$D/pack/lib; cd \"$D/pack\"; gunzip check/*.gz lib/*.gz\n"
               "check/device | grep -q 'made up: no device'; check/ids soak | grep -q '1 passed, 0 failed'\n");
}

TEST(a_pack_that_is_too_large_or_lacks_kernels_or_a_function_is_not_made)
{
    if (CHECK_SANITIZED) SKIP("a sanitizer's programs are no pack's");
    bash_built("so=$D/built/device/plimsoll-cuda.so; rm \"$so\"; head -c $((40 << 20)) /dev/urandom >\"$so\"\n"
               "pack 2 'are the most that it may be'; [ ! -e \"$D/pack\" ] && [ ! -e \"$D/pack.new\" ]\n"
               ": >\"$D/built/device/counted/plimsoll-cuda.so\"; pack 2 'counted.cu has no .*(), which a check calls'\n"
               "rm \"$D/built/device/plimsoll-cuda.so\"; pack 2 'no CUDA kernels to pack'; [ ! -e \"$D/pack\" ]\n");
}

/* --------------------------------------------------------------- which devices they are for */

/* NVCC: a script that knows these devices; what it would be called with. */
TEST(kernels_are_built_for_the_devices_that_nvcc_knows_or_for_those_that_are_named)
{
    SCRIPTS_ALONE();
    bash("nvcc() { script \"$D/nvcc\" \"[ \\$1 = --list-gpu-arch ] && printf 'compute_%s\\\\n' $1\"; }\n"
         "flags() { rm -rf \"$D/k\"; env -u CUDA_ARCH make -s VARIANT=release STAGE=build \\\n"
         "        NVCC=\"$D/nvcc\" K=\"$D/k\" \"$@\" \\\n"
         "        \"$D/k/nvcc-flags\" && grep -o 'arch=compute_[0-9]*,code=[a-z]*_[0-9]*' \"$D/k/nvcc-flags\" |\n"
         "        sed 's/arch=compute_//; s/,code=/:/' | tr '\\n' ' '; }\n"
         "is() { [ \"$1\" = \"$2\" ] || die \"$1\"; }\n"
         "nvcc '75 80 86 87 89 90 100 103 120 121'\n"
         "is \"$(flags)\" '80:sm_80 86:sm_86 89:sm_89 90:sm_90 120:sm_120 80:compute_80 '\n"
         "is \"$(flags CUDA_ARCH=90)\" '90:sm_90 90:compute_90 '\n"
         "is \"$(flags CUDA_ARCH='86 100')\" '86:sm_86 100:sm_100 86:compute_86 '\n"
         "nvcc '52 75 80 86'; is \"$(flags)\" '80:sm_80 86:sm_86 80:compute_80 '\n");
}

/* ------------------------------------------------------------------------- the checks */

static void run_check(const char *command)
{
    char script[300];
    snprintf(script, sizeof script, "\"$B\"/gpu/%s >\"$D/out\" 2>&1 || die \"$(cat \"$D/out\")\"\n", command);
    bash(script);
}

TEST(the_checks_run_on_kernels_that_they_open)
{
    run_check("device | grep -q 'made up: no device'");
    run_check("steps fail");
    run_check("answers second_device");
    run_check("ids soak");
    if (CHECK_SANITIZED) return; /* test_cuda_steps, test_cuda_mix and test_cuda_answers do the same there */
    run_check("steps every_type");
    run_check("mix");
    run_check("answers greedy");
    run_check("ids fixture");
}

/* The shim's kernels again, built for blocks of other sizes. */
TEST(kernels_are_right_with_half_and_with_twice_the_threads_a_block)
{
    if (CHECK_SANITIZED) SKIP("these kernels are not built with a sanitizer");
    bash("for size in $([ \"${CI:-}\" = true ] || echo half) twice; do mkdir \"$D/$size\"; cp \"$B/gpu/$size/plimsoll-cuda.so\" \"$D/$size/\"\n"
         "    ! cmp -s \"$B/gpu/plimsoll-cuda.so\" \"$D/$size/plimsoll-cuda.so\" || die \"$size is the same\"\n"
         "    for c in 'steps every_step' 'steps every_type' 'steps attention' 'mix ' 'sample ' 'fast large'; do\n"
         "        cp \"$B/gpu/${c% *}\" \"$D/$size/\"\n" /* it opens what lies beside it */
         "        \"$D/$size/\"$c >\"$D/out\" 2>&1 || die \"$size: $c: $(cat \"$D/out\")\"; done; done\n");
}

TEST(models_of_a_real_shape_are_made_and_measured)
{
    if (CHECK_SANITIZED) SKIP("minutes with a sanitizer");
    run_check("ids q6_k");
    run_check("speed q4_k");
}

CHECK_MAIN
