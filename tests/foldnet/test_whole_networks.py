"""Whatever takes a network honours all of it, or refuses in a sentence: leak, depth, dtype and batch.

The functions are found, not listed: one that is new has no trial yet and fails here. What they compute is compared with forward
passes written out by hand and autograd, with a plain ReLU network of twice the width that computes the same function as a leaky
one, with a loop over the batch, and with double precision.
"""

import functools
import importlib
import inspect
import itertools
import linecache
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import foldnet
from foldnet.boolean import pruning
from foldnet.boolean import training as boolean_training
from foldnet.boolean.constructions import wrong_corners
from foldnet.geometry import boundaries, cells, comparison, grid, pieces, regions, tropical, vision
from foldnet.growth import amplitude, expressivity, fold_loop, folding, neurons, tiny, typical, widen
from foldnet.growth.minibatches import Training
from foldnet.nets import Network, ReLUNet, stack
from foldnet.piecewise import text
from foldnet.splines import breakpoints, creases, depth, dynamics, gans, initialization, landscape
from foldnet.train import fit
from foldnet.training import problem
from foldnet.training.gradient import FlatNetworks

PACKAGE = Path(foldnet.__file__).parent
LEFT_OUT = ("experiments",)  # large runs make their own networks
LEAK = 0.8
RNG = np.random.default_rng(0)
X = torch.as_tensor(RNG.uniform(-1, 1, (12, 2)))
Y = torch.as_tensor(RNG.integers(0, 2, 12))
T = torch.nn.functional.one_hot(Y, 2).double()
LINE, VALUES = torch.as_tensor(np.sort(RNG.uniform(-2, 2, 9))), torch.as_tensor(RNG.normal(size=9))


# ---- the functions -----------------------------------------------------------------------------------------------------


def found() -> set[str]:
    """Every public function, and class other than a record, with a parameter that is a network by its name or annotation."""
    names = set()
    for module in pkgutil.walk_packages(foldnet.__path__, "foldnet."):
        parts = module.name.split(".")[1:]
        if module.ispkg or parts[0] in LEFT_OUT or any(p.startswith("_") for p in parts):
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module.name or is_dataclass(thing):
                continue
            if not inspect.isfunction(thing) and not (inspect.isclass(thing) and inspect.isfunction(thing.__init__)):
                continue
            for p in inspect.signature(thing).parameters.values():
                kind = str(p.annotation)
                if (
                    (p.name in ("net", "nets") or "Network" in kind or "ReLUNet" in kind)
                    and "ExactNet" not in kind
                    and "PiecewiseLinear" not in kind
                ):
                    names.add(".".join([*parts, name]))
    return names


@dataclass(frozen=True)
class Trial:
    """How a function is called on a network of these sizes, and how its result is judged.

    `truth(net, result)` gives pairs (found, expected), the second computed by hand. `same`: the result depends on the function
    that the network computes alone. `blind` says why neither is needed. `many`: it takes batches `(B,)` only. `drawn`: what it
    draws for a network depends on its place in the batch.
    """

    call: Callable
    sizes: tuple[int, ...] = (2, 4, 2)
    truth: Callable | None = None
    same: bool = False
    blind: str = ""
    many: bool = False
    drawn: bool = False
    tol: float = 1e-9


def layers(net, x) -> list:
    """What each affine layer gives, one after the other, by hand."""
    h, gives = torch.as_tensor(x, dtype=net.dtype), []
    for w, b in zip(net.weights, net.biases):
        h = torch.where(gives[-1] > 0, gives[-1], net.leak * gives[-1]) if gives else h
        gives.append(torch.einsum("...ni,...oi->...no", h, w) + b.unsqueeze(-2))
    return gives


def bend(net, z):
    return torch.where(z > 0, z, net.leak * z)


def square(z, y):
    return (z - y).square().mean((-1, -2))


def entropy(z, y):
    return -(z.log_softmax(-1) * y).sum(-1).mean(-1)


