"""Rehearse a problem set before students see it: `python -m tools.course.rehearse [SET ...]`.

The solution must earn every point that tests give, the untouched student version none, and each distractor must lose the points
it was written to lose and no others.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time

from . import judge, source
from .kernel import Limits
from .submission import END, Step, Submission


def used(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def stored(code: str) -> set[str]:
    tree = ast.parse(code)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def after(steps: list[Step], key: str, tests: dict[str, str]) -> list[Step]:
    """The step with this key and those after it that depend on what it defines, directly or not; `tests` has their whole text."""
    index = next(i for i, step in enumerate(steps) if step.key == key)
    changed, found = stored(steps[index].source), [steps[index]]
    for step in steps[index + 1 :]:
        if used(tests.get(step.key, step.source)) & changed:
            found.append(step)
            changed |= stored(step.source)
    return found


def lost(verdicts: dict[str, judge.Verdict]) -> set[str]:
    return {name for name, verdict in verdicts.items() if not verdict.passed}


def rehearse(problems: source.ProblemSet, limits: Limits | None = None) -> list[str]:
    """What does not go as it should, each a sentence."""
    wrong, tests = [], {test.name for test in problems.tests}
    stubs = {cell.name: cell.public for cell in problems.of("answer") if cell.code}
    solution = Submission(judge.steps_of(problems, stubs), limits or Limits())
    try:
        solution.start()
        earned = tests - lost(judge.judge(problems, solution))
        wrong += [f"the untouched student version passes {name}" for name in sorted(earned)]
        raised = [step.key for step in solution.steps if any(o["output_type"] == "error" for o in step.outputs)]
        wrong += [f"in the untouched student version the cell {key} raises an error" for key in raised]
        start = time.monotonic()
        solution.steps = judge.steps_of(problems)
        for step in solution.steps:
            solution.run(step, solution.limits.cells)
        solution.photos[END] = solution.kernel.photograph()
        print(f"  the solution runs in {time.monotonic() - start:.1f} s", flush=True)
        for step in solution.steps:
            wrong += [f"the solution's cell {step.key}: {o['evalue']}" for o in step.outputs if o["output_type"] == "error"]
        verdicts = judge.judge(problems, solution)
        wrong += [f"the solution fails {name}: {verdicts[name].line}" for name in sorted(lost(verdicts))]
        if not wrong:
            wrong += [sentence for cell in problems.of("distractor") for sentence in distract(problems, solution, cell)]
    finally:
        solution.close()
    return wrong


def distract(problems: source.ProblemSet, solution: Submission, cell: source.Cell) -> list[str]:
    """Put one distractor in the place of its answer, judge, and put the solution back."""
    answer, *expected = cell.loses
    tests = {test.name: test.source for test in problems.tests}
    touched = after(judge.steps_of(problems, {answer: cell.source}), answer, tests)
    for step in touched:
        solution.run(step, solution.limits.cells)
    verdicts = judge.judge(problems, solution, only={step.key for step in touched})
    for step in after(judge.steps_of(problems), answer, tests):
        solution.run(step, solution.limits.cells)
    found, title = lost(verdicts), cell.source.splitlines()[0].lstrip("# ")
    told = [verdicts[name].line for name in sorted(found)]
    print(f"  {cell.name} for {answer} ({title}) loses {', '.join(sorted(found)) or 'nothing'}: {'; '.join(told)}", flush=True)
    if found != set(expected):
        return [f"{cell.name} for {answer} ({title}) loses {sorted(found)}, not {sorted(expected)}"]
    return []


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the solution and the distractors of problem sets.")
    parser.add_argument("set", nargs="*", help="as ps2; without one, all")
    arguments = parser.parse_args(argv)
    failed = 0
    try:
        for name in arguments.set or source.names():
            problems = source.read(name)
            print(f"{name}: {len(problems.tests)} tests, {len(problems.of('distractor'))} distractors", flush=True)
            wrong = rehearse(problems)
            failed += len(wrong)
            print(f"{name}: " + ("as it should be" if not wrong else f"{len(wrong)} problems"), *wrong, sep="\n  ")
    except source.SourceError as error:
        print(f"rehearse: {error}", file=sys.stderr)
        return 1
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
