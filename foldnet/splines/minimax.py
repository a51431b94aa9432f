"""Two players, one function: x makes f(x, y) small, y makes it large, and both move at once. (splines/gans)

Simultaneous gradient descent moves each player by its own gradient. Follow-the-Ridge (Wang, Zhang and Ba, 2020) adds to the
second player's step what keeps it on the ridge of f while the first one moves. RMSprop scales either step, parameter by
parameter. The functions here serve games of any size; `splines/gans.py` has products with second derivatives
for two networks.

>>> from foldnet.splines.minimax import is_local_minimax, play
>>> import torch
>>> f = lambda x, y: (-1.5 * x * x + 4 * x * y - 0.5 * y * y).sum()  # no point of rest for x alone, but minimax at 0
>>> is_local_minimax(f, torch.zeros(1), torch.zeros(1))
True
>>> [bool(abs(play(f, 1.0, 1.0, lr=0.02, steps=400, ridge=ridge)[0][-1]) < 0.01) for ridge in (True, False)]
[True, False]
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Value = Callable[[Tensor, Tensor], Tensor]
DECAY, TINY = 0.999, 1e-8  # of RMSprop's average, and what keeps its quotient finite


def gradients(f: Value, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Those of f by x and by y."""
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    by_x, by_y = torch.autograd.grad(f(x, y), (x, y), allow_unused=True, materialize_grads=True)
    return by_x, by_y


def second_derivatives(f: Value, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """H_xx, H_yx and H_yy of f at a point x `(n,)`, y `(m,)`, as matrices."""
    x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
    first = torch.autograd.grad(f(x, y), (x, y), create_graph=True)
    rows = lambda g, by: [_row(e, by) for e in g]  # noqa: E731
    return tuple(torch.stack(rows(g, by)) for g, by in ((first[0], x), (first[1], x), (first[1], y)))  # ty: ignore[invalid-return-type]


def _row(entry: Tensor, by: Tensor) -> Tensor:
    if not entry.requires_grad:
        return torch.zeros_like(by)
    return torch.autograd.grad(entry, by, retain_graph=True, allow_unused=True, materialize_grads=True)[0]


def curvature(f: Value, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues of H_yy, and of H_xx - H_xy inv(H_yy) H_yx: how f bends for y alone, and for x when y answers."""
    xx, yx, yy = second_derivatives(f, x, y)
    return torch.linalg.eigvalsh(yy), torch.linalg.eigvalsh(xx - yx.mT @ torch.linalg.solve(yy, yx))


def is_local_minimax(f: Value, x: Tensor, y: Tensor, tol: float = 1e-6) -> bool:
    """Whether the gradient vanishes (up to `tol`), y sits on a maximum, and x on a minimum of what y's answer leaves."""
    still = max(float(g.abs().max()) for g in gradients(f, x, y)) <= tol
    alone = torch.linalg.eigvalsh(second_derivatives(f, x, y)[2])  # first: where one of them is 0, y has no single answer
    return still and bool((alone < 0).all()) and bool((curvature(f, x, y)[1] > 0).all())


def ridge_correction(f: Value, x: Tensor, y: Tensor, direction: Tensor, damping: float = 0.0) -> Tensor:
    """What y has to move by so that its gradient stays as it is while x moves by -direction: inv(H_yy) H_yx direction.

    With damping, inv(H_yy - damping): where y sits on a maximum, all eigenvalues move away from 0.
    """
    _, yx, yy = second_derivatives(f, x, y)
    return torch.linalg.solve(yy - damping * torch.eye(len(yy), dtype=yy.dtype), yx @ direction)


def damped_solve(product: Callable[[Tensor], Tensor], b: Tensor, damping: float, rounds: int, guarded: bool = False) -> Tensor:
    """inv(H - damping) b by so many rounds of conjugate gradients, for symmetric H given by `product`; `b` is `(*batch, n)`.

    Nothing makes sure that damping - H is positive. A round that finds a direction without curvature is the last one; guarded,
    also one that finds negative curvature.
    """
    dot = lambda u, v: (u * v).sum(-1, keepdim=True)  # noqa: E731
    x, r, p, size = torch.zeros_like(b), b, b, dot(b, b)
    going = torch.ones_like(size, dtype=torch.bool)
    for _ in range(rounds):
        image = product(p).add(p, alpha=-damping)
        along = dot(p, image)
        going = going & ((along < 0) if guarded else (along != 0))
        step = torch.where(going, size / along, 0.0)
        x, r = torch.addcmul(x, step, p), torch.addcmul(r, step, image, value=-1)
        before, size = size, dot(r, r)
        p = torch.addcmul(r, torch.where(before == 0, 0.0, size / before), p)
    return x


def precondition(gradient: Tensor, square: Tensor, count: Tensor | float, decay: float = DECAY) -> Tensor:
    """RMSprop: `gradient` over the root of its mean square. Updates `square` in place; `count` steps have been averaged with
    this one, and the average starts at 0, which is divided out."""
    square.mul_(decay).addcmul_(gradient, gradient, value=1 - decay)
    return gradient / ((square / (1 - decay**count)).sqrt() + TINY)


def play(
    f: Value, x, y, lr: float | tuple[float, float], steps: int, ridge: bool = False, rmsprop: bool = False, damping: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The paths of both players, `(steps + 1, n)` each, from x, y with rates `lr` (one, or one each); for small games.

    `ridge` adds the correction of Follow-the-Ridge, `rmsprop` scales both gradients, before the correction is computed.
    """
    x, y = (torch.atleast_1d(torch.as_tensor(v, dtype=torch.float64)) for v in (x, y))
    rate_x, rate_y = lr if isinstance(lr, tuple) else (lr, lr)
    squares = [torch.zeros_like(x), torch.zeros_like(y)]
    path = [(x, y)]
    for t in range(1, steps + 1):
        down, up = gradients(f, x, y)
        if rmsprop:
            down, up = (precondition(g, s, t) for g, s in zip((down, up), squares))
        move = rate_y * up
        if ridge:
            move = move + rate_x * ridge_correction(f, x, y, down, damping)
        x, y = x - rate_x * down, y + move
        path.append((x, y))
    xs, ys = zip(*path)
    return torch.stack(xs), torch.stack(ys)
