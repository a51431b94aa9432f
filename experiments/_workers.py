"""Who computes the cells of a run: this process, some processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import hashlib
import json
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from ._rows import RunStopped, plain

PACKAGES = ("foldnet", "foldbook", "experiments")  # those whose sources make the rows
AT_WORK = contextvars.ContextVar("at_work", default=False)  # whether a cell of a large run is being computed
PATIENCE = 300  # seconds in which a cluster without any worker may get one


def rows(function: Callable[..., dict], cells: list[dict], commit: str, jobs: int = 1) -> Iterator[dict]:
    """The row of each cell, as they are done."""
    call = functools.partial(row, function, commit=commit)
    if jobs == 1:
        return map(call, cells)
    from joblib import Parallel, delayed

    return _alive(Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(call)(c) for c in cells))


def _alive(made: Iterator[dict]) -> Iterator[dict]:
    """The same rows; a process that was ended from outside, by a system without memory, stops the run with a sentence."""
    try:
        yield from made
    except BrokenProcessPool:
        raise RunStopped(
            "a process that computed a cell was ended, perhaps for want of memory; the rows so far are kept, and the same"
            " command goes on from there: with fewer --jobs, if memory is short"
        ) from None


def row(function: Callable[..., dict], cell: dict, commit: str) -> dict:
    """The row of a cell; what went wrong in it becomes its error, so that hours of other cells are not lost."""
    start, before = time.perf_counter(), AT_WORK.set(True)
    try:
        found = {"result": _named(function(**cell))}
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        found = {"error": f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno})"}
    finally:
        AT_WORK.reset(before)
    return {"cell": cell, **found, "seconds": round(time.perf_counter() - start, 2), "commit": commit}


def _named(result: dict) -> dict:
    """The result in plain numbers and lists, refused if a key is a sentence: dicts inside it may have any label."""
    wrong = [k for k in result if not k.isidentifier()]
    if wrong:
        raise ValueError(f"the keys of a result are names, as mean_loss; got {', '.join(map(repr, wrong))}")
    return json.loads(json.dumps(result, default=plain))


def code() -> str:
    """A checksum of the sources of the packages that run: two commits may share the code, and two states with changes may not."""
    root = Path(__file__).parent.parent
    files = (path for name in PACKAGES for path in sorted((root / name).rglob("*.py")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


@functools.cache
def hardware() -> str:
    """Cores, processor and GPU of this machine; the GPU without its name where CUDA does not tell it to a forked process."""
    import torch

    gpu = ""
    if torch.cuda.is_available():
        gpu = ", a GPU"
        with contextlib.suppress(RuntimeError):
            gpu = f", {torch.cuda.get_device_name()}"
    return f"{os.cpu_count()} cores, {platform.machine()}{gpu}"


# ---- more than one machine -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def cluster(address: str):
    """A client of the Dask scheduler at this address, or of `local:4`, a cluster of four processes of this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError("--dask needs Dask: pip install 'foldnet[cluster]'") from None
    with contextlib.ExitStack() as stack:
        kind, _, workers = address.partition(":")
        patience = 10
        if kind == "local":
            if not workers.isdigit() or not int(workers):
                raise ValueError(f"a cluster of this machine is local:4, with the number of its processes; got {address!r}")
            settings = {"n_workers": int(workers), "threads_per_worker": 1, "dashboard_address": None}
            address, patience = stack.enter_context(LocalCluster(**settings)).scheduler_address, 300  # it is there, if busy
        try:
            client = stack.enter_context(Client(address, timeout=patience, set_as_default=False))
        except (OSError, ValueError) as error:
            raise ValueError(f"no Dask scheduler answers at {address!r}: {error}") from None
        yield client


def of_cluster(client, function: Callable[..., dict], cells: list[dict], commit: str) -> Iterator[dict]:
    """The row of each cell, as the workers send them; what a lost worker had is given to the others, or to new ones."""
    from distributed import as_completed

    call = functools.partial(_there, function, commit=commit, code=code())
    futures = {future.key: (future, c) for c, future in zip(cells, client.map(call, cells, pure=False))}
    coming = as_completed([future for future, _ in futures.values()], loop=client.loop, with_results=True)
    for future, made in _patient(client, coming):
        _, cell = futures.pop(future.key)  # a result that was taken need not stay on its worker
        error = made[1] if isinstance(made, tuple) else made  # with its kind and its place, or a CancelledError alone
        yield made if isinstance(made, dict) else _lost(cell, error, commit)


def _patient(client, coming) -> Iterator[tuple]:
    """What is coming, as it is done; Dask itself would wait for ever where all workers are lost."""
    seen = time.monotonic()
    while coming.count():
        if (batch := coming.next_batch(block=False)) or client.scheduler_info()["workers"]:
            seen = time.monotonic()
        elif time.monotonic() - seen > PATIENCE:
            kept = "the rows so far are kept, and the same command goes on from there"
            raise RunStopped(f"the cluster had no worker for {PATIENCE} seconds; {kept}")
        yield from batch
        time.sleep(0 if batch else 0.1)


def _there(function: Callable[..., dict], cell: dict, commit: str, code: str) -> dict:
    """The row of a cell on a worker, refused where its code is not ours: rows of one commit come from one code."""
    if (theirs := _code_here()) != code:
        return _lost(cell, ValueError(f"a worker has other code, {theirs} instead of {code}: install the same there"), commit)
    return row(function, cell, commit)


_code_here = functools.cache(code)


def _lost(cell: dict, error: BaseException, commit: str) -> dict:
    return {"cell": cell, "error": f"{type(error).__name__}: {error}", "seconds": 0.0, "commit": commit}
