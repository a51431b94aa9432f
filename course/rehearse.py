"""Rehearse a problem set before students see it: `python -m course.rehearse [SET ...]`.

The solution must earn every point that tests give, the untouched student version none, and each distractor must lose the points
it was written to lose and no others, an alternative none. None of them may be told
*almost*: a mistake that we know is no rounding.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import sys
import time

from . import judge, source
from .kernel import Limits
from .submission import END, Step, Submission


def used(code: str) -> set[str]:
    """The names that code takes from before: not those that it defines first, nor what is a function's own."""
    found, own = set(), set()
    for node in ast.parse(code).body:
        functions = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
        inner = {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        inner |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - own - inner
        if isinstance(node, (ast.Assign, ast.FunctionDef, ast.ClassDef)):
            own |= stored(ast.unparse(node))
    return found


def stored(code: str) -> set[str]:
    """What a cell binds for the cells after it; the names within its functions and comprehensions are their own."""
    names, nodes = set(), list[ast.AST](ast.parse(code).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            nodes += ast.iter_child_nodes(node)
    return names


def after(steps: list[Step], key: str, tests: dict[str, str]) -> list[Step]:
    """The step with this key and those after it that depend on what it defines, directly or not; `tests` has their whole text.

    What a test's cell defines is its own: no other cell of a set may use it. A cell that only shows something, so that no test
    depends on it, is not among them.
    """
    index = next(i for i, step in enumerate(steps) if step.key == key)
    changed, found = stored(steps[index].source), [steps[index]]
    for step in steps[index + 1 :]:
        if used(tests.get(step.key, step.source)) & changed:
            found.append(step)
            changed |= set() if step.test else stored(step.source)
    needed, kept = set(), []
    for step in reversed(found):
        if step.test or step is found[0] or stored(step.source) & needed:
            kept.append(step)
            needed |= used(tests.get(step.key, step.source))
    return kept[::-1]


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
        solution.photos[END] = solution.running.photograph()
        print(f"  the solution runs in {time.monotonic() - start:.1f} s", flush=True)
        for step in solution.steps:
            wrong += [f"the solution's cell {step.key}: {o['evalue']}" for o in step.outputs if o["output_type"] == "error"]
        verdicts = judge.judge(problems, solution)
        wrong += [f"the solution fails {name}: {verdicts[name].line}" for name in sorted(lost(verdicts))]
        if not wrong:
            for answer, cells in itertools.groupby(problems.of("distractor"), key=lambda cell: cell.loses[0]):
                for cell in cells:
                    wrong += distract(problems, solution, cell)
                put_back(problems, solution, answer)
    finally:
        solution.close()
    return wrong


def distract(problems: source.ProblemSet, solution: Submission, cell: source.Cell) -> list[str]:
    """Put one distractor in the place of its answer, photograph at each test that depends on it, and judge these."""
    answer, *expected = cell.loses
    tests = {test.name: test.source for test in problems.tests}
    touched = after(judge.steps_of(problems, {answer: cell.source}), answer, tests)
    for step in touched:  # the judge runs the checks; what they would show in the notebook is seen with the solution
        solution.run(Step(step.key, "", True) if step.test else step, solution.limits.cells)
    verdicts = judge.judge(problems, solution, only={step.key for step in touched})
    found, title = lost(verdicts), cell.source.splitlines()[0].lstrip("# ")
    told = [verdicts[name].line for name in sorted(found)]
    print(f"  {cell.name} for {answer} ({title}) loses {', '.join(sorted(found)) or 'nothing'}: {'; '.join(told)}", flush=True)
    own = next(c for c in problems.of("answer") if c.name == answer).defines
    asked = [name for name in found if judge.names_in(tests[name]) & set(own)]  # what only follows from it is carried
    lines = [verdicts[name].line for name in sorted(asked) if verdicts[name].line.startswith("almost")]
    wrong = [f"{cell.name} for {answer} ({title}) is told {line!r}, and it is a mistake" for line in lines]
    if found != set(expected):
        wrong.append(f"{cell.name} for {answer} ({title}) loses {sorted(found)}, not {sorted(expected)}")
    return wrong


def put_back(problems: source.ProblemSet, solution: Submission, answer: str) -> None:
    """The solution in its place again, with all that depends on it; the next distractor takes its own photographs."""
    for step in after(judge.steps_of(problems), answer, {test.name: test.source for test in problems.tests}):
        if not step.test:
            solution.run(step, solution.limits.cells)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the solution and the distractors of problem sets.")
    parser.add_argument("set", nargs="*", help="as ps2; without one, all")
    parser.add_argument("--seed", type=int, help="with the numbers that this seed draws, where a set has variants")
    arguments = parser.parse_args(argv)
    failed = 0
    try:
        for name in arguments.set or source.names():
            problems = source.read(name).variant(arguments.seed)
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
