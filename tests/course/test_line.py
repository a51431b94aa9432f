"""Who speaks for a submission, and whose time it is."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tools.course import judge, line, shield
from tools.course.kernel import Kernel, Limits
from tools.course.line import Line, Silent

LIMITS = Limits(cell=30, call=10, shield="basic")
walled = pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run")


@pytest.mark.course
@walled
def test_children_of_a_cell_do_not_answer_for_it():
    """Thirty-one forks that go on after their cell would each answer, and read what the next cell is."""
    with Kernel(LIMITS) as kernel:
        kernel.run("import os\nparent = os.getpid()\nfor _ in range(5):\n    os.fork()", 30)
        for number in range(6):
            outputs, stopped = kernel.run(f"print({number}, os.getpid() == parent)", 30)
            assert (outputs[0]["text"], stopped) == (f"{number} True\n", "")
        kernel.run("def forks(x):\n    os.fork()\n    return x", 30)
        photo = kernel.photograph()
        for number in range(6):
            assert kernel.ask(photo, {"name": "forks", "args": [number], "kwargs": {}}) == {"value": number}


@pytest.mark.course
@walled
def test_a_photograph_that_comes_late_answers_the_question_that_was_asked():
    """It says once that it is there; on a busy machine that came so late that each reply was taken for the next one."""
    with Kernel(LIMITS) as kernel:
        kernel.run("a, b = 1, 2", 30)
        photo = kernel.photograph()
        time.sleep(0.2)
        assert [kernel.ask(photo, {"name": name}) for name in "abab"] == [{"value": n} for n in (1, 2, 1, 2)]


def test_a_message_that_comes_in_pieces_is_one_message():
    ours, theirs = socket.socketpair()
    heard, data = Line(ours, 1000), b'{"value": [1, 2]}'
    whole = len(data).to_bytes(4, "big") + data
    with theirs:
        for piece in (whole[:2], whole[2:9]):
            theirs.sendall(piece)
            with pytest.raises(Silent):
                heard.hear(0.02)
        theirs.sendall(whole[9:])
        assert heard.hear(1) == {"value": [1, 2]}
    heard.close()


BUSY = "import os, time\nos.sched_setaffinity(0, {%d})\nend = time.monotonic() + 3\nwhile time.monotonic() < end: pass"


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="this system does not say how long a process waits")
def test_who_waits_for_a_processor_is_told_from_who_sleeps():
    """Three loops on one processor each get a third of it and wait two thirds; one that sleeps waits for none."""
    cpu = min(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-c", BUSY % cpu]) for _ in range(3)]
    asleep = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3)"])
    time.sleep(2.5)
    waits, none = [line.waiting(loop.pid) for loop in loops], line.waiting(asleep.pid)
    for process in (*loops, asleep):
        process.wait()
    assert sum(waits) > 2.5
    assert none < 1 < max(waits)
    assert line.waiting(asleep.pid) == 0


def test_a_limit_grows_by_what_a_process_waited_and_not_for_ever(monkeypatch):
    ours, theirs = socket.socketpair()
    heard, start = Line(ours, 1000), time.monotonic()
    for share, least, most in ((0.0, 0.4, 0.9), (0.5, 0.7, 1.3), (1.0, 1.5, 2.1)):
        monkeypatch.setattr(line, "waiting", lambda pid, share=share: share * (time.monotonic() - start))
        begun = time.monotonic()
        with pytest.raises(Silent):
            heard.hear_patiently(0.4)
        assert least <= time.monotonic() - begun < most
    theirs.sendall(b"\x00\x00\x00\x02{}")  # also what comes in time says how long it waited: a whole notebook has a limit too
    said = iter((5.0, 5.25))
    monkeypatch.setattr(line, "waiting", lambda pid: next(said))
    assert heard.hear_patiently(0.4) == ({}, 0.25)
    theirs.close()
    heard.close()


class Waits:
    """A submission that has waited for a share of the time."""

    def __init__(self, share: float):
        self.share, self.start, self.at = share, time.monotonic(), []

    def busy(self, what: str, seconds: float) -> None:
        self.at.append((what, seconds))

    @property
    def waited(self) -> float:
        return self.share * (time.monotonic() - self.start)


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.4, 0.9), (0.5, 0.7, 1.3), (1.0, 1.5, 2.1)])
def test_so_does_the_limit_of_a_test(share, least, most):
    begun, before = time.monotonic(), signal.getsignal(signal.SIGALRM)
    submission = Waits(share)
    with pytest.raises(judge.Late), judge.limited(0.4, submission, "of mine"):
        time.sleep(5)
    assert submission.at[0] == ("the test of mine", 0.4)
    assert least <= time.monotonic() - begun < most
    assert signal.getsignal(signal.SIGALRM) is before
