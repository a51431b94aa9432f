"""Pictures of a complex: what is painted is what the network says there, looked up in the drawn picture."""

import numpy as np
import pytest
import torch

from foldnet import plots
from foldnet.geometry.draw import PALETTE, draw, face_colours, zero_set
from foldnet.geometry.regions import boundary, regions
from foldnet.nets import ReLUNet

RAW = ReLUNet.random((2, 7, 6, 1), seed=4)
MIDDLE = RAW(torch.rand(500, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1).median()
NET = RAW.with_layers(RAW.weights, [*RAW.biases[:-1], RAW.biases[-1] - MIDDLE])  # both classes are in the window


def pixels(c, **how):
    """The drawn axes as an array (400, 400, 3) of the square [-1, 1]^2, the first row at the top."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4, 4), dpi=100)
    ax = fig.add_axes((0, 0, 1, 1))
    ax.axis("off")
    lines = draw(c, ax, **how)
    canvas = FigureCanvasAgg(fig)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3] / 255, lines


def at(picture, points):
    column, row = ((points * [1, -1] + 1) * 200).astype(int).clip(0, 399).T
    return picture[row, column]


def test_the_painted_class_is_the_networks():
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.99, 0.99, (3000, 2))
    value = NET(torch.as_tensor(points))[:, 0].numpy()
    clear = np.abs(value) > 0.05 * np.abs(value).max()  # pixels at the boundary are mixed
    picture, _ = pixels(regions(NET), faces="class", layers=False)
    seen = at(picture, points[clear])
    kinds = {}
    for colour, positive in zip(map(tuple, seen.round(2)), value[clear] > 0):
        kinds.setdefault(colour, set()).add(bool(positive))
    assert sorted(map(sorted, kinds.values())) == [[False], [True]]


def test_by_output_orange_is_positive_and_blue_negative():
    c = regions(NET)
    red, _, blue = face_colours(c, "output").T
    at_centre = NET(torch.as_tensor(c.centres))[:, 0].numpy()
    assert ((red > blue) == (at_centre > 0))[np.abs(at_centre) > 1e-9].all()
    steep = np.argsort(np.abs(at_centre))
    assert face_colours(c, "output")[steep[0]].min() > face_colours(c, "output")[steep[-1]].min()


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_never_share_a_tint_and_a_pattern_keeps_its_own(seed):
    net = ReLUNet.random((2, 9, 8, 8, 1), seed=seed)
    c = regions(net)
    tint = face_colours(c)
    left, right = c.neighbours.T
    assert (np.abs(tint[left] - tint[right]).max(1) > 0.02).all()
    assert len(np.unique(tint, axis=0)) <= len(PALETTE)
    moved = regions(net.with_vector(net.vector() * 1.001))
    known = {p.tobytes(): t for p, t in zip(c.pattern, tint)}
    shared = [(known[p.tobytes()], t) for p, t in zip(moved.pattern, face_colours(moved)) if p.tobytes() in known]
    assert len(shared) > 10
    assert all((old == new).all() for old, new in shared)


def test_faces_of_one_slope_have_one_colour_and_a_flat_one_is_white():
    net = ReLUNet([[[1.0, 0.0], [0.0, 1.0]], [[1.0, -2.0]]], [[0.0, 0.0], [0.0]])
    c = regions(net)
    tone = {tuple(p): colour for p, colour in zip(c.pattern.tolist(), face_colours(c, "map"))}
    assert np.allclose(tone[False, False], 1)
    assert tone[True, False][0] > tone[True, False][2]  # hue 0, red: the slope points along the first axis
    assert len({tuple(t) for t in tone.values()}) == 4


def test_creases_lie_where_the_neuron_vanishes_and_first_ones_are_straight():
    c = regions(NET)
    found = 0
    for layer, width in enumerate(NET.sizes[1:-1]):
        for neuron in range(width):
            for line in zero_set(c, layer, neuron):
                z = NET.preactivations(torch.as_tensor(line))[layer][:, neuron]
                assert z.abs().max() < 1e-9
                way = np.diff(line, axis=0)
                bent = np.abs(way[1:, 0] * way[:-1, 1] - way[1:, 1] * way[:-1, 0]).max(initial=0) > 1e-9
                assert not (layer == 0 and bent)
                found += bent
    assert found > 0
    length = sum(np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in zero_set(c, 1))
    ends = c.vertices[c.edges[c.layer == 1]]
    assert length == pytest.approx(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).sum())


def test_lines_are_returned_by_name_and_the_boundary_is_drawn_where_it_is():
    c = regions(NET)
    picture, lines = pixels(c, faces=None, boundary=True)
    assert list(lines) == ["layer 1", "layer 2", "boundary"]
    middle = np.concatenate([(line[1:] + line[:-1]) / 2 for line in boundary(c)])
    inside = np.abs(middle).max(1) < 0.98
    assert (at(picture, middle[inside]).max(1) < 0.6).mean() > 0.9  # dark, but for what another line crosses
    _, none = pixels(regions(ReLUNet([[[0.0, 1.0]], [[1.0]]], [[5.0], [1.0]])), boundary=True)
    assert list(none) == ["layer 1", "boundary"]


def test_a_thousand_faces_weigh_little():
    net = ReLUNet.random((2, 24, 24, 24, 1), seed=1)
    c = regions(net, [(-2, -2), (2, -2), (2, 2), (-2, 2)])
    assert len(c) > 1000
    fig, ax = plots.subplots(figsize=(5, 5))
    draw(c, ax)
    assert len(plots.image(fig, "a thousand faces")) < 250_000


@pytest.mark.parametrize(
    ("how", "sentence"),
    [("colour", "coloured by pattern"), (np.zeros((3, 3)), "shape"), ("map", "one output"), ("output", "one output")],
)
def test_what_cannot_be_painted_is_refused_in_a_sentence(how, sentence):
    with pytest.raises(ValueError, match=sentence):
        face_colours(regions(ReLUNet.random((2, 4, 3), seed=0)), how)
