"""Training: against torch.nn with torch.optim, autograd, loops by hand, and the two engines against each other."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from foldnet._progress import bar
from foldnet.engines import choice
from foldnet.growth.smooth import SmoothNet
from foldnet.nets import ReLUNet
from foldnet.train import fit
from foldnet.training.problem import Problem

engines = pytest.mark.parametrize("engine", ["torch", "fused"])
losses = pytest.mark.parametrize("loss", ["mse", "half_sum", "bce"])
MEASURES = {
    "mse": torch.nn.functional.mse_loss,
    "half_sum": lambda output, y: torch.nn.functional.mse_loss(output, y, reduction="sum") / 2,
    "bce": torch.nn.functional.binary_cross_entropy_with_logits,
    "cross_entropy": torch.nn.functional.cross_entropy,
}
optimizers = pytest.mark.parametrize("optimizer", ["gd", "adam"])
cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def data(n, i, o=1, batch=(), seed=0):
    """Random points, and targets in [0, 1] for each network of the batch."""
    rng = np.random.default_rng(seed)
    return torch.as_tensor(rng.normal(size=(n, i))), torch.as_tensor(rng.uniform(size=(*batch, n, o)))


def by_torch(net, x, y, loss, optimizer, lr, epochs, batch_size=None, seed=0):
    """The textbook loop for one network: the losses on all data after 0, 1, ..., epochs epochs, and the parameters."""
    model = net.to_sequential()
    measure = MEASURES[loss]
    step = (torch.optim.Adam if optimizer == "adam" else torch.optim.SGD)(model.parameters(), lr=lr)
    rng, history = np.random.default_rng(seed), [measure(model(x), y).item()]
    for _ in range(epochs):
        order = torch.arange(len(x)) if batch_size is None else torch.as_tensor(rng.permutation(len(x)))
        for batch in order.split(batch_size or len(x)):
            step.zero_grad()
            measure(model(x[batch]), y[batch]).backward()
            step.step()
        history.append(measure(model(x), y).item())
    return torch.tensor(history, dtype=torch.float64), ReLUNet.from_sequential(model).vector()


def close(a, b, tol=1e-10):
    return torch.allclose(a.double(), b.double(), rtol=tol, atol=tol)


# ---- the same as torch -------------------------------------------------------------------------------------------------


@engines
@losses
@optimizers
@pytest.mark.parametrize("sizes", [(3, 2), (4, 3, 1), (2, 5, 4, 3), (1, 6, 5, 4, 2)])
@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_same_as_torch_optim(engine, loss, optimizer, sizes, leak):
    net = ReLUNet.random(sizes, leak=leak, seed=1)
    x, y = data(11, sizes[0], sizes[-1])
    got = fit(net, x, y, loss=loss, optimizer=optimizer, lr=0.003, epochs=200, every=1, engine=engine)
    history, vector = by_torch(net, x, y, loss, optimizer, 0.003, 200)
    assert got.engine == engine
    assert close(got.loss, history)
    assert close(got.net.vector(), vector, 1e-9)


@engines
@losses
@pytest.mark.parametrize(("optimizer", "batch_size"), [("sgd", 4), ("adam", 5), ("adam", 100)])
def test_mini_batches_same_as_torch_optim(engine, loss, optimizer, batch_size):
    net, (x, y) = ReLUNet.random((2, 6, 2), seed=2), data(11, 2, 2)
    how = {"loss": loss, "optimizer": optimizer, "batch_size": batch_size, "engine": engine}
    got = fit(net, x, y, lr=0.01, epochs=60, every=1, seed=7, **how)
    history, vector = by_torch(net, x, y, loss, optimizer, 0.01, 60, batch_size, seed=7)
    assert got.engine == engine
    assert close(got.loss, history)
    assert close(got.net.vector(), vector)


@pytest.mark.parametrize("loss", ["bce", "cross_entropy"])
@pytest.mark.parametrize("own_points", [False, True])
def test_engines_agree_in_mini_batches(loss, own_points):
    """Two blocks of networks, a last batch that is not full, records in the middle, some networks that stop."""
    nets, (x, y) = ReLUNet.random((3, 4, 2), batch=70, leak=0.1, seed=4), data(23, 3, 2)
    x, y = (x + torch.linspace(0, 1, 70)[:, None, None] if own_points else x), y / y.sum(-1, keepdim=True)
    settings = {"loss": loss, "lr": 0.01, "epochs": 50, "batch_size": 6, "every": 7, "until": 0.64, "seed": 1}
    one, two = (fit(nets, x, y, record=lambda n: n.vector(), engine=e, **settings) for e in ("torch", "fused"))
    assert 0 < one.stopped.sum() < 70
    assert torch.equal(one.epochs_run, two.epochs_run)
    assert close(one.loss, two.loss)
    assert close(one.recorded["value"], two.recorded["value"], 1e-8)


@engines
def test_what_diverges_in_the_middle_of_an_epoch_is_frozen_by_the_next_look(engine):
    nets, (x, y) = ReLUNet.random((2, 5, 1), batch=3, seed=0), data(9, 2)
    lr = torch.tensor([0.01, 1e150, 0.01], dtype=torch.float64)
    got = fit(nets, x, y, optimizer="sgd", batch_size=3, lr=lr, epochs=6, engine=engine)
    assert got.diverged.tolist() == [False, True, False]
    assert got.epochs_run.tolist() == [6, 1, 6]


@engines
@pytest.mark.parametrize("out", [1, 3])
def test_half_the_sum_is_the_mean_times_half_the_count(engine, out):
    """Gradient descent on the lecture's loss at rate r is that on the mean at rate r N / 2, N counting points times outputs."""
    nets, (x, y) = ReLUNet.random((2, 5, out), batch=70, leak=0.1, seed=3), data(7, 2, out)
    half = fit(nets, x, y, loss="half_sum", optimizer="gd", lr=0.003, epochs=200, engine=engine)
    mean = fit(nets, x, y, loss="mse", optimizer="gd", lr=0.003 * y.numel() / 2, epochs=200, engine=engine)
    assert close(half.net.vector(), mean.net.vector(), 1e-12)
    assert close(half.loss, mean.loss * y.numel() / 2, 1e-12)
    assert half.final_loss.max() < 0.9 * half.loss[0].max()


