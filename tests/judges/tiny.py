"""tiny.py - tiny random models as GGUF files, and their weights read back from the file.

A model here is some thirty thousand random numbers in the shape of a real architecture, drawn so that every part of the
forward pass matters: attention is peaked (large q and k), biases are large, the norms' weights differ.

Weights are drawn in the order and layout of HF transformers and written as the converter of llama.cpp would: for the
architectures llama, smollm3, mistral3, granite and granitemoe the rows of q and k (weights and biases) are permuted
within each head from (0 .. d/2-1 | d/2 .. d-1) to (0, d/2, 1, d/2+1, ...), since there GGUF rotates neighbours where HF
rotates halves; the others keep HF's order.
HF's Gemma and Qwen3.5 multiply by 1 + the weight of a norm; the file has the 1 in it.  Qwen3.5's value heads lie by
their key heads in HF, and by turns of them in the file.

Random numbers: numpy's RandomState, whose streams are frozen: same seed, same file, on any version."""
import dataclasses
import hashlib
import math

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q

import blocks

TYPES = {kind.name: kind for kind in (Q.F32, Q.F16, Q.BF16, Q.Q8_0, Q.MXFP4, Q.IQ4_NL, Q.IQ4_XS, Q.Q3_K, Q.Q2_K)}
CONTEXT = 512
ROUTER = "ffn_gate_inp"  # F32 in every file, as is what lets a shared expert through (ffn_gate_inp_shexp)


