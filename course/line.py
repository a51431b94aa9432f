"""Messages between the judge and the processes of a submission: JSON with its length before it, over a socket of the system."""

from __future__ import annotations

import json
import os
import socket
import struct
import time

MOST = 20  # times as long as on a quiet machine is a limit at the most, on the clock
STEP = 0.5  # seconds between two looks at the clock


class Ended(Exception):
    """The process is gone; the message says why."""


class Silent(Exception):
    """No message came in time."""


def waiting(pid: int) -> float:
    """The seconds that a process has been ready to run and waited for a processor; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def stolen() -> list[float]:
    """The seconds for which others had each processor of this virtual machine; none where the system does not say."""
    try:
        with open("/proc/stat") as file:
            rows = [row.split() for row in file if row.startswith("cpu")]
        return [int(row[8]) / os.sysconf("SC_CLK_TCK") for row in rows[1:]]  # the first row is the sum
    except (OSError, ValueError, IndexError):
        return []


class Stopwatch:
    """The seconds that count: not those in which the process that is waited for was ready and had no processor.

    There are two kinds of those: it stood in this system's queue, or it ran, as this system sees it, on a processor that another
    machine had. Where half of the time goes to the queue and half of the processor to others, a quarter counts.
    Whoever looks at it looks often. A look that comes late because this very process was stopped, as by Ctrl-Z, counts as a step.
    """

    def __init__(self, waited=lambda: 0.0):
        self.waited, self.before, self.wall = waited, waited(), 0.0
        self.gone, self.taken, self.seen = stolen(), 0.0, 0.0  # by others: until the last look, of the wall, and when that was
        self.begun = self.at = time.monotonic()

    def __call__(self) -> float:
        now = time.monotonic()
        self.wall += min(now - self.at, 2 * STEP)
        self.at = now
        if self.wall - self.seen >= STEP / 2:
            before, self.gone = self.gone, stolen()
            taken = max((after - then for then, after in zip(before, self.gone)), default=0.0)
            self.taken += min(self.wall - self.seen, max(0.0, taken))
            self.seen = self.wall
        return self.wall - self.idle

    @property
    def queued(self) -> float:
        """The seconds in this system's queue."""
        return max(0.0, self.waited() - self.before)

    @property
    def idle(self) -> float:
        """The seconds that do not count."""
        queued, left = self.queued, 1 - self.taken / self.wall if self.wall else 1.0
        return self.wall - (self.wall - queued) * left if queued < self.wall else queued

    @property
    def lost(self) -> float:
        """The seconds on the clock that do not count, those included in which this process was stopped."""
        return self.at - self.begun - self.wall + self.idle

    def over(self, seconds: float) -> bool:
        """Whether a limit is reached: by seconds that count, or else `MOST` times as many on the clock."""
        return self() >= seconds or self.wall >= MOST * seconds


class Line:
    """Messages between the judge and one process of a submission; the system tells which process that is.

    `waited` are the seconds in the system's queue, `counted` those that counted for a limit; `alive` is called while we listen.
    `beside` says how many seconds of a processor all other processes of the same submission have had: who waits behind these
    waits for itself.
    """

    def __init__(self, end: socket.socket, most: int, alive=lambda: None, beside=lambda pid: 0.0):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.end, self.most, self.pid, self.data = end, most, 0, bytearray()  # data: of a message that is not all there yet
        self.waited = self.counted = 0.0
        self.alive, self.beside = alive, beside

    def tell(self, message: dict, *handed: int) -> None:
        data = json.dumps(message).encode()
        data = struct.pack("!I", len(data)) + data
        try:
            self.end.settimeout(60)
            sent = socket.send_fds(self.end, [data], handed) if handed else 0
            self.end.sendall(data[sent:])
        except OSError:
            raise Ended("it ended its process") from None

    def hear(self, seconds: float) -> dict:
        """The next message; `Silent` where none comes in time, `Ended` where none can come.

        On a busy machine a limit is as long as on a quiet one: what the process waits for others at a processor does not count.
        """
        watch, waited, counted = Stopwatch(lambda: waiting(self.pid) - self.beside(self.pid)), self.waited, self.counted
        try:
            return self._hear(seconds, watch, waited)
        finally:
            self.counted, self.waited = counted + max(0.0, watch()), waited + watch.queued

    def _hear(self, seconds: float, watch: Stopwatch, waited: float) -> dict:
        data = self.data
        while len(data) < 4 or len(data) < 4 + struct.unpack("!I", data[:4])[0]:
            if len(data) >= 4 and struct.unpack("!I", data[:4])[0] > self.most:
                raise Ended(f"its answer has more than {self.most // 2**20} MB")
            self.end.settimeout(min(STEP, max(0.01, seconds - watch())))
            try:
                part, more, *_ = self.end.recvmsg(2**20 if len(data) >= 4 else 4 - len(data), socket.CMSG_SPACE(12))
            except TimeoutError:
                if watch.over(seconds):
                    raise Silent from None
                self.waited = waited + watch.queued  # whoever has a limit of its own looks at it meanwhile
                self.alive()
                continue
            except OSError:
                part, more = b"", []
            if not part:
                raise Ended("it ended its process")
            for level, kind, value in more:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                    self.pid = struct.unpack("iii", value)[0]
            data += part
        self.data = bytearray()
        try:
            message = json.loads(data[4:])
        except (ValueError, RecursionError):
            message = None
        return message if isinstance(message, dict) else {}

    def close(self) -> None:
        self.end.close()
