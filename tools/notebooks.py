"""Run chapters and keep their outputs, or edit them as text: `python -m tools.notebooks run|text|back|lines [CHAPTER ...]`.

A chapter is named by its path below book/, as splines/breakpoints. Stored notebooks hold no times, no machine's state and no
widget state, so that a run that changes nothing changes no byte.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from foldnet import plan

ROOT = Path(__file__).resolve().parent.parent
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
FOLD_TAGS = {"folded", "setup"}
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}  # Colab's way and JupyterLab's; the site reads the tag
CELL_TIMEOUT = 600
START_TIMEOUT = 600  # a kernel on a machine that stands still is silent, and comes


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Run chapters and keep their outputs, or edit them as text.")
    parser.add_argument("what", choices=("run", "text", "back", "lines"))
    parser.add_argument("chapter", nargs="*", help="as splines/breakpoints; without one, run takes all of them")
    arguments = parser.parse_args(argv)
    try:
        if arguments.what in ("text", "back") and not arguments.chapter:
            raise ValueError("which one? Say CHAPTER=splines/breakpoints, or another path below book/")
        paths = [find(name, root) for name in arguments.chapter] or all_notebooks(root)
        if arguments.what != "back" and (new := [path for path in paths if not path.is_file()]):
            raise ValueError(f"{new[0].stem} is a text so far: bring it back first")
        if arguments.what == "run":
            return run(paths, root)
        for path in paths:
            print({"text": to_text, "back": from_text, "lines": lines_again}[arguments.what](path))
    except (ValueError, FileNotFoundError) as error:
        print(f"notebooks: {error}", file=sys.stderr)
        return 1
    return 0


def all_notebooks(root: Path) -> list[Path]:
    from foldnet.ledger import notebooks

    return notebooks(root / "book")


def find(name: str, root: Path) -> Path:
    """The notebook that a chapter's name, or a path, means."""
    stem = name.removesuffix(".ipynb").removesuffix(".text.md").removeprefix("book/")
    path = root / "book" / f"{stem}.ipynb"
    if not path.is_file() and not path.with_suffix(".text.md").is_file():
        known = [p.relative_to(root / "book").with_suffix("").as_posix() for p in all_notebooks(root)]
        raise FileNotFoundError(f"there is no chapter {stem!r}; there are {', '.join(known) or 'none yet'}")
    return path


# ---- running -----------------------------------------------------------------------------------------------------------