def by_optim(net, x, y, measure, steps, lr):
    """Full-batch torch.optim.Adam on one network or on each of a batch."""
    if net.batch_shape:
        return torch.stack([by_optim(net[i], x, y, measure, steps, lr) for i in range(len(net.biases[0]))])
    vector = net.vector().requires_grad_()
    optimizer = torch.optim.Adam([vector], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        measure(layers(net.with_vector(vector), x)[-1], y).backward()
        optimizer.step()
    return vector.detach()


def goal(net, layer):
    """Minus the gradient of each point's mean squared error by the preactivations of a layer, by autograd through a shift."""
    z = layers(net, X)[layer]
    shift = torch.zeros_like(z, requires_grad=True)
    h = z + shift
    for w, b in zip(net.weights[layer + 1 :], net.biases[layer + 1 :]):
        h = bend(net, h) @ w.mT + b.unsqueeze(-2)
    return torch.autograd.grad(-(h - T).square().mean(-1).sum(), shift)[0]


def grown(net):
    return neurons.optimal_neurons(net, 0, X, T, 1, old="kept")


def first_order(net, new):
    """The gain of new neurons against a small step by hand."""
    step = 1e-6
    return [((square(layers(net, X)[-1], T) - square(neuron_by_hand(net, new, step), T)) / step, new.gain)]


def after(net, z, layer):
    """The outputs that preactivations of a layer lead to, by hand."""
    for w, b in zip(net.weights[layer + 1 :], net.biases[layer + 1 :]):
        z = bend(net, z) @ w.mT + b.unsqueeze(-2)
    return z


def neuron_by_hand(net, new, size):
    added = bend(net, size * (X.to(net.dtype) @ new.incoming.mT + new.bias.unsqueeze(-2))) @ new.outgoing.mT
    return after(net, layers(net, X)[1] + added, 1)


def moment(x):
    rows = torch.cat([x, torch.ones_like(x[:, :1])], 1)
    return rows.mT @ rows / len(rows)


def lack_by_hand(net):
    if net.batch_shape:
        return torch.stack([lack_by_hand(net[i]) for i in range(len(net.biases[0]))])
    h = bend(net, layers(net, X)[0])
    rows = torch.cat([h, torch.ones_like(h[:, :1])], 1)
    wish = goal(net, 1)
    return (wish - rows @ torch.linalg.lstsq(rows, wish, driver="gelsd").solution).square().sum()


def by_steps(net, steps, rate):
    """Gradient descent on half the sum of squares."""
    vector = net.vector()
    for _ in range(steps):
        leaf = vector.clone().requires_grad_()
        loss = (layers(net.with_vector(leaf), LINE[:, None])[-1][..., 0] - VALUES).square().sum() / 2
        vector = vector - rate * torch.autograd.grad(loss, leaf)[0]
    return vector


def path(found):
    """Splines at several times, networks first."""
    return [value.movedim(0, -1) for value in parts(found)[1:]]


def widened(net):
    incoming, bias, outgoing = torch.tensor([[0.3, -0.2]]), torch.tensor([0.1]), torch.full((net.sizes[2], 1), 0.5)
    return widen.widen(net, 0, incoming, bias, outgoing)


def widened_by_hand(net, result):
    added = 0.5 * bend(net, X.to(net.dtype) @ torch.tensor([[0.3], [-0.2]], dtype=torch.float32).to(net.dtype) + 0.1)
    return [(result(X), after(net, layers(net, X)[1] + added, 1))]


def folded(net):
    found = folding.fold(net, X, Y)
    return {f.name: getattr(found, f.name) for f in fields(found)}


def within(net, result):
    """A fold moves no output on the data by more than 0.1, and one by as much."""
    z = X.to(net.dtype) @ result["incoming"].mT + result["bias"].unsqueeze(-2)
    moved = (bend(net, z) @ result["outgoing"].mT).abs().amax((-1, -2))
    return [(moved, torch.full_like(moved, 0.1))]


def lines(net, result):
    """The angle of each kink, from the normals of the margin a little to both sides of the unit's line."""
    pairs = []
    for i in range(len(net.biases[0])):
        row = net.weights[0][i, -1] / net.weights[0][i, -1].norm()
        for point, angle in zip(result.point[i], result.angle[i]):
            if angle.isnan():
                continue
            sides = torch.stack([point - 1e-7 * row, point + 1e-7 * row]).requires_grad_()
            z = layers(net[i], sides)[-1]
            (n,) = torch.autograd.grad((z[:, 1] - z[:, 0]).sum(), sides)
            cosine = (n[0] @ n[1]) / (n[0].norm() * n[1].norm())
            pairs.append((angle, cosine.clamp(-1, 1).acos().rad2deg()))
    assert pairs
    return pairs


def trained(nets, steps=4):
    training = Training(nets, X, Y, lr=0.02, batch_size=None)
    training.train(steps)
    return training.net.vector()


def flat_gradient(nets):
    flat = FlatNetworks(nets, nets.vector())
    reads, gives = flat.forward(X.to(nets.dtype)[None])
    return flat.backward(reads, gives, 2 * (gives[-1] - T.to(nets.dtype)) / T.numel())


def as_many_as_faces(net, result):
    """In the plane, cells are counted one by one as the faces of the exact complex are."""
    return [(result, len(regions.regions(net, [(-5, -5), (5, -5), (5, 5), (-5, 5)])))]


def autograd(net, result):
    vector = net.vector().requires_grad_()
    return [(result, torch.autograd.grad(square(layers(net.with_vector(vector), X)[-1], T).sum(), vector)[0])]


def short_fit(net):
    done = fit(net, X, T, lr=0.02, epochs=4, progress=False)
    return done.net.vector(), done.final_loss


def loop_of_folds(net):
    done = fold_loop.grow_by_folding(net, X, Y, most=5, target=2.0, epochs=20)
    return done.net(X), done.stages[-1].accuracy


def right(net, z):
    return (z.argmax(-1) == Y).double().mean(-1)


CORNERS, XOR = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], dtype=torch.float64), [0, 1, 1, 0]


