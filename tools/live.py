"""Build the live figures and bring stored notebooks up to date: `python -m tools.live` (needs node and npm).

A stored figure is a state, a still picture and a script. A new script changes neither of the others, so it is put in the place of
the old one and the chapter need not run again; where a figure begins otherwise, or looks otherwise as a still, it must.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from foldbook.live import figures, script

ROOT = Path(__file__).resolve().parent.parent
STORED = re.compile(r'data-live="(\w+)" data-live-hash="\w+"(.*?)<script data-live-script="\1">.*?</script>', re.DOTALL)


def refreshed(html: str) -> str:
    """The HTML of an output with the scripts, and their hashes, that the package has now."""

    def new(found: re.Match) -> str:
        name, between = found[1], found[2]
        start = f'data-live="{name}" data-live-hash="{figures()[name]["hash"]}"'
        return f'{start}{between}<script data-live-script="{name}">{script(name)}</script>'

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


def main() -> int:
    for command in (["npm", "ci", "--no-audit", "--no-fund"], ["npm", "run", "build"]):
        subprocess.run(command, cwd=ROOT / "live", check=True)
    figures.cache_clear()
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        if refresh(path):
            print(f"new scripts in {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
