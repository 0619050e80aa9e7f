/* Names in a folder, where memory runs out. */
#include "tests/check.h"
#include "tests/interpose.h"
#include "tools/folder.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(folder_says_that_memory_ran_out)
{
    if (!INTERPOSE_WORKS) SKIP("a sanitizer has an allocator of its own");
    int failures = 0;
    const char *dir = check_tmpdir();
    char path[600];
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        CHECK_EQ(mkdir(path, 0700), 0);
    }
    for (int rc = -1; rc; failures += rc != 0) {
        struct folder f;
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK(fd >= 0);
        interpose_arm(failures + 1, false);
        rc = folder_read(fd, 100, &f);
        int why = errno;
        interpose_disarm();
        if (rc) CHECK_EQ(why, ENOMEM);
        else CHECK_EQ(f.n, 5);
        CHECK(rc == 0 || (f.n == 0 && !f.entry));
        folder_free(&f);
    }
    CHECK(failures > 5);
}

CHECK_MAIN
