"""The page's API: the examples as programs run them, and the answers behind them."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
import runpy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import pytest
from gradio.queueing import Queue
from gradio_client import Client
from gradio_client.exceptions import AppError
from PIL import Image

from app.api.api import Api
from app.api.api_result import RaceResult, results_table
from engine.decoders import WHOLE
from engine.trace import Trace
from tests.browser.servers import served
from tests.infill_toys import NeighbourToy
from tests.mcp_client import tool
from tests.pages import ROOT

PROMPT = "red apple on sky clouds"
CALLER = SimpleNamespace(session_hash="shared", headers={}, client=None)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(NeighbourToy()) as url:
        yield url


@pytest.fixture(scope="module")
def client(url) -> Client:
    return Client(url, verbose=False)


@pytest.fixture
def example(monkeypatch):
    """Runs an example as a program, on a thread of its own: a browser test before this one may have
    left its event loop running on the main one."""

    def run(name: str, *arguments: str) -> None:
        path = ROOT / "examples" / name
        monkeypatch.setattr("sys.argv", [str(path), *arguments])
        with ThreadPoolExecutor(1) as thread:
            thread.submit(runpy.run_path, str(path), run_name="__main__").result()

    return run


def test_client_example_runs(url, example, capsys) -> None:
    example("client.py", url, PROMPT)
    shown = capsys.readouterr()
    head, *rows = shown.out.splitlines()
    assert head.split() == ["lane", "passes", "seconds", "tokens/pass"]
    assert [row[:12].strip() for row in rows] == ["Vanilla AR", "SJD", "GSD G=50"]
    assert rows[0].split()[-3] == "36"  # vanilla AR: a pass for each token of the 6 x 6 grid
    assert "finished: " in shown.err


def test_mcp_example_runs(url, example, capsys) -> None:
    example("mcp_tool.py", url, PROMPT)
    lanes = json.loads(capsys.readouterr().out)["lanes"]
    assert [lane["tokens"] for lane in lanes] == [36, 36, 36]


@pytest.mark.parametrize("name", ["client.py", "mcp_tool.py"])
def test_examples_say_how_they_are_used(example, name) -> None:
    with pytest.raises(SystemExit, match=f"usage: python examples/{name} http://"):
        example(name)


@pytest.mark.parametrize("name", ["client.py", "mcp_tool.py"])
def test_examples_pass_on_what_the_page_says_against_a_race(url, example, name) -> None:
    with pytest.raises((AppError, SystemExit), match="2000 characters"):
        example(name, url, "x" * 2000)


def test_summary_is_the_race_without_its_pictures(client) -> None:
    summary = client.predict(PROMPT, 7, ["ar", "sjd"], api_name="/race")
    assert (summary["state"], summary["prompt"], summary["seed"]) == ("finished", PROMPT, 7)
    ar, sjd = summary["lanes"]
    assert (ar["decoder"], ar["passes"], ar["faster_by_passes"]) == ("ar", 36, 1.0)
    assert sjd["passes"] < 36
    assert sjd["faster_by_passes"] == pytest.approx(36 / sjd["passes"], abs=1e-3)
    assert (sjd["place_by_passes"], ar["place_by_passes"]) == (1, 2)


def test_gradio_does_not_sum_up_its_calls(client, monkeypatch) -> None:
    summed, over, compute = [], threading.Event(), Queue.compute_analytics_summary

    def computed(queue: Queue, calls: list[dict]) -> dict:
        try:
            return compute(queue, calls)
        finally:
            over.set()  # it may come after the answer

    monkeypatch.setattr(Queue, "compute_analytics_summary", computed)
    monkeypatch.setattr(Queue, "_get_df", summed.append)
    client.predict(PROMPT, 7, ["ar"], api_name="/race")
    assert over.wait(300)
    assert not summed


def test_a_result_has_what_is_asked_for_and_feeds_the_next_call(client) -> None:
    race = client.predict(PROMPT, 7, ["ar", "sjd"], pictures=True, trace=True, api_name="/race")
    RaceResult.model_validate(race)
    trace = Trace.loads(race["trace"])
    (rows, columns), sampling = race["grid"], trace.header.sampling
    for i, lane in enumerate(race["lanes"]):
        assert lane["codes"] == trace.tokens(i).tolist()
        picture = Image.open(io.BytesIO(base64.b64decode(lane["picture"])))
        assert picture.format == "PNG"
        assert picture.width * rows == picture.height * columns
    assert sampling == NeighbourToy().sampling
    known = [-1 if cell % 6 < 2 else code for cell, code in enumerate(race["lanes"][0]["codes"])]
    filled = client.predict(PROMPT, 8, ["ar", "assd"], known, "raster", api_name="/fill_in")
    RaceResult.model_validate(filled)
    for lane in filled["lanes"]:
        kept = zip(known, lane["codes"], strict=True)
        assert all(code >= 0 if before == -1 else code == before for before, code in kept)
    assert (filled["trace"], filled["lanes"][0]["picture"]) == (None, None)


def test_sampling_is_the_models_but_for_what_is_sent(client) -> None:
    sent = {"guidance": 3.5, "guided_tokens": 9, "temperature": 0.5, "top_k": 3, "top_p": 0.5}
    for some in ({}, {"top_k": 3}, sent):
        race = client.predict(PROMPT, 7, ["ar"], trace=True, **some, api_name="/race")
        used = Trace.loads(race["trace"]).header.sampling
        assert used == dataclasses.replace(NeighbourToy().sampling, **some)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"lanes": ["warp"]}, f"'warp'; there are {', '.join(WHOLE)}."),
        ({"model": "warp"}, "model must be one of toy on this page"),
        ({"guidance": 99}, "guidance is a number from 1 to 20"),
        ({"top_k": "many"}, "top_k"),
        ({"guided_tokens": 37}, "guided_tokens is a whole number from 0 to 36, the tokens of a"),
    ],
)
def test_errors_offer_what_the_call_takes(client, values, words) -> None:
    with pytest.raises(AppError, match=re.escape(words)):
        client.predict(**{"prompt": PROMPT, "seed": 7, "lanes": ["ar"]} | values, api_name="/race")


def test_one_decoder_races_in_several_lanes_and_each_is_named_by_what_differs(client) -> None:
    lanes = ["gsd", "gsd:G=50;d=0.3", "ar", "gsd:G=1"]
    rows = client.predict(PROMPT, 7, lanes, api_name="/race")["lanes"]
    assert [row["title"] for row in rows] == ["GSD", "GSD G=50 d=0.3", "Vanilla AR", "GSD G=1"]
    assert rows[0]["passes"] != rows[3]["passes"]


def test_nothing_but_races_is_public(url) -> None:
    info = httpx.get(f"{url}gradio_api/info", timeout=300).json()
    assert list(info["named_endpoints"]) == ["/race", "/fill_in"]


def test_tool_returns_what_the_client_gets(url, client) -> None:
    tools, answer = tool(url, prompt=PROMPT, seed=7, lanes=["ar", "sjd"])
    # not the board, which is megabytes of pictures
    assert [each.name for each in tools] == ["race", "fill_in"]
    assert not answer.isError
    result = json.loads(answer.content[0].text)
    assert answer.structuredContent == result
    assert tools[0].outputSchema == RaceResult.model_json_schema()
    RaceResult.model_validate(result)
    same = client.predict(PROMPT, 7, ["ar", "sjd"], api_name="/race")
    passes, expected = ([lane["passes"] for lane in race["lanes"]] for race in (result, same))
    assert passes == expected
    names = tools[0].inputSchema["properties"]["lanes"]["description"].rpartition(": ")[2]
    assert names.rstrip(".").split(", ") == list(WHOLE)


@pytest.mark.parametrize("path", ["gradio_api/mcp", "gradio_api/mcp/"])
def test_mcp_answers_without_a_redirect(url, path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    answer = httpx.post(url + path, json=body, headers=headers, timeout=300)
    assert answer.status_code == 200
    assert '"name":"race"' in answer.text
    assert not tool(url, path, prompt=PROMPT, seed=7, lanes=["ar"])[1].isError


@pytest.mark.parametrize(
    ("wrong", "words"), [({"prompt": ""}, "prompt is empty"), ({"seed": -1}, "whole number")]
)
def test_invalid_races_are_rejected_with_a_message(url, client, wrong, words) -> None:
    values = {"prompt": PROMPT, "seed": 7, "lanes": ["ar"]} | wrong
    with pytest.raises(AppError, match=words):
        client.predict(**values, api_name="/race")
    answer = tool(url, **values)[1]
    assert answer.isError
    assert words in answer.content[0].text
    assert "Traceback" not in answer.content[0].text


def test_a_client_that_disconnects_ends_its_race(races, model) -> None:
    race = Api(races).race(PROMPT, 7, ["ar", "sjd"], CALLER)
    assert next(race)["state"] == "waiting"
    next(race)
    race.close()
    assert model.open == 0
    assert model.passes < 36


def test_calls_in_one_session_do_not_end_each_other(client) -> None:
    prompts = [f"{PROMPT} {i}" for i in range(4)]
    jobs = [client.submit(prompt, 7, ["ar"], api_name="/race") for prompt in prompts]
    for job, prompt in zip(jobs, prompts, strict=True):
        race = job.result(60)
        assert (race["state"], race["prompt"]) == ("finished", prompt)


def test_table_of_a_race_that_waits_has_no_results(races) -> None:
    for row in results_table(races.waiting_board())["lanes"]:
        found = row["state"], row["place_by_passes"], row["faster_by_seconds"]
        assert found == ("waiting", None, None)