def bits(z, y):
    return torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction="none").mean((-1, -2))


def some_neurons(net, chosen):
    """The outputs of a network of which only these neurons of the first layer count, by hand: `(*batch, choices, n, out)`."""
    h, found = bend(net, layers(net, X)[0]), []
    for neurons_kept in chosen:
        mask = torch.zeros(net.sizes[1], dtype=net.dtype)
        mask[list(neurons_kept)] = 1
        found.append(after(net, (h * mask) @ net.weights[1].mT + net.biases[1].unsqueeze(-2), 1))
    return torch.stack(found, -3)


def singles(net):
    return [net[i] for i in range(len(net.biases[0]))] if net.batch_shape else [net]


def least_widths(net):
    found = torch.tensor(pruning.prune_wide(singles(net), XOR, epochs=30))
    return found if net.batch_shape else found[0]


def least_by_hand(net):
    if net.batch_shape:
        return torch.stack([least_by_hand(one) for one in singles(net)])
    tried = 0
    for width in range(1, net.sizes[1] + 1):
        chosen = list(itertools.combinations(range(net.sizes[1]), width))
        tried += len(chosen)
        good = 0
        for c in chosen:
            at = list(c)
            layers_kept = [net.weights[0][at], net.weights[1][:, at]], [net.biases[0][at], net.biases[1]]
            part = ReLUNet(*layers_kept, net.leak)
            vector = by_optim(part, CORNERS, torch.tensor(XOR, dtype=net.dtype)[:, None], bits, 30, 0.025)
            out = layers(part.with_vector(vector), CORNERS)[-1][:, 0]
            good += bool(((out > 0) == (torch.tensor(XOR) > 0)).all())
        if good:
            return torch.tensor((width, good, tried))
    return torch.tensor((0, 0, tried))


def pruned_deep(net):
    """Work and length of each pruning, and whether what is left is still a solution or nothing was taken away."""
    found = pruning.prune_deep(singles(net), XOR, epochs=(20,))
    rows = torch.tensor([[s.work, len(s.path), bool(pruning.solves(s.net, XOR)) or len(s.path) == 1] for s in found])
    return rows if net.batch_shape else rows[0]


def corners_right(net):
    """Right corners after four epochs on XOR, each network a row of its own."""
    rows = net.with_layers(
        [w.reshape(-1, 1, *w.shape[-2:]) for w in net.weights], [b.reshape(-1, 1, b.shape[-1]) for b in net.biases]
    )
    found = torch.tensor(boolean_training.trained(rows, [XOR] * len(rows.biases[0]), epochs=4).right[:, 0])
    return found if net.batch_shape else found[0]


def corners_by_hand(net):
    vector = by_optim(net, CORNERS, torch.tensor(XOR, dtype=net.dtype)[:, None], bits, 4, 0.025)
    out = layers(net.with_vector(vector), CORNERS)[-1][..., 0]
    return ((out > 0) == (torch.tensor(XOR) > 0)).sum(-1)


