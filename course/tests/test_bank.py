"""The bank of short questions: every story has some, every answer is found a second way, and a seed is a test."""

import math
import re
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.stats import cauchy
from torch import nn

from course import bank, quiz
from course.make import CourseError
from course.source import ROOT
from foldbook import plan
from foldnet.boolean import functions
from foldnet.boolean.functions import corners
from foldnet.boolean.perceptron import train_perceptron
from foldnet.boolean.swaps import swaps
from foldnet.geometry.regions import SQUARE, decision, regions
from foldnet.geometry.vision import affine_at
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import of


def kinks(f, ends=20) -> tuple[np.ndarray, np.ndarray]:
    """Where a chain of straight lines with its bends at multiples of a half bends, and by how much: second differences."""
    x = np.arange(-ends, ends + 0.25, 0.5)
    jumps = np.diff(f(x), 2) / 0.5
    return x[1:-1][np.abs(jumps) > 1e-9], jumps[np.abs(jumps) > 1e-9]


def flow(x, r, w, v, beta) -> tuple[float, float]:
    """Speeds of breakpoint and delta-slope, by automatic differentiation of the loss in the weights."""
    weights = torch.tensor([w, -beta * w, v], dtype=torch.float64, requires_grad=True)
    x, r = torch.tensor(x, dtype=torch.float64), torch.tensor(r, dtype=torch.float64)
    outputs = weights[2] * (weights[0] * x + weights[1]).clamp(min=0)
    (0.5 * (r + outputs.detach() - outputs).square().sum()).backward()
    dw, db, dv = (-weights.grad).tolist()
    return -(db * w + beta * w * dw) / w**2, dv * abs(w) + v * math.copysign(1, w) * dw


def hinges(w, b, v):
    return np.concatenate(kinks(lambda x: sum(c * np.maximum(a * x + d, 0) for a, d, c in zip(w, b, v))))


def crowd(sigma_w, sigma_b, end):
    law = cauchy(scale=sigma_b / sigma_w)
    return law.cdf(end) - law.cdf(-end)


def alone(cells, points):
    every = list(product(range(cells), repeat=points))
    return sum(len(set(one)) == points for one in every) / len(every)


def gain(x, r, beta):
    x, r = np.array(x), np.array(r)
    loss = lambda mu: 0.5 * np.sum((r - mu * np.maximum(x - beta, 0)) ** 2)  # noqa: E731
    return loss(0) - minimize_scalar(loss, tol=1e-12).fun


def smallest(near, far, y):
    return np.linalg.lstsq([[near, far]], [y], rcond=None)[0]


def faster(small, factor):
    x, r = [-2.0, 1.0, 3.0], [1.0, -2.0, 0.5]
    ratios = [math.prod((abs(a), 1 / abs(b))) for a, b in (flow(x, r, k * small, k * 0.7, 0.4) for k in (1, factor))]
    return ratios[0] / ratios[1]


def profile(profile):
    table = np.array(profile)[corners(len(profile) - 1, low=0).sum(1)]
    return swaps(table[None])[0]


def chain(x, y):
    x, y = np.array([x[0] - 1, *x], dtype=float), np.array([y[0], *y], dtype=float)
    places = x[:-1][np.abs(np.diff(np.r_[0, np.diff(y) / np.diff(x)])) > 1e-9]
    features = np.maximum(x[:, None] - places, 0)
    assert np.allclose(features @ np.linalg.lstsq(features, y - y[0], rcond=None)[0], y - y[0])
    without = [np.delete(features, k, axis=1) for k in range(len(places))]
    assert all(np.abs(f @ np.linalg.lstsq(f, y - y[0], rcond=None)[0] - y + y[0]).max() > 1e-6 for f in without)
    return len(places)


def steady(y, cut):
    columns = np.array([[n < cut, n >= cut] for n in range(len(y))], dtype=float)
    return np.linalg.lstsq(columns, np.array(y, dtype=float), rcond=None)[1].sum()


