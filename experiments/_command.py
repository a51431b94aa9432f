"""`python -m experiments`: what it says and does."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shutil
import sys
from pathlib import Path

from foldbook import paths
from foldbook.stored import Stored, stored
from foldnet.data import DataMissing

from . import _storing, runner
from ._rows import key


def experiments() -> dict[str, str]:
    """The large runs there are, the modules with `cells`: name and first line of the docstring."""
    import experiments as package

    names = [m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")]
    modules = {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}
    return {name: (module.__doc__ or "").split("\n")[0] for name, module in modules.items() if hasattr(module, "cells")}


def command(
    name: str | None, jobs: int = 1, store: bool = False, dask: str = "", only: tuple[str, ...] = (), dry: bool = False
) -> int:
    """Repeat a run in `_sweeps/`, all of it or a part, compare it with the stored result, store it if asked."""
    known = experiments()
    if name not in known:
        listing = "\n".join(f"  {n:24} {doc}" for n, doc in known.items())
        if name:
            raise ValueError(f"no run is named {name!r}; there are\n{listing}")
        print(listing)
        return 0
    if store and only:
        raise ValueError("a part of a run is not stored: leave out --only, and what is done already is not done again")
    module = importlib.import_module(f"experiments.{name}")
    cells, path = part(module.cells(), only), paths.repository() / "_sweeps" / f"{name}.jsonl"
    target = paths.book() / "data" / path.name
    try:
        kept = stored(name) if target.is_file() else Stored([], [])
    except (ValueError, DataMissing) as error:  # a --store that was killed between its two files
        print(f"the stored result cannot be read, so nothing is compared with it: {error}", file=sys.stderr)
        kept = Stored([], [])
    if dry:
        print(forecast(cells, path, kept))
        return 0
    result = runner.run(cells, module.cell, path, jobs, command=f"python -m experiments {name}", dask=dask)
    print(f"{len(result.rows)} cells in {sum(r.seconds for r in result.rows):.0f} s of work, in {path}")
    if kept.rows:
        if new := len({key(r.cell) for r in result.rows} - {key(r.cell) for r in kept.rows}):
            print(f"  {new} cells that the stored result does not have")
        for column, gap in _storing.differences(result, kept).items():
            print(f"  {column}: at most {100 * gap:.2g} % from the stored result")
    if store:
        _storing.store_result(result, target)
        path.unlink()
        print(f"stored as {target.relative_to(paths.repository())}")
    return 0


def part(cells: list[dict], only: tuple[str, ...]) -> list[dict]:
    """The cells whose settings are among those asked for, as `width=4,8` and `kind=sine`."""
    for text in only:
        name, sign, values = text.partition("=")
        there = sorted({json.dumps(c[name]) for c in cells if name in c}, key=lambda v: (len(v), v))
        if not sign or not there:
            names = sorted({k for c in cells for k in c})
            raise ValueError(f"--only takes NAME=VALUE with a name among {', '.join(names)}; got {text!r}")
        chosen = [c for c in cells if name in c and _among(c[name], values.split(","), values)]
        if not chosen:
            raise ValueError(f"no cell has {text}; {name} is one of {', '.join(there)}")
        cells = chosen
    return cells


def _among(value, texts: list[str], whole: str) -> bool:
    """Whether a setting is one of these, as words or as JSON; a list is given whole, as [4,8]."""
    return any(text in (str(value), json.dumps(value), json.dumps(value).replace(" ", "")) for text in [*texts, whole])


def forecast(cells: list[dict], path: Path, kept: Stored) -> str:
    """How many cells there are, how many are done, and what the others will take, by the rows that there are already."""
    done = stored(path.stem, path) if path.is_file() else Stored([], [])
    here, before = ({key(r.cell): r.seconds for r in run.rows} for run in (done, kept))
    left = [k for k in map(key, cells) if k not in here]
    lines = [f"{path.stem}: {len(cells)} cells, {len(cells) - len(left)} of them done in {path}"]
    if both := [before[k] for k in map(key, cells) if k in before]:
        where = "; ".join(dict.fromkeys(p["hardware"] for p in kept.provenance))
        lines.append(f"stored in book/data: {len(both)} of them, {_span(sum(both))} of work on {where}")
    if not left:
        return "\n".join([*lines, "nothing is left to do"])
    if not here and not before:
        return "\n".join([*lines, f"{len(left)} are left; how long one takes is not known: try one, with --only"])
    common = here.keys() & before.keys()
    pace = sum(here[k] for k in common) / max(sum(before[k] for k in common), 1e-9) if common else 1.0
    known = {k: pace * seconds for k, seconds in before.items()} | here
    mean, new = sum(known.values()) / len(known), sum(k not in known for k in left)
    seconds = sum(known.get(k, mean) for k in left)
    lines.append(
        f"{len(left)} are left: about {_span(seconds)} one after another, at the speed of the rows "
        + ("done here" if here else "stored")
        + (f" ({new} cells taken as the mean of the others)" if new else "")
    )
    folder, size = next(p for p in (path.parent, *path.parents) if p.is_dir()), _bytes_a_row(path, kept) * len(left)
    lines.append(f"they take about {_size(size)} on a disk with {_size(shutil.disk_usage(folder).free)} free")
    return "\n".join(lines)


def _bytes_a_row(path: Path, kept: Stored) -> float:
    """The mean length of a row: of those in the file, or of the stored ones as they would be written."""
    if path.is_file() and (lines := [line for line in path.read_bytes().splitlines() if line.startswith(b'{"cell"')]):
        return sum(map(len, lines)) / len(lines) + 1
    return sum(len(key({"cell": r.cell, "result": r.result})) + 60 for r in kept.rows) / len(kept.rows)


def _span(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"
