"""What in a markdown cell would not read the same on the site, in Colab, on GitHub and in JupyterLab."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

# text_join off: an escaped \$ stays apart from the text around it
PARSER = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, double_inline=True).disable("text_join")
RAW = "the other places show its raw text"
FOREIGN = {
    re.compile(r"^:::"): f"a ::: block: {RAW}",
    re.compile(r"^\([\w:. -]+\)=$"): f"a (label)= line: {RAW}",
    re.compile(r"^% "): f"a % comment: {RAW}",
    re.compile(r"^\+\+\+"): f"a +++ line: {RAW}",
    re.compile(r"^:[\w-]+:( |$)"): f"a field, as :name: value: {RAW}",
    re.compile(r"\[\^[^\]]+\]|^\^[\w-]+$"): f"a footnote: {RAW}",
    re.compile(r"\$"): "a $ that does not close, or stands for itself (then write \\$)",
}
ROLE = re.compile(r"\{[A-Za-z][\w:.-]*\}$")
OUTSIDE_IMAGE = re.compile(r"<img[^>]*\ssrc=[\"']?(?!data:)")


def problems(text: str) -> Iterator[str]:
    """One sentence for each thing in a cell that is not plain CommonMark with $math$."""
    quotes = 0
    for token in PARSER.parse(text):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        where = f" (line {token.map[0] + 1})" if token.map else ""
        lines = token.map[1] - token.map[0] if token.map else 1
        if token.type == "fence" and token.info.lstrip().startswith("{"):
            yield f"a directive: {RAW}{where}"
        elif token.type == "math_block_label":
            yield f"a label after display math: number the equation with \\tag{{...}}{where}"
        elif token.type == "math_block" and quotes and lines > 1:
            yield f"display math in a quote must open and close on one line{where}"
        elif token.type == "html_block":
            yield from (sentence + where for sentence in _html(token.content))
        elif token.type == "inline":
            yield from (sentence + where for sentence in _inline(token.children or [], bool(quotes)))


def _inline(children: list[Token], quoted: bool) -> Iterator[str]:
    for token, after in zip(children, [*children[1:], None]):
        if token.type == "image" and not str(token.attrGet("src")).startswith("data:"):
            yield "an image that is not part of the cell: show figures with plots.show"
        elif token.type == "math_inline_double" and quoted and "\n" in token.content:
            yield "display math in a quote must open and close on one line"
        elif token.type == "html_inline" and OUTSIDE_IMAGE.search(token.content):
            yield "an image that is not part of the cell: show figures with plots.show"
        elif token.type == "text":
            yield from (sentence for pattern, sentence in FOREIGN.items() if pattern.search(token.content))
            if after is not None and after.type == "code_inline" and ROLE.search(token.content):
                yield "a role, as {name}`text`: write a plain link"


def _html(block: str) -> Iterator[str]:
    if OUTSIDE_IMAGE.search(block):
        yield "an image that is not part of the cell: show figures with plots.show"
    if "$" in block:
        yield "math inside an HTML block, where it is not typeset: leave an empty line after the tag"


def titles(text: str) -> list[str]:
    """The headings of the first level."""
    tokens = PARSER.parse(text)
    return [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open" and token.tag == "h1"]
