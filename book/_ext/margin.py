"""Margin notes: a block quote that opens with *Margin.* stands beside the text where there is room, and in it where there is not.

`> *Margin.* A remark that the argument does not need.` In Colab and on GitHub it is an ordinary quote.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

LABEL = "Margin."


class margin_note(nodes.General, nodes.Element):
    """A note in the margin."""


class Margin(SphinxTransform):
    """Turns the quotes into notes, without their label."""

    default_priority = 490  # before the boxes

    def apply(self, **_):
        for quote in list(self.document.findall(nodes.block_quote)):
            label = quote.next_node(nodes.emphasis)
            if label is None or label.astext() != LABEL or not quote.astext().startswith(LABEL):
                continue
            after = label.next_node(nodes.Text, descend=False, siblings=True)
            if after is not None:
                after.parent.replace(after, nodes.Text(after.astext().lstrip()))
            label.parent.remove(label)
            quote.replace_self(margin_note("", *quote.children))


def open_note(translator, node: margin_note) -> None:
    translator.body.append('<aside class="margin margin-note" role="note">\n')


def close_note(translator, node: margin_note) -> None:
    translator.body.append("</aside>\n")


def setup(app: Sphinx) -> dict:
    app.add_node(margin_note, html=(open_note, close_note))
    app.add_transform(Margin)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
