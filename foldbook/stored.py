"""The stored results of the large runs: `stored("race").row(task="sine")`, from `book/data/`."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

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
    """A stored result: a row for each cell of a large run, how the rows were made, and the cells that failed."""

    provenance: list[dict]
    rows: list[Row]
    failed: list[Row] = field(default_factory=list)

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
    """The stored result of the large run `name`, from `book/data/NAME.jsonl`; a line cut short by a kill is passed over.

    Long arrays may lie beside it in NAME.npz, whose checksum is in the file; book/data/README.md has the format.
    """
    path = path or paths.book() / "data" / f"{name}.jsonl"
    if not path.is_file():
        raise DataMissing(f"no result of {name!r} is stored at {path.name}; `make sweep NAME={name}` makes it")
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    arrays = next((_arrays(path, x["arrays"]) for x in lines if "arrays" in x), {})
    rows, start = [], {}
    for x in lines:
        start = x.get("provenance", start)
        if "cell" in x:
            rows.append(Row(**{"commit": start.get("commit", ""), **x, "result": _filled(x.get("result", {}), arrays)}))
    done = [r for r in rows if not r.error]
    failed = {json.dumps(r.cell, sort_keys=True): r for r in rows if r.error}  # the last try counts
    for r in done:
        failed.pop(json.dumps(r.cell, sort_keys=True), None)
    return Stored([x["provenance"] for x in lines if "provenance" in x], done, list(failed.values()))


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
