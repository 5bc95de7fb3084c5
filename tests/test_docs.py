"""The pages in docs/, README and CONTRIBUTING, held to the code that they describe."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch
import yaml
from torch import Tensor

from app.settings import PREFIX, AppSettings
from engine.decoders import DECODERS
from engine.decoders.gsd import GSDSettings
from engine.decoders.lantern import LanternSettings
from engine.decoders.sjd_pac import PACSettings, Walk
from engine.distributions import total_variation
from engine.models.card import CARDS
from engine.trace.file import FORMAT, VERSION, Header, LaneState
from engine.trace.steps import DTYPES, SENT, Source, Status
from tests.engine.decoders.driving import (
    acceptances,
    alpha,
    committed_distribution,
    point_mass,
    replacement_distribution,
)
from tests.toy import Toy

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
# Each may import those before it; train/ and examples/ stand beside them.
ORDER = ("engine", "visualize", "app")


@cache
def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def sections(text: str) -> dict[str, str]:
    """The text under each heading of level 2 or 3, up to the next one."""
    parts = re.split(r"^##+ (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text: rows of cells, the heading row first."""
    blocks = re.findall(r"^\|.+\n\| ---.+\n(?:\|.+\n)*", text + "\n", re.MULTILINE)
    found = []
    for block in blocks:
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in block.splitlines()]
        found.append([rows[0], *rows[2:]])
    return found


def table(text: str, first: str) -> list[list[str]]:
    """The rows, without the heading row, of the one table whose first column is headed `first`."""
    (found,) = (rows for rows in tables(text) if rows[0][0] == first)
    return found[1:]


# Links, words, commands


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_and_modules_named_in_code_exist(path: Path) -> None:
    if path.name in ("log.md", "CHANGELOG.md"):
        return  # they tell of the past
    text = path.read_text("utf-8")
    tops = "|".join(entry.name for entry in ROOT.iterdir() if entry.is_dir())
    for name in re.findall(rf"`((?:{tops})/[\w./-]*)`", text):
        assert (ROOT / name).exists(), name
    for module in re.findall(r"python -m ([\w.]+)", text):
        file = ROOT / module.replace(".", "/")
        assert file.with_suffix(".py").exists() or (file / "__main__.py").exists(), module


def test_every_make_target_is_listed_by_make_help_and_documented() -> None:
    makefile = page("Makefile")
    targets = set(re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split())
    assert set(re.findall(r'@echo "make (\S+)', makefile)) == targets - {"help", "tools"}
    assert set(re.findall(r"^make (\S+)", page("CONTRIBUTING.md"), re.MULTILINE)) < targets
    assert re.findall(r"^make (\S+)", page("README.md"), re.MULTILINE) == ["run", "test"]


def test_what_make_quick_leaves_out_exists() -> None:
    listed = re.search(r"^SLOW := ((?:.*\\\n)*.*)$", page("Makefile"), re.MULTILINE)[1]
    assert all((ROOT / "tests" / name).exists() for name in listed.replace("\\", "").split())


def test_the_workflow_runs_what_make_offers_on_every_supported_python() -> None:
    workflow = yaml.safe_load(page(".github/workflows/ci.yml"))
    commands = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    run = {name for command in commands for name in re.findall(r"make (\S+)", command)}
    assert run == {"lint", "lint-js", "quick", "test"}
    supported = [f"3.{minor}" for minor in range(11, 13)]
    project = tomllib.loads(page("pyproject.toml"))["project"]
    assert project["requires-python"] == f">={supported[0]}"
    for job in ("quick", "browser"):
        assert workflow["jobs"][job]["strategy"]["matrix"]["python"] == supported
    installed = set(re.search(r"--no-install-recommends (.+)", "\n".join(commands))[1].split())
    assert installed < set(re.findall(r'missing="\$\$missing ([\w-]+)"', page("Makefile")))
    for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
        assert re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", step.get("uses", "actions/x@v1.0.0"))


@pytest.mark.parametrize("what", ["decoder", "layer", "model"])
def test_adding_takes_ten_lines(what: str) -> None:
    text = sections(page("CONTRIBUTING.md"))[f"Adding a {what}"]
    assert re.findall(r"^(\d+)\.", text, re.MULTILINE) == [str(i) for i in range(1, 11)]


# Architecture


