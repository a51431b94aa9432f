"""Bring a submission back into the shape of its problem set, whatever an editor or a student did to the file.

Editors drop cell metadata and ids, students delete, copy, split and edit cells. Each cell of the set is looked for by its
metadata, by its id, by its text and by the names it defines; what is given is put back as it was, what is missing is added
empty, and everything else a student wrote stays where it is.
"""

from __future__ import annotations

import ast
import difflib
import json
import re

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from foldbook.notebooks import METADATA

from . import source

MOST_CELLS, MOST_TEXT, MOST_PICTURES = 400, 1_000_000, 20_000_000
PIP = re.compile(r"^([ \t]*)([!%][ \t]*pip[ \t]+install\b.*)$", re.MULTILINE)  # there is no network
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class Unreadable(Exception):
    """A file that is no notebook; the message says why."""


def decoded(data: bytes) -> str:
    """The text of a file, as editors on all systems write it."""
    coding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(coding)
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def clean(value) -> str:
    """A text without halves of characters, which no file can hold."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read(text: str) -> list[dict]:
    """The cells of a notebook file as plain data: type, source, metadata, id and pasted pictures; nothing else is believed."""
    try:
        document = json.loads(text)
        if document.get("nbformat", 4) < 4:
            document = nbformat.convert(nbformat.from_dict(document), 4)
        cells = [_cell(cell) for cell in document["cells"]]
    except Exception as error:  # whatever is in a file, it stops its own reading and no more
        raise Unreadable(f"the file is no notebook ({type(error).__name__})") from None
    if len(cells) > MOST_CELLS or sum(len(cell["source"]) for cell in cells) > MOST_TEXT:
        raise Unreadable("the notebook is larger than any answer can be, also without its outputs")
    if sum(len(picture) for cell in cells for picture in cell["pictures"].values()) > MOST_PICTURES:
        raise Unreadable(f"the pasted pictures have more than {MOST_PICTURES // 10**6} MB")
    return cells


def _cell(cell: dict) -> dict:
    lines = cell.get("source", "")
    meta = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    written = "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
    pasted = given if isinstance(given := cell.get("attachments"), dict) else {}
    pictures = {
        clean(name): data
        for name, kinds in pasted.items()
        for data in (kinds.values() if isinstance(kinds, dict) else ())
        if isinstance(data, str)
    }
    kind = str(cell.get("cell_type"))
    return {"type": kind, "source": clean(written), "meta": meta, "id": clean(cell.get("id", "")), "pictures": pictures}


def restore(problems: source.ProblemSet, text: str, release: nbformat.NotebookNode) -> tuple[nbformat.NotebookNode, list[str]]:
    """The submission with every cell of the set once, in its place, with its metadata; and what had to be put right."""
    theirs = read(text)
    wanted = {cell.name: cell for cell in problems.cells if cell.kind != "distractor"}
    other = another(problems, theirs)  # of which no text is an answer here, whatever its place and its name
    match = matched(theirs, {name: w for name, w in wanted.items() if not other or w.code or w.kind == "text"})
    made = {cell.id: cell for cell in release.cells}
    elsewhere = answered_elsewhere(theirs, wanted, match)
    notes = differences(theirs, wanted, match, elsewhere)
    cells, placed, order = [], set(elsewhere), list(made)
    for index, cell in enumerate(theirs):
        name = match.get(index)
        if name:  # the cells of the set that are missing before this one come first
            for earlier in order[: order.index(name)]:
                if earlier not in placed and earlier not in match.values():
                    cells.append(made[earlier])
                    placed.add(earlier)
            if wanted[name].code and wanted[name].kind in ("given", "test") and edited(cell, wanted[name]):
                cells.append(new_code_cell(cell["source"], id=f"own-{index}"))  # what was added to it is not lost
            cells.append(answered(made[name], wanted[name], theirs, index, match))
            placed.add(name)
        elif index in match:
            continue  # more of the answer above it
        elif cell["source"].strip() and not is_setup(cell, made.get("setup")):
            cells.append(own(cell, index))
    cells += [made[name] for name in order if name not in placed]
    if colab := [cell for cell in cells if cell.cell_type == "code" and cell.id != "setup" and "google.colab" in cell.source]:
        notes.append(f"google.colab is not here, its calls do nothing: {len(colab)} cell{'s' * (len(colab) > 1)}")
    return new_notebook(cells=[nbformat.from_dict(cell) for cell in cells], metadata=METADATA), notes + other


def is_setup(cell: dict, setup: nbformat.NotebookNode | None) -> bool:
    """Whether a cell is the one that installs the book in Colab, which is put back as it was."""
    tags = cell["meta"].get("tags")
    marked = cell["id"] == "setup" or (isinstance(tags, list) and "setup" in tags)
    return marked or (setup is not None and cell["source"].strip() == setup.source.strip())


def own(cell: dict, index: int) -> nbformat.NotebookNode:
    code = PIP.sub(r"\1pass  # not here: \2", cell["source"])
    made = (
        new_code_cell(code, id=f"own-{index}") if cell["type"] == "code" else new_markdown_cell(cell["source"], id=f"own-{index}")
    )
    return pictured(made, [cell])


def pictured(made: nbformat.NotebookNode, cells: list[dict]) -> nbformat.NotebookNode:
    """A text cell with its pasted pictures; whether they are pictures is seen when they are shown."""
    pictures = {name: {"image/png": data} for cell in cells for name, data in cell["pictures"].items()}
    if pictures and made.cell_type == "markdown":
        made.attachments = pictures
    return made


def answered(made, wanted: source.Cell, theirs: list[dict], index: int, match: dict) -> nbformat.NotebookNode:
    """The cell of the set, with the student's text where it is an answer; a text goes on in the cells below it."""
    cell = nbformat.from_dict(dict(made))
    if wanted.kind != "answer":
        return cell
    parts = [theirs[index]]
    if not wanted.code:
        below = next((i for i in range(index + 1, len(theirs)) if match.get(i)), len(theirs))
        more = [i for i in range(index + 1, below) if theirs[i]["type"] != "code" and theirs[i]["source"].strip()]
        match |= dict.fromkeys(more, "")
        parts += [theirs[i] for i in more]
    written = [part["source"] for part in parts]
    if len(written) > 1 and written[0].strip() == wanted.public.strip():
        written = written[1:]
    cell.source = "\n\n".join(written)
    return pictured(cell, parts)


