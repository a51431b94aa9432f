"""Random mutants of the package, and whether its tests notice them: `python -m tools.mutants --count 200 --seed 1`.

A mutant is the source with one place changed: an operator, a comparison, a number, a bound of a slice, `min` for `max`, `sin` for
`cos`, `any` for `all`, `and` for `or`, a `not` or a minus left out. It is written into a copy of the tree. There the test of its
module runs, then those of its folder. What no test notices has SURVIVED: write the test, or delete the code.

First the tests run without a mutant: what fails then is not asked. `--jobs` says how many run at once. Each result is a row of
_build/mutants.jsonl: a run that was killed goes on where it stopped. `--again` repeats the survivors.
A change that nobody could see is named in equivalents.toml, with the reason.
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
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# what numba compiles is tested against its slow twin as a whole, and the last three run on a GPU alone
COMPILED = ("_*_kernel.py", "_fused_math.py", "_nvrtc.py", "capture.py", "_slopes_cuda.py")
# what runs through `fit`, and the cells of `piecewise`
ALSO = {name: ("tests/foldnet/test_train.py",) for name in ("foldnet/engines", "foldnet/training")}
ALSO["foldnet/geometry/cells.py"] = ("tests/foldnet/piecewise/test_cells.py",)
HEAVY = ("_build", ".git", ".venv", "*.ipynb", "vendor", "*.pyc", "_sweeps", "_grades", "node_modules", ".hypothesis")
NOTICED, SURVIVED, EQUIVALENT = "noticed", "SURVIVED", "equivalent"
PASSED, SOME_FAILED = 0, 1  # exit statuses of pytest
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)  # its lines about them

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

    @property
    def change(self) -> str:
        return f"{' '.join(self.before.split())} -> {self.after}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.change}"

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


def equivalent(root: Path, mutants: Iterable[Mutant]) -> list[Mutant]:
    """Those that change nothing that can be seen: they stand in tools/equivalents.toml, with the line and the reason."""
    path = root / "tools/equivalents.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []) if path.is_file() else []
    named = {(each["file"], each["line"], each["change"]) for each in known}
    lines = {file: (root / file).read_text(encoding="utf-8").splitlines() for file in {m.file for m in mutants}}
    return [m for m in mutants if (m.file, lines[m.file][m.line - 1].strip(), m.change) in named]


def targets(root: Path, file: str) -> list[tuple[str, ...]]:
    """What tests a file, the nearest first: the test of its module, then the others of its folder and what stands in ALSO."""
    path = root / "tests" / file
    own, folder = path.with_name(f"test_{path.stem.lstrip('_')}.py"), sorted(path.parent.glob("test_*.py"))
    also = [root / test for test in (*ALSO.get(file, ()), *ALSO.get(Path(file).parent.as_posix(), ()))]
    groups = [[test for test in folder if test == own], [test for test in [*folder, *also] if test != own]]
    return [tuple(test.relative_to(root).as_posix() for test in group) for group in groups if group]


def run(root: Path, given: list[str], limit: float, stop: threading.Event) -> tuple[int | None, float, str]:
    """The exit status of pytest, None where it was stopped, at the limit or at `stop`; its seconds and what it printed."""
    marked = "not browser and not install and not course and not print"
    command = [sys.executable, "-m", "pytest", "-q", "-m", marked]
    alone = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONDONTWRITEBYTECODE": "1"}
    alone |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # a second less for each run
    found = os.pathsep.join([str(root), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]).rstrip(os.pathsep)
    begun, code = time.monotonic(), None
    with tempfile.TemporaryFile() as told:
        child = subprocess.Popen(
            [*command, *given],
            cwd=root,
            env={**os.environ, **alone, "PYTHONPATH": found},
            stdout=told,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while code is None and time.monotonic() < begun + limit and not stop.is_set():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = child.wait(0.5)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # and whatever it has started
            child.wait()
        told.seek(0)
        return code, time.monotonic() - begun, told.read().decode(errors="replace")


@dataclass(frozen=True)
class Unbroken:
    """What a file of tests does without a mutant: its exit status, its seconds, and which of its tests fail by themselves."""

    code: int | None
    seconds: float
    failing: tuple[str, ...]

    @property
    def asked(self) -> bool:
        """Not one that is too slow, cannot be imported or has no test in it."""
        return self.code in (PASSED, SOME_FAILED)


def unbroken(tree: Path, test: str, limit: float, stop: threading.Event) -> Unbroken:
    code, seconds, told = run(tree, [test], limit, stop)
    return Unbroken(code, seconds, tuple(FAILED.findall(told)))


def tried(tree: Path, mutant: Mutant, whole: dict[str, Unbroken], limit: float, stop: threading.Event) -> str | None:
    """What the tests say to a mutant, None where they were stopped before.

    One that takes three times as long as the whole code, and half a minute, hangs, as does one past the limit: noticed.
    """
    path, asked, source = tree / mutant.file, False, (tree / mutant.file).read_bytes()
    for names in targets(tree, mutant.file):
        tests = sorted((name for name in names if name in whole), key=lambda name: whole[name].seconds)
        if not tests:
            continue
        asked, seconds = True, sum(whole[name].seconds for name in tests)
        without = [f"--deselect={test}" for name in tests for test in whole[name].failing]
        path.write_bytes(mutant.applied(source))
        code, _, _ = run(tree, ["-x", *without, *tests], min(limit, 3 * seconds + 30), stop)
        path.write_bytes(source)
        if code != PASSED:
            return None if stop.is_set() else NOTICED
    return SURVIVED if asked else "no test within the limit"


def spread(trees: list[Path], function: Callable, items: Iterable, stop: threading.Event) -> Iterator[tuple]:
    """Each item with what the function makes of a tree and it, as soon as it is there; in each tree one at a time."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()

    def one(item):
        tree = free.get()
        try:
            return item, function(tree, item)
        finally:
            free.put(tree)

    for tree in trees:
        free.put(tree)
    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            yield from (done.result() for done in as_completed([pool.submit(one, item) for item in items]))
        except BaseException:
            stop.set()  # the others are not waited for
            raise


