"""Large runs: a list of independent cells and a function; rows are appended to one file, and a killed run goes on.

>>> import tempfile
>>> from pathlib import Path
>>> from experiments.runner import run
>>> with tempfile.TemporaryDirectory() as folder:
...     cells = [{"side": 2}, {"side": 3}]
...     result = run(cells, lambda side: {"area": side**2}, Path(folder) / "squares.jsonl", progress=False)
>>> result.row(side=3)["area"]
9
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from foldbook.stored import Stored, stored

from . import _workers
from ._rows import Rows, RunStopped, key

BETWEEN = 30  # seconds between two lines of progress where there is no terminal


class CellsFailed(RunStopped):
    """Some cells of a run failed; `result` has the rows of the others."""

    def __init__(self, result: Stored, wanted: int):
        first = result.failed[0]
        super().__init__(
            f"{len(result.failed)} of {wanted} cells failed, {first.cell} with {first.error}; "
            "the other rows are kept, and the same command tries these again"
        )
        self.result = result


def run(
    cells: Iterable[dict],
    function: Callable[..., dict],
    path: Path,
    jobs: int = 1,
    progress: bool = True,
    command: str = "",
    dask: str = "",
) -> Stored:
    """Call `function(**cell)` for every cell that `path` does not hold yet, and append one row for each as it is done.

    A cell is a dict of plain values; a result a dict whose keys are names and whose values are numbers, texts, arrays, lists or
    dicts of them. Each start writes a line of provenance. A cell that fails leaves a row with its error and is tried again by
    the next start; `CellsFailed` is raised when all the others are done. With `jobs` cells are computed side by side, with
    `dask` by a cluster: the address of its scheduler, or `local:4`. A second run on the same file is refused.
    """
    cells = list(cells)
    keys, path = [key(c) for c in cells], Path(path)
    if not cells or len(set(keys)) < len(keys):
        raise ValueError(f"a run needs at least one cell and no cell twice; got {len(keys)} cells, {len(set(keys))} different")
    if jobs < 1 or (dask and jobs > 1):
        raise ValueError(f"a run has one job or more, and with dask the cluster has them; got {jobs} jobs and dask {dask!r}")
    if _left(cells, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with Rows(path) as rows:
            _fill(rows, cells, function, jobs, progress, provenance(command), dask)
    result, order = stored(path.stem, path), {k: i for i, k in enumerate(keys)}
    known = lambda rows: sorted((r for r in rows if key(r.cell) in order), key=lambda r: order[key(r.cell)])  # noqa: E731
    result = Stored(result.provenance, known(result.rows), known(result.failed), result.skipped)
    if result.failed:
        raise CellsFailed(result, len(cells))
    return result


def _left(cells: list[dict], path: Path) -> list[dict]:
    """The cells that have no row yet."""
    done = {key(r.cell) for r in stored(path.stem, path).rows} if path.exists() else set()
    return [c for c in cells if key(c) not in done]


def _fill(rows: Rows, cells, function, jobs: int, progress: bool, now: dict, dask: str) -> None:
    left, name = _left(cells, rows.path), rows.path.stem  # looked at again: the file is ours from here on
    _say_if_other_code(name, stored(name, rows.path), now, len(left))
    with contextlib.ExitStack() as stack:
        if dask:
            client = stack.enter_context(_workers.cluster(dask))
            machines = client.run(_workers.hardware).values()
            now = {**now, "workers": [f"{list(machines).count(m)} on {m}" for m in dict.fromkeys(machines)]}
            made = _workers.of_cluster(client, function, left, now["commit"])
        else:
            made = _workers.rows(function, left, now["commit"], jobs)
        rows.append({"provenance": now})
        for row in _shown(made, name, len(cells), len(cells) - len(left)) if progress else made:
            rows.append(row)


def _say_if_other_code(name: str, before: Stored, now: dict, left: int) -> None:
    # a start from before provenance knew the code itself is known by its commit
    same = lambda p: p["code"] == now["code"] if "code" in p else p["commit"] == now["commit"]  # noqa: E731
    if before.rows and (others := [p["commit"] for p in before.provenance if not same(p)]):
        print(
            f"{name} goes on under other code: {len(before.rows)} rows are there, started at {', '.join(others)}; "
            f"{left} will be made at {now['commit']}, and each row keeps its own",
            file=sys.stderr,
        )


def _shown(rows: Iterable[dict], name: str, total: int, already: int) -> Iterator[dict]:
    """The rows as they come: with a bar on a terminal, elsewhere with a line now and then that says rate and time left."""
    if sys.stderr and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        from tqdm.auto import tqdm

        yield from tqdm(rows, total=total, initial=already, desc=name, unit="cell")
        return
    start = said = time.monotonic()
    for done, row in enumerate(rows, already + 1):
        yield row
        now = time.monotonic()
        if now - said >= BETWEEN or done == total:
            said, rate = now, (done - already) / max(now - start, 1e-9)
            ahead = f"{(total - done) / rate / 60:.1f} minutes left" if done < total else "done"
            print(f"{name}: {done} of {total} cells, {60 * rate:.3g} a minute, {ahead}", file=sys.stderr, flush=True)


def provenance(command: str = "") -> dict:
    """Command, commit, checksum of the code, versions, hardware and time of a run."""
    import torch

    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    return {
        "command": command or "python " + " ".join(map(os.path.basename, sys.argv)),
        "commit": _commit(),
        "code": _workers.code(),
        "versions": versions,
        "hardware": _workers.hardware(),
        "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def device() -> str:
    """Where networks of an experiment live: on the GPU, if there is one, while a large run computes a cell; else on the CPU.

    A page repeats a sample of a run and compares it with what is stored; it does so on the processor, on every machine alike.
    """
    import torch

    return "cuda" if _workers.AT_WORK.get() and torch.cuda.is_available() else "cpu"


def short(values, digits: int) -> float | list:
    """Numbers, or nested lists of them from a tensor, with so many leading digits: what a stored row keeps."""
    values = values.tolist() if hasattr(values, "tolist") else values
    return [short(v, digits) for v in values] if isinstance(values, list) else float(f"{values:.{digits}g}")


def _commit() -> str:
    """The commit of the code; in a copy whose history is not its own, say FOLDNET_COMMIT=$(git rev-parse --short=12 HEAD)."""
    if said := os.environ.get("FOLDNET_COMMIT"):
        return said
    here = Path(__file__).parent
    try:
        git = lambda *a: subprocess.run(["git", *a], cwd=here, capture_output=True, text=True, check=True).stdout.strip()  # noqa: E731
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if git("status", "--porcelain", "--", "*.py") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
