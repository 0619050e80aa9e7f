"""The model: a Qwen 2, as plain as possible, written so that its weights go into a GGUF file as they are.

RMS norm, rotary positions on pairs (i, i + half), causal attention with biases on query, key and value, SwiGLU, the
output shares the embedding.  Runs on torch 1.13 and later, CPU or CUDA, in bfloat16 with float32 weights.

The biases are why it is no llama: with them a head can look at "the token before" whatever the tokens are, and copying
rests on such heads.  start_copying() says with what the model starts.
"""
import dataclasses

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Shape:
    vocab: int = 4096
    dim: int = 256
    layers: int = 6
    heads: int = 4
    kv_heads: int = 4
    ffn: int = 640
    context: int = 4096
    rope_base: float = 1000000.0
    eps: float = 1e-5

    @property
    def head_dim(self):
        return self.dim // self.heads


def norm(x, weight, eps):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps) * weight).to(x.dtype)


def apply(layer, x):
    """A matrix kept in float32, applied in the type of x."""
    return F.linear(x, layer.weight.to(x.dtype), None if layer.bias is None else layer.bias.to(x.dtype))


def rotate(x, cos, sin):
    """x (batch, heads, length, head_dim); cos, sin (length, head_dim / 2)."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


PLAIN = 0    # up to this length attention is written out, which torch.compile makes faster than torch's own
PIECE = 128  # and in pieces of so many queries, which need only the keys before their ends


def attend(q, k, v):
    n = q.shape[-2]
    if n > PLAIN and hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    at, out = torch.arange(n, device=q.device), []
    for a in range(0, n, PIECE):
        b = min(n, a + PIECE)
        scores = (q[..., a:b, :] @ k[..., :b, :].transpose(-1, -2)).float() * q.shape[-1] ** -0.5
        scores = torch.where(at[None, :b] <= at[a:b, None], scores, -1e30)
        out.append(scores.softmax(-1).to(v.dtype) @ v[..., :b, :])
    return torch.cat(out, -2)


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.attn_norm = nn.Parameter(torch.ones(s.dim))
        self.q = nn.Linear(s.dim, s.dim)
        self.k = nn.Linear(s.dim, s.kv_heads * s.head_dim)
        self.v = nn.Linear(s.dim, s.kv_heads * s.head_dim)
        self.o = nn.Linear(s.dim, s.dim, bias=False)
        self.ffn_norm = nn.Parameter(torch.ones(s.dim))
        self.gate = nn.Linear(s.dim, s.ffn, bias=False)
        self.up = nn.Linear(s.dim, s.ffn, bias=False)
        self.down = nn.Linear(s.ffn, s.dim, bias=False)

    def forward(self, x, cos, sin):
        s, (b, n, _) = self.s, x.shape
        h = norm(x, self.attn_norm, s.eps)
        q = rotate(apply(self.q, h).view(b, n, s.heads, -1).transpose(1, 2), cos, sin)
        k = rotate(apply(self.k, h).view(b, n, s.kv_heads, -1).transpose(1, 2), cos, sin)
        v = apply(self.v, h).view(b, n, s.kv_heads, -1).transpose(1, 2)
        if s.kv_heads != s.heads:
            k = k.repeat_interleave(s.heads // s.kv_heads, 1)
            v = v.repeat_interleave(s.heads // s.kv_heads, 1)
        x = x + apply(self.o, attend(q, k, v).transpose(1, 2).reshape(b, n, -1))
        h = norm(x, self.ffn_norm, s.eps)
        return x + apply(self.down, F.silu(apply(self.gate, h)) * apply(self.up, h))


class Transformer(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.s = s
        self.embed = nn.Embedding(s.vocab, s.dim)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.out_norm = nn.Parameter(torch.ones(s.dim))
        angle = torch.outer(torch.arange(s.context).float(),
                            s.rope_base ** (-torch.arange(0, s.head_dim, 2).float() / s.head_dim))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        for name, p in self.named_parameters():
            if name == "embed.weight":
                nn.init.normal_(p, std=s.dim ** -0.5)
            elif name.endswith(("o.weight", "down.weight", ".bias")):
                nn.init.zeros_(p)
            elif p.dim() == 2:
                nn.init.normal_(p, std=p.shape[1] ** -0.5)
        self.start_copying()

    @torch.no_grad()
    def start_copying(self, fast=12, sharp=5.0, carry=0.09, match=1.3, copy=0.12):
        """Start with the circuit that copying rests on: heads of the first layer that look one, two and three tokens
        back, and two heads of the second that find where the present token stood before and copy what came after it
        (an "induction head": Olsson et al., 2022).  From a random start, a run as short as ours spends its first third
        on finding it.

        A query at position t and a key at s whose biases are turned by an angle meet as the sum of
        cos((t - s) f - angle) over the pairs' frequencies f: angle = back * f puts the peak at t - s = back.  The
        `fast` first pairs do that; the others, slow enough to mean the same at any distance, compare what tokens are.
        """
        s, half = self.s, self.s.head_dim // 2
        one, two = self.blocks[0], self.blocks[1]
        f = s.rope_base ** (-torch.arange(half).float() / half)
        on = (torch.arange(half) < fast).float() * sharp
        slow = torch.cat((torch.arange(fast, half), torch.arange(half + fast, s.head_dim)))

        def frame(rows):
            return torch.linalg.qr(torch.randn(s.dim, rows))[0].T
        told = []  # where each of the first heads writes what it saw
        for head in range(min(3, s.heads - 1)):
            at = slice(head * s.head_dim, (head + 1) * s.head_dim)
            one.k.bias[at] = torch.cat((on, 0 * on))
            one.q.bias[at] = torch.cat((on * torch.cos((head + 1) * f), -on * torch.sin((head + 1) * f)))
            one.q.weight[at] *= 0.1
            one.k.weight[at] *= 0.1
            read, write = frame(s.head_dim), frame(s.head_dim)
            one.v.weight[at] = read
            one.o.weight[:, at] = carry * write.T
            told.append((read, write))
        for head in range(min(2, s.heads)):
            at = slice(head * s.head_dim, (head + 1) * s.head_dim)
            read, write = told[0]
            some = torch.randperm(s.head_dim)[:len(slow)]
            for weight, rows in ((two.q.weight, read), (two.k.weight, write)):
                weight[at] = 0
                weight[at.start + slow] = match * rows[some]
            frame_v = frame(s.head_dim)
            two.v.weight[at] = frame_v
            two.o.weight[:, at] = copy * frame_v.T

    def hidden(self, ids, dtype=torch.bfloat16):
        """ids (batch, length) -> normalised hidden states of the last layer."""
        n = ids.shape[1]
        cos, sin = self.cos[:n].to(dtype), self.sin[:n].to(dtype)
        x = self.embed(ids).to(dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return norm(x, self.out_norm, self.s.eps)

    def logits(self, hidden):
        return hidden @ self.embed.weight.to(hidden.dtype).T
