"""The board's files: its markup, its style sheet, and one script joined from its ES modules."""

from __future__ import annotations

import functools
import json
import posixpath
import re
from pathlib import Path

STATIC = Path(__file__).parent.parent / "static"
VENDOR = "vendor/"  # folder of other people's modules, kept as they are published
STYLES = (
    "board/board.css",
    "panels/token_panel.css",
    "stage/stage.css",
    "stage/speaker.css",
    "tour/tour.css",
)

_IMPORT = re.compile(r'^import \{\s*(\w+(?:,\s*\w+)*),?\s*\} from "(\.\.?/[\w./-]+\.js)";\n', re.M)
_DATA = re.compile(r'^import (\w+) from "(\.\.?/[\w./]+\.json)" with \{ type: "json" \};\n', re.M)
_NAME = re.compile(r"^(export )?(?:async )?(?:function|class|const|let) (\w+)", re.M)
_EXPORTS = re.compile(r"export\{((?:[\w$]+ as [\w$]+,?)+)\};\s*$")  # exports of a minified module
_UNKNOWN = re.compile(r"^(?:import|export|const|let|var)\b.*|.*\bimport(?:\(|\.meta).*", re.M)


class ModuleError(ValueError):
    """A module cannot be joined with other modules; the message names the module and the reason."""


def markup() -> str:
    return (STATIC / "board" / "board.html").read_text("utf-8")


def styles() -> str:
    """Return the CSS of `#board`: look.json's colours as variables, then the rules of STYLES."""
    colours = json.loads((STATIC / "look.json").read_text("utf-8"))["colours"]
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in colours[mode].items())
        for mode in ("light", "dark")
    )
    rules = "\n".join((STATIC / name).read_text("utf-8") for name in STYLES)
    return f"#board {{\n& {{ {light} }}\n.dark & {{ {dark} }}\n{rules}\n}}\n"


@functools.cache
def script(entry: str) -> str:
    """Return the module `entry` of static/ and its imports as one script. Raises ModuleError."""
    return bundle(STATIC, entry)


def bundle(root: Path, entry: str) -> str:
    """Join the module `entry` and all ES modules that it imports into one script.

    Paths are relative to `root`. Each module comes after the modules that it imports, without its
    `import` lines and without the word `export`. A module may have `import { a, b } from
    "../x/y.js";`, `import y from "./y.json" with { type: "json" };` and `export` before a function,
    a class, a const or a let. A module of `VENDOR` imports nothing and is minified; only its
    exported names are visible to other modules. Raises ModuleError for any other form, for a cycle,
    for an import that is not exported, and for a top-level name that two modules share.
    """
    texts: dict[str, str] = {}
    exports: dict[str, set[str]] = {}
    owners: dict[str, str] = {}

    def own(name: str, module: str) -> None:
        if name in owners:
            raise ModuleError(f"{module} and {owners[name]} both define {name}")
        owners[name] = module

    def add(module: str, importers: tuple[str, ...]) -> None:
        if module in importers:
            raise ModuleError(f"modules import one another: {' -> '.join((*importers, module))}")
        if module in texts:
            return
        path = root / module
        if not path.is_file():
            raise ModuleError(f"{' -> '.join((*importers, module))}: the last does not exist")
        text = path.read_text("utf-8")
        if module.startswith(VENDOR):
            names, texts[module] = _enclosed(module, text)
            exports[module] = set(names)
            for name in names:
                own(name, module)
            return
        folder = posixpath.dirname(module)
        for names, address in _IMPORT.findall(text):
            imported = posixpath.normpath(posixpath.join(folder, address))
            add(imported, (*importers, module))
            for name in re.findall(r"\w+", names):
                if name not in exports[imported]:
                    raise ModuleError(
                        f"{module} imports {name} from {imported}, which does not export it"
                    )
        for name, address in _DATA.findall(text):
            data = posixpath.normpath(posixpath.join(folder, address))
            if posixpath.basename(data) != f"{name}.json":
                raise ModuleError(f"{module} imports {data} as {name}: name it after the file")
            if data not in texts:
                own(name, data)
                texts[data] = f"const {name} = {(root / data).read_text('utf-8').strip()};\n"
        text = _DATA.sub("", _IMPORT.sub("", text))
        definitions = _NAME.findall(text)
        exports[module] = {name for exported, name in definitions if exported}
        for _, name in definitions:
            own(name, module)
        if unknown := _UNKNOWN.search(_NAME.sub("", text)):
            raise ModuleError(f"{module} has a form that cannot be joined: {unknown[0]}")
        texts[module] = re.sub(r"^export ", "", text, flags=re.M)

    add(entry, ())
    return "\n".join(texts.values())


def _enclosed(module: str, text: str) -> tuple[list[str], str]:
    """Return a minified module's exported names, and a script that defines only these names."""
    match = _EXPORTS.search(text)
    if not match:
        raise ModuleError(f"{module} has a form that cannot be joined: it ends without export{{}};")
    values = dict(pair.split(" as ")[::-1] for pair in match[1].split(","))
    result = ", ".join(f"{name}: {value}" for name, value in values.items())
    body = f"{text[: match.start()]}\nreturn {{ {result} }};"
    return list(values), f"const {{ {', '.join(values)} }} = (() => {{\n{body}\n}})();\n"
