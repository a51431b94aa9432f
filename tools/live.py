"""Build the live figures and the guesses, and bring stored notebooks up to date: `python -m tools.live` (needs node and npm).

A stored figure is a state, a still picture and a script. A new script changes neither of the others, so it is put in the place of
the old one and the chapter need not run again; where a figure begins otherwise, or looks otherwise as a still, it must.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from foldbook.live import figures, hash_of, script

ROOT = Path(__file__).resolve().parent.parent
STORED = re.compile(
    r'(data-(?:live|guess)="\w+") data-live-hash="\w+"(.*?)<script data-live-script="(\w+)">.*?</script>', re.DOTALL
)


CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#%()*+,-"
DIGITS = """\
/** The first {many} small digits of scikit-learn that `foldnet.data.digits` trains on, written by `python -m tools.live`. */
const CHARACTERS = "{characters}";
const PACKED = "{packed}";

/** What they are. */
export const LABELS = [..."{labels}"].map(Number);

/** Their pixels, row by row, from 0 to 1. @returns {{number[][]}} */
export function digits() {{
  const /** @type {{number[]}} */ pixels = [], at = (/** @type {{number}} */ k) => CHARACTERS.indexOf(PACKED.charAt(k));
  for (let k = 0; k < PACKED.length; k += 2) {{
    const three = 71 * at(k) + at(k + 1);
    pixels.push(Math.floor(three / 289) / 16, (Math.floor(three / 17) % 17) / 16, (three % 17) / 16);
  }}
  return LABELS.map((_, p) => pixels.slice({side} * p, {side} * (p + 1)));
}}
"""


def refreshed(html: str) -> str:
    """The HTML of an output with the scripts, and their hashes, that the package has now."""

    def new(found: re.Match) -> str:
        what, between, name = found.groups()
        return f'{what} data-live-hash="{hash_of(name)}"{between}<script data-live-script="{name}">{script(name)}</script>'

    return STORED.sub(new, html)


def refresh(path: Path) -> bool:
    """Bring the live figures stored in a notebook up to date; whether there was something to do."""
    text = path.read_text(encoding="utf-8")
    notebook, changed = json.loads(text), False
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            lines = output.get("data", {}).get("text/html")
            if lines and (new := refreshed(old := "".join(lines))) != old:
                output["data"]["text/html"] = new.splitlines(keepends=True) if isinstance(lines, list) else new
                changed = True
    if changed:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n" * text.endswith("\n"), encoding="utf-8")
    return changed


def digits(many: int = 300) -> str:
    """`live/core/digits.js`: the first small training digits, three pixels of 0 to 16 in two characters of 71."""
    from foldnet import data

    images = data.digits()
    pixels = (16 * images.x_train[:many].ravel()).astype(int)
    packed = "".join(CHARACTERS[k // 71] + CHARACTERS[k % 71] for k in pixels.reshape(-1, 3) @ [289, 17, 1])
    return DIGITS.format(
        many=many,
        characters=CHARACTERS,
        packed=packed,
        labels="".join(map(str, images.y_train[:many])),
        side=images.x_train.shape[1],
    )


def main() -> int:
    (ROOT / "live" / "core" / "digits.js").write_text(digits(), encoding="utf-8")
    for command in (["npm", "ci", "--no-audit", "--no-fund"], ["npm", "run", "build"]):
        subprocess.run(command, cwd=ROOT / "live", check=True)
    figures.cache_clear()
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        if refresh(path):
            print(f"new scripts in {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
