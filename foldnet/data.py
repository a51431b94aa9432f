"""Data: small image sets with checksums and a cache, and the stored results of the large runs."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import _paths

MNIST_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
MNIST_FILES = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}
SECONDS_TO_ANSWER = 10  # behind a wall that answers nothing, a missing file is found out after this long for each mirror
CIFAR_MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
CIFAR_ARCHIVE = {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"}
CIFAR_BATCHES = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}

NOT_FETCHED = "could not be fetched"  # how to tell it from a result that is not stored


class DataMissing(FileNotFoundError):
    """The data is not on this machine and no mirror could be reached; the sentence says what to do."""


@dataclass(frozen=True)
class Images:
    """Images as rows in [0, 1], float32 `(n, pixels)`, and labels, int64 `(n,)`."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def mnist() -> Images:
    """60,000 + 10,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes, Burges), downloaded once and checked."""
    x_train, y_train, x_test, y_test = (_idx(_file("mnist", f, md5, MNIST_MIRRORS)) for f, md5 in MNIST_FILES.items())
    return Images(_rows(x_train), y_train.astype(np.int64), _rows(x_test), y_test.astype(np.int64))


def cifar10() -> Images:
    """50,000 + 10,000 colour images of 32 x 32 pixels in ten classes (Krizhevsky), planes red, green, blue."""
    ((archive, md5),) = CIFAR_ARCHIVE.items()
    try:
        raw = [_local("cifar10", f, m).read_bytes() for f, m in CIFAR_BATCHES.items()]
    except DataMissing:
        with tarfile.open(_file("cifar10", archive, md5, CIFAR_MIRRORS)) as tar:
            raw = [member.read() for f in CIFAR_BATCHES if (member := tar.extractfile(f"cifar-10-batches-bin/{f}"))]
    records = np.frombuffer(b"".join(raw), np.uint8).reshape(-1, 3073)
    x, y = _rows(records[:, 1:]), records[:, 0].astype(np.int64)
    return Images(x[:-10000], y[:-10000], x[-10000:], y[-10000:])


