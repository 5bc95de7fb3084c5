"""The embedded networks: shapes, windows equal to one-shot passes, and weights that survive the
disk."""

import pytest
import torch
from transformers import DynamicCache

from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget, EmbeddedVQ, VQConfig
from tests.floats import EXACT
from train.warm import save_half


def embedded(target: EmbeddedTarget, length: int = 30) -> torch.Tensor:
    """The inputs [2, 17 + length, 32] of captions and so many codes."""
    codes = torch.randint(0, 1024, (2, length), generator=torch.Generator().manual_seed(3))
    captions = torch.randint(0, 50, (2, 16), generator=torch.Generator().manual_seed(4))
    parts = target.embed_caption(captions), target.embed_codes(codes, torch.arange(length))
    return torch.cat(parts, 1)


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


def test_embed_codes_takes_positions_per_row(target: EmbeddedTarget) -> None:
    codes, positions = torch.randint(0, 1024, (2, 5)), torch.arange(3, 8)
    both = target.embed_codes(codes, positions.expand(2, 5))
    torch.testing.assert_close(target.embed_codes(codes, positions), both)


@torch.no_grad()
@pytest.mark.usefixtures("without_bfloat16")
def test_drafter_window_equals_one_shot(target: EmbeddedTarget, drafter: EmbeddedDrafter) -> None:
    x = torch.cat([embedded(target)] * 2, -1)
    slots = torch.arange(1, x.shape[1] + 1)[None]
    whole = drafter(x, slots)
    assert whole.shape == (2, 47, 32)
    cache = DynamicCache(config=target.config)
    first = drafter(x[:, :40], slots[:, :40], past_key_values=cache)
    mask = torch.ones(1, 1, 7, 47, dtype=torch.float64).tril(40).log()
    second = drafter(x[:, 40:], slots[:, 40:], mask, cache)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, **EXACT)


def test_weights_survive_the_disk(target, drafter, tmp_path) -> None:
    """Rounded to float16, all of them."""
    for network in (target, drafter):
        folder = tmp_path / type(network).__name__
        save_half(network, folder)
        again = type(network).from_pretrained(folder, dtype=torch.float32).state_dict()
        assert again.keys() == network.state_dict().keys()
        for name, weight in network.state_dict().items():
            assert again[name].equal(weight.half().float()), name
