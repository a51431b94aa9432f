"""A network as text and back, to the last bit, and what is no network."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch import nn

from foldnet.nets import ReLUNet
from foldnet.piecewise.net import of
from foldnet.piecewise.text import from_json, to_json


@given(
    some.lists(some.integers(1, 4), min_size=2, max_size=5), some.sampled_from((0.0, 0.1)), some.booleans(), some.integers(0, 99)
)
def test_what_is_written_is_read_back_to_the_last_bit(sizes, leak, single, seed):
    dense = ReLUNet.random(tuple(sizes), leak=leak, seed=seed, dtype=torch.float32 if single else torch.float64)
    back = from_json(of(dense.to_sequential(), input_shape=(sizes[0],)).to_json())
    assert back.leak == (leak if len(sizes) > 2 else 0.0)
    for a, b in zip([*dense.weights, *dense.biases], [*back.weights, *back.biases]):
        assert torch.equal(a.double(), b)


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Dropout(0.5))
        self.last = nn.Linear(3, 1)

    def forward(self, x):
        return self.last(self.body(x))


def test_a_module_of_ones_own_is_written_as_its_schema_says():
    model = Own()
    given = json.loads(of(model, input_shape=(2,)).to_json())
    assert list(given) == ["foldnet", "leak", "weights", "biases"]
    h = torch.relu(torch.tensor(given["weights"][0]) @ torch.tensor([1.0, -2.0]) + torch.tensor(given["biases"][0]))
    y = torch.tensor(given["weights"][1]) @ h + torch.tensor(given["biases"][1])
    assert torch.allclose(y, model.eval()(torch.tensor([[1.0, -2.0]]))[0])


def test_others_are_refused():
    skip = nn.Sequential(nn.Linear(2, 2), nn.Hardtanh(), nn.Linear(2, 1))
    with pytest.raises(ValueError, match="only dense networks are written"):
        of(skip).to_json()
    with pytest.raises(ValueError, match="at most 100,000"):
        to_json(ReLUNet.random((400, 400, 1)))
    good = json.loads(to_json(ReLUNet.random((2, 2, 1))))
    for change, words in (
        ({"foldnet": 2}, "has the keys"),
        ({"weights": [[[1.0]]]}, "has the keys"),
        ({"leak": "much"}, "has the keys"),
        ({"biases": [[float("inf"), 0.0], [0.0]]}, "finite"),
        ({"extra": 1}, "has the keys"),
    ):
        with pytest.raises(ValueError, match=words):
            from_json(json.dumps({**good, **change}))
    for text in ("nonsense", "[1]"):
        with pytest.raises(ValueError, match=r"no JSON|has the keys"):
            from_json(text)


def test_a_module_with_a_step_beside_the_way_is_no_chain():
    """It was written, and cut into pieces, as if each layer read the one before."""

    class Beside(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.middle, self.last = nn.Linear(2, 5), nn.Linear(5, 5), nn.Linear(5, 1)

        def forward(self, x):
            h = self.first(x)
            torch.relu(h)  # which nothing reads
            return self.last(torch.relu(self.middle(h)))

    torch.manual_seed(0)
    net = of(Beside().double())
    assert net.dense is None
    with pytest.raises(ValueError, match="one after the other"):
        net.to_json()
    assert len(net.regions(window=1e4)) == len(net.cells(torch.tensor([0.1, 0.2])))
