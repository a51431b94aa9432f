"""Data loading: real files where they are, a real local server for the downloads, and torn or wrong files."""

import functools
import gzip
import hashlib
import http.server
import os
import socket
import threading

import numpy as np
import pytest

from foldnet import data

needs_mnist = pytest.mark.skipif(
    not os.environ.get("FOLDNET_DATA"), reason="set FOLDNET_DATA to a folder with mnist/ to test the real files"
)


@needs_mnist
def test_mnist_is_the_mnist_everybody_knows():
    images = data.mnist()
    assert images.x_train.shape == (60000, 784)
    assert images.y_test.shape == (10000,)
    assert 255 * images.x_train.mean(dtype=np.float64) == pytest.approx(33.3184, abs=1e-3)
    assert 255 * images.x_train.std(dtype=np.float64) == pytest.approx(78.5675, abs=1e-3)
    assert np.bincount(images.y_train).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A mirror on this machine that serves a small IDX file, and an empty cache."""
    monkeypatch.delenv("FOLDNET_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    images = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    raw = gzip.compress(bytes([0, 0, 8, 3]) + np.array(images.shape, ">i4").tobytes() + images.tobytes(), mtime=0)
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "small.gz").write_bytes(raw)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path / "served"))
    threading.Thread(target=http_server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http_server.server_port}/", hashlib.md5(raw).hexdigest(), images
    http_server.shutdown()
    http_server.server_close()


def test_download_falls_back_to_the_next_mirror_and_is_cached(server):
    address, md5, images = server
    mirrors = (address + "nothing-here/", address)
    path = data._file("small", "small.gz", md5, mirrors)
    assert np.array_equal(data._idx(path), images)
    assert data._file("small", "small.gz", md5, ("http://127.0.0.1:9/",)) == path  # from the cache: that mirror is dead


def test_a_torn_file_in_the_cache_is_fetched_again(server):
    address, md5, images = server
    path = data._file("small", "small.gz", md5, (address,))
    path.write_bytes(path.read_bytes()[:20])
    assert np.array_equal(data._idx(data._file("small", "small.gz", md5, (address,))), images)


def test_a_mirror_that_never_answers_is_given_up(server, monkeypatch):
    monkeypatch.setattr(data, "SECONDS_TO_ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(data.DataMissing, match="could not be fetched"):
        data._file("small", "small.gz", "0" * 32, (f"http://127.0.0.1:{silent.getsockname()[1]}/",))


def test_without_mnist_a_sentence_says_what_to_do(server, monkeypatch):
    monkeypatch.setattr(data, "MNIST_MIRRORS", ("http://127.0.0.1:9/", "http://127.0.0.1:9/other/"))
    with pytest.raises(data.DataMissing, match="go online once, or put it in FOLDNET_DATA/mnist/"):
        data.mnist()


def test_wrong_bytes_are_refused(server):
    address, _, _ = server
    with pytest.raises(data.DataMissing, match="could not be fetched"):
        data._file("small", "small.gz", "0" * 32, (address,))


def test_foldnet_data_comes_first_and_is_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("FOLDNET_DATA", str(tmp_path))
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "f.gz").write_bytes(b"abc")
    good = hashlib.md5(b"abc").hexdigest()
    assert data._file("small", "f.gz", good, ()).read_bytes() == b"abc"
    with pytest.raises(ValueError, match="md5"):
        data._file("small", "f.gz", "0" * 32, ())


def test_digits_are_split_once_and_for_all():
    images = data.digits()
    assert (len(images.x_train), len(images.x_test)) == (1400, 397)
    assert images.x_train.min() == 0
    assert images.x_train.max() == 1
    assert np.bincount(np.concatenate([images.y_train, images.y_test])).tolist() == [
        178,
        182,
        177,
        183,
        181,
        182,
        181,
        179,
        174,
        180,
    ]


def test_the_last_ten_thousand_photographs_are_the_test_images(tmp_path, monkeypatch):
    """Five images in one batch and 10,000 in another, each one grey: which is which is said by its label."""
    labels = np.arange(10_005) % 10
    records = np.repeat(labels.astype(np.uint8)[:, None], 3073, axis=1)
    (tmp_path / "cifar10").mkdir()
    batches = {}
    for name, part in (("one.bin", records[:5]), ("two.bin", records[5:])):
        (tmp_path / "cifar10" / name).write_bytes(part.tobytes())
        batches[name] = hashlib.md5(part.tobytes()).hexdigest()
    monkeypatch.setattr(data, "CIFAR_BATCHES", batches)
    monkeypatch.setenv("FOLDNET_DATA", str(tmp_path))
    found = data.cifar10()
    assert found.y_train.tolist() == labels[:5].tolist()
    assert found.y_test.tolist() == labels[5:].tolist()
    assert (255 * found.x_train[:, 0]).round().tolist() == labels[:5].tolist()
    assert (255 * found.x_test[:, -1]).round().tolist() == labels[5:].tolist()
