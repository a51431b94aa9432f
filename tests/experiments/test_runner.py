"""Large runs: rows are appended, a killed run goes on, a failed cell is tried again, provenance is kept, arrays lie beside."""

import importlib
import json
import math
import random
import subprocess
import sys
import time

import numpy as np
import pytest

from experiments import _command, _storing, _workers, runner
from foldbook import paths
from foldbook.stored import Row, Stored, stored
from foldnet.data import DataMissing

CELLS = [{"n": n, "kind": "square"} for n in range(6)]


def square(n, kind):
    return {"value": n * n, "list": [n, n + 1]}


def test_rows_come_in_the_order_of_the_cells_with_provenance(tmp_path):
    result = runner.run(CELLS, square, tmp_path / "squares.jsonl", jobs=2, progress=False, command="a test")
    assert [r.cell for r in result.rows] == CELLS
    assert [r["value"] for r in result.rows] == [0, 1, 4, 9, 16, 25]
    assert set(result.provenance[0]) == {"command", "commit", "code", "versions", "hardware", "started"}
    assert result.provenance[0]["command"] == "a test"
    assert {r.commit for r in result.rows} == {result.provenance[0]["commit"]}


def fails_somewhere(n):
    return {"device": runner.device()} if n else {"device": 1 / 0}


def test_a_run_uses_the_gpu_and_a_page_that_repeats_a_sample_of_it_does_not(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "a GPU")
    assert fails_somewhere(1) == {"device": "cpu"}
    with pytest.raises(runner.CellsFailed):
        runner.run([{"n": 1}, {"n": 0}, {"n": 2}], fails_somewhere, tmp_path / "x.jsonl", progress=False)
    assert [row["device"] for row in stored("x", tmp_path / "x.jsonl").rows] == ["cuda", "cuda"]
    assert fails_somewhere(1) == {"device": "cpu"}  # also after a cell that failed


def test_a_row_is_found_by_its_settings(tmp_path):
    cells = [*CELLS, {"n": 3, "kind": "square", "sizes": [1, 2]}]
    result = runner.run(cells, lambda n, kind, sizes=(): {"value": n * n + len(sizes)}, tmp_path / "x.jsonl", progress=False)
    assert result.row(n=4)["value"] == 16
    assert result.row(n=3, kind="square")["value"] == 9  # exactly these settings, although another row has them too
    assert result.row(sizes=(1, 2))["value"] == 11
    assert [r["value"] for r in result.where(n=3)] == [9, 11]
    with pytest.raises(KeyError, match=r"2 of 7 rows have {'n': 3}, and one is needed"):
        result.row(n=3)
    with pytest.raises(KeyError, match="0 of 7 rows"):
        result.row(n=7)
    with pytest.raises(KeyError, match="no result is named 'loss'; there are value"):
        result.row(n=1)["loss"]


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


# Cell 5 fails at every start but the last, which has no flag file; the others take a moment each.
SLOW = """
import sys, time
from pathlib import Path
from experiments import runner
def slow(n):
    time.sleep(0.05)
    if n == 5 and Path(sys.argv[3]).exists():
        raise ArithmeticError("five is out of order")
    return {"value": n, "many": [n] * 500}
if __name__ == "__main__":
    runner.run([{"n": n} for n in range(40)], slow, Path(sys.argv[1]), jobs=int(sys.argv[2]), progress=False)
"""


def test_a_run_killed_again_and_again_goes_on_where_it_stopped(tmp_path):
    """SIGKILL at random moments of a process with two jobs: every row that was written stays, none is computed twice."""
    path, script, flag = tmp_path / "slow.jsonl", tmp_path / "slow.py", tmp_path / "flag"
    script.write_text(SLOW)
    flag.touch()
    command = [sys.executable, str(script), str(path), "2", str(flag)]
    wait, kept, kills = random.Random(2), set(), 0
    while (len(kept) < 24 or kills < 2) and kills < 9:  # a machine that looks away finds 24 after the first
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline, before = time.monotonic() + 600, len(kept)
        while process.poll() is None and (not path.exists() or len(stored("slow", path).rows) < before + 12):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(wait.uniform(0, 0.1))
        process.kill()  # SIGKILL: no handler, no farewell
        process.wait()
        kills += 1
        with path.open("ab") as file:  # and a row cut short by the kill
            file.write(b'{"cell": {"n": 39}, "resu')
        now = {r.cell["n"] for r in stored("slow", path).rows}
        assert kept <= now
        kept = now
    assert kills >= 2
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode != 0
    assert "1 of 40 cells failed, {'n': 5} with ArithmeticError: five is out of order (slow.py:8)" in failed.stderr
    assert [r.cell for r in stored("slow", path).failed] == [{"n": 5}]
    flag.unlink()
    assert subprocess.run(command).returncode == 0
    result = stored("slow", path)
    assert sorted(r["value"] for r in result.rows) == list(range(40))
    assert not result.failed
    assert len(result.provenance) == kills + 2


