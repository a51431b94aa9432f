"""The cuda engine against the torch engine: its kernels on a processor, where there is a C++ compiler, and on a GPU."""

import ctypes
import hashlib
import itertools
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from foldnet.engines import _cuda, _nvrtc, choice, games
from foldnet.engines._cuda_plan import Layout, best_layout, bits, layouts, plan_for
from foldnet.engines._torch_engine import TorchEngine
from foldnet.geometry import _chain, _slopes_cuda
from foldnet.growth.smooth import SmoothNet
from foldnet.nets import ReLUNet
from foldnet.splines import gans
from foldnet.train import fit
from foldnet.training.problem import Problem
from tests.convolutional import random

HERE = Path(__file__).parent
COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++")
gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
CORNERS = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=4)), dtype=torch.float64)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """From the text of a kernel to a function that runs it here."""
    folder, known = tmp_path_factory.mktemp("kernels"), {}

    def make(source, device):
        assert device.type == "cpu"
        name = hashlib.sha256(source.encode()).hexdigest()[:16]
        if name not in known:
            text = "\n".join([(HERE / "cuda_on_cpu.h").read_text(), source, (HERE / "cuda_on_cpu_end.h").read_text()])
            (folder / f"{name}.cpp").write_text(text)
            library = folder / f"{name}.so"
            how = [COMPILER, "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-o", str(library), str(folder / f"{name}.cpp")]
            subprocess.run(how, check=True, timeout=600)
            known[name] = ctypes.CDLL(str(library)).launch
        return lambda task, blocks, threads, wait=True: known[name](ctypes.byref(task), blocks, threads)

    return make


@pytest.fixture
def on_cpu(built, monkeypatch):
    monkeypatch.setattr(_cuda, "kernel", built)


def random_problem(sizes, n, count, dtype=torch.float64, own_points=False, corners=False, **settings):
    """Random points (or corners of a cube) and targets that fit the loss; those of the points or of the targets are shared."""
    rng = np.random.default_rng(5)
    kind = settings.pop("activation", "relu")
    own = {"leak": settings.pop("leak", 0.1)} if kind == "relu" else {"activation": kind}
    nets = (ReLUNet if kind == "relu" else SmoothNet).random(sizes, batch=count, seed=4, dtype=dtype, **own)
    x = CORNERS if corners else torch.as_tensor(rng.normal(size=(count, n, sizes[0]) if own_points else (n, sizes[0])))
    y = torch.as_tensor(rng.uniform(0.01, 1, size=(n, sizes[-1]) if own_points else (count, n, sizes[-1])))
    if settings["loss"] == "cross_entropy":
        y = y / y.sum(-1, keepdim=True)
    return Problem.checked(nets, x, y.round() if corners else y, **{"lr": 0.01, "epochs": 25, **settings})


def step_by_step(problem, other, tol, parted=0.0, chunks=(1, 1, 2, 3, 5, 8)):
    """Both engines side by side through some epochs: parameters, stops and losses; a share of the networks may part."""
    plain = TorchEngine(problem)
    for count in itertools.chain(chunks, [problem.epochs + 1 - sum(chunks)]):
        one, two = plain.advance(count), other.advance(count)
        assert len(one) == len(two)
        assert torch.equal(plain.stops(), other.stops())
        # of a network that runs the loss is known at the marks alone
        known = (plain.stops() >= 0) | plain.problem.marked(plain.done - 1)
        for a, b in zip([*one, plain.vector(), plain.losses()[known]], [*two, other.vector(), other.losses()[known]]):
            assert a.dtype == b.dtype
            finite = a.isfinite()
            assert torch.equal(finite, b.isfinite())
            far = finite & ((a - b).abs() > tol * (1 + a.abs()))
            assert far.reshape(len(a), math.prod(a.shape[1:])).any(1).sum() <= parted * len(a), (a - b)[finite].abs().max()
    assert plain.running() == other.running()
    return plain


def laid_out(problem, lanes, apart=False):
    """The plan with that many lanes."""
    setting = problem.net.sizes, problem.x.shape[1], problem.optimizer == "adam", True, problem.net.activation
    found = next(k for k in layouts(*setting) if k.lanes == lanes)
    return plan_for(problem, replace(found, apart=apart or found.apart))


