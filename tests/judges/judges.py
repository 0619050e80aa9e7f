"""judges.py - the two judges: HF transformers (float32, eager attention) and llama.cpp (its C library, through
llama-cpp-python).

Both answer logits(ids): float32 array (len(ids), vocabulary), every position's.  llama.cpp reads the GGUF file as any
program would; HF computes with the weights that tiny.read() found in the same file."""
import ctypes

import numpy as np

KV_TYPES = {"F32": 0, "F16": 1}  # GGML_TYPE_*


def error(got, want):
    """max|d| / max|logit|, row by row; the worst row's."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    worst = np.abs(got - want).max(axis=-1) / np.abs(want).max(axis=-1)
    return float(worst.max()) if np.isfinite(got).all() else float("inf")


def logprobs(logits):
    """log softmax of each row, in double."""
    x = np.asarray(logits, np.float64)
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def next_logprobs(logits, ids):
    """log p(ids[i + 1] | ids[0 .. i]) for each i."""
    return logprobs(logits)[np.arange(len(ids) - 1), ids[1:]]


class HF:
    """s: a tiny.Spec; weights in HF's names.  To see what a mistake would do: lost, that many first positions that no
    later row sees; base, eps, llama3, yarn, window, windowed, local, linear, caps, query, rotated, scales in place of
    what s says; attention: what yarn and longrope multiply q, k by; factors: divisors of longrope; local_linear: divisor of
    Gemma 3's layers with a window; scale: of embeddings; post: whether what attention (post[0]) and ffn (post[1]) add
    is normed; gelu: "exact", or "table" as in llama.cpp; alpha, limit: of gpt-oss's activation; let: "all" or
    "plain", in place of a shared expert's sigmoid; ramp: "pairs" where
    YaRN's begins and ends at one, as in llama.cpp; temper: what q of positions is multiplied by, a function of these,
    of the scale and of the original context; each: q and k are normed a head; before: norms where there are none, too;
    local_yarn: YaRN also in layers with a window."""

    def __init__(self, s, weights, vocab, context, lost=0, **other):
        import torch
        import transformers
        transformers.logging.set_verbosity_error()
        torch.set_num_threads(1)
        base, eps, llama3, window, yarn, linear = (other.get(k, getattr(s, k)) for k in (
            "base", "eps", "llama3", "window", "yarn", "linear"))
        config = dict(vocab_size=vocab, hidden_size=s.embd, intermediate_size=s.ff, num_hidden_layers=s.layers,
                      num_attention_heads=s.heads, num_key_value_heads=s.kv_heads, max_position_embeddings=context,
                      rms_norm_eps=eps, rope_theta=base, tie_word_embeddings=s.tied, hidden_act="silu",
                      attn_implementation="eager", pad_token_id=None, bos_token_id=None, eos_token_id=None)
        if s.gemma:
            kind, config_kind = gemma(s, config, window, linear, other)
        elif s.oss:
            kind, config_kind = oss(s, config, window, other)
            weights = interleaved(weights)
        elif s.scales:
            kind, config_kind = granite(s, config, other)
            weights = sparse(fused(weights)) if s.experts else weights
        elif s.experts:
            kind, config_kind = mixture(s, config, other)
            weights = fused(woven(s, weights) if s.by_key else weights)
        elif s.arch == "phi3":
            kind, config_kind = phi(s, config, window, other)
            weights = joined(weights)
        elif s.late:
            kind, config_kind = olmo(s, config, window, yarn, other)
        elif s.arch == "mistral3":
            kind, config_kind = ministral(s, config, yarn, other)
        elif s.window:
            kind, config_kind = transformers.MistralForCausalLM, transformers.MistralConfig
            config.update(head_dim=s.head_dim, sliding_window=window or None)
        elif s.arch == "llama":
            kind, config_kind = transformers.LlamaForCausalLM, transformers.LlamaConfig
            config.update(head_dim=s.head_dim, attention_bias=s.attn_bias)
        elif s.arch == "smollm3":
            kind, config_kind = transformers.SmolLM3ForCausalLM, transformers.SmolLM3Config
            config.update(head_dim=s.head_dim, use_sliding_window=False,
                          no_rope_layer_interval=other.get("still", 4))
        elif s.state:
            kind, config_kind = recurrent(s, config, other)
        elif s.convs:
            kind, config_kind = liquid(s, config)
        elif s.arch == "qwen3":
            kind, config_kind = transformers.Qwen3ForCausalLM, transformers.Qwen3Config
            config.update(head_dim=s.head_dim)
        else:
            kind, config_kind = transformers.Qwen2ForCausalLM, transformers.Qwen2Config
        if llama3:
            config["rope_scaling"] = dict(zip(("factor", "low_freq_factor", "high_freq_factor",
                                               "original_max_position_embeddings"), llama3), rope_type="llama3")
        if yarn and not s.temper and not s.late:
            config["rope_scaling"] = dict(factor=yarn[0], original_max_position_embeddings=yarn[1], rope_type="yarn",
                                          attention_factor=other.get("attention"))
            if s.oss:
                config["rope_scaling"]["truncate"] = other.get("ramp") == "pairs"
        model = kind(config_kind(**config)).float().eval()
        weights = {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in weights.items()}
        missing, unknown = model.load_state_dict(weights, strict=False)
        assert not unknown and set(missing) <= ({"lm_head.weight"} if s.tied else set()), (missing, unknown)
        model.tie_weights()
        assert model.config._attn_implementation == "eager" and next(model.parameters()).dtype == torch.float32
        # Does the configuration mean what we meant?  Versions differ in how they spell it; the slowest pair tells.
        rotary = model.model.rotary_emb
        freq = getattr(rotary, "full_attention_inv_freq", getattr(rotary, "inv_freq", None))
        dims = other.get("rotated", s.turning)
        want = base ** -((dims - 2) / dims) / ((llama3 or yarn or (1,))[0] * (linear or 1))
        if s.longrope:
            want /= factors(s, other)[-1]
        assert freq is None or abs(float(freq[-1]) / want - 1) < 1e-5, (freq, want)  # None: all layers have a window
        if s.gemma or s.late:
            change(torch, model.model, other)
        if s.late:
            change_late(torch, s, model.model, other)
        if s.oss:
            for layer in model.model.layers:
                layer.mlp.experts.alpha = other.get("alpha", 1.702)
                layer.mlp.experts.limit = other.get("limit", 7.0)
        self.torch, self.model, self.lost, self.window = torch, model, lost, window
        self.by_kind = s.gemma or s.oss or s.late and bool(s.window)
        self.routers = [layer.block_sparse_moe.router if s.scales else layer.mlp.router if s.oss else layer.mlp.gate
                        for layer in model.model.layers] if s.experts else []
        if "let" in other:
            for layer in model.model.layers:
                layer.mlp.shared_expert_gate.register_forward_hook(let(torch, other["let"]))
        self.gaps = []
        for router in self.routers:
            router.register_forward_hook(self.look(s.experts[1], other.get("mix")))

    def look(self, used, mix):
        """A router's hook: notes how far each row's last expert is from the first that it does not go through, as a
        part of the largest logit; mix: a mistake, which takes (logits, weights, experts) and returns the last two."""
        def hook(router, args, out):
            logits, weights, experts = out
            best = logits.sort(descending=True).values
            gap = (best[:, used - 1] - best[:, used]) / logits.abs().max(dim=-1).values
            self.gaps.append(gap.numpy())
            return (logits, *mix(self.torch, logits, weights, experts)) if mix else None

        return hook

    def mask(self, n, window):
        seen = self.torch.ones(n, n, dtype=self.torch.bool).tril()
        if window:
            seen &= ~self.torch.ones(n, n, dtype=self.torch.bool).tril(-window)
        seen[self.lost:, :self.lost] = False
        return self.torch.zeros(1, 1, n, n).masked_fill(~seen, self.torch.finfo(self.torch.float32).min)

    def choices(self):
        """Of the last logits(): how narrow each row's narrowest choice of experts was (look()); a mixture has some."""
        return np.min(self.gaps, axis=0)

    def logits(self, ids):
        mask = None
        self.gaps = []
        if self.lost and self.by_kind:
            mask = {"full_attention": self.mask(len(ids), 0), "sliding_attention": self.mask(len(ids), self.window)}
        elif self.lost:
            mask = self.mask(len(ids), self.window)
        with self.torch.no_grad():
            out = self.model(self.torch.tensor([list(ids)]), attention_mask=mask, use_cache=False)
        return out.logits[0].float().numpy()


