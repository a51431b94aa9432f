"""Points leave in the forms that platforms read, and texts are read in a browser."""

import csv
import io
import json
import threading
import urllib.error
import urllib.request
import zipfile

import pytest

from course import book, collect, export, grade, hand, make, reading, roster
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
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


LANGUAGES = {
    "en": ("Participant ", "Identifier", "Grade", "Last modified (grade)", "Maximum grade"),
    "de": ("Teilnehmer/in", "ID", "Bewertung", "Zuletzt geändert (Bewertung)", "Bestwertung"),
    "fr": ("Participant", "Identifiant", "Note", "Dernière modification (note)", "Note maximale"),
}
TIME = "Tuesday, 17 November 2026, 10:15 AM"


def worksheet(language: str, people: dict[str, str], most="5.00") -> str:
    participant, identifier, grade, modified, maximum = LANGUAGES[language]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([identifier, "Full name", "Status", grade, maximum, "Changes?", "Submitted", modified, "Comments"])
    for number, name in people.items():
        writer.writerow([f"{participant}{number}", name, "Submitted", "", most, "Yes", TIME, "-", "+1, as said"])
    return text.getvalue()


def imported_by_moodle(data: bytes, language: str) -> dict[str, tuple[str, str, str]]:
    """What Moodle's importer (mod/assign/feedback/offline) takes: three headings in its language, ids behind its own word."""
    participant, identifier, grade, modified, _ = LANGUAGES[language]
    columns, *records = csv.reader(io.StringIO(data.decode("utf-8-sig")))
    assert {identifier, grade, modified} <= set(columns), "the importer refuses the file"
    assert all(len(record) == len(columns) for record in records)
    places = [columns.index(name) for name in (identifier, grade, modified, "Comments")]
    found = {}
    for record in records:
        name, points, when, comment = (record[place] for place in places)
        found[name[len(participant) :]] = points, when, comment
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_moodle_gets_its_own_worksheet_back(nano, graded, language):
    people = {"101": "Anna Ünal", "102": "Ben Bo", "103": "Dora"}
    (graded / "sheet.csv").write_bytes(b"\xef\xbb\xbf" * (language == "en") + worksheet(language, people).encode())
    said = export.export(nano, graded, "moodle", graded / "sheet.csv")
    assert said == [
        "2 of 3 students have texts that nobody has read yet: make read SET=nano",
        "u777.ipynb is no folder of Moodle's: download all submissions with folders",
    ]
    data = (graded / "moodle.csv").read_bytes()
    rest = ("-", "+1, as said")
    assert imported_by_moodle(data, language) == {"101": ("4.5", *rest), "102": ("1", *rest), "103": ("", *rest)}
    assert data.startswith(b"\xef\xbb\xbf") == (language == "en")
    with zipfile.ZipFile(graded / "moodle-feedback.zip") as packed:
        assert packed.namelist() == [f"{NAMES[student]}/{student}.html" for student in ("anna", "ben")]


def test_a_worksheet_that_does_not_fit_is_said(nano, graded):
    (graded / "sheet.csv").write_text(worksheet("en", {"101": "Anna"}, most="100,00"))
    said = export.export(nano, graded, "moodle", graded / "sheet.csv")
    assert "Moodle's highest grade is 100,00, and this set has 5 points: change it there" in said
    assert "the worksheet has no line for Ben Bo_102_assignsubmission_file_" in said
    with pytest.raises(CourseError, match="Moodle takes its own grading worksheet back"):
        export.export(nano, graded, "moodle")
    (graded / "sheet.csv").write_text("Identifier,Grade,Other\nParticipant 101,,\n")
    with pytest.raises(CourseError, match=r"Say COLUMN='...'; it has Identifier, Grade, Other"):
        export.export(nano, graded, "moodle", graded / "sheet.csv")
    export.export(nano, graded, "moodle", graded / "sheet.csv", "Grade")
    assert [row["Grade"] for row in lines(graded / "moodle.csv")] == ["4.5"]


def handed(*names: str) -> list[dict]:
    return [{"student": name, "handed in as": name} for name in names]