# every loss, both optimizers, mini-batches, every number of lanes, points and targets of each kind
CASES = [
    ({"sizes": (4, 3, 1), "n": 16, "loss": "bce", "optimizer": "adam", "corners": True}, 1),
    ({"sizes": (4, 3, 1), "n": 16, "loss": "bce", "optimizer": "adam", "corners": True, "until": 0.6}, 1),
    ({"sizes": (3, 2), "n": 7, "loss": "mse", "optimizer": "gd", "own_points": True}, 1),
    ({"sizes": (3, 2, 2), "n": 7, "loss": "cross_entropy", "optimizer": "adam", "every": 9}, 1),
    ({"sizes": (2, 3, 1), "n": 11, "loss": "half_sum", "optimizer": "sgd", "batch_size": 4, "lr": 0.002}, 1),
    ({"sizes": (2, 4, 3, 1), "n": 9, "loss": "bce", "optimizer": "adam", "own_points": True, "leak": 0.0}, 2),
    ({"sizes": (2, 5, 3), "n": 13, "loss": "cross_entropy", "optimizer": "adam", "batch_size": 5}, 4),
    ({"sizes": (4, 6, 6, 2), "n": 16, "loss": "mse", "optimizer": "adam", "until": 0.15}, 16),
    ({"sizes": (3, 8, 8, 1), "n": 40, "loss": "bce", "optimizer": "gd"}, 32),
    # targets that are bits, in a loop: for several lanes, and in mini-batches
    ({"sizes": (4, 3, 2), "n": 16, "loss": "bce", "optimizer": "adam", "corners": True}, 4),
    ({"sizes": (4, 3, 2), "n": 16, "loss": "bce", "optimizer": "adam", "corners": True, "batch_size": 5}, 1),
]

# every activation in one lane with the points in the code, in more lanes, and through two hidden layers in mini-batches
CASES += [
    (how | {"activation": name}, lanes)
    for name in ("tanh", "abs", "gelu", "sine")
    for how, lanes in (
        ({"sizes": (4, 3, 1), "n": 16, "loss": "bce", "optimizer": "adam", "corners": True, "until": 0.6}, 1),
        ({"sizes": (2, 4, 3, 1), "n": 9, "loss": "mse", "optimizer": "adam", "own_points": True}, 4),
        ({"sizes": (2, 3, 3, 2), "n": 11, "loss": "cross_entropy", "optimizer": "sgd", "batch_size": 4}, 1),
    )
]


@needs_compiler
@pytest.mark.parametrize(("setting", "lanes"), CASES)
def test_kernel_step_by_step(on_cpu, setting, lanes):
    problem = random_problem(count=37, **setting)
    done = step_by_step(problem, _cuda.CudaEngine(problem, laid_out(problem, lanes)), 1e-12)
    if problem.until is not None:
        assert 0 < (done.stops() >= 0).sum() < 37
        assert len(done.stops().unique()) > 3


@needs_compiler
def test_kernel_with_moments_in_shared_memory(on_cpu):
    problem = random_problem((4, 6, 6, 2), 16, 5, loss="mse", optimizer="adam")
    step_by_step(problem, _cuda.CudaEngine(problem, laid_out(problem, 16, apart=True)), 1e-12)


@needs_compiler
@pytest.mark.parametrize("activation", ["relu", "tanh", "abs", "gelu", "sine"])
@pytest.mark.parametrize(("lanes", "corners"), [(1, True), (4, False)])
def test_kernel_in_float32(on_cpu, lanes, corners, activation):
    how = {"loss": "bce", "optimizer": "adam", "activation": activation}
    problem = random_problem((4, 3, 1), 16, 40, torch.float32, corners=corners, **how)
    step_by_step(problem, _cuda.CudaEngine(problem, laid_out(problem, lanes)), 5e-5)


