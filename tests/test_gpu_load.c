/* test_gpu_load.c - where the program finds the object with its CUDA kernels, and what it says when that is missing,
 * broken or another version's.  The object is the shim's (build/gpu/). */
#include "tests/check.h"
#include "tests/term_rig.h"
#include <limits.h>
#include <unistd.h>

/* $P: the program, $SO: an object for it, $OLD: one of another version, $D: an empty folder, with bin/ in it. */
static const char rig[] =
    "set -eu\n"
    "unset MAKEFLAGS MFLAGS MAKELEVEL\n"
    "export HOME=$D XDG_DATA_HOME=$D/data XDG_CONFIG_HOME=$D/config; mkdir \"$D/bin\"; cp \"$P\" \"$D/bin/plimsoll\"\n"
    "beside=$D/bin/plimsoll-cuda.so\n"
    "die() { echo \"line $BASH_LINENO: $*\"; exit 1; }\n"
    /* opens COMMAND: it does, by the kernels that run on the host */
    "opens() { local said; said=$(\"$@\" doctor --backend cuda) || die \"$* ended with $?: $said\"\n"
    "    case $said in *'cuda: a CPU (sm_90'*) ;; *) die \"$*: $said\" ;; esac; }\n"
    /* says WHAT COMMAND: one line on stderr that has it, and exit 4 */
    "says() { local what=$1 s=0 said; shift; said=$(\"$@\" --backend cuda -p x 2>&1 </dev/null) || s=$?\n"
    "    [ $s = 4 ] && [ \"$(printf '%s\\n' \"$said\" | wc -l)\" = 1 ] || die \"$* ended with $s: $said\"\n"
    "    case $said in plimsoll:*\"$what\"*'or use --backend cpu') ;; *) die \"$*: $said\" ;; esac; }\n"
    "none='there is no plimsoll-cuda.so beside the program: make builds it where nvcc is'\n";

static void bash(const char *script)
{
    static char text[6000], self[PATH_MAX], object[PATH_MAX + 40];
    char *program = realpath(child_program(), NULL);
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(program && n > 0);
    for (int i = 0; i < 2; i++) *strrchr(self, '/') = '\0'; /* .../tests/test_gpu_load */
    setenv("P", program, 1);
    setenv("D", check_tmpdir(), 1);
    snprintf(object, sizeof object, "%s/gpu/plimsoll-cuda.so", self);
    setenv("SO", object, 1);
    snprintf(object, sizeof object, "%s/gpu/old-face.so", self);
    setenv("OLD", object, 1);
    CHECK(snprintf(text, sizeof text, "%s%s", rig, script) < (int)sizeof text);
    setenv("SCRIPT", text, 1);
    free(program);
    CHECK_EQ(system("bash -c \"$SCRIPT\""), 0);
}

TEST(the_object_is_found_beside_the_program_however_that_is_called)
{
    bash("cp \"$SO\" \"$beside\"; mkdir \"$D/links\" \"$D/else\"\n"
         "opens \"$D/bin/plimsoll\"\n"
         "cd \"$D/bin\"; opens ./plimsoll; cd \"$D/else\"; opens ../bin/plimsoll\n"
         "ln -s ../bin/plimsoll \"$D/links/plimsoll\"; opens \"$D/links/plimsoll\"\n"
         "ln -s links/plimsoll \"$D/again\"; opens \"$D/again\"\n"
         "PATH=$D/links:$PATH; opens plimsoll\n"
         "rm \"$beside\"; cp \"$SO\" \"$D/real.so\"; ln -s ../real.so \"$beside\"; opens plimsoll\n");
}

TEST(the_object_is_looked_for_nowhere_else)
{
    bash("mkdir \"$D/links\"; cp \"$SO\" \"$D/links/\"; ln -s ../bin/plimsoll \"$D/links/plimsoll\"; cd \"$D/links\"\n"
         "export LD_LIBRARY_PATH=$D/links\n"
         "says \"$none\" ./plimsoll; says \"$none\" \"$D/bin/plimsoll\"\n"
         "ln \"$D/bin/plimsoll\" \"$D/links/hard\"; opens ./hard\n" /* a name of its own: beside is there */
         "ln -s nowhere.so \"$beside\"; says \"$none\" \"$D/bin/plimsoll\"\n");
}

