"""A finished run: compared with the stored one, and stored in its place."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from foldbook.stored import Stored

from ._rows import key, plain

LARGE, LONG = 100_000, 30  # bytes of a file above which arrays of at least so many numbers go to an npz file


def differences(new: Stored, old: Stored) -> dict[str, float]:
    """The largest relative difference of each result between two runs, over the cells that both have.

    What is not an array of numbers of one shape differs by 0 if it is equal and by infinity if not; so do NaN and infinities.
    """
    before = {key(r.cell): r.result for r in old.rows}
    worst: dict[str, float] = {}
    for row in new.rows:
        stored_result = before.get(key(row.cell), {})
        for name in row.result.keys() & stored_result.keys():
            worst[name] = max(worst.get(name, 0.0), _gap(row[name], stored_result[name]))
    return dict(sorted(worst.items()))


def _gap(new, old) -> float:
    if isinstance(new, dict) and isinstance(old, dict) and new.keys() == old.keys():
        return max((_gap(new[k], old[k]) for k in new), default=0.0)
    try:
        a, b = np.asarray(new, dtype=float), np.asarray(old, dtype=float)
    except (TypeError, ValueError):
        return 0.0 if key(new) == key(old) else np.inf
    if a.shape != b.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b) / np.maximum(np.abs(b), 1e-12)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return float(np.max(np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap)), initial=0.0))


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
    if large := len(text) > LARGE:
        parts: dict[str, list[np.ndarray]] = {}
        for row in rows:
            row["result"] = {name: _packed(value, name, parts.setdefault(name, [])) for name, value in row["result"].items()}
        arrays = io.BytesIO()
        np.savez_compressed(arrays, allow_pickle=False, **{name: np.concatenate(part) for name, part in parts.items() if part})
        _replace(beside, arrays.getvalue())
        checksum = {"file": beside.name, "sha256": hashlib.sha256(arrays.getvalue()).hexdigest()}
        text = _lines([{"arrays": checksum}, *lines])
    _replace(target, text)
    if not large:
        beside.unlink(missing_ok=True)  # when nothing speaks of it any more
    write_checksums(target.parent)


def write_checksums(folder: Path) -> None:
    """The checksums of all stored results, in the form that `sha256sum --check SHA256SUMS` reads."""
    files = sorted(p for end in ("jsonl", "npz") for p in folder.glob(f"*.{end}"))
    _replace(folder / "SHA256SUMS", "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files).encode())


def _packed(value, name: str, part: list[np.ndarray]):
    """The value with each array of LONG numbers or more replaced by where it stands in the concatenation of `part`."""
    if isinstance(value, dict):
        return {k: _packed(v, name, part) for k, v in value.items()}
    if isinstance(value, list):
        return [_packed(v, name, part) for v in value]
    if not isinstance(value, np.ndarray) or value.size < LONG:
        return value
    part.append(_small(value).reshape(-1))
    return {"array": name, "start": sum(map(len, part)) - value.size, "shape": value.shape}


def _small(value: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest type that holds them."""
    if value.dtype.kind not in "iu":
        return value
    return value.astype(np.result_type(np.min_scalar_type(value.min()), np.min_scalar_type(value.max())))


def _lines(lines: list[dict]) -> bytes:
    return "".join(json.dumps(line, default=plain) + "\n" for line in lines).encode()


def _replace(path: Path, content: bytes) -> None:
    """All of the new content or all of the old, whatever happens in between."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)
