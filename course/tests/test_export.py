"""Points leave in the forms that platforms read, and texts are read in a browser."""

import csv
import dataclasses
import io
import json
import re
import threading
import urllib.error
import urllib.request
import zipfile

import pytest

from course import book, collect, export, grade, hand, make, reading, roster, source
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
        next(cell for cell in record["cells"] if cell["id"] == "why")["source"] = f"{EVIL} {student}"
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
    assert feedback_in_moodle(graded) == {"101": ["anna.html"], "102": ["ben.html"]}


def feedback_in_moodle(graded) -> dict[str, list[str]]:
    """The pages that Moodle's importer of feedback gives to each participant: of the path five parts between _, the second a
    number; the third and the fourth name what can hold files. What begins with a dot or ~ it leaves out."""
    found: dict[str, list[str]] = {}
    with zipfile.ZipFile(graded / "moodle-feedback.zip") as packed:
        for path in packed.namelist():
            _, number, *kind, name = path.split("_", 4)
            assert number.isdigit()
            assert kind == ["assignsubmission", "file"]
            assert not path.rpartition("/")[2].startswith((".", "~"))
            found.setdefault(number, []).append(name.removeprefix("/"))
    return found


@pytest.mark.parametrize("names", [("file_ps2.ipynb", "file_old.ipynb"), ("file_old.ipynb", "file_ps2.ipynb")])
def test_two_files_of_one_student_in_moodle_are_said(nano, graded, names):
    """The order of the table is no reason. A number that the platform or a browser put at the end is one."""
    made = book.Book(graded)
    for number, student in enumerate(("anna", "ben")):
        for name in names:
            handed = f"Dora_{103 + number}_assignsubmission_{name}".replace("old", "ps2-1" if number else "old")
            made.save(made.records[student] | {"student": handed, "name": handed})
            book.write(graded / "feedback" / f"{handed}.html", "a page")
    (graded / "sheet.csv").write_text(worksheet("en", {"103": "Dora", "104": "Dora"}))
    said = export.export(nano, graded, "moodle", graded / "sheet.csv")
    given = imported_by_moodle((graded / "moodle.csv").read_bytes(), "en")
    assert (given["103"][0], given["104"][0]) == ("", "1")
    odd = [sentence for sentence in said if "nothing says which of the two counts" in sentence]
    assert len(odd) == 1
    assert all(f"Dora_103_assignsubmission_{name}" in odd[0] for name in names)
    later = "Dora_104_assignsubmission_file_ps2-1.ipynb"
    assert f"{later.replace('-1', '')} is an earlier file than {later}, which counts" in said
    assert feedback_in_moodle(graded) == {"101": ["anna.html"], "102": ["ben.html"], "104": [f"{later}.html"]}
    (graded / "class.csv").write_text("Name,ID\nDora,103\n")
    export.export(nano, graded, "roster", graded / "class.csv")
    (row,) = lines(graded / "grades-by-roster.csv")
    assert (row["total"], row["notes"].partition(":")[0]) == ("", "not clear which counts")


def test_a_file_in_moodle_counts_before_a_text_typed_there(nano, graded):
    """Whichever was handed in first; and who only typed a text has its points, and no advice on folders."""
    made, typed = book.Book(graded), "{}_assignsubmission_onlinetext_"
    for student in ("Anna Ünal_101", "Dora_103"):
        name = typed.format(student)
        made.save(grade.nothing(collect.Handed(name, None, name, [], "e"), "", [], make.release(nano)))
    (graded / "sheet.csv").write_text(worksheet("en", {"101": "Anna Ünal", "102": "Ben Bo", "103": "Dora"}))
    said = export.export(nano, graded, "moodle", graded / "sheet.csv")
    found = imported_by_moodle((graded / "moodle.csv").read_bytes(), "en")
    assert {number: points for number, (points, *_) in found.items()} == {"101": "4.5", "102": "1", "103": "0"}
    assert [sentence for sentence in said if "folder" in sentence and "u777" not in sentence] == []
    (graded / "class.csv").write_text("Name,ID\nAnna,101\nDora,103\n")
    said = export.export(nano, graded, "roster", graded / "class.csv")
    assert [row["total"] for row in lines(graded / "grades-by-roster.csv")] == ["4.5", "0"]
    assert f"{typed.format('Anna Ünal_101')} is an earlier file than {NAMES['anna']}, which counts" in said


