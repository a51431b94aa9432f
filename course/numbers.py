"""Numbers of a problem set that may differ from student to student.

A source that has variants says so in a comment: `<!-- variants`, a line `wave = 3 | 2 | 4` for each number, `-->`. In its text,
code and tests `<<wave>>` and `<<2 * wave + 1>>` stand for numbers; `<<0.1497 = error(5)>>` is 0.1497 in the book, and elsewhere
what the solution of that variant makes of the call, to as many digits. The book has the first choice of each; a seed draws.
"""

from __future__ import annotations

import ast
import contextlib
import io
import random
import re

HEAD = re.compile(r"^<!-- variants\n(.*?)\n-->\n+", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"<<(?:(-?[\d.]+) = )?([^<>\n]+)>>")


class VariantError(ValueError):
    """A source whose variants cannot be made; the message says why."""


def choices(text: str) -> dict[str, list]:
    """The numbers of a source that may differ, each with its choices; the book has the first ones."""
    head = HEAD.search(text)
    found = {}
    for line in head[1].splitlines() if head else ():
        name, _, values = line.partition("=")
        try:
            found[name.strip()] = [ast.literal_eval(value.strip()) for value in values.split("|")]
        except (ValueError, SyntaxError):
            raise VariantError(f"a number with its choices is written `wave = 3 | 2 | 4`; got {line!r}") from None
    return found


def drawn(text: str, seed: int | None) -> dict:
    """The numbers of one variant. A seed never draws the book's own, whose solutions everybody can read."""
    found = choices(text)
    if seed is None or not found:
        return {name: values[0] for name, values in found.items()}
    chance = random.Random(seed)
    return {name: chance.choice(values[1:] or values) for name, values in found.items()}


def filled(text: str, seed: int | None, parse) -> str:
    """The text of a source with the numbers of a variant; `parse` makes a set of it, whose solution is run where it must be."""
    numbers = drawn(text, seed)
    if not numbers:
        return text
    text = HEAD.sub("", text)

    def put(computed=None):
        def number(found: re.Match) -> str:
            literal, expression = found.groups()
            if literal is None:
                return str(evaluated(expression, numbers))
            if computed is None or seed is None:
                return literal
            return f"{evaluated(expression, computed):.{len(literal.partition('.')[2])}f}"

        return PLACE.sub(number, text)

    made = put()
    if seed is None or not any(literal for literal, _ in PLACE.findall(text)):
        return made
    return put(solved(parse(made)) | numbers)


def evaluated(expression: str, names: dict):
    try:
        return eval(expression, dict(names))
    except Exception as error:
        raise VariantError(f"<<{expression}>> cannot be computed: {type(error).__name__}: {error}") from None


def solved(problems) -> dict:
    """What the solution defines: given cells and answers, without what only shows results."""
    names: dict = {"__name__": "variants"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in problems.cells:
            if cell.code and cell.kind in ("given", "answer"):
                tree = ast.parse(cell.source)
                if not any(isinstance(node, (ast.If, ast.For)) for node in tree.body):
                    exec(compile(tree, f"<{cell.name}>", "exec"), names)
    return names
