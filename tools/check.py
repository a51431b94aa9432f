"""Everything that must hold, one stage after the other: `python -m tools.check [STAGE ...]`.

A stage that fails does not stop the next ones; the summary at the end tells them apart, and one failure fails the whole.

Tests that start browsers or grade submissions hang on the machine: where no more than three of them fail, they are run once more,
alone, and the summary says so. No other test is repeated: what fails once has failed. "Everything holds" is said only where
everything held at first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=5", "--durations-min=5"]
NBVAL = [
    *("--nbval", "--nbval-current-env", "--nbval-sanitize-with=book/sanitize.cfg"),
    *("--nbval-cell-timeout=600", "--nbval-kernel-startup-timeout=120"),  # book/conftest.py starts a kernel once more
]
# Coverage where Python watches itself, from 3.12 on: before, measuring takes half as long again.
WATCHED = sys.version_info >= (3, 12)
COVERAGE = ["--cov", "--cov-report=term:skip-covered"] if WATCHED else []
MONITORING = {"COVERAGE_CORE": "sysmon"} if WATCHED else {}
STEAL = ["--dist=worksteal"]  # who has done its half takes from the other's; xdist 3.8 loses count of it with fourteen of them
FAILURES, NO_TESTS = 1, 5  # pytest's exit status where tests failed, and where nothing was collected
CACHE = ROOT / "_build/.pytest_cache"
RUNTIMES = ROOT / "_build/runtimes.json"  # what the last run of the notebooks measured
TESTS = ("tests", "course/tests")
NO_OTHER_STAGE = "not browser and not install and not course and not print"
ON_THE_MACHINE, FEW = ("course", "browser"), 3  # stages whose tests may be run once more, and how many of them


def stages(jobs: int) -> dict[str, list[list]]:
    """Name of each stage to its commands."""
    shared = STEAL if jobs <= 4 else []
    return {
        "style": [
            [sys.executable, "-m", "ruff", "check", "."],
            [sys.executable, "-m", "ruff", "format", "--check", "."],
            [sys.executable, "-m", "ty", "check", "foldnet", "foldbook", "experiments", "tools", "book/_ext"],
            [sys.executable, "-m", "ty", "check", "course", "--exclude", "course/tests"],
            *scripts(),
        ],
        "package": [[*PYTEST, *COVERAGE, "-n", jobs, *shared, "-m", NO_OTHER_STAGE, *TESTS]],
        "notebooks": [[*PYTEST, "-n", jobs, "--dist=loadfile", "--no-loadscope-reorder", *NBVAL, *longest_first()]],
        "mutations": [[sys.executable, "-m", "tools.mutate", "--sample", "10", "--jobs", str(jobs)]],
        "course": [
            [sys.executable, "-m", "course.make", "--check"],
            [*PYTEST, "-n", jobs, "--dist=loadgroup", "-m", "course", "course/tests"],
        ],
        "print": [[*PYTEST, "-m", "print", "tests"]],  # before the site, which links what it finds printed
        "site": [[sys.executable, "-m", "tools.site", "--full"]],
        # each folder has a browser of its own, and a process can start one
        "browser": [[*PYTEST, "-n", jobs, *shared, "-m", "browser", "tests"], [*PYTEST, "-m", "browser", "course/tests"]],
        "install": [[*PYTEST, "-m", "install", "tests"]],
    }


def scripts() -> list[list[str]]:
    """Types and lint of the live figures' sources, where npm and its packages are there: `npm ci` in live/ brings them."""
    npm, packages = which("npm"), ROOT / "live/node_modules/typescript"
    return [[npm, "--prefix", "live", "run", "--silent", "check"]] if npm and packages.is_dir() else []


