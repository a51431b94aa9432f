"""The health of the book: run times beside their budgets, versions, and how much of the sources is checked."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections import Counter

from ledger_page import MARKS, bar

from foldnet import ledger, plan
from foldnet.claims import VERDICTS

TOOLS = (
    *("torch", "numpy", "scipy", "scikit-learn", "sympy", "numba", "matplotlib", "ipywidgets"),
    *("jupyter-book", "sphinx", "sphinx-book-theme", "myst-nb", "nbclient", "nbval", "pytest"),
)


def write(site) -> str:
    sections = {"Run times": _times(site), "Claims by chapter": _claims(site), "Versions": _versions(site)}
    return "\n\n".join([_summary(site), *(f"## {name}\n\n{text}" for name, text in sections.items())])


def _summary(site) -> str:
    rows = site.ledger
    count = Counter(row["verdict"] for row in rows)
    checked = len(rows) - count["open"]
    notebooks = ledger.notebooks(site.root / "book")
    checks = sum(1 for _ in ledger.records(site.root / "book"))
    code = "\n".join(path.read_text(encoding="utf-8") for path in (site.root / "tests").rglob("*.py"))
    tests = len(re.findall(r"^\s*def test_", code, re.MULTILINE))
    times = _runtimes(site)
    date = max((entry["date"] for entry in times.values()), default=None)
    facts = [
        (len(rows), "claims"),
        (checked, "checked"),
        (len(notebooks), "notebooks" if len(notebooks) != 1 else "notebook"),
        (checks, "checks in them"),
        (tests, "test functions"),
    ]
    tiles = "".join(f"<li><b>{number}</b> {word}</li>" for number, word in facts)
    when = f"The notebooks were last run on {date}." if date else "No notebook has been run and timed yet."
    return f'```{{raw}} html\n<ul class="tiles">{tiles}</ul>\n```\n\n{when}'


def _runtimes(site) -> dict[str, dict]:
    path = site.root / "book/data/runtimes.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _times(site) -> str:
    times = _runtimes(site)
    if not times:
        return "Run times appear here once a notebook has been run with `make notebooks`."
    ordered = {page: times[page] for page in sorted(times, key=plan.in_order)}
    rows = [_time(site, page, entry["seconds"], plan.budget(page), entry["machine"]) for page, entry in ordered.items()]
    rows.append(_time(site, "all", sum(entry["seconds"] for entry in times.values()), plan.budgets()["book"], "", "total"))
    heads = "".join(f'<th scope="col">{h}</th>' for h in ("Chapter", "Run on", "Used", "Run time", "Budget"))
    return _table(heads, rows)


def _time(site, chapter: str, seconds: float, budget: float, machine: str, kind: str = "") -> str:
    used = f"{100 * seconds / budget:.0f} %"
    meter = f'<meter min="0" max="{budget}" value="{min(seconds, budget)}" aria-label="{used} of the budget">{used}</meter>'
    over = " over the budget" if seconds > budget else ""
    cells = "".join(f"<td>{cell}</td>" for cell in (machine, meter + over, _span(seconds), _span(budget)))
    return f'<tr class="{kind}"><th scope="row">{_name(site, chapter)}</th>{cells}</tr>'


def _name(site, chapter: str) -> str:
    page = site.address(chapter)
    return f'<a href="{page}">{chapter}</a>' if page else chapter


def _table(heads: str, rows: list[str]) -> str:
    table = f'<table class="health"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return f'```{{raw}} html\n<div class="table-box" tabindex="0">{table}</div>\n```'


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def _claims(site) -> str:
    heads = "".join(f'<th scope="col">{h}</th>' for h in ("Chapter", "Source", "Checked", *(f"{MARKS[v]} {v}" for v in VERDICTS)))
    chapters = sorted({row["chapter"] for row in site.ledger}, key=plan.in_order)
    rows = [_chapter(_name(site, chapter), [row for row in site.ledger if row["chapter"] == chapter]) for chapter in chapters]
    return _table(heads, [*rows, _chapter("all", site.ledger, "total")])


def _chapter(name: str, claims: list[dict], kind: str = "") -> str:
    count = Counter(row["verdict"] for row in claims)
    sources = ", ".join(s for s in plan.sources() if any(row["source"] == s for row in claims)) if not kind else ""
    cells = "".join(f"<td>{count[v] or ''}</td>" for v in VERDICTS)
    return f'<tr class="{kind}"><th scope="row">{name}</th><td>{sources}</td><td>{bar(count)}</td>{cells}</tr>'


def _versions(site) -> str:
    pins = dict(re.findall(r"^([\w.-]+)==([\w.+]+)", (site.root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE))
    rows = []
    for name in (tool for tool in TOOLS if tool in pins):
        installed = importlib.metadata.version(name).split("+")[0]
        other = "" if installed == pins[name] else f" (pinned: {pins[name]})"
        rows.append(f'<tr><th scope="row">{name}</th><td>{installed}{other}</td></tr>')
    table = _table('<th scope="col">Package</th><th scope="col">Version</th>', rows)
    return f"The site was built, and its notebooks are run and tested, with these versions.\n\n{table}"
