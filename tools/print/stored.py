"""A stored notebook on paper: figures still, live figures by their stills, verdicts and guesses as lines, solutions apart."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from foldbook.claims import MARKS, MIME
from foldbook.live import figures
from foldbook.live.stills import NOTE
from foldbook.notebooks import is_folded

IMAGE = re.compile(r"""<img\b(?:"[^"]*"|'[^']*'|[^>"'])*>""")  # a drawing in its address may hold a >
CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>", re.DOTALL)
STATE = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)
FOLD = re.compile(r"<details><summary>(.*?)</summary>\n(.*?)</details>", re.DOTALL)
EXERCISE = re.compile(r"\*\*Exercise\*\* \(([^()]+)\)")
BOX = r"> ?\*\*(?:{})\*\* \({}\)"
BLOCK = re.compile(r"```|~~~|[-*] |[>|]|\d+\. |\$\$")
UNANSWERED = "missing: "  # how a selfcheck speaks of a stub


@dataclass
class Pictures:
    """The pictures of a document: files in its folder, and what each of them shows in words."""

    folder: Path
    alts: dict[str, str] = field(default_factory=dict)

    def keep(self, image: str, caption: str) -> str:
        """An `<img>` as a figure in Markdown; its drawing goes to a file."""
        source, alt = (html.unescape(re.findall(rf'{name}="([^"]*)"', image)[0]) for name in ("src", "alt"))
        kind, _, content = source.partition(",")
        drawn = base64.b64decode(content) if kind.endswith(";base64") else unquote(content).encode()
        suffix = kind.removeprefix("data:image/").split(";")[0].removesuffix("+xml")
        name = f"{hashlib.sha1(drawn).hexdigest()[:12]}.{suffix}"
        (self.folder / name).write_bytes(drawn)
        self.alts[name] = alt.replace(NOTE, "").strip()
        return f"![{caption}]({name})"


@dataclass
class Story:
    """A story as Markdown, and what goes to the back of the book."""

    text: str
    back: list[str]


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def story(path: Path, pictures: Pictures) -> Story:
    """A whole story: its text, the code that stands open on its page, and its figures."""
    parts, back, exercise = [], [], ""
    for cell in cells(path):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(FOLD.sub(lambda fold, before=exercise: _unfolded(fold, before, back), source))
            exercise = _latest(source, exercise)
        elif cell["cell_type"] == "code":
            if not is_folded(cell):
                parts.append(_code(source, "python"))
            parts += [shown for output in cell.get("outputs", ()) if (shown := _shown(output, pictures, exercise, back))]
    return Story("\n\n".join(parts), back)


def _unfolded(fold: re.Match, exercise: str, back: list[str]) -> str:
    """A solution goes to the back; the inside of any other fold stands where it is."""
    title, body = fold.groups()
    if title == "Solution":
        back.append(_led(f"**Exercise** ({_latest(fold.string[: fold.start()], exercise)}).", body.strip()))
        return ""
    return _led(f"*{title}.*", body.strip())


def _led(label: str, body: str) -> str:
    """A text with its label: on one line, unless it opens with code, a list, a table, a quote or a formula of its own."""
    gap = "\n\n" if BLOCK.match(body) else " "
    return f"{label}{gap}{body}"


def _latest(text: str, before: str) -> str:
    """The exercise that is stated last in a text, or before it."""
    return (EXERCISE.findall(text) or [before])[-1]


def _shown(output: dict, pictures: Pictures, exercise: str, back: list[str]) -> str | None:
    """One output of a cell on paper."""
    if output["output_type"] == "stream":
        text = "".join(output["text"])
        return None if text.startswith(UNANSWERED) else _code(text)
    data = output.get("data", {})
    if MIME in data:
        record = data[MIME]
        return f"{MARKS[record['verdict']]} *{record.get('says') or record['what']}*"
    page = "".join(data.get("text/html", ""))
    if "data-guess=" in page:
        return _asked(json.loads(STATE.findall(page)[0]), IMAGE.search(page), pictures, exercise, back)
    return figure(page, pictures)


