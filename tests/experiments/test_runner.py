"""Large runs: rows are appended, a killed run goes on, provenance is kept."""

import json
import math
import signal
import subprocess
import sys
import time

import pytest

from foldnet.data import Stored, stored
from foldnet.experiments import runner

CELLS = [{"n": n, "kind": "square"} for n in range(6)]


def square(n, kind):
    return {"value": n * n, "list": [n, n + 1]}


def test_rows_come_in_the_order_of_the_cells_with_provenance(tmp_path):
    result = runner.run(CELLS, square, tmp_path / "squares.jsonl", jobs=2, progress=False, command="a test")
    assert [r["cell"] for r in result.rows] == CELLS
    assert result.table()["value"].tolist() == [0, 1, 4, 9, 16, 25]
    assert set(result.provenance[0]) == {"command", "commit", "versions", "hardware", "started"}
    assert result.provenance[0]["command"] == "a test"


def test_a_second_run_computes_nothing(tmp_path):
    path = tmp_path / "squares.jsonl"
    runner.run(CELLS, square, path, progress=False)
    before = path.read_bytes()

    def never(**_):
        raise AssertionError("computed again")

    runner.run(CELLS, never, path, progress=False)
    assert path.read_bytes() == before


def test_only_missing_cells_are_computed(tmp_path):
    path = tmp_path / "squares.jsonl"
    runner.run(CELLS[:4], square, path, progress=False)
    called = []
    runner.run(CELLS, lambda n, kind: called.append(n) or square(n, kind), path, progress=False)
    assert called == [4, 5]


SLOW = """
import sys, time
from pathlib import Path
from foldnet.experiments import runner
def slow(n):
    time.sleep(0.3)
    return {"value": n}
runner.run([{"n": n} for n in range(40)], slow, Path(sys.argv[1]), progress=False)
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "slow.jsonl"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(path)])
    deadline = time.monotonic() + 60
    while not path.exists() or len(stored("slow", path).rows) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with path.open("ab") as file:  # a row cut short by the kill
        file.write(b'{"cell": {"n": 39}, "resu')
    kept = {r["cell"]["n"] for r in stored("slow", path).rows}
    assert 2 <= len(kept) < 40
    called = []
    result = runner.run([{"n": n} for n in range(40)], lambda n: called.append(n) or {"value": n}, path, progress=False)
    assert sorted(kept | set(called)) == list(range(40))
    assert not kept & set(called)
    assert [r["result"]["value"] for r in result.rows] == list(range(40))
    assert len(result.provenance) == 2
    assert sum(line.startswith('{"cell"') and line.endswith("}") for line in path.read_text().splitlines()) == 40


def test_differences_between_two_runs(tmp_path):
    old = runner.run(CELLS, square, tmp_path / "a.jsonl", progress=False)
    new = runner.run(CELLS, lambda n, kind: {"value": n * n * 1.01, "list": [n, n + 1]}, tmp_path / "b.jsonl", progress=False)
    gaps = runner.differences(new, old)
    assert gaps["value"] == pytest.approx(0.01)
    assert gaps["list"] == 0


def test_differences_of_texts_of_other_shapes_and_of_new_cells():
    was = Stored([], [{"cell": {"n": 1}, "result": {"word": "a", "same": {"k": "v"}, "long": [1, 2], "gone": 1}}])
    now = {"word": "b", "same": {"k": "v"}, "long": [1, 2, 3]}
    new = Stored([], [{"cell": {"n": 1}, "result": now}, {"cell": {"n": 2}, "result": {"other": 5}}])
    assert runner.differences(new, was) == {"long": math.inf, "same": 0.0, "word": math.inf}


def test_bad_input_gets_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="no cell twice"):
        runner.run([{"n": 1}, {"n": 1}], square, tmp_path / "x.jsonl")
    with pytest.raises(ValueError, match="at least one cell"):
        runner.run([], square, tmp_path / "x.jsonl")
    with pytest.raises(TypeError, match="numbers"):
        runner.run([{"n": 1}], lambda n: {"value": json}, tmp_path / "x.jsonl", progress=False)
    with pytest.raises(ValueError, match="no run is named 'nothing'"):
        runner.command("nothing")