def let(torch, how):
    """A hook on what lets a shared expert through, whose sigmoid then is 1, or what was to be its argument."""
    def hook(gate, args, out):
        return torch.full_like(out, 40.0) if how == "all" else torch.logit(out.clamp(0.001, 0.999))

    return hook


def mixture(s, config, other):
    """HF's classes for mixtures of experts; what is special to them goes into the configuration."""
    import transformers
    config.update(head_dim=s.head_dim, num_experts_per_tok=s.experts[1], router_aux_loss_coef=0.0)
    if s.state:
        config.update(num_experts=s.experts[0], moe_intermediate_size=s.ff, shared_expert_intermediate_size=s.shared)
        recurrent(s, config, other)
        if s.by_key:
            config.update(decoder_sparse_step=1, norm_topk_prob=True)
            return transformers.Qwen3NextForCausalLM, transformers.Qwen3NextConfig
        return transformers.Qwen3_5MoeForCausalLM, transformers.Qwen3_5MoeTextConfig
    if s.arch == "llama":
        config.update(num_local_experts=s.experts[0], sliding_window=None)
        return transformers.MixtralForCausalLM, transformers.MixtralConfig
    config.update(num_experts=s.experts[0], moe_intermediate_size=s.ff, norm_topk_prob=not s.of_all,
                  decoder_sparse_step=1, mlp_only_layers=[])
    if s.of_all:
        config.pop("head_dim")
        config.update(shared_expert_intermediate_size=s.shared, use_sliding_window=False)
        return transformers.Qwen2MoeForCausalLM, transformers.Qwen2MoeConfig
    return transformers.Qwen3MoeForCausalLM, transformers.Qwen3MoeConfig