def test_only_what_the_platform_wrote_says_whose_a_file_is():
    """A file whose own name holds another's id takes nothing away from that person, and brings nothing."""
    people = [{"ID": "55501", "Student": "M, Mallory"}, {"ID": "55502", "Student": "V, Victor"}]
    files = handed("mallorym_55501_99_55502.ipynb", "victorv_LATE_55502_98_ps2.ipynb")
    claims, left = roster.claimed(people, files)
    assert [[row["student"] for row in rows] for _, rows in claims] == [[files[0]["student"]], [files[1]["student"]]]
    files = handed("Mallory M_55501_assignsubmission_file_55502.ipynb")
    assert [len(rows) for _, rows in roster.claimed(people, files)[0]] == [1, 0]
    claims, left = roster.claimed(people, handed("55501 55502.ipynb", "55502.ipynb"))
    assert [[row["student"] for row in rows] for _, rows in claims] == [[], ["55502.ipynb"]]
    assert left == handed("55501 55502.ipynb")


def test_of_two_files_the_later_counts_and_it_is_said():
    files = handed("annau_LATE_7_120_ps2-1.ipynb", "annau_7_99_ps2.ipynb", "u8-2.ipynb", "u8.ipynb", "u8-1.ipynb")
    claims, left = roster.claimed([{"ID": "7"}, {"ID": "u8"}], files)
    assert left == []
    assert [rows[-1]["student"] for _, rows in claims] == ["annau_LATE_7_120_ps2-1.ipynb", "u8-2.ipynb"]
    assert roster.doubled(claims)[0] == "annau_7_99_ps2.ipynb is an earlier file than annau_LATE_7_120_ps2-1.ipynb, which counts"


def test_nobody_gets_nothing_where_a_file_holds_the_id(nano, graded):
    made = book.Book(graded)
    for name in ("x_1_2_u888.ipynb", "u999.ipynb", "u999-1.ipynb"):
        made.save(grade.nothing(collect.Handed(name, None, name, [], "d"), "", [], make.release(nano)))
    (graded / "class.csv").write_text("Name,ID\nDora,u888\nEve,u999\nFinn,u000\n")
    said = export.export(nano, graded, "roster", graded / "class.csv")
    found = {row["Name"]: (row["total"], row["student"], row["notes"]) for row in lines(graded / "grades-by-roster.csv")}
    assert found["Dora"] == ("", "", "not clear whose: x_1_2_u888.ipynb")
    assert found["Eve"][:2] == ("0", "u999-1.ipynb")
    assert found["Finn"] == ("0", "", "nothing was handed in")
    assert "u999.ipynb is an earlier file than u999-1.ipynb, which counts" in said
    assert (graded / "grades-by-roster.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert (graded / "grades.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_canvas_gets_its_own_table_back(nano, graded):
    exported = 'Student,ID,SIS Login ID,"PS nano (55)"\n"    Points Possible",,,5\n"Ünal, Anna",101,u555,\n'
    exported += '"C, Cleo",9,u777,\n"-, Dora",8,u888,1\n'
    (graded / "canvas-in.csv").write_text(exported, encoding="utf-8")
    with pytest.raises(CourseError, match=r"Say COLUMN='...'; the file has PS nano \(55\)"):
        export.export(nano, graded, "canvas", graded / "canvas-in.csv")
    said = export.export(nano, graded, "canvas", graded / "canvas-in.csv", "PS nano (55)")
    assert [row["PS nano (55)"] for row in lines(graded / "canvas.csv")] == ["5", "4.5", "2", "1"]
    assert said[1:] == ["nobody in the grade book has handed in Ben Bo_102_assignsubmission_file_"]
    assert '\n"-, Dora",8,u888,1' in (graded / "canvas.csv").read_text(encoding="utf-8")  # as Canvas wrote it


def test_a_roster_decides_who_is_in_the_class(nano, graded):
    (graded / "roster.csv").write_bytes("Name;ID\nAnna Ünal;\nCleo;U777\nDora;888\n".encode("cp1252"))
    said = export.export(nano, graded, "roster", graded / "roster.csv")
    found = {row["Name"]: (row["student"], row["total"], row["notes"]) for row in lines(graded / "grades-by-roster.csv")}
    assert found == {"Anna Ünal": ("anna", "4.5", ""), "Cleo": ("cleo", "2", ""), "Dora": ("", "0", "nothing was handed in")}
    assert len(said) == 2
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
