"""The report: a template in which every number is computed from the ledger, the stored notebooks and the stored runs."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from math import ceil, comb
from pathlib import Path

import jinja2
import numpy as np

from experiments import census_again, depth_pieces
from experiments._census import EPOCHS, TRIALS
from foldbook import ledger, plan
from foldbook.chapters.capacity import log2_network_functions
from foldbook.chapters.census import kernels, of_function
from foldbook.chapters.depth import bends, draw, mean_bends, spread
from foldbook.chapters.swaps import RECORD, averaged_bound, quadratic
from foldbook.claims import EVIDENCE, MARKS, STRENGTHS, VERDICTS, claims
from foldbook.stored import stored as run
from foldnet.boolean.swaps import swaps
from foldnet.boolean.training import LR
from tools import mutate

from . import stored, typeset

READS = "markdown-auto_identifiers"
FINDING = re.compile(  # title, text, page, what was measured and what others know, verdicts
    r"## (.+?)\n\n(.*?)<!-- made: figure ([\w/-]+): [^\n]*?-->\n\n([^\n]+)\n.*?<!-- made: evidence ([^\n]+?) -->", re.DOTALL
)
DRAWN, DEEP, LEAK = 2000, {"deep": 8, "deepest": 20}, 0.1  # networks, layers of those with a leak: as in splines/depth-checks
FREED = r"with leak ([\d.]+) succeed: of the ends at 8/3 (\d+)%, at 2 (\d+)%"  # as boolean/optima-checks prints it
TABULATED = 4  # inputs, by Haring and Ohori
CITED = {  # in book/found.md
    "Franco and Anthony (2006)": "@franco2006",
    "Jin and Montúfar (2020)": "@jin2020",
    "Sahs and others (2022)": "@sahs2022",
    "(Verbockhaven and others 2024)": "[@verbockhaven2024]",
}
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


def write(out: Path) -> Path:
    """The report as a PDF."""
    document = typeset.Document(out / "four-works-on-folding-networks")
    pictures = stored.Pictures(document.folder)
    document.add(text(pictures), "report", READS)
    return document.write("report", pictures.alts, **about())


def about() -> dict[str, str]:
    """Title, version and date, as CITATION.cff has them."""
    cff = plan.read(typeset.ROOT / "CITATION.cff")
    title = next(entry["title"] for entry in cff["references"] if entry["type"] == "report")
    meta = {"author": cff["authors"][0]["name"], "version": cff["version"], "date": str(cff["date-released"]), "url": cff["url"]}
    return {"title": title, **meta}


def text(pictures: stored.Pictures) -> str:
    """The report in Markdown: its template, filled in."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(typeset.HERE), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"say": say, "percent": lambda share: f"{100 * share:.0f} %"}
    return environment.get_template("report.md").render(**about(), say=say, **quoted(pictures), **counted(), **computed())


def say(number: int) -> str:
    """A count in words, up to twelve; above it in figures."""
    return WORDS[number] if number < len(WORDS) else f"{number:,}"


def quoted(pictures: stored.Pictures) -> dict:
    """What the template may quote from the book: a statement with its proof, and a figure beside it."""
    book = typeset.ROOT / "book"

    def figure(page: str, name: str, before: bool = False) -> str:
        return stored.figure_beside(book / f"{page}.ipynb", name, pictures, before)

    def box(page: str, name: str) -> str:
        links = re.compile(r"(?<=\]\()[^()\s]+\.ipynb")
        words = links.sub(lambda link: posixpath.join(posixpath.dirname(page), link[0]), stored.box(book / f"{page}.ipynb", name))
        return f"{words}\n>\n> (From [{plan.titles()[page]}]({page}.ipynb).)"

    return {"box": box, "figure": figure, "findings": findings}


