"""`python -m experiments NAME`: repeat a large run whose result is stored in book/data."""

from __future__ import annotations

import argparse
import functools
import sys

from foldnet.command_line import answered

from ._command import command
from ._rows import RunStopped


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The large runs whose results the book stores.")
    parser.add_argument("name", nargs="?", help="the run's name; without it, the runs there are")
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time (default 1: each cell uses all cores)")
    parser.add_argument("--store", action="store_true", help="when complete, make this the stored result in book/data")
    parser.add_argument(
        "--dry-run", action="store_true", help="how many cells, what is done already, and about what the rest takes"
    )
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="NAME=VALUE", help="a part of the cells: width=4,8 kind=sine (all must hold)"
    )
    parser.add_argument(
        "--dask",
        default="",
        metavar="ADDRESS",
        help="cells on a Dask cluster: tcp://host:8786, or local:4 for four processes here",
    )
    given = parser.parse_args(argv)
    run = functools.partial(command, given.name, given.jobs, given.store, given.dask, tuple(given.only), given.dry_run)
    try:
        return answered("experiments", run, after_stop="; the same command goes on from here")
    except RunStopped as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
