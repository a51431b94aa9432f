"""What every command of the repository does with its errors.

>>> from foldnet.command_line import answered
>>> answered("foldnet", lambda: 0)
0
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable


def answered(name: str, work: Callable[[], int], after_stop: str = "") -> int:
    """Do what a command was asked for; what can go wrong is told in a sentence, and the exit status says it too.

    `after_stop` is what is said after Ctrl+C.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # not every file of Windows has letters for a formula: a ? will do
        sys.stdout.reconfigure(errors="replace")
    try:
        status = work()
        sys.stdout.flush()
        return status
    except (ValueError, FileNotFoundError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{name}: stopped" + after_stop, file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, as head, has seen enough; what is left must not be written on leaving
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
