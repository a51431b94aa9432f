"""Large runs under bad conditions: kills, a full disk, two at once, lost workers; and what the command says before and after."""

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from experiments import _command, _storing, _workers, runner
from experiments.__main__ import main
from experiments._rows import Rows, RunStopped, key
from foldbook.stored import Row, Stored, stored
from foldnet.nets import ReLUNet
from foldnet.train import fit

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a child that is forked")


def table(path):
    """All that a run has found, as bytes: cells and results in the order of the cells, nothing twice."""
    rows = stored("x", path).rows
    assert len({key(r.cell) for r in rows}) == len(rows)
    return json.dumps(sorted((key(r.cell), key(r.result)) for r in rows)).encode()


def noisy(n):
    """A cell that takes some milliseconds and whose result is long enough to be cut anywhere."""
    time.sleep(0.002)
    draw = random.Random(n)
    return {"value": draw.random(), "many": [draw.gauss(0, 1) for _ in range(400)]}


WHOLE = re.compile(rb'^\{"cell"[^\n]*\}\n', re.MULTILINE)


@forks
def test_a_hundred_kills_lose_nothing_and_double_nothing(tmp_path, monkeypatch):
    """SIGKILL at a hundred random moments, from before the first line on.

    Neither a slow machine nor one that looks away can miss the middle: a child goes four rows ahead and no farther, and three of
    four strikes wait for a number of whole rows that is drawn beforehand. The children do not ask git for the commit and read no
    sources: nothing is written meanwhile, so no kill should be spent on it.
    """
    now = runner.provenance()
    monkeypatch.setattr(runner, "provenance", lambda command: now)
    cells, path, draw, pause = [{"n": n} for n in range(420)], tmp_path / "x.jsonl", random.Random(1), random.Random(2)
    expected = table_of(cells, tmp_path)
    kept, least = [0], 0
    for kill in range(100):
        child = os.fork()
        if not child:
            ended(lambda: runner.run(cells, lambda n: noisy(n) if n < kept[-1] + 4 else time.sleep(600), path, progress=False))
        more = draw.randrange(4) if kill % 4 else 0
        least += more
        time.sleep(pause.uniform(0, 0.02))
        while more and (not path.exists() or len(WHOLE.findall(path.read_bytes())) < kept[-1] + more):
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child ended by itself"
            time.sleep(pause.uniform(0, 0.004))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kept.append(len(stored("x", path).rows) if path.exists() else 0)
    assert kept == sorted(kept)
    assert 100 < least <= kept[-1] <= 400
    runner.run(cells, noisy, path, progress=False)
    assert table(path) == expected
    assert len(stored("x", path).provenance) > 50


def table_of(cells, folder) -> bytes:
    runner.run(cells, noisy, folder / "whole.jsonl", progress=False)
    return table(folder / "whole.jsonl")


@pytest.mark.parametrize("cut", [1, 5, 300, 5000])
def test_a_row_cut_anywhere_is_never_read(tmp_path, cut):
    cells, path = [{"n": n} for n in range(5)], tmp_path / "x.jsonl"
    expected = table_of(cells, tmp_path)
    runner.run(cells, noisy, path, progress=False)
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(stored("x", path).rows) == (5 if cut == 1 else 4)  # without its last byte, the newline, a row is whole
    runner.run(cells, noisy, path, progress=False)
    assert table(path) == expected


def ended(work, line=2):
    """Do this and end the process, which is a forked one: an error in it must not go on as a second run of these tests."""
    try:
        work()
    except RunStopped as stopped:
        os.write(line, str(stopped).encode())
        os._exit(1)
    except BaseException:
        os.write(line, traceback.format_exc().encode())
        os._exit(2)
    os._exit(0)


