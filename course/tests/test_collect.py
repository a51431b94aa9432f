"""Submissions as they are named and packed: each file a row, each student one name."""

import pytest

from course import book, collect
from course.make import CourseError


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")


def test_submissions_are_found_as_files_and_in_folders(tmp_path):
    put(tmp_path, "anna.ipynb", "ben_1234_/ps2.ipynb", "ben_1234_/notes.ipynb", "c é*/deep/other.IPYNB")
    put(tmp_path, "two/a.ipynb", "two/b.ipynb", "x.txt", "D.IPYNB", "eve.ipynb.txt", "f.py", "g.zip", "h/h.zip")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "thief.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "thieves").mkdir()
    (tmp_path / "thieves/ps2.ipynb").symlink_to("/etc/passwd")
    found, others = collect.collect(tmp_path, "ps2")
    paths = {one.student: one.path and one.path.relative_to(tmp_path).as_posix() for one in found}
    assert paths == {
        **{"anna": "anna.ipynb", "ben_1234_": "ben_1234_/ps2.ipynb", "c_é_": "c é*/deep/other.IPYNB", "D": "D.IPYNB"},
        **{"eve": "eve.ipynb.txt", "f": None, "g": None, "h": None, "nothing": None, "thief": None, "thieves": None, "two": None},
    }
    notes = {one.student: one.notes for one in found}
    assert notes["two"] == ["2 notebooks and not one named ps2.ipynb in the folder"]
    assert notes["thief"] == ["a link is no submission"]
    assert notes["f"] == ["a script (.py) is no notebook: ask for the .ipynb file"]
    assert notes["g"] == ["an archive that is still packed (.zip) is no notebook: ask for the .ipynb file"]
    assert notes["h"] == ["no notebook in the folder, but an archive that is still packed"]
    assert others == ["x.txt"]


def test_a_text_typed_into_moodle_is_no_second_submission(tmp_path):
    """Beside the file it is left alone, in folders and without them; where it is all there is, its row says so."""
    typed = "assignsubmission_onlinetext_"
    put(tmp_path, "Anna_101_assignsubmission_file_/ps2.ipynb", f"Anna_101_{typed}/onlinetext.html")
    put(tmp_path, "Ben_102_assignsubmission_file_ps2.ipynb", f"Ben_102_{typed}onlinetext.html")
    put(tmp_path, f"Cleo_103_{typed}/onlinetext.html")
    found, others = collect.collect(tmp_path, "ps2")
    notes = {one.name: one.notes for one in found}
    assert notes == {
        "Anna_101_assignsubmission_file_": [],
        "Ben_102_assignsubmission_file_ps2.ipynb": [],
        f"Cleo_103_{typed}": ["only an online text was handed in: ask for the .ipynb file"],
    }
    assert others == [f"Anna_101_{typed}", f"Ben_102_{typed}onlinetext.html"]


def test_no_folder_and_an_empty_one_are_said(tmp_path):
    with pytest.raises(CourseError, match="no notebook in"):
        collect.collect(tmp_path, "ps2")
    with pytest.raises(CourseError, match="no folder"):
        collect.collect(tmp_path / "none", "ps2")


def test_two_names_never_become_one(tmp_path):
    """Names that differ by signs, by case or by the way an accent is written; and a latecomer changes nobody's name."""
    first = ["anna b.ipynb", "Anna.ipynb", "José.ipynb"]
    put(tmp_path / "first", *first)
    before, _ = collect.collect(tmp_path / "first", "ps2")
    known = {one.name: one.student for one in before}
    put(tmp_path / "late", "anna_b.ipynb", "anna!b.ipynb", "anna.ipynb", "Jose\u0301.ipynb", "Anna.ipynb")
    after, _ = collect.collect(tmp_path / "late", "ps2", known)
    students = {one.name: one.student for one in after}
    assert students["Anna.ipynb"] == known["Anna.ipynb"] == "Anna"
    everybody = {**known, **students}
    assert len({collect.alike(student) for student in everybody.values()}) == len(everybody) == 7


def test_names_run_nothing_in_a_spreadsheet_and_on_a_screen():
    assert book.harmless('=HYPERLINK("http://x","y").ipynb').startswith("'=")
    assert [book.harmless(text)[0] for text in ("@SUM(1)", "+1+1", "-2+3")] == ["'"] * 3
    assert [book.harmless(text) for text in ("-2.5", "17", "anna")] == ["-2.5", "17", "anna"]
    assert book.shown("\x1b[2Janna\x07\u202egnp") == "�[2Janna��gnp"
    text = book.table([{"student": "a", "handed in as": "=1+1\x1b[31m"}])
    assert text == "\ufeffstudent,handed in as\r\na,'=1+1�[31m\r\n"
    assert collect.called("=cmd.ipynb", {}) == "_cmd"
    assert collect.called("-rf.ipynb", {}) == "rf"


def test_a_file_that_begins_with_a_dot_has_its_row(tmp_path):
    put(tmp_path, ".anna.ipynb", "._ben.ipynb", ".DS_Store", ".ipynb_checkpoints/ben.ipynb", ".profile", ".dora/ps2.ipynb")
    found, others = collect.collect(tmp_path, "ps2")
    assert {one.student: one.name for one in found} == {"anna": ".anna.ipynb", "dora": ".dora"}
    assert others == [".profile"]


def test_names_of_long_letters_leave_room_for_what_is_made_of_them(tmp_path):
    """63 letters of four bytes, and the same in small: the second needs a sign of its own, and both still name files."""
    put(tmp_path, *(f"{letter * 63}/ps2.ipynb" for letter in "\U00010400\U00010428"))
    found, _ = collect.collect(tmp_path, "ps2")
    assert len({one.student for one in found}) == 2
    for one in found:
        book.write(tmp_path / f"{one.student}.html", "")