def longest_first() -> list[str]:
    """All notebooks, by the run times of the last run here: no long one is left for the end, when other processes are idle.

    Where nothing was measured yet, the number of code cells stands for the time.
    """
    noted = json.loads(RUNTIMES.read_text(encoding="utf-8")) if RUNTIMES.is_file() else {}
    paths = sorted(path for path in (ROOT / "book").rglob("*.ipynb") if not any(p.startswith(".") for p in path.parts))

    def cost(path: Path) -> tuple[float, int]:
        page = path.relative_to(ROOT / "book").with_suffix("").as_posix()
        return noted.get(page, {"seconds": 0.0})["seconds"], path.read_text(encoding="utf-8").count('"cell_type": "code"')

    return [path.relative_to(ROOT).as_posix() for path in sorted(paths, key=cost, reverse=True)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the tests of the whole book, or some stages of them.")
    parser.add_argument("stage", nargs="*", help=f"some of {', '.join(stages(1))}; without one, all")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time (default 2)")
    arguments = parser.parse_args(argv)
    known = stages(arguments.jobs)
    if unknown := [stage for stage in arguments.stage if stage not in known]:
        parser.error(f"no stage is named {', '.join(unknown)}; there are {', '.join(known)}")
    results = [run(name, known[name], arguments.jobs) for name in known if not arguments.stage or name in arguments.stage]
    print("\n" + "=" * 60)
    for name, outcome, seconds in results:
        print(f"{name:<12}{outcome:<36}{seconds:6.0f} s")
    failed = [name for name, outcome, _ in results if outcome.startswith("FAILED")]
    repeated = [name for name, outcome, _ in results if "BUT" in outcome]
    if failed:
        print(f"FAILED: {', '.join(failed)}; one stage again: make test ONLY={failed[0]}")
    elif repeated:
        print(f"NOT EVERYTHING HELD AT FIRST: tests of {', '.join(repeated)} passed only when they were repeated; look into them")
    else:
        print("everything holds")
    return bool(failed)


def run(name: str, commands: list[list], jobs: int) -> tuple[str, str, float]:
    """One stage: its name, how it went and its seconds."""
    print(f"\n=== {name} " + "=" * (55 - len(name)), flush=True)
    start, outcome = time.monotonic(), "ok"
    if name == "browser" and not browser():
        print("THERE IS NO CHROMIUM ON THIS MACHINE: no page was opened; install chromium and run this stage again")
        return name, "SKIPPED: no Chromium here", 0.0
    if name == "print" and not printers():
        print("TYPST, PANDOC OR POPPLER IS MISSING: nothing was printed; make report installs the first two")
        return name, "SKIPPED: no Typst, pandoc or poppler", 0.0
    if name == "style" and not scripts():
        print("THE SCRIPTS IN live/ ARE NOT CHECKED: npm or its packages are missing; run npm ci in live/ and this stage again")
        outcome = "ok, without the scripts in live/"
    quiet = {"TQDM_DISABLE": "1"} if name == "notebooks" else {}  # a slow machine's progress is no output to be compared
    for command in commands:
        tests = name in ON_THE_MACHINE and "pytest" in command
        cached = ["--cache-clear", "-o", f"cache_dir={CACHE / name}"] if tests else []
        parts = [str(part) for part in [*command, *cached]]
        code = subprocess.run(parts, cwd=ROOT, env={**environment(jobs), **quiet}).returncode
        if code == FAILURES and tests and (names := by_chance(name, command, jobs)):
            outcome = f"ok, BUT {len(names)} only when repeated"
            print(*(f"passed only when repeated alone: {test}" for test in names), sep="\n")
        elif code == NO_TESTS:
            outcome = "nothing to test"
        elif code:
            outcome = f"FAILED (exit status {code})"
            break
    return name, outcome, time.monotonic() - start


def by_chance(name: str, command: list, jobs: int) -> list[str]:
    """The failed tests of a stage, where they are few and all pass when they are run again one after the other; else none."""
    record = CACHE / name / "v/cache/lastfailed"
    failed = sorted(json.loads(record.read_text())) if record.is_file() else []
    if not 0 < len(failed) <= FEW:
        return []
    print(f"\n--- once more, alone: {', '.join(failed)}", flush=True)
    again = [*command, "-n", "0", "--last-failed", "-o", f"cache_dir={CACHE / name}"]
    passed = subprocess.run([str(part) for part in again], cwd=ROOT, env=environment(jobs)).returncode == 0
    return failed if passed else []


def environment(jobs: int) -> dict[str, str]:
    """Every process gets its share of the cores: two that both take all of them wait for each other."""
    share = str(max(1, (os.cpu_count() or 1) // max(1, jobs)))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), share)
    return {**threads, "MPLBACKEND": "agg", **MONITORING, **os.environ}


def printers() -> bool:
    """Whether the report and the print edition can be set and measured here.

    `make report` installs Typst and pandoc; poppler comes with the system.
    """
    return all(find_spec(name) for name in ("typst", "pypandoc")) and bool(which("pdftoppm"))


def browser() -> str | None:
    """Chromium's path, or what the environment variable FOLDNET_CHROMIUM says.

    Its headless shell first: it draws no window around a page, which takes the whole browser a second of a core each time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("FOLDNET_CHROMIUM") or next(filter(None, map(which, names)), None)


if __name__ == "__main__":
    sys.exit(main())
