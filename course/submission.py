"""A submission as it runs: its cells one after the other in a shielded process, and a photograph at each test's cell."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from .kernel import PHOTO, START, Kernel, Limits
from .line import Ended, Line, waiting
from .pulse import Pulse

MOST_ENDS = 4  # so often may a submission end its process
MOST_OUTPUTS = 20_000_000  # signs of all outputs: they are kept in its record, which every later run reads
END = ""  # the photograph of the end
UNREADABLE = ("SyntaxError", "IndentationError", "TabError")  # of a cell that is no Python, so that nothing of it runs


@dataclass
class Step:
    """A cell of a submission in the order in which it runs; after a `test`'s cell there is a photograph."""

    key: str
    source: str
    test: bool = False
    outputs: list = field(default_factory=list)
    size: int = 0


class Submission:
    """The cells of a submission, the process they live in, and its photographs."""

    def __init__(self, steps: list[Step], limits: Limits, scratch: Path | None = None, pulse: Pulse | None = None):
        self.steps, self.limits, self.scratch, self.pulse = steps, limits, scratch, pulse
        self.kernel: Kernel | None = None
        self.photos: dict[str, Line] = {}
        self.left_out: set[str] = set()
        self.notes: list[str] = []
        self.seconds = 0.0  # of the processor

    def start(self) -> None:
        """Run all cells that are not left out, in a fresh process; again without a cell that ends it."""
        for _ in range(MOST_ENDS + 1):
            self.close()
            self.busy("the start of the notebook's process", START)
            self.kernel = Kernel(self.limits, self.scratch, self.alive)
            if self._all():
                self.photos[END] = self.kernel.photograph()
                return
        self.close()
        self.note("the notebook ended its process again and again")

    @property
    def running(self) -> Kernel:
        if self.kernel is None:
            raise RuntimeError("this submission has no process: start() it first")
        return self.kernel

    def _all(self) -> bool:
        for step in self.steps:
            if step.key in self.left_out:
                continue
            try:
                self.run(step, self.limits.cells - self.running.line.counted)
            except Ended as end:
                self.left_out.add(step.key)
                step.outputs = [told(f"This cell was stopped: {end}. The others ran without it.")]
                self.note(f"a cell was stopped: {end}")
                return False
        return True

    def run(self, step: Step, left: float) -> None:
        stopped = ""
        if left <= 0 and step.source.strip() and not step.test:
            step.outputs = [told("This cell did not run: the time for the whole notebook was used up.")]
            self.note(f"more than {self.limits.cells:.0f} s for the whole notebook")
        elif step.source.strip():
            most = self.limits.test if step.test else min(left, self.limits.cell)
            self.busy(f"the cell {step.key}", most)
            step.outputs, stopped = self.running.run(step.source, most)
            for kind in UNREADABLE:
                if any(output.get("ename") == kind for output in step.outputs):
                    self.note(f"a cell does not run: {kind}")
            step.size = len(json.dumps(step.outputs))
            if sum(one.size for one in self.steps) > MOST_OUTPUTS:
                step.outputs, step.size = [told("The outputs of this cell are left out: the notebook has too many.")], 0
                self.note(f"outputs of more than {MOST_OUTPUTS / 10**6:.0f} MB are left out")
        if stopped:
            step.outputs.append(told(f"This cell was stopped: {stopped}."))
            self.note(f"a cell was stopped: {stopped}")
        if step.test:
            if step.key in self.photos:
                self.photos[step.key].close()
            self.busy(f"the photograph at {step.key}", PHOTO)
            self.photos[step.key] = self.running.photograph()

    def ask(self, photo: str, request: dict) -> dict:
        if self.kernel is None or photo not in self.photos:
            return {"error": "RuntimeError", "says": "the notebook ended its process again and again"}
        return self.kernel.ask(self.photos[photo], request)

    @property
    def waited(self) -> float:
        """Seconds that do not count: this process or that of the submission was ready and had to wait for a processor."""
        return waiting(os.getpid()) + (self.kernel.waited if self.kernel else 0.0)

    def busy(self, what: str, seconds: float) -> None:
        """Tell whoever waits for this judge what it is at, and for how long a submission may keep it there."""
        if self.pulse:
            self.pulse(what, seconds + self.limits.judge)

    def alive(self) -> None:
        """Tell whoever waits for this judge that it listens, and has a limit for that."""
        if self.pulse:
            self.pulse.beat(self.limits.judge)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def close(self) -> None:
        if self.kernel:
            self.busy("the end of the notebook's process", 0)
            self.kernel.close()
            self.seconds += self.kernel.seconds
        self.kernel = None
        self.photos = {}


def told(text: str) -> dict:
    return {"output_type": "error", "ename": "Stopped", "evalue": text, "traceback": [text]}