def test_a_cell_that_fails_leaves_an_error_and_the_others_are_done(tmp_path):
    path = tmp_path / "x.jsonl"
    with pytest.raises(runner.CellsFailed, match=r"2 of 6 cells failed, .* with ZeroDivisionError: .*test_runner.py") as failure:
        runner.run(CELLS, lambda n, kind: {"value": 1 / (n - 2)} if n != 4 else json.loads("{"), path, progress=False)
    assert [r.cell["n"] for r in failure.value.result.rows] == [0, 1, 3, 5]
    assert [r.cell["n"] for r in failure.value.result.failed] == [2, 4]
    called = []
    result = runner.run(CELLS, lambda n, kind: called.append(n) or {"value": 0.0}, path, progress=False)
    assert called == [2, 4]
    assert [r["value"] for r in result.rows] == [-0.5, -1, 0, 1, 0, 1 / 3]
    assert not result.failed


def test_a_run_that_goes_on_under_other_code_says_so(tmp_path, monkeypatch, capfd):
    path = tmp_path / "x.jsonl"
    started = dict(runner.provenance("first"), commit="aaaa", code="1111")
    monkeypatch.setattr(runner, "provenance", lambda command: started)
    runner.run(CELLS[:4], square, path, progress=False)
    monkeypatch.setattr(runner, "provenance", lambda command: {**started, "commit": "bbbb"})
    runner.run(CELLS[:5], square, path, progress=False)
    assert capfd.readouterr().err == ""  # another commit, the same code
    monkeypatch.setattr(runner, "provenance", lambda command: {**started, "commit": "cccc", "code": "2222"})
    result = runner.run(CELLS, square, path, progress=False)
    assert "x goes on under other code: 5 rows are there, started at aaaa, bbbb; 1 will be made at cccc" in capfd.readouterr().err
    assert [r.commit for r in result.rows] == ["aaaa"] * 4 + ["bbbb", "cccc"]


def test_the_code_is_told_apart_by_its_bytes(tmp_path, monkeypatch):
    for name in ("experiments", "foldnet", ".venv"):
        (tmp_path / name).mkdir()
    (tmp_path / "foldnet/nets.py").write_text("x = 1\n")
    monkeypatch.setattr(_workers, "__file__", str(tmp_path / "experiments/_workers.py"))
    before = _workers.code()
    (tmp_path / ".venv/other.py").write_text("y = 1\n")  # the environment's files are no part of it
    assert _workers.code() == before
    (tmp_path / "foldnet/nets.py").write_text("x = 2\n")
    assert _workers.code() != before


# ---- arrays beside the rows ------------------------------------------------------------------------------------------------


def large(n):
    rng = np.random.default_rng(n)
    many = rng.normal(size=(20, 40 + n))
    nested = {"a, b": rng.integers(0, 9, 100), "short": [1, 2]}
    return {"many": many, "nested": nested, "ragged": [[1.5] * n, [n] * 50], "word": "x"}


@pytest.fixture
def kept(tmp_path):
    result = runner.run([{"n": n} for n in range(9)], large, tmp_path / "run.jsonl", progress=False)
    _storing.store_result(result, tmp_path / "book/large.jsonl")
    return tmp_path / "book/large.jsonl"


def test_long_arrays_lie_beside_a_large_file_and_come_back_bit_for_bit(kept):
    assert kept.stat().st_size < _storing.LARGE
    for n, row in enumerate(stored("large", kept).rows):
        made = large(n)
        assert row["many"].shape == (20, 40 + n)
        assert row["many"].tobytes() == made["many"].tobytes()
        assert row["nested"]["a, b"].tolist() == made["nested"]["a, b"].tolist()
        assert row["nested"]["a, b"].dtype == np.uint8, "whole numbers in the smallest type that holds them"
        assert row["nested"]["short"].tolist() == [1, 2]
        assert [list(v) for v in row["ragged"]] == made["ragged"]
        assert row["word"] == "x"
        assert "many" in row.result
    with np.load(kept.with_suffix(".npz")) as arrays:  # readable without this package
        assert arrays["many"][: 20 * 40].tobytes() == large(0)["many"].tobytes()