@needs_compiler
@pytest.mark.parametrize(("lanes", "batch_size"), [(1, None), (4, 3)])
def test_what_diverges_is_frozen(on_cpu, lanes, batch_size):
    how = {"loss": "mse", "optimizer": "sgd" if batch_size else "gd", "batch_size": batch_size, "epochs": 30}
    problem = random_problem((2, 3, 1), 9, 3, lr=torch.tensor([0.01, 1e150, 10.0], dtype=torch.float64), **how)
    done = step_by_step(problem, _cuda.CudaEngine(problem, laid_out(problem, lanes)), 1e-9)
    assert done.stops()[0] == -1
    assert done.stops()[1] >= 1


@needs_compiler
def test_fit_with_the_engine(on_cpu, monkeypatch):
    """Through fit: marks, a record in the middle, networks that stop, the shape of the batch."""
    monkeypatch.setattr(choice, "_cuda_obstacle", lambda problem: None)
    nets = ReLUNet.random((4, 3, 1), batch=(3, 12), leak=0.1, seed=1)
    y = torch.as_tensor(np.random.default_rng(0).integers(0, 2, (3, 1, 16, 1)))
    how = {"loss": "bce", "lr": 0.05, "epochs": 70, "every": 9, "until": 0.45, "record": lambda net: net.vector()}
    one, two = (fit(nets, CORNERS, y, engine=engine, **how) for engine in ("torch", "cuda"))
    assert two.engine == "cuda"
    assert 0 < one.stopped.sum() < 36
    assert torch.equal(one.epochs_run, two.epochs_run)
    assert torch.allclose(one.loss, two.loss, rtol=1e-10, atol=1e-10)
    assert torch.allclose(one.recorded["value"], two.recorded["value"], rtol=1e-9, atol=1e-9)


# ---- what goes where ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "n", "count", "lanes"),
    [
        ((4, 3, 1), 16, 1_000_000, 1),
        ((5, 4, 1), 32, 1_000_000, 1),
        ((4, *[10] * 5, 1), 16, 1_000_000, 16),
        ((4, 3, 1), 16, 10, 16),
        ((4, 200, 200, 1), 16, 10, None),
        ((784, 2, 10), 16, 10, None),
    ],
)
def test_layout_by_size_and_number(sizes, n, count, lanes):
    found = best_layout(random_problem(sizes, n, 2, torch.float32, loss="bce", optimizer="adam"))
    if count > 10:
        nets = ReLUNet.random(sizes, dtype=torch.float32)
        problem = Problem.checked(
            nets, torch.ones(n, sizes[0]), torch.zeros(n, sizes[-1]), loss="bce", optimizer="adam", lr=1, epochs=1
        )
        found = best_layout(replace(problem, theta=problem.theta.expand(count, -1)))
    assert (found and found.lanes) == lanes


