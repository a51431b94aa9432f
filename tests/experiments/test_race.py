"""The race keeps to its protocol: budget, charges, pairing, seeds, and what is stored of it."""

import numpy as np
import pytest
import torch

from experiments import race, race_again
from foldbook.chapters.race import METHODS, Proposal
from foldbook.stored import Row, stored

TOY = "annulus"


def quick(method, seeds):
    """Growth after 60 evaluations instead of 300: the same course in a seventh of the steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(race, "EVERY", 60)
        patch.setattr(race, "MARK", 30)
        return race.race(TOY, method, 0.01, seeds, budget=420)


@pytest.fixture(scope="module")
def short():
    """All arms on three seeds."""
    return {method: quick(method, [0, 1, 2]) for method in race.ARMS}


def test_all_networks_end_with_the_same_number_of_parameters(short):
    ends = {method: done.nets[-1].parameter_count for method, done in short.items()}
    assert ends.pop("wide") == 64 * 4 + 1
    assert set(ends.values()) == {8 * 4 + 1}
    assert [net.sizes[1] for net in short["fold"].nets] == [2, 3, 4, 5, 6, 7, 8]


def test_growing_methods_share_data_and_the_first_network(short):
    first = {method: short[method].nets[0].vector() for method in METHODS}
    assert all(torch.equal(first["random"], other) for other in first.values())
    assert all(torch.equal(short["random"].data.train[0], short[m].data.train[0]) for m in race.ARMS)
    assert all(torch.equal(short["random"].accuracy[:3], short[m].accuracy[:3]) for m in METHODS)


def test_every_mark_is_there_and_work_is_counted(short):
    assert all(len(done.work) == 15 and done.accuracy.shape == done.loss.shape == (15, 3) for done in short.values())
    n, step, early = 300, 2 * 2 + 3, range(2, 8)
    assert short["scratch"].work[-1] == 420 * n * 8 * step
    free = n * step * (60 * sum(early) + 60 * 8)
    assert short["random"].work[-1] == short["split"].work[-1] == free
    # a charged evaluation replaces a step of the next width and is made at the width before
    assert short["fold"].work[-1] == free - 6 * n * step
    assert short["gradmax"].work[-1] == free - 6 * n * step + 6 * n * 2
    looks = sum(n * (w * step + 48 * w * (2 + 1) + 9 + (w + 1) ** 2 + (w + 4)) for w in early)
    assert short["tiny"].work[-1] == free + looks - 17 * n * step * sum(w + 1 for w in early)


@pytest.mark.parametrize(("gradients", "forwards", "expected"), [(0, 0, 0), (1, 0, 1), (1, 1, 2), (1, 48, 17), (0, 3, 1)])
def test_growth_is_charged(gradients, forwards, expected):
    assert race.charge(Proposal(None, None, None, None, gradients, forwards)) == expected


def test_the_number_of_steps_is_the_budget_less_the_charges(monkeypatch):
    counted = {}

    class Counting(race.Training):
        def train(self, count):
            counted[method] = counted.get(method, 0) + count

    monkeypatch.setattr(race, "Training", Counting)
    charges = {"scratch": 0, "random": 0, "gradmax": 1, "fold": 1, "tiny": 17, "tiny_after": 18, "random_moved": 9}
    for method in charges:
        quick(method, [0])
    assert counted == {method: 420 - 6 * charge for method, charge in charges.items()}


@pytest.mark.parametrize("method", ["fold", "tiny"])
def test_a_seed_is_the_same_alone(short, method):
    alone = quick(method, [1])
    assert torch.allclose(alone.loss[:, 0], short[method].loss[:, 1], rtol=1e-6)


def test_data_are_drawn_anew_and_split():
    given = race.data(TOY, [0, 1])
    assert [part[0].shape[1] for part in (given.train, given.validation, given.test)] == [300, 300, 1000]
    assert not torch.equal(given.train[0][0], given.train[0][1])
    everything = torch.cat([given.train[0][0], given.validation[0][0], given.test[0][0]])
    assert len(torch.unique(everything, dim=0)) == 1600


def test_digits_are_split_without_overlap():
    given = race.data("digits", [3])
    sizes = [(part[0].shape[1:], part[1].shape[1:]) for part in (given.train, given.validation, given.test)]
    assert sizes == [((n, 64), (n, 10)) for n in (1000, 400, 397)]
    from sklearn.datasets import load_digits

    together = torch.cat([given.train[0][0], given.validation[0][0], given.test[0][0]])
    original = torch.as_tensor(load_digits().data / 16)
    assert torch.equal(together.sum(0), original.sum(0))


def test_equal_work_is_the_last_mark_within_it():
    assert race.equal_work(TOY) == 2200  # 300 (2 + ... + 7) + 1200 * 8 = 17,700 of 24,000
    assert race.equal_work("digits") == 1900  # 300 (4 + ... + 28) + 900 * 32 = 62,400 of 96,000


def test_accuracy_counts():
    given = race.data(TOY, [0])
    net = race.race(TOY, "scratch", 0.01, [0], budget=100).nets[-1]
    x, y = given.test
    expected = ((torch.sigmoid(net(x)) > 0.5).double() == y).double().mean()
    assert float(race.accuracy(net, x, y)) == pytest.approx(float(expected))


def test_bad_names_are_sentences():
    with pytest.raises(ValueError, match="the tasks are"):
        race.race("spiral", "fold", 0.01, [0])
    with pytest.raises(ValueError, match="the methods are"):
        race.race(TOY, "firefly", 0.01, [0])


def test_the_stored_run_is_complete():
    rows = stored("race").rows
    assert len(rows) == len(race.cells()) == 4 * 7 * 3
    assert {tuple(row.cell.values()) for row in rows} == {tuple(cell.values()) for cell in race.cells()}
    assert all(len(row["wrong"]) == 200 and len(row["accuracy"]) == 31 for row in rows)


def test_the_rate_is_chosen_by_validation_and_the_smaller_on_a_tie():
    def row(lr, validation):
        return Row({"task": "sine", "method": "fold", "lr": lr}, {"validation": validation}, 1.0, "abc")

    assert race.chosen([row(0.03, 0.9), row(0.01, 0.95), row(0.003, 0.8)])["sine", "fold"].cell["lr"] == 0.01
    assert race.chosen([row(0.03, 0.9), row(0.01, 0.9), row(0.003, 0.8)])["sine", "fold"].cell["lr"] == 0.01


@pytest.mark.parametrize(("rival", "key", "count"), [("scratch", "wrong", 20), ("random", "wrong", 16)])
def test_the_table_is_what_scipy_says(rival, key, count):
    """The same paired comparison by scipy's t test: its p-value against 5 % divided by the number of comparisons."""
    from scipy import stats

    rows = stored("race").rows
    best, table = race.chosen(rows), race.standings(rows, rival, key)
    compared = [k for k in table if k[1] != rival]
    assert len(compared) == count
    for task, method in compared:
        a, b = race.share_right(best[task, method]), race.share_right(best[task, rival])
        test = stats.ttest_rel(a, b)
        sure = test.pvalue < 0.05 / count
        word = ("better" if test.statistic > 0 else "worse") if sure else "no difference seen"
        assert table[task, method].verdict == word
        low, high = test.confidence_interval(0.95)
        assert table[task, method].difference == pytest.approx((float(np.mean(a - b)), low, high))


