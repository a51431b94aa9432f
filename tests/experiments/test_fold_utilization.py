"""The large run: its softmax training against torch.optim, its arms, and independence of the neighbours in a batch."""

import pytest
import torch

from foldnet.experiments import fold_utilization as run
from foldnet.growth.typical import accuracy


def test_softmax_training_is_torch_adam():
    nets = run.start(3, 0, 70)[64:67].to(torch.float64)
    x, y = run.data("annulus", 1)
    trained = run.fit_softmax(nets, x, y, 40, 0.02)
    for k in range(3):
        model = nets[k].to_sequential()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(40):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        assert torch.allclose(model(x), trained[k](x), atol=1e-10)


def test_a_network_is_trained_alike_alone_and_among_others():
    """The kernel computes 64 networks side by side; the 66th must not notice."""
    nets = run.start(2, 3, 70)
    x, y = run.data("sine", 3)
    assert torch.equal(run.fit_softmax(nets, x, y, 20, 0.01)[65](x), run.fit_softmax(nets[65:66], x, y, 20, 0.01)[0](x))


@pytest.mark.parametrize("arm", run.ARMS[2:])
def test_every_arm_adds_one_unit_and_at_most_a_tenth(arm):
    small = run.start(2, 0, 12)
    x, y = run.data("sine", 0)
    grown = run.grown(small, arm, "sine", 0)
    assert grown.sizes == (2, 3, 2)
    assert (grown(x) - small(x)).abs().max() <= 0.1 + 1e-5
    assert torch.equal(grown.weights[0][:, :2], small.weights[0])
    first = run.grown(small[:5], arm, "sine", 0)
    assert torch.allclose(first.weights[0], grown.weights[0][:5])
    assert run.scores(grown, "sine", 0) == [round(300 * a) for a in accuracy(grown, x, y).tolist()]


def test_cells_name_a_thousand_networks_for_each_arm_and_task():
    cells = run.cells()
    assert len(cells) == 2 * run.BLOCKS
    assert run.BLOCKS * run.NETWORKS == 1000
    with pytest.raises(ValueError, match="a grown arm is one of"):
        run.grown(run.start(2, 0, 2), "nothing", "sine", 0)
