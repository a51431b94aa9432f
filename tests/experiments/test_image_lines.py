"""The run behind lines in the space of images: attacks, lines and rings of frequencies, on networks made here."""

import numpy as np
import pytest
import torch

from experiments import image_lines as run
from foldbook.stored import stored
from foldnet.nets import ReLUNet


@pytest.fixture
def made():
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.uniform(size=(9, 784)), dtype=torch.float32)
    label, target = torch.as_tensor(rng.integers(0, 5, 9)), torch.as_tensor(rng.integers(5, 10, 9))
    return ReLUNet.random((784, 40, 30, 10), batch=2, init="he", seed=3, dtype=torch.float32), x, label, target


def test_an_attack_arrives_and_a_line_is_the_network_along_it(made):
    net, x, label, target = made
    way = run.attack(net, x, label, target)
    assert (net(x + way).argmax(-1) == target).all()
    size = way.norm(dim=-1, keepdim=True)
    assert (size >= run.STEP - 1e-5).all()
    line = run.along(net, x, way, label, target)
    at = torch.linspace(0, 2, 5)
    for k, t in enumerate(at):
        out = net(x + t * way / size)
        margin = out[..., range(9), target] - out[..., range(9), label]
        torch.testing.assert_close(line(at[:, None])[..., k, 0], margin, atol=1e-4, rtol=0)


def test_breakpoints_are_the_changes_of_the_pattern(made):
    net, x, label, target = made
    way = torch.as_tensor(np.random.default_rng(1).normal(size=(9, 784)), dtype=torch.float32)
    unit = way / way.norm(dim=-1, keepdim=True)
    t = torch.linspace(0, run.REACH, 6001)
    counted = run.breakpoints(net, x, way, label, target)
    for i in range(9):
        bits = net.pattern(x[i] + t[:, None] * unit[i])
        changes = (bits[:, 1:] != bits[:, :-1]).sum((-1, -2))
        assert ((counted[:, i] - changes).abs() <= 2).all()  # two may hide between two points of the grid


def test_rings_add_up_and_a_wave_lies_in_its_ring():
    column = torch.arange(28).double()
    wave = torch.cos(2 * np.pi * 7 * column / 28).expand(28, 28).flatten()  # 1/4 cycle per pixel
    share = run.rings(wave)
    assert share.sum() == pytest.approx(1)
    assert run.EDGES[int(share.argmax())] <= 0.25 < run.EDGES[int(share.argmax()) + 1]
    smooth = run.start("smooth", 1.0, 2).weights[0]
    assert run.rings(smooth)[..., run.EDGES[:-1] > 0.26].sum(-1).max() < 1e-6
    assert smooth.norm() == pytest.approx(run.start("white", 1.0, 2).weights[0].norm().item(), rel=1e-4)


def test_every_cell_is_stored():
    assert [row.cell for row in stored("image_lines").rows] == run.cells()
