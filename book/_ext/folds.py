"""Folded code: a cell with the tag `folded` shows its title, the line `# @title ...`, and its code when the title is pressed.

In a story folded code is hidden until the reader asks for the code of the page; site.js has the switch. What lives only where a
kernel runs is not on the site: the setup cell, the widgets of `explore(...).sliders()`, whose figure stands above them, and what
a self-check says of an empty stub. Other outputs are never folded.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from foldbook import plan

TITLE = re.compile(r"# @title (.+)\n*")
ELSEWHERE = "This exercise is code: open the page in Colab or JupyterLab, fill in the function, and the next cell checks it."


class fold(nodes.General, nodes.Element):
    """Code below a title that opens it."""


class Folds(SphinxTransform):
    """Wraps the code of folded cells."""

    default_priority = 410  # after the cells have their anchors

    def apply(self, **_):
        name = self.env.docname.removeprefix("book/")
        story = name in plan.chapters()
        for cell in [node for node in self.document.findall(nodes.container) if node.get("nb_element") == "cell_code"]:
            widgets = any("explore-still" in output.astext() for output in cell.findall(nodes.raw))
            if widgets or "tag_setup" in cell["classes"]:
                cell.parent.remove(cell)
            elif "tag_folded" in cell["classes"]:
                for code in [child for child in cell if child.get("nb_element") == "cell_code_source"]:
                    selfcheck = "selfcheck(" in code.astext()
                    cell.replace(code, fold("", code, title=self.without_title(code), story=story))
                    if story and selfcheck:
                        self.leave_to_a_kernel(cell)

    def leave_to_a_kernel(self, cell: nodes.Element) -> None:
        """In place of what a self-check printed about a stub, where the exercise is done."""
        for output in [child for child in cell if child.get("nb_element") == "cell_code_output"]:
            cell.remove(output)
        cell += nodes.paragraph("", ELSEWHERE, classes=["runs-elsewhere"])

    def without_title(self, code: nodes.Element) -> str:
        """Take the title out of the code; a cell without one is called by what it is."""
        block = code.next_node(nodes.literal_block)
        title = TITLE.match(block.astext())
        if title is None:
            return "Code"
        block.rawsource = block.astext()[title.end() :]
        block.clear()
        block += nodes.Text(block.rawsource)
        return title[1].strip()


def open_fold(translator, node: fold) -> None:
    kind = "fold story-fold" if node["story"] else "fold"
    translator.body.append(f'<details class="{kind}"><summary>{escape(node["title"])}</summary>\n')


def close_fold(translator, node: fold) -> None:
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> dict:
    app.add_node(fold, html=(open_fold, close_fold))
    app.add_transform(Folds)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
