"""The pages in docs/, README and CONTRIBUTING, held to the code that they describe."""

from __future__ import annotations

import itertools
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import torch
import yaml
from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

from app.settings import PREFIX, AppSettings
from engine.decoders import DECODERS, WHOLE
from engine.models.supply.card import CARDS, GIB, ModelCard
from engine.models.supply.device import required_bytes
from engine.trace.file import FORMAT, VERSION, Header, LaneState
from engine.trace.rejections import HEAD, LISTED
from engine.trace.residuals import EXPECTED
from engine.trace.rows import DTYPES, SENT, Source, Status
from tests.glossary import glossary
from tests.pages import ROOT, imports, page, sections, table

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
PAST = ("log.md", "CHANGELOG.md")  # what they name may be gone
# Each may import those before it; train/ and examples/ stand beside them.
ORDER = ("engine", "visualize", "tools", "app")


# Links, words, commands


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("path", [p for p in PAGES if p.name not in PAST], ids=lambda p: p.name)
def test_files_and_modules_named_in_code_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    tops = "|".join(entry.name for entry in ROOT.iterdir() if entry.is_dir())
    for name in re.findall(rf"`((?:{tops})/[\w./-]*)`", text):
        assert (ROOT / name).exists(), name
    for module in re.findall(r"python -m ([\w.]+)", text):
        file = ROOT / module.removeprefix("photo_finish.").replace(".", "/")  # as it is installed
        assert file.with_suffix(".py").exists() or (file / "__main__.py").exists(), module


def test_every_make_target_is_listed_by_make_help_and_documented() -> None:
    makefile = page("Makefile")
    targets = set(re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split())
    hidden = {"help", "tools", "browsers"}
    assert set(re.findall(r'@echo "make (\S+)', makefile)) == targets - hidden
    assert set(re.findall(r"^make (\S+)", page("CONTRIBUTING.md"), re.MULTILINE)) < targets
    shown = re.findall(r"^make (\S+)", page("README.md"), re.MULTILINE)
    assert shown == ["run", "test", "test-cluster", "test-exact"]


def test_the_glossary_is_the_pages_own() -> None:
    """Where it is meant to be another: `python -m tests.glossary`."""
    assert page("docs/glossary.md") == glossary()


def test_the_workflow_runs_what_make_offers_on_every_supported_python() -> None:
    workflow = yaml.safe_load(page(".github/workflows/ci.yml"))
    commands = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    run = {name for command in commands for name in re.findall(r"make (\S+)", command)}
    tests = {"test", "test-cluster", "test-exact", "test-browsers"}
    parts = {".venv/.run"}  # of which a list is kept
    assert run == {"lint", "lint-js", "quick", "soak", "processors"} | tests | parts
    supported = [f"3.{minor}" for minor in range(11, 15)]
    project = tomllib.loads(page("pyproject.toml"))["project"]
    assert project["requires-python"] == f">={supported[0]},<3.15"
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
    later = {*ORDER[ORDER.index(folder) + 1 :], "cluster", "photo_finish", "ray", "train", "tests"}
    for file, names in imported(folder).items():
        assert not names & later, file


def test_the_engine_draws_nothing_training_imports_it_alone_and_the_page_no_tool() -> None:
    for file, names in imported("engine").items():
        assert not names & {"gradio", "plotly", "PIL", "fastapi"}, file
    for file, names in imported("train").items():
        assert not names & {"visualize", "tools", "app", "tests"}, file
    for file, names in (imported("app") | imported("cluster")).items():
        assert "tools" not in names, file


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
        for top in (*ORDER, "cluster", "photo_finish", "train")
        for file in (ROOT / top).rglob("__init__.py")
    }
    there |= {f"static/{path.name}" for path in (ROOT / "static").iterdir() if path.is_dir()}
    others = {"static", "weights", "deploy", "examples", "tests", "docs"}
    assert all((ROOT / name).is_dir() for name in others)
    assert named == there | others


