"""A process for untrusted code: shielded, limited and watched, in a scratch folder that goes with it."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from . import answers, group, shield
from .line import Ended, Line, Silent
from .source import ROOT

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/fonts", "/etc/localtime", "/sys/devices/system/cpu")
PYTHON = (sys.prefix, sys.base_prefix, *(p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")))
PROCESS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/dev/urandom", "/dev/random", "/dev/zero")
START = 300.0  # seconds in which a process must say that it is there
GRACE = 3.0  # seconds between the request to stop and the end
PHOTO = 60.0  # seconds for a photograph
RARELY = 15  # times as long as an exact look at memory takes is the next one put off: it reads every page's entry
DEEPEST = 40  # folders in folders
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
UNFINISHED = shutil.ignore_patterns("*.pyc.*", "*.tmp.*")  # what Python and numba are just keeping: gone before it is copied
FILES = 20_000


@dataclass(frozen=True)
class Limits:
    """Seconds for a cell, all cells, one call of an answer, one test, a judge's silence; megabytes; processes; the shield."""

    cell: float = 120
    cells: float = 300
    call: float = 20
    test: float = 60
    judge: float = 120  # beyond what the submission may take
    memory: int = 3000
    disk: int = 200
    output: int = 1
    answer: int = 16
    processes: int = 64
    shield: str = "full"  # "basic": without bubblewrap too; "off": without any shield

    @property
    def tasks(self) -> int:
        """What the system lets a submission start: a process may have some threads."""
        return 2 * self.processes


