"""A control group for each submission: memory and processes have a hard end, all together.

Where systemd runs it makes the group (cgroup v2). Where it does not and we are root, as in a small machine or a container with
rights, a group of the older kind that counts tasks alone is made here. Nothing is trusted before it was seen to work: a trial
process must find its own limit, and meet it. Elsewhere the watcher of `kernel.py` is the only one that looks at all processes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
TASKS = MOUNT / "pids"  # of the older kind
SPARE = 500  # megabytes for what is no answer's: the library's code, the pages of the files that are read
TRIAL = 256
PROBE = """
import os, sys
path = next(line[3:].strip() for line in open('/proc/self/cgroup') if line.startswith('0::'))
os.write(int(sys.argv[1]), open('/sys/fs/cgroup' + path + '/memory.max').read().encode())
"""


def environment() -> dict[str, str]:
    """What systemd-run must know to find its manager; a submission gets an environment of its own later."""
    return {key: os.environ[key] for key in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS") if key in os.environ}


def around(megabytes: int, tasks: int) -> list[str]:
    """The command line before the command; empty where systemd makes no group."""
    return limited(megabytes + SPARE, tasks) if works() else []


def limited(megabytes: int, tasks: int) -> list[str]:
    manager = [] if os.geteuid() == 0 else ["--user"]
    limits = (f"MemoryMax={megabytes}M", "MemorySwapMax=0", f"TasksMax={tasks}")
    return ["systemd-run", *manager, "--scope", "--quiet", "--collect", *(word for one in limits for word in ("-p", one)), "--"]


@functools.cache
def works() -> bool:
    """Whether a process that is started so finds itself in a group with its limit, and holds what it was handed."""
    if sys.platform != "linux" or not shutil.which("systemd-run"):
        return False
    ours, theirs = os.pipe()
    try:
        command = [*limited(TRIAL, 100), sys.executable, "-I", "-c", PROBE, str(theirs)]
        subprocess.run(
            command,
            env={"PATH": os.defpath, **environment()},
            pass_fds=[theirs],
            timeout=100,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.set_blocking(ours, False)
        return os.read(ours, 100).strip() == str(TRIAL * 2**20).encode()
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        os.close(ours)
        os.close(theirs)


def place(pid: int) -> Path | None:
    """The folder of the group of the newer kind that a process is in."""
    try:
        path = next(line[3:] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    return MOUNT / path.lstrip("/")


def ended_for_memory(pid: int) -> bool:
    """Whether the system has ended a process in the group of this one because the group took too much."""
    folder = place(pid)
    return bool(folder) and happened(folder / "memory.events", "oom_kill")


def refused(folder: Path | None) -> bool:
    """Whether the system has refused to start one more task in a group: nobody has to look at the right moment."""
    return bool(folder) and happened(folder / "pids.events", "max")


def members(folder: Path) -> list[int]:
    """The processes of a group."""
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def happened(events: Path, what: str) -> bool:
    try:
        return int(dict(line.split() for line in events.read_text().splitlines()).get(what, 0)) > 0
    except (OSError, ValueError):
        return False


# ---- a group that counts tasks, made by ourselves ------------------------------------------------------------------------

ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
numbers = itertools.count()


def counting(tasks: int) -> Path | None:
    """A new group for at most so many tasks; None where none can be had. `left` removes it."""
    return made(tasks) if counts() else None


def entered(folder: Path) -> list[str]:
    """The command line before a command that is to begin in a group."""
    return ["/bin/sh", "-c", ENTER, str(folder)]


def made(tasks: int) -> Path:
    folder = TASKS / f"fold-{os.getpid()}-{next(numbers)}"
    folder.mkdir()
    (folder / "pids.max").write_text(str(tasks))
    return folder


def left(folder: Path) -> None:
    """Remove a group when the last of its processes is gone, which may take a moment."""
    for _ in range(100):
        try:
            return folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def forsaken(pid: int) -> None:
    """End what is in the groups of a judge that is gone, and remove them."""
    for folder in TASKS.glob(f"fold-{pid}-*"):
        for member in members(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        left(folder)


@functools.cache
def counts() -> bool:
    """Whether we can make a group that starts no task beyond its limit and says so; what judges that are gone left is removed."""
    try:
        for old in TASKS.glob("fold-*"):
            if not Path("/proc", old.name.split("-")[1]).exists():
                with contextlib.suppress(OSError):
                    old.rmdir()
        folder = made(1)
    except OSError:
        return False
    try:
        one_more = [*entered(folder), "/bin/sh", "-c", "(:) & wait"]
        subprocess.run(one_more, capture_output=True, timeout=100, env={"PATH": os.defpath})
        return refused(folder)
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        left(folder)