def drawn(text: str) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """The folder of each node of the picture, and its arrows."""
    picture = re.search(r"```mermaid\n(.+?)```", text, re.DOTALL)[1]
    folders, arrows, above = dict[str, str](), set[tuple[str, str]](), ""
    for line in map(str.strip, picture.splitlines()):
        if found := re.match(r'subgraph \w+ \["(\w+)/', line):
            above = f"{found[1]}/"
        elif line == "end":
            above = ""
        for node, folder in re.findall(r'(\w+)\["([\w/]+)/<br>', line):
            folders[node] = above + folder
        chain = re.sub(r"\[.*?\]", "", line).split(" --> ")
        arrows |= set(itertools.pairwise(chain))
    return folders, {(folders[a], folders[b]) for a, b in arrows}


def test_the_picture_has_the_order_and_every_folder() -> None:
    text = page("docs/architecture.md")
    assert tuple(re.findall(r"^  subgraph (\w+) ", text, re.MULTILINE)) == ORDER
    assert " < ".join(f"`{name}`" for name in ORDER) in " ".join(text.split())
    named = {row[0].strip("`/") for row in table(text, "folder")}
    folders = {name for name in named if name.startswith(tuple(f"{top}/" for top in ORDER))}
    assert set(drawn(text)[0].values()) == folders | {"cluster", "train"}


def test_the_arrows_of_the_picture_are_the_imports_of_the_folders() -> None:
    """An arrow is drawn where there is an import, and whoever imports a folder is reached from it.
    A folder and the one around it are one room."""
    folders, arrows = drawn(page("docs/architecture.md"))
    found = set[tuple[str, str]]()
    for folder in folders.values():
        for file in (ROOT / folder).glob("*.py"):
            for name in imports(file):
                path = ROOT / name.replace(".", "/")
                other = str((path if path.is_dir() else path.parent).relative_to(ROOT))
                if other in folders.values() and other != folder:
                    found.add((other, folder))
    assert arrows <= found, "drawn and not there"
    behind = {folder: [a for a, b in arrows if b == folder] for folder in folders.values()}
    order = list(TopologicalSorter(behind).static_order())
    reach: dict[str, set[str]] = {}
    for folder in order:
        reach[folder] = {*behind[folder], *(far for a in behind[folder] for far in reach[a])}
    for other, folder in found:
        one_room = f"{other}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{other}/")
        assert one_room or other in reach[folder], f"{folder} imports {other}"


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


def test_trace_format_says_how_a_file_stores_the_tables() -> None:
    text = page("docs/trace-format.md")
    assert [row[0] for row in table(text, "difference")] == [f"`{name}`" for name in EXPECTED]
    for key, dtype in (("head", HEAD), ("token", LISTED)):
        described = [(name, row[1]) for row in table(text, key) for name in row[0].split(", ")]
        assert described == [
            (f"`{name}`", dtype[name].str.lstrip("<")) for name in dtype.names or ()
        ]
        assert f", {dtype.itemsize} bytes a row" in text


def test_trace_format_is_of_this_version_with_this_header() -> None:
    parts = sections(page("docs/trace-format.md"))
    file = {row[0].strip("`"): row[1] for row in table(parts["The file"], "key")}
    assert file["format"] == f'`"{FORMAT}"`'
    assert file["version"] == f"`{VERSION}`"
    header = [row[0].strip("`") for row in table(parts["The header"], "key")]
    assert header == list(Header.__dataclass_fields__)


def test_performance_says_what_a_position_takes_on_the_wire() -> None:
    words = r"takes (\d+) bytes on the wire\*\* \(its row of (\d+) in base64\)"
    sent, row = re.search(words, page("docs/performance.md")).groups()
    assert int(row) == DTYPES["positions"].itemsize
    assert int(sent) * 3 == int(row) * 4


# Hosting


