/* slow_sync.c - a library to load before others: a disk on which each fsync takes 200 ms longer. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void slow(void) { nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); }

int fsync(int fd)
{
    slow();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    slow();
    return (int)syscall(SYS_fdatasync, fd);
}

int msync(void *at, size_t n, int flags)
{
    slow();
    return (int)syscall(SYS_msync, at, n, flags);
}
