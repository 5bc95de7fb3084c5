"""Triton kernels of a pass and of the rules, for a CUDA device.

Each kernel does in one launch what PyTorch does in several launches. Every function's docstring
names the PyTorch function that the kernel replaces. The tests compare the kernel with that
function, and so does the loading of a model (`engine.numerics.distributions`,
`engine.models.fused_body`). Only this module imports Triton.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.numerics.ranking import BITS, NO_RANK

VERSION = triton.__version__
MOST_QUERIES = 128  # largest number of queries of a key head that `attention` takes
_TOGETHER = 16, 64  # queries of one program, if there are few queries and if there are more
_KEYS = 64  # keys that one program of `attention` reads at once
_STAGES = 3  # blocks of keys and values that one program reads ahead, if the blocks fit
_PROGRAMS = 128  # programs of `attention`, about one for each of a large GPU's multiprocessors
_HEADS = 8  # heads that one program of `rotate` processes
_SIZE = 128  # tokens of one block of a sample's cumulative sum


# Passes


@triton.jit
def _normed(x, weight, out, width, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < width
    value = tl.load(x + row * width + i, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
    value = value / tl.sqrt(tl.sum(value * value, 0) / width + eps) * scale
    tl.store(out + row * width + i, value.to(out.dtype.element_ty), mask=inside)


def normed(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Return F.rms_norm of rows [rows, D]."""
    rows, width = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(width)
    _normed[(rows,)](
        x, weight, out, width, eps, BLOCK=block, num_warps=min(16, max(1, block // 256))
    )
    return out


@triton.jit(do_not_specialize=["length", "heads", "kv_heads"])
def _rotate(
    qkv, cos, sin, query_cos, query_sin, window, queries, keys, values,
    length, heads, kv_heads, row_stride, head_stride,
    DIM: tl.constexpr, HALF: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    """Process some heads of one window row: rotate queries and keys, copy values."""
    row = tl.program_id(0)
    batch, t, groups = row // length, row % length, heads // kv_heads
    head, i = tl.program_id(1) * HEADS + tl.arange(0, HEADS)[:, None], tl.arange(0, HALF)[None, :]
    inside, asks = i < DIM // 2, head < heads
    there = inside & (head < heads + 2 * kv_heads)
    turned = head < heads + kv_heads
    angle = row * DIM + i
    source = qkv + (row * (heads + 2 * kv_heads) + head) * DIM + i
    one = tl.load(source, mask=there, other=0.0).to(tl.float32)
    two = tl.load(source + DIM // 2, mask=there, other=0.0).to(tl.float32)
    c1 = tl.load(tl.where(asks, query_cos, cos) + angle, mask=inside & turned, other=1.0)
    c2 = tl.load(tl.where(asks, query_cos, cos) + angle + DIM // 2, mask=inside & turned, other=1.0)
    s1 = tl.load(tl.where(asks, query_sin, sin) + angle, mask=inside & turned, other=0.0)
    s2 = tl.load(tl.where(asks, query_sin, sin) + angle + DIM // 2, mask=inside & turned, other=0.0)
    first = one * c1.to(tl.float32) - two * s1.to(tl.float32)
    second = two * c2.to(tl.float32) + one * s2.to(tl.float32)
    place = (batch * kv_heads + head // groups) * groups + head % groups
    at = queries + (place * length + t) * DIM + i
    tl.store(at, first.to(queries.dtype.element_ty), mask=inside & asks)
    tl.store(at + DIM // 2, second.to(queries.dtype.element_ty), mask=inside & asks)
    slot, kv_head = tl.load(window + t), head - tl.where(turned, heads, heads + kv_heads)
    at = batch * row_stride + kv_head * head_stride + slot * DIM + i
    at = tl.where(turned, keys, values) + at
    tl.store(at, first.to(keys.dtype.element_ty), mask=there & ~asks)
    tl.store(at + DIM // 2, second.to(keys.dtype.element_ty), mask=there & ~asks)


def rotate(
    qkv: Tensor,
    angles: tuple[Tensor, Tensor],
    query_angles: tuple[Tensor, Tensor],
    window: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Tensor:
    """Rotate queries and keys of qkv [R, T, H + 2 Hk, d], and write keys and values to the cache.

    R counts the batch's rows, T the window's tokens, H the query heads, Hk the key heads, and d a
    head's channels. Returns the rotated queries [R, Hk, G T, d]: the G = H / Hk query heads that
    share a key head become G T rows of one head.

    Args:
        qkv: queries, keys and values.
        angles: cosines and sines of the keys [R, T, d].
        query_angles: cosines and sines of the queries [R, T, d].
        window: the window's slots in the cache [T].
        keys: the cache's keys [R, Hk, slots, d].
        values: the cache's values [R, Hk, slots, d].
    """
    rows, length, heads, dim = qkv.shape
    kv_heads = keys.shape[1]
    heads -= 2 * kv_heads
    queries = qkv.new_empty(rows, kv_heads, heads // kv_heads * length, dim)
    _rotate[(rows * length, triton.cdiv(heads + 2 * kv_heads, _HEADS))](
        qkv, *angles, *query_angles, window, queries, keys, values,
        length, heads, kv_heads, keys.stride(0), keys.stride(1),
        DIM=dim, HALF=triton.next_power_of_2(dim // 2), HEADS=_HEADS, num_warps=2,
    )  # fmt: skip
    return queries


@triton.jit(do_not_specialize=["count", "length", "kv_heads", "parts", "blocks"])
def _attend(
    queries, keys, values, mask, out, sums, tops, weights,
    count, length, end, kv_heads, parts, blocks, row_stride, head_stride, mask_stride, scale,
    DIM: tl.constexpr, MASKED: tl.constexpr, PARTS: tl.constexpr,
    M: tl.constexpr, D: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Attend with M queries of one key head to a part of the keys, block by block.

    Without PARTS the kernel writes the output. With PARTS it writes, for each query, what `_mix`
    needs: the part's largest score, the sum of the scores' exponentials, and the sum of the values
    weighted by these exponentials.
    """
    head, part = tl.program_id(0), tl.program_id(1)
    row, m, i = head // kv_heads, tl.program_id(2) * M + tl.arange(0, M), tl.arange(0, D)
    row_mask, inside = m < count, (i < DIM)[None, :]
    at = row * row_stride + (head % kv_heads) * head_stride
    source = queries + (head * count + m[:, None]) * DIM + i[None, :]
    q = tl.load(source, mask=row_mask[:, None] & inside, other=0.0)
    top = tl.full((M,), float("-inf"), tl.float32)
    weight, mixed = tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for block in range(part * blocks, tl.minimum((part + 1) * blocks, tl.cdiv(end, S))):
        slots = block * S + tl.arange(0, S)
        there = slots < end
        held = there[:, None] & inside
        k = tl.load(keys + at + slots[:, None] * DIM + i[None, :], mask=held, other=0.0)
        v = tl.load(values + at + slots[:, None] * DIM + i[None, :], mask=held, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if MASKED:
            added = tl.load(
                mask + row * mask_stride + m[:, None] * end + slots[None, :],
                mask=row_mask[:, None] & there[None, :],
                other=0.0,
            )
            scores += added.to(tl.float32)
        scores = tl.where(there[None, :], scores, float("-inf"))
        before, top = top, tl.maximum(top, tl.max(scores, 1))
        e, kept = tl.exp(scores - top[:, None]), tl.exp(before - top)
        weight = weight * kept + tl.sum(e, 1)
        mixed = mixed * kept[:, None]
        mixed += tl.dot(e.to(v.dtype), v, input_precision="ieee")
    if PARTS:
        to = (head * parts + part) * count + m
        tl.store(tops + to, top, mask=row_mask)
        tl.store(weights + to, weight, mask=row_mask)
        tl.store(sums + to[:, None] * DIM + i[None, :], mixed, mask=row_mask[:, None] & inside)
    else:
        to = out + _output(head, m, count, length, kv_heads) * DIM
        value = (mixed / weight[:, None]).to(out.dtype.element_ty)
        tl.store(to[:, None] + i[None, :], value, mask=row_mask[:, None] & inside)


@triton.jit
def _output(head, m, count, length, kv_heads):
    """Return the flat index in the outputs [R T, H] that belongs to query m of a key head."""
    row, groups = head // kv_heads, count // length
    own = (head % kv_heads) * groups + m // length
    return (row * length + m % length) * (kv_heads * groups) + own


@triton.jit(do_not_specialize=["count", "length", "kv_heads", "parts"])
def _mix(
    sums, tops, weights, out, count, length, kv_heads, parts,
    DIM: tl.constexpr, D: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """Combine the results of all parts of the keys for one query."""
    head, m = tl.program_id(0), tl.program_id(1)
    part, i = tl.arange(0, P), tl.arange(0, D)
    there = part < parts
    at = (head * parts + part) * count + m
    top = tl.load(tops + at, mask=there, other=float("-inf"))
    share = tl.exp(top - tl.max(top, 0))
    weight = tl.sum(share * tl.load(weights + at, mask=there, other=0.0), 0)
    held = there[:, None] & (i < DIM)[None, :]
    some = tl.load(sums + at[:, None] * DIM + i[None, :], mask=held, other=0.0)
    mixed = tl.sum(share[:, None] * some, 0) / weight
    to = out + _output(head, m, count, length, kv_heads) * DIM + i
    tl.store(to, mixed.to(out.dtype.element_ty), mask=i < DIM)


def attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, length: int
) -> Tensor:
    """Return F.scaled_dot_product_attention over a cache, as rows [R T, H d].

    The axes are as in `rotate`; `end` counts the slots that are attended to. If heads and queries
    alone give the device too few programs, the keys are split into parts, and each program reads
    one part.

    Args:
        queries: [R, Hk, G T, d].
        keys: [R, Hk, end, d].
        values: [R, Hk, end, d].
        mask: added to the scores [R, 1, G T, end].
        length: T, the window's tokens.
    """
    rows, kv_heads, count, dim = queries.shape
    end, heads = keys.shape[2], rows * kv_heads
    few, many = _TOGETHER
    together = few if count <= few else many
    tiles, all_blocks = triton.cdiv(count, together), triton.cdiv(end, _KEYS)
    blocks = triton.cdiv(all_blocks, max(1, _PROGRAMS // (heads * tiles)))
    parts = triton.cdiv(all_blocks, blocks)
    out = queries.new_empty(rows * length, kv_heads * (count // length) * dim)
    sums, tops, weights = out, out, out
    if parts > 1:
        sums = torch.empty(heads, parts, count, dim, device=queries.device)
        tops, weights = torch.empty(2, heads, parts, count, device=queries.device)
    if mask is not None:
        mask = mask.contiguous()
    wide = triton.next_power_of_2(dim)
    _attend[(heads, parts, tiles)](
        queries, keys, values, queries if mask is None else mask, out, sums, tops, weights,
        count, length, end, kv_heads, parts, blocks, keys.stride(0), keys.stride(1), count * end,
        dim**-0.5, DIM=dim, MASKED=mask is not None, PARTS=parts > 1,
        M=together, D=wide, S=_KEYS, num_warps=4, num_stages=_stages(keys, wide),
    )  # fmt: skip
    if parts > 1:
        _mix[(heads, count)](
            sums, tops, weights, out, count, length, kv_heads, parts,
            DIM=dim, D=wide, P=triton.next_power_of_2(parts), num_warps=1,
        )  # fmt: skip
    return out


def _stages(keys: Tensor, wide: int) -> int:
    """Return how many blocks of keys and values a program reads ahead.

    A multiprocessor's shared memory must have room for these blocks, and for one more to compute
    with. `wide` is a head's number of channels, rounded up to a power of 2.
    """
    if not keys.is_cuda:  # in Triton's interpreter
        return _STAGES
    held = torch.cuda.get_device_properties(keys.device).shared_memory_per_multiprocessor
    return min(_STAGES, max(1, held // (2 * _KEYS * wide * keys.itemsize) - 1))


@triton.jit
def _gated(gate_up, out, width, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = i < width
    gate = tl.load(gate_up + row * 2 * width + i, mask=inside).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + i, mask=inside).to(tl.float32)
    value = gate / (1 + tl.exp(-gate)) * up
    tl.store(out + row * width + i, value.to(out.dtype.element_ty), mask=inside)


def gated(gate_up: Tensor) -> Tensor:
    """Return silu(gate) * up for rows [rows, 2 F] that hold gate, then up."""
    rows, width = len(gate_up), gate_up.shape[1] // 2
    out = gate_up.new_empty(rows, width)
    _gated[(rows, triton.cdiv(width, 1024))](gate_up, out, width, BLOCK=1024)
    return out


# Distributions, as in `engine.numerics.distributions`: one program has one row, in its registers


def _warps(block: int) -> int:
    return min(32, max(4, block // 2048))


@triton.jit(do_not_specialize=["top_k"])
def _probs(logits, p, codes, temperature, top_k, BLOCK: tl.constexpr):
    """Turn the `top_k` largest logits of a row into probabilities; `top_k` 0 keeps all logits.

    The k-th largest logit is found two bits at a time, among integers that sort as the floats do.
    """
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    x = tl.load(logits + row * codes + i, mask=i < codes, other=float("-inf")).to(tl.float32)
    x = x / temperature
    if top_k > 0:
        bits = x.to(tl.int32, bitcast=True)
        ranks = tl.where(bits < 0, ~bits, bits | -2147483648).to(tl.uint32, bitcast=True)
        least = tl.zeros((), tl.uint32)
        for step in tl.static_range(16):
            one = tl.full((), 1 << (30 - 2 * step), tl.uint32)
            two, three = least + one + one, least + one + one + one
            # How many ranks reach each of three bounds: three counts of 20 bits each.
            above = (ranks >= least + one).to(tl.int64)
            above += (ranks >= two).to(tl.int64) << 20
            above += (ranks >= three).to(tl.int64) << 40
            counts = tl.sum(above, 0)
            if (counts >> 40) >= top_k:
                least = three
            elif ((counts >> 20) & 0xFFFFF) >= top_k:
                least = two
            elif (counts & 0xFFFFF) >= top_k:
                least = least + one
        x = tl.where((ranks < least) & (x == x), float("-inf"), x)
    e = tl.exp(x - tl.max(x, 0))
    share = e.to(tl.float64) / tl.sum(e.to(tl.float64), 0)
    tl.store(p + row * codes + i, share.to(tl.float32), mask=i < codes)


@triton.jit
def _sample(p, u, tokens, codes, BLOCKS: tl.constexpr, SIZE: tl.constexpr):
    """Choose a block of tokens, then a token in it.

    The token is the first at which the cumulative sum exceeds u times the total. A token of
    probability 0 is never chosen, even where rounding would choose it.
    """
    row = tl.program_id(0).to(tl.int64)
    block, i = tl.arange(0, BLOCKS), tl.arange(0, SIZE)
    at = block[:, None] * SIZE + i[None, :]
    every = tl.load(p + row * codes + at, mask=at < codes, other=0.0)
    mass = tl.sum(every.to(tl.float64), 1)
    until = tl.cumsum(mass, 0)
    total = tl.max(until, 0)
    target = tl.minimum(tl.load(u + row) * total, total * (1 - 2.0**-52))
    first = tl.min(tl.where((mass > 0) & (until > target), block, BLOCKS), 0)
    last = tl.max(tl.where(mass > 0, block, 0), 0)
    chosen = tl.minimum(first, last)
    before = tl.sum(tl.where(block == chosen, until - mass, 0.0), 0)
    place = chosen * SIZE + i
    some = tl.load(p + row * codes + place, mask=place < codes, other=0.0)
    inside = before + tl.cumsum(some.to(tl.float64), 0)
    first = tl.min(tl.where((some > 0) & (inside > target), i, SIZE), 0)
    last = tl.max(tl.where(some > 0, i, 0), 0)
    tl.store(tokens + row, (chosen * SIZE + tl.minimum(first, last)).to(tl.int64))


@triton.jit
def _residual(p, q, out, codes, NORMAL: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    at, inside = row * codes + i, i < codes
    own = tl.load(p + at, mask=inside, other=0.0)
    if NORMAL:
        mass = tl.sum(own.to(tl.float64), 0)
        value = tl.where(mass > 0, (own.to(tl.float64) / mass).to(tl.float32), 0.0)
    else:
        value = tl.maximum(own - tl.load(q + at, mask=inside, other=0.0), 0.0)
        value = tl.where(tl.max(value, 0) > 0, value, own)
    tl.store(out + at, value, mask=inside)


@triton.jit(do_not_specialize=["below", "above"])
def _ranks_around(
    p, tokens, keys, codes, below, above,
    BITS: tl.constexpr, NO_RANK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Write one row of the result of `distributions.ranks_around` to `keys`.

    Starting from the token's own key, the kernel finds the `below` next smaller keys one by one,
    then the `above` - 1 next larger ones. The row is in ascending order and includes the own key. A
    rank key orders tokens by probability, then by number (`rank_keys`).
    """
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = i < codes
    bits = tl.load(p + row * codes + i, mask=inside, other=0.0).to(tl.int32, bitcast=True)
    key = (bits.to(tl.int64) << BITS) | i
    own = tl.max(tl.where(i == tl.load(tokens + row), key, 0), 0)
    to = keys + row * (below + above) + below
    rank = own
    for step in range(below):
        rank = tl.max(tl.where(inside & (key < rank), key, -NO_RANK), 0)
        tl.store(to - 1 - step, rank)
    rank = own
    for step in range(above):
        tl.store(to + step, rank)
        rank = tl.min(tl.where(inside & (key > rank), key, NO_RANK), 0)


@triton.jit(do_not_specialize=["count"])
def _likeliest(
    p, shares, tokens, codes, count, BITS: tl.constexpr, NO_RANK: tl.constexpr, BLOCK: tl.constexpr
):
    """Write the `count` largest probabilities to `shares`, and their tokens to `tokens`.

    The likeliest token comes first. Each next token has the largest rank key below the key of the
    token before. A rank key orders tokens by probability, then by number (`rank_keys`).
    """
    row, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    bits = tl.load(p + row * codes + i, mask=i < codes, other=0.0).to(tl.int32, bitcast=True)
    # The sign is dropped, so that NaN is the largest.
    key = tl.where(i < codes, ((bits & 0x7FFFFFFF).to(tl.int64) << BITS) | i, -1)
    rank = tl.full((), NO_RANK, tl.int64)
    for step in range(count):
        rank = tl.max(tl.where(key < rank, key, -1), 0)
        share = (rank >> BITS).to(tl.int32).to(tl.float32, bitcast=True)
        tl.store(shares + row * count + step, share)
        tl.store(tokens + row * count + step, rank & ((1 << BITS) - 1))


@triton.jit
def _in_turn(p, q, tokens, exists, masses, out, codes, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < codes
    own = tl.load(p + i, mask=inside, other=0.0)
    for k in tl.static_range(COUNT):
        tl.store(masses + k, tl.sum(tl.where(i == tl.load(tokens + k), own, 0.0), 0))
        if tl.load(exists + k) != 0:
            rest = tl.maximum(own - tl.load(q + k * codes + i, mask=inside, other=0.0), 0.0)
            mass = tl.sum(rest.to(tl.float64), 0)
            own = tl.where(mass > 0, rest / mass.to(tl.float32), own)
    tl.store(out + i, own, mask=inside)


def _each_row(p: Tensor, q: Tensor | None) -> Tensor:
    codes, p = p.shape[-1], p.contiguous()
    out, block = torch.empty_like(p), triton.next_power_of_2(codes)
    _residual[(p.numel() // codes,)](
        p, p if q is None else q.contiguous(), out, codes,
        NORMAL=q is None, BLOCK=block, num_warps=_warps(block),
    )  # fmt: skip
    return out


class Rules:
    """The functions of `engine.numerics.distributions` that have kernels, under the same names."""

    @staticmethod
    def probs(logits: Tensor, temperature: float, top_k: int) -> Tensor:
        """Do what `distributions.logits_to_probs` does, without top-p or forced positions.

        Turns the logits of L positions [L, V] into float32 distributions [L, V]. `top_k` 0 keeps
        all tokens.
        """
        rows, codes = logits.shape
        p = torch.empty(rows, codes, device=logits.device)
        block = triton.next_power_of_2(codes)
        _probs[(rows,)](
            logits.contiguous(), p, codes, float(temperature), top_k,
            BLOCK=block, num_warps=_warps(block),
        )  # fmt: skip
        return p

    @staticmethod
    def sample(p: Tensor, u: Tensor) -> Tensor:
        """Do what `distributions.sample` does, with p [..., V] and u [...]."""
        codes = p.shape[-1]
        tokens = torch.empty(u.shape, dtype=torch.long, device=p.device)
        size = min(_SIZE, triton.next_power_of_2(codes))
        blocks = triton.next_power_of_2(triton.cdiv(codes, size))
        _sample[(u.numel(),)](
            p.contiguous(), u.contiguous(), tokens, codes,
            BLOCKS=blocks, SIZE=size, num_warps=_warps(blocks * size),
        )  # fmt: skip
        return tokens

    @staticmethod
    def residual(p: Tensor, q: Tensor) -> Tensor:
        """Do what `distributions.residual` does, with p and q [..., V]."""
        return _each_row(p, q)

    @staticmethod
    def normalise(p: Tensor) -> Tensor:
        """Do what `distributions.normalise` does, with p [..., V]."""
        return _each_row(p, None)

    @staticmethod
    def ranks_around(p: Tensor, tokens: Tensor, below: int, above: int) -> Tensor:
        """Do what `distributions.ranks_around` does, with p [H, V] and tokens [H]."""
        (rows, codes), block = p.shape, triton.next_power_of_2(p.shape[1])
        keys = torch.empty(rows, below + above, dtype=torch.long, device=p.device)
        _ranks_around[(rows,)](
            p.contiguous(), tokens.contiguous(), keys, codes, below, above,
            BITS=BITS, NO_RANK=NO_RANK, BLOCK=block, num_warps=min(32, max(4, block // 1024)),
        )  # fmt: skip
        return keys

    @staticmethod
    def likeliest(p: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Do what `distributions.likeliest` does, with p [H, V].

        Among tokens of equal probability, the one with the largest number comes first.
        """
        (rows, codes), block = p.shape, triton.next_power_of_2(p.shape[1])
        shares = p.new_empty(rows, count)
        tokens = torch.empty(rows, count, dtype=torch.long, device=p.device)
        _likeliest[(rows,)](
            p.contiguous(), shares, tokens, codes, count,
            BITS=BITS, NO_RANK=NO_RANK, BLOCK=block, num_warps=min(32, max(4, block // 1024)),
        )  # fmt: skip
        return shares, tokens

    @staticmethod
    def in_turn(p: Tensor, q: Tensor, tokens: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        """Do what `distributions.in_turn` does, with p [V], q [K, V], tokens [K], exists [K]."""
        count, codes = q.shape
        masses, out = p.new_empty(count), torch.empty_like(p)
        block = triton.next_power_of_2(codes)
        _in_turn[(1,)](
            p.contiguous(), q.contiguous(), tokens.contiguous(), exists.contiguous(), masses, out,
            codes, COUNT=count, BLOCK=block, num_warps=min(32, max(4, block // 512)),
        )  # fmt: skip
        return masses, out
