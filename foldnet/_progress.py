"""Progress that leaves nothing behind: not on the terminal, not in a log, not in a stored notebook."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from functools import lru_cache


def line():
    """A line that can be rewritten in place, of the terminal or a notebook cell; None elsewhere, and if TQDM_DISABLE is set."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if os.environ.get("TQDM_DISABLE", "0") not in ("", "0"):
        return None
    if hasattr(shell, "kernel"):
        return _line_of_cell(shell.execution_count)
    return sys.stderr if sys.stderr and sys.stderr.isatty() else None


def bar(total: int, wanted: bool, unit: str = "epoch"):
    """A tqdm bar that is gone when all is done: where there is a line for it; elsewhere, and without tqdm, nothing."""
    file = line() if wanted else None
    if file is None:
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError:
        return nullcontext()
    # with the delay, what is over within a second shows nothing at all
    return tqdm(total=total, unit=unit, leave=False, delay=1, ncols=80, file=file)


class _NotebookLine:
    """One line of a cell's output that is rewritten in place and left empty, so that no bar stays in a stored notebook.

    tqdm's own notebook bar needs ipywidgets and leaves the bar's first state as text in the file.
    """

    encoding = "utf-8"
    handle = None

    def write(self, text: str) -> None:
        from IPython.display import display

        line = {"text/plain": text.strip()}
        if self.handle is None:
            self.handle = display(line, raw=True, display_id=True)
        else:
            self.handle.update(line, raw=True)

    def flush(self) -> None:
        """Nothing is held back."""


@lru_cache(1)
def _line_of_cell(execution: int) -> _NotebookLine:
    """All that one cell has to tell goes to one line."""
    return _NotebookLine()