def settings_row(name: str) -> list[str]:
    field = AppSettings.model_fields[name]
    default = field.default
    if isinstance(default, tuple):
        shown = "all but research only" if default else ""
    elif default is None:
        shown = ""
    elif isinstance(default, bool):
        shown = "`on`" if default else "`off`"
    else:
        shown = f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
    return [f"`{PREFIX}{name.upper()}`", shown, bounds(field), field.description]


def bounds(field: FieldInfo) -> str:
    """The range of a number, in words; empty for anything else."""
    limits = {type(each): each for each in field.metadata if isinstance(each, Ge | Gt | Le)}
    if not limits:
        return ""
    low = f"{limits[Ge].ge:g}" if Ge in limits else f"above {limits[Gt].gt:g}"
    return f"{low} to {limits[Le].le:g}"


def needs(card: ModelCard) -> list[str]:
    """Download, main memory, and GPU memory for 1, 2, 5, 7 and 8 lanes: public models in 16 bits on
    a GPU, the embedded one in 32 on the CPU."""
    dtype = torch.bfloat16 if card.repos else torch.float32
    lanes = [f"{required_bytes(card, dtype, count) / GIB:.1f} GiB" for count in (1, 2, 5, 7, 8)]
    if not card.repos:
        return [card.title, "none", lanes[-1], *["none"] * len(lanes)]
    main = f"{card.parameters * dtype.itemsize / GIB:.1f} GiB"
    return [card.title, f"{card.download / 1e9:.1f} GB", main, *lanes]


def model(card: ModelCard) -> list[str]:
    return [card.title, f"`{card.name}`", f"{card.grid[0]} × {card.grid[1]}", card.licence]


def with_drafter(card: ModelCard) -> list[str]:
    needed = f"{2 * card.drafter.parameters / GIB:.1f} GiB"
    return [card.title, f"`{card.name}`", f"`{card.drafter.source.repo}`", needed]


def lane(name: str) -> list[str]:
    return [DECODERS[name].title, f"`{name}`", DECODERS[name].badge.value, DECODERS[name].paper]


@pytest.mark.parametrize(
    ("name", "first", "rows"),
    [
        ("hosting", "setting", [*map(settings_row, AppSettings.model_fields)]),
        ("hosting", "model", [*map(model, CARDS.values())]),
        ("hosting", "what it needs", [*map(needs, CARDS.values())]),
        ("hosting", "with a drafter", [with_drafter(c) for c in CARDS.values() if c.drafter]),
        ("decoders", "lane", [*map(lane, DECODERS)]),
    ],
)
def test_a_table_has_every_row_of_the_code(name, first, rows) -> None:
    assert table(page(f"docs/{name}.md"), first) == rows


def test_the_readme_opens_with_a_sentence_a_picture_two_commands_and_three_links() -> None:
    opening = page("README.md").split("\n# Photo Finish\n")[1].split("\n## ")[0].strip()
    what, picture, commands, links = opening.split("\n\n")
    assert what.startswith("Photo Finish is ")
    assert what.count(". ") == 0
    assert re.fullmatch(r"!\[.+\]\(.+\)", picture)
    assert re.findall(r"^make (\S+) ", commands, re.MULTILINE) == ["run", "test"]
    assert links.count("](") == 3


def test_the_readmes_table_has_every_lane_with_its_badge() -> None:
    shown = [[row[0], row[2].strip("*")] for row in table(page("README.md"), "lane")]
    badges = {name: decoder.badge.value for name, decoder in DECODERS.items()}
    badges["ar"] = "the baseline"
    assert shown == [[DECODERS[name].title, badges[name]] for name in WHOLE]


def test_the_figures_in_the_readme_are_those_of_the_measured_table() -> None:
    measured = table(page("docs/performance.md"), "lane")
    assert [row[0] for row in measured] == [DECODERS[name].title for name in WHOLE]
    assert [[row[0], *row[3:]] for row in table(page("README.md"), "lane")] == [
        [row[0], row[2].split(" ± ")[0], row[4].split(" ± ")[0]] for row in measured
    ]
