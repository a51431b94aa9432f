"""Submissions come back into shape, whatever was done to the file; what is given is never taken from a student."""

import copy
import json
from types import SimpleNamespace

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from course import book, collect, grade, hand, make, pages, restore, source


def submitted(release, **answers) -> dict:
    made = json.loads(nbformat.writes(release))
    for cell in made["cells"]:
        cell["source"] = answers.get(cell["id"].replace("-", "_"), cell["source"])
    return made


ANSWERS = {"twice": "def twice(x):\n    return x + x", "answer_of_all": "answer_of_all = 42", "why": "So it is."}


def back(tiny, release, made, without=()) -> tuple[dict[str, str], list[str]]:
    notebook, notes = restore.restore(tiny, json.dumps(made), release)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    assert {cell.id for cell in release.cells} - set(without) <= set(ids)
    for cell in release.cells:
        if cell.id in without:
            continue
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
    made = submitted(release, **ANSWERS, twice_values="pass", given_1="import numpy as np\nfrom foldbook.exercises import *")
    own = {"cell_type": "code", "metadata": {}, "source": "helper = 3", "outputs": [], "execution_count": None}
    made["cells"].insert(4, own)
    cells, notes = back(tiny, release, made)
    assert notes == ["changed cells put back: given-1, twice-values"]
    assert cells["own-4"] == "helper = 3"
    assert cells["own-2"].endswith("import *")  # what was added to a given cell still runs, before the cell itself
    order = list(cells)
    assert order.index("own-2") == order.index("given-1") - 1
    assert order.index("given-1") < order.index("own-4") < order.index("twice-values")


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


def test_no_stub_undoes_an_answer_that_stands_elsewhere(tiny, release):
    """All answers in one cell, the stubs deleted."""
    made = submitted(release, **ANSWERS)
    merged = ANSWERS["twice"] + "\nif True:\n    answer_of_all = 42"
    made["cells"] = [cell for cell in made["cells"] if cell["id"] != "answer-of-all"]
    made["cells"][3]["source"] = merged
    cells, notes = back(tiny, release, made, without={"answer-of-all"})
    assert cells["twice"] == merged
    assert "answer-of-all" not in cells
    assert notes == []


def test_a_text_may_go_on_in_cells_below(tiny, release):
    made = submitted(release, **(ANSWERS | {"why": "*Your answer.*"}))
    place = next(i for i, cell in enumerate(made["cells"]) if cell["id"] == "why")
    for text in ("And so on.", "Because of this."):
        made["cells"].insert(place + 1, {"cell_type": "markdown", "metadata": {}, "source": text})
    cells, _ = back(tiny, release, made | {"nbformat_minor": 4})
    assert cells["why"] == "Because of this.\n\nAnd so on."
    assert list(cells) == [cell.id for cell in release.cells]


def test_pasted_pictures_come_along(tiny, release):
    made = submitted(release, **ANSWERS)
    why = next(cell for cell in made["cells"] if cell["id"] == "why")
    why["attachments"] = {"photo.png": {"image/png": "AAAA"}, "odd": 3}
    notebook, _ = restore.restore(tiny, json.dumps(made), release)
    assert next(cell for cell in notebook.cells if cell.id == "why").attachments == {"photo.png": {"image/png": "AAAA"}}


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_files_of_all_editors_are_read(tiny, release, coding):
    made = submitted(release, **(ANSWERS | {"why": "Größer."}))
    text = restore.decoded(json.dumps(made, ensure_ascii=False).encode(coding))
    assert back(tiny, release, json.loads(text))[0]["why"] == "Größer."


def test_fifty_megabytes_of_outputs_do_not_count(tiny, release):
    made = submitted(release, **ANSWERS)
    made["cells"][3]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]
    cells, _ = back(tiny, release, made)
    assert cells["twice"] == ANSWERS["twice"]
    assert collect.LARGEST > 4 * 50_000_000


JUNK = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(some.characters(), max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = some.sampled_from("cells source metadata id cell_type attachments outputs nbformat nbgrader grade_id".split())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=some.data())
def test_whatever_is_in_a_file_it_stops_no_other(tiny, release, data):
    """A notebook with some of its parts replaced by anything: it is restored and shown, or refused in a sentence."""
    made = submitted(release, **ANSWERS)
    for _ in range(data.draw(some.integers(1, 4))):
        spot, key = made, data.draw(KEYS)
        if data.draw(some.booleans()) and isinstance(made.get("cells"), list) and made["cells"]:
            spot = made["cells"][data.draw(some.integers(0, len(made["cells"]) - 1))]
            if isinstance(spot, dict) and key in ("nbgrader", "grade_id") and isinstance(spot.get("metadata"), dict):
                spot = spot["metadata"].setdefault("nbgrader", {}) if key == "grade_id" else spot["metadata"]
        if isinstance(spot, dict):
            spot[key] = data.draw(JUNK | some.just("\ud83d half of a sign"))
    try:
        notebook, notes = restore.restore(tiny, restore.decoded(json.dumps(made).encode()), release)
    except restore.Unreadable:
        return
    handed = collect.Handed("anna.ipynb", None, "anna", [], "")
    record = json.loads(json.dumps(grade.nothing(handed, "", notes, notebook)))
    record_book = SimpleNamespace(records={"anna": record})
    (row,) = book.rows(tiny, record_book, hand.Hand(tiny))
    assert row["by tests"] == "0"
    assert "</html>" in pages.page(tiny, record, hand.Hand(tiny)).encode().decode()


@pytest.mark.skipif("ps3" not in source.names(), reason="the sources of the problem sets are kept elsewhere")
def test_another_set_is_named():
    problems = source.read("ps2")
    other = make.release(source.read("ps3"))
    for cell in other.cells:
        cell.metadata, cell.id = {}, cell.id[::-1]

    def said(notebook) -> list[str]:
        return restore.another(problems, restore.read(nbformat.writes(notebook)))

    assert said(other) == ["this is ps3, not ps2"]
    assert said(make.release(problems.variant(5))) == []
    assert restore.another(problems, []) == []


def test_a_text_of_another_set_is_no_answer_here():
    """Both have a text named conclusion, and the texts below it are not more of it."""
    problems, other = source.read("ps2"), make.release(source.read("ps3"))
    for cell in other.cells:
        cell.source = "My words." if cell.source == source.TEXT_STUB else cell.source
    notebook, notes = restore.restore(problems, nbformat.writes(other), make.release(problems))
    found = {cell.id: cell.source for cell in notebook.cells}
    texts = [cell.name for cell in problems.of("answer") if not cell.code]
    assert {found[name] for name in texts} == {source.TEXT_STUB}
    assert "My words." in found.values()  # it is shown, as one's own
    assert notes[-1] == "this is ps3, not ps2"


def test_a_cell_that_names_colab_keeps_its_helpers(tiny, release):
    made = submitted(release, **ANSWERS)
    code = "from google.colab import drive\n!pip install -q pandas\ndef helper():\n    return 2"
    made["cells"].insert(3, {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": None})
    notebook, notes = restore.restore(tiny, json.dumps(made), release)
    own = [cell.source for cell in notebook.cells if cell.id.startswith("own")]
    assert own == [code.replace("!pip", "pass  # not here: !pip")]
    assert sum("pip install" in cell.source for cell in notebook.cells) == 2  # the setup cell is there once
    assert notes == ["google.colab is not here, its calls do nothing: 1 cell"]
