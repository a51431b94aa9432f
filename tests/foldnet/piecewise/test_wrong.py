"""What a module lacks and the module with it: against the dense engine, against plain sums over windows, on drawn modules."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from torch import nn
from torch.nn import functional as F

from foldnet.growth.expressivity import best_update, desired_update, layer_inputs
from foldnet.growth.neurons import optimal_neurons
from foldnet.nets import ReLUNet
from foldnet.piecewise import wrong as wrongs
from foldnet.piecewise.net import of

DOUBLE = torch.float64
ACTIVATIONS = (nn.ReLU(), nn.LeakyReLU(0.2), nn.Hardtanh(), nn.ReLU6(), nn.PReLU(init=0.1))


def close(a, b):
    return torch.allclose(a, b, rtol=1e-9, atol=1e-11)


def mse(module, x, y):
    module = copy.deepcopy(module).eval()
    with torch.no_grad():
        return float((module(x) - y).square().mean())


@settings(max_examples=8, deadline=None)
@given(some.integers(0, 10**6), some.integers(0, 1), some.floats(0.0, 0.5))
def test_a_dense_module_lacks_what_the_same_network_lacks(seed, layer, leak):
    dense = ReLUNet.random((3, 4, 5, 2), seed=seed).to(DOUBLE)
    dense = ReLUNet(dense.weights, dense.biases, leak=leak)
    x, y = torch.randn(2, 30, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(seed))
    found = of(dense.to_sequential()).wrong(x, y[:, :2], str(2 * layer), k=2)
    theirs = optimal_neurons(dense, layer, x, y[:, :2], k=2)
    goal = desired_update(dense, layer + 1, x, y[:, :2])
    assert close(found.wanted, goal)
    assert close(found.left, best_update(layer_inputs(dense, x)[layer + 1], goal).rest(goal))
    for name in ("incoming", "bias", "outgoing", "gain", "joint_gain"):
        assert close(getattr(found.neurons, name), getattr(theirs, name)), name


def module(kind: str, act: nn.Module, bias: bool, stride: int, kernel: int) -> tuple[nn.Module, tuple[int, ...], str]:
    """A drawn module, its input's shape, and the name of the layer that grows."""
    if kind == "dense":
        return nn.Sequential(nn.Linear(3, 2, bias=bias), act, nn.Dropout(), nn.Linear(2, 2)), (3,), "0"
    if kind == "rows":
        return nn.Sequential(nn.Linear(3, 2), act, nn.Linear(2, 2, bias=bias), nn.Flatten(), nn.Linear(8, 2)), (4, 3), "0"
    if kind == "dense norm":
        return nn.Sequential(nn.Linear(3, 2, bias=bias), nn.BatchNorm1d(2), act, nn.Linear(2, 2)), (3,), "0"
    if kind in WAYS:
        convs = [nn.Conv2d(2, 2, 3, padding=1, bias=bias), *WAYS[kind](act), nn.LazyLinear(2)]
        if not any(isinstance(part, (nn.Flatten, Mean)) for part in convs):
            convs[-1:] = [nn.Conv2d(2, 3, kernel, stride, padding=1), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2)]
        made = nn.Sequential(*convs)
        made(torch.randn(8, 2, 6, 6))
        return made, (2, 6, 6), "0"
    d = int(kind)
    conv = {1: nn.Conv1d, 2: nn.Conv2d}[d]
    first, second = conv(2, 2, 3, padding=1, bias=bias), conv(2, 3, kernel, stride, padding=1, dilation=kernel - 1)
    last = nn.LazyLinear(2)
    made = nn.Sequential(nn.Sequential(first, act, second), nn.ReLU(), nn.Flatten(), last)
    made(torch.zeros(1, 2, *[6] * d))
    return made, (2, *[6] * d), "0.0"


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


class Rows(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1)


WAYS = {  # from one layer of a usual network to the next one
    "norm": lambda act: [nn.BatchNorm2d(2), act],
    "norm after": lambda act: [act, nn.BatchNorm2d(2, affine=False)],
    "flat": lambda act: [act, nn.Dropout2d(), nn.Flatten()],
    "flat first": lambda act: [nn.Flatten(), nn.BatchNorm1d(72), act],
    "average": lambda act: [nn.BatchNorm2d(2), act, nn.AvgPool2d(2)],
    "average first": lambda act: [nn.AvgPool2d(3, 2, padding=1), act, nn.Flatten()],
    "mean": lambda act: [act, Mean()],
    "adaptive": lambda act: [act, nn.AdaptiveAvgPool2d(2), nn.Flatten()],
    "max": lambda act: [nn.BatchNorm2d(2), act, nn.MaxPool2d(3, 2, padding=1)],
    "max first": lambda act: [nn.MaxPool2d(2), act, nn.Flatten()],
}
KINDS = some.sampled_from(("dense", "rows", "1", "2", "dense norm", *WAYS))