def forked(work):
    """The exit status of a child that does this, and what it was stopped by."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        ended(work, theirs)
    os.close(theirs)

    def end() -> tuple[int, str]:
        with os.fdopen(ours, "rb") as file:
            said = file.read().decode()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said

    return end


@forks
@pytest.mark.parametrize("size", [100, 2_000, 9_001, 20_000])
def test_a_full_disk_leaves_whole_rows_and_one_sentence(tmp_path, size):
    import resource

    cells, path = [{"n": n} for n in range(6)], tmp_path / "x.jsonl"

    def full():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        runner.run(cells, noisy, path, progress=False)

    status, said = forked(full)()
    assert status == 1, said
    assert re.search(r"a row could not be written to .*x.jsonl: File too large; the rows before it are kept, and the same", said)
    raw = path.read_bytes()
    assert len(raw) <= size
    assert raw == b"" or raw.endswith(b"\n")
    assert len(stored("x", path).rows) == sum(b'"cell"' in line for line in raw.splitlines())
    runner.run(cells, noisy, path, progress=False)
    assert table(path) == table_of(cells, tmp_path)


def test_the_disk_of_a_small_file_system(tmp_path):
    """The same with a real file system of 64 kB, where one may be mounted."""
    room = tmp_path / "room"
    room.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(room)], capture_output=True)
    if mount.returncode:
        pytest.skip("nothing may be mounted here")
    try:
        with pytest.raises(RunStopped, match="No space left on device"):
            runner.run([{"n": n} for n in range(200)], noisy, room / "x.jsonl", progress=False)
        assert (room / "x.jsonl").read_bytes().endswith(b"\n")
        assert 3 <= len(stored("x", room / "x.jsonl").rows) <= 8
    finally:
        subprocess.run(["umount", str(room)], check=True)


def test_a_second_run_on_the_same_file_is_refused(tmp_path, capsys):
    path, cells = tmp_path / "x.jsonl", [{"n": 1}, {"n": 2}]
    with Rows(path):
        with pytest.raises(RunStopped, match=r"another run writes to x.jsonl now: wait for it, or stop it and start again"):
            runner.run(cells, noisy, path, progress=False)
        assert path.read_bytes() == b""
    runner.run(cells, noisy, path, progress=False)
    with Rows(path):  # a finished run is only read
        assert len(runner.run(cells, noisy, path, progress=False).rows) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a link needs rights there that a reader may not have")
def test_a_second_run_is_refused_by_another_name_of_the_file_too(tmp_path):
    path, name = tmp_path / "x.jsonl", tmp_path / "y.jsonl"
    name.symlink_to(path)
    with Rows(path), pytest.raises(RunStopped, match=r"another run writes to y.jsonl now"):
        Rows(name)


@forks
def test_a_killed_run_whose_file_is_held_for_a_moment_goes_on(tmp_path):
    """A run that is killed while it starts a program: that program has the lock open until it is another program."""
    fcntl, path, cells = pytest.importorskip("fcntl"), tmp_path / "x.jsonl", [{"n": 1}, {"n": 2}]
    lock = tmp_path / "x.jsonl.lock"
    with open(lock, "wb") as run:
        fcntl.flock(run, fcntl.LOCK_EX)
        child = os.fork()  # shares the lock, as such a program does
        if not child:
            time.sleep(0.5)
            os._exit(0)
    with open(lock, "rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    runner.run(cells, noisy, path, progress=False)
    os.waitpid(child, 0)
    assert len(stored("x", path).rows) == 2


@forks
def test_two_processes_at_once(tmp_path):
    """Whoever comes first has not done before the other was refused, however late that one comes."""
    path, refused, cells = tmp_path / "x.jsonl", tmp_path / "refused", [{"n": n} for n in range(10)]

    def slow(n):
        while not refused.exists():
            time.sleep(0.02)
        return {"value": n}

    def work():
        try:
            runner.run(cells, slow, path, progress=False)
        except RunStopped:
            refused.touch()
            raise

    both = [forked(work) for _ in range(2)]
    ends = sorted(end() for end in both)
    assert [status for status, _ in ends] == [0, 1], ends
    assert "another run writes to x.jsonl now" in ends[1][1]
    assert len(stored("x", path).rows) == 10
    assert len(stored("x", path).provenance) == 1


@forks
def test_a_fault_in_a_child_is_told_and_ends_it():
    status, said = forked(lambda: 1 / 0)()
    assert status == 2
    assert said.endswith("ZeroDivisionError: division by zero\n")


def test_a_gpu_that_tells_nothing_to_a_forked_process(monkeypatch):
    """As CUDA does where the parent has used it; to note the machine must not end a run."""

    def refuses():
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", refuses)
    assert _workers.hardware.__wrapped__().endswith(", a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    assert _workers.hardware.__wrapped__().endswith(", NVIDIA H200")


# ---- a cluster -------------------------------------------------------------------------------------------------------------

CLUSTER = """
import os, signal, sys, time
from pathlib import Path
from experiments import runner
def mortal(n, flag):
    time.sleep(0.02)
    if n == 39 or (n == 7 and not os.path.exists(flag)):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 9:
        raise ArithmeticError("nine is out of order")
    return {"value": n * n, "worker": os.getpid()}
