"""Build the site from the stored outputs, warnings as errors: `python -m tools.site [--full]`.

Nothing is started where nothing changed. Where only pages changed, only those are read again; a change of style, extension, claim
or package, and any build after a failed one, starts afresh (Sphinx would neither copy the styles nor repeat the warnings).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (".ipynb", ".md", ".pdf")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the site and print the address of its first page.")
    parser.add_argument("--full", action="store_true", help="read every page again, unless nothing at all changed")
    full = parser.parse_args(argv).full
    first, stamp = ROOT / "_build" / "html" / "index.html", ROOT / "_build" / "site.json"
    now, before = fingerprint(ROOT), read(stamp)
    if now != before or not first.is_file():
        stamp.unlink(missing_ok=True)
        fresh = full or before.get("frame") != now["frame"] or not first.is_file()
        start = time.monotonic()
        if build(fresh):
            print("make: the site was not built; the warnings above are errors", file=sys.stderr)
            return 1
        stamp.write_text(json.dumps(now))
        print(f"built in {time.monotonic() - start:.0f} s")
    print(f"the first page: {first.as_uri()}")
    return 0


def build(fresh: bool) -> int:
    """One run of jupyter-book; where it failed, what it had to say is shown."""
    if fresh:  # pages that no longer exist go too
        for folder in ("html", ".doctrees"):
            shutil.rmtree(ROOT / "_build" / folder, ignore_errors=True)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", "-W", "-n", "--keep-going"]
    # what Sphinx warns of is no Python warning: those are deprecations inside its extensions
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print("\n".join(telling(done.stdout.splitlines())))
    return done.returncode


def telling(log: list[str]) -> list[str]:
    """The lines of a failed build that say what is wrong: Sphinx's warnings, or else the end of the log."""
    log = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in log]
    return [line for line in log if re.search(r"\b(WARNING|ERROR|CRITICAL):", line)] or log[-40:]


def fingerprint(root: Path) -> dict[str, str]:
    """What the site is made from, in two parts: its pages, and the frame that shapes every page."""
    frame, pages = hashlib.sha1(), hashlib.sha1()
    for path in sources(root):
        part = pages if path.suffix in PAGES else frame
        part.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return {"frame": frame.hexdigest(), "pages": pages.hexdigest()}


def sources(root: Path) -> Iterator[Path]:
    names = ("_config.yml", "_toc.yml", "requirements.txt", "pyproject.toml", "CITATION.cff")
    yield from (root / name for name in names if (root / name).is_file())
    yield from sorted((root / "_build" / "print").glob("*.pdf"))
    for folder in ("book", "foldnet", "foldbook", "experiments"):
        for path in sorted((root / folder).rglob("*")):
            hidden = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(root).parts)
            if path.is_file() and not hidden and not path.name.endswith(".text.md"):
                yield path


def read(stamp: Path) -> dict:
    try:
        return json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    sys.exit(main())
