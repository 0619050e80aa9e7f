/* plan_shape.c - the table of shapes, and names in it. */
#include "app/learn/plan_shape.h"
#include "app/learn/plan_gpu.h"

#define OTHER(arch, words) \
    "its architecture " arch " is not supported (" words \
    "); llama, qwen2, qwen2moe, qwen3, qwen3moe, qwen35, qwen35moe, qwen3next, smollm3, lfm2, phi3, gpt-oss, " \
    "granite, granitemoe, mistral3, olmo2, gemma2 and gemma3 are"

/* Experts, used, and width of one that is shared; key heads and value heads of states, their size, taps, and dimensions
 * of attention's heads that rotate. */
#define DENSE 0, 0, 0, {0}
#define MIX(experts, used) experts, used, 0, {0}
#define BESIDE(experts, used, shared) experts, used, shared, {0}
#define STATES(experts, used, shared, values) experts, used, shared, {16, values, 128, 4, 64, 0}
/* Taps of short convolutions, and which layers have attention instead: bits. */
#define CONVS(attention) 0, 0, 0, {0, 0, 0, 3, 0, attention}
#define LFM2_16 0x5524   /* 2, 5, 8, 10, 12, 14 */
#define LFM2_30 0x9222224 /* 2, 5, 9, 13, 17, 21, 24, 27 */

