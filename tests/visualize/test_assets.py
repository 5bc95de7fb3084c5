"""The assembler: a script of many modules, and what it does not take."""

from __future__ import annotations

import re

import pytest

from visualize.assets import STATIC, STYLES, ModuleError, bundle, markup, script, styles
from visualize.look import LOOK

A = "export const a = 1;\n"
IMPORT = 'import { a } from "./a.js";\n'
DATA = 'import look from "./look.json" with { type: "json" };\n'


@pytest.fixture
def modules(tmp_path):
    """Writes modules into a folder and bundles them from main.js on."""

    def bundled(**texts: str) -> str:
        for name, text in texts.items():
            (tmp_path / ("look.json" if name == "look" else f"{name}.js")).write_text(text)
        return bundle(tmp_path, "main.js")

    return bundled


def test_modules_come_after_those_that_they_import_and_each_once(modules) -> None:
    text = modules(
        main='import { b } from "./b.js";\nimport { a, a2 } from "./a.js";\n\nb(a, a2);\n',
        b='import {\n  a,\n} from "./a.js";\n\nexport const b = (x) => a + x;\n',
        a="export const a = 1;\nexport function a2() {}\nexport async function a3() {}\n"
        "export class A {}\nconst hidden = 2;\n",
    )
    assert [line for line in text.splitlines() if line] == [
        "const a = 1;",
        "function a2() {}",
        "async function a3() {}",
        "class A {}",
        "const hidden = 2;",
        "const b = (x) => a + x;",
        "b(a, a2);",
    ]


def test_data_becomes_a_constant_once(modules) -> None:
    text = modules(
        main=f"{DATA}{IMPORT}a(look);\n", a=f"{DATA}export const a = () => look;\n", look='{"x": 1}'
    )
    assert text.count('const look = {"x": 1};') == 1
    assert text.index("const look") < text.index("const a")


def test_a_vendored_module_keeps_its_names_to_itself(tmp_path) -> None:
    (tmp_path / "vendor").mkdir()
    vendored = tmp_path / "vendor" / "lib.js"
    (tmp_path / "main.js").write_text(
        'import { draw } from "./vendor/lib.js";\n\nconst t = draw();\n'
    )
    vendored.write_text("const t=2,i=()=>t;export{i as draw,t as $two};\n")
    text = bundle(tmp_path, "main.js")
    assert text.startswith("const { draw, $two } = (() => {\nconst t=2")
    assert text.count("const t = draw();") == 1
    vendored.write_text("export const draw=1;")
    with pytest.raises(ModuleError, match=r"vendor/lib\.js has a form that cannot be joined"):
        bundle(tmp_path, "main.js")


@pytest.mark.parametrize(
    ("main", "others", "words"),
    [
        (IMPORT, {"a": 'import { main } from "./main.js";\n'}, "main.js -> a.js -> main.js"),
        (IMPORT, {}, "main.js -> a.js: the last does not exist"),
        (IMPORT.replace("./", "../"), {}, "main.js -> ../a.js: the last does not exist"),
        (f"{IMPORT}const x = a;\n", {"a": f"{A}let x = 2;\n"}, "both define x"),
        (IMPORT.replace("a }", "b }"), {"a": "const b = 1;\n"}, "does not export"),
        (DATA.replace("look from", "data from"), {"look": "1"}, "after the file"),
        *(
            (f"{line};\n", {"a": A}, "main.js has a form that cannot be joined")
            for line in (
                'import { a as b } from "./a.js"',
                'import * as a from "./a.js"',
                'import a from "./a.js"',
                'import "./a.js"',
                'import { a } from "elsewhere"',
                'const a = await import("./a.js")',
                "const a = import.meta.url",
                "export default 1",
                "export { a }",
                'export * from "./a.js"',
                "const [a, b] = [1, 2]",
            )
        ),
    ],
)
def test_what_cannot_be_joined_is_an_error_with_words(modules, main, others, words) -> None:
    with pytest.raises(ModuleError, match=re.escape(words)):
        modules(main=main, **others)


def test_nothing_of_the_board_is_left_out() -> None:
    """page.css is of the page around it; the form has scripts of its own."""
    form = ("lane_list", "fill_in", "bet_form", "word_list")
    scripts = ("page.js", "standalone.js", "opening.js", *(f"form/{name}.js" for name in form))
    whole = "".join(map(script, scripts))
    definition = r"(?:async )?(?:function|class|const)"
    for path in STATIC.rglob("*.js"):
        text = path.read_text("utf-8")
        if path.parent.name == "vendor":
            assert text[: text.index("export{")] in whole
            continue
        for name in re.findall(rf"^(?:export )?{definition} (\w+)", text, re.M):
            assert re.search(rf"^{definition} {name}\b", whole, re.M), (path.name, name)
    sheets = {str(path.relative_to(STATIC)) for path in STATIC.rglob("*.css")}
    assert sheets == {*STYLES, "page.css"}
    assert 'class="board"' in markup()


def test_every_colour_of_the_look_is_in_the_styles() -> None:
    assert styles().count("{") == styles().count("}") > 10
    for colours in LOOK["colours"].values():
        for name, colour in colours.items():
            assert f"--{name}: {colour};" in styles()
    used = set(re.findall(r"var\(--(\w+)", styles())) | {"identical", "changed"}
    assert set(LOOK["colours"]["light"]) == set(LOOK["colours"]["dark"]) <= used


def test_three_modules_know_the_wire() -> None:
    for path in (path for path in STATIC.rglob("*.js") if path.parent.name != "vendor"):
        words = r"atob|DataView|dtypes|\.(?:table|tables)\b"
        knows = re.findall(words, path.read_text("utf-8"))
        if path.name == "swatch.js":
            knows.remove("atob")  # of an image
        assert bool(knows) is (path.name in ("rows.js", "step_table.js", "updates.js")), path.name
