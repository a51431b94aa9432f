"""The repository's address stands in _config.yml; this rewrites what follows from it: `python -m tools.address https://github.com/OWNER/NAME`.

Without an address it prints the present one. What follows are the setup cells, the links to Colab and to the repository, the
package's metadata and the citation. Colab opens notebooks from GitHub alone, so the address is one of GitHub's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from foldbook.notebooks import current_address as current

ROOT = Path(__file__).resolve().parent.parent
FORM = re.compile(r"https://github\.com/([\w-]+/[\w.-]+?)(?:\.git)?/?")
TEXTS = {".cff", ".cfg", ".css", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".toml", ".txt", ".yaml", ".yml", ""}
SKIPPED = {"_build", "_sweeps", "_grades", "_variants", "_class", "dist", "vendor", "__pycache__", "node_modules"}


def main(arguments: list[str]) -> int:
    try:
        if not arguments:
            print(current(ROOT))
        else:
            changed = rewrite(ROOT, arguments[0])
            print(f"{len(changed)} files now say {current(ROOT)}", *changed, sep="\n  ")
    except (ValueError, OSError) as error:
        print(f"address: {error}", file=sys.stderr)
        return 1
    return 0


def rewrite(root: Path, address: str) -> list[str]:
    """Put another address in the place of the present one, everywhere; the changed files."""
    new, pattern, changed = repository(address), mention(current(root)), []
    for path in texts(root):
        try:
            before = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        after = pattern.sub(lambda m: m[1] + new, before)
        if after != before:
            path.write_bytes(after.encode())
            changed.append(path.relative_to(root).as_posix())
    return changed


def repository(address: str) -> str:
    """OWNER/NAME of an address."""
    if not (found := FORM.fullmatch(address)):
        raise ValueError(f"an address looks like https://github.com/OWNER/NAME; got {address!r}")
    return found[1]


def mention(address: str) -> re.Pattern:
    """What names a repository: `github.com/OWNER/NAME`, and `github/OWNER/NAME` in a link that opens a notebook in Colab."""
    name = re.escape(repository(address))
    return re.compile(rf"(github(?:\.com|usercontent\.com)?[/:]){name}(?![\w-]|\.(?!git\b)\w)", re.IGNORECASE)


def texts(root: Path) -> Iterator[Path]:
    """The text files of the repository; no git is needed to find them."""
    for path in sorted(root.iterdir()):
        hidden = path.is_dir() and path.name.startswith(".") and path.name not in (".ci", ".github")
        if path.name in SKIPPED or hidden or path.is_symlink():
            continue
        if path.is_dir():
            yield from texts(path)
        elif path.suffix in TEXTS:
            yield path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
