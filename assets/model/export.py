"""Write the trained model as a GGUF file (format: the ggml project's docs/gguf.md), matrices in Q8_0; read one again.

Q8_0: blocks of 32 weights of a row, each a half-precision scale and 32 signed bytes; scale = largest magnitude / 127.
"""
import struct
import sys

import numpy as np
import torch

import tokenizer
from transformer import Shape

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
          "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
TYPE_F32, TYPE_Q8_0 = 0, 8
ALIGN = 32


def _string(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def _value(kind, v):
    if kind == STRING:
        return _string(v)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q"}[kind], v)


def _pair(key, kind, v, of=None):
    head = _string(key) + struct.pack("<I", kind)
    if kind != ARRAY:
        return head + _value(kind, v)
    return head + struct.pack("<IQ", of, len(v)) + b"".join(_value(of, x) for x in v)


BLOCK = np.dtype([("d", "<f2"), ("q", "i1", 32)])


def q8_0(w):
    """(rows, columns) float32 -> the bytes of Q8_0; columns divide by 32."""
    b = w.astype(np.float32).reshape(-1, 32)
    scale = (np.abs(b).max(1) / 127).astype(np.float16)
    inverse = np.where(scale > 0, 1 / np.maximum(scale.astype(np.float32), 1e-30), 0)
    out = np.zeros(len(b), BLOCK)
    out["d"] = scale
    out["q"] = np.clip(np.rint(b * inverse[:, None]), -127, 127).astype(np.int8)
    return out.tobytes()


def _metadata(s, tok, forms):
    unused = [t.startswith("<|unused_") for t in tok.tokens]
    kinds = [3 if t in tokenizer.SPECIALS else 5 if u else 1 for t, u in zip(tok.tokens, unused)]
    return [
        _pair("general.architecture", STRING, "qwen2"),
        _pair("general.name", STRING, "plimsoll-tiny"),
        _pair("general.license", STRING, "mit"),
        _pair("general.description", STRING, "a tiny demonstration model, trained from scratch on made-up dialogues"),
        _pair("general.file_type", U32, 7),
        _pair("general.quantization_version", U32, 2),
        _pair("plimsoll.forms", STRING, forms),
        _pair("qwen2.context_length", U32, s.context),
        _pair("qwen2.embedding_length", U32, s.dim),
        _pair("qwen2.block_count", U32, s.layers),
        _pair("qwen2.feed_forward_length", U32, s.ffn),
        _pair("qwen2.attention.head_count", U32, s.heads),
        _pair("qwen2.attention.head_count_kv", U32, s.kv_heads),
        _pair("qwen2.attention.layer_norm_rms_epsilon", F32, s.eps),
        _pair("qwen2.rope.freq_base", F32, s.rope_base),
        _pair("qwen2.rope.dimension_count", U32, s.head_dim),
        _pair("qwen2.vocab_size", U32, s.vocab),
        _pair("tokenizer.ggml.model", STRING, "gpt2"),
        _pair("tokenizer.ggml.pre", STRING, "qwen2"),
        _pair("tokenizer.ggml.tokens", ARRAY, tok.tokens, STRING),
        _pair("tokenizer.ggml.token_type", ARRAY, kinds, I32),
        _pair("tokenizer.ggml.merges", ARRAY, [" ".join(m) for m in tok.merges], STRING),
        _pair("tokenizer.ggml.bos_token_id", U32, tok.id["<|endoftext|>"]),
        _pair("tokenizer.ggml.eos_token_id", U32, tok.id["<|im_end|>"]),
        _pair("tokenizer.ggml.padding_token_id", U32, tok.id["<|endoftext|>"]),
        _pair("tokenizer.ggml.add_bos_token", BOOL, False),
        _pair("tokenizer.chat_template", STRING, CHATML),
    ]


def _names(s):
    """(name in the model, name in the file) of every tensor, in the file's order."""
    names = {"attn_norm": "attn_norm.weight", "q.weight": "attn_q.weight", "k.weight": "attn_k.weight",
             "v.weight": "attn_v.weight", "o.weight": "attn_output.weight", "ffn_norm": "ffn_norm.weight",
             "q.bias": "attn_q.bias", "k.bias": "attn_k.bias", "v.bias": "attn_v.bias",
             "gate.weight": "ffn_gate.weight", "up.weight": "ffn_up.weight", "down.weight": "ffn_down.weight"}
    yield "embed.weight", "token_embd.weight"
    for layer in range(s.layers):
        for ours, theirs in names.items():
            yield f"blocks.{layer}.{ours}", f"blk.{layer}.{theirs}"
    yield "out_norm", "output_norm.weight"


def write(path, state, s, tok, forms):
    """state: the model's state_dict; s: its Shape; forms: the hash of the forms it learned."""
    infos, blobs, offset = [], [], 0
    for ours, name in _names(s):
        w = state[ours].detach().float().cpu().numpy()
        quantized = w.ndim == 2
        blob = q8_0(w) if quantized else w.astype("<f4").tobytes()
        infos.append(_string(name) + struct.pack("<I", w.ndim) + struct.pack(f"<{w.ndim}Q", *reversed(w.shape)) +
                     struct.pack("<IQ", TYPE_Q8_0 if quantized else TYPE_F32, offset))
        blob += b"\0" * (-len(blob) % ALIGN)
        blobs.append(blob)
        offset += len(blob)
    pairs = _metadata(s, tok, forms)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGN))
        for blob in blobs:
            f.write(blob)