def findings(told: list[str]) -> Iterator[dict]:
    """What book/found.md tells of pages that the report does not tell of itself: title, text, and the verdicts it rests on."""
    rows = {row["id"]: row for row in ledger.ledger()}
    for title, words, page, measured, ids in FINDING.findall((typeset.ROOT / "book/found.md").read_text(encoding="utf-8")):
        if plan.chapter_of(page) not in told:
            told_of = f"{words.strip()} {measured}"
            for name, key in CITED.items():
                told_of = told_of.replace(name, key)
            yield {"title": title, "text": told_of, "rests": [rows[id] for id in ids.split() if id in rows]}


def counted() -> dict:
    """The ledger, and what can be counted in it."""
    rows, records = ledger.ledger(), list(ledger.records())
    points = [point for record in records for point in record["points"]]
    fixed = Counter(claim.criterion["fixed"] for claim in claims().values() if claim.criterion)

    def count(**wanted) -> int:
        return sum(all(row[key] == value for key, value in wanted.items()) for row in rows)

    refutable = {record["id"] for record in records if any(p["rivals"] or p.get("twins") for p in record["points"])}
    corrections = [row for row in rows if row["verdict"] == "corrected" and ledger.weight(row) == "result"]
    return {
        "rows": rows,
        "count": count,
        "sources": plan.sources(),
        "chapters": len(plan.chapters()),
        "refereed": sum(chapter.refereed for chapter in plan.chapters().values()),
        "kinds": EVIDENCE,
        "verdicts": {name: f"{MARKS[name]} {name}" for name in VERDICTS},
        "strengths": STRENGTHS,
        "corrections": corrections,
        "slips": count(verdict="corrected") - len(corrections),
        "with_rivals": sum(bool(point["rivals"]) for point in points),
        "with_twins": sum(bool(point.get("twins")) for point in points),
        "points": len(points),
        "fixed": fixed,
        "after": Counter(row["verdict"] for row in rows if (row["criterion"] or {}).get("fixed") == "after"),
        "refutable": Counter(row["evidence"] for row in rows if row["verdict"] == "reproduced" and row["id"] in refutable),
        "selected": sum(bool(row["selected"]) for row in rows),
        "on_runs": sum(bool(row["stored"]) for row in rows),
        "runs": len(list((typeset.ROOT / "book/data").glob("*.jsonl"))),
        "mutations": len(mutate.mutations()),
    }


