"""Batched sampling draws what the target says, of a canvas of any size."""

import torch

from engine.models.embedded.networks import EmbeddedTarget, EmbeddedVQ, VQConfig, target_config
from engine.settings import Sampling
from tests.train.conftest import SMALL
from train.sample import draw_codes, guided_probs, pictures


@torch.no_grad()
def test_codes_are_those_of_one_shot_passes() -> None:
    """The likeliest codes, with guidance, as a pass over the finished sequence has them."""
    torch.manual_seed(0)
    target = EmbeddedTarget(target_config(50, **SMALL, image_tokens=25)).eval()
    for table in (target.captions, target.slots, target.model.embed_tokens, target.lm_head):
        torch.nn.init.normal_(table.weight)
    captions = torch.randint(1, 50, (3, 16))
    codes = draw_codes(target, captions, Sampling(guidance=2.0, top_k=1), seed=0)
    assert codes.shape == (3, 25)
    assert len(codes.unique()) > 10
    both = torch.cat([captions, torch.zeros_like(captions)])
    rows = target.embed_codes(codes[:, :-1].repeat(2, 1), torch.arange(24))
    hidden = target.model(inputs_embeds=torch.cat([target.embed_caption(both), rows], 1))
    conditional, unconditional = target.lm_head(hidden.last_hidden_state[:, 16:]).chunk(2)
    assert codes.equal((2 * conditional - unconditional).argmax(-1))


def test_pictures_of_any_square() -> None:
    vq = EmbeddedVQ(VQConfig(coarse=16, fine=8, depth=1))
    assert pictures(vq, torch.zeros(2, 9, dtype=torch.int64)).shape == (2, 24, 24, 3)


def test_guided_probs_guide_then_keep_the_likeliest() -> None:
    conditional, unconditional = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    p = guided_probs(conditional, unconditional, Sampling(guidance=2.0, top_k=2, temperature=2.0))
    torch.testing.assert_close(p, torch.tensor([[4.0, 1.0, -torch.inf]]).div(2).softmax(-1))
