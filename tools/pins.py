"""Make requirements*.txt from requirements*.in: `python -m tools.pins [--upgrade]`, or `make pins`.

pip says what it would install into an empty environment; versions that are pinned already stay, unless `--upgrade` is given or
what is asked for rules them out. What torch brings along for a GPU is left out: it depends on the machine.

By hand and not by uv or pip-tools: there what torch brings along would have to be named package by package, and the reason
beside each line of the .in would be lost.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = ("requirements", "requirements-lab", "requirements-print")
FOR_A_GPU = ("nvidia-", "cuda-", "triton")
LINE = re.compile(r"([A-Za-z0-9._-]+)([^#]*)(#.*)?")
BROUGHT = "\n# What these bring along: nothing of it is imported by name here, and all of it is held still\n"


def main(argv: list[str]) -> int:
    for name in SETS:
        asked, target = ROOT / f"{name}.in", ROOT / f"{name}.txt"
        keep = target if target.is_file() and "--upgrade" not in argv else None
        found = resolved(asked, keep)
        text = pinned(asked.read_text(), found, {} if name == "requirements" else pins(ROOT / "requirements.txt"))
        changed = not target.is_file() or text != target.read_text()
        target.write_text(text)
        print(f"{target.name}: {len(pins(target))} pins, {'changed' if changed else 'as it was'}")
    return 0


def resolved(asked: Path, keep: Path | None) -> dict[str, str]:
    """Name and version of all that pip would install for a file of requirements, with what is pinned already where it can."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        for constraints in ([["-c", str(keep)]] if keep else []) + [[]]:
            command = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--dry-run",
                "--ignore-installed",
                "--quiet",
                "--report",
                str(report),
            ]
            done = subprocess.run([*command, *constraints, "-r", str(asked)], cwd=ROOT, capture_output=True, text=True)
            if done.returncode == 0:
                return {plain(i["metadata"]["name"]): i["metadata"]["version"] for i in json.loads(report.read_text())["install"]}
    raise SystemExit(f"make: pip finds nothing that {asked.name} allows:\n{done.stderr[-2000:]}")


def pinned(asked: str, found: dict[str, str], elsewhere: dict[str, str]) -> str:
    """The text of a requirements.txt: what is asked for line by line, then the rest; what is pinned elsewhere is left there."""
    lines, left = ["# Made by `make pins`, from the file of the same name that ends in .in."], dict(found)
    for line in asked.splitlines():
        given = LINE.fullmatch(line)
        if given and not line.startswith("-"):
            name = plain(given[1])
            pin = f"{name}=={left.pop(name).split('+')[0]}"
            line = f"{pin:<31} {given[3]}" if given[3] else pin
        lines.append(line)
    rest = sorted(n for n in left if n not in elsewhere and not n.startswith(FOR_A_GPU))
    return "\n".join(lines) + "\n" + BROUGHT + "".join(f"{name}=={left[name]}\n" for name in rest)


def pins(path: Path) -> dict[str, str]:
    """Name and version of each pin of a file."""
    return dict(line.split()[0].split("==") for line in path.read_text().splitlines() if re.match(r"[^#\s]+==", line))


def plain(name: str) -> str:
    """A package's name as PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
