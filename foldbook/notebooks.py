"""A notebook as it is stored: run, with its outputs, without what belongs to one machine or one run."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

import nbformat

WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
FOLD_TAGS = {"folded", "setup"}
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}  # Colab's way and JupyterLab's; the site reads the tag
CELL_TIMEOUT = 600
START_TIMEOUT = 600  # a kernel on a machine that stands still is silent, and comes
MADE_FROM = "foldnet"  # in the metadata: what code the stored outputs were made from

SETUP = """\
# @title Setup: installs the book's packages in Colab and does nothing elsewhere
import sys

VERSION = "main"  # or a tag or a commit; what was installed before is replaced
if "google.colab" in sys.modules:
    %pip uninstall -qqy foldnet foldbook
    %pip install -q "foldnet @ git+{address}@{{VERSION}}" "foldbook @ git+{address}@{{VERSION}}#subdirectory=foldbook\""""


def current_address(root: Path) -> str:
    """The repository's address, from the one place where it stands."""
    import yaml

    return yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]


def setup_cell(address: str) -> str:
    """The first code cell of every chapter."""
    return SETUP.format(address=address)


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
    notebook = normalised(notebook)
    notebook.metadata[MADE_FROM] = source_hash(notebook)
    return notebook


def plain(text: str) -> str:
    """Without the colours of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def normalised(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The same notebook without what belongs to one run: machine, times, widget state."""
    made_from = {MADE_FROM: notebook.metadata[MADE_FROM]} if MADE_FROM in notebook.metadata else {}
    notebook.metadata = nbformat.from_dict({**METADATA, **made_from})
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