def ministral(s, config, yarn, other):
    """HF's classes for Ministral 3.  Its temperature has no setting that a mistake could be, so the function is one."""
    import transformers
    from transformers.models.ministral3 import modeling_ministral3 as modeling
    _tempers.append(modeling.get_llama_4_attn_scale)
    modeling.get_llama_4_attn_scale = other.get("temper", _tempers[0])
    factor, original = yarn or (1.0, s.yarn[1])
    scale, times = s.temper
    config.update(head_dim=s.head_dim, rope_parameters=dict(
        rope_type="yarn", rope_theta=config.pop("rope_theta"), factor=factor, original_max_position_embeddings=original,
        llama_4_scaling_beta=scale, attention_factor=other.get("attention"), mscale=1.0, mscale_all_dim=times))
    return transformers.Ministral3ForCausalLM, transformers.Ministral3Config


_tempers = []  # the first is transformers' own


def olmo(s, config, window, yarn, other):
    """HF's classes for OLMo 2, and for OLMo 3, whose layers with a window are never scaled."""
    import transformers
    config.pop("hidden_act")
    if not s.window:
        return transformers.Olmo2ForCausalLM, transformers.Olmo2Config
    base = config.pop("rope_theta")
    plain, scaled = dict(rope_type="default", rope_theta=base), dict(rope_type="default", rope_theta=base)
    if yarn:
        scaled.update(rope_type="yarn", factor=yarn[0], original_max_position_embeddings=yarn[1],
                      attention_factor=other.get("attention"))
    config.update(sliding_window=window or 2 * config["max_position_embeddings"],
                  rope_parameters=dict(full_attention=scaled,
                                       sliding_attention=scaled if other.get("local_yarn") else plain),
                  layer_types=["sliding_attention" if w else "full_attention"
                               for w in other.get("windowed", s.windowed)])
    return transformers.Olmo3ForCausalLM, transformers.Olmo3Config