def _asked(state: dict, image: re.Match | None, pictures: Pictures, exercise: str, back: list[str]) -> str:
    """A guess, or a question of an exercise, as a line; its answer goes to the back."""
    if "answer" not in state:  # a tally of guesses
        return ""
    guess, question = "because" in state, state["question"].strip()
    because = state["because"] if guess else state["solution"]
    answer = re.sub(r"\d+\.\d{5,}", lambda digits: f"{float(digits[0]):.5g}", str(state["answer"]))
    back.append(f"**{'Guess' if guess else 'Exercise'}** ({question if guess else exercise}): {answer}. {because}")
    choices = f" ({'; '.join(state['among'])})" if state.get("among") else ""
    picture = pictures.keep(image[0], "The picture of the question.") + "\n\n" if image else ""
    return f"{picture}**{'A guess' if guess else 'Your answer'}.** {question}{choices}"


def figure(page: str, pictures: Pictures) -> str | None:
    """The picture in the HTML of an output, with its caption; of one that moves the state that it begins with."""
    image, caption, live = IMAGE.search(page), CAPTION.search(page), re.search(r'data-live="(\w+)"', page)
    if not image:
        return None
    words = html.unescape(caption[1]) if caption else ""
    if live:
        words = f"{figures()[live[1]]['title'].rstrip('.')} (a figure that moves on the site)"
    elif "data-explore=" in page:
        words = f"{words} (one state of a figure that moves on the site)".strip()
    return pictures.keep(image[0], words)


def _code(text: str, language: str = "") -> str:
    return f"~~~~{language}\n{text.rstrip()}\n~~~~"


# ---- parts of a notebook, for the report -----------------------------------------------------------------------------------


def box(path: Path, name: str) -> str:
    """The boxed statement of this name, with the proof that follows it."""
    chunks = list(_chunks(path))
    wanted = re.compile(BOX.format(r"\w+", re.escape(name)))
    found = next((i for i, chunk in enumerate(chunks) if wanted.match(chunk)), None)
    if found is None:
        raise LookupError(f"{path.name} has no box named {name!r}")
    after = chunks[found + 1] if found + 1 < len(chunks) else ""
    if after.startswith("<details><summary>Proof"):
        after = "> **Proof.** " + "\n>\n> ".join(FOLD.sub(lambda fold: fold[2].strip(), after).split("\n\n"))
    return chunks[found] + (f"\n\n{after}" if re.match(r"> ?\*\*Proof", after) else "")


def _chunks(path: Path) -> Iterator[str]:
    """The paragraphs of all texts of a notebook; a fold is one of them."""
    for cell in cells(path):
        if cell["cell_type"] == "markdown":
            yield from re.findall(r"<details>.*?</details>|\S(?:(?!\n\n).)*", "".join(cell["source"]), re.DOTALL)


def printed(path: Path, pattern: str) -> tuple[str, ...]:
    """The groups of a pattern where a page prints what it matches."""
    for cell in cells(path):
        text = "".join("".join(output.get("text", "")) for output in cell.get("outputs", ()))
        if found := re.search(pattern, text):
            return found.groups()
    raise LookupError(f"{path.name} prints nothing like {pattern!r}")


def figure_beside(path: Path, name: str, pictures: Pictures, before: bool = False) -> str:
    """The first figure below the box of this name, or the last one above it."""
    above, below, passed = [], [], False
    for cell in cells(path):
        passed = passed or bool(re.search(BOX.format(r"\w+", re.escape(name)), "".join(cell["source"])))
        pages = ("".join(output.get("data", {}).get("text/html", "")) for output in cell.get("outputs", ()))
        (below if passed else above).extend(page for page in pages if CAPTION.search(page))
    if not passed or not (above if before else below):
        raise LookupError(f"{path.name} has no figure {'above' if before else 'below'} a box named {name!r}")
    return figure(above[-1] if before else below[0], pictures) or ""