def imports(file: Path) -> Iterator[str]:
    """The modules that a file imports, in full; a relative import starts with dots."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def imported(folder: str) -> dict[str, set[str]]:
    """The packages, without what is below them, that each file of a folder imports."""
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    return {
        str(file.relative_to(ROOT)): {name.split(".")[0] for name in imports(file)}
        for file in files
    }


@pytest.mark.parametrize("folder", ORDER)
def test_imports_follow_the_arrow(folder: str) -> None:
    later = {*ORDER[ORDER.index(folder) + 1 :], "train", "tests"}
    for file, names in imported(folder).items():
        assert not names & later, file


def test_the_engine_draws_and_serves_nothing_and_training_imports_the_engine_alone() -> None:
    for file, names in imported("engine").items():
        assert not names & {"gradio", "plotly", "PIL", "fastapi"}, file
    for file, names in imported("train").items():
        assert not names & {"visualize", "app", "tests"}, file


def test_a_trace_is_read_without_torch_models_or_the_race() -> None:
    """The modules that importing the trace's file loads, followed through the engine."""
    seen, left = set(), ["engine.trace"]
    while left:
        module = left.pop()
        file = ROOT / module.replace(".", "/")
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        if module in seen or not file.exists():
            seen.add(module)
            continue
        seen.add(module)
        left += [name for name in imports(file) if name.startswith("engine")]
        left += [f"{module}.{name.lstrip('.')}" for name in imports(file) if name.startswith(".")]
    assert "engine.trace.steps" in seen
    forbidden = ("torch", "transformers", "engine.models", "engine.decoders", "engine.race")
    assert not {name for name in seen if name.startswith(forbidden)}


def test_architecture_names_every_package_and_no_other() -> None:
    text = page("docs/architecture.md")
    named = {row[0].strip("`/") for row in table(text, "folder")}
    there = {
        str(file.parent.relative_to(ROOT))
        for top in (*ORDER, "train")
        for file in (ROOT / top).rglob("__init__.py")
    }
    others = {"static", "weights", "examples", "tests", "docs"}
    assert all((ROOT / name).is_dir() for name in others)
    assert named == there | others


def test_the_picture_shows_the_order_and_every_package_of_it() -> None:
    text = page("docs/architecture.md")
    picture = re.search(r"```mermaid\n(.+?)```", text, re.DOTALL)[1]
    assert tuple(re.findall(r"^  subgraph (\w+) ", picture, re.MULTILINE)) == ORDER
    for name in (row[0].strip("`") for row in table(text, "folder")):
        if name.startswith(ORDER):
            assert re.search(rf'"{name.rstrip("/").split("/")[-1]}/', picture), name
    assert " < ".join(f"`{name}`" for name in ORDER) in " ".join(text.split())


# Trace format


def named(kind: type[Status] | type[Source]) -> list[list[str]]:
    return [[str(value.value), value.name.lower()] for value in kind]


def field_types(table: str) -> list[list[str]]:
    """The fields of a dtype as the page writes them."""
    rows = []
    for name in DTYPES[table].names:
        kind = DTYPES[table].fields[name][0]
        count = kind.itemsize // kind.base.itemsize
        letter = kind.base.str.lstrip("<|")
        rows.append([f"`{name}`", f"{letter} × {count}" if kind.shape else letter])
    return rows


@pytest.mark.parametrize("name", DTYPES)
def test_trace_format_has_every_field_with_its_type(name: str) -> None:
    text = sections(page("docs/trace-format.md"))[name]
    rows = table(text, "field")
    assert [row[:2] for row in rows] == field_types(name)
    assert all(row[2] for row in rows)
    assert f"{DTYPES[name].itemsize} bytes" in " ".join(text.split())
    assert ("Not sent to the page" in text) == (name not in SENT)


def test_trace_format_has_every_table_status_source_and_state() -> None:
    text = page("docs/trace-format.md")
    described = [name for name, part in sections(text).items() if "| field |" in part]
    assert described == list(DTYPES)
    assert [row[:2] for row in table(text, "status")] == named(Status)
    assert [row[:2] for row in table(text, "source")] == named(Source)
    listed = re.search(r"`state` is one of (.+?);", text)[1]
    assert re.findall(r"`(\w+)`", listed) == [state.value for state in LaneState]


def test_trace_format_is_of_this_version_with_this_header() -> None:
    parts = sections(page("docs/trace-format.md"))
    file = {row[0].strip("`"): row[1] for row in table(parts["The file"], "key")}
    assert file["format"] == f'`"{FORMAT}"`'
    assert file["version"] == f"`{VERSION}`"
    header = [row[0].strip("`") for row in table(parts["The header"], "key")]
    assert header == list(Header.__dataclass_fields__)


def test_performance_says_what_a_position_takes_on_the_wire() -> None:
    sent, row = re.search(
        r"takes (\d+) bytes on the wire\*\* \(its row of (\d+) in base64\)",
        page("docs/performance.md"),
    ).groups()
    assert int(row) == DTYPES["positions"].itemsize
    assert int(sent) * 3 == int(row) * 4


