"""The house rules: which package may import which, arrows that run down, and no circle anywhere, not even in a function."""

import ast
import functools
import json
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import foldnet

ROOT = Path(__file__).resolve().parents[1]
MOST_PUBLIC_NAMES = 300
MOST_IN_A_FUNCTION, MOST_ARGUMENTS = 60, 19
# Lines of Python, tests apart; of notebooks their code cells. CONTRIBUTING says why they are not fewer. Who comes to a ceiling
# looks first for what can go.
MOST_LINES = {
    "foldnet": 16_000,
    "foldbook": 7_000,
    "experiments": 7_000,
    "course": 6_000,
    "tools": 3_200,
    "book/_ext": 2_300,
    "notebooks": 25_000,
}

# What each package may import, itself apart. The course stands beside the book and knows nothing of its tools.
PACKAGES = {
    "foldnet": set(),
    "foldbook": {"foldnet"},
    "experiments": {"foldnet", "foldbook"},
    "course": {"foldnet", "foldbook"},
    "tools": {"foldnet", "foldbook", "experiments"},
}

# The rooms of foldnet and what they may import, arrows running down; a part of the book is one room.
# The door, `__init__`, names what stands in them and imports it at its first use; no room but `__main__` goes through the door.
ROOMS = {
    "__init__": {"nets", "train", "data", "boolean", "geometry", "splines", "growth", "piecewise"},
    "__main__": {"__init__", "command_line", "boolean"},
    "command_line": set(),
    "nets": {"_checks"},
    "plots": set(),
    "data": set(),
    "_progress": set(),
    "_checks": set(),
    "_compiled": {"_progress"},
    "_plain": {"_compiled"},
    "training": {"_checks", "nets"},
    "engines": {"_checks", "_compiled", "nets", "training"},
    "train": {"nets", "training", "engines", "_progress"},
    "geometry": {"_compiled", "_plain", "nets", "plots", "train", "engines", "data"},
    "piecewise": {"_progress", "geometry", "growth", "nets", "plots", "training"},
    "boolean": {"_compiled", "nets", "plots", "train", "geometry", "data"},
    "splines": {"_compiled", "_plain", "nets", "plots", "train", "engines", "geometry", "data"},
    "growth": {"_checks", "nets", "plots", "training", "train", "geometry", "data"},
}


def modules(package: str, root: Path = ROOT) -> dict[str, Path]:
    """The modules of a package by name, its tests left out."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if "tests" not in parts and "_book" not in parts:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(source: str, name: str, is_package: bool, known: set[str]) -> set[str]:
    """The modules among `known` that a file imports, wherever in the file it does; what only a type checker reads is left out."""
    tree, found = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            here = name.split(".") if is_package else name.split(".")[:-1]
            above = here[: len(here) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            whole = [f"{base}.{alias.name}" for alias in node.names]
            found |= {each if each in known else base for each in whole}
    return (found & known) - {name}


def graph(*packages: str, root: Path = ROOT) -> dict[str, set[str]]:
    """Each module of these packages and the modules among them that it imports."""
    paths = {name: path for package in packages for name, path in modules(package, root).items()}
    read = {name: (path.read_text(encoding="utf-8"), path.name == "__init__.py") for name, path in paths.items()}
    return {name: imported(source, name, is_package, set(paths)) for name, (source, is_package) in read.items()}


@functools.cache
def house() -> dict[str, set[str]]:
    """The graph of all packages, read once for all tests."""
    return graph(*PACKAGES)


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A circle among the arrows, as a list of names, or nothing."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_lies_below_it(package):
    arrows = house()
    above = {(name, other) for name, others in arrows.items() for other in others if name.split(".")[0] == package}
    allowed = PACKAGES[package] | {package}
    assert not {(name, other) for name, other in above if other.split(".")[0] not in allowed}


def test_no_module_imports_in_a_circle():
    assert not circle(house())
    extensions = graph(".", root=ROOT / "book/_ext")  # each is a module at the top, to Sphinx
    assert any(extensions.values())
    assert not circle(extensions)


def room(name: str) -> str:
    """The room of foldnet that a module belongs to: its folder, or itself."""
    return [*name.split("."), "__init__"][1]


def test_the_rooms_of_foldnet_lie_on_floors():
    arrows = graph("foldnet")
    assert {room(name) for name in arrows} == set(ROOMS), "a new room: say in ROOMS what it may import"
    wrong = {(n, o) for n, others in arrows.items() for o in others if room(o) not in ROOMS[room(n)] | {room(n)}}
    assert not wrong
    assert not circle(ROOMS)


def test_the_door_imports_only_networks_at_once_and_the_rest_when_it_is_used():
    assert graph("foldnet")["foldnet"] == {"foldnet.nets"}
    assert {module.split(".")[0] for module in foldnet._NAMES} <= ROOMS["__init__"]
    assert {name for name, rooms in ROOMS.items() if "__init__" in rooms} == {"__main__"}


def public_names() -> list[str]:
    """The functions and classes that foldnet offers: top level, no leading underscore in the name or in the module's path."""
    found = []
    for name, path in modules("foldnet").items():
        if not any(part.startswith("_") for part in name.split(".")):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            found += [f"{name}.{node.name}" for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return [name for name in found if not name.split(".")[-1].startswith("_")]


def test_the_package_is_small():
    assert len(public_names()) <= MOST_PUBLIC_NAMES
    assert {"foldnet.nets.ReLUNet", "foldnet.geometry.regions.regions"} <= set(public_names())


def lines(where: str, root: Path = ROOT) -> int:
    """How many lines of Python a folder has without its tests, or the code cells of the chapters."""
    if where == "notebooks":
        paths = [p for p in (root / "book").rglob("*.ipynb") if not {".ipynb_checkpoints", "assignments"} & set(p.parts)]
        cells = (cell for path in paths for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])
        return sum(len("".join(cell["source"]).splitlines()) for cell in cells if cell["cell_type"] == "code")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules(where, root).values())


