"""Films a recorded race at true speed: `python -m visualize.film race.json out.mp4`.

Every lane runs by its own clock.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.models import load
from engine.models.supply.card import ModelError
from engine.terminal import say, writable
from visualize.board.snapshot import CLOCKS
from visualize.film.film import FASTEST, SLOWEST, FilmFormat, film
from visualize.film.layers import Layer
from visualize.pictures.recorded_race import RecordedRace, record


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m visualize.film", description=__doc__)
    parser.add_argument(
        "race", type=Path, help="a recorded race, or a trace; then its model draws the pictures"
    )
    parser.add_argument("out", type=writable, help="a file that ends in .mp4, .gif or .webp")
    parser.add_argument("--clock", choices=CLOCKS, default=CLOCKS[0])
    parser.add_argument(
        "--layer", choices=[layer.value for layer in Layer], default=Layer.PICTURE.value
    )
    parser.add_argument("--speed", type=float, default=1.0, help=f"{SLOWEST:g} to {FASTEST:g}")
    args = parser.parse_args()
    endings = [kind.value for kind in FilmFormat]
    if (ending := args.out.suffix.lower().removeprefix(".")) not in endings:
        parser.error(f"a film ends in .{', .'.join(endings)}, not {args.out.name!r}")
    try:
        recording = RecordedRace.loads(args.race.read_bytes())
        if recording.pictures is None:
            recording = record(recording.trace, load(recording.trace.header.model))
        data = film(
            recording,
            FilmFormat(ending),
            clock=args.clock,
            layer=Layer(args.layer),
            speed=args.speed,
        )
    except (OSError, ValueError, ModelError) as error:
        parser.error(str(error))
    args.out.write_bytes(data)
    say(f"{args.out}: {len(data) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
