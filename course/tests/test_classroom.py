"""A class made by a script knows what each of its submissions deserves."""

import csv
import json
import re

import pytest

from course import book, collect, export, grade, hand, make, numbers, roster, source
from course.tests import classroom, zoo

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere"),
]


def test_every_distractor_costs_what_it_loses_and_never_all_points_for_some_cases():
    problems = source.read("ps2")
    names = numbers.solved(problems)
    assert [test.name for test in problems.tests if not classroom.verdict(problems, test.name, names).passed] == []
    points = {test.name: test.points for test in problems.tests}
    for cell, found in classroom.mistakes_of("ps2"):
        assert set() < set(found) <= set(cell.loses[1:]), cell.source
        assert cell.loses[0] != "fit-error" or set(found) == {"fit-error-values"}  # what uses it is carried
        assert all(0.5 <= cost <= points[name] for name, cost in found.items())


def test_a_class_is_the_same_for_the_same_seed_and_a_wrong_row_is_found(tmp_path):
    classroom.make_class(tmp_path, 24)
    first = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    classroom.make_class(tmp_path, 24)
    assert first == {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    typed = [path for path in (tmp_path / "submissions").iterdir() if classroom.TYPED in path.name]
    beside = {path.name.replace(classroom.TYPED, "assignsubmission_file_") for path in typed}
    assert sum((tmp_path / "submissions" / name).is_dir() for name in beside) == len(typed) - 1 > 5
    assert len(list((tmp_path / "submissions").iterdir())) == 24 + len(typed) - 1
    with (tmp_path / classroom.SAID).open(newline="", encoding="utf-8-sig") as file:
        rows = [line | {"by hand": "0", "notes": "; ".join(json.loads(line["notes"]))} for line in csv.DictReader(file)]
    assert len({row["by tests"] for row in rows}) > 4
    (tmp_path / "grades").mkdir()

    def differences(change) -> list[str]:
        made = [dict(row) for row in rows]
        change(made)
        book.write(tmp_path / "grades/grades.csv", book.table(made))
        return classroom.differences(tmp_path)

    assert differences(lambda made: None) == []
    assert "_1009_assignsubmission_file_: 1 points" in differences(lambda made: made[9].update({"by tests": "1"}))[0]
    assert "has no row" in differences(lambda made: made.pop(3))[0]
    assert "no note says 'longer than'" in differences(lambda made: made[0].update(notes=""))[0]
    assert "a note says 'stolen'" in differences(lambda made: made[12].update(notes="stolen"))[0]
    assert "points to be read" in differences(lambda made: made[0].update({"to be read": "0"}))[0]
    assert "not handed in" in differences(lambda made: made.append(made[0] | {"handed in as": "x"}))[0]


def test_every_kind_of_the_zoo_is_in_the_class_and_nobody_gets_anothers_points(tmp_path):
    """Each on the list gets what their own file deserves: of two files the later, whatever number stands in its own name."""
    assert set(zoo.ZOO) - {*classroom.COMMON, *classroom.RARE} == {"correct"}  # which most of them are
    classroom.make_class(tmp_path, classroom.ROOM)
    with (tmp_path / classroom.SAID).open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.DictReader(file)]
    names = [row["handed in as"] for row in rows]
    assert sum("_LATE_2000_" in name or name.startswith((".", "surnamename_2000_")) for name in names) == 3
    blank = dict.fromkeys(("by hand", "total", "of"), "0")
    found = [row | blank | {"student": row["handed in as"]} for row in rows]
    (tmp_path / "grades").mkdir()

    def astray(found) -> list[str]:
        said = export.for_roster(tmp_path / "grades", found, roster.read_table(tmp_path / "roster.csv"))
        assert [sentence.partition(" is an earlier")[0] for sentence in said] == ["surnamename_2000_90000_ps2.ipynb"]
        return classroom.astray(tmp_path)

    assert astray(found) == []
    found[3]["by tests"] = "23.5"
    (said,) = astray(found)
    assert said.startswith("1003 got 23.5 points by tests, deserves")


def test_a_class_that_is_there_goes_on_and_says_so(tmp_path, monkeypatch, capsys):
    classroom.make_class(tmp_path, 6)
    asked = []
    monkeypatch.setattr(classroom.grade, "main", lambda words: asked.append(words) or 1)
    assert classroom.main([str(tmp_path), "--size", "30"]) == 1
    assert "holds a class of 6 already" in capsys.readouterr().out
    assert len(roster.read_table(tmp_path / classroom.SAID)) == 6
    assert asked[0][:2] == ["ps2", str(tmp_path / "submissions")]


def test_a_rehearsal_says_how_long_it_took_and_beside_what(tmp_path, monkeypatch, capsys):
    """Minutes by the clock mean nothing without the jobs, the cores, and what else ran on them."""
    problems = source.read("ps2")

    def graded(_) -> int:
        made = book.Book(tmp_path / "grades")
        for name in ("s000.ipynb", "Student 001_1001_assignsubmission_file_"):
            made.save(grade.nothing(collect.Handed(name, None, name), "", [], make.release(problems)))
        grade.settle(problems, made, hand.Hand(problems))
        return 0

    monkeypatch.setattr(classroom.grade, "main", graded)
    assert classroom.main([str(tmp_path), "--size", "3", "--jobs", "4"]) == 1
    told = re.search(
        r"2 submissions, 0\.\d minutes by the clock and 0\.0 of processor time, 4 at a time on \d+ cores with a load of"
        r" \d+\.\d before: \d+ differences from what is deserved",
        capsys.readouterr().out,
    )
    assert told
