"""What `python -m tools.mutants` found untested in foldnet.piecewise: each test fails where one place of it is changed."""

import pytest
import torch
from torch import nn

from foldnet import plots
from foldnet.nets import ReLUNet
from foldnet.piecewise import _search
from foldnet.piecewise._checked import NotPiecewiseLinear
from foldnet.piecewise.compare import compare
from foldnet.piecewise.net import of

DOUBLE = torch.float64


def test_pieces_are_found_portion_by_portion_as_all_at_once(monkeypatch):
    net = of(ReLUNet.random((2, 8, 1), seed=0).to_sequential().to(DOUBLE))
    whole = net.cells([0.1, 0.2])
    monkeypatch.setattr(_search, "AT_ONCE", 3)
    parts = net.cells([0.1, 0.2])
    assert [c.pattern.tobytes() for c in parts.pieces] == [c.pattern.tobytes() for c in whole.pieces]
    assert (parts.pairs == whole.pairs).all()
    bounded = sum(piece.bounded for piece in whole.pieces)
    assert f"{len(whole)} pieces, {len(whole.pairs)} pairs of neighbours, {bounded} bounded" in repr(whole)


@pytest.mark.parametrize(("origin", "axes"), [(3, 2), (2, 3)])
def test_a_plane_has_an_origin_and_axes_of_the_shape_of_an_input(origin, axes):
    net = of(ReLUNet.random((2, 4, 1), seed=0).to_sequential().to(DOUBLE))
    with pytest.raises(ValueError, match="origin and axes have the shape of an input"):
        net.plane(torch.zeros(origin), torch.ones(axes), torch.ones(axes))


def test_a_plane_has_a_finite_origin_in_all_its_numbers():
    net = of(ReLUNet.random((2, 4, 1), seed=0).to_sequential().to(DOUBLE))
    with pytest.raises(ValueError, match="origin and axes of a plane are finite"):
        net.plane([0.0, torch.nan], [1.0, 0.0], [0.0, 1.0])


def test_a_window_that_reaches_past_the_edge_reads_no_pixel_for_it():
    """Of three pixels the windows are (-, 1), (0, 2), (1, -): there is one crease, where the first is the third."""
    net = of(nn.Sequential(nn.MaxPool1d(2, 1, padding=1, dilation=2), nn.Flatten()).to(DOUBLE), input_shape=(1, 3))
    assert net.margin(torch.tensor([[0.0, 1.0, 1.5]], dtype=DOUBLE)) == pytest.approx(1.5 / 2**0.5)


class Rrelu(nn.Module):
    def forward(self, x):
        return nn.functional.rrelu(x)


def test_a_functional_rrelu_has_torchs_own_slope():
    net = of(Rrelu().to(DOUBLE), input_shape=(2,))
    assert net.line([-1.0, 1.0], [1.0, 2.0]).t.tolist() == [0.0, 0.5, 1.0]
    torch.testing.assert_close(net.affine([-1.0, 1.0]).matrix.diagonal(), torch.tensor([(1 / 8 + 1 / 3) / 2, 1.0]).to(net.dtype))


class Mean(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.mean(self.dims)


def convolutional(*between: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), *between, nn.Linear(3, 2)).to(DOUBLE)


def images() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(40, 1, 5, 5, generator=torch.Generator().manual_seed(0), dtype=DOUBLE), torch.arange(40) % 2


def test_two_activations_in_a_row_are_one_whose_slopes_are_the_products():
    x, y = images()
    end = nn.Conv2d(3, 3, 3), nn.Flatten()
    two, one = (convolutional(*acts, *end) for acts in ((nn.LeakyReLU(0.5), nn.LeakyReLU(0.2)), (nn.LeakyReLU(0.1),)))
    found = [of(model, input_shape=(1, 5, 5)).wrong(x, y, layer="0").neurons for model in (two, one)]
    for part in ("incoming", "gain", "joint_gain", "singular_values"):
        torch.testing.assert_close(getattr(found[0], part), getattr(found[1], part))
    assert found[0].gain > 0


def test_a_mean_grows_only_where_it_is_over_all_pixels():
    x, y = images()
    rows = convolutional(nn.ReLU(), Mean(2), nn.Flatten())
    rows[-1] = nn.Linear(9, 2).to(DOUBLE)
    with pytest.raises(ValueError, match="comes before the next layer"):
        of(rows, input_shape=(1, 5, 5)).wrong(x, y, layer="0")


def test_what_is_said_of_two_networks_is_the_average_over_points_and_outputs():
    one, two = nn.Linear(2, 2).to(DOUBLE), nn.Linear(2, 2).to(DOUBLE)
    two.load_state_dict({"weight": one.weight.detach(), "bias": one.bias.detach() + 0.25})
    assert "outputs differ by 0.25 on average" in repr(
        compare(of(one, input_shape=(2,)), of(two, input_shape=(2,)), torch.zeros(3, 2, dtype=DOUBLE))
    )


def test_the_picture_of_two_images_has_colours_for_the_largest_slope():
    modules = [nn.Sequential(nn.Flatten(), nn.Linear(4, 1)).to(DOUBLE) for _ in range(2)]
    for module, slope in zip(modules, (1.0, 3.0)):
        module[1].weight.data = slope * torch.tensor([[1.0, -1.0, 0.5, 0.0]], dtype=DOUBLE)
    _, ax = plots.subplots()
    compare(*(of(module, input_shape=(1, 2, 2)) for module in modules), torch.zeros(1, 1, 2, 2, dtype=DOUBLE)).draw(ax)
    assert ax.images[0].get_clim() == (-3.0, 3.0)


class Dropout(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5)


def test_a_dropout_that_drops_in_eval_mode_is_refused():
    with pytest.raises(NotPiecewiseLinear):
        of(nn.Sequential(nn.Linear(2, 2), Dropout()).eval().to(DOUBLE))


def test_what_is_wanted_behind_a_max_pooling_is_spread_over_its_window():
    x, y = torch.randn(40, 1, 6, 6, generator=torch.Generator().manual_seed(0), dtype=DOUBLE), torch.arange(40) % 2
    model = convolutional(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    model[-1] = nn.Linear(12, 2).to(DOUBLE)
    way = of(model, input_shape=(1, 6, 6)).wrong(x, y, layer="0").way
    spread = way.late(torch.ones(1, 1, 2, 2, dtype=DOUBLE), torch.zeros(1, 1, 4, 4, dtype=DOUBLE))
    torch.testing.assert_close(spread, torch.full_like(spread, 0.25))
