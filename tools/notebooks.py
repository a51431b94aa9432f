"""Run chapters and keep their outputs, or edit them as text: `python -m tools.notebooks run|text|back|lines [CHAPTER ...]`.

A chapter is named by its path below book/, as splines/breakpoints. Stored notebooks hold no times, no machine's state and no
widget state, so that a run that changes nothing changes no byte.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat

from foldbook.notebooks import FOLDED, METADATA, CellFailed, execute, normalised, source_hash, write

ROOT = Path(__file__).resolve().parent.parent


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
    from foldbook.ledger import notebooks

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
        print(f"{seconds:.1f} s" + ("" if changed else ", unchanged"))
    if len(paths) > 1:
        print(f"{len(paths) - len(failed)} of {len(paths)} notebooks ran, {time.monotonic() - start:.0f} s together")
    if failed:
        print(f"failed and left as they were: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


def lines_again(path: Path) -> str:
    """Judge the checks of a notebook again from their records, as a run would, when the rules or the wording changed."""
    from foldbook.claims import MIME, from_json, judged, shown

    notebook = nbformat.read(path, as_version=4)
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if MIME in output.get("data", {}):
            output["data"].update(shown(judged(from_json(output["data"][MIME]))))
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
