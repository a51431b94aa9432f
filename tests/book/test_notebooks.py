"""The notebooks of the book as they lie in the repository: each rule of the house for each of them, and nothing escapes."""

import functools
import subprocess
import sys
from pathlib import Path

import pytest

from foldbook import paths
from foldbook.ledger import notebooks
from tests.contents import contents, toc_pages
from tools import lint

ROOT = paths.repository()
BOOK = ROOT / "book"


def name(path: Path) -> str:
    return path.relative_to(BOOK).with_suffix("").as_posix()


@functools.cache
def read(path: Path) -> lint.Notebook:
    """A notebook and its twin, parsed once for all rules."""
    return lint.Notebook.read(path, ROOT)


ALL = [pytest.param(path, id=name(path)) for path in notebooks()]
EACH = [
    pytest.param(p.values[0], rule, id=f"{p.id}-{rule.__name__}") for p in ALL for rule in lint.rules_for(read(p.values[0]).role)
]


@pytest.mark.parametrize(("path", "rule"), EACH)
def test_every_notebook_keeps_the_rules(path, rule):
    assert list(rule(read(path))) == []


TOC = toc_pages()


def test_a_table_of_contents_is_read_to_its_leaves():
    toc = {"root": "a", "parts": [{"caption": "x", "chapters": [{"file": "b", "sections": [{"file": "c"}]}, {"url": "u"}]}]}
    assert contents(toc) == ["a", "b", "c"]


def test_no_notebook_escapes_the_table_of_contents():
    missing = {f"book/{p.id}" for p in ALL if p.id.split("/")[0] != "assignments"} - set(TOC)
    assert not missing


def test_the_table_of_contents_names_each_file_once_and_it_exists():
    assert len(TOC) == len(set(TOC))
    assert [file for file in TOC if not any((ROOT / f"{file}{end}").is_file() for end in ("", ".md", ".ipynb"))] == []


def test_no_notebook_hides_from_the_ledger():
    """Notebooks lie where ledger, nbval and rules look for them, and nowhere else in the repository."""
    listed = subprocess.run(["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is not a clone")
    seen = {path.relative_to(ROOT).as_posix() for path in notebooks()}
    assert {file for file in listed.stdout.split("\n") if file and not file.startswith("book/assignments/")} <= seen


@pytest.mark.skipif(not ALL, reason="there is no notebook yet")
def test_no_notebook_escapes_nbval():
    """nbval collects each code cell of each notebook, by the very command that `make test` runs."""
    from tools.check import NBVAL, longest_first

    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", *NBVAL, *longest_first()]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    collected = [line.split("::")[0] for line in lines if ".ipynb::" in line]
    cells = {p.id: len(read(p.values[0]).code) for p in ALL}
    assert {p.id: collected.count(f"book/{p.id}.ipynb") for p in ALL} == cells