def test_settings_are_given_by_name():
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        fit(ReLUNet.random((2, 5, 1)), *data(7, 2), "mse")


# ---- a softmax over the outputs ----------------------------------------------------------------------------------------


def distributions(n, classes, batch=(), seed=0):
    """Targets that sum to 1 for each point, none of them 0."""
    y = np.random.default_rng(seed).exponential(size=(*batch, n, classes))
    return torch.as_tensor(y / y.sum(-1, keepdims=True))


@engines
@optimizers
@pytest.mark.parametrize("sizes", [(3, 2), (2, 5, 4, 3), (1, 6, 7)])
def test_softmax_same_as_torch_optim(engine, optimizer, sizes):
    net, x, y = ReLUNet.random(sizes, leak=0.1, seed=1), data(11, sizes[0])[0], distributions(11, sizes[-1])
    got = fit(net, x, y, loss="cross_entropy", optimizer=optimizer, lr=0.01, epochs=200, every=1, engine=engine)
    history, vector = by_torch(net, x, y, "cross_entropy", optimizer, 0.01, 200)
    assert close(got.loss, history)
    assert close(got.net.vector(), vector)


@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-9), (torch.float32, 2e-4)])
def test_softmax_engines_agree_for_many_networks_with_their_own_targets(dtype, tol):
    nets, y = ReLUNet.random((2, 4, 3), batch=70, seed=4, dtype=dtype), distributions(10, 3, (70,), seed=5)
    x = data(10, 2)[0]
    settings = {"lr": 0.02, "epochs": 60, "every": 20, "until": 1.0}
    one, other = (fit(nets, x, y, loss="cross_entropy", engine=engine, **settings) for engine in ("torch", "fused"))
    assert close(one.loss, other.loss, tol)
    assert torch.equal(one.stopped, other.stopped)
    assert one.stopped.any()
    assert not one.stopped.all()


@engines
def test_softmax_of_huge_outputs_stays_finite(engine):
    net = ReLUNet([[[1000.0], [0.0], [-1000.0]]], [[0.0, 0.0, 0.0]])
    done = fit(net, [[1.0], [-1.0]], [2, 2], loss="cross_entropy", optimizer="gd", lr=1e-6, epochs=1, engine=engine)
    assert close(done.loss[0], torch.tensor(1000.0))  # (2000 + 0) / 2


