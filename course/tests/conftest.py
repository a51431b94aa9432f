"""A problem set of one page, for tests that break one thing at a time."""

import os
import shutil
import sys

import nbformat
import pytest
from hypothesis import HealthCheck, settings

from course import make, source

settings.register_profile("repeat", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeat")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")

LONG = ("test_zoo.py", *(f"every_set[ps{number}" for number in (7, 6)), "test_a_hundred_kills", "test_sets.py")
FIRST = ("a_variant_changes[ps7", "a_variant_changes[ps1", *LONG)


def pytest_collection_modifyitems(items):
    """What takes longest begins first, so that no worker is left with it at the end; the order is otherwise as it was.

    Before all others come two tests that compile kernels in this process: they are kept, and submissions find them.
    """
    items.sort(key=lambda item: next((place for place, name in enumerate(FIRST) if name in item.nodeid), len(FIRST)))


TINY = '''# Tiny

Read this.

```python
import numpy as np
from foldbook.exercises import selfcheck, selfcheck_value
```

```python answer="twice"
def twice(x):
    """Two times x."""
    ### BEGIN SOLUTION
    secret_factor = 2.0
    return secret_factor * x
    ### END SOLUTION
```

```python test="twice-values" points=2
selfcheck(twice, [((1.0,), 2.0)])
### BEGIN HIDDEN TESTS
assert twice(np.array([5.0, -1.0]))[1] == -2.0, "negative numbers"
### END HIDDEN TESTS
```

```python distractor="twice" loses="twice-values"
# forgets the sign
def twice(x):
    return 2 * abs(x)
```

```python answer="answer-of-all"
answer_of_all = None
### BEGIN SOLUTION
answer_of_all = 6 * 7.0
### END SOLUTION
```

```python test="answer-value" points=1
selfcheck_value("answer_of_all", answer_of_all, lambda value: value > 0)
### BEGIN HIDDEN TESTS
assert answer_of_all == 42, "another number"
### END HIDDEN TESTS
```

```python distractor="answer-of-all" loses="answer-value"
answer_of_all = 41  # off by one
```

<!-- #region answer="why" points=3 -->
Because six times seven, said the rubric.
<!-- #endregion -->

```python
print(twice(1.0) is None)
```
'''


@pytest.fixture
def tiny() -> source.ProblemSet:
    return source.parse("tiny", TINY)


@pytest.fixture
def tiny_text() -> str:
    return TINY


@pytest.fixture
def release(tiny) -> nbformat.NotebookNode:
    """The student version."""
    return make.release(tiny)


NANO = """# Nano

```python answer="one"
def one():
    'The number one.'
    ### BEGIN SOLUTION
    return 1 + 0
    ### END SOLUTION
```

```python test="one-value" points=2
assert one() in (1, 2), "no number at all"
### BEGIN HIDDEN TESTS
assert one() == 1, "not one"
assert one() > 0, "not positive"
### END HIDDEN TESTS
```

```python distractor="one" loses="one-value"
def one():
    return 2
```

<!-- #region answer="why" points=3 -->
Because.
<!-- #endregion -->
"""


@pytest.fixture(scope="session")
def nano() -> source.ProblemSet:
    """A set that needs no library, so that its submissions start fast."""
    return source.parse("nano", NANO)


@pytest.fixture
def nano_text() -> str:
    return NANO


@pytest.fixture(autouse=True)
def figures_are_closed():
    """A figure that a test leaves open is not the next one's."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def chromium():
    path = os.environ.get("FOLDNET_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine: install chromium, or say where it is in FOLDNET_CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist=loadgroup`, what looks at one graded class stays in one process.

    The mark `xdist_group` does nothing: xdist 3.8 writes a group into the name of a test, where pytest 9.2 does not read it.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class OneClass(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "zoo" if "/test_zoo.py::" in nodeid else nodeid

    return OneClass(config, log)