def answered_elsewhere(theirs: list[dict], wanted: dict[str, source.Cell], match: dict[int, str]) -> set[str]:
    """Answers without a cell of their own whose names another cell defines: their stubs would undo them."""
    defined = set().union(*(top_level(cell["source"]) for cell in theirs if cell["type"] == "code"))
    missing = {name: w for name, w in wanted.items() if w.kind == "answer" and w.code and name not in match.values()}
    return {name for name, w in missing.items() if w.defines and set(w.defines) <= defined}


def matched(theirs: list[dict], wanted: dict[str, source.Cell]) -> dict[int, str]:
    """Which of the student's cells is which cell of the set: the surest signs first, each cell once."""
    found: dict[int, str] = {}
    for sign in (by_metadata, by_id, by_text, by_names, by_likeness):
        for index, cell in enumerate(theirs):
            if index in found:
                continue
            left = {name: w for name, w in wanted.items() if name not in found.values() and fits(cell, w)}
            name = sign(cell, left)
            if name:
                if sign is by_names:  # of two cells that define the same, the last one counts
                    later = [i for i in range(index + 1, len(theirs)) if i not in found and by_names(theirs[i], left) == name]
                    index = later[-1] if later else index
                found[index] = name
    return found | by_place(theirs, wanted, found)


def fits(cell: dict, wanted: source.Cell) -> bool:
    return wanted.code == (cell["type"] == "code")


def by_metadata(cell: dict, wanted: dict[str, source.Cell]) -> str | None:
    meta = cell["meta"].get("nbgrader")
    name = meta.get("grade_id") if isinstance(meta, dict) else None
    return name if isinstance(name, str) and name in wanted else None


def by_id(cell: dict, wanted: dict[str, source.Cell]) -> str | None:
    return next((name for name in (cell["id"], cell["meta"].get("id")) if isinstance(name, str) and name in wanted), None)


