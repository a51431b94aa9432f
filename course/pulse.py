"""A judge's signs of life: what it is at, and until when it may be silent. Grading a class waits no longer than that.

A submission that hangs is stopped by its judge. This is for a judge that hangs itself: in code that no signal interrupts, in a
library, in a file. The page is shared with whoever is forked after it was made; writing to it takes no system call.
"""

from __future__ import annotations

import ctypes
import mmap
import time

TEXT = slice(8, 208)


class Pulse:
    """Made before the judge is forked: the judge calls it, whoever waits for the judge reads `until` and `at`."""

    def __init__(self, seconds: float):
        self.page = mmap.mmap(-1, TEXT.stop)
        self.limit = ctypes.c_double.from_buffer(self.page)  # written whole: whoever looks sees the old one or the new one
        self("beginning", seconds)

    def __call__(self, what: str, seconds: float) -> None:
        """From now on busy with something, for at most so many seconds."""
        self.limit.value = time.monotonic() + seconds
        self.page[TEXT] = what.encode("utf-8", "replace")[:200].ljust(200, b"\0")

    def beat(self, seconds: float) -> None:
        """Still busy with the same, for so many seconds from now on."""
        self.limit.value = max(self.until, time.monotonic() + seconds)

    @property
    def until(self) -> float:
        return self.limit.value

    @property
    def at(self) -> str:
        return self.page[TEXT].rstrip(b"\0").decode("utf-8", "replace")
