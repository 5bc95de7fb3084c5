"""The tokenizer's training: a decoder that grows decodes as before, and every new part of it
learns."""

import torch

from engine.models.embedded.networks import EmbeddedVQ, VQConfig
from train.tokenizer import grown


def test_grown_decoder() -> None:
    torch.manual_seed(0)
    saved = EmbeddedVQ(VQConfig(codes=512, coarse=16, depth=2)).eval().requires_grad_(False)
    vq = grown(saved)
    assert vq.config.coarse > saved.config.coarse
    assert vq.config.depth > saved.config.depth
    assert vq.codebook.equal(saved.codebook.repeat(vq.config.codes // 512, 1))
    pixels = torch.rand(2, 3, 64, 64) * 2 - 1
    codes = saved.encode(pixels)
    assert vq.encode(pixels).equal(codes)
    # The norms add a constant to a mean square that more channels make smaller.
    torch.testing.assert_close(vq.decode(codes), saved.decode(codes), atol=1e-3, rtol=0)
    # Channels and blocks behind zeros have no gradient in the first step.
    optimizer = torch.optim.AdamW(vq.decoder.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        (vq.decoder(vq.embed(codes)) - pixels).abs().mean().backward()
        optimizer.step()
    for name, parameter in vq.decoder.named_parameters():
        assert parameter.grad is not None
        for channels in range(min(2, parameter.ndim)):
            rows = parameter.grad.movedim(channels, 0)
            assert rows.reshape(len(rows), -1).any(1).all(), name
