"""Like Colab: the wheel in a bare environment with its IPython and ipywidgets and no tool of the book runs the model chapter."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from course import source
from foldbook import notebooks
from foldbook.claims import MIME, claims

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "book/splines/breakpoints.ipynb"
# What Colab has held still for years, and the torch of requirements.txt; the rest is what pip finds for foldnet's lower bounds.
COLAB = ("ipython==7.34.0", "ipywidgets==7.7.1", "ipykernel==6.17.1")
BOOK_TOOLS = ("jupyter_book", "sphinx", "nbval", "jupytext", "pytest")

pytestmark = pytest.mark.install


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> list[Path]:
    """The wheels of the two distributions that Colab's first cell installs, foldnet's first."""
    found = []
    for name in ("foldnet", "foldbook"):
        out = tmp_path_factory.mktemp(name)
        folder = ROOT if name == "foldnet" else ROOT / name
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, folder]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(next(out.glob("*.whl")))
    return found


def needs(wheel: Path) -> list[str]:
    """What a wheel asks for, its extras and foldnet itself left out."""
    with zipfile.ZipFile(wheel) as archive:
        described = archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))).decode()
    lines = [line.removeprefix("Requires-Dist: ") for line in described.splitlines() if line.startswith("Requires-Dist")]
    return sorted(line for line in lines if "extra ==" not in line and line != "foldnet")


@pytest.fixture(scope="module")
def python(wheels) -> Path:
    """The Python of a bare environment with both wheels; what is not ours is kept until its pins change."""
    torch = next(line.split()[0] for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch=="))
    needed = [line for wheel in wheels for line in needs(wheel)]
    key = hashlib.sha1(json.dumps([COLAB, torch, needed, sys.version]).encode()).hexdigest()[:12]
    home = ROOT / "_build" / f"colab-{key}"
    python, ready = home / "bin" / "python", home / ".ready"
    if not ready.exists():
        for old in (ROOT / "_build").glob("colab-*"):
            shutil.rmtree(old)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        pip(python, "install", "--no-compile", *COLAB, torch, *needed)  # compiled when imported, and most never is
        ready.touch()
    pip(python, "install", "--force-reinstall", "--no-deps", *wheels)
    return python


def pip(python: Path, *arguments) -> None:
    command = [python, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def bare(python: Path, code: str, folder: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run([python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_is_small_and_the_book_brings_its_claims_and_results(wheels):
    package, book = (zipfile.ZipFile(wheel) for wheel in wheels)
    assert {name.split("/")[0].split("-")[0] for name in package.namelist()} == {"foldnet"}
    assert {name.split("/")[0].split("-")[0] for name in book.namelist()} == {"foldbook", "experiments"}
    folders = (p for folder in ("claims", "data") for p in (ROOT / "book" / folder).rglob("*") if p.is_file())
    for path in (ROOT / "book/plan.yml", *folders):
        assert book.read(f"foldbook/_book/{path.relative_to(ROOT / 'book').as_posix()}") == path.read_bytes()
    for archive, names in ((package, ("foldnet",)), (book, ("foldbook", "experiments"))):
        held = set(archive.namelist())
        assert not [name for name in held if "test" in name.lower() or name.endswith((".ipynb", ".pyc", ".nbi", ".nbc"))]
        assert {p.relative_to(ROOT).as_posix() for name in names for p in (ROOT / name).rglob("*.py")} <= held
        assert f"{names[0]}/py.typed" in held, "a type checker reads what we say about types"
    assert wheels[0].stat().st_size < 1_000_000
    assert sum(info.file_size for info in book.infolist()) < 20_000_000


def test_lower_bounds_hold_and_no_book_tool_is_there(python, tmp_path):
    pip(python, "check")
    found = bare(python, f"import importlib.util as u; print([n for n in {BOOK_TOOLS} if u.find_spec(n)])", tmp_path)
    assert found == "[]"
    versions = "import IPython, ipywidgets; print(IPython.__version__, ipywidgets.__version__)"
    assert bare(python, versions, tmp_path) == "7.34.0 7.7.1"


def test_the_installed_package_is_whole(python, tmp_path):
    where = Path(bare(python, "import foldnet; print(foldnet.__file__)", tmp_path))
    assert where.is_relative_to(python.parent.parent)
    assert bare(python, "from foldbook.claims import claims; print(len(claims()))", tmp_path) == str(len(claims()))
    assert bare(python, "from experiments import race; print(len(race.cells()))", tmp_path).isdigit()
    told = subprocess.run([python, "-m", "foldbook", "ledger"], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 2
    assert told.stderr == "foldbook: this needs a clone of the repository: the installed package has no book beside it\n"


def checks(notebook) -> list[str]:
    """The lines that the checks of a notebook print."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output["data"]["text/plain"] for output in outputs if MIME in output.get("data", {})]


