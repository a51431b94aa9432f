"""Random mutants of the package, and whether its tests notice them: `python -m tools.mutants --count 200 --seed 1`.

A mutant is the source with one place changed: an operator, a comparison, a number, a bound of a slice, `min` for `max`, `sin` for
`cos`, `any` for `all`, `and` for `or`, a `not` or a minus left out. It is written into a copy of the tree. There the test of its
module runs, then those of its folder. What no test notices has SURVIVED: write the test, or delete the code.

Each result is a row of _build/mutants.jsonl: a run that was killed goes on where it stopped. `--again` repeats the survivors.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILED = ("_*_kernel.py", "_fused_math.py")  # what numba compiles is tested against its slow twin as a whole
HEAVY = ("_build", ".git", ".venv", "*.ipynb", "vendor", "*.pyc", "_sweeps", "_grades", "node_modules", ".hypothesis")
NOTICED, SURVIVED = "noticed", "SURVIVED"

# each operator and what takes its place
SWAPPED = "Add Sub Add; Mult Div Mult; FloorDiv Div; Mod FloorDiv; Pow Mult; BitAnd BitOr BitAnd; LShift RShift LShift; "
SWAPPED += "Lt LtE Lt; Gt GtE Gt; Eq NotEq Eq; In NotIn In; Is IsNot Is; And Or And"
OTHER = {getattr(ast, a): getattr(ast, b) for names in SWAPPED.split("; ") for a, b in itertools.pairwise(names.split())}
PAIRS = ("min max", "minimum maximum", "amin amax", "argmin argmax", "sin cos", "any all", "floor ceil", "zeros ones", "sum mean")
NAMES: dict[str, str] = {a: b for pair in PAIRS for a, b in itertools.permutations(pair.split())}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what stands there and what is put in its place."""

    file: str
    sha1: str  # of the file, so that a row does not speak for a later text
    kind: str
    line: int
    start: int  # in bytes, from the beginning of the file to what is replaced
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {' '.join(self.before.split())} -> {self.after}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """All mutants of a file, in its order."""
    source = (root / file).read_bytes()
    starts = [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))]
    sha1, found = hashlib.sha1(source).hexdigest(), []
    for node in _code(ast.parse(source)):
        start, end = starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        for kind, changed in _changes(node):
            after = ast.unparse(changed) if isinstance(changed, (ast.Name, ast.Slice)) else f"({ast.unparse(changed)})"
            found.append(Mutant(file, sha1, kind, node.lineno, start, end, source[start:end].decode(), after))
    return found


