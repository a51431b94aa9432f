"""Every folded solution passes the self-check of its exercise, and every stub fails it."""

import ast
import json
import re

import pytest

from foldbook import exercises
from foldbook.ledger import notebooks as all_notebooks
from foldbook.notebooks import is_folded

FOLDED = re.compile(r"<details><summary>Solution.*?```python\n(.*?)```", re.S)


def notebooks() -> list:
    """The notebooks with exercises; the solutions of problem sets are not in the book."""
    return [path for path in all_notebooks() if path.parent.name != "assignments"]


def found() -> list:
    """Each exercise of the book: its notebook's imports, stub and folded check, and the code of the solution that follows."""
    cases = []
    for path in notebooks():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        imports = "\n".join(line for c in cells if c["cell_type"] == "code" for line in plain_imports("".join(c["source"])))
        stub, before = None, ""
        for cell in cells:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                if "selfcheck(" in source:
                    stub = f"{before}\n\n\n{source}" if is_folded(cell) else source
                before = source
            solution = FOLDED.search(source) if cell["cell_type"] == "markdown" else None
            if solution and stub:
                name = re.search(r"^def (\w+)", stub, re.M)[1]
                cases.append(pytest.param(imports, stub, solution[1], id=f"{path.parent.name}/{path.stem}: {name}"))
                stub = None
    return cases


def plain_imports(source: str) -> list[str]:
    """The import lines of a cell; a cell with a magic command has none that matter."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    return [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_exercise_has_a_folded_solution(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    stubs = sum(c["cell_type"] == "code" and "selfcheck(" in "".join(c["source"]) for c in cells)
    folded = sum(c["cell_type"] == "markdown" and bool(FOLDED.search("".join(c["source"]))) for c in cells)
    assert stubs == folded, f"{stubs} stubs, {folded} solutions with code: a fence in <details> must stay in its markdown cell"


@pytest.mark.parametrize(("imports", "stub", "solution"), found())
def test_the_solution_is_correct_and_the_stub_is_missing(imports, stub, solution):
    names: dict = {}
    said: list[str] = []
    exec(imports, names)
    names["selfcheck"] = lambda *a, **k: said.append(exercises.verdict(*a, **k))
    without_imports = re.sub(r"^from foldbook.exercises.*$", "", stub, flags=re.M)
    exec(without_imports, names)
    assert said
    assert all(line.startswith("missing") for line in said)
    said.clear()
    exec(solution, names)
    check = next(node for node in ast.parse(stub).body if isinstance(node, ast.Expr) and "selfcheck(" in ast.unparse(node))
    exec(ast.unparse(check), names)
    assert said
    assert all(line.startswith("correct") for line in said), said
