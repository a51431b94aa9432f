"""The process in which a submission lives, inside the shield: `python _runner.py DESCRIPTOR`. Trusted by nobody.

It runs cells in a shell like Jupyter's and hands their outputs to the judge. When a test's cell is reached it is photographed: a
fork stays behind with everything as it is at that moment, and answers the judge when all cells have run. What later cells do,
and what a test does, changes nothing in it. What a cell or an answer forks itself ends with it: only one process speaks.
"""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import struct
import sys
import types
from typing import ClassVar

import _answers  # ty: ignore[import-not-found]  (course/answers.py, beside the copy that a submission sees)
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


class Flood(KeyboardInterrupt):
    """A cell that prints without end."""


class Record:
    """The outputs of the cell that runs now, up to `most` bytes."""

    outputs: ClassVar[list] = []
    source, size, most, stopped, muted = "", 0, 0, "", False

    @classmethod
    def begin(cls, source: str, most: int) -> None:
        cls.outputs, cls.source, cls.size, cls.most, cls.stopped = [], source, 0, most, ""

    @classmethod
    def add(cls, output: dict) -> None:
        if cls.muted or cls.stopped.startswith("it printed"):
            return
        cls.size += len(json.dumps(output))
        if cls.size > cls.most:
            cls.stopped = f"it printed more than {cls.most / 2**20:.0f} MB"
            raise Flood(cls.stopped)
        last = cls.outputs[-1] if cls.outputs else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            cls.outputs.append(output)


class Stream(io.TextIOBase):
    """What stands for stdout and stderr."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, name: str):
        self.name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        Record.add({"output_type": "stream", "name": self.name, "text": str(text)})
        return len(text)


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, **_) -> None:
        Record.add({"output_type": "display_data", "data": simple(data), "metadata": {}})

    def clear_output(self, wait=False) -> None:
        Record.outputs = []


class Hook(DisplayHook):
    def quiet(self) -> bool:
        return Record.source.rstrip().endswith(";")

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict, md_dict=None) -> None:
        Record.add({"output_type": "execute_result", "data": simple(format_dict), "metadata": {}, "execution_count": None})

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    displayhook_class = Hook
    display_pub_class = Publisher

    def init_io(self) -> None:
        pass

    def enable_gui(self, gui=None) -> None:
        pass

    def ask_exit(self) -> None:
        Record.stopped = Record.stopped or "it called exit()"

    def _showtraceback(self, etype, evalue, stb) -> None:
        lines = [str(line) for line in stb]
        Record.add({"output_type": "error", "ename": str(etype.__name__), "evalue": str(evalue)[:2000], "traceback": lines})


def simple(data: dict) -> dict:
    """Texts and pictures of an output, as JSON holds them."""
    import base64

    found = {}
    for mime, value in dict(data).items():
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode()
        if isinstance(mime, str) and isinstance(value, str) and mime in ("text/plain", "text/html", "image/png", "image/jpeg"):
            found[mime] = value
    return found


def shell() -> Shell:
    """A shell whose `__main__` is empty, as in a fresh notebook."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    made = Shell.instance(user_module=module, config=config)
    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
    return made


def run(here: Shell, source: str, most: int) -> dict:
    """Run one cell; its outputs and what stopped it."""
    Record.begin(source, most)
    own = os.getpid()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        here.run_cell(source, store_history=False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except (Exception, KeyboardInterrupt, SystemExit):  # IPython shows what a cell raises; this is what is left
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_unless(own)
    return {"outputs": Record.outputs, "stopped": Record.stopped}


def leave_unless(own: int) -> None:
    """End here if we are a child that untrusted code forked: it would go on as the runner and answer in its place."""
    if os.getpid() != own:
        os._exit(0)


def photograph(line: socket.socket, camera: int) -> None:
    """Leave a copy of this process behind, which answers at the other end of `camera`; its parent is gone at once."""
    middle = os.fork()
    if middle:
        os.close(camera)
        os.waitpid(middle, 0)
        return
    if os.fork():
        os._exit(0)
    line.close()
    Record.muted = True
    if "torch" in sys.modules:  # a pool of threads does not survive a fork
        sys.modules["torch"].set_num_threads(1)
    own = os.getpid()
    with socket.socket(fileno=camera) as asked:
        tell(asked, {"ready": True})
        while (question := hear(asked)[0]) is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            answer = _answers.reply(question)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            leave_unless(own)
            tell(asked, answer)
    os._exit(0)


def hear(line: socket.socket) -> tuple[dict | None, list[int]]:
    """The next message and the descriptors that came with it; None at the end."""
    data, handed = b"", []
    while len(data) < 4 or len(data) < 4 + struct.unpack("!I", data[:4])[0]:
        part, more, *_ = socket.recv_fds(line, 2**16 if len(data) >= 4 else 4 - len(data), 4)
        handed += more
        if not part:
            return None, handed
        data += part
    return json.loads(data[4:]), handed


def tell(line: socket.socket, message: dict) -> None:
    data = json.dumps(message).encode()
    line.sendall(struct.pack("!I", len(data)) + data)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = socket.socket(fileno=int(sys.argv[1]))
    here = shell()
    tell(line, {"ready": True})
    while True:
        asked, handed = hear(line)
        if asked is None:
            os._exit(0)
        if asked["do"] == "run":
            tell(line, run(here, asked["source"], asked["most"]))
        else:
            photograph(line, handed[0])
            tell(line, {"done": True})


if __name__ == "__main__":
    main()
