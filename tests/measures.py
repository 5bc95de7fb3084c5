"""`python -m tests.measures`: how much of the engine one has to hold in mind, in figures that
compare one commit with another; docs/log.md has some."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOOP = {"begin", "_propose", "_forward", "kept", "take_turn", "propose_rows", "read_rows"}
STAGES = r"decoder\.(_propose|_forward|_verify|kept)\("


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def classes(folder: str) -> Iterator[ast.ClassDef]:
    for path in sources(folder):
        every = ast.walk(ast.parse(path.read_text("utf-8")))
        yield from (node for node in every if isinstance(node, ast.ClassDef))


def methods(kind: ast.ClassDef) -> list[ast.FunctionDef]:
    return [node for node in kind.body if isinstance(node, ast.FunctionDef)]


def found(pattern: str, folder: str = "engine") -> int:
    """How often the pattern stands in the sources of a folder."""
    return sum(len(re.findall(pattern, path.read_text("utf-8"))) for path in sources(folder))


def lines_of(file: str, function: str) -> int:
    every = ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
    (node,) = (n for n in every if isinstance(n, ast.FunctionDef) and n.name == function)
    return (node.end_lineno or 0) - node.lineno + 1


def code_lines(file: Path) -> int:
    """How many lines are neither empty nor a comment nor part of a docstring."""
    text = file.read_text("utf-8")
    lines = {n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*[^\s#]", line)}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def shared_names() -> list[str]:
    """Public classes and functions that several modules define."""
    homes = defaultdict[str, set[Path]](set)
    for path in sources("engine"):
        for node in ast.parse(path.read_text("utf-8")).body:
            named = isinstance(node, ast.ClassDef | ast.FunctionDef)
            if named and not node.name.startswith("_") and node.name != "main":
                homes[node.name].add(path)
    return sorted(name for name, where in homes.items() if len(where) > 1)


def measures() -> dict[str, object]:
    decoders = list(classes("engine/decoders"))
    bases = {kind.name: {ast.unparse(base) for base in kind.bases} for kind in decoders}
    loops = {"WindowDecoder"}
    while more := {name for name, each in bases.items() if each & loops} - loops:
        loops |= more
    overrides = [
        f"{kind.name}.{method.name}"
        for kind in decoders
        if kind.name in loops - {"WindowDecoder"}
        for method in methods(kind)
        if method.name in LOOP
    ]
    (model,) = (kind for kind in classes("engine/models") if kind.name == "ImageModel")
    return {
        "subclasses of Window": sum("Window" in each for each in bases.values()),
        "overrides of the loop's parts": overrides,
        "assert isinstance in decoders": found(r"assert isinstance", "engine/decoders"),
        "tests of plan.fronts, plan.ahead, places is None": found(
            r"plan\.fronts|plan\.ahead|places is (not )?None"
        ),
        "pad_end": found(r"pad_end\("),
        "set to None with type: ignore": found(r"= None  # type: ignore"),
        "lines of code of the engine": sum(map(code_lines, sources("engine"))),
        "public methods of ImageModel": sum(m.name[0] != "_" for m in methods(model)),
        "uses of .static": found(r"\.static\b"),
        "lines of steps": lines_of("engine/decoders/window.py", "steps"),
        "lines of the judge's _steps": lines_of("tools/judge/enumeration.py", "_steps"),
        "private parts of the loop called by the judge": found(STAGES, "tools/judge"),
        "lines of code of recorder.py and collect.py": sum(
            code_lines(ROOT / "engine/decoders" / f"{name}.py") for name in ("recorder", "collect")
        ),
        "names that several modules define": shared_names(),
    }


def main() -> None:
    for name, value in measures().items():
        words = f"{len(value)}: {', '.join(value)}" if isinstance(value, list) else value
        print(f"{name}: {words}")


if __name__ == "__main__":
    main()
