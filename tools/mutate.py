"""Broken on purpose: a check is run with the package broken under it, and must turn: `python -m tools.mutate [CHAPTER ...]`.

tests/mutations/PART/CHAPTER.yml names for each check a function, an expression that stands in it once and what is put in its
place; spaces and line breaks do not count, nor does where in its file the function stands. One is applied in a copy, the notebook
runs there up to the check, and its verdict, or the error, stands beside the stored one. A check whose verdict stays turns if one
of its points does: a claim is as good as its weakest point, and that one may be another.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path

import nbformat

from foldbook import ledger, notebooks, plan
from foldbook.claims import MIME
from foldnet.data import NOT_FETCHED

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("foldnet", "foldbook", "experiments")
TURNED, KEPT, NOT_TRIED = "turned", "KEPT  ", "NOT TRIED"


@dataclass(frozen=True)
class Mutation:
    """One way to break the package that must turn the check of a claim."""

    id: str
    chapter: str
    breaks: str
    where: str  # as foldnet.splines.dynamics.velocity: a function, a class, a method or a constant
    old: str
    new: str

    def problems(self, root: Path) -> list[str]:
        """What is wrong with it before anything runs."""
        try:
            _, before, after = self.applied(root)
        except ValueError as error:
            return [f"{self.id}: {error}"]
        try:
            ast.parse(after)
        except SyntaxError as error:
            return [f"{self.id}: the mutated module is no Python, so every check would turn: {error.msg}, line {error.lineno}"]
        return [f"{self.id}: the mutation changes nothing"] if before == after else []

    def applied(self, root: Path) -> tuple[Path, str, str]:
        """The file that it changes, and its text before and after."""
        path, names = module_file(root, self.where)
        text = path.read_text(encoding="utf-8")
        start, end = extent(text, names)
        pattern = r"\s*".join(map(re.escape, re.sub(r"\s", "", self.old)))
        found = list(re.finditer(pattern, text[start:end]))
        if len(found) != 1:
            raise ValueError(f"{self.where} has {self.old!r} {len(found)} times, not once")
        first, last = (start + place for place in found[0].span())
        return path, text, text[:first] + self.new + text[last:]


def module_file(root: Path, where: str) -> tuple[Path, list[str]]:
    """The file of a dotted name in one of the packages, and what is left of the name inside it."""
    parts = where.split(".")
    for count in range(len(parts), 0, -1):
        path = root.joinpath(*parts[:count]).with_suffix(".py")
        if parts[0] in PACKAGES and path.is_file():
            return path, parts[count:]
    raise ValueError(f"{where} is in no module of {', '.join(PACKAGES)}")


def extent(text: str, names: list[str]) -> tuple[int, int]:
    """From where to where in a module's text a function, class, method or constant stands; the whole text without a name."""
    starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]
    span, body = (0, len(text)), ast.parse(text).body
    for name in names:
        nodes = [node for node in body if name in _defined(node)]
        if not nodes:
            raise ValueError(f"there is no {name} in it")
        first = min([nodes[0].lineno, *(d.lineno for d in getattr(nodes[0], "decorator_list", ()))])
        span, body = (starts[first - 1], starts[nodes[-1].end_lineno or -1]), getattr(nodes[0], "body", [])
    return span


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def mutations(root: Path = ROOT, chapter: str | None = None) -> list[Mutation]:
    """The mutations of a chapter, or of all chapters in the order of the plan."""
    names = [chapter] if chapter else list(plan.chapters())
    paths = {name: root / "tests/mutations" / f"{name}.yml" for name in names}
    return [
        Mutation(id, name, **entry) for name, path in paths.items() if path.is_file() for id, entry in plan.read(path).items()
    ]


