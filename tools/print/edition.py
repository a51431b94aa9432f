"""The print edition: every story in the order of the plan, solutions and answers at the end, and an index of definitions."""

from __future__ import annotations

from pathlib import Path

from foldbook import plan

from . import stored, typeset


def write(out: Path, chapters: list[str] | None = None) -> Path:
    """The edition as a PDF, or that of some chapters."""
    document = typeset.Document(out / "how-networks-fold")
    pictures = stored.Pictures(document.folder)
    back, parts = [], 0
    for part in plan.parts().values():
        there = [c for c in part.chapters if c.pages(typeset.ROOT / "book") and (chapters is None or c.name in chapters)]
        if there:
            document.add(f"# {part.title}\n\n{part.about}", part.folder)
            parts += 1
        for chapter in there:
            told = stored.story(typeset.ROOT / "book" / f"{chapter.name}.ipynb", pictures)
            document.add(told.text, chapter.name, shift=1)
            back += [f"## {chapter.title}", *told.back] if told.back else []
    document.add("\n\n".join(["# Solutions and answers", *back]), "back")
    cff = plan.read(typeset.ROOT / "CITATION.cff")
    return document.write(
        "book",
        pictures.alts,
        title=cff["title"],
        author=cff["authors"][0]["name"],
        version=cff["version"],
        date=str(cff["date-released"]),
        url=cff["url"],
        parts=parts,
        definitions=typeset.index(document.labels.items(), "Definition"),
    )
