"""Write what follows from book/plan.yml, the table of contents and the README's map: `python -m tools.plan [--check]`."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from foldbook import plan

ROOT = Path(__file__).resolve().parent.parent
MADE = "# Made from book/plan.yml and the notebooks that are there: `make plan` writes it again.\n"
MAP = re.compile(r"(?<=<!-- map: made by make plan -->\n).*?(?=<!-- end of map -->)", re.DOTALL)


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Write _toc.yml and the map of the README from book/plan.yml.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something is out of date")
    check = parser.parse_args(argv).check
    stale = {path: text for path, text in made(root).items() if path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        print(f"{path.name} is out of date: make plan writes it again" if check else f"wrote {path.name}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return bool(check and stale)


def made(root: Path) -> dict[Path, str]:
    """The files that follow from the plan, as they should read."""
    readme = root / "README.md"
    return {
        root / "_toc.yml": table_of_contents(root / "book"),
        readme: MAP.sub(lambda _: book_map(root / "book"), readme.read_text(encoding="utf-8")),
    }


def table_of_contents(book: Path) -> str:
    """What comes first, the parts with the stories that are there, then what follows them, the checks under one entry."""
    lines = ["format: jb-book", "root: book/index", "parts:", *_listed("before", book)]
    for part in plan.parts().values():
        written = [chapter for chapter in part.chapters if chapter.pages(book)]
        lines += [f"  - caption: {part.title}", "    chapters:"] if written else []
        if written and (book / part.folder / "index.md").is_file():
            lines += _entry("      ", f"{part.folder}/index", "About this part")
        for chapter in written:
            lines += _entry("      ", chapter.pages(book)[0], chapter.title)
    return MADE + "\n".join([*lines, *_listed("after", book)]) + "\n"


def _listed(key: str, book: Path) -> list[str]:
    """What stands before or after the parts; an entry that has pages `below` it folds."""
    lines = []
    for caption, pages in plan.entries()[key].items():
        lines += [f"  - caption: {caption}", "    chapters:"]
        for page, entry in pages.items():
            below = entry["below"] if isinstance(entry, dict) else {}
            lines += _entry("      ", page, entry["title"] if isinstance(entry, dict) else entry)
            lines += ["        sections:"] if below else []
            for name, title in below.items():
                listed = _checks(book) if name == "CHECKS" else {name: title}
                lines += [line for one, said in listed.items() for line in _entry("          ", one, said)]
    return lines


def _checks(book: Path) -> dict[str, str]:
    """The checks pages that are there, with their titles."""
    pages = [page for chapter in plan.chapters().values() for page in chapter.pages(book) if page.endswith(plan.CHECKS)]
    return {page: plan.titles()[page] for page in pages}


def _entry(indent: str, page: str, title: str | None) -> list[str]:
    quoted = f'"{title}"' if title and ":" in title else title
    return [f"{indent}- file: book/{page}"] + ([f"{indent}  title: {quoted}"] if title else [])


def book_map(book: Path) -> str:
    """The parts and their chapters as a table, those that are there in bold."""
    rows = ["| part | what it is about | chapters |", "| --- | --- | --- |"]
    for part in plan.parts().values():
        names = [(chapter.name.split("/")[1], chapter.pages(book)) for chapter in part.chapters]
        chapters = ", ".join(f"**{name}**" if pages else name for name, pages in names)
        rows.append(f"| `{part.folder}` | {part.about.removesuffix('.')} | {chapters} |")
    return "\n" + "\n".join(rows) + "\n\n"


if __name__ == "__main__":
    sys.exit(main())
