"""The house rules of the package: what imports what, and what an import costs."""

import ast
import doctest
import importlib
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


def borrowed(source: str) -> set[str]:
    """Private names that a file takes from other modules of foldnet; private modules are no names."""
    froms = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom) and (n.level or "foldnet" in n.module)]
    names = {alias.name for node in froms for alias in node.names if alias.name.startswith("_") and not alias.name.endswith("__")}
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
    imports = "from .a import b, _c\nfrom foldnet.nets import _tensor\nfrom . import paths\nfrom numpy import _x\n"
    source = imports + "D, _e = 1, 2\ndef f(): pass"
    assert borrowed(source) == {"_c", "_tensor"}
    assert defined(source) == {"D", "f"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_module_can_be_held_in_the_head(path):
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= MOST_LINES
    assert not lines or ast.get_docstring(ast.parse(text)), "a module says what it is for"


def test_the_names_of_foldnet_are_those_it_lists():
    named = {name for names in foldnet._NAMES.values() for name in names}
    assert set(foldnet.__all__) == named | {"ReLUNet", "__version__"}
    assert set(foldnet.__all__) <= set(dir(foldnet))
    for module, names in foldnet._NAMES.items():
        for name in names:
            assert getattr(foldnet, name) is getattr(importlib.import_module(f"foldnet.{module}"), name)
    with pytest.raises(AttributeError, match="no attribute 'spines'; its names are ReLUNet"):
        foldnet.spines  # noqa: B018


def test_type_checkers_are_told_the_same_names():
    (block,) = [n for n in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body if isinstance(n, ast.If)]
    assert {node.module: tuple(alias.name for alias in node.names) for node in block.body} == foldnet._NAMES
    assert (PACKAGE / "py.typed").is_file()


def test_the_example_of_foldnet_gives_what_it_says():
    assert doctest.testmod(foldnet) == doctest.TestResults(0, 4)


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
