"""A judge's signs of life: what it is at, and until when it may be silent. Grading a class waits no longer than that.

A submission that hangs is stopped by its judge. This is for a judge that hangs itself: in code that no signal interrupts, in a
library, in a file. The page is shared with whoever is forked after it was made; writing to it takes no system call.
"""

from __future__ import annotations

import mmap
import struct
import time

PAGE = struct.Struct("d200s")


class Pulse:
    """Made before the judge is forked: the judge calls it, whoever waits for the judge reads `until` and `at`."""

    def __init__(self, seconds: float):
        self.page = mmap.mmap(-1, PAGE.size)
        self("beginning", seconds)

    def __call__(self, what: str, seconds: float) -> None:
        """From now on busy with something, for at most so many seconds."""
        PAGE.pack_into(self.page, 0, time.monotonic() + seconds, what.encode("utf-8", "replace")[:200])

    @property
    def until(self) -> float:
        return PAGE.unpack_from(self.page)[0]

    @property
    def at(self) -> str:
        return PAGE.unpack_from(self.page)[1].rstrip(b"\0").decode("utf-8", "replace")
