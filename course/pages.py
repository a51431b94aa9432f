"""The page that a student gets back: one file that runs no script, loads nothing, and shows nothing unchecked.

Everything a submission wrote is text until it is made into HTML here, and the HTML as a whole is cleaned by nh3. Formulas become
MathML, pictures are opened and checked, and a content security policy forbids the rest.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import html
import io
import json
import re
import urllib.parse
import warnings
from collections.abc import Callable
from pathlib import Path

from . import source
from .book import Book, scores, shown, texts, write
from .hand import Hand
from .press import Unprintable, printed

VERSION = "3"  # of the form of a page: another number makes all pages anew
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MOST_PIXELS, MOST_OUTPUT = 40_000_000, 20_000  # pixels of all pictures of a page together
MOST_SIGNS, MOST_FIELDS = 3000, 3000  # of emphasis and links, and of tables, in one text: they take time by the square
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
QUESTION = re.compile(r"^## (Question \d+)[^:\n]*:?\s*(.*)$", re.MULTILINE)
PART = re.compile(r"^\*\*(\d+[a-z]?) \(", re.MULTILINE)
SVG = re.compile(r"""src="data:image/svg\+xml,([^"]*)\"""")
RASTER = re.compile(r"""src="data:image/(?:png|jpeg|gif);base64,([A-Za-z0-9+/=\s]+)\"""")
ALT = re.compile(r'\salt="([^"<>]*)"')
MATH = (
    "math semantics mrow mi mo mn ms mtext mspace mstyle mfrac msqrt mroot msub msup msubsup munder mover munderover"
    " mtable mtr mtd"
)
LOOKS = (
    "display stretchy mathvariant displaystyle scriptlevel accent fence separator columnalign lspace rspace linethickness"
    " width height class"
)
TAGS = set(
    f"{MATH} a b blockquote br code dd del div dl dt em figure figcaption h1 h2 h3 h4 h5 h6 hr i img li ol p pre s section small"
    " span strong sub sup table tbody td th thead tr ul".split()
)
ATTRIBUTES = {
    "*": {"class"},
    "a": {"href", "title"},
    "img": {"src", "alt"},
    "section": {"id", "class"},
    **{tag: set(LOOKS.split()) for tag in MATH.split()},
}
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .6rem;text-align:left;vertical-align:top}
pre{background:#f6f6f6;padding:.6rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere}
.output{border-left:3px solid #ccc}.wrong{border-left:3px solid #b00020}.right{border-left:3px solid #1b7f3b}
.verdict,.comment{padding:.3rem .8rem;margin:.5rem 0;background:#fafafa}.comment{border-left:3px solid #0072b2}
img{max-width:100%;background:#fff}math{font-size:1.05em}
"""


def titles(problems: source.ProblemSet) -> dict[str, str]:
    """What a graded cell is called on a page: its question, its part, and its own name where a part has several."""
    question = part = ""
    found: dict[str, str] = {}
    for cell in problems.cells:
        if cell.kind == "text":
            for match in re.finditer(f"{QUESTION.pattern}|{PART.pattern}", cell.source, re.MULTILINE):
                question, part = (match[1], "") if match[1] else (question, match[3])
        elif cell.points is not None:
            found[cell.name] = (f"Question {part}" if part else question or problems.name) + f": {cell.name.replace('-', ' ')}"
    return found


def number(value: float) -> str:
    return f"{value:g}"


# ---- from what a submission wrote to HTML --------------------------------------------------------------------------------


@functools.cache
def markdown():
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    def formula(text: str, options: dict) -> str:
        try:
            return convert(text, display="block" if options["display_mode"] else "inline")
        except Exception:  # a formula that is none is shown as it was written
            return f"<code>{html.escape(text)}</code>"

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return made.use(dollarmath_plugin, double_inline=True, renderer=formula)


def prose(text: str, attachments: dict | None = None) -> str:
    """A text as HTML; raw HTML in it is text, and of pictures those that were pasted into it alone are left."""
    if excess := heavy(text):
        return f"<p><em>(shown as it was written: {excess})</em></p>{verbatim(text)}"
    pasted = {}
    for name, kinds in (attachments or {}).items():
        data = next((value for value in kinds.values() if isinstance(value, str)), "") if isinstance(kinds, dict) else ""
        pasted[name] = picture(data)
    made = markdown().render(shown_lines(text))

    def placed(match: re.Match) -> str:
        name = urllib.parse.unquote(html.unescape(match[1]))
        return pasted.pop(name, None) or "<em>(a picture that cannot be shown)</em>"

    made = re.sub(r'<img src="attachment:([^"]*)"[^>]*>', placed, made)
    return made + "".join(left for left in pasted.values() if left)


def heavy(text: str) -> str:
    """What a text has too much of to be made into HTML; nothing where it is as people write."""
    lines = text.splitlines()
    if sum(map(text.count, "*_[]`~!")) > MOST_SIGNS:
        return f"it has more than {MOST_SIGNS} signs of emphasis and links"
    if max((line.count("|") for line in lines), default=0) * sum("|" in line for line in lines) > MOST_FIELDS:
        return f"its tables have more than {MOST_FIELDS} fields"
    return ""


def verbatim(text: str) -> str:
    return f"<pre>{html.escape(shown_lines(text))}</pre>"


def shown_lines(text: str) -> str:
    return "\n".join(shown(line) for line in str(text).splitlines())


class Pixels:
    """How many may still be decoded for this page."""

    left = MOST_PIXELS


def picture(data: str, alt: str = "") -> str:
    """A picture in base64 as an `<img>`; nothing where it is none, or where the page has too many pixels with it."""
    from PIL import Image

    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with Image.open(io.BytesIO(raw), formats=("PNG", "JPEG", "GIF")) as opened:
                Pixels.left -= opened.width * opened.height
                if Pixels.left < 0:
                    return ""
                kind = str(opened.format).lower()
                opened.load()
    except Exception:  # broken, a bomb, or no picture at all
        return ""
    return f'<img src="data:image/{kind};base64,{base64.b64encode(raw).decode()}" alt="{html.escape(alt, quote=True)}">'


def drawing(text: str, alt: str = "") -> str:
    """An SVG as an `<img>`, in which no script runs; nothing where it is not whole or points elsewhere."""
    from xml.etree import ElementTree

    try:
        svg = urllib.parse.unquote(text)
        if len(svg) > 5_000_000 or re.search(r"<!(?!--)|<\?", svg):  # comments, but no declarations
            return ""
        for node in ElementTree.fromstring(svg).iter():
            links = [value for key, value in node.attrib.items() if key.split("}")[-1] == "href"]
            if node.tag.split("}")[-1] in ("script", "foreignObject", "image") or any(not link.startswith("#") for link in links):
                return ""
    except (ElementTree.ParseError, ValueError):
        return ""
    return f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" alt="{html.escape(alt, quote=True)}">'


def output(data: dict, plain: bool = False) -> str:
    """One output of a cell: its picture, or else (or where it is to be `plain`) its text; never its HTML."""
    kind, mimes = data.get("output_type"), given if isinstance(given := data.get("data"), dict) else {}
    page = "" if plain else str(mimes.get("text/html", ""))
    alt = html.unescape(found[1]) if (found := ALT.search(page)) else ""
    shownpicture = (
        (drawing(found[1], alt) if (found := SVG.search(page)) else "")
        or (picture(found[1], alt) if (found := RASTER.search(page)) else "")
        or next(filter(None, (picture(str(mimes[m])) for m in ("image/png", "image/jpeg") if m in mimes and not plain)), "")
    )
    if shownpicture:
        return f'<div class="output">{shownpicture}</div>'
    if kind == "error":
        lines = given if isinstance(given := data.get("traceback"), list) else []
        text = "\n".join(map(str, lines)) or str(data.get("evalue", ""))
    else:
        text = str(data.get("text", mimes.get("text/plain", "")))
    text = shown_lines(ANSI.sub("", text))
    text = text if len(text) <= MOST_OUTPUT else text[:MOST_OUTPUT] + "\n…"
    return f'<pre class="output{" wrong" if kind == "error" else ""}">{html.escape(text)}</pre>' if text.strip() else ""


def cleaned(body: str) -> str:
    import nh3

    def checked(tag: str, name: str, value: str) -> str | None:
        if name == "src":
            return value if re.fullmatch(r"data:image/(png|jpeg|gif|svg\+xml);base64,[A-Za-z0-9+/=]+", value) else None
        if name == "href":
            return value if re.match(r"(https?://|mailto:|#)", value) else None
        return value

    return nh3.clean(
        body,
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=checked,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )


# ---- pages -------------------------------------------------------------------------------------------------------------------


def page(problems: source.ProblemSet, record: dict, hand: Hand, name: str = "", plain: str = "") -> str:
    """The whole page of one student; where a reason to be `plain` is given, texts and outputs as they were written."""
    Pixels.left = MOST_PIXELS
    found, called, answered = scores(problems, record, hand), titles(problems), texts(problems, record)
    graded = {cell.name: cell for cell in problems.cells if cell.points is not None}
    who = name or record["student"]
    title = f"{problems.title}: {who}"
    left = sum(cell.worth for key, cell in graded.items() if found[key] is None)
    earned = sum(score or 0 for score in found.values())
    total = f"{number(problems.total(earned))} of {number(problems.points)} points"
    if earned > problems.points:
        total += f" ({number(earned)} with the optional part)"
    parts = [f"<h1>{html.escape(shown(problems.title))}</h1>", f"<p><strong>{html.escape(shown(who))}</strong>: {total}"]
    parts.append(f"; texts for {number(left)} points are still to be read.</p>" if left else ".</p>")
    parts.append("<table><thead><tr><th>part</th><th>points</th><th></th></tr></thead><tbody>")
    for key, cell in graded.items():
        said = said_of(record, hand, key, cell, found[key], key in answered)
        points = f"– / {number(cell.worth)}" if found[key] is None else f"{number(found[key] or 0.0)} / {number(cell.worth)}"
        link = f'<a href="#{key}">{html.escape(called[key])}</a>'
        parts.append(f"<tr><td>{link}</td><td>{points}</td><td>{html.escape(shown(said))}</td></tr>")
    parts.append("</tbody></table>")
    if record["notes"]:
        items = "".join(f"<li>{html.escape(shown(note))}</li>" for note in record["notes"])
        parts.append(f"<p>Notes on the file:</p><ul>{items}</ul>")
    if plain:
        parts.append(f"<p>Texts are shown as they were written, and without pictures: {html.escape(shown(plain))}.</p>")
    for cell in record["cells"]:
        parts.append(shown_cell(record, hand, cell, graded.get(cell["id"]), found, called, bool(plain)))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">
<meta name="made-from" content="{made_from(problems, record, hand, name)}">
<title>{html.escape(shown(title))}</title><style>{STYLE}</style></head>
<body>{cleaned("".join(parts))}</body></html>
"""


def said_of(record: dict, hand: Hand, key: str, cell: source.Cell, score: float | None, answered: bool) -> str:
    if cell.kind == "test":
        return record["verdicts"].get(key, {}).get("line", "not graded")
    if score is None:
        return "not yet read"
    return hand.comment(record["student"], key) or ("read" if answered else "no answer")


def shown_cell(record: dict, hand: Hand, cell: dict, graded: source.Cell | None, found: dict, called: dict, plain: bool) -> str:
    if cell["id"] == "setup":
        return ""
    outputs = "".join(output(one, plain) for one in record["outputs"].get(cell["id"], ()) if isinstance(one, dict))
    written = cell["type"] == "code" or plain
    body = verbatim(cell["source"]) if written else prose(cell["source"], cell.get("attachments"))
    if graded is None:
        return f"<section>{body}{outputs}</section>"
    key, score = cell["id"], found[cell["id"]]
    points = "not yet read" if score is None else f"{number(score)} of {number(graded.worth)}"
    mark = "right" if score == graded.points else "wrong"
    below = f'<div class="verdict {mark}"><strong>{html.escape(called[key])}: {points}.</strong> '
    if graded.kind == "test":
        verdict = record["verdicts"].get(key, {})
        some = verdict.get("share") and not verdict.get("passed")
        share = f" ({100 * verdict['share']:.0f} per cent of the cases pass.)" if some else ""
        below += html.escape(shown(verdict.get("line", "not graded"))) + share + "</div>"
    else:
        below += "</div>"
        if comment := hand.comment(record["student"], key):
            below += f'<div class="comment">{verbatim(comment) if plain else prose(comment)}</div>'
    return f'<section id="{key}">{body}{outputs}{below}</section>'


def answer(record: dict, cell: dict, plain: str = "") -> str:
    """One answer, for whoever reads it: the text, or the code and its outputs."""
    Pixels.left = MOST_PIXELS
    if cell["type"] != "code":
        return cleaned(verbatim(cell["source"]) if plain else prose(cell["source"], cell.get("attachments")))
    outputs = [output(one, bool(plain)) for one in record["outputs"].get(cell["id"], ()) if isinstance(one, dict)]
    return cleaned(verbatim(cell["source"]) + "".join(outputs))


def made_from(problems: source.ProblemSet, record: dict, hand: Hand, name: str) -> str:
    """A sign of everything that a page shows: it is made anew when this changes, and only then."""
    entries = [vars(entry) for (student, _), entry in sorted(hand.entries.items()) if student == record["student"]]
    cells = [[cell.name, cell.points, cell.source] for cell in problems.cells]
    return hashlib.sha256(json.dumps([VERSION, record, entries, cells, name], sort_keys=True).encode()).hexdigest()[:32]


def write_pages(problems: source.ProblemSet, book: Book, hand: Hand, names: dict[str, str] | None = None) -> list[str]:
    """Write the pages that are not up to date; what could not be written, each a sentence. No points depend on it."""
    folder, failed = book.folder / "feedback", []
    folder.mkdir(parents=True, exist_ok=True)
    for student, record in book.records.items():
        path, name = folder / f"{student}.html", (names or {}).get(student, "")
        try:
            if made_from(problems, record, hand, name) not in head(path):
                made, why = bounded(functools.partial(page, problems, record, hand, name))
                write(path, made)
                failed += [f"{student}: the page has no pictures and formulas ({why})"] if why else []
        except (Unprintable, OSError) as error:
            failed.append(f"{student}: the page could not be made ({error})")
    return failed


def bounded(make: Callable[[str], str]) -> tuple[str, str]:
    """What is made of a student's words in a process with limits; where that fails, made anew as `plain`, and why."""
    try:
        return printed(lambda: make("")), ""
    except Unprintable as error:
        why = str(error)
        return printed(lambda: make(f"made otherwise, {why}")), why


def head(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(1000)
    except (OSError, UnicodeDecodeError, binascii.Error):
        return ""
