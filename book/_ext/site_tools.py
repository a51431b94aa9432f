"""Small things the whole site needs: an anchor for each notebook cell, no line break before %, docstrings read as Markdown."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

CLAIM = re.compile(r'id="(claim-[\w.-]+)"')
EXACT = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


class CellAnchors(SphinxTransform):
    """`cell-12` is the anchor of the cell with index 12 in the notebook file, whatever was hidden or left out before it.

    A verdict brings its own anchor, `claim-S3-thm-cauchy`; pages may link to either.
    """

    default_priority = 400

    def apply(self):
        for cell in self.document.findall(nodes.container):
            if cell.get("nb_element") == "cell_code":
                cell["ids"].append(f"cell-{cell['cell_index']}")
                shown = "".join(output.astext() for output in cell.findall(nodes.raw))
                for anchor in (cell["ids"][-1], *CLAIM.findall(shown)):
                    self.env.metadata[self.env.docname].setdefault("myst_slugs", {})[anchor] = (cell.line, anchor, anchor)


class GluedPercent(SphinxTransform):
    """A number and its per cent sign stay on one line."""

    default_priority = 400

    def apply(self):
        for text in list(self.document.findall(nodes.Text)):
            glued = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)
            if glued != text and isinstance(text.parent, nodes.TextElement) and not isinstance(text.parent, EXACT):
                text.parent.replace(text, nodes.Text(glued))


def markdown_docstring(app: Sphinx, what, name, obj, options, lines: list[str]) -> None:
    """Docstrings are written in plain Markdown: code between single backticks, examples as doctests, no other markup."""
    paragraphs = re.split(r"\n(?=\n)|(?<=\n)\n", "\n".join(lines))
    lines[:] = "\n".join(p if p.lstrip().startswith(">>> ") else _as_rst(p) for p in paragraphs).split("\n")


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
