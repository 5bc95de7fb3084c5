"""How a live race is shown: `python -m tests.browser.live`, a benchmark and no test. Linux only.

Chromium opens the page of `python app.py` and races seven lanes; in each frame a script reads what
they show, from attributes that old versions have too. docs/performance.md defines each figure.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from itertools import pairwise
from pathlib import Path
from statistics import median
from subprocess import Popen
from typing import Any

import httpx
from playwright.sync_api import Browser, sync_playwright

from tests.app.conftest import wait_until
from tests.browser.acts import INSIDE, PATIENCE, PROMPT, lanes_by_event
from tests.browser.conftest import QUIET
from tests.ports import answers, free_port

LANES = ("ar", "sjd", "gsd", "lantern", "sjd-pac", "scd", "fpi")
SETTLE = 3_000  # ms before a race: the page draws the figures of the one before
STREAMS = ("/queue/data", "/events")  # ends of the addresses that send a race
COLUMNS = {
    **{"changes/s": ".1f", "frames that differ": ".0%", "standstill, ms": ".0f"},
    **{"pictures/s": ".1f", "first tokens, ms": ".0f", "MB": ".2f", "stream, MB": ".2f"},
    **{"wall, s": ".2f", "lanes' own, s": ".2f", "wall / own": ".2f"},
    **{"app, CPU s": ".1f", "Chromium, CPU s": ".1f", "sampler, ms": ".2f"},
}
# It asks for each frame in the frame before, so it is called before the board draws, and reads what
# the last frame has shown. A lane's picture has new tokens once the pixel in the middle of the
# first of them is opaque, as no draft's is.
SAMPLER = r"""() => {
  const board = document.querySelector(".board");
  const pen = new OffscreenCanvas(16, 1).getContext("2d", { willReadFrequently: true });
  const [before, parts, shown, pictured] = [board.dataset.race, new WeakMap(), [], []];
  const found = { click: 0, times: [], changes: [], pictures: [], cost: 0 };
  const race = (window.liveRace = {});
  race.id = new Promise((done) => (race.begin = done));
  race.found = new Promise((done) => (race.end = done));
  setTimeout(() => (race.begin(""), race.end({ state: "on" })), 300_000);
  const look = (lane) => {
    if (!parts.has(lane)) parts.set(lane, [...lane.querySelectorAll("dd, .stamp")]);
    const { step, n, state } = lane.dataset;
    const texts = parts.get(lane).map((it) => (it.parentElement.hidden ? "" : it.textContent));
    return [step, n, state, ...texts].join();
  };
  const gains = (lanes) => {
    const more = lanes.flatMap(({ dataset }, i) => (dataset.n > (pictured[i] ??= 0) ? [i] : []));
    if (!more.length) return false;
    const [, columns] = /\d+ × (\d+) tokens/.exec(board.querySelector(".meta").textContent);
    pen.clearRect(0, 0, 16, 1);
    for (const i of more) {
      const canvas = lanes[i].querySelector("canvas");
      const middle = (cell) => Math.floor(((cell + 0.5) * canvas.width) / columns);
      const [x, y] = [pictured[i] % columns, Math.floor(pictured[i] / columns)].map(middle);
      pen.drawImage(canvas, x, y, 1, 1, i, 0, 1, 1);
    }
    const { data } = pen.getImageData(0, 0, 16, 1);
    const drawn = more.filter((i) => data[4 * i + 3] === 255);
    for (const i of drawn) pictured[i] = Number(lanes[i].dataset.n);
    return drawn.length > 0;
  };
  const frame = () => {
    const now = performance.now();
    if (board.dataset.race === before) return void requestAnimationFrame(frame);
    race.begin(board.dataset.race);
    const lanes = [...board.querySelector(".lanes").children];
    const looks = lanes.map(look);
    const [changed, picture] = [looks.some((text, i) => text !== shown[i]), gains(lanes)];
    Object.assign(shown, looks);
    if (found.times.length || lanes.some(({ dataset }) => dataset.step > 0)) {
      found.times.push(now);
      if (changed) found.changes.push(now);
      if (picture) found.pictures.push(now);
      found.cost += performance.now() - now;
    }
    if (board.dataset.done !== "1") return void requestAnimationFrame(frame);
    const [meta, state] = [board.querySelector(".meta").textContent, board.dataset.state];
    const own = lanes.map((lane) => parseFloat(lane.querySelector(".seconds").textContent));
    race.end({ ...found, own, meta, state });
  };
  const click = ({ timeStamp }) => (found.click = timeStamp);
  document.querySelector("#race").addEventListener("click", click, { capture: true, once: true });
  requestAnimationFrame(frame);
}"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """The address and the process of `python app.py` in a folder."""
    with free_port() as port, tempfile.TemporaryFile("w+") as out:
        url, env = f"http://127.0.0.1:{port}/", {**os.environ, "GRADIO_SERVER_PORT": str(port)}
        app = Popen((sys.executable, "app.py"), cwd=folder, env=env, stdout=out, stderr=out)
        try:
            wait_until(lambda: answers(url) or app.poll() is not None)
            if app.poll() is not None:
                out.seek(0)
                sys.exit(f"app.py in {folder} has ended:\n{out.read()}")
            yield url, app.pid
        finally:
            app.terminate()
            app.wait(300)


def processor_seconds(root: int, names: tuple[str, ...] = ("",)) -> float:
    """Of a process and those below it, where their names begin so."""
    parents, ticks = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            head, _, tail = file.read_text().rpartition(")")
            (pid, _, name), fields = head.partition(" ("), tail.split()
            parents[pid] = fields[1]
            ticks[pid] = int(fields[11]) + int(fields[12]) if name.startswith(names) else 0
    family = {str(root)}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


def read_stream(url: str) -> int:
    """Reads a race's events to their end; the answer's status."""
    with httpx.stream("GET", url, trust_env=False, verify=False, timeout=120) as answer:
        for _ in answer.iter_raw():
            pass
        return answer.status_code


class RacedPage:
    """A page whose form is filled in, and the bytes that it receives."""

    def __init__(self, browser: Browser, folder: Path, url: str, app: int) -> None:
        self._folder, self._url, self._app = folder, url, app
        self._facts, self._races = "", list[dict[str, float]]()
        self._answers, self._bytes = dict[str, tuple[str, str]](), Counter[str]()
        self._page = browser.new_page(viewport={"width": 1366, "height": 900})
        self._page.add_init_script(INSIDE)
        self._page.set_default_timeout(PATIENCE)
        network = self._page.context.new_cdp_session(self._page)
        network.on("Network.responseReceived", self._answered)
        network.on("Network.dataReceived", self._received)
        network.send("Network.enable")
        self._page.goto(url)
        self._page.wait_for_selector(".board .lane")
        self._page.locator("#prompt :is(input, textarea)").fill(PROMPT)
        self._page.locator("#seed input").fill("7")
        lanes_by_event(self._page, *LANES)

    def _answered(self, event: dict[str, Any]) -> None:
        answer, names = event["response"], map(str.lower, event["response"]["headers"])
        # Chromium says late what came on the wire, and never where the page closes a stream.
        plain = "content-encoding" not in names and not answer.get("fromDiskCache")
        length = "dataLength" if plain else "encodedDataLength"
        self._answers[event["requestId"]] = answer["url"].partition("?")[0], length
        self._received(event | {length: answer["encodedDataLength"]})  # its headers

    def _received(self, event: dict[str, Any]) -> None:
        url, length = self._answers.get(event["requestId"], ("", "dataLength"))
        self._bytes[url] += max(0, event[length])

    def race(self, watchers: int) -> None:
        self._page.bring_to_front()
        self._page.wait_for_timeout(SETTLE)
        self._page.evaluate(SAMPLER)
        self._bytes.clear()
        before = self._processors()
        self._page.locator("#race").click()
        with ThreadPoolExecutor(max(1, watchers)) as threads:
            url = f"{self._url}races/{self._page.evaluate('liveRace.id')}/events"
            statuses = [threads.submit(read_stream, url) for _ in range(watchers)]
            found = self._page.evaluate("liveRace.found")
            spent = [after - at for after, at in zip(self._processors(), before, strict=True)]
        if wrong := {status.result() for status in statuses} - {200}:
            sys.exit(f"{self._folder}: no race can be watched, GET {url} answers {min(wrong)}.")
        if found["state"] != "finished":
            sys.exit(f"{self._folder}: the race is {found['state']}, not finished.")
        self._facts = found["meta"]
        self._races.append(self._figures(found, spent) | {"watchers": watchers})

    def found(self) -> dict[str, Any]:
        """Its races' figures, but for the first, which fills caches; medians, watched apart."""
        races, middle = self._races[1:], []
        for watchers in sorted({race["watchers"] for race in races}):
            group = [race for race in races if race["watchers"] == watchers]
            middle.append({name: median(race[name] for race in group) for name in group[0]})
        return {"app": str(self._folder), "facts": self._facts, "races": races, "medians": middle}

    def _figures(self, found: dict[str, Any], spent: list[float]) -> dict[str, float]:
        times, changes = found["times"], found["changes"]
        wall, own = (times[-1] - times[0]) / 1000, sum(found["own"])
        still = max(b - a for a, b in pairwise([times[0], *changes, times[-1]]))
        stream = sum(size for url, size in self._bytes.items() if url.endswith(STREAMS))
        values = [len(changes) / wall, len(changes) / len(times), still]
        values += [len(found["pictures"]) / wall, found["pictures"][0] - found["click"]]
        values += [sum(self._bytes.values()) / 1e6, stream / 1e6, wall, own, wall / own]
        return dict(zip(COLUMNS, [*values, *spent, found["cost"] / len(times)], strict=True))

    def _processors(self) -> list[float]:
        chromium = processor_seconds(os.getpid(), ("chrom", "headless_shell"))
        return [processor_seconds(self._app), chromium]


