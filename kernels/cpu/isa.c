/* isa.c - which instruction sets this processor and its operating system have. */
#include "kernels/cpu/isa.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { XMM_YMM = 0x06, XMM_YMM_ZMM = 0xe6 };

/* Which register files the system saves at a switch (XCR0); 0: it does not say. */
static uint32_t saved_registers(void)
{
    uint32_t a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_avx2(void)
{
    uint32_t a, b, c, d, wanted = bit_AVX | bit_FMA | bit_F16C;
    if ((saved_registers() & XMM_YMM) != XMM_YMM) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & wanted) != wanted) return false;
    wanted = bit_AVX2 | bit_BMI2;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & wanted) == wanted;
}

/* Leaf 7 has a second page where its first one says so. */
static bool has_avxvnni(void)
{
    enum { AVX_VNNI = 1 << 4 };
    uint32_t a, b, c, d;
    if (ISA_EMULATED) return has_avx2();
    if (!has_avx2() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1) return false;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI);
}

static bool has_avx512(void)
{
    uint32_t a, b, c, d, wanted = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
    if (ISA_EMULATED) return has_avx2();
    if (!has_avx2() || (saved_registers() & XMM_YMM_ZMM) != XMM_YMM_ZMM) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & wanted) == wanted && (c & bit_AVX512VNNI);
}

static bool is_made_by(uint32_t ebx, uint32_t ecx, uint32_t edx)
{
    uint32_t a, b, c, d;
    return __get_cpuid(0, &a, &b, &c, &d) && b == ebx && c == ecx && d == edx;
}

static bool is_intel(void)
{
    return is_made_by(signature_INTEL_ebx, signature_INTEL_ecx, signature_INTEL_edx);
}

static int zen(void)
{
    uint32_t a, b, c, d;
    if (!is_made_by(signature_AMD_ebx, signature_AMD_ecx, signature_AMD_edx)) return 0;
    return __get_cpuid(1, &a, &b, &c, &d) ? isa_zen(a) : 0;
}

enum isa_fetch isa_fetches(void)
{
    if (is_intel()) return ISA_BOTH;
    switch (zen()) {
    case 3: return ISA_ONCE;
    case 4: return ISA_SECOND;
    default: return ISA_FIRST;
    }
}

bool isa_reads_ahead(void)
{
    return zen() == 4;
}

bool isa_opens(void)
{
    return is_intel();
}

bool isa_lean(void)
{
    return is_intel();
}
#else
enum isa_fetch isa_fetches(void)
{
    return ISA_FIRST;
}

bool isa_reads_ahead(void)
{
    return false;
}

bool isa_opens(void)
{
    return false;
}

bool isa_lean(void)
{
    return false;
}

static bool has_avx2(void)
{
    return false;
}

static bool has_avxvnni(void)
{
    return false;
}

static bool has_avx512(void)
{
    return false;
}
#endif

int isa_zen(uint32_t eax)
{
    enum { FAMILY = 0x19 };
    const uint32_t family = (eax >> 8 & 15) + (eax >> 20 & 255), models = eax >> 16 & 15; /* by sixteens */
    if (family != FAMILY) return 0;
    return models == 1 || models >= 6 ? 4 : 3;
}

static bool has_all(void)
{
    return true;
}

/* Best first. */
static const struct choice {
    const char *name, *needs;
    bool (*has)(void);
    const struct cpu_isa *(*table)(void);
} choices[] = {
    {"avx512", "AVX-512 F, BW, VL, DQ and VNNI", has_avx512, isa_avx512},
    {"avxvnni", "AVX2, FMA, F16C and AVX-VNNI", has_avxvnni, isa_avxvnni},
    {"avx2", "AVX2, FMA and F16C", has_avx2, isa_avx2},
    {"portable", "nothing", has_all, isa_portable},
};

const struct cpu_isa *isa_choose(const char *name, struct err *err)
{
    bool any = !name || strcmp(name, "auto") == 0;
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct choice *c = &choices[i];
        if (!any && strcmp(name, c->name) != 0) continue;
        if (c->has() && c->table()) return c->table();
        if (any) continue;
        err_set(err, -1, c->has() ? "the %s kernels (%s) are not in this build; use \"auto\""
                                  : "this processor or system lacks what the %s kernels need: %s; use \"auto\"",
                c->name, c->needs);
        return NULL;
    }
    err_set(err, -1, "no instruction set is named \"%s\": use auto, avx512, avxvnni, avx2 or portable",
            name ? name : "");
    return NULL;
}
