"""Grading a class: nothing stops it, nothing is lost, and it goes on where it was stopped."""

import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import nbformat
import psutil
import pytest

from course import book, grade, make, restore, shield, source
from course.errors import CourseError
from course.kernel import Limits

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was graded"),
]
LIMITS = Limits(cell=20, call=5, test=20, shield="basic")
RIGHT, WRONG = "def one():\n    return 1", "def one():\n    return 2"


def notebook(nano, code=RIGHT, text="Because.", **more) -> dict:
    made = json.loads(nbformat.writes(make.release(nano)))
    for cell in made["cells"]:
        if cell["id"] in ("one", "why"):
            cell["source"] = code if cell["id"] == "one" else text
    return made | more


def hand_in(folder: Path, **files) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / f"{name}.ipynb"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def table(out: Path) -> dict[str, dict]:
    with (out / "grades.csv").open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_one_bad_file_stops_nobody(nano, tmp_path):
    """The files of which each alone once stopped a class, among good ones; each has a row and a reason."""
    half = notebook(nano)
    half["cells"][-1]["source"] = "half a sign: \ud83d"
    odd = notebook(nano)
    odd["cells"][2]["metadata"] = {"nbgrader": {"grade_id": []}}
    photo = notebook(nano)
    photo["cells"][-1]["attachments"] = {"a.png": {"image/png": "AAAA"}}
    wordy = notebook(nano)
    wordy["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 5 * restore.MOST_TEXT}]
    hand_in(tmp_path / "in", anna=notebook(nano), half=half, odd=odd, one={"nbformat": 1, "cells": []}, photo=photo, nothing=b"")
    hand_in(tmp_path / "in", wide=json.dumps(notebook(nano)).encode("utf-16"), wrong=notebook(nano, WRONG), wordy=wordy)
    (tmp_path / "in" / "dir").mkdir()
    os.mkfifo(tmp_path / "in" / "pipe.ipynb")
    rows = {row["student"]: row for row in grade.grade(nano, tmp_path / "in", tmp_path / "out", LIMITS)}
    points = {student: row["by tests"] for student, row in rows.items()}
    assert points == {
        **dict.fromkeys(("anna", "half", "odd", "photo", "wide", "wordy"), "2"),
        **dict.fromkeys(("dir", "nothing", "one", "pipe"), "0"),
        "wrong": "1",
    }, rows
    assert "no notebook" in rows["nothing"]["notes"]
    assert all(rows[student]["notes"] for student in ("dir", "one", "pipe"))
    assert {path.stem for path in (tmp_path / "out/feedback").iterdir()} == set(rows)


def test_a_cell_that_python_cannot_read_is_said(nano, tmp_path, monkeypatch, capsys):
    """In the table and on the screen; an error of any other kind is the student's own business."""
    monkeypatch.setattr(source, "read", lambda name: nano)
    hand_in(tmp_path / "in", anna=notebook(nano, "def one()\n    return 1"), ben=notebook(nano, "def one():\nreturn 1"))
    hand_in(tmp_path / "in", cleo=notebook(nano, f"{RIGHT}\n1 / 0"))
    grade.main(["nano", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--shield", "basic"])
    said = "a cell does not run: {}".format
    notes = {student: row["notes"] for student, row in table(tmp_path / "out").items()}
    assert notes == {"anna": said("SyntaxError"), "ben": said("IndentationError"), "cleo": ""}
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("read")[2].strip() for line in lines if " to be read  " in line] == list(notes.values())


def test_latecomers_join_the_class_and_texts_keep_their_scores(nano, nano_text, tmp_path, capsys):
    out = tmp_path / "out"
    grade.grade(nano, hand_in(tmp_path / "in", anna=notebook(nano), ben=notebook(nano, WRONG)), out, LIMITS)
    path = out / "by_hand.csv"
    lines = path.read_text(encoding="utf-8-sig").replace(",why,3,,", ",why,3,3,well said").replace(",", ";")
    path.write_bytes(lines.encode("cp1252"))  # as a spreadsheet may save it
    late = hand_in(tmp_path / "late", cleo=notebook(nano), ben=notebook(nano, RIGHT, text="Another text."))
    grade.grade(nano, late, out, LIMITS)
    rows = table(out)
    assert {student: row["total"] for student, row in rows.items()} == {"anna": "5", "ben": "2", "cleo": "2"}
    assert {student: row["to be read"] for student, row in rows.items()} == {"anna": "0", "ben": "3", "cleo": "3"}
    assert "3 for an earlier text: well said" in path.read_text(encoding="utf-8-sig")
    assert any(";3;well said" in backup.read_text("cp1252") for backup in (out / "backups").glob("by_hand*"))
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*.html")}
    capsys.readouterr()
    grade.grade(nano, tmp_path / "in", out, LIMITS)  # ben's first file again: it is his submission now
    assert "1 of 2 submissions are graded already" in capsys.readouterr().out
    assert table(out)["ben"]["by tests"] == "1"
    assert [p.stem for p in before if p.stat().st_mtime_ns != before[p]] == ["ben"]
    changed = source.parse("nano", nano_text.replace("== 1", "== 2"))
    grade.grade(changed, tmp_path / "in", out, LIMITS)  # another test: all are graded again
    assert table(out)["anna"]["by tests"] == "1"


def strangers(folder: Path) -> list[str]:
    """Processes of submissions that live on."""
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return [line[:80] for line in lines if str(folder) in line and "_runner.py" in line]


def test_a_hundred_kills_lose_nothing_and_leave_nothing(nano, tmp_path):
    """Killed at any moment and started again: the table is always whole, no record is graded twice, no process lives on."""
    codes = [RIGHT, WRONG, "def one():\n    raise ValueError", "1 / 0"] * 5
    folder = hand_in(tmp_path / "in", **{f"s{i:02}": notebook(nano, code, f"Text {i}.") for i, code in enumerate(codes)})
    out, chance = tmp_path / "out", random.Random(1)
    expected = {"s00": "2", "s01": "1", "s02": "0", "s03": "0"}
    done: set[str] = set()
    kills, finished = 0, False
    while kills < 100:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.dup2(os.open(tmp_path / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
                os.dup2(1, 2)
                grade.grade(nano, folder, out, Limits(shield="basic"))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        time.sleep(chance.uniform(0.02, 0.5) if kills % 8 else chance.uniform(0.5, 2))  # mostly while something starts
        ended, status = os.waitpid(pid, os.WNOHANG)
        assert not status, (tmp_path / "said").read_text()
        if ended:
            finished = True
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        kills += 1
        if (out / "grades.csv").is_file():
            rows = table(out)
            assert done <= set(rows)
            done = set(rows)
            assert all(row["by tests"] == expected[f"s0{int(student[1:]) % 4}"] for student, row in rows.items()), rows
        if finished and kills % 10 == 0:  # a fresh class
            finished, done = False, set()
            out = tmp_path / f"out-{kills}"
    records = {path.parent.name: path.stat().st_mtime_ns for path in out.glob("students/*/record.json")}
    grade.grade(nano, folder, out, Limits(shield="basic"))
    rows = table(out)
    assert len(rows) == 20
    assert all(row["by tests"] == expected[f"s0{int(student[1:]) % 4}"] for student, row in rows.items()), rows
    for student, at in records.items():
        assert (out / "students" / student / "record.json").stat().st_mtime_ns == at
    deadline = time.monotonic() + 300  # who was just starting sees that nobody listens, and goes
    while strangers(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert strangers(tmp_path) == []
    assert list(out.glob("scratch*")) == []


SLOW = """#!/bin/sh
touch "$0.begun"
while ! [ -e "$0.go" ]; do sleep 0.05; done
/bin/rm "$@"
touch "$0.done"
"""


def wait_for(path: Path, pid: int = 0) -> None:
    """Until a file is there; the process that is to make it must live."""
    while not path.exists():
        assert not pid or os.waitpid(pid, os.WNOHANG) == (0, 0)
        time.sleep(0.02)


def test_what_a_killed_grader_clears_away_late_costs_nobody_a_point(nano, tmp_path, monkeypatch):
    """On a busy machine the `rm` of a grader that was killed may begin when the next one is at work already."""
    folder, out, slow = hand_in(tmp_path / "in", anna=notebook(nano)), tmp_path / "out", tmp_path / "slow"
    (out / f"{grade.SCRATCH}-old" / "fold-old").mkdir(parents=True)
    slow.mkdir()
    (slow / "rm").write_text(SLOW)
    (slow / "rm").chmod(0o755)
    pid = os.fork()
    if not pid:
        os.environ["PATH"] = f"{slow}:{os.environ['PATH']}"
        with contextlib.suppress(BaseException):
            grade.grade(nano, folder, out, LIMITS)
        os._exit(1)
    wait_for(slow / "rm.begun", pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    begun = grade.begun

    def meanwhile(*args):
        (slow / "rm.go").touch()
        wait_for(slow / "rm.done")
        return begun(*args)

    monkeypatch.setattr(grade, "begun", meanwhile)
    (row,) = grade.grade(nano, folder, out, LIMITS)
    assert (row["by tests"], row["notes"]) == ("2", "")
    assert list(out.glob(f"{grade.SCRATCH}*")) == []


def test_where_the_machine_fails_a_judge_the_next_run_tries_again(nano, tmp_path, monkeypatch):
    """No room on the disk, no more processes, or here no folder to work in: that is nobody's zero for good."""
    folder, out, begun = hand_in(tmp_path / "in", anna=notebook(nano)), tmp_path / "out", grade.begun
    with monkeypatch.context() as here:
        here.setattr(grade, "begun", lambda *args: grade.clear(out) or begun(*args))
        (row,) = grade.grade(nano, folder, out, LIMITS)
    assert row["by tests"] == "0"
    assert row["notes"].startswith("not graded: FileNotFoundError")
    assert row["notes"].endswith(grade.AGAIN)
    (row,) = grade.grade(nano, folder, out, LIMITS)
    assert (row["by tests"], row["notes"]) == ("2", "")


def test_two_graders_do_not_meet(nano, tmp_path):
    folder = hand_in(tmp_path / "in", anna=notebook(nano))
    with book.locked(tmp_path / "out"):
        command = f"from course import book, source\nwith book.locked(source.Path({str(tmp_path / 'out')!r})): pass"
        done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, cwd=source.ROOT)
    assert "somebody else is grading" in done.stderr
    assert len(grade.grade(nano, folder, tmp_path / "out", LIMITS)) == 1


def test_where_walls_are_missing_grading_is_refused_unless_told_to(nano, tmp_path, monkeypatch, capsys):
    folder = hand_in(tmp_path / "in", anna=notebook(nano))
    monkeypatch.setattr(shield, "bubblewrap", lambda: None)
    with pytest.raises(grade.CourseError, match=r"(?s)bubblewrap .* SHIELD=basic"):
        grade.grade(nano, folder, tmp_path / "out", Limits())
    assert not (tmp_path / "out/grades.csv").exists()
    (row,) = grade.grade(nano, folder, tmp_path / "out", LIMITS)
    assert row["by tests"] == "2"
    assert "bubblewrap" in capsys.readouterr().err


def test_as_root_without_control_groups_grading_is_refused_unless_told_to(monkeypatch, capsys):
    """A submission that forks without end once held up a machine for nine minutes: root's processes have no limit."""
    monkeypatch.setattr(shield, "missing", list)
    monkeypatch.setattr(grade.group, "works", lambda: False)
    monkeypatch.setattr(grade.group, "counts", lambda: False)
    for user, refused in ((0, True), (1000, not shield.counted())):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        if refused:
            with pytest.raises(grade.CourseError, match="the number of processes has no limit"):
                grade.allowed(Limits())
        else:
            grade.allowed(Limits())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    grade.allowed(Limits(shield="basic"))
    assert "forks without end" in capsys.readouterr().err
    for held in ("works", "counts"):
        with monkeypatch.context() as here:
            here.setattr(grade.group, held, lambda: True)
            grade.allowed(Limits())


def test_the_judges_own_memory_has_an_end(nano_text, tmp_path):
    """A test that would take 8 GB, whatever an answer made of it, fails like a case; the machine does not notice."""
    greedy = nano_text.replace("assert one() > 0", "assert len(bytearray(8 * 10**9)) > 0")
    problems = source.parse("nano", greedy)
    folder = hand_in(tmp_path / "in", anna=notebook(problems), ben=notebook(problems))
    rows = grade.grade(problems, folder, tmp_path / "out", LIMITS)
    assert [row["by tests"] for row in rows] == ["1", "1"]
    told = (tmp_path / "out/feedback/anna.html").read_text(encoding="utf-8")
    assert "a hidden test could not use the answer: MemoryError" in told


def test_a_judge_does_not_wait_for_threads_that_its_parent_had(nano_text, tmp_path):
    """A process that has used torch in two threads is forked without them; a product in the judge must still end."""
    product = "import torch; assert float((torch.ones(800, 800) @ torch.ones(800, 800)).add(1).exp().sum()) > 0"
    problems = source.parse("nano", nano_text.replace("assert one() > 0", f"{product}; assert one() > 0"))
    folder = hand_in(tmp_path / "in", anna=notebook(problems))
    script = (
        "import sys, torch; from pathlib import Path; from course import grade, source\n"
        "from course.kernel import Limits\n"
        "torch.set_num_threads(2); (torch.ones(900, 900) @ torch.ones(900, 900)).add(1).exp()\n"
        "problems = source.parse('nano', Path(sys.argv[1]).read_text())\n"
        "print(grade.grade(problems, Path(sys.argv[2]), Path(sys.argv[3]), Limits(shield='basic'))[0]['by tests'])\n"
    )
    (tmp_path / "nano.md").write_text(nano_text.replace("assert one() > 0", f"{product}; assert one() > 0"))
    command = [sys.executable, "-c", script, tmp_path / "nano.md", folder, tmp_path / "out"]
    free = {k: v for k, v in os.environ.items() if not k.endswith("NUM_THREADS")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=source.ROOT, env=free)
    assert done.stdout.split()[-1:] == ["2"], done.stderr[-500:]


def test_what_every_judge_would_do_for_itself_is_done_once(nano_text, tmp_path, monkeypatch):
    """Imports of tests and what torch maps: seconds of each submission's processor time, before a class is begun."""
    asked, known, begun = [], [], grade.begun
    imports = "from wsgiref import handlers\nimport no_such_module_anywhere\n"
    problems = source.parse("nano", nano_text.replace("assert one() == 1", f"{imports}assert one() == 1"))
    folder = hand_in(tmp_path / "in", anna=notebook(problems), ben=notebook(problems))

    def watched(*given):
        known.append((len(asked), "wsgiref.handlers" in sys.modules))
        return begun(*given)

    sys.modules.pop("wsgiref.handlers", None)
    monkeypatch.setattr(grade, "before", lambda: asked.append(1))
    monkeypatch.setattr(grade, "begun", watched)
    rows = grade.grade(problems, folder, tmp_path / "out", LIMITS)
    assert known == [(1, True), (1, True)]
    assert [row["by tests"] for row in rows] == ["0", "0"]  # the judge finds out by itself what is not there
    asked.clear()
    grade.grade(problems, folder, tmp_path / "out", LIMITS)
    assert asked == []


QUICK = Limits(cell=20, call=5, test=4, judge=10, shield="basic")
HELD = """import ctypes
def held(number):
    lock = ctypes.create_string_buffer(64)
    while number > 1:
        ctypes.CDLL(None).pthread_mutex_lock(lock)
    return True
assert one() > 0 and held(one())"""


def test_a_judge_that_hangs_does_not_hold_up_the_class(nano_text, tmp_path, monkeypatch):
    """A lock that nobody opens, in C, where no alarm comes through: as in a library whose threads are gone.

    The others are graded meanwhile; its row has a reason, nothing of it lives on, and the same command tries it again.
    """
    problems = source.parse("nano", nano_text.replace("assert one() > 0", HELD))
    fourth = "calls = 0\ndef one():\n    global calls\n    calls += 1\n    return 1 if calls < 4 else 2"
    others = ("anna", "cleo", "dora")
    good = {name: notebook(problems) for name in others}
    folder, out = hand_in(tmp_path / "in", ben=notebook(problems, fourth), **good), tmp_path / "out"
    judges, begun = [], grade.begun
    monkeypatch.setattr(grade, "begun", lambda *args: judges.append(begun(*args)) or judges[-1])
    rows = {row["student"]: row for row in grade.grade(problems, folder, out, QUICK)}
    assert {name: row["by tests"] for name, row in rows.items()} == {"anna": "2", "ben": "0", "cleo": "2", "dora": "2"}, rows
    assert rows["ben"]["notes"].startswith("not graded: the judge did not come back from the test one-value, and was ended")
    assert [rows[name]["notes"] for name in others] == [""] * 3
    assert strangers(tmp_path) == []
    assert [path for pid in judges for path in grade.group.TASKS.glob(f"fold-{pid}-*")] == []
    assert len(judges) == 4
    assert list(out.glob("scratch*")) == []
    stamps = {name: (out / "students" / name / "record.json").stat().st_mtime_ns for name in others}
    hand_in(tmp_path / "in", ben=notebook(problems))
    assert {row["by tests"] for row in grade.grade(problems, folder, out, QUICK)} == {"2"}
    assert stamps == {name: (out / "students" / name / "record.json").stat().st_mtime_ns for name in others}


def test_a_judge_that_hangs_over_a_file_is_ended_too(nano, tmp_path, monkeypatch):
    """Before any notebook runs; and stopped altogether, so that only the system can end it. Both are tried again as they are."""
    folder, out = hand_in(tmp_path / "in", anna=notebook(nano), ben=notebook(nano, text="By Ben.")), tmp_path / "out"
    real = grade.restore.restore

    def stuck(problems, text, release):
        if "By Ben." in text and not (out / "students/ben/record.json").exists():
            os.kill(os.getpid(), signal.SIGSTOP)
        return real(problems, text, release)

    monkeypatch.setattr(grade.restore, "restore", stuck)
    rows = {row["student"]: row for row in grade.grade(nano, folder, out, QUICK)}
    assert {name: row["by tests"] for name, row in rows.items()} == {"anna": "2", "ben": "0"}, rows
    assert rows["ben"]["notes"].startswith("not graded: the judge did not come back from the file, and was ended")
    assert {row["by tests"] for row in grade.grade(nano, folder, out, QUICK)} == {"2"}


def test_a_judge_that_is_put_aside_at_any_moment_is_waited_for(nano, tmp_path, monkeypatch):
    """A busy machine may stop a judge wherever it is, also between two signs of life."""
    said = grade.Pulse.__call__

    def put_aside(pulse, what, seconds):
        said(pulse, what, seconds)
        time.sleep(0.2)

    monkeypatch.setattr(grade.Pulse, "__call__", put_aside)
    (row,) = grade.grade(nano, hand_in(tmp_path / "in", anna=notebook(nano)), tmp_path / "out", LIMITS)
    assert (row["by tests"], row["notes"]) == ("2", "")


def test_grading_that_is_stopped_and_goes_on_costs_nobody_a_point(nano, tmp_path):
    """Ctrl-Z and fg: the grader and its judges stand still for longer than a judge may be silent, wherever they are."""
    slow = "import time\ndef one():\n    time.sleep(0.3)\n    return 1"
    folder, out = hand_in(tmp_path / "in", **{f"s{i}": notebook(nano, slow) for i in range(4)}), tmp_path / "out"
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
        try:
            grade.grade(nano, folder, out, Limits(cell=20, call=3, test=3, judge=8, shield="basic"))
            status = 0
        finally:
            os._exit(status)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.setpgid(pid, pid)  # as the child does, whoever comes first
    time.sleep(1.5)
    os.killpg(pid, signal.SIGSTOP)
    time.sleep(13)
    os.killpg(pid, signal.SIGCONT)
    assert os.waitpid(pid, 0)[1] == 0
    assert {name: (row["by tests"], row["notes"]) for name, row in table(out).items()} == {f"s{i}": ("2", "") for i in range(4)}


def test_solutions_among_the_packages_are_not_graded_with(monkeypatch):
    """Every submission sees the folders of Python and of the system."""
    monkeypatch.setattr(source, "SOURCES", Path(sys.prefix) / "lib/course/sets")
    with pytest.raises(CourseError, match="every submission can read the solutions"):
        grade.allowed(LIMITS)
