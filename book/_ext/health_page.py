"""The health of the book: run times beside their budgets, versions, and how much of the sources is checked."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections import Counter

import templates

from foldbook import ledger, plan

TOOLS = (
    *("torch", "numpy", "scipy", "scikit-learn", "sympy", "numba", "matplotlib", "ipywidgets"),
    *("jupyter-book", "sphinx", "sphinx-book-theme", "myst-nb", "nbclient", "nbval", "pytest"),
)


def write(site) -> str:
    path = site.root / "_build/runtimes.json"
    times = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    values = {"times": _times(site, times), "chapters": _chapters(site), "versions": _versions(site)}
    return templates.fill("health.md", facts=_facts(site), budget=plan.budgets()["page"], **values)


def _facts(site) -> list[tuple[int, str]]:
    notebooks = ledger.notebooks(site.root / "book")
    code = "\n".join(path.read_text(encoding="utf-8") for path in (site.root / "tests").rglob("*.py"))
    return [
        (len(site.ledger), "claims"),
        (sum(row["verdict"] != "open" for row in site.ledger), "checked"),
        (len(notebooks), "notebooks" if len(notebooks) != 1 else "notebook"),
        (sum(1 for _ in ledger.records(site.root / "book")), "checks in them"),
        (len(re.findall(r"^\s*def test_", code, re.MULTILINE)), "test functions"),
    ]


def _times(site, times: dict[str, dict]) -> list[dict]:
    """One row for each notebook that was timed, and one for all of them."""
    rows = [
        {"name": page, "page": site.address(page), "budget": plan.budget(page), "kind": "", **times[page]}
        for page in sorted(times, key=plan.in_order)
    ]
    together = {"seconds": round(sum(times[page]["seconds"] for page in times), 1), "budget": plan.budgets()["book"]}
    return [*rows, {"name": "all", "page": None, "machine": "", "kind": "total", **together}] if rows else []


def _chapters(site) -> list[dict]:
    """One row for each chapter that has claims, and one for all of them: its sources, and its claims by verdict."""
    claims: dict[str, list[dict]] = {}
    for row in sorted(site.ledger, key=lambda row: plan.in_order(row["chapter"])):
        claims.setdefault(row["chapter"], []).append(row)
    rows = [
        {
            "name": chapter,
            "page": site.address(chapter),
            "sources": ", ".join(sorted({row["source"] for row in mine})),
            "count": Counter(row["verdict"] for row in mine),
            "kind": "",
        }
        for chapter, mine in claims.items()
    ]
    count = Counter(row["verdict"] for row in site.ledger)
    return [*rows, {"name": "all", "page": None, "sources": "", "count": count, "kind": "total"}]


def _versions(site) -> list[tuple[str, str, str]]:
    """Name, installed version and pin of what the site is built and tested with."""
    pins = dict(re.findall(r"^([\w.-]+)==([\w.+]+)", (site.root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE))
    return [(name, importlib.metadata.version(name).split("+")[0], pins[name]) for name in TOOLS if name in pins]
