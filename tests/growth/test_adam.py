"""Adam for growing networks against torch's own Adam and autograd, with new neurons as parameters of their own."""

import pytest
import torch

from foldnet.growth.adam import Adam, gradient
from foldnet.growth.methods import loss
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet


def problem(out):
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(3, 30, 2, generator=rng, dtype=torch.float64)
    label = torch.randint(max(out, 2), (3, 30), generator=rng)
    y = label.double().unsqueeze(-1) if out == 1 else torch.nn.functional.one_hot(label, out).double()
    return ReLUNet.random((2, 4, out), batch=3, seed=1), x, y


@pytest.mark.parametrize("out", [1, 3])
def test_the_gradient_by_hand_is_autograds(out):
    nets, x, y = problem(out)
    vector = nets.vector().requires_grad_()
    (expected,) = torch.autograd.grad(loss(nets.with_vector(vector), x, y).sum(), vector)
    assert torch.allclose(gradient(nets, x, y), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("out", [1, 3])
def test_training_and_growth_follow_torchs_adam(out):
    nets, x, y = problem(out)
    adam = Adam(nets, 0.02)
    trained = adam.train(nets, x, y, 50)
    incoming, bias, outgoing = (torch.full(s, 0.3, dtype=torch.float64) for s in ((2, 2), (2,), (out, 2)))
    incoming[0] *= -1
    trained = widen(trained, 0, incoming, bias, outgoing)
    adam.grow(2)
    trained = adam.train(trained, x, y, 50)

    for i in range(3):
        old = [p.clone().requires_grad_() for p in (*nets[i].weights, *nets[i].biases)]
        new = [p.clone().requires_grad_() for p in (incoming, bias, outgoing)]
        judge = torch.optim.Adam(old, lr=0.02)

        def run(steps, judge=judge, old=old, new=new, i=i, grown=False):
            for _ in range(steps):
                judge.zero_grad()
                hidden = x[i] @ old[0].mT + old[2]
                z = torch.relu(hidden) @ old[1].mT + old[3]
                if grown:
                    z = z + torch.relu(x[i] @ new[0].mT + new[1]) @ new[2].mT
                if out == 1:
                    value = torch.nn.functional.binary_cross_entropy_with_logits(z, y[i])
                else:
                    value = torch.nn.functional.cross_entropy(z, y[i])
                value.backward()
                judge.step()

        run(50)
        judge.add_param_group({"params": new})
        run(50, grown=True)
        expected = (torch.cat([old[0], new[0]]), torch.cat([old[1], new[2]], 1), torch.cat([old[2], new[1]]), old[3])
        given = (*trained[i].weights, *trained[i].biases)
        assert all(torch.allclose(a, b, rtol=1e-8, atol=1e-10) for a, b in zip(given, expected))


def test_the_networks_given_are_not_changed():
    nets, x, y = problem(1)
    before = nets.vector().clone()
    Adam(nets, 0.1).train(nets, x, y, 3)
    assert torch.equal(nets.vector(), before)
