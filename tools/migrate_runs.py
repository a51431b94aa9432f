"""Stored runs from sentences to names, once: `python -m tools.migrate_runs`. No value changes; rows get their start's commit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from foldnet.data import Row, Stored, _filled, stored
from foldnet.experiments import depth_pieces, runner

DATA = Path("book/data")


def moved(name: str, key: str) -> tuple[str, ...]:
    """The path in the new result of an old key."""
    words = key.split(", ")
    if name in ("breakpoint_init",):
        return ("loss", *words)
    if name == "relocation":
        return ("optimum", words[0]) if words[1] == "optimum" else ("loss", *words)
    if name == "fold_utilization":
        return ("arms", key)
    if name == "xor_optima" and key.startswith("found "):
        return ("found", key.removeprefix("found "))
    if name == "weight_scale" and len(words) == 2:
        return (words[0].replace("-", "_"), words[1])
    if name == "width_smoothness" and len(words) == 2:
        return (words[0].replace(" ", "_"), words[1])
    if name == "depth_pieces":
        if key.startswith("layer "):
            return (words[1], str(int(words[0].split()[1]) - 1))
        if len(words) > 1 and words[1] == "before":
            return (f"before_{words[2]}", words[0], *words[3:])
        if len(words) == 3 and words[0] in depth_pieces.SETTINGS:
            return (words[2].replace(" ", "_"), words[0], words[1])
    known = {"error, early": "early_error", "curves, start": "start_curves", "growing, seconds": "growing_seconds"}
    known["within 0.1"] = "within"
    known["largest rise of the loss"] = "largest_rise_of_loss"
    return (known.get(key, key.replace(" ", "_")),)


def renamed(name: str, result: dict) -> tuple[dict, list[tuple[tuple, object]]]:
    new: dict = {}
    paths = []
    for key, value in result.items():
        path = moved(name, key)
        paths.append((path, value))
        if name == "depth_pieces" and path[0] in ("number", "place") and len(path) == 2:
            new.setdefault(path[0], []).append(value)
            assert len(new[path[0]]) == int(path[1]) + 1
            continue
        at = new
        for step in path[:-1]:
            at = at.setdefault(step, {})
        assert path[-1] not in at
        at[path[-1]] = value
    assert all(k.isidentifier() for k in new), list(new)
    return new, paths


def main() -> None:
    for path in sorted(DATA.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        if any("arrays" in x or "commit" in x for x in lines):
            continue
        before, rows, wanted, commit = path.stat().st_size, [], [], None
        for x in lines:
            if "provenance" in x:
                commit = x["provenance"]["commit"]
            else:
                result, paths = renamed(path.stem, x["result"])
                rows.append(Row(x["cell"], _filled(result, {}), x["seconds"], commit))
                wanted.append(paths)
        runner.store_result(Stored([x["provenance"] for x in lines if "provenance" in x], rows), path)
        again, count = stored(path.stem), 0
        for x, row, paths in zip([x for x in lines if "cell" in x], again.rows, wanted, strict=True):
            assert (row.cell, row.seconds) == (x["cell"], x["seconds"])
            for where, value in paths:
                found = row.result
                for step in where:
                    found = found[int(step) if isinstance(found, (list, np.ndarray)) else step]
                found = found.tolist() if isinstance(found, np.ndarray) else found
                assert json.dumps(found) == json.dumps(value), (path.stem, row.cell, where)
                count += 1
        sizes = [f.stat().st_size for f in sorted(DATA.glob(path.stem + ".*"))]
        print(f"{path.stem}: {len(rows)} rows, {count} values the same to the last digit, {before:,} -> {sizes}")


if __name__ == "__main__":
    main()