def digits(seed: int = 0) -> Images:
    """1,797 digits of 8 x 8 pixels that come with scikit-learn: 1,400 to train on, 397 to test, shuffled by `seed`."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = (x[order] / 16).astype(np.float32), y[order].astype(np.int64)
    return Images(x[:1400], y[:1400], x[1400:], y[1400:])


@dataclass(frozen=True)
class Row:
    """One cell of a large run: its settings, what came out by name, the seconds it took and the commit that made it.

    `row["loss"]` is short for `row.result["loss"]`; lists of numbers come as arrays. A cell that failed has an `error` instead.
    """

    cell: dict
    result: dict
    seconds: float
    commit: str
    error: str = ""

    def __getitem__(self, name: str):
        if name not in self.result:
            raise KeyError(f"no result is named {name!r}; there are {', '.join(self.result)} (settings are in row.cell)")
        return self.result[name]


@dataclass(frozen=True)
class Stored:
    """A stored result: a row for each cell of a large run, how the rows were made, and the cells that failed."""

    provenance: list[dict]
    rows: list[Row]
    failed: list[Row] = field(default_factory=list)

    def where(self, **cell) -> list[Row]:
        """The rows of all cells that have these settings."""
        return [r for r in self.rows if all(k in r.cell and _same(r.cell[k], v) for k, v in cell.items())]

    def row(self, **cell) -> Row:
        """The row of the cell with exactly these settings, or else the only one that has them among others."""
        found = self.where(**cell)
        exact = [r for r in found if len(r.cell) == len(cell)]
        if len(exact or found) != 1:
            some = ", ".join(str(r.cell) for r in (found or self.rows)[:3])
            raise KeyError(f"{len(found)} of {len(self.rows)} rows have {cell}, and one is needed; there are {some}, ...")
        return (exact or found)[0]


def stored(name: str, path: Path | None = None) -> Stored:
    """The stored result of the large run `name`, from `book/data/NAME.jsonl`; a line cut short by a kill is passed over.

    Long arrays may lie beside it in NAME.npz, whose checksum is in the file; book/data/README.md has the format.
    """
    path = path or _paths.book() / "data" / f"{name}.jsonl"
    if not path.is_file():
        raise DataMissing(f"no result of {name!r} is stored at {path.name}; `make sweep NAME={name}` makes it")
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    arrays = next((_arrays(path, x["arrays"]) for x in lines if "arrays" in x), {})
    rows, start = [], {}
    for x in lines:
        start = x.get("provenance", start)
        if "cell" in x:
            rows.append(Row(**{"commit": start.get("commit", ""), **x, "result": _filled(x.get("result", {}), arrays)}))
    done = [r for r in rows if not r.error]
    failed = {json.dumps(r.cell, sort_keys=True): r for r in rows if r.error}  # the last try counts
    for r in done:
        failed.pop(json.dumps(r.cell, sort_keys=True), None)
    return Stored([x["provenance"] for x in lines if "provenance" in x], done, list(failed.values()))


def _same(a, b) -> bool:
    return (list(a) if isinstance(a, (list, tuple)) else a) == (list(b) if isinstance(b, (list, tuple)) else b)


def _arrays(path: Path, beside: dict) -> dict[str, np.ndarray]:
    """The arrays of NAME.npz, refused if it is not the file that NAME.jsonl was written with."""
    file = path.with_name(beside["file"])
    if not file.is_file():
        raise DataMissing(f"{path.name} keeps its arrays in {file.name}, which is not beside it")
    raw = file.read_bytes()
    if hashlib.sha256(raw).hexdigest() != beside["sha256"]:
        raise ValueError(f"{file.name} is not the file that {path.name} was stored with: its sha256 is not {beside['sha256']}")
    with np.load(io.BytesIO(raw)) as kept:
        return dict(kept)


def _filled(value, arrays: dict[str, np.ndarray]):
    """A result with references replaced by parts of the arrays, and lists of numbers by arrays."""
    if isinstance(value, dict) and value.keys() == {"array", "start", "shape"}:
        size = int(np.prod(value["shape"]))
        return arrays[value["array"]][value["start"] : value["start"] + size].reshape(value["shape"])
    if isinstance(value, dict):
        return {k: _filled(v, arrays) for k, v in value.items()}
    if isinstance(value, list):
        array = _as_array(value)
        return [_filled(v, arrays) for v in value] if array is None else array
    return value


def _as_array(values: list) -> np.ndarray | None:
    """Numbers, or lists of equal length of them, as an array."""
    try:
        array = np.array(values)
    except ValueError:  # unequal lengths
        return None
    return array if array.dtype.kind in "biuf" and array.size else None


def _rows(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1).astype(np.float32) / 255


def _idx(path: Path) -> np.ndarray:
    """An array in the IDX format: two zero bytes, type (8: bytes), rank, big-endian sizes, data."""
    raw = gzip.decompress(path.read_bytes())
    rank = raw[3]
    shape = np.frombuffer(raw, ">i4", rank, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _local(folder: str, name: str, md5: str) -> Path:
    """A file below the folder that the environment variable FOLDNET_DATA names."""
    root = os.environ.get("FOLDNET_DATA")
    path = Path(root or "", folder, name)
    if not root or not path.is_file():
        raise DataMissing(f"{name} is not below FOLDNET_DATA")
    if hashlib.md5(path.read_bytes()).hexdigest() != md5:
        raise ValueError(f"{path} is not the {folder} file it should be: its md5 is not {md5}")
    return path


def _file(folder: str, name: str, md5: str, mirrors: tuple[str, ...]) -> Path:
    """A file from FOLDNET_DATA, the cache, or the first mirror that answers with the right bytes."""
    try:
        return _local(folder, name, md5)
    except DataMissing:
        pass
    import pooch

    cache = Path(pooch.os_cache("foldnet")) / folder
    pooch.get_logger().setLevel("WARNING")
    ask = pooch.HTTPDownloader(timeout=SECONDS_TO_ANSWER)
    for mirror in mirrors:
        try:
            return Path(pooch.retrieve(mirror + name, known_hash=f"md5:{md5}", fname=name, path=cache, downloader=ask))  # ty: ignore[invalid-argument-type]
        except (OSError, ValueError):
            continue
    raise DataMissing(f"{name} {NOT_FETCHED} from {len(mirrors)} mirrors: go online once, or put it in FOLDNET_DATA/{folder}/")
