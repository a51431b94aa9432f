"""A class made by a script, to rehearse grading before students come: `python -m course.tests.classroom FOLDER [--size 200]`.

Writes submissions of problem set 2 and a class list into FOLDER, grades them into FOLDER/grades and compares every row of the
table, and the points of everyone on the list, with what the script knows each submission to deserve. Most are right but for some
wrong answers (distractors); the rest are of the kinds of the zoo: careless, untidy, hostile, no notebooks at all. The same seed
gives the same class, and the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from course import answers, book, export, grade, judge, numbers, rehearse, source
from course.kernel import Limits
from course.roster import read_table
from course.tests import zoo
from foldbook import exercises

COMMON = ("partly", "empty", "no_metadata", "untidy", "raises")
RARE = ("endless", "leaves", "greedy", "overwrites", "equal_to_all", "spies", "strikes", "garbage", "not_cells")
RARE += ("from_colab", "heavy", "crowd", "forged", "other_set")
ROOM = len(RARE) + 10  # from here on there are names of all kinds
SAID, TYPED = "deserved.csv", "assignsubmission_onlinetext_"


class Here:
    """A submission that runs in this very process, as the solutions do: no sandbox, no courier, no photographs."""

    limits, waited = Limits(test=300), 0.0

    @staticmethod
    def busy(what, seconds):
        """Nobody waits for us."""

    @staticmethod
    def alive():
        """Nobody asks."""


def carried(function, names: dict):
    """A function whose arguments and results become plain data on the way, as between a judge and a submission."""

    def carry(*args, **kwargs):
        args = [answers.decode(answers.encode(value), names) for value in args]
        kwargs = {key: answers.decode(answers.encode(value), names) for key, value in kwargs.items()}
        return judge.opened({"value": answers.encode(function(*args, **kwargs))})

    return carry


def verdict(problems: source.ProblemSet, test: str, names: dict, hidden: bool = True) -> judge.Verdict:
    """How a test goes on what is defined here, its public part and, unless told otherwise, the hidden one."""
    test = next(cell for cell in problems.tests if cell.name == test)
    kinds = {name: kind for cell in problems.of("answer") for name, kind in cell.defines.items()}
    names = names | {name: carried(names[name], names) for name, kind in kinds.items() if kind == "function" and name in names}
    checks = {"selfcheck": exercises.verdict, "selfcheck_value": exercises.value_verdict}
    names |= {name: judge.must_be_correct(said) for name, said in checks.items()} | {"Code": answers.Code}
    public = judge.public(test, names, Here)
    return judge.private(test, names, Here) if hidden and public.passed else public


def costs(problems: source.ProblemSet, names: dict, wrong: source.Cell) -> dict[str, float]:
    """What a distractor in the place of its answer costs, by test; `names` is what the solution defines."""
    answer, *_ = wrong.loses
    names, lost = dict(names), {}
    defined = set(next(cell.defines for cell in problems.of("answer") if cell.name == answer))
    points, texts = ({test.name: getattr(test, what) for test in problems.tests} for what in ("points", "source"))
    for step in rehearse.after(judge.steps_of(problems, {answer: wrong.source}), answer, texts):
        if step.test:
            lost[step.key] = points[step.key] - verdict(problems, step.key, names).score(points[step.key])
        else:
            exec(compile(step.source, f"<{step.key}>", "exec"), names)
    lost = {name: cost for name, cost in lost.items() if cost}
    asked = {name for name in lost if judge.names_in(texts[name]) & defined}
    return {name: lost[name] for name in asked or lost}  # what only follows from it is carried


@dataclass
class Seat:
    """A student of the class: the file, under the name it is handed in with, and what it deserves; the student's id, and nothing
    where a later file of the same student counts."""

    name: str
    content: bytes
    points: float
    to_read: float
    notes: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    key: str = ""


@functools.cache
def mistakes_of(name: str) -> list[tuple[source.Cell, dict[str, float]]]:
    """The distractors of a set, each with what it costs."""
    problems = source.read(name)
    names = numbers.solved(problems)
    return [(cell, costs(problems, names, cell)) for cell in problems.of("distractor") if len(cell.loses) > 1]


def seats(size: int, seed: int) -> list[Seat]:
    problems, release, chance = source.read("ps2"), zoo.release_of("ps2"), random.Random(seed)
    wrong, found = mistakes_of("ps2"), []
    for number in range(size):
        file = f"s{number:03}.ipynb"
        if number < len(RARE) or number % 4 == 0:
            kind = RARE[number] if number < len(RARE) else chance.choice(COMMON)
            made = zoo.ZOO[kind](problems, release)
            seat = Seat(file, made.text.encode(), made.points, made.to_read, made.notes, made.never)
        else:
            mistakes = picked(wrong, chance)
            changed = {cell.loses[0]: cell.source for cell, _ in mistakes}
            answered = zoo.solved(problems, release, **changed)
            for cell in answered["cells"]:
                if cell["id"] in ("derivation", "runaway", "conclusion"):
                    cell["source"] = f"{cell['source'].split('**Rubric')[0]}\n\nWritten by student {number}."
            lost = sum(sum(cost.values()) for _, cost in mistakes)
            seat = Seat(file, zoo.written(answered).encode(), zoo.TESTS - lost, zoo.BY_HAND)
        found.append(seat)
    for seat, form in zip((s for s in found[len(RARE) :] if s.points), (in_utf16, as_text, as_script, packed)):
        form(seat)
    for number, seat in enumerate(found):
        seat.key = seat.name.partition(".")[0]
        if number % 2 and seat.name.endswith(".ipynb"):
            seat.key = str(1000 + number)
            seat.name = f"Student {number:03}_{seat.key}_assignsubmission_file_"
    if size >= ROOM:
        typed(found[-4])
        named(*found[-3:])
    return found


def typed(seat: Seat) -> None:
    """Nothing but a text in the box of Moodle's page, which is no notebook."""
    seat.key, seat.points, seat.to_read = "3000", 0, 0
    seat.name, seat.content, seat.notes = f"Student_3000_{TYPED}", b"<p>see my file</p>", ("only an online text",)


