"""The run on directions: what `look` gathers on small images, against plain loops."""

import numpy as np
import pytest
import torch

from experiments import image_directions as run
from foldbook.stored import stored
from foldnet.geometry import sensitivity as s
from foldnet.nets import ReLUNet
from tests.convolutional import random

SHAPE = (3, 8, 8)


@pytest.fixture(scope="module")
def coloured():
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.normal(size=(400, 192)) * rng.uniform(0.2, 2, 192), dtype=torch.float32)
    return run.Inputs.of(x, torch.arange(400) % 10, SHAPE)


@pytest.fixture(scope="module")
def grey(coloured):
    return run.Inputs.of(coloured.x[:, :64].repeat(1, 3), coloured.y, SHAPE)


@pytest.fixture(scope="module")
def dense(grey):
    return run.look(ReLUNet.random((192, 6, 10), batch=2, seed=1, dtype=torch.float32), grey)


def test_every_kind_of_network_has_a_cell():
    assert len(run.cells()) == 16
    assert all(set(c) == {"kind", "data", "optimizer"} for c in run.cells())


def test_a_dense_network_against_autograd_one_image_at_a_time(dense, grey):
    nets = ReLUNet.random((192, 6, 10), batch=2, seed=1, dtype=torch.float32)
    model = nets[1].to(torch.float64).to_sequential()
    x = grey.x.double().requires_grad_()
    slopes = torch.autograd.grad(model(x)[:, 2].sum(), x)[0]
    sigma = torch.linalg.svdvals(slopes).square() / 400
    kept = [k - 1 for k in run.RANKS if k <= 6]
    assert np.array(dense["values"][1])[2, : len(kept)] == pytest.approx(sigma[kept].numpy(), rel=1e-3)
    assert dense["rank"] == [[6] * 10, [6] * run.FEW]
    assert dense["top"][1][2] == pytest.approx(sigma[:4].tolist(), rel=1e-3)
    assert dense["trace"][1][2] == pytest.approx(slopes.square().sum(-1).mean().item(), rel=1e-3)
    way = torch.linalg.svd(slopes)[2][0]
    way = way * torch.sign(way @ slopes.mean(0))
    picture = way.view(SHAPE).sum(0).flatten()
    assert dense["directions"][1][2] == pytest.approx((127 * picture / picture.abs().max()).tolist(), abs=0.51)
    assert dense["units"]["rank"] == [6, 6]


def test_the_direction_by_grey_values_is_that_of_a_network_of_one_channel(grey):
    nets = ReLUNet.random((192, 6, 10), batch=1, seed=1)
    small = ReLUNet([nets.weights[0].unflatten(-1, (3, -1)).sum(-2), nets.weights[1]], nets.biases)
    alone = run.Inputs.of(grey.x[:, :64], grey.y, (1, 8, 8))
    found, expected = (run.look(n, g)["explained"] for n, g in ((nets, grey), (small, alone)))
    assert found["grey"] == [pytest.approx(expected["active"][0], abs=1e-3)]


def test_a_linear_network_is_explained_by_each_of_its_directions(coloured):
    found = run.look(ReLUNet.random((192, 10), batch=3, seed=2), coloured)
    for name in ("active", "data", "mean"):
        assert np.array(found["explained"][name]) == pytest.approx(np.ones((3, 10)), abs=1e-4)
    assert np.array(found["line"]) == pytest.approx(np.ones((3, 10)))
    assert max(np.ravel(found["explained"]["random"])) < 0.9
    assert found["rank"] == [[1] * 10, [1] * 3, [1] * 3]
    assert len(found["alike"]) == 3
    assert "grey" not in found["explained"]