@settings(max_examples=60, deadline=None)
@given(KINDS, some.sampled_from(ACTIVATIONS), some.booleans(), some.integers(1, 2), some.integers(2, 3), some.integers(0, 10**6))
def test_growing_lowers_the_loss_and_leaves_the_module(kind, act, bias, stride, kernel, seed):
    torch.manual_seed(seed)
    model, shape, layer = module(kind, copy.deepcopy(act), bias, stride, kernel)
    model = model.to(DOUBLE)
    with torch.no_grad():
        model(3 * torch.randn(8, *shape, dtype=DOUBLE) + 1)  # means and variances of their own
    x, y = torch.randn(20, *shape, dtype=DOUBLE), torch.randn(20, 2, dtype=DOUBLE)
    state = {name: v.clone() for name, v in model.state_dict().items()}
    found = of(model, input_shape=shape).wrong(x, y, layer, k=2)
    assert 0 <= found.share <= 1 + 1e-9
    gain, new = found.neurons.joint_gain, found.neurons
    if not (len(new.bias) and gain > 0):
        with pytest.raises(ValueError, match="do not lower the loss at first order"):
            found.grow()
        return
    wider = found.grow()
    assert mse(wider, x, y) < mse(model, x, y)
    assert all(torch.equal(v, state[name]) for name, v in model.state_dict().items())
    assert wider.get_submodule(layer).weight.shape[0] == model.get_submodule(layer).weight.shape[0] + len(new.bias)
    assert wider.training
    assert all(p.requires_grad for p in wider.parameters())
    assert slope(found, x, y) == pytest.approx(float(gain), rel=1e-4, abs=1e-7), "the gain is not how fast the loss falls"


@pytest.mark.parametrize("same", [False, True])
def test_the_grown_module_is_the_old_one_and_what_the_neurons_and_the_move_promise(same):
    """Convolution, batch normalisation, ReLU, pooling, flattening, dense: predicted by plain calls of torch."""
    torch.manual_seed(5)
    convs = [nn.Conv2d(2, 3, 3, padding="same" if same else 1, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*convs, nn.Flatten(), nn.Linear(27, 2)).to(DOUBLE)
    model(torch.randn(9, 2, 6, 6, dtype=DOUBLE) + 1)
    model.eval()
    x, y = torch.randn(150, 2, 6, 6, dtype=DOUBLE), torch.randn(150, 2, dtype=DOUBLE)
    found = of(model, (2, 6, 6)).wrong(x, y, "0", k=3)
    wider, new, move = found.grow(), found.neurons, found.neurons.update
    assert (wider[1].num_features, wider[5].in_features) == (6, 54)
    amplitude = wider[0].bias[-1] / new.bias[-1]
    with torch.no_grad():
        z = amplitude * F.conv2d(x, new.incoming.view(3, 2, 3, 3), new.bias, padding=1)
        read = F.max_pool2d(z.relu(), 2).flatten(2)
        neurons = torch.einsum("nkp,opk->no", read, new.outgoing.view(2, 9, 3))
        moved = amplitude * (model[:-1](x) @ move.weights.mT + move.bias)
        torch.testing.assert_close(wider(x), model(x) + moved + neurons, rtol=0, atol=1e-12)
        alone = found.grow(neurons=False)
        change = amplitude * (alone(x) - model(x))
        torch.testing.assert_close(change * moved.norm(), moved * change.norm(), rtol=0, atol=1e-9)  # in its direction
        assert F.mse_loss(wider(x), y) < F.mse_loss(alone(x), y) < F.mse_loss(model(x), y)
        assert F.mse_loss(wider(x), y) < F.mse_loss(model(x), y)
    again = of(wider, (2, 6, 6)).wrong(x, y, "0", k=1).grow()
    assert mse(again, x, y) < mse(wider, x, y), "a grown network grows again"


class Residual(nn.Module):
    """A usual block, and a forward pass that flattens by x.view(x.size(0), -1)."""

    def __init__(self):
        super().__init__()
        self.stem, self.conv1, self.conv2 = nn.Conv2d(1, 3, 3), nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.bn1, self.bn2, self.rows, self.fc = nn.BatchNorm2d(3), nn.BatchNorm2d(3), Rows(), nn.Linear(12, 2)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + x)
        return self.fc(self.rows(F.max_pool2d(x, 2)))


def test_inside_of_a_residual_block_a_layer_grows():
    torch.manual_seed(2)
    model = Residual().to(DOUBLE)
    x, y = torch.randn(30, 1, 6, 6, dtype=DOUBLE), torch.randn(30, 2, dtype=DOUBLE)
    net = of(model, (1, 6, 6))
    found = net.wrong(x, y, k=2)
    assert found.layer == "conv1"
    assert mse(found.grow(), x, y) < mse(model, x, y)
    for layer, words in (("stem", "relu is read in 2 places"), ("conv2", "reads more than it")):
        with pytest.raises(ValueError, match=words):
            net.wrong(x, y, layer)


