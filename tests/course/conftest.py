"""A problem set of one page, for tests that break one thing at a time."""

import json
import sys
from pathlib import Path

import nbformat
import pytest

from tools.course import source

sys.path.append(str(Path(__file__).parent))  # the zoo

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
    """The student version, made by our own reading of the source (nbgrader's must be the same: another test)."""
    notebook = tiny.notebook()
    public = {cell.name: cell.public for cell in tiny.cells}
    for cell in notebook.cells:
        cell.source = public.get(cell.id, cell.source)
    return nbformat.from_dict(json.loads(json.dumps(notebook)))