@engines
def test_class_numbers_are_corners_of_the_simplex(engine):
    nets, x = ReLUNet.random((2, 4, 3), batch=3, seed=2), data(6, 2)[0]
    numbers = torch.tensor([0, 2, 1, 1, 0, 2])
    corners = torch.eye(3, dtype=torch.float64)[numbers]
    by_number, by_corner = (fit(nets, x, y, loss="cross_entropy", epochs=20, engine=engine) for y in (numbers, corners))
    assert torch.equal(by_number.net.vector(), by_corner.net.vector())


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (torch.tensor([0, 1, 3]), "classes of a .* are 0 to 2; got 0 to 3"),
        (torch.full((3, 3), 0.5), "not negative, with sum 1"),
        (torch.tensor([[2.0, -1, 0]] * 3), "not negative, with sum 1"),
        (torch.tensor([0, 1]), "targets have shape"),
    ],
)
def test_bad_targets_of_a_softmax(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit(ReLUNet.random((2, 4, 3)), torch.ones(3, 2), y, loss="cross_entropy")


def test_only_networks_of_foldnet_are_trained():
    with pytest.raises(ValueError, match="fit trains networks of foldnet, as ReLUNet and SmoothNet; for a Linear"):
        fit(torch.nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3))


# ---- other activations -------------------------------------------------------------------------------------------------


def by_autograd(net, x, y, loss, lr, epochs):
    """Adam on one network through autograd, which knows nothing of a written gradient: losses, then the parameters."""
    vector = net.vector().requires_grad_()
    step, history = torch.optim.Adam([vector], lr=lr), []
    for epoch in range(epochs + 1):
        value = MEASURES[loss](net.with_vector(vector)(x), y)
        history.append(value.item())
        if epoch < epochs:
            step.zero_grad()
            value.backward()
            step.step()
    return torch.tensor(history, dtype=torch.float64), vector.detach()


@engines
@losses
@pytest.mark.parametrize("activation", ["tanh", "abs", "gelu", "sine"])
@pytest.mark.parametrize("sizes", [(4, 3, 1), (2, 5, 4, 3)])
def test_other_activations_same_as_autograd(engine, loss, activation, sizes):
    net, (x, y) = SmoothNet.random(sizes, activation=activation, seed=1), data(11, sizes[0], sizes[-1])
    got = fit(net, x, y, loss=loss, lr=0.01, epochs=200, every=1, engine=engine)
    history, vector = by_autograd(net, x, y, loss, 0.01, 200)
    assert got.engine == engine
    assert isinstance(got.net, SmoothNet)
    assert got.net.activation == activation
    assert close(got.loss, history)
    assert close(got.net.vector(), vector, 1e-9)


@pytest.mark.parametrize("activation", ["tanh", "abs", "gelu", "sine"])
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_engines_agree_for_other_activations(activation, dtype, tol):
    nets = SmoothNet.random((3, 4, 4, 1), batch=70, activation=activation, seed=4, dtype=dtype)
    x, y = data(16, 3, batch=(70,))
    for more in ({}, {"batch_size": 5}):
        one, two = (fit(nets, x, y, loss="bce", lr=0.01, epochs=40, engine=engine, **more) for engine in ("torch", "fused"))
        assert (one.engine, two.engine) == ("torch", "fused")
        assert close(one.loss, two.loss, tol)


def test_an_activation_without_a_kernel_is_left_to_torch():
    nets, (x, y) = SmoothNet.random((2, 4, 1), batch=5000, activation="softplus"), data(8, 2)
    assert fit(nets, x, y, epochs=3).engine == "torch"
    with pytest.raises(ValueError, match="on the CPU; here the activation is softplus"):
        fit(nets, x, y, epochs=3, engine="fused")


def test_error_function_sine_and_cosine_in_float32():
    from foldnet.engines._fused_math import erfc32, sine_and_cosine32

    x = np.linspace(0, 6, 4000)
    assert max(abs(erfc32(np.float32(v), np.float32(math.exp(-v * v))) - math.erfc(v)) for v in x) < 5e-7
    z = np.linspace(-1000, 1000, 8000).astype(np.float32)
    found = np.array([sine_and_cosine32(v) for v in z])
    wanted = np.stack([np.sin(z.astype(np.float64)), np.cos(z.astype(np.float64))], 1)
    assert np.abs(found - wanted).max() < 5e-7


def test_where_no_network_is_chosen_there_is_none_to_train():
    with pytest.raises(ValueError, match="there is no network to train"):
        fit(ReLUNet.random((2, 4, 1), batch=3)[torch.zeros(3, dtype=torch.bool)], torch.ones(3, 2), torch.zeros(3))


def test_one_output_has_no_softmax():
    with pytest.raises(ValueError, match="for one take 'bce'"):
        fit(ReLUNet.random((2, 4, 1)), torch.ones(3, 2), torch.zeros(3), loss="cross_entropy")


# ---- the two engines ---------------------------------------------------------------------------------------------------


