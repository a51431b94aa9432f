"""Every public module shows how it is used, by an example in its docstring that is run here."""

import doctest
import importlib
import pkgutil

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