def test_marks_for_nobody_are_said_wherever_they_pass(nano, graded):
    """By an export and by a merge, with no grading in between: else nobody hears of them."""
    theirs = hand.Hand(nano)
    theirs.entries["Ana", "why"] = hand.Entry(3.0)
    book.write(graded / "hers.csv", theirs.file())
    told = "by_hand.csv has 3 for why by Ana, who handed in no such text"
    assert reading.merge(nano, graded, [graded / "hers.csv"]) == [told]
    assert told in export.export(nano, graded, "zip")


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
    (said, *_) = roster.doubled(rows for _, rows in claims)
    assert said == "annau_7_99_ps2.ipynb is an earlier file than annau_LATE_7_120_ps2-1.ipynb, which counts"


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


SUMS = re.compile("(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)")
NO_STUDENT = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)


def imported_by_canvas(data: bytes) -> dict[str, dict[str, str]]:
    """What the importer of Canvas' grade book takes: for each assignment its points, and the grades by Canvas' own number.

    It tells the separator by the first three lines, wants Student and ID first and Section last of the columns about a student,
    and knows an assignment by the number at the end of its heading.
    """
    text = data.decode().removeprefix("\ufeff")
    sizes = {sign: {len(*csv.reader([line], delimiter=sign)) for line in text.splitlines()[:3]} for sign in ";,"}
    many = {sign: found.pop() if len(found) == 1 else 0 for sign, found in sizes.items()}
    sign = ";" if many[";"] > many[","] else ","
    head, *rest = csv.reader([line for line in text.splitlines() if line.strip(";, ")], delimiter=sign)
    assert len(head) > 3, "invalid header row"
    assert "Student" in head[0], "invalid header row"
    assert "ID" in head[1], "invalid header row"
    place = 2
    if head[2:4] == ["SIS User ID", "SIS Login ID"]:
        place = 4 + ("Integration ID" in head[4])
        place += "Root Account" in head[place]
    elif head[2] == "SIS Login ID":
        place = 3
    assert "Section" in head[place], "invalid header row"
    assert all(len(line) == len(head) for line in rest)
    columns = {name: k for k, name in enumerate(head) if k > place and not SUMS.search(name)}
    found: dict[str, dict[str, str]] = {re.search(r"\((\d+)\)$", name)[1]: {} for name in columns}
    for line in rest:
        if all(NO_STUDENT.fullmatch(value) for value in line):
            continue
        who = "points" if "Points Possible" in line[0] else line[1]
        assert who.isdigit() or who == "points", "a new student"
        for number, k in zip(found, columns.values()):
            grade = re.sub(r"[.,](?=.*[.,])", "", line[k].strip()).replace(",", ".")
            assert re.fullmatch(r"(\d+(\.\d+)?)?|EX", grade), "no grade"
            found[number][who] = grade
    return found


def grade_book(*people: str, sign: str = ",", mark: bytes = b"", points: str = "5") -> bytes:
    """As Canvas exports it: how grades are posted, points, students, its own student for tests; and sums, which are its own."""
    lines = [
        'Student,ID,SIS User ID,SIS Login ID,Section,"PS nano; 1; 2 (55)",Quiz (7),Current Score,Final Score',
        ",,,,,Manual Posting,,,",
        f"    Points Possible,,,,,{points},10,(read only),(read only)",
        *people,
        '"Student, Test",999,,9e1f,"A; B",,,,',
    ]
    text = io.StringIO("".join(f"{line}\n" for line in lines))
    if sign != ",":
        written = io.StringIO()
        csv.writer(written, delimiter=sign, lineterminator="\n").writerows(csv.reader(text))
        text = written
    return mark + text.getvalue().encode()