def change_late(torch, s, model, other):
    """Norms that OLMo has otherwise than others do."""
    class Each(torch.nn.Module):
        def __init__(self, norm):
            super().__init__()
            self.weight, self.eps = norm.weight, norm.variance_epsilon

        def forward(self, x):
            heads = x.view(*x.shape[:-1], -1, s.head_dim)
            scale = torch.rsqrt(heads.pow(2).mean(-1, keepdim=True) + self.eps)
            return (heads * scale).view(x.shape) * self.weight

    def normed(module, args, kwargs):
        x = args[0] if args else kwargs["hidden_states"]
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + s.eps)
        return ((x, *args[1:]), kwargs) if args else (args, dict(kwargs, hidden_states=x))

    for layer in model.layers:
        if other.get("each"):
            layer.self_attn.q_norm, layer.self_attn.k_norm = Each(layer.self_attn.q_norm), Each(layer.self_attn.k_norm)
        if other.get("before") == "attention":
            layer.self_attn.register_forward_pre_hook(normed, with_kwargs=True)
        if other.get("before") == "ffn":
            layer.mlp.register_forward_pre_hook(normed, with_kwargs=True)


def granite(s, config, other):
    """HF's classes for Granite."""
    import transformers
    names = "embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"
    config.update(zip(names, other.get("scales", s.scales)), attention_bias=s.attn_bias)
    if not s.experts:
        return transformers.GraniteForCausalLM, transformers.GraniteConfig
    config.update(num_local_experts=s.experts[0], num_experts_per_tok=s.experts[1])
    return transformers.GraniteMoeForCausalLM, transformers.GraniteMoeConfig


def sparse(weights):
    """GraniteMoe's names of what others have in an mlp."""
    return {k.replace(".mlp.gate.", ".mlp.router.").replace(".mlp.", ".block_sparse_moe."): v
            for k, v in weights.items()}


def recurrent(s, config, other):
    """HF's classes for Qwen3.5's text."""
    import transformers
    keys, values, dim, taps = s.state
    rope = dict(rope_type="default", rope_theta=config.pop("rope_theta"),
                partial_rotary_factor=other.get("rotated", s.turning) / s.head_dim)
    config.update(head_dim=s.head_dim, rope_parameters=rope, linear_conv_kernel_dim=taps, linear_key_head_dim=dim,
                  linear_value_head_dim=dim, linear_num_key_heads=keys, linear_num_value_heads=values,
                  layer_types=["linear_attention" if s.recurrent(i) else "full_attention" for i in range(s.layers)])
    return transformers.Qwen3_5ForCausalLM, transformers.Qwen3_5TextConfig


def liquid(s, config):
    """HF's classes for LFM2."""
    import transformers
    rope = dict(rope_type="default", rope_theta=config.pop("rope_theta"))
    config.update(norm_eps=config.pop("rms_norm_eps"), rope_parameters=rope, block_auto_adjust_ff_dim=False,
                  conv_L_cache=s.convs[0], tie_embedding=s.tied,
                  layer_types=["conv" if s.convolves(i) else "full_attention" for i in range(s.layers)])
    config.pop("hidden_act")
    return transformers.Lfm2ForCausalLM, transformers.Lfm2Config


def oss(s, config, window, other):
    """HF's classes for gpt-oss."""
    import transformers
    config.update(head_dim=s.head_dim, num_experts_per_tok=s.experts[1], num_local_experts=s.experts[0],
                  attention_bias=True, sliding_window=window or 2 * config["max_position_embeddings"],
                  layer_types=["sliding_attention" if w else "full_attention"
                               for w in other.get("windowed", s.windowed)])
    if not other.get("yarn", s.yarn):
        config["rope_parameters"] = dict(rope_type="default", rope_theta=config.pop("rope_theta"))
    return transformers.GptOssForCausalLM, transformers.GptOssConfig


def interleaved(weights):
    """gpt-oss's experts as HF has them: gate and up by turns, and matrices with columns first."""
    out = {}
    for k, v in weights.items():
        if ".experts.gate_proj." in k:
            both = np.stack([v, weights[k.replace("gate_proj", "up_proj")]], axis=2).reshape(len(v), -1, *v.shape[2:])
            k, v = k.replace("gate_proj", "gate_up_proj"), both
        if ".experts." in k and ".up_proj" not in k:
            k = k.replace(".weight", "").replace(".bias", "_bias")
            v = v.swapaxes(1, 2) if v.ndim == 3 else v
        if ".up_proj" not in k:
            out[k] = v
    return out


def factors(s, other):
    import tiny
    return [float(f) for f in other.get("factors", tiny.longrope_factors(s))]


