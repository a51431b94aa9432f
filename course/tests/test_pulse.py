"""Signs of life are read while they are written."""

import os
import signal
import time

from course.pulse import Pulse


def test_whoever_looks_while_a_sign_is_written_sees_the_old_one_or_the_new_one():
    """Not the moment between: a healthy judge was ended because its page was empty for an instant."""
    pulse, begun = Pulse(100), time.monotonic()
    pid = os.fork()
    if not pid:
        while True:
            pulse("one thing", 100)
            pulse.beat(101)
            pulse("another", 102)
    try:
        seen = set()
        while time.monotonic() < begun + 1 or len(seen) < 2:
            assert pulse.until >= begun + 99
            seen.add(pulse.at)
            assert time.monotonic() < begun + 3000
        assert {"one thing", "another"} & seen
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_sign_of_life_never_shortens_what_was_granted():
    pulse = Pulse(10_000)  # seconds beside which no standstill of a machine counts
    before = pulse.until
    pulse.beat(1)
    assert (pulse.until, pulse.at) == (before, "beginning")
    pulse.beat(1_000_000)
    assert pulse.until > before + 900_000
    pulse("ü" * 300, 5)
    assert pulse.at.startswith("üüü")
    assert pulse.until < before