@dataclasses.dataclass(frozen=True)
class Spec:
    name: str
    arch: str              # "llama", "smollm3", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "qwen35", "qwen35moe",
                           # "qwen3next", "lfm2", "phi3", "gpt-oss", "granite", "granitemoe", "mistral3", "olmo2", "gemma2"
                           # or "gemma3"
    embd: int
    heads: int
    kv_heads: int
    head_dim: int          # heads * head_dim may differ from embd (not in qwen2: key_length is written then)
    ff: int                # of a mixture one expert's
    layers: int
    why: str               # one line for the README
    tied: bool = False     # no output.weight: the embedding is used
    base: float = 10000.0  # of the rotary embedding
    eps: float = 1e-5
    type: str = "F32"
    pre: str = "llama-bpe"
    attn_bias: bool = False   # llama: q, k, v and output biases; qwen2 always has q, k, v
    llama3: tuple = ()        # rope factors: (factor, low, high, original context)
    yarn: tuple = ()          # rope scaling: (factor, original context)
    temper: tuple = ()        # mistral3: (scale of q's temperature, log multiplier of yarn's gain or 0)
    longrope: tuple = ()      # phi3: (original context, gain); the factors are longrope_factors()
    state: tuple = ()         # qwen35: (key heads, value heads, their size, taps of the convolution)
    convs: tuple = ()         # lfm2: (taps, layers that have attention, gain of what the others have, a convolution)
    rotated: int = 0          # phi3, qwen35: dimensions of a head that rotate; 0: all
    window: int = 0           # a token sees itself and the window - 1 before it; 0: all before it
    local: float = 0.0        # gemma3: base of the layers with a window; 0: the file says nothing, which means 10000
    linear: float = 0.0       # gemma3: the full layers' frequencies are divided by it
    scales: tuple = ()        # granite: factors of embeddings, what is added, scores; divisor of logits
    each: bool = False        # granite: KV heads of each layer, and whether it rotates, as Granite 4's files say them
    caps: tuple = ()          # gemma2: soft caps of attention's logits and of the final ones
    experts: tuple = ()       # a mixture: (experts of a layer, how many of them a token goes through)
    shared: int = 0           # width of the expert that every token goes through; 0: there is none
    router: float = 1.0       # gain of what chooses them
    choice: float = 1.0       # of experts: how many times `rounded` it must be away from a tie
    expert_type: str = ""     # of their matrices; "": type
    feed: float = 1.0         # gain of gate and up
    embd_std: float = 1.0
    gains: tuple = (1.6, 1.5) # of q and k; of ffn_down.  Peaked attention shows mistakes, and amplifies rounding too
    omit: tuple = ()          # optional keys that the file leaves out
    greedy: int = 24          # tokens of each greedy continuation
    rounded: float = 1e-3     # tolerance for engines that round activations before multiplying by this type
    exact: float = 1e-3       # tolerance for engines that round nothing, K/V neither

    @property
    def biases(self):
        if self.arch in ("qwen2", "qwen2moe"):
            return ("q", "k", "v")
        return ("q", "k", "v", "o") if self.attn_bias or self.oss else ()

    @property
    def normed(self):
        """What has a norm a head, before it is rotated; its weights are the same for all heads of a layer.  In olmo2
        the norm is of all heads as one row."""
        return ("q", "k") if self.arch in ("qwen3", "qwen3moe", "gemma3") or self.state or self.convs or self.late else ()

    def head_norm(self, part):
        """HF's name of that."""
        return part + ("_layernorm.weight" if self.convs else "_norm.weight")

    def norm_size(self, part):
        """Weights of the norm of q or of k: a head's, or in olmo2 all heads'."""
        return self.head_dim * ({"q": self.heads, "k": self.kv_heads}[part] if self.late else 1)

    @property
    def last_norm(self):
        """HF's name of the norm before the output."""
        return "model.embedding_norm.weight" if self.convs else "model.norm.weight"

    @property
    def late(self):
        """Is there a norm behind attention and ffn, and none before them?"""
        return self.arch == "olmo2"

    @property
    def gemma(self):
        return self.arch in ("gemma2", "gemma3")

    @property
    def neighbours(self):
        """Does GGUF rotate pairs of neighbours?"""
        return self.arch in ("llama", "smollm3", "mistral3") or bool(self.scales)

    @property
    def gainless(self):
        """Does the file take YaRN's gain away?"""
        return bool(self.temper) and self.temper[1] > 0

    @property
    def oss(self):
        return self.arch == "gpt-oss"

    @property
    def shift(self):
        """What HF adds to the weights of its norms."""
        return 1.0 if self.gemma or self.state else 0.0

    @property
    def of_all(self):
        """Are a mixture's weights by the softmax of all experts, so that they sum to less than 1?"""
        return self.arch == "qwen2moe"

    @property
    def by_key(self):
        """Do a state's value heads lie by their key heads in the file too, and beta and alpha in one matrix?"""
        return self.arch == "qwen3next"

    def recurrent(self, layer):
        """Does it keep a state?"""
        return bool(self.state) and layer % 4 < 3

    def convolves(self, layer):
        """Has it a short convolution?"""
        return bool(self.convs) and layer not in self.convs[1]

    @property
    def query(self):
        """Attention's logits are divided by the root of this.  Gemma's 27B differ, known by their layers alone."""
        big = (self.arch, self.layers) in (("gemma2", 46), ("gemma3", 62))
        return self.embd // self.heads if big else self.head_dim

    @property
    def windowed(self):
        """Which layers have the window."""
        period = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "olmo2": 4}.get(self.arch)
        return [bool(self.window) and (not period or i % period < period - 1) for i in range(self.layers)]

    @property
    def layer_norms(self):
        """GGUF's name of each norm of a row -> HF's: before and, in Gemma, after attention; then the ffn's."""
        if self.gemma:
            return {"attn_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm",
                    "ffn_norm": "pre_feedforward_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}
        if self.convs:
            return {"attn_norm": "operator_norm", "ffn_norm": "ffn_norm"}
        if self.late:
            return {"post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}
        return {"attn_norm": "input_layernorm",
                "post_attention_norm" if self.oss or self.state else "ffn_norm": "post_attention_layernorm"}

    @property
    def turning(self):
        """Dimensions of a head that rotate."""
        return self.rotated or self.head_dim

    @property
    def group(self):
        return self.heads // self.kv_heads


# ------------------------------------------------------------------------------------- vocabulary

SPECIALS = ["<|begin_of_text|>", "<|im_start|>", "<|im_end|>"]
JOINS = ["th", "the", "an", "and", "in", "ing", "er", "re", "on", " t", " the", " a", " and", " s", " w", " o", "of",
         " of", "  ", "\n\n", "he", " I", "ou", "at"]
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
          "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def byte_chars():
    """The printable stand-in of each byte in byte-level BPE."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    chars = {b: chr(b) for b in keep}
    for b in range(256):
        if b not in chars:
            chars[b] = chr(256 + len(chars) - len(keep))
    return chars


def vocabulary():
    """(tokens, types, merges): 256 bytes, the joins above, the specials; types 1 normal, 3 control."""
    chars = byte_chars()
    tokens = sorted(chars.values(), key=ord)
    merges = []
    for join in JOINS:
        text = "".join(chars[b] for b in join.encode())
        cut = max(i for i in range(1, len(text)) if text[:i] in tokens and text[i:] in tokens)
        merges.append(text[:cut] + " " + text[cut:])
        tokens.append(text)
    return tokens + SPECIALS, [1] * len(tokens) + [3] * len(SPECIALS), merges


VOCAB = 256 + len(JOINS) + len(SPECIALS)
NORMAL = VOCAB - len(SPECIALS)  # ids below are plain text


# ---------------------------------------------------------------------------------------- weights

def stream(*words):
    """A random stream that depends on the words alone."""
    seed = hashlib.sha256(" ".join(map(str, words)).encode()).digest()[:4]
    return np.random.RandomState(int.from_bytes(seed, "little"))


def matrix_shapes(s, layer):
    """GGUF's name of each matrix in a layer -> (HF's name, shape, gain).  HF has a mixture's gate and up in one, which
    judges.py does."""
    q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
    peak, down = s.gains
    out = {
        "attn_q": ("self_attn.q_proj", (q, s.embd), peak),
        "attn_k": ("self_attn.k_proj", (kv, s.embd), peak),
        "attn_v": ("self_attn.v_proj", (kv, s.embd), 1.0),
        "attn_output": ("self_attn.o_proj", (s.embd, q), 1.0),
    }
    if s.convolves(layer):
        out = {"shortconv.in_proj": ("conv.in_proj", (3 * s.embd, s.embd), s.convs[2]),
               "shortconv.out_proj": ("conv.out_proj", (s.embd, s.embd), 1.0)}
    elif s.convs:
        out["attn_output"] = ("self_attn.out_proj", *out["attn_output"][1:])
    if s.state:
        out["attn_q"] = ("self_attn.q_proj", (2 * q, s.embd), peak)
    if s.recurrent(layer):
        keys, values, dim, _ = s.state
        out = {
            "attn_qkv": ("linear_attn.in_proj_qkv", ((2 * keys + values) * dim, s.embd), 1.0),
            "attn_gate": ("linear_attn.in_proj_z", (values * dim, s.embd), 1.0),
            "ssm_beta": ("linear_attn.in_proj_b", (values, s.embd), 1.0),
            "ssm_alpha": ("linear_attn.in_proj_a", (values, s.embd), 1.0),
            "ssm_out": ("linear_attn.out_proj", (s.embd, values * dim), 1.0),
        }
        if s.by_key:
            del out["ssm_beta"], out["ssm_alpha"]
            out["ssm_ba"] = ("linear_attn.in_proj_ba", (2 * values, s.embd), 1.0)
    feed = {"gate": ((s.ff, s.embd), s.feed), "up": ((s.ff, s.embd), s.feed), "down": ((s.embd, s.ff), down)}
    if s.arch == "phi3":  # both have them fused
        rows = np.repeat([peak, peak, 1.0], [q, kv, kv])[:, None]
        return {"attn_qkv": ("self_attn.qkv_proj", (q + 2 * kv, s.embd), rows), "attn_output": out["attn_output"],
                "ffn_up": ("mlp.gate_up_proj", (2 * s.ff, s.embd), 1.0), "ffn_down": ("mlp.down_proj", *feed["down"])}
    if s.experts:
        out[ROUTER] = ("mlp.router" if s.oss else "mlp.gate", (s.experts[0], s.embd), s.router)
    for part, (shape, gain) in feed.items():
        if s.convs:
            out["ffn_" + part] = ("feed_forward." + {"gate": "w1", "up": "w3", "down": "w2"}[part], shape, gain)
        elif s.experts:
            out["ffn_%s_exps" % part] = ("mlp.experts.%s_proj" % part, (s.experts[0], *shape), gain)
        else:
            out["ffn_" + part] = ("mlp.%s_proj" % part, shape, gain)
    if s.shared:
        out["ffn_gate_inp_shexp"] = ("mlp.shared_expert_gate", (1, s.embd), 2.0)
        for part in "gate", "up":
            out["ffn_%s_shexp" % part] = ("mlp.shared_expert.%s_proj" % part, (s.shared, s.embd), 1.0)
        out["ffn_down_shexp"] = ("mlp.shared_expert.down_proj", (s.embd, s.shared), down)
    return out


def has_bias(s, name):
    return name[5] in s.biases if name.startswith("attn_") else s.oss


def draw(s, seed):
    """All weights in HF's names and layout: {name: float32 array}."""
    rng = stream("weights", s.name, seed)

    def normal(*shape, std):
        return (rng.standard_normal(shape) * std).astype(np.float32)

    def norm(n=s.embd):
        return (1 + 0.3 * rng.uniform(-1, 1, n)).astype(np.float32)

    w = {"model.embed_tokens.weight": normal(VOCAB, s.embd, std=s.embd_std)}
    for i in range(s.layers):
        p = "model.layers.%d." % i
        before, *after = [*s.layer_norms.values()] if not s.late else [None, *s.layer_norms.values()]
        if before:
            w[p + before + ".weight"] = norm()
        for name, (hf, shape, gain) in matrix_shapes(s, i).items():
            w[p + hf + ".weight"] = normal(*shape, std=gain / math.sqrt(shape[-1]))
            if has_bias(s, name):
                w[p + hf + ".bias"] = normal(*shape[:-1], std=0.5)
        if s.oss:
            w[p + "self_attn.sinks"] = normal(s.heads, std=1.0)
        if s.recurrent(i):
            keys, values, dim, taps = s.state
            linear = p + "linear_attn."
            w[linear + "conv1d.weight"] = normal((2 * keys + values) * dim, 1, taps, std=0.6)
            w[linear + "dt_bias"] = normal(values, std=1.0)
            w[linear + "A_log"] = np.log(rng.uniform(0.02, 2, values)).astype(np.float32)
            w[linear + "norm.weight"] = norm(dim) + np.float32(s.shift)  # of this one HF has no 1
        if s.convolves(i):
            w[p + "conv.conv.weight"] = normal(s.embd, 1, s.convs[0], std=0.6)
        for part in () if s.recurrent(i) or s.convolves(i) else s.normed:
            # a norm takes the gain of q and k away, so it has one of its own
            w[p + "self_attn." + s.head_norm(part)] = s.gains[0] * norm(s.norm_size(part))
        for hf in after:
            w[p + hf + ".weight"] = norm()
    w[s.last_norm] = norm()
    if s.tied:
        # A random tied model says the token it has just read for ever: its embedding is still in the residual.  Random
        # signs in the last norm take that away; its size makes logits as wide as an untied model's.
        size = 3 / (math.sqrt(s.embd) * s.embd_std)
        w[s.last_norm] *= (size * rng.choice([-1, 1], s.embd)).astype(np.float32)
    else:
        w["lm_head.weight"] = normal(VOCAB, s.embd, std=3 / math.sqrt(s.embd))
    return {k: v - np.float32(s.shift) if k.endswith("norm.weight") else v for k, v in w.items()}


def permute(rows, heads, undo=False):
    """HF's order of a head's rows (halves) to GGUF llama's (neighbouring pairs), or back."""
    cut = (heads, rows.shape[0] // heads // 2, 2) if undo else (heads, 2, rows.shape[0] // heads // 2)
    return np.ascontiguousarray(rows.reshape(*cut, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape))


def by_turns(s, name, a, undo=False):
    """What belongs to a state's value heads: HF has all heads of the first key head first, GGUF the first of each (but
    qwen3next's, which is as HF's); its convolution has one dimension less there, and the decay is e^.  Or back."""
    keys, values, dim, taps = s.state
    if s.by_key:
        keys = 1  # all are the first one's
    each = {"attn_gate": dim, "ssm_out": dim, "ssm_beta": 1, "ssm_alpha": 1, "ssm_a": 1, "ssm_dt": 1, "attn_qkv": dim,
            "ssm_conv1d": dim}.get(name.split(".")[2])
    if not each:
        return a
    order = np.arange(values * each).reshape(*((values // keys, keys) if undo else (keys, values // keys)), each)
    order = order.swapaxes(0, 1).reshape(-1)
    if "ssm_conv1d" in name and not undo:
        a = a[:, 0, :]
    if "ssm_out" in name:
        a = a[:, order]
    else:
        first = len(a) - len(order)  # q and k stay
        a = np.concatenate([a[:first], a[first:][order]])
    if "ssm_conv1d" in name and undo:
        a = a[:, None, :]
    if name.endswith("ssm_a"):
        a = np.log(-a) if undo else -np.exp(a)
    return np.ascontiguousarray(a, np.float32)


def names(s):
    """(GGUF name, HF name, heads to permute by or 0) of every tensor but rope factors, in the file's order."""
    out = [("token_embd.weight", "model.embed_tokens.weight", 0)]
    for i in range(s.layers):
        g, h = "blk.%d." % i, "model.layers.%d." % i
        norms = [(g + gguf_name + ".weight", h + hf + ".weight", 0) for gguf_name, hf in s.layer_norms.items()]
        first = norms[:0 if s.late else 1]
        out += first
        for name, (hf, _, _) in matrix_shapes(s, i).items():
            heads = {"attn_q": s.heads, "attn_k": s.kv_heads}.get(name, 0) if s.neighbours else 0
            out.append((g + name + ".weight", h + hf + ".weight", heads))
            if has_bias(s, name):
                out.append((g + name + ".bias", h + hf + ".bias", heads))
        if s.oss:
            out.append((g + "attn_sinks.weight", h + "self_attn.sinks", 0))
        if s.recurrent(i):
            out += [(g + name, h + "linear_attn." + hf, 0) for name, hf in (
                ("ssm_conv1d.weight", "conv1d.weight"), ("ssm_dt.bias", "dt_bias"), ("ssm_a", "A_log"),
                ("ssm_norm.weight", "norm.weight"))]
            out += norms[len(first):]
            continue
        if s.convolves(i):
            out += [(g + "shortconv.conv.weight", h + "conv.conv.weight", 0), *norms[1:]]
            continue
        out += [(g + "attn_%s_norm.weight" % part, h + "self_attn." + s.head_norm(part), 0) for part in s.normed]
        out += norms[len(first):]
    out.append(("token_embd_norm.weight" if s.convs else "output_norm.weight", s.last_norm, 0))
    if not s.tied:
        out.append(("output.weight", "lm_head.weight", 0))
    return out


def rope_factors(s):
    """Llama 3's divisor of each pair's frequency: 1 for short waves, `factor` for long ones, between them a blend."""
    factor, low, high, original = s.llama3
    out = []
    for i in range(0, s.head_dim, 2):
        wave = 2 * math.pi * s.base ** (i / s.head_dim)
        if wave < original / high:
            out.append(1.0)
        elif wave > original / low:
            out.append(factor)
        else:
            smooth = (original / wave - low) / (high - low)
            out.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(out, np.float32)


def longrope_factors(s, short=False):
    """Divisors of each pair's frequency, that grow as those of Phi's files do; the short ones are nearer to 1."""
    pairs = s.turning // 2
    return np.array([1 + (0.1 if short else 1.3) * i ** 1.5 for i in range(pairs)], np.float32)


# ------------------------------------------------------------------------------------ GGUF, both ways

def write(s, seed, path):
    w = gguf.GGUFWriter(path, s.arch)

    def key(name, add, value):
        if name not in s.omit:
            add(value)

    w.add_name("random weights, " + s.name.replace("phi3", "phi"))  # by "phi3" llama.cpp asks for tokens of Phi-3's
    w.add_block_count(s.layers)
    w.add_context_length(CONTEXT)
    w.add_embedding_length(s.embd)
    w.add_feed_forward_length(3 * s.ff if s.arch == "qwen3moe" else s.ff)  # there it is that of layers without experts
    if s.experts:
        w.add_expert_count(s.experts[0])
        w.add_expert_used_count(s.experts[1])
    if s.experts and s.arch not in ("llama", "granitemoe"):
        w.add_expert_feed_forward_length(s.ff)
    if s.shared:
        w.add_expert_shared_feed_forward_length(s.shared)
    w.add_head_count(s.heads)
    each = [0 if s.convolves(i) else s.kv_heads for i in range(s.layers)]
    key("head_count_kv", w.add_head_count_kv, each if s.each or s.convs else s.kv_heads)
    w.add_layer_norm_rms_eps(s.eps)
    key("freq_base", w.add_rope_freq_base, s.base)
    key("vocab_size", w.add_vocab_size, VOCAB)
    if s.window:
        w.add_sliding_window(s.window)
    if s.window and s.late:
        w.add_sliding_window_pattern(s.windowed)
    if s.yarn:
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(s.yarn[0])
        w.add_rope_scaling_orig_ctx_len(s.yarn[1])
        if s.late:
            w.add_rope_scaling_yarn_attn_factor(1 + 0.1 * math.log(s.yarn[0]))
    if s.temper:
        w.add_attn_temperature_scale(s.temper[0])
        if s.temper[1]:
            w.add_rope_scaling_yarn_log_mul(s.temper[1])
    if s.longrope:
        w.add_rope_scaling_orig_ctx_len(s.longrope[0])
        w.add_rope_scaling_attn_factors(s.longrope[1])
    if s.scales:
        for add, factor in zip((w.add_embedding_scale, w.add_residual_scale, w.add_attention_scale, w.add_logit_scale),
                               s.scales):
            add(factor)
    if s.each:
        w.add_rope_scaling_finetuned(True)
    if s.arch in ("llama", "phi3", "mistral3") or s.scales or s.state:
        key("dimension_count", w.add_rope_dimension_count, s.turning)
    if s.state:
        keys, values, dim, taps = s.state
        w.add_ssm_conv_kernel(taps)
        w.add_ssm_state_size(dim)
        w.add_ssm_group_count(keys)
        w.add_ssm_time_step_rank(values)
        w.add_ssm_inner_size(values * dim)
        w.add_full_attention_interval(4)
        w.add_rope_dimension_sections([s.turning // 2 - 2, 1, 1, 0])
    if s.convs:
        w.add_shortconv_l_cache(s.convs[0])
    if s.local:
        w.add_rope_freq_base_swa(s.local)
    if s.linear:
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(s.linear)
    if s.caps:
        w.add_attn_logit_softcapping(s.caps[0])
        w.add_final_logit_softcapping(s.caps[1])
    if s.gemma or s.state or s.heads * s.head_dim != s.embd:
        w.add_key_length(s.head_dim)
        w.add_value_length(s.head_dim)
    tokens, types, merges = vocabulary()
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre(s.pre)
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_merges(merges)
    w.add_bos_token_id(NORMAL)
    w.add_eos_token_id(NORMAL + 2)
    w.add_add_bos_token(s.pre == "llama-bpe")
    w.add_chat_template(CHATML)

    weights = draw(s, seed)
    for name, hf, heads in names(s):
        a = weights[hf]
        if heads:
            a = permute(a, heads)
        if "gate_inp_shexp" in name:
            a = a[0]
        if s.state and name.startswith("blk."):
            a = by_turns(s, name, a)
        if "shortconv.conv" in name:
            a = a[:, 0, :]
        if name.endswith("norm.weight") and "ssm_norm" not in name:
            a = a + np.float32(s.shift)
        kind = TYPES[s.expert_type if s.expert_type and "_exps" in name else s.type]
        if a.ndim > 1 and kind != Q.F32 and ROUTER not in name and name.endswith(".weight") \
                and "ssm_conv1d" not in name and "shortconv.conv" not in name:
            w.add_tensor(name, blocks.quantize(a, kind), raw_dtype=kind)
        else:
            w.add_tensor(name, a)
    if s.llama3:
        w.add_tensor("rope_freqs.weight", rope_factors(s))
    if s.longrope:
        w.add_tensor("rope_factors_long.weight", longrope_factors(s))
        w.add_tensor("rope_factors_short.weight", longrope_factors(s, short=True))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def read(s, path):
    """The file's weights, dequantised to float32, in HF's names and layout: what the HF judge computes with."""
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    out = {}
    for name, hf, heads in names(s):
        t = tensors.pop(name)
        a = np.array(gguf.quants.dequantize(t.data, t.tensor_type), np.float32)
        a = a.reshape([int(n) for n in reversed(t.shape)])
        if s.state and name.startswith("blk."):
            a = by_turns(s, name, a, undo=True)
        if "shortconv.conv" in name:
            a = a[:, None, :]
        if name.endswith("norm.weight") and "ssm_norm" not in name:
            a = a - np.float32(s.shift)
        if "gate_inp_shexp" in name:
            a = a[None, :]
        out[hf] = permute(a, heads, undo=True) if heads else a
    for name in "rope_freqs", "rope_factors_long", "rope_factors_short":  # HF has these by its configuration
        tensors.pop(name + ".weight", None)
    assert not tensors, sorted(tensors)
    return out
