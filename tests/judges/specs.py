"""specs.py - the fixtures: what each is there to catch.

`rounded` is the tolerance for an engine that multiplies in the weights' companion type; llama.cpp is one: before an F16
matrix it rounds activations to F16, before BF16 to BF16 (8 bits of mantissa), before Q8_0 to int8 per 32.  Those
models have a louder embedding and flatter attention, so that rounding is not amplified out of all proportion, and the
Q8_0 ones continue for fewer tokens, since each needs a wider margin.

A mixture's rows must not be near a tie of two experts, or an engine that rounds takes the other one and is far off
without being wrong: make_fixtures.py draws tokens anew until no row's last expert in a layer is nearer to the next one
than `rounded` (or 5 tolerances) of its largest logit, in the continuations too."""
from tiny import Spec

CALM = dict(embd_std=2.0, gains=(1.2, 1.0))
# What a layer adds is normed, so the embedding's size alone says how much the layers matter.  Exact GELU in place of
# tanh's moves logits by some 5e-4: the tolerance is small enough to tell them apart.
GEMMA = dict(gains=(1.3, 1.0), exact=2e-5, rounded=2e-5)

# name, architecture, width, heads, KV heads, size of a head, ff, layers, what for
SPECS = [
    Spec("llama-defaults", "llama", 32, 2, 2, 16, 48, 2,
         "plain heads; optional keys left out (KV heads, base, rope dimensions, vocabulary size)",
         pre="gpt-2", omit=("head_count_kv", "freq_base", "dimension_count", "vocab_size")),
    Spec("llama-gqa", "llama", 32, 4, 2, 8, 64, 2, "grouped-query attention, own output matrix"),
    Spec("llama-heads3", "llama", 33, 3, 1, 20, 53, 2,
         "3 heads on 1, heads x size (60) unlike the width (33), odd sizes, tied, eps 0.01 that matters",
         tied=True, eps=1e-2, embd_std=0.3),
    Spec("llama-heads9", "llama", 36, 9, 3, 8, 50, 2,
         "9 heads on 3, heads x size (72) twice the width, tied", tied=True),
    Spec("llama-rope3", "llama", 32, 4, 2, 16, 32, 2,
         "Llama 3 rope factors: pairs in each of the three ranges; base 500000",
         base=500000.0, llama3=(8.0, 1.0, 4.0, 64)),
    Spec("llama-bias", "llama", 32, 4, 2, 8, 48, 2,
         "biases on q, k, v and the attention's output (q, k permuted like their rows)", attn_bias=True),
    Spec("llama-window", "llama", 32, 4, 2, 8, 48, 2,
         "attention with a window of 24 tokens (Mistral 7B v0.1 has one); llama.cpp ignores the key", window=24),
    Spec("qwen2-gqa", "qwen2", 36, 6, 2, 6, 40, 2,
         "q, k, v biases, rotation of halves, 3 pairs a head, base 1000000", base=1e6, pre="qwen2"),
    Spec("qwen2-tied", "qwen2", 40, 5, 1, 8, 56, 2,
         "5 heads on 1, biases, tied", base=1e6, eps=1e-6, pre="qwen2", tied=True),
    Spec("llama-f16", "llama", 48, 4, 2, 12, 72, 2, "F16 weights", type="F16", **CALM),
    Spec("qwen2-bf16", "qwen2", 56, 7, 1, 8, 80, 2,
         "BF16 weights, 7 heads on 1, tied", base=1e6, type="BF16", pre="qwen2", tied=True, rounded=1e-2, **CALM),
    Spec("llama-q8_0", "llama", 64, 4, 2, 16, 96, 2, "Q8_0 weights", type="Q8_0", rounded=3e-2, greedy=12, **CALM),
    Spec("qwen2-q8_0", "qwen2", 64, 4, 2, 16, 96, 2,
         "Q8_0 weights with biases, tied", base=1e6, type="Q8_0", pre="qwen2", tied=True, rounded=3e-2, greedy=12,
         **CALM),
    Spec("qwen3-gqa", "qwen3", 36, 6, 2, 10, 44, 2,
         "norms of the heads of q and k, no biases, heads x size (60) unlike the width (36), 5 pairs a head", base=1e6,
         eps=1e-6, pre="qwen2"),
    Spec("qwen3-tied", "qwen3", 40, 4, 4, 16, 56, 2, "norms of heads, no grouping, tied, eps 0.01 that matters",
         base=1e6, eps=1e-2, pre="qwen2", tied=True, embd_std=0.3),
    Spec("qwen3-yarn", "qwen3", 32, 4, 2, 16, 48, 2,
         "YaRN: pairs that stay, that are divided by 4, and on the ramp between", base=1e4, pre="qwen2",
         yarn=(4.0, 128)),
    Spec("qwen3-q8_0", "qwen3", 64, 4, 2, 32, 96, 2,
         "Q8_0 weights with norms of heads, heads x size (128) twice the width, tied", base=1e6, type="Q8_0",
         pre="qwen2", tied=True, rounded=3e-2, greedy=12, embd_std=2.0,
         gains=(1.5, 1.0)),
    Spec("qwen3moe", "qwen3moe", 32, 4, 2, 12, 64, 2,
         "a mixture: 3 of 8 experts, norms of heads, own output matrix; its key of a dense ff is another number",
         base=1e6, eps=1e-6, pre="qwen2", experts=(8, 3)),
    Spec("qwen3moe-q8_0", "qwen3moe", 64, 4, 2, 32, 32, 2, "a mixture in Q8_0, its router in F32: 3 of 8 experts, tied",
         base=1e6, type="Q8_0", pre="qwen2", tied=True, rounded=3e-2, greedy=8, embd_std=2.0, gains=(1.5, 1.0),
         experts=(8, 3)),
    Spec("mixtral", "llama", 32, 4, 2, 8, 64, 2, "a mixture: 2 of 4 experts in the architecture llama", base=1e6,
         experts=(4, 2)),
    Spec("gpt-oss", "gpt-oss", 32, 4, 2, 16, 32, 2,
         "sinks, biases of all, a clamped activation of its own, 3 of 6 experts, a window of 24 on every other layer, "
         "YaRN with a ramp that ends between pairs, heads x size (64) twice the width",
         base=1500.0, pre="gpt-4o", window=24, yarn=(8.0, 128), experts=(6, 3), feed=3.0, gains=(1.4, 1.2)),
    Spec("gpt-oss-mxfp4", "gpt-oss", 64, 8, 1, 16, 64, 2,
         "MXFP4 experts, 2 of 4, the rest in Q8_0, all 8 heads on one; no YaRN",
         base=150000.0, pre="gpt-4o", window=10, experts=(4, 2), type="Q8_0", expert_type="MXFP4", rounded=3e-2,
         greedy=8, embd_std=2.0, gains=(1.2, 0.5), feed=2.0, choice=1.5),
    Spec("smollm3", "smollm3", 40, 4, 2, 10, 48, 5, "the fourth of five layers does not rotate, tied", base=2e6,
         eps=1e-6, pre="smaug-bpe", tied=True, gains=(1.4, 1.2)),
    Spec("phi3-window", "phi3", 32, 4, 4, 8, 48, 2,
         "q, k, v in one tensor, gate and up in another; a window of 24 tokens, which llama.cpp ignores", pre="dbrx",
         window=24),
    Spec("phi3-long", "phi3", 64, 4, 2, 16, 44, 2,
         "longrope: factors for contexts above 64 tokens, a gain of 1.25; 12 of a head's 16 dimensions rotate, tied",
         pre="gpt-4o", tied=True, rotated=12, longrope=(64, 1.25)),
    Spec("phi3-q8_0", "phi3", 64, 4, 2, 16, 96, 2, "Q8_0 weights, of which q, k, v, gate and up are rows", type="Q8_0",
         pre="dbrx", rounded=3e-2, greedy=12, **CALM),
    Spec("gemma2-caps", "gemma2", 32, 4, 2, 12, 32, 4,
         "soft caps of 6 on attention and 9 on logits, a window of 24 on every other layer, base left out",
         eps=1e-6, pre="gpt-2", tied=True, window=24, caps=(6.0, 9.0), omit=("freq_base",),
         embd_std=0.3, **GEMMA),
    Spec("gemma3-windows", "gemma3", 32, 4, 1, 8, 20, 7,
         "a window of 24 and base 10000 on all layers but the sixth, which has base 1000000 and a linear factor of 8",
         base=1e6, eps=1e-6, pre="gpt-2", tied=True, window=24, linear=8.0, embd_std=0.35, **GEMMA),
    Spec("gemma3-plain", "gemma3", 24, 4, 2, 10, 28, 7,
         "a window that hides nothing, two bases in the file, heads x size (40) unlike the width (24)",
         base=1e6, local=30000.0, eps=1e-6, pre="gpt-2", tied=True, window=512, embd_std=0.55, **GEMMA),
    Spec("gemma2-27b", "gemma2", 8, 2, 1, 8, 8, 46,
         "46 layers: attention scaled by the root of width / heads (4), as in the 27B, and not of a head's size (8)",
         eps=1e-6, pre="gpt-2", tied=True, window=24, caps=(6.0, 20.0), embd_std=6.0, greedy=8,
         gains=(1.3, 1.0)),
    Spec("gemma3-27b", "gemma3", 8, 2, 1, 6, 4, 62,
         "62 layers: attention scaled by the root of width / heads (4), as in the 27B, and not of a head's size (6)",
         base=1e6, eps=1e-6, pre="gpt-2", tied=True, window=24, linear=8.0, embd_std=8.0, greedy=12, **GEMMA),
    Spec("gemma3-q8_0", "gemma3", 32, 4, 2, 16, 64, 7,
         "Q8_0 weights with windows and norms after attention and ffn, heads x size (64) twice the width",
         base=1e6, eps=1e-6, type="Q8_0", pre="gpt-2", tied=True, window=24, rounded=3e-2, greedy=12, embd_std=1.0,
         gains=(1.2, 1.0)),
]
