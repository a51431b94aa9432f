"""The ledger is complete: every claim of the sources once, and a verdict for every claim of a finished chapter."""

import functools
import json
import re

import pytest

from foldbook import claims, paths, plan
from foldbook.claims import Claim
from foldbook.ledger import ledger
from tools import markdown

ROOT = paths.repository()
AT_LEAST = {"S0": 41, "S1": 60, "S2": 208, "S3": 78}  # claims of each source: more may come, none may go
PLACES = {"S0": r"[Ss]lides? \d", "S1": r"Section \d|Appendix [A-C]", "S3": r"lides? \""}  # where a reader finds it
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
    if not re.search(PLACES.get(entry["source"], ""), entry["where"]):
        found.append(f"does not say on which slide or in which section it stands: {entry['where']}")
    if "criterion" in entry:
        found += criterion_problems(entry["criterion"])
    if entry["source"] not in plan.sources() or not entry["id"].startswith(entry["source"] + "-"):
        found.append(f"has the source {entry['source']}")
    if len(entry["title"]) > 100 or "\n" in entry["title"].strip():
        found.append("has a title of more than one short line")
    for key in ("title", "says", "truth", "note", "open"):
        found += [f"{key}: {problem}" for problem in markdown.problems(entry.get(key) or "")]
    found += [f"has an empty {key}" for key in ("truth", "open") if key in entry and not str(entry[key] or "").strip()]
    if entry.get("weight", "slip") not in ("result", "slip"):
        found.append(f"has the weight {entry['weight']}, neither result nor slip")
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


GOOD = dict(id="S3-x", source="S3", kind="theorem", evidence="statement", title="X", where='Slide "X"', says="It is $x$.")


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
        ({"where": "Theorem 3"}, "on which slide"),
        ({"weight": "heavy"}, "neither result nor slip"),
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


def test_every_correction_says_whether_it_changes_a_result():
    assert [row["id"] for row in ledger() if row["verdict"] == "corrected" and not row["weight"]] == []


NAMED = re.compile(r"\bS[0-3]-[\w.-]*\w")
COUNTED = re.compile(r"is (S[0-3]-[\w.-]*\w),\s+and\s+counted\s+there")


def astray(rows: list[dict]) -> list[str]:
    """Claims named by another that are not there, and slips that are said to be counted at a claim that is no correction."""
    verdicts, found = {row["id"]: row["verdict"] for row in rows}, []
    for row in rows:
        words = " ".join(str(row[key] or "") for key in ("says", "truth", "note", "open"))
        found += [f"{row['id']} names {id}, which is no claim" for id in NAMED.findall(words) if id not in verdicts]
        for id in COUNTED.findall(words):
            if verdicts.get(id) != "corrected":
                found.append(f"{row['id']} has a slip counted at {id}, which is {verdicts.get(id)}")
    return found


def test_claims_that_name_each_other_are_there_and_slips_are_counted_where_it_is_said():
    assert astray(ledger()) == []


def test_what_is_named_astray_is_found():
    def row(id, verdict, note=None):
        return {"id": id, "verdict": verdict, "says": "x", "truth": None, "note": note, "open": None}

    slip = "That it is transposed is S2-eq-A.14, and counted there."
    assert astray([row("S2-a", "reproduced", slip), row("S2-eq-A.14", "corrected")]) == []
    assert astray([row("S2-a", "reproduced", slip), row("S2-eq-A.14", "used")]) == [
        "S2-a has a slip counted at S2-eq-A.14, which is used"
    ]
    assert "names S2-eq-A.14, which is no claim" in astray([row("S2-a", "reproduced", slip)])[0]


def test_gaps_are_found():
    def row(id, chapter, verdict, open_=None):
        return {"id": id, "chapter": chapter, "verdict": verdict, "open": open_}

    rows = [row("S3-b", "splines/x", "differs"), row("S3-c", "splines/y", "open")]
    assert gaps([*rows, row("S3-a", "splines/x", "open", "needs a GPU")], {"splines/x"}) == []
    assert gaps([*rows, row("S3-a", "splines/x", "open")], set()) == []
    assert "nothing checks" in gaps([*rows, row("S3-a", "splines/x", "open")], {"splines/x"})[0]
    assert "it is differs" in gaps([*rows, row("S3-a", "splines/x", "differs", "needs a GPU")], {"splines/x"})[0]


# ---- what we found --------------------------------------------------------------------------------------------------------

WORK = re.compile(r"([A-ZÀ-Þ][\wÀ-ÿ]+)(?:'s| and others)? \(?((?:19|20)\d\d)\)")  # the last name of a work, and its year
WHAT = re.compile(r"\*[^*]*(?:theorem|measured|counted)[^*]*\*", re.IGNORECASE)


def untold(found: str, references: str) -> list[str]:
    """Findings that do not say what they are or what was known, and works they name that the references lack."""
    wrong = []
    for finding in found.split("\n## ")[1:]:
        title, text = finding.split("\n", 1)
        wrong += [f"{title}: it does not say whether it is a theorem or measured"] * (not WHAT.search(text))
        wrong += [f"{title}: it does not say what is *Known*"] * ("*Known:*" not in text)
        known = " ".join(text.split("*Known:*")[1:]).split("<!--")[0]
        for name, year in WORK.findall(known):
            if not any(name in line and f"({year})" in line for line in references.splitlines()):
                wrong.append(f"{title}: the references have no work of {name}, {year}")
    return wrong


def test_every_finding_says_what_it_is_and_what_was_known():
    found, references = ((ROOT / "book" / name).read_text(encoding="utf-8") for name in ("found.md", "references.md"))
    assert found.count("\n## ") >= 13
    assert untold(found, references) == []
    assert len(WORK.findall(found)) >= 17


def test_a_finding_that_hides_what_was_known_is_found():
    text = "# What\n\n## One\n\nIt is so. *Measured:* once. *Known:* by others (Chapman 2021)."
    assert untold(text, "- Brynmor Chapman (2021). *It*.") == []
    assert "no work of Chapman, 2021" in untold(text, "- Brynmor Chapman (2020). *It*.")[0]
    assert "*Known*" in untold(text.split(" *Known")[0], "")[0]
    assert "theorem or measured" in untold(text.replace("*Measured:* once. ", ""), "(2021) Chapman")[0]


# ---- the stories use what a page can do ------------------------------------------------------------------------------------

WAYS = {
    "widgets, where a kernel runs": 'class="explore-still"',
    "a guess that is drawn": 'data-guess="drawn"',
    "a guess that is marked on a picture": 'data-guess="marked"',
    "an exercise whose answer is the state of a figure": '"kind": "state"',
    "an exercise whose answer is a formula": '"kind": "formula"',
}


@functools.cache
def shown(name: str) -> str:
    """The HTML of all outputs of a story."""
    cells = json.loads((ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)


@pytest.mark.parametrize("way", WAYS)
def test_some_story_shows_what_a_page_can_do(way):
    """What no page shows any more is as good as gone, and nothing else would say so."""
    assert any(WAYS[way] in shown(name) for name in FILES)