def test_bits():
    y = torch.as_tensor(np.random.default_rng(0).integers(0, 2, (6, 20, 2))).double()
    words = bits(y, 2).numpy().view(np.uint32)
    for b, k in itertools.product(range(6), range(40)):
        assert words[k // 32, b] >> np.uint32(k % 32) & 1 == y[b].flatten()[k]


def test_estimate_and_obstacles():
    def problem(count, epochs, sizes=(4, 3, 1), **settings):
        nets = ReLUNet.random(sizes, batch=count, dtype=torch.float32)
        return Problem.checked(nets, CORNERS, torch.zeros(16), loss="bce", optimizer="adam", lr=1e-3, epochs=epochs, **settings)

    assert choice._cuda_pays(problem(22_200, 40_000))
    assert not choice._cuda_pays(problem(22_200, 400))
    assert not choice._cuda_pays(problem(22_200, 40_000, batch_size=4))
    assert not choice._cuda_pays(problem(2, 40_000, (4, 200, 200, 1)))
    with pytest.raises(ValueError, match="trains small float32 or float64 networks on a GPU; here the network is on cpu"):
        choice.engine_for(problem(2, 2), "cuda")
    with pytest.raises(ValueError, match="too large for the cuda engine"):
        _cuda.CudaEngine(problem(2, 2, (4, 200, 200, 1)))


def test_without_nvrtc_torch_takes_over(monkeypatch):
    def refuse(source, device):
        raise _nvrtc.KernelError("there is none")

    monkeypatch.setattr(_cuda, "kernel", refuse)
    monkeypatch.setattr(choice, "_cuda_obstacle", lambda problem: None)
    monkeypatch.setattr(choice, "_cuda_pays", lambda problem: True)
    monkeypatch.setattr(choice, "_fused_pays", lambda problem: False)
    nets = ReLUNet.random((2, 3, 1))
    assert fit(nets, torch.ones(5, 2), torch.ones(5), epochs=3).engine == "torch"
    with pytest.raises(ValueError, match="cannot make its kernel: there is none"):
        fit(nets, torch.ones(5, 2), torch.ones(5), epochs=3, engine="cuda")


def test_every_layout_says_what_it_needs():
    for found in layouts((4, 10, 10, 1), 16, True, False):
        assert isinstance(found, Layout)
        assert found.threads % found.lanes == 0
        assert found.blocks >= 1


# ---- on a GPU ----------------------------------------------------------------------------------------------------------


def moved(problem):
    net = problem.net.to("cuda")
    tensors = {name: getattr(problem, name).to("cuda") for name in ("theta", "x", "y", "rate")}
    return replace(problem, net=net, **tensors)


@gpu
@pytest.mark.parametrize(("setting", "lanes"), CASES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_cuda_step_by_step(setting, lanes, dtype):
    """In float32 a goal may be met an epoch apart, so there is none; rounding decides where a neuron is nearly 0."""
    setting = {**setting, "until": setting.get("until") if dtype == torch.float64 else None}
    problem = moved(random_problem(count=1037, dtype=dtype, **setting))
    close = (1e-10, 0) if dtype == torch.float64 else (2e-4, 0.01)
    step_by_step(problem, _cuda.CudaEngine(problem, laid_out(problem, lanes)), *close)


@gpu
@pytest.mark.parametrize("sizes", [(4, 3, 1), (5, 4, 1), (4, *[10] * 5, 1), (4, 9, 1), (4, 5, 5, 5, 1), (8, 12, 12, 1)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_cuda_equals_torch_for_the_layout_it_takes(sizes, dtype):
    how = {"loss": "bce", "optimizer": "adam", "epochs": 60, "every": 7}
    problem = moved(random_problem(sizes, 32, 500, dtype, **how))
    step_by_step(problem, _cuda.CudaEngine(problem), *((1e-9, 0) if dtype == torch.float64 else (1e-3, 0.02)))


@gpu
def test_cuda_through_fit_and_from_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _nvrtc._loaded.cache_clear()
    nets = ReLUNet.random((4, 3, 1), batch=(3, 700), leak=0.1, seed=1).to("cuda")
    y = torch.as_tensor(np.random.default_rng(0).integers(0, 2, (3, 1, 16, 1)))
    how = {"loss": "bce", "lr": 0.05, "epochs": 90, "every": 9, "until": 0.45}
    one, two = (fit(nets, CORNERS, y, engine=engine, **how) for engine in ("torch", "cuda"))
    assert two.engine == "cuda"
    assert torch.equal(one.epochs_run, two.epochs_run)
    assert torch.allclose(one.loss, two.loss, rtol=1e-9, atol=1e-9)
    assert len(list(_nvrtc.folder().iterdir())) == 1
    _nvrtc._loaded.cache_clear()
    monkeypatch.setattr(_nvrtc, "_compile", None)
    assert torch.equal(fit(nets, CORNERS, y, engine="cuda", **how).net.vector(), two.net.vector())


@gpu
def test_cuda_auto_choice():
    nets = ReLUNet.random((4, 3, 1), batch=50_000, dtype=torch.float32).to("cuda")
    assert fit(nets, CORNERS, torch.zeros(16), loss="bce", epochs=10_000, every=10_000).engine == "cuda"
    assert fit(nets, CORNERS, torch.zeros(16), loss="bce", epochs=10).engine == "torch"


# ---- games of two networks ---------------------------------------------------------------------------------------------


def many_games(width=8, count=6, device="cpu", dtype=torch.float64):
    """Games, the scales of their noise, and 7 batches of 16 points for each of 3 seeds."""
    rng = torch.Generator().manual_seed(0)
    nets = [ReLUNet.random(s, batch=count, seed=k, dtype=dtype).to(device) for k, s in enumerate(((2, width, 2), (2, width, 1)))]
    played = gans.Games.start(*nets, (torch.arange(count) % 2).to(device))
    data, noise = torch.randn(2, 7, 3, 16, 2, generator=rng, dtype=torch.float64).to(device, dtype)
    scale = torch.linspace(0.5, 1.5, count).to(device, dtype)
    return played, scale, 2 * data, noise


def assert_same_games(ridge, tol, guarded=False, **how):
    (fast, scale, data, noise), (slow, *_) = many_games(**how), many_games(**how)
    settings = {"lr": 0.05, "damping": 0.05 if guarded else 1.0, "guarded": guarded}
    fast.play(scale, data[:3], noise[:3], ridge, **settings)  # in two calls: what a game needs to go on is all in its state
    fast.play(scale, data[3:], noise[3:], ridge, **settings)
    for real, z in zip(data.repeat(1, 2, 1, 1), scale[:, None, None] * noise.repeat(1, 2, 1, 1)):
        slow.step(real, z, ridge=ridge, **settings)
    before = many_games(**how)[0]
    for a, b, c in zip(fast.state, slow.state, before.state):
        torch.testing.assert_close(a, b, atol=tol, rtol=tol)
        assert not torch.equal(a, c)


@needs_compiler
@pytest.mark.parametrize(("width", "ridge", "guarded"), [(8, False, False), (8, True, False), (8, True, True), (16, True, False)])
def test_kernel_of_games(built, monkeypatch, width, ridge, guarded):
    monkeypatch.setattr(games, "kernel", built)
    assert_same_games(ridge, 1e-9, guarded, width=width)


@gpu
@pytest.mark.parametrize("ridge", [False, True])
def test_games_on_a_gpu(ridge):
    assert_same_games(ridge, 2e-4, device="cuda", dtype=torch.float32)
    assert_same_games(ridge, 1e-10, device="cuda")


def test_games_that_no_kernel_plays_are_refused():
    played, scale, data, noise = many_games(width=7)
    with pytest.raises(ValueError, match="both players of one even width"):
        played.play(scale, data, noise, ridge=False, lr=0.1)


# ---- slopes of convolutional networks --------------------------------------------------------------------------------------

SEEING = {
    "two convolutions": random((4, 35), 10, (3, 8, 12), seed=1),
    "ReLU first, odd sides": random((5, 6, 3), 7, (2, 13, 9), relu_first=True, seed=2),
    "one convolution": random((4,), 2, (1, 5, 18), seed=3),
}


@needs_compiler
@pytest.mark.parametrize("net", SEEING.values(), ids=SEEING)
def test_slopes_of_convolutions_are_those_in_closed_form(net, built, monkeypatch):
    monkeypatch.setattr(_slopes_cuda, "kernel", built)
    monkeypatch.setattr(_slopes_cuda, "PORTION", 2)
    for dtype, gap in ((torch.float64, 1e-13), (torch.float32, 3e-6)):
        one, x = net.to(dtype), torch.as_tensor(np.random.default_rng(4).normal(size=(3, *net.input_shape)), dtype=dtype)
        assert _slopes_cuda.fits(one.chain)
        expected = one.jacobians(x)
        found = torch.full_like(expected, torch.nan)
        with torch.no_grad():
            _slopes_cuda.of_convolutions(one.chain, x, found)
        assert (found - expected).abs().max() < gap * expected.abs().max()


def test_slopes_of_wide_networks_stay_with_torch():
    assert _slopes_cuda.fits(random((32, 32, 32)).chain)
    assert not _slopes_cuda.fits(random((32, 32), outputs=100).chain)
    assert not _slopes_cuda.fits(random((32, 200)).chain)


@gpu
@pytest.mark.parametrize("net", SEEING.values(), ids=SEEING)
def test_slopes_of_convolutions_on_a_gpu(net, monkeypatch):
    net = net.to("cuda")
    x = torch.as_tensor(np.random.default_rng(4).normal(size=(1100, *net.input_shape))).cuda()
    monkeypatch.setattr(_chain, "WORTH", 1e30)
    expected = net.jacobians(x)
    monkeypatch.setattr(_chain, "WORTH", 0)
    assert (net.jacobians(x) - expected).abs().max() < 1e-13 * expected.abs().max()
