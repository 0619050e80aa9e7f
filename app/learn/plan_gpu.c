/* plan_gpu.c - the table. */
#include "app/learn/plan_gpu.h"
#include "app/opts.h"
#include <ctype.h>

#define SMI "nvidia-smi's table in "
#define MODAL SMI "modal-labs/modal-client pull request 2797"
#define READMES SMI "the logs of several public repositories"

const struct plan_gpu plan_gpus[] = {
    {"t4", "NVIDIA T4", 15360, MODAL},
    {"l4", "NVIDIA L4", 23034, MODAL},
    {"a10", "NVIDIA A10", 23028, MODAL},
    {"a40", "NVIDIA A40 (ECC off)", 49140, READMES},
    {"l40s", "NVIDIA L40S", 46068, MODAL},
    {"v100-32gb", "NVIDIA V100 32 GB", 32768, READMES},
    {"a100-40gb", "NVIDIA A100 40 GB", 40960, MODAL},
    {"a100-80gb", "NVIDIA A100 80 GB", 81920, MODAL},
    {"h100-80gb", "NVIDIA H100 80 GB", 81559, MODAL},
    {"h20", "NVIDIA H20", 97871, READMES},
    {"gh200", "NVIDIA GH200", 97871, READMES},
    {"h200", "NVIDIA H200", 143771, "nvidia-smi on a machine with driver 580.159.03"},
    {"b200", "NVIDIA B200", 183359, READMES},
    {"rtx-a4000", "NVIDIA RTX A4000", 16376, READMES},
    {"rtx-a6000", "NVIDIA RTX A6000", 49140, READMES},
    {"rtx-6000-ada", "NVIDIA RTX 6000 Ada", 49140, READMES},
    {"rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell", 97887, "ggml-org/llama.cpp pull request 23604"},
    {"gtx-1080-ti", "NVIDIA GeForce GTX 1080 Ti", 11264, READMES},
    {"rtx-2080-ti", "NVIDIA GeForce RTX 2080 Ti", 11264, READMES},
    {"rtx-3060-12gb", "NVIDIA GeForce RTX 3060 12 GB", 12288, SMI "geerlingguy/raspberry-pi-pcie-devices issue 790"},
    {"rtx-3080-10gb", "NVIDIA GeForce RTX 3080 10 GB", 10240, READMES},
    {"rtx-3090", "NVIDIA GeForce RTX 3090", 24576, SMI "noonghunna/club-3090 issue 1128"},
    {"rtx-4060", "NVIDIA GeForce RTX 4060", 8188, READMES},
    {"rtx-4060-ti-8gb", "NVIDIA GeForce RTX 4060 Ti 8 GB", 8188, READMES},
    {"rtx-4060-ti-16gb", "NVIDIA GeForce RTX 4060 Ti 16 GB", 16380, READMES},
    {"rtx-4070", "NVIDIA GeForce RTX 4070", 12282, READMES},
    {"rtx-4070-ti", "NVIDIA GeForce RTX 4070 Ti", 12282, READMES},
    {"rtx-4080", "NVIDIA GeForce RTX 4080", 16376, READMES},
    {"rtx-4090", "NVIDIA GeForce RTX 4090", 24564, SMI "vllm-project/vllm issue 7553"},
    {"rtx-5070", "NVIDIA GeForce RTX 5070", 12227, "nvidia-smi -q in shkhln/libc6-shim issue 14"},
    {"rtx-5070-ti", "NVIDIA GeForce RTX 5070 Ti", 16303, READMES},
    {"rtx-5080", "NVIDIA GeForce RTX 5080", 16303, READMES},
    {"rtx-5090", "NVIDIA GeForce RTX 5090", 32607, SMI "noonghunna/club-3090 issue 1229"},
};
const int plan_gpus_n = (int)COUNT_OF(plan_gpus);

const char plan_driver_source[] =
    "640 MiB that CUDA does not count and a context of 555 MiB, by others on an RTX PRO 6000 "
    "(llama.cpp pull request 23604); plimsoll's own is not measured";

bool plan_same_name(const char *typed, const char *name)
{
    for (; *typed && *name; typed++, name++) {
        int c = *typed == ' ' || *typed == '_' ? '-' : tolower((unsigned char)*typed);
        if (c != *name) return false;
    }
    return !*typed && !*name;
}

size_t plan_skeleton(const char *name, const char *const *idle, char *out, size_t n)
{
    size_t at = 0, word = 0; /* where in out the word began */
    for (const char *c = name;; c++) {
        if (isalnum((unsigned char)*c) || *c == '.') {
            if (at + 1 < n) out[at++] = (char)tolower((unsigned char)*c);
            continue;
        }
        for (size_t i = 0; idle[i]; i++)
            if (at - word == strlen(idle[i]) && memcmp(out + word, idle[i], at - word) == 0) at = word;
        word = at;
        if (!*c) break;
    }
    out[at] = '\0';
    return at;
}

/* "NVIDIA GeForce RTX 4090", as nvidia-smi has it, and "rtx4090" mean "rtx-4090". */
static bool same_gpu(const char *typed, const char *name)
{
    static const char *const idle[] = {"nvidia", "geforce", "tesla", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "pcie",
                                       "hbm2", "hbm2e", "hbm3", "hbm3e", NULL};
    char a[64], b[64];
    return plan_skeleton(typed, idle, a, sizeof a) && plan_skeleton(name, idle, b, sizeof b) && strcmp(a, b) == 0;
}

static bool is_between(char c) { return c == '-' || c == '_' || c == ' '; }

/* Does the name begin so, whatever stands between its words?  "rtx4090" */
static bool begins(const char *name, const char *typed)
{
    for (;; name++, typed++) {
        while (is_between(*name)) name++;
        while (is_between(*typed)) typed++;
        if (!*typed) return true;
        if (tolower((unsigned char)*typed) != *name) return false;
    }
}

const struct plan_gpu *plan_gpu_find(const char *name, struct err *err)
{
    char near[200] = "";
    size_t at = 0;
    for (int i = 0; i < plan_gpus_n; i++)
        if (same_gpu(name, plan_gpus[i].name)) return &plan_gpus[i];
    for (int i = 0; i < plan_gpus_n && at < sizeof near; i++) { /* "a100" is two */
        const char *key = plan_gpus[i].name, *part = strstr(key, "rtx-") == key ? key + 4 : key;
        if (strlen(name) < 2 || (!begins(key, name) && !begins(part, name))) continue;
        at += (size_t)snprintf(near + at, sizeof near - at, "%s%s", at ? ", " : "", key);
    }
    err_set(err, -1, "--gpu: \"%.40s\" is not known%s%s; --list names all, and --vram SIZE does without a name", name,
            *near ? "; these are: " : "", near);
    return NULL;
}