class Kernel:
    """One shielded process. Use it in a `with`; `run` gives a cell's outputs, `photograph` what answers as things stand now."""

    def __init__(self, limits: Limits, scratch: Path | None = None, alive=lambda: None):
        self.limits, self.reason, self.photos, self.alive = limits, "", [], alive
        self.seconds = 0.0  # of the processor, known at the end
        self.times: dict[int, tuple[float, float]] = {}  # by process: its seconds of the processor, and its children's
        self.exact_at = self.exact_after = 0.0  # bytes and time of the last exact look at memory, and when the next one is due
        self.home = Path(tempfile.mkdtemp(prefix="fold-", dir=scratch))
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    # ---- start and end -----------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._furnish()
        bwrap = shield.bubblewrap() if self.limits.shield != "off" else None
        read = [*SYSTEM, *PROCESS, *PYTHON]
        library, fonts = self.home / "library", list((self.home / "fonts").iterdir())
        home = self.home / "room"
        settings = {
            "environment": environment(home, library),
            "folders": [str(home / name) for name in ("work", "matplotlib", "temporary")],
            "fonts": [str(font) for font in fonts],
            "package": [str(library / "foldnet"), str(home / "library/foldnet")],  # numba reads what it kept where it can write
            "folder": str(home / "work"),
            "read": [*read, str(library), str(self.home / "fonts")],
            "write": [str(home), "/dev/null"],
            "memory": self.limits.memory + before(),
            "file": self.limits.disk,
            "tasks": self.limits.tasks,
            "seconds": int(self.limits.cells + 10 * self.limits.test),
            "wrapped": bool(bwrap),
            "bare": self.limits.shield == "off",
        }
        ours, theirs = socket.socketpair()
        start = [sys.executable, "-I", shield.__file__, json.dumps(settings), "--"]
        command = [*start, sys.executable, "-P", str(library / "_runner.py"), str(theirs.fileno())]
        if bwrap:
            extra = [shield.__file__, str(library), str(self.home / "fonts")]
            around = shield.wrapped(bwrap, [*SYSTEM, *PYTHON, *extra], str(home), self.limits.disk)
            command = [*around, *command]
        else:
            home.mkdir()
        self.wrapped, self.grouped = bool(bwrap), group.around(self.limits.memory + self.limits.disk, self.limits.tasks)
        self.group = None if self.grouped else group.counting(self.limits.tasks)
        first = self.grouped or (group.entered(self.group) if self.group else [])
        self.log = (self.home / "log").open("w+b")
        self.process = subprocess.Popen(
            [*first, *command],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
            env={"PATH": os.defpath, **group.environment()} if self.grouped else {},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.line = Line(ours, 4 * self.limits.output * 2**20, self.alive, self.beside)
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            self.line.hear(START)
        except (Silent, Ended):
            self.log.seek(0)
            said = self.log.read().decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"the process does not start: {said[-1] if said else 'it says nothing'}") from None
        self.group = self.group or (group.place(self.process.pid) if self.grouped else None)

    def _furnish(self) -> None:
        """A copy of the packages for this submission alone: what it changes there changes nothing elsewhere."""
        import matplotlib

        library = self.home / "library"
        for package in ("foldnet", "foldbook", "experiments"):
            shutil.copytree(ROOT / package, library / package, ignore=UNFINISHED)
        (library / "foldbook/_book").mkdir(exist_ok=True)
        shutil.copy(ROOT / "book/plan.yml", library / "foldbook/_book")
        for folder in ("claims", "data"):
            shutil.copytree(ROOT / "book" / folder, library / "foldbook/_book" / folder)
        shutil.copy(answers.__file__, library / "_answers.py")
        (library / "google").mkdir()
        shutil.copy(Path(__file__).with_name("colab.py"), library / "google/colab.py")
        shutil.copy(Path(__file__).with_name("runner.py"), library / "_runner.py")
        (self.home / "fonts").mkdir()
        for fonts in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
            shutil.copy(fonts, self.home / "fonts")

    def close(self) -> None:
        self.kill("")
        for line in (*self.photos, *([self.line] if hasattr(self, "line") else ())):
            line.close()
        if hasattr(self, "log"):
            self.log.close()
        if (place := getattr(self, "group", None)) and not self.grouped:
            group.left(place)
        remove(self.home)

    def kill(self, reason: str) -> None:
        """End the process and all it started; in its own namespace of processes nothing outlives it."""
        self.reason = self.reason or reason
        if not hasattr(self, "process"):
            return
        if reason:  # first of all the outermost: its namespace goes with it, also where so many run that they cannot be listed
            self.process.kill()
        for process in () if reason else self._descendants():
            with contextlib.suppress(psutil.Error):
                self.seconds += sum(process.cpu_times()[:2])
        for _ in range(3):
            for process in self._descendants():
                with contextlib.suppress(psutil.Error):
                    process.kill()
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()

    def _descendants(self) -> list[psutil.Process]:
        if self.group:  # the system has the list; to ask every process of a machine for its parent takes long on a busy one
            return [process for pid in group.members(self.group) if (process := existing(pid))]
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def _signal(self, pid: int, which: int) -> None:
        """Send a signal to a process of this submission, and to no other."""
        for process in self._descendants():
            if process.pid == pid:
                with contextlib.suppress(psutil.Error):
                    process.send_signal(which)

    # ---- limits that no single process has ------------------------------------------------------------------------------

    def _watch(self) -> None:
        while self.process.poll() is None:
            try:
                self._look()
            except Exception as error:  # a watcher that fails must not leave a submission unwatched
                self.kill(f"it could not be watched ({type(error).__name__})")
            time.sleep(0.25)

    def _flooded(self) -> bool:
        """Whether there are too many processes, or the system has refused to start more; then all of them are ended."""
        many = group.members(self.group) if self.group else self._descendants()
        if len(many) > self.limits.processes or group.refused(self.group):
            self.kill(f"it started more than {self.limits.processes} processes")
        return self.process.poll() is not None

    def _look(self) -> None:
        if self._flooded():
            return
        most, processes = self.limits.memory * 2**20, self._descendants()
        if self.grouped and group.ended_for_memory(self.process.pid):
            self.reason = self.reason or f"it took more than {self.limits.memory} MB of memory"
        sizes = {}
        for process in processes:
            with contextlib.suppress(psutil.Error):
                sizes[process] = process.memory_info().rss
                user, system, *children = process.cpu_times()[:4]
                self.times[process.pid] = user + system, sum(children)
        about, now = sum(sizes.values()), time.monotonic()
        if about > most and (now > self.exact_after or about > self.exact_at + most / 10):
            for process in processes:  # forks share what none of them has changed: ask again, exactly
                with contextlib.suppress(psutil.Error, KeyError):
                    sizes[process] = process.memory_full_info().pss
            self.exact_at, self.exact_after = about, time.monotonic() + RARELY * (time.monotonic() - now)
            if sum(sizes.values()) > most:
                self.reason = self.reason or f"it took more than {self.limits.memory} MB of memory"
                with contextlib.suppress(psutil.Error):
                    max(sizes, key=sizes.__getitem__).kill()
        size, files, deep = self._disk(processes)
        if size > self.limits.disk * 2**20:
            self.kill(f"it wrote more than {self.limits.disk} MB to the disk")
        elif files > FILES or deep:
            self.kill("it made more files or folders than any answer needs")

    def _disk(self, processes: list[psutil.Process]) -> tuple[int, int, bool]:
        """Bytes, files, and whether folders are nested too deeply; deleted files that are still open count."""
        room = self.home / "room"
        if self.wrapped:  # a file system of its own, which has a size already
            for process in processes:
                with contextlib.suppress(OSError):
                    found = os.statvfs(f"/proc/{process.pid}/root{room}")
                    return 0, found.f_files - found.f_ffree, False
            return 0, 0, False
        size, files, left = 0, 0, [(str(room), 0)]
        while left and files <= FILES:
            folder, depth = left.pop()
            if depth > DEEPEST:
                return size, files, True
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        left.append((entry.path, depth + 1))
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
        deleted = {}
        for process in processes:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"/proc/{process.pid}/fd"):
                    with contextlib.suppress(OSError):
                        found = os.stat(f"/proc/{process.pid}/fd/{name}")
                        if not found.st_nlink:
                            deleted[found.st_dev, found.st_ino] = found.st_blocks * 512
        return size + sum(deleted.values()), files, False

    # ---- work --------------------------------------------------------------------------------------------------------

    def run(self, source: str, seconds: float) -> tuple[list, str]:
        """A cell's outputs, and what stopped it (nothing, or a sentence). Raises `Ended` where the process did not survive."""
        reply, late = self._asked(self.line, {"do": "run", "source": source, "most": self.limits.output * 2**20}, seconds)
        if self._flooded():  # before it is believed: a flood may have answered before the watcher looked
            raise Ended(self.reason or "it ended its process")
        outputs = reply.get("outputs")
        outputs = [output for output in outputs if isinstance(output, dict)] if isinstance(outputs, list) else []
        stops = ("it called exit()", f"it printed more than {self.limits.output} MB")  # what a submission may say about itself
        return outputs, late or (reply["stopped"] if reply.get("stopped") in stops else "")

    def photograph(self) -> Line:
        """A process that answers with everything as it is now, whatever happens later."""
        ours, theirs = socket.socketpair()
        photo = Line(ours, self.limits.answer * 2**20, self.alive, self.beside)
        with theirs:
            self.line.tell({"do": "photograph"}, theirs.fileno())
        self.photos.append(photo)
        self._asked(self.line, None, PHOTO)
        return photo

    def ask(self, photo: Line, request: dict) -> dict:
        """The reply of a photograph to one question: `value`, or `error` and what it `says`."""
        self.reason = ""
        try:
            if not photo.pid:  # it says once that it is there, and the system says who it is
                self._asked(photo, None, PHOTO)
            reply, late = self._asked(photo, request, self.limits.call)
        except Ended as end:
            return {"error": "RuntimeError", "says": str(end)}
        if late:
            return {"error": "TimeoutError", "says": late}
        return reply if "value" in reply or "error" in reply else {"error": "RuntimeError", "says": "no answer came back"}

    def _asked(self, line: Line, message: dict | None, seconds: float) -> tuple[dict, str]:
        """Send a message and wait for the reply; on time-out interrupt, then end. Also says what stopped it."""
        late = ""
        try:
            if message is not None:
                line.tell(message)
            try:
                return line.hear(seconds), late
            except Silent:
                late = f"it took longer than {seconds:.0f} s"
                self._signal(line.pid, signal.SIGINT)
                return line.hear(GRACE), late
        except Silent:
            flooded = self._flooded()
            self._signal(line.pid, signal.SIGKILL)
            line.close()
            raise Ended((flooded and self.reason) or f"{late} and did not stop when asked to") from None
        except Ended as end:
            time.sleep(0.05)  # the watcher may be about to say why
            raise Ended(self.reason or str(end)) from None

    def beside(self, pid: int) -> float:
        """The seconds of the processor that all processes of the submission but this one have had, as far as the watcher saw."""
        return sum(children + own * (number != pid) for number, (own, children) in list(self.times.items()))

    @property
    def waited(self) -> float:
        """Seconds that no limit counts: a process of the submission was ready and had to wait for a processor."""
        return sum(line.waited for line in (self.line, *self.photos))