TEST(an_object_that_is_broken_or_of_another_version_is_refused_in_one_line)
{
    bash("cp \"$OLD\" \"$beside\"; says 'are not of its version: run make' \"$D/bin/plimsoll\"\n"
         "echo no object >\"$beside\"; says 'cannot be opened: ' \"$D/bin/plimsoll\"\n"
         ": >\"$beside\"; says 'cannot be opened: ' \"$D/bin/plimsoll\"\n"
         "for n in 40 5000 $(($(stat -c %s \"$SO\") - 1)); do head -c $n \"$SO\" >\"$beside\"\n"
         "    says 'cannot be opened: ' \"$D/bin/plimsoll\"; done\n" /* a copy that was cut off */
         "rm \"$beside\"; mkdir \"$beside\"; says 'cannot be opened: ' \"$D/bin/plimsoll\"\n"
         "rmdir \"$beside\"; cp \"$(ldd \"$P\" | sed -n 's/.*=> \\(.*libjansson[^ ]*\\) .*/\\1/p')\" \"$beside\"\n"
         "says 'are not of its version: run make' \"$D/bin/plimsoll\"\n"); /* an object that is none of ours */
}

/* The CPU serves as if nothing had been there, and says why only where a driver shows a device. */
TEST(an_object_that_is_broken_or_missing_does_not_hinder_the_cpu)
{
    bash("cpu=$(\"$D/bin/plimsoll\" --backend cpu --temp 0 -p hello </dev/null); [ -n \"$cpu\" ]\n"
         "as_cpu() { [ \"$cpu\" = \"$(\"$D/bin/plimsoll\" --temp 0 -p hello </dev/null 2>\"$D/err\")\" ] &&\n"
         "    if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then grep -q '^the CPU serves, not the GPU: ' \"$D/err\"\n"
         "    else [ ! -s \"$D/err\" ]; fi || die \"$1: $(cat \"$D/err\")\"; }\n"
         "as_cpu missing; echo no object >\"$beside\"; as_cpu broken\n");
}

TEST(an_installed_program_finds_the_object_that_make_install_put_there)
{
    bash("cp \"$SO\" \"$beside\"\n"
         "make -s install PROGRAM=\"$D/bin/plimsoll\" DESTDIR=\"$D/root\" PREFIX=/opt/x >/dev/null\n"
         "at=$D/root/opt/x; rm \"$beside\"; [ ! -e \"$at/bin/plimsoll-cuda.so\" ]\n"
         "opens \"$at/bin/plimsoll\"\n"
         "ln -s \"$at/bin/plimsoll\" \"$D/plimsoll\"; opens \"$D/plimsoll\"\n"
         "cp \"$OLD\" \"$at/bin/plimsoll-cuda.so\"\n" /* beside wins */
         "says 'are not of its version' \"$at/bin/plimsoll\"\n"
         "rm \"$at/bin/plimsoll-cuda.so\"; opens \"$at/bin/plimsoll\"\n"
         "make -s uninstall DESTDIR=\"$D/root\" PREFIX=/opt/x >/dev/null\n"
         "[ -z \"$(find \"$D/root\" -type f)\" ]\n");
}

/* ----------------------------------------------------------------------- exact and fast */

/* A chat at a terminal is fast unless told otherwise, and the screen's head says which; what has a prompt of its own or a
 * script is exact unless told otherwise.  auto takes the device. */
TEST(a_chat_by_hand_is_fast_and_all_else_is_exact)
{
    bash("cp \"$SO\" \"$beside\"\n"
         "mode() { local want=$1; shift; rm -f \"$D/t\"\n"
         "    echo '/quit' | \"$D/bin/plimsoll\" --no-save --system s -n 1 --trace \"$D/t\" \"$@\" \\\n"
         "        >\"$D/out\" 2>&1 ||\n"
         "        die \"$(cat \"$D/out\")\"\n"
         "    [ \"$(sed -n 's/.*\"mode\":\"\\([a-z]*\\)\".*/\\1/p' \"$D/t\")\" = $want ] ||\n"
         "        die \"$*: $(cat \"$D/t\")\"; }\n"
         "mode exact; mode fast --fast; mode exact --exact\n"
         "grep -q '\"backend\":\"a CPU (sm_90, ' \"$D/t\" || die \"$(cat \"$D/t\")\"\n"
         "mode exact --script; mode exact -p x; mode fast -p x --fast\n");
    static char program[PATH_MAX];
    const struct child_terminal at = {"xterm-256color", 80, 24, NULL};
    const char *const plain[] = {"--backend", "cuda", "--no-save", NULL},
               *const exact[] = {"--backend", "cuda", "--no-save", "--exact", NULL};
    snprintf(program, sizeof program, "%s/bin/plimsoll", getenv("D"));
    setenv("PLIMSOLL_BIN", program, 1);
    setenv("HOME", getenv("D"), 1);
    const struct { const char *const *args; const char *head; } rows[] = {{plain, " plimsoll  fast  "},
                                                                          {exact, " plimsoll  exact  "}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        open_screen(rows[i].args, &at);
        look_for(rows[i].head);
        press("/quit\r");
        CHECK_EQ(close_screen(), 0);
    }
}

CHECK_MAIN
