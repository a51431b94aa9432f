"""The built site, a server for it, and a browser that reaches nothing else."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contents import toc_pages

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))


def pytest_generate_tests(metafunc):
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", toc_pages())


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site: up to date, or the one that FOLDNET_SITE names. Of several processes one builds it."""
    if "FOLDNET_SITE" in os.environ:
        return Path(os.environ["FOLDNET_SITE"])
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build/site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([sys.executable, "-m", "tools.site"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"the site does not build:\n{done.stdout}\n{done.stderr}"
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def address(site, serve):
    """Where a server on this machine serves the site, ending in a slash."""
    return serve(site)


AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")  # axe-core 4.14.0 from npm, MPL 2.0
# Contrast is most of axe's work, and of a thousand pieces of text most look alike: those of one colour, size, weight, class and
# background. Of each kind four are judged, and every control. axe lays out every element to judge one, so the inside of the other
# formulas, and the coloured words of the other programs, stand aside meanwhile: boxes of their size and plain text stand in.
FINDINGS = """async ([within, rules, last]) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  document.getAnimations().filter((a) => a instanceof CSSTransition).forEach((a) => a.finish());  // judge no colour on its way
  const grounds = new Map(), kinds = new Map();
  const ground = (e) => {
    if (!e) return "";
    if (!grounds.has(e)) {
      const s = getComputedStyle(e);
      const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.position, s.filter, s.mixBlendMode];
      const up = ground(e.parentElement ?? e.getRootNode().host);
      grounds.set(e, own.join() === "rgba(0, 0, 0, 0),none,1,static,none,normal" ? up : `${up}/${own.join()}`);
    }
    return grounds.get(e);
  };
  const mark = (e) => {
    const s = getComputedStyle(e), looks = [s.color, s.fontSize, s.fontWeight, s.textShadow, e.tagName, e.getAttribute("class")];
    const kind = [...looks, ground(e)].join(), many = kinds.get(kind) ?? 0;
    if (many < 4 || e.matches("input, select, textarea, button")) e.dataset.judged = "";
    kinds.set(kind, many + 1);
  };
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      delete e.dataset?.judged;
      const text = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
      if ((text || e.matches("input, select, textarea")) && e.dataset && e.checkVisibility()) mark(e);
      if (e.shadowRoot) walk(e.shadowRoot);
    }
  };
  walk(document);
  const aside = [], drawn = [...document.querySelectorAll("mjx-container > mjx-math")]
    .filter((e) => !e.querySelector("a[href], [data-judged]") && e.getClientRects().length === 1);
  const span = (style) => Object.assign(document.createElement("span"), {style: `display: inline-block; ${style}`});
  const lines = drawn.map(() => span(""));  // empty boxes stand on the line of the text, for a moment
  drawn.forEach((e, i) => e.after(lines[i]));
  drawn.forEach((e, i) => {
    const {width, height, bottom} = e.getBoundingClientRect(), low = bottom - lines[i].getBoundingClientRect().bottom;
    aside.push([e, span(`width: ${width}px; height: ${height}px; vertical-align: ${-low}px`)]);
  });
  lines.forEach((e) => e.remove());
  for (const word of document.querySelectorAll(".highlight pre span:not([data-judged])")) {
    if (!word.firstElementChild && !word.id && !word.title) aside.push([word, new Text(word.textContent)]);
  }
  aside.forEach(([original, copy]) => original.replaceWith(copy));
  axe.configure({rules: [{id: "color-contrast", selector: "[data-judged]"}]});
  const options = {resultTypes: ["violations"], ...(rules ? {runOnly: {type: "rule", values: rules}} : {})};
  const found = await axe.run(within || document, options);
  if (!last) aside.forEach(([original, copy]) => copy.replaceWith(original));
  const line = (v, n) => `${v.impact} ${v.id}: ${n.target.join(" ")}: ${n.html.slice(0, 120)}`;
  return found.violations.flatMap((v) => v.nodes.map((n) => line(v, n)));
}"""


@pytest.fixture(scope="session")
def accessibility():
    """`accessibility(page, within="figure", rules=[...])`: what axe-core finds wrong on a page or in a part, a line each.

    With `last=True` the page is left afterwards, and what stood aside is not put back.
    """

    def findings(page, within: str | None = None, rules: list[str] | None = None, last: bool = False) -> list[str]:
        if not page.evaluate("() => Boolean(window.axe)"):
            page.evaluate(AXE)
        return page.evaluate(FINDINGS, [within, rules, last])

    return findings


PATIENCE = 120_000  # milliseconds: what is there in time is not waited for, and a busy machine takes its time


class Visit:
    """One page in a fresh browser window, and what went wrong while it was open."""

    def __init__(self, chromium, allowed: str, **context):
        self.errors: list[str] = []
        self.bytes = 0
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self._asked(request.url, allowed))
        self.page.on("console", lambda m: self.errors.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(f"script: {e}"))
        self.page.on("response", self._response)

    def _asked(self, url: str, allowed: str):
        """The browser finds no other machine (tests/conftest.py); whoever asks for one is told of here."""
        if not url.startswith((allowed, "data:", "blob:")):
            self.errors.append(f"a request to the outside: {url}")

    def _response(self, response):
        if response.status >= 400:
            self.errors.append(f"{response.status} for {response.url}")
        self.bytes += int(response.headers.get("content-length") or 0)

    def open(self, url: str, waits: bool = False):
        """The page once its scripts and its math are done; what waits for a guess is shown, or `waits`."""
        self.page.goto(url, wait_until="load")
        self.page.wait_for_selector("#main-content", state="attached")  # the first page of all leads on to the title page
        if not waits:
            self.page.evaluate(
                "() => document.querySelectorAll('.veiled').forEach((v) => v.dispatchEvent(new Event('beforematch')))"
            )
        self.page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
        return self.page

    def settle(self, **media):
        """Change what the reader has, `color_scheme="dark"` or `width=390`, and wait until the page has followed."""
        if "width" in media:
            self.page.set_viewport_size({"width": media["width"], "height": 900})
        if scheme := media.get("color_scheme"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.wait_for_function("(scheme) => document.documentElement.dataset.theme === scheme", arg=scheme)
        self.page.evaluate("""async () => {
          const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          await frames();
          document.getAnimations().filter((a) => a instanceof CSSTransition).forEach((a) => a.finish());
          await frames();
          await new Promise((done) => setTimeout(done, 50));  // after the 40 of site.js, which looks for what scrolls
        }""")


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
