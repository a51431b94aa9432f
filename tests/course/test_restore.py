"""Submissions come back into shape, whatever was done to the file; what is given is never taken from a student."""

import copy
import json

import nbformat
import pytest

from tools.course import grade, restore


def submitted(release, **answers) -> dict:
    made = json.loads(nbformat.writes(release))
    for cell in made["cells"]:
        cell["source"] = answers.get(cell["id"].replace("-", "_"), cell["source"])
    return made


ANSWERS = {"twice": "def twice(x):\n    return x + x", "answer_of_all": "answer_of_all = 42", "why": "So it is."}


def back(tiny, release, made) -> tuple[dict[str, str], list[str]]:
    notebook, notes = restore.restore(tiny, json.dumps(made), release)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    assert {cell.id for cell in release.cells} <= set(ids)
    for cell in release.cells:
        twin = next(c for c in notebook.cells if c.id == cell.id)
        assert twin.metadata == cell.metadata
        if not cell.metadata.get("nbgrader", {}).get("solution"):
            assert twin.source == cell.source
    return {cell.id: cell.source for cell in notebook.cells}, notes


def test_an_untouched_file_is_left_alone(tiny, release):
    cells, notes = back(tiny, release, submitted(release, **ANSWERS))
    assert notes == []
    assert [cells[name] for name in ("twice", "answer-of-all", "why")] == list(ANSWERS.values())
    assert list(cells) == [cell.id for cell in release.cells]


@pytest.mark.parametrize("keep", ["nbgrader", "id", "nothing"])
def test_metadata_and_ids_may_be_lost(tiny, release, keep):
    made = submitted(release, **ANSWERS)
    for cell in made["cells"]:
        if keep != "id":
            del cell["id"]
        if keep != "nbgrader":
            cell["metadata"] = {"colab": {}, "id": "f00"}
    cells, notes = back(tiny, release, made | {"nbformat_minor": 0})
    assert [cells[name] for name in ("twice", "answer-of-all", "why")] == list(ANSWERS.values())
    assert list(cells) == [cell.id for cell in release.cells]
    assert notes == ([] if keep == "nbgrader" else ["cell metadata restored for 7 cells"])


def test_edited_given_cells_are_put_back_and_own_cells_stay(tiny, release):
    made = submitted(release, **ANSWERS, twice_values="pass", given_1="import numpy as np\nfrom foldnet.exercises import *")
    own = {"cell_type": "code", "metadata": {}, "source": "helper = 3", "outputs": [], "execution_count": None}
    made["cells"].insert(4, own)
    cells, notes = back(tiny, release, made)
    assert notes == ["changed cells put back: given-1, twice-values"]
    assert cells["own-4"] == "helper = 3"
    assert list(cells).index("own-4") == 4


def test_deleted_cells_are_put_back_in_their_place(tiny, release):
    made = submitted(release, **ANSWERS)
    made["cells"] = [cell for cell in made["cells"] if cell["id"] not in ("twice-values", "why", "given-1")]
    cells, notes = back(tiny, release, made)
    assert notes == ["missing cells put back: twice-values, why"]
    assert list(cells) == [cell.id for cell in release.cells]
    assert cells["why"] == "*Your answer.*"


def test_a_copied_cell_does_not_count_twice(tiny, release):
    made = submitted(release, **ANSWERS)
    twin = copy.deepcopy(made["cells"][3]) | {"source": "def twice(x):\n    return 3"}
    made["cells"].insert(6, twin)
    cells, _ = back(tiny, release, made)
    assert cells["twice"] == ANSWERS["twice"]
    assert cells["own-6"] == twin["source"]


def test_of_two_definitions_without_metadata_the_last_counts(tiny, release):
    made = submitted(release, **ANSWERS)
    made["cells"].insert(3, copy.deepcopy(made["cells"][3]) | {"source": "def twice(x):\n    return 3"})
    for cell in made["cells"]:
        cell["metadata"] = {}
        del cell["id"]
    cells, _ = back(tiny, release, made | {"nbformat_minor": 0})
    assert cells["twice"] == ANSWERS["twice"]


def test_code_that_does_not_parse_is_found_by_its_name(tiny, release):
    made = submitted(release, **(ANSWERS | {"twice": "def twice(x):\n    return (x"}))
    for cell in made["cells"]:
        cell["metadata"] = {}
        del cell["id"]
    cells, _ = back(tiny, release, made | {"nbformat_minor": 0})
    assert cells["twice"].endswith("return (x")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"cells": 3}', '{"cells": [3]}', '{"nbformat": 4}', '{"nbformat": "x", "cells": []}', "[" * 100_000],
)
def test_what_is_no_notebook_is_said(tiny, release, text):
    with pytest.raises(restore.Unreadable, match="no notebook"):
        restore.restore(tiny, text, release)


def test_a_notebook_of_a_million_cells_is_refused(tiny, release):
    cells = [{"cell_type": "code", "source": "1", "metadata": {}}] * 1000
    with pytest.raises(restore.Unreadable, match="larger"):
        restore.restore(tiny, json.dumps({"nbformat": 4, "cells": cells}), release)


def test_submissions_are_found_as_files_and_in_folders(tmp_path):
    files = ("anna.ipynb", "ben_1234_/ps2.ipynb", "ben_1234_/notes.ipynb", "c é*/deep/other.ipynb", "two/a.ipynb", "two/b.ipynb")
    for name in (*files, "x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "thief.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "thieves").mkdir()
    (tmp_path / "thieves/ps2.ipynb").symlink_to("/etc/passwd")
    found = {handed.student: handed for handed in grade.collect(tmp_path, "ps2")}
    paths = {student: handed.path and handed.path.relative_to(tmp_path).as_posix() for student, handed in found.items()}
    assert paths == {
        "anna": "anna.ipynb",
        "ben_1234_": "ben_1234_/ps2.ipynb",
        "c_é_": "c é*/deep/other.ipynb",
        "nothing": None,
        "thief": None,
        "thieves": None,
        "two": None,
    }
    assert found["two"].notes == ["2 notebooks and not one named ps2.ipynb in the folder"]
    assert found["thief"].notes == ["a link is no submission"]
    with pytest.raises(grade.CourseError, match="no notebook in"):
        grade.collect(tmp_path / "nothing", "ps2")
    with pytest.raises(grade.CourseError, match="no folder"):
        grade.collect(tmp_path / "none", "ps2")