def _code(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that compute: no type, no text, nothing of an error's sentence, nothing that only tells `dataclass` how."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, (ast.expr, ast.Slice)):
        yield node
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns", "decorator_list"):
                yield from _code(child)


def _changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Each way to change an expression at its root: of what kind it is, and the changed expression."""
    changed = lambda **fields: type(node)(**{**vars(node), **fields})  # noqa: E731
    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield "operator" if isinstance(node, ast.BinOp) else "and, or", changed(op=OTHER[type(op)]())
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield "comparison", changed(ops=[*ops[:i], OTHER[type(op)](), *ops[i + 1 :]])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "not, minus", operand
        case ast.Constant(value=bool(value)):
            yield "truth value", changed(value=not value)
        case ast.Constant(value=int(value)):
            yield from (("number", changed(value=value + step)) for step in (1, -1))
        case ast.Constant(value=float(value)) if value:
            yield "number", changed(value=2 * value)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
            yield "name", changed(**{"id" if isinstance(node, ast.Name) else "attr": NAMES[name]})
        case ast.Slice(lower=lower, upper=upper):
            for side, bound in (("lower", lower), ("upper", upper)):
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield "slice", changed(**{side: ast.BinOp(bound, ast.Add(), ast.Constant(1))})


def drawn(root: Path, package: str, count: int, seed: int) -> list[Mutant]:
    """As many mutants, of each kind in turn: numbers would be half of them otherwise."""
    kinds, files = defaultdict(list), [root / package, *sorted((root / package).rglob("*.py"))]
    for path in (file for file in files if file.is_file() and not any(map(file.match, COMPILED))):
        for mutant in mutants_of(root, path.relative_to(root).as_posix()):
            kinds[mutant.kind].append(mutant)
    mixed = [random.Random(f"{seed} {kind}").sample(kinds[kind], len(kinds[kind])) for kind in sorted(kinds)]
    return [m for turn in itertools.zip_longest(*mixed) for m in turn if m is not None][:count]


def targets(root: Path, file: str) -> list[tuple[str, ...]]:
    """What tests a file, the nearest first: the test of its module, then the others of its folder."""
    path = root / "tests" / file
    own, folder = path.with_name(f"test_{path.stem.lstrip('_')}.py"), sorted(path.parent.glob("test_*.py"))
    groups = [[test for test in folder if test == own], [test for test in folder if test != own]]
    return [tuple(test.relative_to(root).as_posix() for test in group) for group in groups if group]


def run(root: Path, names: tuple[str, ...], limit: float) -> tuple[int | None, float]:
    """The exit status of pytest, None where it was stopped at the limit, and its seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-m", "not browser and not install and not course", *names]
    alone = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **alone, "PYTHONPATH": str(root)}
    begun, code, quiet = time.monotonic(), None, subprocess.DEVNULL
    child = subprocess.Popen(command, cwd=root, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(limit)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # and whatever it has started
        child.wait()
    return code, time.monotonic() - begun


def tried(tree: Path, mutant: Mutant, unbroken: Callable) -> str:
    """What the tests say to a mutant. One that takes three times as long as the whole code, and half a minute, hangs: noticed."""
    path, asked, source = tree / mutant.file, 0, (tree / mutant.file).read_bytes()
    for names in targets(tree, mutant.file):
        code, seconds = unbroken(names)
        if code == 0:  # tests that fail by themselves, or take too long, would notice anything
            asked += 1
            path.write_bytes(mutant.applied(source))
            code, _ = run(tree, names, 3 * seconds + 30)
            path.write_bytes(source)
            if code != 0:
                return NOTICED
    return SURVIVED if asked else "no test within the limit"


def known(rows: Path) -> Iterator[tuple[Mutant, str]]:
    """What former runs have found; a row that was cut off is passed over."""
    for line in rows.read_text(encoding="utf-8").splitlines() if rows.is_file() else ():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            yield Mutant(**row["mutant"]), row["result"]


def main(argv: list[str] | None = None, root: Path = ROOT, rows: Path = ROOT / "_build/mutants.jsonl") -> None:
    parser = argparse.ArgumentParser(description="Change the package at random places, and see whether its tests notice.")
    parser.add_argument("--count", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--package", default="foldnet", help="a package, a part of it or a file")
    parser.add_argument("--limit", type=float, default=300, help="seconds: tests that take longer without a mutant are not asked")
    parser.add_argument("--again", action="store_true", help="try those once more that survived")
    arguments = parser.parse_args(argv)
    chosen = drawn(root, arguments.package, arguments.count, arguments.seed)
    results = {m: result for m, result in known(rows) if m in chosen and (result == NOTICED or not arguments.again)}
    rows.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, rows.open("a", encoding="utf-8") as out:
        tree = Path(folder) / "tree"
        out.write("\n")  # a row that was cut off ends here
        shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*HEAVY), symlinks=True)
        unbroken = functools.cache(lambda names: run(tree, names, arguments.limit))
        for mutant in (m for m in chosen if m not in results):
            results[mutant] = tried(tree, mutant, unbroken)
            out.write(json.dumps({"mutant": asdict(mutant), "result": results[mutant]}) + "\n")
            out.flush()
            print(f"{len(results)}/{len(chosen)} {results[mutant]} {mutant}", flush=True)
    print(*(f"{SURVIVED} {mutant}" for mutant in results if results[mutant] == SURVIVED), sep="\n")
    print(", ".join(f"{many} {result}" for result, many in Counter(results.values()).most_common()))


if __name__ == "__main__":
    main()