def named(early: Seat, late: Seat, dot: Seat) -> None:
    """Two files of one student as Canvas names them, the later one with another's id in it; and a name with a dot before it."""
    early.name, late.name = "surnamename_2000_90000_ps2.ipynb", "surnamename_LATE_2000_90001_ps2 1001-1.ipynb"
    early.key, late.key, dot.key = "", "2000", "s-dot"
    dot.name = ".s-dot.ipynb"


def picked(wrong: list[tuple], chance: random.Random) -> list[tuple]:
    """Some distractors that cost different tests, so that their costs add up."""
    found, taken = [], set()
    for cell, cost in chance.sample(wrong, chance.choice((0, 0, 1, 2, 3))):
        if not taken & {cell.loses[0], *cost}:
            found.append((cell, cost))
            taken |= {cell.loses[0], *cost}
    return found


def in_utf16(seat: Seat) -> None:
    seat.content = seat.content.decode().encode("utf-16")


def as_text(seat: Seat) -> None:
    seat.name, seat.notes = f"{seat.name}.txt", (*seat.notes, "the file is named .ipynb.txt")


def as_script(seat: Seat) -> None:
    seat.name, seat.points, seat.to_read = seat.name.replace(".ipynb", ".py"), 0, 0
    seat.notes = ("a script (.py) is no notebook",)


def packed(seat: Seat) -> None:
    seat.name, seat.points, seat.to_read = seat.name.replace(".ipynb", ".zip"), 0, 0
    seat.notes = ("an archive that is still packed (.zip) is no notebook",)