SLOPPY = ("growth.amplitude.best_amplitude", "growth.neurons.optimal_neurons")
BLIND = "its result is made of sizes or of data, and a network in it keeps its leak"
LINE_NET = (1, 5, 1)
TRIALS = {
    "nets.stack": Trial(lambda net: stack([net, net])(X)[1], same=True),
    "train.fit": Trial(
        short_fit,
        truth=lambda net, r: [
            (r[0], by_optim(net, X, T, square, 4, 0.02)),
            (r[1], square(layers(net.with_vector(r[0]), X)[-1], T)),
        ],
    ),
    "training.problem.checked_data": Trial(lambda net: problem.checked_data(net, X, Y, "cross_entropy"), blind=BLIND),
    "training.gradient.FlatNetworks": Trial(flat_gradient, truth=autograd, many=True),
    "boolean.constructions.wrong_corners": Trial(lambda net: wrong_corners(net, "0110"), (2, 4, 1), same=True),
    "boolean.pruning.solves": Trial(lambda net: pruning.solves(net, XOR), (2, 4, 1), same=True),
    "boolean.pruning.train_on": Trial(
        lambda net: pruning.train_on(net, XOR, 4).net.vector(),
        (2, 4, 1),
        truth=lambda net, r: [(r, by_optim(net, CORNERS, torch.tensor(XOR, dtype=net.dtype)[:, None], bits, 4, 0.025))],
    ),
    "boolean.training.trained": Trial(corners_right, (2, 4, 1), truth=lambda net, r: [(r, corners_by_hand(net))]),
    "boolean.pruning.keep_neurons": Trial(
        lambda net: pruning.keep_neurons(net, 0, [[0, 2], [1, 3]])(X),
        truth=lambda net, r: [(r, some_neurons(net, [[0, 2], [1, 3]]))],
    ),
    "boolean.pruning.subnetworks": Trial(
        lambda net: pruning.subnetworks(net, 2)(X),
        truth=lambda net, r: [(r, some_neurons(net, itertools.combinations(range(4), 2)))],
    ),
    "boolean.pruning.remove_layer": Trial(
        lambda net: pruning.remove_layer(net, 0)(X),
        truth=lambda net, r: [(r, after(net, layers(net, X)[0] @ net.weights[1].mT + net.biases[1].unsqueeze(-2), 1))],
    ),
    "boolean.pruning.pad_widths": Trial(
        lambda net: pruning.pad_widths(net, [w + 2 for w in net.sizes[1:-1]])(X), truth=lambda net, r: [(r, layers(net, X)[-1])]
    ),
    "boolean.pruning.prune_wide": Trial(least_widths, (2, 4, 1), truth=lambda net, r: [(r, least_by_hand(net))]),
    "boolean.pruning.prune_deep": Trial(
        pruned_deep, (2, 4, 1), truth=lambda net, r: [(r[..., 2], torch.ones(net.batch_shape))], drawn=True
    ),
    "geometry.boundaries.logits": Trial(lambda net: boundaries.logits(net, X), same=True),
    "geometry.boundaries.margin": Trial(lambda net: boundaries.margin(net, X), same=True),
    "geometry.boundaries.hyperplane": Trial(lambda net: boundaries.hyperplane(net, X, 0, 1), same=True),
    "geometry.boundaries.creases": Trial(
        lambda net: torch.unique(boundaries.creases(net, 5.0).round(decimals=9), dim=0), same=True
    ),
    "geometry.cells.count_regions": Trial(lambda net: cells.count_regions(net, 5.0), truth=as_many_as_faces),
    "geometry.pieces.linear_map": Trial(
        lambda net: float(pieces.at(pieces.linear_map(net, net.pattern(LINE[:1, None])[0].tolist()).maps[0], LINE[:1].tolist())),
        (1, 2, 1),
        truth=lambda net, r: [(r, layers(net, LINE[:1, None])[-1].item())],
    ),
    "geometry.pieces.pieces": Trial(
        lambda net: at_line(functools.partial(pieces.lookup, pieces.pieces(net))),
        (1, 2, 1),
        truth=lambda net, r: [(r, layers(net, LINE[:, None])[-1][:, 0])],
    ),
    "geometry.tropical.tropical": Trial(
        lambda net: at_line(tropical.tropical(net)[0]),
        (1, 2, 1),
        truth=lambda net, r: [(r, layers(net, LINE[:, None])[-1][:, 0])],
    ),
    "geometry.regions.regions": Trial(lambda net: np.unique(regions.regions(net).vertices.round(9), axis=0), same=True),
    "geometry.grid.on_grid": Trial(lambda net: grid.on_grid(net, points=9).labels, same=True),
    "geometry.regions.on_plane": Trial(lambda net: regions.on_plane(net, X[0], torch.eye(2))(X), same=True),
    "geometry.comparison.coefficients": Trial(lambda net: comparison.coefficients(net, X), same=True),
    "geometry.comparison.compress": Trial(lambda net: comparison.compress(net, X, 3), same=True),
    "geometry.vision.jacobian": Trial(lambda net: vision.jacobian(net, X), same=True),
    "geometry.vision.jacobians": Trial(lambda net: torch.cat([*vision.jacobians(net, X, chunk=5)], -3), same=True),
    "geometry.vision.affine_at": Trial(lambda net: vision.affine_at(net, X), same=True),
    "growth.amplitude.best_amplitude": Trial(
        lambda net: amplitude.best_amplitude(net, 0, grown(net), X, T),
        truth=lambda net, r: [(r.loss, square(layers(neurons.with_neurons(net, 0, grown(net), r.amplitude), X)[-1], T))],
    ),
    "growth.expressivity.layer_inputs": Trial(
        lambda net: expressivity.layer_inputs(net, X)[1:],
        truth=lambda net, r: list(zip(r, (bend(net, z) for z in layers(net, X)[:-1]))),
    ),
    "growth.expressivity.desired_update": Trial(
        lambda net: expressivity.desired_update(net, 0, X, T), truth=lambda net, r: [(r, goal(net, 0))]
    ),
    "growth.expressivity.tangent": Trial(
        lambda net: expressivity.tangent(net, 1, X),
        truth=lambda net, r: [
            (r, torch.autograd.functional.jacobian(lambda p: layers(net.with_vector(p), X)[1].flatten(), net.vector()))
        ],
    ),
    "growth.expressivity.lack_of_expressivity": Trial(
        lambda net: expressivity.lack_of_expressivity(net, 1, X, T), truth=lambda net, r: [(r, lack_by_hand(net))], tol=1e-7
    ),
    "growth.fold_loop.grow_by_folding": Trial(loop_of_folds, truth=lambda net, r: [(r[1], right(net, r[0]))]),
    "growth.fold_loop.deepen": Trial(lambda net: fold_loop.deepen(net)(X), truth=lambda net, r: [(r, layers(net, X)[-1])]),
    "growth.folding.fold": Trial(folded, truth=within),
    "growth.folding.grow": Trial(
        lambda net: (folding.grow(net, folding.fold(net, X, Y))(X), folding.fold(net, X, Y)),
        truth=lambda net, r: [
            (
                r[0],
                layers(net, X)[-1] + bend(net, X.to(net.dtype) @ r[1].incoming.mT + r[1].bias.unsqueeze(-2)) @ r[1].outgoing.mT,
            )
        ],
    ),
    "growth.minibatches.Training": Trial(trained, truth=lambda net, r: [(r, by_optim(net, X, T, entropy, 4, 0.02))], many=True),
    "growth.neurons.second_moment": Trial(
        lambda net: neurons.second_moment(net, 0, X).whitening, truth=lambda net, r: [(r @ r.mT, torch.linalg.inv(moment(X)))]
    ),
    "growth.neurons.optimal_neurons": Trial(grown, truth=first_order, tol=1e-4),
    "growth.neurons.with_neurons": Trial(
        lambda net: (neurons.with_neurons(net, 0, grown(net), 0.7)(X), grown(net)),
        truth=lambda net, r: [(r[0], neuron_by_hand(net, r[1], 0.7))],
    ),
    "growth.tiny.tiny": Trial(
        lambda nets: tiny.tiny(nets, X, Y, 0, 0, 4, lr=0.02, batch_size=12).net.vector(),
        truth=lambda net, r: [(r, by_optim(net, X, T, entropy, 4, 0.02))],
        many=True,
    ),
    "growth.tiny.more_points": Trial(lambda net: tiny.more_points(net, [100.0] * (len(net.sizes) - 2)), blind=BLIND),
    "growth.typical.predictions": Trial(lambda net: typical.predictions(net, X), same=True),
    "growth.typical.accuracy": Trial(lambda net: typical.accuracy(net, X, Y), same=True),
    "growth.typical.class_losses": Trial(lambda net: typical.class_losses(net, X, Y), same=True),
    "growth.typical.typical_mistake": Trial(lambda net: typical.typical_mistake(net, X, Y), same=True),
    "geometry.boundaries.kinks": Trial(lambda net: boundaries.kinks(net), truth=lines, many=True, tol=1e-6),
    "growth.widen.widen": Trial(widened, truth=widened_by_hand),
    "splines.breakpoints.spline": Trial(breakpoints.spline, LINE_NET),
    "splines.breakpoints.pieces": Trial(breakpoints.pieces, LINE_NET),
    "splines.breakpoints.roughness": Trial(breakpoints.roughness, LINE_NET),
    "splines.breakpoints.rescale": Trial(lambda net: breakpoints.rescale(net, 2.0).vector(), LINE_NET),
    "splines.breakpoints.shallow": Trial(breakpoints.shallow, LINE_NET),
    "splines.depth.deep_spline": Trial(lambda net: depth.deep_spline(net).piece_count(), LINE_NET, same=True),
    "splines.depth.deep_pieces": Trial(lambda net: depth.deep_pieces(net)(LINE), LINE_NET, same=True),
    "splines.dynamics.velocity": Trial(lambda net: dynamics.velocity(net, LINE, VALUES), LINE_NET),
    "splines.dynamics.conserved": Trial(dynamics.conserved, LINE_NET),
    "splines.dynamics.gradient_flow": Trial(lambda net: path(dynamics.gradient_flow(net, LINE, VALUES, 1e-3, 4)), LINE_NET),
    "splines.dynamics.tangent_kernel": Trial(lambda net: dynamics.tangent_kernel(net, LINE), LINE_NET),
    "splines.dynamics.relocate": Trial(lambda net: dynamics.relocate(net, LINE, VALUES).vector(), LINE_NET),
    "splines.dynamics.train": Trial(
        lambda net: dynamics.train(net, LINE, VALUES, lr=1e-3, epochs=4).vector(),
        LINE_NET,
        truth=lambda net, r: [(r, by_steps(net, 4, 1e-3))],
    ),
    "splines.dynamics.loss": Trial(lambda net: dynamics.loss(net, LINE, VALUES), LINE_NET, same=True),
    "splines.gans.game_value": Trial(lambda net: gans.game_value(maker(net), net, X, X), (2, 4, 1), same=True),
    "splines.initialization.uniform_breakpoints": Trial(
        lambda net: initialization.uniform_breakpoints(net, -1, 1).weights, LINE_NET
    ),
    "splines.landscape.generators": Trial(lambda net: landscape.generators(net, LINE), LINE_NET),
    "splines.landscape.residuals": Trial(lambda net: landscape.residuals(net, LINE, VALUES), LINE_NET, same=True),
    "splines.landscape.gradient": Trial(lambda net: landscape.gradient(net, LINE, VALUES), LINE_NET),
    "splines.landscape.hessian": Trial(lambda net: landscape.hessian(net, LINE, VALUES), LINE_NET),
    "splines.creases.creases": Trial(lambda net: creases.creases(net)(X), (2, 5, 1), same=True),
    "piecewise.text.to_json": Trial(
        lambda net: layers(text.from_json(text.to_json(net)), X)[-1], truth=lambda net, r: [(r, layers(net, X)[-1])], tol=0.0
    ),
}


