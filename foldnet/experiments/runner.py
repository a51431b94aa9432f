"""Large runs: a list of independent cells and a function; rows are appended to one file, and a killed run goes on."""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import json
import os
import pkgutil
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from .. import _paths
from ..data import Stored, stored

LARGE, LONG = 100_000, 30  # bytes of a file above which arrays of at least so many numbers go to an npz file


class CellsFailed(RuntimeError):
    """Some cells of a run failed; `result` has the rows of the others."""

    def __init__(self, result: Stored, wanted: int):
        first = result.failed[0]
        super().__init__(
            f"{len(result.failed)} of {wanted} cells failed, {first.cell} with {first.error}; "
            "the other rows are kept, and the same command tries these again"
        )
        self.result = result


def run(
    cells: list[dict], function: Callable[..., dict], path: Path, jobs: int = 1, progress: bool = True, command: str = ""
) -> Stored:
    """Call `function(**cell)` for every cell that `path` does not hold yet, and append one row for each as it is done.

    A cell is a dict of plain values; a result a dict whose keys are names and whose values are numbers, texts, arrays, lists or
    dicts of them. Each start writes a line of provenance. A cell that fails leaves a row with its error and is tried again by
    the next start; `CellsFailed` is raised when all the others are done.
    """
    keys = [_key(c) for c in cells]
    if not cells or len(set(keys)) < len(keys):
        raise ValueError(f"a run needs at least one cell and no cell twice; got {len(keys)} cells, {len(set(keys))} different")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = stored(path.stem, path) if path.exists() else Stored([], [])
    done = {_key(row.cell) for row in before.rows}
    left = [c for c, k in zip(cells, keys) if k not in done]
    if left:
        _run(left, function, path, jobs, progress, before, provenance(command), already=len(cells) - len(left))
    result, order = stored(path.stem, path), {k: i for i, k in enumerate(keys)}
    known = lambda rows: sorted((r for r in rows if _key(r.cell) in order), key=lambda r: order[_key(r.cell)])  # noqa: E731
    result = Stored(result.provenance, known(result.rows), known(result.failed))
    if result.failed:
        raise CellsFailed(result, len(cells))
    return result


def _run(left, function, path, jobs, progress, before, now, already) -> None:
    from tqdm.auto import tqdm

    # a start from before provenance knew the code itself is known by its commit
    same = lambda p: p["code"] == now["code"] if "code" in p else p["commit"] == now["commit"]  # noqa: E731
    if before.rows and (others := [p["commit"] for p in before.provenance if not same(p)]):
        print(
            f"{path.stem} goes on under other code: {len(before.rows)} rows are there, started at {', '.join(others)}; "
            f"{len(left)} will be made at {now['commit']}, and each row keeps its own",
            file=sys.stderr,
        )
    with path.open("a+b") as file:
        _end_torn_line(file)
        _append(file, {"provenance": now})
        call = functools.partial(_timed, function, commit=now["commit"])
        results = _side_by_side(call, left, jobs) if jobs > 1 else map(call, left)
        bar = tqdm(results, total=already + len(left), initial=already, desc=path.stem, unit="cell", disable=not progress)
        for row in bar:
            _append(file, row)


def _side_by_side(call, left, jobs):
    from joblib import Parallel, delayed

    return Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(call)(c) for c in left)


def _timed(function, cell: dict, commit: str) -> dict:
    """The row of a cell; what went wrong in it becomes its error, so that hours of other cells are not lost."""
    start = time.perf_counter()
    try:
        found = {"result": _named(function(**cell))}
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        found = {"error": f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno})"}
    return {"cell": cell, **found, "seconds": round(time.perf_counter() - start, 2), "commit": commit}


def _named(result: dict) -> dict:
    """The result in plain numbers and lists, refused if a key is a sentence: dicts inside it may have any label."""
    wrong = [k for k in result if not k.isidentifier()]
    if wrong:
        raise ValueError(f"the keys of a result are names, as mean_loss; got {', '.join(map(repr, wrong))}")
    return json.loads(json.dumps(result, default=_plain))


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


def _key(cell) -> str:
    return json.dumps(cell, sort_keys=True, default=_plain)