def make_class(folder: Path, size: int = 200, seed: int = 1) -> None:
    """Write the class into a folder, half of it as files and half as folders of a learning platform."""
    found = seats(size, seed)
    for seat in found:
        place = folder / "submissions" / seat.name
        path = place / ("onlinetext.html" if TYPED in seat.name else "ps2.ipynb") if seat.name.endswith("_") else place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seat.content)
        if seat.name.endswith("file_"):  # Moodle's second folder of a student who typed a text as well, which has no row
            beside = place.with_name(seat.name.replace("assignsubmission_file_", TYPED)) / "onlinetext.html"
            beside.parent.mkdir(exist_ok=True)
            beside.write_text("<p>see my file</p>")
    listed = [{"name": f"Student {number:03}", "id": seat.key} for number, seat in enumerate(found) if seat.key]
    book.write(folder / "roster.csv", book.table(listed))
    said = [
        {"handed in as": s.name, "id": s.key, "by tests": f"{s.points:g}", "to be read": f"{s.to_read:g}"}
        | {"notes": json.dumps(s.notes), "never": json.dumps(s.never)}
        for s in found
    ]
    book.write(folder / SAID, book.table(said))  # last: what is there is whole


def differences(folder: Path) -> list[str]:
    """Where the table does not say what a submission deserves; nothing where every row is as it should be."""
    deserved, found = ({line["handed in as"]: line for line in read_table(folder / name)} for name in (SAID, "grades/grades.csv"))
    wrong = [f"{name}: not handed in, and in the table" for name in found.keys() - deserved.keys()]
    for name, line in deserved.items():
        row = found.get(name)
        if row is None:
            wrong.append(f"{name}: has no row")
            continue
        if row["by tests"] != line["by tests"]:
            wrong.append(f"{name}: {row['by tests']} points by tests, deserves {line['by tests']} ({row['notes']})")
        if row["by hand"] == "0" and row["to be read"] != line["to be read"]:
            wrong.append(f"{name}: {row['to be read']} points to be read, not {line['to be read']}")
        unsaid = [note for note in json.loads(line["notes"]) if note not in row["notes"]]
        wrong += [f"{name}: no note says {note!r}, but {row['notes']!r}" for note in unsaid]
        wrong += [f"{name}: a note says {word!r}: {row['notes']!r}" for word in json.loads(line["never"]) if word in row["notes"]]
    return wrong


def astray(folder: Path) -> list[str]:
    """Who on the class list got other points than their own file deserves, and for whom it is said that a file is not clear."""
    deserved = {line["id"]: line for line in read_table(folder / SAID) if line["id"]}
    lines = read_table(folder / "grades/grades-by-roster.csv")
    wrong = [f"{line['id']}: not on the list" for line in lines if line["id"] not in deserved]
    for line in lines:
        if line["by tests"] != (due := deserved.get(line["id"], line)["by tests"]):
            wrong.append(f"{line['id']} got {line['by tests'] or 'no'} points by tests, deserves {due} ({line['notes']})")
    return wrong


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a class for problem set 2, grade it, and compare.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--shield", default="on")
    arguments = parser.parse_args(argv)
    folder = arguments.folder
    if not (folder / SAID).is_file():
        make_class(folder, arguments.size, arguments.seed)
    elif (there := len(read_table(folder / SAID))) != arguments.size:
        print(f"{folder} holds a class of {there} already, which goes on; for one of {arguments.size} remove the folder first")
    out = ("--out", folder / "grades", "--roster", folder / "roster.csv")
    command = ("ps2", folder / "submissions", *out, "--jobs", arguments.jobs, "--shield", arguments.shield)
    start, load = time.monotonic(), os.getloadavg()[0]
    if grade.main([str(word) for word in command]):
        return 1
    clock = (time.monotonic() - start) / 60
    said = export.export(source.read("ps2"), folder / "grades", "roster", folder / "roster.csv")
    nobodys = [sentence for sentence in said if sentence.startswith("nobody on the roster")]
    wrong = differences(folder) + astray(folder) + nobodys
    records = book.Book(folder / "grades").records.values()
    took = sum(record.get("processor", 0) for record in records) / 60
    said = "every row is as deserved" if not wrong else f"{len(wrong)} differences from what is deserved"
    times = f"{clock:.1f} minutes by the clock and {took:.1f} of processor time"
    beside = f"{arguments.jobs} at a time on {os.cpu_count()} cores with a load of {load:.1f} before"
    print(f"{len(records)} submissions, {times}, {beside}: {said}", *wrong, sep="\n  ")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
