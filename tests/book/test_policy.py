"""nbval's policy in book/conftest.py: text is compared, pictures are not, and a slow notebook fails the run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

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


def nbval(root: Path, workers: int, headroom: str = "") -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"-n{workers}", "--dist=loadfile", *NBVAL, "book"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FOLDNET_HEADROOM": headroom}
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


@pytest.mark.parametrize("workers", [0, 2])
def test_a_slow_notebook_fails_the_run(clone, workers):
    done = nbval(clone, workers, headroom="0.001")
    assert done.returncode == 1
    assert "FAILED book/splines/one.ipynb took" in done.stdout
    assert "3 passed" in done.stdout