def provenance(command: str = "") -> dict:
    """Command, commit, checksum of the code, versions, hardware and time of a run."""
    import torch

    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__}
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {
        "command": command or "python " + " ".join(map(os.path.basename, sys.argv)),
        "commit": _commit(),
        "code": _code(),
        "versions": versions,
        "hardware": f"{os.cpu_count()} cores, {platform.machine()}{gpu}",
        "started": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def device() -> str:
    """Where a large run trains its networks: on the GPU if there is one."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


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


def _code() -> str:
    """A checksum of the package's sources: two commits may share the code, and two states with changes may not."""
    root = Path(__file__).parent.parent
    return hashlib.sha256(b"".join(p.read_bytes() for p in sorted(root.rglob("*.py")))).hexdigest()[:12]


def experiments() -> dict[str, str]:
    """The large runs there are: name and first line of the docstring."""
    from .. import experiments as package

    names = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name != "runner"]
    said = lambda name: importlib.import_module(f"{package.__name__}.{name}").__doc__ or ""  # noqa: E731
    return {name: said(name).split("\n")[0] for name in names}


def differences(new: Stored, old: Stored) -> dict[str, float]:
    """The largest relative difference of each result between two runs, over the cells that both have.

    What is not an array of numbers of one shape differs by 0 if it is equal and by infinity if not.
    """
    before = {_key(r.cell): r.result for r in old.rows}
    worst: dict[str, float] = {}
    for row in new.rows:
        stored_result = before.get(_key(row.cell), {})
        for name in row.result.keys() & stored_result.keys():
            worst[name] = max(worst.get(name, 0.0), _gap(row[name], stored_result[name]))
    return dict(sorted(worst.items()))


def _gap(new, old) -> float:
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        return max((_gap(new[k], old[k]) for k in new), default=0.0)
    try:
        a, b = np.asarray(new, dtype=float), np.asarray(old, dtype=float)
    except (TypeError, ValueError):
        return 0.0 if _key(new) == _key(old) else np.inf
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
    print(f"{len(result.rows)} cells in {sum(r.seconds for r in result.rows):.0f} s of work, in {path}")
    target = _paths.book() / "data" / path.name
    if target.is_file():
        kept = stored(name)
        if new := len({_key(r.cell) for r in result.rows} - {_key(r.cell) for r in kept.rows}):
            print(f"  {new} cells that the stored result does not have")
        for key, gap in differences(result, kept).items():
            print(f"  {key}: at most {100 * gap:.2g} % from the stored result")
    if store:
        store_result(result, target)
        path.unlink()
        print(f"stored as {target.relative_to(_paths.repository())}")
    return 0


def store_result(result: Stored, target: Path) -> None:
    """Write a result as one file of lines; where that is above 100 kB, its longer arrays go to an npz file beside it.

    There the arrays of one name stand behind each other, and a line says where its part starts and which shape it has.
    """
    rows: list[dict[str, Any]] = [
        {"cell": r.cell, "result": r.result, "seconds": r.seconds, "commit": r.commit} for r in result.rows
    ]
    lines = [*({"provenance": p} for p in result.provenance), *rows]
    beside, text = target.with_suffix(".npz"), _lines(lines)
    target.parent.mkdir(parents=True, exist_ok=True)
    if len(text) <= LARGE:
        beside.unlink(missing_ok=True)
    else:
        parts: dict[str, list[np.ndarray]] = {}
        for row in rows:
            row["result"] = {name: _packed(value, name, parts.setdefault(name, [])) for name, value in row["result"].items()}
        arrays = io.BytesIO()
        np.savez_compressed(arrays, allow_pickle=False, **{name: np.concatenate(part) for name, part in parts.items() if part})
        _replace(beside, arrays.getvalue())
        checksum = {"file": beside.name, "sha256": hashlib.sha256(arrays.getvalue()).hexdigest()}
        text = _lines([{"arrays": checksum}, *lines])
    _replace(target, text)


def _packed(value, name: str, part: list[np.ndarray]):
    """The value with each array of LONG numbers or more replaced by where it stands in the concatenation of `part`."""
    if isinstance(value, dict):
        return {k: _packed(v, name, part) for k, v in value.items()}
    if isinstance(value, list):
        return [_packed(v, name, part) for v in value]
    if not isinstance(value, np.ndarray) or value.size < LONG:
        return value
    part.append(value.reshape(-1))
    return {"array": name, "start": sum(map(len, part)) - value.size, "shape": value.shape}


def _lines(lines: list[dict]) -> bytes:
    return "".join(json.dumps(line, default=_plain) + "\n" for line in lines).encode()


def _replace(path: Path, content: bytes) -> None:
    """All of the new content or all of the old, whatever happens in between."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)
