"""Every function of the part keeps the dtype and the device of what it is given, and takes its points as `(n,)`."""

from dataclasses import fields, is_dataclass

import pytest
import torch

from foldnet.nets import ReLUNet
from foldnet.splines import breakpoints, depth, dynamics, initialization, landscape, partitions, regression, smoothing

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
x = [-0.9, -0.5, 0.1, 0.4, 0.8]  # lists and what belongs to a network go to where the network is
y = [0.3, -0.6, 0.5, 0.9, -0.2]

OF_NETWORKS = {
    "spline": lambda net: breakpoints.spline(net),
    "values": lambda net: breakpoints.spline(net)(x),
    "network": lambda net: breakpoints.network(breakpoints.spline(net), 2.0),
    "rescale": lambda net: breakpoints.rescale(net, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "roughness": breakpoints.roughness,
    "pieces": lambda net: (breakpoints.pieces(net[0]), breakpoints.pieces(net[0])(x)),
    "uniform_breakpoints": lambda net: initialization.uniform_breakpoints(net, -1, 1),
    "generators": lambda net: landscape.generators(net, x),
    "gradient": lambda net: landscape.gradient(net, x, y),
    "hessian": lambda net: landscape.hessian(net, x, y),
    "nullity": lambda net: landscape.nullity(landscape.hessian(net, x, y)),
    "spline_gradient": lambda net: landscape.spline_gradient(breakpoints.spline(net), x, y),
    "spline_hessian": lambda net: landscape.spline_hessian(breakpoints.spline(net), x, y),
    "breakpoint_slice": lambda net: landscape.breakpoint_slice(breakpoints.spline(net[0]), 0, x, y),
    "velocity": lambda net: dynamics.velocity(net, x, y),
    "conserved": dynamics.conserved,
    "gradient_flow": lambda net: dynamics.gradient_flow(net, x, y, 1e-3, 4),
    "tangent_kernel": lambda net: dynamics.tangent_kernel(net, x),
    "relocate": lambda net: dynamics.relocate(net, x, y),
    "train": lambda net: dynamics.train(net, x, y, lr=1e-3, epochs=4, moves=1, every=2),
    "loss": lambda net: dynamics.loss(net, x, y),
    "alone": lambda net: partitions.alone(breakpoints.spline(net).breakpoints, x),
}
OF_DATA = {
    "hinges": lambda x, y: breakpoints.hinges(x, [0.0, 1.0], -1.0),
    "interpolant": lambda x, y: partitions.interpolant([-0.7, -0.2, 0.2, 0.6], [1.0] * 4, x, y),
    "minimum_norm": lambda x, y: smoothing.minimum_norm(x, y, *initialization.breakpoint_grid(20, 1.5), affine=True),
    "limit": lambda x, y: (f := smoothing.limit(x, y, 1.5), f([0.0])),
    "zero_start": lambda x, y: initialization.zero_start(8, 1.5, x.abs()),
    "optimal": lambda x, y: [best.fit for best in regression.optimal(x, y, 3)],
}


def tensors(found) -> list[torch.Tensor]:
    """All tensors in a result, whatever holds them."""
    if isinstance(found, torch.Tensor):
        return [found]
    if isinstance(found, (list, tuple)):
        return [t for part in found for t in tensors(part)]
    return [t for f in fields(found) for t in tensors(getattr(found, f.name))] if is_dataclass(found) else []


def agrees(found, dtype, device):
    parts = tensors(found)
    assert parts
    assert {t.device.type for t in parts} == {device}
    assert {t.dtype for t in parts if t.is_floating_point()} <= {dtype}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", OF_NETWORKS)
def test_what_takes_a_network_stays_with_it(name, dtype, device):
    agrees(OF_NETWORKS[name](initialization.gaussian(6, 1.0, 1.0, 1.0, batch=3, seed=2).to(dtype).to(device)), dtype, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", OF_DATA)
def test_what_takes_data_stays_with_them(name, dtype, device):
    agrees(OF_DATA[name](*(torch.tensor(a, dtype=dtype, device=device) for a in (x, y))), dtype, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_deep_splines_are_in_float64_where_the_network_is(leak, device):
    nets = ReLUNet.random((1, 5, 5, 1), batch=(4, 2), leak=leak, seed=1, dtype=torch.float32)
    f = depth.deep_spline(nets.to(device))
    agrees([f, depth.deep_pieces(nets[0, 0].to(device))], torch.float64, device)
    here = depth.deep_spline(nets)
    assert torch.equal(f.layer.cpu(), here.layer)
    assert torch.allclose(f.place.cpu(), here.place, rtol=1e-9)
    assert torch.equal(f.piece_count(-3, 3).cpu(), here.piece_count(-3, 3))


@pytest.mark.parametrize("name", [n for n in OF_NETWORKS if n not in ("nullity",)])
@pytest.mark.parametrize("given", [{"sizes": (1, 6, 1), "leak": 0.1}, {"sizes": (1, 3, 3, 1)}, {"sizes": (2, 6, 1)}], ids=str)
def test_what_is_no_shallow_relu_network_is_refused_in_a_sentence(name, given):
    """Nothing drops a leak, a layer or an input on its way."""
    with pytest.raises(ValueError, match="a ReLU network of one input, one hidden layer and one output is needed"):
        OF_NETWORKS[name](ReLUNet.random(batch=3, **given))
