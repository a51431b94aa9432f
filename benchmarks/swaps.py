"""Swaps values: the dissertation's case-by-case algorithm against the bit-sliced kernel: `python benchmarks/swaps.py`.

Seconds of wall clock and of processor time; kernels are compiled and orders listed before the clock starts. `wrong` counts the
classes on which the printed algorithm, with one order for each of its cases, misses the value.
"""

from __future__ import annotations

import time

import numpy as np

from foldbook.chapters import swaps as chapter
from foldnet.boolean import functions as F
from foldnet.boolean.orderings import corner_orders, ordering_weights
from foldnet.boolean.swaps import swaps, witness

SAMPLE = 20_480


def timed(work):
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - cpu


def say(what: str, wall: float, cpu: float, more: str = "") -> None:
    print(f"{what:58} {wall:9.4f} s wall {cpu:9.4f} s cpu  {more}")


def main() -> None:
    for n in (3, 4, 5, 6):
        corner_orders(n)
    swaps(F.parity(3))
    witness(F.parity(5))

    three = F.truth_tables(F.npn_classes(3), 3)
    chosen = chapter.one_for_each_case(chapter.weak_orders(3, 8))
    printed, wall, cpu = timed(lambda: [chapter.swaps_as_printed(t, representatives=chosen) for t in three])
    say("n = 3, 14 classes, case by case as printed", wall, cpu)
    exact, fast, fast_cpu = timed(lambda: swaps(three))
    say("n = 3, 14 classes", fast, fast_cpu, f"{cpu / fast_cpu:.0f} times less work, wrong by cases: {(exact != printed).sum()}")

    four = F.truth_tables(F.npn_classes(4), 4)
    exact, wall, cpu = timed(lambda: swaps(four))
    for name, weights in (("without ties", ordering_weights(4)), ("with ties", chapter.weak_orders(4, 16))):
        wrong = [
            (chapter.fewest_by_weights(four, chapter.one_for_each_case(weights, seed)).min(1) != exact).sum() for seed in range(5)
        ]
        print(f"n = 4, wrong by cases {name}, five random choices: {', '.join(map(str, wrong))} of 222")
    say("n = 4, 222 classes", wall, cpu)

    five = np.random.default_rng(0).integers(0, 2, 32)
    say("n = 5, one function with its witness", *timed(lambda: witness(five))[1:])
    F._classes.cache_clear()
    numbers, wall, cpu = timed(lambda: F.npn_classes(5))
    say(f"n = 5, {len(numbers):,} classes listed", wall, cpu)
    some = F.truth_tables(np.random.default_rng(1).choice(numbers, SAMPLE), 5)
    _, wall, cpu = timed(lambda: swaps(some))
    scale = len(numbers) / SAMPLE
    say(f"n = 5, {SAMPLE:,} classes", wall, cpu, f"all {len(numbers):,}: {scale * wall:.0f} s wall, {scale * cpu:.0f} s cpu")
    six = np.random.default_rng(2).integers(0, 2, 64)
    say("n = 6, one function with its witness", *timed(lambda: witness(six))[1:])


if __name__ == "__main__":
    main()
