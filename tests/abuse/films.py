"""Measures how far the films that visitors make move the clocks of a race on this machine.

    python -m tests.abuse.films --films 5 --turns 4

Races lanes of the embedded model alone and beside the films, by turns, and prints each lane's
charged seconds (medians), and how long a race took by the wall clock."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from threading import Event, Thread

from app.models.model_loader import load_embedded
from app.page.export import make_file
from app.workers.device_thread import device_thread
from app.workers.race_stream import RaceStream
from engine.models.base import ImageModel
from tests.races import race_of
from visualize.pictures.recorded_race import RecordedRace

LANES = ("ar", "sjd", "scd")
PROMPT = "red apple and blue rabbit"
INSTANT = {"clock": "seconds", "t": 0, "layer": "picture", "lanes": [0, 1, 2], "dark": False}


class RaceOverError(Exception):
    """Ends a film in the middle."""


def raced(model: ImageModel) -> RecordedRace:
    """Race as the page does, on the device's own thread."""

    def run() -> RecordedRace:
        stream = RaceStream(race_of(model, LANES, PROMPT), "", float("inf"))
        for _ in stream.events():
            pass
        return stream.recording()

    return device_thread(model.device).submit(run).result()


@contextmanager
def filmed(recording: RecordedRace, films: int) -> Iterator[None]:
    """So many films are made, again and again, until the end."""
    over = Event()

    def make() -> None:
        def report(_: float) -> None:
            if over.is_set():
                raise RaceOverError

        try:
            while True:
                make_file(recording, "MP4", 0.5, INSTANT, report)
        except RaceOverError:
            pass

    threads = [Thread(target=make) for _ in range(films)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def measured(model: ImageModel) -> list[float]:
    """A race's seconds: by the wall clock, and each lane's."""
    began = time.monotonic()
    trace = raced(model).trace
    wall = time.monotonic() - began
    return [wall, *(float(trace.table(lane).clock[-1]) for lane in range(len(LANES)))]


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.abuse.films", description=__doc__)
    parser.add_argument("--films", type=int, default=5)
    parser.add_argument("--turns", type=int, default=4)
    options = parser.parse_args()
    model = load_embedded()
    recording = raced(model)
    alone, beside = list[list[float]](), list[list[float]]()
    for _ in range(options.turns):
        alone.append(measured(model))
        with filmed(recording, options.films):
            beside.append(measured(model))
    print(f"{recording.trace.header.machine}; {options.turns} turns, {options.films} films")
    print("| | alone | beside films | ratio |\n| --- | --- | --- | --- |")
    for name, *times in zip(
        ("wall clock", *LANES),
        map(median, zip(*alone, strict=True)),
        map(median, zip(*beside, strict=True)),
        strict=True,
    ):
        print(f"| {name} | {times[0]:.3f} s | {times[1]:.3f} s | {times[1] / times[0]:.3f} |")


if __name__ == "__main__":
    main()
