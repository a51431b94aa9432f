"""The way through the book: one name for each chapter, *next* from story to story, and version, date and how to cite at the foot.

A chapter's title in book/plan.yml is its name in the contents, in *next*, in the search, in the title of the window and in links
whose text is the heading of its story. The heading itself, often a question, stands on the page below the name. *Next* leads from
a story to the next story; checks lead back to their story and on to the next one; all other pages follow each other. The last
story of a part ends with how one did with the guesses of the part.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import cite_page
import templates
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from foldbook import plan
from foldbook.guess import tally

LAST = "found"  # where the last story leads


def stories(pages) -> list[str]:
    """The stories that are there, in the order of the plan, as book/splines/breakpoints."""
    return [name for chapter in plan.chapters() if (name := f"book/{chapter}") in pages]


def neighbours(page: str, contents: list[str]) -> tuple[str | None, str | None]:
    """What comes before and after a page, of the pages in the order of the contents."""
    told = stories(contents)
    name = page.removeprefix("book/")
    if page == contents[0]:
        return None, next(iter(told), None)
    if page in told:
        i = told.index(page)
        return (told[i - 1] if i else contents[0]), [*told, f"book/{LAST}"][i + 1]
    if name.endswith(plan.CHECKS) and f"book/{plan.chapter_of(name)}" in told:
        story = f"book/{plan.chapter_of(name)}"
        return story, neighbours(story, contents)[1]
    if name.endswith("/index") and name.split("/")[0] in plan.parts():
        mine = [story for story in told if story.startswith(page.removesuffix("index"))]
        return contents[0], next(iter(mine), None)
    others = [p for p in contents if p not in told and not p.endswith(("/index", plan.CHECKS))]
    if page not in others:
        return None, None
    i = others.index(page)
    return (others[i - 1] if i else contents[0]), [*others, None][i + 1]


def contents(env: BuildEnvironment) -> list[str]:
    """All pages in the order of the contents, the title page first."""
    found, seen = [], set()

    def walk(page: str) -> None:
        if page not in seen and page in env.all_docs:
            seen.add(page)
            found.append(page)
            for child in env.toctree_includes.get(page, ()):
                walk(child)

    walk(env.config.root_doc)
    return found


def name_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Stories and checks go by the titles of the plan, wherever Sphinx names a page."""
    for page, title in plan.titles().items():
        if f"book/{page}" in env.titles:
            for names in (env.titles, env.longtitles):
                names[f"book/{page}"] = nodes.title("", "", nodes.Text(title))


def name_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """A link to a story or to its checks whose text is the heading there shows the title; the page itself shows it above."""
    named = {app.builder.get_relative_uri(docname, f"book/{p}"): (p, t) for p, t in plan.titles().items()}
    for link in doctree.findall(nodes.reference):
        page, title = named.get(link.get("refuri", ""), (None, None))
        if page and link.astext() != title and link.astext() == heading(app.env, f"book/{page}"):
            link.clear()
            link += nodes.Text(title)
    name = docname.removeprefix("book/")
    first = doctree.next_node(nodes.section)
    if name in plan.titles() and first is not None:
        first.insert(0, nodes.raw("", _above(app, docname), format="html"))
        if name in {part.chapters[-1].name for part in plan.parts().values()}:
            first.insert(len(first) - 1, nodes.raw("", tally(name.split("/")[0]).html, format="html"))  # above the references


def heading(env: BuildEnvironment, page: str) -> str | None:
    return vars(env).get("foldnet_headings", {}).get(page)


def note_heading(app: Sphinx, doctree: nodes.document) -> None:
    """Remember what a page calls itself."""
    if title := doctree.next_node(nodes.title):
        vars(app.env).setdefault("foldnet_headings", {})[app.env.docname] = title.astext()


def _above(app: Sphinx, docname: str) -> str:
    """The line above the heading: part and title of a story, with its checks; of checks, the story they belong to."""
    name = docname.removeprefix("book/")
    chapter = plan.chapters()[plan.chapter_of(name)]
    part = plan.parts()[chapter.name.split("/")[0]]

    def to(page: str) -> str | None:
        there = f"book/{page}" in app.env.found_docs
        return app.builder.get_relative_uri(docname, f"book/{page}") if there else None

    pages = {"part_page": to(f"{part.folder}/index"), "story": to(chapter.name), "checks": to(chapter.name + plan.CHECKS)}
    return templates.render("above.html", part=part, chapter=chapter, is_story=name == chapter.name, **pages)


def frame(app: Sphinx, pagename: str, template: str, context: dict, doctree) -> None:
    """What comes before and after a page, and what stands at its foot."""
    there = _contents(app)
    if pagename in there:
        for key, page in zip(("prev", "next"), neighbours(pagename, there)):
            context[key] = page and {"link": app.builder.get_relative_uri(pagename, page), "title": _title(app, page)}
            context[f"{key}_title"] = None
    root, name = Path(app.srcdir), pagename.removeprefix("book/")
    values = {"licence": app.config.html_theme_options["extra_footer"], **cite_page.release(root)}
    values["entry"] = cite_page.page(root, name) if name in plan.titles() else None
    values["cite"] = app.builder.get_relative_uri(pagename, "book/cite") if "book/cite" in app.env.found_docs else None
    context["theme_extra_footer"] = templates.render("foot.html", **values)


def _contents(app: Sphinx) -> list[str]:
    if "foldnet_contents" not in vars(app):
        vars(app)["foldnet_contents"] = contents(app.env)
    return vars(app)["foldnet_contents"]


def _title(app: Sphinx, page: str) -> str:
    """A page as the contents call it."""
    for caption in (*plan.entries()["before"].values(), *plan.entries()["after"].values()):
        for name, entry in caption.items():
            below = entry["below"] if isinstance(entry, dict) else {}
            said = {name: entry["title"] if isinstance(entry, dict) else entry, **below}.get(page.removeprefix("book/"))
            if said:
                return escape(said)
    return escape(app.env.titles[page].astext())


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", note_heading)
    app.connect("env-updated", name_pages)
    app.connect("doctree-resolved", name_links)
    app.connect("html-page-context", frame, priority=900)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