# Hosting


def settings_row(name: str) -> list[str]:
    field = AppSettings.model_fields[name]
    default = field.default
    if isinstance(default, tuple):
        shown = "all but research only"
    elif default is None:
        shown = ""
    else:
        shown = f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
    return [f"`{PREFIX}{name.upper()}`", shown, field.description]


def test_hosting_has_every_setting_with_its_default_and_description() -> None:
    rows = table(page("docs/hosting.md"), "setting")
    assert rows == [settings_row(name) for name in AppSettings.model_fields]


def test_hosting_has_every_model_with_its_licence() -> None:
    rows = table(page("docs/hosting.md"), "model")
    assert rows == [
        [card.title, f"`{card.name}`", f"{card.grid[0]} × {card.grid[1]}", card.licence]
        for card in CARDS.values()
    ]


# Decoders


def test_the_tables_of_decoders_have_every_lane_with_its_badge() -> None:
    assert table(page("docs/decoders.md"), "lane") == [
        [decoder.title, f"`{name}`", decoder.badge.value, decoder.paper]
        for name, decoder in DECODERS.items()
    ]
    shown = [[row[0], row[2].strip("*")] for row in table(page("README.md"), "lane")]
    badges = {name: decoder.badge.value for name, decoder in DECODERS.items()}
    badges["ar"] = "the baseline"
    assert shown == [[decoder.title, badges[name]] for name, decoder in DECODERS.items()]


def test_the_figures_in_the_readme_are_those_of_the_measured_table() -> None:
    measured = table(page("docs/performance.md"), "lane")
    assert [row[0] for row in measured] == [decoder.title for decoder in DECODERS.values()]
    assert [[row[0], *row[3:]] for row in table(page("README.md"), "lane")] == [
        [row[0], row[2].split(" ± ")[0], row[4].split(" ± ")[0]] for row in measured
    ]


P, Q = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0.4, 0.3, 0.2, 0.1])
TARGET = torch.tensor([0.30, 0.25, 0.20, 0.15, 0.10])
DRAFT = torch.tensor([0.05, 0.60, 0.20, 0.10, 0.05])
LINE = torch.tensor([[2.0], [0.0], [1.0], [3.0], [4.0]])  # nearest to code 1: 2, 0, 3, 4
REJECT = 1.0  # a uniform number that no acceptance probability exceeds


def jacobi() -> dict[str, Tensor]:
    decoder = DECODERS["jacobi"](Toy((2, 3), 4))
    return {
        "acceptance of each draft": acceptances(decoder, P, Q),
        "α": torch.tensor(alpha(decoder, P, Q)),
    }


def fixed_point() -> dict[str, Tensor]:
    distance = total_variation(P, Q)
    return {
        "TV(p, q)": distance,
        "least probability of an unchanged draft": (1 - distance) / (1 + distance),
    }


def sjd() -> dict[str, Tensor]:
    decoder, fresh = DECODERS["sjd"](Toy((2, 3), 4)), point_mass(2, 4)
    return {
        "acceptance of each draft": acceptances(decoder, P, Q),
        "α": torch.tensor(alpha(decoder, P, Q)),
        "committed after a rejection": replacement_distribution(decoder, P, Q, 0, 40),
        "distribution of what is committed": committed_distribution(decoder, P, Q, 40),
        "fresh token 2: acceptance": acceptances(decoder, P, fresh)[2],
        "fresh token 2: committed after its rejection": replacement_distribution(
            decoder, P, fresh, 2, 70
        ),
    }


def gsd() -> dict[str, Tensor]:
    def decoder(G: int, order: str = "ascending"):
        return DECODERS["gsd"](Toy((2, 3), 4), GSDSettings(G=G, order=order, delta=1.0, d=10.0))

    found = {"G = 1: acceptance of each draft": acceptances(decoder(1), P, Q)}
    for G, order in [(2, "ascending"), (2, "descending"), (3, "ascending")] + [
        (4, order) for order in ("ascending", "descending")
    ]:
        rule = decoder(G, order)
        found[f"G = {G} {order}: acceptance of each draft"] = acceptances(rule, P, Q)
        if G != 3:
            found[f"G = {G} {order}: α"] = torch.tensor(alpha(rule, P, Q))
    found["G = 2 ascending: distribution of what is committed"] = committed_distribution(
        decoder(2), P, Q, 40
    )
    found["G = 2 ascending, fresh token 2: acceptance"] = acceptances(
        decoder(2), P, point_mass(2, 4)
    )[2]
    return found


