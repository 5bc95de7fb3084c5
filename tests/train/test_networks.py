"""The embedded networks: shapes, windows equal to one-shot passes, and weights that survive the
disk."""

import pytest
import torch
from transformers import DynamicCache

from engine.models.embedded_networks import (
    EmbeddedDrafter,
    EmbeddedTarget,
    EmbeddedVQ,
    VQConfig,
    target_config,
)

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


@pytest.fixture(scope="module")
def target() -> EmbeddedTarget:
    torch.manual_seed(0)
    return EmbeddedTarget(target_config(50, **SMALL)).eval()


@pytest.fixture(scope="module")
def drafter(target: EmbeddedTarget) -> EmbeddedDrafter:
    torch.manual_seed(1)
    return EmbeddedDrafter(target.config).eval()


def embedded(target: EmbeddedTarget, length: int = 256) -> torch.Tensor:
    codes = torch.randint(0, 1024, (2, length), generator=torch.Generator().manual_seed(3))
    captions = torch.randint(0, 50, (2, 16), generator=torch.Generator().manual_seed(4))
    return torch.cat(
        [target.embed_caption(captions), target.embed_codes(codes, torch.arange(length))], 1
    )


def test_vq_shapes() -> None:
    vq = EmbeddedVQ(VQConfig(codes=64, coarse=16, fine=8, depth=1)).eval()
    codes = vq.encode(torch.rand(2, 3, 128, 128) * 2 - 1)
    assert codes.shape == (2, 16, 16)
    assert codes.min() >= 0
    assert codes.max() < 64
    assert vq.decode(codes).shape == (2, 3, 128, 128)


def test_vq_pixels_ignore_distant_codes() -> None:
    """The last row of codes does not change pixels outside the decoder's receptive field: 1 + 2 *
    depth rows of codes, then 5 rows of half that size."""
    vq = EmbeddedVQ(VQConfig()).eval()
    rows = 8 * (15 - (1 + 2 * vq.config.depth)) - 4 * 5
    assert rows >= 24
    codes = torch.randint(0, 1024, (1, 16, 16))
    with torch.no_grad():
        before = vq.decode(codes)
        codes[:, 15:] = 0
        after = vq.decode(codes)
    torch.testing.assert_close(before[:, :, :rows], after[:, :, :rows])


@torch.no_grad()
def test_target_rows_and_cache(target: EmbeddedTarget) -> None:
    """Rows decoded one window at a time equal the one-shot pass, from whatever position the codes
    are embedded."""
    x = embedded(target)
    assert x.shape == (2, 273, 32)
    whole = target.lm_head(target.model(inputs_embeds=x, use_cache=False).last_hidden_state)
    assert whole.shape == (2, 273, 1024)
    cache, parts = DynamicCache(config=target.config), []
    for start, end in ((0, 17), (17, 18), (18, 50)):
        slots = torch.arange(start, end)[None]
        out = target.model(
            inputs_embeds=x[:, start:end], position_ids=slots, past_key_values=cache, use_cache=True
        )
        parts.append(target.lm_head(out.last_hidden_state))
    torch.testing.assert_close(torch.cat(parts, 1), whole[:, :50], atol=1e-4, rtol=1e-3)


def test_embed_codes_takes_positions_per_row(target: EmbeddedTarget) -> None:
    codes, positions = torch.randint(0, 1024, (2, 5)), torch.arange(3, 8)
    both = target.embed_codes(codes, positions.expand(2, 5))
    torch.testing.assert_close(target.embed_codes(codes, positions), both)


@torch.no_grad()
def test_drafter_window_equals_one_shot(target: EmbeddedTarget, drafter: EmbeddedDrafter) -> None:
    x = torch.cat([embedded(target, 30)] * 2, -1)
    slots = torch.arange(1, x.shape[1] + 1)[None]
    whole = drafter(x, slots)
    assert whole.shape == (2, 47, 32)
    cache = DynamicCache(config=target.config)
    first = drafter(x[:, :40], slots[:, :40], past_key_values=cache)
    mask = torch.ones(1, 1, 7, 47).tril(40).log()
    second = drafter(x[:, 40:], slots[:, 40:], mask, cache)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, atol=1e-4, rtol=1e-3)


@torch.no_grad()
def test_weights_survive_the_disk(
    target: EmbeddedTarget, drafter: EmbeddedDrafter, tmp_path
) -> None:
    from train.warm import save_half

    x = embedded(target, 30)
    slots = torch.arange(x.shape[1])[None]
    for network, name in ((target, "target"), (drafter, "drafter")):
        save_half(network, tmp_path / name)
    again = EmbeddedTarget.from_pretrained(tmp_path / "target", dtype=torch.float32).eval()
    before, after = (t.model(inputs_embeds=x).last_hidden_state for t in (target, again))
    torch.testing.assert_close(after, before, atol=2e-2, rtol=2e-2)
    redrafter = EmbeddedDrafter.from_pretrained(tmp_path / "drafter", dtype=torch.float32).eval()
    pairs = torch.cat([x, x], -1)
    torch.testing.assert_close(redrafter(pairs, slots), drafter(pairs, slots), atol=2e-2, rtol=2e-2)
