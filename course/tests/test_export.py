"""Points leave in the forms that platforms read, and texts are read in a browser."""

import csv
import io
import json
import threading
import urllib.error
import urllib.request
import zipfile

import pytest

from course import book, collect, export, grade, hand, make, reading
from course.make import CourseError

NAMES = {"anna": "Anna Ünal_101_assignsubmission_file_", "ben": "Ben Bo_102_assignsubmission_file_", "cleo": "u777.ipynb"}
EVIL = "<img src=x onerror=alert(1)> $x^2$"


@pytest.fixture
def graded(nano, tmp_path):
    """Three students: one read, one not, one who is in no platform's folder."""
    made = book.Book(tmp_path)
    entered = hand.Hand(nano)
    for student, name in NAMES.items():
        record = grade.nothing(collect.Handed(name, None, student, [], "d"), "", [], make.release(nano))
        next(cell for cell in record["cells"] if cell["id"] == "why")["source"] = EVIL
        record["verdicts"]["one-value"] = {"passed": student != "ben", "line": "", "share": 0.5 if student == "ben" else 1.0}
        made.save(record)
        entered.expect(student, book.texts(nano, record))
    entered.entries["anna", "why"].score = 2.5
    book.write(tmp_path / "by_hand.csv", entered.file())
    grade.settle(nano, made, entered)
    return tmp_path


def lines(path) -> list[dict]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_moodle_gets_its_worksheet_and_its_zip(nano, graded):
    said = export.export(nano, graded, "moodle")
    assert said == ["u777.ipynb is no folder of Moodle's: download all submissions with folders"]
    assert [(row["Identifier"], row["Full name"], row["Grade"]) for row in lines(graded / "moodle.csv")] == [
        ("Participant 101", "Anna Ünal", "4.5"),
        ("Participant 102", "Ben Bo", "1"),
    ]
    with zipfile.ZipFile(graded / "moodle-feedback.zip") as packed:
        assert packed.namelist() == [f"{NAMES[student]}/{student}.html" for student in ("anna", "ben")]


def test_canvas_gets_its_own_table_back(nano, graded):
    exported = 'Student,ID,SIS Login ID,"PS nano (55)"\n"    Points Possible",,,5\n"Ünal, Anna",101,u555,\n'
    exported += '"C, Cleo",9,u777,\n"D, Dora",8,u888,1\n'
    (graded / "canvas-in.csv").write_text(exported, encoding="utf-8")
    with pytest.raises(CourseError, match=r"Say COLUMN='...'; the file has PS nano \(55\)"):
        export.export(nano, graded, "canvas", graded / "canvas-in.csv")
    said = export.export(nano, graded, "canvas", graded / "canvas-in.csv", "PS nano (55)")
    assert [row["PS nano (55)"] for row in lines(graded / "canvas.csv")] == ["5", "4.5", "2", "1"]
    assert said == ["nobody in the grade book has handed in Ben Bo_102_assignsubmission_file_"]


def test_a_roster_decides_who_is_in_the_class(nano, graded):
    (graded / "roster.csv").write_bytes("Name;ID\nAnna Ünal;\nCleo;U777\nDora;888\n".encode("cp1252"))
    said = export.export(nano, graded, "roster", graded / "roster.csv")
    found = {row["Name"]: (row["student"], row["total"], row["notes"]) for row in lines(graded / "grades-by-roster.csv")}
    assert found == {"Anna Ünal": ("anna", "4.5", ""), "Cleo": ("cleo", "2", ""), "Dora": ("", "0", "nothing was handed in")}
    assert len(said) == 1
    with pytest.raises(CourseError, match="there is no file"):
        export.export(nano, graded, "roster", graded / "none.csv")


def test_pages_bear_the_names_of_the_roster(nano, graded):
    """Given once, it is kept; without it Moodle's folder tells the name, and a page that needs no change is not written again."""
    (graded / "class.csv").write_bytes("Name;ID\nÜnal, Anna;101\nCleo <b>C</b>;U777\n".encode("cp1252"))
    grade.keep_roster(graded / "class.csv", graded)
    made, entered = book.Book(graded), hand.Hand(nano, graded / "by_hand.csv")
    grade.settle(nano, made, entered)
    pages = {student: graded / "feedback" / f"{student}.html" for student in NAMES}
    texts = {student: path.read_text(encoding="utf-8") for student, path in pages.items()}
    assert "<strong>Ünal, Anna</strong>: 4.5 of 5 points." in texts["anna"]
    assert "<strong>Ben Bo</strong>" in texts["ben"]
    assert "<strong>Cleo &lt;b&gt;C&lt;/b&gt;</strong>" in texts["cleo"]
    before = {student: path.stat().st_mtime_ns for student, path in pages.items()}
    grade.settle(nano, made, entered)
    assert before == {student: path.stat().st_mtime_ns for student, path in pages.items()}
    with pytest.raises(CourseError, match="there is no file"):
        grade.keep_roster(graded / "none.csv", graded)


