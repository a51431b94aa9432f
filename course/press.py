"""Make HTML in a process with limits: a short text can be written so that its page takes hours, or all memory."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import struct
import warnings
from collections.abc import Callable

from .line import Ended, Line, Silent

SECONDS, MEGABYTES, LARGEST = 20.0, 1000, 40_000_000


class Unprintable(Exception):
    """A page that cannot be made within the limits; the message says why."""


def printed(make: Callable[[], str], seconds: float = SECONDS) -> str:
    """What `make` returns, made in a child: at most so many seconds, MEGABYTES more of memory, LARGEST bytes."""
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the reading desk has threads, none of which holds a lock of ours
        pid = os.fork()
    if not pid:
        _child(make, ours, theirs)
    theirs.close()
    line = Line(ours, LARGEST)
    line.pid = pid
    try:
        reply = line.hear(seconds)
    except Silent:
        raise Unprintable(f"it took longer than {seconds:.0f} s") from None
    except Ended as end:
        raise Unprintable(str(end)) from None
    finally:
        line.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if "made" not in reply:
        raise Unprintable(str(reply.get("error")))
    return reply["made"]


def _child(make: Callable[[], str], ours: socket.socket, theirs: socket.socket) -> None:
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # whoever ends the parent ends us
        ours.close()
        with open("/proc/self/status") as file:
            taken = next(int(row.split()[1]) * 1024 for row in file if row.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (most := taken + MEGABYTES * 2**20, most))
        reply = {"made": make()}
    except BaseException as error:
        reply = {"error": type(error).__name__}
    try:
        data = json.dumps(reply).encode()
        theirs.sendall(struct.pack("!I", len(data)) + data)
    finally:
        os._exit(0)
