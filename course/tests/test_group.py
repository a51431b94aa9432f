"""Control groups: used where they hold, and nowhere else."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course import grade, group, shield
from course.kernel import Kernel, Limits
from course.line import Ended

PRETENDS = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def path(monkeypatch, tmp_path) -> Path:
    """A place for programs that is looked at first; what was found out before is forgotten."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "defpath", f"{tmp_path}:{os.defpath}")
    group.works.cache_clear()
    yield tmp_path
    group.works.cache_clear()


def test_a_group_is_asked_for_with_all_its_limits(monkeypatch):
    monkeypatch.setattr(group, "works", lambda: True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command = group.around(3200, 512)
    assert command[:3] == ["systemd-run", "--user", "--scope"]
    assert {"MemoryMax=3700M", "MemorySwapMax=0", "TasksMax=512"} <= set(command)
    assert command[-1] == "--"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--user" not in group.around(3200, 512)


@pytest.mark.parametrize("script", [PRETENDS, "#!/bin/sh\nexit 1\n", None])
def test_a_group_that_does_not_hold_is_not_used(path, script):
    """No systemd; one that refuses; and one that runs the command without any limit, which is worse than none."""
    if script:
        (path / "systemd-run").write_text(script)
        (path / "systemd-run").chmod(0o755)
    assert not group.works()
    assert group.around(3200, 512) == []


def test_the_trial_believes_only_the_limit_that_was_asked_for(path, monkeypatch):
    said = PRETENDS.replace('exec "$@"', f'for last in "$@"; do :; done\nprintf {{}} > /proc/self/fd/$last\n# {sys.platform}')
    for text, holds in ((str(group.TRIAL * 2**20), True), ("max", False), ("1", False)):
        (path / "systemd-run").write_text(said.replace("{}", text))
        (path / "systemd-run").chmod(0o755)
        group.works.cache_clear()
        assert group.works() is holds


@pytest.mark.skipif(group.place(os.getpid()) is None, reason="NO CONTROL GROUPS OF VERSION 2 HERE: none was tried")
def test_the_systems_word_on_memory_is_read(monkeypatch, tmp_path):
    own = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    monkeypatch.setattr(group, "MOUNT", tmp_path)
    events = tmp_path / own.lstrip("/") / "memory.events"
    assert not group.ended_for_memory(os.getpid())
    events.parent.mkdir(parents=True, exist_ok=True)
    for count, found in ((0, False), (2, True)):
        events.write_text(f"low 0\nhigh 0\nmax 9\noom {count}\noom_kill {count}\n")
        assert group.ended_for_memory(os.getpid()) is found


@pytest.mark.course
@pytest.mark.skipif(not shield.version() or not group.works(), reason="NO CONTROL GROUPS OF SYSTEMD HERE: none was tried")
def test_many_processes_together_end_at_the_limit():
    child = "        x = bytearray(200_000_000)\n        time.sleep(60)\n"
    flood = f"import os, time\nfor _ in range(6):\n    if not os.fork():\n{child}time.sleep(30)"
    with Kernel(Limits(cell=30, memory=600, disk=50, shield="basic")) as kernel:
        with contextlib.suppress(Ended):
            kernel.run(flood, 30)
        assert group.ended_for_memory(kernel.process.pid) or "of memory" in kernel.reason


@pytest.mark.course
@pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run")
def test_a_submission_begins_in_its_group_and_the_systems_word_is_its_reason(monkeypatch, tmp_path):
    """Where systemd makes groups: what it is asked for, around the whole shield, and what is said when it ends a process.

    Here a script stands for systemd; on a system with groups the test above runs, too.
    """
    (tmp_path / "systemd-run").write_text(PRETENDS.replace("while", f'echo "$@" > {tmp_path}/asked\nwhile', 1))
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setattr(os, "defpath", f"{tmp_path}:{os.defpath}")
    monkeypatch.setattr(group, "works", lambda: True)
    monkeypatch.setattr(group, "place", lambda pid: None)  # the group of this very test is nobody's to end
    limits = Limits(cell=30, memory=600, disk=50, shield="basic")
    with Kernel(limits) as kernel:
        asked = (tmp_path / "asked").read_text()
        assert f"-p MemoryMax={600 + 50 + group.SPARE}M -p MemorySwapMax=0 -p TasksMax={limits.tasks} --" in asked
        assert "shield.py" in asked.split(" -- ", 1)[1]
        assert kernel.run("print(6 * 7)", 30)[0][0]["text"] == "42\n"
        assert kernel.reason == ""
        monkeypatch.setattr(group, "ended_for_memory", lambda pid: True)
        with pytest.raises(Ended, match="it took more than 600 MB of memory"):
            kernel.run("import os, time\ntime.sleep(1)\nos.kill(os.getpid(), 9)", 30)


# ---- a group of our own ------------------------------------------------------------------------------------------------

alone = pytest.mark.skipif(not group.counts(), reason="NO CONTROL GROUP CAN BE MADE HERE: none was tried")


@alone
def test_a_group_of_our_own_counts_and_refuses():
    """Twelve processes where ten are allowed: the system refuses, says so later too, and the folder goes."""
    folder = group.counting(10)
    try:
        loop = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 3 & done; wait"
        for command, refused in (("sleep 0.01 & wait", False), (loop, True)):
            subprocess.run([*group.entered(folder), "/bin/sh", "-c", command], capture_output=True, timeout=300)
            assert group.refused(folder) is refused
            assert len(group.members(folder)) <= 10
    finally:
        group.left(folder)
    assert not folder.exists()


@alone
def test_what_a_judge_that_was_killed_left_is_removed(monkeypatch):
    ended = subprocess.Popen(["true"])
    ended.wait()
    old, new = group.TASKS / f"fold-{ended.pid}-0", group.made(5)
    old.mkdir()
    group.counts.cache_clear()
    assert group.counts()
    assert not old.exists()
    assert new.exists()
    group.left(new)


def test_without_such_groups_none_is_used(monkeypatch, tmp_path):
    """Folders that anybody can make count nothing: the trial sees it."""
    for place in (tmp_path, tmp_path / "missing"):
        monkeypatch.setattr(group, "TASKS", place)
        group.counts.cache_clear()
        assert not group.counts()
        assert group.counting(10) is None
    group.counts.cache_clear()


@pytest.mark.course
@pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run")
@pytest.mark.skipif(not grade.bounded(), reason="NOTHING BOUNDS A FLOOD OF FORKS HERE: none was tried")
@pytest.mark.parametrize("code", ["while True:\n    os.fork()", "for _ in range(70):\n    os.fork() or time.sleep(60)"])
def test_a_flood_of_forks_ends_with_its_reason(code):
    """Whether the watcher looks first, or the system refuses and the cell answers with an error: the same sentence."""
    with Kernel(Limits(cell=30, shield="basic")) as kernel:
        kernel.run("import os, time", 30)
        with pytest.raises(Ended, match="it started more than 64 processes"):
            kernel.run(code, 30)
        folder = kernel.group
    assert kernel._descendants() == []
    assert folder is None or not folder.exists()
