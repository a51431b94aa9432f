"""The file of a run: one row a line, appended whole or not at all, by one run at a time."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE = 3.0  # seconds: a program that a killed run was just about to start holds its lock for a moment longer


class RunStopped(RuntimeError):
    """A run did not come to its end; what was written stays, and the same command goes on from there."""


class Rows:
    """A file of rows, open for one run alone; leaving the context releases the lock, and so does a kill.

    The lock is a file of its own, `x.jsonl.lock`, which stays: on Windows a locked file could not be read.
    """

    def __init__(self, path: Path):
        self.path = path
        # one lock by whatever name the file is reached; a lock that a kill would not release is refused
        where = f"{path.resolve()}.lock"
        self.lock = FileLock(where, PATIENCE, poll_interval=0.02, thread_local=False, fallback_to_soft=False)
        try:
            self.lock.acquire()
        except Timeout:
            raise RunStopped(f"another run writes to {path.name} now: wait for it, or stop it and start again") from None
        self.file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._end_torn_line()

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_) -> None:
        os.close(self.file)
        self.lock.release()

    def append(self, row: dict) -> None:
        """Write a row and see it on the disk; where there is no room for all of it, nothing of it stays."""
        end, line = os.lseek(self.file, 0, os.SEEK_END), json.dumps(row, default=plain).encode() + b"\n"
        try:
            self._write(line)
            os.fsync(self.file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self.file, end)
            raise RunStopped(
                f"a row could not be written to {self.path}: {error.strerror}; the rows before it are kept, "
                "and the same command goes on from there"
            ) from None

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self.file, left) :]

    def _end_torn_line(self) -> None:
        """A kill in the middle of a write leaves half a line: end it, so that the next row starts on its own."""
        if end := os.lseek(self.file, 0, os.SEEK_END):
            os.lseek(self.file, end - 1, os.SEEK_SET)
            if os.read(self.file, 1) != b"\n":
                self._write(b"\n")


def plain(value):
    """Arrays and tensors as lists, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a result holds numbers, texts and lists of them; got {type(value).__name__}")


def key(cell) -> str:
    """A cell as a text that is the same for the same settings."""
    return json.dumps(cell, sort_keys=True, default=plain)
