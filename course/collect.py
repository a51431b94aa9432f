"""Find the submissions in a folder, as students name and platforms pack them; each file is a row, whatever it is."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from .errors import CourseError
from .roster import MOODLE

LARGEST = 300_000_000  # bytes of a submitted file, outputs included
LONGEST = 200  # bytes of a name here: what is made of it must still be a file's name
NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")
NO_NOTEBOOKS = {
    **{".py": "a script", ".html": "a printed page", ".pdf": "a printed page", ".docx": "a text document", ".md": "a text"},
    **dict.fromkeys((".zip", ".tar", ".gz", ".tgz", ".rar", ".7z"), "an archive that is still packed"),
}
LEFT_BY_SYSTEMS = (".DS_Store", ".git", ".ipynb_checkpoints", "__MACOSX")


@dataclass
class Handed:
    """One student's submission: the name as it was handed in, the name here, the file, what there is to say about it, and whom
    its notebook was made for, where each has their own."""

    name: str
    path: Path | None
    student: str = ""
    notes: list[str] = field(default_factory=list)
    digest: str = ""
    seed: int | None = None
    made_for: str = ""


def collect(folder: Path, name: str, known: dict[str, str] | None = None) -> tuple[list[Handed], list[str]]:
    """The submissions in a folder, `anna.ipynb` or `anna/.../ps2.ipynb`, and the files that are none.

    A text that a student typed into Moodle's page, beside the file, is none; where it is all there is, its row says so.
    `known` has the names of students that were graded before, by the names under which they handed in.
    """
    if not folder.is_dir():
        raise CourseError(f"there is no folder {folder}")
    found, others, beside = [], [], []
    paths = sorted(folder.iterdir())
    with_file = {of["id"] for path in paths if (of := MOODLE.match(path.name)) and of["kind"] == "file"}
    for path in paths:
        if path.name.startswith("._") or path.name in LEFT_BY_SYSTEMS:
            continue
        ending = kind(path.name)
        if path.is_symlink():
            found.append(Handed(path.name, None, notes=["a link is no submission"]))
        elif (typed := MOODLE.match(path.name)) and typed["kind"] == "onlinetext":
            if typed["id"] in with_file:
                beside.append(path.name)
            else:
                found.append(Handed(path.name, None, notes=["only an online text was handed in: ask for the .ipynb file"]))
        elif path.is_dir():
            found.append(chosen(path, name))
        elif not path.is_file():
            found.append(Handed(path.name, None, notes=["a pipe or a device is no submission"]))
        elif ending in NOTEBOOKS:
            said = [] if path.name.endswith(".ipynb") else [f"the file is named {path.name[-len(ending) :]}"]
            found.append(Handed(path.name, path, notes=said))
        elif ending:
            said = f"{NO_NOTEBOOKS[ending]} ({ending}) is no notebook: ask for the .ipynb file"
            found.append(Handed(path.name, None, notes=[said]))
        else:
            others.append(path.name)
    if not found:
        raise CourseError(f"there is no notebook in {folder}: one file for each student, or one folder with a notebook in it")
    taken = {alike(student): handed for handed, student in (known or {}).items()}
    for handed in found:
        handed.student = (known or {}).get(handed.name) or called(handed.name, taken)
        taken[alike(handed.student)] = handed.name
    return found, others + beside


def kind(name: str) -> str:
    """The ending that says what a file is; nothing where it says nothing to us."""
    endings = (*NOTEBOOKS, *NO_NOTEBOOKS)
    return next((ending for ending in endings if name.lower().endswith(ending)), "")


def called(name: str, taken: dict[str, str]) -> str:
    """A name for a student that is a file's name everywhere, and nobody else's."""
    stem = name[: len(name) - len(kind(name))] or name
    plain = re.sub(r"[^\w.@-]", "_", unicodedata.normalize("NFC", stem)).strip(".-")[:80]
    plain = plain.encode()[:LONGEST].decode(errors="ignore") or "nameless"
    if taken.get(alike(plain), name) == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def alike(name: str) -> str:
    """What two names have in common that become one file on some system."""
    return unicodedata.normalize("NFKC", name).casefold()


def chosen(folder: Path, name: str) -> Handed:
    """The one notebook of a student's folder: the one with the set's name, or the only one there is."""
    files = [p for p in sorted(folder.rglob("*")) if kind(p.name) in NOTEBOOKS and ".ipynb_checkpoints" not in p.parts]
    files = [p for p in files if p.is_file() and not p.is_symlink() and p.resolve().is_relative_to(folder.resolve())]
    named = [p for p in files if p.name[: -len(kind(p.name))].lower() == name]
    if len(named) == 1 or len(files) == 1:
        return Handed(folder.name, (named or files)[0])
    what = "no notebook" if not files else f"{len(files)} notebooks and not one named {name}.ipynb"
    rest = sorted({NO_NOTEBOOKS[k] for p in folder.rglob("*") if (k := kind(p.name)) in NO_NOTEBOOKS})
    return Handed(folder.name, None, notes=[f"{what} in the folder" + (f", but {', '.join(rest)}" if rest and not files else "")])


def digest(path: Path | None) -> str:
    """What tells one file from another; nothing for no file, and for one that cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path and path.stat().st_size <= LARGEST else ""
    except OSError:
        return ""