@functools.cache
def before() -> int:
    """Megabytes that the system counts as data of a process that has torch, before an answer takes any; 0 but for CUDA builds.

    Their libraries map some hundred or thousand that nobody touches. The limit for a process is beyond that; what is touched is
    counted by the watcher, which knows nothing of this.
    """
    found = importlib.util.find_spec("torch")
    build = Path(found.origin).with_name("version.py") if found and found.origin else None
    with_cuda = build and build.is_file() and re.search(r"^cuda\b[^=]*= ['\"]", build.read_text(encoding="utf-8"), re.MULTILINE)
    return data("import torch._dynamo") if with_cuda else 0


def data(code: str) -> int:
    """Megabytes of data of a fresh process that has run this, as the system counts them; 0 where it could not run it.

    It has the one thread of a submission: each more maps buffers that no submission has.
    """
    asked = f"{code}\nprint(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmData')))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=os.environ | ONE_THREAD)
    return int(done.stdout.split()[-1]) // 1024 if done.returncode == 0 else 0


def existing(pid: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid)
    return None


def remove(folder: Path) -> None:
    """Remove what a submission left, however deep: Python's own rmtree calls itself for every level."""
    subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True)


def environment(home: Path, library: Path) -> dict[str, str]:
    """All that a submission's process knows of the world."""
    return {
        **ONE_THREAD,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(home / "work"),
        "LOGNAME": "student",  # the list of users is not to be read here, and torch asks for a name
        "TMPDIR": str(home / "temporary"),
        "IPYTHONDIR": str(home / "temporary"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONPATH": f"{home / 'library'}:{library}",
        **dict.fromkeys(("PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "TQDM_DISABLE"), "1"),
    }
