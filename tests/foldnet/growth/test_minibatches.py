"""Training with all points in every step against torch's own Adam, with new neurons as parameters of their own."""

import pytest
import torch

from foldnet.growth.minibatches import Training
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet


def problem(out, leak=0.0):
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(3, 30, 2, generator=rng, dtype=torch.float64)
    label = torch.randint(max(out, 2), (3, 30), generator=rng)
    y = label.double().unsqueeze(-1) if out == 1 else torch.nn.functional.one_hot(label, out).double()
    return ReLUNet.random((2, 4, out), batch=3, leak=leak, seed=1), x, y


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("out", [1, 3])
def test_training_and_growth_follow_torchs_adam(out, leak):
    nets, x, y = problem(out, leak)
    training = Training(nets, x, y, loss="bce" if nets.sizes[-1] == 1 else "cross_entropy", lr=0.02, batch_size=None)
    training.train(50)
    incoming, bias, outgoing = (torch.full(s, 0.3, dtype=torch.float64) for s in ((2, 2), (2,), (out, 2)))
    incoming[0] *= -1
    training.become(widen(training.net, 0, incoming, bias, outgoing))
    training.train(50)

    for i in range(3):
        old = [p.clone().requires_grad_() for p in (*nets[i].weights, *nets[i].biases)]
        new = [p.clone().requires_grad_() for p in (incoming, bias, outgoing)]
        judge = torch.optim.Adam(old, lr=0.02)
        bend = torch.nn.LeakyReLU(leak)

        def run(steps, judge=judge, old=old, new=new, bend=bend, i=i, grown=False):
            for _ in range(steps):
                judge.zero_grad()
                z = bend(x[i] @ old[0].mT + old[2]) @ old[1].mT + old[3]
                if grown:
                    z = z + bend(x[i] @ new[0].mT + new[1]) @ new[2].mT
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
        given = (*training.net[i].weights, *training.net[i].biases)
        assert all(torch.allclose(a, b, rtol=1e-8, atol=1e-10) for a, b in zip(given, expected))


def test_the_networks_given_are_not_changed():
    nets, x, y = problem(1)
    before = nets.vector().clone()
    Training(nets, x, y, loss="bce", lr=0.1, batch_size=None).train(3)
    assert torch.equal(nets.vector(), before)


def test_a_loss_of_ones_own_and_empty_minibatches_are_refused():
    nets, x, y = problem(3)
    with pytest.raises(ValueError, match="loss is one of 'mse'"):
        Training(nets, x, y, loss=lambda outputs, y: (outputs - y).abs().sum(-1))
    with pytest.raises(ValueError, match="1 to 30 points here; got 0"):
        Training(nets, x, y, batch_size=0)


def test_points_of_its_own_go_to_each_network():
    """Minibatches of data that differ from network to network: each trains as it would alone."""
    nets, x, y = problem(3)
    together = Training(nets, x, y, lr=0.02, batch_size=7)
    together.train(9)
    for i in range(3):
        alone = Training(nets[i : i + 1], x[i], y[i], lr=0.02, batch_size=7, seeds=[i])
        alone.train(9)
        assert torch.allclose(alone.net.vector()[0], together.net.vector()[i], rtol=0, atol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("batch_size", [None, 7])
def test_on_cuda_the_captured_step_is_the_step(batch_size):
    """Through a growth, after which the step is captured anew."""
    nets, x, y = problem(3, 0.1)
    done = []
    for where in ("cpu", "cuda"):
        training = Training(nets.to(where), x, y, lr=0.02, batch_size=batch_size)
        training.train(20)
        training.become(widen(training.net, 0, torch.full((1, 2), 0.3), torch.zeros(1), torch.full((3, 1), 0.3)))
        training.train(20)
        done.append(training.net.vector().cpu())
    assert torch.allclose(*done, rtol=1e-9, atol=1e-10)
