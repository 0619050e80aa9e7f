/* hostmem.h - how much memory this process may still take without the system killing something for it, and
 * what it has. */
#ifndef HOSTMEM_H
#define HOSTMEM_H
#include "plimsoll.h"

/* Bytes: the least of MemAvailable (/proc/meminfo: free plus what the page cache can give back; see proc(5)) and what
 * the limits of the control groups above us leave (version 2: memory.max less memory.current less the reclaimable file
 * cache; version 1 the same by its names).  UINT64_MAX where the system does not say. Any thread. */
uint64_t hostmem_available(void);

/* Bytes that there are in all: the least of MemTotal and the limits of the control groups above us.  0: unknown. */
uint64_t hostmem_total(void);
uint64_t hostmem_total_in(const char *root);

/* The same from given files, so that it can be tested: root is put before /proc and /sys. */
uint64_t hostmem_available_in(const char *root);

/* What the system counts of this process (/proc/self/status); bytes, all 0 where it does not say.  What is resident and
 * not anonymous are pages of files (the program, libraries, what is mapped) or shared: the page cache has them. */
struct hostmem_process {
    uint64_t resident, anonymous; /* VmRSS; RssAnon: heap, stacks, mappings of no file */
    uint64_t peak;                /* VmHWM: the most that was resident */
};
void hostmem_process(struct hostmem_process *out); /* tens of microseconds; any thread */
void hostmem_process_in(const char *root, struct hostmem_process *out);
double hostmem_tenths(uint64_t bytes); /* MiB to a tenth: what is shown so and has to add up */

/* Before anything else: blocks of 256 KiB and more are the system's own and go back to it when they are freed.  (Else
 * the first large one makes malloc keep all later ones, and a single 10 MB text stays with the process; and
 * each thread would keep a heap of its own for what it once needed.) */
void hostmem_return_large(void);
#endif
