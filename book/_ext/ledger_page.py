"""The ledger as a table that can be filtered: every claim of the sources beside what the notebooks measured."""

from __future__ import annotations

import functools
import html
from collections import Counter

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from foldnet import plan
from foldnet.claims import VERDICTS

MARKS = {"reproduced": "✓", "corrected": "✎", "differs": "≠", "open": "○"}


def write(site) -> str:
    rows = site.ledger
    return f"```{{raw}} html\n{_controls(rows)}\n{_table(site, rows)}\n```"


# ---- Markdown with math, as HTML ---------------------------------------------------------------------------------------


def markdown(text: str, lazy: bool = False, inline: bool = False) -> str:
    """CommonMark with $math$ as HTML. Lazy math waits, as TeX, until the script of the page asks MathJax for it."""
    parser = MarkdownIt("commonmark", {"html": False}).use(dollarmath_plugin, double_inline=True)
    kind = "tex" if lazy else "math notranslate nohighlight"
    for rule, form in {"math_inline": r"\({}\)", "math_inline_double": r"\[{}\]", "math_block": r"\[{}\]"}.items():
        parser.renderer.rules[rule] = functools.partial(_math, f'<span class="{kind}">{form}</span>')
    return (parser.renderInline(text) if inline else parser.render(text)).strip()


def _math(form: str, tokens, index: int, options, env) -> str:
    return form.format(html.escape(tokens[index].content.strip(), quote=False))


def value(of) -> str:
    """A published value for people: a number, a text with math, or several of them."""
    if of is None:
        return ""
    if isinstance(of, bool):
        return "yes" if of else "no"
    if isinstance(of, dict):
        return "<br>".join(f"{html.escape(str(k).replace('_', ' '))}: {value(v)}" for k, v in of.items())
    if isinstance(of, list):
        return ", ".join(map(value, of))
    return markdown(of, inline=True) if isinstance(of, str) else html.escape(str(of))


def verdict(word: str) -> str:
    """A verdict as symbol and word: colour is never the only sign."""
    return f'<span class="verdict verdict-{word}"><span aria-hidden="true">{MARKS[word]}</span> {word}</span>'


def bar(count: Counter) -> str:
    """Verdicts as a bar of lengths; its label says the same in words."""
    total = sum(count.values()) or 1
    words = ", ".join(f"{count[v]} {v}" for v in VERDICTS if count[v])
    shares = {v: 100 * count[v] / total for v in VERDICTS if count[v] and v != "open"}
    parts = "".join(f'<i class="bar-{v}" style="width:{share:.4g}%"></i>' for v, share in shares.items())
    return f'<span class="verdict-bar" role="img" aria-label="{words}">{parts}</span>'


def source(mark: str) -> str:
    """A source by mark and name."""
    return f"{mark} · {plan.sources()[mark]}"


# ---- the page ----------------------------------------------------------------------------------------------------------


def _controls(rows: list[dict]) -> str:
    order = {"source": list(plan.sources()), "chapter": list(plan.chapters()), "verdict": list(VERDICTS)}
    labels = {"source": {s: source(s) for s in plan.sources()}, "verdict": {v: f"{MARKS[v]} {v}" for v in VERDICTS}}
    menus = []
    for name in ("source", "chapter", "kind", "verdict"):
        count = Counter(row[name] for row in rows)
        values = [v for v in order.get(name, sorted(count)) if count[v] or name == "verdict"]
        shown = labels.get(name, {})
        options = "".join(f'<option value="{v}">{html.escape(shown.get(v, v))} ({count[v]})</option>' for v in values)
        menus.append(f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>{options}</select></label>')
    return (
        '<form class="ledger-controls" id="ledger-controls" role="search" aria-label="Filter the claims">'
        + "".join(menus)
        + '<label class="ledger-text">Text <input type="search" name="q" placeholder="Cauchy" autocomplete="off"></label>'
        + '<button type="reset">Show all</button></form>'
        + f'<p class="ledger-count" id="ledger-count" aria-live="polite">{len(rows)} of {len(rows)} claims</p>'
    )


def _table(site, rows: list[dict]) -> str:
    names = ("Verdict", "Claim", "Published", "Measured", "Tolerance", "Where checked")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "\n".join(_row(site, row) for row in rows)
    return (
        '<div class="ledger-box"><table class="ledger" id="ledger"><caption>Every claim and its verdict</caption>'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _row(site, row: dict) -> str:
    e = {k: html.escape(str(v)) for k, v in row.items()}
    data = " ".join(f'data-{k}="{e[k]}"' for k in ("source", "chapter", "kind", "verdict"))
    note = f'<p class="claim-note">{markdown(row["note"], lazy=True, inline=True)}</p>' if row["note"] else ""
    says = f"<details><summary>What the source says</summary>{markdown(row['says'], lazy=True)}{note}</details>"
    claim = (
        f'<div class="claim-title">{markdown(row["title"], inline=True)}</div>'
        f'<div class="claim-where"><code>{e["id"]}</code> {e["kind"]}, {markdown(row["where"], inline=True)}</div>{says}'
    )
    measured = f'<span class="claim-what">{e["what"]}:</span> <b>{e["measured"]}</b>' if row["what"] else ""
    if row["corrected"] is not None:
        measured += f'<br><span class="claim-what">true:</span> <b>{e["corrected"]}</b>'
    cells = (
        ("", verdict(row["verdict"])),
        ("", claim),
        ("Published", value(row["published"])),
        ("Measured", measured),
        ("Tolerance", e["tolerance"] if row["tolerance"] else ""),
        ("Where checked", _place(site, row)),
    )
    tds = "".join(f'<td data-label="{label}">{text}</td>' if label else f"<td>{text}</td>" for label, text in cells)
    return f'<tr id="{e["id"]}" {data}>{tds}</tr>'


def _place(site, row: dict) -> str:
    chapter = html.escape(row["chapter"])
    if row["notebook"] is None:
        page = site.address(row["chapter"])
        return f'<a href="{page}">{chapter}</a>' if page else f'<span class="planned">{chapter}, planned</span>'
    page = site.address(row["notebook"].removesuffix(".ipynb"), f"cell-{row['cell']}")
    text = f"{html.escape(row['notebook'].removesuffix('.ipynb'))}, cell {row['cell']}"
    return f'<a href="{page}">{text}</a>' if page else text
