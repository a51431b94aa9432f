"""A progress bar that leaves nothing behind: not on the terminal, not in a log, not in a stored notebook."""

from __future__ import annotations

import sys
from contextlib import nullcontext


def bar(total: int, wanted: bool):
    """A tqdm bar that is gone when the fit is done: on a terminal, or in a notebook; elsewhere, and without tqdm, nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    notebook = hasattr(shell, "kernel")
    if not wanted or not (notebook or sys.stderr.isatty()):
        return nullcontext()
    try:
        from tqdm import tqdm
    except ImportError:
        return nullcontext()
    # with the delay, what is over within a second shows nothing at all
    return tqdm(total=total, unit="epoch", leave=False, delay=1, ncols=80, file=_NotebookLine() if notebook else sys.stderr)


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