def phi(s, config, window, other):
    """HF's classes for Phi-3.  HF chooses factors by how far a sequence has come, engines by the context that was set
    aside: the judge has the long ones for both."""
    import transformers
    rope = dict(rope_type="default", rope_theta=config.pop("rope_theta"),
                partial_rotary_factor=other.get("rotated", s.turning) / s.head_dim)
    config.update(sliding_window=window or None, rope_parameters=rope)
    if s.longrope:
        rope.update(rope_type="longrope", short_factor=factors(s, other), long_factor=factors(s, other),
                    attention_factor=other.get("attention", s.longrope[1]),
                    original_max_position_embeddings=s.longrope[0])
        config.update(original_max_position_embeddings=s.longrope[0])
    return transformers.Phi3ForCausalLM, transformers.Phi3Config


JOINED = {"self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
          "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj")}


def joined(weights):
    """Phi-3's weights as HF has them, where split() has taken them apart."""
    out = dict(weights)
    for name, parts in JOINED.items():
        for first in [k for k in weights if parts[0] in k]:
            rows = [out.pop(first.replace(parts[0], part)) for part in parts]
            out[first.replace(parts[0], name)] = np.concatenate(rows)
    return out


def split(s, weights):
    """Phi-3's weights by the names that other architectures have."""
    q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
    out = dict(weights)
    for name, cuts in ("self_attn.qkv_proj", (q, q + kv)), ("mlp.gate_up_proj", (s.ff,)):
        for k in [k for k in weights if name in k]:
            for part, rows in zip(JOINED[name], np.split(out.pop(k), cuts)):
                out[k.replace(name, part)] = rows
    return out


def woven(s, weights):
    """Qwen3-Next's weights as HF has them: q, k, v and z of a key head each after the other."""
    keys, values, dim, _ = s.state
    out = dict(weights)
    for k in [k for k in weights if ".in_proj_qkv." in k]:
        qkv, z = out.pop(k), out.pop(k.replace("in_proj_qkv", "in_proj_z"))
        cut = np.split(qkv, [keys * dim, 2 * keys * dim]) + [z]
        out[k.replace("in_proj_qkv", "in_proj_qkvz")] = np.concatenate(
            [a.reshape(keys, -1, s.embd) for a in cut], axis=1).reshape(-1, s.embd)
    return out


def fused(weights):
    """Experts as HF has them: gate above up, and no .weight in the name."""
    out = {}
    for k, v in weights.items():
        if ".experts.gate_proj." in k:
            up = weights[k.replace("gate_proj", "up_proj")]
            out[k.replace("gate_proj.weight", "gate_up_proj")] = np.concatenate([v, up], axis=1)
        elif ".experts.up_proj." not in k:
            out[k.replace(".down_proj.weight", ".down_proj") if ".experts." in k else k] = v
    return out


def gemma(s, config, window, linear, other):
    """HF's classes for Gemma; what is special to it goes into the configuration."""
    import transformers
    caps = other.get("caps", s.caps) or (None, None)
    windowed = other.get("windowed", s.windowed)
    config.pop("hidden_act")
    config.update(head_dim=s.head_dim, query_pre_attn_scalar=other.get("query", s.query),
                  hidden_activation="gelu_pytorch_tanh",
                  sliding_window=window or 2 * config["max_position_embeddings"], attn_logit_softcapping=caps[0],
                  final_logit_softcapping=caps[1],
                  layer_types=["sliding_attention" if w else "full_attention" for w in windowed])
    if s.arch == "gemma2":
        return transformers.Gemma2ForCausalLM, transformers.Gemma2Config
    full, local = dict(rope_theta=config.pop("rope_theta")), dict(rope_theta=other.get("local", s.local or 10000.0))
    for part, divisor in (full, linear), (local, other.get("local_linear")):
        part.update(dict(rope_type="linear", factor=divisor) if divisor else dict(rope_type="default"))
    config["rope_parameters"] = dict(full_attention=full, sliding_attention=local)
    return transformers.Gemma3ForCausalLM, transformers.Gemma3TextConfig


def change(torch, model, other):
    """What no configuration says."""
    if "scale" in other:
        model.embed_tokens.embed_scale.fill_(other["scale"])
    post = other.get("post", (True, True))
    for layer in model.layers:
        if not post[0]:
            layer.post_attention_layernorm = torch.nn.Identity()
        if not post[1]:
            layer.post_feedforward_layernorm = torch.nn.Identity()
        if "gelu" in other:
            layer.mlp.act_fn = torch.nn.GELU() if other["gelu"] == "exact" else gelu_table(torch)