def printed(notebook) -> list[str]:
    """What the cells of a notebook print."""
    return [output["text"] for cell in notebook.cells for output in cell.get("outputs", ()) if output.get("name") == "stdout"]


def run_in(python: Path, path: Path, folder: Path, monkeypatch) -> nbformat.NotebookNode:
    """Run a notebook in an empty folder with the kernel of another environment."""
    spec = folder / "jupyter/kernels/colab"
    spec.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Colab", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    empty = folder / "empty"
    empty.mkdir()
    return notebooks.execute(path, kernel="colab", folder=empty)


def test_explores_and_checks_work_with_old_widgets(python, tmp_path, monkeypatch):
    """A few cells of their own, so that this holds whatever the chapter does."""
    code = nbformat.v4.new_code_cell
    cells = [
        code("import foldnet, os, sys; print(foldnet.__file__.startswith(sys.prefix), os.listdir())"),
        code(
            "from foldnet import plots\nfrom foldbook.explore import explore\n"
            "def draw(k):\n    fig, axes = plots.subplots()\n    axes.plot([0, k])\n    return fig\n"
            "figure = explore(draw, alt='a line up to {k}', k=[1, 2])\nfigure"
        ),
        code("shown = figure.sliders(k=range(1, 5)); shown.controls['k'].value = 4; print('up to 4' in shown.picture.value)"),
        code("shown"),
        code("from foldbook.claims import check\ncheck('S3-def-shallow-net', 'the count', 4, 3, note='to see it differ')"),
    ]
    path = tmp_path / "few.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    done = run_in(python, path, tmp_path, monkeypatch)
    texts = [
        output.get("text", output.get("data", {}).get("text/plain")) for cell in done.cells for output in cell.get("outputs", ())
    ]
    assert texts[:4] == ["True []\n", "explore(draw: k)", "True\n", "sliders(draw: k)"]
    assert texts[4].startswith("differs")
    assert checks(done) == texts[4:]


@pytest.mark.parametrize("page", ["breakpoints", "breakpoints-checks"])
def test_the_model_chapter_runs_as_in_colab(page, python, tmp_path, monkeypatch):
    path = CHAPTER.with_stem(page)
    stored = nbformat.read(path, as_version=4)
    fresh = run_in(python, path, tmp_path, monkeypatch)
    assert len(checks(stored)) >= 3 or not page.endswith("checks")
    assert checks(fresh) == checks(stored)
    assert printed(fresh) == printed(stored)
    assert not [o for cell in fresh.cells for o in cell.get("outputs", ()) if o.get("name") == "stderr"]


@pytest.mark.skipif("ps2" not in source.names(), reason="the sources of the problem sets are kept elsewhere")
def test_a_student_sees_in_colab_what_each_check_says(python, tmp_path):
    """The last line of the cell in the student's guide: in a clone, with what Colab has and nothing else."""
    guide = (ROOT / "book/assignments/student.md").read_text(encoding="utf-8")
    line = "cd /content/foldnet && python -m course.look /content/ps2.ipynb"
    assert f"!{line}\n" in guide
    notebook = nbformat.read(ROOT / "book/assignments/ps2.ipynb", as_version=4)
    solved = {cell.name: cell.source for cell in source.read("ps2").of("answer") if cell.name in ("chain", "law", "derivation")}
    for cell in notebook.cells:
        cell.source = solved.get(cell.id, cell.source)
    nbformat.write(notebook, tmp_path / "ps2.ipynb")
    words = line.replace("/content/foldnet", str(ROOT)).replace("/content", str(tmp_path)).replace("python -m", f"{python} -m")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(words, shell=True, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = dict(sentence.split(": ", 1) for sentence in done.stdout.splitlines())
    assert said["chain-values (3 points)"] == said["law-values (2 points)"] == "correct"
    assert said["aim-quartiles (4 points)"].startswith("missing")
    assert said["derivation (5 points)"] == "a text, which a person will read"