@pytest.mark.parametrize("where", MOST_LINES)
def test_nothing_grows_without_end(where):
    assert 0.8 * MOST_LINES[where] < lines(where) <= MOST_LINES[where], "fewer: lower the ceiling; more: what can go?"


def outgrown(source: str) -> list[str]:
    """Functions of more than 60 lines or 19 arguments without a comment right above that says why, inner ones apart."""
    above, found, ahead = source.splitlines(), [], [ast.parse(source)]
    while ahead:
        for node in ast.iter_child_nodes(ahead.pop()):
            ahead.append(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                given = sum(map(len, (node.args.posonlyargs, node.args.args, node.args.kwonlyargs)))
                if (node.end_lineno or 0) - node.lineno >= MOST_IN_A_FUNCTION or given > MOST_ARGUMENTS:
                    begin = min(each.lineno for each in (node, *node.decorator_list))
                    if begin > 1 and above[begin - 2].lstrip().startswith("#"):
                        ahead.pop()
                    else:
                        found.append(node.name)
    return found


@pytest.mark.parametrize("package", [*PACKAGES, "book/_ext"])
def test_a_long_function_says_why(package):
    found = {name: outgrown(path.read_text(encoding="utf-8")) for name, path in modules(package).items()}
    assert not {name: functions for name, functions in found.items() if functions}


def test_a_long_function_is_seen():
    body = "    x = 0\n" * MOST_IN_A_FUNCTION
    inner = "def f():\n    def g():\n" + 60 * "        x = 0\n"
    assert outgrown(f"def f():\n{body}") == outgrown(f"class A:\n  def f():\n{body}") == ["f"]
    assert outgrown(f"def f():\n{body[:-10]}") == outgrown(f"# A reason.\n@d\ndef f():\n{body}") == []
    assert outgrown(inner) == ["f", "g"]
    assert outgrown(f"# A reason.\n{inner}") == []
    assert outgrown(f"def f({', '.join(f'a{i}' for i in range(20))}): pass") == ["f"]


def test_what_is_said_about_the_size_is_what_is_held():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = text[text.index("How large it is, and why.") : text.index("Encouraged:")]
    ceilings = [*(MOST_LINES[where] for where in ("foldnet", "notebooks", "experiments", "course")), sum(MOST_LINES.values())]
    assert f"{MOST_PUBLIC_NAMES} public names" in told
    for ceiling in ceilings:
        assert f"{ceiling:,}" in told


def test_lines_are_counted_without_tests(tmp_path):
    for name, text in {"fold/a.py": "1\n2\n", "fold/tests/b.py": "3\n", "fold/c.txt": "4\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    cells = [{"cell_type": "code", "source": ["x = 1\n", "y = 2"]}, {"cell_type": "markdown", "source": ["text\n"]}]
    (tmp_path / "book/assignments").mkdir(parents=True)
    for name in ("book/page.ipynb", "book/assignments/ps1.ipynb"):
        (tmp_path / name).write_text(json.dumps({"cells": cells}))
    assert (lines("fold", tmp_path), lines("notebooks", tmp_path)) == (2, 2)


def test_the_rules_see_what_they_should(tmp_path):
    files = {
        "__init__": "",
        "low": "import numpy.random",
        "high": "from .low import x\nif TYPE_CHECKING:\n    from . import other",
        "other": "def f():\n    from fold import high",
        "deep/__init__": "from .. import low",
        "deep/inner": "from . import x\nfrom ..other import f",
    }
    for name, text in files.items():
        path = tmp_path / "fold" / f"{name}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    arrows = graph("fold", root=tmp_path)
    assert arrows["fold.low"] == set()
    assert arrows["fold.high"] == {"fold.low"}
    assert arrows["fold.other"] == {"fold.high"}
    assert arrows["fold.deep"] == {"fold.low"}
    assert arrows["fold.deep.inner"] == {"fold.deep", "fold.other"}
    assert not circle(arrows)
    for name, text in {"here": "import there", "there": "def f():\n    from here import g"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert {"here", "there"} <= set(circle(graph(".", root=tmp_path)))
    (tmp_path / "fold/low.py").write_text("def g():\n    from .other import f")
    assert {"fold.low", "fold.high", "fold.other"} <= set(circle(graph("fold", root=tmp_path)))