def test_more_points_than_memory_holds_are_refused_with_a_number_that_would_do(monkeypatch):
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2)).to(DOUBLE)
    x, y = torch.randn(40, 1, 6, 6, dtype=DOUBLE), torch.randn(40, 2, dtype=DOUBLE)
    monkeypatch.setattr(wrongs, "ROOM", 200_000)
    with pytest.raises(ValueError, match=r"points at '0' take .* GB, .* give \d+ points") as caught:
        of(model, (1, 6, 6)).wrong(x, y)
    few = int(str(caught.value).split()[-2])
    assert 0 < few < 40
    of(model, (1, 6, 6)).wrong(x[:few], y[:few])


def slope(found, x, y, step: float = 1e-6) -> float:
    """How fast the loss falls in the amplitude: by three values, which is exact for a parabola, as it is on one piece."""
    made, seen = copy.deepcopy(found.net.graph.module), [mse(found.net.graph.module, x, y)]
    with torch.no_grad():
        wrongs._widen(made, found)
        for amplitude in (step, 2 * step):
            wrongs._write(made, found, torch.tensor(amplitude, dtype=DOUBLE))
            seen.append(mse(made, x, y))
    return (3 * seen[0] - 4 * seen[1] + seen[2]) / (2 * step)


def test_without_a_layer_the_one_that_helps_most_is_taken():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 3)).to(DOUBLE)
    x, labels = torch.randn(60, 3, dtype=DOUBLE), torch.randint(0, 3, (60,))
    net = of(model)
    each = {name: net.wrong(x, labels, name, k=2, loss="cross_entropy") for name in ("0", "2")}
    best = max(each, key=lambda name: each[name].neurons.joint_gain)
    found = net.wrong(x, labels, k=2, loss="cross_entropy")
    assert found.layer == best
    with torch.no_grad():
        assert F.cross_entropy(found.grow()(x), labels) < F.cross_entropy(model(x), labels)


def test_a_head_that_is_cut_off_stays_on_the_module():
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).to(DOUBLE)
    x, labels = torch.randn(30, 2, dtype=DOUBLE), torch.randint(0, 2, (30,))
    net = of(nn.Sequential(body, nn.Softmax(-1)), input_shape=(2,), cut_head=True)
    wider = net.wrong(x, labels, k=1, loss="cross_entropy").grow()
    assert torch.allclose(wider(x).sum(-1), torch.ones(30, dtype=DOUBLE))
    with torch.no_grad():
        assert F.nll_loss(wider(x).log(), labels) < F.cross_entropy(body(x), labels)


class Fixed(nn.Module):
    def forward(self, x):
        return x.view(-1, 18)


class Odd(nn.Module):
    """Layers that cannot grow, each for a reason of its own."""

    def __init__(self):
        super().__init__()
        self.normed, self.norm, self.after = nn.Linear(2, 3), nn.InstanceNorm1d(3, track_running_stats=True), nn.Linear(3, 3)
        self.twice, self.shared = nn.Linear(3, 3), nn.Linear(3, 3)
        self.tied, self.shifted, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        self.tied.weight = self.shared.weight
        self.soft = nn.Hardsigmoid()

    def forward(self, x):
        x = self.after(torch.relu(self.norm(self.normed(x)[..., None])[..., 0]))
        z = self.twice(torch.relu(x))
        x = self.shared(torch.relu(z) + z)
        x = self.tied(torch.relu(self.shared(torch.relu(x))))
        return self.last(self.soft(self.shifted(torch.relu(x))))