def test_all_pages_in_a_zip(nano, graded):
    export.export(nano, graded, "zip")
    with zipfile.ZipFile(graded / "feedback.zip") as packed:
        assert packed.namelist() == ["feedback/anna.html", "feedback/ben.html", "feedback/cleo.html"]


def test_nbgrader_finds_a_course(nano, graded):
    """Its tools look for scores in the outputs of test cells, and for their marks in the metadata."""
    export.export(nano, graded, "nbgrader")
    made = json.loads((graded / "course/submitted/ben/nano/nano.ipynb").read_text(encoding="utf-8"))
    test = next(cell for cell in made["cells"] if cell["id"] == "one-value")
    assert test["outputs"][0]["data"]["text/plain"] == ["1"]
    assert test["metadata"]["nbgrader"]["points"] == 2
    assert (graded / "course/source/nano/nano.ipynb").is_file()


@pytest.fixture
def desk(nano, graded):
    made, address = reading.server(reading.Desk(nano, graded))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield address
    made.shutdown()
    made.server_close()


def ask(address: str, sent: dict | None = None, **headers) -> str:
    data = json.dumps(sent).encode() if sent is not None else None
    request = urllib.request.Request(address, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=600) as reply:
        return reply.read().decode()


def test_texts_are_read_beside_their_rubric_and_saved_as_one_goes(nano, graded, desk):
    base, first = desk.rsplit("/", 1)
    assert first == "1"  # anna's was read already
    page = ask(desk)
    assert "Because." in page
    assert "<msup>" in page
    assert "<img src=x" not in page
    assert 'data-student="ben"' in page
    assert ": Ben Bo</h2>" in page
    sent = {"student": "ben", "answer": "why", "score": "1,5", "comment": "so; so, “la”"}
    assert json.loads(ask(f"{base}/save", sent)) == {"error": ""}
    assert 'value="1.5"' in ask(desk)
    table = {row["student"]: row["total"] for row in lines(graded / "grades.csv")}
    assert table == {"anna": "4.5", "ben": "2.5", "cleo": "2"}
    read = hand.Hand(nano, graded / "by_hand.csv")
    assert read.comment("ben", "why") == "so; so, “la”"
    assert read.entries["anna", "why"].score == 2.5
    for wrong, sentence in (("9", "between 0 and 3"), ("x", "is no score"), ("nan", "between 0 and 3")):
        assert sentence in json.loads(ask(f"{base}/save", sent | {"score": wrong}))["error"]
    assert "no such text" in json.loads(ask(f"{base}/save", sent | {"student": "zoe"}))["error"]
    assert hand.Hand(nano, graded / "by_hand.csv").entries["ben", "why"].score == 1.5


def test_the_desk_is_for_whoever_knows_its_address(desk):
    base, _ = desk.rsplit("/", 1)
    host = base.rsplit("/", 1)[0]
    others = [(f"{host}/1", {}), (f"{host}/guess/1", {}), (desk, {"Host": "elsewhere.example"}), (f"{base}/99", {})]
    for address, headers in others:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask(address, **headers)


@pytest.mark.browser
def test_texts_are_read_in_a_browser_by_keys_alone(nano, graded, desk, chromium):
    """Score, Enter, comment, back: what is typed is in the file, and what a student wrote runs nothing."""
    context = chromium.new_context()
    page, heard = context.new_page(), []
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: None if request.url.startswith(desk.rsplit("/", 1)[0]) else heard.append(request.url))
    page.goto(desk)
    assert "Ben Bo" in page.title()  # as the platform calls him
    assert page.evaluate("document.activeElement.id") == "score"
    page.keyboard.type("1,5")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "cleo" in page.title()
    assert hand.Hand(nano, graded / "by_hand.csv").entries["ben", "why"].score == 1.5
    page.keyboard.press("c")
    page.keyboard.type("np is no key here")
    page.keyboard.press("Escape")
    page.locator("#said", has_text="saved").wait_for()
    with page.expect_navigation():
        page.keyboard.press("p")
    assert page.input_value("#score") == "1.5"
    page.fill("#score", "99")
    page.keyboard.press("Enter")
    page.wait_for_selector("#said.bad")
    assert "between 0 and 3" in page.inner_text("#said")
    assert "Ben Bo" in page.title()  # a wrong score does not go on
    read = hand.Hand(nano, graded / "by_hand.csv")
    assert (read.entries["ben", "why"].score, read.comment("cleo", "why")) == (1.5, "np is no key here")
    assert heard == []
    context.close()