def test_a_convolutional_network_has_curves_and_templates(coloured):
    nets = [random((4,), shape=SHAPE, seed=seed, dtype=torch.float32) for seed in (3, 4)]
    found = run.look(nets, coloured)
    assert np.array(found["directions"]).shape == (2, 10, 192)
    assert np.array(found["curve"]["at"]).shape == (10, run.BINS)
    assert (np.array(found["curve"]["low"]) <= np.array(found["curve"]["high"])).all()
    means = np.stack([coloured.x.numpy()[coloured.y == k].mean(0) for k in range(10)])
    own = means[3] - (means.sum(0) - means[3]) / 9
    way = np.array(found["directions"][0][5])
    expected = way @ own / np.linalg.norm(way) / np.linalg.norm(own)
    assert found["template"][0][5][3] == pytest.approx(expected, abs=0.02)
    assert "units" not in found


def test_decay_is_read_off_the_corners(grey):
    weights = torch.ones(1, 6, 192) + 0.3 * ReLUNet.random((192, 6), seed=4, dtype=torch.float32).weights[0]
    nets = ReLUNet([weights, torch.ones(1, 10, 6)], [torch.zeros(1, 6), torch.zeros(1, 10)])
    assert run.look(nets, grey)["corner"][0] == pytest.approx(0.3, abs=0.03)


def test_the_stored_run_has_every_cell_and_the_rank_of_gradients_is_that_of_patterns():
    rows = stored("image_directions").rows
    assert [row.cell for row in rows] == run.cells()
    for row in rows:
        if row.cell["kind"] == "dense":
            ranks = [np.array(r) for r in row["rank"]]
            assert all((0 <= p - r).all() and (p - r <= 1).all() for p, r in zip(row["units"]["rank"], ranks))
        if row.cell["kind"] == "linear":
            assert {int(r) for each in row["rank"] for r in each} == {1}


def test_a_glance_at_all_images_finds_what_the_look_finds(dense, grey):
    nets = ReLUNet.random((192, 6, 10), batch=2, seed=1, dtype=torch.float32)
    found = run.glance(nets, grey.x, grey.y, count=len(grey.x))
    assert found["top"][..., :4].numpy() == pytest.approx(np.array(dense["top"]), rel=1e-3)
    assert found["roughness"].numpy() == pytest.approx(np.array(dense["roughness"]), rel=1e-3)
    assert found["template"].numpy() == pytest.approx(np.array(dense["template"]), abs=1e-3)
    alone = run.glance(nets[1], grey.x, grey.y, count=20)
    assert alone["top"].shape == (10, 20)
    assert alone["template"].shape == (10, 10)


def test_the_direction_for_the_data_knows_how_far_inputs_move():
    """4 |x_0| + |x_1| where x_0 hardly moves: the gradient is larger in one direction, the output varies with the other."""
    net = ReLUNet([[[4.0, 0], [-4, 0], [0, 1], [0, -1]], [[1, 1, 1, 1]]], [[0] * 4, [0]])
    quarter = np.abs(np.random.default_rng(3).normal(size=(500, 2))) * [0.1, 10.0]
    x = torch.as_tensor(np.concatenate([quarter * signs for signs in ([1, 1], [-1, 1], [1, -1], [-1, -1])]))
    x = x[torch.randperm(2000, generator=torch.Generator().manual_seed(0))]
    found = s.moments([net.jacobian(x)])
    plain, weighted = s.directions(found)[0], run.directions_for_data(found, run.root(torch.cov(x.T)))[0]
    assert plain.abs().tolist() == pytest.approx([1, 0], abs=1e-9)
    assert weighted.abs().tolist() == pytest.approx([0, 1], abs=1e-9)
    f = net(x)[:, 0]
    assert s.explained(x @ weighted, f) > 0.95
    assert s.explained(x @ plain, f) < 0.1
    root = run.root(torch.cov(x.T))
    assert torch.allclose(root @ root, torch.cov(x.T), rtol=1e-10)
    product = found.second[0] @ torch.cov(x.T) @ weighted  # an eigenvector of E[g g^T] Cov
    assert torch.allclose(product / product.norm(), weighted, atol=1e-8)
