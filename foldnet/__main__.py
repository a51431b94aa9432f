"""`python -m foldnet`: the ledger and the large runs from a shell."""

from __future__ import annotations

import argparse
import shutil
import sys


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m foldnet", description="How ReLU networks fold space: the book's ledger and its large runs."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _ledger_arguments(commands.add_parser("ledger", help="every claim of the sources beside what the stored notebooks measured"))
    _sweep_arguments(commands.add_parser("sweep", help="repeat a large run whose result is stored in book/data"))
    arguments = parser.parse_args(argv)
    try:
        return arguments.run(arguments)
    except (ValueError, FileNotFoundError) as error:
        print(f"foldnet: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nfoldnet: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _ledger_arguments(parser: argparse.ArgumentParser) -> None:
    from .claims import VERDICTS

    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    parser.add_argument("--source", choices=("S0", "S1", "S2", "S3"), help="only the claims of this source")
    parser.add_argument("--chapter", help="only the claims of this chapter, as splines/breakpoints")
    parser.add_argument("--verdict", choices=VERDICTS, help="only the claims with this verdict")
    parser.set_defaults(run=_ledger)


def _ledger(arguments) -> int:
    from .claims import claims, dumps
    from .ledger import ledger, table

    chapters = sorted({c.chapter for c in claims().values()})
    if arguments.chapter and arguments.chapter not in chapters:
        raise ValueError(f"no chapter is named {arguments.chapter!r}; there are {', '.join(chapters)}")
    wanted = {k: getattr(arguments, k) for k in ("source", "chapter", "verdict") if getattr(arguments, k)}
    rows = [row for row in ledger() if all(row[k] == v for k, v in wanted.items())]
    print(dumps(rows) if arguments.json else table(rows, shutil.get_terminal_size((120, 24)).columns))
    return 0


def _sweep_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the run's name; without it, the runs there are")
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time (default 1: each cell uses all cores)")
    parser.add_argument("--store", action="store_true", help="when complete, make this the stored result in book/data")
    parser.set_defaults(run=_sweep)


def _sweep(arguments) -> int:
    from .experiments import runner

    return runner.command(arguments.name, jobs=arguments.jobs, store=arguments.store)


if __name__ == "__main__":
    sys.exit(main())
