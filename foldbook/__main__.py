"""`python -m foldbook ledger`: every claim of the sources beside what the stored notebooks measured."""

from __future__ import annotations

import argparse
import shutil
import sys

from foldnet.command_line import answered

from . import plan
from .claims import EVIDENCE, VERDICTS, dumps
from .ledger import ledger, table


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m foldbook", description="How networks fold: what the book holds.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("ledger", help="every claim of the sources beside what the stored notebooks measured")
    command.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    command.add_argument("--source", choices=tuple(plan.sources()), help="only the claims of this source")
    command.add_argument("--chapter", help="only the claims of this chapter, as splines/breakpoints")
    command.add_argument("--verdict", choices=VERDICTS, help="only the claims with this verdict")
    command.add_argument("--evidence", choices=EVIDENCE, help="only the claims with this kind of evidence")
    arguments = parser.parse_args(argv)
    return answered("foldbook", lambda: show_ledger(arguments))


def show_ledger(arguments: argparse.Namespace) -> int:
    chapters = list(plan.chapters())
    if arguments.chapter and arguments.chapter not in chapters:
        raise ValueError(f"no chapter is named {arguments.chapter!r}; there are {', '.join(chapters)}")
    wanted = {k: getattr(arguments, k) for k in ("source", "chapter", "verdict", "evidence") if getattr(arguments, k)}
    rows = [row for row in ledger() if all(row[k] == v for k, v in wanted.items())]
    print(dumps(rows) if arguments.json else table(rows, shutil.get_terminal_size((120, 24)).columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