@losses
@optimizers
@pytest.mark.parametrize(("sizes", "n"), [((2, 1), 1), ((4, 3, 1), 16), ((3, 4, 8, 2), 6), ((9, 5, 5, 5, 1), 3)])
@pytest.mark.parametrize("own_points", [False, True])
def test_engines_agree(loss, optimizer, sizes, n, own_points):
    nets = ReLUNet.random(sizes, batch=70, leak=0.1, seed=4)
    x, y = data(n, sizes[0], sizes[-1], batch=(70,))
    if own_points:
        x, y = x + torch.linspace(0, 1, 70)[:, None, None], y[3]
    one, two = (fit(nets, x, y, loss=loss, optimizer=optimizer, lr=0.003, epochs=300, engine=e) for e in ("torch", "fused"))
    assert close(one.loss, two.loss)
    assert close(one.net.vector(), two.net.vector(), 1e-8)


@losses
@optimizers
def test_engines_agree_in_float32(loss, optimizer):
    nets = ReLUNet.random((4, 3, 1), batch=70, leak=0.1, seed=4, dtype=torch.float32)
    x, y = data(16, 4, batch=(70,))
    exact = fit(nets.to(torch.float64), x, y, loss=loss, optimizer=optimizer, lr=0.01, epochs=100, engine="torch")
    for engine in ("torch", "fused"):
        got = fit(nets, x, y, loss=loss, optimizer=optimizer, lr=0.01, epochs=100, engine=engine)
        assert got.net.dtype == torch.float32
        assert close(got.loss, exact.loss, 2e-5)


def test_exponential_and_logarithm_in_float32():
    from foldnet.engines._fused_math import exp32, log1p32

    x = -np.geomspace(1e-6, 86, 4000).astype(np.float32)
    with np.errstate(under="ignore"):
        assert max(abs(exp32(v) / np.exp(np.float64(v)) - 1) for v in x) < 2e-7
    e = np.geomspace(1e-30, 1, 4000).astype(np.float32)
    assert max(abs(log1p32(v) / np.log1p(np.float64(v)) - 1) for v in e) < 2.5e-7
    assert exp32(np.float32(-1000)) < 1e-37


@pytest.mark.parametrize(
    ("setting", "engine"),
    [
        ({"batch": 5000, "epochs": 400}, "fused"),
        ({"batch": (), "epochs": 20_000}, "fused"),
        ({"batch": (), "epochs": 500}, "torch"),
        ({"batch": 100, "epochs": 400, "sizes": (4, 200, 200, 1)}, "torch"),
        ({"batch": (), "epochs": 20_000, "sizes": (4, 60, 60, 1)}, "torch"),
        ({"batch": 5000, "epochs": 400, "until": lambda outputs, y: torch.ones(5000, dtype=torch.bool)}, "torch"),
        ({"batch": 5000, "epochs": 400, "batch_size": 4}, "torch"),
    ],
)
def test_automatic_choice(setting, engine):
    setting = {"sizes": (4, 3, 1), "loss": "mse", "optimizer": "adam", "lr": 1e-3, **setting}
    nets = ReLUNet.random(setting.pop("sizes"), batch=setting.pop("batch"), dtype=torch.float32)
    problem = Problem.checked(nets, *data(16, 4), **setting)
    assert choice.engine_for(problem).name == engine