def test_storing_again_changes_no_byte(kept):
    before = kept.read_bytes(), kept.with_suffix(".npz").read_bytes()
    _storing.store_result(stored("large", kept), kept)
    assert (kept.read_bytes(), kept.with_suffix(".npz").read_bytes()) == before


def test_arrays_of_another_run_are_refused(kept):
    beside = kept.with_suffix(".npz")
    raw = bytearray(beside.read_bytes())
    raw[len(raw) // 2] ^= 1
    beside.write_bytes(raw)
    with pytest.raises(ValueError, match=r"large.npz is not the file that large.jsonl was stored with"):
        stored("large", kept)
    beside.unlink()
    with pytest.raises(DataMissing, match=r"keeps its arrays in large.npz"):
        stored("large", kept)


def test_a_small_result_is_one_file_of_text(tmp_path):
    target = tmp_path / "small.jsonl"
    target.with_suffix(".npz").write_bytes(b"of an older, larger run")
    _storing.store_result(runner.run(CELLS, square, tmp_path / "run.jsonl", progress=False), target)
    assert not target.with_suffix(".npz").exists()
    assert stored("small", target).row(n=3)["list"].tolist() == [3, 4]


@pytest.mark.parametrize("name", sorted(p.stem for p in (paths.book() / "data").glob("*.jsonl")))
def test_every_stored_run_has_its_cells_names_and_commits(name):
    module, result = importlib.import_module(f"experiments.{name}"), stored(name)
    assert sorted(map(str, (r.cell for r in result.rows))) == sorted(map(str, module.cells()))
    assert not result.failed
    assert all(key.isidentifier() for row in result.rows for key in row.result)
    assert {r.commit for r in result.rows} <= {p["commit"] for p in result.provenance}


# ---- comparing -------------------------------------------------------------------------------------------------------------


def test_differences_between_two_runs(tmp_path):
    old = runner.run(CELLS, square, tmp_path / "a.jsonl", progress=False)
    new = runner.run(CELLS, lambda n, kind: {"value": n * n * 1.01, "list": [n, n + 1]}, tmp_path / "b.jsonl", progress=False)
    gaps = _storing.differences(new, old)
    assert gaps["value"] == pytest.approx(0.01)
    assert gaps["list"] == 0


def test_differences_of_texts_of_other_shapes_and_of_new_cells():
    rows = lambda *results: [Row({"n": n}, result, 1.0, "abc") for n, result in enumerate(results)]  # noqa: E731
    was = {"word": "a", "same": {"k": "v"}, "long": [1, 2], "gone": 1, "deep": {"k": np.array([1.0, 2.0])}}
    now = {"word": "b", "same": {"k": "v"}, "long": [1, 2, 3], "deep": {"k": np.array([1.0, 2.5])}}
    found = _storing.differences(Stored([], rows(now, {"other": 5})), Stored([], rows(was)))
    assert found == {"deep": 0.25, "long": math.inf, "same": 0.0, "word": math.inf}


def test_bad_input_gets_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="no cell twice"):
        runner.run([{"n": 1}, {"n": 1}], square, tmp_path / "x.jsonl")
    with pytest.raises(ValueError, match="at least one cell"):
        runner.run([], square, tmp_path / "x.jsonl")
    with pytest.raises(runner.CellsFailed, match="TypeError: a result holds numbers, texts and lists of them; got module"):
        runner.run([{"n": 1}], lambda n: {"value": json}, tmp_path / "x.jsonl", progress=False)
    with pytest.raises(runner.CellsFailed, match="the keys of a result are names, as mean_loss; got 'mean loss'"):
        runner.run([{"n": 1}], lambda n: {"mean loss": 1}, tmp_path / "y.jsonl", progress=False)
    with pytest.raises(ValueError, match="no run is named 'nothing'"):
        _command.command("nothing")
    with pytest.raises(ValueError, match="no run is named 'image_measures'"):
        _command.command("image_measures")
    assert {"race", "swaps_orders", "xor_optima"} <= _command.experiments().keys()


def test_cells_may_come_one_after_another(tmp_path):
    result = runner.run(iter(CELLS[:2]), square, tmp_path / "x.jsonl", progress=False)
    assert [row.cell for row in result.rows] == CELLS[:2]
