"""A small notebook that keeps every rule of the house, for tests that break one rule at a time."""

import dataclasses
import json
import zlib

import pytest

from foldbook import claims, notebooks
from foldbook.claims import MIME, Claim
from tools import evidence, lint

NAME = "splines/sample"
ADDRESS = "https://github.com/someone/somewhere"
IMG = '<img alt="a line through {k} points" src="data:image/svg+xml,<svg/>">'
EXPLORE = (
    '<div class="explore" data-explore="1"><div class="explore-frame">' + IMG.format(k=1) + "</div>"
    '<script type="application/json">{data}</script><script>1;</script></div>'
)


def markdown(source):
    return {"cell_type": "markdown", "id": f"m{zlib.crc32(source.encode())}", "metadata": {}, "source": source}


def code(source, *outputs, tags=()):
    cell = markdown(source) | {"cell_type": "code", "outputs": list(outputs)}
    cell["metadata"] = {"tags": list(tags)} if tags else {}
    return cell | {"metadata": {**cell["metadata"], **(notebooks.FOLDED if notebooks.is_folded(cell) else {})}}


def shown(**data):
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("__", "/"): v for k, v in data.items()}}


def html(text):
    return code("1", shown(text__html=text))


def record(id="S3-one", verdict="reproduced", says="It holds.", **changes):
    """The stored output of a check of 1 against 1, or of another number; `changes` are made to its record by hand."""
    measured, corrected = {"reproduced": (1, None), "corrected": (2, 2), "differs": (3, None)}[verdict]
    point = claims.Point(None, "open", "statement", measured, 1, corrected)
    data = claims.shown(claims.judged(claims.Record(id, "x", "open", "statement", (point,), says=says)))
    return shown(**{**data, MIME: data[MIME] | changes})


def changed(verdict, into):
    """The stored output of a check whose verdict somebody turned by hand, everywhere."""
    return json.loads(json.dumps(record(verdict=verdict)).replace(verdict, into))


def refereed(cells, evidence, **changes):
    """The same cells as splines/rich, a refereed chapter, with one check more."""
    return notebook([*cells, code("1", record(id=f"S3-{evidence}", **changes))], name="splines/rich")


def explore(frames=2, alt=IMG):
    data = json.dumps({"labels": [], "index": [], "frames": [alt.format(k=i) for i in range(frames)]}).replace("</", "<\\/")
    return shown(text__html=EXPLORE.replace("{data}", data), text__plain="explore")


PLOT = shown(text__html=IMG.format(k=3), text__plain="a figure")
CHECKS = NAME + "-checks"
LIVE = '<div data-live="breakpoints">' + IMG.format(k=5) + "</div>"
OPENING = (
    "**You need:** nothing. **Reading time:** 5 minutes. [The checks](sample-checks.ipynb), "
    "[Depth](depth.ipynb#a-section), [Swaps](../boolean/swaps.ipynb) and [the ledger](../ledger.md).\n\n" + "word " * 1600
)


def graded(n, grade):
    solution = f"<details><summary>Solution</summary>\n\nBecause $x = {n}$.\n\n</details>"
    return markdown(f"> **Exercise** (number {n}). *{grade}.* Predict it.\n\n{solution}")


def story_cells():
    """A story that keeps every rule."""
    verdicts = [code(f'check("S3-{n}", "x", 1, 1)', record(id=f"S3-{n}")) for n in ("one", "two", "three")]
    return [
        markdown("# Where does it bend?\n\nLook."),
        code(notebooks.setup_cell(ADDRESS), tags=["setup"]),
        code('# @title The figure\nlive("breakpoints")', shown(text__html=LIVE, text__plain="live"), tags=["folded"]),
        markdown(OPENING),
        markdown("## 1. A question\n\n> **Theorem** (one). For all $x$, $x = x$."),
        *verdicts,
        markdown("✓ *It is true.* [reproduced](sample-checks.ipynb#claim-S3-false)"),
        code('# @title A guess\nguess("How many?", 3, between=(0, 10))', shown(text__plain="guess: How many?"), tags=["folded"]),
        markdown("## Exercises"),
        *(graded(n, grade) for n, grade in enumerate(("Warm-up", "Standard", "Research"), 1)),
        markdown("## Summary\n\nIt holds.\n\nLeft open: does it bend? **Next:** [Depth](depth.ipynb)."),
        markdown("## References\n\n[Someone (2019)](https://example.org)."),
    ]


def checks_cells():
    """The checks of that story, with the verdicts that it leaves to them."""
    return [
        markdown("# The checks\n\nOf [the story](sample.ipynb). **Run time:** 1 s."),
        code(notebooks.setup_cell(ADDRESS), tags=["setup"]),
        code('check("S3-false", "x", 1, 1)', record(id="S3-false")),
        markdown("## References\n\nNone."),
    ]


def pages_of(story=None, checks=None) -> tuple[lint.Notebook, lint.Notebook]:
    """A story and its checks, each knowing the other."""
    first, second = notebook(story or story_cells()), notebook(checks or checks_cells(), name=CHECKS)
    there = frozenset({NAME, CHECKS, "splines/depth", "boolean/swaps", "ledger"})
    return tuple(dataclasses.replace(a, twin=b, pages=there) for a, b in ((first, second), (second, first)))


def notebook(cells, name=NAME, **metadata) -> lint.Notebook:
    """A stored notebook with these cells, counted as if run from the top (a cell may bring its own count)."""
    counted, count = [], 0
    for cell in cells:
        if cell["cell_type"] == "code":
            count += 1
            cell = {"execution_count": count, **cell}
        counted.append(cell)
    made_from = {notebooks.MADE_FROM: notebooks.source_hash({"cells": counted})}
    document = {"cells": counted, "metadata": {**notebooks.METADATA, **made_from, **metadata}, "nbformat": 4, "nbformat_minor": 5}
    return lint.Notebook(name, json.dumps(document), notebooks.setup_cell(ADDRESS))


class Made:
    """What the tests build their notebooks from."""

    NAME, ADDRESS, IMG = NAME, ADDRESS, IMG
    code, markdown, shown, html = map(staticmethod, (code, markdown, shown, html))
    record, changed, refereed, explore, notebook = map(staticmethod, (record, changed, refereed, explore, notebook))
    story_cells, checks_cells, pages_of, graded = map(staticmethod, (story_cells, checks_cells, pages_of, graded))
    PLOT = PLOT


@pytest.fixture
def made(monkeypatch):
    known = {
        "S3-one": Claim("S3-one", "S3", NAME, "theorem", "One", "p. 1", "x = x", truth="so it is"),
        "S3-two": Claim("S3-two", "S3", NAME, "theorem", "Two", "p. 1", "x = x"),
        "S3-three": Claim("S3-three", "S3", NAME, "theorem", "Three", "p. 1", "x = x"),
        "S3-open": Claim("S3-open", "S3", NAME, "theorem", "Open", "p. 4", "x = z", open="needs a GPU"),
        "S3-far": Claim("S3-far", "S3", "splines/other", "theorem", "Far", "p. 2", "y = y"),
        "S3-false": Claim("S3-false", "S3", NAME, "theorem", "False", "p. 3", "x = y"),
        "S3-heavy": Claim("S3-heavy", "S3", "splines/other", "theorem", "Heavy", "p. 5", "x = x", weight="slip"),
    }
    for kind in claims.EVIDENCE:
        entry = Claim(f"S3-{kind}", "S3", "splines/rich", "theorem", kind, "p. 4", "x = x", evidence=kind)
        known[entry.id] = entry
    for module in (lint, evidence):
        monkeypatch.setattr(module, "claims", lambda: known)
    return Made
