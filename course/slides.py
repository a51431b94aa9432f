"""Slides for a class, made from the stories: `python -m course.slides 3`, or `python -m course.slides splines/depth ...`.

Up to ten figures of the stored notebooks in one HTML file that needs nothing else: every live figure, as large as the screen, and
what is drawn, in the order of the stories. Arrow keys turn the page, F is full screen, and it prints as a handout.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

from .errors import CourseError
from .quiz import stories
from .source import HOME, ROOT

MOST = 10
HEADING = re.compile(r"^#{1,2} (?:\d+\. )?(.+)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; worker-src blob:;"
    " frame-src 'self'"
)
STYLE = """
html,body{margin:0;height:100%;background:#fff;color:#1a1a1a;font:1.4rem/1.4 system-ui,sans-serif}
section{display:none;box-sizing:border-box;height:100vh;padding:2vh 3vw;flex-direction:column}
section.now{display:flex}h1,h2{margin:0 0 1vh;font-size:2rem}
section>div{flex:1;min-height:0;display:flex;align-items:center;justify-content:center}
iframe{border:0;width:100%;height:100%}figure{margin:0;width:100%;height:100%;display:flex;flex-direction:column;align-items:center}
figure img{width:auto!important;height:auto;min-height:0;flex:1;max-width:100%;object-fit:contain}figcaption{font-size:1.2rem}
footer{position:fixed;right:1rem;bottom:.5rem;font-size:.9rem;color:#555}
@media print{section{display:flex;break-after:page}footer{display:none}}
"""
SCRIPT = """
const slides = [...document.querySelectorAll('section')], where = document.querySelector('footer');
let at = 0;
function show(to) {
  at = Math.max(0, Math.min(slides.length - 1, to));
  slides.forEach((slide, i) => slide.classList.toggle('now', i === at));
  const held = slides[at].querySelector('template');
  if (held) {
    const frame = document.createElement('iframe');
    frame.title = held.dataset.title;
    frame.allowFullscreen = true;
    frame.srcdoc = held.innerHTML;
    held.replaceWith(frame);
    frame.addEventListener('load', () => frame.contentWindow.addEventListener('keydown', turn));
  }
  where.textContent = `${at + 1} / ${slides.length}`;
}
function turn(event) {
  if (event.defaultPrevented || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName || '')) return;
  if (['PageDown', 'ArrowRight', 'n'].includes(event.key)) show(at + 1);
  else if (['PageUp', 'ArrowLeft', 'p'].includes(event.key)) show(at - 1);
  else if (event.key === 'f') document.documentElement.requestFullscreen();
}
document.addEventListener('keydown', turn);
document.addEventListener('click', event => { if (!event.target.closest('iframe, a')) show(at + 1); });
show(0);
"""
FRAME = """<!doctype html><html lang="en"><head><meta charset="utf-8"><style>
html,body{margin:0;overflow:hidden}[data-live]{width:46rem;margin:0 auto;transform-origin:top center}
</style></head><body>FIGURE<script>
const figure = document.querySelector('[data-live]');
function fit() {
  const scale = Math.min(innerHeight / figure.offsetHeight, innerWidth / figure.offsetWidth);
  figure.style.transform = `scale(${scale})`;
}
new ResizeObserver(fit).observe(figure);
addEventListener('resize', fit);
</script></body></html>"""


@dataclass(frozen=True)
class Figure:
    """A figure of a story: the section it stands in, whether it is live, and its HTML."""

    story: str
    section: str
    live: bool
    html: str


def figures(story: str, root: Path = ROOT) -> list[Figure]:
    """What a story shows, in its order; a small copy of a live figure and what comes after the summary are left out."""
    path = root / "book" / f"{story}.ipynb"
    if not path.is_file():
        raise CourseError(f"there is no story {story!r}")
    found, section = [], ""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            section = next(reversed(HEADING.findall(cell.source)), section)
            continue
        for page in (str(o.get("data", {}).get("text/html", "")) for o in cell.get("outputs", ())):
            if page.startswith("<div data-live=") and 'data-small="1"' not in page[:400]:
                found.append(Figure(story, section, True, page))
            elif page.startswith('<figure class="foldnet-figure"') and "<script" not in page:
                found.append(Figure(story, section, False, page))
    return found


def chosen(names: list[str], most: int = MOST, root: Path = ROOT) -> list[Figure]:
    """So many figures: every live one, and of the drawn ones as many from each story, the first ones; story by story."""
    every = {name: figures(name, root) for name in names}
    left = most - sum(figure.live for found in every.values() for figure in found)
    if left < 0:
        raise CourseError(f"{len(names)} stories have more than {most} live figures: choose fewer stories")
    drawn = {name: [figure for figure in found if not figure.live] for name, found in every.items()}
    share = dict.fromkeys(names, 0)
    while left and any(share[name] < len(drawn[name]) for name in names):
        name = min((n for n in names if share[n] < len(drawn[n])), key=lambda n: share[n])
        share[name] += 1
        left -= 1
    return [figure for name in names for figure in every[name] if figure.live or figure in drawn[name][: share[name]]]


def page(shown: list[Figure]) -> str:
    """The slides as one HTML file."""
    parts = []
    for figure in shown:
        title = html.escape(LINK.sub(r"\1", figure.section).replace("*", ""))
        if figure.live:
            inside = f'<template data-title="{title}">{FRAME.replace("FIGURE", figure.html)}</template>'
        else:
            inside = figure.html
        parts.append(f'<section aria-label="{title}"><h2>{title}</h2><div>{inside}</div></section>')
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>Slides</title><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}<footer></footer><script>{SCRIPT}</script></body></html>\n"
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make slides of a week, or of stories, from the stored notebooks.")
    parser.add_argument("of", nargs="+", help="a week, as 3, or stories, as splines/depth")
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--out", type=Path, default=HOME / "_build" / "slides")
    arguments = parser.parse_args(argv)
    try:
        names = [story for of in arguments.of for story in (stories([int(of)]) if of.isdigit() else [of])]
        made = page(chosen(names, arguments.most))
    except (CourseError, OSError) as error:
        print(f"slides: {error}", file=sys.stderr)
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"{'-'.join(arguments.of).replace('/', '-')}.html"
    path.write_text(made, encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