const struct plan_shape plan_shapes[] = {
    /* name, arch, why not, layers, embd, heads, kv heads, head dim, ff, vocab, ctx, window, tied, words, parameters,
     * and one of these */
    {"llama2-7b", "llama", NULL, 32, 4096, 32, 32, 128, 11008, 32000, 4096, 0, false, WORDS_SPM, 6738415616, DENSE},
    {"llama2-13b", "llama", NULL, 40, 5120, 40, 40, 128, 13824, 32000, 4096, 0, false, WORDS_SPM, 13015864320, DENSE},
    {"llama2-70b", "llama", NULL, 80, 8192, 64, 8, 128, 28672, 32000, 4096, 0, false, WORDS_SPM, 68976648192, DENSE},
    {"llama3-8b", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 128256, 8192, 0, false, WORDS_LLAMA3, 8030261248, DENSE},
    {"llama3-70b", "llama", NULL, 80, 8192, 64, 8, 128, 28672, 128256, 8192, 0, false, WORDS_LLAMA3,
     70553706496, DENSE},
    {"llama3.1-8b", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 128256, 131072, 0, false, WORDS_LLAMA3,
     8030261248, DENSE},
    {"llama3.1-70b", "llama", NULL, 80, 8192, 64, 8, 128, 28672, 128256, 131072, 0, false, WORDS_LLAMA3,
     70553706496, DENSE},
    {"llama3.1-405b", "llama", NULL, 126, 16384, 128, 8, 128, 53248, 128256, 131072, 0, false, WORDS_LLAMA3,
     405853388800, DENSE},
    {"llama3.2-1b", "llama", NULL, 16, 2048, 32, 8, 64, 8192, 128256, 131072, 0, true, WORDS_LLAMA3, 1235814400, DENSE},
    {"llama3.2-3b", "llama", NULL, 28, 3072, 24, 8, 128, 8192, 128256, 131072, 0, true, WORDS_LLAMA3,
     3212749824, DENSE},
    {"llama3.3-70b", "llama", NULL, 80, 8192, 64, 8, 128, 28672, 128256, 131072, 0, false, WORDS_LLAMA3,
     70553706496, DENSE},
    {"deepseek-r1-distill-llama-8b", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 128256, 131072, 0, false, WORDS_LLAMA3,
     8030261248, DENSE},
    {"deepseek-r1-distill-llama-70b", "llama", NULL, 80, 8192, 64, 8, 128, 28672, 128256, 131072, 0, false,
     WORDS_LLAMA3, 70553706496, DENSE},
    {"mistral-7b-v0.1", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 32000, 32768, 4096, false, WORDS_SPM,
     7241732096, DENSE},
    {"mistral-7b-v0.2", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 32000, 32768, 0, false, WORDS_SPM,
     7241732096, DENSE},
    {"mistral-7b-v0.3", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 32768, 32768, 0, false, WORDS_SPM,
     7248023552, DENSE},
    {"mixtral-8x7b", "llama", NULL, 32, 4096, 32, 8, 128, 14336, 32000, 32768, 0, false, WORDS_SPM,
     46702792704, MIX(8, 2)},
    {"mixtral-8x22b", "llama", NULL, 56, 6144, 48, 8, 128, 16384, 32768, 65536, 0, false, WORDS_SPM,
     140630071296, MIX(8, 2)},
    {"mistral-nemo-12b", "llama", NULL, 40, 5120, 32, 8, 128, 14336, 131072, 131072, 0, false, WORDS_TEKKEN,
     12247782400, DENSE},
    {"mistral-small-24b", "llama", NULL, 40, 5120, 32, 8, 128, 32768, 131072, 32768, 0, false, WORDS_TEKKEN,
     23572403200, DENSE},
    {"codestral-22b", "llama", NULL, 56, 6144, 48, 8, 128, 16384, 32768, 32768, 0, false, WORDS_SPM,
     22247282688, DENSE},
    {"tinyllama-1.1b", "llama", NULL, 22, 2048, 32, 4, 64, 5632, 32000, 2048, 0, false, WORDS_SPM, 1100048384, DENSE},
    {"solar-10.7b", "llama", NULL, 48, 4096, 32, 8, 128, 14336, 32000, 4096, 0, false, WORDS_SPM, 10731524096, DENSE},
    {"yi1.5-6b", "llama", NULL, 32, 4096, 32, 4, 128, 11008, 64000, 4096, 0, false, WORDS_SPM, 6061035520, DENSE},
    {"yi1.5-9b", "llama", NULL, 48, 4096, 32, 4, 128, 11008, 64000, 4096, 0, false, WORDS_SPM, 8829407232, DENSE},
    {"yi1.5-34b", "llama", NULL, 60, 7168, 56, 8, 128, 20480, 64000, 4096, 0, false, WORDS_SPM, 34388917248, DENSE},
    {"smollm2-135m", "llama", NULL, 30, 576, 9, 3, 64, 1536, 49152, 8192, 0, true, WORDS_SMOLLM, 134515008, DENSE},
    {"smollm2-360m", "llama", NULL, 32, 960, 15, 5, 64, 2560, 49152, 8192, 0, true, WORDS_SMOLLM, 361821120, DENSE},
    {"smollm2-1.7b", "llama", NULL, 24, 2048, 32, 32, 64, 8192, 49152, 8192, 0, true, WORDS_SMOLLM, 1711376384, DENSE},
    {"falcon3-7b", "llama", NULL, 28, 3072, 12, 4, 256, 23040, 131072, 32768, 0, false, WORDS_FALCON3,
     7455550464, DENSE},
    {"falcon3-10b", "llama", NULL, 40, 3072, 12, 4, 256, 23040, 131072, 32768, 0, false, WORDS_FALCON3,
     10305653760, DENSE},
    {"qwen2-7b", "qwen2", NULL, 28, 3584, 28, 4, 128, 18944, 152064, 32768, 0, false, WORDS_QWEN2, 7615616512, DENSE},
    {"qwen2.5-0.5b", "qwen2", NULL, 24, 896, 14, 2, 64, 4864, 151936, 32768, 0, true, WORDS_QWEN2, 494032768, DENSE},
    {"qwen2.5-1.5b", "qwen2", NULL, 28, 1536, 12, 2, 128, 8960, 151936, 32768, 0, true, WORDS_QWEN2, 1543714304, DENSE},
    {"qwen2.5-3b", "qwen2", NULL, 36, 2048, 16, 2, 128, 11008, 151936, 32768, 0, true, WORDS_QWEN2, 3085938688, DENSE},
    {"qwen2.5-7b", "qwen2", NULL, 28, 3584, 28, 4, 128, 18944, 152064, 32768, 0, false, WORDS_QWEN2, 7615616512, DENSE},
    {"qwen2.5-14b", "qwen2", NULL, 48, 5120, 40, 8, 128, 13824, 152064, 32768, 0, false, WORDS_QWEN2,
     14770033664, DENSE},
    {"qwen2.5-32b", "qwen2", NULL, 64, 5120, 40, 8, 128, 27648, 152064, 32768, 0, false, WORDS_QWEN2,
     32763876352, DENSE},
    {"qwen2.5-72b", "qwen2", NULL, 80, 8192, 64, 8, 128, 29568, 152064, 32768, 0, false, WORDS_QWEN2,
     72706203648, DENSE},
    {"qwen1.5-moe-a2.7b", "qwen2moe", NULL, 24, 2048, 16, 16, 128, 1408, 151936, 8192, 0, false, WORDS_QWEN2,
     14315784192, BESIDE(60, 4, 5632)},
    {"qwen2-57b-a14b", "qwen2moe", NULL, 28, 3584, 28, 4, 128, 2560, 151936, 131072, 0, false, WORDS_QWEN2,
     57408658944, BESIDE(64, 8, 20480)},
    {"qwq-32b", "qwen2", NULL, 64, 5120, 40, 8, 128, 27648, 152064, 40960, 0, false, WORDS_QWEN2, 32763876352, DENSE},
    {"deepseek-r1-distill-qwen-1.5b", "qwen2", NULL, 28, 1536, 12, 2, 128, 8960, 151936, 131072, 0, false, WORDS_QWEN2,
     1777088000, DENSE},
    {"deepseek-r1-distill-qwen-7b", "qwen2", NULL, 28, 3584, 28, 4, 128, 18944, 152064, 131072, 0, false, WORDS_QWEN2,
     7615616512, DENSE},
    {"deepseek-r1-distill-qwen-14b", "qwen2", NULL, 48, 5120, 40, 8, 128, 13824, 152064, 131072, 0, false, WORDS_QWEN2,
     14770033664, DENSE},
    {"deepseek-r1-distill-qwen-32b", "qwen2", NULL, 64, 5120, 40, 8, 128, 27648, 152064, 131072, 0, false, WORDS_QWEN2,
     32763876352, DENSE},
    {"qwen3-0.6b", "qwen3", NULL, 28, 1024, 16, 8, 128, 3072, 151936, 40960, 0, true, WORDS_QWEN2, 596049920, DENSE},
    {"qwen3-1.7b", "qwen3", NULL, 28, 2048, 16, 8, 128, 6144, 151936, 40960, 0, true, WORDS_QWEN2, 1720574976, DENSE},
    {"qwen3-4b", "qwen3", NULL, 36, 2560, 32, 8, 128, 9728, 151936, 40960, 0, true, WORDS_QWEN2, 4022468096, DENSE},
    {"qwen3-4b-2507", "qwen3", NULL, 36, 2560, 32, 8, 128, 9728, 151936, 262144, 0, true, WORDS_QWEN2,
     4022468096, DENSE},
    {"qwen3-8b", "qwen3", NULL, 36, 4096, 32, 8, 128, 12288, 151936, 40960, 0, false, WORDS_QWEN2, 8190735360, DENSE},
    {"qwen3-14b", "qwen3", NULL, 40, 5120, 40, 8, 128, 17408, 151936, 40960, 0, false, WORDS_QWEN2, 14768307200, DENSE},
    {"qwen3-32b", "qwen3", NULL, 64, 5120, 64, 8, 128, 25600, 151936, 40960, 0, false, WORDS_QWEN2, 32762123264, DENSE},
    {"qwen3-30b-a3b", "qwen3moe", NULL, 48, 2048, 32, 4, 128, 768, 151936, 40960, 0, false, WORDS_QWEN2,
     30532122624, MIX(128, 8)},
    {"qwen3-30b-a3b-2507", "qwen3moe", NULL, 48, 2048, 32, 4, 128, 768, 151936, 262144, 0, false, WORDS_QWEN2,
     30532122624, MIX(128, 8)},
    {"qwen3-coder-30b-a3b", "qwen3moe", NULL, 48, 2048, 32, 4, 128, 768, 151936, 262144, 0, false, WORDS_QWEN2,
     30532122624, MIX(128, 8)},
    {"qwen3-235b-a22b", "qwen3moe", NULL, 94, 4096, 64, 4, 128, 1536, 151936, 40960, 0, false, WORDS_QWEN2,
     235093634560, MIX(128, 8)},
    {"qwen3-235b-a22b-2507", "qwen3moe", NULL, 94, 4096, 64, 4, 128, 1536, 151936, 262144, 0, false, WORDS_QWEN2,
     235093634560, MIX(128, 8)},
    {"deepseek-r1-0528-qwen3-8b", "qwen3", NULL, 36, 4096, 32, 8, 128, 12288, 151936, 131072, 0, false, WORDS_QWEN2,
     8190735360, DENSE},
    /* what reads text; its vocabulary is taken to be like Qwen2's */
    {"qwen3.5-0.8b", "qwen35", NULL, 24, 1024, 8, 2, 256, 3584, 248320, 262144, 0, true, WORDS_QWEN2, 752393024,
     STATES(0, 0, 0, 16)},
    {"qwen3.5-2b", "qwen35", NULL, 24, 2048, 8, 2, 256, 6144, 248320, 262144, 0, true, WORDS_QWEN2, 1881825088,
     STATES(0, 0, 0, 16)},
    {"qwen3.5-4b", "qwen35", NULL, 32, 2560, 16, 4, 256, 9216, 248320, 262144, 0, true, WORDS_QWEN2, 4205751296,
     STATES(0, 0, 0, 32)},
    {"qwen3.5-9b", "qwen35", NULL, 32, 4096, 16, 4, 256, 12288, 248320, 262144, 0, false, WORDS_QWEN2, 8953803264,
     STATES(0, 0, 0, 32)},
    {"qwen3.5-27b", "qwen35", NULL, 64, 5120, 24, 4, 256, 17408, 248320, 262144, 0, false, WORDS_QWEN2, 26895998464,
     STATES(0, 0, 0, 48)},
    {"qwen3.6-27b", "qwen35", NULL, 64, 5120, 24, 4, 256, 17408, 248320, 262144, 0, false, WORDS_QWEN2, 26895998464,
     STATES(0, 0, 0, 48)},
    {"qwen3.5-35b-a3b", "qwen35moe", NULL, 40, 2048, 16, 2, 256, 512, 248320, 262144, 0, false, WORDS_QWEN2,
     34660610688, STATES(256, 8, 512, 32)},
    {"qwen3.6-35b-a3b", "qwen35moe", NULL, 40, 2048, 16, 2, 256, 512, 248320, 262144, 0, false, WORDS_QWEN2,
     34660610688, STATES(256, 8, 512, 32)},
    {"qwen3.5-122b-a10b", "qwen35moe", NULL, 48, 3072, 32, 2, 256, 1024, 248320, 262144, 0, false, WORDS_QWEN2,
     122111526912, STATES(256, 8, 1024, 64)},
    {"qwen3.5-397b-a17b", "qwen35moe", NULL, 60, 4096, 32, 2, 256, 1024, 248320, 262144, 0, false, WORDS_QWEN2,
     396346350336, STATES(512, 10, 1024, 64)},
    {"qwen3-next-80b-a3b", "qwen3next", NULL, 48, 2048, 16, 2, 256, 512, 151936, 262144, 0, false, WORDS_QWEN2,
     79674391296, STATES(512, 10, 512, 32)},
    {"qwen3-coder-next", "qwen3next", NULL, 48, 2048, 16, 2, 256, 512, 151936, 262144, 0, false, WORDS_QWEN2,
     79674391296, STATES(512, 10, 512, 32)},
    {"smollm3-3b", "smollm3", NULL, 36, 2048, 16, 4, 128, 11008, 128256, 65536, 0, true, WORDS_LLAMA3,
     3075098624, DENSE},
    /* of Phi-4's vocabularies nothing was measured: they are taken to be like Qwen2's, which is byte-level BPE too */
    {"phi3-mini", "phi3", NULL, 32, 3072, 32, 32, 96, 8192, 32064, 4096, 2047, false, WORDS_SPM, 3821079552, DENSE},
    {"phi3-mini-128k", "phi3", NULL, 32, 3072, 32, 32, 96, 8192, 32064, 131072, 0, false, WORDS_SPM, 3821079552, DENSE},
    {"phi3.5-mini", "phi3", NULL, 32, 3072, 32, 32, 96, 8192, 32064, 131072, 0, false, WORDS_SPM, 3821079552, DENSE},
    {"phi3-medium", "phi3", NULL, 40, 5120, 40, 10, 128, 17920, 32064, 4096, 2047, false, WORDS_SPM,
     13960238080, DENSE},
    {"phi3-medium-128k", "phi3", NULL, 40, 5120, 40, 10, 128, 17920, 32064, 131072, 0, false, WORDS_SPM,
     13960238080, DENSE},
    {"phi4-14b", "phi3", NULL, 40, 5120, 40, 10, 128, 17920, 100352, 16384, 0, false, WORDS_QWEN2, 14659507200, DENSE},
    {"phi4-reasoning-14b", "phi3", NULL, 40, 5120, 40, 10, 128, 17920, 100352, 32768, 0, false, WORDS_QWEN2,
     14659507200, DENSE},
    {"phi4-mini", "phi3", NULL, 32, 3072, 24, 8, 128, 8192, 200064, 131072, 0, true, WORDS_QWEN2, 3836021760, DENSE},
    {"gemma2-2b", "gemma2", NULL, 26, 2304, 8, 4, 256, 9216, 256000, 8192, 4096, true, WORDS_SPM, 2614341888, DENSE},
    {"gemma2-9b", "gemma2", NULL, 42, 3584, 16, 8, 256, 14336, 256000, 8192, 4096, true, WORDS_SPM, 9241705984, DENSE},
    {"gemma2-27b", "gemma2", NULL, 46, 4608, 32, 16, 128, 36864, 256000, 8192, 4096, true, WORDS_SPM,
     27227128320, DENSE},
    {"gemma3-270m", "gemma3", NULL, 18, 640, 4, 1, 256, 2048, 262144, 32768, 512, true, WORDS_SPM, 268098176, DENSE},
    {"gemma3-1b", "gemma3", NULL, 26, 1152, 4, 1, 256, 6912, 262144, 32768, 512, true, WORDS_SPM, 999885952, DENSE},
    /* of these three what reads text; what looks at pictures is a file of its own */
    {"gemma3-4b", "gemma3", NULL, 34, 2560, 8, 4, 256, 10240, 262208, 131072, 1024, true, WORDS_SPM, 3880263168, DENSE},
    {"gemma3-12b", "gemma3", NULL, 48, 3840, 16, 8, 256, 15360, 262208, 131072, 1024, true, WORDS_SPM,
     11766034176, DENSE},
    {"gemma3-27b", "gemma3", NULL, 62, 5376, 32, 16, 128, 21504, 262208, 131072, 1024, true, WORDS_SPM,
     27009346304, DENSE},
    /* its vocabulary is taken to be like Qwen2's, too */
    {"gpt-oss-20b", "gpt-oss", NULL, 24, 2880, 64, 8, 64, 2880, 201088, 131072, 128, false, WORDS_QWEN2,
     20914757184, MIX(32, 4)},
    {"gpt-oss-120b", "gpt-oss", NULL, 36, 2880, 64, 8, 64, 2880, 201088, 131072, 128, false, WORDS_QWEN2,
     116829156672, MIX(128, 4)},
    /* LFM2.5's sizes are LFM2's; of its vocabulary nothing was measured: it is taken to be like SmolLM's */
    {"lfm2-350m", "lfm2", NULL, 16, 1024, 16, 8, 64, 4608, 65536, 128000, 0, true, WORDS_SMOLLM, 354483968,
     CONVS(LFM2_16)},
    {"lfm2-700m", "lfm2", NULL, 16, 1536, 24, 8, 64, 6912, 65536, 128000, 0, true, WORDS_SMOLLM, 742489344,
     CONVS(LFM2_16)},
    {"lfm2-1.2b", "lfm2", NULL, 16, 2048, 32, 8, 64, 8192, 65536, 128000, 0, true, WORDS_SMOLLM, 1170340608,
     CONVS(LFM2_16)},
    {"lfm2-2.6b", "lfm2", NULL, 30, 2048, 32, 8, 64, 10752, 65536, 128000, 0, true, WORDS_SMOLLM, 2569272320,
     CONVS(LFM2_30)},
    /* and those of Granite 4 */
    {"granite3.3-2b", "granite", NULL, 40, 2048, 32, 8, 64, 8192, 49159, 131072, 0, true, WORDS_SMOLLM,
     2533539840, DENSE},
    {"granite3.3-8b", "granite", NULL, 40, 4096, 32, 8, 128, 12800, 49159, 131072, 0, true, WORDS_SMOLLM,
     8170864640, DENSE},
    {"granite3.1-1b-a400m", "granitemoe", NULL, 24, 1024, 16, 8, 64, 512, 49155, 131072, 0, true, WORDS_SMOLLM,
     1334628352, MIX(32, 8)},
    {"granite3.1-3b-a800m", "granitemoe", NULL, 32, 1536, 24, 8, 64, 512, 49155, 131072, 0, true, WORDS_SMOLLM,
     3298793472, MIX(40, 8)},
    {"granite4.0-350m", "granite", NULL, 28, 1024, 16, 4, 64, 2048, 100352, 32768, 0, true, WORDS_QWEN2,
     352379904, DENSE},
    {"granite4.0-1b", "granite", NULL, 40, 2048, 16, 4, 128, 4096, 100352, 131072, 0, true, WORDS_QWEN2,
     1631750144, DENSE},
    {"granite4.0-micro", "granite", NULL, 40, 2560, 40, 8, 64, 8192, 100352, 131072, 0, true, WORDS_QWEN2,
     3402836480, DENSE},
    /* what reads text; Devstral's is as large as Mistral Small's */
    {"ministral3-3b", "mistral3", NULL, 26, 3072, 32, 8, 128, 9216, 131072, 262144, 0, true, WORDS_TEKKEN,
     3429006336, DENSE},
    {"ministral3-8b", "mistral3", NULL, 34, 4096, 32, 8, 128, 14336, 131072, 262144, 0, false, WORDS_TEKKEN,
     8489553920, DENSE},
    {"ministral3-14b", "mistral3", NULL, 40, 5120, 32, 8, 128, 16384, 131072, 262144, 0, false, WORDS_TEKKEN,
     13506073600, DENSE},
    {"devstral-small2-24b", "mistral3", NULL, 40, 5120, 32, 8, 128, 32768, 131072, 393216, 0, false, WORDS_TEKKEN,
     23572403200, DENSE},
    /* whose vocabulary is taken to be like Qwen2's, too */
    {"olmo2-1b", "olmo2", NULL, 16, 2048, 16, 16, 128, 8192, 100352, 4096, 0, false, WORDS_QWEN2, 1484916736, DENSE},
    {"olmo2-7b", "olmo2", NULL, 32, 4096, 32, 32, 128, 11008, 100352, 4096, 0, false, WORDS_QWEN2, 7298617344, DENSE},
    {"olmo2-13b", "olmo2", NULL, 40, 5120, 40, 40, 128, 13824, 100352, 4096, 0, false, WORDS_QWEN2, 13716198400, DENSE},
    {"olmo2-32b", "olmo2", NULL, 64, 5120, 40, 8, 128, 27648, 100352, 4096, 0, false, WORDS_QWEN2, 32234279936, DENSE},
    {"olmo3-7b", "olmo2", NULL, 32, 4096, 32, 32, 128, 11008, 100278, 65536, 4096, false, WORDS_QWEN2,
     7298011136, DENSE},
    {"olmo3-32b", "olmo2", NULL, 64, 5120, 40, 8, 128, 27648, 100278, 65536, 4096, false, WORDS_QWEN2,
     32233522176, DENSE},
    /* Known, and not for this engine: they are told apart from a name that was mistyped. */
    {.name = "deepseek-v3", .why = OTHER("deepseek2", "latent attention, a shared expert beside 256")},
    {.name = "deepseek-r1", .why = OTHER("deepseek2", "latent attention, a shared expert beside 256")},
    {.name = "llama4-scout", .why = OTHER("llama4", "chunked attention, a shared expert beside 16")},
    {.name = "llama4-maverick", .why = OTHER("llama4", "chunked attention, a shared expert beside 128")},
    {.name = "glm-4.5-air", .why = OTHER("glm4moe", "a router of sigmoids with biases of their own")},
    {.name = "granite4.0-h-tiny", .why = OTHER("granitehybrid", "Mamba's states beside attention")},
    {.name = "lfm2-8b-a1b", .why = OTHER("lfm2moe", "a router of sigmoids with biases of their own")},
    {.name = "gemma3n-e2b", .why = OTHER("gemma3n", "embeddings for each layer, layers that share keys and values")},
    {.name = "gemma3n-e4b", .why = OTHER("gemma3n", "embeddings for each layer, layers that share keys and values")},
};
const int plan_shapes_n = (int)COUNT_OF(plan_shapes);