def test_without_numba_torch_takes_over(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    for module in ("foldnet._compiled", "foldnet.engines._fused", "foldnet.engines._fused_kernel"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(choice, "_fused_pays", lambda problem: True)
    net, (x, y) = ReLUNet.random((2, 3, 1)), data(5, 2)
    assert fit(net, x, y, epochs=3).engine == "torch"
    with pytest.raises(ValueError, match="needs numba"):
        fit(net, x, y, epochs=3, engine="fused")


def test_fused_engine_without_a_cache_folder(tmp_path):
    """Where numba finds no folder to write to, the kernels are compiled all the same."""
    code = (
        "import numba.core.caching as c; getattr(c, 'CacheImpl', getattr(c, '_CacheImpl', None))._locator_classes = [];"
        "import foldnet.engines._fused_math as f; import numpy as np; assert abs(f.exp32(np.float32(-1)) - np.exp(-1)) < 1e-6"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path, timeout=600)


# ---- a batch is its networks -------------------------------------------------------------------------------------------


@engines
@losses
def test_batch_equals_each_network_alone(engine, loss):
    nets = ReLUNet.random((4, 3, 1), batch=(2, 35), leak=0.1, seed=5)
    x, y = data(16, 4, batch=(2, 1))
    goal = {"mse": 0.03, "half_sum": 0.03 * 16 / 2, "bce": 0.52}[loss]
    lr, settings = torch.linspace(0.01, 0.05, 35), {"epochs": 150, "until": goal, "every": 10}
    together = fit(nets, x, y, loss=loss, lr=lr, engine=engine, **settings)
    assert 0 < together.stopped.sum() < 70
    assert len(together.epochs_run.unique()) > 5
    for i, j in [(0, 0), (0, 7), (1, 3), (1, 34)]:
        alone = fit(nets[i, j], x, y[i, 0], loss=loss, lr=lr[j], engine=engine, **settings)
        assert alone.net.batch_shape == alone.final_loss.shape == ()
        assert close(alone.net.vector(), together.net[i, j].vector(), 1e-12)
        assert close(alone.loss, together.loss[:, i, j], 1e-12)
        assert alone.epochs_run == together.epochs_run[i, j]
        assert alone.stopped == together.stopped[i, j]


def test_mini_batch_equals_each_network_alone():
    nets = ReLUNet.random((2, 4, 1), batch=6, seed=6)
    x, y = data(10, 2, batch=(6,))
    together = fit(nets, x, y, loss="mse", optimizer="sgd", lr=0.05, epochs=40, batch_size=3, until=0.053, seed=3)
    assert 0 < together.stopped.sum() < 6
    for i in range(6):
        alone = fit(nets[i], x, y[i], loss="mse", optimizer="sgd", lr=0.05, epochs=40, batch_size=3, until=0.053, seed=3)
        assert close(alone.net.vector(), together.net[i].vector(), 1e-12)
        assert alone.epochs_run == together.epochs_run[i]


def test_partial_batch_shapes_broadcast():
    nets = ReLUNet.random((4, 3, 1), batch=(3, 5), seed=7)
    x, y = data(16, 4, batch=(3, 1))
    got = fit(nets, x, y, epochs=20)
    spread = fit(nets, x.expand(3, 5, 16, 4), y.expand(3, 5, 16, 1), epochs=20)
    assert got.loss.shape == (21, 3, 5)
    assert torch.equal(got.net.vector(), spread.net.vector())
    assert torch.equal(fit(nets, x, y[0, 0, :, 0], epochs=20).loss, fit(nets, x, y[0, 0], epochs=20).loss)


# ---- stopping ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twelve_by_hand():
    """Twelve networks, their data, and the losses and parameters of each after 0, 1, ..., 120 epochs."""
    nets, (x, y) = ReLUNet.random((2, 5, 1), batch=12, seed=8), data(8, 2, batch=(12,))
    models = [nets[k].to_sequential() for k in range(12)]
    steps = [torch.optim.Adam(model.parameters(), lr=0.01) for model in models]
    history, vectors = [], []
    for _ in range(121):
        losses = [(model(x) - target).square().mean() for model, target in zip(models, y)]
        history.append([loss.item() for loss in losses])
        vectors.append(torch.stack([ReLUNet.from_sequential(model).vector() for model in models]))
        for loss, step in zip(losses, steps):
            step.zero_grad()
            loss.backward()
            step.step()
    return nets, x, y, torch.tensor(history, dtype=torch.float64), torch.stack(vectors)


@engines
@pytest.mark.parametrize("epochs", [0, 1, 40, 120])
def test_until_a_loss_is_reached(engine, epochs, twelve_by_hand):
    nets, x, y, history, vectors = twelve_by_hand
    got = fit(nets, x, y, lr=0.01, epochs=epochs, until=0.042, every=7, engine=engine)
    for k in range(12):
        reached = (history[: epochs + 1, k] <= 0.042).nonzero().flatten()
        stop = reached[0].item() if len(reached) else epochs
        assert got.epochs_run[k] == stop
        assert got.stopped[k] == bool(len(reached))
        assert close(got.loss[:, k], history[got.epoch.clamp(max=stop), k])
        assert close(got.net[k].vector(), vectors[stop, k])
    assert epochs < 120 or 0 < got.stopped.sum() < 12
    assert not got.diverged.any()


def test_until_a_function_says_so():
    nets = ReLUNet.random((2, 5, 1), batch=(2, 10), seed=8)
    x, y = data(8, 2, batch=(10,))
    seen = []

    def until(outputs, targets):
        seen.append((outputs.shape, targets.shape))
        return (outputs - targets).square().mean((-2, -1)) <= 0.042

    got = fit(nets, x, y, lr=0.01, epochs=120, until=until)
    same = fit(nets, x, y, lr=0.01, epochs=120, until=0.042)
    assert set(seen) == {((2, 10, 8, 1), (2, 10, 8, 1))}
    assert torch.equal(got.epochs_run, same.epochs_run)
    assert torch.equal(got.stopped, same.stopped)
    assert 0 < got.stopped.sum() < 20
    assert torch.equal(got.net.vector(), same.net.vector())
    one = fit(nets[0, 0], x, y[0], epochs=50, until=lambda outputs, targets: outputs.sum() < np.inf)
    assert one.epochs_run == 0
    assert one.stopped


@engines
@losses
@optimizers
def test_a_network_that_diverges_is_frozen_and_reported(engine, loss, optimizer):
    nets, (x, y) = ReLUNet.random((2, 5, 1), batch=3, seed=9), data(8, 2)
    lr = torch.tensor([1e-4, 1e190, 1e-4], dtype=torch.float64)
    got = fit(nets, x, y, loss=loss, optimizer=optimizer, lr=lr, epochs=50, every=25, engine=engine)
    assert got.diverged.tolist() == [False, True, False]
    assert not got.stopped.any()
    assert got.epochs_run[1] < 10
    assert got.epochs_run[[0, 2]].tolist() == [50, 50]
    assert close(got.loss[:, 0], by_torch(nets[0], x, y, loss, optimizer, 1e-4, 50)[0][::25])
    alone = fit(nets[1], x, y, loss=loss, optimizer=optimizer, lr=1e190, epochs=int(got.epochs_run[1]), engine=engine)
    assert alone.net.vector().isfinite().all()
    assert torch.equal(alone.net.vector(), got.net[1].vector())


@engines
def test_all_stopped_ends_the_training(engine):
    nets, (x, y) = ReLUNet.random((2, 5, 1), batch=3, seed=9), data(8, 2)
    got = fit(nets, x, y, lr=0.01, epochs=10**9, until=0.08, every=10**8, record=lambda net: net.vector(), engine=engine)
    assert (got.epochs_run > 0).any()
    assert (got.epochs_run < 1000).all()
    assert got.loss.shape == (11, 3)
    assert close(got.loss[1:], (got.net(x) - y).square().mean((-2, -1)).expand(10, 3), 1e-12)
    assert torch.equal(got.recorded["value"][0], nets.vector())
    assert torch.equal(got.recorded["value"][1:], got.net.vector().expand(10, 3, -1))
    often = fit(nets, x, y, lr=0.01, epochs=1000, until=0.08, every=2, engine=engine)
    over = often.epoch[:, None] >= often.epochs_run
    assert torch.equal(often.loss[over], often.final_loss.expand(501, 3)[over])
    assert torch.equal(often.net.vector(), got.net.vector())


# ---- what is recorded --------------------------------------------------------------------------------------------------


@engines
def test_record_and_every(engine):
    nets, (x, y) = ReLUNet.random((2, 3, 1), batch=(2, 2), seed=10), data(5, 2)
    record = lambda net: {"norm": net.vector().norm(dim=-1), "out": net(x), "layer": net.weights[0]}  # noqa: E731
    got = fit(nets, x, y, epochs=25, every=10, record=record, engine=engine)
    assert got.epoch.tolist() == [0, 10, 20, 25]
    assert got.loss.dtype == torch.float64
    assert got.loss.shape == got.recorded["norm"].shape == (4, 2, 2)
    assert torch.equal(got.recorded["norm"][0], nets.vector().norm(dim=-1))
    assert torch.equal(got.recorded["layer"][0], nets.weights[0])
    assert torch.equal(got.recorded["out"][-1], got.net(x))
    assert close((got.recorded["out"] - y).square().mean((-2, -1)), got.loss, 1e-14)
    assert torch.equal(got.final_loss, got.loss[-1])
    again = fit(nets, x, y, epochs=20, every=1, engine=engine)
    assert torch.equal(again.loss[[0, 10, 20]], got.loss[:3])
    assert close(again.net(x), got.recorded["out"][2], 1e-15)
    assert again.recorded == {}


def test_history_has_about_a_hundred_entries():
    net, (x, y) = ReLUNet.random((1, 2, 1)), data(4, 1)
    assert len(fit(net, x, y, epochs=1234, engine="torch").epoch) == 104
    assert fit(net, x, y, epochs=3).epoch.tolist() == [0, 1, 2, 3]
    assert fit(net, x, y, epochs=0).epoch.tolist() == [0]


# ---- pure and quiet ----------------------------------------------------------------------------------------------------


@engines
def test_deterministic_and_pure(engine):
    nets, (x, y) = ReLUNet.random((2, 3, 1), batch=3, seed=11), data(5, 2)
    before, generator, threads = nets.vector(), torch.get_rng_state(), torch.get_num_threads()
    one, two = (fit(nets, x, y, epochs=50, engine=engine, seed=1) for _ in range(2))
    assert torch.equal(one.net.vector(), two.net.vector())
    assert torch.equal(nets.vector(), before)
    assert torch.equal(torch.get_rng_state(), generator)
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()
    one.net.weights[0].zero_()
    assert torch.equal(nets.vector(), before)


def test_permutations_follow_the_seed():
    net, (x, y) = ReLUNet.random((2, 3, 1)), data(9, 2)
    runs = [fit(net, x, y, loss="mse", optimizer="sgd", epochs=5, batch_size=2, seed=s).net.vector() for s in (0, 0, 1)]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_parameters_that_want_gradients_are_left_alone():
    net = ReLUNet.random((2, 3, 1))
    leaves = net.with_vector(net.vector().requires_grad_())
    x, y = data(5, 2)
    got = fit(leaves, x.requires_grad_(), y, epochs=5)
    assert not got.net.weights[0].requires_grad
    assert torch.equal(got.net.vector(), fit(net, x.detach(), y, epochs=5).net.vector())


def test_an_interrupt_passes_through():
    def interrupt(net):
        raise KeyboardInterrupt

    net, (x, y) = ReLUNet.random((2, 3, 1)), data(5, 2)
    with pytest.raises(KeyboardInterrupt):
        fit(net, x, y, epochs=5, record=interrupt)


def test_no_bar_in_a_log(capfd):
    net, (x, y) = ReLUNet.random((2, 3, 1)), data(5, 2)
    fit(net, x, y, epochs=10)
    assert capfd.readouterr() == ("", "")
    with bar(10, True) as shown:
        assert shown is None


def test_bar_on_a_terminal_only_and_without_tqdm_none(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with bar(10, True) as shown:
        assert shown.total == 10
        assert not shown.leave
    with bar(10, False) as shown:
        assert shown is None
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with bar(10, True) as shown:
        assert shown is None


def test_stored_notebook_keeps_no_bar():
    """In a kernel without ipywidgets a long fit shows its bar, and the executed notebook holds none of its text."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    code = (
        "import sys, time; sys.modules['ipywidgets'] = None\nfrom foldnet._progress import bar\n"
        "with bar(30, True) as shown:\n    for _ in range(30):\n        time.sleep(0.05); shown.update(1)\n"
        "shown.fp.handle is not None"
    )
    short = "with bar(3, True) as shown:\n    shown.update(3)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code), nbformat.v4.new_code_cell(short)])
    nbclient.NotebookClient(notebook, timeout=600, startup_timeout=600, kernel_name="python3").execute()
    shown = notebook.cells[0].outputs
    assert [o.output_type for o in shown] == ["display_data", "execute_result"]
    assert shown[0].data == {"text/plain": ""}
    assert shown[1].data == {"text/plain": "True"}
    assert notebook.cells[1].outputs == []


def test_a_line_tells_what_is_compiled_and_is_gone_afterwards(tmp_path):
    """A kernel that is on disk already is loaded without a word; into a log nothing is written, as nothing into a stored page."""
    code = (
        "import sys; sys.stderr.isatty = lambda: len(sys.argv) > 1\n"
        "import numpy as np\nfrom foldnet.geometry._layer_kernel import number_crossings\n"
        "words = np.zeros((2, 1), np.uint64)\n"
        "number_crossings(np.zeros((1, 2), np.int64), words, words, 0)"
    )
    told = []
    for where, terminal in (("a", ["terminal"]), ("a", ["terminal"]), ("b", [])):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / where)}
        environment.pop("TQDM_DISABLE", None)
        done = subprocess.run([sys.executable, "-c", code, *terminal], env=environment, check=True, capture_output=True)
        told.append(done.stderr.decode().split("\r"))
    assert [part.split(": ")[-1].strip() for part in told[0]] == ["", "number_crossings", "changes", "ones", "", ""]
    assert told[1:] == [[""], [""]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fused_engine_in_forked_and_threaded_processes():
    """numba's own threads would end such a process; a fresh interpreter, because a crash takes the interpreter with it."""
    code = """
import os, threading, torch
from foldnet import ReLUNet
from foldnet.train import fit
nets, x, y = ReLUNet.random((2, 3, 1), batch=200), torch.randn(5, 2), torch.rand(5)
run = lambda: fit(nets, x, y, epochs=20, engine="fused")
run()
threads = [threading.Thread(target=run) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
child = os.fork()
if child == 0:
    run(); os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600, env={**os.environ, "PYTHONWARNINGS": "ignore"})


# ---- bad input ---------------------------------------------------------------------------------------------------------

NET = ReLUNet.random((2, 3, 1), batch=4)
X, Y = data(5, 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": torch.ones(5, 3)}, "points have shape"),
        ({"x": torch.ones(3, 5, 2)}, "points of shape .* do not fit"),
        ({"x": torch.ones(2, 4, 5, 2)}, "points of shape .* do not fit"),
        ({"y": torch.ones(6)}, r"targets have shape \(5,\), \(5, 1\) or \(\*batch, 5, 1\) here; got \(6, 1\)"),
        ({"y": torch.ones(4, 5)}, "targets have shape"),
        ({"y": torch.ones(5, 2)}, "targets have shape"),
        ({"y": torch.ones(3, 5, 1)}, "targets of shape .* do not fit"),
        ({"x": torch.ones(0, 2), "y": torch.ones(0)}, "points of shape .* are empty"),
        ({"x": torch.full((5, 2), torch.nan)}, "points of shape .* some are NaN"),
        ({"y": torch.full((5,), torch.inf)}, "targets of shape .* some are NaN or infinite"),
        ({"loss": "mae"}, "loss is one of 'mse', 'half_sum', 'bce', 'cross_entropy'; got 'mae'"),
        ({"optimizer": "lbfgs"}, "optimizer is one of 'gd', 'sgd', 'adam'; got 'lbfgs'"),
        ({"engine": "jax"}, "engine is one of 'auto', 'torch', 'fused', 'cuda'; got 'jax'"),
        ({"loss": "bce", "y": torch.tensor([0, 1, 2, 0, 0.0])}, r"targets of 'bce' are in \[0, 1\]"),
        ({"epochs": -1}, "epochs is a whole number"),
        ({"epochs": 1.5}, "epochs is a whole number"),
        ({"every": 0}, "every is a whole number"),
        ({"batch_size": 0}, "batch_size is a whole number"),
        ({"lr": 0.0}, "lr is positive"),
        ({"lr": torch.tensor([0.1, 0.1, -0.1, 0.1])}, "lr is positive"),
        ({"lr": torch.ones(3)}, "learning rates of shape .* do not fit"),
        ({"optimizer": "gd", "batch_size": 2}, "take 'sgd'"),
        ({"optimizer": "sgd"}, "needs a batch_size"),
        ({"until": float("nan")}, "until is a finite loss"),
        ({"until": lambda outputs, y: torch.ones(3, dtype=torch.bool)}, r"until returns a bool tensor of shape \(4,\)"),
        ({"until": lambda outputs, y: torch.ones(4)}, "until returns a bool tensor"),
        ({"engine": "fused", "until": lambda outputs, y: outputs}, "here until is a function"),
        ({"engine": "fused", "net": NET.to(torch.float16)}, "here the network is torch.float16"),
    ],
)
def test_bad_input_gets_one_sentence(change, sentence):
    arguments = {"net": NET, "x": X, "y": Y, "epochs": 2, **change}
    with pytest.raises(ValueError, match=sentence) as caught:
        fit(**arguments)
    assert "\n" not in str(caught.value)


# ---- on a GPU ----------------------------------------------------------------------------------------------------------


@cuda
@losses
@pytest.mark.parametrize(("optimizer", "batch_size"), [("gd", None), ("adam", None), ("sgd", 3), ("adam", 3)])
@pytest.mark.parametrize("until", [None, 0.2])
def test_cuda_graph_equals_cpu(loss, optimizer, batch_size, until):
    nets = ReLUNet.random((4, 5, 3, 1), batch=(2, 10), leak=0.1, seed=12)
    x, y = data(16, 4, batch=(2, 1))
    settings = {"lr": 0.01, "epochs": 60, "batch_size": batch_size, "until": until, "every": 7, "engine": "torch"}
    here = fit(nets, x, y, loss=loss, optimizer=optimizer, **settings)
    there = fit(nets.to("cuda"), x, y, loss=loss, optimizer=optimizer, **settings)
    assert there.net.device.type == there.loss.device.type == "cuda"
    assert close(there.loss.cpu(), here.loss)
    assert close(there.net.vector().cpu(), here.net.vector(), 1e-8)
    assert torch.equal(there.epochs_run.cpu(), here.epochs_run)


@cuda
def test_cuda_until_a_function_says_so():
    nets, (x, y) = ReLUNet.random((2, 5, 1), batch=20, seed=8).to("cuda"), data(8, 2, batch=(20,))
    by_function = fit(nets, x, y, lr=0.01, epochs=80, until=lambda o, t: (o - t).square().mean((-2, -1)) <= 0.042)
    by_loss = fit(nets, x, y, lr=0.01, epochs=80, until=0.042)
    assert torch.equal(by_function.epochs_run, by_loss.epochs_run)
    assert close(by_function.net.vector(), by_loss.net.vector(), 1e-12)