def maker(net):
    """A generator that leaves its noise as it is, in the dtype and on the device of the network."""
    return ReLUNet([torch.eye(2).to(net.weights[0])], [torch.zeros(2).to(net.weights[0])])


def at_line(exact) -> torch.Tensor:
    """The values of an exact function of one variable."""
    values = [exact([x]) for x in LINE.tolist()]
    return torch.tensor([float(v[0] if isinstance(v, (list, tuple)) else v) for v in values], dtype=torch.float64)


# ---- the trials ----------------------------------------------------------------------------------------------------------


def test_every_function_that_takes_a_network_is_tried():
    assert found() == set(TRIALS)


def nets(trial: Trial, leak: float = 0.0, deep: bool = False, seed: int = 1, count: int = 3):
    sizes = (*trial.sizes[:-1], 3, trial.sizes[-1]) if deep else trial.sizes
    steep, offsets = (ReLUNet.random(sizes, batch=count, init=init, seed=seed) for init in ("he", "torch"))
    return ReLUNet(steep.weights, [0.3 * b for b in offsets.biases], leak)


def twin(net: ReLUNet) -> ReLUNet:
    """A plain ReLU network of twice the width with the same function: a leaky z is relu(z) - leak relu(-z)."""
    weights, biases = [], []
    for w, b in zip(net.weights, net.biases):
        w = torch.cat([w, -net.leak * w], -1) if weights else w
        last = len(weights) == len(net.weights) - 1
        weights.append(w if last else torch.cat([w, -w], -2))
        biases.append(b if last else torch.cat([b, -b], -1))
    return ReLUNet(weights, biases)


