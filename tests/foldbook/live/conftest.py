"""The core of the live figures, run in Chromium and called from Python; pages that hold a figure; Firefox where there is one."""

from __future__ import annotations

import functools
import json
import math
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "live"
PATIENCE = 120_000  # milliseconds: what is there in time is not waited for, and a busy machine takes its time
sys.path.append(str(Path(__file__).parent))


class Core:
    """A page that has loaded the modules of `live/core`: `core("net.outputs(net.network(w, b), x)", w=..., b=..., x=...)`.

    The names in the expression are the modules and the arguments; numbers travel as they are, infinite ones too.
    """

    MODULES = (
        "net",
        "train",
        "random",
        "spline",
        "regions",
        "fold",
        "sheet",
        "cube",
        "dynamics",
        "bottleneck",
        "deep",
        "written",
        "square",
    )

    def __init__(self, chromium, address: str, changed: dict[str, tuple[str, str]] | None = None):
        self.context = chromium.new_context()
        self.page = self.context.new_page()
        for module, (old, new) in (changed or {}).items():
            text = (SOURCES / "core" / f"{module}.js").read_text(encoding="utf-8")
            assert text.count(old) >= 1, f"{module}.js has no {old!r} to break"
            self._serve(module, text.replace(old, new, 1))
        self.page.goto(f"{address}package.json")  # any page of that origin
        loads = ", ".join(f"import('{address}core/{name}.js')" for name in self.MODULES)
        self.page.evaluate(f"async () => {{ globalThis.modules = await Promise.all([{loads}]); }}")

    def _serve(self, module: str, text: str) -> None:
        """Give this text for a module. (A handler with a second argument would be handed the request.)"""
        self.page.route(f"**/core/{module}.js", lambda route: route.fulfill(body=text, content_type="text/javascript"))

    def __call__(self, expression: str, **arguments):
        names = ", ".join(arguments)
        plain = "(v) => ArrayBuffer.isView(v) ? [...v] : Array.isArray(v) ? v.map(plain) : v && typeof v === 'object' ? "
        plain += "Object.fromEntries(Object.entries(v).map(([k, w]) => [k, plain(w)])) : v"
        body = f"({{{names}}}) => {{ const [{', '.join(self.MODULES)}] = modules, plain = {plain}; return plain({expression}); }}"
        return self.page.evaluate(body, arguments)

    def close(self):
        self.context.close()


@pytest.fixture(scope="session")
def core_address(serve):
    return serve(SOURCES)


@pytest.fixture(scope="session")
def core(chromium, core_address):
    loaded = Core(chromium, core_address)
    yield loaded
    loaded.close()


@pytest.fixture
def broken_core(chromium, core_address):
    """`broken_core(module, old, new)`: the core with one line of it changed."""
    made = []

    def new(module: str, old: str, changed: str) -> Core:
        made.append(Core(chromium, core_address, {module: (old, changed)}))
        return made[-1]

    yield new
    for one in made:
        one.close()


class Shown:
    """A page from the disk with one figure on it, and what went wrong while it was open."""

    def __init__(self, chromium, path: Path, anchor: str = "", **context):
        self.errors: list[str] = []
        self.context = chromium.new_context(**{"viewport": {"width": 900, "height": 1000}, **context})
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.errors.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(f"script: {e}"))
        self.page.on("request", lambda r: self._asked(r.url))
        self.page.goto(path.as_uri() + anchor)

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:", "about:")):
            self.errors.append(f"a request to the outside: {url}")

    def button(self, name: str):
        return self.page.get_by_role("button", name=name, exact=True)

    def said(self, words: str) -> None:
        """Wait until the figure has said something with these words in it."""
        self.page.locator(".said", has_text=words).wait_for(state="attached")

    def readout(self) -> str:
        return self.page.locator(".readout").inner_text()

    def state(self) -> dict:
        """All of the figure's state, as its line of Python has it."""
        self.button("Share this").click()
        line = self.page.get_by_role("textbox", name="the line of Python", exact=True).input_value()
        self.button("Share this").click()
        return eval(line[line.index("**") + 2 : -1])

    def table(self) -> list[list[float]]:
        """The numbers of the table, row by row: what is no number is NaN."""
        if not self.page.locator("table").count():
            self.button("Show numbers").click()
        rows = self.page.locator("tbody tr").evaluate_all(
            "rows => rows.map(r => [...r.cells].map(c => (c.querySelector('input')?.value ?? c.textContent).replace('−', '-')))"
        )
        return [[_number(text) for text in row] for row in rows]


def _number(text: str) -> float:
    try:
        return float(text.replace("∞", "inf"))
    except ValueError:
        return math.nan


@functools.cache
def written(name: str, frame: bool, state: str) -> str:
    """A page with the figure, or with a sandbox that holds it."""
    from foldbook.live import live

    figure = live(name, **json.loads(state))
    return f"<!doctype html><title>x</title>{figure.embed()}" if frame else figure.page()


@pytest.fixture
def show(chromium, tmp_path):
    """`show("breakpoints", ratio=2)` opens a page with that figure, from a file; `context` and `anchor` go to the browser."""
    opened = []

    def new(name: str, anchor: str = "", context: dict | None = None, frame: bool = False, **state) -> Shown:
        path = tmp_path / f"{name}{len(opened)}.html"
        path.write_text(written(name, frame, json.dumps(state)), encoding="utf-8")
        opened.append(Shown(chromium, path, anchor, **(context or {})))
        return opened[-1]

    yield new
    for one in opened:
        one.context.close()


@pytest.fixture(scope="session")
def firefox():
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("there is no Firefox on this machine: install firefox-esr")
    from bidi import Firefox

    browser = Firefox(path)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    return (ROOT / "tests" / "site" / "axe" / "axe.min.js").read_text(encoding="utf-8")
