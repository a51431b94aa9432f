"""The tool that tries other values of constants: it finds a bound that does not grow, and lets one pass that does."""

import nbformat
import pytest

from tools import edits

IMPORTS = "from foldbook.claims import at_most, check\nimport numpy as np"
DRAW = "MANY = 10_000  # change it\nspread = np.array(MANY) ** -0.5"
CASES = {
    "a bound that does not grow": ("check('S3-thm-cauchy', 'mean', spread, at_most(0.011))", ["became differs"]),
    "a bound that grows": ("check('S3-thm-cauchy', 'mean', spread, at_most(1.1 / MANY**0.5))", []),
    "a setting of the source": (
        "check('S3-thm-cauchy', 'mean', spread, at_most(0.011), setting={'n': (MANY, 10_000)})",
        [],
    ),
    "an error that is no sentence": (
        "spread = [spread] if MANY == 10_000 else []\ncheck('S3-thm-cauchy', 'mean', spread[0], at_most(0.011))",
        ["IndexError"],
    ),
}


def page(tmp_path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    check = cells[2]
    data = {edits.claims.MIME: {"id": "S3-thm-cauchy", "verdict": "consistent"}}
    check.outputs = [nbformat.v4.new_output("display_data", data)]
    return tmp_path / "page.ipynb", nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize("name", CASES)
def test_what_other_values_show(name, tmp_path):
    source, wanted = CASES[name]
    path, notebook = page(tmp_path, IMPORTS, DRAW, source, "raise SystemExit('no check hangs on this cell')")
    (constant,) = edits.constants(notebook)
    assert (constant.name, constant.value) == ("MANY", 10_000)
    assert edits.needed(notebook, constant) == [0, 1, 2]
    found, end = edits.trial(path, notebook, constant, edits.WAYS["half"])
    assert not end
    assert len(found) == len(wanted)
    assert all(word in line for word, line in zip(wanted, found))


def test_constants_are_numbers_of_ones_own():
    text = "A, B = 2, [1.5, (3, 4)]  # change them\nC = 'x'  # change it\nD = A  # change it\nE = 10**3\nf = 1  # change it"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text)])
    assert [(c.name, c.value) for c in edits.constants(notebook)] == [("A", 2), ("B", [1.5, (3, 4)])]
    assert [c.name for c in edits.constants(notebook, every=True)] == ["A", "B", "E"]


@pytest.mark.parametrize(
    ("ends", "words"),
    [("import time; time.sleep(9)", "it takes over 1 s"), ("import os; os._exit(3)", "its process ended with 3")],
)
def test_what_was_not_tried_to_its_end_is_said(ends, words, tmp_path, monkeypatch, capsys):
    draw = f"{DRAW}\nif MANY != 10_000:\n    {ends}"
    path, notebook = page(tmp_path, IMPORTS, draw, CASES["a bound that grows"][0])
    nbformat.write(notebook, path)
    monkeypatch.setattr(edits, "SECONDS", 1)
    monkeypatch.setattr(edits.notebooks, "find", lambda name, root: path)
    assert edits.main(["page"]) == 0
    said = capsys.readouterr().out
    assert said.count(words) == 3
    assert "no other value tried misleads" in said
    assert "of 3 values it is not known" in said