def refused(call) -> bool:
    """Whether a call is refused by a sentence that somebody wrote here, and not by an error met on the way."""
    try:
        call()
        return False
    except ValueError as caught:
        error = caught
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    path, line = trace.tb_frame.f_code.co_filename, linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    assert Path(path).is_relative_to(PACKAGE), f"an error from elsewhere: {error}"
    assert "raise" in line, f"an accident, no sentence: {error}"
    assert "\n" not in str(error)
    return True


def parts(result) -> list:
    """All numbers of a result, as tensors, in order."""
    if isinstance(result, Network):
        return [result.vector()]
    if is_dataclass(result):
        return parts([getattr(result, f.name) for f in fields(result)])
    if isinstance(result, dict):
        return parts(list(result.values()))
    if isinstance(result, (list, tuple)):
        return [p for value in result for p in parts(value)]
    if isinstance(result, str):
        return [torch.tensor(list(result.encode()))]
    return [torch.as_tensor(result)]


def agree(one, other, tol: float) -> None:
    one, other = parts(one), parts(other)
    assert len(one) == len(other) > 0
    for a, b in zip(one, other):
        assert a.shape == b.shape
        scale = 1 + float(b.double().nan_to_num(0, 0, 0).abs().max()) if b.numel() else 1
        assert torch.allclose(a.double(), b.double(), rtol=0, atol=tol * scale, equal_nan=True)


