"""The ledger is complete: every claim of the sources once, and a verdict for every claim of a finished chapter."""

from pathlib import Path

import pytest
import yaml

from foldnet import _paths
from foldnet.claims import Claim, claims
from foldnet.ledger import ledger
from tools import lint, markdown

HERE = Path(__file__).parent
ROOT = _paths.repository()
IDS = (HERE / "claim_ids.txt").read_text().split()  # read off the sources, before any entry was written
KINDS = {"algorithm", "corollary", "definition", "figure", "finding", "lemma", "proposition", "table", "theorem"}
CHAPTERS = {
    "boolean": {"swaps", "capacity", "optima", "training", "perceptron", "pruning"},
    "splines": {"breakpoints", "landscape", "dynamics", "depth", "smoothing", "rich", "beyond", "gans"},
    "geometry": {"annulus", "linearization", "polytopes", "images", "sensitivity", "comparison"},
    "growth": {"bottleneck", "folding", "mnist", "race"},
}
ENTRIES = yaml.safe_load((ROOT / "book/claims.yml").read_text(encoding="utf-8")) or []


# ---- claims.yml ----------------------------------------------------------------------------------------------------------


def wrong(entry: dict) -> list[str]:
    """What is wrong with one entry of claims.yml."""
    needed, allowed = ("id", "source", "chapter", "kind", "title", "where", "says"), set(Claim.__dataclass_fields__)
    found = [f"lacks {key}" for key in needed if not (isinstance(entry.get(key), str) and entry[key].strip())]
    found += [f"has the unknown key {key}" for key in sorted(set(entry) - allowed)]
    if found:
        return found
    part, _, chapter = entry["chapter"].partition("/")
    if entry["kind"] not in KINDS:
        found.append(f"is of the unknown kind {entry['kind']}")
    if chapter not in CHAPTERS.get(part, ()):
        found.append(f"is assigned to the unknown chapter {entry['chapter']}")
    if entry["source"] not in ("S0", "S1", "S2", "S3") or not entry["id"].startswith(entry["source"] + "-"):
        found.append(f"has the source {entry['source']}")
    if len(entry["title"]) > 100 or "\n" in entry["title"].strip():
        found.append("has a title of more than one short line")
    for key in ("title", "says", "truth", "note"):
        found += [f"{key}: {problem}" for problem in markdown.problems(entry.get(key) or "")]
    if "truth" in entry and not str(entry["truth"] or "").strip():
        found.append("has an empty truth")
    if "published" in entry and entry["published"] in (None, "", [], {}):
        found.append("has an empty published value")
    return found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry.get("id")))
def test_every_claim_is_well_formed(entry):
    assert wrong(entry) == []


def test_every_claim_of_the_sources_stands_once():
    assert len(IDS) == len(set(IDS)) == 340
    assert sorted(entry["id"] for entry in ENTRIES) == sorted(IDS)
    assert list(claims()) == [entry["id"] for entry in ENTRIES]


GOOD = dict(id="S3-x", source="S3", chapter="splines/breakpoints", kind="theorem", title="X", where="p. 1", says="It is $x$.")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": None}, "lacks id"),
        ({"says": " "}, "lacks says"),
        ({"doubt": "x"}, "unknown key doubt"),
        ({"kind": "remark"}, "unknown kind"),
        ({"chapter": "splines/nothing"}, "unknown chapter"),
        ({"chapter": "breakpoints"}, "unknown chapter"),
        ({"source": "S2"}, "source S2"),
        ({"source": "S4", "id": "S4-x"}, "source S4"),
        ({"title": "x" * 101}, "title"),
        ({"says": "It is $x."}, "does not close"),
        ({"truth": "a {cite}`b`"}, "role"),
        ({"truth": ""}, "empty truth"),
        ({"published": []}, "empty published"),
    ],
)
def test_a_bad_claim_is_found(change, sentence):
    assert wrong(GOOD) == []
    assert any(sentence in problem for problem in wrong(GOOD | change))


# ---- records and open claims ---------------------------------------------------------------------------------------------


def gaps(rows: list[dict], finished: set[str], open_: dict) -> list[str]:
    """Claims of finished chapters without a verdict that nobody admits to be open, and admissions that are no longer true."""
    verdicts = {row["id"]: row["verdict"] for row in rows}
    found = [
        f"{row['id']}: {row['chapter']} is in the table of contents and nothing checks this claim; book/open.yml does not list it"
        for row in rows
        if row["chapter"] in finished and row["verdict"] == "open" and row["id"] not in open_
    ]
    for id, reason in open_.items():
        if verdicts.get(id) is None:
            found.append(f"{id}: book/open.yml lists a claim that does not exist")
        elif verdicts[id] != "open":
            found.append(f"{id}: book/open.yml calls it open, and it is {verdicts[id]}")
        elif not str(reason or "").strip():
            found.append(f"{id}: book/open.yml gives no reason")
    return found


def test_every_claim_of_a_finished_chapter_has_a_verdict_or_is_admitted_to_be_open():
    toc = lint.contents(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    path = ROOT / "book/open.yml"
    open_ = (yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None) or {}
    finished = {file.removeprefix("book/") for file in toc if file.split("/")[1] in lint.PARTS}
    assert gaps(ledger(), finished, open_) == []


def test_gaps_are_found():
    rows = [
        {"id": "S3-a", "chapter": "splines/x", "verdict": "open"},
        {"id": "S3-b", "chapter": "splines/x", "verdict": "differs"},
        {"id": "S3-c", "chapter": "splines/y", "verdict": "open"},
    ]
    assert gaps(rows, {"splines/x"}, {"S3-a": "needs a GPU"}) == []
    assert gaps(rows, set(), {}) == []
    assert "nothing checks" in gaps(rows, {"splines/x"}, {})[0]
    assert "no reason" in gaps(rows, {"splines/x"}, {"S3-a": ""})[0]
    assert "it is differs" in gaps(rows, {"splines/x"}, {"S3-a": "x", "S3-b": "x"})[0]
    assert "does not exist" in gaps(rows, {"splines/x"}, {"S3-a": "x", "S3-z": "x"})[0]