def computed() -> dict:
    """Numbers of the new results, from the laws that they state and from the stored runs."""
    total = depth_pieces.NEURONS
    cells = {row.cell["layers"]: row for row in run("depth_pieces").rows if "layers" in row.cell}
    means = {layers: [kinks[0] for way in row["kinks"].values() for kinks in way.values()] for layers, row in cells.items()}
    equal = {layers: [total // layers] * layers for layers in (*cells, *DEEP.values())}
    found = {k: spread(bends(draw(equal[k], networks=DRAWN, leak=0.0 if k in cells else LEAK, seed=9))) for k in equal}
    table = [(layers, equal[layers][0], mean_bends(equal[layers]), found[layers], means[layers]) for layers in cells]
    n = max(row.cell["inputs"] for row in run("swaps_classes").rows)
    levels = sorted((comb(n - 1, k) for k in range(n)), reverse=True)
    bounds = [n / 2 ** (n - 1) * total for total in accumulate(levels)]
    shares = sum(row["functions"] for row in run("swaps_classes").rows)
    one = np.zeros((1, 2**n), dtype=np.uint8)  # any function: what counts is how many predictors it has
    one[0, -1] = 1
    counted = {m: log2_network_functions(m, [2] * m) for m in range(2, 99)}
    enough = next(m for m in counted if counted[m] < 2**m)
    leak, one_corner, pair = stored.printed(typeset.ROOT / "book/boolean/optima-checks.ipynb", FREED)
    return {
        "bends": table,
        "drawn": DRAWN,
        **{name: {"layers": k, "neurons": equal[k][0], "spread": found[k][0]} for name, k in DEEP.items()},
        "leaky": LEAK,
        "neurons": total,
        "networks": depth_pieces.NETWORKS,
        "cases": sum(map(len, means.values())),
        "ways": len(kinks := next(iter(cells.values()))["kinks"]),
        "targets": len(next(iter(kinks.values()))),
        "trained": [mean / total for some in means.values() for mean in some],
        "inputs": n,
        "tabulated": TABULATED,
        "bounds": list(enumerate(bounds, 1)),
        "majority": bounds[0],
        "classes": int(sum(row["classes"].sum() for row in run("swaps_classes").rows)),
        "harder": shares[n + 1 :].sum() / shares.sum(),
        "enough": enough,
        "reach": f"$2^{{{ceil(counted[enough])}}}$",
        "reach_free": f"$2^{{{ceil(log2_network_functions(enough, [2] * enough, free_leak=True))}}}$",
        "growth": ceil(100 * max(counted[m + 1] / counted[m] - 1 for m in range(enough, 98))) / 100,
        "freed": {"leak": leak, "one": f"{one_corner} %", "pair": f"{pair} %"},
        "learned": learned(n),
        "tables": f"$2^{{{2**enough}}}$",
        "named": run("census").rows[0].commit,
        "beyond": RECORD[0],
        "above": round(averaged_bound(RECORD[0])[0]),
        "record": swaps(quadratic(*RECORD)),
        "census": again(),
        "predictors": len(of_function(one) | kernels(one, "leaky", 4)) + 1,  # and the swaps value
    }


def learned(n: int) -> dict:
    """Mean successes of four leaky neurons by swaps value: at 1, at n, the ends of their range from n on, and who is there."""
    tally = run("five_inputs").row(leak=LEAK, width=4, depth=1, every=1)["by"]["swaps"].astype(float)
    mean = [round(float(some @ np.arange(len(some))) / some.sum()) for some in tally if some.any()]  # no value is left out
    return {"first": mean[1], "at": mean[n], "low": min(mean[n:]), "high": max(mean[n:]), "share": tally[n:].sum() / tally.sum()}


def again() -> dict:
    """The census that was registered: what became of its statements, and a table of those predictors that lead, and of swaps."""
    stored_run = run("census_again")
    seen = census_again.Seen(stored_run)
    said = Counter(census_again.outcome(bar, found) for _, bar, found in census_again.statements(seen))
    names, width = {"leaky": "leaky ReLU", "relu": "ReLU", "gelu": "GELU", "tanh": "tanh", "abs": "absolute value"}, 4
    rho = {name: [seen.rho(a, name).mean() for a in names] for name in census_again.SIXTEEN}
    leads = {max(rho, key=lambda name: rho[name][k]) for k in range(len(names))} | {"influence", "kernel at hand", "swaps"}
    ordered = sorted(leads, key=lambda name: -np.mean(rho[name]))
    parts = np.array([seen.rho(a, name) for a in names for name in leads])
    full = {"swaps": "swaps value", "kernel at hand": "$y^TK^{-1}y$ at hand"}
    return {
        **{name: said[name] for name in ("held", "refuted", "undecided")},
        "said": said.total(),
        "commit": stored_run.rows[0].commit,
        "classes": int(stored_run.row(task="share", activation="leaky", width=width)["maps"]["swaps"].sum()),
        "width": width,
        "trials": TRIALS,
        "epochs": EPOCHS,
        "rate": LR,
        "bars": re.findall(r"Bars stand in `statements`, most at about (.+?) of what", census_again.__doc__ or "")[0],
        "within": census_again.STUDENT[parts.shape[1]] * parts.std(axis=1, ddof=1).max() / parts.shape[1] ** 0.5,
        "activations": list(names.values()),
        "table": [(full.get(name, name.replace("above", "Fourier weight above degree")), rho[name]) for name in ordered],
    }