def judged(trial: Trial, net: ReLUNet) -> None:
    """The result against the truth, or against that for a plain network with the same function."""
    result = trial.call(net)
    if trial.truth is not None:
        for a, b in trial.truth(net, result):
            agree(a, b, trial.tol)
    elif trial.same:
        agree(result, trial.call(twin(net)), 1e-8)
    elif trial.blind:
        agree(result, trial.call(ReLUNet(net.weights, net.biases)), 0.0)
    else:
        raise AssertionError("accepted, but nothing here says what the result should be")


def alone(trial: Trial, batch: ReLUNet, i: int) -> ReLUNet:
    return batch[i : i + 1] if trial.many else batch[i]


every = pytest.mark.parametrize("name", sorted(TRIALS))


@every
def test_leak_is_honoured_or_refused(name):
    trial = TRIALS[name]
    batch = nets(trial, leak=LEAK, count=40)
    for i in range(8):
        net = alone(trial, batch, i)
        if not refused(lambda: trial.call(net)):  # noqa: B023
            judged(trial, net)


@every
@pytest.mark.parametrize("leak", [0.0, LEAK])
def test_depth_is_honoured_or_refused(name, leak):
    trial = TRIALS[name]
    net = alone(trial, nets(trial, leak, deep=True), 1)
    if not refused(lambda: trial.call(net)):
        judged(trial, net)


@every
@pytest.mark.parametrize("leak", [0.0, LEAK])
def test_a_batch_is_its_networks(name, leak):
    trial = TRIALS[name]
    batch = nets(trial, leak)
    if trial.drawn or refused(lambda: trial.call(batch)):
        return
    together = parts(trial.call(batch))
    for i in range(3):
        one = parts(trial.call(alone(trial, batch, i)))
        assert len(one) == len(together) > 0
        for a, b in zip(one, together):
            mine = (
                b[i : i + 1] if trial.many and b.shape != a.shape else b[i] if b.shape[1:] == a.shape and b.ndim > a.ndim else b
            )
            agree(a, mine, 1e-6 if name in SLOPPY else 1e-9)


@every
def test_single_precision_gives_the_same_numbers(name):
    trial = TRIALS[name]
    net = alone(trial, nets(trial), 2)
    single = net.to(torch.float32)
    if refused(lambda: trial.call(single)):
        return
    result, other = parts(trial.call(single)), parts(trial.call(single.to(torch.float64)))
    agree(result, other, 2e-2 if name in SLOPPY else 2e-3)
