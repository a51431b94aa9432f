"""Grading from end to end: every submission gets what it deserves, and none stops the others."""

import csv
import os
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from course import grade, shield, source
from course.kernel import Limits
from course.tests import zoo

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere"),
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was graded"),
]


@pytest.fixture(scope="module")
def problems() -> source.ProblemSet:
    return source.read("ps2")


@pytest.fixture(scope="module")
def animals(problems) -> dict[str, zoo.Submission]:
    release = zoo.release_of("ps2")
    return {name: make(problems, release) for name, make in zoo.ZOO.items()}


@pytest.fixture(scope="module")
def graded(problems, animals, tmp_path_factory) -> Path:
    """The folder that make grade leaves behind; some students hand in a file, some a folder."""
    handed = tmp_path_factory.mktemp("handed")
    for index, (name, animal) in enumerate(animals.items()):
        path = handed / f"{name}.ipynb" if index % 2 else handed / name / "ps2.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(animal.text, encoding="utf-8")
    (handed / "nothing").mkdir()
    out = tmp_path_factory.mktemp("grades")
    rows = grade.grade(problems, handed, out, Limits(cell=6, call=3, test=9, memory=1500, shield="basic"), jobs=2)
    assert len(rows) == len(animals) + 1
    return out


def rows(out: Path) -> dict[str, dict]:
    with (out / "grades.csv").open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", zoo.ZOO)
def test_every_submission_gets_what_it_deserves(graded, animals, name):
    row, animal = rows(graded)[name], animals[name]
    assert float(row["by tests"]) == animal.points, row
    assert float(row["to be read"]) == animal.to_read, row
    assert row["of"] == "28"
    assert all(note in row["notes"] for note in animal.notes), row["notes"]
    page = BeautifulSoup((graded / "feedback" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    assert [word for word in animal.never if word in row["notes"] + page.get_text()] == []


def test_a_missing_submission_is_in_the_table(graded):
    assert rows(graded)["nothing"]["total"] == "0"
    assert "no notebook in the folder" in rows(graded)["nothing"]["notes"]


@pytest.mark.parametrize("name", zoo.ZOO)
def test_feedback_shows_no_hidden_test_and_runs_no_script(graded, problems, name):
    page = (graded / "feedback" / f"{name}.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(page, "html.parser")
    text = soup.get_text()
    hidden = [line.strip() for test in problems.tests for line in test.secret if len(line.strip()) > 30]
    assert hidden
    assert [line for line in hidden if line in text] == []
    assert not soup.find_all("script")
    assert not soup.find_all(onerror=True)


def test_feedback_tells_what_failed(graded):
    text = BeautifulSoup((graded / "feedback/partly.html").read_text(encoding="utf-8"), "html.parser").get_text()
    assert "the points may come in any order" in text
    assert "20 of 28 points; texts for 7 points are still to be read." in " ".join(text.split())
    assert "71 per cent of the cases pass" in text


def test_texts_are_graded_in_a_table_and_entered(graded, problems):
    path = graded / "by_hand.csv"
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = list(csv.DictReader(file))
    assert {line["answer"] for line in lines if line["student"] == "partly"} == {"derivation", "runaway"}
    assert not [line for line in lines if line["student"] == "empty"]
    for line in lines:
        if line["student"] == "correct":
            line |= {"score": line["of"], "comment": "well said"}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    grade.grade(problems, None, graded, Limits())
    assert rows(graded)["correct"]["total"] == "28"
    assert rows(graded)["correct"]["to be read"] == "0"
    assert rows(graded)["partly"]["total"] == "20"
    assert "28 of 28 points (35 with the optional part)." in (graded / "feedback/correct.html").read_text(encoding="utf-8")
    assert "well said" in (graded / "feedback/correct.html").read_text(encoding="utf-8")


def test_errors_are_sentences(tmp_path, capsys):
    def said(*arguments) -> str:
        assert grade.main([str(argument) for argument in arguments]) == 1
        return capsys.readouterr().err

    out = ("--out", tmp_path.with_name(f"{tmp_path.name}-out"))
    assert "there is no problem set 'ps99'; there are" in said("ps99", tmp_path, *out)
    assert "there is no folder" in said("ps2", tmp_path / "none", *out)
    assert "there is no notebook in" in said("ps2", tmp_path, *out)
    assert "nothing of ps2 was graded yet" in said("ps2", *out)


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process grades once by itself")
def test_all_look_at_one_class_which_is_graded_once(graded):
    assert list(graded.parent.parent.glob(f"*/{graded.name}")) == [graded]
