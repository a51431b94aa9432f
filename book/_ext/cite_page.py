"""How to cite the book, from CITATION.cff, what was set for paper, and the whole site as one file to take along."""

from __future__ import annotations

import posixpath
import shutil
import tomllib
import zipfile
from datetime import date
from pathlib import Path

import templates
from sphinx.application import Sphinx

from foldbook import plan

PRINTED = "_build/print"  # where `make report` and `make pdf` write
WHOLE = "how-networks-fold.zip"
LINK = '<a class="whole-site" href="../{name}" download>{name}</a>'
HERE = "the folder that you are reading"  # what stands for the link in the copy itself
WITHIN = {"techreport": "institution", "incollection": "booktitle", "misc": "howpublished"}  # the field that names the book
MOMENT = (1980, 1, 1, 0, 0, 0)  # no clock: two builds of the same site make the same file


def write(site) -> str:
    """The entries of the book, of the report, of a chapter and of a verdict in BibTeX."""
    cited = plan.read(site.root / "CITATION.cff")
    report = next(other for other in cited["references"] if other["type"] == "report")
    chapter = next(iter(plan.chapters()))
    row = next(row for row in site.ledger if row["chapter"] == chapter and row["verdict"] not in ("open", "used"))
    entries = {
        "book": entry(site.root, "misc", "", cited["title"]),
        "report": entry(site.root, "techreport", "-report", report["title"]),
        "chapter": page(site.root, chapter),
        "verdict": verdict(site.root, row["id"], row["title"], row["verdict"]),
    }
    return templates.fill("cite.md", **entries, **release(site.root))


def entry(root: Path, kind: str, name: str, title: str, url: str | None = None) -> str:
    """The book or a part of it in BibTeX, with version and date; `name` ends the key."""
    cited, of = plan.read(root / "CITATION.cff"), release(root)
    authors = [author.get("name") or f"{author['family-names']}, {author['given-names']}" for author in cited["authors"]]
    within = {} if title == cited["title"] else {WITHIN[kind]: cited["title"]}
    when = {"year": of["year"], "date": of["date"], "version": of["version"]}
    fields = {"title": title, **within, "author": f"{{{' and '.join(authors)}}}", **when, "url": url or cited["url"]}
    return templates.render("entry.bib", kind=kind, key=f"foldnet{of['year']}{name}", fields=fields)


def page(root: Path, name: str) -> str:
    """The entry of a story or of its checks; its address is that of the notebook."""
    url = f"{plan.read(root / 'CITATION.cff')['url']}/blob/main/book/{name}.ipynb"
    return entry(root, "incollection", f"-{name.split('/')[1]}", plan.titles()[name], url)


def verdict(root: Path, claim: str, title: str, word: str, url: str | None = None) -> str:
    """The entry of a verdict. The ledger has one with words to be replaced."""
    return entry(root, "misc", f"-{claim}", f"{claim}, {title}: {word}", url)


def release(root: Path) -> dict[str, str]:
    """Version and date of the book: no clock is asked, so that two builds of it are the same."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    released = plan.read(root / "CITATION.cff")["date-released"]
    day = released if isinstance(released, date) else date.fromisoformat(released)
    return {"version": version, "date": day.isoformat(), "day": f"{day.day} {day:%B %Y}", "year": str(day.year)}


def printed(site) -> str:
    """Links to the report and the print edition, as far as they were set before the site was built."""
    there = {path.stem: f"{path.stem}.pdf" for path in sorted((site.root / PRINTED).glob("*.pdf"))}
    up = posixpath.relpath(".", posixpath.dirname(site.docname))
    return templates.fill("printed.md", there=there, up=up)


def whole(site) -> str:
    """A link to the file that `pack` makes once the site is built."""
    return f"The whole site in one file: {LINK.format(name=WHOLE)}."


def pack(app: Sphinx, error: Exception | None) -> None:
    """What was printed beside the first page, and the whole site as a zip."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for path in (Path(app.srcdir) / PRINTED).glob("*.pdf"):
        shutil.copy(path, out)
    link = LINK.format(name=WHOLE).encode()
    with zipfile.ZipFile(out / WHOLE, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        for path in sorted(p for p in out.rglob("*") if p.is_file() and p.name not in (WHOLE, ".buildinfo")):
            info = zipfile.ZipInfo(f"how-networks-fold/{path.relative_to(out).as_posix()}", MOMENT)
            info.compress_type = zipfile.ZIP_DEFLATED
            content = path.read_bytes()
            file.writestr(info, content.replace(link, HERE.encode()) if path.suffix == ".html" else content)


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", pack, priority=950)  # after what makes the pages lighter
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
