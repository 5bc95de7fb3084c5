"""Checks of speed: a pass beside the time to read the weights, vanilla AR beside `generate`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch

from engine.clock import StepClock
from engine.decoders import DECODERS, WHOLE
from engine.graphs import Graphs
from engine.models.body import BodyModel
from engine.models.supply.card import CARDS
from engine.race.captures import PROMPT
from tools.bench.peer import PEERS, CacheKind, peer_of, run_round
from tools.check.finding import Finding, Subject, good, left_out
from tools.check.lanes import TOKENS, first_steps

WIDTHS = (1, 16, 32, 64)  # rows of a window
PASSES = 20  # timed, for a median; fewer on a processor where they take more than SECONDS
SECONDS = 10.0
COPIED = {"cuda": 2**31, "cpu": 2**28}  # bytes, many times a cache's size


def bandwidth(device: torch.device) -> float:
    """Return the bytes per second that a copy on the device reads and writes.

    The figure is the median of ten copies.
    """
    source = torch.zeros(COPIED[device.type], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * len(source) / timed(device, lambda: target.copy_(source), 10)


def weights_read(model: BodyModel) -> int:
    """Return the bytes of the layers and the output matrix, which every pass reads."""
    layers = sum(parameter.nbytes for parameter in model.body.layers.parameters())
    return int(layers + model.vocab_size * model.body.config.hidden_size * model.dtype.itemsize)


def check_speed(subject: Subject) -> Iterator[Finding]:
    """Compare the time of a pass with the time to read the weights.

    There is a pass for each number of rows in WIDTHS. The passes follow a prompt. They run as CUDA
    graphs if lanes do.
    """
    model = subject.model
    rate, read = bandwidth(model.device), weights_read(model)
    floor = read / rate
    yield good(
        "memory",
        f"A copy moves {rate / 1e9:,.0f} GB/s; to read the weights of a pass, {read / 1e6:,.0f} MB,"
        f" takes {1e3 * floor:.2f} ms at least.",
        bytes_a_second=rate,
        weights=read,
    )
    one = 0.0
    for rows in WIDTHS:
        seconds = timed_pass(model, rows)
        one = one or seconds
        times = f", {seconds / one:.2f} times one of 1 row" if rows > 1 else ""
        yield good(
            f"a pass of {rows} row{'s' * (rows > 1)}",
            f"{1e3 * seconds:.2f} ms{times}; reading the weights is {floor / seconds:.0%} of it.",
            rows=rows,
            seconds=seconds,
            share_of_floor=floor / seconds,
            over_one_row=seconds / one,
        )


@torch.inference_mode()
def timed_pass(model: BodyModel, rows: int) -> float:
    """Return the seconds of a guided pass over `rows` rows, after a prompt and its first token."""
    slot = model.slots.take("check")
    try:
        ctx = model.start(PROMPT, model.sampling.guidance, slot=slot)
        tokens = torch.zeros(rows, dtype=torch.long, device=model.device)
        model.forward(ctx, tokens[:1])
        ctx.keep([0])
        function = partial(model.forward, ctx, tokens)
        if model.captures:
            graphs, clock = Graphs(model.captures.make()), StepClock(model.device)
            function = partial(graphs.run, "forward", rows, function, clock)
        seconds = timed(model.device, function, PASSES)
        ctx.close()
    finally:
        slot.clear()
        model.slots.release(slot)
    return seconds


def check_shares(subject: Subject) -> Iterator[Finding]:
    """Report how much of each lane's step is the forward pass, and how much is other work."""
    model = subject.model
    for name in WHOLE:
        first_steps(model, name)  # captures here, so that the next picture need not
        spent = [step.seconds for step in first_steps(model, name)[1:]]
        if not spent:
            continue
        forward = statistics.median(each.forward for each in spent)
        other = statistics.median(each.total - each.forward for each in spent)
        yield good(
            f"a step of {DECODERS[name].title}",
            f"{1e3 * forward:.2f} ms of forward pass, {1e3 * other:.2f} of other work:"
            f" {other / (forward + other):.0%} of a step.",
            lane=name,
            forward=forward,
            other=other,
        )


def timed(device: torch.device, function: Callable[[], object], count: int) -> float:
    """Return the median seconds of `count` calls, or of fewer once SECONDS have passed.

    Two earlier calls are not counted.
    """
    seconds: list[float] = []
    clock, begin = StepClock(device), time.perf_counter()
    for number in range(count + 2):
        clock.skip()
        function()
        clock.lap("forward")
        clock.wait()
        seconds.append(clock.seconds().forward)
        if number > 2 and time.perf_counter() - begin > SECONDS:
            break
    return statistics.median(seconds[2:])


def check_peer(subject: Subject) -> Iterator[Finding]:
    """Compare the seconds of vanilla AR with those of transformers' `generate`, by turns.

    Both draw the first tokens of a picture.
    """
    model = subject.model
    card = CARDS.get(model.name)
    if card is None or card.family not in PEERS:
        yield left_out("transformers", f"Its generate draws no pictures with {subject.title}.")
        return
    if model.slow_pixels:
        yield left_out("transformers", "A whole picture takes minutes here.")
        return
    generate = peer_of(model, model.sampling, TOKENS)
    round_ = run_round(model, generate, PROMPT, 0, TOKENS)
    each = {kind.value: round_.generate[kind] / round_.waited for kind in CacheKind}
    times = " and ".join(f"{ratio:.1f} times with a {kind} cache" for kind, ratio in each.items())
    yield good(
        "transformers",
        f"{TOKENS} tokens take vanilla AR {round_.waited:.2f} s, and transformers' generate"
        f" {times}.",
        charged=round_.charged,
        waited=round_.waited,
        **each,
    )
