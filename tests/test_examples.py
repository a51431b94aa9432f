"""Every public module shows how it is used, by an example that is run here, and its functions name what they take."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import experiments
import foldbook
import foldnet

MODULES = sorted(
    module.name
    for package in (foldnet, foldbook, experiments)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not any(part.startswith("_") for part in module.name.split("."))
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name):
    module = importlib.import_module(name)
    found = doctest.DocTestFinder(exclude_empty=True).find(module)
    runner = doctest.DocTestRunner(verbose=False)
    failed = sum(runner.run(test).failed for test in found if test.examples)
    assert failed == 0
    ours = name.startswith("foldnet.") and not importlib.import_module(name).__file__.endswith("__init__.py")
    assert runner.tries or not ours, "a public module of foldnet shows an example"


ANYWHERE = {"net", "x", "y", "seed"}  # a network or a batch, its points, what it should give there, what is drawn


def described(module):
    """Functions of a module with what their docstrings say, and methods with what their class says too."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(thing):
            yield name, thing, f"{thing.__doc__}\n{module.__doc__}"
        for inner, method in vars(thing).items() if inspect.isclass(thing) else ():
            method = getattr(method, "__func__", method)  # of a class or static method
            if inspect.isfunction(method) and not inner.startswith("_") and method.__doc__:
                yield f"{name}.{inner}", method, f"{method.__doc__}\n{thing.__doc__}\n{module.__doc__}"


def unsaid(function, text: str) -> list[str]:
    """The arguments of a function that nothing in a text names, where it takes more than one; not what it hands on as it is."""
    given = [p for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    names = [p.name for p in given if p.name not in ("self", "cls")]
    return [n for n in names if n not in ANYWHERE and not re.search(rf"\b{n}\b", text)] if len(names) > 1 else []


@pytest.mark.parametrize("name", [n for n in MODULES if n.startswith("foldnet.")])
def test_a_docstring_names_the_arguments(name):
    found = {function: unsaid(thing, text) for function, thing, text in described(importlib.import_module(name))}
    assert not {function: arguments for function, arguments in found.items() if arguments}


def test_an_argument_that_nothing_names_is_found():
    assert unsaid(lambda net, width, depth: 0, "Of this width.") == ["depth"]
    assert unsaid(lambda depth: 0, "One alone is what the line is about.") == []
