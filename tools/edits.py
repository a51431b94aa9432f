"""What a reader meets who changes a constant: `python -m tools.edits [CHAPTER ...] [--all]`.

Each constant of a notebook whose line says *change* (with --all each name in capitals that is a number or some numbers) is tried
as its half, its double and zero. Only the cells run that lead from it to a check. Listed are verdicts that are not the stored
ones although the check does not say that a setting was changed, and errors that are no sentences. Nothing is stored.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import scipy.stats  # noqa: F401 (once, not in each trial; so torch)
import torch

from foldbook import claims

from . import notebooks

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 60  # of a trial
MARKED = re.compile(r"#.*\bchange\b")
NUMERIC = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.operator, ast.unaryop, ast.Load)
WAYS = {"half": lambda v: max(1, v // 2) if isinstance(v, int) else v / 2, "double": lambda v: 2 * v, "zero": lambda v: 0 * v}


class Constant(NamedTuple):
    """A number, or some numbers, that a cell assigns, and where its text stands there."""

    cell: int
    name: str
    value: Any
    first: int
    last: int


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What a reader meets who changes a constant.")
    parser.add_argument("chapter", nargs="*", help="as splines/breakpoints-checks; without one, all")
    parser.add_argument("--all", action="store_true", help="all constants in capitals, not only those marked for change")
    arguments = parser.parse_args(argv)
    paths = [notebooks.find(name, ROOT) for name in arguments.chapter] or notebooks.all_notebooks(ROOT)
    found = unknown = 0
    torch.set_num_threads(1)
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        for constant in constants(notebook, arguments.all):
            for way, change in WAYS.items():
                lines, end = trial(path, notebook, constant, change)
                found, unknown = found + len(lines), unknown + bool(end)
                for line in [*lines, *([end] if end else [])]:
                    print(f"{path.stem} cell {constant.cell}, {constant.name} {way}: {line}", flush=True)
    print(f"{found} times a constant's other value misleads" if found else f"no other value {'tried ' * bool(unknown)}misleads")
    if unknown:
        print(f"of {unknown} values it is not known: their trials did not come to an end")
    return bool(found)


def constants(notebook, every: bool = False) -> list[Constant]:
    """The constants that a reader may change: those whose line says so, or every one in capitals."""
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or "setup" in cell.metadata.get("tags", ()):
            continue
        lines = cell.source.splitlines(keepends=True)
        starts = [sum(map(len, lines[:k])) for k in range(len(lines))]
        for node in ast.parse(cell.source).body:
            if not isinstance(node, ast.Assign) or (not MARKED.search(lines[node.lineno - 1]) and not every):
                continue
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts))
            for target, value in pairs:
                if isinstance(target, ast.Name) and target.id.isupper() and (numbers := _numbers(value)) is not None:
                    ends = ((value.lineno, value.col_offset), (value.end_lineno or 1, value.end_col_offset or 0))
                    found.append(Constant(number, target.id, numbers, *(starts[line - 1] + column for line, column in ends)))
    return found


def _numbers(node: ast.expr) -> Any:
    """The value of an expression of numbers alone, None of any other."""
    if not all(isinstance(part, NUMERIC) for part in ast.walk(node)):
        return None
    value = eval(compile(ast.Expression(node), "constant", "eval"), {"__builtins__": {}})
    leaves = _leaves(value)
    return value if leaves and all(type(leaf) in (int, float) for leaf in leaves) else None


def _leaves(value: Any) -> list:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def _changed(value: Any, change) -> Any:
    return type(value)(_changed(v, change) for v in value) if isinstance(value, (list, tuple)) else change(value)


def needed(notebook, constant: Constant) -> list[int]:
    """The cells from a constant to the checks that hang on it, with all that those need, in order."""
    uses: dict[int, set[int]] = {}
    last: dict[str, int] = {}
    for k, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and "%pip" not in cell.source:
            read, bound = _names(cell.source)
            uses[k] = {last[name] for name in read if name in last}
            last |= dict.fromkeys(bound, k)
    touched = {constant.cell}
    for k in uses:
        if k > constant.cell and uses[k] & touched:
            touched.add(k)
    ahead = [k for k in touched if re.search(r"^\s*check\(", notebook.cells[k].source, re.MULTILINE)]
    found: set[int] = set()
    while ahead:
        if (k := ahead.pop()) not in found:
            found.add(k)
            ahead += uses[k]
    return sorted(found)


def _names(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell reads before it binds them itself, and those that it binds."""
    read: set[str] = set()
    bound: set[str] = set()
    for statement in ast.parse(source).body:
        nodes = list(ast.walk(statement))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        inner = {node.arg for node in nodes if isinstance(node, ast.arg)}
        loops = [node.target for node in nodes if isinstance(node, ast.comprehension)]
        inner |= {part.id for target in loops for part in ast.walk(target) if isinstance(part, ast.Name)}
        read |= {node.id for node in names if isinstance(node.ctx, ast.Load)} - bound - inner
        bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        bound |= {
            (alias.asname or alias.name).split(".")[0]
            for node in nodes
            for alias in getattr(node, "names", ())
            if isinstance(alias, ast.alias)
        }
        bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return read, bound