def foot(w, b, point):
    along = np.array([-w[1], w[0]]) / np.hypot(*w)
    start = -b * np.array(w) / np.dot(w, w)
    best = minimize_scalar(lambda t: np.sum((start + t * along - point) ** 2), tol=1e-12).x
    return start + best * along


def crease(w, b, v):
    """The least distance to a point where the neuron is neither on nor off, and the jump of its slope along the way there."""
    near = foot(w, b, [0.0, 0.0])
    along, ramp = np.array(w) / np.hypot(*w), lambda point: v * max(float(np.dot(w, point)) + b, 0.0)
    slopes = [(ramp(near + (t + 0.5) * along) - ramp(near + (t - 0.5) * along)) for t in (-1, 1)]
    return np.linalg.norm(near), slopes[1] - slopes[0]


def stairs(count, reach, spacing, steep):
    """The staircase drawn corner by corner, and the noise of each gap found by going back from sample to noise."""
    tread, rise = 0.3, spacing / steep
    at = np.cumsum([0.0] + [tread, rise] * (count - 1) + [tread])
    height = np.repeat(spacing * np.arange(count), 2).astype(float)
    back = lambda x, k: np.interp(x, height[2 * k + 1 : 2 * k + 3], at[2 * k + 1 : 2 * k + 3])  # noqa: E731
    lost = sum(back((k + 1) * spacing - reach, k) - back(k * spacing + reach, k) for k in range(count - 1))
    slopes = np.diff(height) / np.diff(at)
    return np.count_nonzero(np.diff(slopes)), lost / (count * spacing)


def answer(a, b, c):
    """The best answer by Newton's step, differences along it; and the speed where the largest real part changes its sign."""
    f = lambda x, y: a * x * x / 2 + b * x * y + c * y * y / 2  # noqa: E731
    best = lambda x: f(x, -b * x / c)  # noqa: E731
    growth = lambda r: np.linalg.eigvals(np.array([[-a, -b], [r * b, r * c]])).real.max()  # noqa: E731
    low, high = 1e-6, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if growth(middle) > 0 else (low, middle)
    return best(1) - 2 * best(0) + best(-1), low


def zigzag(widths):
    """The same zigzag, drawn point by point: its corners lie at multiples of one part of [0, 1]."""
    parts = math.prod(widths)
    y = np.arange(2 * parts + 1) / (2 * parts)
    for n in widths:
        y = np.abs((n * y + 1) % 2 - 1)
    pieces = 1 + int((np.abs(np.diff(y, 2)) > 1e-9).sum())
    return pieces, pieces - sum(widths)


def restless(ones):
    """Both influences from Fourier coefficients: the mean size of their sets."""
    f = np.isin(np.arange(8), ones).astype(int)
    sizes = functions.corners(3, low=0).sum(1)
    return [float((functions.fourier(g) ** 2 * sizes).sum()) for g in (f, f ^ functions.parity(3))]


def weights(first, second, more):
    sizes = [ReLUNet.random((784, k, second, 10)) for k in (first, first + more)]
    totals = [sum(p.numel() for p in (*net.weights, *net.biases)) for net in sizes]
    return totals[1] - totals[0]


def octahedron(n, size):
    """The shortest vector to a facet, by least squares, and the longest to a corner."""
    facet = np.linalg.lstsq(np.ones((1, n)), [float(size)], rcond=None)[0]
    return np.linalg.norm(facet), np.linalg.norm(size * np.eye(n), axis=1).max()


