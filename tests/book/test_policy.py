"""nbval's policy in book/conftest.py: text is compared, pictures are not, a slow notebook fails the run, and a kernel that does
not start is started once more."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest

from foldbook import plan
from tools import notebooks
from tools.check import NBVAL

ROOT = Path(__file__).resolve().parents[2]
PAGE = "import time\nfrom IPython.display import display\ndisplay({'text/html': f'{time.time()}', 'text/plain': 'x'}, raw=True)"
LATER = "import sys, time\nprint('warning', time.time(), file=sys.stderr)\nprint('0x%012x took 3 s' % id(time))"


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A book with one notebook that was run and stored; each test changes its stored outputs."""
    root = tmp_path_factory.mktemp("clone")
    (root / "book/splines").mkdir(parents=True)
    shutil.copy(ROOT / "book/conftest.py", root / "book")
    shutil.copy(ROOT / "book/sanitize.cfg", root / "book")
    cells = [nbformat.v4.new_code_cell(source) for source in ("print(1 + 1)", PAGE, LATER)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), root / "book/splines/one.ipynb")
    assert notebooks.main(["run"], root) == 0
    return root


def nbval(root: Path, workers: int, headroom: str = "", options=NBVAL, **more: str) -> subprocess.CompletedProcess:
    how = ["-q", "-p", "no:cacheprovider", f"-n{workers}", "--dist=loadfile"]
    command = [sys.executable, "-m", "pytest", *how, *options, "book"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FOLDNET_HEADROOM": headroom, **more}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def test_pictures_times_and_addresses_may_differ(clone):
    done = nbval(clone, workers=0)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    assert "splines/one.ipynb" in done.stdout.split("seconds per notebook")[1]


def test_text_may_not_differ(clone, tmp_path):
    copy = shutil.copytree(clone, tmp_path / "copy")
    path = copy / "book/splines/one.ipynb"
    path.write_text(path.read_text().replace('"2\\n"', '"3\\n"'))
    done = nbval(copy, workers=0)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout


MISSES = "from foldnet.data import DataMissing\ndef digits():\n    raise DataMissing('digits.gz is nowhere')\nx = digits()"
SPEAKS = "from foldnet.data import DataMissing\ntry:\n    y = 1\nexcept DataMissing:\n    y = 2\nassert y == 2"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_page_without_its_data_is_skipped_from_there_on_unless_the_data_was_promised(clone, tmp_path, workers):
    root = tmp_path / "copy"
    shutil.copytree(clone, root)
    cells = [nbformat.v4.new_code_cell(source) for source in ("print(1)", SPEAKS, MISSES, "print(x)")]
    cells[0].outputs = [nbformat.v4.new_output("stream", name="stdout", text="3\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), root / "book/splines/one.ipynb")
    done = nbval(root, workers, FOLDNET_DATA="")
    assert "2 failed, 2 skipped" in done.stdout  # what is wrong before the data is missed, or speaks of it, stays wrong
    assert "no mirror could be reached: 2 cells of book/splines/one.ipynb" in done.stdout
    assert "4 failed" in nbval(root, workers, FOLDNET_DATA=str(tmp_path)).stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_a_slow_notebook_fails_the_run(clone, workers):
    done = nbval(clone, workers, headroom="1e-6")
    assert done.returncode == 1
    assert "FAILED book/splines/one.ipynb took" in done.stdout
    assert "3 passed" in done.stdout


@pytest.mark.parametrize(("code", "late"), [("time.sleep(12)", False), ("while time.process_time() < 12:\n    pass", True)])
def test_a_machine_that_stands_still_makes_no_page_late(tmp_path, code, late):
    (tmp_path / "book").mkdir()
    for name in ("conftest.py", "sanitize.cfg"):
        shutil.copy(ROOT / "book" / name, tmp_path / "book")
    cell = nbformat.v4.new_code_cell(f"import time\n{code}")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "book/one.ipynb")
    done = nbval(tmp_path, workers=2, headroom=str(10 / plan.budgets()["page"]))
    assert ("FAILED book/one.ipynb took" in done.stdout) == late, done.stdout
    assert done.returncode == late


# ---- kernels that do not start -------------------------------------------------------------------------------------------

# A process that is alive and silent at its first starts, as many as it is told, and a kernel of this environment afterwards.
STUBBORN = """
import os, pathlib, sys, time
silent, *rest = sys.argv[1:]
starts = pathlib.Path(__file__).with_name("starts")
before = starts.read_text() if starts.exists() else ""
starts.write_text(before + f"{os.getpid()}\\n")
if len(before.split()) < int(silent):
    time.sleep(10_000)
os.execv(sys.executable, [sys.executable, "-m", "ipykernel_launcher", *rest])
"""


def stubborn(folder: Path, silent: int, seconds: int) -> tuple[list[str], dict[str, str]]:
    """The options and the environment in which notebooks run in such a kernel, which is installed in a folder.

    A first start has so many seconds, the second five times as many.
    """
    kernel = folder / "kernels/stubborn"
    kernel.mkdir(parents=True)
    (kernel / "kernel.py").write_text(STUBBORN)
    command = [sys.executable, str(kernel / "kernel.py"), str(silent), "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "stubborn", "language": "python"}))
    kept = [option for option in NBVAL if "current-env" not in option and "startup" not in option]
    return [*kept, "--nbval-kernel-name=stubborn", f"--nbval-kernel-startup-timeout={seconds}"], {"JUPYTER_PATH": str(folder)}


def starts(folder: Path) -> list[int]:
    """The numbers of the processes that were started."""
    return [int(line) for line in (folder / "kernels/stubborn/starts").read_text().split()]


def test_a_kernel_that_is_silent_once_is_started_again_and_the_summary_says_so(clone, tmp_path):
    options, environment = stubborn(tmp_path, silent=1, seconds=12)
    done = nbval(clone, workers=1, options=options, **environment)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    (said,) = [line for line in done.stdout.splitlines() if "only when it was tried again" in line]
    assert "book/splines/one.ipynb: Kernel didn't respond in 12 seconds" in said
    assert len(starts(tmp_path)) == 2
    assert not any(map(psutil.pid_exists, starts(tmp_path)))


def test_a_kernel_that_never_starts_fails_and_says_why(clone, tmp_path):
    options, environment = stubborn(tmp_path, silent=10, seconds=2)
    done = nbval(clone, workers=0, options=options, **environment)
    assert done.returncode == 1
    assert "3 errors" in done.stdout
    assert "the kernel did not start, twice: Kernel didn't respond in 2 seconds" in done.stdout
    assert len(starts(tmp_path)) == 2
    assert not any(map(psutil.pid_exists, starts(tmp_path)))
