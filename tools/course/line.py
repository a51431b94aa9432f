"""Messages between the judge and the processes of a submission: JSON with its length before it, over a socket of the system."""

from __future__ import annotations

import json
import socket
import struct
import time

PATIENCE = 4


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


class Line:
    """Messages between the judge and one process of a submission; the system tells which process that is."""

    def __init__(self, end: socket.socket, most: int):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.end, self.most, self.pid, self.data = end, most, 0, bytearray()  # data: of a message that is not all there yet

    def tell(self, message: dict, *handed: int) -> None:
        data = json.dumps(message).encode()
        data = struct.pack("!I", len(data)) + data
        try:
            self.end.settimeout(10)
            sent = socket.send_fds(self.end, [data], handed) if handed else 0
            self.end.sendall(data[sent:])
        except OSError:
            raise Ended("it ended its process") from None

    def hear(self, seconds: float) -> dict:
        """The next message; `Silent` where none comes in time, `Ended` where none can come."""
        deadline, data = time.monotonic() + seconds, self.data
        while len(data) < 4 or len(data) < 4 + struct.unpack("!I", data[:4])[0]:
            if len(data) >= 4 and struct.unpack("!I", data[:4])[0] > self.most:
                raise Ended(f"its answer has more than {self.most // 2**20} MB")
            self.end.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                part, more, *_ = self.end.recvmsg(2**20 if len(data) >= 4 else 4 - len(data), socket.CMSG_SPACE(12))
            except TimeoutError:
                raise Silent from None
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

    def hear_patiently(self, seconds: float) -> tuple[dict, float]:
        """The next message, and the seconds that do not count because the process had to wait for a processor.

        On a busy machine a limit is as long as on a quiet one, and at the most `PATIENCE` times as long on the clock.
        """
        begun, before, extra = time.monotonic(), waiting(self.pid), 0.0

        def waited() -> float:
            return max(0.0, min(waiting(self.pid) - before, (PATIENCE - 1) * seconds))

        while True:
            try:
                return self.hear(begun + seconds + extra - time.monotonic()), waited()
            except Silent:
                if waited() < extra + 0.02:
                    raise
                extra = waited()

    def close(self) -> None:
        self.end.close()
