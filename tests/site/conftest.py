"""The built site, a server for it, and a browser that reaches nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))


def toc_pages() -> list[str]:
    """Every page of the table of contents, as book/splines/breakpoints."""

    def walk(node):
        if isinstance(node, dict):
            yield from (node[key] for key in ("root", "file") if key in node)
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from walk(child)

    return list(walk(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))))


def pytest_generate_tests(metafunc):
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", toc_pages())


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site: up to date, or the one that FOLDNET_SITE names."""
    if "FOLDNET_SITE" in os.environ:
        return Path(os.environ["FOLDNET_SITE"])
    done = subprocess.run([sys.executable, "-m", "tools.site"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"the site does not build:\n{done.stdout}\n{done.stderr}"
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def address(site, serve):
    """Where a server on this machine serves the site, ending in a slash."""
    return serve(site)


AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")  # axe-core 4.14.0 from npm, MPL 2.0
FINDINGS = """async ([within, rules]) => {
  const options = {resultTypes: ["violations"], ...(rules ? {runOnly: {type: "rule", values: rules}} : {})};
  const found = await axe.run(within || document, options);
  const line = (v, n) => `${v.impact} ${v.id}: ${n.target.join(" ")}: ${n.html.slice(0, 120)}`;
  return found.violations.flatMap((v) => v.nodes.map((n) => line(v, n)));
}"""


@pytest.fixture(scope="session")
def accessibility():
    """`accessibility(page, within="figure", rules=[...])`: what axe-core finds wrong on a page or in a part, a line each."""

    def findings(page, within: str | None = None, rules: list[str] | None = None) -> list[str]:
        if not page.evaluate("() => Boolean(window.axe)"):
            page.evaluate(AXE)
        return page.evaluate(FINDINGS, [within, rules])

    return findings


class Visit:
    """One page in a fresh browser window, and what went wrong while it was open."""

    def __init__(self, chromium, allowed: str, **context):
        self.errors: list[str] = []
        self.bytes = 0
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.context.route("**/*", lambda route: self._route(route, allowed))
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.errors.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(f"script: {e}"))
        self.page.on("response", self._response)

    def _route(self, route, allowed):
        if route.request.url.startswith((allowed, "data:", "blob:")):
            route.continue_()
        else:
            self.errors.append(f"a request to the outside: {route.request.url}")
            route.abort()

    def _response(self, response):
        if response.status >= 400:
            self.errors.append(f"{response.status} for {response.url}")
        self.bytes += int(response.headers.get("content-length") or 0)

    def open(self, url: str):
        """The page once its scripts and its math are done."""
        self.page.goto(url, wait_until="load")
        self.page.wait_for_selector("#main-content", state="attached")  # the first page of all leads on to the title page
        self.page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
        return self.page


@pytest.fixture
def visit(chromium, address):
    """`visit(**context)` opens a window that may load from the site's own server alone."""
    visits = []

    def new(allowed=address, **context) -> Visit:
        visits.append(Visit(chromium, allowed, **context))
        return visits[-1]

    yield new
    for one in visits:
        one.context.close()
