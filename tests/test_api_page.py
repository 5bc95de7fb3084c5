"""docs/api.md, held to the calls that it describes."""

from __future__ import annotations

import inspect
import re

import numpy as np

from app.api.api import Api
from app.api.api_result import LaneResult, RaceResult
from tests.browser.servers import served
from tests.infill_toys import NeighbourToy
from tests.pages import page, table

PAGE = page("docs/api.md")


def test_fields_are_those_of_the_calls() -> None:
    calls = [inspect.signature(call).parameters for call in (Api.race, Api.fill_in)]
    taken = {name for call in calls for name in call} - {"self", "request"}
    assert {row[0].strip("`") for row in table(PAGE, "field")} == taken
    for kind, heading in ((RaceResult, "of the race"), (LaneResult, "of each lane")):
        described = {f"`{name}`": field.description for name, field in kind.model_fields.items()}
        assert dict(table(PAGE, heading)) == described


def test_its_python_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    with served(NeighbourToy()) as url:
        for block in blocks:
            exec(block.replace("http://127.0.0.1:7860", url), names)
    p, q, acceptance, uniform = (names[name] for name in ("p", "q", "acceptance", "uniform"))
    tested = ~np.isnan(uniform)
    assert tested.any()
    for share in (p, q, acceptance, uniform):
        assert ((share[tested] >= 0) & (share[tested] <= 1)).all()
