"""Pages made from what is stored: a line `<!-- made: NAME -->` in a Markdown page is replaced by what the maker NAME writes.

What follows the name is handed to the maker: `<!-- made: part splines -->`. The ledger, the errata, the health of the book, the
glossary, the map on the title page and the API reference come from the notebooks, from book/claims and from the package each time
the site is built; no made file is kept. A page is made again when anything it was made from has changed. A made page may hold
headings, math and links: it is read as Markdown like any other.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import api_page
import cite_page
import errata_page
import health_page
import landing_page
import ledger_page
import map_picture
import playground_page
import reports
import shown
import slides
import terms
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

MARK = re.compile(r"^<!-- made: ([\w-]+)(?: (.+))? -->$", re.MULTILINE)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Site:
    """What a maker may ask: the repository, the page it writes for, and the pages there are."""

    root: Path
    docname: str
    pages: frozenset[str]

    @cached_property
    def ledger(self) -> list[dict]:
        """One row for each claim, as `foldbook.ledger.ledger` gives them."""
        from foldbook import ledger

        return ledger.ledger(self.root / "book")

    @cached_property
    def repository(self) -> str:
        """The address of the repository."""
        return reports.repository()

    def address(self, page: str, anchor: str = "") -> str | None:
        """The relative address of a page below book/, as `splines/breakpoints`; None where the site has no such page."""
        if f"book/{page}" not in self.pages:
            return None
        return posixpath.relpath(f"book/{page}.html", posixpath.dirname(self.docname)) + (f"#{anchor}" if anchor else "")

    def warn(self, message: str, *values) -> None:
        log.warning(message, *values, location=self.docname)


@dataclass(frozen=True)
class Maker:
    """`write(site)`, or `write(site, words)`, gives Markdown; `sources` are patterns, below the root, of what it is made from."""

    write: Callable[..., str]
    sources: tuple[str, ...]
    math: bool = False
    script: str | None = None


CLAIMS = ("book/plan.yml", "book/claims/**/*.yml", "foldbook/plan.py", "foldbook/ledger.py", "foldbook/claims.py")
RECORDS = (*CLAIMS, "book/**/*.ipynb", "_toc.yml", "book/_ext/*_page.py", "book/_ext/templates.py", "book/_ext/templates/*")
MAKERS = {
    "playground": Maker(playground_page.write, ("foldbook/live/*.py", "foldbook/live/bundles/*", "book/_ext/playground_page.py")),
    "ledger": Maker(ledger_page.write, RECORDS, math=True, script="ledger.js"),
    "errata": Maker(errata_page.write, RECORDS),
    "health": Maker(health_page.write, (*RECORDS, "_build/runtimes.json", "requirements.txt", "tests/**/*.py")),
    "counts": Maker(landing_page.counts, RECORDS),
    "strengths": Maker(landing_page.strengths, RECORDS),
    "picture": Maker(map_picture.write, (*RECORDS, "book/_ext/map_picture.py")),
    "thumb": Maker(shown.thumb, ("book/*/*.ipynb", "book/_ext/shown.py", "book/_ext/templates/*")),
    "checks": Maker(landing_page.checks, RECORDS),
    "cite": Maker(cite_page.write, (*RECORDS, "CITATION.cff", "pyproject.toml")),
    "printed": Maker(cite_page.printed, ("_build/print/*.pdf", "book/_ext/cite_page.py", "book/_ext/templates/printed.md")),
    "whole": Maker(cite_page.whole, ("book/_ext/cite_page.py",)),
    "part": Maker(landing_page.part, RECORDS),
    "figure": Maker(shown.figure, ("book/*/*.ipynb", "book/_ext/shown.py", "book/_ext/templates/*")),
    "live": Maker(shown.live, ("book/_ext/shown.py", "foldbook/live/*.py", "foldbook/live/bundles/*")),
    "deck": Maker(slides.deck, ("book/*/*.ipynb", "book/_ext/s*.py", "book/_ext/templates/*"), script="slides.js"),
    "evidence": Maker(shown.evidence, (*RECORDS, "book/_ext/shown.py")),
    "proposals": Maker(shown.proposals, (*RECORDS, "book/_ext/shown.py"), math=True),
    "fold": Maker(
        landing_page.fold,
        ("book/_ext/*fold*.py", "foldnet/nets.py", "foldnet/plots.py", "foldbook/live/*.py", "foldbook/live/bundles/*"),
    ),
    "glossary": Maker(
        terms.write,
        ("book/*.yml", "book/**/*.ipynb", "foldbook/plan.py", "book/_ext/terms.py", "book/_ext/templates/glossary.md"),
        math=True,
    ),
    "modules": Maker(api_page.write, ("foldnet/**/*.py", "book/_ext/api_page.py")),
}


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace the marks of a page, and remember what they were made from."""
    if not app.env.doc2path(docname).endswith(".md"):
        return
    site = Site(Path(app.srcdir), docname, frozenset(app.env.found_docs))

    def make(mark: re.Match) -> str:
        name, words = mark.groups()
        if name not in MAKERS:
            site.warn("nothing makes %r; there are %s", name, ", ".join(MAKERS))
            return mark[0]
        _made(app.env).setdefault(docname, {})[name] = _digest(site.root, MAKERS[name])
        return MAKERS[name].write(site, *([words] if words else []))

    source[0] = MARK.sub(make, source[0])


def outdated(app: Sphinx, env: BuildEnvironment, added, changed, removed) -> Iterable[str]:
    """The made pages whose sources changed, appeared or went since they were made."""
    root = Path(app.srcdir)
    changed = {name: _digest(root, maker) for name, maker in MAKERS.items()}
    return [page for page, names in _made(env).items() if any(changed.get(name) != old for name, old in names.items())]


def note_math(app: Sphinx, doctree: nodes.document) -> None:
    """MathJax is put on pages that hold math; a made table holds it where Sphinx does not look."""
    if any(MAKERS[name].math for name in _made(app.env).get(app.env.docname, ())):
        app.env.get_domain("math").data["has_equations"][app.env.docname] = True


def add_scripts(app: Sphinx, pagename: str, template: str, context: dict, doctree) -> None:
    for name in _made(app.env).get(pagename, ()):
        if MAKERS[name].script:
            app.add_js_file(MAKERS[name].script, loading_method="defer")


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    _made(env).pop(docname, None)


def _made(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    return vars(env).setdefault("foldnet_made", {})


def _digest(root: Path, maker: Maker) -> str:
    digest = hashlib.sha1()
    for pattern in maker.sources:
        for path in sorted(root.glob(pattern)):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def setup(app: Sphinx) -> dict:
    app.connect("source-read", fill)
    app.connect("env-get-outdated", outdated)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", note_math)
    app.connect("html-page-context", add_scripts)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
