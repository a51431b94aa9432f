"""A site for everyone: what the theme and Sphinx write without a screen reader in mind is put right once the site is built."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

MENDS = (
    # the logo stands in the sidebar, and the sidebar is no landmark
    (
        re.compile(r'<div class="bd-sidebar-primary bd-sidebar( hide-on-wide)?">'),
        r'<div class="bd-sidebar-primary bd-sidebar\1" role="complementary" aria-label="Sidebar">',
    ),
    # the button says "Search Ctrl+K" to the eye, and only "Search" to the ear
    (re.compile(r'(<button class="btn search-button-field[^>]*?) aria-label="Search"'), r"\1"),
    # the arrow that opens the pages below a chapter in the contents has no name
    (
        re.compile(r'(<a class="[^"]*\breference internal" href="[^"]*">([^<]*)</a><details(?: open="open")?>)<summary>'),
        r'\1<summary aria-label="Pages below \2">',
    ),
)
LONG_SIGNATURE = re.compile(r'(<dt class="sig[^>]*>)(.*?)(</dt>)', re.DOTALL)


def mend(text: str) -> str:
    """A page with landmarks, names and lists as they should be."""
    for pattern, better in MENDS:
        text = pattern.sub(better, text)
    return LONG_SIGNATURE.sub(lambda m: m[1] + _without_list(m[2]) + m[3], text)


def _without_list(signature: str) -> str:
    """A signature of several lines without the definition list that has no terms."""
    for tag, better in (("dl", 'span class="sig-lines"'), ("dd", 'span class="sig-line"')):
        signature = signature.replace(f"<{tag}>", f"<{better}>").replace(f"</{tag}>", "</span>")
    return signature


def mend_pages(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (better := mend(text)) != text:
            path.write_text(better, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", mend_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
