"""nbval's policy for the book: text is compared, pictures are not; each notebook has its seconds, and a slow one fails the run.

A kernel that does not start gets a second chance and more time: on a machine that stood still for a minute the first one may be
alive and silent. The summary says so. A machine's standstill is no page's: neither are the seconds of a kernel's start, nor may an
output that was sent be given up after nbval's five seconds.

A cell that misses a data set is skipped where nobody said that the data is there, by FOLDNET_DATA, and no mirror could be reached;
so are the later cells of its page that fail. The summary names them: what they print was not compared.

A page is judged by the processor time of its kernel: it fails at three times its budget in book/plan.yml. A wall clock would judge the
machine: pages of 16 seconds took 270 on one that stood still. FOLDNET_HEADROOM=4 is for a slower machine. The times that were
measured go to _build/runtimes.json, for the health page and for the order of the next run.
"""

import collections
import json
import os
import platform
import re
from pathlib import Path

import psutil
import pytest
from nbval import plugin

from foldbook import plan

PATIENCE = 5  # times as long as the first start may the second take
OUTPUT = 120.0  # seconds for an output that the kernel has sent
STARTED_AGAIN, WORKED = "kernel started again", "processor seconds of the kernel"
COLOURS = re.compile("\x1b\\[[0-9;]*m")
MISSING, NOT_THERE = (
    "DataMissing",
    "a data set is not on this machine and no mirror could be reached",
)
SECONDS = collections.Counter()
PROCESSOR = collections.Counter()
SKIPPED = collections.Counter()
WITHOUT = set()
AGAIN = []
SLOW = []
RUNTIMES = Path(__file__).resolve().parent.parent / "_build" / "runtimes.json"
NOT_COMPARED = (
    "text/html",
    "image/svg+xml",
    "stderr",
)  # a record and its line are compared

os.environ.setdefault("TQDM_DISABLE", "1")  # progress bars are for people


class Kernel(plugin.RunningKernel):
    """A kernel that may fail to start once; `failure` says why it did."""

    def __init__(self, name, cwd=None, startup_timeout=60.0):
        self.failure = ""
        try:
            super().__init__(name, cwd, startup_timeout)
        except RuntimeError as error:
            self.failure = str(error)
            if self.is_alive():  # it said once that it is there, and nothing more
                self.stop()
            try:
                super().__init__(name, cwd, PATIENCE * startup_timeout)
            except RuntimeError as again:
                raise RuntimeError(
                    f"the kernel did not start, twice: {self.failure} Then: {again}"
                ) from None


plugin.RunningKernel = Kernel


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):  # nbval's notebook collector
        collector.skip_compare += NOT_COMPARED


def pytest_itemcollected(item):
    if hasattr(item, "output_timeout"):  # nbval's cell
        item.output_timeout = OUTPUT


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if (
        report.failed
        and isinstance(item, plugin.IPyNbCell)
        and not os.environ.get("FOLDNET_DATA")
    ):
        trace = COLOURS.sub(
            "", str(getattr(call.excinfo.value, "inner_traceback", ""))
        ).strip()
        if trace.rpartition("\n")[2].startswith(
            MISSING
        ):  # that is what was raised; the lines above may only speak of it
            WITHOUT.add(item.parent.nodeid)
        if item.parent.nodeid in WITHOUT:
            report.outcome, report.longrepr = (
                "skipped",
                (str(item.path), None, NOT_THERE),
            )
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """The first cell of a notebook starts its kernel; what its report says reaches the summary from a worker of xdist too."""
    try:
        return (yield)
    finally:
        kernel = getattr(item.parent, "kernel", None)
        if kernel is not None and kernel.failure:
            item.user_properties.append((STARTED_AGAIN, kernel.failure))
            kernel.failure = ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """How long a notebook's kernel has had the processor, so far, travels with the report of each cell."""
    try:
        return (yield)
    finally:
        if isinstance(item, plugin.IPyNbCell):
            item.user_properties.append((WORKED, worked(item.parent.kernel)))


def worked(kernel) -> float:
    """Seconds for which a kernel and the processes that it started had the processor; none that is known, if it is gone."""
    try:
        first = psutil.Process(kernel.km.provisioner.pid)
        return sum(
            sum(process.cpu_times()[:4])
            for process in (first, *first.children(recursive=True))
        )
    except (
        psutil.Error,
        AttributeError,
    ):  # without a kernel there is no process, and no provisioner of one
        return 0.0


def pytest_runtest_logreport(report):
    name = report.nodeid.split("::")[0]
    if name.endswith(".ipynb"):
        PROCESSOR[name] = max(
            PROCESSOR[name],
            *(seconds for what, seconds in report.user_properties if what == WORKED),
            0.0,
        )
        if report.when == "setup":  # the kernel's start
            AGAIN.extend(
                f"{name}: {why}"
                for what, why in report.user_properties
                if what == STARTED_AGAIN
            )
        else:
            SECONDS[name] += report.duration  # the cell, the kernel's end
        if report.skipped and report.longrepr[2] == NOT_THERE:
            SKIPPED[name] += 1


def pytest_sessionfinish(session):
    if hasattr(
        session.config, "workerinput"
    ):  # a worker of xdist: the controller adds up
        return
    headroom = float(os.environ.get("FOLDNET_HEADROOM") or 3.0)
    pages = {
        name: name.removeprefix("book/").removesuffix(".ipynb") for name in SECONDS
    }
    for name, page in pages.items():
        if PROCESSOR[name] > (limit := headroom * plan.budget(page)):
            SLOW.append(
                f"{name} took {PROCESSOR[name]:.0f} s of a processor, more than {limit:.0f}"
            )
    if SLOW and session.exitstatus == 0:
        session.exitstatus = 1
    if pages:
        remember(
            {
                page: {
                    "seconds": round(SECONDS[name], 1),
                    "processor": round(PROCESSOR[name], 1),
                }
                for name, page in pages.items()
            }
        )


def remember(times: dict[str, dict]) -> None:
    """Keep what was measured here beside what was measured before; no file of the repository changes."""
    RUNTIMES.parent.mkdir(exist_ok=True)
    known = (
        json.loads(RUNTIMES.read_text(encoding="utf-8"))
        if RUNTIMES.is_file()
        else {}
    )
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    known |= {page: {**time, "machine": machine} for page, time in times.items()}
    RUNTIMES.write_text(json.dumps(known, indent=1), encoding="utf-8")


def pytest_terminal_summary(terminalreporter):
    if SECONDS:
        terminalreporter.section("seconds per notebook")
        for name, seconds in SECONDS.most_common():
            terminalreporter.line(
                f"{seconds:8.1f}  {name}  ({PROCESSOR[name]:.1f} s of a processor)"
            )
    for sentence in AGAIN:
        terminalreporter.line(
            f"the kernel started only when it was tried again: {sentence}",
            yellow=True,
        )
    for name, cells in SKIPPED.items():
        terminalreporter.line(
            f"NOT COMPARED, since {NOT_THERE}: {cells} cells of {name}", yellow=True
        )
    for sentence in SLOW:
        terminalreporter.line(f"FAILED {sentence}", red=True)
