"""A light site: once it is built, whatever its pages do not use is taken out of them.

The theme brings all of Font Awesome twice, as a script of 1.5 MB and as web fonts; the pages keep the few icons they show, from
the web fonts. MathJax stays on pages that hold math. What a browser refuses to load from a disk goes too. A live figure has its
script in the notebook; on the site all of them load it from one file.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

MATH_SCRIPT = re.compile(r"\s*<script>window\.MathJax = [^<]*</script>|\s*<script[^>]*vendor/mathjax[^>]*></script>")
ICON_SCRIPT = re.compile(r"\s*<(?:link rel=.preload.|script)[^>]*fontawesome[^>]*>(?:</script>)?")
LIVE_SCRIPT = re.compile(r'<script data-live-script="(\w+)">.*?</script>', re.DOTALL)
ICON_RULE = re.compile(r'([^{}]*)\{content:"\\([0-9a-f]+)"\}')


def lighten(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    alone = out / "_static" / "live"
    pages = {path: path.read_text(encoding="utf-8") for path in out.rglob("*.html") if path.parent != alone}
    for path, text in pages.items():
        lighter = ICON_SCRIPT.sub("", text)
        if 'class="math' not in text and 'class="tex"' not in text:
            lighter = MATH_SCRIPT.sub("", lighter)
        lighter = share_live_scripts(lighter, path, out)
        if lighter != text:
            path.write_text(lighter, encoding="utf-8")
    theme = [p.read_text(encoding="utf-8") for p in (*out.glob("_static/scripts/*.js"), *out.glob("_static/styles/*.css"))]
    for folder in out.glob("_static/vendor/fontawesome/*"):
        shutil.rmtree(folder / "js", ignore_errors=True)
        keep_icons(folder, "\n".join([*pages.values(), *theme]))
    write_live_pages(alone)


def write_live_pages(folder: Path) -> None:
    """Each live figure as a page that stands alone, for those who take it elsewhere."""
    from foldbook.live import figures, live

    folder.mkdir(parents=True, exist_ok=True)
    for name in figures():
        (folder / f"{name}.html").write_text(live(name).page(), encoding="utf-8")


def share_live_scripts(text: str, page: Path, out: Path) -> str:
    """The page with its live figures' scripts in files of their own: each once, or all figures together where that is less."""
    from foldbook.live import script

    names = sorted(set(LIVE_SCRIPT.findall(text)))
    if not names:
        return text
    sizes = {name: len(script(name)) for name in (*names, "all")}
    chosen = names if sum(sizes[name] for name in names) <= sizes["all"] else ["all"]
    folder = out / "_static" / "live"
    folder.mkdir(parents=True, exist_ok=True)
    tags = ""
    for name in chosen:
        (folder / f"{name}.js").write_text(script(name), encoding="utf-8")
        up = "../" * (len(page.relative_to(out).parts) - 1)
        tags += f'<script defer src="{up}_static/live/{name}.js"></script>\n'
    return LIVE_SCRIPT.sub("", text).replace("</body>", f"{tags}</body>", 1)


def keep_icons(folder: Path, used: str) -> None:
    """Keep the icons whose name, or whose code point, the pages, scripts and styles mention."""
    from fontTools import subset

    style = folder / "css" / "all.min.css"
    names = set(re.findall(r"fa-[a-z0-9-]+", used))
    points = {int(code, 16) for code in re.findall(r"\\(f[0-9a-f]{3})\b", used)}
    css = style.read_text(encoding="utf-8")

    def kept(rule: re.Match) -> str:
        wanted = any(name in names for name in re.findall(r"fa-[a-z0-9-]+", rule[1]))
        points.update({int(rule[2], 16)} if wanted else ())
        return rule[0] if wanted else ""

    css = ICON_RULE.sub(kept, css)
    # the subset is written as TrueType: it is small, and needs no further package
    style.write_text(re.sub(r'url\([^)]*\.woff2\) format\("woff2"\),', "", css), encoding="utf-8")
    for path in folder.glob("webfonts/*.ttf"):
        options = subset.Options(layout_features=[], notdef_outline=False, name_IDs=[], hinting=False)
        font = subset.load_font(str(path), options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=points & set(font.getBestCmap()))
        subsetter.subset(font)
        subset.save_font(font, str(path), options)
        path.with_suffix(".woff2").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", lighten)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