def run(paths: list[Path], root: Path) -> int:
    """Run notebooks one after the other; one that fails is left as it was and does not stop the others."""
    failed, start = [], time.monotonic()
    for path in paths:
        name = path.relative_to(root / "book").with_suffix("").as_posix()
        print(f"{name} ...", end=" ", flush=True)
        began = time.monotonic()
        try:
            notebook = execute(path)
        except CellFailed as error:
            failed.append(name)
            print(f"failed after {time.monotonic() - began:.1f} s\n\n{error}\n")
            continue
        seconds = time.monotonic() - began
        changed = write(path, notebook)
        remember(root, name, seconds, source_hash(notebook), changed)
        print(f"{seconds:.1f} s" + ("" if changed else ", unchanged"))
    if len(paths) > 1:
        print(f"{len(paths) - len(failed)} of {len(paths)} notebooks ran, {time.monotonic() - start:.0f} s together")
    if failed:
        print(f"failed and left as they were: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


class CellFailed(Exception):
    """A cell that raised, took too long or lost its kernel: its source and the last line of what went wrong."""


def execute(path: Path, kernel: str = "python3", folder: Path | None = None, env: dict | None = None) -> nbformat.NotebookNode:
    """The notebook with fresh outputs, as it is to be stored; `env` is added to the environment of its kernel."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        startup_timeout=START_TIMEOUT,
        kernel_name=kernel,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder or path.parent)}},
    )
    now: list[str] = []
    client.on_cell_start = lambda cell, cell_index: now.__setitem__(slice(None), [cell.source])
    try:
        client.execute(env={**os.environ, "TQDM_DISABLE": "1", **(env or {})})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        last = next((line for line in reversed(plain(str(error)).splitlines()) if line.strip()), "")
        if isinstance(error, CellTimeoutError):
            last = f"the cell took more than {CELL_TIMEOUT} s"
        raise CellFailed("\n".join(f"    {line}" for line in "".join(now).splitlines()) + f"\n\n{last}") from None
    return normalised(notebook)


def plain(text: str) -> str:
    """Without the colours of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def normalised(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook without what belongs to one run: machine, times, widget state."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        for key in ("execution", "ExecuteTime", "colab", "outputId", "collapsed", "jp-MarkdownHeadingCollapsed", *FOLDED):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            if is_folded(cell):
                cell.metadata.update(nbformat.from_dict(FOLDED))
            cell.outputs = [output for output in map(_stored, cell.outputs) if output]
    return notebook


def _stored(output: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    """An output as it is stored; a widget without a still picture (a progress bar, say) leaves nothing behind."""
    if WIDGET in output.get("data", {}):
        del output["data"][WIDGET]
        if "text/html" not in output["data"]:
            return None
    return output


def is_folded(cell) -> bool:
    """Whether the one tag folds a cell: everywhere its title, `# @title ...`, stands for its code."""
    return bool(FOLD_TAGS & set(cell["metadata"].get("tags", ())))


def source_hash(notebook) -> str:
    """What the outputs were made from: the code cells, except the setup cell, which does nothing outside Colab."""
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code" and "setup" not in c["metadata"].get("tags", ())]
    return hashlib.sha1("\0".join("".join(c["source"]) for c in cells).encode()).hexdigest()


def remember(root: Path, name: str, seconds: float, source: str, changed: bool) -> None:
    """Note a run time in book/data/runtimes.json; a run that changed nothing leaves its note as it is.

    Only a note over the budget, from a busy machine perhaps, gives way to a shorter time.
    """
    path = root / "book" / "data" / "runtimes.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    note = known.get(name, {"source": "", "seconds": 0.0})
    if not changed and note["source"] == source and note["seconds"] <= max(plan.budget(name), seconds):
        return
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    known[name] = {"seconds": round(seconds, 1), "machine": machine, "date": datetime.date.today().isoformat(), "source": source}
    present = {p.relative_to(root / "book").with_suffix("").as_posix() for p in all_notebooks(root)}
    kept = {key: known[key] for key in sorted(known) if key in present}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def write(path: Path, notebook: nbformat.NotebookNode) -> bool:
    """Store a notebook, at once or not at all, and only where a byte differs; whether it did."""
    text = nbformat.writes(notebook).rstrip("\n") + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    replace(path, text)
    return True


def replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".", suffix=".tmp", delete=False) as file:
        file.write(text)
    os.chmod(file.name, path.stat().st_mode if path.is_file() else 0o644)
    os.replace(file.name, path)


def lines_again(path: Path) -> str:
    """Write the lines and boxes of a notebook's checks again from their records, as a run would, when their wording changed."""
    from foldnet.claims import MIME, from_json, shown

    notebook = nbformat.read(path, as_version=4)
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if MIME in output.get("data", {}):
            output["data"].update(shown(from_json(output["data"][MIME])))
    return f"{path.name}: " + ("lines written again" if write(path, notebook) else "unchanged")


# ---- editing as text ---------------------------------------------------------------------------------------------------


def to_text(path: Path) -> str:
    """Write a chapter as markdown beside its notebook; not under the chapter's own name, or the site would have it twice."""
    import jupytext

    text = path.with_suffix(".text.md")
    if text.exists():
        raise ValueError(f"{text.name} is there already: bring it back with make notebook, or remove it")
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:  # they follow from the tag
        for key in FOLDED:
            cell.metadata.pop(key, None)
    jupytext.write(notebook, text, fmt="md")
    return f"edit {text}\nthen bring it back: make notebook CHAPTER={path.parent.name}/{path.stem}"


def from_text(path: Path) -> str:
    """Bring the text back: unchanged cells keep their outputs and ids, changed ones lose them until they are run.

    A text without a notebook beside it becomes a new one.
    """
    import jupytext
    from jupytext.combine import combine_inputs_with_outputs

    text = path.with_suffix(".text.md")
    if not text.is_file():
        raise ValueError(f"there is no {text.name} beside the notebook: make text writes it")
    old = nbformat.read(path, as_version=4) if path.is_file() else nbformat.v4.new_notebook(metadata=METADATA)
    new = combine_inputs_with_outputs(jupytext.read(text, fmt="md"), old, fmt="md")
    sources = {cell.get("id"): cell.source for cell in old.cells}
    for cell in new.cells:  # jupytext keeps the outputs of cells that are merely alike
        if cell.cell_type == "code" and cell.source != sources.get(cell.get("id")):
            cell.outputs, cell.execution_count = [], None
    changed = write(path, normalised(new))
    text.unlink()
    if source_hash(new) != source_hash(old):
        return f"{path.name}: code changed; renew its outputs: make notebooks CHAPTER={path.parent.name}/{path.stem}"
    return f"{path.name}: " + ("text changed" if changed else "unchanged")


if __name__ == "__main__":
    sys.exit(main())
