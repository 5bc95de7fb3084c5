"""The judges recognise real scenes, and are right only by chance on pictures of something else."""

import numpy as np
import torch

from engine.settings import Sampling
from train.judge import GroundJudge, is_nearest
from train.sample import guided_probs
from train.scenes import scene


def test_judges_know_real_scenes_and_nothing_else() -> None:
    scenes = [scene(21, i, held_out=True) for i in range(60)]
    rng = np.random.default_rng(0)
    judge = GroundJudge.learn(scenes=20)
    assert np.mean([is_nearest(picture, what, rng) for what, picture in scenes]) >= 0.97
    assert (
        np.mean([judge.ground(picture, what.place) == what.ground for what, picture in scenes])
        >= 0.95
    )
    shuffled = [(what, scenes[i - 1][1]) for i, (what, _) in enumerate(scenes)]
    assert np.mean([is_nearest(picture, what, rng) for what, picture in shuffled]) <= 0.1


def test_guided_probs_guide_then_keep_the_likeliest() -> None:
    conditional, unconditional = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    p = guided_probs(conditional, unconditional, Sampling(guidance=2.0, top_k=2, temperature=2.0))
    torch.testing.assert_close(p, torch.tensor([[4.0, 1.0, -torch.inf]]).div(2).softmax(-1))
