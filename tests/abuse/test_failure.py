"""Models that fail while they race: the lanes say so in words, and the page goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.abuse.conftest import Site, open_site, words
from tests.app.conftest import Watched, wait_until
from tools.judge.toys import ToyContext


class Failing(Watched):
    """Raises `error` in the tenth forward pass of a lane, as long as there is one; `everywhere`:
    already when a lane starts."""

    def __init__(self) -> None:
        super().__init__()
        self.error: BaseException | None = None
        self.everywhere = False

    def start(self, prompt: str, *more: Any) -> ToyContext:
        if self.error and self.everywhere:
            raise self.error
        return super().start(prompt, *more)

    def forward(self, ctx, tokens, parents=None, targets=None):
        if self.error and ctx.kept and len(ctx.kept) > 10:
            raise self.error
        return super().forward(ctx, tokens, parents, targets)


ERRORS = (
    RuntimeError("secret of /etc"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"),
    MemoryError(),
    torch.AcceleratorError("CUDA error: device lost")
    if hasattr(torch, "AcceleratorError")
    else RuntimeError("CUDA error"),
    RecursionError(),
    StopIteration(),
    ValueError("<img src=x onerror=alert(1)>" * 1000),
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_site(Failing()) as site:
        yield site


@pytest.mark.parametrize(
    ("error", "everywhere"),
    [*((error, False) for error in ERRORS), (ERRORS[0], True)],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_a_model_that_raises_fails_with_a_message_and_frees_everything(
    site: Site, error: Exception, everywhere: bool
) -> None:
    site.model.error, site.model.everywhere = error, everywhere
    event, data = site.call(site.race_values())
    if event == "complete":
        lanes = data[0]["lanes"]
        assert [lane["state"] for lane in lanes] == ["failed"] * 2
        messages = [lane["error"] for lane in lanes]
    else:
        messages = [words(data)]
    assert all(0 < len(text) < 1000 for text in messages)
    assert not any("Traceback" in text for text in messages)
    wait_until(site.idle)
    site.model.error = None
    site.races()
