"""A class made by a script: `python tests/course/crowd.py FOLDER [--size 200] [--seed 1]` writes submissions of problem set 2.

Most are right but for some wrong answers (distractors), the rest are of the kinds of the zoo: careless, untidy, hostile, and
files that are no notebooks. The same seed gives the same class.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import zoo  # noqa: E402

from tools.course import source  # noqa: E402

COMMON = ("partly", "empty", "no_metadata", "untidy", "raises")
RARE = ("endless", "leaves", "greedy", "overwrites", "equal_to_all", "spies", "strikes", "garbage", "not_cells")


def crowd(folder: Path, size: int = 200, seed: int = 1) -> None:
    """Write the class into a folder, half of it as files and half as folders of a learning platform."""
    problems, release, chance = source.read("ps2"), zoo.release_of("ps2"), random.Random(seed)
    wrong = problems.of("distractor")
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(size):
        if number < len(RARE):
            text = zoo.ZOO[RARE[number]](problems, release).text
        elif number % 4 == 0:
            text = zoo.ZOO[chance.choice(COMMON)](problems, release).text
        else:
            mistakes = chance.sample(wrong, chance.choice((0, 0, 1, 2, 3)))
            made = zoo.solved(problems, release, **{cell.loses[0].replace("-", "_"): cell.source for cell in mistakes})
            for cell in made["cells"]:
                if cell["id"] in ("derivation", "runaway", "conclusion"):
                    cell["source"] = f"{cell['source'].split('**Rubric')[0]}\n\nWritten by student {number}."
            text = zoo.written(made)
        packed = f"Student {number:03}_{1000 + number}_assignsubmission_file_/ps2.ipynb"
        path = folder / (f"s{number:03}.ipynb" if number % 2 else packed)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make a class for problem set 2.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    crowd(arguments.folder, arguments.size, arguments.seed)