def known(rows: Path) -> Iterator[tuple[Mutant, str]]:
    """What former runs have found; a row that was cut off is passed over."""
    for line in rows.read_text(encoding="utf-8").splitlines() if rows.is_file() else ():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            yield Mutant(**row["mutant"]), row["result"]


def main(argv: list[str] | None = None, root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(description="Change the package at random places, and see whether its tests notice.")
    parser.add_argument("--count", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--package", default="foldnet", help="a package, a part of it or a file")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once, each in its own copy of the tree")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds: a test that takes longer without a mutant is not asked"
    )
    parser.add_argument("--within", type=float, default=threading.TIMEOUT_MAX, help="seconds after which the whole stops")
    parser.add_argument("--rows", type=Path, default=ROOT / "_build/mutants.jsonl", help="where results are, and go")
    parser.add_argument("--again", action="store_true", help="try those once more that survived")
    arguments = parser.parse_args(argv)
    chosen = drawn(root, arguments.package, arguments.count, arguments.seed)
    results = {m: result for m, result in known(arguments.rows) if m in chosen and (result == NOTICED or not arguments.again)}
    results |= dict.fromkeys(equivalent(root, chosen), EQUIVALENT)
    ahead, stop = [m for m in chosen if m not in results], threading.Event()
    at_the_end = threading.Timer(arguments.within, stop.set)
    at_the_end.daemon = True
    at_the_end.start()
    arguments.rows.parent.mkdir(exist_ok=True, parents=True)
    try:
        with tempfile.TemporaryDirectory() as folder, arguments.rows.open("a", encoding="utf-8") as out:
            out.write("\n")  # a row that was cut off ends here
            for mutant, result in _results(root, Path(folder), ahead, arguments, stop):
                results[mutant] = result
                out.write(json.dumps({"mutant": asdict(mutant), "result": result}) + "\n")
                out.flush()
                print(f"{len(results)}/{len(chosen)} {result} {mutant}", flush=True)
    finally:
        stop.set()
        at_the_end.cancel()
    print(*(f"{SURVIVED} {mutant}" for mutant in results if results[mutant] == SURVIVED), sep="\n")
    print(", ".join(f"{many} {result}" for result, many in Counter(results.values()).most_common()))


def _results(root: Path, folder: Path, ahead: list[Mutant], asked: argparse.Namespace, stop: threading.Event) -> Iterator[tuple]:
    """Each mutant that was tried with its result. First the tests run without one, in one copy: it keeps the compiled kernels."""
    first, others = folder / "0", [folder / str(job) for job in range(1, asked.jobs)]
    shutil.copytree(root, first, ignore=shutil.ignore_patterns(*HEAVY), symlinks=True)
    tests = sorted({test for mutant in ahead for names in targets(root, mutant.file) for test in names})
    alone, whole = functools.partial(unbroken, limit=asked.limit, stop=stop), {}
    for test, found in spread([first] * asked.jobs, alone, tests, stop):
        if found.asked:
            whole[test] = found
        if not found.asked or found.failing:
            said = " ".join(found.failing) if found.asked else f"{test}, {found.seconds:.0f} s, exit status {found.code}"
            print(f"not asked: {said}", flush=True)
    if stop.is_set():
        return  # what was stopped has said nothing
    for tree in others:
        shutil.copytree(first, tree, symlinks=True)
    ask = functools.partial(tried, whole=whole, limit=asked.limit, stop=stop)
    yield from ((mutant, result) for mutant, result in spread([first, *others], ask, ahead, stop) if result is not None)


if __name__ == "__main__":
    main()
