"""nbval's policy for the book: text is compared, pictures are not; each notebook has its seconds, and a slow one fails the run.

A kernel that does not start gets a second chance and more time: on a machine that stood still for a minute the first one may be
alive and silent. The summary says so. A machine's standstill is no page's: neither are the seconds of a kernel's start, nor may an
output that was sent be given up after nbval's five seconds.

A cell that misses a data set is skipped where nobody said that the data is there, by FOLDNET_DATA, and no mirror could be reached;
so are the later cells of its page that fail. The summary names them: what they print was not compared.

The budget of book/plan.yml is for a page on two cores, alone; book/data/runtimes.json holds the times and a test holds them to
it. Here notebooks may run two at a time, each on half a machine: a page fails at HEADROOM times its budget, 2 alone, 3 beside
others, if its kernel also had the processor for so long. (A virtual machine may stand still for minutes while others use what it
runs on: pages of 16 seconds took 270 there.) FOLDNET_HEADROOM=4 is for a machine that is slower still.
"""

import collections
import os
import re

import psutil
import pytest
from nbval import plugin

from foldnet import plan

PATIENCE = 5  # times as long as the first start may the second take
OUTPUT = 120.0  # seconds for an output that the kernel has sent
STARTED_AGAIN, WORKED = "kernel started again", "processor seconds of the kernel"
COLOURS = re.compile("\x1b\\[[0-9;]*m")
MISSING, NOT_THERE = "DataMissing", "a data set is not on this machine and no mirror could be reached"
SECONDS = collections.Counter()
PROCESSOR = collections.Counter()
SKIPPED = collections.Counter()
WITHOUT = set()
AGAIN = []
SLOW = []
NOT_COMPARED = ("text/html", "image/svg+xml", "stderr")  # a record and its line are compared

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
                raise RuntimeError(f"the kernel did not start, twice: {self.failure} Then: {again}") from None


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
    if report.failed and isinstance(item, plugin.IPyNbCell) and not os.environ.get("FOLDNET_DATA"):
        trace = COLOURS.sub("", str(getattr(call.excinfo.value, "inner_traceback", ""))).strip()
        if trace.rpartition("\n")[2].startswith(MISSING):  # that is what was raised; the lines above may only speak of it
            WITHOUT.add(item.parent.nodeid)
        if item.parent.nodeid in WITHOUT:
            report.outcome, report.longrepr = "skipped", (str(item.path), None, NOT_THERE)
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
        return sum(sum(process.cpu_times()[:4]) for process in (first, *first.children(recursive=True)))
    except (psutil.Error, AttributeError):  # without a kernel there is no process, and no provisioner of one
        return 0.0


def pytest_runtest_logreport(report):
    name = report.nodeid.split("::")[0]
    if name.endswith(".ipynb"):
        PROCESSOR[name] = max(PROCESSOR[name], *(seconds for what, seconds in report.user_properties if what == WORKED), 0.0)
        if report.when == "setup":  # the kernel's start
            AGAIN.extend(f"{name}: {why}" for what, why in report.user_properties if what == STARTED_AGAIN)
        else:
            SECONDS[name] += report.duration  # the cell, the kernel's end
        if report.skipped and report.longrepr[2] == NOT_THERE:
            SKIPPED[name] += 1


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):  # a worker of xdist: the controller adds up
        return
    workers = int(session.config.getoption("numprocesses", 0) or 1)
    headroom = float(os.environ.get("FOLDNET_HEADROOM") or (2.0 if workers == 1 else 3.0))
    for name, seconds in SECONDS.items():
        limit = headroom * plan.budget(name.removeprefix("book/").removesuffix(".ipynb"))
        if min(seconds, PROCESSOR[name]) > limit:
            SLOW.append(f"{name} took {seconds:.0f} s ({PROCESSOR[name]:.0f} s of a processor), more than {limit:.0f}")
    if SLOW and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    if SECONDS:
        terminalreporter.section("seconds per notebook")
        for name, seconds in SECONDS.most_common():
            terminalreporter.line(f"{seconds:8.1f}  {name}  ({PROCESSOR[name]:.1f} s of a processor)")
    for sentence in AGAIN:
        terminalreporter.line(f"the kernel started only when it was tried again: {sentence}", yellow=True)
    for name, cells in SKIPPED.items():
        terminalreporter.line(f"NOT COMPARED, since {NOT_THERE}: {cells} cells of {name}", yellow=True)
    for sentence in SLOW:
        terminalreporter.line(f"FAILED {sentence}", red=True)