if __name__ == "__main__":
    cells = [{"n": n, "flag": sys.argv[2]} for n in range(40)]
    try:
        runner.run(cells, mortal, Path(sys.argv[1]), progress=False, dask="local:2")
    except runner.CellsFailed as failed:
        print(failed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a worker is killed by SIGKILL")
def test_a_cluster_of_two_of_which_one_is_killed(tmp_path):
    pytest.importorskip("distributed")
    path, script, flag = tmp_path / "x.jsonl", tmp_path / "mortal.py", tmp_path / "killed"
    script.write_text(CLUSTER)
    patience = dict.fromkeys(("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP"), "300s")
    failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2"}  # the last cell ends its worker every time
    settings = {**os.environ, **patience, **failures}
    done = subprocess.run([sys.executable, script, path, flag], capture_output=True, text=True, timeout=600, env=settings)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 of 40 cells failed" in done.stdout
    assert "ArithmeticError: nine is out of order" in done.stdout
    assert flag.exists()
    result = stored("x", path)
    assert sorted((r.cell["n"], int(r["value"])) for r in result.rows) == [(n, n * n) for n in range(39) if n != 9]
    assert [r.error.split(":")[0] for r in result.failed if r.cell["n"] == 39] == ["KilledWorker"]
    assert len({r["worker"] for r in result.rows}) >= 2
    assert result.provenance[0]["workers"] == [f"2 on {_workers.hardware()}"]


LOST = """
import os, signal, subprocess, sys
from pathlib import Path
from distributed import LocalCluster
from experiments import _workers, runner
def mortal(n, deadly):
    if n == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": n * n}
if __name__ == "__main__":
    _workers.PATIENCE = 5
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        workers = [subprocess.Popen([*worker, cluster.scheduler_address]) for _ in range(2)]
        cells = [{"n": n, "deadly": 5} for n in range(6)]
        try:
            with _workers.cluster(cluster.scheduler_address) as client:
                client.wait_for_workers(2, timeout=300)
            runner.run(cells[:5], mortal, Path(sys.argv[1]), progress=False, dask=cluster.scheduler_address)
            runner.run(cells, mortal, Path(sys.argv[1]), progress=False, dask=cluster.scheduler_address)
        except runner.RunStopped as stopped:
            print(stopped)
        finally:
            print([w.wait() if w.poll() is not None else w.kill() for w in workers])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the workers are killed by SIGKILL")
def test_a_cluster_whose_workers_are_all_lost(tmp_path):
    """A run waits for new workers as long as it says, keeps its rows and can be gone on with."""
    pytest.importorskip("distributed")
    path, script = tmp_path / "x.jsonl", tmp_path / "lost.py"
    script.write_text(LOST)
    done = subprocess.run([sys.executable, script, path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    said = "the cluster had no worker for 5 seconds; the rows so far are kept, and the same command goes on from there"
    assert done.stdout.splitlines() == [said, "[-9, -9]"]
    assert sorted(r.cell["n"] for r in stored("x", path).rows) == [0, 1, 2, 3, 4]


def test_a_worker_with_other_code_is_refused(monkeypatch):
    monkeypatch.setattr(_workers, "_code_here", lambda: "another")
    row = _workers._there(noisy, {"n": 1}, "abc", code="ours")
    assert "result" not in row
    assert row["error"] == "ValueError: a worker has other code, another instead of ours: install the same there"


@pytest.mark.parametrize(
    ("address", "said"),
    [("local:none", "local:4, with the number"), ("local:0", "local:4"), ("nowhere", "no Dask scheduler answers at 'nowhere'")],
)
def test_addresses_that_are_none(tmp_path, address, said):
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match=said):
        runner.run([{"n": 1}], noisy, tmp_path / "x.jsonl", dask=address)
    with pytest.raises(ValueError, match="one job or more, and with dask the cluster has them"):
        runner.run([{"n": 1}], noisy, tmp_path / "x.jsonl", dask=address, jobs=2)


# ---- the command -----------------------------------------------------------------------------------------------------------

CELLS = [{"width": w, "kind": kind, "sizes": [w, 1]} for w in (2, 4, 8) for kind in ("sine", "step")]


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ((), 6),
        (("width=4",), 2),
        (("width=4,8",), 4),
        (("width=2,8", "kind=sine"), 2),
        (("kind=step",), 3),
        (("sizes=[4,1]",), 2),
    ],
)
def test_a_part_of_the_cells(only, count):
    chosen = _command.part(CELLS, only)
    assert len(chosen) == count
    assert [c for c in CELLS if c in chosen] == chosen


@pytest.mark.parametrize(
    ("only", "said"),
    [
        (("width",), r"NAME=VALUE with a name among kind, sizes, width; got 'width'"),
        (("depth=3",), r"a name among kind, sizes, width; got 'depth=3'"),
        (("width=3",), r"no cell has width=3; width is one of 2, 4, 8"),
        (("width=2,3,5",), r"no cell has width=3, 5; width is one of 2, 4, 8"),
        (("width=4", "sizes=[8,1]"), r"no cell has sizes=\[8,1\]"),
    ],
)
def test_a_part_that_is_not_there(only, said):
    with pytest.raises(ValueError, match=said):
        _command.part(CELLS, only)


def test_a_forecast_by_the_rows_there_are(tmp_path):
    path = tmp_path / "x.jsonl"
    cells = [{"n": n} for n in range(10)]
    nothing = _command.forecast(cells, path, Stored([], []))
    assert "x: 10 cells, 0 of them done" in nothing
    assert f"10 are left; how long one takes on {_workers.hardware()} is not known" in nothing
    kept = runner.run(cells[:8], noisy, tmp_path / "old.jsonl", progress=False)
    kept = Stored(kept.provenance, [SimpleNamespace(cell=r.cell, result=r.result, seconds=60.0) for r in kept.rows])
    assert "10 are left: about 10.0 minutes one after another, at the speed of the rows stored (2 cells" in _command.forecast(
        cells, path, kept
    )
    elsewhere = Stored([{**p, "hardware": "one H200"} for p in kept.provenance], kept.rows)
    assert "work on one H200\n10 are left; how long one takes on" in _command.forecast(cells, path, elsewhere)
    runner.run(cells[:3], noisy, path, progress=False)
    path.write_text(re.sub(r'"seconds": [\d.]+', '"seconds": 30.0', path.read_text()))  # as on a machine twice as fast
    said = _command.forecast(cells, path, kept)
    assert "10 cells, 3 of them done" in said
    assert "stored in book/data: 8 of them, 8.0 minutes of work" in said
    assert "7 are left: about 3.5 minutes one after another, at the speed of the rows done here" in said
    assert "(2 cells taken as the mean of the others)" in said
    grows = float(re.search(r"about ([\d.]+) kB on a disk with [\d.]+ [GMk]B free", said)[1]) * 1000
    before = path.stat().st_size
    runner.run(cells, noisy, path, progress=False)
    assert grows == pytest.approx(path.stat().st_size - before, rel=0.1)
    assert _command.forecast(cells, path, kept).endswith("nothing is left to do")


def test_the_command_says_what_it_would_do(capsys):
    assert main(["weight_scale", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "weight_scale: 3 cells" in said
    assert "stored in book/data: 3 of them" in said
    assert main(["weight_scale", "--dry-run", "--only", "optimizer=gd"]) == 0
    assert "weight_scale: 1 cells" in capsys.readouterr().out
    assert main(["weight_scale", "--only", "optimizer=gd", "--store"]) == 2
    assert "a part of a run is not stored" in capsys.readouterr().err


def three_runs(monkeypatch, tmp_path, value):
    """A package of one run, whose cells give `value`, with a stored result of 1 each."""
    module = SimpleNamespace(cells=lambda: [{"n": n} for n in range(3)], cell=lambda n: {"value": value})
    monkeypatch.setattr(_command, "experiments", lambda: {"toy": "a toy"})
    monkeypatch.setattr(_command, "importlib", SimpleNamespace(import_module=lambda name: module))
    monkeypatch.setattr(_command.paths, "repository", lambda: tmp_path)
    monkeypatch.setattr(_command.paths, "book", lambda: tmp_path / "book")
    made = runner.run(module.cells(), lambda n: {"value": 1.0}, tmp_path / "made.jsonl", progress=False)
    _storing.store_result(made, tmp_path / "book/data/toy.jsonl")


@pytest.mark.parametrize(("value", "status"), [(1.0, 0), (1.5, 0), (2.7, 3)])
def test_a_repeated_run_that_is_far_off_has_failed(monkeypatch, tmp_path, capsys, value, status):
    three_runs(monkeypatch, tmp_path, value)
    assert main(["toy"]) == status
    assert ("further from the stored result" in capsys.readouterr().err) == bool(status)


def test_rows_of_two_machines_in_one_file_count_once_and_may_not_contradict(tmp_path):
    path = tmp_path / "x.jsonl"
    runner.run([{"n": n} for n in range(12)], lambda n: {"value": n}, path, progress=False)
    path.write_bytes(2 * path.read_bytes())
    assert [r["value"] for r in stored("x", path).rows] == list(range(12))
    with path.open("a") as file:
        file.write('{"cell": {"n": 3}, "result": {"value": 4}, "seconds": 1.0}\n')
    with pytest.raises(ValueError, match=r"x.jsonl has two rows for \{'n': 3\} that contradict each other"):
        stored("x", path)


def test_lines_that_are_no_rows_are_named_and_their_cells_done_again(monkeypatch, tmp_path, capsys):
    three_runs(monkeypatch, tmp_path, 1.0)
    path = tmp_path / "_sweeps/toy.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'{"cell": {"n": 0}, "seconds": 1.0}\n3\n\xff\xfe\n{"cell": {"n"\n' + f'"{38 * "a"}éé"\n'.encode())
    assert main(["toy"]) == 0
    said = capsys.readouterr()
    for number, what in enumerate(("is no row", "is no row", "is not JSON", "is not JSON", "is no row"), 1):
        assert f"toy.jsonl: line {number} {what}" in said.err
    assert said.out.startswith("3 cells")
    (tmp_path / "book/data/toy.jsonl").write_bytes(path.read_bytes())
    monkeypatch.setattr("foldbook.stored.paths.book", lambda: tmp_path / "book")
    with pytest.raises(ValueError, match=r"toy.jsonl is a stored result, and line 1 is no row"):
        stored("toy")


@pytest.mark.parametrize(
    "error", [OSError(30, "Read-only file system", "x.jsonl"), NotADirectoryError(20, "Not a directory", "x"), MemoryError()]
)
def test_what_a_machine_cannot_do_is_told_in_a_sentence(monkeypatch, tmp_path, capsys, error):
    three_runs(monkeypatch, tmp_path, 1.0)

    def cannot(*_, **__):
        raise error

    monkeypatch.setattr(runner, "run", cannot)
    assert main(["toy"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("experiments: ")
    assert "Traceback" not in said
    assert said.count("\n") == 1


def test_the_stored_results_are_those_of_their_checksums(monkeypatch, tmp_path):
    folder = Path(__file__).parents[2] / "book/data"
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for end in ("jsonl", "npz") for p in folder.glob(f"*.{end}")
    }
    three_runs(monkeypatch, tmp_path, 1.0)
    kept = (tmp_path / "book/data/SHA256SUMS").read_text()
    assert kept == f"{hashlib.sha256((tmp_path / 'book/data/toy.jsonl').read_bytes()).hexdigest()}  toy.jsonl\n"


def test_a_line_now_and_then_where_there_is_no_terminal(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(runner, "BETWEEN", 0)
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    monkeypatch.delitem(sys.modules, "ipykernel")
    runner.run([{"n": n} for n in range(2)], noisy, tmp_path / "x.jsonl", progress=False)
    runner.run([{"n": n} for n in range(5)], noisy, tmp_path / "x.jsonl")
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"x: {n} of 5 cells" for n in (3, 4, 5)]
    assert re.search(r"\d a minute, 0\.0 minutes left$", lines[0])
    assert lines[-1].endswith("a minute, done")


@pytest.mark.parametrize(
    ("new", "old", "gap"),
    [
        *((np.nan, 1.0, np.inf), (1.0, np.nan, np.inf), (None, 1.0, np.inf), (np.inf, -np.inf, np.inf), (np.inf, 1.0, np.inf)),
        *((np.nan, np.nan, 0.0), (np.inf, np.inf, 0.0), ([1.0, np.nan, 3.0], [1.0, 2.0, 3.0], np.inf), (1.1, 1.0, 0.1)),
    ],
)
def test_a_result_that_became_no_number_differs(new, old, gap):
    now, before = (Stored([], [Row({"n": 1}, {"loss": value}, 0.0, "abc")]) for value in (new, old))
    assert _storing.differences(now, before) == {"loss": pytest.approx(gap)}


@pytest.mark.parametrize("numbers", [[3, 20_000], [20_000, 3], [20_000, 20_000]])
def test_a_kill_between_two_files_of_a_stored_result_is_mended_by_the_same_command(tmp_path, monkeypatch, capsys, numbers):
    """A result above 100 kB has two files, and no rename takes both at once."""
    module = SimpleNamespace(cells=lambda: [{"n": 1}], cell=lambda n: {"many": list(np.linspace(n, 2, numbers[1]) / 3)})
    monkeypatch.setattr(_command, "importlib", SimpleNamespace(import_module=lambda name: module))
    monkeypatch.setattr(_command, "experiments", lambda: {"trial": ""})
    monkeypatch.setattr(_command.paths, "repository", lambda: tmp_path)
    monkeypatch.setattr(_command.paths, "book", lambda: tmp_path)
    target, whole = tmp_path / "data/trial.jsonl", _storing._replace
    _storing.store_result(Stored([], [Row({"n": 0}, {"many": np.linspace(0, 1, numbers[0]) / 3}, 0.0, "abc")]), target)

    def killed(path, content):
        if path == target:
            raise KeyboardInterrupt
        whole(path, content)

    monkeypatch.setattr(_storing, "_replace", killed)
    with pytest.raises(KeyboardInterrupt):
        _command.command("trial", store=True)
    monkeypatch.setattr(_storing, "_replace", whole)
    assert _command.command("trial", store=True) == 0
    said = "the stored result cannot be read, so nothing is compared with it: trial.npz is not the file"
    assert (said in capsys.readouterr().err) == (numbers == [20_000, 20_000])
    (row,) = stored("trial", target).rows
    assert row.cell == {"n": 1}
    assert len(row["many"]) == numbers[1]
    assert target.with_suffix(".npz").exists() == (numbers[1] > 3)


def ended_at_one(n):
    if n == 1:
        os._exit(9)
    return {"value": n}


def test_a_process_that_is_ended_stops_the_run_with_a_sentence(tmp_path):
    path, cells = tmp_path / "x.jsonl", [{"n": n} for n in range(4)]
    with pytest.raises(RunStopped, match="a process that computed a cell was ended, perhaps for want of memory; the rows so far"):
        runner.run(cells, ended_at_one, path, jobs=2, progress=False)
    assert len(runner.run(cells, noisy, path, progress=False).rows) == 4


def test_a_cell_is_the_same_in_whatever_order_its_settings_are_written(tmp_path):
    def broken(a, b):
        raise ValueError("not today")

    path = tmp_path / "x.jsonl"
    with pytest.raises(runner.CellsFailed):
        runner.run([{"a": 1, "b": 2}], broken, path, progress=False)
    for _ in range(2):
        assert len(runner.run([{"b": 2, "a": 1}], lambda a, b: {"sum": a + b}, path, progress=False).rows) == 1


def test_without_a_place_for_messages_everything_runs(tmp_path, monkeypatch):
    """As under pythonw, where there is no standard error."""
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert len(runner.run([{"n": 1}], noisy, tmp_path / "x.jsonl").rows) == 1
    fit(ReLUNet.random((1, 2, 1)), np.zeros((3, 1)), np.zeros((3, 1)), epochs=2)