/* "meta-llama/Meta-Llama-3.1-8B-Instruct" and "llama3.1:8b" mean "llama3.1-8b": what a model was tuned for changes no
 * width of it. */
static size_t skeleton(const char *name, char *out, size_t n)
{
    static const char *const idle[] = {"meta", "instruct", "it", "chat", "base", "hf", "gguf", NULL};
    const char *slash = strrchr(name, '/');
    return plan_skeleton(slash ? slash + 1 : name, idle, out, n);
}

static bool same(const char *a, const char *b)
{
    char x[64], y[64];
    return skeleton(a, x, sizeof x) > 0 && skeleton(b, y, sizeof y) > 0 && strcmp(x, y) == 0;
}

/* "gpt": names of models that are all not for this engine begin so.  One of them, or NULL. */
static const struct plan_shape *none_of(const char *name)
{
    const struct plan_shape *one = NULL;
    char key[64], other[64];
    size_t n = skeleton(name, key, sizeof key);
    for (int i = 0; i < plan_shapes_n && n > 2; i++) {
        skeleton(plan_shapes[i].name, other, sizeof other);
        if (strncmp(key, other, n) != 0) continue;
        if (plan_shapes[i].arch) return NULL;
        one = &plan_shapes[i];
    }
    return one;
}

/* Those that begin with the letters that the name begins with. */
static void list_near(const char *name, char *out, size_t n)
{
    size_t at = 0, letters = 0;
    char key[64], other[64];
    skeleton(name, key, sizeof key);
    letters = strcspn(key, "0123456789.");
    *out = '\0';
    for (int i = 0; i < plan_shapes_n && at < n && letters > 1; i++) {
        skeleton(plan_shapes[i].name, other, sizeof other);
        if (strncmp(key, other, letters) == 0 && plan_shapes[i].arch)
            at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ", " : "", plan_shapes[i].name);
    }
    if (at >= n) snprintf(out + n - 4, 4, "...");
}

