"""Which pictures of a piece of HTML lack an alt text that says what they show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

FILE_NAME = re.compile(r"\S+\.(png|svg|jpe?g|gif|webp)|[0-9a-f]{16,}", re.IGNORECASE)
DATA = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
FEWEST_WORDS = 3


class _Images(HTMLParser):
    def __init__(self):
        super().__init__()
        self.alts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.alts.append(dict(attrs).get("alt") or "")


def problems(html: str) -> Iterator[str]:
    """One sentence for each picture without a telling alt text."""
    for page in (html, *frames(html)):
        images = _Images()
        images.feed(page)
        for alt in images.alts:
            if not alt.strip():
                yield "a picture without alt text"
            elif FILE_NAME.fullmatch(alt.strip()):
                yield f"a picture whose alt text is a file's name: {alt!r}"
            elif len(alt.split()) < FEWEST_WORDS:
                yield f"a picture whose alt text says little: {alt!r}"


def frames(html: str) -> list[str]:
    """The frames of the explores in it."""
    found = (json.loads(match[1].replace("<\\/", "</")) for match in DATA.finditer(html))
    return [frame for data in found if isinstance(data, dict) for frame in data.get("frames", ())]
