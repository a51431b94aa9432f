"""Who speaks for a submission, and whose time it is."""

import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from course import judge, line, shield
from course.kernel import Kernel, Limits
from course.line import Ended, Line, Silent
from course.submission import Step, Submission

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


BUSY = "import os\nos.sched_setaffinity(0, {%d})\nwhile True: pass"


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="this system does not say how long a process waits")
def test_who_waits_for_a_processor_is_told_from_who_sleeps():
    """Three loops on one processor each get a third of it and wait two thirds; one that sleeps waits for none."""
    cpu = min(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-c", BUSY % cpu]) for _ in range(3)]
    asleep = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        asleep.stdout.readline()
        while psutil.Process(asleep.pid).status() != psutil.STATUS_SLEEPING:  # it may still wait for its turn to sleep
            time.sleep(0.05)
        before = line.waiting(asleep.pid)
        deadline = time.monotonic() + 300
        while sum(line.waiting(loop.pid) for loop in loops) < 2.5 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert sum(line.waiting(loop.pid) for loop in loops) >= 2.5
        assert line.waiting(asleep.pid) - before < 0.1
    finally:
        for process in (*loops, asleep):
            process.kill()
            process.communicate()
    assert line.waiting(asleep.pid) == 0


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(line, "time", made)
    monkeypatch.setattr(line, "stolen", list)
    return made


@pytest.mark.parametrize(("share", "after"), [(0.0, 10), (0.5, 20), (0.9, 100), (0.99, 200), (1.0, 200)])
def test_a_limit_grows_by_what_a_process_waited_and_not_for_ever(clock, share, after):
    """Ten seconds of which a share is spent in waiting for a processor; twenty times as many on the clock are the end."""
    watch = line.Stopwatch(lambda: share * clock.now)
    while not watch.over(10):
        clock.now += 0.125
    assert clock.now == pytest.approx(after, abs=0.13)


@pytest.mark.parametrize(
    ("queue", "steal", "after"), [(0.0, (0.5, 0.0), 20), (0.0, (0.1, 0.9), 100), (0.5, (0.5, 0.5), 40), (0.0, (1.0, 1.0), 200)]
)
def test_a_limit_grows_by_what_other_machines_took(clock, monkeypatch, queue, steal, after):
    """The processor that lost most is the one that the process may have been on; a share of what the queue left is lost there."""
    monkeypatch.setattr(line, "stolen", lambda: [share * clock.now for share in steal])
    watch = line.Stopwatch(lambda: queue * clock.now)
    while not watch.over(10):
        clock.now += 0.125
    assert clock.now == pytest.approx(after, rel=0.02)
    assert watch.lost == pytest.approx(clock.now - watch())


@pytest.mark.skipif(not hasattr(psutil.cpu_times(), "steal"), reason="this system does not say what others took")
def test_what_others_took_is_read_for_each_processor():
    before = [processor.steal for processor in psutil.cpu_times(percpu=True)]
    found, after = line.stolen(), [processor.steal for processor in psutil.cpu_times(percpu=True)]
    assert len(found) == len(before) > 0
    assert all(b - 0.02 <= f <= a + 0.02 for b, f, a in zip(before, found, after))


def test_who_is_stopped_loses_no_time(clock):
    """As by Ctrl-Z and fg an hour later: the hour counts as one step."""
    watch = line.Stopwatch()
    clock.now += 0.5
    assert watch() == 0.5
    clock.now += 3600
    assert (watch(), watch.over(2), watch.lost) == (1.5, False, 3599)


def test_what_was_waited_is_known_while_one_listens_and_afterwards(clock, monkeypatch):
    """Half of the time is spent in waiting: a limit of 0.4 seconds takes 0.8."""
    ours, theirs = socket.socketpair()
    heard, seen = Line(ours, 1000), []
    heard.alive = lambda: seen.append(heard.waited)

    def waiting(pid) -> float:
        clock.now += 0.01
        return 0.5 * clock.now

    monkeypatch.setattr(line, "STEP", 0.01)
    monkeypatch.setattr(line, "waiting", waiting)
    with pytest.raises(Silent):
        heard.hear(0.4)
    assert 0.8 <= clock.now < 1
    assert seen == sorted(seen)
    assert 0.2 < seen[-1]
    assert heard.waited >= 0.4
    assert heard.counted >= 0.39
    theirs.sendall(b"\x00\x00\x00\x02{}")
    assert heard.hear(0.4) == {}
    theirs.close()
    heard.close()


class Waits:
    """A submission that has waited for a share of the time."""

    def __init__(self, share: float):
        self.share, self.start, self.at = share, time.monotonic(), []

    def busy(self, what: str, seconds: float) -> None:
        self.at.append((what, seconds))

    def alive(self) -> None:
        self.at.append("alive")

    @property
    def waited(self) -> float:
        return self.share * (time.monotonic() - self.start)


@pytest.mark.parametrize(("share", "least"), [(0.0, 0.4), (0.5, 0.8), (1.0, 1.6)])
def test_so_does_the_limit_of_a_test(share, least, monkeypatch):
    monkeypatch.setattr(line, "MOST", 4)
    monkeypatch.setattr(judge, "STEP", 0.05)
    monkeypatch.setattr(line, "STEP", 0.05)  # nor may a machine that stands still end it at the first look
    begun, before = time.monotonic(), signal.getsignal(signal.SIGALRM)
    submission = Waits(share)
    with pytest.raises(judge.Late), judge.limited(0.4, submission, "of mine"):
        time.sleep(300)
    assert submission.at[:2] == [("the test of mine", 0.4), "alive"]
    assert time.monotonic() - begun >= least - 0.01
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.course
@walled
def test_the_time_of_a_test_does_not_run_out_while_its_answer_waits_for_a_processor(monkeypatch):
    """A call that is within its limit is within that of its test too: what it waited counts before the answer is there."""
    slow = "import time\ndef slow():\n    time.sleep(2)\n    return 1"
    submission = Submission([Step("a", slow)], Limits(test=1, call=1, shield="basic"))
    try:
        submission.start()
        begun = time.monotonic()
        monkeypatch.setattr(line, "waiting", lambda pid: 0.9 * (time.monotonic() - begun) if pid else 0.0)
        with judge.limited(1, submission, "slow"):
            assert submission.ask("", {"name": "slow", "args": [], "kwargs": {}}) == {"value": 1}
    finally:
        submission.close()


@pytest.mark.course
@walled
def test_who_waits_behind_its_own_children_waits_for_itself():
    """Eight loops that a cell starts keep it from the processor: 76 s went by under a limit of 5."""
    code = "import os\nfor _ in range(8):\n    if not os.fork():\n        while True: pass\nwhile True: pass"
    with Kernel(LIMITS) as kernel:
        kernel.run("import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", 30)
        with pytest.raises(Ended, match="longer than 3 s"):
            kernel.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + code, 3)
        spent = sum(own + children for own, children in kernel.times.values())
    assert spent < 15  # nine loops on one processor for three seconds and the grace: 5 of 6 were not counted before