def by_text(cell: dict, wanted: dict[str, source.Cell]) -> str | None:
    text = cell["source"].strip()
    with_signs = (name for name, w in wanted.items() if w.code or w.kind != "answer")  # all text stubs read the same
    return next((name for name in with_signs if wanted[name].public.strip() == text), None)


def by_names(cell: dict, wanted: dict[str, source.Cell]) -> str | None:
    """An answer cell defines what its stub defines."""
    defined = top_level(cell["source"]) if cell["type"] == "code" else set()
    return next((name for name, w in wanted.items() if w.kind == "answer" and w.defines and set(w.defines) <= defined), None)


def by_likeness(cell: dict, wanted: dict[str, source.Cell]) -> str | None:
    """A given or test cell that was edited is still more like itself than anything else."""
    left = {name: w.public for name, w in wanted.items() if w.kind in ("test", "given", "text")}
    scores = {name: difflib.SequenceMatcher(None, text, cell["source"]).quick_ratio() for name, text in left.items()}
    best = max(scores, key=scores.__getitem__, default="")
    return best if best and scores[best] > 0.9 else None


def by_place(theirs: list[dict], wanted: dict[str, source.Cell], found: dict[int, str]) -> dict[int, str]:
    """A text answer has no sign of its own: it is the first text between the cells that stand around it in the set."""
    places, names, more = {name: index for index, name in found.items()}, list(wanted), {}
    for name in names:
        if wanted[name].kind == "answer" and name not in places:
            before = max((places[n] for n in names[: names.index(name)] if n in places), default=-1)
            behind = min((places[n] for n in names[names.index(name) :] if n in places), default=len(theirs))
            free = [i for i in range(before + 1, behind) if i not in found and i not in more and fits(theirs[i], wanted[name])]
            if free and not wanted[name].code:
                more[free[0]] = name
                places[name] = free[0]
    return more


def top_level(code: str) -> set[str]:
    """The names that code defines at its top level; by the letters where it does not parse."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {a or b for a, b in re.findall(r"^(?:def|class)\s+(\w+)|^(\w+)\s*=[^=]", code, re.MULTILINE)}
    names, left = set(), list[ast.stmt | ast.ExceptHandler](body)
    while left:
        node = left.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(node.name)
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        left += [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))]
    return names


def edited(cell: dict, wanted: source.Cell) -> bool:
    return cell["source"].strip() != wanted.public.strip()


def differences(theirs: list[dict], wanted: dict[str, source.Cell], match: dict[int, str], elsewhere: set[str]) -> list[str]:
    """What an instructor may want to know: lost metadata, changed tests, missing answers."""
    notes = []
    lost = [name for index, name in match.items() if wanted[name].kind != "text" and not by_metadata(theirs[index], wanted)]
    if lost:
        notes.append(f"cell metadata restored for {len(lost)} cells")
    changed = [name for i, name in match.items() if wanted[name].kind in ("test", "given") and edited(theirs[i], wanted[name])]
    if changed:
        notes.append(f"changed cells put back: {', '.join(sorted(changed))}")
    missing = [name for name, w in wanted.items() if w.kind in ("answer", "test") and name not in match.values()]
    missing = [name for name in missing if name not in elsewhere]
    if missing:
        notes.append(f"missing cells put back: {', '.join(missing)}")
    answers = [edited(theirs[index], wanted[name]) for index, name in match.items() if wanted[name].kind in ("answer", "text")]
    if answers and not any(answers):
        notes.append("nothing is filled in: the notebook is as it was given out")
    return notes


def another(problems: source.ProblemSet, cells: list[dict]) -> list[str]:
    """A note that says which set a file is, where it has few of this set's texts and more of another's."""
    theirs = {cell["source"].strip() for cell in cells}

    def shared(cells) -> int:
        return sum(cell.source.strip() in theirs for cell in cells if cell.kind == "text")

    mine = shared(problems.cells)
    if not theirs or 2 * mine > len(problems.of("text")):
        return []
    found = {name: shared(source.read(name).cells) for name in source.names() if name != problems.name}
    best = max(found, key=found.__getitem__, default="")
    return [f"this is {best}, not {problems.name}"] if found.get(best, 0) > mine else []
