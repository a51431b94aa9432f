"""Made pages from templates: `templates/NAME.html` escapes what is put into it, `templates/NAME.md` is read as Markdown."""

from __future__ import annotations

import functools
import html
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from foldbook import plan
from foldbook.claims import MARKS, STRENGTHS, VERDICTS


def fill(name: str, **values) -> str:
    """A template filled in, as Markdown: HTML goes into a fence that the site passes on as it is."""
    text = render(name, **values)
    return f"```{{raw}} html\n{text}\n```" if name.endswith(".html") else text


def render(name: str, **values) -> str:
    """A template filled in, as it is."""
    return _environment().get_template(name).render(**values)


def markdown(text: str | None, lazy: bool = False, inline: bool = False) -> Markup:
    """CommonMark with $math$ as HTML. Lazy math waits, as TeX, until the script of the page asks MathJax for it."""
    parser: Any = MarkdownIt("commonmark", {"html": False}).use(dollarmath_plugin, double_inline=True)
    kind = "tex" if lazy else "math notranslate nohighlight"
    for rule, form in {"math_inline": r"\({}\)", "math_inline_double": r"\[{}\]", "math_block": r"\[{}\]"}.items():
        parser.renderer.rules[rule] = functools.partial(_math, f'<span class="{kind}">{form}</span>')
    return Markup((parser.renderInline(text or "") if inline else parser.render(text or "")).strip())


def source(mark: str) -> str:
    """A source by mark and name."""
    return f"{mark} · {plan.sources()[mark]}"


def plain(text) -> str:
    """What a check printed, safe from being read as Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>$|~])", r"\\\1", str(text))


def span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def _math(form: str, tokens, index: int, options, env) -> str:
    return form.format(html.escape(tokens[index].content.strip(), quote=False))


@functools.cache
def _environment() -> Environment:
    environment: Any = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=lambda name: bool(name and name.endswith(".html")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(markdown=markdown, plain=plain, source=source, span=span)
    environment.globals.update(MARKS=MARKS, STRENGTHS=STRENGTHS, VERDICTS=VERDICTS)
    return environment
