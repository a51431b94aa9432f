"""Ball against shell: the data by volume, the fence against a scan of the plane, and a tiny cell of each kind."""

import numpy as np
import pytest
import torch

from experiments import annulus_training as run
from foldnet.nets import ReLUNet, stack

ANGLES = 2 * np.pi * np.arange(3) / 3
HEXAGON = ReLUNet(
    [np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1), -np.ones((1, 3))], [np.zeros(3), np.array([np.sqrt(3) / 2])]
)  # regular, corners at distance 1
SQUARE = ReLUNet([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[-2.0, -2.0, 1.0]]], [[0.0, 0.0, 3.0], [-2.0]])  # |x| + |y| < 1
OPEN = ReLUNet([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[-1.0, -1.0, 0.0]]], [[0.0, 0.0, 3.0], [1.0]])
SHIFTED = ReLUNet(SQUARE.weights, [torch.tensor([-5.0, 0.0, -2.0]), SQUARE.biases[1]])  # the square around (5, 0)


def test_fences_of_known_shapes():
    corners, inner, outer = run.fences(stack([HEXAGON, SQUARE, OPEN, SHIFTED]))
    assert corners.tolist() == [6, 4, 0, 0]
    assert inner[:2].numpy() == pytest.approx([np.sqrt(3) / 2, np.sqrt(0.5)], rel=2e-5)
    assert outer[:2].numpy() == pytest.approx([1, 1], rel=1e-9)
    assert inner[2:].isnan().all()
    assert outer[2:].isnan().all()


def test_a_fence_is_where_a_scan_along_rays_first_leaves_the_ball():
    nets = run.begin(2, 200, 0.01, 3, "torch").to(torch.float64)
    rng = np.random.default_rng(0)
    way = rng.normal(size=(200, 7, 2))
    rays = torch.as_tensor(way / np.linalg.norm(way, axis=-1, keepdims=True))
    far = run.reach(nets, rays)
    t = torch.arange(0, 20, 2e-3, dtype=torch.float64)
    for k in range(7):
        outside = nets(t[:, None] * rays[:, k : k + 1])[..., 0] <= 0
        first = torch.where(outside.any(-1), t[outside.to(torch.int64).argmax(-1)], torch.inf)
        near = far[:, k].where(far[:, k] < t[-1], torch.inf)
        assert torch.equal(near.isinf(), first.isinf())
        assert (first - near)[near.isfinite()].abs().max() <= 2e-3 + 1e-9
    assert 50 < far.isfinite().sum() < 1350


@pytest.mark.parametrize("n", [2, 5])
def test_points_lie_by_volume_in_ball_and_shell(n):
    x, y = run.data(n, 2000, 30, 4, 1.5, 1.2)
    radius, ball = x.norm(dim=-1).double(), y[..., 0] > 0.5
    assert ball.sum(1).tolist() == [1000] * 30
    assert radius[ball].max() <= 0.5 + 1e-6
    assert 0.75 - 1e-6 <= radius[~ball].min()
    assert radius[~ball].max() <= 0.9 + 1e-6
    half = (0.5 * (0.75**n + 0.9**n)) ** (1 / n)  # half of the shell's volume lies within it
    for inner, count in (((radius[ball] < 0.5 * 0.5 ** (1 / n)), 30_000), ((radius[~ball] < half), 30_000)):
        assert abs(inner.double().mean() - 0.5) < 4 * 0.5 / count**0.5
    assert (x.mean((0, 1)).abs() < 4 * 0.5 / 60_000**0.5).all()


def test_a_tiny_cell_of_the_plane_and_one_of_space(monkeypatch):
    monkeypatch.setattr(run, "EPOCHS", 100)
    found = run.cell(loss="mse", leak=0.1, batch=100, normalized=True, start="he", networks=3)
    assert [len(found[k]) for k in ("correct", "corners", "inner", "outer")] == [3, 3, 3, 3]
    assert run.successes(found["correct"], 950) <= found["ever"]
    assert all((c == 0) == (o == 0) for c, o in zip(found["corners"], found["outer"]))
    deep = run.cell(dimension=3, leak=0.0, radii="octahedron", epochs=20, networks=2, points=400)["correct"]
    assert list(deep) == ["2", "6", "20"]
    assert max(deep["20"]) > 240  # above what a coin would get


def test_cells_are_the_36_settings_14_points_of_figure_4_8_and_26_others():
    cells = run.cells()
    assert [sum("dimension" in c for c in cells), sum(c.get("start") == "torch" for c in cells)] == [24, 36]
    assert len(cells) == 36 + 14 + 26
    assert run.successes([949, 950, 1000], 950) == 2
    inside = run.inside(SQUARE, "mse")
    assert inside.biases[1].item() == SQUARE.biases[1].item() - 0.5


def test_the_first_networks_are_the_same_however_many_there_are(monkeypatch):
    monkeypatch.setattr(run, "BLOCK", 2)
    monkeypatch.setattr(run, "EPOCHS", 100)
    setting = {"loss": "bce", "leak": 0.01, "batch": 1000, "normalized": False, "start": "torch"}
    few, many = (run.cell(**setting, networks=networks) for networks in (2, 5))
    assert len(many["correct"]) == len(many["inner"]) == 5
    assert many["correct"][:2] == few["correct"]
    assert many["outer"][:2] == few["outer"]
    assert many["correct"][2:4] != few["correct"], "each block has a seed of its own"
    assert many["correct"][4] != few["correct"][0]
