"""Large runs: a list of independent cells and a function; rows are appended to one file, and a killed run goes on."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from .. import _paths
from ..data import Stored, stored


def run(
    cells: list[dict], function: Callable[..., dict], path: Path, jobs: int = 1, progress: bool = True, command: str = ""
) -> Stored:
    """Call `function(**cell)` for every cell that `path` does not hold yet, and append one row for each as it is done.

    A cell is a dict of plain values, a result a dict of numbers or short lists. Each start writes a line of provenance.
    """
    keys = [_key(c) for c in cells]
    if not cells or len(set(keys)) < len(keys):
        raise ValueError(f"a run needs at least one cell and no cell twice; got {len(keys)} cells, {len(set(keys))} different")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {_key(row["cell"]) for row in stored(path.stem, path).rows} if path.exists() else set()
    left = [c for c, k in zip(cells, keys) if k not in done]
    if left:
        _run(left, function, path, jobs, progress, command, already=len(cells) - len(left))
    result = stored(path.stem, path)
    order = {k: i for i, k in enumerate(keys)}
    rows = sorted((r for r in result.rows if _key(r["cell"]) in order), key=lambda r: order[_key(r["cell"])])
    return Stored(result.provenance, rows)


def _run(left, function, path, jobs, progress, command, already) -> None:
    from tqdm.auto import tqdm

    with path.open("a+b") as file:
        _end_torn_line(file)
        _append(file, {"provenance": provenance(command)})
        results = _side_by_side(function, left, jobs) if jobs > 1 else (_timed(function, c) for c in left)
        bar = tqdm(results, total=already + len(left), initial=already, desc=path.stem, unit="cell", disable=not progress)
        for row in bar:
            _append(file, row)


def _side_by_side(function, left, jobs):
    from joblib import Parallel, delayed

    return Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_timed)(function, c) for c in left)


def _timed(function, cell) -> dict:
    start = time.perf_counter()
    result = function(**cell)
    return {"cell": cell, "result": result, "seconds": round(time.perf_counter() - start, 2)}


def _append(file, row: dict) -> None:
    file.write(json.dumps(row, default=_plain).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _end_torn_line(file) -> None:
    """A kill in the middle of a write leaves half a line: end it, so that the next row starts on its own."""
    file.seek(0, os.SEEK_END)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def _plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a result holds numbers, texts and lists of them; got {type(value).__name__}")


def _key(cell: dict) -> str:
    return json.dumps(cell, sort_keys=True, default=_plain)


def provenance(command: str = "") -> dict:
    """Command, commit, versions, hardware and time of a run."""
    import torch

    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {
        "command": command or "python " + " ".join(map(os.path.basename, sys.argv)),
        "commit": _commit(),
        "versions": versions,
        "hardware": f"{os.cpu_count()} cores, {platform.machine()}{gpu}",
        "started": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def device() -> str:
    """Where a large run trains its networks: on the GPU if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _commit() -> str:
    here = Path(__file__).parent
    try:
        git = lambda *a: subprocess.run(["git", *a], cwd=here, capture_output=True, text=True, check=True).stdout.strip()  # noqa: E731
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if git("status", "--porcelain", "--", "*.py") else "")
    except (OSError, subprocess.CalledProcessError):
        # a copy without its history: say FOLDNET_COMMIT=$(git rev-parse --short=12 HEAD)
        return os.environ.get("FOLDNET_COMMIT", "unknown")


def experiments() -> dict[str, str]:
    """The large runs there are: name and first line of the docstring."""
    from .. import experiments as package

    names = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name != "runner"]
    return {name: importlib.import_module(f"{package.__name__}.{name}").__doc__.split("\n")[0] for name in names}


def differences(new: Stored, old: Stored) -> dict[str, float]:
    """The largest relative difference of each result between two runs, over the cells that both have.

    What is not an array of numbers of one shape differs by 0 if it is equal and by infinity if not.
    """
    before = {_key(r["cell"]): r["result"] for r in old.rows}
    worst: dict[str, float] = {}
    for row in new.rows:
        stored_result = before.get(_key(row["cell"]), {})
        for name in row["result"].keys() & stored_result.keys():
            worst[name] = max(worst.get(name, 0.0), _gap(row["result"][name], stored_result[name]))
    return dict(sorted(worst.items()))


def _gap(new, old) -> float:
    try:
        a, b = np.asarray(new, dtype=float), np.asarray(old, dtype=float)
    except (TypeError, ValueError):
        return 0.0 if new == old else np.inf
    return float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-12), initial=0.0)) if a.shape == b.shape else np.inf


def command(name: str | None, jobs: int = 1, store: bool = False) -> int:
    """`python -m foldnet sweep NAME`: repeat a run in `_sweeps/`, compare it with the stored result, store it if asked."""
    known = experiments()
    if name not in known:
        listing = "\n".join(f"  {n:24} {doc}" for n, doc in known.items())
        if name:
            raise ValueError(f"no run is named {name!r}; there are\n{listing}")
        print(listing)
        return 0
    module = importlib.import_module(f"foldnet.experiments.{name}")
    path = _paths.repository() / "_sweeps" / f"{name}.jsonl"
    result = run(module.cells(), module.cell, path, jobs, command=f"python -m foldnet sweep {name}")
    print(f"{len(result.rows)} cells in {sum(r['seconds'] for r in result.rows):.0f} s of work, in {path}")
    target = _paths.book() / "data" / path.name
    if target.is_file():
        kept = stored(name)
        if new := len({_key(r["cell"]) for r in result.rows} - {_key(r["cell"]) for r in kept.rows}):
            print(f"  {new} cells that the stored result does not have")
        for key, gap in differences(result, kept).items():
            print(f"  {key}: at most {100 * gap:.2g} % from the stored result")
    if store:
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
        print(f"stored as {target.relative_to(_paths.repository())}")
    return 0
