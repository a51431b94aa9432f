"""The ledger reads what the stored notebooks carry, and nothing else."""

import json
import os
import subprocess
import sys

import nbformat
import pytest

from foldbook import __main__, claims, ledger
from foldbook.claims import MIME, VERDICTS, Claim

FIELDS = {"id", "source", "chapter", "kind", "evidence", "verdict", "published", "points", "measured", "notebook", "cell"}


def claim(name, published=None):
    return Claim(f"S3-{name}", "S3", "splines/sample", "theorem", name, "p. 1", "It says so.", published=published)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """An empty book with three claims."""
    entries = {c.id: c for c in (claim("one", 1), claim("two", {"a": 2}), claim("three"))}
    for module in (claims, ledger):
        monkeypatch.setattr(module, "claims", lambda: entries)
    return tmp_path


def store(book, name, *checks):
    """A notebook with a title, then one cell for each check (an id with a verdict)."""
    cells = [nbformat.v4.new_markdown_cell("# T")]
    for id, verdict in checks:
        measured, corrected = {"reproduced": (1, None), "corrected": (2, 2), "differs": (3, None)}[verdict]
        point = claims.Point("a", "open", "statement", measured, 1, corrected)
        record = claims.shown(claims.judged(claims.Record(id, "w", "open", "statement", (point,))))[MIME]
        stream = nbformat.v4.new_output("stream", text="before")
        cells.append(
            nbformat.v4.new_code_cell("check()", outputs=[stream, nbformat.v4.new_output("display_data", data={MIME: record})])
        )
    path = book / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def test_one_row_for_each_claim_in_the_order_of_the_claims(book):
    store(book, "splines/sample", ("S3-two", "reproduced"), ("S3-one", "corrected"))
    rows = ledger.ledger(book)
    assert [row["id"] for row in rows] == ["S3-one", "S3-two", "S3-three"]
    assert [row["verdict"] for row in rows] == ["corrected", "reproduced", "open"]
    assert [(row["notebook"], row["cell"]) for row in rows] == [
        ("splines/sample.ipynb", 2),
        ("splines/sample.ipynb", 1),
        (None, None),
    ]
    assert all(set(row) >= FIELDS and row["verdict"] in VERDICTS for row in rows)
    assert rows[2]["measured"] is None


def test_a_claim_checked_twice_is_refused(book):
    store(book, "splines/sample", ("S3-one", "reproduced"))
    store(book, "splines/other", ("S3-one", "reproduced"))
    with pytest.raises(ValueError, match=r"S3-one is checked twice, in splines/other.ipynb and splines/sample.ipynb"):
        ledger.ledger(book)
    store(book, "splines/other", ("S3-two", "reproduced"), ("S3-two", "differs"))
    with pytest.raises(ValueError, match="S3-two is checked twice"):
        ledger.ledger(book)


def test_a_check_of_an_unknown_claim_is_refused(book):
    store(book, "splines/sample", ("S3-nowhere", "reproduced"))
    with pytest.raises(ValueError, match=r"book/claims lacks: S3-nowhere"):
        ledger.ledger(book)


def test_hidden_folders_are_no_part_of_the_book(book):
    store(book, "splines/.ipynb_checkpoints/sample", ("S3-one", "reproduced"))
    store(book, "_build/sample", ("S3-one", "reproduced"))
    assert ledger.notebooks(book) == []
    assert {row["verdict"] for row in ledger.ledger(book)} == {"open"}


def test_the_table_counts_every_verdict(book):
    store(book, "splines/sample", ("S3-two", "differs"))
    table = ledger.table(ledger.ledger(book), width=60)
    lines = [line.split() for line in table.splitlines()]
    assert lines[-5] == ["3", "claims", *VERDICTS]
    assert lines[-4:] == [["0", "number"], ["3", "statement", "1", "2"], ["0", "shape"], ["0", "definition"]]
    assert len(lines) == 1 + 3 + 1 + 5
    assert ledger.table([]).splitlines()[-1].split() == ["0", "definition"]


# ---- the command, on the real book -------------------------------------------------------------------------------------


def test_the_command_prints_json_with_every_claim():
    done = subprocess.run([sys.executable, "-m", "foldbook", "ledger", "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert len(rows) == len(claims.claims())
    assert all(FIELDS <= set(row) for row in rows)
    assert {row["verdict"] for row in rows} <= set(VERDICTS)
    for row in rows:
        assert (row["notebook"] is None) == (row["cell"] is None) == (row["verdict"] == "open")


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_reader_who_has_seen_enough_meets_no_error(extra):
    """As in `python -m foldbook ledger | head -1`: the pipe is closed before all is written."""
    command = [sys.executable, "-m", "foldbook", "ledger", *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_the_command_selects(capsys):
    assert __main__.main(["ledger", "--json", "--chapter", "splines/breakpoints"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == sum(c.chapter == "splines/breakpoints" for c in claims.claims().values()) >= 15
    assert {row["source"] for row in rows} == {"S3"}
    assert __main__.main(["ledger", "--source", "S0"]) == 0
    count = sum(c.source == "S0" for c in claims.claims().values())
    assert f"{count} claims" in capsys.readouterr().out


def test_the_command_answers_mistakes_with_a_sentence(capsys):
    assert __main__.main(["ledger", "--chapter", "splines/nothing"]) == 2
    error = capsys.readouterr().err
    assert "no chapter is named 'splines/nothing'; there are" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_the_ledger_where_output_has_few_letters(encoding):
    """As in a pipe on Windows; the JSON loses nothing."""
    settings = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "foldbook", "ledger", "--chapter", "splines/dynamics"]
    said = [subprocess.run([*command, *more], env=settings, capture_output=True, check=True) for more in ([], ["--json"])]
    assert b"S3-alg-relocate" in said[0].stdout
    assert json.loads(said[1].stdout) == [row for row in ledger.ledger() if row["chapter"] == "splines/dynamics"]