ANNA, CLEO = '"Ünal, Anna",101,9,u555,A,,8,80,80', '"C, Cleo",9,u777,c@x.edu,A,,,,'
DORA = '"-, Dora",8,u888,d@x.edu,A,1,9.5,95,95'


@pytest.mark.parametrize(("sign", "mark"), [(",", b""), (";", b"\xef\xbb\xbf")])
def test_canvas_gets_its_own_table_back(nano, graded, sign, mark):
    (graded / "canvas-in.csv").write_bytes(grade_book(ANNA, CLEO, DORA, sign=sign, mark=mark))
    before = imported_by_canvas((graded / "canvas-in.csv").read_bytes())
    with pytest.raises(CourseError, match=r"Say COLUMN='...'; the file has PS nano; 1; 2 \(55\), Quiz \(7\)$"):
        export.export(nano, graded, "canvas", graded / "canvas-in.csv", "Student")
    said = export.export(nano, graded, "canvas", graded / "canvas-in.csv", "PS nano; 1; 2 (55)")
    data = (graded / "canvas.csv").read_bytes()
    after = imported_by_canvas(data)
    assert data.startswith(mark)
    assert after["55"] == {"points": "5", "101": "4.5", "9": "2", "8": "1", "999": ""}
    assert set(before) == {"55", "7"}
    assert set(after) == {"55"}, "what else stands in an export may be old, and would come back"
    assert said[1:] == ["nobody in the grade book has handed in Ben Bo_102_assignsubmission_file_"]
    assert "-, Dora" in [line[0] for line in csv.reader(io.StringIO(data.decode()), delimiter=sign)]  # no sign before it


def test_a_grade_book_with_more_at_the_end_of_a_line(nano, graded):
    """A spreadsheet leaves commas there; what is no comma would be lost, and is said. So are other points than the set's."""
    (graded / "in.csv").write_bytes(grade_book(f"{ANNA},,", DORA, points="10.0"))
    said = export.export(nano, graded, "canvas", graded / "in.csv", "PS nano; 1; 2 (55)")
    assert imported_by_canvas((graded / "canvas.csv").read_bytes())["55"]["101"] == "4.5"
    assert "Canvas' points are 10.0, and this set has 5: change it there" in said
    (graded / "in.csv").write_bytes(grade_book(ANNA.replace('"', ""), DORA))
    with pytest.raises(CourseError, match=r"in.csv: the line of Ünal has more columns than the first line"):
        export.export(nano, graded, "canvas", graded / "in.csv", "PS nano; 1; 2 (55)")


def test_a_number_of_canvas_is_its_own_before_it_is_anybody_elses(nano, graded):
    """Cleo is 9 in Canvas, and Anna at the university."""
    made = book.Book(graded)
    for name in ("cleoc_9_120_nano.ipynb", "annau_LATE_101_119_nano-1.ipynb"):
        record = made.records["ben"] | {"student": name, "name": name}
        made.save(record)
    (graded / "in.csv").write_bytes(grade_book(ANNA, CLEO))
    said = export.export(nano, graded, "canvas", graded / "in.csv", "PS nano; 1; 2 (55)")
    found = imported_by_canvas((graded / "canvas.csv").read_bytes())["55"]
    assert (found["101"], found["9"]) == ("1", "1")
    assert not [sentence for sentence in said if "cleoc" in sentence and "nobody" in sentence]


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


