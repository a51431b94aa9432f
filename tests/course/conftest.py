"""A problem set of one page, for tests that break one thing at a time."""

import nbformat
import pytest

from tools.course import make, source

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
from foldnet.exercises import selfcheck, selfcheck_value
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