def trial(path: Path, notebook, constant: Constant, change) -> tuple[list[str], str]:
    """What misleads when a constant has another value, and why the cells did not run to their end; empty where they did."""
    value = _changed(constant.value, change)
    cells = needed(notebook, constant)
    if value == constant.value or not cells:
        return [], ""
    sources = [(k, notebook.cells[k].source) for k in cells]
    text = notebook.cells[constant.cell].source
    edited = text[: constant.first] + repr(value) + text[constant.last :]
    sources = [(k, edited if k == constant.cell else source) for k, source in sources]
    stored = {(k, d["id"]): d["verdict"] for k in cells for d in _records(notebook.cells[k])}
    mine, theirs = multiprocessing.Pipe(duplex=False)
    worker = multiprocessing.get_context("fork").Process(target=_run, args=(path.parent, sources, constant.cell, theirs))
    worker.start()
    theirs.close()
    said, lines = [], []
    try:
        while True:
            said.append(mine.recv())
    except EOFError:
        pass
    worker.join()
    for kind, cell, *what in said:
        if kind == "error":
            lines.append(f"cell {cell} breaks: {what[0]}")
        elif (before := stored.get((cell, what[0]))) not in (None, what[1]) and not what[2]:
            lines.append(f"cell {cell}, {what[0]}: {before} became {what[1]}")
    why = f"it takes over {SECONDS} s" if worker.exitcode == -signal.SIGALRM else f"its process ended with {worker.exitcode}"
    return lines, f"not tried to the end, {why}" if worker.exitcode else ""


def _records(cell) -> list[dict]:
    return [out["data"][claims.MIME] for out in cell.get("outputs", ()) if claims.MIME in out.get("data", {})]


def _run(folder: Path, sources, first: int, pipe) -> None:
    """In a process of its own: the cells, and what their checks find from the changed cell on, through a pipe."""
    import warnings

    os.environ["MPLBACKEND"], os.environ["TQDM_DISABLE"] = "agg", "1"
    os.chdir(folder)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        warnings.simplefilter("ignore")
        signal.alarm(SECONDS)
        space, at = {"__name__": "__main__"}, [0]

        def check(id, *args, **how) -> None:
            record = claims.evaluate(id, *args, **how)
            if at[0] >= first:
                pipe.send(("verdict", at[0], id, record.verdict, record.changed))

        setattr(claims, "check", check)  # noqa: B010 (another signature, to a type checker)
        for k, source in sources:
            at[0] = k
            try:
                exec(compile(source, f"cell {k}", "exec"), space)
            except (ValueError, ZeroDivisionError):  # a sentence, as the package refuses things
                break
            except Exception as error:
                pipe.send(("error", k, f"{type(error).__name__}: {error}"))
                break
        pipe.close()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
