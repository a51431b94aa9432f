"""How kernels are compiled: without the GIL, kept on disk where there is a place for it, with a line that says so meanwhile."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import re
from pathlib import Path
from typing import Any

import numba
from numba import int64, uint64
from numba.core import event, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from ._progress import line

WIDTH = 79
RELATIVE = re.compile(r"^from (\.+)([\w.]+) import", re.MULTILINE)


def compiled(function):
    """The function compiled by numba at its first call.

    Of the fast-math licences only fused multiply-add is given: reassociation and no-NaN change what is computed.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "boundscheck": False}
    made = numba.njit(**options)(function)
    made.compile = functools.partial(_compile, made)
    with contextlib.suppress(RuntimeError, OSError):  # no folder to write to
        made._cache = _Kept(function)
    return made


def most_threads() -> int:
    """How many threads a kernel may have: as many as torch, and no more than numba."""
    import torch  # a kernel needs none

    return min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS)  # ty: ignore[missing-attribute]


def _compile(made, signature):
    """Compile for the types of the arguments alone: numba would compile for `count = 3` and once more for `count`."""
    return type(made).compile(made, tuple(map(types.unliteral, signature)))


class _Kept(FunctionCache):
    """What is kept of a kernel: one file for its name, good for as long as all files are the same that it is made of.

    numba looks at the kernel's own file only, but what it calls is compiled into it, and constants are too; and it puts the line
    into the name, so that old files would stay for ever.
    """

    def __init__(self, function):
        super().__init__(function)
        name = self._impl.filename_base.replace(f"-{function.__code__.co_firstlineno}.", ".")
        self._cache_file = IndexDataCacheFile(self._cache_path, name, _checksum(Path(inspect.getfile(function))))


@functools.cache
def _checksum(path: Path) -> str:
    return hashlib.sha256(b"".join(text for _, text in sorted(sources(path).items()))).hexdigest()


def sources(path: Path) -> dict[Path, bytes]:
    """A file and those of the package that it imports from, and they from others, with what is in them."""
    found, ahead = {}, [path]
    while ahead:
        if (path := ahead.pop()) not in found:
            found[path] = path.read_bytes()
            named = RELATIVE.findall(found[path].decode())
            ahead += [path.parents[len(dots) - 1].joinpath(*name.split(".")).with_suffix(".py") for dots, name in named]
    return found


@compiled
def ones(word):
    """The number of bits that are set in an unsigned word of 64."""
    word = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
    word = (word & uint64(0x3333333333333333)) + ((word >> uint64(2)) & uint64(0x3333333333333333))
    word = (word + (word >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return int64((word * uint64(0x0101010101010101)) >> uint64(56))


@compiled
def lowest(word):
    """The place of the lowest bit that is set, 64 where none is."""
    return int64(trailing_zeros(word))  # ty: ignore[missing-argument]


@compiled
def signs_of(values, first, number):
    """Which of up to 64 values, from the first on, are positive and which negative, as bits."""
    p, q, begin = uint64(0), uint64(0), uint64(first)
    for d in range(uint64(number)):  # a sign in an index would keep the compiler from using vectors
        p |= uint64(values[begin + d] > 0) << d
        q |= uint64(values[begin + d] < 0) << d
    return p, q


@intrinsic
def _pointer(context, address):
    """A whole number as the place of a float64."""
    kind = types.CPointer(types.float64)
    return kind(address), lambda context, builder, _, args: builder.inttoptr(args[0], context.get_value_type(kind))


@compiled
def floats_at(address, number):
    """So many float64 at an address, as an array; whoever calls keeps them alive."""
    return numba.carray(_pointer(address), number)  # ty: ignore[missing-argument]


class _Told(event.Listener):
    """While a kernel of the package is compiled, not when it comes from disk, a line names it; afterwards the line is empty."""

    depth = 0  # a kernel is compiled while those that call it are; numba does it in one thread at a time
    file: Any = None

    def on_start(self, event) -> None:
        self.depth += 1
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("foldnet."):
            self.file = self.file or line()
            self._write(f"compiling, once on this machine, up to a minute: {function.__name__}")

    def on_end(self, event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self._write("")
            self.file = None

    def _write(self, text: str) -> None:
        if self.file is not None:
            self.file.write("\r" + text[:WIDTH].ljust(WIDTH) + ("" if text else "\r"))
            self.file.flush()


event.register("numba:compile", _Told())
