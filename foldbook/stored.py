"""The stored results of the large runs: `stored("race").row(task="sine")`, from `book/data/`."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from foldnet.data import DataMissing

from . import paths


@dataclass(frozen=True)
class Row:
    """One cell of a large run: its settings, what came out by name, the seconds it took and the commit that made it.

    `row["loss"]` is short for `row.result["loss"]`; lists of numbers come as arrays. A cell that failed has an `error` instead.
    """

    cell: dict
    result: dict
    seconds: float
    commit: str
    error: str = ""

    def __getitem__(self, name: str):
        if name not in self.result:
            raise KeyError(f"no result is named {name!r}; there are {', '.join(self.result)} (settings are in row.cell)")
        return self.result[name]


@dataclass(frozen=True)
class Stored:
    """A result: a row for each cell of a large run, how they were made, the cells that failed, and lines that are no rows."""

    provenance: list[dict]
    rows: list[Row]
    failed: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def where(self, **cell) -> list[Row]:
        """The rows of all cells that have these settings."""
        return [r for r in self.rows if all(k in r.cell and _same(r.cell[k], v) for k, v in cell.items())]

    def row(self, **cell) -> Row:
        """The row of the cell with exactly these settings, or else the only one that has them among others."""
        found = self.where(**cell)
        exact = [r for r in found if len(r.cell) == len(cell)]
        if len(exact or found) != 1:
            some = ", ".join(str(r.cell) for r in (found or self.rows)[:3])
            raise KeyError(f"{len(found)} of {len(self.rows)} rows have {cell}, and one is needed; there are {some}, ...")
        return (exact or found)[0]


def stored(name: str, path: Path | None = None) -> Stored:
    """The stored result of the large run `name`, from `book/data/NAME.jsonl`.

    A run's own file, `path`, may hold lines that are no rows: one cut short by a kill, say. They are named in `skipped`. The
    stored result may not. Two rows of one cell count once; two that contradict each other are refused. Long arrays may lie
    beside the file in NAME.npz, whose checksum is in it; book/data/README.md has the format.
    """
    file = path or paths.book() / "data" / f"{name}.jsonl"
    if not file.is_file():
        raise DataMissing(f"no result of {name!r} is stored at {file.name}; `make sweep NAME={name}` makes it")
    lines, skipped = _lines(file)
    if skipped and path is None:
        raise ValueError(f"{file.name} is a stored result, and {'; '.join(skipped)}")
    arrays = next((_arrays(file, x["arrays"]) for x in lines if "arrays" in x), {})
    done: dict[str, Row] = {}
    failed: dict[str, Row] = {}  # the last try counts
    start: dict = {}
    for x in lines:
        start = x.get("provenance", start)
        if "cell" not in x:
            continue
        fields: dict[str, Any] = {"commit": start.get("commit", ""), "result": {}, **x}
        row, cell = Row(**fields), json.dumps(x["cell"], sort_keys=True)
        if row.error:
            failed[cell] = row
        elif cell not in done:
            done[cell] = row
        elif json.dumps(done[cell].result, sort_keys=True) != json.dumps(row.result, sort_keys=True):
            raise ValueError(f"{file.name} has two rows for {row.cell} that contradict each other: keep one of them")
    rows = [replace(row, result=_filled(row.result, arrays)) for row in done.values()]
    return Stored(
        [x["provenance"] for x in lines if "provenance" in x], rows, [r for c, r in failed.items() if c not in done], skipped
    )


def _lines(file: Path) -> tuple[list[dict], list[str]]:
    """The lines that say something: provenance, arrays and rows; and what is wrong with each of the others."""
    found, skipped = [], []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        begins = repr(line[:40].decode(errors="replace"))  # which may end within a letter
        try:
            x = json.loads(line) if line.strip() else None
        except (json.JSONDecodeError, UnicodeDecodeError):
            skipped.append(f"line {number} is not JSON: {begins}")
            continue
        if isinstance(x, dict) and ({"provenance", "arrays"} & x.keys() or ("cell" in x and {"result", "error"} & x.keys())):
            found.append(x)
        elif x is not None:
            skipped.append(f"line {number} is no row: {begins}")
    return found, skipped


def _same(a, b) -> bool:
    return (list(a) if isinstance(a, (list, tuple)) else a) == (list(b) if isinstance(b, (list, tuple)) else b)


def _arrays(path: Path, beside: dict) -> dict[str, np.ndarray]:
    """The arrays of NAME.npz, refused if it is not the file that NAME.jsonl was written with."""
    file = path.with_name(beside["file"])
    if not file.is_file():
        raise DataMissing(f"{path.name} keeps its arrays in {file.name}, which is not beside it")
    raw = file.read_bytes()
    if hashlib.sha256(raw).hexdigest() != beside["sha256"]:
        raise ValueError(f"{file.name} is not the file that {path.name} was stored with: its sha256 is not {beside['sha256']}")
    with np.load(io.BytesIO(raw)) as kept:
        return dict(kept)


def _filled(value, arrays: dict[str, np.ndarray]):
    """A result with references replaced by parts of the arrays, and lists of numbers by arrays."""
    if isinstance(value, dict) and value.keys() == {"array", "start", "shape"}:
        size = int(np.prod(value["shape"]))
        return arrays[value["array"]][value["start"] : value["start"] + size].reshape(value["shape"])
    if isinstance(value, dict):
        return {k: _filled(v, arrays) for k, v in value.items()}
    if isinstance(value, list):
        array = _as_array(value)
        return [_filled(v, arrays) for v in value] if array is None else array
    return value


def _as_array(values: list) -> np.ndarray | None:
    """Numbers, or lists of equal length of them, as an array."""
    try:
        array = np.array(values)
    except ValueError:  # unequal lengths
        return None
    return array if array.dtype.kind in "biuf" and array.size else None
