"""A kernel for untrusted code: shielded, limited and watched, in a scratch folder that goes with it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import zmq
from jupyter_client.blocking import BlockingKernelClient
from nbformat.v4 import output_from_msg

from . import answers, shield

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/fonts", "/etc/localtime", "/sys/devices/system/cpu")
PROCESS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/dev/urandom", "/dev/random", "/dev/zero")
GRACE = 3.0  # seconds between the request to stop and the end


@dataclass(frozen=True)
class Limits:
    """Seconds for a cell, for one call of an answer, for all cells and for all tests; megabytes; processes."""

    cell: float = 120
    call: float = 20
    cells: float = 300
    tests: float = 120
    memory: int = 3000
    disk: int = 200
    output: int = 1
    answer: int = 16
    processes: int = 64
    bare: bool = False  # whether the shield may be missing


class Ended(Exception):
    """The kernel is gone; the message says why."""


class Kernel:
    """One shielded kernel. Use it in a `with`; `run` gives a cell's outputs, `ask` one answer."""

    def __init__(self, limits: Limits):
        self.limits, self.reason = limits, ""
        self.home = Path(tempfile.mkdtemp(prefix="fold-"))
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
        library, work = self.home / "library", self.home / "work"
        for folder in (work, self.home / "matplotlib", self.home / "temporary"):
            folder.mkdir()
        self._furnish(library)
        connection = {
            **{f"{name}_port": i for i, name in enumerate(("shell", "iopub", "stdin", "control", "hb"), 1)},
            **{"ip": str(self.home / "k"), "transport": "ipc", "signature_scheme": "hmac-sha256", "key": secrets.token_hex(16)},
            "kernel_name": "",
        }
        (self.home / "connection.json").write_text(json.dumps(connection))
        settings = {
            "environment": environment(self.home),
            "folder": str(work),
            "read": [*SYSTEM, *PROCESS, sys.prefix, sys.base_prefix],
            "write": [str(self.home), "/dev/null"],
            "memory": self.limits.memory,
            "file": self.limits.disk,
            "seconds": int(self.limits.cells + self.limits.tests),
            "bare": self.limits.bare,
        }
        ipython = [sys.executable, "-m", "ipykernel_launcher", "-f", str(self.home / "connection.json")]
        quiet = ["--HistoryManager.enabled=False", "--IPKernelApp.log_level=50"]
        command = [sys.executable, "-I", shield.__file__, json.dumps(settings), "--", *ipython, *quiet]
        self.log = (self.home / "log").open("w+b")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env={}, start_new_session=True
        )
        threading.Thread(target=self._watch, daemon=True).start()
        self._connect(connection)

    def _furnish(self, library: Path) -> None:
        """A copy of foldnet for this submission alone: what it changes there changes nothing elsewhere."""
        import matplotlib

        shutil.copytree(ROOT / "foldnet", library / "foldnet")
        (library / "foldnet/_book").mkdir()
        shutil.copy(ROOT / "book/plan.yml", library / "foldnet/_book")
        for folder in ("claims", "data"):
            shutil.copytree(ROOT / "book" / folder, library / "foldnet/_book" / folder)
        shutil.copy(answers.__file__, library / "_answers.py")
        for fonts in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
            shutil.copy(fonts, self.home / "matplotlib")

    def _connect(self, connection: dict) -> None:
        context = zmq.Context()
        context.setsockopt(zmq.MAXMSGSIZE, self.limits.answer * 2**21)
        self.client = BlockingKernelClient(context=context)
        self.client.load_connection_info(connection)
        self.client.start_channels(shell=True, iopub=True, stdin=False, hb=False, control=False)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                self.client.kernel_info()
                self.client.get_shell_msg(timeout=1)
                self.client.get_iopub_msg(timeout=1)
                return
            if self.process.poll() is not None:
                break
        self.log.seek(0)
        said = self.log.read().decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(f"the kernel does not start: {said[-1] if said else 'it says nothing'}")

    def close(self) -> None:
        self.kill("")
        if hasattr(self, "client"):
            self.client.stop_channels()
            self.client.context.destroy(linger=0)
        if hasattr(self, "log"):
            self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def kill(self, reason: str) -> None:
        """End the kernel and all it started; in its own namespace of processes nothing outlives it."""
        self.reason = self.reason or reason
        if not hasattr(self, "process"):
            return
        for _ in range(3):
            for process in _descendants(self.process.pid):
                with contextlib.suppress(psutil.Error):
                    process.kill()
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()

    def _watch(self) -> None:
        """Memory of all processes together, their number, and the disk: what no limit of a single process covers."""
        while self.process.poll() is None:
            used, count = 0, 0
            for process in _descendants(self.process.pid):
                with contextlib.suppress(psutil.Error):
                    used, count = used + process.memory_info().rss, count + 1
            if used > self.limits.memory * 2**20:
                self.kill(f"it took more than {self.limits.memory} MB of memory")
            elif count > self.limits.processes:
                self.kill(f"it started more than {self.limits.processes} processes")
            elif _size(self.home) > 2 * self.limits.disk * 2**20:
                self.kill(f"it wrote more than {2 * self.limits.disk} MB to the disk")
            time.sleep(0.25)

    # ---- work --------------------------------------------------------------------------------------------------------

    def run(self, source: str, seconds: float) -> tuple[list, str]:
        """A cell's outputs, and what stopped it (nothing, or a sentence). Raises `Ended` where the kernel did not survive."""
        outputs, size = [], 0

        def take(message: dict) -> bool:
            nonlocal size
            kind = message["msg_type"]
            if kind == "clear_output":
                outputs.clear()
            if kind not in ("stream", "display_data", "execute_result", "error"):
                return True
            output = output_from_msg(message)
            size += len(json.dumps(output))
            if size > self.limits.output * 2**20:
                return False
            last = outputs[-1] if outputs else {}
            if kind == "stream" and last.get("name") == output["name"]:
                last["text"] += output["text"]
            else:
                outputs.append(output)
            return True

        stopped = self._execute(source, seconds, take)
        return outputs, stopped

    def keep(self, names: list[str]) -> None:
        self._execute(f"__import__('_answers').keep({names!r})", self.limits.call, lambda message: True)

    def ask(self, request: dict) -> dict:
        """The reply of the submission to one question: `value`, or `error` and what it `says`."""
        replies = []

        def take(message: dict) -> bool:
            data = message["content"].get("data", {}) if message["msg_type"] == "display_data" else {}
            replies.extend([data[answers.MIME]] if answers.MIME in data else [])
            return True

        stopped = self._execute(f"__import__('_answers').call({json.dumps(request)!r})", self.limits.call, take)
        if stopped:
            return {"error": "TimeoutError", "says": stopped}
        if not replies or not isinstance(replies[-1], dict):
            return {"error": "RuntimeError", "says": "no answer came back"}
        return replies[-1]

    def _execute(self, source: str, seconds: float, take: Callable[[dict], bool]) -> str:
        """Run code and hand over its messages until it is done; on time-out, or when `take` refuses, interrupt or end it."""
        request = self.client.execute(source, store_history=False, allow_stdin=False, stop_on_error=False)
        deadline, stopped = time.monotonic() + seconds, ""
        while True:
            self._alive()
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except queue.Empty:
                message = None
            except Exception:  # a message that is no message
                message = None
            if message and message.get("parent_header", {}).get("msg_id") == request:
                if message["msg_type"] == "status" and message["content"].get("execution_state") == "idle":
                    break
                if not stopped and not take(message):
                    stopped, deadline = f"it printed more than {self.limits.output} MB", 0
            if time.monotonic() > deadline:
                if stopped and deadline:
                    self.kill(f"{stopped} and did not stop when asked to")
                    raise Ended(self.reason)
                stopped = stopped or f"it took longer than {seconds:.0f} s"
                deadline = time.monotonic() + GRACE
                self._interrupt()
        # a kernel that was told to leave, as exit() does, answers once more and goes
        with contextlib.suppress(queue.Empty):
            while True:
                reply = self.client.get_shell_msg(timeout=1)
                if reply["parent_header"].get("msg_id") == request:
                    leaving = any(p.get("source") == "ask_exit" for p in reply["content"].get("payload", ()))
                    if leaving:
                        self.kill("it left the kernel")
                    break
        self._alive()
        return stopped

    def _interrupt(self) -> None:
        for process in _descendants(self.process.pid):
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGINT)

    def _alive(self) -> None:
        if self.process.poll() is not None or self.reason:
            self.process.wait()
            raise Ended(self.reason or "it ended the kernel")


def environment(home: Path) -> dict[str, str]:
    """All that a submission's process knows of the world."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return {
        **threads,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(home / "work"),
        "TMPDIR": str(home / "temporary"),
        "IPYTHONDIR": str(home / "temporary"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "PYTHONPATH": str(home / "library"),
        "PYTHONNOUSERSITE": "1",
        "TQDM_DISABLE": "1",
    }


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _size(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total
