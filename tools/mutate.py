"""Broken on purpose: a check is run with the package broken under it, and must turn: `python -m tools.mutate [CHAPTER ...]`.

tests/mutations/PART/CHAPTER.yml names for each check a file, a text that stands in it once and what is put in its place. One is
applied in a copy, the notebook runs there up to the check, and its verdict, or the error, stands beside the stored one. A check
whose verdict stays turns if one of its points does: a claim is as good as its weakest point, and that one may be another.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
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

from foldnet import ledger, plan
from foldnet.claims import MIME
from foldnet.data import NOT_FETCHED

from . import notebooks

ROOT = Path(__file__).resolve().parent.parent
TURNED, KEPT, NOT_TRIED = "turned", "KEPT  ", "NOT TRIED"


@dataclass(frozen=True)
class Mutation:
    """One way to break the package that must turn the check of a claim."""

    id: str
    chapter: str
    breaks: str
    file: str
    old: str
    new: str

    def problems(self, root: Path) -> list[str]:
        """What is wrong with it before anything runs."""
        path = root / self.file
        if not path.is_file() or not self.file.startswith("foldnet/"):
            return [f"{self.id}: {self.file} is no file of the package"]
        count = path.read_text(encoding="utf-8").count(self.old)
        found = [] if count == 1 else [f"{self.id}: {self.file} has {self.old!r} {count} times, not once"]
        return found + ([f"{self.id}: the mutation changes nothing"] if self.old == self.new else [])


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
        for part in ("foldnet", "book"):
            shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.ipynb", "_assets/vendor"))
        broken = copy / mutation.file
        broken.write_text(broken.read_text(encoding="utf-8").replace(mutation.old, mutation.new), encoding="utf-8")
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
    parser.add_argument("--sample", type=int, metavar="N", help="only N: the same in every run of a commit, others in the next")
    parser.add_argument("--jobs", type=int, default=1, help="how many at the same time (default 1)")
    parser.add_argument("--seed", help="which sample, any text (default: the commit, or where there is no git, always the same)")
    arguments = parser.parse_args(argv)
    chosen = [m for chapter in arguments.chapter or [None] for m in mutations(root, chapter)]
    if not chosen:
        print("mutate: there is no mutation for " + (", ".join(arguments.chapter) or "any chapter"), file=sys.stderr)
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
    try:
        after = "; ".join(wrong) or verdict(mutation, record, root)
    except RuntimeError as error:  # a kernel that did not start says nothing about the check
        after = f"not run: {error}"
    else:
        if not wrong and after != record["verdict"]:  # nor does a check that never got its data
            sign = NOT_TRIED if NOT_FETCHED in after else TURNED
    return mutation, sign, after, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
