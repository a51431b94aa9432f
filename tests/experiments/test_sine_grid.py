"""The grid of sine networks, one small cell of it, against torch's own optimizer and a count on a fine grid."""

import numpy as np
import pytest
import torch

from experiments import sine_grid
from foldnet.nets import ReLUNet


def test_cells_are_the_table_and_three_samples():
    cells = sine_grid.cells()
    assert sum(c["setting"] == "full batch" for c in cells) == 100
    assert {c["setting"] for c in cells} == set(sine_grid.SETTINGS)


def test_training_is_torchs_descent():
    nets = sine_grid.initial("full batch", 3, 2, 2)
    x, y = sine_grid.data()
    assert (y - np.sin(np.linspace(-np.pi, np.pi, 100))[:, None]).abs().max() < 1e-6
    model = nets[1].to_sequential()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(15):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    trained = sine_grid.train(nets, "full batch", epochs=15).net[1]
    assert torch.allclose(trained(x), model(x), atol=1e-5)


def test_a_cell_counts_what_it_says(monkeypatch):
    monkeypatch.setitem(sine_grid.SETTINGS, "full batch", ("torch", None, 30))
    row = sine_grid.cell("full batch", 2, 3)
    nets = sine_grid.initial("full batch", 2, 3)
    run = sine_grid.train(nets, "full batch", engine="torch")
    good = run.final_loss <= 0.45
    assert (row["restarts"], row["successes"]) == (30, int(good.sum()))
    x = sine_grid.data()[0]
    off = torch.tensor([any((z <= 0).all() for z in net.preactivations(x)) for net in (nets[i] for i in range(30))])
    assert row["dead_at_start"] == int(off.sum()) > 0
    assert row["failed_dead_at_start"] == int((off & ~good).sum())
    assert len(row["pieces"]) == row["successes"]
    assert row["losses"] == pytest.approx(run.final_loss[:20].tolist(), abs=1e-3)
    one = sine_grid.initial("full batch", 2, 3, 1)[0].with_vector(torch.tensor(row["weights"]))
    fine = torch.linspace(-np.pi, np.pi, 200_001, dtype=torch.float64)[:, None]
    slopes = one.to(torch.float64).jacobian(fine)[:, 0, 0]
    assert row["pieces"][0] == 1 + int((slopes.diff().abs() > 1e-9).sum())


def test_dead_is_a_layer_that_is_off_everywhere():
    off = ReLUNet([[[1.0], [1.0]], [[1.0, 1.0]], [[1.0]]], [[4.0, 4.0], [-20.0], [0.0]])
    on = ReLUNet([[[1.0], [1.0]], [[1.0, 1.0]], [[1.0]]], [[4.0, -9.0], [-7.0], [0.0]])
    assert bool(sine_grid.dead(off))
    assert not bool(sine_grid.dead(on))