def test_question_ticks_and_a_bank_of_comments_stand_beside_the_text(nano_text, graded):
    """A tick for each point of the rubric; the comments that were given for this answer, the most frequent first."""
    hint = "<details><summary>Hint 1: a</summary>\n\nSecret.\n\n</details>"
    asked = f"## Question 1 (5 points): one\n\nWhy is *one* no **two**?\n\n{hint}\n\n<!-- #region"
    rubric = "Because.\n\n**Rubric.** 1 point for $a;b$; 2 for the rest. No points for luck."
    made = source.parse("nano", nano_text.replace("<!-- #region", asked).replace("Because.", rubric))
    why = next(cell for cell in made.cells if cell.name == "why")
    assert reading.ticks(why) == [(1.0, "$a;b$"), (2.0, "the rest")]
    assert reading.ticks(dataclasses.replace(why, points=4)) == []  # a rubric that does not add up is read as it stands
    desk = reading.Desk(made, graded)
    for student, words in (("anna", "why?"), ("ben", "why?"), ("cleo", "<b>see</b>")):
        assert desk.save({"student": student, "answer": "why", "score": "1", "comment": words}) == ""
    page = desk.page(2, "n")
    assert "<em>one</em> no <strong>two</strong>" in page
    assert "Secret." not in page
    assert re.findall(r'<input type="checkbox" value="([\d.]+)">', page) == ["1", "2"]
    bank = page.split('<div id="bank">')[1].split("</div>")[0]
    assert re.findall(r"<button type=\"button\">(.*?)</button>", bank) == ["why?", "&lt;b&gt;see&lt;/b&gt;"]


def test_who_reads_blind_sees_no_name(nano, graded):
    desk = reading.Desk(nano, graded, blind=True)
    pages = [desk.page(index, "n") for index in range(3)]
    for page in pages:
        head = page.replace(page.split("</h2>")[1].split("</div>")[0], "", 1)  # all but the student's own words
        assert not any(name in head for name in ("anna", "ben", "cleo", "Anna", "Ben", "101", "102"))
    called = [re.search('data-student="([^"]+)"', page)[1] for page in pages]
    assert sorted(called) == sorted(map(desk.called, ("anna", "ben", "cleo")))
    assert desk.save({"student": desk.called("ben"), "answer": "why", "score": "2", "comment": ""}) == ""
    assert hand.Hand(nano, graded / "by_hand.csv").entries["ben", "why"].score == 2
    assert desk.save({"student": "ben", "answer": "why", "score": "2", "comment": ""}) == "there is no such text"


def test_equal_texts_are_read_once(nano, graded):
    """To the letter, for the same numbers, and where none of them was read before: anna has her score already."""
    made = book.Book(graded)
    for student, seed in (("anna", None), ("ben", None), ("cleo", None), ("dora", 7)):
        record = json.loads(json.dumps(made.records["anna"])) | {"student": student, "name": student, "seed": seed}
        made.save(record)
    desk = reading.Desk(nano, graded)
    entered = desk.hand()
    assert [student for _, student in desk.order] == ["anna", "ben", "dora"]
    assert "2 students wrote this very text" in desk.page(1, "n")
    assert desk.save({"student": "ben", "answer": "why", "score": "1", "comment": "both"}) == ""
    entered = hand.Hand(nano, graded / "by_hand.csv")
    scores = {student: entered.entries[student, "why"].score for student in ("anna", "ben", "cleo", "dora")}
    assert scores == {"anna": 2.5, "ben": 1, "cleo": 1, "dora": None}


def test_several_people_read_a_part_each_and_their_scores_are_merged(nano, graded, capsys):
    parts = [reading.Desk(nano, graded, shard=(number, 3)).order for number in (1, 2, 3)]
    assert sorted(text for part in parts for text in part) == reading.Desk(nano, graded).order
    files = []
    for name, scores in (("hers", {"ben": 1.0}), ("his", {"ben": 2.0, "cleo": 3.0, "anna": 2.5})):
        theirs = hand.Hand(nano, graded / "by_hand.csv")
        for student, score in scores.items():
            theirs.entries[student, "why"].score = score
        files.append(graded / f"{name}.csv")
        book.write(files[-1], theirs.file())
    said = reading.merge(nano, graded, files)
    assert said == ["his.csv: why by ben has 2 there and 1 here, which stays"]
    entered = hand.Hand(nano, graded / "by_hand.csv")
    assert {student: entered.entries[student, "why"].score for student in NAMES} == {"anna": 2.5, "ben": 1, "cleo": 3}
    assert list((graded / "backups").glob("by_hand-*.csv"))
    for wrong in ("4/3", "0/2", "half"):
        with pytest.raises(CourseError, match="the second of three"):
            reading.part(wrong)


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