def lantern() -> dict[str, Tensor]:
    model, certain = Toy((2, 3), 5), point_mass(1, 5)
    model.codebook = LINE

    def decoder(**bound: float | str):
        return DECODERS["lantern"](model, LanternSettings(k=3, **bound))

    def mass(**bound: float | str) -> Tensor:
        """A one-hot draft is accepted with its own probability and A's."""
        return acceptances(decoder(**bound), TARGET, certain)[1] - TARGET[1]

    quarter = decoder(delta=0.25)
    return {
        "δ = 0.15: mass of A": mass(delta=0.15),
        "δ = 0.25: mass of A": mass(delta=0.25),
        "δ = 0.5: mass of A": mass(delta=0.5),
        "λ = 2: mass of A": mass(bound="lambda", lam=2.0),
        "δ = 0.25: acceptance": acceptances(quarter, TARGET, DRAFT)[1],
        "δ = 0.25: committed after a rejection": replacement_distribution(
            quarter, TARGET, DRAFT, 1, 70
        ),
        "δ = 0.25, one-hot draft: acceptance": acceptances(quarter, TARGET, certain)[1],
        "δ = 0.25, one-hot draft: committed after a rejection": replacement_distribution(
            quarter, TARGET, certain, 1, 110
        ),
    }


def level(candidates: tuple[int, ...], accept: int | None) -> tuple[Walk, list[Tensor]]:
    """One level of SJD-PAC's walk with p = Q and candidates drawn from q = P without replacement,
    of which number `accept` alone is accepted; and the distribution each was drawn from."""
    drawn_from, left = [], P
    for token in candidates:
        drawn_from.append(left)
        left = left.scatter(0, torch.tensor([token]), 0)
        left = left / left.sum().clamp_min(1e-30)
    K = len(candidates)
    children = torch.tensor([list(range(1, K + 1)), *[[-1] * K] * K])
    uniforms = torch.tensor([0.0 if k == accept else REJECT for k in range(K)])
    walk = Walk(Q.expand(K + 1, -1))
    walk.descend(children, torch.tensor(candidates), torch.stack(drawn_from), uniforms)
    return walk, drawn_from


def any_accepted(K: int) -> float:
    """The probability that one of K candidates is accepted, over all ordered draws of them."""
    total = 0.0
    for candidates in itertools.permutations(range(4), K):
        chance, rest = 1.0, 1.0
        for token in candidates:
            chance, rest = chance * float(P[token]) / rest, rest - float(P[token])
        for k in range(K):
            walk, _ = level(candidates[: k + 1], k)
            acceptance = float(walk.acceptance[0]) if walk.alive else 0.0
            total, chance = total + chance * acceptance, chance * (1 - acceptance)
    return total


def sjd_pac() -> dict[str, Tensor]:
    model = Toy((2, 3), 4)
    decoder = DECODERS["sjd-pac"](model, PACSettings(window=16, PD=False))
    some = torch.tensor([any_accepted(K) for K in range(1, 5)])
    return {
        "first candidate: acceptance": level((3,), 0)[0].acceptance[0],
        "left of p after its rejection": level((3,), None)[0].left,
        "second candidate: drawn from": level((3, 1), None)[1][1],
        "second candidate: acceptance": level((3, 1), 1)[0].acceptance[0],
        "left of p after both rejections": level((3, 1), None)[0].left,
        "probability that one of K = 1, 2, 3, 4 candidates is accepted": some,
        "continuation: acceptance of each draft": acceptances(decoder, P, Q),
        "continuation: probability of an unchanged draft": (Q * acceptances(decoder, P, Q)).sum(),
        "independent redraw: probability of an unchanged draft": (Q * P).sum(),
    }


WORKED = {
    "Jacobi": jacobi,
    "Fixed point": fixed_point,
    "SJD": sjd,
    "GSD": gsd,
    "LANTERN": lantern,
    "SJD-PAC": sjd_pac,
}


@pytest.mark.parametrize("title", [decoder.title for decoder in DECODERS.values()])
def test_worked_numbers_are_the_decoders_own(title: str) -> None:
    text = sections(page("docs/decoders.md"))[title]
    if title not in WORKED:
        assert "worked numbers" not in text
        return
    written = {
        row[0]: [float(number) for number in row[1].split(",")]
        for row in table(text, "worked numbers")
    }
    computed = {
        label: values.double().reshape(-1).tolist() for label, values in WORKED[title]().items()
    }
    assert written.keys() == computed.keys()
    for label, values in computed.items():
        assert written[label] == pytest.approx(values, abs=6e-5), label