def verdict(mutation: Mutation, record: dict, root: Path = ROOT) -> str:
    """What the check says when the package is broken: its verdict, or the error that comes before it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in (*PACKAGES, "book"):
            shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("*.pyc", "*.ipynb", "_assets/vendor"))
        broken, _, after = mutation.applied(copy)
        broken.write_text(after, encoding="utf-8")
        path = copy / "book" / record["notebook"]
        notebook = nbformat.read(root / "book" / record["notebook"], as_version=4)
        notebook.cells = notebook.cells[: record["cell"] + 1]
        nbformat.write(notebook, path)
        try:
            searched = os.pathsep.join(filter(None, (str(copy), os.environ.get("PYTHONPATH"))))  # the broken package first
            done = notebooks.execute(path, env={"PYTHONPATH": searched})
        except notebooks.CellFailed as error:
            return f"error: {str(error).splitlines()[-1]}"
    outputs = [output.get("data", {}).get(MIME) for output in done.cells[-1].outputs]
    return next((worded(record, found) for found in outputs if found and found["id"] == mutation.id), "no verdict")


def worded(before: dict, after: dict) -> str:
    """The verdict of a record and, where it stays, the first of its points that turned: what differs cannot get worse."""
    was = {point["name"]: point["verdict"] for point in before["points"]}
    turned = [
        f"{p['name']}: {was[p['name']]} -> {p['verdict']}"
        for p in after["points"]
        if was.get(p["name"], p["verdict"]) != p["verdict"]
    ]
    return after["verdict"] + (f" ({turned[0]})" if turned and after["verdict"] == before["verdict"] else "")


def commit(root: Path = ROOT) -> str:
    """The commit that is checked out, empty where git knows of none."""
    try:
        asked = ["git", "-C", str(root), "rev-parse", "--verify", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Break the package under each check, and see the check turn.")
    parser.add_argument("chapter", nargs="*", help="as splines/rich; without one, all that have mutations")
    parser.add_argument("--claim", help="only the mutation of this claim")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="only the K-th of N equal parts")
    parser.add_argument("--sample", type=int, metavar="N", help="only N: the same in every run of a commit, others in the next")
    parser.add_argument("--jobs", type=int, default=1, help="how many at the same time (default 1)")
    parser.add_argument("--seed", help="which sample, any text (default: the commit, or where there is no git, always the same)")
    arguments = parser.parse_args(argv)
    chosen = [m for chapter in arguments.chapter or [None] for m in mutations(root, chapter)]
    part, parts = map(int, arguments.shard.split("/"))
    chosen = [m for m in chosen if arguments.claim in (None, m.id)][part - 1 :: parts]
    if not chosen:
        wanted = arguments.claim or ", ".join(arguments.chapter) or "any chapter"
        print(f"mutate: there is no mutation for {wanted}", file=sys.stderr)
        return 1
    batch, spare = chosen, []
    if arguments.sample:
        seed = commit(root) if arguments.seed is None else arguments.seed
        mixed = random.Random(seed).sample(chosen, len(chosen))
        batch, spare = mixed[: arguments.sample], mixed[arguments.sample :]
    stored = {record["id"]: record for record in ledger.records(root / "book")}
    signs = Counter()
    while batch:
        before = signs[NOT_TRIED]
        for mutation, sign, after, seconds in _tried(batch, stored, root, arguments.jobs):
            signs[sign] += 1
            was = stored.get(mutation.id, {}).get("verdict")
            print(f"{sign} {mutation.id}: {was} -> {after} ({seconds:.0f} s), when {mutation.breaks}", flush=True)
        wanting = signs[NOT_TRIED] - before  # of a sample, others take the place of those that need what is not here
        batch, spare = spare[:wanting], spare[wanting:]
    tried = signs[TURNED] + signs[KEPT]
    print(f"{signs[TURNED]} of {tried} checks turned" + (f"; {signs[NOT_TRIED]} not tried" if signs[NOT_TRIED] else ""))
    return not tried or bool(signs[KEPT])


def _tried(chosen: list[Mutation], stored: dict, root: Path, jobs: int) -> Iterator[tuple[Mutation, str, str, float]]:
    """Each mutation as it is done: whether its check turned, what it says, and the seconds it took."""
    with futures.ProcessPoolExecutor(jobs) if jobs > 1 else contextlib.nullcontext() as pool:
        if pool is None:
            yield from (_try(mutation, stored.get(mutation.id), root) for mutation in chosen)
        else:
            running = [pool.submit(_try, mutation, stored.get(mutation.id), root) for mutation in chosen]
            yield from (done.result() for done in futures.as_completed(running))


def _try(mutation: Mutation, record: dict | None, root: Path) -> tuple[Mutation, str, str, float]:
    start, sign = time.monotonic(), KEPT
    wrong = mutation.problems(root) + ([] if record else [f"{mutation.id}: no notebook checks it"])
    if wrong or record is None:
        return mutation, sign, "; ".join(wrong), time.monotonic() - start
    try:
        after = verdict(mutation, record, root)
    except RuntimeError as error:  # a kernel that did not start says nothing about the check
        after = f"not run: {error}"
    else:
        if after != record["verdict"]:  # nor does a check that never got its data
            sign = NOT_TRIED if NOT_FETCHED in after else TURNED
    return mutation, sign, after, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
