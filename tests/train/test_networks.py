"""The embedded networks: codes at positions of each row, and weights that survive the disk. Their
passes, pictures and codes are in tests/engine/models."""

import torch

from engine.models.embedded.networks import EmbeddedTarget
from train.warm import save_half


def test_embed_codes_takes_positions_per_row(target: EmbeddedTarget) -> None:
    codes, positions = torch.randint(0, 1024, (2, 5)), torch.arange(3, 8)
    both = target.embed_codes(codes, positions.expand(2, 5))
    torch.testing.assert_close(target.embed_codes(codes, positions), both)


def test_weights_survive_the_disk(target, drafter, tmp_path) -> None:
    """Rounded to float16, all of them."""
    for network in (target, drafter):
        folder = tmp_path / type(network).__name__
        save_half(network, folder)
        again = type(network).from_pretrained(folder, dtype=torch.float32).state_dict()
        assert again.keys() == network.state_dict().keys()
        for name, weight in network.state_dict().items():
            assert again[name].equal(weight.half().float()), name
