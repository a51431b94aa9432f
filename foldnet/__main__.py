"""`python -m foldnet`: the ledger and the large runs from a shell."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m foldnet", description="How ReLU networks fold space: the book's ledger and its large runs."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _ledger_arguments(commands.add_parser("ledger", help="every claim of the sources beside what the stored notebooks measured"))
    _sweep_arguments(commands.add_parser("sweep", help="repeat a large run whose result is stored in book/data"))
    _swaps_arguments(commands.add_parser("swaps", help="the swaps value of a Boolean function, or of all classes of functions"))
    arguments = parser.parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # not every file of Windows has letters for a formula: a ? will do
        sys.stdout.reconfigure(errors="replace")
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except (ValueError, FileNotFoundError) as error:
        print(f"foldnet: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        from .experiments._rows import RunStopped

        if not isinstance(error, RunStopped):
            raise
        print(f"foldnet: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nfoldnet: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, as head, has seen enough; what is left must not be written on leaving
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _ledger_arguments(parser: argparse.ArgumentParser) -> None:
    from .claims import EVIDENCE, VERDICTS
    from .plan import sources

    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    parser.add_argument("--source", choices=tuple(sources()), help="only the claims of this source")
    parser.add_argument("--chapter", help="only the claims of this chapter, as splines/breakpoints")
    parser.add_argument("--verdict", choices=VERDICTS, help="only the claims with this verdict")
    parser.add_argument("--evidence", choices=EVIDENCE, help="only the claims with this kind of evidence")
    parser.set_defaults(run=_ledger)


def _ledger(arguments) -> int:
    from .claims import dumps
    from .ledger import ledger, table
    from .plan import chapters as planned

    chapters = list(planned())
    if arguments.chapter and arguments.chapter not in chapters:
        raise ValueError(f"no chapter is named {arguments.chapter!r}; there are {', '.join(chapters)}")
    wanted = {k: getattr(arguments, k) for k in ("source", "chapter", "verdict", "evidence") if getattr(arguments, k)}
    rows = [row for row in ledger() if all(row[k] == v for k, v in wanted.items())]
    print(dumps(rows) if arguments.json else table(rows, shutil.get_terminal_size((120, 24)).columns))
    return 0


def _sweep_arguments(parser: argparse.ArgumentParser) -> None:
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
    parser.set_defaults(run=_sweep)


def _sweep(arguments) -> int:
    from .experiments._command import command

    options = {"store": arguments.store, "dask": arguments.dask, "only": tuple(arguments.only), "dry": arguments.dry_run}
    return command(arguments.name, arguments.jobs, **options)


def _swaps_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "The fewest changes of class along any projection of the cube's corners to a line, exactly."
    parser.add_argument(
        "function", nargs="?", help="a truth table as 0110, inputs in lexicographic order; with --inputs its number"
    )
    parser.add_argument(
        "--inputs", type=int, metavar="N", help="the number of inputs (at most 6) of a function given by its number"
    )
    parser.add_argument(
        "--classes",
        type=int,
        metavar="N",
        help="all classes of functions of N inputs, at most 5; N = 5 takes minutes and can be resumed",
    )
    parser.set_defaults(run=_swaps)


def _swaps(arguments) -> int:
    if (arguments.function is None) == (arguments.classes is None):
        raise ValueError("swaps needs a truth table, as in `swaps 0110`, or --classes N")
    if arguments.classes is not None and arguments.inputs is not None:
        raise ValueError(f"--inputs goes with the number of one function, not with --classes; got --inputs {arguments.inputs}")
    if arguments.classes is not None:
        return _swaps_of_classes(arguments.classes)
    from .boolean.functions import corners, inputs_of, number, table
    from .boolean.swaps import witness

    given = arguments.function
    if arguments.inputs is not None and not given.isdigit():
        raise ValueError(f"with --inputs a function is given by its number; got {given!r}")
    f = table(given if arguments.inputs is None else int(given), arguments.inputs)
    found, points = witness(f), corners(inputs_of(f), low=0)
    print(f"function {number(f)} of {inputs_of(f)} inputs: swaps value {found.swaps}")
    print("weights  " + " ".join(map(str, found.weights)))
    print("corners  " + " ".join("".join(map(str, points[i])) for i in found.order))
    print("values   " + " ".join(str(f[i]).rjust(inputs_of(f)) for i in found.order))
    return 0


def _swaps_of_classes(n: int) -> int:
    import numpy as np

    from .boolean.functions import class_sizes, classes, tables

    if not 1 <= n <= 5:
        raise ValueError(f"the classes are listed for 1 to 5 inputs; got {n} (for 6 there are some 2e14)")
    if n < 5:
        from .boolean.swaps import swaps

        value = swaps(tables(classes(n), n))
        counts, weighted = np.bincount(value), np.bincount(value, class_sizes(n))
    else:
        from . import _paths
        from .experiments import runner, swaps_classes

        path = _paths.repository() / "_sweeps" / "swaps_classes.jsonl"
        result = runner.run(swaps_classes.cells(), swaps_classes.cell, path, command="python -m foldnet swaps --classes 5")
        counts, weighted = (np.sum([r[k] for r in result.rows], axis=0) for k in ("classes", "functions"))
    print("swaps      classes       functions")
    for value in range(int(np.flatnonzero(counts)[-1]) + 1):
        print(f"{value:5} {int(counts[value]):12,} {int(weighted[value]):15,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
