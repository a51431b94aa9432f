"""Nothing that a person wrote is ever lost: by_hand.csv as spreadsheets save it, and texts that change."""

import csv
import io

import pytest

from course import book, hand
from course.make import CourseError

ROWS = [
    ["student", "answer", "of", "score", "comment", "text", "earlier"],
    ["anna", "why", "3", "2.5", "schön; gut, aber", "aaa", ""],
    ["ben", "why", "3", "", "später", "bbb", ""],
]


def saved(rows, delimiter=",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_every_spreadsheet_may_save_it(tiny, tmp_path, coding, delimiter):
    rows = [[cell.replace("2.5", "2,5") for cell in row] for row in ROWS] if delimiter == ";" else ROWS
    (tmp_path / "by_hand.csv").write_bytes(saved(rows, delimiter).encode(coding))
    read = hand.Hand(tiny, tmp_path / "by_hand.csv")
    assert read.score("anna", "why", "aaa") == 2.5
    assert read.comment("anna", "why") == "schön; gut, aber"
    assert read.score("ben", "why", "bbb") is None
    assert read.comment("ben", "why") == "später"
    assert read.file().replace("\r\n", "\n") == saved(ROWS).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("student,", "name,", "by_hand.csv has no column student; it has name, answer"),
        ("2.5", "six", "line 2: 'six' is no score"),
        ("2.5", "4", "line 2: why has no score 4"),
        ("anna,why", "anna,what", "line 2: what has no score 2.5"),
        ("ben,", "anna,", "line 3: anna and why have two lines that differ"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(tiny, tmp_path, old, new, sentence):
    (tmp_path / "by_hand.csv").write_text(saved(ROWS).replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CourseError, match=sentence.replace("(", r"\(")):
        hand.Hand(tiny, tmp_path / "by_hand.csv")


def test_a_changed_text_asks_to_be_read_again_and_keeps_what_was_said(tiny, tmp_path):
    (tmp_path / "by_hand.csv").write_text(saved(ROWS), encoding="utf-8")
    read = hand.Hand(tiny, tmp_path / "by_hand.csv")
    read.expect("anna", {"why": {"sign": "aaa"}})
    assert read.score("anna", "why", "aaa") == 2.5
    assert read.score("anna", "why", "ccc") is None
    read.expect("anna", {"why": {"sign": "ccc"}})
    assert read.score("anna", "why", "ccc") is None
    assert 'anna,why,3,,"schön; gut, aber",ccc,"2.5 for an earlier text: schön; gut, aber"' in read.file()
    assert "ben,why,3,,später,bbb," in read.file()  # who is not in this folder stays


def test_there_is_a_copy_of_each_file_before_it_is_written_again(tmp_path):
    path = tmp_path / "by_hand.csv"
    for text in ("one", "two", "two", "three"):
        book.keep(path)
        book.write(path, text)
    assert [p.read_text() for p in sorted((tmp_path / "backups").iterdir())] == ["one", "two"]


def test_no_spreadsheet_changes_who_is_meant(tiny, tmp_path):
    """What it would take for a number, a date or a formula is marked as text; the mark is no part of a name."""
    marked = ["007", "1e5", "mar1", "12.5", "2024-01", "=x", "s001", "u777"]
    marked += ["12-jan", "3 mar", "3mar", "12 jan 2024", "TRUE", "5%"]
    entered = hand.Hand(tiny)
    entered.entries = {(student, "why"): hand.Entry(1.0, "", "t-0") for student in (*marked, "Anna_Ünal_101_", "anna")}
    written = {row["student"] for row in csv.DictReader(io.StringIO(entered.file()))}
    assert written == {"Anna_Ünal_101_", "anna", *(f"'{student}" for student in marked)}
    (tmp_path / "by_hand.csv").write_text(entered.file(), encoding="utf-8")
    assert hand.Hand(tiny, tmp_path / "by_hand.csv").entries == entered.entries
    assert book.sign({"source": "any"}).startswith("t-")  # ten digits of any kind would be a number now and then


@pytest.mark.parametrize(("written", "student"), [("7", "007"), ("1,00E+05", "1e5"), ("Ng?c", "Ngọc"), ("anna", "Anna")])
def test_marks_for_nobody_are_said_with_whose_they_may_be(tiny, written, student):
    entered = hand.Hand(tiny)
    entered.entries = {(written, "why"): hand.Entry(2.0), (student, "why"): hand.Entry()}
    told = f"by_hand.csv has 2 for why by {written}, who handed in no such text; perhaps it is for {student}"
    assert entered.strangers({(student, "why"), ("zoe", "why")}) == [told]