def print_table(app: str, facts: str, races: list[Any], medians: list[Any]) -> None:
    print(f"\n{app}: {facts}\n\n| race | {' | '.join(COLUMNS)} |\n|{' --- |' * (len(COLUMNS) + 1)}")
    for name, row in [*enumerate(races, 1), *(("median", row) for row in medians)]:
        watched = f", {row['watchers']:.0f} watchers" if row["watchers"] else ""
        cells = (format(row[column], spec) for column, spec in COLUMNS.items())
        print(f"| {name}{watched} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.browser.live", description=__doc__)
    parser.add_argument("--races", type=int, default=5, help="of each app, after one to warm up")
    parser.add_argument("--app", type=Path, action="append", help="a folder with app.py, or more")
    parser.add_argument("--watchers", type=int, default=0, help="readers of every second race")
    parser.add_argument("--json", action="store_true", help="one line of JSON, not tables")
    options = parser.parse_args()
    with ExitStack() as stack:
        apps = [(each, *stack.enter_context(served(each))) for each in options.app or [Path(".")]]
        playwright = stack.enter_context(sync_playwright())
        binary = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=binary, args=QUIET)
        stack.callback(browser.close)
        pages = [RacedPage(browser, *app) for app in apps]
        for number in range(1 + options.races):
            for page in pages:
                page.race(0 if number % 2 else options.watchers)
    found = [page.found() for page in pages]
    if options.json:
        return print(json.dumps({"date": str(date.today()), "lanes": LANES, "apps": found}))
    print(f"{date.today()}, {', '.join(LANES)}")
    for each in found:
        print_table(**each)


if __name__ == "__main__":
    main()