def gelu_table(torch):
    """ggml's GELU on a CPU: a table of F16 by F16, between -10 and 10."""
    class Table(torch.nn.Module):
        def forward(self, x):
            y = torch.nn.functional.gelu(x.half().float(), approximate="tanh").half().float()
            return torch.where(x <= -10, 0.0, torch.where(x >= 10, x, y))

    return Table()


class Llama:
    """kv: "F32" or "F16".  Flash attention is off: it is another order of sums and may be another precision."""

    def __init__(self, path, kv="F32", context=512):
        import llama_cpp
        self.c = c = llama_cpp
        quiet()
        c.llama_backend_init()
        params = c.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = False  # plain kernels: those of AMX use tiles before they are configured
        self.model = c.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            raise RuntimeError("%s: llama.cpp does not load it" % path)
        params = c.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = context
        params.n_threads = params.n_threads_batch = 1
        params.type_k = params.type_v = KV_TYPES[kv]
        params.flash_attn_type = c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        self.ctx = c.llama_init_from_model(self.model, params)
        if not self.ctx:
            raise RuntimeError("%s: llama.cpp makes no context" % path)
        self.vocab = c.llama_model_get_vocab(self.model)
        self.n_vocab = c.llama_vocab_n_tokens(self.vocab)
        self.batch = c.llama_batch_init(context, 0, 1)

    def close(self):
        self.c.llama_batch_free(self.batch)
        self.c.llama_free(self.ctx)
        self.c.llama_model_free(self.model)

    def _decode(self, ids, start):
        for i, token in enumerate(ids):
            self.batch.token[i] = int(token)
            self.batch.pos[i] = start + i
            self.batch.n_seq_id[i] = 1
            self.batch.seq_id[i][0] = 0
            self.batch.logits[i] = 1
        self.batch.n_tokens = len(ids)
        if self.c.llama_decode(self.ctx, self.batch):
            raise RuntimeError("llama_decode failed")
        rows = [self.c.llama_get_logits_ith(self.ctx, i) for i in range(len(ids))]
        return np.array([np.ctypeslib.as_array(row, (self.n_vocab,)) for row in rows], np.float32)

    def logits(self, ids):
        self.c.llama_memory_clear(self.c.llama_get_memory(self.ctx), True)
        return self._decode(ids, 0)

    def greedy(self, ids, n):
        """The prompt in one batch, then n tokens one by one: (their ids, the logits each was chosen from)."""
        out, rows = [], [self.logits(ids)[-1]]
        while True:
            out.append(int(rows[-1].argmax()))
            if len(out) == n:
                return out, np.array(rows)
            rows.append(self._decode(out[-1:], len(ids) + len(out) - 1)[0])

    def tokens(self, text, bos=True):
        """The ids of a plain text (bytes): bos as the file says, no special tokens parsed."""
        out = (self.c.llama_token * (len(text) + 8))()
        n = self.c.llama_tokenize(self.vocab, text, len(text), out, len(out), bos, False)
        assert n >= 0
        return list(out[:n])


_keep = []


def quiet():
    """llama.cpp says nothing but errors."""
    import llama_cpp
    if _keep:
        return

    @llama_cpp.llama_log_callback
    def log(level, text, _):
        if level == 4:  # GGML_LOG_LEVEL_ERROR
            print("llama.cpp:", text.decode(errors="replace").rstrip())

    _keep.append(log)
    llama_cpp.llama_log_set(log, ctypes.c_void_p(0))


def versions():
    """{name: version} of everything that has a say."""
    from importlib.metadata import version
    import platform
    import llama_cpp
    out = {"Python": platform.python_version()}
    for name in ("torch", "transformers", "llama-cpp-python", "gguf", "numpy"):
        out[name] = version(name)
    lib = llama_cpp.llama_cpp._lib
    for name in ("ggml_version", "ggml_commit"):
        say = getattr(lib, name)
        say.restype = ctypes.c_char_p
        out[name] = say().decode()
    out["llama.cpp system info"] = llama_cpp.llama_print_system_info().decode().strip()
    return out
