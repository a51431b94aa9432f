"""Which printed lines hang on the last digit of a number: `python -m tools.tremble CHAPTER ...`, or `make tremble CHAPTER=...`.

The chapter runs under conditions that another machine might have: other numbers of threads, arithmetic that is off in the last
digits (tools/noise.py). A cell whose text is not the stored one is listed with its first line that differs; the cure is to print
fewer digits, or a statement that holds with room to spare. Nothing is stored.
"""

from __future__ import annotations

import argparse
import configparser
import os
import re
import sys
from pathlib import Path

import nbformat

from foldbook.notebooks import START_TIMEOUT

from . import notebooks

ROOT = Path(__file__).resolve().parent.parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
NOT_COMPARED = {"nbval-ignore-output", "nbval-skip"}
# name: threads, seed of the noise (None: none)
CONDITIONS = {"one thread": (1, None), "three threads": (3, None), "noise 1": (2, 1), "noise 2": (2, 2)}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Which printed lines of a chapter hang on the last digit of a number.")
    parser.add_argument("chapter", nargs="*", help="as splines/breakpoints; without one, all")
    parser.add_argument("--only", choices=CONDITIONS, action="append", help="this condition alone (may be given again)")
    arguments = parser.parse_args(argv)
    paths = [notebooks.find(name, ROOT) for name in arguments.chapter] or notebooks.all_notebooks(ROOT)
    found = 0
    for path in paths:
        for condition in arguments.only or CONDITIONS:
            print(f"{path.relative_to(ROOT / 'book').with_suffix('')}, {condition}", flush=True)
            for number, was, now in trembling(path, *CONDITIONS[condition]):
                found += 1
                print(f"  cell {number}\n    stored  {was}\n    now     {now}", flush=True)
    print(f"{found} cells tremble" if found else "nothing trembles")
    return bool(found)


def trembling(path: Path, threads: int, seed: int | None) -> list[tuple[int, str, str]]:
    """Cells (counted as in the file) whose text is not the stored one, with the first line that differs: stored, and now."""
    stored = nbformat.read(path, as_version=4)
    run = executed(path, threads, seed)
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, run.cells, strict=True)):
        if old.cell_type != "code" or NOT_COMPARED & set(old.metadata.get("tags", ())):
            continue
        was, now = text(old), text(new)
        if was != now:
            pairs = [(a, b) for a, b in zip(was, now) if a != b] or [(f"{len(was)} lines", f"{len(now)} lines")]
            found.append((number, *pairs[0]))
    return found


def executed(path: Path, threads: int, seed: int | None) -> nbformat.NotebookNode:
    """The notebook run so; a cell that raises has its error as output, and the next ones are run all the same."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    if seed is not None:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(f"from tools import noise\n\nnoise.on({seed})"))
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        notebook, timeout=1800, startup_timeout=START_TIMEOUT, kernel_name="python3", allow_errors=True, resources=resources
    )
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    client.execute(env={**os.environ, **dict.fromkeys(THREADS, str(threads)), "TQDM_DISABLE": "1", "PYTHONPATH": paths})
    if seed is not None:
        del notebook.cells[0]
    return notebook


def text(cell: nbformat.NotebookNode) -> list[str]:
    """The lines that nbval compares: what is printed and shown as plain text, after the rules of book/sanitize.cfg."""
    printed, parts = [], []  # apart: whether a line comes before or after a figure is a matter of time
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            printed.append(output.text)
        elif output.output_type in ("display_data", "execute_result"):
            parts.append(output.data.get("text/plain", ""))
        elif output.output_type == "error":
            parts.append(f"{output.ename}: {output.evalue}")
    lines = "\n".join(["".join(printed), *parts])
    for pattern, replacement in sanitized():
        lines = re.sub(pattern, replacement, lines)
    return [line for line in lines.splitlines() if line.strip()]


def sanitized() -> list[tuple[str, str]]:
    rules = configparser.RawConfigParser()
    rules.read(ROOT / "book/sanitize.cfg")
    return [(rules[name]["regex"], rules[name]["replace"]) for name in rules.sections()]


if __name__ == "__main__":
    sys.exit(main())
