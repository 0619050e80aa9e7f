/* test_cuda_shim.c - the shim that runs CUDA kernels on the host does what a device does, and ends where one would hang
 * or go wrong. */
#include "tests/check.h"
#include "tests/cuda_on_cpu/probe.h"
#include "tests/cuda_on_cpu/shim.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(barriers_shuffles_votes_atomics_and_grids_give_the_right_answers_in_every_order)
{
    for (int order = 0; order < 3; order++) {
        shim_order(order);
        CHECK_EQ(probe_barrier(), 0);
        CHECK_EQ(probe_shuffle(), 0);
        CHECK_EQ(probe_vote(), 0);
        CHECK_EQ(probe_atomic(), 0);
        CHECK_EQ(probe_grid(), 0);
        CHECK_EQ(probe_poison(), 0);
    }
    shim_order(0);
    CHECK_EQ(shim_bytes(), 0);
}

TEST(a_missing_barrier_shows_in_some_order_of_threads)
{
    CHECK_EQ(probe_order(), 0);
}

TEST(what_is_launched_waits_for_its_stream_and_what_no_device_takes_is_refused)
{
    CHECK_EQ(probe_later(), 0);
    CHECK_EQ(probe_limits(), 0);
}

/* Runs it in a child: did that end by itself (false), or by a signal or a sanitizer? */
static bool dies(void (*probe)(void))
{
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        close(2);
        probe();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(what_would_hang_or_go_wrong_on_a_device_ends_the_program)
{
    CHECK(dies(probe_half_barrier));
    CHECK(dies(probe_lost_lane));
    CHECK(dies(probe_mixed));
    CHECK(dies(probe_past_end));
    CHECK(dies(probe_past_shared));
    CHECK(dies(probe_from_host));
}

CHECK_MAIN
