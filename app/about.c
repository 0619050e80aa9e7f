/* about.c - build facts come from the Makefile (version.h); what the machine can do is asked of the CPU backend
 * itself. */
#include "app/about.h"
#include "engine/engine.h"
#include "version.h"
#include <jansson.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static void instruction_set(const char *isa, int threads, struct buf *out)
{
    struct kern_config cfg = {.threads = threads, .isa = isa, .pin = threads == 0};
    struct err err = {0};
    const struct kern *cpu = kern_cpu();
    struct kdev *d = cpu->open(&cfg, &err);
    buf_printf(out, "  %-9s %s\n", isa, d ? cpu->describe(d) : err.text);
    if (d) cpu->close(d);
}

void about(struct buf *out)
{
    static const char *const sets[] = {"portable", "avx2", "avxvnni", "avx512"};
    char pcre2[64] = "unknown";
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof pcre2) pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    buf_printf(out, "plimsoll %s\ncompiler  %s\nflags     %s\nlibraries pcre2 %s, jansson %s\n", PLIMSOLL_VERSION,
               PLIMSOLL_COMPILER, PLIMSOLL_CFLAGS, pcre2, jansson_version_str());
    buf_puts(out, "instruction sets in the cpu backend, and what it says of each on this machine\n");
    for (size_t i = 0; i < COUNT_OF(sets); i++) instruction_set(sets[i], 1, out);
    buf_puts(out, "without flags it would use\n");
    instruction_set("auto", 0, out);
}
