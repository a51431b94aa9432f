"""The house rules of the package: what imports what, and what an import costs."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import foldnet

PACKAGE = Path(foldnet.__file__).parent
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if "_book" not in p.parts)
WINGS = {"boolean", "splines", "geometry", "growth"}
MOST_LINES = 350

# Which rooms a room may import from, arrows running down; a wing is one room.
BELOW = {
    "nets": set(),
    "_paths": set(),
    "plots": set(),
    "exercises": set(),
    "plan": {"_paths"},
    "_targets": set(),
    "_lines": {"_targets"},
    "claims": {"_paths", "plan", "_targets", "_lines"},
    "data": {"_paths"},
    "ledger": {"_paths", "claims", "_lines", "_targets"},
    "explore": {"plots"},
    "_progress": set(),
    "_compiled": {"_progress"},
    "training": {"nets"},
    "engines": {"_compiled", "nets", "training"},
    "train": {"nets", "training", "engines", "_progress"},
    "geometry": {"_compiled", "nets", "plots", "train", "engines", "data"},
    "boolean": {"_compiled", "nets", "plots", "train", "geometry", "data"},
    "splines": {"_compiled", "nets", "plots", "train", "engines", "geometry", "data"},
    "growth": {"nets", "plots", "training", "train", "geometry", "data"},
    "experiments": {"nets", "plots", "train", "training", "geometry", "boolean", "splines", "growth", "data", "_paths"},
    "live": {"nets", "plots", "train", "geometry", "boolean", "splines", "growth"},
    "__init__": {"nets"},
    "__main__": {"claims", "ledger", "plan", "experiments", "boolean", "_paths"},
}


def room(path: Path, package: Path = PACKAGE) -> str:
    """The room that a file belongs to: its folder, or itself."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def imported(source: str, path: Path, package: Path = PACKAGE) -> set[str]:
    """The rooms of foldnet that a file imports from, wherever in the file it does; what only a type checker reads is left out."""
    found = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    inside = path.relative_to(package).parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            here = ("foldnet", *inside)[: len(inside) + 2 - node.level] if node.level else ()
            base = ".".join([*here, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("foldnet.")}
    rooms = {p.stem for p in package.glob("*.py")} | {p.name for p in package.iterdir() if p.is_dir()}
    return (found & rooms) - {room(path, package)}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_arrows_run_down(path):
    assert room(path) in BELOW, f"{room(path)} is a new room: say in BELOW what it may import"
    assert imported(path.read_text(encoding="utf-8"), path) <= BELOW[room(path)]


def test_the_rule_itself_has_no_circles():
    order: list[str] = []
    left = dict(BELOW)
    while left:
        free = [name for name, below in left.items() if below <= set(order)]
        assert free, f"a circle among {sorted(left)}"
        order += free
        left = {name: below for name, below in left.items() if name not in free}
    for wing in WINGS:
        assert not BELOW[wing] & {"claims", "explore", "ledger", "experiments"}
    assert not (BELOW["claims"] | BELOW["data"]) & WINGS


@pytest.mark.parametrize(
    ("where", "source", "rooms"),
    [
        ("splines/x.py", "from ..claims import check", {"claims"}),
        ("splines/x.py", "from .. import explore, nets", {"explore", "nets"}),
        ("splines/x.py", "from . import other\nfrom .other import y", set()),
        ("splines/x.py", "def f():\n    import foldnet.growth.fold", {"growth"}),
        ("data.py", "from .splines import net", {"splines"}),
        ("data.py", "if TYPE_CHECKING:\n    from .splines import net", set()),
        ("data.py", "from foldnet import splines", {"splines"}),
        ("nets.py", "import numpy.random\nfrom torch import nn", set()),
    ],
)
def test_imports_are_found_wherever_they_stand(tmp_path, where, source, rooms):
    for name in ("claims", "explore", "nets", "data"):
        (tmp_path / f"{name}.py").touch()
    for name in ("splines", "growth"):
        (tmp_path / name).mkdir()
    assert imported(source, tmp_path / where, tmp_path) == rooms


def borrowed(source: str) -> set[str]:
    """Private names that a file takes from other modules of foldnet; private modules are no names."""
    froms = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom) and (n.level or "foldnet" in n.module)]
    names = {alias.name for node in froms for alias in node.names if alias.name.startswith("_")}
    return names - {path.stem for path in MODULES}


def defined(source: str) -> set[str]:
    """The public functions, classes and constants of a file."""
    found = set()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        found |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        found |= {node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else set()
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_private_names_stay_at_home(path):
    assert not borrowed(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("wing", sorted(WINGS))
def test_a_name_has_one_meaning_in_a_wing(wing):
    files = [path for path in (PACKAGE / wing).glob("[!_]*.py")]
    names = [name for path in files for name in defined(path.read_text(encoding="utf-8"))]
    assert len(names) > 9
    assert not {name for name in names if names.count(name) > 1}


def test_the_rules_about_names_see_what_they_should():
    imports = "from .a import b, _c\nfrom foldnet.nets import _tensor\nfrom . import _paths\nfrom numpy import _x\n"
    source = imports + "D, _e = 1, 2\ndef f(): pass"
    assert borrowed(source) == {"_c", "_tensor"}
    assert defined(source) == {"D", "f"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_module_can_be_held_in_the_head(path):
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= MOST_LINES
    assert not lines or ast.get_docstring(ast.parse(text)), "a module says what it is for"


LATE = ("matplotlib", "scipy", "sympy", "numba", "ipywidgets", "sklearn", "IPython", "joblib", "pooch", "tqdm", "yaml", "PIL")
COST = """
import json, sys, time
start = time.process_time(); import numpy, torch; first = time.process_time() - start
before = set(sys.modules)
start = time.process_time(); import foldnet; second = time.process_time() - start
print(json.dumps({"new": sorted(m.split(".")[0] for m in set(sys.modules) - before), "first": first, "second": second}))
"""


def test_importing_foldnet_takes_numpy_and_torch_and_nothing_else():
    cost = json.loads(subprocess.run([sys.executable, "-c", COST], capture_output=True, text=True, check=True).stdout)
    assert not set(cost["new"]) & set(LATE)
    assert cost["second"] < max(0.2, 0.25 * cost["first"])


def test_importing_foldnet_does_nothing():
    code = (
        "import random, warnings, os, numpy, torch\n"
        "state = lambda: (random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist(),"
        " list(map(str, warnings.filters)), dict(os.environ), torch.get_num_threads(), torch.get_default_dtype())\n"
        "before = state()\nimport foldnet\nassert state() == before"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == done.stderr == ""