def test_the_conclusions_of_the_chapter_hold():
    """What the chapter says in words, against the stored rows."""
    rows = stored("race").rows
    best = race.chosen(rows)
    scratch, control = race.standings(rows), race.standings(rows, "random")
    equal = race.standings(rows, key="wrong_at_equal_work")
    verdicts = {task: [scratch[task, m].verdict[0] for m in race.GROWING] for task in race.WIDTHS}
    assert verdicts == {"sine": [*"bbbwb"], "overlap_quadratic": [*"bbbwb"], "annulus": [*"nnnwn"], "digits": [*"nnbwb"]}
    assert {k for k, s in control.items() if s.verdict == "better"} == {("sine", "tiny"), ("sine", "fold")}
    assert all(control["digits", m].verdict == "worse" for m in race.GROWING if m != "random")
    assert all(equal[k].verdict == scratch[k].verdict for k in equal)
    right = {k: race.share_right(row).mean() for k, row in best.items()}
    for task in race.TASKS:
        assert right[task, "wide"] >= max(right[task, m] for m in race.GROWING)
    assert right["digits", "random"] > right["digits", "wide"]
    assert {best["digits", m].cell["lr"] for m in race.ARMS} == {0.003}
    assert {best[t, "gradmax"].cell["lr"] for t in race.TASKS} == {0.03}


@pytest.fixture(scope="module")
def second():
    """The rows of both races, and the verdicts of the second."""
    rows = stored("race").rows + stored("race_again").rows
    return rows, race_again.comparisons(rows)


def test_the_second_race_is_complete():
    rows = stored("race_again").rows
    assert {tuple(row.cell.values()) for row in rows} == {tuple(cell.values()) for cell in race_again.cells()}
    assert all(len(row["wrong"]) == 200 and len(row["accuracy"]) == 31 for row in rows)


def test_verdicts_of_the_second_race_are_what_scipy_says(second):
    from scipy import stats

    rows, table = second
    best = race.chosen(rows)
    assert len(table) == 24
    for (task, method, rival), (gap, word) in table.items():
        test = stats.ttest_rel(race.share_right(best[task, method]), race.share_right(best[task, rival]))
        expected = "better" if test.statistic > 0 else "worse"
        assert word == (expected if test.pvalue < 0.05 / 24 else "no difference seen")
        assert gap[1:] == pytest.approx(tuple(test.confidence_interval(1 - 0.05 / 24)))


def test_what_the_second_race_says_in_words_holds(second):
    """Of the four expectations of the protocol, and of the sentences in chapter and checks."""
    _, table = second
    seen = {key: word for key, (_, word) in table.items() if word != "no difference seen" and "scratch" not in key}
    assert seen == {
        ("overlap_quadratic", "tiny_after", "random"): "better",
        ("overlap_quadratic", "tiny_after", "tiny"): "better",
        ("digits", "tiny_after", "random"): "worse",
        ("digits", "tiny_after", "random_moved"): "worse",
    }
    points = {key: [round(100 * v, 2) for v in gap] for key, (gap, _) in table.items()}
    assert points["overlap_quadratic", "tiny_after", "tiny"] == [0.16, 0.0, 0.31]
    assert points["overlap_quadratic", "tiny_after", "random"][0] == 0.39
    assert points["sine", "tiny_after", "random"] == [0.35, -0.01, 0.71]
    assert points["sine", "tiny_after", "random_moved"] == [0.37, -0.02, 0.77]
