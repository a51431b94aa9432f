"""nbval's policy for the book: text is compared, pictures are not; each notebook has its seconds, and a slow one fails the run.

The budget of book/plan.yml is for a page on two cores, alone; book/data/runtimes.json holds the times and a test holds them to
it. Here notebooks may run two at a time, each on half a machine: a page fails at HEADROOM times its budget, 2 alone, 3 beside
others. FOLDNET_HEADROOM=4 is for a machine that is slower still.
"""

import collections
import os

from foldnet import plan

SECONDS = collections.Counter()
SLOW = []
NOT_COMPARED = ("text/html", "image/svg+xml", "stderr")  # a record and its line are compared

os.environ.setdefault("TQDM_DISABLE", "1")  # progress bars are for people


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):  # nbval's notebook collector
        collector.skip_compare += NOT_COMPARED


def pytest_runtest_logreport(report):
    name = report.nodeid.split("::")[0]
    if name.endswith(".ipynb"):
        SECONDS[name] += report.duration  # the kernel's start, the cell, the kernel's end


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):  # a worker of xdist: the controller adds up
        return
    workers = int(session.config.getoption("numprocesses", 0) or 1)
    headroom = float(os.environ.get("FOLDNET_HEADROOM") or (2.0 if workers == 1 else 3.0))
    for name, seconds in SECONDS.items():
        limit = headroom * plan.budget(name.removeprefix("book/").removesuffix(".ipynb"))
        if seconds > limit:
            SLOW.append(f"{name} took {seconds:.0f} s, more than {limit:.0f}")
    if SLOW and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter):
    if SECONDS:
        terminalreporter.section("seconds per notebook")
        for name, seconds in SECONDS.most_common():
            terminalreporter.line(f"{seconds:8.1f}  {name}")
    for sentence in SLOW:
        terminalreporter.line(f"FAILED {sentence}", red=True)
