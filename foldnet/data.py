"""Small image sets, with checksums and a cache: MNIST, CIFAR-10 and the digits of scikit-learn.

>>> from foldnet.data import digits
>>> images = digits()
>>> images.x_train.shape, images.y_test.shape
((1400, 64), (397,))
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
