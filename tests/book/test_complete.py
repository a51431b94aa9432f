"""The ledger is complete: every claim of the sources once, and a verdict for every claim of a finished chapter."""

import pytest

from foldbook import claims, paths, plan
from foldbook.claims import Claim
from foldbook.ledger import ledger
from tools import markdown

ROOT = paths.repository()
AT_LEAST = {"S0": 41, "S1": 60, "S2": 208, "S3": 78}  # claims of each source: more may come, none may go
KINDS = {"algorithm", "corollary", "definition", "figure", "finding", "lemma", "proposition", "table", "theorem"}
FILES = {path.relative_to(ROOT / "book/claims").with_suffix("").as_posix(): path for path in ROOT.glob("book/claims/**/*.yml")}
ENTRIES = [entry for path in FILES.values() for entry in plan.read(path)]


# ---- book/claims ----------------------------------------------------------------------------------------------------------


def wrong(entry: dict) -> list[str]:
    """What is wrong with one entry of a file in book/claims."""
    needed, allowed = (
        ("id", "source", "kind", "evidence", "title", "where", "says"),
        set(Claim.__dataclass_fields__) - {"chapter"},
    )
    found = [f"lacks {key}" for key in needed if not (isinstance(entry.get(key), str) and entry[key].strip())]
    found += [f"has the unknown key {key}" for key in sorted(set(entry) - allowed)]
    if found:
        return found
    if entry["kind"] not in KINDS:
        found.append(f"is of the unknown kind {entry['kind']}")
    if entry["evidence"] not in claims.EVIDENCE:
        found.append(f"has evidence of the unknown kind {entry['evidence']}")
    if "criterion" in entry:
        found += criterion_problems(entry["criterion"])
    if entry["source"] not in plan.sources() or not entry["id"].startswith(entry["source"] + "-"):
        found.append(f"has the source {entry['source']}")
    if len(entry["title"]) > 100 or "\n" in entry["title"].strip():
        found.append("has a title of more than one short line")
    for key in ("title", "says", "truth", "note", "open"):
        found += [f"{key}: {problem}" for problem in markdown.problems(entry.get(key) or "")]
    found += [f"has an empty {key}" for key in ("truth", "open") if key in entry and not str(entry[key] or "").strip()]
    if "published" in entry and entry["published"] in (None, "", [], {}):
        found.append("has an empty published value")
    return found


def criterion_problems(criterion) -> list[str]:
    """A criterion says why it is asked for and when it was fixed; what it demands can be left to the check, which computes it."""
    if not isinstance(criterion, dict) or not set(criterion) <= {"demands", "reason", "fixed"}:
        return ["has a criterion that is not made of demands, reason and fixed"]
    found = [] if str(criterion.get("reason") or "").strip() else ["has a criterion without a reason"]
    found += [f"reason: {problem}" for problem in markdown.problems(str(criterion.get("reason") or ""))]
    return found + ([] if criterion.get("fixed") in ("before", "after") else ["has a criterion fixed neither before nor after"])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry.get("id")))
def test_every_claim_is_well_formed(entry):
    assert wrong(entry) == []


def test_every_claim_of_the_sources_stands_once():
    ids = [entry["id"] for entry in ENTRIES]
    assert len(ids) == len(set(ids))
    assert all(sum(id.startswith(f"{source}-") for id in ids) >= count for source, count in AT_LEAST.items())
    assert list(FILES) == [chapter for chapter in FILES if chapter in plan.chapters()]
    assert list(claims.claims()) == [
        entry["id"] for chapter in plan.chapters() if chapter in FILES for entry in plan.read(FILES[chapter])
    ]


def test_a_claim_that_stands_twice_is_refused(monkeypatch, tmp_path):
    for chapter in ("splines/depth", "boolean/swaps"):
        path = tmp_path / "claims" / f"{chapter}.yml"
        path.parent.mkdir(parents=True)
        path.write_text("- {id: S3-x, source: S3, kind: theorem, title: X, where: p. 1, says: It is.}")
    monkeypatch.setattr(claims.paths, "book", lambda: tmp_path)
    with pytest.raises(ValueError, match="S3-x stands in book/claims twice: in splines/depth and in boolean/swaps"):
        claims.claims.__wrapped__()


GOOD = dict(id="S3-x", source="S3", kind="theorem", evidence="statement", title="X", where="p. 1", says="It is $x$.")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": None}, "lacks id"),
        ({"says": " "}, "lacks says"),
        ({"doubt": "x"}, "unknown key doubt"),
        ({"kind": "remark"}, "unknown kind"),
        ({"evidence": None}, "lacks evidence"),
        ({"evidence": "picture"}, "evidence of the unknown kind"),
        ({"criterion": {"reason": "so", "fixed": "never"}}, "neither before nor after"),
        ({"criterion": {"fixed": "after"}}, "without a reason"),
        ({"criterion": "at least 2"}, "not made of"),
        ({"chapter": "splines/breakpoints"}, "unknown key chapter"),
        ({"source": "S2"}, "source S2"),
        ({"source": "S4", "id": "S4-x"}, "source S4"),
        ({"title": "x" * 101}, "title"),
        ({"says": "It is $x."}, "does not close"),
        ({"truth": "a {cite}`b`"}, "role"),
        ({"truth": ""}, "empty truth"),
        ({"open": " "}, "empty open"),
        ({"published": []}, "empty published"),
    ],
)
def test_a_bad_claim_is_found(change, sentence):
    assert wrong(GOOD) == []
    assert any(sentence in problem for problem in wrong(GOOD | change))


# ---- records and open claims ---------------------------------------------------------------------------------------------


def gaps(rows: list[dict], finished: set[str]) -> list[str]:
    """Claims of finished chapters without a verdict that nobody admits to be open, and admissions that are no longer true."""
    found = [
        f"{row['id']}: {row['chapter']} is there, nothing checks this claim, and it does not say why it is `open`"
        for row in rows
        if row["chapter"] in finished and row["verdict"] == "open" and not row["open"]
    ]
    return found + [
        f"{row['id']}: it gives a reason to be open, and it is {row['verdict']}"
        for row in rows
        if row["open"] and row["verdict"] != "open"
    ]


def test_every_claim_of_a_finished_chapter_has_a_verdict_or_is_admitted_to_be_open():
    assert gaps(ledger(), {name for name, chapter in plan.chapters().items() if chapter.pages(ROOT / "book")}) == []


def test_gaps_are_found():
    def row(id, chapter, verdict, open_=None):
        return {"id": id, "chapter": chapter, "verdict": verdict, "open": open_}

    rows = [row("S3-b", "splines/x", "differs"), row("S3-c", "splines/y", "open")]
    assert gaps([*rows, row("S3-a", "splines/x", "open", "needs a GPU")], {"splines/x"}) == []
    assert gaps([*rows, row("S3-a", "splines/x", "open")], set()) == []
    assert "nothing checks" in gaps([*rows, row("S3-a", "splines/x", "open")], {"splines/x"})[0]
    assert "it is differs" in gaps([*rows, row("S3-a", "splines/x", "differs", "needs a GPU")], {"splines/x"})[0]