def hexagon(a, b, c, r):
    net = ReLUNet([[[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[float(a), float(b), float(c)]]], [[0.0] * 3, [-float(r)]])
    cut, inside = decision(regions(net, 20 * np.array(SQUARE)))
    return cut.areas[inside == 0].sum()


def piece(w, b, v, leak, point):
    net = ReLUNet([np.array(w, float), np.array([v], float)], [np.array(b, float), [0.0]], leak=leak)
    slope, offset = affine_at(net, [[float(k) for k in point]])
    return [*slope[0, 0].tolist(), float(offset[0, 0])]


def faces(net) -> tuple[int, int]:
    """All faces in a wide square, and those that do not touch its sides."""
    c = regions(net, 1000 * np.array(SQUARE))
    return len(c), len(c) - len(np.unique(c.edge_faces[c.layer < 0].max(1)))


def bundle(parallel, star):
    rows = [[1.0, 0.0, -1.0 - k] for k in range(parallel)] + [[1.0, 0.1 + k, 0.0] for k in range(star)]
    return faces(ReLUNet([np.array(rows)[:, :2], np.ones((1, len(rows)))], [np.array(rows)[:, 2], [0.0]]))[0]


def nested(lines, a, b):
    first, read = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [[-a, -a, -b, -b]] * lines
    weights = [np.array(first), np.array(read, float), np.ones((1, lines))]
    return faces(ReLUNet(weights, [np.zeros(4), np.arange(1.0, lines + 1), np.zeros(1)]))


def tickets(width, pruned):
    sizes = [sum(mask) for mask in product((0, 1), repeat=width)]
    return sizes.count(pruned), sum(1 <= size <= pruned for size in sizes)


def valley(a, b, c):
    slopes = np.array([(a * x, b * y, c) for x in (-1, 1) for y in (-1, 1) for _ in (-1, 1)])
    return np.linalg.svd(slopes.T @ slopes / 8)[1]


def idle(neurons, never, always):
    on = np.random.default_rng(0).integers(0, 2, (200, neurons))
    on[:, :never], on[:, never : never + always] = 0, 1
    return [np.linalg.matrix_rank(on)]


def translated(slopes, constants):
    target, source = np.stack([slopes, constants], 1).astype(float), np.array([[2.0, -3.0]] * 4)
    return (source @ np.linalg.lstsq(source, target, rcond=None)[0])[0]


def unsure(sure, answers):
    p = np.array([sure / 10] + [(1 - sure / 10) / (answers - 1)] * (answers - 1))
    return -(p * np.log2(np.full(answers, 1 / answers))).sum()


def choices(side, channels, layers):
    sizes = pairwise([1] + [channels] * layers)
    parts = [part for size in sizes for part in (nn.Conv2d(*size, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
    found = len(of(nn.Sequential(*parts), (1, side, side)).pattern(np.ones((1, side, side))))
    return found * 4 / 5, found / 5


def in_force(patch, v):
    slope = lambda way: slope_at_zero(lambda h: v * max(max(a + h * w for a, w in zip(patch, way)), 0.0))  # noqa: E731
    return slope((1, 0, 0, 0)), slope((1, 1, 1, 1))


def slope_at_zero(f, h: float = 1e-6) -> float:
    """The slope at 0 of a function that is straight around it."""
    return (f(h) - f(-h)) / (2 * h)


TWINS = {
    "valley": valley,
    "idle": idle,
    "translated": translated,
    "unsure": unsure,
    "tickets": tickets,
    "choices": choices,
    "in_force": in_force,
    "octahedron": octahedron,
    "hexagon": hexagon,
    "piece": piece,
    "bundle": bundle,
    "nested": nested,
    "largest": lambda slopes, offsets: kinks(lambda x: np.max(np.outer(x, slopes) + offsets, axis=1))[0],
    "stairs": stairs,
    "answer": answer,
    "crease": crease,
    "zigzag": zigzag,
    "restless": restless,
    "turned": lambda x, t: train_perceptron(x, t, most_passes=1).weights[-1],
    "hinges": hinges,
    "crowd": crowd,
    "alone": alone,
    "gain": gain,
    "smallest": smallest,
    "faster": faster,
    "profile": profile,
    "chain": chain,
    "steady": steady,
    "foot": foot,
    "weights": weights,
    "speed": lambda x, r, w, v, beta: flow(x, r, w, v, beta)[0],
    "creases": lambda a, b: kinks(lambda x: np.abs(np.abs(np.abs(x) - a) - b))[0],
    "lack": lambda x, wish: np.linalg.lstsq(np.array(x, float)[:, None], np.array(wish, float), rcond=None)[1].sum(),
    "work": lambda widths: sum(widths[k] for k in range(len(widths))) / sum(widths[-1] for _ in widths),
}


@pytest.mark.parametrize("kind", [kind for kinds in bank.BANK.values() for kind in kinds], ids=lambda kind: kind.__name__)
def test_each_answer_is_found_a_second_way(kind):
    texts = set()
    for seed in range(12):
        question = kind(np.random.default_rng(seed))
        found = np.atleast_1d(np.asarray(TWINS[kind.__name__](**question.given), dtype=float))
        assert found == pytest.approx([float(value) for value in question.answer], rel=1e-6, abs=1e-6), question
        texts.add(question.text)
    assert len(texts) >= 6, "other seeds, other numbers"


def test_every_story_has_questions():
    assert set(bank.BANK) == {name for name, chapter in plan.chapters().items() if chapter.pages(ROOT / "book")}


def test_a_seed_is_a_test_and_the_key_is_apart(tmp_path, capsys):
    drawn = quiz.draw(5, 6)
    assert drawn == quiz.draw(5, 6)
    assert quiz.pages(5, drawn)[0] != quiz.pages(5, quiz.draw(6, 6))[0]
    assert {chapter for chapter, _ in quiz.draw(1, 2, ["growth/race", "growth/mnist"])} == {"growth/race", "growth/mnist"}
    assert quiz.main(["--seed", "5", "--out", str(tmp_path)]) == 0
    test, key = ((tmp_path / f"{name}-5.md").read_text() for name in ("quiz", "key"))
    assert all(question.text in test and question.text not in key for _, question in drawn)
    assert all(quiz.number(question.answer[0]) in key for _, question in drawn)
    with pytest.raises(CourseError, match="nothing on splines/none; there are splines/breakpoints"):
        quiz.draw(1, 3, ["splines/none"])
    assert quiz.main(["--count", "99"]) == 1
    assert "COUNT is 99" in capsys.readouterr().err


def test_the_guides_own_example_works():
    text = (ROOT / "book/assignments/instructor.md").read_text(encoding="utf-8")
    seed, count, chapters = re.search(r'^make quiz SEED=(\d+) COUNT=(\d+) CHAPTERS="(.+)"$', text, re.MULTILINE).groups()
    assert len(quiz.draw(int(seed), int(count), chapters.split())) == int(count)


@pytest.mark.parametrize(("name", "weeks"), quiz.EXAMS.items())
def test_an_exam_asks_the_same_of_everybody_with_other_numbers(name, weeks):
    """One question on each story, of the same kind on each paper, none twice, and another answer than the neighbour's."""
    papers = quiz.exam(3, 4, weeks)
    assert [[story for story, _ in paper] for paper in papers] == [quiz.stories(weeks)] * 4
    assert len(quiz.stories(weeks)) == 2 * len(weeks)
    for row in zip(*papers):
        assert len({tuple(question.given) for _, question in row}) == 1  # the same kind draws the same things
        assert len({question.text for _, question in row}) == 4
        assert all(one.answer != other.answer for (_, one), (_, other) in pairwise(row))
    assert quiz.exam(3, 4, weeks)[2] == papers[2]
    assert quiz.exam(4, 4, weeks)[2] != papers[2]


def test_the_papers_and_the_key_of_an_exam(tmp_path, capsys):
    assert quiz.main(["--exam", "midterm", "--papers", "3", "--seed", "5", "--out", str(tmp_path)]) == 0
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert sorted(texts) == ["midterm-A.md", "midterm-B.md", "midterm-C.md", "midterm-key.md"]
    for letter, paper in zip("ABC", quiz.exam(5, 3, quiz.EXAMS["midterm"])):
        assert "8 questions, 4 points each, 64 minutes" in texts[f"midterm-{letter}.md"]
        for _, question in paper:
            assert question.text in texts[f"midterm-{letter}.md"]
            assert f"- {letter}: {', '.join(map(quiz.number, question.answer))}\n" in texts["midterm-key.md"]
    assert quiz.main(["--exam", "final", "--papers", "27"]) == 1
    assert "1 to 26 papers" in capsys.readouterr().err
