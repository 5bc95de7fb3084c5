"""Records races of the embedded model: `python -m visualize.record_races [slug ..]`.

The races run from fixed seeds and are kept in static/races/. The page plays them before any model
is loaded, and the tour explains one of them. A seed gives the same tokens on every machine, up to
floating point; the seconds are this machine's.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.decoders import DEFAULT
from engine.decoders.ar import VanillaAR
from engine.infilling import Infilling, box_mask
from engine.models import load
from engine.models.base import ImageModel
from engine.race import Lane, Race, RaceRequest
from engine.race.fork import fork
from engine.race.request import parse_lane
from engine.trace import Trace
from visualize.assets import STATIC
from visualize.pictures.recorded_race import RecordedRace, record

RACES = STATIC / "races"
FILLED = ("ar", "assd", "assd:drafts=n-gram", "sjd", "scd", "parallel")
TOURED = ("ar", "jacobi", "fpi", "sjd", "scd", "gsd", "lantern", "sjd-pac")


@dataclass(frozen=True, slots=True)
class Part:
    """A box of a picture, for a race to fill in.

    Vanilla AR draws the picture from `prompt` and `seed`. `box` is the top, left, height and width
    of the box in tokens. The race fills it in spread order.
    """

    prompt: str
    seed: int
    box: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Fork:
    """Another `token` for a `cell` of vanilla AR's picture; a race draws the cells after it.

    `race` is the slug of the recorded race that has this picture, with the same prompt and seed.
    """

    race: str
    cell: int
    token: int


@dataclass(frozen=True, slots=True)
class RaceSpec:
    """A race to record as <slug>.json.

    The race draws whole pictures, unless it has a `part` to fill in or a `fork` to draw on. `lanes`
    are written as `engine.race.request.parse_lane` reads them.
    """

    slug: str
    prompt: str
    seed: int
    lanes: tuple[str, ...] = DEFAULT
    part: Part | None = None
    fork: Fork | None = None


# Smooth backgrounds are easy to draft, textures are hard, and things are in between.
SPECS = (
    RaceSpec("animals", "red dragon and blue rabbit on white snow", 1),
    RaceSpec("astronaut", "astronaut above rocket on night stars", 6),
    RaceSpec("fruit", "red apple, pear and banana on sky clouds", 2),
    RaceSpec("people", "woman, man, girl and boy on yellow stripes", 6),
    RaceSpec(
        "rabbit",
        "rabbit and dog on green grass",
        3,
        FILLED,
        Part("cat and dog on green grass", 4, (5, 0, 10, 10)),
    ),
    RaceSpec("fork", "sailboat on sunset clouds", 9, ("ar", "sjd"), fork=Fork("tour", 25, 508)),
    RaceSpec("rows", "panda on green grass", 6, ("ar", "zipar:s=1", "zipar:s=4", "rows")),
    RaceSpec("tour", "sailboat on sunset clouds", 9, TOURED),
)


def run_and_record(spec: RaceSpec, model: ImageModel) -> RecordedRace:
    """Run a race with the model, and return the race with its pictures."""
    infilling = None
    if spec.part:
        codes = VanillaAR(model).generate(spec.part.prompt, spec.part.seed)
        infilling = Infilling.of_mask(codes, box_mask(model.grid, *spec.part.box))
    if spec.fork:
        parent = _run(spec, (Lane("ar"),), model, None)
        infilling = fork(parent, spec.fork.race, 0, spec.fork.cell, spec.fork.token)
    return record(_run(spec, tuple(map(parse_lane, spec.lanes)), model, infilling), model)


def _run(
    spec: RaceSpec, lanes: tuple[Lane, ...], model: ImageModel, infilling: Infilling | None
) -> Trace:
    request = RaceRequest(spec.prompt, spec.seed, lanes, model.sampling, model.name, infilling)
    race = Race(model, request)
    return race.trace(list(race))


def main() -> None:
    slugs = [spec.slug for spec in SPECS]
    parser = argparse.ArgumentParser(prog="python -m visualize.record_races", description=__doc__)
    parser.add_argument(
        "slugs",
        nargs="*",
        metavar="slug",
        help=f"which of them; all, if none is named: {', '.join(slugs)}",
    )
    args = parser.parse_args()
    if strange := set(args.slugs) - set(slugs):
        parser.error(f"there is no race {', '.join(sorted(strange))}; there are {', '.join(slugs)}")
    torch.set_num_threads(2)  # a model this small is no faster with more threads
    model = load("embedded")
    RACES.mkdir(exist_ok=True)
    run_and_record(SPECS[0], model)  # the first race of a process is slower: it fills caches
    for spec in SPECS:
        if not args.slugs or spec.slug in args.slugs:
            path: Path = RACES / f"{spec.slug}.json"
            path.write_text(run_and_record(spec, model).dumps(), "utf-8")
            print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
