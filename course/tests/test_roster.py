"""Whose a submission is, by the names on a class list; what no list tells is said."""

import csv
import io

import pytest

from course import book, collect, export, grade, hand, make, roster
from course.errors import CourseError

ANNA = "ünalanna_LATE_4711_90231_nano.ipynb"
BEN = "bothben_4712_90232_nano.ipynb"


def handed(*names: str) -> list[dict]:
    return [{"student": name, "handed in as": name} for name in names]


def whose(listed: list[dict], *names: str) -> list[list[str]]:
    """The files of each line."""
    return [[row["handed in as"] for row in rows] for _, rows in roster.claimed(listed, handed(*names))[0]]


@pytest.mark.parametrize("name", ["Anna Ünal", "Ünal, Anna", "ÜNAL,ANNA", "  Anna  U\N{COMBINING DIAERESIS}nal "])
@pytest.mark.parametrize("number", ["", "h0012345"])
def test_a_name_is_known_as_canvas_squeezes_it(name, number):
    """With and without a number of the university, which stands in no file's name."""
    listed = [{"name": name, "id": number}, {"name": "Ben Both", "id": ""}]
    again = "ünalanna_4711_90240_nano-1.ipynb"
    assert whose(listed, ANNA, BEN, again) == [[ANNA, again], [BEN]]


def test_a_name_of_many_words_is_known_from_whichever_it_begins_with():
    names = ("María José de la Cruz", "O'Neil, Jean-Pierre", "Both, Ben")
    files = ("delacruzmaríajosé_1_91_ps1.ipynb", "oneiljeanpierre_2_92_ps1.ipynb", "bothben_3_93_ps1.ipynb")
    assert whose([{"name": name} for name in names], *files) == [[name] for name in files]


def test_moodle_and_the_list_may_begin_with_different_names():
    folder = "Anna Ünal_1001_assignsubmission_file_"
    assert whose([{"name": "Ünal, Anna"}, {"name": "Ben Bo"}], folder) == [[folder], []]


def test_a_name_within_a_name_and_a_name_that_a_student_chose_are_nobodys():
    listed = [{"name": "Anna Ünal"}, {"name": "Ben Bo"}]
    assert whose(listed, "ünalannamaria_4_91_ps1.ipynb", "mallorym_5_92_annaünal.ipynb", "annaünal.ipynb") == [[], []]


def test_two_students_of_one_name_are_told_apart_by_the_number_alone():
    """Whether both are on the list, or only one of two that handed in."""
    other = ANNA.replace("4711", "4799")
    two = [{"name": "Anna Ünal", "id": ""}, {"name": "Ünal, Anna", "id": ""}]
    for listed, files in ((two, [ANNA]), (two[:1], [ANNA, other]), ([two[0] | {"id": "4799"}, two[1]], [ANNA])):
        claims, left = roster.claimed(listed, handed(*files))
        assert (left, [rows for _, rows in claims]) == (handed(*files), [[]] * len(listed))
        said = roster.missed(listed, handed(*files))
        assert said[0].startswith(f"0 of {len(files)} submissions are on the class list")
        assert f"whose is {ANNA}? Several have this name: write 4711, the number in Canvas, into the right line as id" in said
    assert whose([two[0] | {"id": "4799"}, two[1] | {"id": "4711"}], ANNA, other) == [[other], [ANNA]]
    assert whose([two[0] | {"id": "4799"}], ANNA, other) == [[other]]


def test_in_the_grade_book_of_canvas_the_number_alone_decides():
    """Who dropped the course may have the name of somebody who stayed."""
    line = {"Student": "Ünal, Anna", "ID": "4799", "SIS User ID": "", "Section": "A"}
    assert whose([line], ANNA) == [[]]
    assert whose([line | {"ID": "4711"}], ANNA) == [[ANNA]]


@pytest.fixture
def graded(nano, tmp_path):
    """Two students from Canvas."""
    made = book.Book(tmp_path)
    for number, name in enumerate((ANNA, BEN)):
        record = grade.nothing(collect.Handed(name, None, f"s{number}", [], "d"), "", [], make.release(nano))
        record["verdicts"]["one-value"] = {"passed": True, "line": "", "share": 1.0}
        made.save(record)
    grade.settle(nano, made, hand.Hand(nano))
    return tmp_path


def lines(path) -> list[dict]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


@pytest.mark.parametrize("text", ["name,id\nBen Both,\n", "name,id\nBen Both,\nAnna Ünal,u1\n", "id\nu1\nu2\n"])
def test_grading_says_how_many_are_on_the_class_list(nano, graded, text, capsys):
    """Where not all are, and nothing where all are."""
    (graded / "class.csv").write_text(text, encoding="utf-8")
    grade.keep_roster(graded / "class.csv", graded)
    capsys.readouterr()
    grade.settle(nano, book.Book(graded), hand.Hand(nano))
    said = capsys.readouterr().err
    many = sum(name in text for name in ("Ben", "Anna"))
    assert ("on the class list" in said) == (many < 2)
    assert many == 2 or f"note: {many} of 2 submissions are on the class list; " in said
    assert (ANNA in said) == ("Anna" not in text)


def test_nobody_gets_nothing_where_a_file_has_the_name(nano, graded):
    (graded / "class.csv").write_text("name,id\nAnna Ünal,\nÜnal Anna,\nBen Both,\nFinn,\n", encoding="utf-8")
    said = export.export(nano, graded, "roster", graded / "class.csv")
    found = [(row["total"], row["notes"]) for row in lines(graded / "grades-by-roster.csv")]
    assert found == [("", f"not clear whose: {ANNA}")] * 2 + [("2", ""), ("0", "nothing was handed in")]
    assert [sentence.partition("?")[0] for sentence in said if ANNA in sentence] == [f"whose is {ANNA}"]


BOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,Nano (55)
,,,,,Manual Posting
    Points Possible,,,,,5
"Ünal, Anna",4711,9,u1,A,
"Student, Test",999,,9e1f,A,
"""


def test_who_is_no_student_in_a_grade_book_is_left_out(nano, graded):
    (graded / "in.csv").write_text(BOOK, encoding="utf-8")
    export.export(nano, graded, "roster", graded / "in.csv")
    assert [(row["Student"], row["total"]) for row in lines(graded / "grades-by-roster.csv")] == [("Ünal, Anna", "2")]
    export.export(nano, graded, "canvas", graded / "in.csv", "Nano (55)")
    assert [row["Nano (55)"] for row in lines(graded / "canvas.csv")] == ["Manual Posting", "5", "2", ""]


def test_what_came_from_elsewhere_is_no_table_for_a_platform(nano, graded):
    """Of Canvas' files Moodle gets nothing; and a grade book in which nobody has handed in is another course's."""
    (graded / "sheet.csv").write_text("Identifier,Full name,Grade,Maximum grade\nParticipant 1,Anna,,5.00\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"no submission is a folder of Moodle's.*with folders.*FOR=canvas"):
        export.export(nano, graded, "moodle", graded / "sheet.csv")
    (graded / "in.csv").write_text(BOOK.replace("4711", "4799"), encoding="utf-8")
    with pytest.raises(CourseError, match=r"nobody in this grade book has handed in"):
        export.export(nano, graded, "canvas", graded / "in.csv", "Nano (55)")
    assert not list(graded.glob("moodle*")) + list(graded.glob("canvas*"))
