"""Write what is printed to `_build/print/`: `python -m tools.print report`, or `book` (`make report`, `make pdf`)."""

from __future__ import annotations

import sys

from . import edition, report, typeset

MAKE = {"report": report.write, "book": edition.write}


def main(argv: list[str]) -> int:
    if unknown := set(argv) - set(MAKE):
        raise SystemExit(f"make: nothing prints {', '.join(sorted(unknown))}; there are {', '.join(MAKE)}")
    for name in argv or MAKE:
        path = MAKE[name](typeset.OUT)
        print(f"{path.relative_to(typeset.ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