const struct plan_shape *plan_shape_find(const char *name, struct err *err)
{
    const struct plan_shape *no = none_of(name);
    char near[260];
    for (int i = 0; i < plan_shapes_n; i++) {
        const struct plan_shape *s = &plan_shapes[i];
        if (same(name, s->name) && s->arch) return s;
        if (same(name, s->name)) no = s;
    }
    if (no) {
        err_set(err, PLAN_NOT_RUN, "%s: %s", no->name, no->why);
        return NULL;
    }
    list_near(name, near, sizeof near);
    err_set(err, -1, "--shape: \"%.60s\" is not known%s%s; --list names all", name, *near ? "; these are: " : "", near);
    return NULL;
}

const char *plan_mix_usual(const struct plan_shape *s)
{
    return s && s->arch && strcmp(s->arch, "gpt-oss") == 0 ? "mxfp4" : "q4_k_m";
}

int plan_mix_find(const char *name, struct plan_mix *out)
{
    static const struct { const char *name; struct plan_mix mix; } mixes[] = {
        {"q4-k-m", {KT_Q4_K, PLAN_Q4_K_M}}, {"q3-k-m", {KT_Q3_K, PLAN_Q3_K_M}}, {"q2-k", {KT_Q2_K, PLAN_Q2_K}},
        {"iq4-nl", {KT_IQ4_NL, PLAN_IQ4}},  {"iq4-xs", {KT_IQ4_XS, PLAN_IQ4}},
    };
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        *out = mixes[i].mix;
        if (plan_same_name(name, mixes[i].name)) return 0;
    }
    out->how = PLAN_ONE;
    for (uint32_t t = 0; t < KT_END; t++) {
        const struct ktype_info *info = ktype_info(t);
        char lower[16] = "";
        for (size_t i = 0; info && info->name[i] && i + 1 < sizeof lower; i++)
            lower[i] = info->name[i] == '_' ? '-' : info->name[i] >= 'A' && info->name[i] <= 'Z'
                                                        ? (char)(info->name[i] - 'A' + 'a') : info->name[i];
        if (!info || !info->usable || !plan_same_name(name, lower)) continue;
        out->type = (enum ktype)t;
        return 0;
    }
    return -1;
}