@pytest.mark.filterwarnings("ignore:Using padding=.same. with even")
def test_what_cannot_grow_is_refused_in_a_sentence():
    net, x, y = of(Odd().to(DOUBLE), input_shape=(2,)), torch.zeros(4, 2), torch.zeros(4, 2)
    for layer, words in (
        ("normed", "getitem comes before the next layer"),
        ("twice", "is read in 2 places"),
        ("shared", "stand in several places"),
        ("tied", "stand in several places"),
        ("shifted", "is not 0 at 0"),
        ("last", "output comes before the next layer"),
        ("nowhere", "the layers that can grow are after"),
    ):
        with pytest.raises(ValueError, match=words):
            net.wrong(x, y, layer)
    flat = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    for convs, shape, words in (
        (nn.Sequential(nn.Conv2d(2, 2, 2, padding="same"), nn.ReLU(), nn.Conv2d(2, 2, 3)), (2, 5, 5), "pads more on one side"),
        (nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3, groups=2)), (2, 5, 5), "has groups of channels"),
        (nn.Sequential(nn.Conv2d(2, 2, 3), nn.PReLU(2), nn.Conv2d(2, 2, 3)), (2, 5, 5), "a slope for each channel"),
        (nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), nn.Linear(3, 2)), (2, 5, 5), "a Linear of its rows of pixels"),
        (
            nn.Sequential(nn.Conv2d(2, 2, 3), nn.Unflatten(1, (2, 1)), nn.Flatten(), nn.Linear(18, 2)),
            (2, 5, 5),
            "before the next",
        ),
        (nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), Fixed(), nn.Linear(18, 2)), (2, 5, 5), "view has a fixed shape"),
        (flat, (4, 3), "stand among the old ones"),
    ):
        net = of(nn.Sequential(convs, nn.Flatten()).to(DOUBLE), input_shape=shape)
        layer = next(name for name, part in net.graph.parts.items() if isinstance(part, (nn.Conv2d, nn.Linear)))
        with pytest.raises(ValueError, match=words):
            net.wrong(torch.zeros(3, *shape), torch.zeros(3, *net.output_shape), layer)
    with pytest.raises(ValueError, match="no layer of this network can grow"):
        of(nn.Sequential(nn.Linear(2, 1))).wrong(torch.zeros(3, 2), torch.zeros(3))
    with pytest.raises(ValueError, match="k is a whole number"):
        of(nn.Sequential(nn.Linear(2, 1))).wrong(torch.zeros(3, 2), torch.zeros(3), k=0)


def test_where_nothing_is_left_to_gain_nothing_grows():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).to(DOUBLE)
    x = torch.randn(10, 2, dtype=DOUBLE)
    found = of(model).wrong(x, model(x).detach())
    with pytest.raises(ValueError, match="nothing is left to gain"):
        found.grow()


def classifier(outputs: int = 3) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 60), nn.ReLU(), nn.Linear(60, outputs)).to(DOUBLE)
    return model, torch.randn(30, 6, dtype=DOUBLE), torch.randint(0, outputs, (30,))


def test_class_labels_without_a_loss_are_those_of_cross_entropy():
    model, x, labels = classifier()
    net = of(model)
    for given_ in (labels, labels.numpy(), labels.tolist(), labels.int()):
        assert close(net.wrong(x, given_, "0").wanted, net.wrong(x, labels, "0", loss="cross_entropy").wanted)
    rows = F.one_hot(labels, 3)
    assert close(net.wrong(x, rows, "0").wanted, net.wrong(x, rows, "0", loss="mse").wanted), "targets of every output"
    with pytest.raises(ValueError, match=r"classes are whole numbers, as in y.long\(\), and targets have the shape \(n, 3\)"):
        net.wrong(x, labels.double())
    with pytest.raises(ValueError, match=r"targets have shape \(30, 3\)"):
        net.wrong(x, labels, loss="mse")
    one, x, labels = classifier(1)
    assert close(of(one).wrong(x, labels, "0").wanted, of(one).wrong(x, labels[:, None], "0", loss="mse").wanted)


def test_where_nothing_grows_the_layers_that_would_are_named():
    model, x, y = classifier()
    net = of(model)
    assert net.wrong(x, y, "2").share < 1e-9, "60 features reach all that 30 points ask for"
    with pytest.raises(ValueError, match=r"nothing is left to gain there; out of reach are 80% at '0': choose it with layer="):
        net.wrong(x, y, "2").grow()
    found = net.wrong(x, y)
    assert (found.layer, len(found.neurons.bias) > 0) == ("0", True), "a layer that cannot gain is not the one that helps most"
    found.grow()
    with pytest.raises(ValueError, match=r"nor at another layer: take more points, several times the \d+ weights of an output"):
        net.wrong(x[:2], y[:2]).grow()


def test_a_module_that_has_grown_is_in_the_mode_of_the_module():
    model, x, y = classifier()
    for mode in (True, False):
        assert of(model.train(mode)).wrong(x, y, "0").grow().training is mode


def test_what_is_wrong_says_of_which_layer_it_speaks():
    model, x, y = classifier()
    assert " (of 30 rows for 61 weights: too few); 0 new neurons" in repr(of(model).wrong(x, y, "2"))
    said = repr(of(model).wrong(x, y, "0", k=1))
    assert "layer '0': 80% " in said
    assert "of what the loss asks of '2', which reads it, is out of reach of the weights there; 1 new neuron would help" in said


def test_where_nothing_grows_and_other_layers_take_too_much_memory_the_sentence_stays(monkeypatch):
    model, x, y = classifier()
    found = of(model).wrong(x, y, "2")
    monkeypatch.setattr(wrongs, "ROOM", 1)
    with pytest.raises(ValueError, match="nothing is left to gain there; choose another layer with layer=, or take more points"):
        found.grow()
