"""blocks.py - floats to blocks of the types that the package gguf reads and does not write.

Each value goes to the nearest that its block can say; scales are those that the largest value asks for.  No search
for better ones, as llama.cpp's quantizer has: a fixture is what its file says.  quant.c draws the blocks."""
import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q

UNEVEN = np.array(gguf.quants.IQ4_NL.kvalues, np.float32)


def inverse(a):
    return np.divide(1, a, out=np.zeros_like(a), where=a != 0)


def halves(a):
    """A float a row, as the two bytes of its half; and what these are worth."""
    h = a.reshape(-1, 1).astype(np.float16)
    return h.view(np.uint8), h.astype(np.float32)


def nearest_uneven(x):
    return np.abs(x[..., None] - UNEVEN).argmin(axis=-1).astype(np.uint8)


def nibbles(q):
    """Runs of 32: value i low, value i + 16 high."""
    q = q.reshape(*q.shape[:-1], -1, 2, 16)
    return (q[..., 0, :] | q[..., 1, :] << 4).reshape(len(q), -1)


def iq4_nl(x):
    d, worth = halves(np.abs(x).max(axis=1) / -UNEVEN[0])
    return np.hstack([d, nibbles(nearest_uneven(x * inverse(worth)))])


def iq4_xs(x):
    x = x.reshape(-1, 8, 32)
    want = np.abs(x).max(axis=2) / -UNEVEN[0]
    d, worth = halves(want.max(axis=1) / 31)
    scale = np.rint(want * inverse(worth)).clip(-32, 31)
    q = nearest_uneven(x * inverse(scale * worth)[..., None])
    six = (scale + 32).astype(np.uint16)
    high = ((six >> 4) << np.arange(0, 16, 2, dtype=np.uint16)).sum(axis=1, dtype=np.uint16)
    low = (six & 15).astype(np.uint8).reshape(-1, 4, 2)
    return np.hstack([d, high.reshape(-1, 1).view(np.uint8), low[..., 0] | low[..., 1] << 4, nibbles(q)])


def by_bits(q, bits):
    """Runs of 32, 8 / bits of which share 32 bytes: of the first the lowest bits."""
    q = q.reshape(len(q), -1, 8 // bits, 32)
    return (q << np.arange(0, 8, bits, dtype=np.uint8)[:, None]).sum(axis=2, dtype=np.uint8).reshape(len(q), -1)


def q3_k(x):
    x = x.reshape(-1, 16, 16)
    most = np.take_along_axis(x, np.abs(x).argmax(axis=2)[..., None], axis=2)[..., 0] / -4  # which -4 is for
    d, worth = halves(np.abs(most).max(axis=1) / 31)
    scale = np.rint(most * inverse(worth)).clip(-32, 31)
    q = (np.rint(x * inverse(scale * worth)[..., None]).clip(-4, 3) + 4).astype(np.uint8).reshape(-1, 256)
    six = (scale + 32).astype(np.uint8)
    low, high = six & 15, (six >> 4).reshape(-1, 4, 4)
    top = (high << np.arange(0, 8, 2, dtype=np.uint8)[:, None]).sum(axis=1, dtype=np.uint8)
    return np.hstack([by_bits(q >> 2, 1), by_bits(q & 3, 2), low[:, :8] | low[:, 8:] << 4, top, d])


def q2_k(x):
    x = x.reshape(-1, 16, 16)
    least = np.maximum(-x.min(axis=2), 0)
    step = (x.max(axis=2) + least) / 3
    d, worth = halves(step.max(axis=1) / 15)
    dmin, under = halves(least.max(axis=1) / 15)
    scale, low = (np.rint(a * inverse(b)).clip(0, 15) for a, b in ((step, worth), (least, under)))
    q = np.rint((x + (low * under)[..., None]) * inverse(scale * worth)[..., None]).clip(0, 3).astype(np.uint8)
    return np.hstack([scale.astype(np.uint8) | low.astype(np.uint8) << 4, by_bits(q.reshape(-1, 256), 2), d, dmin])


MAKE = {Q.IQ4_NL: iq4_nl, Q.IQ4_XS: iq4_xs, Q.Q3_K: q3_k, Q.Q2_K: q2_k}


def quantize(a, kind):
    """As gguf.quants.quantize(): float32 (..., columns) to bytes (..., bytes a row)."""
    if kind not in MAKE:
        return gguf.quants.quantize(a, kind)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    out = MAKE[kind](a.astype(np.float32).reshape(-1, block))
    assert out.dtype == np.uint8 and out.shape[1] == size
    return out.reshape(*a.shape[:-1], a.shape[-1] // block * size)
