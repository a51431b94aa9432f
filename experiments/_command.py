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

from . import _storing, _workers, runner
from ._rows import key

FAR = 1.0  # a relative difference from the stored result above which a repeated run has failed


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
    for line in result.skipped:
        print(f"{path.name}: {line}; it is passed over", file=sys.stderr)
    print(f"{len(result.rows)} cells in {sum(r.seconds for r in result.rows):.0f} s of work, in {path}")
    if kept.rows:
        if new := len({key(r.cell) for r in result.rows} - {key(r.cell) for r in kept.rows}):
            print(f"  {new} cells that the stored result does not have")
        gaps = _storing.differences(result, kept)
        for column, gap in gaps.items():
            print(f"  {column}: at most {100 * gap:.2g} % from the stored result")
        if (far := [column for column, gap in gaps.items() if gap > FAR]) and not store:
            print(f"{', '.join(far)}: further from the stored result than it is from zero", file=sys.stderr)
            return 3
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
        wanted = [values] if values.startswith("[") else values.split(",")
        of = {value: [c for c in cells if name in c and _is(c[name], value)] for value in wanted}
        if gone := [value for value, chosen in of.items() if not chosen]:
            raise ValueError(f"no cell has {name}={', '.join(gone)}; {name} is one of {', '.join(there)}")
        cells = [c for c in cells if any(c in chosen for chosen in of.values())]
    return cells


def _is(value, text: str) -> bool:
    """Whether a setting is this, as words or as JSON."""
    return text in (str(value), json.dumps(value), json.dumps(value).replace(" ", ""))


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
    ours = _workers.hardware()
    if not here and not any(p["hardware"] == ours for p in kept.provenance):
        return "\n".join([*lines, f"{len(left)} are left; how long one takes on {ours} is not known: try one, with --only"])
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
