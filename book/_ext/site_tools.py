"""Small things the whole site needs: an anchor for each notebook cell, no line break before %, docstrings read as Markdown."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ARGUMENT = re.compile(r"^(\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*): ")
CLAIM = re.compile(r'id="(claim-[\w.-]+)"')
EXACT = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


class CellAnchors(SphinxTransform):
    """`cell-12` is the anchor of the cell with index 12 in the notebook file, whatever was hidden or left out before it.

    A verdict brings its own anchor, `claim-S3-thm-cauchy`; pages may link to either.
    """

    default_priority = 400

    def apply(self, **_):
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") == "cell_code":
                cell["ids"].append(f"cell-{cell['cell_index']}")
                shown = "".join(output.astext() for output in cell.findall(nodes.raw))
                for anchor in (cell["ids"][-1], *CLAIM.findall(shown)):
                    known_anchor(self, anchor, cell.line, anchor)


def known_anchor(transform: SphinxTransform, anchor: str, line: int | None, title: str) -> None:
    """Links to an anchor resolve: from other pages by the environment, from its own page by the document."""
    slugs = transform.env.metadata[transform.env.docname].setdefault("myst_slugs", {})
    own = getattr(transform.document, "myst_slugs", {})
    slugs[anchor] = own[anchor] = (line, anchor, title)
    transform.document.myst_slugs = own


class GluedPercent(SphinxTransform):
    """A number and its per cent sign stay on one line."""

    default_priority = 400

    def apply(self, **_):
        for text in list(self.document.findall(nodes.Text)):
            glued = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)
            if glued != text and isinstance(text.parent, nodes.TextElement) and not isinstance(text.parent, EXACT):
                text.parent.replace(text, nodes.Text(glued))


def markdown_docstring(app: Sphinx, what, name, obj, options, lines: list[str]) -> None:
    """Docstrings are written in plain Markdown: code in single backticks, arguments as `name: text`, examples as doctests."""
    paragraphs = re.split(r"\n(?=\n)|(?<=\n)\n", "\n".join(lines))
    made = (p if p.lstrip().startswith(">>> ") else _as_rst(_with_arguments(p)) for p in paragraphs)
    lines[:] = "\n".join(made).split("\n")


def _with_arguments(paragraph: str) -> str:
    """A paragraph that describes arguments, a line each with what follows indented, as a list; any other as it is."""
    rows = re.sub(r"\n +", " ", paragraph).split("\n")
    if not all(ARGUMENT.match(row) for row in rows if row):
        return paragraph
    return "\n".join(ARGUMENT.sub(lambda names: f"- {_as_code(names[1])}: ", row) for row in rows)


def _as_code(names: str) -> str:
    return ", ".join(f"`{name.strip()}`" for name in names.split(","))


def _as_rst(text: str) -> str:
    pieces = re.split(r"(`+[^`]+`+)", text)
    plain = [re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", piece) for piece in pieces[::2]]
    code = [f"``{piece.strip('`')}``" for piece in pieces[1::2]] + [""]
    return "".join(a + b for a, b in zip(plain, code))


def setup(app: Sphinx) -> dict:
    app.add_transform(CellAnchors)
    app.add_transform(GluedPercent)
    app.connect("autodoc-process-docstring", markdown_docstring)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