class _Reader:
    """Reads values one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        v = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return v if len(v) > 1 else v[0]

    def string(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            of, n = self.take("IQ")
            return [self.value(of) for _ in range(n)]
        return self.take({U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q"}[kind])


def read(path):
    """A file that write() wrote -> (state_dict, Shape, Tokenizer, hash of its forms): what a later run starts from."""
    with open(path, "rb") as f:
        r = _Reader(f.read())
    magic, _, tensors, pairs = r.take("4sIQQ")
    if magic != b"GGUF":
        raise SystemExit(f"{path}: not a GGUF file; --init takes one that this trainer wrote")
    keys = {}
    for _ in range(pairs):
        key = r.string()
        keys[key] = r.value(r.take("I"))
    if keys.get("general.name") != "plimsoll-tiny":
        raise SystemExit(f"{path}: a model of somebody else's; --init takes a GGUF file that this trainer wrote")
    infos = []
    for _ in range(tensors):
        name, n = r.string(), r.take("I")
        sizes = [r.take("Q") for _ in range(n)]
        infos.append((name, sizes[::-1], *r.take("IQ")))
    base, at = -(-r.at // ALIGN) * ALIGN, {}
    for name, sizes, kind, offset in infos:
        count = int(np.prod(sizes))
        if kind == TYPE_Q8_0:
            blocks = np.frombuffer(r.data, BLOCK, count // 32, base + offset)
            w = blocks["d"].astype(np.float32)[:, None] * blocks["q"]
        else:
            w = np.frombuffer(r.data, "<f4", count, base + offset).copy()
        at[name] = torch.from_numpy(w.reshape(sizes))
    k = {key.removeprefix("qwen2."): v for key, v in keys.items()}
    s = Shape(vocab=k["vocab_size"], dim=k["embedding_length"], layers=k["block_count"], heads=k["attention.head_count"],
              kv_heads=k["attention.head_count_kv"], ffn=k["feed_forward_length"], context=k["context_length"],
              rope_base=k["rope.freq_base"], eps=k["attention.layer_norm_rms_epsilon"])
    state = {ours: at[theirs] for ours, theirs in _names(s)}
    merges = [tuple(m.split(" ")) for m in keys["tokenizer.ggml.merges"]]
    return state, s, tokenizer.Tokenizer(keys["tokenizer.ggml.tokens"], merges), keys["plimsoll.forms"]


if __name__ == "__main__":  # export.py IN OUT: write again what was read; the same bytes, as tests/train.sh checks
    write(sys.argv[2], *read(sys.argv[1]))
