"""`python -m foldnet swaps 0110`: how hard a Boolean function is for a line."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from . import __version__
from .command_line import answered


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m foldnet", description="How ReLU networks fold space.")
    parser.add_argument("--version", action="version", version=f"foldnet {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    swaps = commands.add_parser(
        "swaps",
        help="the swaps value of a Boolean function, or of all classes of functions",
        description="The fewest changes of class along any projection of the cube's corners to a line, exactly.",
    )
    swaps.add_argument(
        "function", nargs="?", help="a truth table as 0110, inputs in lexicographic order; with --inputs its number"
    )
    swaps.add_argument(
        "--inputs", type=int, metavar="N", help="the number of inputs (at most 6) of a function given by its number"
    )
    swaps.add_argument("--classes", type=int, metavar="N", help="all classes of functions of N inputs, at most 5")
    arguments = parser.parse_args(argv)
    return answered("foldnet", lambda: _swaps(arguments))


def _swaps(arguments: argparse.Namespace) -> int:
    if (arguments.function is None) == (arguments.classes is None):
        raise ValueError("swaps needs a truth table, as in `swaps 0110`, or --classes N")
    if arguments.classes is not None and arguments.inputs is not None:
        raise ValueError(f"--inputs goes with the number of one function, not with --classes; got --inputs {arguments.inputs}")
    if arguments.classes is not None:
        return _swaps_of_classes(arguments.classes)
    from .boolean.functions import corners, input_count, table_number, truth_table
    from .boolean.swaps import witness

    given = arguments.function
    if arguments.inputs is not None and not given.isdigit():
        raise ValueError(f"with --inputs a function is given by its number; got {given!r}")
    f = truth_table(given if arguments.inputs is None else int(given), arguments.inputs)
    found, points = witness(f), corners(input_count(f), low=0)
    print(f"function {table_number(f)} of {input_count(f)} inputs: swaps value {found.swaps}")
    print("weights  " + " ".join(map(str, found.weights)))
    print("corners  " + " ".join("".join(map(str, points[i])) for i in found.order))
    print("values   " + " ".join(str(f[i]).rjust(input_count(f)) for i in found.order))
    return 0


def _swaps_of_classes(n: int) -> int:
    from tqdm import tqdm

    from .boolean.functions import npn_class_sizes, npn_classes, truth_tables
    from .boolean.swaps import swaps

    if not 1 <= n <= 5:
        raise ValueError(f"the classes are listed for 1 to 5 inputs; got {n} (for 6 there are some 2e14)")
    parts = np.array_split(npn_classes(n), 1 if n < 5 else 200)
    values = np.concatenate([swaps(truth_tables(part, n)) for part in tqdm(parts, "classes", disable=None, leave=False)])
    print("swaps      classes       functions")
    for value, (count, weighted) in enumerate(zip(np.bincount(values), np.bincount(values, npn_class_sizes(n)), strict=True)):
        print(f"{value:5} {int(count):12,} {int(weighted):15,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
